#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Every received packet is transmitted, or counted as dropped with a reason.

A real weir process runs between capture files. Its input is made here, and its output is compared
with it byte by byte and in order:

    a.pcap → port a ─ wire ─ port b → b.out.pcap
    a.out.pcap ← port a ─ wire ─ port b ← b.pcap

Usage: conservation.py [SCENARIO...]. Exit status: 0 for success, 1 for a difference, 77 if not
built.
"""

import logging
import random
import struct
import time

import box
from box import expect

logging.getLogger("scapy").setLevel(logging.ERROR)
# pylint: disable=wrong-import-position
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_Router_Alert, fragment
from scapy.layers.inet6 import (IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop,
                                IPv6ExtHdrRouting, ICMPv6EchoRequest)
from scapy.layers.l2 import ARP, LLC, SNAP, Dot1AD, Dot1Q, Dot3, Ether
from scapy.packet import Raw

MAX_FRAME = 9018
JUMBO = 9216  # MTU; longer packets are dropped
# Passes unparsed packets. For other settings see test/sim/evasion.py.
AS_SEEN = {"unparsed": "pass"}
SETTLED_S = 1.0
LINKTYPE_ETHERNET = 1
PCAP_HEADER = struct.Struct("<IHHiIII")
PCAP_RECORD = struct.Struct("<IIII")
NO_DEVICE_DROPS = {"rx_missed": 0, "rx_no_buffer": 0, "rx_errors": 0, "tx_errors": 0}

MACS = {"src": "02:00:00:00:00:0a", "dst": "02:00:00:00:00:0b"}
V4 = {"src": "192.0.2.1", "dst": "192.0.2.2"}
V6 = {"src": "2001:db8::1", "dst": "2001:db8::2"}


def write_pcap(path, frames):
    """Writes a capture file without scapy, which refuses to write malformed frames."""
    with open(path, "wb") as out:
        out.write(PCAP_HEADER.pack(0xa1b2c3d4, 2, 4, 0, 0, 65535, LINKTYPE_ETHERNET))
        for frame in frames:
            out.write(PCAP_RECORD.pack(0, 0, len(frame), len(frame)) + frame)


def read_pcap(path):
    """Returns the frames of a capture file."""
    with open(path, "rb") as text:
        data = text.read()
    frames, at = [], PCAP_HEADER.size
    while at < len(data):
        _, _, captured, length = PCAP_RECORD.unpack_from(data, at)
        expect(captured == length, f"{path}: a frame of {length} bytes was cut to {captured}")
        frames.append(data[at + PCAP_RECORD.size:at + PCAP_RECORD.size + captured])
        at += PCAP_RECORD.size + captured
    return frames


def ipv4_packets():
    """Yields IPv4 packets of every kind, from the network layer up."""
    body = Raw(b"weir" * 40)
    yield IP(**V4) / UDP(sport=1, dport=2) / body
    yield IP(**V4) / TCP(sport=3, dport=4, flags="S")
    yield IP(**V4) / ICMP() / body
    yield IP(**V4, options=[IPOption_Router_Alert()]) / UDP() / body
    yield IP(**V4, options=b"\x01" * 40) / TCP() / body
    yield IP(**V4, proto=50) / body
    yield IP(**V4, tos=0xb8) / UDP(chksum=0) / body
    yield from fragment(IP(**V4, id=7) / UDP() / Raw(b"f" * 3000), fragsize=1400)
    yield IP(**V4, ihl=4) / body
    yield IP(**V4, len=2000) / UDP() / body
    yield IP(**V4, chksum=0xdead) / UDP() / body


def ipv6_packets():
    """Yields IPv6 packets with chains of extension headers, whole and in fragments."""
    body = Raw(b"rier" * 40)
    yield IPv6(**V6) / UDP() / body
    yield IPv6(**V6, tc=0x48) / TCP() / body
    yield IPv6(**V6) / ICMPv6EchoRequest()
    options = IPv6ExtHdrHopByHop() / IPv6ExtHdrRouting() / IPv6ExtHdrDestOpt()
    yield IPv6(**V6) / options / UDP() / body
    for offset, more in ((0, 1), (150, 1), (300, 0)):
        yield IPv6(**V6) / IPv6ExtHdrFragment(nh=17, offset=offset, m=more, id=9) / Raw(b"g" * 1200)
    yield IPv6(**V6) / IPv6ExtHdrFragment(nh=17, id=9) / UDP() / body
    chain = IPv6(**V6)
    for _ in range(20):
        chain = chain / IPv6ExtHdrDestOpt()
    yield chain / UDP() / body


def tag_stacks():
    """Yields functions that add an Ethernet header and tags to a packet."""
    yield lambda l3: Ether(**MACS) / l3
    yield lambda l3: Ether(**MACS) / Dot1Q(vlan=100, prio=5) / l3
    yield lambda l3: Ether(**MACS) / Dot1Q(vlan=0) / l3
    yield lambda l3: Ether(**MACS) / Dot1Q(vlan=100) / Dot1Q(vlan=200) / l3
    yield lambda l3: Ether(**MACS, type=0x88a8) / Dot1AD(vlan=300) / Dot1Q(vlan=4094) / l3


def other_frames():
    """Yields frames that are not IP, or hardly a frame."""
    ether = bytes(Ether(**MACS, type=0))[:12]
    yield Ether(**MACS) / ARP(pdst="192.0.2.9")
    yield Ether(**MACS) / Dot1Q(vlan=5) / ARP(pdst="192.0.2.9")
    yield ether + b"\x88\xcc" + bytes(range(46))  # LLDP
    yield ether + b"\x90\x00" + b"loop" * 15
    yield ether + b"\x12\x34" + b"?" * 100  # an unassigned EtherType
    yield ether + b"\x88\x47" + b"\x00\x01\x01\x40" + bytes(IP(**V4) / UDP())  # MPLS
    yield ether + b"\x88\x63" + b"\x11\x09\0\0" + b"\0" * 40  # PPPoE discovery
    yield Dot3(**MACS) / LLC(dsap=0x42, ssap=0x42, ctrl=3) / Raw(b"\0" * 35)
    yield Dot3(**MACS) / LLC(dsap=0xaa, ssap=0xaa, ctrl=3) / SNAP(OUI=0, code=0x800) / IP(**V4)
    yield ether + b"\x81\x00\x00\x07"  # a tag cut short
    yield ether + b"\x81\x00\x00\x07" * 6  # more tags than any parser follows
    yield ether + b"\x08\x00"  # nothing after the header
    yield ether + b"\x86\xdd" + b"\x60" + b"\0" * 10
    rng = random.Random(1)
    for length in (14, 15, 20, 34, 60, 64, 65, 127, 128, 129, 255, 256, 1000, 1514):
        yield rng.randbytes(length)


def runts():
    """Returns frames shorter than an Ethernet header."""
    return [bytes(range(1, n + 1)) for n in range(1, 14)]


def jumbos():
    """Yields frames longer than an mbuf of the usual size, up to 9000 bytes of packet."""
    rng = random.Random(2)
    for length in (1600, 2048, 2049, 4096, 6000, 8959, MAX_FRAME - 18):
        l3 = IP(**V4) / UDP() / Raw(rng.randbytes(length - 42))
        yield bytes(Ether(**MACS) / l3)
        yield bytes(Ether(**MACS) / Dot1Q(vlan=9) / l3)


def everything(seed):
    """Returns some 560 different frames of all kinds, shuffled."""
    rng = random.Random(seed)
    frames = []
    for stack in tag_stacks():
        for l3 in (*ipv4_packets(), *ipv6_packets()):
            frames += [bytes(stack(l3))] * 4
    frames += [bytes(frame) for frame in other_frames()] * 3
    frames += [*jumbos()] * 2
    rng.shuffle(frames)
    # A trailer after the packet makes equal ones distinct, so that their order can be checked.
    frames = [frame + struct.pack(">BHI", seed & 0xff, 0, i) for i, frame in enumerate(frames)]
    for i, frame in enumerate(runts()):
        frames.insert(rng.randrange(len(frames)) if i else 0, frame)
    return frames


def device(index, scene, name, queues=1):
    """Returns the device string of a port, with one pair of files a queue."""
    files = []
    for q in range(queues):
        suffix = f".{q}" if queues > 1 else ""
        files.append(f"rx_pcap={scene.path(name + suffix + '.pcap')}")
    for q in range(queues):
        suffix = f".{q}" if queues > 1 else ""
        files.append(f"tx_pcap={scene.path(name + suffix + '.out.pcap')}")
    return f"net_pcap{index},{','.join(files)},infinite_rx=0"


def run(scene, config, n_in):
    """Plays the files until all packets are received and nothing moves; returns the telemetry."""
    weir = scene.box(config).start()
    began = time.monotonic()
    box.wait_until(lambda: weir.total("rx_packets") >= n_in, f"{n_in} packets received")
    while True:
        before = (weir.total("rx_packets"), weir.total("tx_packets"))
        time.sleep(SETTLED_S / 4)
        if before == (weir.total("rx_packets"), weir.total("tx_packets")):
            break
        expect(time.monotonic() - began < box.PATIENCE_S, "counters do not come to rest")
    seen = {"workers": weir.get("/weir/workers"), "drops": weir.get("/weir/drops"),
            "policies": {}, "ports": [weir.get(f"/ethdev/stats,{port}")
                                      for port in weir.get("/ethdev/list")]}
    for name in weir.get("/weir/policies")["policies"]:
        seen["policies"][name] = weir.get(f"/weir/policy,{name}")
    weir.stop()
    return seen


def check_sums(seen, n_in):
    """Asserts received = transmitted + named drops, in every counter."""
    workers, drops = seen["workers"], dict(seen["drops"])
    device_drops = {name: drops.pop(name) for name in NO_DEVICE_DROPS}
    rx = sum(w["rx_packets"] for w in workers)
    tx = sum(w["tx_packets"] for w in workers)
    expect(device_drops == NO_DEVICE_DROPS, f"the devices lost packets: {device_drops}")
    expect(rx == n_in, f"{n_in} packets in, {rx} received")
    expect(rx == tx + sum(drops.values()), f"{rx} in, {tx} out, dropped: {drops}")
    for reason, count in drops.items():
        parts = sum(w["dropped"][reason] for w in workers)
        expect(parts == count, f"drops of {reason}: {count}, of the workers {parts}")
    policies = seen["policies"].values()
    passed = sum(p["passed"]["packets"] for p in policies)
    dropped = sum(p["dropped"]["packets"] for p in policies)
    unmatched = sum(w["unmatched_packets"] for w in workers)
    expect(passed + dropped + unmatched == n_in,
           f"{n_in} in; policies passed {passed}, dropped {dropped}; unmatched {unmatched}; "
           f"{drops}")
    expect(dropped == drops["limit"] + drops["quota"] + drops["unmarkable"],
           f"policies dropped {dropped}: {drops}")
    ports = sum(port["ipackets"] for port in seen["ports"])
    expect(ports == n_in, f"the ports count {ports} packets in, of {n_in}")
    ports = sum(port["opackets"] for port in seen["ports"])
    expect(ports == tx, f"the ports count {ports} packets out, the workers {tx}")
    return tx, drops


def compare(got, want, where):
    """Compares packets byte by byte and in order; the failure names the first difference."""
    for i, (a, b) in enumerate(zip(got, want)):
        expect(a == b, f"{where}: packet {i} of {len(want)}: {a[:64].hex()} (of {len(a)} bytes), "
                       f"expected {b[:64].hex()} (of {len(b)})")
    expect(len(got) == len(want), f"{where}: {len(got)} packets, expected {len(want)}")


def two_ways(scene, config, a_to_b, b_to_a):
    """Runs both directions through one wire; returns (telemetry, output of b, output of a)."""
    write_pcap(scene.path("a.pcap"), a_to_b)
    write_pcap(scene.path("b.pcap"), b_to_a)
    seen = run(scene, config, len(a_to_b) + len(b_to_a))
    return seen, read_pcap(scene.path("b.out.pcap")), read_pcap(scene.path("a.out.pcap"))


def pcap_wire(scene, **more):
    """Returns a configuration of one wire between two pairs of files."""
    return box.wire(device(0, scene, "a"), device(1, scene, "b"), **{"mtu": JUMBO} | AS_SEEN | more)


def pass_everything(scene, **more):
    """Sends all kinds of packets in both directions; all must be transmitted unchanged."""
    ways = everything(1), everything(2)
    seen, out_b, out_a = two_ways(scene, pcap_wire(scene, **more), *ways)
    compare(out_b, ways[0], "a to b")
    compare(out_a, ways[1], "b to a")
    _, drops = check_sums(seen, len(ways[0]) + len(ways[1]))
    expect(not any(drops.values()), f"drops: {drops}")
    return seen, [frame for way in ways for frame in way]


def unmatched_in_segments(scene):
    """No policy matches the packets; jumbo frames are chains of mbufs."""
    policies = [{"name": "elsewhere", "match": {"dst": "198.51.100.1/32"}, "limit": "8kbit/s"}]
    seen, frames = pass_everything(scene, policies=policies)
    expect(seen["policies"]["elsewhere"]["passed"]["packets"] == 0, "a policy took a packet")
    return f"{len(frames)} packets"


def unmatched_in_one_piece(scene):
    """Without policies; a jumbo frame is one mbuf."""
    seen, frames = pass_everything(scene, mtu=9000, policies=[])
    unmatched = sum(w["unmatched_packets"] for w in seen["workers"])
    expect(unmatched == len(frames), f"{unmatched} unmatched of {len(frames)}")


def l2_len(frame):
    """Returns the bytes before the network layer that are present, as defined in parse.h."""
    at, tags = 14, 0
    if len(frame) < at:
        return len(frame)  # a runt is all Ethernet
    while tags < 4 and frame[at - 2:at] in (b"\x81\0", b"\x88\xa8", b"\x91\0"):
        if at + 4 > len(frame):
            break
        at, tags = at + 4, tags + 1
    if frame[at - 2:at] == b"\x88\x47":  # an MPLS label, the only one in these tests
        at += 4
    return at


def padding(frame):
    """Returns the bytes of Ethernet padding after a short IP packet."""
    l2 = l2_len(frame)
    packet, kind = frame[l2:], frame[l2 - 2:l2]
    end = len(packet)
    labelled = frame[l2 - 6:l2 - 4] == b"\x88\x47"
    if len(packet) >= 20 and (labelled or kind == b"\x08\0") and packet[0] >> 4 == 4:
        length = struct.unpack(">H", packet[2:4])[0]
        end = length if length >= 4 * (packet[0] & 15) >= 20 else end
    elif len(packet) >= 40 and (labelled or kind == b"\x86\xdd") and packet[0] >> 4 == 6:
        end = 40 + struct.unpack(">H", packet[4:6])[0]
    return max(len(packet) - end, 0) if len(packet) <= 46 else 0


def charge(frame, accounting):
    """Returns the bytes that a policy charges."""
    return len(frame) + {"l2": 0, "wire": 24, "l3": -l2_len(frame) - padding(frame)}[accounting]


def matched_and_within(scene):
    """One policy matches all packets and drops none; it charges the bytes of the frames."""
    words = []
    for accounting in ("l2", "wire", "l3"):
        policies = [{"name": "all", "limit": "400Gbit/s", "burst": "1GB",
                     "accounting": accounting}]
        seen, frames = pass_everything(scene, policies=policies)
        got = seen["policies"]["all"]["passed"]
        want = {"packets": len(frames), "bytes": sum(charge(f, accounting) for f in frames)}
        expect(got == want, f"{accounting}: {got}, expected {want}")
        words.append(f"{accounting} {want['bytes']} bytes")
    return ", ".join(words)


def payload(policy, length, serial):
    """Returns a packet for one of the policies of tiny_limits()."""
    text = struct.pack(">I", serial) + b"x" * length
    stacks = {
        "v4": lambda: Ether(**MACS) / IP(src="192.0.2.1", dst="10.1.2.3") / UDP() / Raw(text),
        "v6": lambda: Ether(**MACS) / IPv6(src="2001:db8::1", dst="fd00:1::9") / UDP() / Raw(text),
        "vlan": lambda: Ether(**MACS) / Dot1Q(vlan=77) / IP(**V4) / UDP() / Raw(text),
        "qinq": lambda: Ether(**MACS, type=0x88a8) / Dot1AD(vlan=78) / Dot1Q(vlan=1) / IP(**V4)
                        / UDP() / Raw(text),
        "dscp": lambda: Ether(**MACS) / IP(**V4, tos=8 << 2) / UDP() / Raw(text),
        "none": lambda: Ether(**MACS) / IP(**V4) / UDP() / Raw(text),
    }
    return bytes(stacks[policy]())


# name: match, accounting, burst, from and to: lengths of payloads
TINY = {
    "v4": ({"dst": "10.1.0.0/16"}, "l3", 50000, (20, 1400)),
    "v6": ({"dst": "fd00:1::/64"}, "l2", 30000, (20, 1400)),
    "vlan": ({"vlan": 77}, "wire", 20000, (0, 300)),
    "qinq": ({"vlan": 78}, "l3", 70000, (1200, 8900)),
    "dscp": ({"dscp": 8}, "l2", 9000, (500, 500)),
}
SLACK = 200  # bytes that a bucket of 8 kbit/s can earn after the first packet: 200 ms


def tiny_policies(names, direction):
    """Returns policies with a direction; packets in the other one would race for the bucket."""
    return [{"name": name, "match": TINY[name][0] | {"direction": direction}, "limit": "8kbit/s",
             "burst": f"{TINY[name][2]}B", "accounting": TINY[name][1]} for name in names]


def bucket_passes(frames, accounting, burst):
    """Returns the verdicts of a bucket that starts full, for packets of one instant. Packets whose
    verdict would depend on the few bytes that the bucket earns meanwhile are left out."""
    verdicts, tokens = [], burst
    for frame in frames:
        cost = charge(frame, accounting)
        if 0 <= cost - tokens < SLACK:
            verdicts.append(None)
            continue
        verdicts.append(cost <= tokens)
        tokens -= cost if cost <= tokens else 0
    return verdicts


def tiny_traffic(rng, n):
    """Returns (frames of all policies and of none, those that pass, totals by policy)."""
    names = [*TINY, "none"]
    frames = []
    for serial in range(n):
        name = rng.choice(names)
        low, high = TINY[name][3] if name in TINY else (20, 1400)
        frames.append((name, payload(name, rng.randint(low, high), serial)))
    verdicts = [True] * n
    for name, (_, accounting, burst, _) in TINY.items():
        mine = [i for i, (of, _) in enumerate(frames) if of == name]
        for i, verdict in zip(mine, bucket_passes([frames[i][1] for i in mine], accounting, burst)):
            verdicts[i] = verdict
    kept = [(name, frame, verdict) for (name, frame), verdict in zip(frames, verdicts)
            if verdict is not None]
    totals = {name: {"passed": {"packets": 0, "bytes": 0}, "dropped": {"packets": 0, "bytes": 0}}
              for name in TINY}
    for name, frame, verdict in kept:
        if name in TINY:
            total = totals[name]["passed" if verdict else "dropped"]
            total["packets"] += 1
            total["bytes"] += charge(frame, TINY[name][1])
    return ([frame for _, frame, _ in kept], [frame for _, frame, verdict in kept if verdict],
            totals)


def tiny_limits(scene):
    """Exactly one burst passes of packets that arrive in one instant, with several policies."""
    frames, want, totals = tiny_traffic(random.Random(3), 3000)
    back = everything(4)
    config = pcap_wire(scene, policies=tiny_policies(TINY, "a-to-b"))
    seen, out_b, out_a = two_ways(scene, config, frames, back)
    compare(out_b, want, "a to b")
    compare(out_a, back, "b to a")
    _, drops = check_sums(seen, len(frames) + len(back))
    only = {**dict.fromkeys(drops, 0), "limit": len(frames) - len(want)}
    expect(drops == only, f"drops: {drops}")
    for name, total in totals.items():
        got = {verdict: seen["policies"][name][verdict] for verdict in total}
        expect(got == total, f"policy {name}: {got}, expected {total}")
        expect(total["dropped"]["packets"] > 20, f"policy {name} had nothing to do: {total}")
    return f"{len(want)} of {len(frames)} pass"


def both_directions_share(scene):
    """A policy without a direction has one bucket for both."""
    ways = [[payload("dscp", 500, serial) for serial in serials]
            for serials in (range(300), range(1000, 1300))]
    cost = len(ways[0][0])
    policies = [{"name": "all", "match": {"dscp": 8}, "limit": "8kbit/s",
                 "burst": f"{100 * cost + cost // 4}B", "accounting": "l2"}]
    seen, out_b, out_a = two_ways(scene, pcap_wire(scene, policies=policies), *ways)
    check_sums(seen, 600)
    expect(len(out_a) + len(out_b) == 100, f"{len(out_a)} + {len(out_b)} passed of 100")


def is_subsequence(part, whole):
    """Returns true if the frames of `part` are in `whole` in the same order, with gaps."""
    rest = iter(whole)
    return all(frame in rest for frame in part)


def two_workers(scene):
    """Two queues, two workers, one bucket for both; each queue keeps its order."""
    size = len(payload("v4", 1000, 0)) - 14
    queues = {f"{port}.{q}": [payload("v4", 1000, serial) for serial in range(400)] + everything(q)
              for port in "ab" for q in (0, 1)}
    for name, frames in queues.items():
        write_pcap(scene.path(name + ".pcap"), frames)
    policies = [{"name": "v4", "match": {"dst": "10.1.0.0/16", "direction": "a-to-b"},
                 "limit": "8kbit/s", "burst": f"{200 * size + size // 2}B"}]
    config = box.wire(device(0, scene, "a", 2), device(1, scene, "b", 2), JUMBO, **AS_SEEN,
                      policies=policies,
                      workers=[0, 1])
    n_in = sum(map(len, queues.values()))
    seen = run(scene, config, n_in)
    tx, drops = check_sums(seen, n_in)
    out = {name: read_pcap(scene.path(name + ".out.pcap")) for name in queues}
    expect(sum(map(len, out.values())) == tx, f"{tx} sent, the files disagree")
    for q in "01":
        compare(out[f"a.{q}"], queues[f"b.{q}"], f"b to a, queue {q}")
        expect(is_subsequence(out[f"b.{q}"], queues[f"a.{q}"]), f"a to b, queue {q}: order")
        expect(out[f"b.{q}"][-len(queues[f'a.{q}']) + 400:] == queues[f"a.{q}"][400:],
               f"queue {q}: unmatched packets did not all come out")
    passed = seen["policies"]["v4"]["passed"]["packets"]
    # Each worker has less than a packet left of the tokens lent to it.
    expect(199 <= passed <= 200, f"{passed} of 800 passed, expected 200")
    for worker in seen["workers"]:
        expect(worker["rx_packets"] > 0, f"worker on CPU {worker['cpu']} had nothing to do")
    return f"{n_in} packets, {drops['limit']} dropped"


def flows_of(frames):
    """Groups frames by flow: a flow's frames have the same bytes up to UDP's ports, without
    options."""
    flows = {}
    for frame in frames:
        flows.setdefault(frame[:38], []).append(frame)
    return flows


def flow_frames(port, flows, n):
    """Returns n frames of each flow, interleaved."""
    return [bytes(Ether(**MACS) / IP(src="192.0.2.1", dst="10.1.2.3") / UDP(sport=sport, dport=port)
                  / Raw(struct.pack(">I", serial) + b"x" * 400))
            for serial in range(n) for sport in range(1000, 1000 + flows)]


def in_order_by_flow(got, want, where):
    """Asserts that no frame is changed or invented and each flow keeps its order; returns the
    number missing."""
    whole, missing = flows_of(want), len(want) - len(got)
    for flow, frames in flows_of(got).items():
        expect(is_subsequence(frames, whole.get(flow, [])), f"{where}: order of flow {flow.hex()}")
    return missing


def distributed(scene):
    """One queue, two workers: both get flows, and each flow keeps its order."""
    ways = flow_frames(1, 25, 16) + everything(7), flow_frames(2, 25, 16) + everything(8)
    policies = [{"name": "v4", "match": {"dst": "10.1.0.0/16", "direction": "a-to-b"},
                 "limit": "8kbit/s", "burst": "60kB", "allocator": "central"}]
    config = pcap_wire(scene, policies=policies, workers=[0, 1])
    config["wires"][0]["distribute"] = True
    seen, out_b, out_a = two_ways(scene, config, *ways)
    tx, drops = check_sums(seen, sum(map(len, ways)))
    expect(len(out_a) + len(out_b) == tx, f"{tx} sent, the files disagree")
    missing = in_order_by_flow(out_b, ways[0], "a to b"), in_order_by_flow(out_a, ways[1], "b to a")
    expect(sum(missing) == drops["limit"] + drops["ring_full"], f"{missing} missing, {drops}")
    expect(drops["limit"] > 200, f"the policy had nothing to do: {drops}")
    for worker in seen["workers"]:
        expect(worker["rx_packets"] > 400, f"workers received "
               f"{[w['rx_packets'] for w in seen['workers']]}")
    return f"{[w['rx_packets'] for w in seen['workers']]} packets, {drops}"


def distributed_stop(scene):
    """Stops while the rings between workers are full: every buffer is returned."""
    write_pcap(scene.path("a.pcap"), flow_frames(1, 25, 4))
    devices = [f"net_pcap{i},rx_pcap={scene.path('a.pcap')},infinite_rx=1" for i in (0, 1)]
    config = box.wire(*devices, JUMBO, **AS_SEEN, policies=[], workers=[0, 1], idle="poll")
    config["wires"][0]["distribute"] = True
    weir = scene.box(config).start()
    box.wait_until(lambda: weir.get("/weir/drops")["ring_full"] > 0, "a ring to be full")
    workers = weir.get("/weir/workers")
    weir.stop()
    return f"{[w['rx_packets'] for w in workers]} packets"


def two_wires_two_workers(scene):
    """Two wires with one queue each are polled by different workers."""
    ports, frames = {}, {}
    for i, name in enumerate("abcd"):
        frames[name] = everything(10 + i)
        write_pcap(scene.path(name + ".pcap"), frames[name])
        ports[name] = {"device": device(i, scene, name), "mtu": JUMBO}
    config = {"ports": ports, "workers": [0, 1], "policies": [], **AS_SEEN,
              "wires": [{"name": "w1", "a": "a", "b": "b"}, {"name": "w2", "a": "c", "b": "d"}]}
    n_in = sum(map(len, frames.values()))
    seen = run(scene, config, n_in)
    check_sums(seen, n_in)
    for into, out in (("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")):
        compare(read_pcap(scene.path(out + ".out.pcap")), frames[into], f"{into} to {out}")
    loads = [worker["rx_packets"] for worker in seen["workers"]]
    expect(loads[0] == loads[1], f"workers received {loads}")


def port_that_takes_nothing(scene):
    """Packets that a transmit queue rejects are counted, and their buffers are returned."""
    frames = everything(5)
    write_pcap(scene.path("a.pcap"), frames)
    # A memif server without a client takes no packet.
    memif = f"net_memif0,role=server,socket={scene.path('memif.sock')},socket-abstract=no"
    config = box.wire(device(0, scene, "a"), memif, JUMBO, **AS_SEEN, policies=[])
    seen = run(scene, config, len(frames))
    tx, drops = check_sums(seen, len(frames))
    expect(tx == 0 and drops["tx_full"] == len(frames), f"{tx} sent, drops {drops}")


def echo(scene):
    """A ring on the far side returns everything: each packet passes twice."""
    frames = everything(6)
    write_pcap(scene.path("a.pcap"), frames)
    config = box.wire(device(0, scene, "a"), "net_ring0", JUMBO, **AS_SEEN, policies=[])
    seen = run(scene, config, 2 * len(frames))
    check_sums(seen, 2 * len(frames))
    compare(read_pcap(scene.path("a.out.pcap")), frames, "there and back")


SCENARIOS = [unmatched_in_segments, unmatched_in_one_piece, matched_and_within, tiny_limits,
             both_directions_share, two_workers, distributed,
             distributed_stop, two_wires_two_workers, port_that_takes_nothing,
             echo]

if __name__ == "__main__":
    box.main(SCENARIOS)

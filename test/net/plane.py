#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The XDP data plane: its own decisions, packets for workers, and both during kills, starts and
reloads of the process.

Runs in network and mount namespaces of its own. Usage: plane.py [--kills N] [SCENARIO...], where N
is the number of kills under 300,000 packets/s. Without it there are 3 kills at the highest rate
that the machine can spare, and limits are measured for 2 s instead of 5.
"""

import collections
import contextlib
import os
import struct
import subprocess
import sys
import time

import box
import threads
from box import expect, wait_until
from bypass import PINS, Stream, box_between, setup
from far_end import FRAME, FarEnd, Source, values
from lifecycle import raw, udp_frame
from reload import reloaded

LIMIT_MBIT = 8
BURST = 20000
POLICIES = [{"name": "udp", "match": {"direction": "a-to-b"}, "accounting": "l2",
             "limit": f"{LIMIT_MBIT}Mbit/s", "burst": f"{BURST}B"}]
SENT_S = 2
SLACK = 0.04  # tolerance of a rate over seconds on a shared machine
KILLS = 3
SWITCHES = 5
LEAST_OF_IT = 0.2  # part of the rate, while other tests use the CPUs
TORRENT_PPS = 300_000
TORRENT_BPS = 20_000_000  # half the torrent is more than three times as much
TORRENT_BURST = 65536
DEEP_BURST = 10_000_000  # 4 s of that: stalls of the machine up to that have no effect
SETTLED_S = 2
# Steps of a start's take-over: system calls, their first arguments, and how often they occur.
BPF, LINK_UPDATE, RENAMEAT2, MEMBARRIER = 321, 29, 316, 324
TAKE_OVER = [("before", BPF, LINK_UPDATE, 0), ("one port", BPF, LINK_UPDATE, 1),
             ("both ports", BPF, LINK_UPDATE, 2), ("kept", RENAMEAT2, None, 1),
             ("settled", MEMBARRIER, None, 0)]
ON_THE_WAY = 256 * FRAME  # packets between a decision and the far end: the size of the cable's ring


def wire(scene, policies=None, **keys):
    """A limiter on the XDP data plane, between two cables."""
    config = box.wire("xdp:a", "xdp:b", policies=policies or POLICIES)
    config["wires"][0] |= keys
    return box_between(scene, config)


def kernel(weir, *keys):
    """Returns a sum over both ports."""
    return sum(port[f"kernel_{key}"] for port in weir.get("/weir/ports") for key in keys)


def fragment(sport, serial):
    """Returns a later fragment of such a frame, which has no ports."""
    frame = bytearray(udp_frame(sport, serial))
    frame[20:22] = struct.pack(">H", 100)
    return bytes(frame)


class Flood:
    """Sends frames at full speed; returns the received bit/s and frames."""

    def __init__(self, seconds, make=udp_frame, flows=16):
        self.sent, self.got, self.bytes = 0, 0, 0
        self.tx, self.rx = raw("ta"), raw("tb")
        self.rx.setblocking(False)
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            for sport in range(flows):
                self.tx.send(make(1000 + sport, self.sent))
                self.sent += 1
            self.drain()
        time.sleep(0.05)
        self.drain()
        self.took = time.monotonic() - began
        self.bps = self.bytes * 8 / self.took
        self.tx.close()
        self.rx.close()

    def drain(self):
        """Takes the received frames."""
        with contextlib.suppress(BlockingIOError):
            while True:
                frame = self.rx.recv(65536)
                if frame[12:14] == b"\x08\x00":
                    self.got += 1
                    self.bytes += len(frame)
                    self.note(frame)

    def note(self, frame):
        """Observes the received frames."""

    def expect_limit(self, mbit=LIMIT_MBIT, least=1 - 3 * SLACK):
        """Checks that the limit was kept and used, with at most one burst."""
        most = mbit * 1e6 + BURST * 8 / self.took
        said = f"{self.bps / 1e6:.3f} of {mbit} Mbit/s"
        expect(least * mbit * 1e6 <= self.bps <= most * (1 + SLACK), said)
        return said


def decides(scene):
    """Packets that the plane can decide reach no worker, keep to the limit, and are counted one by
    one."""
    with wire(scene) as weir:
        weir.start()
        seen = weir.total("rx_packets")
        flood = Flood(SENT_S)
        said = flood.expect_limit()
        expect(weir.total("rx_packets") == seen, "packets come by workers")
        wait_until(lambda: kernel(weir, "passed", "dropped") == flood.sent, "not all are counted")
        policy = weir.get("/weir/policy,udp")
        expect(policy["passed"]["packets"] == flood.got, f"{flood.got} passed: {policy}")
        expect(policy["dropped"]["packets"] == flood.sent - flood.got, str(policy))
        expect(kernel(weir, "unsent", "unserved") == 0, str(weir.get("/weir/ports")))
        weir.stop()
    return said


def samples(scene):
    """The limiter samples flows from the kernel's observations."""
    with wire(scene, [POLICIES[0] | {"allocator": "fps"}]) as weir:
        weir.start()
        sampled = 0

        def all_seen():
            nonlocal sampled
            Flood(0.2, flows=8)
            sampled = weir.get("/weir/policy,udp")["flows_sampled"]
            return sampled >= 6  # two of eight can share one slot

        wait_until(all_seen, lambda: f"{sampled} of 8 flows are seen")
        expect(weir.total("rx_packets") == 0, "packets come by workers")
        weir.stop()
    return f"{sampled} of 8 flows"


def leaves(scene):
    """Fragments and packets of other policies go through workers, which share the limit."""
    policies = POLICIES + [
        {"name": "slow", "match": {"direction": "a-to-b", "src": "192.0.2.8/29"},
         "limit": "1Mbit/s", "action": "shape"},
        {"name": "ports", "match": {"direction": "a-to-b", "proto": "udp", "dst-port": 4711},
         "limit": "100Mbit/s"}]
    with wire(scene, policies) as weir:
        weir.start()
        _, described, _ = weir.run("--describe", weir.config_path)
        expect('policy "slow", because it lets packets wait' in described
               and 'policy "udp"' not in described.split("workers decide")[1].split("\n  while")[0],
               described)
        both = Flood(SENT_S, lambda sport, n: (fragment if sport % 2 else udp_frame)(sport, n))
        said = both.expect_limit()
        expect(weir.total("rx_packets") > both.got / 100, "no fragment came by a worker")
        wait_until(lambda: kernel(weir, "passed", "dropped") == both.sent // 2, "not all counted")
        seen = weir.total("rx_packets")
        Flood(0.2, lambda sport, n: udp_frame(sport, n)[:29] + b"\x09" + udp_frame(sport, n)[30:])
        wait_until(lambda: weir.get("/weir/policy,slow")["passed"]["packets"] > 0, "none passes")
        expect(weir.total("rx_packets") > seen, "none came by a worker")
        weir.stop()
    return f"half of it fragments: {said}"


SLOW = {key: POLICIES[0][key] for key in ("accounting", "limit", "burst")}
KINDS = {"packets": (9001, {"count": "packets", "limit": "1000/s", "burst": 50}),
         "dscp": (9002, SLOW | {"action": "mark", "mark": "af13"}),
         "ecn": (9003, SLOW | {"action": "mark", "mark": "ecn"}),
         "counted": (9004, SLOW | {"action": "count"})}
ECT = 2


def of_kind(port, ecn):
    """Returns frames of one kind."""
    def make(sport, serial):
        frame = bytearray(udp_frame(sport, serial))
        frame[15] = ecn
        frame[36:38] = struct.pack(">H", port)
        return bytes(frame)
    return make


class Marked(Flood):
    """Sends a flood of a kind; returns the received packets of each class."""

    def __init__(self, port, ecn=ECT):
        self.classes = collections.Counter()
        super().__init__(0.5, of_kind(port, ecn))

    def note(self, frame):
        self.classes[frame[15]] += 1


def kinds(scene):
    """Policies that count packets, mark, or only count: the kernel decides like workers."""
    policies = [more | {
        "name": name,
        "match": {"direction": "a-to-b", "proto": "udp", "dst-port": port}}
        for name, (port, more) in KINDS.items()]
    with wire(scene, policies) as weir:
        weir.start()
        floods = {name: Marked(port) for name, (port, _) in KINDS.items()}
        deaf = Marked(KINDS["ecn"][0], 0)
        expect(weir.total("rx_packets") == 0, "packets come by workers")
        seen = {name: weir.get(f"/weir/policy,{name}") for name in KINDS}
        every = {"name": "all", "match": POLICIES[0]["match"]} | KINDS["packets"][1]
        reloaded(weir, [every], added=1, removed=len(KINDS))
        both = Flood(1, lambda sport, n: (fragment if sport % 2 else udp_frame)(sport, n))
        by_workers = weir.total("rx_packets")
        weir.stop()
    expect(by_workers > both.got / 100, "no fragment came by a worker")
    expect(both.got <= 50 + 1000 * both.took * (1 + SLACK), f"{both.got} packets, shared")
    for name in ("dscp", "counted"):
        expect(floods[name].got == floods[name].sent, f"{name}: {floods[name].got} arrived")
        over = seen[name]["over"]["packets"]
        expect(0 < over < floods[name].sent, f"{name}: {seen[name]}")
    most = 50 + 1000 * floods["packets"].took * (1 + SLACK)
    expect(0.5 * most < floods["packets"].got <= most, f"{floods['packets'].got} packets")
    expect(seen["packets"]["passed"]["packets"] == floods["packets"].got, str(seen["packets"]))
    expect(floods["dscp"].classes == {ECT: floods["dscp"].sent - seen["dscp"]["over"]["packets"],
                                      14 << 2 | ECT: seen["dscp"]["over"]["packets"]},
           str(floods["dscp"].classes))
    expect(set(floods["counted"].classes) == {ECT}, str(floods["counted"].classes))
    expect(floods["ecn"].classes[3] == seen["ecn"]["over"]["packets"] > 0
           and floods["ecn"].got == floods["ecn"].sent, str(floods["ecn"].classes))
    expect(set(deaf.classes) == {0} and deaf.got + seen["ecn"]["dropped"]["packets"] == deaf.sent,
           str(seen["ecn"]))
    return f"{floods['packets'].got} of {most:.0f} packets; marked: {floods['dscp'].classes}"


def goes_on(scene):
    """Repeated kills and starts: no loss, all packets counted, and the limit holds without the
    process."""
    with wire(scene) as weir:
        weir.start()
        with Stream() as stream:
            stream.more(100)
            for _ in range(3):
                weir.kill()
                stream.more(100)
                weir.start()
                stream.more(100)
            weir.stop()
            stream.more(100)
            lost = stream.lost()
            expect(lost == 0, f"{lost} of {stream.sent} lost")
        alone = Flood(SENT_S)
        said = alone.expect_limit()
        weir.start()
        policy = weir.get("/weir/policy,udp")
        expect(policy["passed"]["packets"] == stream.sent + alone.got, str(policy))
        expect(policy["dropped"]["packets"] == alone.sent - alone.got, str(policy))
        Flood(SENT_S).expect_limit()
        weir.kill()
        Flood(SENT_S).expect_limit()
    return f"3 kills and a stop: 0 of {stream.sent} lost; then {said}"


def in_torrent(weir, source_cpu):
    """Kills and starts under load; returns the sent and received packets at the end."""
    far = FarEnd("tb", TORRENT_BPS)
    source = Source("ta", "tb", "198.18.1.0+2*1", TORRENT_PPS, source_cpu)
    try:
        wait_until(lambda: far.read()[0].packets > 0, "nothing arrives")
        for turn in range(KILLS):
            time.sleep(0.3 + turn % 10 / 30)
            weir.kill()
            time.sleep(turn % 7 / 20)
            weir.start()
        time.sleep(0.5)
        account = source.end()
        time.sleep(0.2)
        return account, far.read()
    finally:
        source.close()
        far.close()


def torrent(scene):
    """Repeated kills under 300,000 packets/s: no conforming packet is lost, every packet is
    counted, and the limit is never exceeded, not even by a second burst."""
    policies = [{"name": "free", "match": {"dst": "198.18.1.0/32"}, "limit": "10Gbit/s"},
                {"name": "limited", "match": {"dst": "198.18.1.1/32"}, "accounting": "l2",
                 "limit": f"{TORRENT_BPS}bit/s", "burst": f"{TORRENT_BURST}B"}]
    with wire(scene, policies) as weir:
        weir.start()
        account, (free, limited, *_) = in_torrent(weir, 0)
        books = {name: weir.get(f"/weir/policy,{name}") for name in ("free", "limited")}
        unsent = kernel(weir, "unsent")
        weir.stop()
    pps, sent = account["sent"] / account["seconds"], account["first"]
    above = limited.above - TORRENT_BURST
    used = limited.bytes * 8 / account["seconds"] / TORRENT_BPS
    said = (f"{KILLS} kills at {pps:.0f} packets/s: {sent - free.packets} of {sent} lost; of the "
            f"limit {used:.4f}, at most {above:.0f} bytes above its burst")
    expect(free.packets == sent and unsent == 0, f"{said}; {unsent} not sent by a cable")
    passed, dropped = (books["limited"][key]["packets"] for key in ("passed", "dropped"))
    expect((passed, passed + dropped) == (limited.packets, account["sent"] - sent),
           f"{said}; {limited.packets} arrived: {books['limited']}")
    expect(books["free"]["passed"]["packets"] == sent, f"{said}; {books['free']}")
    expect(above <= ON_THE_WAY, said)
    expect(LEAST_OF_IT * TORRENT_PPS <= pps, said)
    return said


def cut_off(scene):
    """A start that is killed at any step of its take-over leaves a wire that forwards between half
    of the limit and the limit. The next start finds the pinned state."""
    said = []
    with wire(scene) as weir:
        weir.start()
        for what, *call in TAKE_OVER:
            weir.kill()
            threads.kill_after(weir.spawn().process, *call)
            rates = [Flood(1).bps / 1e6 / LIMIT_MBIT for _ in range(2)]
            said.append(f"{what}: {rates[1]:.2f}")
            expect(0.5 - SLACK < rates[1] < 1 + SLACK, f"{what}: {rates} of the limit")
            weir.start()
            Flood(SENT_S).expect_limit()
        before = weir.get("/weir/policy,udp")["passed"]["packets"]
        flood = Flood(1)
        passed = weir.get("/weir/policy,udp")["passed"]["packets"] - before
        expect(passed == flood.got, f"{passed} passed, and {flood.got} arrived")
        weir.stop()
    return "; ".join(said)


def lines_used(slot):
    """Returns the number of kernel CPUs that have packets of a policy, of 4096 at most."""
    lines = values(f"{os.path.dirname(PINS)}/plane/lines")
    return sum(struct.unpack_from("<Q", line, 40)[0] > 0 for line in lines[slot::4096])


def rate_at(far):
    """Returns the rate over seconds, from a packet to a packet."""
    first = far.read()[1]
    time.sleep(SETTLED_S)
    last = far.read()[1]
    return (last.bytes - first.bytes) * 8e9 / (last.last_ns - first.last_ns)


def settles_on(scene, cpus):
    """Returns the settled rate divided by the limit, with a number of sending CPUs."""
    policy = {"name": "limited", "match": {"dst": "198.18.1.1/32"}, "accounting": "l2",
              "limit": f"{TORRENT_BPS}bit/s", "burst": f"{DEEP_BURST}B"}
    sources, far = [], None
    with wire(scene, [policy]) as weir:
        weir.start()
        try:
            far = FarEnd("tb", TORRENT_BPS)
            sources += [Source("ta", "tb", "198.18.1.1", 150_000 // cpus, cpu)
                        for cpu in range(cpus)]
            wait_until(lambda: weir.get("/weir/policy,limited")["dropped"]["packets"] > 0,
                       "nothing is dropped")
            time.sleep(0.5)
            settled = rate_at(far) / TORRENT_BPS
            for source in sources:
                source.end()
            above = far.read()[1].above - DEEP_BURST
            used = lines_used(0)
        finally:
            for end in sources + [far] * bool(far):
                end.close()
        weir.stop()
    said = f"{cpus} CPU(s): {settled:.5f} of the limit, at most {above:.0f} bytes above its burst"
    expect(used == cpus, f"{said}; {used} CPUs have had packets")
    expect(above <= ON_THE_WAY, said)
    expect(abs(settled - 1) <= 0.002, said)
    return said


def settles(scene):
    """With one CPU and with two, the passed rate is within a thousandth of the limit, and never
    above."""
    return "; ".join(settles_on(scene, cpus) for cpus in (1, 2))


def changes(scene):
    """A reload changes limits and matches while packets pass."""
    with wire(scene) as weir:
        weir.start()
        Flood(SENT_S).expect_limit()
        half = POLICIES[0] | {"limit": f"{LIMIT_MBIT // 2}Mbit/s"}
        reloaded(weir, [half], changed=1)
        halved = Flood(SENT_S).expect_limit(LIMIT_MBIT // 2)
        other = {"name": "other", "match": {"dst": "198.51.100.0/24"}, "limit": "1Mbit/s"}
        reloaded(weir, [other, half | {"match": {"dst": "192.0.2.0/30"}}], added=1, changed=1)
        Flood(SENT_S).expect_limit(LIMIT_MBIT // 2)
        reloaded(weir, [other], removed=1)
        free = Flood(0.5)
        expect(free.got == free.sent, f"{free.got} of {free.sent}")
        weir.stop()
    return halved


def moves(scene):
    """Counts from before a reload that moves a policy, also to workers, outlive a kill."""
    others = [{"action": "count"}, {"action": "mark", "mark": "af13"}, {"action": "shape"}]
    with wire(scene) as weir:
        weir.start()
        for other in others:
            Flood(0.3)
            reloaded(weir, [POLICIES[0] | other], changed=1)
            before = weir.get("/weir/policy,udp")
            weir.kill()
            weir.start()
            after = weir.get("/weir/policy,udp")
            for key in ("passed", "dropped"):
                expect(after[key] == before[key], f"{other}: {before[key]}, then {after[key]}")
            said = f"{after['passed']['packets']} packets passed"
        weir.stop()
    return said


def tries(scene):
    """A trial from the start on counts all packets, by workers."""
    with wire(scene, [POLICIES[0] | {"trial": {"limit": f"{LIMIT_MBIT // 2}Mbit/s"}}]) as weir:
        weir.start()
        flood = Flood(SENT_S)
        said = flood.expect_limit()
        policy = weir.get("/weir/policy,udp")
        expect(weir.total("rx_packets") > flood.got and kernel(weir, "dropped") == 0,
               "packets come by no worker")
        # The socket drops packets without room; the policy has counted all of them.
        trial = policy["trial"]
        came, tried = (sum(part[key]["packets"] for key in keys) for part, keys in
                       ((policy, ("passed", "dropped")), (trial, ("passed", "dropped"))))
        expect(came == tried > flood.got, f"{came} packets came: {trial}")
        share = trial["passed"]["packets"] / policy["passed"]["packets"]
        expect(0.4 < share < 0.6, f"half of the limit would have passed {share:.2f} of it")
        weir.stop()
    return said


def generic(scene):
    """An interface without native XDP is accepted only with the key for generic XDP."""
    with wire(scene) as weir:
        subprocess.run(["ip", "link", "add", "v", "link", "a", "up", "type", "macvlan", "mode",
                        "passthru"], check=True)
        weir.config["ports"] = {"a": {"device": "xdp:v", "generic": True},
                                "b": {"device": "xdp:b", "generic": True}}
        weir.write()
        weir.start()
        said = Flood(SENT_S).expect_limit(least=0.5)
        links = subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout
        expect(links.count("xdpgeneric") == 2, links)
        expect(weir.total("rx_packets") == 0, "packets come by workers")
        Flood(0.3, fragment)
        expect(weir.total("rx_packets") > 0, "no fragment came by a worker")
        weir.kill()
        Flood(SENT_S).expect_limit(least=0.5)
        subprocess.run(["ip", "link", "del", "dev", "v"], check=True)
        weir.config["ports"] = {"a": {"device": "xdp:a"}, "b": {"device": "xdp:b"}}
        weir.write()
        weir.start()
        Flood(0.5).expect_limit(least=0.5)
        links = subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout
        expect("xdpgeneric" not in links, links)
        weir.stop()
    return said


def switches(scene):
    """From one mode to the other and back, over and over: each start finds its place."""
    with wire(scene) as weir:
        for turn in range(2 * SWITCHES):
            weir.config["ports"] = {port: {"device": f"xdp:{port}", "generic": turn % 2 == 0}
                                    for port in "ab"}
            weir.write()
            weir.start()
            weir.kill()
        weir.start()
        said = Flood(0.5).expect_limit(least=0.5)
        weir.stop()
    return said


def refused(scene):
    """An interface without support is refused with a remedy."""
    with wire(scene) as weir:
        subprocess.run(["ip", "link", "add", "v", "link", "a", "type", "macvlan"], check=True)
        ports = weir.config["ports"]
        weir.config["ports"] = {"a": {"device": "xdp:v"}, "b": {"device": "xdp:b"}}
        weir.write()
        status, _, words = weir.run("-c", weir.config_path)
        expect(status != 0 and "ports.a" in words and '"generic": true' in words, words)
        subprocess.run(["ip", "link", "del", "dev", "v"], check=True)
        weir.config["ports"] = ports
        weir.write()
        subprocess.run(["ethtool", "-L", "a", "rx", "2"], check=True)
        status, _, words = weir.run("-c", weir.config_path)
        expect(status != 0 and "ports.a: a has 2 receive queues" in words
               and "ethtool -L a rx 1" in words, words)
        subprocess.run(["ethtool", "-L", "a", "rx", "1"], check=True)
        weir.start().stop()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--kills"]:
        KILLS = int(sys.argv[2])
        LEAST_OF_IT, SETTLED_S = 0.95, 5
        del sys.argv[1:3]
    box.main([decides, samples, leaves, kinds, goes_on, torrent, cut_off, settles, changes,
              moves, tries, generic, switches, refused], setup=setup)

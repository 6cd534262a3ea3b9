#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Frames of all lengths, tags, labels and PPPoE, while the MTU of both interfaces changes.

    ta ──veth── a │weir│ b ──veth── tb

For each kind of port, a step gives both interfaces a random MTU. Then it sends frames into `a`
whose lengths are near the limits. Each frame arrives unchanged, or a reason counts it, and no
policy has passed it. The oracle is the kernel: its counters of the interfaces, and whether a packet
socket sends the frame on an interface with the same MTU. For XDP the oracle is the rule of the
kernel's xdp_ok_fwd_dev().

    lengths.py [SCENARIO]       WEIR_SEED=N: another seed; WEIR_STEPS=N: so many steps
"""

import errno
import json
import os
import random
import re
import socket
import struct
import subprocess
import time

import box
from box import expect, ip, wait_until
from bypass import PINS, remove_pins, setup
from lifecycle import SO_RCVBUFFORCE, raw

STEPS = int(os.environ.get("WEIR_STEPS", "6"))
SEED = int(os.environ.get("WEIR_SEED", "1"), 0)
FRAMES = 40         # frames in a step
MTU = 1500          # configured MTU
LAYER2 = 62         # bytes: Ethernet's header, 4 tags, 8 labels
VLAN_HLEN = 4       # bytes by which xdp_ok_fwd_dev() exceeds the MTU and Ethernet's header
LEASE_S = 0.1       # default of "fail_after"
FAR_MTU = 3400      # no limit at the ends of the test
AUXDATA = (263, 8)  # SOL_PACKET, PACKET_AUXDATA
TAG_VALID, TPID_VALID = 0x10, 0x40
POLICIES = [{"name": "all", "match": {"direction": "a-to-b"}, "limit": "10Gbit/s"}]
KINDS = {"af_packet": "net_af_packet{},iface={}", "af_xdp": "net_af_xdp{},iface={}",
         "xdp": "xdp:{1}"}


def link(interface):
    """Returns the kernel's counters of an interface."""
    words = ["ip", "-s", "-j", "link", "show", "dev", interface]
    return json.loads(subprocess.run(words, capture_output=True, check=True).stdout)[0]


def cables():
    """Creates both cables. The test's ends have NAPI, so that XDP can send to them."""
    for end, port in (("ta", "a"), ("tb", "b"), ("to", "probe")):
        ip(f"link add {end} mtu {FAR_MTU} type veth peer name {port} mtu {MTU}")
        for name in (end, port):
            with open(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6", "w", encoding="ascii") as out:
                out.write("1")
            ip(f"link set dev {name} up")
        subprocess.run(["ethtool", "-K", end, "gro", "on", "tx", "off", "txvlan", "off",
                        "tx-vlan-stag-hw-insert", "off"], check=True, capture_output=True)


class Taker:
    """A packet socket that inserts the outermost tag where the kernel has removed it."""

    def __init__(self, interface):
        self.socket = raw(interface)
        self.socket.setsockopt(*AUXDATA, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.socket.setblocking(False)
        self.frames = []

    def take(self):
        """Returns all frames so far."""
        while True:
            try:
                frame, extra, _, _ = self.socket.recvmsg(1 << 16, 256)
            except BlockingIOError:
                return self.frames
            for level, kind, data in extra:
                status, *_, tci, tpid = struct.unpack("IIIHHHH", data[:20])
                if (level, kind) == AUXDATA and status & TAG_VALID:
                    tpid = tpid if status & TPID_VALID else 0x8100
                    frame = frame[:12] + struct.pack(">HH", tpid, tci) + frame[12:]
            self.frames.append(frame)


def layer2(lot):
    """Returns everything between the addresses and the layer-3 packet."""
    tags = b"".join(struct.pack(">HH", lot.choice((0x8100, 0x88a8)), lot.randrange(1, 4095))
                    for _ in range(lot.choice((0, 0, 1, 1, 2, 3, 4))))
    kind = lot.choice(("ip", "ip", "labels", "pppoe"))
    if kind == "labels":
        n = lot.randrange(1, 9)
        return tags + b"\x88\x47" + b"".join(struct.pack(">I", lot.randrange(16, 1 << 20) << 12 |
                                             (i == n - 1) << 8 | 64) for i in range(n))
    return tags + (b"\x88\x64\x11\0\0\1" if kind == "pppoe" else b"\x08\0")


def make(lot, limits):
    """Returns a frame of a length near a limit, or with a full layer-3 packet, or small."""
    head = bytes.fromhex("020000000002020000000001") + layer2(lot)
    inner = 8 if head[-6:-4] == b"\x88\x64" else 0  # PPPoE: length and protocol follow
    room = len(head) + (4 if inner else 0)
    near = lot.choice(limits) + lot.randrange(-6, 7) - room
    total = max(28, lot.choice((MTU, lot.randrange(28, 200), near)))
    if inner:
        head += struct.pack(">HH", total + 2, 0x0021)
    fragment = 0x2000 if lot.randrange(4) == 0 else 0  # fragments are for workers
    ident, proto = lot.randrange(1 << 16), 17
    packet = struct.pack(">BBHHHBBH4s4s", 0x45, 0, total, ident, fragment, 64, proto, 0,
                         b"\xc0\0\2\1", b"\xc6\x33\x64\1")
    words = sum(struct.unpack(">10H", packet))
    words = (words & 0xffff) + (words >> 16)
    packet = packet[:10] + struct.pack(">H", ~(words + (words >> 16)) & 0xffff) + packet[12:]
    udp = struct.pack(">HHHH", 1000, 2000, total - 20, 0)
    return head + packet + udp + lot.randbytes(total - 28)


def kernel_takes(kind, frame, mtu):
    """Returns true if the kernel transmits the frame at this MTU."""
    if kind != "af_packet":
        return len(frame) <= mtu + 14 + VLAN_HLEN
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as probe:
        probe.bind(("probe", 0))
        try:
            probe.send(frame)
        except OSError as error:
            expect(error.errno == errno.EMSGSIZE, str(error))
            return False
    return True


class Lengths:
    """One limiter on ports of a kind, with its counters."""

    def __init__(self, scene, kind, **keys):
        cables()
        config = box.wire(*(KINDS[kind].format(i, name) for i, name in enumerate("ab")), mtu=MTU,
                          policies=POLICIES)
        for port in config["ports"].values():
            port |= keys
        self.kind, self.weir = kind, scene.box(config).start()
        self.sender, self.taker = raw("ta"), Taker("tb")

    def counted(self):
        """Returns packets by reason."""
        return self.weir.get("/weir/drops") | {
            "unsent": sum(port["kernel_unsent"] for port in self.weir.get("/weir/ports"))}

    def passed(self):
        """Returns the packets that the policy has passed."""
        return self.weir.get("/weir/policy,all")["passed"]["packets"]

    def set_mtu(self, interface, mtu):
        """Sets an MTU, and waits until Weir uses that of b."""
        ip(f"link set dev {interface} mtu {mtu}")
        most = min(MTU + LAYER2, mtu + 14 + (VLAN_HLEN if self.kind != "af_packet" else 0))
        if interface == "b":
            wait_until(lambda: self.weir.get("/weir/ports")[1]["frame_max"] == most,
                       f"the MTU {mtu} is not used")

    def send(self, frames):
        """Sends frames; returns the number that the kernel gives to a, whose MTU may be less."""
        sent = 0
        for frame in frames:
            try:
                sent += self.sender.send(frame) > 0
            except OSError as error:
                expect(error.errno == errno.ENOBUFS, str(error))
        return sent

    def step(self, frames, expected):
        """Sends frames; `expected` must arrive, and all others must be counted."""
        before, passed = self.counted(), self.passed()
        sums, had = link("tb")["stats64"]["rx"]["packets"], len(self.taker.take())
        sent = self.send(frames)

        def lost():
            return {key: n - before[key] for key, n in self.counted().items() if n != before[key]}

        def arrived():
            return len(self.taker.take()) - had

        wait_until(lambda: arrived() + sum(lost().values()) == sent,
                   lambda: f"{sent} sent, {arrived()} arrived, counted {lost()}")
        got = sorted(self.taker.frames[had:])
        expect(got == sorted(expected), f"{len(got)} of {len(expected)} expected frames: {lost()}, "
               f"{sorted(map(len, got))}, not {sorted(map(len, expected))}")
        expect(link("tb")["stats64"]["rx"]["packets"] - sums == len(got), "the kernel's counter")
        wait_until(lambda: self.passed() - passed == len(got),
                   lambda: f"{len(got)} arrived, the policy has {self.passed() - passed}")
        return lost()

    def close(self):
        """Removes everything."""
        self.sender.close()
        self.taker.socket.close()
        self.weir.kill()
        for end in ("ta", "tb", "to"):
            ip(f"link del {end}")
        remove_pins(PINS)


def by_lot(scene, kind, **keys):
    """Runs steps with random MTUs and frames."""
    lot, reasons, n = random.Random(SEED), {}, 0
    rig = Lengths(scene, kind, **keys)
    try:
        for _ in range(STEPS):
            near = lot.choice((MTU, 2000, 2500))
            far = lot.choice((1300, 1400, MTU, 1520, 1548, 2000))
            rig.set_mtu("a", near)
            rig.set_mtu("b", far)
            ip(f"link set dev probe mtu {far}")
            frames = [make(lot, (far + 14, far + 18, MTU + LAYER2)) for _ in range(FRAMES)]
            expected = [f for f in frames if len(f) <= min(MTU + LAYER2, near + 14 + VLAN_HLEN)
                        and kernel_takes(kind, f, far)]
            for reason, packets in rig.step(frames, expected).items():
                reasons[reason] = reasons.get(reason, 0) + packets
            n += len(expected)
        rig.weir.stop()
    finally:
        rig.close()
    return f"seed {SEED}: {n} of {STEPS * FRAMES} arrived, {reasons}"


def af_packet(scene):
    """Over packet sockets."""
    return by_lot(scene, "af_packet")


def af_xdp(scene):
    """Over AF_XDP sockets."""
    return by_lot(scene, "af_xdp")


def xdp(scene):
    """On the XDP data plane."""
    return by_lot(scene, "xdp")


def generic_xdp(scene):
    """On the XDP data plane, without XDP of the driver."""
    return by_lot(scene, "xdp", generic=True)


def not_sent(scene):
    """XDP: packets to an interface that is down or gone are not charged, also while Weir is not
    running."""
    lot = random.Random(SEED)
    rig = Lengths(scene, "xdp")
    try:
        small = [make(lot, (600,)) for _ in range(FRAMES)]
        small = [frame for frame in small if len(frame) < 700]
        ip("link set dev b down")
        wait_until(lambda: rig.weir.get("/weir/ports")[1]["frame_max"] == 0, "b is up")
        expect(rig.step(small, [])["unsent"] == len(small), "not all are counted as unsent")
        ip("link set dev b up")
        wait_until(lambda: rig.weir.get("/weir/ports")[1]["frame_max"], "b is down")
        rig.step(small, small)
        before = rig.weir.get("/weir/ports")[0]["kernel_passed"]
        rig.weir.kill()
        ip("link set dev b mtu 1300")
        had = len(rig.taker.frames)
        rig.send(small[:1])
        time.sleep(3 * LEASE_S)  # a program regards the process as dead after this time
        rig.send(small + [make(lot, (1400,)) for _ in range(FRAMES)])
        wait_until(lambda: len(rig.taker.take()) > had + len(small), "nothing passes")
        rig.weir.start()
        past = re.search(r"port a: (\d+) packets .* went straight", rig.weir.log())
        charged, arrived = rig.passed() - before, len(rig.taker.take()) - had
        expect(charged + int(past[1] if past else 0) == arrived,
               f"{charged} charged, {past and past[0]}, {arrived} arrived")
    finally:
        rig.close()


def restored(scene):
    """The start raises the MTU for all of layer 2, and the stop restores it, unless it was changed
    or the wire continues. The event has the command for an interface that is too small."""
    words = []
    for kind, after in (("af_packet", MTU), ("af_xdp", MTU), ("xdp", MTU + LAYER2 - 14)):
        rig = Lengths(scene, kind)
        try:
            expect(link("b")["mtu"] == MTU + LAYER2 - 14, f"{kind}: {link('b')['mtu']}")
            ip("link set dev a mtu 1600")
            rig.set_mtu("b", 1400)
            said = f"ip link set dev b mtu {MTU + LAYER2 - 14}"
            wait_until(lambda: said in rig.weir.log(), f"{kind}: no event")
            rig.set_mtu("b", MTU + LAYER2 - 14)
            rig.weir.stop()
            words.append(f"{kind} {link('b')['mtu']}")
            expect((link("a")["mtu"], link("b")["mtu"]) == (1600, after), f"{kind}: {words}")
        finally:
            rig.close()
    return ", ".join(words)


if __name__ == "__main__":
    box.main([af_packet, af_xdp, xdp, generic_xdp, not_sent, restored], setup)

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Policies whose meters have colours (srtcm, trtcm, trtcm-4115): actions and marks by colour.

A real weir process plays capture files whose packets all arrive in one instant. Each transmitted
packet is compared byte by byte with a model in this file, written from the RFCs. Then packets cross
veth pairs at a rate. Last, two limiters share a hard committed rate and a soft peak.
"""

import os
import random
import struct
import sys
import time

import actions
import box
import hard_limits
from actions import CE, ECT0, compare, judge, marked
from box import expect
from conservation import MACS, SLACK, charge, check_sums
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

GREEN, YELLOW, RED = range(3)
NAMES = ["green", "yellow", "red"]
SLOW = "8kbit/s"  # a byte a ms: buckets earn less than SLACK while a capture is played
AF = {8 * c + 2 * p: p - 1 for c in range(1, 5) for p in range(1, 4)}  # RFC 2597: precedences

DSCPS = {"af11": 10, "af12": 12, "af13": 14}

METERS = {
    "srtcm": {"meter": "srtcm", "excess": {"burst": "60kB"}},
    "trtcm": {"meter": "trtcm", "peak": {"limit": SLOW, "burst": "90kB"}},
    "trtcm-4115": {"meter": "trtcm-4115", "excess": {"limit": SLOW, "burst": "60kB"}},
}
BURST = 30000  # committed
SECOND = {"srtcm": 60000, "trtcm": 90000, "trtcm-4115": 60000}


class Unsure(Exception):
    """The verdict would depend on the few bytes that a bucket earns meanwhile."""


class Coloured:
    """Two buckets that start full and earn nothing, except the slack that the test allows."""

    def __init__(self, meter):
        self.meter, self.committed, self.second = meter, BURST, SECOND[meter]

    @staticmethod
    def fits(tokens, cost):
        """Returns true if a packet fits a bucket; raises Unsure within the slack."""
        if 0 <= cost - tokens < SLACK:
            raise Unsure
        return cost <= tokens

    def packet(self, cost, came):
        """Returns the packet's colour."""
        if self.meter == "trtcm":
            return self.both(cost, came)
        if came == GREEN and self.fits(self.committed, cost):
            self.committed -= cost
            return GREEN
        if came != RED and self.fits(self.second, cost):
            self.second -= cost
            return YELLOW
        return RED

    def both(self, cost, came):
        """Returns a packet's colour by RFC 2698."""
        if came == RED or not self.fits(self.second, cost):
            return RED
        green = came == GREEN and self.fits(self.committed, cost)
        self.second -= cost
        self.committed -= cost if green else 0
        return GREEN if green else YELLOW


def frames_of(rng, n):
    """Yields IPv4, IPv6 and other frames of all DSCPs, mostly those of assured forwarding."""
    for serial in range(n):
        dscp = rng.choice([rng.randrange(64), rng.choice([*AF])])
        tos = dscp << 2 | rng.randrange(4)
        body = UDP(sport=serial) / Raw(struct.pack(">I", serial) + b"c" * rng.randint(0, 1300))
        l3 = rng.choice([IP(src="192.0.2.1", dst="10.1.2.3", tos=tos) / body,
                         IPv6(src="2001:db8::1", dst="fd00::1", tc=tos) / body,
                         ARP(pdst="192.0.2.9") / Raw(b"a" * rng.randint(0, 900))])
        yield (dscp if not isinstance(l3, ARP) else 0), bytes(Ether(**MACS) / l3)


def play_colours(scene, meter, aware, acts, of_dscp):
    """Asserts that the output equals the model's, marked by colour; returns (counts by colour)."""
    model, counts = Coloured(meter), [[0, 0] for _ in NAMES]
    passed = dropped = over = unmarkable = 0

    def enact(frame, colour):
        act = acts.get(NAMES[colour], "drop" if colour == RED else "pass")
        if isinstance(act, dict):
            return marked(frame, DSCPS.get(act["mark"], "ecn")), colour != GREEN, True
        return (None if act == "drop" else frame), act == "count", False

    def decide(entry):
        nonlocal passed, dropped, over, unmarkable
        dscp, frame = entry
        cost = charge(frame, "l3")
        try:
            colour = model.packet(cost, of_dscp.get(dscp, GREEN) if aware else GREEN)
        except Unsure:
            return False
        counts[colour][0] += 1
        counts[colour][1] += cost
        out, beyond, marks = enact(frame, colour)
        passed += out is not None
        dropped += out is None
        over += beyond and out is not None
        unmarkable += marks and out is None
        return out

    sent, want = judge(frames_of(random.Random(f"{meter} {aware}"), 700), decide)
    colours = acts | ({"aware": True} if aware else {})
    named = {str(dscp): NAMES[c] for dscp, c in of_dscp.items() if AF.get(dscp, GREEN) != c}
    if named:
        colours["dscp"] = named
    policy = {"name": "p", "limit": SLOW, "burst": f"{BURST}B", "colours": colours} | METERS[meter]
    seen, out = actions.play(scene, [policy], [frame for _, frame in sent])
    compare(out, want, "a to b")
    _, drops = check_sums(seen, len(sent))
    expect(actions.packets(seen, "p") == (passed, dropped, over),
           f"{actions.packets(seen, 'p')}, not {(passed, dropped, over)}")
    expect((drops["limit"], drops["unmarkable"]) == (dropped - unmarkable, unmarkable), f"{drops}")
    got = seen["policies"]["p"]["colours"]
    for name, (packets, units) in zip(NAMES, counts):
        expect((got[name]["packets"], got[name]["bytes"]) == (packets, units),
               f"{name}: {got[name]}, not {packets}, {units}")
        expect(packets > 20, f"{name}: {packets} packets are no test")
    expect(got["aware"] == aware, f"{got}")
    return [packets for packets, _ in counts]


def colour_blind(scene):
    """Each meter, colour-blind: green passes, yellow gets another DSCP, red is dropped."""
    said = [f"{meter} {play_colours(scene, meter, False, {'yellow': {'mark': 'af12'}}, {})}"
            for meter in METERS]
    return ", ".join(said)


def colour_aware(scene):
    """Each meter, colour-aware: the colour on arrival counts."""
    acts = {"green": {"mark": "af11"}, "yellow": {"mark": "af12"}, "red": {"mark": "af13"}}
    said = [f"{meter} {play_colours(scene, meter, True, acts, AF)}" for meter in METERS]
    return ", ".join(said)


def own_table(scene):
    """DSCPs with a configured colour, and the other actions."""
    of_dscp = AF | {46: YELLOW, 0: RED, 12: GREEN}
    acts = {"yellow": {"mark": "ecn"}, "red": "count"}
    return f"{play_colours(scene, 'trtcm', True, acts, of_dscp)} by colour"


def rates(scene):
    """On live interfaces, at four times the committed rate; the peak is twice that rate."""
    frame = bytes(Ether(**MACS) / IP(src="192.0.2.1", dst="10.1.2.3", tos=ECT0) / UDP() /
                  Raw(b"r" * 372))  # 400 bytes of IP
    policy = {"limit": "800kbit/s", "burst": "4kB", "meter": "trtcm",
              "peak": {"limit": "1.6Mbit/s", "burst": "8kB"},
              "colours": {"green": {"mark": "af11"}, "yellow": {"mark": "ecn"}}}
    began = time.monotonic()
    sent, out, seen, _ = actions.live(scene, policy, frame, 1000, 4)
    took = time.monotonic() - began
    colours = seen["colours"]
    green, yellow = (sum(packet == marked(frame, how) for packet in out) for how in (10, "ecn"))
    expect(green + yellow == len(out), f"{green} green and {yellow} yellow of {len(out)}")
    expect(Ether(marked(frame, "ecn"))[IP].tos & 3 == CE, "no mark")
    expect([colours[name]["packets"] for name in NAMES] == [green, yellow, sent - green - yellow],
           f"{colours}, {green} green, {yellow} yellow of {sent} came out")
    expect(green * 400 <= 100e3 * took + 4e3, f"{green} green packets in {took:.2f} s")
    expect(len(out) * 400 <= 200e3 * took + 8e3, f"{len(out)} packets in {took:.2f} s")
    expect(0.2 < green / sent < 0.3 and 0.2 < yellow / sent < 0.3, f"{green} {yellow} of {sent}")
    expect(seen["over"]["packets"] == yellow, f"{seen['over']}")
    return f"{green} green and {yellow} yellow of {sent}"


class Tally:
    """Bytes that all limiters of a group have counted as green, and passed, since its creation."""

    def __init__(self, group):
        self.group, self.began = group, time.monotonic()
        self.before = self.look()

    def look(self):
        """Returns the bytes of green, and of green plus yellow."""
        all_seen = [self.group.bed.policy(i) for i in self.group.bed.boxes()]
        return (sum(seen["colours"]["green"]["bytes"] for seen in all_seen),
                sum(seen["passed"]["bytes"] for seen in all_seen))

    def check(self):
        """Asserts that green is within the limit; returns the used parts of the limit and of the
        peak."""
        green, passed = (now - then for now, then in zip(self.look(), self.before))
        seconds = time.monotonic() - self.began
        most = hard_limits.LIMIT / 8 * seconds * hard_limits.CLOCKS + hard_limits.BURST
        expect(green <= most, f"{green} bytes green in {seconds:.3f} s, {green / most:.4f} of it")
        return green / most, passed / 2 / most


def group_of_two(scene):
    """A hard committed rate moves with the load, and the peak moves with it."""
    terms = {"guarantee": "hard", "meter": "trtcm",
             "peak": {"limit": "20Mbit/s", "burst": "150kB"}}
    told = []
    with hard_limits.Group(scene, 2, **terms) as group:
        group.start()
        with hard_limits.Watch(group) as watch:
            whole = Tally(group)
            for i in group.bed.boxes():
                group.load(i, 3 * hard_limits.LIMIT)
                group.until_share(i, hard_limits.MOST)
                steady = Tally(group)
                time.sleep(2)
                green, passed = steady.check()
                expect(green > 0.8 and passed > 0.75, f"{green} of the limit, {passed} of the peak")
                here = group.bed.policy(i)
                part = here["colours"]["peak"]["local_limit_bps"] / 2 / here["local_limit_bps"]
                expect(abs(part - 1) < 0.001, f"{part} of the part of the limit")
                told.append(f"{green:.3f} of the limit, {passed:.3f} of the peak")
                group.load(i, 0)
            green, _ = whole.check()
        words = watch.check()
    return f"{words}; {'; '.join(told)}; {green:.3f} of the limit in all"


SCENARIOS = [colour_blind, colour_aware, own_table, rates, group_of_two]

if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(box.SKIP)
    box.main(SCENARIOS)

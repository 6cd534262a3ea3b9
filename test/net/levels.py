#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Policies below others: a packet is charged to a client, its customer and their link, or to none.

A real weir process. It plays capture files, all of whose packets arrive at once, and what comes out
and what each level has counted are compared with a model; then two customers of a link send more
than it has on veth pairs, and each gets its part. And kernel TCP of clients that lie unevenly over
two limiters: a few seconds of test/bench/two_boxes.py.
"""

import os
import random
import struct
import subprocess
import sys
import time

import actions
import box
from actions import cable, compare, judge, marked
from box import expect, wait_until
from conservation import MACS, SLACK, charge
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

sys.path.insert(0, os.path.join(box.ROOT, "test", "bench"))

import two_boxes as bench  # noqa: E402 (needs the path above)

SLOW = "8kbit/s"  # a byte a ms: what buckets earn while a capture is played is within SLACK
# name: (parent, bytes of its bucket, what becomes of more)
LEVELS = {
    "link": (None, 90000, "drop"),
    "acme": ("link", 60000, "drop"),
    "zeta": ("link", 70000, "drop"),
    "acme-web": ("acme", 40000, "drop"),
    "acme-mail": ("acme", 9000, "mark"),
    "zeta-all": ("zeta", 12000, "count"),
}
CLIENTS = {"acme-web": "10.1.0.0/16", "acme-mail": "10.2.0.0/16", "zeta-all": "10.3.0.0/16"}
MARK = 12  # DSCP


def lineage(name):
    """A policy's own name, and those above it."""
    while name:
        yield name
        name = LEVELS[name][0]


class Model:
    """Buckets that start full and earn nothing, and what each level counts."""

    def __init__(self):
        self.tokens = {name: burst for name, (_, burst, _) in LEVELS.items()}
        self.passed = dict.fromkeys(LEVELS, 0)
        self.dropped, self.over = dict(self.passed), dict(self.passed)

    def decide(self, client, cost):
        """"pass", "mark", "drop", or None if the time decides."""
        levels = list(lineage(client))
        if any(0 <= cost - self.tokens[name] < SLACK for name in levels):
            return None
        short = [name for name in levels if self.tokens[name] < cost]
        refused = next((name for name in short if LEVELS[name][2] == "drop"), None)
        if refused:
            for name in levels[:levels.index(refused) + 1]:
                self.dropped[name] += 1
            return "drop"
        for name in levels:
            self.passed[name] += 1
            self.over[name] += name in short
            self.tokens[name] -= 0 if name in short else cost
        return "mark" if any(LEVELS[name][2] == "mark" for name in short) else "pass"


def policies():
    """As a configuration has them, children first: the order is nobody's business."""
    for name, (parent, burst, action) in reversed(LEVELS.items()):
        policy = {"name": name, "limit": SLOW, "burst": f"{burst}B", "action": action}
        if action == "mark":
            policy["mark"] = MARK
        if parent:
            policy["parent"] = parent
        if name in CLIENTS:
            policy["match"] = {"dst": CLIENTS[name]}
        yield policy


def frames_of(rng, n):
    """Packets of any size for the clients."""
    for serial in range(n):
        client = rng.choice([*CLIENTS])
        dst = CLIENTS[client].replace("0.0/16", f"{rng.randrange(256)}.{rng.randrange(1, 255)}")
        yield client, bytes(Ether(**MACS) / IP(src="192.0.2.1", dst=dst) / UDP(sport=serial) /
                            Raw(struct.pack(">I", serial) + b"l" * rng.randint(0, 1300)))


def captured(scene):
    """What comes out, and what each level counts, is what the model says."""
    model = Model()

    def decide(entry):
        client, frame = entry
        verdict = model.decide(client, charge(frame, "l3"))
        if verdict is None:
            return False
        return {"pass": frame, "mark": marked(frame, MARK), "drop": None}[verdict]

    sent, want = judge(frames_of(random.Random("levels"), 600), decide)
    seen, out = actions.play(scene, list(policies()), [frame for _, frame in sent])
    compare(out, want, "a to b")
    for name in LEVELS:
        got = actions.packets(seen, name)
        expected = (model.passed[name], model.dropped[name], model.over[name])
        expect(got == expected, f"{name}: {got}, not {expected}")
    expect(seen["drops"]["limit"] == len(sent) - len(want), f"{seen['drops']}")
    expect(all(sum(counts.values()) > 20 for counts in (model.dropped, model.over)), "no test")
    return f"{len(want)} of {len(sent)} passed"


def shared(scene):
    """A link that two customers overload: each has its part by weight, and the link is full."""
    box.enter_netns()
    cable("ta", "a")
    cable("tb", "b")
    link = {"name": "link", "limit": "1.6Mbit/s", "burst": "8kB"}
    children = [{"name": f"c{weight}", "parent": "link", "limit": "1.6Mbit/s", "burst": "8kB",
                 "weight": weight, "match": {"dst": f"10.{weight}.0.0/16"}} for weight in (1, 3)]
    weir = scene.box(box.wire("net_af_packet0,iface=a", "net_af_packet1,iface=b",
                              policies=[link, *children])).start()
    senders = [actions.Sender("ta", bytes(Ether(**MACS) / IP(src="192.0.2.1", dst=f"10.{w}.0.1") /
                                          UDP() / Raw(b"s" * 372)), 600, 9) for w in (1, 3)]
    for sender in senders:
        sender.start()

    def passed():
        seen = (weir.get(f"/weir/policy,{name}") for name in ("c1", "c3", "link"))
        return [policy["passed"]["bytes"] for policy in seen]

    time.sleep(3)
    began, before = time.monotonic(), passed()
    time.sleep(5)
    one, three, both = (now - then for now, then in zip(passed(), before))
    took = time.monotonic() - began
    for sender in senders:
        sender.join()
    wait_until(lambda: weir.total("rx_packets") >= sum(s.sent for s in senders), "all packets")
    *parts, all_of = passed()
    expect(sum(parts) == all_of, f"{parts} are not {all_of}")
    weir.stop()
    for name in ("ta", "tb"):
        subprocess.run(["ip", "link", "del", "dev", name], capture_output=True, check=False)
    expect(both <= 200e3 * took + 8e3, f"{both} bytes in {took:.2f} s")
    expect(both > 0.85 * 200e3 * took, f"{both} bytes in {took:.2f} s")
    expect(0.2 < one / both < 0.3, f"{one} of {both} for the one of weight 1")
    return f"{one / both:.3f} and {three / both:.3f} of what passed, {both / 200e3 / took:.3f} used"


def two_boxes(_):
    """Each client has its part of the group's link, while one is silent and when it has begun."""
    plan = bench.Plan(settle=3, seconds=4, phases=(bench.SILENT, bench.THERE))
    run = bench.live(list(bench.policies(bench.tree(bench.THERE))), plan)
    words = []
    for phase in plan.phases:
        off, part = bench.off(run, phase), run.passed[phase]["link"] / bench.LINK
        worst = max(off, key=lambda name: abs(off[name]))
        words.append(f"{phase}: {part:.3f} used, {worst} {off[worst]:+.1f} points off")
        expect(0.85 <= part <= 1.08, words)
        expect(abs(off[worst]) <= 6, f"{words}: {off}")
        for client, got in run.received[phase].items():
            here = run.passed[phase][client]
            expect(abs(got - here) <= 0.05 * bench.LINK, f"{client}: {got}, and {here} passed")
    return "; ".join(words)


SCENARIOS = [captured, shared, two_boxes]

if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(box.SKIP)
    box.main(SCENARIOS)

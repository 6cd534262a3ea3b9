#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A trial limit next to the enforced one: its counters are right, and traffic is not affected.

Uses a real weir process that plays capture files, whose packets all arrive in one instant, or one
file repeatedly. Another process runs on veth pairs in its own network namespace, with reloads that
add and remove trials.
"""

import os
import random
import sys
import time

import box
from actions import play, udp
from box import expect, wait_until
from conservation import MACS, check_sums
from reload import counted, flood, frame, policy, reloaded, wired
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

SIZE = 1400  # bytes after the packet's headers, which have 32
L3 = SIZE + 32
SPARE = 50  # bytes of a burst beyond whole packets: one more packet would need a stall of a second


def burst(n, each=L3):
    """Returns a burst size that passes n packets in one instant, and no more."""
    return f"{n * each + SPARE}B"


# Settings of a policy, and of its trial.
TERMS = {
    "bucket": ({"limit": "8kbit/s", "burst": burst(20)}, {"burst": burst(7)}),
    "wire": ({"limit": "8kbit/s", "burst": burst(20, L3 + 38), "accounting": "wire"},
             {"burst": burst(7, L3 + 38)}),
    "gcra": ({"limit": "8kbit/s", "burst": burst(20)}, {"burst": burst(7), "meter": "gcra"}),
    "marks": ({"limit": "8kbit/s", "burst": burst(20), "action": "mark", "mark": 10},
              {"burst": burst(7)}),
    "window": ({"limit": "450/h", "burst": 60, "count": "packets"},
               {"meter": "fixed-window", "limit": "20/d", "window": "24h"}),
    "phantom": ({"limit": "450/h", "burst": 60, "count": "packets", "meter": "phantom"},
                {"burst": 20}),
    "sources": ({"limit": "450/h", "burst": 6, "count": "packets", "per": "src",
                 "sources": 1024}, {"burst": 2}),
    "flows": ({"limit": "450/h", "burst": 30, "count": "flows"}, {"burst": 10}),
}


def syn(serial, dst, src, sport, size):
    """Returns a new flow's first packet. TCP, because two UDP flows can share an entry of the
    table."""
    return bytes(Ether(**MACS) / IP(src=src, dst=dst) / TCP(sport=sport, seq=serial, flags="S") /
                 Raw(b"s" * size))


def listed(terms):
    """Returns one policy for each of TERMS, by destination, with settings terms(own, tried)."""
    return [{"name": name, "match": {"dst": f"10.{i}.0.0/16"}} | terms(own, tried)
            for i, (name, (own, tried)) in enumerate(TERMS.items())]


def instead(own, tried):
    """Returns a policy with the trial's settings in place of its own."""
    terms = {key: value for key, value in own.items() if key not in ("action", "mark")}
    if "window" in tried:
        del terms["burst"]
    return terms | tried


def as_if_enforced(scene):
    """A trial's counts equal those of the same limit when enforced, packet by packet; and a policy
    with a trial acts like one without."""
    rng, frames = random.Random(7), []
    for i, name in enumerate(TERMS):
        # Bursts of one policy, then of all of them mixed.
        make = syn if name == "flows" else udp
        frames.append([make(serial, f"10.{i}.0.1", f"192.0.2.{serial % 2}", 1, SIZE)
                       for serial in range(200)])
    mixed = [some for own in frames for some in own[100:]]
    rng.shuffle(mixed)
    sent = [some for own in frames for some in own[:100]] + mixed
    plain, out = play(scene, listed(lambda own, _: own), sent)
    seen, tried_out = play(scene, listed(lambda own, tried: own | {"trial": tried}), sent)
    enforced, _ = play(scene, listed(instead), sent)
    expect(out == tried_out, "a trial changes what comes out")
    check_sums(seen, len(sent))
    for name in TERMS:
        own, without = seen["policies"][name], plain["policies"][name]
        trial, would = own["trial"], enforced["policies"][name]
        expect(without["trial"] is None, f"{name}: {without['trial']}")
        expect((own["passed"], own["dropped"], own["over"]) ==
               (without["passed"], without["dropped"], without["over"]), f"{name}: {own}")
        expect((trial["passed"], trial["dropped"]) == (would["passed"], would["dropped"]),
               f"{name}: tried {trial}, enforced {would['passed']} {would['dropped']}")
        expect(trial["dropped"]["packets"] > own["dropped"]["packets"] and
               trial["passed"]["packets"] > 0, f"{name}: tests nothing: {own}")
    return f"{len(sent)} packets, {len(TERMS)} policies"


def half_the_limit(scene):
    """Under overload 10 Mbit/s pass, and a trial of 5 Mbit/s counts half of that, with one worker
    or two."""
    words = []
    for workers in ([0], [0, 1]):
        weir = flood(scene, [policy("p", "10.0.0.0/16", "10Mbit/s",
                                    trial={"limit": "5Mbit/s"})], workers)
        wait_until(lambda w=weir: w.get("/weir/policy,p")["dropped"]["packets"] > 0, "drops")
        first = weir.get("/weir/policy,p")
        time.sleep(3)
        last = weir.get("/weir/policy,p")
        weir.stop()
        passed = last["passed"]["bytes"] - first["passed"]["bytes"]
        would = last["trial"]["passed"]["bytes"] - first["trial"]["passed"]["bytes"]
        # Both buckets have the same depth in time, so a stalled machine affects both equally.
        expect(0.45 < would / passed < 0.55, f"{would} of {passed} would pass")
        expect(last["limit_bps"] == 10000000 and last["trial"]["local_limit_bps"] == 5000000,
               f"{last}")
        expect(last["trial"]["dropped"]["packets"] > last["trial"]["passed"]["packets"],
               f"{last['trial']}")
        words.append(f"{would / passed:.3f}")
        scene.boxes.remove(weir)
    return "of what passed, by the trial: " + ", ".join(words)


# Trials of successive reloads: none, one, another limit, other meters, none again.
COMES_AND_GOES = [
    {"limit": "8kbit/s"}, {"limit": "16kbit/s"}, {"meter": "gcra", "limit": "8kbit/s"},
    {"meter": "phantom"}, {"meter": "hybrid", "window": "1s"}, None, {"burst": "1kB"}, None]


def reloads(scene):
    """Reloads add, change and remove a trial: no packet is lost, the policy's counters continue,
    and changed trials start from 0."""
    def listing(tried):
        more = {"trial": tried} if tried else {}
        return [policy("p", "10.0.0.0/24", **more), policy("other", "10.0.1.0/24")]

    with wired(scene, listing(None)) as wire:
        weir = wire.weir

        def send(n):
            wire.send(frame(f"10.0.{i % 2}.1", sport=i) for i in range(n))
            wire.settle()

        for turn, tried in enumerate(COMES_AND_GOES):
            before = counted(weir, "p")
            reloaded(weir, listing(tried), added=0, removed=0)
            send(100 + 2 * turn)
            seen = weir.get("/weir/policy,p")
            expect(counted(weir, "p") == before + 50 + turn, f"{tried}: {counted(weir, 'p')}")
            expect((seen["trial"] is None) == (tried is None), f"{tried}: {seen['trial']}")
            if tried:
                got = seen["trial"]
                sum_ = got["passed"]["packets"] + got["dropped"]["packets"]
                expect(sum_ == 50 + turn, f"{tried}: {sum_} packets, not {50 + turn}: {got}")
                # Another policy changes: the trial continues.
                others = listing(tried)
                others[1]["limit"] = "2Gbit/s"
                reloaded(weir, others, changed=1)
                send(100)
                got = weir.get("/weir/policy,p")["trial"]
                sum_ = got["passed"]["packets"] + got["dropped"]["packets"]
                expect(sum_ == 100 + turn, f"{tried}: {sum_} packets after another's reload")
        wire.check()


SCENARIOS = [as_if_enforced, half_the_limit, reloads]

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    box.main(SCENARIOS, setup=box.enter_netns)

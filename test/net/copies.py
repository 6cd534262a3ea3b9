#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A limiter that runs twice: a cloned machine, or an old one that was forgotten. The copy has the
name, the key and the ledger of the original, and a wire with traffic of its own.

- With the address of the original, datagrams reach either of them by turns, as behind a switch. The
  limiters together pass at most limit × time + burst, and all but the original have an alarm.
- With another address no answer reaches the copy, so it does not notice the original. The alarm of
  each neighbour names both addresses.

The kind of store, loads and moments are drawn from WEIR_SEED.
"""

import json
import os
import random
import shutil
import sys
import time

import box
from box import expect
from hard_limits import LIMIT, Group, Meter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))

from testbed.processes import run  # noqa: E402
from testbed.topology import gossip_address  # noqa: E402

SEED = int(os.environ.get("WEIR_SEED", "1"))
ORIGINAL = 1
ALARM_S = 25  # the promise is 5 s from the second turn on; a busy machine gets more
TURN_S = 2
TURNS = 4


class Copied(Group):
    """n limiters, and one more that is a copy of the first. The roster does not have it."""

    def __init__(self, scene, name, n, same_address):
        self.name, self.copy, self.same_address = name, n + 1, same_address
        self.turns = 0
        super().__init__(scene, n + 1, guarantee="hard")

    def store(self, i):
        """Returns the directory of the store of limiter i."""
        return self.scene.path(f"{self.name}-store{i}")

    def _configure(self, i, config):
        super()._configure(i, config)
        config["gossip"]["roster"] = config["gossip"]["roster"][:self.copy - 1]
        config["gossip"]["branching"] = 1
        config["gossip"]["sources"] = "any"
        if i == self.copy:
            config["limiter"] = f"l{ORIGINAL}"
            if self.same_address:
                config["gossip"]["listen"] = config["gossip"]["roster"][0]["address"]

    def start(self):
        """Starts all but the copy."""
        originals = range(1, self.copy)
        for i in originals:
            self.new_ledger(i)
        self.bed.start(originals)
        if self.same_address:
            run(["ip", "-n", self.bed.topology.limiter_namespace(self.copy), "address", "add",
                 f"{gossip_address(ORIGINAL)}/32", "dev", f"c{self.copy}"])
        return self

    def copy_store(self):
        """Gives the copy the store of the original, with its sentinel."""
        shutil.copytree(self.store(ORIGINAL), self.store(self.copy))
        shutil.copy2(self.store(ORIGINAL) + ".sentinel", self.store(self.copy) + ".sentinel")

    def take_turns(self):
        """Makes neighbours send to the other one of the two with the same address."""
        if not self.same_address:
            return
        self.turns += 1
        for i in range(2, self.copy):
            self.bed.aim_gossip(i, ORIGINAL, (ORIGINAL, self.copy)[self.turns % 2])

    def alarms(self, i):
        """Returns the alarms of limiter i as text."""
        health = self.bed.telemetry(i).try_get("/weir/health")
        return json.dumps(health["alarms"]) if health else ""

    def expected_alarms(self):
        """Returns alternatives for the copy, and words of the alarm of each neighbour."""
        addresses = [gossip_address(ORIGINAL)]
        if not self.same_address:
            addresses.append(gossip_address(self.copy))
        words = [f"two limiters are named l{ORIGINAL}", *addresses]
        alone = (["another limiter is named", "is older than the records"] if self.same_address
                 else ["no gossip from"])
        return alone, {i: words for i in range(2, self.copy)}


class CopyMeter(Meter):
    """Begins before the copy runs, which has forwarded nothing by then."""

    def __init__(self, group):
        self.group = group
        self.began = time.monotonic()
        self.before = sum(passed or 0 for passed in group.bed.forwarded())


def until_alarms(group):
    """Waits for the alarms of the copy and of all neighbours. Returns how long each took."""
    alone, neighbours = group.expected_alarms()
    began, turned, took = time.monotonic(), 0, {}
    while len(took) <= len(neighbours):
        now = time.monotonic() - began
        if now - turned > TURN_S:
            group.take_turns()
            turned = now
        for i in [group.copy, *neighbours]:
            shown = group.alarms(i)
            if i not in took and (any(words in shown for words in alone) if i == group.copy
                                  else all(words in shown for words in neighbours[i])):
                took[i] = now
        expect(now < ALARM_S,
               f"no alarm: {[(i, group.alarms(i)) for i in (group.copy, *neighbours)]}")
        time.sleep(0.05)
    return took


def run_twice(scene, rng, n, same_address):
    """Runs a group of n, then a copy of its first limiter too."""
    with_store = rng.random() < 0.5
    with Copied(scene, f"{n}{same_address}", n, same_address) as group:
        group.start()
        group.load(rng.randint(1, n))
        time.sleep(rng.uniform(0.5, 3))
        expect(group.bed.stop_limiter(ORIGINAL) == 0, "exit status")
        if with_store:
            group.copy_store()
        else:
            group.new_ledger(group.copy)
        group.bed.start_limiter(ORIGINAL)
        for i in range(1, n + 2):
            group.load(i, rng.choice((0.3, 1, 2)) * LIMIT)
        time.sleep(rng.uniform(0, 2))
        meter = CopyMeter(group)
        group.bed.start_limiter(group.copy)
        took = until_alarms(group)
        words = ""
        if same_address:
            for _ in range(TURNS):
                time.sleep(TURN_S)
                group.take_turns()
            words = f"{meter.check()}; "
    return (f"{n} limiters and a copy with {'its' if with_store else 'a new'} store: {words}alarms "
            + ", ".join(f"{took[i]:.1f}" for i in sorted(took)) + " s")


def one_address(scene):
    """Groups of two and three; the copy has the address of the original."""
    rng = random.Random(SEED)
    return "; ".join(run_twice(scene, rng, n, True) for n in (2, 3))


def two_addresses(scene):
    """Groups of two and three; the copy has another address."""
    rng = random.Random(SEED)
    return "; ".join(run_twice(scene, rng, n, False) for n in (2, 3))


if __name__ == "__main__":
    box.main([one_address, two_addresses])

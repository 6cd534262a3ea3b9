#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Hierarchical limits over simulated limiters: clients, in customers, in a link.

Each client gets its weighted max-min fair part of the group's whole limit, within a few points of
the link, and the link is fully used.

    hierarchy.py [--seeds N] [--first SEED] [--verbose]

A scenario that fails is left in a file, and the command that replays it is printed with its seed.
"""

import argparse
import json
import os
import random
import tempfile

from suite import WEIRSIM, expect, run_tests
from suite import weirsim as run

LINK = 20e6  # bit/s
WARMUP_S = 20
SECONDS = 60
POINTS = 3.0  # points of the link: largest error of a share
USED = 0.98  # least used part of the link, with enough demand
ELASTIC = 1e12


def simulate(name, scenario, seed):
    """Runs a scenario without violations; returns (summary, command that replays it)."""
    path = os.path.join(tempfile.gettempdir(), f"weirsim-{name}-{os.getpid()}-{seed}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(scenario, file, indent=1)
    done = run("run", path, "--quiet", "--json", "-", "--seed", str(seed))
    replay = f"seed {seed}; replay: {WEIRSIM} run {path} --seed {seed}"
    expect(done.returncode == 0, f"{done.stderr}{replay}")
    return json.loads(done.stdout), path, replay


class Level:
    """A policy: its limits, and its children."""

    def __init__(self, name, limit=LINK, weight=1, guaranteed=0, asks=0):
        self.name, self.limit, self.weight, self.guaranteed = name, limit, weight, guaranteed
        self.asks, self.children, self.ideal = asks, [], 0.0

    def demand(self):
        """Returns its demand, limited only by its own levels."""
        below = sum(child.demand() for child in self.children) if self.children else self.asks
        return min(below, self.limit)

    def promised(self):
        """Returns its guaranteed rate: for a parent at least that of its children, like in the
        limiter."""
        return max(self.guaranteed, sum(child.promised() for child in self.children))

    def share(self, capacity):
        """Sets `ideal` by weighted max-min, filling in small steps: slow and simple."""
        self.ideal = min(self.demand(), capacity)
        room = self.ideal
        parts = {}
        for child in self.children:
            parts[child] = min(child.promised(), child.demand())
            room -= parts[child]
        for _ in range(100):
            hungry = [c for c in self.children if c.demand() - parts[c] > 1]
            if not hungry or room < 1:
                break
            step = min([(c.demand() - parts[c]) / c.weight for c in hungry]
                       + [room / sum(c.weight for c in hungry)])
            for child in hungry:
                parts[child] += step * child.weight
            room -= step * sum(c.weight for c in hungry)
        for child in self.children:
            child.share(parts[child])

    def policies(self, parent=None):
        """Yields its policies for a scenario."""
        own = {"name": self.name, "limit": f"{self.limit:.0f}bit/s"}
        if parent:
            own.update(parent=parent, weight=self.weight)
            if self.guaranteed:
                own["guaranteed"] = f"{self.guaranteed:.0f}bit/s"
        yield own
        for child in self.children:
            yield from child.policies(self.name)

    def every(self):
        yield self
        for child in self.children:
            yield from child.every()


def client(dice, name, traffic, n):
    """Returns a client's flows at some limiters: elastic, or a rate below or above its part."""
    level = Level(name, weight=dice.choice([1, 1, 2, 3, 5]))
    if dice.random() < 0.3:
        level.limit = LINK * dice.uniform(0.1, 0.6)
    if dice.random() < 0.3:
        level.guaranteed = min(LINK * dice.uniform(0.02, 0.1), level.limit)
    sites = dice.sample(range(1, n + 1), dice.randint(1, min(n, 4)))
    kind = dice.choice(["tcp", "tcp", "cbr"])
    level.asks = ELASTIC if kind == "tcp" else LINK * dice.choice([0.05, 0.1, 0.2, 0.6, 1])
    for site in sites:
        flows = {"kind": kind, "limiter": f"l{site}", "policy": name, "start_spread": "500ms"}
        if kind == "tcp":
            flows["count"] = dice.randint(2, 6)
        else:
            flows.update(count=4, rate=f"{level.asks / len(sites) / 4:.0f}bit/s")
        traffic.append(flows)
    return level


def tree(dice, n):
    """Returns three levels, and traffic that exceeds the link."""
    while True:
        link, traffic = Level("link"), []
        for c in range(dice.randint(2, 3)):
            customer = Level(f"c{c}", weight=dice.choice([1, 1, 2, 4]))
            if dice.random() < 0.3:
                customer.limit = LINK * dice.uniform(0.3, 0.8)
            customer.children = [client(dice, f"c{c}-{i}", traffic, n)
                                 for i in range(dice.randint(1, 3))]
            link.children.append(customer)
        if link.demand() >= LINK and all(c.promised() <= c.limit for c in link.children):
            link.share(LINK)
            return link, traffic


def let_wait(dice, link, policies):
    """Makes most clients' policies shape in place of dropping."""
    leaves = {level.name for level in link.every() if not level.children}
    for policy in policies:
        if policy["name"] in leaves and dice.random() < 0.6:
            policy["action"] = "shape"


def settled(options, n, conserve=False, wait=False):
    """Each share is right, and the link is fully used. For hard limits the simulator itself fails a
    run in which the enforced sum exceeds the limit."""
    worst, least = (0, ""), 2
    for seed in range(options.first, options.first + options.seeds):
        dice = random.Random(f"{seed} {n}")
        link, traffic = tree(dice, n)
        scenario = {"duration": f"{SECONDS}s", "warmup": f"{WARMUP_S}s", "limiters": n,
                    "policies": list(link.policies()), "traffic": traffic,
                    "network": {"delay": f"{dice.randint(0, 40)}ms",
                                "loss": dice.choice([0, 0.01])}}
        if conserve:
            for policy in scenario["policies"]:
                if dice.random() < 0.6:
                    policy["guarantee"] = "hard"
        if wait:
            let_wait(dice, link, scenario["policies"])
        summary, path, replay = simulate(f"hierarchy-{n}", scenario, seed)
        got = {p["policy"]: p["aggregate"]["mean_bps"]
               for p in [summary] + summary["other_policies"]}
        used = got["link"] / LINK
        off = {x.name: 100 * (got[x.name] - x.ideal) / LINK for x in link.every()}
        if options.verbose:
            print(seed, f"used {used:.3f}", " ".join(
                f"{x.name}:{100 * x.ideal / LINK:.1f}{off[x.name]:+.1f}" for x in link.every()))
        worst = max(worst, max((abs(v), f"{k} of seed {seed}") for k, v in off.items()))
        least = min(least, used)
        expect(used <= 1.01, f"{used:.3f} of the link is passed; {replay}")
        if not options.verbose:
            expect(used >= USED, f"{used:.3f} of the link is used; {replay}")
            expect(max(map(abs, off.values())) <= POINTS, f"points off: {off}; {replay}")
        os.unlink(path)
    return (f"{worst[0]:.2f} points off at most ({worst[1]}), "
            f"{least:.3f} of the link used at least")


def two_limiters(options):
    """Two limiters."""
    return settled(options, 2)


def ten_limiters(options):
    """Ten limiters: each has few of the flows."""
    return settled(options, 10)


def hard_levels(options):
    """Hard limits at any level, independently of the others."""
    return settled(options, 3, conserve=True)


def waiting_levels(options):
    """Shaping at the lowest level, with soft limits and hard ones."""
    return settled(options, 2, wait=True) + "; " + settled(options, 3, conserve=True, wait=True)


def faults(dice, n):
    """Returns random faults of limiters and network, for two thirds of a run."""
    found = []
    for at in sorted(dice.uniform(1, 40) for _ in range(20)):
        what = dice.choice(["partition", "heal", "crash", "restart", "restart"])
        limiter = f"l{dice.randint(1, n)}"
        found.append({"at": f"{at:.3f}s", **{
            "partition": {"partition": dice.randint(2, n)},
            "heal": {"heal": True},
            "crash": {"crash": limiter},
            "restart": {"restart": limiter},
        }[what]})
    return found + [{"at": "40s", "heal": True}] + [
        {"at": "41s", "restart": f"l{i + 1}"} for i in range(n)]


def never_above(options):
    """Hard limits at any level are never exceeded in any faults; the simulator checks after every
    change. In the end all shares are right again."""
    least = 2
    for seed in range(options.first, options.first + options.seeds):
        dice = random.Random(f"{seed} faults")
        n = dice.randint(2, 5)
        link, traffic = tree(dice, n)
        scenario = {"duration": f"{SECONDS + 20}s", "warmup": f"{SECONDS}s", "limiters": n,
                    "policies": list(link.policies()), "traffic": traffic,
                    "commit": dice.choice(["0s", "2ms", "50ms"]), "events": faults(dice, n),
                    "network": {"delay": f"{dice.randint(0, 80)}ms",
                                "distribution": "exponential", "spread": "10ms",
                                "loss": dice.choice([0, 0.02, 0.1]),
                                "duplicate": dice.choice([0, 0.2]),
                                "reorder": dice.choice([0, 0.2])}}
        for policy in scenario["policies"]:
            if dice.random() < 0.8:
                policy["guarantee"] = "hard"
        let_wait(dice, link, scenario["policies"])
        summary, path, replay = simulate("hierarchy-faults", scenario, seed)
        used = summary["aggregate_ratio"]
        expect(used <= 1.01, f"{used:.3f} of the link is passed; {replay}")
        least = min(least, used)
        os.unlink(path)
    return f"{least:.3f} of the link used at least, when all is well again"


def main():
    """Runs all tests."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="show all, and refuse nothing")
    run_tests([two_limiters, ten_limiters, hard_levels, waiting_levels, never_above],
              parser.parse_args())


if __name__ == "__main__":
    main()

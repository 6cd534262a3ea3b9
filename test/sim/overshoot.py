#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The overshoot meter against the truth, in groups drawn at random.

    overshoot.py [--seeds N] [--first SEED]

weirsim records the local limits of all limiters, and fails a run in which the bound of a limiter is
below their sum. This test draws groups of 2 to 20 limiters, networks,
faults and traffic for it, and prints how far above the truth the bound is.
"""

import argparse
import json
import os
import random
import tempfile

from suite import WEIRSIM, expect, run_tests
from suite import weirsim as run

SEEDS = 40
SECONDS = 6
WORST_MEAN = 1.5  # bound / truth


def draw_traffic(dice, names):
    """Traffic that changes: flows that begin and end, requests, bursts, constant rates."""
    where = lambda: dice.choice([*names, "random", "each"])  # noqa: E731
    yield {"kind": "tcp", "count": dice.randint(1, 3), "limiter": where(),
           "rtt": f"{dice.randint(5, 100)}ms", "start_spread": "2s"}
    yield {"kind": "tcp", "count": dice.randint(1, 4), "limiter": where(), "size": "30kB",
           "every": f"{dice.randint(200, 1500)}ms"}
    yield {"kind": "web", "limiter": where(), "requests": dice.randint(1, 5)}
    yield {"kind": "on-off", "limiter": where(), "rate": "1Mbit/s",
           "on": f"{dice.randint(100, 900)}ms", "off": f"{dice.randint(100, 900)}ms"}
    yield {"kind": "cbr", "limiter": where(), "rate": "500kbit/s", "packet": "1200B"}


def draw_faults(dice, names):
    """Up to four faults."""
    for at in sorted(dice.uniform(0.2, SECONDS) for _ in range(dice.choice([0, 0, 1, 2, 4]))):
        name = dice.choice(names)
        yield {"at": f"{at:.3f}s",
               **dice.choice([{"heal": True}, {"crash": name}, {"restart": name},
                              {"pause": name, "for": f"{dice.randint(50, 2500)}ms"},
                              {"network": {"loss": dice.uniform(0, 0.9)}}, {"partition": 2}])}


def draw_change(dice):
    """Another limit. Only groups without faults and losses have it, see overshoot.md."""
    limit = dice.choice(["300kbit/s", "800kbit/s", "2Mbit/s", "5Mbit/s"])
    return {"at": f"{dice.uniform(3, SECONDS):.3f}s", "policy": "p0", "limit": limit}


def draw_policies(dice):
    """One to three soft limits, of which the third can be a child of the second."""
    policies = [{"name": f"p{k}", "limit": dice.choice(["500kbit/s", "1Mbit/s", "3Mbit/s"]),
                 "allocator": dice.choice(["fps", "fps", "fps", "grd", "gtb", "adaptor", "static"]),
                 "interval": dice.choice(["20ms", "50ms", "50ms", "100ms"])}
                for k in range(dice.choice([1, 1, 2, 3]))]
    if len(policies) == 3 and dice.random() < 0.5:
        for policy in policies[1:]:
            policy["allocator"] = "fps"
        policies[2]["parent"] = "p1"
        policies[2]["limit"] = policies[1]["limit"]
    return policies


def draw_group(seed):
    """The scenario of a seed."""
    dice = random.Random(f"{seed} overshoot")
    names = [f"l{k + 1}" for k in range(dice.choice([2, 2, 3, 4, 5, 8, 12, 20]))]
    policies = draw_policies(dice)
    traffic = []
    for policy in policies:
        drawn = list(draw_traffic(dice, names))
        traffic += [{**entry, "policy": policy["name"]}
                    for entry in dice.sample(drawn, dice.randint(1, 3))]
    events, loss = list(draw_faults(dice, names)), dice.choice([0, 0, 0.02, 0.1, 0.3])
    if not events and loss == 0:
        events = [draw_change(dice)]
    return {"seed": seed, "duration": f"{SECONDS}s", "warmup": "1s",
            "limiters": [{"name": name, "offset": f"{dice.randint(0, 100)}s",
                          "drift_ppm": dice.uniform(-200, 200)} for name in names],
            "policies": policies,
            "gossip": {"branching": dice.randint(1, 5),
                       "loans": "soft" if dice.random() < 0.2 else "none",
                       "timeout": dice.choice(["300ms", "1s", "1s", "3s"]),
                       "datagram": dice.choice(["300B", "1200B"])},
            "network": {"delay": f"{dice.choice([0, 1, 5, 20, 50, 150])}ms",
                        "distribution": dice.choice(["constant", "uniform", "normal",
                                                     "exponential", "pareto"]),
                        "loss": loss,
                        "duplicate": dice.choice([0, 0.2]), "reorder": dice.choice([0, 0.2])},
            "events": events, "traffic": traffic}


def ratios(seed):
    """Yields mean bound / mean truth and the part of complete bounds of each limit."""
    path = os.path.join(tempfile.gettempdir(), f"weirsim-overshoot-{os.getpid()}-{seed}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(draw_group(seed), file, indent=1)
    done = run("run", path, "--quiet", "--json", "-")
    expect(done.returncode == 0, f"seed {seed}: {done.stderr}replay: {WEIRSIM} run {path}")
    os.unlink(path)
    summary = json.loads(done.stdout)
    for policy in [summary, *summary["other_policies"]]:
        if "bound_truth_ratio" in policy:
            yield policy["bound_truth_ratio"], policy["bound_complete_ratio"]


def bound_is_never_below(options):
    """Any seed with a bound below the truth fails; the mean is useful."""
    rows = [row for seed in range(options.first, options.first + options.seeds)
            for row in ratios(seed)]
    expect(rows, "no limiter had a bound")
    mean, complete = (sum(column) / len(rows) for column in zip(*rows))
    expect(mean <= WORST_MEAN, f"bound / truth {mean:.3f} on average")
    expect(complete > 0.5, f"only {complete:.3f} of the bounds are complete")
    return (f"{options.seeds} seeds, {len(rows)} limits: bound / truth {mean:.3f} "
            f"(largest {max(rows)[0]:.2f}), {complete:.3f} of the bounds are complete")


def main():
    """Runs the test."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--first", type=int, default=1, metavar="SEED")
    run_tests([bound_is_never_below], parser.parse_args())


if __name__ == "__main__":
    main()

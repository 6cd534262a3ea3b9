#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Drops of traffic that one bucket would have passed, by allocator: doc/study/penalty.md.

    adaptor.py [SEEDS]

Runs config/scenarios/moving.json with every allocator in turn, unchanged and with a constant load.
Prints the table, and fails if adaptor does not reduce the drops.
"""

import copy
import json
import os
import statistics
import subprocess
import sys
import tempfile

from suite import ANSWERS_S, ROOT, WEIRSIM

SEEDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5

CONTENDERS = {
    "one bucket": {"allocator": "central"},
    "static": {"allocator": "static"},
    "fps": {"allocator": "fps"},
    "grd": {"allocator": "grd", "meter": "token-bucket"},
    "adaptor": {"allocator": "adaptor"},
    "adaptor, hard": {"allocator": "adaptor", "guarantee": "hard"},
    "adaptor, history 2s": {"allocator": "adaptor", "history": "2s", "step": "200ms"},
}


def resting(scenario):
    """Returns the scenario with the load of its first part all the time."""
    scenario["traffic"] = [entry for entry in scenario["traffic"] if "start" not in entry]
    for entry in scenario["traffic"]:
        entry.pop("stop", None)
    return scenario


def at_one(scenario):
    """Returns the scenario with all load at one limiter."""
    scenario["limiters"] = 1
    for entry in scenario["traffic"]:
        entry["limiter"] = "l1"
    return scenario


def dropped(scenario):
    """Returns the percentage of packets that the limiters dropped, one number a seed."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario, file)
        file.flush()
        done = subprocess.run([WEIRSIM, "run", file.name, "--seeds", str(SEEDS), "--quiet",
                               "--json", "-"], capture_output=True, text=True, check=False,
                              timeout=ANSWERS_S)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    runs = json.loads(done.stdout)
    runs = runs if isinstance(runs, list) else [runs]
    return [100 * run["packets"]["limit"] / run["packets"]["sent"] for run in runs]


def contend(moving):
    """Returns {contender: [mean percentage with a moving load, with a constant one]}."""
    found = {}
    for name, terms in CONTENDERS.items():
        found[name] = []
        for variant in (copy.deepcopy(moving), resting(copy.deepcopy(moving))):
            scenario = at_one(variant) if terms["allocator"] == "central" else variant
            scenario.pop("expect")
            scenario["policies"][0].update(terms)
            found[name].append(statistics.mean(dropped(scenario)))
    return found


def main():
    """Prints the table and checks it."""
    with open(os.path.join(ROOT, "config", "scenarios", "moving.json"), encoding="utf-8") as file:
        moving = json.load(file)
    found = contend(moving)
    print(f"{'dropped, %':<22} {'moving':>8} {'at rest':>8}   (mean of {SEEDS} seeds)")
    for name, (moves, rests) in found.items():
        print(f"{name:<22} {moves:8.2f} {rests:8.2f}")
    failures = []
    for k, what in enumerate(("moving", "at rest")):
        if not found["one bucket"][k] < 1:
            failures.append(f"{what}: the traffic does not conform")
        if not found["adaptor"][k] < found["static"][k] / 2:
            failures.append(f"{what}: adaptor is no better than half of static")
    if not found["adaptor"][1] < found["fps"][1] / 1.5:
        failures.append("at rest: adaptor does not gain by its burst")
    if not found["adaptor, hard"][0] < found["static"][0] / 2:
        failures.append("moving: the hard limit does not follow")
    print("\n".join("FAIL  " + words for words in failures) or "ok")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

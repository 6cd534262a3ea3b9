#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Delays of a bucket split over two live limiters, with and without token loans, as a table.

    penalty_live.py [--seeds 3] [--rtt 0.0005] [--packets 80000] [--rate 100Mbit/s] ...

Each limiter gets half of the Poisson packets of `weir-study penalty` with the same seed. The delays
are from the histograms of the shapers (/weir/delays). They exclude the time in sockets and links,
so no floor has to be subtracted. Each value is the median of the runs, one for each seed, with
the range. Simulated values are from `weir-study penalty` with the seeds of the runs, and with `fps`
from weirsim with config/scenarios/penalty.json.

Needs root, and about a quarter of a minute for each run and row.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from penalty import BUILD, ROOT, Shapers, TestbedError, parse, simulated, timely, units

SCENARIO = os.path.join(ROOT, "config", "scenarios", "penalty.json")
NAMES = {"mean": None, "p50": "p50", "p99": "p99", "p999": "p99_9"}  # here and in weirsim
DELAY = "250ms"  # longer than departure times allow that are set on arrival; nothing is dropped
LINK_BPS = 1e9  # a slower link would spread bursts before they reach the bucket


class Split(Shapers):
    """One bucket, or parts of it with the allocator `static`."""

    allocator = {}

    def __init__(self, options, parts, workers):
        super().__init__(options, parts, workers, rtt=options.rtt, link_bps=LINK_BPS,
                         **self.allocator)

    def change(self, i, config):
        """Limits the queue, whose packet buffers are memory of the limiter."""
        super().change(i, config)
        config["policies"][0]["shape"]["delay"] = DELAY


class Follow(Split):
    """Parts of it with the allocator `fps`."""

    allocator = {"allocator": "fps"}
    loans = "none"

    def change(self, i, config):
        """Sets whether the limiters lend tokens."""
        super().change(i, config)
        config["gossip"]["loans"] = self.loans

    def parts(self):
        """Returns true when each limiter counts its peers and they share the limit."""
        policies = self.policies()
        total = sum(policy["local_limit_bps"] for policy in policies)
        return (not any(policy["peers_lost"] for policy in policies)
                and abs(total / self.options.rate - 1) < 1e-3)

    def facts(self):
        """Returns the loans and the local limits at the end."""
        return {name: [policy[name] for policy in self.policies()]
                for name in ("loans", "local_limit_bps")}


class Lend(Follow):
    """Adds token loans to these limiters."""

    loans = "soft"


ROWS = {"one bucket": (1, Split), "`static`": (2, Split), "`fps`": (2, Follow),
        "`fps` with loans": (2, Lend)}


def weirsim(options, seed, loans):
    """Returns the quantiles of `fps` in milliseconds, as weirsim computes them."""
    with open(SCENARIO, encoding="utf-8") as file:
        scenario = json.load(file)
    rate = f"{options.rate * options.load / 2:.0f}bit/s"
    scenario["policies"][0] |= {"limit": f"{options.rate}bit/s", "burst": f"{options.burst}B"}
    scenario["traffic"][0] |= {"rate": rate, "packet": f"{options.packet}B"}
    scenario["gossip"]["loans"] = loans
    seconds = options.packets * options.packet * 8 / options.rate / options.load
    scenario["duration"] = f"{seconds:.0f}s"
    scenario["network"]["delay"] = units.form(options.rtt / 2, units.TIME)
    with tempfile.TemporaryDirectory() as directory:
        path, out = (os.path.join(directory, name) for name in ("scenario.json", "out.json"))
        with open(path, "w", encoding="utf-8") as file:
            json.dump(scenario, file)
        subprocess.run([os.path.join(BUILD, "app", "weirsim", "weirsim"), "run", path, "--quiet",
                        f"--seed={seed}", f"--json={out}"], check=True)
        with open(out, encoding="utf-8") as file:
            found = json.load(file)
    return {name: found[f"delay_{its_name}_us"] / 1000 for name, its_name in NAMES.items()
            if its_name}


def model(options, seed, row):
    """Returns the simulated quantiles of one run, in milliseconds."""
    parts, testbed = ROWS[row]
    if issubclass(testbed, Follow):
        return weirsim(options, seed, testbed.loans)
    options = argparse.Namespace(**vars(options) | {"seeds": 1, "first": seed})
    return simulated(options, "poisson")[parts]


def cell(values):
    """Returns the median and the range of milliseconds, or a dash for an unknown value."""
    if None in values:
        return "–"
    if len(values) == 1:
        return f"{values[0]:.3f}"
    return f"{statistics.median(values):.3f} ({min(values):.3f}–{max(values):.3f})"


def main():
    """Measures and prints the table."""
    own = argparse.ArgumentParser(add_help=False)
    own.add_argument("--rtt", type=float, default=0.0005, help="between limiters, seconds")
    settings, others = own.parse_known_args()
    options = parse(["--rate=100Mbit/s", "--burst=40000B", "--packet=1250", "--packets=80000",
                     "--parts=1,2", "--seeds=3", "--late=1000", "--soft", *others])
    options.rtt = settings.rtt
    seeds = range(options.first, options.first + options.seeds)
    print("| | exact | (1) | " + " | ".join(
        f"{name}, {kind}" for name in NAMES for kind in ("simulated", "live")) + " |\n"
          + "|---" * (3 + 2 * len(NAMES)) + "|")
    live = {row: [] for row in ROWS}
    for seed in seeds:
        for row, (parts, testbed) in ROWS.items():
            live[row].append(timely(options, "poisson", seed, parts, 1, testbed)[0].figures())
    for row, figures in live.items():
        models = [model(options, seed, row) for seed in seeds]
        print(f"| {row} | " + " | ".join(
            [cell([models[0].get(name)]) for name in ("exact", "paper")]
            + [cell([run.get(name) for run in runs]) for name in NAMES
               for runs in (models, figures)]) + " |", flush=True)


if __name__ == "__main__":
    try:
        main()
    except TestbedError as error:
        sys.exit(f"penalty_live: {error}")

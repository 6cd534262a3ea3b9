#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Quotas that simulated limiters share: together they never pass more than the total.

With enough demand they pass nearly all of it, regardless of the network.

    totals.py [--seeds N] [--first SEED]

A scenario that fails is left in a file, and the command that replays it is printed with its seed.
"""

import argparse
import csv
import json
import os
import random
import tempfile

from suite import WEIRSIM, expect, run_tests
from suite import weirsim as run

PACKET = 1000  # bytes of an IP packet
TOTAL = 12_000_000  # bytes
USED_UP_S = 40  # seconds in which the traffic uses three times the total
SECONDS = 120  # long, because units move slowly from limiters without demand
PERIOD_S = 60


def simulate(name, scenario, seed, series=os.devnull):
    """Runs a scenario without violations; returns (summary, command that replays it)."""
    path = os.path.join(tempfile.gettempdir(), f"weirsim-{name}-{os.getpid()}-{seed}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(scenario, file, indent=1)
    done = run("run", path, "--quiet", "--json", "-", "--seed", str(seed), "--series", series)
    replay = f"seed {seed}; replay: {WEIRSIM} run {path} --seed {seed}"
    expect(done.returncode == 0, f"{done.stderr}{replay}")
    return json.loads(done.stdout), path, replay


def group(dice):
    """Returns limiters on a network that loses, repeats and delays. Traffic exceeds the total
    several times, at all limiters or at one, in bytes or packets. With higher losses, a rejected
    request can wait for minutes until it is repeated."""
    n = dice.randint(1, 8)
    policy = {"name": "p", "allocator": "quota"}
    policy.update({"total": f"{TOTAL}B", "accounting": "l3"} if dice.random() < 0.5
                  else {"total": TOTAL // PACKET, "count": "packets"})
    everywhere = dice.random() < 0.5
    flows = 5 * (n if everywhere else 1)
    return {"duration": f"{SECONDS}s", "limiters": n, "workers": dice.choice([1, 2, 5]),
            "policies": [policy],
            "network": {"delay": f"{dice.randint(0, 100)}ms", "distribution": "exponential",
                        "spread": "10ms", "loss": dice.choice([0, 0.02, 0.1]),
                        "duplicate": dice.choice([0, 0.2]), "reorder": dice.choice([0, 0.2])},
            "ledger": {"tree": {"degree": dice.choice([2, 4])}},
            "commit": dice.choice(["0s", "2ms", "50ms"]),
            "traffic": [{"kind": "cbr", "packet": f"{PACKET}B", "count": 5,
                         "limiter": "each" if everywhere else f"l{dice.randint(1, n)}",
                         "rate": f"{8 * 3 * TOTAL // USED_UP_S // flows}bit/s"}]}


def passed_bytes(summary):
    """Returns the bytes that the limiters forwarded, as counted by the links and not by meters."""
    return round(summary["aggregate"]["mean_bps"] * summary["seconds"] / 8)


def check_report(summary, passed, replay):
    """The limiters' spent units add up to the passed traffic; only the total limits it."""
    key = "spent_bytes" if "total_bytes" in summary else "spent"
    each = [limiter[key] for limiter in summary["limiters"]]
    unit = 1 if key == "spent_bytes" else PACKET
    expect(sum(each) == summary[key] and summary[key] * unit == passed,
           f"{each} at the limiters, {summary[key]} in all, {passed} bytes passed; {replay}")


def all_of_it_and_no_more(options):
    """A partition that heals and network faults lose no units."""
    least = 1
    for seed in range(options.first, options.first + options.seeds):
        dice = random.Random(f"{seed} all")
        scenario = group(dice)
        if scenario["limiters"] > 1 and dice.random() < 0.5:
            scenario["events"] = [{"at": "1s", "partition": 2}, {"at": "20s", "heal": True}]
        summary, path, replay = simulate("total", scenario, seed)
        passed = passed_bytes(summary)
        expect(passed <= TOTAL, f"{passed} bytes passed; {replay}")
        expect(passed >= 0.99 * TOTAL, f"only {passed} bytes passed; {replay}")
        check_report(summary, passed, replay)
        least = min(least, passed / TOTAL)
        os.unlink(path)
    return f"{options.seeds} groups passed {100 * least:.2f} % at least"


def no_more_while_limiters_crash(options):
    """A crash loses prefetched units, and never creates any."""
    most = 0
    for seed in range(options.first, options.first + options.seeds):
        dice = random.Random(f"{seed} crash")
        scenario = group(dice)
        scenario["network"]["loss"] = dice.choice([0, 0.1, 0.3])
        scenario["events"] = [
            {"at": f"{at:.3f}s", what: f"l{dice.randint(1, scenario['limiters'])}",
             **({"for": "1500ms"} if what == "pause" else {})}
            for at in sorted(dice.uniform(0, USED_UP_S) for _ in range(20))
            for what in [dice.choice(["crash", "restart", "restart", "pause"])]]
        summary, path, replay = simulate("total-crash", scenario, seed)
        passed = passed_bytes(summary)
        expect(passed <= TOTAL, f"{passed} bytes passed; {replay}")
        most = max(most, passed / TOTAL)
        os.unlink(path)
    expect(most > 0.9, f"at most {100 * most:.2f} % of a total was passed by any group")
    return f"{options.seeds} groups passed {100 * most:.2f} % at most"


def each_period_has_its_own(options):
    """Each minute passes at most its total, plus the units prefetched at its begin. Without losses
    it passes all of its total, and nothing of the last one. Limiters with different clocks begin
    their periods at different times."""
    seconds = 3 * PERIOD_S
    for seed in range(options.first, options.first + options.seeds):
        dice = random.Random(f"{seed} period")
        scenario = group(dice)
        scenario["duration"] = f"{seconds}s"
        scenario["network"].update(loss=0, delay="10ms")
        scenario["policies"][0]["period"] = f"{PERIOD_S}s"
        late = dice.random() < 0.5  # the first period ends with prefetched units
        if late:
            scenario["traffic"][0]["start"] = "50s"
        apart = dice.random() < 0.3
        if apart:
            scenario["limiters"] = [{"name": f"l{k + 1}", "offset": f"{dice.randint(0, 300)}s"}
                                    for k in range(scenario["limiters"])]
        with tempfile.NamedTemporaryFile("r", suffix=".csv") as series:
            summary, path, replay = simulate("total-period", scenario, seed, series.name)
            rows = list(csv.DictReader(series))
        expect(passed_bytes(summary) <= TOTAL * summary["periods"], f"too much; {replay}")
        expect(apart or summary["periods"] == 3, f"{summary['periods']} periods; {replay}")
        held = TOTAL / 65536 + PACKET * scenario["workers"] * 8
        for minute in range(0 if apart else 3):
            passed = sum(float(row["p"]) / 8 / 10 for row in rows
                         if minute * PERIOD_S < float(row["time_s"]) <= (minute + 1) * PERIOD_S)
            least = 0 if late and minute == 0 else 0.99 * TOTAL
            expect(least <= passed <= TOTAL + held,
                   f"{passed} bytes passed in minute {minute + 1}; {replay}")
        os.unlink(path)


def main():
    """Runs all tests."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    run_tests([all_of_it_and_no_more, no_more_while_limiters_crash, each_period_has_its_own],
              parser.parse_args())


if __name__ == "__main__":
    main()

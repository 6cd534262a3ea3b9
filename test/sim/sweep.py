#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""`tools/sweep`: a fixed set of drawn scenarios stays within wide bounds of one central bucket.

    sweep.py
"""

import collections
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile

from suite import ALL_SEEDS, ANSWERS_S, ROOT, expect, run_tests

sys.path.insert(0, os.path.join(ROOT, "tools", "sweeping"))

import compare  # noqa: E402 (needs the path above)
import distribution  # noqa: E402
import draw  # noqa: E402
import splits  # noqa: E402

MAIN = os.path.join(ROOT, "tools", "sweeping", "main.py")
SEEDS = 48 if ALL_SEEDS else 36

# Bounds of the fixed set, with room for changes that only move packets. When they were set, 23 of
# 48 held, and 3 of 32 sites returned late.
HOLD = 18 / 48
LOST = {0.5: 0.02, 0.9: 0.2}  # quantiles of the utilisation that is lost
SHARE_MISS = {0.5: 0.03, 0.9: 0.12}
EXCESS = {0.5: 0.01, 0.9: 0.15}
NEVER = 0  # sites that do not return
FAIRER = 0.7  # part of the groups with mixed congestion control
LATE = 0.3  # part of the sites that return later than alone

# Limit, round trip and burst of splits with few packets, or with long silences after a loss. Both
# made seven flows look like fewer. With three seeds a share may be off by so many points.
SPLITS = [(500e3, 1e-3, 0), (500e3, 5e-3, 0.06), (200e3, 1e-3, 0.06), (10e6, 1e-3, 0.06)]
SPLIT_OFF = 5


def sweep(allocator, seeds, *options):
    """Returns rows of the first quick seeds."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run(["/usr/bin/python3", "-B", MAIN, "--quick", "--seeds", str(seeds),
                               "--allocator", allocator, "--json", file.name, *options],
                              capture_output=True, text=True, check=False, timeout=ANSWERS_S)
        expect(done.returncode == 0, done.stderr)
        rows = json.load(file)
    expect(len(rows) == seeds and f"{seeds} |" in done.stdout, done.stdout)
    return rows


def out_of_bounds(rows):
    """Returns the bounds that the rows exceed, as text."""
    found = []
    holds = sum(not row["fails"] for row in rows)
    if holds < HOLD * len(rows):
        found.append(f"{holds} of {len(rows)} hold")
    for key, bounds in (("lost", LOST), ("share_miss", SHARE_MISS), ("excess", EXCESS)):
        for share, most in bounds.items():
            value = distribution.quantile([row[key] for row in rows], share)
            if value > most:
                found.append(f"{key}, quantile {share}: {value:.3f}")
    never = sum(distribution.is_lost(row) for row in rows)
    if never > NEVER:
        found.append(f"{never} sites never return")
    return found


def changes(rows):
    """Returns the rows whose limit changes."""
    return [row for row in rows if row["kind"] == "change"]


def group_is_like_one_bucket():
    """The fixed set with FPS and token loans."""
    rows = sweep("fps+soft", SEEDS)
    kinds = collections.Counter(row["kind"] for row in rows)
    expect(set(kinds) == set(draw.KINDS), kinds)
    expect(not out_of_bounds(rows), out_of_bounds(rows))
    text = distribution.page(rows, "0123456789", "tools/sweep")
    expect("`0123456789`" in text and f"| change | {distribution.held(changes(rows))} |" in text,
           text)
    mixed = [row for row in rows if row["kind"] == "mix"]
    fairer = sum(row["unfair"] <= row["central_unfair"] for row in mixed)
    expect(fairer >= FAIRER * len(mixed), f"{fairer} of {len(mixed)} are as fair as one bucket")
    return (f"{sum(not row['fails'] for row in rows)} of {len(rows)} hold; with mixed congestion "
            f"control {fairer} of {len(mixed)} are as fair as one bucket")


def site_returns():
    """After an outage a site gets its part again, for each action and guarantee."""
    rows = sweep("fps+soft", SEEDS * 2 // 3, "--kinds", "return")
    classes = collections.Counter((row["action"], row["guarantee"]) for row in rows)
    expect(len(classes) == 4, classes)
    lost = [row["seed"] for row in rows if distribution.is_lost(row)]
    expect(not lost, f"seeds {lost} never return")
    late = sum("return" in row["fails"] for row in rows)
    expect(late <= LATE * len(rows), f"{late} of {len(rows)} return late")
    return f"{len(rows)} sites, {late} late"


def shares_of_few_packets():
    """A site with three of ten flows has their share at low limits and short round trips."""
    found = splits.measure_all(SPLITS, ("fps", "central"), 3)
    off = [splits.off_points(cell, found, "fps") for cell in SPLITS]
    expect(max(off) <= SPLIT_OFF, f"points off: {off}")
    return " ".join(f"{found[cell, 'fps'][0] * 100:.0f} %" for cell in SPLITS)


def equal_parts_are_not():
    """The bounds reject a static split, and accept one bucket in the place of the group."""
    static = sweep("static", SEEDS // 2)
    expect(len(out_of_bounds(static)) >= 2, out_of_bounds(static))
    alone = sweep("central", SEEDS // 2)
    expect(not out_of_bounds(alone), out_of_bounds(alone))
    holds = [sum(not row["fails"] for row in rows) for rows in (static, alone)]
    expect(holds[1] > 2 * holds[0], holds)
    return f"{holds[0]} and {holds[1]} of {SEEDS // 2} hold"


def seed_is_one_scenario():
    """A seed draws one scenario, in any order; two seeds draw two."""
    texts = [json.dumps(draw.draw(seed).scenario("fps")) for seed in range(60)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        again = list(pool.map(lambda seed: json.dumps(draw.draw(seed).scenario("fps")),
                              reversed(range(60))))
    expect(texts == again[::-1], "another scenario of the same seed")
    expect(len(set(texts)) == 60, "two seeds draw one scenario")
    for kind in range(len(draw.KINDS)):
        found = [json.loads(text)["limiters"] for text in texts[kind::len(draw.KINDS)]]
        expect(2 <= min(found) and max(found) <= 10, found)


def figures_are_those_of_the_runs():
    """The arithmetic of a comparison, against examples that are solved by hand."""
    inf = math.inf
    rates = compare.max_min(10e6, [(1, 1e6, 2), (2, inf, 3), (3, 5e6, 1)])
    expect(rates == {1: 2e6, 2: 6e6, 3: 2e6}, rates)
    rates = compare.max_min(10e6, [(1, 1e6, 1), (1, inf, 1)])
    expect(rates == {1: 10e6}, rates)
    expect(compare.parts([1, 3, 0]) == [0.25, 0.75, 0], "parts")
    miss = compare.share_miss([0.2, 0.8], [[0.3, 0.7], [0.25, 0.75]])
    expect(abs(miss - 0.05) < 1e-9, miss)
    expect(compare.share_miss([0.28, 0.72], [[0.3, 0.7], [0.25, 0.75]]) == 0, "a share between")
    good = {"lost": 0.019, "share_miss": 0.029, "excess": 0.049, "late_s": 0}
    expect(compare.failures(good) == [], good)
    for key, value, name in (("lost", 0.021, "utilisation"), ("share_miss", 0.031, "share"),
                             ("excess", 0.051, "second"), ("late_s", inf, "return")):
        expect(compare.failures({**good, key: value}) == [name], name)
    expect([distribution.quantile([3, 1, 2, 4], share) for share in (0.25, 0.5, 1)] == [1, 2, 4],
           "quantiles")


def bad_options_are_rejected():
    """Names the bad option; a scenario can be shown without a run."""
    for options in (["--kinds", "bulk,all"], ["--seeds", "0"], ["--first", "-1"]):
        done = subprocess.run(["/usr/bin/python3", "-B", MAIN, *options], capture_output=True,
                              text=True, check=False, timeout=ANSWERS_S)
        expect(done.returncode == 2 and options[0] in done.stderr, done.stderr)
    done = subprocess.run(["/usr/bin/python3", "-B", MAIN, "--first", "7", "--show", "central"],
                          capture_output=True, text=True, check=False, timeout=ANSWERS_S)
    expect(json.loads(done.stdout) == json.loads(json.dumps(draw.draw(7).scenario("central"))),
           done.stderr)


TESTS = [figures_are_those_of_the_runs, seed_is_one_scenario, bad_options_are_rejected,
         group_is_like_one_bucket, site_returns, shares_of_few_packets, equal_parts_are_not]


def main():
    """Runs all tests."""
    run_tests(TESTS)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""tools/evaluate reproduces the paper's results: a few seeds, wide bounds."""

import json
import os
import subprocess
import sys
import tempfile

from suite import ANSWERS_S, ROOT, expect

EVALUATE = ["/usr/bin/python3", "-B", os.path.join(ROOT, "tools", "evaluation", "main.py")]
SEEDS = 2


def rows(results, key):
    """Returns the rows of an experiment by allocator; the last one counts."""
    return {row["allocator"]: row for row in results[key]["rows"]}


def evaluate(*keys):
    """Runs these experiments; returns their JSON."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run([*EVALUATE, "--quick", "--seeds", str(SEEDS), "--only",
                               ",".join(keys), "--json", file.name],
                              capture_output=True, text=True, check=False, timeout=ANSWERS_S)
        expect(done.returncode == 0, done.stderr)
        return json.load(file)


def check_baseline(results):
    """E1: fairness of each allocator, and which of them keep the limit."""
    found = rows(results, "E1")
    for allocator in ("central", "grd", "fps", "static"):
        ratio = found[allocator]["aggregate_ratio"]
        expect(0.95 < ratio < 1.05, f"{allocator}: aggregate {ratio:.3f} of the limit")
    expect(found["gtb"]["jain"] < 0.85, f"gtb is fair: {found['gtb']['jain']:.3f}")
    expect(0.8 < found["static"]["jain"] < 0.87, f"static: {found['static']['jain']:.3f}")
    for allocator in ("central", "grd", "fps", "fps-drop", "central-drop"):
        expect(found[allocator]["jain"] > 0.95, f"{allocator}: {found[allocator]['jain']:.3f}")
    return {name: round(row["jain"], 3) for name, row in found.items()}


def check_settling(results):
    """E4 and E8: new shares within a few seconds, without staying above the limit."""
    for key in ("E4", "E8"):
        settles = rows(results, key)["fps"]["settle_s"]
        expect(settles < 5, f"{key}: settles in {settles:.1f} s")
    return {key: rows(results, key)["fps"]["settle_s"] for key in ("E4", "E8")}


def check_requests(results):
    """E9: the number of requests is exact."""
    for row in results["E9"]["rows"]:
        expect(row["requests"] == row["expected"], str(row))
    return f"{len(results['E9']['rows'])} exact"


def check_faults(results):
    """E10: after faults, no limiter uses a share that belongs to another."""
    row = results["E10"]["rows"][0]
    expect(max(row["over_s"].values()) < 4, str(row["over_s"]))
    expect(max(row["side_ratio"]) < 1.05, str(row["side_ratio"]))
    return row["over_s"]


def check_hard(results):
    """E11: hard limits are never exceeded, at little extra time."""
    cases = [row for row in results["E11"]["rows"] if row["case"] != "calls"]
    for soft, hard in zip(cases[::2], cases[1::2]):
        expect((soft["guarantee"], hard["guarantee"]) == ("soft", "hard"), str(hard))
        expect(hard["limits_ratio"] <= 1 and hard["excess_bursts"] <= 1, str(hard))
        for here, there in zip(soft["settle_s"], hard["settle_s"]):
            expect(there < 3 * here, f"{soft}\n{hard}")
    expect(any(row["limits_ratio"] > 1.1 for row in cases), "no soft limit is exceeded")
    return f"{len(cases) // 2} cases"


def main():
    """Runs and checks all experiments."""
    try:
        results = evaluate("E1", "E4", "E8", "E9", "E10", "E11")
        for check in (check_baseline, check_settling, check_requests, check_faults,
                      check_hard):
            print(f"ok    {check.__name__}: {check(results)}")
    except AssertionError as error:
        print(f"FAIL  {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()

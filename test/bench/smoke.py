#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks that the program of tools/bench measures all its figures: tiny counts, no value judged.

    smoke.py [BUILD]
"""

import math
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tools", "benchmark"))

import keys  # noqa: E402 (needs the path above)
import machine  # noqa: E402
import measure  # noqa: E402
import report  # noqa: E402

TINY = ["--rounds", "3", "--slice-us", "300", "--long-us", "3000", "--settle-ms", "150",
        "--policies", "60", "--scale", "300",
        "--packets", "4096", "--cold", "1024", "--cached", "512"]
QUESTIONS = ["policies", "few", "drops", "ipv6", "hostile", "cached", "cold", "observed", "updates",
             "workers", "peers", "scale", "phantom", "shape", "bare", "latency"]
# Share of packets that a contender must drop; all others drop none.
DROPPED = {"full_10": 0.1, "full_33": 1 / 3, "full_50": 0.5, "full_90": 0.9, "full_100": 1,
           "library_33": 1 / 3, "library_50": 0.5, "all_over": 1}
# Limits follow the contender's rate, so it drops about half. Rounds are few and short here.
PACED = ("bucket_10k_pressed", "phantom_10k_pressed")


def expect(condition, what):
    """Ends with a message unless the condition holds."""
    if not condition:
        sys.exit(f"smoke: {what}")


def check_numbers(name, found):
    """Asserts that spreads are finite; only differences can be below 0."""
    least = -math.inf if name.startswith("waits_") or "own_" in name else 0
    expect(all(math.isfinite(value) and value > least for value in found.values())
           and found["p10"] <= found["median"] <= found["p90"], f"{name}: {found}")


def check_dropped(questions):
    """Asserts that each contender drops its share."""
    for question, contenders in questions.items():
        for name, one in contenders.items():
            wanted = DROPPED.get(name, 0)
            if name in PACED:
                expect(0.25 < one["dropped"] < 0.75,
                       f"{question}: {name} drops {one['dropped']:.3f}, not about a half")
            elif name != "rte_sched":  # its queues can be full
                expect(abs(one["dropped"] - wanted) < 0.05,
                       f"{question}: {name} drops {one['dropped']:.3f}, not {wanted:.3f}")


def check_document(result):
    """Asserts that every table and picture of the document can be written."""
    with open(os.path.join(ROOT, "doc", "study", "performance.md"), encoding="utf-8") as file:
        report.fill(file.read(), result)
    expect(set(report.pictures(result)) == set(report.PICTURES), "a picture is missing")
    expect(len(report.contender_lines(result).splitlines()) > 3, "no contenders")
    report.text(result)


def main():
    """Runs everything once."""
    build = os.path.join(ROOT, sys.argv[1] if len(sys.argv) > 1
                         else os.environ.get("WEIR_BUILD", "build"))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        found = measure.fastpath(build, QUESTIONS, False, TINY)
    questions, once = found.pop("questions"), found.pop("once")
    ratios, figures = keys.ratios_of(questions), keys.figures_of(once)
    cycles = keys.cycles_of(questions)
    alone = len(os.sched_getaffinity(0)) < 2  # no two workers then
    missing = [key.name for key in (*keys.KEYS, keys.WORST_DROP, *keys.FIGURES)
               if key.name not in ratios | figures and not (alone and key.question == "workers")]
    expect(not missing, f"keys without a figure: {missing}")
    for name, spread in (ratios | figures).items():
        check_numbers(name, spread)
    for question, contenders in cycles["contenders"].items():
        for name, spread in contenders.items():
            check_numbers(f"{question}: {name}", {key: spread[key] for key in
                                                  ("median", "p10", "p90")})
    check_dropped(questions)
    check_document({"ratios": ratios, "figures": figures, "cycles": cycles, "run": found,
                    "machine": machine.describe(), "notes": [], "extra": {}})
    print(f"{len(ratios)} ratios and {len(figures)} figures of "
          f"{sum(map(len, questions.values()))} contenders")


if __name__ == "__main__":
    main()

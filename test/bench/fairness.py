#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""How well a group imitates one bucket: repeated runs of the demo, as a table in Markdown.

    fairness.py [--runs 5] [--seconds 60] [--directory DIR] [--show]

Runs are interleaved, so that changes of the machine's speed affect all cases. Every run's JSON
stays in DIR, or is deleted; --show only evaluates existing files. Needs root; takes about 40
minutes by default.
"""

import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "benchmark"))

from report import markdown_table  # noqa: E402 (needs the path above)

CASES = {
    "central37": ["--flows", "3,7", "--allocator", "central"],
    "fps37": ["--flows", "3,7"],
    "fps19": ["--flows", "1,9"],
    "fps55": ["--flows", "5,5"],
    "fps235": ["--flows", "2,3,5"],
    "fpsloss": ["--flows", "3,7", "--gossip-loss", "10%"],
    "static37": ["--flows", "3,7", "--allocator", "static"],
}
WORDS = {
    "central37": "`central`, 3:7 flows",
    "fps37": "`fps`, 3:7",
    "fps19": "`fps`, 1:9",
    "fps55": "`fps`, 5:5",
    "fps235": "`fps`, 2:3:5, three limiters",
    "fpsloss": "`fps`, 3:7, 10 % of gossip lost",
    "static37": "`static`, 3:7",
}
HEADS = ["case", "runs", "aggregate / limit", "split, %", "worst share error",
         "worst second / limit", "Jain"]


def run(case, number, options):
    """Runs the demo once; its JSON is the result."""
    path = os.path.join(options.directory, f"{case}.{number}")
    command = [os.path.join(ROOT, "tools", "demo"), *CASES[case], "--seconds",
               str(options.seconds), "--json", path + ".json", "--plot", path + ".svg"]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    words = "done" if done.returncode == 0 else "FAILED: " + done.stderr.strip()[-200:]
    print(f"{case} run {number}: {words}", file=sys.stderr, flush=True)


def results(case, directory):
    """Returns the summaries of a case's runs."""
    found = []
    for path in sorted(glob.glob(os.path.join(directory, f"{case}.[0-9]*.json"))):
        with open(path, encoding="utf-8") as text:
            found.append(json.load(text))
    return found


def spread(values, form):
    """Returns "median (least to largest)"."""
    return f"{statistics.median(values):{form}} ({min(values):{form}}–{max(values):{form}})"


def worst_share_error(summary):
    """Returns the largest distance of a limiter's share from its part of the flows, in points."""
    flows = sum(limiter["flows"] for limiter in summary["limiters"])
    return max(abs(limiter["share"] - limiter["flows"] / flows) * 100
               for limiter in summary["limiters"])


def row(case, runs):
    """Returns one row of the table."""
    limit = runs[0]["limit_bps"]
    shares = [statistics.median(run["limiters"][i]["share"] for run in runs)
              for i in range(len(runs[0]["limiters"]))]
    return [
        WORDS[case], str(len(runs)),
        spread([r["aggregate"]["mean_bps"] / limit for r in runs], ".3f"),
        ":".join(f"{share * 100:.1f}" for share in shares),
        spread([worst_share_error(r) for r in runs], ".1f"),
        spread([r["aggregate"]["max_1s_bps"] / limit for r in runs], ".3f"),
        spread([r["jain"] for r in runs], ".3f")]


def main():
    """Does all runs, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--directory")
    parser.add_argument("--cases", default=",".join(CASES), help="a list of: %(default)s")
    parser.add_argument("--show", action="store_true", help="run nothing, show what is there")
    options = parser.parse_args()
    cases = options.cases.split(",")
    if not set(cases) <= set(CASES):
        sys.exit(f"fairness: unknown case; there are {', '.join(CASES)}")
    if options.show and not options.directory:
        sys.exit("fairness: expected --directory with --show")
    with tempfile.TemporaryDirectory(prefix="weir-fairness-") as folder:
        options.directory = options.directory or folder
        os.makedirs(options.directory, exist_ok=True)
        for number in range(1, options.runs + 1):
            for case in () if options.show else cases:
                run(case, number, options)
        found = {case: results(case, options.directory) for case in cases}
    print(markdown_table(HEADS, [row(case, runs) for case, runs in found.items() if runs]))


if __name__ == "__main__":
    main()

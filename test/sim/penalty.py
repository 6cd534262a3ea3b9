#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""`weir-study penalty`: its figures compared with the formula, and its command line.

    penalty.py
"""

import json
import os
import tempfile

from suite import curves, expect, run_tests, study

KINDS = ["poisson", "periodic", "batch", "spread"]


def run(*arguments):
    """Runs weir-study penalty; returns the completed process."""
    return study("penalty", *arguments)


def figures(*arguments):
    """Returns its JSON: rows by kind."""
    done = run("--json", "-", *arguments)
    expect(done.returncode == 0, done.stderr)
    return {each["arrivals"]: each["rows"] for each in json.loads(done.stdout)["runs"]}


def a_split_costs():
    """Each kind of arrivals has its cost; delays match the formula, and the paper's is not below
    it."""
    found = figures("--load", "0.8", "--packets", "60000")  # long enough for buckets to empty
    expect(list(found) == KINDS, list(found))
    for kind, rows in found.items():
        expect([row["parts"] for row in rows] == list(range(1, 17)), kind)
        for row in rows:
            expect(row["mean_us"] >= rows[0]["mean_us"], row)
            expect(row["p50_us"] <= row["p95_us"] <= row["p99_us"] <= row["p999_us"], row)
            if row["exact_us"] is not None:
                off = abs(row["mean_us"] - row["exact_us"])
                expect(off <= 4 * row["error_us"] + 1, f"{kind}: {row}")
        expect((rows[15]["exact_us"] is None) == (kind == "periodic"), kind)
    for row in found["poisson"]:
        expect(row["paper_us"] >= row["exact_us"], row)
    # Splitting the load splits the burst: whole batches wait many times as long.
    last = {kind: rows[15]["mean_us"] for kind, rows in found.items()}
    expect(last["spread"] < last["batch"] / 8, last)
    return ", ".join(f"{kind} {us / 1000:.2f} ms in 16 parts" for kind, us in last.items())


def a_seed_is_a_run():
    """Two runs are equal, other seeds differ; only parts that a packet fits into are listed."""
    arguments = ("--arrivals", "batch", "--packets", "1000", "--burst", "7000B")
    once = figures(*arguments)
    expect(list(once) == ["batch"] and len(once["batch"]) == 5, once)
    expect(figures(*arguments) == once, "another run of the same seeds")
    expect(figures(*arguments, "--first", "99") != once, "other seeds, and the same run")


def files_are_written():
    """Writes a chart of each kind, and prints the table in addition to JSON in a file."""
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "p.json")
        done = run("--packets", "1000", "--seeds", "2", "--json", out)
        expect(done.returncode == 0 and "Poisson" in done.stdout, done)
        lines = curves("penalty", out)
        expect(len(lines) == 4 * len(KINDS), len(lines))
        with open(out, encoding="utf-8") as content:
            expect(len(json.load(content)["runs"]) == len(KINDS), "runs")


def bad_input_is_refused():
    """Names the bad option, and runs nothing."""
    for arguments in (["--arrivals", "never"], ["--load", "1"], ["--load", "nan"], ["--rate", "1"],
                      ["--burst", "1249B"], ["--packet", "0B"], ["--batch", "0"],
                      ["--publishers", "0"], ["--packets", "9"], ["--seeds", "many"],
                      ["--rate", "1Tbit/s", "--packet", "100B"], ["something"], ["--what"],
                      ["--rate", "16kbit/s", "--packets", "1000000000"]):
        done = run(*arguments)
        expect(done.returncode == 2 and done.stderr and not done.stdout, arguments)
    expect(run("--help").returncode == 0, "help")
    done = run("--packets", "10", "--seeds", "1", "--json", "/nowhere/at/all.json")
    expect(done.returncode == 2 and "/nowhere/at/all.json" in done.stderr, done.stderr)


TESTS = [a_split_costs, a_seed_is_a_run, files_are_written, bad_input_is_refused]


def main():
    """Runs all tests."""
    run_tests(TESTS)


if __name__ == "__main__":
    main()

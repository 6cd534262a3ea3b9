#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The tables that weir-study writes for documents have the same figures as its JSON.

    tables.py
"""

import json
import math
import statistics

from suite import expect, run_tests, study


def markdown(*arguments):
    """Returns the tables of a command: each a list of rows, which are lists of cells."""
    done = study(*arguments, "--markdown")
    expect(done.returncode in (0, 1) and not done.stderr, done.stderr)
    tables = [[]]
    for line in done.stdout.splitlines():
        if line.startswith("|"):
            tables[-1].append([cell.strip() for cell in line.split("|")[1:-1]])
        elif tables[-1]:
            tables.append([])
    tables = [table for table in tables if table]
    for table in tables:
        expect({len(row) for row in table} == {len(table[0])}, f"a ragged table: {table}")
        expect(all(set(cell) == {"-"} for cell in table[1]), f"no rule: {table[1]}")
    return [table[2:] for table in tables]


def figures(*arguments):
    """Returns the figures in JSON."""
    done = study(*arguments, "--json", "-")
    expect(done.returncode in (0, 1), done.stderr)
    return json.loads(done.stdout)


def brokers():
    """One panel has the same figures as among all; `least` is null if it is unknown."""
    short = ("brokers", "--figure", "5", "--seeds", "2", "--messages", "20000")
    whole, panel = figures(*short), figures(*short, "--panel", "2")
    table, = markdown(*short, "--panel", "2")
    expect(panel["panels"] == whole["panels"][1:2], "another panel")
    expect(len(table) == 5, f"{len(table)} rows")
    for row, point in zip(table, panel["panels"][0]["points"]):
        weir = point["contenders"][2]
        expect(row[8] == f"{weir['p99_ms']:.2f} ± {weir['deviation_ms']:.2f}", row)
        expect(row[10] == f"{weir['met']} of 2", row)
        expect(row[11] == f"{point['least_ms']:.2f}", row)
    periodic = whole["panels"][2]["points"]
    expect(all(point["least_ms"] is None for point in periodic), "a bound of periodic sources")
    for bad in (("--figure", "4", "--panel", "2"), ("--figure", "table1", "--panel", "1")):
        expect(study("brokers", *bad).returncode == 2, bad)


def quota():
    """Weir and polling, with the spread of the seeds, for each number of requests."""
    case = ("quota", "--nodes", "20", "--trace", "zipf", "--requests", "1000,4000")
    costs, times = markdown(*case, "--seeds", "3")
    rows = figures(*case, "--seeds", "3")["rows"]
    expect([row["requests"] for row in rows] == [1000, 4000], "the numbers of requests")
    for row, cost, time in zip(rows, costs, times):
        weir = row["weir"]
        expect(cost[3] == f"{weir['reduction_percent']:.1f} ± {weir['reduction_deviation']:.1f} %",
               cost)
        expect(cost[7] == f"{weir['fewer_than_polling_percent']:.1f} ± "
               f"{weir['fewer_than_polling_deviation']:.1f} %", cost)
        expect(time[3] == f"{weir['response_ms']:.2f} ms", time)
    alone = [figures(*case[:-1], "4000", "--seeds", "1", "--first", str(seed))["rows"][0]
             for seed in (1, 2, 3)]
    for key, each in (
            ("fewer_than_polling", [100 * (1 - row["weir"]["hops"] / row["polling"]["hops"])
                                    for row in alone]),
            ("reduction", [100 * (1 - row["weir"]["hops"] / row["centralised"]["hops"])
                           for row in alone])):
        expect(math.isclose(rows[1]["weir"][key + "_percent"], statistics.mean(each)), key)
        expect(math.isclose(rows[1]["weir"][key + "_deviation"], statistics.stdev(each),
                            rel_tol=1e-6), key)
    last = [100 * row["weir"]["hops_by_tenth_left"][0] / row["weir"]["hops"] for row in alone]
    expect(math.isclose(rows[1]["weir"]["last_tenth_percent"], statistics.mean(last)), last)


def who_never_moved_took_no_time():
    """A response without a move is null and not 0: the centralised method moves nothing."""
    row, = figures("quota", "--nodes", "5", "--trace", "zipf", "--seeds", "1")["rows"]
    expect(row["centralised"]["response_ms"] is None, row["centralised"])
    expect(row["weir"]["response_ms"] > 0, row["weir"])


def gdrl():
    """The least of the seeds, and the slot from which they stay. "Never" sorts last; as one of the
    middle two of an even number it makes the median "never"."""
    case = ("gdrl", "--limiters", "100", "--degree", "2", "--seeds", "2", "--slots")
    for slots in ("3000", "2500", "60"):
        (row,), = markdown(*case, slots)
        runs = figures(*case, slots)["runs"]
        stays = sorted((run["stays"] for run in runs), key=lambda slot: slot or math.inf)
        middle = "never" if None in stays else f"{sum(stays) / 2:.0f}"
        words = [slot or "never" for slot in stays]
        never = f", {stays.count(None)} of them never" if None in stays else ""
        expect(row[-1] == f"{words[0]} to {words[1]}, median {middle}, of 2 seeds{never}", row)
        expect(row[11] == f"{min(run['least'] for run in runs):.4f}", row)
    expect(stays == [None, None], "60 slots are enough")


def penalty():
    """Only the wanted parts and one, with the same figures as among all."""
    case = ("penalty", "--arrivals", "spread", "--packets", "5000", "--seeds", "2")
    table, = markdown(*case, "--parts", "3,8")
    runs = {row["parts"]: row for row in figures(*case)["runs"][0]["rows"]}
    expect([row[0] for row in table] == ["1", "3", "8"], table)
    for row in table:
        found = runs[int(row[0])]
        expect(row[1] == f"{found['mean_us']:.1f} ± {found['error_us']:.1f}", row)
        expect(row[4] == f"{found['p99_us']:.1f}", row)
        expect((row[6] == "–") == (found["exact_us"] is None), row)


TESTS = [brokers, quota, who_never_moved_took_no_time, gdrl, penalty]


def main():
    """Runs all tests."""
    run_tests(TESTS)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""`weir-study brokers` and `weirsim plan`: the paper's ranking, and their command lines.

    brokers.py
"""

import json
import os
import re
import tempfile

from suite import ALL_SEEDS, ROOT, curves, expect, run_tests, study, weirsim

EXAMPLE = os.path.join(ROOT, "config", "placement", "three-limiters.json")
SEEDS = 2 if ALL_SEEDS else 1
MESSAGES = ("--messages", "200000")
SHORT = ("--seeds", str(SEEDS), *MESSAGES)


def run(command, *arguments):
    """Runs the program that has this command; returns the completed process."""
    return (study if command == "brokers" else weirsim)(command, *arguments)


def figure(name, *arguments):
    """Returns the JSON that it writes for a figure."""
    done = run("brokers", "--figure", name, "--json", "-", *(arguments or SHORT))
    expect(done.returncode in (0, 1) and not done.stderr, done.stderr)
    return json.loads(done.stdout)


def points(found):
    """Yields the contenders by name, for every point of every panel."""
    for panel in found["panels"]:
        for point in panel["points"]:
            yield panel["panel"], {each["contender"]: each for each in point["contenders"]}


def two_brokers_are_best():
    """Figure 4: one broker saturates, and from two on each additional one makes it worse."""
    p99 = [cells["LB"]["p99_ms"] for _, cells in points(figure("4"))]
    expect(p99[0] > 1 and p99[1] < 1, p99)
    expect(p99[1:] == sorted(p99[1:]), p99)
    return ", ".join(f"{ms:.2f}" for ms in p99) + " ms"


def concentration_helps():
    """Figure 5: LB misses the objective everywhere; Conc meets it if one broker is enough."""
    for panel, cells in points(figure("5")):
        expect(cells["LB"]["met"] == 0, panel)
        expect(cells["Conc"]["p99_ms"] < cells["LB"]["p99_ms"], (panel, cells))
        if cells["Conc"]["brokers"] == 1 or "of 1" in panel and "of 10" not in panel:
            expect(cells["Conc"]["met"] == SEEDS, (panel, cells))
        if "periodic" in panel:  # phases are predictable
            expect(cells["Weir"]["met"] == SEEDS, (panel, cells))


def max_min_helps():
    """Figure 6: nowhere worse, except noise; the balanced parts are better than both."""
    found = figure("6", "--seeds", "2", *MESSAGES)  # one seed is too noisy
    expect(found["out_of_order"] <= 1, found["out_of_order"])
    for panel, cells in points(found):
        if cells["Weir"]["brokers"] > 1 and "Poisson" in panel:
            expect(cells["Weir"]["p99_ms"] < cells["Conc"]["p99_ms"], (panel, cells))
        if panel == "periodic, batches of 10":
            expect(cells["Weir"]["met"] == 2, (panel, cells))
    for panel in found["panels"]:
        for point in panel["points"]:
            for each in point["contenders"]:
                expect(each["p99_ms"] > (point["least_ms"] or 0), (panel["panel"], point))
            expect((point["least_ms"] is not None) == ("Poisson" in panel["panel"]), point)


def correlation_helps():
    """Figures 7 to 9: SRTM and Weir meet the objective."""
    for name in ("7", "9"):
        found = figure(name)
        expect(found["out_of_order"] == 0, name)
        for panel, cells in points(found):
            expect(cells["SRTM"]["met"] == SEEDS, (name, panel, cells))
            expect(cells["Weir"]["met"] == SEEDS, (name, panel, cells))
    for _, cells in points(figure("8")):
        expect(cells["SRTM"]["p99_ms"] <= cells["Max-Min"]["p99_ms"], cells)


def prediction_saves_rounds():
    """Table I: a tenth of the paper's rounds, few mistakes, and the objective is met."""
    rows = figure("table1", "--seeds", str(SEEDS + 1))["rows"]
    for row in rows:
        expect(row["weir"]["met"] == row["seeds"], row)
        expect(row["weir"]["mistaken"] == 0, row)
        if row["group"] >= 15:
            expect(row["weir"]["rounds"] <= 0.15 * row["paper"], row)
    search = sum(row["search"]["rounds"] for row in rows)
    weir = sum(row["weir"]["rounds"] for row in rows)
    expect(weir <= 0.1 * 56 and weir <= 0.1 * search, (weir, search))
    return f"{weir:.1f} rounds instead of {search:.1f}, the paper's 56"


def a_seed_is_a_run():
    """Two runs are equal, and files are written that can be plotted."""
    few = ("--seeds", "2", "--messages", "20000")
    expect(figure("4", *few) == figure("4", *few), "another run of the same seeds")
    expect(figure("4", *few) != figure("4", *few, "--first", "9"), "other seeds, the same run")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "f.json")
        # One more line for the objective.
        for name, lines in (("4", 1 + 1), ("7", 6 + 2), ("table1", 3)):
            done = run("brokers", "--figure", name, "--seeds", "1", "--messages", "20000",
                       "--json", path)
            expect(done.returncode in (0, 1) and done.stdout, done)
            found = curves("brokers", path)
            expect(len(found) == lines and all(found), (name, len(found)))


def bad_options_are_refused():
    """Names the bad option, and runs nothing."""
    for arguments in ([], ["--figure", "3"], ["--figure", "table2"], ["--figure", "4", "x"],
                      ["--figure", "4", "--seeds", "0"], ["--figure", "4", "--messages", "1"]):
        done = run("brokers", *arguments)
        expect(done.returncode == 2 and done.stderr and not done.stdout, arguments)
    for arguments in ([], ["--without", "luck", EXAMPLE], [EXAMPLE, "x"], ["/nowhere.json"]):
        done = run("plan", *arguments)
        expect(done.returncode == 2 and done.stderr and not done.stdout, arguments)
    expect(run("brokers", "--help").returncode == run("plan", "--help").returncode == 0, "help")


def plan(document, *arguments):
    """Plans a document; returns the completed process."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as scenario:
        json.dump(document, scenario)
        scenario.flush()
        return run("plan", scenario.name, *arguments)


def example():
    """Returns the example document."""
    with open(EXAMPLE, encoding="utf-8") as content:
        return json.load(content)


def a_plan_adds_up():
    """Limits and bursts add up to the aggregate's, each source has a limiter, and without any
    principle the plan fails. Concentration uses fewer limiters."""
    done = run("plan", EXAMPLE, "--json", "-")
    expect(done.returncode == 0 and not done.stderr, done)
    found = json.loads(done.stdout)
    expect(sum(each["limit_bps"] for each in found["limiters"]) == 50000000, found)
    expect(sum(each["burst_bytes"] for each in found["limiters"]) == 300000, found)
    expect(sum(each["sources"] for each in found["limiters"]) == len(found["sources"]), found)
    names = {each["name"] for each in found["limiters"]}
    expect(all(each["limiter"] in names for each in found["sources"]), found)
    expect([each["name"] for each in found["sources"]] ==
           [each["name"] for each in example()["sources"]], "their order")
    for principle in ("max-min", "correlation", "balance"):
        expect(run("plan", EXAMPLE, "--without", principle).returncode == 1, principle)
    document = example()
    for limiter in document["limiters"]:
        del limiter["load"]
    used = [len(json.loads(plan(document, "--json", "-", *arguments).stdout)["limiters"])
            for arguments in ((), ("--without", "concentration"))]
    expect(used[0] < used[1] == 3, used)


def no_switch_improves_a_plan():
    """Without a principle, the predicted delay is never lower for the same number of limiters."""
    def worst(*without):
        done = run("plan", EXAMPLE, "--json", "-", *without)
        return max(limiter["p99_ms"] for limiter in json.loads(done.stdout)["limiters"])
    principles = ("max-min", "correlation", "balance")
    for chosen in range(8):
        without = [word for i, name in enumerate(principles) if chosen >> i & 1
                   for word in ("--without", name)]
        expect(worst() <= worst(*without), without)


def a_crowd_is_named():
    """Sources without room have no limiter, and the plan fails."""
    document = example()
    document["limiters"] = document["limiters"][2:]
    done = plan(document, "--json", "-")
    expect(done.returncode == 1, done)
    found = json.loads(done.stdout)
    nowhere = [each for each in found["sources"] if each["limiter"] is None]
    expect(found["nowhere"] == len(nowhere) > 0, found)
    expect(not found["objective_kept"], found)
    expect("no room" in plan(document).stdout, "said")


def mistakes_are_named():
    """Names all mistakes with their places in one run."""
    def mistaken(change):
        document = example()
        change(document)
        done = plan(document)
        expect(done.returncode == 2 and not done.stdout, done)
        return done.stderr

    cases = [
        ("aggregate.slo: missing", lambda d: d["aggregate"].pop("slo")),
        ("aggregate.burst: \"1kB\"", lambda d: d["aggregate"].update(burst="1kB")),
        ("aggregate.constant: \"5ms\"", lambda d: d["aggregate"].update(constant="5ms")),
        ("aggregate.delay", lambda d: d["aggregate"].update(delay="5ms")),
        ("limiters: an empty array", lambda d: d.update(limiters=[])),
        ("limiters[1].name: \"weir-a\"", lambda d: d["limiters"][1].update(name="weir-a")),
        ("limiters[2].speed: \"1Mbit/s\"", lambda d: d["limiters"][2].update(speed="1Mbit/s")),
        ("limiters[0].capacity: missing", lambda d: d["limiters"][0].pop("capacity")),
        ("sources[3].rate: \"fast\"", lambda d: d["sources"][3].update(rate="fast")),
        ("sources[0].prefix: \"10.1.0.1/24\"",
         lambda d: d["sources"][0].update(prefix="10.1.0.1/24")),
        ("sources[2].name: \"north-2\"", lambda d: d["sources"][2].update(name="north-2")),
        ("sources: missing", lambda d: d.pop("sources")),
    ]
    for words, change in cases:
        said = re.sub(r'(\[\d+\]) "[^"]*"', r"\1", mistaken(change))  # without the names of places
        expect(words in said, f"{words!r}: {said!r}")
    document = example()
    document["aggregate"]["limit"] = "40Mbit/s"
    done = plan(document)
    expect(done.returncode == 1 and "warning: aggregate.limit" in done.stderr, done)


TESTS = [two_brokers_are_best, concentration_helps, max_min_helps, correlation_helps,
         prediction_saves_rounds, a_seed_is_a_run, bad_options_are_refused, a_plan_adds_up,
         no_switch_improves_a_plan,
         a_crowd_is_named, mistakes_are_named]


def main():
    """Runs all tests."""
    run_tests(TESTS)


if __name__ == "__main__":
    main()

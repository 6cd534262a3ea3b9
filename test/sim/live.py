#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The live half of tools/evaluate, without a network: scenarios converted for a testbed, results
from its counters, and results that were kept in files."""

import json
import os
import sys
import tempfile
import types

from suite import run_tests

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools")
sys.path.insert(0, os.path.join(TOOLS, "evaluation"))

import enact  # noqa: E402 (needs the path above)
import live  # noqa: E402
import report  # noqa: E402
import scenario  # noqa: E402
from simulate import EvaluationError, Run  # noqa: E402
from testbed.measure import Recorder  # noqa: E402


def expect(found, wanted):
    """Fails unless both are equal."""
    if found != wanted:
        raise AssertionError(f"{found!r}, expected {wanted!r}")


def refused(action, *wanted):
    """Fails unless the action raises an EvaluationError with these words."""
    try:
        action()
    except EvaluationError as error:
        expect([word for word in wanted if word not in str(error)], [])
        return
    raise AssertionError(f"no error with {wanted}")


def flows_with_links_of_their_own():
    """E4: a flow without a bottleneck has its own entry into the same limiter."""
    plan = enact.Plan(scenario.shortened(scenario.bottlenecked("fps"), 50))
    expect(plan.homes(), [1, 2, 2])
    expect(plan.starts, [(0, 1, 3, 50, "traffic1"), (0, 2, 7, 50, "traffic2"),
                         (31, 3, 1, 19, "traffic3")])
    expect(plan.changes, [(15, 2)])
    expect(plan.entries[1].narrow(), "rate=2Mbit/s queue=20kB")


def flows_that_share_a_link():
    """E8: three groups of flows at each of four sites, two at the others; E1's one bucket."""
    plan = enact.Plan(scenario.shifting("fps", 20))
    expect(plan.homes(), list(range(1, 11)))
    expect([sum(start[0] == time for start in plan.starts) for time in (0, 20, 40)], [10, 4, 10])
    expect({start[3] for start in plan.starts}, {20})
    expect(enact.Plan(scenario.baseline("central")).homes(), [1])


def round_trip_times():
    """E5: half of the delay in each direction, also if one limiter has both links."""
    plan = enact.Plan(scenario.round_trips("central"))
    expect(plan.homes(), [1, 1])
    expect([entry.link() for entry in plan.entries], ["delay=50000us", "delay=5000us"])


def only_tcp():
    """Web requests have live senders too; UDP has none."""
    plan = enact.Plan(scenario.web("fps"))
    expect(plan.starts, [(0, 1, 10, 65, "traffic1"), (0, 2, 1, 65, "traffic2")])
    refused(lambda: enact.Plan(scenario.calls("fps")), "on-off")


class Recorded:
    """A testbed that notes the calls of a conductor."""

    def __init__(self, boxes):
        self.calls = []
        self.up = {i: True for i in boxes}

    def boxes(self):
        """Returns the numbers of the limiters."""
        return list(self.up)

    def policy(self, i):
        """Returns the report of a limiter, or None while it is down."""
        return {"local_limit_bps": 5} if self.up[i] else None

    def __getattr__(self, name):
        return lambda *words, **more: self.calls.append((name, *words, *more.values()))


def events():
    """A limiter fails and returns, the group is cut in two, and the limit changes."""
    made = scenario.scenario("events", "fps", 2, [], 10, warmup=0, events=[
        {"at": "1s", "crash": "l2"}, {"at": "3s", "restart": "l2"},
        {"at": "5s", "partition": [["l1"], ["l2"]]}, {"at": "6s", "heal": True},
        {"at": "7s", "limit": "4Mbit/s"}])
    bed = Recorded([1, 2])
    conductor = enact.Conductor(bed, enact.Plan(made), made, 1)
    for second in range(10):
        bed.up[2] = not 1 < second < 4
        conductor.tick(second, None)
    expect(bed.calls, [("kill_limiter", 2), ("spawn_limiter", 2), ("split", [[1], [2]]),
                       ("split", [[1], [2]], False), ("reload_limiter", 1), ("reload_limiter", 2)])
    expect(conductor.answered, {1: [0], 2: [0, 4]})
    expect([limits for _, limits in conductor.limits[1:5]], [[5, 5], [5, 0], [5, 0], [5, 5]])
    expect(made["policies"][0]["limit"], "4Mbit/s")


def answers():
    """Rates of replies by size: 8 kB in 1 s and in 3 s have a harmonic mean of 32 kbit/s."""
    found = enact.answer_rates([[1, 8000, 9], [5, 8000, 1], [6, 8000, 3], [7, 4000, 1]], 5)
    expect([(one["requests"], round(one["harmonic_mean_bps"])) for one in found],
           [(1, 32000), (2, 32000), (0, 0), (0, 0)])


def policies():
    """The scenario's policies are used; a meter without a bucket gets none from the testbed."""
    config = {"policies": [{"name": "baseline", "burst": "1kB", "ewma": 0.1, "limit": "1bit/s"}],
              "gossip": {"branching": 3}}
    made = scenario.shifting("fps")
    enact.configure(made)(1, config)
    expect(config["policies"], [{"name": "baseline", "burst": "40kB", "ewma": 0.1,
                                 "limit": "5Mbit/s", "allocator": "fps", "interval": "100ms"}])
    expect(config["gossip"]["branching"], 4)
    enact.configure(scenario.baseline("grd"))(1, config)
    expect((config["policies"][0]["meter"], "burst" in config["policies"][0]),
           ("random-drop", False))


def series_of_counters():
    """Wires of one limiter are added up; a limit is valid until the next one is read."""
    recorder = Recorder(3)
    for k in range(11):
        recorder.add(k / 10, [1000 * k, 2000 * k, 500 * k])
    limits = [(0.0, [1, 9]), (0.5, [2, 8])]
    made = enact.series(recorder, [1, 2, 2], limits, 1.0)
    expect(made.times, [round(0.1 * k, 1) for k in range(1, 11)])
    expect([round(made.between(name, 0, 1)) for name in ("cdn", "cdn/l1", "cdn/l2")],
           [280000, 80000, 200000])
    expect(made["cdn/l1:limit"], [1] * 4 + [2] * 6)
    expect(made["cdn/l2:limit"], [9] * 4 + [8] * 6)


def fairness_by_the_second():
    """The rates of the flows that were present, at any start time."""
    def group(began, *seconds):
        made = enact.Group(began, "traffic1", None)
        made.report = types.SimpleNamespace(rows=[
            [{"start": k, "bits_per_second": rate} for rate in rates]
            for k, rates in enumerate(seconds)])
        return made

    groups = [group(0.1, [6], [5], [7]), group(1.2, [5], [0])]
    expect(enact.second_fairness(groups), (1 + 1 + 0.5) / 3)


def run(jain, share):
    """Returns a run of E1."""
    recorder = Recorder(1)
    for second in range(36):
        recorder.add(second, [second * 1250000])
    made = enact.series(recorder, [1], [(0, [10e6])], 35)
    return Run({"aggregate_ratio": 1.0, "aggregate_ratio_max_1s": 1.0, "control_bps": 0,
                "jain": jain, "late_us": 1000 * jain,
                "limiters": [{"share": share}, {"share": 1 - share}]}, made)


class Twin:
    """A simulator whose runs are all equal."""

    def runs(self, _scenario, series):
        """Returns two runs."""
        expect(series, True)
        return [run(0.5, 0.3)] * 2


def kept(folder, change=lambda rows: None):
    """Writes a file of possible results of E1; the last allocator differs."""
    experiment, rows = live.EXPERIMENTS["E1"], []
    results = {name: [run(0.51, 0.3), run(0.53, 0.32)] for name in experiment.cases}
    results["central-drop"] = [run(0.7, 0.4), run(0.8, 0.5)]
    for name, runs in results.items():
        rows.append(live.measured_row(experiment, name, runs, results))
    change(rows)
    path = os.path.join(folder, "live.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"E1": {"rows": rows, "curves": {"fps": [["l1", [[1, 2], [2, 3]]]]}},
                   "E3": {"rows": [{"allocator": "fps"}]}}, file)
    return path


def results_that_were_kept():
    """Kept results are shown next to simulated ones; rows are marked."""
    with tempfile.TemporaryDirectory(prefix="weir-test-") as folder:
        found = live.load(kept(folder))
    expect(list(found), ["E1"])
    result = report.Result("a title", "a method", "a result", "ours")
    live.show(result, "E1", found["E1"], Twin())
    text = result.markdown("E1")
    for wanted in ("| fps | 1.000 (1.000–1.000); 1.000 | 1.000 (1.000–1.000); 1.000 | "
                   "31.0% (30.0%–32.0%); 30.0% | 0.520 (0.510–0.530); 0.500 |",
                   "2 runs). Mean", "evaluation/e1-live-fps.svg"):
        expect((wanted, wanted in text), (wanted, True))
    expect({(row["live"], row["seeds"]) for row in result.rows}, {(True, 2)})
    expect("0.8 ms late" in live.section(found), True)
    expect("--live" in live.section({}), True)


def results_of_something_else():
    """Invalid files are reported with their name."""
    def stranger(rows):
        rows[0]["allocator"] = "magic"

    with tempfile.TemporaryDirectory(prefix="weir-test-") as folder:
        refused(lambda: live.load(kept(folder, stranger)), "live.json", "magic")
        for text in ("", "[]", '{"E1": 1}', '{"E1": {"rows": [1]}}'):
            path = os.path.join(folder, "other.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            refused(lambda path=path: live.load(path), "other.json")
        refused(lambda: live.load(os.path.join(folder, "absent")), "absent")


TESTS = [flows_with_links_of_their_own, flows_that_share_a_link, round_trip_times, only_tcp,
         events, answers, policies, series_of_counters, fairness_by_the_second,
         results_that_were_kept, results_of_something_else]


def main():
    """Runs all tests."""
    run_tests(TESTS)


if __name__ == "__main__":
    main()

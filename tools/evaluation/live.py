# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The experiments that also run on live limiters with kernel TCP, compared with the simulated ones.

Results can be kept in a file: {"E1": {"commit": ..., "rows": [...], "curves": {...}}, ...}. Rows
are like the simulation's, plus "live": true, each run's figures in "by_run", and "late_us".
"""

import typing

import baseline
import dynamics
import enact
import mixes
import scenario
from report import loaded
from simulate import EvaluationError
from testbed.revision import commit

PHASE = 20  # seconds; E8 has three phases, which last 30 s each in the simulation
SITES = [f"cdn/l{k}" for k in range(1, 6)]

AGGREGATE = ("aggregate / limit", "aggregate_ratio", ".3f")
WORST = ("worst second", "aggregate_ratio_max_1s", ".3f")
JAIN = ("Jain", "jain", ".3f")
SETTLES = (("settles, median", "settle_s", dynamics.in_words),
           ("slowest", "settle_s_max", dynamics.in_words))


class Experiment(typing.NamedTuple):
    """cases: {allocator: scenario}; row(allocator, runs, runs of all cases) returns a row of the
    JSON; columns: (head, key of the row, format or function that formats it); how: differences to
    the simulation; drawn: {allocator: columns of the series}."""
    cases: dict
    row: typing.Callable
    columns: tuple
    how: str
    drawn: dict = {}


def baseline_row(allocator, runs, results):
    """Returns E1's row."""
    return baseline.row(allocator, runs, results["central"])


EXPERIMENTS = {
    "E1": Experiment(
        {name: scenario.shortened(scenario.baseline(name), 30)
         for name in ("central", "gtb", "grd", "fps", "fps-drop", "central-drop")},
        baseline_row, (AGGREGATE, WORST, ("share of the 3 flows", "share", ".1%"), JAIN),
        "30 s after the warm-up", {"gtb": SITES[:2], "fps": SITES[:2]}),
    "E2": Experiment(
        {"fps": scenario.joins("fps")},
        lambda name, runs, _: dynamics.join_row(name, "50ms", runs),
        (AGGREGATE, ("local limits settle, median", "limits_settle_s", dynamics.in_words),
         ("slowest", "limits_settle_s_max", dynamics.in_words),
         ("rates settle, median", "settle_s", dynamics.in_words), ("within 2 s", "in_2s", ".0%"),
         ("Jain, second by second", "jain", ".3f")),
        "all as above", {"fps": SITES}),
    "E4": Experiment(
        {"fps": scenario.shortened(scenario.bottlenecked("fps"), 50)},
        lambda name, runs, _: dynamics.bottleneck_row(name, runs),
        (("8:2, median", "first_settle_s", dynamics.in_words),
         ("slowest", "first_settle_s_max", dynamics.in_words),
         ("6:4, median", "settle_s", dynamics.in_words),
         ("slowest", "settle_s_max", dynamics.in_words)),
        "50 s", {"fps": SITES[:2]}),
    "E5": Experiment(
        {name: scenario.shortened(scenario.round_trips(name), 25) for name in ("central", "fps")},
        lambda name, runs, _: mixes.trip_row(name, runs),
        (AGGREGATE, ("short, Mbit/s a flow", "short_mbps", ".2f"),
         ("long, Mbit/s a flow", "long_mbps", ".2f")),
        "25 s after the warm-up"),
    "E8": Experiment(
        {"fps": scenario.shifting("fps", PHASE)},
        lambda name, runs, _: dynamics.shift_row(name, runs, PHASE),
        (("aggregate / limit at four sites", "four_sites_ratio", ".3f"), *SETTLES,
         ("longest above 1.05", "over_s", dynamics.in_words)),
        f"ten limiters, a shift every {PHASE} s instead of 30", {"fps": ("cdn", *SITES)}),
}


def measured_row(experiment, name, runs, results):
    """Returns the row of a case, with each run's figures."""
    singles = [experiment.row(name, [run], results) for run in runs]
    keys = [key for _, key, _ in experiment.columns if singles[0][key] is not None]
    return {**experiment.row(name, runs, results), "live": True,
            "by_run": {key: [single[key] for single in singles] for key in keys},
            "late_us": max(run.summary["late_us"] for run in runs)}


def measure(key, number):
    """Runs an experiment; returns its entry of the file."""
    experiment = EXPERIMENTS[key]
    results = enact.interleaved(experiment.cases, number)
    return {"commit": commit(),
            "rows": [measured_row(experiment, name, runs, results)
                     for name, runs in results.items()],
            "curves": {name: dynamics.curves(results[name][0], columns)
                       for name, columns in experiment.drawn.items()}}


def load(path):
    """Returns a file's content: {experiment: {"commit", "rows" of live limiters, "curves"}}."""
    try:
        with open(path, encoding="utf-8") as file:
            kept = {key: {"commit": found.get("commit", "unknown"),
                          "rows": [row for row in found["rows"] if row.get("live")],
                          "curves": found.get("curves", {})}
                    for key, found in loaded(file.read()).items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EvaluationError(f"{path}: not results of this tool: {error!r}") from None
    for key, row in ((key, row) for key, found in kept.items() for row in found["rows"]):
        if key not in EXPERIMENTS or row["allocator"] not in EXPERIMENTS[key].cases:
            raise EvaluationError(f"{path}: {key}: {row['allocator']}: not measured live by now")
    return {key: found for key, found in kept.items() if found["rows"]}


def words(row, column):
    """Returns a cell: the mean, and the least and the most of the runs."""
    _, key, form = column
    if row.get(key) is None:
        return ""
    if callable(form):
        return form(row[key])
    text = f"{row[key]:{form}}"
    values = row.get("by_run", {}).get(key, ())
    return f"{text} ({min(values):{form}}–{max(values):{form}})" if len(values) > 1 else text


def twins(key, sim):
    """Returns {allocator: row} of weirsim, for the scenarios that the live limiters ran."""
    experiment = EXPERIMENTS[key]
    results = {name: sim.runs(case, series=True) for name, case in experiment.cases.items()}
    return {name: experiment.row(name, runs, results) for name, runs in results.items()}


def show(result, key, found, sim):
    """Adds the results of live limiters to the section of an experiment."""
    experiment, lines = EXPERIMENTS[key], []
    virtual = twins(key, sim)
    for row in found["rows"]:
        pairs = [[words(one, column) for column in experiment.columns]
                 for one in (row, virtual[row["allocator"]])]
        lines.append([row["allocator"], *("; ".join(pair) if any(pair) else ""
                                          for pair in zip(*pairs))])
    heads = [head for head, _, _ in experiment.columns]
    text = (f"Live limiters with kernel TCP ({experiment.how}, {found['rows'][0]['seeds']} runs). "
            "Mean (least–most); the same in weirsim")
    if len(lines) == 1:  # a table of one row is a sentence
        found_words = ", ".join(f"{head} {cell}" for head, cell in zip(heads, lines[0][1:]))
        result.say(f"{text}. {lines[0][0]}: {found_words}.")
    else:
        result.say(text + ":")
        result.table(["live; simulated", *heads], lines)
    for name, curves in found["curves"].items():
        result.picture(f"{key.lower()}-live-{name}", f"Live limiters: {result.title}, {name}", "s",
                       "Mbit/s", curves)
    result.rows += found["rows"]


NOTHING = """\
## Live limiters

Not part of this run: `./tools/evaluate --live` repeats {keys} on live limiters.
"""

SOMETHING = """\
## Live limiters

Live results in {keys} are of the installed program, measured at commit {commits}, {runs} runs
each, in turn on one machine of two CPUs. `gtb` differs most from weirsim: it is fairer live. Each
limiter is a process in its own network namespace, with DPDK's af_packet driver. Flows are iperf3's
with the kernel's TCP Reno, and links are those of weir-emu ([testbed.md](../design/testbed.md)).
Times begin with the start of iperf3, and data follow some round trips later. In the worst run 99 %
of the packets left each flow's link less than {late:.1f} ms late.
"""


def section(measured):
    """Returns the document's section about all live results."""
    rows = [row for found in measured.values() for row in found["rows"]]
    if not rows:
        return NOTHING.format(keys=", ".join(EXPERIMENTS))
    commits = ", ".join(dict.fromkeys(f"`{found['commit']}`" for found in measured.values()))
    return SOMETHING.format(keys=", ".join(measured), commits=commits,
                            runs=min(row["seeds"] for row in rows),
                            late=max(row["late_us"] for row in rows) / 1e3)

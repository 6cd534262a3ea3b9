#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Scenarios on live limiters with kernel TCP and in weirsim, side by side: a table in Markdown.

    live_sim.py [--cases web4,web1,bbr,outage,tree,limit] [--allocators central,fps,loans]
                [--runs 2] [--seeds 10] [--parallel 1] [--directory DIR] [--show]

--runs is the number of live runs of each case and allocator, --seeds the number of simulated ones.
Live runs are interleaved. DIR keeps the figures of each live run; a run that is there is not made
again, and --show makes none. Needs root, and about 90 s for each live run.
"""

import argparse
import concurrent.futures
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import typing

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools", "evaluation")]

import enact  # noqa: E402 (needs the path above)
import simulate  # noqa: E402
import stats  # noqa: E402
from scenario import flows, scenario  # noqa: E402

LIMIT = 10e6
WEB = {"kind": "web", "congestion": "newreno", "rtt": "40ms", "requests": 5,
       "sizes": {"alpha": 1.2, "least": "3kB", "most": "10MB"}}
SOON = 0.5  # a site is back when its rate is this part of its share
WIDTH = 5  # samples of 100 ms over which a rate is averaged for that
NEAR = 0.05  # an aggregate has settled this near to its limit
AWAY_S = (10, 20)  # how long a limiter is down
FAR_S = 60.0  # stands for "not within the run"


def made(name, allocator, limiters, traffic, seconds, **more):
    """Returns a scenario. Allocator "fps" means FPS without token loans, "loans" FPS with them."""
    gossip = {"loans": "soft" if allocator == "loans" else "none"}
    policy = "fps" if allocator == "loans" else allocator
    return scenario(f"{name} {allocator}", policy, limiters, traffic, seconds,
                    gossip=gossip | more.pop("gossip", {}), **more)


def web(bulk):
    """Returns a maker of scenarios: three sites of light Web traffic, one of `bulk` bulk flows."""
    def make(allocator, _seed, seconds):
        traffic = [WEB | {"limiter": f"l{i}"} for i in (1, 2, 3)]
        return made(f"3 Web + {bulk} bulk", allocator, 4, [*traffic, flows(bulk, 4)], seconds)
    return make


def web_figures(run, _scenario):
    """Returns the use of the limit, and the rate of answers of 5 to 50 kB."""
    return {"aggregate / limit": run.summary["aggregate_ratio"],
            "answer of 5–50 kB, Mbit/s": run.summary["web"][1]["harmonic_mean_bps"] / 1e6}


def bbr(allocator, _seed, seconds):
    """Returns a scenario of five BBR flows at one site and five Reno flows at the other."""
    return made("BBR and Reno", allocator, 2,
                [flows(5, 1, congestion="bbr"), flows(5, 2)], seconds)


def bbr_figures(run, _scenario):
    """Returns the use of the limit, the BBR flows' share of the traffic, and Jain's index."""
    rates = {"traffic1": 0.0, "traffic2": 0.0}
    for flow in run.summary["flows"]:
        rates[flow["traffic"]] += flow["mean_bps"]
    return {"aggregate / limit": run.summary["aggregate_ratio"],
            "part of the BBR flows": rates["traffic1"] / (sum(rates.values()) or 1),
            "Jain": run.summary["jain"]}


HOW = {"fps": {}, "loans": {}, "shape": {"action": "shape"}, "hard": {"guarantee": "hard"}}


def outage(allocator, seed, _seconds):
    """Returns a scenario of three sites with 3, 4 and 3 flows. The second fails for 10 to 20 s."""
    away = round(random.Random(seed).uniform(*AWAY_S))
    events = [{"at": "15s", "crash": "l2"}, {"at": f"{15 + away}s", "restart": "l2"}]
    return made("outage", "loans" if allocator == "loans" else "fps", 3,
                [flows(3, 1), flows(4, 2), flows(3, 3)], 10 + away + 35, events=events,
                settings=HOW[allocator]) | {"name": f"outage {allocator}"}


def outage_figures(run, case):
    """Returns the seconds from the return until the site has SOON of its share, and the use of the
    limit in the outage and at the end."""
    begin, back = (enact.seconds_of(event["at"]) for event in case["events"])
    end = enact.seconds_of(case["duration"])
    answered = run.summary.get("answered", {}).get("l2", ())
    back = max([back, *answered])
    rates = stats.smooth(run.series["cdn/l2"], WIDTH)
    soon = next((time - back for time, rate in zip(run.series.times, rates)
                 if time > back and rate >= SOON * 0.4 * LIMIT), FAR_S)
    return {"half its part after, s": soon,
            "aggregate / limit in the outage": run.series.between("cdn", begin + 3, back) / LIMIT,
            "aggregate / limit at the end": run.series.between("cdn", end - 10, end) / LIMIT}


TREE_LIMIT = 20e6
TREE_TIMES = {"all": (10, 25), "one dead": (30, 45), "two halves": (65, 80), "at the end": (85, 95)}


def tree(allocator, _seed, _seconds):
    """Returns a scenario of 16 limiters with the tree estimator.

    One limiter fails and returns, then the group is partitioned into two halves. Token loans need
    the estimator "state", so only "fps" runs here.
    """
    sides = [[f"l{i}" for i in range(1, 9)], [f"l{i}" for i in range(9, 17)]]
    events = [{"at": "25s", "crash": "l6"}, {"at": "45s", "restart": "l6"},
              {"at": "60s", "partition": sides}, {"at": "80s", "heal": True}]
    return made("tree of 16", allocator, 16, [flows(2, i) for i in range(1, 17)], 85,
                warmup=10, events=events, gossip={"estimator": "tree"},
                settings={"limit": "20Mbit/s", "burst": "300kB"})


def tree_figures(run, _scenario):
    """Returns the use of the limit in each phase."""
    return {f"aggregate / limit, {name}": run.series.between("cdn", *times) / TREE_LIMIT
            for name, times in TREE_TIMES.items()}


CHANGES = ((20, 4e6), (40, 12e6))  # seconds, bit/s


def limit(allocator, _seed, _seconds):
    """Returns a scenario with 3 and 7 flows, whose limit changes: 10, 4, 12 Mbit/s."""
    events = [{"at": f"{at}s", "limit": f"{new:.0f}bit/s"} for at, new in CHANGES]
    return made("limit", allocator, 2, [flows(3, 1), flows(7, 2)], 55, events=events)


def limit_figures(run, _scenario):
    """Returns two figures for each new limit: seconds until the aggregate stays near it for 2 s,
    and the use of the limit 10 to 20 s after the change."""
    rates, found = stats.smooth(run.series["cdn"], 10), {}
    for at, new in CHANGES:
        seconds = stats.settle(run.series.times, rates, new, NEAR, at, at + 20, hold=2.0)
        found[f"settles at {new / 1e6:g} Mbit/s after, s"] = FAR_S if seconds is None else seconds
        found[f"aggregate / limit, {new / 1e6:g} Mbit/s"] = (
            run.series.between("cdn", at + 10, at + 20) / new)
    return found


class Case(typing.NamedTuple):
    """make(allocator, seed, seconds) returns a scenario, figures(run, scenario) {name: value}."""
    words: str
    allocators: tuple
    make: typing.Callable
    figures: typing.Callable


ALL = ("central", "fps", "loans")
CASES = {
    "web4": Case("3 Web + 4 bulk", ALL, web(4), web_figures),
    "web1": Case("3 Web + 1 bulk", ALL, web(1), web_figures),
    "bbr": Case("5 BBR + 5 Reno", ALL, bbr, bbr_figures),
    "outage": Case("outage", tuple(HOW), outage, outage_figures),
    "tree": Case("tree of 16", ("fps",), tree, tree_figures),
    "limit": Case("limit changes", ALL, limit, limit_figures),
}


def live_once(case, allocator, seed, seconds):
    """Makes one live run and returns its figures."""
    given = CASES[case].make(allocator, seed, seconds)
    run = enact.run_one(given, seed)
    return CASES[case].figures(run, given) | {"late, µs": run.summary["late_us"]}


def simulated(case, allocator, options):
    """Returns the figures of each seed, or None if weirsim cannot run such a scenario."""
    def once(seed):
        given = CASES[case].make(allocator, seed, options.seconds)
        return CASES[case].figures(simulate.run_one(given, seed, True), given)

    try:
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return list(pool.map(once, range(1, options.seeds + 1)))
    except simulate.EvaluationError as error:
        print(f"{case} {allocator}, simulated: {error}", file=sys.stderr, flush=True)
        return None


def path_of(options, case, allocator, seed):
    """Returns the path of the file with the figures of a live run."""
    return os.path.join(options.directory, f"{case}.{allocator}.{seed}.json")


def live_run(options, case, allocator, seed):
    """Makes one live run in its own process, unless its file exists."""
    path = path_of(options, case, allocator, seed)
    if os.path.exists(path):
        return
    command = [sys.executable, "-B", os.path.abspath(__file__), "--seconds", str(options.seconds),
               "--one", case, allocator, str(seed), path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    words = "done" if done.returncode == 0 else "FAILED"
    print(f"{case} {allocator} run {seed}: {words} {done.stderr.strip()[-300:]}", file=sys.stderr,
          flush=True)


def read_live(options, case, allocator):
    """Returns the figures of each live run that succeeded."""
    found = []
    for seed in range(1, options.runs + 1):
        path = path_of(options, case, allocator, seed)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as text:
                found.append(json.load(text))
    return found


def spread(values):
    """Formats values as "mean (minimum–maximum)"; one number if they are equal."""
    if min(values) == max(values):
        return f"{values[0]:.3f}"
    return f"{statistics.mean(values):.3f} ({min(values):.3f}–{max(values):.3f})"


def rows(options, case, allocator):
    """Yields the rows of a case, one for each figure."""
    real, virtual = read_live(options, case, allocator), simulated(case, allocator, options)
    for figure in [name for name in (real or virtual or [{}])[0] if name != "late, µs"]:
        a, b = ([one[figure] for one in runs] if runs else [] for runs in (real, virtual))
        apart = statistics.mean(a) - statistics.mean(b) if a and b else None
        unit = "" if apart is None else (
            f"{apart:+.1f} s" if figure.endswith(" s") else
            f"{100 * apart / (statistics.mean(b) or 1):+.1f} %")
        yield [CASES[case].words, f"`{allocator}`", figure, str(len(a)), spread(a) if a else "",
               spread(b) if b else "", unit]


def markdown(table):
    """Returns the table with its heads."""
    return "\n".join("| " + " | ".join(row) + " |" for row in [HEADS, ["---"] * len(HEADS), *table])


HEADS = ["case", "allocator", "figure", "live runs", "live", "simulated", "difference"]


def chosen(options):
    """Returns the chosen [(case, allocator)] in the order of the table."""
    return [(case, allocator) for case in options.cases.split(",")
            for allocator in CASES[case].allocators
            if not options.allocators or allocator in options.allocators.split(",")]


def options_of():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--cases", default=",".join(CASES), help="default: all")
    parser.add_argument("--allocators", help="default: all that a case has")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=60, help="of web4, web1 and bbr")
    parser.add_argument("--parallel", type=int, default=1, help="live runs at a time")
    parser.add_argument("--directory")
    parser.add_argument("--show", action="store_true", help="make no live run")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.cases.split(",")) - set(CASES)
    if unknown:
        parser.error(f"--cases: unknown {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    if options.show and not options.directory:
        parser.error("--show: needs --directory")
    return options


def main():
    """Makes the runs that are missing, and prints the table."""
    options = options_of()
    if options.one:
        case, allocator, seed, path = options.one
        found = live_once(case, allocator, int(seed), options.seconds)
        with open(path, "w", encoding="utf-8") as out:
            json.dump(found, out)
        return
    with tempfile.TemporaryDirectory(prefix="weir-live-sim-") as folder:
        options.directory = options.directory or folder
        os.makedirs(options.directory, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
            for seed in range(1, 1 if options.show else options.runs + 1):
                for case, allocator in chosen(options):
                    pool.submit(live_run, options, case, allocator, seed)
        os.nice(10)
        table = [row for case, allocator in chosen(options)
                 for row in rows(options, case, allocator)]
        late = [run["late, µs"] for case, allocator in chosen(options)
                for run in read_live(options, case, allocator)]
    print(markdown(table))
    if late:
        print(f"\nIn the worst live run, 99 % of the packets left each link less than {max(late)} "
              f"µs late (median of the runs: {statistics.median(late):g} µs).")


if __name__ == "__main__":
    main()

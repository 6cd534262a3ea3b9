#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Measures the part of a limit that TCP gets, by the depth of the bucket, for doc/operate/burst.md.

    burst.py [--only ROW,...] [--json FILE]
    burst.py --live [--runs 3] [--seconds 20] [--only ROW,...] [--json FILE]

The first form uses weirsim and prints the same table in every run. A cell has the lower result of
NewReno and CUBIC, with two seeds each. Some rows alone take seconds, all of them some minutes.

The second form uses kernel TCP through live limiters, at the default burst. It needs root and half
an hour.
"""

import argparse
import json
import os
import statistics
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

from evaluation import simulate  # noqa: E402 (needs the path above)
from testbed import units  # noqa: E402
from testbed.bed import Testbed  # noqa: E402

# Burst sizes as time at the limit, ms. None: the policy has no "burst", so the default applies.
BURSTS = (50, 100, 150, 200, 250, 300, 400, None)
CONTROLS = ("newreno", "cubic")
SEEDS = 2
SECONDS, WARMUP = 20, 5

METERS = {"tb": {"meter": "token-bucket"}, "gcra": {"meter": "gcra"},
          "phantom": {"meter": "phantom"}, "random": {"meter": "random-drop"},
          "window": {"meter": "fixed-window", "window": "1s"},
          "hybrid": {"meter": "hybrid", "window": "1s"}}
BURSTLESS = ("random", "window", "hybrid")

# A row's name has its parameters: METER-LIMIT-FLOWS[xLIMITERS]-ROUND_TRIP. Each flow uses one
# limiter: 1x2 is one flow through one of two limiters, 2x2 one flow through each.
ROWS = """tb-1M-1-1ms tb-1M-1-50ms tb-1M-1-200ms
tb-10M-1-0.1ms tb-10M-1-0.5ms tb-10M-1-1ms tb-10M-1-5ms tb-10M-1-50ms tb-10M-1-200ms
tb-10M-6-1ms tb-10M-100-1ms tb-10M-100-50ms
tb-100M-1-0.1ms tb-100M-1-0.5ms tb-100M-1-5ms tb-100M-1-50ms tb-100M-1-200ms tb-100M-10-50ms
tb-1G-1-1ms tb-1G-10-50ms
tb-10M-1x2-1ms tb-10M-2x2-1ms tb-10M-8x8-1ms tb-100M-8x8-0.1ms tb-100M-8x8-50ms
gcra-10M-1-1ms gcra-10M-1-50ms
phantom-1M-1-1ms phantom-1M-1-50ms phantom-10M-1-0.5ms phantom-10M-1-5ms phantom-10M-1-50ms
phantom-10M-6-1ms phantom-10M-100-50ms phantom-100M-1-0.1ms phantom-100M-1-5ms phantom-100M-1-50ms
phantom-10M-1x2-1ms phantom-10M-2x2-1ms phantom-10M-8x8-1ms
random-10M-1-1ms random-10M-1-50ms window-10M-1-1ms window-10M-1-50ms
hybrid-10M-1-1ms hybrid-10M-1-50ms""".split()

SUFFIX = {"M": "Mbit/s", "G": "Gbit/s"}


class Row:
    """The parameters of a row, from its name."""

    def __init__(self, name):
        meter, limit, flows, rtt = name.split("-")
        self.name, self.rtt = name, rtt
        self.meter = meter
        self.limit = limit[:-1] + SUFFIX[limit[-1]]
        self.limit_bps = units.parse(self.limit, units.RATE)
        self.flows, _, limiters = flows.partition("x")
        self.flows, self.limiters = int(self.flows), int(limiters or 1)
        self.spread = self.limiters > 1 and self.flows > 1

    def heads(self):
        """Returns the row's first cells."""
        flows = str(self.flows)
        if self.limiters > 1:
            where = "on each of" if self.spread else "on one of"
            flows = f"{1 if self.spread else self.flows} {where} {self.limiters}"
        return [METERS[self.meter]["meter"], self.limit, flows, self.rtt.replace("ms", " ms")]

    def policy(self, burst_ms):
        """Returns the row's policy for a configuration."""
        policy = {"name": self.name, "limit": self.limit, **METERS[self.meter]}
        if burst_ms is not None:
            policy["burst"] = f"{int(self.limit_bps * burst_ms / 8000)}B"
        if self.limiters > 1:
            policy["allocator"] = "fps"
        return policy

    def scenario(self, burst_ms, congestion):
        """Returns the scenario for weirsim. Flows start at different times, out of step."""
        rtt_us = int(1000 * float(self.rtt.removesuffix("ms")))
        flows = {"kind": "tcp", "congestion": congestion, "rtt": f"{rtt_us}us",
                 "jitter": f"{min(100, rtt_us // 10)}us", "start_spread": "1s",
                 "limiter": "each" if self.spread else "l1",
                 "count": 1 if self.spread else self.flows}
        return {"name": self.name, "duration": f"{WARMUP + SECONDS}s", "warmup": f"{WARMUP}s",
                "limiters": self.limiters, "policies": [self.policy(burst_ms)],
                "traffic": [flows]}


def simulated(row, burst_ms, simulator):
    """Returns the lowest share of the limit, or None if a burst is set but the meter has none."""
    if burst_ms is not None and row.meter in BURSTLESS:
        return None
    return min(run.summary["aggregate_ratio"] for congestion in CONTROLS
               for run in simulator.runs(row.scenario(burst_ms, congestion)))


def print_table(heads, rows):
    """Prints a table in the form of doc/."""
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def share(value):
    """Formats a share as a cell; None becomes an empty cell."""
    return "" if value is None else f"{value:.2f}"


def simulate_rows(rows):
    """Returns {name: [share for each burst]}, and prints each row of the table when it is ready."""
    simulator = simulate.Simulator(SEEDS)
    found = {}

    def lines():
        for row in rows:
            found[row.name] = [simulated(row, burst, simulator) for burst in BURSTS]
            yield row.heads() + [share(value) for value in found[row.name]]

    heads = [f"{burst} ms" if burst else "default" for burst in BURSTS]
    print_table(["meter", "limit", "flows", "round trip"] + heads, lines())
    return found


# Live: several policies at the same time, each with its own flows and its own pair of wires.

LIVE_METERS = ("tb", "phantom")
LIVE_ROWS = [f"{limit}-{layout}-{rtt}" for limit in ("10M", "100M")
             for layout in ("1", "1x2", "2x2") for rtt in ("0.5ms", "5ms", "50ms")]
LIVE_CONTROLS = ("reno", "cubic", "bbr")
LIVE_AT_ONCE_BPS = 300e6  # bit/s of all policies: more makes the machine late
LINK_BPS = 1e9


class Cell:
    """A policy of a live run: a row of one meter, and a congestion control."""

    def __init__(self, row, control, k):
        """k counts from 1. A spread row has the sinks 2k and 2k + 1, which one prefix matches;
        other rows have sink k."""
        self.row, self.control = row, control
        self.name = f"{row.name}-{control}".replace(".", "_")
        self.entries = [2 * k, 2 * k + 1] if row.spread else [k]

    def policy(self, burst_ms):
        """Returns the cell's policy for the configuration."""
        return {**self.row.policy(burst_ms), "name": self.name, "accounting": "l3",
                "match": {"direction": "a-to-b",
                          "dst": f"10.1.{self.entries[0]}.{'0/23' if self.row.spread else '2/32'}"}}


def homes(row, n_cells):
    """Returns the limiter of each entry. Some entries have no flow: they complete a prefix, or
    create a limiter."""
    if row.spread:
        return [1] + [1, 2] * n_cells
    return [1] * n_cells + list(range(2, row.limiters + 1))


def batches(cells_of, at_once):
    """Splits the list into lists of at most `at_once` items."""
    return [cells_of[i:i + at_once] for i in range(0, len(cells_of), at_once)]


def passed(bed, cells):
    """Returns the time, and the bytes that all limiters passed for each cell."""
    return time.monotonic(), [sum(bed.policy(box, cell.name)["passed"]["bytes"]
                                  for box in bed.boxes()) for cell in cells]


def live_run(pairs, options):
    """Runs the pairs at the same time, and returns the share of the limit of each.

    The pairs (row, congestion control) have the same limit, round trip and number of limiters.
    """
    cells = [Cell(row, control, k) for k, (row, control) in enumerate(pairs, start=1)]
    row = pairs[0][0]
    where = homes(row, len(cells))
    shared = {"allocator": "central"} if row.limiters == 1 else {"homes": where}

    def configure(_, config):
        config["policies"] = [cell.policy(options.burst) for cell in cells]
        config["eal"][config["eal"].index("-m") + 1] = "1024"  # buffers of so many ports

    with Testbed([0] * len(where), configure=configure, rtt=units.parse(row.rtt, units.TIME),
                 link_bps=LINK_BPS, **shared) as bed:
        bed.start()
        end = options.warmup + options.seconds + 2
        for cell in cells:
            for entry in cell.entries:
                bed.start_flows(entry, 1, end, "-C", cell.control)
        time.sleep(options.warmup)
        began, before = passed(bed, cells)
        time.sleep(options.seconds)
        ended, after = passed(bed, cells)
    return [8 * (last - first) / (ended - began) / row.limit_bps
            for first, last in zip(before, after)]


def live_rows(names, options):
    """Returns {name: {congestion control: [share in each run]}}."""
    found = {f"{meter}-{name}": {control: [] for control in LIVE_CONTROLS}
             for name in names for meter in LIVE_METERS}
    for number in range(options.runs):
        for name in names:
            rows = [Row(f"{meter}-{name}") for meter in LIVE_METERS]
            pairs = [(row, control) for row in rows for control in options.controls]
            at_once = max(1, int(LIVE_AT_ONCE_BPS / rows[0].limit_bps))
            for batch in batches(pairs, min(at_once, 6)):
                for (row, control), value in zip(batch, live_run(batch, options)):
                    found[row.name][control].append(value)
                    print(f"run {number + 1}: {row.name} {control}: {value:.3f}",
                          file=sys.stderr, flush=True)
    return found


def live_cell(values):
    """Formats values as "median (minimum–maximum)"."""
    if not values:
        return ""
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def print_live(found, burst_ms):
    """Prints the table. The last column is the lower result of weirsim's congestion controls."""
    simulator = simulate.Simulator(SEEDS)

    def lines():
        for name, by_control in found.items():
            row = Row(name)
            yield row.heads() + [live_cell(by_control[control]) for control in LIVE_CONTROLS] + [
                share(simulated(row, burst_ms, simulator))]

    print_table(["meter", "limit", "flows", "round trip", *LIVE_CONTROLS, "weirsim"], lines())


def choice_of(known):
    """An argparse type: a list of names, or of their beginnings ("phantom")."""
    def parse(text):
        found = []
        for word in text.split(","):
            meant = [name for name in known if name == word or name.startswith(word + "-")]
            if not meant:
                raise argparse.ArgumentTypeError(f"{word!r}: expected of {' '.join(known)}")
            found += meant
        return found
    return parse


def main():
    """Runs weirsim or the live runs, and prints the table."""
    live = "--live" in sys.argv
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--live", action="store_true", help="kernel TCP and real limiters")
    known = LIVE_ROWS if live else ROWS
    parser.add_argument("--only", type=choice_of(known), default=known, metavar="ROW,...")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--warmup", type=float, default=5)
    parser.add_argument("--burst", type=float, metavar="MS",
                        help="live: this burst instead of the default")
    parser.add_argument("--controls", type=choice_of(LIVE_CONTROLS), default=list(LIVE_CONTROLS))
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    if live:
        found = live_rows(options.only, options)
        print_live(found, options.burst)
    else:
        found = simulate_rows([Row(name) for name in options.only])
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(found, out, indent=1)


if __name__ == "__main__":
    main()

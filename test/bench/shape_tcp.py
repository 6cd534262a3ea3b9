#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""TCP with a limit that drops, and with one that shapes: throughput, fairness.

    shape_tcp.py [--runs 3] [--seconds 60] [--flows 10] [--congestion reno] [--cases drop,tail,...]

Kernel TCP over tools/testbed, one limiter, 10 Mbit/s, 40 ms: prints a table in Markdown. Runs are
interleaved, so that changes of the machine's speed affect all cases. Needs root; takes about 25
minutes by default.

A machine that stalls for longer than a queue lasts causes drops and delays. So each run is printed
with its stalls: the time that a hypervisor took away, and the longest lateness of weir, of the
emulated link and of this program.
"""

import argparse
import os
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "tools", "benchmark")]

from report import markdown_table  # noqa: E402 (needs the path above)
from testbed.bed import Testbed  # noqa: E402

LIMIT = 10e6
WARMUP_S = 5
PERIOD_S = 0.1

# The policy's settings, the bucket's depth (1.5 times the bandwidth-delay product, or two packets),
# and the settings as text.
CASES = {
    "drop": ({"action": "drop"}, 75e3, '`"action": "drop"`'),
    "tail": ({"action": "shape"}, 3e3, '`"action": "shape"`, `"drop": "tail"` (the default)'),
    "tail-50ms": ({"action": "shape", "shape": {"delay": "50ms"}}, 3e3, 'the same, 50 ms'),
    "tail-200ms": ({"action": "shape", "shape": {"delay": "200ms"}}, 3e3, 'the same, 200 ms'),
    "codel": ({"action": "shape", "shape": {"drop": "codel"}}, 3e3,
              '`"action": "shape"`, `"drop": "codel"`'),
}


def cpu_times():
    """Returns ticks of all CPUs since boot: (all, idle, stolen)."""
    with open("/proc/stat", encoding="ascii") as stat:
        ticks = [int(word) for word in stat.readline().split()[1:9]]
    return sum(ticks), ticks[3] + ticks[4], ticks[7]


class Watch:
    """Stalls of the machine in a run, as far as they are visible."""

    def __init__(self, period):
        self.period, self.before, self.last, self.gap = period, cpu_times(), None, 0.0

    def look(self, now, _):
        """An observer of run_flows(), called at regular intervals."""
        if self.last is not None:
            self.gap = max(self.gap, now - self.last - self.period)
        self.last = now

    def words(self, bed):
        """Returns a summary in a line."""
        total, idle, stolen = (after - before for after, before in zip(cpu_times(), self.before))
        worker = bed.telemetry(1).get("/weir/workers")[0]["waiting"]
        lanes = [lane for lane in bed.emulator_stats("flow", 1).values()
                 if isinstance(lane, dict) and "late_us" in lane]
        late = max(lane["late_us"]["max"] for lane in lanes) / 1000
        below = max(lane["late_us"]["p99_below"] for lane in lanes) / 1000
        overrun = sum(lane["overrun"] for lane in lanes)
        return (f"CPUs busy {1 - idle / total:.0%}, stolen {stolen / total:.2%}; late, ms: "
                f"weir 99 % {worker['lateness_p99_us'] / 1000:.1f} "
                f"max {worker['lateness_max_us'] / 1000:.1f}, "
                f"link 99 % {below:.1f} max {late:.1f} ({overrun} overruns), "
                f"this program max {self.gap * 1000:.1f}")


class Bed(Testbed):
    """A testbed whose flows use a given congestion control."""

    congestion = "reno"

    def start_flows(self, i, n, seconds, *extra):
        return super().start_flows(i, n, seconds, *(extra or ("-C", self.congestion)))


def once(case, options):
    """Does one run; returns (throughput / limit, Jain's index, delays in ms, stalls as text).

    The delays are the median and the 99th percentile of packets that waited.
    """
    settings, burst, _ = CASES[case]

    def configure(_, config):
        for policy in config["policies"]:
            policy.update(settings)

    with Bed([options.flows], allocator="central", limit_bps=LIMIT, burst_bytes=burst,
                 configure=configure) as bed:
        bed.start()
        bed.congestion = options.congestion
        watch = Watch(PERIOD_S)
        run = bed.run_flows(options.seconds, WARMUP_S, watch.look, PERIOD_S)
        shape = bed.policy(1)["shape"]
        noise = watch.words(bed)
    rate = run.recorder.rates(WARMUP_S, WARMUP_S + options.seconds)[0] / LIMIT
    delay = shape["delay_us"] if shape else {"p50": 0, "p99": 0}
    return (rate, run.jain(), delay["p50"] / 1000, delay["p99"] / 1000), noise


def main():
    """Does all runs, and prints median, least and most."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--flows", type=int, default=10)
    parser.add_argument("--congestion", default="reno", help="as iperf3 -C has it")
    parser.add_argument("--cases", default=",".join(CASES), help="a list of: %(default)s")
    options = parser.parse_args()
    cases = options.cases.split(",")
    if not set(cases) <= set(CASES):
        sys.exit(f"shape_tcp: unknown case; there are {', '.join(CASES)}")
    found = {case: [] for case in cases}
    for number in range(options.runs):
        for case in cases:
            figures, noise = once(case, options)
            found[case].append(figures)
            print(f"{case} run {number + 1}: " + " ".join(f"{figure:.4f}" for figure in figures) +
                  f"; {noise}", file=sys.stderr, flush=True)
    print(markdown_table(
        ["", "throughput of the limit", "Jain's index", "waited, ms: half of the packets", "99 %"],
        [[CASES[case][2], *(f"{statistics.median(c):{form}} ({min(c):{form}}–{max(c):{form}})"
                            if any(c) else ""  # no packet waits if the limit drops
                            for c, form in zip(zip(*found[case]), (".4f", ".4f", ".0f", ".0f")))]
         for case in cases]))


if __name__ == "__main__":
    main()

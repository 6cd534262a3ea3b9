#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""What TCP makes of a limit that drops, and of one that lets packets wait: throughput, fairness.

    shape_tcp.py [--runs 3] [--seconds 60] [--flows 10] [--congestion reno] [--cases drop,tail,...]

Kernel TCP over tools/testbed, one limiter, 10 Mbit/s, 40 ms: a table in Markdown. Runs are
interleaved, so that a machine that changes its speed changes it for all. Needs root; about 25
minutes as it is.

A machine that stands still for longer than a queue is drops and delays what no limit would have. So
beside each run stands what it had of that: the time that a hypervisor gave to others, and the
longest that weir, the emulated link and we ourselves were late.
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

# What the policy says, in words too, and the depth of its bucket: 1.5 times what is under way, or
# two packets.
CASES = {
    "drop": ({"action": "drop"}, 75e3, '`"action": "drop"`'),
    "tail": ({"action": "shape"}, 3e3, '`"action": "shape"`, `"drop": "tail"` (the default)'),
    "tail-50ms": ({"action": "shape", "shape": {"delay": "50ms"}}, 3e3, 'the same, 50 ms'),
    "tail-200ms": ({"action": "shape", "shape": {"delay": "200ms"}}, 3e3, 'the same, 200 ms'),
    "codel": ({"action": "shape", "shape": {"drop": "codel"}}, 3e3,
              '`"action": "shape"`, `"drop": "codel"`'),
}


def cpu_times():
    """Ticks of all CPUs since the machine began: (all, idle, stolen)."""
    with open("/proc/stat", encoding="ascii") as stat:
        ticks = [int(word) for word in stat.readline().split()[1:9]]
    return sum(ticks), ticks[3] + ticks[4], ticks[7]


class Watch:
    """What the machine did to a run, as far as anybody in it could see."""

    def __init__(self, period):
        self.period, self.before, self.last, self.gap = period, cpu_times(), None, 0.0

    def look(self, now, _):
        """An observer of run_flows(), which wants to be called in even steps."""
        if self.last is not None:
            self.gap = max(self.gap, now - self.last - self.period)
        self.last = now

    def words(self, bed):
        """In a line."""
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
    """One whose flows say how they avoid congestion."""

    congestion = "reno"

    def start_flows(self, i, n, seconds, *extra):
        return super().start_flows(i, n, seconds, *(extra or ("-C", self.congestion)))


def once(case, options):
    """One run: (throughput of the limit, Jain's index, ms that half and 99 % of packets waited).

    And what the machine did meanwhile, in words.
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
    """Runs what is asked for, and prints medians, least and most."""
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
                            if any(c) else ""  # nothing waits where all else is dropped
                            for c, form in zip(zip(*found[case]), (".4f", ".4f", ".0f", ".0f")))]
         for case in cases]))


if __name__ == "__main__":
    main()

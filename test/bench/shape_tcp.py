#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""What TCP makes of a limit that drops, and of one that lets packets wait: throughput, fairness.

    shape_tcp.py [--runs 3] [--seconds 60] [--flows 10] [--congestion reno] [--cases drop,tail,...]

Kernel TCP over tools/testbed, one limiter, 10 Mbit/s, 40 ms. Runs are interleaved, so that a
machine that changes its speed changes it for all. Needs root; about 25 minutes as it is.
"""

import argparse
import os
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

from testbed.bed import Testbed  # noqa: E402

LIMIT = 10e6
WARMUP_S = 5

# What the policy says, and the depth of its bucket: 1.5 times what is under way, or two packets.
CASES = {
    "drop": ({"action": "drop"}, 75e3),
    "tail": ({"action": "shape"}, 3e3),
    "tail-50ms": ({"action": "shape", "shape": {"delay": "50ms"}}, 3e3),
    "tail-200ms": ({"action": "shape", "shape": {"delay": "200ms"}}, 3e3),
    "codel": ({"action": "shape", "shape": {"drop": "codel"}}, 3e3),
}


class Bed(Testbed):
    """One whose flows say how they avoid congestion."""

    congestion = "reno"

    def start_flows(self, i, n, seconds, *extra):
        return super().start_flows(i, n, seconds, *(extra or ("-C", self.congestion)))


def once(case, options):
    """One run: (throughput of the limit, Jain's index, ms that half and 99 % of packets waited)."""
    settings, burst = CASES[case]

    def configure(_, config):
        for policy in config["policies"]:
            policy.update(settings)

    with Bed([options.flows], allocator="central", limit_bps=LIMIT, burst_bytes=burst,
                 configure=configure) as bed:
        bed.start()
        bed.congestion = options.congestion
        run = bed.run_flows(options.seconds, WARMUP_S)
        shape = bed.policy(1)["shape"]
    rate = run.recorder.rates(WARMUP_S, WARMUP_S + options.seconds)[0] / LIMIT
    delay = shape["delay_us"] if shape else {"p50": 0, "p99": 0}
    return rate, run.jain(), delay["p50"] / 1000, delay["p99"] / 1000


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
            found[case].append(once(case, options))
            print(f"{case} run {number + 1}: {found[case][-1]}", file=sys.stderr, flush=True)
    print("case | throughput / limit | Jain | waited: p50, ms | p99, ms")
    for case in cases:
        columns = zip(*found[case])
        print(" | ".join([case, *(f"{statistics.median(c):.4f} ({min(c):.4f}–{max(c):.4f})"
                                  for c in columns)]))


if __name__ == "__main__":
    main()

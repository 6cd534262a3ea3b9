#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""How fairly flows of different congestion controls share a limit, by the meter that polices it.

    phantom.py [--runs 1] [--seconds 60] [--flows reno=4,cubic=3,bbr=3] [--meters A,B] [--json FILE]

Kernel TCP through a limiter on emulated links, one meter after the other, run by run: prints a
table in Markdown. Needs root; takes about four minutes by default.
"""

import argparse
import json
import os
import statistics
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "tools", "benchmark")]

from report import markdown_table  # noqa: E402 (needs the path above)
from testbed.bed import Testbed  # noqa: E402
from testbed.measure import jain  # noqa: E402

METERS = ("token-bucket", "random-drop", "phantom")
KNOWN = "/proc/sys/net/ipv4/tcp_available_congestion_control"


def flow_counts(text):
    """An argparse type: reno=4,cubic=3."""
    with open(KNOWN, encoding="ascii") as names:
        known = names.read().split()
    counts = {}
    for word in text.split(","):
        name, _, n = word.partition("=")
        if not n.isdecimal() or int(n) == 0:
            raise argparse.ArgumentTypeError(f"{word!r}: expected such as reno=4")
        if name not in known:
            raise argparse.ArgumentTypeError(f"this kernel has {' '.join(known)}, no {name}")
        counts[name] = int(n)
    return counts


def run(meter, options):
    """Does one run; returns {"jain", passed "share" of the limit, "flows": {control: [bit/s]}}."""
    def configure(_, config):
        policy = config["policies"][0]
        policy["meter"] = meter
        if meter == "random-drop":
            del policy["burst"]

    with Testbed([sum(options.flows.values())], allocator="central", limit_bps=options.rate,
                 burst_bytes=options.burst, rtt=options.rtt, configure=configure) as bed:
        bed.start()
        end = options.warmup + options.seconds
        groups = {name: bed.start_flows(1, n, end, "-C", name)
                  for name, n in options.flows.items()}
        time.sleep(options.warmup)
        began, before = time.monotonic(), bed.policy(1)["passed"]["bytes"]
        time.sleep(options.seconds - 1)
        passed = bed.policy(1)["passed"]["bytes"] - before
        rate = passed * 8 / (time.monotonic() - began)
        flows = {name: group.finish(options.warmup, end).means() for name, group in groups.items()}
    return {"meter": meter, "share": rate / options.rate, "flows": flows,
            "jain": jain([bps for rates in flows.values() for bps in rates])}


def row(meter, runs):
    """Returns one row of the table: medians over the runs."""
    rates = {name: statistics.median(statistics.mean(r["flows"][name]) for r in runs)
             for name in runs[0]["flows"]}
    every = [bps for r in runs for some in r["flows"].values() for bps in some]
    return [
        f"`{meter}`", f"{statistics.median(r['jain'] for r in runs):.3f} "
        f"({min(r['jain'] for r in runs):.3f}–{max(r['jain'] for r in runs):.3f})",
        f"{statistics.median(r['share'] for r in runs):.3f}",
        ", ".join(f"{name} {bps / 1e6:.2f}" for name, bps in rates.items()),
        f"{min(every) / 1e6:.2f}–{max(every) / 1e6:.2f}"]


def main():
    """Does all runs, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--warmup", type=float, default=5)
    parser.add_argument("--rtt", type=float, default=0.04, help="seconds; default %(default)s")
    parser.add_argument("--rate", type=float, default=10e6, help="bit/s; default %(default)g")
    parser.add_argument("--burst", type=float, default=75e3, help="bytes; default %(default)g")
    parser.add_argument("--flows", type=flow_counts, default="reno=4,cubic=3,bbr=3")
    parser.add_argument("--meters", default=",".join(METERS))
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    results = []
    for number in range(options.runs):
        for meter in options.meters.split(","):
            results.append(run(meter, options))
            print(f"run {number + 1}: {meter}: Jain {results[-1]['jain']:.3f}",
                  file=sys.stderr, flush=True)
    print(markdown_table(
        ["meter", "Jain's index (least–most)", "passed / limit", "Mbit/s of a flow of",
         "least–most of one"],
        [row(meter, [r for r in results if r["meter"] == meter])
         for meter in options.meters.split(",")]))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(results, out, indent=1)


if __name__ == "__main__":
    main()

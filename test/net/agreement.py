#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Compares the simulator with reality: the baseline experiment on live limiters with kernel TCP,
and in weirsim. Both results are printed and must agree."""

import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools"))

import box  # noqa: E402
from box import expect  # noqa: E402
from testbed.bed import Testbed  # noqa: E402

SECONDS, WARMUP = 20, 5
SEEDS = 5
LIVE_RUNS = 3
ATTEMPTS, LATE_US = 3, 4096  # tries, and the lateness up to which the demo's results are valid
AGGREGATE, SHARE, JAIN = 0.03, 0.04, 0.05  # largest differences between the two


def late_us(bed):
    """Returns the emulators' lateness at the 99th percentile, for the worst link."""
    links = [bed.emulator_stats(*key) for key in bed.topology.sorted_links()]
    return max(link[way]["late_us"]["p99_below"] for link in links for way in ("a-to-b", "b-to-a"))


def live_once(allocator):
    """Returns ((aggregate / limit, first share, Jain), µs late) of live limiters."""
    with Testbed(flows=[3, 7], allocator=allocator) as bed:
        bed.start()
        summary = bed.run_flows(SECONDS, warmup=WARMUP).summary()
        return figures(summary, 10e6), late_us(bed)


def live(allocator):
    """Runs live limiters; repeats runs with late links, which are invalid, and skips after the
    last."""
    for _ in range(ATTEMPTS):
        found, late = live_once(allocator)
        if late <= LATE_US:
            return found
        print(f"  machine too busy: a packet in 100 was over {late / 2} µs late", flush=True)
    raise box.Skip("this machine is too busy to emulate a network")


def figures(summary, limit):
    """Returns the three values that are compared."""
    return (summary["aggregate"]["mean_bps"] / limit, summary["limiters"][0]["share"],
            summary["jain"])


def simulated(allocator):
    """Returns weirsim's result: means over a few seeds."""
    with open(os.path.join(ROOT, "config", "scenarios", "baseline.json"), encoding="utf-8") as file:
        scenario = json.load(file)
    scenario.update(duration=f"{SECONDS + WARMUP}s", warmup=f"{WARMUP}s")
    scenario["policies"][0]["allocator"] = allocator
    scenario.pop("expect")  # valid only for the scenario's own allocator
    build = os.environ.get("WEIR_BUILD") or os.path.join(ROOT, "build")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario, file)
        file.flush()
        done = subprocess.run([os.path.join(build, "app", "weirsim", "weirsim"), "run", file.name,
                               "--seeds", str(SEEDS), "--quiet", "--json", "-"],
                              check=True, capture_output=True, text=True)
    runs = [figures(summary, 10e6) for summary in json.loads(done.stdout)]
    return [sum(values) / len(values) for values in zip(*runs)]


def near(real, virtual):
    """Returns true if the two are within all bounds of each other."""
    return all(abs(a - b) <= bound for a, b, bound in
               zip(real, virtual, (AGGREGATE, SHARE, JAIN)))


def agree(allocator):
    """Compares live and simulated runs. A live run out of bounds is replaced by the median of
    three."""
    runs, virtual = [live(allocator)], simulated(allocator)
    while not near(runs[0], virtual) and len(runs) < LIVE_RUNS:
        runs.append(live(allocator))
    real = [statistics.median(values) for values in zip(*runs)]
    words = "; ".join(f"{name} {a:.3f} live, {b:.3f} simulated" for name, a, b in
                      zip(("aggregate / limit", "share of 3 flows", "Jain"), real, virtual))
    words += f"; {len(runs)} live"
    expect(near(real, virtual), words)
    return words


def fps_agrees(_):
    """Two limiters that share the limit by flow proportional share."""
    return agree("fps")


if __name__ == "__main__":
    box.main([fps_agrees])

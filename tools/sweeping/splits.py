# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Three flows at one limiter and seven at another: their shares, by limit and round trip."""

import concurrent.futures
import os
import statistics

from compare import parts, site_rates
from draw import PACKET_BITS, WINDOW_PACKETS, micros, run_seconds, units
from simulate import run_one

FLOWS = (3, 7)
FAIR = FLOWS[0] / sum(FLOWS)
WARMUP_S = 20
RTTS = (0.2e-3, 1e-3, 5e-3, 40e-3, 200e-3)
LIMITS = (200e3, 500e3, 10e6, 1e9)
BURST_S = 0.06  # seconds of the limit, if the burst is set
BURST_LEAST = 15000  # bytes


def scenario(allocator, limit, rtt, burst_s, seed):
    """Returns weirsim's scenario. Shortens round trips whose windows no flow would reach in the
    run."""
    name, _, loans = allocator.partition("+")
    alone = name == "central"
    rtt = min(rtt, WINDOW_PACKETS * PACKET_BITS * sum(FLOWS) / limit)
    policy = {"name": "p", "limit": f"{limit:.0f}bit/s", "allocator": name}
    if burst_s:
        policy["burst"] = f"{max(BURST_LEAST, round(limit / 8 * burst_s))}B"
    return {"name": "split", "seed": seed, "duration": f"{WARMUP_S + run_seconds(limit)}s",
            "warmup": f"{WARMUP_S}s", "limiters": 1 if alone else len(FLOWS),
            "policies": [policy], "network": {"delay": "10ms"},
            "gossip": {"loans": loans or "none"},
            "traffic": [{"name": f"s{site}e1", "limiter": "l1" if alone else f"l{site}",
                         "kind": "tcp", "rtt": micros(rtt), "count": count, "start_spread": "1s"}
                        for site, count in enumerate(FLOWS, 1)]}


def measure(cell, allocator, seeds):
    """Returns the share of the first site and the utilisation, means over the seeds."""
    runs = [run_one(scenario(allocator, *cell, seed), seed, False).summary
            for seed in range(1, seeds + 1)]
    return (statistics.mean(parts(site_rates(run, len(FLOWS)))[0] for run in runs),
            statistics.mean(run["aggregate_ratio"] for run in runs))


def measure_all(cells, allocators, seeds):
    """Returns {(cell, allocator): (share, utilisation)}; runs one at a time for each CPU."""
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = {(cell, allocator): pool.submit(measure, cell, allocator, seeds)
                   for cell in cells for allocator in allocators}
        return {key: future.result() for key, future in futures.items()}


def off_points(cell, found, allocator):
    """Returns a share's distance from the span between one bucket's and the flows', in points."""
    one = found[cell, "central"][0]
    share = found[cell, allocator][0]
    return 100 * max(min(one, FAIR) - share, share - max(one, FAIR), 0)


def table(allocator, seeds):
    """Returns Markdown: share in percent and utilisation, of the group / of one bucket."""
    cells = [(limit, rtt, burst) for rtt in RTTS for burst in (0, BURST_S) for limit in LIMITS]
    found = measure_all(cells, (allocator, "central"), seeds)
    lines = ["| round trip | burst | " + " | ".join(units(limit) for limit in LIMITS) + " |",
             "| --- | --- " * 1 + "| --- " * len(LIMITS) + "|"]
    for rtt in RTTS:
        for burst in (0, BURST_S):
            row = []
            for limit in LIMITS:
                group, one = (found[(limit, rtt, burst), name] for name in (allocator, "central"))
                row.append(f"{group[0] * 100:.1f} / {one[0] * 100:.1f} %, "
                           f"{group[1]:.3f} / {one[1]:.3f}")
            lines.append(f"| {rtt * 1e3:g} ms | {'60 ms' if burst else 'default'} | "
                         + " | ".join(row) + " |")
    off = [off_points(cell, found, allocator) for cell in cells]
    lines.append(f"\n{sum(each <= 3 for each in off)} of {len(off)} shares are within 3 points of "
                 f"the span between one bucket's and 30 %; the worst is {max(off):.1f} points off.")
    return "\n".join(lines)

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""E1: the baseline experiment (section 5.1; figures 3, 4 and 5)."""

import scenario
import stats
from report import Result, histogram

ALLOCATORS = ("central", "gtb", "grd", "fps", "fps-drop", "central-drop", "static")
LIMIT = 10e6

WORDS = ("the baseline, three and seven flows share 10 Mbit/s",
         "Two limiters, 10 Mbit/s, a bucket of 75 kB, 60 s.",
         "All designs deliver the limit over seconds. GTB is unfair (Jain about 0.7). GRD and "
         "central random drop are fairer than the central bucket. FPS is at least as fair.",
         "the same for each design, but FPS's seconds vary slightly more than one bucket's.")


def second_rates(runs):
    """Returns the rates of all seconds of all runs."""
    return [rate / LIMIT for run in runs
            for rate in run.series.seconds("cdn", scenario.WARMUP, run.series.times[-1])]


def row(allocator, runs, central):
    """Returns one row of the JSON."""
    return {"allocator": allocator, "limiters": 1 if scenario.is_central(allocator) else 2,
            "flows": 10, "loss": 0, "seeds": len(runs),
            "aggregate_ratio": stats.mean(r.summary["aggregate_ratio"] for r in runs),
            "aggregate_ratio_max_1s": max(r.summary["aggregate_ratio_max_1s"] for r in runs),
            "share": first_share(runs),
            "jain": stats.mean(r.summary["jain"] for r in runs),
            "jain_central": stats.mean(r.summary["jain"] for r in central),
            "control_bps": stats.mean(r.summary["control_bps"] for r in runs),
            "ks_p": stats.ks_p(second_rates(runs), second_rates(central)),
            "ks_p_jain": stats.ks_p([r.summary["jain"] for r in runs],
                                    [r.summary["jain"] for r in central])}


def first_share(runs):
    """Returns the first limiter's share; None for one limiter."""
    if len(runs[0].summary["limiters"]) < 2:
        return None
    return stats.mean(r.summary["limiters"][0]["share"] for r in runs)


def split(runs):
    """Returns the first limiter's share as text."""
    share = first_share(runs)
    return "" if share is None else f"{share * 100:.1f} %"


def table(result, results, central):
    """Adds a table of the paper's figures."""
    lines = []
    for allocator, runs in results.items():
        made = row(allocator, runs, central)
        result.rows.append(made)
        lines.append([allocator, stats.spread(r.summary["aggregate_ratio"] for r in runs),
                      f"{made['aggregate_ratio_max_1s']:.3f}", split(runs),
                      stats.spread(r.summary["jain"] for r in runs),
                      f"{stats.deviation(second_rates(runs)):.4f}",
                      f"{made['ks_p']:.3f}", f"{made['ks_p_jain']:.3f}"])
    result.table(["", "aggregate / limit", "worst second", "share of the 3 flows", "Jain",
                  "deviation of seconds", "KS p, seconds", "KS p, Jain"], lines)


def histograms(result, results):
    """Adds figure 4: forwarding rates at two time scales."""
    shown = ("central", "gtb", "grd", "fps")
    for width, name in ((1, "0.1 s"), (10, "1 s")):
        lines = []
        for allocator in shown:
            values = [rate / 1e6 for run in results[allocator]
                      for rate in stats.smooth(run.series["cdn"], width)[50 + width - 1::width]]
            lines.append((allocator, histogram(values, 6, 14, 64)))
        result.picture(f"e1-histogram-{width}", f"Forwarding rate over {name}", "Mbit/s",
                       "share of the intervals", lines)


def fairness(result, results, central):
    """Adds figure 5: quantiles of fairness against those of the central bucket."""
    reference = sorted(1e3 * (1 - r.summary["jain"]) for r in central)
    lines = [("equal", [(0, 0), (reference[-1], reference[-1])])]
    for allocator in ("gtb", "grd", "fps", "fps-drop", "central-drop"):
        values = sorted(1e3 * (1 - r.summary["jain"]) for r in results[allocator])
        if allocator != "gtb":  # outside of the picture
            lines.append((allocator, list(zip(reference, values))))
    result.picture("e1-fairness", "Unfairness, quantile by quantile",
                   "(1 - Jain) × 1000 of the central bucket", "(1 - Jain) × 1000", lines,
                   "below the line: fairer than one bucket; gtb is far above")


def sweeps(result, sim, quick):
    """Adds a table of the sensitivity to the interval and to the filter."""
    settings = [(name, value) for name, values in
                (("interval", ("10ms", "20ms", "50ms", "100ms", "200ms", "500ms")),
                 ("ewma", (0, 0.1, 0.25, 0.5, 0.75)))
                for value in (values[::2] if quick else values)]
    lines = []
    for allocator in ("gtb", "grd", "fps"):
        cells = [allocator]
        for name, value in settings:
            runs = sim.runs(scenario.baseline(allocator, **{name: value}), min(sim.seeds, 5))
            cells.append(f"{stats.mean(r.summary['aggregate_ratio'] for r in runs):.3f}, "
                         f"{stats.mean(r.summary['jain'] for r in runs):.3f}")
        lines.append(cells)
    result.table(["aggregate / limit, Jain", *(f"{name} {value}" for name, value in settings)],
                 lines)


TRIES = (("as it is", {}), ("bucket 1.2 times as deep", {"burst": "90kB"}),
         ("bucket 1.5 times as deep", {"burst": "112.5kB"}), ("EWMA 0.5", {"ewma": 0.5}),
         ("interval 20 ms", {"interval": "20ms"}))


def tries(result, sim, central):
    """Names settings tried so that FPS's seconds resemble those of one bucket."""
    reference, found = second_rates(central), []
    for name, settings in TRIES:
        rates = second_rates(sim.runs(scenario.baseline("fps", **settings), series=True))
        found.append(f"{name} {stats.ks_distance(rates, reference):.3f} "
                     f"(p = {stats.ks_p(rates, reference):.4f})")
    result.say("The rate of two buckets varies more. A flow at one limiter cannot use the rest of "
               "a flow at the other, and a full bucket loses tokens that the other could use. "
               "Settings do not help. KS distance of FPS's seconds to the central bucket's "
               f"({len(reference)} each): {', '.join(found)}.")


def udp_weights(result, sim):
    """Adds a table: three congestion-controlled UDP flows against seven of TCP."""
    lines = []
    for weigh in ("all", "tcp"):
        made = scenario.baseline("fps", weigh=weigh)
        made["traffic"][0]["kind"] = "quic"
        made["traffic"][0].pop("congestion")
        made["name"] = f"QUIC and TCP, weigh {weigh}"
        runs = sim.runs(made)
        lines.append([f'"weigh": "{weigh}"', split(runs),
                      stats.spread(r.summary["jain"] for r in runs),
                      stats.spread(r.summary["aggregate_ratio"] for r in runs)])
    result.say("With three QUIC-like flows (congestion-controlled UDP) at the first limiter and "
               "seven TCP flows at the second, the weights have to count both kinds:")
    result.table(["fps", "share of the 3 flows", "Jain", "aggregate / limit"], lines)


def run(sim, quick):
    """Runs E1."""
    result = Result(*WORDS)
    results = {allocator: sim.runs(scenario.baseline(allocator), series=True)
               for allocator in ALLOCATORS}
    central = results["central"]
    table(result, results, central)
    histograms(result, results)
    fairness(result, results, central)
    sweeps(result, sim, quick)
    if not quick:
        tries(result, sim, central)
    udp_weights(result, sim)
    fps = next(made for made in result.rows if made["allocator"] == "fps")
    result.target("a KS test does not distinguish FPS's seconds from the central bucket's "
                  "(p > 0.05)", fps["ks_p"] > 0.05, f"p = {fps['ks_p']:.3f}")
    result.target("a KS test does not distinguish FPS's Jain's index from the central bucket's "
                  "(p > 0.05)", fps["ks_p_jain"] > 0.05,
                  f"p = {fps['ks_p_jain']:.3f}; mean {fps['jain']:.4f}, central "
                  f"{fps['jain_central']:.4f}")
    return result

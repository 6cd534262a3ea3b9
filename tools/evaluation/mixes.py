# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""E3, E5, E6: other mixes of traffic (tables 1 and 2, section 5.6)."""

import scenario
import stats
from report import Result

WEB_PAPER = {  # kbit/s: mean, deviation; fairness
    "central": (6900.90, 125.45, 1796.06, 104.32, (28.17, 276.18, 472.09, 695.40), 0.971),
    "grd": (7257.87, 75.87, 1974.35, 93.90, (25.84, 342.96, 612.08, 751.98), 0.997),
    "fps": (6989.76, 219.55, 2090.25, 57.98, (25.71, 335.80, 571.40, 765.26), 0.962),
}
WEB_WORDS = (
    "bulk flows and the Web",
    "Ten bulk flows at one limiter, 15 requests a second at the other. Sizes are of a bounded "
    "Pareto distribution (3 kB to 10 MB, exponent 1.2), because we do not have the paper's CAIDA "
    "trace.",
    "All three allocators give both kinds of traffic the same as the central bucket (table 1).",
    "the same; FPS leaves a little of the limit unused.")
SMALL = (
    "Objects below 5 kB arrive about ten times as fast as in the paper with any limiter, also with "
    "one bucket. The paper's 28 kbit/s are more than a second for 4 kB, which round trips of 40 ms "
    "do not explain.")
CLASSES = ("< 5 kB", "5–50 kB", "50–500 kB", "≥ 500 kB")


def goodput(run, kind):
    """Returns kbit/s that all flows of an entry delivered."""
    return sum(flow["mean_bps"] for flow in run.summary["flows"]
               if flow["traffic"] == kind) / 1e3


def bulk_jain(run):
    """Returns Jain's index of the bulk flows."""
    return stats.jain([flow["mean_bps"] for flow in run.summary["flows"]
                       if flow["traffic"] == "traffic1"])


def web_row(allocator, runs, result):
    """Returns our row and the paper's."""
    bulk = [goodput(run, "traffic1") for run in runs]
    web = [goodput(run, "traffic2") for run in runs]
    classes = [stats.mean(run.summary["web"][k]["harmonic_mean_bps"] / 1e3 for run in runs)
               for k in range(4)]
    fairness = stats.mean(bulk_jain(run) for run in runs)
    result.rows.append({
        "allocator": allocator, "limiters": 1 if scenario.is_central(allocator) else 2,
        "flows": 10, "seeds": len(runs),
        "aggregate_ratio": stats.mean(r.summary["aggregate_ratio"] for r in runs),
        "jain": fairness, "bulk_kbps": stats.mean(bulk), "bulk_kbps_stddev": stats.deviation(bulk),
        "web_kbps": stats.mean(web), "web_kbps_stddev": stats.deviation(web),
        "web_classes_kbps": classes})
    paper = WEB_PAPER.get(allocator)
    yield [allocator, f"{result.rows[-1]['aggregate_ratio']:.3f}",
           f"{stats.mean(bulk):.0f} ± {stats.deviation(bulk):.0f}",
           f"{stats.mean(web):.0f} ± {stats.deviation(web):.0f}",
           *(f"{value:.0f}" for value in classes), f"{fairness:.3f}"]
    if paper:
        yield [f"*{allocator}, paper*", "", f"{paper[0]:.0f} ± {paper[1]:.0f}",
               f"{paper[2]:.0f} ± {paper[3]:.0f}", *(f"{value:.0f}" for value in paper[4]),
               f"{paper[5]:.3f}"]


def bulk_target(result, allocator, rows):
    """Adds a target: bulk goodput relative to the central bucket's, against the paper's."""
    ours = rows[allocator]["bulk_kbps"] / rows["central"]["bulk_kbps"]
    theirs = WEB_PAPER[allocator][0] / WEB_PAPER["central"][0]
    spread = 2 * WEB_PAPER[allocator][1] / WEB_PAPER["central"][0]
    near, nearer = abs(ours - theirs) <= spread, abs(ours - 1) <= abs(theirs - 1)
    held = [words for words, holds in (("the first", near), ("the second", nearer)) if holds]
    result.target(f"{allocator}'s bulk goodput divided by central's: within two deviations of "
                  "the paper's, or nearer to 1", near or nearer,
                  f"{ours:.3f}; paper {theirs:.3f} ± {spread:.3f}"
                  + (f"; {' and '.join(held)} holds" if held else ""))


def web(sim, _quick):
    """Runs E3."""
    result = Result(*WEB_WORDS)
    lines = []
    for allocator in ("central", "grd", "fps", "fps-drop"):
        lines += web_row(allocator, sim.runs(scenario.web(allocator)), result)
    result.table(["kbit/s", "aggregate / limit", "bulk", "Web", *CLASSES, "Jain, bulk"], lines)
    result.say(SMALL)
    rows = {row["allocator"]: row for row in result.rows}
    for allocator in ("grd", "fps"):
        bulk_target(result, allocator, rows)
    result.target("FPS leaves at most 5.5 % of the limit unused",
                  rows["fps"]["aggregate_ratio"] >= 0.945,
                  f"{rows['fps']['aggregate_ratio']:.3f} of it is used")
    result.target("fairness of the bulk flows at least the paper's",
                  rows["fps"]["jain"] >= WEB_PAPER["fps"][5],
                  f"fps {rows['fps']['jain']:.3f}; paper {WEB_PAPER['fps'][5]}")
    return result


def deeper_buckets(result, sim):
    """Names the effect of deeper buckets on long round-trip times."""
    found = []
    for burst in ("75kB", "100kB", "150kB"):
        runs = sim.runs(scenario.round_trips("fps", burst=burst))
        ratio = stats.mean(run.summary["aggregate_ratio"] for run in runs)
        flow = stats.mean(per_flow(run, "traffic1") for run in runs)
        found.append(f"{burst} {ratio:.3f} ({flow:.2f})")
    result.say("The bucket is divided like the limit: three flows of 100 ms have 37 kB on their "
               "way, which three tenths of 75 kB cannot hold. The one bucket of `central` is deep "
               "enough while the others do not drain it. A deeper bucket helps. Aggregate / limit "
               f"(long, Mbit/s a flow) of fps: {', '.join(found)}.")


TRIP_WORDS = (
    "short and long round-trip times",
    "Three flows of 100 ms at one limiter, seven of 10 ms at the other.",
    "The aggregate is the same. FPS gives flows with long round-trip times more than one bucket "
    "does (table 2).",
    "the same, and the long flows get more than in the paper.")
RTT_PAPER = {"central": (10.57, 1.41, 0.10), "grd": (10.63, 1.35, 0.16), "fps": (10.43, 0.92, 0.57)}


def per_flow(run, kind):
    """Returns Mbit/s of a flow of an entry."""
    rates = [flow["mean_bps"] / 1e6 for flow in run.summary["flows"] if flow["traffic"] == kind]
    return stats.mean(rates)


def trip_row(allocator, runs):
    """Returns one row of the JSON."""
    return {"allocator": allocator, "limiters": 1 if scenario.is_central(allocator) else 2,
            "flows": 10, "seeds": len(runs),
            "aggregate_ratio": stats.mean(run.summary["aggregate_ratio"] for run in runs),
            "jain": stats.mean(run.summary["jain"] for run in runs),
            "long_mbps": stats.mean(per_flow(run, "traffic1") for run in runs),
            "short_mbps": stats.mean(per_flow(run, "traffic2") for run in runs)}


def round_trips(sim, quick):
    """Runs E5."""
    result = Result(*TRIP_WORDS)
    lines = []
    for allocator in ("central", "grd", "fps", "fps-drop"):
        runs = sim.runs(scenario.round_trips(allocator))
        long, short = ([per_flow(run, kind) for run in runs] for kind in ("traffic1", "traffic2"))
        ratio = [run.summary["aggregate_ratio"] for run in runs]
        result.rows.append(trip_row(allocator, runs))
        paper = RTT_PAPER.get(allocator)
        lines.append([allocator, f"{stats.mean(ratio):.3f}",
                      f"{stats.mean(short):.2f} ± {stats.deviation(short):.2f}",
                      f"{stats.mean(long):.2f} ± {stats.deviation(long):.2f}",
                      f"{paper[0]:.2f}, {paper[1]:.2f}, {paper[2]:.2f}" if paper else ""])
        if allocator == "fps":
            result.target("aggregate within 2 %", max(abs(r - 1) for r in ratio) <= 0.02,
                          stats.spread(ratio))
            result.target("flows with long round-trip times get at least the paper's 0.57 "
                          "Mbit/s",
                          stats.mean(long) >= 0.57, f"{stats.mean(long):.2f} Mbit/s")
    result.table(["", "aggregate / limit", "short, Mbit/s a flow", "long, Mbit/s a flow",
                  "paper: aggregate, short, long"], lines)
    if not quick:
        deeper_buckets(result, sim)
    return result


FLOWS_WORDS = (
    "5,000 flows share 50 Mbit/s",
    "1,500 and 3,500 flows at two limiters, a bucket of 375 kB.",
    "The utilisation is 53 Mbit/s (GRD), 46 (FPS), 51 (one bucket). All are unfair, like TCP "
    "with less than a packet a round trip.",
    "FPS uses the whole limit, and is as unfair as one bucket; all are fairer than in the paper, "
    "for an unknown reason.")
FLOWS_PAPER = {"central": (51, 0.34), "grd": (53, 0.44), "fps": (46, 0.33)}


def many_flows(sim, quick):
    """Runs E6."""
    result = Result(*FLOWS_WORDS)
    lines, jains = [], {}
    for allocator in ("central", "grd", "fps", "fps-drop"):
        runs = sim.runs(scenario.many_flows(allocator), 3 if quick else None)
        ratio = stats.mean(run.summary["aggregate_ratio"] for run in runs)
        jains[allocator] = stats.mean(run.summary["jain"] for run in runs)
        result.rows.append({"allocator": allocator,
                            "limiters": 1 if scenario.is_central(allocator) else 2, "flows": 5000,
                            "seeds": len(runs), "aggregate_ratio": ratio,
                            "aggregate_ratio_max_1s": max(r.summary["aggregate_ratio_max_1s"]
                                                          for r in runs),
                            "jain": jains[allocator], "jain_central": jains["central"]})
        paper = FLOWS_PAPER.get(allocator)
        lines.append([allocator, stats.spread(r.summary["aggregate_ratio"] for r in runs),
                      stats.spread(r.summary["jain"] for r in runs),
                      f"{paper[0] / 50:.2f}, {paper[1]:.2f}" if paper else ""])
        if allocator == "fps":
            result.target("aggregate 0.97 to 1.02 of the limit", 0.97 <= ratio <= 1.02,
                          f"{ratio:.3f} (paper: 0.92)")
            result.target("Jain at least central's", jains["fps"] >= jains["central"],
                          f"{jains['fps']:.3f}, central {jains['central']:.3f}")
    result.table(["", "aggregate / limit", "Jain", "paper: aggregate, Jain"], lines)
    return result

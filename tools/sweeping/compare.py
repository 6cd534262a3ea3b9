# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Runs a case as a group and as one central bucket, and measures how far they are apart."""

import math
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "evaluation"))

from draw import PACKET_BITS, draw  # noqa: E402 (needs the path above)
from simulate import run_one  # noqa: E402

# A group holds if it differs from one bucket by no more than this.
UTILISATION = 0.02
SHARE = 0.03
SECOND = 0.05
BACK_S = 1.0  # later than alone, plus three round-trip times: a sender's timer adds that

CENTRAL_SEEDS = 3  # one bucket's shares vary, and so does its worst second


def site_rates(summary, sites):
    """Returns the goodput of each site, by the names of its entries."""
    rates = [0.0] * sites
    for flow in summary["flows"]:
        site = int(flow["traffic"][1:].split("e")[0])
        rates[site - 1] += flow["mean_bps"] * flow["seconds"]
    return rates


def parts(rates):
    """Returns each rate as a part of the sum."""
    whole = sum(rates)
    return [rate / whole if whole else 0.0 for rate in rates]


def max_min(limit, asked):
    """Returns max-min fair rates of entries (site, most of a flow, flows): {site: bit/s}."""
    rates, rest, flows = {}, limit, sum(count for _, _, count in asked)
    for site, demand, count in sorted(asked, key=lambda entry: entry[1]):
        rate = min(demand, rest / flows)
        rates[site] = rates.get(site, 0) + rate * count
        rest -= rate * count
        flows -= count
    return rates


def fair_parts(case):
    """Returns the parts of the sites by their flows; None if these cannot be counted."""
    if any(demand is None for _, demand, _ in case.fair):
        return None
    rates = max_min(case.limit, case.fair)
    return parts([rates.get(site, 0) for site in range(1, case.sites + 1)])


def share_miss(found, references):
    """Returns the distance of the worst site from the span of the references."""
    misses = []
    for site, part in enumerate(found):
        values = [reference[site] for reference in references]
        misses.append(max(min(values) - part, part - max(values), 0))
    return max(misses)


def entitled_bps(case, site, allocator):
    """Returns the fair rate of a site after its return."""
    if allocator == "static":
        return case.limit / case.sites
    return max_min(case.limit, case.fair)[site]


def seconds_until_back(case, series, allocator):
    """Returns seconds from an outage's end until a site has half of its due for a second, or
    infinity."""
    site, _, end = case.outage
    due = min(entitled_bps(case, site, allocator), entitled_bps(case, site, "static"))
    names = [name for name in series.names
             if name.startswith("flow") and f"/s{site}e" in name]
    rates = [sum(row) for row in zip(*[series[name] for name in names])]
    width = round(1 / (series.times[1] - series.times[0]))
    for i, time in enumerate(series.times):
        if time > end and sum(rates[max(0, i - width + 1):i + 1]) / width >= due / 2:
            return time - end
    return math.inf


def measure_return(case, group, allocator):
    """Returns figures of a site's return: in the group, and with a limit of its own."""
    alone = run_one(case.scenario("static"), case.seed, True)
    back = seconds_until_back(case, group.series, allocator)
    own = seconds_until_back(case, alone.series, "static")
    grace = BACK_S + 3 * case.rtt
    return {"back_s": back, "back_alone_s": own, "late_s": max(0, back - own - grace)
            if math.isfinite(back) else math.inf}


def compare(seed, allocator="fps+soft"):
    """Returns a row of figures for one case."""
    case = draw(seed)
    # One bucket instead of the group shows the effect of chance.
    own = seed + CENTRAL_SEEDS if allocator == "central" else seed
    group = run_one(case.scenario(allocator), own, case.outage is not None)
    central = [run_one(case.scenario("central"), seed + k, False).summary
               for k in range(CENTRAL_SEEDS)]
    references = [parts(site_rates(one, case.sites)) for one in central]
    fair = fair_parts(case)
    references += [fair] if fair else []
    found = group.summary
    limits = [case.limit, case.change[1] if case.change else case.limit]
    one_packet = PACKET_BITS / min(limits)  # part of a second, which has whole packets
    # While the limiters read another limit, the group's is in force later than the bucket's.
    allowed = central[0]["aggregate"]["mean_bps"] / central[0]["aggregate_ratio"]
    row = {
        "seed": seed, "kind": case.kind, "limit": case.limit, "rtt": case.rtt,
        "sites": case.sites, "burst_set": case.burst_s > 0, "loss": case.loss,
        "action": case.settings.get("action", "drop"),
        "guarantee": case.settings.get("guarantee", "soft"), "words": case.words(),
        "utilisation": found["aggregate"]["mean_bps"] / allowed,
        "central": statistics.mean(one["aggregate_ratio"] for one in central),
        "share_miss": share_miss(parts(site_rates(found, case.sites)), references),
        "worst_second": found["aggregate_ratio_max_1s"],
        "central_second": max(one["aggregate_ratio_max_1s"] for one in central) + one_packet,
        "cpu_s": group.cpu_s,
    }
    if fair:  # distance of the worst site from the max-min parts: the group's, and the buckets'
        row["unfair"] = share_miss(parts(site_rates(found, case.sites)), [fair])
        row["central_unfair"] = statistics.mean(share_miss(one, [fair])
                                                for one in references[:CENTRAL_SEEDS])
    if case.kind == "mix":  # one bucket favours some senders: a group may be fairer in total
        row["share_miss"] = min(row["share_miss"], max(0, row["unfair"] - row["central_unfair"]))
    row["lost"] = row["central"] - row["utilisation"]
    row["excess"] = row["worst_second"] - row["central_second"]
    if case.outage:
        row.update(measure_return(case, group, allocator), how=case.how)
    row["fails"] = failures(row)
    return row


def failures(row):
    """Returns the respects in which a row differs from one bucket."""
    found = []
    if row["lost"] > UTILISATION:
        found.append("utilisation")
    if row["share_miss"] > SHARE:
        found.append("share")
    if row["excess"] > SECOND:
        found.append("second")
    if row.get("late_s", 0) > 0:
        found.append("return")
    return found


def badness(row):
    """Returns the sort key: the worst figure, as a multiple of its bound."""
    return max(row["lost"] / UTILISATION, row["share_miss"] / SHARE, row["excess"] / SECOND,
               min(row.get("late_s", 0), 100) / 5)


def in_words(row):
    """Returns a row as one line of text."""
    text = (f"utilisation {row['utilisation']:.3f} (bucket {row['central']:.3f}), share off "
            f"{row['share_miss'] * 100:.1f} points, worst second {row['worst_second']:.2f} "
            f"(bucket {row['central_second']:.2f})")
    if "back_s" in row:
        text += f", back after {row['back_s']:.1f} s (alone {row['back_alone_s']:.1f} s)"
    return text

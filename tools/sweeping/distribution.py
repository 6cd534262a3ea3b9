# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Prints the rows of a sweep: a distribution for each kind of scenario, and the worst cases."""

import math
import statistics

from compare import badness, in_words
from draw import KINDS

SHOWN = (0.5, 0.75, 0.9, 1.0)  # quantiles


def quantile(values, share):
    """Returns the smallest value that has this share of the values at or below it."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


def quantiles(values, form):
    """Returns the quantiles that are shown, as text."""
    return " / ".join(format(quantile(values, share), form) for share in SHOWN)


def held(rows, failure=None):
    """Returns the number of rows that hold, in all respects or in one."""
    good = [row for row in rows if not row["fails"] or (failure and failure not in row["fails"])]
    return f"{len(good)}/{len(rows)}"


def group_line(name, rows):
    """Returns one line of a table."""
    return [name, held(rows), held(rows, "utilisation"), held(rows, "share"),
            held(rows, "second"), quantiles([row["lost"] for row in rows], ".3f"),
            quantiles([row["share_miss"] * 100 for row in rows], ".1f"),
            quantiles([row["excess"] for row in rows], ".3f")]


HEADS = ["", "hold", "utilisation", "share", "second", "utilisation lost", "share off, points",
         "worst second above"]


def table(lines):
    """Returns a table in Markdown."""
    return "\n".join("| " + " | ".join(line) + " |"
                     for line in [lines[0], ["---"] * len(lines[0]), *lines[1:]])


BANDS = (
    ("limit below 1 Mbit/s", lambda row: row["limit"] < 1e6),
    ("limit 1 to 50 Mbit/s", lambda row: 1e6 <= row["limit"] < 50e6),
    ("limit 50 Mbit/s to 1 Gbit/s", lambda row: 50e6 <= row["limit"] <= 1e9),
    ("limit above 1 Gbit/s", lambda row: row["limit"] > 1e9),
    ("round trip below 2 ms", lambda row: row["rtt"] < 2e-3),
    ("round trip 2 to 20 ms", lambda row: 2e-3 <= row["rtt"] < 20e-3),
    ("round trip 20 ms and more", lambda row: row["rtt"] >= 20e-3),
    ("default burst", lambda row: not row["burst_set"]),
    ("burst given", lambda row: row["burst_set"]),
    ("dropped", lambda row: row["action"] == "drop"),
    ("shaped", lambda row: row["action"] == "shape"),
    ("hard limit", lambda row: row["guarantee"] != "soft"),
    ("2 or 3 limiters", lambda row: row["sites"] <= 3),
    ("4 limiters and more", lambda row: row["sites"] > 3),
)


def is_lost(row):
    """Returns true if a site never returns, although it returns with a limit of its own."""
    return math.isinf(row.get("back_s", 0)) and math.isfinite(row["back_alone_s"])


def returns(rows):
    """Returns a sentence about the sites that failed and returned."""
    rows = [row for row in rows if "back_s" in row]
    if not rows:
        return ""
    never = [row for row in rows if is_lost(row)]
    late = [late_seconds(row) for row in rows]
    return (f"{len(rows)} sites returned. {len(never)} of them never had half of their part. "
            f"{sum('return' in row['fails'] for row in rows)} had it too late: compared with a "
            f"limit of its own, the median site needs {statistics.median(late):.1f} s more.\n")


def fairness(rows):
    """Returns a sentence about mixed congestion control: the distances from max-min shares."""
    rows = [row for row in rows if row["kind"] == "mix"]
    if not rows:
        return ""
    group, bucket = (statistics.median(row[key] for row in rows) * 100
                     for key in ("unfair", "central_unfair"))
    fairer = sum(row["unfair"] <= row["central_unfair"] for row in rows)
    return (f"With mixed congestion control, {fairer} of {len(rows)} groups are at least as near "
            f"the flows' max-min shares as one bucket. Median distance of the worst site: "
            f"{group:.1f} points, of the bucket's {bucket:.1f}.\n")


def late_seconds(row):
    """Returns seconds by which a site returns later than alone; 999 if it never returns."""
    return min(row["back_s"], 999) - min(row["back_alone_s"], 999)


def page(rows, commit, command, worst=10):
    """Returns a page of the study: figures of `rows`, which `command` creates at a commit."""
    late = [late_seconds(row) for row in rows if "back_s" in row]
    more = ("\nSeconds until a site has half of its part again, more than with a limit of its own, "
            f"quantiles as above: {quantiles(late, '.1f')}.\n" if late else "")
    seeds = [row["seed"] for row in rows]
    return f"""<!-- SPDX-License-Identifier: BSD-3-Clause -->
<!-- Written by tools/sweep --page: changes by hand are lost. -->

# Random scenarios

Reference for operators and evaluators: how far a group differs from one central bucket in
{len(rows)} random scenarios, seeds {min(seeds)} to {max(seeds)}, at commit `{commit}`.
[measuring.md](measuring.md) explains the comparison.

    {command}

A scenario holds if the group loses at most 0.02 of the limit and the share of each site is within
3 points. Its worst second is then at most 0.05 above that of the bucket, and a site returns in
time.

{markdown(rows, worst)}
{more}"""


def markdown(rows, worst=20):
    """Returns the whole result in Markdown."""
    lines = [HEADS, group_line("all", rows)]
    for name in KINDS:
        found = [row for row in rows if row["kind"] == name]
        lines += [group_line(name, found)] if found else []
    for name, belongs in BANDS:
        found = [row for row in rows if belongs(row)]
        lines += [group_line(name, found)] if found else []
    bad = sorted((row for row in rows if row["fails"]), key=badness, reverse=True)[:worst]
    names = " / ".join("most" if share == 1 else f"{share:.0%}" for share in SHOWN)
    text = [f"The last three columns are quantiles over the scenarios: {names}.\n",
            table(lines), "", returns(rows), fairness(rows)]
    if bad:
        text.append(f"The worst {len(bad)}:\n")
    text += [f"- seed {row['seed']}, {row['kind']}, {', '.join(row['fails'])}: {in_words(row)} "
             f"({row['words']})" for row in bad]
    return "\n".join(text)

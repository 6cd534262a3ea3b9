# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Output of the demo while it runs, and at the end."""

import sys

from plotter import AGGREGATE_COLOUR, COLOURS, LIMIT_COLOUR, Lines, Series, picture

from .measure import mean
from .units import megabits

REDRAW = 0.5  # seconds between two pictures on a terminal
LINE = 5.0  # seconds between two lines elsewhere
WINDOW = 1.0  # seconds over which a rate is shown
LATE_US = 4096  # beyond this lateness of a packet in 100, round-trip times are wrong
LIMITERS_IN_LINE = 4
LIMITERS_IN_TABLE = 20

PAPER = "Raghavan et al., Cloud Control with Distributed Rate Limiting, SIGCOMM 2007"


class Display:
    """Shows the progress: tick() is called often, and prints at intervals."""

    def __init__(self, bed, limit_bps, out=sys.stdout):
        self.bed = bed
        self.limit_bps = limit_bps
        self.out = out
        self.word = "path" if bed.central else "limiter"
        self.terminal = out.isatty()
        self.next = 0.0 if self.terminal else LINE
        self.drawn = 0  # lines of the last picture, to draw over

    def tick(self, time, run):
        """An observer for Testbed.run_flows()."""
        if time < self.next:
            return
        self.next += REDRAW if self.terminal else LINE
        rates = run.recorder.rates(max(0.0, time - WINDOW), max(time, 0.1))
        lines = self._table(time, run, rates) if self.terminal else [self._line(time, run, rates)]
        if self.drawn:
            self.out.write(f"\x1b[{self.drawn}F\x1b[J")
        self.out.write("\n".join(lines) + "\n")
        self.out.flush()
        self.drawn = len(lines) if self.terminal else 0

    def _phase(self, time, run):
        return "warm-up" if time < run.warmup else "measured"

    def _table(self, time, run, rates):
        lines = [f"{time:5.1f} of {run.end:g} s ({self._phase(time, run)}), Mbit/s",
                 f"{self.word:>8}{'flows':>7}{'demand':>9}{'local limit':>13}{'weight':>9}"
                 f"{'forwarded':>11}"]
        shown = list(enumerate(zip(run.flows, rates), start=1))[:LIMITERS_IN_TABLE]
        for i, (flows, rate) in shown:
            policy = {} if self.bed.central and i > 1 else self.bed.policy(i) or {}
            lines.append(f"{i:>8}{flows:>7}{_rate(policy, 'demand_bps'):>9}"
                         f"{_rate(policy, 'local_limit_bps'):>13}{_plain(policy, 'weight'):>9}"
                         f"{megabits(rate):>11}")
        if len(run.flows) > LIMITERS_IN_TABLE:
            lines.append(f"     ... and {len(run.flows) - LIMITERS_IN_TABLE} more")
        lines.append(f"together {megabits(sum(rates))} of {megabits(self.limit_bps)}  "
                     f"{bar(sum(rates) / self.limit_bps)}")
        return lines

    def _line(self, time, run, rates):
        together = f"together {megabits(sum(rates))} of {megabits(self.limit_bps)} Mbit/s"
        if len(rates) > LIMITERS_IN_LINE:
            each = f"each {megabits(min(rates))} to {megabits(max(rates))}"
        else:
            each = ", ".join(self._one(i, rate) for i, rate in enumerate(rates, start=1))
        return f"{time:5.0f} s  {together}  ({each}; {self._phase(time, run)})"

    def _one(self, i, rate):
        policy = None if self.bed.central and i > 1 else self.bed.policy(i)
        text = f"{self.word} {i}: {megabits(rate)}"
        if policy and not self.bed.central:
            text += f" of {_rate(policy, 'local_limit_bps')}, weight {_plain(policy, 'weight')}"
        return text


def _rate(policy, key):
    return megabits(policy[key]) if policy.get(key) is not None else "-"


def _plain(policy, key):
    return f"{policy[key]:.2f}" if policy.get(key) is not None else "-"


def bar(share, width=30):
    """Returns a share as a bar; an excess extends beyond its end."""
    full = min(round(share * width), width + 6)
    return "[" + "#" * min(full, width) + "." * (width - full) + "]" + "#" * (full - width)


# Expected results of each allocator, from the paper's baseline.
EXPECTED_SPLIT = {"static": "equal parts for any flows", "central": "as the flows"}
EXPECTED_FAIRNESS = {"static": "below the central bucket's: the parts do not follow the flows",
                     "central": "the reference for the other allocators"}


def verdict(good, close):
    """Returns a verdict as text."""
    return "as expected" if good else "close" if close else "NOT as expected"


def judge_aggregate(summary, limit_bps):
    """Returns (measured, expected, verdict) of the aggregate rate."""
    measured = summary["aggregate"]["mean_bps"]
    off = abs(measured / limit_bps - 1)
    return (f"{megabits(measured)} Mbit/s", f"about the limit, {megabits(limit_bps)} Mbit/s",
            verdict(off < 0.03, off < 0.08))


def judge_split(summary, allocator):
    """Returns (measured, expected, verdict) of the limiters' shares of the rate."""
    limiters = summary["limiters"]
    flows = sum(limiter["flows"] for limiter in limiters)
    equal = [1 / len(limiters)] * len(limiters)
    fair = equal if allocator == "static" else [one["flows"] / flows for one in limiters]
    off = max(abs(one["share"] - share) for one, share in zip(limiters, fair))
    expected = EXPECTED_SPLIT.get(allocator, "as the flows")
    return (_percents([one["share"] for one in limiters]), f"{expected}: {_percents(fair)}",
            verdict(off < 0.06, off < 0.12))


def _percents(shares):
    if len(shares) > LIMITERS_IN_LINE:
        return f"{min(shares):.1%} to {max(shares):.1%}"
    return " : ".join(f"{share:.0%}" for share in shares)


def judge_fairness(summary, allocator):
    """Returns (measured, expected, verdict). Only a second run shows a central bucket's fairness
    here."""
    expected = EXPECTED_FAIRNESS.get(
        allocator, "no less than a central bucket's (compare: --allocator central)")
    good = summary["jain"] >= 0.95
    return (f"{summary['jain']:.3f}", expected,
            "-" if allocator in EXPECTED_FAIRNESS else verdict(good, summary["jain"] >= 0.9))


def report(summary, limit_bps, allocator):
    """Returns the summary, next to the paper's expected results."""
    rows = [("", "measured", "expected (paper, section 5.1)", ""),
            ("aggregate rate", *judge_aggregate(summary, limit_bps)),
            ("split of it", *judge_split(summary, allocator)),
            ("fairness (Jain)", *judge_fairness(summary, allocator))]
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0])).rstrip()
             for row in rows]
    each = [flow["mean_bps"] for flow in summary["flows"]]
    aggregate = summary["aggregate"]
    lines += ["", f"Over one second the aggregate was at most {megabits(aggregate['max_1s_bps'])} "
              f"Mbit/s (95 % of seconds: {megabits(aggregate['p95_1s_bps'])} or less).",
              f"A flow got {megabits(mean(each))} Mbit/s on average, the least "
              f"{megabits(min(each, default=0))}, the most {megabits(max(each, default=0))}; "
              "Jain's index is 1 when all get the same.", f"Paper: {PAPER}."]
    if summary["emulation_late_us"]["p99_below"] > LATE_US:
        lines.append("Caution: this machine was too busy to emulate the links well (one packet in "
                     f"100 was over {LATE_US / 2e3:.0f} ms late); do not trust the figures.")
    return "\n".join(lines)


def forwarding_rates(run, limit_bps, title, word="limiter", width=0.5):
    """Returns a picture of each limiter's rate and their sum, in Mbit/s, like Figure 3."""
    bins = run.recorder.bins(0, run.end, width)
    series = [Series(f"{word} {k + 1} ({flows} flows)",
                     [(time, rates[k] / 1e6) for time, rates in bins], COLOURS[k])
              for k, flows in enumerate(run.flows[:len(COLOURS)])]
    series.append(Series("together", [(time, sum(rates) / 1e6) for time, rates in bins],
                         AGGREGATE_COLOUR, width=2.2))
    series.append(Series("limit", [(0, limit_bps / 1e6), (run.end, limit_bps / 1e6)],
                         LIMIT_COLOUR, dash="7 5", width=1.5))
    note = f"means over {width * 1e3:g} ms; shaded: warm-up"
    if len(run.flows) > len(COLOURS):
        note += f"; the first {len(COLOURS)} of {len(run.flows)} limiters"
    return picture(Lines(title, "time since the flows began (s)", "forwarding rate (Mbit/s)",
                         series, note, (0, run.warmup)))

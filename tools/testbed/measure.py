# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Computes the paper's figures from counters: rates over time, shares, fairness."""

import bisect
import json
import math

from .processes import TestbedError

ETHERNET_HEADER = 14  # bytes of a frame that an L3 limit does not charge


def jain(rates):
    """Returns Jain's index: 1 when all rates are equal, 1/n when one flow has everything."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 0.0


def percentile(values, share):
    """Returns the smallest value that at least this share of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def mean(values):
    """Returns the mean; 0 without values."""
    return sum(values) / len(values) if values else 0.0


class Recorder:
    """Byte counters of several entries, sampled at irregular times, interpolated between them."""

    def __init__(self, n):
        self.times = []
        self.totals = []
        self._last = [None] * n  # last value of the counter
        self._sum = [0] * n

    def add(self, time, counters):
        """Adds one sample. None: the limiter did not answer; a lower value: it was restarted."""
        for k, value in enumerate(counters):
            if value is None:
                continue
            last = self._last[k]
            if last is not None:
                self._sum[k] += value - last if value >= last else value
            self._last[k] = value
        self.times.append(time)
        self.totals.append(list(self._sum))

    def at(self, time):
        """Returns bytes of every entry up to a time, interpolated between the samples around it."""
        k = bisect.bisect_left(self.times, time)
        if k == 0 or k == len(self.times):
            return self.totals[0 if k == 0 else -1]
        before, after = self.times[k - 1], self.times[k]
        part = (time - before) / (after - before)
        return [a + part * (b - a) for a, b in zip(self.totals[k - 1], self.totals[k])]

    def rates(self, start, end):
        """Returns bit/s of every entry between two times."""
        pairs = zip(self.at(start), self.at(end))
        return [(after - before) * 8 / (end - start) for before, after in pairs]

    def bins(self, start, end, width):
        """Returns [(time of the bin's middle, bit/s of every entry)], whole bins only."""
        count = int((end - start) / width + 1e-6)
        edges = [start + k * width for k in range(count + 1)]
        return [((a + b) / 2, self.rates(a, b)) for a, b in zip(edges, edges[1:])]


def forwarded_bytes(stats):
    """Returns the L3 bytes that a port has sent, from /ethdev/stats."""
    return stats["obytes"] - ETHERNET_HEADER * stats["opackets"]


class FlowRates:
    """Goodput of the flows of one iperf3 server, from its JSON, as measured by the receiver."""

    def __init__(self, limiter, text, start, end):
        """Uses only intervals within [start, end] seconds after the flows began."""
        self.limiter = limiter
        report = parse_report(text)
        self.rows = [[stream for stream in interval["streams"]
                      if stream["start"] >= start - 0.05 and stream["end"] <= end + 0.5
                      and stream["seconds"] > 0.5]
                     for interval in report["intervals"]]
        self.rows = [row for row in self.rows if row]

    def means(self):
        """Returns bit/s of each flow over the whole time."""
        sums = {}
        for stream in (stream for row in self.rows for stream in row):
            total = sums.setdefault(stream["socket"], [0, 0.0])
            total[0] += stream["bytes"] * 8
            total[1] += stream["seconds"]
        return [bits / seconds for bits, seconds in sums.values()]

    def per_interval(self):
        """Returns bit/s of each flow for each interval."""
        return [[stream["bits_per_second"] for stream in row] for row in self.rows]


def parse_report(text):
    """Parses iperf3's JSON; raises TestbedError with iperf3's message if it failed."""
    try:
        report = json.loads(text)
    except ValueError:
        raise TestbedError(f"iperf3 left no report: {text[:200]!r}") from None
    if "error" in report:
        raise TestbedError(f"iperf3: {report['error']}")
    return report


class Run:
    """One measured run: forwarded bytes per entry, and goodput per flow."""

    def __init__(self, flows, warmup, seconds):
        self.flows = list(flows)
        self.warmup = warmup
        self.seconds = seconds
        self.recorder = Recorder(len(self.flows))
        self.reports = []  # FlowRates

    @property
    def end(self):
        """Returns the seconds from the start of the flows to the end of the measurement."""
        return self.warmup + self.seconds

    def flow_list(self):
        """Returns [{"limiter", "mean_bps"}], one for each flow."""
        return [{"limiter": report.limiter, "mean_bps": rate}
                for report in self.reports for rate in report.means()]

    def jain(self):
        """Returns Jain's index of the flows' goodput over the whole run."""
        return jain([flow["mean_bps"] for flow in self.flow_list()])

    def jain_1s_mean(self):
        """Returns the mean of Jain's index over the seconds, as a user sees it."""
        seconds = zip(*(report.per_interval() for report in self.reports))
        return mean([jain([rate for rates in second for rate in rates]) for second in seconds])

    def aggregate(self):
        """Returns the rates of all entries together."""
        seconds = [sum(rates) for _, rates in self.recorder.bins(self.warmup, self.end, 1.0)]
        return {"mean_bps": sum(self.recorder.rates(self.warmup, self.end)),
                "p95_1s_bps": percentile(seconds, 0.95), "max_1s_bps": max(seconds, default=0.0)}

    def limiters(self):
        """Returns [{"name", "flows", "mean_bps", "share"}]."""
        rates = self.recorder.rates(self.warmup, self.end)
        whole = sum(rates) or 1
        return [{"name": f"l{k + 1}", "flows": flows, "mean_bps": rate, "share": rate / whole}
                for k, (flows, rate) in enumerate(zip(self.flows, rates))]

    def summary(self):
        """Returns the content of the JSON file."""
        return {"seconds": self.seconds, "warmup_seconds": self.warmup,
                "aggregate": self.aggregate(), "limiters": self.limiters(),
                "flows": self.flow_list(), "jain": self.jain(),
                "jain_1s_mean": self.jain_1s_mean()}

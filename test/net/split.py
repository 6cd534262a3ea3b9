#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Packet delays of one bucket and of two halves, live, compared with weir-study penalty on the same
packets: a few seconds of test/bench/penalty.py.

Usage: split.py [SCENARIO...].
"""

import os
import sys

import box
from box import expect

sys.path.insert(0, os.path.join(box.ROOT, "test", "bench"))

from penalty import Delays, live, parse, simulated  # noqa: E402

NOISE_MS = 5.0  # deviation of a mean on a busy machine


def histograms(_):
    """Histograms add up over limiters and subtract over time; quantiles are between bin edges."""
    early = Delays([[0, 1000, 2], [1000, 2000, 1]])
    late = Delays([[0, 1000, 2], [1000, 2000, 5], [4000, 8000, 4]])
    both = Delays([[0, 1000, 4]]).add(late).add(early, -1)
    expect(both.count() == 12, both.bins)
    expect(abs(both.mean() - (4 * 0.5 + 4 * 1.5 + 4 * 6) / 12) < 1e-9, both.mean())
    for share, least, most in ((0.1, 0, 1), (0.5, 1, 2), (0.99, 4, 8), (1, 8, 8)):
        expect(least <= both.quantile(share) <= most, f"{share}: {both.quantile(share)}")


def two_parts(_):
    """Live delays equal simulated ones, except noise; two halves have longer delays than one
    bucket."""
    options = parse(["--burst", "4kB", "--packets", "700", "--parts", "1,2"])
    rows, means = simulated(options, "poisson"), {}
    for parts in options.parts:
        delays, facts = live(options, "poisson", options.first, parts)
        means[parts] = delays.mean(), rows[parts]["mean"]
        expect(facts["lost"] == 0, facts)
        expect(delays.count() > options.packets * 0.85, facts)  # a tenth is not measured
        expect(abs(means[parts][0] - means[parts][1]) < NOISE_MS + means[parts][1] / 10, means)
    expect(means[2][0] > means[1][0] + NOISE_MS, means)
    return ", ".join(f"{n} parts: {real:.1f} ms live, {model:.1f} simulated"
                     for n, (real, model) in means.items())


if __name__ == "__main__":
    box.main([histograms, two_parts])

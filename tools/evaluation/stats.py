# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Statistics that the experiments compute from their runs."""

import math
import statistics


def mean(values):
    """Returns the mean; 0 without values."""
    values = list(values)
    return sum(values) / len(values) if values else 0.0


def deviation(values):
    """Returns the sample standard deviation."""
    values = list(values)
    return statistics.stdev(values) if len(values) > 1 else 0.0


def jain(rates):
    """Returns Jain's index: 1 when all are equal."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 0.0


def quantile(values, share):
    """Returns a quantile, linear between the order statistics."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def spread(values, form=".3f"):
    """Returns "median (least–most)"."""
    values = list(values)
    return f"{statistics.median(values):{form}} ({min(values):{form}}–{max(values):{form}})"


def ks_distance(one, other):
    """Returns the largest distance of the two empirical distribution functions."""
    one, other = sorted(one), sorted(other)
    i = j = 0
    distance = 0.0
    while i < len(one) and j < len(other):
        value = min(one[i], other[j])
        while i < len(one) and one[i] <= value:
            i += 1
        while j < len(other) and other[j] <= value:
            j += 1
        distance = max(distance, abs(i / len(one) - j / len(other)))
    return distance


def ks_p(one, other):
    """Returns p of the two-sample Kolmogorov-Smirnov test: Kolmogorov's distribution at the
    effective size, with Stephens' correction for small samples."""
    size = math.sqrt(len(one) * len(other) / (len(one) + len(other)))
    x = (size + 0.12 + 0.11 / size) * ks_distance(one, other)
    if x < 0.2:
        return 1.0
    total = sum((-1) ** (k - 1) * math.exp(-2 * k * k * x * x) for k in range(1, 101))
    return max(0.0, min(1.0, 2 * total))


def settle(times, values, target, tolerance, begin, end, hold=1.0):
    """Returns seconds after `begin` from which values stay within the tolerance of the target for
    `hold` seconds; None if they do not before `end`."""
    since = None
    for time, value in zip(times, values):
        if time <= begin or time > end:
            continue
        if abs(value - target) > tolerance * target:
            since = None
        elif since is None:
            since = time
        if since is not None and time - since >= hold - 1e-9:
            return since - begin
    return None


def smooth(values, width):
    """Returns means over the last `width` values."""
    out, total = [], 0.0
    for i, value in enumerate(values):
        total += value - (values[i - width] if i >= width else 0)
        out.append(total / min(i + 1, width))
    return out

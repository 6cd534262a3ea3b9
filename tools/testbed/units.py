# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Quantities as a person writes them: 10Mbit/s, 75kB, 40ms, 1%."""

import re

RATE = {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
SIZE = {"B": 1, "kB": 1e3, "MB": 1e6}
TIME = {"us": 1e-6, "ms": 1e-3, "s": 1}
SHARE = {"": 1, "%": 0.01}


def parse(text, units):
    """Returns the value in base units; raises ValueError for an unknown unit."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(\S*)", text.strip())
    if match is None or match[2] not in units:
        known = ", ".join(unit for unit in units if unit)
        raise ValueError(f"{text!r}: expected a number and one of {known}")
    return float(match[1]) * units[match[2]]


def form(value, units):
    """Returns the exact value in the largest unit without a fraction, for configurations."""
    for unit, scale in sorted(units.items(), key=lambda item: -item[1]):
        if value >= scale and round(value / scale * 1e6) % 1000000 == 0:
            return f"{round(value / scale)}{unit}"
    unit, scale = min(units.items(), key=lambda item: item[1])
    return f"{round(value / scale)}{unit}"


def megabits(bps):
    """Formats a rate for tables: 9.99."""
    return f"{bps / 1e6:.2f}"

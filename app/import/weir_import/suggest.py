# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Suggests the right word or quantity for a wrong one. Without I/O."""

import re
from typing import Callable, Iterable

WORD_MOST = 32  # characters of a word that is compared
DISTANCE = 2    # mistakes at most between a slip and the right word
PRINTABLE = re.compile(r"[ -~]*")

# Units of other tools, compared without case.
UNITS = [
    *((word, "bit/s") for word in ("bit", "bits", "bps", "b/s")),
    ("kb/s", "kbit/s"), ("mb/s", "Mbit/s"), ("gb/s", "Gbit/s"), ("tb/s", "Tbit/s"),
    ("bit/s", "bit/s"), ("bits/s", "bit/s"),
    *((word, "kbit/s") for word in ("k", "kbit", "kbps", "kbit/s")),
    *((word, "Mbit/s") for word in ("m", "mbit", "mbps", "mbits", "mbit/s", "mbits/s", "mbitps")),
    *((word, "Gbit/s") for word in ("g", "gbit", "gbps", "gbits", "gbit/s")),
    *((word, "Tbit/s") for word in ("tbps", "tbit/s")),
]


def distance(a: str, b: str) -> int:
    """Returns the characters inserted, dropped, replaced or swapped between two words."""
    cost = [[max(i, j) if not i or not j else 0 for j in range(len(b) + 1)]
            for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost[i][j] = min(cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                             cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                cost[i][j] = min(cost[i][j], cost[i - 2][j - 2] + 1)
    return cost[-1][-1]


def nearest(text: str, words: Iterable[str]) -> str | None:
    """Returns the word that a slip can mean; more than half of it has to be right."""
    best, found = DISTANCE + 1, None
    text = text.encode("utf-8", "surrogateescape").decode("latin-1")
    if len(text) > WORD_MOST:
        return None
    for word in words:
        if len(word) > WORD_MOST or not PRINTABLE.fullmatch(word):
            continue
        same = text.isascii() and text.lower() == word.lower()
        mistakes = 0 if same else distance(text, word)
        if mistakes < best and 2 * mistakes < len(word):
            best, found = mistakes, word
    return found


def remedy(word: str | None) -> str:
    """Returns the question that names the word, or nothing without one."""
    return f'did you mean "{word}"?' if word is not None else ""


def quantity(text: str, parse: Callable[[str], int | None]) -> str:
    """Returns the question for a quantity in another tool's unit, such as `10Mbps`, or nothing."""
    tidy = text.replace(" ", "").replace(",", ".")
    number = re.match(r"[0-9.]*", tidy)[0]
    if not number or len(tidy) >= WORD_MOST:
        return ""
    if parse(tidy) is not None:
        return remedy(tidy)
    unit = tidy[len(number):]
    if unit.endswith(("B/s", "Bps")) and unit.index("B") == len(unit) - 3:
        meant = f"{8 * leading_float(number):.12g}{unit[:-3]}bit/s"
        return remedy(meant) if parse(meant) is not None else ""
    for word, right in UNITS:
        if unit.isascii() and unit.lower() == word and parse(number + right) is not None:
            return remedy(number + right)
    return ""


def leading_float(number: str) -> float:
    """Returns the number that digits and points begin with."""
    found = re.match(r"[0-9]+\.?[0-9]*|\.[0-9]+", number)
    return float(found[0]) if found else 0.0

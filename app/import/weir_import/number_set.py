# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The numbers of a numeric component of a flow specification (RFC 8955, 4.2.1.1). Exact.

ExaBGP writes it as ["=53", ">8080&<8088"]. A set is an integer whose bit N stands for N.
"""

import re
from typing import Any, Callable, Iterator

WORD_MOST = 63     # bytes of one comparison
NUMBER_MOST = 2 ** 31 - 1
LESS, EQUAL, GREATER = 1, 2, 4
DECIMAL = re.compile(r"[0-9]+")

# In an order in which none is the beginning of a later one: (text, takes, compares with a number).
OPERATORS = (
    ("true", LESS | EQUAL | GREATER, False), ("false", 0, False), ("!=", LESS | GREATER, True),
    ("<=", LESS | EQUAL, True), (">=", GREATER | EQUAL, True), ("<", LESS, True),
    (">", GREATER, True), ("=", EQUAL, True),
)
Named = Callable[[str], int]


def whole(count: int) -> int:
    """Returns the set of all numbers from 0 to count - 1."""
    return (1 << count) - 1


def _number(word: str, named: Named | None) -> int:
    """Returns the number of a word, or -1."""
    if not "0" <= word[:1] <= "9":
        return named(word) if named else -1
    return int(word) if DECIMAL.fullmatch(word) and int(word) <= NUMBER_MOST else -1


def _comparison(count: int, text: str, named: Named | None) -> int | None:
    """Returns the numbers that one comparison takes, or None."""
    found = next((each for each in OPERATORS if text.startswith(each[0])), None)
    if found is None:
        return None
    operator, takes, compares = found
    rest = text[len(operator):]
    number = _number(rest, named) if compares else 0 if not rest else -1
    if number < 0:
        return None
    less = whole(min(number, count))
    equal = 1 << number if number < count else 0
    greater = whole(count) & ~less & ~equal
    return (less if takes & LESS else 0) | (equal if takes & EQUAL else 0) | \
        (greater if takes & GREATER else 0)


def read(count: int, listed: Any, named: Named | None = None) -> int | None:
    """Returns those numbers below count that any of the texts takes; None: one text is wrong.

    named returns the number of a name, or -1.
    """
    taken = 0
    if not isinstance(listed, list) or not listed:
        return None
    for text in listed:
        if not isinstance(text, str):
            return None
        each = whole(count)
        for word in text.split("&"):
            if len(word.encode()) > WORD_MOST:
                return None
            compared = _comparison(count, word, named)
            if compared is None:
                return None
            each &= compared
        taken |= each
    return taken


def ranges(taken: int) -> Iterator[tuple[int, int]]:
    """Yields (first, last) of the numbers in a row."""
    at = 0
    while taken:
        skipped = (taken & -taken).bit_length() - 1
        taken >>= skipped
        length = (~taken & (taken + 1)).bit_length() - 1
        yield at + skipped, at + skipped + length - 1
        at += skipped + length
        taken >>= length


def numbers(taken: int) -> Iterator[int]:
    """Yields each number."""
    for first, last in ranges(taken):
        yield from range(first, last + 1)

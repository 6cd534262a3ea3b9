# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Tables of the outcome of an import, for people."""

import os
import re
import unicodedata
from typing import Any

from weir_import.limiter import member

# Characters that a terminal obeys, or that change the direction of a line.
CONTROL = re.compile("[\x01-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
BETWEEN = "  "
NAME_LEAST = 13  # columns of a limiter's name that remain on a narrow terminal
VALUE_LEAST = 3
USUAL_WIDTH = 80  # columns, if a terminal reports none


def printable(text: str) -> str:
    """Returns a text of a limiter, whose control characters are escaped."""
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def columns_of(text: str) -> int:
    """Returns the columns of a terminal that a text takes."""
    return len(text) if text.isascii() else sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text)


def _terminal_columns() -> int:
    try:
        return os.get_terminal_size(1).columns or USUAL_WIDTH
    except OSError:
        return USUAL_WIDTH


def terminal_width() -> int:
    """Returns the columns of standard output; 0: it is no terminal."""
    return _terminal_columns() if os.isatty(1) else 0


def value_of(value: Any) -> str:
    """Returns a member of an answer as text; "" without one."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(value_of, value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)


def _shorten(text: str, width: int) -> str:
    """Leaves the middle of a long text out."""
    if columns_of(text) <= width:
        return text
    tail = (width - 1) // 2
    return text[:width - 1 - tail] + "…" + text[len(text) - tail:]


def _wrap(text: str, room: int) -> list[str]:
    """Returns the lines of a text; one of a single word can be longer than the room."""
    lines = []
    while text:
        if columns_of(text) <= room:
            return [*lines, text]
        at = text.rfind(" ", 0, room + 1)
        at = at if at > 0 else (text.find(" ") if " " in text else len(text))
        lines.append(text[:at])
        text = text[at:].lstrip(" ")
    return lines or [""]


def table(rows: list[tuple[str, str, str]], details: bool, width: int) -> str:
    """Returns rows of (limiter, head, text), with heads if they are details.

    Limiters are shown if there are names of them. On a terminal (width > 0) long texts go on below.
    """
    rows = [(name, head, printable(text)) for name, head, text in rows]
    names = max((columns_of(name) for name, _, _ in rows), default=0)
    heads = max((len(head) for _, head, _ in rows), default=0) if details else 0
    names = min(names, NAME_LEAST) if width else names
    taken = (names + 2 if names else 0) + (heads + 2 if details else 0)
    room = max(width - taken, VALUE_LEAST) if width else 0
    lines = []
    for name, head, text in rows:
        name = _shorten(name, names)
        for part in _wrap(text, room) if width else [text]:
            part = _shorten(part, room) if width and details else part
            cells = ([name + " " * (names - columns_of(name))] if names else []) + \
                ([head.ljust(heads)] if details else []) + [part]
            lines.append(BETWEEN.join(cells).rstrip(" ") + "\n")
            head = ""
    return "".join(lines)


def show(documents: list[tuple[str, dict]], fields: list[tuple[str, tuple[str, ...], bool]],
         width: int) -> str:
    """Returns the tables of answers: (limiter, answer) of each.

    A field is a head, the path of its member, and whether it is left out while it is 0.
    """
    details, messages = [], []
    for name, document in documents:
        for head, path, nonzero in fields:
            value = member(document, *path)
            if not (nonzero and value == 0) and value_of(value):
                details.append((name, head, value_of(value)))
        messages += [(name, "", text if isinstance(text, str) else "?")
                     for text in member(document, "last", "messages") or ()]
    parts = [table(rows, rows is details, width) for rows in (details, messages) if rows]
    return "\n".join(parts)

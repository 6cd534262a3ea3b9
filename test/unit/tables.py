# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Reads the tables of events and messages in C, and the calls that name their rows."""

import re

LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def joined(text):
    """Returns the text of a macro as one line."""
    return re.sub(r"\s*\\\n\s*", " ", text)


def call_at(text, start):
    """Returns the whole call, up to its closing bracket. Brackets in strings do not count."""
    depth, place = 0, start
    while place < len(text):
        if text[place] == '"':
            place = LITERAL.match(text, place).end()
            continue
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0 and text[place] == ")":
            return text[start:place]
        place += 1
    return text[start:]


def rows(text, name):
    """Yields (ID, rest) of each row X(ID, ...) of the macro with that name."""
    body = joined(text[text.index(f"#define {name}"):]).split("\n")[0]
    for row in re.finditer(r"\bX\((\w+),", body):
        yield row[1], call_at(body, row.start())[row.end() - row.start():]


def words(text):
    """Returns the string literals in the text, joined."""
    return "".join(LITERAL.findall(text))


def fail(wrong):
    """Prints a line for each problem. Returns the exit status."""
    wrong = list(wrong)
    for line in wrong:
        print(line)
    return 1 if wrong else 0

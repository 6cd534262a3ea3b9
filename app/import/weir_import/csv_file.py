# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Records of comma-separated values (RFC 4180): quoted fields, LF or CRLF, a byte order mark.

Empty lines and lines that begin with "#" are no records.
"""

import re
from typing import Iterator, NamedTuple

FIELDS_MOST = 64
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BARE = re.compile(r'[^,\n"]*')


class Record(NamedTuple):
    """A record, or the reason why a line is none."""

    line: int  # the first one of the record, from 1
    fields: list[str]
    problem: str = ""


def decode(data: bytes) -> str:
    """Returns the text of a file; bytes that are not UTF-8 remain as surrogates.

    ValueError if it has NUL characters, as UTF-16 has.
    """
    if b"\0" in data:
        raise ValueError("NUL characters: expected UTF-8")
    return data.removeprefix(BYTE_ORDER_MARK).decode("utf-8", "surrogateescape")


def records(text: str) -> Iterator[Record]:
    """Yields all records, and a problem in place of each record that is none."""
    at, line = 0, 1
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        whole = text[at:end - 1] if text.endswith("\r", at, end) and end < len(text) \
            else text[at:end]
        if not whole or whole[0] == "#":
            at, line = end + 1, line + 1
        elif '"' not in whole:
            fields = whole.split(",")
            many = len(fields) > FIELDS_MOST
            yield Record(line, [] if many else fields,
                         f"too many columns: expected at most {FIELDS_MOST}" if many else "")
            at, line = end + 1, line + 1
        else:
            record, at, lines = _with_quotes(text, at, line)
            yield record
            line += lines


def _closing_quote(text: str, at: int) -> int:
    """Returns the place of the quote that ends a field, or -1; a doubled quote does not end it."""
    at = text.find('"', at)
    while at >= 0 and text.startswith('""', at):
        at = text.find('"', at + 2)
    return at


def _with_quotes(text: str, at: int, line: int) -> tuple[Record, int, int]:
    """Returns the record that begins there, where the next one begins, and the lines between."""
    fields: list[str] = []
    begin = at

    def broken(where: int, problem: str) -> tuple[Record, int, int]:
        after = text.find("\n", where) + 1 or len(text)
        return Record(line, [], problem), after, text.count("\n", begin, after)

    while True:
        if len(fields) == FIELDS_MOST:
            return broken(at, f"too many columns: expected at most {FIELDS_MOST}")
        if text.startswith('"', at):
            close = _closing_quote(text, at + 1)
            if close < 0:
                return broken(len(text), "nothing closes this quote")
            fields.append(text[at + 1:close].replace('""', '"'))
            behind = close + 1
        else:
            behind = BARE.match(text, at).end()
            behind -= text.startswith("\r\n", behind - 1) and behind > at
            fields.append(text[at:behind])
        if text.startswith(",", behind):
            at = behind + 1
            continue
        if behind == len(text) or text.startswith(("\n", "\r\n"), behind):
            after = text.find("\n", behind) + 1 or len(text)
            return Record(line, fields), after, text.count("\n", begin, after)
        if text.startswith('"', at):
            return broken(behind, "a closing quote has more than a comma behind it: expected "
                                  "quotes within quotes to be doubled")
        return broken(at, "a quote within a field: expected the whole field in quotes")

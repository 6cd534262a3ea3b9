# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The words of the command line, and the help."""

import dataclasses
import difflib
import getopt
import re
from typing import NamedTuple

TIMEOUT_USUAL, TIMEOUT_LEAST, TIMEOUT_MOST = 5.0, 0.1, 86400.0


class Row(NamedTuple):
    """An option in the form of the help."""

    name: str
    help: str
    value: str = ""
    brief: str = ""


ROWS = (
    Row("output", "the archive (weir-support-LIMITER-TIME.tar.gz)", "FILE", "o"),
    Row("socket", "the limiter's socket (the only one in /run/weir)", "SOCKET", "s"),
    Row("name", "the same, by the limiter's name", "LIMITER", "n"),
    Row("group", "several limiters, by a file of JSON", "FILE", "g"),
    Row("timeout", "seconds that an answer may take (5)", "S"),
    Row("json", "write the list of parts, for programs"),
    Row("wide", "no effect; an option of weirctl"),
    Row("version", "print the version"),
    Row("help", "print this help", brief="h"),
)

USAGE = "Usage: weir-support [-s SOCKET | -n LIMITER | -g FILE] [-o FILE]\n"
ABOUT = """
Writes one archive for a support request, without secrets.

"""
MORE = """
The archive has the answers to all commands of weirctl that change nothing, the
configuration, versions, the machine and the last lines of the log. If a limiter
does not answer, it has the rest. -s and -n may be repeated.

Exit status: 0 done; 1 failed, with the reason on standard error; 2 wrong usage.
"""


class UsageError(Exception):
    """The words make no sense; the message has the reason."""


@dataclasses.dataclass
class Options:
    """The options of a call."""

    sockets: list[str] = dataclasses.field(default_factory=list)
    names: list[str] = dataclasses.field(default_factory=list)
    texts: dict[str, str] = dataclasses.field(default_factory=dict)
    flags: set[str] = dataclasses.field(default_factory=set)
    timeout_s: float = TIMEOUT_USUAL

    def take(self, row: Row, value: str) -> None:
        """Takes one option."""
        if row.name in ("socket", "name"):
            (self.sockets if row.name == "socket" else self.names).append(value)
        elif row.name == "timeout":
            self.timeout_s = _seconds(value)
        elif row.value:
            self.texts[row.name] = value
        else:
            self.flags.add(row.name)


def _seconds(text: str) -> float:
    number = float(text) if re.fullmatch(r"[0-9]+\.?[0-9]*|\.[0-9]+", text) else 0
    if not TIMEOUT_LEAST <= number <= TIMEOUT_MOST:
        raise UsageError(f"{text}: expected {TIMEOUT_LEAST:g} to {TIMEOUT_MOST:g} seconds")
    return number


def _explain(error: getopt.GetoptError) -> UsageError:
    """Returns the problem of getopt in the words of weirctl."""
    word = ("-" if len(error.opt) == 1 else "--") + error.opt
    if "requires argument" in error.msg:
        return UsageError(f"{word}: expected a value after it")
    if "not a unique prefix" in error.msg:
        return UsageError(f"{word}: several options begin with this: give more of it")
    near = difflib.get_close_matches(error.opt, [row.name for row in ROWS], 1)
    meant = f': did you mean "--{near[0]}"?' if near else ""
    return UsageError(f"{word}: no such option{meant}")


def parse(arguments: list[str]) -> Options:
    """Returns the options of a call. UsageError if they make no sense."""
    options = Options()
    try:
        pairs, words = getopt.gnu_getopt(
            arguments, "".join(row.brief + ":" * bool(row.value) for row in ROWS if row.brief),
            [row.name + "=" * bool(row.value) for row in ROWS])
    except getopt.GetoptError as error:
        raise _explain(error) from None
    for name, value in pairs:
        options.take(next(row for row in ROWS if name in ("-" + row.brief, "--" + row.name)), value)
    if not options.flags & {"help", "version"}:
        if words:
            raise UsageError(f"{words[0]}: unexpected word")
        if options.sockets and options.names:
            raise UsageError("-s, -n: either of them, or a group (-g) with both")
    return options


def help_text() -> str:
    """Returns the help, in a form that completion is made of."""
    lines = []
    for row in ROWS:
        brief = f"-{row.brief}, " if row.brief else "    "
        value = " " + row.value if row.value else ""
        lines.append(f"  {f'{brief}--{row.name}{value}':<24}  {row.help}\n")
    return USAGE + ABOUT + "".join(lines) + MORE

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The words of the command line, and the help."""

import dataclasses
import re
from typing import NamedTuple

from weir_import import suggest
from weir_import.values import prefix_valid

REMOVALS_USUAL = 10  # percent of its policies that an import may remove
TIMEOUT_USUAL, TIMEOUT_LEAST, TIMEOUT_MOST = 5.0, 0.1, 86400.0


class Row(NamedTuple):
    """An option in the form of the help."""

    name: str
    help: str
    value: str = ""
    brief: str = ""
    optional: bool = False  # the value


ROWS = (
    Row("direction", "download or upload", "D"),
    Row("prefix", "prefix of the policies of this import", "PREFIX"),
    Row("parents", "prefix of parents from elsewhere", "PREFIX"),
    Row("network", "LibreQoS's network.json", "FILE"),
    Row("flat", "ignore parents"),
    Row("skip-bad", "leave out wrong lines, with a warning"),
    Row("print", "write the policies, and send nothing"),
    Row("allow-removals", "remove more than 10% of its policies, or up to SHARE", "[=SHARE]",
        optional=True),
    Row("keep", "of flowspec: rules stay when their speaker ends"),
    Row("family", "of flowspec: rules of ipv4 or of ipv6 alone", "F"),
    Row("socket", "the limiter's socket (the only one in /run/weir)", "SOCKET", "s"),
    Row("name", "the same, by the limiter's name", "LIMITER", "n"),
    Row("group", "several limiters, by a file of JSON", "FILE", "g"),
    Row("timeout", "seconds that an answer may take (5)", "S"),
    Row("json", "write the limiter's answer, for programs"),
    Row("wide", "write whole lines, on terminals too"),
    Row("version", "print the version"),
    Row("help", "print this help", brief="h"),
)

USAGE = "Usage: weir-import [OPTIONS] csv FILE | flowspec\n"
ABOUT = """
Imports policies from a list of subscribers, or from a BGP speaker.

  csv FILE                  make the policies of a prefix those of a list
  flowspec                  follow flow specifications on standard input

"""
MORE = """
csv: FILE (- is standard input) has a line for each subscriber, or is LibreQoS's
ShapedDevices.csv. One change makes the policies of the prefix those of the file.
No other policy changes.

flowspec: standard input is JSON of ExaBGP or GoBGP, until it ends. A withdrawn rule
loses its policy. -s and -n can be repeated. Each limiter then has the policies.

Exit status: 0 done; 1 refused or failed, with the reason on standard error;
2 wrong usage.
"""


class UsageError(Exception):
    """The words make no sense; the message has the reason."""


@dataclasses.dataclass
class Options:
    """The options and words of a call."""

    words: list[str] = dataclasses.field(default_factory=list)
    sockets: list[str] = dataclasses.field(default_factory=list)
    names: list[str] = dataclasses.field(default_factory=list)
    texts: dict[str, str] = dataclasses.field(default_factory=dict)
    flags: set[str] = dataclasses.field(default_factory=set)
    timeout_s: float = TIMEOUT_USUAL
    removals: int = REMOVALS_USUAL  # percent

    def take(self, row: Row, value: str | None) -> None:
        """Takes one option."""
        if row.name == "socket":
            self.sockets.append(value)
        elif row.name == "name":
            self.names.append(value)
        elif row.name == "timeout":
            self.timeout_s = _seconds(value)
        elif row.name == "allow-removals":
            self.removals = _share(value)
        elif row.value:
            self.texts[row.name] = value
        else:
            self.flags.add(row.name)


def _seconds(text: str) -> float:
    number = float(text) if re.fullmatch(r"[0-9]+\.?[0-9]*|\.[0-9]+", text) else 0
    if not TIMEOUT_LEAST <= number <= TIMEOUT_MOST:
        raise UsageError(f"{text}: expected {TIMEOUT_LEAST:g} to {TIMEOUT_MOST:g} seconds")
    return number


def _share(text: str | None) -> int:
    """Returns percent of `25%`; all without a value."""
    if text is None:
        return 100
    if not re.fullmatch(r"[0-9]+%", text) or int(text[:-1]) > 100:
        raise UsageError(f"{text}: expected a share from 0% to 100%")
    return int(text[:-1])


def _long(word: str) -> tuple[Row, str | None]:
    """Returns the option of `--name` or `--name=value`, which may be shortened."""
    name, equals, value = word[2:].partition("=")
    rows = [row for row in ROWS if row.name == name] or [
        row for row in ROWS if row.name.startswith(name)]
    if len(rows) > 1:
        raise UsageError(f"--{name}: several options begin with this: give more of it")
    if not rows:
        meant = suggest.nearest(name, (row.name for row in ROWS))
        raise UsageError(f"--{name}: no such option: {suggest.remedy('--' + meant)}" if meant else
                         f"{word}: no such option")
    if equals and not rows[0].value:
        raise UsageError(f"{word}: no such option")
    return rows[0], value if equals else None


def _short(word: str) -> tuple[Row, str | None, str]:
    """Returns the option of `-n`, its value in the same word, and the options that are left."""
    row = next((row for row in ROWS if row.brief and row.brief == word[1]), None)
    if row is None:
        raise UsageError(f"{word}: no such option")
    rest = word[2:]
    if row.value:
        return row, rest or None, ""
    return row, None, "-" + rest if rest else ""


def parse(arguments: list[str]) -> Options:
    """Returns the options of a call. UsageError if they make no sense."""
    options, left = Options(), list(arguments)
    while left:
        word = left.pop(0)
        if word == "--":
            options.words += left
            break
        if not word.startswith("-") or word == "-":
            options.words.append(word)
            continue
        if word.startswith("--"):
            row, value = _long(word)
        else:
            row, value, more = _short(word)
            left[:0] = [more] if more else []
        if row.value and not row.optional and value is None:
            if not left:
                raise UsageError(f"{word}: expected a value after it")
            value = left.pop(0)
        options.take(row, value)
    if not options.flags & {"help", "version"}:
        check(options)
    return options


def _refuse(word: str, expected: str) -> None:
    raise UsageError(f"{word}: expected {expected}")


def check(options: Options) -> None:
    """Refuses words and options that do not go together."""
    if options.sockets and options.names:
        raise UsageError("-s, -n: either of them, or a group (-g) with both")
    for name in ("prefix", "parents"):
        if name in options.texts and not prefix_valid(options.texts[name]):
            _refuse(options.texts[name], "a prefix of 1 to 30 characters A-Z a-z 0-9 _ . -")
    kind = options.words[0] if options.words else "nothing"
    if kind == "csv":
        _check_csv(options)
    elif kind == "flowspec":
        _check_flowspec(options)
    else:
        _refuse(kind, "csv FILE, or flowspec")


def _check_csv(options: Options) -> None:
    direction = options.texts.get("direction")
    if len(options.words) != 2:
        _refuse("csv", "one file after it, or -")
    if direction not in ("download", "upload"):
        _refuse(direction if direction is not None else "csv",
                "--direction download, for packets to subscribers, or --direction upload")
    for name, there in (("keep", "keep" in options.flags), ("family", "family" in options.texts)):
        if there:
            _refuse("--" + name, "it with flowspec alone")


def _check_flowspec(options: Options) -> None:
    if len(options.words) != 1:
        _refuse(options.words[1], "nothing after flowspec")
    if options.texts.keys() & {"direction", "parents", "network"} or \
            options.flags & {"flat", "print", "skip-bad"} or options.removals != REMOVALS_USUAL:
        _refuse("flowspec", "no option but --prefix, --family and --keep")
    family = options.texts.get("family")
    if family not in (None, "ipv4", "ipv6"):
        _refuse(family, "--family ipv4 or ipv6")


def help_text() -> str:
    """Returns the help, in a form that completion is made of."""
    lines = []
    for row in ROWS:
        brief = f"-{row.brief}, " if row.brief else "    "
        value = (row.value if row.optional else " " + row.value) if row.value else ""
        lines.append(f"  {f'{brief}--{row.name}{value}':<28}  {row.help}\n")
    return USAGE + ABOUT + "".join(lines) + MORE

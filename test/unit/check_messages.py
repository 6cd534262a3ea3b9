#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Messages about documents are in tables. Each row has a call and a unit test, and no other row has
its ID. Rendered with sample arguments, each message follows the rules of the style guide.

Usage: check_messages.py SOURCE_ROOT WEIR
"""

import pathlib
import re
import subprocess
import sys

from tables import fail, rows, words

TABLE = re.compile(r"#define (\w+_MESSAGES)\(X\)")
CALL = re.compile(r"\bMESSAGE\((\w+)\)")
TOKEN = re.compile(r"""/\*.*?\*/|'(?:[^'\\\n]|\\.)'|"((?:[^"\\]|\\.)*)\"""", re.S)
CONVERSION = re.compile(r"%(?:\.\*)?(?:z|l|ll)?[cdgsu]")
SAMPLES = {"c": "6", "d": "17", "g": "0.5", "s": "\"value\"", "u": "17"}
MOST = 190  # characters of a message with short arguments
# Errors without an expected value or a remedy: Weir has only the cause.
CAUSES = {"FILE_UNREADABLE", "NO_MEMORY", "MORE_ERRORS"}
# OVERRIDE_LIMIT has a test of its text. The others need a state that no unit test makes: a file
# that changes during the reading, a machine without time zones, files of 256 MiB, no memory.
WITHOUT_TEST = {"OVERRIDE_LIMIT", "FILES_CHANGED", "NO_ZONES", "INCLUDE_TOO_LARGE", "NO_MEMORY",
                "DIRECTORY_UNREADABLE"}
# Tables whose rows `weir --messages` prints. Tests of weirsim compare words.
OF_WEIR = {"JSON_MESSAGES", "CONFIG_MESSAGES"}


def columns(rest):
    """Returns form, text, remedy and found of a row: formats, or "" for a missing one."""
    form, *parts = re.findall(r'\s*((?:"(?:[^"\\]|\\.)*"|[^,"])+)', rest.replace("PRI", " PRI"))
    parts = [words(re.sub(r" PRI([iuxd])(?:64|32) ?", r'"l\1"', part)).replace('\\"', '"')
             for part in parts]
    return form.strip(), *(parts + ["", ""])[:3]


def sample(text):
    """Returns the format with a sample for each conversion."""
    text = CONVERSION.sub(lambda found: SAMPLES[found[0][-1]], text.replace("%%", "\0"))
    return text.replace("\0", "%")


def rendered(form, text, remedy, found):
    """Returns the words of a message after its place, as people see them."""
    before = {"EXPECTED": "expected ", "REQUIRES": '"key" requires ',
              "EXCLUDES": '"key": 7 cannot be combined with '}.get(form, "")
    if form in ("EXPECTED", "WARNING"):
        found = found or "7"
    return ": ".join(sample(part) for part in (found, text and before + text, remedy) if part)


def check_words(name, form, text, remedy, found):
    """Yields the problems of the words of a row."""
    line = rendered(form, text, remedy, found)
    if len(line) > MOST:
        yield f"{name}: {len(line)} characters: {line}"
    if re.search(r"[.!]$|: :|  |%[a-z.*]|^ | $", line):
        yield f"{name}: ends with a full stop, or has blanks or an unknown conversion: {line}"
    if re.match(r"[A-Z][a-z]", sample(text)):
        yield f"{name}: begins with a capital letter: {line}"
    if form == "EXCLUDES" and not remedy:
        yield f"{name}: has no remedy: {line}"
    if form == "EXPECTED" and not text + remedy and name not in CAUSES:
        yield f"{name}: has no expected value and no remedy: {line}"


def tables(root):
    """Yields (name of the table, ID, columns) of all rows."""
    for path in sorted((*root.glob("lib/**/*.h"), *root.glob("app/**/*.h"))):
        text = path.read_text(encoding="utf-8")
        for table in TABLE.findall(text):
            for name, rest in rows(text, table):
                yield table, name, columns(rest)


def calls(root):
    """Returns the IDs that calls name."""
    return {name for wing in ("lib", "app") for path in (root / wing).rglob("*.c")
            for name in CALL.findall(path.read_text(encoding="utf-8"))}


def tested(root):
    """Returns the words with _ in the strings of unit tests in C, which have the IDs."""
    strings = (text for path in (root / "test/unit").rglob("*.[ch]")
               for text in TOKEN.findall(path.read_text(encoding="utf-8")))
    return {word for text in strings for word in re.findall(r"(?<![\w.])[a-z]+(?:_[a-z]+)+", text)}


def check(root, weir):
    """Yields all problems."""
    table, said, proven = {}, calls(root), tested(root)
    printed = subprocess.run([weir, "--messages"], capture_output=True, text=True, check=True)
    for of, name, parts in tables(root):
        if name in table:
            yield f"{name}: has two rows"
        table[name] = of
        if name not in said:
            yield f"{name}: no call names it"
        if of in OF_WEIR and (name.lower() in proven) == (name in WITHOUT_TEST):
            yield f"{name}: no unit test has {name.lower()}, or one more has"
        if "_" not in name:
            yield f"{name}: an ID has at least two words"
        if (f"| `{name.lower()}` |" in printed.stdout) != (of in OF_WEIR):
            yield f"{name}: weir --messages prints it, or does not"
        yield from check_words(name, *parts)
    if len(table) < 200:
        yield f"only {len(table)} rows: this test does not understand the tables"


if __name__ == "__main__":
    sys.exit(fail(check(pathlib.Path(sys.argv[1]), sys.argv[2])))

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Errors and warnings about a file: PLACE, then the problem, then a remedy."""

import contextlib
import os
import threading
from typing import Callable

MOST = 20  # errors, and warnings, that are written of one file
LOCK = threading.Lock()


def write_to(descriptor: int, text: str) -> None:
    """Writes a text whole. OSError if that fails."""
    data = text.encode("utf-8", "surrogateescape")
    while data:
        data = data[os.write(descriptor, data):]


def report(text: str) -> None:
    """Writes whole lines to standard error. Any thread."""
    with LOCK, contextlib.suppress(OSError):  # a reader that has gone needs no message
        write_to(2, text + "\n")


def complain(text: str) -> None:
    """Reports a problem of the program's own."""
    report("weir-import: " + text)


class Failure(Exception):
    """The import cannot go on; the message has the reason."""


class Diagnostics:
    """Writes the first errors and warnings of a file, and counts all of them."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self.write = write
        self.errors = self.warnings = 0

    def count(self, warning: bool) -> bool:
        """Counts one; returns true if it is to be written."""
        shown = (self.warnings if warning else self.errors) < MOST
        self.warnings += warning
        self.errors += not warning
        return shown

    def add(self, warning: bool, *parts: str) -> None:
        """Adds one, of parts such as FILE:LINE, PLACE, FOUND, EXPECTED and REMEDY."""
        if self.count(warning):
            where, *rest = parts
            self.write(": ".join([where, *(["warning"] if warning else []),
                                  *(part for part in rest if part)]))

    def finish(self, file: str) -> None:
        """Writes how many more there are, if any were only counted."""
        for warning, number in ((False, self.errors), (True, self.warnings)):
            if number > MOST:
                kind = "warnings" if warning else "errors"
                self.write(": ".join([file, *(["warning"] if warning else []),
                                      f"and {number - MOST} more {kind}, {number} in all"]))


def place(file: str, line: int) -> str:
    """Returns FILE:LINE, or FILE for line 0."""
    return f"{file}:{line}" if line else file

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The program weir-import."""

import signal

from weir_import import follower, list_command, options
from weir_import.diagnostics import Failure, complain, report


def main(arguments: list[str], version: str) -> int:
    """Runs a command; returns the exit status."""
    # A list ends as programs do: by Ctrl-C, and if its output has no reader.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        given = options.parse(arguments)
    except options.UsageError as error:
        complain(str(error))
        report(options.USAGE + "See weir-import --help.")
        return 2
    if "version" in given.flags:
        return list_command.write(f"weir-import {version}\n", 0)
    if "help" in given.flags:
        return list_command.write(options.help_text(), 0)
    try:
        if given.words[0] == "flowspec":
            return follower.run(given)
        return list_command.run(given)
    except Failure as error:
        complain(str(error))
        return 1

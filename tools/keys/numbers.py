#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Writes the tables of numbers of the manual from the table of lib/io/numbers.

`weir --numbers` prints the numbers of a policy, and `weir-exporter --metrics` the metrics. With
--check it writes nothing and exits with 1 if a file is out of date.

Usage: numbers.py [--check] WEIR WEIR_EXPORTER SOURCE_ROOT
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

TELEMETRY, MONITORING = "doc/operate/telemetry.md", "doc/operate/monitoring.md"
BLOCK = re.compile(r"(<!-- numbers: ([\w -]+) -->\n).*?(?=<!-- end of numbers -->)", re.S)
METRICS = re.compile(r"(<!-- metrics -->\n).*?(?=<!-- end of metrics -->)", re.S)
METRICS_HEAD = "| metric | type | labels | meaning |\n|---|---|---|---|\n"


def output(*command):
    """Returns the output of a program."""
    return subprocess.run(command, capture_output=True, check=True, timeout=60, text=True).stdout


def place(row):
    """Returns a number's object in the reply: "-" for the reply itself, "columns" for neither."""
    if "path" not in row:
        return "columns"
    return row["path"].split(".")[0] if "." in row["path"] else "-"


def table(rows):
    """Yields the lines of a table, with the policies unless all rows have the same ones."""
    mixed = len({row["applies"] for row in rows}) > 1
    yield f"| `/weir/policy` | `/weir/policy_stats` |{' policies |' if mixed else ''} meaning |"
    yield f"|---|---|{'---|' if mixed else ''}---|"
    for row in rows:
        path, column = (f"`{row[key]}`" if key in row else "" for key in ("path", "column"))
        former = ", ".join(f"`{name}`" for name in row["former"])
        yield (f"| {path} | {column} |{' ' + row['applies'] + ' |' if mixed else ''} {row['help']}"
               f"{'. Former: ' + former if former else ''} |")


def telemetry_of(rows, text):
    """Returns the page with its tables written again, and the numbers in them."""
    shown = []

    def block(match):
        inside = [row for row in rows if place(row) in match.group(2).split()]
        shown.extend(inside)
        return match.group(1) + "\n".join(table(inside)) + "\n"

    return BLOCK.sub(block, text), shown


def main():
    """Writes both files, or compares them. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("weir")
    parser.add_argument("exporter")
    parser.add_argument("root", type=pathlib.Path)
    options = parser.parse_args()
    rows = [json.loads(line) for line in output(options.weir, "--numbers").splitlines()]
    metrics = output(options.exporter, "--metrics")
    telemetry, monitoring = options.root / TELEMETRY, options.root / MONITORING
    text, shown = telemetry_of(rows, telemetry.read_text(encoding="utf-8"))
    wanted = {telemetry: text,
              monitoring: METRICS.sub(lambda match: match.group(1) + METRICS_HEAD + metrics,
                                      monitoring.read_text(encoding="utf-8"))}
    command = f"run tools/keys/numbers.py {options.weir} {options.exporter} ."
    faults = []
    for path, new in wanted.items():
        if options.check and path.read_text(encoding="utf-8") != new:
            faults.append(f"{path}: out of date: {command}")
        elif not options.check:
            path.write_text(new, encoding="utf-8")
    faults += [f"{TELEMETRY}: {shown.count(row)} tables have the number {row['help']!r}"
               for row in rows if shown.count(row) != 1]
    for line in faults:
        print(line, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

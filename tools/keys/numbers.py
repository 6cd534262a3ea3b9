#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Writes the tables of numbers of the manual from the table of lib/io/numbers.

`weir --numbers` prints the numbers of a policy, and `weir-exporter --metrics` the metrics. The name
of a column of /weir/policy_stats gives the metric of a policy, so the table of metrics leaves these
out, and former names. With --check it writes nothing and exits with 1 if a file is out of date.

Usage: numbers.py [--check] WEIR WEIR_EXPORTER SOURCE_ROOT
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

TELEMETRY, MONITORING = "doc/operate/telemetry.md", "doc/operate/monitoring.md"
BLOCK = re.compile(r"(<!-- numbers -->\n).*?(?=<!-- end of numbers -->)", re.S)
METRICS = re.compile(r"(<!-- metrics -->\n).*?(?=<!-- end of metrics -->)", re.S)
METRICS_HEAD = "| metric | type | labels | meaning |\n|---|---|---|---|\n"
METRIC = re.compile(r"\| `(\w+)` \| \w+ \| [\w, ]* \| (.*) \|")
UNITS = ("bytes", "packets", "flows")


def output(*command):
    """Returns the output of a program."""
    return subprocess.run(command, capture_output=True, check=True, timeout=60, text=True).stdout


def shown(row):
    """Returns the names of a number in weirctl: of a row, and of a column if that differs."""
    names = [row[key] for key in ("label", "head") if row.get(key)]
    return names[:1] if len(names) > 1 and names[0].upper() == names[1] else names


def merged(rows):
    """Yields the rows, with a number in packets and the same one in units as one row."""
    before = None
    for row in rows:
        names = {key: ([row[key]] if key in row else []) for key in ("path", "column")}
        row = {**row, **names, "shown": shown(row)}
        if before and before["help"] == row["help"] + ", in packets":
            row = {**row, **{key: before[key] + row[key] for key in ("path", "column", "former")},
                   "shown": list(dict.fromkeys(before["shown"] + row["shown"]))}
        elif before:
            yield before
        before = row
    yield before


def table(rows):
    """Yields the lines of the table of numbers."""
    yield "| `/weir/policy` | `/weir/policy_stats` | `weirctl` | policies | meaning |"
    yield "|---|---|---|---|---|"
    for row in merged(rows):
        path, column, names, former = (", ".join(f"`{name}`" for name in row[key])
                                       for key in ("path", "column", "shown", "former"))
        applies = row["applies"].removesuffix(" policies").removeprefix("policies ")
        yield (f"| {path} | {column} | {names} | {applies} | {row['help']}"
               f"{'. Former: ' + former if former else ''} |")


def metrics_by_column(rows):
    """Returns the names of metrics that follow from the columns of /weir/policy_stats."""
    names = set()
    for column in (row["column"] for row in rows if "column" in row):
        stem, _, kind = column.rpartition("_")
        if column.endswith("_per_s"):
            names |= {f"{column.removesuffix('_per_s')}_{unit}_per_second" for unit in UNITS}
        elif kind in ("units", "packets"):
            names |= {f"{stem}_{unit}{end}" for unit in UNITS for end in ("", "_total")}
        else:
            names.add(column)
    return {f"weir_policy_{name}" for name in names}


def metrics_of(text, rows):
    """Returns the rows of the table of metrics."""
    known = metrics_by_column(rows)
    found = [(line, METRIC.fullmatch(line)) for line in text.splitlines()]
    return "".join(f"{line}\n" for line, match in found
                   if match[1] not in known and not match[2].startswith("Former name"))


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
    numbers = "\n".join(table(rows)) + "\n"
    wanted = {telemetry: BLOCK.sub(lambda match: match.group(1) + numbers,
                                   telemetry.read_text(encoding="utf-8")),
              monitoring: METRICS.sub(
                  lambda match: match.group(1) + METRICS_HEAD + metrics_of(metrics, rows),
                  monitoring.read_text(encoding="utf-8"))}
    command = f"run tools/keys/numbers.py {options.weir} {options.exporter} ."
    faults = []
    for path, new in wanted.items():
        if options.check and path.read_text(encoding="utf-8") != new:
            faults.append(f"{path}: out of date: {command}")
        elif not options.check:
            path.write_text(new, encoding="utf-8")
    faults += [f"{path}: no marker of the table" for path, block in (
        (telemetry, BLOCK), (monitoring, METRICS)) if not block.search(wanted[path])]
    for line in faults:
        print(line, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

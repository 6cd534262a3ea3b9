# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Runs scenarios in weirsim, several at a time, and reads their results."""

import concurrent.futures
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from testbed.revision import ROOT  # noqa: E402 (needs the path above)


class EvaluationError(Exception):
    """A run failed."""


class Series:
    """One run over time: columns by name, rates in bit/s."""

    def __init__(self, times, columns):
        """columns: {name: a value a time}, for the interval that ends then."""
        self.times = list(times)
        self.names = list(columns)
        self._columns = columns

    @classmethod
    def read(cls, path):
        """Reads a file of weirsim's --series."""
        with open(path, encoding="utf-8", newline="") as file:
            heads, *rows = csv.reader(file)
        times, *columns = zip(*[[float(cell) for cell in row] for row in rows])
        return cls(times, dict(zip(heads[1:], columns)))

    def __getitem__(self, name):
        return list(self._columns[name])

    def flows(self):
        """Returns the goodput of each flow."""
        return [list(self._columns[name]) for name in self.names if name.startswith("flow")]

    def between(self, name, begin, end):
        """Returns the mean of a column over (begin, end]."""
        values = [value for time, value in zip(self.times, self._columns[name])
                  if begin + 1e-9 < time <= end + 1e-9]
        return sum(values) / len(values)

    def seconds(self, name, begin, end):
        """Returns the means of whole seconds."""
        return [self.between(name, second, second + 1)
                for second in range(int(begin), int(end))]


class Run:
    """The results of one seed, and its cost."""

    def __init__(self, summary, series, words=""):
        self.summary = summary
        self.series = series
        cost = re.search(r"([\d.]+) s of CPU.* ([\d.]+) MiB", words)
        self.cpu_s, self.peak_mib = map(float, cost.groups()) if cost else (None, None)


def weirsim():
    """Returns the path of weirsim."""
    build = os.environ.get("WEIR_BUILD") or os.path.join(ROOT, "build")
    return os.path.join(build, "app", "weirsim", "weirsim")


def execute(command):
    """Runs a program to its end."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise EvaluationError(f"{command[0]}: {error.strerror}: is it built?") from None


def run_one(scenario, seed, series):
    """Runs one seed of one scenario."""
    with tempfile.TemporaryDirectory(prefix="weir-evaluate-") as folder:
        path = os.path.join(folder, "scenario.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(scenario, file)
        command = [weirsim(), "run", path, "--seed", str(seed), "--json", "-"]
        if series:
            command += ["--series", os.path.join(folder, "series.csv")]
        done = execute(command)
        if done.returncode:
            raise EvaluationError(f"{scenario['name']}, seed {seed}: {done.stderr.strip()}")
        return Run(json.loads(done.stdout),
                   Series.read(os.path.join(folder, "series.csv")) if series else None,
                   done.stderr)


class Simulator:
    """Runs scenarios, one at a time for each CPU; results are in the order of the seeds."""

    def __init__(self, seeds):
        self.seeds = seeds
        self.pool = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))

    def runs(self, scenario, seeds=None, series=False):
        """Returns [Run], one a seed. A scenario can be a function of the seed."""
        seeds = seeds or self.seeds
        make = scenario if callable(scenario) else lambda seed: scenario
        futures = [self.pool.submit(run_one, make(seed), seed, series)
                   for seed in range(1, seeds + 1)]
        runs = [future.result() for future in futures]
        print(f"  {make(1)['name']}: {seeds} seeds", file=sys.stderr, flush=True)
        return runs

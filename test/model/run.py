#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks the ledger's protocol with spin, for every order of events within small bounds.

Then breaks each rule of the protocol: spin must find the violation. Exits with 77 without spin.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ledger.pml")
SKIP = 77
# Time limit of a program; a longer one has hung, or waits for a CPU. test/run.py sets it.
ANSWERS_S = int(os.environ.get("WEIR_ANSWERS_S", "600"))

# The bounds, by the events that are possible within them.
BOUNDS = {
    "grants and promises": "-DSAYS_A=2",
    "promises taken back": "-DSAYS_F=3 -DTOTAL=1 -DMOST=1 -DBACK=0",
    "the friend crashes": "-DCRASHES_F=1 -DTOTAL=1 -DMOST=1 -DBACK=0",
    "the promiser crashes": "-DCRASHES_A=1 -DTOTAL=1 -DMOST=1 -DBACK=0",
}
# Each broken rule (BREAK in the model), and the bounds in which it shows.
BROKEN = {
    "the lock is not kept": (1, "grants and promises"),
    "told before it is settled": (2, "the promiser crashes"),
    "granted is added to adopted": (3, "grants and promises"),
    "a promise to an earlier start": (4, "the friend crashes"),
    "an echo of an earlier epoch": (5, "the promiser crashes"),
    "an echo of an earlier statement": (6, "promises taken back"),
    "no patience": (7, "grants and promises"),
}


def search(folder, options, effort):
    """(states, whether an assertion failed) of one exhaustive search; gcc's effort for it."""
    def call(*command):
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True,
                              timeout=ANSWERS_S).stdout

    call("spin", "-a", *options.split(), MODEL)
    call("gcc", effort, "-w", "-DSAFETY", "-DMEMLIM=2000", "-o", "pan", "pan.c")
    output = call("./pan", "-w24", "-m100000")
    errors = re.search(r"errors: (\d+)", output)
    states = re.search(r"(\d+) states, stored", output)
    if not errors or not states or "max search depth too small" in output:
        sys.exit(f"no verdict:\n{output}")
    if errors[1] == "0" and "Search not completed" in output:
        sys.exit(f"not searched to the end:\n{output}")
    return int(states[1]), errors[1] != "0"


def main():
    """Prints a line for each search."""
    failed = False
    if not shutil.which("spin"):
        print("no spin")
        sys.exit(SKIP)
    with tempfile.TemporaryDirectory(prefix="weir-model-") as folder:
        for name, options in BOUNDS.items():
            states, wrong = search(folder, options, "-O2")
            failed |= wrong
            print(f"{name}: {states} states, {'VIOLATED' if wrong else 'holds'}")
        for name, (number, bounds) in BROKEN.items():
            _, wrong = search(folder, f"{BOUNDS[bounds]} -DBREAK={number}", "-O0")
            failed |= not wrong
            print(f"{name}: {'found' if wrong else 'NOT FOUND'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Shared by the tests of weirsim and its siblings: programs, expectations and the test runner."""

import os
import subprocess
import sys
import xml.dom.minidom

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("WEIR_BUILD") or os.path.join(ROOT, "build")
WEIRSIM = os.path.join(BUILD, "app", "weirsim", "weirsim")
PLOT = os.path.join(ROOT, "tools", "plot")
STUDY = os.path.join(BUILD, "tools", "study", "weir-study")
TORTURE = os.path.join(BUILD, "test", "torture", "torture")
# Most seconds of a program; longer runs hang or have no CPU. The runner of all tests sets it.
ANSWERS_S = int(os.environ.get("WEIR_ANSWERS_S", "600"))
# Set by `test --long`: every seed of the tests that otherwise run half of them.
ALL_SEEDS = "WEIR_ALL_SEEDS" in os.environ


def expect(condition, words):
    """Fails with these words unless the condition holds."""
    if not condition:
        raise AssertionError(words)


def weirsim(*arguments, program=WEIRSIM, timeout=ANSWERS_S, **options):
    """Runs weirsim; returns the completed process."""
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False,
                          timeout=timeout, **options)


def study(*arguments):
    """Runs weir-study; returns the completed process."""
    return weirsim(*arguments, program=STUDY)


def torture(*arguments):
    """Runs torture; returns the completed process."""
    return weirsim(*arguments, program=TORTURE)


def plot(*arguments, **options):
    """Runs tools/plot; returns the completed process."""
    return weirsim("-B", PLOT, *arguments, program="/usr/bin/python3", **options)


def curves(kind, path, *options):
    """Draws a file with tools/plot; returns the points of each line, as text."""
    done = plot(kind, path, "-", *options)
    expect(done.returncode == 0 and not done.stderr, f"{kind} {options}: {done.stderr}")
    found = [line.getAttribute("points") for line in
             xml.dom.minidom.parseString(done.stdout).getElementsByTagName("polyline")]
    expect(not any("nan" in points or "inf" in points for points in found), f"{kind} {options}")
    return found


def run_tests(tests, *arguments):
    """Runs all tests with these arguments, and exits: 1 if one failed."""
    failed = 0
    for test in tests:
        try:
            words = test(*arguments)
            print(f"ok    {test.__name__}" + (f": {words}" if words else ""), flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            print(f"FAIL  {test.__name__}: {error}", flush=True)
            failed += 1
    sys.exit(1 if failed else 0)

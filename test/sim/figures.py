#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Figures in doc/ equal the present program's; and tools/figures detects differences."""

import os
import re
import subprocess
import tempfile

from suite import ALL_SEEDS, ANSWERS_S, ROOT, expect, run_tests

FIGURES = [os.path.join(ROOT, "tools", "figures")]
EVALUATE = ["/usr/bin/python3", "-B", os.path.join(ROOT, "tools", "evaluation", "main.py")]
COMMAND = "build/tools/study/weir-study penalty --packets 2000 --seeds 1"


def run(*command):
    """Runs a tool; returns the completed process."""
    return subprocess.run([*command], capture_output=True, text=True, check=False,
                          timeout=ANSWERS_S, stdin=subprocess.DEVNULL)


def head():
    """Returns the present commit; None without a history."""
    done = run("git", "-c", f"safe.directory={os.path.realpath(ROOT)}", "-C", ROOT, "rev-parse",
               "HEAD")
    return done.stdout.strip()[:10] if done.returncode == 0 else None


def verdict(page, text):
    """Returns the tool's output for a page with this text."""
    with open(page, "w", encoding="utf-8") as file:
        file.write(text)
    done = run(*FIGURES, page)
    expect(done.returncode in (0, 1), done.stderr)
    return done.stdout


def faults_are_found():
    """A wrong or missing digit, commit or check is found; a right page passes."""
    shown = run(*[os.path.join(os.environ.get("WEIR_BUILD") or os.path.join(ROOT, "build"),
                               "tools/study/weir-study"), *COMMAND.split()[1:]]).stdout
    good = (f"Figures of commit `{head() or 'unknown'}`:\n\n<!-- checked: {COMMAND} -->\n"
            f"{shown}<!-- end -->\n")
    digit = re.search(r"\d(?=\.\d)", shown)
    other = shown[:digit.start()] + str((int(digit[0]) + 1) % 10) + shown[digit.end():]
    with tempfile.TemporaryDirectory(prefix="weir-figures-") as folder:
        page = os.path.join(folder, "page.md")
        expect("1 pages are of this program" in verdict(page, good), verdict(page, good))
        for text, words in ((good.replace(shown, other), "other figures now"),
                            (good.replace("checked:", "begin:"), "none of its figures is checked"),
                            (good.replace("of commit", "of"), "expected one"),
                            (good + "\n<!-- measured: build/x -->\n1 s\n<!-- end -->\n",
                             "the commit of its figures is missing"),
                            (good.replace(head() or "unknown", "0" * 10),
                             "not one that led here" if head() else "this program"),
                            (good.replace(COMMAND, COMMAND + " --nonsense"), "")):
            found = verdict(page, text)
            expect(words in found and "1 pages" not in found or not head(), f"{words}: {found}")


def pages():
    """Checks all figures of all pages. The bursts take three quarters of the time."""
    done = run(*FIGURES, *(() if ALL_SEEDS else ("--without", "burst.py")))
    expect(done.returncode == 0, done.stdout + done.stderr)
    return done.stdout.strip().replace("\n", "; ")


def evaluation():
    """Repeats whole experiments of the evaluation, with the document's seeds."""
    done = run(*EVALUATE, "--verify")
    expect(done.returncode == 0, done.stderr)
    return done.stdout.strip()


if __name__ == "__main__":
    run_tests([faults_are_found, pages, evaluation])

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Results of an experiment, and their output."""

import json
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from plotter import COLOURS, Lines, Series, picture  # noqa: E402 (needs the path above)


class Result:
    """Rows for the JSON, a section of the document, and pictures by name."""

    def __init__(self, title, method, paper, conclusion):
        """method: the scenario; paper: its result; conclusion: Weir's; a sentence or two each."""
        self.title, self.method = title, method
        self.paper, self.conclusion = paper, conclusion
        self.rows = []
        self.parts = []
        self.pictures = {}
        self.verdicts = []  # (target, reached, words)

    def table(self, heads, rows):
        """Adds a table in Markdown."""
        lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
        lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
        self.parts.append("\n".join(lines))

    def say(self, text):
        """Adds a paragraph."""
        self.parts.append(text)

    def target(self, target, reached, words):
        """Adds one of our targets, if it is reached, and the figure."""
        self.verdicts.append((target, reached, words))

    def picture(self, name, title, x_label, y_label, lines, note=""):
        """Adds a picture. lines: [(label, [(x, y)])]"""
        series = [Series(label, points, COLOURS[k % len(COLOURS)], width=1.8)
                  for k, (label, points) in enumerate(lines)]
        self.pictures[name] = picture(Lines(title, x_label, y_label, series, note))
        shown = f"![{title}](evaluation/{name}.svg)"
        if self.parts and self.parts[-1].startswith("!["):  # pictures in a row are one paragraph
            shown = self.parts.pop() + "\n" + shown
        self.parts.append(shown)

    def markdown(self, key):
        """Returns the section. The table of all experiments has the paper's result and Weir's."""
        lines = [f"## {key}: {self.title}", self.method, *self.parts]
        if self.verdicts:
            lines.append("\n".join(
                f"- {'Reached' if reached else '**Not reached**'}: {target}. {words}"
                for target, reached, words in self.verdicts))
        return "\n\n".join(lines) + "\n"


NEVER = "never"  # JSON has no infinity


def dumped(value, indent):
    """Returns rows as JSON, in which an infinite time is a word."""
    def plain(one):
        if isinstance(one, dict):
            return {key: plain(member) for key, member in one.items()}
        if isinstance(one, (list, tuple)):
            return [plain(member) for member in one]
        return NEVER if one == math.inf else one

    return json.dumps(plain(value), indent=indent, allow_nan=False) + "\n"


def loaded(text):
    """Returns the rows of dumped()."""
    def figures(one):
        if isinstance(one, dict):
            return {key: figures(member) for key, member in one.items()}
        if isinstance(one, list):
            return [figures(member) for member in one]
        return math.inf if one == NEVER else one

    return figures(json.loads(text))


def histogram(values, low, high, bins):
    """Returns [(middle, share of the values)]; values outside are counted at the edges."""
    counts = [0] * bins
    for value in values:
        k = int((value - low) / (high - low) * bins)
        counts[min(max(k, 0), bins - 1)] += 1
    width = (high - low) / bins
    return [(low + (k + 0.5) * width, count / len(values)) for k, count in enumerate(counts)]

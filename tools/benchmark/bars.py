# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Bars as SVG, in the looks of the other pictures: a median each, and a line from p10 to p90."""

import html
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from testbed.plot import COLOURS, STYLE, WIDTH, ticks  # noqa: E402 (needs the path above)

LEFT, RIGHT, TOP, ROW, BOTTOM = 250, 80, 64, 30, 54
OURS, OTHERS = COLOURS[0], "#9aa5ad"


class Bar:
    """One contender: {"median", "p10", "p90"}."""

    def __init__(self, label, spread, ours=True):
        self.label, self.spread = label, spread
        self.colour = OURS if ours else OTHERS


def text(x, y, words, anchor="start", kind=""):
    """One line of it."""
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">'
            f"{html.escape(words)}</text>")


def line(x1, y1, x2, y2, kind):
    """From here to there."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {kind}/>'


def picture(title, note, unit, bars):
    """The whole picture."""
    height = TOP + ROW * len(bars) + BOTTOM
    # The longest line of doubt may leave the picture rather than make all bars short.
    most = max(bar.spread["median"] for bar in bars) * 1.25

    def place(value):
        return LEFT + min(value, most) / most * (WIDTH - LEFT - RIGHT)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
             f'width="{WIDTH}" height="{height}">', f"<style>{STYLE}</style>",
             f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
             text(24, 26, title, kind="title"), text(24, 45, note, kind="note")]
    bottom = TOP + ROW * len(bars)
    for value in ticks(0, most):
        parts += [line(place(value), TOP, place(value), bottom, 'class="grid"'),
                  text(place(value), bottom + 18, f"{value:g}", "middle")]
    for k, bar in enumerate(bars):
        y, spread = TOP + ROW * k, bar.spread
        end = place(spread["median"])
        parts += [text(LEFT - 10, y + 20, bar.label, "end"),
                  f'<rect x="{LEFT}" y="{y + 5}" width="{end - LEFT:.1f}" height="{ROW - 10}" '
                  f'fill="{bar.colour}"/>',
                  line(place(spread["p10"]), y + ROW / 2, place(spread["p90"]), y + ROW / 2,
                       'class="axis"'),
                  text(max(end, place(spread["p90"])) + 8, y + 20, f"{spread['median']:.4g}")]
    parts += [line(LEFT, TOP, LEFT, bottom, 'class="axis"'),
              text((LEFT + WIDTH - RIGHT) / 2, bottom + 40, unit, "middle"), "</svg>"]
    return "\n".join(parts) + "\n"

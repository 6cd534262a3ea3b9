# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Time series as SVG, written by hand: nothing to install, and any browser shows it."""

import html
import math

WIDTH, HEIGHT = 960, 540
LEFT, RIGHT, TOP, BOTTOM = 74, 24, 58, 64  # room around the axes, without the legend
LEGEND_ROW = 22
COLOURS = ("#1b6ca8", "#d1682e", "#3a8f5c", "#8c4f9f", "#b8860b", "#4d7c8a", "#a23b5e", "#6b6b2f")
AGGREGATE_COLOUR = "#222222"
LIMIT_COLOUR = "#c62828"
STYLE = """
text { font: 14px sans-serif; fill: #222 }
.title { font-size: 17px; font-weight: bold }
.grid { stroke: #e2e2e2; stroke-width: 1 }
.axis { stroke: #444; stroke-width: 1.2; fill: none }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round }
.note { font-size: 12px; fill: #666 }
"""


class Series:
    """A line: points are (x, y)."""

    def __init__(self, label, points, colour, dash=None, width=1.8):
        self.label = label
        self.points = points
        self.colour = colour
        self.dash = dash
        self.width = width

    def attributes(self):
        """How it is drawn, in the picture and in the legend."""
        dash = f' stroke-dasharray="{self.dash}"' if self.dash else ""
        return f'class="line" stroke="{self.colour}" style="stroke-width:{self.width}"{dash}'


def ticks(low, high, wanted=8):
    """Round numbers that cover [low, high]."""
    raw = (high - low) / wanted or 1
    magnitude = 10 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def legend_places(series):
    """[(x, row)] for each entry, as many in a row as fit."""
    places, x, row = [], LEFT, 0
    for one in series:
        width = 48 + 7.6 * len(one.label)
        if x + width > WIDTH and x > LEFT:
            x, row = LEFT, row + 1
        places.append((x, row))
        x += width
    return places


class Plot:
    """Axes from (x0, 0) to (x1, the largest value and some air).

    shade: (from, to) of x that are to be seen apart.
    """

    def __init__(self, title, x_label, y_label, series, note="", shade=None):
        self.title, self.x_label, self.y_label, self.note = title, x_label, y_label, note
        self.series = series
        self.shade = shade
        self.places = legend_places(series)
        self.bottom = HEIGHT - BOTTOM - LEGEND_ROW * (self.places[-1][1] + 1)
        xs = [x for one in series for x, _ in one.points]
        ys = [y for one in series for _, y in one.points]
        self.x0, self.x1 = (min(xs), max(xs)) if xs else (0, 1)
        self.y1 = max(ys + [1e-9]) * 1.08

    def _x(self, value):
        span = self.x1 - self.x0 or 1
        return LEFT + (value - self.x0) / span * (WIDTH - LEFT - RIGHT)

    def _y(self, value):
        return self.bottom - value / self.y1 * (self.bottom - TOP)

    def _text(self, x, y, text, anchor="middle", kind="", turn=False):
        rotation = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
        return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}"{rotation}>'
                f"{html.escape(text)}</text>")

    def _line(self, x1, y1, x2, y2, kind):
        return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {kind}/>'

    def _axes(self):
        bottom, right = self.bottom, WIDTH - RIGHT
        for value in ticks(0, self.y1):
            yield self._line(LEFT, self._y(value), right, self._y(value), 'class="grid"')
            yield self._text(LEFT - 8, self._y(value) + 5, f"{value:g}", "end")
        for value in ticks(self.x0, self.x1, 12):
            yield self._line(self._x(value), bottom, self._x(value), bottom + 5, 'class="axis"')
            yield self._text(self._x(value), bottom + 21, f"{value:g}")
        yield f'<path class="axis" d="M{LEFT} {TOP} V{bottom} H{right}"/>'
        yield self._text((LEFT + right) / 2, bottom + 42, self.x_label)
        yield self._text(22, (TOP + bottom) / 2, self.y_label, turn=True)

    def _curve(self, one):
        points = " ".join(f"{self._x(x):.1f},{self._y(y):.1f}" for x, y in one.points)
        return f'<polyline {one.attributes()} points="{points}"/>'

    def _legend(self):
        for one, (x, row) in zip(self.series, self.places):
            y = self.bottom + BOTTOM + LEGEND_ROW * row + 6
            yield self._line(x, y - 5, x + 26, y - 5, one.attributes())
            yield self._text(x + 32, y, one.label, "start")

    def _shaded(self):
        if self.shade:
            x, end = map(self._x, self.shade)
            yield (f'<rect x="{x:.1f}" y="{TOP}" width="{end - x:.1f}" '
                   f'height="{self.bottom - TOP}" fill="#f3f0e6"/>')

    def svg(self):
        """The whole picture."""
        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
                 f'width="{WIDTH}" height="{HEIGHT}">', f"<style>{STYLE}</style>",
                 f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
                 self._text(LEFT, 26, self.title, "start", "title"),
                 self._text(LEFT, 45, self.note, "start", "note"),
                 *self._shaded(), *self._axes(), *map(self._curve, self.series),
                 *self._legend(), "</svg>"]
        return "\n".join(parts) + "\n"


def forwarding_rates(run, limit_bps, title, word="limiter", width=0.5):
    """Forwarding rate of each limiter and of all together, in Mbit/s, like the paper's Figure 3."""
    bins = run.recorder.bins(0, run.end, width)
    series = [Series(f"{word} {k + 1} ({flows} flows)",
                     [(time, rates[k] / 1e6) for time, rates in bins], COLOURS[k])
              for k, flows in enumerate(run.flows[:len(COLOURS)])]
    series.append(Series("together", [(time, sum(rates) / 1e6) for time, rates in bins],
                         AGGREGATE_COLOUR, width=2.2))
    series.append(Series("limit", [(0, limit_bps / 1e6), (run.end, limit_bps / 1e6)],
                         LIMIT_COLOUR, dash="7 5", width=1.5))
    note = f"means over {width * 1e3:g} ms; shaded: warm-up"
    if len(run.flows) > len(COLOURS):
        note += f"; the first {len(COLOURS)} of {len(run.flows)} limiters"
    return Plot(title, "time since the flows began (s)", "forwarding rate (Mbit/s)",
                series, note, (0, run.warmup)).svg()

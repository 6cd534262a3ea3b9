# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Draws all pictures of this tree: lines and bars as SVG, without other packages. Any browser shows
them. Used by the demo, the evaluation, the benchmark and tools/plot."""

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


def text_at(x, y, words, anchor="start", kind="", turn=False):
    """Returns one line of text."""
    rotation = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}"{rotation}>'
            f"{html.escape(words)}</text>")


def line_to(x1, y1, x2, y2, kind):
    """Returns a straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {kind}/>'


def whole(height, parts):
    """Returns the picture with these parts."""
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
                      f'width="{WIDTH}" height="{height}">', f"<style>{STYLE}</style>",
                      f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
                      *parts, "</svg>"]) + "\n"


def ticks(low, high, wanted=8):
    """Returns round numbers that cover [low, high]."""
    raw = (high - low) / wanted or 1
    magnitude = 10 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


class Axis:
    """An axis from low to high over `length` points of the picture; values beyond are drawn at the
    end.

    log: logarithmic, labelled with powers of ten; low is above 0.
    """

    def __init__(self, low, high, start, length, log=False):
        self.low, self.high, self.start, self.length, self.log = low, high, start, length, log

    def place(self, value):
        """Returns the position of a value."""
        value = min(max(value, self.low), self.high)
        if self.log:
            return self.start + math.log(value / self.low, self.high / self.low) * self.length
        return self.start + (value - self.low) / (self.high - self.low or 1) * self.length

    def ticks(self, wanted=8):
        """Returns the numbers of the labels."""
        if not self.log:
            return ticks(self.low, self.high, wanted)
        return [10.0 ** k for k in range(math.ceil(math.log10(self.low) - 1e-9),
                                         math.floor(math.log10(self.high) + 1e-9) + 1)]


class Series:
    """A line: points are (x, y). A label of None is not in the legend."""

    def __init__(self, label, points, colour, dash=None, width=1.8):
        self.label = label
        self.points = points
        self.colour = colour
        self.dash = dash
        self.width = width

    def attributes(self):
        """Returns the line's attributes, for the picture and the legend."""
        dash = f' stroke-dasharray="{self.dash}"' if self.dash else ""
        return f'class="line" stroke="{self.colour}" style="stroke-width:{self.width}"{dash}'


def legend_places(series):
    """Returns [(x, row)] for each entry, with as many in a row as fit."""
    places, x, row = [], LEFT, 0
    for one in series:
        width = 48 + 7.6 * len(one.label)
        if x + width > WIDTH and x > LEFT:
            x, row = LEFT, row + 1
        places.append((x, row))
        x += width
    return places


class Lines:
    """Axes from (x0, 0) to (x1, the largest value and a margin), and curves.

    shade: (from, to) of x that are highlighted. span: (from, to) of y in place of the above. log:
    the logarithmic axes, "x", "y" or "xy".
    """

    def __init__(self, title, x_label, y_label, series, note="", shade=None, *, span=None, log=""):
        self.title, self.x_label, self.y_label, self.note = title, x_label, y_label, note
        self.series = series
        self.shade = shade
        self.named = [one for one in series if one.label is not None]
        self.places = legend_places(self.named)
        self.bottom = HEIGHT - BOTTOM - LEGEND_ROW * (self.places[-1][1] + 1 if self.places else 0)
        xs = [x for one in series for x, _ in one.points]
        ys = [y for one in series for _, y in one.points]
        self.x_axis = Axis(*((min(xs), max(xs)) if xs else (0, 1)), LEFT, WIDTH - LEFT - RIGHT,
                           "x" in log)
        self.y_axis = Axis(*(span or (0, max(ys + [1e-9]) * 1.08)), self.bottom, TOP - self.bottom,
                           "y" in log)

    def _axes(self):
        bottom, right = self.bottom, WIDTH - RIGHT
        for value in self.y_axis.ticks():
            y = self.y_axis.place(value)
            yield line_to(LEFT, y, right, y, 'class="grid"')
            yield text_at(LEFT - 8, y + 5, f"{value:g}", "end")
        for value in self.x_axis.ticks(12):
            x = self.x_axis.place(value)
            yield line_to(x, bottom, x, bottom + 5, 'class="axis"')
            yield text_at(x, bottom + 21, f"{value:g}", "middle")
        yield f'<path class="axis" d="M{LEFT} {TOP} V{bottom} H{right}"/>'
        yield text_at((LEFT + right) / 2, bottom + 42, self.x_label, "middle")
        yield text_at(22, (TOP + bottom) / 2, self.y_label, "middle", turn=True)

    def _curve(self, one):
        points = " ".join(f"{self.x_axis.place(x):.1f},{self.y_axis.place(y):.1f}"
                          for x, y in one.points)
        return f'<polyline {one.attributes()} points="{points}"/>'

    def _legend(self):
        for one, (x, row) in zip(self.named, self.places):
            y = self.bottom + BOTTOM + LEGEND_ROW * row + 6
            yield line_to(x, y - 5, x + 26, y - 5, one.attributes())
            yield text_at(x + 32, y, one.label)

    def _shaded(self):
        if self.shade:
            x, end = map(self.x_axis.place, self.shade)
            yield (f'<rect x="{x:.1f}" y="{TOP}" width="{end - x:.1f}" '
                   f'height="{self.bottom - TOP}" fill="#f3f0e6"/>')

    def parts(self):
        """Returns its SVG elements."""
        return [text_at(LEFT, 26, self.title, kind="title"),
                text_at(LEFT, 45, self.note, kind="note"),
                *self._shaded(), *self._axes(), *map(self._curve, self.series), *self._legend()]


def picture(*panels):
    """Returns lines as a picture, with several panels one below the other."""
    parts = panels[0].parts()
    for k, panel in enumerate(panels[1:], 1):
        parts += [f'<g transform="translate(0 {k * HEIGHT})">', *panel.parts(), "</g>"]
    return whole(HEIGHT * len(panels), parts)


class Bar:
    """A bar of one contender: {"median", "p10", "p90"}."""

    # Margins around the bars, and height of each.
    LEFT, RIGHT, TOP, ROW, BOTTOM = 250, 80, 64, 30, 54
    OURS, OTHERS = COLOURS[0], "#9aa5ad"

    def __init__(self, label, spread, ours=True):
        self.label, self.spread = label, spread
        self.colour = self.OURS if ours else self.OTHERS

    def parts(self, y, place):
        """Returns its SVG elements at this height."""
        middle, end = y + self.ROW / 2, place(self.spread["median"])
        low, high = place(self.spread["p10"]), place(self.spread["p90"])
        return [text_at(self.LEFT - 10, y + 20, self.label, "end"),
                f'<rect x="{self.LEFT}" y="{y + 5}" width="{end - self.LEFT:.1f}" '
                f'height="{self.ROW - 10}" fill="{self.colour}"/>',
                line_to(low, middle, high, middle, 'class="axis"'),
                text_at(max(end, high) + 8, y + 20, f"{self.spread['median']:.4g}")]


def bar_picture(title, note, unit, bars):
    """Returns a picture of the medians, with a line from p10 to p90 for each."""
    # A long p10–p90 line can leave the picture; otherwise all bars would be short.
    most = max(bar.spread["median"] for bar in bars) * 1.25
    axis = Axis(0, most, Bar.LEFT, WIDTH - Bar.LEFT - Bar.RIGHT)
    bottom = Bar.TOP + Bar.ROW * len(bars)
    parts = [text_at(24, 26, title, kind="title"), text_at(24, 45, note, kind="note")]
    for value in axis.ticks():
        x = axis.place(value)
        parts += [line_to(x, Bar.TOP, x, bottom, 'class="grid"'),
                  text_at(x, bottom + 18, f"{value:g}", "middle")]
    for k, bar in enumerate(bars):
        parts += bar.parts(Bar.TOP + Bar.ROW * k, axis.place)
    parts += [line_to(Bar.LEFT, Bar.TOP, Bar.LEFT, bottom, 'class="axis"'),
              text_at((Bar.LEFT + WIDTH - Bar.RIGHT) / 2, bottom + 40, unit, "middle")]
    return whole(bottom + Bar.BOTTOM, parts)

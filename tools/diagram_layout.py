# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks the layout of the figures that tools/diagrams draws."""
import itertools
import re

# Widths in the widest usual font, DejaVu Sans, in 1/100 of its size; other characters have 66.
WIDTHS = {**dict.fromkeys(" .,:;|!ijl'’", 33), **dict.fromkeys("()ftr-/I", 42),
          **dict.fromkeys("mwMW@%≥≤=+×−→", 100),
          **dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ", 77)}
STEPS = 24  # pieces of a curve


def points_of(shape):
    """Returns the corners and control points of a path."""
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", shape)]
    return list(zip(numbers[::2], numbers[1::2]))


def box_of(points):
    """Returns (left, top, right, bottom)."""
    across, down = zip(*points)
    return min(across), min(down), max(across), max(down)


def place_of(text, kind):
    """Returns the box of a line of text, not narrower than in any usual font."""
    code, x, y = "code" in text.get("class"), float(text.get("x")), float(text.get("y"))
    em = 11.5 if code else 12 if kind == "edge" else 14.3 if text.get("class") else 13
    half = sum(61 if code else WIDTHS.get(letter, 66) for letter in text.text) * em / 200
    return x - half, y - 10, x + half, y + 3


def is_inside(box, outer):
    """Returns true if a box, or the two ends of one, is inside another."""
    return (outer[0] <= box[0] and outer[1] <= box[1] and box[2] <= outer[2] and
            box[3] <= outer[3])


def touches(a, b):
    """Returns true if two boxes share a part."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def line_of(points):
    """Returns points on a path of cubic curves."""
    line = points[:1]
    for at in range(0, len(points) - 1, 3):
        for t in (step / STEPS for step in range(1, STEPS + 1)):
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3)
            line.append(tuple(sum(w * point[axis] for w, point in zip(weights, points[at:at + 4]))
                              for axis in (0, 1)))
    return line


def crosses(line, other):
    """Returns true if two lines cross."""
    def side(a, b, c):
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    pieces = itertools.product(itertools.pairwise(line), itertools.pairwise(other))
    return touches(box_of(line), box_of(other)) and any(
        (side(a, b, c) > 0) != (side(a, b, d) > 0) and (side(c, d, a) > 0) != (side(c, d, b) > 0)
        for (a, b), (c, d) in pieces)


def shrunk(box, by):
    """Returns a box without a margin: `by` pixels at both sides, 2 pixels above and below."""
    return box[0] + by, box[1] + 2, box[2] - by, box[3] - 2


def complaints_of_layout(top, widest):
    """Yields labels that exceed their boxes or touch others, and arrows that cross something.

    widest: most pixels of a figure's width.
    """
    left, up, wide, high = map(float, top.get("viewBox").split())
    page = left, up, left + wide, up + high
    lines, labels, boxes = [], [], []
    if wide > widest:
        yield f"{wide:.0f} pixels wide, at most {widest}"
    for group in top.iterfind("{*}g"):
        kind, points = group.get("class").split()[0], points_of(group[0].get("d"))
        for text in group.iterfind("{*}text"):
            place = place_of(text, kind)
            if not is_inside(place, page if kind == "edge" else box_of(points)):
                yield f"{text.text!r} exceeds its box"
            if kind != "node":
                labels.append((text.text, place))
        if kind == "node":
            boxes.append(box_of(points))
        elif kind == "edge":
            lines.append(line_of(points))
    for (text, place), (_, other) in itertools.combinations(labels, 2):
        if touches(place, other):
            yield f"{text!r} touches a label"
    for text, place in labels:
        if any(touches(place, box) for box in boxes):
            yield f"{text!r} touches a box"
        middle = shrunk(place, (place[2] - place[0]) / 8)
        if any(is_inside(point * 2, middle) for line in lines for point in line):
            yield f"{text!r} is on an arrow"
    if any(crosses(*pair) for pair in itertools.combinations(lines, 2)):
        yield "two arrows cross"
    if any(is_inside(point * 2, shrunk(box, 2)) for box in boxes for line in lines
           for point in line):
        yield "an arrow crosses a box"

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks the figures of the manual, and that the check finds planted faults in them.

Usage: check_diagrams.py [SOURCE_ROOT]

A fault changes a random figure in a copy of the tree. WEIR_ROUNDS is the number of faults of each
kind, WEIR_SEED chooses other ones. The test draws nothing, because that needs graphviz.
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROUNDS = int(os.environ.get("WEIR_ROUNDS", "3"))
SEED = int(os.environ.get("WEIR_SEED", "1"))
STALE, UNUSED = "not of its present text", "no page shows it"


def load_tool(path):
    """Returns tools/diagrams as a module."""
    sys.path.insert(0, str(path.parent))
    loader = importlib.machinery.SourceFileLoader("diagrams", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("diagrams", loader))
    loader.exec_module(module)
    return module


class Copy:
    """A copy of the pages and figures, one of which gets a fault."""

    def __init__(self, root, folder, tool, dice):
        shutil.copytree(root / "doc/figures", folder / "doc/figures")
        for page in root.glob("doc/**/*.md"):
            if "figures/" in page.read_text("utf-8"):
                (folder / page.relative_to(root)).parent.mkdir(exist_ok=True)
                shutil.copy(page, folder / page.relative_to(root))
        self.folder, self.tool, self.dice = folder, tool, dice
        self.layout = sys.modules["diagram_layout"]
        self.dot = dice.choice(sorted(folder.glob("doc/figures/*.dot")))
        self.svg = self.dot.with_suffix(".svg")

    def replace(self, path, pattern, change):
        """Changes a random place of a file."""
        text = path.read_text("utf-8")
        found = self.dice.choice(list(re.finditer(pattern, text, re.M)))
        path.write_text(text[:found.start()] + change(found) + text[found.end():], "utf-8")

    def redraw(self, pattern, change):
        """Changes the figure as if dot had drawn it so."""
        self.replace(self.svg, pattern, change)
        figure = self.svg.read_text("utf-8").rpartition("<!--")[0]
        self.svg.write_text(self.tool.stamped(self.dot, figure), "utf-8")

    def groups(self, kind):
        """Returns the points of the first path of each group of a kind."""
        return [self.tool.points_of(path) for path in re.findall(
            rf'<g class="{kind}[^"]*">\n<path d="([^"]+)"/>', self.svg.read_text("utf-8"))]

    def add(self, points, label=""):
        """Adds an arrow."""
        (x, y), *rest = ((f"{x:.2f}", f"{y:.2f}") for x, y in points)
        path = f"M{x},{y}C" + " ".join(map(",".join, rest))
        self.redraw("</svg>", lambda _: f'<g class="edge">\n<path d="{path}"/>{label}\n</g></svg>')


# --- faults: each returns the words of the complaint that it must cause --------------------------

def change_text(copy):
    """Another word, space or number in the text of a figure."""
    copy.replace(copy.dot, r"\w", lambda at: at[0] + "x")
    return STALE


def change_picture(copy):
    """Another coordinate or letter in the picture."""
    copy.replace(copy.svg, r"\d", lambda at: str((int(at[0]) + 1) % 10))
    return STALE


def change_style(copy):
    """Another colour for all figures."""
    copy.replace(copy.dot.with_name("style.css"), r"#", lambda at: "#0")
    return STALE


def lose_picture(copy):
    """A text without a picture."""
    copy.svg.unlink()
    return STALE


def lose_text(copy):
    """A picture without a text."""
    copy.dot.unlink()
    return STALE


def describe(copy, picture):
    """Replaces the figure on its page."""
    pattern = rf"!\[[^]]*\]\([./\w]*{copy.svg.name}\)"
    page = next(page for page in sorted(copy.folder.glob("doc/**/*.md"))
                if re.search(pattern, page.read_text("utf-8")))
    copy.replace(page, pattern, lambda _: picture)
    return UNUSED


def lose_page(copy):
    """No page shows the figure."""
    return describe(copy, f"[{40 * 'packets '}](../figures/{copy.svg.name})")


def shorten_description(copy):
    """A description of 39 characters."""
    return describe(copy, f"![{39 * 'a'}](../figures/{copy.svg.name})")


def widen(copy):
    """A figure that a page would shrink."""
    copy.redraw(r'(viewBox="\S+ \S+ )\d+', lambda at: at[1] + "901")
    return "901 pixels wide"


def lengthen_label(copy):
    """A label that is longer than its box."""
    copy.redraw(r'<g class="node.*">\n<path.*>\n(<text.*\n)*<text [^>]*>',
                lambda at: at[0] + 80 * "m")
    return "exceeds its box"


def cross(copy):
    """An arrow across another one."""
    line = copy.layout.line_of(copy.dice.choice(copy.groups("edge")))
    at = copy.dice.randrange(1, len(line) - 2)
    (a, b), (c, d) = line[at:at + 2]
    x, y, dx, dy = (a + c) / 2, (b + d) / 2, (d - b) * 2, (a - c) * 2
    copy.add([(x - dx, y - dy), (x - dx, y - dy), (x + dx, y + dy), (x + dx, y + dy)])
    return "two arrows cross"


def run_through(copy):
    """An arrow through a box."""
    left, up, right, down = copy.layout.box_of(copy.dice.choice(copy.groups("node")))
    y = copy.dice.uniform(up + 5, down - 5)
    copy.add([(left, y), (left, y), (right, y), (right, y)])
    return "an arrow crosses a box"


def add_label(copy, x, y):
    """Adds the label of an arrow, with its middle there."""
    copy.add([(0, 0)] * 4, f'<text class="" x="{x}" y="{y + 3}">a</text>')


def label_in_box(copy):
    """A label of an arrow in a box."""
    left, up, right, down = copy.layout.box_of(copy.dice.choice(copy.groups("node")))
    add_label(copy, (left + right) / 2, (up + down) / 2)
    return "'a' touches a box"


def label_on_arrow(copy):
    """A label of an arrow on an arrow."""
    add_label(copy, *copy.dice.choice(copy.layout.line_of(copy.dice.choice(copy.groups("edge")))))
    return "'a' is on an arrow"


def label_on_label(copy):
    """A label of an arrow on that of a group or another arrow."""
    labels = re.findall(r'<g class="[ec].*\n(?:<p.*\n)+<text .*x="(\S+)" y="(\S+)"',
                        copy.svg.read_text("utf-8"))
    add_label(copy, *map(float, copy.dice.choice(labels)))
    return "touches a label"


FAULTS = (change_text, change_picture, change_style, lose_picture, lose_text, lose_page,
          shorten_description, widen, lengthen_label, cross, run_through, label_in_box,
          label_on_arrow, label_on_label)


def check(root, tree):
    """Returns (exit status, output) of the check of a tree."""
    done = subprocess.run([root / "tools/diagrams", "--check", tree], capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def complaints(root):
    """Yields faults of the figures, and planted faults that the check does not find."""
    tool, dice = load_tool(root / "tools/diagrams"), random.Random(SEED)
    status, output = check(root, root)
    if status:
        yield output.strip()
        return
    for turn, fault in enumerate(FAULTS * ROUNDS):
        with tempfile.TemporaryDirectory(prefix="weir-diagrams-") as folder:
            copy = Copy(root, pathlib.Path(folder), tool, dice)
            want = fault(copy)
            pages = "".join(page.read_text("utf-8") for page in copy.folder.glob("doc/**/*.md"))
            found = list(tool.complaints_of(copy.dot, pages))
            if not any(want in why for why in found):
                yield f"{fault.__name__}() of {copy.dot.name}: {want!r} is not found: {found}"
            if turn < len(FAULTS) and check(root, folder)[0] != 1:
                yield f"{fault.__name__}() of {copy.dot.name}: the tool exits with 0"


def main():
    """Prints a line for each mistake; exits with 1 if there are any."""
    here = pathlib.Path(__file__).resolve()
    found = list(complaints(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                                         here.parents[2]).resolve()))
    print("\n".join(found) if found else f"{ROUNDS * len(FAULTS)} planted faults, all found")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Maps of the XDP data plane outlive a process: another layout of them needs another number.

Usage: check_layout.py SOURCE_ROOT
"""

import hashlib
import os
import re
import sys

# By PLANE_LAYOUT: the digest of the definitions, without comments and white space.
DIGESTS = {"plane_books_1": "7fbb092452f20cb8"}


def definitions(root):
    """The code that defines the maps that are kept."""
    texts = []
    for name in ("plane_maps.h", "plane.h"):
        with open(os.path.join(root, "drivers", "xdp", name), encoding="ascii") as file:
            texts.append(re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S))
    book = re.search(r"struct plane_book \{.*?\};", texts[1], re.S).group()
    layout = re.search(r'#define PLANE_LAYOUT "(\w+)"', texts[0]).group(1)
    return layout, "".join((texts[0].replace(layout, "") + book).split())


def main(root):
    """Compares the code with the digest of its number."""
    layout, code = definitions(root)
    digest = hashlib.sha256(code.encode()).hexdigest()[:16]
    if DIGESTS.get(layout) == digest:
        return 0
    print(f"drivers/xdp/plane_maps.h: PLANE_LAYOUT {layout}: the kept maps have another layout or "
          f"meaning: give it the next number, and this test its digest {digest}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

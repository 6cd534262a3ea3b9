#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks that a changed layout of the XDP data plane's maps has a new number, because these maps
outlive a process.

Usage: check_layout.py SOURCE_ROOT
"""

import hashlib
import os
import re
import sys

# PLANE_LAYOUT → digest of the definitions, without comments and white space.
DIGESTS = {"plane_books_1": "a28266035a4a56c6"}


def code_of(root, *path):
    """Returns the text of a file without comments."""
    with open(os.path.join(root, *path), encoding="ascii") as file:
        return re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)


def struct(code, name):
    """Returns the definition of a structure."""
    return re.search(rf"struct {name} \{{.*?\n\}}[^;]*;", code, re.S).group()


def definitions(root):
    """Returns the layout and the code that defines the maps that are kept."""
    maps = code_of(root, "drivers", "xdp", "plane_maps.h")
    bucket = code_of(root, "lib", "datapath", "meter", "bucket_core.h")
    layout = re.search(r'#define PLANE_LAYOUT "(\w+)"', maps).group(1)
    structs = (struct(code_of(root, "drivers", "xdp", "plane.h"), "plane_book"),
               struct(bucket, "gcra"), struct(bucket, "shared_bucket_profile"),
               struct(bucket, "shared_bucket"),
               struct(code_of(root, "lib", "datapath", "flow", "flow_sample.h"), "flow_sample"))
    return layout, "".join((maps.replace(layout, "") + "".join(structs)).split())


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

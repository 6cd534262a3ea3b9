#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Writes the page's files as C: embed.py FILE... > page_files.c (app/exporter/page.h)."""

import hashlib
import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


def literal(content):
    """The members of a C array."""
    lines = [content[i:i + 20] for i in range(0, len(content), 20)]
    return ",\n\t".join(",".join(str(byte) for byte in line) for line in lines)


def main():
    """Writes one array for each file, and a table of them."""
    print('/* SPDX-License-Identifier: BSD-3-Clause */\n#include "page.h"\n')
    rows = []
    for number, path in enumerate(sys.argv[1:]):
        with open(path, "rb") as file:
            content = file.read()
        name = os.path.basename(path)
        tag = hashlib.sha256(content).hexdigest()[:16]
        print(f"static const unsigned char file_{number}[] = {{\n\t{literal(content)}}};\n")
        rows.append(f'\t{{"/{"" if name == "index.html" else name}", '
                    f'"{TYPES[os.path.splitext(name)[1]]}", "\\"{tag}\\"", file_{number}, '
                    f"sizeof(file_{number})}},")
    print("const struct page_file page_files[] = {", *rows, "\t{0},\n};", sep="\n")


if __name__ == "__main__":
    main()

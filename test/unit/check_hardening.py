#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Reads the ELF of each installed program: position-independent, bound at the start, hardened.

The same compiler makes a small program with all protections for comparison. So a compiler or a C
library without one of them is no failure.

Usage: check_hardening.py COMPILER OPTIMIZATION PROGRAM...
"""

import os
import re
import subprocess
import sys
import tempfile

SOURCE = """
#include <stdio.h>
#include <string.h>
int main(int n, char **words)
{
	char text[64];

	strcpy(text, words[n - 1]);
	return puts(text) < 0;
}
"""
FLAGS = ["-fstack-protector-strong", "-fcf-protection=full", "-mbranch-protection=standard"]


def protections(path):
    """Returns the protections of a program."""
    text = subprocess.run(["readelf", "-W", "-h", "-l", "-d", "-n", "-s", path],
                          capture_output=True, text=True, check=True).stdout
    found = {
        "position-independent": r"Type:\s+DYN",
        "symbols bound at the start": r"\(FLAGS(?:_1)?\).*\bNOW\b",
        "relocations that are read-only": r"GNU_RELRO",
        "a stack that is not executable": r"GNU_STACK.* RW +0x",
        "stack protector": r"__stack_chk_(?:fail|guard)",
        "checked string functions": r"__\w+_chk",
        "indirect branch tracking": r"x86 feature: .*IBT",
        "shadow stack": r"x86 feature: .*SHSTK",
        "branch target identification": r"AArch64 feature: .*BTI",
    }
    return {name for name, pattern in found.items() if re.search(pattern, text)}


def model(compiler, optimization):
    """Returns the protections that this compiler supports."""
    with tempfile.TemporaryDirectory(prefix="weir-hardening-") as folder:
        source, program = os.path.join(folder, "model.c"), os.path.join(folder, "model")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        known = [flag for flag in FLAGS if not subprocess.run(
            [*compiler, "-Werror", flag, "-c", source, "-o", program], stderr=subprocess.DEVNULL,
            check=False).returncode]
        fortify = [] if optimization == "0" else ["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"]
        subprocess.run([*compiler, f"-O{optimization}", *known, *fortify, "-fPIE", "-pie", source,
                        "-Wl,-z,relro,-z,now,-z,noexecstack", "-o", program], check=True,
                       stderr=subprocess.DEVNULL)
        return protections(program)


def main(compiler, optimization, *programs):
    """Prints each protection that a program lacks."""
    wanted, wrong = model(compiler.split(), optimization), []
    for path in programs:
        for name in sorted(wanted - protections(path)):
            wrong.append(f"{path}: lacks: {name}")
    print("\n".join(wrong) or f"{len(programs)} programs have {', '.join(sorted(wanted))}")
    return bool(wrong) or "symbols bound at the start" not in wanted


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

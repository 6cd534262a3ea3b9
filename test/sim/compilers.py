#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""weirsim writes the same bytes, regardless of its compiler."""

import os
import sys
import tempfile

from suite import BUILD, ROOT, WEIRSIM
from weirsim import SCENARIOS, outputs

OTHER = os.path.join(ROOT, "build-asan", os.path.relpath(WEIRSIM, BUILD))
NAMES = ("baseline.json", "faults.json", "shift-hard.json")
SKIP = 77


def main():
    """Runs each scenario with both builds."""
    if not os.path.exists(OTHER):
        print(f"skipped: {OTHER} is not built")
        sys.exit(SKIP)
    differ = []
    for name in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            mine, others = (outputs(program, os.path.join(SCENARIOS, name), folder)
                            for program in (WEIRSIM, OTHER))
        differ += [name] if mine != others else []
    print(f"FAIL  differ: {', '.join(differ)}" if differ else f"ok    {len(NAMES)} scenarios")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()

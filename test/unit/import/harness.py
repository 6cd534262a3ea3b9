# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Shared by the tests of weir-import: its modules, test cases, and random numbers with a seed."""

import json
import os
import pathlib
import random
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "app" / "import"))
SEED = int(os.environ.get("WEIR_SEED", "1"))
ROUNDS = int(os.environ.get("WEIR_ROUNDS", "400"))  # rounds of a random test


def cases(name):
    """Returns the rows of a table of cases."""
    return json.loads((HERE / "cases" / f"{name}.json").read_text(encoding="utf-8"))


class Test(unittest.TestCase):
    """A test with random rounds."""

    def rounds(self, part=1.0):
        """Yields a generator for each round, or a part of them; a failure names its seed."""
        for seed in range(SEED, SEED + round(ROUNDS * part)):
            with self.subTest(seed=seed):
                yield random.Random(seed)

    def each(self, name):
        """Yields the rows of a table; a failure names its row."""
        for number, row in enumerate(cases(name)):
            with self.subTest(table=name, row=number):
                yield row

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Records of comma-separated values: cases, and random files compared with Python's module csv."""

import csv
import io
import unittest

from harness import Test

from weir_import import csv_file

PARTS = ["a", "b c", ",", '"', '""', "\n", "\r\n", "\r", "#", "", "é", "1Mbit/s"]


def read(text):
    """Returns all records of a text."""
    return list(csv_file.records(text))


class Records(Test):
    """Records, and lines that are not records."""

    def test_cases(self):
        """Each case has its records with their lines. A problem contains its words."""
        for text, wanted in self.each("records"):
            found = read(csv_file.decode(text.encode()))
            self.assertEqual([(line, fields) for line, fields, _ in wanted],
                             [(record.line, record.fields) for record in found])
            for (_, _, problem), record in zip(wanted, found):
                self.assertIn(problem, record.problem)
                self.assertEqual(bool(problem), bool(record.problem))

    def test_written_by_python(self):
        """Records written by Python are read unchanged. A lone CR has no special meaning."""
        for rng in self.rounds():
            rows = [["".join(rng.choices(PARTS, k=rng.randrange(4))) for _ in range(
                rng.randrange(1, 65))] for _ in range(rng.randrange(1, 8))]
            out = io.StringIO()
            csv.writer(out, quoting=csv.QUOTE_ALL,
                       lineterminator=rng.choice(["\n", "\r\n"])).writerows(rows)
            self.assertEqual([record.fields for record in read(out.getvalue())], rows)

    def test_any_text(self):
        """Any text gives records with increasing lines and at most 64 fields each, or problems."""
        for rng in self.rounds():
            text = "".join(rng.choices(PARTS, k=rng.randrange(40)))
            line = 0
            for record in read(text):
                self.assertGreater(record.line, line)
                line = record.line
                self.assertNotEqual(bool(record.fields), bool(record.problem))
            self.assertLessEqual(line, text.count("\n") + 1)

    def test_columns(self):
        """A record can have 64 columns but not 65, with quotes and without."""
        for field in ("", '"x"'):
            for count in (64, 65):
                text = ",".join([field] * count) + "\nb\n"
                first, last = read(text)
                self.assertEqual(len(first.fields), count if count == 64 else 0)
                self.assertEqual(last.fields, ["b"])

    def test_no_text(self):
        """A text with a NUL can be truncated there, so none of it is read."""
        with self.assertRaisesRegex(ValueError, "NUL characters: expected UTF-8"):
            csv_file.decode(b"a\0b")
        self.assertEqual(read(csv_file.decode(b"")), [])


if __name__ == "__main__":
    unittest.main()

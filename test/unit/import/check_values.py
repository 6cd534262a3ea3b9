#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Quantities, prefixes, names, suggestions and JSON, each compared with another implementation."""

import fractions
import ipaddress
import json
import unittest

from harness import Test

from weir_import import documents, suggest, values

TEXTS = ["", "a", '"', "\\", "/", "\x01", "\n", "\x7f", "é", "😀", "\\u0041"]


def random_value(rng, depth=0):
    """Returns any value of JSON."""
    kind = rng.randrange(8 if depth < 3 else 6)
    text = "".join(rng.choices(TEXTS, k=rng.randrange(4)))
    if kind == 6:
        return [random_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 7:
        return {f"{i}{text}": random_value(rng, depth + 1) for i in range(rng.randrange(4))}
    return [None, True, False, rng.randrange(-9, 2 ** 63), rng.uniform(-1e9, 1e9), text][kind]


class Quantities(Test):
    """Units are exact."""

    def test_parse(self):
        """A rate is its number times its unit, if the product is an integer of 64 bits."""
        for rng in self.rounds():
            number = f"{rng.randrange(10 ** rng.randrange(1, 21))}"
            if rng.random() < 0.7:
                number += "." + "".join(rng.choices("0123456789", k=rng.randrange(1, 14)))
            unit, scale = rng.choice([*values.RATES.items(), *values.SIZES.items()])
            exact = fractions.Fraction(number) * scale
            wanted = int(exact) if exact.denominator == 1 and exact < 2 ** 64 else None
            parse = values.parse_rate if unit in values.RATES else values.parse_size
            self.assertEqual(parse(number + rng.choice(["", " "]) + unit), wanted)

    def test_wrong(self):
        """Signs, blanks, missing digits and other units are refused."""
        for text in ("", "5", "5 ", "-5bit/s", "+5bit/s", ".5bit/s", "5.bit/s", "5  bit/s",
                     "5Mbps", "5 Mbit/s ", "٥bit/s", "5e3bit/s", "0.5bit/s"):
            self.assertIsNone(values.parse_rate(text), text)

    def test_format(self):
        """A rate is parsed from its text, whose number is below 1000 unless it is the largest."""
        for rng in self.rounds():
            bps = rng.randrange(10 ** rng.randrange(1, 16))
            text = values.format_rate(bps)
            self.assertEqual(values.parse_rate(text), bps)
            self.assertTrue(float(text.rstrip("kMGTbit/s")) < 1000 or "T" in text)

    def test_mbps(self):
        """Converts to the nearest bit/s and rounds halves up."""
        for rng in self.rounds():
            mbps = round(rng.uniform(0, 1e5), rng.randrange(16))
            exact = fractions.Fraction(mbps * 1e6) + fractions.Fraction(1, 2)
            self.assertEqual(values.rate_of_mbps(mbps), exact.__floor__())
        for mbps in (-1, -1e-5, 1e10, float("inf"), 1e300):
            self.assertIsNone(values.rate_of_mbps(mbps))
        self.assertEqual(values.rate_of_mbps(-1e-9), 0)

    def test_prefix(self):
        """Compares prefixes with Python's module. Host bits are reported."""
        for rng in self.rounds():
            family, bits = rng.choice([(ipaddress.IPv4Network, 32), (ipaddress.IPv6Network, 128)])
            number = rng.getrandbits(bits) & rng.choice([-1, -1 << 16, -1 << bits - 8])
            length = rng.choice([0, 8, 24, bits // 2, bits - 1, bits, bits + 1])
            address = family((number, bits)).network_address
            found = values.parse_prefix(f"{address}/{length}")
            if length > bits:
                self.assertIsNone(found)
                continue
            wanted = family((number, length), strict=False)
            self.assertEqual(family(found[0]), wanted)
            self.assertEqual(found[1], wanted.network_address != address)

    def test_names(self):
        """A name has at most 63 bytes of a few characters. IDs of LibreQoS become names byte by
        byte."""
        self.assertTrue(values.name_valid("a" * 63))
        for name in ("", "a" * 64, "a b", "é", "a\n"):
            self.assertFalse(values.name_valid(name))
        for rng in self.rounds():
            text = "".join(rng.choices(["a", " ", "/", "é", "😀", ".", "\udcff"], k=9))
            plain = values.make_plain(text)
            self.assertTrue(values.name_valid(plain))
            self.assertEqual(len(plain), len(text.encode("utf-8", "surrogateescape")))

    def test_prefix_of_names(self):
        """A prefix must leave room for a name."""
        for prefix, good in (("isp-", True), ("", False), ("isp/", False), ("1" * 30, True),
                             ("1" * 31, False)):
            self.assertEqual(values.prefix_valid(prefix), good)


class Suggestions(Test):
    """Typing errors and other units."""

    def test_distance(self):
        """A word with one typing error is found. The distance is symmetric."""
        words = ["download", "upload", "guaranteed", "accounting", "addresses"]
        for rng in self.rounds():
            word = rng.choice(words)
            at = rng.randrange(len(word) - 1)
            slip = rng.choice([word[:at] + word[at + 1:], word[:at] + "x" + word[at:],
                               word[:at] + "x" + word[at + 1:],
                               word[:at] + word[at + 1] + word[at] + word[at + 2:]])
            self.assertLessEqual(suggest.distance(word, slip), 1)
            self.assertEqual(suggest.distance(word, slip), suggest.distance(slip, word))
            self.assertEqual(suggest.nearest(slip, words), word)

    def test_units(self):
        """The parser that refused a text accepts the suggestion."""
        for text, meant in (("10Mbps", "10Mbit/s"), ("1,5 Gbps", "1.5Gbit/s"), ("10k", "10kbit/s"),
                            ("10MB/s", "80Mbit/s"), ("10MBps", "80Mbit/s"), ("10 mb/s", "10Mbit/s"),
                            ("fast", ""), ("10 s", ""), ("1.2.3Mbps", "")):
            self.assertEqual(suggest.quantity(text, values.parse_rate),
                             suggest.remedy(meant or None), text)


class Documents(Test):
    """JSON is read strictly and written for other programs."""

    def test_written(self):
        """Python's module reads every written document."""
        for rng in self.rounds():
            value = [random_value(rng)]
            self.assertTrue(documents.same(json.loads(documents.compact(value)), value))
            pretty = documents.pretty(value)
            self.assertTrue(pretty.isascii())
            self.assertEqual(json.loads(pretty, parse_float=lambda text: round(float(text), 3)),
                             json.loads(documents.compact(value),
                                        parse_float=lambda text: round(float(text), 3)))
            again = documents.parse(documents.compact(value).encode(), unique=True)
            self.assertTrue(documents.same(again, value))

    def test_exact_bytes(self):
        """Tests the bytes on which files and names depend."""
        self.assertEqual(documents.compact({"b": [1, 2.0, 1e20, 1e-7, None], "a": "é\x1f/"}, True),
                         '{"a":"é\\u001F/","b":[1,2.0,1e20,9.9999999999999995e-8,null]}')
        self.assertEqual(documents.pretty({"a": [{}, []], "b": {"c": "é😀"}}),
                         '{\n "a": [\n  {},\n  []\n ],\n "b": {\n  "c": "\\u00E9\\uD83D\\uDE00"'
                         '\n }\n}')

    def test_refused(self):
        """Texts that limiters refuse."""
        for text in (b"", b"7", b'"a"', b"{", b"{} x", b'{"a":NaN}', b'{"a":1e999}', b"\xff",
                     b'{"a":"\\u0000"}', b'{"a":"\\ud800"}', b'{"\\ud800":1}', b'{"a":01}',
                     b"[" * 100000, b'{"a":"\x01"}', b"\xef\xbb\xbf{}"):
            with self.assertRaises(ValueError, msg=text[:20]):
                documents.parse(text)
        self.assertEqual(documents.parse(b'{"a":1,"a":2}'), {"a": 2})
        with self.assertRaisesRegex(ValueError, '"a" occurs twice'):
            documents.parse(b'{"a":1,"b":{"a":1,"a":2}}', unique=True)

    def test_same(self):
        """Types count: a limiter reads 1 and 1.0 differently."""
        for a, b in ((1, 1.0), (1, True), ([1], [True]), ({"a": 0}, {"a": False})):
            self.assertFalse(documents.same(a, b))
        for rng in self.rounds():
            state = rng.getstate()
            value = random_value(rng)
            rng.setstate(state)
            self.assertTrue(documents.same(value, random_value(rng)))


if __name__ == "__main__":
    unittest.main()

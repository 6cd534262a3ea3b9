#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Random configurations with secrets, in files and at wrong places. No part of an archive may
contain a secret.

The generator lists each secret. Its bytes must not be in the redacted text.
"""

import json
import os
import pathlib
import random
import string
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "app" / "support"))

from weir_support import redact  # noqa: E402

SEED = int(os.environ.get("WEIR_SEED", "1"))
ROUNDS = int(os.environ.get("WEIR_ROUNDS", "1000"))
KEY = "00112233445566778899aabbccddeeff" * 2
R = "REDACTED"
# Texts, and the same texts without the secrets "hunter22" and "hunter22-long".
CASES = (
    ("nothing", "nothing"),
    ('{"limit": "10Mbit/s"}', '{"limit": "10Mbit/s"}'),
    ('{"key_file": "/etc/weir/k"}', '{"key_file": "/etc/weir/k"}'),
    ('{"password_file": "/p"}', '{"password_file": "/p"}'),
    ('{"password": "x y"}', f'{{"password": "{R}"}}'),
    ('{"Etcd_Password" : 17, "a": 1}', f'{{"Etcd_Password" : "{R}", "a": 1}}'),
    ('"secrets": ["a", "]b"], "c"', f'"secrets": "{R}", "c"'),
    ('// "password": "x"\n', f'// "password": "{R}"\n'),
    ('{"password": "x\\"y"}', f'{{"password": "{R}"}}'),
    ('{"password": "x', f'{{"password": "{R}"'),
    ('{"password": "x]\n1', f'{{"password": "{R}"\n1'),
    ('{"secrets": {"a": [[1], "}"], "b": 2}, "c": 3}', f'{{"secrets": "{R}", "c": 3}}'),
    ('{"secrets": ["a]\n, 2]}', f'{{"secrets": "{R}"}}'),
    ('{"pass\\u0077ord": "x"}', f'{{"pass\\u0077ord": "{R}"}}'),
    ('{"token": }', f'{{"token": "{R}"}}'),
    ("http://user:pa55@host:1/", f"http://{R}@host:1/"),
    ('"http:\\/\\/user:pa55@host"', f'"http:\\/\\/{R}@host"'),
    ("http://host/@", "http://host/@"),
    (f"key {KEY}.", f"key {R}."),
    (f"x{KEY}{KEY}", f"x{R}"),
    ("0b6a1f0c55d6e1ea43c1c1e6c1c7f2d1", "0b6a1f0c55d6e1ea43c1c1e6c1c7f2d1"),
    ("say hunter22!", f"say {R}!"),
    ("xhunter22x", f"x{R}x"),
    ("hunter22-long", R),
    ("-----BEGIN EC PRIVATE KEY-----\nab\n-----END EC PRIVATE KEY-----.", f"{R}."),
)
LETTERS = string.ascii_letters + string.digits
SECRET_WORDS = ("password", "Passwd", "PASSPHRASE", "secret", "token", "Credential", "private")
FILE_KEYS = ("key_file", "key_files", "identity_file", "password_file", "key", "x_FILE")
TOKENS = ('"', '"', "\\", "\n", ":", ",", "{", "}", "[", "]", " ", "//", "/*", "*/", '"token"',
          '"key_file"', "password", "://", "@", "null", "7")


class Random:
    """A configuration with secrets, each at a place that must be redacted."""

    def __init__(self, rng):
        self.rng = rng
        self.n = 0
        self.secrets = []  # strings that no part may contain
        self.words = set()  # words in files of secrets
        self.files = set()  # names of these files

    def secret(self, special=""):
        """Returns a new secret that is no part of other texts."""
        self.n += 1
        letters = LETTERS + special
        found = "".join(self.rng.choices(letters, k=self.rng.randrange(6, 20))) + f"<{self.n}>"
        self.secrets.append(found)
        return found

    def plain(self):
        """Returns a value without a secret."""
        return self.rng.choice([1, "10Mbit/s", None, [], {"a": [2]}, "é", 'a"b', "x\\"])

    def name(self):
        """Returns the name of a member with a secret. It has any ending except _file."""
        word = self.rng.choice(SECRET_WORDS)
        return self.rng.choice(["", "etcd_", "my-", "é"]) + word + self.rng.choice(
            ["", "s", "_x", "_file_x", "2"])

    def value(self, depth=0):
        """Returns a value whose strings are secrets."""
        kind = self.rng.randrange(4) if depth < 3 else 0
        if kind == 2:
            return [self.value(depth + 1) for _ in range(self.rng.randrange(3))]
        if kind == 3:
            return {f"k{i}": self.value(depth + 1) for i in range(self.rng.randrange(3))}
        return self.secret(' "\\]},:/é\n')

    def line(self):
        """Returns a member or another text with a secret."""
        kind = self.rng.randrange(6)
        if kind == 0:
            return f'"url": "http://{self.secret(":")}@host:2379/"'
        if kind == 1:
            key = "".join(self.rng.choices("0123456789abcdefABCDEF", k=64))
            self.secrets.append(key)
            return f"// {key}"
        if kind == 2:
            self.words.add(self.secret("-_=+é\\\""))
            return f"// it is {self.secrets[-1]}, really"
        if kind == 3:
            file = f"/f{len(self.files)}"
            self.files.add(file)
            value = file if self.rng.random() < 0.5 else [file]
            return f'{json.dumps(self.rng.choice(FILE_KEYS))}: {json.dumps(value)}'
        ascii_only = self.rng.random() < 0.5
        blank = self.rng.choice(["", " ", "\t", "\n"])
        return (json.dumps(self.name(), ensure_ascii=ascii_only) + blank + ":" + blank +
                json.dumps(self.value(), ensure_ascii=ascii_only))

    def neighbour(self):
        """Returns a member without a secret, or a part of one."""
        text = f'"a{self.rng.randrange(9)}": {json.dumps(self.plain())}'
        while self.rng.random() < 0.5:
            at = self.rng.randrange(len(text) + 1)
            text = text[:at] + self.rng.choice(TOKENS) + text[at + self.rng.randrange(3):]
        return text

    def text(self):
        """Returns a configuration. A line can be a comment, and commas can be missing."""
        lines = []
        for _ in range(self.rng.randrange(1, 12)):
            line = self.line() if self.rng.random() < 0.6 else self.neighbour()
            comment = self.rng.choice(["", "", "// ", "/* "])
            lines.append(comment + line + self.rng.choice([",", "", " */"]))
        return self.rng.choice(["{\n", "", "[\n"]) + "\n".join(lines) + "\n"


class Redact(unittest.TestCase):
    """Tests of the redacted text."""

    def test_cases(self):
        """Tests each rule and its limits."""
        words = redact.words_of(b"hunter22 \n hunter22-long short\n")
        self.assertEqual(words, {b"hunter22", b"hunter22-long"})
        for text, wanted in CASES:
            with self.subTest(text=text):
                self.assertEqual(redact.hide(text.encode(), redact.forms_of(words)).decode(),
                                 wanted)

    def test_files(self):
        """A key, a name with certain endings, or a certificate names a file of secrets."""
        text = (b'{ // a comment\n"gossip": {"key_files": ["/a", "b"], "identity_file": "/c"},\n'
                b'"etcd": {"password_file":"/d", "key": "/e\\u0031", "cert": "/f", "pem": "/g"},'
                b'"include": ["p.json"]}')
        self.assertLessEqual({b"/a", b"b", b"/c", b"/d", b"/e1"}, set(redact.secret_files(text)))
        self.assertNotIn(b"/g", redact.secret_files(text))
        self.assertEqual(redact.secret_files(text, [b"pem"])[-1], b"/g")
        self.assertEqual(redact.included(text), [b"p.json"])

    def test_random(self):
        """All secrets and files of secrets of random configurations are found."""
        for seed in range(SEED, SEED + ROUNDS):
            with self.subTest(seed=seed):
                config = Random(random.Random(seed))
                text = config.text()
                data = text.encode()
                named = set(redact.secret_files(data))
                self.assertLessEqual({name.encode() for name in config.files}, named, text)
                known = {word.encode() for word in config.words} | redact.values_of(data)
                left = redact.hide(data, redact.forms_of(known))
                for secret in config.secrets:
                    for form in (secret, json.dumps(secret)[1:-1],
                                 json.dumps(secret, ensure_ascii=False)[1:-1]):
                        self.assertNotIn(form.encode(), left, text)
                self.assertEqual(redact.hide(left, ()), left, "another time changes nothing")

    def test_anywhere(self):
        """A secret in a configuration or its files is also redacted in other texts."""
        for seed in range(SEED, SEED + ROUNDS // 10):
            with self.subTest(seed=seed):
                config = Random(random.Random(seed))
                member = json.dumps({config.name(): config.value()}).encode()
                forms = redact.forms_of(redact.values_of(member))
                for secret in config.secrets:
                    for form in (secret, json.dumps(secret)[1:-1],
                                 json.dumps(secret, ensure_ascii=False)[1:-1]):
                        log = redact.hide(f"refused: {form}!".encode(), forms)
                        self.assertNotIn(form.encode(), log)

    def test_noise(self):
        """Any bytes are accepted as text. A secret member in them is redacted."""
        for seed in range(SEED, SEED + ROUNDS):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                around = ["".join(rng.choices(TOKENS, k=rng.randrange(12))) for _ in range(2)]
                text = f'{around[0]}\n"token": "hunter-{seed}-"\n{around[1]}'.encode() + \
                    rng.randbytes(4)
                self.assertNotIn(f"hunter-{seed}-".encode(), redact.hide(text, ()))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Makes the page weir.json(5) from the table of keys: a section for each object.

page.5 is the text around these sections.
"""

import json
import re
import textwrap

TEXT = "tools/keys/page.5"
EXAMPLE = "config/single.json"
CHANGES = {"in force": "at a reload", "restart": "at a restart",
           "policy begins again": "at a reload, which starts the policy again",
           "another policy": "at a reload, as another policy"}
UNITS = {"time": "time", "size": "size", "limit": "rate, or number per time",
         "guaranteed": "rate, or number per time", "burst": "size, or number",
         "queue": "size, or number", "total": "size, or number", "number": "number"}
# References to chapters of the manual are of no use in this page.
REFERENCES = re.compile(r" \(\[[^]]+\]\([^)]+\)\)|\.? For [^.]+, see below|\. N as below$|"
                        r"(?:^|,? )see (?:below|there|above|\[[^]]+\]\([^)]+\))")
COLUMNS = 96
END_OF_SENTENCE = re.compile(r"(?<=[.!?]) (?=\\?[A-Z0-9(\\])")


def roff(text):
    """Text for troff: code in bold, a sentence a line, no hyphen or quote that troff changes."""
    text = REFERENCES.sub("", text)
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
    text = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    text = re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", text)
    text = text.replace(" . ", " .\\& ")
    text = re.sub(r"`([^`]+)`", r"\\fB\1\\fR", text)
    return "\n".join(line for each in END_OF_SENTENCE.split(text) for line in textwrap.wrap(
        each, COLUMNS, break_long_words=False, break_on_hyphens=False))


def sentence(markdown):
    """The meaning of a key as sentences."""
    text = REFERENCES.sub("", markdown).lstrip(" .")
    return roff(text[:1].upper() + text[1:].rstrip(".") + ".") if text else ""


def example_of(table, row):
    """A value for a key that a configuration can have: (value,) or ()."""
    if row["path"] in table.spec["examples"]:
        return (table.spec["examples"][row["path"]],)
    if row["type"] == "boolean" and "default" in row:
        return (not row["default"],)
    if row.get("values"):
        return (next(word for word in row["values"] if word != row.get("default")),)
    return (row["default"],) if "default" in row else ()


def key_lines(table, row, words, default):
    """One key: its meaning, then its facts."""
    name = row["path"].rpartition(".")[2]
    yield f".It Cm {roff(name)}"
    if sentence(row["meaning"]):
        yield sentence(row["meaning"])
    yield ".Bl -tag -width Example -compact"
    facts = [("Type", words), ("Unit", UNITS.get(row["type"])),
             ("Default", None if default == "see there" else default),
             ("Change", CHANGES.get(row.get("reload"))),
             ("Group", f"the limiters compare it as \u201c{row['group']}\u201d"
              if "group" in row else None),
             ("Keys", f"section `{row['path']}`" if table.inside(row["path"]) else None)]
    for title, text in facts:
        if text:
            yield from (f".It {title}", roff(text))
    for value in example_of(table, row):
        yield from (".It Example", roff(f"`{json.dumps(name)}: "
                                        f"{json.dumps(value, ensure_ascii=False)}`"))
    yield ".El"


def page(table, root, words_of, default_of):
    """The whole page; the functions are those of the tables of the manual."""
    lines = []
    for path in dict.fromkeys(row["path"].rpartition(".")[0] for row in table.rows.values()):
        lines += [f".Ss {roff(path)}" if path else ".Ss Top level", ".Bl -tag -width Ds"]
        for row in table.inside(path):
            lines += key_lines(table, row, words_of(row), default_of(row))
        lines.append(".El")
    example = (root / EXAMPLE).read_text(encoding="utf-8").expandtabs(4).replace("\\", "\\e")
    text = (root / TEXT).read_text(encoding="utf-8")
    text = text.replace('.\\" keys\n', "\n".join(lines) + "\n")
    return text.replace('.\\" example\n', example.replace("-", "\\-"))


def without_example(table):
    """Paths of the keys that lack both an example and keys below them."""
    return [row["path"] for row in table.rows.values()
            if not example_of(table, row) and not table.inside(row["path"])]

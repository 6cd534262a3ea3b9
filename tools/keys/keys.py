#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Writes the schema, the key tables of the manual and weir.json(5) from the tables of keys.

`weir --keys` prints the tables of lib/io/config. schema.json has the rest: the value types that
only Weir has, the rules between keys that are no relations of a row, and examples. With --check it
writes nothing and exits with 1 if a file is out of date.

Usage: keys.py [--check] WEIR SOURCE_ROOT
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import key_page
import relations

SCHEMA = "config/weir.schema.json"
MANUAL = "doc/operate/configuration.md"
PAGE = "doc/man/weir.json.5"
WIDTH = 132
REMARKS = {"note": {"$ref": "#/definitions/note"}, "$schema": {"type": "string"}}
BLOCK = re.compile(r"(<!-- keys(?: ([\w.-]+))?: ([\w ,.-]+) -->\n).*?(?=<!-- end of keys)", re.S)


class Table:
    """All keys by path, in the order of the tables, and the types and rules of schema.json."""

    def __init__(self, weir, root):
        done = subprocess.run([weir, "--keys"], capture_output=True, check=True, timeout=60,
                              text=True)
        self.rows = {row["path"]: row for row in map(json.loads, done.stdout.splitlines())}
        for row in self.rows.values():
            if "names" in row:
                row["values"] = re.findall(r"[\w-]+", row["names"])
            row["meaning"] = ". ".join(filter(None, [
                row["meaning"], relations.sentences(self, row)]))
        path = root / "tools/keys/schema.json"
        self.spec = json.loads(path.read_text(encoding="utf-8"))
        for place, schema in self.spec["values"].items():
            self.rows[place]["values"] = schema.get("enum", self.rows[place].get("values"))

    def inside(self, path):
        """Returns the rows of the object at a path; the path of the file is empty."""
        return [row for row in self.rows.values()
                if row["path"].rpartition(".")[0] == path]


# --- the schema ----------------------------------------------------------------------------------

def plain(markdown):
    """Returns the text of a line of Markdown, without references to places around it."""
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", markdown)
    text = re.sub(r",? see (below|there|above)\b", "", text)
    return text.replace("`", "")


def fill(node, row, inside):
    """Returns a type with the parameters of a row in place of $min, $max, $values and $object."""
    if isinstance(node, dict):
        return {key: fill(value, row, inside) for key, value in node.items()}
    if isinstance(node, list):
        return [fill(value, row, inside) for value in node]
    if node == "$object":
        return inside
    return row[node[1:]] if isinstance(node, str) and node in (
        "$min", "$max", "$values", "$bytes") else node


def default_of(row):
    """Returns the default as a JSON value, if words or value give one: (value,) or ()."""
    if "default" in row:
        return (row["default"],)
    words = row.get("default_words", "")
    literal = re.fullmatch(r"`([\[{\"].*|true|false)`|([\d.]+)", words)
    if literal is None or words.count("`") > 2:
        return ()
    return (json.loads(literal.group(1) or literal.group(2)),)


class Schema:
    """Builds the schema: an object below `definitions` if it has a name there."""

    def __init__(self, table):
        self.table = table
        self.definitions = dict(table.spec["definitions"])

    def value(self, row):
        """Returns the schema of one key."""
        path = row["path"]
        kind = self.table.spec["types"][row["type"]]["schema"]
        inside = self.object(path) if self.table.inside(path) else {}
        node = fill(kind, row, inside)
        if row["type"] == "real":
            node["exclusiveMaximum" if row["below"] else "maximum"] = row["max"]
        meaning = plain(row["meaning"])
        found = {"description": meaning[:1].upper() + meaning[1:], **node}
        found.update(self.table.spec["values"].get(path, {}))
        if default_of(row):
            found["default"] = default_of(row)[0]
        return found

    def object(self, path):
        """Returns the schema of an object, or a reference to it."""
        rows = self.table.inside(path)
        node = {"type": "object", "additionalProperties": False}
        required = [row["path"].rpartition(".")[2] for row in rows if row["required"]]
        if required:
            node["required"] = required
        node["properties"] = {**REMARKS, **{row["path"].rpartition(".")[2]: self.value(row)
                                            for row in rows}}
        name = self.table.spec["names"].get(path)
        rules = dict(self.table.spec["rules"].get(name or path, {}))
        needs = relations.dependencies(self.table, rows, rules.pop("dependencies", {}))
        node.update({"dependencies": needs} if needs else {})
        node.update(rules)
        if name is None:
            return node
        if self.definitions.setdefault(name, node) != node:
            raise ValueError(f"{path}: another object than the definition {name}")
        return {"$ref": f"#/definitions/{name}"}

    def document(self):
        """Returns the whole schema."""
        root = self.object("")
        return {**self.table.spec["head"], **root, "definitions": self.definitions}


def dump(value, indent=0, room=WIDTH):
    """Returns JSON with tabs, on one line if it fits."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or len(line) + 8 * indent < room:
        return line
    pad, end = "\t" * (indent + 1), "\t" * indent
    if isinstance(value, list):
        inner = [pad + dump(one, indent + 1) for one in value]
        return "[\n" + ",\n".join(inner) + f"\n{end}]"
    inner = [f"{pad}{json.dumps(key)}: " + dump(one, indent + 1, room - len(key) - 4)
             for key, one in value.items()]
    return "{\n" + ",\n".join(inner) + f"\n{end}}}"


# --- the manual ----------------------------------------------------------------------------------

def alternatives(words):
    """Returns `"a"`, `"b"` or `"c"`."""
    quoted = [f'`"{word}"`' for word in words]
    return " or ".join(([", ".join(quoted[:-1])] if quoted[1:] else []) + quoted[-1:])


def type_words(row, words):
    """Returns the type of a key as text."""
    kind = row["type"]
    if words:
        return words
    if kind == "integer":
        return f"whole number, {row['min']} to {row['max']}"
    if kind == "real":
        most = f"{row['max']:g}".replace("e+", "e")
        return f"number, {row['min']:g} to {'less than ' * row['below']}{most}"
    if kind == "text":
        return f"{re.sub('^an? |^the ', '', row['what'])} of at most {row['bytes']} bytes"
    if kind == "list":
        return f"array of at most {row['max']:,} {row['path'].rpartition('.')[2]}"
    if "values" in row:
        return alternatives(row["values"])
    return f"{kind}, {row['range']}"


def default_words(row):
    """Returns the default of a key as text."""
    if row["required"]:
        return "required"
    if "default" not in row:
        return row["default_words"]
    value = json.dumps(row["default"], ensure_ascii=False)
    return value if re.fullmatch(r"[\d.]+", value) else f"`{value}`"


def words_of(table, row):
    """The type of a key of the table for people."""
    return type_words(row, table.spec["words"].get(
        row["path"], table.spec["types"][row["type"]]["words"]))


def table_lines(table, path, names):
    """Yields the table of some keys of an object."""
    yield "| key | type | default | meaning |"
    yield "|---|---|---|---|"
    for name in names:
        row = table.rows[f"{path}.{name}" if path else name]
        yield f"| `{name}` | {words_of(table, row)} | {default_words(row)} | {row['meaning']} |"


def manual_of(table, text):
    """Returns the page with all its tables written again, and the paths of their keys."""
    shown = []

    def block(match):
        path = match.group(2) or ""
        names = re.split(r"[ ,]+", match.group(3).strip())
        shown.extend(f"{path}.{name}" if path else name for name in names)
        return match.group(1) + "\n".join(table_lines(table, path, names)) + "\n"

    return BLOCK.sub(block, text), shown


# --- files ---------------------------------------------------------------------------------------

def main():
    """Writes the files, or compares them. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("weir")
    parser.add_argument("root", type=pathlib.Path)
    options = parser.parse_args()
    table = Table(options.weir, options.root)
    schema, manual = options.root / SCHEMA, options.root / MANUAL
    text, shown = manual_of(table, manual.read_text(encoding="utf-8"))
    wanted = {schema: dump(Schema(table).document()) + "\n", manual: text,
              options.root / PAGE: key_page.page(
                  table, options.root, lambda row: words_of(table, row), default_words)}
    faults = [f"{path}: out of date: run tools/keys/keys.py {options.weir} ."
              for path, new in wanted.items()
              if not path.exists() or path.read_text(encoding="utf-8") != new]
    if not options.check:
        faults = []
        for path, new in wanted.items():
            path.write_text(new, encoding="utf-8")
    elsewhere = set(table.spec["described_elsewhere"])
    faults += [f"{MANUAL}: no table has the key {path}"
               for path in table.rows if path not in shown and path not in elsewhere]
    faults += [f"{MANUAL}: two tables have the key {path}"
               for path in set(shown) if shown.count(path) > 1]
    faults += [f"tools/keys/schema.json: examples: no example of {path}"
               for path in key_page.without_example(table)]
    for line in faults:
        print(line, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks the messages about wrong keys and words of a configuration, generated from the schema.

Every key of every object is misspelt, replaced by each of its synonyms and put into other objects.
Every word of an enumeration is misspelt. Pairs of settings that exclude each other are searched.
Each message must have the right place, and its first suggestion must be the right word.

Usage: check_keys.py WEIR SOURCE_ROOT [--seed N] [--rounds N]
"""

import argparse
import collections
import copy
import itertools
import json
import pathlib
import random
import re
import string
import subprocess
import sys
import tempfile

PATIENCE_S = 120
MOST = 10  # wrong keys in one document: Weir writes 20 errors
CANDIDATES = 5
REMARKS = {"note", "$schema"}

# Keys whose name is the only word for them.
ONLY_WORD = set()

# Valid settings of a policy, each with the settings that it needs. Pairs of them are combined.
SETTINGS = [
    {"count": "packets", "limit": "900/s"}, {"count": "flows", "limit": "900/min"},
    {"allocator": "central"}, {"allocator": "static"}, {"allocator": "fps"},
    {"allocator": "gtb"}, {"allocator": "grd"}, {"allocator": "adaptor"}, {"allocator": "gdrl"},
    {"allocator": "quota", "total": "1TB"}, {"parent": "link"},
    {"parent": "link", "weight": 3}, {"parent": "link", "guaranteed": "8kbit/s"},
    {"guarantee": "hard"}, {"guarantee": "soft"}, {"meter": "token-bucket"},
    {"meter": "gcra"}, {"meter": "fixed-window", "window": "1s"},
    {"meter": "hybrid", "window": "1s"}, {"meter": "random-drop"}, {"meter": "phantom"},
    {"meter": "srtcm"}, {"meter": "trtcm", "peak": {"limit": "2Mbit/s"}},
    {"meter": "trtcm-4115", "excess": {"limit": "2Mbit/s"}}, {"burst": "64KiB"},
    {"schedule": {"zone": "UTC", "entries": [{"from": "08:00", "to": "18:00",
                                              "limit": "2Mbit/s"}]}},
    {"per": "src"}, {"action": "drop"}, {"action": "mark"}, {"action": "count"},
    {"action": "shape"}, {"action": "shape", "slo": {"p99": "1ms"}},
    {"trial": {"limit": "2Mbit/s"}}, {"trial": {"meter": "gcra"}}, {"accounting": "l2"},
    {"interval": "100ms"}, {"ewma": 0.5},
]
# Settings that require another key, with that key, in a policy or at a path.
REQUIRED = [
    ("policies[0].sources", 1024, "per"), ("policies[0].window", "1s", "meter"),
    ("policies[0].classes", {"by": "flow"}, "meter"), ("policies[0].colours", {}, "meter"),
    ("policies[0].peak", {"limit": "2Mbit/s"}, "meter"),
    ("policies[0].excess", {"limit": "2Mbit/s"}, "meter"),
    ("policies[6].weigh", "tcp", "allocator"), ("policies[0].mark", "ecn", "action"),
    ("policies[0].shape", {}, "action"), ("policies[0].slo", {"p99": "1ms"}, "action"),
    ("policies[0].place", {}, "slo"), ("policies[0].weight", 3, "parent"),
    ("policies[0].guaranteed", "8kbit/s", "parent"),
    ("policies[0].indicator", "spare", "allocator"), ("policies[0].eta", 1, "allocator"),
    ("policies[0].history", "10s", "allocator"), ("policies[0].step", "1s", "allocator"),
    ("policies[0].total", "1TB", "allocator"), ("policies[0].period", "month", "allocator"),
    ("policies[0].match", {"proto": "icmp", "dst-port": 53}, "proto"),
    ("policies[0].match", {"proto": "gre", "src-port": 53}, "proto"),
    ("policies[1].classes.weights", {"46": 4}, "by"), ("policies[2].classes.n", 64, "by"),
    ("policies[3].colours.dscp", {"46": "red"}, "aware"),
    ("policies[4].shape.target", "5ms", "drop"), ("policies[4].shape.interval", "1s", "drop"),
    ("policies[4].shape.ecn", True, "drop"), ("policies[5].burst", "64KiB", "limit"),
    ("tunnels.vxlan-port", 4789, "classify"),
    ("gossip.identities", "optional", "identity_file"),
    ("gossip.identity_file", "/i", "key_file"), ("wires[0].fail_after", "1s", "fail"),
    ("ports.lan.generic", True, "device"), ("ledger.etcd.cert", "/c", "key"),
    ("ledger.etcd.key", "/k", "cert"), ("ledger.etcd.user", "u", "password_file"),
    ("ledger.etcd.password_file", "/p", "user"), ("policies[7].accounting", "l2", "count"),
    ("policies[8].burst", "64KiB", "meter"), ("policies[0].trial.window", "1s", "meter"),
    ("policies[8].trial.burst", "64KiB", "meter"),
    ("policies[0].trial.classes", {"by": "flow"}, "meter"),
    ("policies[10].trial.classes.n", 64, "by"), ("policies[9].trial.classes.weights", {}, "by"),
    ("gossip.loans", "all", "estimator"),
]
# Settings that exclude another key, with that key and other settings that lead to the exclusion.
QUOTA = {"policies[0].allocator": "quota", "policies[0].total": "1TB"}
COLOURED = {"policies[0].meter": "trtcm", "policies[0].peak": {"limit": "2Mbit/s"}}
EXCLUDED = [
    ("gossip.key_file", "/k", "key_files", {"gossip.key_files": ["/k"]}),
    ("gossip.insecure", True, "key_file", {"gossip.key_file": "/k"}),
    ("gossip.insecure", True, "key_files", {"gossip.key_files": ["/k"]}),
    ("policies[0].weight", 3, "allocator", {"policies[0].parent": "link", **QUOTA}),
    ("policies[0].weight", 3, "per", {"policies[0].parent": "link", "policies[0].per": "src"}),
    ("policies[0].guaranteed", "8kbit/s", "allocator", {"policies[0].parent": "link", **QUOTA}),
    ("policies[0].guaranteed", "8kbit/s", "per",
     {"policies[0].parent": "link", "policies[0].per": "src"}),
    ("policies[0].guarantee", "soft", "allocator", QUOTA),
    ("policies[0].meter", "gcra", "allocator", QUOTA),
    ("policies[0].classes", {"by": "flow"}, "allocator", QUOTA),
    ("policies[0].colours", {}, "allocator", QUOTA),
    ("policies[0].peak", {"limit": "2Mbit/s"}, "allocator", QUOTA),
    ("policies[0].excess", {"limit": "2Mbit/s"}, "allocator", QUOTA),
    ("policies[0].window", "1s", "allocator", QUOTA),
    ("policies[0].schedule", {"zone": "UTC", "entries": [
        {"from": "08:00", "to": "18:00", "limit": "2Mbit/s"}]}, "allocator", QUOTA),
    ("policies[0].per", "src", "action", {"policies[0].action": "shape"}),
    ("policies[0].action", "drop", "meter", COLOURED),
    ("policies[0].mark", "ecn", "meter", COLOURED),
    ("policies[0].trial", {"limit": "2Mbit/s"}, "allocator", {"policies[0].allocator": "gtb"}),
]
# Keys of other tools, and the key of Weir that a message must suggest first.
TERMS = {
    # tc
    "rate": "limit", "ceil": "limit", "cburst": "burst", "prio": "weight", "quantum": "weight",
    "classid": "name", "filter": "match", "police": "action",
    # nftables
    "match.saddr": "src", "match.daddr": "dst", "match.dport": "dst-port",
    "match.sport": "src-port", "match.iif": "wire", "verdict": "action",
    # Cisco
    "cir": "limit", "bc": "burst", "be": "excess", "pir": "peak", "exceed-action": "action",
    "bandwidth": "limit", "peak.pir": "limit", "colours.conform-action": "green",
    "colours.violate-action": "red", "set-dscp": "mark",
    # Junos
    "burst-size": "burst", "from": "match", "then": "action", "match.source-address": "src",
    "match.destination-port": "dst-port", "match.protocol": "proto",
    # Envoy
    "unit": "count", "descriptor": "per", "max_tokens": "burst",
    # LibreQoS
    "Download Max": "limit", "Download Min": "guaranteed", "Parent Node": "parent",
    # others
    "speed": "limit", "throughput": "limit", "max_rate": "limit", "cidr": "src", "prefix": "src",
    "source-ip": "src", "destination": "dst", "min_rate": "guaranteed", "priority": "weight",
    "match.cidr": "src", "match.prefix": "src", "match.tos": "dscp", "match.vid": "vlan",
    "shape.latency": "delay", "shape.aqm": "drop", "schedule.timezone": "zone",
    "quota": "total", "cap": "total", "filters": "match", "hosts": "sources",
}
# Quantities in other tools' words, and the quantity that Weir must suggest.
QUANTITIES = [
    ("limit", "{n} mbps", "{n}Mbit/s"), ("limit", "{n}Mbps", "{n}Mbit/s"),
    ("limit", "{n} Gbps", "{n}Gbit/s"), ("limit", "{n}mbit", "{n}Mbit/s"),
    ("limit", "{n}M", "{n}Mbit/s"), ("limit", "{n}Mb/s", "{n}Mbit/s"),
    ("limit", "{n}kbps", "{n}kbit/s"), ("limit", "{n} MBIT/S", "{n}Mbit/s"),
    ("limit", "{n}MB/s", "{n8}Mbit/s"), ("limit", "{n} MBps", "{n8}Mbit/s"),
    ("burst", "{n} kb", "{n}kB"), ("burst", "{n}mib", "{n}MiB"), ("burst", "{n}M", "{n}MB"),
    ("interval", "{n} msec", "{n}ms"), ("interval", "{n} MS", "{n}ms"),
]


def without_marks(word):
    """Returns a word in the form for comparisons: without case, "_", "-", "." and blanks."""
    return re.sub(r"[-_. ]", "", word.lower())


def distance(one, other):
    """Counts mistakes between two words: inserted, dropped, replaced, and neighbours swapped."""
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, there in enumerate(other, 1):
            row.append(min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != there)))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == there:
                row[-1] = min(row[-1], rows[-2][j - 2] + 1)
        rows.append(row)
    return rows[-1][-1]


# --- the schema and the vocabulary ---------------------------------------------------------------

class Schema:
    """The objects of the schema: place → keys, and the words of each enumeration."""

    def __init__(self, root):
        self.root = json.loads((root / "config/weir.schema.json").read_text(encoding="utf-8"))
        self.keys = collections.OrderedDict()
        self.words = {}
        self.walk("", self.root)

    def walk(self, place, node):
        """Adds the objects and the enumerations at a place, and those below it."""
        if "$ref" in node:
            self.walk(place, self.root["definitions"][node["$ref"].rsplit("/", 1)[1]])
        for kind in ("allOf", "anyOf", "oneOf"):
            for branch in node.get(kind, []):
                self.walk(place, branch)
        values = [one for one in node.get("enum", [node.get("const")]) if isinstance(one, str)]
        if values:
            self.words.setdefault(place, []).extend(values)
        if isinstance(node.get("items"), dict):
            self.walk(place if place.endswith(".match") else place + "[]", node["items"])
        if isinstance(node.get("additionalProperties"), dict) and place == "ports":
            self.walk(place + ".NAME", node["additionalProperties"])
            return
        for key, value in node.get("properties", {}).items():
            if key in REMARKS:
                continue
            self.keys.setdefault(place, [])
            if key not in self.keys[place]:
                self.keys[place].append(key)
            self.walk(f"{place}.{key}" if place else key, value)


class Vocabulary:
    """The words of other tools in the rows of the tables: place → key → words."""

    def __init__(self, program, schema):
        done = subprocess.run([program, "--keys"], capture_output=True, check=True, text=True,
                              timeout=PATIENCE_S)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        places = {plain_place(place): place for place in schema.keys}
        self.objects, self.values, self.headings = {}, {}, {}
        self.relations = [(row["path"], relation) for row in rows
                          for relation in row.get("relations", [])]
        for row in rows:
            above, _, key = row["path"].rpartition(".")
            place = places[above]
            self.objects.setdefault(place, {})[key] = row["also"].split()
            if "values_also" in row:
                self.values[f"{place}.{key}" if place else key] = {
                    value: words.split() for value, words in row["values_also"].items()}
            if "heading" in row:
                self.headings[row["path"]] = row["heading"]
        self.manual = "doc/operate/configuration.md"


def plain_place(place):
    """Returns a place without the marks of arrays and names."""
    return place.replace("[]", "").replace(".NAME", "")


def table_faults(root, schema, vocabulary):
    """Yields a line for each row that is missing, superfluous or useless."""
    for place, keys in schema.keys.items():
        table = vocabulary.objects.get(place, {})
        for key in keys:
            if key not in table:
                yield f"{place}: no row for {key}"
            elif not table[key] and f"{place}.{key}" not in ONLY_WORD:
                yield f"{place}: {key} has no synonym"
        plain = {without_marks(key) for key in keys}
        for key, words in table.items():
            if key not in keys:
                yield f"{place}: {key} is no key of the schema"
            yield from (f"{place}: {word}, a synonym of {key}, is a key itself" for word in words
                        if word in plain)
            yield from (f"{place}: {word} is a misspelling of {key}, which needs no row"
                        for word in words if len(without_marks(key)) > 2
                        and distance(word, without_marks(key)) < 2)
            yield from (f"{place}: {word} is not in its plain form" for word in words
                        if word != without_marks(word))
    yield from (f"{place}: no object of the schema" for place in vocabulary.objects
                if place not in schema.keys)
    for place, values in vocabulary.values.items():
        known = schema.words.get(place, [])
        yield from (f"{place}: {value} is no value of the schema" for value in values
                    if value not in known)
    manual = (root / vocabulary.manual).read_text(encoding="utf-8")
    headings = set(re.findall(r"^#+ (.*)$", manual, re.M))
    yield from (f"{place}: {vocabulary.manual} has no heading {heading!r}"
                for place, heading in vocabulary.headings.items() if heading not in headings)


# --- documents -----------------------------------------------------------------------------------

BASE = {
    "limiter": "me", "ports": {"lan": {"device": "net_null0"}, "wan": {"device": "net_null1"}},
    "wires": [{"name": "w", "a": "lan", "b": "wan"}], "workers": [1],
}
GROUP = {"roster": [{"name": "me", "address": "10.0.0.1:1"},
                    {"name": "you", "address": "10.0.0.2:1"}], "insecure": True}


def put(document, place, members):
    """Sets the members of the object at a place; makes the objects and arrays above it."""
    at = document
    for step in re.findall(r"[^.\[\]]+|\[\d*\]", place):
        name = "lan" if step == "NAME" else step
        if step[0] == "[":
            index = int(step[1:-1] or 0)
            while len(at) <= index:
                at.append({})
            at = at[index]
            continue
        follows = place[place.index(step) + len(step):].startswith("[")
        at = at.setdefault(name, [] if follows else {})
    at.update(members)
    return document


def path_of(place, key):
    """Returns the path of a key in messages, for the object at a place."""
    path = place.replace("[]", "[0]").replace("NAME", "lan")
    if not re.fullmatch(r"[A-Za-z0-9_-]+", key):
        return f"{path}[{json.dumps(key)}]"
    return f"{path}.{key}" if path else key


def policy_document(*policies, **members):
    """Returns a document of policies with names and limits. The last is the parent "link"."""
    listed = [{"name": f"p{i}", "match": {"vlan": i + 1}, "limit": "1Mbit/s", **one}
              for i, one in enumerate(policies)]
    listed = [{key: value for key, value in one.items() if value is not None} for one in listed]
    return {**copy.deepcopy(BASE), **members,
            "policies": [*listed, {"name": "link", "match": {"vlan": 99}, "limit": "9Mbit/s"}]}


class Weir:
    """Checks documents, many in one run, and stores every error for part_faults()."""

    def __init__(self, program):
        self.program = program
        self.errors = []
        self.documents = 0

    def check(self, documents):
        """Returns the errors of each document."""
        found = []
        with tempfile.TemporaryDirectory(prefix="weir-keys-") as folder:
            files = []
            for i, document in enumerate(documents):
                files.append(f"{folder}/{i}.json")
                pathlib.Path(files[-1]).write_text(json.dumps(document, indent=1),
                                                   encoding="utf-8")
            by_file = {file: [] for file in files}
            for i in range(0, len(files), 500):
                done = subprocess.run([self.program, "--check", "--json", *files[i:i + 500]],
                                      capture_output=True, check=False, timeout=PATIENCE_S,
                                      stdin=subprocess.DEVNULL)
                for line in done.stdout.decode("ascii").splitlines():
                    one = json.loads(line)
                    if one["severity"] == "error":
                        by_file[one["file"]].append(one)
                        self.errors.append(one)
        found = [by_file[file] for file in files]
        self.documents += len(files)
        return found


# --- keys ----------------------------------------------------------------------------------------

class Case:
    """A wrong key of an object, and the key that is meant."""

    def __init__(self, place, wrong, key, kind):
        self.place, self.wrong, self.key, self.kind = place, wrong, key, kind

    def __str__(self):
        return f"{self.place or 'the root'}: {self.wrong!r} ({self.kind} of {self.key!r})"


def mistakes(chance, key, rounds):
    """Yields misspellings of a key, by kind."""
    letters = string.ascii_lowercase + "_-"
    for _ in range(rounds):
        at = chance.randrange(len(key))
        letter = chance.choice(letters)
        yield "insertion", key[:at] + letter + key[at:]
        if len(without_marks(key)) > 5:
            other = chance.randrange(len(key))
            twice = key[:at] + letter + key[at:]
            yield "two mistakes", twice[:other] + twice[other + 1:] + chance.choice(letters[:26])
        yield "omission", key[:at] + key[at + 1:]
        yield "replacement", key[:at] + letter + key[at + 1:]
        if at + 1 < len(key):
            yield "swap", key[:at] + key[at + 1] + key[at] + key[at + 2:]
        yield "case", key[:at] + key[at:].capitalize()
        yield "case", key.upper()
    if "_" in key or "-" in key:
        yield "separator", key.translate(str.maketrans("_-", "-_"))
        yield "separator", re.sub("[-_]", "", key)


def key_cases(chance, schema, vocabulary, rounds):
    """Yields misspelt keys and synonyms of every object."""
    for place, keys in schema.keys.items():
        for key in keys:
            for kind, wrong in mistakes(chance, key, rounds):
                if wrong not in keys and wrong not in REMARKS and without_marks(wrong):
                    yield Case(place, wrong, key, kind)
            for word in vocabulary.objects.get(place, {}).get(key, []):
                yield Case(place, word, key, "synonym")
                yield Case(place, chance.choice([word.upper(), word.capitalize(),
                                                 word[:1] + "_" + word[1:]]), key, "synonym")


def suggestions(error):
    """Returns the suggested keys in order, and the message's text without the manual's heading."""
    text = " ".join(filter(None, (error.get("expected"), error.get("remedy"))))
    text = re.sub(r"[Ss]ee \S+, \"[^\"]*\"$", "", text)
    return re.findall(r'(?<! in )"([^"]+)"', text), text


def nearest(case, schema, vocabulary):
    """Yields other keys that are as near to the wrong word as the one that is meant."""
    plain = without_marks(case.wrong)
    table = vocabulary.objects.get(case.place, {})
    for key in schema.keys[case.place]:
        if key == case.key:
            continue
        if distance(without_marks(key), plain) <= distance(without_marks(case.key), plain) \
                and case.kind != "synonym":
            yield key
        elif plain in table.get(key, []):
            yield key


def twice_fault(case, names, schema, vocabulary, message):
    """Returns the fault of a message about a key with two mistakes, or None if the key is
    suggested."""
    plain = without_marks(case.wrong)
    near = distance(without_marks(case.key), plain)
    nearer = any(distance(without_marks(key), plain) < min(near, 2)
                 for key in schema.keys[case.place] if key != case.key)
    means = any(plain in words for table in vocabulary.objects.values()
                for words in table.values())
    exists = any(plain == without_marks(key) for keys in schema.keys.values() for key in keys)
    if near > 2 or nearer or means or exists or case.key in names or len(names) == CANDIDATES:
        return None
    return f"{case.key!r} is not suggested: {message}"


def key_fault(case, errors, schema, vocabulary):
    """Returns the fault of a message about a wrong key, or None."""
    path = path_of(case.place, case.wrong)
    about = [one for one in errors if one.get("path") == path and one["found"] == "unknown key"]
    if len(about) != 1:
        return f"{len(about)} messages at {path}: {[one['message'] for one in errors]}"
    names, _ = suggestions(about[0])
    message = about[0]["message"]
    if case.kind == "two mistakes":
        return twice_fault(case, names, schema, vocabulary, message)
    rivals = set(nearest(case, schema, vocabulary))
    if case.wrong not in message or "line" not in about[0]:
        return f"does not name the key or its line: {message}"
    plain = without_marks(case.wrong)
    nearer = [key for key in rivals if case.kind != "synonym" and
              distance(without_marks(key), plain) < distance(without_marks(case.key), plain)]
    if nearer:
        return None if names[0] in nearer else f"{nearer} are nearer: {message}"
    if case.key not in names or (names[0] != case.key and not rivals):
        return f"{case.key!r} is not the first suggestion: {message}"
    if not rivals <= set(names) and len(names) < CANDIDATES:
        return f"{rivals - set(names)} are as near: {message}"
    if len(names) > CANDIDATES:
        return f"more than {CANDIDATES} suggestions: {message}"
    if case.kind not in ("synonym", "case", "separator") and len(names) < CANDIDATES and any(
            case.wrong in keys for keys in schema.keys.values()) and case.wrong not in names:
        return f"{case.wrong!r} is a key of another object: {message}"
    return None


def pack(cases):
    """Packs cases of one object into documents with several wrong keys each."""
    groups = collections.OrderedDict()
    for case in cases:
        most = 1 if case.place == "ledger.overlay" else MOST
        group = groups.setdefault(case.place, [{}])
        if len(group[-1]) == most:
            group.append({})
        group[-1].setdefault(case.wrong, []).append(case)
    for place, group in groups.items():
        for members in group:
            document = policy_document() if place.startswith("policies") else BASE
            yield put(copy.deepcopy(document), place, {wrong: 3 for wrong in members}), \
                [case for listed in members.values() for case in listed]


def unknown_faults(weir, chance, schema, vocabulary, rounds):
    """Checks misspelt keys and synonyms."""
    packed = list(pack(key_cases(chance, schema, vocabulary, rounds)))
    number = 0
    for (_, cases), errors in zip(packed, weir.check([document for document, _ in packed])):
        for case in cases:
            number += 1
            if why := key_fault(case, errors, schema, vocabulary):
                yield f"{case}: {why}"
    print(f"{number} wrong keys of {sum(map(len, schema.keys.values()))} in "
          f"{len(schema.keys)} objects")


def term_faults(weir, schema):
    """Checks keys of other tools."""
    documents = []
    for term in TERMS:
        above, _, key = term.rpartition(".")
        documents.append(put(policy_document(), f"policies[0].{above}".rstrip("."), {key: 3}))
    for (term, key), errors in zip(TERMS.items(), weir.check(documents)):
        about = [one for one in errors if one["found"] == "unknown key"]
        names, text = suggestions(about[0]) if about else ([], "")
        place = f"policies[].{term.rpartition('.')[0]}".rstrip(".")
        if names[:1] != [key] or (key in schema.keys[place] and f'"{key}" in "' in text):
            yield f"{term}, meant {key}: {[one['message'] for one in errors]}"


def shown_place(place, own):
    """Returns an object as messages show it, in a message about a key of another object."""
    if not place:
        return "at the top level"
    inside = place.startswith(own + ".") if own else False
    return f'in "{place[len(own) + 1:] if inside else place}"'


def misplaced_faults(weir, chance, schema, vocabulary):
    """Puts keys into objects that do not have them. Messages must name an object that has it."""
    cases = []
    for place, keys in schema.keys.items():
        for key in keys:
            others = [other for other, theirs in schema.keys.items() if key not in theirs
                      and not any(distance(without_marks(key), without_marks(one)) <= 1
                                  for one in theirs)
                      and not any(without_marks(key) in words for words in
                                  vocabulary.objects.get(other, {}).values())]
            for other in chance.sample(others, min(4, len(others))):
                cases.append(Case(other, key, key, "misplacement"))
    packed = list(pack(cases))
    for (_, listed), errors in zip(packed, weir.check([document for document, _ in packed])):
        for case in listed:
            path = path_of(case.place, case.wrong)
            about = [one for one in errors if one.get("path") == path]
            having = [shown_place(place, case.place) for place, keys in schema.keys.items()
                      if case.key in keys]
            if len(about) != 1 or not any(where in about[0].get("remedy", "")
                                          for where in having):
                yield f"{case}: names none of {having}: {[one['message'] for one in errors]}"


# --- words and quantities ------------------------------------------------------------------------

def word_faults(weir, chance, schema, vocabulary):
    """Checks misspelt words of enumerations, and words of other tools."""
    cases = []
    for place, known in schema.words.items():
        if place.endswith("proto") or place.endswith("mark") or "dscp" in place or "[]" in \
                place.replace("policies[]", "").replace("wires[]", "").replace("match[]", ""):
            continue
        for word in known:
            for kind, wrong in mistakes(chance, word, 1):
                if wrong not in known and len(word) > 2 and wrong and distance(word, wrong) < 3:
                    cases.append((place, wrong, word, kind))
        for word, others in vocabulary.values.get(place, {}).items():
            cases.extend((place, other, word, "synonym") for other in others)
    documents = []
    for place, wrong, _, _ in cases:
        above, key = place.rsplit(".", 1) if "." in place else ("", place)
        document = policy_document() if place.startswith("policies") else BASE
        documents.append(put(copy.deepcopy(document), above, {key: wrong}))
    for (place, wrong, word, kind), errors in zip(cases, weir.check(documents)):
        path = path_of(place.rpartition(".")[0], place.rpartition(".")[2])
        about = [one for one in errors if one.get("path") == path]
        near = [one for one in schema.words[place] if distance(one, wrong) <= distance(word, wrong)]
        names = re.findall(r'"([^"]+)"', about[0].get("remedy", "")) if about else []
        if not about or not names or (names[0] != word and names[0] not in near):
            yield f"{path}: {wrong!r} ({kind} of {word!r}): {[one['message'] for one in errors]}"
    print(f"{len(cases)} wrong words of {len(schema.words)} enumerations")


def quantity_faults(weir, chance):
    """Checks quantities with other units."""
    cases = []
    for key, form, meant in QUANTITIES:
        n = chance.randrange(10, 100)
        cases.append((key, form.format(n=n), meant.format(n=n, n8=8 * n)))
    documents = [policy_document({key: wrong}) for key, wrong, _ in cases]
    for (key, wrong, meant), errors in zip(cases, weir.check(documents)):
        if not any(one.get("path") == f"policies[0].{key}" and f'"{meant}"' in
                   one.get("remedy", "") for one in errors):
            yield f"{key}: {wrong!r}, meant {meant!r}: {[one['message'] for one in errors]}"


# --- rules across keys ---------------------------------------------------------------------------

def required_document(path, value):
    """Returns a document with a setting at a path, and the objects that contain it."""
    quota = {"allocator": "quota", "total": "1TB", "limit": None}
    document = policy_document(
        {}, {"meter": "phantom", "classes": {"by": "flow"}},
        {"meter": "phantom", "classes": {"by": "dscp"}}, {"meter": "srtcm", "colours": {}},
        {"action": "shape", "shape": {}}, quota, {"allocator": "static"},
        {"count": "packets", "limit": "900/s"}, {"meter": "hybrid", "window": "1s"},
        {"meter": "phantom", "trial": {"classes": {"by": "flow"}}},
        {"meter": "phantom", "trial": {"classes": {"by": "dscp"}}},
        gossip={**copy.deepcopy(GROUP), "estimator": "tree"},
        ledger={"etcd": {"endpoints": ["https://192.0.2.1"]}})
    if "generic" not in path and "etcd" not in path:
        del document["ledger"]
    above, key = path.rsplit(".", 1)
    return put(document, above, {key: value})


def names_key(text, key):
    """Returns true if a text contains a key in quotes or as a step of a path."""
    return re.search(rf'["`.\s]{re.escape(key)}(?:["`.:\s]|$)', text) is not None


def required_faults(weir):
    """Checks keys without the key that they require."""
    documents = [required_document(path, value) for path, value, _ in REQUIRED]
    for (path, _, other), errors in zip(REQUIRED, weir.check(documents)):
        key = path.rsplit(".", 1)[1]
        about = [one for one in errors if one["path"].startswith(path)
                 and names_key(one["message"], key) and names_key(one["message"], other)]
        if not about or not any("requires" in one["message"] for one in about):
            yield f"{path} without {other!r}: {[one['message'] for one in errors]}"


def excluded_faults(weir):
    """Checks keys together with a key that they exclude."""
    documents = []
    for path, value, _, more in EXCLUDED:
        document = policy_document({}, gossip=copy.deepcopy(GROUP))
        for place, member in {path: value, **more}.items():
            above, key = place.rsplit(".", 1)
            put(document, above, {key: member})
        documents.append(document)
    for (path, _, other, _), errors in zip(EXCLUDED, weir.check(documents)):
        key = path.rsplit(".", 1)[1]
        if not any(one["path"] == path and names_key(one["message"], key)
                   and names_key(one["message"], other)
                   and "cannot be combined" in one["message"] for one in errors):
            yield f"{path} with {other!r}: {[one['message'] for one in errors]}"


def unlisted_faults(vocabulary):
    """Yields relations of the rows that are not in REQUIRED or EXCLUDED."""
    listed = {(False, re.sub(r"\[\d+\]", "", path), other) for path, _, other in REQUIRED}
    listed |= {(True, re.sub(r"\[\d+\]", "", path), other) for path, _, other, _ in EXCLUDED}
    for path, relation in vocabulary.relations:
        if (relation["excluded"], path, relation["keys"][0]) not in listed:
            yield f"neither REQUIRED nor EXCLUDED has {path}: {relation}"


def pair_faults(weir):
    """Checks settings that are valid alone but not together. The message must contain a key of
    both."""
    members = {"gossip": GROUP}
    alone = weir.check([policy_document(one, **members) for one in SETTINGS])
    valid = [one for one, errors in zip(SETTINGS, alone) if not errors]
    pairs = [(one, other) for one, other in itertools.combinations(valid, 2)
             if all(one[key] == other[key] for key in set(one) & set(other))]
    documents = [policy_document({**one, **other}, **members) for one, other in pairs]
    excluded = 0
    for (one, other), errors in zip(pairs, weir.check(documents)):
        excluded += bool(errors)
        for error in errors:
            text = error["message"].split(": ", 1)[1]
            if not any(names_key(text, key) for key in one) or \
                    not any(names_key(text, key) for key in other):
                yield f"{one} with {other}: does not name a key of both: {error['message']}"
    print(f"{len(pairs)} pairs of {len(valid)} settings, {excluded} exclude each other")
    if excluded < 50 or len(valid) < len(SETTINGS) // 2:
        yield f"{excluded} pairs that exclude each other, {len(valid)} valid settings"


def part_faults(weir):
    """Checks that every error of the run has a place, a problem and an action."""
    for error in weir.errors:
        place = error.get("path") or error.get("line")
        problem = error.get("found") or "requires" in error["message"]
        action = error.get("expected") or error.get("remedy")
        if not place or not problem or not action:
            yield f"no place, problem or action: {error}"
        if re.search(r"\bof its own\b|expected (?:none|another)\b", error["message"]):
            yield f"old form: {error['message']}"
    print(f"{len(weir.errors)} messages of {weir.documents} documents")


def main():
    """Prints a line for each fault; exits with 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("weir")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1, help="misspellings of each kind and key")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    schema = Schema(options.root)
    vocabulary = Vocabulary(options.weir, schema)
    weir = Weir(options.weir)
    faults = itertools.chain(
        table_faults(options.root, schema, vocabulary),
        unknown_faults(weir, chance, schema, vocabulary, options.rounds),
        term_faults(weir, schema), misplaced_faults(weir, chance, schema, vocabulary),
        word_faults(weir, chance, schema, vocabulary), quantity_faults(weir, chance),
        required_faults(weir), excluded_faults(weir), unlisted_faults(vocabulary),
        pair_faults(weir), part_faults(weir))
    wrong = list(faults)
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        print(f"{len(wrong)} faults with --seed {options.seed} --rounds {options.rounds}",
              file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

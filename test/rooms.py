#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks dependencies between rooms, and circles of calls between files. No two headers can have
the same name, and no struct tag two meanings in a program.

    rooms.py [SOURCE_ROOT [BUILD_ROOT]]

A room is a folder with C files. It can include and call the dependencies that its targets declare
in a meson.build, but not the dependencies of these. Calls are read from the object files of the
build, so prototypes written by hand cannot hide one.

If a library lists its headers too, the list is an order from bottom to top. Each file includes and
calls only files before it. A source and its header are one file.
"""

import collections
import json
import os
import re
import subprocess
import sys

# Functions with the name of a function of the C library that they replace.
OF_THE_LIBRARY = ("bind", "setsockopt")
HOUSE = ("app", "drivers", "lib", "tools", "test/torture")
C_FILES = (".c", ".h")
KERNELS = ".bpf.c"  # a BPF program, which calls no function of others
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
INLINE = re.compile(r"^static inline [^;={]*?\b(\w+)\(", re.M)
TAG = re.compile(r"^(?:struct|union|enum) \w+(?= \{)", re.M)
COMMENT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


# --- declarations in the build files -------------------------------------------------------------

class Builds:
    """All meson.build files: the sources of each target, and the rooms of each dependency."""

    def __init__(self, texts):
        self.lists = {}      # variable → identifiers in it
        self.libraries = {}  # variable → folders of its sources
        self.dependencies = {}  # variable → (libraries, dependencies, folder that declares it)
        self.declared = collections.defaultdict(set)  # folder → dependencies of its targets
        self.elsewhere = []  # (build file, source outside of its folder)
        self.orders = {}     # room → its files without endings, from bottom to top
        for path, text in texts.items():
            self.read(path, re.sub(r"#.*", "", text))

    def read(self, path, text):
        """Parses one file: assignments, and targets, which are calls with balanced brackets."""
        folder = os.path.dirname(path)
        for found in re.finditer(r"^(\w+) \+?= \[(.*?)\]", text, re.M | re.S):
            self.lists.setdefault(found[1], []).extend(re.findall(r"\b[a-z]\w*\b",
                                                                  found[2]))
        for found in re.finditer(
                r"(?:\b(\w+) = |)\b(static_library|executable|declare_dependency)\(", text):
            body = text[found.end():self.end_of(text, found.end())]
            self.target(path, folder, found[1], found[2], body)

    @staticmethod
    def end_of(text, at):
        """Returns the position of the bracket that closes the open one."""
        depth = 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        return at - 1

    @staticmethod
    def words(body, key):
        """Returns the identifiers in a keyword argument."""
        one = r"(?:\[[^\]]*\]|\w+(?:\([^)]*\))?)"
        found = re.search(rf"\b{key}: *({one}(?: *\+ *{one})*)", body)
        return re.findall(r"\b[a-z]\w*\b", re.sub(r"'[^']*'", "", found[1])) if found else []

    def target(self, path, folder, name, kind, body):
        """Records a library, a program, or a declared dependency."""
        sources = [os.path.normpath(os.path.join(folder, source))
                   for source in re.findall(r"'([^']+\.c)'", body)]
        folders = {os.path.dirname(source) for source in sources}
        listed = re.findall(r"'([\w/]+)\.([ch])'", body)
        if kind == "static_library" and "h" in (ending for _, ending in listed):
            self.orders[folder] = [os.path.join(folder, stem) for stem, _ in listed]
        needs = self.words(body, "dependencies")
        if kind == "declare_dependency":
            inside = self.words(body, "link_with")
            self.dependencies[name] = (inside, needs, folder)
            if not inside and not sources:
                self.declared[folder].update(needs)
        elif name:
            self.libraries[name] = folders
        self.elsewhere += [(path, source) for source in sources
                           if not source.startswith(folder + os.sep)]
        for each in folders:
            self.declared[each].update(needs)

    def expand(self, names):
        """Yields the names, with lists replaced by their elements."""
        for name in names:
            if name in self.lists:
                yield from self.expand(self.lists[name])
            else:
                yield name

    def rooms_of(self, dependency):
        """Returns the folders that a dependency stands for: its library's, or those of a sum."""
        inside, needs, folder = self.dependencies.get(dependency, ((), (), None))
        rooms = {room for library in inside for room in self.libraries.get(library, ())}
        if folder and not rooms:
            rooms = {folder}
            for name in self.expand(needs):
                rooms |= self.rooms_of(name)
        return rooms

    def visible(self, room):
        """Returns the rooms that a room declares."""
        return {seen for name in self.expand(self.declared[room]) for seen in self.rooms_of(name)}


# --- includes and calls of the files -------------------------------------------------------------

def code_of(text):
    """Returns the text without comments and strings."""
    return COMMENT.sub(" ", text)


def resolve(name, included, files):
    """Returns the included file: in the same folder, or one whose path ends so."""
    beside = os.path.join(os.path.dirname(name), included)
    if beside in files:
        return beside
    ends = [path for path in files if path.endswith("/" + included)]
    near = [path for path in ends if path.split("/")[:2] == name.split("/")[:2]]
    return (near or ends or [None])[0]


def objects(build, root):
    """Returns source → (defined symbols, undefined symbols)."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    table = {}
    for command in commands:
        source = os.path.relpath(os.path.join(command["directory"], command["file"]), root)
        built = os.path.join(build, command["output"])
        if source.startswith(HOUSE) and os.path.exists(built):
            table[built] = source
    paths = sorted(table)
    found = {source: (set(), set()) for source in table.values()}
    listing = subprocess.run(["nm", "-A", "--format=posix", *paths], check=True,
                             capture_output=True, text=True).stdout if paths else ""
    for line in listing.splitlines():
        path, symbol = line.split(": ", 1)
        name, kind = symbol.split()[:2]
        if kind in "UTDBRCVW" and name not in OF_THE_LIBRARY:
            found[table[path]][kind == "U"].add(name)
    return found


class House:
    """All files of the tree, with their includes and calls."""

    def __init__(self, texts, symbols):
        self.texts = {name: code_of(text) for name, text in texts.items()}
        self.includes = {name: [(word, resolve(name, word, texts)) for word in
                                INCLUDE.findall(text)] for name, text in texts.items()}
        self.definers = collections.defaultdict(set)
        for source, (defined, _) in symbols.items():
            for symbol in defined:
                self.definers[symbol].add(source)
        self.inlines = {name: set(INLINE.findall(text)) for name, text in self.texts.items()
                        if name.endswith(".h")}
        self.calls = collections.defaultdict(dict)  # file → {file: symbol}
        for name in texts:
            self.find_calls(name, symbols.get(name, ((), ()))[1])

    def owner(self, name, symbol):
        """Returns the source that defines a symbol used by a file; None if it is external. If two
        programs define it, prefers the file's own."""
        found = self.definers.get(symbol, ())
        near = [one for one in found if one.split("/")[:2] == name.split("/")[:2]]
        return next(iter(near or sorted(found)), None)

    def find_calls(self, name, wanted):
        """A source calls undefined symbols of its object that its text names; a header, the names
        in its text."""
        text = self.texts[name]
        words = set(re.findall(r"\b[a-z_]\w+\b", text))
        if name.endswith(".h"):
            bodies = set(re.findall(r"\b([a-z_]\w+)\(", text)) if self.inlines[name] else set()
            bodies -= self.inlines[name]
            wanted = {word for word in bodies if word in self.definers
                      and not re.search(rf"^[a-z][\w \*]*\b{word}\([^{{]*?\);", text, re.M)}
        for symbol in wanted:
            owner = self.owner(name, symbol)
            if symbol in words and owner and owner != name:
                self.calls[name].setdefault(owner, symbol)
        for _, header in self.includes[name]:
            used = sorted(words & self.inlines.get(header, set()) - self.inlines.get(name, set()))
            if used:
                self.calls[name].setdefault(header, used[0])


def undeclared(house, builds):
    """Yields includes and calls of rooms that a room does not declare."""
    for name in sorted(house.texts):
        room = os.path.dirname(name)
        visible = builds.visible(room) | {room}
        said = f"{room} does not declare {{}} as a dependency"
        for word, header in house.includes[name]:
            if header and os.path.dirname(header) not in visible:
                yield f'{name} includes "{word}": {said.format(os.path.dirname(header))}'
        for other, symbol in sorted(house.calls[name].items()):
            if os.path.dirname(other) not in visible:
                yield f"{name} calls {symbol}() of {other}: {said.format(os.path.dirname(other))}"


def against_order(house, builds):
    """Yields files that are missing in their room's order, or that use a later one."""
    for room, order in sorted(builds.orders.items()):
        place = {stem: at for at, stem in enumerate(order)}
        files = [name for name in sorted(house.texts) if os.path.dirname(name) == room]
        stems = {name: os.path.splitext(name)[0] for name in files}
        yield from (f"{name} has no place in the order of {room}/meson.build" for name in files
                    if stems[name] not in place)
        files = [name for name in files if stems[name] in place]
        for name in files:
            used = {other: f"calls {symbol}() of" for other, symbol in house.calls[name].items()}
            used.update((header, "includes") for _, header in house.includes[name])
            yield from (f"{name} {how} {other}, which {room}/meson.build has later"
                        for other, how in sorted(used.items(), key=str)
                        if other in stems and place.get(stems[other], -1) > place[stems[name]])


def reached(graph, start):
    """Returns all nodes that calls lead to from `start`, itself only in a circle."""
    seen, left = set(), [start]
    while left:
        new = set(graph.get(left.pop(), ())) - seen
        seen |= new
        left += new
    return seen


def circles(graph):
    """Returns files that reach each other, each circle as a sorted list."""
    reach = {node: reached(graph, node) for node in graph}
    found = {tuple(sorted(other for other in reach[node] if node in reach.get(other, ())))
             for node in graph if node in reach[node]}
    return sorted(list(part) for part in found)


def in_circles(graph, what):
    """Yields a line for each circle, with the calls in it."""
    for part in circles(graph):
        arcs = [f"{here} → {there} ({graph[here][there]})" for here in part
                for there in sorted(graph.get(here, ())) if there in part]
        yield f"a circle of {len(part)} {what}:\n  " + "\n  ".join(arcs)


def between_files(house):
    """Returns file → {file: symbol}, without endings, because a source and its header are one."""
    graph = collections.defaultdict(dict)
    for name, called in house.calls.items():
        stem = os.path.splitext(name)[0]
        for other, symbol in called.items():
            if os.path.splitext(other)[0] != stem:
                graph[stem].setdefault(os.path.splitext(other)[0], symbol)
    return graph


def between_rooms(house):
    """Returns room → {room: the file that calls}."""
    graph = collections.defaultdict(dict)
    for name, called in house.calls.items():
        for other in called:
            if os.path.dirname(name) != os.path.dirname(other):
                graph[os.path.dirname(name)].setdefault(os.path.dirname(other), name)
    return graph


def program_of(name):
    """Returns the program that a file belongs to; libraries belong to every program."""
    return "" if name.startswith(("lib/", "drivers/")) else "/".join(name.split("/")[:2])


def two_meanings(texts):
    """Yields struct tags that are defined twice in one program."""
    places = collections.defaultdict(list)
    for name in sorted(texts):
        for tag in TAG.findall(code_of(texts[name])):
            places[tag].append(name)
    for tag, names in sorted(places.items()):
        programs = [program_of(name) for name in names]
        if len(set(programs)) < len(programs) or "" in programs and len(programs) > 1:
            yield f"{tag} means {len(names)} things: {', '.join(names)}"


def complaints(texts, builds, symbols):
    """Yields all complaints about a tree."""
    house = House(texts, symbols)
    for name in sorted(texts):
        if name.endswith(".c") and name not in symbols and not name.endswith(KERNELS):
            yield f"{name} has no object, so nobody knows what it calls: it is to be built first"
    yield from undeclared(house, builds)
    yield from against_order(house, builds)
    yield from in_circles(between_files(house), "files")
    yield from in_circles(between_rooms(house), "rooms")
    for path, source in builds.elsewhere:
        yield f"{path} compiles {source}, which is another room's: it links what that room offers"
    headers = collections.defaultdict(list)
    for name in sorted(texts):
        if name.endswith(".h"):
            headers[os.path.basename(name)].append(name)
    for name, paths in headers.items():
        if len(paths) > 1:
            yield f"{len(paths)} headers are called {name}: {', '.join(paths)}"
    yield from two_meanings(texts)


# --- tests of the rules --------------------------------------------------------------------------

def self_test():
    """Yields complaints about rules that do not find their planted violations."""
    builds = {"lib/low/meson.build": "low_lib = static_library('low', 'low.c', dependencies: [])\n"
              "low_dep = declare_dependency(link_with: low_lib)\n",
              "lib/high/meson.build": "high_deps = [low_dep]\nhigh_lib = static_library('high', "
              "'high.c', 'more.c', dependencies: high_deps)\n"
              "high_dep = declare_dependency(link_with: high_lib, dependencies: high_deps)\n"}
    texts = {"lib/low/low.h": "void low(void);\n",
             "lib/low/low.c": '#include "low/low.h"\nvoid low(void) {}\n',
             "lib/high/high.h": "void high(void);\nvoid more(void);\n",
             "lib/high/high.c": '#include "high/high.h"\n#include "low/low.h"\n'
             "void high(void) { low(); more(); }\n",
             "lib/high/more.c": '#include "high/high.h"\nvoid more(void) {}\n'}
    symbols = {"lib/low/low.c": ({"low"}, set()), "lib/high/high.c": ({"high"}, {"low", "more"}),
               "lib/high/more.c": ({"more"}, set())}

    def found(text=None, symbol=None, build=None):
        return "\n".join(complaints({**texts, **(text or {})}, Builds({**builds, **(build or {})}),
                                    {**symbols, **(symbol or {})}))

    if found():
        yield f"rooms.py finds what is not there: {found()}"
    ordered = {"lib/high/meson.build": builds["lib/high/meson.build"].replace(
        "'high.c', 'more.c'", "'more.c', 'high.h', 'high.c'")}
    if found({"lib/high/more.c": "void more(void) {}\n"}, build=ordered):
        yield f"rooms.py finds a call upwards that is not there: {found(build=ordered)}"
    up = "void high(void);\nvoid low(void) { high(); }\n"
    planted = {
        'lib/low/low.c includes "high/high.h": lib/low does not declare lib/high':
            found({"lib/low/low.c": '#include "high/high.h"\n'}),
        "lib/low/low.c calls high() of lib/high/high.c: lib/low does not declare lib/high":
            found({"lib/low/low.c": up}, {"lib/low/low.c": ({"low"}, {"high"})}),
        "a circle of 2 files":
            found({"lib/high/more.c": "void more(void) { high(); }\n"},
                  {"lib/high/more.c": ({"more"}, {"high"})}),
        "lib/high/more → lib/high/high (half)":
            found({"lib/high/high.h": texts["lib/high/high.h"]
                   + "static inline int half(void) { return 1; }\n",
                   "lib/high/more.c": '#include "high/high.h"\nint more(void) { half(); }\n'}),
        "a circle of 2 rooms": found({"lib/low/low.c": up}, {"lib/low/low.c": ({"low"}, {"high"})}),
        "lib/high/more.c includes lib/high/high.h, which lib/high/meson.build has later":
            found(build=ordered),
        "lib/high/more.c calls high() of lib/high/high.c, which lib/high/meson.build has later":
            found({"lib/high/more.c": "void more(void) { high(); }\n"},
                  {"lib/high/more.c": ({"more"}, {"high"})}, ordered),
        "lib/high/new.h has no place in the order": found({"lib/high/new.h": "\n"}, build=ordered),
        "which is another room's":
            found(build={"test/unit/meson.build": "executable('x', '../../lib/low/low.c')\n"}),
        "lib/low/new.c has no object": found({"lib/low/new.c": "\n"}),
        "2 headers are called low.h": found({"lib/high/low.h": "\n"}),
        "struct deep means 2 things": found({"lib/low/low.c": "struct deep {\n\tint x;\n};\n",
                                             "lib/high/high.h": "struct deep {\n};\n"}),
    }
    for words, said in planted.items():
        if words not in said:
            yield f"rooms.py does not find {words!r} any more: {said!r}"


def files_of(root):
    """Returns the texts of all C files, and of all build files, by name."""
    texts, builds = {}, {}
    listing = subprocess.run(["git", "-c", f"safe.directory={root}", "ls-files", "-co",
                              "--exclude-standard"], cwd=root, check=True, capture_output=True,
                             text=True).stdout.splitlines()
    for name in listing:
        path = os.path.join(root, name)
        if not os.path.isfile(path):
            continue
        kept = (builds if os.path.basename(name) == "meson.build" else
                texts if name.endswith(C_FILES) and name.startswith(HOUSE) else None)
        if kept is not None:
            with open(path, encoding="utf-8") as file:
                kept[name] = file.read()
    return texts, builds


def main():
    """Prints each complaint on a line; exits with 1 if there are any."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root = os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else here)
    build = os.path.realpath(sys.argv[2] if len(sys.argv) > 2 else os.path.join(root, "build"))
    texts, builds = files_of(root)
    found = list(self_test())
    found += complaints(texts, Builds(builds), objects(build, root))
    rooms = {os.path.dirname(name) for name in texts}
    print("\n".join(found) if found else f"{len(rooms)} rooms, nothing to complain about")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

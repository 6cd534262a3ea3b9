#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Whether each room sees only what its build file declares, and no files call in a circle; and that
no two headers have one name, and no struct tag two meanings in a program.

    rooms.py [SOURCE_ROOT [BUILD_ROOT]]

A room is a folder with C in it. What it may include and call is what the targets of its sources
name as dependencies in a meson.build: these, and not theirs in turn. Calls are read from the
objects of the build, so that no prototype written by hand hides one.

If a library lists its headers too, the list is an order from below to the top. Each file includes
and calls only files before it. A source and its header are one file.
"""

import collections
import json
import os
import re
import subprocess
import sys

# Functions of the C library in whose place the house has its own, for who does not know of it.
OF_THE_LIBRARY = ("bind", "setsockopt")
HOUSE = ("app", "drivers", "lib", "tools", "test/torture")
C_FILES = (".c", ".h")
KERNELS = ".bpf.c"  # a program of the kernel's, which calls nobody's functions
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
INLINE = re.compile(r"^static inline [^;={]*?\b(\w+)\(", re.M)
TAG = re.compile(r"^(?:struct|union|enum) \w+(?= \{)", re.M)
COMMENT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


# --- what the build files declare ----------------------------------------------------------------

class Builds:
    """All meson.build files: which sources a target has, and which rooms a dependency stands for.
    """

    def __init__(self, texts):
        self.lists = {}      # variable → identifiers in it
        self.libraries = {}  # variable → folders of its sources
        self.dependencies = {}  # variable → (libraries, dependencies, folder that offers it)
        self.declared = collections.defaultdict(set)  # folder → dependencies of its targets
        self.elsewhere = []  # (build file, source outside of its folder)
        self.orders = {}     # room → its files without endings, from below to the top
        for path, text in texts.items():
            self.read(path, re.sub(r"#.*", "", text))

    def read(self, path, text):
        """One file: assignments and targets, which are calls with balanced brackets."""
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
        """Where the bracket that is open there is closed."""
        depth = 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        return at - 1

    @staticmethod
    def words(body, key):
        """The identifiers that a keyword argument has."""
        one = r"(?:\[[^\]]*\]|\w+(?:\([^)]*\))?)"
        found = re.search(rf"\b{key}: *({one}(?: *\+ *{one})*)", body)
        return re.findall(r"\b[a-z]\w*\b", re.sub(r"'[^']*'", "", found[1])) if found else []

    def target(self, path, folder, name, kind, body):
        """A library, a program, or a dependency that is offered."""
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
        """Lists by what is in them."""
        for name in names:
            if name in self.lists:
                yield from self.expand(self.lists[name])
            else:
                yield name

    def rooms_of(self, dependency):
        """The folders that a dependency stands for: its library's, or those of a sum."""
        inside, needs, folder = self.dependencies.get(dependency, ((), (), None))
        rooms = {room for library in inside for room in self.libraries.get(library, ())}
        if folder and not rooms:
            rooms = {folder}
            for name in self.expand(needs):
                rooms |= self.rooms_of(name)
        return rooms

    def visible(self, room):
        """The rooms that a room declares."""
        return {seen for name in self.expand(self.declared[room]) for seen in self.rooms_of(name)}


# --- what the files do ---------------------------------------------------------------------------

def code_of(text):
    """A file without comments and strings."""
    return COMMENT.sub(" ", text)


def resolve(name, included, files):
    """The file that an include is of: in the same folder, or the one that ends so."""
    beside = os.path.join(os.path.dirname(name), included)
    if beside in files:
        return beside
    ends = [path for path in files if path.endswith("/" + included)]
    near = [path for path in ends if path.split("/")[:2] == name.split("/")[:2]]
    return (near or ends or [None])[0]


def objects(build, root):
    """Source → (symbols that it defines, symbols that it wants)."""
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
    """All files of the house, what they include, and whom they call."""

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
        """The source that defines what a file wants; None: it is not of the house. Of two programs
        with the same name, the file's own."""
        found = self.definers.get(symbol, ())
        near = [one for one in found if one.split("/")[:2] == name.split("/")[:2]]
        return next(iter(near or sorted(found)), None)

    def find_calls(self, name, wanted):
        """A source calls what its object wants and it names itself; a header what it names."""
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
    """Includes and calls of rooms that a room does not declare."""
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
    """Files of a room with an order that the order does not have, or that use a later one."""
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
    """All that calls lead to from there, itself only if they lead back."""
    seen, left = set(), [start]
    while left:
        new = set(graph.get(left.pop(), ())) - seen
        seen |= new
        left += new
    return seen


def circles(graph):
    """Files that reach each other, each circle as a sorted list."""
    reach = {node: reached(graph, node) for node in graph}
    found = {tuple(sorted(other for other in reach[node] if node in reach.get(other, ())))
             for node in graph if node in reach[node]}
    return sorted(list(part) for part in found)


def in_circles(graph, what):
    """A line for each circle, with what holds it together."""
    for part in circles(graph):
        arcs = [f"{here} → {there} ({graph[here][there]})" for here in part
                for there in sorted(graph.get(here, ())) if there in part]
        yield f"a circle of {len(part)} {what}:\n  " + "\n  ".join(arcs)


def between_files(house):
    """File without ending → {file without ending: symbol}: a source and its header are one file."""
    graph = collections.defaultdict(dict)
    for name, called in house.calls.items():
        stem = os.path.splitext(name)[0]
        for other, symbol in called.items():
            if os.path.splitext(other)[0] != stem:
                graph[stem].setdefault(os.path.splitext(other)[0], symbol)
    return graph


def between_rooms(house):
    """Room → {room: the file that calls}."""
    graph = collections.defaultdict(dict)
    for name, called in house.calls.items():
        for other in called:
            if os.path.dirname(name) != os.path.dirname(other):
                graph[os.path.dirname(name)].setdefault(os.path.dirname(other), name)
    return graph


def program_of(name):
    """The part of the house that a file is of; libraries are of every program."""
    return "" if name.startswith(("lib/", "drivers/")) else "/".join(name.split("/")[:2])


def two_meanings(texts):
    """Struct tags that one program would know twice."""
    places = collections.defaultdict(list)
    for name in sorted(texts):
        for tag in TAG.findall(code_of(texts[name])):
            places[tag].append(name)
    for tag, names in sorted(places.items()):
        programs = [program_of(name) for name in names]
        if len(set(programs)) < len(programs) or "" in programs and len(programs) > 1:
            yield f"{tag} means {len(names)} things: {', '.join(names)}"


def complaints(texts, builds, symbols):
    """Everything that is wrong with a house."""
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


# --- that each rule finds what it is for ---------------------------------------------------------

def self_test():
    """Complaints about rules that do not see what is planted for them."""
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
    """Names of the house's C, and of all build files, with their texts."""
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
    """Every complaint is a line; exits with whether there were any."""
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

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks style: layout, licence, length, banned calls, words, and that pure rooms are pure."""

import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLUMNS = 100
TAB = 8
LAYOUT = 14  # the clang-format of Debian 12; other versions break some lines differently
LINES_OF_A_FUNCTION = 70
CORPUS = "test/fuzz/corpus/"  # inputs of fuzz targets: any bytes
PAGE = "app/exporter/page/"  # files that browsers load
NO_COMMENTS = (".json", ".pcap", ".svg", "LICENSE", ".gitignore", ".editorconfig")
LONG_LINES = (".json", ".md", ".svg", "LICENSE", ".clang-format")

BANNED = {
    "strcpy": "snprintf", "strcat": "snprintf", "sprintf": "snprintf", "vsprintf": "vsnprintf",
    "gets": "fgets", "strtok": "strcspn", "atoi": "strtol and its checks", "atol": "strtol",
    "rand": "prng_next", "random": "prng_next", "system": "posix_spawn", "usleep": "nanosleep",
    "alloca": "an array of known size", "localtime": "localtime_r", "ctime": "strftime",
}

# Rooms without system calls, clocks and I/O; test/rooms.py checks their dependencies.
PURE = ("lib/base/", "lib/control/", "lib/datapath/flow/", "lib/datapath/meter/",
        "lib/datapath/shape/", "lib/datapath/source/")
IMPURE = re.compile(r"#include <(rte_|sys/socket|time\.h|pthread|unistd|stdio|netinet)")


# First words that a comment must not have, because it needs a subject.
FIRST_WORDS = re.compile(r'(?:/\*+\s*(?:\*\s*)?|"""|# )(The same|Likewise|Of|Who)\b')
# Static functions need descriptive names: backtraces and profiles show them without their file.
STATIC = re.compile(r"^static (?:inline )?[\w *]*?\b(\w+)\(", re.M)
TOLD = ("main",)
# Private words, and the field's word for each.
FIELD = {
    "usher": "steering", "seats": "reta", "seating": "reta_target", "mover": "migration",
    "hush": "drain", "tenant": "policy, attach", "lately": "delay_window", "purse": "credit",
    "pocket": "prepaid", "letter": "message", "obeyed": "enforced", "untold": "dirty, pending",
    "adopted": "inherited", "naps": "skips_idle", "handover": "grace", "judge": "policer, verdict",
    "judges": "policers", "judged": "decided", "rehearse": "dry_run", "rehearsed": "dry_run_result",
    "beside": "next_to, or the thing itself", "anew": "again, restart", "former": "previous",
    "believe": "accept", "believed": "accepted", "believes": "accepts",
    "brain": "limiter, limiter_task",
}


def tracked():
    """Returns the files of the repository, and new ones that git does not ignore."""
    listing = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "ls-files", "-co",
                              "--exclude-standard"], cwd=ROOT, check=True,
                             capture_output=True, text=True).stdout.splitlines()
    return [name for name in listing if os.path.isfile(os.path.join(ROOT, name)) and
            not name.startswith(CORPUS) and not name.endswith(".png")]


def width(line):
    """Returns the width of a line in columns."""
    return len(line.expandtabs(TAB))


def check_text(name, text):
    """Checks every file."""
    lines = text.split("\n")
    if not name.endswith(NO_COMMENTS) and not any("SPDX-License-Identifier: BSD-3-Clause" in line
                                                   for line in lines[:5]):
        yield 1, "no SPDX line"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield number, "white space at the end"
        # A message is not broken in two lines, so that it can be searched for.
        literal = name.endswith((".c", ".h")) and '"' in line
        if width(line) > COLUMNS and not literal and not name.endswith(LONG_LINES):
            yield number, f"{width(line)} columns"
        if re.search(r"(?<![\w.$}])/(?:work|root|home)/", line):
            yield number, "a path of some machine"
    if text and not text.endswith("\n"):
        yield len(lines), "no newline at the end"


def check_words(name, text):
    """Checks the first words of comments, and names."""
    for found in FIRST_WORDS.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, f"a comment that begins with {found[1]!r}"
    if not name.endswith((".c", ".h")):
        return
    code = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', lambda gone: "\n" * gone[0].count("\n"), text,
                  flags=re.S)
    for found in STATIC.finditer(code):
        if "_" not in found[1] and found[1] not in TOLD and not name.startswith("test/"):
            yield (code.count("\n", 0, found.start()) + 1,
                   f"{found[1]}(): a static function says what it does to what")
    for number, line in enumerate(code.split("\n"), 1):
        for word in re.findall(r"[a-z]+", line):
            if word in FIELD:
                yield number, f"{word}: the field's word is {FIELD[word]}"


def check_c(name, text):
    """Checks C files."""
    start = None
    test = name.startswith("test/")  # tables are long, and a test can call banned functions
    code = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    for number, line in enumerate(code.split("\n"), 1):
        for call in re.findall(r"(?<![\w>.])(\w+)\(", line.split("/*")[0]):
            if call in BANNED and not test:
                yield number, f"{call}(): use {BANNED[call]}"
    for number, line in enumerate(text.split("\n"), 1):
        if name.startswith(PURE) and IMPURE.match(line):
            yield number, "lib/control is pure"
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            if number - start - 1 > LINES_OF_A_FUNCTION and not test:
                yield start, f"a function of {number - start - 1} lines"
            start = None


def check_page(name, text):
    """Checks that a page loads nothing from other servers, and creates no elements from text."""
    for number, line in enumerate(text.split("\n"), 1):
        if re.search(r"\w+://", line.replace("http://www.w3.org/2000/svg", "")):
            yield number, "the page asks nobody but the exporter"
        if re.search(r"innerHTML|outerHTML|insertAdjacentHTML|\beval\b|document\.write", line):
            yield number, "elements are made one by one, so that no name becomes one"


def formatter():
    """Returns (clang-format of the right version, or None; the version found)."""
    version = "none"
    for name in (f"clang-format-{LAYOUT}", "clang-format"):
        if shutil.which(name):
            words = subprocess.run([name, "--version"], check=True, capture_output=True, text=True)
            version = re.search(r"version (\d+)", words.stdout)[1]
            if int(version) == LAYOUT:
                return name, version
    return None, version


def check_format(program, names):
    """Returns the errors of clang-format."""
    done = subprocess.run([program, "--dry-run", "--Werror", *names], cwd=ROOT, check=False,
                          capture_output=True, text=True)
    return [line for line in done.stderr.splitlines() if "error:" in line]


def self_test():
    """Yields complaints about rules that do not find their planted violations."""
    spdx = "/* SPDX-License-Identifier: BSD-3-Clause */\n"
    planted = [
        ("x.c", "int x;\n", "SPDX"), ("x.c", spdx + "int x; \n", "white space"),
        ("x.c", spdx + "\t" * 12 + "int xx;;\n", "columns"), ("x.c", spdx + "int x;", "newline"),
        ("x.c", spdx + "/* see " + "/ho" + "me/somebody */\n", "path"),
        ("lib/control/gossip/x.c", spdx + "#include <rte_mbuf.h>\n", "pure"),
        ("x.c", spdx + "void f(void)\n{\n\tx = atoi(y);\n}\n", "strtol"),
        ("x.c", spdx + "void f(void)\n{\n" + "\tx++;\n" * 71 + "}\n", "a function of 71"),
        ("x.c", spdx + "/* The sa" + "me of others. */\n", "begins with 'The same'"),
        ("x.py", "# " + spdx + "# O" + "f all.\n", "begins with 'Of'"),
        ("lib/x.c", spdx + "static int put(int x)\n{\n}\n", "what it does to what"),
        ("lib/x.c", spdx + "int x(struct usher *u);\n", "steering"),
    ]
    for text, want in (("fetch('https" + "://example.net')", "asks nobody"),
                       ("x.inner" + "HTML = name", "one by one")):
        if not any(want in words for _, words in check_page(PAGE + "x.js", text)):
            yield f"style.py does not find {want!r} any more"
    for name, text, want in planted:
        found = [words for _, words in [*check_text(name, text), *check_words(name, text),
                                        *check_c(name, text)]]
        if not any(want in words for words in found):
            yield f"style.py does not find {want!r} any more: {found}"
    good = spdx + '#include "base/prng.h"\nvoid f(void)\n{\n' + "\tx++;\n" * 70 + "}\n"
    for _, words in [*check_text("lib/control/gossip/x.c", good), *check_c("lib/control/gossip/x.c",
    good)]:
        yield f"style.py finds what is not there: {words}"


def main():
    """Prints each complaint on a line; exits with 1 if there are any."""
    complaints = list(self_test())
    names = tracked()
    sources = [name for name in names if name.endswith((".c", ".h"))]
    for name in names:
        with open(os.path.join(ROOT, name), encoding="utf-8") as content:
            text = content.read()
        found = list(check_text(name, text))
        if name.endswith((".c", ".h", ".py")):
            found += check_words(name, text)
        if name in sources:
            found += check_c(name, text)
        if name.startswith(PAGE):
            found += check_page(name, text)
        complaints += [f"{name}:{number}: {words}" for number, words in found]
    program, version = formatter()
    if program:
        complaints += check_format(program, sources)
    else:
        print(f"layout not judged: it is clang-format {LAYOUT}'s, and here is {version}")
    print("\n".join(complaints) if complaints else f"{len(names)} files, nothing to complain about")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks the English of documents, comments and messages, and the subjects of commits.

    language.py            check all files, and the subjects of new commits
    language.py FILE...    show every habit in these files
    language.py --plant N  add an old-style sentence to N random files: each must be noticed
"""

import argparse
import os
import random
import re
import subprocess
import sys

from prose import commits
from prose.habits import KINDS, Count
from prose.passages import passages_of

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Inputs of fuzz targets, results, pictures and licences are not prose.
SKIPPED = re.compile(r"test/fuzz/corpus/|doc/study/.*\.json$|.*\.(?:svg|png|pcap|pml|supp|dict)$|"
                     r".*copyright$|LICENSE$")
# Subjects of commits after this one are checked.
FIRST_COMMIT = "3b9cae460dc929264928063911eda9095fe324a0"
PLANTED = 40  # files of a normal run that get an old-style sentence
SEED = 1
SHOWN = 5  # places of a complaint


def git(*words):
    """The output of git, or None if it fails: no repository, or one without that history."""
    done = subprocess.run(["git", "-c", f"safe.directory={ROOT}", *words], cwd=ROOT, check=False,
                          capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def tracked():
    """Files of the repository that hold prose, and new ones that git does not ignore."""
    names = git("ls-files", "-co", "--exclude-standard").splitlines()
    return [name for name in sorted(set(names)) if not SKIPPED.match(name)
            and os.path.isfile(os.path.join(ROOT, name))]


def read(name):
    """The text of a file of the tree."""
    with open(os.path.join(ROOT, name), encoding="utf-8") as content:
        return content.read()


def count_of(name, text):
    """The habits of a text, by the kind of file that its name stands for."""
    return Count(passages_of(name, text))


def judge(count):
    """Complaints about the habits of one file, as (line, words)."""
    for kind in KINDS:
        places = count.places[kind]
        if places:
            yield (places[0][0], f"{len(places)} × {kind}; see doc/contributing/english.md: "
                   + ", ".join(f"line {line} ({words})" for line, words in places[:SHOWN]))


def plant(name, text):
    """The text with one more old-style sentence where its kind of file has prose, or None."""
    sentence = "Nobody is told what else the packets of it are, as it is anew."
    ending = name.rsplit(".", 1)[-1]
    if ending == "md":
        return text + "\n" + sentence + "\n"
    if ending in ("c", "h", "js", "css"):
        return text + f"/* {sentence} */\n"
    if ending == "json" and '"description": "' in text:
        return text.replace('"description": "', f'"description": "{sentence} ', 1)
    if re.fullmatch(r"[1-8]", ending):
        return text + f".Pp\n{sentence}\n"
    if ending in ("py", "build", "yml", "in", "control") or text.startswith("#!"):
        return text + f"# {sentence}\n"
    return None


def check_planted(texts, number, seed):
    """Each file that gets an old-style sentence must have a complaint."""
    names = [name for name, text in texts.items() if plant(name, text)]
    for name in random.Random(seed).sample(names, min(number, len(names))):
        if not list(judge(count_of(name, plant(name, texts[name])))):
            yield f"{name}: an old-style sentence added to it is not noticed (seed {seed})"


def check_commits():
    """Subjects of the commits that are not merges, after the first that is checked."""
    log = git("log", "--no-merges", "--format=%h %s", f"{FIRST_COMMIT}..HEAD")
    if log is None:
        print(f"subjects not checked: no commit {FIRST_COMMIT[:8]} in this clone")
        return
    for line in log.splitlines():
        name, subject = line.split(" ", 1)
        if complaint := commits.judge(subject):
            yield f"commit {name} {subject!r}: {complaint}"


def self_test():
    """Each habit is found in each kind of file, and plain text has none."""
    plain = "The worker drops packets that exceed the limit."
    habits = {
        "relative": "It drops what exceeds the limit.", "fronted": "Of these it drops all.",
        "speech": "The worker is told the limit.", "nobody": "The limit is of nobody.",
        "archaism": "The worker counts anew.", "as": "It drops packets, as they exceed it.",
        "long": "It drops" + " packets" * 30 + ".",
    }
    shapes = {"x.md": "# Title\n\n{}\n", "x.c": "/* SPDX */\n/* The limit. {} */\nint x;\n",
              "lib/x.c": 'log("%s: {}\\n", x);\n', "x.py": '"""The limit. {}"""\n',
              "x.sh": "#!/bin/sh\n# The limit. {}\n", "y.py": "# The limit. {}\nx = 1\n",
              "x.json": '{{"description": "{}"}}\n', "x.html": "<p>{}</p>\n",
              "meson.build": "# The limit. {}\n", "x.yml": "# SPDX\n  - summary: '{}'\n",
              "control": "# SPDX\nDescription: one line\n {}\n",
              "x.8": ".Sh DESCRIPTION\n{}\n"}
    for name, shape in shapes.items():
        found = count_of(name, shape.format(plain))
        if sum(found.of(kind) for kind in KINDS):
            yield f"finds habits in plain text of {name}: {dict(found.places)}"
        for kind, sentence in habits.items():
            if not count_of(name, shape.format(sentence)).of(kind):
                yield f"does not find {kind} in {name}: {sentence}"
    for opening in ("What", "of", "Whether", "Those", "Who"):
        for name, shape in (("x.c", "/* {} the limit */\n"), ("x.py", "# {} the limit\n")):
            if not count_of(name, shape.format(opening)).of("opening"):
                yield f"does not find the opening {opening!r} in {name}"
    code = "# Title\n\n```\nwhat nobody said\n```\n\n    what nobody said\n\nRun `what said`.\n"
    if sum(count_of("x.md", code).of(kind) for kind in KINDS):
        yield "finds habits in code of a document"
    for subject, good in (("weirctl: add a command", True), ("test: what waits", False),
                          ("add a command", False), ("doc: " + "fix " * 20, False),
                          ("import: two IDs are no one name", False)):
        if (commits.judge(subject) is None) != good:
            yield f"judges the subject {subject!r} wrongly"


def show(names):
    """Prints every habit in some files; returns whether there is one."""
    found = False
    for name in names:
        name = os.path.relpath(os.path.abspath(name), ROOT)
        count = count_of(name, read(name))
        print(f"{name}: {count.words} words, {count.sentences} sentences")
        for kind in KINDS:
            for line, words in count.places[kind]:
                found = True
                print(f"  {line}: {kind}: {words}")
    return found


def main():
    """Prints a line a complaint; exits with 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help="show the habits of these files")
    parser.add_argument("--plant", type=int, default=PLANTED, metavar="N",
                        help="files that get an old-style sentence")
    parser.add_argument("--seed", type=int, default=SEED, help="for --plant")
    options = parser.parse_args()
    if options.files:
        sys.exit(show(options.files))
    texts = {name: read(name) for name in tracked()}
    complaints = [f"{name}:{line}: {words}" for name, text in texts.items()
                  for line, words in judge(count_of(name, text))]
    complaints += self_test()
    complaints += check_planted(texts, options.plant, options.seed)
    complaints += check_commits()
    print("\n".join(complaints) or f"{len(texts)} files, nothing to complain about")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()

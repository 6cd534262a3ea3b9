#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks the English of documents, comments and messages, and the subjects of commits.

    language.py                  check all files against their ceilings, and new commits
    language.py FILE...          show every habit in these files, and their final budgets
    language.py --lower          lower the ceilings to the present counts; never raises one
    language.py --moved OLD NEW  give a renamed file the ceiling of its old name
    language.py --plant N        add an old-style sentence to N random files: each must be noticed
"""

import argparse
import os
import random
import re
import subprocess
import sys

from prose import ceilings, commits
from prose.habits import KINDS, Count
from prose.passages import passages_of

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CEILINGS = "test/prose/ceilings.json"
# Inputs of fuzz targets, results, pictures and licences are not prose.
SKIPPED = re.compile(r"test/fuzz/corpus/|doc/study/.*\.json$|.*\.(?:svg|png|pcap|pml|supp|dict)$|"
                     r".*copyright$|LICENSE$|" + re.escape(CEILINGS) + "$")
# Subjects of commits after this one are checked.
FIRST_COMMIT = "3b9cae460dc929264928063911eda9095fe324a0"
PLANTED = 40  # files of a normal run that get an old-style sentence
SEED = 1
VERSIONS = 50  # versions of the file of ceilings that are compared


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


def check_files(counts, known):
    """Each file against its ceiling; shows the places that the last commit does not have."""
    for name, count in counts.items():
        complaints = list(ceilings.judge(name, count, known))
        if not complaints:
            continue
        text = git("show", f"HEAD:{name}")
        previous = count_of(name, text) if text is not None else None
        for line, words in ceilings.judge(name, count, known, previous):
            yield f"{name}:{line}: {words}"


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


def check_planted(texts, known, number, seed):
    """Each file that gets an old-style sentence must exceed its ceiling, or its budget."""
    names = [name for name, text in texts.items() if plant(name, text)]
    for name in random.Random(seed).sample(names, min(number, len(names))):
        count = count_of(name, plant(name, texts[name]))
        if not any("run test" not in words for _, words in ceilings.judge(name, count, known)):
            yield f"{name}: an old-style sentence added to it is not noticed (seed {seed})"


def check_history(known):
    """Ceilings never rise over the last versions that git has, up to the one in the tree."""
    listing = git("log", f"-{VERSIONS}", "--format=%H", "--reverse", "--", CEILINGS)
    if listing is None:
        return
    versions = listing.split()
    before = None
    for version in [*versions, None]:
        if version:
            text = git("show", f"{version}:{CEILINGS}")
            if text is None:
                continue  # a commit that removed it
            after = ceilings.parse(text)
        else:
            after = known

        def count_then(path, version=version):
            text = git("show", f"{version}:{path}") if version else read(path)
            return count_of(path, text) if text is not None else None
        if before is not None:
            where = version[:12] if version else "the tree"
            yield from (f"{CEILINGS} at {where}: {words}"
                        for words in ceilings.risen(before, after, count_then))
        before = after


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
    before = {"a": {"as": 2}, "b": {"as": 9}}
    for after, good in (({"a": {"as": 1}}, True), ({"a": {"as": 3}}, False),
                        ({"c": {"as": 9}}, True), ({"c": {"as": 8}}, False)):
        said = list(ceilings.risen(before, after, lambda path: count_of("x.md", "One.\n")))
        if (not said) != good:
            yield f"judges the ceilings {after} after {before} wrongly: {said}"


def show(names):
    """Prints every habit in some files, and the budget; returns whether one exceeds it."""
    over = False
    for name in names:
        name = os.path.relpath(os.path.abspath(name), ROOT)
        count = count_of(name, read(name))
        print(f"{name}: {count.words} words, {count.sentences} sentences")
        for kind in KINDS:
            budget = count.budget(name, kind)
            over = over or count.of(kind) > budget
            print(f"  {kind}: {count.of(kind)}, budget {budget}")
            for line, words in count.places[kind]:
                print(f"    {line}: {words}")
    return over


def main():
    """Prints a line a complaint; exits with 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help="show the habits of these files")
    parser.add_argument("--lower", action="store_true", help="lower the ceilings")
    parser.add_argument("--moved", nargs=2, metavar=("OLD", "NEW"), help="rename a ceiling")
    parser.add_argument("--plant", type=int, default=PLANTED, metavar="N",
                        help="files that get an old-style sentence")
    parser.add_argument("--seed", type=int, default=SEED, help="for --plant")
    options = parser.parse_args()
    if options.files:
        sys.exit(show(options.files))
    known = {}
    if os.path.exists(os.path.join(ROOT, CEILINGS)):
        try:
            known = ceilings.parse(read(CEILINGS))
        except ValueError as error:
            sys.exit(f"{CEILINGS}: {error}: expected JSON; after a conflict, take either version "
                     "(git checkout --ours FILE), then run test/language.py --lower")
    if options.moved:
        old, new = options.moved
        known[new] = known.pop(old)
    texts = {name: read(name) for name in tracked()}
    counts = {name: count_of(name, text) for name, text in texts.items()}
    if options.lower or options.moved:
        new, complaints = ceilings.lowered(counts, known)
        # The first version of the file records all files as they are.
        if not known:
            new = {name: {kind: count.of(kind) for kind in KINDS}
                   for name, count in counts.items()}
        with open(os.path.join(ROOT, CEILINGS), "w", encoding="utf-8") as output:
            output.write(ceilings.render(new))
    else:
        complaints = list(check_files(counts, known))
        complaints += [f"{name}: has a ceiling and is no file" for name in known
                       if name not in counts]
        complaints += self_test()
        complaints += check_planted(texts, known, options.plant, options.seed)
        complaints += check_history(known)
        complaints += check_commits()
    print("\n".join(complaints) or f"{len(counts)} files, nothing to complain about")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Reads and writes the ceilings: for each file the habits that it has now and may not exceed.

Counts of 0 are left out. A file without counts keeps its row, so that it stays without. A ceiling
falls and never rises; a file without a row is new and has the final budget.
"""

import json

from prose.habits import KINDS

SHOWN = 5  # places of a complaint


def parse(text):
    """{path: {kind: count}} of the text of a file of ceilings."""
    return json.loads(text)


def render(ceilings):
    """The text of a file of ceilings: a line a file, sorted, so that changes merge."""
    rows = [(path, {kind: counts[kind] for kind in KINDS if counts.get(kind)})
            for path, counts in sorted(ceilings.items())]
    return "{\n" + ",\n".join(f"{json.dumps(path)}: {json.dumps(counts)}"
                              for path, counts in rows) + "\n}\n"


def allowed(name, count, ceilings, kind):
    """The most that a file may have: its ceiling, or the final budget if it has none."""
    if name in ceilings:
        return ceilings[name].get(kind, 0)
    return count.budget(name, kind)


def judge(name, count, ceilings, previous=None):
    """Complaints about one file as (line, words); line 1 if the ceilings are out of date.

    previous is the count of an earlier version, if there is one: its places are not shown.
    """
    if name not in ceilings:
        yield 1, "not recorded: run test/language.py --lower"
    for kind in KINDS:
        most, found = allowed(name, count, ceilings, kind), count.of(kind)
        if found > most:
            limit = "its ceiling is" if name in ceilings else "a new file may have"
            old = {words for _, words in previous.places[kind]} if previous else ()
            places = [place for place in count.places[kind] if place[1] not in old]
            places = (places or count.places[kind])[-SHOWN:]
            yield (places[0][0],
                   f"{found} × {kind}, {limit} {most}; see doc/contributing/english.md: "
                   + ", ".join(f"line {line} ({words})" for line, words in places))
        elif name in ceilings and found < most:
            yield 1, f"{found} × {kind}, recorded as {most}: run test/language.py --lower"


def lowered(counts, ceilings):
    """New ceilings of the files as they are, and complaints about those that would rise."""
    new, complaints = {}, []
    for name, count in counts.items():
        over = [words for _, words in judge(name, count, ceilings) if "run test" not in words]
        complaints += [f"{name}: {words}" for words in over]
        if not over:
            new[name] = {kind: count.of(kind) for kind in KINDS}
        elif name in ceilings:
            new[name] = ceilings[name]
    return new, complaints


def risen(before, after, count_then):
    """Complaints about ceilings that are higher in a later version of their file.

    count_then(path) counts a file as it was in that version. A file that was not listed before may
    have its final budget, or the counts of one that has gone: it was renamed.
    """
    gone = [counts for path, counts in before.items() if path not in after]
    for path, counts in after.items():
        if path in before:
            for kind, number in counts.items():
                if number > before[path].get(kind, 0):
                    yield f"{path}: {kind} rises from {before[path].get(kind, 0)} to {number}"
        elif counts not in gone:
            count = count_then(path)
            if count and any(number > count.budget(path, kind)
                             for kind, number in counts.items()):
                yield f"{path}: new, and beyond the final budget: {counts}"

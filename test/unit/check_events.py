#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Events are in one table. Each call of event() must give the fields of its text, and
`weir --events` must print all of them.

Usage: check_events.py SOURCE_ROOT WEIR
"""

import pathlib
import re
import subprocess
import sys

from tables import call_at, fail, joined, rows, words

ROW = re.compile(r"^\tX\((\w+),")
FIELD = re.compile(r"\{(\w+)(?::\+?\d)?\}")
CALL = re.compile(r"\bevent\(([A-Z]\w*)")
GIVEN = re.compile(r'\bevent_(?:word|count|real)\(\s*"(\w+)"')
PLACE = re.compile(r'(doc/\S+\.md), \\"([^"\\]+)\\"')
# Rows without a bound on their lines: once in a start or for each of its ports, or at the stop. All
# rows that a client or a peer can cause have a bound.
ONCE = set("""
    STARTED START_TOOK NOT_STARTED STOPPING STOPPED BUFFERS_MISSING LINES_HELD LINES_LOST
    SOCKET_FAILED WORKER_WATCHDOG WORKER_ABANDONED WIRE_WAS_OPEN LINK_HANGS OFFLOADS_HANG
    FEW_QUEUES QUEUES_UNUSED GOSSIP_BUFFER_SMALL GOSSIP_NO_FILTER GOSSIP_NOT_BOUND TSC_DOUBTED
    OVERRIDES_NOT_READ START_HANGS WIRE_TAKEN_OVER PLANE_NOT_INHERITED GOSSIP_BOUND LEDGER_OPENED
    LEDGER_NO_STORE LEDGER_NOT_NEEDED LEDGER_NOT_OPENED LEDGER_DAMAGED
    LEDGER_SENTINEL_MISSING LEDGER_HANGS RELOAD_HANGS RUNS LAST_GOOD CHANGE_HANGS
    """.split())
# Logged by event.c itself, so that no call elsewhere gives their fields.
BY_ITSELF = {"DRIVER", "STDERR", "LINES_HELD", "LINES_LOST"}


def unbounded(text):
    """Returns the rows whose `most`, or that of the row that they end, is 0."""
    found = re.findall(r"X\((\w+), \w+, (\d+), (\w+),", joined(text))
    most = {name: int(number) for name, number, _ in found}
    return {name for name, _, ends in found if most[ends] == 0}


def check_calls(root, table, said):
    """Yields the problems of calls of event()."""
    for path in sorted((root / "app/weir").rglob("*.c")):
        text = path.read_text(encoding="utf-8")
        for call in CALL.finditer(text):
            place = f"{path.relative_to(root)}: {call[1]}"
            said.add(call[1])
            given = GIVEN.findall(call_at(text, call.start()))
            if call[1] not in table:
                yield f"{place}: there is no such row"
            elif set(given) != set(FIELD.findall(table[call[1]])) or len(set(given)) < len(given):
                yield f"{place}: has {sorted(given)}, its text {FIELD.findall(table[call[1]])}"


def check_places(root, table):
    """Yields the texts that name a heading which their page does not have."""
    for name, text in table.items():
        for page, heading in PLACE.findall(text):
            if f"# {heading}\n" not in (root / page).read_text(encoding="utf-8"):
                yield f"{name}: {page} has no heading {heading}"


def check(root, weir):
    """Yields all problems."""
    header = (root / "app/weir/shared/event_table.h").read_text(encoding="utf-8")
    table = {name: words(rest) for name, rest in rows(header, "EVENT_ROWS")}
    said = set(BY_ITSELF)
    if len(table) != len([line for line in header.splitlines() if ROW.match(line)]):
        yield "event_table.h: a row that this test does not understand"
    for name, text in table.items():
        if reserved := {"time", "level", "event", "text", "number"} & set(FIELD.findall(text)):
            yield f"{name}: {sorted(reserved)} is what each event has"
    yield from (f"{name}: without a bound, or no more" for name in sorted(unbounded(header) ^ ONCE))
    yield from check_calls(root, table, said)
    yield from check_places(root, table)
    yield from (f"{name}: nobody says it" for name in sorted(table.keys() - said))
    done = subprocess.run([weir, "--events"], capture_output=True, text=True, check=True)
    printed = re.findall(r"^\| `(\w+)` \| (?:error|warning|info|debug) \|", done.stdout, re.M)
    yield from (f"weir --events: {name} is missing or superfluous"
                for name in sorted({name.lower() for name in table} ^ set(printed)))
    yield from (f"weir --events: {name} is there twice"
                for name in sorted(set(printed)) if printed.count(name) > 1)


if __name__ == "__main__":
    sys.exit(fail(check(pathlib.Path(sys.argv[1]), sys.argv[2])))

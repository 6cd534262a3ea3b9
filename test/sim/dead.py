#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The part of a hard limit that remains after a death is the one in the table of guarantees.md."""

import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WEIRSIM = os.path.join(ROOT, os.environ.get("BUILD", "build"), "app", "weirsim", "weirsim")
PAGE = os.path.join(ROOT, "doc", "operate", "guarantees.md")
ROW = re.compile(r"^\| (equal|none|all) at [^|]* \| ([\d, or]+) " + r"\| (\d+) % " * 3 + r"\|$",
                 re.M)
DEATH_S, LEASE_S, SETTLED_S, END_S = 8, 2, 15, 30
LIMIT = 20e6
NEAR = 0.09


def scenario(n, promise, demand):
    """Returns a scenario: the last limiter dies, then all others have traffic."""
    flows = {"kind": "tcp", "congestion": "cubic", "count": 5, "rtt": "20ms",
             "start_spread": "300ms"}
    traffic = [flows | {"limiter": f"l{i}"} for i in range(1, n + 1)
               if demand == "equal" or (i == n) == (demand == "all")]
    if demand == "all":
        traffic += [flows | {"limiter": f"l{i}", "start": f"{DEATH_S}s"} for i in range(1, n)]
    return {"name": "dead", "duration": f"{END_S}s", "limiters": n, "traffic": traffic,
            "policies": [{"name": "cap", "limit": "20Mbit/s", "burst": "200kB",
                          "allocator": "fps", "guarantee": "hard"}],
            "ledger": {"lease": f"{LEASE_S}s", "promise": promise}, "network": {"delay": "10ms"},
            "events": [{"at": f"{DEATH_S}s", "crash": f"l{n}"}]}


def remains(directory, *what):
    """Returns the part of the limit that the others enforce in the end."""
    file, series = (os.path.join(directory, name) for name in ("dead.json", "dead.csv"))
    with open(file, "w", encoding="ascii") as out:
        json.dump(scenario(*what), out)
    subprocess.run([WEIRSIM, "run", file, "--seed", "1", "--series", series], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(series, encoding="ascii") as lines:
        rows = [line.split(",") for line in lines if not line.startswith("#")]
    column = rows[0].index("cap:limits")
    limits = [float(row[column]) for row in rows[1:] if float(row[0]) > SETTLED_S]
    return sum(limits) / len(limits) / LIMIT


def main():
    """Checks each cell of the table."""
    with open(PAGE, encoding="utf-8") as page, tempfile.TemporaryDirectory() as directory:
        table = ROW.findall(page.read())
        cells = [(demand, int(promise), n, int(part) / 100) for demand, promises, *parts in table
                 for promise in re.findall(r"\d+", promises)
                 for n, part in zip((2, 3, 4), parts)]
        if len(cells) != 27:
            sys.exit(f"dead: {len(cells)} cells in {PAGE}, not 27")
        for demand, promise, n, want in cells:
            part = remains(directory, n, promise, demand)
            if abs(part - want) > NEAR:
                sys.exit(f"dead: {n} limiters, promise {promise}, demand {demand}: {part:.3f} of "
                         f"the limit remains, and guarantees.md has {want}")
    print(f"dead: ok, {len(cells)} cells")


if __name__ == "__main__":
    main()

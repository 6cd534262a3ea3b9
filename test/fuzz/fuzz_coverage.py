# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks that a fuzz target reaches the required part of its own files.

libFuzzer counts edges by function. Each check of UBSan adds an edge to its report, which no correct
program reaches. The objects have their number, and they do not count here. A part is less
than a run of one second reaches on a busy machine with clang 14; the tests run for FUZZ_S. Code
that not every CPU runs does not count.
"""

import collections
import glob
import os
import re
import subprocess

# By target: its own files, and the least part of their edges in percent.
OWN = {
    "budget": ("lib/control/(?:budget|quota)/", 62),
    "capture": ("lib/io/capture/capture", 62),
    "classify": ("lib/datapath/classify/(?!candidates|lines|wide)", 50),
    "config": ("lib/io/config/(?!config_messages|key_table|terms)", 55),
    "etcd": ("lib/io/etcd/(?:kv|login)", 66),
    "fragment": ("lib/datapath/packet/fragment", 66),
    "gossip": ("lib/control/gossip/", 62),
    "ledger": ("lib/control/ledger/", 56),
    "members": ("lib/control/members/", 50),
    "parse": ("lib/datapath/packet/(?:parse|tunnel)", 60),
    "probe": ("lib/io/probe/(?:probe|tuple)", 77),
    "scenario": ("app/weirsim/run/scenario", 63),
    "shape": ("lib/datapath/shape/(?!delay)", 55),
    "telemetry": ("lib/io/telemetry/(?:ethdev|protocol)", 66),
    "zone": ("lib/policy/zone", 75),
}


def checks(build, source):
    """Returns the number of UBSan's checks in the functions of a C file's object."""
    objects = glob.glob(f"{build}/{os.path.dirname(source)}/*.p/{os.path.basename(source)}.o")
    listing = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", *objects[:1]], check=True,
                             stdout=subprocess.PIPE, text=True).stdout if objects else ""
    counts, function = collections.Counter(), ""
    for begins, _ in re.findall(r"^[0-9a-f]+ <(\S+)>:$|\sR_\S+\s+(__ubsan_handle)", listing, re.M):
        function = begins or function
        counts[function] += not begins
    return counts


def reached(build, files, output):
    """Returns the reached and all edges of each file, by the output of -print_coverage=1."""
    sources = [source for folder in ("lib", "app") for source in
               glob.glob(f"{folder}/**/*.c", root_dir=os.path.dirname(build), recursive=True)]
    sums = {source: (0, 0) for source in sources if re.match(files, source)}
    counts = {source: checks(build, source) for source in sums}
    for hit, of, function, source in re.findall(
            r"^(?:UN)?COVERED_FUNC: .*edges: (\d+)/(\d+) (\S+) .*/((?:lib|app)/[^ ]*\.c)",
            output, re.M):
        if source in sums:
            before = sums[source]
            sums[source] = before[0] + int(hit), before[1] + int(of) - counts[source][function]
    return sums


def judge(target, build, output):
    """Returns 0 if the target reached enough and every file, or 1, and a report of its files."""
    if target not in OWN:
        return 1, f"test/fuzz/fuzz_coverage.py has no row for {target}"
    files, least = OWN[target]
    sums = reached(build, files, output)
    hit, edges = (sum(column) for column in zip((0, 0), *sums.values()))
    share = 100 * hit / edges if edges else 0
    lines = [f"{source}: {one[0]} of {one[1]} edges" for source, one in sorted(sums.items())]
    missed = not sums or any(one[0] == 0 for one in sums.values())
    return int(share < least or missed), "\n".join(
        [*lines, f"{hit} of {edges} edges, {share:.0f} %: expected {least} %"])

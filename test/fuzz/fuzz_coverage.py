# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The part of its own files that a fuzz target has to reach in its short run.

The parts are from runs of 5 s with clang 14, less a fifth. libFuzzer counts edges by function.
"""

import re

# By target: its own files, and the least part of their edges in percent. Others have none yet.
OWN = {
    "capture": ("lib/io/capture/(?:capture|link)", 39),
    "parse": ("lib/datapath/packet/(?:parse|tunnel)", 41),
    "probe": ("lib/io/probe/(?:probe|tuple)", 39),
}


def part(output, files):
    """Returns the reached and all edges of files in the output of -print_coverage=1."""
    reached = edges = 0
    for hit, of in re.findall(rf"^(?:UN)?COVERED_FUNC: .*edges: (\d+)/(\d+) .*/{files}[^ ]*$",
                              output, re.M):
        reached += int(hit)
        edges += int(of)
    return reached, edges


def judge(target, output):
    """Returns 0 if the target reached enough, or 1, and the words for it."""
    files, least = OWN[target]
    reached, edges = part(output, files)
    share = 100 * reached / edges if edges else 0
    return int(share < least), (f"{files}: {reached} of {edges} edges, {share:.0f} %: "
                                f"expected {least} %")

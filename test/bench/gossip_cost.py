#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The cost of gossip on the wire, headers included: a table in Markdown.

    gossip_cost.py [--limiters 4] [--seconds 10]

One aggregate, 50 ms, branching 3 (or all peers, if there are fewer), with live flows.
"""

import argparse
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "tools", "benchmark")]

from report import markdown_table  # noqa: E402 (needs the path above)
from testbed.bed import Testbed  # noqa: E402

IP_UDP = 28


def sent(bed, i):
    """Returns (datagrams, bytes with IP and UDP headers)."""
    gossip = bed.telemetry(i).get("/weir/gossip")
    return gossip["sent"], gossip["sent_bytes"] + IP_UDP * gossip["sent"]


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--limiters", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    with Testbed(flows=[1] * options.limiters) as bed:
        bed.start()
        flows = [bed.start_flows(i, 1, options.seconds + 10) for i in bed.boxes()]
        time.sleep(4)
        before = {i: sent(bed, i) for i in bed.boxes()}
        time.sleep(options.seconds)
        after = {i: sent(bed, i) for i in bed.boxes()}
        for flow in flows:
            flow.stop()
    rows = []
    for i in before:
        datagrams, size = (after[i][k] - before[i][k] for k in range(2))
        rows.append([i, f"{datagrams / options.seconds:.1f}", f"{size / datagrams:.0f}",
                     f"{size / options.seconds / 1000:.2f}"])
    print(markdown_table(["limiter", "datagrams a second", "bytes of each", "kB/s"], rows))


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""What gossip costs on the wire: bytes a second and limiter, headers included.

    gossip_cost.py [--limiters 4] [--seconds 10]

One aggregate, 50 ms, branching 3 (or all peers, if there are fewer), with live flows.
"""

import argparse
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

from testbed.bed import Testbed  # noqa: E402

IP_UDP = 28


def sent(bed, i):
    """(datagrams, bytes with IP and UDP headers)."""
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
    for i in before:
        datagrams, size = (after[i][k] - before[i][k] for k in range(2))
        print(f"limiter {i}: {datagrams / options.seconds:.1f} datagrams/s, "
              f"{size / datagrams:.0f} bytes each, {size / options.seconds / 1000:.2f} kB/s")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Accuracy of a token bucket: UDP at three times the limit through one limiter.

    cbr.py [--seconds 60]

The bytes that pass in a time t are at most limit · t + burst, and no less while there is a backlog.
Only whole packets pass. Bytes and times are read from telemetry, so the result includes the error
of the times (about a millisecond). The second row includes the burst and the flow's set-up, in
which a part of the limit is unused. Prints a table in Markdown.
"""

import argparse
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "tools", "benchmark")]

from report import markdown_table  # noqa: E402 (needs the path above)
from testbed.bed import Testbed  # noqa: E402

LIMIT = 10e6
BURST = 75000
SETTLE_S = 3


def reading(bed):
    """Returns (time, bytes passed); the time is halfway between request and reply."""
    before = time.monotonic()
    policy = bed.policy(1)
    return (before + time.monotonic()) / 2, policy["passed"]["bytes"], policy["dropped"]["packets"]


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=60)
    seconds = parser.parse_args().seconds
    with Testbed(flows=[1], allocator="central", limit_bps=LIMIT, burst_bytes=BURST) as bed:
        bed.start()
        idle = reading(bed)
        flow = bed.start_flows(1, 1, seconds + 2 * SETTLE_S, "-u", "-b", f"{3 * LIMIT:.0f}", "-l",
                               "1000")
        while (now := reading(bed))[1] == idle[1]:
            idle = now  # the last time before a packet passed
        while reading(bed)[2] == 0:
            time.sleep(0.001)
        began = reading(bed)
        time.sleep(seconds)
        ended = reading(bed)
        flow.stop()
    passed, lasted = ended[1] - began[1], ended[0] - began[0]
    bound = LIMIT / 8 * (ended[0] - idle[0]) + BURST
    total = ended[1] - idle[1]
    print(markdown_table(
        ["", "seconds", "bytes that passed", "bytes that the limit grants", "difference"],
        [["backlogged", f"{lasted:.3f}", f"{passed:,}", f"{LIMIT / 8 * lasted:,.0f}",
          f"{(passed * 8 / lasted / LIMIT - 1) * 100:+.4f} %"],
         ["since before the first packet", f"{ended[0] - idle[0]:.3f}", f"{total:,}",
          f"at most {bound:,.0f}", f"{(total / bound - 1) * 100:+.4f} %"]]))
    return 0 if abs(passed * 8 / lasted / LIMIT - 1) < 0.001 and total <= bound else 1


if __name__ == "__main__":
    sys.exit(main())

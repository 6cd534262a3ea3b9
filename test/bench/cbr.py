#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Is the bucket exact? UDP at three times the limit through one limiter, whole packets counted.

    cbr.py [--seconds 60]

What passes in a time t is at most limit · t + burst, and no less while there is a backlog. Bytes
and times are read over telemetry, so the error of the clock readings (about a millisecond) is in
it.
"""

import argparse
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

from testbed.bed import Testbed  # noqa: E402

LIMIT = 10e6
BURST = 75000
SETTLE_S = 3


def reading(bed):
    """(time, bytes passed), the time in the middle of the question and its answer."""
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
            idle = now  # the last moment at which nothing had come
        while reading(bed)[2] == 0:
            time.sleep(0.001)
        began = reading(bed)
        time.sleep(seconds)
        ended = reading(bed)
        flow.stop()
    passed, lasted = ended[1] - began[1], ended[0] - began[0]
    print(f"backlogged: {passed} bytes in {lasted:.3f} s, "
          f"{passed * 8 / lasted / LIMIT - 1:+.5%} of the limit")
    bound = LIMIT / 8 * (ended[0] - idle[0]) + BURST
    total = ended[1] - idle[1]
    print(f"since before the first packet: {total} bytes, at most {bound:.0f} = limit · t + burst "
          "(the flow's set-up leaves some of that unused)")
    return 0 if abs(passed * 8 / lasted / LIMIT - 1) < 0.001 and total <= bound else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""How fast `weirsim replay` is: CPU time for a synthetic capture that the page cache holds.

Usage: replay.py [PACKETS]. 5 million take 560 MB in $TMPDIR, and 300 MB more for the rows.
"""

import os
import random
import resource
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WEIRSIM = os.path.join(ROOT, "build", "app", "weirsim", "weirsim")
CONFIG = os.path.join(ROOT, "config", "single.json")
CAPTURED, BYTES, ROUNDS = 96, 1514, 5
GAP_NS = 24000  # twice the mean: 1 Gbit/s of frames, five times the first policy's limit


def frame(k):
    """A UDP packet of one of 250 hosts of the first policy."""
    ip_len = BYTES - 14
    return (bytes.fromhex("0200000000020200000000010800") +
            struct.pack("!BBHHHBBH4B4B", 0x45, 0, ip_len, 0, 0, 64, 17, 0, 198, 51, 100, k % 250,
                        10, 0, 0, 1) +
            struct.pack("!HHHH", 1000 + k, 80, ip_len - 20, 0)).ljust(CAPTURED, b"x")


def write(path, packets):
    """A capture in nanoseconds."""
    rng, now = random.Random(1), 1_700_000_000 * 10**9
    frames = [frame(k) for k in range(1000)]
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, CAPTURED, 1))
        for k in range(packets):
            now += rng.randrange(GAP_NS)
            out.write(struct.pack("<IIII", *divmod(now, 10**9), CAPTURED, BYTES) + frames[k % 1000])


def cpu_s(*options):
    """User and system time of one replay."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([WEIRSIM, "replay", "--config", CONFIG, "--json", "/dev/null", *options],
                   check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    """Both ways in turn; prints the best, worst and packets a second of the median."""
    packets = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    with tempfile.TemporaryDirectory(prefix="weir-replay-") as folder:
        capture = os.path.join(folder, "capture.pcap")
        write(capture, packets)
        ways = {"summary only": [], "with rows": ["--verdicts", os.path.join(folder, "rows.csv")]}
        times = {way: [] for way in ways}
        for _ in range(ROUNDS):
            for way, options in ways.items():
                times[way].append(cpu_s("--pcap", capture, *options))
    for way, taken in times.items():
        taken.sort()
        print(f"{way}: {taken[ROUNDS // 2]:.2f} s of CPU ({taken[0]:.2f} to {taken[-1]:.2f}), "
              f"{packets / taken[ROUNDS // 2] / 1e6:.1f} million packets a second")


if __name__ == "__main__":
    main()

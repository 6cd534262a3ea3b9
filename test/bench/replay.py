#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""How fast `weirsim replay` is, as a table in Markdown: CPU time for a capture in the page cache.

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
sys.path.insert(0, os.path.join(ROOT, "tools", "benchmark"))

from report import markdown_table  # noqa: E402 (needs the path above)

WEIRSIM = os.path.join(ROOT, os.environ.get("WEIR_BUILD") or "build", "app", "weirsim", "weirsim")
CONFIG = os.path.join(ROOT, "config", "single.json")
CAPTURED, BYTES, ROUNDS = 96, 1514, 5
GAP_NS = 24000  # twice the mean: 1 Gbit/s of frames, five times the first policy's limit


def frame(k):
    """Returns the captured part of a UDP packet from one of 250 hosts of the first policy."""
    ip_len = BYTES - 14
    return (bytes.fromhex("0200000000020200000000010800") +
            struct.pack("!BBHHHBBH4B4B", 0x45, 0, ip_len, 0, 0, 64, 17, 0, 198, 51, 100, k % 250,
                        10, 0, 0, 1) +
            struct.pack("!HHHH", 1000 + k, 80, ip_len - 20, 0)).ljust(CAPTURED, b"x")


def write(path, packets):
    """Writes a capture with time stamps in nanoseconds."""
    rng, now = random.Random(1), 1_700_000_000 * 10**9
    frames = [frame(k) for k in range(1000)]
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, CAPTURED, 1))
        for k in range(packets):
            now += rng.randrange(GAP_NS)
            out.write(struct.pack("<IIII", *divmod(now, 10**9), CAPTURED, BYTES) + frames[k % 1000])


def cpu_s(*options):
    """Makes one replay and returns its user plus system time, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([WEIRSIM, "replay", "--config", CONFIG, "--json", "/dev/null", *options],
                   check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    """Replays both ways in turn. Prints median, minimum and maximum times, and packets a second."""
    packets = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    with tempfile.TemporaryDirectory(prefix="weir-replay-") as folder:
        capture = os.path.join(folder, "capture.pcap")
        write(capture, packets)
        ways = {"summary only": [], "with rows": ["--verdicts", os.path.join(folder, "rows.csv")]}
        times = {way: [] for way in ways}
        for _ in range(ROUNDS):
            for way, options in ways.items():
                times[way].append(cpu_s("--pcap", capture, *options))
    rows = []
    for way, taken in times.items():
        taken.sort()
        rows.append([way, f"{taken[ROUNDS // 2]:.2f} ({taken[0]:.2f} to {taken[-1]:.2f})",
                     f"{packets / taken[ROUNDS // 2] / 1e6:.1f}"])
    print(markdown_table(["", f"seconds of CPU for {packets / 1e6:g} million packets",
                          "million packets a second"], rows))


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Delay of single packets through an idle limiter by `idle`, and its CPU: a table in Markdown.

    idle_latency.py [--packets 300]

A frame is sent after a random pause of 1 to 40 ms and timed on the other side. Uses veth pairs in a
network namespace, with af_packet or AF_XDP. The row without a limiter is the least possible.
"""

import argparse
import os
import random
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "net"),
                os.path.join(HERE, "..", "..", "tools", "benchmark")]

import box  # noqa: E402 (needs the path above)
import lifecycle  # noqa: E402
from report import markdown_table  # noqa: E402

FRAME = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\x00" + bytes(50)


def times(source, target, packets):
    """Returns the seconds that each packet took."""
    found = []
    for _ in range(packets):
        time.sleep(random.uniform(0.001, 0.040))
        began = time.monotonic()
        lifecycle.crossing(FRAME, source, target)
        found.append(time.monotonic() - began)
    return sorted(found)


def row(name, found, cpu=None):
    """Returns one row of the table."""
    return [name, f"{statistics.median(found) * 1e6:.0f} µs",
            f"{found[int(len(found) * 0.99)] * 1e6:.0f} µs", f"{found[-1] * 1e6:.0f} µs",
            f"{cpu * 100:.1f} % of a core" if cpu is not None else ""]


def through(driver, idle, packets):
    """Returns the row of a limiter with that driver and idle behaviour."""
    scene = box.Scene()
    try:
        with lifecycle.box_between_cables(scene, driver, 1500, idle=idle) as weir:
            source, target = lifecycle.raw("ta"), lifecycle.raw("tb")
            pid, began = weir.process.pid, time.monotonic()
            before = lifecycle.cpu_seconds(pid)
            found = times(source, target, packets)
            cpu = (lifecycle.cpu_seconds(pid) - before) / (time.monotonic() - began)
            source.close()
            target.close()
            return row(f"`{driver}`, `{idle}`", found, cpu)
    finally:
        scene.close()


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--packets", type=int, default=300)
    packets = parser.parse_args().packets
    box.enter_netns()
    lifecycle.cable("ta", "tb")
    rows = [row("no box", times(lifecycle.raw("ta"), lifecycle.raw("tb"), packets))]
    box.ip("link del dev ta")
    rows += [through(driver, idle, packets)
             for driver in ("net_af_packet", "net_af_xdp") for idle in ("poll", "sleep")]
    print(markdown_table(["", "median", "99 %", "most", "CPU with a packet every 20 ms"], rows))


if __name__ == "__main__":
    main()

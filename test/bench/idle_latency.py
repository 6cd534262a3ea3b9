#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""What `idle` costs: the time of single packets through a box that has been quiet, and its CPU.

    idle_latency.py [--packets 300]

A frame goes in after a random pause of 1 to 40 ms and is timed on the other side, over af_packet
and veth pairs in a network namespace of its own. The same without a box is the floor.
"""

import argparse
import os
import random
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "net"))

import box  # noqa: E402
import lifecycle  # noqa: E402

FRAME = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\x00" + bytes(50)


def times(source, target, packets):
    """Seconds that each packet took."""
    found = []
    for _ in range(packets):
        time.sleep(random.uniform(0.001, 0.040))
        began = time.monotonic()
        lifecycle.crossing(FRAME, source, target)
        found.append(time.monotonic() - began)
    return sorted(found)


def show(name, found, cpu=None):
    """One row."""
    words = f"{name}: median {statistics.median(found) * 1e6:.0f} us, " \
            f"99 % {found[int(len(found) * 0.99)] * 1e6:.0f} us, most {found[-1] * 1e6:.0f} us"
    print(words + (f", {cpu:.1%} of a core" if cpu is not None else ""), flush=True)


def through(idle, packets):
    """Through a box with that idle behaviour."""
    scene = box.Scene()
    try:
        with lifecycle.box_between_cables(scene, "net_af_packet", 1500, idle=idle) as weir:
            source, target = lifecycle.raw("ta"), lifecycle.raw("tb")
            pid, began = weir.process.pid, time.monotonic()
            before = lifecycle.cpu_seconds(pid)
            found = times(source, target, packets)
            cpu = (lifecycle.cpu_seconds(pid) - before) / (time.monotonic() - began)
            show(idle, found, cpu)
            source.close()
            target.close()
    finally:
        scene.close()


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--packets", type=int, default=300)
    packets = parser.parse_args().packets
    box.enter_netns()
    lifecycle.cable("ta", "tb")
    show("no box", times(lifecycle.raw("ta"), lifecycle.raw("tb"), packets))
    box.ip("link del dev ta")
    through("poll", packets)
    through("sleep", packets)


if __name__ == "__main__":
    main()

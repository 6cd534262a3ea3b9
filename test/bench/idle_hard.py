#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The cost of idle policies for a limiter of a group: a table in Markdown.

    idle_hard.py [--policies 10000] [--limiters 3] [--seconds 20] [--guarantees soft,hard]

No packet arrives. The table shows the time until the first limiter sends less than 60 kB/s. After
that come the part of a CPU that control uses, the datagrams, and their bytes with all headers.
Needs root.
"""

import argparse
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "test", "net"), os.path.join(ROOT, "tools", "benchmark")]

import box  # noqa: E402 (needs the path above)
from report import markdown_table  # noqa: E402

IP_UDP = 28
SETTLED = 60e3  # bytes/s
WINDOW_S = 2
SETTLE_S = 120


def policies(n, guarantee):
    """Returns n policies, each for one source address."""
    more = {} if guarantee == "soft" else {"guarantee": guarantee}
    return [{"name": f"customer-{i}", "limit": "10Mbit/s",
             "match": {"src": f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}/32"}} | more
            for i in range(n)]


def group(scene, limiters, n, guarantee):
    """Starts limiters on the addresses 127.0.0.1, 127.0.0.2 and so on, and returns them."""
    roster = [{"name": f"l{i}", "address": f"127.0.0.{i}:17946"} for i in range(1, limiters + 1)]
    members = []
    for entry in roster:
        config = box.wire("net_null0", "net_null1") | {
            "policies": policies(n, guarantee), "gossip": {"roster": roster, "insecure": True}}
        if guarantee != "soft":
            config["ledger"] = {"store": scene.path(f"store-{entry['name']}")}
        member = scene.box(config, entry["name"])
        if guarantee != "soft":
            subprocess.run([box.WEIR, "--new-ledger", box.LEDGER, member.config_path], check=True,
                           capture_output=True)
        member.start()
        members.append(member)
    return members


def control_seconds(pid):
    """Returns the CPU seconds of a limiter's control thread, which is its main thread."""
    with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as stat:
        return int(stat.read().split()[0]) / 1e9


def sample(limiter):
    """Returns the limiter's sent datagrams, their bytes with IP and UDP headers, and the time."""
    gossip = limiter.get("/weir/gossip")
    return gossip["sent"], gossip["sent_bytes"] + IP_UDP * gossip["sent"], time.monotonic()


def rates(before, after):
    """Returns the datagrams and bytes per second between two samples."""
    return [(new - old) / (after[2] - before[2]) for old, new in zip(before[:2], after[:2])]


def settle(limiter):
    """Waits until the limiter sends less than SETTLED, and returns the seconds that this took."""
    began = time.monotonic()
    while time.monotonic() < began + SETTLE_S:
        before = sample(limiter)
        time.sleep(WINDOW_S)
        if rates(before, sample(limiter))[1] < SETTLED:
            return before[2] - began
    raise AssertionError(f"it does not settle in {SETTLE_S} s")


def row(limiters, n, guarantee, seconds):
    """Measures one group and returns its row of the table."""
    scene = box.Scene()
    try:
        first = group(scene, limiters, n, guarantee)[0]
        settled = settle(first)
        before, used = sample(first), control_seconds(first.process.pid)
        time.sleep(seconds)
        after, used = sample(first), control_seconds(first.process.pid) - used
    except AssertionError:
        scene.show_logs()
        raise
    finally:
        scene.close()
    datagrams, sent = rates(before, after)
    return [guarantee, f"{n:,}", f"{settled:.0f} s", f"{100 * used / (after[2] - before[2]):.1f} %",
            f"{datagrams:.0f}", f"{sent / 1e3:.0f} kB/s"]


def main():
    """Measures each row and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--policies", type=int, default=10000)
    parser.add_argument("--limiters", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--guarantees", default="soft,hard")
    parser.add_argument("--json", action="store_true", help="print rows of JSON")
    options = parser.parse_args()
    box.enter_netns()
    rows = [row(options.limiters, options.policies, guarantee, options.seconds)
            for guarantee in options.guarantees.split(",")]
    print(json.dumps(rows) if options.json else markdown_table(
        ["guarantee", "policies", "settled after", "control", "datagrams/s", "bytes"], rows))


if __name__ == "__main__":
    main()

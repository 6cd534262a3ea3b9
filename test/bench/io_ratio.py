#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Compares the fast path with bare forwarding: packets a second on net_null, one worker.

    io_ratio.py [--rounds 9] [--seconds 2] [--json FILE]

Packets have 64 bytes. dpdk-testpmd (--forward-mode=io) and weir with one policy that matches
everything alternate round by round, so that changes of the machine's speed affect both. Only the
ratio counts. In "passes" the limit is never reached; in "drops" almost no packet conforms.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "net"))

import box  # noqa: E402

EAL = ["--no-huge", "-m", "1024", "--no-pci", "--no-telemetry", "--log-level=4"]
DEVICES = ["net_null0,size=64", "net_null1,size=64"]
VARIANTS = {"passes": "400Gbit/s", "drops": "8kbit/s"}


def text_of(out):
    """Returns the output so far. The writer shares the file's offset, so this does not move it."""
    return os.pread(out.fileno(), 1 << 20, 0).decode(errors="replace")


def periods_in(out):
    """Returns packets a second over both ports, for each period that testpmd has printed."""
    rates = [int(rate) for rate in re.findall(r"Rx-pps:\s+(\d+)", text_of(out))]
    return [sum(rates[k:k + 2]) for k in range(0, len(rates) - 1, 2)]


def testpmd(seconds, worker):
    """Returns the packets a second that testpmd forwards."""
    control = 0 if worker else 1
    command = ["dpdk-testpmd", f"--lcores=0@{control},1@{worker}", *EAL, "--file-prefix=weir-bench",
               *(f"--vdev={device}" for device in DEVICES), "--", "--forward-mode=io",
               "--nb-cores=1", "--auto-start", "--stats-period=1", "--no-mlockall"]
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.STDOUT)
        try:
            # The first periods are start-up, which has no fixed length.
            box.wait_until(lambda: len(periods_in(out)) >= 2 + seconds
                           or process.poll() is not None, "rates of testpmd")
        finally:
            process.terminate()
            process.wait(30)
        periods = periods_in(out)
        if len(periods) < 3:
            sys.exit("io_ratio: testpmd told no rates:\n" + text_of(out)[-2000:])
    return statistics.median(periods[2:])


def weir(seconds, worker, limit):
    """Returns the packets a second that weir receives, and passes or drops by the policy."""
    scene = box.Scene()
    try:
        config = box.wire(*DEVICES) | {
            "eal": EAL[:3], "workers": [worker], "idle": "poll",
            "policies": [{"name": "all", "limit": limit, "burst": "15kB"}]}
        config["control"] = {"cpu": 0 if worker else 1}
        weir_box = scene.box(config).start()
        time.sleep(1)
        before, began = weir_box.total("rx_packets"), time.monotonic()
        time.sleep(seconds)
        after, ended = weir_box.total("rx_packets"), time.monotonic()
        weir_box.stop()
    finally:
        scene.close()
    return (after - before) / (ended - began)


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--json")
    options = parser.parse_args()
    worker = max(os.sched_getaffinity(0))
    ratios = {variant: [] for variant in VARIANTS}
    for number in range(1, options.rounds + 1):
        bare = testpmd(options.seconds, worker)
        for variant, limit in VARIANTS.items():
            rate = weir(options.seconds, worker, limit)
            ratios[variant].append(bare / rate)
            print(f"round {number}: io {bare / 1e6:.1f} Mpps, {variant} {rate / 1e6:.1f} Mpps, "
                  f"{bare / rate:.2f} x the time of io", flush=True)
    result = {variant: {"median": statistics.median(values), "least": min(values),
                        "most": max(values)} for variant, values in ratios.items()}
    for variant, figures in result.items():
        print(f"{variant}: {figures['median']:.2f} x io "
              f"({figures['least']:.2f} to {figures['most']:.2f})")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(result, out, indent=2)


if __name__ == "__main__":
    main()

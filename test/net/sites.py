#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Many sites on the testbed: a few seconds of test/bench/live_sim.py, and as many wires as a
limiter can have.
"""

import os
import subprocess
import sys

import box
from box import expect

sys.path.insert(0, os.path.join(box.ROOT, "test", "bench"))

from live_sim import web, web_figures  # noqa: E402 (needs the path above, and adds others)

import enact  # noqa: E402
from simulate import run_one  # noqa: E402
from testbed.bed import WIRES_PER_BOX, Testbed  # noqa: E402

SECONDS = 6
SEEDS = 2
USE = (0.6, 1.06)  # parts of the limit; short runs vary widely


def light_web_beside_bulk(_):
    """Bulk flows use the limit next to three sites of light Web traffic, like in weirsim."""
    scenario = web(4)("fps", 1, SECONDS) | {"warmup": "3s", "duration": f"{SECONDS + 3}s"}
    real = web_figures(enact.run_one(scenario, 1), scenario)
    virtual = [web_figures(run_one(scenario, seed, False), scenario)["aggregate / limit"]
               for seed in range(1, SEEDS + 1)]
    use, answers = real.values()
    words = (f"aggregate / limit {use:.3f} live, {sum(virtual) / SEEDS:.3f} simulated; "
             f"answers of 5 to 50 kB at {answers:.2f} Mbit/s")
    expect(USE[0] < use < USE[1], words)
    expect(answers > 0, words)
    return words


def most_wires(_):
    """One limiter starts with as many wires as it can have."""
    with Testbed([0] * WIRES_PER_BOX, allocator="central") as bed:
        bed.start()
        wires = sum(value is not None for value in bed.forwarded())
    expect(wires == WIRES_PER_BOX, f"{wires} wires")
    return f"{wires} wires"


def too_many(_):
    """The demo refuses more paths or limiters than it can have, and names the most."""
    demo = os.path.join(box.ROOT, "tools", "testbed", "demo.py")
    for allocator, n, most in (("central", 17, 16), ("fps", 65, 64)):
        done = subprocess.run([sys.executable, "-B", demo, "--allocator", allocator, "--flows",
                               ",".join(["1"] * n)], capture_output=True, text=True, check=False)
        expect(done.returncode == 2 and f"--flows: {n} " in done.stderr and
               f"at most {most}" in done.stderr, f"{done.returncode} {done.stderr}")


SCENARIOS = [light_web_beside_bulk, most_wires, too_many]

if __name__ == "__main__":
    box.main(SCENARIOS)

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Compares the warning of --check --strict about link protocols with the replay of LACP frames.

    check_protocols.py WEIR WEIRSIM

Draws policies. The oracle is weirsim: a policy that drops LACP must have the warning, and others
must not. WEIR_SEED sets the seed.
"""

import json
import os
import random
import struct
import subprocess
import sys
import tempfile

ANY = ["0.0.0.0/0", "::/0"]
LACP = b"\x01\x80\xc2\0\0\x02" + b"\x02\0\0\0\0\x01" + b"\x88\x09" + bytes(46)
CASES, FRAMES = 40, 6


def draw_match(draw):
    """Returns a match of some keys."""
    keys = {"wire": "w", "direction": "a-to-b", "src": ANY, "dst": "192.0.2.0/24", "proto": "tcp",
            "dscp": 10}
    return {key: keys[key] for key in draw.sample(sorted(keys), draw.choice((0, 0, 1, 1, 2)))}


def draw_config(draw):
    """Returns a configuration with one policy."""
    policy = {"name": "p", "match": draw_match(draw), "limit": "1/d", "burst": 1,
              "count": "packets", "allocator": "central",
              "action": draw.choice(("drop", "drop", "count"))}
    if draw.randrange(3) == 0:
        policy["match"] = [policy["match"], {"dst": "198.51.100.0/24", "src": ANY}]
    wire = {"name": "w", "a": "a", "b": "b"}
    if draw.randrange(3) == 0:
        wire["default"] = {"policy": "p"}
    return {"limiter": "x", "ports": {"a": {"device": "net_null0"}, "b": {"device": "net_null1"}},
            "wires": [wire], "workers": [0], "idle": "sleep", "policies": [policy]}


def write_capture(path):
    """Writes the frames, one a microsecond."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
        for i in range(FRAMES):
            file.write(struct.pack("<IIII", 1700000000, 1000 * i, len(LACP), len(LACP)) + LACP)


def run(*words):
    """Returns the output of a program."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def main(weir, weirsim):
    """Returns the exit status."""
    seed = int(os.environ.get("WEIR_SEED", "1"))
    draw, drops = random.Random(seed), 0
    print(f"seed {seed} (WEIR_SEED changes it)")
    with tempfile.TemporaryDirectory(prefix="weir-protocols-") as folder:
        path, capture, verdicts = (os.path.join(folder, name) for name in ("c.json", "p", "v"))
        write_capture(capture)
        for case in range(CASES):
            config = draw_config(draw)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(config, file)
            warned = "spanning tree" in run(weir, "--check", "--strict", path)
            words = run(weirsim, "replay", "--config", path, "--pcap", capture, "--verdicts",
                        verdicts)
            with open(verdicts, encoding="utf-8") as file:
                dropped = ",drop," in file.read()
            os.remove(verdicts)
            drops += dropped
            if warned != dropped or "spanning tree" in run(weir, "--check", path):
                print(f"case {case}: {config['wires']} {config['policies']}: warned {warned}, "
                      f"dropped {dropped}\n{words}")
                return 1
    print(f"{CASES} configurations, {drops} drop LACP")
    return 0 if 0 < drops < CASES else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

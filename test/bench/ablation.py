#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Measures the worth of each rule of FPS: the scenarios of tools/sweep without it.

    ablation.py [--seeds 48] [--only NAME,...]

Each variant changes one place of the sources in a copy of the tree, builds weirsim there and runs
the same random scenarios. Prints a table in Markdown. Takes about half a minute for each variant.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools", part) for part in ("sweeping", "evaluation", "")]

import main as sweep  # noqa: E402 (needs the path above; first, as others have a main too)
import compare  # noqa: E402
from distribution import quantile  # noqa: E402
from testbed.revision import commit  # noqa: E402

FPS = "lib/control/allocate/fps.c"
LIMITER = "lib/control/limiter/limiter.c"
DEMAND = "lib/control/allocate/demand.h"

# {name of the variant: [(file, text, replacement)]}, one entry for each place of the rule. Each
# text must occur exactly once in its file.
VARIANTS = {
    "all rules": [],
    "rate of a flow: the largest (paper)": [
        (FPS, "from = UNBOTTLENECKED_FROM * squares / sum;",
         "from = 0;\n\tfor (unsigned i = 0; i < n; i++)\n\t\tfrom = max_double(from, flow[i]);")],
    "rate of a flow: the mean of all": [(FPS, "UNBOTTLENECKED_FROM (2.0 / 3)",
                                         "UNBOTTLENECKED_FROM 0.0")],
    "no longer memory for few packets": [(LIMITER, "STEADY_PACKETS 40", "STEADY_PACKETS 0")],
    "one memory for flows and demand": [(LIMITER, "STEADY_PACKETS 40", "STEADY_PACKETS 0"),
                                        (LIMITER, "FLOW_MEMORY 4.0", "FLOW_MEMORY 1.0")],
    "slow changes of a rate": [(DEMAND, "RATE_CHANGED 2.0", "RATE_CHANGED 1e9")],
    "a change from any packet on": [(LIMITER, "CHANGE_PACKETS 8", "CHANGE_PACKETS 0")],
    "room always 5 %": [(FPS, "GROWTH 0.60", "GROWTH ROOM")],
    "room always 60 %": [(FPS, "define ROOM   0.05", "define ROOM   GROWTH")],
    "silence of old flows counts": [(FPS, "1 - in->old_part", "1")],
    "a limit falls under pressure": [(FPS, "PRESSED 0.5", "PRESSED 2.0")],
    "a whole unit after a drop": [(FPS, "UNIT_ROOM 3.0", "UNIT_ROOM 1e9")],
    "no unit after a drop": [(FPS, "claim = max_double(claim, least_weight(state, in, limit));",
                              "(void)least_weight;")],
    "drops are not remembered": [(FPS, "DROP_MEMORY_S 0.5", "DROP_MEMORY_S 0.0")],
    "counts fall as they rise": [(FPS, "sqrt(in->keep) : in->keep", "in->keep : in->keep")],
    "no reserve of 1 %": [("lib/control/allocate/allocate.h", "ALLOCATE_FLOOR 0.01",
                           "ALLOCATE_FLOOR 0.0")],
    "no part for starving flows": [(LIMITER, "STARVE_MOST    0.1", "STARVE_MOST    0.0")],
}
NO_LOANS = "no token loans"


def copy_tree(folder):
    """Copies the files of the work tree and prepares a build."""
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True)
    for name in files.stdout.decode().split("\0")[:-1]:
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        shutil.copyfile(os.path.join(ROOT, name), os.path.join(folder, name))
        shutil.copymode(os.path.join(ROOT, name), os.path.join(folder, name))
    subprocess.run(["meson", "setup", "build"], cwd=folder, check=True, capture_output=True)


def change(folder, places):
    """Makes the changes of a variant. Exits if a text does not occur exactly once in its file."""
    for name, old, new in places:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        if len(re.findall(re.escape(old), text)) != 1:
            sys.exit(f"ablation: {name}: expected {old!r} once: correct VARIANTS")
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))


def build(folder, places):
    """Builds weirsim with a variant, and then restores the sources."""
    change(folder, places)
    done = subprocess.run(["ninja", "-C", "build", "app/weirsim/weirsim"], cwd=folder, check=False,
                          capture_output=True, text=True)
    for name in {name for name, _, _ in places}:
        shutil.copyfile(os.path.join(ROOT, name), os.path.join(folder, name))
    if done.returncode:
        sys.exit(f"ablation: {done.stdout}")


class References:
    """Caches the runs with other allocators than FPS (one bucket, fixed parts): no variant changes
    them."""

    def __init__(self, run_one):
        self.run_one = run_one
        self.made = {}

    def __call__(self, scenario, seed, series):
        if scenario["policies"][0]["allocator"] == "fps":
            return self.run_one(scenario, seed, series)
        key = (json.dumps(scenario), seed, series)
        if key not in self.made:
            self.made[key] = self.run_one(scenario, seed, series)
        return self.made[key]


def row(name, rows):
    """Returns a line of the table."""
    late = sum("return" in each["fails"] for each in rows)
    share = [each["share_miss"] * 100 for each in rows]
    return (f"| {name} | {sum(not each['fails'] for each in rows)} | "
            f"{statistics.mean(each['lost'] for each in rows):.3f} | "
            f"{quantile([each['lost'] for each in rows], 0.9):.3f} | "
            f"{quantile(share, 0.5):.1f} / {quantile(share, 0.9):.1f} | "
            f"{quantile([each['excess'] for each in rows], 0.9):.3f} | {late} |")


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=48)
    parser.add_argument("--only", default=",".join([*VARIANTS, NO_LOANS]))
    args = parser.parse_args()
    chosen = sweep.seeds(sweep.parse_arguments(["--quick", "--seeds", str(args.seeds)]))
    compare.run_one = References(compare.run_one)
    print(f"Commit `{commit()}`, {args.seeds} scenarios.\n\n"
          "| without one rule | hold | lost, mean | lost, 90 % | share off, 50 / 90 % | "
          "worst second above, 90 % | late returns |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="weir-ablation-") as folder:
        copy_tree(folder)
        os.environ["WEIR_BUILD"] = os.path.join(folder, "build")
        for name in args.only.split(","):
            build(folder, VARIANTS.get(name, []))
            with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                allocator = "fps" if name == NO_LOANS else "fps+soft"
                rows = list(pool.map(lambda seed, by=allocator: compare.compare(seed, by), chosen))
            print(row(name, rows), flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Counts the instructions of a packet with callgrind, and prints a table in Markdown.

    instructions.py [--policies N] [--turns N] [--question NAME,...] [--only CONTENDER,...]

Unlike cycles, instructions are the same in every run of the same program, even on a busy machine.
Callgrind does not support AVX-512, so they are those of the workers' portable path. They depend on
the compiler and DPDK. With --for, the program compares both and ends with 77 if one differs.
Sampling of flows depends on the clock, so the last digits change for contenders that sample.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("WEIR_BUILD") or os.path.join(ROOT, "build")
SKIP = 77
# Descriptions of the contenders.
WORDS = {
    "io": "bare forwarding",
    "io_with_headers": "the same with the stand-in for a wire, which all rows below include",
    "full_any": "one policy that matches every packet",
    "full_1": "one policy that matches a destination prefix",
    "full_10k": "many policies with a destination prefix each",
    "unsampled_10k": "many policies with a prefix each, no flow is sampled (allocator `static`)",
    "classify_10k": "parse and classify only, many policies",
    "library_10k": "`rte_lpm` and `rte_meter`, the same number of prefixes",
    "one_policy": "all packets to one of many policies",
    "unmatched": "packets that match no policy",
    "phantom_1": "flows that share a limit (`phantom`), one policy",
    "bucket_1": "one policy, no flow is sampled",
    "source_scan": "a meter for each source, each packet from a new one",
    "plan_scan": "the same within a plan within a link",
}


def complain(words):
    """Prints a problem and exits with 1."""
    print(f"instructions.py: {words}", file=sys.stderr)
    sys.exit(1)


def toolchain():
    """Returns the compiler and the DPDK of the build, on which instructions depend."""
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
        compiler = json.load(file)[0]["command"].removeprefix("ccache ").split()[0]
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True,
                             check=False).stdout.split("\n", maxsplit=1)[0]
    dpdk = subprocess.run(["pkg-config", "--modversion", "libdpdk"], capture_output=True,
                          text=True, check=False).stdout.strip()
    return f"{version}, DPDK {dpdk}"


def callgrind(options, folder):
    """Runs the fast path's program. Only the counts of packets in its results have a use here."""
    results, out = os.path.join(folder, "results.json"), os.path.join(folder, "out")
    command = ["valgrind", "--quiet", "--tool=callgrind", "--toggle-collect=counted_turns",
               "--dump-after=counted_turns", f"--callgrind-out-file={out}",
               os.path.join(BUILD, "test", "bench", "fastpath"), "--json", results,
               "--only", options.question, "--rounds", "1", "--slice-us", "1000",
               "--settle-ms", "0", "--turns", str(options.turns), "--memory", "512",
               "--policies", str(options.policies), "--scale", str(10 * options.policies),
               "--packets", "65536", "--cpus", cpus(), "--directory", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        complain(f"{' '.join(command)}: ended with {done.returncode}: {done.stderr[-2000:]}")
    with open(results, encoding="utf-8") as file:
        return json.load(file)["questions"]


def cpus():
    """Returns a CPU for the measurement and one for all other threads, if there are two."""
    allowed = sorted(os.sched_getaffinity(0))
    return f"{allowed[-1]},{allowed[0]}"


def counts(folder):
    """Yields the instructions of each slice, in the order of the slices."""
    number = 1
    while os.path.exists(path := os.path.join(folder, f"out.{number}")):
        with open(path, encoding="utf-8") as file:
            found = re.search(r"^totals: (\d+)$", file.read(), re.M)
        yield int(found[1]) if found else 0
        number += 1


def measure(options):
    """Returns [(contender, instructions a packet)]."""
    with tempfile.TemporaryDirectory(prefix="weir-instructions-") as folder:
        questions = callgrind(options, folder)
        # The program has an order of its own; that of the options does not change it.
        contenders = [(name, found["packets"]) for question in questions.values()
                      for name, found in question.items()]
        found = list(counts(folder))
    if len(found) < len(contenders):
        complain(f"{len(contenders)} contenders, but callgrind counted {len(found)}")
    return [(name, count / packets) for (name, packets), count in zip(contenders, found)]


def shown_name(name, policies):
    """Returns the name of a contender with its real number of policies."""
    for ending, n in (("_100k", 10 * policies), ("_10k", policies)):
        name = name.replace(ending, f"_{n // 1000}k" if n % 1000 == 0 else f"_{n}")
    return name


def parse_arguments(argv):
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--question", default="policies", help="questions of the fast path's program (policies)")
    add("--policies", type=int, default=1000, metavar="N", help="policies if there are many (1000)")
    add("--turns", type=int, default=200, metavar="N", help="bursts to count (200)")
    add("--only", default="", metavar="CONTENDER,...", help="rows of the table")
    add("--for", dest="toolchain", default="", metavar="COMPILER, DPDK",
        help="expected compiler and DPDK; end with 77 if the build has others")
    return parser.parse_args(argv)


def main(argv):
    """Prints the table; returns the exit status."""
    options = parse_arguments(argv)
    if not shutil.which("valgrind"):
        print("valgrind: not found, install the package valgrind", file=sys.stderr)
        return SKIP
    here = toolchain()
    if options.toolchain and options.toolchain != here:
        print(f"--for: found a build with {here}, expected {options.toolchain}",
              file=sys.stderr)
        return SKIP
    measured = dict(reversed(measure(options)))  # keeps the first of each name
    print("| contender | | instructions a packet |\n|---|---|---|")
    for name in options.only.split(",") if options.only else reversed(measured):
        print(f"| `{shown_name(name, options.policies)}` | {WORDS.get(name, '')} | "
              f"{measured[name]:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Counts the instructions of a packet, and prints a table in Markdown.

    instructions.py --native portable|vectors [--policies N] [--turns N] [--question NAME,...]
                    [--only CONTENDER,...]
    instructions.py [the same options]

Unlike cycles, instructions are the same in every run of the same program, even on a busy machine.
They depend on the compiler and DPDK. With --for, the program compares both and ends with 77 if one
differs.

With --native, the CPU itself counts. It traps after each instruction, and the program's clock goes
in the same way in every run. "portable" leaves out the instructions that only some CPUs have. Its
counts are the same on every x86-64 CPU. "vectors" needs such a CPU and ends with 77 on others. A
trap takes a microsecond, in a guest up to 100.

Without it, callgrind counts. It does not support AVX-512, so the counts are those of the portable
path. Its clock is real: a busy machine adds instructions to rows in which a clock brings work.
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
TURNS = {"native": 2, "callgrind": 200}
# The C library chooses its functions by the CPU; these are the ones that each CPU has.
PLAIN = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512VL,-AVX512F,-AVX2,-AVX,-SSSE3,-ERMS,-FSRM",
         "LD_BIND_NOW": "1"}
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
    "phantom_10k": "flows that share a limit (`phantom`), many policies",
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
    return f"{re.sub('^cc ', 'gcc ', version)}, DPDK {dpdk}"  # two names of one compiler


def fastpath(options, folder, before=(), after=(), env=None):
    """Runs the fast path's program, perhaps under another one, and returns its results."""
    results = os.path.join(folder, "results.json")
    command = [*before, os.path.join(BUILD, "test", "bench", "fastpath"), "--json", results,
               "--only", options.question, "--rounds", "1", "--slice-us", "1000",
               "--settle-ms", "0", "--turns", str(options.turns), "--memory", "512",
               "--policies", str(options.policies), "--scale", str(10 * options.policies),
               "--packets", "65536", "--cpus", cpus(), "--directory", folder, *after]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env=os.environ | (env or {}))
    if done.returncode == SKIP:
        print(f"--native: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        sys.exit(SKIP)
    if done.returncode:
        complain(f"{' '.join(command)}: ended with {done.returncode}: {done.stderr[-2000:]}")
    with open(results, encoding="utf-8") as file:
        return json.load(file)


def callgrind(options, folder):
    """Returns the results under callgrind. Only the numbers of packets in them have a use."""
    command = ["valgrind", "--quiet", "--tool=callgrind", "--toggle-collect=counted_turns",
               "--dump-after=counted_turns", f"--callgrind-out-file={folder}/out"]
    return fastpath(options, folder, before=command)["questions"]


def native(options):
    """Returns [(contender, instructions a packet)], or None if the CPU lacks the instructions."""
    after = ["--step", options.only or "all"]
    if options.native == "portable":
        after.append("--portable")
    with tempfile.TemporaryDirectory(prefix="weir-instructions-") as folder:
        found = fastpath(options, folder, after=after, env=PLAIN)
    if found["vectors"] != (options.native == "vectors"):
        return None
    return [(name, one["instructions"] / one["packets"])
            for question in found["questions"].values() for name, one in question.items()]


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
    add("--native", choices=("portable", "vectors"), help="count with the CPU's trap flag")
    add("--policies", type=int, default=1000, metavar="N", help="policies if there are many (1000)")
    add("--turns", type=int, metavar="N",
        help="turns of two bursts to count (2 with --native, otherwise 200)")
    add("--only", default="", metavar="CONTENDER,...", help="rows of the table")
    add("--for", dest="toolchain", default="", metavar="COMPILER, DPDK",
        help="expected compiler and DPDK; end with 77 if the build has others")
    options = parser.parse_args(argv)
    options.turns = options.turns or TURNS["native" if options.native else "callgrind"]
    return options


def main(argv):
    """Prints the table; returns the exit status."""
    options = parse_arguments(argv)
    if not options.native and not shutil.which("valgrind"):
        print("valgrind: not found, install the package valgrind", file=sys.stderr)
        return SKIP
    here = toolchain()
    if options.toolchain and options.toolchain != here:
        print(f"--for: found a build with {here}, expected {options.toolchain}",
              file=sys.stderr)
        return SKIP
    rows = native(options) if options.native else measure(options)
    if rows is None:
        print("--native vectors: this CPU has no vector instructions that Weir uses",
              file=sys.stderr)
        return SKIP
    measured = dict(reversed(rows))  # keeps the first of each name
    print("| contender | | instructions a packet |\n|---|---|---|")
    for name in options.only.split(",") if options.only else reversed(measured):
        print(f"| `{shown_name(name, options.policies)}` | {WORDS.get(name, '')} | "
              f"{measured[name]:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

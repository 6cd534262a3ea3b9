#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Instructions that a packet takes, as callgrind counts them: a table in Markdown.

    instructions.py [--policies N] [--turns N] [--question NAME,...] [--only CONTENDER,...]

Unlike cycles they are the same in every run of the same program, whatever else the machine does.
They are of the workers' portable path, since callgrind knows no AVX-512, and of one compiler and
one DPDK: --for says which, and anything else ends with 77, as it cannot be compared. Where flows
are sampled the clock says how many, and the last digits change.
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
# Contenders, in words.
WORDS = {
    "io": "bare forwarding",
    "io_with_headers": "the same with the stand-in for a wire, which is in all below",
    "full_any": "one policy, of every packet",
    "full_1": "one policy, of a destination prefix",
    "full_10k": "many policies, of a destination prefix each",
    "unsampled_10k": "many policies, of a prefix each, no flow is sampled (allocator `static`)",
    "classify_10k": "parse and classify alone, many policies",
    "library_10k": "`rte_lpm` and `rte_meter`, as many prefixes",
    "one_policy": "all packets to one of many policies",
    "unmatched": "packets of no policy",
    "phantom_1": "flows that share a limit (`phantom`), one policy",
    "bucket_1": "one policy, no flow is sampled",
    "source_scan": "a meter for each source, each packet from a new one",
    "plan_scan": "the same within a plan within a link",
}


def complain(words):
    """The end."""
    print(f"instructions.py: {words}", file=sys.stderr)
    sys.exit(1)


def toolchain():
    """What the build is made of, as far as instructions depend on it."""
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
        compiler = json.load(file)[0]["command"].removeprefix("ccache ").split()[0]
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True,
                             check=False).stdout.split("\n", maxsplit=1)[0]
    dpdk = subprocess.run(["pkg-config", "--modversion", "libdpdk"], capture_output=True,
                          text=True, check=False).stdout.strip()
    return f"{version}, DPDK {dpdk}"


def callgrind(options, folder):
    """Runs the fast path's program; its results, of which only the counts of packets matter."""
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
    """One for what measures and one for everything else, if there are two."""
    allowed = sorted(os.sched_getaffinity(0))
    return f"{allowed[-1]},{allowed[0]}"


def counts(folder):
    """Instructions of each slice, in the order of the slices."""
    number = 1
    while os.path.exists(path := os.path.join(folder, f"out.{number}")):
        with open(path, encoding="utf-8") as file:
            found = re.search(r"^totals: (\d+)$", file.read(), re.M)
        yield int(found[1]) if found else 0
        number += 1


def measure(options):
    """[(contender, instructions a packet)]"""
    with tempfile.TemporaryDirectory(prefix="weir-instructions-") as folder:
        questions = callgrind(options, folder)
        # In the order in which the program asked, whatever that of the options.
        contenders = [(name, found["packets"]) for question in questions.values()
                      for name, found in question.items()]
        found = list(counts(folder))
    if len(found) < len(contenders):
        complain(f"{len(contenders)} contenders, but callgrind counted {len(found)}")
    return [(name, count / packets) for (name, packets), count in zip(contenders, found)]


def shown_name(name, policies):
    """A contender's, that says how many policies these are here."""
    for said, n in (("_100k", 10 * policies), ("_10k", policies)):
        name = name.replace(said, f"_{n // 1000}k" if n % 1000 == 0 else f"_{n}")
    return name


def parse_arguments(argv):
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--question", default="policies", help="of the fast path's program (policies)")
    add("--policies", type=int, default=1000, metavar="N", help="that are many (1000)")
    add("--turns", type=int, default=200, metavar="N", help="that are counted (200)")
    add("--only", default="", metavar="CONTENDER,...", help="rows of the table")
    add("--for", dest="toolchain", default="", metavar="COMPILER, DPDK",
        help="what figures are compared of; ends with 77 where the build is of others")
    return parser.parse_args(argv)


def main(argv):
    """Prints the table."""
    options = parse_arguments(argv)
    if not shutil.which("valgrind"):
        print("no valgrind here", file=sys.stderr)
        return SKIP
    here = toolchain()
    if options.toolchain and options.toolchain != here:
        print(f"the build is of {here}", file=sys.stderr)
        return SKIP
    measured = dict(reversed(measure(options)))  # the first of a name
    print("| contender | | instructions a packet |\n|---|---|---|")
    for name in options.only.split(",") if options.only else reversed(measured):
        print(f"| `{shown_name(name, options.policies)}` | {WORDS.get(name, '')} | "
              f"{measured[name]:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

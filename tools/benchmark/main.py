# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""tools/bench: measures the cost of the fast path on this machine.

The appliance's own workers take turns with bare forwarding and with forwarders built from DPDK's
libraries, all in one process, round by round. Every figure is the median of ratios within a round,
with the tenth and the ninetieth percentile. Takes ten to fifteen minutes; with --quick less than
four. Hugepages are reserved if the machine has the memory, and freed afterwards; the report names
runs without them. Nothing else should run. doc/study/performance.md explains the figures.
"""

import argparse
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import keys  # noqa: E402 (needs the path above)
import machine  # noqa: E402
import measure  # noqa: E402
import report  # noqa: E402
from testbed.interrupt import Interrupted, catch_signals  # noqa: E402
from testbed.output import write  # noqa: E402

ROUNDS = 31
# Microseconds of a slice, and of one in which the control loop ticks a few times.
THOROUGH, QUICK = (20000, 200000), (3000, 100000)
OTHERS = ("per_source", "control", "testpmd", "kernel")


def parse_arguments(argv):
    """Parses the command line."""
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--quick", action="store_true", help="as many rounds, but shorter ones")
    add("--json", metavar="FILE", help="write everything there ('-': standard output)")
    add("--only", metavar="KEY", nargs="+", default=[],
        help="run only the parts that these keys need")
    add("--list", action="store_true", help="list the keys and exit")
    add("--doc", action="store_true",
        help="rewrite the figures and pictures of doc/study/performance.md")
    add("--from", dest="source", metavar="FILE", help="use this file of --json, do not measure")
    args = parser.parse_args(argv)
    names = keys.all_names()
    if args.list:
        print("\n".join(names))
        sys.exit(0)
    unknown = [name for name in args.only if name not in names]
    if unknown:
        parser.error(f"--only {unknown[0]}: expected some of {', '.join(names)}")
    if args.doc and args.only:
        parser.error("--doc needs all of it")
    args.questions = list(dict.fromkeys(names[name] for name in args.only or names))
    return args


def settings(args):
    """Returns the options of the fast path's program."""
    slice_us, long_us = QUICK if args.quick else THOROUGH
    return ["--rounds", str(ROUNDS), "--slice-us", str(slice_us), "--long-us", str(long_us)]


class Run:
    """One run, and its results."""

    def __init__(self, args):
        self.args = args
        self.result = {"ratios": {}, "figures": {}, "machine": machine.describe(), "cycles": {},
                       "run": {}, "notes": [], "extra": {}}
        self.build = measure.build_directory()

    def note(self, words):
        """Adds a note for the reader of the results."""
        self.result["notes"].append(words)
        print(f"bench: {words}", file=sys.stderr)

    def try_pages(self, asked, huge):
        """Runs with hugepages, or without if another program took them first."""
        try:
            return measure.fastpath(self.build, asked, huge, settings(self.args))
        except measure.BenchError as error:
            if not huge:
                raise
            self.note(f"once more without hugepages: {error}")
            return measure.fastpath(self.build, asked, False, settings(self.args))

    def fastpath(self, huge):
        """Runs all contenders of the fast path's program."""
        asked = [name for name in self.args.questions if name not in OTHERS]
        if not asked:
            return
        began = time.monotonic()
        found = self.try_pages(asked, huge)
        questions, once = found.pop("questions"), found.pop("once")
        found["seconds"] = {"fastpath": time.monotonic() - began}
        self.result["run"] = found
        self.result["ratios"] |= keys.ratios_of(questions)
        self.result["figures"] |= keys.figures_of(once)
        self.result["cycles"] = keys.cycles_of(questions)

    def others(self, huge):
        """Runs the other programs. If one fails, the others still run."""
        quick = self.args.quick
        programs = {"testpmd": lambda: measure.testpmd(self.build, huge, quick),
                    "per_source": lambda: measure.per_source(self.build, quick),
                    "control": lambda: measure.control(self.build, quick),
                    "kernel": lambda: measure.kernel(quick)}
        for name, program in programs.items():
            if name not in self.args.questions:
                continue
            print(f"bench: {name} ...", file=sys.stderr)
            began = time.monotonic()
            try:
                self.extra(name, program())
            except measure.BenchError as error:
                self.note(f"{name} is not measured: {error}")
            self.result["run"].setdefault("seconds", {})[name] = time.monotonic() - began

    def extra(self, name, found):
        """Adds the results of another program."""
        if found is None:
            self.note(f"{name} is not measured: its program is not here")
            return
        self.result["extra"][name] = found
        self.result["ratios"] |= found.get("ratios", {})
        if name == "control":
            self.result["figures"]["control_share"] = found["control"]["share_of_core"]

    def measure(self):
        """Runs all requested measurements."""
        with machine.hugepages(measure.MEMORY_MB) as huge:
            if not huge:
                self.note("no hugepages: TLB misses are in all figures, those of io least")
            self.fastpath(huge)
            self.others(huge)
        return self.result


def hand_out(args, result):
    """Writes the results to the terminal, the file and the document."""
    shown = sys.stderr if args.json == "-" else sys.stdout
    if result["run"]:
        print(report.text(result), file=shown)
    if args.json == "-":
        print(json.dumps(result, indent=1))
    elif args.json:
        write(args.json, json.dumps(result, indent=1) + "\n")
    if args.doc:
        report.write_document(machine.ROOT, result, write)


def main(argv):
    """Returns the exit status, which does not depend on targets."""
    args = parse_arguments(argv)
    catch_signals()
    try:
        if args.source:
            with open(args.source, encoding="utf-8") as file:
                result = json.load(file)
        else:
            result = Run(args).measure()
        hand_out(args, result)
    except (measure.BenchError, OSError, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        number = stop.number if isinstance(stop, Interrupted) else signal.SIGINT
        print(f"bench: stopped ({signal.Signals(number).name})", file=sys.stderr)
        return 128 + number
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

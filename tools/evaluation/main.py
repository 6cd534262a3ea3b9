# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""tools/evaluate: the experiments of "Cloud Control with Distributed Rate Limiting" (SIGCOMM 2007),
repeated with Weir.

Without options, runs all of them in weirsim, with 20 seeds each. Writes doc/study/evaluation.md and
its pictures, with the newest results of live limiters. With --live, some also run on live limiters
with kernel TCP, in network namespaces of this machine. That needs root and about half an hour more,
in which the machine should do nothing else. With --verify, some run again, and their results are
compared with the document byte by byte.
"""

import argparse
import difflib
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import baseline  # noqa: E402 (needs the path above)
import hard_limits  # noqa: E402
import dynamics  # noqa: E402
import live  # noqa: E402
import mixes  # noqa: E402
import throttle  # noqa: E402
import scaling  # noqa: E402
import sums  # noqa: E402
from simulate import ROOT, EvaluationError, Simulator  # noqa: E402
from report import dumped  # noqa: E402
from testbed import Interrupted  # noqa: E402
from testbed.output import hand_over  # noqa: E402
from testbed.output import write as write_file  # noqa: E402
from testbed.revision import commit  # noqa: E402

EXPERIMENTS = {"E1": baseline.run, "E2": dynamics.flows_join, "E3": mixes.web,
               "E4": dynamics.bottlenecked, "E5": mixes.round_trips, "E6": mixes.many_flows,
               "E7": scaling.many_limiters, "E8": dynamics.shifting, "E9": throttle.throttling,
               "E10": scaling.faults, "E11": hard_limits.hard_limits, "sums": sums.estimators}

# Experiments that --verify repeats: each takes seconds, and each is of another kind.
VERIFIED = ("E3", "E4", "E9")

DOCUMENT = os.path.join(ROOT, "doc", "study", "evaluation.md")

# Results of the document's live limiters, used when it is written again without a live run.
LIVE = os.path.join(ROOT, "doc", "study", "evaluation", "live.json")

INTRODUCTION = """\
<!-- SPDX-License-Identifier: BSD-3-Clause -->
<!-- Written by tools/evaluate: changes by hand are lost. -->

# Evaluation

Study for evaluators: the experiments of Raghavan et al., "Cloud Control with Distributed Rate
Limiting" (SIGCOMM 2007), repeated. Does Weir reproduce the paper's results? Mostly: the table has
the answers, and each section the method, the figures, and our targets.

- **Method.** The code of the appliance runs in weirsim ([weirsim.md](../operate/weirsim.md)), at
  commit `{commit}`, with {seeds} seeds each unless the text has another number. Figures are the
  mean, or the median (least–most). *Live* figures are of kernel TCP (see the last section).
- **Traffic.** As in section 5.1 of the paper: TCP NewReno with SACK, round-trip times of 40 ms,
  estimates every 50 ms, EWMA 0.1. The authors' testbed and traffic are not available; the text has
  each replacement. Limiters with `fps` lend each other tokens ([loans](../design/loans.md)), the
  default in groups of up to 64; the live runs are older, and have no loans.
- **Words.** *Central* is one token bucket for all flows: the model for a distributed limiter. A run
  that has not settled before the next change has *never* settled, also in a median.

    ./tools/evaluate               # all: about {minutes:.0f} minutes on two CPUs
    ./tools/evaluate --only E7     # one experiment, on the terminal
    ./tools/evaluate --live        # also live: 30 minutes more, root
    ./tools/evaluate --verify      # compare {verified} with this page
"""


def parse_arguments(argv):
    """Parses the command line."""
    parser = argparse.ArgumentParser(prog="tools/evaluate", description=__doc__,
                                     allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--quick", action="store_true", help="few seeds, few cases, and no document")
    add("--only", metavar="E1,...", help=f"these of {', '.join(EXPERIMENTS)}, and no document")
    add("--seeds", type=int, metavar="N", help="runs of each case; default 20, quick 3")
    add("--json", metavar="FILE", help="write all rows here ('-': standard output)")
    add("--verify", action="store_true",
        help=f"compare the document with {', '.join(VERIFIED)} or the ones of --only, run again")
    add_live(parser)
    args = parser.parse_args(argv)
    check_live(parser, args)
    if args.verify and (args.quick or args.seeds or args.live or args.live_to):
        parser.error("--verify repeats the document's runs: omit --quick, --seeds and --live")
    args.chosen = args.only.split(",") if args.only else list(
        VERIFIED if args.verify else EXPERIMENTS)
    unknown = [name for name in args.chosen if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"--only: {unknown[0]!r}: expected some of {', '.join(EXPERIMENTS)}")
    args.seeds = args.seeds or (3 if args.quick else 20)
    args.documents = not (args.quick or args.only or args.live_to)
    if (args.documents or args.verify) and not (args.live or args.live_from):
        args.live_from = LIVE if os.path.exists(LIVE) else None
    return args


def add_live(parser):
    """Adds the options about live limiters."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--live", action="store_true",
                       help=f"{', '.join(live.EXPERIMENTS)} on live limiters too, as root")
    group.add_argument("--live-to", metavar="FILE", help="only that, with the results in FILE")
    group.add_argument("--live-from", metavar="FILE", help="take the results from FILE")
    parser.add_argument("--live-runs", type=int, metavar="N",
                        help="live runs of each case; default 3, quick 1")


def check_live(parser, args):
    """Checks for errors that would otherwise be found only after half an hour."""
    if args.live_runs is None:
        args.live_runs = 1 if args.quick else 3
    if args.live_runs < 1:
        parser.error("--live-runs: expected at least 1")
    if args.live_to and not os.path.isdir(os.path.dirname(os.path.abspath(args.live_to))):
        parser.error(f"--live-to: {args.live_to!r}: no such directory")


def write(path, text):
    """Writes one file."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        os.makedirs(folder)
        hand_over(folder)
    write_file(path, text)


def summary(results):
    """Returns a section with a row for each experiment."""
    lines = ["## Results", "", "| experiment | paper | Weir | targets reached |",
             "|---|---|---|---|"]
    for key, result in results.items():
        reached = sum(reached for _, reached, _ in result.verdicts)
        lines.append(f"| {key}: {result.title} | {result.paper} | {result.conclusion} | "
                     f"{reached} of {len(result.verdicts)} |")
    return "\n".join(lines) + "\n"


def document(results, measured, seeds, seconds):
    """Writes doc/study/evaluation.md and its pictures."""
    sections = [summary(results), *(result.markdown(key) for key, result in results.items())]
    sections.append(live.section(measured))
    text = INTRODUCTION.format(seeds=seeds, minutes=seconds / 60, commit=commit(),
                               verified=", ".join(VERIFIED))
    write(DOCUMENT, "\n".join([text, *sections]))
    for result in results.values():
        for name, picture in result.pictures.items():
            write(os.path.join(ROOT, "doc", "study", "evaluation", name + ".svg"), picture)


def kept_seeds(text):
    """Returns the number of seeds of the document."""
    found = re.search(r"(\d+) seeds each", text)
    if not found:
        raise EvaluationError(f"{DOCUMENT}: has no number of seeds")
    return int(found[1])


def differences(results):
    """Returns lines of the sections, and pictures, that differ from the document's."""
    with open(DOCUMENT, encoding="utf-8") as file:
        document = file.read()
    for key, result in results.items():
        found = re.search(rf"^## {key}: .*?(?=^## |\Z)", document, re.M | re.S)
        there = found[0].strip().splitlines() if found else []
        now = result.markdown(key).strip().splitlines()
        for line in difflib.unified_diff(there, now, "doc/study/evaluation.md", key, "", "", 0, ""):
            yield line
        for name, picture in result.pictures.items():
            path = os.path.join(ROOT, "doc", "study", "evaluation", name + ".svg")
            with open(path, encoding="utf-8") as file:
                if file.read() != picture:
                    yield f"{key}: doc/study/evaluation/{name}.svg is another picture"


def verify(args, measured):
    """Repeats some experiments, and compares them with the document."""
    with open(DOCUMENT, encoding="utf-8") as file:
        args.seeds = kept_seeds(file.read())
    found = list(differences(simulate(args, measured)))
    if found:
        raise EvaluationError("\n".join(["the document is of another program:", *found]))
    print(f"{', '.join(args.chosen)}: as in the document")


def write_json(results, path):
    """Writes an object keyed by experiment."""
    text = dumped({key: {"rows": result.rows} for key, result in results.items()}, 2)
    if path == "-":
        print(text, end="")
    else:
        write_file(path, text)


def measure_live(args):
    """Returns results of live limiters by experiment: measured now, read from a file, or none."""
    if args.live_from:
        kept = live.load(args.live_from)
        return {key: found for key, found in kept.items() if key in args.chosen}
    measured = {}
    for key in live.EXPERIMENTS if args.live or args.live_to else ():
        if key in args.chosen:
            print(f"{key}, live ...", file=sys.stderr, flush=True)
            measured[key] = live.measure(key, args.live_runs)
            if args.live_to:  # after each experiment, because all take half an hour
                write_file(args.live_to, dumped(measured, 1))
    return measured


def simulate(args, measured):
    """Returns {experiment: Result} of weirsim, with the results of live limiters."""
    results = {}
    sim = Simulator(args.seeds)
    try:
        for key in args.chosen:
            print(f"{key} ...", file=sys.stderr, flush=True)
            results[key] = EXPERIMENTS[key](sim, args.quick)
            if key in measured:
                live.show(results[key], key, measured[key], sim)
    finally:
        sim.pool.shutdown(cancel_futures=True)
    return results


def evaluate(args):
    """Runs everything that the options request."""
    measured = measure_live(args)  # first, while the machine does nothing else
    if args.live_to:
        return
    if args.verify:
        verify(args, measured)
        return
    began = time.monotonic()
    results = simulate(args, measured)
    if args.json:
        write_json(results, args.json)
    if not args.documents:
        shown = sys.stderr if args.json == "-" else sys.stdout
        print(summary(results), file=shown)
        for key, result in results.items():
            print(result.markdown(key), file=shown)
    else:
        document(results, measured, args.seeds, time.monotonic() - began)
        if args.live:
            write(LIVE, dumped(measured, 1))


def main(argv):
    """Returns the exit status: 1 if a run failed; it does not depend on targets."""
    try:
        evaluate(parse_arguments(argv))
    except (EvaluationError, OSError) as error:
        print(f"evaluate: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        number = stop.number if isinstance(stop, Interrupted) else signal.SIGINT
        print(f"evaluate: stopped ({signal.Signals(number).name})", file=sys.stderr)
        return 128 + number
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""tools/sweep: draws scenarios from seeds and compares each with one central bucket.

Each seed is one scenario of weirsim: limiters, traffic, round-trip times, limit, burst, loss of
gossip, delays between places, outages, changes of the limit. It runs once as a group and three
times as one bucket that all of its traffic passes. A group holds if three conditions are true.
Its utilisation is at most 0.02 below the bucket's. Each site's share is within 3 points of the
bucket's or of its flows'. Its worst second is at most 0.05 and one packet above the bucket's. A
site that returns must be as fast as with a limit of its own. With mixed congestion control, a
group holds also if its shares are as near the flows' max-min shares as the bucket's are.
"""

import argparse
import concurrent.futures
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from compare import compare  # noqa: E402 (needs the path above)
from draw import KINDS, draw, units  # noqa: E402
from distribution import markdown, page  # noqa: E402
from simulate import EvaluationError  # noqa: E402
import splits  # noqa: E402
from testbed.revision import commit  # noqa: E402

QUICK_BPS = 20e6  # with --quick a run takes a tenth of a second


def first_seed(text):
    """An argparse type: a seed; "new": an unused one, by the time of day. Each second has 1,000."""
    return int(time.time()) * 1000 if text == "new" else int(text)


def parse_arguments(argv):
    """Parses the command line."""
    parser = argparse.ArgumentParser(prog="tools/sweep", description=__doc__,
                                     allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--seeds", type=int, default=120, metavar="N", help="scenarios; default 120")
    add("--first", type=first_seed, default=1, metavar="SEED",
        help="the first seed; default 1; \"new\": one by the time of day, which is printed")
    add("--kinds", metavar="KIND,...", default=",".join(KINDS),
        help=f"only these of {', '.join(KINDS)}")
    add("--allocator", default="fps+soft",
        help="of the group; default fps+soft: with token loans of soft limits, as by default; "
        "fps: without; fps+all: also of hard limits")
    add("--quick", action="store_true", help=f"only limits up to {units(QUICK_BPS)}")
    add("--worst", type=int, default=20, metavar="N", help="worst cases to list; default 20")
    add("--json", metavar="FILE", help="write all rows to FILE")
    add("--splits", type=int, metavar="N",
        help="instead: three flows against seven by limit and round trip, N seeds each")
    add("--page", metavar="FILE", help="write a page of the study, with the commit, to FILE")
    add("--show", metavar="ALLOCATOR",
        help="print the scenario of the first seed with this allocator, and run nothing")
    args = parser.parse_args(argv)
    args.kinds = args.kinds.split(",")
    unknown = [kind for kind in args.kinds if kind not in KINDS]
    if unknown:
        parser.error(f"--kinds: {unknown[0]!r}: expected some of {', '.join(KINDS)}")
    if args.seeds < 1 or args.first < 0:
        parser.error("--seeds, --first: expected at least 1 seed, from 0 on")
    return args


def seeds(args):
    """Returns the first seeds of the requested kinds."""
    found, seed = [], args.first
    while len(found) < args.seeds:
        case = draw(seed)
        if case.kind in args.kinds and not (args.quick and case.limit > QUICK_BPS):
            found.append(seed)
        seed += 1
    return found


def sweep(chosen, allocator):
    """Returns rows in the order of the seeds; runs one at a time for each CPU."""
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(compare, seed, allocator) for seed in chosen]
        try:
            return [future.result() for future in futures]
        finally:
            pool.shutdown(cancel_futures=True)


def main(argv):
    """Returns the exit status: 1 if a run failed; it does not depend on the figures."""
    args = parse_arguments(argv)
    if args.show:
        print(json.dumps(draw(args.first).scenario(args.show), indent=1))
        return 0
    print(f"sweep: first seed {args.first}", file=sys.stderr)
    try:
        if args.splits:
            print(splits.table(args.allocator, args.splits))
            return 0
        rows = sweep(seeds(args), args.allocator)
    except EvaluationError as error:
        print(f"sweep: {error}", file=sys.stderr)
        return 1
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    if args.page:
        options = (f"--seeds {args.seeds} --first {args.first} --kinds {','.join(args.kinds)} "
                   f"--allocator {args.allocator}{' --quick' if args.quick else ''}")
        with open(args.page, "w", encoding="utf-8") as file:
            file.write(page(rows, commit(), f"tools/sweep {options} --page FILE", args.worst))
    print(markdown(rows, args.worst))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

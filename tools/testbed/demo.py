# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""tools/demo: shows a distributed limit on this machine.

Runs the baseline experiment of "Cloud Control with Distributed Rate Limiting" (SIGCOMM 2007): two
limiters share one limit. Three TCP flows pass one limiter and seven the other, all with the same
round-trip time. For the receivers, a good distributed limiter equals a single one: the flows
together get the limit, and each gets a tenth of it.
"""

import argparse
import json
import os
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends silently before there is anything to undo
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from testbed import journal, units, web  # noqa: E402 (needs the path above)
from testbed.bed import POLICY, WIRES_PER_BOX, Testbed  # noqa: E402
from testbed.display import Display, forwarding_rates, report  # noqa: E402
from testbed.interrupt import Interrupted  # noqa: E402
from testbed.output import write  # noqa: E402
from testbed.processes import TestbedError, realtime_prefix  # noqa: E402

ALLOCATORS = ("fps", "static", "central")
BURST_MIN = 6000  # bytes a limiter: room for a few packets, at any RTT
LIMITERS_MAX = 64  # more cannot forward 10 Mbit/s on two CPUs
LIMITER_MB = 170  # memory of a limiter with its links


def quantity(known):
    """Returns an argparse type for a number with one of these units."""
    def convert(text):
        try:
            return units.parse(text, known)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
    return convert


def share(text):
    """An argparse type: 1% or 0.01, up to 100 %."""
    value = quantity(units.SHARE)(text)
    if value > 1:
        raise argparse.ArgumentTypeError(f"{text!r}: more than 100%")
    return value


def flow_list(text):
    """An argparse type: 3,7."""
    try:
        flows = [int(word) for word in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers such as 3,7") from None
    if not all(0 <= n <= 128 for n in flows) or not any(flows):
        raise argparse.ArgumentTypeError(f"{text!r}: 0 to 128 flows a limiter, and some flow")
    return flows


def seconds(text):
    """An argparse type: a positive number of seconds."""
    try:
        value = float(text.removesuffix("s"))
    except ValueError:
        value = 0.0
    if not 1 <= value <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r}: expected seconds, at least 1")
    return value


def seed(text):
    """An argparse type: a seed that the emulator accepts."""
    if not text.isdecimal() or int(text) > 1 << 32:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number up to {1 << 32}")
    return int(text)


def positive(kind):
    """Returns an argparse type for a positive number of that type."""
    def convert(text):
        value = kind(text)
        if not value:
            raise argparse.ArgumentTypeError(f"{text!r}: must be more than nothing")
        return value
    return convert


def target(text):
    """An argparse type: a file that is written at the end. Checks at the start that this is
    possible."""
    there = text if os.path.exists(text) else os.path.dirname(text) or "."
    if text != "-" and (os.path.isdir(text) or not os.access(there, os.W_OK)):
        raise argparse.ArgumentTypeError(f"{text!r}: cannot be written")
    return text


def check_size(parser, args):
    """Ends the program with a message if the testbed cannot have so many limiters or paths."""
    n = len(args.flows)
    if args.allocator == "central" and n > WIRES_PER_BOX:
        parser.error(f"--flows: {n} paths: one limiter has at most {WIRES_PER_BOX}; give fewer "
                     "numbers, or another --allocator")
    if n > LIMITERS_MAX:
        parser.error(f"--flows: {n} limiters: expected at most {LIMITERS_MAX}")
    with open("/proc/meminfo", encoding="ascii") as text:
        free = next(int(line.split()[1]) for line in text if line.startswith("MemAvailable"))
    if free * 1024 < n * LIMITER_MB * 1e6:
        parser.error(f"--flows: {n} limiters need {n * LIMITER_MB} MB of memory: "
                     f"{free // 1000} MB are available; give fewer numbers")


def parse_arguments(argv):
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        prog="tools/demo", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--allocator", choices=ALLOCATORS, default="fps",
        help="how the limit is divided: fps (by weight of flows), static (equal parts), central "
        "(one limiter sees all flows: the yardstick); default fps")
    add("--web", action="store_true", help="show it in a browser, until Ctrl-C or for --seconds: "
        "the page of weir-exporter, with traffic that moves between the limiters")
    add("--flows", type=flow_list, metavar="N,N,...",
        help=f"TCP flows through each limiter, of at most {LIMITERS_MAX} (central: "
        f"{WIRES_PER_BOX} paths); default 3,7; with --web 6,2,1, in turns")
    add("--rate", type=positive(quantity(units.RATE)), metavar="RATE",
        help="limit of all limiters together; default 10Mbit/s; with --web 20Mbit/s")
    add("--burst", type=positive(quantity(units.SIZE)), metavar="SIZE",
        help="depth of the bucket, of all limiters together; default RATE during 1.5 RTT, "
        "like the paper: 75kB")
    add("--interval", type=positive(quantity(units.TIME)), default=0.05, metavar="TIME",
        help="estimate interval; default 50ms")
    add("--rtt", type=quantity(units.TIME), default=0.04, metavar="TIME",
        help="round-trip time of flows and between limiters; default 40ms")
    add("--loss", type=share, default=0.0, help="on the flows' links, each way; default 0%%")
    add("--gossip-loss", type=share, default=0.0, metavar="LOSS",
        help="of messages between limiters; default 0%%")
    add("--seconds", type=seconds, metavar="S",
        help="time measured, after the warm-up; default 60")
    add("--warmup", type=seconds, default=5.0, metavar="S",
        help="time before that, not measured; default 5")
    add("--seed", type=seed, default=1, help="of the losses; default 1")
    add("--json", type=target, metavar="FILE", help="write the results here ('-': standard output)")
    add("--plot", type=target, metavar="FILE", default="weir-demo.svg",
        help="write the time series here, as SVG; default weir-demo.svg")
    add("--keep", action="store_true", help="leave limiters and network up at the end")
    add("--teardown", action="store_true", help="remove the testbed that --keep has left, and exit")
    args = parser.parse_args(argv)
    args.flows = args.flows or ([6, 2, 1] if args.web else [3, 7])
    check_size(parser, args)
    args.rate = args.rate or (20e6 if args.web else 10e6)
    if not args.web:
        args.seconds = args.seconds or 60.0
    if args.burst is None:
        # A bucket below the bandwidth-delay product costs TCP throughput.
        args.burst = max(round(1.5 * args.rate / 8 * args.rtt), BURST_MIN * len(args.flows))
    return args


def say(text="", out=None):
    """Prints without buffering, so that users see the present step."""
    print(text, file=out or sys.stdout, flush=True)


def introduce(args, out):
    """Prints the settings of the demo."""
    where = "one limiter" if args.allocator == "central" else f"{len(args.flows)} limiters"
    say(f"Weir: {where} ({args.allocator}), {' + '.join(map(str, args.flows))} TCP flows, together "
        f"{units.form(args.rate, units.RATE)}; RTT {args.rtt * 1e3:g} ms, bucket "
        f"{units.form(args.burst, units.SIZE)}, estimates every {args.interval * 1e3:g} ms.", out)
    if not realtime_prefix():
        say("No real-time priority here: delays will be less exact than they could be.", out)


def experiment(args, bed, out):
    """Runs the flows; returns the measure.Run."""
    say("Building the network: namespaces, emulated links ...", out)
    bed.start()
    say(f"Limiters are up. Flows run for {args.warmup:g} s of warm-up and {args.seconds:g} s.", out)
    display = Display(bed, args.rate, out)
    return bed.run_flows(args.seconds, args.warmup, display.tick)


def gossip_summary(links, hub):
    """Returns the gossip counters. Through a hub a datagram takes two links: counts one of them."""
    ways = [link[way] for link in links for way in (("a-to-b",) if hub else ("a-to-b", "b-to-a"))]
    return {"datagrams": sum(way["received"] for way in ways),
            "bytes": sum(way["received_bytes"] for way in ways),
            "lost": sum(way["lost"] for way in ways)}


def lateness(links):
    """Returns the error of the emulated delays: the worst of the links' figures, in µs."""
    late = [link[way]["late_us"] for link in links for way in ("a-to-b", "b-to-a")]
    return {key: max(way[key] for way in late) for key in ("mean", "p99_below", "max")}


def state_at_end(bed):
    """Returns the limiters' telemetry of the policy, and the emulators' counters of their links."""
    links = {key: bed.emulator_stats(*key) for key in bed.topology.sorted_links()}
    gossip = [link for key, link in links.items() if key[0] == "gossip"]
    return {"policies": {f"l{i}": bed.policy(i) for i in bed.boxes()},
            "gossip": gossip_summary(gossip, bed.topology.has_hub()),
            "emulation_late_us": lateness(links.values())}


def results(args, bed, run):
    """Returns the content of the JSON file."""
    return {"allocator": args.allocator, "limit_bps": args.rate, "burst_bytes": args.burst,
            "interval_ms": args.interval * 1e3, "rtt_ms": args.rtt * 1e3, "loss": args.loss,
            "gossip_loss": args.gossip_loss, "seed": args.seed,
            **run.summary(), **state_at_end(bed)}


def write_results(args, run, summary, out):
    """Writes the picture, and the JSON file if requested."""
    title = (f"{args.allocator}: {'+'.join(map(str, args.flows))} flows, "
             f"limit {units.form(args.rate, units.RATE)}")
    word = "path" if args.allocator == "central" else "limiter"
    write(args.plot, forwarding_rates(run, args.rate, title, word))
    say(f"\nTime series: {os.path.abspath(args.plot)}", out)
    text = json.dumps(summary, indent=2)
    if args.json == "-":
        say(text)
    elif args.json:
        write(args.json, text + "\n")
        say(f"Results: {os.path.abspath(args.json)}", out)


def explain_kept(bed, out):
    """Prints commands to examine the testbed that was kept."""
    client = os.path.join(os.path.abspath(bed.build), "app", "weirctl", "weirctl")
    say("\nStill up because of --keep. Look around (as root):", out)
    say(f"  {client} -s {bed.socket(1)} policy {POLICY}", out)
    say(f"  ip netns exec {bed.topology.limiter_namespace(1)} ip -stats link", out)
    say(f"  namespaces: {', '.join(bed.topology.namespaces())}", out)
    say(f"  logs and configurations: {bed.journal.directory}", out)
    say("Remove it:\n  tools/demo --teardown", out)


def demonstrate(args, out):
    """Runs the whole demo."""
    introduce(args, out)
    with Testbed(args.flows, allocator=args.allocator, limit_bps=args.rate,
                 burst_bytes=args.burst, rtt=args.rtt, interval=args.interval, loss=args.loss,
                 gossip_loss=args.gossip_loss, seed=args.seed, keep=args.keep) as bed:
        run = experiment(args, bed, out)
        summary = results(args, bed, run)
        say("", out)
        say(report(summary, args.rate, args.allocator), out)
        write_results(args, run, summary, out)
        if args.keep:
            explain_kept(bed, out)


def show_page(args, out):
    """Serves the page, and moves traffic until the user stops it."""
    more = {"limit": units.form(args.rate / 4, units.RATE), "allocator": args.allocator,
            "burst": units.form(args.burst, units.SIZE), "ewma": 0.1,
            "interval": units.form(args.interval, units.TIME)}
    with Testbed(args.flows, allocator=args.allocator, limit_bps=args.rate,
                 burst_bytes=args.burst, rtt=args.rtt, interval=args.interval, loss=args.loss,
                 gossip_loss=args.gossip_loss, seed=args.seed,
                 configure=web.with_backups(more)) as bed:
        say("Building the network: namespaces, emulated links ...", out)
        bed.start()
        web.explain(web.Page(bed), lambda text: say(text, out))
        try:
            web.shift(bed, args.flows, args.seconds)
        except Interrupted as stop:
            if stop.number != signal.SIGINT:
                raise
    say("\nOver; nothing is left behind.", out)


def tear_down():
    """Removes testbeds that were kept, or whose process was killed."""
    removed = journal.sweep(kept=True)
    say("Removed " + ", ".join(removed) if removed else "Nothing was left up.")


def main(argv):
    """Returns the exit status."""
    args = parse_arguments(argv)
    if os.geteuid():
        say("Namespaces need root: run tools/demo, which uses sudo.", sys.stderr)
        return 1
    try:
        if args.teardown:
            tear_down()
        elif args.web:
            show_page(args, sys.stdout)
        else:
            demonstrate(args, sys.stderr if args.json == "-" else sys.stdout)
    except (TestbedError, OSError) as error:
        say(f"\nThe demo failed: {error}", sys.stderr)
        return 1
    except Interrupted as stop:
        say(f"\nStopped ({stop}); nothing is left behind.", sys.stderr)
        return 128 + stop.number
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The price of a split on live limiters, next to the formulas and the simulation of it.

    penalty.py [--quick] [--parts 1,2,4,8,16] [--workers 1,2] [--arrivals poisson,...] [--seeds N]
               [--rate 1.6Mbit/s] [--burst 16kB] [--packet 1000] [--load 0.9] [--batch 4] ...

Packets pass through n limiters (allocator static: each has an n-th of rate and burst), or through
one limiter of n workers that share one bucket. Packets that do not conform wait (action shape).
They arrive at the same times and at the same parts as in `weir-study penalty` with the same seed,
so live and simulated delays are of the same packets. Delays are read from the limiters' own
histograms (/weir/delays), after a tenth of the packets is sent, as in the simulation. The rate is
low, so that delays of a busy machine (a millisecond or so) are small in comparison. Needs root, and
a minute for each part, seed and kind of arrivals by default.
"""

import argparse
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

from testbed import units  # noqa: E402
from testbed.bed import POLICY, Testbed  # noqa: E402
from testbed.processes import TestbedError, run, wait_until  # noqa: E402
from testbed.topology import sink_address  # noqa: E402

BUILD = os.environ.get("WEIR_BUILD") or os.path.join(ROOT, "build")
LEDGER = "5eed0000000000000000000000001ed9"
KINDS = ["poisson", "periodic", "batch", "spread"]
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
LONGEST = "10s"  # most that a packet can wait
LATE_US = 20000  # most lateness of the sender, at the 99th percentile
ATTEMPTS = 3  # runs, if the sender was later
QUICK = {"parts": "1,4", "workers": "1,2", "arrivals": "poisson", "packets": 2000, "seeds": 1}


class Delays:
    """A histogram of delays in milliseconds, from /weir/delays."""

    def __init__(self, bins_us=()):
        self.bins = {(a / 1000, b / 1000): n for a, b, n in bins_us}

    def add(self, other, sign=1):
        """Adds another's packets, or with sign -1 subtracts them."""
        for edges, n in other.bins.items():
            self.bins[edges] = self.bins.get(edges, 0) + sign * n
        return self

    def count(self):
        """Returns the number of packets."""
        return sum(self.bins.values())

    def mean(self):
        """Returns the mean, with packets in the middle of their bins: off by up to a sixteenth."""
        return sum((a + b) / 2 * n for (a, b), n in self.bins.items()) / max(1, self.count())

    def quantile(self, share):
        """Returns a quantile, with packets spread evenly over their bin."""
        rank = share * self.count()
        for (a, b), n in sorted(self.bins.items()):
            if n and rank <= n:
                return a + (b - a) * rank / n
            rank -= n
        return 0.0

    def figures(self):
        """Returns mean and quantiles by name."""
        return {"mean": self.mean()} | {name: self.quantile(s) for name, s in SHARES.items()}


class Shapers(Testbed):
    """Limiters that shape."""

    def __init__(self, options, parts, workers, **settings):
        self.options, self.workers = options, workers
        settings = {"allocator": "static" if parts > 1 else "central", "rtt": 0.002} | settings
        super().__init__([0] * parts, limit_bps=options.rate, burst_bytes=options.burst,
                         configure=self.change, **settings)

    def change(self, i, config):
        """Changes the testbed's configuration: workers, shaping, hard limits."""
        config["workers"] = self.cpus[:self.workers]
        for wire in config["wires"]:
            wire["distribute"] = self.workers > 1
        for policy in config["policies"]:
            policy |= {"action": "shape", "shape": {"delay": LONGEST}}
            if len(self.boxes()) > 1 and not self.options.soft:
                config["ledger"] = {"store": self.journal.path(f"store{i}")}
                policy["guarantee"] = "hard"

    def start(self):
        """Creates empty ledgers, then starts the limiters."""
        for i in self.boxes():
            config = self.config(i)
            if "ledger" in config:
                path = self.journal.path("new.json")
                with open(path, "w", encoding="utf-8") as out:
                    json.dump(config, out)
                run([os.path.join(BUILD, "app", "weir", "weir"), "--new-ledger", LEDGER, path])
        super().start()

    def ask(self, i, request):
        """Sends a request until it is answered, or raises TestbedError if the limiter has ended."""
        def answer():
            self.limiters[i].check()
            return self.telemetry(i).try_get(request)

        return wait_until(answer, 30, f"limiter {i} to answer")

    def policies(self):
        """Returns the policy's telemetry from each limiter."""
        return [self.ask(i, f"/weir/policy,{POLICY}") for i in self.boxes()]

    def parts(self):
        """Returns true if each limiter enforces exactly its part."""
        n, options = len(self.boxes()), self.options
        return all(abs(policy["local_limit_bps"] * n / options.rate - 1) < 1e-3
                   and policy["local_burst_bytes"] == options.burst // n
                   for policy in self.policies())

    def delays(self):
        """Returns the sum of the delays over all limiters."""
        total = Delays()
        for i in self.boxes():
            total.add(Delays(self.ask(i, f"/weir/delays,{POLICY}")["bins_us"]))
        return total

    def passed(self):
        """Returns the packets that all limiters have passed."""
        return sum(policy["passed"]["packets"] for policy in self.policies())

    def idle(self):
        """Returns true if no packet waits."""
        return not any(policy["shape"]["waiting_packets"] for policy in self.policies())

    def facts(self):
        """Returns more facts of a run; for subclasses."""
        return {}

    def lateness_us(self):
        """Returns the worst worker's 99th percentile of lateness after the due time, in µs."""
        return max(worker["waiting"]["lateness_p99_us"] for i in self.boxes()
                   for worker in self.ask(i, "/weir/workers"))

    def send(self, kind, seed):
        """Runs the sender; returns (delays of the measured packets, the sender's report)."""
        options, parts = self.options, len(self.boxes())
        arguments = {"arrivals": kind, "rate": options.rate, "packet": options.packet,
                     "load": options.load, "batch": options.batch, "seed": seed,
                     "publishers": options.publishers, "packets": options.packets}
        sender = self.processes.start(
            "sender", [os.path.join(BUILD, "test", "bench", "penalty_send"),
                       *(f"--{name}={value}" for name, value in arguments.items()),
                       *(sink_address(i) for i in self.topology.entries())],
            self.topology.namespace("sources"), realtime=True)
        seconds = 60 + options.packets * options.packet * 8 / options.rate / options.load
        wait_until(lambda: not sender.alive() or "warm" in sender.output(), seconds, "warm-up")
        before = self.delays()
        if sender.wait(seconds) != 0:
            raise TestbedError(f"the sender failed: {sender.log_tail()}")
        wait_until(self.idle, 60, "all to go")
        return self.delays().add(before, -1), json.loads(sender.output().splitlines()[-1])


def live(options, kind, seed, parts, workers=1, testbed=Shapers):
    """Does one run; returns its Delays and other facts."""
    with testbed(options, parts, workers) as bed:
        bed.start()
        wait_until(bed.parts, 30, "each limiter to have its part")
        time.sleep(options.burst * 8 / options.rate)  # until buckets, which start empty, are full
        strangers = bed.passed()
        delays, sent = bed.send(kind, seed)
        lost = options.packets + strangers - bed.passed()
        facts = {"lost": lost, "strangers": strangers, "measured": delays.count(),
                 "lateness_p99_us": bed.lateness_us(), "sender_late_us": sent["late_us"],
                 "seed": seed, "mean": delays.mean()} | bed.facts()
    print(f"{kind}, seed {seed}, {parts} parts, {workers} workers: {facts}", file=sys.stderr,
          flush=True)
    return delays, facts


def timely(*run):
    """Repeats a run until its sender was on time; a sender without a CPU makes delays invalid."""
    for _ in range(ATTEMPTS):
        delays, facts = live(*run)
        if facts["sender_late_us"]["p99"] < run[0].late:
            return delays, facts
        print("the machine stood still: once more", file=sys.stderr, flush=True)
    raise TestbedError(f"the machine has no time for this: {facts['sender_late_us']}")


def simulated(options, kind):
    """Returns the rows of `weir-study penalty` by number of parts, in milliseconds."""
    arguments = {"arrivals": kind, "rate": units.form(options.rate, units.RATE),
                 "burst": f"{options.burst}B", "packet": f"{options.packet}B",
                 "load": options.load, "batch": options.batch, "publishers": options.publishers,
                 "packets": options.packets, "seeds": options.seeds, "first": options.first}
    done = subprocess.run([os.path.join(BUILD, "tools", "study", "weir-study"), "penalty", "--json",
                           "-", *(f"--{name}={value}" for name, value in arguments.items())],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"weir-study penalty: {done.stderr}")
    rows = json.loads(done.stdout)["runs"][0]["rows"]
    names = ["mean", *SHARES, "exact", "paper"]
    return {row["parts"]: {name: row[name + "_us"] and row[name + "_us"] / 1000 for name in names}
            for row in rows}


def measure(options):
    """Measures all cases; returns a list of rows."""
    found = {}
    cases = [(kind, n, 1) for kind in options.arrivals for n in options.parts]
    cases += [(kind, 1, k) for kind in options.arrivals for k in options.workers
              if (kind, 1, k) not in cases]
    for seed in range(options.first, options.first + options.seeds):
        for kind, parts, workers in cases:
            row = found.setdefault((kind, parts, workers), {
                "arrivals": kind, "parts": parts, "workers": workers, "delays": Delays(),
                "runs": []})
            delays, facts = timely(options, kind, seed, parts, workers)
            row["delays"].add(delays)
            row["runs"].append(facts)
    models = {kind: simulated(options, kind) for kind in options.arrivals}
    for row in found.values():
        row["live"] = row.pop("delays").figures()
        row["simulated"] = models[row["arrivals"]][row["parts"]]
        row["split"] = models[row["arrivals"]].get(row["workers"])
    return list(found.values())


def cell(value):
    """Formats a figure of a table."""
    return "-" if value is None else f"{value:.1f}"


def print_row(row, first):
    """Prints live / simulated values, and the ratio to one bucket's mean if packets wait there."""
    pairs = [f"{cell(row['live'][name])} / {cell(row['simulated'][name])}"
             for name in ("mean", *SHARES)]
    waits = first["simulated"]["mean"] > 0
    ratios = [cell(row[which]["mean"] / first[which]["mean"] if waits else None)
              for which in ("live", "simulated")]
    print(" | ".join(["", str(row["workers"] if row["parts"] == 1 else row["parts"]), *pairs,
                      cell(row["simulated"]["exact"]), cell(row["simulated"]["paper"]),
                      " / ".join(ratios), ""]).strip())


def print_tables(options, rows):
    """Prints tables in Markdown, in milliseconds."""
    head = ["mean", *SHARES, "exact", "(1)", "ratio of means"]
    for kind in options.arrivals:
        of_kind = [row for row in rows if row["arrivals"] == kind]
        first = next((row for row in of_kind if row["parts"] == row["workers"] == 1), of_kind[0])
        split = [row for row in of_kind if row["workers"] == 1]
        drawn = [row for row in of_kind if row["parts"] == 1]
        for title, some in (("limiters", split), ("workers of one limiter", drawn)):
            if len(some) < 2:
                continue
            print(f"\n{kind}: live / simulated, ms\n\n| " + " | ".join([title, *head]) + " |")
            print("|--:" * (len(head) + 1) + "|")
            for row in some:
                print_row(row, first)
        lost = sum(run["lost"] for row in of_kind for run in row["runs"])
        print(f"\n{kind}: {lost} packets lost")
        proposition(kind, split)
        print_split(kind, drawn)


def proposition(kind, rows):
    """Prints in how many runs the parts had longer delays than the one bucket of the same seed."""
    one = {run["seed"]: run["mean"] for row in rows if row["parts"] == 1 for run in row["runs"]}
    pairs = [(run["mean"], one[run["seed"]]) for row in rows if row["parts"] > 1
             for run in row["runs"] if run["seed"] in one]
    if pairs:
        held = sum(many >= one for many, one in pairs)
        least = min(many - one for many, one in pairs)
        print(f"{kind}: parts waited no less than one bucket in {held} of {len(pairs)} runs "
              f"(the least difference {least:+.2f} ms)")


def print_split(kind, rows):
    """Prints the simulated delay if each worker had its own bucket."""
    for row in rows:
        if row["workers"] > 1 and row["split"]:
            print(f"{kind}: {row['workers']} workers {cell(row['live']['mean'])} ms; split among "
                  f"them it would be {cell(row['split']['mean'])} ms (simulated)")


def parse(arguments=None):
    """Parses the command line, and converts units."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="a look, in two minutes")
    parser.add_argument("--parts", default="1,2,4,8,16", help="numbers of limiters")
    parser.add_argument("--workers", default="", help="numbers of workers of one limiter")
    parser.add_argument("--arrivals", default="poisson", help=f"of {','.join(KINDS)}")
    parser.add_argument("--rate", default="1.6Mbit/s")
    parser.add_argument("--burst", default="16kB")
    for name, default, what in (("packet", 1000, "bytes"), ("batch", 4, "packets"),
                                ("publishers", 240, "of periodic"), ("packets", 12000, "of a run"),
                                ("seeds", 1, "runs of each"), ("first", 1, "seed"),
                                ("late", LATE_US, "us, of one packet in a hundred at most")):
        parser.add_argument(f"--{name}", type=int, default=default, help=what)
    parser.add_argument("--load", type=float, default=0.9)
    parser.add_argument("--json", help="a file for all figures")
    parser.add_argument("--soft", action="store_true", help="parts without a ledger")
    options = parser.parse_args(arguments)
    if options.quick:
        vars(options).update(QUICK)
    options.rate = round(units.parse(options.rate, units.RATE))
    options.burst = round(units.parse(options.burst, units.SIZE))
    options.arrivals = options.arrivals.split(",")
    for name in ("parts", "workers"):
        setattr(options, name, [int(n) for n in getattr(options, name).split(",") if n])
    if not set(options.arrivals) <= set(KINDS):
        sys.exit(f"penalty: --arrivals: there are {', '.join(KINDS)}")
    if max(options.parts + [1]) > min(16, options.burst // options.packet):
        sys.exit("penalty: --parts: at most 16, and a packet must fit into each part's burst")
    if max(options.workers + [1]) > len(os.sched_getaffinity(0)):
        sys.exit("penalty: --workers: each has a CPU of its own, and there are fewer")
    return options


def main():
    """Measures, prints, and writes the results."""
    options = parse()
    rows = measure(options)
    print_tables(options, rows)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"options": vars(options), "rows": rows}, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    try:
        main()
    except TestbedError as error:
        sys.exit(f"penalty: {error}")

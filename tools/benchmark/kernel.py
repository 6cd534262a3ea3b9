#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Compares Weir with Linux's limiters between two veth cables. Needs root and two CPUs.

    kernel.py [--quick] [--json FILE] [--rounds N] [--seconds S]
              [--accuracy-runs N] [--rate PPS]

Weir over AF_XDP, its XDP data plane, nftables, HTB, TBF and a token bucket in XDP take turns, round
by round. The cost is a packet's CPU time on all CPUs, softirqs included, less the time to create
the packet. There are two loads: "full", at the highest rate, with a limit that is never reached;
and "third", PPS packets a second, of which the limit passes a third. Ratios are the peer's cost
over Weir's: above 1, Weir forwards more packets in a second of CPU. Prints a table in Markdown;
doc/study/performance-kernel.md has the reasons.
"""

import argparse
import json
import os
import signal
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import kernel_peers as peers  # noqa: E402 (needs the path above)
from kernel_measure import Source, spread  # noqa: E402
from kernel_peers import box  # noqa: E402
from report import markdown_table  # noqa: E402

LOADS = ("full", "third")
SHARE = 1 / 3  # part of the paced load that a limit passes
QUICK = {"rounds": 9, "seconds": 0.2, "accuracy_runs": 1}
THOROUGH = {"rounds": 31, "seconds": 0.5, "accuracy_runs": 3}
ACCURACY_S = 5
MEANING = ("median and spread of the peer's CPU time a packet over Weir's in the same round: "
           "above 1 Weir forwards more packets in a second of CPU")


class Bench:
    """All contestants, and their measurements so far."""

    def __init__(self, options, cpus):
        self.options = options
        self.source = Source(cpus[0], options.rate)
        self.notes = []
        pps = options.rate * SHARE
        self.peers = [kind(pps) for kind in (peers.Wire, peers.Nft, peers.Htb, peers.Tbf,
                                             peers.Xdp)]
        self.peers.append(peers.Plane(pps, cpus[1], cpus[0]))
        self.weir = peers.Weir(pps, cpus[1], cpus[0])
        self.peers.append(self.weir)
        self.costs = {}  # (contestant, load): ns a packet, one a round
        self.accuracy = {}  # contestant: passed / limit, one a run

    def start(self):
        """Starts the contestants that this machine supports."""
        for peer in list(self.peers):
            try:
                peer.start()
            except peers.Missing as reason:
                if peer is self.weir:
                    raise box.Skip(str(reason)) from reason
                peer.stop()
                self.peers.remove(peer)
                self.notes.append(f"{peer.name} is not measured: {reason}")

    def stop(self):
        """Stops them; their cables are removed with the namespace."""
        for peer in self.peers:
            peer.stop()

    def round(self):
        """Runs each contestant once under each load."""
        alone = self.source.cost(None, False, self.options.seconds)
        self._add("source", "full", alone)
        for load in LOADS:
            for peer in self.peers:
                if load == "third" and peer.name == "wire":  # "wire" has no limit
                    continue
                cost = self.source.cost(peer, load == "third", self.options.seconds)
                self._add(peer.name, load, cost - alone)

    def _add(self, name, load, cost):
        self.costs.setdefault((name, load), []).append(cost)

    def measure(self):
        """Runs all rounds, then the accuracy runs."""
        self.source.run(self.weir, False, 0.1)  # the first packets of a path are slow
        for number in range(1, self.options.rounds + 1):
            self.round()
            last = ", ".join(f"{name} {costs[-1]:.0f}" for (name, load), costs
                             in self.costs.items() if load == "full")
            print(f"round {number}, ns a packet: {last}", file=sys.stderr, flush=True)
        for _ in range(self.options.accuracy_runs):
            for peer in self.peers:
                if peer.name != "wire":
                    passed = self.source.accuracy(peer, ACCURACY_S)
                    self.accuracy.setdefault(peer.name, []).append(passed)

    def ratios(self):
        """Returns kernel_PEER_vs_weir at full load, kernel_PEER_third_vs_weir at the other load."""
        found = {}
        for (name, load), costs in self.costs.items():
            if name in ("source", "weir"):
                continue
            key = f"kernel_{name}_{'' if load == 'full' else load + '_'}vs_weir"
            ours = self.costs["weir", load]
            found[key] = spread([cost / our for cost, our in zip(costs, ours)])
        return found

    def result(self):
        """Returns the object for --json."""
        costs = {load: {name: spread(values) for (name, its), values in self.costs.items()
                        if its == load} for load in LOADS}
        accuracy = {name: {key: statistics.median(run[key] for run in runs) for key in runs[0]}
                    for name, runs in self.accuracy.items()}
        return {"meaning": MEANING, "ratios": self.ratios(), "accuracy": accuracy,
                "cpu_ns_per_packet": costs, "rounds": self.options.rounds, "notes": self.notes}


HEADS = ["", "full: ns a packet", "peer / Weir", "third: ns a packet", "peer / Weir",
         "passed / limit, first second", "settled"]


def table(result):
    """Returns the result as Markdown."""
    rows = []
    for name in result["cpu_ns_per_packet"]["full"]:
        row = ["the source alone" if name == "source" else f"`{name}`"]
        for load, infix in zip(LOADS, ("", "third_")):
            cost = result["cpu_ns_per_packet"][load].get(name)
            ratio = result["ratios"].get(f"kernel_{name}_{infix}vs_weir")
            row += [f"{cost['median']:.0f}" if cost else "",
                    "{median:.2f} ({p10:.2f}–{p90:.2f})".format(**ratio) if ratio else ""]
        passed = result["accuracy"].get(name)
        row += [f"{passed[key]:.{digits}f}" if passed else ""
                for key, digits in (("first_second", 2), ("settled", 4))]
        rows.append(row)
    return "\n".join([markdown_table(HEADS, rows), *("\n" + note for note in result["notes"])])


def parse():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="in a minute and a half")
    parser.add_argument("--json", metavar="FILE", help="write the result there too")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float, help="of a run")
    parser.add_argument("--accuracy-runs", type=int, help="of 5 s each; their median counts")
    parser.add_argument("--rate", type=int, default=100000, help="paced load, packets a second")
    options = parser.parse_args()
    for name, value in (QUICK if options.quick else THOROUGH).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    if options.rounds < 3 or options.accuracy_runs < 1:
        parser.error("a spread needs three rounds, and accuracy a run")
    return options


def prepare():
    """Moves this process into a new network namespace; returns the CPUs to use."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise box.Skip("needs two CPUs")
    if not os.access(peers.binary("xdp_source"), os.X_OK):
        raise box.Skip("xdp_source is not built (needs clang and libbpf)")
    box.enter_netns()
    box.enter_bpf_files()
    with open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w", encoding="ascii") as out:
        out.write("1")  # otherwise the kernel's own IPv6 packets are counted
    return cpus


def main():
    """Measures, prints and writes."""
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    bench = None
    try:
        bench = Bench(options, prepare())
        bench.start()
        bench.measure()
    except box.Skip as reason:
        print(f"skipped: {reason}", file=sys.stderr)
        sys.exit(box.SKIP)
    except KeyboardInterrupt:
        sys.exit(1)
    finally:
        if bench:
            bench.stop()
    result = bench.result()
    print(table(result))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(result, out, indent=2)


if __name__ == "__main__":
    main()

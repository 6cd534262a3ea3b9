#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Weir's data plane in the kernel with many policies, beside a bare XDP redirect, between two veth
cables each. As root, on a machine with two CPUs.

    kernel_many.py [--json FILE] [--rounds N] [--seconds S]

Each packet goes to a policy by lot, and passes. Compared is the CPU time that a packet costs all
CPUs together, softirqs included, less what it costs to make it, in the same round: above 1 the plane
costs more. Prints a table in Markdown.
"""

import argparse
import ipaddress
import json
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import kernel_peers as peers  # noqa: E402 (needs the path above)
from kernel import prepare  # noqa: E402
from kernel_measure import Source, spread  # noqa: E402
from kernel_peers import box  # noqa: E402
from report import markdown_table  # noqa: E402

FIRST4, FIRST6 = 10 << 24, 0x20010000
STEP4 = 163  # addresses from one policy to the next, so that no two are in one line of the table
LENGTHS6 = (32, 36, 40, 44, 48, 52, 56, 60, 64)
FRAME6 = 64  # bytes, of which 62 are headers
MEMORY = ["--no-huge", "-m", "1024", "--no-shconf", "--no-pci", "--no-telemetry"]


class Many(peers.Plane):
    """As many policies, so many of which have packets."""

    def __init__(self, name, words, n, used, ipv6, cpus):
        super().__init__(0, cpus[1], cpus[0])
        self.name, self.words, self.n, self.ipv6 = name, words, n, ipv6
        self.ends = [f"{name}{end}" for end in ("a0", "a1", "b0", "b1")]
        self.frame = FRAME6 if ipv6 else peers.FRAME
        step = n // used * (1 if ipv6 else STEP4)
        self.to = (f"{self._address(0)}+{used}*{step}",) * 2

    def _address(self, i):
        if self.ipv6:
            return ipaddress.IPv6Address(FIRST6 + i << 96)
        return ipaddress.IPv4Address(FIRST4 + i * STEP4)

    def _config(self):
        lengths = LENGTHS6 if self.ipv6 else (32,)
        policies = [{"name": f"p{i}", "limit": f"{peers.OUT_OF_REACH:.0f}bit/s",
                     "match": {"dst": f"{self._address(i)}/{lengths[i % len(lengths)]}"}}
                    for i in range(self.n)]
        return super()._config() | {"eal": MEMORY, "policies": policies}


def contestants(cpus):
    """The redirect first."""
    rows = [("few", "10 policies, all at random", 10, 10, False),
            ("tens", "10,000 policies, all at random", 10000, 10000, False),
            ("hot", "100,000 policies, 1,024 of them at random", 100000, 1024, False),
            ("all", "100,000 policies, all at random", 100000, 100000, False),
            ("six", "10,000 IPv6 prefixes of 9 lengths, all at random", 10000, 10000, True)]
    return [peers.Redirect(0), *[Many(*row, cpus) for row in rows]]


def measure(options, cpus):
    """Of each contestant ns a packet, one a round."""
    source = Source(cpus[0], 0)
    all_of_them = contestants(cpus)
    costs = {peer.name: [] for peer in all_of_them}
    try:
        for peer in all_of_them:
            peer.start()
        for number in range(options.rounds + 1):
            for peer in all_of_them:
                alone = source.cost(None, False, options.seconds, like=peer)
                costs[peer.name].append(source.cost(peer, False, options.seconds) - alone)
            last = ", ".join(f"{name} {its[-1]:.0f}" for name, its in costs.items())
            print(f"round {number}, ns a packet: {last}", file=sys.stderr, flush=True)
    finally:
        for peer in all_of_them:
            peer.stop()
    # The first packets through anything are slow.
    return all_of_them, {name: its[1:] for name, its in costs.items()}


def main():
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--json", metavar="FILE", help="write the result there too")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a run")
    options = parser.parse_args()
    try:
        all_of_them, costs = measure(options, prepare())
    except (box.Skip, peers.Missing) as reason:
        print(f"skipped: {reason}", file=sys.stderr)
        sys.exit(box.SKIP)
    bare = costs["redir"]
    rows, ratios = [["a bare XDP redirect", f"{statistics.median(bare):.0f}", ""]], {}
    for peer in all_of_them[1:]:
        its = costs[peer.name]
        ratios[peer.name] = spread([cost / least for cost, least in zip(its, bare)])
        rows.append([peer.words, f"{statistics.median(its):.0f}",
                     "{median:.2f} ({p10:.2f}–{p90:.2f})".format(**ratios[peer.name])])
    print(markdown_table(["", "ns a packet", "to the redirect"], rows))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"ratios": ratios, "cpu_ns_per_packet": costs}, out, indent=2)


if __name__ == "__main__":
    main()

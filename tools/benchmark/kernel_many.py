#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Compares Weir's XDP data plane, with many policies, with a bare XDP redirect. Needs root and two
CPUs.

    kernel_many.py [--json FILE] [--rounds N] [--seconds S]

Each has two veth cables. Each packet goes to a random policy, and passes. The cost is a packet's
time on the CPU that receives it, softirqs included, less the time to create it in the same round.
Above 1, the plane costs more. The table also has the CPU time of Weir's process. Control spends
most of it on reading each policy that has packets ten times a second. Prints a table in Markdown.
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

FIRST = {False: 1 << 24, True: 0x20010000}  # upper 32 bits of the first address, by IPv6
SPACE4 = 3_300_000_000  # addresses that IPv4 prefixes are spread over
LENGTHS = {False: range(20, 33), True: range(32, 65, 4)}
FRAME6 = 64  # bytes, of which 62 are headers
MEMORY = ["--no-huge", "-m", "1024", "--no-shconf", "--no-pci", "--no-telemetry"]


class Many(peers.Plane):
    """A plane with n policies, some of which have packets."""

    def __init__(self, name, words, n, used, ipv6, cpus):
        super().__init__(0, cpus[1], cpus[0])
        self.name, self.words, self.n, self.ipv6 = name, words, n, ipv6
        self.ends = [f"{name}{end}" for end in ("a0", "a1", "b0", "b1")]
        self.frame = FRAME6 if ipv6 else peers.FRAME
        self.step = 1 if ipv6 else SPACE4 // n
        self.to = (f"{self._prefix(0, 32)[0]}+{used}*{self.step * (n // used)}",) * 2

    def _prefix(self, i, length):
        upper = FIRST[self.ipv6] + i * self.step
        address = (ipaddress.IPv6Address(upper << 96) if self.ipv6
                   else ipaddress.IPv4Address(upper))
        return ipaddress.ip_network((address, length), strict=False)

    def _config(self):
        lengths = LENGTHS[self.ipv6]
        policies = [{"name": f"p{i}", "limit": f"{peers.OUT_OF_REACH:.0f}bit/s",
                     "match": {"dst": str(self._prefix(i, lengths[i % len(lengths)]))}}
                    for i in range(self.n)]
        return super()._config() | {"eal": MEMORY, "policies": policies}


def contestants(cpus):
    """Returns the contestants, the redirect first."""
    rows = [("few", "10 policies, all at random", 10, 10, False),
            ("tens", "10,000 policies, all at random", 10000, 10000, False),
            ("hot", "100,000 policies, 1,024 of them at random", 100000, 1024, False),
            ("all", "100,000 policies, all at random", 100000, 100000, False),
            ("six", "10,000 IPv6 prefixes of 9 lengths, all at random", 10000, 10000, True)]
    return [peers.Redirect(0), *[Many(*row, cpus) for row in rows]]


def measure(options, cpus):
    """Returns each contestant's cost of a packet: (ns in the kernel, ns in its process) a round."""
    source = Source(cpus[0], 0)
    all_of_them = contestants(cpus)
    costs = {peer.name: [] for peer in all_of_them}
    try:
        for peer in all_of_them:
            peer.start()
        for number in range(options.rounds + 1):
            for peer in all_of_them:
                alone = source.cost(None, False, options.seconds, like=peer)
                kernel, process = source.costs(peer, False, options.seconds)
                costs[peer.name].append((kernel - alone, process))
            last = ", ".join(f"{name} {its[-1][0]:.0f} + {its[-1][1]:.0f}"
                             for name, its in costs.items())
            print(f"round {number}, ns a packet: {last}", file=sys.stderr, flush=True)
    finally:
        for peer in all_of_them:
            peer.stop()
    # The first packets of a path are slow.
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
    bare = [kernel for kernel, _ in costs["redir"]]
    rows, ratios = [["a bare XDP redirect", f"{statistics.median(bare):.0f}", "", ""]], {}
    for peer in all_of_them[1:]:
        its, process = zip(*costs[peer.name])
        ratios[peer.name] = spread([cost / least for cost, least in zip(its, bare)])
        rows.append([peer.words, f"{statistics.median(its):.0f}",
                     "{median:.2f} ({p10:.2f}–{p90:.2f})".format(**ratios[peer.name]),
                     f"{statistics.median(process):.0f}"])
    print(markdown_table(["", "ns a packet", "to the redirect", "and of the process"], rows))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"ratios": ratios, "cpu_ns_per_packet": costs}, out, indent=2)


if __name__ == "__main__":
    main()

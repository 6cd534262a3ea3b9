#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Random files of LibreQoS: weir-import makes the policies of the model, and weir accepts them."""

import json
import os
import random
import re
import subprocess
import sys
import tempfile

SEEDS = range(1, 33)
LEVELS = 3
LEAST = 8000
SCALES = {"bit/s": 1, "kbit/s": 10 ** 3, "Mbit/s": 10 ** 6, "Gbit/s": 10 ** 9}
COLUMNS = ("Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,"
           "Download Min{0},Upload Min{0},Download Max{0},Upload Max{0},Comment")


def expect(true, words):
    """Ends the test with these words."""
    if not true:
        sys.exit(f"import: {words}")


def bps(text):
    """Returns the rate of a policy in bit/s."""
    number, unit = re.fullmatch(r"([\d.]+)(\D+)", text).groups()
    return round(float(number) * SCALES[unit])


class Node:
    """A node of the network."""

    def __init__(self, rng, name, above):
        self.name, self.above, self.children = name, above, []
        self.virtual = rng.random() < 0.2
        self.rate = round(rng.uniform(1, 500), rng.choice([0, 1, 9, 15]))
        self.mark = rng.choice(["virtual", "type"])

    def written(self):
        """Returns the node's part of network.json."""
        out = {"downloadBandwidthMbps": self.rate, "uploadBandwidthMbps": self.rate}
        if self.virtual:
            out = out | {"virtual": True} if self.mark == "virtual" else {"type": "Virtual"}
        if self.children:
            out["children"] = {child.name: child.written() for child in self.children}
        return out

    def real(self):
        """Returns the node, or the next one above it that has a limit, or None."""
        node = self
        while node and node.virtual:
            node = node.above
        return node


class Circuit:
    """A circuit with its lines."""

    def __init__(self, rng, number, nodes):
        self.name = f"{number}{rng.choice(['', ' x', '/y'])}"
        self.node = rng.choice([None, *nodes])
        self.most = round(rng.uniform(1, 900), rng.choice([0, 2, 6, 14]))
        self.least = rng.choice([0, min(self.most, round(self.most * rng.random(),
                                                         rng.choice([0, 3, 13])))])
        self.addresses = [f"100.{number // 200}.{number % 200}.{k}" for k in
                          range(1, rng.randint(2, 4))]
        self.bad, self.twin = rng.random() < 0.1, False

    def policy(self):
        """Returns the name of its policy."""
        return "t-" + re.sub("[^A-Za-z0-9_.-]", "_", self.name)

    def lines(self, rng):
        """Yields a line for each device."""
        for k, address in enumerate(self.addresses):
            if rng.random() < 0.3:
                address = ".".join(part.rjust(3, "0") for part in address.split("."))
            most = "fast" if self.bad else repr(self.most)
            yield (f'{self.name},"a, b",{k},d,{self.node.name if self.node else ""},,{address},,'
                   f"{self.least!r},{self.least!r},{most},{most},")


def tree(rng):
    """Returns random nodes, parents before children."""
    nodes = []
    for i in range(rng.randint(1, 14)):
        above = rng.choice([None, *nodes[-2:], *nodes[-2:], *nodes[-2:]])
        nodes.append(Node(rng, f"N {i}" if i % 3 else f"N_{i}", above))
        if above:
            above.children.append(nodes[-1])
    return nodes


def node_policy(node):
    """Returns the name of the node's policy."""
    return "t-" + re.sub("[^A-Za-z0-9_.-]", "_", node.name)


def mbps(number):
    """Converts to bit/s, rounded to the nearest."""
    return round(number * 1e6)


def scale(wanted, kept):
    """Scales guarantees: each is the smallest part that a node above leaves of it."""
    def above(policy):
        node = policy[2] if policy[3] else None
        while node:
            yield node
            node = kept(node.above.real() if node.above else None)
    sums = {}
    for policy in wanted.values():
        for node in above(policy):
            sums[node] = sums.get(node, 0) + policy[1]
    for policy in wanted.values():
        parts = [policy[1] * mbps(node.rate) // sums[node] for node in above(policy)
                 if sums[node] > mbps(node.rate)]
        policy[1] = min([policy[1], *parts])
        policy[1] = policy[1] if policy[1] >= LEAST else 0


def model(circuits):
    """Returns the expected policies: {name: (limit, guaranteed, parent, addresses)}."""
    height = {}
    for one in circuits:
        node, level = one.node.real() if one.node else None, 1
        while node:
            height[node] = max(height.get(node, 0), level)
            node, level = node.above.real() if node.above else None, level + 1

    def kept(node):
        return node if node and height[node] <= LEVELS else None
    wanted = {}
    for one in circuits:
        parent = kept(one.node.real() if one.node else None)
        least = mbps(one.least) if parent else 0
        wanted[one.policy()] = [mbps(one.most), least, parent, one.addresses]
        while parent:
            above = kept(parent.above.real() if parent.above else None)
            wanted[node_policy(parent)] = [mbps(parent.rate), 0, above, []]
            parent = above
    scale(wanted, kept)
    return {name: (limit, least, node_policy(parent) if parent else None, addresses)
            for name, (limit, least, parent, addresses) in wanted.items()}


def imported(policies):
    """Returns the policies that weir-import has written, in the form of the model."""
    found = {}
    for one in policies:
        match = one.get("match", {}).get("dst", one.get("match", {}).get("src", []))
        match = [match] if isinstance(match, str) else match
        found[one["name"]] = (bps(one["limit"]), bps(one.get("guaranteed", "0bit/s")),
                              one.get("parent"), [text.removesuffix("/32") for text in match])
    return found


def check_files(seed, weir, importer, directory):
    """Checks one pair of files."""
    rng = random.Random(seed)
    nodes = tree(rng)
    circuits = [Circuit(rng, i, nodes) for i in range(rng.randint(1, 60))]
    for one in circuits[1:]:  # an address of another one
        if rng.random() < 0.05:
            one.addresses[-1] = circuits[0].addresses[0]
            one.twin = True
    way = rng.choice(["download", "upload"])
    listed, network, configuration = (os.path.join(directory, name) for name in
                                      ("ShapedDevices.csv", "network.json", "weir.json"))
    with open(listed, "w", encoding="utf-8") as out:
        lines = [line for one in circuits for line in one.lines(rng)]
        out.write("\n".join([COLUMNS.format(rng.choice(["", " Mbps"])), *lines, ""]))
    with open(network, "w", encoding="utf-8") as out:
        json.dump({node.name: node.written() for node in nodes if not node.above}, out)
    words = [importer, "csv", listed, "--network", network, "--direction", way,
             "--prefix", "t-", "--print"]
    bad = [one for one in circuits if one.bad]
    strict = subprocess.run(words, capture_output=True, text=True, check=False)
    wrong = bad or any(one.twin for one in circuits)
    expect((strict.returncode != 0) == bool(wrong), f"seed {seed}: {strict.stderr}")
    expect(all(line.startswith((listed, network, "weir-import: ")) or line.startswith("and ")
               for line in strict.stderr.splitlines()), f"seed {seed}: {strict.stderr}")
    done = subprocess.run([*words, "--skip-bad"], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"seed {seed}: {done.stderr}")
    expect(("warning" in done.stderr) or not bad, f"seed {seed}: nothing is said of {bad}")
    policies = json.loads(done.stdout)["policies"]
    found, want = imported(policies), model([one for one in circuits
                                                 if not one.bad and not one.twin])
    for name in {*found, *want}:
        expect(found.get(name) == want.get(name),
               f"seed {seed}: {name}: {found.get(name)}, not {want.get(name)}")
    with open(configuration, "w", encoding="utf-8") as out:
        json.dump({"limiter": "x", "ports": {"a": {"device": "net_ring0"},
                                             "b": {"device": "net_ring1"}},
                   "wires": [{"name": "w", "a": "a", "b": "b"}], "policies": policies}, out)
    done = subprocess.run([weir, "--check", configuration], capture_output=True, text=True,
                          check=False)
    expect(done.returncode == 0, f"seed {seed}: weir refuses it: {done.stderr}")


if __name__ == "__main__":
    # `weir --check` must be found for printed lists.
    os.environ["PATH"] = os.pathsep.join((os.path.dirname(sys.argv[1]), os.environ["PATH"]))
    for number in SEEDS:
        with tempfile.TemporaryDirectory() as place:
            check_files(number, *sys.argv[1:], place)

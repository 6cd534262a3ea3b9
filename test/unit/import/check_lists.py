#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Lists of subscribers as policies, mistakes with their places, and edits between two lists."""

import json
import unittest

import seeds
from harness import Test

from weir_import import values
from weir_import.diagnostics import Diagnostics
from weir_import.edits import edits_between
from weir_import.network import Network
from weir_import.subscribers import SubscriberList, Terms

RUNNING = [{"name": "link"}, {"name": "AP_2"}, {"name": "t-gone"},
           {"name": "month", "allocator": "quota"},
           {"name": "day", "allocator": "quota", "parent": "link"}]
LIBREQOS = ("Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min "
            "Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment\n")


def read(data, **terms):
    """Returns the policies of a list or None, the messages, and the list."""
    messages = []
    listed = SubscriberList(Terms(**{"file": "t.csv", "prefix": "t-", **terms}),
                            Diagnostics(messages.append))
    good = listed.read(data if isinstance(data, bytes) else
                       data.encode("utf-8", "surrogateescape"))
    return list(listed.policies.values()) if good else None, messages, listed


class Lists(Test):
    """Whole lists."""

    def check(self, wanted, said, found, messages):
        """Compares policies and messages with a row of a table."""
        self.assertEqual(found, wanted)
        text = "".join(line + "\n" for line in messages)
        if said.endswith("\n") and said.startswith(("t.csv:", "n.json:")) or not said:
            self.assertEqual(text, said)
        self.assertIn(said, text)

    def test_lists(self):
        """Each list is refused with its messages, or has its policies."""
        for text, way, flat, wanted, said in self.each("lists"):
            found, messages, _ = read(text, upload=way == "upload", flat=flat, running=RUNNING)
            self.check(wanted, said, found, messages)

    def test_networks(self):
        """Nodes above circuits become policies."""
        for network, lines, wanted, said in self.each("networks"):
            found, messages, _ = read(LIBREQOS + lines, network=network, network_file="n.json",
                                      running=RUNNING)
            self.check(wanted, said, found, messages)

    def test_deep_networks(self):
        """Nodes deeper than any network are ignored, so that no file exhausts the stack."""
        for depth, taken in ((1, True), (64, True), (65, False), (900, False)):
            network = {"lowest": {"downloadBandwidthMbps": 1}}
            for level in range(depth - 1):
                network = {f"n{level}": {"downloadBandwidthMbps": 1, "children": network}}
            nodes = Network(network, False, "n.json", Diagnostics(self.fail)).nodes
            self.assertEqual("lowest" in nodes, taken)

    def test_one_message(self):
        """A wrong address is not also reported as missing."""
        _, messages, _ = read("name,addresses,limit\na,192.0.2.256,1Mbit/s\n")
        self.assertEqual(len(messages), 1)

    def test_no_text(self):
        """A text with a NUL can be truncated there, so none of it is used."""
        found, messages, _ = read("name,addresses,limit\na,192.0.2.1,1Mbit/s\n\0")
        self.assertIsNone(found)
        self.assertEqual(messages, ["t.csv: NUL characters: expected UTF-8"])

    def test_many_mistakes(self):
        """The first twenty mistakes are reported, and the number of all."""
        _, messages, _ = read("name,addresses,limit\n" + "".join(
            f"n{i},192.0.2.{i},x\n" for i in range(25)))
        self.assertTrue(messages[19].startswith("t.csv:21: limit"))
        self.assertEqual(messages[20:], ["t.csv: and 5 more errors, 25 in all"])

    def test_lines(self):
        """A policy has the number of the line in which it begins."""
        _, _, listed = read('name,addresses,limit\na,192.0.2.1,1Mbit/s\n\n"b",192.0.2.2,1Mbit/s\n')
        self.assertEqual(listed.lines, {"t-a": 2, "t-b": 4})

    def test_skipped_lines(self):
        """With skip_bad the good lines give the same policies as without the bad ones."""
        for rng in self.rounds():
            good = [f"g{i},10.0.{i}.1,{i + 1}Mbit/s" for i in range(rng.randrange(5))]
            bad = [rng.choice([f"b{i},10.1.0.{i},fast", f"b{i},10.1.0,1Mbit/s",
                               f"b {i},10.1.0.1,1Mbit/s",
                               f"b{i},,1Mbit/s", f"b{i},10.1.0.{i}"])
                   for i in range(rng.randrange(5))]
            lines = good + bad
            rng.shuffle(lines)
            wanted, messages, _ = read("\n".join(["name,addresses,limit", *(
                line for line in lines if line in good)]))
            self.assertEqual(messages, [])
            found, messages, _ = read("\n".join(["name,addresses,limit", *lines]), skip_bad=True)
            self.assertEqual(found, wanted)
            self.assertEqual(bool(messages), bool(bad))
            self.assertTrue(all(": warning: " in line for line in messages))

    def test_any_list(self):
        """A random list is refused with a message, or gives policies with name, place and limit."""
        refused = count = 0
        for rng in self.rounds(1.25):
            count += 1
            network = seeds.network(rng) if rng.random() < 0.5 else None
            found, messages, listed = read(
                seeds.shaped(rng), network=network, network_file="n.json",
                upload=rng.random() < 0.5, skip_bad=rng.random() < 0.5, flat=rng.random() < 0.1,
                running=rng.choice([None, RUNNING]))
            if found is None:
                refused += 1
                self.assertTrue(any(": warning: " not in line for line in messages), messages)
                continue
            self.assertTrue(all(": warning: " in line for line in messages), messages)
            for policy in found:
                name = policy["name"]
                self.assertTrue(values.name_valid(name) and name.startswith("t-"))
                self.assertTrue(name in listed.lines or name in listed.node_names)
                self.assertIsNotNone(values.parse_rate(policy["limit"]))
            self.check_guarantees(found, listed.node_names)
        self.assertTrue(count / 20 < refused < count * 0.95, refused)

    def check_guarantees(self, policies, nodes):
        """Checks that the guarantees of a node's children do not exceed its own."""
        by_name, sums = {policy["name"]: policy for policy in policies}, {}
        for policy in policies:
            above = by_name.get(policy.get("parent"))
            while above:
                sums[above["name"]] = sums.get(above["name"], 0) + values.parse_rate(
                    policy.get("guaranteed", "0bit/s"))
                above = by_name.get(above.get("parent"))
        for name in nodes:
            self.assertLessEqual(sums.get(name, 0), values.parse_rate(by_name[name]["limit"]))


class Edits(Test):
    """The edits between two lists."""

    def test_cases(self):
        """Each pair of lists has its edits and counts."""
        for running, wanted, edits, counts in self.each("edits"):
            found = edits_between(running, wanted, "t-")
            self.assertEqual([found.edits, [found.added, found.changed, found.removed,
                                            found.unchanged]], [edits, counts])

    def test_any_edits(self):
        """Edits give the policies with the prefix the values of the list, and change no others."""
        def policies(rng):
            return [{"name": rng.choice(["t-", "u-"]) + name, "limit": rng.choice("ab"),
                     **({"note": rng.choice([1, 1.0, [1], {"x": 1}])}
                        if rng.random() < 0.5 else {})}
                    for name in rng.sample("abcdef", rng.randrange(6))]
        for rng in self.rounds():
            running, wanted = policies(rng), policies(rng)
            wanted = [policy for policy in wanted if policy["name"].startswith("t-")]
            after = {policy["name"]: dict(policy) for policy in running}
            found = edits_between(running, wanted, "t-")
            for edit in found.edits:
                if edit["do"] == "remove":
                    del after[edit["name"]]
                    continue
                self.assertEqual(edit["do"] == "add", edit["name"] not in after)
                policy = after.setdefault(edit["name"], {"name": edit["name"]})
                for key, value in edit["keys"].items():
                    if value is None:
                        del policy[key]
                    else:
                        policy[key] = value
            others = [policy for policy in running if not policy["name"].startswith("t-")]
            self.assertEqual(*(json.dumps(sorted(each, key=lambda policy: policy["name"]),
                                          sort_keys=True)
                               for each in (list(after.values()), others + wanted)))
            self.assertEqual(len(found.edits), found.added + found.changed + found.removed)


if __name__ == "__main__":
    unittest.main()

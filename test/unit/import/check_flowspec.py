#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Tests of flow specifications as policies: matches, actions and lifetime."""

import json
import unittest

import seeds
from harness import Test

from weir_import import flow_match, number_set, values
from weir_import.announcements import RULES_MOST, Announcements
from weir_import.previous import keep_previous

RULE = {"destination-ipv4": ["192.0.2.7/32"], "protocol": ["=udp"]}
PEER = "127.0.0.1"
COMPARE = {"=": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
           ">": lambda a, b: a > b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b}


def line(peer, **message):
    """Returns a line of ExaBGP."""
    return json.dumps({"neighbor": {"address": {"peer": peer}, "message": message}}).encode()


def announce(rule, rate="125000", peer=PEER, family="ipv4 flow", actions=None):
    """Returns a line that announces a rule."""
    actions = [{"value": 1, "string": f"rate-limit:{rate}"}] if actions is None else actions
    return line(peer, update={"attribute": {"extended-community": actions},
                              "announce": {family: {"no-nexthop": [rule]}}})


def withdraw(rule, peer=PEER):
    """Returns a line that withdraws a rule."""
    return line(peer, update={"withdraw": {"ipv4 flow": [rule]}})


def end_of_rib(family, peer=PEER):
    """Returns a line that ends the rules of a family."""
    return line(peer, eor={"afi": family, "safi": "flow"})


def down(peer=PEER):
    """Returns a line that ends a session."""
    return json.dumps({"neighbor": {"address": {"peer": peer}, "state": "down"}}).encode()


class Session(Announcements):
    """Announcements that store their messages."""

    def __init__(self, prefix="flowspec-", **more):
        self.messages = []
        super().__init__(prefix, self.messages.append, **more)

    def limits(self):
        """Returns the limits of all policies."""
        return [policy["limit"] for policy in self.policies()]


class Rules(Test):
    """Single rules."""

    def check(self, session, changed, wanted, why):
        """Compares the only policy, and the message, with a row of a table."""
        self.assertEqual(changed, wanted is not None)
        self.assertIn(why or "", "\n".join(session.messages))
        self.assertEqual(bool(why), bool(session.messages))
        policies = session.policies()
        self.assertEqual(len(policies), wanted is not None)
        for policy in policies:
            name = policy.pop("name")
            self.assertTrue(name.startswith("flowspec-") and values.name_valid(name))
            policy.pop("note")
            self.assertEqual(policy, wanted)

    def test_rules(self):
        """Each rule becomes its policy or is refused. A rule of another family is ignored."""
        for family, rule, actions, wanted, why in self.each("rules"):
            session = Session()
            taken = session.take(announce(rule, family=family, actions=actions))
            self.check(session, taken, wanted, why)
            for only in ("ipv4", "ipv6"):
                session = Session(family=only)
                taken = session.take(announce(rule, family=family, actions=actions))
                self.assertEqual(taken, wanted is not None and family.startswith(only))
                self.assertTrue(family.startswith(only) or not session.messages)

    def test_paths(self):
        """Paths of GoBGP 3.10 become the same policies."""
        for path, wanted, why in self.each("paths"):
            session = Session()
            taken = session.take(json.dumps(path).encode())
            self.check(session, taken, wanted, why)

    def test_packets(self):
        """A packet is in the matches if and only if it is in the rule, component by component."""
        made = count = 0
        for rng in self.rounds(0.75):
            ipv6 = rng.random() < 0.3
            rule = seeds.rule(rng, ipv6)
            count += 1
            try:
                matches = flow_match.match_of(rule, ipv6)
            except flow_match.Refused:
                continue
            made += 1
            matches = matches if isinstance(matches, list) else [matches]
            for _ in range(30):
                packet = {"proto": rng.choice([1, 6, 6, 17, 17, 89, rng.randrange(1, 256)]),
                          "dscp": rng.choice([0, 1, 62, 63, rng.randrange(64)]),
                          **{key: rng.choice([1, 2, 63, 64, 65535, rng.randrange(1, 65536)])
                             for key in ("src-port", "dst-port")}}
                self.assertEqual(any(self.is_of(packet, match) for match in matches),
                                 self.is_of_rule(packet, rule), (rule, matches, packet))
            self.check_addresses(rule, ipv6, matches)
        self.assertGreater(made, count / 5)

    def check_addresses(self, rule, ipv6, matches):
        """All matches have the prefixes of the rule. The offset "/0" of IPv6 is omitted."""
        for side, key in (("destination", "dst"), ("source", "src")):
            text = rule.get(f"{side}-ipv{6 if ipv6 else 4}", [None])[0]
            wanted = text.removesuffix("/0") if text and ipv6 else text
            if not wanted and key == "dst" and not any("src" in match for match in matches):
                wanted = "::/0" if ipv6 else "0.0.0.0/0"
            self.assertEqual({match.get(key) for match in matches}, {wanted})

    @staticmethod
    def is_of(packet, match):
        """Returns true if a packet with these numbers is in a match."""
        proto = match.get("proto", packet["proto"])
        proto = values.PROTOCOLS.get(proto, proto)
        ports = all(int(first) <= packet[key] <= int(last or first)
                    for key in ("src-port", "dst-port") if key in match
                    for first, _, last in [str(match[key]).partition("-")])
        return proto == packet["proto"] and match.get("dscp", packet["dscp"]) == packet["dscp"] \
            and ports

    @staticmethod
    def takes(texts, number):
        """Returns true if any of the comparisons takes a number."""
        def holds(word):
            operator = word.rstrip("0123456789abcdefghijklmnopqrstuvwxyz")
            text = word[len(operator):]
            return COMPARE[operator](number, flow_match.NAMED[text] if text.isalpha()
                                     else int(text))
        return any(all(map(holds, text.split("&"))) for text in texts)

    def is_of_rule(self, packet, rule):
        """Returns true if a packet is in a rule by RFC 8955; ports are those of TCP and UDP."""
        numbers = {"protocol": ["proto"], "next-header": ["proto"], "dscp": ["dscp"],
                   "traffic-class": ["dscp"], "destination-port": ["dst-port"],
                   "source-port": ["src-port"], "port": ["src-port", "dst-port"]}
        for name, texts in rule.items():
            keys = numbers.get(name, ())
            if name.endswith("port") and packet["proto"] not in (6, 17):
                return False
            if keys and not any(self.takes(texts, packet[key]) for key in keys):
                return False
        return True

    def test_comparisons(self):
        """Each comparison with each number takes the numbers that fulfil it."""
        for operator, compare in COMPARE.items():
            for number in range(257):
                taken = number_set.read(256, [f"{operator}{number}"])
                self.assertEqual([*number_set.numbers(taken)],
                                 [a for a in range(256) if compare(a, number)])

    def test_ranges(self):
        """The ranges of a random set are its numbers, and have gaps between them."""
        for rng in self.rounds():
            numbers = sorted(rng.sample(range(200), rng.randrange(150)))
            ranges = [*number_set.ranges(sum(1 << number for number in numbers))]
            self.assertEqual([n for first, last in ranges for n in range(first, last + 1)], numbers)
            self.assertTrue(all(a[1] + 1 < b[0] for a, b in zip(ranges, ranges[1:])))

    def test_many_sides(self):
        """A port of either side gives two matches; a policy can have 64."""
        for count in (32, 33):
            session = Session()
            rule = {"protocol": ["=udp"], "port": [f"={1 + 2 * i}" for i in range(count)]}
            self.assertEqual(session.take(announce(rule)), count == 32)
            self.assertEqual("it takes more matches" in "".join(session.messages), count > 32)


class Texts(Test):
    """Names, notes and messages."""

    def test_messages(self):
        """Compares complete messages: of two rules, of an invalid rule, and of an invalid line."""
        no_line = "weir-import: not a line of ExaBGP's JSON, or of GoBGP's: "
        address = {"destination-ipv4": ["192.0.2.7/32"]}
        session = Session()
        for text, wanted in (
                (announce({**address, "string": "flow a"}), []),
                (announce({**address, "dscp": ["=1"], "string": "flow b"}),
                 ["weir-import: flow b and flow a may take the same packets: Weir prefers the more "
                  "specific one, RFC 8955 may prefer the other"]),
                (announce({"rd": "1:1", "string": "flow c"}),
                 ["weir-import: refused: flow c, of 127.0.0.1: a match has no rd; it limits "
                  "nothing"]),
                (announce({"rd": "1:1"}),
                 ['weir-import: refused: {"rd":"1:1"}, of 127.0.0.1: a match has no rd; it limits '
                  "nothing"]),
                (b"1" * 60, [f'{no_line}"{"1" * 60}"']), (b"1" * 61, [f'{no_line}"{"1" * 60}"']),
                (b"", [f'{no_line}""'])):
            session.messages.clear()
            try:
                session.take(text)
            except ValueError:
                pass
            self.assertEqual(session.messages, wanted)

    def test_no_lines(self):
        """Texts that no speaker sends."""
        for text in (b"x", b"7", b"{", b'{"neighbor":{"state":"down"}}', b'{"neighbor":null}',
                     b'{"neighbor":{"address":{"peer":7},"message":{}}}'):
            session = Session()
            with self.assertRaises(ValueError):
                session.take(text)
            self.assertEqual(len(session.messages), 1)

    def test_notes(self):
        """A note contains at most 200 bytes of the speaker's text or of the rule, and the peer."""
        for length in (1, 199, 200, 201, 300):
            session = Session()
            session.take(announce({**RULE, "string": "x" * length}))
            self.assertEqual(session.policies()[0]["note"], ["x" * min(length, 200), f"of {PEER}"])
        session = Session()
        session.take(announce({"destination-ipv4": ["192.0.2.7/32"]}))
        self.assertEqual(session.policies()[0]["note"][0], '{"destination-ipv4":["192.0.2.7/32"]}')

    def test_names(self):
        """A name contains the prefix, the address and 16 digits."""
        both = {"destination-ipv4": ["192.0.2.7/32"], "source-ipv4": ["10.0.0.0/8"]}
        for prefix, rule, begins in (
                ("fs-", both, "fs-192.0.2.7_32"),
                ("fs-", {"source-ipv4": ["10.0.0.0/8"]}, "fs-10.0.0.0_8"),
                ("fs-", {"protocol": ["=udp"]}, "fs-any"),
                ("f s-", {"destination-ipv4": ["192.0.2.255/32"]}, "f_s-192.0.2.255_32"),
                ("123456789012345678901234567890x", {"destination-ipv4": ["192.168.155.255/32"]},
                 "123456789012345678901234567890192.168.155.255_")):
            session = Session(prefix)
            session.take(announce(rule))
            self.assertRegex(session.policies()[0]["name"], f"^{begins}-[0-9a-f]{{16}}$")

    def test_same_name(self):
        """Names are the same for the same packets in any order, in all limiters and versions."""
        session = Session()
        session.take(announce(RULE))
        self.assertEqual(session.policies()[0]["name"], "flowspec-192.0.2.7_32-5bbb7bb6bcffd3ec")
        for rng in self.rounds():
            ipv6 = rng.random() < 0.3
            rule = {**seeds.rule(rng, ipv6), "string": "a"}
            other = dict(rng.sample(list(rule.items()), len(rule)), string="b")
            names = []
            for each in (rule, other):
                session = Session()
                session.take(announce(each, family="ipv6 flow" if ipv6 else "ipv4 flow"))
                names.append(session.told[PEER])
            self.assertEqual(*names)


class Lifetime(Test):
    """Rules are announced and withdrawn."""

    def steps(self, name, **more):
        """Takes the lines of a table one after another."""
        session = Session(**more)
        for text, changed, limits in self.each(name):
            self.assertEqual(session.take(json.dumps(text).encode()), changed)
            self.assertEqual(session.limits(), limits)
            self.assertEqual(session.messages, [])

    def test_announced_and_withdrawn(self):
        """The least rate of two peers applies, until the peers withdraw it."""
        self.steps("steps")

    def test_kept(self):
        """With `keep` rules stay, family by family, until the next session is complete."""
        self.steps("kept_steps", keep=True)

    def test_refused_in_place(self):
        """A rule that is refused removes the previous rule of its name."""
        session = Session()
        session.take(announce(RULE))
        self.assertTrue(session.take(announce(RULE, actions=[{"string": "redirect:1:2"}])))
        self.assertEqual(session.limits(), [])

    def test_overlaps(self):
        """Two rules with common packets are reported once, and no more after one is withdrawn."""
        for first, second, overlap in self.each("overlaps"):
            session = Session()
            session.take(announce(first))
            session.take(announce(second))
            self.assertEqual(len(session.messages), overlap)
            session.take(announce(second))
            self.assertEqual(len(session.messages), overlap)
            session.take(down())
            session.take(announce(second))
            self.assertEqual(len(session.messages), overlap)

    def test_many(self):
        """A peer can have 10,000 rules; a changed rule is not a new rule."""
        session = Session()
        session.say = lambda text: session.messages.append(text)
        for i in range(RULES_MOST + 1):
            rule = {"destination-ipv4": [f"10.0.{i >> 8}.{i & 255}/32"]}
            self.assertEqual(session.take(announce(rule)), i < RULES_MOST)
        self.assertEqual(len(session.messages), 1)
        self.assertIn("10000 rules already", session.messages[0])
        self.assertTrue(session.take(announce({"destination-ipv4": ["10.0.0.1/32"]}, "250000")))

    def test_either_speaker(self):
        """A rule has the same name with both speakers. GoBGP withdraws its own rule."""
        path = {"nlri": {"value": [{"type": 1, "value": {"prefix": "192.0.2.7/32"}},
                                   {"type": 3, "value": [{"op": 129, "value": 17}]}]},
                "attrs": [{"type": 14, "afi": 1, "safi": 133}, {"type": 16, "value": [
                    {"type": 128, "subtype": 6, "rate": 125000}]}]}
        session = Session()
        for text, limits in ((announce(RULE, "250000"), ["2Mbit/s"]),
                             (json.dumps([path]).encode(), ["1Mbit/s"]),
                             (json.dumps([{**path, "withdrawal": True}]).encode(), ["2Mbit/s"])):
            self.assertTrue(session.take(text))
            self.assertEqual(session.limits(), limits)

    def test_complete(self):
        """A family of a peer is complete after End-of-RIB, or with GoBGP after its first path."""
        session = Session()
        for text in (line(PEER, eor={"afi": "ipv4", "safi": "unicast"}),
                     line(PEER, eor={"safi": "flow"}),
                     b'[{"attrs":[{"type":14,"afi":1,"safi":1}]}]', b"[]"):
            self.assertFalse(session.take(text))
        self.assertFalse(session.told_more or session.complete)
        session.take(end_of_rib("ipv4"))
        self.assertEqual(session.told, {PEER: {"ipv4"}})
        self.assertTrue(session.told_more)
        session.told_more = False
        session.take(announce(RULE))
        self.assertFalse(session.told_more)  # its family is complete
        session.take(announce({"destination-ipv6": ["2001:db8::/32/0"]}, family="ipv6 flow"))
        self.assertTrue(session.told_more)
        session.take(b'[{"attrs":[{"type":14,"afi":1,"safi":133}]}]')
        self.assertTrue(session.complete)

    def test_told(self):
        """Withdrawn and refused rules are recorded by their names, separately for each family."""
        session = Session()
        for text, count in (
                (withdraw(RULE), 1), (announce({**RULE, "next-hop": "x"}), 1),
                (announce({"fragment": ["first"], "string": "a"}), 2),
                (announce({"string": "b", "fragment": ["first"]}), 2),
                (announce({"fragment": ["last"]}), 3),
                (announce({"fragment": ["last"]}, family="ipv6 flow"), 4)):
            session.take(text)
            self.assertEqual(len(session.told[PEER]), count)

    def test_peers(self):
        """A note lists each peer once, in an order that does not depend on the sessions."""
        session = Session(keep=True)
        first, last = "127.0.0.1", "127.0.0.9"
        for text, peers in ((announce(RULE, peer=last), [last]),
                            (announce(RULE, peer=first), [first, last]),
                            (down(last), [first, last]),
                            (announce(RULE, peer=last), [first, last]),
                            (end_of_rib("ipv4", last), [first, last]),
                            (withdraw(RULE, last), [first])):
            session.take(text)
            self.assertEqual(session.policies()[0]["note"][1:], [f"of {peer}" for peer in peers])


class Previous(Test):
    """Rules of an earlier process."""

    def test_previous_rules(self):
        """Tests the policies for each state of a limiter and of the peers."""
        for told, running, wanted, result, left in self.each("previous"):
            told = {peer: frozenset(words) for peer, words in told.items()}
            before = json.dumps([running, wanted])
            self.assertEqual(keep_previous(wanted, told, running, "fs-"), (result, left))
            self.assertEqual(json.dumps([running, wanted]), before)  # shared by threads

    def test_another_process(self):
        """Tests rules of two peers after one of them has sent lines to the next process."""
        other = {"destination-ipv4": ["192.0.2.8/32"]}
        first = Session()
        first.take(announce(RULE))
        first.take(announce(other, peer="127.0.0.9"))
        running = first.policies()
        for text, keep, stay in (
                (end_of_rib("ipv4"), False, 1), (end_of_rib("ipv4", "127.0.0.9"), False, 1),
                (end_of_rib("ipv6"), False, 2), (withdraw(RULE), False, 1),
                (withdraw(RULE, "127.0.0.9"), False, 2), (down(), False, 1), (down(), True, 2),
                (down("127.0.0.7"), False, 2)):
            session = Session(keep=keep)
            session.take(text)
            kept, left = keep_previous(session.policies(), session.told, running, "flowspec-")
            self.assertEqual((len(kept), left), (stay, stay))

    def test_any_lines(self):
        """Any line is refused with a message, or gives policies with names, limits and matches."""
        for rng in self.rounds(0.4):
            running = []
            for _ in range(2):
                session = Session(keep=rng.random() < 0.5)
                for text in rng.choice([seeds.session, seeds.recorded])(rng):
                    before = len(session.messages)
                    try:
                        session.take(text)
                    except ValueError:
                        self.assertGreater(len(session.messages), before)
                policies = session.policies()
                kept, left = keep_previous(policies, session.told, running, "flowspec-")
                self.assertTrue(len(policies) <= len(kept) <= len(policies) + left)
                self.assertLessEqual(left, len(running))
                for policy in kept:
                    name, match = policy["name"], policy["match"]
                    self.assertTrue(values.name_valid(name) and name.startswith("flowspec-"))
                    self.assertIsNotNone(values.parse_rate(policy["limit"]))
                    self.assertTrue(match if isinstance(match, dict) else len(match) > 1)
                running = kept


if __name__ == "__main__":
    unittest.main()

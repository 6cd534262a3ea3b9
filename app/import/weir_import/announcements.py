# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The flow specifications that BGP speakers announce at present, made policies.

Lines come from ExaBGP (a process with `encoder json`) or from `gobgp monitor global rib -j`.
Without sockets, clocks and files.
"""

import dataclasses
from typing import Any, Callable

from weir_import import documents, flow_match, flow_rule, gobgp
from weir_import.flow_match import Refused
from weir_import.values import cut

RULES_MOST = 10000  # rules that a peer can have; further ones are refused
SHOWN_MOST = 200    # bytes that a note shows
PEER_MOST = 64      # bytes of a peer in a note
FAMILIES = ("ipv4", "ipv6")
# A peer's line in a policy's note begins so; the first line is the speaker's text of the rule.
OF = "of "
Policy = dict[str, Any]
Rule = dict[str, Any]


@dataclasses.dataclass
class Entry:
    """A rule that a peer announces."""

    policy: Policy
    passes: float  # bit/s
    ipv6: bool
    peer: str


def _cut_text(text: str) -> str | None:
    """Returns the first bytes of a text; None if they end within a character."""
    try:
        return text.encode()[:SHOWN_MOST].decode()
    except UnicodeDecodeError:
        return None


def words_of(rule: Rule) -> str:
    """Returns the speaker's text of a rule, or all of the rule."""
    text = rule.get("string")
    return _cut_text(text if isinstance(text, str) else documents.compact(rule)) or \
        ("" if text == "" else "flow")


def add_peer(note: list[str], line: str) -> None:
    """Adds a peer's line once, in an order that does not depend on the order of sessions."""
    at = 1
    while at < len(note) and line.encode() > note[at].encode():
        at += 1
    if at == len(note) or note[at] != line:
        note.insert(at, line)


class Announcements:
    """The rules of all peers."""

    def __init__(self, prefix: str, say: Callable[[str], None], family: str | None = None,
                 keep: bool = False) -> None:
        self.prefix, self.say = prefix, say
        self.family = family  # rules of the other one are ignored; None: of none
        self.keep = keep      # rules of a session stay after it, until the next one is complete
        self.peers: dict[str, dict[str, Entry]] = {}  # peer → name → rule
        # Peer → names of rules that it announced or withdrew, and families that it sent completely.
        # None: of no interest any more.
        self.told: dict[str, set[str]] | None = {}
        self.told_more = False  # `told` has grown; the owner clears it
        self.complete = False   # GoBGP has sent a path: it begins with all that it has
        # By prefixes, rules by name, with their extents; also of rules that are gone.
        self._neighbours: dict[tuple[str, str], dict[str, tuple[str, list]]] = {}

    # --- rules ------------------------------------------------------------------------------------

    def _is_announced(self, name: str) -> bool:
        return any(name in rules for rules in self.peers.values())

    def _say_overlaps(self, name: str, policy: Policy) -> None:
        """Names rules of the same packets: RFC 8955 can prefer another one than Weir."""
        neighbours = self._neighbours.setdefault(flow_match.prefixes_of(policy), {})
        extents = flow_match.extents(policy)
        for other, (words, others) in list(neighbours.items()):
            if not self._is_announced(other):
                del neighbours[other]
            elif other != name and flow_match.overlap(extents, others):
                self.say(f"weir-import: {policy['note']} and {words} may take the same packets: "
                         "Weir prefers the more specific one, RFC 8955 may prefer the other")
        neighbours[name] = (policy["note"], extents)

    def _tell(self, peer: str, word: str) -> None:
        """Notes that a peer has sent a rule, or all rules of a family."""
        if self.told is None or word in self.told.get(peer, ()):
            return
        self.told_more = True
        self.told.setdefault(peer, set()).add(word)

    def _tell_rule(self, peer: str, name: str, ipv6: bool) -> None:
        """Notes no rule of a family that is complete: so a long session needs little memory."""
        if FAMILIES[ipv6] not in (self.told or {}).get(peer, ()):
            self._tell(peer, name)

    def _make(self, peer: str, rule: Rule, ipv6: bool, name: str, attributes: Any) -> Entry:
        """Returns a rule with its policy. Refused, if there can be none."""
        if name not in self.peers[peer] and len(self.peers[peer]) >= RULES_MOST:
            raise Refused(f"its peer has announced {RULES_MOST} rules already")
        match = flow_match.match_of(rule, ipv6)
        keys, passes = flow_rule.actions_of(attributes)
        policy = {**keys, "name": name, "match": match, "note": words_of(rule)}
        return Entry(policy, passes, ipv6, peer)

    def _announce(self, peer: str, rule: Rule, ipv6: bool, attributes: Any) -> bool:
        """Takes a rule. A previous one of its name goes, also if the new one is refused."""
        name = flow_rule.name_of(rule, ipv6, self.prefix)
        rules = self.peers[peer]
        before = rules.get(name)
        self._tell_rule(peer, name, ipv6)
        try:
            entry = self._make(peer, rule, ipv6, name, attributes)
        except Refused as error:
            self.say(f"weir-import: refused: {words_of(rule)}, of {peer}: {error}; it limits "
                     "nothing")
            return rules.pop(name, None) is not None
        if entry == before:
            return False
        if not self._is_announced(name):
            self._say_overlaps(name, entry.policy)
        rules[name] = entry
        return True

    def _withdraw(self, peer: str, rule: Rule, ipv6: bool, _attributes: Any) -> bool:
        name = flow_rule.name_of(rule, ipv6, self.prefix)
        self._tell_rule(peer, name, ipv6)
        return self.peers[peer].pop(name, None) is not None

    # --- messages ---------------------------------------------------------------------------------

    def _take_families(self, peer: str, families: Any, attributes: Any,
                       take: Callable[[str, Rule, bool, Any], bool]) -> bool:
        """Takes all rules of an update. Announced ones stand below their next hops."""
        changed = False
        for ipv6, word in enumerate(FAMILIES):
            family = families.get(f"{word} flow") if isinstance(families, dict) else None
            if self.family not in (None, word):
                continue
            lists = family.values() if isinstance(family, dict) else [family]
            for rule in (rule for each in lists if isinstance(each, list) for rule in each):
                if isinstance(rule, dict):
                    changed |= take(peer, rule, bool(ipv6), attributes)
        return changed

    def _previous(self, peer: str) -> dict[str, Entry]:
        """Returns the rules of a peer's sessions that are over."""
        name = cut(peer, PEER_MOST) + ", before"
        return self.peers.setdefault(name, {})

    def _take_state(self, peer: str, state: str) -> bool:
        """Rules end with their session, or stay until the next one is complete."""
        rules = self.peers.get(peer, {})
        if state != "down":
            return False
        had = bool(rules)
        if not self.keep:
            for family in FAMILIES:
                self._tell(peer, family)
        elif had:
            self._previous(peer).update(rules)
        rules.clear()
        return had and not self.keep

    def _take_end(self, peer: str, end: Any) -> bool:
        """Takes End-of-RIB: a family is complete, and other rules of previous sessions go."""
        end = end if isinstance(end, dict) else {}
        if end.get("safi") != "flow" or not isinstance(end.get("afi"), str):
            return False
        ipv6 = end["afi"] == "ipv6"
        self._tell(peer, FAMILIES[ipv6])
        rules = self._previous(peer) if self.keep else {}
        gone = [name for name, entry in rules.items() if entry.ipv6 == ipv6]
        for name in gone:
            del rules[name]
        return bool(gone)

    def _take_message(self, peer: str, message: Any) -> bool:
        message = message if isinstance(message, dict) else {}
        body = message.get("update")
        body = body if isinstance(body, dict) else {}
        self.peers.setdefault(peer, {})
        attributes = body.get("attribute")
        changed = self._take_end(peer, message.get("eor"))
        changed |= self._take_families(peer, body.get("withdraw"), attributes, self._withdraw)
        changed |= self._take_families(peer, body.get("announce"), attributes, self._announce)
        return changed

    def _take_object(self, line: dict[str, Any]) -> bool:
        """Takes an object of ExaBGP. ValueError: it has a neighbour without an address."""
        neighbour = line.get("neighbor")
        neighbour = neighbour if isinstance(neighbour, dict) else {}
        address = neighbour.get("address")
        peer = address.get("peer") if isinstance(address, dict) else None
        if "neighbor" in line and not isinstance(peer, str):
            raise ValueError("no address of the neighbour")
        if "message" in neighbour:
            return self._take_message(peer, neighbour["message"])
        state = neighbour.get("state")
        return self._take_state(peer, state) if isinstance(state, str) else False

    def _take_paths(self, paths: list[Any]) -> bool:
        """Takes a list of GoBGP, which has chosen among its peers' paths."""
        changed = False
        for path in paths:
            message = gobgp.message_of(path)
            if message is not None:
                changed |= self._take_message("gobgp", message)
                self.complete = True
        return changed

    def take(self, line: bytes) -> bool:
        """Takes one line. Returns true if the rules are others than before.

        ValueError, reported: it is no line of a speaker. A rule that no policy can be is reported
        with the reason, and so are two rules that may take the same packets.
        """
        try:
            # Communities are numbers of 64 bits, of which texts have the same content.
            parsed = documents.parse(line, reals=True)
            return self._take_paths(parsed) if isinstance(parsed, list) else \
                self._take_object(parsed)
        except ValueError:
            shown = line[:60].partition(b"\0")[0].decode("utf-8", "surrogateescape")
            self.say(f"weir-import: not a line of ExaBGP's JSON, or of GoBGP's: \"{shown}\"")
            raise

    # --- policies ---------------------------------------------------------------------------------

    def policies(self) -> list[Policy]:
        """Returns the policies of all rules.

        If peers announce one rule with several rates, the least applies, and the note names all.
        """
        best: dict[str, tuple[Policy, float]] = {}
        notes: dict[str, list[str]] = {}
        for rules in self.peers.values():
            for name, entry in rules.items():
                if name not in best:
                    notes[name] = [entry.policy["note"]]
                if name not in best or entry.passes < best[name][1]:
                    best[name] = entry.policy, entry.passes
                add_peer(notes[name], OF + cut(entry.peer, PEER_MOST))
        return [{**policy, "note": notes[name]} for name, (policy, _) in best.items()]

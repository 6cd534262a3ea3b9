# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A flow specification as matches of a policy that take the same packets, exactly.

Also finds rules of the same prefixes that may take the same packet: RFC 8955, 5.1, and Weir choose
between such rules by different criteria.
"""

import re
from typing import Any

from weir_import import number_set, values
from weir_import.values import PROTOCOL_NAMES, PROTOCOLS, cut

MATCHES_MOST = 64  # matches that one rule can have
PORTS, PROTOCOL_COUNT, DSCPS = 65536, 256, 64
REMARKS = ("string", "next-hop")  # members of a rule that are no components
# Protocols that ExaBGP names and Weir numbers.
NAMED = {**PROTOCOLS, "igmp": 2, "egp": 8, "rsvp": 46, "ah": 51, "ospf": 89, "ipip": 94, "pim": 103}
UNKNOWN = re.compile(r"unknown protocol type [ \t\n\v\f\r]*\+?([0-9]+)")
TEXT_MOST = 63  # bytes of a prefix

# Sets of a rule, by the key of a match: in the order in which they multiply matches.
SETS = {"proto": (PROTOCOL_COUNT, "protocol", False), "dscp": (DSCPS, "DSCP", True),
        "port": (PORTS, "port", False), "dst-port": (PORTS, "port", False),
        "src-port": (PORTS, "port", False)}
COMPONENTS = {"port": "port", "destination-port": "dst-port", "source-port": "src-port"}
FAMILY = ({"destination-ipv4": "dst", "source-ipv4": "src", "protocol": "proto", "dscp": "dscp"},
          {"destination-ipv6": "dst", "source-ipv6": "src", "next-header": "proto",
           "traffic-class": "dscp"})
Match = dict[str, Any]


class Refused(Exception):
    """No policy can be the rule; the message has the reason."""


def protocol_named(word: str) -> int:
    """Returns the number of a protocol, or -1."""
    if word in NAMED:
        return NAMED[word]
    found = UNKNOWN.fullmatch(word)
    return min(int(found[1]), number_set.NUMBER_MOST) if found else -1


def _prefix(listed: Any, ipv6: bool) -> str | None:
    """Returns the only prefix of a component; one of IPv6 can end with an offset of 0."""
    text = listed[0] if isinstance(listed, list) and len(listed) == 1 else None
    if not isinstance(text, str) or values.size_of(text) > TEXT_MOST:
        return None
    if ipv6 and text.count("/") > 1:
        if not text.endswith("/0") or text.count("/") > 2:
            return None
        text = text[:-2]
    found = values.parse_prefix(text)
    return found[0] if found and (":" in found[0]) == ipv6 else None


def _read(rule: dict[str, Any], ipv6: bool) -> tuple[Match, dict[str, int]]:
    """Returns the prefixes and the sets of numbers of a rule."""
    prefixes: Match = {}
    sets: dict[str, int] = {}
    for name, value in rule.items():
        key = COMPONENTS.get(name) or FAMILY[ipv6].get(name)
        if name in REMARKS:
            continue
        if key is None:
            raise Refused(f"a match has no {cut(name, 60)}")
        if key in ("dst", "src"):
            found = prefixes[key] = _prefix(value, ipv6)
        else:
            found = sets[key] = number_set.read(SETS[key][0], value,
                                                protocol_named if key == "proto" else None)
        if found is None:
            raise Refused(f"its {cut(name, 60)} is not understood")
    return prefixes, sets


def _narrow(sets: dict[str, int]) -> None:
    """Ports are those of TCP and UDP (RFC 8955, 4.2.2.4); Weir has more protocols with ports."""
    with_ports = 1 << PROTOCOLS["tcp"] | 1 << PROTOCOLS["udp"]
    if sets.get("proto") == number_set.whole(PROTOCOL_COUNT):
        del sets["proto"]
    if sets.keys() & {"port", "dst-port", "src-port"}:
        sets["proto"] = sets.get("proto", with_ports) & with_ports
    if sets.get("dscp") == number_set.whole(DSCPS):
        del sets["dscp"]


def _check(sets: dict[str, int]) -> None:
    """A match has no port 0 and no protocol 0, and a rule takes some packet."""
    if "port" in sets and sets.keys() & {"dst-port", "src-port"}:
        raise Refused("a match cannot have a port of either side and a port of one side")
    for key, (_, word, zero) in SETS.items():
        if key in sets and not zero and sets[key] & 1:
            raise Refused(f"a match has no {word} 0, which this rule takes: use >=1")
        if sets.get(key) == 0:
            raise Refused(f"it takes no {word}, and so no packet")


def _append(out: list[Match], match: Match) -> None:
    if len(out) >= MATCHES_MOST:
        raise Refused("it takes more matches than one policy can have")
    out.append(match)


def _singly(matches: list[Match], sets: dict[str, int], key: str) -> list[Match]:
    """Returns each match once for each number: protocols and DSCPs have no ranges."""
    if key not in sets:
        return matches
    out: list[Match] = []
    for match in matches:
        for number in number_set.numbers(sets[key]):
            name = PROTOCOL_NAMES.get(number, number) if key == "proto" else number
            _append(out, {**match, key: name})
    return out


def _by_ranges(matches: list[Match], taken: int | None, key: str) -> list[Match]:
    """Returns each match once for each range of ports."""
    if taken is None:
        return matches
    out: list[Match] = []
    for match in matches:
        for first, last in number_set.ranges(taken):
            _append(out, {**match, key: first if first == last else f"{first}-{last}"})
    return out


def match_of(rule: dict[str, Any], ipv6: bool) -> Match | list[Match]:
    """Returns a match, or several, of the components that ExaBGP lists. Refused, if none can be."""
    prefixes, sets = _read(rule, ipv6)
    _narrow(sets)
    _check(sets)
    first = {key: prefixes[key] for key in ("dst", "src") if key in prefixes}
    # A rule without addresses is of one family, too.
    matches = [first or {"dst": "::/0" if ipv6 else "0.0.0.0/0"}]
    matches = _singly(matches, sets, "proto")
    matches = _singly(matches, sets, "dscp")
    matches = _by_ranges(matches, sets.get("dst-port"), "dst-port")
    matches = _by_ranges(matches, sets.get("src-port"), "src-port")
    if "port" in sets:  # a port of either side: packets to it, and packets from it
        matches = _by_ranges(matches, sets["port"], "dst-port") + \
            _by_ranges(matches, sets["port"], "src-port")
        if len(matches) > MATCHES_MOST:
            raise Refused("it takes more matches than one policy can have")
    return matches[0] if len(matches) == 1 else matches


# --- rules that overlap -------------------------------------------------------------------------

def _all(policy: dict[str, Any]) -> list[Match]:
    return policy["match"] if isinstance(policy["match"], list) else [policy["match"]]


def prefixes_of(policy: dict[str, Any]) -> tuple[str, str]:
    """Returns the addresses of a rule's policy: destination and source, "" without one."""
    first = _all(policy)[0]
    return first.get("dst", ""), first.get("src", "")


def _range(value: int | str | None) -> tuple[int, int]:
    """Returns the ports of 53, or "1024-2047"; all of them without a value."""
    if value is None:
        return 0, PORTS - 1
    first, _, last = str(value).partition("-")
    return int(first), int(last or first)


def _extent(match: Match) -> tuple:
    """Returns the facts by which two matches of the same addresses are compared."""
    return (match.get("proto"), match.get("dscp"), *_range(match.get("dst-port")),
            *_range(match.get("src-port")))


def extents(policy: dict[str, Any]) -> list[tuple]:
    """Returns the extents of a policy's matches, for overlap()."""
    return list(map(_extent, _all(policy)))


def overlap(some: list[tuple], others: list[tuple]) -> bool:
    """Returns true if a packet of the addresses of both can be of both."""
    return any((a[0] is None or b[0] is None or a[0] == b[0]) and
               (a[1] is None or b[1] is None or a[1] == b[1]) and
               a[2] <= b[3] and b[2] <= a[3] and a[4] <= b[5] and b[4] <= a[5]
               for a in some for b in others)

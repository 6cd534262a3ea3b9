# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Paths as `gobgp monitor global rib -j` writes them, in the words of ExaBGP.

GoBGP writes numbers where ExaBGP has words: types of components and of attributes, and operators
as their bits (RFC 8955, 4.2.1).
"""

import math
from typing import Any

from weir_import import documents
from weir_import.flow_rule import number_of
from weir_import.network import is_number

SAFI_FLOW, AFI_IPV6 = 133, 2
REACHED, UNREACHED, COMMUNITIES = 14, 15, 16
AND = 0x40
EXPERIMENTAL, RATE_BYTES, ACTION, REDIRECT, MARK = 0x80, 6, 7, 8, 9
NO_NUMBER = -2 ** 63  # no type, no value, and an operator that nothing fulfils

COMPONENTS = {1: ("destination-ipv4", "destination-ipv6"), 2: ("source-ipv4", "source-ipv6"),
              3: ("protocol", "next-header"), 11: ("dscp", "traffic-class"),
              **{number: (name, name) for number, name in (
                  (4, "port"), (5, "destination-port"), (6, "source-port"), (7, "icmp-type"),
                  (8, "icmp-code"), (9, "tcp-flags"), (10, "packet-length"), (12, "fragment"),
                  (13, "flow-label"))}}
OPERATORS = ("false", "=", ">", ">=", "<", "<=", "!=", "true")


def _member(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any, key: str) -> int:
    """Returns a whole number, which the parser has as a double; 0 without one."""
    number = number_of(_member(value, key))
    return int(number) if abs(number) < 2.0 ** 53 and math.floor(number) == number else NO_NUMBER


def _attribute(path: Any, kind: int) -> Any:
    return next((each for each in _list(_member(path, "attrs")) if _number(each, "type") == kind),
                None)


def _words_of_items(items: Any) -> list[str]:
    """Returns comparisons as texts, with "&" between those that have to hold together."""
    words: list[str] = []
    for item in _list(items):
        op = _number(item, "op")
        operator = OPERATORS[op & 7]
        word = operator if operator in ("true", "false") else \
            operator + str(_number(item, "value"))
        if op & AND and words:
            words[-1] += "&" + word
        else:
            words.append(word)
    return words


def _words_of_prefix(value: Any, component: Any, ipv6: bool) -> list[str]:
    prefix = value.get("prefix")
    if not isinstance(prefix, str):
        return []
    return [f"{prefix}/{_number(component, 'offset')}" if ipv6 else prefix]


def _rule(path: Any, ipv6: bool) -> dict[str, Any]:
    rule: dict[str, Any] = {}
    for component in _list(_member(_member(path, "nlri"), "value")):
        value = _member(component, "value")
        names = COMPONENTS.get(_number(component, "type"), ("component 0", "component 0"))
        rule[names[ipv6]] = _words_of_prefix(value, component, ipv6) \
            if isinstance(value, dict) else _words_of_items(value)
    return rule


def _words_of_rate(community: dict[str, Any]) -> str:
    """Returns a rate that is no number as it is, and so it is refused: 0 would take every packet.
    """
    rate = community.get("rate")
    if is_number(rate):
        return f"rate-limit:{float(rate):.9g}"
    return "rate-limit:" + (documents.compact(rate) if "rate" in community else "")


def _words_of_community(community: Any) -> str | None:
    kind, subtype = _number(community, "type"), _number(community, "subtype")
    traffic = EXPERIMENTAL <= kind <= EXPERIMENTAL + 2
    if kind == EXPERIMENTAL and subtype == RATE_BYTES:
        return _words_of_rate(community)
    if kind == EXPERIMENTAL and subtype == MARK:
        return f"mark {_number(community, 'value')}"
    if kind == EXPERIMENTAL and subtype == ACTION:
        # With neither of its bits, a blank ends it.
        return "action " + "-".join(bit for bit in ("sample", "terminal")
                                    if community.get(bit) is True)
    if traffic and subtype == REDIRECT:
        return "redirect"
    return f"0x{kind:02x}{subtype & 0xffffffff:02x}" if traffic else None


def message_of(path: Any) -> dict[str, Any] | None:
    """Returns the message of ExaBGP for a path; None: it has no flow specification."""
    family = _attribute(path, REACHED) or _attribute(path, UNREACHED)
    if _number(family, "safi") != SAFI_FLOW:
        return None
    ipv6 = _number(family, "afi") == AFI_IPV6
    rule, name = _rule(path, ipv6), "ipv6 flow" if ipv6 else "ipv4 flow"
    if _member(path, "withdrawal") is True:
        return {"update": {"withdraw": {name: [rule]}}}
    words = map(_words_of_community, _list(_member(_attribute(path, COMMUNITIES), "value")))
    communities = [{"string": text} for text in words if text is not None]
    return {"update": {"attribute": {"extended-community": communities},
                       "announce": {name: {"no-nexthop": [rule]}}}}

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A flow specification and its actions (RFC 8955) as a policy."""

import math
import re
from typing import Any

from weir_import import documents, values
from weir_import.flow_match import REMARKS, Refused, match_of
from weir_import.values import cut

SHOWN_MOST = 16  # bytes of an address in a name
PREFIX_MOST = 30
ALL_PASS = float(2 ** 64)  # above any limit, in bit/s
FNV_BASIS, FNV_PRIME = 0xcbf29ce484222325, 0x100000001b3  # FNV-1a, 64 bits

# A bucket that no packet fits in: none conforms, so each is dropped, or marked. A policy that
# passes all packets has the largest limit and counts.
NOTHING = {"limit": "8kbit/s", "burst": "1B"}
ALL = "400Gbit/s"

BLANKS = "[ \t\n\v\f\r]*"
DECIMAL = re.compile(BLANKS + r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
OTHER_REAL = re.compile(BLANKS + r"[+-]?(?:inf(?:inity)?|0x[0-9a-f]+)", re.I)
WHOLE = re.compile(BLANKS + r"\+?([0-9]+)|" + BLANKS + "-(0+)")
Policy = dict[str, Any]


def number_of(value: Any) -> float:
    """Returns a number of JSON as a double, 0 for anything that is none."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else 0.0


def _parse_real(text: str) -> float | None:
    """Returns a number as C reads it; None for any other text, and for NaN."""
    if DECIMAL.fullmatch(text):
        return float(text)
    if not OTHER_REAL.fullmatch(text):
        return None
    return float.fromhex(text) if "x" in text.lower() else float(text)


class _Actions:
    """The actions of an update, gathered from its communities."""

    def __init__(self) -> None:
        self.bytes_per_s: float | None = None
        self.mark: int | None = None

    def _take_rate(self, text: str) -> None:
        """The least of several rates applies. A negative one stands for 0 (RFC 8955, 7.1)."""
        rate = _parse_real(text)
        if rate is None:
            raise Refused(f'its rate "{cut(text, 40)}" is not understood')
        rate = max(rate, 0.0)
        if self.bytes_per_s is None or rate < self.bytes_per_s:
            self.bytes_per_s = rate

    def _take_mark(self, text: str) -> None:
        found = WHOLE.fullmatch(text)
        dscp = int(found[1] or found[2]) if found else 64
        if dscp > 63 or self.mark is not None:
            raise Refused(f'its mark "{cut(text, 40)}" is not understood')
        self.mark = dscp

    def take(self, community: Any) -> None:
        """Takes one community: actions of RFC 8955 that no policy has refuse the rule."""
        member = community if isinstance(community, dict) else {}
        text = member.get("string") if isinstance(member.get("string"), str) else ""
        if text.startswith("rate-limit:"):
            self._take_rate(text.removeprefix("rate-limit:"))
        elif text.startswith("mark "):
            self._take_mark(text.removeprefix("mark "))
        elif text == "action ":  # neither of its bits
            return
        elif text.startswith(("action ", "redirect", "copy-to-nexthop")):
            raise Refused(f'no policy does "{cut(text, 60)}"')
        elif _is_traffic_action(number_of(member.get("value"))):
            raise Refused(f'its action "{cut(text, 60)}" is not supported')

    def policy(self) -> tuple[Policy, float]:
        """Returns the keys of a policy except its name and match, and the bit/s that pass."""
        if self.bytes_per_s is not None and self.mark is not None:
            raise Refused("no policy both marks and limits")
        if self.bytes_per_s is not None:
            return self._limit(self.bytes_per_s)
        if self.mark is not None:
            return {**NOTHING, "action": "mark", "mark": self.mark}, ALL_PASS
        return {"limit": ALL, "action": "count"}, ALL_PASS

    @staticmethod
    def _limit(bytes_per_s: float) -> tuple[Policy, float]:
        if bytes_per_s * 8 >= values.LIMIT_MOST + 8:
            raise Refused(f"its rate is above {ALL}")
        bps = math.floor(bytes_per_s) * 8
        if bps == 0:
            return dict(NOTHING), 0.0
        if bps < values.LIMIT_LEAST:
            raise Refused(f"its rate of {values.format_rate(bps)} is below 8kbit/s, the least")
        return {"limit": values.format_rate(bps)}, float(bps)


def _is_traffic_action(value: float) -> bool:
    """Types of RFC 8955 and its extensions, which must be obeyed; other types are of routing."""
    kind = int(math.ldexp(value, -56)) if 0 < value < 2.0 ** 64 else 0x80
    return 0x80 <= kind <= 0x82


def actions_of(attributes: Any) -> tuple[Policy, float]:
    """Returns the policy of an update's attributes without name and match, and the bit/s that pass.

    Refused, if no policy acts so.
    """
    actions = _Actions()
    for key in ("extended-community", "extended-community-ipv6"):
        communities = attributes.get(key) if isinstance(attributes, dict) else None
        for community in communities if isinstance(communities, list) else ():
            actions.take(community)
    return actions.policy()


def passes(policy: Policy) -> float:
    """Returns the bit/s that a policy of a rule passes."""
    bps = values.parse_rate(policy["limit"]) if isinstance(policy.get("limit"), str) else None
    if "action" in policy or bps is None:
        return ALL_PASS
    return 0.0 if policy.get("burst") == NOTHING["burst"] else float(bps)


def _hash(rule: dict[str, Any], ipv6: bool, match: Any) -> int:
    """Returns the same number for the same packets, independent of the order of components."""
    bare = match if match is not None else {
        name: value for name, value in rule.items() if name not in REMARKS}
    number = (FNV_BASIS ^ ipv6) * FNV_PRIME % 2 ** 64
    for byte in documents.compact(bare, ordered=True).encode():
        number = (number ^ byte) * FNV_PRIME % 2 ** 64
    return number


def _shown_address(rule: dict[str, Any], ipv6: bool) -> str:
    for side in ("destination", "source"):
        listed = rule.get(f"{side}-ipv{6 if ipv6 else 4}")
        if isinstance(listed, list) and listed and isinstance(listed[0], str):
            return listed[0]
    return "any"


def name_of(rule: dict[str, Any], ipv6: bool, prefix: str) -> str:
    """Returns the name of a rule's policy at every limiter: made of its packets alone."""
    try:
        match = match_of(rule, ipv6)
    except Refused:
        match = None
    shown = _shown_address(rule, ipv6).encode()[:SHOWN_MOST].decode("latin-1")
    name = f"{prefix[:PREFIX_MOST]}{shown}-{_hash(rule, ipv6, match):016x}"
    return re.sub(r"[^A-Za-z0-9.-]", "_", name)

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Rules in force that an earlier process has left: only their notes have their peers. Pure."""

from typing import Any

from weir_import.announcements import OF, add_peer
from weir_import.flow_rule import passes

Policy = dict[str, Any]
Told = dict[str, frozenset[str]]


def _family(policy: Policy) -> str:
    """Returns the family of a policy: all of its matches have addresses of one."""
    match = policy.get("match")
    match = match[0] if isinstance(match, list) and match else match
    addresses = [match.get(key) for key in ("dst", "src")] if isinstance(match, dict) else []
    return "ipv6" if any(isinstance(text, str) and ":" in text for text in addresses) else "ipv4"


def _holders(told: Told, policy: Policy) -> tuple[list[str], bool]:
    """Returns the lines of its note with peers that hold it, and whether any peer is named."""
    note = policy.get("note")
    peers = [line for line in note[1:] if isinstance(line, str) and line.startswith(OF)] \
        if isinstance(note, list) else []
    words = {policy["name"], _family(policy)}
    return [line for line in peers if words.isdisjoint(told.get(line.removeprefix(OF), ()))], \
        bool(peers)


def _take_stricter(policy: Policy, previous: Policy) -> None:
    """Takes the limit in force where it passes fewer packets."""
    if passes(previous) >= passes(policy):
        return
    for key in ("limit", "burst", "action", "mark"):
        if key in previous:
            policy[key] = previous[key]
        else:
            policy.pop(key, None)


def _merge(policy: Policy, previous: Policy, holders: list[str]) -> tuple[Policy, bool]:
    """Returns an announced policy as others share it, and whether they do."""
    note = policy.get("note")
    merged = {**policy, "note": list(note) if isinstance(note, list) else note}
    before = len(merged["note"] or ())
    for line in holders:
        add_peer(merged["note"], line)
    shared = len(merged["note"] or ()) > before
    if shared:
        _take_stricter(merged, previous)
    return merged, shared


def keep_previous(policies: list[Policy], told: Told, running: list[Policy],
                prefix: str) -> tuple[list[Policy], int]:
    """Adds to the announced policies those in force that a peer of their note has not let go of.

    A peer lets go of a rule that it has sent or withdrawn, and of a family that it has sent
    completely. A policy without a peer stays until any peer sends its rule. The peers of both hold
    one that is in both, with the lower limit. Returns the policies, and how many stay so.
    """
    kept = list(policies)
    places = {policy["name"]: place for place, policy in enumerate(policies)}
    left = 0
    for previous in running:
        name = previous.get("name")
        if not isinstance(name, str) or not name.startswith(prefix):
            continue
        holders, named = _holders(told, previous)
        held = bool(holders) if named else not any(name in words for words in told.values())
        if held and name in places:
            kept[places[name]], held = _merge(kept[places[name]], previous, holders)
        elif held:
            kept.append(previous)
        left += held
    return kept, left

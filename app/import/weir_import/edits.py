# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The edits that make the policies of a prefix those of a list, and no others. Without I/O."""

from typing import Any, NamedTuple

from weir_import.documents import same

Policy = dict[str, Any]


class Edits(NamedTuple):
    """Edits of policies, and how many policies are of each kind."""

    edits: list[dict[str, Any]]
    added: int
    changed: int
    removed: int
    unchanged: int


def _name(policy: Policy) -> str:
    name = policy.get("name")
    return name if isinstance(name, str) else ""


def _between(before: Policy, now: Policy) -> Policy:
    """Returns the keys that change, with None for removed ones."""
    keys = {key: value for key, value in now.items() if key != "name" and
            not (key in before and same(before[key], value))}
    keys.update((key, None) for key in before if key not in now)
    return keys


def edits_between(running: list[Policy], wanted: list[Policy], prefix: str) -> Edits:
    """Compares all policies in force with the wanted policies of the prefix."""
    before = {_name(policy): policy for policy in running}
    now = {_name(policy): policy for policy in wanted}
    edits, added, changed, unchanged = [], 0, 0, 0
    for policy in wanted:
        known = before.get(_name(policy))
        if known is not None and same(known, policy):
            unchanged += 1
            continue
        added += known is None
        changed += known is not None
        edits.append({"do": "add" if known is None else "set", "name": _name(policy),
                      "keys": _between(known or {}, policy)})
    gone = [_name(policy) for policy in running
            if _name(policy).startswith(prefix) and _name(policy) not in now]
    edits += [{"do": "remove", "name": name, "keys": {}} for name in gone]
    return Edits(edits, added, changed, len(gone), unchanged)

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The last stage of a list of subscribers: its parents, and the policies that match no packet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weir_import import values

if TYPE_CHECKING:
    from weir_import.subscribers import SubscriberList

NODES_MOST = 3           # above a circuit: Weir has four levels
GUARANTEED_LEAST = 8000  # bit/s
Policy = dict[str, Any]


class Settler:
    """Finds the parents of a list that has been read."""

    def __init__(self, listed: SubscriberList) -> None:
        self.listed, self.terms = listed, listed.terms
        self.nodes = listed.network.nodes if listed.network and not listed.network.refused else {}
        self.nodes_refused = bool(listed.network and listed.network.refused)
        self.running = {policy["name"]: policy for policy in self.terms.running or ()
                        if isinstance(policy.get("name"), str)}
        self.used: dict[str, Policy] = {}  # policies of nodes that circuits are below of
        self.node_of: dict[str, str] = {}  # their names → the nodes' own
        self.libreqos = listed.columns.libreqos

    # --- names ------------------------------------------------------------------------------------

    def _make_name(self, prefix: str, text: str) -> str:
        """Returns the policy's name for a text of the list; "" if there can be none."""
        text = values.cut(text, values.NAME_MOST)
        name = prefix + (values.make_plain(text) if self.libreqos else text)
        return name if values.name_valid(name) else ""

    def _real_node(self, text: str | None) -> str | None:
        """Returns the node itself, or the next one above it that has a limit; None: none."""
        node = self.nodes.get(text)
        while node and node.get("virtual"):
            text = node.get("parent")
            node = self.nodes.get(text)
        return text

    def _find_node(self, line: int, text: str) -> str:
        """Makes policies of a node and those above it. Returns its name, "" if it has none."""
        node, name = self.nodes[text], self._make_name(self.terms.prefix, text)
        if not name or name in self.listed.lines:
            return ""
        if name in self.used:
            return name if self.listed.claim_name(line, "parent", name, text) else ""
        above = self._real_node(node["parent"]) if "parent" in node else None
        parent = self._find_node(line, above) if above is not None else None
        if parent == "" or not self.listed.claim_name(line, "parent", name, text):
            return ""
        self.used[name] = {"name": name, "limit": node["limit"],
                           **({"parent": parent} if parent else {})}
        self.node_of[name] = text
        return name

    def _find_running(self, text: str) -> str:
        """Returns the name of a policy outside the list. One of this list that is gone is none."""
        name = self._make_name(self.terms.parent_prefix, text)
        if self.terms.running is None:
            return name if self.listed.network is None or self.nodes_refused or \
                self.terms.parent_prefix else ""
        return name if name in self.running and not name.startswith(self.terms.prefix) else ""

    def _find_parent(self, line: int, text: str) -> str:
        """Returns the name of a policy of the list, of its network, or in force; or ""."""
        name = self._make_name(self.terms.prefix, text)
        if name and name in self.listed.lines:
            claimed = self.listed.claim_name(line, "parent", name, text)
            return name if claimed and text not in self.nodes else ""
        if text in self.nodes:
            return self._find_node(line, text)
        name = self._find_running(text)
        return name if name and self.listed.claim_name(line, "parent", name, text) else ""

    def _has_parent(self, text: str) -> bool:
        """Returns true if a parent of that name exists; makes no policy of it."""
        return text in self.nodes or bool(self._find_running(text)) or \
            self._make_name(self.terms.prefix, text) in self.listed.lines

    # --- parents ----------------------------------------------------------------------------------

    def _is_quota_alone(self, name: str | None) -> bool:
        """Returns true if a policy in force is a quota, and so is everything above it."""
        policy = self.running.get(name)
        is_quota = policy is not None
        while is_quota and policy is not None:
            is_quota = policy.get("allocator") == "quota"
            policy = self.running.get(policy.get("parent"))
        return is_quota

    def _refuse_share(self, policy: Policy) -> None:
        """A guarantee needs a parent that has something. LibreQoS has a least rate regardless."""
        if self.libreqos or self.terms.flat:
            _drop_share(policy)
            return
        for key in ("guaranteed", "weight"):
            if key in policy:
                self.listed.refuse(key, "", "none without a parent",
                                   line=self.listed.lines[policy["name"]])

    def _refuse_parent(self, line: int, text: str) -> None:
        self.listed.refuse("parent", text, "the name of another policy, in the file or in force",
                           line=line)

    def _resolve(self, policy: Policy) -> None:
        """Gives one policy its parent, or refuses it."""
        own = policy["name"]
        text, line = self.listed.parents.get(own, (None, 0))
        text = self._real_node(text) if text is not None else None
        self.listed.is_bad = False
        if text is None:
            self._refuse_share(policy)
        elif self.nodes_refused:
            return
        else:
            name = self._find_parent(line, text)
            if name and name != own:
                policy["parent"] = name
            elif not self.listed.is_bad:
                self._refuse_parent(line, text)
        if self.libreqos and self._is_quota_alone(policy.get("parent")):
            _drop_share(policy)

    def _resolve_all(self) -> set[str]:
        """Returns the names that are parents. A wrong parent that has no effect is wrong, too."""
        parents = set()
        for policy in self.listed.policies.values():
            self._resolve(policy)
            self.listed.note_bad(policy["name"])
            parents.add(policy.get("parent"))
        for text, line in self.listed.others:
            if not self.nodes_refused and not self._has_parent(text):
                self._refuse_parent(line, text)
        return parents

    def _refuse_idle(self, policy: Policy, parents: set[str]) -> None:
        """A policy without addresses and without children would match every packet."""
        name = policy["name"]
        self.listed.is_bad = False
        if not self.listed.addresses(policy) and name not in parents:
            self.listed.refuse("addresses", "", "at least one, or others that name it as their "
                                                "parent", line=self.listed.lines[name])
        self.listed.note_bad(name)

    # --- policies and nodes that are left out -----------------------------------------------------

    def _leave_out_circuits(self) -> None:
        """Leaves circuits without addresses out, as LibreQoS does, before one is a parent."""
        for name, policy in reversed(list(self.listed.policies.items())):
            if not self.listed.addresses(policy):
                self.listed.say(self.listed.lines[name], True,
                                "a circuit without addresses is left out")
                del self.listed.lines[name], self.listed.policies[name]

    def _leave_out_bad(self) -> bool:
        """Returns true if there were any."""
        gone = [name for name in self.listed.policies if name in self.listed.bad]
        for name in gone:
            del self.listed.policies[name]
            self.listed.lines.pop(name, None)
            self.listed.parents.pop(name, None)
        return bool(gone)

    def _flatten_nodes(self) -> None:
        """Leaves out the upper nodes of a deep tree: the lower ones have the least rates."""
        heights: dict[str, int] = {}
        for text, _ in self.listed.parents.values():
            node, height = self._real_node(text), 1
            while node in self.nodes and heights.get(node, 0) < height:
                heights[node] = height
                node, height = self.nodes[node].get("parent"), height + 1
        for node, height in heights.items():
            if height > NODES_MOST:
                self.listed.warn_of_node(node, "more than three levels of nodes above circuits: "
                                               "this one is left out, and limits nothing")
                self.nodes[node]["virtual"] = True

    # --- guarantees -------------------------------------------------------------------------------

    def _nodes_above(self, policy: Policy) -> list[Policy]:
        found = []
        node = self.used.get(policy.get("parent"))
        while node is not None:
            found.append(node)
            node = self.used.get(node.get("parent"))
        return found

    def _scale_guarantees(self) -> None:
        """Scales guarantees down if circuits are guaranteed more than their node has."""
        sums = dict.fromkeys(self.used, 0)
        for policy in self.listed.policies.values():
            for node in self._nodes_above(policy):
                sums[node["name"]] += _rate(policy, "guaranteed")
        for name, node in self.used.items():
            if sums[name] > _rate(node, "limit"):
                self.listed.warn_of_node(
                    self.node_of[name],
                    f"its circuits are guaranteed {values.format_rate(sums[name])} of its "
                    f"{node['limit']}: each guarantee is scaled down")
        for policy in self.listed.policies.values():
            self._scale(policy, sums)

    def _scale(self, policy: Policy, sums: dict[str, int]) -> None:
        """Scales one to the smallest part that a node above leaves of it."""
        guaranteed = scaled = _rate(policy, "guaranteed")
        for node in self._nodes_above(policy):
            limit, total = _rate(node, "limit"), sums[node["name"]]
            if total > limit:
                scaled = min(scaled, guaranteed * limit // total)
        if scaled < GUARANTEED_LEAST:
            policy.pop("guaranteed", None)
        elif scaled < guaranteed:
            policy["guaranteed"] = values.format_rate(scaled)

    def _settle_addresses(self, policy: Policy) -> None:
        """One prefix stands by itself; none is no match."""
        for side, addresses in policy["match"].items():
            if len(addresses) == 1:
                policy["match"][side] = addresses[0]
            elif not addresses:
                del policy["match"]
                return

    def settle(self) -> None:
        """Leaves the list with all policies that it stands for, those of nodes last."""
        self._leave_out_bad()
        if self.libreqos:
            self._leave_out_circuits()
        self._flatten_nodes()
        while True:
            self.used.clear()
            parents = self._resolve_all()
            for policy in self.listed.policies.values():
                self._refuse_idle(policy, parents)
            if not self._leave_out_bad():
                break
        for policy in self.listed.policies.values():
            self._settle_addresses(policy)
        self._scale_guarantees()
        for name, policy in self.used.items():
            self.listed.policies[name] = policy
            self.listed.node_names[name] = self.node_of[name]


def _drop_share(policy: Policy) -> None:
    policy.pop("guaranteed", None)
    policy.pop("weight", None)


def _rate(policy: Policy, key: str) -> int:
    """Returns bit/s, 0 without the key."""
    return values.parse_rate(policy.get(key, "")) or 0


def settle(listed: SubscriberList) -> None:
    """Finds the parents of a list, when all of its lines are read."""
    Settler(listed).settle()

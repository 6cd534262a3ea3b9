# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""LibreQoS's network.json: the nodes that circuits are below of."""

from typing import Any

from weir_import import values
from weir_import.diagnostics import Diagnostics

DEEPEST = 64  # levels that are read


def is_number(value: Any) -> bool:
    """Returns true for a number of JSON; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_virtual(node: Any) -> bool:
    """LibreQoS writes it in two ways. Such a node groups others on its page, and limits nothing."""
    kind = node.get("type") if isinstance(node, dict) else None
    return isinstance(node, dict) and (
        node.get("virtual") is True or isinstance(kind, str) and kind.lower() == "virtual")


class Network:
    """The nodes of one direction, by their names as they are written.

    A node has "limit" and "parent"; at the top there is no parent. A virtual node has no limit, and
    no other node has it as its parent: {"virtual": True, "parent": "Site_1"}.
    """

    def __init__(self, document: Any, upload: bool, file: str, out: Diagnostics) -> None:
        self.nodes: dict[str, dict[str, Any]] = {}
        self._file, self._out = file, out
        self._key = ("upload" if upload else "download") + "BandwidthMbps"
        errors = out.errors
        if isinstance(document, dict):
            self._take_all(None, document, 1)
        else:
            out.add(False, file, "expected an object of nodes by their names, as LibreQoS's "
                                 "network.json is")
        self.refused = out.errors > errors

    def _refuse(self, name: str, expected: str) -> None:
        self._out.add(False, self._file, name, f"expected {expected}")

    def _take(self, name: str, parent: str | None, node: Any) -> None:
        above = {"parent": parent} if parent is not None else {}
        if _is_virtual(node):
            made = {"virtual": True, **above}
        else:
            mbps = node.get(self._key) if isinstance(node, dict) else None
            bps = values.rate_of_mbps(float(mbps)) if is_number(mbps) else None
            if bps is None:
                self._refuse(name, f'a number of Mbit/s as "{self._key}"')
                return
            made = {"limit": values.format_rate(bps), **above}
        if name in self.nodes:
            self._refuse(name, "a name of its own")
        else:
            self.nodes[name] = made

    def _take_all(self, parent: str | None, children: Any, depth: int) -> None:
        for name, node in children.items() if isinstance(children, dict) else ():
            below = node.get("children") if isinstance(node, dict) else None
            self._take(name, parent, node)
            if below is not None and not isinstance(below, dict):
                self._refuse(name, 'as "children" an object of nodes by their names')
            if depth < DEEPEST:
                self._take_all(parent if _is_virtual(node) else name, below, depth + 1)

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A list of subscribers as CSV, made policies: doc/operate/import.md.

Its header names the columns of Weir's own format, or of LibreQoS's ShapedDevices.csv. In the
latter, several lines of one circuit are one policy. This module uses no files and no sockets.
"""

import dataclasses
import re
from typing import Any, Iterator

from weir_import import csv_file, suggest, values
from weir_import.columns import Columns
from weir_import.diagnostics import Diagnostics, place
from weir_import.network import Network
from weir_import.parents import settle

TEXT_MOST = 63  # bytes of a field that is no note and no addresses
BURST_MOST = 4 << 30
BETWEEN = re.compile(r"[ \t\r\n;,]+")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
ZEROS = re.compile(r"(?:^|(?<=\.))0+(?=[0-9])")
MBPS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
WHOLE = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
Policy = dict[str, Any]


@dataclasses.dataclass
class Terms:
    """How a list is read, beyond its text."""

    file: str                # name of the list in messages
    prefix: str              # prefix of all policies: they belong to this list
    parent_prefix: str = ""  # prefix of parents outside the list
    upload: bool = False     # packets that subscribers send, not those that are sent to them
    flat: bool = False       # parents are ignored
    skip_bad: bool = False   # wrong lines are left out with a warning; they refuse nothing
    network: Any = None      # LibreQoS's network.json, where parents are found
    network_file: str = ""   # its name in messages
    running: list[Policy] | None = None  # the policies in force, which can be parents


def quote(text: str) -> str:
    """Returns a text in quotes without characters that a terminal obeys."""
    return f'"{CONTROL.sub("?", values.cut(text, 64))}"'


class SubscriberList:
    """A list while it is read, and its policies afterwards."""

    def __init__(self, terms: Terms, out: Diagnostics) -> None:
        self.terms, self.out = terms, out
        self.policies: dict[str, Policy] = {}
        self.lines: dict[str, int] = {}      # policy → the line that it begins in
        self.node_names: dict[str, str] = {}  # policy of a node → the node's own name
        self.bad: set[str] = set()           # policies left out because a line is wrong
        self.parents: dict[str, tuple[str, int]] = {}  # policy → parent as written, and its line
        self.others: list[tuple[str, int]] = []  # further parents of a circuit
        self.network: Network | None = None
        self.columns: Columns
        self.is_bad = False  # the line or policy being read is wrong
        self._ids: dict[str, tuple[str, int]] = {}  # name → the ID that it is made of, its line
        self._owners: dict[str, tuple[str, int]] = {}  # skip_bad: address → policy, line
        self._line = 0
        self._fields: list[str] = []
        self._side = "src" if terms.upload else "dst"

    # --- mistakes ---------------------------------------------------------------------------------

    def refuse(self, column: str, found: str, expected: str, remedy: str = "",
               line: int = 0) -> None:
        """Refuses a field, of the line that is being read unless there is another."""
        self.is_bad = True
        if self.out.count(self.terms.skip_bad):
            self._write(line or self._line, self.terms.skip_bad, column, found, expected, remedy)

    def _write(self, line: int, warning: bool, column: str, found: str, expected: str,
               remedy: str) -> None:
        title = self.columns.title.get(column)
        self.out.write(": ".join([
            place(self.terms.file, line), *(["warning"] if warning else []),
            *([title] if title else []), quote(found), f"expected {expected}",
            *([remedy] if remedy else [])]))

    def say(self, line: int, warning: bool, text: str) -> None:
        """Reports a fact about a line."""
        self.out.add(warning, place(self.terms.file, line), text)

    def _say_of_line(self, warning: bool, text: str) -> None:
        self.is_bad |= not warning
        self.say(self._line, warning or self.terms.skip_bad, text)

    def warn_of_node(self, node: str, text: str) -> None:
        """Warns of a node that the import changes or leaves out."""
        self.out.add(True, self.terms.network_file, node, text)

    def note_bad(self, name: str) -> None:
        """Leaves the policy out later if something is wrong and wrong lines are skipped."""
        if self.is_bad and self.terms.skip_bad and name:
            self.bad.add(name)
        self.is_bad = False

    def claim_name(self, line: int, column: str, name: str, text: str) -> bool:
        """Notes the ID of a name. False if another ID has it: two customers would share a limit."""
        other, at = self._ids.setdefault(name, (text, line))
        if other == text:
            return True
        self.refuse(column, text, "a name of its own",
                    f"{quote(other)} in line {at} becomes {name}, too", line)
        return False

    # --- fields -----------------------------------------------------------------------------------

    def addresses(self, policy: Policy) -> list[str | None]:
        """Returns the prefixes of a policy's match; None stands for one that was refused."""
        return policy.get("match", {}).get(self._side, [])

    def _field(self, column: str) -> str:
        return self.columns.field(self._fields, column)

    def _text(self, column: str) -> str | None:
        """Returns a field without the blanks around it; None, reported: it is too long."""
        field = self._field(column).strip(" \t")
        if values.size_of(field) <= TEXT_MOST:
            return field
        self.refuse(column, self._field(column).lstrip(" \t"), "at most 63 characters")
        return None

    def _rate(self, column: str, least: int) -> int | None:
        """Returns bit/s, 0 for an empty field that may be empty; None, reported: it is wrong."""
        text = self._text(column)
        if text is None:
            return None
        if not text and least == 0:
            return 0
        libreqos = self.columns.libreqos
        if not libreqos:
            bps = values.parse_rate(text)
        else:
            bps = values.rate_of_mbps(float(text)) if MBPS.fullmatch(text) else None
        if bps is not None and (_is_limit(bps) or bps == 0 == least):
            return bps
        self.refuse(column, text,
                    "Mbit/s from 0.008 to 400000 such as 25 or 2.5" if libreqos else
                    '8kbit/s to 400Gbit/s such as "25Mbit/s"',
                    "" if libreqos else suggest.quantity(text, _parse_limit))
        return None

    def _put_rates(self, policy: Policy) -> None:
        limit = self._rate("limit", values.LIMIT_LEAST)
        guaranteed = self._rate("guaranteed", 0)
        if limit is None or guaranteed is None:
            return
        if guaranteed > limit:
            self.refuse("guaranteed", self._field("guaranteed"), "no more than the limit")
        policy["limit"] = values.format_rate(limit)
        if guaranteed:
            policy["guaranteed"] = values.format_rate(guaranteed)

    def _put_burst(self, policy: Policy) -> None:
        text = self._text("burst")
        if not text:
            return
        if not 0 < (values.parse_size(text) or 0) <= BURST_MOST:
            self.refuse("burst", text, 'a size of 1B to 4GiB such as "64kB"')
        policy["burst"] = text

    def _put_weight(self, policy: Policy) -> None:
        text = self._text("weight")
        if not text:
            return
        found = WHOLE.fullmatch(text)
        weight = int(found[1]) if found else 0
        if not 1 <= weight <= 1000:
            self.refuse("weight", text, "a whole number from 1 to 1000")
        policy["weight"] = weight

    def _put_word(self, policy: Policy, column: str, words: str) -> None:
        text = self._text(column)
        if not text:
            return
        meant = suggest.nearest(text, words.split(", "))
        if meant != text:
            self.refuse(column, text, words, suggest.remedy(meant))
        policy[column] = text

    # --- addresses --------------------------------------------------------------------------------

    def _claim_address(self, column: str, name: str, address: str) -> None:
        """Weir refuses two policies of one address; here all but the first can be left out."""
        other, at = self._owners.setdefault(address, (name, self._line))
        if other != name:
            self.refuse(column, address, "an address of its own",
                        f"{other} in line {at} has it, too")

    def _add_address(self, column: str, name: str, addresses: list, text: str) -> None:
        # LibreQoS's pages show 10.120.00.254: its numbers are decimal.
        if self.columns.libreqos and ":" not in text:
            text = ZEROS.sub("", text)
        whole = text if "/" in text else text + ("/128" if ":" in text else "/32")
        prefix, has_host_bits = values.parse_prefix(whole) or ("", False)
        if not prefix or has_host_bits:
            self.refuse(column, text,
                        "addresses such as 192.0.2.7, 2001:db8:7::/48, with no host bits",
                        suggest.remedy(prefix or None))
            addresses.append(None)
            return
        if self.terms.skip_bad:
            self._claim_address(column, name, prefix)
        addresses.append(prefix)

    def _add_addresses(self, column: str, name: str, addresses: list) -> None:
        for text in BETWEEN.split(self._field(column)):
            if text:
                self._add_address(column, name, addresses, values.cut(text, TEXT_MOST))

    # --- lines ------------------------------------------------------------------------------------

    def _take_name(self) -> str:
        """Returns the policy's name with the prefix; "" if it is refused."""
        text = self._text("name")
        if text is None:
            return ""
        plain = values.make_plain(text) if self.columns.libreqos else text
        name = self.terms.prefix + plain
        if plain and values.name_valid(name):
            return name if self.claim_name(self._line, "name", name, text) else ""
        self.refuse("name", plain, "A-Z a-z 0-9 _ . -, and with the prefix at most 63 characters")
        return ""

    def _parent_text(self) -> str | None:
        """Returns the parent as it is written; None: it is refused, or ignored."""
        text = None if self.terms.flat else self._text("parent")
        return "" if self.columns.libreqos and text == "none" else text

    def _compare_parents(self, name: str) -> None:
        """A circuit is below one node: that of its first line."""
        text, first = self._parent_text(), self.parents.get(name, ("", 0))[0]
        if text is None or text == first:
            return
        if self.out.count(True):
            self._write(self._line, True, "parent", text,
                        f"{quote(first)}, the first of its circuit, which applies", "")
        if text:
            self.others.append((text, self._line))

    def _compare_circuits(self, first: Policy) -> None:
        """Warns if a line of a circuit differs from the first one, which holds."""
        policy: Policy = {}
        self._put_rates(policy)
        if not self.is_bad and any(policy.get(key) != first.get(key)
                                   for key in ("limit", "guaranteed")):
            self.say(self._line, True, "other rates than its circuit has above, which hold")
        self._compare_parents(first["name"])

    def _begin_policy(self, name: str) -> Policy:
        policy: Policy = {"name": name, "match": {self._side: []}}
        self._put_rates(policy)
        note = self._field("note")
        if note:
            policy["note"] = note
        self._put_burst(policy)
        self._put_weight(policy)
        self._put_word(policy, "accounting", "l3, l2, wire")
        self._put_word(policy, "action", "drop, mark, count, shape")
        parent = self._parent_text()
        if parent:  # looked for when all names are read
            self.parents[name] = (parent, self._line)
        self.policies[name] = policy
        self.lines[name] = self._line
        return policy

    def _read_line(self) -> str:
        """Returns the name of the line's policy, or "" if it has none."""
        name = self._take_name()
        if not name:
            return ""
        policy = self.policies.get(name)
        if policy is None:
            policy = self._begin_policy(name)
        elif self.columns.libreqos:
            self._compare_circuits(policy)
        else:
            self.refuse("name", name[len(self.terms.prefix):], "a name of its own")
            return name
        for column in ("addresses", "addresses6"):
            self._add_addresses(column, name, self.addresses(policy))
        return name

    def _is_text(self) -> bool:
        """Spreadsheets write the encoding of their machine."""
        for field in self._fields:
            if not field.isascii() and not _is_utf8(field):
                self._say_of_line(False, "expected UTF-8: save the file so")
                return False
        return True

    def _check_fields(self) -> None:
        count, expected = len(self._fields), self.columns.count
        if count != expected:
            # LibreQoS's own example has such lines: a comment with a comma, and no quotes.
            self._say_of_line(self.columns.libreqos and count > expected,
                              f"{count} columns: expected {expected}, as in the header")

    def read(self, data: bytes) -> bool:
        """Reads all lines. Returns false if the list is refused; every mistake is reported."""
        try:
            if self.terms.network is not None:
                self.network = Network(self.terms.network, self.terms.upload,
                                       self.terms.network_file, self.out)
            text = csv_file.decode(data)
            empty = csv_file.Record(text.count("\n") + 1, [],
                                    "empty: expected a line that names the columns")
            self._read_records(csv_file.records(text), empty)
        except ValueError as error:
            self.say(0, False, str(error))
        self.out.finish(self.terms.file)
        return self.out.errors == 0

    def _read_records(self, records: Iterator[csv_file.Record],
                      empty: csv_file.Record) -> None:
        header = next(records, empty)
        if header.problem:
            self.say(header.line, False, header.problem)
            return
        self._line, self._fields = header.line, header.fields
        if not self._is_text():
            return
        errors = self.out.errors
        self.columns = Columns(header, self.terms.upload, self.terms.file, self.out)
        if self.out.errors > errors:
            return
        for record in records:
            self.is_bad = False
            self._line, self._fields = record.line, record.fields
            if record.problem:
                self.say(record.line, False, record.problem)
            elif self._is_text():
                self._check_fields()
                self.note_bad(self._read_line())
        settle(self)


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_limit(bps: int) -> bool:
    return values.LIMIT_LEAST <= bps <= values.LIMIT_MOST


def _parse_limit(text: str) -> int | None:
    """Returns bit/s that a limit can have: a suggestion has to be accepted."""
    bps = values.parse_rate(text)
    return bps if bps is not None and _is_limit(bps) else None

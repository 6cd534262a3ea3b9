# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The columns of a list of subscribers, by its header line: Weir's own or LibreQoS's."""

from typing import NamedTuple

from weir_import import suggest
from weir_import.csv_file import Record
from weir_import.diagnostics import Diagnostics, place
from weir_import.values import cut

BOTH, DOWNLOAD, UPLOAD = range(3)


class Title(NamedTuple):
    """A column that a header can name."""

    title: str
    column: str | None  # None: it is ignored
    way: int = BOTH
    required: bool = False


OWN = (
    Title("name", "name", required=True),
    Title("addresses", "addresses", required=True),
    Title("limit", "limit"),
    Title("download", "limit", DOWNLOAD),
    Title("upload", "limit", UPLOAD),
    *(Title(name, name) for name in ("guaranteed", "parent", "note", "burst", "weight",
                                     "accounting", "action")),
)
LIBREQOS = (
    Title("Circuit ID", "name", required=True),
    Title("Circuit Name", "note"),
    Title("Device ID", None),
    Title("Device Name", None),
    Title("Parent Node", "parent"),
    Title("MAC", None),
    Title("IPv4", "addresses", required=True),
    Title("IPv6", "addresses6"),
    Title("Download Min Mbps", "guaranteed", DOWNLOAD),
    Title("Upload Min Mbps", "guaranteed", UPLOAD),
    Title("Download Max Mbps", "limit", DOWNLOAD, True),
    Title("Upload Max Mbps", "limit", UPLOAD, True),
    # LibreQoS reads columns by position, and its integrations leave the unit out.
    Title("Download Min", "guaranteed", DOWNLOAD),
    Title("Upload Min", "guaranteed", UPLOAD),
    Title("Download Max", "limit", DOWNLOAD),
    Title("Upload Max", "limit", UPLOAD),
    Title("Comment", None),
    Title("sqm", None),
)


def _is_titled(field: str, title: str) -> bool:
    """Compares without case and without the blanks around: some write "name, addresses"."""
    return field.isascii() and field.strip(" \t").lower() == title.lower()


class Columns:
    """Where each kind of field stands in a record."""

    def __init__(self, header: Record, upload: bool, file: str, out: Diagnostics) -> None:
        self.count = len(header.fields)
        self.at: dict[str, int] = {}      # kind → field
        self.title: dict[str, str] = {}   # kind → title in the header
        self.libreqos = any(_is_titled(field, "Circuit ID") for field in header.fields)
        self._titles = LIBREQOS if self.libreqos else OWN
        self._upload, self._out = upload, out
        self._where = place(file, header.line)
        for number, field in enumerate(header.fields):
            self._take(number, field)
        self._refuse_missing()

    def field(self, fields: list[str], column: str) -> str:
        """Returns the field of a record, or an empty text without such a column."""
        at = self.at.get(column, -1)
        return fields[at] if 0 <= at < len(fields) else ""

    def _goes_this_way(self, title: Title) -> bool:
        return title.way in (BOTH, UPLOAD if self._upload else DOWNLOAD)

    def _take(self, number: int, field: str) -> None:
        """Takes one field of the header; of two columns of one kind, neither can be meant."""
        title = next((each for each in self._titles if _is_titled(field, each.title)), None)
        if title is None:
            self._refuse_title(field)
        elif not title.column or not self._goes_this_way(title):
            return
        elif title.column in self.at:
            self._out.add(False, self._where, "header", title.title,
                          "expected only one such column")
        else:
            self.at[title.column] = number
            self.title[title.column] = title.title

    def _refuse_title(self, field: str) -> None:
        """Later releases of LibreQoS add columns. A slip in Weir's would be a lost key."""
        found = f'"{cut(field, 70)}"'
        if self.libreqos:
            self._out.add(True, self._where, "header", found, "not a column that is understood")
            return
        meant = suggest.nearest(field, (each.title for each in self._titles))
        self._out.add(False, self._where, "header", found, "expected a column of this format",
                      suggest.remedy(meant))

    def _refuse_missing(self) -> None:
        for each in self._titles:
            if each.column in (None, *self.at) or not self._goes_this_way(each):
                continue
            if each.required:
                self._out.add(False, self._where, "header", f'expected a column "{each.title}"')
            elif each.column == "limit" and each.way == BOTH:
                way = "upload" if self._upload else "download"
                self._out.add(False, self._where, "header",
                              f'expected a column "limit" or "{way}"')

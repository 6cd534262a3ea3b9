# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The pace of attempts to add more policies than a limiter has room for.

Each attempt is a transaction that the limiter checks and writes down. So the pause between two
attempts grows, and one edit goes ahead of all others. Changes and removals never wait. Pure; the
caller has the clock, in seconds.
"""

from typing import Any

LEAST_S, MOST_S = 1, 60
Edit = dict[str, Any]


class Pace:
    """The pace of one limiter."""

    def __init__(self) -> None:
        self.pause_s = 0.0   # 0: the limiter has had room for everything
        self.until_s = 0.0
        self._room = 0       # additions that removals since then have made room for
        self._tried = False  # one was accepted after the pause: all can be sent

    def refused(self, now_s: float) -> None:
        """The limiter has refused a single edit, for another reason than the edit."""
        pause_s = min(2 * self.pause_s or LEAST_S, MOST_S)
        self.__init__()
        self.pause_s, self.until_s = pause_s, now_s + pause_s

    def is_due(self, now_s: float) -> bool:
        """Returns true if something waits that can be sent now."""
        return self.pause_s > 0 and (self._room > 0 or now_s >= self.until_s)

    def hold(self, edits: list[Edit], now_s: float) -> tuple[list[Edit], int]:
        """Returns the edits to send now, removals first, and how many others wait."""
        if self.pause_s == 0:
            return edits, 0
        additions = [edit for edit in edits if edit["do"] == "add"]
        others = [edit for verb in ("remove", "set") for edit in edits if edit["do"] == verb]
        room = self._room
        if self._tried:
            room = len(additions)
        elif room == 0 and now_s >= self.until_s:
            room = 1
        return others + additions[:room], len(additions[room:])

    def taken(self, edits: list[Edit], waiting: int, now_s: float) -> None:
        """The limiter has accepted these, and so many wait."""
        if waiting == 0:
            self.__init__()
            return
        added = sum(edit["do"] == "add" for edit in edits)
        self._tried = added > 0 and now_s >= self.until_s
        self._room -= min(added, self._room)
        self._room += sum(edit["do"] == "remove" for edit in edits)

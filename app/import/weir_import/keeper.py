# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Makes limiters have certain policies below a prefix, and no others there.

Each limiter has a thread. It looks at the limiter soon after a change of the policies, and every
second. So a limiter that hangs delays no other.
"""

import errno
import threading
import time
from typing import Any, NamedTuple

from weir_import import documents, list_command
from weir_import.diagnostics import complain, report
from weir_import.edits import edits_between
from weir_import.previous import Told, keep_previous
from weir_import.limiter import Limiter, LimiterError, explain, member
from weir_import.pace import Pace

LOOK_S = 1.0    # between two looks at a limiter
RETRY_S = 1.0   # after a look that failed
SOON_S = 0.05   # after another change at the same time
AGAIN_S = 60.0  # until a refused policy is tried again
LAST_TRIES = 5  # at the end
Policy = dict[str, Any]


class Wanted(NamedTuple):
    """The policies of the prefix. The lists and sets are never changed."""

    policies: list[Policy]
    told: Told | None  # peers whose previous rules can go; None: all previous rules go
    grace_s: float     # when all of them go (monotonic clock)


class _Later(Exception):
    """The limiter has no room for an edit (ENOSPC), or rejects everything for now (EAGAIN)."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


class Keeper:
    """All limiters, and the policies that they are to have."""

    def __init__(self, limiters: list[Limiter], prefix: str) -> None:
        self.prefix = prefix
        self.changed = threading.Condition()  # guards the following
        self.wanted: Wanted | None = None
        self.version = 0
        self.ends = False
        self._kept = [_Kept(self, limiter) for limiter in limiters]
        for kept in self._kept:
            kept.start()

    def want(self, wanted: Wanted | None, ends: bool = False) -> None:
        """Replaces the policies."""
        with self.changed:
            self.wanted, self.ends = wanted, ends
            self.version += 1
            self.changed.notify_all()

    def end(self, last: Wanted) -> bool:
        """Gives all limiters the last policies, with a few tries. Returns true if all have them."""
        self.want(last, True)
        for kept in self._kept:
            kept.join()
        left = [kept for kept in self._kept if not kept.done]
        for kept in left:
            complain(f"{kept.limiter.path}: its rules are left there")
        return not left


class _Kept(threading.Thread):
    """One limiter. Its members are its thread's own."""

    def __init__(self, keeper: Keeper, limiter: Limiter) -> None:
        super().__init__(daemon=True)
        self.keeper, self.limiter = keeper, limiter
        self.done = False  # true if the limiter has all policies at the end
        self._version = 0
        self._own: Wanted | None = None
        self._due_s = 0.0
        self._refused: dict[str, Policy] = {}  # policies that it rejects
        self._again_s = 0.0   # time of the next try
        self._settled = 0     # the configuration that has all of them, or 0
        self._pace = Pace()
        self._why = ""        # reason for missing room
        self._said_waiting = self._said_left = False
        self._trouble = 0     # errno of the last failure

    # --- messages ---------------------------------------------------------------------------------

    def _say_trouble(self, code: int) -> None:
        """Reports a failure once, and its end."""
        path = self.limiter.path
        if code and code != self._trouble:
            complain(f"{explain(path, code)}; it is tried again")
        elif not code and self._trouble:
            complain(f"{path}: it is there again")
        self._trouble = code

    def _say_left(self, left: int) -> None:
        """Explains rules that no peer seems to announce, once."""
        if left and not self._said_left:
            self._said_left = True
            complain(f"{self.limiter.path}: rules of before: {left}; each stays until its peer "
                     "withdraws it, ends, or has sent everything (End-of-RIB)")

    def _say_waiting(self, waiting: int, count: int) -> None:
        """Reports rules that wait once, and the end of it."""
        path = self.limiter.path
        if waiting and not self._said_waiting:
            complain(f"{path}: {waiting} of {count} rules are not in force: {self._why}; it is "
                     "tried again, in the end once a minute")
        elif not waiting and self._said_waiting:
            complain(f"{path}: all rules are in force")
        self._said_waiting = waiting > 0

    # --- edits ------------------------------------------------------------------------------------

    def _note_refusal(self, edit: Policy, document: dict[str, Any]) -> None:
        """Notes that one edit was refused: for the edit itself, or for want of room (_Later)."""
        name = edit["name"]
        messages = [text for text in member(document, "last", "messages") or ()
                    if isinstance(text, str)]
        words = next((text for text in messages if name in text), None)
        if words is not None:
            report(f"weir-import: {self.limiter.path} refuses {name}: {words}")
            for policy in self._own.policies:
                if policy["name"] == name:
                    self._refused[name] = policy
            if len(self._refused) == 1:
                self._again_s = time.monotonic() + AGAIN_S
            return
        self._why = messages[0] if messages else "it was refused"
        self._pace.refused(time.monotonic())
        if edit["do"] == "add":
            raise _Later(errno.ENOSPC)
        list_command.report_refusal(document)
        raise _Later(errno.EAGAIN)

    def _send(self, edits: list[Policy]) -> None:
        """Sends all edits, and if that is refused, halves: one bad rule delays no other."""
        if not edits:
            return
        document = list_command.with_messages(self.limiter.change(edits),
                                              list_command.without_place)
        if not list_command.refused(document):
            return
        if member(document, "last") is None:  # the limiter has checked nothing
            list_command.report_refusal(document)
            raise _Later(errno.EAGAIN)
        if len(edits) == 1:
            self._note_refusal(edits[0], document)
            return
        half = len(edits) // 2
        self._send(edits[:half])
        self._send(edits[half:])

    def _sync(self) -> bool:
        """Compares and sends. Returns true if there was nothing to do."""
        own, prefix = self._own, self.keeper.prefix
        running = self.limiter.running()
        wanted = [policy for policy in own.policies
                  if not (policy["name"] in self._refused and
                          documents.same(self._refused[policy["name"]], policy))]
        if own.told is not None:
            wanted, left = keep_previous(wanted, own.told, running, prefix)
            self._say_left(left)
        edits = edits_between(running, wanted, prefix).edits
        now_s = time.monotonic()
        sent, waiting = self._pace.hold(edits, now_s)
        self._send(sent)
        self._pace.taken(sent, waiting, now_s)
        self._say_waiting(waiting, len(wanted))
        return not sent

    def _look(self) -> None:
        """Reads everything that runs only if something has changed here, or there."""
        self.limiter.open()
        number = self.limiter.change_number()
        now_s = time.monotonic()
        if self._refused and now_s >= self._again_s:
            self._refused.clear()
            self._settled = 0
        if self._pace.is_due(now_s):
            self._settled = 0
        if number > 0 and number == self._settled:
            return
        self._settled = 0
        self._settled = number if self._sync() else 0

    def _attempt(self) -> bool:
        """Looks at the limiter once, and sets the time of the next look. Returns true if all is
        well.
        """
        pause_s, good = LOOK_S, True
        try:
            self._look()
            self._say_trouble(0)
        except _Later as later:
            good = False
            self._say_trouble(0)
            pause_s = SOON_S if later.code == errno.ENOSPC else max(self._pace.pause_s, LOOK_S)
        except LimiterError as error:
            good = False
            if error.code == errno.ESTALE:
                self._say_trouble(0)
                pause_s = SOON_S
            else:
                self._say_trouble(error.code)
                self.limiter.close()
                self._pace = Pace()  # after a restart there can be more room
                pause_s = RETRY_S
        self._due_s = time.monotonic() + pause_s
        return good

    # --- the thread -------------------------------------------------------------------------------

    def _next(self) -> bool:
        """Waits for a look. Returns true if everything ends."""
        keeper = self.keeper
        with keeper.changed:
            while not keeper.ends and keeper.version == self._version and (
                    keeper.version == 0 or time.monotonic() < self._due_s):
                keeper.changed.wait(None if keeper.version == 0 else
                                    max(self._due_s - time.monotonic(), 0))
            ends = keeper.ends
            if self._version != keeper.version:
                self._own, self._version, self._settled = keeper.wanted, keeper.version, 0
        own = self._own
        if own is not None and own.told is not None and time.monotonic() >= own.grace_s:
            self._own = own._replace(told=None)
            self._settled = 0
        return ends

    def run(self) -> None:
        """Keeps one limiter until the end."""
        while not self._next():
            self._attempt()
        for attempt in range(LAST_TRIES):
            if attempt:
                time.sleep(RETRY_S)
            self._settled = 0
            self.done = self._attempt()
            if self.done:
                return

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The command "flowspec": follows a BGP speaker on standard input until that ends, or a signal.

ExaBGP takes standard output for commands, so nothing is written there.
"""

import os
import select
import signal
import time

from weir_import import group
from weir_import.announcements import Announcements
from weir_import.diagnostics import complain, report
from weir_import.keeper import Keeper, Wanted
from weir_import.options import Options

PREFIX = "flowspec-"
GATHER_S = 0.05  # updates that come together are one change
GRACE_S = 2.0    # GoBGP has sent everything by then, and previous rules go
READ_MOST = 1 << 16
LINE_MOST = 64 << 20
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Follower:
    """A speaker, and the limiters that have its rules."""

    def __init__(self, options: Options, signalled: int) -> None:
        prefix = options.texts.get("prefix", PREFIX)
        limiters = group.find(options.sockets, options.names, options.texts.get("group"),
                              options.timeout_s)
        self.keep = "keep" in options.flags
        self.announced = Announcements(prefix, report, options.texts.get("family"), self.keep)
        self.signalled = signalled  # a descriptor that can be read after a signal
        self.ended = False
        self._text = b""       # the beginning of the next line
        self._skips = False    # the rest of a line that is too long
        self._changed = False  # limiters have to be updated,
        self._update_s = 0.0   # at this time
        self._grace_s = float("inf")  # previous rules of others stay until then
        self._update_soon()
        self.keeper = Keeper(limiters, prefix)

    # --- lines ------------------------------------------------------------------------------------

    def _update_soon(self) -> None:
        if not self._changed:
            self._update_s = time.monotonic() + GATHER_S
        self._changed = True

    def _take_line(self, line: bytes) -> None:
        announced = self.announced
        was_complete = announced.complete
        try:
            # Some withdrawals concern only rules of an earlier process.
            if line and announced.take(line) or announced.told_more:
                self._update_soon()
        except ValueError:
            pass  # reported
        announced.told_more = False
        if announced.complete and not was_complete:
            self._grace_s = time.monotonic() + GRACE_S
            self._update_soon()

    def _read(self) -> None:
        try:
            data = os.read(0, READ_MOST)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.ended = not data
        *lines, rest = data.split(b"\n")
        for line in lines:
            if not self._skips:
                self._take_line(self._text + line)
            self._text, self._skips = b"", False
        self._text += rest
        if len(self._text) >= LINE_MOST:
            complain("a line of more than 64 MiB is ignored")
            self._text, self._skips = b"", True

    # --- limiters ---------------------------------------------------------------------------------

    def _wanted(self) -> Wanted:
        told = self.announced.told
        return Wanted(self.announced.policies(), None if told is None else
                      {peer: frozenset(words) for peer, words in told.items()}, self._grace_s)

    def _update(self) -> None:
        """Gives the limiters the rules of the moment."""
        if time.monotonic() >= self._grace_s:
            self.announced.told = None
        self.keeper.want(self._wanted())
        self._changed = False

    def follow(self) -> None:
        """Reads the speaker until it ends, or a signal comes."""
        poll = select.poll()
        for descriptor in (0, self.signalled):
            poll.register(descriptor, select.POLLIN)
        while not self.ended:
            left = self._update_s - time.monotonic()
            ready = dict(poll.poll(max(left, 0) * 1000 if self._changed else None))
            if self.signalled in ready:
                return
            if ready:
                self._read()
            if self._changed and time.monotonic() >= self._update_s:
                self._update()

    def end(self) -> bool:
        """The session is over, and its rules with it, unless they are kept."""
        last = self._wanted() if self.keep else Wanted([], None, 0)
        return self.keeper.end(last)


def run(options: Options) -> int:
    """Runs the command; returns the exit status."""
    signalled, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    follower = Follower(options, signalled)
    follower.follow()
    return 0 if follower.end() else 1

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Signals as exceptions, but never between the creation of an object and its record."""

import contextlib
import signal
import threading

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal requested a stop. Not an Exception, so that ordinary handlers do not catch it."""

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number


class _State:
    depth = 0  # number of nested shielded() blocks
    pending = None  # the signal that was held back
    caught = False


def _on_signal(number, _frame):
    if _State.depth:
        _State.pending = _State.pending or number
    else:
        raise Interrupted(number)


def catch_signals():
    """From now on SIGINT, SIGTERM and SIGHUP raise Interrupted in the main thread."""
    if not _State.caught and threading.current_thread() is threading.main_thread():
        _State.caught = True
        for number in SIGNALS:
            signal.signal(number, _on_signal)


@contextlib.contextmanager
def shielded():
    """Holds signals back until the end of the block."""
    _State.depth += 1
    try:
        yield
    finally:
        _State.depth -= 1
    number = _State.pending
    if number is not None and not _State.depth:
        _State.pending = None
        raise Interrupted(number)

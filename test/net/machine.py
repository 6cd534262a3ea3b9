# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Detects stalls of the machine itself during a test.

A process sleeps and reads the clock on each CPU, next to the processes of a test. If it runs late,
the CPU was busy, or taken away by the host. Then the machine can be the reason for a failure.
"""

import mmap
import os
import struct
import threading
import time

LOOKS_S = 0.02
LATE = struct.Struct("d")  # a double for each CPU: most seconds that it was late


def look(page, place, cpu):
    """Records forever how late this thread runs at most on one CPU."""
    os.sched_setaffinity(0, {cpu})
    before = time.monotonic()
    while True:
        time.sleep(LOOKS_S)
        now = time.monotonic()
        late = now - before - LOOKS_S
        if late > LATE.unpack_from(page, place)[0]:
            LATE.pack_into(page, place, late)
        before = now


class Watch:
    """A process that measures; `end_with_parent` makes it end with this one."""

    def __init__(self, end_with_parent):
        self.cpus = sorted(os.sched_getaffinity(0))
        self.page = mmap.mmap(-1, LATE.size * len(self.cpus))
        self.pid = os.fork()
        if self.pid == 0:
            end_with_parent()
            self._look()

    def _look(self):
        threads = [threading.Thread(target=look, args=(self.page, i * LATE.size, cpu))
                   for i, cpu in enumerate(self.cpus)]
        for thread in threads:
            thread.start()
        threads[0].join()
        os._exit(1)

    def begin(self):
        """Restarts the measurement."""
        for i in range(len(self.cpus)):
            LATE.pack_into(self.page, i * LATE.size, 0.0)

    def late_s(self):
        """Returns the longest time in seconds that a CPU was unavailable since begin()."""
        return max(LATE.unpack_from(self.page, i * LATE.size)[0] for i in range(len(self.cpus)))

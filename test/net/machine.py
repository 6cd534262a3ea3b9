# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Whether the machine itself stood still while something was tried.

Beside the processes of a test, one that does nothing looks on each CPU at the clock. What ran late
there had no CPU: others had it, or the host had taken it away. What a test of live processes finds
then is of the machine.
"""

import mmap
import os
import struct
import threading
import time

LOOKS_S = 0.02
LATE = struct.Struct("d")  # a double for each CPU: how late it was at most, in seconds


def look(page, place, cpu):
    """Notes for ever how late this thread comes at most on one CPU."""
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
    """A process that looks; it ends with this one, as `end_with_parent` sees to."""

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
        """From now on."""
        for i in range(len(self.cpus)):
            LATE.pack_into(self.page, i * LATE.size, 0.0)

    def late_s(self):
        """For how long at most a CPU was not to be had since begin()."""
        return max(LATE.unpack_from(self.page, i * LATE.size)[0] for i in range(len(self.cpus)))

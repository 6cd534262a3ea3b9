# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""One thread of a process stands still, and the others go on: by ptrace, as signals stop them all.
"""

import contextlib
import ctypes
import os
import re
import time

import box

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
WALL = 0x40000000  # waitpid(): of threads that are nobody's children, too


def ptrace(request, tid):
    """One request without data."""
    if box.LIBC.ptrace(ctypes.c_long(request), ctypes.c_long(tid), None, None) == 0:
        return
    error = ctypes.get_errno()
    if error == 1:  # EPERM
        raise box.Skip("ptrace is not permitted here")
    raise OSError(error, f"ptrace: {os.strerror(error)}")


def names(pid):
    """The name of each thread, by its id."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError):
            with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as comm:
                found[int(tid)] = comm.read().strip()
    return found


def called(pid, pattern):
    """The thread whose name fits a regular expression."""
    for tid, name in names(pid).items():
        if re.fullmatch(pattern, name):
            return tid
    raise AssertionError(f"no thread {pattern} among {names(pid)}")


def worker(pid, index):
    """The thread of a worker of Weir, which is lcore index + 1."""
    return called(pid, rf"\S*worker-?{index + 1}")


def wait_for(process, tid, timeout):
    """The exit status of a process of which a thread stands still: it has ended when whoever holds
    the thread has been told so, too."""
    deadline = time.monotonic() + timeout
    while process.poll() is None:
        if time.monotonic() >= deadline:
            raise AssertionError(f"waited {timeout:g} s in vain for the end of the process")
        with contextlib.suppress(ChildProcessError):
            os.waitpid(tid, WALL | os.WNOHANG)
        time.sleep(0.005)
    return process.returncode


@contextlib.contextmanager
def standing(tid):
    """It stands still from here to the end of the block, or for good if the process is killed."""
    ptrace(SEIZE, tid)
    ptrace(INTERRUPT, tid)
    os.waitpid(tid, WALL)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # the process has ended
            ptrace(DETACH, tid)

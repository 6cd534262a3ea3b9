# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""One thread of a process stands still, and the others go on; or a process is killed at a system
call of its main thread's: by ptrace, as signals stop them all, and come when they like.
"""

import contextlib
import ctypes
import os
import re
import signal
import struct
import time

import box

SEIZE, INTERRUPT, DETACH, SYSCALL, SYSCALL_INFO = 0x4206, 0x4207, 17, 24, 0x420e
ENTERS, LEAVES = 1, 2  # of struct ptrace_syscall_info
MARKS_CALLS = 1  # PTRACE_O_TRACESYSGOOD
WALL = 0x40000000  # waitpid(): of threads that are nobody's children, too


def ptrace(request, tid, address=0, data=0):
    """One request; data may be a buffer."""
    if not isinstance(data, ctypes.Array):
        data = ctypes.c_long(data)
    if box.LIBC.ptrace(ctypes.c_long(request), ctypes.c_long(tid), ctypes.c_long(address),
                       data) >= 0:
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


def calls(pid):
    """Each system call of a main thread as it begins, and, with True, as it has ended."""
    info, number, signal_number = ctypes.create_string_buffer(88), None, 0
    ptrace(SEIZE, pid, data=MARKS_CALLS)
    ptrace(INTERRUPT, pid)
    while True:
        _, status = os.waitpid(pid, WALL)
        box.expect(os.WIFSTOPPED(status), "it ended before it was killed")
        if os.WSTOPSIG(status) == signal.SIGTRAP | 0x80:
            ptrace(SYSCALL_INFO, pid, len(info), info)
            if info.raw[0] == ENTERS:
                number, first = struct.unpack_from("<QQ", info.raw, 24)
            yield number, first & 0xffffffff, info.raw[0] == LEAVES
        elif status >> 16 == 0:
            signal_number = os.WSTOPSIG(status)
        ptrace(SYSCALL, pid, data=signal_number)
        signal_number = 0


def kill_after(process, number, first, times):
    """Kills it when such a call, by its number and its first argument (None: any), has been made so
    often; before it is made, if 0 times."""
    for made, argument, ended in calls(process.pid):
        if made != number or first not in (None, argument):
            continue
        times -= ended
        if times == 0:
            break
    process.kill()
    process.wait()

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Stops one thread of a process while the others run, or kills a process at a system call of its
main thread. Uses ptrace, because signals stop all threads and arrive at any time."""

import contextlib
import ctypes
import os
import re
import signal
import struct
import time

import box

SEIZE, INTERRUPT, DETACH, SYSCALL, SYSCALL_INFO = 0x4206, 0x4207, 17, 24, 0x420e
ENTERS, LEAVES = 1, 2  # values of struct ptrace_syscall_info
MARKS_CALLS = 1  # PTRACE_O_TRACESYSGOOD
WALL = 0x40000000  # waitpid(): also for threads that are not children


def ptrace(request, tid, address=0, data=0):
    """Does one ptrace request; data can be a buffer."""
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
    """Returns the name of each thread, by its id."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError):
            with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as comm:
                found[int(tid)] = comm.read().strip()
    return found


def called(pid, pattern):
    """Returns the thread whose name matches a regular expression."""
    for tid, name in names(pid).items():
        if re.fullmatch(pattern, name):
            return tid
    raise AssertionError(f"no thread {pattern} among {names(pid)}")


def worker(pid, index):
    """Returns the thread of Weir's worker `index`, which is lcore index + 1."""
    return called(pid, rf"\S*worker-?{index + 1}")


def wait_for(process, tid, timeout):
    """Returns the exit status of a process with a stopped thread. The process ends only after the
    tracer has collected the thread's exit with waitpid()."""
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
    """Stops a thread until the context ends, or for good if the process is killed."""
    ptrace(SEIZE, tid)
    ptrace(INTERRUPT, tid)
    os.waitpid(tid, WALL)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # the process has ended
            ptrace(DETACH, tid)


def calls(pid):
    """Yields each system call of a main thread at its start, and with true at its end."""
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
    """Kills the process after `times` calls with this number and first argument (None: any); before
    the first such call if 0."""
    for made, argument, ended in calls(process.pid):
        if made != number or first not in (None, argument):
            continue
        times -= ended
        if times == 0:
            break
    process.kill()
    process.wait()

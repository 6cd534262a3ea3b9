# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Starting and stopping programs in namespaces."""

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import time

from .interrupt import shielded

# Real-time priority, because the accuracy of a delay depends on getting a CPU in time. A process
# that computes for 20 s without a pause has failed, and would block the machine, so it is killed.
# On some virtual machines, creating the rings of 32 ports takes more than 5 s. Round robin (-r),
# not first in, first out: threads that share a CPU must not wait for each other.
REALTIME = ["prlimit", "--rttime=20000000:21000000", "chrt", "-r", "20"]


class TestbedError(Exception):
    """A requirement of the testbed failed; the text explains it to the user."""

    __test__ = False  # not a test, for test collectors


def run(argv, text=None):
    """Runs a short command to its end. Signals wait, so that it is never interrupted."""
    with shielded():
        done = subprocess.run(argv, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, start_new_session=True)
    if done.returncode:
        raise TestbedError(f"{' '.join(argv[:6])}: {done.stdout.strip() or done.returncode}")
    return done.stdout


def wait_until(condition, timeout, what):
    """Returns condition()'s first true value; raises TestbedError after timeout seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TestbedError(f"timeout after {timeout:g} s: {what}")
        time.sleep(0.01)


@functools.cache
def realtime_prefix():
    """Returns a command prefix for real-time priority; empty if it is not permitted."""
    if not all(map(shutil.which, ("prlimit", "chrt"))):
        return []
    tried = subprocess.run(REALTIME + ["true"], check=False, stderr=subprocess.DEVNULL)
    return [] if tried.returncode else REALTIME


class Process:
    """One program in a namespace, with its output in files. Processes.start() creates it."""

    def __init__(self, name, popen, log, out):
        self.name = name
        self.popen = popen
        self.log = log
        self.out = out

    @property
    def pid(self):
        """Returns its pid: `ip netns exec` and `chrt` both become the program, they do not fork."""
        return self.popen.pid

    def alive(self):
        """Returns true until it has ended."""
        return self.popen.poll() is None

    def output(self):
        """Returns its standard output so far."""
        with open(self.out, encoding="utf-8", errors="replace") as text:
            return text.read()

    def log_tail(self, lines=12):
        """Returns the end of its standard error."""
        with open(self.log, encoding="utf-8", errors="replace") as text:
            return "".join(text.readlines()[-lines:]).strip()

    def check(self):
        """Raises TestbedError with the end of its standard error if it has ended."""
        if not self.alive():
            raise TestbedError(f"{self.name} ended ({self.popen.returncode}):\n{self.log_tail()}")

    def signal(self, number):
        """Sends a signal, if the process still runs."""
        if self.alive():
            self.popen.send_signal(number)

    def wait(self, timeout):
        """Returns its exit status, or None if it is still running after timeout seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.popen.wait(timeout)
        return None

    def stop(self, timeout=3):
        """Ends it with SIGTERM, then SIGKILL. Returns its exit status."""
        self.signal(signal.SIGTERM)
        if self.wait(timeout) is None:
            self.kill()
        return self.popen.returncode

    def kill(self, timeout=10):
        """Ends it with SIGKILL, like a crash."""
        self.signal(signal.SIGKILL)
        if self.wait(timeout) is None:
            raise TestbedError(f"{self.name} ({self.pid}) cannot be killed")


class Processes:
    """All programs of one testbed. They end with this process, unless the testbed is kept."""

    def __init__(self, journal, outlive_us=False):
        self.journal = journal
        self.outlive_us = outlive_us
        self.all = []

    def start(self, name, argv, namespace=None, realtime=False):
        """Starts a program; NAME.log and NAME.out in the journal's directory are its output."""
        command = [] if self.outlive_us else ["setpriv", "--pdeathsig", "KILL"]
        command += ["ip", "netns", "exec", namespace] if namespace else []
        command += (realtime_prefix() if realtime else []) + argv
        log, out = self.journal.path(name + ".log"), self.journal.path(name + ".out")
        environment = os.environ | {"RUNTIME_DIRECTORY": self.journal.directory}
        with shielded(), open(log, "ab") as err_file, open(out, "wb") as out_file:
            popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out_file,
                                     stderr=err_file, start_new_session=True, env=environment)
            process = Process(name, popen, log, out)
            self.all.append(process)
            self.journal.add_process(popen.pid, name)
        return process

    def stop_all(self, patience=3):
        """Sends SIGTERM to all together, and after some seconds SIGKILL to the rest.

        Not one after the other: a process that spins at real-time priority can keep the threads of
        another from running, and then that one cannot even exit.
        """
        for number in (signal.SIGCONT, signal.SIGTERM, signal.SIGKILL):
            for process in self.all:
                process.signal(number)
            deadline = time.monotonic() + (0 if number == signal.SIGCONT else patience)
            for process in self.all:
                process.wait(max(0, deadline - time.monotonic()))

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The process of weir, from its start to its end: signals, the service manager, log and status.

Usage: check_process.py WEIR
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile

PATIENCE_S = 60
FAILED, REFUSED, NOT_HERE = 1, 78, 75
SLACK_NS = "1000"
TAKEN = {signal.SIGHUP, signal.SIGINT, signal.SIGTERM}
KEY = "5a" * 32 + "\n"
POLICY = {"name": "p", "match": {"vlan": 1}, "limit": "1Mbit/s"}
# Addresses of this process only, because other processes run the same test.
NET = f"127.{1 + os.getpid() // 256 % 254}.{os.getpid() % 256}"
GROUP = {"listen": f"{NET}.82:7946", "roster": [{"name": "l0", "address": f"{NET}.82:7946"},
                                                {"name": "l1", "address": f"{NET}.83:7946"}]}
TOOK = r"weir: start took (\S+) s: EAL (\S+), ports (\S+), other (\S+)"
STOPPED = "weir: stopped: every packet buffer is back in its pool"
WORDS = "1 worker(s), 1 policies"
EXPLAINED = "weir: eal: EAL is given 16 MB without hugepages: expected at least "


def failure(condition, what):
    """Raises if the condition is false."""
    if not condition:
        raise AssertionError(what)


def mask(status, name):
    """The signals of a line of /proc/PID/status."""
    bits = int(re.search(rf"^{name}:\s*(\w+)", status, re.M)[1], 16)
    return {number for number in range(1, 65) if bits >> number - 1 & 1}


class Manager:
    """A service manager that receives the status of the process."""

    def __init__(self, folder):
        self.path = str(folder / "manager")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(PATIENCE_S)

    def hear(self, state):
        """The status of the message with this state. Skips earlier messages."""
        while True:
            told = dict(line.split("=", 1) for line in self.socket.recv(4096).decode().split("\n"))
            if state in told:
                return told.get("STATUS")

    def close(self):
        """Closes the socket of the manager."""
        self.socket.close()
        os.unlink(self.path)


class Weir:
    """A folder, and weir in it with a configuration of one wire between two rings."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.config, self.socket = folder / "config.json", str(folder / "socket")
        self.said = ""

    def write(self, more):
        """Writes the configuration for the start."""
        config = {
            "limiter": "l0", "workers": [0], "idle": "sleep",
            "eal": ["--no-huge", "-m", "192", "--no-shconf", "--no-pci"],
            "ports": {"lan": {"device": "net_ring0"}, "wan": {"device": "net_ring1"}},
            "wires": [{"name": "egress", "a": "lan", "b": "wan"}],
            "control": {"socket": self.socket}, "policies": [POLICY]}
        self.config.write_text(json.dumps(config | more), encoding="utf-8")

    @contextlib.contextmanager
    def spawn(self, arguments=(), **environment):
        """Starts weir, and ends it with the test."""
        self.said = ""
        with subprocess.Popen([self.program, "-c", str(self.config), *arguments], text=True,
                              cwd=self.folder, env=os.environ | environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            try:
                yield process
            finally:
                process.kill()
                self.said = self.said or process.communicate()[1]

    def end(self, process, status):
        """The standard error of a process that ends with this status and prints nothing."""
        out, self.said = process.communicate(timeout=PATIENCE_S)
        failure(process.returncode == status, f"status {process.returncode}, not {status}")
        failure(out == "", f"printed {out!r}")
        return self.said

    @contextlib.contextmanager
    def run(self, number=signal.SIGTERM, arguments=()):
        """Runs until this signal. Yields the process, its manager, and the status of its start."""
        manager = Manager(self.folder)
        with self.spawn(arguments, NOTIFY_SOCKET=manager.path) as process:
            yield process, manager, manager.hear("READY")
            process.send_signal(number)
            failure(manager.hear("STOPPING") == "stopping", "the end")
            self.end(process, 0)
        manager.close()

    def lines(self, *wanted):
        """The log has these lines in their order. A tuple is the parts of a line."""
        rest = iter(self.said.splitlines())
        for want in wanted:
            if isinstance(want, tuple):
                found = any(all(part in line for part in want) for line in rest)
            else:
                found = want in rest
            failure(found, f"no {want!r} after the line before")

    def started(self, group, limiters=1):
        """The parts of the line that reports the start."""
        version = subprocess.run([self.program, "--version"], capture_output=True, text=True,
                                 check=True).stdout.split()[1]
        return (f"weir: {version}: limiter l0 of {limiters} started", "workers=1 ", "policies=1 ",
                f"socket={self.socket}", group)


def see_process(process):
    """Checks /proc: the signals that it reads from a file, and the precision of its sleep."""
    proc = pathlib.Path(f"/proc/{process.pid}")
    status = (proc / "status").read_text(encoding="ascii")
    failure(mask(status, "SigBlk") == TAKEN, f"blocks {mask(status, 'SigBlk')}")
    failure(signal.SIGPIPE in mask(status, "SigIgn"), "does not ignore SIGPIPE")
    failure(not TAKEN & mask(status, "SigIgn"), "ignores a signal")
    files = [file for fd in (proc / "fdinfo").iterdir()
             if "sigmask" in (file := fd.read_text(encoding="ascii"))]
    failure(len(files) == 1, f"{len(files)} files of signals")
    failure(mask(files[0], "sigmask") == TAKEN, files[0])
    flags = int(re.search(r"flags:\s*(\w+)", files[0])[1], 8)
    failure(flags & os.O_NONBLOCK and flags & os.O_CLOEXEC, oct(flags))
    failure((proc / "timerslack_ns").read_text(encoding="ascii").strip() == SLACK_NS, "slack")


def see_times(said):
    """The parts of the time that a start took make up all of it."""
    times = [float(text) for text in re.search(TOOK, said).groups()]
    failure(all(0 <= part <= times[0] for part in times[1:]), f"{times}")
    failure(abs(sum(times[1:]) - times[0]) < 0.03, f"{times}: not the sum")
    failure(times[1] > 0 and times[2] > 0, f"{times}: EAL and ports take their time")


def plain(weir):
    """Starts it as a person or a service does, and ends it."""
    weir.write({})
    with weir.run() as (process, _, status):
        see_process(process)
        failure(os.path.exists(weir.socket), "no socket")
        failure(status == f"running: limiter l0 of 1, {WORDS}; runs the file; nothing is kept",
                status)
    see_times(weir.said)
    weir.lines("weir: runs the file; nothing is kept", weir.started("alone"),
               "weir: stopping: Terminated", STOPPED)
    failure("shadow" not in weir.said and "warning" not in weir.said, "more than is the case")
    failure(not os.path.exists(weir.socket), "the socket stays")


def hang_up(weir):
    """SIGHUP reads the file again and does not end the process. A second one works too."""
    weir.write({"gossip": GROUP | {"insecure": True}})
    with weir.run(signal.SIGINT, ("--state", "state", "--shadow")) as (process, manager, status):
        failure(status == f"running: limiter l0 of 2, {WORDS}; runs the file", status)
        for _ in range(2):
            process.send_signal(signal.SIGHUP)
            failure(manager.hear("RELOADING") == "reading the configuration again", "the reload")
            told = manager.hear("READY")
            failure(told == "running: 1 policies, generation 1", told)
    weir.lines("weir: runs the file", weir.started("gossip INSECURE", 2),
               "weir: stopping: Interrupt", STOPPED)
    failure(weir.said.count("0 changed, 1 unchanged") == 2, "two reloads")
    failure("weir: shadow" in weir.said, "does not say that it enforces nothing")


def last_good(weir):
    """The file is refused with its error, and the last good configuration runs.

    Runs after hang_up().
    """
    weir.write({"gossip": GROUP | {"insecure": True}, "policies": [POLICY | {"limit": "1Mbit"}]})
    with weir.run(arguments=("--state", "state")) as (_, _, status):
        failure(re.fullmatch(rf"running: limiter l0 of 2, {re.escape(WORDS)}; runs the last good "
                             r"one, of \S+: the file is refused", status), status)
    failure(weir.said.index('"1Mbit": expected') < weir.said.index("weir: start took"),
            "the refusal is said later")
    failure("weir: the configuration is refused; runs the last good one" in weir.said, "which runs")
    failure("weir: runs the file" not in weir.said, "runs both")
    weir.lines(weir.started("gossip INSECURE", 2), STOPPED)


def sealed(weir):
    """Runs with a key, and with a configuration that causes a warning."""
    (weir.folder / "key").write_text(KEY, encoding="ascii")
    (weir.folder / "key").chmod(0o600)
    weir.write({"gossip": GROUP | {"key_file": "key"},
                "policies": [POLICY | {"match": [{"vlan": 1}, {"vlan": 1}]}]})
    with weir.run(signal.SIGINT):
        pass
    weir.lines(weir.started("gossip sealed", 2), STOPPED)
    failure(weir.said.count("the policy has it twice") == 1, "a warning is said once")
    failure("last good" not in weir.said, "a state of another")


def early_and_twice(weir):
    """A signal before the start is complete ends the process. A second one has no effect."""
    weir.write({})
    with weir.spawn(NOTIFY_SOCKET="nowhere") as process:
        said = process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        weir.said = said + weir.end(process, 0)
    weir.lines("weir: NOTIFY_SOCKET: Address family not supported by protocol; the service "
               "manager gets no status", STOPPED)
    failure(weir.said.count("weir: stopping: ") == 1, "stops twice")


# name, part of the configuration, exit status, messages in the log, a word that the log lacks
REFUSALS = (
    ("wrong", {"policies": [POLICY | {"limit": "1Mbit"}]}, REFUSED, ['"1Mbit": expected'], "EAL"),
    ("no key", {"gossip": GROUP | {"key_file": "none"}}, NOT_HERE, ["key_file"], "EAL"),
    ("device", {"ports": {"lan": {"device": "net_ring0"}, "wan": {"device": "net_none0"}}},
     FAILED, ["EAL did not start"], "stopp"),
    ("socket", {"control": {"socket": "config.json/socket"}}, FAILED,
     ["telemetry: Not a directory", "weir --doctor CONFIG"], EXPLAINED),
    ("memory", {"eal": ["--no-huge", "-m", "16", "--no-shconf", "--no-pci"]}, FAILED,
     ["ports: Cannot allocate memory", EXPLAINED], "stopping"),
)


def refused(weir):
    """Each reason against a start has its exit status, which decides if a manager tries again."""
    for name, more, status, said, unsaid in REFUSALS:
        weir.write(more)
        manager = Manager(weir.folder)
        with weir.spawn(NOTIFY_SOCKET=manager.path) as process:
            weir.end(process, status)
        manager.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            failure(False, f"{name}: the manager was told {manager.socket.recv(4096)}")
        manager.close()
        for words in said:
            failure(words in weir.said, f"{name}: no {words!r}")
        failure(unsaid not in weir.said, f"{name}: {unsaid!r}")


def main():
    """Stops at the first failure and prints the log of the process."""
    program = str(pathlib.Path(sys.argv[1]).absolute())
    for number in TAKEN:  # a shell lets background processes ignore some signals
        signal.signal(number, signal.SIG_DFL)
    with tempfile.TemporaryDirectory(prefix="weir-process-") as name:
        weir = Weir(program, pathlib.Path(name))
        for part in (plain, hang_up, last_good, sealed, early_and_twice, refused):
            try:
                part(weir)
            except (AssertionError, TimeoutError, subprocess.TimeoutExpired) as failed:
                print(f"{part.__name__}: {failed}\n{weir.said}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

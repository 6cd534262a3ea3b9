# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Shared by the tests of a whole weir process: starts, queries and ends it.

WEIR_BUILD names the build directory (default: build/ of this tree).
"""

import contextlib
import copy
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

import machine

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("WEIR_BUILD", "build"))
# Programs of packages that tools/setup unpacks and does not install.
os.environ["PATH"] = os.pathsep.join((os.environ.get("PATH", ""), os.path.join(
    ROOT, "build-unpacked", "usr", "bin")))
WEIR = os.path.join(BUILD, "app", "weir", "weir")
LEDGER = "5eed0000000000000000000000001ed9"  # the identity that a group's ledger has
PATIENCE_S = 60  # for actions of a second; sanitizers and other load slow them down
SKIP = 77
STOOD_S = 0.02  # without a CPU for longer than this, a worker counts as late
LONG = "WEIR_ALL_SEEDS" in os.environ  # the run has time for more of the random cases
TRIALS = 3  # attempts of a scenario while the machine stalls in each
REPLY_MAX = 1 << 17
PR_SET_PDEATHSIG = 1
FAULTS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)

# Without hugepages, and without files that outlive the process.
EAL = ["--no-huge", "-m", "640", "--no-shconf"]

LIBC = ctypes.CDLL(None, use_errno=True)


class Skip(Exception):
    """The machine cannot run the scenario; the text gives the reason."""


def expect(condition, what):
    """Fails the scenario with `what` unless the condition holds."""
    if not condition:
        raise AssertionError(what)


def wait_until(condition, what, timeout=PATIENCE_S):
    """Returns condition()'s first true value. `what`: text of the timeout's error, or a function
    that returns it."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            expect(False, f"waited {timeout:g} s in vain: {what() if callable(what) else what}")
        time.sleep(0.01)


def die_with_parent():
    """Makes the kernel kill this process when its parent ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Client:
    """A connection to the telemetry socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE_S)
        try:
            self.socket.connect(path)
            self.greeting = json.loads(self.socket.recv(REPLY_MAX))
        except OSError:
            self.socket.close()
            raise

    def get(self, request):
        """Sends a request; returns the value of the reply."""
        self.socket.send(request.encode())
        return json.loads(self.socket.recv(REPLY_MAX))[request.split(",", 1)[0]]

    def get_with(self, request, descriptor=None):
        """Like get(), but sends a descriptor, and also returns the descriptors of the reply."""
        socket.send_fds(self.socket, [request.encode()], [] if descriptor is None else [descriptor])
        data, descriptors, _, _ = socket.recv_fds(self.socket, REPLY_MAX, 4)
        return json.loads(data)[request.split(",", 1)[0]], descriptors

    def close(self):
        """Closes the connection."""
        self.socket.close()


class Box:
    """A weir process and its directory: configuration, socket and log."""

    def __init__(self, directory, config, name):
        self.directory = directory
        self.socket = os.path.join(directory, name + ".sock")
        self.log_path = os.path.join(directory, name + ".log")
        self.config_path = os.path.join(directory, name + ".json")
        self.config = {"limiter": name, "eal": EAL, "idle": "sleep"} | copy.deepcopy(config)
        self.config.setdefault("control", {}).setdefault("socket", self.socket)
        self.process = None
        self.client = None
        self.arguments = []  # arguments of weir, in addition to its configuration
        self.environment = dict(os.environ, RUNTIME_DIRECTORY=directory)
        self.write()

    def write(self):
        """Writes the present configuration to its file."""
        with open(self.config_path, "w", encoding="utf-8") as out:
            json.dump(self.config, out, indent=1)

    def run(self, *arguments, timeout=PATIENCE_S):
        """Runs weir to its end; returns (status, standard output, standard error)."""
        done = subprocess.run([WEIR, *arguments], capture_output=True, text=True, check=False,
                              timeout=timeout, stdin=subprocess.DEVNULL, cwd=self.directory,
                              env=self.environment)
        return done.returncode, done.stdout, done.stderr

    def spawn(self):
        """Starts the process without waiting."""
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([WEIR, "-c", self.config_path, *self.arguments],
                                            stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            cwd=self.directory, env=self.environment,
                                            preexec_fn=die_with_parent)
        return self

    def start(self):
        """Starts the process and waits until it answers."""
        return self.spawn().await_answer()

    def await_answer(self):
        """Waits until the process answers, after spawn()."""
        self.client = wait_until(self._connect, "weir does not answer on its socket")
        return self

    def _connect(self):
        expect(self.process.poll() is None, f"weir ended by itself: {self.process.returncode}")
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            return Client(self.socket)
        return None

    def get(self, request):
        """Sends a telemetry request; returns the value of the reply."""
        return self.client.get(request)

    def total(self, counter):
        """Returns a counter's sum over the workers."""
        return sum(worker[counter] for worker in self.get("/weir/workers"))

    def log(self):
        """Returns the log so far."""
        with contextlib.suppress(FileNotFoundError):
            with open(self.log_path, encoding="utf-8", errors="replace") as text:
                return text.read()
        return ""

    def wait(self, timeout=PATIENCE_S):
        """Waits for the end; returns the exit status."""
        return self.process.wait(timeout)

    def stop(self, number=signal.SIGTERM):
        """Sends a signal, and asserts an orderly end."""
        self.hang_up()
        self.process.send_signal(number)
        status = self.wait()
        expect(status == 0, f"exit status {status} after {signal.Signals(number).name}")
        expect("every packet buffer is back" in self.log(), "packet buffers are missing")
        expect(not os.path.lexists(self.socket), "the telemetry socket is still there")

    def kill(self):
        """Kills the process like a crash; no effect if it has ended."""
        self.hang_up()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def hang_up(self):
        """Closes the connection of get()."""
        if self.client is not None:
            self.client.close()
            self.client = None


class Scene:
    """One scenario: its own directory, and the processes in it."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="weir-test-")
        self.boxes = []

    def path(self, name):
        """Returns the path of a file of this scenario."""
        return os.path.join(self.directory, name)

    def box(self, config, name=None):
        """Returns a Box that is not started."""
        box = Box(self.directory, config, name or f"box{len(self.boxes) + 1}")
        self.boxes.append(box)
        return box

    def show_logs(self):
        """Prints the logs, after a failure."""
        for box in self.boxes:
            print(f"--- log of {os.path.basename(box.config_path)[:-5]}:\n{box.log()[-4000:]}---")

    def crashed(self):
        """Returns true if a process ended by a fault, or a sanitizer has found an error."""
        ended = [box.process.poll() for box in self.boxes if box.process is not None]
        return (any(status is not None and -status in FAULTS for status in ended)
                or any(re.search("Sanitizer|runtime error:", box.log()) for box in self.boxes))

    def close(self):
        """Kills all processes and removes the directory."""
        for box in self.boxes:
            box.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


def wire(a, b, mtu=1500, **more):
    """Returns a configuration of one wire between two devices."""
    return {"ports": {"a": {"device": a, "mtu": mtu}, "b": {"device": b, "mtu": mtu}},
            "wires": [{"name": "w", "a": "a", "b": "b"}]} | more


def enter_netns():
    """Moves this process into a new network namespace, which ends with the last process in it."""
    if os.geteuid() != 0:
        raise Skip("needs root")
    clone_newnet = 0x40000000
    if LIBC.unshare(clone_newnet):
        raise Skip(f"no network namespaces: {os.strerror(ctypes.get_errno())}")
    ip("link set lo up")


def enter_bpf_files():
    """Mounts a new BPF file system for this process, which ends with it."""
    clone_newns, ms_rec, ms_private = 0x20000, 0x4000, 0x40000
    if LIBC.unshare(clone_newns) or LIBC.mount(b"none", b"/", None, ms_rec | ms_private, None):
        raise Skip(f"no mount namespace: {os.strerror(ctypes.get_errno())}")
    done = subprocess.run(["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        raise Skip(f"no BPF file system: {done.stderr.strip()}")


def ip(command):
    """Runs one `ip` command; returns its output."""
    done = subprocess.run(["ip", *command.split()], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"ip {command}: {done.stderr.strip()}")
    return done.stdout


def attempt(scenario):
    """Plays one scenario once. Returns "ok", "skip" or "FAIL", its text, and true if a stalled
    machine can be the reason."""
    scene = Scene()
    try:
        return "ok", scenario(scene) or "", False
    except Skip as reason:
        return "skip", str(reason), False
    except Exception:  # after any error, the other scenarios are still played
        scene.show_logs()
        return "FAIL", traceback.format_exc(), not scene.crashed()
    finally:
        scene.close()


def play(scenario, watch):
    """Plays one scenario; prints and returns "ok", "skip" or "FAIL".

    After a failure while the machine stalled, prints it and repeats the scenario.
    """
    name = scenario.__name__.replace("_", " ")
    began = time.monotonic()
    for trial in range(1, TRIALS + 1):
        watch.begin()
        verdict, words, again = attempt(scenario)
        stood = watch.late_s()
        if verdict != "FAIL" or not again or stood <= STOOD_S or trial == TRIALS:
            break
        print(f"  {name}: once more, as a CPU was not to be had for {stood * 1e3:.0f} ms; "
              f"{words}".rstrip(), flush=True)
    if trial > 1:
        words = f"{words} (trial {trial})"
    print(f"  {name}: {verdict} ({time.monotonic() - began:.1f} s) {words}".rstrip(), flush=True)
    return verdict


def main(scenarios, setup=None):
    """Plays all scenarios, or those whose names contain an argument; exits with the outcome."""
    watch = machine.Watch(die_with_parent)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if not os.access(WEIR, os.X_OK):
        print(f"skipped: {WEIR} is not built")
        sys.exit(SKIP)
    try:
        if setup:
            setup()
    except Skip as reason:
        print(f"skipped: {reason}")
        sys.exit(SKIP)
    wanted = [s for s in scenarios
              if len(sys.argv) < 2 or any(word in s.__name__ for word in sys.argv[1:])]
    verdicts = [play(scenario, watch) for scenario in wanted]
    if "FAIL" in verdicts or not verdicts:
        sys.exit(1)
    sys.exit(0 if "ok" in verdicts else SKIP)

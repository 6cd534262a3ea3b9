# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Programs of the machine: each of them can be absent, or hang."""

import os
import selectors
import signal
import subprocess
import time

OUTPUT_MOST = 8 << 20  # bytes of an output that are kept
ABSENT = 127           # the exit status of sh without a program


def _show(patterns: str) -> str:
    """Returns a script that writes small files, of which there can be many or none."""
    return (f'for f in {patterns}; do [ -r "$f" ] && echo "$f: $(head -c 4096 "$f")"; done; '
            "true")


NODES = "/sys/devices/system/node/node*"
# Parts, and the scripts of sh, or the programs, that write them.
MACHINE = (
    ("versions.txt", 'echo "weirctl $VERSION"; weir --version; cat /etc/os-release; '
                     "dpkg-query -W 'weir*' 'dpdk*' 'librte*' 2>/dev/null; true"),
    ("kernel.txt", "uname -a; cat /proc/cmdline; uptime"),
    ("cpu.txt", "lscpu || cat /proc/cpuinfo; lscpu -e; true"),
    ("numa.txt", _show(f"{NODES}/cpulist {NODES}/meminfo {NODES}/distance")),
    ("cpu_isolation.txt", _show(
        "/sys/devices/system/cpu/isolated /sys/devices/system/cpu/nohz_full "
        "/sys/devices/system/clocksource/*/current_clocksource")),
    ("memory.txt", "cat /proc/meminfo; " + _show("/sys/kernel/mm/hugepages/*/*hugepages") + "; " +
     _show(f"{NODES}/hugepages/*/*_hugepages") + "; grep -i huge /proc/mounts; true"),
    ("interfaces.txt", ["ip", "-d", "-s", "link"]),
    ("addresses.txt", ["ip", "address"]),
    ("nics.txt", "dpdk-devbind.py --status-dev net 2>/dev/null; lspci -nnk 2>/dev/null | "
                 "grep -A3 -iE 'ethernet|network'; for i in /sys/class/net/*; do i=${i##*/}; "
                 'echo "== $i"; ethtool -i $i; ethtool -k $i; ethtool -g $i; done; true'),
    ("clock.txt", "timedatectl; chronyc tracking; true"),
    ("processes.txt", 'for p in $(pgrep -x weir); do echo "== $p"; '
                      "tr '\\0' ' ' </proc/$p/cmdline; echo; "
                      "cat /proc/$p/status /proc/$p/limits; "
                      "ps -L -o tid,psr,cls,rtprio,ni,pcpu,comm -p $p; done; true"),
    ("kernel_log.txt", ["journalctl", "-k", "-n", "300", "--no-pager"]),
    ("sockets.txt", "ls -la /run/weir /etc/weir /var/lib/weir; true"),
)


class Child:
    """A program that runs until its output ends, or until its time does."""

    def __init__(self, argv: list[str], seconds: float, apart: bool = False,
                 environment: dict[str, str] | None = None) -> None:
        """apart: standard error is not a part of the output. OSError: there is no such program."""
        self.until = time.monotonic() + seconds
        self.out, self.err, self.ended = b"", b"", False
        self.process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if apart else subprocess.STDOUT, start_new_session=True,
            env={**os.environ, **(environment or {})})

    def wait(self) -> int:
        """Reads both outputs to their ends; returns the exit status. `ended` is false if the time
        was too short.
        """
        try:
            with selectors.DefaultSelector() as selector:
                for stream in (self.process.stdout, self.process.stderr):
                    if stream is not None:
                        selector.register(stream, selectors.EVENT_READ)
                while selector.get_map() and (left := self.until - time.monotonic()) > 0:
                    for key, _ in selector.select(left):
                        self._read(selector, key.fileobj)
                self.ended = not selector.get_map()
        finally:
            self.end()
        return self.process.returncode

    def _read(self, selector: selectors.BaseSelector, stream) -> None:
        data = os.read(stream.fileno(), 1 << 16)
        if not data:
            selector.unregister(stream)
        elif stream is self.process.stdout:
            self.out += data[:OUTPUT_MOST - len(self.out)]
        else:
            self.err += data[:OUTPUT_MOST - len(self.err)]

    def end(self) -> None:
        """Ends the program, if it has not ended, with its own children."""
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        try:
            self.process.wait(max(0, self.until - time.monotonic()) if self.ended else 0)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def run(argv: list[str], seconds: float, environment: dict[str, str] | None = None) -> bytes | None:
    """Returns both outputs of a program. None: there is none, or it does not end in time."""
    try:
        child = Child(argv, seconds, environment=environment)
    except OSError:
        return None
    status = child.wait()
    return child.out if child.ended and not (status == ABSENT and not child.out) else None

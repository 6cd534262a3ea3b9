# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Both ends of a wire for live tests: the kernel sends and counts over 10^5 packets a second."""

import collections
import contextlib
import json
import os
import signal
import struct
import subprocess

import box
from box import expect

ENDS = 4  # like far_end.bpf.c; an end is the last bits of an IPv4 address
FAR_END = struct.Struct("<II6Q")  # struct far_end
PIN = "/sys/fs/bpf/far_end"
FRAME = 60


def bpftool(*words):
    """Runs bpftool; returns its decoded JSON output."""
    done = subprocess.run(["bpftool", "-j", *words], capture_output=True, text=True, check=False,
                          env=dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin"))
    expect(done.returncode == 0, done.stdout + done.stderr)
    return json.loads(done.stdout or "{}")


def values(pin):
    """Returns the values of a BPF array."""
    return [bytes(int(byte, 16) for byte in row["value"])
            for row in bpftool("map", "dump", "pinned", pin)]


# Packets and bytes; time of the last in ns; most bytes above the rate so far.
End = collections.namedtuple("End", "packets bytes last_ns above")


class FarEnd:
    """Counts the frames at an interface by destination, and compares each count with a rate."""

    def __init__(self, interface, bps):
        self.interface = interface
        program = os.path.join(box.BUILD, "test", "net", "far_end.bpf.o")
        bpftool("prog", "loadall", program, PIN, "pinmaps", PIN)
        for end in range(ENDS):
            value = FAR_END.pack(0, 0, bps, 0, 0, 0, 0, 0)
            bpftool("map", "update", "pinned", f"{PIN}/far_ends", "key", "hex",
                    *struct.pack("<I", end).hex(" ").split(), "value", "hex",
                    *value.hex(" ").split())
        bpftool("net", "attach", "xdpdrv", "pinned", f"{PIN}/take", "dev", interface)

    def read(self):
        """Returns an End for each end."""
        ends = []
        for value in values(f"{PIN}/far_ends"):
            _, _, _, packets, octets, last, _, most = FAR_END.unpack(value)
            ends.append(End(packets, octets, last, most / 8e9))
        return ends

    def close(self):
        """Detaches the program from the interface."""
        with contextlib.suppress(AssertionError):
            bpftool("net", "detach", "xdpdrv", "dev", self.interface)
        for name in ("take", "far_ends"):
            os.unlink(os.path.join(PIN, name))
        os.rmdir(PIN)


class Source:
    """test/bench/xdp_source on a CPU: sends packets at a rate to random addresses of a list."""

    def __init__(self, near, far, addresses, pps, cpu):
        folder = os.path.join(box.BUILD, "test", "bench")
        command = [os.path.join(folder, "xdp_source"), os.path.join(folder, "xdp_source.bpf.o"),
                   near, far, addresses, str(FRAME), str(pps), "3600"]
        self.process = subprocess.Popen(["taskset", "-c", str(cpu), *command], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        preexec_fn=box.die_with_parent)

    def end(self):
        """Stops; returns packets sent, those to the first address, and seconds."""
        self.process.send_signal(signal.SIGALRM)
        out, words = self.process.communicate(timeout=box.PATIENCE_S)
        expect(self.process.returncode == 0, words)
        return json.loads(out)

    def close(self):
        """Kills the process if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

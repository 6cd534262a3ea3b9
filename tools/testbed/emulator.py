# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Emulators: their command line, and changes at run time through their control socket."""

import os

from .processes import TestbedError, wait_until
from .telemetry import Client

MEAN_BYTES = 256  # the packet size for which weir-emu sizes its buffers
MBUF_BYTES = 2432


def memory_megabytes(links, delay, rate):
    """Returns EAL's memory for the packet buffers of so many links; untouched memory is free."""
    entries = 1024
    while entries < 1000 + delay * rate / 8 / MEAN_BYTES:
        entries *= 2
    return 128 + int(links * 2 * entries * MBUF_BYTES * 1.2 / 1e6)


class Emulator:
    """One weir-emu and its links."""

    def __init__(self, processes, binary, name, namespace, cpu):
        self.processes = processes
        self.binary = binary
        self.name = name
        self.namespace = namespace
        self.cpu = cpu
        self.control = processes.journal.path(name + ".sock")
        self.stats_file = processes.journal.path(name + ".json")
        self.process = None

    def arguments(self, links, megabytes, seed):
        """Returns the command line. links: topology.Link in the order of their index."""
        eal = ["-l", str(self.cpu), "--no-huge", "-m", str(megabytes), "--no-pci",
               "--no-telemetry", "--log-level=4", "--file-prefix", self.name]
        emu = ["--seed", str(seed), "--control", self.control, "--stats", self.stats_file]
        for k, link in enumerate(links):
            a, b = f"net_af_packet{2 * k}", f"net_af_packet{2 * k + 1}"
            eal += ["--vdev", f"{a},iface={link.a}", "--vdev", f"{b},iface={link.b}"]
            emu += ["--link", ",".join([a, b, *link.settings])]
        return [self.binary, *eal, "--", *emu]

    def start(self, links, megabytes, seed):
        """Starts without waiting: see ready()."""
        self.process = self.processes.start(self.name, self.arguments(links, megabytes, seed),
                                            self.namespace, realtime=True)

    def ready(self):
        """Waits until its links are up."""
        wait_until(self._answers, 30, f"{self.name} to open its ports")

    def _answers(self):
        self.process.check()
        return os.path.exists(self.control)

    def set_link(self, index, settings, direction=""):
        """Changes a link: "loss=100%" or "rate=2Mbit/s queue=30kB"; TestbedError if rejected."""
        words = [f"{direction}.{word}" if direction else word for word in settings.split()]
        answer = self._get(",".join(["/link", str(index), *words]))
        if answer != "ok":
            raise TestbedError(f"{self.name}: link {index} {direction} {settings}: {answer}")

    def stats(self):
        """Returns the counters of its links."""
        return self._get("/stats")

    def _get(self, request):
        with Client(self.control) as client:
            return client.get(request)

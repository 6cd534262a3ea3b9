# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Traffic: iperf3 from a source to its sink."""

import json
import os
import sys

from .measure import FlowRates
from .processes import TestbedError, wait_until
from .topology import sink_address

LISTEN = "0A"  # in /proc/net/tcp


WEB_LOAD = [sys.executable, "-B", os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                               "web_load.py")]


def is_listening(server, port):
    """Returns true if a process accepts connections on a port; TestbedError if it has ended."""
    server.check()
    with open(f"/proc/{server.pid}/net/tcp", encoding="ascii") as sockets:
        rows = [line.split() for line in sockets]
    return any(row[3] == LISTEN and row[1].endswith(f":{port:04X}") for row in rows)


class Web:
    """Web requests through one limiter: a receiver, and a sender of replies."""

    def __init__(self, processes, topology, i, port, seconds, settings):
        """settings: options of web_load.py, without dashes."""
        address = sink_address(i)
        self.server = processes.start(f"web-server{port}", [
            *WEB_LOAD, "--receive", address, str(port)], topology.namespace("sinks"))
        wait_until(lambda: is_listening(self.server, port), 10,
                   f"the receiver of the Web to listen on {address}:{port}")
        words = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
        self.client = processes.start(f"web-client{port}", [
            *WEB_LOAD, "--send", address, str(port), "--seconds", str(seconds), *words],
            topology.namespace("sources"))

    def check(self):
        """Raises TestbedError if the sender has failed."""
        if self.client.popen.poll():
            raise TestbedError(f"requests of the Web: {self.client.log_tail()}")

    def finish(self):
        """Ends the requests. Returns [[start, bytes, seconds]] of the replies that have arrived."""
        self.client.stop()
        self.server.stop()
        return json.loads(self.client.output() or "[]")


class Flows:
    """Parallel flows through one limiter: a server that serves once, and its client."""

    def __init__(self, processes, topology, i, n, seconds, port, extra=()):
        self.limiter = f"l{i}"
        self.port = port
        address = sink_address(i)
        self.server = processes.start(
            f"server{port}", ["iperf3", "-s", "-1", "-J", "-B", address, "-p", str(port)],
            topology.namespace("sinks"))
        wait_until(self._listening, 10, f"iperf3 to listen on {address}:{port}")
        self.client = processes.start(
            f"client{port}",
            ["iperf3", "-c", address, "-p", str(port), "-J", "-P", str(n), "-t", f"{seconds:g}",
             "--connect-timeout", "10000", *(extra or ("-C", "reno"))],
            topology.namespace("sources"))

    def _listening(self):
        return is_listening(self.server, self.port)

    def check(self):
        """Raises TestbedError if the client has failed."""
        if self.client.popen.poll():
            raise TestbedError(f"iperf3 through {self.limiter}: {self.client.output()[-300:]}")

    def finish(self, start, end):
        """Waits for the end; returns the received data between two times, as measure.FlowRates."""
        if self.client.wait(20) is None or self.server.wait(10) is None:
            raise TestbedError(f"the flows through {self.limiter} did not end")
        return FlowRates(self.limiter, self.server.output(), start, end)

    def stop(self):
        """Ends them immediately, without a report."""
        self.client.stop()
        self.server.stop()

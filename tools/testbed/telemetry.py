# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A client of the telemetry socket (the protocol of DPDK's telemetry, version 2).

As a program: telemetry.py SOCKET [REQUEST...], for instance /weir/policy,baseline; without a
request it lists all requests.
"""

import contextlib
import json
import socket
import sys

REPLY_MAX = 1 << 17  # bytes; more than any server of this protocol sends in one reply


class Client:
    """One connection, opened when first needed and again after a restart of the limiter."""

    def __init__(self, path, timeout=2.0):
        self.path = path
        self.timeout = timeout
        self.socket = None
        self.greeting = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _connect(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(self.timeout)
        self.socket.connect(self.path)
        self.greeting = json.loads(self._receive())

    def _receive(self):
        reply = self.socket.recv(REPLY_MAX)
        if not reply:
            raise ConnectionResetError(f"{self.path}: closed by the limiter")
        return reply

    def _ask(self, request):
        if self.socket is None:
            self._connect()
        self.socket.send(request.encode())
        return self._receive()

    def get(self, request):
        """Returns the value of the reply; OSError without a reply."""
        try:
            reply = self._ask(request)
        except OSError:
            self.close()
            raise
        return json.loads(reply)[request.split(",", 1)[0]]

    def try_get(self, request):
        """Returns the reply, or None without one: for a limiter that can be down."""
        with contextlib.suppress(OSError):
            return self.get(request)
        return None

    def close(self):
        """Closes the connection; the next request connects again."""
        if self.socket is not None:
            self.socket.close()
            self.socket = None


def main(argv):
    """Prints the reply to each request."""
    if len(argv) < 2 or argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if len(argv) > 1 else 2
    with Client(argv[1]) as client:
        for request in argv[2:] or ["/"]:
            print(json.dumps({request: client.get(request)}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A limiter for tests: a control socket with policies that edits change."""

import array
import contextlib
import json
import os
import socket
import struct
import threading

REPLY_MOST = 1 << 14


class FakeLimiter:
    """Answers like a limiter, in threads. The test reads `policies` and `requests`."""

    def __init__(self, path, policies=(), refuse=None, answers=None):
        self.path = path
        self.policies = list(policies)
        self.requests = []         # all commands
        self.changes = []          # the edits of each change
        self.refuse = refuse       # edits → messages of a refusal, or None
        self.answers = answers or {}  # command → answers used before the usual ones
        self.serial = 0
        self.ok, self.messages = True, []
        self.lock = threading.Lock()
        self.connections = []
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.server.bind(path)
        self.server.listen(8)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        """Serves each client in a thread."""
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        """Sends the greeting, and answers until the client closes the connection."""
        try:
            connection.send(json.dumps({"version": "x", "pid": 1,
                                        "max_output_len": REPLY_MOST}).encode())
            while True:
                data, extra, _, _ = connection.recvmsg(1 << 16, 64)
                if not data:
                    return
                given = [struct.unpack("i", content[:4])[0] for _, _, content in extra]
                with self.lock:
                    self.reply(connection, data.decode(), given)
        except OSError:
            return

    def reply(self, connection, request, given):
        """Sends one answer."""
        command, _, words = request.partition(",")
        self.requests.append(command)
        gone = []
        if self.answers.get(command):
            answer = self.answers[command].pop(0)
        elif command == "/weir/running":
            answer = {"number": self.serial}
            gone = [os.memfd_create("running")]
            os.write(gone[0], b"// kept\n" + json.dumps({"policies": self.policies}).encode())
        elif command == "/weir/policy_change":
            text = os.pread(given[0], os.fstat(given[0]).st_size, 0) if given else words
            answer = self.change(json.loads(text))
        elif command == "/weir/change":
            answer = {"runs": {"number": self.serial}, "last": {
                "serial": self.serial, "ok": self.ok, "messages": self.messages}}
        else:
            answer = None
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", gone))]
        connection.sendmsg([json.dumps({command: answer}).encode()], rights if gone else [])
        for descriptor in gone + given:
            os.close(descriptor)

    def change(self, edits):
        """Applies all edits, or none."""
        self.serial += 1
        self.changes.append(edits)
        self.messages = self.refuse(edits) if self.refuse else None
        self.ok = self.messages is None
        self.messages = self.messages or []
        for edit in edits if self.ok else ():
            before = next((each for each in self.policies if each["name"] == edit["name"]), None)
            policy = dict(before or {"name": edit["name"]})
            policy.update(edit["keys"])
            policy = {key: value for key, value in policy.items() if value is not None}
            self.policies = [each for each in self.policies if each is not before]
            if edit["do"] != "remove":
                self.policies.append(policy)
        return {"started": self.serial}

    def names(self):
        """Returns the names of the policies in force."""
        with self.lock:
            return sorted(policy["name"] for policy in self.policies)

    def close(self):
        """Ends like a process that exits."""
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        os.unlink(self.path)

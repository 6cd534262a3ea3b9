# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A client of a limiter's control socket (doc/operate/telemetry.md): the policies in force, and
changes of them.
"""

import array
import errno
import fcntl
import grp
import os
import socket
import struct
import time
from typing import Any

from weir_import import documents

GREETING_MOST = 1024
REPLY_MOST = 1 << 20
EDIT_MOST = 3500  # bytes of an edit in a request; a longer one is sent as a descriptor

# A pause is SOON_S at first, then an eighth of the time so far, and at most LOOK_S.
SOON_S, LOOK_S = 0.002, 0.05
# Longest waits: for the largest configuration, and until another change has ended.
CHANGE_S, BUSY_S = 120, 10

SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
Document = dict[str, Any]


class LimiterError(Exception):
    """A limiter has not answered as expected, or not at all; the code is an errno."""

    def __init__(self, code: int) -> None:
        super().__init__(os.strerror(code))
        self.code = code


def explain(path: str, code: int) -> str:
    """Returns the reason of a failure and the remedy: "SOCKET: no such socket: ..."."""
    texts = {
        errno.ENXIO: "no such socket: is weir running? -s names one elsewhere",
        errno.ENOENT: "weir keeps no configuration there: start it with --state",
        errno.ECONNREFUSED: "weir has ended and left its socket behind; start it again",
        **dict.fromkeys((errno.ENOTSOCK, errno.EPROTOTYPE, errno.EBADMSG),
                        "the process there does not use DPDK's telemetry protocol"),
        errno.EMSGSIZE: "an answer was longer than announced",
        errno.ETIMEDOUT: "no answer: is the process stopped?",
        errno.ECONNRESET: "the connection was closed: weir has ended, or has too many clients",
        errno.ESTALE: "another change followed this one immediately: weirctl history has its end",
    }
    if code in (errno.EACCES, errno.EPERM):
        return f"{path}: permission denied: {_permission(path)}"
    return f"{path}: {texts.get(code) or os.strerror(code)}"


def _permission(path: str) -> str:
    """Returns the remedy for a socket that belongs to a group."""
    try:
        group = os.stat(path).st_gid
        return f"join the group {grp.getgrgid(group).gr_name}, or use sudo" if group else "use sudo"
    except (OSError, KeyError):
        return "use sudo"


class Limiter:
    """One limiter. Its connection opens with the first request, and again after close()."""

    def __init__(self, name: str, path: str, timeout_s: float) -> None:
        self.name, self.path, self.timeout_s = name, path, timeout_s
        self._socket: socket.socket | None = None
        self._room = GREETING_MOST

    # --- connection -------------------------------------------------------------------------------

    def open(self) -> None:
        """Connects and reads the greeting. LimiterError: ENXIO stands for a socket that is absent.
        """
        if self._socket is not None:
            return
        if len(os.fsencode(self.path)) >= 108:
            raise LimiterError(errno.ENAMETOOLONG)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            patience = struct.pack("ll", int(self.timeout_s), int(self.timeout_s % 1 * 1e6) + 1)
            for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                self._socket.setsockopt(socket.SOL_SOCKET, option, patience)
            self._room = GREETING_MOST
            self._call(self._socket.connect, self.path)
            greeting, _ = self._receive()
            self._room = greeting.get("max_output_len")
            if not isinstance(self._room, int) or not 1 <= self._room <= REPLY_MOST:
                raise LimiterError(errno.EBADMSG)
        except LimiterError as error:
            self.close()
            raise LimiterError(errno.ENXIO if error.code == errno.ENOENT else error.code) from None

    def close(self) -> None:
        """Ends the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    @staticmethod
    def _call(function: Any, *words: Any) -> Any:
        try:
            return function(*words)
        except OSError as error:
            code = {errno.EAGAIN: errno.ETIMEDOUT, errno.EPIPE: errno.ECONNRESET}
            raise LimiterError(code.get(error.errno, error.errno or errno.EIO)) from None

    def _receive(self) -> tuple[Document, int]:
        """Returns an answer, and the descriptor that came with it or -1."""
        data, extra, flags, _ = self._call(
            self._socket.recvmsg, self._room, socket.CMSG_LEN(array.array("i").itemsize),
            socket.MSG_CMSG_CLOEXEC)
        taken = -1
        for level, kind, content in extra:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS) and len(content) >= 4:
                taken = struct.unpack("i", content[:4])[0]
        try:
            if not data:
                raise LimiterError(errno.ECONNRESET)
            if flags & socket.MSG_TRUNC:
                raise LimiterError(errno.EMSGSIZE)
            answer = documents.parse(data, unique=True)
            if not isinstance(answer, dict):
                raise LimiterError(errno.EBADMSG)
            return answer, taken
        except (ValueError, LimiterError) as error:
            if taken >= 0:
                os.close(taken)
            if isinstance(error, LimiterError):
                raise
            raise LimiterError(errno.EBADMSG) from None

    def ask(self, request: str, given: int = -1) -> tuple[Any, int]:
        """Returns the value of an answer, and a descriptor that came with it or -1."""
        self.open()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [given]))]
        self._call(self._socket.sendmsg, [request.encode()], rights if given >= 0 else [],
                   socket.MSG_NOSIGNAL)
        answer, taken = self._receive()
        command = request.partition(",")[0]
        if command not in answer:
            if taken >= 0:
                os.close(taken)
            raise LimiterError(errno.EBADMSG)
        return answer[command], taken

    def get(self, request: str, given: int = -1) -> Document:
        """Returns the value of an answer; LimiterError(ENOENT) for null."""
        value, taken = self.ask(request, given)
        if taken >= 0:
            os.close(taken)
        if value is None:
            raise LimiterError(errno.ENOENT)
        if not isinstance(value, dict):
            raise LimiterError(errno.EBADMSG)
        return value

    # --- policies ---------------------------------------------------------------------------------

    def running(self) -> list[Document]:
        """Returns the policies in force. LimiterError(ENOENT): this weir keeps none."""
        value, taken = self.ask("/weir/running")
        try:
            if value is None:
                raise LimiterError(errno.ENOENT)
            document = _read_kept(taken)
        finally:
            if taken >= 0:
                os.close(taken)
        policies = document.get("policies", []) if isinstance(document, dict) else None
        if not isinstance(policies, list):
            raise LimiterError(errno.EBADMSG)
        return [policy for policy in policies if isinstance(policy, dict)]

    def change_number(self) -> int:
        """Returns the number of the configuration that runs; 0: it is unknown."""
        try:
            return member(self.get("/weir/change"), "runs", "number") or 0
        except LimiterError:
            return 0

    def change(self, edits: list[Document]) -> Document:
        """Makes edits, all or none of them, and waits: returns the outcome or the refusal.

        LimiterError(ESTALE): another change has ended since, and the outcome is gone.
        """
        text = documents.compact(edits)
        data = text.encode()
        if len(data) <= EDIT_MOST:
            return self._make_change("/weir/policy_change," + text, -1)
        sealed = seal(data)
        try:
            return self._make_change("/weir/policy_change", sealed)
        finally:
            os.close(sealed)

    def _make_change(self, request: str, given: int) -> Document:
        began, waited = time.monotonic(), 0.0
        while True:
            answer = self.get(request, given)
            waited = time.monotonic() - began
            if answer.get("busy") is not True or waited >= BUSY_S:
                break
            _pause(waited)
        return self._wait_for(answer["started"]) if "started" in answer else answer

    def _wait_for(self, serial: int) -> Document:
        began = time.monotonic()
        while (waited := time.monotonic() - began) < CHANGE_S:
            document = self.get("/weir/change")
            last = member(document, "last", "serial")
            if last == serial:
                return document
            if (last or 0) > serial:
                document = self.get(f"/weir/change,{serial}")
                if member(document, "last", "serial") == serial:
                    return document
                raise LimiterError(errno.ESTALE)
            _pause(waited)
        raise LimiterError(errno.ETIMEDOUT)


def member(document: Any, *path: str) -> Any:
    """Returns the member of a member; None if it is absent."""
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _pause(waited: float) -> None:
    time.sleep(min(max(waited / 8, SOON_S), LOOK_S))


def seal(data: bytes) -> int:
    """Returns a descriptor of a text that no process can write to or truncate."""
    try:
        descriptor = os.memfd_create("configuration", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        with open(descriptor, "wb", closefd=False) as out:
            out.write(data)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    except OSError as error:
        raise LimiterError(error.errno or errno.EIO) from None
    return descriptor


def _read_kept(descriptor: int) -> Any:
    """Reads a record whose descriptor other processes share, below the comments at its start."""
    try:
        size = os.fstat(descriptor).st_size
        parts, at = [], 0
        while at < size and (part := os.pread(descriptor, size - at, at)):
            parts.append(part)
            at += len(part)
        data = b"".join(parts)
        while data.startswith(b"//"):
            data = data.partition(b"\n")[2]
        return documents.parse(data)
    except (OSError, ValueError):
        raise LimiterError(errno.EBADMSG) from None

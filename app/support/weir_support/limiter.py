# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The limiters that an archive is about, and requests to their sockets."""

import glob
import json
import os
import socket
from typing import Any

DIRECTORY = "/run/weir"
MOST = 256  # limiters of one archive
GREETING_MOST = 1024
REPLY_MOST = 1 << 20
GROUP = ('expected a list such as [{"name": "ams", "socket": "/run/weir/ams.sock"}] of at most '
         f"{MOST} limiters")


class Failure(Exception):
    """There can be no archive; the message has the reason."""


class Limiter:
    """One limiter. Each request has a connection of its own."""

    def __init__(self, name: str, path: str, timeout_s: float) -> None:
        self.name, self.path, self.timeout_s = name, path, timeout_s

    def ask(self, request: str | None = None) -> Any:
        """Returns the value of an answer; without a request, true if the limiter answers at all.
        None: there is no answer.
        """
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
                connection.settimeout(self.timeout_s)
                connection.connect(self.path)
                room = json.loads(connection.recv(GREETING_MOST))["max_output_len"]
                if request is None:
                    return True
                connection.send(request.encode())
                return json.loads(connection.recv(min(room, REPLY_MOST)))[request.partition(",")[0]]
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _name_of(path: str) -> str:
    name = os.path.basename(path)
    return name[:-5] if name.endswith(".sock") and len(name) > 5 else name


def _read_group(file: str) -> list[tuple[str, str]]:
    """Returns (name, socket) of each member of a group file."""
    try:
        with open(file, "rb") as text:
            members = json.load(text)
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Failure(f"{file}: {error}") from None
    good = isinstance(members, list) and 1 <= len(members) <= MOST and all(
        isinstance(each, dict) and set(each) <= {"name", "socket"} and
        isinstance(each.get("name"), str) and isinstance(each.get("socket", ""), str) and
        (each["name"] + each.get("socket", "")).isprintable() for each in members)
    if not good:
        raise Failure(f"{file}: {GROUP}")
    return [(each["name"], each.get("socket") or f"{DIRECTORY}/{each['name']}.sock")
            for each in members]


def _only(directory: str) -> str:
    """Returns the only socket in a directory."""
    if os.path.isdir(directory) and not os.access(directory, os.R_OK | os.X_OK):
        raise Failure(f"{directory}: permission denied: name the socket by -s, or use sudo")
    found = sorted(glob.glob(f"{directory}/*.sock"))
    if not found:
        raise Failure(f"no socket in {directory}: is weir running? -s names one elsewhere")
    if len(found) > 1:
        names = "".join(f"\n  {_name_of(path)}" for path in found)
        raise Failure(f"several limiters run here; name one, or some, by -n:{names}")
    return found[0]


def find(sockets: list[str], names: list[str], group: str | None,
         timeout_s: float) -> list[Limiter]:
    """Returns the limiters of the options. Failure if there are none, or one twice."""
    found = [(_name_of(path), path) for path in sockets]
    found += [(name, f"{DIRECTORY}/{name}.sock") for name in names]
    if group is not None:
        found += _read_group(group)
    if not found:
        path = _only(DIRECTORY)
        found = [(_name_of(path), path)]
    limiters: list[Limiter] = []
    for name, path in found:
        if any(each.path == path for each in limiters):
            raise Failure(f"{path}: is named twice")
        # The second one of a name is shown by its path.
        twin = any(each.name == name for each in limiters)
        limiters.append(Limiter(path if twin else name, path, timeout_s))
    return limiters

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The limiters that an import is for: by socket, by name, by a group file, or the only one."""

import glob
import os

from weir_import import documents
from weir_import.diagnostics import Failure
from weir_import.limiter import Limiter

DIRECTORY = "/run/weir"
MOST = 256  # limiters of one import
GROUP = ('expected a list such as [{"name": "ams", "socket": "/run/weir/ams.sock"}] of at most '
         f"{MOST} limiters")


def socket_of(name: str) -> str:
    """Returns the socket of a limiter of that name on this machine."""
    return f"{DIRECTORY}/{name}.sock"


def _name_of(path: str) -> str:
    name = os.path.basename(path)
    return name[:-5] if name.endswith(".sock") and len(name) > 5 else name


def _read_group(file: str) -> list[tuple[str, str]]:
    """Returns (name, socket) of each member of a group file."""
    members = documents.load(file)
    if not isinstance(members, list) or not 1 <= len(members) <= MOST:
        raise Failure(f"{file}: {GROUP}")
    found = []
    for each in members:
        good = isinstance(each, dict) and isinstance(each.get("name"), str) and \
            isinstance(each.get("socket", ""), str) and set(each) <= {"name", "socket"}
        if not good:
            raise Failure(f"{file}: {GROUP}")
        found.append((each["name"], each.get("socket") or socket_of(each["name"])))
    return found


def _only(directory: str) -> str:
    """Returns the only socket in a directory."""
    if os.path.isdir(directory) and not os.access(directory, os.R_OK | os.X_OK):
        raise Failure(f"{directory}: permission denied: name the socket by -s, or use sudo")
    found = sorted(glob.glob(f"{glob.escape(directory)}/*.sock"))
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
    found += [(name, socket_of(name)) for name in names]
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

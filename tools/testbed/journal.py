# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A record on disk of a testbed's namespaces and processes, so that another process can remove
them.

Every namespace is recorded before it exists, and every process immediately after its start. A
testbed removes its journal when it has cleaned up. A journal whose owner is gone belongs to a
testbed that was killed, or to one that was kept on purpose.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time

BASE = "/run/weir-demo"
NETNS_DIR = "/run/netns"
NETNS_MARK = os.path.join(BASE, "netns-mount-is-ours")


def start_time(pid):
    """Returns a process's start time in clock ticks, which together with the pid is unique."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


def same_process(record):
    """Returns true while the recorded process is still running."""
    return start_time(record["pid"]) == record["start"]


def process_record(pid):
    """Returns the journal's record of a process."""
    return {"pid": pid, "start": start_time(pid)}


class Journal:
    """The record of one testbed, and its directory for sockets, logs and configurations."""

    def __init__(self, prefix):
        self.directory = os.path.join(BASE, prefix)
        self.state = {"owner": process_record(os.getpid()), "kept": False, "prefix": prefix,
                      "namespaces": [], "processes": []}
        os.makedirs(self.directory, mode=0o700)
        self.save()

    def path(self, name):
        """Returns the path of a file of this testbed."""
        return os.path.join(self.directory, name)

    def save(self):
        """Replaces the record in one step: a reader sees the old one or the new one."""
        with open(self.path("state.new"), "w", encoding="utf-8") as out:
            json.dump(self.state, out, indent=1)
        os.replace(self.path("state.new"), self.path("state.json"))

    def add_namespaces(self, names):
        """Records namespaces; call it before they are created."""
        self.state["namespaces"] += names
        self.save()

    def add_process(self, pid, name):
        """Records a process; call it immediately after its start."""
        self.state["processes"].append(process_record(pid) | {"name": name})
        self.save()

    def keep(self):
        """Leaves everything to a later tear-down."""
        self.state["kept"] = True
        self.save()


def remove(state, directory):
    """Ends and removes all entries of a journal, then the journal."""
    end_processes(state["processes"])
    remove_namespaces(state["namespaces"])
    shutil.rmtree(directory, ignore_errors=True)
    remove_base()


def end_processes(records, patience=3):
    """Sends SIGTERM to each process, and after some seconds SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for record in filter(same_process, records):
            with contextlib.suppress(ProcessLookupError):
                os.kill(record["pid"], number)
        deadline = time.monotonic() + patience
        while any(map(same_process, records)) and time.monotonic() < deadline:
            time.sleep(0.01)


def prepare_netns_mount():
    """Records if the first `ip netns add` of this machine is ours: it leaves a mount."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        if not any(line.split()[4] == NETNS_DIR for line in mounts):
            with open(NETNS_MARK, "w", encoding="utf-8"):
                pass


def remove_namespaces(names):
    """Removes namespaces that exist; their interfaces go with them."""
    for name in names:
        if os.path.exists(os.path.join(NETNS_DIR, name)):
            subprocess.run(["ip", "netns", "del", name], check=False,
                           stdin=subprocess.DEVNULL, start_new_session=True)


def remove_base():
    """The last testbed removes the common directory and the mount of `ip netns`."""
    with contextlib.suppress(OSError):
        if os.listdir(BASE) == [os.path.basename(NETNS_MARK)] and not os.listdir(NETNS_DIR):
            subprocess.run(["umount", NETNS_DIR], check=False, stderr=subprocess.DEVNULL)
            os.unlink(NETNS_MARK)
        os.rmdir(BASE)


def journals():
    """Yields (state, directory) of every recorded testbed."""
    with contextlib.suppress(FileNotFoundError):
        for name in sorted(os.listdir(BASE)):
            directory = os.path.join(BASE, name)
            with contextlib.suppress(OSError, ValueError):
                with open(os.path.join(directory, "state.json"), encoding="utf-8") as text:
                    yield json.load(text), directory


def sweep(kept):
    """Removes testbeds whose owner died; with `kept`, also those left up on purpose."""
    removed = []
    for state, directory in list(journals()):
        if same_process(state["owner"]) or (state["kept"] and not kept):
            continue
        remove(state, directory)
        removed.append(state["prefix"])
    return removed

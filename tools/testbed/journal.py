# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""What a testbed has made, on disk, so that it can be taken down by another process.

Every namespace and process is written down before (namespaces) or as soon as (processes) it
exists. A testbed removes its journal when it has cleaned up; a journal whose owner is gone belongs
to a testbed that was killed, or to one that was kept on purpose.
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
    """When a process started, in clock ticks: with the pid it names a process for good."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


def same_process(record):
    """True while the process that was written down is still running."""
    return start_time(record["pid"]) == record["start"]


def process_record(pid):
    """A process as the journal names it."""
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
        """A file of this testbed."""
        return os.path.join(self.directory, name)

    def save(self):
        """Replaces the record in one step: a reader sees the old one or the new one."""
        with open(self.path("state.new"), "w", encoding="utf-8") as out:
            json.dump(self.state, out, indent=1)
        os.replace(self.path("state.new"), self.path("state.json"))

    def add_namespaces(self, names):
        """To be called before they are made."""
        self.state["namespaces"] += names
        self.save()

    def add_process(self, pid, name):
        """To be called as soon as it runs."""
        self.state["processes"].append(process_record(pid) | {"name": name})
        self.save()

    def keep(self):
        """Leaves everything to a later tear-down."""
        self.state["kept"] = True
        self.save()


def remove(state, directory):
    """Ends and removes all that a journal names, then the journal."""
    end_processes(state["processes"])
    remove_namespaces(state["namespaces"])
    shutil.rmtree(directory, ignore_errors=True)
    remove_base()


def end_processes(records, patience=3):
    """Asks each process to end, and after some seconds makes it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for record in filter(same_process, records):
            with contextlib.suppress(ProcessLookupError):
                os.kill(record["pid"], number)
        deadline = time.monotonic() + patience
        while any(map(same_process, records)) and time.monotonic() < deadline:
            time.sleep(0.01)


def prepare_netns_mount():
    """Notes whether the first `ip netns add` of this machine is ours: it leaves a mount."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        if not any(line.split()[4] == NETNS_DIR for line in mounts):
            with open(NETNS_MARK, "w", encoding="utf-8"):
                pass


def remove_namespaces(names):
    """Those that exist; their interfaces go with them."""
    for name in names:
        if os.path.exists(os.path.join(NETNS_DIR, name)):
            subprocess.run(["ip", "netns", "del", name], check=False,
                           stdin=subprocess.DEVNULL, start_new_session=True)


def remove_base():
    """The last testbed to go takes the common directory and the mount of `ip netns` with it."""
    with contextlib.suppress(OSError):
        if os.listdir(BASE) == [os.path.basename(NETNS_MARK)] and not os.listdir(NETNS_DIR):
            subprocess.run(["umount", NETNS_DIR], check=False, stderr=subprocess.DEVNULL)
            os.unlink(NETNS_MARK)
        os.rmdir(BASE)


def journals():
    """(state, directory) of every testbed that is written down."""
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

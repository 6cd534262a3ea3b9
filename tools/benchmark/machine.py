# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Describes the machine, and reserves hugepages for the time of a run."""

import contextlib
import os
import platform
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from testbed.interrupt import shielded  # noqa: E402 (needs the path above)
from testbed.revision import ROOT, commit  # noqa: E402

PAGES = "/proc/sys/vm/nr_hugepages"
SPARE_KB = 2 << 20  # memory that other programs must keep


def read(path):
    """Returns the content of a small file, or ""."""
    with contextlib.suppress(OSError):
        with open(path, encoding="utf-8") as file:
            return file.read()
    return ""


def meminfo(name):
    """Returns a number of /proc/meminfo: kB, or pages."""
    found = re.search(rf"^{name}:\s+(\d+)", read("/proc/meminfo"), re.M)
    return int(found[1]) if found else 0


def words(command):
    """Returns the first line of a command's output."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT,
                              timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().split("\n")[0]


def cpu_model():
    """Returns the CPU model from the kernel."""
    found = re.search(r"^model name\s*:\s*(.+)$", read("/proc/cpuinfo"), re.M)
    return found[1] if found else platform.machine()


def cache(level):
    """Returns the size of a cache of the first usable CPU, as text."""
    folder = f"/sys/devices/system/cpu/cpu{min(os.sched_getaffinity(0))}/cache"
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(folder)):
            if read(f"{folder}/{name}/level").strip() == str(level):
                return read(f"{folder}/{name}/size").strip()
    return "unknown"


def describe():
    """Returns the facts about the machine that figures depend on."""
    flags = re.search(r"^flags\s*:(.*)$", read("/proc/cpuinfo"), re.M)
    flags = flags[1].split() if flags else []
    return {"cpu": cpu_model(), "cpus": len(os.sched_getaffinity(0)), "l2": cache(2),
            "l3": cache(3), "virtual": "hypervisor" in flags, "avx2": "avx2" in flags,
            "avx512": "avx512f" in flags, "kernel": platform.release(),
            "compiler": words(["cc", "--version"]),
            "commit": commit(),
            "isolated": read("/sys/devices/system/cpu/isolated").strip(),
            "load": os.getloadavg()[0]}


def cpus():
    """Returns (measuring CPU, CPU of everything else): isolated ones first, CPU 0 last."""
    allowed = sorted(os.sched_getaffinity(0), reverse=True)
    isolated = read("/sys/devices/system/cpu/isolated").strip()
    first = re.match(r"\d+", isolated)
    if first and int(first[0]) in allowed:
        allowed.remove(int(first[0]))
        allowed.insert(0, int(first[0]))
    return allowed[0], allowed[1] if len(allowed) > 1 else allowed[0]


def set_pages(number):
    """Requests that many hugepages; the kernel can reserve fewer."""
    with open(PAGES, "w", encoding="utf-8") as file:
        file.write(str(number))


@contextlib.contextmanager
def hugepages(megabytes):
    """Yields true if there are enough hugepages for `megabytes`; restores their number."""
    size_kb = meminfo("Hugepagesize")
    wanted = -(-megabytes * 1024 // size_kb) if size_kb else 0
    before, given = read(PAGES).strip(), 0
    lacking = wanted - meminfo("HugePages_Free")
    if lacking <= 0 < wanted:
        yield True
        return
    if not before or not wanted or meminfo("MemAvailable") - lacking * size_kb < SPARE_KB:
        yield False
        return
    try:
        # Signals are held back: one in between would leave the pages reserved, or be lost.
        with shielded(), contextlib.suppress(OSError):
            set_pages(int(before) + lacking)
            given = int(read(PAGES)) - int(before)
        yield meminfo("HugePages_Free") >= wanted
    finally:
        # Frees only our pages: other programs can have reserved some meanwhile.
        with shielded(), contextlib.suppress(OSError):
            set_pages(max(int(read(PAGES)) - given, 0))

#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Compares every zone of tzdata from 1970 to 2100 as read by Weir and by Python.

At each change that Weir finds, Python must have the same offsets before and after it. Between
changes the offsets are compared every five days, because no zone ever changed twice in less.
"""
import datetime
import os
import subprocess
import sys
import zoneinfo

FOLDER = "/usr/share/zoneinfo"
END = 4102444800
STEP = 5 * 86400


def offset(zone, unix_s):
    moment = datetime.datetime.fromtimestamp(unix_s, zone)
    return int(moment.utcoffset().total_seconds())


def turns_of(program, paths):
    """Returns for each path a list of (time, offset from then on)."""
    lines = subprocess.run([program, *paths], check=True, stdout=subprocess.PIPE,
                           encoding="ascii").stdout.splitlines()
    found, turns = {}, None
    for line in lines:
        if line.startswith("/"):
            turns = found[line] = []
        else:
            turns.append(tuple(int(word) for word in line.split()))
    return found


def check_zone(name, zone, turns):
    """Returns a description of the first difference, or None."""
    if not turns or turns[0][0] != 0:
        return f"{name}: begins with {turns[:1]}"
    for (at, after), before in zip(turns[1:], turns):
        seen = offset(zone, at - 1), offset(zone, at)
        if seen != (before[1], after):
            return f"{name}: at {at} from {before[1]} to {after}, and not {seen}"
    which = 0
    for at in range(0, END, STEP):
        while which + 1 < len(turns) and turns[which + 1][0] <= at:
            which += 1
        if offset(zone, at) != turns[which][1]:
            return f"{name}: at {at} {turns[which][1]}, and not {offset(zone, at)}"
    return None


def main():
    names = sorted(name for name in zoneinfo.available_timezones()
                   if os.path.isfile(f"{FOLDER}/{name}"))
    if not names:
        print("no tzdata: nothing is compared")
        return 77
    # Several names can be of one file: each file is checked once.
    files = {}
    for name in names:
        files.setdefault(os.path.realpath(f"{FOLDER}/{name}"), name)
    wrong, turns = [], turns_of(sys.argv[1], list(files))
    for path, name in files.items():
        with open(path, "rb") as file:
            zone = zoneinfo.ZoneInfo.from_file(file)
        wrong.append(check_zone(name, zone, turns[path]))
    wrong = [line for line in wrong if line]
    print("\n".join(wrong))
    changes = sum(len(list_) - 1 for list_ in turns.values())
    print(f"{len(names)} zones in {len(files)} files with {changes} changes, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

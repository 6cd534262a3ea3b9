#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Limits by time of day, on a pair of live limiters under traffic.

At the boundary the hard limit changes, and no packet is lost without a counter. No more passes than
the limits and the burst allow. The limiters report a difference only if their schedules differ.

Runs in network namespaces.
"""

import datetime
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))

import box  # noqa: E402
from box import expect, wait_until  # noqa: E402
from hard_limits import BURST, CLOCKS, LIMIT, Group, reload  # noqa: E402
from stall import Passed  # noqa: E402
from testbed.bed import POLICY  # noqa: E402

CTL = os.path.join(box.BUILD, "app", "weirctl", "weirctl")
LOW = 0.3 * LIMIT
AHEAD_S, LASTS_S = 4, 10  # until the entry begins, and that it holds
EARLY_S = 0.1  # clocks are read one after the other


def clock_text(moment):
    """Returns the time in the form of a schedule."""
    return datetime.datetime.fromtimestamp(moment, datetime.timezone.utc).strftime("%H:%M:%S")


def schedule(begins, ends, limit=LOW):
    """Returns one entry between two times, in UTC."""
    return {"zone": "UTC", "entries": [{"from": clock_text(begins), "to": clock_text(ends),
                                        "limit": f"{limit:.0f}bit/s"}]}


class Both:
    """The replies of both limiters."""

    def __init__(self, group):
        self.group = group

    def policies(self):
        """Returns the policy at each limiter."""
        return [self.group.bed.policy(i) for i in self.group.bed.boxes()]

    def limit(self):
        """Returns the sum of their limits, in bit/s."""
        return sum(policy["local_limit_bps"] for policy in self.policies())

    def by(self, what):
        """Returns true if both have their limit for that reason."""
        return all(policy["limit_by"] == what for policy in self.policies())

    def differs(self):
        """Returns the differences that each limiter reports about the other."""
        return [text for i in self.group.bed.boxes()
                for peer in self.group.bed.telemetry(i).get("/weir/peers")["peers"]
                for text in peer["differs"] or ()]

    def uncounted(self):
        """Returns received packets that were not transmitted and have no drop counter."""
        missing = 0
        for i in self.group.bed.boxes():
            ask = self.group.bed.telemetry(i).get
            workers = ask("/weir/workers")
            missing += sum(w["rx_packets"] - w["tx_packets"] for w in workers)
            missing -= sum(ask("/weir/drops").values())
        return missing


def check_passed(passed, low_from, low_to):
    """Asserts that at any time no more passes than the limit of that time and the burst. The low
    limit counts while it is in force at both: from its first reading to the end of the entry."""
    def earned(begins, ends):
        low = max(0.0, min(ends, low_to) - max(begins, low_from))
        return ((ends - begins) * LIMIT - low * (LIMIT - LOW)) / 8

    sums, worst = passed._sums(), 0.0
    for at, (before, sent, _) in enumerate(sums):
        for _, sent_then, after in sums[at + 1:]:
            worst = max(worst, (sent_then - sent) / (earned(before, after) * CLOCKS + BURST))
    expect(len(sums) > 50, f"{len(sums)} samples")
    expect(worst <= 1, f"{worst:.3f} of what may pass")
    return f"at most {worst:.3f} of the limits × time + burst over any time"


def entry_begins_and_ends(scene):
    """For some seconds an entry lowers a hard limit from 10 to 3 Mbit/s, and both receive more."""
    with Group(scene, 2, guarantee="hard") as group:
        group.start()
        both = Both(group)
        group.load(1)
        group.load(2)
        wait_until(lambda: both.limit() > 0.9 * LIMIT, "both to have the limit")
        begins = time.time() + AHEAD_S
        ends = begins + LASTS_S
        group.settings["schedule"] = schedule(begins, ends)
        before = both.policies()
        with Passed(group) as passed:
            for i in group.bed.boxes():
                reload(group, i)
            wait_until(lambda: both.by("schedule"), "the entry to begin")
            expect(time.time() >= int(begins) - EARLY_S, "it began before its time")
            wait_until(lambda: both.limit() <= LOW, lambda: f"{both.limit()} to be {LOW}")
            low_from, seen = time.monotonic(), time.time()
            expect(seen < ends, "too slow a machine: the entry is over")
            low_to = low_from + int(ends) - seen - EARLY_S
            during = both.policies()
            wait_until(lambda: both.by("configuration"), "the entry to end")
            expect(time.time() >= int(ends) - EARLY_S, "it ended before its time")
            wait_until(lambda: both.limit() > 0.9 * LIMIT, lambda: f"{both.limit()} after it")
        words = check_passed(passed, low_from, low_to)
        for was, now in zip(before, both.policies()):
            for verdict in ("passed", "dropped"):
                expect(now[verdict]["packets"] >= was[verdict]["packets"], "counts began again")
        for policy in during:
            expect(policy["limit_bps"] == LOW and policy["limit_until"].endswith("+00:00") and
                   policy["configured_limit"] == "10Mbit/s", f"while it held: {policy}")
        for i in group.bed.boxes():
            group.load(i, 0)
            expect(": differs" not in group.log(i), f"limiter {i} cried wolf: {group.log(i)}")
        wait_until(lambda: both.uncounted() == 0, lambda: f"{both.uncounted()} packets uncounted")
    return words


def schedules_differ(scene):
    """One limiter's entry has another limit: both report it, though the same limit is in force now.
    The report ends when the entries are equal again."""
    with Group(scene, 2, guarantee="hard") as group:
        far = time.time() + 6 * 3600
        group.settings["schedule"] = schedule(far, far + 3600)
        group.start()
        both = Both(group)
        wait_until(lambda: both.limit() > 0.9 * LIMIT and not both.differs(), "both to agree")
        group.settings["schedule"] = schedule(far, far + 3600, LOW / 2)
        reload(group, 2)
        wait_until(lambda: both.differs().count(f"schedule of {POLICY}") == 2,
                   lambda: f"differs: {both.differs()}")
        expect(both.limit() > 0.9 * LIMIT, f"{both.limit()}, though the same limit holds")
        group.settings["schedule"] = schedule(far, far + 3600)
        reload(group, 2)
        wait_until(lambda: not both.differs(), lambda: f"differs: {both.differs()}")
    return "both say it, and its end"


def told(weir, *words):
    """Returns weirctl's exit status and its output."""
    done = subprocess.run([CTL, "-s", weir.socket, "override", *words], capture_output=True,
                          text=True, check=False, timeout=box.PATIENCE_S)
    return done.returncode, done.stdout + done.stderr


def override_lasts(scene):
    """An override until a time is rejected if it makes no sense, survives kill -9, can be removed,
    and ends by itself."""
    config = box.wire("net_ring0", "net_ring1") | {
        "policies": [{"name": "soft", "limit": "10Mbit/s", "match": {"vlan": 1}},
                     {"name": "volume", "allocator": "quota", "total": "1GB",
                      "match": {"vlan": 2}}],
        "ledger": {"store": scene.path("store")}}
    weir = scene.box(config)
    status, _, err = weir.run("--new-ledger", box.LEDGER, weir.config_path)
    expect(status == 0, err)
    weir.start()

    def is_by(what, limit):
        policy = weir.get("/weir/policy,soft")
        return policy["limit_by"] == what and policy["limit_bps"] == limit

    for words, reason in ((("soft", "limit=20Mbit", "for", "1h"), "did you mean"),
                          (("volume", "limit=1Mbit/s", "for", "1h"), "has a quota"),
                          (("nobody", "limit=1Mbit/s", "for", "1h"), "no such policy"),
                          (("soft", "off"), "no override")):
        status, said = told(weir, *words)
        expect(status == 1 and reason in said, f"{words}: {status}, {said}")
    expect(told(weir, "soft", "limit=20Mbit/s")[0] == 2, "no time")
    status, said = told(weir, "soft", "limit=20Mbit/s", "for", "1h")
    expect(status == 0 and "override" in said, f"{status}: {said}")
    wait_until(lambda: is_by("override", 20e6), "the override to hold")
    expect("override by uid 0" in weir.log(), weir.log())
    weir.kill()
    weir.start()
    wait_until(lambda: is_by("override", 20e6), "it to hold after kill -9")
    expect(told(weir, "soft", "off")[0] == 0, "off")
    wait_until(lambda: is_by("configuration", 10e6), "it to be taken back")
    expect(told(weir, "soft", "limit=20Mbit/s", "for", "3s")[0] == 0, "for 3s")
    began = time.monotonic()
    wait_until(lambda: is_by("configuration", 10e6), "it to end")
    expect(weir.get("/weir/limits")["by_override"] == 0, "it is listed")
    weir.stop()
    return f"ended after {time.monotonic() - began:.1f} s"


SCENARIOS = [entry_begins_and_ends, schedules_differ, override_lasts]

if __name__ == "__main__":
    box.main(SCENARIOS, setup=box.enter_netns)

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""One thread of one of two live limiters stands still for longer than a lease: control, a worker,
the one that writes the store. All that both let pass is within limit × time + burst, over every
stretch of time that was measured, whoever has taken over what meanwhile.

    limiter 1 ─ conserved, 10 Mbit/s ─ limiter 2      UDP of twice the limit at each

What passes is read from the kernel's counters of the ports, as a limiter whose control stands still
answers nobody. (As a program of its own, --count INTERFACE says what that has sent, over and over.)
"""

import contextlib
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))

import box  # noqa: E402
import threads  # noqa: E402
from box import expect, wait_until  # noqa: E402
from conserved import BURST, CLOCKS, HEADERS, LIMIT, PAYLOAD, Group  # noqa: E402

LEASE_S = 2
STALL_S = 3 * LEASE_S
ETHERNET = 14
IN_HAND = 32 * (PAYLOAD + HEADERS)  # a burst that a worker has metered, and sends when it wakes
PERIOD_S = 0.02


def count(interface):
    """Lines of: a time, the bytes of IP that it had sent after that, and a time after those."""
    while True:
        before = time.monotonic()
        with open("/proc/net/dev", encoding="ascii") as lines:
            fields = next(line.split(":")[1].split() for line in lines
                          if line.strip().startswith(f"{interface}:"))
        sent = int(fields[8]) - ETHERNET * int(fields[9])
        print(before, sent, time.monotonic(), flush=True)
        time.sleep(PERIOD_S)


class StallGroup(Group):
    """Two limiters whose leases are short."""

    def __init__(self, scene):
        super().__init__(scene, 2, guarantee="conserved")

    def _configure(self, i, config):
        super()._configure(i, config)
        config["ledger"]["lease"] = f"{LEASE_S}s"

    def pid(self, i):
        """Limiter i's, which is also its thread of control."""
        return self.bed.limiters[i].pid


@contextlib.contextmanager
def standing(tid):
    """A thread stands still from here to the end of the block, and for STALL_S at least."""
    ends = time.monotonic() + STALL_S
    with threads.standing(tid):
        yield
        time.sleep(max(0, ends - time.monotonic()))


class Passed:
    """What each limiter has passed, over and over."""

    def __init__(self, group):
        self.samples = {i: [] for i in group.bed.boxes()}
        self.readers, self.counters = [], []
        for i in group.bed.boxes():
            counter = subprocess.Popen(
                ["ip", "netns", "exec", group.bed.topology.limiter_namespace(i), sys.executable,
                 "-B", os.path.abspath(__file__), "--count", f"x{i}"],
                stdout=subprocess.PIPE, text=True, preexec_fn=box.die_with_parent)
            self.counters.append(counter)
            self.readers.append(threading.Thread(target=self._read, args=(i, counter)))

    def _read(self, i, counter):
        for line in counter.stdout:
            before, sent, after = line.split()
            self.samples[i].append((float(before), int(sent), float(after)))

    def __enter__(self):
        for reader in self.readers:
            reader.start()
        wait_until(lambda: all(self.samples.values()), "counters")
        return self

    def __exit__(self, *_):
        for counter in self.counters:
            counter.kill()
            counter.wait()
        for reader in self.readers:
            reader.join()

    def _sums(self):
        """Sums of both: no earlier than a time, no later than another, as each pair was read."""
        one, other = self.samples.values()
        sums, k = [], 0
        for before, sent, after in one:
            while k + 1 < len(other) and other[k + 1][0] <= before:
                k += 1
            sums.append((min(before, other[k][0]), sent + other[k][1], max(after, other[k][2])))
        return sums

    def rate(self, i, since):
        """What limiter i has passed since then, of the limit."""
        seen = [(before, sent) for before, sent, _ in self.samples[i] if before >= since]
        return (seen[-1][1] - seen[0][1]) * 8 / (seen[-1][0] - seen[0][0]) / LIMIT

    def check(self, in_hand):
        """Every stretch of time; in words."""
        sums, worst = self._sums(), 0.0
        for at, (before, sent, _) in enumerate(sums):
            for _, sent_then, after in sums[at + 1:]:
                most = LIMIT / 8 * (after - before) * CLOCKS + BURST + in_hand
                worst = max(worst, (sent_then - sent) / most)
        expect(len(sums) > 50, f"{len(sums)} samples")
        expect(worst <= 1, f"{worst:.3f} of what may pass")
        return f"at most {worst:.3f} of limit × time + burst over any time"


def settled(group):
    """Limiter 1 has most of the limit, and its promise is in force."""
    group.start()
    group.load(1)
    group.until_share(1, 0.8)
    wait_until(lambda: group.ledger(1)["promised_bps"] > 0.3 * LIMIT, "limiter 1 to promise")


def has_inherited(group, i):
    """Whether limiter i has taken what it was promised."""
    return group.ledger(i)["inherited_bps"] > 0


def control_stands_still(scene):
    """Limiter 2 takes what limiter 1 had promised, and limiter 1 passes the rest of its part."""
    with StallGroup(scene) as group:
        settled(group)
        with Passed(group) as passed:
            group.load(2)
            with standing(group.pid(1)):
                wait_until(lambda: has_inherited(group, 2), "limiter 2 to inherit")
                since = time.monotonic()
                time.sleep(STALL_S / 4)
                here, there = passed.rate(1, since), passed.rate(2, since)
            group.said(1, "control stood still")
            group.said(1, "its conserved limits have ended")
            group.said(1, "are renewed")
            wait_until(lambda: group.share(1) + group.share(2) > 0.99, "all of it to be in use")
            time.sleep(0.5)
        words = passed.check(0)
        expect(here > 0.1, f"limiter 1 passed {here} of the limit of what was promised to nobody")
        expect(there > 0.3, f"limiter 2 passed {there} of the limit of what it has inherited")
    return f"{words}; {here:.2f} here and {there:.2f} there while control stood still"


def worker_stands_still(scene):
    """It looks at the end of its limits before it meters, however late it wakes."""
    with StallGroup(scene) as group:
        settled(group)
        with Passed(group) as passed:
            group.load(2)
            with standing(threads.worker(group.pid(1), 0)):
                pass
            wait_until(lambda: group.bed.telemetry(1).get("/weir/ledger")["expired"] > 0,
                       "the worker to find its limits ended")
            time.sleep(1)
            expect(passed.rate(1, time.monotonic() - 0.7) > 0.05, "limiter 1 passes nothing")
        return passed.check(IN_HAND)


def store_stands_still(scene):
    """Nothing is given away that is not durable, and nothing ends that is not promised."""
    with StallGroup(scene) as group:
        settled(group)
        with Passed(group) as passed:
            with standing(threads.called(group.pid(1), "weir-store")):
                held = group.ledger(1)["balance_bps"]
                group.load(2)
                time.sleep(STALL_S / 2)
                expect(group.share(2) <= 1 - held / LIMIT + 0.01,
                       "it was given before it was durable")
            wait_until(lambda: group.share(2) > 0.4, "limiter 2 to have its part")
        return passed.check(0)


SCENARIOS = [control_stands_still, worker_stands_still, store_stands_still]


def main():
    """The scenarios, or the counter of one."""
    if sys.argv[1:2] == ["--count"]:
        count(sys.argv[2])
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(box.SKIP)
    box.main(SCENARIOS)


if __name__ == "__main__":
    main()

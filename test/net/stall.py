#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A thread of one of two live limiters is stalled for longer than a lease: control, a worker, or
the writer of the store. Both together pass at most limit × time + burst in every measured period.

    limiter 1 ─ hard limit, 10 Mbit/s ─ limiter 2      UDP of twice the limit at each

The test reads the counters of the ports in the kernel, because a limiter with a stalled control
does not answer. (As a program of its own, --count INTERFACE prints the sent bytes repeatedly.)
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
from hard_limits import BURST, CLOCKS, HEADERS, LIMIT, PAYLOAD, Group  # noqa: E402

LEASE_S = 2
STALL_S = 3 * LEASE_S
ETHERNET = 14
IN_HAND = 32 * (PAYLOAD + HEADERS)  # a burst that a worker has metered and sends after the stall
PERIOD_S = 0.02


def count(interface):
    """Prints lines of a time, the IP bytes sent after it, and a time after those."""
    while True:
        before = time.monotonic()
        with open("/proc/net/dev", encoding="ascii") as lines:
            fields = next(line.split(":")[1].split() for line in lines
                          if line.strip().startswith(f"{interface}:"))
        sent = int(fields[8]) - ETHERNET * int(fields[9])
        print(before, sent, time.monotonic(), flush=True)
        time.sleep(PERIOD_S)


class StallGroup(Group):
    """Two limiters with short leases."""

    def __init__(self, scene):
        super().__init__(scene, 2, guarantee="hard")

    def _configure(self, i, config):
        super()._configure(i, config)
        config["ledger"]["lease"] = f"{LEASE_S}s"

    def pid(self, i):
        """The process of limiter i, which is also its control thread."""
        return self.bed.limiters[i].pid


@contextlib.contextmanager
def standing(tid):
    """Stalls a thread to the end of the block, for at least STALL_S."""
    ends = time.monotonic() + STALL_S
    with threads.standing(tid):
        yield
        time.sleep(max(0, ends - time.monotonic()))


class Passed:
    """Reads the passed bytes of each limiter repeatedly."""

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
        """Sums of both, each between an earlier and a later time."""
        one, other = self.samples.values()
        sums, k = [], 0
        for before, sent, after in one:
            while k + 1 < len(other) and other[k + 1][0] <= before:
                k += 1
            sums.append((min(before, other[k][0]), sent + other[k][1], max(after, other[k][2])))
        return sums

    def rate(self, i, since):
        """The part of the limit that limiter i passed since then."""
        seen = [(before, sent) for before, sent, _ in self.samples[i] if before >= since]
        return (seen[-1][1] - seen[0][1]) * 8 / (seen[-1][0] - seen[0][0]) / LIMIT

    def check(self, in_hand):
        """Checks every measured period and returns a summary."""
        sums, worst = self._sums(), 0.0
        for at, (before, sent, _) in enumerate(sums):
            for _, sent_then, after in sums[at + 1:]:
                most = LIMIT / 8 * (after - before) * CLOCKS + BURST + in_hand
                worst = max(worst, (sent_then - sent) / most)
        expect(len(sums) > 50, f"{len(sums)} samples")
        expect(worst <= 1, f"{worst:.3f} of what may pass")
        return f"at most {worst:.3f} of limit × time + burst over any time"


def settled(group):
    """Limiter 1 has most of the limit, and its reservation for the other is in force."""
    group.start()
    group.load(1)
    group.until_share(1, 0.8)
    wait_until(lambda: group.ledger(1)["promised_bps"] > 0.3 * LIMIT, "limiter 1 to promise")


def has_inherited(group, i):
    """True if limiter i has taken its reserved part."""
    return group.ledger(i)["inherited_bps"] > 0


def control_stands_still(scene):
    """Limiter 2 takes the reserved part of limiter 1, and limiter 1 passes its unreserved share."""
    with StallGroup(scene) as group:
        settled(group)
        with Passed(group) as passed:
            group.load(2)
            with standing(group.pid(1)):
                wait_until(lambda: has_inherited(group, 2), "limiter 2 to inherit")
                since = time.monotonic()
                time.sleep(STALL_S / 4)
                here, there = passed.rate(1, since), passed.rate(2, since)
            group.said(1, "control stalled: hard limits were expired")
            group.said(1, "its hard limits expired")
            group.said(1, "its hard limits are renewed")
            wait_until(lambda: group.share(1) + group.share(2) > 0.99, "all of it to be in use")
            time.sleep(0.5)
        words = passed.check(0)
        expect(here > 0.1, f"limiter 1 passed {here} of the limit of what was promised to nobody")
        expect(there > 0.3, f"limiter 2 passed {there} of the limit of what it has inherited")
    return f"{words}; {here:.2f} here and {there:.2f} there while control stood still"


def worker_stands_still(scene):
    """A worker reads the end of its limits before it meters, after any stall."""
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
    """Nothing is given away before it is durable. A part that is not reserved does not end."""
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

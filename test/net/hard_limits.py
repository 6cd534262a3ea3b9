#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Hard limits on live limiters: they move with the load, through crashes, lost and full disks. The
local limits never add up to more than the limit.

The load is UDP, which does not slow down after drops. Bounds in time are wide because the machine
is shared, and the test prints the figures. (As a program of its own, --send ADDRESS
BYTES_PER_SECOND SECONDS is that load; it sends bursts every so many seconds.)
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))

import box  # noqa: E402
from box import expect, wait_until  # noqa: E402
from testbed.bed import POLICY, Testbed  # noqa: E402
from testbed.telemetry import Client  # noqa: E402
from testbed.topology import sink_address  # noqa: E402

LIMIT = 10e6
BURST = 75e3  # bytes
MOST = 0.9  # part of the limit that a limiter with all of the load must have
PAYLOAD, HEADERS = 1000, 28
LAG = 0.02  # s: interval of even load
CLOCKS = 1.002  # how much faster the clock of a limiter can be than ours
SPARE_POLICIES = 3000  # their records outgrow the first 256 kB of the store


def send(address, rate, period):
    """Sends UDP packets of `rate` bytes per second (of IP) until the process is ended."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    began, sent, data = time.monotonic(), 0, bytes(PAYLOAD)
    while True:
        # Time lost on a busy machine is not made up for, because that would be a burst.
        sent = max(sent, (time.monotonic() - began - max(2 * period, LAG)) * rate)
        while sent < (time.monotonic() - began) * rate:
            try:
                sender.sendto(data, (address, 9))
            except OSError:  # the wire does not exist yet, or is down
                pass
            sent += PAYLOAD + HEADERS
        time.sleep(period)


class Group:
    """A testbed of limiters with one policy of a hard limit, and a store for each."""

    def __init__(self, scene, n, **policy):
        self.scene, self.n, self.settings = scene, n, policy
        self.more = []  # additional policies
        self.loads = {}
        self.bed = Testbed(flows=[0] * n, rtt=0.010, limit_bps=LIMIT, burst_bytes=BURST,
                           configure=self._configure)

    def store(self, i):
        """Returns the directory of the store of limiter i."""
        return self.scene.path(f"store{i}")

    def _configure(self, i, config):
        config["ledger"] = {"store": self.store(i), "lease": "4s"}
        config["policies"][0].update(self.settings)
        config["policies"] += self.more

    def __enter__(self):
        self.bed.__enter__()
        return self

    def __exit__(self, *error):
        self.loads = {}
        self.bed.__exit__(*error)

    def new_ledger(self, i):
        """Creates the store of limiter i, which has never run."""
        path = self.scene.path("new.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(self.bed.config(i), out)
        done = subprocess.run([box.WEIR, "--new-ledger", box.LEDGER, path], capture_output=True,
                              text=True, check=False)
        expect(done.returncode == 0, f"--new-ledger: {done.stderr}")

    def start(self):
        """Starts all limiters for the first time."""
        for i in self.bed.boxes():
            self.new_ledger(i)
        self.bed.start()
        return self

    def load(self, i, rate_bps=2 * LIMIT, period=0.001):
        """Sets the load of limiter i and its interval; 0 is none."""
        if i in self.loads:
            self.loads.pop(i).stop()
        if rate_bps:
            self.loads[i] = self.bed.processes.start(
                f"load{i}", [sys.executable, os.path.abspath(__file__), "--send", sink_address(i),
                             str(rate_bps / 8), str(period)],
                self.bed.topology.namespace("sources"))

    def share(self, i):
        """Returns the part of the limit that limiter i has now."""
        seen = self.bed.policy(i)
        return seen["local_limit_bps"] / LIMIT if seen else 0.0

    def burst(self, i):
        """Returns the part of the burst that limiter i has now."""
        seen = self.bed.policy(i)
        return seen["local_burst_bytes"] / BURST if seen else 0.0

    def ledger(self, i, policy=POLICY):
        """Returns the ledger of a policy at limiter i."""
        return self.bed.telemetry(i).get(f"/weir/ledger,{policy}")

    def until_share(self, i, least):
        """Waits until limiter i has this part. Returns the time that took."""
        began = time.monotonic()
        wait_until(lambda: self.share(i) >= least, f"limiter {i} to have {least} of the limit")
        return time.monotonic() - began

    def log(self, i):
        """Returns the log of limiter i since its start."""
        with open(self.bed.limiters[i].log, encoding="utf-8", errors="replace") as text:
            return text.read()

    def said(self, i, words):
        """Waits until the log of limiter i has these words."""
        wait_until(lambda: words in self.log(i), f"limiter {i} to say \"{words}\"")


class Watch:
    """Adds up the local limits and bursts repeatedly, on its own connections.

    The limiters cannot be read at the same instant. But if each value is the same before and after,
    and all were read in between, they were in force together.
    """

    def __init__(self, group):
        self.clients = [Client(group.bed.socket(i)) for i in group.bed.boxes()]
        self.sums, self.moved, self.most, self.deepest = 0, 0, 0.0, 0
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _look(self):
        seen = [client.try_get(f"/weir/policy,{POLICY}") for client in self.clients]
        return [(policy["local_limit_bps"], policy["local_burst_bytes"]) if policy else (0.0, 0)
                for policy in seen]

    def _run(self):
        before = self._look()
        while not self.ending.is_set():
            after = self._look()
            if before == after:
                self.sums += 1
                self.most = max(self.most, sum(limit for limit, _ in after))
                self.deepest = max(self.deepest, sum(burst for _, burst in after))
            else:
                self.moved += 1
            before = after

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()
        for client in self.clients:
            client.close()

    def check(self):
        """Checks that the sum is never above the limit. Returns a summary."""
        expect(self.sums > 20, f"{self.sums} sums, {self.moved} looks while limits moved")
        expect(self.most <= LIMIT, f"local limits add up to {self.most} bit/s")
        expect(self.deepest <= BURST, f"local bursts add up to {self.deepest} bytes")
        return (f"{self.sums} sums, at most {self.most / LIMIT:.6f} of the limit and "
                f"{self.deepest / BURST:.6f} of the burst")


class Meter:
    """Checks that all limiters together forward at most limit × time + burst between two times."""

    def __init__(self, group):
        self.group = group
        self.began = time.monotonic()
        self.before = sum(group.bed.forwarded())

    def check(self):
        """Returns a summary of the passed traffic."""
        passed = sum(self.group.bed.forwarded()) - self.before
        seconds = time.monotonic() - self.began
        most = LIMIT / 8 * seconds * CLOCKS + BURST
        expect(passed <= most, f"{passed} bytes in {seconds:.3f} s, {passed / most:.4f} of the "
                               "most")
        expect(passed > 0, "nothing passed")
        return f"{passed * 8 / seconds / LIMIT:.3f} of it passed in {seconds:.1f} s"


def limit_follows_the_load(scene):
    """Three limiters: one gets all of the load, then the next one."""
    times = []
    with Group(scene, 3, guarantee="hard") as group:
        group.start()
        with Watch(group) as watch:
            meter = Meter(group)
            for i in group.bed.boxes():
                group.load(i)
                times.append(group.until_share(i, MOST))
                group.load(i, 0)
            words = meter.check()
        words = f"{watch.check()}; {words}; moved in " + ", ".join(f"{t:.2f}" for t in times) + " s"
        for i in group.bed.boxes():
            expect(group.bed.stop_limiter(i) == 0, "exit status")
    return words


def crash_and_lost_store(scene):
    """After kill -9 a limiter has its part again. Without its store it must recover first."""
    with Group(scene, 2, guarantee="hard") as group:
        group.start()
        group.load(1)
        group.until_share(1, MOST)
        with Watch(group) as watch:
            held = group.ledger(1)["balance_bps"]
            group.bed.kill_limiter(1)
            group.bed.start_limiter(1)
            # Its record can lack the last amount that it received; the giver repeats that.
            began = group.ledger(1)
            group.said(1, "start 2 of this store")
            expect(not began["recovering"] and 0 < began["balance_bps"], str(began))
            back = group.until_share(1, MOST)
            group.bed.stop_limiter(1)
            shutil.rmtree(group.store(1))
            group.bed.start_limiter(1)
            group.said(1, "no store in")
            blank = group.until_share(1, MOST)
            group.said(1, "ledger: recovered")
            expect(group.ledger(1)["recovering"] is False, str(group.ledger(1)))
        words = watch.check()
    return (f"{words}; {began['balance_bps'] / held:.3f} of its balance after the crash, all in "
            f"{back:.2f} s; without the store in {blank:.2f} s")


def few_policies(n):
    """Returns policies without traffic, whose records fill a disk."""
    return [{"name": f"spare{k}", "match": {"dst": f"198.{18 + k // 256}.{k % 256}.0/28"},
             "limit": "1Mbit/s", "guarantee": "hard"} for k in range(n)]


def mounted(path, size):
    """Mounts a small file system."""
    os.mkdir(path)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "weir-test", path],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise box.Skip(f"no tmpfs: {done.stderr.strip()}")


def reload(group, i):
    """Reloads the configuration of limiter i; returns when it is applied."""
    before = group.bed.telemetry(i).get("/weir/config")["last_reload"]
    with open(group.bed.journal.path(f"l{i}.json"), "w", encoding="utf-8") as out:
        json.dump(group.bed.config(i), out)
    group.bed.limiters[i].signal(signal.SIGHUP)

    def done():
        config = group.bed.telemetry(i).get("/weir/config")
        return config["reload"] == "idle" and config["last_reload"] != before and config

    last = wait_until(done, "the reload to end")["last_reload"]
    expect(last["ok"], f"reload: {last['messages']}")


def full_disk(scene):
    """On a full disk nothing is given away, traffic passes, and the log has the reason."""
    disk = scene.path("disk")
    mounted(disk, "4M")
    try:
        with Group(scene, 2, guarantee="hard") as group:
            group.store = lambda i: os.path.join(disk, f"store{i}") if i == 1 else \
                Group.store(group, i)
            return fill(group.start(), disk)
    finally:
        subprocess.run(["umount", "--lazy", disk], check=False)


def fill(group, disk):
    """Runs the scenario with the store of limiter 1 on that disk."""
    filler = os.path.join(disk, "filler")
    group.load(1)
    group.until_share(1, MOST)
    with open(filler, "wb") as out:
        try:
            while True:
                os.write(out.fileno(), bytes(4096))
        except OSError:
            pass
    group.more = few_policies(SPARE_POLICIES)
    reload(group, 1)
    group.said(1, "No space left on device")
    wait_until(lambda: group.bed.telemetry(1).get("/weir/ledger")["failures"] > 1,
               "the telemetry to count failures")
    held = group.share(2)
    with Watch(group) as watch:
        group.load(2)
        passed = group.bed.forwarded()[0]
        tried = group.bed.telemetry(1).get("/weir/ledger")["failures"]
        wait_until(lambda: group.bed.telemetry(1).get("/weir/ledger")["failures"] > tried,
                   "it to try again")
        wait_until(lambda: group.bed.forwarded()[0] > passed, "packets to pass")
        expect(group.share(2) <= held + 1e-9, f"{held} of the limit, now {group.share(2)}")
        group.load(1, 0)
        os.unlink(filler)
        group.said(1, "saved again")
        took = group.until_share(2, 0.8)
        words = watch.check()
    return f"{words}; {held:.3f} of the limit until there was room, 0.8 after {took:.2f} s more"


def gdrl_follows_demand(scene):
    """Spare parts move: 2 of 10 Mbit/s are used here, more than the limit there."""
    with Group(scene, 2, allocator="gdrl") as group:
        group.start()
        with Watch(group) as watch:
            meter = Meter(group)
            group.load(1, 0.2 * LIMIT)
            group.load(2)
            there = group.until_share(2, 0.7)
            expect(group.share(1) >= 0.15, f"{group.share(1)} left where a fifth is asked for")
            group.load(2, 0)
            group.load(1)
            back = group.until_share(1, 0.7)
            words = meter.check()
        words = f"{watch.check()}; {words}; 0.7 there in {there:.2f} s, here in {back:.2f} s"
    return words


def change_places(group):
    """Even load here, bursts there, twice. Returns seconds until both had their parts."""
    times, seen = [], []

    def in_place(smooth, bursts):
        seen[:] = [group.share(smooth), group.share(bursts), group.burst(smooth),
                   group.burst(bursts), group.bed.policy(smooth), group.bed.policy(bursts)]
        return seen[0] >= 0.6 and seen[1] <= 0.4 and seen[3] > 1.2 * seen[2]

    for smooth, bursts in ((1, 2), (2, 1)):
        group.load(smooth, 0.5 * LIMIT)
        group.load(bursts, 0.2 * LIMIT, 0.25)
        began = time.monotonic()
        try:
            wait_until(lambda a=smooth, b=bursts: in_place(a, b), "in vain", timeout=40)
        except AssertionError as error:
            raise AssertionError(f"limiter {smooth} was to have the rate, and {bursts} the "
                                 f"burst: {seen}") from error
        times.append(time.monotonic() - began)
    return ", ".join(f"{t:.2f}" for t in times) + " s"


def rate_and_burst_part(scene):
    """Allocator adaptor: the rate moves to the larger load, the burst moves to the bursts."""
    terms = {"allocator": "adaptor", "history": "4s", "step": "500ms"}
    with Group(scene, 2, **terms) as group:
        group.bed.start()
        soft = change_places(group)
    with Group(scene, 2, guarantee="hard", **terms) as group:
        group.start()
        with Watch(group) as watch:
            meter = Meter(group)
            hard = change_places(group)
            words = meter.check()
        words = f"{watch.check()}; {words}"
        ledger = group.ledger(1)["burst"]
        expect(ledger["limit_bytes"] == BURST and not ledger["recovering"], str(ledger))
    return f"{words}; in place in {soft}, hard in {hard}"


SCENARIOS = [limit_follows_the_load, crash_and_lost_store, full_disk, gdrl_follows_demand,
             rate_and_burst_part]


def main():
    """Plays the scenarios, or sends the load."""
    if sys.argv[1:2] == ["--send"]:
        send(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(box.SKIP)
    box.main(SCENARIOS)


if __name__ == "__main__":
    main()

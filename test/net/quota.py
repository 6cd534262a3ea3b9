#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Quotas on live limiters: together they pass nearly all of the total and never more.

Covers load at either limiter, top-ups, periods, orderly stops and crashes. There are two policies:
"metered" has a limit for the time after its total is spent, and "prepaid" passes nothing then. The
sinks' interfaces count the packets that arrive. With --send ADDRESS PORT BYTES_PER_SECOND this
program is the load.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))

import box  # noqa: E402
from box import expect, wait_until  # noqa: E402
from testbed.bed import Testbed  # noqa: E402
from testbed.topology import sink_address  # noqa: E402

TOTAL = 4000000  # bytes
USED = 0.99  # least part of it that is spent
LIMIT, BURST = 400e3, 20e3  # bit/s and bytes, for "metered", over both limiters
RATE = 1000000  # bytes a second of a load
PAYLOAD, HEADERS, ETHERNET = 1000, 28, 14
PORTS = {"metered": 9, "prepaid": 10}
QUIET_S = 2.0  # without a packet: all traffic has ended
CLOCKS = 1.002  # factor by which a limiter's clock can be faster than ours


def send(address, port, rate):
    """Sends UDP packets at `rate` bytes of IP a second until the process is ended."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    began, sent, data = time.monotonic(), 0, bytes(PAYLOAD)
    while True:
        while sent < (time.monotonic() - began) * rate:
            try:
                sender.sendto(data, (address, port))
            except OSError:  # the wire is down
                pass
            sent += PAYLOAD + HEADERS
        time.sleep(0.001)


class Group:
    """Two limiters with both policies, and a store for each."""

    def __init__(self, scene, **settings):
        self.scene, self.settings, self.loads = scene, settings, {}
        self.names, self.called = list(PORTS), {}
        self.bed = Testbed(flows=[0, 0], rtt=0.010, configure=self._configure)

    def _configure(self, i, config):
        config["ledger"] = {"store": self.scene.path(f"store{i}")}
        called = {"prepaid": self.called.get(i, "prepaid")}
        config["policies"] = [
            {"name": called.get(name, name), "accounting": "l3", "allocator": "quota",
             "total": f"{TOTAL}B",
             "match": {"direction": "a-to-b", "proto": "udp", "dst-port": port}} | self.settings
            for name, port in PORTS.items() if name in self.names]
        config["policies"][0] |= {"limit": f"{LIMIT:.0f}bit/s", "burst": f"{BURST:.0f}B"}

    def __enter__(self):
        self.bed.__enter__()
        for i in self.bed.boxes():
            self.new_ledger(i)
        self.bed.start()
        return self

    def __exit__(self, *error):
        self.loads = {}
        self.bed.__exit__(*error)

    def new_ledger(self, i):
        """Starts limiter i with an empty ledger, as on its first run."""
        path = self.scene.path("new.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(self.bed.config(i), out)
        done = subprocess.run([box.WEIR, "--new-ledger", box.LEDGER, path], capture_output=True,
                              text=True, check=False)
        expect(done.returncode == 0, f"--new-ledger: {done.stderr}")

    def reload(self, **settings):
        """Reloads other settings at both limiters; returns when they are applied."""
        self.settings |= settings
        for i in self.bed.boxes():
            before = self.bed.telemetry(i).get("/weir/config")["last_reload"]
            with open(self.bed.journal.path(f"l{i}.json"), "w", encoding="utf-8") as out:
                json.dump(self.bed.config(i), out)
            self.bed.limiters[i].signal(signal.SIGHUP)
            last = wait_until(lambda i=i, before=before: self._reloaded(i, before), "the reload")
            expect(last["ok"], f"reload: {last['messages']}")

    def _reloaded(self, i, before):
        config = self.bed.telemetry(i).get("/weir/config")
        done = config["reload"] == "idle" and config["last_reload"] != before
        return done and config["last_reload"]

    def load(self, i, name, rate=RATE):
        """Sends `rate` bytes a second to limiter i for that policy from now on; 0 stops it."""
        if (i, name) in self.loads:
            self.loads.pop((i, name)).stop()
        if rate:
            self.loads[i, name] = self.bed.processes.start(
                f"load{i}-{name}",
                [sys.executable, os.path.abspath(__file__), "--send", sink_address(i),
                 str(PORTS[name]), str(rate)], self.bed.topology.namespace("sources"))

    def passed(self, name, verdict="passed"):
        """Returns the bytes that both limiters have passed."""
        return sum(self.bed.policy(i, name)[verdict]["bytes"] for i in self.bed.boxes())

    def paid(self, name):
        """Returns the bytes that passed and were paid from the total."""
        return self.passed(name) - self.passed(name, "fallback")

    def arrived(self):
        """Returns the bytes of IP at the sinks, of all packets."""
        total = 0
        for i in self.bed.boxes():
            counters = [subprocess.run(
                ["ip", "netns", "exec", self.bed.topology.namespace("sinks"), "cat",
                 f"/sys/class/net/d{i}/statistics/rx_{what}"], capture_output=True, text=True,
                check=True).stdout for what in ("bytes", "packets")]
            total += int(counters[0]) - ETHERNET * int(counters[1])
        return total

    def until_quiet(self):
        """Waits until nothing arrives any more."""
        before = None
        while before != (before := self.arrived()):
            time.sleep(QUIET_S)

    def until_called_spent(self, i):
        """Waits until limiter i raises an alarm for each total with at most a thousandth left,
        units held by limiters without load included. Gossip delays this."""
        telemetry = self.bed.telemetry(i)

        def agree():
            left = [telemetry.get(f"/weir/quota,{name}").get("remaining_bytes") for name in PORTS]
            if None in left: # the limiters have not all reported
                return False
            health = telemetry.get("/weir/health")
            n = sum(units <= TOTAL // 1000 for units in left)
            said = [text for text in health["alarms"] if "spent" in text]
            return max(left) <= (1 - USED) * TOTAL and health["totals_spent"] == n == (
                0 if not said else 1 if "the quota of" in said[0] else int(said[0].split()[0]))
        wait_until(agree, "what is spent to be called so")

    def until_spent(self, count, most, least=USED, begun=0):
        """Waits until count() exceeds `begun` and is constant; asserts and returns its part of
        `most`."""
        before, spent = None, count()
        while spent <= begun or spent != before:
            time.sleep(QUIET_S)
            before, spent = spent, count()
            expect(spent <= most, f"{spent} bytes passed, of {most}")
        expect(spent >= least * most, f"only {spent} bytes passed, of {most}")
        return spent / most


def never_more_than_the_total(scene):
    """Load for both policies at both limiters; one limiter gets a fifth of the other's."""
    with Group(scene) as group:
        began = time.monotonic()
        for i in group.bed.boxes():
            expect(group.bed.telemetry(i).get("/weir/health")["totals_spent"] == 0,
                   "spent before the begin")
        for name in PORTS:
            group.load(1, name, RATE / 5)
            group.load(2, name, RATE)
        prepaid = group.until_spent(lambda: group.passed("prepaid"), TOTAL)
        metered = group.until_spent(lambda: group.paid("metered"), TOTAL)
        expect(group.passed("prepaid", "fallback") == 0, "a fallback that is none")
        beside, seconds = group.passed("metered", "fallback"), time.monotonic() - began
        most = LIMIT / 8 * seconds * CLOCKS + BURST
        expect(0 < beside <= most, f"{beside} bytes beside the total in {seconds:.1f} s")
        for i in group.bed.boxes():
            drops = group.bed.telemetry(i).get("/weir/drops")
            expect(drops["limit"] == 0 < drops["quota"], f"{drops}")
            group.until_called_spent(i)
        arrived = group.arrived()
        expect(arrived <= 2 * TOTAL + most, f"{arrived} bytes at the sinks")
    return (f"{prepaid:.5f} and {metered:.5f} of the totals; beside the second "
            f"{beside / most:.2f} of what may")


def where_it_is_asked_for(scene):
    """All load at one limiter, which starts with half of the total; then a top-up, at the other."""
    with Group(scene) as group:
        began = time.monotonic()
        group.load(1, "prepaid")
        first = group.until_spent(group.arrived, TOTAL)
        took = time.monotonic() - began
        group.load(1, "prepaid", 0)
        group.reload(total=f"{2 * TOTAL}B")
        group.load(2, "prepaid")
        second = group.until_spent(group.arrived, 2 * TOTAL, begun=TOTAL)
    return (f"{first:.5f} of the total at one in {took:.1f} s, {second:.5f} with a top-up at the "
            "other")


def orderly_stop(scene):
    """A stop returns prefetched quota, so all of it is used afterwards."""
    with Group(scene) as group:
        group.load(1, "prepaid")
        group.load(2, "prepaid")
        wait_until(lambda: group.arrived() > TOTAL / 4, "a quarter to pass")
        for i in group.bed.boxes():
            expect(group.bed.stop_limiter(i) == 0, "exit status")
        stopped = group.arrived()
        for i in group.bed.boxes():
            group.bed.start_limiter(i)
        wait_until(lambda: group.arrived() > stopped + TOTAL / 4, "another quarter to pass")
        group.load(1, "prepaid", 0)
        used = group.until_spent(group.arrived, TOTAL)
    return f"{used:.5f} of the total, {stopped / TOTAL:.5f} before the stop"


def crash(scene):
    """A crash loses the prefetched quota, and no more."""
    with Group(scene) as group:
        group.load(1, "prepaid")
        group.load(2, "prepaid")
        wait_until(lambda: group.arrived() > TOTAL / 4, "a quarter to pass")
        group.bed.kill_limiter(1)
        group.bed.start_limiter(1)
        used = group.until_spent(group.arrived, TOTAL, least=0.7)
    return f"{used:.5f} of the total"


def reloads(scene):
    """Under load, reloads move a policy to another slot and back, remove and add it: its total is
    kept."""
    with Group(scene) as group:
        group.load(1, "prepaid")
        group.load(2, "prepaid")
        for part, action in enumerate(("mark", "drop", "mark"), start=1):
            wait_until(lambda part=part: group.arrived() > part * TOTAL / 8, "packets to pass")
            group.reload(action=action)
        for i in group.bed.boxes():
            group.load(i, "prepaid", 0)
        group.until_quiet()  # packets without a policy pass, and are not charged to its total
        group.names = ["metered"]
        group.reload()
        before = group.arrived()
        group.names = list(PORTS)
        group.reload()
        group.load(1, "prepaid")
        used = group.until_spent(group.arrived, TOTAL, begun=before)
    return f"{used:.5f} of the total, {before / TOTAL:.5f} before it went"


def periods(scene):
    """A total for each minute: the next period restores it."""
    with Group(scene, period="60s") as group:
        while not 5 < time.time() % 60 < 40:
            time.sleep(0.1)
        group.load(1, "prepaid")
        group.load(2, "prepaid")
        first = group.until_spent(group.arrived, TOTAL)
        wait_until(lambda: time.time() % 60 < 5, "the minute to end")
        began = time.monotonic()
        wait_until(lambda: group.arrived() > TOTAL, "packets to pass again")
        took = time.monotonic() - began
        second = group.until_spent(group.arrived, 2 * TOTAL)
    return f"{first:.5f} of a period's total, {second:.5f} of two; it began within {took:.2f} s"


def other_names(scene):
    """Two names with the same 32-bit hash share nothing: each limiter passes its own share. A name
    that was forgotten starts again."""
    group = Group(scene)
    group.called = {1: "sub-bc124dc7", 2: "sub-43061219"}
    share = {}
    with group:
        for i, name in group.called.items():
            group.load(i, "prepaid")
            wait_until(lambda i=i, name=name: group.bed.policy(i, name)["passed"]["bytes"]
                       > USED * TOTAL / 2, f"{name} to be spent")
            group.load(i, "prepaid", 0)
            share[i] = group.bed.policy(i, name)["passed"]["bytes"]
            expect(share[i] <= TOTAL / 2, f"{name}: {share[i]} passed")
        group.names = ["metered"]
        group.reload()
        for i, name in group.called.items():
            ask = group.bed.telemetry(i).get
            unused = ask("/weir/ledger")["unused"]
            expect([row["name"] for row in unused] == [name], f"{i}: unused: {unused}")
            expect("refused" in ask("/weir/ledger_forget,metered"), "a name in use is forgotten")
            wait_until(lambda ask=ask, name=name: "forgotten" in ask(f"/weir/ledger_forget,{name}"),
                       f"{name} to be forgotten")
            expect(ask("/weir/ledger")["unused_records"] == 0, "it is still there")
        group.names = list(PORTS)
        group.reload()
        for i, name in group.called.items():
            spent = group.bed.telemetry(i).get(f"/weir/quota,{name}")["spent_bytes"]
            expect(spent < share[i], f"{name}: {spent} spent after it was forgotten")
    return f"{share[1]} and {share[2]} bytes passed"


SCENARIOS = [never_more_than_the_total, where_it_is_asked_for, orderly_stop, crash, reloads,
             other_names]


def main():
    """Plays the scenarios, or sends a load."""
    if sys.argv[1:2] == ["--send"]:
        send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(box.SKIP)
    # A period takes a minute, so that scenario runs only when named.
    box.main(SCENARIOS + [periods] if sys.argv[1:] else SCENARIOS)


if __name__ == "__main__":
    main()

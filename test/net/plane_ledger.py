#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A limit of two limiters in the XDP data plane; one limiter is stopped, killed and restarted.

A hard limit is not exceeded over any time, and the absent limiter's plane passes only the
unreserved share. For a soft limit, each limiter passes half.

    ta ── a │weir 1│ b ── tb       tc ── c │weir 2│ d ── td       gossip over lo

Runs in its own network and mount namespaces. Usage: plane_ledger.py.
"""

import contextlib
import signal
import struct
import subprocess
import threading
import time

import box
import threads
from box import expect, wait_until
from bypass import cable, remove_pins, setup
from lifecycle import raw
from plane import TAKE_OVER, kernel

LIMIT, BURST = 4e6, 30000  # bit/s; bytes
FRAME = 514
RATE = 2 * LIMIT / 8 / FRAME  # packets a second that each limiter receives
LEASE_S = 2
TIMEOUT_S = 1
SLACK = 0.1  # part of a rate over seconds, on a shared machine
CLOCKS = 1.002  # factor by which a limiter's clock can be faster than ours
PERIOD_S = 0.01
ROSTER = [{"name": f"box{i}", "address": f"127.0.0.{i}:5000"} for i in (1, 2)]
WIRES = {1: ("ta", "a", "b", "tb"), 2: ("tc", "c", "d", "td")}


def frame(sport):
    """Returns a UDP frame of FRAME bytes; nothing checks its checksums, which are 0."""
    ethernet = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\x00"
    size = FRAME - len(ethernet)
    ip4 = struct.pack(">BBHHHBBH4s4s", 0x45, 0, size, 0, 0, 64, 17, 0, b"\xc0\0\2\1", b"\xc0\0\2\2")
    return ethernet + ip4 + struct.pack(">HHHH", sport, 9, size - 20, 0) + bytes(size - 28)


def passed_bytes():
    """Returns the bytes that each limiter has transmitted, read at the same instant."""
    with open("/proc/net/dev", encoding="ascii") as lines:
        fields = {line.split(":")[0].strip(): line.split(":")[1].split() for line in lines
                  if ":" in line}
    return [int(fields[WIRES[i][3]][0]) for i in (1, 2)]


class Traffic:
    """Sends packets to both limiters, and samples their transmitted bytes."""

    def __init__(self):
        self.on = {1: False, 2: False}
        self.fragments = False  # one in eight packets; only workers parse fragments
        self.samples = []  # (time before, bytes that each has transmitted, time after)
        self.ends = threading.Event()
        self.threads = [threading.Thread(target=run) for run in (self._send, self._count)]

    def _send(self):
        with raw(WIRES[1][0]) as one, raw(WIRES[2][0]) as two:
            frames, before, due = [frame(1000 + k) for k in range(16)], time.monotonic(), 0.0
            part = frames[0][:20] + struct.pack(">H", 100) + frames[0][22:]
            while not self.ends.is_set():
                time.sleep(0.001)
                now = time.monotonic()
                due = min(due + (now - before) * RATE, 100)
                before = now
                for k in range(int(due)):
                    for i, port in ((1, one), (2, two)):
                        if self.on[i]:
                            port.send(frames[k % 16] if k % 8 or not self.fragments else part)
                due %= 1

    def _count(self):
        while not self.ends.is_set():
            before = time.monotonic()
            self.samples.append((before, passed_bytes(), time.monotonic()))
            time.sleep(PERIOD_S)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        for thread in self.threads:
            thread.join()

    def rates(self, seconds):
        """Measures the rate that each limiter passes for `seconds`, as a part of the limit."""
        before, began = passed_bytes(), time.monotonic()
        time.sleep(seconds)
        after, took = passed_bytes(), time.monotonic() - began
        return [(b - a) * 8 / took / LIMIT for a, b in zip(before, after)]

    def check(self):
        """Checks the limit over every interval of samples; returns the worst as text."""
        worst = 0.0
        for at, (before, passed, _) in enumerate(self.samples):
            for _, then, after in self.samples[at + 1:]:
                most = LIMIT / 8 * (after - before) * CLOCKS + BURST
                worst = max(worst, (sum(then) - sum(passed)) / most)
        expect(len(self.samples) > 50, f"{len(self.samples)} samples")
        expect(worst <= 1, f"{worst:.3f} of limit × time + burst")
        return f"at most {worst:.3f} of limit × time + burst over any time"


@contextlib.contextmanager
def two_boxes(scene, guarantee="hard"):
    """Starts both; for a hard limit, each with a new ledger."""
    try:
        for i, (tester_a, a, b, tester_b) in WIRES.items():
            cable(tester_a, a)
            cable(tester_b, b)
            policy = {"name": "cap", "match": {"direction": "a-to-b"}, "accounting": "l2",
                      "guarantee": guarantee, "limit": f"{LIMIT:.0f}bit/s", "burst": f"{BURST}B"}
            gossip = {"listen": ROSTER[i - 1]["address"], "roster": ROSTER, "insecure": True,
                      "timeout": f"{TIMEOUT_S}s"}
            config = box.wire(f"xdp:{a}", f"xdp:{b}", policies=[policy], gossip=gossip,
                              eal=["--no-huge", "-m", "192", "--no-shconf", "--no-pci"])
            if guarantee == "hard":
                config["ledger"] = {"store": scene.path(f"store{i}"), "lease": f"{LEASE_S}s"}
            weir = scene.box(config, f"box{i}")
            if guarantee == "hard":
                status, _, words = weir.run("--new-ledger", box.LEDGER, weir.config_path)
                expect(status == 0, words)
        yield [weir.start() for weir in scene.boxes]
    finally:
        for weir in scene.boxes:
            if weir.process:
                weir.process.send_signal(signal.SIGCONT)
            weir.kill()
        remove_pins("/sys/fs/bpf/weir/box[12]/*")
        for names in WIRES.values():
            for name in (names[0], names[3]):
                subprocess.run(["ip", "link", "del", "dev", name], capture_output=True,
                               check=False)


def ledger(weir, key):
    """Returns a value of the policy's ledger, as a part of the limit."""
    return weir.get("/weir/ledger,cap")[key] / LIMIT


def goes_on_alone(one, two, traffic, leave):
    """Limiter 1 gets most of the limit and leaves; returns the rate of each after the lease."""
    traffic.on = {1: True, 2: False}
    wait_until(lambda: ledger(one, "balance_bps") > 0.8 and ledger(one, "promised_bps") > 0.3,
               "box 1 to have most of the limit, and to promise of it")
    traffic.on = {1: True, 2: True}
    leave()
    wait_until(lambda: ledger(two, "inherited_bps") > 0.3, "box 2 to inherit")
    here, there = traffic.rates(1.5)
    expect(here > 0.1, f"box 1 passed {here:.3f} of the limit of what is promised to nobody")
    expect(there > 0.3, f"box 2 passed {there:.3f} of the limit of what it has inherited")
    return f"{here:.2f} there and {there:.2f} here"


def both_again(one, two, traffic):
    """Waits until all of the limit is used again."""
    traffic.on = {1: True, 2: True}
    wait_until(lambda: sum(ledger(weir, "balance_bps") for weir in (one, two)) > 0.99
               and sum(traffic.rates(0.3)) > 0.9, "all of the limit to be in use")


def keeps_leases(scene):
    """SIGSTOP, kill -9 and a restart: the kernel's CPUs continue within their share."""
    with two_boxes(scene) as (one, two), Traffic() as traffic:
        stopped = goes_on_alone(one, two, traffic,
                                lambda: one.process.send_signal(signal.SIGSTOP))
        one.process.send_signal(signal.SIGCONT)
        both_again(one, two, traffic)
        killed = goes_on_alone(one, two, traffic, one.kill)
        one.start()
        both_again(one, two, traffic)
        expect(kernel(one, "passed") > 0 and one.total("rx_packets") == 0,
               "packets come by workers")
        words = traffic.check()
    return f"{words}; stopped: {stopped}; killed: {killed}"


def cut_off(scene):
    """Starts that are killed at each step of their takeover. Two programs can continue, together
    within the share of one."""
    with two_boxes(scene) as (one, two), Traffic() as traffic:
        both_again(one, two, traffic)
        for _, *call in TAKE_OVER:
            one.kill()
            threads.kill_after(one.spawn().process, *call)
            time.sleep(0.5)
        one.start()
        both_again(one, two, traffic)
        words = traffic.check()
    return words


def has_all(traffic):
    """Waits until limiter 1 has all load and nearly all of the limit."""
    traffic.on = {1: True, 2: False}
    wait_until(lambda: traffic.rates(0.3)[0] > 0.9, "box 1 to have the limit")


def leaves_half(traffic, leave):
    """Limiter 1 leaves; then each passes half, regardless of load."""
    leave()
    time.sleep(TIMEOUT_S)
    wait_until(lambda: traffic.rates(0.5)[0] < 0.5 + SLACK, "box 1 to keep to half of the limit")
    traffic.on = {1: True, 2: True}
    wait_until(lambda: traffic.rates(0.5)[1] > 0.5 - SLACK, "box 2 to have the other half")
    here, there = traffic.rates(2)
    expect(0.5 - SLACK < here < 0.5 + SLACK, f"box 1 passed {here:.3f} of the limit")
    expect(there < 0.5 + SLACK, f"box 2 passed {there:.3f} of the limit")
    return f"{here:.2f} there and {there:.2f} here"


def soft_halves(scene):
    """A soft limit, mostly held by a limiter that is lost: both pass no more than the limit."""
    with two_boxes(scene, "soft") as (one, two), Traffic() as traffic:
        has_all(traffic)
        stopped = leaves_half(traffic, lambda: one.process.send_signal(signal.SIGSTOP))
        one.process.send_signal(signal.SIGCONT)
        has_all(traffic)
        killed = leaves_half(traffic, one.kill)
        one.start()
        has_all(traffic)
        expect(two.total("rx_packets") == 0, "packets come by workers")
    return f"stopped: {stopped}; killed: {killed}"


def workers_halve(scene):
    """Only control stalls: CPUs and workers of limiter 1 together keep to half of the limit."""
    with two_boxes(scene, "soft") as (one, _), Traffic() as traffic:
        has_all(traffic)
        with threads.standing(one.process.pid):
            time.sleep(TIMEOUT_S)
            wait_until(lambda: traffic.rates(0.5)[0] < 0.5 + SLACK, "CPUs to keep to half")
            alone = traffic.rates(2)[0]
            traffic.fragments = True
            mixed = traffic.rates(4)[0]
        has_all(traffic)
        expect(one.total("rx_packets") > 100, "no fragment came by a worker")
    said = f"CPUs alone {alone:.2f}, with workers {mixed:.2f}"
    expect(all(0.5 - SLACK < rate < 0.5 + SLACK for rate in (alone, mixed)), said)
    return said


if __name__ == "__main__":
    box.main([keeps_leases, cut_off, soft_halves, workers_halve], setup=setup)

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Steps the wall clocks of live limiters with a daily quota: no day ends early or twice.

shifted_clock.c gives limiters the time of day from files that this test writes. So the machine's
clock is unchanged, and the limiters' day starts at noon at any hour.

    l1 ─┐
    l2 ─┼─ loopback      each with its own clock; they agree on the time
    l3 ─┘
"""

import os
import re
import struct
import subprocess
import time

import box
from box import expect, wait_until

CTL = os.path.join(box.BUILD, "app", "weirctl", "weirctl")
CLOCK = os.path.join(box.BUILD, "test", "net", "libshifted_clock.so")
PORT = 17946
DAY_S = 86400
STEP_S = 2 * DAY_S
GROUP_S = 60  # within this time limiters agree
MINUTE_S = 60  # the shortest period
LEFT_S = 8  # seconds of it that are left when limiters start
READ_S = 0.1  # most seconds between reads of the two clocks compared here


class Group:
    """Limiters whose wall clocks start at noon, or `left_s` before the end of a period."""

    def __init__(self, scene, n, period_s=DAY_S, left_s=0):
        if not os.path.exists(CLOCK):
            raise box.Skip(f"{CLOCK} is not built")
        self.zero_s = DAY_S // 2 - left_s - int(time.time()) % DAY_S
        self.period_s = period_s
        self.first = self.number()
        self.boxes, self.clocks = [], []
        roster = [{"name": f"l{i}", "address": f"127.0.0.{i + 1}:{PORT}"} for i in range(n)]
        for i in range(n):
            self.clocks.append(scene.path(f"clock{i}"))
            self.step(0, [i])
            weir = scene.box(box.wire(f"net_ring{2 * i}", f"net_ring{2 * i + 1}") | {
                "policies": [{"name": "volume", "match": {"src": "12.0.0.0/8"},
                              "allocator": "quota", "total": "1GB", "period": f"{period_s}s"}],
                "gossip": {"roster": roster, "timeout": "1s", "insecure": True},
                "ledger": {"store": scene.path(f"store{i}")}}, f"l{i}")
            weir.environment |= {"LD_PRELOAD": CLOCK, "WEIR_SHIFT_FILE": self.clocks[i]}
            status, _, err = weir.run("--new-ledger", box.LEDGER, weir.config_path)
            expect(status == 0, err)
            self.boxes.append(weir)

    def start(self):
        """Starts all together; returns when they use their clocks."""
        for weir in self.boxes:
            weir.spawn()
        for weir in self.boxes:
            weir.await_answer()
        self.until("agrees")
        return self

    def step(self, seconds, which=None, synchronised=False):
        """Sets wall clocks to `seconds` after their original time."""
        for i in range(len(self.boxes)) if which is None else which:
            words = struct.pack("=qq", self.zero_s + seconds, synchronised)
            with open(self.clocks[i], "r+b" if os.path.exists(self.clocks[i]) else "wb") as out:
                out.write(words)

    def clock(self, i):
        """Returns the time as limiter i reports it."""
        return self.boxes[i].get("/weir/quota")

    def period(self, i):
        """Returns the number of limiter i's period."""
        return self.boxes[i].get("/weir/quota,volume")["period_number"]

    def alarms(self, i):
        """Returns the alarms about the clock."""
        alarms = self.boxes[i].get("/weir/health")["alarms"]
        return [text for text in alarms if "wall clock" in text]

    def until(self, reason, which=None, apart_s=0, days=0):
        """Waits until limiters report this state of their clocks. Meanwhile the period must be
        `days` after the first. Each must have an alarm of `apart_s` seconds, or none if that is 0.
        """
        which = range(len(self.boxes)) if which is None else which

        def all_say():
            self.expect_period(self.first + days)
            return all(self.clock(i)["clock"] == reason for i in which)

        wait_until(all_say, lambda: f'"{reason}": {[self.clock(i)["clock"] for i in which]}')
        for i in which:
            clock = self.clock(i)
            expect(abs(clock["clock_apart_ms"] / 1000 - apart_s) < GROUP_S, str(clock))
            said = [int(re.search(r": ([+-]\d+) s$", text)[1]) for text in self.alarms(i)]
            expect(len(said) == (apart_s != 0), f"l{i}, {reason}: alarms of {said}")
            expect(all(abs(seconds - apart_s) < GROUP_S for seconds in said), f"alarms of {said}")
        self.expect_period(self.first + days)

    def expect_period(self, number):
        """Asserts that each running limiter is in this period, or in none yet."""
        for i, weir in enumerate(self.boxes):
            period = self.period(i) if weir.client else None
            expect(period in (None, number), f"l{i} is in period {period}, not {number}")

    def number(self, later_s=0.0):
        """Returns the right period, by a clock without steps."""
        return int(time.time() + self.zero_s + later_s) // self.period_s + 1

    def crash(self, i):
        """Kills limiter i and starts it again."""
        self.boxes[i].kill()
        self.boxes[i].start()

    def stop(self):
        """Stops all."""
        for weir in self.boxes:
            weir.stop()


def all_clocks_are_stepped(scene):
    """A bad server steps all clocks: each limiter keeps its day and reports the step. A restarted
    one follows the others until the step is undone."""
    group = Group(scene, 3).start()
    for seconds, crashes in ((STEP_S, 2), (-STEP_S, 0)):
        others = [i for i in range(3) if i != crashes]
        group.step(seconds)
        group.until("stepped", apart_s=seconds)
        group.crash(crashes)
        group.until("follows the group", [crashes], apart_s=seconds)
        group.until("stepped", others, apart_s=seconds)
        shown = subprocess.run([CTL, "-s", group.boxes[crashes].socket, "quota"],
                               capture_output=True, text=True, check=True).stdout
        expect("follows the group" in shown, shown)
        group.step(0)
        group.until("agrees")
    group.stop()
    return f"by {STEP_S} s and back, both ways, each with a crash"


def one_clock_is_stepped(scene):
    """Only one clock is stepped: the others ignore it, and after a restart it follows them."""
    group = Group(scene, 3).start()
    for seconds in (STEP_S, -STEP_S):
        group.step(seconds, [0])
        group.until("stepped", [0], apart_s=seconds)
        group.until("agrees", [1, 2])
        group.crash(0)
        group.until("follows the group", [0], apart_s=seconds)
        group.until("agrees", [1, 2])
        group.step(0, [0])
        group.until("agrees")
    group.stop()


def periods_go_on_meanwhile(scene):
    """After a step, periods follow the clock since boot: each starts in turn, and not early."""
    group = Group(scene, 2, MINUTE_S, LEFT_S)
    for weir in group.boxes:
        weir.spawn()
    for weir in group.boxes:
        weir.await_answer()
    wait_until(lambda: all(group.clock(i)["clock"] == "agrees" for i in range(2)), "the time")
    group.step(STEP_S)
    wait_until(lambda: all(group.clock(i)["clock"] == "stepped" for i in range(2)), "the step")
    last = [group.period(i) for i in range(2)]
    until = max(last) + 1

    def turned():
        for i in range(2):
            period, most = group.period(i), group.number(READ_S)
            expect(last[i] <= period <= most,
                   f"l{i}: period {period} after {last[i]}, it is {most}")
            last[i] = period
        return min(last) >= until

    began = time.monotonic()
    wait_until(turned, lambda: f"period {until}: {last}", 2 * box.PATIENCE_S)
    group.stop()
    return f"a minute ended {time.monotonic() - began:.1f} s later"


def a_clock_is_set_right(scene):
    """A limiter that started without NTP follows its clock when the kernel first reports it as
    synchronised, only once and never backwards."""
    group = Group(scene, 1).start()
    group.step(STEP_S)
    group.until("stepped", apart_s=STEP_S)
    group.step(STEP_S, synchronised=True)
    wait_until(lambda: group.clock(0)["clock"] == "agrees", "the clock to be accepted")
    wait_until(lambda: group.period(0) == group.first + 2, "the day of that clock")
    for seconds in (2 * STEP_S, 0):
        group.step(seconds, synchronised=True)
        group.until("stepped", apart_s=seconds - STEP_S, days=2)
        group.step(STEP_S, synchronised=True)
        group.until("agrees", days=2)
    group.stop()


SCENARIOS = [all_clocks_are_stepped, one_clock_is_stepped, periods_go_on_meanwhile,
             a_clock_is_set_right]

if __name__ == "__main__":
    box.main(SCENARIOS, box.enter_netns)

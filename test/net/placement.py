#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Placement of sources on workers: they move under traffic, stay in order, and are gathered.

Numbered UDP packets of many sources in a separate network namespace, whose cables are veth pairs:

    test ta ──veth── a │weir, 4 workers│ b ──veth── tb test

Usage: placement.py [SCENARIO...].
"""

import contextlib
import struct
import threading
import time

import box
import reload
from box import expect, wait_until

SOURCES = 96
SIZE = 500  # bytes of an IP packet
MARK = 0x57454952  # identifies the packets of this test
WORKERS = [0, 1, 0, 1]
BATCH, PAUSE_S = 64, 0.01
BURST, BURSTS, BURST_RATE = 250, 10, 4e6  # packets in one burst, number of bursts, bit/s


def numbered(serial):
    """Returns a packet of one of SOURCES, in two prefixes, with its number and send time."""
    source = serial % SOURCES
    data = bytearray(reload.frame("10.9.0.1", SIZE, sport=1000 + source))
    struct.pack_into(">BBBB", data, 26, 10, 0, source % 2, 1 + source // 2)
    struct.pack_into(">IId", data, 42, MARK, serial, time.monotonic())
    return bytes(data)


def placed(limit, place, **more):
    """Returns the policy that matches all of them."""
    return reload.policy("p", "10.9.0.0/16", limit=f"{limit:.0f}bit/s", action="shape",
                         **{"burst": "5000B", "slo": {"p99": "1s"},
                            "place": {"key": "src/24", "round": "300ms"} | place} | more)


class Receiver(reload.Receiver):
    """Records packets that the limiter transmits: [(serial, seconds since it was sent)]."""

    def note(self, data):
        mark, serial, sent = struct.unpack_from(">IId", data, 42) if len(data) >= 58 else (0, 0, 0)
        return (serial, time.monotonic() - sent) if mark == MARK else None

    def check_order(self):
        """Asserts that the packets of each source arrived in order."""
        last = [-1] * SOURCES
        for serial, _ in self.seen:
            source = serial % SOURCES
            expect(serial > last[source], f"source {source}: {serial} after {last[source]}")
            last[source] = serial


@contextlib.contextmanager
def scenery(scene, policies, **more):
    """Yields a wire and a receiver; the scenario stops the limiter."""
    wire = reload.Wire(scene, policies, **{"workers": WORKERS} | more)
    receiver = Receiver()
    try:
        yield wire, receiver
    finally:
        receiver.close()
        wire.weir.kill()
        wire.close()


class Sender:
    """Sends packets in a thread: a burst, then a pause."""

    def __init__(self, wire, batch=BATCH, pause=PAUSE_S):
        self.wire, self.batch, self.pause = wire, batch, pause
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.serial = 0
        self.thread.start()

    def _run(self):
        while not self.ending.is_set():
            for _ in range(self.batch):
                self.wire.socket.send(numbered(self.serial))
                self.serial += 1
            time.sleep(self.pause)

    def stop(self):
        """Stops; returns the number of packets sent."""
        self.ending.set()
        self.thread.join()
        self.wire.sent += self.serial
        return self.serial


def placement(weir):
    """Returns the placement of the policy."""
    return weir.get("/weir/placement,p")


def used(weir):
    """Returns the number of workers that have sources, or 0 while a source moves."""
    now = placement(weir)
    return now["used"] if now["away"] == 0 and now["kept_back"] == 0 else 0


def drops(weir):
    """Returns the drop counters that are not 0, by reason."""
    return {reason: count for reason, count in weir.get("/weir/drops").items() if count}


def ours(lost):
    """Returns the drops after reception."""
    return {reason: count for reason, count in lost.items() if not reason.startswith("rx_")}


def received(weir):
    """Returns the packets received after the last one; a slow limiter leaves some to the kernel."""
    last, now = -1, weir.total("rx_packets")
    while now != last:
        time.sleep(0.3)
        last, now = now, weir.total("rx_packets")
    return now


def waiting(weir):
    """Returns the packets that wait now, or 0 without a shaper."""
    shape = (weir.get("/weir/policy,p") or {}).get("shape")
    return shape["waiting_packets"] if shape else 0


def moves(scene):
    """Spreads and gathers sources repeatedly: none is reordered, and every loss is counted."""
    limit = BATCH / PAUSE_S * SIZE * 8 * 0.9  # lower than the sending rate, so some wait
    with scenery(scene, [placed(limit, {})]) as (wire, receiver):
        weir = wire.weir
        sender = Sender(wire)
        wait_until(lambda: placement(weir)["rounds"] > 1, "rounds")
        for concentrate in (False, True, False, True):
            reload.reloaded(weir, [placed(limit, {"concentrate": concentrate})],
                            changed=1)
            wait_until(lambda one=concentrate: used(weir) == (1 if one else len(WORKERS)),
                       f"concentrate {concentrate}: {placement(weir)}", 20)
        sender.stop()
        n = received(weir)
        wait_until(lambda: waiting(weir) == 0, "all to have left")
        lost = ours(drops(weir))
        wait_until(lambda: len(receiver.seen) + sum(lost.values()) >= n,
                   f"{n} received, {len(receiver.seen)} came, {lost}")
        receiver.check_order()
        expect(len(receiver.seen) + sum(lost.values()) == n, "some came twice")
        expect(set(lost) <= {"ring_full", "queue_full", "delay_exceeded"}, f"{lost}")
        now = placement(weir)
        weir.stop()
    return f"{n} packets, {now['moved']} buckets moved, {now['called_off']} called off, lost {lost}"


def tries(scene):
    """An objective that cannot be met: more workers are tried, then released; nothing is lost."""
    limit = BATCH / PAUSE_S * SIZE * 8 * 4
    with scenery(scene, [placed(limit, {}, slo={"p99": "1us"})]) as (wire, receiver):
        weir = wire.weir
        sender = Sender(wire)
        wait_until(lambda: placement(weir)["trials"] > 0 and placement(weir)["state"] == "full",
                   "other workers to be tried")
        sender.stop()
        n, lost = received(weir), ours(drops(weir))
        wait_until(lambda: len(receiver.seen) + sum(lost.values()) >= n,
                   f"{n} received, {len(receiver.seen)} came, {lost}")
        receiver.check_order()
        now = placement(weir)
        weir.stop()
    added = ", ".join(f"{worker['added_us']:.0f}" for worker in now["workers"])
    return (f"{now['trials']} trials in {now['rounds']} rounds, {now['moved']} buckets moved, "
            f"{now['used']} used; us added: {added}; lost {lost}")


def leaves(scene):
    """Placement ends or changes: all packets are transmitted in order, or counted."""
    limit = BATCH / PAUSE_S * SIZE * 8 / 2
    words = []
    for after in ([], [reload.policy("p", "10.9.0.0/16", limit="1Gbit/s")],
                  [placed(limit * 4, {"key": "src/28"})], None):
        with scenery(scene, [placed(limit, {"concentrate": False})]) as (wire, receiver):
            weir = wire.weir
            sender = Sender(wire)
            wait_until(lambda w=weir: waiting(w) > 50, "some to wait")
            if after is None:
                sender.stop()
                n, lost = received(weir), sum(ours(drops(weir)).values())
                weir.stop()
            else:
                reload.reload(weir, after)
                expect(weir.get("/weir/config")["last_reload"]["ok"], "the reload was refused")
                time.sleep(0.3)
                sender.stop()
                n = received(weir)
                wait_until(lambda w=weir: waiting(w) == 0, "all to have left")
                lost = sum(ours(drops(weir)).values())
            wait_until(lambda want=n - lost: len(receiver.seen) >= want,
                       f"{n} received, {len(receiver.seen)} came, {lost} were lost", 10)
            receiver.check_order()
            expect(len(receiver.seen) + lost == n, "some came twice")
            words.append(f"{n} ({lost} lost)")
            if after is not None:
                weir.stop()
    return ", ".join(words)


def bursts(scene, policies, workers):
    """Sends BURSTS bursts; returns the 99th percentile of delays in seconds, and the placement."""
    with scenery(scene, policies, workers=workers) as (wire, receiver):
        for burst in range(BURSTS):
            for serial in range(burst * BURST, (burst + 1) * BURST):
                wire.socket.send(numbered(serial))
            wait_until(lambda n=burst: len(receiver.seen) == (n + 1) * BURST, "a burst to leave")
        receiver.check_order()
        expect(not drops(wire.weir), f"{drops(wire.weir)}")
        where = wire.weir.get("/weir/placement,p") if len(workers) > 1 else None
        wire.weir.stop()
    waits = sorted(wait for _, wait in receiver.seen)
    return waits[int(0.99 * len(waits))], where


def price(scene):
    """Compares the p99 of an aggregate on four workers with that of one worker, which suffices."""
    policies = [placed(BURST_RATE, {}, shape={"delay": "10s"})]
    alone, _ = bursts(scene, policies, [0])
    placed4, where = bursts(scene, policies, WORKERS)
    expect(where["used"] == 1, f"{where}")
    policies = [reload.policy("p", "10.9.0.0/16", limit=f"{BURST_RATE:.0f}bit/s", burst="5000B",
                              action="shape", shape={"delay": "10s"})]
    hashed4, _ = bursts(scene, policies, WORKERS)
    expect(0.7 < placed4 / alone < 1.4, f"p99: {placed4:.4f} s, of one worker {alone:.4f} s")
    return (f"p99 of one worker {alone * 1e3:.1f} ms, of four placed {placed4 * 1e3:.1f} ms, "
            f"by hash {hashed4 * 1e3:.1f} ms")


def main():
    """Plays the scenarios in a separate network namespace."""
    box.main([moves, tries, leaves, price], box.enter_netns)


if __name__ == "__main__":
    main()

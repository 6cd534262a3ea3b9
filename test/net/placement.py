#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Sources that are given to workers: they move under traffic, in order, and come together.

Numbered UDP packets of many sources in a network namespace of its own, whose cables are veth pairs:

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
MARK = 0x57454952  # of our own packets
WORKERS = [0, 1, 0, 1]
BATCH, PAUSE_S = 64, 0.01
BURST, BURSTS, BURST_RATE = 250, 10, 4e6  # packets at once, how often, bit/s


def numbered(serial):
    """A packet of one of SOURCES, of two prefixes, that says which one it is."""
    source = serial % SOURCES
    data = bytearray(reload.frame("10.9.0.1", SIZE, sport=1000 + source))
    struct.pack_into(">BBBB", data, 26, 10, 0, source % 2, 1 + source // 2)
    struct.pack_into(">IId", data, 42, MARK, serial, time.monotonic())
    return bytes(data)


def placed(limit, place, **more):
    """The policy that all of them are of."""
    return reload.policy("p", "10.9.0.0/16", limit=f"{limit:.0f}bit/s", action="shape",
                         **{"burst": "5000B", "slo": {"p99": "1s"},
                            "place": {"key": "src/24", "round": "300ms"} | place} | more)


class Receiver(reload.Receiver):
    """What leaves the box: [(serial, seconds under way)], as it comes."""

    def note(self, data):
        mark, serial, sent = struct.unpack_from(">IId", data, 42) if len(data) >= 58 else (0, 0, 0)
        return (serial, time.monotonic() - sent) if mark == MARK else None

    def check_order(self):
        """Those of each source have come in their order."""
        last = [-1] * SOURCES
        for serial, _ in self.seen:
            source = serial % SOURCES
            expect(serial > last[source], f"source {source}: {serial} after {last[source]}")
            last[source] = serial


@contextlib.contextmanager
def scenery(scene, policies, **more):
    """A wire and who listens; the box is the scenario's to stop."""
    wire = reload.Wire(scene, policies, **{"workers": WORKERS} | more)
    receiver = Receiver()
    try:
        yield wire, receiver
    finally:
        receiver.close()
        wire.weir.kill()
        wire.close()


class Sender:
    """Packets flow meanwhile, some at once and then a pause."""

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
        """How many there were."""
        self.ending.set()
        self.thread.join()
        self.wire.sent += self.serial
        return self.serial


def placement(weir):
    """How it stands."""
    return weir.get("/weir/placement,p")


def used(weir):
    """Workers that have sources, when none is on its way."""
    now = placement(weir)
    return now["used"] if now["away"] == 0 and now["kept_back"] == 0 else 0


def drops(weir):
    """Packets dropped for whatever reason."""
    return {reason: count for reason, count in weir.get("/weir/drops").items() if count}


def ours(lost):
    """Those of them that had come in."""
    return {reason: count for reason, count in lost.items() if not reason.startswith("rx_")}


def received(weir):
    """Packets that the box has taken in when no more come: a slow one leaves some to the kernel."""
    last, now = -1, weir.total("rx_packets")
    while now != last:
        time.sleep(0.3)
        last, now = now, weir.total("rx_packets")
    return now


def waiting(weir):
    """Packets that wait now, if any may."""
    shape = (weir.get("/weir/policy,p") or {}).get("shape")
    return shape["waiting_packets"] if shape else 0


def moves(scene):
    """Spread and gathered again and again, no source is reordered, and nothing is lost unsaid."""
    limit = BATCH / PAUSE_S * SIZE * 8 * 0.9  # some wait, though who sends is slower than that
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
    """An objective that nobody can keep: more workers are tried, and given up; nothing is lost."""
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
    """A policy that is placed no more, or another way: all leaves in order, or is counted."""
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
    """What BURSTS of packets waited that came at once each: 99 % of them at most, in seconds."""
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
    """What four workers cost an aggregate that one can do: p99 beside that of a box with one."""
    policies = [placed(BURST_RATE, {}, shape={"delay": "10s"})]
    alone, _ = bursts(scene, policies, [0])
    placed4, where = bursts(scene, policies, WORKERS)
    expect(where["used"] == 1, f"{where}")
    policies = [reload.policy("p", "10.9.0.0/16", limit=f"{BURST_RATE:.0f}bit/s", burst="5000B",
                              action="shape", shape={"delay": "10s"})]
    hashed4, _ = bursts(scene, policies, WORKERS)
    expect(0.9 < placed4 / alone < 1.1, f"p99: {placed4:.4f} s, of one worker {alone:.4f} s")
    return (f"p99 of one worker {alone * 1e3:.1f} ms, of four placed {placed4 * 1e3:.1f} ms, "
            f"by hash {hashed4 * 1e3:.1f} ms")


def main():
    """The cables are in a namespace of their own."""
    box.main([moves, tries, leaves, price], box.enter_netns)


if __name__ == "__main__":
    main()

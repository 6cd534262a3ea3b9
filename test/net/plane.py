#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The kernel's data plane: what it decides by itself, what it leaves to workers, and that both go
on while the process is killed, starts again and reloads.

Runs in network and mount namespaces of its own. Usage: plane.py [--kills N] [SCENARIO...].
"""

import contextlib
import struct
import subprocess
import sys
import time

import box
from box import expect, wait_until
from bypass import Stream, box_between, setup
from lifecycle import raw, udp_frame
from reload import reloaded

LIMIT_MBIT = 8
BURST = 20000
POLICIES = [{"name": "udp", "match": {"direction": "a-to-b"}, "accounting": "l2",
             "limit": f"{LIMIT_MBIT}Mbit/s", "burst": f"{BURST}B"}]
SENT_S = 2
SLACK = 0.04  # of a rate over seconds, on a machine that others use too
KILLS = 3


def wire(scene, policies=None, **keys):
    """A box of the kernel's, between two cables."""
    config = box.wire("xdp:a", "xdp:b", policies=policies or POLICIES)
    config["wires"][0] |= keys
    return box_between(scene, config)


def kernel(weir, *keys):
    """A sum over both ports."""
    return sum(port[f"kernel_{key}"] for port in weir.get("/weir/ports") for key in keys)


def fragment(sport, serial):
    """A later fragment of such a frame, which has no ports."""
    frame = bytearray(udp_frame(sport, serial))
    frame[20:22] = struct.pack(">H", 100)
    return bytes(frame)


class Flood:
    """What arrived, in bit/s and frames, of frames that are sent as fast as can be."""

    def __init__(self, seconds, make=udp_frame, flows=16):
        self.sent, self.got, self.bytes = 0, 0, 0
        self.tx, self.rx = raw("ta"), raw("tb")
        self.rx.setblocking(False)
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            for sport in range(flows):
                self.tx.send(make(1000 + sport, self.sent))
                self.sent += 1
            self.drain()
        time.sleep(0.05)
        self.drain()
        self.took = time.monotonic() - began
        self.bps = self.bytes * 8 / self.took
        self.tx.close()
        self.rx.close()

    def drain(self):
        """Takes what has arrived."""
        with contextlib.suppress(BlockingIOError):
            while True:
                frame = self.rx.recv(65536)
                if frame[12:14] == b"\x08\x00":
                    self.got += 1
                    self.bytes += len(frame)

    def expect_limit(self, mbit=LIMIT_MBIT, least=1 - 3 * SLACK):
        """The limit was kept, and used; of the burst at most one was there."""
        most = mbit * 1e6 + BURST * 8 / self.took
        said = f"{self.bps / 1e6:.3f} of {mbit} Mbit/s"
        expect(least * mbit * 1e6 <= self.bps <= most * (1 + SLACK), said)
        return said


def decides(scene):
    """Packets that it can judge come by no worker, hold the limit, and are counted one by one."""
    with wire(scene) as weir:
        weir.start()
        seen = weir.total("rx_packets")
        flood = Flood(SENT_S)
        said = flood.expect_limit()
        expect(weir.total("rx_packets") == seen, "packets come by workers")
        wait_until(lambda: kernel(weir, "passed", "dropped") == flood.sent, "not all are counted")
        policy = weir.get("/weir/policy,udp")
        expect(policy["passed"]["packets"] == flood.got, f"{flood.got} passed: {policy}")
        expect(policy["dropped"]["packets"] == flood.sent - flood.got, str(policy))
        expect(kernel(weir, "unsent", "unserved") == 0, str(weir.get("/weir/ports")))
        weir.stop()
    return said


def samples(scene):
    """The limiter knows its flows by what the kernel has seen of them."""
    with wire(scene, [POLICIES[0] | {"allocator": "fps"}]) as weir:
        weir.start()
        sampled = 0

        def all_seen():
            nonlocal sampled
            Flood(0.2, flows=8)
            sampled = weir.get("/weir/policy,udp")["flows_sampled"]
            return sampled >= 6  # two of eight may have one slot between them

        wait_until(all_seen, lambda: f"{sampled} of 8 flows are seen")
        expect(weir.total("rx_packets") == 0, "packets come by workers")
        weir.stop()
    return f"{sampled} of 8 flows"


def leaves(scene):
    """Fragments come by workers, who share the limit; and so do the packets of other policies."""
    policies = POLICIES + [
        {"name": "slow", "match": {"direction": "a-to-b", "src": "192.0.2.8/29"},
         "limit": "1Mbit/s", "action": "shape"},
        {"name": "ports", "match": {"direction": "a-to-b", "proto": "udp", "dst-port": 4711},
         "limit": "100Mbit/s"}]
    with wire(scene, policies) as weir:
        weir.start()
        _, described, _ = weir.run("--describe", weir.config_path)
        expect('policy "slow", as it lets packets wait' in described
               and 'policy "udp"' not in described.split("but for")[1].split("\n  while")[0],
               described)
        both = Flood(SENT_S, lambda sport, n: (fragment if sport % 2 else udp_frame)(sport, n))
        said = both.expect_limit()
        expect(weir.total("rx_packets") > both.got / 100, "no fragment came by a worker")
        wait_until(lambda: kernel(weir, "passed", "dropped") == both.sent // 2, "not all counted")
        seen = weir.total("rx_packets")
        Flood(0.2, lambda sport, n: udp_frame(sport, n)[:29] + b"\x09" + udp_frame(sport, n)[30:])
        wait_until(lambda: weir.get("/weir/policy,slow")["passed"]["packets"] > 0, "none passes")
        expect(weir.total("rx_packets") > seen, "none came by a worker")
        weir.stop()
    return f"half of it fragments: {said}"


def goes_on(scene):
    """Killed and started, again and again: nothing is lost, all is counted, and the limit holds
    with nobody there."""
    with wire(scene) as weir:
        weir.start()
        with Stream() as stream:
            stream.more(100)
            for _ in range(KILLS):
                weir.kill()
                stream.more(100)
                weir.start()
                stream.more(100)
            weir.stop()
            stream.more(100)
            lost = stream.lost()
            expect(lost == 0, f"{lost} of {stream.sent} lost")
        alone = Flood(SENT_S)
        said = alone.expect_limit()
        weir.start()
        policy = weir.get("/weir/policy,udp")
        expect(policy["passed"]["packets"] == stream.sent + alone.got, str(policy))
        expect(policy["dropped"]["packets"] == alone.sent - alone.got, str(policy))
        Flood(SENT_S).expect_limit()
        weir.kill()
        Flood(SENT_S).expect_limit()
    return f"{KILLS} kills and a stop: 0 of {stream.sent} lost; then {said}"


def changes(scene):
    """A reload changes limits and whose packets they are, while packets pass."""
    with wire(scene) as weir:
        weir.start()
        Flood(SENT_S).expect_limit()
        half = POLICIES[0] | {"limit": f"{LIMIT_MBIT // 2}Mbit/s"}
        reloaded(weir, [half], changed=1)
        halved = Flood(SENT_S).expect_limit(LIMIT_MBIT // 2)
        other = {"name": "other", "match": {"dst": "198.51.100.0/24"}, "limit": "1Mbit/s"}
        reloaded(weir, [other, half | {"match": {"dst": "192.0.2.0/30"}}], added=1, changed=1)
        Flood(SENT_S).expect_limit(LIMIT_MBIT // 2)
        reloaded(weir, [other], removed=1)
        free = Flood(0.5)
        expect(free.got == free.sent, f"{free.got} of {free.sent}")
        weir.stop()
    return halved


def refused(scene):
    """What it cannot stand on is said with the remedy."""
    with wire(scene) as weir:
        subprocess.run(["ip", "link", "add", "v", "link", "a", "type", "macvlan"], check=True)
        ports = weir.config["ports"]
        weir.config["ports"] = {"a": {"device": "xdp:v"}, "b": {"device": "xdp:b"}}
        weir.write()
        status, _, words = weir.run("-c", weir.config_path)
        expect(status != 0 and "ports.a" in words, words)
        subprocess.run(["ip", "link", "del", "dev", "v"], check=True)
        weir.config["ports"] = ports
        weir.write()
        subprocess.run(["ethtool", "-L", "a", "rx", "2"], check=True)
        status, _, words = weir.run("-c", weir.config_path)
        expect(status != 0 and "ports.a: a has 2 receive queues" in words
               and "ethtool -L a rx 1" in words, words)
        subprocess.run(["ethtool", "-L", "a", "rx", "1"], check=True)
        weir.start().stop()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--kills"]:
        KILLS = int(sys.argv[2])
        del sys.argv[1:3]
    box.main([decides, samples, leaves, goes_on, changes, refused], setup=setup)

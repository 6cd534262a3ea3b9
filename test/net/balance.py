#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Each packet that enters leaves or is counted: received = transmitted + dropped by reason.

A round is a start with a random kind of port and number of workers. It has phases with random
policies, frames, and events while the frames come: the far link goes down and up, the process
stands still. The kernel is the oracle: it counts the packets on the interfaces of both sides. At
the end of a phase nothing waits, and the sums are exact.

    balance.py [SCENARIO]        WEIR_SEED=N: another seed; WEIR_ROUNDS=N: so many rounds
"""

import os
import random
import shutil
import signal
import struct
import subprocess
import time

import box
from box import expect, ip, wait_until
from bypass import cable, setup
from lifecycle import raw
from reload import reloaded

ROUNDS = int(os.environ.get("WEIR_ROUNDS", "200" if "WEIR_ALL_SEEDS" in os.environ else "3"))
SEED = int(os.environ.get("WEIR_SEED", "1"), 0)
PHASES = 6              # a round
FRAMES = 700            # a phase, or some more
BATCHES = (1, 8, 64, 700)
PORTS = {"af_packet": ("net_af_packet0,iface=a", "net_af_packet1,iface=b"),
         "af_xdp": ("net_af_xdp0,iface=a", "net_af_xdp1,iface=b"),
         "xdp": ("xdp:a", "xdp:b")}
CAUSES = ("tx_dropped", "tx_errors")  # drops by the kernel while a link is down
REST_S = 1.2             # the kernel's drops at sockets are read once a second
LOOK_S = .05


COLUMNS = {"rx_packets": 1, "tx_errors": 10, "tx_dropped": 11}


def counter(interface, name):
    """One of the kernel's counters of an interface."""
    with open("/proc/net/dev", encoding="ascii") as file:
        for line in file:
            if line.split(":")[0].strip() == interface:
                return int(line.split(":")[1].split()[COLUMNS[name]])
    raise AssertionError(f"there is no interface {interface}")


class Round:
    """A configuration, frames and events, all of them random."""

    def __init__(self, number):
        self.number = number
        self.draw = random.Random(SEED << 32 | number)
        self.kind = list(PORTS)[number % len(PORTS)]
        self.workers = [0, 1] if self.draw.randrange(2) else [0]
        self.distribute = len(self.workers) > 1 and self.draw.randrange(2) > 0
        self.mtu = self.draw.choice((1500, 1500, 1500, 2000))
        self.words, self.phase = set(), 0

    def policies(self):
        """Policies of random actions for parts of the traffic."""
        out = []
        for i in range(self.draw.randrange(5)):
            policy = {"name": f"p{i}", "match": {"dst": f"10.{i}.0.0/16"}, "allocator": "static",
                      "limit": self.draw.choice(("200kbit/s", "2Mbit/s", "1Gbit/s")),
                      "burst": self.draw.choice(("10kB", "100kB"))}
            kind = self.draw.randrange(6)
            if kind == 0:
                policy |= {"action": "mark", "mark": "ecn"}
            elif kind == 1:
                policy |= {"action": "count"}
            elif kind == 2:
                policy |= {"action": "shape", "shape": {"delay": "200ms"}}
            elif kind == 3:
                policy |= {"per": "src", "sources": 1024}
            out.append(policy)
        return out

    def config(self):
        """A wire with these."""
        config = box.wire(*PORTS[self.kind], self.mtu, workers=self.workers,
                          policies=self.policies())
        config["wires"][0]["distribute"] = self.distribute
        for port in config["ports"].values():
            port["buffers"] = 8192
        return config

    def frame(self):
        """A frame of random tags, addresses and size, in a box's MTU."""
        tags = b"".join(struct.pack(">HH", 0x8100, self.draw.randrange(1, 4095))
                        for _ in range(self.draw.choice((0, 0, 0, 1, 2))))
        size = self.draw.choice((20, 46, 46, 300, self.draw.randrange(20, 1500), 1500))
        head = struct.pack(">BBHHHBBH4B4B", 0x45, 0, size, 0, 0x4000, 64, 17, 0, 192, 0, 2,
                           self.draw.randrange(256), 10, self.draw.randrange(6), 0, 1)
        packet = (head + struct.pack(">HHHH", self.draw.randrange(40), 9, size - 20, 0)
                  ).ljust(size, b"x")[:size]
        kind = b"\x08\x00"
        if self.draw.randrange(12) == 0:
            kind, packet = self.draw.choice(((b"\x08\x06", bytes(46)), (b"\x88\xcc", bytes(100)),
                                             (b"\x86\xdd", b"\x60" + bytes(59))))
        return b"\2\0\0\0\0\1\2\0\0\0\0\2" + tags + kind + packet

    # Events --------------------------------------------------------------------------------------

    def link(self, _):
        """A far end goes down, and later comes up."""
        end = self.draw.choice(("ta", "tb"))
        ip(f"link set dev {end} down")
        time.sleep(self.draw.choice((0, .01, .3)))
        ip(f"link set dev {end} up")

    def change(self, weir):
        """Other policies."""
        reloaded(weir, self.policies())

    def stall(self, weir):
        """The process stands still while frames come."""
        weir.process.send_signal(signal.SIGSTOP)
        self.send(2000)
        weir.process.send_signal(signal.SIGCONT)

    # Play ----------------------------------------------------------------------------------------

    def send(self, n):
        """Frames in either direction; the kernel may refuse one while the link is down."""
        sock = self.socks[self.draw.randrange(2)]
        batch = [self.frame() for _ in range(min(n, 50))]
        for i in range(n):
            try:
                sock.send(batch[i % len(batch)])
            except OSError:
                pass

    def phases(self, scene):
        """Frames and events in each phase; then all has come to rest. Yields the sums."""
        for end in ("ta", "tb"):
            cable(end, end[1])
            ip(f"link set dev {end} mtu {self.mtu}")
            ip(f"link set dev {end[1]} mtu {self.mtu}")
        weir = scene.box(self.config(), f"r{self.number}").start()
        wait_until(lambda: all(p["link"] == "UP" for p in weir.get("/weir/ports")), "links are up")
        before = self.outside()
        self.socks = [raw("ta"), raw("tb")]
        for self.phase in range(PHASES):
            sent, events = 0, self.draw.choices((self.link, self.stall, self.change, None), k=2)
            while sent < FRAMES:
                n = self.draw.choice(BATCHES)
                self.send(n)
                sent += n
                time.sleep(self.draw.choice((0, 0, .001, .01)))
                event = events.pop() if events else None
                if event:
                    self.words.add(event.__name__)
                    event(weir)
            self.settle(weir, before)
            yield weir, self.since(before)
            self.change(weir)
        for sock in self.socks:
            sock.close()

    def since(self, before):
        """The kernel's sums since the start."""
        return {key: count - before[key] for key, count in self.outside().items()}

    def settle(self, weir, before):
        """Waits until the sums are exact at two looks, or no counter moves."""
        seen, exact, moved = None, 0, time.monotonic()
        deadline = moved + box.PATIENCE_S
        while time.monotonic() < deadline:
            now = (weir.get("/weir/drops"), weir.get("/weir/balance"), self.since(before),
                   self.in_kernel(weir))
            exact = exact + 1 if now[1]["waiting"] == 0 and self.missing(*now) == 0 else 0
            if now != seen:
                seen, moved = now, time.monotonic()
            if exact == 2 or (now[1]["waiting"] == 0 and time.monotonic() > moved + REST_S):
                return
            time.sleep(LOOK_S)
        expect(False, f"{self}: no rest: {seen}")

    @staticmethod
    def missing(drops, balance, outside, kernel):
        """Packets that are in no counter of Weir, or that its workers have in two."""
        lost = sum(drops.values()) + sum(kernel.values())
        return outside["entered"] - outside["left"] - lost or \
            balance["received"] - balance["transmitted"] - balance["dropped"]

    @staticmethod
    def outside():
        """Sums of the kernel's counters of the interfaces."""
        out = {"entered": counter("a", "rx_packets") + counter("b", "rx_packets"),
               "left": counter("ta", "rx_packets") + counter("tb", "rx_packets"),
               "refused": 0}
        for port in "ab":
            out["refused"] += sum(counter(port, name) for name in CAUSES)
        return out

    @staticmethod
    def in_kernel(weir):
        """Packets that the programs of the ports dropped or did not send."""
        ports = weir.get("/weir/ports")
        return {key: sum(port[key] for port in ports) for key in ("kernel_dropped",
                                                                  "kernel_unsent")}

    def check(self, weir, outside):
        """The sums."""
        drops, balance = weir.get("/weir/drops"), weir.get("/weir/balance")
        kernel, health = self.in_kernel(weir), weir.get("/weir/health")
        sums = f"{self}\n  {outside}\n  dropped {({k: v for k, v in drops.items() if v})}" \
               f"\n  kernel {kernel}\n  {balance}"
        expect(balance["missing"] == balance["surplus"] == 0, f"the box: {sums}")
        expect(balance["received"] == balance["transmitted"] + balance["dropped"], f"box: {sums}")
        expect(health["active"]["packet_balance"] == 0, f"alarm: {sums}")
        missing = self.missing(drops, balance, outside, kernel)
        # Without a carrier the kernel drops transmitted packets, some of them without a count.
        unsent = max(balance["transmitted"] - outside["left"], 0) + outside["refused"]
        most = unsent if "link" in self.words else 0
        expect(0 <= missing <= most, f"{missing} packets are in no counter: {sums}")
        return outside["entered"]

    def __str__(self):
        return f"round {self.number}.{self.phase} of seed {SEED}: {self.kind}, " \
               f"{len(self.workers)} workers" \
               f"{', distributed' if self.distribute else ''}, MTU {self.mtu}, " \
               f"{' '.join(sorted(self.words)) or 'no events'}"


def rounds(scene):
    """All of them."""
    packets, kinds = 0, set()
    for number in range(ROUNDS):
        now = Round(number)
        try:
            for weir, outside in now.phases(scene):
                entered = now.check(weir, outside)
            weir.stop()
            packets += entered
        finally:
            for weir in scene.boxes:
                weir.kill()
            for name in ("ta", "tb"):
                subprocess.run(["ip", "link", "del", "dev", name], capture_output=True,
                               check=False)
            shutil.rmtree("/sys/fs/bpf/weir", ignore_errors=True)
        kinds.add(now.kind)
    return f"{ROUNDS} rounds of {PHASES} phases, {packets} packets, {', '.join(sorted(kinds))}; " \
           f"seed {SEED}"


if __name__ == "__main__":
    box.main([rounds], setup=setup)

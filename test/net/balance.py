#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Each packet that enters leaves or is counted: received = transmitted + dropped by reason.

A round is a start with random ports, wires and workers. Its phases have random policies and frames.
There are events among the frames: a far link goes down and up, policies change, the process stands
still, or it is killed and started again. The kernel is the oracle: it counts the packets on the
interfaces of both sides. At the end of a phase nothing waits, and the sums are exact for each wire.
Rounds run in several network namespaces at a time.

    balance.py [SCENARIO]   WEIR_SEED=N: another seed; WEIR_ROUNDS=N: so many rounds;
                            WEIR_JOBS=N: so many at a time
"""

import concurrent.futures
import os
import random
import shutil
import signal
import struct
import subprocess
import threading
import time
import traceback

import box
from box import expect, ip, wait_until
from bypass import cable, setup
from lifecycle import raw
from reload import reloaded

LONG = "WEIR_ALL_SEEDS" in os.environ
ROUNDS = int(os.environ.get("WEIR_ROUNDS", "500" if LONG else "3"))
SEED = int(os.environ.get("WEIR_SEED", "1"), 0)
JOBS = int(os.environ.get("WEIR_JOBS", "3"))
PHASES = 20 if LONG else 8    # a round
FRAMES = (50, 300, 700)  # a phase, or some more
BATCHES = (1, 8, 64, 700)
STALLED = (100, 2000)   # frames while the process stands still
UNSERVED = 100          # frames while there is no process
STARTING = 300          # frames during a start
PORTS = {"af_packet": "net_af_packet{},iface={}", "af_xdp": "net_af_xdp{},iface={}",
         "xdp": "xdp:{1}"}
REST_S = .5             # for interfaces, when workers have found nothing
LOOK_S = .02
SHOWN = 1000            # phases between two lines about the progress

# Columns of /proc/net/dev; the kernel drops frames in the last two while a link is down.
RX_PACKETS, TX_ERRORS, TX_DROPPED = 1, 10, 11
DEVICE = ("imissed", "ierrors", "oerrors", "rx_nombuf")  # drops in /ethdev/stats
PROGRAM = ("kernel_dropped", "kernel_unsent", "kernel_unserved")  # drops in /weir/ports
DECIDED = ("kernel_passed", "past_packets") + PROGRAM


def interfaces():
    """Returns the kernel's counters of all interfaces."""
    with open("/proc/net/dev", encoding="ascii") as file:
        rows = [line.split(":") for line in file if ":" in line]
    return {name.strip(): [int(word) for word in row.split()] for name, row in rows}


class Round:
    """A configuration, frames and events, all of them random."""

    def __init__(self, number):
        self.number = number
        self.draw = random.Random(SEED << 32 | number)
        self.kind = list(PORTS)[number % len(PORTS)]
        self.workers = [0, 1] if self.draw.randrange(2) else [0]
        self.distribute = len(self.workers) > 1 and self.draw.randrange(2) > 0
        self.mtu = self.draw.choice((1500, 1500, 1500, 2000))
        self.wires = self.draw.choice(("ab", "ab", "abcd"))
        self.words, self.phase, self.socks = set(), 0, []
        self.late = False       # packets may still be in a ring of the kernel after "link"

    def policies(self):
        """Returns policies of random actions for parts of the traffic."""
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
                delay = self.draw.choice(("20ms", "200ms"))
                policy |= {"action": "shape", "shape": {"delay": delay}}
            elif kind == 3:
                policy |= {"per": "src", "sources": 1024}
            out.append(policy)
        return out

    def config(self):
        """Returns a configuration of wires with these policies."""
        config = box.wire("", "", workers=self.workers, policies=self.policies())
        config["ports"] = {port: {"device": PORTS[self.kind].format(i, port), "mtu": self.mtu,
                                  "buffers": 4096} for i, port in enumerate(self.wires)}
        config["wires"] = [{"name": a + b, "a": a, "b": b, "distribute": self.distribute,
                            "default": self.draw.choice(("pass", "pass", "pass", "drop"))}
                           for a, b in zip(self.wires[::2], self.wires[1::2])]
        return config

    def frame(self):
        """Returns a frame of random tags, addresses and size, within the limiter's MTU."""
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
        """Takes a far end down, and later up."""
        end = f"t{self.draw.choice(self.wires)}"
        ip(f"link set dev {end} down")
        time.sleep(self.draw.choice((0, .01, .3)))
        ip(f"link set dev {end} up")

    def change(self, weir):
        """Changes the policies."""
        reloaded(weir, self.policies())

    def stall(self, weir):
        """Stops the process while frames arrive."""
        weir.process.send_signal(signal.SIGSTOP)
        self.send(self.draw.choice(STALLED))
        weir.process.send_signal(signal.SIGCONT)

    def kill(self, weir):
        """Kills the process amid frames; the next one counts from zero."""
        comes = self.draw.randrange(2) and threading.Thread(target=self.send, args=(STARTING, .01))
        weir.kill()
        self.send(UNSERVED)
        self.settle_kernel()
        began = self.outside()
        weir.spawn()
        if comes:
            comes.start()
        weir.await_answer()
        if comes:
            comes.join()
        self.links_up(weir)
        now = self.settle(weir, exact=not comes, before=began)
        for wire, sums in now.items():
            taken = sums["received"] + sums["decided"] + sums["missed"]
            expect(sums["left"] - self.first[wire]["left"]
                   <= sums["entered"] - self.first[wire]["entered"], f"{self}: too many left")
            expect(taken <= sums["entered"] - began[wire]["entered"],
                   f"{self}: {wire}: counts of the killed process: {sums} after {began[wire]}")
        self.before, self.late = now, False

    # Rounds
    # -------------------------------------------------------------------------------------------

    def send(self, n, pause=0):
        """Sends frames in both directions; the kernel can reject one while the link is down."""
        sock = self.draw.choice(self.socks)
        batch = [self.frame() for _ in range(min(n, 50))]
        for i in range(n):
            try:
                sock.send(batch[i % len(batch)])
            except OSError:
                pass
            if pause and i % 10 == 0:
                time.sleep(pause)

    def links_up(self, weir):
        """Waits for all links."""
        wait_until(lambda: all(p["link"] == "UP" for p in weir.get("/weir/ports")), "links are up")

    def phases(self, scene):
        """Sends frames and makes events in each phase, then waits for rest. Yields after each."""
        for port in self.wires:
            cable(f"t{port}", port)
            for end in (port, f"t{port}"):
                ip(f"link set dev {end} mtu {self.mtu}")
        weir = scene.box(self.config(), f"r{self.number}").start()
        self.links_up(weir)
        self.first = self.before = self.read(weir)
        self.socks = [raw(f"t{port}") for port in self.wires]
        for self.phase in range(PHASES):
            self.words &= {"link"} if self.late else set()
            sent, total = 0, self.draw.choice(FRAMES)
            events = self.draw.choices((self.link, self.stall, self.change, self.kill, None),
                                       (4, 4, 4, 1, 4), k=2)
            while sent < total:
                n = self.draw.choice(BATCHES)
                self.send(n)
                sent += n
                time.sleep(self.draw.choice((0, 0, .001, .01)))
                event = events.pop() if events else None
                if event:
                    self.words.add(event.__name__)
                    event(weir)
            now = self.settle(weir)
            self.check(weir, now)
            yield
            self.remember(now)
            self.change(weir)
        for sock in self.socks:
            sock.close()
        weir.stop()

    def remember(self, now):
        """Restarts the sums of exact wires. Without a carrier a socket's ring keeps frames, so the
        other sums can become exact later."""
        missing = self.missing(now)
        self.before = {wire: self.before[wire] if missing[wire] else now[wire] for wire in now}
        self.late = any(missing.values())

    def settle_kernel(self):
        """Waits until the interfaces count no more."""
        seen = None
        while seen != (seen := self.outside()):
            time.sleep(LOOK_S)

    def settle(self, weir, exact=True, before=None):
        """Waits until the sums are exact at two looks, or no counter moves. Returns them."""
        seen, n, moved, polled = None, 0, time.monotonic(), []
        deadline = moved + box.PATIENCE_S
        while time.monotonic() < deadline:
            now, polls = self.read(weir), [w["empty_polls"] for w in weir.get("/weir/workers")]
            rests = all(sums["waiting"] == 0 for sums in now.values())
            n = n + 1 if exact and rests and not any(self.missing(now, before).values()) else 0
            if now != seen:
                seen, moved, polled = now, time.monotonic(), polls
            idle = all(poll >= first + 2 for first, poll in zip(polled, polls))
            if n == 2 or (rests and idle and time.monotonic() > moved + REST_S):
                return now
            time.sleep(LOOK_S)
        raise AssertionError(f"{self}: no rest: {seen}")

    def outside(self):
        """Returns the kernel's counters of the interfaces of each wire."""
        rows = interfaces()
        return {a + b: {"entered": rows[a][RX_PACKETS] + rows[b][RX_PACKETS],
                        "left": rows[f"t{a}"][RX_PACKETS] + rows[f"t{b}"][RX_PACKETS],
                        "refused": sum(rows[port][column] for port in (a, b)
                                       for column in (TX_ERRORS, TX_DROPPED))}
                for a, b in zip(self.wires[::2], self.wires[1::2])}

    def read(self, weir):
        """Returns all sums of each wire; the interfaces are read last."""
        ports = {port["name"]: port for port in weir.get("/weir/ports")}
        balance = weir.get("/weir/balance")
        wires = {wire["wire"]: wire for wire in balance["wires"]}
        devices = {name: weir.get(f"/ethdev/stats,{port['port']}") for name, port in ports.items()}
        out = self.outside()
        for name, sums in out.items():
            wire = wires[name]
            sums |= {key: wire[key] for key in ("received", "transmitted", "dropped", "waiting")}
            sums["missed"] = sum(ports[port]["missed"] for port in name)
            sums["device"] = sum(devices[port][key] for port in name for key in DEVICE[1:])
            sums["program"] = sum(ports[port][key] for port in name for key in PROGRAM)
            sums["decided"] = sum(ports[port][key] for port in name for key in DECIDED)
        return out

    def since(self, now, before=None):
        """Returns the sums of each wire since `before`."""
        before = before or self.before
        return {wire: {key: n - before[wire].get(key, 0) for key, n in sums.items()}
                for wire, sums in now.items()}

    def missing(self, now, before=None):
        """Returns packets of each wire that are in no counter, or below 0 in two."""
        return {wire: sums["received"] - sums["transmitted"] - sums["dropped"] or
                sums["entered"] - sums["left"] - sums["dropped"] - sums["missed"]
                - sums["device"] - sums["program"]
                for wire, sums in self.since(now, before).items()}

    def check(self, weir, now):
        """Checks the sums."""
        balance, drops = weir.get("/weir/balance"), weir.get("/weir/drops")
        workers, health = weir.get("/weir/workers"), weir.get("/weir/health")
        words = f"{self}\n  {self.since(now)}\n  dropped " \
                f"{({key: n for key, n in drops.items() if n})}\n  {balance}"
        expect(health["active"]["packet_balance"] == 0, f"alarm: {words}")
        for part in (balance, *balance["wires"]):
            expect(part["missing"] == part["surplus"] == part["waiting"] == 0, f"rest: {words}")
            expect(part["received"] == part["transmitted"] + part["dropped"]
                   and part["dropped"] == sum(part["reasons"].values()), f"sum: {words}")
        for key, name in (("received", "rx_packets"), ("transmitted", "tx_packets")):
            expect(balance[key] == sum(wire[key] for wire in balance["wires"])
                   == sum(worker[name] for worker in workers), f"{key}: {words}")
        for reason, n in balance["reasons"].items():
            expect(n == drops[reason] == sum(wire["reasons"][reason] for wire in balance["wires"]),
                   f"{reason}: {words}")
        for wire, missing in self.missing(now).items():
            sums = self.since(now)[wire]
            # Without a carrier the kernel drops transmitted packets, some of them without a count.
            unsent = max(sums["transmitted"] - sums["left"], 0) + sums["refused"]
            most = unsent if "link" in self.words else 0
            expect(0 <= missing <= most, f"{missing} packets of {wire} are in no counter: {words}")

    def __str__(self):
        return f"round {self.number}.{self.phase} of seed {SEED}: {self.kind}, " \
               f"{len(self.workers)} workers, wires {self.wires}" \
               f"{', distributed' if self.distribute else ''}, MTU {self.mtu}, " \
               f"{' '.join(sorted(self.words)) or 'no events'}"


def enter():
    """Enters new namespaces, in a separate process for some of the rounds."""
    box.die_with_parent()
    setup()


def play(number):
    """Plays a round; returns its kind, the phases that balanced, and a failure or None."""
    now, scene, phases = Round(number), box.Scene(), 0
    try:
        for _ in now.phases(scene):
            phases += 1
        return now.kind, phases, None
    except Exception:  # the other rounds still run
        scene.show_logs()
        return now.kind, phases, f"{now}: {traceback.format_exc()}"
    finally:
        scene.close()
        for port in now.wires:
            subprocess.run(["ip", "link", "del", "dev", f"t{port}"], capture_output=True,
                           check=False)
        shutil.rmtree("/sys/fs/bpf/weir", ignore_errors=True)


def rounds(_):
    """Plays all rounds."""
    phases, kinds, failed = 0, set(), []
    pool = concurrent.futures.ProcessPoolExecutor(JOBS, initializer=enter)
    try:
        for kind, n, failure in pool.map(play, range(ROUNDS)):
            if phases // SHOWN != (phases + n) // SHOWN:
                print(f"  {phases + n} phases, {len(failed)} failed", flush=True)
            phases += n
            kinds.add(kind)
            if failure:
                failed.append(failure)
                print(failure, flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    words = f"{ROUNDS} rounds, {phases} phases, {', '.join(sorted(kinds))}; seed {SEED}"
    expect(not failed, f"{len(failed)} rounds failed: {words}\n{''.join(failed[:3])}")
    return words


if __name__ == "__main__":
    box.main([rounds], setup=setup)

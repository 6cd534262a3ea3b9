#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Limiters that are killed, again and again, under traffic: no unit of a total is ever spent twice.

Two weir processes between veth pairs share two totals, of packets and of bytes, one way, and a
conserved limit the other way:

    sender s1 ──veth── l1 │weir 1│ x1 ──veth── d1       s2 ── l2 │weir 2│ x2 ── d2
                           g1 ──────────────veth (gossip)────────────── g2

Each has a network namespace of its own, as two processes of DPDK on packet sockets of one namespace
sometimes refuse to start: their fanout groups are told apart by process and interface, xor-ed.

What has left a box is counted by the interfaces behind it, which no kill touches. At every look:

  - what has left a box, and what lies there ready to, is no more than its ledger has as spent;
  - what has left both is no more than the total;
  - the conserved limits in force add up to no more than the limit.

A kill comes at a random moment: of one box or both, also while it starts, while units move (load
goes from box to box), and in the middle of a write to the store, whose files as they are then must
do. Each restart is timed. In the end all units are found again, to the last one: held, spent, or
under way; and nearly all of them have passed.

Usage: kill9.py [--kills N] [--seed S] [--break stale|new]. --break does what the manual forbids, to
see the test fail: "stale" puts back an older copy of the store, "new" a new one.
"""

import argparse
import contextlib
import math
import multiprocessing
import os
import random
import shutil
import signal
import socket
import struct
import sys
import threading
import time

import box
from box import expect, ip, wait_until

SIZES = {"packets": 64, "bytes": 192}  # of IP; of one size each, so that counters tell them apart
UNITS = {"packets": 1, "bytes": SIZES["bytes"]}  # of a packet
RATE_SIZE = 256
ETHERNET = 14
PORTS = {"packets": 9, "bytes": 10, "rate": 11}
BUSY, QUIET, SPRINT = 5000, 700, 16000  # packets a second of each total at a box
RATE_PPS = 1000  # of the conserved policy, at each box: more than half of the limit
LIMIT, BURST = 3e6, 60e3  # bit/s; bytes
CLOCKS = 1.002  # how much faster than ours a limiter's may be
TOTAL = 60000  # packets: what passes between some twenty kills
ENOUGH = 0.02  # of a total: with less to be had a round of kills ends
IN_HAND = 64  # packets that are paid for and have not left: a burst or two of a worker
QUANTUM_PART = 65536  # of a total: what a worker may have in its hand
LEAST_CHUNKS = {"packets": 64, "bytes": 65536}  # what is saved as spent at a time
CRASH_S = 0.25  # what a crash costs is, beside two chunks, less than passes in so long
SETTLED_S = 1.0  # in which nothing passes any more
RESTART_S = 30.0  # at most, on a machine that has other things to do
CLONE_NEWNET = 0x40000000
ADDRESS = "192.0.2."
NAMESPACES = []  # of box 1 and box 2
CPUS = sorted(os.sched_getaffinity(0))
EAL = ["--no-huge", "-m", "192", "--no-shconf", "--no-pci"]


def frame(policy, size):
    """A UDP packet by hand; nobody here looks at checksums."""
    ethernet = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\x00"
    ip4 = struct.pack(">BBHHHBBH4s4s", 0x45, 0, size, 0, 0, 64, 17, 0, b"\xc0\0\2\1", b"\xc0\0\2\2")
    return ethernet + ip4 + struct.pack(">HHHH", 7, PORTS[policy], size - 20, 0) + bytes(size - 28)


def counters(interface):
    """(bytes, packets) that an interface has received: both of the same instant."""
    with open("/proc/thread-self/net/dev", encoding="ascii") as lines:
        for line in lines:
            name, _, numbers = line.partition(":")
            if name.strip() == interface:
                return tuple(int(number) for number in numbers.split()[:2])
    raise AssertionError(f"no interface {interface}")


def new_namespace():
    """A network namespace without IPv6, as a descriptor, which holds it."""
    expect(box.LIBC.unshare(CLONE_NEWNET) == 0, "unshare")
    with open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w", encoding="ascii") as out:
        out.write("1")
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


@contextlib.contextmanager
def inside(namespace):
    """What this thread starts meanwhile is in there."""
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        expect(box.LIBC.setns(namespace, CLONE_NEWNET) == 0, "setns")
        yield
    finally:
        box.LIBC.setns(here, CLONE_NEWNET)
        os.close(here)


class Senders:
    """A process that sends what it is told to, and never stops by itself."""

    BATCH_MOST = 50  # of a stream, however late we are

    def __init__(self):
        self.streams = [(interface, frame(policy, size)) for i in (1, 2)
                        for interface, policy, size in (
                            (f"s{i}", "packets", SIZES["packets"]),
                            (f"s{i}", "bytes", SIZES["bytes"]), (f"d{i}", "rate", RATE_SIZE))]
        self.rates = multiprocessing.Array("d", len(self.streams))
        self.process = multiprocessing.Process(target=self._run, daemon=True)

    def _run(self):
        box.die_with_parent()
        sockets = {}
        for interface in {name for name, _ in self.streams}:
            sockets[interface] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            sockets[interface].bind((interface, 0))
        credit, before = [0.0] * len(self.streams), time.monotonic()
        while True:
            time.sleep(0.001)
            now = time.monotonic()
            for k, (interface, data) in enumerate(self.streams):
                credit[k] = min(credit[k] + self.rates[k] * (now - before), self.BATCH_MOST)
                for _ in range(int(credit[k])):
                    with contextlib.suppress(OSError):  # no room
                        sockets[interface].send(data)
                credit[k] %= 1
            before = now

    def load(self, first, second, rate=RATE_PPS):
        """Packets a second of each total, at each box; and of the conserved policy."""
        self.rates[:] = [first, first, rate, second, second, rate]

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.join()


class Station:
    """A box, its cables, and what is known of it."""

    def __init__(self, scene, i, totals, roster, store):
        self.i, self.namespace = i, NAMESPACES[i - 1]
        self.store = store
        policies = [{"name": name, "allocator": "quota",
                     "match": {"direction": "a-to-b", "proto": "udp", "dst-port": PORTS[name]}}
                    for name in totals]
        policies[0] |= {"count": "packets", "total": totals["packets"]}
        policies[1] |= {"total": f"{totals['bytes']}B", "accounting": "l3"}
        policies.append({"name": "rate", "guarantee": "conserved", "limit": f"{LIMIT:.0f}bit/s",
                         "burst": f"{BURST:.0f}B", "accounting": "l3",
                         "match": {"direction": "b-to-a", "proto": "udp",
                                   "dst-port": PORTS["rate"]}})
        gossip = {"listen": roster[i - 1]["address"], "roster": roster, "insecure": True,
                  "timeout": "1s"}
        config = box.wire(f"net_af_packet0,iface=l{i}", f"net_af_packet1,iface=x{i}",
                          policies=policies, gossip=gossip, eal=EAL, workers=[CPUS[i % len(CPUS)]],
                          ledger={"store": self.store})
        self.box = scene.box(config, roster[i - 1]["name"])
        self.lost = {name: 0 for name in totals}  # of each total by all crashes, at least
        self.slack = {name: total // QUANTUM_PART + IN_HAND * UNITS[name]
                      for name, total in totals.items()}
        self.packet_s = None
        self.before = {name: 0 for name in totals}
        self.before = self.passed()

    def new_ledger(self):
        """This limiter has never run."""
        status, _, err = self.box.run("--new-ledger", box.LEDGER, self.box.config_path)
        expect(status == 0, err)

    def passed(self):
        """What has left this box of each total, in its own units."""
        received, packets = counters(f"d{self.i}")
        small, large = (SIZES[name] + ETHERNET for name in ("packets", "bytes"))
        n, rest = divmod(received - small * packets, large - small)
        expect(rest == 0, f"frames on d{self.i} that nobody has sent")
        return {"packets": packets - n - self.before["packets"],
                "bytes": SIZES["bytes"] * n - self.before["bytes"]}

    def account(self, name):
        """What the ledger says of a total: spent, and of that what is left in hand."""
        seen = self.box.get(f"/weir/quota,{name}")
        unit = "_bytes" if name == "bytes" else ""
        return {key: seen[key + unit] for key in ("held", "spent", "prepaid", "credit", "in_flight",
                                                  "total")} | {"asking": seen["asking"]}

    def audit(self):
        """The box against its interface; returns what was lost of each total, (least, most).

        What a crash has cost stays lost: of that nothing may pass later either.
        """
        lost = {}
        for name in SIZES:
            before = self.passed()[name]
            account = self.account(name)
            used = account["spent"] - account["prepaid"] - account["credit"]
            expect(before <= used, f"box {self.i}: {before} {name} have passed, of {used} "
                                   f"spent: {account}")
            lost[name] = (used - self.passed()[name], used - before)
            expect(lost[name][1] + self.slack[name] >= self.lost[name],
                   f"box {self.i}: {self.lost[name]} {name} were lost, and are spent again: now "
                   f"{lost[name]}")
            self.lost[name] = max(self.lost[name], lost[name][0])
        return lost

    def kill(self):
        """kill -9. Returns when it is dead, and so are its packets."""
        self.box.kill()

    def launch(self):
        """Starts it, and does not look."""
        with inside(self.namespace):
            self.box.spawn()

    def left(self):
        """Packets that have left this box, whatever they are."""
        return counters(f"d{self.i}")[1] + counters(f"s{self.i}")[1]

    def spawn(self):
        """Starts it; see await_up()."""
        self.packet_s = None
        passed, began = self.left(), time.monotonic()
        self.launch()
        watch = threading.Thread(target=self._watch, args=(passed, began))
        watch.start()
        return began, watch

    def _watch(self, passed, began):
        """When the first packet passes."""
        while time.monotonic() < began + box.PATIENCE_S and self.box.process.returncode is None:
            if self.left() > passed:
                self.packet_s = time.monotonic() - began
                return
            time.sleep(0.002)

    def await_up(self, began, watch):
        """Returns when it answers and passes packets: the times that took, in seconds."""
        self.box.await_answer().get("/weir/ledger")
        answer_s = time.monotonic() - began
        watch.join()
        expect(self.packet_s is not None, f"box {self.i} passes nothing after a restart")
        return self.packet_s, answer_s


class Campaign:
    """Both boxes, who sends to them, and all that was seen."""

    def __init__(self, scene, kills, seed, forbidden):
        self.scene, self.target, self.forbidden = scene, kills, forbidden
        self.rng = random.Random(seed)
        self.totals = {name: TOTAL * unit for name, unit in UNITS.items()}
        self.stations = []
        self.rounds, self.strikes = 0, 0
        self.lost = {name: 0 for name in self.totals}
        self.kills = {"one": 0, "both": 0, "starting": 0, "frozen": 0}
        self.times = {"packet": [], "answer": []}
        self.costs = {name: [] for name in self.totals}
        self.sums, self.most = 0, 0.0
        self.moving, self.busy = 0, 1

    def begin_round(self):
        """A group that has never run."""
        roster = [{"name": f"box{i}", "address": f"{ADDRESS}{i}:7946"} for i in (1, 2)]
        self.rounds += 1
        self.stations = [Station(self.scene, i, self.totals, roster,
                                 self.scene.path(f"store{i}-{self.rounds}")) for i in (1, 2)]
        for station in self.stations:
            station.new_ledger()

    def killed(self):
        """So far, each box for itself."""
        return sum(self.kills.values())

    def passed(self, name):
        """By both."""
        return sum(station.passed()[name] for station in self.stations)

    def look(self):
        """At the conserved limits: where neither has changed meanwhile both were in force."""
        first, second, again = (station.box.get("/weir/policy,rate")["local_limit_bps"]
                                for station in (*self.stations, self.stations[0]))
        if first == again:
            self.sums += 1
            self.most = max(self.most, first + second)
        expect(self.most <= LIMIT, f"local limits add up to {self.most:.0f} bit/s")

    def audit(self):
        """All that must hold at any time."""
        for name, total in self.totals.items():
            passed = self.passed(name)
            expect(passed <= total, f"{passed} {name} have passed, of {total}")
        self.look()
        return [station.audit() for station in self.stations]

    def shift_load(self, senders):
        """To the other box: units follow."""
        self.busy = 3 - self.busy
        senders.load(*((BUSY, QUIET) if self.busy == 1 else (QUIET, BUSY)))

    def freeze(self, station):
        """In the middle of whatever it does; what is on its disk then is all that is left."""
        station.box.process.send_signal(signal.SIGSTOP)
        image = station.store + ".image"
        shutil.rmtree(image, ignore_errors=True)
        shutil.copytree(station.store, image)
        return image

    def replace(self, station, image):
        """The store is another copy of it from now on."""
        shutil.rmtree(station.store)
        os.rename(image, station.store)

    def do_forbidden(self, station):
        """What must make the test fail."""
        old = station.store + ".old"
        if self.forbidden == "stale":
            if os.path.exists(old):
                shutil.rmtree(station.store)
                shutil.copytree(old, station.store)
            else:
                shutil.copytree(station.store, old)
        elif self.forbidden == "new":
            shutil.rmtree(station.store)
            station.new_ledger()

    def crash(self, station, kind):
        """One box dies, and is not started yet."""
        image = self.freeze(station) if kind == "frozen" else None
        station.kill()
        self.kills[kind] += 1
        if image:
            self.replace(station, image)
        self.do_forbidden(station)

    def choose(self, number):
        """(who is to be killed, how, and for how long a start goes on that is cut short)."""
        both = self.rng.random() < 0.2
        kind = "both" if both else self.rng.choices(("one", "frozen"), (4, 1))[0]
        cut = self.rng.uniform(0, self.start_s()) if self.rng.random() < 0.3 else None
        return self.stations if both else [self.stations[number % 2]], kind, cut

    def start_s(self):
        """What a start takes."""
        return 1.2 * quantile(self.times["answer"], 0.5) if self.times["answer"] else 0.5

    def restart(self, victims):
        """At once; returns when all pass packets and answer."""
        spawned = [station.spawn() for station in victims]
        for station, (began, watch) in zip(victims, spawned):
            packet, answer = station.await_up(began, watch)
            expect(max(packet, answer) <= RESTART_S, f"a restart took {max(packet, answer):.1f} s")
            self.times["packet"].append(packet)
            self.times["answer"].append(answer)

    def strike(self):
        """A kill, or two at once, and a restart."""
        victims, kind, cut = self.choose(self.strikes)
        self.strikes += 1
        until = time.monotonic() + self.rng.uniform(0, 0.5)
        while time.monotonic() < until:
            self.look()
            time.sleep(0.01)
        before = self.audit()
        self.moving += self.units_move()
        for station in victims:
            self.crash(station, kind)
        if cut is not None:
            for station in victims:
                station.launch()
            time.sleep(cut)
            for station in victims:
                self.crash(station, "starting")
        self.restart(victims)
        after = self.audit()
        for station in victims:
            for name, costs in self.costs.items():
                k = station.i - 1
                costs.append(after[k][name][1] - before[k][name][0])

    def units_move(self):
        """Whether units are under way, or asked for."""
        accounts = [station.account(name) for station in self.stations for name in self.totals]
        return any(account["in_flight"] or account["asking"] for account in accounts)

    def exhausted(self):
        """Next to nothing is left to be had of both totals."""
        return all(self.books(name)[0] <= ENOUGH * total for name, total in self.totals.items())

    def run(self, senders):
        """A round: a group begins, and is killed until it has spent its totals."""
        self.begin_round()
        self.shift_load(senders)
        self.restart(self.stations)
        while self.killed() < self.target and not self.exhausted():
            if self.strikes % 4 == 3:
                self.shift_load(senders)
            self.strike()
        self.heal(senders)
        self.spend_all(senders)
        if self.rounds % 5 == 0:
            print(f"    {self.killed()} kills, {self.words()}", flush=True)
        for station in self.stations:
            station.kill()
            shutil.rmtree(station.store)

    def books(self, name):
        """(held, spent, under way) over both boxes."""
        accounts = [station.account(name) for station in self.stations]
        return tuple(sum(account[key] for account in accounts)
                     for key in ("held", "spent", "in_flight"))

    def balanced(self):
        """Every unit of both totals is somewhere, and none is twice."""
        return all(sum(self.books(name)) == total for name, total in self.totals.items())

    def heal(self, senders):
        """Without packets, all that was under way arrives."""
        senders.load(0, 0, 0)
        try:
            wait_until(self.balanced, "the books to balance", timeout=10)
        except AssertionError:
            for name, total in self.totals.items():
                print(f"{name}: held, spent, under way {self.books(name)}, of {total}")
            raise
        self.audit()

    def spend_all(self, senders):
        """Until nothing passes any more: what has not was lost."""
        senders.load(SPRINT, SPRINT)
        before = None
        while before != (now := [self.passed(name) for name in self.totals]):
            before = now
            self.audit()
            time.sleep(SETTLED_S)
        self.heal(senders)
        for name, total in self.totals.items():
            self.lost[name] += total - self.passed(name)

    def words(self):
        """Figures, for the reader."""
        times = "; ".join(
            f"{name} after {quantile(t, 0.5):.3f} s (p99 {quantile(t, 0.99):.3f}, "
            f"worst {max(t):.3f})"
            for name, t in self.times.items())
        costs = "; ".join(
            f"{name} lost: {quantile(c, 0.5)} (p99 {quantile(c, 0.99)}, worst {max(c)})"
            for name, c in self.costs.items())
        return f"{times}; {costs}; {self.sums} sums, at most {self.most / LIMIT:.6f} of the limit"


def quantile(values, q):
    """The least value that is no less than a part q of them."""
    return sorted(values)[max(0, math.ceil(q * len(values)) - 1)]


def run_in(namespace, command):
    """Runs one `ip` command there."""
    with inside(namespace):
        ip(command)


def make_cables(namespaces):
    """The ports of both limiters; nobody else says anything on them."""
    ip("link add dev g1 type veth peer name g2")
    for i, namespace in enumerate(namespaces, start=1):
        for here, there in ((f"s{i}", f"l{i}"), (f"d{i}", f"x{i}")):
            ip(f"link add dev {here} type veth peer name {there}")
            ip(f"link set dev {here} up")
        for name in (f"l{i}", f"x{i}", f"g{i}"):
            ip(f"link set dev {name} netns /proc/{os.getpid()}/fd/{namespace}")
            run_in(namespace, f"link set dev {name} up")
        run_in(namespace, f"address add {ADDRESS}{i}/24 dev g{i}")


def check_rate(began):
    """The conserved policy over all that time: kills bring no burst of their own."""
    passed = sum(received - ETHERNET * packets
                 for received, packets in (counters(f"s{i}") for i in (1, 2)))
    most = LIMIT / 8 * (time.monotonic() - began) * CLOCKS + BURST
    expect(0 < passed <= most, f"{passed} bytes of the conserved policy, of {most:.0f}")
    return passed / most


def check_cost(campaign):
    """What a crash costs is what the manual says: chunks, and what a moment takes. In words."""
    words = []
    for name, least in LEAST_CHUNKS.items():
        most = 2 * least + CRASH_S * BUSY * UNITS[name]
        mean = campaign.lost[name] / campaign.killed()
        expect(mean <= most, f"a kill costs {mean:.0f} {name}; expected at most {most:.0f}")
        words.append(f"{mean:.0f} {name} ({mean / most:.2f} of what is expected at most)")
    return f"a kill cost {' and '.join(words)}"


def kill9(scene):
    """Kills and restarts, and what is left of the totals."""
    print(f"  seed {ARGUMENTS.seed}", flush=True)
    make_cables(NAMESPACES)
    campaign = Campaign(scene, ARGUMENTS.kills, ARGUMENTS.seed, ARGUMENTS.forbidden)
    with Senders() as senders:
        began = time.monotonic()
        while campaign.killed() < ARGUMENTS.kills:
            campaign.run(senders)
        rate = check_rate(began)
    return (f"{campaign.killed()} kills {campaign.kills} in {campaign.rounds} rounds, "
            f"{campaign.moving} while units moved; {campaign.words()}; conserved: {rate:.3f} of "
            f"what may; {check_cost(campaign)}")


def enter_namespaces():
    """One for each box, and one for all else, in which we stay."""
    box.enter_netns()  # or says why not
    NAMESPACES.extend((new_namespace(), new_namespace()))
    new_namespace()


def parse():
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=15)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("WEIR_SEED", "1")))
    parser.add_argument("--break", dest="forbidden", choices=("stale", "new"))
    return parser.parse_args()


if __name__ == "__main__":
    ARGUMENTS = parse()
    sys.argv[1:] = []
    box.main([kill9], setup=enter_namespaces)

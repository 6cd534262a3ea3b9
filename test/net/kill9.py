#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Kills limiters again and again under traffic: no unit of a total may ever be spent twice.

Two weir processes between veth pairs share two totals (packets and bytes) in one direction, and a
hard limit in the other direction:

    sender s1 ──veth── l1 │weir 1│ x1 ──veth── d1       s2 ── l2 │weir 2│ x2 ── d2
                           g1 ──────────────veth (gossip)────────────── g2

Each process has its own network namespace. In one namespace, two DPDK processes on packet sockets
sometimes fail to start, because the ID of a fanout group is process XOR interface.

The interfaces after a limiter count the packets that it transmits; kills do not affect them. Each
check asserts:

  - the transmitted units, plus those ready to transmit, do not exceed the units that the ledger
    counts as spent;
  - the transmitted units of both limiters do not exceed the total;
  - the enforced hard limits of both do not exceed the limit.

Kills come at random moments: of one limiter or both, during a start, while units move, and in the
middle of a write to the store. Units move because the load alternates between the limiters. The
restart then uses the store's files of that moment. Each restart is timed. At the end every unit is
found again (held, spent or in flight), and nearly all have passed.

Usage: kill9.py [--kills N] [--seed S] [--break stale|new]. The option --break does an action that
the manual forbids, so that the test fails. The action "stale" restores an older copy of the store,
"new" an empty one.
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

# Bytes of an IP packet. Each total has its own size, so that byte counters separate them.
SIZES = {"packets": 64, "bytes": 192}
UNITS = {"packets": 1, "bytes": SIZES["bytes"]}  # units of a total, per packet
RATE_SIZE = 256
ETHERNET = 14
PORTS = {"packets": 9, "bytes": 10, "rate": 11}
BUSY, QUIET, SPRINT = 5000, 700, 16000  # packets a second of each total at a box
RATE_PPS = 1000  # packets a second of the hard limit, at each limiter: more than half of the limit
LIMIT, BURST = 3e6, 60e3  # bit/s; bytes
CLOCKS = 1.002  # factor by which a limiter's clock can be faster than ours
TOTAL = 60000  # packets: enough for some twenty kills
ENOUGH = 0.02  # part of a total: a round of kills ends when less can be spent
IN_HAND = 64  # packets that are paid for and not transmitted: a burst or two of a worker
QUANTUM_PART = 65536  # 1 / the most of a total that a worker prefetches
# Least units that a ledger saves as spent in one step.
LEAST_CHUNKS = {"packets": 64, "bytes": 65536}
CRASH_S = 0.25  # a crash loses at most two chunks and the units that pass in this time
SETTLED_S = 1.0  # without a packet: all traffic has ended
RESTART_S = 30.0  # most that a restart takes on a busy machine
CLONE_NEWNET = 0x40000000
ADDRESS = "192.0.2."
NAMESPACES = []  # network namespaces of limiter 1 and limiter 2
CPUS = sorted(os.sched_getaffinity(0))
EAL = ["--no-huge", "-m", "192", "--no-shconf", "--no-pci"]


def frame(policy, size):
    """Returns an Ethernet frame with a UDP packet; nothing checks its checksums, which are 0."""
    ethernet = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\x00"
    ip4 = struct.pack(">BBHHHBBH4s4s", 0x45, 0, size, 0, 0, 64, 17, 0, b"\xc0\0\2\1", b"\xc0\0\2\2")
    return ethernet + ip4 + struct.pack(">HHHH", 7, PORTS[policy], size - 20, 0) + bytes(size - 28)


def counters(interface):
    """Returns (bytes, packets) that an interface has received, both read at the same instant."""
    with open("/proc/thread-self/net/dev", encoding="ascii") as lines:
        for line in lines:
            name, _, numbers = line.partition(":")
            if name.strip() == interface:
                return tuple(int(number) for number in numbers.split()[:2])
    raise AssertionError(f"no interface {interface}")


def new_namespace():
    """Returns a descriptor that holds a new network namespace without IPv6."""
    expect(box.LIBC.unshare(CLONE_NEWNET) == 0, "unshare")
    with open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w", encoding="ascii") as out:
        out.write("1")
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


@contextlib.contextmanager
def inside(namespace):
    """Threads and processes started in this context run in the namespace."""
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        expect(box.LIBC.setns(namespace, CLONE_NEWNET) == 0, "setns")
        yield
    finally:
        box.LIBC.setns(here, CLONE_NEWNET)
        os.close(here)


class Senders:
    """A process that sends each stream at the rate set by load() until it is killed."""

    BATCH_MOST = 50  # packets of a stream in one round, even if the rounds are late

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
        """Sets the packets per second of each total at each limiter, and of the hard limit."""
        self.rates[:] = [first, first, rate, second, second, rate]

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.join()


class Station:
    """A limiter, its cables, and its state as seen by the test."""

    def __init__(self, scene, i, totals, roster, store):
        self.i, self.namespace = i, NAMESPACES[i - 1]
        self.store = store
        policies = [{"name": name, "allocator": "quota",
                     "match": {"direction": "a-to-b", "proto": "udp", "dst-port": PORTS[name]}}
                    for name in totals]
        policies[0] |= {"count": "packets", "total": totals["packets"]}
        policies[1] |= {"total": f"{totals['bytes']}B", "accounting": "l3"}
        policies.append({"name": "rate", "guarantee": "hard", "limit": f"{LIMIT:.0f}bit/s",
                         "burst": f"{BURST:.0f}B", "accounting": "l3",
                         "match": {"direction": "b-to-a", "proto": "udp",
                                   "dst-port": PORTS["rate"]}})
        gossip = {"listen": roster[i - 1]["address"], "roster": roster, "insecure": True,
                  "timeout": "1s"}
        config = box.wire(f"net_af_packet0,iface=l{i}", f"net_af_packet1,iface=x{i}",
                          policies=policies, gossip=gossip, eal=EAL, workers=[CPUS[i % len(CPUS)]],
                          ledger={"store": self.store})
        self.box = scene.box(config, roster[i - 1]["name"])
        self.lost = {name: 0 for name in totals}  # least units of each total that all crashes lost
        self.slack = {name: total // QUANTUM_PART + IN_HAND * UNITS[name]
                      for name, total in totals.items()}
        self.packet_s = None
        self.before = {name: 0 for name in totals}
        self.before = self.passed()

    def new_ledger(self):
        """Starts with an empty ledger, as on the first run of the limiter."""
        status, _, err = self.box.run("--new-ledger", box.LEDGER, self.box.config_path)
        expect(status == 0, err)

    def passed(self):
        """Returns the units of each total that this limiter has transmitted."""
        received, packets = counters(f"d{self.i}")
        small, large = (SIZES[name] + ETHERNET for name in ("packets", "bytes"))
        n, rest = divmod(received - small * packets, large - small)
        expect(rest == 0, f"frames on d{self.i} that nobody has sent")
        return {"packets": packets - n - self.before["packets"],
                "bytes": SIZES["bytes"] * n - self.before["bytes"]}

    def account(self, name):
        """Returns the ledger's account of a total: units held, spent, prepaid, in flight."""
        seen = self.box.get(f"/weir/quota,{name}")
        unit = "_bytes" if name == "bytes" else ""
        return {key: seen[key + unit] for key in ("held", "spent", "prepaid", "credit", "in_flight",
                                                  "total")} | {"asking": seen["asking"]}

    def audit(self):
        """Compares the limiter with its interface; returns the lost units of each total, (least,
        most).

        Units lost in a crash stay lost: they must not pass later either.
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
        """Sends SIGKILL. Returns when the process has ended and no packet of it is in flight."""
        self.box.kill()

    def launch(self):
        """Starts the process without watching for its first packet."""
        with inside(self.namespace):
            self.box.spawn()

    def left(self):
        """Returns the number of packets of any kind that this limiter has transmitted."""
        return counters(f"d{self.i}")[1] + counters(f"s{self.i}")[1]

    def spawn(self):
        """Starts the process and a thread that times its first packet; see await_up()."""
        self.packet_s = None
        passed, began = self.left(), time.monotonic()
        self.launch()
        watch = threading.Thread(target=self._watch, args=(passed, began))
        watch.start()
        return began, watch

    def _watch(self, passed, began):
        """Measures the seconds until the first packet passes."""
        while time.monotonic() < began + box.PATIENCE_S and self.box.process.returncode is None:
            if self.left() > passed:
                self.packet_s = time.monotonic() - began
                return
            time.sleep(0.002)

    def await_up(self, began, watch):
        """Waits until the limiter answers and passes packets; returns both times in seconds."""
        self.box.await_answer().get("/weir/ledger")
        answer_s = time.monotonic() - began
        watch.join()
        expect(self.packet_s is not None, f"box {self.i} passes nothing after a restart")
        return self.packet_s, answer_s


class Campaign:
    """Both limiters, their senders, and the results."""

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
        """Starts a group that has never run."""
        roster = [{"name": f"box{i}", "address": f"{ADDRESS}{i}:7946"} for i in (1, 2)]
        self.rounds += 1
        self.stations = [Station(self.scene, i, self.totals, roster,
                                 self.scene.path(f"store{i}-{self.rounds}")) for i in (1, 2)]
        for station in self.stations:
            station.new_ledger()

    def killed(self):
        """Returns the number of kills so far; a kill of both counts twice."""
        return sum(self.kills.values())

    def passed(self, name):
        """Returns the units of a total that both limiters have transmitted."""
        return sum(station.passed()[name] for station in self.stations)

    def look(self):
        """Adds up the hard limits of both limiters, if the first did not change in between."""
        first, second, again = (station.box.get("/weir/policy,rate")["local_limit_bps"]
                                for station in (*self.stations, self.stations[0]))
        if first == again:
            self.sums += 1
            self.most = max(self.most, first + second)
        expect(self.most <= LIMIT, f"local limits add up to {self.most:.0f} bit/s")

    def audit(self):
        """Asserts all that must hold at any time."""
        for name, total in self.totals.items():
            passed = self.passed(name)
            expect(passed <= total, f"{passed} {name} have passed, of {total}")
        self.look()
        return [station.audit() for station in self.stations]

    def shift_load(self, senders):
        """Moves the load to the other limiter, so that units follow."""
        self.busy = 3 - self.busy
        senders.load(*((BUSY, QUIET) if self.busy == 1 else (QUIET, BUSY)))

    def freeze(self, station):
        """Stops the process at any point; returns a copy of its store at that moment."""
        station.box.process.send_signal(signal.SIGSTOP)
        image = station.store + ".image"
        shutil.rmtree(image, ignore_errors=True)
        shutil.copytree(station.store, image)
        return image

    def replace(self, station, image):
        """Replaces the store with the given copy of it."""
        shutil.rmtree(station.store)
        os.rename(image, station.store)

    def do_forbidden(self, station):
        """Does the forbidden action, which must make the test fail."""
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
        """Kills one limiter without restarting it."""
        image = self.freeze(station) if kind == "frozen" else None
        station.kill()
        self.kills[kind] += 1
        if image:
            self.replace(station, image)
        self.do_forbidden(station)

    def choose(self, number):
        """Returns (limiters to kill, kind of kill, seconds of an interrupted start or None)."""
        both = self.rng.random() < 0.2
        kind = "both" if both else self.rng.choices(("one", "frozen"), (4, 1))[0]
        cut = self.rng.uniform(0, self.start_s()) if self.rng.random() < 0.3 else None
        return self.stations if both else [self.stations[number % 2]], kind, cut

    def start_s(self):
        """Returns the seconds that a start takes."""
        return 1.2 * quantile(self.times["answer"], 0.5) if self.times["answer"] else 0.5

    def restart(self, victims):
        """Starts the limiters together; returns when all pass packets and answer."""
        spawned = [station.spawn() for station in victims]
        for station, (began, watch) in zip(victims, spawned):
            packet, answer = station.await_up(began, watch)
            expect(max(packet, answer) <= RESTART_S, f"a restart took {max(packet, answer):.1f} s")
            self.times["packet"].append(packet)
            self.times["answer"].append(answer)

    def strike(self):
        """Kills one limiter or both, and restarts them."""
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
        """Returns true if units are in flight or requested."""
        accounts = [station.account(name) for station in self.stations for name in self.totals]
        return any(account["in_flight"] or account["asking"] for account in accounts)

    def exhausted(self):
        """Returns true if almost nothing of both totals can be spent."""
        return all(self.books(name)[0] <= ENOUGH * total for name, total in self.totals.items())

    def run(self, senders):
        """Runs a round: a new group is killed repeatedly until it has spent its totals."""
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
        """Returns (held, spent, in flight) units of both limiters."""
        accounts = [station.account(name) for station in self.stations]
        return tuple(sum(account[key] for account in accounts)
                     for key in ("held", "spent", "in_flight"))

    def balanced(self):
        """Returns true if every unit of both totals is counted exactly once."""
        return all(sum(self.books(name)) == total for name, total in self.totals.items())

    def heal(self, senders):
        """Stops the traffic and waits until all units in flight have arrived."""
        senders.load(0, 0, 0)
        try:
            wait_until(self.balanced, "the books to balance", timeout=10)
        except AssertionError:
            for name, total in self.totals.items():
                print(f"{name}: held, spent, under way {self.books(name)}, of {total}")
            raise
        self.audit()

    def spend_all(self, senders):
        """Sends until nothing passes any more; the rest of the totals was lost in crashes."""
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
        """Returns the measured times and losses as text."""
        times = "; ".join(
            f"{name} after {quantile(t, 0.5):.3f} s (p99 {quantile(t, 0.99):.3f}, "
            f"worst {max(t):.3f})"
            for name, t in self.times.items())
        costs = "; ".join(
            f"{name} lost: {quantile(c, 0.5)} (p99 {quantile(c, 0.99)}, worst {max(c)})"
            for name, c in self.costs.items())
        return f"{times}; {costs}; {self.sums} sums, at most {self.most / LIMIT:.6f} of the limit"


def quantile(values, q):
    """Returns the least value that is at least as large as a part q of the values."""
    return sorted(values)[max(0, math.ceil(q * len(values)) - 1)]


def run_in(namespace, command):
    """Runs one `ip` command in the namespace."""
    with inside(namespace):
        ip(command)


def make_cables(namespaces):
    """Creates the ports of both limiters; no other program sends on them."""
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
    """Checks the hard limit over the whole run: kills must not add bursts of their own."""
    passed = sum(received - ETHERNET * packets
                 for received, packets in (counters(f"s{i}") for i in (1, 2)))
    most = LIMIT / 8 * (time.monotonic() - began) * CLOCKS + BURST
    expect(0 < passed <= most, f"{passed} bytes of the hard limit, of {most:.0f}")
    return passed / most


def check_cost(campaign):
    """Checks that crashes lose no more than the manual states, per kill; returns the losses as
    text."""
    words = []
    for name, least in LEAST_CHUNKS.items():
        most = 2 * least + CRASH_S * BUSY * UNITS[name]
        mean = campaign.lost[name] / campaign.killed()
        expect(mean <= most, f"a kill costs {mean:.0f} {name}; expected at most {most:.0f}")
        words.append(f"{mean:.0f} {name} ({mean / most:.2f} of what is expected at most)")
    return f"a kill cost {' and '.join(words)}"


def kill9(scene):
    """Kills and restarts limiters, then checks the rest of the totals."""
    print(f"  seed {ARGUMENTS.seed}", flush=True)
    make_cables(NAMESPACES)
    campaign = Campaign(scene, ARGUMENTS.kills, ARGUMENTS.seed, ARGUMENTS.forbidden)
    with Senders() as senders:
        began = time.monotonic()
        while campaign.killed() < ARGUMENTS.kills:
            campaign.run(senders)
        rate = check_rate(began)
    return (f"{campaign.killed()} kills {campaign.kills} in {campaign.rounds} rounds, "
            f"{campaign.moving} while units moved; {campaign.words()}; hard: {rate:.3f} of "
            f"what may; {check_cost(campaign)}")


def enter_namespaces():
    """Creates a namespace for each limiter, and one for everything else, where the test stays."""
    box.enter_netns()  # skips with a reason if it cannot
    NAMESPACES.extend((new_namespace(), new_namespace()))
    new_namespace()


def parse():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=15)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("WEIR_SEED", "1")))
    parser.add_argument("--break", dest="forbidden", choices=("stale", "new"))
    return parser.parse_args()


if __name__ == "__main__":
    ARGUMENTS = parse()
    sys.argv[1:] = []
    box.main([kill9], setup=enter_namespaces)

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Reloads policies while packets flow: none is lost, counted twice or transmitted twice.

Runs in its own network namespace; veth pairs are the cables:

    test ta ──veth── a │weir│ b ──veth── tb test

Usage: reload.py [SCENARIO...]. WEIR_SEED sets the random reloads, WEIR_RELOADS their number in the
scenario "memory".
"""

import contextlib
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import box
from box import expect, ip, wait_until

SEED = int(os.environ.get("WEIR_SEED", "1"))
RINGS = box.wire("net_ring0", "net_ring1")
SO_RCVBUFFORCE = 33  # Linux
RELOADS = int(os.environ.get("WEIR_RELOADS", "300"))  # number of reloads in memory()
LISTS = 6  # lists of policies, used in turn by memory()
LINKTYPE_ETHERNET = 1
BATCH = 20  # packets sent in one burst; the device has room for more
WINDOW = 200  # most packets that are in flight: half of the device's room


def frame(dst, size=100, dport=9, sport=7):
    """Returns a UDP frame for an IP packet of `size` bytes; nothing checks its checksums, which are
    0."""
    ethernet = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\x00"
    ip4 = struct.pack(">BBHHHBBH4s4s", 0x45, 0, size, 0, 0, 64, 17, 0, b"\xc0\0\2\1",
                      socket.inet_aton(dst))
    return ethernet + ip4 + struct.pack(">HHHH", sport, dport, size - 20, 0) + bytes(size - 28)


def policy(name, dst, limit="1Gbit/s", **more):
    """Returns a policy for a prefix, in the direction of the test's packets."""
    match = {"direction": "a-to-b", "dst": dst} | more.pop("match", {})
    return {"name": name, "match": match, "limit": limit} | more


def outcome(weir, before):
    """Waits for the reload requested at `before`, a /weir/config reply; returns the new reply."""
    def done():
        now = weir.get("/weir/config")
        return now["reload"] == "idle" and now["last_reload"] != before["last_reload"] and now

    return wait_until(done, "the reload to end")


def reload(weir, policies=None):
    """Writes the policies, reloads, and returns /weir/config after the reload."""
    if policies is not None:
        weir.config["policies"] = policies
        weir.write()
    before = weir.get("/weir/config")
    answer = weir.get("/weir/reload")
    expect(answer["reload"] == "started", f"/weir/reload: {answer}")
    return outcome(weir, before)


def reloaded(weir, policies, **counts):
    """Reloads, which must succeed with these numbers of added, removed and changed policies."""
    config = reload(weir, policies)
    last = config["last_reload"]
    expect(last["ok"], f"refused: {last['messages']}")
    for key, value in counts.items():
        expect(last[key] == value, f"{key}: {last[key]}, expected {value}")
    return config


def names(weir):
    """Returns the names of all policies, in order."""
    found, start = [], 0
    while start is not None:
        page = weir.get(f"/weir/policies,{start}")
        found += page["policies"]
        start = page["next"]
    return found


def counted(weir, name):
    """Returns the packets of one policy: passed, waiting and dropped."""
    seen = weir.get(f"/weir/policy,{name}")
    waiting = seen["shape"]["waiting_packets"] if seen["shape"] else 0
    return seen["passed"]["packets"] + seen["dropped"]["packets"] + waiting


def all_counted(weir):
    """Returns the packets charged to any policy, to removed ones, or to none."""
    gone = weir.get("/weir/config")["removed_policies"]
    return (sum(counted(weir, name) for name in names(weir)) + gone["passed_packets"]
            + gone["dropped_packets"] + weir.total("unmatched_packets"))


class Wire:
    """A limiter between cables, and a sender."""

    def __init__(self, scene, policies, **more):
        for inside, outside in (("ta", "a"), ("tb", "b")):
            ip(f"link add dev {inside} type veth peer name {outside}")
            for name in (inside, outside):
                path = f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6"
                with open(path, "w", encoding="ascii") as out:
                    out.write("1")
                ip(f"link set dev {name} up")
        config = box.wire("net_af_packet0,iface=a", "net_af_packet1,iface=b",
                          policies=policies, **{"workers": [0, 1]} | more)
        config["wires"][0]["distribute"] = True
        self.weir = scene.box(config).start()
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.socket.bind(("ta", 0))
        self.watch = box.Client(self.weir.socket)  # a second connection, for another thread
        self.sent = self.seen = 0

    def behind(self):
        """Returns the number of packets sent but not yet decided by the limiter."""
        workers = self.watch.get("/weir/workers")
        self.seen = sum(worker["rx_packets"] for worker in workers)
        return self.sent - self.seen

    def send(self, frames):
        """Sends a burst, then waits a moment for the limiter to receive it. If the limiter is
        without a CPU, waits before its device's ring overflows."""
        for data in frames:
            self.socket.send(data)
            self.sent += 1
        time.sleep(0.002)
        if self.sent - self.seen > WINDOW:
            wait_until(lambda: self.behind() <= WINDOW / 2,
                       lambda: f"{self.seen} of {self.sent} packets received")

    def settle(self):
        """Waits until the limiter has decided all sent packets."""
        wait_until(lambda: self.behind() <= 0, lambda: f"{self.seen} of {self.sent} received")

    def check(self):
        """Asserts that each sent packet was counted once, after removed policies are gone."""
        self.settle()
        wait_until(lambda: self.weir.get("/weir/config")["reload"] == "idle", "nobody is leaving")
        rx = self.weir.total("rx_packets")
        expect(rx == self.sent, f"{self.sent} sent, {rx} received")
        # A packet that leaves a queue between two replies is in neither.
        wait_until(lambda: all_counted(self.weir) == rx,
                   lambda: f"{rx} received, {all_counted(self.weir)} counted")

    def close(self):
        """Closes the sockets and removes the cables."""
        self.socket.close()
        self.watch.close()
        for name in ("ta", "tb"):
            subprocess.run(["ip", "link", "del", "dev", name], capture_output=True, check=False)


class Receiver:
    """Stores note()'s result for each frame that the limiter transmits, unless it is None."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
        self.socket.bind(("tb", 3))
        self.socket.settimeout(0.05)
        self.seen = []
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        while not self.ending.is_set():
            with contextlib.suppress(TimeoutError):
                seen = self.note(self.socket.recv(2048))
                if seen is not None:
                    self.seen.append(seen)

    def note(self, data):
        """Returns the value to store for a frame."""
        raise NotImplementedError

    def close(self):
        """Stops receiving."""
        self.ending.set()
        self.thread.join()
        self.socket.close()


@contextlib.contextmanager
def wired(scene, policies, **more):
    """Runs a Wire until the context ends."""
    wire = Wire(scene, policies, **more)
    try:
        yield wire
        wire.weir.stop()
    finally:
        wire.weir.kill()
        wire.close()


@contextlib.contextmanager
def sending(wire, make):
    """Sends packets in a thread until the context ends: make(serial) returns the next."""
    ending = threading.Event()

    def run():
        serial = 0
        while not ending.is_set():
            wire.send(make(serial + i) for i in range(BATCH))
            serial += BATCH

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


# Settings that a policy can have after a reload, one for every kind of state.
TERMS = [{}, {"limit": "2Gbit/s"}, {"burst": "1MB"}, {"action": "count"}, {"action": "mark"},
         {"accounting": "l2"}, {"accounting": "wire"}, {"count": "packets", "limit": "1M/s"},
         {"count": "flows", "limit": "100k/s"}, {"meter": "gcra"}, {"limit": "8kbit/s"},
         {"meter": "fixed-window", "window": "1s"}, {"per": "src", "sources": 1024},
         {"action": "shape"}, {"action": "shape", "limit": "16kbit/s", "shape": {"delay": "2s"}},
         {"action": "shape", "limit": "64kbit/s", "shape": {"delay": "120ms"}},
         {"action": "shape", "limit": "64kbit/s", "shape": {"drop": "codel", "ecn": True}},
         {"meter": "phantom"}, {"trial": {"limit": "8kbit/s"}}, {"trial": {"meter": "phantom"}},
         {"trial": {"burst": "1MB"}, "meter": "gcra"},
         {"trial": {"limit": "8kbit/s"}, "action": "shape"},
         {"trial": {"meter": "hybrid", "window": "1s"}, "per": "src", "sources": 1024}]


def some_policy(rng, name, prefix):
    """Returns a policy with random settings."""
    return policy(name, prefix, **rng.choice(TERMS))


def next_policies(rng, owners, serial):
    """Changes `owners` (name → prefix of each policy) at random; returns the next reload's
    policies."""
    for name in list(owners):
        if name != "stays" and rng.random() < 0.15:
            del owners[name]
    while len(owners) < 200:
        taken = set(owners.values())
        prefix = rng.choice([f"10.0.{i}.0/24" for i in range(250)
                             if f"10.0.{i}.0/24" not in taken])
        owners[f"p{next(serial)}"] = prefix
    listed = [some_policy(rng, name, prefix) for name, prefix in owners.items() if name != "stays"]
    listed.append(policy("stays", owners["stays"]))
    rng.shuffle(listed)
    return listed


def numbers():
    """Yields 0, 1, 2..."""
    value = 0
    while True:
        yield value
        value += 1


def churn(scene):
    """Dozens of reloads change 200 policies in every way; each packet is counted once."""
    rng, serial, owners = random.Random(SEED), numbers(), {"stays": "10.0.255.0/24"}
    words = f"seed {SEED}"
    with wired(scene, next_policies(rng, owners, serial)) as wire:
        weir, last, generation = wire.weir, 0, wire.weir.get("/weir/config")["generation"]
        with sending(wire, lambda n: frame(f"10.0.{n * 7 % 256}.{n % 5}", 60 + n % 400)):
            for _ in range(40):
                listed = next_policies(rng, owners, serial)
                config = reloaded(weir, listed)
                expect(config["generation"] == generation + 1, f"{words}: generation {config}")
                generation = config["generation"]
                expect(names(weir) == [p["name"] for p in listed], f"{words}: other names")
                now = counted(weir, "stays")
                expect(now >= last, f"{words}: counted {now} after {last}")
                last = now
        wire.check()
        expect(last > 0, f"{words}: nothing for the policy that stays")
        sent = wire.sent
    return f"{words}: {sent} packets"


def from_one_to_the_other(scene):
    """A prefix moves between policies: its packets count for one before, for the other after."""
    with wired(scene, [policy("old", "10.0.0.0/24")]) as wire:
        weir = wire.weir
        for i in range(10):
            old, new = ("old", "new") if i % 2 == 0 else ("new", "old")
            wire.send(frame("10.0.0.1") for _ in range(100 + i))
            wire.settle()
            expect(counted(weir, old) == 100 + i, f"{old}: {counted(weir, old)}")
            reloaded(weir, [policy(new, "10.0.0.0/24")], added=1, removed=1)
            expect(weir.get(f"/weir/policy,{old}") is None, f"{old} is still there")
            expect(counted(weir, new) == 0, f"{new} begins with {counted(weir, new)}")
            said = re.findall(rf"policy {old}: removed; passed (\d+) packets", weir.log())
            expect(said and said[-1] == str(100 + i), f"the log says {said[-1:]} of {old}")
        # Both policies stay, and the prefix moves between them.
        for i in range(10):
            owner, other = ("old", "new") if i % 2 else ("new", "old")
            reloaded(weir, [policy(owner, "10.0.0.0/24"), policy(other, "10.0.9.0/24")])
            before = counted(weir, owner), counted(weir, other)
            wire.send(frame("10.0.0.1") for _ in range(50))
            wire.settle()
            after = counted(weir, owner), counted(weir, other)
            expect(after == (before[0] + 50, before[1]), f"{before}, then {after}")
        wire.check()


def write_pcap(path, frames):
    """Writes a capture file."""
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, LINKTYPE_ETHERNET))
        for data in frames:
            out.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)


def flood(scene, policies, workers):
    """Returns a limiter that receives packets at its highest rate, and discards the output."""
    write_pcap(scene.path("a.pcap"), [frame(f"10.0.{i % 4}.{i}", 400, sport=i) for i in range(64)])
    config = box.wire(f"net_pcap0,rx_pcap={scene.path('a.pcap')},infinite_rx=1", "net_null1",
                      workers=workers, policies=policies)
    config["wires"][0]["distribute"] = len(workers) > 1
    config["shape"] = {"pool": "1%"}  # unused buffers then take no memory
    return scene.box(config).start()


RATE, BURST = 4000000, 50000  # bit/s, bytes


def bucket_stays(scene):
    """A policy passes no more than rate × time + burst, regardless of the number of reloads."""
    bystanders = [policy(f"p{i}", f"10.1.{i}.0/24") for i in range(50)]
    cases = {
        "as it is": ([{}, {}], 0.96),
        "another match": ([{}, {"match": {"dst": "10.0.0.0/15"}}], 0.96),
        "a trial": ([{}, {"trial": {"limit": "1Mbit/s"}}], 0.96),
        "another trial": ([{"trial": {"meter": "gcra"}}, {"trial": {"limit": "1Mbit/s"}}], 0.96),
        "another interval": ([{}, {"interval": "60ms"}], 0.96),
        "other bytes": ([{"accounting": "l2"}, {"accounting": "wire"}], 0.9),
    }
    words = []
    for workers in ([0], [0, 1]):
        for case, (variants, least) in cases.items():
            rng = random.Random(SEED)
            mine = [policy("mine", "10.0.0.0/16", f"{RATE}bit/s", burst=f"{BURST}B",
                           **{k: dict(v) if isinstance(v, dict) else v for k, v in more.items()})
                    for more in variants]
            weir = flood(scene, [mine[0], *bystanders], workers)
            wait_until(lambda w=weir: w.get("/weir/policy,mine")["dropped"]["packets"] > 0, "drops")
            # Set before the reply, so that packets which pass meanwhile are covered.
            since = time.monotonic()
            first = weir.get("/weir/policy,mine")["passed"]["bytes"]
            for i in range(30):
                some = rng.sample(bystanders, 40) + [mine[i % 2]]
                rng.shuffle(some)
                reloaded(weir, some)
            passed = weir.get("/weir/policy,mine")["passed"]["bytes"]
            took = time.monotonic() - since
            # The bucket was empty at the start: the burst is only the tokens of a moment.
            most = RATE / 8 * took + BURST / 8
            weir.stop()
            expect(least * RATE / 8 * took <= passed - first <= most,
                   f"{case}, {len(workers)} workers: {passed - first} bytes in {took:.2f} s, "
                   f"at least {least * RATE / 8 * took:.0f}, at most {most:.0f}")
            words.append(f"{(passed - first) / (RATE / 8 * took):.3f}")
            scene.boxes.remove(weir)
    return "of the rate: " + ", ".join(words)


def refused(scene):
    """Errors are reported with their place, and the limiter continues unchanged."""
    good = [policy("a", "10.0.0.0/24"), policy("b", "10.0.1.0/24")]
    with wired(scene, good) as wire:
        weir = wire.weir
        whole = json.loads(json.dumps(weir.config))
        before = weir.get("/weir/config")
        cases = {
            'policies[1] "b".limit: "1Gbit": expected': {"policies": [good[0], good[1] | {
                "limit": "1Gbit"}]},
            'policies[0] "a".brust: ': {"policies": [good[0] | {"brust": "1kB"}]},
            "idle: cannot change while the limiter runs": {"idle": "poll"},
            "ports.b.device: cannot change while the limiter runs": {"ports": whole["ports"] | {
                "b": {"device": "net_null0", "mtu": 1500}}},
            "workers: cannot change while the limiter runs": {"workers": [0]},
            "tunnels.classify: cannot change while the limiter runs": {
                "tunnels": {"classify": "inner"}},
            "policies: there is room for 4096": {"policies": [
                policy(f"p{i}", f"10.{i >> 8}.{i & 255}.0/24") for i in range(4095)]},
        }
        with sending(wire, lambda n: frame(f"10.0.{n % 3}.1")):
            for want, change in cases.items():
                weir.config = whole | change
                weir.write()
                last = reload(weir)["last_reload"]
                expect(not last["ok"] and any(want in line for line in last["messages"]),
                       f"{want}: {last}")
                wait_until(lambda words=want: words in weir.log(), f"{want}: not in the log")
            with open(weir.config_path, "w", encoding="utf-8") as out:
                out.write("{")
            expect(not reload(weir)["last_reload"]["ok"], "a file that is no JSON")
            os.unlink(weir.config_path)
            last = reload(weir)["last_reload"]
            expect("No such file" in last["messages"][0], str(last))
            os.mkfifo(weir.config_path)
            last = reload(weir)["last_reload"]
            expect("read again" in last["messages"][0], str(last))
            os.unlink(weir.config_path)
        after = weir.get("/weir/config")
        expect(after["generation"] == before["generation"], f"generation {after}")
        expect(names(weir) == ["a", "b"], f"policies {names(weir)}")
        weir.config = whole
        reloaded(weir, good, added=0, removed=0, changed=0, unchanged=2)
        wire.check()


def nothing_changes(scene):
    """An identical or equivalent file changes nothing; another order of policies does."""
    listed = [policy(f"p{i}", f"10.0.{i}.0/24") for i in range(9)]
    weir = scene.box(RINGS | {"policies": listed}).start()
    before = weir.get("/weir/config")["generation"]
    for same in (listed, [p | {"limit": "1000Mbit/s"} for p in listed]):
        config = reloaded(weir, same, added=0, removed=0, changed=0, unchanged=9)
        expect(config["generation"] == before, f"generation {config['generation']}")
    config = reloaded(weir, listed[::-1], added=0, removed=0, changed=0, unchanged=9)
    expect(config["generation"] == before + 1, f"generation {config['generation']}")
    expect(names(weir) == [p["name"] for p in listed[::-1]], "another order")
    reloaded(weir, [], removed=9)
    expect(names(weir) == [], "all are gone")
    reloaded(weir, listed, added=9)
    weir.stop()


def many(n, limit):
    """Returns enough policies for a reload to take a while."""
    return [policy(f"p{i}", f"10.{i >> 8}.{i & 255}.0/24", limit) for i in range(n)]


def hang_ups(scene):
    """SIGHUP twice quickly, and repeatedly: the file's last content is applied."""
    weir = scene.box(RINGS | {"policies": many(2000, "1Mbit/s")}).start()
    for i in range(1, 20):
        next_file = scene.path("next.json")
        with open(next_file, "w", encoding="utf-8") as out:
            json.dump(weir.config | {"policies": many(2000, f"{1 + i}Mbit/s")}, out)
        before = weir.get("/weir/config")["last_reload"]
        weir.process.send_signal(signal.SIGHUP)
        wait_until(lambda then=before: weir.get("/weir/config")["reload"] == "reading"
                   or weir.get("/weir/config")["last_reload"] != then, "the file to be read")
        time.sleep(0.002)
        os.rename(next_file, weir.config_path)
        weir.process.send_signal(signal.SIGHUP)
        weir.process.send_signal(signal.SIGHUP)
        expect(weir.get("/weir/config")["room"] == 4096, "it does not answer meanwhile")
        wait_until(lambda want=(1 + i) * 1000000:
                   weir.get("/weir/policy,p7")["limit_bps"] == want, f"limit {1 + i}")
    wait_until(lambda: weir.get("/weir/config")["reload"] == "idle", "the end")
    expect("SIGHUP: reload started" in weir.log(), "a reload that was started")
    expect("SIGHUP: reload queued" in weir.log(), "a reload that had to wait")
    # Stopped in the middle of a reload, it ends in order.
    weir.config["policies"] = many(2000, "50Mbit/s")
    weir.write()
    weir.process.send_signal(signal.SIGHUP)
    time.sleep(0.005)
    weir.stop()


def resident(weir):
    """Returns the process's resident memory in bytes."""
    with open(f"/proc/{weir.process.pid}/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory(scene):
    """Hundreds of reloads leak no memory."""
    rng, serial, owners = random.Random(SEED), numbers(), {"stays": "10.0.255.0/24"}
    # The lists repeat: with ever new ones, the peak need would grow.
    lists = [next_policies(rng, owners, serial) for _ in range(LISTS)]
    weir = flood(scene, lists[-1], [0, 1])
    sizes = []
    for i in range(RELOADS):
        reloaded(weir, lists[i % LISTS])
        if i % (RELOADS // 10) == 0:
            sizes.append(resident(weir))
    weir.stop()
    # Memory allocators return memory at their own time, but a leak grows steadily.
    grown = max(sizes[5:]) - max(sizes[:5])
    expect(grown < 2 << 20, f"{grown} bytes more: {sizes}")
    return f"{sizes[0] >> 20} MiB, {grown / 1024:+.0f} KiB"


SCENARIOS = [churn, from_one_to_the_other, bucket_stays, refused, nothing_changes, hang_ups, memory]

if __name__ == "__main__":
    # AddressSanitizer keeps little freed memory, so that memory() can measure leaks.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    box.main(SCENARIOS, setup=box.enter_netns)

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The XDP data plane counts each packet exactly once, also if starts are killed at any step of
their takeover, and rejects pinned maps with impossible values.

Runs in network and mount namespaces of its own. Usage: plane_counts.py [--all] [SCENARIO...].
Without --all, starts are killed at a sample of the steps. WEIR_SEED changes the sample.
"""

import contextlib
import json
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time

import box
import threads
from box import expect, wait_until
from bypass import PINS, box_between, cable, setup
from lifecycle import raw, udp_frame
from plane import BPF, LINK_UPDATE, POLICIES, RENAMEAT2, Flood
from starts import refuse_call

ALL = "--all" in sys.argv
CHAINS = 5 if box.LONG else 2
OUTGOING = 4  # PACKET_OUTGOING: sent by this host
MARKED = 14 << 2  # the traffic class of af13
PERIOD_S = 0.001
LENGTH = len(udp_frame(0, 0))
REMAINDER = 12  # system calls after the last exchange of pins, which remove the old ones
# "drops" and "marks" each match the packets of one direction, over two wires.
COUNTED = [{"name": "drops", "match": {"direction": "a-to-b"}, "accounting": "l2",
            "limit": "400kbit/s", "burst": "5kB"},
           {"name": "marks", "match": {"direction": "b-to-a"}, "accounting": "l2",
            "limit": "400kbit/s", "burst": "5kB", "action": "mark", "mark": "af13"}]
COUNTED_NAMES = [policy["name"] for policy in COUNTED]
ENDS = {"drops": (("ta", "tb"), ("tc", "td")), "marks": (("tb", "ta"), ("td", "tc"))}


class Traffic(threading.Thread):
    """Sends frames in both directions of both wires, and counts those received at each end."""

    def __init__(self):
        super().__init__(daemon=True)
        self.sent = dict.fromkeys(COUNTED_NAMES, 0)
        self.got = dict.fromkeys(COUNTED_NAMES, 0)
        self.marked = 0
        self.sockets = {name: raw(name) for pairs in ENDS.values() for pair in pairs
                        for name in pair[:1]}
        for each in self.sockets.values():
            each.setblocking(False)
        self.goes, self.ends, self.rests = (threading.Event() for _ in range(3))
        self.start()

    def run(self):
        serial = 0
        while not self.ends.wait(PERIOD_S):
            if self.goes.is_set():
                self.rests.clear()
                for name, pairs in ENDS.items():
                    for end, _ in pairs:
                        self.sockets[end].send(udp_frame(1000 + serial % 16, serial))
                        self.sent[name] += 1
                serial += 1
            else:
                self.rests.set()
            self.drain()

    def drain(self):
        """Counts the received frames."""
        for name, pairs in ENDS.items():
            for _, end in pairs:
                with contextlib.suppress(BlockingIOError):
                    while True:
                        frame, address = self.sockets[end].recvfrom(65536)
                        if address[2] != OUTGOING and frame[12:14] == b"\x08\x00":
                            self.got[name] += 1
                            self.marked += frame[15] == MARKED

    def pause(self):
        """Stops sending, and waits until no frame is in flight."""
        self.goes.clear()
        self.rests.clear()
        self.rests.wait()
        before = None
        while before != (before := dict(self.got)):
            time.sleep(0.05)

    def close(self):
        """Ends the thread."""
        self.ends.set()
        self.join()
        for each in self.sockets.values():
            each.close()


def takeover(process):
    """Yields the system calls of a main thread from the first exchange of pins or programs on, each
    at its start and at its end."""
    begun = False
    for number, first, ended in threads.calls(process.pid):
        begun = begun or number == RENAMEAT2 or (number, first) == (BPF, LINK_UPDATE)
        if begun:
            yield number, ended


def count_steps(process):
    """Returns the number of these until the old pins are removed."""
    count = exchanges = 0
    for number, ended in takeover(process):
        count += 1
        exchanges += number == RENAMEAT2 and not ended
        if exchanges == 2:
            break
    threads.ptrace(threads.DETACH, process.pid)
    return count + REMAINDER


def kill_at(weir, step):
    """Kills a start at this step of its takeover."""
    for _ in zip(range(step + 1), takeover(weir.process)):
        pass
    weir.kill()


def fail_at(weir, ports):
    """Rejects the program of a port, after `ports` ports have the new one."""
    refuse_call(weir.process, BPF, LINK_UPDATE, ports)
    expect(weir.process.wait(box.PATIENCE_S) == 1, f"it starts: {weir.log()[-1000:]}")


def compare(weir, traffic, what):
    """Compares the counters of all policies with the packets sent and received."""
    traffic.pause()

    def found():
        policies = {name: weir.get(f"/weir/policy,{name}") for name in COUNTED_NAMES}
        return {f"{name} {key}": [policy[key]["packets"], policy[key]["bytes"]]
                for name, policy in policies.items() for key in ("passed", "dropped", "over")}

    wanted = {"drops over": 0, "marks over": traffic.marked}
    for name in COUNTED_NAMES:
        wanted |= {f"{name} passed": traffic.got[name],
                   f"{name} dropped": traffic.sent[name] - traffic.got[name]}
    wanted = {key: [count, count * LENGTH] for key, count in wanted.items()}
    wait_until(lambda: found() == wanted, lambda: f"{what}: {found()}, not {wanted}", 5)
    for port, name in (("a", "drops"), ("b", "marks"), ("c", "drops"), ("d", "marks")):
        expect(2 * decided(port) == traffic.sent[name], f"{what}: port {port}: {decided(port)}")
    traffic.goes.set()


@contextlib.contextmanager
def two_wires(scene):
    """Returns a limiter with two wires."""
    config = box.wire("xdp:a", "xdp:b", policies=COUNTED)
    config["ports"] |= {"c": {"device": "xdp:c"}, "d": {"device": "xdp:d"}}
    config["wires"].append({"name": "second", "a": "c", "b": "d"})
    try:
        cable("tc", "c")
        cable("td", "d")
        with box_between(scene, config) as weir:
            yield weir
    finally:
        for name in ("tc", "td"):
            subprocess.run(["ip", "link", "del", "dev", name], capture_output=True, check=False)


def decided(interface):
    """Returns the packets of a port that the kernel has decided, from the map shared by all
    programs."""
    pin = f"{os.path.dirname(PINS)}/count-{socket.if_nametoindex(interface)}"
    dump = subprocess.run(["bpftool", "-j", "map", "dump", "pinned", pin], check=True,
                          capture_output=True, text=True).stdout
    values = [bytes(int(byte, 16) for byte in cpu["value"])
              for cpu in json.loads(dump)[0]["values"]]
    return sum(sum(struct.unpack_from("<QxxxxxxxxQ", value, 16)) for value in values)


def counts(scene):
    """Starts that are killed or fail at random steps, in chains: no packet is missing in the
    counters or counted twice."""
    seed = int(os.environ.get("WEIR_SEED", "1"), 0)
    rng, cut = random.Random(seed), 0
    with two_wires(scene) as weir, contextlib.closing(Traffic()) as traffic:
        weir.start()
        traffic.goes.set()
        weir.kill()
        last = count_steps(weir.spawn().process)
        weir.await_answer()
        compare(weir, traffic, "before")
        steps = list(range(last)) if ALL else rng.sample(range(last), CHAINS)
        for first in steps:
            chain = [first] + [rng.randrange(last) for _ in range(rng.randrange(4))]
            if rng.randrange(3) == 0:
                chain.insert(rng.randrange(len(chain) + 1), None)
            for step in chain:
                weir.kill()
                weir.spawn()
                if step is None:
                    fail_at(weir, rng.randrange(4))
                else:
                    kill_at(weir, step)
                cut += 1
                time.sleep(rng.random() / 10)
            weir.start()
            compare(weir, traffic, f"seed {seed}, steps {chain} of {last}")
        pins = sorted(os.listdir(f"{os.path.dirname(PINS)}/plane"))
        expect(pins == ["books", "buckets", "clock", "lines"], f"still there: {pins}")
        weir.stop()
    sent = sum(traffic.sent.values())
    return f"seed {seed}: {cut} starts cut off in {len(steps)} chains; {sent} packets sent"


def garbage(scene):
    """Impossible values in the pinned maps: an event, empty buckets, and the limit holds."""
    with box_between(scene, box.wire("xdp:a", "xdp:b", policies=POLICIES)) as weir:
        weir.start()
        Flood(0.2)
        weir.kill()
        books = f"{os.path.dirname(PINS)}/plane/books"
        subprocess.run(["bpftool", "map", "update", "pinned", books, "key", "hex", *["00"] * 4,
                        "value", "hex", *["ff"] * 112], check=True)
        weir.start()
        wait_until(lambda: "have an impossible name in slot 0" in weir.log(), "no event")
        said = Flood(1).expect_limit(least=0.25)
        policy = weir.get("/weir/policy,udp")
        expect(policy["passed"]["packets"] < 1e9, f"garbage is counted: {policy}")
        weir.stop()
    return said


if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--all"]
    box.main([counts, garbage], setup=setup)

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Hierarchical policies: a packet is charged to a client, its customer and their link, or to none.

A real weir process plays capture files whose packets all arrive in one instant. Its output and the
counters of each level are compared with a model. Then two customers overload a link on veth pairs,
and each gets its part. Last, TCP clients are spread unevenly over two limiters: a few seconds of
test/bench/two_boxes.py.
"""

import collections
import contextlib
import json
import os
import random
import struct
import subprocess
import sys
import time

import actions
import box
from actions import cable, compare, judge, marked
from box import expect, wait_until
from conservation import MACS, SLACK, charge
from reload import reloaded
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

sys.path.insert(0, os.path.join(box.ROOT, "test", "bench"))

import two_boxes as bench  # noqa: E402 (needs the path above)

CTL = os.path.join(box.BUILD, "app", "weirctl", "weirctl")
SLOW = "8kbit/s"  # a byte a ms: buckets earn less than SLACK while a capture is played
# Name: (parent, bytes of its bucket, action). Each source of "subscribers" has its own bucket.
LEVELS = {
    "link": (None, 90000, "drop"),
    "acme": ("link", 60000, "drop"),
    "zeta": ("link", 70000, "drop"),
    "acme-web": ("acme", 40000, "drop"),
    "acme-mail": ("acme", 9000, "mark"),
    "zeta-all": ("zeta", 12000, "count"),
    "plan": ("zeta", 45000, "drop"),
    "subscribers": ("plan", 10000, "drop"),
}
CLIENTS = {"acme-web": "10.1.0.0/16", "acme-mail": "10.2.0.0/16", "zeta-all": "10.3.0.0/16",
           "subscribers": "10.4.0.0/16"}
SUBSCRIBERS = 9
MARK = 12  # DSCP


def lineage(name):
    """Yields a policy's own name, then those of its ancestors."""
    while name:
        yield name
        name = LEVELS[name][0]


class Model:
    """Buckets that start full and earn nothing, and the counters of each level."""

    def __init__(self):
        self.tokens = collections.defaultdict(lambda: LEVELS["subscribers"][1])
        self.tokens |= {name: LEVELS[name][1] for name in LEVELS if name != "subscribers"}
        self.passed = dict.fromkeys(LEVELS, 0)
        self.dropped, self.over = dict(self.passed), dict(self.passed)

    def decide(self, client, source, cost):
        """Returns "pass", "mark", "drop", or None if the result is within the slack."""
        levels = list(lineage(client))
        bucket = {name: (name, source) if name == "subscribers" else name for name in levels}
        if any(0 <= cost - self.tokens[bucket[name]] < SLACK for name in levels):
            return None
        short = [name for name in levels if self.tokens[bucket[name]] < cost]
        refused = next((name for name in short if LEVELS[name][2] == "drop"), None)
        if refused:
            for name in levels[:levels.index(refused) + 1]:
                self.dropped[name] += 1
            return "drop"
        for name in levels:
            self.passed[name] += 1
            self.over[name] += name in short
            self.tokens[bucket[name]] -= 0 if name in short else cost
        return "mark" if any(LEVELS[name][2] == "mark" for name in short) else "pass"


def policies():
    """Yields the policies for a configuration, children first, because any order is valid."""
    for name, (parent, burst, action) in reversed(LEVELS.items()):
        policy = {"name": name, "limit": SLOW, "burst": f"{burst}B", "action": action}
        if action == "mark":
            policy["mark"] = MARK
        if parent:
            policy["parent"] = parent
        if name == "subscribers":
            policy["per"] = "src"
        if name in CLIENTS:
            policy["match"] = {"dst": CLIENTS[name]}
        yield policy


def frames_of(rng, n):
    """Yields packets of any size for the clients."""
    for serial in range(n):
        client = rng.choice([*CLIENTS])
        dst = CLIENTS[client].replace("0.0/16", f"{rng.randrange(256)}.{rng.randrange(1, 255)}")
        source = f"192.0.2.{1 + int(SUBSCRIBERS * rng.random() ** 3)}"  # some send more
        yield client, source, bytes(
            Ether(**MACS) / IP(src=source, dst=dst) / UDP(sport=serial) /
            Raw(struct.pack(">I", serial) + b"l" * rng.randint(0, 1300)))


def captured(scene):
    """The output and the counters of each level equal the model's."""
    model = Model()

    def decide(entry):
        client, source, frame = entry
        verdict = model.decide(client, source, charge(frame, "l3"))
        if verdict is None:
            return False
        return {"pass": frame, "mark": marked(frame, MARK), "drop": None}[verdict]

    sent, want = judge(frames_of(random.Random("levels"), 800), decide)
    seen, out = actions.play(scene, list(policies()), [frame for *_, frame in sent])
    compare(out, want, "a to b")
    for name in LEVELS:
        got = actions.packets(seen, name)
        expected = (model.passed[name], model.dropped[name], model.over[name])
        expect(got == expected, f"{name}: {got}, not {expected}")
    expect(seen["drops"]["limit"] == len(sent) - len(want), f"{seen['drops']}")
    expect(all(sum(counts.values()) > 20 for counts in (model.dropped, model.over)), "no test")
    by_plan = model.dropped["plan"]
    expect(0 < by_plan < model.dropped["subscribers"], f"{by_plan} refused by the plan: no test")
    return f"{len(want)} of {len(sent)} passed"


def shared(scene, **more):
    """Two customers overload a link: each gets its part by weight, and the link is fully used."""
    box.enter_netns()
    cable("ta", "a")
    cable("tb", "b")
    link = {"name": "link", "limit": "1.6Mbit/s", "burst": "8kB"}
    children = [{"name": f"c{weight}", "parent": "link", "limit": "1.6Mbit/s", "burst": "8kB",
                 "weight": weight, "match": {"dst": f"10.{weight}.0.0/16"}} | more
                for weight in (1, 3)]
    weir = scene.box(box.wire("net_af_packet0,iface=a", "net_af_packet1,iface=b",
                              policies=[link, *children])).start()
    senders = [actions.Sender("ta", bytes(Ether(**MACS) / IP(src="192.0.2.1", dst=f"10.{w}.0.1") /
                                          UDP() / Raw(b"s" * 372)), 600, 9) for w in (1, 3)]
    for sender in senders:
        sender.start()

    def passed():
        seen = (weir.get(f"/weir/policy,{name}") for name in ("c1", "c3", "link"))
        return [policy["passed"]["bytes"] for policy in seen]

    time.sleep(3)
    began, before = time.monotonic(), passed()
    time.sleep(5)
    one, three, both = (now - then for now, then in zip(passed(), before))
    took = time.monotonic() - began
    for sender in senders:
        sender.join()
    wait_until(lambda: weir.total("rx_packets") >= sum(s.sent for s in senders), "all packets")
    if more:
        wait_until(lambda: all(weir.get(f"/weir/policy,{name}")["shape"]["waiting_packets"] == 0
                               for name in ("c1", "c3")), "all that waits to leave")
        # The lowest level drops packets without room; the parent does not reject waiting ones.
        expect(weir.get("/weir/policy,link")["dropped"]["packets"] == 0, "refused by the link")
        expect(weir.get("/weir/policy,c1")["dropped"]["packets"] > 0, "no more than there is")
    *parts, all_of = passed()
    expect(sum(parts) == all_of, f"{parts} are not {all_of}")
    weir.stop()
    for name in ("ta", "tb"):
        subprocess.run(["ip", "link", "del", "dev", name], capture_output=True, check=False)
    expect(both <= 200e3 * took + 8e3, f"{both} bytes in {took:.2f} s")
    expect(both > 0.85 * 200e3 * took, f"{both} bytes in {took:.2f} s")
    expect(0.2 < one / both < 0.3, f"{one} of {both} for the one of weight 1")
    return f"{one / both:.3f} and {three / both:.3f} of what passed, {both / 200e3 / took:.3f} used"


def waiting(scene):
    """Like shared(), with shaping: each customer gets its part, and the link rejects nothing."""
    return shared(scene, action="shape")


@contextlib.contextmanager
def crossed(scene, policies_there, **more):
    """Runs a limiter between two cables; a policy of 10.1.0.0/16 receives 500 packets a second."""
    box.enter_netns()
    cable("ta", "a")
    cable("tb", "b")
    weir = scene.box(box.wire("net_af_packet0,iface=a", "net_af_packet1,iface=b",
                              policies=policies_there, **more))
    if more:
        status, _, err = weir.run("--new-ledger", box.LEDGER, weir.config_path)
        expect(status == 0, err)
    frame = bytes(Ether(**MACS) / IP(src="192.0.2.1", dst="10.1.0.1") / UDP() / Raw(b"s" * 972))
    sender = actions.Sender("ta", frame, 500, 60)
    weir.start()
    sender.start()
    try:
        yield weir, frame
    finally:
        sender.seconds = 0
        sender.join()
        for name in ("ta", "tb"):
            subprocess.run(["ip", "link", "del", "dev", name], capture_output=True, check=False)


def prepaid(scene):
    """A quota between a client and its link: no more passes, and drops are counted at the quota."""
    total = 400000
    levels = [{"name": "link", "limit": "100Mbit/s"},
              {"name": "month", "parent": "link", "allocator": "quota", "total": f"{total}B"},
              {"name": "web", "parent": "month", "limit": "3Mbit/s",
               "match": {"dst": "10.1.0.0/16"}}]
    with crossed(scene, levels, ledger={"store": scene.path("store")}) as (weir, frame):
        def count(name, what):
            return weir.get(f"/weir/policy,{name}")[what]["bytes"]

        wait_until(lambda: count("month", "dropped") > total, "the total to be spent")
        passed = [count(name, "passed") for name in ("link", "month", "web")]
        expect(passed[0] == passed[1] == passed[2], f"{passed}")
        expect(total - 1000 < passed[0] <= total, f"{passed[0]} of {total}")
        drops = weir.get("/weir/drops")
        expect(drops["quota"] > total / 1000, f"{drops}")
        expect(count("link", "dropped") == 0, "the link has refused some")
        why, = json.loads(subprocess.run(
            [CTL, "-s", weir.socket, "--json", "explain", "hex", frame.hex()],
            check=True, capture_output=True, text=True).stdout)
        expect((why["policy"], why["verdict"], why["reason"]) == ("web", "drop", "quota"), f"{why}")
        expect("month" in str(why["notes"]), f"{why}")
        weir.stop()
    return f"{passed[0]} of {total} bytes passed"


def last_child(scene):
    """A parent that loses its last child is divided by flows, none of which it had sampled."""
    link = {"name": "link", "allocator": "fps", "limit": "100Mbit/s",
            "match": {"dst": "10.0.0.0/8"}}
    child = {"name": "child", "parent": "link", "limit": "50Mbit/s",
             "match": {"dst": "10.1.0.0/16"}}
    with crossed(scene, [link, child]) as (weir, _):
        def grows(name):
            was = weir.get(f"/weir/policy,{name}")["passed"]["packets"]
            wait_until(lambda: weir.get(f"/weir/policy,{name}")["passed"]["packets"] > was + 100,
                       f"packets of {name}")

        grows("child")
        for there in ([link], [link, child], [link]):
            reloaded(weir, there)
            grows(there[-1]["name"])
        wait_until(lambda: weir.get("/weir/policy,link")["flows_sampled"] > 0, "a flow")
        weir.stop()


def two_boxes(_):
    """Each client gets its part of the group's link, before and after another one starts."""
    plan = bench.Plan(settle=3, seconds=4, phases=(bench.SILENT, bench.THERE))
    run = bench.live(list(bench.policies(bench.tree(bench.THERE))), plan)
    words = []
    for phase in plan.phases:
        off, part = bench.off(run, phase), run.passed[phase]["link"] / bench.LINK
        worst = max(off, key=lambda name: abs(off[name]))
        words.append(f"{phase}: {part:.3f} used, {worst} {off[worst]:+.1f} points off")
        expect(0.85 <= part <= 1.08, words)
        expect(abs(off[worst]) <= 6, f"{words}: {off}")
        for client, got in run.received[phase].items():
            here = run.passed[phase][client]
            expect(abs(got - here) <= 0.05 * bench.LINK, f"{client}: {got}, and {here} passed")
    return "; ".join(words)


SCENARIOS = [captured, shared, waiting, prepaid, last_child, two_boxes]

if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(box.SKIP)
    box.main(SCENARIOS)

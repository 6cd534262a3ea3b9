#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Compares the XDP data plane with workers: both have the same outcome for all frames.

Each round draws policies and frames of many kinds, then sends them through a limiter on AF_XDP
ports and through one on XDP data plane ports. Outputs are equal byte for byte, and so are the
counters of each policy. In some rounds the MTU of the partner changes between two halves.

    planes.py [SCENARIO]   WEIR_SEED=N: another seed; WEIR_ROUNDS=N: so many rounds

With WEIR_ALL_SEEDS there are 100 rounds. Runs in network and mount namespaces of its own.
"""

import collections
import os
import random
import time

import box
import conservation
from bypass import PINS, remove_pins, setup
from box import expect, ip, wait_until
from lengths import KINDS, VLAN_HLEN, Taker, cables
from lifecycle import raw

SEED = int(os.environ.get("WEIR_SEED", "1"), 0)
ROUNDS = int(os.environ.get("WEIR_ROUNDS", "100" if os.environ.get("WEIR_ALL_SEEDS") else "3"))
FRAMES = 1200  # frames in a round
MOST, LEAST = 1514, 14  # frame sizes in bytes
WINDOW = 64  # most frames in flight
QUIET_S = 0.3
# Outcomes that do not depend on time: a burst is larger than all frames or smaller than one.
OUTCOMES = ({"limit": "100Gbit/s", "burst": "100MB"},
            {"limit": "8kbit/s", "burst": "1B"},
            {"limit": "8kbit/s", "burst": "1B", "action": "count"},
            {"limit": "8kbit/s", "burst": "1B", "action": "mark", "mark": "ecn"},
            {"limit": "8kbit/s", "burst": "1B", "action": "mark", "mark": 10})


def draw_policy(lot, number):
    """Returns a policy of the addresses, tags, classes and ports that the frames have."""
    match = {"direction": "a-to-b"}
    if lot.random() < 0.6:
        match["dst"] = lot.choice((f"192.0.2.{lot.randrange(1, 5)}/32", "192.0.2.0/30",
                                   f"2001:db8::{lot.randrange(1, 5)}/128", "2001:db8::/64"))
    if lot.random() < 0.2:
        match["vlan"] = lot.choice((100, 300, 5))
    if lot.random() < 0.2:
        match["dscp"] = lot.choice((0, 10, 46))
    if lot.random() < 0.3:
        match["proto"] = lot.choice(("udp", "tcp", 50))
        if match["proto"] != 50 and lot.random() < 0.5:
            match["dst-port"] = lot.randrange(1, 5)
    return {"name": f"p{number}", "match": match,
            "accounting": lot.choice(("l2", "l3", "wire"))} | lot.choice(OUTCOMES)


def differs_from(policies, policy):
    """Returns true if no policy has the same match."""
    return all(policy["match"] != other["match"] for other in policies)


def draw_policies(lot):
    """Returns some policies with different matches."""
    policies = []
    for number in range(lot.randrange(3, 16)):
        policy = draw_policy(lot, number)
        if differs_from(policies, policy):
            policies.append(policy)
    return policies


def patch(lot, frame, at, values):
    """Replaces one byte, if the frame is long enough."""
    if at < len(frame) and lot.random() < 0.7:
        frame[at] = lot.choice(values)


def draw_frame(lot, frames):
    """Returns a frame with other addresses, classes and ports; sometimes cut, padded or damaged."""
    frame = bytearray(lot.choice(frames))
    l2 = conservation.l2_len(frame)
    kind = bytes(frame[l2 - 2:l2])
    if kind == b"\x08\0":
        patch(lot, frame, l2 + 19, (1, 2, 3, 4, 9))
        patch(lot, frame, l2 + 1, (0, 1, 2, 3, 40, 41, 184))
        patch(lot, frame, l2 + 23, (1, 2, 3, 4, 5))
    elif kind == b"\x86\xdd":
        patch(lot, frame, l2 + 39, (1, 2, 3, 4, 9))
        patch(lot, frame, l2 + 43, (1, 2, 3, 4, 5))
    chance = lot.random()
    if chance < 0.1:
        del frame[lot.randrange(LEAST, len(frame) + 1):]
    elif chance < 0.2:
        frame += lot.randbytes(lot.randrange(1, lot.choice((60, MOST))))
    elif chance < 0.3 and len(frame) > 12:
        frame[lot.randrange(12, min(len(frame), 80))] ^= 1 << lot.randrange(8)
    frame[:12] = bytes.fromhex("020000000002020000000001")
    return bytes(frame[:MOST])


def draw_frames(lot):
    """Returns the frames of a round, of all kinds that fit."""
    known = [frame for frame in conservation.everything(lot.randrange(256))
             if LEAST <= len(frame) <= MOST]
    return [draw_frame(lot, known) for _ in range(FRAMES)]


class Limiter:
    """A limiter between two cables, and the frames at the far end."""

    def __init__(self, scene, kind, policies, name):
        cables()
        config = box.wire(*(KINDS[kind].format(i, end) for i, end in enumerate("ab")),
                          policies=policies)
        self.weir = scene.box(config, name).start()
        self.tx, self.taker = raw("ta"), Taker("tb")

    def send(self, frames):
        """Sends frames and waits until all have been received."""
        for i in range(0, len(frames), WINDOW):
            for frame in frames[i:i + WINDOW]:
                self.tx.send(frame)
            time.sleep(0.002)
            self.taker.take()
        before = None
        while before != (before := (
                len(self.taker.take()), self.weir.total("rx_packets"), self.by_kernel())):
            time.sleep(QUIET_S)

    def by_kernel(self):
        """Returns the packets that the kernel has decided."""
        return sum(port.get(key) or 0 for port in self.weir.get("/weir/ports")
                   for key in ("kernel_passed", "kernel_dropped", "kernel_unsent"))

    def counters(self):
        """Returns packets and bytes of each policy."""
        counted = {}
        for name in self.weir.get("/weir/policies")["policies"]:
            policy = self.weir.get(f"/weir/policy,{name}")
            counted[name] = {key: policy[key] for key in ("passed", "dropped", "over")}
        return counted

    def close(self):
        """Removes all interfaces."""
        self.weir.kill()
        self.tx.close()
        self.taker.socket.close()
        remove_pins(PINS)
        for end in ("ta", "tb", "to"):
            ip(f"link del {end}")


def outcome(scene, kind, policies, halves, mtu, name):
    """Returns the outputs and counters of a kind of port."""
    limiter = Limiter(scene, kind, policies, name)
    try:
        limiter.send(halves[0])
        if mtu:
            ip(f"link set dev b mtu {mtu}")
            most = mtu + 14 + VLAN_HLEN
            wait_until(lambda: limiter.weir.get("/weir/ports")[1]["frame_max"] == most,
                       f"the MTU {mtu} is not used")
        limiter.send(halves[1])
        expect(kind != "xdp" or limiter.by_kernel() > FRAMES / 2, "most frames go by workers")
        return collections.Counter(limiter.taker.take()), limiter.counters()
    finally:
        limiter.close()


def check_round(scene, number):
    """Asserts that one round has no difference; returns the number of frames that passed."""
    lot = random.Random(f"{SEED}.{number}")
    policies, frames = draw_policies(lot), draw_frames(lot)
    halves = frames[:FRAMES // 2], frames[FRAMES // 2:]
    mtu = lot.choice((0, 0, 1000, 1400))
    workers, kernel = (outcome(scene, kind, policies, halves, mtu, f"{kind}{number}")
                       for kind in ("af_xdp", "xdp"))
    place = f"WEIR_SEED={SEED} round {number}, mtu {mtu}"
    missing, more = workers[0] - kernel[0], kernel[0] - workers[0]
    expect(not missing and not more,
           f"{place}: {sum(missing.values())} frames only by workers, {sum(more.values())} only by "
           f"the kernel: {[frame[:64].hex() for frame in (*missing, *more)][:4]}")
    for policy in policies:
        pair = [counters[policy["name"]] for counters in (workers[1], kernel[1])]
        expect(pair[0] == pair[1], f"{place}: {policy}: {pair[0]} by workers, {pair[1]}")
    return sum(workers[0].values())


def alike(scene):
    """Outputs and counters are equal on both kinds of ports."""
    passed = sum(check_round(scene, number) for number in range(ROUNDS))
    return f"{ROUNDS} rounds of {FRAMES} frames, {passed} passed; seed {SEED}"


if __name__ == "__main__":
    box.main([alike], setup)

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Shadow mode: every packet passes, and the counters show the effect of enforcement.

Uses a real weir process that plays capture files, whose packets all arrive in one instant, and one
on veth pairs that switches between enforcing and shadow.
"""

import os
import sys

import box
from actions import udp
from box import expect
from conservation import AS_SEEN, JUMBO, MACS, device, read_pcap, run, write_pcap
from reload import frame, policy, reload, wired
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether
from trial import SIZE, burst

# Each receives 100 packets in one instant; a few conform.
POLICIES = {
    "drops": {"limit": "8kbit/s", "burst": burst(20)},
    "marks": {"limit": "8kbit/s", "burst": burst(30), "action": "mark", "mark": 10},
    "waits": {"limit": "8kbit/s", "burst": burst(5), "action": "shape",
              "shape": {"delay": "100ms"}},
    "shared": {"limit": "450/h", "burst": 60, "count": "packets", "meter": "phantom"},
    "sources": {"limit": "450/h", "burst": 6, "count": "packets", "per": "src", "sources": 1024},
}
EACH = 100


def listed():
    """Returns a policy for each, by destination, and one that a fragment can match."""
    return [{"name": name, "match": {"dst": f"10.{i}.0.0/16"}, "allocator": "central"} | terms
            for i, (name, terms) in enumerate(POLICIES.items())] + [
        {"name": "dns", "match": {"dst": "10.99.0.0/16", "proto": "udp", "dst-port": 53},
         "allocator": "central", "limit": "1Gbit/s"}]


def late_fragment():
    """Returns the second fragment of a packet whose first is missing."""
    return bytes(Ether(**MACS) / IP(src="192.0.2.9", dst="10.99.0.1", frag=64, proto=17) /
                 (b"f" * 600))


def played(scene, frames, shadow):
    """Plays frames; returns (telemetry, frames transmitted)."""
    write_pcap(scene.path("a.pcap"), frames)
    write_pcap(scene.path("b.pcap"), [])
    config = box.wire(device(0, scene, "a"), device(1, scene, "b"), JUMBO, policies=listed(),
                      shadow=shadow, **AS_SEEN | {"unparsed": "drop"})
    return run(scene, config, len(frames)), read_pcap(scene.path("b.out.pcap"))


def as_enforced(scene):
    """All packets pass unchanged; as many exceed as are dropped or marked when enforced."""
    frames = [udp(serial, f"10.{i}.0.1", f"192.0.2.{serial % 2}", 1, SIZE)
              for i in range(len(POLICIES)) for serial in range(EACH)] + [late_fragment()]
    enforced, passed = played(scene, frames, False)
    seen, out = played(scene, frames, True)
    expect(out == frames, f"{len(out)} of {len(frames)} came out")
    expect(late_fragment() not in passed, "what is not understood passes in earnest, too")
    for name in POLICIES:
        mine, would = seen["policies"][name], enforced["policies"][name]
        over = would["over"]["packets"] + would["dropped"]["packets"]
        expect(mine["over"]["packets"] == over and 0 < over < EACH, f"{name}: {mine} {would}")
        expect(mine["dropped"]["packets"] == 0, f"{name}: {mine}")
    return f"{len(out)} packets, of which {len(passed)} pass in earnest"


def comes_and_goes(scene):
    """Shadow mode is switched by a reload, and ended by the command line; telemetry shows it."""
    policies = [policy("p", "10.0.0.0/24", "8kbit/s", burst=burst(3))]
    with wired(scene, policies) as wire:
        weir = wire.weir

        def passed(n=50):
            before = weir.get("/weir/policy,p")
            wire.send(frame("10.0.0.1", sport=i) for i in range(n))
            wire.settle()
            after = weir.get("/weir/policy,p")
            return after["passed"]["packets"] - before["passed"]["packets"]

        for shadow in (False, True, False):
            weir.config["shadow"] = shadow
            seen = reload(weir, policies)
            expect(seen["last_reload"]["ok"] and seen["shadow"] is shadow, f"{seen}")
            expect((passed() == 50) is shadow, f"shadow is {shadow}")
        lines = weir.log().count("nothing is enforced")
        expect(lines == 1 and weir.log().count("shadow has ended") == 1, weir.log())
        wire.check()
        weir.stop()
        weir.arguments = ["--shadow"]
        weir.start()
        wire.watch = box.Client(weir.socket)
        wire.sent = wire.seen = 0
        expect(weir.get("/weir/config")["shadow"] and passed() == 50, "--shadow")
        expect(reload(weir, policies)["shadow"] and passed() == 50, "the file takes it back")
        status = weir.run("--shadow", "--check", weir.config_path)[0]
        expect(status == 2, f"--shadow without -c: {status}")


SCENARIOS = [as_enforced, comes_and_goes]

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    box.main(SCENARIOS, setup=box.enter_netns)

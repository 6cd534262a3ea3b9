# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The Weir in a guest."""

import json
import time
from types import MappingProxyType

from box import PATIENCE_S, expect, wait_until

LIMIT = 5_000_000
# 0.4 s of the limit. Linux waits at least 0.2 s before it retransmits. With a smaller burst, a flow
# with a shorter round trip gets half of the packets that a policer passes.
BURST = LIMIT // 8 * 2 // 5

START = ("rm -f /tmp/status; (weir -c /tmp/weir.json >/tmp/log 2>&1 & echo $! >/tmp/pid;"
         " wait $!; echo $? >/tmp/status) >/dev/null 2>&1 &")


class Weir:
    """The Weir in the guest."""

    def __init__(self, lab, idle="sleep"):
        self.lab, self.idle = lab, idle

    def config(self, workers, distribute, mtu, keys, more=MappingProxyType({})):
        """Returns a configuration with a wire for each pair, and limits from near to far."""
        config = {"limiter": "box", "workers": list(workers), "idle": self.idle,
                  "ports": {}, "wires": [], "policies": []}
        for pair in self.lab.pairs:
            for name, address in zip(pair.ports, pair.addresses):
                config["ports"][name] = {"device": address, "mtu": mtu} | keys.get(pair.kind, {})
            config["wires"].append({"name": pair.kind, "a": pair.ports[0], "b": pair.ports[1],
                                    "distribute": distribute} | more.get("wire", {}))
            for name, to in (("four", pair.far + "/32"), ("six", pair.far6 + "/128")):
                config["policies"].append(
                    {"name": f"{pair.kind}-{name}", "limit": f"{LIMIT}bit/s", "burst": f"{BURST}B",
                     "match": {"direction": "a-to-b", "dst": to}})
            config["policies"].append(
                {"name": f"{pair.kind}-tag", "limit": "1Gbit/s",
                 "match": {"direction": "a-to-b", "wire": pair.kind, "vlan": 7}})
        return config | more.get("top", {})

    def start(self, workers=(1,), distribute=False, mtu=1500, keys=MappingProxyType({}), wait=True,
              more=MappingProxyType({})):
        """Starts Weir with more keys of ports by kind, of wires and of the whole. Waits for an
        answer and its links; returns the seconds until the first answer."""
        self.lab.put("/tmp/weir.json", json.dumps(self.config(workers, distribute, mtu, keys,
                                                              more)))
        self.lab.sh(START)
        began = time.monotonic()
        wait_until(lambda: self.ended() or self.answers(), lambda: "no answer: " + self.log())
        took = time.monotonic() - began
        if wait:
            expect(not self.ended(), f"it ended at its start: {self.log()}")
            wait_until(lambda: set(self.links().values()) == {"UP"}, lambda: f"{self.links()}")
        return took

    def answers(self):
        """Returns true if its socket answers."""
        return self.lab.ask("weirctl -n box ports")[0] == 0

    def ended(self):
        """Returns its exit status as a word, or "" before its end."""
        return self.lab.ask("cat /tmp/status")[1] if self.lab.ask("[ -e /tmp/status ]")[0] == 0 \
            else ""

    def runs(self):
        """Returns true if it was started and has not ended."""
        return self.lab.ask("[ -e /tmp/pid ] && [ ! -e /tmp/status ]")[0] == 0

    def log(self):
        """Returns the end of its log."""
        return self.lab.sh("tail -c 6000 /tmp/log")

    def get(self, what):
        """Returns the answer of weirctl."""
        return json.loads(self.lab.sh(f"weirctl -n box --json {what}"))

    def port(self, name):
        """Returns the row of a port."""
        return next(port for port in self.get("ports") if port["name"] == name)

    def links(self):
        """Returns the link state of each port."""
        return {port["name"]: port["link"] for port in self.get("ports")}

    def received(self):
        """Returns the packets that each worker has received."""
        return [worker["rx_packets"] for worker in self.get("workers")]

    def judged(self, name):
        """Returns the passed and the dropped packets of a policy."""
        policy = self.get(f"policy {name}")
        return policy["passed"]["packets"], policy["dropped"]["packets"]

    def end(self, number="TERM"):
        """Sends a signal and waits for the end. Returns the exit status and the seconds that it
        took."""
        began = time.monotonic()
        self.lab.sh(f"kill -{number} $(cat /tmp/pid); n=0; while [ ! -e /tmp/status ] &&"
                    f" [ $n -lt {PATIENCE_S * 10} ]; do usleep 100000; n=$((n + 1)); done",
                    timeout=2 * PATIENCE_S)
        expect(self.ended(), f"it does not end: {self.log()}")
        return int(self.ended()), time.monotonic() - began

    def pages_left(self):
        """Checks that all hugepages are free and no file of one is left."""
        expect(self.lab.sh("ls /dev/hugepages") == "", "files of hugepages are left")
        total, free = self.lab.sh(
            "sed -n 's/HugePages_[TF][a-z]*: *//p' /proc/meminfo").split()
        expect(free == total, f"of {total} hugepages {free} are free")

    def stop(self):
        """Stops Weir and checks its exit, its buffers and its hugepages. Returns the seconds."""
        status, took = self.end()
        expect(status == 0 and "every packet buffer is back" in self.log(),
               f"exit status {status}: {self.log()}")
        self.pages_left()
        return took

    def stop_if_running(self):
        """Stops the current Weir, if any."""
        if self.runs():
            self.stop()

    def afresh(self, **settings):
        """Starts another Weir."""
        self.stop_if_running()
        return self.start(**settings)

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Changes the key of two limiters on loopback, and adds identities, while they run. Strangers and
forgers send more than control could read. The peers' states are checked all the time."""

import os
import re
import socket
import subprocess
import time

import box
from box import WEIR, expect, wait_until

PORTS = [17946, 17947]
POLICY = {"policies": [{"name": "all", "limit": "10Mbit/s", "burst": "75kB"}]}
FLOOD_S = 4
FLOOD_RATE = 1_220_000  # datagrams a second, if the machine has the CPU time to send them
FLOOD_BYTES = 96
FLOOD_SEND = os.path.join(box.BUILD, "test", "net", "flood_send")


def group(scene, i, known=None, **more):
    """Returns the configuration of limiter i of two."""
    roster = [{"name": f"l{k}", "address": f"127.0.0.{k + 1}:{PORTS[k]}"} for k in range(2)]
    for peer, public in zip(roster, known or []):
        peer["public_key"] = public
    return box.wire(f"net_ring{2 * i}", f"net_ring{2 * i + 1}") | POLICY | {
        "limiter": f"l{i}", "gossip": {"roster": roster} | more}


def make(scene, option, name):
    """Creates a key or an identity with weir; returns its path and the printed text."""
    path = scene.path(name)
    done = subprocess.run([WEIR, option, path], capture_output=True, text=True, check=True)
    expect(oct(os.stat(path).st_mode)[-3:] == "600", f"mode of {path}")
    return path, done.stdout.strip()


class Pair:
    """Both limiters, and a thread that checks continuously that each counts the other."""

    def __init__(self, scene, **more):
        self.scene, self.lost, self.looks, self.over = scene, [], 0, False
        self.boxes = [scene.box(group(scene, i, **more), f"l{i}").start() for i in range(2)]
        wait_until(self.both_alive, "both to see each other")

    def peer(self, i):
        """Returns the state of the other limiter as limiter i reports it."""
        return self.boxes[i].get("/weir/peers")["peers"][1 - i]

    def both_alive(self):
        """Returns true if each counts the other as alive."""
        return all(self.peer(i)["state"] == "alive" for i in range(2))

    def watch(self, seconds):
        """Checks the peers for `seconds`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.looks += 1
            if not self.both_alive():
                self.lost.append([self.peer(i) for i in range(2)])
            time.sleep(0.02)

    def reload(self, i, error=False, known=None, **more):
        """Reloads other keys at one limiter, and asserts that they are rejected or not."""
        weir = self.boxes[i]
        weir.config["gossip"] = group(self.scene, i, known, **more)["gossip"]
        weir.write()
        before = weir.get("/weir/config")["last_reload"]
        weir.get("/weir/reload")
        last = wait_until(lambda: weir.get("/weir/config")["last_reload"] != before and
                          weir.get("/weir/config")["last_reload"], "the reload")
        expect(last["ok"] != error, str(last))
        self.watch(1.2)
        return last

    def stop(self):
        """Stops both, and asserts that neither ever lost the other."""
        expect(self.looks > 50 and not self.lost,
               f"{len(self.lost)} of {self.looks} looks: {self.lost[:1]}")
        restarts = [self.peer(i)["restarts"] for i in range(2)]
        refused = [self.boxes[i].get("/weir/gossip")["received"] for i in range(2)]
        for weir in self.boxes:
            weir.stop()
        expect(restarts == [0, 0], f"restarts {restarts}")
        return refused


def rotation(scene):
    """A key is added, becomes the sending key and is removed; a rejected file changes nothing."""
    (old, _), (new, _) = make(scene, "--new-key", "old"), make(scene, "--new-key", "new")
    pair = Pair(scene, key_file=old)
    names = [pair.boxes[0].get("/weir/peers")["keys"]]
    for files in ([old, new], [new, old]):
        for i in range(2):
            pair.reload(i, key_files=files)
        names.append(pair.boxes[0].get("/weir/peers")["keys"])
    os.chmod(new, 0o644)
    pair.reload(0, key_file=new, error=True)
    expect(re.search(r"\.json:\d+: gossip\.key_file: .*: others may read it: expected mode 0600",
                     pair.boxes[0].log()), "why it was refused, and where, is not in the log")
    expect(pair.boxes[0].get("/weir/peers")["keys"] == names[-1], "a refused file changed the keys")
    os.chmod(new, 0o600)
    for i in range(2):
        pair.reload(i, key_file=new)
    names.append(pair.boxes[0].get("/weir/peers")["keys"])
    expect(names == [names[0], names[0] + names[3], names[3] + names[0], names[3]], str(names))
    expect(all([pair.peer(i)["key"]] == names[3] for i in range(2)), "the old key still seals")
    refused = pair.stop()
    for received in refused:
        expect(received["no_key"] == received["forged"] == 0, str(received))


def identities(scene):
    """A group gets identities; then the group's key alone does not authenticate a limiter."""
    key, _ = make(scene, "--new-key", "key")
    made = [make(scene, "--new-identity", f"identity{i}") for i in range(2)]
    known = [public for _, public in made]
    pair = Pair(scene, key_file=key)
    for kind in ("optional", "required"):
        for i in range(2):
            pair.reload(i, known=known, key_file=key, identity_file=made[i][0], identities=kind)
    expect([box_.get("/weir/peers")["identities"] for box_ in pair.boxes] == ["required"] * 2, "")
    expect(all([pair.peer(i)["key"]] == pair.boxes[i].get("/weir/peers")["keys"]
               for i in range(2)), "not sealed with identities")
    pair.stop()


def junk(pair, source, name, key="0"):
    """Floods limiter 0 from this address and name; returns (datagrams sent, text)."""
    sender = subprocess.Popen(
        [FLOOD_SEND, source, "127.0.0.1", str(PORTS[0]), str(FLOOD_RATE), str(FLOOD_S),
         str(FLOOD_BYTES), f"{box_hash(name):x}", key], stdout=subprocess.PIPE, text=True)
    pair.watch(FLOOD_S)
    sent, seconds, cpu = sender.communicate(timeout=box.PATIENCE_S)[0].split()
    expect(sender.returncode == 0 and int(sent) > 0, f"the sender: {sender.returncode}, {sent}")
    return int(sent), (f"{int(sent) / float(seconds):.0f} datagrams a second, "
                       f"{1e9 * float(cpu) / int(sent):.0f} ns each to send and deliver")


def flood(scene):
    """Strangers send junk at the highest rate: the kernel drops it, and no peer is lost."""
    key, _ = make(scene, "--new-key", "key")
    pair = Pair(scene, key_file=key)
    sent, words = junk(pair, "127.0.0.77", "l1")
    gossip = pair.boxes[0].get("/weir/gossip")
    expect(gossip["socket_drops"] >= sent, f"{sent} sent: {gossip}")
    expect(gossip["received"]["stranger"] == gossip["received"]["no_key"] == 0, str(gossip))
    # In the name of a peer, from the address of another member: our own.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as liar:
        liar.bind(("127.0.0.2", 0))
        name = box_hash("l0")
        liar.sendto(b"\x03\x01\x03\x03" + name.to_bytes(4, "big") + bytes(80),
                    ("127.0.0.1", PORTS[0]))
        wait_until(lambda: pair.boxes[0].get("/weir/gossip")["wrong_source"] == 1,
                   "the wrong source to be counted")
    pair.stop()
    return words


def forgery(scene):
    """Junk with the address, name and key name of a peer. Each datagram must be decrypted, and none
    is accepted. If the peer's own messages are lost meanwhile, the peer returns afterwards."""
    key, _ = make(scene, "--new-key", "key")
    pair = Pair(scene, key_file=key)
    sent, words = junk(pair, "127.0.0.2", "l1", pair.peer(0)["key"])
    wait_until(pair.both_alive, "both to see each other again")
    gossip = pair.boxes[0].get("/weir/gossip")
    opened = gossip["received"]["forged"]
    expect(0 < opened <= sent <= opened + gossip["socket_drops"], f"{sent} sent: {gossip}")
    lost, pair.lost = len(pair.lost), []
    pair.stop()
    return f"{words}; {opened / FLOOD_S:.0f} opened, lost in {lost} of {pair.looks} looks"


def box_hash(name):
    """Returns the FNV-1a hash of a name."""
    value = 2166136261
    for byte in name.encode():
        value = (value ^ byte) * 16777619 & 0xffffffff
    return value


SCENARIOS = [rotation, identities, flood, forgery]

if __name__ == "__main__":
    box.main(SCENARIOS)

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Quotas in etcd, on live limiters: together they pass nearly all of the total and never more, even
if etcd or the limiter that draws for the others dies. Most of the total was drawn at other sites
before: a draw is a part of the total, so few draws use up the small rest.

Uses a real etcd on loopback, which also carries gossip, in its own network namespace. Veth pairs
are the cables, and their far ends count the packets that passed:

    load in1 ──veth── a │x│ b ──veth── out1 sink
    load in2 ──veth── a │y│ b ──veth── out2 sink
"""

import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
import threading
import time

import box
from box import expect, ip, wait_until
from etcd import EXPIRED_S, FAST_LOGIN, Etcd, needs, password_file
from lifecycle import cable

CTL = os.path.join(box.BUILD, "app", "weirctl", "weirctl")
TOTAL, REST = 16000000, 2000000  # bytes of IP packets: the total; the part left for these limiters
USED = 0.99  # least part of the rest that is spent
STOCK = TOTAL // 100  # most that a limiter holds
RATE = 1000000  # bytes a second of a load
HANDS = RATE // 5 + STOCK // 8  # most that a crash loses as prepaid quota
PACKET, ETHERNET = 1000, 14
QUIET_S = 1.5  # without a packet: all traffic has ended
NAMES = ("x", "y")
PORT = 17946


def frame():
    """Returns an Ethernet frame with an IPv4 and UDP packet of PACKET bytes."""
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, PACKET, 0, 0, 64, 17, 0,
                         bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2)))
    return b"\x02\0\0\0\0\x0b\x02\0\0\0\0\x0a\x08\0" + header + bytes(PACKET - len(header))


class Load:
    """Sends `rate` bytes a second on an interface until end()."""

    def __init__(self, interface, rate):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.socket.bind((interface, 0))
        self.rate, self.over = rate, threading.Event()
        self.thread = threading.Thread(target=self._send, daemon=True)
        self.thread.start()

    def _send(self):
        data, began, sent = frame(), time.monotonic(), 0
        while not self.over.wait(0.002):
            while sent < (time.monotonic() - began) * self.rate:
                with contextlib.suppress(OSError):
                    self.socket.send(data)
                sent += PACKET

    def end(self):
        """Stops sending."""
        self.over.set()
        self.thread.join()
        self.socket.close()


class Group:
    """Limiters with one policy, each with a load, and the etcd that has the total."""

    def __init__(self, scene, names=NAMES, users=False, **policy):
        self.scene, self.names, self.users, self.loads = scene, names, users, []
        self.policy = {"name": "p", "match": {"direction": "a-to-b"}, "accounting": "l3",
                       "allocator": "quota", "total": f"{TOTAL}B"} | policy
        self.etcd = Etcd(scene, *(FAST_LOGIN if users else ()))
        self.boxes = []

    def __enter__(self):
        try:
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _begin(self):
        self.etcd.start()
        if self.users:
            self.etcd.want_login()
            for name in self.names:
                self.etcd.add_user(name, "pw-" + name)
                self.etcd.grant_least(name, "p")
        self.drawn_elsewhere("p")
        for i, name in enumerate(self.names, start=1):
            cable(f"in{i}", f"a{i}")
            cable(f"out{i}", f"b{i}")
            weir = self.scene.box(self.config(i), name)
            self.boxes.append(weir)
            status, _, err = weir.run("--new-ledger", box.LEDGER, weir.config_path)
            expect(status == 0, err)
        for weir in self.boxes:
            weir.start()
        wait_until(lambda: all(self.known(weir) for weir in self.boxes), "etcd to be asked")
        if len(self.boxes) > 1:
            wait_until(lambda: len(self.roots()) == 1, "one tree")

    def __exit__(self, *error):
        for load in self.loads:
            load.end()
        for weir in self.boxes:
            weir.kill()
        for link in json.loads(ip("-j link show type veth")):
            if link["ifname"].startswith(("in", "out")):
                ip(f"link del dev {link['ifname']}")

    def config(self, i):
        """Returns the configuration of limiter i, from 1."""
        config = box.wire(f"net_af_packet0,iface=a{i}", f"net_af_packet1,iface=b{i}")
        config |= {"eal": ["--no-huge", "-m", "256", "--no-shconf"], "policies": [self.policy],
                   "ledger": {"store": self.scene.path(f"store{i}"),
                              "etcd": {"endpoints": [self.etcd.url]}}}
        if self.users:
            name = self.names[i - 1]
            config["ledger"]["etcd"] |= {"user": name, "password_file": password_file(
                self.scene, "pw-" + name, "password-" + name)}
        if len(self.names) > 1:
            roster = [{"name": name, "address": f"127.0.0.1:{PORT + k}"}
                      for k, name in enumerate(self.names)]
            config["gossip"] = {"listen": roster[i - 1]["address"], "roster": roster,
                                "insecure": True, "timeout": "1s"}
        return config

    @staticmethod
    def known(weir):
        """Returns true if the limiter has received the drawn sum from etcd."""
        return weir.get("/weir/etcd")["quotas"][0]["as_of_ms_ago"] is not None

    def roots(self):
        """Returns the running limiters that regard themselves as the root."""
        return [weir for weir in self.boxes
                if weir.process.poll() is None and weir.get("/weir/tree")["is_root"]]

    @staticmethod
    def reload(weir):
        """Reloads the limiter's current configuration; returns when it is applied."""
        weir.write()
        done = subprocess.run([CTL, "-s", weir.socket, "reload"], capture_output=True, text=True,
                              check=False)
        expect(done.returncode == 0, f"reload: {done.stdout}{done.stderr}")

    def load(self):
        """Starts a load at each limiter."""
        self.loads += [Load(f"in{i}", RATE) for i, _ in enumerate(self.names, start=1)]

    def unload(self):
        """Stops all loads."""
        while self.loads:
            self.loads.pop().end()

    def passed(self):
        """Returns the bytes of IP packets that have arrived at the sinks."""
        total = 0
        for i, _ in enumerate(self.names, start=1):
            link = json.loads(ip(f"-s -j link show dev out{i}"))[0]["stats64"]["rx"]
            total += link["bytes"] - ETHERNET * link["packets"]
        return total

    def until_passed(self, most):
        """Waits until that many bytes have passed."""
        wait_until(lambda: self.passed() >= most, f"{most} bytes to pass")

    def until_quiet(self, most):
        """Waits until nothing passes any more; returns the bytes passed, at most `most`."""
        before = None
        while before != (now := self.passed()):
            expect(now <= most, f"{now} bytes passed, of {most}")
            before = now
            time.sleep(QUIET_S)
        return before

    def until_spent(self, total, least=USED):
        """Waits until nearly all of `total` has passed; returns the passed part of it."""
        self.until_passed(least * total)
        return self.until_quiet(total) / total

    def drawn_elsewhere(self, name):
        """Sets the drawn sum in etcd to the part that other sites have drawn."""
        self.etcd.put(f"/weir/quotas/{name}/1/drawn", str(TOTAL - REST))

    def drawn(self, name="p"):
        """Returns the bytes that these limiters have drawn, as stored in etcd."""
        return int(self.etcd.get(f"/weir/quotas/{name}/1/drawn")) - (TOTAL - REST)

    def state(self, weir):
        """Returns the state of etcd as a limiter reports it."""
        return weir.get("/weir/etcd")["state"]


def to_the_last(scene):
    """Two limiters spend all of the total, then a top-up that the operator writes into etcd."""
    with Group(scene) as group:
        held = sum(weir.get("/weir/quota,p")["held_bytes"] for weir in group.boxes)
        expect(held <= 2 * STOCK, f"{held} bytes are held before any is spent")
        group.load()
        first = group.until_spent(REST)
        wait_until(lambda: group.drawn() == REST, "all to be drawn")
        for weir in group.boxes:
            shown = subprocess.run([CTL, "-s", weir.socket, "etcd"], check=True,
                                   capture_output=True, text=True).stdout
            expect("state      connected\n" in shown and "\np " in shown, shown)
            expect(weir.get("/weir/quota,p")["total_bytes"] == TOTAL, "the total")
        began, before = time.monotonic(), group.passed()
        group.etcd.put("/weir/quotas/p/total", str(TOTAL + REST // 2))
        group.until_passed(before + PACKET)
        took = time.monotonic() - began
        second = group.until_spent(REST + REST // 2)
        for weir in group.boxes:
            weir.stop()
    return (f"{first:.5f} of the total, {second:.5f} with a top-up, which was seen within "
            f"{took:.1f} s")


def the_root_dies(scene):
    """The root is killed: the other limiter draws, and the root's quota returns with the root."""
    with Group(scene) as group:
        group.load()
        group.until_passed(REST / 4)
        root = group.roots()[0]
        other = group.boxes[1 - group.boxes.index(root)]
        root.kill()
        mine = f"/weir/quotas/p/1/drawn/{os.path.basename(other.config_path)[:-5]}"
        began, before = time.monotonic(), group.etcd.get(mine)
        wait_until(lambda: group.etcd.get(mine) != before, "the other one to draw")
        took = time.monotonic() - began
        wait_until(lambda: other.get("/weir/tree")["is_root"], "another root")
        alone = group.until_spent(REST, 1 - 2 * STOCK / REST)  # half of the stock was in flight
        root.start()
        wait_until(lambda: group.known(root), "etcd to be asked again")
        both = group.until_spent(REST, 1 - HANDS / REST)
        wait_until(lambda: group.drawn() == REST, "all to be drawn")
    return f"{alone:.5f} of the total without it, {both:.5f} with it; went on within {took:.1f} s"


def the_root_is_fenced(scene):
    """A newer start fences the root: the other limiter draws for itself and for the root."""
    with Group(scene) as group:
        group.load()
        group.until_passed(REST / 4)
        root = group.roots()[0]
        name = os.path.basename(root.config_path)[:-5]
        group.etcd.put(f"/weir/limiters/{name}", "f" * 16)
        wait_until(lambda: group.state(root) == "fenced", "the root to be fenced")
        mine = group.etcd.get(f"/weir/quotas/p/1/drawn/{name}")
        used = group.until_spent(REST)
        expect(group.etcd.get(f"/weir/quotas/p/1/drawn/{name}") == mine, "it has drawn")
        expect(group.roots() == [root], "another root")
    return f"{used:.5f} of the total, {int(mine) / REST:.5f} drawn before"


def a_disk_is_lost(scene):
    """A limiter loses its disk: its held quota counts as spent, and it continues with the rest."""
    with Group(scene, names=("x",)) as group:
        weir = group.boxes[0]
        group.load()
        group.until_passed(REST / 4)
        weir.kill()
        shutil.rmtree(scene.path("store1"))
        held = group.drawn() - group.passed()
        weir.start()
        expect(weir.get("/weir/ledger")["began_without_memory"], "the store is still known")
        used = group.until_spent(REST - held)
    return f"{used:.5f} of the total, less {held} bytes that were held"


def etcd_is_away(scene):
    """Without etcd, limiters pass the held quota and no more; they continue when etcd returns."""
    with Group(scene) as group:
        group.load()
        group.until_passed(REST / 4)
        group.etcd.kill()
        before = group.passed()
        wait_until(lambda: "away" in map(group.state, group.boxes), "the loss to be seen")
        stopped = group.until_quiet(REST)
        group.etcd.start()
        expect(before < stopped <= group.drawn(), f"{stopped} bytes passed")
        began = time.monotonic()
        group.until_passed(stopped + PACKET)
        took = time.monotonic() - began
        used = group.until_spent(REST)
        for weir in group.boxes:
            said = weir.log().count("continue with the units that they have drawn")
            expect(said <= 1, f"the loss was said {said} times")
    return (f"{stopped - before} bytes passed without etcd; it went on within {took:.1f} s, "
            f"{used:.5f} of the total")


def refused(group, words):
    """Returns true if each limiter reports and has logged why it draws nothing."""
    seen = [weir.get("/weir/etcd") for weir in group.boxes]
    return all((words in (one["error"] or "") or one["quotas"][0]["error"]) and words in weir.log()
               for one, weir in zip(seen, group.boxes))


def goes_on(group, stopped):
    """Waits until more than `stopped` bytes pass; returns the seconds that this took."""
    began = time.monotonic()
    group.until_passed(stopped + PACKET)
    return time.monotonic() - began


def rights_are_revoked(scene):
    """The users lose the right to the budget, then their password, then their tokens, under load.
    Only the held quota passes meanwhile. Limiters report the missing right, and continue without
    help when they have it again."""
    words, below = [], "/weir/quotas/p"
    with Group(scene, users=True) as group:
        etcd = group.etcd
        group.load()
        group.until_passed(REST / 8)
        etcd.token = etcd.log_in()
        for name in NAMES:
            etcd.revoke(name, below + "/0", below + "/:")
        wait_until(lambda: refused(group, "permission denied"), "the limiters to say so")
        etcd.token = etcd.log_in()
        stopped = group.until_quiet(group.drawn())
        etcd.token = etcd.log_in()
        for name in NAMES:
            etcd.grant_least(name, "p")
        words.append(f"rights back {goes_on(group, stopped):.1f} s")
        etcd.token = etcd.log_in()
        for name in NAMES:
            etcd.auth("user/changepw", name=name, password="another")
        wait_until(lambda: refused(group, "authentication failed"), "the limiters to say so")
        etcd.token = etcd.log_in()
        stopped = group.until_quiet(group.drawn())
        for name in NAMES:
            password_file(scene, "another", "password-" + name)
        words.append(f"password {goes_on(group, stopped):.1f} s")
        group.unload()
        time.sleep(EXPIRED_S)  # until every token has expired
        stopped = group.until_quiet(REST)
        group.load()
        words.append(f"expired {goes_on(group, stopped):.1f} s")
        etcd.kill()
        etcd.start(answers=False)  # with no tokens left
        used = group.until_spent(REST)
        for weir in group.boxes:
            expect(weir.log().count("; nothing is drawn of it") <= 10, "said too often")
            weir.stop()
    return f"{used:.5f} of the total; gone on after: " + ", ".join(words)


def two_of_a_name(scene):
    """Two copies of a limiter with the same store: only the one that started last draws."""
    with Group(scene, names=("x",)) as group:
        first = group.boxes[0]
        first.stop()
        shutil.copytree(scene.path("store1"), scene.path("store2"))
        first.start()
        config = group.config(1)
        copy = scene.box(box.wire("net_ring0", "net_ring1") | {
            "limiter": "x", "eal": config["eal"], "policies": config["policies"],
            "ledger": config["ledger"] | {"store": scene.path("store2")}}, "copy")
        group.load()
        group.until_passed(REST / 4)
        copy.start()
        wait_until(lambda: group.state(copy) == "fenced", "a copy of as many starts to be fenced")
        copy.stop()
        copy.start()
        wait_until(lambda: group.state(first) == "fenced", "the first to be fenced")
        stopped = group.until_quiet(group.drawn())
        expect(stopped > REST / 4, "what it held has not passed")
        expect(group.state(copy) == "connected", "the second does not draw")
        expect(first.log().count("etcd: fenced") == 1, "not said, or too often")
        copy.stop()
    return f"the first passed {stopped / REST:.5f} of the total, and nothing since"


def a_reload_brings_it(scene):
    """A reload adds the policy to a running limiter, and later a second one."""
    with Group(scene, names=("x",)) as group:
        weir = group.boxes[0]
        group.drawn_elsewhere("q")
        group.load()
        group.until_passed(REST / 8)
        weir.config["policies"] = [group.policy | {"name": "q"}]
        group.reload(weir)
        group.until_passed(group.passed() + REST / 2)
        weir.config["policies"].append(group.policy | {"match": {"direction": "b-to-a"}})
        group.reload(weir)
        expect([one["policy"] for one in weir.get("/weir/etcd")["quotas"]] == ["p", "q"], "names")
        wait_until(lambda: group.known(weir), "the other one to be asked about")
        group.until_quiet(2 * REST)
        wait_until(lambda: group.drawn("q") == REST, "all to be drawn")
        used = weir.get("/weir/policy,q")["passed"]["bytes"] / REST
        expect(USED <= used <= 1, f"{used:.5f} of the total")
        weir.stop()
    return f"{used:.5f} of the new total"


SCENARIOS = [to_the_last, the_root_dies, the_root_is_fenced, a_disk_is_lost, etcd_is_away,
             rights_are_revoked, two_of_a_name, a_reload_brings_it]


def setup():
    """Skips the test on machines without etcd or network namespaces."""
    needs()
    box.enter_netns()


if __name__ == "__main__":
    box.main(SCENARIOS, setup=setup)

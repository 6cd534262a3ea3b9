#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Two live limiters whose settings differ in one thing. Both report the difference and its start
time in telemetry, in `weirctl peers` and in one log line. Meanwhile hard limits are not exceeded.

--long also runs the scenarios that take a minute. Runs in its own network namespace.
"""

import concurrent.futures
import contextlib
import copy
import os
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))

import box  # noqa: E402
from box import WEIR, expect, wait_until  # noqa: E402
from hard_limits import LIMIT, Group  # noqa: E402
from stall import Passed  # noqa: E402

CTL = os.path.join(box.BUILD, "app", "weirctl", "weirctl")
CLOCK = os.path.join(box.BUILD, "test", "net", "libshifted_clock.so")
PORT = 17946
LONG = "--long" in sys.argv
ODD = 1  # index of the limiter with the different setting
TARGET_S, PATIENCE_S = 10, 30  # target of a report, and most that a shared machine needs
AT_ONCE = 3
TAKES_S = 3  # longer than the interval between two summaries of a limiter


def address(network, i):
    """Returns the address of limiter i of a pair."""
    return f"127.0.{network}.{i + 1}"


def policies():
    """Returns one policy of each kind."""
    return [{"name": "soft", "match": {"src": "10.0.0.0/8"}, "limit": "10Mbit/s", "burst": "75kB"},
            {"name": "cap", "match": {"src": "11.0.0.0/8"}, "limit": "10Mbit/s", "burst": "75kB",
             "guarantee": "hard"},
            {"name": "volume", "match": {"src": "12.0.0.0/8"}, "allocator": "quota",
             "total": "1GB", "period": "24h"}]


def made(scene, option, name):
    """Creates a key or an identity; returns its path and the printed text."""
    path = scene.path(name)
    done = subprocess.run([WEIR, option, path], capture_output=True, text=True, check=True)
    return path, done.stdout.strip()


class Pair:
    """Two limiters in their own loopback network; `change` alters the settings of the second."""

    def __init__(self, scene, network, change=None, **gossip):
        self.network = network
        self.boxes = []
        for i in range(2):
            config = self.told(scene, i, gossip)
            if change and i == ODD:
                change(config)
            self.boxes.append(scene.box(config, f"n{network}l{i}"))
            self.boxes[i].config["limiter"] = f"l{i}"
            self.boxes[i].write()
            status, _, err = self.boxes[i].run("--new-ledger", box.LEDGER,
                                               self.boxes[i].config_path)
            expect(status == 0, err)

    def told(self, scene, i, gossip):
        """Returns the configuration of limiter i."""
        roster = [{"name": f"l{k}", "address": f"{address(self.network, k)}:{PORT}"}
                  for k in range(2)]
        more = gossip or {"insecure": True}
        return box.wire(f"net_ring{2 * i}", f"net_ring{2 * i + 1}") | {
            "policies": policies(), "gossip": {"roster": roster, "timeout": "1s"} | more,
            "ledger": {"store": scene.path(f"store{self.network}-{i}"), "lease": "4s",
                       "drift": 1000}}

    def start(self):
        """Starts both at the same time."""
        for weir in self.boxes:
            weir.spawn()
        for weir in self.boxes:
            weir.await_answer()
        return self

    def peer(self, i):
        """Returns the state of the other limiter as limiter i reports it."""
        return self.boxes[i].get("/weir/peers")["peers"][1 - i]

    def agree(self):
        """Waits until both have compared their settings and found no difference."""
        wait_until(lambda: all(self.peer(i)["differs"] is None and self.peer(i)["state"] == "alive"
                               and self.peer(i)["compared_ms_ago"] is not None
                               for i in range(2)),
                   lambda: f"differs: {[self.peer(i)['differs'] for i in range(2)]}")

    def back(self):
        """Restores the original settings of the second limiter; waits until both report and log
        this."""
        self.reload()
        self.agree()
        for weir in self.boxes:
            wait_until(lambda weir=weir: "differs in nothing any more" in [
                line for line in weir.log().splitlines() if ": differs" in line][-1],
                "the end of it in the log")

    def reload(self, change=None):
        """Reloads the second limiter with `change` or its original settings; returns the start
        time."""
        weir = self.boxes[ODD]
        previous = copy.deepcopy(weir.config)
        if change:
            change(weir.config)
        weir.write()
        before = weir.get("/weir/config")["last_reload"]
        weir.get("/weir/reload")
        last = wait_until(lambda: weir.get("/weir/config")["last_reload"] != before and
                          weir.get("/weir/config")["last_reload"], "the reload")
        expect(last["ok"], str(last))
        weir.config = previous
        return time.monotonic()

    def shown(self, words, began):
        """Waits until both sides report the difference; returns the seconds that this took."""
        def says(i):
            peer = self.peer(i)
            return any(words in text for text in peer["differs"] or ()) and (
                peer["differs_ms"] is not None)

        wait_until(lambda: says(0) and says(1), lambda: f'"{words}" to be shown: '
                   f"{[self.peer(i)['differs'] for i in range(2)]}", PATIENCE_S)
        took = time.monotonic() - began
        for i, weir in enumerate(self.boxes):
            row = subprocess.run([CTL, "-s", weir.socket, "peers"], capture_output=True, text=True,
                                 check=True).stdout.splitlines()[2 - i]
            expect(row.startswith(f"l{1 - i} ") and words in row, f"weirctl peers: {row}")
            expect(self.peer(i)["differs_ms"] < 1000 * (took + 30), str(self.peer(i)))
            wait_until(lambda weir=weir, i=i: self.logged(weir, 1 - i, words),
                       f'a line of the log that says "{words}"', PATIENCE_S)
        return took

    @staticmethod
    def logged(weir, other, words):
        """Returns true if the last line logs the difference, once since the last "in nothing any
        more"."""
        lines = [line for line in weir.log().splitlines() if f"peer l{other}: differs" in line]
        return lines and words in lines[-1] and (
            len(lines) == 1 or "in nothing any more" in lines[-2])

    def stop(self):
        """Stops both."""
        for weir in self.boxes:
            weir.stop()


class Slowest:
    """Seconds that each kind of difference took to be reported."""

    def __init__(self):
        self.took = {}

    def note(self, kind, seconds):
        """Records one of them."""
        self.took[kind] = seconds

    def words(self):
        """Returns the fastest, the slowest and the late ones as text."""
        kind = max(self.took, key=self.took.get)
        late = [kind for kind, seconds in self.took.items() if seconds > TARGET_S]
        return (f"{len(self.took)} kinds, {min(self.took.values()):.1f} to {self.took[kind]:.1f} s "
                f"({kind}), later than {TARGET_S} s: {late}")


def in_policy(name, **keys):
    """Returns a change of one policy."""
    def change(config):
        next(policy for policy in config["policies"] if policy["name"] == name).update(keys)
    return change


def without(name):
    """Returns a change that removes a policy."""
    def change(config):
        config["policies"] = [one for one in config["policies"] if one["name"] != name]
    return change


OF_POLICIES = [
    ("limit of cap", in_policy("cap", limit="80Mbit/s")),
    ("limit of soft", in_policy("soft", limit="80Mbit/s")),
    ("burst of cap", in_policy("cap", burst="150kB")),
    ("count of soft", in_policy("soft", count="packets", limit="1000/s", burst=100)),
    ("accounting of cap", in_policy("cap", accounting="wire")),
    ("allocator of soft", in_policy("soft", allocator="adaptor")),
    ("guarantee of cap", in_policy("cap", guarantee="soft")),
    ("presence of ", without("soft")),
    ("total of volume", in_policy("volume", total="2GB")),
    ("presence or period of volume", in_policy("volume", period="12h")),
]


def policies_that_differ(scene):
    """Changes each policy setting of one limiter by a reload, and restores it."""
    pair, slowest = Pair(scene, 1).start(), Slowest()
    pair.agree()
    for words, change in OF_POLICIES:
        began = pair.reload(change)
        for command in ("change", "config"):  # both replies are immediate
            differ = pair.boxes[ODD].get(f"/weir/{command}")["peers_differ"]
            expect(differ == [f"l{1 - ODD}"], f"{words}: {command} names {differ}")
        thing, _, policy = words.partition(" of ")
        slowest.note(words, pair.shown(f"of {policy}", began))
        texts = [text for i in range(2) for text in pair.peer(i)["differs"]]
        expect(all(set(text.split(" of ")[0].split(", ")) & {thing, "presence"} for text in texts)
               and any(text.startswith(thing) or f", {thing}" in text for text in texts),
               f"{words}: {texts}")
        pair.back()
    pair.stop()
    return slowest.words()


def what_may_differ(scene):
    """Settings that can differ between limiters, such as the meter and the action, are not
    reported."""
    pair = Pair(scene, 2).start()
    pair.agree()
    pair.reload(lambda config: [change(config) for change in (
        in_policy("soft", meter="gcra"), in_policy("soft", match={"src": "13.0.0.0/8"}),
        in_policy("cap", action="mark", mark="ecn"))])
    end = time.monotonic() + TAKES_S
    while time.monotonic() < end:
        expect(not any(pair.peer(i)["differs"] for i in range(2)), f"{pair.peer(0)['differs']}")
        time.sleep(0.1)
    pair.agree()
    pair.stop()


def set_gossip(**keys):
    """Returns a change of the group's settings."""
    return lambda config: config["gossip"].update(keys)


def set_ledger(**keys):
    """Returns a change of the ledger's settings."""
    return lambda config: config["ledger"].update(keys)


def with_member(config):
    """Adds a member to the roster."""
    config["gossip"]["roster"].append({"name": "l9", "address": "127.0.0.9:17946"})


def with_address(config):
    """Gives the other limiter a different address in the roster."""
    config["gossip"]["roster"][0]["address"] = "127.0.0.99:17946"


OF_GROUPS = [
    ("roster", with_member),
    ("no gossip", with_address),
    ("gossip timeout", set_gossip(timeout="500ms")),
    ("estimator", set_gossip(estimator="tree")),
    ("lease", set_ledger(lease="12s")),
    ("drift", set_ledger(drift=100)),
    ("overlay", set_ledger(overlay="ring")),
]


def of_group(scene, network, words, change, slowest):
    """Starts two limiters that differ in a group setting; each must raise an alarm."""
    pair = Pair(scene, network, change).start()
    slowest.note(words, pair.shown(words, time.monotonic()))
    for i, weir in enumerate(pair.boxes):
        said = weir.get("/weir/health")["alarms"]
        expect(any(words in text and f"l{1 - i}" in text for text in said), f"alarms: {said}")
    pair.stop()


def groups_that_differ(scene):
    """Tests the settings that only a restart can change."""
    slowest = Slowest()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as crew:
        calls = [crew.submit(of_group, scene, 10 + k, words, change, slowest)
                 for k, (words, change) in enumerate(OF_GROUPS)]
        for call in calls:
            call.result()
    return slowest.words()


def clocks_that_differ(scene):
    """Tests clocks that are an hour ahead or behind."""
    slowest = Slowest()

    def one(network, shift):
        pair = Pair(scene, network)
        pair.boxes[ODD].environment |= {"LD_PRELOAD": CLOCK, "WEIR_SHIFT_S": str(shift)}
        pair.start()
        slowest.note(f"{shift} s", pair.shown("clock", time.monotonic()))
        pair.stop()

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as crew:
        for call in [crew.submit(one, 30, 3600), crew.submit(one, 31, -3600)]:
            call.result()
    return slowest.words()


def keys_that_differ(scene):
    """Tests different group keys and a wrong public key. Neither limiter can read the other's
    settings; both must report why they cannot decrypt its messages."""
    slowest = Slowest()
    key, other = (made(scene, "--new-key", name)[0] for name in ("key", "other"))
    identities = [made(scene, "--new-identity", f"identity{k}") for k in range(3)]
    pair = Pair(scene, 40, key_file=key)
    for i, weir in enumerate(pair.boxes):
        weir.config["gossip"]["identity_file"] = identities[i][0]
        for k, peer in enumerate(weir.config["gossip"]["roster"]):
            peer["public_key"] = identities[k][1]
        weir.write()
    pair.start().agree()

    def pair_key(config):
        config["gossip"]["roster"][0]["public_key"] = identities[2][1]

    for words, change in (("key: it encrypts", set_gossip(key_file=other)),
                          ("key or identity:", pair_key)):
        before = [pair.peer(i)["refused"] for i in range(2)]
        slowest.note(words, pair.shown(words, pair.reload(change)))
        for i in range(2):
            peer = pair.peer(i)
            expect(peer["refused"] > before[i] and peer["refused_as"] in ("no_key", "forged") and
                   peer["refused_ms_ago"] is not None, str(peer))
        pair.back()
    pair.stop()
    return slowest.words()


LATER = 99  # a format that no limiter reads


class Later(threading.Thread):
    """Relays datagrams between two limiters, and changes their version to a later format."""

    def __init__(self, network, ports):
        super().__init__(daemon=True)
        self.ends, self.over = [], False
        for i in range(2):  # bound as limiter i, to send to the other one
            end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            end.bind((address(network, i), ports[i]))
            end.settimeout(0.1)
            self.ends.append(end)
        self.homes = [(address(network, i), PORT) for i in range(2)]
        self.pumps = [threading.Thread(target=self.pump, args=(i,), daemon=True) for i in range(2)]

    def pump(self, i):
        """Forwards datagrams for limiter i from the other's address."""
        while not self.over:
            with contextlib.suppress(TimeoutError, ConnectionRefusedError):
                data = bytearray(self.ends[i].recv(9000))
                data[0:4] = bytes((LATER, data[1], LATER, LATER))
                self.ends[1 - i].sendto(data, self.homes[i])

    def __enter__(self):
        for pump in self.pumps:
            pump.start()
        return self

    def __exit__(self, *_):
        self.over = True
        for pump in self.pumps:
            pump.join()
        for end in self.ends:
            end.close()


def formats_that_differ(scene):
    """Both limiters send a format that is too new for the other."""
    slowest, network, ports = Slowest(), 50, (18000, 18001)
    pair = Pair(scene, network)
    for i, weir in enumerate(pair.boxes):
        weir.config["gossip"]["roster"][1 - i]["address"] = (
            f"{address(network, 1 - i)}:{ports[1 - i]}")
        weir.write()
    with Later(network, ports):
        pair.start()
        slowest.note("format", pair.shown("format:", time.monotonic()))
        expect(all(pair.peer(i)["unreadable_format"] == LATER for i in range(2)), "which format")
    pair.stop()
    return slowest.words()


def alarms(weir):
    """Returns the alarms about peers that differ."""
    return [text for text in weir.get("/weir/health")["alarms"] if "differs for" in text]


def notice_then_alarm(scene):
    """A difference that a reload can cause raises an alarm after gossip.differs_alarm, which a
    reload can change. Other differences raise one immediately, as tested above."""
    pair = Pair(scene, 60).start()
    pair.agree()
    limit = in_policy("cap", limit="80Mbit/s")
    pair.shown("limit of cap", pair.reload(limit))
    expect(not alarms(pair.boxes[0]) and not alarms(pair.boxes[1]), "an alarm at once")

    def both(config):
        limit(config)
        config["gossip"]["differs_alarm"] = "2s"

    pair.reload(both)
    wait_until(lambda: alarms(pair.boxes[ODD]), "an alarm after 2 s")
    said = alarms(pair.boxes[ODD])
    expect("limit of cap" in said[0] and not alarms(pair.boxes[0]), f"{said}")
    if LONG:
        time.sleep(60)
        expect(alarms(pair.boxes[0]), "no alarm after 60 s, which is the default")
    pair.stop()


class Apart(Group):
    """Two limiters under load; the settings of the second one can be changed."""

    def __init__(self, scene):
        self.second, self.lease = {}, "4s"
        super().__init__(scene, 2, guarantee="hard")

    def _configure(self, i, config):
        super()._configure(i, config)
        if i == 2:
            config["policies"][0].update(self.second)
            config["ledger"]["lease"] = self.lease


    def differs(self, thing):
        """Returns true if both limiters report the difference."""
        peers = [self.bed.telemetry(i).get("/weir/peers")["peers"] for i in (1, 2)]
        return all(any(thing in text for peer in one for text in peer["differs"] or ())
                   for one in peers)


def nothing_is_exceeded(scene):
    """Both limiters receive more than the whole limit. The second gets ten times the limit, then a
    lease three times as long. The bytes that both pass stay within limit × time + burst."""
    words = []
    with Apart(scene) as group:
        group.start()
        group.load(1)
        group.load(2)
        wait_until(lambda: min(group.share(1), group.share(2)) > 0.3, "both to have their part")
        for thing, second, lease in (("limit", {"limit": f"{10 * LIMIT:.0f}bit/s"}, "4s"),
                                     ("lease", {}, "12s")):
            group.second, group.lease = second, lease
            with Passed(group) as passed:
                group.bed.restart_limiter(2)
                began = time.monotonic()
                wait_until(lambda what=thing: group.differs(what), f"both to say {thing}")
                took = time.monotonic() - began
                time.sleep(TAKES_S)
            words.append(f"{thing}, seen after {took:.1f} s: {passed.check(0)}")
            expect(passed.rate(1, began) > 0.1, "limiter 1 passes nothing")
    return "; ".join(words)


SCENARIOS = [policies_that_differ, what_may_differ, groups_that_differ, clocks_that_differ,
             keys_that_differ, formats_that_differ, notice_then_alarm, nothing_is_exceeded]

if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--long"]
    box.main(SCENARIOS, setup=box.enter_netns)

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Kept changes of the running configuration: the last good one survives any end of the process.

Runs in a network namespace of its own; veth pairs there are the cables, as in reload.py.

Usage: changes.py [--times N] [--policies N] [--edits N] [--rounds N] [SCENARIO...]. WEIR_SEED
chooses other changes. `changes.py --edits 10000 --rounds 20 transaction` prints the least and
the median time of large transactions.
"""

import fcntl
import json
import os
import random
import re
import subprocess
import sys
import time

import box
from box import expect, wait_until
from reload import Receiver, Wire, counted, frame, names, policy, sending

SEED = int(os.environ.get("WEIR_SEED", "1"))
RINGS = box.wire("net_ring0", "net_ring1")
REFUSED, NOT_HERE = 78, 75
CTL = os.path.join(box.BUILD, "app", "weirctl", "weirctl")
F_ADD_SEALS, SEALS = 1033, 0xf  # Linux


def options():
    """Returns the numbers of the command line, and removes them from the arguments."""
    found = {"--times": 24, "--policies": 300, "--edits": 3000, "--rounds": 1}
    for name in found:
        if name in sys.argv:
            at = sys.argv.index(name)
            found[name] = int(sys.argv[at + 1])
            del sys.argv[at:at + 2]
    return found.values()


TIMES, POLICIES, EDITS, ROUNDS = options()


def keeping(scene, config, name="box1"):
    """Returns a limiter with a state directory."""
    weir = scene.box(config, name)
    weir.arguments = ["--state", scene.path(name + ".state")]
    return weir


def change(weir):
    """Waits until no change is under way, and returns the reply of /weir/change."""
    def settled():
        now = weir.get("/weir/change")
        return now["state"] == "idle" and now["last"] and now

    return wait_until(settled, "no change under way")


def ended(weir, answer):
    """Waits for the end of a change that was begun; returns its result."""
    expect("started" in answer, f"refused: {answer}")

    def done():
        last = weir.get("/weir/change")["last"]
        return last and last["serial"] == answer["started"] and last

    return wait_until(done, "the change to end")


def good(weir, answer):
    """Expects that the change succeeds and is kept."""
    last = ended(weir, answer)
    expect(last["ok"] and last["not_kept"] is None, f"{last}")
    return last


def begin(weir, request, descriptor=None):
    """Begins a change as soon as none is under way."""
    def begun():
        answer = weir.client.get_with(request, descriptor)[0]
        return not answer.get("busy") and answer

    return wait_until(begun, "another change is under way")


def begin_with(weir, request, text):
    """Begins a change with a text that is sent with the request."""
    with open(os.memfd_create("weir", os.MFD_ALLOW_SEALING), "w+b") as file:
        file.write(text.encode())
        file.flush()
        fcntl.fcntl(file, F_ADD_SEALS, SEALS)
        return begin(weir, request, file.fileno())


def apply(weir, config, seconds=0):
    """Applies another configuration."""
    return begin_with(weir, f"/weir/apply,{seconds}" if seconds else "/weir/apply",
                      json.dumps(config))


def edit(weir, verb, name, **keys):
    """Changes one policy."""
    text = json.dumps({"do": verb, "name": name, "keys": keys})
    return begin(weir, "/weir/policy_change," + text)


def running(weir):
    """Returns the running configuration, from its record."""
    _, (descriptor,) = weir.client.get_with("/weir/running")
    size = os.fstat(descriptor).st_size
    text = os.pread(descriptor, size, 0).decode()
    os.close(descriptor)
    return json.loads("\n".join(line for line in text.splitlines() if not line.startswith("//")))


def limits(weir, *whom):
    """Returns the limits of these policies; None: no such policy."""
    found = [weir.get(f"/weir/policy,{name}") for name in whom]
    return [one and one["limit_bps"] for one in found]


def history(weir):
    """Returns the lines of the history, the newest first."""
    lines, start = [], 0
    while start is not None:
        page = weir.get(f"/weir/history,{start}")
        lines += page["lines"]
        start = page["next"]
    return lines


A, B, C = (policy(name, f"10.{i}.0.0/16", "1Mbit/s") for i, name in enumerate("abc"))
M = 1000000


def crash(weir):
    """Kills the limiter like a loss of power, and starts it again."""
    weir.kill()
    weir.start()


def key_that_will_not_do(scene):
    """An invalid key rejects the file. If the last good one has the same key, it does not run."""
    key = scene.path("key")
    weir = keeping(scene, RINGS | {"policies": [A]}).start()
    change(weir)
    weir.stop()
    weir.config["gossip"] = {"key_file": key, "roster": [
        {"name": "box1", "address": "127.0.0.1:17941"},
        {"name": "other", "address": "127.0.0.1:17942"}]}
    weir.write()
    weir.start()
    words = weir.get("/weir/change")["runs"]["words"]
    expect(words.startswith("the last good one"), f"it runs {words}")
    weir.stop()
    subprocess.run([box.WEIR, "--new-key", key], check=True)
    weir.start()
    change(weir)
    weir.stop()
    os.chmod(key, 0o644)
    status, _, said = weir.run("-c", weir.config_path, *weir.arguments)
    expect(status == NOT_HERE and "the last good configuration: gossip.key_file: " in said and
           re.search(r"\.json:\d+: gossip\.key_file: .*: others may read it: .*: chmod", said),
           f"{status}: {said}")


def last_good(scene):
    """A rejected file at the start: the last good one runs, except with "on_refused": "stop"."""
    weir = keeping(scene, RINGS | {"policies": [A]}).start()
    change(weir)
    weir.stop()
    with open(weir.config_path, "a", encoding="utf-8") as file:
        file.write("}")
    weir.start()
    expect(limits(weir, "a") == [M], "the last good one runs")
    now = weir.get("/weir/change")
    expect("refused" in now["runs"]["words"] and now["refused"], f"{now}")
    expect(any("is refused" in alarm for alarm in weir.get("/weir/health")["alarms"]), "an alarm")
    expect("the last good configuration runs" in weir.log(), "the log")
    # The file is fixed, and read again.
    weir.config["policies"] = [A, B | {"limit": "2Mbit/s"}]
    weir.write()
    weir.get("/weir/reload")
    wait_until(lambda: limits(weir, "b") == [2 * M], "the mended file")
    expect(change(weir)["refused"] is None, "it is not refused any more")
    weir.config["on_refused"] = "stop"
    weir.write()
    before = weir.get("/weir/change")["last"]["serial"]
    weir.get("/weir/reload")
    wait_until(lambda: change(weir)["last"]["serial"] > before, "the key in force")
    weir.stop()
    os.truncate(weir.config_path, 20)
    status, _, said = weir.run("-c", weir.config_path, *weir.arguments)
    expect(status == REFUSED and '"on_refused": "stop"' in said, f"{status}: {said}")
    # A limiter without a record has nothing to run.
    status, _, said = weir.run("-c", weir.config_path, "--state", scene.path("other"))
    expect(status == REFUSED, f"{status}: {said}")


def confirmed(scene):
    """A change without a confirmation is undone, by time and by a crash; a confirmed one stays."""
    weir = keeping(scene, RINGS | {"policies": [A]}).start()
    change(weir)
    other = weir.config | {"policies": [A | {"limit": "3Mbit/s"}, B]}
    good(weir, apply(weir, other, 2))
    expect(limits(weir, "a", "b") == [3 * M, M], "in force")
    expect(weir.get("/weir/change")["unconfirmed"]["left_s"] <= 2, "it waits")
    refused = edit(weir, "set", "a", limit="4Mbit/s")
    expect("waits for its confirmation" in refused.get("refused", ""), f"{refused}")
    wait_until(lambda: limits(weir, "a", "b") == [M, None], "undone by itself")
    expect(change(weir)["unconfirmed"] is None, "nothing waits")
    # A crash in between.
    good(weir, apply(weir, other, 600))
    crash(weir)
    expect(limits(weir, "a", "b") == [M, None], "undone by a crash")
    wait_until(lambda: history(weir)[0]["what"] == "start", "the start in the history")
    expect("not_confirmed" in history(weir)[0], f"{history(weir)[0]}")
    # By hand.
    good(weir, apply(weir, other, 600))
    good(weir, begin(weir, "/weir/rollback"))
    expect(limits(weir, "a", "b") == [M, None], "undone by hand")
    expect(begin(weir, "/weir/confirm").get("refused"), "nothing to confirm")
    # Confirmed.
    good(weir, apply(weir, other, 600))
    good(weir, begin(weir, "/weir/confirm"))
    crash(weir)
    expect(limits(weir, "a", "b") == [3 * M, M], "confirmed stays")
    good(weir, begin(weir, "/weir/rollback"))
    expect(limits(weir, "a", "b") == [M, None], "the one before")
    crash(weir)
    expect(limits(weir, "a", "b") == [M, None], "and after a crash")
    words = [line["what"] for line in history(weir) if line["what"] != "start"]
    expect(words[:4] == ["rollback", "confirm", "apply", "undo"], f"{words}")
    line = next(line for line in history(weir) if line["what"] == "confirm")
    expect(line["uid"] == 0 and line["user"] == "root" and line["pid"] == os.getpid(), f"{line}")
    weir.stop()


def singly(scene):
    """Single policies, on top of a file that stays as it is and changes under them."""
    weir = keeping(scene, RINGS | {"policies": [A, B]}).start()
    change(weir)
    with open(weir.config_path, "rb") as file:
        before = file.read()
    good(weir, edit(weir, "set", "a", limit="2Mbit/s"))
    good(weir, edit(weir, "add", "c", limit="5Mbit/s", **{"match.dst": "10.9.0.0/16"}))
    good(weir, edit(weir, "remove", "b"))
    expect(limits(weir, "a", "b", "c") == [2 * M, None, 5 * M], "in force")
    line = next(line for line in history(weir) if line["n_changes"] == 1)
    expect(any(one["policy"] == "a" and one["old"] == "1Mbit/s" and one["new"] == "2Mbit/s"
               for line in history(weir) for one in line.get("changes", [])), f"{line}")
    for verb, name, keys, why in (("set", "x", {"limit": "1Mbit/s"}, "no such policy"),
                                  ("set", "a", {"limit": "1Mbit"}, "expected bit/s"),
                                  ("set", "a", {"limt": "1Mbit/s"}, 'did you mean "limit"'),
                                  ("add", "d", {"limit": "1Mbit/s", "match.dst": "10.0.0.0/16",
                                            "match.direction": "a-to-b"},
                                   "same match as")):
        last = ended(weir, edit(weir, verb, name, **keys))
        expect(not last["ok"] and any(why in text for text in last["messages"]), f"{last}")
    expect(limits(weir, "a", "b", "c") == [2 * M, None, 5 * M], "as they were")
    with open(weir.config_path, "rb") as file:
        expect(file.read() == before, "the file is as it was")
    crash(weir)
    expect(limits(weir, "a", "b", "c") == [2 * M, None, 5 * M], "after a crash")
    # The file changes elsewhere: the single policies stay, after a reload and after a start.
    weir.config["policies"] = [policy("z", "10.8.0.0/16", "7Mbit/s"), A, B]
    weir.write()
    crash(weir)
    expect(limits(weir, "a", "b", "c", "z") == [2 * M, None, 5 * M, 7 * M], "on top of it")
    # The file overrules one policy.
    weir.config["policies"] = [A | {"limit": "9Mbit/s"}, B]
    weir.write()
    change(weir)
    weir.get("/weir/reload")
    wait_until(lambda: limits(weir, "a", "b", "c", "z") == [9 * M, None, 5 * M, None], "overruled")
    expect("the file has a newer one" in weir.log(), "it is said")
    weir.stop()


def ctl(weir, *words, fails=""):
    """Returns the output of weirctl; with `fails` it must fail with that text."""
    done = subprocess.run([CTL, "-s", weir.socket, *words], capture_output=True, text=True,
                          check=False, timeout=box.PATIENCE_S, stdin=subprocess.DEVNULL)
    expect((done.returncode != 0) == bool(fails) and fails in done.stderr,
           f"weirctl {' '.join(words)}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def operator(scene):
    """An operator's commands: weirctl diff, apply, confirm, rollback, policy and history."""
    weir = keeping(scene, RINGS | {"policies": [A, B]}).start()
    change(weir)
    other = scene.path("other.json")
    with open(other, "w", encoding="utf-8") as file:
        file.write("// of a change at night\n")
        json.dump(weir.config | {"policies": [A | {"limit": "3Mbit/s"}, B | {"limit": "1000kbit/s"},
                                              C | {"note": "x" * 200}]}, file)
    said = ctl(weir, "diff", other)
    expect("policy a" in said and "-   limit: 1Mbit/s" in said and "+   limit: 3Mbit/s" in said
           and "+ policy c" in said, said)
    expect("policy b" not in said, f"the same in other words: {said}")
    expect(max(map(len, said.splitlines())) <= 80, said)
    expect(len(json.loads(ctl(weir, "--json", "diff", other))["changes"]) == 2, "as JSON")
    ctl(weir, "confirm", fails="no change waits")
    said = ctl(weir, "apply", other, "--confirm-within", "10m")
    expect(limits(weir, "a", "c") == [3 * M, M], said)
    ctl(weir, "reload", fails="waits for its confirmation")
    ctl(weir, "confirm")
    expect("nothing would change" in ctl(weir, "diff", other), "it is in force")
    expect("apply of" in ctl(weir, "change") and "the file differs" in ctl(weir, "change"), "words")
    ctl(weir, "policy", "set", "a", "limit=4Mbit/s", 'note="at night"')
    expect(limits(weir, "a") == [4 * M] and "4.00 Mbit/s" in ctl(weir, "policy", "a"), "set")
    ctl(weir, "policy", "set", "a", "limit=4Mbit", fails='did you mean "4Mbit/s"')
    ctl(weir, "policy", "drop", "a", "limit=4Mbit", fails="expected add, set or remove")
    ctl(weir, "policy", "remove", "a")
    expect(limits(weir, "a") == [None], "removed")
    said = ctl(weir, "history")
    expect("a removed" in said and "a limit 3Mbit/s -> 4Mbit/s" in said and "root" in said, said)
    ctl(weir, "rollback")
    expect(limits(weir, "a") == [4 * M], "rolled back")
    first = json.loads(ctl(weir, "--json", "history", "99"))["lines"][-1]
    ctl(weir, "rollback", str(first["to"]))
    expect(limits(weir, "a", "b", "c") == [M, M, None], "the first of all")
    ctl(weir, "rollback", "77", fails='configuration 77 is not kept: "weirctl rollback" takes')
    with open(other, "w", encoding="utf-8") as file:
        json.dump(weir.config | {"idle": "poll", "policies": [A | {"limit": "1Mbit"}]}, file)
    ctl(weir, "apply", other, fails='other.json:1: policies[0] "a".limit')
    with open(other, "w", encoding="utf-8") as file:
        json.dump(weir.config | {"idle": "poll"}, file)
    expect("idle: cannot change" in ctl(weir, "diff", other), "what takes a restart")
    ctl(weir, "apply", other, fails="idle: cannot change while the limiter runs")
    weir.stop()
    bare = scene.box(RINGS | {"policies": [A]}, "bare").start()
    ctl(bare, "apply", weir.config_path, fails="without --state")
    ctl(bare, "history", fails="without --state")
    bare.stop()


class Count(Receiver):
    """Counts transmitted packets by the policy of their address."""

    def note(self, data):
        return data[31] if data[12:14] == b"\x08\x00" and data[30] == 10 else None


def others(n):
    """Returns policies without traffic."""
    return [policy(f"p{i}", f"11.{i >> 8}.{i & 255}.0/24", "1Mbit/s") for i in range(n)]


def takes(weir, source):
    """Returns the policies that match packets of this source."""
    rows = weir.get(f"/weir/match,0 {source}")["policies"]
    return [row["policy"] for row in rows if row["from"] == "all"]


def lists(scene):
    """A list of prefixes in a file: every reload reads it, a bad line rejects the reload, and a
    start does not need it. weirctl sends a list of any length."""
    path = scene.path("a.txt")

    def write(*lines):
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))

    def reload():
        before = change(weir)["last"]["serial"]
        weir.get("/weir/reload")
        return wait_until(lambda: change(weir)["last"]["serial"] > before and
                          change(weir)["last"], "the reload")

    write("10.1.0.0/16", "2001:db8::/32 # both families")
    weir = keeping(scene, RINGS | {"policies": [
        A | {"match": {"src": "@a.txt"}}, B | {"match": [{"src": "10.2.0.0/16"}, {"vlan": 7}]}]})
    weir.start()
    change(weir)
    expect([takes(weir, source) for source in ("10.1.0.1", "2001:db8::1", "10.2.0.1", "10.3.0.1")]
           == [["a"], ["a"], ["b"], []], "each prefix is its policy's")
    write("10.3.0.0/16")
    last = reload()
    expect((last["changed"], last["unchanged"]) == (1, 1), f"{last}")
    expect([takes(weir, source) for source in ("10.1.0.1", "10.3.0.1")] == [[], ["a"]], "another")
    write("# nothing", "10.4.0.0/16", "10.2.0.0/16")
    last = reload()
    expect(not last["ok"] and any('a.txt:3: ' in text or '"a" (' in text
                                  for text in last["messages"]), f"{last}")
    write("10.4.0.1/16")
    last = reload()
    expect(not last["ok"] and "a.txt:1: " in last["messages"][0], f"{last}")
    expect(takes(weir, "10.3.0.1") == ["a"], "what ran runs")
    weir.kill()
    os.unlink(path)
    weir.start()
    expect("refused" in weir.get("/weir/change")["runs"]["words"], "the file cannot be read")
    expect(takes(weir, "10.3.0.1") == ["a"], "the last good one has the list")
    write(*(f"10.{5 + n // 256}.{n % 256}.0/24" for n in range(3000)))
    ctl(weir, "policy", "add", "c", "limit=1Mbit/s", f"match.src=@{path}")
    expect(weir.get("/weir/policy,c")["matches"] == 3000, "all of it")
    expect(takes(weir, "10.6.3.1") == ["c"], "its last")
    write("10.5.0.0/33")
    ctl(weir, "policy", "set", "c", f"match.src=@{path}", fails="a.txt:1: ")
    weir.stop()


class Mix:
    """Changes of every kind, and the configuration that must run after each, and after a kill."""

    def __init__(self, wire, count):
        self.wire, self.weir = wire, wire.weir
        self.rng = random.Random(SEED)
        self.rest = others(count)
        self.file = list(self.rest)

    def documents(self):
        """Returns the configuration that must run."""
        return {one["name"]: one for one in running(self.weir)["policies"]}

    def varied(self):
        """Returns some of the policies with other limits, or without some of them."""
        listed = [one | {"limit": f"{self.rng.randint(1, 9)}Mbit/s"}
                  if self.rng.random() < 0.1 else one for one in self.rest]
        return STAY + self.rng.sample(listed, len(listed) - 3)

    def reload(self):
        """Reloads another file."""
        self.weir.config["policies"] = self.varied()
        self.weir.write()
        before = self.weir.get("/weir/config")["last_reload"]
        self.weir.get("/weir/reload")
        wait_until(lambda: self.weir.get("/weir/config")["last_reload"] != before, "the reload")

    def apply(self):
        """Applies another configuration, sometimes with a confirmation."""
        whole = self.weir.config | {"policies": self.varied()}
        within = self.rng.random() < 0.5
        good(self.weir, apply(self.weir, whole, 600 if within else 0))
        if within:
            good(self.weir, begin(self.weir, self.rng.choice(["/weir/confirm", "/weir/rollback"])))

    def set(self):
        """Changes one policy."""
        name = self.rng.choice([name for name in self.documents() if name[0] == "p"])
        good(self.weir, edit(self.weir, "set", name, limit=f"{self.rng.randint(1, 99)}Mbit/s"))

    def rollback(self):
        """Rolls back by one, if possible."""
        ended(self.weir, begin(self.weir, "/weir/rollback"))

    def one(self):
        """Makes a random change and waits for its end."""
        self.rng.choice([self.reload, self.apply, self.set, self.set, self.rollback])()
        change(self.weir)

    def killed(self):
        """A kill at any time of a change: the previous or the new configuration runs."""
        before = self.documents()
        if self.rng.random() < 0.5:
            whole = self.weir.config | {"policies": self.varied()}
            apply(self.weir, whole)
            after = {one["name"]: one for one in whole["policies"]}
        else:
            edit(self.weir, "set", "p0" if "p0" in before else "p9", limit="77Mbit/s")
            after = None
        time.sleep(self.rng.random() * 0.1)
        self.weir.kill()
        self.weir.start()
        change(self.weir)
        now = self.documents()
        name = "p0" if "p0" in before else "p9"
        after = after or before | {name: before.get(name, {}) | {"limit": "77Mbit/s"}}
        expect(now in (before, after), "neither what ran before nor what was asked for runs")
        expect(len(now) == self.weir.get("/weir/config")["policies"], "what runs is what is kept")


STAY = [policy("stays", "10.1.0.0/16", "1Gbit/s"), policy("tight", "10.2.0.0/16", "8kbit/s")]


def mixed(scene):
    """Changes of every kind under traffic; a kill meets a tenth of them. Between kills every
    packet is received and counted one time, and unchanged policies keep their counters."""
    kills, sent, left = 0, 0, 0
    wire = Wire(scene, STAY + others(POLICIES), workers=[0])
    wire.weir.kill()
    wire.weir.arguments = ["--state", scene.path("box1.state")]
    wire.weir.start()
    wire.watch = box.Client(wire.weir.socket)
    mix = Mix(wire, POLICIES)
    change(wire.weir)
    try:
        for i in range(TIMES):
            if i % 10 == 9:  # no packet is in flight at the kill
                mix.killed()
                kills += 1
                wire.watch.close()
                wire.watch = box.Client(wire.weir.socket)
                wire.sent = wire.seen = 0
                continue
            had = counted(wire.weir, "stays")
            receiver = Count()
            base = wire.sent
            with sending(wire, lambda n: frame(f"10.{1 + n % 2}.0.{n % 250}", 100)):
                mix.one()
            wire.settle()
            passed = wire.weir.get("/weir/policy,stays")["passed"]["packets"]
            expect(wire.weir.total("rx_packets") == wire.sent, f"{i}: packets are missing")
            here = counted(wire.weir, "stays") - had
            expect(here == (wire.sent - base) // 2, f"{i}: {here} of {wire.sent - base} for stays")
            expect(passed == counted(wire.weir, "stays"), f"{i}: drops below the limit")
            wait_until(lambda r=receiver, want=here: r.seen.count(1) >= want, "all to leave")
            expect(receiver.seen.count(1) == here, f"{i}: {receiver.seen.count(1)} left of {here}")
            receiver.close()
            sent, left = sent + wire.sent - base, left + here
        wire.check()
        wire.weir.stop()
    finally:
        wire.weir.kill()
        wire.close()
    return f"{TIMES} changes of {POLICIES} policies, {kills} kills; {sent} packets, {left} of stays"


class Stream:
    """Sends packets for every policy with traffic, and records how each is counted."""

    def __init__(self, wire, prefixes):
        self.wire = wire
        self.owners = {f"10.{1 + i}.0": name for i, name in enumerate(("stays", "tight"))}
        self.owners |= prefixes
        self.order = list(self.owners)
        self.sent = dict.fromkeys(self.order, 0)

    def next(self, serial):
        """Returns a frame to the next prefix."""
        prefix = self.order[serial % len(self.order)]
        self.sent[prefix] += 1
        return frame(f"{prefix}.{serial // len(self.order) % 250}", 100)


def prefix_of(i):
    """Returns the first three bytes of a policy's addresses."""
    return f"11.{i >> 8}.{i & 255}"


def edits_of(verb, whom, **keys):
    """Returns one edit for each policy."""
    return [{"do": verb, "name": name, "keys": keys} for name in whom]


def names_at(n, stage):
    """Returns all policies' names after `stage` exchanges of 3 of 10."""
    gone = n * 3 // 10
    first = [f"p{i}" if stage == 0 else f"q{stage}-{i}" for i in range(gone)]
    return first + [f"p{i}" for i in range(gone, n)]


def limited(n, stage, serial):
    """Returns edits that change all limits."""
    return edits_of("set", names_at(n, stage), limit=f"{2 + serial % 7}Gbit/s")


def renewed(n, stage):
    """Returns edits: 3 of 10 are replaced by policies with the same matches, and 4 get another
    limit."""
    gone, there = n * 3 // 10, n * 7 // 10
    added = [{"do": "add", "name": f"q{stage + 1}-{i}", "keys": {
        "limit": "1Gbit/s", "match": {"direction": "a-to-b", "dst": f"{prefix_of(i)}.0/24"}}}
             for i in range(gone)]
    return (edits_of("remove", names_at(n, stage)[:gone]) + added
            + edits_of("set", names_at(n, stage)[gone:there], limit=f"{10 + stage % 5}Gbit/s"))


def transact(weir, edits):
    """Applies all edits in one change; returns its result, and the milliseconds until the reply."""
    text = json.dumps(edits)
    began = time.monotonic()
    answer = begin_with(weir, "/weir/policy_change", text)
    while (last := weir.get("/weir/change")["last"] or {}).get("serial") != answer["started"]:
        time.sleep(0.002)
    expect(last["ok"] and last["not_kept"] is None, f"{last}")
    return last, (time.monotonic() - began) * 1e3


def transact_by_hand(scene, weir, edits):
    """Like transact(), with weirctl and a file that has one edit a line."""
    path = scene.path("edits.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in edits)
    began = time.monotonic()
    ctl(weir, "policy", "apply", path)
    return weir.get("/weir/change")["last"], (time.monotonic() - began) * 1e3


def wrong_transactions(weir, n):
    """One wrong edit among many is named, and nothing changes."""
    sets = edits_of("set", (f"p{i}" for i in range(n)), limit="7Gbit/s")
    before = weir.get("/weir/change")["runs"]["number"]
    for at, edit_, why in ((17, {"do": "set", "name": "x", "keys": {}},
                            'edits[17]: policy "x": no such policy: '),
                           (n - 1, {"do": "add", "name": "p0", "keys": {}},
                            f'edits[{n - 1}]: policy "p0": already exists: use "set"'),
                           (3, {"do": "set", "name": "p3", "keys": {"limit": "7Gbit"}},
                            'edits[3]: policy "p3": limit: "7Gbit": expected bit/s'),
                           (4, {"do": "set", "name": "p4", "keys": {"match.dst": "11.0.9.0/24"}},
                            'edits[4]: policy "p4"')):
        edits = sets[:at] + [edit_] + sets[at + 1:]
        last = ended(weir, begin_with(weir, "/weir/policy_change", json.dumps(edits)))
        expect(not last["ok"] and any(why in text for text in last["messages"]), f"{why}: {last}")
    expect(limits(weir, "p0", "p3", "p4") == [1000 * M] * 3, "as they were")
    expect(weir.get("/weir/change")["runs"]["number"] == before, "nothing is kept")


def file_is_overruled(weir):
    """The file is rewritten; a later change survives that."""
    weir.config["policies"][0] = weir.config["policies"][0] | {"limit": "9Gbit/s"}
    weir.write()
    good(weir, edit(weir, "set", "tight", note="later"))
    crash(weir)
    change(weir)
    expect(limits(weir, "stays") == [1000 * M], "what ran runs, and not the file")


def transactions(scene, weir, n):
    """Runs all kinds of transactions; returns kinds, and milliseconds until applied and until the
    reply."""
    for stage in range(ROUNDS):
        for what, edits, by_hand in (("set", limited(n, stage, 2 * stage), False),
                                     ("add, remove, set", renewed(n, stage), False),
                                     ("weirctl", limited(n, stage + 1, 2 * stage + 1), True)):
            if by_hand:
                last, answered = transact_by_hand(scene, weir, edits)
            else:
                last, answered = transact(weir, edits)
            expect(last["added"] + last["removed"] + last["changed"] == len(edits), f"{last}")
            yield what, last["took_ms"], answered
            change(weir)


def in_words(figures):
    """Returns the least and the median of each kind as text."""
    words = []
    for what in dict.fromkeys(figure[0] for figure in figures):
        parts = []
        for column, until in ((1, "in force"), (2, "durable")):
            ms = sorted(figure[column] for figure in figures if figure[0] == what)
            parts.append(f"{until} in {ms[0]:.0f} ({ms[len(ms) // 2]:.0f}) ms")
        words.append(f"{what}: {', '.join(parts)}")
    return "; ".join(words)


def judged_rightly(weir, stream, tight, seconds):
    """No packet was unmatched, or dropped below its policy's limit, or passed above it."""
    expect(weir.total("unmatched_packets") == 0, "a packet that no policy took")
    gone = weir.get("/weir/config")["removed_policies"]
    dropped = gone["dropped_packets"] + sum(
        weir.get(f"/weir/policy,{name}")["dropped"]["packets"]
        for name in names(weir) if name != "tight")
    expect(dropped == 0, f"{dropped} drops below the limit")
    expect(counted(weir, "stays") == stream.sent["10.1.0"], "each of stays, once")
    now = weir.get("/weir/policy,tight")
    passed = now["passed"]["bytes"] - tight["passed"]["bytes"]
    expect(passed <= 1000 * seconds + now["burst_bytes"], f"{passed} bytes in {seconds} s")
    expect(now["dropped"]["packets"] > 0, "more than tight may have")


def transaction(scene):
    """One change of many policies under traffic: no packet is unmatched or counted twice. Each is
    judged by its policy's limit before or after the change."""
    n = EDITS
    flowing = {prefix_of(i): f"p{i}" for i in range(0, n, max(1, n // 20))}
    tight = STAY[1] | {"burst": "2kB"}
    wire = Wire(scene, [STAY[0], tight]
                + [policy(f"p{i}", f"{prefix_of(i)}.0/24") for i in range(n)],
                workers=[1])  # leaves control a CPU of its own
    weir = wire.weir
    weir.kill()
    weir.arguments = ["--state", scene.path("box1.state")]
    weir.start()
    wire.watch = box.Client(weir.socket)
    try:
        change(weir)
        wrong_transactions(weir, n)
        # Each change reads a recently written file again. Waiting keeps that out of the
        # measurement.
        wait_until(lambda: time.time() > os.stat(weir.config_path).st_ctime + 4, "an older file")
        good(weir, edit(weir, "set", "tight", note="as it is"))
        stream = Stream(wire, flowing)
        began, tight = time.monotonic(), weir.get("/weir/policy,tight")
        receiver = Count()
        with sending(wire, stream.next):
            figures = list(transactions(scene, weir, n))
        wire.check()
        judged_rightly(weir, stream, tight, time.monotonic() - began)
        wait_until(lambda: receiver.seen.count(1) >= stream.sent["10.1.0"], "all to leave")
        receiver.close()
        expect(receiver.seen.count(1) == stream.sent["10.1.0"], "each of stays leaves, once")
        lines = [line for line in history(weir) if line["what"] == "policy" and line["ok"]]
        expect([line["n_changes"] for line in lines[:3]] == [n, len(renewed(n, 0)), n]
               and all(len(line["changes"]) <= 16 for line in lines), f"{lines[0]}")
        singly = weir.get("/weir/change")["runs"]["n_singles"]
        expect(singly == 1 + n + n * 3 // 10, f"{singly} changed singly: who came and went is gone")
        file_is_overruled(weir)
        weir.stop()
    finally:
        weir.kill()
        wire.close()
    return f"{n} edits, {ROUNDS} times, least (median): {in_words(figures)}; {wire.sent} packets"


SCENARIOS = [last_good, key_that_will_not_do, confirmed, singly, operator, lists, mixed,
             transaction]

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    box.main(SCENARIOS, setup=box.enter_netns)

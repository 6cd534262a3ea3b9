#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Limiters join and leave a group that carries TCP: by commands, and by a file.

The local limits of all limiters are added up ten times a second. The sum must never exceed the
limit by more than a change of demand can. A limiter that stays may lose packets only because of
the limit, and no peer.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))

import box  # noqa: E402
from box import expect, wait_until  # noqa: E402
from hard_limits import Group  # noqa: E402
from testbed.bed import Testbed  # noqa: E402
from testbed.telemetry import Client  # noqa: E402

LIMIT = 10e6
N = 4
LAST = 4  # the limiter that comes and goes
SUM_MOST = 1.06  # the limits are read one after the other


class Members(Testbed):
    """A testbed whose limiters keep their state, and whose last one is no member at first."""

    def __init__(self, estimator, files=None):
        """files: rosters of the files, by limiter; the others name all but the last."""
        self.files = files or {}
        self.estimator = estimator
        self.foreign = set()  # limiters whose file has a name that never was a member
        super().__init__(flows=[2] * N, configure=self._configure)

    def _configure(self, i, config):
        gossip = config["gossip"]
        gossip["estimator"] = self.estimator
        gossip.pop("branching")
        names = self.files.get(i, [f"l{k}" for k in range(1, N)])
        gossip["join"] = len(names) < N - 1
        gossip["roster"] = [peer for peer in gossip["roster"] if peer["name"] in names]
        if i in self.foreign:
            gossip["roster"].append({"name": "l9", "address": "10.99.99.9:7946"})

    def state(self, i):
        """Returns the state directory of a limiter."""
        path = self.journal.path(f"state{i}")
        os.makedirs(path, exist_ok=True)
        return path

    def spawn_limiter(self, i):
        """Like that of the testbed, with a state directory."""
        self.paused.discard(i)
        self.limiters[i] = self.processes.start(
            f"l{i}", [self.binary("app/weir/weir"), "-c", self._write_config(i),
                      "--state", self.state(i)],
            self.topology.limiter_namespace(i), realtime=True)

    def group(self, i, *words, status=0):
        """Runs weirctl group at a limiter; returns its output."""
        done = subprocess.run(
            [self.binary("app/weirctl/weirctl"), "-s", self.socket(i), "group", *words],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        expect(done.returncode == status,
               f"group {' '.join(words)}: {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def differences(self, i):
        """Returns the warnings of a check of a limiter's file against its kept members."""
        done = subprocess.run(
            [self.binary("app/weir/weir"), "--check", "--json", "--state", self.state(i),
             self._write_config(i)], capture_output=True, text=True, check=False)
        expect(done.returncode == 0, f"--check: {done.stdout}{done.stderr}")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return sorted((line["id"], line["path"]) for line in lines
                      if line["id"].startswith("member"))

    def address(self, i):
        """Returns the address of a limiter's gossip."""
        peers = self._gossip(i)["roster"]
        return next(peer["address"] for peer in peers if peer["name"] == f"l{i}")

    def members(self, i):
        """Returns the members of a limiter's set, by name."""
        return {member["name"]: member for member in
                self.telemetry(i).get("/weir/group")["members"]}

    def all_count(self, running):
        """Waits until each of these limiters counts all others."""
        def known():
            return all(len(self.members(i)) == len(running) and
                       self.policy(i)["peers_lost"] == 0 for i in running)
        wait_until(known, lambda: f"{running} to count: " + json.dumps(
            {i: [list(self.members(i)), self.policy(i)] for i in running}))

    def others_dropped(self, i):
        """Returns the packets that a limiter has dropped, but not for a limit."""
        drops = self.telemetry(i).get("/weir/drops")
        return {reason: n for reason, n in drops.items() if n and reason != "limit"}


class Sum:
    """Adds up the local limits of the limiters that answer, until the block ends."""

    def __init__(self, bed):
        self.bed, self.most, self.least, self.stop = bed, 0, LIMIT * N, threading.Event()
        self.began, self.worst = time.monotonic(), ""
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.clients = {i: Client(self.bed.socket(i)) for i in self.bed.boxes()}
        self.thread.start()
        return self

    def _look(self):
        each = {}
        for i, client in self.clients.items():
            if i in self.bed.paused or not os.path.exists(self.bed.socket(i)):
                continue
            policy = client.try_get("/weir/policy,baseline")
            each[i] = policy["local_limit_bps"] if policy else 0
        total = sum(each.values())
        if total > self.most:
            self.worst = f"{each} after {time.monotonic() - self.began:.1f} s"
        self.most = max(self.most, total)
        self.least = min(self.least, total)

    def _run(self):
        while not self.stop.wait(0.1):
            self._look()

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        for client in self.clients.values():
            client.close()

    def check(self):
        """Returns the bounds of the sum, as parts of the limit; the upper one must hold."""
        expect(self.most <= SUM_MOST * LIMIT, f"local limits of {self.most:.0f}: {self.worst}")
        return f"sum {self.least / LIMIT:.3f} to {self.most / LIMIT:.3f} of the limit"


def took(began):
    """Returns the seconds since then, as text."""
    return f"{time.monotonic() - began:.2f} s"


def alarms(bed, i, words):
    """Returns true if a limiter has an alarm with these words."""
    return any(words in alarm for alarm in bed.telemetry(i).get("/weir/health")["alarms"])


def commands(estimator):
    """A limiter is added, starts, is removed, is added again, dies and is written off."""
    staying = list(range(1, N))
    every = [*staying, LAST]
    words = []
    with Members(estimator, files={LAST: ["l1", f"l{LAST}"]}) as bed:
        bed.start(staying)
        bed.all_count(staying)
        flows = [bed.start_flows(i, 2, 90) for i in staying]
        pids = [bed.telemetry(i).get("/weir/process")["pid"] for i in staying]
        time.sleep(6)  # until all flows have their shares
        with Sum(bed) as total:
            for turn in range(2):
                began = time.monotonic()
                bed.group(2, "add", f"l{LAST}", bed.address(LAST), "--yes")
                wait_until(lambda: all(f"l{LAST}" in bed.members(i) for i in staying), "the news")
                words.append(f"added in {took(began)}")
                bed.start_limiter(LAST)
                began = time.monotonic()
                bed.all_count(every)
                words.append(f"counted {took(began)} after its start")
                time.sleep(2)
                if turn == 0:
                    refused = bed.group(1, "remove", f"l{LAST}", "--dead", status=1)
                    expect("is alive" in refused, refused)
                    began = time.monotonic()
                    bed.group(1, "remove", f"l{LAST}", "--yes")
                    bed.all_count(staying)
                    words.append(f"removed in {took(began)}")
                    wait_until(lambda: bed.policy(LAST)["local_limit_bps"] == 0, "no limit there")
                    expect(alarms(bed, LAST, "was removed"), "no alarm of the removed one")
                    expect(not any(alarms(bed, i, "was removed") for i in staying), "an alarm")
                    bed.stop_limiter(LAST)
            bed.kill_limiter(LAST)
            wait_until(lambda: all(bed.policy(i)["peers_lost"] for i in staying), "its loss")
            refused = bed.group(3, "remove", f"l{LAST}", status=1)
            expect("--dead" in refused, refused)
            began = time.monotonic()
            bed.group(3, "remove", f"l{LAST}", "--dead", "--yes")
            bed.all_count(staying)
            words.append(f"written off in {took(began)}")
            time.sleep(1)
            effective = [bed.policy(i)["effective_limit_bps"] for i in staying]
            expect(effective == [LIMIT] * len(staying), str(effective))
        words.append(total.check())
        for i in staying:
            expect(not bed.others_dropped(i), f"limiter {i}: {bed.others_dropped(i)}")
        expect(pids == [bed.telemetry(i).get("/weir/process")["pid"] for i in staying], "a restart")
        del flows
    return ", ".join(words)


def commands_state(_):
    """With the estimator state."""
    return commands("state")


def commands_tree(_):
    """With the estimator tree."""
    return commands("tree")


def check_differences(bed, expected):
    """Waits until checks of the limiters' files show these differences from the kept members."""
    wait_until(lambda: {i: bed.differences(i) for i in expected} == expected,
               lambda: f"differences: {[bed.differences(i) for i in expected]}")


def files_and_restarts(_):
    """A reload of one file adds a limiter; restarts keep the group; a removed one returns."""
    staying = list(range(1, N))
    every = [*staying, LAST]
    with Members("state", files={LAST: [f"l{k}" for k in range(1, N + 1)]}) as bed:
        bed.start(staying)
        bed.all_count(staying)
        bed.files[1] = bed.files[LAST]
        bed.reload_limiter(1)
        wait_until(lambda: all(f"l{LAST}" in bed.members(i) for i in staying), "the news")
        bed.start_limiter(LAST)
        bed.all_count(every)
        bed.restart_limiter(3)  # its file does not name the new one, but its state does
        bed.all_count(every)
        check_differences(bed, {1: [], 3: [("member_missing", "gossip.roster")]})
        bed.group(3, "remove", f"l{LAST}", "--yes")
        bed.all_count(staying)
        check_differences(bed, {1: [("member_ended", f"gossip.roster[{LAST - 1}]")], 3: []})
        bed.reload_limiter(1)  # the file still names it: it stays removed
        time.sleep(1)
        bed.all_count(staying)
        for i in staying:
            bed.restart_limiter(i)
        bed.all_count(staying)
        bed.restart_limiter(LAST)  # without a limit: its state has the removal
        expect(bed.policy(LAST)["local_limit_bps"] == 0, "a limit of a removed limiter")
        bed.group(2, "add", f"l{LAST}", bed.address(LAST), "--yes")
        bed.all_count(every)  # without another restart
        wait_until(lambda: bed.policy(LAST)["local_limit_bps"] > 0, "its part")
        bed.group(2, "move", "l2", "10.99.99.2:7946", "--yes")
        check_differences(bed, {1: [("member_moved", "gossip.roster[1]")]})
    return "ok"


def returns(_):
    """A limiter that was written off returns with its old file and no state."""
    staying, words = list(range(1, N)), []
    every = [*staying, LAST]
    for estimator in ("state", "tree"):
        with Members(estimator) as bed:
            bed.files = {i: [f"l{k}" for k in every] for i in every}
            bed.start(every)
            bed.all_count(every)
            bed.kill_limiter(LAST)
            wait_until(lambda: all(bed.policy(i)["peers_lost"] for i in staying), "its loss")
            bed.group(1, "remove", f"l{LAST}", "--dead", "--yes")
            bed.all_count(staying)
            time.sleep(5)  # until its datagrams cannot be the last ones before the removal
            shutil.rmtree(bed.state(LAST))
            if estimator == "tree":
                bed.foreign.add(LAST)
            began = time.monotonic()
            bed.start_limiter(LAST)
            wait_until(lambda: bed.policy(LAST)["local_limit_bps"] == 0, "no limit there")
            words.append(f"no limit {took(began)} after its start ({estimator})")
            wait_until(lambda: alarms(bed, LAST, "was removed"), "its own alarm")
            wait_until(lambda: any(alarms(bed, i, f"l{LAST} was removed") for i in staying),
                       "an alarm of a member")
            expect(sum(bed.policy(i)["local_limit_bps"] for i in staying) <= 1.01 * LIMIT, "sum")
            for i in staying:
                expect(list(bed.members(i)) == [f"l{k}" for k in staying], str(bed.members(i)))
            if estimator == "state":
                bed.group(2, "add", f"l{LAST}", bed.address(LAST), "--yes")
                bed.all_count(every)  # without another restart
    return ", ".join(words)


def threads_started():
    """Returns the number of processes and threads that this machine has started."""
    with open("/proc/stat", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("processes "))


def returns_without_keys(_):
    """A removed limiter sends gossip, but the members cannot read the key: each tries it rarely."""
    staying = list(range(1, N))
    every = [*staying, LAST]
    with Members("state") as bed:
        bed.files = {i: [f"l{k}" for k in every] for i in every}
        bed.start(every)
        bed.all_count(every)
        bed.pause_limiter(LAST)
        wait_until(lambda: all(bed.policy(i)["peers_lost"] for i in staying), "its loss")
        bed.group(1, "remove", f"l{LAST}", "--dead", "--yes")
        bed.all_count(staying)
        os.remove(bed.journal.path("key"))
        bed.pause_limiter(LAST, False)
        time.sleep(1)
        before = threads_started()
        time.sleep(2)
        started = threads_started() - before
    expect(started < 2000, f"{started} threads in 2 s")  # without pauses: more than 6,000
    return f"{started} threads and processes of the machine in 2 s"


def refusals(_):
    """Each impossible change has its reason, and changes nothing."""
    with Members("state") as bed:
        bed.start(range(1, N))
        bed.all_count(list(range(1, N)))
        before = {i: bed.members(i) for i in range(1, N)}
        for words, reason in (
                (["add", "l1", "10.0.0.9:7946"], "is a member"),
                (["add", "l9", bed.address(2)], "has the address"),
                (["add", "l9", "somewhere"], "the address: expected"),
                (["add", "l9/x", "10.0.0.9:7946"], "the name: expected"),
                (["add", "l9", "10.0.0.9:7946", "abc"], "the public key: expected"),
                (["remove", "l9"], "no limiter of the group"),
                (["remove", "l2", "--dead"], "is alive"),
                (["move", "l9", "10.0.0.9:7946"], "no limiter of the group"),
                (["move", "l2", bed.address(3)], "has the address")):
            said = bed.group(1, *words, "--yes", status=1)
            expect(reason in said, f"{words}: {said}")
        for words in (["add", "l9"], ["add"], ["remove"], ["drop", "l1"], ["plan"],
                      ["move", "l2", "10.0.0.9:7946", "--dead"]):
            expect("expected" in bed.group(1, *words, status=2), f"{words}")
        said = bed.group(1, "plan", "remove", "l2")
        expect("become 0" in said, said)
        after = {i: bed.members(i) for i in range(1, N)}
        expect({i: set(after[i]) for i in after} == {i: set(before[i]) for i in before}, str(after))
    return "ok"


def with_ledger(scene):
    """With a hard limit the members cannot change, and nothing is wrong because of that."""
    with Group(scene, 3, guarantee="hard") as group:
        group.start()
        bed = group.bed
        wait_until(lambda: not any(bed.policy(i)["peers_lost"] for i in bed.boxes()), "all")
        for words in (["add", "l9", "10.0.0.9:7946"], ["remove", "l2"]):
            done = subprocess.run(
                [bed.binary("app/weirctl/weirctl"), "-s", bed.socket(1), "group", *words, "--yes"],
                capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
            expect(done.returncode == 1 and "hard limit" in done.stderr, f"{words}: {done}")
        for i in bed.boxes():
            active = bed.telemetry(i).get("/weir/health")["active"]
            expect(active["group"] == 0, f"limiter {i}: {active}")
            expect(len(bed.telemetry(i).get("/weir/group")["members"]) == 3, f"limiter {i}")
    return "ok"


if __name__ == "__main__":
    box.main([commands_state, commands_tree, files_and_restarts, returns, returns_without_keys,
              refusals, with_ledger])

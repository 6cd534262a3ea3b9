#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Clients of the control socket: local users with and without rights, and a storm of requests.

Users who can read, change or neither send every command. Then the largest number of clients send
requests without a pause. --long has as many policies as when a storm first caused losses. Runs in a
network namespace.
"""

import grp
import json
import os
import re
import subprocess
import sys
import threading
import time

import box
from box import Skip, expect, wait_until

CTL = os.path.join(box.BUILD, "app", "weirctl", "weirctl")
LONG = "--long" in sys.argv
RINGS = box.wire("net_ring0", "net_ring1")
NOBODY = "65534"
READERS, OPERATORS = "adm", "operator"  # groups of every Debian
PORTS = [17946, 17947]
POLICIES = 100000 if LONG else 20000
CLIENTS = 63
STORM_S = 8
# Sends each request on a new connection, under the user that runs it.
ASKER = """
import json, socket, sys
for request in sys.argv[2:]:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    s.recv(1 << 17)
    s.send(request.encode())
    print(s.recv(1 << 17).decode().replace(chr(10), " "))
"""


def commands():
    """Returns {command: true if it changes something}, from the table in the source."""
    with open(os.path.join(box.ROOT, "app", "weir", "telemetry", "commands.c"),
              encoding="utf-8") as source:
        rows = re.findall(r'\{"(/weir/\w+)".*?TELEMETRY_(READS|CHANGES)\}', source.read(), re.S)
    return {path: effect == "CHANGES" for path, effect in rows}


def user(*groups):
    """Returns a prefix that runs a command as an unprivileged user, in these groups only."""
    told = ["--groups", ",".join(groups)] if groups else ["--clear-groups"]
    return ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, *told]


def run(prefix, *command):
    """Runs a command; returns (exit status, standard output, standard error)."""
    done = subprocess.run([*prefix, *command], capture_output=True, text=True, check=False,
                          timeout=box.PATIENCE_S, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def answers(prefix, weir, requests):
    """Returns the value of each reply."""
    status, out, err = run(prefix, "/usr/bin/python3", "-c", ASKER, weir.socket, *requests)
    expect(status == 0, err)
    return [next(iter(json.loads(line).values())) for line in out.splitlines()]


def is_denied(value):
    """Returns true for a refusal, and asserts its text."""
    if not isinstance(value, dict) or not isinstance(value.get("denied"), str):
        return False
    expect("changes something" in value["denied"] and value["uid"] == int(NOBODY)
           and OPERATORS in value["needs"] and "control.operators" in value["needs"], str(value))
    return True


def open_to_users(scene, **control):
    """Starts a limiter in a directory that all can enter; only `control` restricts the socket."""
    for name in (READERS, OPERATORS):
        try:
            grp.getgrnam(name)
        except KeyError as error:
            raise Skip(f"there is no group {name} here") from error
    os.chmod(scene.directory, 0o755)
    return scene.box(RINGS | {"policies": [{"name": "p", "limit": "10Mbit/s"}],
                              "control": control}).start()


def who_may_what(scene):
    """Users outside the groups, in one of them and in both send every command."""
    weir = open_to_users(scene, group=READERS, operators=OPERATORS)
    known = commands()
    helped = weir.get("/")
    expect(set(known) == {path for path in helped if path.startswith("/weir/")} - {
        "/weir/telemetry"}, f"the commands that there are: {helped}")
    expect(list(known.values()).count(True) >= 1, f"{known}")
    for groups in ((), (OPERATORS,)):
        status, _, err = run(user(*groups), CTL, "-s", weir.socket, "status")
        expect(status == 1 and "permission denied" in err, f"{groups}: {status} {err}")
    everything = list(known) + ["/", "/help,/weir/policy", "/info", "/weir/telemetry",
                                "/ethdev/list", "/ethdev/stats,0"]
    reader = answers(user(READERS), weir, everything)
    for path, value in zip(everything, reader):
        expect(is_denied(value) == known.get(path, False), f"a reader's {path}: {value}")
    expect(weir.get("/weir/telemetry")["denied"] == list(known.values()).count(True), "not counted")
    expect(weir.get("/weir/config")["last_reload"] is None, "a reader has reloaded")
    wait_until(lambda: f"uid {NOBODY} gave /weir/reload" in weir.log(), "the refusal in the log")
    for path, value in zip(everything, answers(user(READERS, OPERATORS), weir, everything)):
        expect(not is_denied(value), f"an operator's {path}: {value}")
    wait_until(lambda: weir.get("/weir/config")["last_reload"], "the operator's reload")
    status, _, err = run(user(READERS), CTL, "-s", weir.socket, "reload")
    expect(status == 1 and OPERATORS in err, f"weirctl reload of a reader: {status} {err}")
    status, out, err = run(user(READERS, OPERATORS), CTL, "-s", weir.socket, "reload")
    expect(status == 0 and "unchanged" in out, f"weirctl reload of an operator: {status} {err}")
    weir.stop()
    return f"{len(everything)} commands by 4 users"


def nobody_is_named(scene):
    """Without `operators` only root can change settings; without a group only root can connect."""
    weir = open_to_users(scene, group=READERS)
    value, = answers(user(READERS, OPERATORS), weir, ["/weir/reload"])
    expect("control.operators can name a group" in value["needs"], str(value))
    expect("denied" not in str(answers([], weir, ["/weir/reload"])), "root may not")
    weir.stop()
    weir.config["control"].pop("group")
    weir.write()
    weir.start()
    for groups in ((READERS,), (OPERATORS,)):
        status, _, err = run(user(*groups), CTL, "-s", weir.socket, "status")
        expect(status == 1 and "permission denied" in err, f"{groups}: {status} {err}")
    weir.stop()


def limiter(scene, i):
    """Returns one of two limiters with many policies."""
    roster = [{"name": f"l{k}", "address": f"127.0.0.{k + 1}:{PORTS[k]}"} for k in range(2)]
    policies = [{"name": f"customer-{k:06}", "limit": "10Mbit/s", "burst": "400kB",
                 "match": {"src": f"10.{k >> 16}.{k >> 8 & 255}.{k & 255}/32"}}
                for k in range(POLICIES)]
    return scene.box(box.wire(f"net_ring{2 * i}", f"net_ring{2 * i + 1}") | {
        "policies": policies, "gossip": {"roster": roster, "insecure": True},
        "eal": ["--no-huge", "-m", "1024", "--no-shconf"]}, f"l{i}")


class Storm:
    """Clients that request the last of all policies, again after each reply."""

    def __init__(self, weir):
        self.clients = [box.Client(weir.socket) for _ in range(CLIENTS)]
        self.over, self.answered, self.wrong = False, 0, []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.ask, args=(client,))
                        for client in self.clients]

    def ask(self, client):
        """Sends the requests of one client."""
        name, n = f"customer-{POLICIES - 1:06}", 0
        while not self.over:
            policy = client.get(f"/weir/policy,{name}")
            n += 1
            if not policy or policy["limit_bps"] != 10000000:
                self.wrong.append(policy)
        with self.lock:
            self.answered += n

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        for thread in self.threads:
            thread.join()
        for client in self.clients:
            client.close()


def a_storm_loses_nobody(scene):
    """63 clients load one limiter, and the other one still counts it as alive."""
    boxes = [limiter(scene, i).spawn() for i in range(2)]
    for weir in boxes:
        weir.await_answer()
    wait_until(lambda: all(weir.get("/weir/peers")["alive"] == 1 for weir in boxes), "both")
    before = boxes[1].get("/weir/peers")["peers"][0]["restarts"]
    silence, looks, lost = 0, 0, 0
    with Storm(boxes[0]) as storm:
        end = time.monotonic() + STORM_S
        while time.monotonic() < end:
            peer = boxes[1].get("/weir/peers")["peers"][0]
            looks, lost = looks + 1, lost + (peer["state"] != "alive")
            silence = max(silence, peer["silent_ms"])
            time.sleep(0.01)
    expect(looks > 100 and lost == 0, f"lost in {lost} of {looks} looks")
    expect("peer l0: lost" not in boxes[1].log(), "it was lost between two looks")
    expect(boxes[1].get("/weir/peers")["peers"][0]["restarts"] == before, "restarts")
    boxes[0].hang_up()
    boxes[0].client = box.Client(boxes[0].socket)
    telemetry, health = boxes[0].get("/weir/telemetry"), boxes[0].get("/weir/health")["control"]
    expect(not storm.wrong and storm.answered > 1000, f"{storm.answered}: {storm.wrong[:1]}")
    expect(telemetry["longest_turn_ms"] > 0 and telemetry["requests"] > 1000, str(telemetry))
    for weir in boxes:
        weir.stop()
    return (f"{storm.answered / STORM_S:.0f} answers a second of {POLICIES} policies; the other "
            f"one heard it at least every {silence:.0f} ms; turns of clients took at most "
            f"{telemetry['longest_turn_ms']:.1f} ms, {telemetry['cut_turns']} were cut; control "
            f"stood still {health['stalls']} times, at most {health['longest_stall_ms']:.0f} ms")


SCENARIOS = [who_may_what, nobody_is_named, a_storm_loses_nobody]

if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--long"]
    box.main(SCENARIOS, setup=box.enter_netns)

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Tests weirctl against a running weir, and against servers that misbehave."""

import contextlib
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import box
from box import expect, wait_until

CTL = os.path.join(box.BUILD, "app", "weirctl", "weirctl")
RINGS = box.wire("net_ring0", "net_ring1")
GREETING = {"version": "Weir 9", "pid": 1, "max_output_len": 16384}
NOBODY = 65534


def ctl(path, *words, status=0, **more):
    """Returns standard output for status 0, or standard error."""
    done = subprocess.run([CTL, *(["-s", path] if path else []), *words], capture_output=True,
                          text=True, check=False, timeout=box.PATIENCE_S,
                          stdin=subprocess.DEVNULL, **more)
    expect(done.returncode == status,
           f"weirctl {words}: status {done.returncode}: {done.stdout}{done.stderr}")
    if status == 0:
        expect(not done.stderr, f"weirctl {words}: {done.stderr}")
        expect(done.stdout.replace("\n", "").isprintable(), f"{words}: {done.stdout!r}")
        return done.stdout
    expect(not done.stdout, f"weirctl {words} failed, and said {done.stdout}")
    return done.stderr


def status_of(weir):
    """Returns the output of `status` for a healthy or unhealthy limiter."""
    done = subprocess.run([CTL, "-s", weir.socket, "status"], capture_output=True, text=True,
                          check=False, timeout=box.PATIENCE_S, stdin=subprocess.DEVNULL)
    well = "\nhealth    OK\n" in done.stdout
    expect(done.returncode == (0 if well else 3) and not done.stderr, f"status: {done}")
    return done.stdout


def policy(number, **more):
    """Returns a policy for one VLAN."""
    return {"name": f"p{number}", "match": {"direction": "a-to-b", "vlan": number},
            "limit": "10Mbit/s", "burst": "75kB"} | more


def commands(scene):
    """Every command against a limiter of its own, with more policies than a page has."""
    weir = scene.box(RINGS | {"policies": [policy(i) for i in range(1, 151)]}).start()
    expect("limiter   box1\n" in ctl(weir.socket, "status"), "status")
    lines = ctl(weir.socket, "policies").splitlines()
    expect(len(lines) == 151 and lines[0].startswith("POLICY "), f"policies: {lines[:3]}")
    expect([line.split()[0] for line in lines[1:]] == [f"p{i}" for i in range(1, 151)], "names")
    expect(len(ctl(weir.socket, "policies", "--sort", "rate", "5").splitlines()) == 6, "sorted")
    shown = ctl(weir.socket, "policy", "p9")
    expect("10.0 Mbit/s" in shown and "vlan 9" in shown, shown)
    expect("\ndrops     none" in ctl(weir.socket, "status"), "drops that are all 0")
    expect(re.search(r"^resident +\d[\d.]* MiB$", ctl(weir.socket, "process"), re.M), "process")
    memory = told(weir, "process")["memory"]
    expect(memory == weir.get("/weir/process")["memory"] | {"resident_bytes": memory[
        "resident_bytes"]} and memory["resident_bytes"] > 1 << 20, f"not raw: {memory}")
    for name in ("peers", "gossip", "drops", "workers", "ports", "config", "ledger"):
        expect(ctl(weir.socket, name), f"{name} shows nothing")
        asked = weir.get("/weir/" + name)
        got = told(weir, name)
        expect(set(got) - {"each"} == set(asked) if isinstance(asked, dict)
               else len(got) == len(asked), f"{name}: {got}")
    expect("no such policy" in ctl(weir.socket, "policy", "p151", status=1), "policy p151")
    expect("no policy has a quota" in ctl(weir.socket, "tree", status=1), "tree")
    expect("draws a quota from it" in ctl(weir.socket, "etcd", status=1), "etcd")
    expect("has no ledger" in ctl(weir.socket, "ledger", "p1", status=1), "ledger p1")
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([CTL, "-s", weir.socket, "policies"], stdout=full, text=True,
                              stderr=subprocess.PIPE, check=False, timeout=box.PATIENCE_S)
    expect(done.returncode == 1 and "No space left" in done.stderr, f"a full disk: {done}")
    for words in (["--version"], ["--help"], ["policies", "--help"], ["help"]):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([CTL, *words], stdout=full, check=False, timeout=box.PATIENCE_S)
        expect(done.returncode == 1, f"{words} to a full device: {done.returncode}")
    weir.stop()
    expect("is weir running?" in ctl(weir.socket, "status", status=1), "after the stop")


def reloads(scene):
    """A reload waits for its result, and shows the place of each error."""
    weir = scene.box(RINGS | {"policies": [policy(1)]}).start()
    weir.config["policies"] = [policy(1, limit="20Mbit/s"), policy(2)]
    weir.write()
    said = ctl(weir.socket, "reload")
    expect("added        1\n" in said and "changed      1\n" in said, said)
    expect("20.0 Mbit/s" in ctl(weir.socket, "policy", "p1"), "the limit is not in force")
    weir.config["policies"] = [policy(1, limit="20Mbit")]
    weir.write()
    said = ctl(weir.socket, "reload", status=1)
    expect('policies[0] "p1".limit: "20Mbit": expected' in said, said)
    expect("nothing has changed" in said, said)
    shown = status_of(weir)
    expect("health    WARNING\n" in shown and "reload    REFUSED at " in shown, shown)
    expect("was refused, and the previous configuration is in force" in shown, shown)
    expect('policies[0] "p1".limit' in ctl(weir.socket, "config"), "config does not say why")
    weir.config["policies"] = [policy(1)]
    weir.write()
    ctl(weir.socket, "reload")
    expect("health    OK\n" in status_of(weir), "a good reload does not end it")
    weir.stop()


def pair(scene, policies):
    """Two limiters on loopback, x and y, which have never run before."""
    roster = [{"name": name, "address": f"127.0.0.1:{port}"}
              for name, port in (("x", 17946), ("y", 17947))]
    boxes = [scene.box(RINGS | {"policies": policies, "ledger": {"store": scene.path(peer["name"])},
                                "gossip": {"listen": peer["address"], "roster": roster,
                                           "insecure": True}}, peer["name"]) for peer in roster]
    for weir in boxes:
        status, _, err = weir.run("--new-ledger", box.LEDGER, weir.config_path)
        expect(status == 0, err)
        weir.start()
    return boxes


def told(weir, *words):
    """Returns the value of --json."""
    return json.loads(ctl(weir.socket, "--json", *words))


def hard(scene):
    """Two limiters with a hard limit: the parts that each holds."""
    boxes = pair(scene, [policy(1, guarantee="hard", allocator="fps")])
    wait_until(lambda: all(told(weir, "ledger")["state"] == "committed" for weir in boxes),
               "the ledgers to be committed")
    held = [told(weir, "ledger", "p1") for weir in boxes]
    expect(sum(one["balance_bps"] for one in held) == 10000000, f"{held}")
    expect([one["edges"][0]["peer"] for one in held] == ["y", "x"], f"{held}")
    shown = ctl(boxes[0].socket, "ledger", "p1")
    expect(re.search(r"^share +5.00 Mbit/s$", shown, re.M) and "\ny " in shown, shown)
    wait_until(lambda: all(words in status_of(boxes[0])
                           for words in ("ledger    committed\n", "1 of 1 peers alive")),
               "both peers alive and committed")
    expect(boxes[0].get("/weir/ledger,p1,1")["edges"] == [], "a page after the last edge")
    for request in ("/weir/ledger,p2", "/weir/ledger,p1,x", "/weir/ledger,p1,1,1",
                    "/weir/quota,p1", "/weir/tree"):
        expect(boxes[0].get(request) is None, request)
    boxes[1].kill()
    wait_until(lambda: "lost: y" in status_of(boxes[0]), "the loss to be seen")
    expect("health    WARNING" in status_of(boxes[0]), "a lost peer is no warning")
    boxes[0].stop()


def budget(scene):
    """Two limiters with a quota: the part that each has, and the tree between them."""
    boxes = pair(scene, [{"name": "p1", "match": {"direction": "a-to-b"}, "allocator": "quota",
                          "total": "500MB", "period": "24h"}])
    trees = wait_until(lambda: (got := [told(weir, "tree") for weir in boxes])[0]["root"]
                       == got[1]["root"] and all(tree["neighbours"][0]["linked"] for tree in got)
                       and got, "one tree")
    expect(sorted(tree["is_root"] for tree in trees) == [False, True], f"{trees}")
    expect([tree["neighbours"][0]["peer"] for tree in trees] == ["y", "x"], f"{trees}")
    budgets = [told(weir, "quota", "p1") for weir in boxes]
    expect(sum(one["held_bytes"] + one["spent_bytes"] for one in budgets) == 500000000,
           f"{budgets}")
    expect(all(0 < one["period_ends_in_s"] <= 86400 for one in budgets), f"{budgets}")
    row = ctl(boxes[0].socket, "policies").splitlines()[1].split()
    expect(row[:3] == ["p1", "-", "-"] and row[-2:] == ["-", "quota"], f"{row}")
    for key in ("limit_bps", "local_limit_bps", "global_demand_bps", "peers_lost"):
        expect(told(boxes[0], "policy", "p1")[key] is None, f"a quota has no {key}")
    shown = ctl(boxes[0].socket, "quota")
    expect("\np1      500 MB" in shown, shown)
    expect(re.search(r"^quota +500 MB$", ctl(boxes[0].socket, "quota", "p1"), re.M), "quota p1")
    expect("ROUND TRIP" in ctl(boxes[0].socket, "tree"), "tree")
    for request in ("/weir/quota,p2", "/weir/tree,x", "/weir/ledger,p1"):
        expect(boxes[0].get(request) is None, request)
    for weir in boxes:
        weir.stop()


# Rows and tables that depend on the state of a limiter, apart from those with NONZERO.
BY_STATE = {"alarms", "drops", "reload", "regime", "per-flow rate", "error", "last commit",
            "longest commit", "clock", "wall clock off by", "lasts", "rate of group"}


def conditional():
    """Returns the labels of rows that are left out while their number is 0."""
    found = set(BY_STATE)
    for name in os.listdir(os.path.join(box.ROOT, "app", "weirctl")):
        with open(os.path.join(box.ROOT, "app", "weirctl", name), encoding="utf-8") as source:
            found |= set(re.findall(r'\{"([^"]+)",\s*"[^"]+",\s*\w+ \| NONZERO\}', source.read()))
    numbers = subprocess.run([box.WEIR, "--numbers"], capture_output=True, text=True, check=True)
    for number in map(json.loads, numbers.stdout.splitlines()):
        if number["hidden_at_0"] and "label" in number:
            found |= {number["label"] + unit for unit in ("", " bytes", " flows")}
    expect(len(found) > 40, f"rows with NONZERO: {found}")
    return found


def shape_of(shown):
    """Returns the row labels and the table heads of an output, without its values."""
    labels, table = [], None
    for line in shown.splitlines():
        words = re.split(r"  +", line.strip())
        if not line.strip():
            table = None
        elif "warning: " in line:
            continue
        elif table is None and words[0].isupper():
            table = words[0]
            labels.append(tuple(words))
        elif table is None or table == "REASON":  # a table with the same rows always
            labels.append(words[0])
    return labels


def documented(scene):
    """The manual shows the present rows and tables of each command."""
    with open(os.path.join(box.ROOT, "doc", "operate", "weirctl.md"), encoding="utf-8") as page:
        blocks = re.findall(r"^    \$ weirctl (.*)\n((?:    .+\n|\n(?=    [^$]))*)", page.read(),
                            re.M)
    match = {"match": {"direction": "a-to-b"}}
    boxes = pair(scene, [policy(1, guarantee="hard", name="video"),
                         policy(2, name="guests", match={"direction": "b-to-a"}),
                         {"name": "prepaid", "allocator": "quota", "total": "500MB",
                          "period": "24h"} | match])
    wait_until(lambda: all(told(weir, "ledger")["state"] == "committed" and
                           weir.get("/weir/peers")["alive"] == 1 for weir in boxes),
               "the ledgers to be committed, and both peers alive")
    compared, optional = 0, conditional()
    for words, shown in blocks:
        if words.split()[0] in ("etcd", "placement") or ";" in words:  # needs another configuration
            continue
        # Several limiters, no table, or output that depends on traffic, events and files.
        if words.split()[0] in ("-g", "check", "events", "match", "explain", "capture", "talkers",
                                "diff", "apply", "history", "import") or "edits" in words \
                or words.startswith("ledger forget"):
            continue
        want, got = shape_of(shown), shape_of(ctl(boxes[0].socket, *words.split()))
        if words.startswith("top"):  # numbers come before its table
            want, got = want[-1:], got[-1:]
        want, got = ([one for one in shape if one not in optional and one[0] != "DROPPED"]
                     for shape in (want, got))
        expect(want == got, f"weirctl {words}: the manual differs:\n{want}\n{got}")
        compared += 1
    expect(compared > 8, f"{compared} of {len(blocks)} compared")
    for weir in boxes:
        weir.stop()
    return f"{compared} commands"


def usage(_):
    """Wrong usage has exit status 2."""
    for words in ((), ("nonsense",), ("status", "x"), ("policy",), ("policy", "a", "b"),
                  ("policies", "--sort", "name"), ("policies", "0"), ("policies", "all"),
                  ("peers", "--sort", "rate"), ("watch",),
                  ("watch", "reload"), ("watch", "watch", "status"), ("-x",),
                  ("-n", "a", "-s", "b", "status")):
        said = ctl(None, *words, status=2)
        expect("Usage:" in said, f"{words}: {said}")
        expect(words in ((), ("watch",)) or "weirctl: " in said.splitlines()[0],
               f"{words}: why? {said}")
    expect("reload" in ctl(None, "--help"), "--help")
    expect(ctl(None, "--version").startswith("weirctl "), "--version")


def refusals(scene):
    """No socket, no listener, another protocol: each error has advice."""
    path = scene.path("weir.sock")
    expect("is weir running?" in ctl(path, "status", status=1), "no socket")
    expect("/run/weir/nobody.sock" in ctl(None, "-n", "nobody", "status", status=1), "-n")
    expect("too long" in ctl("/" + "x" * 200, "status", status=1), "long path")
    for kind in (socket.SOCK_SEQPACKET, socket.SOCK_STREAM):
        with socket.socket(socket.AF_UNIX, kind) as server:
            server.bind(path)
            if kind == socket.SOCK_STREAM:
                server.listen()
            want = "no process listens" if kind == socket.SOCK_SEQPACKET else "does not use"
            expect(want in ctl(path, "status", status=1), want)
        os.unlink(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(path)
        server.listen()
        os.chmod(path, 0o660)
        os.chmod(scene.directory, 0o755)
        said = ctl(path, "status", status=1, user=NOBODY, group=NOBODY, extra_groups=[])
        expect("permission denied" in said and "sudo" in said, said)
        os.chown(path, 0, 1)
        said = ctl(path, "status", status=1, user=NOBODY, group=NOBODY, extra_groups=[])
        expect("join the group" in said, said)


class Server(threading.Thread):
    """Sends a greeting, then one text for each request, and closes the connection."""

    def __init__(self, path, *said, pause=0.0):
        super().__init__(daemon=True)
        self.said, self.pause, self.asked = said, pause, []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.listener.bind(path)
        self.listener.listen()
        self.start()

    def run(self):
        client, _ = self.listener.accept()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
        with client, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for i, text in enumerate(self.said):
                if i:
                    self.asked.append(client.recv(8192).decode())
                client.send((text if isinstance(text, str) else json.dumps(text)).encode())
            time.sleep(self.pause)
        self.listener.close()


def ctl_of(path, said, command, status=1, pause=0.0):
    """Returns the output of weirctl with such a server."""
    server = Server(path, *said, pause=pause)
    began = time.monotonic()
    out = ctl(path, command, status=status)
    expect(time.monotonic() - began < 20, "it took too long")
    server.join(box.PATIENCE_S)
    return out


def servers_that_misbehave(scene):
    """Half a reply, another reply, a huge one or none: no crash and no endless wait."""
    path = scene.path("weir.sock")
    page = {"/weir/policy_stats": {"next": 1, "columns": ["name"], "policies": [["a"]]}}
    whole = {"/weir/drops": {"limit": 1}}
    for said, want in (
            ((), "was closed"),
            (("",), "was closed"),
            (("{}",), "does not use"),
            (("SSH-2.0",), "does not use"),
            ((GREETING | {"max_output_len": 1 << 40},), "does not use"),
            ((GREETING | {"max_output_len": -1},), "does not use"),
            ((GREETING | {"version": "x" * 2000},), "longer than"),
            ((GREETING,), "was closed"),
            ((GREETING, json.dumps(whole)[:-4]), "does not use"),
            ((GREETING, json.dumps(whole) + "{}"), "does not use"),
            ((GREETING, "[" * 100000), "longer than"),
            ((GREETING, "[" * 16000), "does not use"),
            ((GREETING, {"/weir/other": 1}), "does not use"),
            ((GREETING, {"/weir/drops": None}), "this weir has no drops"),
            ((GREETING, {"/weir/drops": {"x": "y" * 20000}}), "longer than")):
        got = ctl_of(path, said, "drops")
        expect(want in got, f"{said!r:.200}: {got}, not {want}")
    expect("was closed" in ctl_of(path, [GREETING, page], "policies"), "died between two pages")
    expect("limit" in ctl_of(path, [GREETING, whole], "drops", status=0), "a good one")
    # A reply of the announced length, with text that moves a terminal's cursor.
    long = {"/weir/drops": {"limit": 1, "z": ""}}
    long["/weir/drops"]["z"] = "\x1b" * ((16384 - len(json.dumps(long))) // 6)
    shown = ctl_of(path, [GREETING, long], "drops", status=0)
    expect("\\u001b\\u001b" in shown and "\x1b" not in shown, shown[:200])
    expect("no answer" in ctl_of(path, [GREETING], "drops", pause=6), "a stopped server")


def watch(weir, times):
    """Watches the drops for that many tables; returns (process, output)."""
    process = subprocess.Popen([CTL, "-s", weir.socket, "watch", "drops"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    shown = ""
    while shown.count("REASON") < times:
        line = process.stdout.readline()
        expect(line, "it ended")
        shown += line
    return process, shown


def watched(scene):
    """Repeats each second until Ctrl-C with status 0; clears a terminal, but not a file."""
    weir = scene.box(RINGS | {"policies": [policy(1)]}).start()
    began = time.monotonic()
    process, shown = watch(weir, 3)
    expect(time.monotonic() - began > 1.9, "it does not wait")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=box.PATIENCE_S)
    expect(process.returncode == 0 and not err, f"status {process.returncode}: {err}")
    expect("\x1b" not in shown + out, shown)
    master, slave = pty.openpty()
    process = subprocess.Popen([CTL, "-s", weir.socket, "watch", "status"], stdout=slave)
    os.close(slave)
    shown = os.read(master, 4096)
    while b"drops" not in shown:
        shown += os.read(master, 4096)
    expect(shown.startswith(b"\x1b[H\x1b[J"), f"{shown}")
    expect(shown.count(b"\x1b[H") == 1, "cleared within a picture")
    process.send_signal(signal.SIGTERM)
    expect(process.wait(box.PATIENCE_S) == 0, "SIGTERM")
    os.close(master)
    process, shown = watch(weir, 1)
    weir.stop()
    while "gone since" not in shown:
        shown = process.stdout.readline()
        expect(shown, "it ended with the limiter")
    expect("was closed" in shown or "no such socket" in shown, f"why is it gone? {shown}")
    weir.start()
    while "REASON" not in shown:
        shown = process.stdout.readline()
        expect(shown, "it ended before the limiter was back")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=box.PATIENCE_S)
    expect(process.returncode == 0 and not err, f"{process.returncode}: {err}")
    weir.stop()


SCENARIOS = [usage, commands, reloads, hard, budget, documented, refusals,
             servers_that_misbehave, watched]

if __name__ == "__main__":
    if not os.access(CTL, os.X_OK):
        print(f"skipped: {CTL} is not built")
        sys.exit(box.SKIP)
    box.main(SCENARIOS, box.enter_netns)

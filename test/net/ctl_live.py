#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""weirctl with several limiters, on terminals of any size, and while limiters die and return."""

import concurrent.futures
import fcntl
import glob
import json
import os
import pty
import re
import select
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import termios
import time
import unicodedata

import box
from box import expect, wait_until

CTL = os.path.join(box.BUILD, "app", "weirctl", "weirctl")
RINGS = box.wire("net_ring0", "net_ring1")
KEY = "0123456789abcdef" * 4
NOBODY = 65534
# Commands that fail for these limiters, with their message.
SILENT = {"etcd": "no etcd"}
STATELESS = "without --state"
ENDLESS = ("capture",)  # end only with packets; tested elsewhere
LONG = "customer-with-a-very-long-name-of-which-there-are-many-"


def ctl(*words, **more):
    """Runs weirctl; returns (status, standard output, standard error)."""
    done = subprocess.run([CTL, *words], capture_output=True, text=True, check=False,
                          timeout=box.PATIENCE_S, stdin=subprocess.DEVNULL, **more)
    return done.returncode, done.stdout, done.stderr


def good(*words, **more):
    """Runs weirctl, which must succeed; returns its standard output."""
    status, out, err = ctl(*words, **more)
    expect(status == 0, f"weirctl {words}: status {status}: {out}{err}")
    return out


def policies():
    """Returns a soft limit, a hard limit, a quota, and many policies with long names."""
    return [{"name": "video", "match": {"vlan": 1}, "limit": "10Mbit/s", "burst": "75kB",
             "guarantee": "hard", "allocator": "fps"},
            {"name": "prepaid", "match": {"vlan": 2}, "allocator": "quota", "total": "500MB",
             "period": "24h"},
            {"name": "guests", "match": {"vlan": 40}, "limit": "10Mbit/s", "burst": "75kB"},
            *({"name": f"{LONG}{i}", "match": {"vlan": i}, "limit": "10Mbit/s", "burst": "75kB"}
              for i in range(3, 40))]


def pair(scene, names, **more):
    """Starts two limiters on loopback that have never run; returns after their ledgers are
    committed."""
    roster = [{"name": name, "address": f"127.0.0.1:{17946 + i}"} for i, name in enumerate(names)]
    boxes = [scene.box(RINGS | {"policies": policies(), "ledger": {"store": scene.path(name)},
                                "gossip": {"listen": peer["address"], "roster": roster,
                                           "insecure": True} | more}, name)
             for name, peer in zip(names, roster)]
    for weir in boxes:
        status, _, err = weir.run("--new-ledger", box.LEDGER, weir.config_path)
        expect(status == 0, err)
        weir.start()
    wait_until(lambda: all(weir.get("/weir/ledger")["state"] == "committed" and
                           weir.get("/weir/peers")["alive"] == 1 for weir in boxes),
               "both to be heard, and committed")
    return boxes


def table():
    """Returns the table of commands."""
    return json.loads(good("help", "--json"))


def try_example(scene, path, command, *more):
    """Runs the command's example: it must print something, with --json one or more JSON values."""
    folder = scene.path("-".join((command["command"], *more)))
    os.mkdir(folder)
    with open(os.path.join(folder, "subscribers.csv"), "w", encoding="utf-8") as text:
        text.write("name,addresses,limit\n")
    words = ("-s", path, *more, *shlex.split(command["example"].replace(
        "/etc/weir/edge-ams-1.json", scene.path("edge-ams-1.json"))))
    status, out, err = ctl(*words, cwd=folder)
    want = SILENT.get(command["command"])
    if want:
        expect(status == 1 and want in err and not out, f"{words}: {status} {err}")
        return
    if status == 1 and STATELESS in out + err:  # the test of changes runs it with --state
        return
    expect(status == 0 and out, f"{words}: status {status}: {out}{err}")
    decoder, at = json.JSONDecoder(), 0
    while more and out[at:].strip():
        at += len(out[at:]) - len(out[at:].lstrip())
        _, at = decoder.raw_decode(out, at)


def at_once(calls):
    """Runs four calls at a time, because they mostly wait; raises the first error."""
    with concurrent.futures.ThreadPoolExecutor(4) as crew:
        done = [crew.submit(*call) for call in calls]
    for one in done:
        one.result()
    return len(done)


def examples(scene):
    """Runs each command's own example, as text and as JSON."""
    boxes = pair(scene, ("edge-ams-1", "edge-fra-1"))
    commands = [command for command in table() if command["command"] not in ENDLESS]
    # Commands that change settings would disturb the others, so they run alone.
    ran = at_once([(try_example, scene, boxes[0].socket, command, *more) for command in commands
                   for more in ((), ("--json",)) if not command["changes"]])
    for more in ((), ("--json",)):
        for command in (command for command in commands if command["changes"]):
            try_example(scene, boxes[0].socket, command, *more)
            ran += 1
    expect(ran == 2 * len(commands) > 40, f"{ran} of {len(commands)}")
    said = good("help", "policies")
    expect("Example: weirctl policies" in said and said.startswith("Usage: weirctl"), said)
    for weir in boxes:
        weir.stop()
    return f"{ran} examples"


# --- terminals -----------------------------------------------------------------------------------

class Terminal:
    """A program on a terminal of a given size."""

    def __init__(self, columns, rows, *words):
        self.master, slave = pty.openpty()
        self.resize(columns, rows)
        self.slave = slave
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen([CTL, *words], stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True)
        self.seen = b""

    def resize(self, columns, rows):
        """Changes the size, like a window."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.1):
        """Reads the output so far; returns false if the program has ended."""
        while select.select([self.master], [], [], seconds)[0]:
            try:
                more = os.read(self.master, 65536)
            except OSError:  # no process has it open
                return False
            self.seen += more
            seconds = 0
        return True

    def frames(self):
        """Yields the screens that the program has drawn, as lists of lines."""
        for frame in re.findall(rb"\x1b\[H(.*?)\x1b\[J", self.seen, re.S):
            yield [line.replace("\x1b[K", "").rstrip("\r") for line in frame.decode().split("\n")]

    def wait_for(self, words):
        """Waits for a screen with these words."""
        self.seen = b""

        def found():
            self.read()
            return [frame for frame in self.frames() if words in "\n".join(frame)][-1:]
        return wait_until(found, lambda: f"no {words!r} in {self.seen[-2000:]}")[0]

    def type(self, text):
        """Types keys."""
        os.write(self.master, text.encode())

    def is_restored(self):
        """Returns true if the screen, the cursor and the line mode are as before."""
        self.read()
        return termios.tcgetattr(self.slave) == self.before and (
            b"\x1b[?1049h" not in self.seen.rsplit(b"\x1b[?1049l", 1)[-1])

    def end(self, status=0):
        """Waits for the end, after which the terminal must be restored."""
        got = wait_until(lambda: [self.read(0)] and self.process.poll() is not None and [
            self.process.returncode], "its end")[0]
        expect(got == status, f"status {got}, not {status}: {self.seen[-2000:]}")
        expect(self.is_restored(), f"the terminal is not as before: {self.seen[-300:]}")
        os.close(self.slave)
        os.close(self.master)


def columns_of(line):
    """Returns the width of a line on a terminal."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def shown_at(columns, *words):
    """Returns the lines that a command prints to a terminal of that width."""
    terminal = Terminal(columns, 24, *words)
    out = b""
    while terminal.process.poll() is None:
        terminal.read()
    terminal.read()
    out = terminal.seen
    terminal.end(terminal.process.returncode)
    return [line.rstrip("\r") for line in out.decode().split("\n")]


def widths(scene):
    """Runs every command on terminals of 80 and 132 columns, with names that are longer."""
    boxes = pair(scene, ("a" + LONG, "b" + LONG))
    both = [word for weir in boxes for word in ("-s", weir.socket)]

    def fits(command, word):
        """Checks the width with one limiter and with two; error messages must also fit."""
        for columns, those in ((80, both[:2]), (80, both), (132, both[:2])):
            lines = shown_at(columns, *those, command["command"], *word)
            # A path in a message is not broken.
            widest = max((line for line in lines if "/" not in line), key=columns_of)
            complains = any(line.startswith("weirctl: ") for line in lines)
            expect(columns_of(widest) <= columns or complains, f"{command} {word}: {widest!r}")

    # Output for programs has any width; these commands are tested elsewhere.
    commands = [command for command in table() if not command["changes"] and
                command["command"] not in ("top", "check", "names")]
    ran = at_once([(fits, command, word) for command in commands for word in (
        (), (f"{LONG}7",), ("video",), ("prepaid",), ("b" + LONG,))
        if word or not command["wants"]])
    shown = shown_at(80, "-s", boxes[0].socket, "policies")
    expect(any("…" in line for line in shown) and any("--wide" in line for line in shown),
           f"nothing is shortened: {shown[:3]}")
    shown = shown_at(80, "-s", boxes[0].socket, "--wide", "policies")
    expect(any(f"{LONG}7 " in line and line.rstrip().endswith(" fps") for line in shown),
           f"--wide is not wide: {shown[:5]}")
    shown = good("-s", boxes[0].socket, "policies")
    expect("…" not in shown and f"{LONG}7 " in shown, "a pipe is no terminal")
    for weir in boxes:
        weir.stop()
    return f"{ran} forms of commands"


def check_frame(frame, columns, rows):
    """Asserts that a screen fits."""
    expect(len(frame) <= rows, f"{len(frame)} lines, of {rows}: {frame}")
    for line in frame:
        expect(columns_of(line) <= columns, f"{columns_of(line)} columns, of {columns}: {line!r}")


def top(scene):
    """A screen of 80 by 24 follows keys, its size, and a limiter that dies and returns."""
    weir = scene.box(RINGS | {"policies": policies()[2:]}).start()
    terminal = Terminal(80, 24, "-s", weir.socket, "top", "--interval", "0.2")
    frame = terminal.wait_for("sorted by dropping")
    check_frame(frame, 80, 24)
    expect(any(line.startswith("POLICY") for line in frame), f"no table: {frame}")
    for key, order in (("n", "name"), ("m", "demand"), ("s", "share"), ("p", "passing"),
                       ("d", "dropping")):
        terminal.type(key)
        check_frame(terminal.wait_for(f"sorted by {order}"), 80, 24)
    terminal.type("n")
    first = terminal.wait_for("sorted by name")[4]
    terminal.type("\x1b[6~")
    wait_until(lambda: terminal.wait_for("sorted by name")[4] != first, "a page further")
    terminal.type("g")
    wait_until(lambda: terminal.wait_for("sorted by name")[4] == first, "the first page")
    terminal.resize(40, 10)
    wait_until(lambda: len(terminal.wait_for("policies pass")) <= 10, "a smaller picture")
    check_frame(terminal.wait_for("POLICY"), 40, 10)
    terminal.resize(80, 24)
    weir.kill()
    check_frame(terminal.wait_for("gone since"), 80, 24)
    weir.start()
    check_frame(terminal.wait_for("up "), 80, 24)
    os.kill(terminal.process.pid, signal.SIGTSTP)
    wait_until(lambda: "T" == re.search(r"State:\s+(\w)", open(
        f"/proc/{terminal.process.pid}/status", encoding="ascii").read())[1], "it to stop")
    expect(terminal.is_restored(), "Ctrl-Z leaves the terminal as it was drawn")
    os.kill(terminal.process.pid, signal.SIGCONT)
    terminal.wait_for("sorted by name")
    terminal.type("q")
    terminal.end()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        terminal = Terminal(80, 24, "-s", weir.socket, "top")
        terminal.wait_for("POLICY")
        expect(not terminal.is_restored(), "the test sees nothing of a terminal")
        terminal.process.send_signal(number)
        terminal.end()
    terminal = Terminal(80, 24, "-s", scene.path("none.sock"), "top")
    terminal.end(1)
    expect(b"no such socket" in terminal.seen, f"{terminal.seen}")
    out = good("-s", weir.socket, "top", "--count", "2", "--interval", "0.1", "3")
    expect("\x1b" not in out and out.count("POLICY ") == 2 and out.count(LONG) == 6, out)
    weir.stop()


# --- several boxes -------------------------------------------------------------------------------

def several(scene):
    """Two limiters answer, one is dead, three do not answer: none delays another."""
    boxes = pair(scene, ("ams", "fra"))
    silent = []
    for i in range(3):
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        server.bind(scene.path(f"silent{i}.sock"))
        server.listen()
        silent.append(server)
    live = [word for weir in boxes for word in ("-s", weir.socket)]
    dead = [word for i in range(3) for word in ("-s", scene.path(f"silent{i}.sock"))] + [
        "-s", scene.path("dead.sock")]
    shown = good(*live, "policies", "2").splitlines()
    expect([line.split()[:2] for line in shown] == [
        ["BOX", "POLICY"], ["ams", "video"], ["ams", "prepaid"], ["fra", "video"],
        ["fra", "prepaid"]], f"{shown}")
    began = time.monotonic()
    status, out, err = ctl(*live, *dead, "--timeout", "4", "drops")
    took = time.monotonic() - began
    expect(status == 1 and took < 11, f"status {status} after {took:.1f} s")
    expect({line.split()[0] for line in out.splitlines()[1:]} == {"ams", "fra"}, out)
    expect(err.count("no answer") == 3 and err.count("no such socket") == 1, err)
    status, out, _ = ctl(*live, *dead, "--timeout", "1", "--json", "drops")
    told = json.loads(out)
    expect(status == 1 and set(told) == {"ams", "fra", "silent0", "silent1", "silent2", "dead"},
           f"{status} {out}")
    expect(all("limit" in told[name] for name in ("ams", "fra")), out)
    expect("no such socket" in told["dead"]["error"], out)
    group = scene.path("group.json")
    with open(group, "w", encoding="utf-8") as text:
        json.dump([{"name": "first", "socket": boxes[0].socket},
                   {"name": "second", "socket": boxes[1].socket}], text)
    expect(set(json.loads(good("-g", group, "--json", "status"))) == {"first", "second"}, "group")
    for wrong in ("{}", "[]", "[1]", '[{"name": 1}]', '[{"socket": "x"}]', "["):
        with open(group, "w", encoding="utf-8") as text:
            text.write(wrong)
        status, out, err = ctl("-g", group, "status")
        expect(status == 1 and not out and group in err, f"{wrong}: {status} {err}")
    # `watch` shows a limiter that answers, and names a dead one once until it returns.
    process = subprocess.Popen([CTL, *live, "--timeout", "1", "watch", "--interval", "0.2",
                                "drops"], stdout=subprocess.PIPE, text=True)
    lines = iter(process.stdout.readline, "")
    next(line for line in lines if line.startswith("fra "))
    boxes[1].kill()
    gone = next(line for line in lines if "gone since" in line)
    expect(gone.startswith("fra: gone since "), gone)
    picture = [next(lines) for _ in range(60)]
    expect(any(line.startswith("ams ") for line in picture) and
           not any(line.startswith("fra") for line in picture), f"{picture[:25]}")
    boxes[1].start()
    next(line for line in lines if line.startswith("fra "))
    process.send_signal(signal.SIGINT)
    process.stdout.read()
    expect(process.wait(box.PATIENCE_S) == 0, "Ctrl-C")
    for server in silent:
        server.close()
    for weir in boxes:
        weir.stop()
    return f"three that are silent for 4 s took {took:.1f} s"


def slips(scene):
    """Misspelt names get a suggestion."""
    boxes = pair(scene, ("edge-ams-1", "edge-fra-1"))
    for words, want in ((("policy", "vidoe"), 'did you mean "video"?'),
                        (("policy", "vid"), 'did you mean "video"?'),
                        (("ledger", "vidoe"), 'did you mean "video"?'),
                        (("policy", "zebra"), "no such policy; see weirctl policies"),
                        (("peers", "edge-far-1"), 'no such peer: did you mean "edge-fra-1"?'),
                        (("peers", "zebra"), "no such peer; see weirctl peers")):
        status, out, err = ctl("-s", boxes[0].socket, *words)
        expect(status == 1 and want in err and not out, f"{words}: {status} {err}")
    expect(good("-s", boxes[0].socket, "peers", "edge-fra-1").startswith("peer "), "peers PEER")
    expect("edge-fra-1" in good("-s", boxes[0].socket, "names", "peers").split(), "names peers")
    expect("video" in good("-s", boxes[0].socket, "names", "policies").split(), "names policies")
    for weir in boxes:
        weir.stop()


# --- monitoring ----------------------------------------------------------------------------------

LINE = re.compile(r"(OK|WARNING|CRITICAL|UNKNOWN) - [^|\n]+ \|"
                  r"( '[^'=]+'=-?[0-9.e+]+[%s]?(;[0-9.e+]*){3})*\n")


def check(path, status, *words, **more):
    """Runs `check`; asserts one line for Nagios, whose first word and exit status agree."""
    got, out, _ = ctl("-s", path, "--timeout", "2", "check", *words, **more)
    expect(got == status and LINE.fullmatch(out) and
           out.startswith(("OK", "WARNING", "CRITICAL", "UNKNOWN")[status] + " - "),
           f"check {words}: status {got}, not {status}: {out}")
    return out


def checked(scene):
    """Checks a limiter that is healthy, without a peer, stopped, forbidden, dead."""
    boxes = pair(scene, ("ams", "fra"))
    path = boxes[0].socket
    expect("'peers_lost'=0;1;;0" in check(path, 0), "perfdata")
    check(path, 1, "--warning", "uptime=0.001")
    check(path, 2, "--warning", "uptime=0.001", "--critical", "uptime=0.002")
    boxes[1].kill()
    wait_until(lambda: boxes[0].get("/weir/peers")["alive"] == 0, "the loss")
    expect("1 peer is lost" in check(path, 1), "a lost peer")
    check(path, 2, "--critical", "peers_lost=1")
    check(path, 0, "--warning", "peers_lost=off", "--warning", "alarms=off")
    os.chmod(scene.directory, 0o755)
    expect("permission denied" in check(path, 3, user=NOBODY, group=NOBODY, extra_groups=[]),
           "who may not ask")
    boxes[0].process.send_signal(signal.SIGSTOP)
    expect("no answer" in check(path, 2), "a stopped one")
    boxes[0].process.send_signal(signal.SIGCONT)
    check(path, 1)
    got, out, _ = ctl("-s", path, "-s", boxes[1].socket, "check")
    expect(got == 2 and LINE.fullmatch(out) and "ams: peer fra is lost: " in out and
           "1 peer is lost; fra: " in out and
           "'ams.peers_lost'=1" in out, f"{got} {out}")
    boxes[0].stop()
    check(path, 2)


# --- support -------------------------------------------------------------------------------------

def unpack(path):
    """Returns all files of an archive: names without the folder, and bytes."""
    expect(os.stat(path).st_mode & 0o777 == 0o600, "who may read the archive")
    with tarfile.open(path) as archive:
        return {os.path.basename(member.name): archive.extractfile(member).read()
                for member in archive if member.isfile()}


def support(scene):
    """The archive has all that is needed and no secret; a dead limiter leaves the rest intact."""
    key, word = scene.path("gossip.key"), scene.path("word")
    for path, text in ((key, KEY), (word, "hunter-of-ducks")):
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as out:
            out.write(text + "\n")
    weir = scene.box(RINGS | {"policies": policies()[2:5], "gossip": {
        "listen": "127.0.0.1:17950", "key_file": key,
        "roster": [{"name": "edge", "address": "127.0.0.1:17950"}]}}, "edge")
    with open(weir.config_path, encoding="utf-8") as text:
        config = text.read()
    with open(weir.config_path, "w", encoding="utf-8") as text:
        text.write(f'// {KEY.upper()}\n// "password": "sparrow"\n// "password_file": "{word}"\n'
                   f'// hunter-of-ducks, http://ops:sw0rdfish@etcd:2379/\n{config}')
    weir.start()
    output = scene.path("support.tar.gz")
    told = json.loads(good("-s", weir.socket, "--json", "support", "-o", output))
    expect(told["file"] == output, f"{told}")
    parts = unpack(output)
    for name in ("status", "policies", "peers", "ledger", "gossip", "workers", "ports", "config",
                 "process", "drops"):
        expect(json.loads(parts[f"edge-{name}.json"]) and parts[f"edge-{name}.txt"], name)
    for name in ("versions.txt", "kernel.txt", "cpu.txt", "numa.txt", "memory.txt", "nics.txt",
                 "interfaces.txt", "edge-telemetry.json", "manifest.json"):
        expect(name in parts, f"no {name} in {sorted(parts)}")
    expect(b"weirctl " in parts["versions.txt"], "no versions")
    configs = [text for name, text in parts.items() if name.startswith("config")]
    expect(len(configs) == 1 and b"REDACTED" in configs[0] and key.encode() in configs[0],
           f"{configs}")
    for name, text in parts.items():
        for secret in (KEY, KEY.upper(), "hunter-of-ducks", "sparrow", "sw0rdfish"):
            expect(secret.encode() not in text, f"{name} has {secret}")
    status, _, err = ctl("-s", weir.socket, "support", "-o", output)
    expect(status == 1 and "File exists" in err, f"an archive is written over: {err}")
    status, _, err = ctl("-s", weir.socket, "support", "-o", scene.path("no/where"))
    expect(status == 1 and "No such file" in err, err)
    weir.stop()
    os.unlink(output)
    status, out, err = ctl("-s", weir.socket, "support", "-o", output)
    expect(status == 0 and out == output + "\n" and "no such socket" in err, f"{status} {err}")
    parts = unpack(output)
    expect("kernel.txt" in parts and b"no such socket" in parts["manifest.json"], f"{list(parts)}")
    expect(not glob.glob(scene.path(".weir-support-*")), "left behind")
    return f"{len(parts)} parts of a dead one"


SCENARIOS = [examples, widths, top, several, slips, checked, support]

if __name__ == "__main__":
    if not os.access(CTL, os.X_OK):
        print(f"skipped: {CTL} is not built")
        sys.exit(box.SKIP)
    box.main(SCENARIOS, box.enter_netns)

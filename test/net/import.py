#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Policies from other systems: a list of subscribers as CSV, and flow rules of a BGP speaker.

    exabgp ──BGP, loopback── exabgp ──JSON── weir-import flowspec ──▶ weir

Runs in its own network namespace. The speakers are from Debian's package python3-exabgp, which
tools/setup unpacks. Without it that scenario is skipped.
"""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import box
from box import expect, wait_until
from changes import change, ctl, edit, keeping, limits, running
from reload import RINGS, Receiver, Wire, counted, frame, policy

UNPACKED = os.path.join(box.ROOT, "build-unpacked", "usr")
EXABGP = ["/usr/bin/python3", "-B", os.path.join(UNPACKED, "sbin", "python3-exabgp")]
MODULES = {"PYTHONPATH": os.path.join(UNPACKED, "lib", "python3", "dist-packages")}
IMPORT = os.path.join(box.BUILD, "app", "import", "weir-import")
PORT = 1790
SEED = int(os.environ.get("WEIR_SEED", "1"))
TURNS = 40 if box.LONG else 16  # random lists
K, M = 1000, 1000000


def written(scene, name, text, encoding="utf-8"):
    """Writes a file of the scenario; returns its path."""
    path = scene.path(name)
    with open(path, "w", encoding=encoding, newline="") as out:
        out.write(text)
    return path


def imported(weir, *words, fails=""):
    """Returns the output of weir-import. With `fails`, it must fail with that text."""
    done = subprocess.run([IMPORT, "-s", weir.socket, *words], capture_output=True, text=True,
                          check=False, timeout=box.PATIENCE_S, stdin=subprocess.DEVNULL)
    expect((done.returncode != 0) == bool(fails) and fails in done.stderr,
           f"weir-import {' '.join(words)}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def serial(weir):
    """Returns the number of configuration changes so far."""
    return change(weir)["last"]["serial"]


LIST = """\
name,addresses,limit,parent,guaranteed\r
1001,192.0.2.1; 2001:db8:1::/48,10Mbit/s,link,2Mbit/s\r
1002,"192.0.2.2 192.0.2.64/26",20Mbit/s,link,\r
1003,192.0.2.3,5Mbit/s,,\r
"""

LIBREQOS = """\
# LibreQoS's own header
Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,\
Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment
1,"968 Circle St., Gurnee, IL",1,Device 1,AP_A,,"100.64.0.1, 100.64.0.14",2001:db8:64::/56,1,1,\
155,20,
1,"968 Circle St., Gurnee, IL",2,Device 2,AP_A,,100.64.0.2,,1,1,155,20,
7 b,31 Marconi Street,3,Device 3,,,100.64.0.3,,0.5,0.5,2.5,1.0,
"""


def csv(scene):
    """A list is applied atomically. Applied again, it changes nothing. Entries that left the list
    are removed, and policies from other sources stay."""
    link = {"name": "link", "limit": "1Gbit/s"}
    weir = keeping(scene, box.wire("net_ring0", "net_ring1", policies=[
        link, policy("own", "10.0.0.0/8", "7Mbit/s"),
        {"name": "AP_A", "limit": "500Mbit/s", "match": {"vlan": 7}}])).start()
    change(weir)
    first = written(scene, "list.csv", LIST)
    download = ("--direction", "download", "--prefix", "isp-")
    said = imported(weir, "csv", first, *download)
    expect("added      3" in said, said)
    expect(limits(weir, "isp-1001", "isp-1002", "isp-1003", "own") ==
           [10 * M, 20 * M, 5 * M, 7 * M], "in force")
    kept = {one["name"]: one for one in running(weir)["policies"]}
    expect(kept["isp-1001"] == {
        "name": "isp-1001", "match": {"dst": ["192.0.2.1/32", "2001:db8:1::/48"]},
        "limit": "10Mbit/s", "guaranteed": "2Mbit/s", "parent": "link"}, f"{kept['isp-1001']}")
    before = serial(weir)
    said = imported(weir, "csv", first, *download)
    expect("unchanged  3" in said and serial(weir) == before, f"again: {said}")
    other = LIST.replace("20Mbit/s", "30Mbit/s").replace("1003", "1004")
    again = written(scene, "again.csv", other)
    said = imported(weir, "csv", again, *download)
    expect(limits(weir, "isp-1001", "isp-1002", "isp-1003", "isp-1004", "own") ==
           [10 * M, 30 * M, None, 5 * M, 7 * M], said)
    expect(serial(weir) == before + 1, "one change")
    # Mistakes: all are reported and nothing changes; an error from weir also names its line.
    bad = LIST.replace("10Mbit/s", "ten").replace("192.0.2.3", "192.0.2.3/24")
    bad = written(scene, "bad.csv", bad)
    imported(weir, "csv", bad, *download,
        fails='bad.csv:2: limit: "ten": expected 8kbit/s to 400Gbit/s')
    imported(weir, "csv", bad, *download,
        fails='bad.csv:4: addresses: "192.0.2.3/24": expected')
    imported(weir, "csv", written(scene, "orphan.csv", LIST.replace("link,\r", "lnk,\r")),
        *download, fails='orphan.csv:3: parent: "lnk": expected the name of another policy')
    twin = written(scene, "twin.csv", LIST.replace("192.0.2.3", "192.0.2.1"))
    imported(weir, "csv", twin, *download, fails='twin.csv:4: ')
    expect(serial(weir) == before + 2, "what is refused by the list itself is not sent")
    expect(limits(weir, "isp-1002", "isp-1004") == [30 * M, 5 * M], "as they were")
    libreqos(scene, weir, download)
    weir.stop()


def libreqos(scene, weir, download):
    """Imports ShapedDevices.csv unchanged in both directions, and as a file that a configuration
    includes."""
    shaped = written(scene, "ShapedDevices.csv", "\ufeff" + LIBREQOS)
    imported(weir, "csv", shaped, "--direction", "upload", "--prefix", "lq-up-")
    imported(weir, "csv", shaped, "--direction", "download", "--prefix", "lq-down-")
    kept = {one["name"]: one for one in running(weir)["policies"]}
    expect(kept["lq-down-1"] == {
        "name": "lq-down-1", "note": "968 Circle St., Gurnee, IL", "limit": "155Mbit/s",
        "guaranteed": "1Mbit/s", "parent": "AP_A", "match": {"dst": [
            "100.64.0.1/32", "100.64.0.14/32", "2001:db8:64::/56", "100.64.0.2/32"]}},
           f"{kept['lq-down-1']}")
    expect(kept["lq-up-7_b"] == {"name": "lq-up-7_b", "note": "31 Marconi Street",
                                 "limit": "1Mbit/s", "match": {"src": "100.64.0.3/32"}},
           f"{kept['lq-up-7_b']}")
    expect(limits(weir, "isp-1001", "own") == [10 * M, 7 * M], "another list's")
    ten = written(scene, "ten.csv", LIBREQOS.replace(",155,", ",ten,"))
    imported(weir, "csv", ten, *download,
        fails='ten.csv:3: Download Max Mbps: "ten": expected')
    # Includes its nodes: nodes above circuits become policies.
    nodes = written(scene, "network.json", json.dumps({"Site": {
        "downloadBandwidthMbps": 800, "uploadBandwidthMbps": 100, "children": {
            name: {"downloadBandwidthMbps": 300, "uploadBandwidthMbps": 50}
            for name in ("AP_A", "AP_B")}}}))
    imported(weir, "csv", shaped, "--direction", "download", "--prefix", "lq-down-",
        "--network", nodes)
    kept = {one["name"]: one for one in running(weir)["policies"]}
    expect(kept["lq-down-1"]["parent"] == "lq-down-AP_A" and "lq-down-AP_B" not in kept and
           kept["lq-down-AP_A"] == {"name": "lq-down-AP_A", "limit": "300Mbit/s",
                                    "parent": "lq-down-Site"}, f"{kept}")
    # Prints a file that a configuration includes.
    with open(shaped, encoding="utf-8") as text:
        done = subprocess.run([IMPORT, "csv", "-", *download, "--flat", "--print"],
                              stdin=text, capture_output=True, text=True, check=False,
                              timeout=box.PATIENCE_S)
    expect(done.returncode == 0, done.stderr)
    written(scene, "included.json", done.stdout)
    weir.config["include"] = "included.json"
    weir.config["policies"] = []
    weir.write()
    status, said, errors = weir.run("--check", weir.config_path)
    expect(status == 0 and "policies 2, files 2" in said, said + errors)


def customers(names):
    """Returns a list of these customers."""
    return "name,addresses,download,upload\n" + "".join(
        f"c{i},100.64.0.{i},10Mbit/s,5Mbit/s\n" for i in names)


def cut(scene):
    """Imports random lists in turn. One that removes more than the permitted share is rejected, and
    nothing changes. An empty list needs permission to remove all."""
    weir = keeping(scene, box.wire("net_ring0", "net_ring1")).start()
    change(weir)
    rng, refused, had = random.Random(SEED), 0, set()
    for turn in range(TURNS):
        fresh = set(rng.sample(range(1, 61), rng.choice((0, 1, 2, 9, 20, 40))))
        names = sorted(had - fresh | (fresh - had if rng.random() < 0.5 else set()))
        share = rng.choice((10, 10, 25, 60, 100))
        option = {10: [], 100: ["--allow-removals"]}.get(share, [f"--allow-removals={share}%"])
        gone = len(had - set(names))
        good = share == 100 or bool(names) and (gone <= 1 or 100 * gone <= share * len(had))
        done = subprocess.run(
            [IMPORT, "-s", weir.socket, "csv", "-", "--direction", "download", "--prefix",
             "isp-", *option], input=customers(names), capture_output=True, text=True, check=False)
        expect((done.returncode == 0) == good, f"turn {turn}: {len(had)} policies, {gone} removed, "
               f"{share} %: {done.returncode} {done.stdout}{done.stderr}")
        expect(good or "--allow-removals" in done.stderr, done.stderr)
        had = set(names) if good else had
        refused += not good
        kept = {one["name"] for one in running(weir).get("policies", [])}
        expect(kept == {f"isp-c{i}" for i in had}, f"turn {turn}: {sorted(kept)}")
    expect(TURNS / 8 <= refused <= TURNS * 7 / 8, f"{refused} of {TURNS} refused")
    weir.stop()
    return f"{refused} of {TURNS} refused"


def printed(scene):
    """Each list that --print accepts is a valid configuration; it rejects some random lists."""
    weir, rng, refused = scene.box(box.wire("net_ring0", "net_ring1")), random.Random(SEED), 0
    for turn in range(TURNS):
        n = rng.randrange(1, 7)
        rows = []
        for i in range(n):
            address = f"192.0.2.{rng.randrange(i, 9)}" if rng.random() < 0.9 else ""
            parent = f"n{rng.randrange(n + 1)}" if i and rng.random() < 0.8 else ""
            rows.append(f"n{i},{address},{rng.choice((4, 9))}Mbit/s,{parent},")
        text = "name,addresses,limit,parent,guaranteed\n" + "\n".join(rows) + "\n"
        done = subprocess.run([IMPORT, "csv", "-", "--direction", "download", "--prefix",
                               "p-", "--print"], input=text, capture_output=True, text=True,
                              check=False)
        if done.returncode:
            expect(re.search(r"^standard input:\d+: ", done.stderr, re.M), text + done.stderr)
            refused += 1
            continue
        weir.config["policies"] = json.loads(done.stdout)["policies"]
        names = {one["name"] for one in weir.config["policies"]}
        absent = {one["parent"] for one in weir.config["policies"] if "parent" in one} - names
        weir.config["policies"] += [{"name": name, "limit": "1Gbit/s"} for name in absent]
        weir.write()
        status, _, errors = weir.run("--check", weir.config_path)
        expect(status == 0, f"turn {turn}: {text}{errors}")
    expect(TURNS / 6 <= refused <= TURNS * 5 / 6, f"{refused} of {TURNS} refused")
    return f"{refused} of {TURNS} refused"


# --- flow specifications --------------------------------------------------------------------------

NEIGHBOR = """\
neighbor {peer} {{
    router-id {local};
    local-address {local};
    local-as 64512;
    peer-as 64512;
    family {{ ipv4 flow; ipv6 flow; }}
    {more}
}}
"""

LISTENS = """\
process weir {{
    run {command};
    encoder json;
}}
"""

SPEAKS = """\
process feed {{
    run /bin/sh -c "exec 3<>{feed}; exec cat <&3";
    encoder text;
}}
"""


class Speaker:
    """A process of exabgp."""

    def __init__(self, scene, name, local, text):
        self.local = local
        self.path = written(scene, name + ".conf", text)
        self.log_path = scene.path(name + ".exabgp.log")
        self.process = None

    def start(self):
        """Starts it like Debian does."""
        environment = dict(os.environ, exabgp_daemon_user="root", exabgp_tcp_bind=self.local,
                           exabgp_tcp_port=str(PORT), exabgp_api_cli="false")
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([*EXABGP, self.path], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, env=environment | MODULES,
                                            cwd=os.path.dirname(self.path),
                                            preexec_fn=box.die_with_parent)
        return self

    def log(self):
        """Returns the output of exabgp and its process."""
        with open(self.log_path, encoding="utf-8", errors="replace") as text:
            return text.read()

    def stop(self):
        """Stops it with SIGTERM, like systemd."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(box.PATIENCE_S)


class Session:
    """Two speakers: one announces the lines of a file, the other runs weir-import."""

    def __init__(self, scene, weir, *options):
        self.feed = scene.path("feed")
        os.mkfifo(self.feed)
        command = " ".join([IMPORT, "-s", weir.socket, "flowspec", *options])
        hears = ("api { processes [ weir ]; neighbor-changes; receive { parsed; update; } }")
        self.hears = Speaker(scene, "hears", "127.0.0.2", LISTENS.format(command=command) +
                             NEIGHBOR.format(peer="127.0.0.1", local="127.0.0.2", more=hears))
        self.speaks = Speaker(scene, "speaks", "127.0.0.1", SPEAKS.format(feed=self.feed) +
                              NEIGHBOR.format(peer="127.0.0.2", local="127.0.0.1",
                                              more="api { processes [ feed ]; }"))
        self.hears.start()
        self.speaks.start()
        self.out = os.open(self.feed, os.O_RDWR)

    def say(self, verb, match, then="rate-limit 125000"):
        """Announces or withdraws a rule."""
        text = f"{verb} flow route {{ match {{ {match} }} then {{ {then}; }} }}\n"
        os.write(self.out, text.encode())

    def close(self):
        """Ends both speakers."""
        self.speaks.stop()
        self.hears.stop()
        os.close(self.out)


@contextlib.contextmanager
def session(scene, weir, *options):
    """Runs two speakers for the time of a context."""
    version = subprocess.run([*EXABGP, "--version"], capture_output=True, text=True, check=False,
                             env=os.environ | MODULES)
    if "ExaBGP : 4.2" not in version.stdout:
        raise box.Skip("no exabgp 4.2: tools/setup test unpacks it, where Debian has it")
    both = Session(scene, weir, *options)
    try:
        yield both
    except Exception:
        print(f"--- exabgp and weir-import:\n{both.hears.log()[-3000:]}"
              f"{both.speaks.log()[-2000:]}---")
        raise
    finally:
        both.close()


def rules(weir):
    """Returns the enforced rules: a dictionary from the speaker's name of a rule to its policy."""
    return {one["note"][0].removeprefix("flow "): one for one in running(weir)["policies"]
            if one["name"].startswith("flowspec-")}


class Count(Receiver):
    """Counts received packets by the last byte of their destination."""

    def note(self, data):
        return data[33] if data[12:14] == b"\x08\x00" and data[30:33] == b"\xc0\0\2" else None


def passes(wire, address, n, size=1000, dport=53):
    """Returns how many of n packets pass, and the seconds that sending them took."""
    receiver = Count()
    began = time.monotonic()
    for _ in range(n // 20):
        wire.send([frame(address, size, dport)] * 20)
    took = time.monotonic() - began
    wire.settle()
    wire.send([frame("192.0.2.250", 100)])  # no rule limits it, so it arrives last
    wait_until(lambda: 250 in receiver.seen, "the last packet")
    receiver.close()
    return receiver.seen.count(int(address.rsplit(".", 1)[1])), took


def flowspec(scene):
    """Rules of a BGP session limit traffic at their rate until they are withdrawn or the session
    ends. Restarts of the limiter do not change this."""
    wire = Wire(scene, [{"name": "own", "limit": "1Gbit/s", "match": {"dst": "10.0.0.0/8"}}],
                workers=[0])
    weir = wire.weir
    wire.watch.close()
    weir.kill()
    weir.arguments = ["--state", scene.path("state")]
    weir.start()
    wire.watch = box.Client(weir.socket)
    change(weir)
    udp = "destination 192.0.2.7/32; protocol udp; destination-port [ =53 >8080&<8088 ];"
    words = "destination-ipv4 192.0.2.7/32 protocol =udp destination-port [ =53 >8080&<8088 ]"
    with contextlib.closing(wire), session(scene, weir) as bgp:
        told = limited(weir, wire, bgp, udp, words)
        refused(weir, bgp)
        survives(weir, bgp, words)
        ends(weir, bgp, killed(weir, bgp))
    expect(bgp.hears.process.returncode == 0, f"exabgp: {bgp.hears.process.returncode}")
    expect(not re.search("Sanitizer|runtime error:", bgp.hears.log()), bgp.hears.log())
    weir.stop()
    return told


def limited(weir, wire, bgp, udp, words):
    """Traffic is limited to the rate: BGP announces bytes a second, and Weir shows bits."""
    expect(passes(wire, "192.0.2.7", 400)[0] == 400, "no rule, no limit")
    bgp.say("announce", udp)
    wait_until(lambda: words in rules(weir), lambda: f"{rules(weir)}")
    rule = rules(weir)[words]
    expect(rule["limit"] == "1Mbit/s", f"125000 bytes/s: {rule}")
    expect(rule["match"] == [{"dst": "192.0.2.7/32", "proto": "udp", "dst-port": 53},
                             {"dst": "192.0.2.7/32", "proto": "udp", "dst-port": "8081-8087"}],
           f"{rule}")
    out, took = passes(wire, "192.0.2.7", 400)
    bytes_out = out * 1000
    expect(30000 <= bytes_out <= 125000 * took + 31250 + 1000,
           f"{bytes_out} bytes of 400000 in {took:.2f} s")
    expect(passes(wire, "192.0.2.7", 100, dport=54)[0] == 100, "another port")
    bgp.say("announce", "destination 192.0.2.8/32;", "discard")
    wait_until(lambda: len(rules(weir)) == 2, "a rule that discards")
    expect(passes(wire, "192.0.2.8", 100, 28)[0] == 0, "all is discarded")
    bgp.say("withdraw", udp)
    wait_until(lambda: words not in rules(weir), "withdrawn")
    expect(passes(wire, "192.0.2.7", 400)[0] == 400, "a rule that is withdrawn limits nobody")
    expect(counted(weir, "own") == 0, "another's policy")
    return f"{bytes_out} of 400000 bytes in {took:.2f} s at 125000 bytes/s"


def refused(weir, bgp):
    """Rules that no policy can express are logged, and no rule matches more than was announced."""
    before = rules(weir)
    bgp.say("announce", "destination 192.0.2.9/32; tcp-flags [ syn ];")
    bgp.say("announce", "destination 192.0.2.10/32;", "redirect 64512:7")
    for why in ("tcp-flags syn, of 127.0.0.1: a match has no tcp-flags",
                'destination-ipv4 192.0.2.10/32, of 127.0.0.1: no policy does "redirect:64512:7"'):
        wait_until(lambda words=why: words in bgp.hears.log(), lambda words=why: words)
    # Overlapping rules are logged, because routers would order them in another way.
    bgp.say("announce", "destination 192.0.2.8/32; protocol udp;")
    wait_until(lambda: "may take the same packets" in bgp.hears.log(), "two for the same packets")
    bgp.say("withdraw", "destination 192.0.2.8/32; protocol udp;")
    wait_until(lambda: rules(weir) == before, "withdrawn")
    # A rule that the limiter rejects does not block others: two policies cannot have the same
    # match.
    bgp.say("announce", "destination 10.0.0.0/8;")
    bgp.say("announce", "destination 192.0.2.11/32;")
    wait_until(lambda: "destination-ipv4 192.0.2.11/32" in rules(weir), "the one beside it")
    wait_until(lambda: "refuses flowspec-10.0.0.0_8" in bgp.hears.log(), "who is refused")
    expect(len(rules(weir)) == len(before) + 1, f"{[*rules(weir)]}")
    for number in (10, 11):
        bgp.say("withdraw", f"destination 192.0.2.{number}/32;")
    wait_until(lambda: rules(weir) == before, "withdrawn")


def survives(weir, bgp, words):
    """After a restart, a limiter has the rules announced meanwhile, and not those withdrawn."""
    weir.kill()
    bgp.say("withdraw", "destination 192.0.2.8/32;", "discard")
    for number in range(20, 120):
        bgp.say("announce", f"destination 192.0.2.{number}/32;")
    weir.start()
    wait_until(lambda: len(rules(weir)) == 100, lambda: f"{[*rules(weir)]}")
    expect("destination-ipv4 192.0.2.8/32" not in rules(weir) and words not in rules(weir), "gone")
    # A manual removal does not last, even after a quiet time.
    time.sleep(1.5)
    expect(bgp.hears.log().count("refuses flowspec-10.0.0.0_8") == 1, "what is refused rests")
    bgp.say("withdraw", "destination 10.0.0.0/8;")
    before = serial(weir)
    edit(weir, "remove", rules(weir)["destination-ipv4 192.0.2.20/32"]["name"])
    wait_until(lambda: serial(weir) >= before + 2 and len(rules(weir)) == 100, "put back")


def killed(weir, bgp):
    """After a kill, exabgp restarts the follower without repeating its rules. They stay until they
    are withdrawn, or until a peer has sent all of its rules."""
    before = len(rules(weir))
    pids = subprocess.run(["pgrep", "-P", str(bgp.hears.process.pid)], capture_output=True,
                          text=True, check=True).stdout.split()
    expect(len(pids) == 1, f"exabgp has {pids}")
    os.kill(int(pids[0]), signal.SIGKILL)
    numbers = iter(range(130, 250))  # the first ones can be lost

    def heard():
        rule = f"192.0.2.{next(numbers)}/32"
        bgp.say("announce", f"destination {rule};")
        with contextlib.suppress(AssertionError):
            return wait_until(lambda: f"destination-ipv4 {rule}" in rules(weir), "it", 1) and rule
        return None

    rule = wait_until(heard, "another follower")
    expect(len(rules(weir)) >= before + 1, f"{[*rules(weir)]}")
    bgp.say("withdraw", "destination 192.0.2.30/32;")
    wait_until(lambda: "destination-ipv4 192.0.2.30/32" not in rules(weir), "withdrawn")
    expect(len(rules(weir)) >= before, f"{[*rules(weir)]}")
    return f"destination-ipv4 {rule}"


def ends(weir, bgp, rule):
    """The rules end with the session, or with the speaker."""
    bgp.speaks.stop()
    wait_until(lambda: rule not in rules(weir), "the session is over")
    bgp.speaks.start()
    bgp.say("announce", "destination 192.0.2.7/32;")
    wait_until(lambda: len(rules(weir)) == 1, "the next session, and all that it has")
    bgp.hears.stop()
    expect(not rules(weir), "the speaker has ended")
    expect([one["name"] for one in running(weir)["policies"]] == ["own"], "nothing is left")


def gobgp(scene):
    """Applies rules from the command line of GoBGP."""
    programs = [shutil.which(name) for name in ("gobgpd", "gobgp")]
    if not all(programs):
        raise box.Skip("no gobgpd: tools/setup test unpacks it, where Debian has it")
    weir = keeping(scene, RINGS | {"policies": [policy("own", "10.0.0.0/8")]}).start()
    change(weir)
    daemon, client = programs
    config = written(scene, "gobgpd.toml", '[global.config]\nas = 64512\nport = -1\n'
                     'router-id = "192.0.2.1"\n')
    rib = [client, "global", "rib"]
    match = ["-a", "ipv4-flowspec", "match", "destination"]
    with contextlib.ExitStack() as running_now:
        def spawn(*words, **more):
            process = subprocess.Popen(words, preexec_fn=box.die_with_parent, **more)
            running_now.callback(process.wait, box.PATIENCE_S)
            running_now.callback(process.terminate)
            return process

        def ask(*words):
            return subprocess.run([*rib, *words], capture_output=True, check=False).returncode == 0

        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        speaker = spawn(daemon, "-f", config, "--api-hosts", "127.0.0.1:50051", **quiet)
        wait_until(lambda: ask("add", *match, "192.0.2.7/32", "then", "rate-limit", "125000"),
                   "gobgpd answers")
        monitor = spawn(client, "monitor", "global", "rib", "-a", "ipv4-flowspec", "-j",
                        "--current", stdout=subprocess.PIPE)
        importer = spawn(IMPORT, "-s", weir.socket, "flowspec", "--family", "ipv4",
                         stdin=monitor.stdout)
        monitor.stdout.close()
        wait_until(lambda: [rule["limit"] for rule in rules(weir).values()] == ["1Mbit/s"],
                   "what was there before")
        expect(ask("add", *match, "192.0.2.8/32", "protocol", "udp", "destination-port", "==53",
                   ">8080&<8088", "then", "rate-limit", "250000"), "a rule")
        wait_until(lambda: len(rules(weir)) == 2, "another rule")
        # The command line later sends rules of both families.
        expect(ask("add", "-a", "ipv6-flowspec", "match", "destination", "2001:db8::/64", "then",
                   "rate-limit", "125000"), "a rule of IPv6")
        expect(ask("del", *match, "192.0.2.7/32", "then", "rate-limit", "125000"), "withdrawn")
        wait_until(lambda: [rule["match"] for rule in rules(weir).values()] == [[
            {"dst": "192.0.2.8/32", "proto": "udp", "dst-port": 53},
            {"dst": "192.0.2.8/32", "proto": "udp", "dst-port": "8081-8087"}]],
                   lambda: f"{rules(weir)}")
        speaker.terminate()
        expect(importer.wait(box.PATIENCE_S) == 0, "the end of standard input")
    expect(not rules(weir), "nothing is left")
    kept(weir)
    weir.stop()


# A rule in the format of GoBGP.
LINE = ('[{"nlri":{"value":[{"type":1,"value":{"prefix":"192.0.2.9/32"}}]},"attrs":['
        '{"type":16,"value":[{"type":128,"subtype":6,"as":0,"rate":RATE}]},'
        '{"type":14,"afi":1,"safi":133}]}]')


def kept(weir):
    """With --keep, rules outlive the speaker; the rules of the next one replace them."""
    for rate, limit, options in (("125000", ["1Mbit/s"], ["--keep"]),
                                 ("250000", ["2Mbit/s"], ["--keep"]), (None, [], [])):
        text = LINE.replace("RATE", rate) + "\n" if rate else ""
        done = subprocess.run([IMPORT, "-s", weir.socket, "flowspec", *options],
                              input=text, text=True, check=False, timeout=box.PATIENCE_S)
        expect(done.returncode == 0, f"{options}: {done.returncode}")
        found = [rule["limit"] for rule in rules(weir).values()]
        expect(found == limit, f"{rate} {options}: {found}")


def beside(importer, hung, other):
    """Adds and withdraws a rule; returns the seconds until the answering limiter has it."""
    importer.stdin.write(LINE.replace("RATE", "125000") + "\n")
    importer.stdin.flush()
    began = time.monotonic()
    wait_until(lambda: rules(other), "the rule at the one that answers")
    took = time.monotonic() - began
    hung.process.send_signal(signal.SIGCONT)
    wait_until(lambda: rules(hung), "the rule at the one that was hung")
    hung.process.send_signal(signal.SIGSTOP)
    importer.stdin.close()
    wait_until(lambda: not rules(other), "the session is over at the one that answers")
    hung.process.send_signal(signal.SIGCONT)
    expect(importer.wait(box.PATIENCE_S) == 0, "nothing is left behind")
    return took


def one_hangs(scene):
    """A hung limiter does not delay rules for another one, and gets them when it continues."""
    boxes = [keeping(scene, box.wire(f"net_ring{2 * i}", f"net_ring{2 * i + 1}", policies=[
        policy("own", "10.0.0.0/8", "7Mbit/s")]), f"box{i + 1}").start() for i in range(2)]
    for weir in boxes:
        change(weir)
    hung, other = boxes
    words = [word for weir in boxes for word in ("-s", weir.socket)]
    hung.process.send_signal(signal.SIGSTOP)
    with subprocess.Popen([IMPORT, *words, "--timeout", str(2 * box.PATIENCE_S), "flowspec"],
                          stdin=subprocess.PIPE, text=True,
                          preexec_fn=box.die_with_parent) as importer:
        try:
            took = beside(importer, hung, other)
        finally:
            importer.kill()
    expect(not rules(hung), "nor at the one that was hung")
    for weir in boxes:
        weir.stop()
    return f"{took:.2f} s beside one that hangs"


def told(peer, message):
    """Returns a line of exabgp with a message of a peer."""
    return json.dumps({"type": "update", "neighbor": {
        "address": {"local": "127.0.0.9", "peer": peer}, "message": message}}) + "\n"


def announced(peer, address, verb="announce"):
    """Returns a line of exabgp with a rule for an address."""
    rule = {"destination-ipv4": [address + "/32"], "string": "flow " + address}
    return told(peer, {"update": {
        "attribute": {"extended-community": [{"value": 1, "string": "rate-limit:125000"}]},
        verb: {"ipv4 flow": {"no-nexthop": [rule]} if verb == "announce" else [rule]}}})


@contextlib.contextmanager
def importing(weir, *options):
    """Runs a follower, yields it and a function that sends it lines, and kills it at the end."""
    with subprocess.Popen([IMPORT, "-s", weir.socket, "flowspec", *options], text=True,
                          stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=box.die_with_parent) as importer:
        def say(*lines):
            importer.stdin.write("".join(lines))
            importer.stdin.flush()

        try:
            yield importer, say
        finally:
            importer.kill()


def addresses(weir):
    """Returns the last numbers of the addresses of the enforced rules."""
    return sorted(int(one["match"]["dst"].removesuffix("/32").rsplit(".", 1)[1])
                  for one in running(weir)["policies"] if one["name"].startswith("flowspec-"))


def two_peers(scene):
    """A killed process leaves the rules of two peers. Each peer removes its own old rules, but not
    the rules of the other peer, which might never send them to the next process."""
    weir = keeping(scene, RINGS | {"policies": [policy("own", "10.0.0.0/8")]}).start()
    change(weir)
    first, second = "127.0.0.1", "127.0.0.2"
    end = {"eor": {"afi": "ipv4", "safi": "flow"}}
    with importing(weir) as (_, say):
        say(*[announced(peer, f"192.0.2.{n}") for peer, n in (
            (first, 1), (first, 2), (first, 3), (second, 3), (second, 4), (second, 5))])
        wait_until(lambda: addresses(weir) == [1, 2, 3, 4, 5], lambda: f"{addresses(weir)}")
        note = rules(weir)["192.0.2.3"]["note"]
        expect(note == ["flow 192.0.2.3", "of 127.0.0.1", "of 127.0.0.2"], f"{note}")
    with importing(weir) as (importer, say):
        say(announced(first, "192.0.2.1"), told(first, end))
        wait_until(lambda: 2 not in addresses(weir), "what the first one has no longer")
        time.sleep(3)
        expect(addresses(weir) == [1, 3, 4, 5], f"another's: {addresses(weir)}")
        say(announced(second, "192.0.2.4", "withdraw"))
        wait_until(lambda: addresses(weir) == [1, 3, 5], lambda: f"{addresses(weir)}")
        ctl(weir, "policy", "remove", rules(weir)["192.0.2.5"]["name"])
        time.sleep(2)
        expect(addresses(weir) == [1, 3], "what lingers is taken away by hand")
        say(told(second, end))
        wait_until(lambda: addresses(weir) == [1], lambda: f"{addresses(weir)}")
        importer.stdin.close()
        expect(importer.wait(box.PATIENCE_S) == 0, "the end")
        said = importer.stderr.read()
        expect(len(re.findall(r"rules of before: [35]; each stays until", said)) == 1, said)
    expect(not addresses(weir), "nothing is left")
    weir.stop()


def no_room(scene):
    """With more rules than a limiter has room for, the rest waits for room without constant
    retries."""
    weir = keeping(scene, RINGS | {"policies": [policy("own", "10.0.0.0/8")]}).start()
    change(weir)
    peer = "127.0.0.1"
    named = [f"192.{i // 250}.2.{i % 250}" for i in range(4100)]
    with importing(weir) as (importer, say):
        say(*[announced(peer, address) for address in named])
        wait_until(lambda: len(rules(weir)) == 4095, "as many as there is room for")
        time.sleep(1)
        before = serial(weir)
        time.sleep(6)
        asked = serial(weir) - before
        expect(0 < asked <= 3, f"asked {asked} times in 6 s")
        say(*[announced(peer, address, "withdraw") for address in named[:10]])
        wait_until(lambda: set(rules(weir)) == set(named[10:]), "all that there is room for now")
        importer.stdin.close()
        expect(importer.wait(box.PATIENCE_S) == 0, "the end")
        said = importer.stderr.read()
        for words in ("5 of 4100 rules are not in force", "room for 4096", "all rules are"):
            expect(said.count(words) == 1, said)
    expect(not rules(weir), "nothing is left")
    weir.stop()
    return f"asked {asked} times in 6 s"


SCENARIOS = [csv, cut, printed, flowspec, gobgp, two_peers, no_room, one_hangs]

if __name__ == "__main__":
    # `weir --check` validates lists that are printed.
    os.environ["PATH"] = os.pathsep.join((os.path.dirname(box.WEIR), os.environ["PATH"]))
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    box.main(SCENARIOS, setup=box.enter_netns)

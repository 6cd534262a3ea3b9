#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Compares weir --doctor with a start: a failure in the report makes the start fail too, and a fit
machine starts.

Runs in a network namespace of its own. Usage: doctor.py [SCENARIO...].
"""

import copy
import glob
import json
import os
import re
import socket
import subprocess

import box
from box import expect, ip

POLICY = {"policies": [{"name": "all", "match": {"direction": "a-to-b"}, "limit": "10Mbit/s"}]}
RINGS = box.wire("net_ring0", "net_ring1") | POLICY
PREPAID = {"policies": [{"name": "p", "allocator": "quota", "total": "1GB"}]}
ADDRESS = "127.0.0.1:17946"
ELSEWHERE = "198.51.100.7:17946"
KEY = "5a" * 32 + "\n"


def group(listen=ADDRESS, **more):
    """A roster of two."""
    return {"gossip": {"listen": listen, "roster": [
        {"name": "box1", "address": listen}, {"name": "other", "address": "127.0.0.1:17947"}]}
        | more}


def ask(weir):
    """Returns the exit status, and (verdict, check, text) for each line of the report."""
    status, out, err = weir.run("--doctor", weir.config_path)
    expect(all(": warning: " in line for line in err.splitlines()), f"on standard error: {err}")
    rows = re.findall(r"^(ok|warn|FAIL|unseen) +(\S+) +(.*(?:\n {12}remedy: .*)?)$", out, re.M)
    expect(rows and re.search(r": (not )?fit: \d+ failures?, ", out), out)
    return status, rows


def plain(text):
    """Hides free memory and disk space, which change between two reports."""
    return re.sub(r"\d+ MB", "N MB", text)


def same_as_json(weir, rows):
    """JSON has the same findings, the checks that do not apply, and the numbers last."""
    done, out, err = weir.run("--doctor", "--json", weir.config_path)
    said = [json.loads(line) for line in out.splitlines()]
    expect(not err and all(one["file"] == weir.config_path for one in said), err)
    *findings, last = [one for one in said if "severity" not in one]
    expect(all(one["found"] for one in findings), f"no text: {findings}")
    findings = [one for one in findings if one["verdict"] != "n/a"]
    expect([(one["verdict"], one["check"]) for one in findings] == [row[:2] for row in rows],
           f"{findings} {rows}")
    for one, row in zip(findings, rows):
        words = plain(row[2])
        expect(all(plain(one.get(key, "")) in words
                   for key in ("path", "found", "expected", "remedy")), f"{one} {row}")
        expect(words.startswith(plain(one.get("path", one["found"]))), f"{one} {row}")
    fails = [one for one in findings if one["verdict"] == "FAIL"]
    expect(last["fail"] == len(fails) and last["fit"] == (not fails) and done == bool(fails), last)


def cable(name):
    """Creates a pair of interfaces, both up; `name` is the end for the port."""
    ip(f"link add dev {name} type veth peer name t{name}")
    for end in (name, "t" + name):
        with open(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6", "w", encoding="ascii") as off:
            off.write("1")
        ip(f"link set dev {end} up")


def expect_ill(scene, config, check, *words):
    """Asserts a failure of that check with these words, and that the start fails too."""
    weir = scene.box(config, "box1")
    status, rows = ask(weir)
    found = [words_ for verdict, check_, words_ in rows if (verdict, check_) == ("FAIL", check)]
    expect(status == 1 and found, f"{check}: exit status {status}: {rows}")
    if check == "secrets":
        same_as_json(weir, rows)
    for word in words:
        expect(any(word in said for said in found), f"{check}: no {word!r}: {found}")
    status, _, err = weir.run("-c", weir.config_path)
    # Weir reads the key before it starts anything.
    expect(status in (1, 75), f"{check}: the start ends with {status}: {err}")
    return len([row for row in rows if row[0] == "FAIL"])


def nothing_is_wrong(scene):
    """A fit machine starts, and the doctor changes nothing on it."""
    with open(scene.path("key"), "w", encoding="ascii") as key:
        key.write(KEY)
    os.chmod(scene.path("key"), 0o600)
    cable("a")
    cable("b")
    config = box.wire("net_af_packet0,iface=a", "net_af_packet1,iface=b") | group(
        key_file=scene.path("key")) | PREPAID | {"ledger": {"store": scene.path("store")}}
    weir = scene.box(config, "box1")
    status, _, err = weir.run("--new-ledger", weir.config_path)
    expect(status == 0, err)
    links, files = ip("-d link"), sorted(os.listdir(scene.directory))
    with open(scene.path("store/records"), "rb") as records:
        before = records.read()
    status, rows = ask(weir)
    # The clock check depends on the test machine.
    said = [row for row in rows if row[0] != "ok" and row[1] != "clock"]
    expect(status == 0 and not said, f"exit status {status}: {said}")
    shown = {row[1]: row[2] for row in rows if row[0] == "ok"}
    for check, word in (("interface", "ports.a a: up"), ("mtu", "1500"), ("listen", ADDRESS),
                        ("secrets", scene.path("key")), ("ledger", scene.path("store")),
                        ("rights", "CAP_NET_RAW"), ("socket", weir.socket)):
        expect(word in shown.get(check, ""), f"{check} does not name {word}: {shown}")
    expect(not any(", or " in words for words in shown.values()), f"either/or: {shown}")
    expect(not {"pci", "bypass", "groups", "cpu-share"} & set(shown), f"not applicable: {shown}")
    expect(ip("-d link") == links, "interfaces are not as they were")
    expect(sorted(os.listdir(scene.directory)) == files, "files are not as they were")
    with open(scene.path("store/records"), "rb") as records:
        expect(records.read() == before, "the store is not as it was")
    same_as_json(weir, rows)
    weir.start()
    status, rows = ask(weir)
    said = {row[1] for row in rows if row[0] == "FAIL"}
    expect(status == 1 and {"socket", "listen", "ledger"} <= said, f"after a start: {rows}")
    weir.stop()
    # EAL's lock depends on the limiter's name, not on its socket.
    first = scene.box(RINGS | {"limiter": "named", "eal": ["--no-huge", "-m", "640"]}, "first")
    second = scene.box(first.config | {"control": {"socket": scene.path("2.sock")}}, "second")
    first.start()
    status, rows = ask(second)
    said = [row[2] for row in rows if row[:2] == ("FAIL", "eal")]
    expect(status == 1 and said and "a weir named named is" in said[0], f"{status}: {rows}")
    status, _, err = second.run("-c", second.config_path)
    expect(status == 1 and "does another weir named named run" in err, f"{status}: {err}")
    first.stop()


def machine(scene):
    """CPUs, interfaces and memory that the machine lacks."""
    cable("once")
    cable("small")
    twice = box.wire("net_af_packet0,iface=once", "net_af_packet1,iface=once") | POLICY
    missing = box.wire("net_ring0", "net_af_packet0,iface=nosuch") | POLICY
    expect_ill(scene, RINGS | {"workers": [99]}, "cpus", "workers[0]: ", "no CPU 99", "lscpu")
    expect_ill(scene, RINGS | {"control": {"cpu": 98}}, "cpus", "control.cpu: ", "no CPU 98")
    expect_ill(scene, missing, "interface", "ports.b: nosuch: ", "no such interface")
    expect_ill(scene, twice, "twins", "ports.b: ", "ports.a")
    expect_ill(scene, box.wire("net_ring0", "net_ring1", 1500) | POLICY | {
        "eal": ["--no-huge", "-m", "16", "--no-shconf"]}, "memory", "16 MB", "--no-huge")
    expect_ill(scene, box.wire("net_ring0", "0000:ff:1f.7") | POLICY, "pci",
               "ports.b: ", "no PCI device 0000:ff:1f.7")


def packets(scene):
    """Offloads that alter packets, and an MTU that an interface cannot have."""
    cable("o")
    subprocess.run(["ethtool", "-K", "o", "gro", "on"], capture_output=True, check=False)
    config = box.wire("net_ring0", "net_af_packet0,iface=o") | POLICY
    config["ports"]["b"]["offloads"] = "refuse"
    expect_ill(scene, config, "offloads", "ports.b: ", "rx-gro", "ethtool -K o gro off")
    config["ports"]["b"]["offloads"] = "ignore"
    status, rows = ask(scene.box(config, "box1"))
    expect(status == 0 and any(row[:2] == ("warn", "offloads") for row in rows), f"{rows}")
    config["ports"]["b"]["offloads"] = "fix"
    status, rows = ask(scene.box(config, "box1"))
    expect(any(row[:2] == ("ok", "offloads") and "rx-gro of o on" in row[2] for row in rows),
           f"an offload that the start turns off: {rows}")
    over = box.wire("net_ring0", "net_af_packet0,iface=o", 9000) | POLICY
    status, rows = ask(scene.box(over, "box1"))
    said = [row[2] for row in rows if row[:2] == ("warn", "mtu")]
    expect(status == 0 and "o has an MTU of 1500" in said[0], f"{status}: {rows}")
    expect(" mtu 1500 " in ip("link show dev o"), "it has raised the MTU")
    over["ports"]["b"]["device"] += ",framesz=2048,blocksz=4096"
    expect_ill(scene, over, "mtu", "ports.b: ", "framesz")


def eal(scene):
    """Arguments that EAL rejects, arguments in conflict, and devices unknown to DPDK."""
    for bad in ("--no-such-option", "--iova-mode=xx"):
        config = RINGS | {"eal": ["--no-huge", bad, "-m", "640"]}
        expect_ill(scene, config, "eal", f'eal[1]: EAL rejects "{bad}"', f'remove "{bad}" from')
        _, rows = ask(scene.box(config, "box1"))
        expect(not re.search("EAL: |FATAL", str(rows)), f"more than EAL's reason: {rows}")
    expect_ill(scene, RINGS | {"eal": ["--no-huge", "--in-memory", "-m", "640"]}, "eal",
               "--legacy-mem", 'remedy: remove "', '"--in-memory"')
    expect_ill(scene, box.wire("net_ring0", "net_nosuch0") | POLICY, "eal",
               "ports.b: device net_nosuch0: DPDK has no driver")


def addresses(scene):
    """An address of no interface, and a port that another process uses."""
    insecure = {"insecure": True}
    status, rows = ask(scene.box(RINGS | group(ELSEWHERE, **insecure), "box1"))
    said = [row[2] for row in rows if row[:2] == ("warn", "listen")]
    expect(status == 0 and f"{ELSEWHERE}: no interface" in said[0]
           and "ip address add 198.51.100.7 " in said[0], f"{status}: {rows}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 17946))
        expect_ill(scene, RINGS | group(**insecure), "listen", "another process",
                   "sport = :17946")


def secrets(scene):
    """Key files that other users can read, key files without a key, and missing ones."""
    path = scene.path("key")
    config = RINGS | group(key_file=path)
    weir = scene.box(config, "box1")
    for text, mode, words in ((None, 0, "weir --new-key"), (KEY, 0o644, "chmod 600"),
                              ("no key", 0o600, "64 hexadecimal digits")):
        if text is not None:
            with open(path, "w", encoding="ascii") as out:
                out.write(text)
            os.chmod(path, mode)
        expect_ill(scene, config, "secrets", "gossip.key_file", path, words)
    expect_ill(scene, RINGS | {"control": {"socket": weir.socket, "group": "no-such-group"}},
               "groups", "control.group: ", "groupadd")


def roster(scene):
    """A store whose records are of another roster."""
    policy = POLICY["policies"][0] | {"guarantee": "hard"}
    config = RINGS | group(insecure=True) | {"policies": [policy],
                                             "ledger": {"store": scene.path("store")}}
    weir = scene.box(config, "box1")
    status, _, err = weir.run("--new-ledger", box.LEDGER, weir.config_path)
    expect(status == 0, err)
    weir.start()
    weir.stop()
    status, rows = ask(weir)
    expect(status == 0, f"its own roster: {rows}")
    more = {"name": "third", "address": "127.0.0.1:17948"}
    weir.config["gossip"]["roster"].append(more)
    expect_ill(scene, weir.config, "ledger", "its records are of another roster")
    # Other tests can have a copy at the same time.
    box.wait_until(lambda: not glob.glob("/tmp/weir-roster-*"), "the copy of the store is left")


def places(scene):
    """The control socket's directory and name, and the ledger's store."""
    no_way = scene.path("no/such/weir.sock")
    expect_ill(scene, RINGS | {"control": {"socket": no_way}}, "socket", no_way, "mkdir -p")
    with open(scene.path("file"), "w", encoding="ascii"):
        pass
    expect_ill(scene, RINGS | {"control": {"socket": scene.path("file")}}, "socket",
               "not a socket")
    away = scene.path("no/such/store")
    prepaid = RINGS | copy.deepcopy(PREPAID)
    expect_ill(scene, prepaid | {"ledger": {"store": away}}, "ledger", "ledger.store: ",
               "cannot be created", "mkdir -p")
    owner = scene.box(prepaid | {"ledger": {"store": scene.path("store")}}, "owner")
    status, _, err = owner.run("--new-ledger", owner.config_path)
    expect(status == 0, err)
    owner.start()
    expect_ill(scene, prepaid | {"ledger": {"store": scene.path("store")}}, "ledger",
               "another process")
    owner.stop()
    os.truncate(scene.path("store/records"), 5000)
    expect_ill(scene, prepaid | {"ledger": {"store": scene.path("store")}}, "ledger", "damaged")
    lost = scene.box(prepaid | {"ledger": {"store": scene.path("never")}}, "box1")
    status, rows = ask(lost)
    warned = [words for verdict, check, words in rows if (verdict, check) == ("warn", "ledger")]
    expect(status == 0 and warned and "weir --new-ledger" in warned[0], f"{status} {rows}")
    expect(not os.path.exists(scene.path("never")), "the doctor has created the store")


def refused(scene):
    """JSON reports a rejected configuration too."""
    weir = scene.box(RINGS | {"idle": "nap"}, "box1")
    status, out, err = weir.run("--doctor", "--json", weir.config_path)
    said = [json.loads(line) for line in out.splitlines()]
    expect(status == 1 and not err and [one["severity"] for one in said] == ["error"] and
           said[0]["path"] == "idle", f"{status} {out} {err}")


def without_rights(scene):
    """Another user gets the list of missing rights and unseen results."""
    cable("c")
    weir = scene.box(box.wire("net_ring0", "net_af_packet0,iface=c") | POLICY, "box1")
    os.chmod(scene.directory, 0o755)
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                           "--inh-caps=-all", box.WEIR, "--doctor", weir.config_path],
                          capture_output=True, text=True, check=False, timeout=box.PATIENCE_S)
    expect(done.returncode == 1, f"{done.returncode}: {done.stderr}")
    for word in ("user 65534 lacks CAP_NET_RAW", "CAP_NET_ADMIN", "socket: ", "Permission denied"):
        expect(word in done.stdout, f"no {word!r}: {done.stdout}")


if __name__ == "__main__":
    box.main([nothing_is_wrong, machine, packets, eal, addresses, secrets, roster, places, refused,
              without_rights],
             setup=box.enter_netns)

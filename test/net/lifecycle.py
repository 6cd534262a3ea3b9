#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Starts, stops, rejected starts and restarts of a weir process, as an operator sees them.

Runs in its own network namespace; veth pairs are the cables:

    test ta ──veth── a │weir│ b ──veth── tb test
"""

import contextlib
import ctypes
import json
import os
import random
import select
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from unittest import mock

import box
import threads
from box import Skip, expect, ip, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
RINGS = box.wire("net_ring0", "net_ring1")
NULLS = box.wire("net_null0,size=64", "net_null1,size=64")
POLICY = {"policies": [{"name": "all", "match": {"direction": "a-to-b"}, "limit": "10Mbit/s",
                        "burst": "75kB"}]}
KEY = "5a" * 32 + "\n"
SO_RCVBUFFORCE = 33
REFUSED = 78  # exit status after which a service manager must not retry
NOT_HERE = 75  # exit status after which it can retry, because the machine lacks something
STARTS = 4  # starts; in each, foreign frames are received by chance
PPOLL = {"x86_64": 271, "aarch64": 73}  # number of the system call
CROSSINGS = 18  # frames that box_between_cables() sends


def group(scene, **more):
    """Returns a configuration with a roster of two on loopback, of which only this one runs."""
    roster = [{"name": "box", "address": "127.0.0.1:17946"},
              {"name": "other", "address": "127.0.0.1:17947"}]
    return RINGS | POLICY | {"gossip": {"listen": "127.0.0.1:17946", "roster": roster} | more}


def write_key(scene, text=KEY, mode=0o600):
    """Writes a key file; returns its path."""
    path = scene.path("key")
    with open(path, "w", encoding="ascii") as out:
        out.write(text)
    os.chmod(path, mode)
    return path


def usage(scene):
    """--help, --version and --check succeed; invalid options end with exit status 2."""
    weir = scene.box(RINGS | POLICY)
    status, out, _ = weir.run("--help")
    expect(status == 0 and "--check" in out, f"--help: {status} {out}")
    status, out, _ = weir.run("--version")
    expect(status == 0 and out.startswith("weir "), f"--version: {status} {out}")
    status, out, _ = weir.run("--check", weir.config_path)
    expect(status == 0 and ": good: limiter " in out and out.count("\n") == 1,
           f"--check: {status} {out}")
    status, out, _ = weir.run("--describe", weir.config_path)
    expect(status == 0 and "policy all" in out and "EAL:" in out, f"--describe: {status} {out}")
    for words in ((), ("-x",), ("-c",), ("--version", "--help"), ("--help", "x")):
        status, _, err = weir.run(*words)
        expect(status == 2 and "Usage" in err, f"{words}: {status} {err}")
    status, out, _ = weir.run("--new-key")
    expect(status == 0 and len(out) == 65 and int(out, 16) >= 0, f"--new-key: {status} {out}")


def new_ledger(scene):
    """--new-ledger creates a store and its last directory, and never replaces a ledger."""
    store = scene.path("state/edge")
    weir = scene.box(RINGS | POLICY | {"ledger": {"store": store}})
    status, out, err = weir.run("--new-ledger", weir.config_path)
    expect(status == 0 and store in out and "never run" in out, f"{status} {out} {err}")
    expect(re.search(r" [0-9a-f]{32}:", out), f"no identity: {out}")
    made = os.path.join(store, "records")
    expect(os.stat(store).st_mode & 0o777 == 0o700, oct(os.stat(store).st_mode))
    with open(made, "rb") as file:
        before = file.read()
    status, out, err = weir.run("--new-ledger", weir.config_path)
    expect(status == 1 and "already" in err and not out, f"{status} {out} {err}")
    with open(made, "rb") as file:
        expect(file.read() == before, "another store")
    for words in ("11", "g" * 32, "0" * 32):
        status, out, err = weir.run("--new-ledger", words, weir.config_path)
        expect(status == 1 and words in err and "32 hexadecimal" in err, f"{status} {out} {err}")
    given = scene.box(RINGS | POLICY | {"ledger": {"store": scene.path("state/given")}})
    status, out, err = given.run("--new-ledger", box.LEDGER, given.config_path)
    expect(status == 0 and box.LEDGER in out, f"{status} {out} {err}")
    weir = scene.box(RINGS | POLICY | {"ledger": {"store": scene.path("no/such/edge")}})
    status, out, err = weir.run("--new-ledger", weir.config_path)
    expect(status == 1 and "No such file" in err and not os.path.exists(scene.path("no")), err)
    blocked = scene.box(RINGS | {"policies": [{"name": "p", "allocator": "quota", "total": "1GB"}],
                                 "ledger": {"store": os.path.join(made, "edge")}})
    for words in (("--new-ledger",), ("-c",)):
        status, _, err = blocked.run(*words, blocked.config_path)
        expect(status == 1 and "Not a directory" in err and "correct the path" in err, err)


def refused_configuration(scene):
    """All errors are reported with their place, and nothing is started."""
    weir = scene.box(RINGS | {"policies": [{"name": "a", "limit": "10Mbit"},
                                           {"name": "b", "limit": "1Mbit/s", "brust": "1kB"}]})
    for words, wanted in (("--check", 1), ("-c", REFUSED)):
        status, _, err = weir.run(words, weir.config_path)
        expect(status == wanted, f"{words}: {status}")
        expect('policies[0] "a".limit: "10Mbit": expected' in err, err)
        expect('policies[1] "b".brust: unknown key: did you mean "burst"?' in err, err)
        expect("EAL" not in err, err)


def missing_device(scene):
    """EAL continues without a device; weir stops and names the device."""
    for device in ("net_af_packet0,iface=nosuch", "0000:ff:1f.7"):
        weir = scene.box(box.wire("net_ring0", device) | POLICY)
        status, _, err = weir.run("-c", weir.config_path)
        expect(status == 1, f"exit status {status}")
        expect(f"ports.b: device {device} did not come up" in err, err)
        expect(not os.path.exists(weir.socket), "a socket is there")


def nothing_to_forward(scene):
    """Without ports or wires, weir warns, runs and answers."""
    for name, less in (("ports", {"ports": {}, "wires": []}), ("wires", {"wires": []})):
        weir = scene.box(RINGS | POLICY | less, name)
        status, _, err = weir.run("--check", weir.config_path)
        expect(status == 0 and "no packet is forwarded without a wire" in err, f"{status}: {err}")
        weir.start()
        expect(weir.get("/weir/policies")["total"] == 1, f"without {name} it does not answer")
        weir.stop()


def missing_cpu(scene):
    """A missing CPU is named, without EAL's long help about its arguments."""
    for more, want in (({"workers": [0, 1023]}, "workers[1]: this machine has no CPU 1023"),
                       ({"control": {"cpu": 1023}}, "control.cpu: this machine has no CPU 1023")):
        weir = scene.box(RINGS | POLICY | more)
        status, _, err = weir.run("-c", weir.config_path)
        expect(status == 1 and want in err and "EAL" not in err, f"{status}: {err}")


def signals_at_any_moment(scene):
    """Signals end the process in order, also during the start."""
    for number in (signal.SIGTERM, signal.SIGINT):
        for delay in (0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.2):
            weir = scene.box(RINGS | POLICY, f"box{number}-{delay}")
            weir.spawn()
            wait_until(lambda w=weir: "EAL: Detected" in w.log(), "EAL to start")
            time.sleep(delay)
            weir.stop(number)
    weir = scene.box(RINGS | POLICY, "hangup").start()
    weir.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "0 changed, 1 unchanged" in weir.log(), "the file to be read again")
    expect(weir.get("/weir/policies")["total"] == 1, "it does not answer after a hang-up")
    weir.stop()


def crash_and_restart(scene):
    """A socket left by a crash is replaced; one of a running process is not."""
    weir = scene.box(RINGS | POLICY).start()
    second = scene.box(RINGS | POLICY, "second")
    second.config["control"]["socket"] = weir.socket
    second.write()
    status, _, err = second.run("-c", second.config_path)
    expect(status == 1 and "control.socket" in err, f"second instance: {status} {err}")
    expect(weir.get("/weir/policies")["total"] == 1, "the first does not answer any more")
    namesake = RINGS | POLICY | {"limiter": "namesake", "eal": ["--no-huge", "-m", "640"]}
    boxes = [scene.box(namesake, name) for name in ("third", "fourth")]
    boxes[0].start()
    status, _, err = boxes[1].run("-c", boxes[1].config_path)
    expect(status == 1 and "another weir named namesake" in err, f"namesake: {status} {err}")
    boxes[0].stop()
    weir.kill()
    expect(os.path.exists(weir.socket), "a killed process removed its socket?")
    weir.start()
    expect(oct(os.stat(weir.socket).st_mode)[-3:] == "660", "mode of the socket")
    weir.stop()


def errors_of_a_start(scene):
    """A file or device that is missing or unusable is reported with line, place, problem and
    remedy. The next start can find it."""
    path = scene.path("secret")
    keyed = group(scene, key_file=path)
    drawing = RINGS | {
        "ledger": {"etcd": {"endpoints": ["http://127.0.0.1:1"], "user": "edge",
                            "password_file": path}},
        "policies": [{"name": "paid", "allocator": "quota", "total": "1GB"}]}
    readers = RINGS | POLICY | {"control": {"group": "nobody-has-this"}}
    operators = RINGS | POLICY | {"control": {"operators": "nobody-has-this"}}
    missing = "No such file or directory"
    wants = (f"{path}: No such file or directory: expected a file of one key: copy it from another "
             f"limiter of the group; only for a new group: weir --new-key {path}")
    password = "ledger.etcd.password_file"
    cases = (
        (keyed, None, "gossip.key_file", wants),
        (keyed, (KEY, 0o640), "gossip.key_file",
         f"{path}: others may read it: expected mode 0600, or 0400: chmod 600 {path}"),
        (keyed, ("none\n", 0o600), "gossip.key_file",
         f"{path}: no key in it: expected 64 hexadecimal digits"),
        (drawing, None, password, f"{path}: {missing}: install -m 600 /dev/stdin {path}"),
        (drawing, ("word\n", 0o604), password,
         f"{path}: others may read it; expected mode 0600: chmod 600 {path}"),
        (drawing, ("", 0o600), password, f"{path}: expected a password of 1 to 255 bytes"),
        (readers, None, "control.group",
         '"nobody-has-this": expected a group of this machine: groupadd nobody-has-this'),
        (operators, None, "control.operators",
         '"nobody-has-this": expected a group of this machine: groupadd nobody-has-this'),
    )
    for config, secret, place, words in cases:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        weir = scene.box(config, "box")
        if secret:
            os.rename(write_key(scene, *secret), path)
        value = path if place.endswith("file") else "nobody-has-this"
        with open(weir.config_path, encoding="utf-8") as file:
            line = 1 + [value in text for text in file].index(True)
        for state in ((), ("--state", scene.path("state"))):
            status, _, err = weir.run("-c", weir.config_path, *state)
            expect(status == NOT_HERE and "EAL" not in err and
                   f"{weir.config_path}:{line}: {place}: {words}" in err,
                   f"{place}: {status}: {err}")


def key_files(scene):
    """A group of two requires a key file that only its owner can read, unless set otherwise."""
    cases = [({}, "gossip.key_file"),
             ({"key_file": write_key(scene, mode=0o640)}, "others may read it"),
             ({"key_file": write_key(scene, "5a" * 31 + "\n")}, "64 hexadecimal"),
             ({"key_file": write_key(scene, "zz" * 32)}, "64 hexadecimal")]
    for more, want in cases:
        if "key_file" in more:
            text, mode = {"others": (KEY, 0o640)}.get(want.split()[0], ("zz" * 32, 0o600))
            write_key(scene, text, mode)
        weir = scene.box(group(scene, **more), "box")
        status, _, err = weir.run("--check", weir.config_path)
        expect(status == 1 and want in err, f"{more}: {status} {err}")
    # A key file that is missing here can exist where the limiter will run.
    weir = scene.box(group(scene, key_file=scene.path("nowhere")), "box")
    for arguments, fails, want in ((("--check",), 0, "not on this machine"),
                                   (("--strict", "--check"), 1, "not on this machine"),
                                   (("-c",), NOT_HERE, "No such file")):
        status, _, err = weir.run(*arguments, weir.config_path)
        expect(status == fails and want in err, f"{arguments}: {status} {err}")
    errors_of_a_start(scene)
    write_key(scene)
    for more in ({"key_file": scene.path("key")}, {"insecure": True}):
        weir = scene.box(group(scene, **more), "box").start()
        peers = weir.get("/weir/peers")
        expect(peers["sealed"] == ("key_file" in more) and peers["alive"] == 0, str(peers))
        policy = weir.get("/weir/policy,all")
        expect(policy["local_limit_bps"] == 5000000, f"alone in a group of two: {policy}")
        weir.stop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 17946))
        status, _, err = weir.run("-c", weir.config_path)
    expect(status == 1 and "cannot bind 127.0.0.1:17946: Address already in use" in err, err)


def stock_client(scene):
    """DPDK's telemetry client works unchanged."""
    if not shutil.which("dpdk-telemetry.py"):
        raise Skip("no dpdk-telemetry.py")
    weir = scene.box(RINGS | POLICY).start()
    done = subprocess.run(["/usr/bin/python3", "-B", os.path.join(HERE, "stock_client.py"),
                           weir.socket], capture_output=True, text=True, check=False, timeout=60)
    expect(done.returncode == 0, done.stdout + done.stderr)
    weir.stop()


def many_clients(scene):
    """Twenty clients send valid and invalid requests under load; each gets its own replies."""
    weir = scene.box(NULLS | POLICY).start()
    questions = ["/weir/policy,all", "/weir/nothing", "/ethdev/stats,0", "/weir/drops",
                 "/ethdev/stats,99", "/weir/policies,x", "/eal/heap_info,-1", "/weir/workers"]
    wrong = []

    def ask(k):
        client = box.Client(weir.socket)
        for n in range(50):
            question = questions[(k + n) % len(questions)]
            answer = client.get(question)
            bad = any(word in question for word in ("nothing", ",99", ",x", "eal"))
            if (answer is None) != bad:
                wrong.append((question, answer))
        client.close()

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(not wrong, str(wrong[:3]))
    expect(weir.total("rx_packets") > 0, "no packets flowed")
    weir.stop()
    return "1000 answers"


def raw(interface):
    """Returns a packet socket that receives none of the kernel's own packets."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((interface, 0))
    # Buffers all packets of a test, because the reader can be without a CPU for a while.
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
    s.settimeout(5)
    return s


def cable(inside, outside, mtu=1500):
    """Creates a veth pair that is up and sends nothing by itself."""
    ip(f"link add dev {inside} type veth peer name {outside}")
    for name in (inside, outside):
        with open(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6", "w", encoding="ascii") as out:
            out.write("1")
        ip(f"link set dev {name} mtu {mtu} up")


def crossing(frame, source, target):
    """Sends a frame; returns the frame that arrives on the other side of the limiter."""
    source.send(frame)
    while True:
        got = target.recv(65536)
        if got[:12] == frame[:12]:
            return got


@contextlib.contextmanager
def box_between_cables(scene, driver, mtu, distribute=False, **more):
    """Frames of several kinds cross a limiter on real interfaces in both directions."""
    config = box.wire(f"{driver}0,iface=a", f"{driver}1,iface=b", mtu, **more)
    config["wires"][0]["distribute"] = distribute
    try:
        cable("ta", "a", mtu)
        cable("tb", "b", mtu)
        weir = scene.box(config).start()
        ta, tb = raw("ta"), raw("tb")
        for size in (60, 1514, mtu + 14):
            for kind in (b"\x08\x00", b"\x88\xcc", b"\x08\x06"):
                frame = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02" + kind + bytes(size - 14)
                expect(crossing(frame, ta, tb) == frame, f"{size} bytes of {kind.hex()}, a to b")
                expect(crossing(frame, tb, ta) == frame, f"{size} bytes of {kind.hex()}, b to a")
        for s in (ta, tb):
            s.close()
        yield weir
        weir.stop()
    finally:
        for box_ in scene.boxes:
            box_.kill()
        for name in ("ta", "tb"):
            subprocess.run(["ip", "link", "del", "dev", name], capture_output=True, check=False)


def af_packet_jumbo(scene):
    """Sends jumbo frames over af_packet, which needs a larger frame size for its ring."""
    with box_between_cables(scene, "net_af_packet", 9000):
        pass


def udp_frame(sport, serial):
    """Returns a frame of the flow from that port; nothing checks its checksums, which are 0."""
    head = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\x00"
    ip4 = bytes((0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2))
    return head + ip4 + struct.pack(">HHHHI", sport, 9, 26, 0, serial) + bytes(14)


def distributed(scene):
    """af_packet has one queue here; still both workers get flows, and each flow keeps its order."""
    policies = [{"name": "udp", "match": {"direction": "a-to-b"}, "limit": "200kbit/s",
                 "burst": "20kB", "allocator": "central"}]
    more = {"workers": [0, 1], "policies": policies}
    flows, got = 20, {}
    with box_between_cables(scene, "net_af_packet", 1500, True, **more) as weir:
        before = {key: weir.total(key) for key in ("rx_packets", "tx_packets")}
        n_drops = sum(weir.get("/weir/drops").values())
        loads = [worker["rx_packets"] for worker in weir.get("/weir/workers")]
        with raw("ta") as ta, raw("tb") as tb:
            tb.settimeout(1)
            for serial in range(100):
                for sport in range(1000, 1000 + flows):
                    ta.send(udp_frame(sport, serial))
                time.sleep(0.005)
            with contextlib.suppress(TimeoutError):
                while True:
                    frame = tb.recv(65536)
                    sport, _, _, _, serial = struct.unpack(">HHHHI", frame[34:46])
                    got.setdefault(sport, []).append(serial)
        rx, tx = (weir.total(key) - before[key] for key in ("rx_packets", "tx_packets"))
        n_drops = sum(weir.get("/weir/drops").values()) - n_drops
        loads = [worker["rx_packets"] - load
                 for worker, load in zip(weir.get("/weir/workers"), loads)]
    expect(rx == 100 * flows, f"{100 * flows} sent, {rx} received")
    expect(rx == tx + n_drops, f"{rx} in, {tx} out, {n_drops} dropped")
    expect(tx == sum(map(len, got.values())), f"{tx} sent on, {sum(map(len, got.values()))} came")
    expect(0 < n_drops, "the policy had nothing to do")
    for sport, serials in got.items():
        expect(len(serials) == len(set(serials)), f"flow {sport} has doubles: {serials}")
        expect(serials == sorted(serials), f"order of flow {sport}: {serials}")
    expect(min(loads) > 100, f"workers received {loads}")
    return f"workers received {loads}, {tx} passed"


def af_xdp(scene):
    """Starts, forwards and stops over AF_XDP sockets."""
    if os.path.exists("/proc/config.gz") and b"CONFIG_XDP_SOCKETS=y" not in subprocess.run(
            ["zcat", "/proc/config.gz"], capture_output=True, check=False).stdout:
        raise Skip("this kernel has no AF_XDP")
    with box_between_cables(scene, "net_af_xdp", 1500):
        pass


def descriptors_waited_at(pid, tid):
    """Returns the number of descriptors on which a thread waits in ppoll(), or 0."""
    with open(f"/proc/{pid}/task/{tid}/syscall", encoding="ascii") as syscall:
        fields = syscall.read().split()
    return int(fields[2], 16) if fields[0] == str(PPOLL[os.uname().machine]) else 0


def af_xdp_waits(scene):
    """An idle worker waits on each port's socket and for control; packets pass."""
    if os.uname().machine not in PPOLL:
        raise Skip("the number of ppoll() is not known here")
    with box_between_cables(scene, "net_af_xdp", 1500, idle="sleep") as weir, \
            raw("ta") as ta, raw("tb") as tb:
        pid = weir.process.pid
        tid = threads.worker(pid, 0)
        for serial in range(20):
            wait_until(lambda: descriptors_waited_at(pid, tid) == 3, "the worker does not wait")
            frame = udp_frame(1000, serial)
            ends = (ta, tb) if serial % 2 else (tb, ta)
            expect(crossing(frame, *ends) == frame, f"packet {serial}")


def capabilities(name):
    """Returns the capabilities granted by a file of config/systemd."""
    with open(os.path.join(box.ROOT, "config", "systemd", name), encoding="ascii") as file:
        return re.search("^AmbientCapabilities=(.*)$", file.read(), re.M).group(1).split()


def af_xdp_of_its_unit(scene):
    """Runs AF_XDP with only the capabilities of the unit and its drop-in. CAP_IPC_LOCK is added if
    this machine limits locked memory, which units get without a limit."""
    names = capabilities("weir@.service.in") + capabilities("af_xdp.conf")
    if resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] != resource.RLIM_INFINITY:
        names.append("CAP_IPC_LOCK")
    rights = ",".join(["-all"] + [name.lower().replace("cap_", "+", 1) for name in names])
    wrapper = scene.path("weir")
    with open(wrapper, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\nexec setpriv --bounding-set={rights} --inh-caps=-all '
                   f'--no-new-privs {box.WEIR} "$@"\n')
    os.chmod(wrapper, 0o755)
    with mock.patch.object(box, "WEIR", wrapper):
        af_xdp(scene)


def link_state(scene):
    """Link changes are logged and shown."""
    def link(weir, name):
        return next(p["link"] for p in weir.get("/weir/ports") if p["name"] == name)

    with box_between_cables(scene, "net_af_packet", 1500) as weir:
        wait_until(lambda: link(weir, "a") == "UP", "the link to be up")
        ip("link set dev a down")
        wait_until(lambda: link(weir, "a") == "DOWN", "the pulled cable to be noticed")
        expect("port a: link down" in weir.log(), "not logged")
        expect(link(weir, "b") == "UP", "the other port went down too")
        ip("link set dev a up")
        wait_until(lambda: link(weir, "a") == "UP", "the cable to be plugged in again")
        ta, tb = raw("ta"), raw("tb")
        frame = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\x00" + bytes(50)
        expect(crossing(frame, ta, tb) == frame, "nothing passes after the link came back")


class Unanswered:
    """A file whose opening never completes, as on a lost file server. The kernel requests
    permission through fanotify, and this class does not reply."""

    def __init__(self, path):
        class_content, nonblock, mark_add, open_perm, here = 4, 2, 1, 0x10000, -100
        self.file = box.LIBC.fanotify_init(class_content | nonblock, os.O_RDONLY)
        if self.file < 0 or box.LIBC.fanotify_mark(self.file, mark_add, ctypes.c_uint64(open_perm),
                                                   here, path.encode()):
            raise Skip("this kernel has no fanotify permissions")

    def asked(self):
        """Returns true if a process waits to open the file."""
        return bool(select.select([self.file], [], [], 0)[0])

    def close(self):
        """Lets all waiting processes continue."""
        os.close(self.file)


def stop_waits_for_no_file(scene):
    """A reload whose file hangs delays the stop by two seconds, in which packets pass."""
    frame = udp_frame(4242, 0)
    try:
        cable("ta", "a")
        cable("tb", "b")
        weir = scene.box(box.wire("net_af_packet0,iface=a", "net_af_packet1,iface=b")).start()
        hung = Unanswered(weir.config_path)
        weir.process.send_signal(signal.SIGHUP)
        wait_until(hung.asked, "the file to be opened again")
        weir.hang_up()
        weir.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        wait_until(lambda: "stopping" in weir.log(), "the stop to begin")
        with raw("ta") as ta, raw("tb") as tb:
            expect(crossing(frame, ta, tb) == frame, "packets stop before what may hang")
        expect("stopped" not in weir.log(), "that was after the end")
        status = weir.wait(20)
        took = time.monotonic() - began
        hung.close()
        expect(status == 0, f"exit status {status}")
        expect("cannot be read in time" in weir.log(), weir.log())
        expect("every packet buffer is back" in weir.log(), "packet buffers are missing")
        return f"stopped in {took:.1f} s"
    finally:
        for name in ("ta", "tb"):
            subprocess.run(["ip", "link", "del", "dev", name], capture_output=True, check=False)


def received(interface):
    """Returns the frames that have arrived at the interface."""
    done = subprocess.run(["ip", "-s", "-j", "link", "show", "dev", interface],
                          capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"{interface}: {done.stderr}")
    return json.loads(done.stdout)[0]["stats64"]["rx"]["packets"]


def strangers_stay_out(scene):
    """Packets of other interfaces are not forwarded to the wire, not even during a start."""
    ending = threading.Event()

    def chatter():
        with raw("tu") as stranger:
            while not ending.is_set():
                stranger.send(b"\x02\0\0\0\0\x03\x02\0\0\0\0\x04\x08\x00" + bytes(50))

    strangers = 0
    cable("tu", "u")
    thread = threading.Thread(target=chatter)
    thread.start()
    try:
        for _ in range(STARTS):
            with box_between_cables(scene, "net_af_packet", 1500):
                expect(received("u") > 0, "nobody has said anything")
                strangers += received("ta") + received("tb") - CROSSINGS
    finally:
        ending.set()
        thread.join()
        ip("link del dev tu")
    expect(strangers == 0, f"{strangers} frames of another interface were forwarded")


def cpu_seconds(pid):
    """Returns user and system time of a process so far, in seconds."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle_costs_little(scene):
    """An idle `sleep` worker uses little CPU: 3 % of a core; asserts 10 %, for noise."""
    write_key(scene)
    weir = scene.box(group(scene, key_file=scene.path("key")), "box").start()
    time.sleep(1)
    before, began = cpu_seconds(weir.process.pid), time.monotonic()
    time.sleep(5)
    share = (cpu_seconds(weir.process.pid) - before) / (time.monotonic() - began)
    weir.stop()
    expect(share < 0.10, f"{share:.1%} of a core")
    return f"{share:.1%} of a core"


def backlog_drops():
    """Returns the packets that the kernel dropped before any socket, on all CPUs."""
    with open("/proc/net/softnet_stat", encoding="ascii") as lines:
        return sum(int(line.split()[1], 16) for line in lines)


def balance(weir, target):
    """Returns the packets transmitted and the drops that Weir counts."""
    out = 0
    with contextlib.suppress(TimeoutError):
        while target.recv(65536):
            out += 1
    return out, sum(weir.get("/weir/drops").values())


def late_workers(scene):
    """A process without a CPU loses packets in the kernel, and counts each of them."""
    seed = int(os.environ.get("WEIR_SEED", time.time_ns() % 100000))
    draw, words = random.Random(seed), []
    for driver in ("net_af_packet", "net_af_xdp"):
        with box_between_cables(scene, driver, 1500) as weir, raw("ta") as ta, raw("tb") as tb:
            tb.settimeout(.5)
            _, before = balance(weir, tb)
            sent, out = 0, []
            backlog = backlog_drops()
            lost = 0
            for most in (6000, 2000, 900, 300):
                weir.process.send_signal(signal.SIGSTOP)
                time.sleep(draw.uniform(.01, .1))
                count, size = draw.randrange(most // 2, most), draw.randrange(60, 1515)
                for serial in range(count):
                    ta.send(udp_frame(1000, serial).ljust(size, b"\0"))
                weir.process.send_signal(signal.SIGCONT)
                sent += count
                out.append(balance(weir, tb)[0])

            def is_balanced():
                nonlocal lost
                more, lost = balance(weir, tb)
                out.append(more)
                return sum(out) + lost - before + backlog_drops() - backlog >= sent

            wait_until(is_balanced, f"seed {seed}, {driver}: all of {sent} are counted")
            expect(sum(out) + lost - before <= sent,
                   f"seed {seed}, {driver}: {sent} in, {sum(out)} out, {lost - before} dropped")
            missed = sum(port["missed"] for port in weir.get("/weir/ports"))
            expect(missed > 0, f"{driver}: nothing was missed")
            words.append(f"{driver}: {sent} in, {sum(out)} out, {missed} missed")
    return f"seed {seed}, " + "; ".join(words)


def other_devices(scene):
    """tap and memif ports start and stop like the others."""
    words = []
    memif = f"socket={scene.path('wire.sock')},socket-abstract=no"
    for name, a, b in (("tap", "net_tap0,iface=wt0", "net_tap1,iface=wt1"),
                       ("memif", f"net_memif0,role=server,{memif}",
                        f"net_memif1,role=client,{memif}")):
        if name == "tap" and not os.path.exists("/dev/net/tun"):
            words.append("tap skipped")
            continue
        weir = scene.box(box.wire(a, b) | POLICY, name).start()
        expect(len(weir.get("/ethdev/list")) == 2, f"{name}: ports")
        weir.stop()
        words.append(name)
    return ", ".join(words)


def nothing_left(scene):
    """A stop leaves no DPDK files. The files of a crash do not disturb the next start."""
    weir = scene.box(box.wire("net_null0", "net_null1", eal=["--no-huge", "-m", "256"]) | POLICY)
    where = scene.path("dpdk")
    for ends in (weir.kill, weir.stop, weir.stop):
        weir.start()
        files = [os.path.join(at, name) for at, _, names in os.walk(where) for name in names]
        expect(any("fbarray" in name for name in files), f"it uses {files}")
        ends()
        left = [at for at, _, _ in os.walk(where)][1:]
        expect(bool(left) == (ends == weir.kill), f"after {ends.__name__}: {left}")
    return f"{len(files)} files while it runs"


SCENARIOS = [usage, new_ledger, refused_configuration, missing_device, nothing_to_forward,
             missing_cpu, signals_at_any_moment, crash_and_restart, key_files, stock_client,
             many_clients, af_packet_jumbo, distributed, af_xdp, af_xdp_waits,
             af_xdp_of_its_unit, late_workers, link_state, stop_waits_for_no_file,
             strangers_stay_out, idle_costs_little, other_devices, nothing_left]

if __name__ == "__main__":
    sys.path.insert(0, HERE)
    box.main(SCENARIOS, setup=box.enter_netns)

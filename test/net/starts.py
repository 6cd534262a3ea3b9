#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A start that fails at any of its steps leaves the machine as it was, on each kind of port. It
passes no packet that a running limiter would not pass.

Runs in network and mount namespaces of its own. Usage: starts.py [--all] [SCENARIO...]. Without
--all, each kind of port fails at the last step, which takes back most, and at two others. The test
then also refuses only every fourth system call.
"""

import contextlib
import ctypes
import glob
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import box
import threads
from box import expect, ip, wait_until
from bypass import PINS, cable, remove_pins, setup
from lifecycle import raw, udp_frame
from plane import BPF, LINK_UPDATE, RENAMEAT2, Flood

WEIR_FAULTS = os.path.join(box.BUILD, "app", "weir", "weir_start_faults")
BURST = 20000
LIMIT = {"name": "udp", "match": {"direction": "a-to-b"}, "limit": "8Mbit/s", "accounting": "l2",
         "burst": f"{BURST}B"}
HARD = LIMIT | {"guarantee": "hard"}
GROUP = {"gossip": {"listen": "127.0.0.1:5998", "insecure": True, "roster": [
    {"name": "box1", "address": "127.0.0.1:5998"}, {"name": "other", "address": "127.0.0.2:5998"}]}}
# Each kind of port: devices, keys of the wire, the policy.
KINDS = {"null": (("net_null0", "net_null1"), {}, HARD),
         "af_packet": (("net_af_packet0,iface=a", "net_af_packet1,iface=b"), {}, HARD),
         "af_packet wire": (("net_af_packet0,iface=a", "net_af_packet1,iface=b"),
                            {"fail": "open"}, LIMIT),
         "af_xdp": (("net_af_xdp0,iface=a", "net_af_xdp1,iface=b"), {}, HARD),
         "af_xdp wire": (("net_af_xdp0,iface=a", "net_af_xdp1,iface=b"), {"fail": "open"}, LIMIT),
         "xdp": (("xdp:a", "xdp:b"), {}, HARD)}
OBJ_PIN, LINK_CREATE = 6, 28
# System calls of a start on the XDP data plane: number, first argument, number of calls before it.
CALLS = [(BPF, LINK_CREATE, 1), (BPF, OBJ_PIN, 0), (BPF, OBJ_PIN, 4), (BPF, OBJ_PIN, 9),
         (RENAMEAT2, None, 0)]
CALLS_AFTER = [(BPF, LINK_UPDATE, 0), (BPF, LINK_UPDATE, 1), (RENAMEAT2, None, 0)]
ALL = "--all" in sys.argv
EACH = 1 if ALL else 4  # every fourth call
PART = 2 * len(KINDS)
POKE_USER, ORIG_RAX, PAUSE = 6, 120, "34"  # on x86-64


def steps():
    """Returns the names of the steps, in order, from the table in start.c."""
    with open(os.path.join(box.ROOT, "app", "weir", "start.c"), encoding="utf-8") as text:
        table = re.search(r"\} modules\[\] = \{(.*?)\n\};", text.read(), re.DOTALL)[1]
    found = re.findall(r'^\t\{"([^"]+)", ', table, re.M)
    expect(len(found) == table.count('{"') > 15, f"not all steps: {found}")
    return found


def state(scene):
    """Returns the machine's state: interfaces with flags, MTU, programs and offloads; pins; files
    next to the socket."""
    links = json.loads(ip("-d -j link"))
    for link in links:
        link.pop("operstate", None)  # changes later at the far end
    features = [subprocess.run(["ethtool", "-k", link["ifname"]], capture_output=True, text=True,
                               check=False).stdout for link in links]
    pins = sorted(pin for pin in glob.glob("/sys/fs/bpf/**", recursive=True)
                  if not pin.startswith("/sys/fs/bpf/xdp")  # libxdp's directory
                  # maps of a program that a failed start has replaced
                  and not re.search(r"/plane/\w+-\d+$", pin))
    files = sorted(name for name in os.listdir(scene.directory) if not (
        name.endswith((".log", ".json")) or name.startswith(("dpdk", "store"))))
    return {"links": links, "features": features, "pins": pins, "files": files}


def same(before, after, what):
    """Compares two states, and names the first difference."""
    for key, value in before.items():
        expect(value == after[key], f"{what}: {key}: {value} became {after[key]}")


class Trickle(threading.Thread):
    """Frames on the wire during the starts; counts those that arrive at the other end."""

    def __init__(self):
        super().__init__(daemon=True)
        self.tx, self.rx = raw("ta"), raw("tb")
        self.rx.setblocking(False)
        self.ends = threading.Event()
        self.start()

    def run(self):
        serial = 0
        while not self.ends.wait(0.0005):
            self.tx.send(udp_frame(1000 + serial % 16, serial))
            serial += 1

    def arrived(self):
        """Returns the number of frames since the last call."""
        count = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                count += self.rx.recv(65536)[12:14] == b"\x08\x00"
        return count

    def close(self):
        """Ends the thread."""
        self.ends.set()
        self.join()
        self.tx.close()
        self.rx.close()


@contextlib.contextmanager
def between(scene, kind):
    """Creates a limiter of that kind between two cables; returns it and the state before it."""
    devices, keys, policy = KINDS[kind]
    config = box.wire(*devices, policies=[policy]) | GROUP
    config["wires"][0] |= keys
    config["ledger"] = {"store": scene.path("store"), "lease": "2s"}
    config["eal"] = ["--no-huge", "-m", "96", "--no-shconf"]
    try:
        cable("ta", "a")
        cable("tb", "b")
        for name in ("a", "b"):
            ip(f"link set dev {name} promisc off mtu 1400")
        subprocess.run(["ethtool", "-K", "a", "gro", "on"], check=False, capture_output=True)
        weir = scene.box(config, "box1")
        done = weir.run("--new-ledger", box.LEDGER, weir.config_path)
        expect(done[0] == 0, done[2])
        yield weir
    finally:
        for weir in scene.boxes:
            weir.kill()
        remove_pins(PINS)
        for directory in ("/sys/fs/bpf/weir/box1", "/sys/fs/bpf/weir"):
            with contextlib.suppress(FileNotFoundError):
                os.rmdir(directory)
        for name in ("ta", "tb"):
            subprocess.run(["ip", "link", "del", "dev", name], capture_output=True, check=False)


def fails(weir, step):
    """Runs a start that fails at a step."""
    done = subprocess.run([WEIR_FAULTS, "-c", weir.config_path], capture_output=True, text=True,
                          check=False, timeout=box.PATIENCE_S, stdin=subprocess.DEVNULL,
                          cwd=weir.directory, env=weir.environment | {"WEIR_START_FAULT": step})
    expect(done.returncode == 1 and f"start failed: {step}: " in done.stderr,
           f"{step}: {done.returncode}: {done.stderr[-1000:]}")


def each_step(scene, kind):
    """Fails every step of one kind."""
    slowest = 0
    with between(scene, kind) as weir:
        before = state(scene)
        trickle = Trickle()
        names = steps()
        turn = list(KINDS).index(kind)
        for step in names if ALL else [*names[turn:-1:PART], names[-1]]:
            began = time.monotonic()
            trickle.arrived()
            fails(weir, step)
            same(before, state(scene), f"{kind}: {step}")
            passed = trickle.arrived()
            slowest = max(slowest, time.monotonic() - began)
            most = 0 if names.index(step) <= names.index("workers") else BURST / 46 + 1e6 * slowest
            expect(passed <= most, f"{kind}: {step}: {passed} frames pass")
        trickle.close()
    return f"{slowest:.2f} s the slowest"


def null(scene):
    """Ports without an interface of the machine."""
    return each_step(scene, "null")


def af_packet(scene):
    """Packet sockets."""
    return each_step(scene, "af_packet")


def af_packet_wire(scene):
    """Packet sockets of a wire that outlives the process."""
    return each_step(scene, "af_packet wire")


def af_xdp(scene):
    """AF_XDP sockets, for which DPDK attaches its program."""
    return each_step(scene, "af_xdp")


def af_xdp_wire(scene):
    """AF_XDP sockets of a wire that outlives the process."""
    return each_step(scene, "af_xdp wire")


def xdp(scene):
    """The XDP data plane, with a hard limit."""
    return each_step(scene, "xdp")


def refuse_call(process, number, first, before):
    """Makes one system call of the main thread fail."""
    for made, argument, ended in threads.calls(process.pid):
        if ended or made != number or first not in (None, argument):
            continue
        if before == 0:
            threads.ptrace(POKE_USER, process.pid, ORIG_RAX, -1)
            break
        before -= 1
    return threads.ptrace(threads.DETACH, process.pid)


def refused(weir, call):
    """Runs a start that fails because the kernel rejects one of its calls."""
    process = weir.spawn().process
    refuse_call(process, *call)
    status = process.wait(box.PATIENCE_S)
    expect(status == 1, f"{call}: exit status {status}: {weir.log()[-1000:]}")


def calls_refused(scene):
    """The kernel rejects a step of attaching, keeping or taking over. A first start leaves nothing
    behind, and the program of an earlier start continues."""
    with between(scene, "xdp") as weir:
        before = state(scene)
        for call in CALLS[::EACH]:
            refused(weir, call)
            same(before, state(scene), str(call))
        expect(Flood(0.1).got == 0, "a wire without a limiter")
        weir.start()
        weir.kill()
        os.unlink(weir.socket)
        before = state(scene)
        for call in CALLS_AFTER[::EACH]:
            refused(weir, call)
            same(before, state(scene), f"{call} after a kill")
            flood = Flood(0.2)
            expect(flood.bytes <= BURST * 1.2 + 1e6 * flood.took, f"{flood.bytes} in {flood.took}")
        weir.start()
        expect("replaced the XDP program of an earlier process" in weir.log(), weir.log())
        weir.stop()


def killed(scene):
    """A first start that is killed at any time leaves no program."""
    with between(scene, "xdp") as weir:
        before = state(scene)
        for wait_s in (0.1, 0.2, 0.3, 0.4):
            process = weir.spawn().process
            time.sleep(wait_s)
            if os.path.exists(weir.socket):
                break
            process.kill()
            process.wait()
            links = state(scene)["links"]
            expect([link.get("xdp") for link in links]
                   == [link.get("xdp") for link in before["links"]], f"after {wait_s} s: {links}")


def strangers(scene):
    """The start and the doctor name a program that another limiter has left."""
    with between(scene, "xdp") as weir:
        weir.start()
        weir.kill()
        other = weir.config | {"limiter": "other"}
        other["control"] = {"socket": scene.path("other.sock")}
        renamed = scene.box(other, "other")
        try:
            for option in ("--doctor", "-c"):
                status, out, err = renamed.run(option, renamed.config_path)
                expect(status == 1 and "XDP program of limiter box1" in out + err
                       and "no process serves it" in out + err
                       and "rm -r /sys/fs/bpf/weir/box1" in out + err, f"{option}: {out}{err}")
            status, out, err = weir.run("--doctor", weir.config_path)
            expect("XDP program of an earlier weir named box1" in out and "FAIL" not in out, out)
        finally:
            remove_pins("/sys/fs/bpf/weir/other/*")


def rights():
    """Returns the capabilities of the table in rights.c, with others that grant the same."""
    with open(os.path.join(box.ROOT, "drivers", "rights.c"), encoding="utf-8") as text:
        rows = re.findall(r'\{\w+, ([^"]*), "CAP_(\w+)",', text.read())
    expect(len(rows) > 3, f"not all rights: {rows}")
    return [(name, re.findall(r"CAP_(\w+)", bits)) for bits, name in rows]


def said_by_both(weir, words, wrapper=()):
    """Asserts that the doctor and a start fail with these words."""
    for option in ("--doctor", "-c"):
        done = subprocess.run([*wrapper, box.WEIR, option, weir.config_path], check=False,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=box.PATIENCE_S, env=weir.environment)
        said = done.stdout + done.stderr
        expect(done.returncode == 1 and all(word in said for word in words),
               f"{option}: {done.returncode}, not {words}: {said}")


def lacks(scene):
    """A missing right, BPF file system or BTF is reported with its remedy."""
    with between(scene, "xdp") as weir:
        before = state(scene)
        for name, bits in rights():
            without = ",".join(f"-{bit.lower()}" for bit in bits)
            said_by_both(weir, [f"lacks CAP_{name}", "systemd"],
                         ["setpriv", f"--bounding-set={without}", f"--inh-caps={without}"])
        said_by_both(weir, ["lock", "ulimit -l unlimited"],
                     ["prlimit", "--memlock=65536", "setpriv", "--bounding-set=-ipc_lock",
                      "--inh-caps=-ipc_lock"])
        for path, words in (("/sys/kernel/btf", ["types of this kernel", "CONFIG_DEBUG_INFO_BTF"]),
                            ("/sys/fs/bpf", ["no BPF file system", "mount -t bpf bpf"])):
            subprocess.run(["mount", "-t", "tmpfs", "none", path], check=True)
            try:
                said_by_both(weir, words)
            finally:
                subprocess.run(["umount", path], check=True)
        same(before, state(scene), "starts without rights")


def large_frames(scene):
    """The largest MTU that the check accepts for AF_XDP starts, and its frames pass."""
    with between(scene, "xdp") as weir:
        for port in weir.config["ports"].values():
            port["mtu"] = 9000
        weir.write()
        status, _, err = weir.run("--check", weir.config_path)
        most = int(re.search(r"expected at most (\d+)", err)[1])
        expect(status == 1, err)
        for port in weir.config["ports"].values():
            port["mtu"] = most
        weir.config["policies"] = []
        weir.config["eal"] = ["--no-huge", "-m", "320", "--no-shconf"]
        weir.write()
        for name in ("ta", "tb"):
            ip(f"link set dev {name} mtu {most}")
        weir.start()
        trickle = Trickle()
        trickle.ends.set()
        for kernel in (True, False):
            frame = bytearray(udp_frame(1000, 1))
            frame += bytes(most + 14 - len(frame))
            frame[16:18] = struct.pack(">H", most)
            frame[20:22] = struct.pack(">H", 0 if kernel else 0x2000)  # a fragment is for workers

            def passes(frame=bytes(frame)):
                trickle.tx.send(frame)
                return trickle.arrived()

            trickle.arrived()
            wait_until(passes, f"no frame of {most + 14} bytes passes, {kernel}", 10)
        trickle.close()
        weir.stop()
    return f"MTU {most}"


def call_of(pid):
    """Returns the system call in which a process waits, or its state."""
    with open(f"/proc/{pid}/syscall", encoding="ascii") as text:
        return text.read().split()[0]


def ended_by_signal(scene):
    """SIGTERM ends a start immediately, and a start that hangs within seconds."""
    with between(scene, "xdp") as weir:
        before = state(scene)
        for wait_s in (0.02, 0.1, 0.2, 0.3):
            process = weir.spawn().process
            time.sleep(wait_s)
            process.send_signal(signal.SIGTERM)
            status = process.wait(box.PATIENCE_S)
            expect(status in (0, -signal.SIGTERM), f"after {wait_s} s: {status}")
            if not glob.glob(PINS):
                same(before, state(scene), f"after {wait_s} s")
            remove_pins(PINS)
        hangs = subprocess.Popen([WEIR_FAULTS, "-c", weir.config_path], stderr=subprocess.PIPE,
                                 text=True, cwd=weir.directory, preexec_fn=box.die_with_parent,
                                 env=weir.environment | {"WEIR_START_FAULT": "!gossip"})
        wait_until(lambda: call_of(hangs.pid) == PAUSE, "it does not come to that step")
        hangs.send_signal(signal.SIGTERM)
        said = hangs.communicate(timeout=box.PATIENCE_S)[1]
        expect(hangs.returncode == 1 and "start does not end 3 s after" in said, said)


def late_address(scene):
    """Packets pass before gossip's address exists; then gossip begins."""
    with between(scene, "af_packet") as weir:
        weir.config |= {"policies": [LIMIT], "gossip": {"insecure": True, "roster": [
            {"name": "box1", "address": "10.9.0.2:5998"}, {"name": "other",
                                                          "address": "10.9.0.3:5998"}]}}
        weir.write()
        weir.start()
        expect(Flood(0.1).got > 0, "no packet passes")
        alarms = weir.get("/weir/health")["alarms"]
        expect(any("no interface has the address 10.9.0.2" in alarm for alarm in alarms), alarms)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            ip("address add 10.9.0.2/24 dev lo")
            ip("address add 10.9.0.3/24 dev lo")
            other.bind(("10.9.0.3", 5998))
            other.settimeout(box.PATIENCE_S)
            expect(other.recvfrom(2048)[1] == ("10.9.0.2", 5998), "no message")
        alarms = weir.get("/weir/health")["alarms"]
        expect(not any("no interface" in alarm for alarm in alarms), alarms)
        weir.stop()


def goes_back(scene):
    """A start that fails runs the last good configuration, with an alarm."""
    with between(scene, "af_packet") as weir:
        weir.arguments = ["--state", scene.path("state")]
        weir.start()
        wait_until(lambda: glob.glob(scene.path("state/*.good.json")), "nothing is kept")
        weir.stop()
        good = weir.config["gossip"]
        more = {"name": "third", "address": "127.0.0.3:5998"}
        weir.config["gossip"] = good | {"roster": good["roster"] + [more]}
        weir.write()
        weir.start()
        alarms = weir.get("/weir/health")["alarms"]
        expect(any("its start failed: limiter" in alarm and "not of this roster" in alarm and
                   'group.md, "Start another ledger"' in alarm for alarm in alarms), alarms)
        weir.stop()


if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--all"]
    box.main([null, af_packet, af_packet_wire, af_xdp, af_xdp_wire, xdp, calls_refused, killed,
              strangers, lacks, large_frames, ended_by_signal, late_address, goes_back], setup)

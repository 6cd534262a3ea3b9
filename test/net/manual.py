#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Follows doc/operate/two-boxes.md command by command, then the pages for two running limiters.

The two machines are mount namespaces with their own /etc, /run and /var/lib, in one network
namespace. Commands that need network cards, systemd or Debian's packages are not run; ELSEWHERE
lists where they are tested. Ports are interfaces here, and the limit is one that a test can exceed.

Usage: manual.py [SCENARIO...].
"""

import contextlib
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import threading
import time

import box
from box import expect, ip, wait_until
from lifecycle import cable, raw

OPERATE = os.path.join(box.ROOT, "doc", "operate")
NAMES = ("edge-ams-1", "edge-fra-1")
ADDRESSES = ("10.20.0.1", "10.30.0.1")
LIMIT = 10_000_000
# Commands that are not run here, and where they are tested.
ELSEWHERE = (
    (r"apt-get ", "test/package.py installs, upgrades and goes back, in a container with systemd"),
    (r"\./tools/(package|demo)", "test/package.py, and whoever follows the README"),
    (r"dpdk-devbind\.py |driverctl |modprobe ", "wants a card"),
    (r"echo 'SUBSYSTEM|udevadm |install -D .*ports\.conf|systemctl daemon-reload",
     "wants udev and systemd"),
    (r"GRUB_CMDLINE_LINUX=", "wants a reboot"),
    (r"systemctl status ", "test/package.py"),
    (r"journalctl ", "wants systemd"),
    (r"ssh |iperf3 ", "the test sends the packets itself"),
)
PROGRAMS = {"weir": "app/weir/weir", "weirctl": "app/weirctl/weirctl",
            "weirsim": "app/weirsim/weirsim", "weir-exporter": "app/exporter/weir-exporter"}
# Runs a program with the capabilities that packet sockets need, like the unit of such ports.
CAPABLE = ("setpriv --reuid=weir --regid=weir --init-groups --inh-caps=+net_raw,+net_admin "
           "--ambient-caps=+net_raw,+net_admin")
FOLDERS = """
set -e
mkdir {own}/etc {own}/run {own}/lib
cp -a /etc/. {own}/etc
mount --bind {own}/etc /etc
mount --bind {own}/run /run
mount --bind {own}/lib /var/lib
mkdir -p /etc/weir /run/weir/{name} /var/lib/weir
id weir >/dev/null 2>&1 || echo 'weir:x:64998:64998::/:/bin/sh' >> /etc/passwd
getent group weir >/dev/null || echo 'weir:x:64998:' >> /etc/group
getent group weir-read >/dev/null || echo 'weir-read:x:64997:weir' >> /etc/group
chown weir:weir /etc/weir /var/lib/weir /run/weir /run/weir/{name}
echo ready
exec sleep infinity
"""


def page(name):
    """Returns the text of a page."""
    with open(os.path.join(OPERATE, name), encoding="utf-8") as file:
        return file.read()


def commands_of(text):
    """Returns the lines of indented blocks and of fences without a language, without the output."""
    text = re.sub(r"^```\w+\n.*?^```$", "", text, flags=re.M | re.S)
    for line in re.findall(r"^ {4}(?:\$ )?(\S.*)$", text, re.M):
        yield re.sub(r"\s+# .*$", "", line)


def section(text, heading):
    """Returns the text of the section with this heading."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    expect(found, f"there is no heading {heading!r} any more")
    return found[1]


class Machine:
    """One of the two machines: its folders and its processes."""

    def __init__(self, scene, name):
        self.name, self.own = name, scene.path(name)
        self.bin = os.path.join(self.own, "bin")
        os.makedirs(self.bin)
        os.chmod(scene.directory, 0o755)
        for program, path in PROGRAMS.items():  # where any user can run them
            shutil.copy(os.path.join(box.BUILD, path), os.path.join(self.bin, program))
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "bash", "-c",
             FOLDERS.format(own=self.own, name=name)], stdout=subprocess.PIPE, text=True,
            preexec_fn=box.die_with_parent)
        expect(self.holder.stdout.readline() == "ready\n", "no mount namespace")
        self.services = {}
        self.scp = None

    def within(self, command):
        """Returns the arguments that run a bash command in the namespace."""
        return ["nsenter", f"--mount=/proc/{self.holder.pid}/ns/mnt", "bash", "-c",
                f"export PATH={self.bin}:$PATH; cd /; {command}"]

    def run(self, command):
        """Runs a command, which must succeed; returns its output."""
        done = subprocess.run(self.within(command), capture_output=True, text=True, check=False,
                              timeout=box.PATIENCE_S, stdin=subprocess.DEVNULL)
        expect(done.returncode == 0, f"{self.name}: {command}: {done.returncode}: "
               f"{done.stdout[-2000:]}{done.stderr[-2000:]}{self.log()}")
        return done.stdout

    def write(self, path, text):
        """Writes a file on the machine."""
        with open(self.own + path, "w", encoding="utf-8") as out:
            out.write(text)

    def log(self):
        """Returns the end of its limiter's log."""
        with contextlib.suppress(FileNotFoundError), \
                open(os.path.join(self.own, "log"), encoding="utf-8") as file:
            return file.read()[-4000:]
        return ""

    def start(self, unit):
        """Starts a unit's program, like systemd."""
        instance = unit.partition("@")[2]
        command = (f"exec env RUNTIME_DIRECTORY=/run/weir/{instance} {CAPABLE} weir "
                   f"-c /etc/weir/{instance}.json" if instance else f"exec {CAPABLE} weir-exporter")
        with open(os.path.join(self.own, "log"), "ab") as log:
            self.services[unit] = subprocess.Popen(
                self.within(command), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                preexec_fn=box.die_with_parent)
        if instance:
            wait_until(lambda: self.answers(instance) or self.services[unit].poll() is not None,
                       f"{unit} does not start: {self.log()}")
            expect(self.services[unit].poll() is None, f"{unit} has ended: {self.log()}")
        else:
            wait_until(listens, "the exporter does not listen")

    def answers(self, instance):
        """Returns true if the limiter answers."""
        return subprocess.run(self.within(f"weirctl -n {instance} config"), check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def stop(self, unit):
        """Stops a unit's program, like systemd."""
        service = self.services.pop(unit)
        service.terminate()
        expect(service.wait(box.PATIENCE_S) in (0, -15, 143), f"{unit}: {service.returncode}")

    def systemctl(self, words):
        """Does the action of a systemctl command."""
        if words[:2] == ["enable", "--now"]:
            self.start(words[2])
        elif words[0] == "restart":
            self.stop(words[1])
            self.start(words[1])
        elif words[0] == "reload":
            self.run(f"weirctl -n {words[1].partition('@')[2]} reload")
        else:
            expect(False, f"systemctl {' '.join(words)}: this test does not know it")

    def end(self):
        """Ends all processes of the machine."""
        for service in [*self.services.values(), self.holder]:
            service.kill()
            service.wait()


def listens():
    """Returns true if the exporter's port accepts a connection."""
    with contextlib.suppress(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", 9947)).close()
        return True
    return False


class World:
    """Two machines and the traffic between them."""

    def __init__(self, scene):
        for address in ADDRESSES:
            ip(f"address add {address}/32 dev lo")
        for i in range(len(NAMES)):
            cable(f"s{i}", f"servers{i}")
            cable(f"u{i}", f"uplink{i}")
        self.machines = [Machine(scene, name) for name in NAMES]
        self.ran = 0

    def follow(self, text, which=(0, 1), done=lambda command: None):
        """Runs the commands of a page in order on these machines, with each machine's name."""
        for command in commands_of(text):
            if any(re.match(pattern, command) for pattern, _ in ELSEWHERE):
                done(command)
                continue
            for i in which:
                self.one(i, command.replace(NAMES[0], NAMES[i]))
            self.ran += 1
            done(command)

    def one(self, i, command):
        """Runs one command on one machine."""
        machine = self.machines[i]
        words = command.split()
        if words[0] == "systemctl":
            if words[-1] == "weir-exporter" and i:
                return  # because the machines share the loopback interface here
            machine.systemctl(words[1:])
        elif words[0] == "scp" or "--new-key" in words:
            self.key(i, words, command)
        elif words[0] == "curl":
            if i == 0:
                expect("weir_up" in machine.run(command), "no metrics")
        elif words[-1] == "status":  # shown after the limiters have exchanged gossip
            wait_until(lambda: subprocess.run(
                machine.within(command), check=False, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL).returncode == 0, f"{command}: {machine.log()}")
        else:
            machine.run(command)

    def key(self, i, words, command):
        """Creates the key on the first machine, or copies it to the second."""
        first, second = self.machines
        if words[0] != "scp":
            if i == 0:
                first.run(command)
            return
        if i:
            return
        source, target = words[-2], words[-1].partition(":")[2]
        expect(words[-1].startswith(f"root@{ADDRESSES[1]}:"), f"{command}: to whom?")
        done = subprocess.run(["cp", "-p", first.own + source, second.own + target], check=False)
        expect(done.returncode == 0, command)

    def end(self):
        """Ends both machines."""
        for machine in self.machines:
            machine.end()


def configure(world):
    """Writes the page's two files, with interfaces instead of network cards."""
    group, own = (json.loads(text) for text in
                  re.findall(r"^```json\n(.*?)^```$", page("two-boxes.md"), re.M | re.S))
    expect(group["policies"][0]["limit"] == "1Gbit/s", "another limit than this test knows")
    group["policies"][0]["limit"] = f"{LIMIT}bit/s"
    for i, machine in enumerate(world.machines):
        mine = own | {"limiter": NAMES[i], "eal": box.EAL, "idle": "sleep", "workers": [0]}
        mine["ports"] = {"servers": {"device": f"net_af_packet0,iface=s{i}"},
                         "uplink": {"device": f"net_af_packet1,iface=u{i}"}}
        machine.write("/etc/weir/group.json", json.dumps(group, indent=1))
        machine.write(f"/etc/weir/{NAMES[i]}.json", json.dumps(mine, indent=1))


def frame(sport):
    """Returns a packet of 1400 bytes to a server; nothing checks its checksums, which are 0."""
    head = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\x00"
    ip4 = bytes((0x45, 0)) + struct.pack(">H", 1400) + bytes((0, 0, 0, 0, 64, 17, 0, 0))
    return (head + ip4 + socket.inet_aton("203.0.113.5") + socket.inet_aton("192.0.2.10") +
            struct.pack(">HHHH", sport, 9, 1380, 0) + bytes(1372))


@contextlib.contextmanager
def flood():
    """Sends more than the limit into both limiters, in flows without congestion control."""
    stop = threading.Event()

    def send():
        frames = [frame(5000 + i) for i in range(8)]
        sockets = [raw(f"servers{i}") for i in range(len(NAMES))]
        while not stop.is_set():
            for one in frames:
                for out in sockets:
                    with contextlib.suppress(OSError):  # the interface's queue is full
                        out.send(one)
            time.sleep(0.005)
        for out in sockets:
            out.close()

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def told(machine, what):
    """Returns one reply of a limiter."""
    return json.loads(machine.run(f"weirctl -n {machine.name} --json {what}"))


def hear_each_other(world):
    """Returns true if each limiter counts the other, with equal settings and no alarm."""
    for machine in world.machines:
        other = [name for name in NAMES if name != machine.name][0]
        wait_until(lambda m=machine, o=other: any(
            peer["name"] == o and peer["state"] == "alive" for peer in told(m, "peers")["peers"]),
            lambda m=machine: f"{m.name}: {m.run(f'weirctl -n {m.name} peers')}{m.log()}")
        text = machine.run(f"weirctl -n {machine.name} status")
        expect("1 of 1 peers alive; sealed" in text, text)


def bites(world):
    """Waits until both limiters drop packets and their local limits add up to the limit."""
    def divided():
        views = [told(machine, "policy customer-1001") for machine in world.machines]
        here = [view["local_limit_bps"] for view in views]
        return all(view["dropped"]["packets"] > 0 for view in views) and \
            abs(sum(here) / LIMIT - 1) < 0.1 and min(here) > LIMIT / 10
    wait_until(divided, lambda: "\n".join(
        machine.run(f"weirctl -n {machine.name} policy customer-1001")
        for machine in world.machines))


def the_way_to_two_boxes(scene):
    """Runs each command of the page in order; the limit is enforced, and metrics show it."""
    world, floods = World(scene), contextlib.ExitStack()

    def done(command):
        if command.endswith(" peers"):
            hear_each_other(world)
        elif command.startswith("iperf3 "):
            floods.enter_context(flood())
        elif command.endswith(" policy customer-1001"):
            bites(world)
    try:
        configure(world)
        with floods:
            world.follow(page("two-boxes.md"), done=done)
        for i in range(len(NAMES)):  # one after the other
            world.follow(section(page("install.md"), "Another version of a group"), (i,), done)
        symptoms = page("symptoms.md")
        stopped = section(symptoms, "It does not start")
        world.follow(symptoms.replace(stopped, ""), (0,))
        world.machines[0].stop(f"weir@{NAMES[0]}")
        world.follow(stopped, (0,))
        return f"{world.ran} commands"
    finally:
        world.end()


if __name__ == "__main__":
    box.main([the_way_to_two_boxes], setup=box.enter_netns)

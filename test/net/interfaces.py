#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Interfaces that change under a running limiter.

A random sequence of changes runs at one end of a wire, for each kind of port. After each change a
model has the link, the name and the alarms that Weir must show, and if packets pass.

    interfaces.py [SCENARIO]    WEIR_SEED=N: another seed; WEIR_STEPS=N: so many changes
"""

import contextlib
import os
import random
import select
import socket
import subprocess
import time

import box
from box import expect, ip, wait_until
from lifecycle import cable, raw

SEED = int(os.environ.get("WEIR_SEED", "1"))
STEPS = int(os.environ.get("WEIR_STEPS", "9" if "WEIR_ALL_SEEDS" in os.environ else "5"))
KINDS = {"af_packet": "net_af_packet{},iface={}", "af_xdp": "net_af_xdp{},iface={}",
         "xdp": "xdp:{1}"}
FRAMES = 5
RESTARTS = 75  # the exit status
AWAY = f"weir-away-{os.getpid()}"
AGAIN = "the port is open again"
ALARMS = ("port_gone", "port_altered", "port_renamed", "link_down")


def ip_frame(mark):
    """Returns an Ethernet frame with an IPv4 packet, unique by its mark."""
    head = bytes.fromhex("020000000002020000000001080045000054000000004011") + bytes(2)
    return head + socket.inet_aton("192.0.2.1") + socket.inet_aton("198.51.100.1") + \
        mark.to_bytes(8, "big") * 8


def ports(kind, *interfaces):
    """Returns ports of one kind, each named like its interface."""
    return {name: {"device": KINDS[kind].format(number, name)}
            for number, name in enumerate(interfaces)}


def config(kind, *interfaces):
    """Returns a limiter with a wire for each two interfaces."""
    return {"ports": ports(kind, *interfaces),
            "wires": [{"name": f"{a}-{b}", "a": a, "b": b}
                      for a, b in zip(interfaces[::2], interfaces[1::2])],
            "policies": [{"name": "all", "limit": "1Gbit/s"}]}


def make(name):
    """Creates the interface of a port, and the test's end of its cable."""
    cable(name, "t" + name)
    # Like the other end of a cable: whole frames, and polled as XDP needs it.
    subprocess.run(["ethtool", "-K", "t" + name, "tx", "off", "gro", "on"], check=False,
                   capture_output=True)


class End:
    """One end of a wire, and the model of it."""

    def __init__(self, name, rng):
        self.port, self.rng = name, rng
        self.name, self.up, self.here, self.opened = name, True, True, True
        self.beside = set()

    def create(self):
        """Creates both ends of a new cable."""
        make(self.port)
        self.name, self.up, self.here, self.opened = self.port, True, True, False
        self.beside.clear()

    def delete(self):
        """Deletes the interface with all its state."""
        ip(f"link del dev t{self.port}")
        self.here = self.opened = False
        self.beside.clear()

    def remake(self):
        """Deletes and creates the interface, like a VM or container that restarts."""
        self.delete()
        self.create()

    def rename(self):
        """Renames the interface. Under another name it does not belong to the port, also after it
        returns."""
        name = "other" if self.name == self.port else self.port
        ip(f"link set dev {self.name} down")
        ip(f"link set dev {self.name} name {name}")
        ip(f"link set dev {name} {'up' if self.up else 'down'}")
        self.name = name

    def switch(self):
        """Takes the interface down or up."""
        self.up = not self.up
        ip(f"link set dev {self.name} {'up' if self.up else 'down'}")

    def turn(self, what, begin, end):
        """Begins or ends something that alters packets or also receives them."""
        ip_or_tc(end if what in self.beside else begin, self.name)
        self.beside ^= {what}

    def enslave(self):
        """Adds the interface to a bridge without another interface."""
        self.turn("master", "ip link set dev {} master weir-br", "ip link set dev {} nomaster")

    def address(self):
        """Adds or removes an address of this machine."""
        self.turn("address", "ip addr add 192.0.2.77/24 dev {}", "ip addr flush dev {}")

    def filter(self):
        """Adds or removes a place for tc programs."""
        self.turn("filter", "tc qdisc add dev {} clsact", "tc qdisc del dev {} clsact")

    def move(self):
        """Moves the interface to another network namespace and back, too fast to be seen."""
        ip(f"link set dev {self.name} netns {AWAY}")
        ip(f"-n {AWAY} link set dev {self.name} netns {os.getpid()}")
        ip(f"link set dev {self.name} up")
        self.up, self.opened = True, False
        self.beside.clear()

    def mtu(self):
        """Sets an MTU that is small enough to matter, and large enough for the frames here."""
        ip(f"link set dev {self.name} mtu {self.rng.choice((1300, 1400, 1500))}")

    def actions(self):
        """Returns the changes that are possible now."""
        if not self.here:
            return [self.create]
        return [self.delete, self.remake, self.rename, self.switch, self.enslave, self.address,
                self.filter, self.move, self.mtu]

    def settle(self):
        """Returns true if the last change makes Weir open the port again."""
        back = self.here and not self.opened and self.name == self.port
        self.opened |= back
        return back

    def expected(self):
        """Returns (link, name, alarms) that Weir must show."""
        if not self.opened:
            return "GONE", "", {"port_gone"}
        alarms = ({"port_altered"} if self.beside else set()) | \
            ({"port_renamed"} if self.name != self.port else set()) | \
            ({"link_down"} if not self.up else set())
        return "UP" if self.up else "DOWN", self.name, alarms


def ip_or_tc(command, name):
    """Runs a command at an interface."""
    done = subprocess.run(command.format(name).split(), capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"{command.format(name)}: {done.stderr}")


def shown(weir, port):
    """Returns (link, name, alarms) of a port; asserts no alarm of another one."""
    mine = next(p for p in weir.get("/weir/ports") if p["name"] == port)
    health = weir.get("/weir/health")
    others = [text for text in health["alarms"] if text.startswith("port ")
              and not text.startswith(f"port {port}:")]
    expect(not others, f"{others}")
    return mine["link"], mine["interface"], {a for a in ALARMS if health["active"][a]}


def cross(marks, source, target):
    """Each frame crosses once. One goes first: after a lost link, af_packet sends a first frame
    together with the next one."""
    frames = [ip_frame(next(marks)) for _ in range(FRAMES)]
    with raw("t" + target) as receiver, raw("t" + source) as sender:
        def wake():
            sender.send(ip_frame(next(marks)))
            return select.select([receiver], [], [], 0.05)[0]

        wait_until(wake, "no frame crosses")
        for frame in frames:
            sender.send(frame)
        got = []
        while len(got) < FRAMES:
            frame = receiver.recv(65536)
            got += [frame] if frame in frames else []
        receiver.settimeout(0.05)
        try:
            while True:
                expect(receiver.recv(65536) not in frames, "a frame came twice")
        except TimeoutError:
            pass
    expect(got == frames, "frames are lost or out of order")


def reopen(weir, kind, before):
    """Waits until Weir uses an interface that has returned."""
    if kind == "af_packet":
        wait_until(lambda: weir.log().count(AGAIN) > before, "the port is not opened again")
    else:
        expect(weir.wait() == RESTARTS, f"exit status {weir.process.returncode}")
        weir.hang_up()
        weir.start()


@contextlib.contextmanager
def cables(*names):
    """Creates cables that are removed at the end. The scenario can remove them earlier."""
    try:
        for name in names:
            make(name)
        yield
    finally:
        for name in names:
            subprocess.run(["ip", "link", "del", "dev", "t" + name], check=False,
                           capture_output=True)


def changes(scene, kind):
    """Runs the random sequence at a random end."""
    rng = random.Random(f"{SEED} {kind}")
    moved, other = rng.sample(("wa", "wb"), 2)
    worst, done, marks = 0, [], iter(range(1, 1 << 60))
    with cables("wa", "wb"):
        end, weir = End(moved, rng), scene.box(config(kind, "wa", "wb")).start()

        def as_expected():
            wait_until(lambda: shown(weir, moved) == end.expected(),
                       lambda: f"{done}: {shown(weir, moved)} is not {end.expected()}")

        as_expected()
        while len(done) < STEPS:
            action = rng.choice(end.actions())
            done.append(action.__name__)
            before, began = weir.log().count(AGAIN), time.monotonic()
            action()
            if end.settle():
                reopen(weir, kind, before)
            as_expected()
            worst = max(worst, time.monotonic() - began)
            if end.opened and end.up:
                cross(marks, moved, other)
                cross(marks, other, moved)
        weir.stop()
    return f"seed {SEED}: {' '.join(done)}; shown after {worst:.1f} s at most"


def changes_af_packet(scene):
    """The port is opened again while the process runs."""
    return changes(scene, "af_packet")


def changes_af_xdp(scene):
    """The process exits for a restart."""
    return changes(scene, "af_xdp")


def changes_xdp(scene):
    """A port of the XDP data plane: the process exits, too."""
    return changes(scene, "xdp")


def others_go_on(scene):
    """Both ends of one wire are made again; no packet of another wire is lost."""
    names, marks = ("wa", "wb", "va", "vb"), iter(range(1, 1 << 60))
    with cables(*names), raw("tva") as sender, raw("tvb") as receiver:
        weir = scene.box(config("af_packet", *names)).start()
        sent, got = [], []

        def opened():
            sent.append(ip_frame(next(marks)))
            sender.send(sent[-1])
            time.sleep(0.001)
            return weir.log().count(AGAIN) == 2

        for name in ("wa", "wb"):
            ip(f"link del dev t{name}")
            make(name)
        wait_until(opened, "the ports are not opened again")
        while len(got) < len(sent):
            frame = receiver.recv(65536)
            got += [frame] if frame[:12] == sent[0][:12] else []
        expect(got == sent, "frames of the other wire are lost")
        cross(marks, "wa", "wb")
        cross(marks, "wb", "wa")
        weir.stop()
    return f"{len(sent)} frames"


def become_nobody():
    """Switches to an unprivileged user without groups."""
    box.die_with_parent()
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)


def only_a_name(scene):
    """An unprivileged process that takes the name of a claim does not stop a start."""
    with cables("wa", "wb"):
        hold = ("import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); "
                f"s.bind('\\0weir-interface-{socket.if_nametoindex('wa')}'); s.listen(); "
                "print(flush=True); sys.stdin.read()")
        with subprocess.Popen(["/usr/bin/python3", "-c", hold], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, preexec_fn=become_nobody) as blocker:
            expect(blocker.stdout.readline(), "the name is not taken")
            scene.box(config("af_packet", "wa", "wb")).start().stop()
            blocker.stdin.close()


def one_owner(scene):
    """A second limiter is refused, with the name of the first."""
    for kind in KINDS:
        with cables("wa", "wb"):
            first = scene.box(config(kind, "wa", "wb"), "first-" + kind).start()
            for other in KINDS:
                second = scene.box(config(other, "wa", "wb"), f"{kind}-{other}").spawn()
                expect(second.wait() == 1, f"exit status {second.process.returncode}")
                expect(f"pid {first.process.pid} (" in second.log()
                       and first.config_path in second.log(), second.log())
            first.stop()
            if kind == "af_packet":
                second.start().stop()


def setup():
    """Sets up all namespaces of this process."""
    box.enter_netns()
    box.enter_bpf_files()
    ip("link add name weir-br type bridge")
    ip(f"netns add {AWAY}")


SCENARIOS = [changes_af_packet, changes_af_xdp, changes_xdp, others_go_on, only_a_name, one_owner]

if __name__ == "__main__":
    try:
        box.main(SCENARIOS, setup)
    finally:
        subprocess.run(["ip", "netns", "del", AWAY], check=False, capture_output=True)

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A guest with pairs of PCI cards between two network namespaces of this machine.

    near: tap n0 ── card ┐                 ┌ card ── far: tap n0
          tap n1 ── card ┤  guest: wires   ├ card ──      tap n1

KVM is not used. The CPUs are emulated, so that speeds have no meaning. The guest has no network of
its own. It receives commands through a serial port, and QEMU receives them through QMP. The
namespaces have no name and QEMU ends with its parent, so that nothing is left after a test.
"""

import base64
import contextlib
import fcntl
import json
import os
import socket
import struct
import subprocess
import tempfile
import threading
import time

import box
import guest
from box import Skip, expect, wait_until

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR, IFF_MULTI_QUEUE = 0x0002, 0x1000, 0x4000, 0x0100
CLONE_NEWNET = 0x40000000
BOOTS = 3
BOOT_S = 240  # for a loaded machine
SETTINGS = {  # in each namespace
    "ipv4/tcp_congestion_control": "reno", "ipv4/tcp_no_metrics_save": "1",
    "ipv6/conf/default/accept_dad": "0", "ipv6/conf/default/router_solicitations": "0",
    "ipv6/conf/default/accept_ra": "0",
}

# Cards that QEMU emulates and DPDK can drive.
CARDS = {
    "e1000": ("e1000", "pcie-pci-bridge"),
    "e1000e": ("e1000e", ""),
    "igb": ("igb", ""),  # since QEMU 8
    "virtio": ("virtio-net-pci,disable-legacy=on", ""),
    "virtio-small": ("virtio-net-pci,disable-legacy=on,mrg_rxbuf=off", ""),
    "virtio-packed": ("virtio-net-pci,disable-legacy=on,packed=on", ""),
    "virtio-rss": ("virtio-net-pci,disable-legacy=on,mq=on,vectors=6,rss=on,hash=on", ""),
    "vmxnet3": ("vmxnet3", ""),
}
QUEUES = {"virtio-rss": 2}  # queues of the tap; otherwise 1


class Side:
    """A network namespace with a tap for each wire: the machines at one end of all wires."""

    def __init__(self):
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            if box.LIBC.unshare(CLONE_NEWNET):
                raise Skip("no network namespaces")
            self.namespace = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
            self.sh("ip link set lo up")
            for name, value in SETTINGS.items():
                with open(f"/proc/sys/net/{name}", "w", encoding="ascii") as file:
                    file.write(value)
        finally:
            box.LIBC.setns(home, CLONE_NEWNET)
            os.close(home)

    @contextlib.contextmanager
    def inside(self):
        """Moves this thread into the namespace, with its new sockets and processes."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        expect(box.LIBC.setns(self.namespace, CLONE_NEWNET) == 0, "cannot go there")
        try:
            yield
        finally:
            box.LIBC.setns(home, CLONE_NEWNET)
            os.close(home)

    def sh(self, line):
        """Returns the output of a command in the namespace; for __init__ and with inside()."""
        done = subprocess.run(line, shell=True, check=False, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        expect(done.returncode == 0, f"{line}: {done.stderr}")
        return done.stdout

    def tap(self, name, queues, addresses):
        """Makes a tap and returns its descriptors, for QEMU."""
        flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | (IFF_MULTI_QUEUE if queues > 1 else 0)
        fds = []
        with self.inside():
            for _ in range(queues):
                fds.append(os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK))
                fcntl.ioctl(fds[-1], TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
            self.sh(f"ip link set {name} up; "
                    + "; ".join(f"ip addr add {one} dev {name} nodad" for one in addresses))
        return fds

    def set_mtu(self, name, mtu):
        """Sets the MTU of a tap."""
        with self.inside():
            self.sh(f"ip link set {name} mtu {mtu}")

    def dropped(self, name):
        """Returns the number of packets that QEMU did not take from a tap."""
        with self.inside():
            link, = json.loads(self.sh(f"ip -s -j link show {name}"))
        return link["stats64"]["tx"]["dropped"]


class Pair:
    """Two cards of a kind, and the addresses at both ends of their wire."""

    def __init__(self, kind, index, iommu=False):
        self.iommu = iommu
        self.kind, self.index, self.tap = kind, index, f"n{index}"
        self.queues = QUEUES.get(kind, 1)
        self.near, self.far = f"10.77.{index}.1", f"10.77.{index}.2"
        self.near6, self.far6 = f"fd77:{index}::1", f"fd77:{index}::2"
        self.ports = (f"{kind}-near", f"{kind}-far")
        self.ids = (f"nic{2 * index}", f"nic{2 * index + 1}")
        self.addresses = ()  # on the guest's PCI bus

    def devices(self, fds):
        """Returns QEMU's arguments for the descriptors of both taps."""
        words = []
        device, bridge = CARDS[self.kind]
        for end, name in enumerate(self.ids):
            slot = 2 * self.index + end + 1
            bus = f"rp{slot}"
            words += ["-device", f"pcie-root-port,id={bus},chassis={slot},slot={slot}"]
            if bridge:
                words += ["-device", f"{bridge},id=br{slot},bus={bus}"]
                bus = f"br{slot},addr=1"
            word = "fds" if self.queues > 1 else "fd"
            words += ["-netdev", f"tap,id=net{slot},{word}={':'.join(map(str, fds[end]))}",
                      "-device", self.card(end)]
        return words

    def card(self, end):
        """Returns QEMU's device for one end."""
        device, bridge = CARDS[self.kind]
        slot = 2 * self.index + end + 1
        bus = f"br{slot},addr=1" if bridge else f"rp{slot}"
        if self.iommu and device.startswith("virtio"):
            device += ",iommu_platform=on"  # otherwise it bypasses the IOMMU
        return (f"{device},netdev=net{slot},id={self.ids[end]},bus={bus},"
                f"mac=02:77:00:00:{self.index:02x}:1{end}")


class Serial:
    """Runs commands through process 1 of the guest, one at a time."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.buffer, self.serial = b"", 0
        self.lock = threading.Lock()

    def until(self, mark, timeout):
        """Returns the text before a mark, and the rest of the mark's line."""
        deadline = time.monotonic() + timeout
        while True:
            at = self.buffer.find(mark)
            end = self.buffer.find(b"\n", at) if at >= 0 else -1
            if end >= 0:
                before, line = self.buffer[:at], self.buffer[at + len(mark):end]
                self.buffer = self.buffer[end + 1:]
                return before.decode(errors="replace"), line.decode().strip()
            more = b""
            with contextlib.suppress(TimeoutError):
                self.socket.settimeout(max(0.01, deadline - time.monotonic()))
                more = self.socket.recv(65536)
                expect(more, "the guest is gone")
            expect(more, f"no {mark} from the guest in {timeout} s, but {self.buffer[-200:]}")
            self.buffer += more

    def ask(self, line, timeout):
        """Runs a shell command; returns (exit status, output)."""
        with self.lock:
            self.serial += 1
            self.socket.sendall(f"{self.serial} {line}\n".encode())
            out, status = self.until(f"@@{self.serial} ".encode(), timeout)
        return int(status), out.replace("\r\n", "\n").rstrip("\n")


class Qmp:
    """QEMU's control socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(box.PATIENCE_S)
        self.socket.connect(path)
        self.file = self.socket.makefile("r")
        self.file.readline()
        self.lock = threading.Lock()
        self.tell("qmp_capabilities")

    def tell(self, command, **arguments):
        """Sends a command and waits for its end."""
        with self.lock:
            self.socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
            while True:
                reply = json.loads(self.file.readline())
                expect("error" not in reply, f"{command}: {reply}")
                if "return" in reply:
                    return


class Lab:
    """Two namespaces, and a booted guest between them."""

    def __init__(self, kinds, *, pages, cpus=2, iommu=False):
        self.pairs = [Pair(kind, index, iommu) for index, kind in enumerate(kinds)]
        self.pages, self.cpus, self.iommu = pages, cpus, iommu
        self.driver = "vfio-pci" if iommu else "uio_pci_generic"
        self.folder = tempfile.TemporaryDirectory(prefix="weir-vm-")
        self.near = self.far = self.qemu = self.serial = self.qmp = None

    def path(self, name):
        """Returns the path of a file of this lab."""
        return os.path.join(self.folder.name, name)

    def __enter__(self):
        try:
            self.near, self.far = Side(), Side()
            guest.build(self.folder.name)
            self.boot()
            for _ in range(BOOTS - 1):
                if self.clock_agrees():
                    break
                self.end()
                self.boot()
            else:
                expect(self.clock_agrees(), f"{BOOTS} guests have had a clock of their own")
            self.find_cards()
        except BaseException:
            self.__exit__()
            raise
        return self

    def command(self, fds):
        """Returns QEMU's command line for the taps' descriptors."""
        # The clock of an emulated CPU need not be calibrated, and there are no attackers.
        words = (f"console=ttyS0 quiet panic=-1 weir.pages={self.pages} "
                 f"weir.driver={self.driver} "
                 "tsc=reliable no_timer_check mitigations=off"
                 + (" intel_iommu=on" if self.iommu else ""))
        return ["qemu-system-x86_64", "-machine", "q35,kernel-irqchip=split", "-accel",
                "tcg,thread=multi", "-cpu", "max", "-m", str(512 + 2 * self.pages), "-smp",
                str(self.cpus), "-nodefaults", "-display", "none", "-no-reboot",
                "-kernel", self.path("kernel"), "-initrd", self.path("initrd"), "-append", words,
                "-chardev", f"file,id=con,path={self.path('console')}", "-serial", "chardev:con",
                "-chardev", f"socket,id=agent,path={self.path('agent')},server=on,wait=off",
                "-serial", "chardev:agent",
                "-qmp", f"unix:{self.path('qmp')},server=on,wait=off",
                *(["-device", "intel-iommu,intremap=on"] if self.iommu else []),
                *(word for pair, of_pair in zip(self.pairs, fds) for word in pair.devices(of_pair))]

    def boot(self):
        """Starts QEMU, and waits until process 1 of the guest reads commands."""
        fds = [(self.near.tap(pair.tap, pair.queues, (pair.near + "/24", pair.near6 + "/64")),
                self.far.tap(pair.tap, pair.queues, (pair.far + "/24", pair.far6 + "/64")))
               for pair in self.pairs]
        flat = [fd for pair in fds for end in pair for fd in end]
        with open(self.path("qemu.log"), "wb") as log:
            self.qemu = subprocess.Popen(self.command(fds), stdout=log, stderr=log,
                                         stdin=subprocess.DEVNULL, pass_fds=flat,
                                         preexec_fn=box.die_with_parent)
        for fd in flat:
            os.close(fd)
        try:
            wait_until(lambda: self.qemu.poll() is not None or os.path.exists(self.path("qmp")),
                       "QEMU does not start")
            self.qmp = Qmp(self.path("qmp"))
            self.serial = Serial(self.path("agent"))
            self.serial.until(b"@@ready", BOOT_S)
        except Exception:
            print(self.said("qemu.log") + self.said("console"))
            raise

    def said(self, name):
        """Returns the end of a file of this lab."""
        with contextlib.suppress(FileNotFoundError):
            with open(self.path(name), encoding="utf-8", errors="replace") as file:
                return file.read()[-4000:]
        return ""

    def find_cards(self):
        """Finds the cards of each pair. Slots have the same order as ports."""
        found = self.cards()
        for pair in self.pairs:
            pair.addresses = found[2 * pair.index:2 * pair.index + 2]

    def cards(self):
        """Returns the addresses of all Ethernet cards."""
        return self.sh("for d in /sys/bus/pci/devices/*; do case $(cat $d/class) in"
                       " 0x0200*) echo ${d##*/};; esac; done").split()

    def ask(self, line, timeout=box.PATIENCE_S):
        """Runs a shell command in the guest; returns (exit status, output)."""
        return self.serial.ask(line, timeout)

    def sh(self, line, timeout=box.PATIENCE_S):
        """Runs a shell command that must succeed; returns its output."""
        status, out = self.ask(line, timeout)
        expect(status == 0, f"in the guest: {line}: {status}: {out}")
        return out

    def put(self, path, text):
        """Writes a file of the guest."""
        self.sh(f"echo {base64.b64encode(text.encode()).decode()} | base64 -d >{path}")

    @contextlib.contextmanager
    def mtu(self, pair, mtu):
        """Sets the MTU of a pair's taps for the duration of a with-block."""
        try:
            for side in (self.near, self.far):
                side.set_mtu(pair.tap, mtu)
            yield
        finally:
            for side in (self.near, self.far):
                side.set_mtu(pair.tap, 1500)

    def cable(self, pair, end, plugged):
        """Plugs or pulls the cable of a card."""
        self.qmp.tell("set_link", name=pair.ids[end], up=plugged)

    def remove(self, pair, end):
        """Removes a card, and waits until the guest has released it."""
        self.qmp.tell("device_del", id=pair.ids[end])
        wait_until(lambda: pair.addresses[end] not in self.cards(), "the card does not go")

    def put_back(self, pair, end):
        """Adds a card of the same kind at the same place, and gives it to DPDK."""
        self.qmp.tell("human-monitor-command", **{"command-line": "device_add " + pair.card(end)})
        wait_until(lambda: pair.addresses[end] in self.cards(), "no card comes")
        self.sh(f"cd /sys/bus/pci/devices/{pair.addresses[end]}; echo {self.driver} "
                f">driver_override; echo {pair.addresses[end]} >/sys/bus/pci/drivers_probe")

    def clock_agrees(self):
        """Returns true if the guest's seconds are as long as here. Its kernel calibrates its clock
        at the boot, which is wrong on a loaded machine, and limiters depend on it."""
        moments = []
        for _ in range(2):
            before = time.monotonic()
            uptime = float(self.sh("cat /proc/uptime").split()[0])
            moments.append((uptime, (before + time.monotonic()) / 2))
            time.sleep(1.5 if len(moments) == 1 else 0)
        there, here = (b - a for a, b in zip(*moments))
        if abs(there / here - 1) < 0.04:
            return True
        print(f"  the guest's clock goes {there / here:.2f} times as fast: another one", flush=True)
        return False

    def end(self):
        """Kills the guest, whose state is not needed."""
        self.qemu.kill()
        self.qemu.wait()
        self.qemu = None
        for name in ("qmp", "agent"):
            os.unlink(self.path(name))

    def __exit__(self, *_):
        if self.qemu:
            self.qemu.kill()
            self.qemu.wait()
        for side in (self.near, self.far):
            if side:
                os.close(side.namespace)
        self.folder.cleanup()

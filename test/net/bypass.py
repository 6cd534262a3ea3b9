#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A wire outlives its process: packets pass while Weir is killed, stalled, stopped and started
again, over AF_XDP and packet sockets.

Runs in network and mount namespaces of its own. Usage: bypass.py [SCENARIO...].
"""

import contextlib
import glob
import os
import random
import signal
import struct
import subprocess
import threading
import time

import box
from box import expect, ip, wait_until
from lifecycle import raw, udp_frame

PINS = "/sys/fs/bpf/weir/box1/*"
POLICIES = [{"name": "udp", "match": {"direction": "a-to-b"}, "limit": "1Gbit/s"}]
AFTER_MS = 100  # default of "fail_after"
RATE_S = 0.0005  # seconds between two packets
PIN_ROUNDS = 4
MANY_MS = 2000  # a gap of this length means a dead wire


def setup():
    """A network of its own, and a BPF file system that ends with this process."""
    box.enter_netns()
    box.enter_bpf_files()


class Stream(threading.Thread):
    """Numbered packets at a steady rate from one end of the wire, and when each arrives."""

    def __init__(self):
        super().__init__(daemon=True)
        self.sent = 0
        self.got = {}  # serial: time of arrival
        self.ends = threading.Event()
        self.taker = threading.Thread(target=self._take, daemon=True)

    def __enter__(self):
        self.tx, self.rx = raw("ta"), raw("tb")
        self.rx.settimeout(0.2)
        self.taker.start()
        self.start()
        return self

    def run(self):
        while not self.ends.is_set():
            self.tx.send(udp_frame(1000 + self.sent % 16, self.sent))
            self.sent += 1
            time.sleep(RATE_S)

    def _take(self):
        while True:
            with contextlib.suppress(TimeoutError):
                frame = self.rx.recv(65536)
                if frame[12:14] == b"\x08\x00":
                    self.got[struct.unpack(">I", frame[42:46])[0]] = time.monotonic()
                continue
            if self.ends.is_set():
                return

    def more(self, packets):
        """Waits until this number of further packets arrives."""
        before = len(self.got)
        wait_until(lambda: len(self.got) >= before + packets, "nothing arrives")

    def gap_ms(self, act):
        """The longest gap between packets, from before an action until long after it."""
        began = time.monotonic()
        act()
        self.more(1000)
        times = [began] + [t for t in sorted(self.got.values()) if t >= began]
        gap = max(b - a for a, b in zip(times, times[1:])) * 1e3
        expect(gap < MANY_MS, f"nothing for {gap:.0f} ms")
        return gap

    def lost(self):
        """Number of packets sent until now that never arrive."""
        upto = self.sent
        wait_until(lambda: self.got and max(self.got) > upto, "nothing arrives")
        return upto - sum(1 for serial in list(self.got) if serial < upto)

    def __exit__(self, *_):
        self.ends.set()
        self.join()
        self.taker.join()
        self.tx.close()
        self.rx.close()


def cable(end, port):
    """A cable whose other end receives frames from XDP because it has NAPI."""
    ip(f"link add {end} type veth peer name {port}")
    for name in (end, port):
        with open(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6", "w", encoding="ascii") as file:
            file.write("1")
        ip(f"link set dev {name} up promisc on")
    subprocess.run(["ethtool", "-K", end, "gro", "on"], check=True, capture_output=True)


def remove_pins(pattern):
    """State of limiters that is left in the kernel; the files of a directory come first."""
    for pin in glob.glob(f"{pattern}/*") + glob.glob(pattern):
        (os.rmdir if os.path.isdir(pin) else os.unlink)(pin)


@contextlib.contextmanager
def box_between(scene, config):
    """A limiter that was never started, between two cables: ta to a, and b to tb."""
    try:
        cable("ta", "a")
        cable("tb", "b")
        yield scene.box(config, "box1")
    finally:
        for weir in scene.boxes:
            weir.kill()
        remove_pins(PINS)
        for name in ("ta", "tb"):
            subprocess.run(["ip", "link", "del", "dev", name], capture_output=True, check=False)


def wire(scene, driver, **keys):
    """A port of a DPDK driver."""
    config = box.wire(f"{driver}0,iface=a", f"{driver}1,iface=b", policies=POLICIES)
    config["wires"][0] |= {"fail": "open"} | keys
    return box_between(scene, config)


def served(weir, stream):
    """Waits until packets pass through Weir."""
    def so():
        rx = weir.total("rx_packets")
        stream.more(50)
        return weir.total("rx_packets") >= rx + 20
    wait_until(so, "packets go past")


def lives(scene, driver):
    """The wire works while Weir is killed, started, stopped and started."""
    said = []
    with wire(scene, driver) as weir:
        weir.start()
        with Stream() as stream:
            stream.more(100)
            served(weir, stream)
            gap = stream.gap_ms(weir.kill)
            said.append(f"killed: nothing for {gap:.0f} ms")
            lost = stream.lost()
            gap = stream.gap_ms(weir.start)
            served(weir, stream)
            said.append(f"started: {gap:.0f} ms, {stream.lost() - lost} lost")
            expect("went straight to the other port" in weir.log(), "it does not say so")
            lost = stream.lost()
            gap = stream.gap_ms(weir.stop)
            said.append(f"stopped: {gap:.0f} ms, {stream.lost() - lost} lost")
            weir.start()
            served(weir, stream)
            weir.stop()
            weir.config["wires"][0] = {"name": "w", "a": "a", "b": "b"}
            weir.write()
            weir.start()
            stream.more(100)
            expect(not glob.glob(PINS), f"still there: {glob.glob(PINS)}")
            weir.kill()
            n = len(stream.got)
            time.sleep(0.5)
            expect(len(stream.got) <= n + 100, "it fails to a wire unasked")
    return "; ".join(said)


def af_xdp(scene):
    """AF_XDP sockets, which end with their process."""
    return lives(scene, "net_af_xdp")


def af_packet(scene):
    """Packet sockets, which get the packets that the program passes to the stack."""
    return lives(scene, "net_af_packet")


def checksums(interface):
    """True if the kernel leaves checksums to the device."""
    lines = subprocess.run(["ethtool", "-k", interface], check=True, capture_output=True,
                           text=True).stdout
    return "tx-checksumming: on" in lines


def left_fit(scene):
    """A clean stop restores offloads only if no program of the wire continues."""
    with wire(scene, "net_af_packet") as weir:
        expect(checksums("ta"), "the cable has no offloads")
        weir.start().stop()
        expect(not checksums("ta"), "packets of this kernel get wrong checksums from now on")
        weir.start().kill()
        expect(not checksums("ta"), "it was killed")
        weir.config["wires"][0] = {"name": "w", "a": "a", "b": "b"}
        weir.write()
        weir.start().stop()
        expect(checksums("ta"), "the offloads are not restored when the program is gone")


def stands_still(scene):
    """The lease detects a stalled process, which reports that later and serves the wire again."""
    with wire(scene, "net_af_xdp") as weir, Stream() as stream:
        weir.start()
        stream.more(100)
        served(weir, stream)
        gap = stream.gap_ms(lambda: weir.process.send_signal(signal.SIGSTOP))
        weir.process.send_signal(signal.SIGCONT)
        served(weir, stream)
        wait_until(lambda: weir.get("/weir/ports")[0]["past_packets"] > 0, "it is not counted")
        wait_until(lambda: "past every limit: a worker" in weir.log(), "it is not said")
        wait_until(lambda: weir.get("/weir/health")["alarms"] == [], "the alarm lasts")
        expect("pass through Weir again" in weir.log(), "its end is not said")
        weir.stop()
    return f"nothing for {gap:.0f} ms at a lease of {AFTER_MS} ms"


def refused(scene):
    """A missing BPF file system, or the program of another limiter, is an error with a remedy.

    The doctor reports it too. It lasts until the directory is removed.
    """
    with wire(scene, "net_af_xdp") as weir:
        subprocess.run(["umount", "/sys/fs/bpf"], check=True)
        try:
            status, _, words = weir.run("-c", weir.config_path)
            _, found, _ = weir.run("--doctor", weir.config_path)
        finally:
            subprocess.run(["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"], check=True)
        expect(status != 0 and "mount -t bpf bpf /sys/fs/bpf" in words, words)
        expect("mount -t bpf bpf /sys/fs/bpf" in found, found)
        _, found, _ = weir.run("--doctor", weir.config_path)
        expect("mount -t bpf" not in found, found)
        same = {key: weir.config[key] for key in ("ports", "wires", "policies")}
        other = scene.box(same, "an.other").start()
        other.kill()
        status, _, words = weir.run("-c", weir.config_path)
        expect(status != 0 and "the XDP program of limiter an.other is there" in words
               and "no process serves it: rm -r /sys/fs/bpf/weir/an%other" in words, words)
        subprocess.run(["rm", "-r", "/sys/fs/bpf/weir/an%other"], check=True)
        weir.start().stop()


def removed(scene):
    """Pins are removed at random: Weir pins them again, and the wire outlives the process."""
    seed = int(os.environ.get("WEIR_SEED", "1"), 0)
    draw, words = random.Random(seed), 0
    config = box.wire("xdp:a", "xdp:b", policies=POLICIES)
    config["wires"][0]["fail"] = "wire"
    with box_between(scene, config) as weir:
        weir.start()
        pins = {pin for pattern in (PINS, f"{PINS}/*") for pin in glob.glob(pattern)
                if os.path.isfile(pin)}
        for _ in range(PIN_ROUNDS):
            gone = draw.sample(sorted(pins), draw.randrange(1, len(pins) + 1))
            for pin in gone:
                os.unlink(pin)
            if len(gone) == len(pins):
                subprocess.run(["rm", "-r", os.path.dirname(PINS)], check=True)
            words += len(gone)
            wait_until(lambda: all(map(os.path.exists, pins)), f"seed {seed}: {gone} are missing")
        expect("pins of the XDP programs were removed" in weir.log(), "no event")
        with Stream() as stream:
            stream.more(100)
            gap = stream.gap_ms(weir.kill)
        weir.start()
        subprocess.run(["umount", "/sys/fs/bpf"], check=True)
        try:
            wait_until(lambda: weir.get("/weir/health")["active"]["pins_missing"] == 1, "no alarm")
        finally:
            subprocess.run(["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"], check=True)
        wait_until(lambda: weir.get("/weir/health")["active"]["pins_missing"] == 0, "it lasts")
        weir.stop()
        expect(all(map(os.path.exists, pins)), "they are not all back")
    return f"{words} pins in {PIN_ROUNDS} rounds; killed: nothing for {gap:.0f} ms; seed {seed}"


if __name__ == "__main__":
    box.main([af_xdp, af_packet, left_fit, stands_still, refused, removed], setup=setup)

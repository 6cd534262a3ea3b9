#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Real TCP through a live limiter on interfaces that merge packets. Weir must see each packet of
the wire.

The ends are in network namespaces of their own, so that the kernel sends through the wire:

    weir-tl: l ──veth── a │weir│ b ──veth── r :weir-tr
"""

import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time

import box
from box import PATIENCE_S, Skip, expect, ip, wait_until
from lifecycle import raw

LIMIT = 100e6
SECONDS = 4
LEFT, RIGHT = "10.9.0.1", "10.9.0.2"
ENDS = (("weir-tl", "l", "a", LEFT), ("weir-tr", "r", "b", RIGHT))
POLICY = {"policies": [{"name": "all", "match": {"direction": "a-to-b"},
                        "limit": f"{LIMIT / 1e6:g}Mbit/s", "allocator": "central"}]}
UNPRIVILEGED = 65534
PACKET_AUXDATA, TP_STATUS_VLAN_VALID = 8, 16
SOL_PACKET, PACKET_FANOUT, PACKET_FANOUT_CPU = 263, 18, 2


def run(*command, check=True):
    """Runs a command; returns its standard output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expect(not check or done.returncode == 0, f"{command}: {done.stderr}")
    return done.stdout


def feature(interface, name):
    """True if ethtool reports the offload as on."""
    lines = run("ethtool", "-k", interface).splitlines()
    return next(line.split()[1] == "on" for line in lines if line.strip().startswith(name + ":"))


class Ends:
    """Two namespaces and the cables from them to this one."""

    def __enter__(self):
        self.__exit__()
        for name, outer, inner, address in ENDS:
            ip(f"netns add {name}")
            ip(f"link add name {inner} type veth peer name {outer} netns {name}")
            ip(f"link set dev {inner} up")
            ip(f"-n {name} addr add {address}/24 dev {outer}")
            ip(f"-n {name} link set dev {outer} up")
            # Like the other end of a cable: whole frames with their checksums.
            run("ip", "netns", "exec", name, "ethtool", "-K", outer, "tx", "off")
        return self

    def __exit__(self, *_):
        for name, _, inner, _ in ENDS:
            run("ip", "link", "del", "dev", inner, check=False)
            run("ip", "netns", "del", name, check=False)


def config(**more):
    """Returns a wire between the cables. `more` is added to each port."""
    made = box.wire("net_af_packet0,iface=a", "net_af_packet1,iface=b") | POLICY
    for port in made["ports"].values():
        port.update(more)
    return made


def serve(result, ready):
    """Counts the bytes of one connection."""
    with open("/run/netns/weir-tr", "rb") as file:
        box.LIBC.setns(file.fileno(), 0)
    with socket.create_server((RIGHT, 5000)) as listener:
        ready.set()
        listener.settimeout(box.PATIENCE_S)
        connection = listener.accept()[0]
        connection.settimeout(box.PATIENCE_S)
        with connection:
            while data := connection.recv(1 << 20):
                result.append((time.monotonic(), len(data)))


def send():
    """Sends for some seconds."""
    with open("/run/netns/weir-tl", "rb") as file:
        box.LIBC.setns(file.fileno(), 0)
    with socket.socket() as s:
        s.settimeout(box.PATIENCE_S)
        s.connect((RIGHT, 5000))
        until = time.monotonic() + SECONDS
        s.settimeout(1)
        while time.monotonic() < until:
            try:
                s.send(bytes(1 << 16))
            except TimeoutError:
                pass
        # Data in flight does not matter.
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def tcp_rate():
    """Returns the bit/s of a connection through the limiter."""
    result, ready = [], threading.Event()

    def receive():
        try:
            serve(result, ready)
        except ConnectionResetError:
            pass

    threads = [threading.Thread(target=receive), threading.Thread(target=send)]
    threads[0].start()
    expect(ready.wait(PATIENCE_S), "nobody listens")
    threads[1].start()
    for thread in threads:
        thread.join()
    return 8 * sum(n for _, n in result) / SECONDS


def merging_is_switched_off(scene):
    """With GRO on at first, TCP gets the rate of its limit. GRO is on again at the end."""
    with Ends():
        for inner in ("a", "b"):
            run("ethtool", "-K", inner, "gro", "on")
        weir = scene.box(config()).start()
        expect(not feature("a", "generic-receive-offload"), "GRO is on")
        expect("switched off while weir runs: a: rx-gro" in weir.log(), weir.log())
        expect(all(p["offloads"] == "" for p in weir.get("/weir/ports")), "telemetry")
        rate = tcp_rate()
        expect(0.5 * LIMIT < rate < 1.3 * LIMIT, f"{rate / 1e6:.2f} of {LIMIT / 1e6:g} Mbit/s")
        expect(weir.get("/weir/drops")["oversize"] == 0, "merged frames came")
        weir.stop()
        expect(feature("a", "generic-receive-offload"), "GRO of a was not put back")
        expect(feature("b", "generic-receive-offload"), "GRO of b was not put back")
        return f"{rate / 1e6:.1f} of {LIMIT / 1e6:g} Mbit/s"


def promiscuity(interface):
    """Returns the number of users that need the interface to be promiscuous."""
    return json.loads(run("ip", "-d", "-j", "link", "show", "dev", interface))[0]["promiscuity"]


def promiscuous_while_it_runs(scene):
    """An interface is promiscuous until the process ends, however it ends."""
    words = []
    for driver in ("net_af_packet", "net_af_xdp"):
        with Ends():
            made = box.wire(f"{driver}0,iface=a", f"{driver}1,iface=b") | POLICY
            weir = scene.box(made, driver).start()
            running = promiscuity("a")
            weir.stop()
            stopped = promiscuity("a")
            weir.start().kill()
            killed = promiscuity("a")
            expect(running > 0 and stopped == 0 and killed == 0,
                   f"{driver}: {running} while it runs, {stopped} after a stop, {killed} killed")
            words.append(driver)
    return ", ".join(words)


def ignored_and_counted(scene):
    """If the offload is allowed, merged frames are dropped and counted, and an event reports it."""
    with Ends():
        run("ethtool", "-K", "a", "gro", "on")
        weir = scene.box(config(offloads="ignore")).start()
        expect(feature("a", "generic-receive-offload"), "switched off in spite of ignore")
        expect("warning: rx-gro of a" in weir.log(), weir.log())
        expect(weir.get("/weir/ports")[0]["offloads"] == "a:rx-gro", "telemetry")
        rate = tcp_rate()
        n_drops = weir.get("/weir/drops")["oversize"]
        expect(n_drops > 0, "merged frames are not counted")
        rx, tx = weir.total("rx_packets"), weir.total("tx_packets")
        reasons = sum(sum(w["dropped"].values()) for w in weir.get("/weir/workers"))
        expect(rx == tx + reasons, f"{rx} came, {tx} went, {reasons} dropped")
        weir.stop()
        return f"{rate / 1e6:.2f} Mbit/s, {n_drops} frames too long"


def refused(scene):
    """A limiter that may not switch offloads does not start, and prints the command."""
    with Ends():
        run("ethtool", "-K", "a", "gro", "on")
        weir = scene.box(config(offloads="refuse"))
        status, _, err = weir.run("-c", weir.config_path)
        expect(status == 1 and "ethtool -K a gro off" in err, f"{status}: {err}")
        expect(feature("a", "generic-receive-offload"), "touched")
        run("ethtool", "-K", "a", "gro", "off")
        weir.start().stop()


def switched_on_meanwhile(scene):
    """An event reports an offload that is switched on while the limiter runs."""
    with Ends():
        weir = scene.box(config()).start()
        run("ethtool", "-K", "a", "gro", "on")
        wait_until(lambda: not feature("a", "generic-receive-offload"), "GRO to be off again")
        wait_until(lambda: "another program has switched on rx-gro of a: switched off again"
                   in weir.log(), "the log to say so")
        weir.stop()
        expect(feature("a", "generic-receive-offload"), "that somebody wants it on is forgotten")
        weir = scene.box(config(offloads="ignore"), "other").start()
        run("ethtool", "-K", "b", "gro", "on")
        wait_until(lambda: "another program has switched on rx-gro of b: ethtool -K b gro off"
                   in weir.log(), "the log to say so")
        wait_until(lambda: weir.get("/weir/ports")[1]["offloads"] == "b:rx-gro", "telemetry")
        weir.stop()


def survives_a_crash(scene):
    """A killed limiter leaves GRO off. The next one restores it at its end."""
    with Ends():
        run("ethtool", "-K", "a", "gro", "on")
        weir = scene.box(config()).start()
        weir.kill()
        expect(not feature("a", "generic-receive-offload"), "a kill put it back?")
        weir.start()
        weir.stop()
        expect(feature("a", "generic-receive-offload"), "not put back after a crash")
        expect(not os.path.exists(weir.socket + ".offloads"), "the record is still there")
        # A wire on other interfaces has no state to restore.
        weir.start()
        weir.kill()
        weir.config["ports"]["a"]["device"] = "net_ring0"
        weir.write()
        weir.start()
        expect(feature("a", "generic-receive-offload"), "of an interface that is none's any more")
        weir.stop()


def other_end_of_a_veth(scene):
    """A kernel at the other end in this namespace leaves segments and checksums to the device."""
    ip("link add name ta type veth peer name a")
    ip("link add name tb type veth peer name b")
    for name in ("ta", "a", "tb", "b"):
        ip(f"link set dev {name} up")
    try:
        expect(feature("ta", "tx-checksum-ip-generic"), "veth has other defaults")
        expect(feature("ta", "tx-tcp-segmentation"), "veth has other defaults")
        weir = scene.box(config()).start()
        expect(not feature("ta", "tx-checksum-ip-generic"), "checksums are left to us")
        expect(not feature("ta", "tx-tcp-segmentation"), "segments are left to us")
        weir.stop()
        expect(feature("ta", "tx-checksum-ip-generic"), "not put back")
        expect(feature("ta", "tx-tcp-segmentation"), "not put back")
    finally:
        ip("link del dev ta")
        ip("link del dev tb")


def tagged(sender, receiver):
    """Sends a frame with a tag outside of its data. Returns it as it arrives, with its tag."""
    sender.send(b"\2\0\0\0\0\1\2\0\0\0\0\2\x88\xb5" + bytes(60))
    while True:
        data, extra, _, _ = receiver.recvmsg(2048, 64)
        status, _, _, _, _, tag, kind = struct.unpack("=IIIHHHH", extra[0][2][:20])
        if status & TP_STATUS_VLAN_VALID:
            data = data[:12] + struct.pack(">HH", kind, tag) + data[12:]
        if data[12:14] in (b"\x88\xb5", b"\x81\x00"):
            return data


def tags_of_a_veth(scene):
    """The other end leaves its tags to the device. Frames arrive tagged on each kind of port."""
    words = []
    for a, b in (("net_af_packet0,iface=a", "net_af_packet1,iface=b"),
                 ("net_af_xdp0,iface=a", "net_af_xdp1,iface=b"), ("xdp:a", "xdp:b")):
        kind = a.split(",", maxsplit=1)[0]
        for end in ("ta", "tb"):
            ip(f"link add name {end} type veth peer name {end[1]}")
            ip(f"link set dev {end} up")
            ip(f"link set dev {end[1]} up")
            run("ethtool", "-K", end, "gro", "on")
        run("tc", "qdisc", "add", "dev", "ta", "clsact")
        run("tc", "filter", "add", "dev", "ta", "egress", "bpf", "da", "obj",
            os.path.join(box.BUILD, "test", "net", "push_tag.bpf.o"), "sec", "tc")
        try:
            weir = scene.box(box.wire(a, b, policies=[{"name": "all", "limit": "1Gbit/s"}]),
                             kind.replace(":", "-")).start()
            with raw("ta") as sender, raw("tb") as receiver:
                receiver.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
                frame = tagged(sender, receiver)
            expect(frame[12:18] == b"\x81\0\0\x64\x88\xb5", f"{kind}: {frame[:20].hex()}")
            weir.stop()
            words.append(kind)
        finally:
            for weir in scene.boxes:
                weir.kill()
            ip("link del dev ta")
            ip("link del dev tb")
    return ", ".join(words)


def not_permitted(scene):
    """Without the right to switch the offload off, weir names the right and how to get it. ethtool
    is no remedy: promiscuous mode needs the same right.
    """
    with Ends():
        weir = scene.box(config())
        command = ["capsh", "--drop=cap_net_admin", "--", "-c",
                   f"{box.WEIR} -c {weir.config_path}"]
        for state in ("on", "off"):
            run("ethtool", "-K", "a", "gro", state)
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False,
                                      timeout=box.PATIENCE_S, env=weir.environment)
            except FileNotFoundError as reason:
                raise Skip("no capsh") from reason
            expect(done.returncode == 1 and
                   "weir: ports: user 0 lacks CAP_NET_ADMIN, needed to make interfaces promiscuous "
                   "and turn offloads off: start weir with systemd (weir@.service) or sudo\n"
                   in done.stderr, f"{done.returncode}: {done.stderr}")
            expect(feature("a", "generic-receive-offload") == (state == "on"), "switched after all")


def shared_with_the_kernel(scene):
    """A warning reports an interface with an address or in a bridge."""
    with Ends():
        ip("addr add 192.0.2.1/24 dev a")
        ip("link add name weir-tb type bridge")
        ip("link set dev b master weir-tb")
        try:
            weir = scene.box(config()).start()
            expect("a has the address 192.0.2.1" in weir.log(), weir.log())
            expect("b belongs to weir-tb" in weir.log(), weir.log())
            weir.stop()
        finally:
            ip("link del dev weir-tb")


def running(name, interface):
    """True if an interface in a namespace has a carrier."""
    return "LOWER_UP" in json.loads(run("ip", "-n", name, "-j", "link", "show", "dev",
                                        interface))[0]["flags"]


def link_follows(scene):
    """A lost link is lost on the other side too, returns with it, and is restored at the end."""
    with Ends():
        wanted = config()
        wanted["wires"][0]["link"] = "follow"
        weir = scene.box(wanted).start()
        for end, other in ((0, 1), (1, 0)):
            name, outer, _, _ = ENDS[end]
            far = ENDS[other][:2]
            wait_until(lambda pair=far: running(*pair), "the links to be up")
            ip(f"-n {name} link set dev {outer} down")
            wait_until(lambda pair=far: not running(*pair), "the loss to be passed on")
            ip(f"-n {name} link set dev {outer} up")
            wait_until(lambda pair=far: running(*pair), "the link to come back")
        expect("port b: taken down because port a of wire w" in weir.log(), weir.log())
        rate = tcp_rate()
        expect(rate > 0.5 * LIMIT, f"{rate / 1e6:.2f} Mbit/s after the links came back")
        # A link that Weir took down is restored at the end and after a crash.
        for end_of in (weir.stop, weir.kill):
            ip("-n weir-tl link set dev l down")
            wait_until(lambda: not running("weir-tr", "r"), "the loss to be passed on")
            end_of()
            expect(running("weir-tr", "r") == (end_of == weir.stop), "at the end")
            ip("-n weir-tl link set dev l up")
            weir.start()
            wait_until(lambda: running("weir-tr", "r"), "the link to be up")
        weir.stop()


def link_kept(scene):
    """Without "follow", a lost link does not affect the other side."""
    with Ends():
        weir = scene.box(config()).start()
        ip("-n weir-tl link set dev l down")
        wait_until(lambda: weir.get("/weir/ports")[0]["link"] == "DOWN", "the loss to be seen")
        time.sleep(1.5)  # three times the delay of a link that follows
        expect(running("weir-tr", "r"), "taken down though nobody asked for it")
        weir.stop()


def mtu_refused(scene):
    """An interface that cannot have the MTU is an error with a command."""
    with Ends():
        wanted = config(mtu=9000)
        ip("link add link a name v up type macvlan")
        device = wanted["ports"]["a"]["device"]
        wanted["ports"]["a"]["device"] = device.replace("iface=a", "iface=v")
        weir = scene.box(wanted)
        status, _, err = weir.run("-c", weir.config_path)
        expect(status == 1 and "cannot set the MTU to 9000, it is 1500" in err, err)
        expect("ip link set dev v mtu 9000" in err, err)
        ip("link del v")
        wanted["ports"]["a"]["device"] = device
        scene.box(wanted, "raised").start().stop()
        wanted["ports"]["b"]["mtu"] = 1500
        weir = scene.box(wanted, "uneven")
        status, _, err = weir.run("--check", weir.config_path)
        expect(status == 0 and "a has an MTU of 9000 and b one of 1500" in err, err)


def setup():
    """Enters a namespace with its own sysfs and netns folder."""
    box.enter_netns()
    clone_newns = 0x20000
    expect(box.LIBC.unshare(clone_newns) == 0, "no mount namespaces")
    run("mount", "--make-rprivate", "/")
    os.makedirs("/run/netns", exist_ok=True)
    run("mount", "-t", "tmpfs", "weir-test", "/run/netns")
    if not json.loads(run("ip", "-j", "link", "show", "lo", check=False) or "[]"):
        raise Skip("no ip")
    if not run("sh", "-c", "command -v ethtool", check=False):
        raise Skip("no ethtool")


def raw_in(name, interface):
    """Returns a packet socket in that namespace."""
    with open("/proc/thread-self/ns/net", "rb") as here, \
            open(f"/run/netns/{name}", "rb") as there:
        box.LIBC.setns(there.fileno(), 0)
        try:
            return raw(interface)
        finally:
            box.LIBC.setns(here.fileno(), 0)


def fragmented():
    """Returns frames of three IPv4 packets in fragments: in order, reversed, and only the last
    fragment, because the first took another path."""
    data, frames = bytes(range(8)) * 350, []
    for number, order in ((1, (0, 1)), (2, (1, 0)), (3, (1,))):
        for which in order:
            part = data[which * 1400:][:1400]
            head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(part), number,
                               which * 175 | (0 if which else 0x2000), 64, 17, 0,
                               socket.inet_aton(LEFT), socket.inet_aton(RIGHT))
            words = sum(struct.unpack(">10H", head))
            head = head[:10] + struct.pack(">H", ~(words + (words >> 16)) & 0xffff) + head[12:]
            frames.append(b"\2\0\0\0\0\2\2\0\0\0\0\1\x08\0" + head + part)
    return frames


def fragments(scene):
    """The fragments arrive one by one, not reassembled by the kernel."""
    with Ends():
        weir = scene.box(config()).start()
        frames, got = fragmented(), []
        with raw_in("weir-tl", "l") as left, raw_in("weir-tr", "r") as right:
            for frame in frames:
                left.send(frame)
            while len(got) < len(frames):
                frame = right.recv(65536)
                if frame[:12] == frames[0][:12]:
                    got.append(frame)
        expect(got == frames, f"others came: {[frame[:40].hex() for frame in got]}")
        weir.stop()


def take_numbers():
    """Runs in the process that becomes weir. Other sockets hold the fanout groups."""
    box.die_with_parent()
    for inner in ("a", "b"):
        number = (os.getpid() ^ socket.if_nametoindex(inner)) & 0xffff
        other = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        other.bind(("lo", 0))
        other.setsockopt(SOL_PACKET, PACKET_FANOUT, number | PACKET_FANOUT_CPU << 16)
        os.set_inheritable(other.detach(), True)


def taken_numbers(scene):
    """Two limiters on one machine: a port gets a free fanout group."""
    with Ends():
        weir = scene.box(config())
        with open(weir.log_path, "ab") as log:
            weir.process = subprocess.Popen([box.WEIR, "-c", weir.config_path], stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL,
                                            preexec_fn=take_numbers, close_fds=False)
        weir.await_answer().stop()


SCENARIOS = [fragments, taken_numbers, merging_is_switched_off, promiscuous_while_it_runs,
             ignored_and_counted, refused, switched_on_meanwhile, survives_a_crash,
             other_end_of_a_veth, tags_of_a_veth, not_permitted, shared_with_the_kernel,
             link_follows, link_kept, mtu_refused]

if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    box.main(SCENARIOS, setup=setup)

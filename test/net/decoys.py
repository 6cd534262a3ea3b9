#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Fragments that follow a decoy: a first fragment with other ports, which the receiver drops.

A sender wants more from a limited port than its limit. Each kind of decoy is random: options, tags,
addresses, lengths, times to live and extension headers of the first fragment, and fragments between
it and the others. All frames of a kind go twice to a stock Linux kernel: first all of them, then
only the frames that pass `weirsim replay` with a limit for each source. The kernel is the oracle.
It shows which kinds get their datagrams through without a limit, and how much gets through with
one.

    decoys.py [SCENARIO]        WEIR_SEED=N: another seed; WEIR_KINDS=N: so many kinds
"""

import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time

import box
from box import expect, ip

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sim"))
import evasion  # noqa: E402 (needs the path above)
from evasion import DEST, FRAGMENT, HOP, ROUTING, TCP, UDP  # noqa: E402

KINDS = int(os.environ.get("WEIR_KINDS", "150"))
SEED = int(os.environ.get("WEIR_SEED", "1"), 0)
DATAGRAMS = 12    # a kind
BURST = 3000      # bytes: two datagrams
SIZE = 1400       # bytes of data in a datagram
LIMITED, FREE = evasion.PORT, evasion.OTHER
PATIENCE_S = 31   # longer than Linux waits for the rest of a packet
TO = {4: "10.0.0.1", 6: "2001:db8::1"}
SENDER = b"\2\0\0\0\0\1"
POLICY = {"name": "limited", "match": {"proto": "udp", "dst-port": LIMITED}, "limit": "8kbit/s",
          "burst": f"{BURST}B", "per": "src", "allocator": "static"}


def source(kind, family):
    """Returns the address of the sender of a kind."""
    return f"10.1.{kind >> 8}.{kind & 255}" if family == 4 else f"2001:db8:1:{kind + 1:x}::1"


def udp(host, port, data):
    """Returns a datagram with the checksum that IPv6 needs."""
    head = struct.pack(">HHHH", 1234, port, 8 + len(data), 0)
    pseudo = host.src + host.dst + struct.pack(">II", 8 + len(data), UDP)
    return head[:6] + struct.pack(">H", evasion.checksum(pseudo + head + data) or 0xffff) + data


class Kind:
    """A kind of decoy: functions of random choices, the same for each of its datagrams."""

    def __init__(self, number, family=None):
        self.number = number
        self.draw = random.Random(SEED << 32 | number)
        self.family = family or self.draw.choice((4, 4, 6))
        self.host = evasion.Host(self.family, 0)
        family = socket.AF_INET if self.family == 4 else socket.AF_INET6
        self.host.src = socket.inet_pton(family, source(number, self.family))
        self.host.dst = socket.inet_pton(family, TO[self.family])
        self.proto = self.draw.choice((UDP, UDP, UDP, TCP)) if self.family == 6 else UDP
        self.len = self.draw.choice((8, 8, 16, 24))
        self.plan = self.draw.choice((self.twice, self.then_piece, self.plain, self.displaced,
                                      self.in_three, self.late, self.plain, self.plain))
        self.changes = self.draw.sample(self.all_changes(), self.draw.choice((0, 1, 1, 1, 2)))
        self.tags = self.draw.randrange(2)

    def all_changes(self):
        """Returns the changes of a decoy."""
        common = [self.other_mac, self.group_mac, self.tag, self.few_hops, self.cut_frame,
                  self.other_sender]
        if self.family == 4:
            return common + [self.option, self.option, self.checksum, self.reserved, self.version]
        return common + [self.header, self.header, self.flow]

    # Changes of a frame --------------------------------------------------------------------------

    def other_mac(self, frame):
        """Sets another host's link address."""
        return bytes([2, self.draw.randrange(256), *frame[2:]])

    def group_mac(self, frame):
        """Sets a multicast or broadcast link address."""
        return self.draw.choice((b"\1\0\x5e\0\0\1", b"\xff" * 6, b"\x33\x33\0\0\0\1")) + frame[6:]

    def other_sender(self, frame):
        """Sets another sender's link address."""
        return frame[:6] + bytes([self.draw.randrange(256)]) + frame[7:]

    def tag(self, frame):
        """Adds a VLAN tag, or one with only a priority."""
        tag = self.draw.choice((0, 0xe000, 5, 0x6fff))
        return frame[:12] + struct.pack(">HH", self.draw.choice((0x8100, 0x88a8)), tag) + frame[12:]

    def few_hops(self, frame):
        """Sets a time to live that ends on the way."""
        at = 22 if self.family == 4 else 21
        frame = frame[:at] + bytes([self.draw.randrange(2)]) + frame[at + 1:]
        return self.sound(frame)

    def cut_frame(self, frame):
        """Sets a longer length than that of the frame."""
        at = 16 if self.family == 4 else 18
        length = struct.unpack(">H", frame[at:at + 2])[0] + self.draw.choice((8, 64, 1400, 40000))
        return self.sound(frame[:at] + struct.pack(">H", length & 0xffff) + frame[at + 2:])

    def checksum(self, frame):
        """Sets a wrong checksum."""
        return frame[:24] + bytes([frame[24] ^ 0x55]) + frame[25:]

    def reserved(self, frame):
        """Sets unused bits, or "don't fragment"."""
        bits = self.draw.choice((0x80, 0x40, 0xc0))
        return self.sound(frame[:20] + bytes([frame[20] | bits]) + frame[21:])

    def version(self, frame):
        """Sets a version other than IPv4, or a header that is too short."""
        return self.sound(frame[:14] + bytes([self.draw.choice((0x55, 0x44, 0x05))]) + frame[15:])

    def option(self, frame):
        """Adds an option of any type and length."""
        words = self.draw.choice((1, 2, 3, 10))
        kind = self.draw.choice((0, 1, 7, 68, 131, 137, 130, 134, 136, 148, 25, 94, 158, 255))
        text = bytes([kind, self.draw.choice((0, 2, 3, 4, 8, 11, 39)),
                      self.draw.choice((4, 5, 8, 200))])
        text += self.draw.randbytes(1) * 4 * words
        ip_header = bytes([0x45 + words]) + frame[15:16]
        length = struct.unpack(">H", frame[16:18])[0] + 4 * words
        ip_header += struct.pack(">H", length) + frame[18:34]
        return self.sound(frame[:14] + ip_header + text[:4 * words] + frame[34:])

    def header(self, frame):
        """Adds an extension header before the fragment header, or an unknown one."""
        kind = self.draw.choice((HOP, DEST, ROUTING, 135, 139, 59))
        body = bytes([self.draw.choice((1, 0x05, 0x3e, 0x7e, 0x9e, 0xde, 4)), 4, 0, 0, 0, 0])
        extension = bytes([FRAGMENT, 0]) + body
        length = struct.unpack(">H", frame[18:20])[0] + 8
        return (frame[:18] + struct.pack(">H", length) + bytes([kind]) + frame[21:54] + extension +
                frame[54:])

    def flow(self, frame):
        """Sets another class and flow label."""
        return frame[:14] + bytes([0x60 | self.draw.randrange(16)]) + frame[15:]

    def sound(self, frame):
        """Sets the checksum of the header."""
        if self.family == 6:
            return frame
        size = (frame[14] & 15) * 4
        header = frame[14:24] + b"\0\0" + frame[26:14 + size]
        return frame[:24] + struct.pack(">H", evasion.checksum(header)) + frame[26:]

    # Frames --------------------------------------------------------------------------------------

    def ether(self, packet):
        """Returns a frame to the receiver."""
        return (MAC + SENDER + struct.pack(">H", self.host.type) + packet).ljust(60, b"\0")

    def piece(self, data, ident, offset, more, proto=None):
        """Returns a fragment."""
        return self.ether(self.host.piece(proto or UDP, data, ident, offset, more))

    def decoy(self, ident):
        """Returns a decoy with the changes of this kind."""
        state = self.draw.getstate()
        port = struct.pack(">HH", 1234, FREE)
        frame = self.piece((port + bytes(20)).ljust(24, b"\0")[:self.len], ident, 0, True,
                           self.proto)
        for change in self.changes:
            frame = change(frame)
        self.draw.setstate(state)
        return frame

    def body(self):
        """Returns a datagram to the limited port."""
        return udp(self.host, LIMITED, bytes([self.number & 255]) * SIZE)

    def rest(self, ident):
        """Returns the last and the first fragment of a datagram to the limited port."""
        body = self.body()
        return (self.piece(body[self.len:], ident, self.len, False),
                self.piece(body[:self.len], ident, 0, True))

    # Plans: yield (phase, frame)
    # -------------------------------------------------------------------

    def plain(self, ident):
        """The decoy, the last fragment, the first one."""
        return [(0, frame) for frame in (self.decoy(ident), *self.rest(ident))]

    def twice(self, ident):
        """Two decoys."""
        return [(0, self.decoy(ident)), *self.plain(ident)]

    def in_three(self, ident):
        """A datagram in three fragments."""
        body = self.body()
        cuts = (self.len, 400, 800, len(body))
        later = [self.piece(body[a:b], ident, a, b < len(body)) for a, b in zip(cuts, cuts[1:])]
        return [(0, f) for f in (self.decoy(ident), *later, self.rest(ident)[1])]

    def then_piece(self, ident):
        """A fragment after which receivers can drop all fragments of the packet."""
        offset, size, more = self.draw.choice(
            ((self.len, 4, True), (8, 16, True), (0, self.len, True), (0, self.len + 8, True),
             (8, 3, False), (65528, 16, False), (self.len + 8, 8, False), (16, 0, True)))
        later, first = self.rest(ident)
        piece = self.piece(bytes(size), ident, offset, more)
        order = self.draw.choice(((piece, later), (later, piece, later)))
        flood = self.displacing(ident) if self.draw.randrange(2) else []
        return [(0, frame) for frame in (self.decoy(ident), *order, *flood, first)]

    def displacing(self, ident):
        """First fragments of other packets displace the decoy in Weir."""
        return [self.piece(struct.pack(">HHI", 1234, FREE, 0), (ident * 977 + i) & 0x7fff | 0x8000,
                           0, True) for i in range(120)]

    def displaced(self, ident):
        """The decoy is displaced before the first fragment arrives."""
        later, first = self.rest(ident)
        return [(0, frame) for frame in (self.decoy(ident), later, *self.displacing(ident), first)]

    def late(self, ident):
        """The receiver no longer waits for the rest of the decoy."""
        later, first = self.rest(ident)
        flood = self.displacing(ident) if self.draw.randrange(2) else []
        return [(0, self.decoy(ident)), *((1, frame) for frame in (later, *flood, first))]

    def frames(self):
        """Yields all frames of this kind."""
        return [entry for ident in range(1, DATAGRAMS + 1) for entry in self.plan(ident)]

    def __str__(self):
        changes = " + ".join(change.__name__ for change in self.changes) or "sound"
        return f"{self.number}: IPv{self.family}, {self.plan.__name__}, {changes}"


MAC = b"\2\0\0\0\0\2"


def receiver(frames, counts):
    """Writes size and source of each datagram that a stock kernel delivers to the limited port."""
    box.enter_netns()
    ip("link add name d type veth peer name s")
    ip(f"link set dev d address {MAC.hex(':')}")
    for name in ("d", "s"):
        subprocess.run(["sysctl", "-q", f"net.ipv6.conf.{name}.accept_dad=0",
                        f"net.ipv4.conf.{name}.rp_filter=0"], check=True)
        ip(f"link set dev {name} up")
    subprocess.run(["sysctl", "-q", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.ipfrag_time=1",
                    "net.ipv4.ipfrag_high_thresh=1000000000", "net.ipv6.ip6frag_time=1",
                    "net.ipv6.ip6frag_high_thresh=1000000000"], check=True)
    ip(f"addr add {TO[4]}/8 dev d")
    ip(f"addr add {TO[6]}/32 dev d nodad")
    sockets = []
    for family, wildcard in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        sock = socket.socket(family, socket.SOCK_DGRAM)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        sock.bind((wildcard, LIMITED))
        sock.setblocking(False)
        sockets.append(sock)
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    wire.bind(("s", 0))
    probe = Kind(0xfff0, 6)  # waits for IPv6
    probe = probe.ether(probe.host.packet(UDP, probe.body()))
    box.wait_until(lambda: wire.send(probe) and took(sockets[1]), "IPv6 is up")
    for phase in (0, 1):
        for number, (_, frame) in enumerate(f for f in frames if f[0] == phase):
            wire.send(frame)
            if number % 200 == 0:
                drain(sockets, counts)
        if phase == 0 and any(f[0] for f in frames):
            time.sleep(1.5)
    time.sleep(.2)
    drain(sockets, counts)


def took(sock):
    """Returns the data of a datagram, or nothing."""
    try:
        return sock.recv(1 << 16)
    except BlockingIOError:
        return b""


def drain(sockets, counts):
    """Reads all datagrams."""
    for sock in sockets:
        while True:
            try:
                data, address = sock.recvfrom(1 << 16)
            except BlockingIOError:
                break
            counts.write(f"{len(data)} {address[0]}\n")


def delivered(scene, frames, name):
    """Returns the delivered bytes by source, from a kernel in a separate namespace."""
    path = scene.path(name)
    child = os.fork()
    if child == 0:
        try:
            with open(path, "w", encoding="ascii") as counts:
                receiver(frames, counts)
            os._exit(0)
        except BaseException as error:  # pylint: disable=broad-except
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    expect(os.waitpid(child, 0)[1] == 0, f"the receiver of {name} fails")
    sums = {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            size, address = line.split()
            sums[address] = sums.get(address, 0) + int(size)
    return sums


def passing(scene, frames):
    """Returns the frames that pass a limiter, at ten a millisecond. Phase 1 is later."""
    config, pcap, verdicts = (scene.path(name) for name in ("c.json", "t.pcap", "v.csv"))
    with open(config, "w", encoding="utf-8") as file:
        json.dump({**evasion.BASE, "policies": [POLICY]}, file)
    ordered = [f for f in frames if f[0] == 0] + [f for f in frames if f[0] == 1]
    with open(pcap, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for number, (phase, frame) in enumerate(ordered):
            at = number * 100 + phase * PATIENCE_S * 1000000
            file.write(struct.pack("<IIII", 1700000000 + at // 1000000, at % 1000000, len(frame),
                                   len(frame)) + frame)
    done = subprocess.run([os.path.join(os.path.dirname(box.WEIR), "..", "weirsim", "weirsim"),
                           "replay", "--config", config, "--pcap", pcap, "--verdicts", verdicts],
                          capture_output=True, text=True, check=False)
    expect(done.returncode == 0, done.stderr)
    with open(verdicts, encoding="utf-8") as rows:
        passed = [row["verdict"] == "pass" for row in evasion.csv.DictReader(rows)]
    expect(len(passed) == len(ordered), f"{len(ordered)} frames, {len(passed)} verdicts")
    return [f for f, passes in zip(ordered, passed) if passes]


def decoys(scene):
    """No kind gets more than its limit to the port."""
    kinds = [Kind(number) for number in range(KINDS)]
    frames = [frame for kind in kinds for frame in kind.frames()]
    free = delivered(scene, frames, "free")
    limited = delivered(scene, passing(scene, frames), "limited")
    working, failed = 0, []
    seconds = len(frames) * 100e-6 + PATIENCE_S
    for kind in kinds:
        address = source(kind.number, kind.family)
        working += free.get(address, 0) >= DATAGRAMS * SIZE * .7
        most = 1.05 * (BURST + 1000 * (seconds if kind.plan == kind.late else seconds - PATIENCE_S))
        if limited.get(address, 0) > most:
            failed.append(f"{kind}: {limited[address]} bytes, of {free.get(address, 0)}")
    expect(not failed, f"seed {SEED}: {len(failed)} of {KINDS} kinds exceed the limit:\n" +
           "\n".join(failed[:40]))
    expect(working >= KINDS / 4, f"only {working} of {KINDS} kinds get through without a limit")
    return f"{KINDS} kinds, {working} of which the kernel delivers without a limit; seed {SEED}"


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    box.main([decoys], setup=box.enter_netns)

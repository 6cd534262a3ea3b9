# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Sends traffic at one end of a guest's cards, and checks it at the other."""

import contextlib
import json
import os
import socket
import struct
import subprocess
import threading
import time

import box
from box import expect, wait_until

ETH_P_ALL, EXPERIMENTAL = 3, 0x88b5
SO_SNDBUFFORCE, SO_RCVBUFFORCE, ROOM = 32, 33, 1 << 24
IP_MTU_DISCOVER, IP_PMTUDISC_DO = 10, 2
SOL_PACKET, PACKET_AUXDATA, PACKET_OUTGOING, TP_STATUS_VLAN_VALID = 263, 8, 4, 0x10
SENDER, RECEIVER = bytes.fromhex("027700000aa1"), bytes.fromhex("027700000bb2")
ANSWERS_S = 1.0  # a ping crosses the guest twice, in a few milliseconds


def checksum(data):
    """Returns the Internet checksum."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data[:len(data) & ~1]))
    total += data[-1] << 8 if len(data) & 1 else 0
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


class Ping:
    """Sends echo requests of any size to one address, without fragmentation."""

    def __init__(self, side, address):
        self.address, self.number = address, 0
        self.six = ":" in address
        self.id = int.from_bytes(os.urandom(2), "big")
        family = socket.AF_INET6 if self.six else socket.AF_INET
        protocol = socket.IPPROTO_ICMPV6 if self.six else socket.IPPROTO_ICMP
        with side.inside():
            self.socket = socket.socket(family, socket.SOCK_RAW, protocol)
        if not self.six:
            self.socket.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def once(self, size=84):
        """Sends one request; returns true if it is answered."""
        self.number += 1
        head = struct.pack("!HH", self.id, self.number)
        body = bytes(size - (48 if self.six else 28))
        kind = 128 if self.six else 8
        total = 0 if self.six else checksum(struct.pack("!BBH", kind, 0, 0) + head + body)
        self.socket.sendto(struct.pack("!BBH", kind, 0, total) + head + body, (self.address, 0))
        wanted = bytes([129 if self.six else 0]), head + body
        until = time.monotonic() + ANSWERS_S
        while time.monotonic() < until:
            self.socket.settimeout(max(0.001, until - time.monotonic()))
            with contextlib.suppress(TimeoutError):
                reply = self.socket.recv(65536)[0 if self.six else 20:]
                if (reply[:1], reply[4:]) == wanted:
                    return True
        return False


def answers(side, address):
    """Waits until a ping is answered, and expects answers to the next five."""
    with Ping(side, address) as ping:
        wait_until(ping.once, f"no answer from {address}")
        expect(sum(ping.once() for _ in range(5)) == 5, f"of 5 pings to {address} some are lost")


class Flood(threading.Thread):
    """Sends UDP packets in both directions in a with-block."""

    def __init__(self, lab, pair):
        super().__init__(daemon=True)
        self.ends = threading.Event()
        self.ways = [(udp(lab.near, pair.near), pair.far), (udp(lab.far, pair.far), pair.near)]

    def __enter__(self):
        self.start()
        return self

    def run(self):
        while not self.ends.wait(0.001):
            for sock, to in self.ways:
                with contextlib.suppress(OSError):  # an unused port refuses them
                    sock.sendto(bytes(500), (to, 9))

    def __exit__(self, *_):
        self.ends.set()
        self.join()
        for sock, _ in self.ways:
            sock.close()


def udp(side, address, port=0):
    """Returns a UDP socket in the namespace, with large buffers."""
    with side.inside():
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for option in (SO_SNDBUFFORCE, SO_RCVBUFFORCE):
        sock.setsockopt(socket.SOL_SOCKET, option, ROOM)
    sock.bind((address, port))
    return sock


class Arrivals(threading.Thread):
    """Records (time, data) of all arrivals at a socket, by the monotonic clock."""

    def __init__(self, sock):
        super().__init__(daemon=True)
        self.sock, self.ends, self.found = sock, threading.Event(), []

    def __enter__(self):
        self.start()
        return self

    def run(self):
        self.sock.settimeout(0.1)
        while not self.ends.is_set():
            with contextlib.suppress(TimeoutError):
                data = self.sock.recv(2048)
                self.found.append((time.monotonic(), data))

    def __exit__(self, *_):
        self.ends.set()
        self.join()


def raw(side, tap):
    """Returns a socket that receives all frames of a tap."""
    with side.inside():
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
    sock.bind((tap, ETH_P_ALL))
    return sock


def take_frame(sock):
    """Returns the next received frame. Inserts the VLAN tag that the kernel has removed."""
    data, extra, _, address = sock.recvmsg(70000, 256)
    if address[2] == PACKET_OUTGOING:
        return None
    for level, kind, value in extra:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", value[:20])
            if status & TP_STATUS_VLAN_VALID:
                data = data[:12] + struct.pack("!HH", tpid or 0x8100, tci) + data[12:]
    return data


def cross(side, other, tap, frames, patience=box.PATIENCE_S, least=None):
    """Sends frames at one end of a wire. Returns the names of frames that do not arrive unchanged
    at the other end, except for padding, within `patience` seconds."""
    wanted = {frame + bytes(max(0, 60 - len(frame))): name for name, frame in frames.items()}
    with raw(side, tap) as out, raw(other, tap) as into:
        for frame in frames.values():
            out.send(frame)
            time.sleep(0.002)
        until = time.monotonic() + patience
        while len(wanted) > len(frames) - (least or len(frames)) and time.monotonic() < until:
            into.settimeout(max(0.001, until - time.monotonic()))
            with contextlib.suppress(TimeoutError):
                data = take_frame(into)
                if data and wanted.pop(data + bytes(max(0, 60 - len(data))), None):
                    continue
    return sorted(wanted.values())


def ipv4(payload, protocol=17, wrong=0, length=None):
    """Returns an EtherType and a packet; checksum and length can be wrong."""
    length = 20 + len(payload) if length is None else length
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, length, 1, 0, 64, protocol, 0,
                       bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
    total = struct.pack("!H", checksum(head) ^ wrong)
    return b"\x08\x00" + head[:10] + total + head[12:] + payload


def every_kind():
    """Returns frames that a card or its driver might consume, fix or drop."""
    frames = {}

    def add(name, body, to=RECEIVER):
        frames[name] = to + SENDER + body

    plain = struct.pack("!H", EXPERIMENTAL)
    for size in (60, 61, 64, 65, 128, 129, 1024, 1513, 1514):
        add(f"{size} bytes", plain + bytes(i & 255 for i in range(size - 14)))
    add("LLDP", b"\x88\xcc" + b"lldp" * 20, bytes.fromhex("0180c200000e"))
    add("STP", b"\x00\x26" + b"\x42\x42\x03" + b"stp." * 10, bytes.fromhex("0180c2000000"))
    add("control", b"\x88\x08" + b"\x00\x09" + b"opcode9" * 7, bytes.fromhex("0180c2000001"))
    add("broadcast", plain + b"broadcast" * 9, b"\xff" * 6)
    add("multicast", plain + b"multicast" * 9, bytes.fromhex("01005e000001"))
    add("multicast of IPv6", plain + b"multicast" * 9, bytes.fromhex("333300000001"))
    add("UDP, wrong checksum", ipv4(struct.pack("!HHHH", 1, 2, 48, 0xdead) + b"b" * 40))
    add("TCP, wrong checksum",
        ipv4(struct.pack("!HHIIBBHHH", 1, 2, 3, 4, 0x50, 16, 5, 0xbeef, 0) + b"d" * 40, 6))
    add("IP, wrong checksum", ipv4(struct.pack("!HHHH", 1, 2, 48, 0) + b"c" * 40, wrong=0x1234))
    add("IP, longer than its frame", ipv4(b"e" * 40, length=900))
    add("VLAN", struct.pack("!HHH", 0x8100, 0x6064, EXPERIMENTAL) + b"vlan" * 20)
    add("VLAN 0", struct.pack("!HHH", 0x8100, 0xe000, EXPERIMENTAL) + b"prio" * 20)
    add("QinQ", struct.pack("!HHHHH", 0x88a8, 5, 0x8100, 100, EXPERIMENTAL) + b"qinq" * 20)
    add("QinQ of 0x8100", struct.pack("!HHHHH", 0x8100, 5, 0x8100, 100, EXPERIMENTAL) + b"q" * 80)
    add("MPLS", b"\x88\x47" + b"\x00\x01\x01\x40" + b"mpls" * 20)
    for tags in ([(0x8100, 7)], [(0x88a8, 9), (0x8100, 7)]):  # full within the tags
        words = b"".join(struct.pack("!HH", *tag) for tag in tags)
        add(f"full, {len(tags)} tags", words + ipv4(struct.pack("!HHHH", 7, 7, 1480, 0)
                                                    + bytes(1472)))
    return frames


def flows(lab, pair, number, each):
    """Sends packets of this many flows, slowly enough that each packet is a burst."""
    sockets = [udp(lab.near, pair.near) for _ in range(number)]
    try:
        for i in range(number * each):
            with contextlib.suppress(ConnectionRefusedError):
                sockets[i % number].sendto(bytes(64), (pair.far, 9))
            time.sleep(0.001)
    finally:
        for sock in sockets:
            sock.close()


def iperf(lab, pair, seconds, *options):
    """Runs TCP from near to far; returns the "end" section of iperf3's results."""
    six = "-6" in options
    to = pair.far6 if six else pair.far
    quiet = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "text": True}
    with lab.far.inside():
        server = subprocess.Popen(["iperf3", "-s", "-1", "--forceflush", "-B", to],
                                  stdout=subprocess.PIPE, preexec_fn=box.die_with_parent, **quiet)
    try:
        expect("listening" in "".join(server.stdout.readline() for _ in range(2)), "iperf3 -s")
        with lab.near.inside():
            client = subprocess.run(["iperf3", "-c", to, "-t", str(seconds), "-J", *options],
                                    stdout=subprocess.PIPE, check=False,
                                    timeout=seconds + box.PATIENCE_S, **quiet)
        result = json.loads(client.stdout)
        expect("error" not in result, f"iperf3: {result.get('error')}")
        return result["end"]
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def wrong_checksums(side):
    """Returns the number of errors that the kernel there has found in received packets."""
    with side.inside():
        out = side.sh("nstat -asz TcpInCsumErrors UdpInCsumErrors IpInHdrErrors TcpInErrs")
    return sum(int(line.split()[1]) for line in out.splitlines() if line and line[0] != "#")

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Senders that evade limits: shapes of traffic, and an oracle that receives like Linux.

    evasion.py [--build BUILD] [--hostile N] [--seed N] [--list]

Each shape is a few datagrams to one port, written by an evasive sender. They are in fragments of
any order, size and overlap, after extension headers, in tunnels, under tags. All pass through
`weirsim replay`, which runs the appliance's own code. The oracle reassembles the packets that pass.
It is written after Linux (net/ipv4/ip_fragment.c, net/ipv6/reassembly.c, net/ipv4/inet_fragment.c),
independently of Weir.

Every frame of a delivered datagram must have been charged to the datagram's policy, or to a
stricter one. No more new connections can be delivered than were charged. With --hostile N, N random
variants of these frames pass too, and only a crash is an error.
"""

import argparse
import csv
import json
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("WEIR_BUILD") or os.path.join(HERE, "..", "..", "build")
TCP, UDP, ICMP, IPIP, IPV6, GRE, ESP, AH = 6, 17, 1, 4, 41, 47, 50, 51
HOP, ROUTING, FRAGMENT, NONE, DEST, MOBILITY = 0, 43, 44, 59, 60, 135
T_V4, T_V6, T_VLAN, T_QINQ, T_MPLS, T_PPPOE = 0x800, 0x86dd, 0x8100, 0x88a8, 0x8847, 0x8864
SYN = 2
REPEATS = 8
PORT, OTHER = 5000, 6000  # limited; unlimited or less limited
SIZE = 1200


# Frames ------------------------------------------------------------------------------------------

def checksum(data):
    """Returns the internet checksum."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def udp(dport, size=SIZE, sport=1234):
    """Returns a datagram with `size` bytes of data."""
    return struct.pack(">HHHH", sport, dport, 8 + size, 0) + bytes(size)


def tcp(dport, flags=SYN, size=0, sport=1234):
    """Returns a TCP segment."""
    return struct.pack(">HHIIBBHHH", sport, dport, 1, 0, 0x50, flags, 1000, 0, 0) + bytes(size)


class Host:
    """Writes IP packets of one family from one address to another."""

    def __init__(self, family, number):
        self.v6 = family == 6
        if self.v6:
            self.src = socket.inet_pton(socket.AF_INET6, f"2001:db8:9::{number + 1:x}")
            self.dst = socket.inet_pton(socket.AF_INET6, "2001:db8:1::1")
        else:
            self.src = bytes([10, 9, number >> 8, number & 255])
            self.dst = bytes([10, 0, 1, 1])

    def packet(self, proto, payload, ttl=64, options=b""):
        """Returns a whole packet."""
        if self.v6:
            return struct.pack(">IHBB", 6 << 28, len(payload), proto, ttl) + self.src + \
                self.dst + payload
        return self.v4(proto, payload, 1, 0, False, ttl, options)

    def v4(self, proto, payload, ident, offset, more, ttl=64, options=b"", spoil=False):
        """Returns an IPv4 packet or fragment."""
        header = struct.pack(">BBHHHBBH4s4s", 0x45 + len(options) // 4, 0,
                             20 + len(options) + len(payload), ident,
                             more << 13 | offset // 8, ttl, proto, 0, self.src, self.dst) + options
        total = checksum(header) ^ (0x5555 if spoil else 0)
        return header[:10] + struct.pack(">H", total) + header[12:] + payload

    def piece(self, proto, payload, ident, offset, more, ttl=64, spoil=False, said=None):
        """Returns a fragment; in IPv6, `said` is a false next header."""
        if not self.v6:
            return self.v4(proto, payload, ident & 0xffff, offset, more, ttl, spoil=spoil)
        return self.packet(FRAGMENT, struct.pack(">BBHI", proto if said is None else said, 0,
                                                 offset | more, ident) + payload, ttl)

    def cut(self, proto, payload, ident, *ends, **also):
        """Returns all fragments of a packet, cut at these offsets."""
        starts = [0, *ends]
        return [self.piece(proto, payload[a:b], ident, a, b < len(payload), **also)
                for a, b in zip(starts, [*ends, len(payload)])]

    @property
    def type(self):
        """Returns its EtherType."""
        return T_V6 if self.v6 else T_V4


def ether(kind, payload):
    """Returns a frame, padded to the least size."""
    return (b"\2\0\0\0\0\2\2\0\0\0\0\1" + struct.pack(">H", kind) + payload).ljust(60, b"\0")


def wrap_plain(host, packet):
    """Ethernet without tags."""
    return ether(host.type, packet)


def wrap_tags(*types):
    """Ethernet with these tags."""
    def wrap(host, packet):
        out = struct.pack(">H", host.type) + packet
        for number, kind in enumerate(reversed(types)):
            out = struct.pack(">HH", kind, 100 + number) + out
        kind, = struct.unpack(">H", out[:2])
        return ether(kind, out[2:])
    return wrap


def wrap_mpls(labels):
    """With so many MPLS labels."""
    def wrap(host, packet):
        stack = b"".join(struct.pack(">I", (100 + i) << 12 | (i == labels - 1) << 8 | 64)
                         for i in range(labels))
        return ether(T_MPLS, stack + packet)
    return wrap


def wrap_pppoe(short):
    """In a PPPoE session, with the protocol in two bytes, or in one."""
    def wrap(host, packet):
        proto = 0x57 if host.v6 else 0x21
        proto = bytes([proto]) if short else struct.pack(">H", proto)
        return ether(T_PPPOE, struct.pack(">BBHH", 0x11, 0, 7, len(packet) + len(proto)) +
                     proto + packet)
    return wrap


WRAPS = {"plain": wrap_plain, "vlan": wrap_tags(T_VLAN), "priority tag": wrap_tags(T_VLAN),
         "qinq": wrap_tags(T_QINQ, T_VLAN), "three tags": wrap_tags(T_QINQ, T_VLAN, T_VLAN),
         "mpls": wrap_mpls(2), "pppoe": wrap_pppoe(False), "pppoe short": wrap_pppoe(True)}


# Shapes: (host, identification, protocol, body) → packets in order of transmission ----------------

def shape_whole(host, ident, proto, body):
    """Sends an ordinary packet."""
    return [host.packet(proto, body)]


def in_order(*order, ends=(400, 800)):
    """Sends fragments in this order."""
    def shape(host, ident, proto, body):
        fit = [min(end, len(body) // 8 * 8) for end in ends]
        pieces = host.cut(proto, body, ident, *sorted(set(fit) - {0, len(body)}))
        return [pieces[i] for i in order if i < len(pieces)]
    return shape


def shape_many(host, ident, proto, body):
    """Fragments of eight bytes, the first one in the middle of them."""
    pieces = host.cut(proto, body, ident, *range(8, len(body) - 7, 8))
    return pieces[5:20] + pieces[:5] + pieces[20:]


def shape_shuffled(host, ident, proto, body):
    """Fragments of 16 bytes in random order."""
    pieces = host.cut(proto, body, ident, *range(16, len(body) - 15, 16))
    random.Random(ident).shuffle(pieces)
    return pieces


def shape_twice(host, ident, proto, body):
    """Each fragment twice."""
    return [p for piece in host.cut(proto, body, ident, 400) for p in (piece, piece)]


def elsewhere(body):
    """Returns the body with another port."""
    return body[:2] + struct.pack(">H", OTHER) + body[4:]


def shape_decoy_after(host, ident, proto, body):
    """A second first fragment, with another port."""
    first, later = host.cut(proto, body, ident, 400)
    decoy, _ = host.cut(proto, elsewhere(body), ident, 400)
    return [first, decoy, later]


def shape_decoy_before(host, ident, proto, body):
    """An earlier first fragment, which the next hop drops because of its time to live."""
    first, later = host.cut(proto, body, ident, 400)
    decoy, _ = host.cut(proto, elsewhere(body), ident, 400, ttl=1)
    return [decoy, later, first]


def shape_decoy_spoiled(host, ident, proto, body):
    """An earlier first fragment that receivers drop (IPv4: checksum; IPv6: length)."""
    first, later = host.cut(proto, body, ident, 400)
    if host.v6:
        decoy = host.piece(proto, elsewhere(body)[:401], ident, 0, True)
    else:
        decoy = host.piece(proto, elsewhere(body)[:400], ident, 0, True, spoil=True)
    return [decoy, later, first]


def shape_stale(host, ident, proto, body):
    """A small datagram to another port is complete; then the large one, with its first fragment
    last."""
    small = elsewhere(body)[:4] + struct.pack(">H", 24) + body[6:24]
    return host.cut(proto, small, ident, 16) + list(reversed(host.cut(proto, body, ident, 16)))


def shape_stale_split(host, ident, proto, body):
    """Like shape_stale(), with the later part of the small datagram first."""
    small = elsewhere(body)[:4] + struct.pack(">H", 24) + body[6:24]
    return list(reversed(host.cut(proto, small, ident, 16))) + \
        list(reversed(host.cut(proto, body, ident, 16)))


def shape_overlap(host, ident, proto, body):
    """A later fragment that overlaps the first, including the ports."""
    first, later = host.cut(proto, body, ident, 400)
    over = host.piece(proto, elsewhere(body)[:16], ident, 0, True)
    return [first, over, later]


def shape_overlap_later(host, ident, proto, body):
    """A fragment that begins within another."""
    return [host.piece(proto, body[:400], ident, 0, True),
            host.piece(proto, body[392:800], ident, 392, True),
            host.piece(proto, body[800:], ident, 800, False)]


def shape_two_ends(host, ident, proto, body):
    """Two last fragments with different lengths."""
    return [host.piece(proto, body[400:], ident, 400, False),
            host.piece(proto, body[400:] + bytes(8), ident, 400, False),
            host.piece(proto, body[:400], ident, 0, True)]


def shape_interleaved(host, ident, proto, body):
    """Two datagrams, one to each port, under different identifications."""
    mine = host.cut(proto, body, ident, 400)
    other = host.cut(proto, elsewhere(body), ident ^ 0x8000, 400)
    return [other[0], mine[1], other[1], mine[0]]


def shape_protocols(host, ident, proto, body):
    """Two datagrams with one identification and different protocols."""
    mine = host.cut(proto, body, ident, 400)
    other = host.cut(ICMP if proto != ICMP else UDP, body, ident, 400)
    return [other[0], mine[1], mine[0]]


def shape_odd(host, ident, proto, body):
    """A length that is not a multiple of eight: Linux truncates it in IPv4."""
    return [host.piece(proto, body[:405], ident, 0, True),
            host.piece(proto, body[400:], ident, 400, False)]


def shape_distance(host, ident, proto, body):
    """Later fragments with another time to live."""
    return [host.piece(proto, body[:400], ident, 0, True),
            host.piece(proto, body[400:], ident, 400, False, ttl=80)]


FRAGMENTS = {
    "whole": shape_whole,
    "in order": in_order(0, 1, 2),
    "last first": in_order(2, 0, 1),
    "reversed": in_order(2, 1, 0),
    "middle first": in_order(1, 0, 2),
    "first in the middle": in_order(1, 2, 0),
    "first, last, middle": in_order(0, 2, 1),
    "tiny": in_order(0, 1, ends=(8,)),
    "tiny, reversed": in_order(1, 0, ends=(8,)),
    "sixteen bytes": in_order(0, 1, ends=(16,)),
    "sixteen bytes, reversed": in_order(1, 0, ends=(16,)),
    "many tiny": shape_many,
    "shuffled": shape_shuffled,
    "each twice": shape_twice,
    "decoy after": shape_decoy_after,
    "decoy that dies": shape_decoy_before,
    "decoy spoiled": shape_decoy_spoiled,
    "stale": shape_stale,
    "stale, reversed": shape_stale_split,
    "overlap of the ports": shape_overlap,
    "overlap": shape_overlap_later,
    "two ends": shape_two_ends,
    "interleaved": shape_interleaved,
    "two protocols": shape_protocols,
    "odd length": shape_odd,
    "from farther away": shape_distance,
}


# IPv6 extension headers, and IPv4 options ---------------------------------------------------------

def options(following, total):
    """Returns unknown destination or hop-by-hop options, which are skipped."""
    body, left = b"", total - 2
    while left:
        size = min(left, 257)
        body += bytes([1, size - 2]) + bytes(size - 2) if size > 1 else b"\0"
        left -= size
    return bytes([following, total // 8 - 1]) + body


def chain(*kinds):
    """Returns a function that puts headers, by kind and bytes, before a body."""
    def before(proto, body):
        kind = proto
        for what, size in reversed(kinds):
            if what == AH:
                body = bytes([kind, size // 4 - 2]) + bytes(size - 2) + body
            elif what == ROUTING:
                body = bytes([kind, size // 8 - 1, 2, 0]) + bytes(size - 4) + body
            elif what == FRAGMENT:
                body = struct.pack(">BBHI", kind, 0, 0, 7) + body
            else:
                body = options(kind, size) + body
            kind = what
        return kind, body
    return before


CHAINS = {
    "8 bytes": chain((DEST, 8)),
    "208 bytes": chain((DEST, 208)),
    "240 bytes": chain((DEST, 240)),
    "264 bytes": chain((DEST, 264)),
    "1024 bytes": chain((DEST, 1024)),
    "nine": chain(*[(DEST, 8)] * 9),
    "63": chain(*[(DEST, 8)] * 63),
    "64": chain(*[(DEST, 8)] * 64),
    "65": chain(*[(DEST, 8)] * 65),
    "100": chain(*[(DEST, 8)] * 100),
    "all kinds": chain((HOP, 8), (DEST, 16), (ROUTING, 24), (AH, 24), (DEST, 8)),
    "an atomic fragment": chain((FRAGMENT, 8)),
    "atomic between": chain((DEST, 8), (FRAGMENT, 8), (DEST, 208)),
    "two atomic": chain((FRAGMENT, 8), (FRAGMENT, 8)),
}


def chained(before, shape):
    """Returns a shape whose body follows a chain, within the part that is cut."""
    def made(host, ident, proto, body):
        return shape(host, ident, *before(proto, body))
    return made


def shape_nested(host, ident, proto, body):
    """A fragment of a fragment, whose inner ones are in the wrong order."""
    inner = [struct.pack(">BBHI", proto, 0, offset | more, ident + 0x10000) + part
             for part, offset, more in ((body[400:], 400, 0), (body[:400], 0, 1))]
    out = []
    for number, part in enumerate(inner):
        out += host.cut(FRAGMENT, part, ident * 4 + number, 16)
    return out


def shape_unfragmentable(host, ident, proto, body):
    """Options before the fragment header."""
    pieces = host.cut(proto, body, ident, 400)
    return [piece[:6] + bytes([DEST]) + piece[7:40] + options(FRAGMENT, 208) + piece[40:]
            for piece in reversed(pieces)]


def lengthen(packet):
    """Corrects the payload length."""
    return packet[:4] + struct.pack(">H", len(packet) - 40) + packet[6:]


def shape_lies(host, ident, proto, body):
    """Later fragments with another next header than the first."""
    first, _ = host.cut(proto, body, ident, 400)
    return [host.piece(proto, body[400:], ident, 400, False, said=ICMP), first]


def shape_lies_in_order(host, ident, proto, body):
    """Like shape_lies(), in order."""
    return list(reversed(shape_lies(host, ident, proto, body)))


def shape_options(host, ident, proto, body):
    """The most options that IPv4 has room for."""
    return [host.packet(proto, body, options=b"\x01" * 39 + b"\0")]


# Tunnels ------------------------------------------------------------------------------------------

def tunnel_ipip(outer, inner, packet):
    """IP in IP."""
    return IPV6 if inner.v6 else IPIP, packet


def tunnel_gre(flags):
    """GRE with these flags."""
    def tunnel(outer, inner, packet):
        words = sum(bool(flags & bit) for bit in (0x8000, 0x2000, 0x1000))
        return GRE, struct.pack(">HH", flags, inner.type) + bytes(4 * words) + packet
    return tunnel


def tunnel_vxlan(outer, inner, packet):
    """VXLAN."""
    frame = b"\2\0\0\0\0\4\2\0\0\0\0\3" + struct.pack(">H", inner.type) + packet
    return UDP, struct.pack(">HHHH", 1, 4789, 16 + len(frame), 0) + bytes([8]) + bytes(7) + frame


TUNNELS = {"ipip": tunnel_ipip, "gre": tunnel_gre(0), "gre key": tunnel_gre(0x2000),
           "gre all": tunnel_gre(0xb000), "vxlan": tunnel_vxlan}


def tunnelled(tunnel, shape, outer_family, outer_shape):
    """Returns a shape in a tunnel, whose outer packets have a shape too."""
    def made(host, ident, proto, body):
        outer = Host(outer_family, 4000)
        out = []
        for number, packet in enumerate(shape(host, ident, proto, body)):
            out += [(outer, p) for p in outer_shape(
                outer, ident * 8 + number, *tunnel(outer, host, packet))]
        return out
    return made


# The corpus ---------------------------------------------------------------------------------------

def corpus():
    """Yields (name, family, wrap, shape, tunnelled)."""
    for family in (4, 6):
        for name, shape in FRAGMENTS.items():
            yield f"v{family}, {name}", family, "plain", shape, False
        for wrap in WRAPS:
            for name in ("whole", "reversed", "tiny"):
                yield f"v{family}, {name}, {wrap}", family, wrap, FRAGMENTS[name], False
    for name, before in CHAINS.items():
        yield f"v6 chain, {name}", 6, "plain", chained(before, shape_whole), False
        yield f"v6 chain, {name}, in fragments", 6, "vlan", \
            chained(before, in_order(0, 1, ends=(16,))), False
        yield f"v6 chain, {name}, reversed", 6, "plain", \
            chained(before, in_order(1, 0, ends=(48,))), False
    yield "v6, nested", 6, "plain", shape_nested, False
    yield "v6, options before", 6, "plain", \
        lambda *a: [lengthen(p) for p in shape_unfragmentable(*a)], False
    yield "v6, lies", 6, "plain", shape_lies, False
    yield "v6, lies in order", 6, "plain", shape_lies_in_order, False
    yield "v4, options", 4, "plain", shape_options, False
    for name, before in (("AH", chain((AH, 24))), ("two AH", chain((AH, 12), (AH, 24)))):
        for wrap in ("plain", "vlan"):
            yield f"v4, {name}, {wrap}", 4, wrap, chained(before, shape_whole), False
        for order in ((0, 1), (1, 0)):
            yield f"v4, {name}, in fragments {order}", 4, "plain", \
                chained(before, in_order(*order, ends=(48,))), False
    for name, tunnel in TUNNELS.items():
        for family, outer in ((4, 4), (6, 4), (4, 6)):
            for inside in ("whole", "reversed", "tiny"):
                yield f"v{family} in v{outer}, {name}, {inside}", family, "plain", \
                    tunnelled(tunnel, FRAGMENTS[inside], outer, shape_whole), True
        for order in ("in order", "reversed"):
            yield f"v4 in v4, {name}, outside {order}", 4, "plain", \
                tunnelled(tunnel, shape_whole, 4, FRAGMENTS[order]), True


# The oracle ---------------------------------------------------------------------------------------

class Queue:
    """Pending fragments, like inet_frag_queue."""

    def __init__(self):
        self.runs, self.len, self.last, self.first = [], 0, False, None


class Linux:
    """A receiver: takes frames, and yields datagrams with the frames that they were made of."""

    def __init__(self, tunnels):
        self.queues, self.tunnels = {}, tunnels

    def frame(self, data, number):
        """Yields (family, source, destination, protocol, body, frames)."""
        kind, at, tags = struct.unpack(">H", data[12:14])[0], 14, []
        while kind in (T_VLAN, T_QINQ, 0x9100) and len(data) >= at + 4:
            tag, kind = struct.unpack(">HH", data[at:at + 4])
            tags.append(tag & 0xfff)
            at += 4
        if kind == T_MPLS:
            while not data[at + 2] & 1:
                at += 4
            at += 4
            kind = T_V6 if data[at] >> 4 == 6 else T_V4
        elif kind == T_PPPOE:
            at += 6
            proto = data[at] if data[at] & 1 else struct.unpack(">H", data[at:at + 2])[0]
            at += 1 if data[at] & 1 else 2
            kind = {0x21: T_V4, 0x57: T_V6}.get(proto, 0)
        yield from self.network(kind, data[at:], tuple(tags), {number}, 0)

    def network(self, kind, data, device, frames, depth):
        """Dispatches by EtherType."""
        if kind == T_V4:
            yield from self.ipv4(data, device, frames, depth)
        elif kind == T_V6:
            yield from self.ipv6(data, device, frames, depth)

    def ipv4(self, data, device, frames, depth):
        """ip_rcv() and ip_local_deliver()."""
        if len(data) < 20 or data[0] >> 4 != 4 or data[0] & 15 < 5:
            return
        header, total = (data[0] & 15) * 4, struct.unpack(">H", data[2:4])[0]
        if len(data) < header or checksum(data[:header]) != 0 or not header <= total <= len(data):
            return
        if data[8] <= 1:  # the next router would drop it
            return
        field, body = struct.unpack(">H", data[6:8])[0], data[header:total]
        src, dst, proto = data[12:16], data[16:20], data[9]
        if field & 0x3fff:
            key = (4, src, dst, data[4:6], proto, device)
            done = self.defragment(key, (field & 0x1fff) * 8, bool(field & 0x2000), body,
                                   frames, proto)
            if not done:
                return
            body, frames, _ = done
        while proto == AH and len(body) >= 8:  # like a receiver with a security association
            proto, body = body[0], body[(body[1] + 2) * 4:]
        yield from self.transport(4, src, dst, proto, body, device, frames, depth)

    def ipv6(self, data, device, frames, depth):
        """ipv6_rcv() and ip6_protocol_deliver_rcu()."""
        if len(data) < 40 or data[0] >> 4 != 6 or data[7] <= 1:
            return
        size = struct.unpack(">H", data[4:6])[0]
        if size + 40 > len(data):
            return
        yield from self.headers(data[8:24], data[24:40], data[6], data[40:40 + size], device,
                                frames, depth, True)

    def headers(self, src, dst, proto, body, device, frames, depth, begins):
        """Parses the chain of headers."""
        while proto in (HOP, ROUTING, DEST, AH, FRAGMENT):
            if len(body) < 8 or (proto == HOP and not begins):
                return
            begins = False
            if proto == FRAGMENT:
                proto, _, field, ident = struct.unpack(">BBHI", body[:8])
                body = body[8:]
                if not field & 0xfff9:
                    continue
                key = (6, src, dst, ident, device)
                done = self.defragment(key, field & 0xfff8, bool(field & 1), body, frames, proto)
                if not done:
                    return
                body, frames, proto = done
                continue
            size = (body[1] + 2) * 4 if proto == AH else (body[1] + 1) * 8
            if size > len(body) or (proto == ROUTING and body[3] != 0):
                return
            proto, body = body[0], body[size:]
        yield from self.transport(6, src, dst, proto, body, device, frames, depth)

    def defragment(self, key, offset, more, body, frames, proto):
        """ip_frag_queue() and ip6_frag_queue(), with inet_frag_queue_insert()."""
        end, v6 = offset + len(body), key[0] == 6
        if end > 65535 or (more and v6 and end % 8):
            return None
        if more:
            end -= end % 8
            body = body[:end - offset]
        if end <= offset:
            return None
        queue = self.queues.setdefault(key, Queue())
        if not more:
            if end < queue.len or (queue.last and end != queue.len):
                del self.queues[key]
                return None
            queue.last, queue.len = True, end
        elif end > queue.len:
            if queue.last:
                del self.queues[key]
                return None
            queue.len = end
        for start, stop, _, _ in queue.runs:
            if start <= offset and end <= stop:
                return None  # a duplicate, which is dropped
            if offset < stop and start < end:
                del self.queues[key]  # an overlap: all fragments are dropped
                return None
        queue.runs.append((offset, end, body, frames))
        if offset == 0:
            queue.first = proto
        if not queue.last or sum(stop - start for start, stop, _, _ in queue.runs) < queue.len:
            return None
        del self.queues[key]
        runs = sorted(queue.runs, key=lambda run: run[0])
        return b"".join(run[2] for run in runs), set().union(*(run[3] for run in runs)), queue.first

    def transport(self, family, src, dst, proto, body, device, frames, depth):
        """Delivers a datagram, or decapsulates a tunnel."""
        if self.tunnels and depth < 2:
            if proto in (IPIP, IPV6):
                yield from self.network(T_V4 if proto == IPIP else T_V6, body, (*device, proto),
                                        frames, depth + 1)
                return
            if proto == GRE and len(body) >= 4:
                flags, kind = struct.unpack(">HH", body[:4])
                at = 4 + 4 * sum(bool(flags & bit) for bit in (0x8000, 0x2000, 0x1000))
                yield from self.network(kind, body[at:], (*device, proto), frames, depth + 1)
                return
            if proto == UDP and len(body) >= 30 and body[2:4] == struct.pack(">H", 4789):
                kind, = struct.unpack(">H", body[28:30])
                yield from self.network(kind, body[30:], (*device, proto), frames, depth + 1)
                return
        if len(body) >= {UDP: 8, TCP: 20}.get(proto, 0):
            yield family, src, dst, proto, body, frames


# Runs ---------------------------------------------------------------------------------------------

BASE = {"limiter": "a", "ports": {"x": {"device": "net_null0"}, "y": {"device": "net_null1"}},
        "wires": [{"name": "w", "a": "x", "b": "y"}],
        "gossip": {"roster": [{"name": "a", "address": "127.0.0.1:7946"}]}}


def policy(name, gbits, **match):
    """Returns a policy that drops nothing at a frame a millisecond; `gbits` is its strictness."""
    return {"name": name, "match": match, "limit": f"{gbits}Gbit/s", "burst": "1GB",
            "allocator": "static"}


def flows(name, **match):
    """Returns a policy that counts flows."""
    return {"name": name, "match": match, "count": "flows", "limit": "1000/s", "burst": 10000,
            "allocator": "static"}


PORTS = [policy("udp-port", 1, proto="udp", **{"dst-port": PORT}),
         policy("tcp-port", 2, proto="tcp", **{"dst-port": PORT})]
HOSTS = [policy("v4", 8, dst="10.0.1.0/24"), policy("v6", 8, dst="2001:db8:1::/64"),
         policy("v4-udp", 3, dst="10.0.1.0/24", proto="udp", **{"dst-port": PORT}),
         policy("v6-tcp", 4, dst="2001:db8:1::/64", proto="tcp", **{"dst-port": PORT})]
# Name, policies, other keys, and true if tunnels are opened, for each run.
RUNS = [
    ("ports alone", PORTS, {}, False),
    ("ports and hosts", PORTS + HOSTS, {}, False),
    ("ports, dropped", PORTS, {"unparsed": "drop"}, False),
    ("protocols", [policy("udp", 1, proto="udp"), policy("tcp", 2, proto="tcp")], {}, False),
    ("new flows", [flows("tcp", proto="tcp"), flows("udp", proto="udp")], {}, False),
    ("inside tunnels", PORTS, {"tunnels": {"classify": "inner"}}, True),
    ("hosts inside tunnels", PORTS + HOSTS, {"tunnels": {"classify": "inner"}}, True),
]


def matches(match, family, dst, proto, dport):
    """Returns true if a policy of this corpus matches a datagram."""
    if "proto" in match and {"udp": UDP, "tcp": TCP}[match["proto"]] != proto:
        return False
    if "dst-port" in match and match["dst-port"] != dport:
        return False
    if "dst" in match:
        address, length = match["dst"].split("/")
        v6 = ":" in address
        if v6 != (family == 6):
            return False
        want = socket.inet_pton(socket.AF_INET6 if v6 else socket.AF_INET, address)
        return want[:int(length) // 8] == dst[:int(length) // 8]
    return True


def belongs(policies, datagram):
    """Returns the most specific policy: one with a destination before one with a port."""
    family, _, dst, proto, body, _ = datagram
    dport = struct.unpack(">H", body[2:4])[0] if proto in (UDP, TCP) else 0
    found = [p for p in policies if matches(p["match"], family, dst, proto, dport)]
    found.sort(key=lambda p: ("dst" not in p["match"], "dst-port" not in p["match"]))
    return found[0] if found else None


def write_pcap(path, frames):
    """Writes a capture with a frame each millisecond."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for number, frame in enumerate(frames):
            file.write(struct.pack("<IIII", 1700000000 + number // 1000, number % 1000 * 1000,
                                   len(frame), len(frame)) + frame)


def replay(build, folder, frames, policies, keys):
    """Returns (the rows, the summary)."""
    paths = [os.path.join(folder, name) for name in ("c.json", "t.pcap", "r.csv", "s.json")]
    with open(paths[0], "w", encoding="utf-8") as file:
        json.dump({**BASE, **keys, "policies": policies}, file)
    write_pcap(paths[1], frames)
    done = subprocess.run([os.path.join(build, "app", "weirsim", "weirsim"), "replay", "--config",
                           paths[0], "--pcap", paths[1], "--verdicts", paths[2], "--json",
                           paths[3]], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"weirsim replay: {done.returncode}: {done.stderr[-3000:]}")
    with open(paths[2], encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with open(paths[3], encoding="utf-8") as file:
        return rows, json.load(file)


def frames_of(tunnels):
    """Returns [(shape's name, frame)]: for each shape some UDP datagrams and TCP connections."""
    out = []
    for number, (name, family, wrap, shape, inside) in enumerate(corpus()):
        if inside and not tunnels:
            continue
        host = Host(family, number)
        for ident in range(1, REPEATS + 1):
            for proto, body in ((UDP, udp(PORT)), (TCP, tcp(PORT, size=SIZE)), (TCP, tcp(PORT))):
                ident_of = ident * 16 + (proto == TCP) + 2 * (len(body) < 100)
                for packet in shape(host, ident_of, proto, body):
                    sender, packet = packet if isinstance(packet, tuple) else (host, packet)
                    out.append((name, WRAPS[wrap](sender, packet)))
    return out


def stricter(policies, row, wanted, pieces):
    """Returns true if a frame was charged to a policy at least as strict. Fragments of tunnel
    packets need only be limited, because the manual documents that they are charged by the outer
    headers."""
    by_name = {p["name"]: p for p in policies}
    got = by_name.get(row["policy"])
    if got is None:
        return False
    if "count" in wanted or pieces:
        return True  # for flows, the sum is compared
    return float(got["limit"].removesuffix("Gbit/s")) <= \
        float(wanted["limit"].removesuffix("Gbit/s"))


def run(build, folder, name, policies, keys, tunnels):
    """Returns the complaints of one run, and the number of delivered datagrams."""
    sent = frames_of(tunnels)
    rows, summary = replay(build, folder, [frame for _, frame in sent], policies, keys)
    if len(rows) != len(sent):
        sys.exit(f"{len(sent)} frames, {len(rows)} rows")
    receiver, complaints, delivered, connections = Linux(tunnels), {}, 0, {}
    for number, ((shape, frame), row) in enumerate(zip(sent, rows)):
        if row["verdict"] == "drop":
            continue
        for datagram in receiver.frame(frame, number):
            wanted = belongs(policies, datagram)
            delivered += 1
            if wanted is None:
                continue
            if "count" in wanted and (datagram[3] == UDP or datagram[4][13] & 0x12 == SYN):
                key = (wanted["name"], datagram[1], datagram[4][:4] if datagram[3] == UDP
                       else number)
                connections[key] = True
            if not all(stricter(policies, rows[n], wanted, ", outside " in shape)
                       for n in datagram[5]):
                complaints.setdefault(shape, [rows[n]["policy"] for n in sorted(datagram[5])])
    for p in policies:
        charged = [s for s in summary["policies"] if s["name"] == p["name"]][0]["passed"]["charged"]
        begun = sum(key[0] == p["name"] for key in connections)
        if "count" in p and begun > charged:
            complaints[f"policy {p['name']}"] = [f"{begun} begun, {charged} charged"]
    shapes = len({shape for shape, _ in sent})
    dropped = sum(row["verdict"] == "drop" for row in rows)
    print(f"{name}: {shapes} shapes, {len(sent)} frames, {dropped} refused, {delivered} datagrams "
          f"delivered, {sum(summary['unparsed'].values())} frames not understood, "
          f"{len(complaints)} shapes dodge")
    for shape, charged in complaints.items():
        print(f"    {shape}: charged to {charged}")
    return complaints, delivered


def hostile(build, folder, count, seed):
    """Sends frames of the corpus with bytes changed, cut or doubled: only a crash is an error."""
    lot, frames = random.Random(seed), [frame for _, frame in frames_of(True)]
    out = []
    for _ in range(count):
        frame = bytearray(lot.choice(frames)[:lot.choice((64, 128, 300, 1600))])
        for _ in range(lot.randrange(6)):
            frame[lot.randrange(min(len(frame), 120))] = lot.choice((0, 1, 4, 6, 17, 44, 60, 255,
                                                                     lot.randrange(256)))
        out.append(bytes(frame[:lot.randrange(len(frame))] if lot.random() < 0.2 else frame))
    unparsed = 0
    for name, policies, keys, _ in RUNS:
        part = out[:len(out) // len(RUNS) + 1]
        del out[:len(part)]
        rows, summary = replay(build, folder, part, policies, keys)
        if len(rows) != len(part):
            sys.exit(f"{name}: {len(part)} hostile frames, {len(rows)} rows")
        unparsed += sum(summary["unparsed"].values())
    print(f"{count} hostile frames (seed {seed}): all answered, {unparsed} not understood")


def main():
    """Does all runs; fails if any shape evades, or the corpus is small or delivers nothing."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=BUILD)
    parser.add_argument("--hostile", type=int, default=14000, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="names of the shapes")
    given = parser.parse_args()
    names = [shape[0] for shape in corpus()]
    if given.list:
        print("\n".join(names))
        return 0
    if len(names) < 60 or len(set(names)) != len(names):
        sys.exit(f"{len(names)} shapes, {len(set(names))} names")
    bad = 0
    with tempfile.TemporaryDirectory(prefix="weir-evasion-") as folder:
        for one in RUNS:
            complaints, delivered = run(given.build, folder, *one)
            bad += len(complaints) + (delivered == 0)
        hostile(given.build, folder, given.hostile, given.seed)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

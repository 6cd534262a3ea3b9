#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Writes the seeds of fuzz targets that are easier to generate than to keep as files.

Usage: fuzz_seeds.py TARGET DIRECTORY, such as capture. The seeds are the same in each run.
"""

import itertools
import os
import random
import socket
import struct
import sys

import fuzz_texts


def dented(rng, data, most=3):
    """Returns the bytes with a few of them changed, and in half of the cases cut."""
    data = bytearray(data)
    for _ in range(rng.randint(1, most)):
        if data:
            data[rng.randrange(len(data))] = rng.choice([0, 1, 255, rng.randrange(256)])
    return bytes(data[:rng.randint(0, len(data))] if rng.random() < 0.5 else data)


def udp4(payload=bytes(16), dport=53, proto=17, frag=0, options=b""):
    """An IPv4 packet of UDP or TCP, without checksums."""
    head = struct.pack("!HHHH", 1000, dport, 8 + len(payload), 0)
    if proto == 6:
        head = struct.pack("!HHIIBBHHH", 1000, dport, 1, 0, 0x50, 2, 9, 0, 0)
    length = 20 + len(options) + len(head) + len(payload)
    return struct.pack("!BBHHHBBH4s4s", 0x45 + len(options) // 4, 0xb8, length, 7, frag, 64, proto,
                       0, b"\xc0\0\2\1", b"\xc6\x33\x64\1") + options + head + payload


def udp6(payload=bytes(16), before=b"", first=17):
    """An IPv6 packet of UDP, with extension headers before it."""
    head = struct.pack("!HHHH", 1000, 53, 8 + len(payload), 0)
    length = len(before) + len(head) + len(payload)
    return (struct.pack("!IHBB", 6 << 28 | 0xb8 << 20, length, first, 64) +
            socket.inet_pton(socket.AF_INET6, "2001:db8::1") +
            socket.inet_pton(socket.AF_INET6, "2001:db8::2") + before + head + payload)


def ethernet(packet, kind=None, tags=()):
    """A frame with VLAN tags."""
    kind = kind or (0x86dd if packet[0] >> 4 == 6 else 0x0800)
    head = bytes(range(2, 14))
    for tpid, vlan in tags:
        head += struct.pack("!HH", tpid, vlan)
    return head + struct.pack("!H", kind) + packet


def vxlan(frame, port=4789):
    """A frame in VXLAN."""
    return udp4(struct.pack("!II", 8 << 24, 7 << 8) + frame, port)


def gre(packet, flags=0, kind=0x0800):
    """A packet in GRE."""
    inner = struct.pack("!HH", flags, kind) + bytes(4 * bin(flags & 0xb000).count("1")) + packet
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(inner), 7, 0, 64, 47, 0,
                       b"\xc0\0\2\1", b"\xc6\x33\x64\1") + inner


def other4(proto, payload, options=b""):
    """An IPv4 packet of another protocol."""
    length = 20 + len(options) + len(payload)
    return struct.pack("!BBHHHBBH4s4s", 0x45 + len(options) // 4, 0, length, 7, 0, 64, proto, 0,
                       b"\xc0\0\2\1", b"\xc6\x33\x64\1") + options + payload


def frames():
    """Frames of each kind that the parser reads."""
    fragment6 = struct.pack("!BBHI", 17, 0, 1, 9)
    later6 = struct.pack("!BBHI", 6, 0, 8 << 3, 9)
    hops = struct.pack("!BB6x", 0, 0)
    packets = [udp4(), udp4(proto=6), udp4(frag=0x2000), udp4(frag=0x2003), udp4(options=bytes(8)),
               udp6(), udp6(before=struct.pack("!BB6x", 17, 0), first=0),
               udp6(before=fragment6, first=44), udp6(before=struct.pack("!BB6x", 17, 0), first=43),
               udp6(before=struct.pack("!BB6x", 17, 0), first=60), udp6(before=later6, first=44),
               udp6(before=struct.pack("!BB6x", 44, 0) + later6, first=60),
               udp6(before=struct.pack("!BB14x", 17, 2), first=51),
               udp6(before=fragment6[:4] + bytes(4), first=44), udp6(before=hops * 70, first=0),
               udp6(before=hops, first=59), other4(1, bytes(8)), other4(132, bytes(12)),
               other4(6, bytes(6)), other4(6, bytes(3)), other4(17, b""), other4(50, bytes(8))]
    tunnels = [vxlan(ethernet(udp4())), vxlan(ethernet(udp6(), tags=((0x8100, 5),))),
               gre(udp4()), gre(udp6(), 0x2000, 0x86dd), gre(ethernet(udp4()), 0xb000, 0x6558),
               udp4(udp4(), proto=4)[:20] + udp4(), udp4()[:9] + b"\x29" + udp4()[10:20] + udp6()]
    for packet in packets + tunnels:
        yield ethernet(packet)
    yield ethernet(udp4(), tags=((0x8100, 100),))
    yield ethernet(udp6(), tags=((0x88a8, 100), (0x8100, 4095)))
    yield ethernet(udp4(), tags=((0x8100, 1), (0x8100, 2), (0x8100, 3)))
    yield ethernet(b"\0\0\x11\x40" + udp4(), 0x8847)
    yield ethernet(b"\x11\0\0\1" + struct.pack("!HH", len(udp4()) + 2, 0x21) + udp4(), 0x8864)
    yield ethernet(b"\0\0\x10\x40" * 9 + udp4(), 0x8847)
    yield ethernet(b"\0\0\x11\x40" + udp6(), 0x8848)
    yield ethernet(b"\x11\0\0\1" + struct.pack("!HB", len(udp6()) + 2, 0x57) + udp6(), 0x8864)
    yield ethernet(udp4(), tags=((0x9100, 1),) * 5)
    yield ethernet(bytes(28), 0x0806)
    yield ethernet(bytes(40), 40)


def parse():
    """Yields the cut of a frame, the port of VXLAN, and the frame."""
    rng = random.Random(1)
    for i, frame in enumerate(frames()):
        yield bytes((0, i & 1)) + frame
        for _ in range(3):
            yield bytes((rng.randrange(14, min(len(frame), 256)), 1)) + frame
            yield bytes((rng.randrange(256), i & 1)) + frame[:12] + dented(rng, frame[12:], 2)


def address(rng, size, near):
    """Returns an address like those that fuzz_classify makes for policies."""
    number = near | rng.randrange(16) << 4 if near else rng.randrange(256)
    return bytes((number >> i % 4 * 2 & 3) * 0x41 for i in range(size))


def addressed(rng, v6, near, tags=((0x8100, 1),)):
    """A frame whose addresses policies can have; with tags if it is near."""
    packet = bytearray(udp6(bytes(2)) if v6 else udp4(bytes(2), dport=rng.randint(1, 5)))
    at, size = (8, 16) if v6 else (12, 4)
    packet[at:at + 2 * size] = address(rng, size, near) + address(rng, size, near)
    return ethernet(bytes(packet), tags=near and tags or ())


def classify():
    """A number of policies, their rows, and frames in parts of 64 bytes, also all of one kind."""
    rng = random.Random(1)
    for n, case in itertools.product((1, 3, 8, 20, 40), range(8)):
        v6, near = case % 2, 5 if case // 2 % 2 else 0  # addresses of one block of 16 bits
        rows = [(rng.choice((5, 6, 7, 7)) if near else rng.randrange(16),
                 near | rng.randrange(16) << 4 if near else rng.randrange(256),
                 rng.choice((0, 0, 0, 1, 3, 128)), rng.choice((0, 0, 1, 2)),
                 rng.choice((0, 0, 1, 3, 5)), rng.randrange(256),
                 rng.randrange(256), rng.randrange(256), rng.choice((8, 8, rng.randrange(8))),
                 rng.randrange(256), v6 | rng.choice((0, 0, 0, 2, 0xb8 | 2))) for _ in range(n)]
        some = [addressed(rng, v6, near) for _ in range(rng.choice((1, 9, 40)))]
        if case > 4:
            some += [addressed(rng, not v6, 0), *frames()][:60 - len(some)]
            rng.shuffle(some)
        head = bytes((n - 1 + 40 * (case % 3),)) + b"".join(map(bytes, rows))
        yield head + b"".join(frame[:64].ljust(64, b"\0") for frame in some)
        if not v6:  # bursts of plain IPv4, which use vector lookups
            plain = [addressed(rng, v6, near, ()) for _ in range(rng.choice((16, 32)))]
            yield head + b"".join(frame[:64].ljust(64, b"\0") for frame in plain)


def pcap(order, nano, link, packets):
    """A file of libpcap."""
    magic = 0xa1b23c4d if nano else 0xa1b2c3d4
    data = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link)
    for i, packet in enumerate(packets):
        data += struct.pack(order + "IIII", 1700000000 + i, 999 * i, len(packet), len(packet) + i)
        data += packet
    return data


def block(order, kind, body):
    """A block of pcapng."""
    body += bytes(-len(body) % 4)
    return (struct.pack(order + "II", kind, len(body) + 12) + body
            + struct.pack(order + "I", len(body) + 12))


def pcapng(order, link, packets, options=b""):
    """A file of pcapng, with packets of each kind."""
    data = block(order, 0x0a0d0d0a, struct.pack(order + "IHHq", 0x1a2b3c4d, 1, 0, -1))
    data += block(order, 1, struct.pack(order + "HHI", link, 0, 262144) + options)
    for i, packet in enumerate(packets):
        if i % 3 == 2:
            data += block(order, 3, struct.pack(order + "I", len(packet)) + packet)
        else:
            data += block(order, 6, struct.pack(order + "IIIII", 0, 0x60000, 77 * i, len(packet),
                                                len(packet)) + packet)
    return data + block(order, 5, struct.pack(order + "III", 0, 0, 0))


def capture():
    """Captures of both formats and byte orders, of each link type, whole and cut."""
    some = list(frames())[:4]
    for order in "<>":
        for nano in (False, True):
            yield pcap(order, nano, 1, some)
        yield pcap(order, False, 1 | 1 << 26 | 2 << 28, some)  # with the FCS
        yield pcapng(order, 1, some)
        yield pcapng(order, 101, [udp4(), udp6(), udp4()],
                     struct.pack(order + "HHB3x", 9, 1, 9) + struct.pack(order + "HH", 0, 0))
    for link in (12, 14, 101, 228, 229, 113):
        yield pcap("<", False, link, [udp4(), udp6()])
    whole = [pcap("<", True, 1, some), pcapng("<", 1, some)]
    rng = random.Random(1)
    for data in whole:
        yield data[:-5]
        yield from (dented(rng, data) for _ in range(20))
    yield whole[0][:30]
    for captured, whole_length in ((5, 1 << 20), (5, 4)):
        yield pcap(">", False, 1, []) + struct.pack(">IIII", 1 << 31, 2, captured,
                                                    whole_length) + bytes(9)
    yield pcap("<", False, 1, []) + struct.pack("<IIII", 1, 2, 1 << 30, 1 << 30)


def probe():
    """Yields questions about a packet, as a request and in words."""
    for words in ("192.0.2.1 198.51.100.1", "192.0.2.1 198.51.100.1 udp 1000 53",
                  "2001:db8::1 2001:db8::2 tcp 1000 443", "192.0.2.1 198.51.100.1 icmp",
                  "192.0.2.1 198.51.100.1 udp 1000 53 wire=w direction=b-to-a vlan=7 dscp=ef "
                  "length=1500", "2001:db8::1 2001:db8::2 6 1 2 flags=syn,ack worker=1 dscp=63",
                  "", "192.0.2.1", "192.0.2.1 ::1 udp", "192.0.2.1 192.0.2.2 icmp 1",
                  "192.0.2.1 192.0.2.2 udp 1 2 3 4", "192.0.2.1 192.0.2.2 udp 99999 1",
                  "192.0.2.1 192.0.2.2 udp 1 99999", "x y z", "192.0.2.1 192.0.2.2 300",
                  "192.0.2.1 192.0.2.2 tcp 1 2 flags=x", "192.0.2.1 192.0.2.2 tcp vlan=4095",
                  "192.0.2.1 192.0.2.2 tcp dscp=64", "192.0.2.1 192.0.2.2 tcp length=99999",
                  "192.0.2.1 192.0.2.2 tcp direction=up", "192.0.2.1 192.0.2.2 tcp colour=red",
                  "192.0.2.1 192.0.2.2 tcp worker=x", "192.0.2.1 192.0.2.2 tcp length=9",
                  "hex=0", "hex=0g", "hex=", "hex=00 length=1", "hex=" + "00" * 3000,
                  "wire=" + "w" * 99 + " hex=00", "direction=a-to-b hex=00 length=70000"):
        yield words.encode()
    for frame in frames():
        yield f"hex={frame.hex()}".encode()
        yield f"wire=w direction=a-to-b length={len(frame)} hex={frame.hex()}".encode()


def telemetry():
    """Requests."""
    for text in ("/", "/help", "/help,/fuzz/echo", "/info", "/fuzz/echo", "/fuzz/echo,a,b",
                 "/fuzz/echo,\xe9", "/fuzz/grow," + "x" * 300, "/fuzz/text", "/fuzz/text,7",
                 "/fuzz/text," + "x" * 1300, "/weir/telemetry", "/ethdev/list",
                 "/ethdev/stats,0", "/ethdev/xstats,0", "/ethdev/info,0", "/ethdev/link_status,0",
                 "/ethdev/stats,x", "/unknown\x1b[2J", "x" * 4200,
                 "/ethdev/xstats,0,hide_zero=true",
                 "/ethdev/xstats,0,from=3,hide_zero=false", "/ethdev/xstats,0,from=x",
                 "/ethdev/xstats,0,from=70000", "/ethdev/xstats,99", "/ethdev/stats,0,1",
                 "/ethdev/info,4000000000", "/help,/", "/help,/unknown", "/help,", "/fuzz/grow",
                 "/fuzz/grow," + "x" * 99, "/info,x", "", ",", "/fuzz/echo,\0x",
                 "/ethdev/xstats,0,"):
        yield text.encode("latin-1")


def acts(sizes=(8, 40, 160, 600, 1500), begins=(b"", b"\0\0\0", b"\1\2\2", b"\xff\2\4")):
    """Yields lists of acts, with random bytes or small ones, which refer to the same things."""
    rng = random.Random(1)
    for size in sizes:
        for most in (4, 16, 256):
            for begin in begins:
                yield begin + bytes(rng.randrange(most) for _ in range(size))


def gossip():
    """Acts with each kind of group: the first byte."""
    return acts((100, 1500), [bytes((kind,)) for kind in range(0, 256, 9)])


def shape():
    """Yields lists of acts, and a packet that arrives long after the due time of the previous."""
    yield from acts()
    yield bytes.fromhex("01020204 0b0b0206 3fc36801 fc7694ff 01efff84 56ef0100 0022ffff ffffffff"
                        "ff8456ef ffefffff ff8456ef ff8456ef ff8456")


def budget():
    """Acts of fuzz_budget.c, and mostly whole messages of a neighbour."""
    for seed in range(60):
        rng = random.Random(seed)
        out = [seed & 7]
        for _ in range(rng.choice((20, 80, 200))):
            out.append(rng.choice((0, 1, 2, 12, 40, 255)))  # time
            if rng.random() < 0.5:
                wrong, clock = rng.choice((0, 0, 0, 0, 1, 3)), rng.randrange(4) & 2
                out += [1, rng.randrange(2) | clock] + [rng.randrange(256)] * (clock // 2)
                out += [rng.randrange(256), 0, wrong]
                out += [rng.randrange(256) for _ in range(3 * wrong)]
                out.append(rng.choice((0, 0, 0, 0, 0, rng.randrange(5))))
            else:
                act = rng.randrange(9)
                out += [0, rng.randrange(2), act]
                if act != 3:  # to forgo has no number
                    out.append(rng.choice((1, 3, rng.randrange(256))))
        yield bytes(out)


TARGETS = {"capture": capture, "classify": classify, "parse": parse, "probe": probe,
           "telemetry": telemetry, "gossip": gossip, "ledger": acts, "shape": shape,
           "budget": budget, "fragment": acts,
           **fuzz_texts.TARGETS}


def write(target, directory):
    """Writes the seeds of a target, if it has any here."""
    for i, data in enumerate(TARGETS.get(target, list)()):
        with open(os.path.join(directory, f"made-{i:02}"), "wb") as out:
            out.write(data)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(*sys.argv[1:])

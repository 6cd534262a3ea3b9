#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""weirctl explain, match, capture and talkers, for a limiter with live packets."""

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

import box
from box import expect, wait_until
from lifecycle import cable, raw

CTL = os.path.join(box.BUILD, "app", "weirctl", "weirctl")
NOBODY = 65534
SLOW = "8kbit/s"  # a packet of 1000 bytes a second
POLICIES = [
    {"name": "tight", "match": {"dst": "10.1.0.0/16", "proto": "udp"}, "limit": SLOW,
     "burst": "15kB"},
    {"name": "whole", "match": {"dst": "10.0.0.0/8"}, "limit": "100Gbit/s"},
    {"name": "six", "match": {"dst": "2001:db8::/32"}, "limit": "1Gbit/s"},
]


def ctl(weir, *words, status=0, text=True, **more):
    """Returns the standard output of weirctl, or the standard error if it must fail."""
    done = subprocess.run([CTL, "-s", weir.socket, *words], capture_output=True, check=False,
                          timeout=box.PATIENCE_S, stdin=subprocess.DEVNULL, text=text, **more)
    expect(done.returncode == status, f"weirctl {words}: {done}")
    return done.stderr if status else done.stdout


def told(weir, *words):
    """Returns the JSON output of weirctl."""
    return json.loads(ctl(weir, "--json", *words))


def udp(dst, length=1014, src="192.0.2.1"):
    """Returns a frame of that many bytes."""
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, length - 14, 0, 0, 64, 17, 0,
                     socket.inet_aton(src), socket.inet_aton(dst))
    total = sum(struct.unpack("!10H", ip))
    total = (total & 0xffff) + (total >> 16)
    ip = ip[:10] + struct.pack("!H", ~total & 0xffff) + ip[12:]
    head = b"\2\0\0\0\0\2\2\0\0\0\0\1\x08\0" + ip
    return head + struct.pack("!HHHH", 1000, 53, length - 34, 0) + bytes(length - 42)


def counted(weir):
    """Returns all counters that packets change."""
    return [weir.get("/weir/drops"),
            [weir.get("/weir/policy," + p["name"])[key] for p in POLICIES
             for key in ("passed", "dropped")]]


@contextlib.contextmanager
def crossed(scene, **wire):
    """Creates a limiter between two cables."""
    config = box.wire("net_af_packet0,iface=a", "net_af_packet1,iface=b", policies=POLICIES)
    config["wires"][0] |= wire
    weir = scene.box(config).start()
    with raw("ta") as source, raw("tb") as target:
        yield weir, source, target


def send_until(weir, source, target, dst, what):
    """Sends packets, one at a time, until the condition is true."""
    def once():
        source.send(udp(dst))
        return what()
    wait_until(once, f"{weir.get('/weir/drops')}: {target}")


def explained(scene):
    """The verdict before and after the bucket is empty. A request changes nothing."""
    with crossed(scene) as (weir, source, target):
        send_until(weir, source, target, "10.2.0.1", lambda: weir.total("rx_packets") > 0)
        source.send(udp("198.51.100.1"))  # last of all packets, and without a policy
        wait_until(lambda: weir.total("unmatched_packets") == 1, "on its way")
        before = counted(weir)
        for _ in range(100):
            answer, = told(weir, "explain", "192.0.2.1", "10.1.0.9", "udp", "1000", "53",
                           "length=1014")
            expect((answer["policy"], answer["verdict"], answer["reason"], answer["charged"])
                   == ("tight", "pass", "conforms", 1000), answer)
        expect(counted(weir) == before, "asked, and changed")
        send_until(weir, source, target, "10.1.0.9", lambda: weir.get("/weir/drops")["limit"] > 2)
        answer, = told(weir, "explain", "192.0.2.1", "10.1.0.9", "udp", "1000", "53")
        expect((answer["policy"], answer["verdict"], answer["reason"])
               == ("tight", "drop", "limit"), answer)
        answer, = told(weir, "explain", "hex", udp("10.1.0.9").hex())
        expect(answer["policy"] == "tight" and answer["packet"]["dst"] == "10.1.0.9", answer)
        answer, = told(weir, "explain", "192.0.2.1", "10.1.0.9", "tcp", "1", "2", "vlan=7")
        expect((answer["policy"], answer["packet"]["vlans"]) == ("whole", [7]), answer)
        answer, = told(weir, "explain", "hex", "0" * 24 + "0806")
        expect((answer["policy"], answer["reason"]) == (None, "unmatched"), answer)
        answer, = told(weir, "explain", "192.0.2.1", "10.1.0.9", "udp", "length=9000")
        expect((answer["verdict"], answer["reason"]) == ("drop", "oversize"), answer)
        path = scene.path("three.pcap")
        with open(path, "wb") as out:
            out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
            for dst in ("10.1.0.9", "10.2.0.1", "198.51.100.1"):
                out.write(struct.pack("<IIII", 1, 0, 1014, 1014) + udp(dst))
        got = [answer["policy"] for answer in told(weir, "explain", "pcap", path)]
        expect(got == ["tight", "whole", None], got)
        expect("expected an address" in ctl(weir, "explain", "ten", "eleven", "udp", status=2),
               "words")


def matched(scene):
    """The order of policies, and the one that matches the packets."""
    with crossed(scene) as (weir, _source, _target):
        got = told(weir, "match", "10.1.0.9")
        expect([(row["policy"], row["takes"]) for row in got["to"]]
               == [("tight", "some"), ("whole", "all")], got)
        expect(got["to"][0]["before_next"] == "longer prefix" and not got["from"], got)
        got = told(weir, "match", "10.1.0.9", "proto=udp")
        expect([(row["policy"], row["takes"]) for row in got["to"]]
               == [("tight", "all"), ("whole", "not reached")], got)
        got = told(weir, "match", "2001:db8::1")
        expect([(row["policy"], row["takes"]) for row in got["to"]] == [("six", "all")], got)
        expect("expected an address" in ctl(weir, "match", "10.1", status=2), "words")
        expect("tight" in ctl(weir, "match", "10.1.0.0/24"), "a table")


def blocks(data):
    """Yields the type and the body of each block of the format."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        expect(length % 4 == 0 and at + length <= len(data), f"block at {at}")
        expect(struct.unpack_from("<I", data, at + length - 4)[0] == length, f"its end at {at}")
        yield kind, data[at + 8:at + length - 4]
        at += length


def packets_of(data):
    """Returns (bytes on the wire, captured bytes, comment) of each packet of a pcapng file."""
    for kind, body in blocks(data):
        if kind != 6:
            continue
        _, _, _, captured, length = struct.unpack_from("<IIIII", body)
        at = 20 + (captured + 3) // 4 * 4
        code, n = struct.unpack_from("<HH", body, at)
        expect(code == 1, f"option {code}")
        yield length, body[20:20 + captured], body[at + 4:at + 4 + n].decode()


def captured(scene):
    """Passed and dropped packets with the reason, filters, and every kind of end."""
    with crossed(scene) as (weir, source, target):
        path = scene.path("all.pcapng")
        with subprocess.Popen([CTL, "-s", weir.socket, "capture", "--count", "40", "-w", path],
                              stderr=subprocess.DEVNULL) as child:
            send_until(weir, source, target, "10.1.0.9", lambda: child.poll() is not None)
            expect(child.returncode == 0, "a capture")
        with open(path, "rb") as file:
            got = list(packets_of(file.read()))
        expect(len(got) == 40, f"{len(got)} packets")
        whole = udp("10.1.0.9")
        expect(all(length == 1014 and data == whole[:42] for length, data, _ in got),
               "headers alone")
        comments = {comment for _, _, comment in got}
        expect(comments == {"pass, policy tight", "drop (limit), policy tight"}, comments)
        with subprocess.Popen([CTL, "-s", weir.socket, "capture", "--count", "5", "--reason",
                               "limit", "--policy", "tight", "--whole", "-w", "-"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            send_until(weir, source, target, "10.1.0.9", lambda: child.poll() is not None)
            got = list(packets_of(child.stdout.read()))
        expect([(data, comment) for _, data, comment in got]
               == [(whole, "drop (limit), policy tight")] * 5, got)
        expect(os.path.exists(path) and ctl(weir, "capture", "-w", path, "--count", "1", status=1),
               "a file that is there is left as it is")
        wait_until(lambda: "capture" in weir.get("/weir/capture"), "the previous one does not end")
        expect(weir.get("/weir/capture") == {"busy": True}, "two at a time")
        wait_until(lambda: "capture" in weir.get("/weir/capture"), "nobody reads, and it goes on")
        os.chmod(scene.directory, 0o755)
        os.chmod(weir.socket, 0o666)
        said = ctl(weir, "capture", "--count", "1", status=1, user=NOBODY, group=NOBODY,
                   extra_groups=[])
        expect("not permitted" in said, said)


@contextlib.contextmanager
def sending(source, frames):
    """Sends the frames one after the other, repeatedly, until the context ends."""
    over = threading.Event()

    def send():
        while not over.is_set():
            for frame in frames:
                source.send(frame)
            time.sleep(0.0002)  # so that other processes get this CPU

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def near(row, key, want):
    """Asserts that the error of an estimate is within its margin, or slightly more."""
    margin = 2.5 * row[key + "_margin"] + 0.02
    expect(abs(row[key] - want) <= margin, f"{key}: {want}: {row}")


def talked(scene):
    """Two senders, 3 to 1, of one policy; one without a policy; one with lost packets."""
    first, second, third, fourth = ("192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4")
    frames = [udp("10.2.0.1", src=first), udp("198.51.100.1", src=third),
              udp("10.2.0.1", src=first), udp("10.2.0.1", src=second),
              udp("10.1.0.1", src=fourth), udp("10.2.0.1", src=first)]
    with crossed(scene) as (weir, source, _), sending(source, frames):
        wait_until(lambda: weir.get("/weir/policy,tight")["dropped"]["packets"] > 100, "drops")
        said = told(weir, "talkers", "whole", "--for", "1s")
        rows = {row["source"]: row for row in said["talkers"]}
        expect([*rows] == [first, second], f"the larger one first: {said}")
        expect(said["packets"] >= said["samples"] > 100, said)
        near(rows[first], "share", 0.75)
        near(rows[second], "share", 0.25)
        near(rows[first], "dropped_share", 0)
        said = told(weir, "talkers", "--unmatched", "--by", "flow", "--for", "1s")
        expect([(row["source"], row["destination_port"], row["policy"]) for row in said["talkers"]]
               == [(third, 53, None)], said)
        said = told(weir, "talkers", "--for", "1s", "--top", "3")
        rows = {row["source"]: row for row in said["talkers"]}
        expect(len(rows) == 3 and rows[first]["policy"] == "whole", said)
        near(rows[first], "share", 0.5)
        near(told(weir, "talkers", "tight", "--for", "1s")["talkers"][0], "dropped_share", 1)
        both = ctl(weir, "talkers", "--by", "destination/24", "--for", "1s")
        expect("\n10.2.0.0/24" in both and "packets" in both.splitlines()[0], both)
        expect("no such policy" in ctl(weir, "talkers", "nobody", status=1), "a policy's name")
        expect("expected source" in ctl(weir, "talkers", "--by", "name", status=2), "words")


def nobody_s(scene):
    """A wire that drops by default: packets without a policy are dropped, counted and sampled.
    Packets that stay on the link pass. Then the default changes under traffic."""
    ether = bytes.fromhex("02000000000202000000000108")
    arp = ether + b"\x06" + bytes(46)
    advert = (ether[:-1] + b"\x86\xdd\x60\0\0\0\0\x18\x3a\xff" +
              socket.inet_pton(socket.AF_INET6, "2001:db9::1") +
              socket.inet_pton(socket.AF_INET6, "2001:db9::2") + b"\x88" + bytes(23))
    hello = udp("224.0.0.5", 100)
    stray, taken = udp("198.51.100.1", 200), udp("10.2.0.1", 300)

    def default(value):
        generation = weir.get("/weir/config")["generation"]
        weir.config["wires"][0]["default"] = value
        weir.write()
        weir.get("/weir/reload")
        wait_until(lambda: weir.get("/weir/config")["generation"] > generation, "the reload")

    with crossed(scene, default="drop") as (weir, source, target):
        target.settimeout(box.PATIENCE_S)
        for _ in range(10):
            for frame in (stray, arp, advert, stray, hello, taken):
                source.send(frame)
        seen = []
        while len(seen) < 40:
            data = target.recv(2000)
            seen += [data] if data in (stray, arp, advert, hello, taken) else []
        expect([seen.count(frame) for frame in (stray, arp, advert, hello, taken)]
               == [0, 10, 10, 10, 10], "what leaves")
        wait_until(lambda: weir.get("/weir/drops")["unmatched"] == 20, "counted")
        expect(weir.total("unmatched_packets") >= 30, "the link's own, which passed")
        answer, = told(weir, "explain", "hex", stray.hex())
        expect((answer["policy"], answer["verdict"], answer["reason"])
               == (None, "drop", "unmatched"), answer)
        answer, = told(weir, "explain", "hex", hello.hex())
        expect((answer["verdict"], answer["reason"]) == ("pass", "unmatched"), answer)
        with sending(source, [stray, taken]):
            said = told(weir, "talkers", "--unmatched", "--for", "1s")
            expect([row["source"] for row in said["talkers"]] == ["192.0.2.1"], said)
            near(said["talkers"][0], "dropped_share", 1)
        default({"policy": "six"})
        had = weir.get("/weir/policy,six")["passed"]["packets"]
        source.send(stray)
        wait_until(lambda: weir.get("/weir/policy,six")["passed"]["packets"] > had, "charged")
        # Not earlier: the worker can have the old limit until it charges a packet.
        lost = weir.get("/weir/drops")["unmatched"]
        rows = told(weir, "match", "198.51.100.1")["to"]
        expect([(row["policy"], row["match"].get("default")) for row in rows] == [("six", True)],
               rows)
        default("pass")
        had = weir.total("unmatched_packets")
        source.send(stray)
        wait_until(lambda: weir.total("unmatched_packets") > had, "it passes")
        expect(weir.get("/weir/drops")["unmatched"] == lost, "nothing more is lost")


def set_up():
    """Both cables, in a namespace."""
    box.enter_netns()
    cable("ta", "a")
    cable("tb", "b")


if __name__ == "__main__":
    sys.exit(box.main([explained, matched, captured, talked, nobody_s], setup=set_up))

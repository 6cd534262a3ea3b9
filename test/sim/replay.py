#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""`weirsim replay`, row by row, compared with a token bucket in exact fractions.

Packets are created together with the name of the policy that must match them, so this test does not
classify. Captures are written byte by byte in every format, and by scapy.

Usage: replay.py [SCENARIO...]. WEIR_BUILD names the build directory (default: build/ of this tree).
Exit status: 0 for success, 1 for a difference, 77 if not built.
"""

import csv
import gzip
import io
import ipaddress
import json
import logging
import os
import random
import struct
import subprocess
import sys
import tempfile
import traceback
from fractions import Fraction

logging.getLogger("scapy").setLevel(logging.ERROR)
# pylint: disable=wrong-import-position
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_Router_Alert, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.layers.l2 import ARP, GRE, Dot1AD, Dot1Q, Ether
from scapy.layers.ppp import PPPoE
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw
from scapy.utils import PcapNgWriter

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("WEIR_BUILD", "build"))
WEIRSIM = os.path.join(BUILD, "app", "weirsim", "weirsim")
# Most seconds of a program; longer runs hang or have no CPU. The runner of all tests sets it.
ANSWERS_S = int(os.environ.get("WEIR_ANSWERS_S", "600"))
SKIP = 77
DONE, FAILED, USAGE, CUT = 0, 1, 2, 3
NS = 10**9
PPP_IPV6 = b"\x00\x57"  # scapy's has one byte, which PPPoE advises against
START_NS = 1_700_000_000 * NS
SEED = int(os.environ.get("WEIR_SEED", "1"), 0)
COLUMNS = ["index", "time_ns", "bytes", "policy", "source", "verdict", "reason"]
PADDING, WIRE_BYTES = b"weir" * 400, 24
BURST_FLOOR = 9084  # bytes: least share of a burst
RATE_UNIT = 2**58    # a bucket's rate is rounded down to 1/RATE_UNIT bytes a nanosecond

MACS = {"src": "02:00:00:00:00:0a", "dst": "02:00:00:00:00:0b"}
V4 = {"src": "192.0.2.1", "dst": "10.0.0.1"}
POLICIES = [
    {"name": "web", "match": {"dst": "10.0.0.0/24", "direction": "a-to-b"},
     "limit": "15.625Mbit/s", "burst": "20000B"},
    {"name": "web-back", "match": {"src": "10.0.0.0/24", "direction": "b-to-a"},
     "limit": "3Mbit/s", "burst": "9000B", "accounting": "l2"},
    {"name": "six", "match": {"dst": "2001:db8::/32"}, "limit": "7654321bit/s",
     "burst": "5000B", "accounting": "wire"},
    {"name": "tagged", "match": {"vlan": 7}, "limit": "2Mbit/s", "burst": "4000B"},
    {"name": "second", "match": {"wire": "second", "direction": "b-to-a"}, "limit": "1Mbit/s",
     "burst": "3000B", "accounting": "l2"},
]
RATES = {"web": 15_625_000, "web-back": 3_000_000, "six": 7_654_321, "tagged": 2_000_000,
         "second": 1_000_000}


def expect(condition, what):
    """Fails the scenario with `what` unless the condition holds."""
    if not condition:
        raise AssertionError(what)


class Frame:
    """A packet: its bytes, its layer-2 length, its time, and the policies that must match it."""

    def __init__(self, text, l2_len, policies, time_ns=0):
        self.text, self.l2_len, self.policies, self.time_ns = text, l2_len, policies, time_ns
        self.captured = text

    def cost(self, accounting):
        """Returns the bytes that are charged."""
        return {"l3": len(self.text) - self.l2_len, "l2": len(self.text),
                "wire": len(self.text) + WIRE_BYTES}[accounting]


def templates(length):
    """Yields frames of every kind, and the policies that match them on the first wire."""
    body = Raw(PADDING[:length])
    web = {"src": "192.0.2.1", "dst": "10.0.0.9"}
    back = {"src": "10.0.0.9", "dst": "192.0.2.1"}
    six = {"src": "2001:db9::1", "dst": "2001:db8::2"}
    ether, none = Ether(**MACS), ("", "")
    yield ether / IP(**web) / UDP(sport=1, dport=2) / body, 14, ("web", "")
    yield ether / IP(**web, options=[IPOption_Router_Alert()]) / TCP() / body, 14, ("web", "")
    for part in fragment(IP(**web, id=7) / UDP() / Raw(PADDING[:length + 100]), fragsize=200):
        yield ether / part, 14, ("web", "")
    yield ether / Dot1Q(vlan=7) / IP(**web) / ICMP() / body, 18, ("web", "tagged")
    yield ether / Dot1AD(vlan=7) / Dot1Q(vlan=9) / IP(**back) / body, 22, ("tagged", "web-back")
    yield ether / IP(**back) / UDP() / body, 14, ("", "web-back")
    yield ether / IPv6(**six) / UDP() / body, 14, ("six", "six")
    yield ether / MPLS(label=3, s=0) / MPLS(label=4) / IP(**web) / UDP() / body, 22, ("web", "")
    yield (ether / PPPoE(sessionid=5) / Raw(PPP_IPV6) / IPv6(**six) / TCP() / body, 22,
           ("six", "six"))
    yield ether / Dot1Q(vlan=7) / IPv6(**six) / TCP() / body, 18, ("six", "six")
    yield ether / IPv6(**six) / IPv6ExtHdrDestOpt() / TCP() / body, 14, ("six", "six")
    yield ether / IPv6(**six) / IPv6ExtHdrFragment(id=3, offset=9, nh=17) / body, 14, ("six", "six")
    yield ether / Dot1Q(vlan=7) / ARP(), 18, ("tagged", "tagged")
    yield ether / Dot1Q(vlan=8) / IP(src="192.0.2.1", dst="10.0.1.1") / body, 18, none
    yield ether / ARP(), 14, none
    yield ether / IP(src="192.0.2.1", dst="10.0.1.9") / UDP() / body, 14, none
    yield Raw(bytes(ether)[:12]), 12, none


def traffic(rng, n, gap_ns):
    """Returns n random frames at random times, the first at START_NS."""
    kinds = [[Frame(bytes(packet), l2_len, policies)
              for packet, l2_len, policies in templates(size)] for size in (0, 18, 300, 1000, 1400)]
    now, frames = START_NS, []
    for _ in range(n):
        kind = rng.choice(rng.choice(kinds))
        frames.append(Frame(kind.text, kind.l2_len, kind.policies, now))
        now += rng.randrange(2 * gap_ns) if rng.random() < 0.995 else rng.randrange(NS)
    return frames


class Bucket:
    """The model: exact, except the rate, which is rounded as documented."""

    def __init__(self, bps, burst, now):
        self.rate = Fraction(bps * (RATE_UNIT // 8) // NS, RATE_UNIT)
        self.burst, self.tokens, self.last = Fraction(burst), Fraction(burst), now

    def conforms(self, now, cost):
        """Returns true and takes the tokens if `cost` bytes can pass now."""
        self.tokens = min(self.burst, self.tokens + self.rate * (now - self.last))
        self.last = now
        if self.tokens < cost:
            return False
        self.tokens -= cost
        return True


def model(frames, side=0, limiters=1, policy_of=None):
    """Returns the expected rows. All buckets share a clock, which never steps back."""
    configured = {policy["name"]: policy for policy in POLICIES}
    buckets = {}
    for name, policy in configured.items():
        burst = int(policy["burst"][:-1])
        share = max(burst // limiters, min(burst, BURST_FLOOR)) if limiters > 1 else burst
        buckets[name] = Bucket(RATES[name] // limiters, share, frames[0].time_ns)
    now = 0
    for index, frame in enumerate(frames, 1):
        now = max(now, frame.time_ns)
        policy = policy_of(frame) if policy_of else frame.policies[side]
        verdict, reason = "pass", "unmatched"
        if policy:
            cost = frame.cost(configured[policy].get("accounting", "l3"))
            passes = buckets[policy].conforms(now, cost)
            verdict, reason = ("pass", "conforms") if passes else ("drop", "limit")
        yield dict(zip(COLUMNS, [str(index), str(frame.time_ns), str(len(frame.text)), policy, "",
                                 verdict, reason]))


def classic(frames, order="<", magic=0xa1b23c4d, link=1):
    """Returns a capture in the classic format, in nanoseconds or microseconds."""
    unit = 1 if magic == 0xa1b23c4d else 1000
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link)]
    for frame in frames:
        seconds, rest = divmod(frame.time_ns, NS)
        parts.append(struct.pack(order + "IIII", seconds, rest // unit, len(frame.captured),
                                 len(frame.text)) + frame.captured)
    return b"".join(parts)


def block(order, kind, body):
    """Returns a block of the newer format."""
    body += bytes(-len(body) % 4)
    return struct.pack(order + "II", kind, len(body) + 12) + body + \
        struct.pack(order + "I", len(body) + 12)


def pcapng(frames, order=">", link=1):
    """Returns a capture in the newer format: two interfaces in turn, one with microseconds."""
    parts = [block(order, 0x0a0d0d0a, struct.pack(order + "IHHq", 0x1a2b3c4d, 1, 0, -1)),
             block(order, 1, struct.pack(order + "HHIHHBxxxI", link, 0, 0, 9, 1, 9, 0)),
             block(order, 1, struct.pack(order + "HHI", link, 0, 0)),
             block(order, 0xbad, b"something else")]
    for i, frame in enumerate(frames):
        exact = frame.time_ns % 1000 == 0 and i % 2
        ticks = frame.time_ns // 1000 if exact else frame.time_ns
        parts.append(block(order, 6, struct.pack(
            order + "IIIII", exact, ticks >> 32, ticks & 0xffffffff, len(frame.captured),
            len(frame.text)) + frame.captured))
    return b"".join(parts)


class Scene:
    """A folder with a configuration and a capture."""

    def __init__(self, folder):
        self.folder = folder
        self.configure(POLICIES)

    def configure(self, policies, **settings):
        """Writes the configuration; settings are keys of the file."""
        ports = {name: {"device": f"net_null{i}"} for i, name in enumerate("abcd")}
        config = {"limiter": "box", "ports": ports, "policies": policies, **settings,
                  "wires": [{"name": "first", "a": "a", "b": "b"},
                            {"name": "second", "a": "c", "b": "d"}]}
        with open(self.path("weir.json"), "w", encoding="utf-8") as out:
            json.dump(config, out)

    def path(self, name):
        """Returns a path in the folder."""
        return os.path.join(self.folder, name)

    def run(self, capture, *options, status=DONE, verdicts="rows.csv", **arguments):
        """Replays a capture. Returns the rows, the summary, and the messages on standard error."""
        with open(self.path("capture"), "wb") as out:
            out.write(capture)
        done = subprocess.run(
            [WEIRSIM, "replay", "--config", self.path("weir.json"), "--pcap", self.path("capture"),
             "--verdicts", self.path(verdicts), *options],
            check=False, capture_output=True, text=True, timeout=ANSWERS_S, **arguments)
        expect(done.returncode == status,
               f"exit status {done.returncode}, not {status}: {done.stderr}")
        if status in (FAILED, USAGE):
            return [], {}, done.stderr
        with open(self.path(verdicts), newline="", encoding="ascii") as text:
            rows = csv.DictReader(text)
            expect(rows.fieldnames == COLUMNS, f"columns {rows.fieldnames}")
            return list(rows), json.loads(done.stdout or "{}"), done.stderr


def compare(got, want):
    """Compares row by row; the failure names the first difference."""
    for have, must in zip(got, want, strict=True):
        expect(have == must, f"row {have}\n must be {must}")


def check_summary(summary, rows, frames):
    """Asserts that the summary is the sum of the rows."""
    expect(summary["complete"] and summary["packets"] == len(rows), "packets of the summary")
    expect(summary["bytes"] == sum(int(row["bytes"]) for row in rows), "bytes of the summary")
    times = [int(row["time_ns"]) for row in rows]
    expect((summary["first_time_ns"], summary["last_time_ns"]) == (min(times), max(times)),
           "times of the summary")
    for reason, n in summary["reasons"].items():
        expect(n == sum(row["reason"] == reason for row in rows), f"reason {reason}")
    configured = {policy["name"]: policy.get("accounting", "l3") for policy in POLICIES}
    for policy in summary["policies"]:
        for key, verdict in (("passed", "pass"), ("dropped", "drop"), ("marked", "mark"),
                             ("counted", "count")):
            costs = [frame.cost(configured[policy["name"]]) for row, frame in zip(rows, frames)
                     if (row["policy"], row["verdict"]) == (policy["name"], verdict)]
            expect(policy[key] == {"packets": len(costs), "charged": sum(costs)},
                   f"{policy['name']} {key}: {policy[key]}")
    unmatched = [int(row["bytes"]) for row in rows if row["policy"] == ""]
    expect(summary["unmatched"] == {"packets": len(unmatched), "bytes": sum(unmatched)},
           "unmatched")


def check(scene, capture, frames, *options, **how):
    """Compares a replay with the model; returns the summary."""
    rows, summary, _ = scene.run(capture, *options)
    compare(rows, model(frames, **how))
    check_summary(summary, rows, frames)
    return summary


def every_packet(scene):
    """Traffic of every kind, in both directions, against the model."""
    frames = traffic(random.Random(SEED), 4000, 20_000)
    there = check(scene, classic(frames), frames)
    back = check(scene, classic(frames), frames, "--direction", "b-to-a", side=1)
    for summary, names in ((there, ("web", "six", "tagged")), (back, ("web-back", "six"))):
        for policy in summary["policies"]:
            if policy["name"] in names:
                expect(policy["passed"]["packets"] > 20 and policy["dropped"]["packets"] > 20,
                       f"the traffic tests nothing: {policy}")


def second_wire(scene):
    """A match on the wire counts too: less than a prefix, more than an empty match."""
    frames = traffic(random.Random(SEED + 1), 1000, 1_000_000)
    names = {("", ""): "second", ("web", ""): "second", ("", "web-back"): "web-back"}

    def policy_of(frame):
        return names.get(frame.policies, frame.policies[1])

    check(scene, classic(frames), frames, "--wire", "second", "--direction", "b-to-a",
          policy_of=policy_of)


def every_format(scene):
    """One traffic in all formats gives the same rows."""
    frames = traffic(random.Random(SEED + 2), 400, 60_000)
    for frame in frames:
        frame.time_ns -= frame.time_ns % 1000
    captures = {f"{kind} {order}": text for order in "<>" for kind, text in (
        ("ns", classic(frames, order)), ("us", classic(frames, order, 0xa1b2c3d4)),
        ("ng", pcapng(frames, order)))}
    for name, capture in captures.items():
        try:
            check(scene, capture, frames)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


def as_scapy_writes(scene):
    """A pcapng file that scapy wrote."""
    frames, writer = [], PcapNgWriter(scene.path("scapy"))
    for frame in traffic(random.Random(SEED + 3), 200, 60_000):
        frame.time_ns -= frame.time_ns % 1000
        try:
            packet = Ether(frame.text)
        except struct.error:  # version 2.6 accepts no frame without a whole header
            continue
        frames.append(frame)
        packet.time = frame.time_ns / NS
        frame.time_ns = int(packet.time * 1_000_000) * 1000
        writer.write(packet)
    writer.close()
    with open(scene.path("scapy"), "rb") as text:
        check(scene, text.read(), frames)


def exact_boundary(scene):
    """At 15.625 Mbit/s 1000 bytes take exactly 512 µs."""
    text = bytes(Ether(**MACS) / IP(src="192.0.2.1", dst="10.0.0.9") / Raw(PADDING[:980]))
    times = [0] * 21 + [511_999, 512_000, 512_000, 1_023_999, 1_024_000]
    frames = [Frame(text, 14, ("web", ""), START_NS + time) for time in times]
    rows, _, _ = scene.run(classic(frames))
    verdicts = ["pass"] * 20 + ["drop", "drop", "pass", "drop", "drop", "pass"]
    expect([row["verdict"] for row in rows] == verdicts, f"{[row['verdict'] for row in rows]}")
    compare(rows, model(frames))


def one_of_four(scene):
    """limit/4 with a quarter of the burst, but not less than the floor."""
    frames = traffic(random.Random(SEED + 4), 1500, 200_000)
    check(scene, classic(frames), frames, "--limiters", "4", limiters=4)


def short_snaplen(scene):
    """96 bytes of each packet are enough; the length on the wire is charged."""
    frames = traffic(random.Random(SEED + 5), 500, 60_000)
    for snaplen in (96, 300, 2000):
        for frame in frames:
            frame.captured = frame.text[:snaplen]
        summary = check(scene, classic(frames), frames)
        cut = sum(len(frame.text) > snaplen for frame in frames)
        expect(summary["cut"] == cut, f"{summary['cut']} cut, not {cut}")


def too_short_snaplen(scene):
    """Truncated packets are classified by their captured headers only, and marked as truncated."""
    ends = {"src": "192.0.2.1", "dst": "10.0.0.9"}
    web = bytes(Ether(**MACS) / IP(**ends) / UDP() / Raw(PADDING[:100]))
    six = bytes(Ether(**MACS) / IPv6(src="::1", dst="2001:db8::1") / Raw(PADDING[:100]))
    tag = bytes(Ether(**MACS) / Dot1Q(vlan=7) / IP(**ends) / UDP() / Raw(PADDING[:100]))
    mpls = bytes(Ether(**MACS) / MPLS(label=3, s=0) / MPLS(label=4) / IP(**ends) / PADDING[:50])
    wire = bytes(Ether(**MACS) / MPLS(label=4) / Raw(bytes(4)) / Ether(**MACS) / IP(**ends))
    ppp = bytes(Ether(**MACS) / PPPoE() / Raw(PPP_IPV6) / IPv6(src="::1", dst="2001:db8::1") /
                PADDING[:50])
    arp = bytes(Ether(**MACS) / ARP()) + PADDING[:18]
    cases = [(web, 34, "web", "conforms"), (web, 33, "", "truncated"), (web, 14, "", "truncated"),
             (web, 13, "", "truncated"), (web, 0, "", "truncated"), (six, 54, "six", "conforms"),
             (six, 53, "", "truncated"), (tag, 38, "web", "conforms"),
             (tag, 37, "tagged", "truncated"), (tag, 18, "tagged", "truncated"),
             (tag, 17, "", "truncated"), (tag, 14, "", "truncated"), (mpls, 42, "web", "conforms"),
             (mpls, 41, "", "truncated"), (mpls, 22, "", "truncated"), (mpls, 19, "", "truncated"),
             (wire, 30, "", "unmatched"), (ppp, 62, "six", "conforms"), (ppp, 61, "", "truncated"),
             (ppp, 21, "", "truncated"), (arp, 20, "", "unmatched"),
             (web[:33], 33, "", "unmatched"), (web[:13], 13, "", "unmatched")]
    frames = []
    for text, captured, _, _ in cases:
        frames.append(Frame(text, 14, None, START_NS))
        frames[-1].captured = text[:captured]
    rows, summary, _ = scene.run(classic(frames))
    for row, (text, captured, policy, reason) in zip(rows, cases, strict=True):
        expect((row["policy"], row["reason"], row["bytes"], row["verdict"]) ==
               (policy, reason, str(len(text)), "pass"), f"{captured} bytes captured: {row}")
    charged = {policy["name"]: policy["passed"]["charged"] for policy in summary["policies"]}
    expect(charged["tagged"] == 2 * (len(tag) - 18), f"charged {charged}")


def raw_ip(scene):
    """Without Ethernet: charged like the frame on a wire."""
    frames = [frame for frame in traffic(random.Random(SEED + 6), 1500, 60_000)
              if frame.l2_len == 14 and frame.text[12:14] in (b"\x08\x00", b"\x86\xdd")]
    whole = classic(frames)
    rows, _, _ = scene.run(whole)
    for kind in (101, 12, 14, 228, 229):
        stripped = [Frame(frame.text[14:], 0, None, frame.time_ns) for frame in frames]
        again, _, _ = scene.run(classic(stripped, link=kind))
        compare(again, rows)
    compare(rows, model(frames))
    empty = Frame(frames[0].text[14:], 0, None, START_NS)
    empty.captured = b""
    rows, _, _ = scene.run(classic([empty], link=101))
    expect(rows[0]["reason"] == "truncated", f"{rows}")


def clock_that_steps_back(scene):
    """No time is credited twice; the summary reports the number and size of the steps."""
    frames = traffic(random.Random(SEED + 7), 3000, 20_000)
    rng = random.Random(SEED + 8)
    steps = []
    for before, frame in zip(frames, frames[1:]):
        if rng.random() < 0.2:
            frame.time_ns -= rng.randrange(2_000_000)
        if frame.time_ns < before.time_ns:
            steps.append(before.time_ns - frame.time_ns)
    rows, summary, said = scene.run(classic(frames))
    compare(rows, model(frames))
    check_summary(summary, rows, frames)
    expect(summary["steps_back"] == {"packets": len(steps), "longest_ns": max(steps)},
           f"{summary['steps_back']}")
    expect(f"time steps back {len(steps)} times" in said, said)


def tell(rows):
    """Returns the columns of each row that a table has."""
    return [tuple(row[key] for key in ("policy", "source", "verdict", "reason")) for row in rows]


def check_table(scene, table):
    """Rows of (packet, ms, expected result); returns the summary's policies by name."""
    frames = [Frame(bytes(packet), 0, None, START_NS + ms * 1_000_000) for packet, ms, _ in table]
    rows, summary, _ = scene.run(classic(frames))
    for got, (packet, ms, want) in zip(tell(rows), table, strict=True):
        expect(got == want, f"{packet.summary()} at {ms} ms: {got}, not {want}")
    return {policy["name"]: policy for policy in summary["policies"]}


def tunnels(scene):
    """Classified by outer or inner headers as configured; outer lengths are charged."""
    ether, body = Ether(**MACS), Raw(PADDING[:100])
    ends = {"src": "198.51.100.1", "dst": "198.51.100.2"}
    web = IP(src="192.0.2.1", dst="10.0.0.9") / UDP(sport=7, dport=53) / body
    packets = [ether / IP(**ends) / GRE(key_present=1, key=9) / web,
               ether / IP(**ends) / GRE() / (Ether(**MACS) / web),
               ether / IP(**ends) / UDP(sport=1, dport=8472) /
               (VXLAN(flags="Instance", vni=4) / (ether / web)),
               ether / MPLS(label=6) / IP(**ends) / web]
    policies = [{"name": "ends", "limit": "1Gbit/s", "match": {"dst": "198.51.100.2/32"}},
                {"name": "web", "limit": "1Gbit/s", "match": {"dst": "10.0.0.0/24",
                                                              "dst-port": 53}}]
    for classify, policy in (("outer", "ends"), ("inner", "web")):
        settings = {"classify": classify, **({"vxlan-port": 8472} if policy == "web" else {})}
        scene.configure(policies, tunnels=settings)
        want = (policy, "", "pass", "conforms")
        told = check_table(scene, [(packet, 1, want) for packet in packets])
        charged = told[policy]["passed"]["charged"]
        expect(charged == sum(len(packet) - 14 for packet in packets) - 4, f"{charged} charged")


def fragments(scene):
    """Fragments belong to the policy of the first one if they follow in order, without a gap and
    soon. Others belong to the strictest policy that can match them."""
    def parts(port, number):
        packet = IP(src="192.0.2.1", dst="10.0.0.9", id=number) / UDP(sport=9, dport=port)
        return [Ether(**MACS) / part
                for part in fragment(packet / Raw(PADDING[:900]), fragsize=400)]
    dns, web = parts(53, 1), parts(443, 2)
    scene.configure([{"name": "dns", "limit": "1Gbit/s", "match": {"dst-port": 53}},
                     {"name": "rest", "limit": "500Mbit/s"}])
    named, other = ("dns", "", "pass", "conforms"), ("rest", "", "pass", "conforms")
    check_table(scene, [(dns[0], 1, named), (web[0], 1, other), (dns[1], 2, named),
                        (web[1], 3, other), (dns[2], 1900, named), (dns[1], 1901, other)])
    check_table(scene, [(dns[0], 1, named), (dns[2], 2, other), (dns[1], 3, other)])
    check_table(scene, [(dns[1], 1, other), (dns[0], 2, named), (dns[1], 3, other)])
    check_table(scene, [(dns[0], 1, named), (dns[1], 2500, other)])


def every_action(scene):
    """Marks packets that can be marked, drops others, and passes all with action "count"."""
    slow = {"limit": "8kbit/s", "burst": "1000B"}
    scene.configure([
        {"name": "ecn", "match": {"vlan": 1}, "action": "mark", **slow},
        {"name": "dscp", "match": {"vlan": 2}, "action": "mark", "mark": 8, **slow},
        {"name": "shadow", "match": {"vlan": 3}, "action": "count", **slow}])

    def tagged(vlan, packet):
        return Ether(bytes(Ether(**MACS) / Dot1Q(vlan=vlan) / packet))

    body = Raw(PADDING[:972])
    udp = {ecn: IP(src="192.0.2.1", dst="10.0.0.1", tos=ecn) / UDP() / body for ecn in range(4)}
    six = IPv6(src="::1", dst="::2", tc=2) / UDP() / Raw(PADDING[:952])
    table = [(tagged(1, udp[0]), 0, ("ecn", "", "pass", "conforms")),
             (tagged(1, udp[0]), 0, ("ecn", "", "drop", "unmarkable")),
             (tagged(1, udp[1]), 0, ("ecn", "", "mark", "limit")),
             (tagged(1, udp[2]), 0, ("ecn", "", "mark", "limit")),
             (tagged(1, udp[3]), 0, ("ecn", "", "mark", "limit")),
             (tagged(1, six), 0, ("ecn", "", "mark", "limit")),
             (tagged(1, ARP()), 0, ("ecn", "", "drop", "unmarkable")),
             (tagged(2, udp[0]), 0, ("dscp", "", "pass", "conforms")),
             (tagged(2, udp[0]), 999, ("dscp", "", "mark", "limit")),
             (tagged(2, ARP()), 999, ("dscp", "", "pass", "conforms")),
             (tagged(2, udp[0]), 1001, ("dscp", "", "mark", "limit")),
             (tagged(3, udp[0]), 1001, ("shadow", "", "pass", "conforms")),
             (tagged(3, udp[0]), 1001, ("shadow", "", "count", "limit"))]
    policies = check_table(scene, table)
    expect(policies["ecn"]["marked"] == {"packets": 4, "charged": 4000}, f"{policies['ecn']}")
    expect(policies["ecn"]["dropped"] == {"packets": 2, "charged": 1028}, f"{policies['ecn']}")
    expect(policies["shadow"]["counted"] == {"packets": 1, "charged": 1000}, "counted")


def tallies(policy):
    """Returns a policy's packets: passed, dropped, marked, counted."""
    return tuple(policy[key]["packets"] for key in ("passed", "dropped", "marked", "counted"))


def every_level(scene):
    """Each level acts by itself. The lowest level that marks determines the mark, and packets that
    cannot be marked are dropped there. A level's row counts that level's own actions."""
    body = Raw(PADDING[:972])
    ect, deaf = (Ether(**MACS) / IP(**V4, tos=tos) / UDP() / body for tos in (2, 0))
    arp = Ether(**MACS) / ARP() / Raw(PADDING[:972])
    wide, slow = {"limit": "1Gbit/s"}, {"limit": "8kbit/s", "burst": "1000B"}
    mark, count = {**slow, "action": "mark"}, {**slow, "action": "count"}
    passes, over = [("pass", "conforms")], [("mark", "limit")]
    total = {"allocator": "quota", "total": "5000B"}  # one packet's worth is prefetched
    unmarkable = [("drop", "unmarkable")]
    for link, mid, leaf, packets, want, rows in (
            # The leaf, its parent, or the root marks
            (wide, wide, mark, (ect, ect, deaf), over + unmarkable,
             ((2, 0, 0, 0), (2, 0, 0, 0), (1, 1, 1, 0))),
            (wide, mark, wide, (ect, ect, deaf), over + unmarkable,
             ((2, 0, 0, 0), (1, 1, 1, 0), (2, 1, 0, 0))),
            (mark, wide, wide, (ect, ect, deaf), over + unmarkable,
             ((1, 1, 1, 0), (2, 1, 0, 0), (2, 1, 0, 0))),
            (wide, {**mark, "mark": "af12"}, wide, (ect, deaf, arp), over + unmarkable,
             ((2, 0, 0, 0), (1, 1, 1, 0), (2, 1, 0, 0))),
            # Several are exceeded: the lowest that marks, drops or counts
            (count, mark, count, (ect, ect, deaf), over + unmarkable,
             ((1, 0, 0, 1), (1, 1, 1, 0), (1, 1, 0, 1))),
            (mark, {**mark, "mark": "af12"}, wide, (deaf, deaf), over,
             ((1, 0, 1, 0), (1, 0, 1, 0), (2, 0, 0, 0))),
            (slow, mark, wide, (deaf, deaf), [("drop", "limit")],
             ((1, 1, 0, 0), (1, 1, 0, 0), (1, 1, 0, 0))),
            (count, slow, count, (deaf, deaf), [("drop", "limit")],
             ((1, 0, 0, 0), (1, 1, 0, 0), (1, 1, 0, 0))),
            (count, wide, wide, (deaf, deaf), [("count", "limit")],
             ((1, 0, 0, 1), (2, 0, 0, 0), (2, 0, 0, 0))),
            # A total without prefetched quota
            ({**total, "action": "count"}, wide, wide, (deaf, deaf), [("count", "quota")],
             ((1, 0, 0, 1), (2, 0, 0, 0), (2, 0, 0, 0))),
            ({**total, "action": "count"}, wide, count, (deaf, deaf), [("count", "limit")],
             ((1, 0, 0, 1), (2, 0, 0, 0), (1, 0, 0, 1))),
            ({**total, "action": "count"}, mark, wide, (ect, ect), over,
             ((1, 0, 0, 1), (1, 0, 1, 0), (2, 0, 0, 0))),
            (wide, {**total, "action": "mark"}, wide, (ect, ect, deaf),
             [("mark", "quota")] + unmarkable, ((2, 0, 0, 0), (1, 1, 1, 0), (2, 1, 0, 0))),
            (wide, total, count, (ect, ect), [("drop", "quota")],
             ((1, 0, 0, 0), (1, 1, 0, 0), (1, 1, 0, 0)))):
        scene.configure([{"name": "link", **link}, {"name": "mid", "parent": "link", **mid},
                         {"name": "leaf", "parent": "mid", "match": {}, **leaf}],
                        ledger={"store": "/var/lib/weir/box"})
        told = check_table(scene, [(packet, 0, ("leaf", "", *row)) for packet, row
                                   in zip(packets, passes + want, strict=True)])
        got = tuple(tallies(told[name]) for name in ("link", "mid", "leaf"))
        expect(got == rows, f"{link}, {mid}, {leaf}: {got}, not {rows}")


def green_with_a_mark(scene):
    """Green packets conform, with or without a mark."""
    scene.configure([{"name": "gold", "limit": "8kbit/s", "burst": "1000B", "meter": "trtcm",
                      "peak": {"limit": "8kbit/s", "burst": "2000B"},
                      "colours": {"green": {"mark": "af11"}, "yellow": {"mark": "af12"}}}])
    packet = Ether(**MACS) / IP(**V4) / UDP() / Raw(PADDING[:972])
    told = check_table(scene, [(packet, 0, ("gold", "", *row)) for row in (
        ("mark", "conforms"), ("mark", "limit"), ("drop", "limit"))])
    expect(tallies(told["gold"]) == (0, 1, 2, 0), f"{told['gold']}")


def every_unit(scene):
    """Packets and new flows in place of bytes; and windows."""
    scene.configure([
        {"name": "packets", "match": {"vlan": 1}, "count": "packets", "limit": "2/s", "burst": 2},
        {"name": "flows", "match": {"vlan": 2}, "count": "flows", "limit": "1/s", "burst": 1},
        {"name": "window", "match": {"vlan": 3}, "meter": "fixed-window", "window": "1s",
         "limit": "8kbit/s"}])

    def tagged(vlan, packet):
        return Ether(bytes(Ether(**MACS) / Dot1Q(vlan=vlan) / IP(**V4) / packet))

    def both(verdict):
        return ("", "pass", "conforms") if verdict else ("", "drop", "limit")

    syn, ack = TCP(sport=1, flags="S"), TCP(sport=1, flags="A")
    big = UDP() / Raw(PADDING[:972])
    rows = [(1, 0, UDP(), 1), (1, 0, big, 1), (1, 499, UDP(), 0), (1, 501, big, 1),
            (2, 501, syn, 1), (2, 501, ack, 1), (2, 501, TCP(sport=2, flags="S"), 0),
            (2, 501, UDP(sport=3), 0), (2, 1502, UDP(sport=3), 1), (2, 1502, UDP(sport=3), 1),
            (2, 1502, UDP(sport=4), 0), (3, 1600, big, 1), (3, 2599, UDP(), 0), (3, 2600, big, 1)]
    names = {1: "packets", 2: "flows", 3: "window"}
    policies = check_table(scene, [(tagged(vlan, packet), ms, (names[vlan], *both(verdict)))
                                   for vlan, ms, packet, verdict in rows])
    expect(policies["packets"]["passed"] == {"packets": 3, "charged": 3}, f"{policies['packets']}")
    expect(policies["flows"]["passed"] == {"packets": 4, "charged": 2}, f"{policies['flows']}")


def each_source(scene):
    """A bucket for each source prefix of the policy; packets without an address share one."""
    scene.configure([
        {"name": "host", "match": {"vlan": 1}, "per": "src", "limit": "15.625Mbit/s",
         "burst": "3000B"},
        {"name": "net", "match": {"vlan": 2}, "per": "src/20", "limit": "15.625Mbit/s",
         "burst": "3000B"}])
    rng = random.Random(SEED + 15)
    sources = {"192.0.2.1": 20, "192.0.15.2": 20, "192.0.16.255": 20, "2001:db8::1": 64,
               "2001:db8::2": 64, "2001:db8:0:1::1": 64}
    frames, buckets, want, now = [], {}, [], START_NS
    for _ in range(2000):
        now += rng.randrange(40) * 512  # a byte of credit each, so that nothing is rounded
        source, vlan = rng.choice([*sources, None]), rng.choice((1, 2))
        layer = ARP() if source is None else IPv6(src=source, dst="::1") if ":" in source else IP(
            src=source, dst="10.0.0.1")
        text = bytes(Ether(**MACS) / Dot1Q(vlan=vlan) / layer / Raw(PADDING[:rng.randrange(1200)]))
        frames.append(Frame(text, 18, None, now))
        bits = 0 if source is None else sources[source] if vlan == 2 else 128 if ":" in source \
            else 32
        name = str(ipaddress.ip_network(f"{source}/{bits}", strict=False)) if source else ""
        bucket = buckets.setdefault((vlan, name), Bucket(15_625_000, 3000, START_NS))
        passes = bucket.conforms(now, len(text) - 18)
        want.append((("host", "net")[vlan - 1], name,
                     *(("pass", "conforms") if passes else ("drop", "limit"))))
    rows, summary, _ = scene.run(classic(frames))
    for index, (got, must) in enumerate(zip(tell(rows), want, strict=True), 1):
        expect(got == must, f"row {index}: {got}, not {must}")
    expect(min(summary["reasons"]["conforms"], summary["reasons"]["limit"]) > 200, f"{summary}")


def a_total(scene):
    """All of a total and no more passes, packet by packet, or an N-th of it, and again each minute.
    Then its limit applies. Totals in other units count those."""
    minute, size, total = 60 * NS, 1000, 2_000_000
    scene.configure([
        {"name": "bytes", "match": {"vlan": 1}, "allocator": "quota", "total": f"{total}B"},
        {"name": "minute", "match": {"vlan": 2}, "allocator": "quota", "total": f"{total}B",
         "period": "1min", "limit": "8kbit/s", "burst": "3000B"},
        {"name": "packets", "match": {"vlan": 3}, "allocator": "quota", "total": 1000,
         "count": "packets", "action": "count"}],
        ledger={"store": "/var/lib/weir/box"})
    names = {1: "bytes", 2: "minute", 3: "packets"}
    texts = {vlan: bytes(Ether(**MACS) / Dot1Q(vlan=vlan) / IP(**V4) / UDP()
                         / Raw(PADDING[:size - 28])) for vlan in names}
    begins = START_NS // minute * minute + minute // 2
    rng, frames, now = random.Random(SEED + 18), [], begins
    while now < begins + minute:  # half a minute of one period, and half of the next
        frames.append(Frame(texts[rng.randint(1, 3)], 18, None, now))
        now += rng.randrange(8_000_000)
    for limiters in (1, 4):
        rows, summary, _ = scene.run(classic(frames), "--limiters", str(limiters))
        told = list(zip(tell(rows), frames, strict=True))
        for name, most, cost in (("bytes", total, size), ("packets", 1000, 1)):
            verdicts = [row[2:] for row, _ in told if row[0] == name]
            over = ("drop" if name == "bytes" else "count", "quota")
            spent = cost * verdicts.count(("pass", "conforms"))
            expect(most // limiters - cost < spent <= most // limiters, f"{name}: {spent} spent")
            expect(set(verdicts) == {("pass", "conforms"), over}, f"{name}: {set(verdicts)}")
            spent_by = most // limiters // cost * 8 // 10
            expect(set(verdicts[:spent_by]) == {("pass", "conforms")}, f"{name}: refused early")
        for half in (0, 1):
            passed = sum(size for row, frame in told if row[0] == "minute" and row[2] == "pass"
                         and (frame.time_ns >= begins + minute // 2) == half)
            beside = 1000 // limiters * 30 + 9084
            expect(total // limiters - size < passed <= total // limiters + beside,
                   f"{passed} bytes passed in half {half}, of 1/{limiters}")
        expect(summary["reasons"]["quota"] > 1000 and summary["reasons"]["limit"] == 0,
               f"{summary['reasons']}")


def a_fast_total(scene):
    """Packets that arrive faster than quota is prefetched exceed it although some is left, until
    more is prefetched. Slow ones use all of it."""
    size, total = 1442, 10_000_000
    scene.configure([{"name": "q", "match": {"vlan": 1}, "allocator": "quota",
                      "total": f"{total}B"}], ledger={"store": "/var/lib/weir/box"})
    text = bytes(Ether(**MACS) / Dot1Q(vlan=1) / IP(**V4) / UDP() / Raw(PADDING[:size - 28]))
    passed = []
    for gap in (1_000, 1_000_000):
        frames = [Frame(text, 18, None, START_NS + gap * i) for i in range(8000)]
        rows, _, _ = scene.run(classic(frames))
        verdicts = [row[2] for row in tell(rows)]
        passed.append(size * verdicts.count("pass"))
    expect(passed[0] < total // 2 and total - size < passed[1] <= total, f"{passed} of {total}")


def a_trial(scene):
    """A trial of another limit, burst or meter counts exactly the packets that enforcing it would
    drop or pass, and affects none."""
    own = {"limit": "15.625Mbit/s", "burst": "200000B"}
    tried = [{"limit": "4Mbit/s", "burst": "40000B"}, {"burst": "60000B"},
             {"meter": "fixed-window", "window": "10ms"}, {"limit": "1Gbit/s"}]
    frames = traffic(random.Random(SEED + 19), 4000, 20_000)
    for limiters in ("1", "4"):
        scene.configure([{"name": "all", **own}])
        rows, alone, _ = scene.run(classic(frames), "--limiters", limiters)
        expect("trial" not in alone["policies"][0], "a trial that there is not")
        for trial in tried:
            scene.configure([{"name": "all", **own, "trial": trial}])
            beside, summary, _ = scene.run(classic(frames), "--limiters", limiters)
            compare(beside, rows)
            same = {"limit": own["limit"]} if "meter" in trial else own
            scene.configure([{"name": "all", **same, **trial}])
            _, enforced, _ = scene.run(classic(frames), "--limiters", limiters)
            got, want = summary["policies"][0]["trial"], enforced["policies"][0]
            expect(got == {"passed": want["passed"], "dropped": want["dropped"]},
                   f"{trial} of 1/{limiters}: {got}, and where it is enforced {want}")
            expect(want["dropped"] != alone["policies"][0]["dropped"], f"{trial} tries nothing")


def random_drop(scene):
    """Twice the limit loses half from the second interval on; after a pause of years nothing."""
    scene.configure([{"name": "all", "limit": "8Mbit/s", "meter": "random-drop", "match": {}}])
    text = bytes(Ether(**MACS) / IP(**V4) / Raw(PADDING[:980]))
    times = [START_NS + k * 500_000 for k in range(8000)]
    times += [times[-1] + 2_500_000_000 * NS + k * 5_000_000 for k in range(200)]
    frames = [Frame(text, 14, None, time) for time in times]
    rows, _, _ = scene.run(classic(frames))
    passed = [row["verdict"] == "pass" for row in rows]
    expect(all(passed[:100]) and all(passed[8000:]), "drops where there is no more than the limit")
    n = sum(passed[100:8000])
    expect(abs(n - 3950) < 200, f"{n} of 7900 passed, expected half")
    again, _, _ = scene.run(classic(frames))
    compare(again, rows)


def cut_short(scene):
    """Rows up to the cut, a warning with the packet's number, and a separate exit status."""
    frames = traffic(random.Random(SEED + 9), 20, 60_000)
    whole = classic(frames)
    rows, summary, said = scene.run(whole[:-1], status=CUT)
    compare(rows, model(frames[:-1]))
    expect(not summary["complete"] and summary["packets"] == 19, f"{summary}")
    expect("capture: warning: packet 20: truncated dump file" in said, said)
    _, summary, _ = scene.run(b"", status=CUT)
    expect(summary["packets"] == 0 and summary["first_time_ns"] is None, f"{summary}")
    rows, summary, _ = scene.run(classic([]))
    expect(rows == [] and summary["complete"], f"{summary}")


def damaged(scene):
    """Impossible records are rejected with their number, and the rows before are written."""
    frames = traffic(random.Random(SEED + 10), 2, 60_000)
    record = struct.pack("<IIII", 1, 1, 0x7fffffff, 0x7fffffff)
    longer = struct.pack("<IIII", 1, 1, 1, 1 << 25) + b"x"
    shorter = struct.pack("<IIII", 1, 1, 2, 1) + b"xx"
    for more, words in ((record, "invalid packet capture length 2147483647"),
                        (longer, "has 33554432 bytes: the most is 16777216"),
                        (shorter, "2 bytes captured of 1")):
        _, _, said = scene.run(classic(frames) + more, status=FAILED)
        expect(f"capture: packet 3: {words}" in said, said)
        with open(scene.path("rows.csv"), encoding="ascii") as text:
            expect(len(text.readlines()) == 3, "the rows before the damage")
    for what in (b"{}\n\n" * 10, gzip.compress(classic(frames))):
        _, _, said = scene.run(what, status=FAILED)
        expect("capture: unknown file format" in said, said)


def other_links(scene):
    """Other link types are rejected by name, as are interfaces with mixed link types or byte
    orders."""
    frames = traffic(random.Random(SEED + 11), 10, 60_000)
    for link, name in ((113, "Linux cooked v1"), (276, "Linux cooked v2"), (0, "BSD loopback"),
                       (105, "802.11"), (999, "unknown")):
        for capture in (classic(frames, link=link), pcapng(frames, link=link)):
            _, _, said = scene.run(capture, "--json", scene.path("summary.json"),
                                   status=FAILED)
            expect(f"link type {link} ({name}) is not supported" in said, said)
            with open(scene.path("summary.json"), encoding="ascii") as text:
                expect(json.load(text)["unsupported"] == len(frames), "not counted")
            expect(said.count("link type") == 1, said)
    for second, words in ((pcapng(frames[5:], link=113), "an interface has a type 113 different"),
                          (pcapng(frames[5:], "<"), "pcapng block size")):
        _, _, said = scene.run(pcapng(frames[:5]) + second, status=FAILED)
        expect("capture: packet 6: " in said and words in said, said)
        with open(scene.path("rows.csv"), encoding="ascii") as text:
            expect(len(text.readlines()) == 6, "the rows before it")
    check(scene, pcapng(frames[:5]) + pcapng(frames[5:]), frames)


def simple_packets(scene):
    """Packets without a time get that of the one before."""
    frames = traffic(random.Random(SEED + 12), 2, 60_000)
    text = frames[1].text
    capture = pcapng(frames[:1], "<")
    capture += block("<", 3, struct.pack("<I", len(text)) + text) * 2
    rows, summary, _ = scene.run(capture)
    frames = [frames[0]] + [Frame(text, frames[1].l2_len, frames[1].policies, START_NS)] * 2
    compare(rows, model(frames))
    expect(summary["untimed"] == 2, f"{summary}")


def from_a_pipe(scene):
    """Reads standard input for "-", without seeking."""
    frames = traffic(random.Random(SEED + 13), 300, 60_000)
    done = subprocess.run(
        [WEIRSIM, "replay", "--config", scene.path("weir.json"), "--pcap", "-", "--verdicts",
         "/dev/stdout", "--json", scene.path("summary.json")],
        input=classic(frames), check=True, capture_output=True, timeout=ANSWERS_S)
    compare(csv.DictReader(io.StringIO(done.stdout.decode())), model(frames))
    with open(scene.path("summary.json"), encoding="ascii") as text:
        expect(json.load(text)["packets"] == 300, "the summary in a file")


def output_that_fails(scene):
    """A full disk and a closed reader are errors, at any point."""
    frames = traffic(random.Random(SEED + 14), 40000, 400)
    for capture in (classic(frames[:3]), classic(frames)):
        for options in (("--verdicts", "/dev/full"), ("--json", "/dev/full")):
            with open(scene.path("capture"), "wb") as out:
                out.write(capture)
            done = subprocess.run([WEIRSIM, "replay", "--config", scene.path("weir.json"), "--pcap",
                                   scene.path("capture"), *options], check=False, text=True,
                                  capture_output=True, timeout=ANSWERS_S)
            expect(done.returncode == FAILED and "/dev/full: No space left" in done.stderr,
                   f"{options}: {done.returncode} {done.stderr}")
    with subprocess.Popen([WEIRSIM, "replay", "--config", scene.path("weir.json"), "--pcap",
                           scene.path("capture"), "--verdicts", "/dev/stdout", "--json",
                           "/dev/null"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        process.stdout.close()
        said = process.stderr.read()
    expect(process.returncode == FAILED and "Broken pipe" in said, f"{process.returncode} {said}")


def wrong_usage(scene):
    """Errors name the expected values."""
    capture = classic([])
    for options, status, words in (
            (("--wire", "third"), FAILED,
             '--wire "third": the configuration has "first", "second"'),
            (("--direction", "up"), FAILED, '--direction "up": expected "a-to-b" or "b-to-a"'),
            (("--limiters", "0"), FAILED, '--limiters "0": expected 1 to '),
            (("--limiters", "2x"), FAILED, '--limiters "2x": expected 1 to '),
            (("--json", "/nowhere/x"), FAILED, "/nowhere/x: No such file"),
            (("--pcap", "again"), USAGE, "--pcap: given twice"),
            (("more",), USAGE, "see weirsim replay --help"),
            (("--unknown",), USAGE, "--unknown: no such option")):
        _, _, said = scene.run(capture, *options, status=status)
        expect(words in said, f"{options}: {said}")
    _, _, said = scene.run(capture, verdicts="no/such/folder", status=FAILED)
    expect("no/such/folder: No such file" in said, said)
    for arguments, status in (((), USAGE), (("--help",), DONE), (("--version",), DONE),
                              (("replay",), USAGE), (("replay", "--help"), DONE), (("x",), USAGE)):
        done = subprocess.run([WEIRSIM, *arguments], check=False, capture_output=True,
                              timeout=ANSWERS_S)
        expect(done.returncode == status, f"{arguments}: {done.returncode}")
        expect(bool(done.stdout) == (status == DONE), f"{arguments}: what is written where")


SCENARIOS = [every_packet, second_wire, every_format, as_scapy_writes, exact_boundary,
             one_of_four, short_snaplen, too_short_snaplen, raw_ip, clock_that_steps_back,
             tunnels, fragments, every_action, every_level, green_with_a_mark, every_unit,
             each_source, a_total, a_fast_total, a_trial, random_drop, cut_short, damaged,
             other_links, simple_packets, from_a_pipe, output_that_fails, wrong_usage]


def main():
    """Runs all scenarios, or those that are named."""
    if not os.access(WEIRSIM, os.X_OK):
        print(f"{WEIRSIM} is not built")
        sys.exit(SKIP)
    failed = 0
    for scenario in SCENARIOS:
        if len(sys.argv) > 1 and scenario.__name__ not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory(prefix="weir-replay-") as folder:
            try:
                scenario(Scene(folder))
                print(f"ok    {scenario.__name__}")
            except Exception as error:  # pylint: disable=broad-except
                if not isinstance(error, AssertionError):
                    traceback.print_exc()
                print(f"FAIL  {scenario.__name__} (WEIR_SEED={SEED}): {error}")
                failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

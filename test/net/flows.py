#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""weir-exporter's flow records: their sums equal the limiter's counters.

Collectors are one in this file, written from RFC 3954 and RFC 7011, and nfcapd with nfdump (of
Debian's nfdump) if installed or unpacked by tools/setup. Runs in its own network namespace. The
collector forwards each datagram to nfcapd:

    weir-exporter ──▶ Collector ──▶ nfcapd ──▶ nfdump
"""

import collections
import contextlib
import os
import shutil
import socket
import struct
import subprocess
import sys
import time

import box
from box import expect, ip, wait_until
from exporter import EXPORTER, exporter
from lifecycle import cable, raw, udp_frame

OCTETS, PACKETS, FLOWS, NAME, DESCRIPTION, DOMAIN_NAME = 1, 2, 3, 96, 94, 300
STATUS, APPLICATION = 89, 95
FORWARDED, DROPPED, POLICER, QUEUE = 64, 128, 138, 139
VARIABLE = 0xffff
L3 = 46  # bytes of udp_frame() that policies account for
LIMITED, SHAPED, COUNTED, FLOWING, MARKED, NOBODYS = range(1000, 1006)  # source ports
POLICIES = [
    {"name": "limited", "limit": "8kbit/s", "burst": "2kB", "match": {"src-port": LIMITED}},
    {"name": "shaped", "limit": "8kbit/s", "burst": "2kB", "action": "shape",
     "shape": {"delay": "200ms"}, "match": {"src-port": SHAPED}},
    {"name": "counted", "limit": "1/s", "burst": 5, "count": "packets",
     "match": {"src-port": COUNTED}},
    {"name": "flowing", "limit": "10/s", "burst": 10, "count": "flows",
     "match": {"src-port": FLOWING}},
    {"name": "marked", "limit": "8kbit/s", "burst": "2kB", "action": "mark", "mark": 10,
     "match": {"src-port": MARKED}},
]
for each in POLICIES:
    each["match"]["proto"] = "udp"


class Collector:
    """Receives datagrams of either version, and adds up the values of each name."""

    def __init__(self, family=socket.AF_INET, port=0, hand_to=None, late=False):
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", port))
        self.socket.setblocking(False)
        self.port = self.socket.getsockname()[1]
        # If late, records without a received template or name are ignored.
        self.hand_to, self.late = hand_to, late
        self.templates, self.names, self.limits, self.domains = {}, {}, {}, {}
        self.longest, self.records, self.expected = 0, 0, {}  # by domain: the next sequence number
        self.sums = collections.Counter()  # (name, status, element): sum
        self.until = {}  # (domain, application, status): end of its last record

    def address(self):
        """Returns the address for the exporter's --netflow."""
        host = "[::1]" if self.socket.family == socket.AF_INET6 else "127.0.0.1"
        return f"{host}:{self.port}"

    def look(self):
        """Reads all pending datagrams."""
        with contextlib.suppress(BlockingIOError):
            while True:
                datagram = self.socket.recv(65536)
                if self.hand_to:
                    self.socket.sendto(datagram, ("127.0.0.1", self.hand_to))
                self.take(datagram)

    def take(self, datagram):
        """Parses one datagram completely."""
        self.longest = max(self.longest, len(datagram))
        version, = struct.unpack_from(">H", datagram)
        expect(version in (9, 10), f"version {version}")
        if version == 9:
            count, up_ms, seconds, sequence, domain = struct.unpack_from(">HIIII", datagram, 2)
            boot_ms, at = seconds * 1000 - up_ms, 20
        else:
            length, seconds, sequence, domain = struct.unpack_from(">HIII", datagram, 2)
            expect(length == len(datagram), f"length {length} of {len(datagram)}")
            count, boot_ms, at = None, 0, 16
        expect(abs(time.time() - seconds) < 60, "another time of export")
        expected = self.expected.get(domain, sequence if self.late else 0)
        expect(sequence == expected, f"sequence {sequence}, and not {expected}")
        records = data = 0
        while at < len(datagram):
            number, length = struct.unpack_from(">HH", datagram, at)
            expect(4 < length <= len(datagram) - at and length % 4 == 0, f"a set of {length}")
            n = self.take_set(version, domain, boot_ms, number, datagram[at + 4:at + length])
            records, data, at = records + n, data + n * (number >= 256), at + length
        self.expected[domain] = sequence + (1 if version == 9 else data)
        expect(count is None or self.late or count == records, f"{records} records of {count}")

    def take_set(self, version, domain, boot_ms, number, body):
        """Parses a set; returns the number of its records or templates."""
        n = 0
        if self.late and number >= 256 and (domain, number) not in self.templates:
            return n
        while len(body) > 3 and (number >= 256 or body[:2] != b"\0\0"):
            if number >= 256:
                record, body = self.read(self.templates[domain, number], body)
                self.note(domain, boot_ms, record)
            elif number in (0, 2):
                body = self.describe(domain, body, 4, struct.unpack_from(">H", body, 2)[0])
            elif version == 9:
                scopes, options = struct.unpack_from(">HH", body, 2)
                body = self.describe(domain, body, 6, (scopes + options) // 4, scopes // 4)
            else:
                body = self.describe(domain, body, 6, struct.unpack_from(">H", body, 2)[0])
            n += 1
        expect(not any(body), "what fills up is zeros")
        return n

    def describe(self, domain, body, head, n, scopes=0):
        """Stores a template. Scope fields of version 9 have their own numbers."""
        numbers = struct.unpack_from(f">{2 * n}H", body, head)
        self.templates[domain, struct.unpack_from(">H", body)[0]] = [
            (-id_ if i < scopes else id_, length)
            for i, (id_, length) in enumerate(zip(numbers[::2], numbers[1::2]))]
        return body[head + 4 * n:]

    @staticmethod
    def read(template, body):
        """Reads one record; returns its elements and the bytes after it."""
        record = {}
        for element, length in template:
            if length == VARIABLE:
                length, body = body[0], body[1:]
            expect(len(body) >= length, "a record that is not whole")
            value, body = body[:length], body[length:]
            texts = element in (NAME, DESCRIPTION, DOMAIN_NAME)
            record[element] = (value.rstrip(b"\0").decode() if texts
                               else int.from_bytes(value, "big"))
        return record, body

    def note(self, domain, boot_ms, record):
        """Adds a record to the sums, or stores its names."""
        if DOMAIN_NAME in record:
            self.domains[domain] = record[DOMAIN_NAME]
        elif NAME in record:
            self.names[record[APPLICATION]] = record[NAME]
            self.limits[record[NAME]] = record[DESCRIPTION]
        elif not self.late or record[APPLICATION] in self.names:
            name, status = self.names[record[APPLICATION]], record[STATUS]
            start, end = (boot_ms + record[22], boot_ms + record[21]) if boot_ms else (
                record[152], record[153])
            expect(abs(time.time() * 1000 - end) < 60000 and start < end, f"{start} to {end}")
            last = self.until.get((domain, name, status), start)
            expect(start >= last, f"{name} told twice: from {start}, and until {last} before")
            self.until[domain, name, status] = end
            self.records += 1
            for element in (OCTETS, PACKETS, FLOWS):
                self.sums[name, status, element] += record.get(element, 0)

    def close(self):
        """Closes the socket, so that the port is unused."""
        self.socket.close()


@contextlib.contextmanager
def collecting(*arguments, **more):
    """Runs a Collector until the context ends."""
    one = Collector(*arguments, **more)
    try:
        yield one
    finally:
        one.close()


@contextlib.contextmanager
def limiter(scene, policies):
    """Runs a limiter between two cables; yields it and a function that sends from a port."""
    cable("a", "ta")
    cable("b", "tb")
    weir = scene.box(box.wire("net_af_packet0,iface=a", "net_af_packet1,iface=b",
                              policies=policies))

    def send(port, n):
        before = weir.total("rx_packets")
        for serial in range(n):
            ta.send(udp_frame(port, serial))
            time.sleep(0.0005)
        wait_until(lambda: weir.total("rx_packets") >= before + n, "packets")
    try:
        with raw("ta") as ta:
            weir.start()
            yield weir, send
    finally:
        ip("link del dev a")
        ip("link del dev b")


def counted(weir):
    """Returns the limiter's counters: {(name, status, element): value}."""
    found = collections.Counter()
    for policy in weir.get("/weir/policies")["policies"]:
        now = weir.get(f"/weir/policy,{policy}")
        status = QUEUE if now["shape"] else POLICER
        for verdict, of in (("passed", FORWARDED), ("dropped", status)):
            for unit, element in (("bytes", OCTETS), ("packets", PACKETS), ("flows", FLOWS)):
                found[policy, of, element] = now[verdict].get(unit, 0)
    found["(unmatched)", FORWARDED, PACKETS] = weir.total("unmatched_packets")
    return found


def add_up(one, weir, earlier=None):
    """Waits until the records add up exactly to the limiter's counters plus `earlier`; returns that
    sum."""
    want = counted(weir)
    want.update(earlier or {})

    def told():
        one.look()
        return +one.sums == +want
    wait_until(told, lambda: f"told {dict(one.sums)}, counted {dict(want)}", 20)
    return want


def await_first(one):
    """Waits for the first reading, from which all packets are counted."""
    wait_until(lambda: one.look() or one.domains, "templates")


@contextlib.contextmanager
def nfcapd(scene):
    """Yields (port, folder of its files) of a running nfcapd, or (None, None)."""
    if not shutil.which("nfcapd") or subprocess.run(["nfcapd", "-V"], capture_output=True,
                                                    check=False).returncode:
        yield None, None
        return
    folder = scene.path("flows")
    os.mkdir(folder)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with open(scene.path("nfcapd.log"), "wb") as log:
        process = subprocess.Popen(["nfcapd", "-w", folder, "-b", "127.0.0.1", "-p", str(port)],
                                   stdout=log, stderr=log, preexec_fn=box.die_with_parent)
    try:
        with open("/proc/net/udp", encoding="ascii") as sockets:
            wait_until(lambda: sockets.seek(0) or f":{port:04X} " in sockets.read(), "nfcapd")
        yield port, folder
    finally:
        process.terminate()
        process.wait(box.PATIENCE_S)


def nfdump(folder):
    """Returns {(name, status): (packets, bytes)} and {name: limit} as shown by nfdump."""
    text = subprocess.run(["nfdump", "-R", folder, "-q", "-N", "-o", "fmt:%pkt|%byt|%fwd|%nbnam"],
                          capture_output=True, text=True, check=True,
                          timeout=box.PATIENCE_S).stdout
    sums, limits = collections.defaultdict(lambda: [0, 0]), {}
    for line in text.splitlines():
        packets, octets, status, name = (word.strip() for word in line.split("|"))
        name, limits[name.split("/")[0]] = name.split("/", 1)
        sums[name, int(status)][0] += int(packets)
        sums[name, int(status)][1] += int(octets)
    return {key: tuple(both) for key, both in sums.items()}, limits


def each_verdict(scene):
    """Every kind of policy: sums, statuses, names and limits, in version 9."""
    with limiter(scene, POLICIES) as (weir, send):
        with nfcapd(scene) as (port, folder), collecting(hand_to=port) as one:
            with exporter("-s", weir.socket, "--netflow", one.address(),
                          "--netflow-interval", "1") as serving:
                await_first(one)
                for source in (LIMITED, SHAPED, COUNTED, FLOWING, MARKED, NOBODYS):
                    send(source, 200)
                wait_until(lambda: not weir.get("/weir/policy,shaped")["shape"]["waiting_packets"],
                           "what waits")
                want = add_up(one, weir)
                got = serving.metrics()
        expect(one.domains == {int(got["weir_netflow_domain", "limiter", "box1"]): "box1"},
               str(one.domains))
        expect(got["weir_netflow_sent_records_total", "limiter", "box1"] == one.records, str(got))
        expect(got["weir_netflow_send_errors_total", "limiter", "box1"] == 0, str(got))
        for name, status in (("limited", POLICER), ("shaped", QUEUE), ("counted", POLICER)):
            expect(want[name, status, PACKETS] > 0 < want[name, FORWARDED, PACKETS], str(want))
        expect(want["limited", POLICER, OCTETS] == L3 * want["limited", POLICER, PACKETS], "bytes")
        expect(want["flowing", FORWARDED, FLOWS] > 0, str(want))
        expect(want["(unmatched)", FORWARDED, PACKETS] == 200, str(want))
        expect(one.limits["limited"] == "8kbit/s" and one.limits["counted"] == "1 packets/s" and
               one.limits["(unmatched)"] == "no policy", str(one.limits))
        if not folder:
            return "without nfcapd"
        sums, limits = nfdump(folder)
        packets = {(name, status): (n, want[name, status, OCTETS])
                   for (name, status, element), n in want.items() if element == PACKETS and n}
        expect(sums == packets, f"nfdump has {sums}, expected {packets}")
        expect({name: limits[name] for name in one.limits} == one.limits, str(limits))
        return f"{one.records} records, read by nfdump"


def over_lives(scene):
    """A killed limiter counts from 0 again, a removed policy is gone, nothing is reported twice."""
    with limiter(scene, POLICIES) as (weir, send), collecting(socket.AF_INET6) as one:
        with exporter("-s", weir.socket, "--netflow", one.address(), "--netflow-interval", "1",
                      "--netflow-version", "10"):
            await_first(one)
            send(LIMITED, 80)
            send(FLOWING, 10)
            earlier = add_up(one, weir)
            weir.kill()
            weir.start()
            send(LIMITED, 120)
            add_up(one, weir, earlier)
            earlier.update({key: n for key, n in counted(weir).items() if key[0] == "limited"})
            weir.config["policies"] = POLICIES[1:] + [
                {"name": "new", "limit": "1Mbit/s", "match": {"src-port": LIMITED}}]
            weir.write()
            weir.get("/weir/reload")
            wait_until(lambda: "new" in weir.get("/weir/policies")["policies"], "a reload")
            send(LIMITED, 30)
            send(FLOWING, 10)
            add_up(one, weir, earlier)
            expect(one.sums["new", FORWARDED, PACKETS] == 30, str(one.sums))
    return f"{one.records} records of IPFIX over IPv6"


def nobody_listens(scene):
    """Without a collector only an error counter rises. A late collector gets the templates and
    names, then new records."""
    with collecting() as one:
        port = one.port
    with limiter(scene, POLICIES) as (weir, send), exporter(
            "-s", weir.socket, "--netflow", f"127.0.0.1:{port}", "--netflow-interval", "1",
            "--netflow-refresh", "1") as serving:
        errors = ("weir_netflow_send_errors_total", "limiter", "box1")
        wait_until(lambda: serving.metrics().get(errors, 0) > 0, "errors")
        send(LIMITED, 50)
        with collecting(port=port, late=True) as one:
            await_first(one)
            passed = ("limited", FORWARDED, PACKETS)
            wait_until(lambda: send(LIMITED, 5) or one.look() or one.sums[passed], "records")
            expect(one.sums[passed] <= counted(weir)[passed], str(one.sums))
        return f"{serving.metrics()[errors]:.0f} errors"


def narrow_path(scene):
    """Datagrams are as long as the path's MTU allows, and no longer."""
    policies = [{"name": f"customer-{i:03}-{'x' * 50}", "limit": "1Mbit/s",
                 "match": {"src-port": 2000 + i}} for i in range(60)]
    with limiter(scene, policies) as (weir, send):
        for mtu, family, headers in ((65536, socket.AF_INET, 28), (1280, socket.AF_INET6, 48),
                                     (700, socket.AF_INET, 28)):
            ip(f"link set dev lo mtu {mtu}")
            with collecting(family) as one:
                with exporter("-s", weir.socket, "--netflow", one.address(), "--netflow-interval",
                              "1"):
                    await_first(one)
                    before = counted(weir)
                    for i in range(60):
                        send(2000 + i, 1)
                    add_up(one, weir, collections.Counter(
                        {key: -n for key, n in before.items()}))
                most = min(mtu - headers, 1452)
                expect(most - 110 < one.longest <= most, f"{one.longest} bytes of {most}")


def wrong_words(_):
    """Invalid collectors and options are rejected with a message."""
    for wrong in (("--netflow", "somewhere"), ("--netflow", ":2055"), ("--netflow", "::1:2055"),
                  ("--netflow-version", "5"), ("--netflow-interval", "0"),
                  ("--netflow-refresh", "x")):
        done = subprocess.run([EXPORTER, *wrong], capture_output=True, text=True, check=False,
                              timeout=box.PATIENCE_S)
        expect(done.returncode == 2 and done.stderr.startswith("weir-exporter: "), str(done))


if __name__ == "__main__":
    if "--netflow" not in subprocess.run([EXPORTER, "--help"], capture_output=True, text=True,
                                         check=True).stdout:
        print(f"skipped: {EXPORTER} is built without flow records")
        sys.exit(box.SKIP)
    box.main([each_verdict, over_lives, nobody_listens, narrow_path, wrong_words],
             box.enter_netns)

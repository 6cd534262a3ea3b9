#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Sends almost valid datagrams, requests and frames to whole limiters.

Each input is a valid one with random changes, from a seed that is printed after a failure. Limiters
must reject every one, count all of them, and answer valid requests meanwhile. Runs in its own
network namespace.

Usage: hostile.py [--times N] [--seed N] [SCENARIO...]. CI runs it with the sanitizers. --times 500
sends 10^7 datagrams, and 10^6 requests of each kind and frames.
"""

import contextlib
import json
import random
import re
import socket
import struct
import sys
import threading
import time

import box
from box import expect, wait_until
from exporter import exporter
from lifecycle import cable, raw, udp_frame, write_key

PORTS = [17946, 17947]
POLICIES = {"policies": [
    {"name": "udp", "match": {"proto": "udp", "dst-port": 9}, "limit": "1Gbit/s"},
    {"name": "kept", "limit": "10Mbit/s", "burst": "75kB", "guarantee": "hard"}]}
DATAGRAMS, REQUESTS, FRAMES = 20000, 2000, 2000  # number of each; multiplied by --times
BATCH = 200  # inputs between two checks of the counters
CLIENTS = 64
RECORD_S = 1.5
IP_UDP = 28
LONGEST = 1400


def options():
    """Returns (times, seed), and removes these options from the arguments."""
    values = {"--times": 1, "--seed": random.SystemRandom().randrange(1 << 32)}
    for name in values:
        if name in sys.argv:
            at = sys.argv.index(name)
            values[name] = int(sys.argv[at + 1])
            del sys.argv[at:at + 2]
    return values["--times"], values["--seed"]


def change(rng, real):
    """Returns a copy with flipped, cut, added, repeated or random bytes."""
    out = bytearray(real)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(8)
        if kind < 3 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 3 and at < len(out):
            out[at] = rng.choice((0, 1, 0x7f, 0x80, 0xff))
        elif kind == 4:
            del out[at:]
        elif kind == 5:
            out[at:at] = rng.randbytes(rng.randrange(1, 64))
        elif kind == 6:
            out[at:at] = out[at:at + rng.randrange(1, 64)]
        elif kind == 7 and rng.randrange(4) == 0:
            out = bytearray(rng.randbytes(rng.randrange(1, 200)))
    return bytes(out[:LONGEST])


def seeded(scenario):
    """Calls the scenario with (scene, rng, times); prints the seed if it fails."""
    def play(scene):
        try:
            return scenario(scene, random.Random(SEED), TIMES)
        except BaseException:
            print(f"    again: hostile.py --seed {SEED} --times {TIMES} {scenario.__name__}")
            raise
    play.__name__ = scenario.__name__
    return play


def group(i, key):
    """Returns the configuration of limiter i of two. Timeouts are long, because sanitizers are
    slow."""
    roster = [{"name": f"l{k}", "address": f"127.0.0.{k + 1}:{PORTS[k]}"} for k in range(2)]
    return box.wire(f"net_ring{2 * i}", f"net_ring{2 * i + 1}") | POLICIES | {
        "limiter": f"l{i}", "gossip": {"roster": roster, "key_file": key, "timeout": "10s"}}


def record(port, seconds):
    """Returns the UDP payloads sent to that port on loopback."""
    got, end = set(), time.monotonic() + seconds
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)) as listener:
        listener.bind(("lo", 0))
        listener.settimeout(0.2)
        while time.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                packet = listener.recv(65536)
                if packet[9] == 17 and packet[22:24] == struct.pack(">H", port):
                    got.add(packet[IP_UDP:])
    return sorted(got)


def forge(liar, payload):
    """Sends a datagram to limiter 0 with the source address of limiter 1."""
    head = struct.pack(">BBHHHBBH4s4sHHHH", 0x45, 0, IP_UDP + len(payload), 0, 0, 64, 17, 0,
                       bytes((127, 0, 0, 2)), bytes((127, 0, 0, 1)), PORTS[1], PORTS[0],
                       8 + len(payload), 0)
    liar.sendto(head + payload, ("127.0.0.1", 0))


def taken(weir):
    """Returns (accepted datagrams, received datagrams)."""
    gossip = weir.get("/weir/gossip")
    received = gossip["received"]
    return received["accepted"] + received["message"], sum(received.values())


@seeded
def datagrams(scene, rng, times):
    """Changed datagrams with the address of a peer: limiter 0 accepts only the peer's own
    datagrams."""
    key = write_key(scene)
    boxes = [scene.box(group(i, key) | {"ledger": {"store": scene.path(f"store{i}")}}, f"l{i}")
             for i in range(2)]
    for one in boxes:
        status, _, err = one.run("--new-ledger", box.LEDGER, one.config_path)
        expect(status == 0, err)
        one.start()
    victim, peer = boxes
    wait_until(lambda: victim.get("/weir/peers")["peers"][1]["state"] == "alive", "the peer")
    real = record(PORTS[0], RECORD_S)
    expect(len(real) > 5, f"{len(real)} datagrams recorded")
    sent = 0
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as liar:
        while sent < DATAGRAMS * times:
            came = taken(victim)[1]
            for _ in range(BATCH):
                payload = rng.choice(real)
                forge(liar, change(rng, payload) if rng.randrange(8) else payload)
            sent += BATCH
            wait_until(lambda came=came: taken(victim)[1] >= came + BATCH / 2, "them to be read")
    gossip = victim.get("/weir/gossip")
    theirs = peer.get("/weir/gossip")["sent"]  # read last: the peer has sent more since
    accepted, came = taken(victim)
    state = victim.get("/weir/peers")["peers"][1]
    expect(accepted <= theirs, f"{accepted} accepted, {theirs} sent: {gossip}")
    expect(came >= 0.9 * sent, f"{came} of {sent} came: {gossip}")
    expect(state["state"] == "alive" and state["restarts"] == 0, str(state))
    expect(state["implausible"] == 0 and state["invalid_statements"] == 0, str(state))
    for one in boxes:
        one.stop()
    return f"{sent} sent, {came - accepted} refused, {accepted} of {theirs} true ones taken"


WORDS = ("/", "/help,/weir/policy", "/info", "/weir/config", "/weir/health", "/weir/policies,0",
         "/weir/policy,udp", "/weir/delays,udp", "/weir/peers,0", "/weir/gossip", "/weir/drops",
         "/weir/unparsed", "/weir/workers", "/weir/ports", "/weir/ledger,kept,0",
         "/weir/quota,udp", "/weir/shares,udp,0", "/weir/tree,0", "/weir/etcd,0",
         "/weir/placement,udp", "/ethdev/stats,0", "/eal/params")


def ask(client, request):
    """Returns the reply as text, or None if the connection was closed."""
    try:
        client.send(request)
        return client.recv(box.REPLY_MAX) or None
    except ConnectionError:
        return None


class Hostile(threading.Thread):
    """A client that sends almost valid requests, and sometimes does not wait for the reply."""

    def __init__(self, path, seed, n):
        super().__init__(daemon=True)
        self.path, self.rng, self.left = path, random.Random(seed), n
        self.wrong, self.client = [], None

    def reconnect(self):
        """Opens another connection; retries, because pending replies can use all slots."""
        if self.client:
            self.client.close()
        end = time.monotonic() + box.PATIENCE_S
        while True:
            try:
                self.client = box.Client(self.path).socket
                return
            except (OSError, ValueError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def once(self):
        """Sends a changed request, or a valid one, whose reply must be right."""
        request = self.rng.choice(WORDS).encode()
        if self.rng.randrange(16) == 0:
            self.client.send(request)  # without reading the reply
            self.reconnect()
            return
        if self.rng.randrange(8):
            request = change(self.rng, request)
        reply = ask(self.client, request or b"/") if request else None
        if reply is None:
            self.reconnect()
            return
        try:
            value = json.loads(reply)
            if len(value) != 1 and not request.startswith(b"/info"):
                raise ValueError
        except ValueError:
            self.wrong.append((request, reply[:200]))

    def run(self):
        try:
            self.reconnect()
            while self.left > 0:
                self.once()
                self.left -= 1
        except Exception as why:  # the scenario reports it
            self.wrong.append(why)
        finally:
            if self.client:
                self.client.close()


@seeded
def requests(scene, rng, times):
    """64 clients send requests; one sends valid ones, and must receive the right replies."""
    weir = scene.box(box.wire("net_ring0", "net_ring1") | POLICIES | {
        "policies": POLICIES["policies"][:1]}).start()
    clients = [Hostile(weir.socket, rng.randrange(1 << 32), REQUESTS * times // CLIENTS)
               for _ in range(CLIENTS - 1)]
    began, replies = time.monotonic(), 0
    for client in clients:
        client.start()
    while any(client.is_alive() for client in clients):
        policy = weir.get("/weir/policy,udp")
        expect(policy["limit_bps"] == 1e9, str(policy))
        replies += 1
    took = time.monotonic() - began
    wrong = [one for client in clients for one in client.wrong]
    expect(not wrong, f"{len(wrong)}, the first: {wrong[:3]}")
    expect(not any(client.left for client in clients), "not all were asked")
    weir.stop()
    return f"{sum(REQUESTS * times // CLIENTS for _ in clients)} requests in {took:.1f} s, " \
           f"{replies} proper ones meanwhile"


# Requests of browsers, scrapers and proxies, and of the script of the page.
WEB = (b"GET / HTTP/1.1\r\nHost: localhost:9947\r\nAccept: text/html,*/*;q=0.8\r\n\r\n",
       b"GET /metrics HTTP/1.1\r\nHost: [::1]\r\nAccept-Encoding: gzip\r\nAccept: "
       b"application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5\r\n\r\n",
       b"GET /metrics HTTP/1.0\r\n\r\n",
       b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
       b"GET /weir.js HTTP/1.1\r\nHost: [::1]\r\nIf-None-Match: \"0123456789abcdef\"\r\n\r\n",
       b"GET /policies?find=ud%70&more=%00 HTTP/1.1\r\nHost: [::1]\r\n\r\n",
       b"GET /events?policy=udp HTTP/1.1\r\nHost: [::1]\r\nAccept: text/event-stream\r\n"
       b"Last-Event-ID: 7\r\n\r\n",
       b"POST /metrics HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 5\r\n\r\nhello",
       b"GET /metrics HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\n"
       b"5\r\nhello\r\n0\r\n\r\n",
       b"GET / HTTP/1.1\r\nHost: [::1]\r\n\r\nGET /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n")
UNFINISHED_S = 0.05  # an incomplete request gets no reply, so the client waits only this long
STATUS = re.compile(
    rb"HTTP/1\.[01] (200|304|400|404|405|408|411|413|414|417|421|431|500|501|503|505) ")


class HostileBrowser(threading.Thread):
    """A client that sends almost valid HTTP requests, and accepts a valid reply or none."""

    def __init__(self, port, seed, n):
        super().__init__(daemon=True)
        self.port, self.rng, self.left = port, random.Random(seed), n
        self.wrong, self.replies = [], 0

    def talk(self, request):
        """Returns the first bytes of the reply, and resets the connection, so that it ends."""
        with socket.create_connection(("127.0.0.1", self.port), box.PATIENCE_S) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with contextlib.suppress(ConnectionError, TimeoutError):
                client.sendall(request)
                if self.rng.randrange(16) == 0:
                    return b""  # without reading the reply
                client.settimeout(UNFINISHED_S)
                return client.recv(1 << 16)
        return b""

    def once(self):
        """Sends a changed request, or sometimes a valid one."""
        request = self.rng.choice(WEB)
        if self.rng.randrange(8):
            request = change(self.rng, request)
        reply = self.talk(request or b"\r\n")
        self.replies += bool(reply)
        if reply and not STATUS.match(reply):
            self.wrong.append((request, reply[:200]))

    def run(self):
        try:
            while self.left > 0:
                self.once()
                self.left -= 1
        except Exception as why:  # the scenario reports it
            self.wrong.append(why)


@seeded
def web(scene, rng, times):
    """64 clients send requests to the exporter; one sends valid ones and must get the right
    replies."""
    weir = scene.box(box.wire("net_ring0", "net_ring1") | POLICIES | {
        "policies": POLICIES["policies"][:1]}).start()
    with exporter("-s", weir.socket) as one:
        clients = [HostileBrowser(one.port, rng.randrange(1 << 32), REQUESTS * times // CLIENTS)
                   for _ in range(CLIENTS - 1)]
        page, began, proper = one.ask(path="/")[2], time.monotonic(), 0
        for client in clients:
            client.start()
        while any(client.is_alive() for client in clients):
            status, _, text = one.ask()
            expect(status == 200 and 'weir_up{limiter="box1"} 1\n' in text, text[:200])
            expect(one.ask(path="/")[2] == page, "another page")
            found = json.loads(one.ask(path="/policies?find=zzz")[2])
            expect(found == [], str(found))
            proper += 3
        took = time.monotonic() - began
        wrong = [what for client in clients for what in client.wrong]
        expect(not wrong, f"{len(wrong)}, the first: {wrong[:3]}")
        expect(not any(client.left for client in clients), "not all were asked")
        expect(one.memory() < 600 << 20, f"{one.memory()} bytes")
        return f"{sum(REQUESTS * times // CLIENTS for _ in clients)} requests in {took:.1f} s, " \
               f"{sum(client.replies for client in clients)} replies, {proper} proper ones " \
               f"meanwhile, {one.memory() >> 20} MiB"


def real_frames():
    """Returns IPv4 and IPv6 frames with tags, options, extension headers, fragments and tunnels."""
    ether = udp_frame(1, 1)[:12]
    ip4 = udp_frame(7, 7)[14:]
    udp = struct.pack(">HHHH", 7, 9, 16, 0) + bytes(8)
    hosts = bytes.fromhex("20010db8" + "00" * 11 + "01" + "20010db8" + "00" * 11 + "02")

    def ip6(proto, body):
        return b"\x60\0\0\0" + struct.pack(">HBB", len(body), proto, 64) + hosts + body

    v6 = ip6(17, udp)
    options = ip6(0, bytes((60, 0)) + bytes(6) + bytes((43, 0)) + bytes(6) + bytes((17, 0)) +
                  bytes(6) + udp)
    later = ip6(44, bytes((17, 0, 0, 9, 0, 0, 0, 1)) + udp)
    first = ip6(44, bytes((17, 0, 0, 1, 0, 0, 0, 1)) + udp)
    inside = ip6(41, v6)
    longer = bytes((0x4f,)) + ip4[1:20] + b"\x01" * 40 + ip4[20:]
    for tags in (b"", b"\x81\0\0\x64", b"\x88\xa8\0\x0a\x81\0\0\x0b"):
        for kind, body in ((0x0800, ip4), (0x0800, longer), (0x86dd, v6), (0x86dd, options),
                           (0x86dd, first), (0x86dd, later), (0x86dd, inside),
                           (0x8847, b"\0\x01\x01\x40" + ip4), (0x0806, bytes(28))):
            yield ether + tags + struct.pack(">H", kind) + body


def accounted(weir):
    """Returns the number of packets that were transmitted, or dropped with a reason."""
    return weir.total("tx_packets") + sum(weir.get("/weir/drops").values())


def on_the_wire(frame):
    """Pads a frame like the kernel does: to a whole header, and to a type after a VLAN tag."""
    frame = frame.ljust(14, b"\0")
    return frame.ljust(20, b"\0") if frame[12:14] in (b"\x81\0", b"\x88\xa8") else frame


@seeded
def frames(scene, rng, times):
    """Each frame is transmitted or counted as a drop; one worker distributes them to two."""
    config = box.wire("net_af_packet0,iface=a", "net_af_packet1,iface=b", 1500, workers=[0, 1],
                      tunnels={"classify": "inner"}, **POLICIES)
    config["policies"] = [POLICIES["policies"][0], {
        "name": "sources", "match": {"src": "0.0.0.0/0"}, "per": "src/24", "limit": "10Mbit/s"}, {
        "name": "six", "match": {"src": "::/0"}, "action": "shape", "limit": "100Mbit/s"}]
    config["wires"][0]["distribute"] = True
    cable("ta", "a")
    cable("tb", "b")
    weir = scene.box(config).start()
    real, sent = list(real_frames()), 0
    with raw("ta") as ta:
        while sent < FRAMES * times:
            for _ in range(BATCH):
                ta.send(on_the_wire(change(rng, rng.choice(real))))
            sent += BATCH
            wait_until(lambda: weir.total("rx_packets") >= sent,
                       lambda: f"{weir.total('rx_packets')} of {sent} came")
    wait_until(lambda: accounted(weir) == weir.total("rx_packets"),
               lambda: f"{accounted(weir)} of {weir.total('rx_packets')} left or were dropped")
    passed, unparsed = weir.total("tx_packets"), sum(weir.get("/weir/unparsed").values())
    weir.stop()
    expect(passed > 0 and unparsed > 0, f"{passed} passed, {unparsed} were not understood")
    return f"{sent} sent, {passed} passed, {unparsed} not understood"


TIMES, SEED = options()

if __name__ == "__main__":
    box.main([datagrams, requests, web, frames], setup=box.enter_netns)

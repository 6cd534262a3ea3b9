#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""weir-exporter with a whole limiter: it serves telemetry's values even with slow clients.

Runs in its own network namespace. If promtool (of Debian's prometheus) is installed, or unpacked by
tools/setup, it checks the text, the rules and their tests.
"""

import contextlib
import glob
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import box
from box import Skip, expect, wait_until
from lifecycle import cable, raw, udp_frame

EXPORTER = os.path.join(box.BUILD, "app", "exporter", "weir-exporter")
PROMETHEUS = os.path.join(box.ROOT, "config", "prometheus")
OPEN = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
FRESH_S = 0.6  # a reply can be half a second old
SCRAPE_S = 10  # Prometheus's scrape_timeout
SAID_MOST = 4000
MANY, SCRAPES, ALL = 10000, 10, 60000
SAMPLE = re.compile(r'^(\w+)\{(.*)\} (\S+)$', re.M)
LABEL = re.compile(r'(\w+)="((?:\\.|[^"\\])*)"')


class Exporter:
    """A weir-exporter process with its own port."""

    def __init__(self, *arguments):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.said = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [EXPORTER, "--listen", f"127.0.0.1:{self.port}", "--timeout", "60000", *arguments],
            preexec_fn=box.die_with_parent, stderr=self.said)
        wait_until(self.listens, "the exporter does not listen")

    def listens(self):
        """Returns true if the exporter accepts a connection."""
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", self.port)).close()
            return True
        return False

    def ask(self, method="GET", path="/metrics", timeout=box.PATIENCE_S, **headers):
        """Sends a request; returns (status, headers, text)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        connection.request(method, path, headers=headers)
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        return reply.status, reply.headers, text

    def metrics(self, **headers):
        """Returns the present metrics: {(name, labels in their order): number}."""
        time.sleep(FRESH_S)
        status, _, text = self.ask(**headers)
        expect(status == 200, f"status {status}")
        return samples(text)

    def memory(self):
        """Returns the process's peak memory in bytes."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) * 1024

    def stop(self):
        """Ends the exporter with SIGTERM, like systemd."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(box.PATIENCE_S)
        self.said.seek(0)
        expect(status == 0, f"exit status of the exporter: {status}: {self.said.read(SAID_MOST)}")


@contextlib.contextmanager
def exporter(*arguments):
    """Runs an exporter until the context ends."""
    one = Exporter(*arguments)
    try:
        yield one
        one.stop()
    finally:
        one.process.kill()
        one.process.wait()
        one.said.close()


def samples(text):
    """Returns the samples of a text; no sample can be there twice."""
    found = {}
    for name, labels, value in SAMPLE.findall(text):
        key = (name, *(word for pair in LABEL.findall(labels) for word in pair))
        expect(key not in found, f"{key} comes twice")
        found[key] = float(value)
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    expect(len(lines) == len(found), f"{len(lines)} lines, {len(found)} samples")
    return found


def promtool():
    """Returns the path of promtool, or None."""
    return shutil.which("promtool")


def judged(text):
    """Returns the complaints of `promtool check metrics`."""
    if not promtool():
        return ""
    done = subprocess.run([promtool(), "check", "metrics"], input=text, capture_output=True,
                          text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def policy(number, **more):
    """Returns a policy that matches its own address."""
    return {"name": f"customer-{number}", "limit": "1Mbit/s", "match": {
        "dst": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}/32"}} | more


@contextlib.contextmanager
def traffic(scene, **config):
    """Runs a limiter between two cables; yields it and a function that sends n packets."""
    cable("a", "ta")
    cable("b", "tb")
    weir = scene.box(box.wire("net_af_packet0,iface=a", "net_af_packet1,iface=b", **config)).start()

    def send(n):
        before = weir.total("rx_packets")
        for serial in range(n):
            ta.send(udp_frame(1000, serial))
            time.sleep(0.0005)
        wait_until(lambda: weir.total("rx_packets") >= before + n, "packets")
    try:
        with raw("ta") as ta:
            yield weir, send
    finally:
        box.ip("link del dev a")
        box.ip("link del dev b")


def numbers(scene):
    """Each number equals telemetry's, in both formats, and promtool reports no problem."""
    policies = [{"name": "udp", "match": {"proto": "udp"}, "limit": "8kbit/s", "burst": "2kB"},
                {"name": "rest", "limit": "1000/s", "burst": 100, "count": "packets"},
                {"name": "flows", "limit": "10/s", "burst": 10, "count": "flows",
                 "match": {"proto": "tcp"}}]
    with traffic(scene, policies=policies) as (weir, send), exporter("-s", weir.socket) as one:
        send(300)
        got = one.metrics()
        udp = weir.get("/weir/policy,udp")
        drops = weir.get("/weir/drops")
        expect(udp["dropped"]["packets"] > 0, str(udp))
        for what in ("passed", "dropped", "over"):
            for unit in ("packets", "bytes"):
                name = f"weir_policy_{what}_{unit}_total"
                expect(got[name, "limiter", "box1", "policy", "udp"] == udp[what][unit], name)
        expect(got["weir_policy_limit_bytes_per_second", "limiter", "box1", "policy", "udp"]
               == udp["limit_bps"] / 8, "limit")
        expect(got["weir_policy_limit_packets_per_second", "limiter", "box1", "policy", "rest"]
               == 1000, "a limit of packets")
        expect(("weir_policy_passed_bytes_total", "limiter", "box1", "policy", "rest") not in got,
               "bytes of a policy that counts packets")
        for reason, packets in drops.items():
            expect(got["weir_dropped_packets_total", "limiter", "box1", "reason", reason]
                   == packets, reason)
        for worker, counters in enumerate(weir.get("/weir/workers")):
            expect(got["weir_worker_received_packets_total", "limiter", "box1", "worker",
                       str(worker)] == counters["rx_packets"], "a worker")
        stats = weir.get("/ethdev/stats,0")
        expect(got["weir_port_received_bytes_total", "limiter", "box1", "port", "a"]
               == stats["ibytes"], "a port")
        expect(got["weir_up", "limiter", "box1"] == 1, "up")
        expect(0 < got["weir_uptime_seconds", "limiter", "box1"] < 600, "uptime")
        status, headers, old = one.ask()
        expect(status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4"),
               headers["Content-Type"])
        complaints = judged(old)
        expect(not complaints, complaints)
        _, headers, new = one.ask(Accept=OPEN)
        expect(headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0"),
               headers["Content-Type"])
        expect(new.endswith("# EOF\n"), new[-80:])
        expect({key[0] for key in samples(new)} == {key[0] for key in samples(old)}, "formats")
        return "" if promtool() else "without promtool"


def requests(scene):
    """Requests for other paths or methods get the right status, and HEAD gets no body."""
    weir = scene.box(box.wire("net_ring0", "net_ring1", policies=[policy(1)])).start()
    with exporter("-s", weir.socket) as one:
        for method, path, want in (("GET", "/", 200), ("GET", "/none", 404),
                                   ("POST", "/metrics", 405), ("DELETE", "/", 405),
                                   ("PUT", "/none", 405), ("HEAD", "/metrics", 200)):
            status, headers, text = one.ask(method, path)
            expect(status == want, f"{method} {path}: {status}")
            expect(want != 405 or headers["Allow"] == "GET, HEAD", str(headers))
            expect(method != "HEAD" or not text, text)
        expect(one.ask(path="/" + "x" * 60000)[0] in (400, 414), "an endless path")
    for wrong in (("--listen", "somewhere"), ("--listen", "::1:80"), ("--timeout", "0"), ("word",),
                  ("-s", "/a/x.sock", "-s", "/b/x.sock"), ("--max-policies", "-1")):
        done = subprocess.run([EXPORTER, *wrong], capture_output=True, text=True, check=False,
                              timeout=box.PATIENCE_S)
        expect(done.returncode == 2 and done.stderr.startswith("weir-exporter: "), str(done))


def hosts(scene):
    """Requests with a foreign Host header are refused (DNS rebinding)."""
    weir = scene.box(box.wire("net_ring0", "net_ring1", policies=[policy(1)])).start()
    mine = socket.gethostname()
    with exporter("-s", weir.socket, "--host", "edge.example.net") as one:
        for host in ("127.0.0.1", f"127.0.0.1:{one.port}", "[::1]:1", "localhost", mine,
                     "edge.example.net:80"):
            for path in ("/metrics", "/", "/policies?find=x"):
                status, _, text = one.ask(path=path, Host=host)
                expect(status == 200, f"{host}{path}: {status} {text}")
        for host in ("evil.example", f"evil.example:{one.port}", mine + ".evil.example", ""):
            for path in ("/metrics", "/", "/events", "/policies?find=x", "/weir.js", "/nothing"):
                status, _, text = one.ask(path=path, Host=host)
                expect(status == 421 and "--host NAME" in text and "weir_" not in text,
                       f"{host}{path}: {status} {text}")
    done = subprocess.run([EXPORTER, "--host", "a:1"], capture_output=True, text=True, check=False)
    expect(done.returncode == 2 and "without a port" in done.stderr, done.stderr)


def limiters_that_end(scene):
    """A stopped and a killed limiter are reported as down in bounded time; the third is up."""
    boxes = [scene.box(box.wire(f"net_ring{2 * i}", f"net_ring{2 * i + 1}",
                                policies=[policy(1)])).start() for i in range(3)]
    words = [word for weir in boxes for word in ("-s", weir.socket)]

    def up():
        return [got["weir_up", "limiter", f"box{i + 1}"] for got in [one.metrics()]
                for i in range(3)]
    with exporter("--timeout", "2000", *words) as one:
        wait_until(lambda: up() == [1, 1, 1], "all to be up")
        boxes[0].kill()
        boxes[1].process.send_signal(signal.SIGSTOP)
        time.sleep(FRESH_S)
        began = time.monotonic()
        got = samples(one.ask()[2])
        took = time.monotonic() - began
        expect([got["weir_up", "limiter", f"box{i}"] for i in (1, 2, 3)] == [0, 0, 1], str(got))
        expect(("weir_policy_passed_packets_total", "limiter", "box2", "policy", "customer-1")
               not in got, "numbers of one that does not answer")
        expect(got["weir_scrape_duration_seconds", "limiter", "box2"] >= 1.9, "patience")
        boxes[1].process.send_signal(signal.SIGCONT)
        wait_until(lambda: up() == [0, 1, 1], "it to go on")
        boxes[0].start()
        wait_until(lambda: up() == [1, 1, 1], "it to be up again")
        return f"answered after {took:.2f} s"


def answer_slowly(listener):
    """Acts as a limiter that returns null to every request after 0.4 s."""
    while True:
        with contextlib.suppress(ConnectionError), listener.accept()[0] as client:
            client.send(b'{"version":"Weir 0","pid":1,"max_output_len":16384}')
            while request := client.recv(4096):
                time.sleep(0.4)
                client.send(json.dumps({request.decode().split(",", 1)[0]: None}).encode())


def slow_limiter(scene):
    """Each reply is in time, but all of them together are not: the timeout covers all."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # used by the thread to the end
    listener.bind(scene.path("slow.sock"))
    listener.listen()
    threading.Thread(target=answer_slowly, args=(listener,), daemon=True).start()
    with exporter("-s", scene.path("slow.sock"), "--timeout", "1500") as one:
        expect(one.metrics()["weir_up", "limiter", "slow"] == 0, "it is too slow")
    with exporter("-s", scene.path("slow.sock")) as one:
        got = one.metrics()
        expect(got["weir_up", "limiter", "slow"] == 1, "it is patient")
        expect(got["weir_scrape_duration_seconds", "limiter", "slow"] > 3, "and it takes long")


def slow_clients(scene):
    """With more slow clients of each kind than there are slots, a scraper is still served."""
    weir = scene.box(box.wire("net_ring0", "net_ring1",
                              policies=[policy(i) for i in range(500)])).start()
    begun = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
    asks = {"who send a byte at a time": begun,
            "who never read what they asked for": begun + b"\r\n",
            "who read events": b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "who say nothing": b""}
    with open("/proc/sys/net/ipv4/tcp_wmem", "w", encoding="ascii") as room:
        # Buffers of this namespace only: a response does not fit into them.
        room.write("4096 16384 65536")
    with exporter("--interval", "200", "-s", weir.socket) as one:
        for kind, words in asks.items():
            with contextlib.ExitStack() as slow:
                clients = [begin_slowly(slow, one, words) for _ in range(80)]
                for turn in range(1):
                    for client in clients if words == begun else []:
                        with contextlib.suppress(OSError):  # its slot was given to another client
                            client.sendall(b"X-%d: y\r\n" % turn)
                    status, _, text = one.ask(timeout=SCRAPE_S)
                    expect(status == 200 and 'weir_up{limiter="box1"} 1' in text,
                           f"beside clients {kind}: {status}")
                    time.sleep(FRESH_S)
        with contextlib.ExitStack() as slow:
            for _ in range(18):  # each of these holds its own response
                begin_slowly(slow, one, asks["who never read what they asked for"])
                status, _, _ = one.ask(timeout=SCRAPE_S)
                expect(status == 200, f"beside readers of old answers: {status}")
                time.sleep(FRESH_S)
        expect(one.memory() < 200 << 20, f"{one.memory()} bytes")
        return f"{one.memory() >> 20} MiB"


def begin_slowly(stack, one, words):
    """Opens a connection that reads almost nothing."""
    client = stack.enter_context(socket.socket())
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    client.settimeout(box.PATIENCE_S)
    client.connect(("127.0.0.1", one.port))
    client.sendall(words)
    return client


def slow_ones_end(scene):
    """A connection that is never idle is still closed in time."""
    weir = scene.box(box.wire("net_ring0", "net_ring1", policies=[policy(1)])).start()
    with exporter("-s", weir.socket) as one, contextlib.ExitStack() as slow:
        client = begin_slowly(slow, one, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n")

        def is_over():
            with contextlib.suppress(BlockingIOError):
                client.sendall(b"X: y\r\n")
                return client.recv(1, socket.MSG_DONTWAIT) == b""
            return False

        def has_ended():
            try:
                return is_over()
            except OSError:
                return True
        wait_until(has_ended, "a slow client stays for ever", 2 * box.PATIENCE_S)


def begin_stream(stack, one):
    """Opens a connection that requests events and reads none."""
    stream = stack.enter_context(socket.socket())
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stream.settimeout(box.PATIENCE_S)
    stream.connect(("127.0.0.1", one.port))
    stream.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return stream


def viewers(scene):
    """The page has as many viewers as allowed; one more is rejected. A viewer that does not read
    loses its slot."""
    weir = scene.box(box.wire("net_ring0", "net_ring1",
                              policies=[policy(i) for i in range(50)])).start()
    with exporter("--interval", "200", "-s", weir.socket) as one, contextlib.ExitStack() as stack:
        streams = [begin_stream(stack, one) for _ in range(16)]
        for stream in streams:
            expect(stream.recv(12) == b"HTTP/1.1 200", "a stream")
        status, headers, _ = one.ask(path="/events")
        expect(status == 503 and headers["Retry-After"], "one too many")
        events = dict.fromkeys(streams[:-1], 0)

        def look():
            for stream in select.select(events, [], [], 0)[0]:
                events[stream] += stream.recv(1 << 16).count(b"event: policy")

        def is_gone():
            look()
            expect(one.ask()[0] == 200, "metrics beside streams")
            connection = http.client.HTTPConnection("127.0.0.1", one.port,
                                                    timeout=box.PATIENCE_S)
            connection.request("GET", "/events")
            status = connection.getresponse().status
            connection.close()
            return status == 200
        began = time.monotonic()
        expect(not is_gone(), "there is room all at once")
        wait_until(is_gone, "who does not read stays for ever", 2 * box.PATIENCE_S)
        took = time.monotonic() - began
        wait_until(lambda: look() or min(events.values()) >= 10, "events for all who read")
        asked = weir.get("/weir/telemetry")["requests"]
        stack.close()
        time.sleep(2)
        quiet = weir.get("/weir/telemetry")["requests"]
        time.sleep(1)
        expect(weir.get("/weir/telemetry")["requests"] - quiet == 1, "asked while nobody looks")
        return f"gone after {took:.1f} s, {asked} requests to the limiter meanwhile"


def ten_thousand(scene):
    """Scrapes 10,000 policies each second at 1,000 packets a second: control is never late."""
    policies = [policy(i) for i in range(MANY - 1)]
    policies += [{"name": "udp", "match": {"proto": "udp", "src": "192.0.2.1/32"},
                  "limit": "1Gbit/s"}]
    with traffic(scene, policies=policies) as (weir, send), exporter("-s", weir.socket) as one:
        stalls = weir.get("/weir/health")["control"]["stalls"]
        times, size = [], 0
        for _ in range(SCRAPES):
            began = time.monotonic()
            status, _, text = one.ask()
            times.append(time.monotonic() - began)
            expect(status == 200, str(status))
            size = len(text)
            send(200)
            time.sleep(max(0, 1 - (time.monotonic() - began)))
        got = samples(text)
        expect(sum(key[0] == "weir_policy_passed_packets_total" for key in got) == MANY, "policies")
        expect(got["weir_policies_left_out", "limiter", "box1"] == 0, "left out")
        complaints = judged(text)
        expect(not complaints, complaints)
        turn = weir.get("/weir/telemetry")["longest_turn_ms"]
        late = weir.get("/weir/health")["control"]["stalls"] - stalls
        drops = sum(weir.get("/weir/drops").values())
        expect(drops == 0, f"{drops} packets dropped")
        expect(one.memory() < 40 << 20, f"{one.memory()} bytes")
        times.sort()
        return (f"{times[len(times) // 2]:.2f} s (longest {times[-1]:.2f}), {size / 1e6:.1f} MB, "
                f"{one.memory() >> 20} MiB; control's longest turn for it {turn:.2f} ms, "
                f"stalls {late}")


def caps(scene):
    """Policies beyond the caps have no metrics; a metric counts them."""
    weir = scene.box(box.wire("net_ring0", "net_ring1",
                              policies=[policy(i) for i in range(300)])).start()
    with exporter("-s", weir.socket, "--max-policies", "200") as one:
        got = one.metrics()
        expect(sum(key[0] == "weir_policy_passed_packets_total" for key in got) == 200, "the cap")
        expect(got["weir_policies_left_out", "limiter", "box1"] == 100, "left out")
        expect(got["weir_policies", "limiter", "box1"] == 300, "policies")
        one.metrics()
        one.said.seek(0)
        said = re.findall("box1: 100 policies have no metrics.*", one.said.read())
        expect(said == ["box1: 100 policies have no metrics (policies=300 max_policies=200)"],
               f"log lines: {said}")


def all_policies(scene):
    """By default no policy is left out, and the exporter needs less memory than its text."""
    weir = scene.box(box.wire("net_ring0", "net_ring1",
                              policies=[policy(i) for i in range(ALL)])).start()
    with exporter("-s", weir.socket) as one, contextlib.ExitStack() as slow:
        begin_slowly(slow, one, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for _ in range(3):
            time.sleep(FRESH_S)
            status, headers, text = one.ask()
            expect(status == 200 and headers["Transfer-Encoding"] == "chunked", str(headers))
        passed = re.findall(r'^weir_policy_passed_packets_total.*"customer-(\d+)"} 0$', text, re.M)
        expect(passed == [str(i) for i in range(ALL)], f"{len(passed)} policies")
        expect('weir_policies_left_out{limiter="box1"} 0\n' in text, "left out")
        expect(one.memory() < len(text), f"{one.memory()} bytes for a text of {len(text)}")
        one.said.seek(0)
        expect("have no metrics" not in one.said.read(), "a log line without a reason")
        return f"{len(text) / 1e6:.1f} MB, {one.memory() >> 20} MiB"


def expressions(value):
    """Returns the PromQL expressions of a dashboard."""
    if isinstance(value, dict):
        for key, member in value.items():
            if key in ("expr", "definition"):
                yield member
            yield from expressions(member)
    elif isinstance(value, list):
        for member in value:
            yield from expressions(member)


def names(_):
    """Metrics in the rules, dashboard and manual exist. tools/keys/numbers.py writes the manual's
    table of all of them."""
    table = subprocess.run([EXPORTER, "--metrics"], capture_output=True, text=True, check=True)
    known = set(re.findall(r"^\| `(\w+)`", table.stdout, re.M))
    with open(os.path.join(PROMETHEUS, "weir.dashboard.json"), encoding="utf-8") as file:
        asked = list(expressions(json.load(file)))
    with open(os.path.join(PROMETHEUS, "weir.rules.yml"), encoding="utf-8") as file:
        asked += re.findall(r"\bweir_\w+", file.read())
    expect(len(asked) > 30, f"{len(asked)} expressions")
    for one in asked:
        for name in re.findall(r"\bweir_\w+", one):
            expect(name in known, f"{one}: there is no {name}")
    manual = os.path.join(box.ROOT, "doc", "operate", "monitoring.md")
    with open(manual, encoding="utf-8") as file:
        text = file.read()
    for name in re.findall(r"`(weir_\w+)`", text):
        expect(name in known, f"monitoring.md: there is no {name}")


def rules(_):
    """The rules are valid, and pass their tests."""
    if not promtool():
        raise Skip("there is no promtool")
    tests = glob.glob("*.test.yml", root_dir=PROMETHEUS)
    for words in (("check", "rules", "weir.rules.yml"), ("test", "rules", *tests)):
        done = subprocess.run([promtool(), *words], cwd=PROMETHEUS, capture_output=True, text=True,
                              check=False)
        expect(done.returncode == 0, done.stdout + done.stderr)
    with open(os.path.join(PROMETHEUS, "weir.rules.yml"), encoding="utf-8") as file:
        alerts = set(re.findall(r"alert: (\w+)", file.read()))
    tested = set()
    for name in tests:
        with open(os.path.join(PROMETHEUS, name), encoding="utf-8") as file:
            tested |= set(re.findall(r"alertname: (\w+)", file.read()))
    expect(alerts == tested, f"without a test: {alerts - tested}")


def peaks(_):
    """The dashboard's lines of a group show a coloured policy's peak next to its limit."""
    if not promtool():
        raise Skip("there is no promtool")
    with open(os.path.join(PROMETHEUS, "weir.dashboard.json"), encoding="utf-8") as file:
        drawn = {target["legendFormat"]: re.sub(r"\$(limiter|policy)", ".*", target["expr"])
                 for panel in json.load(file)["panels"] for target in panel["targets"]
                 if "peak" in target["legendFormat"]}
    series = [{"series": f'weir_policy_{kind}_bytes_per_second{{limiter="{box}",policy="{name}"}}',
               "values": str(value)} for box in "ab" for name, kind, value in (
                   ("plain", "limit", 10), ("plain", "local_limit", 5), ("video", "limit", 100),
                   ("video", "local_limit", 50), ("video", "peak", 400),
                   ("video", "local_peak", 200))]
    limit, may = drawn.values()
    cases = [{"expr": limit, "eval_time": "0s", "exp_samples": [{"labels": "{}", "value": 3280}]},
             {"expr": may, "eval_time": "0s", "exp_samples": [
                 {"labels": f'{{limiter="{box}"}}', "value": 1640} for box in "ab"]}]
    plain = [one for one in series if "video" not in one["series"]]
    unknown = [case | {"exp_samples": []} for case in cases]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:  # JSON is valid YAML
        json.dump({"tests": [{"interval": "1m", "input_series": given, "promql_expr_test": asked}
                             for given, asked in ((series, cases), (plain, unknown))]}, file)
        file.flush()
        done = subprocess.run([promtool(), "test", "rules", file.name], capture_output=True,
                              text=True, check=False)
    expect(done.returncode == 0, done.stdout + done.stderr)


def dpdks_exporter(scene):
    """DPDK's own exporter: all its requests, in its order, return the keys that it reads."""
    weir = scene.box(box.wire("net_ring0", "net_ring1", policies=[policy(1)])).start()
    time.sleep(1.2)
    for port in weir.get("/ethdev/list"):
        expect(weir.get(f"/ethdev/stats,{port}")["ipackets"] == 0, "stats")
    for lcore in weir.get("/eal/lcore/list"):
        info = weir.get(f"/eal/lcore/info,{lcore}")
        expect(info["cpuset"] and info["total_cycles"] > 0 <= info["busy_cycles"], str(info))
        expect(info["busy_cycles"] <= info["total_cycles"] and info["socket"] >= 0, str(info))
    zones = [weir.get(f"/eal/memzone_info,{zone}") for zone in weir.get("/eal/memzone_list")]
    expect(zones and all(int(zone["Hugepage_base"], 16) and zone["Length"] <= zone["Hugepage_used"]
                         * zone["Hugepage_size"] for zone in zones), str(zones[:1]))


if __name__ == "__main__":
    if not os.access(EXPORTER, os.X_OK):
        print(f"skipped: {EXPORTER} is not built")
        sys.exit(box.SKIP)
    box.main([numbers, requests, hosts, limiters_that_end, slow_limiter, slow_clients,
              slow_ones_end, viewers, ten_thousand, caps,
              all_policies, names, rules, peaks, dpdks_exporter],
             box.enter_netns)

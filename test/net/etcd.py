#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Quotas in etcd: a real etcd on loopback, and drawers as separate processes (etcd_client.c).

Messages are lost, etcd and drawers are killed, and drawers are started twice. The drawn units never
exceed the total, equal the sum of the replies, and reach the total when all of it is requested.
"""

import base64
import contextlib
import http.client
import http.server
import json
import os
import random
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import box
from box import BUILD, PATIENCE_S, Skip, expect, wait_until

ETCD = shutil.which("etcd", path=os.environ.get("PATH", "") + ":/usr/bin")
ETCDCTL = shutil.which("etcdctl")
CLIENT = os.path.join(BUILD, "test", "net", "etcd_client")
PREFIX = "/weir"
TIMEOUT_MS = 500
SEED = 1


def free_port():
    """Returns a TCP port that no socket listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Etcd:
    """An etcd server of one member. A scene treats it as a Box: it has a log and can be killed."""

    def __init__(self, scene, *options, scheme="http"):
        self.url = f"{scheme}://127.0.0.1:{free_port()}"
        self.peer = f"http://127.0.0.1:{free_port()}"
        self.options = options
        self.data = scene.path("etcd")
        self.config_path = scene.path("etcd.json")
        self.log_path = scene.path("etcd.log")
        self.token = None  # the operator's, while etcd requires a login
        self.process = None
        scene.boxes.append(self)

    def start(self, answers=True):
        """Starts etcd with its earlier data, if any, and waits until it answers."""
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [ETCD, "--name=one", f"--data-dir={self.data}", f"--listen-client-urls={self.url}",
                 f"--advertise-client-urls={self.url}", f"--listen-peer-urls={self.peer}",
                 f"--initial-advertise-peer-urls={self.peer}",
                 f"--initial-cluster=one={self.peer}", *self.options],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=box.die_with_parent)
        wait_until(self.listens if not answers else self.answers, "etcd does not answer")
        return self

    def listens(self):
        """Returns true if etcd accepts a TCP connection."""
        with contextlib.suppress(OSError):
            host, port = self.url.split("//")[1].split(":")
            socket.create_connection((host, int(port)), timeout=1).close()
            return True
        return False

    def answers(self):
        """Returns true if etcd has a leader: itself."""
        expect(self.process.poll() is None, "etcd ended by itself")
        with contextlib.suppress(OSError):
            self.get("nothing")
            return True
        return False

    def call(self, method, body):
        """Sends a request about keys; returns the reply."""
        return self.ask(f"kv/{method}", body, self.token)

    def ask(self, method, body, token=None):
        """Sends a request to the JSON gateway, like any client; returns the reply."""
        request = urllib.request.Request(f"{self.url}/v3/{method}", json.dumps(body).encode(),
                                         {"Authorization": token} if token else {})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                request, timeout=PATIENCE_S) as reply:
            return json.load(reply)

    def put(self, key, value):
        """Sets a key, like an operator with etcdctl."""
        self.call("put", {"key": encoded(key), "value": encoded(value)})

    def delete(self, key):
        """Deletes a key, as an operator with etcdctl."""
        self.call("deleterange", {"key": encoded(key)})

    def get(self, key):
        """Returns the text of a key, or None."""
        kvs = self.call("range", {"key": encoded(key)}).get("kvs")
        return base64.b64decode(kvs[0].get("value", "")).decode() if kvs else None

    def auth(self, method, **body):
        """Sends the operator's request about users and roles."""
        return self.ask(f"auth/{method}", body, self.token)

    def log_in(self, user="root", password="rootpw"):
        """Returns a token."""
        return self.ask("auth/authenticate", {"name": user, "password": password})["token"]

    def want_login(self):
        """Makes etcd require a login; from now on the operator uses one."""
        self.auth("user/add", name="root", password="rootpw")
        self.auth("role/add", name="root")
        self.auth("user/grant", user="root", role="root")
        self.auth("enable")
        self.token = self.log_in()

    def add_user(self, name, password):
        """Adds a user with a role of the same name, which has no rights yet."""
        self.auth("user/add", name=name, password=password)
        self.auth("role/add", name=name)
        self.auth("user/grant", user=name, role=name)

    def grant(self, role, kind, key, end=None):
        """Grants a right to one key, or to all keys from it up to `end`."""
        perm = {"permType": kind, "key": encoded(key)}
        if end:
            perm["range_end"] = encoded(end)
        self.auth("role/grant", name=role, perm=perm)

    def grant_least(self, limiter, budget, prefix=PREFIX):
        """Grants the rights that the manual lists for a limiter."""
        below = f"{prefix}/quotas/{budget}"
        self.grant(limiter, "READWRITE", f"{prefix}/limiters/{limiter}")
        self.grant(limiter, "READ", below + "/total")
        self.grant(limiter, "READWRITE", below + "/0", below + "/:")

    def revoke(self, role, key, end=None):
        """Revokes a right."""
        self.auth("role/revoke", role=role, key=encoded(key),
                  **({"range_end": encoded(end)} if end else {}))

    def log(self):
        """Returns the output of etcd so far."""
        with open(self.log_path, encoding="utf-8", errors="replace") as text:
            return text.read()

    def kill(self):
        """Kills etcd with SIGKILL, like a crash."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def encoded(text):
    """Returns the text in base64, the gateway's encoding."""
    return base64.b64encode(text.encode()).decode()


class Drawer:
    """One start of one limiter."""

    def __init__(self, scene, limiter, epoch, *endpoints, prefix=PREFIX, timeout_ms=TIMEOUT_MS,
                 options=()):
        self.process = subprocess.Popen(
            [CLIENT, limiter, str(epoch), prefix, str(timeout_ms), *options, *endpoints],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            env=dict(os.environ, http_proxy="http://127.0.0.1:1", https_proxy="http://127.0.0.1:1"),
            preexec_fn=box.die_with_parent)
        self.config_path = scene.path(limiter + ".json")
        scene.boxes.append(self)

    def ask(self, budget, units, total=0, period=1):
        """Requests units of a budget; does not wait for the reply."""
        self.process.stdin.write(f"{budget} {period} {total} {units}\n")

    def hear(self):
        """Reads the next reply: (budget, result, total, drawn, left, reason)."""
        line = self.process.stdout.readline()
        expect(line, f"the drawer ended: {self.process.poll()}")
        budget, _, result, total, drawn, left, why = line.rstrip("\n").split(" ", 6)
        return budget, result, int(total), int(drawn), int(left), why

    def draw(self, budget, units, total=0, period=1):
        """Requests units and waits; returns (result, total, drawn, left)."""
        self.ask(budget, units, total, period)
        return self.hear()[1:5]

    def end(self):
        """Ends the drawer in an orderly way; returns the seconds that this took."""
        began = time.monotonic()
        self.process.stdin.close()
        expect(self.process.wait(PATIENCE_S) == 0, "exit status of a drawer")
        return time.monotonic() - began

    def log(self):
        """Returns an empty text: a drawer keeps no log."""
        return ""

    def kill(self):
        """Kills the drawer with SIGKILL, like a crash."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Proxy(http.server.ThreadingHTTPServer):
    """A proxy between a drawer and etcd. For each body, `judge` returns the message to lose, if
    any."""

    daemon_threads = True

    def __init__(self, etcd):
        super().__init__(("127.0.0.1", 0), Relay)
        self.upstream = etcd.url.split("//")[1]
        self.judge = lambda body: "pass"
        self.lost = 0
        self.logins = 0
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        """Returns the URL for drawers."""
        return f"http://127.0.0.1:{self.server_port}"


class Relay(http.server.BaseHTTPRequestHandler):
    """One request through the proxy."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        """Forwards a request and its reply, or loses either."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.logins += self.path.endswith("/authenticate")
        verdict = self.server.judge(body)
        if verdict == "request":
            self.hang_up()
            return
        upstream = http.client.HTTPConnection(self.server.upstream, timeout=PATIENCE_S)
        token = self.headers["Authorization"]
        upstream.request("POST", self.path, body, {"Authorization": token} if token else {})
        reply = upstream.getresponse()
        text = reply.read()
        upstream.close()
        if verdict == "silence":
            time.sleep(3 * TIMEOUT_MS / 1000)
        if verdict in ("answer", "silence"):
            self.hang_up()
            return
        self.send_response(reply.status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def hang_up(self):
        """Closes the connection without a reply."""
        self.server.lost += 1
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_):
        """Keeps the log off the terminal."""


def drawn_key(budget="b", period=1, prefix=PREFIX):
    """Returns the key of the sum that was drawn."""
    return f"{prefix}/quotas/{budget}/{period}/drawn"


def exhaust(drawer, budgets, total, rng, outcome):
    """Draws random amounts from all budgets concurrently until all are empty."""
    told = dict.fromkeys(budgets, 0)
    open_ones = set(budgets)
    while open_ones:
        for budget in sorted(open_ones):
            drawer.ask(budget, rng.randint(1, total // 100), total)
        for _ in range(len(open_ones)):
            budget, result, in_force, drawn, left, why = drawer.hear()
            if result == "EAGAIN":
                continue
            expect(result == "0" and in_force == total, f"{budget}: {result} {in_force} {why}")
            expect(drawn >= told[budget], f"{budget}: {drawn} after {told[budget]}")
            told[budget] = drawn
            if left == 0:
                open_ones.discard(budget)
    outcome.append(told)


def the_sum_is_the_total(scene):
    """Eight drawers share two budgets: each budget is drawn exactly, and each drawer's sum is
    right."""
    etcd = Etcd(scene).start()
    total, budgets, outcome = 99991, ("b", "c"), []
    drawers = [Drawer(scene, f"limiter-{i}", 1, etcd.url, timeout_ms=20000) for i in range(8)]
    threads = [threading.Thread(target=exhaust, args=(
        drawer, budgets, total, random.Random(f"{SEED} {i}"), outcome))
        for i, drawer in enumerate(drawers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(4 * PATIENCE_S)
    expect(len(outcome) == len(drawers), f"seed {SEED}: {len(outcome)} drawers came to the end")
    for budget in budgets:
        final = [drawer.draw(budget, 1, total) for drawer in drawers]
        expect(all(words[0] == "0" and words[3] == 0 for words in final), f"{final}")
        expect(sum(words[2] for words in final) == total, f"seed {SEED}: {final}")
        expect(etcd.get(drawn_key(budget)) == str(total), "the sum in etcd")
    for drawer in drawers:
        drawer.end()
    return f"parts of {total}: {sorted(words[2] for words in final)}"


def a_newer_start_fences(scene):
    """A newer start fences older ones, also a copy of itself; repeated requests do not help."""
    etcd = Etcd(scene).start()
    old = Drawer(scene, "edge", 9, etcd.url, timeout_ms=20000)
    expect(old.draw("b", 30, 100) == ("0", 100, 30, 70), "the first start")
    new = Drawer(scene, "edge", 10, etcd.url, timeout_ms=20000)
    # 10 has more digits than 9 in decimal, not in the fence.
    expect(new.draw("b", 0, 100) == ("0", 100, 30, 70), "what was drawn before is the new start's")
    expect(new.draw("b", 5, 100) == ("0", 100, 35, 65), "the new start")
    for budget in ("b", "b", "other"):
        expect(old.draw(budget, 1, 100)[0] == "ESTALE", "the old start draws")
    for epoch in (10, 9, 1):
        late = Drawer(scene, "edge", epoch, etcd.url, timeout_ms=20000)
        expect(late.draw("b", 1, 100)[0] == "ESTALE", f"epoch {epoch} draws")
        late.end()
    expect(new.draw("b", 5, 100) == ("0", 100, 40, 60), "the newest is not disturbed")
    expect(etcd.get(drawn_key()) == "40", "the sum in etcd")
    other = Drawer(scene, "other", 1, etcd.url, timeout_ms=20000)
    expect(other.draw("b", 1, 100) == ("0", 100, 1, 59), "another")
    old.end()


def etcd_crashes(scene):
    """Drawn units survive a crash of etcd; without etcd, drawers report ENETUNREACH."""
    etcd = Etcd(scene).start()
    drawer = Drawer(scene, "edge", 1, etcd.url, timeout_ms=5000)
    expect(drawer.draw("b", 60, 100) == ("0", 100, 60, 40), "before")
    etcd.kill()
    expect(drawer.draw("b", 1, 100)[0] == "ENETUNREACH", "nobody is there")
    etcd.start()
    expect(drawer.draw("b", 30, 100) == ("0", 100, 90, 10), "after")
    expect(drawer.draw("b", 30, 100) == ("0", 100, 100, 0), "the rest")
    drawer.end()


def losing(proxy, what, part):
    """The proxy loses the first request that puts a key with `part` in it, or its answer."""
    state = {"done": False}

    def judge(body):
        puts = [base64.b64decode(put["request_put"]["key"]).decode()
                for put in json.loads(body)["success"] if "request_put" in put]
        if state["done"] or not any(part in key for key in puts):
            return "pass"
        state["done"] = True
        return what
    proxy.judge = judge


def insist(drawer, budget, units):
    """Repeats a request while it times out, like a limiter."""
    words = drawer.draw(budget, units, 100)
    for _ in range(20):
        if words[0] != "ETIMEDOUT":
            break
        words = drawer.draw(budget, units, 100)
    return words


def lost_messages(scene):
    """Requests or answers of a claim or a draw are lost: never drawn twice, never lost."""
    etcd = Etcd(scene).start()
    proxy = Proxy(etcd)
    lost = 0
    for what in ("answer", "request", "silence"):
        for part in ("/limiters/", "/drawn"):
            for endpoints in ((proxy.url,), (proxy.url, etcd.url)):
                budget = f"{what}-{part.strip('/')}-{len(endpoints)}"
                drawer = Drawer(scene, budget, 1, *endpoints)
                losing(proxy, what, part)
                before = proxy.lost
                words = insist(drawer, budget, 10)
                expect(words == ("0", 100, 10, 90), f"{budget}: {words}")
                wait_until(lambda: proxy.lost == before + 1, "nothing was lost")
                words = insist(drawer, budget, 10)
                expect(words == ("0", 100, 20, 80), f"{budget}: the next: {words}")
                expect(etcd.get(drawn_key(budget)) == "20", f"{budget}: the sum in etcd")
                drawer.end()
                lost += 1
    return f"{lost} single losses{half_is_lost(scene, etcd, proxy)}"


def half_is_lost(scene, etcd, proxy):
    """Loses half of all messages for a while."""
    rng = random.Random(SEED)
    proxy.judge = lambda body: rng.choice(("pass", "pass", "request", "answer"))
    drawer = Drawer(scene, "edge", 1, proxy.url, timeout_ms=20000)
    words = [drawer.draw("b", 7, 1000) for _ in range(100)]
    good = [word for word in words if word[0] == "0"]
    proxy.judge = lambda body: "pass"
    _, _, drawn, left = drawer.draw("b", 0, 1000)
    expect(drawn + left == 1000 and etcd.get(drawn_key()) == str(drawn), f"{drawn} {left}")
    expect(0 <= drawn - good[-1][2] <= 7, f"seed {SEED}: {drawn} drawn, {good[-1]} told")
    expect(drawn <= 7 * (len(good) + 1), f"seed {SEED}: {drawn} for {len(good)} that were told")
    proxy.shutdown()
    proxy.server_close()
    return f"; {len(words) - len(good)} of {len(words)} draws failed and none doubled"


def meanwhile(proxy, action):
    """Runs `action` once, between the read of a draw and its transaction."""
    state = {"done": False}

    def judge(body):
        if not state["done"] and b"request_put" in body:
            state["done"] = True
            action()
        return "pass"
    proxy.judge = judge


def between_read_and_write(scene):
    """A transaction has no effect if the values it read have changed since."""
    etcd = Etcd(scene).start()
    proxy = Proxy(etcd)
    slow = Drawer(scene, "edge", 1, proxy.url, timeout_ms=20000)
    other = Drawer(scene, "other", 1, etcd.url, timeout_ms=20000)
    expect(slow.draw("b", 0, 100) == ("0", 100, 0, 100), "claims")
    meanwhile(proxy, lambda: other.draw("b", 95, 100))
    expect(slow.draw("b", 10, 100) == ("0", 100, 5, 0), "another drew first")
    meanwhile(proxy, lambda: etcd.put(PREFIX + "/quotas/c/total", "3"))
    expect(slow.draw("c", 10, 100) == ("0", 3, 3, 0), "the total was lowered first")
    new = Drawer(scene, "edge", 2, etcd.url, timeout_ms=20000)
    meanwhile(proxy, lambda: new.draw("d", 0, 100))
    expect(slow.draw("d", 10, 100)[0] == "ESTALE", "a newer start was first")
    expect(etcd.get(drawn_key("d")) is None, "nothing is drawn by the old one")
    proxy.shutdown()
    proxy.server_close()


def dead_endpoints(scene):
    """If an endpoint refuses connections, or never answers, the drawer uses the next one."""
    etcd = Etcd(scene).start()
    drawer = Drawer(scene, "edge", 1, f"http://127.0.0.1:{free_port()}", etcd.url + "/")
    expect(drawer.draw("b", 1, 10) == ("0", 10, 1, 9), "the first is dead")
    drawer.end()
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        drawer = Drawer(scene, "silent", 1, url, etcd.url, timeout_ms=200)
        expect(drawer.draw("b", 1, 10) == ("0", 10, 1, 8), "the first is mute")
        began = time.monotonic()
        for drawn in range(2, 7):
            expect(drawer.draw("b", 1, 100)[0::2] == ("0", drawn), "the next draws")
        expect(time.monotonic() - began < PATIENCE_S, "the one that answered is asked first")
        drawer.end()
        drawer = Drawer(scene, "stuck", 1, url, timeout_ms=200)
        expect(drawer.draw("b", 1, 10)[0] == "ETIMEDOUT", "nobody answers")
        drawer.end()
        drawer = Drawer(scene, "leaves", 1, url, timeout_ms=10 * 60 * 1000)
        drawer.ask("b", 1)
        wait_until(lambda: mute.accept(), "a request")
        took = drawer.end()
        expect(took < PATIENCE_S, f"{took:.1f} s to give up a request")
    return f"a request is given up in {took:.1f} s"


def totals_of_operators(scene):
    """The operator raises, lowers and removes a total, also below the drawn sum. A value that is
    not a number allows no draw."""
    etcd = Etcd(scene).start()
    drawer = Drawer(scene, "edge", 1, etcd.url, timeout_ms=20000)
    key = PREFIX + "/quotas/b/total"
    expect(drawer.draw("b", 200, 100) == ("0", 100, 100, 0), "all of it")
    etcd.put(key, "150")
    expect(drawer.draw("b", 20, 100) == ("0", 150, 120, 30), "a top-up")
    etcd.put(key, "40")
    expect(drawer.draw("b", 20, 100) == ("0", 40, 120, 0), "lowered below what was drawn")
    etcd.delete(key)
    expect(drawer.draw("b", 20, 130) == ("0", 130, 130, 0), "the configured one again")
    for text in ("12GB", "", "-1", "1e9", " 5", "5\n", "0x10", "5\0", "18446744073709551616",
                 "9" * 20, "9" * 70):
        etcd.put(key, text)
        drawer.ask("b", 1, 100)
        words = drawer.hear()
        expect(words[1] == "EPROTO" and words[5], f"{text!r}: {words}")
    etcd.put(key, "18446744073709551615")
    expect(drawer.draw("b", 2**64 - 1, 100) == ("0", 2**64 - 1, 2**64 - 1, 0), "the largest")
    etcd.put(key, "7")
    expect(drawer.draw("b", 5, 100, period=2) == ("0", 7, 5, 2), "another period")
    expect(drawer.draw("b", 5, 100, period=2) == ("0", 7, 7, 0), "another period")
    drawer.end()


def odd_characters(scene):
    """Keys are bytes: only a slash in a name would be another key."""
    etcd = Etcd(scene).start()
    prefix = '/wëir "x"\\ %2F?&#'
    drawer = Drawer(scene, "lïm%2F", 1, etcd.url, prefix=prefix)
    expect(drawer.draw('"b"\\ü', 3, 10) == ("0", 10, 3, 7), "a draw")
    expect(etcd.get(prefix + '/quotas/"b"\\ü/1/drawn/lïm%2F') == "3", "its key")
    expect(etcd.get(prefix + "/limiters/lïm%2F").startswith("%016x-" % 1), "the fence")
    expect(drawer.draw("a/b", 3, 10)[0] == "EINVAL", "a slash")
    drawer.end()
    refused = subprocess.run([CLIENT, "a/b", "1", PREFIX, "100", etcd.url], check=False,
                             capture_output=True, timeout=PATIENCE_S)
    expect(refused.returncode == 1, "a slash in the limiter's name")


def one_at_a_time(scene):
    """A budget with an outstanding request is busy; others are not."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        drawer = Drawer(scene, "edge", 1, f"http://127.0.0.1:{mute.getsockname()[1]}")
        for budget in ("a", "b", "a", "a"):
            drawer.ask(budget, 1, 10)
        heard = sorted(drawer.hear()[:2] for _ in range(4))
        expect(heard == [("a", "EBUSY"), ("a", "EBUSY"), ("a", "ETIMEDOUT"), ("b", "ETIMEDOUT")],
               f"{heard}")
        expect(drawer.draw("a", 1, 10)[0] == "ETIMEDOUT", "free again")
        drawer.end()


def many_budgets(scene):
    """More budgets than a drawer first allocates, requested together and answered in that order."""
    etcd = Etcd(scene).start()
    drawer = Drawer(scene, "edge", 1, etcd.url, timeout_ms=20000)
    budgets = [f"budget-{i}" for i in range(100)]
    for drawn in (1, 2):
        for budget in budgets:
            drawer.ask(budget, 1, 100)
        for budget in budgets:
            words = drawer.hear()[:5]
            expect(words == (budget, "0", 100, drawn, 100 - drawn), f"{words}")
    drawer.end()


class Stranger(http.server.BaseHTTPRequestHandler):
    """A server that is not etcd."""

    def do_POST(self):
        """Sends the scenario's reply to every request."""
        self.rfile.read(int(self.headers["Content-Length"]))
        status, text = self.server.reply
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(text)

    def log_message(self, *_):
        """Keeps the log off the terminal."""


def strangers(scene):
    """Replies in another protocol are rejected, and use no memory."""
    header = b'{"header":{"revision":"1"},"succeeded":true,"responses":'
    one = b'{"response_range":{"kvs":[%s]}}'
    replies = [
        (200, b"<html>welcome</html>", "EPROTO"), (404, b"404 page not found\n", "EPROTO"),
        (200, b"", "EPROTO"), (200, b"{}", "EPROTO"), (200, b"[]", "EPROTO"),
        (200, header, "EPROTO"), (200, b"x" * (1 << 24), "EPROTO"), (302, b"", "EPROTO"),
        (400, b'{"error":"etcdserver: bad"}', "EPROTO"), (503, b"no leader\nat all", "ETIMEDOUT"),
        (200, header + b"[" + one % b"7" + b"]}", "EPROTO"),
        (200, header + b"[" + one % b'{"mod_revision":"1","value":"***"}' + b"]}", "EPROTO"),
        (200, header + b"[" + one % b'{"mod_revision":"1","value":"AAAA"}' + b"]}", "EPROTO"),
        (200, header + b"[" + one % b"" + b"," + one % b"" + b"]}", "EPROTO"),
    ]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    drawer = Drawer(scene, "edge", 1, f"http://127.0.0.1:{server.server_port}", timeout_ms=20000)
    for status, text, want in replies:
        server.reply = (status, text)
        drawer.ask("b", 1, 10)
        words = drawer.hear()
        expect(words[1] == want and words[5], f"{status} {text[:80]}: {words}")
    server.shutdown()
    server.server_close()
    drawer.end()


def tls(scene):
    """TLS works with the right certificate authority only."""
    if not shutil.which("openssl"):
        raise Skip("openssl is not installed")
    cert, key = scene.path("cert.pem"), scene.path("key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert,
                    "-days", "2", "-subj", "/CN=weir", "-addext", "subjectAltName=IP:127.0.0.1"],
                   check=True, capture_output=True, timeout=PATIENCE_S)
    etcd = Etcd(scene, f"--cert-file={cert}", f"--key-file={key}", scheme="https")
    etcd.start(answers=False)
    drawer = Drawer(scene, "edge", 1, etcd.url, timeout_ms=20000, options=("--ca", cert))
    wait_until(lambda: drawer.draw("b", 0, 10)[0] == "0", "an answer by TLS")
    expect(drawer.draw("b", 1, 10) == ("0", 10, 1, 9), "a draw by TLS")
    stranger = Drawer(scene, "other", 1, etcd.url, timeout_ms=20000)
    expect(stranger.draw("b", 1, 10)[0] == "EPROTO", "an authority that is not known")
    drawer.end()
    stranger.end()


FAST_LOGIN = ("--bcrypt-cost=4", "--auth-token-ttl=1")
EXPIRED_S = 4  # seconds until an unused token has expired; etcd checks once a second


def password_file(scene, text, name="password", mode=0o600):
    """Writes a password file that a limiter accepts."""
    path = scene.path(name)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(path, mode)
    return path


def as_user(user, path):
    """Returns the options of a drawer for a login."""
    return ("--user", user, "--password-file", path)


def etcd_with_users(scene):
    """Starts an etcd that requires a login, and adds a user with the manual's rights to b."""
    etcd = Etcd(scene, *FAST_LOGIN).start()
    etcd.want_login()
    etcd.add_user("edge", 'p"\\w 1')
    etcd.grant_least("edge", "b")
    return etcd, password_file(scene, 'p"\\w 1\n')


def refuses(drawer, result, words, budget="b"):
    """Asserts that a draw fails with this result and reason."""
    drawer.ask(budget, 1, 100)
    heard = drawer.hear()
    expect(heard[1] == result and words in heard[5], f"{heard}, expected {result}: {words}")


def tokens_are_renewed(scene):
    """Drawers log in again after a token expires, etcd loses it, or the password changes."""
    etcd, path = etcd_with_users(scene)
    proxy = Proxy(etcd)
    drawer = Drawer(scene, "edge", 1, proxy.url, timeout_ms=20000, options=as_user("edge", path))
    for drawn in (1, 2, 3):
        expect(drawer.draw("b", 1, 100) == ("0", 100, drawn, 100 - drawn), "with a login")
    expect(proxy.logins == 1, f"{proxy.logins} logins for three draws")
    time.sleep(EXPIRED_S)
    expect(drawer.draw("b", 1, 100) == ("0", 100, 4, 96), "after the token has expired")
    expect(proxy.logins == 2, f"{proxy.logins} logins after one has expired")
    etcd.kill()
    etcd.start(answers=False)
    wait_until(lambda: drawer.draw("b", 0, 100)[0] == "0", "an answer after etcd's restart")
    expect(drawer.draw("b", 1, 100) == ("0", 100, 5, 95), "after etcd's restart")
    etcd.token = etcd.log_in()
    etcd.auth("user/changepw", name="edge", password="another")
    refuses(drawer, "EACCES", "authentication failed")
    password_file(scene, "another")
    expect(drawer.draw("b", 1, 100) == ("0", 100, 6, 94), "with the new password, no restart")
    logins = proxy.logins
    proxy.judge = lambda body: "answer" if b"password" in body else "pass"
    time.sleep(EXPIRED_S)
    expect(drawer.draw("b", 1, 100)[0] == "ETIMEDOUT", "the login's answer is lost")
    proxy.judge = lambda body: "pass"
    expect(drawer.draw("b", 1, 100) == ("0", 100, 7, 93), "the next login's is not")
    drawer.end()
    proxy.shutdown()
    proxy.server_close()
    return f"{logins} logins"


def who_may_not_draw(scene):
    """Refuses draws without a login, with a wrong one, with a readable password file, without
    rights."""
    etcd, path = etcd_with_users(scene)
    etcd.add_user("other", "pw")
    others = password_file(scene, "pw", "others")
    makers = [
        ((), "EACCES", "user name is empty"),
        (as_user("edge", others), "EACCES", "authentication failed"),
        (as_user("nobody", path), "EACCES", "authentication failed"),
        (as_user("edge", scene.path("nowhere")), "EACCES", "No such file"),
        (as_user("edge", password_file(scene, "p", "wide", 0o640)), "EACCES", "mode 0600"),
        (as_user("edge", password_file(scene, "", "empty")), "EACCES", "1 to 255 bytes"),
        (as_user("edge", password_file(scene, "x" * 256, "long")), "EACCES", "1 to 255 bytes"),
        (as_user("edge", password_file(scene, "a\nb\n", "lines")), "EACCES", "one line"),
        (as_user("other", others), "EPERM", "/weir/limiters/edge"),
    ]
    foreign = password_file(scene, "p", "foreign")
    if os.getuid() == 0:
        os.chown(foreign, 65534, 65534)
        makers.append((as_user("edge", foreign), "EACCES", "another user owns it"))
    for options, result, words in makers:
        drawer = Drawer(scene, "edge", 1, etcd.url, timeout_ms=20000, options=options)
        refuses(drawer, result, words)
        drawer.end()
    expect(etcd.get(drawn_key()) is None and etcd.get(PREFIX + "/limiters/edge") is None, "drawn")


def least_privilege(scene):
    """Tests the rights of the manual's role, also when revoked and granted again during draws."""
    etcd, path = etcd_with_users(scene)
    drawer = Drawer(scene, "edge", 1, etcd.url, timeout_ms=20000, options=as_user("edge", path))
    expect(drawer.draw("b", 10, 100) == ("0", 100, 10, 90), "its own budget")
    expect(drawer.draw("b", 10, 100, period=250) == ("0", 100, 10, 90), "another period")
    refuses(drawer, "EPERM", "/weir/quotas/c/1/drawn", budget="c")
    token, own = etcd.log_in("edge", 'p"\\w 1'), etcd.token
    etcd.token = token
    for key in (f"{PREFIX}/quotas/b/total", f"{PREFIX}/limiters/other", "/else"):
        with contextlib.suppress(urllib.error.HTTPError):
            etcd.put(key, "1")
            expect(False, f"may write {key}")
    etcd.token = own
    below = PREFIX + "/quotas/b"
    etcd.revoke("edge", below + "/0", below + "/:")
    refuses(drawer, "EPERM", "permission denied")
    expect(etcd.get(drawn_key()) == "10", "what was drawn is drawn")
    etcd.grant_least("edge", "b")
    expect(drawer.draw("b", 5, 100) == ("0", 100, 15, 85), "rights given back")
    drawer.end()


def login_comes_later(scene):
    """Limiters are configured with a user first; draws continue when etcd begins to require a
    login."""
    etcd = Etcd(scene, *FAST_LOGIN).start()
    path = password_file(scene, "pw")
    drawer = Drawer(scene, "edge", 1, etcd.url, timeout_ms=20000, options=as_user("edge", path))
    expect(drawer.draw("b", 1, 100) == ("0", 100, 1, 99), "nobody has to log in")
    etcd.add_user("edge", "pw")
    etcd.grant_least("edge", "b")
    etcd.want_login()
    expect(drawer.draw("b", 1, 100) == ("0", 100, 2, 98), "everybody has to")
    etcd.auth("disable")
    expect(drawer.draw("b", 1, 100) == ("0", 100, 3, 97), "nobody has to again")
    drawer.end()


def as_documented(scene):
    """Runs the etcdctl commands of the manual in order; each must work as documented."""
    if not ETCDCTL:
        raise Skip("there is no etcdctl: `tools/setup test` installs it")
    with open(os.path.join(box.ROOT, "doc", "operate", "etcd.md"), encoding="utf-8") as page:
        commands = [one.strip() for line in page if line.startswith("    etcdctl ")
                    for one in line.split("&&")]
    etcd, did = Etcd(scene, *FAST_LOGIN).start(), []
    for command in commands:
        words = command.split()
        if words[1:3] == ["user", "add"]:
            words.append("--interactive=false")  # because etcdctl prompts twice on a terminal
        words += ["--endpoints", etcd.url]
        if "--user" in words and ":" not in words[words.index("--user") + 1]:
            words[words.index("--user") + 1] += ":pw-root"  # because etcdctl prompts on a terminal
        done = subprocess.run([ETCDCTL, *words[1:]], input=f"pw-{words[3]}\n", text=True,
                              capture_output=True, check=False, timeout=PATIENCE_S,
                              env=dict(os.environ, ETCDCTL_API="3"))
        expect(done.returncode == 0, f"{command}: {done.stdout}{done.stderr}")
        did.append(command)
    expect(len(did) > 8 and any("auth enable" in one for one in did), f"{did}")
    path = password_file(scene, "pw-edge-ams-1")
    drawer = Drawer(scene, "edge-ams-1", 1, etcd.url, timeout_ms=20000,
                    options=as_user("edge-ams-1", path))
    total = 750000000000  # the value in the manual's top-up
    expect(drawer.draw("customer-7", 10, 100) == ("0", total, 10, total - 10), "its own budget")
    refuses(drawer, "EPERM", "/weir/quotas/customer-8/1/drawn", budget="customer-8")
    drawer.end()
    return f"{len(did)} commands"


def needs():
    """Skips the test on machines without etcd."""
    if not ETCD:
        raise Skip("there is no etcd: `tools/setup test` unpacks one")


SCENARIOS = [the_sum_is_the_total, a_newer_start_fences, etcd_crashes, lost_messages,
             between_read_and_write, dead_endpoints, totals_of_operators, odd_characters,
             one_at_a_time, many_budgets, strangers, tls, tokens_are_renewed, who_may_not_draw,
             least_privilege, login_comes_later, as_documented]

if __name__ == "__main__":
    box.WEIR = CLIENT  # the scene needs no weir
    box.main(SCENARIOS, setup=needs)

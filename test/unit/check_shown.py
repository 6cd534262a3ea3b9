#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Random groups with policies of every kind: the page and weirctl show the numbers of the model.

The limiters are fakes, which answer on a socket like weir. The model has all of them. The exporter
has sockets of some, so the page must show the others as unknown.
"""

import contextlib
import http.client
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

SEEDS = (1, 2, 3)
PATIENCE_S = 30
COLUMNS = ("name count limit_per_s local_limit_per_s demand_per_s global_demand_per_s peers_lost "
           "passed_packets passed_units dropped_packets dropped_units over_packets over_units "
           "waiting_packets quota_units quota_remaining_units quota_used_units "
           "quota_prefetched_units allocator limit_by limit_until parent share_per_s peak_per_s "
           "local_peak_per_s exceeding").split()
COLOURS = ("trtcm", "trtcm4115", "srtcm")
KINDS = ("soft", "static", "hard", "shape", "mark", "count", "child", "quota",
         "quota_limit", *COLOURS, "yellow_drops", "red_passes", "coloured_child")
UNITS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "": 1}


def expect(true, words):
    """Ends the test with these words."""
    if not true:
        sys.exit(f"shown: {words}")


def split(rng, whole, n):
    """Returns n integers that add up to the whole."""
    cuts = sorted(rng.randint(0, whole) for _ in range(n - 1))
    return [b - a for a, b in zip([0, *cuts], [*cuts, whole])]


class Policy:
    """One policy of the model: its terms, and a number for each limiter."""

    def __init__(self, rng, kind, n):
        self.kind, self.name = kind, f"p-{kind}"
        self.coloured = kind in COLOURS or kind in ("yellow_drops", "red_passes", "coloured_child")
        self.is_child = kind in ("child", "coloured_child")
        self.count = "bytes" if self.coloured else rng.choice(["bytes", "packets", "flows"])
        self.limit = None if kind == "quota" else 1000 * rng.randint(1, 10 ** rng.randint(1, 6))
        self.gossips = kind in ("soft", "shape", "mark", "child", "coloured_child")
        self.exceeding = {"mark": "mark", "count": "count", "shape": "shape",
                          "red_passes": "pass"}.get(kind, "drop")
        self.share = self.limit
        if self.is_child:  # the current share of its parent
            self.share = self.limit * rng.randint(1, 10) // 10
        self.local = [None] * n if self.limit is None else split(rng, self.share, n)
        self.demand = [rng.randint(0, 2 * (self.limit or 1000)) for _ in range(n)]
        self.weight = [rng.randint(1, 9) for _ in range(n)]
        self.passed = [rng.randint(0, 10 ** 6) for _ in range(n)]
        self.dropped = [rng.choice([0, rng.randint(1, 10 ** 5)]) for _ in range(n)]
        self.second = rng.randint(1, 4)  # times the limit
        self.total = rng.randint(10 ** 6, 10 ** 9) if kind.startswith("quota") else None
        self.spent = [rng.randint(0, 10 ** 5) for _ in range(n)]
        self.ready = [rng.randint(0, 10 ** 4) for _ in range(n)]

    def beyond(self):
        """Returns the rate up to which colours pass, as a multiple of the limit."""
        if self.kind in ("srtcm", "yellow_drops"):
            return 1
        return self.second + (self.kind == "trtcm4115")

    def may(self, i=None):
        """Returns the rate that can pass at a limiter or in the group; inf: all packets."""
        if self.exceeding in ("mark", "count", "pass"):
            return float("inf")
        rate = self.share if i is None else self.local[i]
        return rate if rate is None or not self.coloured else rate * self.beyond()

    def row(self, i, turn):
        """Returns the row of limiter i at a turn; a turn is a second."""
        peak = [rate * self.beyond() if self.coloured else None
                for rate in (self.limit, self.local[i])]
        quota = [self.total - sum(self.spent), self.spent[i], self.ready[i]] if self.total \
            else [None] * 3
        packets = 3 * self.passed[i]
        return [self.name, self.count, self.limit, self.local[i], self.demand[i],
                sum(self.demand) if self.gossips else None, 0, turn * packets,
                turn * self.passed[i], turn * self.dropped[i], turn * self.dropped[i], 0, 0, None,
                self.total, *quota, "fps" if self.gossips else "static", None, None,
                "link" if self.is_child else None, self.share if self.is_child else None, *peak,
                self.exceeding]

    def shares(self, names, i):
        """Returns the reports that limiter i has of the others."""
        if not self.gossips:
            return None
        key = "demand_bps" if self.count == "bytes" else "demand_per_s"
        scale = 8 if self.count == "bytes" else 1
        return {"limiters": [{"name": name, "self": k == i, key: scale * self.demand[k],
                              "weight": self.weight[k]} for k, name in enumerate(names)],
                "total": len(names), "start": 0, "next": None}


class Limiter:
    """A socket that answers like limiter i of the group."""

    def __init__(self, directory, names, policies, i):
        self.names, self.policies, self.i, self.turn = names, policies, i, 0
        self.path = os.path.join(directory, f"{names[i]}.sock")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        """Serves each client in a thread."""
        while True:
            client = self.listener.accept()[0]
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        """Answers until the client closes the connection."""
        with contextlib.suppress(OSError), client:
            client.send(b'{"version":"Weir 0","pid":1,"max_output_len":1048576}')
            while request := client.recv(4096).decode():
                name, _, params = request.partition(",")
                client.send(json.dumps({name: self.answer(name, params)}).encode())

    def answer(self, name, params):
        """Returns the value that weir would send."""
        if name == "/weir/policy_stats":
            self.turn += 1
            return {"generation": 1, "at_ms": 1000 * self.turn, "columns": COLUMNS,
                    "total": len(self.policies), "start": 0, "next": None,
                    "policies": [one.row(self.i, self.turn) for one in self.policies]}
        if name == "/weir/peers":
            peers = [{"name": one, "state": "self" if k == self.i else "alive", "differs": None}
                     for k, one in enumerate(self.names)]
            return {"peers": peers, "total": len(peers), "start": 0, "next": None}
        if name == "/weir/shares":
            found = [one for one in self.policies if one.name == params.split(",")[0]]
            return found[0].shares(self.names, self.i) if found else None
        return {"/weir/process": {"limiter": self.names[self.i], "version": "0", "uptime_s": 1},
                "/weir/config": {"policies": len(self.policies)},
                "/weir/health": {"alarms": []}}.get(name)


def is_complete(policy, n, shown):
    """True if an event has the rates or the reports of all n limiters."""
    rows, told = shown["limiters"], shown["told"]
    return len(rows) + len(told) == n and all(row["passed"] is not None for row in rows) and \
        (not policy.gossips or all(row["about"] is not None for row in told))


def events_of(port, policy, n):
    """The first pair of events that is complete."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", f"/events?policy={policy.name}")
    reply, group, kind = connection.getresponse(), None, None
    expect(reply.status == 200, f"{policy.name}: status {reply.status}")
    while line := reply.readline().decode():
        if line.startswith("event: "):
            kind = line[7:].strip()
        elif line.startswith("data: "):
            data = json.loads(line[6:])
            if kind == "group":
                group = data
            elif data and is_complete(policy, n, data):
                connection.close()
                return group, data
    return sys.exit(f"shown: {policy.name}: the stream has ended")


def same(shown, want, words):
    """Compares a rate or null; infinity means no bound and is null, too."""
    if want is None or want == float("inf"):
        expect(shown is None, f"{words}: {shown}, not {want}")
    else:
        expect(shown is not None and abs(shown - want) <= 0.002 + 1e-9 * want,
               f"{words}: {shown}, not {want}")


def check_sum(shown, values, words):
    """Checks the last row of the table: values add up, and an unknown value is not 0."""
    known = [value for value in values if value is not None]
    same(shown["known"], sum(known) if known else None, f"sum of {words}")
    expect(shown["whole"] == (len(known) == len(values)), f"sum of {words} is whole: {shown}")
    expect(shown["bounded"] == (float("inf") not in known), f"sum of {words} is bounded")


def check_page(policy, names, asked, shown):
    """Checks one policy of the page."""
    may, others = policy.may(), [i for i in range(len(names)) if i not in asked]
    rows = {row["name"]: row for row in shown["limiters"] + shown["told"]}
    expect(sorted(rows) == names, f"{policy.name}: rows of {sorted(rows)}, not {names}")
    same(shown["limit"], policy.limit, f"limit of {policy.name}")
    same(shown["may"], may, f"what may pass of {policy.name}")
    expect(shown["parent"] == ("link" if policy.is_child else None), f"parent of {policy.name}")
    sums = {"passed": [], "may": [], "demand": [], "dropped": []}
    for i in asked:
        row = rows[names[i]]
        for key, want in (("passed", policy.passed[i]), ("dropped", policy.dropped[i]),
                          ("demand", policy.demand[i]), ("may", policy.may(i))):
            same(row[key], want, f"{key} of {policy.name} at {names[i]}")
            sums[key].append(want)
    for i in others:
        row = rows[names[i]]
        demand = policy.demand[i] if policy.gossips else None
        part = None
        if policy.gossips:
            part = may * policy.weight[i] / sum(policy.weight)
        about = min(demand, part) if policy.gossips and sum(policy.demand) > may else demand
        for key, want in (("about", about), ("demand", demand), ("may", part)):
            same(row[key], want, f"{key} of {policy.name} at {names[i]}, which has no socket")
            sums["passed" if key == "about" else key].append(want)
        sums["dropped"].append(None)
    if policy.limit is None and not others:
        sums["may"] = []
    for key, values in sums.items():
        check_sum(shown["sums"][key], values, f"{key} of {policy.name}")
    if not others:  # the parts add up to the whole
        same(shown["sums"]["may"]["known"], may, f"parts of {policy.name}")
    if policy.total:
        left = policy.total - sum(policy.spent)
        spent = sum(policy.spent[i] for i in asked)
        ready = sum(policy.ready[i] for i in asked)
        for key, want in (("total", policy.total), ("left", left), ("spent", spent),
                          ("prefetched", ready)):
            same(shown[key], want, f"{key} of {policy.name}")


def rate_of(text, count):
    """Returns a cell of weirctl in units a second, or None if it has no value."""
    if text == "-":
        return None
    number, unit = text.split()
    scale = 8 if count == "bytes" else 1
    return float(number) * UNITS[unit[0] if unit[0] in UNITS else ""] / scale


def table(weirctl, limiter, *words):
    """Returns the cells of a table, by the name of the policy and the heading of the column."""
    text = subprocess.run([weirctl, "-s", limiter.path, *words], capture_output=True, text=True,
                          check=True, timeout=PATIENCE_S).stdout
    lines = text[text.index("POLICY"):].splitlines()
    heads = re.split(r"\s{2,}", lines[0].strip())
    if "PASSES" in heads:  # packets a second are in columns without a heading
        heads.insert(heads.index("PASSES") + 1, "packets passed")
        heads.insert(heads.index("DROPS") + 1, "packets dropped")
    return {line.split()[0]: dict(zip(heads, re.split(r"\s{2,}", line.strip())))
            for line in lines[1:] if line}


def check_rates(one, row, wanted):
    """Checks the rates of one policy in a table; None means a cell without a value."""
    for head, want in wanted:
        count = "packets" if head.startswith("packets") else one.count
        got = rate_of(row[head], count)
        expect((got is None) == (want is None) and
               (want is None or abs(got - want) <= 0.006 * want + 0.001),
               f"{head} of {one.name}: {row[head]}, not {want} {count}/s")
    expect(row["PARENT"] == ("link" if one.is_child else "-"), f"PARENT of {one.name}")


def check_columns(weirctl, limiter, policies):
    """Checks each cell of `weirctl policies` and of `weirctl top`."""
    listed = table(weirctl, limiter, "policies")
    moving = table(weirctl, limiter, "top", "--count", "1", "--interval", "0.1")
    for one in policies:
        peak = one.beyond() if one.coloured else None
        local = one.local[limiter.i]
        told = [("LIMIT", one.limit), ("LIMIT HERE", local),
                ("MAY HAVE", one.share if one.is_child else None),
                ("PEAK", peak and one.limit * peak),
                ("PEAK HERE", None if peak is None else local * peak),
                ("DEMAND", one.demand[limiter.i]),
                ("GROUP DEMAND", sum(one.demand) if one.gossips else None)]
        check_rates(one, listed[one.name], told)
        passed, dropped = one.passed[limiter.i], one.dropped[limiter.i]
        check_rates(one, moving[one.name], [
            *told, ("PASSES", passed), ("packets passed", 3 * passed), ("DROPS", dropped),
            ("packets dropped", dropped)])
        share = "-" if local is None else f"{100 * local / one.limit:.1f} %"
        expect(moving[one.name]["SHARE"] == share, f"SHARE of {one.name}: not {share}")


@contextlib.contextmanager
def exporter(program, limiters):
    """Starts an exporter for the limiters; yields its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [word for one in limiters for word in ("-s", one.path)]
    with subprocess.Popen([program, "--listen", f"127.0.0.1:{port}", "--interval", "200", *words],
                          stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(1000):
                with contextlib.suppress(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                time.sleep(0.02)
            yield port
        finally:
            process.terminate()


def check_group(seed, program, weirctl):
    """Checks one random group."""
    rng = random.Random(seed)
    n = seed if seed < 3 else rng.randint(3, 5)
    names = [f"box{i}" for i in range(n)]
    policies = [Policy(rng, kind, n) for kind in KINDS]
    asked = sorted(rng.sample(range(n), n if seed < 3 else rng.randint(1, n - 1)))
    with tempfile.TemporaryDirectory() as directory:
        limiters = [Limiter(directory, names, policies, i) for i in range(n)]
        with exporter(program, [limiters[i] for i in asked]) as port:
            found = {}
            threads = [threading.Thread(target=lambda one=one: found.update(
                {one.name: events_of(port, one, n)}), daemon=True) for one in policies]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE_S)
            for one in policies:
                expect(one.name in found,
                       f"seed {seed}: some limiter is unknown in each event of {one.name}")
                group, shown = found[one.name]
                expect(group["unasked"] == n - len(asked), f"seed {seed}: {group['unasked']}")
                check_page(one, names, asked, shown)
        check_columns(weirctl, limiters[asked[0]], policies)


if __name__ == "__main__":
    for number in SEEDS:
        check_group(number, *sys.argv[1:])

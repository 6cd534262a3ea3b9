#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""DPDK's own dpdk-telemetry.py, unchanged, with a running Weir.

Usage: stock_client.py SOCKET. Exit status: 0 for success, 1 for a difference, 77 without the
client. The client's socket is $RUNTIME_DIRECTORY/dpdk/PREFIX/dpdk_telemetry.v2, so a symbolic link
in a directory of the test points to SOCKET.
"""

import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile

PREFIX = "weir"
TIMEOUT_S = 20
COUNTERS = ["ipackets", "opackets", "ibytes", "obytes", "imissed", "ierrors", "oerrors",
            "rx_nombuf"]
QUEUE_COUNTERS = ["q_ipackets", "q_opackets", "q_ibytes", "q_obytes", "q_errors"]
INFO = {"name": str, "state": int, "nb_rx_queues": int, "nb_tx_queues": int, "port_id": int,
        "mtu": int, "rx_mbuf_size_min": int, "mac_addr": str, "promiscuous": int,
        "scattered_rx": int, "all_multicast": int, "dev_started": int, "lro": int,
        "dev_configured": int, "rxq_state": list, "txq_state": list, "numa_node": int,
        "dev_flags": int, "rx_offloads": int, "tx_offloads": int, "ethdev_rss_hf": int}
LINK_UP = {"status": str, "speed": int, "duplex": str}


def expect(condition, what):
    if not condition:
        sys.exit(f"stock client: {what}")


def types_of(value):
    return {key: type(member) for key, member in value.items()}


class StockClient:
    def __init__(self, program, runtime):
        self.command = [sys.executable, program, "-f", PREFIX]
        self.environment = dict(os.environ, RUNTIME_DIRECTORY=runtime)

    def run(self, text, stdin=None):
        done = subprocess.run(self.command, input=text, stdin=stdin, text=True,
                              capture_output=True, env=self.environment, timeout=TIMEOUT_S,
                              check=False)
        expect(done.returncode == 0 and not done.stderr, f"failed: {done.stderr or done.stdout}")
        return done.stdout

    def ask(self, *requests):
        """Sends requests; returns the values of the replies, whose keys must be the commands."""
        lines = self.run("".join(request + "\n" for request in requests)).splitlines()
        expect(len(lines) == len(requests), f"{len(requests)} requests, replies: {lines}")
        values = []
        for request, line in zip(requests, lines):
            reply = json.loads(line)
            expect(list(reply) == [request.split(",")[0]], f"{request} → {line}")
            values += reply.values()
        return values

    def interact(self, text):
        """Returns the output on a terminal; only there does the client show a prompt and a
        greeting."""
        ours, theirs = pty.openpty()
        os.write(ours, text.encode())
        try:
            return self.run(None, stdin=theirs)
        finally:
            os.close(theirs)
            os.close(ours)


def check_builtin(client):
    commands, info, nope, helped, no_help = client.ask(
        "/", "/info", "/nope,1", "/help,/ethdev/stats", "/help,/nope")
    expect(types_of(info) == {"version": str, "pid": int, "max_output_len": int}, f"/info {info}")
    expect(info["version"].startswith("Weir "), f"version {info['version']}")
    expect(info["max_output_len"] == 16384, f"max_output_len {info['max_output_len']}")
    expect(nope is None and no_help is None, "an unknown command got an answer")
    expect(list(helped) == ["/ethdev/stats"], f"/help {helped}")
    expect({"/", "/help", "/info", "/ethdev/list"} <= set(commands), f"/ {commands}")
    for command, value in zip(commands, client.ask(*[f"/help,{c}" for c in commands])):
        expect(list(value) == [command] and value[command], f"no help for {command}: {value}")
    return info


def check_port(client, port):
    stats, xstats, info, link = client.ask(
        f"/ethdev/stats,{port}", f"/ethdev/xstats,{port}", f"/ethdev/info,{port}",
        f"/ethdev/link_status,{port}")
    expect(list(stats) == COUNTERS + QUEUE_COUNTERS, f"/ethdev/stats {stats}")
    expect(all(type(stats[key]) is int for key in COUNTERS), f"/ethdev/stats {stats}")
    expect(all(len(stats[key]) == 16 for key in QUEUE_COUNTERS), f"/ethdev/stats {stats}")
    expect(xstats and set(map(type, xstats.values())) == {int}, f"/ethdev/xstats {xstats}")
    expect(types_of(info) == INFO and list(info) == list(INFO), f"/ethdev/info {info}")
    expect(len(info["rxq_state"]) == info["nb_rx_queues"], f"rxq_state {info}")
    expect(info["port_id"] == port, f"port_id {info}")
    expect(link == {"status": "DOWN"} or types_of(link) == LINK_UP, f"/ethdev/link_status {link}")
    expect(link["status"] in ("UP", "DOWN"), f"/ethdev/link_status {link}")


def check_ports(client):
    ports, = client.ask("/ethdev/list")
    for port in ports:
        check_port(client, port)
    bad = [f"/ethdev/{what},{port}" for what in ("stats", "xstats", "info", "link_status")
           for port in ("", "99999", "-1", "x")]
    expect(client.ask(*bad) == [None] * len(bad), "a bad port got an answer")
    return ports


def check_terminal(client, info):
    shown = client.interact("/info\nquit\n")
    expect("Connecting to" in shown, f"on a terminal: {shown}")
    expect(f'"version": "{info["version"]}"' in shown, f"on a terminal: {shown}")
    expect("Connected to application" in shown, f"on a terminal: {shown}")


def main():
    program = shutil.which("dpdk-telemetry.py")
    if program is None:
        print("skipped: no dpdk-telemetry.py")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as runtime:
        link = os.path.join(runtime, "dpdk", PREFIX, "dpdk_telemetry.v2")
        os.makedirs(os.path.dirname(link))
        os.symlink(os.path.abspath(sys.argv[1]), link)
        client = StockClient(program, runtime)
        info = check_builtin(client)
        ports = check_ports(client)
        check_terminal(client, info)
    print(f"stock client: {info['version']}, pid {info['pid']}, ports {ports}: all well")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The cost of the first scrape by the number of policies: a table in Markdown.

    scrape.py [--policies 1000 10000 100000] [--rounds 3] [--exporter FILE]… [--weir FILE]…

Each round starts each exporter once for each running limiter, so that figures of two programs
belong to the same minutes. The exponent compares a row with the previous one: 1 is linear.
"""

import argparse
import http.client
import math
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "net"),
                os.path.join(HERE, "..", "..", "tools", "benchmark")]

import box  # noqa: E402 (needs the path above)
import exporter  # noqa: E402
from lifecycle import cpu_seconds  # noqa: E402
from report import markdown_table  # noqa: E402

SAMPLE = b"weir_policy_passed_packets_total{"


def scrape(program, weir, policies):
    """Makes a first scrape. Returns its seconds, the CPU seconds of the exporter and the limiter,
    the bytes of the answer, and the exporter's peak RSS."""
    exporter.EXPORTER = program
    with exporter.exporter("-s", weir.socket, "--max-policies", "1000000") as one:
        pids = one.process.pid, weir.process.pid
        before = [cpu_seconds(pid) for pid in pids]
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", one.port, timeout=box.PATIENCE_S)
        connection.request("GET", "/metrics")
        reply = connection.getresponse()
        status, text = reply.status, reply.read()
        took = time.monotonic() - began
        connection.close()
        box.expect(status == 200 and text.count(SAMPLE) == policies,
                   f"{program}: status {status}, {text.count(SAMPLE)} policies")
        cpu = [cpu_seconds(pid) - was for pid, was in zip(pids, before)]
        return took, *cpu, len(text), one.memory()


def measure(options, policies):
    """Returns {(weir, exporter): [figures of a round]} for limiters with `policies` policies."""
    found = {}
    for program in options.weir:
        box.WEIR = program
        scene = box.Scene()
        try:
            weir = scene.box(box.wire("net_null0,no-rx=1", "net_null1,no-rx=1", policies=[
                exporter.policy(i) for i in range(policies)])).start()
            weir.hang_up()
            for _ in range(options.rounds):
                for one in options.exporter:
                    found.setdefault((program, one), []).append(scrape(one, weir, policies))
        finally:
            scene.close()
    return found


def rows(options):
    """Yields the rows of the table: medians, by number of policies."""
    before = {}
    for policies in sorted(options.policies):
        for programs, rounds in measure(options, policies).items():
            took, cpu, served, size, memory = map(statistics.median, zip(*rounds))
            was = before.get(programs)
            exponent = f"{math.log(took / was[1], policies / was[0]):.2f}" if was else ""
            before[programs] = policies, took
            yield [", ".join(os.path.relpath(one) for one in programs), f"{policies:,}",
                   f"{took:.3f} s", exponent, f"{cpu:.2f} s", f"{served:.2f} s",
                   f"{size / 1e6:.1f} MB", f"{memory / 2**20:.0f} MiB"]


def main():
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--policies", type=int, nargs="+", default=[1000, 10000, 100000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--exporter", nargs="+", default=[exporter.EXPORTER])
    parser.add_argument("--weir", nargs="+", default=[box.WEIR])
    options = parser.parse_args()
    box.enter_netns()
    print(markdown_table(["limiter, exporter", "policies", "first scrape", "exponent",
                          "CPU of the exporter", "of the limiter", "text", "peak RSS"],
                         list(rows(options))))


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The cost of observers: 10,000 policies, a worker that polls, packets of 64 bytes.

    watched.py [--rounds 10] [--seconds 4] [--policies 10000] [--viewers 3] [--json FILE]

Rounds alternate: without observers, and with a scraper that requests all metrics each second and
the page in three browsers. A reader of the page's events stands for each browser. The result is the
ratio of two successive rounds, by the clock and by the worker's CPU time, which other processes
change less. The worker has its own CPU. Control, the exporter and all readers share another, so
control has less CPU time than on a CPU of its own.
"""

import argparse
import glob
import http.client
import json
import os
import statistics
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "net"))

import box  # noqa: E402
from exporter import exporter, policy  # noqa: E402

DEVICES = ["net_null0,size=64", "net_null1,size=64"]


def worker_thread(pid):
    """Returns the task of the one worker."""
    for path in glob.glob(f"/proc/{pid}/task/*"):
        with open(path + "/comm", encoding="ascii") as comm:
            if "worker" in comm.read():
                return path
    return sys.exit("watched: the worker's thread is not to be found")


def cpu_seconds(task):
    """Returns the CPU seconds of a task."""
    with open(task + "/schedstat", encoding="ascii") as stat:
        return int(stat.read().split()[0]) / 1e9


class Audience:
    """Readers of the page's events, and a scraper."""

    def __init__(self, port, viewers):
        self.port, self.over = port, threading.Event()
        self.events, self.scrapes, self.longest, self.problems = 0, 0, 0.0, []
        self.threads = [threading.Thread(target=self.view) for _ in range(viewers)]
        self.threads.append(threading.Thread(target=self.scrape))
        for thread in self.threads:
            thread.start()

    def connect(self):
        """Returns a connection to the exporter."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def view(self):
        """Reads events until leave() is called."""
        connection = self.connect()
        connection.request("GET", "/events")
        reply = connection.getresponse()
        while not self.over.is_set():
            self.events += reply.readline().startswith(b"event: policy")
        connection.close()

    def scrape(self):
        """Requests all metrics each second."""
        while not self.over.is_set():
            began = time.monotonic()
            connection = self.connect()
            connection.request("GET", "/metrics")
            reply = connection.getresponse()
            text = reply.read()
            took = time.monotonic() - began
            if reply.status != 200 or b"weir_up" not in text:
                self.problems.append(reply.status)
            self.scrapes += 1
            self.longest = max(self.longest, took)
            connection.close()
            self.over.wait(max(0, 1 - took))

    def leave(self):
        """Ends all threads."""
        self.over.set()
        for thread in self.threads:
            thread.join()


def measure(weir, task, seconds):
    """Returns (packets a second, packets a CPU second of the worker)."""
    packets, cpu, began = weir.total("rx_packets"), cpu_seconds(task), time.monotonic()
    time.sleep(seconds)
    grown = weir.total("rx_packets") - packets
    return grown / (time.monotonic() - began), grown / (cpu_seconds(task) - cpu)


def state(weir):
    """Returns the counters that must not grow: control's stalls, and drops for other reasons."""
    drops = weir.get("/weir/drops")
    return {"stalls": weir.get("/weir/health")["control"]["stalls"],
            "drops": sum(drops.values())}


def one_round(weir, task, port, options, result):
    """Measures without and with observers; the order alternates."""
    ratios = {}
    for watched in (False, True) if len(result["rounds"]) % 2 else (True, False):
        before = state(weir)
        audience = Audience(port, options.viewers) if watched else None
        if watched:
            time.sleep(1)
        ratios[watched] = measure(weir, task, options.seconds)
        if audience:
            audience.leave()
            for key in ("events", "scrapes"):
                result[key] += getattr(audience, key)
            result["longest_scrape_s"] = max(result["longest_scrape_s"], audience.longest)
            result["problems"] += audience.problems
        kind = "watched" if watched else "alone"
        for key, value in state(weir).items():
            result[kind][key] += value - before[key]
    result["rounds"].append({
        "clock": ratios[True][0] / ratios[False][0], "cpu": ratios[True][1] / ratios[False][1],
        "alone_mpps": ratios[False][0] / 1e6})


def quartiles(values):
    """Returns median and quartiles, as text."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.4f} ({low:.4f} to {high:.4f})"


def run(options):
    """Runs all rounds."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        sys.exit(box.SKIP)
    result = {"rounds": [], "alone": {"stalls": 0, "drops": 0},
              "watched": {"stalls": 0, "drops": 0}, "events": 0, "scrapes": 0,
              "longest_scrape_s": 0.0, "problems": []}
    scene = box.Scene()
    try:
        weir = scene.box(box.wire(*DEVICES) | {
            "workers": [cpus[1]], "idle": "poll", "control": {"cpu": cpus[0]},
            "policies": [policy(i) for i in range(options.policies - 1)] + [
                {"name": "all", "limit": "400Gbit/s"}]}).start()
        task = worker_thread(weir.process.pid)
        os.sched_setaffinity(0, {cpus[0]})  # also for processes started from here
        os.nice(10)  # like the exporter's unit
        with exporter("-s", weir.socket) as one:
            for _ in range(options.rounds):
                one_round(weir, task, one.port, options, result)
            result["exporter_mib"] = one.memory() >> 20
        result["longest_turn_ms"] = weir.get("/weir/telemetry")["longest_turn_ms"]
        weir.stop()
    finally:
        scene.close()
    return result


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--policies", type=int, default=10000)
    parser.add_argument("--viewers", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    result = run(options)
    for kind in ("cpu", "clock"):
        values = [one[kind] for one in result["rounds"]]
        print(f"watched to alone, by {kind}: {quartiles(values)} of {len(values)} rounds")
    alone = statistics.median(one["alone_mpps"] for one in result["rounds"])
    print(f"alone {alone:.2f} Mpps; {options.policies} policies, {options.viewers} viewers: "
          f"{result['events']} events, {result['scrapes']} scrapes (longest "
          f"{result['longest_scrape_s']:.2f} s), exporter {result['exporter_mib']} MiB")
    for kind in ("alone", "watched"):
        print(f"{kind}: {result[kind]['drops']} drops, control stalled "
              f"{result[kind]['stalls']} times")
    print(f"control's longest turn for telemetry: {result['longest_turn_ms']:.2f} ms")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    sys.exit(1 if result["problems"] else 0)


if __name__ == "__main__":
    main()

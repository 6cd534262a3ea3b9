#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Messages of a whole process to the service manager, from start to end; the test is the manager.

Runs in its own network namespace. Usage: service.py [SCENARIO...].
"""

import contextlib
import os
import select
import socket
import subprocess
import time

import box
import threads
from box import expect, wait_until

CONFIG = box.wire("net_ring0", "net_ring1") | {
    "policies": [{"name": "all", "match": {"direction": "a-to-b"}, "limit": "10Mbit/s"}]}
WATCHDOG_US = 400000
REFUSED = 78


class Manager:
    """The socket that receives a service's notifications."""

    def __init__(self, scene):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.path = scene.path("notify")
        self.socket.bind(self.path)
        self.watchdogs = 0

    def environment(self, box_, watchdog_us):
        """Sets the environment variables of a service."""
        box_.environment |= {"NOTIFY_SOCKET": self.path}
        if watchdog_us:
            box_.environment |= {"WATCHDOG_USEC": str(watchdog_us)}
        return box_

    def hear(self, patience=box.PATIENCE_S):
        """Returns the next message other than a watchdog's, as a dict; None after a timeout."""
        deadline = time.monotonic() + patience
        while select.select([self.socket], [], [], max(0, deadline - time.monotonic()))[0]:
            text = self.socket.recv(4096).decode()
            if text != "WATCHDOG=1":
                return dict(line.split("=", 1) for line in text.split("\n"))
            self.watchdogs += 1
        return None

    def fed(self):
        """Returns the number of watchdog messages received so far."""
        while self.hear(0):
            pass
        return self.watchdogs


@contextlib.contextmanager
def managed(scene, watchdog_us=None, **more):
    """Yields a manager, and a limiter that is ready."""
    manager = Manager(scene)
    weir = manager.environment(scene.box(CONFIG | more), watchdog_us)
    try:
        yield manager, weir.spawn()
    finally:
        weir.kill()
        manager.socket.close()


def from_start_to_end(scene):
    """READY=1 is sent when the limiter answers and not before; STOPPING=1 when it is stopped."""
    with managed(scene) as (manager, weir):
        ready = manager.hear()
        expect(ready and ready.pop("READY") == "1", f"{ready}")
        expect(ready["STATUS"] == "running: limiter box1 of 1, 1 worker(s), 1 policies; runs the "
               "file; nothing is kept", ready)
        client = box.Client(weir.socket)  # without a retry
        expect(client.get("/weir/policies")["total"] == 1, "it is not ready")
        client.close()
        weir.stop()
        expect(manager.hear(0) == {"STOPPING": "1", "STATUS": "stopping"}, "no STOPPING=1")
        expect(manager.hear(0) is None and manager.watchdogs == 0, "more than that")


def reloads(scene):
    """A successful reload and a rejected one each send their start and end."""
    with managed(scene) as (manager, weir):
        manager.hear()
        weir.await_answer()
        for limit, said in (("20Mbit/s", "running: 1 policies, generation 2"),
                            ("20Mbit", "running; the last reload was refused: "),
                            ("30Mbit/s", "running: 1 policies, generation 3")):
            weir.config["policies"][0]["limit"] = limit
            weir.write()
            before = time.monotonic_ns() // 1000
            expect(weir.get("/weir/reload")["reload"] in ("started", "queued"), "no reload")
            begun = manager.hear()
            expect(begun["RELOADING"] == "1" and "READY" not in begun, begun)
            expect(before <= int(begun["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000, begun)
            ended = manager.hear()
            expect(ended["READY"] == "1" and ended["STATUS"].startswith(said), ended)
        weir.stop()


def fed_while_all_goes_on(scene):
    """The watchdog is notified in time, except while a worker stalls."""
    with managed(scene, WATCHDOG_US, workers=[0, 1]) as (manager, weir):
        manager.hear()
        weir.await_answer()
        wait_until(lambda: manager.fed() >= 5, "the watchdog is not fed")
        with threads.standing(threads.worker(weir.process.pid, 1)):
            wait_until(lambda: weir.get("/weir/workers")[1]["stuck"], "the stall is not seen")
            before = manager.fed()
            wait_until(lambda: weir.get("/weir/workers")[1]["stuck_ms"] > WATCHDOG_US // 200,
                       "time does not go on")
            expect(manager.fed() == before, "fed while a worker stands still")
        wait_until(lambda: manager.fed() >= before + 5, "the watchdog is not fed again")
        weir.stop()


def not_to_be_tried_again(scene):
    """An invalid configuration has its own exit status, and READY=1 is never sent."""
    for config in (CONFIG | {"polices": []}, None):
        manager = Manager(scene)
        weir = manager.environment(scene.box(config or CONFIG), None)
        if config is None:
            os.unlink(weir.config_path)
        done = subprocess.run([box.WEIR, "-c", weir.config_path], capture_output=True, text=True,
                              check=False, timeout=box.PATIENCE_S, env=weir.environment)
        expect(done.returncode == REFUSED, f"exit status {done.returncode}: {done.stderr}")
        expect(manager.hear(0) is None, "it has said something")
        manager.socket.close()
        os.unlink(manager.path)
    weir = scene.box(box.wire("net_ring0", "net_af_packet0,iface=nosuch"))
    status, _, err = weir.run("-c", weir.config_path)
    expect(status == 1, f"exit status {status}, but an interface may come to be: {err}")


if __name__ == "__main__":
    box.main([from_start_to_end, reloads, fed_while_all_goes_on, not_to_be_tried_again],
             setup=box.enter_netns)

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Each trouble of a live limiter is said once when it begins and once when it has ended, as text
and as JSON: a link, packets that are lost, strange datagrams, a peer that is not there, a worker
that stands still, a total, reloads by whom, and somebody who asks for too much.

Runs in a network namespace of its own. Usage: events.py [SCENARIO...].
"""

import contextlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import time

import box
import threads
from box import expect, wait_until
from lifecycle import cable, raw, udp_frame

WEIRCTL = os.path.join(box.BUILD, "app", "weirctl", "weirctl")
PORT, PEERS_PORT = 17948, 17949
ROSTER = [{"name": "box1", "address": f"127.0.0.1:{PORT}"},
          {"name": "other", "address": f"127.0.0.1:{PEERS_PORT}"}]
GOSSIP = {"roster": ROSTER, "timeout": "500ms", "insecure": True}
TOTAL = 4000000  # bytes
BULK = 1400  # of a frame
CUT = 200  # bytes that a frame says it has more than it has


def policies(total):
    """One prepaid policy for the frames of a flow, and one for all others."""
    return [{"name": "prepaid", "match": {"direction": "a-to-b", "proto": "udp", "src-port": 1001},
             "allocator": "quota", "total": f"{total}B"},
            {"name": "rest", "match": {"direction": "a-to-b"}, "limit": "1Gbit/s"}]


@contextlib.contextmanager
def limiter(scene, log_format, group=True):
    """Two polling workers behind one queue, and the ends of the wire; alone, with a total."""
    more = {"gossip": GOSSIP} if group else {"ledger": {"store": scene.path("store")}}
    config = box.wire("net_af_packet0,iface=a", "net_af_packet1,iface=b", 1500, workers=[0, 1],
                      idle="poll", policies=policies(TOTAL)[group:],
                      log={"format": log_format, "level": "info"}, **more)
    config["wires"][0]["distribute"] = True
    weir = scene.box(config, "box1")
    try:
        cable("ta", "a")
        cable("tb", "b")
        if not group:
            status, _, err = weir.run("--new-ledger", box.LEDGER, weir.config_path)
            expect(status == 0, err)
        weir.start()
        with raw("ta") as ta, raw("tb") as tb:
            yield weir, ta, tb
    finally:
        for one in scene.boxes:
            one.kill()
        for name in ("ta", "tb"):
            subprocess.run(["ip", "link", "del", "dev", name], capture_output=True, check=False)


def objects(weir):
    """All that it said, of which each line must be an object."""
    return [json.loads(line) for line in weir.log().splitlines()]


class Said:
    """What a limiter has said of some matter, in whichever format."""

    def __init__(self, weir, log_format):
        self.weir, self.json = weir, log_format == "json"

    def count(self, event, words):
        """Lines of that event with these words."""
        if self.json:
            return sum(one["event"] == event and words in one["text"] for one in objects(self.weir))
        return sum(line.startswith("weir: ") and words in line
                   for line in self.weir.log().splitlines())

    def once(self, event, words):
        """Waits for it, and expects no more of it."""
        wait_until(lambda: self.count(event, words), f"{event}: {words}")
        expect(self.count(event, words) == 1, f"{event}: {words}: {self.count(event, words)} times")


def truncated(serial):
    """A frame whose IP packet is longer than what there is of it."""
    frame = bytearray(udp_frame(2000, serial))
    struct.pack_into(">H", frame, 16, len(frame) - 14 + CUT)
    return bytes(frame)


def strange_datagrams():
    """What somebody sends who has a peer's address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.bind(("127.0.0.1", PEERS_PORT))
        for i in range(20):
            peer.sendto(bytes([i]) * (30 + i), ("127.0.0.1", PORT))


def bulk(serial):
    """A long frame of the prepaid flow."""
    frame = bytearray(udp_frame(1001, serial))
    struct.pack_into(">H", frame, 16, BULK - 14)
    struct.pack_into(">H", frame, 38, BULK - 34)
    return bytes(frame) + bytes(BULK - len(frame))


def a_total(scene):
    """It is said at 90 %, when it is spent, and when there is some again."""
    with limiter(scene, "json", group=False) as (weir, ta, _):
        said = Said(weir, "json")

        def is_said(event):
            def send_some():
                for serial in range(50):
                    ta.send(bulk(serial))
                return said.count(event, "policy prepaid")
            return send_some
        wait_until(is_said("total_near"), "the line at 90 %")
        expect(said.count("total_spent", "") == 0, "it is not spent yet")
        wait_until(is_said("total_spent"), "the line at 100 %")
        weir.config["policies"] = policies(100 * TOTAL)
        weir.write()
        weir.get("/weir/reload")
        said.once("total_back", "there is some of its total again")
        for event in ("total_near", "total_spent"):
            said.once(event, "policy prepaid")
        weir.stop()


def begin_troubles(weir, ta, said):
    """Each of them, which is said once."""
    said.once("peer_differs", "peer other: differs: never heard")
    for serial in range(50):
        ta.send(truncated(serial))
    said.once("packets_lost", "packets are lost: truncated")
    strange_datagrams()
    said.once("datagrams_refused", "datagrams come that are not believed")
    worker = threads.called(weir.process.pid, r"lcore-worker-2|rte-worker-2")
    with threads.standing(worker):
        said.once("worker_stuck", "worker 1 (CPU 1) is stuck")
    subprocess.run(["ip", "link", "set", "dev", "ta", "down"], check=True)
    said.once("link_down", "port a: link down")


def end_troubles(weir, said):
    """What ends by itself does, and what does not is ended."""
    subprocess.run(["ip", "link", "set", "dev", "ta", "up"], check=True)
    wait_until(lambda: said.count("link_up", "port a: link up") == 2, "the link's end")
    said.once("worker_came_round", "worker 1 (CPU 1) came round")
    weir.get("/weir/reload")
    said.once("reload_done", "asked for by root (uid 0)")
    if not said.json:  # what ends by itself takes its time
        return
    said.once("packets_not_lost", "packets are lost no more: truncated: it were 50")
    said.once("datagrams_quiet", "no more of those that are not believed; it were 20")


def story(scene, log_format):
    """All of it, in one format."""
    with limiter(scene, log_format) as (weir, ta, _):
        said = Said(weir, log_format)
        begin_troubles(weir, ta, said)
        end_troubles(weir, said)
        for event, words in (("packets_lost", "are lost: truncated"),
                             ("datagrams_refused", "not believed: "),
                             ("link_down", "port a: link down")):
            expect(said.count(event, words) == 1, f"{event}: {words}: not once")
        weir.stop()
        return weir


def as_text(scene):
    """As lines of text, none of which has a priority where nobody wants one."""
    weir = story(scene, "text")
    expect(not re.search("^<[0-9]>", weir.log(), re.M), "a priority without journald")


def as_json(scene):
    """Every line is an object, EAL's too, and each has a number of its own."""
    weir = story(scene, "json")
    said = objects(weir)
    numbers = [one["number"] for one in said if "number" in one]
    expect(numbers == list(range(1, len(said) + 1)), f"numbers: {numbers}")
    expect(any(one["event"] == "driver" for one in said), "EAL said nothing")
    for one in said:
        expect(one["level"] in ("error", "warning", "info", "debug"), one)
        expect(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", one["time"]), one)


def ctl(weir, *words):
    """weirctl at that limiter."""
    return subprocess.run([WEIRCTL, "-s", weir.socket, *words], capture_output=True, text=True,
                          check=False, timeout=box.PATIENCE_S)


def sending(scene):
    """A peer that no route leads to is named once; and when there is one, that it is over."""
    box.ip("addr add 198.51.100.1/32 dev lo")
    roster = [{"name": "box1", "address": f"198.51.100.1:{PORT}"},
              {"name": "other", "address": f"203.0.113.7:{PEERS_PORT}"}]
    weir = scene.box(box.wire("net_ring0", "net_ring1", log={"format": "json", "level": "info"},
                              gossip=GOSSIP | {"roster": roster}, policies=policies(TOTAL)[1:]),
                     "box1").start()
    said = Said(weir, "json")
    said.once("gossip_send_failed", "gossip to other: Network is unreachable")
    failed = weir.get("/weir/gossip")["send_errors"]
    wait_until(lambda: weir.get("/weir/gossip")["send_errors"] > failed + 20, "errors")
    expect(said.count("gossip_sends", "") == 0, "it is over before it is")
    box.ip("route add 203.0.113.7/32 dev lo")
    said.once("gossip_sends", "for 5 s all datagrams could be sent")
    expect(said.count("gossip_send_failed", "") == 1, "each of them is said")
    order = [one["event"] for one in objects(weir) if one["event"].startswith("gossip_send")]
    expect(order == ["gossip_send_failed", "gossip_sends"], order)
    weir.stop()


def who_asks(scene):
    """Reloads say who wanted them and what came of it; levels change at once; nobody else may."""
    with limiter(scene, "text") as (weir, _, _):
        said = Said(weir, "text")
        weir.process.send_signal(signal.SIGHUP)
        said.once("reload_asked", "SIGHUP: reload started, asked for by uid 0")
        said.once("reload_done", "asked for by root (uid 0)")
        weir.config["policies"][-1]["limit"] = "12 parsecs"
        weir.write()
        weir.get("/weir/reload")
        said.once("reload_refused", "refused; nothing has changed; it was asked for by root")
        expect(said.count("reload_error", "12 parsecs") == 1, "not once why")
        done = ctl(weir, "log", "error")
        expect(done.returncode == 0 and "error" in done.stdout, done.stderr)
        subprocess.run(["ip", "link", "set", "dev", "ta", "down"], check=True)
        wait_until(lambda: weir.get("/weir/ports")[0]["link"] == "DOWN", "the link to be down")
        time.sleep(0.5)
        expect(said.count("link_down", "link down") == 0, "a warning at level error")
        expect(ctl(weir, "log", "loud").returncode == 2, "an unknown level is taken")
        expect(ctl(weir, "log", "info").returncode == 0, "the level is not set back")
        said.once("log_changed", "log: level info, format text, by uid 0")
        events = ctl(weir, "events", "--wide")
        expect(events.returncode == 0 and "reload_" not in events.stdout, events.stderr)
        expect("0.1.0: limiter box1" in events.stdout and "12 parsecs" in events.stdout,
               events.stdout)
        with subprocess.Popen([WEIRCTL, "-s", weir.socket, "--json", "events", "--follow"],
                              stdout=subprocess.PIPE, text=True) as follower:
            subprocess.run(["ip", "link", "set", "dev", "ta", "up"], check=True)
            for line in follower.stdout:
                if json.loads(line)["event"] == "link_up" and json.loads(line)["number"] > 20:
                    break
            follower.terminate()
        weir.stop()


def each_line_once(scene):
    """Nothing goes to syslog beside standard error; under journald each line has its priority."""
    if os.path.lexists("/dev/log"):
        raise box.Skip("somebody has /dev/log")
    weir = scene.box(box.wire("net_ring0", "net_ring1"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as syslog, \
            open(weir.log_path, "ab") as log:
        syslog.bind("/dev/log")
        try:
            stat = os.fstat(log.fileno())
            weir.environment["JOURNAL_STREAM"] = f"{stat.st_dev}:{stat.st_ino}"
            weir.start()
            weir.hang_up()
            weir.process.send_signal(signal.SIGTERM)
            expect(weir.wait() == 0, "it did not end well")
            syslog.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                expect(False, f"syslog got {syslog.recv(4096)!r}")
        finally:
            os.unlink("/dev/log")
    lines = weir.log().splitlines()
    expect(len(lines) > 3 and all(re.match("<[3467]>", line) for line in lines), lines)
    expect(len([line for line in lines if "limiter box1 of 1" in line]) == 1, lines)


if __name__ == "__main__":
    box.main([as_text, as_json, a_total, sending, who_asks, each_line_once], setup=box.enter_netns)

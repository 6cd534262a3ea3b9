#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A worker or the reader of the log stalls. The other workers continue, and the log reports it.

Runs in a network namespace of its own. Usage: stuck.py [SCENARIO...].
"""

import contextlib
import fcntl
import itertools
import json
import os
import signal
import struct
import subprocess
import time

import box
import threads
from box import expect, wait_until
from lifecycle import cable, raw, udp_frame

FLOWS = 64
RATE_S = 0.002  # seconds between two packets of the wire, so that a ring of 1,024 has room for all
POLICIES = {"policies": [{"name": "udp", "match": {"direction": "a-to-b"}, "limit": "1Gbit/s"}]}
SECOND = 1  # the worker without a queue of its own, which gets packets from the first
BY_FAR_MS = 250  # ms; after 200 its flows move to the other worker, also slow ones
END_S = 10  # most seconds of an end that usually takes 2
BPS = 2e6  # a limit that is easily exceeded
BULK = 1000  # bytes of a frame that exceeds it
ROSTER = [{"name": "box1", "address": "127.0.0.1:17946"},
          {"name": "other", "address": "127.0.0.1:17947"}]
BUSY = {"idle": "poll"}  # no worker sleeps at the time of the planned stall
LONG_PATH = ["d" * 250] * 6  # for a configuration: a line with its path has 3 kB
WARNINGS = 20  # the most of a reload that are logged
RELOADS_MOST = 200
GOSSIP = {"gossip": {"roster": ROSTER, "timeout": "500ms", "insecure": True}}


@contextlib.contextmanager
def shared_wire(scene, policies=None, **more):
    """Creates two workers with one queue; returns them and the ends of the wire."""
    config = box.wire("net_af_packet0,iface=a", "net_af_packet1,iface=b", 1500,
                      **(policies or POLICIES), workers=[0, 1], **more)
    config["wires"][0]["distribute"] = True
    try:
        cable("ta", "a")
        cable("tb", "b")
        weir = scene.box(config).start()
        with raw("ta") as ta, raw("tb") as tb:
            yield weir, ta, tb
    finally:
        for one in scene.boxes:
            one.kill()
        for name in ("ta", "tb"):
            subprocess.run(["ip", "link", "del", "dev", name], capture_output=True, check=False)


def send(ta, serials):
    """Sends a packet of each flow for each serial number, at a steady rate."""
    for serial in serials:
        for sport in range(1000, 1000 + FLOWS):
            ta.send(udp_frame(sport, serial))
            time.sleep(RATE_S / 4)


def take(tb, patience=1):
    """Returns (port, serial) of all packets until no more arrive."""
    got = []
    tb.settimeout(patience)
    with contextlib.suppress(TimeoutError):
        while True:
            frame = tb.recv(65536)
            if frame[12:14] == b"\x08\x00":
                sport, _, _, _, serial = struct.unpack(">HHHHI", frame[34:46])
                got.append((sport, serial))
    return got


def stalled(weir):
    """Returns the telemetry of the second worker."""
    return weir.get("/weir/workers")[SECOND]


def a_worker(scene):
    """Telemetry shows the stall, the flows go to the other worker, and no packet is lost."""
    with shared_wire(scene) as (weir, ta, tb):
        send(ta, range(2))
        before = take(tb)
        expect(len(before) == 2 * FLOWS, f"{len(before)} of {2 * FLOWS} before")
        tid = threads.worker(weir.process.pid, SECOND)
        with threads.standing(tid):
            began = time.monotonic()
            wait_until(lambda: stalled(weir)["stuck"], "the stall is not seen")
            seen = time.monotonic() - began
            wait_until(lambda: stalled(weir)["stuck_ms"] > BY_FAR_MS, "time does not go on")
            send(ta, range(2, 7))
            during = take(tb)
            health = weir.get("/weir/health")["alarms"]
            rerouted = weir.total("rerouted_packets")
        wait_until(lambda: not stalled(weir)["stuck"], "the end of the stall is not seen")
        send(ta, range(7, 9))
        after = take(tb)
        expect(health and "worker 1" in health[0], f"alarms: {health}")
        expect(len(set(during)) == 5 * FLOWS, f"{len(during)} of {5 * FLOWS} while it stood")
        expect(len(set(during + after)) == 7 * FLOWS, "packets are missing after that")
        expect(0 < rerouted < 5 * FLOWS, f"{rerouted} rerouted")
        expect("stalled: " in weir.log() and "runs again" in weir.log(), "the log is silent")
        expect(stalled(weir)["stalls"] >= 1 and stalled(weir)["longest_stall_ms"] > 100,
               stalled(weir))
        weir.stop()
    return f"seen after {seen * 1000:.0f} ms, {rerouted} of {5 * FLOWS} rerouted, none lost"


def limited(bps):
    """Returns one policy that both workers share."""
    return {"policies": [{"name": "udp", "match": {"direction": "a-to-b"}, "burst": "20kB",
                          "limit": f"{bps:.0f}bit/s"}]}


def bulk(sport):
    """Returns a large frame of the flow from that port."""
    frame = bytearray(udp_frame(sport, 0).ljust(BULK, b"\0"))
    frame[16:18] = struct.pack(">H", BULK - 14)
    frame[38:40] = struct.pack(">H", BULK - 34)
    return bytes(frame)


def rate(weir, ta):
    """Returns the passed bits a second, while all flows send twice the limit."""
    def passed():
        return weir.get("/weir/policy,udp")["passed"]["bytes"]
    before, began = passed(), time.monotonic()
    for i in range(20):
        for k in range(16):
            ta.send(bulk(1000 + (16 * i + k) % FLOWS))
        time.sleep(0.025)
    return (passed() - before) * 8 / (time.monotonic() - began)


@contextlib.contextmanager
def stuck_by_far(weir):
    """Stalls the second worker to the end of the context, and waits until its flows have moved."""
    with threads.standing(threads.worker(weir.process.pid, SECOND)):
        wait_until(lambda: stalled(weir)["stuck_ms"] > BY_FAR_MS, "the stall is not seen")
        yield
    wait_until(lambda: not stalled(weir)["stuck"], "the end of the stall is not seen")


def limits_of_the_others(scene):
    """The share of this limiter goes down and up, and the running worker follows."""
    with shared_wire(scene, limited(BPS), **BUSY, **GOSSIP) as (weir, ta, _):
        other = scene.box(box.wire("net_ring0", "net_ring1") | limited(BPS) | GOSSIP, "other")
        other.start()
        wait_until(lambda: rate(weir, ta) > 0.8 * BPS, "an idle peer leaves less than the limit")
        with stuck_by_far(weir):
            for _ in range(2):
                other.kill()
                wait_until(lambda: rate(weir, ta) < 0.65 * BPS, "the limit does not go down")
                other.start()
                wait_until(lambda: rate(weir, ta) > 0.8 * BPS, "the limit does not go up")
        weir.stop()


def a_reload(scene):
    """New limits are in force immediately. The log and the next reload name the stalled worker."""
    with shared_wire(scene, limited(BPS), **BUSY) as (weir, ta, _):
        def reload_to(bps):
            weir.config |= limited(bps)
            weir.write()
            return weir.get("/weir/reload")

        def config():
            return weir.get("/weir/config")
        wait_until(lambda: 0.8 * BPS < rate(weir, ta), "the limit is not reached")
        with stuck_by_far(weir):
            reload_to(BPS / 2)
            wait_until(lambda: config()["reload"] == "finishing", "it does not come into force")
            wait_until(lambda: config()["reload_waits_for"] == "worker 1 (CPU 1)", config)
            wait_until(lambda: rate(weir, ta) < 0.65 * BPS, "the limit does not go down")
            answer = reload_to(BPS / 4)
            expect(answer == {"reload": "queued", "waits_for": "worker 1 (CPU 1)"}, answer)
            weir.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "SIGHUP: reload queued until worker 1" in weir.log(), "no word")
            wait_until(lambda: "until worker 1" in str(weir.get("/weir/health")["alarms"]),
                       "there is no alarm")
            expect("worker 1 (CPU 1) is stalled" in weir.log(), "the log is silent")
        wait_until(lambda: config()["reload"] == "idle" and rate(weir, ta) < 0.4 * BPS,
                   "the one that was queued does not come")
        expect(config()["reload_waits_for"] is None, config())
        weir.stop()


def end_without(scene, worker):
    """Sends SIGTERM during a stall of this worker. Returns the time of the end in seconds."""
    with shared_wire(scene) as (weir, _, _):
        tid = threads.worker(weir.process.pid, worker)
        with threads.standing(tid):
            wait_until(lambda: weir.get("/weir/workers")[worker]["stuck"],
                       "the stall is not seen")
            weir.hang_up()
            began = time.monotonic()
            weir.process.send_signal(signal.SIGTERM)
            status = threads.wait_for(weir.process, tid, END_S)
            took = time.monotonic() - began
        expect(status == 1, f"exit status {status}")
        log = weir.log()
        expect(f"worker {worker} " in log and "does not end" in log, "the log does not say why")
        expect(log.count("does not end") == 1, "the log speaks of the other worker, too")
        expect(not os.path.lexists(weir.socket), "the socket is still there")
    return took


def the_end(scene):
    """SIGTERM during a stall of either worker ends the process soon, with an error."""
    return ", ".join(f"{end_without(scene, worker):.2f} s" for worker in (0, SECOND))


def the_watchdog(scene):
    """control.watchdog ends the process with an event, and the next one starts."""
    with shared_wire(scene, control={"watchdog": "500ms"}) as (weir, _, _):
        tid = threads.worker(weir.process.pid, SECOND)
        with threads.standing(tid):
            weir.hang_up()
            status = threads.wait_for(weir.process, tid, END_S)
        expect(status == -signal.SIGABRT, f"exit status {status}")
        expect("longer than control.watchdog" in weir.log(), "the log does not say why")
        weir.start()
        weir.stop()


def full_pipe():
    """Returns a pipe of one page without room: its end for a reader, and its end for the log."""
    ours, theirs = os.pipe()
    size = fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, os.sysconf("SC_PAGE_SIZE"))
    os.write(theirs, b" " * (size - 1) + b"\n")
    return ours, theirs


def warn_until_lost(weir):
    """Each reload ends the long warnings of the previous one and begins others. Within one window
    of the rate limits, both kinds together are larger than the log's ring.
    """
    for i in itertools.count():
        weir.config["policies"] = [
            {"name": f"p{i}-{k}", "match": {"direction": "a-to-b", "vlan": k + 1},
             "limit": "1Mbit/s", "burst": "64B"} for k in range(WARNINGS)]
        weir.write()
        weir.get("/weir/reload")
        wait_until(lambda: weir.get("/weir/config")["reload"] == "idle", "a reload does not end")
        expect(i < RELOADS_MOST, "no line is lost")
        if weir.get("/weir/health")["log_lines_lost"] > 0:
            break


def who_reads_the_log(scene):
    """The limiter continues although its log has no reader. The log states the exact loss."""
    weir = scene.box(box.wire("net_ring0", "net_ring1") | {"log": {"format": "json"}})
    weir.config_path = os.path.join(scene.directory, *LONG_PATH, "box.json")
    os.makedirs(os.path.dirname(weir.config_path))
    weir.write()
    ours, theirs = full_pipe()
    weir.process = subprocess.Popen([box.WEIR, "-c", weir.config_path], stderr=theirs,
                                    stdin=subprocess.DEVNULL, cwd=weir.directory,
                                    preexec_fn=box.die_with_parent)
    os.close(theirs)
    weir.await_answer()
    warn_until_lost(weir)
    with os.fdopen(ours, encoding="utf-8") as log:
        log.readline()  # the bytes that filled the pipe
        lines = []
        while not lines or lines[-1]["event"] != "lines_lost":
            lines.append(json.loads(log.readline()))
        lost = weir.get("/weir/health")["log_lines_lost"]
        weir.hang_up()
        weir.process.send_signal(signal.SIGTERM)
        lines += [json.loads(line) for line in log]
    expect(weir.wait() == 0 and "stopped" in (line["event"] for line in lines), lines[-5:])
    said = [line["lines"] for line in lines if line["event"] == "lines_lost"]
    numbers = {line["number"] for line in lines if "number" in line}
    expect(said == [lost] and max(numbers) - len(numbers) == lost,
           f"{lost} lines lost, said {said}, missing {max(numbers) - len(numbers)}")
    return f"{lost} of {max(numbers)} lines lost"


if __name__ == "__main__":
    box.main([a_worker, limits_of_the_others, a_reload, the_end, the_watchdog, who_reads_the_log],
             setup=box.enter_netns)

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Each fault of a live limiter has one event at its start and one at its end, as text and as JSON.
The wire has a link that fails, drops in all places and a stalled worker. The group has rejected
datagrams, a missing peer, another key and a forger. The other faults are a quota, reloads, a full
disk and a stall of control.

Runs in a network namespace and a mount namespace of its own. Usage: events.py [SCENARIO...].
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
from group_keys import box_hash as name_hash
from lifecycle import cable, raw, udp_frame

WEIRCTL = os.path.join(box.BUILD, "app", "weirctl", "weirctl")
PORT, PEERS_PORT = 17948, 17949
ROSTER = [{"name": "box1", "address": f"127.0.0.1:{PORT}"},
          {"name": "other", "address": f"127.0.0.1:{PEERS_PORT}"}]
GOSSIP = {"roster": ROSTER, "timeout": "500ms", "insecure": True}
LATE_S = 2  # twice the stall that causes an event
TOTAL = 4000000  # bytes
BULK = 1400  # bytes of a frame
CLOCK = os.path.join(box.BUILD, "test", "net", "libshifted_clock.so")
MINUTE_S, LEFT_S = 60, 8  # the shortest period, and its rest at the start
KEY, OTHER_KEY = "5a" * 32, "a5" * 32
DISK = 1 << 20  # bytes of the disk
FIRST, MORE = 3000, 400  # ports, each with its own quota
FLOOD_SEND = os.path.join(box.BUILD, "test", "net", "flood_send")
REFUSED = 50  # frames that a device rejects
OVERFLOW = 20000  # long frames, more than a queue of the kernel holds
CUT = 200  # bytes by which the header of a frame exceeds it


def policies(total, **more):
    """Returns one policy with a quota for the frames of a flow, and one for all others."""
    return [{"name": "prepaid", "match": {"direction": "a-to-b", "proto": "udp", "src-port": 1001},
             "allocator": "quota", "total": f"{total}B"} | more,
            {"name": "rest", "match": {"direction": "a-to-b"}, "limit": "1Gbit/s"}]


@contextlib.contextmanager
def limiter(scene, log_format, group=True, store="store", arguments=(),
            environment=(), idle="sleep", **total):
    """Creates a limiter with two workers and one queue, and the wire's ends. Without a group it has
    a quota."""
    more = {"gossip": GOSSIP} if group else {"ledger": {"store": scene.path(store)}}
    config = box.wire("net_af_packet0,iface=a", "net_af_packet1,iface=b", 1500, workers=[0, 1],
                      idle=idle, policies=policies(TOTAL, **total)[group:],
                      log={"format": log_format, "level": "info"}, **more)
    config["wires"][0]["distribute"] = True
    weir = scene.box(config, "box1")
    weir.arguments = list(arguments)
    weir.environment |= dict(environment)
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
    """Returns all lines of the log, each of which must be an object."""
    return [json.loads(line) for line in weir.log().splitlines()]


class Said:
    """The events of a limiter, in either format."""

    def __init__(self, weir, log_format):
        self.weir, self.json = weir, log_format == "json"

    def count(self, event, words):
        """Returns the number of lines of that event with these words."""
        if self.json:
            return sum(one["event"] == event and words in one["text"] for one in objects(self.weir))
        return sum(line.startswith("weir: ") and words in line
                   for line in self.weir.log().splitlines())

    def once(self, event, words):
        """Waits for one such line and expects no second one."""
        wait_until(lambda: self.count(event, words), f"{event}: {words}")
        expect(self.count(event, words) == 1, f"{event}: {words}: {self.count(event, words)} times")


def truncated(serial):
    """Returns a frame that is shorter than its IP header states."""
    frame = bytearray(udp_frame(2000, serial))
    struct.pack_into(">H", frame, 16, len(frame) - 14 + CUT)
    return bytes(frame)


def strange_datagrams():
    """Sends datagrams that are not gossip from the address of a peer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.bind(("127.0.0.1", PEERS_PORT))
        for i in range(20):
            peer.sendto(bytes([i]) * (30 + i), ("127.0.0.1", PORT))


def bulk(serial):
    """Returns a long frame of the prepaid flow."""
    frame = bytearray(udp_frame(1001, serial))
    struct.pack_into(">H", frame, 16, BULK - 14)
    struct.pack_into(">H", frame, 38, BULK - 34)
    return bytes(frame) + bytes(BULK - len(frame))


def spending(ta, said, event):
    """Returns a function that sends some of the flow and returns the number of such events."""
    def send_some():
        for serial in range(50):
            ta.send(bulk(serial))
        return said.count(event, "policy prepaid")
    return send_some


def shifted_clock(scene):
    """Returns the environment of a limiter whose wall clock soon begins another minute."""
    shift = MINUTE_S - LEFT_S - int(time.time()) % MINUTE_S
    with open(scene.path("clock"), "wb") as file:
        file.write(struct.pack("=qq", shift, False))
    return {"LD_PRELOAD": CLOCK, "WEIR_SHIFT_FILE": scene.path("clock")}


def another_period(scene):
    """A spent quota is available again in the next period, and events report both."""
    if not os.path.exists(CLOCK):
        raise box.Skip(f"{CLOCK} is not built")
    with limiter(scene, "json", group=False, environment=shifted_clock(scene),
                 period="1min") as (weir, ta, _):
        said = Said(weir, "json")
        wait_until(spending(ta, said, "total_spent"), "the line at 100 %")
        wait_until(lambda: said.count("total_back", "policy prepaid"), "another period",
                   MINUTE_S + box.PATIENCE_S)
        order = [one["event"] for one in objects(weir)
                 if one["event"] in ("total_near", "total_spent", "total_back")]
        expect(order[-3:] == ["total_near", "total_spent", "total_back"], str(order))
        expect(said.count("period_begins", "policy prepaid: period ") >= 1, "no period begins")
        weir.stop()


def a_total(scene):
    """Events report 90 % of the quota, its end, and a larger quota."""
    with limiter(scene, "json", group=False) as (weir, ta, _):
        said = Said(weir, "json")
        wait_until(spending(ta, said, "total_near"), "the line at 90 %")
        expect(said.count("total_spent", "") == 0, "it is not spent yet")
        wait_until(spending(ta, said, "total_spent"), "the line at 100 %")
        weir.config["policies"] = policies(100 * TOTAL)
        weir.write()
        weir.get("/weir/reload")
        said.once("total_back", "policy prepaid")
        for event in ("total_near", "total_spent"):
            said.once(event, "policy prepaid")
        weir.stop()


def begin_troubles(weir, ta, said):
    """Begins each fault and expects one event."""
    said.once("peer_differs", "peer other: differs: no gossip")
    for serial in range(50):
        ta.send(truncated(serial))
    said.once("packets_lost", "drops started: reason=truncated")
    strange_datagrams()
    said.once("datagrams_refused", "datagrams rejected: ")
    worker = threads.called(weir.process.pid, r"lcore-worker-2|rte-worker-2")
    with threads.standing(worker):
        said.once("worker_stuck", "worker 1 (CPU 1) stalled")
    subprocess.run(["ip", "link", "set", "dev", "ta", "down"], check=True)
    said.once("link_down", "port a: link down")


def end_troubles(weir, said):
    """Ends the faults, or waits for their end."""
    subprocess.run(["ip", "link", "set", "dev", "ta", "up"], check=True)
    wait_until(lambda: said.count("link_up", "port a: link up") == 2, "the link's end")
    said.once("worker_came_round", "worker 1 (CPU 1) runs again")
    weir.get("/weir/reload")
    said.once("reload_done", "requested by root (uid 0)")
    if not said.json:  # these faults end after some seconds
        return
    said.once("packets_not_lost", "drops stopped: reason=truncated lost=50 ")
    said.once("datagrams_quiet", "no datagram rejected for 10 s; before that 20: ")


def story(scene, log_format):
    """All faults in one format."""
    # Polling, so that no worker sleeps at the time of the planned stall.
    with limiter(scene, log_format, idle="poll") as (weir, ta, _):
        said = Said(weir, log_format)
        begin_troubles(weir, ta, said)
        end_troubles(weir, said)
        for event, words in (("packets_lost", "drops started: reason=truncated"),
                             ("datagrams_refused", "datagrams rejected: "),
                             ("link_down", "port a: link down")):
            expect(said.count(event, words) == 1, f"{event}: {words}: not once")
        weir.stop()
        return weir


def as_text(scene):
    """Lines of text have no priority without journald."""
    weir = story(scene, "text")
    expect(not re.search("^<[0-9]>", weir.log(), re.M), "a priority without journald")


def as_json(scene):
    """Every line is an object with its own number, also the lines of EAL."""
    weir = story(scene, "json")
    said = objects(weir)
    numbers = [one["number"] for one in said if "number" in one]
    expect(numbers == list(range(1, len(said) + 1)), f"numbers: {numbers}")
    expect(any(one["event"] == "driver" for one in said), "EAL said nothing")
    for one in said:
        expect(one["level"] in ("error", "warning", "info", "debug"), one)
        expect(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", one["time"]), one)


def ctl(weir, *words):
    """Runs weirctl with that limiter."""
    return subprocess.run([WEIRCTL, "-s", weir.socket, *words], capture_output=True, text=True,
                          check=False, timeout=box.PATIENCE_S)


def sending(scene):
    """One event names a peer without a route, and one reports that the route exists."""
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
    said.once("gossip_sends", "no send error for 5 s")
    expect(said.count("gossip_send_failed", "") == 1, "each of them is said")
    order = [one["event"] for one in objects(weir) if one["event"].startswith("gossip_send")]
    expect(order == ["gossip_send_failed", "gossip_sends"], order)
    weir.stop()


def refusing(scene):
    """A device rejects packets, until no more arrive."""
    memif = f"net_memif0,role=server,socket={scene.path('memif.sock')},socket-abstract=no"
    weir = scene.box(box.wire("net_af_packet0,iface=a", memif, 1500, policies=policies(TOTAL)[1:],
                              log={"format": "json", "level": "info"}), "box1")
    try:
        cable("ta", "a")
        weir.start()
        said = Said(weir, "json")
        with raw("ta") as ta:
            for serial in range(REFUSED):
                ta.send(udp_frame(2000, serial))
        said.once("packets_lost", "drops started: reason=tx_full")
        said.once("packets_not_lost", f"drops stopped: reason=tx_full lost={REFUSED} ")
        said.once("packets_lost", "drops started: reason=tx_full")
        weir.stop()
    finally:
        weir.kill()
        subprocess.run(["ip", "link", "del", "dev", "ta"], capture_output=True, check=False)


def missing(scene):
    """Packets arrive at an interface with a full queue, until no more arrive."""
    weir = scene.box(box.wire("net_pcap0,iface=a", "net_null0", 1500, policies=policies(TOTAL)[1:],
                              log={"format": "json", "level": "info"}), "box1")
    try:
        cable("ta", "a")
        weir.start()
        said = Said(weir, "json")
        weir.process.send_signal(signal.SIGSTOP)
        with raw("ta") as ta:
            for serial in range(OVERFLOW):
                ta.send(bulk(serial))
        weir.process.send_signal(signal.SIGCONT)
        said.once("packets_lost", "drops started: reason=rx_missed of port a")
        said.once("packets_not_lost", "drops stopped: reason=rx_missed of port a")
        missed = weir.get("/ethdev/stats,0")["imissed"]
        ended = [one for one in objects(weir) if one["event"] == "packets_not_lost"]
        expect([one["packets"] for one in ended] == [missed], f"{missed} missed, said: {ended}")
        weir.stop()
    finally:
        weir.kill()
        subprocess.run(["ip", "link", "del", "dev", "ta"], capture_output=True, check=False)


def write_key(scene, name, text):
    """Writes a key file; returns its path."""
    path = scene.path(name)
    with open(path, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as file:
        file.write(text)
    return path


def other_key(scene):
    """Events name a peer with another key, and an attacker who forges datagrams of a peer."""
    roster = [{"name": f"box{i + 1}", "address": f"127.0.0.{i + 1}:{PORT}"} for i in range(2)]
    weirs = [scene.box(box.wire(f"net_ring{2 * i}", f"net_ring{2 * i + 1}",
                                log={"format": "json"}, policies=policies(TOTAL)[1:],
                                gossip={"roster": roster, "timeout": "500ms",
                                        "key_file": write_key(scene, f"key{i}", text)}),
                       f"box{i + 1}").start() for i, text in enumerate((KEY, OTHER_KEY))]
    for i, weir in enumerate(weirs):
        said = Said(weir, "json")
        said.once("datagrams_refused", "datagrams rejected: no_key ")
        said.once("peer_differs", f"peer box{2 - i}: differs: ")
    said = Said(weirs[0], "json")
    weirs[1].stop()
    said.once("datagrams_quiet", "no_key ")
    key = weirs[0].get("/weir/peers")["keys"][0]
    subprocess.run([FLOOD_SEND, "127.0.0.2", "127.0.0.1", str(PORT), "500", "0.2", "96",
                    f"{name_hash('box2'):x}", key], check=True, stdout=subprocess.DEVNULL)
    said.once("datagrams_refused", "datagrams rejected: forged ")
    weirs[0].stop()


@contextlib.contextmanager
def small_disk(scene):
    """Mounts a small disk with a file that fills it to the last block."""
    where = scene.path("disk")
    os.mkdir(where)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=755", "weir-test", where],
                   check=True)

    @contextlib.contextmanager
    def full():
        ballast = os.path.join(where, "ballast")
        with open(ballast, "wb", buffering=0) as file:
            with contextlib.suppress(OSError):
                while file.write(bytes(4096)):
                    pass
        yield
        os.unlink(ballast)
    try:
        yield full
    finally:
        for one in scene.boxes:
            one.kill()
        subprocess.run(["umount", where], check=True)


def more_totals():
    """Returns a quota for each of many ports. The ledger overwrites their records in place."""
    return [{"name": f"more{port}", "allocator": "quota", "total": "1MB",
             "match": {"direction": "a-to-b", "proto": "udp", "src-port": port}}
            for port in range(FIRST, FIRST + MORE)]


def full_disk(scene):
    """Events report once that the ledger and changes cannot be saved, and once that they can."""
    with small_disk(scene) as full:
        with limiter(scene, "json", group=False, store="disk/store",
                     arguments=["--state", scene.path("disk/state")]) as (weir, ta, _):
            said = Said(weir, "json")
            wait_until(lambda: weir.get("/weir/change")["last"], "what the start has kept")
            with full():
                weir.config["policies"] = more_totals() + weir.config["policies"]
                weir.write()
                weir.get("/weir/reload")
                said.once("change_not_kept", "No space left on device")
                for serial in range(MORE):
                    ta.send(udp_frame(FIRST + serial, serial))
                said.once("ledger_not_saved", "cannot be saved: ")
                expect(said.count("change_kept", "") == 0, "it is kept before it is")
            said.once("ledger_saved", "saved again")
            weir.config["policies"][-1]["limit"] = "4Mbit/s"
            weir.write()
            weir.get("/weir/reload")
            said.once("change_kept", "are recorded again")
            for event in ("ledger_not_saved", "change_not_kept"):
                expect(said.count(event, "") == 1, f"{event}: {said.count(event, '')} times")
            weir.stop()


def late(scene):
    """Control reports its own stall afterwards."""
    weir = scene.box(box.wire("net_ring0", "net_ring1", log={"format": "json", "level": "info"},
                              policies=policies(TOTAL)[1:]), "box1").start()
    with threads.standing(weir.process.pid):
        time.sleep(LATE_S)
    Said(weir, "json").once("control_late", "control stalled for ")
    weir.stop()


def who_asks(scene):
    """Events name the client and the result of a reload. A new log level applies immediately."""
    with limiter(scene, "text") as (weir, _, _):
        said = Said(weir, "text")
        weir.process.send_signal(signal.SIGHUP)
        said.once("reload_asked", "SIGHUP: reload started, requested by uid 0")
        said.once("reload_done", "requested by root (uid 0)")
        weir.config["policies"][-1]["limit"] = "12 parsecs"
        weir.write()
        weir.get("/weir/reload")
        said.once("reload_refused", "refused; nothing has changed; requested by root")
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


def follow_once(scene):
    """A follower prints each event once, also if an answer is late; a new process begins at 1."""
    with limiter(scene, "text") as (weir, _, _):
        with subprocess.Popen([WEIRCTL, "-s", weir.socket, "--timeout", "0.3", "--json", "events",
                               "--follow"], stdout=subprocess.PIPE, text=True) as follower:
            def until(event):
                """Returns the numbers of the printed events, up to one of this kind."""
                numbers = []
                for line in follower.stdout:
                    numbers.append(json.loads(line)["number"])
                    if json.loads(line)["event"] == event:
                        break
                return numbers

            first = until("started")
            weir.process.send_signal(signal.SIGSTOP)
            time.sleep(1.5)
            weir.process.send_signal(signal.SIGCONT)
            ctl(weir, "log", "debug")
            first += until("log_changed")
            expect(first == list(range(first[0], first[0] + len(first))), first)
            weir.stop()
            weir.start()
            again = until("started")
            begins = again.index(1)
            expect(again[:begins] == list(range(first[-1] + 1, first[-1] + 1 + begins)), again)
            expect(again[begins:] == list(range(1, 1 + len(again) - begins)), again)
            follower.terminate()


def each_line_once(scene):
    """The log goes only to standard error. With journald each line has its priority."""
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


def enter_namespaces():
    """Mounts and devices vanish with the last process of their namespace."""
    box.enter_netns()
    clone_newns = 0x20000
    if box.LIBC.unshare(clone_newns):
        raise box.Skip("no mount namespaces")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


if __name__ == "__main__":
    box.main([as_text, as_json, a_total, another_period, sending, refusing, missing, other_key,
              full_disk, late, who_asks, follow_once, each_line_once], setup=enter_namespaces)

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks of a pair of cards. Each gets the lab, its Weir and the pair, and returns a summary."""

import re
import struct
import threading
import time

import traffic
from box import PATIENCE_S, Skip, expect, wait_until
from weir import LIMIT, START


def near_the_limit(rate, tolerance):
    """Prints how near the value is, and fails beyond the limit."""
    expect(abs(rate / LIMIT - 1) < tolerance, f"{rate / LIMIT:.3f} of the limit")
    return f"{rate / LIMIT:.3f} of the limit"


# Checks of a pair that a running Weir joins.

def ping(lab, _, pair):
    """ARP and neighbour discovery work, and then IP packets."""
    traffic.answers(lab.near, pair.far)
    traffic.answers(lab.near, pair.far6)


def frames(lab, weir, pair):
    """Frames of every kind cross unchanged both ways. A policy for a VLAN counts its packets."""
    kinds = traffic.every_kind()
    before = weir.judged(f"{pair.kind}-tag")[0]
    with lab.mtu(pair, 1508):  # two tags on a full frame
        for side, other in ((lab.near, lab.far), (lab.far, lab.near)):
            lost = traffic.cross(side, other, pair.tap, kinds)
            expect(not lost, f"lost or changed: {lost}")
    seen = weir.judged(f"{pair.kind}-tag")[0] - before
    expect(seen == 1, f"{seen} packets of VLAN 7 seen, of 1")
    return f"{len(kinds)} kinds"


def limit(lab, weir, pair, seconds=4, size=1000):
    """UDP at twice its limit gets the limit, and each packet is counted."""
    name = f"{pair.kind}-four"
    before, dropped = weir.judged(name), lab.near.dropped(pair.tap)
    gap, sent = size * 8 / LIMIT / 2, 0
    with traffic.udp(lab.near, pair.near) as out, traffic.udp(lab.far, pair.far, 4000) as into, \
            traffic.Arrivals(into) as there:
        began = time.monotonic()
        while time.monotonic() < began + seconds + 1:  # the first packets pass with the burst
            while sent * gap < time.monotonic() - began:
                out.sendto(struct.pack("!I", sent) + bytes(size - 32), (pair.far, 4000))
                sent += 1
            time.sleep(0.002)
        lost = lab.near.dropped(pair.tap) - dropped  # at most this number of packets
        counts = []

        def counted():
            counts[:] = [now - then for now, then in zip(weir.judged(name), before)]
            return sum(counts) >= sent - lost
        wait_until(counted, lambda: f"of {sent} packets {lost} lost before, passed, dropped: "
                   f"{counts}; {weir.get('drops')}")
        if lost:
            time.sleep(0.5)
            counted()
        wait_until(lambda: len(there.found) >= counts[0],
                   lambda: f"passed {counts[0]}, arrived {len(there.found)}")
        got = there.found
    expect(sent - lost <= sum(counts) <= sent and counts[0] == len(got),
           f"sent {sent}, passed {counts[0]}, dropped {counts[1]}, arrived {len(got)}")
    times = [when for when, _ in got if when > got[0][0] + 1]
    expect(len(times) > 1, f"of {sent} sent {len(got)} arrived in {got[-1][0] - got[0][0]:.1f} s")
    words = near_the_limit((len(times) - 1) * size * 8 / (times[-1] - times[0]), 0.02)
    return f"{words}, {sent} = {counts[0]} + {counts[1]}"


def link(lab, weir, pair):
    """Weir detects a pulled cable and its return. Then packets cross again."""
    for end, name in enumerate(pair.ports):
        for plugged, word in ((False, "DOWN"), (True, "UP")):
            lab.cable(pair, end, plugged)
            wait_until(lambda n=name, w=word: weir.port(n)["link"] == w,
                       lambda n=name: f"{n} is {weir.port(n)['link']}")
    traffic.answers(lab.near, pair.far)


def shared(lab, weir, pair, number=256, each=4):
    """All workers receive packets of many flows, or an event names the only queue that receives
    them."""
    before = weir.received()
    traffic.flows(lab, pair, number, each)

    def seen():
        return [now - then for now, then in zip(weir.received(), before)]
    wait_until(lambda: sum(seen()) >= number * each, lambda: f"workers have seen {seen()}")
    port = weir.port(pair.ports[0])
    words = f"workers saw {seen()} by {port['queues_used']} of {port['queues']} queues"
    if port["queues"] == 1 or min(seen()) > 0:
        expect(min(seen()) > 0, words)
        return words
    expect(port["queues_used"] == 1, words)
    said = f"port {port['name']}: many flows come, and all by 1 of its {port['queues']} queues"
    wait_until(lambda: said in weir.log(), lambda: f"not said, {words}: {weir.log()}")
    return words + ", which is said"


def stop(lab, weir, pair):
    """All buffers are returned after a stop under traffic."""
    with traffic.Flood(lab, pair):
        time.sleep(0.5)
        return f"{weir.stop():.1f} s"


# Longer checks, or checks with their own Weir, for a pair with its own guest.

def tcp(lab, weir, pair):
    """TCP flows get their limits, and no checksum is wrong."""
    before = traffic.wrong_checksums(lab.near) + traffic.wrong_checksums(lab.far)
    words = []
    for name, headers, options in (("four", 52, ()), ("six", 72, ("-6",))):
        end = traffic.iperf(lab, pair, 12, "-O", "2", *options)
        rate = end["sum_received"]["bits_per_second"] * 1500 / (1500 - headers)
        words.append(f"{name}: {near_the_limit(rate, 0.05)}")
    back = traffic.iperf(lab, pair, 3, "-R")["sum_received"]["bytes"]
    expect(back > 1e6, f"{back} bytes in 3 s where there is no limit")
    wrong = traffic.wrong_checksums(lab.near) + traffic.wrong_checksums(lab.far) - before
    expect(wrong == 0, f"{wrong} wrong checksums")
    return ", ".join(words)


def reload(lab, weir, pair, reloads=20):
    """A reload loses no packet."""
    sent, ends = [], threading.Event()
    with traffic.udp(lab.near, pair.near) as out, traffic.udp(lab.far, pair.far, 4001) as into, \
            traffic.Arrivals(into) as there:
        def send():
            while not ends.wait(0.003):
                sent.append(struct.pack("!I", len(sent)))
                out.sendto(sent[-1] + bytes(60), (pair.far, 4001))
        thread = threading.Thread(target=send)
        thread.start()
        try:
            for i in range(reloads):
                lab.sh(f"sed -i 's/\"limit\": \"[0-9]*/\"limit\": \"{LIMIT + i % 2}/' "
                       "/tmp/weir.json && weirctl -n box reload")
        finally:
            ends.set()
            thread.join()
        got = set()

        def all_there():
            got.update(data[:4] for _, data in there.found)
            return got >= set(sent)
        wait_until(all_there, lambda: f"{len(set(sent) - got)} of {len(sent)} lost")
    return f"{reloads} reloads, {len(sent)} packets"


def flaps(lab, weir, pair, number=150):
    """Cables are pulled and plugged under traffic."""
    if pair.kind in BROKEN_BY_FLAPS:
        raise Skip("QEMU breaks such a device then, testpmd or weir, and says so or not")
    with traffic.Flood(lab, pair):
        for i in range(number):
            lab.cable(pair, i % 2, False)
            time.sleep(0.01)
            lab.cable(pair, i % 2, True)
            time.sleep(0.02)
    wait_until(lambda: set(weir.links().values()) == {"UP"}, lambda: f"{weir.links()}")
    traffic.answers(lab.near, pair.far)


def outage(lab, weir, pair, number):
    """Measures the gap when a signal ends a Weir and the next starts, and its start."""
    with traffic.udp(lab.near, pair.near) as out, traffic.udp(lab.far, pair.far, 4002) as into, \
            traffic.Arrivals(into) as there:
        def send(until):
            while not until() and time.monotonic() < began + PATIENCE_S:
                out.sendto(bytes(60), (pair.far, 4002))
                time.sleep(0.002)
        began = time.monotonic()
        send(lambda: len(there.found) > 100)
        last = len(there.found)
        ended = threading.Thread(target=lab.sh, args=(
            f"kill -{number} $(cat /tmp/pid); while [ ! -e /tmp/status ]; do usleep 1000; done; "
            "ls /dev/hugepages >/tmp/left; " + START,))
        ended.start()
        began = time.monotonic()
        send(lambda: there.found[-1][0] > began + 0.5 and
             max(b[0] - a[0] for a, b in zip(there.found[last - 1:], there.found[last:])) > 0.1)
        ended.join()
    times = [when for when, _ in there.found[last - 1:]]
    expect(times[-1] > began + 0.1, f"nothing crosses after SIG{number}: {weir.log()}")
    wait_until(lambda: weir.answers() and "start took" in weir.log(), weir.log)
    expect(lab.sh("cat /tmp/left") == "", "files of hugepages are left")
    said = re.search(r"start took (.*)", weir.log()).group(1)
    return f"SIG{number}: {max(b - a for a, b in zip(times, times[1:])):.2f} s without ({said})"


def again(lab, weir, pair):
    """Weir starts again under traffic, after a stop and after a SIGKILL."""
    weir.afresh()
    traffic.answers(lab.near, pair.far)
    words = "; ".join(outage(lab, weir, pair, number) for number in ("TERM", "KILL"))
    traffic.answers(lab.near, pair.far)
    weir.stop()
    return words


def follow(lab, weir, pair, number=20):
    """With "link": "follow" a lost link takes down the other end, also with traffic and flapping.

    Weir rejects a card if its driver cannot take the link down.
    """
    weir.stop_if_running()
    weir.start(wait=False, more={"wire": {"link": "follow"}})
    if weir.ended():
        expect("cannot be switched, so it cannot follow" in weir.log(), weir.log())
        return "refused: " + re.search(r"port .*: cannot be switched.*", weir.log()).group(0)
    wait_until(lambda: set(weir.links().values()) == {"UP"}, lambda: f"{weir.links()}")
    for end in (0, 1):
        name, other = pair.ports[end], pair.ports[1 - end]
        lab.cable(pair, end, False)
        wait_until(lambda o=other, n=name: f"port {o}: taken down because port {n}" in weir.log(),
                   weir.log)
        wait_until(lambda: set(weir.links().values()) == {"DOWN"}, lambda: f"{weir.links()}")
        lab.cable(pair, end, True)
        wait_until(lambda: set(weir.links().values()) == {"UP"}, lambda: f"{weir.links()}")
        traffic.answers(lab.near, pair.far)
    with traffic.Flood(lab, pair):
        for i in range(number):
            lab.cable(pair, i % 2, False)
            time.sleep(0.3 * (i % 3))
            lab.cable(pair, i % 2, True)
            time.sleep(0.1)
    wait_until(lambda: set(weir.links().values()) == {"UP"}, lambda: f"{weir.links()}")
    traffic.answers(lab.near, pair.far)
    weir.stop()
    return f"{number} flaps"


def pages(lab, weir, pair):
    """With too few hugepages Weir reports the necessary number and a command, which then works.

    Weir also starts without hugepages and without a hugetlbfs.
    """
    weir.stop_if_running()
    try:
        words = few_pages(lab, weir)
    finally:
        lab.sh(f"echo {lab.pages} >/proc/sys/vm/nr_hugepages")
    command = "mount -t hugetlbfs nodev /dev/hugepages"
    lab.sh("umount /dev/hugepages")
    try:
        weir.start(wait=False)
    finally:
        lab.sh(command)
    expect(weir.ended() and "weir: no hugetlbfs is mounted: expected one at /dev/hugepages; "
           f"remedy: {command}" in weir.log(), weir.log())
    weir.start()
    ping(lab, weir, pair)
    weir.stop()
    return words


def few_pages(lab, weir):
    """Tests some numbers of hugepages: one too few, and exactly enough."""
    words = []
    for number in ("0", "26", "27"):
        lab.sh(f"echo {number} >/proc/sys/vm/nr_hugepages")
        weir.start(wait=False)
        if not weir.ended():
            weir.stop()
            words.append(f"{number} do")
            continue
        said = re.search(r"weir: (.*): expected at least (\d+); remedy: sysctl vm.nr_hugepages="
                         r"(\d+) ", weir.log())
        expect(said and f"{number} hugepages of 2 MB are free, of {number} reserved" ==
               said.group(1), weir.log())
        _, found = lab.ask("weir --doctor /tmp/weir.json")
        expect(f"{said.group(1)}: expected at least {said.group(2)}\n" in found, found)
        lab.sh(f"echo {said.group(3)} >/proc/sys/vm/nr_hugepages")
        weir.start()
        weir.stop()
        words.append(f"with {number} asks for {said.group(2)}")
    return ", ".join(words)


# Sizes of packets, also at the edges of buffers of 2 and 4 kB.
SIZES = (1500, 1501, 1519, 1980, 2000, 2026, 2027, 2048, 2049, 2176, 3000, 4000, 4078, 4096, 6000,
         8000, 8996, 8997, 9000)


def jumbo(lab, weir, pair):
    """Packets of up to 9000 bytes in several buffers, and TCP with such packets."""
    weir.afresh(mtu=9000, keys=JUMBO)
    with lab.mtu(pair, 9000):
        traffic.answers(lab.near, pair.far)
        with traffic.Ping(lab.near, pair.far) as ping:
            lost = [size for size in SIZES if not (ping.once(size) and ping.once(size))]
        expect(not lost, f"do not cross: {lost}; {weir.log()[-500:]}")
        end = traffic.iperf(lab, pair, 10, "-O", "2")
        words = near_the_limit(end["sum_received"]["bits_per_second"] * 9000 / 8948, 0.07)
    weir.stop()
    return words


def oversize(lab, weir, pair, number=20):
    """Frames longer than the MTU pass or are counted, and other traffic continues."""
    weir.afresh()
    large = {str(i): traffic.RECEIVER + traffic.SENDER + b"\x88\xb5" + bytes([i]) * 3000
             for i in range(number)}
    with lab.mtu(pair, 4000):
        lost = traffic.cross(lab.near, lab.far, pair.tap, large, patience=1.0)
    traffic.answers(lab.near, pair.far)
    drops = weir.get("drops")
    counted = {name: n for name, n in drops.items() if isinstance(n, int) and n}
    expect(len(lost) <= sum(counted.values()) or pair.kind in SILENT, f"{len(lost)} lost: {drops}")
    return f"of {number} pass {number - len(lost)}, counted: {counted}"


def workers(lab, weir, pair):
    """The flows of two workers share one limit, with any number of usable queues."""
    weir.afresh(workers=(0, 1), distribute=True)
    ping(lab, weir, pair)
    words = shared(lab, weir, pair)
    if "said" in words:
        weir.afresh(workers=(0, 1), distribute=True, keys={pair.kind: {"queues": 1}})
        ping(lab, weir, pair)
        words += "; " + shared(lab, weir, pair)
    end = traffic.iperf(lab, pair, 10, "-O", "2", "-P", "6")
    words += ", " + near_the_limit(end["sum_received"]["bits_per_second"] * 1500 / 1448, 0.07)
    weir.stop()
    return words


def three(lab, weir, pair):
    """Three workers, a number of queues that some devices reject."""
    weir.afresh(workers=(0, 1, 2), distribute=True)
    ping(lab, weir, pair)
    words = f"{weir.port(pair.ports[0])['queues']} queues"
    weir.stop()
    return words


def removed(lab, weir, pair):
    """A removed card stays unused in this Weir, also after a new card takes its place.

    The next Weir uses the new card.
    """
    weir.afresh()
    ping(lab, weir, pair)
    with traffic.Flood(lab, pair):
        lab.remove(pair, 0)
        wait_until(lambda: weir.port(pair.ports[0])["link"] == "GONE",
                   lambda: f"{weir.links()}: {weir.log()}")
        lab.put_back(pair, 0)
    time.sleep(1)
    expect(weir.links() == {pair.ports[0]: "GONE", pair.ports[1]: "UP"}, f"{weir.links()}")
    _, status = lab.ask("weirctl -n box status")
    expect("was removed: out of use" in status, f"no alarm: {status}")
    expect(f"port {pair.ports[0]}: {pair.addresses[0]} was removed" in weir.log(), weir.log())
    took = weir.stop()
    weir.start()
    ping(lab, weir, pair)
    weir.stop()
    return f"stops after {took:.1f} s"


def polls(lab, weir, pair):
    """Workers that always poll pass these checks too."""
    weir.stop_if_running()
    weir.idle = "poll"
    try:
        weir.start()
        ping(lab, weir, pair)
        frames(lab, weir, pair)
        words = limit(lab, weir, pair)
        return words + ", stops after " + stop(lab, weir, pair)
    finally:
        weir.idle = "sleep"


# Keys that a port needs for jumbo frames; kinds that drop long frames without a count.
JUMBO = {"vmxnet3": {"buffer_size": 9100},  # the driver and QEMU fill only one
         "virtio-packed": {"buffer_size": 9100}}  # QEMU fails when a frame is sent from them
BROKEN_BY_FLAPS = ("virtio-packed",)
SILENT = ("e1000", "e1000e", "igb", "virtio-small")

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A group whose limiters run this version and the previous one: the upgrade of one after the other,
a roll-back, and the end of the upgrade.

The previous version is built from the repository, once: in build-former/. A group with quotas
cannot be upgraded this way, because a message of theirs has another format (CHANGELOG.md).
"""

import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))

import box  # noqa: E402
from box import expect, wait_until  # noqa: E402
from hard_limits import LIMIT, Group, Meter, Watch  # noqa: E402
from testbed.bed import Testbed  # noqa: E402

# The last commit that writes and reads only format 3 of gossip.
PREVIOUS = "cc9e0ee59070bf1d9918454425cc4cbe5820e233"
PLACE = os.path.join(box.ROOT, "build-former")
BUILT = os.path.join(PLACE, PREVIOUS[:12])
OTHER = os.path.join(PLACE, "other-format")
SHOWN_S = 10.0  # a config mismatch is shown within


def build_previous():
    """Builds weir of the previous version, unless that is done; Skip without its commit."""
    if os.access(os.path.join(BUILT, "app", "weir", "weir"), os.X_OK):
        return
    source = os.path.join(PLACE, "source")
    os.makedirs(source, exist_ok=True)
    archive = subprocess.run(["git", "-C", box.ROOT, "archive", PREVIOUS], capture_output=True,
                             check=False)
    if archive.returncode:
        raise box.Skip(f"the repository here has no commit {PREVIOUS[:12]}")
    subprocess.run(["tar", "-x", "-C", source], input=archive.stdout, check=True)
    compile_weir(source, BUILT)


def compile_weir(source, directory):
    """Builds weir."""
    for command in (["meson", "setup", directory, source],
                    ["ninja", "-C", directory, "app/weir/weir"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        expect(done.returncode == 0, f"{' '.join(command)}: {done.stdout[-2000:]}")


def build_other_format():
    """Builds weir of the files as they are, except that messages of hard limits have another
    number."""
    source = os.path.join(PLACE, "other-source")
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(box.ROOT, source, ignore=lambda folder, names: [
        name for name in names if folder == box.ROOT and name.startswith((".git", "build"))])
    header = os.path.join(source, "lib", "control", "conserve", "conserve.h")
    with open(header, encoding="utf-8") as file:
        text, n = re.subn(r"(#define CONSERVE_MESSAGE )\d+", r"\g<1>99", file.read())
    expect(n == 1, "conserve.h does not define CONSERVE_MESSAGE once")
    with open(header, "w", encoding="utf-8") as file:
        file.write(text)
    shutil.rmtree(OTHER, ignore_errors=True)
    compile_weir(source, OTHER)


def mix(bed, previous, build=BUILT):
    """Lets the testbed start those limiters that are in `previous` by the build in `build`."""
    spawn, present = bed.spawn_limiter, bed.build

    def start(i):
        bed.build = build if i in previous else present
        spawn(i)
        bed.build = present

    bed.spawn_limiter = start


def steps(bed, previous, check):
    """All limiters are previous ones and become present ones, except that one goes back first."""
    for i, goes_back in [(1, False), (2, False), (2, True), (3, False), (2, False)]:
        (previous.add if goes_back else previous.discard)(i)
        bed.restart_limiter(i)
        check()


def rejected(bed):
    """Returns how many datagrams each limiter has rejected because of their format."""
    return [bed.telemetry(i).get("/weir/gossip")["received"]["version"] for i in bed.boxes()]


def all_count(bed):
    """Waits until each limiter counts all others, and none rejects a format any more.

    Others write the newer format to a limiter that went back to the previous version, until they
    have received its first datagrams.
    """
    wait_until(lambda: not any(bed.policy(i)["peers_lost"] for i in bed.boxes()), "all to count")
    wait_until(lambda: unchanged_for_a_second(bed), "formats to be accepted")
    expect(max(rejected(bed)) < 100, f"rejected formats: {rejected(bed)}")


def unchanged_for_a_second(bed):
    """Returns true if no limiter has rejected a format for a second."""
    before = rejected(bed)
    time.sleep(1)
    return rejected(bed) == before


def soft(estimator):
    """A soft limit under TCP."""
    build_previous()
    previous = {1, 2, 3}

    def configure(_, config):
        config["gossip"]["estimator"] = estimator

    with Testbed(flows=[2, 3, 5], configure=configure) as bed:
        mix(bed, previous)
        bed.start()
        all_count(bed)
        steps(bed, previous, lambda: all_count(bed))
        summary = bed.run_flows(8, warmup=4).summary()
        use = summary["aggregate"]["mean_bps"] / LIMIT
    expect(0.7 < use < 1.06, f"aggregate {use:.3f} of the limit")
    return f"aggregate {use:.3f} of the limit, Jain {summary['jain']:.3f}"


def soft_state(_):
    """A soft limit with the estimator state."""
    return soft("state")


def soft_tree(_):
    """A soft limit with the estimator tree."""
    return soft("tree")


def hard(scene):
    """A hard limit that moves between the limiters, all the time: nothing is lost or exceeded."""
    build_previous()
    previous = {1, 2, 3}
    with Group(scene, 3, guarantee="hard") as group:
        mix(group.bed, previous)
        group.start()
        meter = Meter(group)
        turns = iter([1, 3, 1, 2, 3] * 2)

        def moves():
            all_count(group.bed)
            busy = next(turns)
            for i in group.bed.boxes():
                group.load(i, 2 * LIMIT if i == busy else 0)
            group.until_share(busy, 0.9)

        with Watch(group) as watch:
            moves()
            steps(group.bed, previous, moves)
            words = watch.check()
        return f"{words}; {meter.check()}"


def other_format(scene):
    """One of three limiters has another format of the messages of hard limits. All show a config
    mismatch, and together pass no more than the limit."""
    thing = "version of hard limits"
    build_other_format()
    with Group(scene, 3, guarantee="hard") as group:
        mix(group.bed, {3}, OTHER)
        began = time.monotonic()
        group.start()
        meter = Meter(group)
        for i in group.bed.boxes():
            group.load(i)

        def shown():
            peers = {i: group.bed.telemetry(i).get("/weir/peers")["peers"]
                     for i in group.bed.boxes()}
            return {(i, peer["name"]) for i, rows in peers.items() for peer in rows
                    if any(thing in text for text in peer["differs"] or ())}

        wait_until(lambda: len(shown()) == 4, lambda: f"a mismatch on both sides: {shown()}")
        took = time.monotonic() - began
        alarms = [group.bed.telemetry(i).get("/weir/health")["alarms"] for i in group.bed.boxes()]
        with Watch(group) as watch:
            time.sleep(5)
            words = watch.check()
        words = f"{words}; {meter.check()}"
    expect(took < SHOWN_S, f"shown after {took:.1f} s")
    expect(all(any(thing in str(alarm) for alarm in rows) for rows in alarms), f"alarms: {alarms}")
    return f"shown after {took:.1f} s; {words}"


if __name__ == "__main__":
    box.main([soft_state, soft_tree, hard, other_format])

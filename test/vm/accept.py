#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Tests Weir on PCI cards that QEMU emulates, with DPDK's own drivers.

By default one guest has a pair of cards of each usual kind, joined by one Weir. With --long each
kind has its own guest, and also runs the checks that take time or need their own Weir. Speeds are
not reported, because CPUs are emulated. Exits with 77 if the tests cannot run here.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "net"))

import box  # noqa: E402 (needs the path above)
import checks  # noqa: E402
import lab as labs  # noqa: E402
import machine  # noqa: E402
from box import SKIP, Skip  # noqa: E402
from weir import Weir  # noqa: E402

USUAL = ("e1000e", "virtio", "vmxnet3")
EACH = {  # the driver that gives cards to DPDK; vfio-pci needs an emulated IOMMU
    "uio_pci_generic": ("e1000", "igb", *USUAL, "virtio-small", "virtio-packed", "virtio-rss"),
    "vfio-pci": ("e1000", "igb", *USUAL),
}
PAGES = 256  # each of 2 MB
NICE = 5  # the guest's CPUs yield to tests that measure time


# Checks of each pair that a shared Weir joins; its last check; checks with a Weir of their own.
JOINED = (checks.ping, checks.frames, checks.limit, checks.link)
LAST = checks.stop
OWN = (checks.tcp, checks.reload, checks.flaps, LAST, checks.pages, checks.again, checks.follow,
       checks.oversize, checks.jumbo, checks.workers, checks.three, checks.removed, checks.polls)


def scenario_of(check, lab, weir, pair):
    """Returns a check as a function for box.play()."""
    def scenario(_):
        return check(lab, weir, pair)
    scenario.__name__ = f"{pair.kind}_{check.__name__}"
    return scenario


class Trial:
    """Runs the selected checks and stores their verdicts."""

    def __init__(self, words):
        self.words, self.verdicts = words, []
        self.watch = machine.Watch(box.die_with_parent)

    def play(self, scenario):
        """Returns true if the scenario succeeded."""
        self.verdicts.append(box.play(scenario, self.watch))
        return self.verdicts[-1] == "ok"

    def play_all(self, checks_of_pairs, lab, weir):
        """Runs each check on each pair."""
        for check in checks_of_pairs:
            if not self.words or any(word in check.__name__ for word in self.words):
                for pair in lab.pairs if check is not LAST else lab.pairs[:1]:
                    self.play(scenario_of(check, lab, weir, pair))


def in_one_guest(trial, kinds, more, cpus, iommu=False, **settings):
    """Runs the checks on pairs of these kinds, joined by one Weir in one guest."""
    with labs.Lab(kinds, pages=PAGES, cpus=cpus, iommu=iommu) as lab:
        weir = Weir(lab)

        def start(_):
            took = weir.start(**settings)
            return f"{', '.join(kinds)} by {lab.driver}: it answers after {took:.1f} s"
        if trial.play(start):
            trial.play_all((*JOINED, *more), lab, weir)


def emulated(kind):
    """Returns true if this QEMU has such a card."""
    device = labs.CARDS[kind][0].split(",")[0]
    said = subprocess.run(["qemu-system-x86_64", "-device", f"{device},help"], check=False,
                          capture_output=True)
    return said.returncode == 0


def possible():
    """Raises Skip with the reason if the tests cannot run here."""
    if os.geteuid():
        raise Skip("needs root")
    for program in ("qemu-system-x86_64", "cpio", "iperf3", "strip"):
        if not shutil.which(program):
            raise Skip(f"there is no {program}: tools/setup test")
    if os.uname().machine != "x86_64":
        raise Skip("the guest runs what is built here, and is an x86_64")
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        raise Skip("there is no /dev/net/tun")
    if not os.access(box.WEIR, os.X_OK):
        raise Skip(f"{box.WEIR} is not built")


def main():
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="accept.py", description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--long", action="store_true", help="everything; default: the usual kinds")
    parser.add_argument("--driver", choices=EACH, help="of --long only by this")
    parser.add_argument("--card", action="append", choices=labs.CARDS, help="only of these kinds")
    parser.add_argument("--check", action="append", default=[], metavar="WORD",
                        help="only what has this in its name")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    os.nice(NICE)
    began = time.monotonic()
    try:
        possible()
        trial = Trial(options.check)
        if options.long:
            for driver, kinds in EACH.items():
                if options.driver in (None, driver):
                    for kind in filter(emulated, options.card or kinds):
                        in_one_guest(trial, [kind], OWN, 3, driver == "vfio-pci")
        else:
            in_one_guest(trial, options.card or USUAL, (checks.shared, LAST), 2,
                         workers=(0, 1), distribute=True,
                         keys={"e1000e": {"queues": 1}})
    except Skip as reason:
        print(f"skipped: {reason}")
        return SKIP
    failed = trial.verdicts.count("FAIL")
    print(f"{len(trial.verdicts) - failed} passed, {failed} failed, "
          f"{time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""What tools/demo --web shows: the page of weir-exporter, and traffic that moves between limiters.

Limiters live in network namespaces, but their sockets are files: the exporter has them all, and
serves the page at the loopback of the machine itself.
"""

import collections
import os
import shutil
import socket
import subprocess
import time
import urllib.request

from .processes import wait_until

PORT = 9947
PHASE_S = 12.0  # so long the flows stay with their limiters
OVERLAP_S = 3.0  # new ones have begun when the old ones end
BACKUP = {"name": "backup", "match": {"direction": "a-to-b", "dscp": "cs1"}, "accounting": "l3"}
DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY")


def with_backups(settings):
    """A function for Testbed that gives each limiter a second policy, with these settings."""
    def change(_, config):
        config["policies"].insert(0, BACKUP | settings)
    return change


def is_free(port):
    """Whether somebody could listen there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(("127.0.0.1", port)) != 0


def any_port():
    """One that is free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Page:
    """The exporter of a testbed that has started."""

    def __init__(self, bed):
        port = PORT if is_free(PORT) else any_port()
        self.url = f"http://127.0.0.1:{port}/"
        self.port = port
        words = [word for i in bed.boxes() for word in ("-s", bed.socket(i))]
        self.process = bed.processes.start("exporter", [
            bed.binary("app/exporter/weir-exporter"), "--listen", f"127.0.0.1:{port}",
            *words])
        wait_until(self._answers, 10, f"the exporter at {self.url}")

    def _answers(self):
        self.process.check()
        try:
            with urllib.request.urlopen(self.url, timeout=5):
                return True
        except OSError:
            return False


def open_in_browser(url):
    """Whether there is a desktop, whose browser has been asked to show it: as whoever called sudo.
    """
    user = os.environ.get("SUDO_UID"), os.environ.get("SUDO_GID")
    if (not shutil.which("xdg-open") or not any(map(os.environ.get, DESKTOP))
            or not all(word and word.isdecimal() for word in user)):
        return False
    words = ["setpriv", "--reuid", user[0], "--regid", user[1], "--init-groups", "xdg-open", url]
    subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL, start_new_session=True)
    return True


def explain(page, say):
    """Where to look."""
    if open_in_browser(page.url):
        say(f"Your browser shows {page.url}")
    else:
        way = f"{page.port}:127.0.0.1:{page.port} {socket.gethostname()}"
        say(f"Look at {page.url}\nFrom another machine:  ssh -L {way}  and the same there")
    say(f"Every {PHASE_S:g} s traffic goes elsewhere, and the limit with it. Ctrl-C ends it.")


def shift(bed, flows, seconds):
    """Traffic until seconds are over (None: for ever): most goes to one after another."""
    began = time.monotonic()
    turn = collections.deque(flows)
    ending = []  # the flows of the phase before
    while seconds is None or time.monotonic() - began < seconds:
        groups = [bed.start_flows(i, n, PHASE_S + OVERLAP_S)
                  for i, n in enumerate(turn, start=1) if n]
        groups.append(bed.start_flows(1 + turn.index(max(turn)), 2, PHASE_S + OVERLAP_S,
                                      "-C", "reno", "--dscp", "cs1"))
        end = time.monotonic() + PHASE_S
        while time.monotonic() < end:
            for group in groups:
                group.check()
            time.sleep(0.1)
        for group in ending:
            group.stop()
        ending = groups
        turn.rotate(1)
    for group in ending:
        group.stop()

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""tools/demo --web: the page of weir-exporter, and traffic that moves between limiters.

Limiters are in network namespaces, but their sockets are files. So the exporter reads all of them,
and serves the page on the loopback of the machine itself.
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
PHASE_S = 12.0  # seconds that the flows stay with their limiters
OVERLAP_S = 3.0  # seconds between the start of new flows and the end of the old ones
BACKUP = {"name": "backup", "match": {"direction": "a-to-b", "dscp": "cs1"}, "accounting": "l3"}
DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY")


def with_backups(settings):
    """Returns a function for Testbed that gives each limiter a second policy."""
    def change(_, config):
        config["policies"].insert(0, BACKUP | settings)
    return change


def is_free(port):
    """Returns true if the port is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(("127.0.0.1", port)) != 0


def any_port():
    """Returns a free port."""
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
    """Opens the URL in a desktop's browser, under the user who called sudo. Returns true if there
    is a desktop."""
    user = os.environ.get("SUDO_UID"), os.environ.get("SUDO_GID")
    if (not shutil.which("xdg-open") or not any(map(os.environ.get, DESKTOP))
            or not all(word and word.isdecimal() for word in user)):
        return False
    words = ["setpriv", "--reuid", user[0], "--regid", user[1], "--init-groups", "xdg-open", url]
    subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL, start_new_session=True)
    return True


def explain(page, say):
    """Prints the URL, or that the browser shows it."""
    if open_in_browser(page.url):
        say(f"Your browser shows {page.url}")
    else:
        way = f"{page.port}:127.0.0.1:{page.port} {socket.gethostname()}"
        say(f"Look at {page.url}\nFrom another machine:  ssh -L {way}  and the same there")
    say(f"Every {PHASE_S:g} s traffic goes elsewhere, and the limit with it. Ctrl-C ends it.")


def shift(bed, flows, seconds):
    """Moves traffic for `seconds` (None: forever): most flows go to one limiter after another."""
    began = time.monotonic()
    turn = collections.deque(flows)
    ending = []  # the flows of the previous phase
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

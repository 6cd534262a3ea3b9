# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Web traffic on kernel TCP: each request is a connection that carries one reply, like weirsim's.

    web_load.py --receive ADDRESS PORT
    web_load.py --send ADDRESS PORT --requests RATE --seconds S --seed N [--alpha A] [--least BYTES]
                [--most BYTES] [--congestion NAME]

Requests are a Poisson process, sizes have a bounded Pareto distribution. The sender runs next to
the source of an entry, the receiver next to its sink. At its end, or after SIGTERM, the sender
prints [[start, bytes, seconds], ...] as JSON; a reply ends when the receiver has all of it.
"""

import argparse
import errno
import json
import random
import selectors
import signal
import socket
import sys
import time

CHUNK = bytes(1 << 16)


def pareto(dice, alpha, least, most):
    """A size in bytes: the inverse of the bounded Pareto distribution."""
    part = 1 - dice.random() * (1 - (least / most) ** alpha)
    return int(least / part ** (1 / alpha))


class Answer:
    """One connection, which sends its bytes and waits until the receiver closes."""

    def __init__(self, options, size, start):
        self.size, self.start, self.left = size, start, size
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION,
                               options.congestion.encode())
        code = self.socket.connect_ex((options.address, options.port))
        if code not in (0, errno.EINPROGRESS):
            raise OSError(code, "connect")

    def send(self):
        """Fills the socket. Returns true when it has all bytes."""
        while self.left:
            try:
                self.left -= self.socket.send(CHUNK[:self.left])
            except BlockingIOError:
                return False
        self.socket.shutdown(socket.SHUT_WR)
        return True


class Sender:
    """Starts requests at their time, until the end or SIGTERM."""

    def __init__(self, options):
        self.options, self.dice = options, random.Random(options.seed)
        self.selector = selectors.DefaultSelector()
        self.done = []
        self.stopped = False
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, *_):
        self.stopped = True

    def run(self):
        """Returns [[start, bytes, seconds]] of the requests that were answered."""
        began = time.monotonic()
        due = self.dice.expovariate(self.options.requests)
        while not self.stopped and (now := time.monotonic() - began) < self.options.seconds:
            while due <= now:
                due += self.dice.expovariate(self.options.requests)
                self._begin(now)
            for key, _ in self.selector.select(min(0.05, max(0.0, due - now))):
                self._serve(key.data, time.monotonic() - began)
        return self.done

    def _begin(self, now):
        options = self.options
        size = pareto(self.dice, options.alpha, options.least, options.most)
        answer = Answer(options, size, now)
        self.selector.register(answer.socket, selectors.EVENT_WRITE, answer)

    def _serve(self, answer, now):
        try:
            if answer.left or self.selector.get_key(answer.socket).events == selectors.EVENT_WRITE:
                if answer.send():
                    self.selector.modify(answer.socket, selectors.EVENT_READ, answer)
                return
            answer.socket.recv(1)
            self.done.append([answer.start, answer.size, now - answer.start])
        except OSError:  # the connection failed: no answer
            pass
        self.selector.unregister(answer.socket)
        answer.socket.close()


def receive(options):
    """Reads all bytes of each connection, and closes it after the last."""
    selector = selectors.DefaultSelector()
    listener = socket.create_server((options.address, options.port), backlog=1024)
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                selector.register(listener.accept()[0], selectors.EVENT_READ)
                continue
            try:
                data = key.fileobj.recv(1 << 20)
            except OSError:
                data = b""
            if not data:
                selector.unregister(key.fileobj)
                key.fileobj.close()


def main():
    """Sends or receives."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    role = parser.add_mutually_exclusive_group(required=True)
    role.add_argument("--send", action="store_true")
    role.add_argument("--receive", action="store_true")
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("--requests", type=float, help="per second")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alpha", type=float, default=1.2)
    parser.add_argument("--least", type=float, default=3e3)
    parser.add_argument("--most", type=float, default=10e6)
    parser.add_argument("--congestion", default="reno")
    options = parser.parse_args()
    if options.receive:
        receive(options)
    json.dump(Sender(options).run(), sys.stdout)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Single runs of kernel.py: cost of packets through one limiter, and its accuracy."""

import json
import statistics
import subprocess
import time

import box  # kernel_peers.py has put its directory on the path
from kernel_peers import Peer, binary

SETTLE_S = 1  # until buckets are empty and queues full


def spread(values):
    """Returns the median, and the 10th and 90th percentile."""
    cuts = statistics.quantiles(values, n=10, method="inclusive")
    return {"median": statistics.median(values), "p10": cuts[0], "p90": cuts[8]}


def softirq_threads():
    """Returns the pids of ksoftirqd on every CPU."""
    done = subprocess.run(["ps", "-e", "-o", "pid=,comm="], capture_output=True, text=True,
                          check=True)
    rows = (line.split(None, 1) for line in done.stdout.splitlines())
    return [int(pid) for pid, name in rows if name.startswith("ksoftirqd/")]


def received(interface):
    """Returns the packets that an interface of this namespace has received."""
    with open("/proc/self/net/dev", encoding="ascii") as table:
        for line in table:
            name, _, columns = line.partition(":")
            if name.strip() == interface:
                return int(columns.split()[1])
    raise box.Skip(f"no interface {interface}")


class Source:
    """The source of packets (test/bench/xdp_source.c), on its own CPU."""

    def __init__(self, cpu, paced_pps):
        self.cpu = cpu
        self.paced_pps = paced_pps
        self.threads = softirq_threads()

    def command(self, peer, limited, seconds, like=Peer):
        """Returns the source's command line. Without a peer, packets like those to `like` are
        freed."""
        near, far = (peer.ends[0], peer.ends[3]) if peer else ("-", "-")
        pids = self.threads + (peer.pids() if peer else [])
        like = peer or like
        words = [binary("xdp_source"), binary("xdp_source.bpf.o"), near, far, like.to[limited],
                 like.frame, self.paced_pps if limited else 0, seconds, *pids]
        return ["taskset", "-c", str(self.cpu), *map(str, words)]

    def run(self, peer, limited, seconds, like=Peer):
        """Does one run; returns the source's measurements."""
        if peer:
            peer.before(limited)
        done = subprocess.run(self.command(peer, limited, seconds, like), capture_output=True,
                              text=True, check=False, timeout=seconds + box.PATIENCE_S,
                              preexec_fn=box.die_with_parent)
        box.expect(done.returncode == 0, done.stderr.strip())
        account = json.loads(done.stdout)
        box.expect(account["sent"] > 0, "the source sent nothing")
        return account

    def cost(self, peer, limited, seconds, like=Peer):
        """Returns ns of all CPUs a packet, including its creation."""
        return sum(self.costs(peer, limited, seconds, like))

    def costs(self, peer, limited, seconds, like=Peer):
        """Returns (ns of the receiving CPU and of softirqs, ns of the peer's processes) a packet.

        Softirqs process every packet. A process that is slower drops some, so its time is divided
        by the packets that it took. Under full load the far end counts these exactly for the
        measured time. If a limit drops packets, the process must count them itself.
        """
        before = peer.seen() if peer else None
        account = self.run(peer, limited, seconds, like)
        n_threads = len(self.threads)
        kernel = account["cpu_ns"] + sum(account["others_ns"][:n_threads])
        if before is None:
            return kernel / account["sent"], 0
        taken = peer.seen() - before if limited else account["arrived"]
        box.expect(taken > 0, f"nothing passed through {peer.name}")
        return kernel / account["sent"], sum(account["others_ns"][n_threads:]) / taken

    def accuracy(self, peer, seconds):
        """Returns passed packets over the limit: once settled, and in the first second."""
        peer.before(True)
        process = subprocess.Popen(self.command(peer, True, SETTLE_S + seconds + 1),
                                   stdout=subprocess.DEVNULL, preexec_fn=box.die_with_parent)
        limit_pps = peer.limited_bps / 8 / peer.counts
        try:
            before = received(peer.ends[3])
            box.wait_until(lambda: received(peer.ends[3]) > before, "the first packet", 10)
            samples = []
            for wait in (SETTLE_S, seconds):
                began = time.monotonic()
                time.sleep(wait)
                now = received(peer.ends[3])
                samples.append((now - before) / (time.monotonic() - began) / limit_pps)
                before = now
        finally:
            process.kill()
            process.wait()
        return {"first_second": samples[0], "settled": samples[1]}

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""weirsim's models against arithmetic: scenarios so simple that their results can be computed.

    models.py [--seed N]

Random results must be within five standard deviations, computed from the number of draws; others
within one packet. A scenario that fails is left in a file, and the command that replays it is
printed.
"""

import argparse
import csv
import io
import json
import math
import random
import subprocess
import tempfile

from suite import ANSWERS_S, WEIRSIM, run_tests

SIGMAS = 5
PACKET_BITS = 1500 * 8
UDP_HEADERS = 28


class Run:
    """One run of a scenario: its summary, and its series if wanted."""

    def __init__(self, seed, series=False, **scenario):
        self.scenario = {"name": "model", "seed": seed, "limiters": 1,
                         "policies": [{"name": "p", "limit": "1Gbit/s", "action": "count"}],
                         **scenario}
        command = [WEIRSIM, "run", "/dev/stdin", "--quiet", "--series" if series else "--json", "-"]
        done = subprocess.run(command, input=json.dumps(self.scenario), capture_output=True,
                              text=True, timeout=ANSWERS_S, check=False)
        self.expect(done.returncode == 0, done.stderr)
        if series:
            self.rows = [{key: float(value) for key, value in row.items()}
                         for row in csv.DictReader(io.StringIO(done.stdout))]
        else:
            self.summary = json.loads(done.stdout)

    def expect(self, condition, words):
        """Fails with these words and the command that replays the run."""
        if condition:
            return
        with tempfile.NamedTemporaryFile("w", prefix="weirsim-model-", suffix=".json",
                                         delete=False) as file:
            json.dump(self.scenario, file, indent=1)
        raise AssertionError(f"{words}\n      seed {self.scenario['seed']}; "
                             f"replay: {WEIRSIM} run {file.name}")

    def near(self, what, value, expected, tolerance):
        """Fails unless the value is within the tolerance."""
        self.expect(abs(value - expected) <= tolerance,
                    f"{what} is {value:g}, expected {expected:g} ± {tolerance:g}")

    def rate(self):
        """Returns bit/s that all limiters forwarded."""
        return self.summary["aggregate"]["mean_bps"]

    def packets(self):
        """Returns the counters of sent, passed and lost packets."""
        return self.summary["packets"]

    def during(self, start, end):
        """Returns rows of the intervals within these seconds."""
        return [row for row in self.rows if start + 1e-6 < row["time_s"] <= end + 1e-6]


def cbr(**settings):
    """Returns a flow of 1500-byte packets."""
    return {"kind": "cbr", "limiter": "l1", "rate": "10Mbit/s", **settings}


def constant_rate(seed):
    """All packets that fit are sent, also if a packet takes a fractional number of nanoseconds."""
    for rate, packet, seconds in ((7e6, 1500, 20), (90e9, 128, 0.01)):
        run = Run(seed, duration=f"{seconds}s", interval="10ms",
                  policies=[{"name": "p", "limit": "400Gbit/s", "action": "count"}],
                  traffic=[cbr(rate=f"{rate / 1e6:g}Mbit/s", packet=f"{packet}B", jitter="0s")])
        run.near("packets", run.packets()["sent"], rate * seconds / packet / 8, 1)
        run.near("goodput", run.summary["flows"][0]["mean_bps"],
                 rate * (packet - UDP_HEADERS) / packet,
                 rate * 0.02 / seconds + packet * 8 / seconds)  # half of the round trip is missing
        run.expect(run.summary["jain"] is None and run.summary["jain_1s_mean"] is None,
                   "it is fair to flows that do not adapt")


def life_of_a_flow(seed):
    """start, every, last and stop: the packets that fit in between, and no flow after the stop."""
    run = Run(seed, duration="20s",
              traffic=[cbr(count=4, start="2s", every="3s", last="4s", stop="10s", jitter="0s")])
    alive = [flow["seconds"] for flow in run.summary["flows"]]  # from 2, 5 and 8 s; not from 11 s
    run.expect(len(alive) == 3, f"{len(alive)} flows")
    spacing = PACKET_BITS / 10e6
    for seconds, expected in zip(alive, (4, 4, 2)):
        run.near("life", seconds, expected, 2 * spacing)
    run.near("packets", run.packets()["sent"], 10 / spacing, 3)


def upstream_link(seed):
    """Each flow gets its link's rate, or all share one link; excess packets are lost there."""
    for shared, links in ((False, 3), (True, 1)):
        run = Run(seed, duration="20s", warmup="1s",
                  traffic=[cbr(count=3, jitter="20ms", bottleneck={
                      "rate": "3Mbit/s", "queue": "15kB", "shared": shared})])
        run.near("rate", run.rate(), links * 3e6, links * 2 * PACKET_BITS / 19)
        sent, lost = run.packets()["sent"], run.packets()["upstream"]
        # Packets in the queues are sent, and are not yet lost or passed.
        run.near("lost", lost, sent - links * 3e6 * 20 / PACKET_BITS, links * (10 + 40))


def upstream_link_from(seed):
    """A link whose rate is limited from the middle of the run on."""
    run = Run(seed, series=True, duration="10s",
              traffic=[cbr(bottleneck={"rate": "2Mbit/s", "from": "5s"})])
    for start, end, rate in ((1, 5, 10e6), (6, 10, 2e6)):
        rows = run.during(start, end)
        run.near("rate", sum(row["p"] for row in rows) / len(rows), rate,
                 2 * PACKET_BITS / (end - start))


def on_off(seed):
    """Mean rate: the part of the time in which flows are on, with its variance."""
    seconds, flows = 200, 20
    for on, off in ((0.3, 0.7), (0.001, 0.003)):  # a packet takes 2.4 ms
        run = Run(seed, duration=f"{seconds + 10}s", warmup="10s",
                  traffic=[{"kind": "on-off", "limiter": "l1", "count": flows, "rate": "5Mbit/s",
                            "on": f"{on}s", "off": f"{off}s"}])
        # An alternating renewal process: 2 on² off² / (on + off)³ a second.
        sigma = math.sqrt(2 * on**2 * off**2 / (on + off)**3 * seconds * flows)
        run.near("rate", run.rate(), 5e6 * flows * on / (on + off),
                 (SIGMAS * sigma * 5e6 + flows * PACKET_BITS) / seconds)


def poisson(seed):
    """Packets a second, and their variance, which equals the mean in a Poisson process."""
    rate, seconds, width = 12e6, 40, 0.01
    run = Run(seed, series=True, duration=f"{seconds}s", interval="10ms",
              traffic=[cbr(kind="poisson", rate=f"{rate / 1e6:g}Mbit/s", jitter="0s")])
    counts = [row["p"] * width / PACKET_BITS for row in run.during(1, seconds)]
    mean, n = rate * width / PACKET_BITS, len(counts)
    found = sum(counts) / n
    run.near("packets in 10 ms", found, mean, SIGMAS * math.sqrt(mean / n))
    variance = sum((count - found)**2 for count in counts) / (n - 1)
    run.near("variance by mean", variance / mean, 1, SIGMAS * math.sqrt((2 + 1 / mean) / n))


def bucket_loss(load, packets, steps=16):
    """Part of Poisson arrivals that find less than a packet in a bucket: a chain of its debt.

    The debt is the missing part of the bucket. It falls by a packet in the time of one at the
    limit, and a packet that passes adds one. An arrival needs a debt of at most packets - 1. The
    states are the debts in parts of a packet, and a step in time lets one part pass.
    """
    top = packets * steps
    calm = math.exp(-load / steps)  # no arrival in a step
    debts = [1.0] + [0.0] * top
    for _ in range(30 * steps * packets):
        after = [0.0] * (top + 1)
        for debt, part in enumerate(debts):
            rest = max(0, debt - 1)
            after[rest] += part * calm
            after[rest + steps if rest + steps <= top else rest] += part * (1 - calm)
        debts = after
    return sum(debts[debt] for debt in range(top + 1) if max(0, debt - 1) + steps > top)


def poisson_at_a_bucket(seed):
    """Drop share of a token bucket under Poisson packets, against the chain."""
    found = []
    for load, packets in ((0.8, 2), (1.0, 5), (1.5, 3)):
        seconds = 60
        run = Run(seed, duration=f"{seconds}s",
                  policies=[{"name": "p", "limit": "12Mbit/s", "burst": f"{1500 * packets}B",
                             "allocator": "static"}],
                  traffic=[cbr(kind="poisson", rate=f"{12e6 * load:.0f}bit/s", jitter="0s")])
        sent, lost = run.packets()["sent"], run.packets()["limit"]
        # Twice the steps halve the error of the chain, which is of first order.
        coarse, fine = bucket_loss(load, packets), bucket_loss(load, packets, 32)
        exact = 2 * fine - coarse
        sigma = math.sqrt((1 + 2 * packets) * exact / sent)  # losses come in groups
        run.near(f"lost at load {load}", lost / sent, exact, SIGMAS * sigma + abs(fine - exact))
        found.append(f"{lost / sent:.4f} of {exact:.4f}")
    return f"lost {', '.join(found)}"


MARKING = {"name": "p", "limit": "12Mbit/s", "burst": "60kB", "action": "mark"}


def marks(seed):
    """An ECN-capable sender loses nothing at a limit that marks. For others "mark" is "drop".
    A scalable flow is marked sqrt(2) times in a round trip, for any number of flows."""
    for congestion, ecn in (("newreno", True), ("cubic", True), ("dctcp", False)):
        run = Run(seed, duration="40s", warmup="10s", policies=[MARKING],
                  traffic=[{"kind": "tcp", "limiter": "l1", "count": 4, "rtt": "40ms",
                            "congestion": congestion, "ecn": ecn, "start_spread": "1s"}])
        run.expect(run.packets()["limit"] == 0, f"{congestion}: packets are dropped")
        run.near(f"{congestion}: rate", run.summary["aggregate_ratio"], 1.05, 0.2)
    for flows, rtt in ((4, 0.04), (8, 0.04), (8, 0.08)):
        run = Run(seed, duration="70s", warmup="10s", policies=[MARKING],
                  traffic=[{"kind": "tcp", "limiter": "l1", "count": flows, "rtt": f"{rtt}s",
                            "congestion": "dctcp", "start_spread": "1s"}])
        more = (run.summary["aggregate_ratio"] - 1) * 12e6 / PACKET_BITS  # packets a second
        run.near("marks in a round trip", more * rtt / flows, math.sqrt(2), 0.6)
    drop = {**MARKING, "action": "drop"}
    for congestion in ("newreno", "bbr"):
        runs = [Run(seed, duration="20s", policies=[policy],
                    traffic=[{"kind": "tcp", "limiter": "l1", "count": 2,
                              "congestion": congestion}]) for policy in (drop, MARKING)]
        runs[0].expect(runs[0].packets() == runs[1].packets(), "marks without ECN")
        runs[0].expect(runs[0].packets()["limit"] > 0, "no loss")


def codel_marks(seed):
    """Under CoDel with ECN, a capable sender loses packets only in slow start."""
    shaped = {"name": "p", "limit": "12Mbit/s", "action": "shape",
              "shape": {"drop": "codel", "ecn": True}}
    lost = []
    for ecn in (False, True):
        run = Run(seed, duration="60s", policies=[shaped],
                  traffic=[{"kind": "tcp", "limiter": "l1", "count": 4, "ecn": ecn,
                            "start_spread": "1s"}])
        run.near("rate", run.summary["aggregate_ratio"], 1, 0.05)
        lost.append(run.packets()["limit"])
    run.expect(lost[1] < lost[0] / 2, f"lost {lost[0]}, with ECN {lost[1]}")


def bbr(seed):
    """BBR fills a link with a buffer, and takes most of a bucket that it shares with NewReno.

    Linux's BBR in live limiters had 0.72 as 2 of 10 flows, and 0.835 as 5 of 10. With a limiter
    for BBR and one for NewReno it had 0.495."""
    for queue in ("50kB", "500kB"):
        run = Run(seed, duration="60s", warmup="5s",
                  traffic=[{"kind": "tcp", "congestion": "bbr", "limiter": "l1", "rtt": "40ms",
                            "bottleneck": {"rate": "10Mbit/s", "queue": queue}}])
        run.near("rate", run.rate(), 9.75e6, 0.25e6)

    def share(n, limiters):
        run = Run(seed, duration="80s", warmup="20s", limiters=limiters,
                  policies=[{"name": "p", "limit": "10Mbit/s", "burst": "75kB"}],
                  traffic=[{"name": name, "kind": "tcp", "congestion": congestion,
                            "limiter": limiter, "count": count, "start_spread": "1s"}
                           for name, congestion, limiter, count in (
                               ("b", "bbr", "l1", n), ("r", "newreno", f"l{limiters}", 10 - n))])
        rates = [[flow["mean_bps"] for flow in run.summary["flows"] if flow["traffic"] == name]
                 for name in ("b", "r")]
        return run, sum(rates[0]) / sum(map(sum, rates))

    found = []
    for n, limiters, expected, tolerance in ((2, 1, 0.8, 0.15), (5, 1, 0.88, 0.1),
                                             (5, 2, 0.5, 0.08)):
        run, part = share(n, limiters)
        run.near(f"share of {n} BBR flows, {limiters} limiters", part, expected, tolerance)
        found.append(f"{part:.3f}")
    return f"shares of BBR {', '.join(found)}"


def pareto_moment(alpha, least, most, k):
    """E[X^k] of the bounded Pareto distribution."""
    scale = alpha * least**alpha / (1 - (least / most)**alpha)
    return scale * (most**(k - alpha) - least**(k - alpha)) / (k - alpha)


def pareto_share(alpha, least, most, start, end):
    """P(start <= X < end)."""
    def above(x):
        return (least / max(least, min(x, most)))**alpha - (least / most)**alpha
    return (above(start) - above(end)) / (1 - (least / most)**alpha)


def web(seed):
    """Requests a second, their sizes by class, and the sum of bytes."""
    rate, seconds, sizes = 200, 100, (1.2, 3000, 200000)
    run = Run(seed, duration=f"{seconds + 5}s", warmup="5s",
              traffic=[{"kind": "web", "limiter": "l1", "rtt": "5ms", "requests": rate,
                        "sizes": {"alpha": 1.2, "least": "3kB", "most": "200kB"}}])
    classes = run.summary["web"]
    n = sum(entry["requests"] for entry in classes)
    late = rate * 0.1  # without a reply at the end
    run.near("requests", n, rate * seconds, SIGMAS * math.sqrt(rate * seconds) + late)
    edges = [entry["from_bytes"] for entry in classes] + [math.inf]
    for entry, start, end in zip(classes, edges, edges[1:]):
        share = pareto_share(*sizes, start, end)
        run.near(f"requests from {start} bytes", entry["requests"], n * share,
                 SIGMAS * math.sqrt(n * share * (1 - share)) + late)
    expected = rate * seconds * pareto_moment(*sizes, 1)
    # Sigma of a compound Poisson process.
    sigma = math.sqrt(rate * seconds * pareto_moment(*sizes, 2))
    run.near("bytes", run.summary["flows"][0]["mean_bps"] * seconds / 8, expected, SIGMAS * sigma)


def round_trip(seed):
    """A reply of one packet takes two round trips: a handshake, and the packet."""
    run = Run(seed, duration="100s",
              traffic=[{"kind": "web", "limiter": "l1", "rtt": "100ms", "jitter": "0s",
                        "requests": 20, "sizes": {"least": "1000B", "most": "1001B"}}])
    run.near("rate", run.summary["web"][0]["harmonic_mean_bps"], 8000 / 0.2, 8000 / 0.2 * 0.001)


STATIC = [{"name": "p", "limit": "10Mbit/s", "burst": "15kB", "allocator": "static"}]


def drift(seed):
    """A clock that is a tenth too fast fills its bucket as much faster; an offset has no effect."""
    for ppm in (100000, 0, -100000):
        runs = [Run(seed, duration="21s", warmup="1s", policies=STATIC,
                    limiters=[{"name": "l1", "offset": offset, "drift_ppm": ppm}],
                    traffic=[cbr(rate="20Mbit/s")]) for offset in ("0s", "12345.6789s")]
        runs[0].near("rate", runs[0].rate(), 10e6 * (1 + ppm / 1e6), 15000 * 8 / 20)
        runs[0].expect(runs[0].summary == runs[1].summary, "an offset changes something")


def offset(seed):
    """Gossip does not depend on any limiter's time of day."""
    runs = [Run(seed, duration="20s", policies=[{"name": "p", "limit": "10Mbit/s"}],
                limiters=["l1", {"name": "l2", "offset": offset}],
                traffic=[{"kind": "tcp", "limiter": "each"}]) for offset in ("0s", "86400s")]
    runs[0].expect(runs[0].summary == runs[1].summary, "an offset changes something")


def crash(seed):
    """Packets are lost in the time without a limiter, and no others."""
    events = [{"at": "5s", "crash": "l1"}, {"at": "12s", "restart": "l1"}]
    traffic = [cbr(rate="8Mbit/s", jitter="0s")]
    run = Run(seed, duration="20s", policies=STATIC, events=events, traffic=traffic)
    run.near("packets", run.packets()["down"], 7 * 8e6 / PACKET_BITS, 1)
    run.expect(run.packets()["limit"] == 0, "a limiter that is up drops them")
    run = Run(seed, series=True, duration="20s", policies=STATIC, events=events, traffic=traffic)
    for row in run.rows:
        up = row["time_s"] < 5.05 or row["time_s"] > 12.05
        if row["time_s"] > 0.1:
            run.near(f"rate at {row['time_s']} s", row["p"], 8e6 * up, 2 * PACKET_BITS / 0.1)


GROUP = {"limiters": 2, "policies": [{"name": "p", "limit": "10Mbit/s", "interval": "50ms"}]}


def pause(seed):
    """Limits stay constant during a pause, and the socket holds 256 datagrams."""
    traffic = [cbr(rate="20Mbit/s", limiter="l1", stop="5.5s"),
               cbr(rate="20Mbit/s", limiter="l2", start="5.5s")]
    run = Run(seed, series=True, duration="15s", traffic=traffic, **GROUP,
              events=[{"at": "5s", "pause": "l2", "for": "3s"},
                      {"at": "7s", "pause": "l2", "for": "3s"}])  # until 10 s
    limits = {row["p/l2:limit"] for row in run.during(5.1, 9.9)}
    run.expect(len(limits) == 1, f"limits change in the pause: {sorted(limits)}")
    run.expect(run.rows[-1]["p/l2:limit"] > 3 * limits.pop(), "nothing changes after the pause")
    alone = Run(seed, duration="40s", network={"delay": "1ms"}, traffic=[], **GROUP)
    others = alone.summary["gossip"]["datagrams"] / (2 * 40)  # for each limiter and second
    for seconds in (10, 30):
        run = Run(seed, duration="40s", network={"delay": "1ms"}, traffic=[], **GROUP,
                  events=[{"at": "5s", "pause": "l2", "for": f"{seconds}s"}])
        run.near("lost", run.summary["gossip"]["lost"], max(0, others * seconds - 256), 3)


def gossip_is_lost(seed):
    """Gossip is lost at random, across a partition, and before a link that is too slow."""
    run = Run(seed, duration="3000s", network={"loss": 0.2}, traffic=[], **GROUP)
    gossip = run.summary["gossip"]
    run.near("lost", gossip["lost"], 0.2 * gossip["datagrams"],
             SIGMAS * math.sqrt(0.2 * 0.8 * gossip["datagrams"]))
    run = Run(seed, duration="40s", traffic=[], **GROUP,
              events=[{"at": "10s", "partition": 2}, {"at": "20s", "heal": True}])
    gossip = run.summary["gossip"]
    run.near("lost", gossip["lost"], gossip["datagrams"] / 4, 4)
    rate = run.summary["control_bps"]
    run = Run(seed, duration="300s", traffic=[], **GROUP,
              network={"rate": f"{round(rate / 4000)}kbit/s", "queue": "500B"})
    gossip = run.summary["gossip"]
    through = 1 - gossip["lost_bytes"] / gossip["bytes"]  # small ones find room more often
    run.near("through", through * run.summary["control_bps"], round(rate / 4000) * 1000,
             0.005 * rate)
    run = Run(seed, duration="30s", traffic=[], **GROUP, network={"loss": 1},
              events=[{"at": "10s", "network": {"loss": 0}}])
    gossip = run.summary["gossip"]
    run.near("lost", gossip["lost"], gossip["datagrams"] / 3, 4)


HARD = {"limiters": 2, "network": {"delay": "10ms"},
             "policies": [{"name": "p", "limit": "10Mbit/s", "burst": "75kB",
                           "guarantee": "hard"}]}


def settling(seed):
    """An amount arrives only after it is settled at the sender and has crossed the network. Amounts
    given away meanwhile are settled next."""
    traffic = [cbr(rate="20Mbit/s", limiter="l1")]
    for settle in (0, 3, 4):
        run = Run(seed, series=True, duration="10s", traffic=traffic, commit=f"{settle}s",
                  ledger={"promise": 0}, **HARD)
        for row in run.during(0, settle):
            run.near(f"limit at {row['time_s']} s", row["p/l1:limit"], 5e6, 8)
        risen = [row["time_s"] for row in run.rows if row["p/l1:limit"] > 9e6]
        run.expect(risen and risen[0] < 2 * settle + 1, f"settled after {settle} s: {risen[:1]}")


def first_bucket(seed):
    """A hard limit's bucket starts empty; when full, it holds the limit's part of the burst."""
    for guarantee, begins in (("soft", 75e3), ("hard", 10e6 * 0.01 / 8)):  # first 10 ms
        policies = [{"name": "p", "limit": "10Mbit/s", "burst": "75kB", "guarantee": guarantee,
                     "allocator": "static"}]
        traffic = [cbr(rate="100Mbit/s", stop="1s"), cbr(rate="100Mbit/s", start="2s", stop="3s")]
        run = Run(seed, series=True, duration="4s", traffic=traffic, policies=policies)
        bits = [sum(row["p"] for row in run.during(second, second + 2)) * 0.1
                for second in (0, 2)]
        run.near(f"{guarantee}: first bits", bits[0], 10e6 + 8 * begins, 2 * PACKET_BITS)
        run.near(f"{guarantee}: second bits", bits[1], 10e6 + 8 * 75e3, 2 * PACKET_BITS)


def excess(rows, limit):
    """Returns the most bits in excess of limit × time, between any two times."""
    most = now = 0
    for row in rows:
        now = max(now + (row["p"] - limit) * 0.1, 0)
        most = max(most, now)
    return most


def restart(seed):
    """A limiter that has given amounts away restarts from its disk, with an empty bucket. No more
    is enforced, which every run checks, and no more is admitted."""
    traffic = [cbr(rate="20Mbit/s", limiter="l1", stop="9s"),
               cbr(rate="20Mbit/s", limiter="l2", start="9s")]
    for at in (5, 9.2, 12):
        run = Run(seed, series=True, duration="20s", traffic=traffic, **HARD,
                  events=[{"at": f"{at}s", "restart": "l2"}, {"at": f"{at + 2}s", "restart": "l1"}])
        run.expect(excess(run.rows, 10e6) <= 8 * 75e3, "more passes than the burst")
        run.near("limit of the first", run.during(8.5, 9)[0]["p/l1:limit"], 10e6, 1e6)
        run.near("limit of the second", run.rows[-1]["p/l2:limit"], 10e6, 1e6)


def lease(seed):
    """When a limiter dies, amounts promised to it become unusable exactly when the lease ends. A
    little later its own promises are inherited. Without promises nothing moves."""
    traffic = [cbr(rate="20Mbit/s", limiter="l1"), cbr(rate="20Mbit/s", limiter="l2")]
    for promise in (0, 40, 80):
        run = Run(seed, series=True, duration="20s", traffic=traffic, **HARD,
                  ledger={"lease": "4s", "promise": promise},
                  events=[{"at": "5s", "crash": "l2"}, {"at": "15s", "restart": "l2"}])
        for row in run.during(4, 6.5) + run.during(9.5, 14.9) + run.during(16, 20):
            run.near(f"promise {promise}, limit at {row['time_s']} s", row["p/l1:limit"], 5e6,
                     0.1e6)
        run.near(f"promise {promise}, least", min(row["p/l1:limit"] for row in
                                                  run.during(6.5, 9.5)),
                 (1 - promise / 100) * 5e6, 0.1e6)


def stalled_lease(seed):
    """A stalled limiter enforces its leased part until the lease ends, and the rest afterwards."""
    traffic = [cbr(rate="20Mbit/s", limiter="l1"), cbr(rate="20Mbit/s", limiter="l2")]
    for workers, promise in ((1, 0), (1, 40), (2, 80)):
        run = Run(seed, series=True, duration="22s", traffic=traffic, workers=workers,
                  **HARD, ledger={"lease": "4s", "promise": promise},
                  events=[{"at": "5s", "pause": "l2", "for": "12s"}])
        left = (1 - promise / 100) * 5e6
        for start, end, expected in ((4, 6.5, 5e6), (9.5, 16.9, left), (19, 22, 5e6)):
            rows = run.during(start, end)
            for row in rows:
                run.near(f"promise {promise}, limit at {row['time_s']} s", row["p/l2:limit"],
                         expected, 0.1e6)
            run.near(f"promise {promise}, rate from {start} s", sum(row["p/l2"] for row in rows) /
                     len(rows), expected, 0.15e6)
        run.expect(excess(run.rows, 10e6) <= 8 * 75e3, "more passes than the burst")


def random_pauses(seed):
    """Pauses of any length, with lost gossip, never exceed a hard limit: every run checks that."""
    dice = random.Random(seed)
    for _ in range(12):
        names = [f"l{i}" for i in range(1, dice.randint(2, 5) + 1)]
        policy = {"name": "p", "limit": "5Mbit/s", "burst": "100kB", "guarantee": "hard"}
        if dice.random() < 0.4:
            policy.update(action="shape", shape={"drop": dice.choice(("tail", "codel"))})
        elif dice.random() < 0.3:
            policy.update(meter="phantom")
        starts = [dice.uniform(0, 30) for _ in names]
        run = Run(seed, series=True, duration="50s", limiters=names, policies=[policy],
                  workers=dice.choice((1, 2)), ledger={"lease": f"{dice.randint(3, 8)}s"},
                  network={"delay": f"{dice.randint(1, 60)}ms",
                           "loss": dice.choice((0, dice.uniform(0, 0.2)))},
                  traffic=[cbr(rate=f"{dice.uniform(1, 10):.3f}Mbit/s", limiter=name,
                               start=f"{start:.3f}s", stop=f"{start + dice.uniform(1, 30):.3f}s")
                           for name, start in zip(names * 2, starts + starts[::-1])],
                  events=[{"at": f"{dice.uniform(5, 40):.3f}s", "pause": dice.choice(names),
                           "for": f"{dice.uniform(1, 30):.3f}s"} for _ in range(3)])
        most = max(row["p:limits"] for row in run.rows)
        run.expect(most <= 5e6, f"limits of {most} bit/s in all")
        run.expect(excess(run.rows, 5e6) <= 8 * 100e3, "more passes than the burst")


def limit_changes(seed):
    """Each limiter uses its part of the new limit from its time on; the ratio is by that limit."""
    dice = random.Random(seed)
    for workers in (1, 2):
        limits = [10e6] + [round(dice.uniform(2e6, 30e6), -3) for _ in range(2)]
        times = (0, 10, 20, 30)
        scenario = {"duration": "30s", "limiters": 3, "workers": workers,
                    "policies": [{"name": "p", "limit": "10Mbit/s", "burst": "60kB",
                                  "allocator": "static"}],
                    "events": [{"at": f"{time}s", "limit": f"{limit:.0f}bit/s", "every": "1s",
                                "limiters": ["l3", "l1", "l2"]}
                               for time, limit in zip(times[1:], limits[1:])],
                    "traffic": [cbr(rate="30Mbit/s", limiter="each")]}
        run = Run(seed, series=True, **scenario)
        for place, name in enumerate(("l3", "l1", "l2")):
            for limit, begin, end in zip(limits, times, times[1:]):
                begin, end = begin + (place if begin else 0), end + (place if end < 30 else 0)
                rows = run.during(begin + 0.2, end - 0.05)
                for row in rows:
                    run.near(f"{name} at {row['time_s']} s", row[f"p/{name}:limit"], limit / 3, 8)
                run.near(f"{name} from {begin} s", sum(row[f"p/{name}"] for row in rows) /
                         len(rows), limit / 3, (20e3 * 8 + 3 * PACKET_BITS) / (end - begin - 0.3))
        steps = [(limits[0], 10)] + [(max(old, new), 2) for old, new in zip(limits, limits[1:])]
        allowed = sum(limit * seconds for limit, seconds in steps + [(limit, 8) for limit in
                                                                     limits[1:]])
        passed = Run(seed, **scenario)
        passed.near("ratio", passed.summary["aggregate_ratio"], passed.rate() * 30 / allowed, 2e-3)


def late_readers(seed):
    """A stalled limiter reads the limit when it continues, one that is down when it starts."""
    run = Run(seed, series=True, duration="20s", traffic=[], limiters=3,
              policies=[{"name": "p", "limit": "9Mbit/s", "allocator": "static"}],
              events=[{"at": "4s", "crash": "l2"}, {"at": "4s", "pause": "l3", "for": "6s"},
                      {"at": "5s", "limit": "6Mbit/s"}, {"at": "14s", "restart": "l2"}])
    for name, expected in (("l1", [3e6, 2e6, 2e6, 2e6]), ("l2", [3e6, 0, 0, 2e6]),
                           ("l3", [3e6, 3e6, 2e6, 2e6])):
        for (start, end), limit in zip(((1, 3.9), (5.1, 9.9), (10.2, 13.9), (14.2, 20)), expected):
            for row in run.during(start, end):
                run.near(f"{name} at {row['time_s']} s", row[f"p/{name}:limit"], limit, 8)


def hard_limit_changes(seed):
    """The sum never exceeds the larger limit, or the new one after debts are paid."""
    dice = random.Random(seed)
    for _ in range(6):
        limits = [5e6] + [round(dice.uniform(1e6, 15e6), -3) for _ in range(2)]
        run = Run(seed, series=True, duration="45s", limiters=3,
                  policies=[{"name": "p", "limit": "5Mbit/s", "guarantee": "hard"}],
                  network={"delay": f"{dice.randint(1, 60)}ms",
                           "loss": dice.choice((0, dice.uniform(0, 0.2)))},
                  traffic=[cbr(rate="20Mbit/s", limiter="l1"), cbr(limiter="l2", start="20s")],
                  events=[{"at": f"{at}s", "limit": f"{limit:.0f}bit/s", "every": "400ms"}
                          for at, limit in zip((15, 30), limits[1:])])
        for start, end, most in ((0, 15, limits[0]), (15, 30, max(limits[:2])),
                                 (25, 30, limits[1]), (30, 45, max(limits[1:])),
                                 (40, 45, limits[2])):
            for row in run.during(start, end - 0.05):
                run.expect(row["p:limits"] <= most, f"{row['p:limits']} at {row['time_s']} s, "
                           f"limits {limits}")
        for end, limit in zip((15, 30, 45), limits):
            most = max(row["p:limits"] for row in run.during(end - 5, end - 0.05))
            run.near(f"sum before {end} s", most, limit, 0.05 * limit)


def links_of_pairs(seed):
    """The links of a pair count for that pair, in both directions, and for no other."""
    run = Run(seed, duration="60s", traffic=[], limiters=3, policies=GROUP["policies"],
              network={"pairs": [{"between": [["l1"], ["l2", "l3"]], "loss": 1},
                                 {"between": [["l3"], ["l1"]], "loss": 0}]})
    gossip = run.summary["gossip"]
    run.near("lost", gossip["lost"], gossip["datagrams"] / 3, 4)
    run = Run(seed, duration="60s", traffic=[], limiters=3, policies=GROUP["policies"],
              network={"pairs": [{"between": [["l1", "l2"], ["l1", "l2"]], "loss": 1}]},
              events=[{"at": "30s", "network": {"pairs": []}}])
    gossip = run.summary["gossip"]
    run.near("lost", gossip["lost"], gossip["datagrams"] / 6, 4)
    run = Run(seed, series=True, duration="10s", limiters=3, policies=HARD["policies"],
              traffic=[cbr(rate="20Mbit/s", limiter="l1")], ledger={"promise": 0},
              network={"delay": "1ms", "pairs": [{"between": [["l2"], ["l1"]], "delay": "300ms"}]})
    for start, end, parts in ((0.4, 0.85, 2 / 3), (3, 10, 1)):  # there and back, and a statement
        for row in run.during(start, end):
            run.near(f"limit at {row['time_s']} s", row["p/l1:limit"], parts * 10e6, 0.2e6)


TESTS = [constant_rate, life_of_a_flow, upstream_link, upstream_link_from, on_off, poisson,
         poisson_at_a_bucket, web, round_trip, marks, codel_marks, bbr, drift, offset, crash, pause,
         gossip_is_lost, settling, first_bucket, restart, lease, stalled_lease, random_pauses,
         limit_changes, late_readers, hard_limit_changes, links_of_pairs]


def main():
    """Runs all tests."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    options = parser.parse_args()
    run_tests(TESTS, options.seed)


if __name__ == "__main__":
    main()

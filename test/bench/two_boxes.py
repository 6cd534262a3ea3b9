#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Shares of clients in a hierarchy over two limiters, next to max-min fairness and weirsim's.

Kernel TCP of clients, in customers, in a link, passes two limiters. Prints each policy's part of
the link, the weighted max-min fair part, and weirsim's, as tables in Markdown.

    two_boxes.py [--runs 3] [--seconds 20] [--settle 10] [--rate 20] [--congestion reno]
                 [--flows 2+1,0+6,1+1,6+2] [--one-limiter] [--verbose]

Flows are spread unevenly over the two limiters, and clients with the largest parts have the fewest
flows. One client is silent, starts, and stops again. Each of the three phases is measured
separately after it has settled. The tables also have the shares of all these flows in one policy
without levels. Needs root; takes about ten minutes by default.
"""

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
import typing

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "tools", "benchmark"),
                os.path.join(ROOT, "test", "sim")]

from hierarchy import ELASTIC, Level  # noqa: E402 (needs the path above)
from report import markdown_table  # noqa: E402
from suite import weirsim  # noqa: E402
from testbed import Testbed  # noqa: E402
from testbed.measure import FlowRates, Recorder  # noqa: E402
from testbed.processes import wait_until  # noqa: E402

BOXES = (1, 2)
ALONE = (1, 1)  # instead: one limiter has both wires
LINK = 20e6  # bit/s
RTT_S = 0.04
PER_GOODPUT = 1500 / 1448  # bytes of IP for each byte of TCP payload, in full packets
# Seconds until all requested flows have started; also how long they continue after the end.
LEAD_S = 1
NEAR = 3.0  # points of the link: a client has its part when no later second is further off


class Traffic(typing.NamedTuple):
    """The flows of a client: how many over each wire, and the DSCP that identifies them."""
    flows: tuple
    dscp: int


TRAFFIC = {
    "acme-web": Traffic((2, 1), 10),
    "acme-mail": Traffic((0, 6), 12),
    "zeta-all": Traffic((1, 1), 14),
    "zeta-late": Traffic((6, 2), 18),
}
LATE = "zeta-late"
SILENT, THERE, GONE = PHASES = ("silent", "there", "gone")  # state of the late client


def tree(phase, rate=LINK):
    """Returns the link with its policies; each `ideal` is the fair part in a phase."""
    link = Level("link", rate)
    acme = Level("acme", 0.8 * rate, guaranteed=0.4 * rate)
    zeta = Level("zeta", 0.8 * rate, weight=2)
    link.children = [acme, zeta]
    acme.children = [Level("acme-web", 0.8 * rate, guaranteed=0.25 * rate, asks=ELASTIC),
                     Level("acme-mail", 0.4 * rate, weight=2, asks=ELASTIC)]
    zeta.children = [Level("zeta-all", 0.3 * rate, weight=2, asks=ELASTIC),
                     Level(LATE, 0.8 * rate, asks=ELASTIC if phase == THERE else 0)]
    link.share(rate)
    return link


def policies(link):
    """Yields the policies for a configuration."""
    for policy in link.policies():
        traffic = TRAFFIC.get(policy["name"])
        match = traffic and {"match": {"direction": "a-to-b", "dscp": traffic.dscp}}
        yield policy | (match or {})


class Plan:
    """The schedule: each phase settles, and then is measured."""

    def __init__(self, settle, seconds, phases=PHASES):
        self.settle, self.seconds, self.phases = settle, seconds, phases
        self.end = self.begins(len(phases))

    def begins(self, phase):
        """Returns the second at which a phase starts."""
        return LEAD_S + phase * (self.settle + self.seconds)

    def window(self, phase):
        """Returns (start, end) of the measurement in a phase."""
        at = PHASES.index(phase)
        return self.begins(at) + self.settle, self.begins(at + 1)

    def active(self, name):
        """Returns from when to when a client sends."""
        if name != LATE:
            return 0, self.end + LEAD_S
        return self.begins(1), self.begins(2) if GONE in self.phases else self.end + LEAD_S


class Group(typing.NamedTuple):
    """The flows of a client over a wire."""
    client: str
    began: float
    end: float
    flows: object

    def goodput(self, begin, end):
        """Returns the sum of the flows' goodput in bit/s between two times."""
        if self.began >= end or self.end <= begin:
            return 0
        return sum(FlowRates(self.flows.limiter, self.flows.server.output(), begin - self.began,
                             end - self.began).means())


class Conductor:
    """Starts flows at their time, and reads the policies' counters; called ten times a second."""

    def __init__(self, bed, plan, names, congestion):
        self.bed, self.plan, self.names, self.congestion = bed, plan, names, congestion
        self.passed = Recorder(len(names))
        self.groups = []
        self.due = sorted((plan.active(name)[0], name) for name in TRAFFIC)

    def begin(self, now, name):
        """Starts all flows of a client. Rounds up, because iperf3 accepts only whole seconds."""
        end, traffic = self.plan.active(name)[1], TRAFFIC[name]
        for wire, count in enumerate(traffic.flows, start=1):
            if count:
                flows = self.bed.start_flows(wire, count, math.ceil(end - now), "-C",
                                             self.congestion, "--dscp", str(traffic.dscp))
                self.groups.append(Group(name, now, end, flows))

    def read(self):
        """Returns the bytes that each policy has passed, at all limiters."""
        return [sum(self.bed.policy(box, name)["passed"]["bytes"] for box in self.bed.boxes())
                for name in self.names]

    def tick(self, now, _run):
        """Reads the counters and starts the flows that are due."""
        began = time.monotonic() - now
        self.passed.add(time.monotonic() - began, self.read())
        while self.due and self.due[0][0] <= now:
            self.begin(time.monotonic() - began, self.due.pop(0)[1])
        for group in self.groups:
            group.flows.check()

    def finish(self):
        """Waits for the ends of all flows."""
        for group in self.groups:
            group.flows.finish(0, 0)


class Found(typing.NamedTuple):
    """Results of a run in bit/s.

    `passed` by policies, and `received` in full packets, each {phase: {name: rate}}. `late_client`:
    rates of the late client, [(seconds since its start, rate)], for each second from each tenth on.
    `late_us`: lateness of the worst emulated link in µs.
    """
    passed: dict
    received: dict
    late_client: list
    late_us: float

    def has_it_after(self, part, rate):
        """Returns the seconds until the late client has its part for good."""
        near = NEAR / 100 * rate
        return max((at for at, had in self.late_client if abs(had - part) > near), default=0.0)


def found(conductor, plan, links):
    """Returns the results of a finished run."""
    def rates(begin, end):
        return dict(zip(conductor.names, conductor.passed.rates(begin, end)))

    def goodput(begin, end):
        return {name: PER_GOODPUT * sum(group.goodput(begin, end) for group in conductor.groups
                                        if group.client == name) for name in TRAFFIC}

    since, until = plan.begins(1), plan.window(THERE)[1]
    seconds = [(k / 10 + 1, rates(since + k / 10, since + k / 10 + 1).get(LATE, 0))
               for k in range(int(10 * (until - since - 1)))]
    return Found({phase: rates(*plan.window(phase)) for phase in plan.phases},
                 {phase: goodput(*plan.window(phase)) for phase in plan.phases}, seconds,
                 max(link[way]["late_us"]["p99_below"] for link in links
                     for way in ("a-to-b", "b-to-a")))


def gathered(bed):
    """Returns true if each limiter counts the other."""
    return not bed.topology.gossiping or all(
        bed.telemetry(i).get("/weir/peers")["alive"] == 1 for i in bed.boxes())


def live(given, plan, seed=1, congestion="reno", homes=BOXES):
    """Runs live limiters with these policies; homes: the limiter of each wire."""
    def configure(_, config):
        config["policies"] = given

    with Testbed([0] * len(homes), homes=homes, rtt=RTT_S, seed=seed, configure=configure) as bed:
        bed.start()
        wait_until(lambda: gathered(bed), 10, "the limiters to meet")
        conductor = Conductor(bed, plan, [policy["name"] for policy in given], congestion)
        bed.run_flows(plan.end + LEAD_S / 2, warmup=0, observer=conductor.tick)
        conductor.finish()
        return found(conductor, plan,
                     [bed.emulator_stats("flow", wire) for wire in bed.topology.entries()])


def traffic_of(plan, end, homes):
    """Yields the flows for weirsim, for a run that ends at `end`."""
    for name, (flows, _) in TRAFFIC.items():
        start, stop = plan.active(name)
        for box, count in zip(homes, flows):
            if count and start < end:
                yield {"kind": "tcp", "limiter": f"l{box}", "policy": name, "count": count,
                       "rtt": f"{RTT_S * 1e3:g}ms", "start": f"{start:g}s",
                       "start_spread": "300ms"} | (
                           {"stop": f"{stop:g}s"} if stop < end else {})


def simulated(plan, phase, rate=LINK, homes=BOXES):
    """Returns {name: bit/s} of a phase in weirsim."""
    begin, end = plan.window(phase)
    scenario = {"duration": f"{end:g}s", "warmup": f"{begin:g}s", "limiters": max(homes),
                "policies": list(tree(phase, rate).policies()),
                "traffic": list(traffic_of(plan, end, homes)),
                "network": {"delay": f"{RTT_S / 2 * 1e3:g}ms"}}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario, file)
        file.flush()
        done = weirsim("run", file.name, "--quiet", "--json", "-", "--seed", "1")
    if done.returncode:
        sys.exit(f"two_boxes: {done.stderr}")
    summary = json.loads(done.stdout)
    return {policy["policy"]: policy["aggregate"]["mean_bps"]
            for policy in [summary] + summary["other_policies"]}


def off(run, phase, rate=LINK):
    """Returns {name: excess over the fair part, in points of the link}."""
    return {level.name: 100 * (run.passed[phase][level.name] - level.ideal) / rate
            for level in tree(phase, rate).every()}


def spread(values, form=".1f"):
    """Returns "median (least–most)"."""
    return f"{statistics.median(values):{form}} ({min(values):{form}}–{max(values):{form}})"


HEADS = ["late client", "policy", "max-min", "passed", "furthest off", "received", "simulated"]


def rows(plan, runs, rate, homes):
    """Yields each policy's values in each phase, in points of the link."""
    for phase in plan.phases:
        virtual = simulated(plan, phase, rate, homes)
        for level in tree(phase, rate).every():
            got = [100 * run.received[phase][level.name] / rate for run in runs
                   if level.name in TRAFFIC]
            yield [phase if level.name == "link" else "", level.name,
                   f"{100 * level.ideal / rate:.1f}",
                   spread([100 * run.passed[phase][level.name] / rate for run in runs]),
                   f"{max(abs(off(run, phase, rate)[level.name]) for run in runs):.1f}",
                   spread(got) if got else "", f"{100 * virtual[level.name] / rate:.1f}"]


def used(runs, plan, rate):
    """Returns cells with the used part of the link in each phase."""
    return [spread([run.passed[phase]["link"] / rate for run in runs], ".3f")
            for phase in plan.phases]


def in_words(runs, rate):
    """Returns how soon the late client had its part, as text."""
    part = next(level.ideal for level in tree(THERE, rate).every() if level.name == LATE)
    after = spread([run.has_it_after(part, rate) for run in runs])
    return (f"The last second in which the late client was more than {NEAR:g} points off its part "
            f"ended {after} s after it began.")


def flow_counts(text):
    """An argparse type: each client's number of flows over each wire."""
    try:
        counts = [tuple(int(count) for count in part.split("+")) for part in text.split(",")]
    except ValueError:
        counts = []
    if len(counts) != len(TRAFFIC) or not all(
            len(pair) == len(BOXES) and min(pair) >= 0 and 0 < max(pair) <= 100
            for pair in counts):
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected such as 2+1,0+6,1+1,6+2 of {', '.join(TRAFFIC)}")
    return counts


def options_of():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20, help="measured of each phase")
    parser.add_argument("--settle", type=int, default=10, help="of each phase, before that")
    parser.add_argument("--rate", type=float, default=LINK / 1e6, help="of the link, Mbit/s")
    parser.add_argument("--congestion", default="reno", help="TCP's, as the kernel calls it")
    parser.add_argument("--flows", type=flow_counts, help="of each client, over each wire")
    parser.add_argument("--one-limiter", action="store_true", help="it has both wires: compare")
    parser.add_argument("--verbose", action="store_true", help="say what each run had")
    return parser.parse_args()


def main():
    """Does all runs, and prints the tables."""
    options = options_of()
    for name, flows in zip(TRAFFIC, options.flows or ()):
        TRAFFIC[name] = TRAFFIC[name]._replace(flows=flows)
    homes = ALONE if options.one_limiter else BOXES
    plan, rate = Plan(options.settle, options.seconds), options.rate * 1e6
    cases = {"with levels": list(policies(tree(THERE, rate))),
             "one policy": [{"name": "link", "limit": f"{rate:.0f}bit/s",
                             "match": {"direction": "a-to-b"}}]}
    runs = {case: [] for case in cases}
    for seed in range(1, options.runs + 1):
        for case, given in cases.items():
            runs[case].append(live(given, plan, seed, options.congestion, homes))
            print(f"{case}, run {seed} of {options.runs}", file=sys.stderr, flush=True)
            if options.verbose:
                print(json.dumps(runs[case][-1]._asdict()), file=sys.stderr, flush=True)
    print(markdown_table(HEADS, list(rows(plan, runs["with levels"], rate, homes))))
    print()
    print(markdown_table(["part of the link used, late client", *plan.phases],
                         [[case, *used(them, plan, rate)] for case, them in runs.items()]))
    print(f"\n{in_words(runs['with levels'], rate)} 99 % of the packets left the emulated links "
          f"less than {max(run.late_us for them in runs.values() for run in them)} µs late.")


if __name__ == "__main__":
    main()

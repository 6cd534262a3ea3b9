# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Runs scenarios on live limiters: the same scenarios as weirsim's, and results of the same form.

A scenario is converted to a testbed. Flows that share a limiter, a round-trip time and a bottleneck
share an entry there: a source, its own link, a wire of the limiter, a sink.
"""

import copy
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import stats  # noqa: E402 (the testbed needs the path above)
from simulate import EvaluationError, Run, Series  # noqa: E402
from testbed import Testbed, TestbedError, processes, units  # noqa: E402
from testbed.bed import POLICY  # noqa: E402
from testbed.processes import wait_until  # noqa: E402

STEP = 0.1  # seconds between two samples of the series
WEB_CLASSES = (0, 5000, 50000, 500000, 1 << 62)  # sizes of replies, in weirsim's classes
IP_UDP = 28  # bytes of headers of a datagram
TRIES = 3
# On a busy machine, links deviate from the emulated delays: such a run is repeated.
LATE_MAX_US = 5000
CONGESTION = {"newreno": "reno"}  # the kernel's names, if they differ
LEDGER = "5eed0000000000000000000000001ed9"  # identity of the ledger of a hard limit


def seconds_of(text):
    """Returns the seconds of a time in a scenario."""
    return units.parse(text, units.TIME)


class Entry:
    """Properties of flows that share a link."""

    def __init__(self, flows):
        self.limiter = int(flows["limiter"][1:])
        self.rtt = seconds_of(flows["rtt"])
        self.bottleneck = flows.get("bottleneck")

    def __eq__(self, other):
        return vars(self) == vars(other)

    def link(self):
        """Returns the link's settings at the start."""
        return f"delay={self.rtt / 2 * 1e6:.0f}us"

    def narrow(self):
        """Returns the link's settings when it is the bottleneck."""
        return f"rate={self.bottleneck['rate']} queue={self.bottleneck['queue']}"


class Plan:
    """A scenario converted for a testbed: entries, and a schedule."""

    def __init__(self, scenario):
        self.warmup = seconds_of(scenario["warmup"])
        self.end = seconds_of(scenario["duration"])
        self.entries = []
        self.starts = []  # (time, entry, flows, seconds, traffic)
        self.changes = []  # (time, entry)
        self.traffic = {}  # name: flows of the scenario
        self.events = sorted(scenario.get("events", ()), key=lambda event: seconds_of(event["at"]))
        for k, flows in enumerate(scenario["traffic"], start=1):
            self._add(flows, f"traffic{k}")
        self.starts.sort()
        self.changes.sort()

    def _add(self, flows, traffic):
        if flows["kind"] not in ("tcp", "web"):
            raise EvaluationError(f"{flows['kind']}: live flows are TCP's")
        self.traffic[traffic] = flows
        entry = Entry(flows)
        if entry not in self.entries:
            self.entries.append(entry)
            if entry.bottleneck:
                self.changes.append((seconds_of(entry.bottleneck.get("from", "0s")),
                                     len(self.entries)))
        start = seconds_of(flows.get("start", "0s"))
        stop = seconds_of(flows["stop"]) if "stop" in flows else self.end
        self.starts.append((start, self.entries.index(entry) + 1, flows.get("count", 1),
                            stop - start, traffic))

    def homes(self):
        """Returns the limiter of each entry."""
        return [entry.limiter for entry in self.entries]


class Group:
    """Flows that were started together."""

    def __init__(self, began, traffic, flows):
        self.began = began
        self.traffic = traffic
        self.flows = flows
        self.report = None  # measure.FlowRates

    def finish(self, warmup, end):
        """Stores the flows' report for the measured time."""
        self.report = self.flows.finish(max(0, warmup - self.began), end - self.began)

    def seconds(self):
        """Yields (second of the run, rates of the flows)."""
        for row in self.report.rows:
            yield (round(self.began + row[0]["start"]),
                   [stream["bits_per_second"] for stream in row])


class Conductor:
    """Executes the plan on a testbed; called after every sample of its counters."""

    def __init__(self, bed, plan, scenario, seed):
        self.bed = bed
        self.scenario = scenario  # the limit's changes are applied to it
        self.seed = seed
        self.groups = []
        self.webs = []
        self.events = list(plan.events)
        self.sides = []
        self.down = set(bed.boxes())  # limiters that have not answered since their start
        self.answered = {i: [] for i in bed.boxes()}  # times of the first answers
        self.traffic = plan.traffic
        self.starts = list(plan.starts)
        self.changes = list(plan.changes)
        self.entries = plan.entries
        self.limits = []  # (time, local limits)

    def tick(self, now, _run):
        """Starts all flows and events that are due."""
        policies = {i: self.bed.policy(i) for i in self.bed.boxes()}
        self.limits.append((now, [policy["local_limit_bps"] if policy else 0
                                  for policy in policies.values()]))
        for i in [i for i in self.down if policies[i]]:
            self.answered[i].append(now)
            self.down.remove(i)
        while self.events and seconds_of(self.events[0]["at"]) <= now:
            self._enact(self.events.pop(0))
        while self.changes and self.changes[0][0] <= now:
            _, entry = self.changes.pop(0)
            self.bed.set_flow_link(entry, self.entries[entry - 1].narrow(), "a-to-b")
        while self.starts and self.starts[0][0] <= now:
            self._begin(*self.starts.pop(0))
        for flows in [group.flows for group in self.groups] + self.webs:
            flows.check()

    def _begin(self, began, entry, count, seconds, traffic):
        """Starts the flows of an entry of the scenario's traffic."""
        flows = self.traffic[traffic]
        name = flows.get("congestion", "newreno")
        name = CONGESTION.get(name, name)
        if flows["kind"] == "web":
            sizes = {key: value if key == "alpha" else units.parse(value, units.SIZE)
                     for key, value in flows.get("sizes", {}).items()}
            self.webs.append(self.bed.start_web(
                entry, seconds, congestion=name, requests=count * flows["requests"],
                seed=1000 * self.seed + int(traffic.removeprefix("traffic")), **sizes))
            return
        self.groups.append(Group(began, traffic, self.bed.start_flows(
            entry, count, seconds, "-C", name)))

    def _enact(self, event):
        """Executes one event of the scenario."""
        if "crash" in event:
            self.bed.kill_limiter(number(event["crash"]))
        elif "restart" in event:
            self.bed.spawn_limiter(number(event["restart"]))
            self.down.add(number(event["restart"]))
        elif "partition" in event:
            self.sides = [list(map(number, side)) for side in event["partition"]]
            self.bed.split(self.sides)
        elif "heal" in event:
            self.bed.split(self.sides, cut=False)
        elif "limit" in event:
            self.scenario["policies"][0]["limit"] = event["limit"]
            for i in self.bed.boxes():
                self.bed.reload_limiter(i)
        else:
            raise EvaluationError(f"{event}: not an event of live limiters")


def number(name):
    """Returns the number of a limiter from its name."""
    return int(name.removeprefix("l"))


def configure(scenario):
    """Returns a function that gives each limiter the policy and the gossip of a scenario."""
    def change(i, config):
        policy = config["policies"][0]
        policy |= {key: value for key, value in scenario["policies"][0].items() if key != "name"}
        if policy.get("meter") == "random-drop":
            policy.pop("burst")
        if "gossip" in config:
            config["gossip"] |= scenario["gossip"]
        if policy.get("guarantee") == "hard":
            folder = os.path.dirname(config["control"]["socket"])
            config["ledger"] = {"store": os.path.join(folder, f"store{i}")}
    return change


def new_ledgers(bed):
    """Creates the stores of limiters that have never run."""
    for i in bed.boxes():
        config = bed.config(i)
        path = bed.journal.path("new.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(config, out)
        if "ledger" in config:
            processes.run([bed.binary("app/weir/weir"), "--new-ledger", LEDGER, path])


def gathered(bed):
    """Returns true if every limiter counts its peers as alive."""
    return not bed.topology.gossiping or all(
        bed.policy(i)["peers_lost"] in (0, None) for i in bed.boxes())


def gossip_bits(bed):
    """Returns the bits that a limiter has sent so far, on average, with IP and UDP headers."""
    if not bed.topology.gossiping:
        return 0
    sent = [bed.telemetry(i).get("/weir/gossip") for i in bed.boxes()]
    return stats.mean((one["sent_bytes"] + IP_UDP * one["sent"]) * 8 for one in sent)


def lateness(bed):
    """Returns a bound in µs for the lateness of 99 % of the packets, for the worst of the flows'
    links."""
    links = [bed.emulator_stats("flow", i) for i in bed.topology.entries()]
    return max(link[way]["late_us"]["p99_below"] for link in links for way in ("a-to-b", "b-to-a"))


def last_before(samples, times):
    """Yields the last of [(time, value)] at each of the times; the first one before that."""
    samples, value = list(samples), samples[0][1]
    for time in times:
        while samples and samples[0][0] <= time:
            value = samples.pop(0)[1]
        yield value


def series(recorder, homes, limits, end):
    """Returns weirsim's columns of a policy: its rate, and rate and limit of each limiter."""
    bins = recorder.bins(0, end, STEP)
    times = [round((k + 1) * STEP, 3) for k in range(len(bins))]
    limits = list(last_before(limits, times))
    columns = {"cdn": [sum(rates) for _, rates in bins]}
    for limiter in sorted(set(homes)):
        columns[f"cdn/l{limiter}"] = [
            sum(rate for rate, home in zip(rates, homes) if home == limiter) for _, rates in bins]
        columns[f"cdn/l{limiter}:limit"] = [values[limiter - 1] for values in limits]
    return Series(times, columns)


def second_fairness(groups):
    """Returns the mean of Jain's index of the flows in each second."""
    seconds = {}
    for second, rates in (pair for group in groups for pair in group.seconds()):
        seconds.setdefault(second, []).extend(rates)
    return stats.mean(stats.jain(rates) for rates in seconds.values())


def summary(plan, run, made, groups, limit):
    """Returns the keys of weirsim's summary that the experiments use."""
    flows = [{"traffic": group.traffic, "mean_bps": rate}
             for group in groups for rate in group.report.means()]
    rates = [made.between(f"cdn/l{i}", plan.warmup, plan.end) for i in sorted(set(plan.homes()))]
    return {"aggregate_ratio": sum(run.recorder.rates(plan.warmup, plan.end)) / limit,
            "aggregate_ratio_max_1s": max(made.seconds("cdn", plan.warmup, plan.end)) / limit,
            "limiters": [{"share": rate / (sum(rates) or 1)} for rate in rates],
            "flows": flows, "jain": stats.jain([flow["mean_bps"] for flow in flows]),
            "jain_1s_mean": second_fairness(groups)}


def answer_rates(answers, warmup):
    """Returns the harmonic mean of the replies' rates by size, like weirsim's "web"."""
    found = []
    for least, most in zip(WEB_CLASSES, WEB_CLASSES[1:]):
        slow = [seconds / (8 * size) for start, size, seconds in answers
                if start >= warmup and least <= size < most]
        found.append({"from_bytes": least, "requests": len(slow),
                      "harmonic_mean_bps": len(slow) / sum(slow) if slow else 0})
    return found


def play(bed, plan, scenario, seed):
    """Runs the flows of a plan, on a testbed that is up."""
    limit = units.parse(scenario["policies"][0]["limit"], units.RATE)
    conductor = Conductor(bed, plan, scenario, seed)
    before = gossip_bits(bed)
    measured = bed.run_flows(plan.end - plan.warmup, plan.warmup, conductor.tick)
    control = (gossip_bits(bed) - before) / plan.end
    answers = [answer for web in conductor.webs for answer in web.finish()]
    for group in conductor.groups:
        group.finish(plan.warmup, plan.end)
    made = series(measured.recorder, plan.homes(), conductor.limits, plan.end)
    found = summary(plan, measured, made, conductor.groups, limit)
    return Run({**found, "control_bps": control, "late_us": lateness(bed),
                "web": answer_rates(answers, plan.warmup),
                "answered": {f"l{i}": times for i, times in conductor.answered.items()}}, made)


def once(scenario, seed):
    """Does one run."""
    scenario = copy.deepcopy(scenario)
    plan = Plan(scenario)
    network = scenario["network"]
    with Testbed([0] * len(plan.entries), homes=plan.homes(), configure=configure(scenario),
                 rtt=2 * seconds_of(network["delay"]), gossip_loss=network["loss"],
                 seed=seed) as bed:
        new_ledgers(bed)
        bed.start()
        for i, entry in enumerate(plan.entries, start=1):
            bed.set_flow_link(i, entry.link())
        wait_until(lambda: gathered(bed), 10, "the limiters to meet")
        return play(bed, plan, scenario, seed)


def run_one(scenario, seed):
    """Does one run; repeats it after a fault that is not Weir's."""
    for left in reversed(range(TRIES)):
        try:
            run = once(scenario, seed)
            if run.summary["late_us"] <= LATE_MAX_US or not left:
                return run
            words = f"links were {run.summary['late_us']} µs late"
        except (TestbedError, OSError) as error:
            words = str(error)
            if not left:
                raise EvaluationError(f"{scenario['name']}, live: {words}") from None
        print(f"  {scenario['name']}, live: again: {words}", file=sys.stderr, flush=True)
    raise AssertionError("the last try returns or raises")


def interleaved(cases, runs):
    """Returns {case: [Run]}, interleaved, so that the machine's speed affects all cases."""
    if os.geteuid():
        raise EvaluationError("live limiters need root: run tools/evaluate, which uses sudo")
    results = {name: [] for name in cases}
    for number in range(1, runs + 1):
        for name, scenario in cases.items():
            results[name].append(run_one(scenario, number))
            print(f"  {scenario['name']}, live: run {number} of {runs}", file=sys.stderr,
                  flush=True)
    return results

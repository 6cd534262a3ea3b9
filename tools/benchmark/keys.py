# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""What is asked, in one table each: ratios of cycles within a round, and figures of their own."""

import statistics
import typing


def spread(values):
    """What is told of a figure that was measured several times."""
    ordered = sorted(values)
    last = len(ordered) - 1
    return {"median": statistics.median(ordered), "p10": ordered[round(last * 0.1)],
            "p90": ordered[round(last * 0.9)]}


class Key(typing.NamedTuple):
    """A ratio: of each round, from the cycles that a packet took each contender in it."""
    name: str
    question: str
    over: str  # contenders whose cycles are divided
    under: str  # by this one's
    target: typing.Optional[float]
    words: str
    least: bool = False  # the target is a floor, not a ceiling


KEYS = (
    Key("full_1_vs_io", "policies", "full_1", "io", 1.5, "one policy, of a destination prefix"),
    Key("full_any_vs_io", "policies", "full_any", "io", None, "one policy, of every packet"),
    Key("full_10k_vs_io", "policies", "full_10k", "io", 2.1, "10,000 policies"),
    Key("full_10k_vs_io_with_headers", "policies", "full_10k", "io_with_headers", None,
        "the same, against io that pays for the stand-in too"),
    Key("full_10k_zipf_vs_io", "policies", "full_10k_zipf", "io", None,
        "10,000 policies, traffic by Zipf's law"),
    Key("full_100k_vs_io", "policies", "full_100k", "io", None, "100,000 policies"),
    Key("full_100k_vs_10k", "policies", "full_100k", "full_10k", 1.20,
        "100,000 policies against 10,000"),
    Key("unsampled_100k_vs_10k", "policies", "unsampled_100k", "unsampled_10k", None,
        "the same where no flow is sampled"),
    Key("library_10k_vs_io", "policies", "library_10k", "io", None,
        "rte_lpm and rte_meter, 10,000 prefixes"),
    Key("full_vs_library", "policies", "full_10k", "library_10k", 0.70,
        "10,000 policies against rte_lpm and rte_meter"),
    Key("levels_vs_one", "policies", "levels_10k", "full_10k", 1.5,
        "three levels, 10,000 clients of 1,000 customers of a link, against one"),
    Key("full_10k_vs_portable", "policies", "full_10k", "portable_10k", None,
        "with this CPU's vectors against without"),
    Key("full_100k_vs_portable", "policies", "full_100k", "portable_100k", None,
        "100,000 likewise"),
    Key("portable_vs_library", "policies", "portable_10k", "library_10k", None,
        "10,000 policies without them against the library"),
    Key("full_vs_library_100k", "policies", "full_100k", "library_100k", None,
        "100,000 likewise"),
    Key("full_vs_library_drops", "drops", "full_50", "library_50", 0.55,
        "the same where half is dropped"),
    Key("full_vs_library_drops_33", "drops", "full_33", "library_33", None,
        "where a third is dropped"),
    Key("library_drops_vs_none", "drops", "library_50", "library_0", None,
        "the library: half dropped against nothing dropped"),
    Key("phantom_1_vs_bucket", "phantom", "phantom_1", "bucket_1", None,
        "flows that share a limit (meter phantom) against a token bucket, one policy"),
    Key("phantom_10k_vs_bucket", "phantom", "phantom_10k", "bucket_10k", 1.3,
        "the same, 10,000 policies"),
    Key("phantom_10k_pressed_vs_bucket", "phantom", "phantom_10k_pressed", "bucket_10k_pressed",
        1.3, "the same where much of it is dropped"),
    Key("phantom_1_unhashed_vs_bucket", "phantom", "unhashed_1", "bucket_1", None,
        "one policy, of a device that tells no hash"),
    Key("phantom_10k_unhashed_vs_bucket", "phantom", "unhashed_10k", "bucket_10k", None,
        "10,000 policies likewise"),
    Key("shaped_vs_sched", "shape", "shaped_timed", "rte_sched", None,
        "packets that wait in 4,096 queues, whose departures are settled, against rte_sched"),
    Key("shaped_listed_vs_sched", "shape", "shaped_listed", "rte_sched", None,
        "the same with CoDel"),
    Key("shaped_vs_bucket", "shape", "shaped_timed", "bucket", None,
        "they wait, against being dropped"),
    Key("ipv6_vs_ipv4", "ipv6", "ipv6", "ipv4", 1.35, "IPv6 /48s against IPv4 prefixes"),
    Key("observed_vs_bucket", "observed", "observed", "bucket", 1.03,
        "sampling, control loop and three telemetry readers, against static limits unwatched"),
    Key("updates_vs_quiet", "updates", "quiet", "updated", 0.98,
        "throughput with a peer's gossip and limits that change, against quiet", True),
    Key("two_workers_vs_one", "workers", "one", "two", 1.9, "throughput of two workers", True),
    Key("io_two_vs_one", "workers", "io_one", "io_two", None,
        "the same of bare forwarding: what the machine has to give", True),
    Key("two_small_bursts_vs_one", "workers", "small_one", "small_two", None,
        "throughput of two workers, bursts of 9084 bytes", True),
    Key("two_queues_vs_one", "workers", "one", "two_queues", None,
        "two workers on two queues of the same net_null, which share lines of the driver's", True),
    Key("io_two_queues_vs_one", "workers", "io_one", "io_two_queues", None,
        "bare forwarding likewise", True),
    Key("cold_full_vs_mac", "cold", "full_10k", "mac", None,
        "packets that are in no cache: against swapping their MAC addresses"),
    Key("cold_full_vs_library", "cold", "full_10k", "library_10k", None,
        "packets that are in no cache: against the library"),
    Key("cold_portable_vs_library", "cold", "portable_10k", "library_10k", None,
        "the same without this CPU's vectors"),
    Key("hash_vs_full", "peers", "rte_hash_10k", "full_10k", None,
        "rte_hash of exact 5-tuples and rte_meter, against Weir"),
    Key("sched_vs_full", "peers", "rte_sched", "full_10k", None,
        "rte_sched's enqueue and dequeue, 4,096 pipes, against Weir"),
)

# Against the usual traffic to 10,000 policies, in the same rounds.
HOSTILE = {
    "one_policy": "all to one policy", "all_distinct": "every packet of another policy",
    "unmatched": "all of no policy", "fragments": "all fragments",
    "options": "IPv4 options in all", "smallest": "smallest packets (34 bytes)",
    "all_over": "everything above its limit", "source_scan": "every packet from a new source",
    "plan_scan": "every packet from a new source, within a plan within a link",
}
KEYS += tuple(Key(f"hostile_{name}_vs_full", "hostile", name, "full_10k", None, words)
              for name, words in HOSTILE.items())

DROPS = ("full_10", "full_33", "full_50", "full_90", "full_100")
WORST_DROP = Key("worst_drop_vs_none", "drops", "", "full_0", 1.03,
                 "the worst of 10, 33, 50, 90 and 100 % dropped, against nothing dropped")


class Figure(typing.NamedTuple):
    """A figure that is no ratio of cycles."""
    name: str
    source: str  # in the fast path's "once", or a program's; "" is reckoned from "latency"
    target: typing.Optional[float]
    unit: str
    words: str


FIGURES = (
    Figure("publish_ms", "publish_ms", 10, "ms",
           "100,000 new limits told to a worker: control's time"),
    Figure("policy_bytes", "policy_bytes", 128, "B",
           "memory of a policy for a further worker: mean of the second and the third"),
    Figure("policy_box_bytes", "policy_box_bytes", None, "B",
           "all memory of a policy, its configuration too, in a box of two workers"),
    Figure("sampled_policy_bytes", "sampled_policy_bytes", None, "B",
           "the same of one whose flows are sampled (fps)"),
    Figure("waits_idle", "", 0.05, "of a burst's time",
           "what two bursts in hand add to the 99th percentile of a packet's wait, 5 % load"),
    Figure("waits_busy", "", 1, "of a burst's time", "the same at 10 to 90 % load, the worst"),
    Figure("load_s", "load_s", 3, "s", "100,000 policies: load, validate, compile"),
)


def ratio(cycles, over, under):
    """The ratio of each round."""
    return [a / b for a, b in zip(cycles[over], cycles[under])]


def ratios_of(questions):
    """{KEY: spread} of what was measured."""
    found = {}
    for key in KEYS:
        contenders = questions.get(key.question, {})
        if key.over in contenders and key.under in contenders:
            cycles = {name: one["cycles"] for name, one in contenders.items()}
            found[key.name] = spread(ratio(cycles, key.over, key.under))
    if "drops" in questions:
        cycles = {name: one["cycles"] for name, one in questions["drops"].items()}
        rows = [spread(ratio(cycles, name, WORST_DROP.under)) for name in DROPS]
        found[WORST_DROP.name] = max(rows, key=lambda row: row["median"])
    return found


def waits_of(rows):
    """{name: spread} of what the 99th percentile gains by two bursts in hand, in bursts' times.

    What disturbs the machine adds to a round and takes nothing away: of each way the best of the
    rounds counts. In the spread of the loads the worst is the last.
    """
    gains = {}
    for load in {row["load"] for row in rows}:
        same = [row for row in rows if row["load"] == load]
        least = {way: min(row[way][1] for row in same) for way in ("at_once", "in_hand")}
        gains[load] = (least["in_hand"] - least["at_once"]) / same[0]["burst_cycles"]
    idle = min(gains)
    busy = max(gain for load, gain in gains.items() if load != idle)
    return {"waits_idle": spread([gains[idle]]), "waits_busy": spread([busy])}


def figures_of(once):
    """{name: spread} of what was measured once in a run."""
    figures = {one.name: spread(once[one.source]) for one in FIGURES if once.get(one.source)}
    return figures | (waits_of(once["latency"]) if "latency" in once else {})


# Stages of a packet's way: differences of two contenders of the question "policies".
STAGES = (
    ("rx_tx", "io", None, "receive and send"),
    ("stand_in", "io_with_headers", "io", "the stand-in for a wire (a test's artefact)"),
    ("classify", "classify_10k", "io_with_headers", "parse and classify"),
    ("meter", "unsampled_10k", "classify_10k",
     "meter, counters, clock and quiescent state"),
    ("sampling", "full_10k", "unsampled_10k", "sampling of flows"),
    ("total", "full_10k", None, "all of it"),
)


def cycles_of(questions):
    """{stage: spread of cycles}, and of every contender."""
    found = {"contenders": {
        question: {name: spread(one["cycles"]) | {"dropped": one["dropped"]}
                   for name, one in contenders.items()}
        for question, contenders in questions.items()}}
    if "policies" in questions:
        cycles = {name: one["cycles"] for name, one in questions["policies"].items()}
        for name, much, less, _ in STAGES:
            values = cycles[much] if less is None else [a - b for a, b in
                                                        zip(cycles[much], cycles[less])]
            found[name] = spread(values)
    if "drops" in questions:
        cycles = {name: one["cycles"] for name, one in questions["drops"].items()}
        found["drop_handling"] = spread([a - b for a, b in zip(cycles["full_50"],
                                                               cycles["full_0"])])
    return found


def all_names():
    """Every key that can be asked for, and the question that answers it."""
    names = {key.name: key.question for key in KEYS}
    names[WORST_DROP.name] = "drops"
    names |= {one.name: "scale" if one.source else "latency" for one in FIGURES}
    names |= {"per_source_vs_line": "per_source", "control_share": "control",
              "testpmd_vs_io": "testpmd", "kernel": "kernel", "cycles": "policies"}
    return names

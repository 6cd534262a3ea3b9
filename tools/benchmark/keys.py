# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Tables of all keys of tools/bench: ratios of cycles within a round, and other figures."""

import statistics
import typing


def spread(values):
    """The median and the 10th and 90th percentile of repeated measurements."""
    ordered = sorted(values)
    last = len(ordered) - 1
    return {"median": statistics.median(ordered), "p10": ordered[round(last * 0.1)],
            "p90": ordered[round(last * 0.9)]}


class Key(typing.NamedTuple):
    """A ratio of two contenders: cycles a packet within a round, divided round by round.

    With a base, the cycles of that contender are subtracted from both first.
    """
    name: str
    question: str
    over: str  # contender of the numerator
    under: str  # contender of the denominator
    target: typing.Optional[float]
    words: str
    least: bool = False  # the target is a floor, not a ceiling
    base: str = ""  # contender whose cycles both include


KEYS = (
    Key("full_1_vs_io", "policies", "full_1", "io", 1.5,
        "one policy that matches a destination prefix"),
    Key("full_any_vs_io", "policies", "full_any", "io", None,
        "one policy that matches every packet"),
    Key("full_10k_vs_io", "policies", "full_10k", "io", 2.1, "10,000 policies"),
    Key("full_10k_vs_io_with_headers", "policies", "full_10k", "io_with_headers", None,
        "the same, against io with the stand-in for a wire"),
    Key("full_10k_zipf_vs_io", "policies", "full_10k_zipf", "io", None,
        "10,000 policies, traffic distributed by Zipf's law"),
    Key("full_100k_vs_io", "policies", "full_100k", "io", None, "100,000 policies"),
    Key("full_100k_vs_10k", "policies", "full_100k", "full_10k", 1.20,
        "100,000 policies against 10,000"),
    Key("unsampled_100k_vs_10k", "policies", "unsampled_100k", "unsampled_10k", None,
        "the same without sampling of flows"),
    Key("library_10k_vs_io", "policies", "library_10k", "io", None,
        "rte_lpm and rte_meter, 10,000 prefixes"),
    Key("full_vs_library", "policies", "full_10k", "library_10k", 0.70,
        "10,000 policies against rte_lpm and rte_meter"),
    Key("levels_vs_one", "policies", "levels_10k", "full_10k", 1.5,
        "three levels, 10,000 clients of 1,000 customers of a link, against one"),
    Key("full_10k_vs_portable", "policies", "full_10k", "portable_10k", None,
        "10,000 policies with this CPU's vector instructions, against without them"),
    Key("full_100k_vs_portable", "policies", "full_100k", "portable_100k", None,
        "the same, 100,000 policies"),
    Key("portable_vs_library", "policies", "portable_10k", "library_10k", None,
        "10,000 policies without vector instructions, against the library"),
    Key("full_vs_library_100k", "policies", "full_100k", "library_100k", None,
        "100,000 policies against the library"),
    Key("full_vs_library_drops", "drops", "full_50", "library_50", 0.55,
        "10,000 policies against the library, half of the packets dropped"),
    Key("full_vs_library_drops_33", "drops", "full_33", "library_33", None,
        "the same, a third of the packets dropped"),
    Key("library_drops_vs_none", "drops", "library_50", "library_0", None,
        "the library: half of the packets dropped, against none"),
    Key("phantom_1_vs_bucket", "phantom", "phantom_1", "bucket_1", None,
        "flows that share a limit (meter phantom), against a token bucket, one policy"),
    Key("phantom_10k_vs_bucket", "phantom", "phantom_10k", "bucket_10k", 1.3,
        "the same, 10,000 policies"),
    Key("phantom_10k_pressed_vs_bucket", "phantom", "phantom_10k_pressed", "bucket_10k_pressed",
        1.3, "the same, half of the packets dropped"),
    Key("phantom_1_unhashed_vs_bucket", "phantom", "unhashed_1", "bucket_1", None,
        "one policy, a device that delivers no hash"),
    Key("phantom_10k_unhashed_vs_bucket", "phantom", "unhashed_10k", "bucket_10k", None,
        "the same, 10,000 policies"),
    Key("shaped_vs_sched", "shape", "shaped_timed", "rte_sched", None,
        "shaping: 4,096 queues, departure times set on arrival, against rte_sched"),
    Key("shaped_listed_vs_sched", "shape", "shaped_listed", "rte_sched", None,
        "the same with CoDel"),
    Key("shaped_vs_bucket", "shape", "shaped_timed", "bucket", None,
        "shaping, against dropping with a token bucket"),
    Key("ipv6_vs_ipv4", "ipv6", "ipv6", "ipv4", 1.35, "IPv6 /48s against IPv4 prefixes"),
    Key("observed_vs_bucket", "observed", "observed", "bucket", 1.03,
        "sampling, control loop and three telemetry readers, against static limits without "
        "these"),
    Key("updates_vs_quiet", "updates", "quiet", "updated", 0.98,
        "throughput with gossip from a peer and changing limits, against neither", True),
    Key("two_workers_vs_one", "workers", "one", "two", 1.9, "throughput of two workers", True),
    Key("io_two_vs_one", "workers", "io_one", "io_two", None,
        "the same for bare forwarding: the gain that the machine allows", True),
    Key("two_small_bursts_vs_one", "workers", "small_one", "small_two", None,
        "throughput of two workers, bursts of 9084 bytes", True),
    Key("two_queues_vs_one", "workers", "one", "two_queues", None,
        "two workers on two queues of one net_null, which share the driver's cache lines", True),
    Key("io_two_queues_vs_one", "workers", "io_one", "io_two_queues", None,
        "the same for bare forwarding", True),
    Key("cold_full_vs_mac", "cold", "full_10k", "mac", None,
        "packets in no cache, against swapping their MAC addresses"),
    Key("cold_full_vs_library", "cold", "full_10k", "library_10k", None,
        "packets in no cache, against the library"),
    Key("cold_portable_vs_library", "cold", "portable_10k", "library_10k", None,
        "the same without this CPU's vector instructions"),
    Key("hash_vs_full", "peers", "rte_hash_10k", "full_10k", None,
        "rte_hash of exact 5-tuples and rte_meter, against Weir"),
    Key("sched_vs_full", "peers", "rte_sched", "full_10k", None,
        "rte_sched's enqueue and dequeue, 4,096 pipes, against Weir"),
)

# Own cost: cycles without those of forwarding the same packets, as a part of the library's own
# cost. For packets in net_null's buffers (first cache), in rings that fit in a cache, in no cache.
KEYS += tuple(Key(name, question, over, under, target, words, base=base)
              for name, question, over, under, base, target, words in (
    ("own_10k", "policies", "full_10k", "library_10k", "io_with_headers", 0.55,
     "own cost of 10,000 policies, as a part of the library's"),
    ("own_portable", "policies", "portable_10k", "library_10k", "io_with_headers", 0.65,
     "the same without this CPU's vector instructions"),
    ("own_1", "policies", "full_1", "library_10k", "io_with_headers", 0.35,
     "own cost of one policy, as a part of the library's of 10,000"),
    ("own_100k", "policies", "full_100k", "library_100k", "io_with_headers", 0.60,
     "own cost of 100,000 policies, as a part of the library's"),
    ("cached_own_few", "cached", "full_few", "library_few", "io_with_headers", None,
     "packets from a ring, own cost of 10 policies, as a part of the library's"),
    ("cached_own_10k", "cached", "full_10k", "library_10k", "io_with_headers", None,
     "the same, 10,000 policies"),
    ("cached_own_portable", "cached", "portable_10k", "library_10k", "io_with_headers", None,
     "the same without this CPU's vector instructions"),
    ("cached_own_100k", "cached", "full_100k", "library_100k", "io_with_headers", None,
     "the same, 100,000 policies"),
    ("cold_own_10k", "cold", "full_10k", "library_10k", "mac", None,
     "packets in no cache, own cost beyond swapping MAC addresses, as a part of the library's"),
))

# Packets from rings of 16,384, as a card with access to the cache delivers them.
KEYS += tuple(Key(f"cached_{name}", "cached", over, under, target, words)
              for name, over, under, target, words in (
    ("full_vs_library", "full_10k", "library_10k", 0.70,
     "packets from a ring, 10,000 policies against the library"),
    ("portable_vs_library", "portable_10k", "library_10k", None,
     "the same without this CPU's vector instructions"),
    ("full_few_vs_library", "full_few", "library_few", None, "the same, 10 policies"),
    ("full_100k_vs_library", "full_100k", "library_100k", None, "the same, 100,000 policies"),
    ("full_10k_vs_io_with_headers", "full_10k", "io_with_headers", None,
     "packets from a ring, 10,000 policies against forwarding them"),
    ("full_100k_vs_10k", "full_100k", "full_10k", None,
     "packets from a ring, 100,000 policies against 10,000"),
))

# Contenders with few policies, so that a burst has several packets of one policy.
FEW = {"2": "2 policies", "4": "4 policies", "20": "20 policies", "200": "200 policies",
       "200_zipf": "200 policies, traffic distributed by Zipf's law"}
KEYS += tuple(Key(f"few_{name}_vs_library", "few", f"full_{name}", f"library_{name}", 0.85,
                  f"{words}, against rte_lpm and rte_meter") for name, words in FEW.items())
KEYS += tuple(Key(f"few_{name}_vs_10k", "few", f"full_{name}", "full_10k", 1.0,
                  f"{words}, against 10,000 policies") for name, words in FEW.items())

# Each is compared with the usual traffic to 10,000 policies, in the same rounds.
HOSTILE = {
    "one_policy": "all packets to one policy", "all_distinct": "each packet to a different policy",
    "unmatched": "no packet matches a policy", "fragments": "all packets are fragments",
    "options": "IPv4 options in all packets", "smallest": "smallest packets (34 bytes)",
    "all_over": "all packets exceed their limit", "source_scan": "every packet from a new source",
    "plan_scan": "every packet from a new source, within a plan within a link",
}
KEYS += tuple(Key(f"hostile_{name}_vs_full", "hostile", name, "full_10k", None, words)
              for name, words in HOSTILE.items())

DROPS = ("full_10", "full_33", "full_50", "full_90", "full_100")
WORST_DROP = Key("worst_drop_vs_none", "drops", "", "full_0", 1.03,
                 "the worst of 10, 33, 50, 90 and 100 % dropped, against none dropped")


class Figure(typing.NamedTuple):
    """A figure other than a ratio of cycles."""
    name: str
    source: str  # member of the results' "once"; "" is computed from "latency"
    target: typing.Optional[float]
    unit: str
    words: str


FIGURES = (
    Figure("publish_ms", "publish_ms", 10, "ms",
           "control's time to publish 100,000 new limits to a worker"),
    Figure("policy_bytes", "policy_bytes", 128, "B",
           "memory per policy for each additional worker: mean of the second and the third"),
    Figure("policy_box_bytes", "policy_box_bytes", None, "B",
           "all memory per policy, configuration included, in a limiter with two workers"),
    Figure("sampled_policy_bytes", "sampled_policy_bytes", None, "B",
           "the same with sampled flows (fps)"),
    Figure("waits_idle", "", 0.05, "of a burst's time",
           "added to the 99th percentile of a packet's wait by two bursts in hand, 5 % load"),
    Figure("waits_busy", "", 1, "of a burst's time", "the worst of the same at 10 to 90 % load"),
    Figure("load_s", "load_s", 3, "s", "100,000 policies: load, validate, compile"),
)


def ratio(cycles, over, under, base=""):
    """The ratio of each round."""
    less = cycles[base] if base else [0] * len(cycles[over])
    return [(a - c) / (b - c) for a, b, c in zip(cycles[over], cycles[under], less)]


def ratios_of(questions):
    """{KEY: spread} of all ratios whose contenders were measured."""
    found = {}
    for key in KEYS:
        contenders = questions.get(key.question, {})
        if {key.over, key.under} <= set(contenders):
            cycles = {name: one["cycles"] for name, one in contenders.items()}
            found[key.name] = spread(ratio(cycles, key.over, key.under, key.base))
    if "drops" in questions:
        cycles = {name: one["cycles"] for name, one in questions["drops"].items()}
        rows = [spread(ratio(cycles, name, WORST_DROP.under)) for name in DROPS]
        found[WORST_DROP.name] = max(rows, key=lambda row: row["median"])
    return found


def waits_of(rows):
    """{name: spread} of the wait that two bursts in hand add at the 99th percentile.

    The unit is the time of a burst. Disturbances of the machine only lengthen a round, so the best
    round of each way counts. "waits_busy" is the worst of the loads.
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
    """{name: spread} of the figures that a run measures once."""
    figures = {one.name: spread(once[one.source]) for one in FIGURES if once.get(one.source)}
    return figures | (waits_of(once["latency"]) if "latency" in once else {})


# Stages of a packet's path: differences of two contenders of the question "policies".
STAGES = (
    ("rx_tx", "io", None, "receive and send"),
    ("stand_in", "io_with_headers", "io", "the stand-in for a wire (artefact of the test)"),
    ("classify", "classify_10k", "io_with_headers", "parse and classify"),
    ("meter", "unsampled_10k", "classify_10k",
     "meter, counters, clock and quiescent state"),
    ("sampling", "full_10k", "unsampled_10k", "sampling of flows"),
    ("total", "full_10k", None, "total"),
)


def cycles_of(questions):
    """{stage: spread of cycles}, and the spread of every contender."""
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
    """{key: question that answers it} of every key of --only."""
    names = {key.name: key.question for key in KEYS}
    names[WORST_DROP.name] = "drops"
    names |= {one.name: "scale" if one.source else "latency" for one in FIGURES}
    names |= {"per_source_vs_line": "per_source", "control_share": "control",
              "testpmd_vs_io": "testpmd", "kernel": "kernel", "cycles": "policies"}
    return names

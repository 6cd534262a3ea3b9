# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""E11: the cost of hard limits."""

import statistics

import dynamics
import scenario
import stats
from report import Result

WORDS = ("limits that are never exceeded",
         "The scenarios of E1, E2, E4 and E8 with a soft and a hard limit. The same FPS decides "
         "where the limit should go, and a ledger moves a hard limit "
         "([ledger.md](../design/ledger.md)).",
         "no such limits: its limits are exceeded while news travels.",
         "a hard limit is never exceeded, and has the soft limit's rates and shares if the burst "
         "is deep enough.")

# "Settled" refers to local limits, and in E4 to rates.
BUCKETS = ("**Configure a burst of six packets for each limiter of a hard limit**: it is divided "
           "like the limit. A tenth of 40 kB is less than three packets, which slows down TCP. A "
           "soft limit has at least six packets at each limiter, and so passes up to "
           "several bursts more.")

SIX_PACKETS = 9000  # bytes

GUARANTEES = ("soft", "hard")


def change_policy(made, **settings):
    """Returns a scenario whose policy has other settings."""
    return {**made, "policies": [{**made["policies"][0], **settings}]}


def excess(run, limit, interval=0.1):
    """Returns the most bytes that passed in excess of limit × time, between any two times."""
    most = now = 0.0
    for rate in run.series["cdn"]:
        now = max(now + (rate - limit) * interval / 8, 0.0)
        most = max(most, now)
    return most


def limits_of(run, limiters):
    """Returns the sum of the limiters' local limits over time."""
    return [sum(values) for values in
            zip(*(run.series[f"cdn/l{k}:limit"] for k in limiters))]


def settle_limits(run, limiters, target, tolerance, begin, end):
    """Returns seconds until the sum of some limiters' local limits is within the tolerance of a
    target."""
    found = stats.settle(run.series.times, limits_of(run, limiters), target, tolerance, begin, end)
    return dynamics.NEVER if found is None else found


def shift_settles(run, limiters, some, limit):
    """Returns when some limiters have nearly the whole limit, after demand has moved to them; and
    when the others have their part, after it has moved back."""
    busy, others = range(1, some + 1), range(some + 1, limiters + 1)
    return [[settle_limits(run, busy, limit, 0.08, 30, 60)],
            [settle_limits(run, others, limit * len(others) / limiters, 0.1, 60, 90)]]


# Name, scenario, limit, burst, function of a run that returns settling times, or None
CASES = (
    ("baseline (E1)", scenario.baseline("fps"), 10e6, 75e3, None),
    ("flows join and leave (E2)", scenario.joins("fps"), 10e6, 75e3,
     lambda run: [dynamics.limit_settles(run)]),
    ("bottlenecked flows (E4)", scenario.bottlenecked("fps"), 10e6, 75e3,
     lambda run: dynamics.bottleneck_settles([run])),
    ("demand moves among 10 (E8)", scenario.shifting("fps"), 5e6, 40e3,
     lambda run: shift_settles(run, 10, 4, 5e6)),
    ("the same, bucket of 90 kB", change_policy(scenario.shifting("fps"), burst="90kB"), 5e6,
     90e3, lambda run: shift_settles(run, 10, 4, 5e6)),
    ("demand moves among 30", scenario.shifting("fps", limiters=30), 15e6, 270e3,
     lambda run: shift_settles(run, 30, 12, 15e6)),
)


def make_row(name, guarantee, made, limit, burst, settle, runs):
    """Returns one row of the JSON."""
    changes = zip(*(settle(run) for run in runs)) if settle else []
    settles = [[value for values in change for value in values] for change in changes]
    return {"allocator": "fps", "case": name, "guarantee": guarantee,
            "limiters": made["limiters"], "seeds": len(runs),
            "bucket": burst / made["limiters"],
            "aggregate_ratio": stats.mean(r.summary["aggregate_ratio"] for r in runs),
            "jain": stats.mean(r.summary["jain_1s_mean"] for r in runs),
            "limits_ratio": max(r.summary["sum_of_limits_max_ratio"] for r in runs),
            "excess_bursts": max(excess(run, limit) / burst for run in runs),
            "control_bps": stats.mean(r.summary["control_bps"] for r in runs),
            "settle_s": [statistics.median(values) for values in settles],
            "settle_s_max": [max(values) for values in settles]}


def in_words(row):
    """Returns a line of the table."""
    settles = [f"{dynamics.in_words(median)} ({dynamics.in_words(slowest)})" for median, slowest
               in zip(row["settle_s"], row["settle_s_max"])]
    return [f"{row['case']}, {row['guarantee']}", f"{row['aggregate_ratio']:.3f}",
            f"{row['jain']:.3f}", ", ".join(settles), f"{row['limits_ratio']:.3f}",
            f"{row['excess_bursts']:.2f}", f"{row['control_bps'] / 1e3:.1f}"]


def judge(result, pairs):
    """Adds our targets; the reference is the soft limit."""
    deep = [pair for pair in pairs if pair[0]["bucket"] >= SIX_PACKETS]
    apart = max(abs(hard["aggregate_ratio"] - soft["aggregate_ratio"]) for soft, hard in deep)
    jain = max(soft["jain"] - hard["jain"] for soft, hard in deep)
    slower = max(there / here for soft, hard in pairs
                 for here, there in zip(soft["settle_s"], hard["settle_s"])
                 if here != dynamics.NEVER)
    hard = [pair[1] for pair in pairs]
    result.target("at most the limit enforced, and at most limit × time + burst admitted "
                  "between any two times",
                  all(row["limits_ratio"] <= 1 and row["excess_bursts"] <= 1 for row in hard),
                  f"at most {max(row['limits_ratio'] for row in hard):.3f} of the limit and "
                  f"{max(row['excess_bursts'] for row in hard):.2f} of the burst")
    result.target("if six packets fit in an equal part of the burst: aggregate within 1 % of "
                  "the soft limit's, Jain's index within 0.02", apart <= 0.01 and jain <= 0.02,
                  f"aggregate at most {apart * 100:.1f} % apart, Jain's index {jain:.3f} lower")
    result.target("settled in at most twice the time", slower <= 2,
                  f"at most {slower:.2f} times (medians)")


CALLS = (("static", {}), ("fps", {}), ("fps", {"guarantee": "hard"}),
         *(("gdrl", {"indicator": name}) for name in ("spare", "utilisation", "loss")))


def show_calls(sim, result):
    """Adds a table of traffic that does not adapt, by allocator and settings."""
    lines = []
    for allocator, settings in CALLS:
        runs = sim.runs(scenario.calls(allocator, **settings), series=True)
        words = ", ".join([allocator, *settings.values()])
        dropped = [r.summary["packets"]["limit"] / r.summary["packets"]["sent"] for r in runs]
        row = {"allocator": allocator, "case": "calls", **settings, "seeds": len(runs),
               "aggregate_ratio": stats.mean(r.summary["aggregate_ratio"] for r in runs),
               "dropped": stats.mean(dropped),
               "excess_bursts": max(excess(run, 6e6) / 80e3 for run in runs)}
        result.rows.append(row)
        lines.append([words, f"{row['aggregate_ratio']:.3f}", f"{row['dropped'] * 100:.1f} %",
                      f"{row['excess_bursts']:.2f}"])
    result.say("Traffic that does not adapt: 10, 20, 30 and 40 calls at four limiters, the "
               "reverse after half of the time; mean demand 1.07 of the limit. With the "
               "allocator `gdrl` ([gdrl.md](../design/gdrl.md)) an indicator moves the limit, "
               "always a hard one.")
    result.table(["", "aggregate / limit", "packets dropped",
                  "beyond limit × time, most, in bursts"], lines)


def hard_limits(sim, quick):
    """Runs E11."""
    result = Result(*WORDS)
    pairs = []
    for name, made, limit, burst, settle in CASES[:5] if quick else CASES:
        pair = []
        for guarantee in GUARANTEES:
            runs = sim.runs(change_policy(made, guarantee=guarantee), series=True)
            pair.append(make_row(name, guarantee, made, limit, burst, settle, runs))
            if name.endswith("(E8)"):
                dynamics.picture(result, f"e11-{guarantee}", f"Shifting demand: fps, {guarantee}",
                                 runs[0], ["cdn", *(f"cdn/l{k}" for k in range(1, 8))])
        pairs.append(pair)
        result.rows += pair
    result.table(["", "aggregate / limit", "Jain, second by second",
                  "each change has settled, median (slowest)", "sum of local limits / limit, most",
                  "beyond limit × time, most, in bursts", "gossip, kbit/s a limiter"],
                 [in_words(row) for pair in pairs for row in pair])
    result.say(BUCKETS)
    show_calls(sim, result)
    judge(result, pairs)
    return result

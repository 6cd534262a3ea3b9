# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""How limiters compute global sums: the papers' estimators, and Weir's."""

import scenario
import stats
from report import Result

ESTIMATORS = ("state", "push-sum", "compensated-push-sum", "flow-updating")
LOSSES = (0, 0.002, 0.01, 0.05, 0.2)
LIMITERS = (4, 50)
SEEDS = 2
TARGET_LOSS, TARGET_MEAN, TARGET_WORST = 0.05, 1.02, 1.1


def steady(allocator, limiters, estimator, loss, seed):
    """Returns constant flows: 8, 16, 24 and 32 at four limiters, 0 to 5 at each of more."""
    places = scenario.scale_flows(limiters, seed)
    counts = [8 * k if limiters == 4 else places.count(k) for k in range(1, limiters + 1)]
    traffic = [scenario.flows(count, k, start_spread="2s")
               for k, count in enumerate(counts, 1) if count]
    return scenario.scenario(f"sums, {limiters} limiters, {allocator}, {estimator}, {loss:g}",
                             allocator, limiters, traffic, 60, warmup=10, loss=loss,
                             gossip={"branching": 3, "estimator": estimator},
                             settings={"limit": "50Mbit/s", "burst": "375kB", "interval": "50ms",
                                       "ewma": 0.5 if allocator == "grd" else 0.1})


def measure(sim, seeds, allocator, limiters, estimator, loss):
    """Returns the row of one case."""
    runs = sim.runs(lambda seed: steady(allocator, limiters, estimator, loss, seed), seeds)
    return {"estimator": estimator, "allocator": allocator, "limiters": limiters, "loss": loss,
            "seeds": len(runs),
            "aggregate_ratio": stats.mean(r.summary["aggregate_ratio"] for r in runs),
            "aggregate_ratio_max_1s": max(r.summary["aggregate_ratio_max_1s"] for r in runs),
            "jain": stats.mean(r.summary["jain"] for r in runs),
            "control_bps": stats.mean(r.summary["control_bps"] for r in runs)}


def estimators(sim, quick):
    """Measures gossip under loss."""
    result = Result(
        "global sums under loss",
        "Constant flows: 80 at 4 limiters, 0 to 5 at each of 50. GRD has an EWMA of 0.5. "
        f"{SEEDS} seeds each. Limiters of such groups use `state`; [the "
        "others](../operate/weirsim.md#estimators) exist only in weirsim.",
        "the next update is scaled by the number of lost ones, so the mean is right.",
        "`state` and `flow-updating` keep the sum under loss; `push-sum` fails from 0.2 to 1 % on, "
        "and its compensated form from 1 to 5 % on.")
    lines = []
    for limiters in LIMITERS:
        for allocator in ("fps", "grd"):
            for estimator in ESTIMATORS:
                rows = [measure(sim, 1 if quick else SEEDS, allocator, limiters, estimator, loss)
                        for loss in LOSSES]
                result.rows += rows
                cells = [f"{row['aggregate_ratio']:.3f} / {row['aggregate_ratio_max_1s']:.3f}"
                         for row in rows]
                lines.append([limiters, allocator, estimator, *cells,
                              f"{rows[0]['control_bps'] / 1e3:.0f}"])
    result.say("Mean of the aggregate and its worst second in any seed, as parts of the limit, for "
               "each loss of gossip:")
    result.table(["limiters", "allocator", "estimator", *(f"loss {loss * 100:g} %"
                                                          for loss in LOSSES),
                  "kbit/s a limiter"], lines)
    kept = [row for row in result.rows
            if row["estimator"] == "flow-updating" and row["loss"] <= TARGET_LOSS]
    mean, worst = (max(row[key] for row in kept)
                   for key in ("aggregate_ratio", "aggregate_ratio_max_1s"))
    result.target(f"`flow-updating`, loss up to {TARGET_LOSS * 100:g} %: mean at most "
                  f"{TARGET_MEAN} and worst second at most {TARGET_WORST}",
                  mean <= TARGET_MEAN and worst <= TARGET_WORST,
                  f"at most {mean:.3f} and {worst:.3f}")
    return result

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""How limiters learn global sums: the paper's estimator beside ours, at the same cost."""

import scenario
import stats
from report import Result

ESTIMATORS = (("tree", {}), ("push-sum", {}), ("push-sum, compensated", {"compensate": True}))


def estimators(sim, quick):
    """Gossip under loss."""
    result = Result("global sums under loss", "a lost update is made up for by scaling the next "
                    "one by the number lost; right on average.")
    lines = []
    for loss in (0.0, 0.01, 0.05):
        for name, settings in ESTIMATORS:
            kind = name.split(",", maxsplit=1)[0]

            def make(seed, kind=kind, settings=settings, loss=loss):
                # One peer a tick: push-sum then sends as much as the tree.
                made = scenario.scaling("grd", 50, loss=loss, estimator=kind, seed=seed,
                                        ewma=0.5, branching=3 if kind == "tree" else 1)
                made["gossip"].update(settings)
                return made

            runs = sim.runs(make, 2 if quick else 5)
            row = {"estimator": name, "allocator": "grd", "limiters": 50, "loss": loss,
                   "seeds": len(runs),
                   "aggregate_ratio": stats.mean(r.summary["aggregate_ratio"] for r in runs),
                   "aggregate_ratio_max_1s": max(r.summary["aggregate_ratio_max_1s"]
                                                 for r in runs),
                   "jain": stats.mean(r.summary["jain"] for r in runs),
                   "control_bps": stats.mean(r.summary["control_bps"] for r in runs)}
            result.rows.append(row)
            lines.append([name, f"{loss * 100:g} %", f"{row['aggregate_ratio']:.3f}",
                          f"{row['aggregate_ratio_max_1s']:.3f}", f"{row['jain']:.3f}",
                          f"{row['control_bps'] / 1e3:.1f}"])
    result.say("GRD (EWMA 0.5) among 50 limiters, which feels every error of the sum at once.")
    result.table(["estimator", "loss", "aggregate / limit", "worst second", "Jain",
                  "kbit/s a limiter"], lines)
    return result

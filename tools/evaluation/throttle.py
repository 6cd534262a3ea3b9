# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""E9: how many requests get through before the throttle (Finch's formula)."""

import csv
import fractions
import json
import os
import struct
import subprocess
import tempfile

from report import Result
from simulate import EvaluationError, weirsim

QUOTA, WINDOW = 100, 10  # requests in seconds
FACTORS = ("11/10", "3/2", "2", "3", "5", "10")
METERS = {"token-bucket": {"burst": QUOTA}, "gcra": {"burst": QUOTA},
          "fixed-window": {"window": f"{WINDOW}s"}, "hybrid": {"window": f"{WINDOW}s"}}

FRAME = bytes.fromhex("020000000002020000000001" "0800"
                      "4500001c000040004011 0000 0a000001 0a000002" "04d2 0035 0008 0000")


def capture(path, factor, requests):
    """Writes a capture of a client at `factor` times the limit: one packet a request."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
        for k in range(requests):
            # A microsecond late, so that a token which is due at that instant is there.
            due = k * WINDOW * 10**9 * factor.denominator // (factor.numerator * QUOTA)
            ns = due + 1000 * (k > 0)
            file.write(struct.pack("<IIII", 1 + ns // 10**9, ns % 10**9, len(FRAME), len(FRAME)))
            file.write(FRAME)


def configuration(meter):
    """Returns a configuration of a limiter that counts packets."""
    return {"limiter": "e9", "ports": {"a": {"device": "net_null0"}, "b": {"device": "net_null1"}},
            "wires": [{"name": "w", "a": "a", "b": "b"}],
            "policies": [{"name": "requests", "match": {}, "count": "packets",
                          "limit": f"{QUOTA // WINDOW}/s", "allocator": "central", "meter": meter,
                          **METERS[meter]}]}


def before_throttle(meter, factor):
    """Returns the requests that pass before the first that does not."""
    requests = int(QUOTA * factor / (factor - 1)) + QUOTA + 10
    with tempfile.TemporaryDirectory(prefix="weir-evaluate-") as folder:
        paths = [os.path.join(folder, name) for name in ("pcap", "json", "csv")]
        capture(paths[0], factor, requests)
        with open(paths[1], "w", encoding="utf-8") as file:
            json.dump(configuration(meter), file)
        done = subprocess.run([weirsim(), "replay", "--config", paths[1], "--pcap", paths[0],
                               "--verdicts", paths[2]], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise EvaluationError(done.stderr.strip())
        with open(paths[2], encoding="utf-8", newline="") as file:
            verdicts = [row["verdict"] for row in csv.DictReader(file)]
    return verdicts.index("drop")


def expected(meter, factor):
    """Returns the expected number of whole requests. A linear limiter's bucket holds q + k/a - k
    when request k + 1 arrives, and a request needs 1. Finch's n = q·a/(a-1) is for a fluid, which
    can use the last fraction. For the others it is the quota, in the window that begins with the
    first request."""
    if meter in ("fixed-window", "hybrid"):
        return QUOTA
    return int((QUOTA - 1) * factor / (factor - 1)) + 1


def throttling(_sim, _quick):
    """Runs E9."""
    result = Result(
        "requests before the throttle",
        "A client sends at a times the limit until the first request is refused.",
        "Tony Finch: a linear limiter lets n = q·a/(a-1) requests through; a quota reset and the "
        "hybrid q.", "exact for every meter, in whole requests.")
    lines, wrong = {}, []
    counts = {meter: [] for meter in METERS}
    for text in FACTORS:
        factor = fractions.Fraction(text)
        formula = QUOTA * factor / (factor - 1)
        lines.setdefault("n = q·a/(a-1)", []).append(f"{float(formula):.1f}")
        for meter in METERS:
            n = before_throttle(meter, factor)
            result.rows.append({"meter": meter, "factor": float(factor), "requests": n,
                                "expected": expected(meter, factor), "formula": float(formula)})
            if n != expected(meter, factor):
                wrong.append((meter, text, n))
            counts[meter].append(n)
    for found in sorted(set(map(tuple, counts.values())), reverse=True):  # equal meters in a row
        lines[", ".join(f"`{meter}`" for meter, n in counts.items() if tuple(n) == found)] = found
    result.table(["requests at a times the limit",
                  *(f"{float(fractions.Fraction(text)):g}" for text in FACTORS)],
                 [[name, *cells] for name, cells in lines.items()])
    result.target("exact", not wrong, f"all {len(result.rows)}" if not wrong else str(wrong))
    return result

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Token loans between two live limiters, on kernel TCP through the emulated network.

    1 flow  -(emulated link)- limiter 1 -+
                                 |  gossip (emulated link)   +- sinks
    4 flows -(emulated link)- limiter 2 -+

A single flow leaves part of its limiter's limit unused, which the other limiter borrows.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))

import box  # noqa: E402
from box import expect  # noqa: E402
from testbed.bed import Testbed  # noqa: E402

LIMIT = 10e6
NAMES = ("lent_bytes", "borrowed_bytes")


def disable(_, config):
    """Adds the key to the configuration of a limiter."""
    config["gossip"]["loans"] = "none"


def loans(bed):
    """Bytes lent and borrowed by all limiters."""
    found = [bed.policy(i)["loans"] for i in bed.boxes()]
    return [sum(one[name] for one in found) for name in NAMES]


def tokens_move(_):
    """Limiters lend and borrow, never more than was lent, and the limit holds."""
    with Testbed(flows=[1, 4]) as bed:
        bed.start()
        use = bed.run_flows(10, warmup=4).summary()["aggregate"]["mean_bps"] / LIMIT
        lent, borrowed = loans(bed)
    words = f"aggregate {use:.3f} of the limit, lent {lent} bytes, borrowed {borrowed} bytes"
    expect(0 < borrowed <= lent, words)
    expect(0.8 < use < 1.05, words)
    return words


def turned_off(_):
    """With the value none the policy shows no loans."""
    with Testbed(flows=[1, 4], configure=disable) as bed:
        bed.start()
        bed.run_flows(3, warmup=1)
        found = [bed.policy(i)["loans"] for i in bed.boxes()]
    expect(found == [None, None], found)
    return "no loans"


SCENARIOS = [tokens_move, turned_off]

if __name__ == "__main__":
    box.main(SCENARIOS)

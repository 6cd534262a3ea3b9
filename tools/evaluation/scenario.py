# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The paper's experiments as scenarios of weirsim."""

import random

WARMUP = 5
RTT = "40ms"


def policy(allocator, **settings):
    """Returns the policy of the baseline. "central-drop" is one limiter that drops at random."""
    meters = {"central-drop": "random-drop", "grd": "random-drop", "fps-drop": "random-drop"}
    names = {"central-drop": "central", "fps-drop": "fps"}
    made = {"name": "cdn", "limit": "10Mbit/s", "burst": "75kB",
            "allocator": names.get(allocator, allocator), **settings}
    if allocator in meters:
        made["meter"] = meters[allocator]
        made.pop("burst")
    return made


def is_central(allocator):
    """Returns true if one limiter has all flows."""
    return allocator.startswith("central")


def entries(allocator, traffic):
    """Returns the traffic; with one limiter, all of it goes there."""
    if not is_central(allocator):
        return traffic
    return [{**entry, "limiter": "l1"} for entry in traffic]


def scenario(name, allocator, limiters, traffic, seconds=60, *, settings=None, warmup=WARMUP,
             delay="20ms", loss=0, gossip=None, events=()):
    """Returns a scenario with the defaults of section 5.1."""
    return {"name": name, "duration": f"{warmup + seconds}s", "warmup": f"{warmup}s",
            "limiters": 1 if is_central(allocator) else limiters,
            "policies": [policy(allocator, **(settings or {}))],
            "gossip": gossip or {},
            "network": {"delay": delay, "loss": loss},
            "events": list(events),
            "traffic": entries(allocator, traffic)}


def flows(count, limiter, **settings):
    """Returns TCP flows as in the paper: NewReno with SACK."""
    return {"kind": "tcp", "congestion": "newreno", "count": count, "limiter": f"l{limiter}",
            "rtt": RTT, "start_spread": "500ms", **settings}


def shortened(made, seconds):
    """Returns a scenario that ends `seconds` after its warm-up."""
    return {**made, "duration": f"{int(made['warmup'].removesuffix('s')) + seconds}s"}


def baseline(allocator, **settings):
    """E1: three and seven flows (section 5.1)."""
    return scenario(f"baseline {allocator}", allocator, 2, [flows(3, 1), flows(7, 2)],
                    settings=settings)


def joins(allocator, interval="50ms", **settings):
    """E2: a flow joins every ten seconds at a limiter of its own, then they leave (section 5.2)."""
    traffic = [flows(1, k, start=f"{10 * (k - 1)}s", stop=f"{100 - 10 * k}s", start_spread="0s")
               for k in range(1, 6)]
    return scenario(f"flows join, {allocator}", allocator, 5, traffic, 90, warmup=0,
                    settings={"interval": interval, **settings})


def web(allocator):
    """E3: ten bulk flows at one limiter, requests of the Web at the other (section 5.3)."""
    requests = {"kind": "web", "congestion": "newreno", "limiter": "l2", "rtt": RTT,
                "requests": 15, "sizes": {"alpha": 1.2, "least": "3kB", "most": "10MB"}}
    return scenario(f"Web, {allocator}", allocator, 2, [flows(10, 1), requests])


def bottlenecked(allocator):
    """E4: seven flows become bottlenecked upstream, then one without arrives (section 5.4)."""
    seven = flows(7, 2, bottleneck={"rate": "2Mbit/s", "queue": "20kB", "shared": True,
                                    "from": "15s"})
    return scenario(f"bottlenecked flows, {allocator}", allocator, 2,
                    [flows(3, 1), seven, flows(1, 2, start="31s", start_spread="0s")], 60,
                    warmup=0)


def round_trips(allocator, **settings):
    """E5: three long round-trip times against seven short ones (section 5.5)."""
    return scenario(f"round-trip times, {allocator}", allocator, 2,
                    [flows(3, 1, rtt="100ms"), flows(7, 2, rtt="10ms")], settings=settings)


def many_flows(allocator):
    """E6: 5,000 flows share 50 Mbit/s (section 5.6)."""
    return scenario(f"5000 flows, {allocator}", allocator, 2,
                    [flows(1500, 1, start_spread="2s"), flows(3500, 2, start_spread="2s")],
                    settings={"limit": "50Mbit/s", "burst": "375kB"})


def scale_flows(limiters, seed):
    """Returns flows of the scaling experiment: 0 to 5 at each limiter, one started every 100 ms."""
    dice = random.Random(limiters)  # the same flows in all runs with so many limiters
    places = [k for k in range(1, limiters + 1) for _ in range(dice.randint(0, 5))]
    random.Random(seed).shuffle(places)
    return places


def scaling(allocator, limiters, *, branching=3, loss=0.0, estimator="tree", interval="50ms",
            ewma=0.1, seed=1, events=(), seconds=None):
    """E7: many limiters, 40 ms apart (section 5.6)."""
    places = scale_flows(limiters, seed)
    every = 0.1 if limiters <= 490 else 60 / len(places)
    # Measures while all flows are present: from the warm-up to the last start, or the first end.
    seconds = seconds or max(50, min(120, round(len(places) * every) - 10))
    traffic = [flows(1, place, start=f"{k * every:.4f}s", last="60s", start_spread="0s")
               for k, place in enumerate(places)]
    gossip = {} if is_central(allocator) else {"branching": branching, "estimator": estimator}
    return scenario(f"{limiters} limiters, {allocator}", allocator, limiters, traffic,
                    seconds, warmup=10, loss=loss, gossip=gossip, events=events,
                    settings={"limit": "50Mbit/s", "burst": "375kB", "interval": interval,
                              "ewma": ewma})


def shifting(allocator, phase=30, limiters=10):
    """E8: demand moves from ten sites to four and back (section 5.7), every `phase` seconds. With
    more limiters, from all to two fifths, and buckets for six packets at each."""
    there, back = f"{phase}s", f"{2 * phase}s"
    busy = limiters * 2 // 5
    first = [flows(3, k, stop=there) for k in range(1, limiters + 1)]
    second = [flows(7 + (2 * k <= busy), k, start=there, stop=back) for k in range(1, busy + 1)]
    third = [flows(3, k, start=back) for k in range(1, limiters + 1)]
    burst = "40kB" if limiters == 10 else f"{9 * limiters}kB"
    return scenario(f"shifting demand, {allocator}", allocator, limiters, first + second + third,
                    3 * phase, warmup=0, loss=0.0047, gossip={"branching": 4},
                    settings={"limit": f"{limiters / 2:g}Mbit/s", "burst": burst,
                              "interval": "100ms"})


def calls(allocator, **settings):
    """E11: traffic that does not adapt. Four limiters have 10, 20, 30 and 40 of a hundred calls;
    after half of the time, the reverse."""
    half = 40
    call = {"kind": "on-off", "rate": "128kbit/s", "packet": "200B", "on": "1s", "off": "1s",
            "rtt": RTT, "start_spread": "500ms"}
    first = [{**call, "count": 10 * k, "limiter": f"l{k}", "stop": f"{half}s"}
             for k in range(1, 5)]
    second = [{**call, "count": 50 - 10 * k, "limiter": f"l{k}", "start": f"{half}s"}
              for k in range(1, 5)]
    return scenario(f"calls, {allocator}", allocator, 4, first + second, 2 * half, warmup=0,
                    settings={"limit": "6Mbit/s", "burst": "80kB", **settings})

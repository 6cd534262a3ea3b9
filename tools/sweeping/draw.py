# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Draws a scenario from a seed: a group, its traffic, and the same traffic through one bucket."""

import math
import random

PACKET_BITS = 12000
WINDOW_PACKETS = 300  # the largest window of a flow, which NewReno reaches within the run
FLOW_BPS = 20e3  # the least that a flow has: a packet in 0.6 s
PACKETS = 500e3  # the most in a run; above 100 Mbit/s more
MOST_BPS = 1e9  # the largest limit of most scenarios
LARGE_BPS = 10e9  # the largest limit of one scenario in LARGE_EVERY
LARGE_EVERY = 8
LARGE_WARMUP_S, LARGE_S = 8, 6  # with such a limit: a second has 10^5 packets and more
LONG_KINDS = ("return", "change")  # too many packets with such a limit


class Case:
    """A drawn scenario. Sites are numbered from 1, like limiters."""

    def __init__(self, seed, kind, dice):
        self.seed = seed
        self.kind = kind
        self.dice = dice
        self.limit = significant(10 ** dice.uniform(math.log10(64e3), math.log10(MOST_BPS)))
        # A separate generator: the other scenarios stay unchanged.
        large = random.Random(f"{seed} large")
        self.is_large = kind not in LONG_KINDS and large.random() < 1 / LARGE_EVERY
        if self.is_large:
            self.limit = significant(MOST_BPS * (LARGE_BPS / MOST_BPS) ** large.random())
        self.sites = min(dice.randint(2, 10), max(2, int(self.limit / FLOW_BPS)))
        self.rtt = 10 ** dice.uniform(math.log10(0.2e-3), math.log10(0.2))
        self.unequal = dice.random() < 0.3
        self.delay = 10 ** dice.uniform(math.log10(0.5e-3), math.log10(0.06))
        self.loss = 0 if dice.random() < 0.6 else round(dice.uniform(0.001, 0.2), 3)
        self.burst_s = 0 if dice.random() < 0.5 else 0.06 * 2 ** dice.uniform(-1, 2)
        self.congestion = dice.choice(("newreno", "cubic"))
        self.settings = {}
        self.traffic = []
        self.events = []
        self.fair = []  # (site, largest demand of each flow in bit/s, flows)
        self.flows_left = max(self.sites, int(self.limit / FLOW_BPS))
        self.seconds = LARGE_S if self.is_large else run_seconds(self.limit)
        self.warmup = LARGE_WARMUP_S if self.is_large else max(10, self.seconds // 4)
        self.outage = None  # (site, begin, end)
        self.change = None  # (seconds, another limit in bit/s, seconds until all limiters have it)
        self.pairs = []  # links between the limiters of two places

    def site_rtt(self):
        """Returns an entry's round-trip time: the case's, or up to 4 times more or less."""
        factor = 4 ** self.dice.uniform(-1, 1) if self.unequal else 1
        return min(0.2, max(0.2e-3, self.rtt * factor))

    def add(self, site, count, demand=math.inf, **entry):
        """Adds an entry of traffic at a site. demand: the most that a flow sends, in bit/s."""
        entry = {"name": f"s{site}e{len(self.traffic) + 1}", "limiter": f"l{site}",
                 "rtt": micros(self.site_rtt()), "count": count, **entry}
        if entry["kind"] in ("tcp", "web"):
            entry["congestion"] = self.congestion
        self.traffic.append(entry)
        self.fair.append((site, demand, count))
        self.flows_left -= count

    def bulk(self, site, most=8, **entry):
        """Adds bulk flows at a site."""
        count = max(1, min(self.dice.randint(1, most), self.flows_left // self.sites + 1))
        self.add(site, count, kind="tcp", start_spread="1s", **entry)

    def policy(self, allocator):
        """Returns the policy with that allocator."""
        made = {"name": "p", "limit": f"{self.limit:.0f}bit/s", "allocator": allocator,
                **self.settings}
        if self.burst_s:
            least = 15000 if made.get("guarantee") is None else 15000 * self.sites
            made["burst"] = f"{max(least, round(self.limit / 8 * self.burst_s))}B"
        if allocator in ("central", "static"):
            made.pop("guarantee", None)
        return made

    def scenario(self, allocator):
        """Returns weirsim's scenario. With one central bucket no limiter fails; "fps+soft" lends
        tokens."""
        allocator, _, loans = allocator.partition("+")
        central = allocator == "central"
        fit_windows(self)
        traffic = [{**entry, "limiter": "l1"} if central else entry for entry in self.traffic]
        return {"name": f"{self.kind} {self.seed}", "seed": self.seed,
                "duration": f"{self.warmup + self.seconds}s", "warmup": f"{self.warmup}s",
                "limiters": 1 if central else self.sites, "policies": [self.policy(allocator)],
                "network": {"delay": micros(self.delay), "loss": self.loss,
                            **({"pairs": self.pairs} if self.pairs and not central else {})},
                "gossip": {"loans": loans or "none"},
                "events": ([] if central else self.events) + self.change_events(central),
                "traffic": traffic}

    def change_events(self, central):
        """Returns the change of the limit, which the limiters read one after the other."""
        if not self.change:
            return []
        at, limit, spread = self.change
        every = 0 if central else spread / (self.sites - 1)
        return [{"at": f"{at}s", "limit": f"{limit:.0f}bit/s", "every": micros(every)}]

    def words(self):
        """Returns the case as a line of text."""
        burst = f"{self.burst_s * 1e3:.0f} ms" if self.burst_s else "default"
        flows = "+".join(str(sum(count for site, _, count in self.fair if site == one))
                         for one in range(1, self.sites + 1))
        options = [str(value) for key, value in self.settings.items() if key != "shape"]
        return " ".join([f"{units(self.limit)}, {self.rtt * 1e3:.2g} ms"
                         f"{' and unequal' if self.unequal else ''}, burst {burst}, "
                         f"flows {flows}, {self.congestion}",
                         *([f", gossip loss {self.loss:.1%}"] if self.loss else []),
                         *([f", {units(self.change[1])} after {self.change[0] - self.warmup} s"]
                           if self.change else []),
                         *([", other delays between places"] if self.pairs else []),
                         *[f", {option}" for option in options]]).replace(" ,", ",")


def significant(value):
    """Returns a value with two significant digits."""
    step = 10 ** (math.floor(math.log10(value)) - 1)
    return round(value / step) * step


def micros(seconds):
    """Formats a time for scenarios."""
    return f"{max(1, round(seconds * 1e6))}us"


def units(bps):
    """Formats a rate as text."""
    for factor, name in ((1e9, "Gbit/s"), (1e6, "Mbit/s")):
        if bps >= factor:
            return f"{bps / factor:.3g} {name}"
    return f"{bps / 1e3:.3g} kbit/s"


def run_seconds(limit):
    """Returns the measured time: longer for slow limits, which have few packets."""
    if limit < 2e6:
        return round(min(300, 60 * math.sqrt(2e6 / limit)))
    return round(min(60, max(15, PACKETS * PACKET_BITS / limit)))


def fit_windows(case):
    """Shortens round-trip times for which a flow's part of the limit is too large a window."""
    flows = sum(count for _, _, count in case.fair) or 1
    limit = max(case.limit, case.change[1]) if case.change else case.limit
    most = WINDOW_PACKETS * PACKET_BITS * flows / limit
    for entry in case.traffic:
        if float(entry["rtt"].removesuffix("us")) > most * 1e6:
            entry["rtt"] = micros(most)
    case.rtt = min(case.rtt, most)


def draw_bulk(case):
    """Bulk flows at every site."""
    for site in range(1, case.sites + 1):
        case.bulk(site)


def draw_web(case):
    """Requests of the Web at some sites, bulk flows at the others."""
    sites = case.dice.randint(1, case.sites - 1)
    large = case.limit > 100e6
    sizes = {"alpha": 1.2, "least": "30kB" if large else "3kB",
             "most": "100MB" if large else "10MB"}
    mean = 148e3 if large else 14.3e3  # bytes; the bounded Pareto distribution's
    for site in range(1, sites + 1):
        offered = case.limit * case.dice.uniform(0.02, min(0.2, 0.6 / sites))
        case.add(site, 1, offered, kind="web", requests=round(offered / 8 / mean, 4), sizes=sizes)
    for site in range(sites + 1, case.sites + 1):
        case.bulk(site)


def draw_churn(case):
    """Flows come and go at every site, some sites having more of them."""
    length = case.dice.uniform(5, 30)
    end = case.warmup + case.seconds
    together = max(1.0, min(case.dice.uniform(1, 3) * case.sites, case.limit / FLOW_BPS))
    weights = [1 / (1 + site) for site in range(case.sites)]
    for site, weight in enumerate(weights, 1):
        every = length / (together * weight / sum(weights))
        count = max(1, int(end / every))
        case.add(site, count, kind="tcp", start=micros(case.dice.uniform(0, every)),
                 every=micros(every), last=micros(length))
    case.fair = [(site, None, count) for site, _, count in case.fair]


def draw_udp(case):
    """Senders that do not adapt at some sites, bulk flows at the others."""
    sites = case.dice.randint(1, case.sites - 1)
    for site in range(1, sites + 1):
        rate = significant(case.limit * case.dice.uniform(0.03, 0.7 / sites))
        kind = case.dice.choice(("cbr", "on-off"))
        part = 1 if kind == "cbr" else 0.5
        case.add(site, 1, rate * part, kind=kind, rate=f"{rate:.0f}bit/s")
    for site in range(sites + 1, case.sites + 1):
        case.bulk(site)


def draw_elsewhere(case):
    """Bulk flows, of which some sites' are held back by a bottleneck upstream."""
    held = case.dice.randint(1, case.sites - 1)
    for site in range(1, case.sites + 1):
        case.bulk(site)
    for site in range(1, held + 1):
        count = case.fair[site - 1][2]
        rate = significant(case.limit / case.sites * case.dice.uniform(0.1, 0.6))
        queue = max(15000, round(rate / 8 * 0.05))
        case.traffic[site - 1]["bottleneck"] = {
            "rate": f"{rate:.0f}bit/s", "queue": f"{queue}B", "shared": True}
        case.fair[site - 1] = (site, rate / count, count)


def draw_return(case):
    """A site fails and returns: its limiter crashes, its control stalls or its users are silent."""
    case.sites = min(case.sites, 8)
    case.rtt = max(case.rtt, 1e-3)
    for site in range(1, case.sites + 1):
        case.bulk(site, most=4)
    away = case.dice.uniform(2, 20)
    begin, end = 15, round(15 + away)
    site = case.dice.randint(1, case.sites)
    how = case.dice.choice(("crash", "crash", "quiet", "pause"))
    action = case.dice.choice(("drop", "tail", "codel"))
    if action != "drop":
        case.settings.update(action="shape", shape={"drop": action})
    if case.dice.random() < 0.5:
        case.settings["guarantee"] = "hard"
    if how == "quiet":
        entry = case.traffic[site - 1]
        entry["stop"] = f"{begin}s"
        # The flows that return are the same users: `fair` counts them once.
        case.traffic.append({**{key: value for key, value in entry.items() if key != "stop"},
                             "name": entry["name"] + "again", "start": f"{end}s"})
    elif how == "crash":
        case.events = [{"at": f"{begin}s", "crash": f"l{site}"},
                       {"at": f"{end}s", "restart": f"l{site}"}]
    else:
        case.events = [{"at": f"{begin}s", "pause": f"l{site}", "for": f"{end - begin}s"}]
    case.outage = (site, begin, end)
    case.how = how
    case.seconds = max(40, min(case.seconds, 60))
    case.warmup = end + 40


def draw_change(case):
    """Bulk flows, and another limit, which all limiters have within a second."""
    for site in range(1, case.sites + 1):
        case.bulk(site)
    flows = sum(count for _, _, count in case.fair)
    least = max(0.2, min(1, FLOW_BPS * flows / case.limit), 64e3 / case.limit)
    limit = significant(case.limit * least * (3 / least) ** case.dice.random())
    if case.dice.random() < 0.3:
        case.settings["guarantee"] = "hard"
    case.warmup = max(case.warmup, 20)
    case.seconds = max(case.seconds, 30, run_seconds(limit))
    case.change = (case.warmup + round(case.seconds * case.dice.uniform(0.2, 0.5)), limit,
                   case.dice.random())


def draw_places(case):
    """Limiters at two or three places: between two of them the delay is another one."""
    places = [[] for _ in range(min(case.sites, case.dice.randint(2, 3)))]
    for site in range(1, case.sites + 1):
        places[(site - 1) % len(places)].append(f"l{site}")
    for i, first in enumerate(places):
        for second in places[i + 1:]:
            delay = 10 ** case.dice.uniform(math.log10(1e-3), math.log10(0.15))
            case.pairs.append({"between": [first, second], "delay": micros(delay)})


def draw_mix(case):
    """Bulk flows whose congestion control differs from site to site."""
    senders = ["newreno", "cubic", "bbr", "quic"]
    case.dice.shuffle(senders)
    case.congestion = "+".join(senders[:case.sites])
    for site in range(1, case.sites + 1):
        case.bulk(site)
        entry = case.traffic[-1]
        entry["congestion"] = senders[(site - 1) % len(senders)]
        if entry["congestion"] == "quic":
            entry["kind"] = entry.pop("congestion")


KINDS = {"bulk": draw_bulk, "web": draw_web, "churn": draw_churn, "udp": draw_udp,
         "elsewhere": draw_elsewhere, "return": draw_return, "change": draw_change,
         "mix": draw_mix}


def draw(seed):
    """The case of a seed. Its kind is the seed's remainder, so that all kinds come in turn."""
    kind = list(KINDS)[seed % len(KINDS)]
    case = Case(seed, kind, random.Random(seed))
    if kind != "return" and case.dice.random() < 0.25:
        case.settings.update(action="shape", shape={"drop": case.dice.choice(("tail", "codel"))})
    KINDS[kind](case)
    if case.dice.random() < 0.25:
        draw_places(case)
    return case

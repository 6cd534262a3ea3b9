#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""weirsim's command line, and invariants of any group under any traffic and faults.

    weirsim.py [--long] [--first SEED]

A scenario that fails is left in a file, and the command that replays it is printed.
"""

import argparse
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

from suite import ANSWERS_S, ROOT, WEIRSIM, curves, expect, plot, run_tests, study
from suite import weirsim as run

SCENARIOS = os.path.join(ROOT, "config", "scenarios")

sys.path.insert(0, os.path.join(ROOT, "test", "unit"))
import check_schema  # noqa: E402  pylint: disable=wrong-import-position


def outputs(program, path, folder):
    """Returns all output of a run, and its picture."""
    names = [os.path.join(folder, name) for name in ("json", "csv", "svg")]
    done = run("run", path, "--quiet", "--json", names[0], "--series", names[1], program=program)
    expect(done.returncode == 0, done.stderr)
    done = plot("run", names[1], names[2], "--summary", names[0])
    expect(done.returncode == 0, done.stderr)
    return [open(name, "rb").read() for name in names]  # pylint: disable=consider-using-with


def same_seed_same_bytes(_):
    """One seed writes the same bytes each time, and more than a few."""
    for name in ("baseline.json", "faults.json", "shift-hard.json"):
        with tempfile.TemporaryDirectory() as folder:
            first, second = (outputs(WEIRSIM, os.path.join(SCENARIOS, name), folder)
                             for _ in range(2))
        expect(first == second, f"{name} differs")
        expect(all(len(text) > 1000 for text in first), "hardly any output")


def other_seed_other_bytes(_):
    """Another seed has other output."""
    texts = [run("run", os.path.join(SCENARIOS, "baseline.json"), "--seed", seed, "--quiet",
                 "--json", "-").stdout for seed in ("1", "2")]
    expect(texts[0] != texts[1], "the seed changes nothing")


def bad_input_is_refused(_):
    """Exit status 2, and a message that names the place."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write('{"duration": "10 s", "limiters": 1, "traffic": [], "policies": '
                   '[{"name": "p", "limit": "10Mbit"}]}')
        file.flush()
        done = run("run", file.name)
        expect(done.returncode == 2 and 'policies[0] "p".limit: "10Mbit"' in done.stderr,
               done.stderr)
    expect(run("run", "/nonexistent").returncode == 2, "a file that is not there")
    expect(run("run").returncode == 2, "no file")
    for option in ("--json", "--series"):
        done = run("run", os.path.join(SCENARIOS, "baseline.json"), "--quiet", option, "/dev/full")
        expect(done.returncode == 2 and "/dev/full: No space" in done.stderr, done.stderr)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([WEIRSIM, "run", os.path.join(SCENARIOS, "baseline.json")],
                              stdout=full, stderr=subprocess.DEVNULL, timeout=ANSWERS_S,
                              check=False)
    expect(done.returncode == 2, f"a full standard output: exit status {done.returncode}")
    last = str(2**63 - 1)
    done = run("run", os.path.join(SCENARIOS, "baseline.json"), "--seed", last, "--seeds", "2")
    expect(done.returncode == 2, "seeds beyond the last")


def schema_says_what_the_reader_says(_):
    """weirsim and the schema agree on each document of the schema's test."""
    for documents, status in ((check_schema.GOOD_SCENARIOS, 0), (check_schema.BAD_SCENARIOS, 2)):
        for document in documents:
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(document, file)
                file.flush()
                done = run("run", file.name, "--check")
            expect(done.returncode == status,
                   f"{json.dumps(document)}: {done.returncode}\n{done.stderr}")


def a_picture_has_every_limiter(_):
    """One line for each limiter, one for the sum, and the limit; without the summary no limit.
    Files that are not a run's output are rejected by name."""
    with tempfile.TemporaryDirectory() as folder:
        series, summary = (os.path.join(folder, name) for name in ("rates.csv", "run.json"))
        for name, lines in (("baseline.json", 2 + 1 + 1), ("faults.json", 6 + 1 + 1)):
            done = run("run", os.path.join(SCENARIOS, name), "--quiet", "--series", series,
                       "--json", summary)
            expect(done.returncode == 0, done.stderr)
            found = curves("run", series, "--summary", summary)
            expect(len(found) == lines and all(found), f"{name}: {len(found)} lines")
            expect(len(curves("run", series)) == lines - 1, f"{name}: without the summary")
        done = study("quota", "--nodes", "4", "--requests", "100", "--seeds", "1", "--json",
                     summary)
        expect(done.returncode == 0 and len(curves("quota", summary)) == 2, f"quota: {done}")
        for kind, path in (("run", summary), ("gdrl", summary), ("quota", series),
                           ("run", os.path.join(folder, "nothing"))):
            done = plot(kind, path, "-")
            expect(done.returncode == 1 and path in done.stderr and not done.stdout, done)


def standard_output_is_for_one(_):
    """CSV or JSON on standard output is alone there."""
    path = os.path.join(SCENARIOS, "baseline.json")
    rows = run("run", path, "--series", "-").stdout.splitlines()
    expect(all(row.count(",") == rows[0].count(",") for row in rows), "not only CSV")
    json.loads(run("run", path, "--json", "-").stdout)


def failed_expectation_replays(_):
    """Exit status 1, the seed, and the command."""
    with open(os.path.join(SCENARIOS, "baseline.json"), encoding="utf-8") as file:
        scenario = json.load(file)
    scenario["expect"] = {"jain": [0, 0.1]}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario, file)
        file.flush()
        done = run("run", file.name, "--seed", "7", "--quiet")
    expect(done.returncode == 1, "passed")
    expect(f"replay: weirsim run {file.name} --seed 7" in done.stderr, done.stderr)


def interrupt_ends_it(_):
    """SIGINT ends a long run."""
    with open(os.path.join(SCENARIOS, "baseline.json"), encoding="utf-8") as file:
        scenario = json.load(file)
    scenario["duration"] = "36000s"
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario, file)
        file.flush()
        process = subprocess.Popen([WEIRSIM, "run", file.name], stderr=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        expect(process.wait(ANSWERS_S) == -signal.SIGINT, f"exit status {process.returncode}")


def summary_of(scenario):
    """Runs a scenario from memory; returns its summary."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario, file)
        file.flush()
        done = run("run", file.name, "--json", "-", "--quiet")
    expect(done.returncode == 0, done.stderr)
    return json.loads(done.stdout)


def costs(scenario):
    """Returns a run's reported cost: peak memory in MiB, and peers examined in a limiter's tick."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario, file)
        file.flush()
        done = run("run", file.name)
    expect(done.returncode == 0, f"exit status {done.returncode}: {done.stderr}")
    found = re.search(r"([0-9.]+) MiB, ([0-9.]+) peers looked at a tick", done.stderr)
    return float(found[1]), float(found[2])


def memory_is_constant(_):
    """Four times the duration takes no more memory, except its record."""
    peaks = []
    for seconds in (20, 80):
        scenario = random_scenario(1)
        scenario.update(duration=f"{seconds}s", warmup="5s", interval="1s", events=[])
        peaks.append(costs(scenario)[0])
    expect(peaks[1] < 1.1 * peaks[0] + 0.5, f"{peaks[0]} MiB, then {peaks[1]} MiB")
    return f"{peaks[0]} MiB in 20 s, {peaks[1]} MiB in 80 s"


def random_policy(dice, n):
    """Returns a policy with any valid combination of allocator, meter, action and unit."""
    allocator = dice.choice(["fps", "grd", "gtb", "static"] if n > 1 else ["central", "static"])
    made = {"name": "p", "allocator": allocator,
            "interval": dice.choice(["20ms", "50ms", "100ms", "500ms"]),
            "ewma": dice.choice([0, 0.1, 0.5]),
            "action": dice.choice(["drop", "drop", "drop", "count", "mark"])}
    if made["action"] == "mark":
        made["mark"] = dice.choice(["ecn", 10])
    if allocator != "gtb":
        made["meter"] = dice.choice(["token-bucket", "gcra", "fixed-window", "hybrid",
                                     "random-drop"])
        if allocator == "grd":
            made["meter"] = dice.choice(["random-drop", "token-bucket"])
    if made.get("meter") in ("fixed-window", "hybrid"):
        made["window"] = dice.choice(["100ms", "1s"])
    made["limit"] = dice.choice(["1Mbit/s", "10Mbit/s", "40Mbit/s"])
    if allocator in ("static", "central") and made["meter"] != "random-drop":
        if dice.random() < 0.5:
            made.update(per=dice.choice(["src", "src/24"]), sources=1024)
        if dice.random() < 0.3:
            made.update(count="packets", limit=dice.choice(["100/s", "1k/s"]))
    return made


def conserve(dice, policy):
    """Makes many of the policies hard limits, if they can be."""
    if policy["allocator"] in ("grd", "gtb") or "per" in policy or dice.random() < 0.4:
        return
    policy.pop("window", None)
    policy.update(guarantee="hard", meter=dice.choice(["token-bucket", "gcra"]))
    if dice.random() < 0.3:
        policy.update(allocator="gdrl", indicator=dice.choice(["spare", "utilisation", "loss",
                                                               "drops", "delay"]))


def wait(dice, policy):
    """Makes many of the policies shape, if they can."""
    if policy["action"] != "drop" or "per" in policy or policy["allocator"] in ("gtb", "grd") or \
            policy["meter"] != "token-bucket" or dice.random() < 0.3:
        return
    policy["action"] = "shape"
    policy["shape"] = {"delay": dice.choice(["20ms", "100ms", "500ms"]),
                       "drop": dice.choice(["tail", "codel"])}


def random_ledger(dice):
    """Returns a ledger whose lease exceeds the pauses of control (1.5 s and another, at most)."""
    return {"lease": f"{dice.randint(9, 12)}s", "promise": dice.choice([0, 50, 100]),
            "overlay": dice.choice(["ring", {"degree": 4}])}


def random_traffic(dice, names):
    """Yields some traffic of every kind."""
    where = lambda: dice.choice([*names, "each", "random"])  # noqa: E731
    yield {"kind": "tcp", "count": dice.randint(1, 6), "limiter": where(),
           "congestion": dice.choice(["newreno", "cubic"]), "rtt": f"{dice.randint(2, 200)}ms",
           "rtt_spread": "20ms", "start_spread": "1s"}
    yield {"kind": "quic", "count": dice.randint(1, 3), "limiter": where()}
    yield {"kind": "web", "limiter": where(), "requests": dice.randint(1, 20)}
    yield {"kind": "cbr", "limiter": where(), "rate": "2Mbit/s",
           "packet": dice.choice(["200B", "1500B"])}
    yield {"kind": "on-off", "limiter": where(), "rate": "5Mbit/s", "on": "300ms", "off": "700ms"}
    yield {"kind": "tcp", "limiter": where(), "size": "200kB", "every": "500ms", "count": 5}
    yield {"kind": "tcp", "limiter": where(), "count": 2, "last": "3s",
           "bottleneck": {"rate": "500kbit/s", "shared": dice.random() < 0.5, "from": "2s"}}


def random_faults(dice, names, seconds):
    """Yields up to five faults, in order of time."""
    for at in sorted(dice.uniform(0, seconds) for _ in range(dice.randint(0, 5))):
        name = dice.choice(names)
        yield {"at": f"{at:.3f}s",
               **dice.choice([{"heal": True}, {"crash": name}, {"restart": name},
                              {"pause": name, "for": "1500ms"},
                              {"network": {"loss": dice.random()}},
                              *([{"partition": 2}] if len(names) > 1 else [])])}


def lend(seed, gossip):
    """Half of the groups that can lend tokens do so; other draws stay the same."""
    drawn = random.Random(f"{seed} loans").choice(["none", "none", "soft", "all"])
    return {**gossip, "loans": drawn if gossip["estimator"] == "state" else "none"}


def random_scenario(seed):
    """Returns a random scenario."""
    dice = random.Random(seed)
    n, seconds = dice.randint(1, 10), 12
    names = [f"l{k + 1}" for k in range(n)]
    traffic = list(random_traffic(dice, names))
    limiters = [{"name": name, "offset": f"{dice.randint(0, 100)}s",
                 "drift_ppm": dice.uniform(-200, 200)} for name in names]
    policy = random_policy(dice, n)
    conserve(dice, policy)
    wait(random.Random(f"{seed} waits"), policy)
    if policy["action"] == "count":  # without drops, TCP has no bounds
        for entry in traffic:
            entry.setdefault("bottleneck", {"rate": "5Mbit/s"})
    return {"name": f"random {seed}", "seed": seed, "duration": f"{seconds}s", "warmup": "2s",
            "limiters": limiters,
            "workers": random.Random(f"{seed} workers").choice([1, 1, 2, 7]),
            "policies": [policy],
            "gossip": lend(seed, {"branching": dice.randint(1, 5),
                                  "estimator": dice.choice(["state", "tree", "push-sum",
                                                            "flow-updating"])}),
            "network": {"distribution": dice.choice(["constant", "uniform", "normal",
                                                     "exponential", "pareto"]),
                        "loss": dice.choice([0, 0.05, 0.3]), "duplicate": dice.choice([0, 0.2]),
                        "reorder": dice.choice([0, 0.2]), "delay": f"{dice.randint(0, 150)}ms"},
            "ledger": random_ledger(dice),
            "commit": dice.choice(["0s", "2ms", "300ms"]),
            "events": list(random_faults(dice, names, seconds)),
            "traffic": dice.sample(traffic, dice.randint(1, len(traffic)))}


def beside_a_total(dice, scenario):
    """Adds a policy with a quota to many groups, with its own traffic."""
    if dice.random() < 0.5:
        return
    names = [limiter["name"] for limiter in scenario["limiters"]]
    for entry in scenario["traffic"]:
        entry["policy"] = "p"
    total = {"name": "t", "allocator": "quota", "action": dice.choice(["drop", "count", "mark"]),
             "interval": dice.choice(["20ms", "50ms", "500ms"])}
    total.update(dice.choice([{"total": "3MB"}, {"total": "50MB", "limit": "1Mbit/s"},
                              {"total": 5000, "count": "packets"},
                              {"total": 300, "count": "flows", "limit": "1/s"}]))
    if dice.random() < 0.5:
        total["period"] = "1min"
    scenario["policies"].append(total)
    scenario["traffic"] += [{**entry, "policy": "t"} for entry in random_traffic(dice, names)
                            if dice.random() < 0.5 or entry["kind"] == "cbr"]
    for entry in scenario["traffic"]:  # without drops, TCP has no bounds
        if entry["policy"] == "t":
            entry.setdefault("bottleneck", {"rate": "5Mbit/s"})


def anything_goes(options):
    """Random scenarios: every packet is accounted for, and every figure is valid."""
    first, count = options.first, 2000 if options.long else 20
    for seed in range(first, first + count):
        path = os.path.join(tempfile.gettempdir(), f"weirsim-random-{os.getpid()}-{seed}.json")
        scenario = random_scenario(seed)
        beside_a_total(random.Random(f"{seed} total"), scenario)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(scenario, file, indent=1)
        done = run("run", path, "--quiet")
        expect(done.returncode == 0, f"seed {seed}: {done.stderr}replay: {WEIRSIM} run {path}")
        os.unlink(path)
    return f"{count} scenarios"


def ten_thousand_limiters(options):
    """Memory grows linearly with the group, and is allocated at the start."""
    sizes, seconds = ((1000, 10000), 10) if options.long else ((1000, 2000), 3)
    peaks = []
    for n in sizes:
        scenario = {"duration": f"{seconds}s", "warmup": "1s", "limiters": n, "interval": "1s",
                    "policies": [{"name": "p", "limit": "100Mbit/s", "allocator": "fps"}],
                    "gossip": {"estimator": "tree"},
                    "traffic": [{"kind": "tcp", "count": 200, "limiter": "random"}]}
        peaks.append(costs(scenario)[0])
    growth = (peaks[1] - peaks[0]) / (sizes[1] - sizes[0]) * 1024
    expect(peaks[1] < peaks[0] * sizes[1] / sizes[0] * 1.1, f"{peaks} MiB")
    return f"{peaks[0]:.0f} MiB for {sizes[0]}, {peaks[1]:.0f} MiB for {sizes[1]}: " \
           f"{growth:.1f} KiB a limiter"


def work_is_linear(_):
    """The work of a limiter's tick depends on its neighbours in the tree, not on the group. Counts
    peers and not seconds, which other processes change."""
    sizes, looks = (49, 490, 2000), []
    for n in sizes:
        scenario = {"duration": "4s", "warmup": "1s", "limiters": n, "interval": "1s",
                    "policies": [{"name": "p", "limit": "50Mbit/s", "allocator": "fps"},
                                 {"name": "alone", "limit": "50Mbit/s", "allocator": "static"}],
                    "gossip": {"estimator": "tree"},
                    "traffic": [{"kind": "tcp", "count": 100, "limiter": "random", "policy": name}
                                for name in ("p", "alone")]}
        looks.append(costs(scenario)[1])
    expect(0 < max(looks) < 1.25 * looks[0], f"{looks} peers looked at a tick, of {sizes}")
    return ", ".join(f"{look:.0f} peers looked at a tick of {n}" for n, look in zip(sizes, looks))


def tiny_limits_add_up(_):
    """5/min over ten limiters is half a packet a minute at each, and 50 in ten minutes together."""
    found = {}
    for meter, allocator in (("token-bucket", "fps"), ("gcra", "static")):
        scenario = {"duration": "1200s", "warmup": "600s", "interval": "1s", "limiters": 10,
                    "policies": [{"name": "p", "count": "packets", "limit": "5/min", "burst": 5,
                                  "meter": meter, "allocator": allocator}],
                    "network": {"delay": "5ms"},
                    "traffic": [{"kind": "cbr", "packet": "200B", "rate": "1600bit/s",
                                 "limiter": f"l{k}"} for k in range(1, 11)]}
        limiters = summary_of(scenario)["limiters"]
        found[meter] = round(sum(one["mean_bps"] for one in limiters) * 600 / 1600)
        expect(49 <= found[meter] <= 51, f"{meter}, {allocator}: {found[meter]} packets, not 50")
    return found


def workers_share_one_limit(_):
    """Several workers pass as much as one, with a reserve or with separate parts. Hard limits are
    never exceeded."""
    found = {}
    for name, more in (("reserve", {}), ("shares", {"meter": "gcra"}),
                       ("hard", {"guarantee": "hard"})):
        for workers in (1, 4):
            scenario = {"duration": "25s", "warmup": "5s", "limiters": 2, "workers": workers,
                        "policies": [{"name": "p", "limit": "20Mbit/s", "burst": "300kB",
                                      "allocator": "fps", **more}],
                        "network": {"delay": "10ms"},
                        "traffic": [{"kind": "tcp", "count": 12, "limiter": "each",
                                     "rtt": "30ms"}]}
            ratio = summary_of(scenario)["aggregate_ratio"]
            expect(0.98 < ratio < 1.01, f"{name}, {workers} workers: {ratio} of the limit")
            found[f"{name} {workers}"] = round(ratio, 4)
    return found


def what_waits_keeps_the_limit(_):
    """Shaped packets leave at the limit, second by second, and each is accounted for: delivered,
    dropped, lost in a crash, or still waiting."""
    found = {}
    for guarantee in ("soft", "hard"):
        for workers in (1, 4):
            scenario = {"duration": "25s", "warmup": "5s", "limiters": 2, "workers": workers,
                        "policies": [{"name": "p", "limit": "20Mbit/s", "burst": "30kB",
                                      "allocator": "fps", "guarantee": guarantee,
                                      "action": "shape", "shape": {"delay": "300ms"}}],
                        "events": [{"at": "12s", "crash": "l1"}, {"at": "14s", "restart": "l1"}],
                        "network": {"delay": "10ms"},
                        "traffic": [{"kind": "tcp", "count": 12, "limiter": "each",
                                     "rtt": "30ms"}]}
            summary = summary_of(scenario)
            packets, most = summary["packets"], summary["aggregate_ratio_max_1s"]
            expect(packets["sent"] == sum(packets.values()) - packets["sent"], packets)
            expect(packets["down"] > 0 and packets["under_way"] > 0, packets)
            bound = 1.005 if guarantee == "hard" else 1.05  # while gossip is in flight
            expect(0.9 < summary["aggregate_ratio"] < 1 and most < bound,
                   f"{guarantee}, {workers} workers: {summary['aggregate_ratio']}, {most}")
            found[f"{guarantee} {workers}"] = most
    return found


def trial_counts_what_it_would_do(_):
    """A trial counts as many drops as a run that enforces it, with constant-rate senders; also if
    the limiter crashes in between."""
    found = {}
    for workers in (1, 4):
        def simulate(workers=workers, **policy):
            scenario = {"duration": "20s", "limiters": 2, "workers": workers,
                        "policies": [{"name": "p", "limit": "20Mbit/s", "burst": "300kB",
                                      "allocator": "static"} | policy],
                        "events": [{"at": "8s", "crash": "l1"}, {"at": "12s", "restart": "l1"}],
                        "network": {"delay": "10ms"},
                        "traffic": [{"kind": "cbr", "rate": "1Mbit/s", "count": 24,
                                     "limiter": "each"}]}
            return summary_of(scenario)

        other = {"limit": "8Mbit/s", "burst": "100kB"}
        alone, beside, enforced = simulate(), simulate(trial=other), simulate(**other)
        tried = beside.pop("trial")
        expect(beside == alone, "a trial is felt")
        dropped = enforced["packets"]["limit"]
        expect(tried["dropped"]["packets"] == dropped > alone["packets"]["limit"] > 0,
               f"{workers} workers: {tried}, and {enforced['packets']} where it is enforced")
        expect(tried["limit_bps"] == 8e6 and tried["passed"]["bytes"] > 0, str(tried))
        found[f"{workers} workers"] = dropped
    return found


def web_and_bulk(seed, loans, **settings):
    """Returns a scenario: a site with flows, and three with Web requests at half their limits."""
    sites = [{"kind": "web", "requests": 5, "limiter": f"l{k}"} for k in (1, 2, 3)]
    return {"duration": "40s", "warmup": "10s", "limiters": 4, "seed": seed,
            "policies": [{"name": "p", "limit": "10Mbit/s", "burst": "75kB"}],
            "gossip": {"loans": loans}, **settings,
            "traffic": [*sites, {"kind": "tcp", "count": 4, "limiter": "l4"}]}


def messages_are_few(summary):
    """Each of 4 limiters sends at most one request in a round trip, which takes 30 ms or more."""
    found = summary["loans"]
    expect(0 < found["requests"] <= 4 * 40 / 0.03, str(found))
    expect(found["unanswered"] <= found["requests"], str(found))


def tokens_are_lent(options):
    """Loans use stranded tokens; no more is borrowed than lent; no loan without a shortage."""
    found = {}
    lossy = {"delay": "20ms", "loss": 0.1, "duplicate": 0.2, "reorder": 0.2}
    for seed in range(options.first, options.first + (20 if options.long else 3)):
        without, lent, lost = (summary_of(web_and_bulk(seed, loans, network=network))
                               for loans, network in (("none", {}), ("soft", {}), ("soft", lossy)))
        found[seed] = [one["aggregate_ratio"] for one in (without, lent, lost)]
        expect(found[seed][1] > found[seed][0] + 0.02, f"seed {seed}: {found[seed]}")
        expect("lent_bytes" not in without and "loans" not in without, "loans without the key")
        for one in (lent, lost):
            expect(0 < one["borrowed_bytes"] <= one["lent_bytes"], f"seed {seed}: {one}")
            messages_are_few(one)
            expect(one["aggregate_ratio_max_1s"] < 1.06, f"seed {seed}: {found[seed]}")
    slow = web_and_bulk(1, "soft")
    slow["traffic"] = [{"kind": "cbr", "rate": "1Mbit/s", "limiter": f"l{k}"} for k in (1, 2, 3)]
    idle = summary_of(slow)
    expect(idle["lent_bytes"] == idle["borrowed_bytes"] == 0, str(idle["lent_bytes"]))
    expect(idle["loans"]["requests"] == 0, str(idle["loans"]))
    return found


TESTS = [same_seed_same_bytes, other_seed_other_bytes, bad_input_is_refused,
         schema_says_what_the_reader_says, a_picture_has_every_limiter, standard_output_is_for_one,
         failed_expectation_replays, interrupt_ends_it, memory_is_constant, anything_goes,
         ten_thousand_limiters, work_is_linear, tiny_limits_add_up, workers_share_one_limit,
         what_waits_keeps_the_limit, trial_counts_what_it_would_do, tokens_are_lent]


def main():
    """Runs all tests."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--long", action="store_true", help="many more seeds")
    parser.add_argument("--first", type=int, default=1, metavar="SEED")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    run_tests(TESTS, options)


if __name__ == "__main__":
    main()

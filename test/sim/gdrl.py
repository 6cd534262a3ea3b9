#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""`weir-study gdrl` compared with the paper's own equations, and its command line.

    gdrl.py
"""

import json
import os
import tempfile

from suite import curves, expect, plot, run_tests, study, weirsim


def run(*arguments):
    """Runs weir-study gdrl; returns the completed process."""
    return study("gdrl", *arguments)


def summaries(*arguments):
    """Returns the JSON of its runs."""
    done = run("--quiet", "--json", "-", *arguments)
    expect(done.returncode == 0, done.stderr)
    return json.loads(done.stdout)["runs"]


def jain(values):
    """Returns Jain's index by equation 16."""
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def equation_7(n, slots, demand):
    """Returns Jain's index by slot, for a ring with eta = 1/2d, in real numbers."""
    capacity = [1.1 * 0.5] * n
    indicators = [demand(i, 0) - capacity[i] for i in range(n)]
    series = [jain(indicators)]
    for slot in range(1, slots + 1):
        before = [demand(i, slot) - capacity[i] for i in range(n)]
        for i in range(n):
            capacity[i] += (2 * before[i] - before[i - 1] - before[(i + 1) % n]) / 4
        series.append(jain([demand(i, slot) - capacity[i] for i in range(n)]))
    return series


def same_as(summary, series):
    """Returns the largest difference between a summary's index and that series."""
    return max(abs(value - series[slot]) for slot, value in summary["jain"])


def the_papers_equation():
    """If demands are exact, every index equals equation 7: on any ring, also after a change."""
    for n in (3, 10, 31):
        summary, = summaries("--limiters", str(n), "--alpha", "0", "--slots", "400")
        series = equation_7(n, 400, lambda i, _, n=n: (i + 1) / (n + 1))
        expect(same_as(summary, series) < 1e-6, f"{n} limiters: off by {same_as(summary, series)}")
    summary, = summaries("--limiters", "10", "--alpha", "0", "--slots", "399", "--period", "200")
    series = equation_7(10, 399, lambda i, slot: (i + 1 if slot < 200 else 10 - i) / 11)
    expect(same_as(summary, series) < 1e-6, f"a change: off by {same_as(summary, series)}")


def the_papers_figures():
    """Figures 4 and 6: equal indicators in the end, and after each change."""
    still, = summaries("--figure", "4")
    changing, = summaries("--figure", "6")
    expect(still["stays"] is not None and still["stays"] < 200, f"figure 4: {still['stays']}")
    expect(still["least"] >= 0.99, f"figure 4: index {still['least']}")
    expect(len(changing["changes"]) == 3, "figure 6: changes are missing")
    for change in changing["changes"]:
        expect(change["slots_until_goal"] < 1000, f"figure 6: {change}")
    expect(changing["least"] >= 0.99, f"figure 6: index {changing['least']}")
    return f"stays from slot {still['stays']}, index {still['mean']:.4f}"


def what_alpha_does():
    """The distance from 1 is the filter's noise: it is smaller for a smaller alpha."""
    means = [summaries("--limiters", "100", "--degree", "4", "--slots", "6000", "--alpha", alpha)
             [0]["mean"] for alpha in ("0.1", "0.01", "0.001", "0")]
    expect(means == sorted(means) and means[0] < 0.99 < means[2], f"{means}")
    expect(means[3] > 0.999999, f"{means}")
    return "index " + ", ".join(f"{mean:.4f}" for mean in means)


def cold_filters():
    """Filters that start at 0 make all limiters equal at first; started with the demands, they
    differ."""
    case = ("--limiters", "10", "--slots", "10000")
    warm, cold = summaries(*case, "--start", "both")
    expect((warm["start"], cold["start"]) == ("warm", "cold"), "another order")
    expect(warm["jain"][1][1] < 0.5, f"warm: {warm['jain'][1]}")
    expect(cold["jain"][1][1] > 0.99 and cold["stays"] == 0, f"cold: {cold['jain'][1]}")
    expect(cold["least_ever"] > 0.99 > 0.5 > warm["least_ever"], "what it falls to")
    known = summaries(*case, "--alpha", "0", "--start", "both")
    expect(known[0]["jain"] == known[1]["jain"], "what is known needs no filter")
    return f"never below {cold['least_ever']:.4f}"


def what_is_not_reached_is_never():
    """The goal is reached 44 slots after a change; with a change each 20 slots, never."""
    for period, until in (("20", None), ("200", 44)):
        summary, = summaries("--limiters", "10", "--alpha", "0", "--period", period)
        found = summary["changes"][0]["slots_until_goal"]
        expect(found == until, f"a period of {period}: {found}")
    done = run("--limiters", "10", "--alpha", "0", "--period", "20")
    expect("never before the next" in done.stdout, done.stdout)


def bad_networks():
    """Late, lost and rare messages: slower, but it settles."""
    summary, = summaries("--limiters", "20", "--degree", "4", "--slots", "4000", "--delay", "10",
                         "--loss", "0.3", "--rest", "0.3")
    expect(summary["stays"] is not None and summary["violations"] == 0, f"{summary['stays']}")
    expect(0.25 < summary["lost"] / summary["statements"] < 0.35, "not what was to be lost")
    expect(summary["most_in_flight"] > 0, "nothing was ever under way")
    return f"stays from slot {summary['stays']}"


def same_seed_same_bytes():
    """One seed writes the same bytes each time, and another seed others."""
    options = ("--limiters", "12", "--degree", "3", "--slots", "500", "--quiet", "--json", "-")
    texts = [run(*options, "--seed", seed).stdout for seed in ("1", "1", "2")]
    expect(texts[0] == texts[1] != texts[2], "the seed is not all that decides")


def files():
    """Pictures are well-formed, and a full disk is an error."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "json")
        for case, lines in ((("--figure", "4"), 11), (("--limiters", "5", "--period", "100"), 16),
                            (("--limiters", "50", "--slots", "10"), 1)):
            expect(run("--quiet", "--json", path, *case).returncode == 0, f"{case}")
            found = curves("gdrl", path)
            lines += 1  # one more line for the goal
            expect(len(found) == lines and all(found), f"{case}: {len(found)} lines")
        done = plot("gdrl", path, "/dev/full")
        expect(done.returncode == 1 and "/dev/full: No space" in done.stderr, done.stderr)
    done = run("--limiters", "2", "--slots", "2", "--json", "/dev/full")
    expect(done.returncode == 2 and "/dev/full: No space" in done.stderr, done.stderr)


def bad_input_is_refused():
    """Exit status 2, and a message that names the option."""
    for arguments in (("--limiters", "0"), ("--limiters", "-1"), ("--alpha", "2"),
                      ("--loss", "nan"), ("--indicator", "speed"), ("--figure", "8"),
                      ("--slots", "1x")):
        done = run(*arguments)
        expect(done.returncode == 2 and arguments[0] in done.stderr, f"{arguments}: {done.stderr}")
    done = run("--limiters", "10", "--eta", "0.3")
    expect(done.returncode == 2 and "at most 0.25" in done.stderr, done.stderr)
    expect(run("--limiters", "10", "--eta", "0.25", "--slots", "5").returncode == 0, "the bound")
    expect(run("--degree", "4").returncode == 2, "a degree of nothing")
    expect(run("something").returncode == 2, "an argument")


def shares(policy, rate, indicator):
    """Returns packets a second of two sites by `indicator`; the second has 7 times the demand."""
    small = {"kind": "cbr", "packet": "200B", "limiter": "l1", "rate": f"{rate}bit/s"}
    scenario = {"name": "units", "duration": "60s", "warmup": "30s", "limiters": 2,
                "network": {"delay": "5ms"}, "ledger": {"lease": "5s"},
                "policies": [{"name": "p", "allocator": "gdrl", "indicator": indicator, **policy}],
                "traffic": [small, {**small, "limiter": "l2", "rate": f"{7 * rate}bit/s"}]}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario, file)
        file.flush()
        done = weirsim("run", file.name, "--json", "-", "--quiet", "--seed", "1")
    expect(done.returncode == 0, done.stderr)
    bits = 1600 if "count" in policy else 1488  # a whole frame, or a frame without its header
    return [one["mean_bps"] / bits for one in json.loads(done.stdout)["limiters"]]


def whatever_is_counted():
    """Half of all demand passes, and half of each site's, in every unit and time."""
    for indicator in ("utilisation", "loss"):
        for policy, rate in (({"count": "packets", "limit": "200/s", "burst": 40}, 80000),
                             ({"count": "packets", "limit": "12k/min", "burst": 40}, 80000),
                             ({"count": "packets", "limit": "720k/h", "burst": 40}, 80000),
                             ({"count": "packets", "limit": "20k/s", "burst": 4000}, 8000000),
                             ({"limit": "297600bit/s", "burst": "16kB"}, 80000)):
            small, large = shares(policy, rate, indicator)
            total = rate / 1600 * 4
            expect(abs(small + large - total) < 0.03 * total,
                   f"{policy}, {indicator}: {small + large} of {total} used")
            expect(abs(small / (small + large) - 0.125) < 0.01,
                   f"{policy}, {indicator}: {small}:{large}")


TESTS = [the_papers_equation, the_papers_figures, what_alpha_does, cold_filters,
         what_is_not_reached_is_never, bad_networks, same_seed_same_bytes, files,
         bad_input_is_refused, whatever_is_counted]


def main():
    """Runs all tests."""
    run_tests(TESTS)


if __name__ == "__main__":
    main()

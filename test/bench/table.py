#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Runs a program that simulates or measures, and prints its results as a table in Markdown.

    table.py NAME [ARGUMENT...]

Equal in every run, because all is seeded and in virtual time:

    estimators ESTIMATOR:N...    cost and error of each kind of gossip, with so many limiters
    group ESTIMATOR:N...         gossip with one policy: bytes, age of news, a death
    policies ESTIMATOR:N:POLICIES:CHANGES...
                                 gossip with many policies
    push-sum                     push-sum under losses
    split [all]                  one limit over several workers; or the worst of each traffic
    unlike                       flows of unlike kinds, by the meter that polices them

Measured times, which differ in each run; arguments are the program's own:

    control-loop [--quick]       a limiter's control of many policies
    demo [OPTION...]             last lines of tools/demo (as root)
    distribute [ROUNDS]          one queue for several workers
    own [OPTION...]              Weir's own cost of a packet as a part of the library's
    sizing [OPTION...]           CPUs by speed, packet size and number of policies
    few [OPTION...]              the whole packet path with few policies
    phantom POLICIES... [OPTION...]
                                 the whole packet path with the meter phantom
    plane [POLICIES [ROUNDS]]    updates of the XDP data plane, until it has them (as root)
    reserve [ROUNDS]             drawing from a reserve
    shape [OPTION...]            packets that wait: --rounds N, --fifo PRIORITY, --seconds N
"""

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, os.environ.get("WEIR_BUILD") or "build")
sys.path[:0] = [os.path.join(ROOT, "tools", "benchmark"), os.path.join(ROOT, "tools")]

import machine  # noqa: E402 (needs the path above)
from keys import FEW, cycles_of, ratios_of  # noqa: E402
from measure import MEMORY_MB, fastpath  # noqa: E402
from report import CARD, markdown_table, pages_words, ratio_table, sizing_table  # noqa: E402
from testbed.measure import jain  # noqa: E402

NUMBER = r"(-?[\d.]+)"


def said_by(program, *words):
    """Returns the lines that a program of the build prints; it must succeed."""
    command = [os.path.join(BUILD, program), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"table.py: {' '.join(command)} ended with {done.returncode}: "
                 f"{done.stderr[-2000:]}")
    return done.stdout.splitlines()


def found(pattern, lines):
    """Returns the groups of a pattern in each matching line; at least one must match."""
    rows = [match.groups() for match in (re.search(pattern, line) for line in lines) if match]
    if not rows:
        sys.exit(f"table.py: nothing in this is like {pattern}:\n" + "\n".join(lines))
    return rows


def short(text):
    """Formats a number with its two or three significant digits."""
    value = float(text)
    return f"{value:.2g}" if value < 99.5 else f"{float(f'{value:.3g}'):,.0f}"


# --- equal in every run --------------------------------------------------------------------------

def estimators(*cases):
    """Returns one row for each estimator and number of limiters."""
    pattern = (rf"^(\S+) +N +(\d+) .* {NUMBER} kbit/s +{NUMBER} datagrams/s of +{NUMBER} B .* "
               rf"error mean {NUMBER} % max {NUMBER} % .* known after {NUMBER} s ")
    rows = []
    for case in cases:
        words = case.split(":")
        name, n, rate, sent, size, mean, most, known = found(
            pattern, said_by("test/bench/estimators", *words, "0.01"))[0]
        rows.append(["push-sum, compensated" if name == "compensated" else name, f"{int(n):,}",
                     f"{float(rate):.1f}", sent, size, f"{short(mean)} %", f"{short(most)} %",
                     f"{known} s" if float(known) < 60 else "not in 60 s"])
    return markdown_table(["estimator", "N", "kbit/s a limiter", "datagrams a second",
                           "bytes of each", "mean error", "largest", "within 1 % after"], rows)


def group_said(*words):
    """Returns the figures of one run of gossip_group, by the words before each."""
    line = said_by("test/bench/gossip_group", *words)[0]
    return {key: found(rf"{key} {NUMBER}", [line])[0][0] for key in
            ("all counted after", "median", "p95", "known by all", "most missed")
            if key in line} | {"kbit/s": (found(rf"{NUMBER} kbit/s", [line])[0][0]
                                          if "kbit/s" in line else "")}


def group(*cases):
    """Returns one row for each estimator and number of limiters."""
    rows = []
    for case in cases:
        name, n = case.split(":")
        steady, busy = (group_said("news", name, n, "1", changes, "20") for changes in "04")
        death = group_said("death", name, n, "1")
        rows.append([name, n, steady["kbit/s"], busy["kbit/s"], f"{steady['median']} ms",
                     f"{steady['p95']} ms", f"{death['known by all']} s", death["most missed"]])
    return markdown_table(["estimator", "N", "kbit/s a limiter", "if each changes 4 times a second",
                           "median age of news", "95 %", "all miss a dead limiter after",
                           "most missed"], rows)


def policies(*cases):
    """Returns one row for each number of policies, and part of them that changes in a second."""
    rows = []
    for case in cases:
        name, n, many, changes = case.split(":")
        got = group_said("news", name, n, many, changes, "6")
        rows.append([name, n, f"{int(many):,}", f"{float(changes):.0%}".replace("%", " %"),
                     got["kbit/s"], f"{got['median']} ms", f"{got['p95']} ms",
                     f"{got['all counted after']} s"])
    return markdown_table(["estimator", "N", "policies", "that change in a second",
                           "kbit/s a limiter", "median age of news", "95 %",
                           "all counted after a start"], rows)


def push_sum():
    """Returns the figures that the unit test prints with its result."""
    some = r"([\d.e+]+)"
    rows = [[f"{loss} %", *(f"{short(figure)} %" for figure in figures)] for loss, *figures in
            found(rf"loss {NUMBER} %: mean error {some} % \(most {some} %\), compensated "
                  rf"{some} % \(most {some} %\)", said_by("test/unit/test_push_sum"))]
    return markdown_table(["loss", "mean error", "largest", "mean error, compensated", "largest"],
                          rows)


# Rows of the table: traffic, Mbit/s, ms of burst.
SPLIT = {"steady, 1.5 × the limit | 100 Mbit/s, 50 ms": ("steady", 100, 50),
         "steady, 1.5 × the limit | 10 Gbit/s, 50 ms": ("steady", 10000, 50),
         "one flow of 1.3 × the limit, and others | 100 Mbit/s, 5 ms": ("elephant", 100, 5),
         "flows go to another worker every 100 ms | 10 Gbit/s, 50 ms": ("hop_100ms", 10000, 50),
         "bursts of 50 ms, silent for 150 | 100 Mbit/s, 50 ms": ("on_off", 100, 50)}
TRAFFIC = {"under": "0.9 of the limit", "steady": "1.5 × the limit",
           "zipf": "the same, the k-th flow 1/k of the first",
           "elephant": "one flow of 1.3 × the limit, and others",
           "hop_1s": "flows go to another worker every second", "hop_100ms": "every 100 ms",
           "on_off": "bursts of 50 ms, silent for 150", "tcp": "TCP"}


def split_losses(*words):
    """Yields (traffic, [lost % of even parts, shares, reserve]) for each line of bench_split."""
    four = rf"{NUMBER} +{NUMBER} +{NUMBER} +{NUMBER}"
    lines = said_by("test/bench/bench_split", *words)
    for name, *figures in found(rf"^(\w+) .*? +{four} +{four} +{four}", lines):
        yield name, [float(figures[at]) for at in (0, 4, 8)]


def split_row(traffic, mbps, ms):
    """Returns one line of bench_split, with eight workers."""
    return next(split_losses("--only", f"{traffic:9} {mbps:5} Mbit/s {ms:2} ms, 8 workers"))[1]


def split(which=""):
    """Returns the lost throughput, in percent of the limit."""
    ways = ["even parts", "shares", "reserve"]
    if which == "all":
        rows = [[TRAFFIC[name], *(f"{loss:.2f}" for loss in losses)]
                for name, losses in split_losses("--worst")]
        return markdown_table(["traffic", *ways], rows)
    rows = [[*words.split(" | "), *(f"{loss:.2f}" for loss in split_row(*row))]
            for words, row in SPLIT.items()]
    least = [split_row(traffic, 1, 50) for traffic in
             dict.fromkeys(row[0] for row in SPLIT.values())]
    rows.append(["any of these", "1 Mbit/s, 6 packets",
                 *(f"{min(losses):.2f} to {max(losses):.2f}" for losses in zip(*least))])
    return markdown_table(["traffic", "limit, burst", *ways], rows)


def unlike():
    """Runs weirsim's scenario `unlike`, once for each meter."""
    with open(os.path.join(ROOT, "config", "scenarios", "unlike.json"), encoding="utf-8") as file:
        scenario = json.load(file)
    del scenario["expect"]
    rows = []
    for meter in ("token-bucket", "phantom"):
        scenario["policies"][0]["meter"] = meter
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(scenario, file)
            file.flush()
            result = json.loads("\n".join(said_by("app/weirsim/weirsim", "run", file.name,
                                                  "--quiet", "--json", "-")))
        rates = {}
        for flow in result["flows"]:
            rates.setdefault(flow["traffic"], []).append(flow["mean_bps"] / 1e6)
        every = [bps for some in rates.values() for bps in some]
        rows.append([f"`{meter}`", f"{jain(every):.3f}", f"{result['aggregate_ratio']:.3f}",
                     *(f"{min(some):.2f} to {max(some):.2f}" if len(some) > 1 else
                       f"{some[0]:.2f}" for some in rates.values())])
    return markdown_table(["meter", "Jain's index of all ten", "passed / limit",
                           "Mbit/s of each of four of NewReno", "three of CUBIC", "two of QUIC",
                           "one that adapts to nothing"], rows)


# --- measured times ------------------------------------------------------------------------------

def control_loop(*words):
    """Returns the cost of control for three sizes."""
    names = {"control": ("10,000", "10,000"), "control_100k_10k": ("100,000", "10,000"),
             "control_100k_1k": ("100,000", "1,000")}
    rows = [[*names[name], f"{median} % ({least} to {most})", f"{float(rate):.1f} Mbit/s",
             f"{float(error):.1f} %"] for name, median, least, most, rate, error in
            found(rf"^(\S+) +{NUMBER} % +\({NUMBER} to {NUMBER}\) of a core; .* gossip {NUMBER} "
                  rf"Mbit/s, .* error {NUMBER} %",
                  said_by("test/bench/bench_control_loop", *words))]
    return markdown_table(["policies", "active", "share of a core, median (p10 to p90)",
                           "gossip of a limiter", "error"], rows)


def demo(*words):
    """Returns the last lines of the demo, not a table."""
    with tempfile.TemporaryDirectory(prefix="weir-demo-") as folder:
        lines = said_by(os.path.join(ROOT, "tools", "demo"), *words, "--plot",
                        os.path.join(folder, "demo.svg"))
    at = next(i for i, line in enumerate(lines) if re.match(r"\s+measured\s+expected", line))
    return "\n".join("    " + line for line in lines[at:at + 4])


def distribute(*words):
    """Returns the added cost of distribution, and bare forwarding."""
    rows = [[name, median, f"{least} to {most}"] for name, median, least, most in
            found(rf"^(bare forwarding|distribution, .*?) +{NUMBER} +{NUMBER} to +{NUMBER}$",
                  said_by("test/bench/bench_distribute", *words))]
    return markdown_table(["", "cycles a packet", "p10 to p90"], rows)


def plane(*words):
    """Returns the program's own output."""
    return "\n".join(said_by("test/bench/bench_plane", *words))


def reserve(*words):
    """Compares a reserve with a bucket of one's own, alone and while another core writes."""
    lines = said_by("test/bench/bench_reserve", *words)
    rival = lines.index("with a rival:")
    pattern = rf"^  (a .*?) +{NUMBER} ns +{NUMBER} +\({NUMBER} to {NUMBER}\)"
    rows = [[name, f"{ratio} ({least} to {most})", f"{pressed[2]} ({pressed[3]} to {pressed[4]})"]
            for (name, _, ratio, least, most), pressed in
            zip(found(pattern, lines[:rival]), found(pattern, lines[rival:]))]
    return markdown_table(["to a bucket of one's own", "one thread",
                           "another core writes the line"], rows)


def phantom_row(words, cycles, ratios, names):
    """Returns a row: one number of policies, below the limit or above."""
    unhashed = ratios.get(f"{names[1]}_unhashed_vs_bucket")
    cell = "{median:.0f} ({p10:.0f} to {p90:.0f})".format
    fine = "{median:.2f} ({p10:.2f} to {p90:.2f})".format
    dropped = cycles[names[1]]["dropped"]
    return [words, *(cell(**cycles[name]) for name in names),
            fine(**ratios[f"{names[1]}_vs_bucket"]), fine(**unhashed) if unhashed else "",
            f"{dropped:.0%}"]


def phantom(*words):
    """Compares the whole packet path of phantom meters with token buckets."""
    policies = list(itertools.takewhile(str.isdecimal, words))
    rows = []
    for n in policies:
        measured = fastpath(BUILD, ["phantom"], False,
                            ["--policies", n, *words[len(policies):]])["questions"]
        cycles, ratios = cycles_of(measured)["contenders"]["phantom"], ratios_of(measured)
        if not rows:
            rows.append(phantom_row("1", cycles, ratios, ("bucket_1", "phantom_1")))
        rows.append(phantom_row(f"{int(n):,}, below their limits", cycles, ratios,
                                ("bucket_10k", "phantom_10k")))
        rows.append(phantom_row(f"{int(n):,}, above", cycles, ratios,
                                ("bucket_10k_pressed", "phantom_10k_pressed")))
    return markdown_table(["policies", "token bucket, cycles", "phantom, cycles", "ratio",
                           "ratio without a device hash", "dropped"], rows)


def few(*words):
    """Compares few policies with the library and with many policies, in the same rounds."""
    measured = fastpath(BUILD, ["few"], False, words)["questions"]
    cycles, ratios = cycles_of(measured)["contenders"]["few"], ratios_of(measured)
    cell = "{median:.2f} ({p10:.2f} to {p90:.2f})".format
    rows = [[what, *(cell(**cycles[f"{who}_{name}"]) for who in ("full", "library")),
             *(cell(**ratios[f"few_{name}_vs_{other}"]) for other in ("library", "10k"))]
            for name, what in FEW.items()]
    return markdown_table(["", "Weir, cycles", "`rte_lpm` and `rte_meter`, cycles",
                           "`few_…_vs_library`", "`few_…_vs_10k`"], rows)


def on_this_machine(questions, words):
    """Runs the questions, on hugepages if there is memory for them."""
    with machine.hugepages(MEMORY_MB) as huge:
        return fastpath(BUILD, questions, huge, ["--slice-us", "5000", *words])


def machine_line(measured):
    """Describes the machine in a line."""
    return (f"{machine.cpu_model()}, L2 {machine.cache(2)}, L3 {machine.cache(3)}, TSC "
            f"{measured['tsc_hz'] / 1e9:.2f} GHz, {pages_words(measured)}.\n\n")


def own(*words):
    """Returns the keys own_* and cached_*, in the form of the table of all figures."""
    measured = on_this_machine(["policies", "cached", "cold"], words)
    ratios = {name: one for name, one in ratios_of(measured["questions"]).items()
              if "own_" in name or name.startswith("cached_")}
    return machine_line(measured) + ratio_table({"ratios": ratios, "figures": {}, "cycles": {}})


def sizing(*words):
    """Returns CPUs, from the cost of packets that a card with access to the cache delivers."""
    measured = on_this_machine(["cached"], words)
    contenders = cycles_of(measured["questions"])["contenders"]["cached"]
    costs = ", ".join(f"{contenders[name]['median']:.0f} with {policies}" for name, policies in
                      (("full_few", "10 policies"), ("full_10k", "10,000"),
                       ("full_100k", "100,000")))
    return (machine_line(measured)
            + f"A packet from a ring takes {costs} (cycles). {CARD} are added for a card.\n\n"
            + sizing_table(measured["tsc_hz"], contenders))


def shape(*words):
    """Answers three questions for both kinds of shaping."""
    lines = said_by("test/bench/bench_shape", *words)
    columns = {}
    spread = rf"{NUMBER} \({NUMBER} to {NUMBER}\)"
    for kind, cycles, sched, ratio, least, most in found(
            rf"shaper, (\w+), {NUMBER} cycles a packet, rte_sched {NUMBER}; ratio {spread}",
            lines):
        columns[kind] = [f"{float(cycles):.0f}", f"{float(sched):.0f}",
                         f"{ratio} ({least} to {most})"]
    for kind, ratio, least, most in found(
            rf"queues, (\w+) \(.*without them .*; ratio {spread}", lines):
        columns[kind] += [f"{ratio} ({least} to {most})"]
    for kind, mpps, p50, p99, early, stalled in found(
            rf"^(\w+): {NUMBER} Mpps.* p50 {NUMBER}, p99 {NUMBER}, .* us; (\d+) early; .* "
            rf"{NUMBER} % of the time$", lines):
        columns[kind] += [f"{mpps} Mpps", f"{p50} µs", f"{p99} µs", early, f"{stalled} %"]
    heads = ["a packet, in and out, cycles", "`rte_sched` on an equal load, cycles",
             "ratio of the two, median (p10 to p90)",
             "packets of others while a million wait, against none",
             "late: packets that come", "half leave within", "99 % leave within",
             "leave too early", "time in which the CPU was not ours, which is left out"]
    return markdown_table(["", *columns], list(zip(heads, *columns.values())))


TABLES = {"estimators": estimators, "group": group, "policies": policies,
          "push-sum": push_sum, "split": split, "unlike": unlike,
          "control-loop": control_loop, "demo": demo, "distribute": distribute, "few": few,
          "own": own, "sizing": sizing,
          "phantom": phantom, "plane": plane, "reserve": reserve, "shape": shape}


def main(argv):
    """Prints one table."""
    if argv[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if not argv or argv[0] not in TABLES:
        print(f"table.py: expected one of {', '.join(TABLES)}", file=sys.stderr)
        return 2
    print(TABLES[argv[0]](*argv[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

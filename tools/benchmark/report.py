# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Results as text for the terminal, and as tables and pictures for the document."""

import os
import re
import sys

from keys import FEW, FIGURES, KEYS, STAGES, WORST_DROP

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from plotter import Bar, bar_picture  # noqa: E402 (needs the path above)

# Contenders of a question in the order of its picture: (name, label, ours).
PICTURES = {
    "policies": ("Cost of a packet, by the number of policies", (
        ("io", "io forwarding", False), ("mac", "MAC addresses swapped", False),
        ("full_any", "Weir, one policy, any packet", True),
        ("full_1", "Weir, one policy, a prefix", True),
        ("full_10k", "Weir, 10,000 policies", True),
        ("full_10k_zipf", "Weir, 10,000, Zipf", True),
        ("full_100k", "Weir, 100,000 policies", True),
        ("library_10k", "rte_lpm + rte_meter, 10,000", False),
        ("library_100k", "rte_lpm + rte_meter, 100,000", False))),
    "drops": ("Cost of a packet, by the share of dropped packets", (
        ("full_0", "Weir, none", True), ("full_10", "Weir, 10 %", True),
        ("full_33", "Weir, 33 %", True), ("full_50", "Weir, 50 %", True),
        ("full_90", "Weir, 90 %", True), ("full_100", "Weir, 100 %", True),
        ("library_0", "rte_lpm + rte_meter, none", False),
        ("library_33", "rte_lpm + rte_meter, 33 %", False),
        ("library_50", "rte_lpm + rte_meter, 50 %", False))),
    "hostile": ("Cost of a packet of hostile traffic", (
        ("full_10k", "usual traffic", True), ("one_policy", "all to one policy", True),
        ("all_distinct", "each to a different policy", True), ("unmatched", "all unmatched", True),
        ("fragments", "all fragments", True), ("options", "IPv4 options", True),
        ("smallest", "smallest packets", True), ("all_over", "100 % exceed the limit", True),
        ("source_scan", "a scan over sources", True))),
    "cached": ("Cost of a packet from a ring that fits in a cache", (
        ("io", "io forwarding", False), ("io_with_headers", "the same, headers written", False),
        ("full_few", "Weir, 10 policies", True), ("full_10k", "Weir, 10,000 policies", True),
        ("full_100k", "Weir, 100,000 policies", True),
        ("library_10k", "rte_lpm + rte_meter, 10,000", False),
        ("library_100k", "rte_lpm + rte_meter, 100,000", False))),
    "cold": ("Cost of a packet that is in no cache", (
        ("io", "io forwarding", False), ("mac", "MAC addresses swapped", False),
        ("full_10k", "Weir, 10,000 policies", True),
        ("library_10k", "rte_lpm + rte_meter", False))),
    "peers": ("Cost of a packet, compared with other parts of DPDK", (
        ("io", "io forwarding", False), ("full_10k", "Weir, 10,000 policies", True),
        ("library_10k", "rte_lpm + rte_meter", False),
        ("rte_hash_10k", "rte_hash + rte_meter", False),
        ("rte_sched", "rte_sched", False))),
}

# Ratios that other programs measure: {name: (target, words)}.
OTHERS = {
    "per_source_vs_line": (1.10, "a meter for each source, against one cache line"),
    "testpmd_io_vs_io": (None, "dpdk-testpmd --forward-mode=io, a separate process, against io"),
    "testpmd_mac_vs_mac": (None, "the same with --forward-mode=mac, against mac"),
}

# Families of ratios in one table each: {stem: words of the row}, {ending: words of the column}.
FEW_WAYS = {"vs_library": "against `rte_lpm` and `rte_meter`",
            "vs_10k": "against 10,000 policies"}
SOURCES = {"per_source": "IPv4, few are busy", "per_source_ipv6": "IPv6, few are busy",
           "per_source_busy": "IPv4, all are busy",
           "per_source_scan": "IPv4, a scan with room for newcomers",
           "per_source_full": "IPv4, a scan, all places taken",
           "per_source_small_pages": "IPv4, few are busy, pages of 4 kB"}
SOURCE_WAYS = {"vs_line": "line found by a hash", "vs_line_no_hash": "without a hash",
               "ahead_vs_line_ahead": "both prefetch the next burst",
               "singly_vs_line": "packet by packet"}

# Row of the difference in cycles between half of the packets dropped and none.
HALF_DROPPED = "difference with half of the packets dropped"


def number(value):
    """A number with its significant digits."""
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def cell(spread):
    """Formats a spread: median (p10–p90)."""
    return f"{spread['median']:.2f} ({spread['p10']:.2f}–{spread['p90']:.2f})"


def verdict(value, target, least=False):
    """Compares a value with its target; empty without one."""
    if target is None:
        return ""
    reached = value >= target if least else value <= target
    return f"{'≥' if least else '≤'} {target:g}: {'reached' if reached else 'not reached'}"


def dropped_words(result, key):
    """The shares that both contenders of a ratio dropped, if they did."""
    contenders = result["cycles"].get("contenders", {}).get(key.question, {})
    shares = [contenders.get(name, {}).get("dropped", 0) for name in (key.over, key.under)]
    return " ({:.1%} dropped, against {:.1%})".format(*shares) if max(shares) > 0.001 else ""


def ratio_rows(result):
    """Yields (key, figure, verdict, words) of each measured ratio."""
    ratios = dict(result["ratios"])
    for key in (*KEYS, WORST_DROP):
        spread = ratios.pop(key.name, None)
        if spread:
            yield (key.name, cell(spread), verdict(spread["median"], key.target, key.least),
                   key.words + dropped_words(result, key))
    for name, spread in ratios.items():
        target, words = OTHERS.get(name, (None, ""))
        yield name, cell(spread), verdict(spread["median"], target), words


def figure_rows(result):
    """Yields the same of each other figure."""
    figures = dict(result["figures"])
    for one in FIGURES:
        spread = figures.pop(one.name, None)
        if spread:
            yield (one.name, f"{number(spread['median'])} {one.unit}",
                   verdict(spread["median"], one.target), one.words)
    for name, spread in figures.items():
        target = 0.25 if name == "control_share" else None
        yield (name, number(spread["median"]), verdict(spread["median"], target),
               "part of a core: the control loop, 10,000 active aggregates, 16 limiters"
               if name == "control_share" else "")


def pages_words(run):
    """Describes the hugepages and the cost of reaching them at random."""
    pages = run.get("pages")
    words = "hugepages" if run["huge"] else "without hugepages"
    if pages is None:
        return words
    return (f"{words} (4,096 lines: {pages['packed']:.0f} cycles each side by side, "
            f"{pages['spread']:.0f} with one in each 4 kB)")


def machine_words(result):
    """Describes the machine and the run in a line."""
    machine, run = result["machine"], result["run"]
    kind = "virtual" if machine["virtual"] else "real"
    return (f"{machine['cpus']} {kind} CPUs {machine['cpu']}, L2 {machine['l2']}, L3 "
            f"{machine['l3']}, TSC {run['tsc_hz'] / 1e9:.2f} GHz, {run['dpdk']}, "
            f"{pages_words(run)}. {run['rounds']} rounds of "
            f"{run['slice_us'] / 1e3:g} ms; load {machine['load']:.1f} at the start. "
            f"Measured at commit `{machine['commit']}`.")


def text(result):
    """Returns the report for the terminal."""
    lines = [machine_words(result), "", "ratios: median (p10–p90) over the rounds"]
    rows = [*ratio_rows(result), *figure_rows(result)]
    width = max((len(row[0]) for row in rows), default=0)
    lines += [f"  {key:{width}}  {figure:22} {said:22} {words}".rstrip()
              for key, figure, said, words in rows]
    cycles = result["cycles"]
    if "total" in cycles:
        lines += ["", "cycles a packet, 10,000 policies, stage by stage"]
        lines += [f"  {words:46} {cell(cycles[name])}" for name, _, _, words in STAGES]
    if "drop_handling" in cycles:
        lines.append(f"  {HALF_DROPPED:46} {cell(cycles['drop_handling'])}")
    lines += ["", *result["notes"]] if result["notes"] else []
    return "\n".join(lines)


def markdown_table(heads, rows):
    """Returns a table in Markdown."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(str(one) for one in row) + " |" for row in rows])


def stage_table(result):
    """Returns the table of the budget, stage by stage."""
    cycles = result["cycles"]
    rows = [[words, cell(cycles[name])] for name, _, _, words in STAGES if name in cycles]
    if "drop_handling" in cycles:
        rows.append([HALF_DROPPED, cell(cycles["drop_handling"])])
    return markdown_table(["stage", "cycles a packet"], rows)


def contender_lines(result):
    """Returns the contenders of all questions as CSV."""
    lines = ["# SPDX-License-Identifier: BSD-3-Clause",
             "# Written by tools/bench --doc. Cycles of the TSC for a packet; dropped: part of the "
             "packets.", "question,contender,median,p10,p90,dropped"]
    for question, contenders in result["cycles"]["contenders"].items():
        for name, one in contenders.items():
            dropped = f"{one['dropped']:.1%}" if one["dropped"] > 0.0005 else ""
            lines.append(f"{question},{name},{one['median']:.2f},{one['p10']:.2f},"
                         f"{one['p90']:.2f},{dropped}")
    return "\n".join(lines) + "\n"


# Bytes on the wire, with preamble and gap. Frames of 64 and 300 bytes are counted with their FCS; a
# frame of 1518 bytes carries 1500.
LOADS = (("64 B", 84), ("300 B", 320), ("1500 B", 1538))
SPEEDS = (10, 25, 40, 100)
SIZED = (("10 policies", "full_few"), ("10,000", "full_10k"), ("100,000", "full_100k"))
CARD = 60  # additional cycles of receive and send with a card instead of a ring, estimated high


def sizing_table(hz, contenders):
    """Returns the table of cores, from the cost of packets from a ring that fits in a cache."""
    costs = [contenders[name]["median"] + CARD for _, name in SIZED]
    rows = []
    for speed in SPEEDS:
        for load, frame in LOADS:
            pps = speed * 1e9 / 8 / frame
            rows.append([f"{speed} Gbit/s", load, f"{pps / 1e6:.1f}", f"{hz / pps:.0f}",
                         *(f"{-(-cost * pps // hz):.0f}" for cost in costs)])
    heads = ["one direction", "packets", "Mpps", "cycles between two"]
    return markdown_table([*heads, *(f"CPUs, {words}" for words, _ in SIZED)], rows)


def ratio_table(result):
    """Returns the table of all ratios and figures."""
    rows = [[f"`{key}`", figure, said, words]
            for key, figure, said, words in [*ratio_rows(result), *figure_rows(result)]]
    return markdown_table(["key", "median (p10–p90)", "target", "measured"], rows)


def family_table(ratios, head, stems, ways):
    """Returns a table of a family of ratios: a row for each stem, a column for each way."""
    rows = [[f"`{stem}_…`", words,
             *(cell(ratios[f"{stem}_{way}"]) if f"{stem}_{way}" in ratios else ""
               for way in ways)]
            for stem, words in stems.items() if any(f"{stem}_{way}" in ratios for way in ways)]
    targets = {key.name: key.target for key in KEYS}
    targets |= {name: target for name, (target, _) in OTHERS.items()}
    columns = []
    for way, words in ways.items():
        target = targets.get(f"{next(iter(stems))}_{way}")
        columns.append(f"`…_{way}`: {words}" + (f", target ≤ {target:g}" if target else ""))
    return markdown_table(["key", head, *columns], rows)


def ratio_tables(result):
    """Returns all ratios and figures; the document about the kernel has its own ratios."""
    few = {f"few_{name}": words for name, words in FEW.items()}
    families = {f"{stem}_{way}" for stems, ways in ((few, FEW_WAYS), (SOURCES, SOURCE_WAYS))
                for stem in stems for way in ways}
    ratios = {name: one for name, one in result["ratios"].items()
              if name not in families and not name.startswith("kernel_")}
    return "\n\n".join((ratio_table(result | {"ratios": ratios}),
                        family_table(result["ratios"], "few policies", few, FEW_WAYS),
                        family_table(result["ratios"], "a meter for each source, against a "
                                     "cache line each", SOURCES, SOURCE_WAYS)))


def gallery(result):
    """Returns the lines that show the pictures."""
    return "\n\n".join(f"![{PICTURES[name][0]}](performance/{name}.svg)"
                       for name in PICTURES if name in result["cycles"]["contenders"])


BLOCKS = {
    "machine": machine_words, "stages": stage_table, "ratios": ratio_tables,
    "pictures": gallery,
}


def fill(document, result):
    """Returns the document with new text between its markers."""
    for name, block in BLOCKS.items():
        pattern = re.compile(rf"(<!-- bench: {name} -->\n).*?(<!-- end -->)", re.S)
        content = block(result)
        document, found = pattern.subn(lambda at, words=content: f"{at[1]}{words}\n{at[2]}",
                                       document)
        if found != 1:
            raise ValueError(f"expected one block {name!r} in the document, found {found}")
    return document


def pictures(result):
    """Returns {name: SVG} of all pictures."""
    drawn = {}
    for name, (title, rows) in PICTURES.items():
        contenders = result["cycles"]["contenders"].get(name)
        if contenders:
            bars = [Bar(label, contenders[key], ours) for key, label, ours in rows]
            packets = "rings" if name in ("cached", "cold") else "net_null, 64 bytes"
            note = f"median over the rounds; line: p10 to p90; {packets}, one worker"
            drawn[name] = bar_picture(title, note, "TSC cycles a packet", bars)
    return drawn


def write_document(root, result, write):
    """Writes the results into doc/study/performance.md, its pictures and contenders.csv."""
    path = os.path.join(root, "doc", "study", "performance.md")
    with open(path, encoding="utf-8") as file:
        document = file.read()
    write(path, fill(document, result))
    files = {name + ".svg": content for name, content in pictures(result).items()}
    files["contenders.csv"] = contender_lines(result)
    for name, content in files.items():
        write(os.path.join(root, "doc", "study", "performance", name), content)

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Every state in the manual's tables of failures has an alarm, a metric, and a tested alert rule.

These tables have a column "alarm". A cell has the name of an alarm of /weir/health, which is also
the label of the metric weir_alarm, or the name of a rule on another metric.

Usage: check_alarms.py SOURCE_ROOT
"""

import pathlib
import re
import sys

# The sections whose tables are about failures. Each table in them has the column.
SECTIONS = {
    "doc/operate/guarantees.md": ("State and alarms", "Weir does not start", "Hard limits",
                                  "Quotas"),
    "doc/operate/etcd.md": ("Failures",),
    "doc/operate/symptoms.md": ("The ledger is not committed",),
}
# Sections of the same name that describe guarantees are above this heading.
TROUBLE = "## State and alarms"


def tables(text, sections):
    """(section, header, rows) of each table in these sections."""
    section, table = None, []
    for line in (*text.splitlines(), ""):
        if line.startswith("|"):
            table.append([cell.strip() for cell in line.strip("|").split("|")])
        elif table:
            if section in sections:
                yield section, table[0], table[2:]
            table = []
        if line.startswith("#"):
            section = line.lstrip("# ").strip()


def rules(text):
    """Returns {alert: expression}."""
    blocks = re.split(r"^ *- alert: ", text, flags=re.M)[1:]
    return {block.split("\n", 1)[0]: re.search(r"expr: (.*?)\n +for:", block, re.S)[1]
            for block in blocks}


def tested(text):
    """Returns {alert: {True: an evaluation expects it, False: another expects none}}."""
    found = {}
    for test in re.split(r"- alertname: ", text)[1:]:
        found.setdefault(test.split("\n", 1)[0], set()).add("exp_alerts" in test)
    return found


def check_cell(cell, alarms, exprs):
    """Yields the problems of one cell."""
    names = re.findall(r"`(\w+)`", cell)
    if not names:
        yield "no alarm"
    for name in names:
        if name in exprs:
            continue
        if name not in alarms:
            yield f"{name} is no alarm of /weir/health and no rule"
        elif not any(f'alarm="{name}"' in expr for expr in exprs.values()):
            yield f"no rule for the alarm {name}"


def metrics(monitoring, telemetry):
    """Returns a pattern of the metrics. Columns of /weir/policy_stats give those of a policy."""
    table = re.search(r"<!-- numbers -->\n(.*?)<!-- end", telemetry, re.S)[1]
    columns = set(re.findall(r"`(\w+)`", "".join(row.split("|")[2] for row in table.splitlines())))
    unit = "(?:bytes|packets|flows)"
    forms = [column.removesuffix("_per_s") + f"_{unit}_per_second" if column.endswith("_per_s") else
             re.sub("_(units|packets)$", f"_{unit}(?:_total)?", column) for column in columns]
    return re.compile("|".join(re.findall(r"^\| `(weir_\w+)`", monitoring, re.M) +
                               [f"weir_policy_{form}" for form in forms]))


def check(root):
    """Yields the problems of all tables and rules."""
    def read(name):
        return (root / name).read_text(encoding="utf-8")

    body = read("app/weir/telemetry/show_health.c")
    alarms = re.findall(r'^\t\{"(\w+)", alarm_\w+\},', body, re.M)
    monitoring = read("doc/operate/monitoring.md")
    known = metrics(monitoring, read("doc/operate/telemetry.md"))
    exprs = rules(read("config/prometheus/weir.rules.yml"))
    tests = tested("".join(read(path) for path in root.glob("config/prometheus/*.test.yml")))
    listed = [cells[0].strip("`") for _, _, rows in tables(monitoring, ("Alarms",))
              for cells in rows]
    if not alarms or listed != alarms:
        yield f"monitoring.md has the alarms {listed}, /weir/health {alarms}"
    for page, sections in SECTIONS.items():
        text = read(page)
        seen = set()
        for section, header, rows in tables(text[max(text.find(TROUBLE), 0):], sections):
            seen.add(section)
            if "alarm" not in header:
                yield f"{page}: {section}: a table without the column alarm"
                continue
            for cells in rows:
                for wrong in check_cell(cells[header.index("alarm")], alarms, exprs):
                    yield f"{page}: {section}: {cells[0]}: {wrong}"
        yield from (f"{page}: {name}: no table" for name in sections if name not in seen)
    for name, expr in exprs.items():
        if tests.get(name) != {True, False}:
            yield f"weir.*.test.yml: {name} needs an evaluation with and one without the alert"
        for metric in re.findall(r"\bweir_\w+", expr):
            if not known.fullmatch(metric):
                yield f"weir.rules.yml: {name}: there is no metric {metric}"


def main():
    """Prints a line for each problem; exits with 1 if there are any."""
    wrong = list(check(pathlib.Path(sys.argv[1])))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

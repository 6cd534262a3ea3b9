# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The tests by kind, and the selection of tests for a run."""

import glob
import os
import re
import subprocess
import zlib

# Build directories: compiler and options. Warnings are errors in all of them. Sanitizer builds need
# only the line numbers of a stack, and stop at the first undefined behaviour.
LINES = "-gline-tables-only"
BUILDS = {
    "build": ("gcc", []),
    "build-asan": ("clang", ["-Db_sanitize=address,undefined", "-Db_lundef=false",
                             "-Dfuzz=true", "-Doptimization=1", "-Ddebug=false",
                             f"-Dc_args={LINES} -fno-sanitize-recover=undefined"]),
    "build-tsan": ("clang", ["-Db_sanitize=thread", "-Db_lundef=false", "-Doptimization=1",
                             "-Ddebug=false", f"-Dc_args={LINES}"]),
    "build-clang": ("clang", ["-Ddebug=false", "-Doptimization=0"]),
}
# Tests that run in each of them: all, the ones with threads, or none.
TESTED = {
    "build": lambda test: True,
    "build-asan": lambda test: test not in ("rooms", "schema", "documents", "man", "installed",
                                             "hardening", "layout", "importer", "support",
                                             "support_redact"),
    "build-tsan": lambda test: test in ("limit_ring", "offload", "reload", "rx_wait",
                                        "shared_bucket_change", "snapshot", "store",
                                        "telemetry_threads"),
    "build-clang": lambda test: False,
}
# Programs that a partial build contains, in addition to the tests that run there.
ALSO_RUN = {"build-asan": ["test/fuzz/", "app/weirsim/", "app/weir/",
                           "app/exporter/"],
            "build-tsan": ["app/weir/", "app/exporter/", "test/net/"],
            "build-clang": []}
# Tests that should not be the last to begin.
LONGEST = ("conn_flows", "torture", "gdrl_world", "budget_world", "source_table", "config")

# The tables below have a row for each share, and the first row runs in all of them. The rows of a
# table take about the same time.
SHARES = 4

# Simulations, the longest first. They can run when `build` is built.
SIMULATIONS = (
    ("model/members", "sim/gdrl", "sim/adaptor", "sim/penalty", "sim/live", "sim/overshoot",
     "sim/dead"),
    ("sim/figures", "sim/torture"),
    ("sim/brokers", "sim/sweep", "sim/tables"),
    ("sim/weirsim", "sim/replay", "sim/models"),
    ("model/run", "sim/evaluation", "sim/totals", "sim/hierarchy"),
)
COMPILERS = "sim/compilers"  # compares build with clang and its sanitizers: needs build-asan

# Network tests. QUIET ones measure milliseconds and run alone. ALONE ones measure live TCP or
# times; only commands that yield run at the same time. IN_COMPANY ones wait for a condition,
# however long it takes, and run two at a time. A third one starves the others: the kernel gives a
# session that spins on one CPU little of another, and the control lcore once got no CPU for ten
# seconds.
QUIET = ("split",)
ALONE = (
    ("conservation",),
    ("groups",),
    ("agreement", "offloads", "actions"),
    ("members", "lifecycle", "colours", "sites"),
    ("shape", "levels", "placement", "loans"),
)
IN_COMPANY = (
    ("hard_limits", "service", "decoys"),
    ("plane", "ctl_live", "quota", "interfaces", "changes", "lengths", "clients"),
    ("drawn", "plane_counts", "copies", "reload", "refusals", "stuck", "kill9", "timed"),
    ("exporter", "import", "starts", "etcd", "page", "bypass", "doctor", "stall", "clocks",
     "flows", "balance"),
    ("events", "disagree", "plane_ledger", "manual", "weirctl", "group_keys", "trial",
     "explain", "reload_keys", "planes", "shadow"),
)
# Tests of two threads that share data, and of malformed input: without scenarios that stop a
# thread, which can hold a lock of ThreadSanitizer.
SANITIZED = {
    "build-asan": {"hostile": ()},
    "build-tsan": {"reload": ("churn", "from_one"), "shape": ("changes", "crowds"),
                   "placement": ("moves",), "etcd": ("lost",), "exporter": ("viewers",)},
}
# More of them, for --long.
SANITIZED_LONG = {
    "build-tsan": {"shape": ("leaves", "stopped"), "placement": ("leaves",),
                   "etcd": ("sum", "dead"), "flows": ("nobody",)},
}
# The share that builds a directory and runs all its tests. Each share builds the others.
BUILT_IN = {"build-clang": 1, "build-tsan": 4}
# Single tests with a share.
DEALT = {"mutate": 3}

# More seeds of the property tests in build/, for --long.
LONG = {
    "meter": ["test/unit/test_meter", "1000", "20000"],
    "group": ["test/sim/test_group", "1000", "1000"],
    "ledger_world": ["test/sim/test_ledger_world", "10000", "100000"],
    "group_tree": ["test/sim/test_group", "1000", "1000", "tree"],
    "group_reload": ["test/sim/test_group", "1000", "1000", "state", "reload"],
    "torture": ["test/torture/torture", "--seeds", "1000"],
    "budget_world": ["test/sim/test_budget_world", "1", "1000"],
    "few_policies": ["test/unit/test_few_policies"],
}
# Scripts that run fewer seeds or figures without WEIR_ALL_SEEDS.
FEWER = ("sim/brokers", "sim/figures", "sim/sweep", "net/balance", "net/interfaces", "net/import",
         "net/plane_counts", "net/refusals")
# Scripts that --long, other scripts and meson run.
RUN_OTHERWISE = ("net/versions", "net/stock_client", "sim/evasion")
# Releases that debian.py tries, each in a chroot.
DEBIANS = ("bookworm", "trixie")


def names(table):
    """All tests of a table, those that each share runs first."""
    return tuple(name for row in table for name in row)


LIVE = tuple(f"net/{name}" for name in (*QUIET, *names(ALONE), *names(IN_COMPANY),
                                        *SANITIZED["build-asan"]))


def rows():
    """Test → its share, of all tests in a table; 0: each."""
    found = dict(DEALT)
    for table, prefix in ((SIMULATIONS, ""), (ALONE, "net/"), (IN_COMPANY, "net/")):
        assert len(table) == 1 + SHARES, table
        found |= {prefix + name: share for share, row in enumerate(table) for name in row}
    for directory, share in BUILT_IN.items():
        found[f"{directory}/compiles"] = share
        found |= {f"net/{name} ({directory})": share for name in SANITIZED.get(directory, ())}
    return found


def misplaced(root):
    """Scripts of test/net and test/sim that are in no table, or in two rows."""
    planned = [*LIVE, *names(SIMULATIONS), COMPILERS, *RUN_OTHERWISE]
    scripts = [f"{folder}/{os.path.basename(path)[:-3]}" for folder in ("net", "sim")
               for path in glob.glob(os.path.join(root, "test", folder, "*.py"))
               if re.search(r"^if __name__ == ", open(path, encoding="utf-8").read(), re.M)]
    return sorted(set(scripts) - set(planned)
                  | {name for name in planned if planned.count(name) > 1})


def share_of_commit(root):
    """The share of the commit that is checked out; the first one outside a repository."""
    try:
        done = subprocess.run(["git", "-C", root, "-c", "safe.directory=*", "rev-parse", "HEAD"],
                              capture_output=True, text=True)
    except OSError:  # there is no git
        return 1
    return 1 + (int(done.stdout[:8], 16) % SHARES if done.returncode == 0 else 0)


class Selection:
    """The tests of a run: of one share (None: all), or those with a text in their name."""

    def __init__(self, share=None, only=""):
        self.share, self.only = share, only
        self.rows = rows()
        self.waiting = set()

    def share_of(self, name):
        """The share that runs a test; 0: each. The unit tests of build-asan are too many for a
        table, and each is short."""
        directory, _, test = name.partition("/")
        if directory in BUILT_IN:
            return BUILT_IN[directory]
        if directory == "build-asan" and test != "compiles":
            return 1 + zlib.crc32(test.encode()) % SHARES
        return self.rows.get(name, 0)

    def takes(self, name):
        """True if the run includes the test. Records one that is left to another share."""
        if self.only:
            return self.only in name
        if self.share is None or self.share_of(name) in (0, self.share):
            return True
        self.waiting.add(name)
        return False

    def builds(self, directory):
        """True if the run needs the build directory."""
        if self.only.startswith(("net/", "sim/", "model/")) and self.only not in COMPILERS:
            return directory == "build" or f"({directory}" in self.only
        if self.only and directory != "build-clang":  # build-clang has no tests
            return True
        return self.takes(f"{directory}/compiles")

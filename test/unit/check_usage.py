#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Tests weir's command line: the commands it accepts, their effects and output. Everything else is
wrong usage.

Usage: check_usage.py WEIR
"""

import json
import pathlib
import re
import stat
import subprocess
import sys
import tempfile

PATIENCE_S = 60
WRONG = 2
IDENTITY = "5eed" + 26 * "0" + "ab"
CONFIG = {
    "limiter": "l0",
    "ports": {"lan": {"device": "net_null0"}, "wan": {"device": "net_null1"}},
    "wires": [{"name": "egress", "a": "lan", "b": "wan"}],
    "ledger": {},
    "policies": [{"name": "p", "allocator": "quota", "total": "1TB"}],
}


class Table:
    """Runs weir in a folder, and records failures."""

    def __init__(self, weir, folder):
        self.weir, self.folder, self.wrong, self.n = weir, folder, [], 0

    def run(self, status, *arguments, out=None):
        """Expects a status, or one of several, and standard output of this form. Returns the
        output."""
        wanted = status if isinstance(status, tuple) else (status,)
        done = subprocess.run([self.weir, *arguments], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, cwd=self.folder, timeout=PATIENCE_S,
                              check=False)
        self.n += 1
        if done.returncode not in wanted:
            self.wrong.append(f"{arguments}: status {done.returncode}, not {status}: {done.stderr}")
        if status == WRONG and "Usage: weir" not in done.stderr:
            self.wrong.append(f"{arguments}: does not say how it is used: {done.stderr}")
        if out is not None and not re.fullmatch(out, done.stdout):
            self.wrong.append(f"{arguments}: printed {done.stdout!r}")
        return done.stdout

    def expect(self, holds, what):
        """Records a failure if the condition is false."""
        if not holds:
            self.wrong.append(what)


def commands(table):
    """Tests one command at a time, with exactly the arguments that it needs."""
    for words in ([], ["--nonsense"], ["-c"], ["good.json"], ["-c", "good.json", "more"],
                  ["-c", "good.json", "-c", "good.json"], ["-c", "good.json", "--quiet"],
                  ["--shadow"], ["--state", "here"], ["--quiet"], ["--strict"], ["--json"]):
        table.run(WRONG, *words)
    table.run(0, "--version", out=r"weir \S+ \(DPDK \S+\)\n")
    table.run(0, "--help", out=r"Usage: weir (.|\n)*")
    table.run(0, "-h", out=r"Usage: weir (.|\n)*")
    table.run(0, "--events", out=r"\| (.|\n)*")
    table.run(0, "--messages", out=r"\| (.|\n)*")
    for command in ("--version", "--help", "--events", "--messages"):
        table.run(WRONG, command, "more")
        table.run(WRONG, command, "--quiet")
        table.run(WRONG, command, "--check", "good.json")


def checks(table):
    """--check accepts several files and reports each; other commands accept one."""
    good, bad = "good.json", "bad.json"
    table.run(WRONG, "--check")
    table.run(0, "--check", good)
    table.run(0, "--check", good, good)
    table.run(1, "--check", bad)
    table.run(1, "--check", good, bad)
    table.run(1, "--check", bad, good)
    table.run(0, "--check", "--quiet", good, out="")
    table.run(1, "--check", "--strict", good)  # warns because nothing bounds a restart
    table.run(0, "--json", "--check", good, out=r"\{.*\}\n")
    table.run(0, "--check", "--state", "here", good)  # has no group
    table.run(WRONG, "--describe", "--state", "here", good)
    table.run(WRONG, "--doctor", "--state", "here", good)
    table.run(WRONG, "--check", "--shadow", good)
    table.run(0, "--describe", good, out=r"limiter l0\n(.|\n)*")
    table.run(WRONG, "--describe")
    table.run(WRONG, "--describe", good, good)
    for option in ("--quiet", "--strict", "--json", "--shadow"):
        table.run(WRONG, "--describe", good, option)
    table.run(1, "--describe", bad)
    table.run(WRONG, "--doctor")
    table.run(WRONG, "--doctor", good, good)
    table.run(WRONG, "--doctor", "--quiet", good)
    table.run(WRONG, "--doctor", "--strict", good)


def full(table):
    """A full output device is a failure."""
    for words in (["--version"], ["--help"], ["--events"], ["--messages"],
                  ["--check", "good.json"],
                  ["--json", "--check", "good.json"], ["--describe", "good.json"],
                  ["--doctor", "good.json"], ["--new-key"]):
        with open("/dev/full", "wb") as device:
            done = subprocess.run([table.weir, *words], stdout=device, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, cwd=table.folder, check=False,
                                  timeout=PATIENCE_S)
        table.n += 1
        table.expect(done.returncode == 1, f"{words} to a full device: {done.returncode}")


def doctors(table):
    """--doctor reports on this machine, except for a device that is absent everywhere."""
    table.run((0, 1), "--doctor", "good.json", out=r"(.|\n)+\ngood\.json: (.*\b)?fit\b.*\n")
    for words in (["--json", "--doctor"], ["--doctor", "--json"]):
        table.run((0, 1), *words, "good.json", out=r"(\{.*\}\n){2,}")
    table.run(1, "--doctor", "absent.json", out=r"(.|\n)*\nabsent\.json: not fit.*\n")
    table.run(1, "--doctor", "bad.json", out="")
    table.run(1, "--json", "--doctor", "bad.json", out=r"(\{.*\}\n)+")


def keys(table):
    """Secrets are written to files that only their owner can read."""
    table.run(0, "--new-key", out="[0-9a-f]{64}\n")
    table.run(0, "--new-key", "key", out="")
    table.run(1, "--new-key", "key")  # existing files stay
    table.run(WRONG, "--new-key", "another", "more")
    table.run(WRONG, "--new-identity")
    public = table.run(0, "--new-identity", "identity", out="[0-9a-f]{64}\n")
    table.run(1, "--new-identity", "identity")
    table.run(WRONG, "--new-identity", "another", "more")
    table.run(0, "--public-key", "identity", out=public)
    table.run(1, "--public-key", "nowhere")
    table.run(WRONG, "--public-key")
    table.run(WRONG, "--public-key", "identity", "more")
    for name in ("key", "identity"):
        mode = stat.S_IMODE((table.folder / name).stat().st_mode)
        table.expect(mode == 0o600, f"{name}: mode {mode:o}")
    table.expect(not (table.folder / "another").exists(), "wrong usage makes a file")


def ledgers(table):
    """If there are two words, the first is the identity."""
    table.run(WRONG, "--new-ledger")
    table.run(WRONG, "--new-ledger", IDENTITY, "good.json", "more")
    table.run(1, "--new-ledger", "no identity", "good.json")
    table.run(1, "--new-ledger", "bad.json")
    table.run(0, "--new-ledger", "good.json", out=r".*/store0: an empty ledger [0-9a-f]{32}: .*\n")
    table.run(1, "--new-ledger", "good.json")  # exists
    table.run(0, "--new-ledger", IDENTITY, "second.json", out=f".*ledger {IDENTITY}: .*\n")
    table.run(WRONG, "--accept-ledger")
    table.run(WRONG, "--accept-ledger", "good.json", "more")
    table.run(1, "--accept-ledger", "absent.json")
    table.run(0, "--accept-ledger", "good.json", out=r".*/store0: accepted: .*\n")


def main():
    """Prints a line for each failure; returns 1 if there are any."""
    with tempfile.TemporaryDirectory(prefix="weir-usage-") as name:
        folder = pathlib.Path(name)
        for n, file in enumerate(("good.json", "second.json")):
            config = CONFIG | {"ledger": {"store": str(folder / f"store{n}")}}
            (folder / file).write_text(json.dumps(config), encoding="utf-8")
        (folder / "bad.json").write_text("{}", encoding="utf-8")
        absent = {"ports": CONFIG["ports"] | {"lan": {"device": "net_none0"}},
                  "ledger": {"store": str(folder / "absent")}}
        (folder / "absent.json").write_text(json.dumps(CONFIG | absent), encoding="utf-8")
        table = Table(pathlib.Path(sys.argv[1]).absolute(), folder)
        for part in (commands, checks, full, doctors, keys, ledgers):
            part(table)
        for line in table.wrong:
            print(line, file=sys.stderr)
        print(f"{table.n} command lines")
    return 1 if table.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

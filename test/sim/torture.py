#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""`torture`: a few seeds of each guarantee, and its command line.

    torture.py
"""

import json

from suite import expect, run_tests
from suite import torture as run

GUARANTEES = ("gdrl", "hard", "adaptor", "levels", "loans", "quota", "periods")
ALL = GUARANTEES + ("copies",)

# Seeds that once failed. Amounts were missing in the end: faults outlasted the time to heal, debts
# were paid by halves, requests went in circles, or the end was checked at one moment only. Or a
# share was used twice, by a limiter that had forgotten its period's begin, or whose old store
# renewed a lease. With copies, a copy passed a share next to its original, or the original was
# rejected forever, because a start of the copy had the same number. In the last three a limiter
# without memory accepted one damaged reply. Another one started with its old record again after
# neighbours had forgotten the proof. The third one lost an old record shortly before a period that
# its previous start had already begun.
#
# Guarantee, seed, minutes.
FOUND = (("hard", 33, 3), ("hard", 52, 3), ("hard", 6, 2), ("hard", 204109, 10),
         ("adaptor", 6, 3), ("adaptor", 13, 3), ("adaptor", 2098, 3), ("adaptor", 3453, 2),
         ("adaptor", 803799, 3), ("adaptor", 9000263, 3), ("loans", 8000464, 10),
         ("quota", 9000242, 3), ("copies", 2, 3), ("copies", 9, 3), ("copies", 76, 3),
         ("copies", 116, 3), ("copies", 9100091, 3), ("periods", 9000009, 3),
         ("copies", 11, 3), ("copies", 61, 3), ("copies", 91, 3), ("copies", 167, 3),
         ("copies", 7500621, 10), ("copies", 7600413, 10), ("copies", 7600946, 10),
         ("copies", 7510770, 10), ("copies", 7511496, 10), ("copies", 7512738, 10),
         ("quota", 9300300, 3),
         ("gdrl", 2, 2), ("gdrl", 126, 3), ("gdrl", 1543, 3), ("quota", 7, 2), ("quota", 47, 3),
         ("periods", 45, 10), ("periods", 108, 10), ("periods", 160, 10),
         ("periods", 8300815, 10),
         ("periods", 8500188, 10), ("periods", 8503755, 10))
SEEDS = 5  # many more are run by the test of this name in a build directory


def figures(*arguments):
    """Returns its JSON; nothing was exceeded or lost."""
    done = run("--json", "-", *arguments)
    expect(done.returncode == 0, done.stderr)
    return json.loads(done.stdout)


def nothing_is_exceeded():
    """In all guarantees amounts moved, checks ran, and limiters crashed."""
    words = []
    for guarantee in GUARANTEES:
        found = figures("--guarantee", guarantee, "--seeds", str(SEEDS), "--jobs", "2")
        expect(found["violations"] == 0 and found["first_violation_seed"] is None, found)
        expect(found["lost_units"] == 0, found)
        expect(found["seeds"] == SEEDS and found["runs"] == SEEDS, found)
        expect(found["checks"] > SEEDS * 1000 and found["moves"] > SEEDS * 10, found)
        expect(found["restarts"] > SEEDS, found)
        expect(found["stalls"] > SEEDS, found)
        expect(guarantee in ("quota", "periods") or found["expired"] > SEEDS, found)
        expect((found["loans"] > SEEDS) == (guarantee == "loans"), found)
        words.append(f"{guarantee} {found['checks']} checks")
    found = figures("--guarantee", "copies", "--seeds", str(SEEDS), "--jobs", "2")
    expect(found["copies"] > SEEDS and found["restarts"] > SEEDS, found)
    return ", ".join(words)


def nor_by_a_join():
    """Limiters join in each run. A joiner that begins with a share exceeds the limit."""
    words = []
    for guarantee in ("gdrl", "hard", "adaptor", "levels"):
        found = figures("--guarantee", guarantee, "--seeds", str(SEEDS), "--minutes", "4",
                        "--joins", "--jobs", "2")
        expect(found["violations"] == 0 and found["lost_units"] == 0, found)
        expect(found["joins"] >= SEEDS and found["moves"] > SEEDS * 10, found)
        words.append(f"{guarantee} {found['joins']} joins")
    done = run("--guarantee", "hard", "--seeds", "3", "--minutes", "4", "--joins", "--break",
               "minting")
    expect(done.returncode == 1, done.stdout + done.stderr)
    return ", ".join(words)


def nor_by_a_death():
    """A limiter ends for good in each run; only its own amounts are missing."""
    words = []
    for guarantee in GUARANTEES:
        found = figures("--guarantee", guarantee, "--seeds", str(SEEDS), "--minutes", "4",
                        "--deaths", "--jobs", "2")
        expect(found["violations"] == 0 and found["deaths"] == SEEDS, found)
        expect(found["moves"] > SEEDS * 10, found)
        words.append(f"{guarantee} {found['checks']} checks")
    return ", ".join(words)


def all_comes_back():
    """Seeds that once failed now pass; --beliefs prints each limiter's state."""
    for guarantee, seed, minutes in FOUND:
        found = figures("--guarantee", guarantee, "--first", str(seed), "--seeds", "1",
                        "--minutes", str(minutes))
        expect(found["violations"] == 0 and found["lost_units"] == 0, (guarantee, seed, found))
    done = run("--guarantee", "adaptor", "--seeds", "1", "--minutes", "2", "--beliefs")
    expect(done.returncode == 0 and done.stderr.count("goes by") == 2 * 8, done.stderr)
    return f"{len(FOUND)} seeds"


def all_is_each():
    """All guarantees together are the sum, for any number of processes; a seed is one run."""
    each = [figures("--guarantee", g, "--seeds", "3", "--first", "77") for g in ALL]
    together = figures("--seeds", "3", "--first", "77", "--jobs", "3")
    for key in ("runs", "checks", "moves", "restarts", "memory_losses", "stalls", "expired",
                "deaths", "loans", "copies"):
        expect(together[key] == sum(one[key] for one in each), key)
    again = figures("--guarantee", "gdrl", "--seeds", "3", "--first", "77", "--jobs", "2")
    expect(again == each[0], "another run of the same seeds")
    other = figures("--guarantee", "gdrl", "--seeds", "3", "--first", "78")
    expect(other["checks"] != each[0]["checks"], "another seed, and the same run")


def bad_input_is_refused():
    """Names the bad option, and runs nothing."""
    for arguments in (["--guarantee", "soft"], ["--seeds", "0"], ["--seeds", "many"],
                      ["--limiters", "1"], ["--limiters", "17"], ["something"], ["--what"]):
        done = run(*arguments)
        expect(done.returncode == 2 and done.stderr, arguments)
    expect(run("--help").returncode == 0, "help")
    done = run("--seeds", "1", "--minutes", "2", "--json", "/nowhere/at/all.json")
    expect(done.returncode == 2 and "/nowhere/at/all.json" in done.stderr, done.stderr)


TESTS = [nothing_is_exceeded, nor_by_a_join, nor_by_a_death, all_comes_back, all_is_each,
         bad_input_is_refused]


def main():
    """Runs all tests."""
    run_tests(TESTS)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Runs every test and counts them. Called by tools/test, as root, with build/ built."""

import argparse
import concurrent.futures
import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHON = ["/usr/bin/python3", "-B"]
SKIP = 77
FUZZ_S = 12
TESTED_BY_TSAN = ("post", "snapshot", "telemetry")
# Undefined behaviour is a failure, not a line of text.
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1",
              "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}

# Build directories: compiler and options. Warnings are errors in all of them.
BUILDS = {
    "build": ("gcc", []),
    "build-clang": ("clang", []),
    "build-asan": ("clang", ["-Db_sanitize=address,undefined", "-Db_lundef=false",
                             "-Dfuzz=true", "-Doptimization=1"]),
    "build-tsan": ("clang", ["-Db_sanitize=thread", "-Db_lundef=false", "-Doptimization=1"]),
}


class Result:
    """Counts, and says each as it comes."""

    def __init__(self):
        self.counts = {"ok": 0, "FAIL": 0, "skip": 0}
        self.lock = threading.Lock()

    def add(self, name, verdict, seconds, output=""):
        """One test is over."""
        words = f"{verdict:4}  {name}  ({seconds:.1f} s)"
        if verdict == "FAIL":
            words = "\n      ".join([words, *output.splitlines()[-60:]])
        with self.lock:
            self.counts[verdict] += 1
            print(words, flush=True)


RUNNING = set()


def side_by_side(function, items):
    """Calls it for each item, as many at a time as there are CPUs: tests that measure no time."""
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        calls = [pool.submit(function, item) for item in items]
        try:
            for call in calls:
                call.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(RUNNING):
                end(process)
            raise


def run(command, timeout=600, folder="", **environment):
    """(exit status, output): never raises, never leaves a process behind."""
    process = subprocess.Popen(command, cwd=os.path.join(ROOT, folder), text=True,
                               errors="replace", stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT,
                               env=os.environ | environment, start_new_session=True)
    RUNNING.add(process)
    try:
        output, _ = process.communicate(timeout=timeout)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        end(process)
        # What it had said, also while it was asked to end.
        return 1, f"{rest(process)}\nnot done after {timeout} s"
    finally:
        end(process)
        RUNNING.discard(process)


def rest(process):
    """All that a process that has ended has written; not more if others still hold its output."""
    try:
        return process.communicate(timeout=5)[0]
    except subprocess.TimeoutExpired as still:
        return (still.output or b"").decode(errors="replace")


def end(process):
    """A test that is interrupted gets the time to clean up."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def build(directory):
    """Configures and compiles a build directory; (succeeded, output)."""
    compiler, options = BUILDS[directory]
    if not os.path.exists(os.path.join(ROOT, directory, "build.ninja")):
        status, output = run(["meson", "setup", directory, "-Dwerror=true", *options],
                             CC=compiler)
        if status:
            return False, output
    status, output = run(["ninja", "-C", directory], timeout=900)
    return status == 0, output


def meson_tests(directory, wanted, result):
    """Every test of a build directory, counted one by one."""
    def chosen(test):
        if directory == "build-tsan" and test["name"] not in TESTED_BY_TSAN:
            return False
        if directory != "build" and test["name"] == "schema":
            return False
        return wanted(f"{directory}/{test['name']}")

    def one(test):
        began = time.monotonic()
        status, output = run(test["cmd"], timeout=300, folder=directory, **SANITIZERS)
        verdict = "ok" if status == 0 else "skip" if status == SKIP else "FAIL"
        result.add(f"{directory}/{test['name']}", verdict, time.monotonic() - began, output)

    _, listing = run(["meson", "introspect", "--tests", directory])
    side_by_side(one, filter(chosen, json.loads(listing)))


def built(directory, result):
    """Builds, which is a test of its own: without a warning."""
    began = time.monotonic()
    succeeded, output = build(directory)
    result.add(f"{directory}/compiles", "ok" if succeeded else "FAIL",
               time.monotonic() - began, output)
    return succeeded


def seeds(name):
    """Files that a fuzz target starts from."""
    examples = {"fuzz_config": "config/*.json", "fuzz_scenario": "config/scenarios/*.json"}
    pattern = examples.get(name, f"test/fuzz/corpus/{name[len('fuzz_'):]}/*")
    return [path for path in glob.glob(os.path.join(ROOT, pattern))
            if not path.endswith(".schema.json")]


def fuzz(wanted, result):
    """Each fuzz target for a short time from its seeds."""
    def chosen(path):
        return (os.access(path, os.X_OK) and not os.path.isdir(path)
                and wanted(f"fuzz/{os.path.basename(path)}"))

    def one(path):
        name = os.path.basename(path)
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="weir-fuzz-") as corpus:
            for seed in seeds(name):
                shutil.copy(seed, corpus)
            status, output = run([path, corpus, f"-max_total_time={FUZZ_S}",
                                  "-rss_limit_mb=4096", f"-artifact_prefix={corpus}/"],
                                 timeout=FUZZ_S + 120, **SANITIZERS)
        result.add(f"fuzz/{name}", "FAIL" if status else "ok", time.monotonic() - began, output)

    targets = sorted(glob.glob(os.path.join(ROOT, "build-asan/test/fuzz/fuzz_*")))
    side_by_side(one, filter(chosen, targets))


def scripts(folder, names, wanted, result):
    """Test scripts: one is one test; 77 says that this machine cannot do it."""
    for name in names:
        if not wanted(f"{folder}/{name}"):
            continue
        began = time.monotonic()
        status, output = run([*PYTHON, os.path.join("test", folder, name + ".py")], timeout=400)
        verdict = "ok" if status == 0 else "skip" if status == SKIP else "FAIL"
        result.add(os.path.join(folder, name), verdict, time.monotonic() - began, output)
        if verdict != "FAIL":
            print("\n".join("      " + line for line in output.splitlines() if line.strip()),
                  flush=True)


def reload_under_tsan(wanted, result):
    """Reloads while packets flow, in the build that sees every access that two threads share."""
    name = "net/reload (build-tsan)"
    if not wanted(name):
        return
    began = time.monotonic()
    options = f"suppressions={os.path.join(ROOT, 'test', 'net', 'tsan.supp')}"
    status, output = run([*PYTHON, os.path.join("test", "net", "reload.py"), "churn", "from_one"],
                         timeout=400, WEIR_BUILD="build-tsan", TSAN_OPTIONS=options)
    verdict = "ok" if status == 0 else "skip" if status == SKIP else "FAIL"
    result.add(name, verdict, time.monotonic() - began, output)


# More seeds of the property tests, in build/: what --long adds.
LONG = {
    "meter": ["test/unit/test_meter", "1000", "20000"],
    "group": ["test/sim/test_group", "1000", "1000"],
    "ledger_world": ["test/sim/test_ledger_world", "10000", "100000"],
    "group_tree": ["test/sim/test_group", "1000", "1000", "tree"],
}


def long_tests(wanted, result):
    """Thousands of seeds: minutes of a machine that has nothing else to do."""
    commands = {f"build/{name}": command for name, command in LONG.items()}
    commands["sim/weirsim"] = [*PYTHON, os.path.join(ROOT, "test", "sim", "weirsim.py"), "--long"]
    for name, command in commands.items():
        if not wanted(name):
            continue
        began = time.monotonic()
        status, output = run(command, timeout=7200, folder="build")
        result.add(f"{name} --long", "FAIL" if status else "ok", time.monotonic() - began, output)


def main():
    """Everything, or what was asked for."""
    parser = argparse.ArgumentParser(prog="test", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="style and unit tests in build/ only")
    parser.add_argument("--long", action="store_true",
                        help="then thousands of seeds of the property tests, too")
    parser.add_argument("--only", metavar="PATTERN", default="", help="tests with this in the name")
    options = parser.parse_args()
    result = Result()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

    def wanted(name):
        return options.only in name

    scripts("", ["style"], wanted, result)
    for directory in ["build"] if options.quick else ["build", "build-clang", "build-asan",
                                                     "build-tsan"]:
        if built(directory, result) and directory != "build-clang":
            meson_tests(directory, wanted, result)
    if not options.quick:
        fuzz(wanted, result)
        scripts("model", ["run"], wanted, result)
        scripts("sim", ["models", "weirsim", "replay", "evaluation", "live"], wanted, result)
        scripts("bench", ["smoke"], wanted, result)
        scripts("net", ["conservation", "actions", "lifecycle", "reload", "groups", "agreement"],
                wanted, result)
        reload_under_tsan(wanted, result)
    if options.long:
        long_tests(wanted, result)
    passed, failed, skipped = (result.counts[k] for k in ("ok", "FAIL", "skip"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)

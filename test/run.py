#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Runs every test and counts them. Called by tools/test, as root, with build/ built."""

import argparse
import base64
import concurrent.futures
import contextlib
import glob
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHON = ["/usr/bin/python3", "-B"]
CPUS = len(os.sched_getaffinity(0))
SKIP = 77
FUZZ_S = 5
# Places in the code that libFuzzer sees at least beyond the target's own: what is tested has made
# it 340 or more of each with clang 14, and 240 with clang 19; what is reached says less, as some
# find little in 6 s.
SEES = 200
HANGS_S = 1800  # for what waits for nobody, but for a CPU
ANSWERS_S = 900  # for a program that a test of those runs
NOTICES_S = 0.5  # after that who runs something sees that all is over
LINES_OF_A_FAILURE = 60
# What says where: of cmocka's, a sanitizer's, Python's; below them may be a long list of leaks.
WHERE_IT_FAILED = re.compile(r"\[ +(ERROR|LINE|FAILED) +\]|: error: |ERROR: |AssertionError")
AGAIN = ": once more, as a CPU "  # what a live test says when the machine stood still
SLOWEST = 10  # tests that are named at the end
# What libFuzzer says while all is well.
PROGRESS = re.compile(r"#\d+\s+[A-Za-z]+|INFO: |\s*NEW_(FUNC|PC)|\s*$")
# Undefined behaviour is a failure, not a line of text.
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1:print_legend=0",
              "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}

# Build directories: compiler and options. Warnings are errors in all of them. What is run for its
# verdicts alone needs no more of debugging than the lines that a stack is of, and nothing of what
# comes after undefined behaviour.
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
# Tests of them that are run: all, those that have threads, or none.
TESTED = {
    "build": lambda test: True,
    "build-asan": lambda test: test not in ("rooms", "schema", "documents", "installed"),
    "build-tsan": lambda test: test in ("limit_ring", "offload", "reload", "shared_bucket_change",
                                        "snapshot", "store", "telemetry_threads"),
    "build-clang": lambda test: False,
}
# Simulations that can run when a directory is built, the longest first.
SIMULATIONS = {
    "build": ("sim/weirsim", "sim/figures", "sim/brokers", "model/run", "sim/replay",
              "sim/evaluation", "sim/torture", "sim/gdrl", "sim/adaptor", "sim/models",
              "sim/penalty", "sim/live", "sim/tables", "sim/totals", "sim/hierarchy"),
    "build-asan": ("sim/compilers",),  # with clang, and what sees what is undefined
}
# Tests that should not be the last to begin.
LONGEST = ("conn_flows", "torture", "gdrl_world", "budget_world", "source_table", "config")
# Programs that are built, where it is not all: what is run, which is some tests and these.
ALSO_RUN = {"build-asan": ["test/fuzz/", "app/weirsim/", "app/weir/",
                           "app/exporter/"],
            "build-tsan": ["app/weir/", "app/exporter/", "test/net/"],
            "build-clang": []}


def failure_of(lines):
    """The end of what a failed test said, and what it said above that of where it failed."""
    above, end = lines[:-LINES_OF_A_FAILURE], lines[-LINES_OF_A_FAILURE:]
    return [line for line in above if WHERE_IT_FAILED.search(line)][:LINES_OF_A_FAILURE] + end


class Result:
    """Counts, and says each as it comes."""

    def __init__(self):
        self.counts = {"ok": 0, "FAIL": 0, "skip": 0}
        self.failed = []
        self.again = []
        self.seconds = {}
        self.milestones = []
        self.began = time.monotonic()
        self.lock = threading.Lock()

    def add(self, name, verdict, seconds, output="", said=False):
        """One test is over; what it said is shown if it failed, or if that is wanted."""
        words = [f"{verdict:4}  {name}  ({seconds:.1f} s)"]
        if verdict == "FAIL":
            words += failure_of(output.splitlines())
        elif said:
            words += [line for line in output.splitlines() if line.strip()]
        with self.lock:
            self.counts[verdict] += 1
            self.seconds[name] = seconds
            if verdict == "FAIL":
                self.failed.append(name)
            elif AGAIN in output:
                self.again.append(name)
            print("\n      ".join(words), flush=True)

    def passed(self, what):
        """Something of the run is over: for who wants to know what it waits for."""
        self.milestones.append((what, time.monotonic() - self.began))

    def close(self):
        """The summary, of which the last line is the counts; the exit status."""
        slowest = sorted(self.seconds, key=self.seconds.get, reverse=True)[:SLOWEST]
        took = time.monotonic() - self.began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{took:.0f} s, {(used.ru_utime + used.ru_stime) / took / CPUS:.0%} of {CPUS} CPUs; "
              + "".join(f"{what} until {end:.0f} s; " for what, end in self.milestones)
              + "the slowest: "
              + ", ".join(f"{name} {self.seconds[name]:.0f}" for name in slowest))
        if self.again:
            print(f"passed when tried again, as the machine stood still: {', '.join(self.again)}")
        for name in self.failed:
            print(f"FAIL  {name}")
        passed, failed, skipped = (self.counts[key] for key in ("ok", "FAIL", "skip"))
        print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
        return 1 if failed or not passed else 0


# Not empty: nothing begins any more, and what runs is ended by who runs it. A list, not an event:
# a signal's handler must not wait for a lock that its own thread may hold.
STOPPING = []


class Stopped(Exception):
    """There is no verdict: all is over."""


class Crew:
    """Does what it is given in that order, so many at a time."""

    def __init__(self, hands=CPUS):
        self.pool = concurrent.futures.ThreadPoolExecutor(hands)
        self.calls = []

    def __enter__(self):
        return self

    def give(self, function, *arguments):
        """To be done some time; its future."""
        self.calls.append(self.pool.submit(function, *arguments))
        return self.calls[-1]

    def __exit__(self, kind, *_):
        """Waits for all of it; if something went wrong, all crews end what they do."""
        try:
            for call in self.calls if kind is None else ():
                call.result()
        except BaseException:
            kind = True
            raise
        finally:
            if kind:
                STOPPING.append(True)
            self.pool.shutdown(cancel_futures=bool(kind))


def yield_cpus(process):
    """From now on a process that leads a session, and all that it starts, make room for others.

    Where the kernel shares the CPUs among sessions first, a priority counts within one alone, and
    there is one for sessions: not the lowest, for the machine may have others than tests.
    """
    try:
        os.sched_setscheduler(process.pid, os.SCHED_IDLE, os.sched_param(0))
    except OSError:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PGRP, process.pid, 19)
    with contextlib.suppress(OSError):
        with open(f"/proc/{process.pid}/autogroup", "w", encoding="ascii") as file:
            file.write("10")


def run(command, timeout=HANGS_S, folder="", yields=True, **environment):
    """(exit status, output), or Stopped: never leaves a process behind.

    It yields the CPUs to those that do not: those are tests of times.
    """
    if STOPPING:
        raise Stopped
    process = subprocess.Popen(command, cwd=os.path.join(ROOT, folder), text=True,
                               errors="replace", stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT,
                               env=os.environ | environment, start_new_session=True)
    if yields:
        yield_cpus(process)
    try:
        return finish(process, timeout)
    finally:
        end(process)


def finish(process, timeout):
    """(exit status, output) of a process that may take so long, and is ended then; or Stopped."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        with contextlib.suppress(subprocess.TimeoutExpired):
            output, _ = process.communicate(timeout=NOTICES_S)
            break
        if STOPPING:
            break
    else:
        end(process)
        # What it had said, also while it was asked to end.
        return 1, f"{rest(process)}\nnot done after {timeout} s"
    # A test that is told to stop at the same time has no verdict, either.
    if STOPPING:
        raise Stopped
    return process.returncode, output


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


def introspect(directory, what):
    """What meson knows of a build directory that has been set up."""
    _, listing = run(["meson", "introspect", f"--{what}", directory])
    return json.loads(listing)


def tests_of(directory):
    """Those of a build directory that are run."""
    return [test for test in introspect(directory, "tests") if TESTED[directory](test["name"])]


def configured(directory):
    """Whether a build directory has been set up, to the end: to the last that is written, which of
    a setup that failed is all that there is."""
    return all(os.path.exists(os.path.join(ROOT, directory, name))
               for name in ("build.ninja", "meson-info/meson-info.json"))


def strict(directory):
    """Whether warnings are errors there."""
    return any(option["name"] == "werror" and option["value"]
               for option in introspect(directory, "buildoptions"))


def lacking(directory):
    """Objects that are for their warnings alone: of what another build does not compile with clang,
    which warns of the same whatever else it is told to do. Not of what lies there: a build knows
    what it keeps up to date."""
    if directory != "build-clang":
        return []
    with open(os.path.join(ROOT, directory, "compile_commands.json"), encoding="utf-8") as file:
        objects = [command["output"] for command in json.load(file)]
    if not configured("build-asan"):
        return objects
    status, inputs = run(["ninja", "-C", "build-asan", "--quiet", "-t", "inputs",
                          *targets("build-asan")])
    compiled = set(inputs.splitlines()) if status == 0 else ()
    return [name for name in objects if name not in compiled]


def targets(directory):
    """Ninja's targets in a build directory; none is all."""
    if directory not in ALSO_RUN:
        return []
    top = os.path.join(ROOT, directory)
    paths = [os.path.relpath(target["filename"][0], top)
             for target in introspect(directory, "targets") if target["type"] == "executable"]
    programs = [os.path.relpath(word, top) if os.path.isabs(word) else word
                for test in tests_of(directory) for word in test["cmd"]]
    return sorted({path for path in programs if path in paths}) + [  # of scripts what they run
        path for path in paths if path.startswith(tuple(ALSO_RUN[directory]))] + lacking(directory)


def build(directory):
    """Configures and compiles a build directory; (succeeded, output)."""
    compiler, options = BUILDS[directory]
    if not configured(directory):
        # What was interrupted is not to be gone on with.
        shutil.rmtree(os.path.join(ROOT, directory, "meson-private"), ignore_errors=True)
        status, output = run(["meson", "setup", directory, "-Dwerror=true", *options],
                             CC=compiler)
        if status:
            return False, output
    elif not strict(directory):  # somebody else has set it up
        run(["meson", "configure", directory, "-Dwerror=true"])
    run(["ninja", "-C", directory, "build.ninja"])  # targets of the tree as it is
    status, output = run(["ninja", "-C", directory, f"-j{CPUS}", *targets(directory)])
    return status == 0, output


def built(directory, result):
    """Builds, which is a test of its own: without a warning."""
    began = time.monotonic()
    succeeded, output = build(directory)
    result.add(f"{directory}/compiles", "ok" if succeeded else "FAIL",
               time.monotonic() - began, output)
    return succeeded


def verdict_of(status):
    """The verdict of a program that knows what it cannot do here."""
    return "ok" if status == 0 else "skip" if status == SKIP else "FAIL"


def meson_test(directory, test, result):
    """One test of a build directory."""
    began = time.monotonic()
    status, output = run(test["cmd"], folder=directory, WEIR_ANSWERS_S=str(ANSWERS_S),
                         **SANITIZERS)
    result.add(f"{directory}/{test['name']}", verdict_of(status), time.monotonic() - began, output)


def give_meson_tests(crew, directory, wanted, result):
    """The tests of a build directory, the longest first."""
    tests = [test for test in tests_of(directory) if wanted(f"{directory}/{test['name']}")]
    for test in sorted(tests, key=lambda test: test["name"] not in LONGEST):
        crew.give(meson_test, directory, test, result)


def seeds(name):
    """Files that a fuzz target starts from."""
    examples = {"fuzz_config": "config/*.json", "fuzz_scenario": "config/scenarios/*.json"}
    pattern = examples.get(name, f"test/fuzz/corpus/{name[len('fuzz_'):]}/*")
    return [path for path in glob.glob(os.path.join(ROOT, pattern))
            if not path.endswith(".schema.json")]


def reason(path, output, folder):
    """Why a fuzz target failed, and on what: its folder is about to go."""
    lines = [line for line in output.splitlines() if not PROGRESS.match(line)]
    # libFuzzer's own words for the input are of no use: its file goes, and large ones lack them.
    lines = [line for line in lines if not re.match(r"artifact_prefix=|Base64: |0x\w\w,", line)]
    inputs = [name for kind in ("crash-", "leak-", "timeout-", "oom-")
              for name in glob.glob(os.path.join(folder, kind + "*"))]
    error = [i for i, line in enumerate(lines) if "ERROR: " in line or "runtime error: " in line]
    first = max(0, error[0] - 5) if error else 0
    lines = lines[first:first + LINES_OF_A_FAILURE - 2 * len(inputs)]
    for name in inputs:
        with open(name, "rb") as file:
            text = base64.b64encode(file.read()).decode()
        lines += ["the input, and how to run it again:",
                  f"echo {text} | base64 -d > input; {os.path.relpath(path, ROOT)} input"]
    return "\n".join(lines)


def own_places(path):
    """Places in the code of a fuzz target itself, as its objects have counters for them."""
    objects = glob.glob(os.path.join(path + ".p", "*.o"))
    _, listing = run(["size", "-A", *objects])
    return sum(int(n) for n in re.findall(r"^__sancov_cntrs\s+(\d+)", listing, re.M))


def fuzz_one(path, result):
    """A fuzz target for a short time from its seeds."""
    name = os.path.basename(path)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="weir-fuzz-") as corpus:
        for seed in seeds(name):
            shutil.copy(seed, corpus)
        status, output = run([path, corpus, f"-max_total_time={FUZZ_S}",
                              "-rss_limit_mb=4096", f"-artifact_prefix={corpus}/"],
                             **SANITIZERS)
        seen = sum(int(n) for n in re.findall(r"\((\d+) inline 8-bit counters\)", output))
        if status:
            output = reason(path, output, corpus)
        elif seen - own_places(path) < SEES:
            status, output = 1, f"it looks at nothing but itself: {seen} places"
    result.add(f"fuzz/{name}", "FAIL" if status else "ok", time.monotonic() - began, output)


def covered(result):
    """Whether there still is all that fuzz targets are to look at, by its name."""
    began = time.monotonic()
    with open(os.path.join(ROOT, "test", "fuzz", "covered.txt"), encoding="ascii") as file:
        names = re.findall(r"^src:\*(.+)$", file.read(), re.M)
    gone = [name for name in names if not glob.glob(os.path.join(ROOT, name))]
    result.add("fuzz/covered", "FAIL" if gone or not names else "ok", time.monotonic() - began,
               f"nothing has these names: {gone}")


def give_fuzz(crew, wanted, result):
    """Each fuzz target."""
    if wanted("fuzz/covered"):
        crew.give(covered, result)
    for path in sorted(glob.glob(os.path.join(ROOT, "build-asan/test/fuzz/fuzz_*"))):
        if (os.access(path, os.X_OK) and not os.path.isdir(path)
                and wanted(f"fuzz/{os.path.basename(path)}")):
            crew.give(fuzz_one, path, result)


# Folders of scripts that look at the clock, and wait.
TIMED = ("bench", "net", "vm")


def script(folder, name, wanted, result):
    """A test script: one is one test; 77 says that this machine cannot do it."""
    full = os.path.join(folder, name)
    if not wanted(full):
        return
    began = time.monotonic()
    timed = folder in TIMED
    status, output = run([*PYTHON, os.path.join("test", folder, name + ".py")],
                         timeout=400 if timed else HANGS_S, yields=not timed,
                         WEIR_ANSWERS_S=str(ANSWERS_S))
    result.add(full, verdict_of(status), time.monotonic() - began, output, said=True)


def known_mutants(wanted, result):
    """Whether test/mutate says of known mutants what is true."""
    name = "mutate"
    if not wanted(name):
        return
    began = time.monotonic()
    status, output = run([*PYTHON, os.path.join("test", name), "--self-test"])
    result.add(name, verdict_of(status), time.monotonic() - began, output)


def sanitized(directory, name, scenarios, builds, wanted, result):
    """A test of processes with a build that sees what they must not do, once there is one."""
    full = f"net/{name} ({directory})"
    if not wanted(full):
        return
    builds[directory].result()
    began = time.monotonic()
    status, output = run([*PYTHON, os.path.join("test", "net", name + ".py"), *scenarios],
                         timeout=400, yields=False, WEIR_BUILD=directory,
                         TSAN_OPTIONS="suppressions="
                         + os.path.join(ROOT, "test", "net", "tsan.supp"), **SANITIZERS)
    result.add(full, verdict_of(status), time.monotonic() - began, output, said=True)


# More seeds of the property tests, in build/: what --long adds.
LONG = {
    "meter": ["test/unit/test_meter", "1000", "20000"],
    "group": ["test/sim/test_group", "1000", "1000"],
    "ledger_world": ["test/sim/test_ledger_world", "10000", "100000"],
    "group_tree": ["test/sim/test_group", "1000", "1000", "tree"],
}


# What debian.py tries, each in a chroot of its own.
DEBIANS = ("bookworm", "trixie")


def debians(wanted, result):
    """The README's two commands from nothing on each Debian; 77 where no chroot can be made."""
    for suite in DEBIANS:
        name = f"debian/{suite}"
        if not wanted(name):
            continue
        began = time.monotonic()
        status, output = run([*PYTHON, os.path.join("test", "debian.py"), suite], timeout=7200,
                             yields=False)
        result.add(name, verdict_of(status), time.monotonic() - began, output)


def packages(wanted, result):
    """The Debian packages, in a machine of their own, and those that are cross-built, with their
    unit tests; 77 where none can be booted, or no chroot made."""
    for name, program in (("package", "package.py"), ("package/arm64", "cross.py")):
        if not wanted(name):
            continue
        began = time.monotonic()
        status, output = run([*PYTHON, os.path.join("test", program)], timeout=7200, yields=False)
        result.add(name, verdict_of(status), time.monotonic() - began, output, said=True)


def all_cards(wanted, result):
    """Each kind of PCI card that there is an emulated one of, by all that is tried on it."""
    name = "vm/accept --long"
    if wanted(name):
        began = time.monotonic()
        status, output = run([*PYTHON, os.path.join("test", "vm", "accept.py"), "--long"],
                             timeout=7200, yields=False)
        result.add(name, verdict_of(status), time.monotonic() - began, output, said=True)


def long_tests(wanted, result):
    """Thousands of seeds: minutes of a machine that has nothing else to do."""
    commands = {f"build/{name}": command for name, command in LONG.items()}
    commands["sim/weirsim"] = [*PYTHON, os.path.join(ROOT, "test", "sim", "weirsim.py"), "--long"]
    for name, command in commands.items():
        if not wanted(name):
            continue
        began = time.monotonic()
        status, output = run(command, timeout=7200, folder="build", WEIR_ANSWERS_S="7200")
        result.add(f"{name} --long", "FAIL" if status else "ok", time.monotonic() - began, output)


def build_and_give(directory, crew, quick, wanted, result):
    """A directory is built, and what can be run then is given to those who do it."""
    if not built(directory, result):
        return
    give_meson_tests(crew, directory, wanted, result)
    if directory == "build-asan":
        give_fuzz(crew, wanted, result)
    for name in SIMULATIONS.get(directory, ()) if not quick else ():
        crew.give(script, *name.split("/"), wanted, result)


# Network tests: of milliseconds, with nothing beside; of live TCP and of times, beside what yields;
# and those that wait for what must come to be, however long it takes, which may be two at a time.
# A third one starves others: to a session that spins on one CPU the kernel gives little of another,
# and control had none of it for ten seconds.
QUIET = ("split",)
ALONE = ("conservation", "actions", "colours", "levels", "lifecycle", "shape", "placement",
         "groups", "agreement", "offloads")
IN_COMPANY = ("drawn", "quota", "reload", "etcd", "weirctl", "kill9", "conserved", "stuck",
              "trial", "shadow",
              "group_keys", "stall", "disagree", "clients", "clocks", "service", "exporter",
              "ctl_live", "doctor", "manual", "timed", "page", "events", "flows",
              "explain", "changes", "bypass", "plane", "plane_ledger", "import")
# Tests of two threads that touch one thing, and of bytes that are not what they say.
SANITIZED = {
    "build-asan": {"hostile": ()},
    "build-tsan": {
        "reload": ("churn", "from_one"),
        "shape": ("changes", "leaves", "stopped", "crowds"),
        "placement": ("moves", "leaves"),
        "etcd": ("sum", "lost", "dead"),
        "flows": ("nobody",),
        "exporter": ("viewers",),
    },  # none that stops a thread: it may have what ThreadSanitizer itself locks
}


def on_networks(builds, wanted, result):
    """Whole boxes, and the boxes of a group, in network namespaces."""
    script("bench", "smoke", wanted, result)
    for name in ALONE:
        script("net", name, wanted, result)
    result.passed("tests that are alone")
    with Crew(2) as crew:
        crew.give(script, "vm", "accept", wanted, result)
        for name in IN_COMPANY:
            crew.give(script, "net", name, wanted, result)
        for directory, tests in SANITIZED.items():
            for name, scenarios in tests.items():
                crew.give(sanitized, directory, name, scenarios, builds, wanted, result)
    result.passed("tests of networks")


def everything(quick, networks, wanted, result):
    """Tests that wait are run beside compilers and tests that compute, which yield to them."""
    for name in QUIET if networks else ():
        script("net", name, wanted, result)
    with Crew() as crew, Crew(1) as builder:
        crew.give(script, "", "style", wanted, result)
        if not quick:
            crew.give(known_mutants, wanted, result)
        builds = {directory: builder.give(build_and_give, directory, crew, quick, wanted, result)
                  for directory in (["build"] if quick else BUILDS)}
        if networks:
            builds["build"].result()
            on_networks(builds, wanted, result)


def main():
    """Everything, or what was asked for."""
    parser = argparse.ArgumentParser(prog="test", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="style and unit tests in build/ only")
    parser.add_argument("--long", action="store_true",
                        help="then thousands of seeds of the property tests, all that is tried "
                        "on emulated cards, and the demo and the tests on each Debian from "
                        "nothing")
    parser.add_argument("--no-networks", action="store_true",
                        help="all but what makes network namespaces")
    parser.add_argument("--only", metavar="PATTERN", default="", help="tests with this in the name")
    options = parser.parse_args()
    result = Result()
    told = []

    def stop(number, _):
        told.append(number)
        STOPPING.append(True)

    def wanted(name):
        return options.only in name

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        everything(options.quick, not (options.quick or options.no_networks), wanted, result)
        if options.long:
            long_tests(wanted, result)
            all_cards(wanted, result)
            debians(wanted, result)
            packages(wanted, result)
    except Stopped:
        sys.exit(128 + told[0] if told else 1)
    sys.exit(result.close())


if __name__ == "__main__":
    main()

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
sys.path[:0] = [os.path.join(ROOT, "test", "fuzz"), os.path.join(ROOT, "test")]

import fuzz_coverage  # noqa: E402 (needs the path above)
import fuzz_seeds  # noqa: E402
import plan  # noqa: E402

PYTHON = ["/usr/bin/python3", "-B"]
CPUS = len(os.sched_getaffinity(0))
SKIP = 77
FUZZ_S = 4
HANGS_S = 1800  # for a command that only needs CPU time
BUILD_S = 4200  # for a compilation while tests run, which have priority
ANSWERS_S = 900  # for a program that such a command runs
NOTICES_S = 0.5  # the period at which a running command checks for the end of the run
LINES_OF_A_FAILURE = 60
# Lines of cmocka, a sanitizer or Python that name the place; a long list of leaks may follow.
WHERE_IT_FAILED = re.compile(r"\[ +(ERROR|LINE|FAILED) +\]|: error: |ERROR: |AssertionError")
AGAIN = ": once more, as a CPU "  # a live test prints this when the machine stood still
SLOWEST = 10  # tests that are named at the end
# Output of libFuzzer that reports progress, not a failure.
PROGRESS = re.compile(r"#\d+\s+[A-Za-z]+|INFO: |\s*NEW_(FUNC|PC)|COVERAGE:|\s*(UN)?COVERED_|\s*$")
# Undefined behaviour is a failure, not a line of text.
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1:print_legend=0",
              "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}


def failure_of(lines):
    """The last lines of a failed test, and the earlier ones that name the place."""
    above, end = lines[:-LINES_OF_A_FAILURE], lines[-LINES_OF_A_FAILURE:]
    return [line for line in above if WHERE_IT_FAILED.search(line)][:LINES_OF_A_FAILURE] + end


class Result:
    """Counts the verdicts and prints each when it arrives."""

    def __init__(self):
        self.counts = {"ok": 0, "FAIL": 0, "skip": 0}
        self.failed = []
        self.again = []
        self.seconds = {}
        self.milestones = []
        self.began = time.monotonic()
        self.lock = threading.Lock()

    def add(self, name, verdict, seconds, output="", said=False):
        """Records a verdict; prints the output of a failed test, or any output if `said` is set."""
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
        """Records the time at which a part of the run ended, for the summary."""
        self.milestones.append((what, time.monotonic() - self.began))

    def close(self, chosen):
        """The summary, of which the last line is the counts; the exit status."""
        slowest = sorted(self.seconds, key=self.seconds.get, reverse=True)[:SLOWEST]
        took = time.monotonic() - self.began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{took:.0f} s, {(used.ru_utime + used.ru_stime) / took / CPUS:.0%} of {CPUS} CPUs; "
              + "".join(f"{what} until {end:.0f} s; " for what, end in self.milestones)
              + "the slowest: "
              + ", ".join(f"{name} {self.seconds[name]:.0f}" for name in slowest))
        if chosen.waiting:
            print(f"share {chosen.share} of {plan.SHARES}: {len(chosen.waiting)} tests are left to "
                  "other commits; --all runs them")
        if self.again:
            print(f"passed when tried again, as the machine stood still: {', '.join(self.again)}")
        for name in self.failed:
            print(f"FAIL  {name}")
        passed, failed, skipped = (self.counts[key] for key in ("ok", "FAIL", "skip"))
        print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
        return 1 if failed or not passed else 0


# Once it has an element, no command starts, and running commands are ended by their callers. It is
# a list, not an event: a signal's handler must not wait for a lock that its own thread may hold.
STOPPING = []


class Stopped(Exception):
    """The run was interrupted, so there is no verdict."""


class Crew:
    """Runs the functions that it is given in their order, a limited number at a time."""

    def __init__(self, hands=CPUS):
        self.pool = concurrent.futures.ThreadPoolExecutor(hands)
        self.calls = []

    def __enter__(self):
        return self

    def give(self, function, *arguments):
        """Queues a call and returns its future."""
        self.calls.append(self.pool.submit(function, *arguments))
        return self.calls[-1]

    def __exit__(self, kind, *_):
        """Waits for all calls; after an exception all crews stop."""
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
    """Lowers the priority of a process that leads a session, and of all that it starts.

    If the kernel first shares CPUs among sessions, a process's priority counts only within its
    session. So the session's priority is lowered, too, but not to the lowest, because the machine
    can run other programs than tests.
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

    With `yields` it gives way to tests that measure time.
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
    """(exit status, output) of a process, which is ended after the timeout; or Stopped."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        with contextlib.suppress(subprocess.TimeoutExpired):
            output, _ = process.communicate(timeout=NOTICES_S)
            break
        if STOPPING:
            break
    else:
        end(process)
        # Includes the output that it wrote while it was being ended.
        return 1, f"{rest(process)}\nnot done after {timeout} s"
    # A test that was interrupted at the same time has no verdict.
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
    """An answer of `meson introspect` about a build directory that has been set up."""
    _, listing = run(["meson", "introspect", f"--{what}", directory])
    return json.loads(listing)


def tests_of(directory, chosen):
    """The tests of a build directory that run."""
    return [test for test in introspect(directory, "tests")
            if plan.TESTED[directory](test["name"]) and chosen.takes(f"{directory}/{test['name']}")]


def configured(directory):
    """True if a setup of the build directory has finished. A failed one writes only the last of
    these files."""
    return all(os.path.exists(os.path.join(ROOT, directory, name))
               for name in ("build.ninja", "meson-info/meson-info.json"))


def strict(directory):
    """True if warnings are errors there."""
    return any(option["name"] == "werror" and option["value"]
               for option in introspect(directory, "buildoptions"))


def lacking(directory, chosen):
    """Objects that are compiled only for their warnings: sources that no other build compiles with
    clang. Clang's warnings do not depend on the other options. The list comes from the targets, not
    from files that exist: a build keeps its own objects up to date."""
    if directory != "build-clang":
        return []
    with open(os.path.join(ROOT, directory, "compile_commands.json"), encoding="utf-8") as file:
        objects = [command["output"] for command in json.load(file)]
    if not configured("build-asan"):
        return objects
    status, inputs = run(["ninja", "-C", "build-asan", "--quiet", "-t", "inputs",
                          *targets("build-asan", chosen)])
    compiled = set(inputs.splitlines()) if status == 0 else ()
    return [name for name in objects if name not in compiled]


def targets(directory, chosen):
    """Ninja's targets in a build directory; none is all."""
    if directory not in plan.ALSO_RUN:
        return []
    top = os.path.join(ROOT, directory)
    paths = [os.path.relpath(target["filename"][0], top)
             for target in introspect(directory, "targets") if target["type"] == "executable"]
    programs = [os.path.relpath(word, top) if os.path.isabs(word) else word
                for test in tests_of(directory, chosen) for word in test["cmd"]]
    return sorted({path for path in programs if path in paths}) + [  # programs that scripts run
        path for path in paths if path.startswith(tuple(plan.ALSO_RUN[directory]))
    ] + lacking(directory, chosen)


def build(directory, chosen):
    """Configures and compiles a build directory; (succeeded, output)."""
    compiler, options = plan.BUILDS[directory]
    if not configured(directory):
        # An interrupted setup cannot be resumed.
        shutil.rmtree(os.path.join(ROOT, directory, "meson-private"), ignore_errors=True)
        status, output = run(["meson", "setup", directory, "-Dwerror=true", *options],
                             CC=compiler)
        if status:
            return False, output
    elif not strict(directory):  # set up by hand
        run(["meson", "configure", directory, "-Dwerror=true"])
    run(["ninja", "-C", directory, "build.ninja"])  # targets of the tree as it is
    status, output = run(["ninja", "-C", directory, f"-j{CPUS}", *targets(directory, chosen)],
                         timeout=BUILD_S)
    return status == 0, output


def built(directory, chosen, result):
    """Builds a directory, which is a test: it must compile without a warning."""
    began = time.monotonic()
    succeeded, output = build(directory, chosen)
    result.add(f"{directory}/compiles", "ok" if succeeded else "FAIL",
               time.monotonic() - began, output)
    return succeeded


def verdict_of(status):
    """The verdict of a program that exits with SKIP where it cannot run."""
    return "ok" if status == 0 else "skip" if status == SKIP else "FAIL"


def meson_test(directory, test, result):
    """One test of a build directory."""
    began = time.monotonic()
    status, output = run(test["cmd"], folder=directory, WEIR_ANSWERS_S=str(ANSWERS_S),
                         WEIR_TOOLS="all", **SANITIZERS)
    result.add(f"{directory}/{test['name']}", verdict_of(status), time.monotonic() - began, output)


def give_meson_tests(crew, directory, chosen, result):
    """The tests of a build directory, the longest first."""
    tests = tests_of(directory, chosen)
    for test in sorted(tests, key=lambda test: test["name"] not in plan.LONGEST):
        crew.give(meson_test, directory, test, result)


def seeds(name):
    """Files that a fuzz target starts from."""
    examples = {"fuzz_config": "config/*.json", "fuzz_scenario": "config/scenarios/*.json"}
    pattern = examples.get(name, f"test/fuzz/corpus/{name[len('fuzz_'):]}/*")
    return [path for path in glob.glob(os.path.join(ROOT, pattern))
            if not path.endswith(".schema.json")]


def reason(path, output, folder):
    """The reason why a fuzz target failed, and its input, whose folder is about to be removed."""
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


def fuzz_one(path, result):
    """A fuzz target for a short time from its seeds, and the part of its files that it reached."""
    name = os.path.basename(path)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="weir-fuzz-") as corpus:
        for seed in seeds(name):
            shutil.copy(seed, corpus)
        fuzz_seeds.write(name.removeprefix("fuzz_"), corpus)
        status, output = run([path, corpus, f"-max_total_time={FUZZ_S}", "-print_coverage=1",
                              "-rss_limit_mb=4096", f"-artifact_prefix={corpus}/"],
                             **SANITIZERS)
        if status:
            output = reason(path, output, corpus)
        else:
            status, output = fuzz_coverage.judge(
                name.removeprefix("fuzz_"), os.path.join(ROOT, "build-asan"), output)
    result.add(f"fuzz/{name}", "FAIL" if status else "ok", time.monotonic() - began, output)


def covered(result):
    """Checks that files that fuzz targets must cover exist, and that each target has its part."""
    began = time.monotonic()
    with open(os.path.join(ROOT, "test", "fuzz", "covered.txt"), encoding="ascii") as file:
        names = re.findall(r"^src:\*(.+)$", file.read(), re.M)
    gone = [name for name in names if not glob.glob(os.path.join(ROOT, name))]
    sources = glob.glob(os.path.join(ROOT, "test", "fuzz", "fuzz_*.c"))
    rows = {f"fuzz_{target}.c" for target in fuzz_coverage.OWN}
    odd = sorted(rows ^ {os.path.basename(source) for source in sources})
    result.add("fuzz/covered", "FAIL" if gone or odd or not names else "ok",
               time.monotonic() - began, f"nothing has these names: {gone}\n"
               f"without a target, or without a row in fuzz_coverage.py: {odd}")


def give_fuzz(crew, chosen, result):
    """Each fuzz target."""
    if chosen.takes("fuzz/covered"):
        crew.give(covered, result)
    for path in sorted(glob.glob(os.path.join(ROOT, "build-asan/test/fuzz/fuzz_*"))):
        if (os.access(path, os.X_OK) and not os.path.isdir(path)
                and chosen.takes(f"fuzz/{os.path.basename(path)}")):
            crew.give(fuzz_one, path, result)


# Folders of scripts that look at the clock, and wait.
TIMED = ("bench", "net", "vm")


def script(folder, name, chosen, result):
    """Runs a test script as one test; exit status 77 means that this machine cannot run it."""
    full = os.path.join(folder, name)
    if not chosen.takes(full):
        return
    began = time.monotonic()
    timed = folder in TIMED
    status, output = run([*PYTHON, os.path.join("test", folder, name + ".py")],
                         timeout=400 if timed else HANGS_S, yields=not timed,
                         WEIR_ANSWERS_S=str(ANSWERS_S))
    result.add(full, verdict_of(status), time.monotonic() - began, output, said=True)


def planned(chosen, result):
    """Checks that each script is in one row of a table of plan.py."""
    if chosen.takes("plan"):
        wrong = plan.misplaced(ROOT)
        result.add("plan", "FAIL" if wrong else "ok", 0,
                   f"in no row of a table in test/plan.py, or in two: {', '.join(wrong)}")


def known_mutants(chosen, result):
    """Checks that test/mutate returns the right verdicts for its sample mutants."""
    name = "mutate"
    if not chosen.takes(name):
        return
    began = time.monotonic()
    status, output = run([*PYTHON, os.path.join("test", name), "--self-test"])
    result.add(name, verdict_of(status), time.monotonic() - began, output)


def sanitized(directory, name, scenarios, build, chosen, result, more=""):
    """Runs a network test with the processes of a sanitizer build, once that is built."""
    full = f"net/{name} ({directory}){more}"
    if not chosen.takes(full):
        return
    if build:
        build.result()
    began = time.monotonic()
    status, output = run([*PYTHON, os.path.join("test", "net", name + ".py"), *scenarios],
                         timeout=400, yields=False, WEIR_BUILD=directory,
                         TSAN_OPTIONS="suppressions="
                         + os.path.join(ROOT, "test", "net", "tsan.supp"), **SANITIZERS)
    result.add(full, verdict_of(status), time.monotonic() - began, output, said=True)


def debians(chosen, result):
    """The README's two commands from nothing on each Debian; 77 where no chroot can be made."""
    for suite in plan.DEBIANS:
        name = f"debian/{suite}"
        if not chosen.takes(name):
            continue
        began = time.monotonic()
        status, output = run([*PYTHON, os.path.join("test", "debian.py"), suite], timeout=7200,
                             yields=False)
        result.add(name, verdict_of(status), time.monotonic() - began, output)


def packages(chosen, result):
    """Tests the Debian packages in a virtual machine, and cross-built ones with their unit tests.
    77 if no machine can be booted, or no chroot made."""
    for name, program in (("package", "package.py"), ("package/arm64", "cross.py")):
        if not chosen.takes(name):
            continue
        began = time.monotonic()
        status, output = run([*PYTHON, os.path.join("test", program)], timeout=7200, yields=False)
        result.add(name, verdict_of(status), time.monotonic() - began, output, said=True)


def all_cards(chosen, result):
    """Every check on each kind of PCI card that QEMU emulates."""
    name = "vm/accept --long"
    if chosen.takes(name):
        began = time.monotonic()
        status, output = run([*PYTHON, os.path.join("test", "vm", "accept.py"), "--long"],
                             timeout=7200, yields=False)
        result.add(name, verdict_of(status), time.monotonic() - began, output, said=True)


def long_tests(chosen, result):
    """Thousands of seeds: some minutes on an idle machine."""
    commands = {f"build/{name}": command for name, command in plan.LONG.items()}
    commands["net/starts"] = [*PYTHON, os.path.join(ROOT, "test", "net", "starts.py"), "--all"]
    commands["net/versions"] = [*PYTHON, os.path.join(ROOT, "test", "net", "versions.py")]
    commands["sim/weirsim"] = [*PYTHON, os.path.join(ROOT, "test", "sim", "weirsim.py"), "--long"]
    commands["model/members"] = [*PYTHON, os.path.join(ROOT, "test", "model", "members.py"),
                                 "--long"]
    commands["build/hierarchy"] = [*PYTHON, os.path.join(ROOT, "test", "sim", "hierarchy.py"),
                                   "--seeds", "20"]
    for name in plan.FEWER:
        commands[name] = [*PYTHON, os.path.join(ROOT, "test", f"{name}.py")]
    for directory, tests in plan.SANITIZED_LONG.items():
        for name, scenarios in tests.items():
            sanitized(directory, name, scenarios, None, chosen, result, " --long")
    for name, command in commands.items():
        if not chosen.takes(name):
            continue
        began = time.monotonic()
        status, output = run(command, timeout=7200, folder="build", WEIR_ANSWERS_S="7200",
                             WEIR_ALL_SEEDS="1")
        result.add(f"{name} --long", "FAIL" if status else "ok", time.monotonic() - began, output)


def build_and_give(directory, crew, quick, chosen, result):
    """Builds a directory and queues the tests that need it."""
    if not built(directory, chosen, result):
        return
    give_meson_tests(crew, directory, chosen, result)
    if directory == "build-asan":
        give_fuzz(crew, chosen, result)
    if not quick:
        scripts = {"build": plan.names(plan.SIMULATIONS), "build-asan": (plan.COMPILERS,)}
        for name in scripts.get(directory, ()):
            crew.give(script, *name.split("/"), chosen, result)


def on_networks(builds, chosen, result):
    """Tests whole limiters, and the limiters of a group, in network namespaces."""
    script("bench", "smoke", chosen, result)
    for name in plan.names(plan.ALONE):
        script("net", name, chosen, result)
    result.passed("tests that are alone")
    with Crew(2) as crew:
        crew.give(script, "vm", "accept", chosen, result)
        for name in plan.names(plan.IN_COMPANY):
            crew.give(script, "net", name, chosen, result)
        for directory, tests in plan.SANITIZED.items():
            for name, scenarios in tests.items():
                crew.give(sanitized, directory, name, scenarios, builds.get(directory), chosen,
                          result)
    result.passed("tests of networks")


def everything(quick, networks, chosen, result):
    """Runs everything. Compilers and tests that compute yield to tests that wait."""
    for name in plan.QUIET if networks else ():
        script("net", name, chosen, result)
    with Crew() as crew, Crew(1) as builder:
        crew.give(script, "", "style", chosen, result)
        crew.give(script, "", "language", chosen, result)
        crew.give(planned, chosen, result)
        if not quick:
            crew.give(known_mutants, chosen, result)
        builds = {directory: builder.give(build_and_give, directory, crew, quick, chosen, result)
                  for directory in (["build"] if quick else plan.BUILDS)
                  if chosen.builds(directory)}
        if networks:
            builds["build"].result()
            on_networks(builds, chosen, result)


def main():
    """Runs all tests, or the selected ones."""
    parser = argparse.ArgumentParser(prog="test", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="style and unit tests in build/ only")
    parser.add_argument("--long", action="store_true",
                        help="then thousands of seeds of the property tests, all that is tried "
                        "on emulated cards, and the demo and the tests on each Debian from "
                        "nothing")
    parser.add_argument("--no-networks", action="store_true",
                        help="all but what makes network namespaces")
    parser.add_argument("--only", metavar="PATTERN", default="", help="tests with this in the name")
    parser.add_argument("--share", metavar="N", type=int, choices=range(1, plan.SHARES + 1),
                        help=f"this one of {plan.SHARES} shares of the tests that take long; "
                        "without it the commit decides")
    parser.add_argument("--all", action="store_true", help="all shares (--long has them, too)")
    options = parser.parse_args()
    whole = options.all or options.long
    share = None if whole else options.share or plan.share_of_commit(ROOT)
    chosen = plan.Selection(share, options.only)
    result = Result()
    told = []

    def stop(number, _):
        told.append(number)
        STOPPING.append(True)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        everything(options.quick, not (options.quick or options.no_networks), chosen, result)
        if options.long:
            long_tests(chosen, result)
            all_cards(chosen, result)
            debians(chosen, result)
            packages(chosen, result)
    except Stopped:
        sys.exit(128 + told[0] if told else 1)
    sys.exit(result.close(chosen))


if __name__ == "__main__":
    main()

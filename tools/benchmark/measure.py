# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Runs the programs that measure, and parses their output."""

import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import machine
from keys import spread

HERE = os.path.dirname(os.path.abspath(__file__))
MEMORY_MB = 2048
TESTPMD_DEVICES = ["net_null0,size=64", "net_null1,size=64"]


class BenchError(Exception):
    """A program failed; the text has its name and output."""


def build_options(directory):
    """Returns {name: value} of a build directory, or nothing if it is not one."""
    done = subprocess.run(["meson", "introspect", "--buildoptions", directory], cwd=machine.ROOT,
                          capture_output=True, text=True, check=False)
    return {one["name"]: one["value"] for one in json.loads(done.stdout or "[]")}


def optimised(directory):
    """Returns true if a build directory has optimised programs without sanitizers."""
    options = build_options(directory)
    return options.get("optimization") in ("2", "3") and options.get("b_sanitize") == "none"


def quietly(command):
    """Runs a step of the build; prints its output only if it fails."""
    done = subprocess.run(command, cwd=machine.ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{' '.join(command)}:\n{done.stdout[-3000:]}")


def build_directory():
    """Returns the directory of the programs: build/, unless it was configured to find faults."""
    directory = os.environ.get("WEIR_BUILD", "build")
    if not optimised(directory):
        directory = "build-bench"
        print(f"bench: building into {directory}/", file=sys.stderr)
        if not os.path.exists(os.path.join(machine.ROOT, directory, "build.ninja")):
            quietly(["meson", "setup", directory, "-Dbuildtype=release"])
    quietly(["ninja", "-C", directory])
    return os.path.join(machine.ROOT, directory)


def run(command, timeout=3600):
    """Runs a program that measures to its end; stops it on an interrupt."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        status = process.wait(timeout)
    except BaseException:
        stop(process)
        raise
    if status:
        raise BenchError(f"{os.path.basename(command[0])} ended with {status}: {command}")


def stop(process):
    """Stops a program started by run()."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
    if process.poll() is None:
        process.kill()
        process.wait()


def json_of(command, *options):
    """Returns a program's output of --json FILE; "{}" becomes a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        path = os.path.join(folder, "result.json")
        run([word.replace("{}", folder) for word in [*command, "--json", path, *options]])
        with open(path, encoding="utf-8") as file:
            return json.load(file)


def fastpath(build, questions, huge, settings):
    """Runs the program that has all contenders in it."""
    command = [os.path.join(build, "test", "bench", "fastpath")]
    options = ["--directory", "{}", "--cpus", ",".join(map(str, machine.cpus())),
               "--memory", str(MEMORY_MB), *settings]
    return json_of(command, "--only", ",".join(questions), *options, *(["--huge"] if huge else []))


def testpmd_rate(mode, seconds, huge):
    """Returns the packets a second that dpdk-testpmd forwards."""
    worker, other = machine.cpus()
    memory = ["--in-memory"] if huge else ["--no-huge"]
    command = ["dpdk-testpmd", f"--lcores=0@{other},1@{worker}", *memory, "-m", "1024", "--no-pci",
               "--no-telemetry", "--log-level=4", "--file-prefix=weir-bench",
               *(f"--vdev={device}" for device in TESTPMD_DEVICES), "--",
               f"--forward-mode={mode}", "--nb-cores=1", "--auto-start", "--stats-period=1",
               "--no-mlockall"]
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.STDOUT)
        try:
            time.sleep(seconds + 2)
        finally:
            stop(process)
        out.seek(0)
        text = out.read()
    rates = [int(rate) for rate in re.findall(r"Rx-pps:\s+(\d+)", text)]
    # Two ports a period; the first period is start-up.
    periods = [sum(rates[k:k + 2]) for k in range(0, len(rates) - 1, 2)][1:]
    if not periods or max(periods) == 0:
        raise BenchError("dpdk-testpmd reported no rates:\n" + text[-2000:])
    return statistics.median(periods)


def testpmd(build, huge, quick):
    """Compares our io loop with testpmd's, in turn, to show that `io` is comparable."""
    ratios = {"testpmd_io_vs_io": [], "testpmd_mac_vs_mac": []}
    for _ in range(2 if quick else 9):
        ours = fastpath(build, ["bare"], huge, ["--rounds", "31", "--slice-us", "5000"])
        for mode, contender in (("io", "io"), ("mac", "mac")):
            theirs = ours["tsc_hz"] / testpmd_rate(mode, 3, huge)
            cycles = statistics.median(ours["questions"]["bare"][contender]["cycles"])
            ratios[f"testpmd_{mode}_vs_{contender}"].append(theirs / cycles)
    return {"ratios": {name: spread(values) for name, values in ratios.items()}}


def per_source(build, quick):
    """Runs the program of the source table."""
    command = [os.path.join(build, "test", "bench", "bench_source_table")]
    return json_of(command, *(["--quick"] if quick else []))


def control(build, quick):
    """Measures control's part of a core with 10,000 active aggregates and 16 peers."""
    path = os.path.join(build, "test", "bench", "bench_control_loop")
    if not os.path.exists(path):
        return None
    return json_of([path], *(["--quick"] if quick else []))


def kernel(quick):
    """Runs the comparison with Linux's limiters, if it is there."""
    path = os.path.join(HERE, "kernel.py")
    if not os.path.exists(path):
        return None
    return json_of(["/usr/bin/python3", "-B", path], *(["--quick"] if quick else []))

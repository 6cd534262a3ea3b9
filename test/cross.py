#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Tests the Debian packages for arm64: cross-built in a chroot of this Debian, from a clean clone
of HEAD. Checks their content, and runs the unit tests of a build for arm64 under qemu-user.

debootstrap creates the chroot. Two kinds of tests are not run. Scripts start Weir's programs
themselves, which this machine cannot run. Tests in OF_THE_KERNEL use system calls that qemu-user
does not implement. An emulator on x86 does not show arm64's memory ordering. Exits with 77 if no
chroot can be made.
"""

import argparse
import concurrent.futures
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import debian
from debian import HERE, Failed, call, step

ARCH = "arm64"
EMULATOR = "qemu-aarch64"
AARCH64 = 183  # e_machine of ELF
OUTPUT = "/opt/packages"
BUILD = f"{HERE}/build-{ARCH}"
PROGRAMS = {"weir": ("weir", "weirctl"), "weir-exporter": ("weir-exporter",),
            "weir-tools": ("weirsim",)}
# Tests whose system calls qemu-user does not pass on. The keyring's reads the pages excluded from
# core dumps, that of clients the groups of a peer, that of the collector the path MTU.
OF_THE_KERNEL = ("keyring", "clients", "collector")
PATIENCE_S = 1800  # for one test


def packages(top):
    """Builds the packages; lintian must find no error."""
    debian.inside(top, "root", ["./tools/package", "--arch", ARCH, "--output", OUTPUT])


def field(deb, name):
    """Returns a field of a package."""
    return call("dpkg-deb", "--field", deb, name, capture_output=True).stdout.strip()


def contents(top):
    """Checks the architecture of the programs, and that each has a manual page."""
    for package, programs in PROGRAMS.items():
        deb, = glob.glob(f"{top}{OUTPUT}/{package}_*_{ARCH}.deb")
        if field(deb, "Architecture") != ARCH:
            raise Failed(f"{deb}: {field(deb, 'Architecture')}")
        if "libc6" not in field(deb, "Depends"):
            raise Failed(f"{deb}: depends on {field(deb, 'Depends')}")
        with tempfile.TemporaryDirectory(prefix="weir-deb-") as files:
            call("dpkg-deb", "--extract", deb, files)
            for program in programs:
                with open(f"{files}/usr/bin/{program}", "rb") as file:
                    machine = int.from_bytes(file.read(20)[18:], "little")
                if machine != AARCH64:
                    raise Failed(f"{program}: of ELF's machine {machine}")
                page, = glob.glob(f"{files}/usr/share/man/man?/{program}.?.gz")
                if os.path.getsize(page) < 500:
                    raise Failed(f"{page}: next to nothing")


def compiles(top):
    """Compiles everything, with the tests, without a warning."""
    for words in (["meson", "setup", "-Dwerror=true", "--cross-file",
                   f"tools/packaging/{ARCH}.ini", BUILD], ["ninja", "-C", BUILD]):
        debian.inside(top, "root", words)


def run(top, test):
    """Runs a test in the chroot; returns (name, output if it failed)."""
    words = " ".join(test["cmd"])
    done = subprocess.run(["chroot", top, "sh", "-c", f"cd {BUILD} && exec {EMULATOR} {words}"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                          timeout=PATIENCE_S)
    return test["name"], done.stdout if done.returncode else ""


def unit_tests(top):
    """Runs each test that is a program."""
    listing = call("chroot", top, "meson", "introspect", "--tests", BUILD, capture_output=True)
    tests = json.loads(listing.stdout)
    programs = [test for test in tests if not test["cmd"][0].endswith(".py")
                and test["name"] not in OF_THE_KERNEL]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda test: run(top, test), programs))
    for name, output in results:
        if output:
            print(f"FAIL  {name}\n" + "\n".join(output.splitlines()[-60:]))
    failed = [name for name, output in results if output]
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed, not run: "
          + ", ".join(test["name"] for test in tests if test not in programs), flush=True)
    if failed or not results:
        raise Failed(f"unit tests for {ARCH}: {failed}")


def in_chroot(suite, work, cache):
    """Runs all steps, in separate namespaces."""
    debs = os.path.join(cache, "debs", suite)
    os.makedirs(os.path.join(debs, "partial"), exist_ok=True)
    top = debian.mounted(os.path.join(cache, suite), work, debs)
    shutil.copy("/etc/resolv.conf", os.path.join(top, "etc/resolv.conf"))
    step(f"{suite}: tools/package --arch {ARCH}", packages, top)
    step(f"{suite}: what is in the packages", contents, top)
    step(f"{suite}: build for {ARCH}", compiles, top)
    step(f"{suite}: unit tests by {EMULATOR}", unit_tests, top)


def whole(suite, cache):
    """Creates a chroot, runs all steps, and removes it."""
    debian.base(suite, cache)
    work = tempfile.mkdtemp(prefix="work-", dir=cache)
    try:
        for layer in ("upper", "work"):
            os.mkdir(os.path.join(work, layer))
        debian.clone(os.path.join(work, "upper"))
        call(*debian.private(sys.executable, "-B", os.path.abspath(__file__), "--inside", work,
                             "--cache", cache, suite))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    """Tests one Debian; returns the exit status."""
    parser = argparse.ArgumentParser(prog="cross.py", description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("suite", nargs="?", help="bookworm or trixie; default: what this is")
    parser.add_argument("--cache", default=debian.CACHE, help="default: %(default)s")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    suite = options.suite or call("sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME",
                                  capture_output=True).stdout.strip()
    cache = os.path.abspath(options.cache)
    if options.inside:
        in_chroot(suite, options.inside, cache)
        return 0
    why = debian.possible()
    if why or call("dpkg", "--print-architecture", capture_output=True).stdout.strip() == ARCH:
        print(why or f"this is {ARCH}")
        return debian.SKIP
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, debian.stop)
    began = time.monotonic()
    with debian.alone(cache):
        whole(suite, cache)
    print(f"ok: {suite}, {(time.monotonic() - began) / 60:.1f} minutes")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, subprocess.CalledProcessError, subprocess.TimeoutExpired) as failure:
        print(f"FAILED: {failure}", flush=True)
        sys.exit(1)

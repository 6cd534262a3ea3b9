#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Runs the README's commands on a new installation of each supported Debian.

Each runs in a chroot that debootstrap has just created, on a clean clone of HEAD. There is no
browser, so only the event stream of the demo's page is checked.

A chroot has its own mount and process namespaces, so nothing stays mounted or running in any case.
The kernel, its network and its CPUs are the machine's. Downloads are kept in a cache. Exits with 77
if the machine cannot do this.
"""

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SUITES = ("bookworm", "trixie")
CACHE = "/var/cache/weir-debian"
SKIP = 77
USER = "somebody"
HERE = "/opt/weir"  # path of the clone in the chroot
# Lists services started at boot. The packages of tools/setup must add none, except those of every
# bootable machine, and iwpmd of rdma-core. libdpdk-dev depends on that, and it waits for an RDMA
# card.
BOOTS = "find /etc/systemd/system /etc/rc[S0-6].d ! -type d 2>/dev/null | sort"
HARMLESS = ("procps", "udev", "getty@", "systemd-", "remote-fs", "dbus", "iwpmd")
DEMO = ["./tools/demo", "--seconds", "10", "--warmup", "3", "--plot", "/tmp/demo.svg", "--json",
        "/tmp/demo.json"]
PAGE = ["./tools/demo", "--web", "--seconds", "20"]
PATIENCE_S = 60  # for each response of the page


class Failed(Exception):
    """A check failed on this Debian."""


def call(*command, **options):
    """Runs a command, which must succeed; its output is inherited, or returned."""
    return subprocess.run(command, check=True, text=True, **options)


def mirror():
    """Returns the URL of the Debian mirror that this machine's apt uses."""
    listing = subprocess.run(["apt-get", "indextargets", "--format",
                              "$(ORIGIN) $(CODENAME) $(REPO_URI)", "Created-By: Packages"],
                             check=False, capture_output=True, text=True)
    for line in listing.stdout.splitlines():
        origin, codename, address = (line.split() + [""] * 3)[:3]
        if origin == "Debian" and "-" not in codename:
            return address
    return "http://deb.debian.org/debian"


def private(*command):
    """Returns the command in namespaces that end with it; it ends with this process."""
    return ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork",
            "--kill-child", "--propagation", "private", "--mount-proc", *command]


def base(suite, cache):
    """Returns the directory of a minimal Debian; creates it if there is none. An interrupted
    debootstrap leaves only a directory with another name."""
    made = os.path.join(cache, suite)
    if os.path.isdir(made):
        return made
    debs = os.path.join(cache, "bootstrap", suite)
    os.makedirs(debs, exist_ok=True)
    half = made + ".half"
    shutil.rmtree(half, ignore_errors=True)
    call(*private("debootstrap", "--variant=minbase", f"--cache-dir={debs}", suite, half, mirror()),
         stdout=subprocess.DEVNULL)
    os.rename(half, made)
    return made


def clone(top):
    """Clones HEAD into a chroot's upper layer."""
    home = top + HERE
    call("git", "-c", "safe.directory=*", "clone", "--quiet", "--no-local", ROOT, home)
    commit = call("git", "-c", "safe.directory=*", "-C", ROOT, "rev-parse", "HEAD",
                  capture_output=True).stdout.strip()
    call("git", "-C", home, "checkout", "--quiet", "--detach", commit)


def mounted(lower, work, debs):
    """Mounts a chroot below `work`; this process has its own mount namespace."""
    top = os.path.join(work, "root")
    os.makedirs(top, exist_ok=True)
    call("mount", "-t", "overlay", "overlay", "-o",
         f"lowerdir={lower},upperdir={work}/upper,workdir={work}/work", top)
    for kind, place in (("proc", "proc"), ("sysfs", "sys"), ("tmpfs", "run"), ("tmpfs", "tmp")):
        call("mount", "-t", kind, kind, os.path.join(top, place))
    call("mount", "--rbind", "/dev", os.path.join(top, "dev"))
    call("mount", "--bind", debs, os.path.join(top, "var/cache/apt/archives"))
    return top


def of_user(top, user, words):
    """Returns the command in a user's shell in the chroot, in the clone."""
    known = {name: value for name, value in os.environ.items() if name.endswith("_proxy")}
    path = "/usr/local/bin:/usr/bin:/bin" + (":/usr/local/sbin:/usr/sbin:/sbin" * (user == "root"))
    known |= {"PATH": path, "TERM": "dumb", "HOME": os.path.dirname(HERE)}
    return ["env", "-i", *(f"{name}={value}" for name, value in known.items()),
            "chroot", f"--userspec={user}:{user}", top, "sh", "-c",
            f"cd {HERE} && exec \"$@\"", "sh", *words]


def inside(top, user, words):
    """Runs a command in the chroot."""
    call(*of_user(top, user, words))


def graph(top, user):
    """Waits until the page answers and shows a rate above 0; prints the times."""
    began = time.monotonic()
    with subprocess.Popen(of_user(top, user, PAGE), stdout=subprocess.PIPE, text=True) as demo:
        try:
            lines = iter(demo.stdout.readline, "")
            url = next((word for line in lines for word in line.split() if "://" in word), None)
            if not url:
                raise Failed("the demo names no page")
            with urllib.request.urlopen(url, timeout=PATIENCE_S) as page:
                if b"<html" not in page.read().lower():
                    raise Failed(f"no page at {url}")
            answered = time.monotonic() - began
            rate = first_rate(url + "events")
            print(f"the page answers after {answered:.1f} s, and draws {rate * 8 / 1e6:.1f} Mbit/s "
                  f"after {time.monotonic() - began:.1f} s", flush=True)
            for line in lines:
                print(line, end="", flush=True)
            if demo.wait():
                raise subprocess.CalledProcessError(demo.returncode, PAGE)
        finally:
            demo.terminate()


def first_rate(url):
    """Returns the first rate above 0 in the page's stream, summed over all limiters, in bytes a
    second."""
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as stream:
        until = time.monotonic() + PATIENCE_S
        policy = False
        for line in stream:
            if line.startswith(b"event: "):
                policy = line == b"event: policy\n"
            elif line.startswith(b"data: ") and policy:
                limiters = (json.loads(line[6:]) or {}).get("limiters", [])
                rate = sum(one["passed"] or 0 for one in limiters)
                if rate > 0:
                    return rate
            if time.monotonic() > until:
                break
    raise Failed("the page's stream says of no rate")


def boots(top):
    """Returns the services that a boot of the chroot would start."""
    return set(subprocess.run(["chroot", top, "sh", "-c", BOOTS], check=False, text=True,
                              capture_output=True).stdout.splitlines())


def step(name, function, *arguments):
    """Prints the step's name, runs it, and prints its duration."""
    print(f"--- {name}", flush=True)
    began = time.monotonic()
    try:
        function(*arguments)
    except subprocess.CalledProcessError as error:
        raise Failed(f"{name}: exit status {error.returncode}") from error
    print(f"--- {name}: ok, {time.monotonic() - began:.0f} s", flush=True)


def add_user(top):
    """Adds an ordinary user with sudo rights, like Debian's installer."""
    quiet = {"stdout": subprocess.DEVNULL}
    call("chroot", top, "apt-get", "-qq", "update", **quiet)
    call("chroot", top, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y", "install",
         "--no-install-recommends", "sudo", **quiet, stderr=subprocess.DEVNULL)
    call("chroot", top, "useradd", "--no-create-home", "--shell", "/bin/bash", USER)
    with open(os.path.join(top, "etc/sudoers.d", USER), "w", encoding="ascii") as file:
        file.write(f"{USER} ALL=(ALL) NOPASSWD: ALL\n")
    call("chroot", top, "chown", "-R", f"{USER}:{USER}", os.path.dirname(HERE))


def in_chroot(suite, user, work, cache, tests):
    """Runs all steps in one chroot, in separate namespaces."""
    debs = os.path.join(cache, "debs", suite)
    os.makedirs(os.path.join(debs, "partial"), exist_ok=True)
    top = mounted(os.path.join(cache, suite), work, debs)
    shutil.copy("/etc/resolv.conf", os.path.join(top, "etc/resolv.conf"))
    # Downloaded packages stay in the cache.
    with open(os.path.join(top, "etc/apt/apt.conf.d/90keep"), "w", encoding="ascii") as file:
        file.write('Binary::apt-get::APT::Keep-Downloaded-Packages "true";\n')
    if user != "root":
        step(f"{suite}: an ordinary user", add_user, top)
    before = boots(top)
    step(f"{suite}: {' '.join(DEMO[:1])} as {user}", inside, top, user, DEMO)
    step(f"{suite}: {' '.join(PAGE)} as {user}", graph, top, user)
    if tests is not None:
        step(f"{suite}: ./tools/test {' '.join(tests)} as {user}", inside, top, user,
             ["./tools/test", *tests])
    new = [name for name in boots(top) - before
           if not any(word in name for word in HARMLESS)]
    if new:
        raise Failed(f"{suite}: a boot starts what setup has installed: {new}")


def try_debian(suite, user, cache, tests):
    """Creates one chroot, runs all steps, and removes it; raises Failed."""
    base(suite, cache)
    work = tempfile.mkdtemp(prefix="work-", dir=cache)
    try:
        for layer in ("upper", "work"):
            os.mkdir(os.path.join(work, layer))
        clone(os.path.join(work, "upper"))
        command = [sys.executable, "-B", os.path.abspath(__file__), "--inside", work, "--cache",
                   cache, "--user", user, suite, *(["--", *tests] if tests is not None else [])]
        process = subprocess.Popen(private(*command))
        try:
            if process.wait():
                raise Failed(suite)
        finally:
            process.kill()
            process.wait()
    finally:
        shutil.rmtree(work, ignore_errors=True)


def possible():
    """Returns None if this machine can run the test; otherwise the reason."""
    if os.geteuid():
        return "needs root"
    for program in ("debootstrap", "unshare", "setpriv", "git"):
        if not shutil.which(program):
            return f"there is no {program}"
    return None


def alone(cache):
    """Returns the lock of a cache, which only one process can use. Removes directories of killed
    runs."""
    os.makedirs(cache, exist_ok=True)
    lock = open(os.path.join(cache, "lock"), "w", encoding="ascii")
    fcntl.flock(lock, fcntl.LOCK_EX)
    for name in os.listdir(cache):
        if name.startswith("work-"):
            shutil.rmtree(os.path.join(cache, name), ignore_errors=True)
    return lock


def stop(number, _):
    """Raises SystemExit on a signal, so that the chroot is removed."""
    sys.exit(128 + number)


def main():
    """Tests each suite in turn; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("suites", nargs="*", default=SUITES, metavar="SUITE",
                        help="bookworm, trixie; default: both")
    parser.add_argument("--cache", default=CACHE, help="default: %(default)s")
    parser.add_argument("--user", choices=("root", USER), default="root",
                        help="who says the commands; an ordinary user has sudo")
    parser.add_argument("--demo", action="store_true", help="the demo only, and its page")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    ours, theirs = sys.argv[1:], ["--no-networks"]
    if "--" in ours:
        ours, theirs = ours[:ours.index("--")], ours[ours.index("--") + 1:]
    parser.epilog = "What comes after -- is for tools/test; default: " + " ".join(theirs)
    options = parser.parse_args(ours)
    cache = os.path.abspath(options.cache)
    if options.inside:
        tests = theirs if "--" in sys.argv else None
        with contextlib.suppress(KeyboardInterrupt):
            in_chroot(options.suites[0], options.user, options.inside, cache, tests)
        return 0
    why = possible()
    if why:
        print(why)
        return SKIP
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    with alone(cache):
        for suite in options.suites:
            try_debian(suite, options.user, cache, None if options.demo else theirs)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, subprocess.CalledProcessError) as failure:
        print(f"FAILED: {failure}", flush=True)
        sys.exit(1)

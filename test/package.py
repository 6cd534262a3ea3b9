#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The Debian packages: built, and installed, started, reloaded, crashed, upgraded, rolled back,
removed and purged in a clean Debian that systemd has booted.

The Debian is that of this machine, made by debootstrap (test/debian.py) and booted by
systemd-nspawn in namespaces of its own: kernel and CPUs are the machine's. The limiter there has
ports on veth pairs. Exits with 77 where this cannot be done.

Usage: package.py [--debs DIRECTORY WITH VERSIONS 0.1.0~1 AND 0.1.0~2 [--suite THEIRS]]
"""

import argparse
import contextlib
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
from debian import Failed, call, step

PACKAGES = ("weir", "weir-exporter", "weir-import", "weir-support", "weir-tools")
PREVIOUS, LATER = "0.1.0~1", "0.1.0~2"
PATIENCE_S = 120
NAME = "edge"
UNIT = f"weir@{NAME}"
CONFIG = {
    "limiter": NAME, "idle": "sleep", "workers": [0], "eal": ["--no-huge", "-m", "256"],
    "ports": {"a": {"device": "net_af_packet0,iface=a"}, "b": {"device": "net_af_packet1,iface=b"}},
    "wires": [{"name": "w", "a": "a", "b": "b"}], "control": {"group": "weir-read"},
    "policies": [{"name": "all", "match": {"direction": "a-to-b"}, "limit": "10Mbit/s"}],
}
KEY = "/etc/weir/group.key"
FRAMES = 20
# Replaces a limit that this machine cannot grant.
MAY_LOCK = "[Service]\\nAmbientCapabilities=CAP_IPC_LOCK\\nCapabilityBoundingSet=CAP_IPC_LOCK\\n"
CROSS = f"""
import socket, sys
def end(name):
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88b5))
    raw.bind((name, 0))
    raw.settimeout(5)
    return raw
ta, tb = end("ta"), end("tb")
for n in range({FRAMES}):
    ta.send(b"\\xff" * 6 + b"\\x02weird" + b"\\x88\\xb5" + bytes([n]) * 50)
for n in range({FRAMES}):
    if tb.recv(2048)[14] != n:
        sys.exit("another frame")
"""


def expect(condition, what):
    """Raises Failed with `what` unless the condition holds."""
    if not condition:
        raise Failed(what)


class Machine:
    """A Debian that has booted."""

    def __init__(self, top, log):
        self.process = subprocess.Popen(
            ["systemd-nspawn", "-D", top, "--boot", "--register=no", "--keep-unit",
             # Part of /sys on a real machine, where EAL looks for modules.
             "--bind-ro=/sys/module", "--tmpfs=/sys/fs/bpf", "--private-network", "--console=pipe",
             # Allowed on a real machine, and needed by units of AF_XDP ports.
             "--capability=CAP_IPC_LOCK,CAP_BPF,CAP_PERFMON",
             "--system-call-filter=bpf"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        self.leader = None
        try:
            self.wait(self.booted, "it does not boot")
        except BaseException:
            self.halt()
            raise

    def booted(self):
        """Returns true if systemd reports that it is running; its process is the first child."""
        expect(self.process.poll() is None, "systemd-nspawn has ended")
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="ascii") as file:
            children = file.read().split()
        if not children:
            return False
        self.leader = children[0]
        with contextlib.suppress(OSError):
            with open(f"/proc/{self.leader}/comm", encoding="ascii") as file:
                if file.read().strip() != "systemd":
                    return False
        return self.run("systemctl", "is-system-running")[1].strip() in ("running", "degraded")

    def run(self, *words, **options):
        """Runs a command in the machine; returns (status, output)."""
        done = subprocess.run(
            ["nsenter", "-t", self.leader, "-m", "-u", "-i", "-n", "-p", "-r", "-w", "env", "-i",
             "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C",
             *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False, timeout=900, **options)
        return done.returncode, done.stdout

    def do(self, *words):
        """Runs a command, which must succeed; returns its output."""
        status, output = self.run(*words)
        expect(status == 0, f"{' '.join(words)}: exit status {status}\n{output}")
        return output

    def show(self, name):
        """Returns a property of the unit."""
        return self.do("systemctl", "show", "-P", name, UNIT).strip()

    def wait(self, condition, what):
        """Waits until the condition is true."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            expect(time.monotonic() < deadline, what)
            time.sleep(0.2)

    def write(self, config):
        """Writes the limiter's configuration."""
        text = config if isinstance(config, str) else json.dumps(config)
        self.do("sh", "-c", 'printf %s "$1" >"$2"', "sh", text, f"/etc/weir/{NAME}.json")

    def cross(self):
        """Sends frames from one end of the wire to the other."""
        done = subprocess.run(["nsenter", "-t", self.leader, "-n", sys.executable, "-c", CROSS],
                              capture_output=True, text=True, check=False)
        expect(done.returncode == 0, f"frames do not pass: {done.stderr}")

    def halt(self):
        """Ends the machine."""
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        self.process.kill()
        self.process.wait()


def installs(machine):
    """Installs users and files, and starts nothing."""
    machine.do("apt-get", "-qq", "-y", "--no-install-recommends", "install",
               *package_files(PREVIOUS))
    machine.do("id", "weir")
    expect("weir-read" in machine.do("id", "-nG", "weir"), "weir is not of weir-read")
    for path in ("/etc/weir", "/run/weir", "/usr/share/man/man8/weir.8.gz",
                 "/usr/share/doc/weir/operate/install.md", "/usr/share/doc/weir/examples"):
        machine.do("test", "-e", path)
    expect(machine.run("pgrep", "-x", "weir")[0] == 1, "it runs unasked")
    for program in ("weir", "weirctl", "weirsim", "weir-exporter", "weir-import", "weir-support"):
        machine.do(program, "--version")
    machine.do("systemd-analyze", "verify", "--man=no", f"{UNIT}.service")


def starts(machine):
    """When `start` returns, the process has the right user, and packets pass."""
    for pair in (("ta", "a"), ("tb", "b")):
        machine.do("ip", "link", "add", "dev", pair[0], "type", "veth", "peer", "name", pair[1])
        for end in pair:
            machine.do("sysctl", "-qw", f"net.ipv6.conf.{end}.disable_ipv6=1")
            machine.do("ip", "link", "set", "dev", end, "up")
    machine.write(CONFIG)
    machine.do("weir", "--check", f"/etc/weir/{NAME}.json")
    machine.do("systemctl", "enable", "--now", UNIT)
    machine.do("weirctl", "-n", NAME, "status")  # without a retry
    machine.cross()
    status = machine.do("cat", f"/proc/{machine.show('MainPID')}/status")
    expect("CapEff:\t0000000000003000" in status and "NoNewPrivs:\t1" in status, status)
    expect(machine.do("ps", "-o", "user=", "-p", machine.show("MainPID")).strip() == "weir",
           "another user")
    expect(machine.do("stat", "-c", "%U:%G %a", f"/run/weir/{NAME}.sock").strip()
           == "weir:weir-read 660", "the socket is another's")
    expect(machine.show("WatchdogUSec") == "10s", "no watchdog")
    expect("running: limiter edge of 1" in machine.show("StatusText"), machine.show("StatusText"))


def reloads(machine):
    """`systemctl reload` reports the result."""
    pid = machine.show("MainPID")
    machine.write(json.dumps(CONFIG).replace("10Mbit/s", "20Mbit/s"))
    machine.do("systemctl", "reload", UNIT)
    expect("20.0 Mbit/s" in machine.do("weirctl", "-n", NAME, "policies"), "no other limit")
    machine.write(json.dumps(CONFIG).replace("10Mbit/s", "20Mbit"))
    status, output = machine.run("systemctl", "reload", UNIT)
    expect(status != 0, f"systemctl reload: exit status {status}: {output}")
    expect("20Mbit" in machine.do("journalctl", "-q", "-u", UNIT), "the journal says no reason")
    expect("refused" in machine.show("StatusText"), machine.show("StatusText"))
    expect(machine.show("ActiveState") == "active" and machine.show("MainPID") == pid, "it ended")
    machine.cross()


def refused(machine):
    """A start with an invalid configuration runs the last good one. Without that it fails, and is
    not retried."""
    machine.do("systemctl", "restart", UNIT)
    expect("20.0 Mbit/s" in machine.do("weirctl", "-n", NAME, "policies"), "not the last good one")
    expect("the last good configuration runs" in machine.do("journalctl", "-q", "-u", UNIT),
           "no message about it")
    machine.cross()
    machine.do("systemctl", "stop", UNIT)
    machine.do("rm", "-r", f"/var/lib/weir/{NAME}.state")
    status, _ = machine.run("systemctl", "start", UNIT)
    expect(status != 0, "systemctl start succeeds")
    time.sleep(3)  # time for two retries
    expect((machine.show("ExecMainStatus"), machine.show("ActiveState"), machine.show("NRestarts"))
           == ("78", "failed", "0"), machine.run("systemctl", "status", UNIT)[1])
    machine.write(CONFIG)
    machine.do("systemctl", "start", UNIT)


def key_comes_later(machine):
    """Without its key file a limiter reports that, and starts by itself when the file exists."""
    machine.do("systemctl", "stop", UNIT)
    machine.do("rm", "-r", f"/var/lib/weir/{NAME}.state")  # otherwise the last good one runs
    machine.write(CONFIG | {"gossip": {"key_file": KEY, "roster": [
        {"name": NAME, "address": "127.0.0.1:7946"}, {"name": "other", "address": "127.0.0.1:7947"}
    ]}})
    machine.run("systemctl", "start", UNIT)
    machine.wait(lambda: int(machine.show("NRestarts")) >= 2, "it is not tried again")
    said = machine.do("journalctl", "-q", "-u", UNIT)
    expect(f"gossip.key_file: {KEY}: No such file" in said and f": weir --new-key {KEY}" in said,
           "the journal does not say what is missing")
    machine.do("weir", "--new-key", KEY)
    machine.do("chown", "weir", KEY)
    machine.wait(lambda: machine.show("ActiveState") == "active", "it does not start by itself")
    machine.cross()
    machine.do("systemctl", "stop", UNIT)
    machine.do("rm", KEY)
    machine.write(CONFIG)
    machine.do("systemctl", "start", UNIT)


def may_lock(machine):
    """Returns true if a unit gets unlimited locked memory, as seen in the running process."""
    locks = "unlimited" in machine.do("grep", "locked", f"/proc/{machine.show('MainPID')}/limits")
    if not locks:
        print("drop-ins: no unit gets LimitMEMLOCK=infinity on this machine: with CAP_IPC_LOCK",
              flush=True)
    return locks


def drop_ins(machine):
    """AF_XDP ports run in the unit with only its drop-in. The drop-in for vfio permits the vfio
    devices, which need not exist here, and is as restrictive otherwise."""
    place = f"/etc/systemd/system/{UNIT}.service.d"
    shipped = "/usr/share/doc/weir/systemd"
    locks = may_lock(machine)
    machine.do("systemctl", "stop", UNIT)
    machine.write(json.dumps(CONFIG).replace("af_packet", "af_xdp"))
    expect(machine.run("systemctl", "start", UNIT)[0] != 0, "AF_XDP without its drop-in")
    machine.do("systemctl", "stop", UNIT)
    machine.do("install", "-D", "-m", "0644", f"{shipped}/af_xdp.conf", f"{place}/ports.conf")
    if not locks:
        machine.do("sh", "-c", f"printf '{MAY_LOCK}' >{place}/lock.conf")
    machine.do("systemctl", "daemon-reload")
    expect(machine.show("LimitMEMLOCK") == "infinity", "a limit of locked memory")
    machine.do("systemctl", "start", UNIT)
    machine.cross()
    status = machine.do("cat", f"/proc/{machine.show('MainPID')}/status")
    expect(f"CapEff:\t000000000020{'3' if locks else '7'}000" in status, status)
    machine.do("systemctl", "stop", UNIT)
    machine.do("rm", "-r", place)
    machine.write(CONFIG)
    machine.do("install", "-D", "-m", "0644", f"{shipped}/vfio.conf", f"{place}/ports.conf")
    machine.do("systemctl", "daemon-reload")
    machine.do("systemd-analyze", "verify", "--man=no", f"{UNIT}.service")
    machine.do("systemctl", "start", UNIT)
    machine.cross()
    expect((machine.show("PrivateDevices"), machine.show("DevicePolicy")) == ("no", "closed") and
           {"/dev/vfio/vfio rw", "char-vfio rw"} <= set(machine.show("DeviceAllow").splitlines()),
           machine.show("DeviceAllow"))
    machine.do("rm", "-r", place)
    machine.do("systemctl", "daemon-reload")
    machine.do("systemctl", "restart", UNIT)


def outlived(machine):
    """A wire that outlives its process stays open while the unit is stopped, with only the drop-in.

    The other ends have GRO on, because a veth receives redirected XDP frames only with it.
    """
    place = f"/etc/systemd/system/{UNIT}.service.d"
    machine.do("systemctl", "stop", UNIT)
    machine.do("mount", "-t", "bpf", "-o", "mode=700", "bpf", "/sys/fs/bpf")
    for end in ("ta", "tb"):
        call("nsenter", "-t", machine.leader, "-n", "ethtool", "-K", end, "gro", "on")
    fails = dict(CONFIG["wires"][0], fail="open")
    machine.write(CONFIG | {"wires": [fails]})
    machine.do("install", "-D", "-m", "0644", "/usr/share/doc/weir/systemd/fail_open.conf",
               f"{place}/fail.conf")
    machine.do("systemctl", "daemon-reload")
    machine.do("systemctl", "start", UNIT)
    machine.cross()
    machine.do("systemctl", "stop", UNIT)
    machine.cross()
    machine.do("systemctl", "start", UNIT)
    machine.cross()
    expect("went straight to the other port" in machine.do("journalctl", "-u", UNIT),
           "nobody says so")
    machine.do("rm", "-r", place)
    machine.write(CONFIG)
    machine.do("systemctl", "daemon-reload")
    machine.do("systemctl", "stop", UNIT)
    machine.do("umount", "/sys/fs/bpf")
    machine.do("systemctl", "start", UNIT)


def crashes(machine):
    """systemd restarts a process that crashed, and one that is stopped, by the watchdog."""
    for times in range(1, 9):  # more often than systemd's own limit of five
        pid = machine.show("MainPID")
        machine.do("kill", "-STOP" if times == 8 else "-KILL", pid)
        machine.wait(lambda pid=pid: machine.show("ActiveState") == "active"
                     and machine.show("MainPID") not in (pid, "0"), "it is not started again")
    expect(machine.show("NRestarts") == "8", machine.show("NRestarts"))
    machine.cross()


def replaced(machine, version):
    """Installs another version: the process runs on until the operator restarts it."""
    pid = machine.show("MainPID")
    output = machine.do("apt-get", "-qq", "-y", "--allow-downgrades", "install",
                        *package_files(version))
    expect(f"restart one after the other: {UNIT}.service" in output, output)
    expect(machine.do("dpkg-query", "-W", "-f", "${Version}", "weir") == version, "no new version")
    expect(machine.show("MainPID") == pid, "it was restarted unasked")
    machine.cross()
    machine.do("weirctl", "-n", NAME, "reload")
    machine.do("systemctl", "restart", UNIT)
    expect(machine.show("MainPID") != pid, "it was not restarted")
    machine.do("weirctl", "-n", NAME, "status")
    machine.cross()


def removed(machine):
    """After removal nothing runs, and configuration and state remain."""
    machine.do("apt-get", "-qq", "-y", "remove", *PACKAGES)
    expect(machine.run("pgrep", "-x", "weir")[0] == 1, "it still runs")
    for path in (f"/etc/weir/{NAME}.json", "/var/lib/weir"):
        machine.do("test", "-e", path)
    expect(machine.run("sh", "-c", "command -v weir weirctl weirsim")[0] != 0, "programs are left")


def purged(machine):
    """After a purge only the operator's files and the user remain."""
    machine.do("apt-get", "-qq", "-y", "purge", *PACKAGES)
    left = machine.do(
        "sh", "-c", "find / \\( -path /proc -o -path /sys -o -path /debs \\) -prune -o "
        "\\( -iname '*weir*' -o -user weir -o -group weir -o -group weir-read \\) -print")
    expect(left.split() == ["/etc/weir"], f"left behind: {left}")
    expect(machine.do("ls", "-A", "/etc/weir").split() == [f"{NAME}.json"], "not what was there")
    failed = machine.do("systemctl", "--failed", "--plain", "--no-legend")
    expect("weir" not in failed, failed)


@contextlib.contextmanager
def fresh(cache, suite, debs):
    """Yields a new Debian that has booted; this process has its own mount namespace."""
    debian.base(suite, cache)
    work = tempfile.mkdtemp(prefix="work-", dir=cache)
    try:
        for layer in ("upper", "work"):
            os.mkdir(os.path.join(work, layer))
        kept = os.path.join(cache, "debs", suite)
        os.makedirs(os.path.join(kept, "partial"), exist_ok=True)
        top = debian.mounted(os.path.join(cache, suite), work, kept)
        shutil.copy("/etc/resolv.conf", os.path.join(top, "etc/resolv.conf"))
        # Before the boot, because an image needs systemd, and has a network only now.
        os.mkdir(os.path.join(top, "debs"))
        for deb in glob.glob(os.path.join(debs, "*.deb")):
            shutil.copy(deb, os.path.join(top, "debs"))
        prepare(top)
        for place in ("proc", "sys", "run", "tmp", "dev"):  # systemd-nspawn mounts its own
            call("umount", "-R", "-l", os.path.join(top, place))
        with open(os.path.join(work, "log"), "w", encoding="utf-8") as log:
            machine = Machine(top, log)
            try:
                yield machine
            finally:
                machine.halt()
                call("umount", "-R", "-l", top)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def prepare(top):
    """Installs systemd, and downloads the packages' dependencies: the machine has no network."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    env = ["chroot", top, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"]
    with open(os.path.join(top, "etc/apt/apt.conf.d/90keep"), "w", encoding="ascii") as file:
        file.write('Binary::apt-get::APT::Keep-Downloaded-Packages "true";\n'
                   'APT::Keep-Downloaded-Packages "true";\n')
    call(*env, "apt-get", "-qq", "update", **quiet)
    call(*env, "apt-get", "-qq", "-y", "--no-install-recommends", "install", "systemd",
         "systemd-sysv", "dbus", "iproute2", "procps", **quiet)
    call(*env, "apt-get", "-qq", "-y", "--no-install-recommends", "--download-only", "install",
         *package_files(PREVIOUS), **quiet)


def package_files(version):
    """Returns the files of all packages. Python programs are for every architecture."""
    python = ("weir-import", "weir-support")
    return [f"/debs/{name}_{version}_{'all' if name in python else arch()}.deb"
            for name in PACKAGES]


def arch():
    """Returns Debian's name of this architecture."""
    return call("dpkg", "--print-architecture", capture_output=True).stdout.strip()


def build(debs):
    """Builds two versions of one tree."""
    for version in (PREVIOUS, LATER):
        call(os.path.join(debian.ROOT, "tools", "package"), "--version", version, "--output", debs,
             stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def explained(machine):
    """Prints the unit's journal after a failure."""
    try:
        yield
    except Failed:
        print(machine.run("journalctl", "-q", "--no-pager", "-n", "40", "-u", UNIT)[1])
        raise


def everything(cache, suite, debs):
    """Runs all steps, in an operator's order."""
    with fresh(cache, suite, debs) as machine, explained(machine):
        step("installs", installs, machine)
        step("starts", starts, machine)
        step("reloads", reloads, machine)
        step("refused", refused, machine)
        step("a key that comes later", key_comes_later, machine)
        step("drop-ins", drop_ins, machine)
        step("a wire that outlives the unit", outlived, machine)
        step("crashes, and hangs", crashes, machine)
        step("upgrade", replaced, machine, LATER)
        step("rollback", replaced, machine, PREVIOUS)
        step("removed", removed, machine)
        step("purged", purged, machine)


def main():
    """Builds missing packages, and runs all steps."""
    parser = argparse.ArgumentParser(prog="package.py", description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--debs", help="packages of both versions, instead of building them")
    parser.add_argument("--suite", help="the Debian that they are of; default: this one")
    parser.add_argument("--cache", default=debian.CACHE)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if os.geteuid() or not all(map(shutil.which, ("debootstrap", "systemd-nspawn", "nsenter"))):
        print("skipped: needs root, debootstrap and systemd-nspawn (systemd-container)")
        sys.exit(debian.SKIP)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if not options.inside:  # in a mount namespace, so that no mount remains in any case
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable,
                              "-B", os.path.abspath(__file__), "--inside", *sys.argv[1:]])
    suite = options.suite or call("sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME",
                 capture_output=True).stdout.strip()
    began = time.monotonic()
    os.makedirs(options.cache, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="weir-debs-") as made:
        try:
            if not options.debs:
                step("tools/package, twice", build, made)
            everything(options.cache, suite, options.debs or made)
        except Failed as failure:
            print(f"FAIL: {failure}")
            sys.exit(1)
    print(f"ok: {suite}, {(time.monotonic() - began) / 60:.1f} minutes")


if __name__ == "__main__":
    main()

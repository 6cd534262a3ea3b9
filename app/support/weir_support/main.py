# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The program weir-support."""

import contextlib
import glob
import json
import os
import signal
import sys
import time

from weir_support import limiter, options, programs, redact
from weir_support.bundle import Bundle

SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
PROGRAM_S = 15     # seconds for a program of the machine
FILE_MOST = 8 << 20  # bytes of a file that are read
FILES_MOST = 200   # files in a configuration
# Requests that no command sends.
REQUESTS = ("/info", "/weir/health", "/weir/policy_stats", "/eal/lcore/list", "/ethdev/list",
            "/ethdev/info,0", "/ethdev/info,1", "/ethdev/xstats,0", "/ethdev/xstats,1")


class Ended(BaseException):
    """A signal has come."""


def complain(text: str) -> None:
    """Reports a problem."""
    with contextlib.suppress(OSError):
        os.write(2, f"weir-support: {text}\n".encode("utf-8", "surrogateescape"))


def read_file(path: str) -> bytes:
    """Returns a file, as much of it as is read. OSError."""
    with open(path, "rb") as file:
        return file.read(FILE_MOST)


class Support:
    """The gathering of one archive."""

    def __init__(self, bundle: Bundle, limiters: list[limiter.Limiter],
                 weirctl: str, weir: str, version: str) -> None:
        self.bundle, self.limiters = bundle, limiters
        self.weirctl, self.weir, self.version = weirctl, weir, version
        self.files: dict[str, bytes] = {}  # the configurations that have been read

    # --- the configuration, and the secrets that it names -----------------------------------------

    def secret_keys(self) -> set[bytes]:
        """Returns the keys that name files of secrets, by the table of keys; without weir none."""
        found = set()
        for line in (programs.run([self.weir, "--keys"], PROGRAM_S) or b"").splitlines():
            with contextlib.suppress(ValueError, TypeError, KeyError):
                row = json.loads(line)
                if row.get("secret"):
                    found.add(row["path"].rpartition(".")[2].encode())
        return found

    def find_files(self, path: str, keys: set[bytes]) -> None:
        """Reads a configuration and its included files, and learns the secrets."""
        if path in self.files or len(self.files) >= FILES_MOST:
            return
        try:
            text = read_file(path)
        except (OSError, ValueError) as error:  # ValueError: the path has a NUL
            self.bundle.absent(path, getattr(error, "strerror", None) or str(error))
            return
        self.files[path] = text
        folder = os.path.dirname(path)
        self.bundle.learn(redact.values_of(text))
        for name in redact.secret_files(text, keys):
            with contextlib.suppress(OSError, ValueError):
                self.bundle.learn(redact.words_of(
                    read_file(os.path.join(folder, os.fsdecode(name))).replace(b"\0", b" ")))
        for name in redact.included(text):
            inside = os.path.join(folder, os.fsdecode(name))
            for each in sorted(glob.glob(glob.escape(inside) + "/*.json")) or [inside]:
                self.find_files(each, keys)

    def config_of(self, one: limiter.Limiter) -> str:
        """Returns the file of a limiter's configuration, which can be relative to its directory."""
        answer = one.ask("/weir/config")
        file = answer.get("file") if isinstance(answer, dict) else None
        if not isinstance(file, str):
            return f"/etc/weir/{one.name}.json"
        if file.startswith("/"):
            return file
        answer = one.ask("/info")
        pid = answer.get("pid") if isinstance(answer, dict) else None
        return f"/proc/{pid}/cwd/{file}"

    # --- the parts --------------------------------------------------------------------------------

    def commands(self) -> list[str]:
        """Returns the commands of weirctl that change nothing and need no word."""
        try:
            table = json.loads(programs.run([self.weirctl, "help", "--json"], PROGRAM_S) or b"")
            return [row["command"] for row in table if row["only_reads"]]
        except (ValueError, TypeError, KeyError):
            self.bundle.absent("commands", f"{self.weirctl}: no such program, or it has failed")
            return []

    def ask_command(self, one: limiter.Limiter, command: str) -> bool:
        """Adds the answer of one command as JSON and as text; returns false if there is none."""
        words = ["-s", one.path, "--timeout", f"{one.timeout_s:g}", command]
        seconds = PROGRAM_S + 3 * one.timeout_s
        children = [programs.Child([self.weirctl, *more, *words], seconds, apart=True)
                    for more in (["--json"], [])]
        try:
            for child in children:
                child.wait()
        finally:
            for child in children:
                child.end()
        name = f"{one.name}-{command}"
        if not children[0].out:
            why = os.fsdecode(children[0].err.strip()).removeprefix("weirctl: ")
            self.bundle.absent(name + ".json", why or "no answer in time")
            return False
        for child, kind in zip(children, ("json", "txt")):
            self.bundle.write(f"{name}.{kind}", child.out)
        return True

    def write_answers(self, one: limiter.Limiter, commands: list[str]) -> None:
        """Adds all answers of a limiter. Without an answer it sends no further request."""
        for number, command in enumerate(commands):
            if self.ask_command(one, command):
                continue
            if one.ask() is not True:
                why = self.bundle.parts.pop()["why"] if number == 0 else "no answer any more"
                self.bundle.absent(f"{one.name}-*.json", why)
                return
        answers = {request: value for request in REQUESTS
                   if (value := one.ask(request)) is not None}
        self.bundle.write(f"{one.name}-telemetry.json", json.dumps(answers, indent=1).encode())

    def write_output(self, name: str, argv: list[str], why: str) -> None:
        """Adds the outputs of a program."""
        output = programs.run(argv, PROGRAM_S, {"VERSION": self.version})
        if output is None:
            self.bundle.absent(name, why)
        else:
            self.bundle.write(name, output)

    def gather(self) -> None:
        """Adds all parts. Secrets first: no part may have one."""
        keys = self.secret_keys()
        for one in self.limiters:
            self.find_files(self.config_of(one), keys)
        commands = self.commands()
        for one in self.limiters:
            self.write_answers(one, commands)
            self.write_output(f"{one.name}-log.txt", [
                "journalctl", "-u", f"weir@{one.name}", "-n", "5000", "--no-pager", "-o",
                "short-iso-precise"], "no journalctl, or it hangs")
        for path, text in self.files.items():
            self.bundle.write("config" + path, text)
        for name, script in programs.MACHINE:
            self.write_output(name, script if isinstance(script, list) else ["sh", "-c", script],
                              "no such program, or it hangs")
        self.bundle.write("manifest.json", json.dumps(self.bundle.parts, indent=1).encode())


def report(given: options.Options, bundle: Bundle) -> None:
    """Writes the name of the archive, and which parts are absent."""
    if "json" in given.flags:
        print(json.dumps({"file": bundle.output, "parts": bundle.parts}, indent=1))
    else:
        for part in bundle.parts:
            if not part["there"]:
                complain(f"without {part['part']}: {part['why']}")
        print(bundle.output)
    sys.stdout.flush()


def write_archive(given: options.Options, version: str, weirctl: str, weir: str) -> int:
    """Writes the archive; returns the exit status."""
    output = given.texts.get("output")
    try:
        limiters = limiter.find(given.sockets, given.names, given.texts.get("group"),
                                given.timeout_s)
    except limiter.Failure as error:
        complain(str(error))
        return 1
    when = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    folder = f"weir-support-{limiters[0].name.replace('/', '_')[:64]}-{when}"
    output = output if output is not None else folder + ".tar.gz"
    try:
        # A signal between the creation of the file and the block that removes it waits.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        bundle = Bundle(folder, output)
        try:
            try:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
                Support(bundle, limiters, weirctl, weir, version).gather()
                bundle.finish()
            finally:
                bundle.close()
        finally:  # a signal can interrupt the first one
            bundle.close()
    except OSError as error:
        complain(f"{output}: {error.strerror}")
        return 1
    report(given, bundle)
    return 0


def _end(number: int, _frame) -> None:
    """Leaves everything by an exception, once. It removes an incomplete archive on its way."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise Ended(number)


def main(arguments: list[str], version: str, weirctl: str, weir: str) -> int:
    """Runs the program; returns the exit status."""
    try:
        given = options.parse(arguments)
    except options.UsageError as error:
        complain(str(error))
        sys.stderr.write(options.USAGE + "See weir-support --help.\n")
        return 2
    try:
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _end)
        if given.flags & {"version", "help"}:
            sys.stdout.write(f"weir-support {version}\n" if "version" in given.flags else
                             options.help_text())
            sys.stdout.flush()
            return 0
        return write_archive(given, version, weirctl, weir)
    except Ended as ended:
        signal.signal(ended.args[0], signal.SIG_DFL)
        os.kill(os.getpid(), ended.args[0])
        return 1
    except OSError as error:  # standard output fails
        complain(f"standard output: {error.strerror}")
        return 1

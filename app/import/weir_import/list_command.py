# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The command "csv": one change makes the policies of a prefix those of a list."""

import errno
import os
import re
import shutil
import subprocess
import threading
from typing import Any, Callable

from weir_import import documents, group, show
from weir_import.diagnostics import Diagnostics, Failure, complain, report, write_to
from weir_import.edits import Edits, edits_between
from weir_import.limiter import Limiter, LimiterError, explain, member
from weir_import.options import Options
from weir_import.subscribers import Policy, SubscriberList, Terms

FILE_MOST = 256 << 20
TRIES = 5  # if others change something at the same time
QUOTED = re.compile(r'"([^"]*)"')

FIELDS = [(name.replace("_", " "), ("import", name), name == "left_out")
          for name in ("prefix", "added", "removed", "changed", "unchanged", "left_out")]
FIELDS.append(("peers that differ now", ("peers_differ",), True))


class Import:
    """A list that was read from its file, and how it is to be understood."""

    def __init__(self, options: Options) -> None:
        path = options.words[1]
        upload = options.texts["direction"] == "upload"
        self.options = options
        self.terms = Terms(
            file="standard input" if path == "-" else path,
            prefix=options.texts.get("prefix", "upload-" if upload else "download-"),
            parent_prefix=options.texts.get("parents", ""), upload=upload,
            flat="flat" in options.flags, skip_bad="skip-bad" in options.flags,
            network_file=options.texts.get("network", ""))
        if self.terms.network_file:
            self.terms.network = documents.load(self.terms.network_file)
        self.data = _read_list(path, self.terms.file)

    def parse(self, running: list[Policy] | None) -> SubscriberList | None:
        """Returns the policies of the list; None if it is refused, which is reported."""
        lines: list[str] = []
        terms = Terms(**{**vars(self.terms), "running": running})
        listed = SubscriberList(terms, Diagnostics(lines.append))
        good = listed.read(self.data)
        if lines:
            report("\n".join(lines))
        return listed if good else None

    def place(self, message: str, listed: SubscriberList) -> str:
        """Puts the line of the list, or the node, before a message that names its policy."""
        for name in QUOTED.findall(message):
            if name in listed.lines:
                return f"{self.terms.file}:{listed.lines[name]}: {message}"
            if name in listed.node_names:
                return f"{self.terms.network_file}: {listed.node_names[name]}: {message}"
        return message

    # --- to limiters ------------------------------------------------------------------------------

    def _refuse_removals(self, wanted: list[Policy], counts: Edits) -> str:
        """Returns why the list must not remove so many policies, or nothing.

        A file that is cut at the end of a line is a good list. One policy may always go.
        """
        owned, removals = counts.removed + counts.changed + counts.unchanged, self.options.removals
        if not wanted and removals < 100:
            return (f"{self.terms.file}: no subscribers, and {owned} policies in force: is the "
                    "file whole? To remove all, give --allow-removals")
        if counts.removed <= 1 or counts.removed * 100 <= owned * removals:
            return ""
        return (f"{self.terms.file}: removes {counts.removed} of {owned} policies, more than "
                f"{removals}%: is the file whole? To remove them, give --allow-removals")

    def _send_once(self, limiter: Limiter) -> dict[str, Any]:
        """Sends the list once; returns the outcome with the counts."""
        running = limiter.running()
        listed = self.parse(running)
        if listed is None:
            return {"refused": "the list is refused"}
        wanted = [*listed.policies.values(),
                  *(policy for policy in running if policy.get("name") in listed.bad)]
        counts = edits_between(running, wanted, self.terms.prefix)
        refused = self._refuse_removals(wanted, counts)
        document: dict[str, Any] = {"refused": refused} if refused else {}
        if counts.edits and not refused:
            document = with_messages(limiter.change(counts.edits),
                                     lambda text: self.place(without_place(text), listed))
        document["import"] = {
            "prefix": self.terms.prefix, "added": counts.added, "removed": counts.removed,
            "changed": counts.changed, "unchanged": counts.unchanged, "left_out": len(listed.bad)}
        return document

    def send(self, limiter: Limiter) -> dict[str, Any]:
        """Sends the list; starts again if others change policies at the same time."""
        for more in reversed(range(TRIES)):
            try:
                return self._send_once(limiter)
            except LimiterError as error:
                if error.code != errno.ESTALE or not more:
                    raise
        raise AssertionError("unreachable")

    # --- to a file --------------------------------------------------------------------------------

    def check(self, listed: SubscriberList) -> bool:
        """Lets `weir --check` judge the policies. Returns false, reported, if it refuses them."""
        policies = list(listed.policies.values())
        names = {policy["name"] for policy in policies}
        # A parent outside the list may be in force.
        absent = dict.fromkeys(policy["parent"] for policy in policies
                               if policy.get("parent", policy["name"]) not in names)
        policies += [{"name": name, "limit": "400Gbit/s"} for name in absent]
        weir = shutil.which("weir")
        if weir is None:
            complain("weir: no such program in PATH: --print needs it to check the policies")
            return False
        document = {"limiter": "list", "policies": policies}
        done = subprocess.run([weir, "--check", "--json", "-"], check=False, stdout=subprocess.PIPE,
                              input=documents.compact(document).encode())
        for line in done.stdout.splitlines():
            report(self.place(_words_of_check(line, self.terms.file), listed))
        return done.returncode == 0

    def print(self) -> int:
        """Writes the policies as a file that a configuration can include."""
        listed = self.parse(None)
        if listed is None:
            return 1
        if not listed.policies and self.options.removals < 100:
            complain(f"{self.terms.file}: no subscribers: is the file whole? To write an empty "
                     "file, give --allow-removals")
            return 1
        if not self.check(listed):
            return 1
        return write(documents.pretty({"policies": list(listed.policies.values())}) + "\n", 0)


def _words_of_check(line: bytes, file: str) -> str:
    """Returns a message of `weir --check --json` without places in its document."""
    message = documents.parse(line)["message"]
    message = re.sub(r"^<stdin>(:\d+)*: ", f"{file}: ".replace("\\", r"\\"), message)
    message = re.sub(r" \(<stdin>(:\d+)*\)", "", message)
    message = re.sub(r'policies\[\d+\] ("[^"]*")\.', r"policy \1: ", message)
    return re.sub(r'policies\[\d+\] ("[^"]*")', r"policy \1", message)


def write(text: str, status: int) -> int:
    """Writes to standard output; returns the exit status, 1 if that fails."""
    try:
        write_to(1, text)
    except OSError as error:
        complain(f"standard output: {os.strerror(error.errno or errno.EIO)}")
        return 1
    return status


def _read_list(path: str, name: str) -> bytes:
    try:
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            data = file.read(FILE_MOST + 1)
    except OSError as error:
        raise Failure(f"{name}: {error.strerror}") from None
    if len(data) > FILE_MOST:
        raise Failure(f"{name}: {os.strerror(errno.EFBIG)}")
    return data


def without_place(message: str) -> str:
    """Returns a message without the place of an edit, which the user has not written."""
    return re.sub(r"^edits\[[0-9]+\]: ", "", message)


def with_messages(document: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Returns an answer with other messages."""
    messages = member(document, "last", "messages")
    if isinstance(messages, list):
        document["last"]["messages"] = [change(text) if isinstance(text, str) else text
                                        for text in messages]
    return document


def refused(document: dict[str, Any]) -> bool:
    """Returns true if a limiter has refused a change. A list in "refused" is of its start."""
    return "denied" in document or isinstance(document.get("refused"), str) or \
        member(document, "last", "ok") is False


def report_refusal(document: dict[str, Any]) -> None:
    """Reports why a limiter has refused a change."""
    lines = [show.printable(text) for text in member(document, "last", "messages") or ()
             if isinstance(text, str)]
    if "denied" in document:
        needs = document.get("needs")
        lines.append("weir-import: not permitted: this needs "
                     f"{needs if isinstance(needs, str) else 'more rights'}")
    else:
        words = document.get("refused")
        lines.append(f"weir-import: {words if isinstance(words, str) else _REJECTED}; nothing has "
                     "changed")
    report("\n".join(lines))


_REJECTED = "the limiter rejected the change"


def _send_all(limiters: list[Limiter], imported: Import) -> dict[Limiter, dict[str, Any]]:
    """Sends the list to all limiters at the same time. One that fails has an "error"."""
    answers: dict[Limiter, dict[str, Any]] = {}

    def send(limiter: Limiter) -> None:
        try:
            answers[limiter] = imported.send(limiter)
        except LimiterError as error:
            answers[limiter] = {"error": explain(limiter.path, error.code)}

    threads = [threading.Thread(target=send, args=(limiter,)) for limiter in limiters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def run(options: Options) -> int:
    """Runs the command; returns the exit status."""
    imported = Import(options)
    if "print" in options.flags:
        return imported.print()
    limiters = group.find(options.sockets, options.names, options.texts.get("group"),
                          options.timeout_s)
    answers, status = _send_all(limiters, imported), 0
    shown = []
    for limiter in limiters:
        document = answers[limiter]
        if "error" in document:
            complain(show.printable(document["error"]))
        elif refused(document):
            report_refusal(document)
        else:
            shown.append((limiter.name if len(limiters) > 1 else "", document))
            continue
        status = 1
    if "json" not in options.flags:
        width = 0 if "wide" in options.flags else show.terminal_width()
        return write(show.show(shown, FIELDS, width), status)
    if len(limiters) > 1:
        return write(documents.pretty({each.name: answers[each] for each in limiters}) + "\n",
                     status)
    only = answers[limiters[0]]
    return write("" if "error" in only else documents.pretty(only) + "\n", status)

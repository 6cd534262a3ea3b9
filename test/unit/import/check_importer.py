#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The program weir-import with limiters that answer, refuse, hang, end and start again.

Usage: check_importer.py PROGRAM VERSION WEIRCTL
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from fake_limiter import FakeLimiter
from harness import Test

from weir_import.announcements import words_of

PROGRAM, VERSION, WEIRCTL = sys.argv[1:4]
PATIENCE_S = 60  # for an event that takes a second on an idle machine
LIST = "name,addresses,limit\n1,192.0.2.1,1Mbit/s\n2,192.0.2.2,2Mbit/s\n"
CSV = ("csv", "-", "--direction", "download", "--prefix", "p-")
WRONG_USAGE = (
    ([], "nothing: expected csv FILE, or flowspec"),
    (["cvs"], "cvs: expected csv FILE, or flowspec"),
    (["csv"], "csv: expected one file after it, or -"),
    (["csv", "a", "b", "--direction", "upload"], "csv: expected one file after it, or -"),
    (["csv", "a"], "csv: expected --direction download"),
    (["csv", "a", "--direction", "up"], "up: expected --direction download"),
    (["csv", "a", "--direction"], "--direction: expected a value after it"),
    ([*CSV, "--prefix", "a b"], "a b: expected a prefix of 1 to 30 characters"),
    ([*CSV, "--parents", ""], ": expected a prefix of 1 to 30 characters"),
    ([*CSV, "--keep"], "--keep: expected it with flowspec alone"),
    ([*CSV, "--family", "ipv4"], "--family: expected it with flowspec alone"),
    ([*CSV, "--dirction", "upload"], '--dirction: no such option: did you mean "--direction"?'),
    ([*CSV, "--f"], "--f: several options begin with this: give more of it"),
    ([*CSV, "-x"], "-x: no such option"),
    ([*CSV, "--flat=yes"], "--flat=yes: no such option"),
    ([*CSV, "--timeout", "0"], "0: expected 0.1 to 86400 seconds"),
    ([*CSV, "--allow-removals=101%"], "101%: expected a share from 0% to 100%"),
    ([*CSV, "-s", "a", "-n", "b"], "-s, -n: either of them, or a group (-g) with both"),
    (["flowspec", "x"], "x: expected nothing after flowspec"),
    (["flowspec", "--allow-removals"],
     "flowspec: expected no option but --prefix, --family and --keep"),
    (["flowspec", "--flat"], "flowspec: expected no option but --prefix, --family and --keep"),
    (["flowspec", "--family", "ipv5"], "ipv5: expected --family ipv4 or ipv6"),
)


def announce(number, verb="announce", peer="127.0.0.1"):
    """Returns a line of ExaBGP with a rule for an address."""
    rule = {"destination-ipv4": [f"192.0.2.{number}/32"], "string": f"flow {number}"}
    update = {"attribute": {"extended-community": [{"string": "rate-limit:125000"}]},
              verb: {"ipv4 flow": {"x": [rule]}}}
    return json.dumps({"neighbor": {"address": {"peer": peer}, "message": {
        "update": update}}}).encode() + b"\n"


class Program(Test):
    """A test with a folder for sockets and files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-import-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        """Returns a path in the folder."""
        return os.path.join(self.folder, name)

    def limiter(self, name="box", **more):
        """Starts a limiter that ends with the test."""
        limiter = FakeLimiter(self.path(name + ".sock"), **more)
        self.addCleanup(lambda: os.path.exists(limiter.path) and limiter.close())
        return limiter

    def run_with(self, *words, text=LIST, status=0, **more):
        """Runs the program to its end; returns both of its outputs."""
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False,
                              input=text, timeout=PATIENCE_S, **more)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout, done.stderr

    def wait_until(self, condition, words):
        """Waits for a condition."""
        until = time.monotonic() + PATIENCE_S
        while not condition():
            self.assertLess(time.monotonic(), until, words() if callable(words) else words)
            time.sleep(0.01)


class CommandLine(Program):
    """Words and options."""

    def test_wrong_usage(self):
        """Each mistake is reported with the usage, and the status is 2."""
        for words, wanted in WRONG_USAGE:
            with self.subTest(words=words):
                out, err = self.run_with(*words, status=2)
                self.assertEqual(out, "")
                self.assertIn(f"weir-import: {wanted}", err)
                self.assertIn("Usage: weir-import [OPTIONS] csv FILE | flowspec\n", err)

    def test_forms(self):
        """Options can be shortened, joined with their values, and at any place."""
        limiter = self.limiter()
        for words in (["-s" + limiter.path, *CSV], [*CSV, "--sock=" + limiter.path],
                      ["--js", *CSV, "-s", limiter.path], [
                          "--dir", "download", "--pref=p-", "--socket", limiter.path, "csv", "--",
                          "-"]):
            out, _ = self.run_with(*words)
            self.assertIn("p-", out)
        self.assertEqual(len(limiter.changes), 1)

    def test_help(self):
        """Help and version."""
        out, _ = self.run_with("--help")
        self.assertIn("--allow-removals[=SHARE]", out)
        for words in (["csv", "-h"], ["-hs/x", "csv"]):
            self.assertEqual(self.run_with(*words)[0], out)
        self.assertEqual(self.run_with("--version")[0], f"weir-import {VERSION}\n")


class Moved(Program):
    """The command `weirctl import` of earlier releases."""

    def call(self, *words, path):
        """Calls weirctl with this PATH."""
        return subprocess.run([WEIRCTL, *words], input=LIST, capture_output=True, text=True,
                              check=False, env={**os.environ, "PATH": path}, timeout=PATIENCE_S)

    def test_moved(self):
        """`weirctl import` reports and runs the program, with options before and after it."""
        limiter = self.limiter()
        path = os.pathsep.join((os.path.dirname(PROGRAM), os.environ["PATH"]))
        for words in (["-s", limiter.path, "import", *CSV], ["import", *CSV, "-s", limiter.path],
                      ["--timeout", "9", "-s" + limiter.path, "import", "--flat", *CSV]):
            done = self.call(*words, path=path)
            self.assertEqual((done.returncode, done.stderr), (
                0, "weirctl: import: the program weir-import replaces this command\n"))
            self.assertIn("prefix     p-\n", done.stdout)
        done = self.call("import", path=path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("weir-import: nothing: expected csv FILE, or flowspec", done.stderr)

    def test_absent(self):
        """Without the program, the status is that of wrong usage."""
        alone = shutil.copy(WEIRCTL, self.folder)
        done = subprocess.run([alone, "import", *CSV], capture_output=True, text=True, check=False,
                              env={"PATH": self.folder}, timeout=PATIENCE_S)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(": install the package weir-import\n", done.stderr)

    def test_other_words(self):
        """The word `import` has another meaning after a command or an option."""
        limiter = self.limiter()
        for words in (["-s", "import", "status"], ["-s", limiter.path, "policy", "import"]):
            self.assertNotIn("weir-import", self.call(*words, path=self.folder).stderr)


class Lists(Program):
    """A list for a limiter."""

    def test_changed_once(self):
        """A list is one change. The same list again changes nothing."""
        limiter = self.limiter(policies=[{"name": "own", "limit": "1Mbit/s"}])
        out, _ = self.run_with("-s", limiter.path, *CSV)
        self.assertEqual(out, "prefix     p-\nadded      2\nremoved    0\nchanged    0\n"
                              "unchanged  0\n")
        self.assertEqual(limiter.names(), ["own", "p-1", "p-2"])
        out, _ = self.run_with("-s", limiter.path, *CSV, "--json")
        self.assertEqual(json.loads(out)["import"], {
            "prefix": "p-", "added": 0, "removed": 0, "changed": 0, "unchanged": 2, "left_out": 0})
        self.assertEqual(len(limiter.changes), 1)

    def test_long_list(self):
        """Edits longer than a request are sent as a descriptor."""
        limiter = self.limiter()
        self.run_with("-s", limiter.path, *CSV, text="name,addresses,limit\n" + "".join(
            f"{i},10.0.{i // 256}.{i % 256},1Mbit/s\n" for i in range(3000)))
        self.assertEqual(len(limiter.policies), 3000)
        self.assertEqual(len(limiter.changes), 1)

    def test_several(self):
        """Each limiter receives the list. An absent limiter does not prevent this."""
        limiters = [self.limiter(name) for name in "ab"]
        members = [{"name": name, "socket": self.path(name + ".sock")} for name in "abc"]
        with open(self.path("group.json"), "w", encoding="utf-8") as out:
            json.dump(members, out)
        out, err = self.run_with("-g", self.path("group.json"), *CSV, status=1)
        self.assertIn("a  added      2\n", out)
        self.assertIn("b  added      2\n", out)
        self.assertEqual(err, f"weir-import: {self.path('c.sock')}: no such socket: is weir "
                              "running? -s names one elsewhere\n")
        self.assertTrue(all(limiter.names() == ["p-1", "p-2"] for limiter in limiters))
        out, _ = self.run_with("-g", self.path("group.json"), "--json", *CSV, status=1)
        self.assertEqual([*json.loads(out)], ["a", "b", "c"])
        for text, wanted in (("[]", "expected a list such as"), ("[7", ":1: "),
                             ('[{"name":"a","name":"b"}]', '"name" occurs twice'),
                             (json.dumps(members + members[:1]), "is named twice")):
            with open(self.path("group.json"), "w", encoding="utf-8") as out:
                out.write(text)
            _, err = self.run_with("-g", self.path("group.json"), *CSV, status=1)
            self.assertIn(wanted, err)

    def test_refused(self):
        """A refusal is reported with the line of the list, and stdout is empty."""
        limiter = self.limiter(refuse=lambda edits: [
            'edits[1]: policy "p-2".match: same match as "own"', "another\x1b[2J"])
        out, err = self.run_with("-s", limiter.path, *CSV, status=1)
        self.assertEqual(out, "")
        self.assertEqual(err, 'standard input:3: policy "p-2".match: same match as "own"\n'
                              "another\\u001b[2J\nweir-import: the limiter rejected the change; "
                              "nothing has changed\n")
        limiter.answers = {"/weir/policy_change": [{"denied": True, "needs": "weir-operators"}]}
        _, err = self.run_with("-s", limiter.path, *CSV, status=1)
        self.assertEqual(err, "weir-import: not permitted: this needs weir-operators\n")
        limiter.answers = {"/weir/running": [None]}
        _, err = self.run_with("-s", limiter.path, *CSV, status=1)
        self.assertIn("weir keeps no configuration there: start it with --state", err)

    def test_other_changes(self):
        """Waits for another change, and reads the policies again if a change hides the outcome."""
        limiter = self.limiter()
        limiter.answers = {
            "/weir/policy_change": [{"busy": True}, {"busy": True}, {"started": 5}],
            "/weir/change": [{"last": {"serial": 4}}, {"last": {"serial": 9}},
                             {"last": {"serial": 9}}]}
        self.run_with("-s", limiter.path, *CSV)
        self.assertEqual(limiter.requests.count("/weir/running"), 2)
        self.assertEqual(limiter.names(), ["p-1", "p-2"])

    def test_removals(self):
        """A truncated list is refused, unless the option allows as many removals."""
        policies = [{"name": f"p-{i}", "limit": "1Mbit/s", "match": {"dst": f"192.0.2.{i}/32"}}
                    for i in range(1, 11)]
        for count, options, good in ((9, [], True), (8, [], False), (0, [], False),
                                     (8, ["--allow-removals=20%"], True),
                                     (7, ["--allow-removals=20%"], False),
                                     (0, ["--allow-removals=99%"], False),
                                     (0, ["--allow-removals"], True)):
            with self.subTest(count=count, options=options):
                limiter = self.limiter(policies=policies)
                text = "name,addresses,limit\n" + "".join(
                    f"{i},192.0.2.{i},1Mbit/s\n" for i in range(1, count + 1))
                self.run_with("-s", limiter.path, *CSV, *options, text=text, status=not good)
                self.assertEqual(len(limiter.policies), count if good else 10)
                limiter.close()

    def test_sockets(self):
        """Sockets without a limiter are reported with the remedy."""
        path = self.path("x.sock")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
            server.bind(path)
            server.listen(1)
            _, err = self.run_with("-s", path, "--timeout", "0.2", *CSV, status=1)
            self.assertIn("no answer: is the process stopped?", err)
        _, err = self.run_with("-s", path, *CSV, status=1)
        self.assertIn("weir has ended and left its socket behind; start it again", err)
        _, err = self.run_with("-s", self.path("x" * 200), *CSV, status=1)
        self.assertIn("File name too long", err)
        for greeting in (b"x", b"{}", b'{"max_output_len":1e99}'):
            limiter = self.limiter("odd")
            limiter.reply = lambda connection, *_, text=greeting: connection.send(text)
            _, err = self.run_with("-s", limiter.path, *CSV, status=1)
            self.assertIn("does not use DPDK's telemetry protocol", err)
            limiter.close()

    def test_files(self):
        """Files that cannot be read, and outputs that cannot be written, are reported."""
        _, err = self.run_with("csv", self.path("none"), *CSV[2:], status=1)
        self.assertEqual(err, f"weir-import: {self.path('none')}: No such file or directory\n")
        for text, wanted in (("{", ":1: "), ('{"a":1,"a":2}', '"a" occurs twice'),
                             ("7", "expected")):
            with open(self.path("network.json"), "w", encoding="utf-8") as out:
                out.write(text)
            _, err = self.run_with(*CSV, "--network", self.path("network.json"), status=1)
            self.assertIn(wanted, err)
        limiter = self.limiter()
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAM, "-s", limiter.path, *CSV], input=LIST, text=True,
                                  stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (1, "weir-import: standard output: No space left on device\n"))

    def test_interrupted(self):
        """After Ctrl-C or a closed pipe the program ends without a message."""
        with subprocess.Popen([PROGRAM, *CSV], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
                self.wait_until(lambda: self.reads_input(process.pid), status.read)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(PATIENCE_S), -signal.SIGINT)
            self.assertEqual(process.stderr.read(), "")

    @staticmethod
    def reads_input(pid):
        """Returns true if the process waits for standard input."""
        with open(f"/proc/{pid}/wchan", encoding="ascii") as place:
            return "pipe" in place.read()


class Follower(Program):
    """A BGP speaker on standard input."""

    def follow(self, *words):
        """Starts the program with a pipe as the speaker."""
        with open(self.path("messages"), "wb") as err:
            process = subprocess.Popen([PROGRAM, *words, "flowspec"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=err, bufsize=0)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def ends(self, process, status=0):
        """Ends standard input; returns the text on standard error."""
        out, _ = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((process.returncode, out), (status, b""), self.messages())
        self.assertNotIn("Traceback", self.messages())
        return self.messages()

    def messages(self):
        """Returns the messages so far."""
        with open(self.path("messages"), encoding="utf-8") as err:
            return err.read()

    def has(self, limiter, count):
        """Waits until a limiter has this many rules."""
        self.wait_until(lambda: len(limiter.names()) == count, limiter.names)

    def test_comes_and_goes(self):
        """Rules are in force until they are withdrawn or the speaker ends."""
        limiter = self.limiter()
        process = self.follow("-s", limiter.path)
        process.stdin.write(announce(1) + announce(2))
        self.has(limiter, 2)
        process.stdin.write(announce(1, "withdraw") + b"no line\n" + announce(3)[:20])
        self.has(limiter, 1)
        self.assertEqual(limiter.policies[0]["note"], [words_of({"string": "flow 2"}),
                                                       "of 127.0.0.1"])
        err = self.ends(process)
        self.assertIn("not a line of ExaBGP's JSON, or of GoBGP's: \"no line\"", err)
        self.assertEqual(limiter.names(), [])

    def test_signals(self):
        """A signal has the same effect as the end of the speaker. With --keep rules stay."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for options, left in (((), 0), (("--keep",), 1)):
                limiter = self.limiter()
                process = self.follow("-s", limiter.path, *options)
                process.stdin.write(announce(1))
                self.has(limiter, 1)
                process.send_signal(number)
                process.wait(PATIENCE_S)
                self.ends(process)
                self.assertEqual(len(limiter.policies), left)
                limiter.close()

    def test_restarts(self):
        """A limiter that was absent, ended or lost policies gets them again as soon as possible."""
        process = self.follow("-s", self.path("box.sock"))
        process.stdin.write(announce(1))
        self.wait_until(lambda: "no such socket" in self.messages(), self.messages)
        limiter = self.limiter()
        self.has(limiter, 1)
        self.wait_until(lambda: self.messages().count("it is there again") == 1, self.messages)
        limiter.close()
        process.stdin.write(announce(2))
        self.wait_until(lambda: self.messages().count("it is tried again") > 1, self.messages)
        limiter = self.limiter()
        self.has(limiter, 2)
        self.wait_until(lambda: self.messages().count("it is there again") == 2, self.messages)
        with limiter.lock:
            del limiter.policies[0]
            limiter.serial += 1
        self.has(limiter, 2)
        limiter.close()
        err = self.ends(process, 1)
        self.assertIn("no such socket: is weir running?", err)
        self.assertEqual(err.count("it is there again"), 2)
        self.assertIn("box.sock: its rules are left there", err)

    def test_hangs(self):
        """A limiter that hangs does not delay the others."""
        hung, other = self.limiter("hung"), self.limiter("other")
        with hung.lock:
            process = self.follow("-s", hung.path, "-s", other.path, "--timeout", "30")
            process.stdin.write(announce(1))
            self.has(other, 1)
        self.has(hung, 1)
        self.ends(process)
        self.assertEqual(hung.names() + other.names(), [])

    def test_refused(self):
        """A rule that a limiter rejects does not prevent others, and is reported once."""
        limiter = self.limiter(refuse=lambda edits: [
            f'policy "{edit["name"]}": no' for edit in edits if "192.0.2.3_" in edit["name"]
            and edit["do"] == "add"] or None)
        process = self.follow("-s", limiter.path)
        process.stdin.write(b"".join(map(announce, range(8))))
        self.has(limiter, 7)
        self.assertLess(limiter.requests.count("/weir/running"), 3)  # halves, in one attempt
        process.stdin.write(announce(9))
        self.has(limiter, 8)
        self.assertEqual(self.ends(process).count("refuses flowspec-192.0.2.3_32-"), 1)

    def test_no_room(self):
        """Rules without room wait. Withdrawals make room immediately."""
        limiter = self.limiter()

        def refuse(edits):
            more = sum(edit["do"] == "add" for edit in edits) - \
                sum(edit["do"] == "remove" for edit in edits)
            return ["policies: there is room for 5"] if len(limiter.policies) + more > 5 else None
        limiter.refuse = refuse
        process = self.follow("-s", limiter.path)
        process.stdin.write(b"".join(map(announce, range(8))))
        self.has(limiter, 5)
        process.stdin.write(b"".join(announce(n, "withdraw") for n in range(4)))
        self.wait_until(lambda: len(limiter.policies) == 4 and "192.0.2.7_" in str(limiter.names()),
                        limiter.names)
        err = self.ends(process)
        self.assertRegex(  # some rules can arrive later
            err, r"of \d rules are not in force: policies: there is room for 5; it is")
        self.assertIn("all rules are in force", err)

    def test_previous(self):
        """Rules of a killed process stay until their peers withdraw them."""
        limiter = self.limiter()
        process = self.follow("-s", limiter.path)
        process.stdin.write(announce(1) + announce(2, peer="127.0.0.9"))
        self.has(limiter, 2)
        process.kill()
        process.wait()
        process = self.follow("-s", limiter.path)
        process.stdin.write(announce(3))
        self.has(limiter, 3)
        process.stdin.write(announce(2, "withdraw", "127.0.0.9"))
        self.has(limiter, 2)
        err = self.ends(process)
        self.assertRegex(err, "rules of before: 2; each stays until its peer withdraws it")
        self.assertEqual(limiter.names(), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

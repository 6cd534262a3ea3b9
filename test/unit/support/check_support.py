#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The program weir-support with limiters that run, are stopped or have ended, and with signals.

Usage: check_support.py WEIR WEIRCTL WEIR_SUPPORT
"""

import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "app" / "support"))

from weir_support import redact  # noqa: E402

WEIR, WEIRCTL, SUPPORT = map(os.path.abspath, sys.argv[1:4])
PATIENCE_S = 60
KEY = "5a" * 32
SECRETS = (KEY, KEY.upper(), "hunter-of-ducks", "sw0rdfish", "sparrow!", "incl-secret", "pa55wd")
NET = f"127.{1 + os.getpid() // 256 % 254}.{os.getpid() % 256}"


class Limiter:
    """A limiter with two rings, a configuration that contains secrets, and files of secrets."""

    def __init__(self, folder):
        self.folder = folder
        self.socket = os.path.join(folder, "edge.sock")
        self.config = os.path.join(folder, "edge.json")
        for name, text in (("gossip.key", KEY + "\n"), ("word", "hunter-of-ducks\n"),
                           ("policies.json", '// incl-secret, see "password_file": "more"\n'
                            '{"policies": [{"name": "p", "match": {"vlan": 1}, '
                            '"limit": "1Mbit/s"}]}\n'), ("more", "incl-secret")):
            path = pathlib.Path(folder, name)
            path.write_text(text, encoding="ascii")
            path.chmod(0o600)
        config = {
            "limiter": "edge", "workers": [0], "idle": "sleep", "include": "policies.json",
            "eal": ["--no-huge", "-m", "192", "--no-shconf", "--no-pci"],
            "ports": {"lan": {"device": "net_ring0"}, "wan": {"device": "net_ring1"}},
            "wires": [{"name": "egress", "a": "lan", "b": "wan"}],
            "gossip": {"listen": f"{NET}.82:7946", "key_file": "gossip.key",
                       "roster": [{"name": "edge", "address": f"{NET}.82:7946"}]},
            "control": {"socket": self.socket}, "policies": []}
        pathlib.Path(self.config).write_text(
            f'// {KEY.upper()} // "password": "sparrow!"\n// "password_file": "word"\n'
            f'// hunter-of-ducks, http://ops:sw0rdfish@etcd:2379/ "token": ["pa55wd"]\n'
            + json.dumps(config), encoding="ascii")
        self.process = subprocess.Popen(
            [WEIR, "-c", "edge.json"], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE_S
        while subprocess.run([WEIRCTL, "-s", self.socket, "config"], capture_output=True,
                             check=False).returncode:
            if time.monotonic() > until or self.process.poll() is not None:
                raise AssertionError("weir does not start")
            time.sleep(0.05)

    def end(self):
        """Ends the process if it runs."""
        self.process.kill()
        self.process.wait()


class Support(unittest.TestCase):
    """All tests share one limiter. The last one ends it."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="weir-support-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.limiter = Limiter(folder.name)
        cls.addClassCleanup(cls.limiter.end)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-archive-")
        self.addCleanup(folder.cleanup)
        self.output = os.path.join(folder.name, "a.tar.gz")

    def run_with(self, *words, status=0, program=WEIRCTL, **more):
        """Runs weirctl or another program to its end. Returns both of its outputs."""
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False,
                              timeout=PATIENCE_S, **more)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout, done.stderr

    def archive(self, *words, **more):
        """Makes an archive of the limiter and returns its parts."""
        out, err = self.run_with("-s", self.limiter.socket, *words, "support", "-o", self.output,
                                 **more)
        self.assertIn(self.output, out)
        self.assertEqual(os.stat(self.output).st_mode & 0o7777, 0o600)
        self.assertEqual(os.listdir(os.path.dirname(self.output)), ["a.tar.gz"])
        with tarfile.open(self.output) as archive:
            parts = {os.path.basename(each.name): archive.extractfile(each).read()
                     for each in archive if each.isfile()}
        os.unlink(self.output)
        return parts, out, err

    def test_parts(self):
        """The archive contains all parts and no secret."""
        parts, out, _ = self.archive("--json")
        commands = json.loads(self.run_with("help", "--json")[0])
        asked = [row["command"] for row in commands if row["only_reads"]]
        self.assertGreater(len(asked), 15)
        absent = {part["part"] for part in json.loads(out)["parts"] if not part["there"]}
        for command in asked:
            name = f"edge-{command}."
            if name + "json" not in absent:
                json.loads(parts[name + "json"])
                self.assertIn(name + "txt", parts)
        self.assertLessEqual(absent, {"edge-tree.json", "edge-etcd.json", "edge-history.json",
                                      "edge-log.txt", "kernel_log.txt", "addresses.txt",
                                      "interfaces.txt"})
        self.assertIn("/weir/health", json.loads(parts["edge-telemetry.json"]))
        self.assertIn(b"weirctl ", parts["versions.txt"])
        configs = [text for name, text in parts.items() if name.startswith("config")]
        self.assertEqual(len(configs), 2, list(parts))
        self.assertIn(b'"key_file": "gossip.key"', b"".join(configs))
        for name, text in parts.items():
            for secret in SECRETS:
                self.assertNotIn(secret.encode(), text, name)

    def test_key_table(self):
        """Each key that the table marks as a file of secrets is also found without the table."""
        out, _ = self.run_with("--keys", program=WEIR)
        rows = [json.loads(line) for line in out.splitlines()]
        marked = [row["path"].rpartition(".")[2] for row in rows if row.get("secret")]
        self.assertEqual(len(marked), 5)
        for key in marked:
            self.assertEqual(redact.secret_files(f'{{"{key}": "/x"}}'.encode()), [b"/x"])
        for row in rows:
            key = row["path"].rpartition(".")[2].encode()
            if row["type"] in ("text", "paths") and redact.FILE_NAME.search(key):
                self.assertTrue(row.get("secret"), row["path"])

    def test_refused(self):
        """Existing archives are not overwritten, and a failure leaves no file."""
        pathlib.Path(self.output).touch()
        _, err = self.run_with("-s", self.limiter.socket, "support", "-o", self.output, status=1)
        self.assertIn("File exists", err)
        os.unlink(self.output)
        _, err = self.run_with("-s", self.limiter.socket, "support", "-o",
                               self.output + "/no/where", status=1)
        self.assertIn("No such file", err)
        _, err = self.run_with("-s", self.limiter.socket, "support", "-o", self.output, status=1,
                               preexec_fn=lambda: resource.setrlimit(
                                   resource.RLIMIT_FSIZE, (2048, 2048)))
        self.assertEqual(err, f"weir-support: {self.output}: File too large\n")
        self.assertEqual(os.listdir(os.path.dirname(self.output)), [])

    def test_signals(self):
        """A signal while the archive is written leaves no file."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for wait in (0, 0.3, 0.8):
                process = subprocess.Popen(
                    [WEIRCTL, "-s", self.limiter.socket, "support", "-o", self.output],
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                while not os.listdir(os.path.dirname(self.output)) and process.poll() is None:
                    time.sleep(0.001)
                time.sleep(wait)
                process.send_signal(number)
                _, err = process.communicate(timeout=PATIENCE_S)
                self.assertIn(process.returncode, (-number, 0))
                self.assertEqual(process.returncode == 0, os.path.exists(self.output))
                self.assertNotIn(b"Traceback", err)
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.output)
                self.assertEqual(os.listdir(os.path.dirname(self.output)), [])

    def test_no_answer(self):
        """If a limiter is stopped or absent, the other parts are complete. Also tests several
        limiters."""
        self.limiter.process.send_signal(signal.SIGSTOP)
        try:
            parts, _, err = self.archive("--timeout", "0.2")
        finally:
            self.limiter.process.send_signal(signal.SIGCONT)
        self.assertIn("without edge-*.json: " + self.limiter.socket + ": no answer", err)
        self.assertIn("kernel.txt", parts)
        parts, _, err = self.archive("-s", os.path.join(self.folder, "none.sock"))
        self.assertIn("edge-status.json", parts)
        self.assertIn("without none-*.json: " + self.folder + "/none.sock: no such socket", err)

    def test_words(self):
        """weirctl passes its words to the program, which also accepts them directly."""
        for words in (["--js", "sup", "--out"], ["support", "--json", "-o"]):
            out, _ = self.run_with("-s", self.limiter.socket, *words, self.output)
            self.assertEqual(json.loads(out)["file"], self.output)
            os.unlink(self.output)
        group = os.path.join(self.folder, "group")
        pathlib.Path(group).write_text(json.dumps(
            [{"name": "a", "socket": self.limiter.socket}]), encoding="ascii")
        out, _ = self.run_with("-g", group, "--output=" + self.output, program=SUPPORT)
        with tarfile.open(self.output) as archive:
            self.assertIn("a-status.json", map(os.path.basename, archive.getnames()))
        for words, wanted in ((["--outptu"], '--outptu: no such option: did you mean "--output"'),
                              (["x"], "x: unexpected word"), (["-o"], "-o: expected a value"),
                              (["--timeout", "0"], "0: expected 0.1 to 86400 seconds"),
                              (["-s", "a", "-n", "b"], "-s, -n: either of them")):
            _, err = self.run_with(*words, program=SUPPORT, status=2)
            self.assertIn(wanted, err)
        self.assertIn("--output FILE", self.run_with("--help", program=SUPPORT)[0])

    def test_no_program(self):
        """Without the program or without Python, weirctl names the package to install."""
        alone = shutil.copy(WEIRCTL, os.path.dirname(self.output))
        _, err = self.run_with("-s", "x", "support", program=alone, status=2, env={"PATH": "/none"})
        self.assertIn("install the package weir-support", err)
        program = pathlib.Path(alone).with_name("weir-support")
        program.write_text("#!/no/python3\n", encoding="ascii")
        program.chmod(0o755)
        _, err = self.run_with("-s", "x", "support", program=alone, status=2)
        self.assertIn("install the package python3", err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Random wrong invocations of weirctl: each refusal has a place, a problem and an action.

A generator makes a mistake and gives the word that is wrong. The test then runs weirctl against a
limiter and checks the exit status and standard error:

- it contains the wrong word, and the line of the user's file if there is one;
- it names no file, list or index that the user has not written, and no command of the socket;
- no sentence of errno stands alone in place of an explanation;
- it has an action: the expected form, a suggestion, or a command to run;
- the policies stay the same.

Usage: refusals.py [--seed N] [--runs N] [SCENARIO...]
"""

import dataclasses
import errno
import json
import os
import random
import re
import subprocess
import sys

import jsonschema

import box
from box import expect, wait_until

CTL = os.path.join(box.BUILD, "app", "weirctl", "weirctl")
IMPORT = os.path.join(box.BUILD, "app", "import", "weir-import")
RINGS = box.wire("net_ring0", "net_ring1")
SEEDS = (1, 2, 3)  # default seeds
RUNS = 300 if box.LONG else 100  # mistakes per seed
SCHEMA = os.path.join(box.ROOT, "config", "weir.schema.json")

# A file with this line number at the start of a message, and the texts that no message has.
PLACE = re.compile(r"^(?:weirctl: )?([^\s:]+):(\d+):", re.M)
SOCKET_COMMAND = re.compile(r"/weir/\w+")
INDEX = re.compile(r"\b(?:edits|policies)\[\d+\]")
ERRNO = [os.strerror(number) for number in (
    errno.ENOENT, errno.EINVAL, errno.EBADMSG, errno.ENODATA, errno.ESRCH, errno.EEXIST,
    errno.ENOSYS, errno.ERANGE, errno.EDOM, errno.ENOTSUP, errno.EBUSY, errno.EAGAIN)]
ACTION = re.compile(r"expected |did you mean |see \"?weirctl|\"?weirctl [a-z]+\"? |Usage: weirctl|"
                    r": (?:use|remove|restart|set|give|write|name|try|join) |is the path right|"
                    r"\b(?:needs|requires) ")

JUNK = (5, -1, 2.5, True, [], {}, "x", "10Mbit", "1 apple", "", {"colour": 7}, ["x", 3],
        "10.0.0.1/8", "300.1.2.3/32", "1h 5", 99999999999)
WORDS = ("video", "voice", "guests", "backup", "campus", "lab", "uplink", "games", "mail", "cdn")


def options():
    """The values of --seed and --runs, which are removed from the arguments."""
    found = {"--seed": None, "--runs": None}
    for name in found:
        if name in sys.argv:
            at = sys.argv.index(name)
            found[name] = int(sys.argv[at + 1])
            del sys.argv[at:at + 2]
    seed, runs = found.values()
    return (SEEDS if seed is None else (seed,)), runs or RUNS


@dataclasses.dataclass
class Mistake:
    """An invocation that must fail."""
    words: list  # after the program
    wrong: tuple  # texts that the message must contain
    text: str = ""  # standard input
    line: str = ""  # FILE:LINE, at the start of a message
    file: str = ""  # a file that does not exist: a sentence of errno and its name are enough
    lists: bool = False  # the user's own file has a list of policies
    program: str = CTL


def policies_of(rng):
    """Random policies on two levels: parents, their children, and policies without a parent."""
    names = [f"{word}-{rng.randint(1, 99)}" for word in rng.sample(WORDS, 8)]
    made = [{"name": name, "limit": f"{rng.randint(200, 900)}Mbit/s", "burst": "2MB"}
            for name in names[:2]]
    for i, name in enumerate(names[2:]):
        made.append({"name": name, "match": {"direction": "a-to-b", "dst": f"10.{i}.0.0/16"},
                     "limit": f"{rng.randint(1, 100)}Mbit/s", "burst": "1MB"})
        if i < 4:
            made[-1]["parent"] = names[rng.randint(0, 1) if i else 0]
    return made


def slip(rng, word):
    """The word with one letter changed, or a word that is near nothing."""
    if rng.random() < 0.3:
        return f"zz{rng.randint(10, 99)}qq"
    at = rng.randrange(len(word))
    return word[:at] + rng.choice("jqxz") + word[at + 1:]


def value_text(value):
    """A value as an operator types it after KEY=."""
    return value if isinstance(value, str) else json.dumps(value)


def found_text(value):
    """The part of a wrong value that its message must repeat."""
    if isinstance(value, dict):  # the message can be about a missing member
        return ""
    if isinstance(value, list):
        return "array" if not value else ""
    return json.dumps(value)


class Maker:
    """Makes mistakes about the policies of one limiter."""

    def __init__(self, rng, scene, policies):
        self.rng = rng
        self.scene = scene
        self.policies = policies
        self.names = [policy["name"] for policy in policies]
        self.files = 0
        with open(SCHEMA, encoding="utf-8") as file:
            self.schema = json.load(file)
        definitions = self.schema["definitions"]
        self.keys = {key: rule for key, rule in definitions["policy"]["properties"].items()
                     if key not in ("name", "note")}

    def name(self):
        """A policy that exists."""
        return self.rng.choice(self.names)

    def no_name(self):
        """A policy that does not exist."""
        while True:
            name = slip(self.rng, self.name())
            if name not in self.names:
                return name

    def is_good(self, key, value):
        """True if the schema accepts the value."""
        rule = {"definitions": self.schema["definitions"], "allOf": [self.keys[key]]}
        return jsonschema.Draft7Validator(rule).is_valid(value)

    def wrong_key(self):
        """A key and a value that the schema rejects."""
        while True:
            key, value = self.rng.choice(sorted(self.keys)), self.rng.choice(JUNK)
            if not self.is_good(key, value):
                return key, value

    def write(self, name, text):
        """A new file; returns its path."""
        self.files += 1
        path = self.scene.path(f"{self.files}-{name}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def wrong_edit(self):
        """One wrong edit, as an object, with the texts that its message must contain."""
        name, other = self.name(), self.no_name()
        kind = self.rng.randrange(7)
        if kind == 6:
            one, two = self.rng.sample([one for one in self.policies if "match" in one], 2)
            return ({"do": "set", "name": one["name"],
                     "keys": {"match.dst": two["match"]["dst"]}},
                    (f'policy "{one["name"]}": ', "match", two["name"]))
        if kind == 0:
            return {"do": "set", "name": other, "keys": {"limit": "5Mbit/s"}}, (other,)
        if kind == 1:
            return {"do": "remove", "name": other}, (other,)
        if kind == 2:
            return {"do": "add", "name": name, "keys": {"limit": "5Mbit/s"}}, (name,)
        if kind == 3:
            key = slip(self.rng, self.rng.choice(sorted(self.keys)))
            return {"do": "set", "name": name, "keys": {key: "5"}}, (name, key)
        if kind == 4:
            parent = next(policy["parent"] for policy in self.policies if "parent" in policy)
            children = [policy["name"] for policy in self.policies
                        if policy.get("parent") == parent]
            return {"do": "remove", "name": parent}, (parent, "parent of", "remove", *children[:3])
        key, value = self.wrong_key()
        return {"do": "set", "name": name, "keys": {key: value}}, (name, key, found_text(value))

    # --- changes of policies -----------------------------------------------------------------

    def one_edit(self):
        """`weirctl policy add|set|remove`."""
        edit, wrong = self.wrong_edit()
        words = [f"{key}={value_text(value)}" for key, value in edit.get("keys", {}).items()]
        return Mistake(["policy", edit["do"], edit["name"], *words], wrong)

    def edits_in_file(self):
        """`weirctl policy apply FILE`: one wrong edit among good ones."""
        edit, wrong = self.wrong_edit()
        good = [{"do": "set", "name": name, "keys": {"burst": f"{self.rng.randint(2, 4)}MB"}}
                for name in self.rng.sample(self.names, self.rng.randint(0, 5))
                if name not in (edit["name"], *wrong)]
        at = self.rng.randint(0, len(good))
        edits = good[:at] + [edit] + good[at:]
        form = self.rng.randrange(4)
        if form == 0:
            text, line = "".join(json.dumps(one) + "\n" for one in edits), at + 1
        elif form == 1:
            text = "// changes\n[\n" + ",\n".join(json.dumps(one) for one in edits) + "\n]\n"
            line = at + 3
        elif form == 2:
            text, line = json.dumps(edits), 1
        else:
            text = "".join(json.dumps(one, indent=1) + "\n\n" for one in edits)
            line = 1 + sum(json.dumps(one, indent=1).count("\n") + 2 for one in edits[:at])
        if self.rng.random() < 0.2:
            return Mistake(["policy", "apply", "-"], wrong, text=text, line=f"<stdin>:{line}")
        path = self.write("edits.json", text)
        return Mistake(["policy", "apply", path], wrong, line=f"{path}:{line}")

    def words_of_policy(self):
        """Missing, unknown and superfluous words of `weirctl policy`."""
        name, word = self.name(), slip(self.rng, "remove")
        return self.rng.choice([
            Mistake(["policy", "set", name], (name, "KEY=VALUE")),
            Mistake(["policy", "set", name, "limit"], ("limit", "KEY=VALUE")),
            Mistake(["policy", "set", name, "limit=5Mbit/s", "limit=6Mbit/s"], ("limit=6Mbit/s",)),
            Mistake(["policy", "set", name, "name=x"], ("name=x",)),
            Mistake(["policy", "set", name, "limit.x=5"], (name, "limit.x")),
            Mistake(["policy", "remove", name, word], (word,)),
            Mistake(["policy", word, name], (word,)),
            Mistake(["policy", self.no_name()], ()),
            Mistake(["policy"], ("POLICY",)),
            Mistake(["policy", "apply", self.scene.path("none")], (self.scene.path("none"),),
                    file=self.scene.path("none")),
            Mistake(["policy", "apply", "-", word], (word,))])

    def rollback(self):
        """A number that is not kept, or no number."""
        number, word = str(self.rng.randint(1000, 9999)), slip(self.rng, "before")
        return self.rng.choice([Mistake(["rollback", number], (number, "weirctl history")),
                                Mistake(["rollback", word], (word,)),
                                Mistake(["confirm"], ("confirm",))])

    def whole_file(self):
        """`weirctl apply` and `diff` of a file that is missing or wrong."""
        gone, name = self.scene.path("gone.json"), self.name()
        verb = self.rng.choice(["apply", "diff"])
        config = json.loads(json.dumps(self.scene.boxes[0].config))
        kind = self.rng.randrange(4)
        if kind == 0:
            return Mistake([verb, gone], (gone,), file=gone)
        if kind == 1:
            config["limiter"] = "other"
            path = self.write("c.json", json.dumps(config))
            return Mistake(["apply", path], (f"{path}: limiter: ",), lists=True)
        if kind == 2:
            next(one for one in config["policies"] if one["name"] == name)["limit"] = 5
            path = self.write("c.json", json.dumps(config))
            return Mistake([verb, path], (name, "limit", "5"), line=f"{path}:1", lists=True)
        path = self.write("c.json", json.dumps(config)[:-3])
        return Mistake([verb, path], (path,), line=f"{path}:1", lists=True)

    # --- questions ---------------------------------------------------------------------------

    def explain(self):
        """Words that are missing or wrong after `weirctl explain`."""
        good = ["192.0.2.7", "10.1.2.3", "udp", "53", "5353"]
        names = ["SRC", "DST", "PROTO"]
        n = self.rng.randint(0, 2)
        word = self.rng.choice(["10.1.2", "300.1.1.1", "x", "99999"])
        at = self.rng.randint(0, 4)
        flag = f"{self.rng.choice(['vlan', 'dscp', 'flags', 'worker', 'length'])}=z9"
        wire = f"wire={slip(self.rng, 'west')}"
        return self.rng.choice([
            Mistake(["explain", *good[:n]], (names[n], *good[n - 1:n])),
            Mistake(["explain", *good[:at], word, *good[at + 1:]], (word,)),
            Mistake(["explain", *good, "7"], ("7",)),
            Mistake(["explain", *good, flag], ("z9",)),
            Mistake(["explain", *good, wire], (wire[5:],)),
            Mistake(["explain", *good, "hops=7"], ("hops=7",)),
            Mistake(["explain", "hex"], ("BYTES", "hex")),
            Mistake(["explain", "hex", "0g11"], ("0g11",)),
            Mistake(["explain", "pcap"], ("FILE", "pcap")),
            Mistake(["explain", "pcap", self.scene.path("none")], (self.scene.path("none"),),
                    file=self.scene.path("none"))])

    def match(self):
        """Words that are missing or wrong after `weirctl match`."""
        word = self.rng.choice(["10.1.2", "x", "10.0.0.1/8", "1.2.3.4/40"])
        key = self.rng.choice(["proto", "sport", "dport", "vlan", "dscp", "direction"])
        wire = slip(self.rng, "west")
        return self.rng.choice([
            Mistake(["match"], ("ADDRESS",)),
            Mistake(["match", word], (word,)),
            Mistake(["match", "10.1.2.3", f"{key}=z9"], (key, "z9")),
            Mistake(["match", "10.1.2.3", f"wire={wire}"], (wire,)),
            Mistake(["match", "10.1.2.3", "hops=3"], ("hops=3",))])

    def samples(self):
        """`weirctl capture` and `talkers`."""
        reason, name = slip(self.rng, "limit"), self.no_name()
        if reason in ("drop", "mark"):
            reason = "dropp"
        return self.rng.choice([
            Mistake(["capture", "--reason", reason], (reason, "weirctl drops")),
            Mistake(["capture", "--policy", name], (name,)),
            Mistake(["capture", "--count", reason], (reason,)),
            Mistake(["capture", "--seconds", reason], (reason,)),
            Mistake(["capture", "--seconds", "0"], ('"0"',)),
            Mistake(["capture", "--rate", "7000000"], ("7000000",)),
            Mistake(["capture", "--policy", "a b"], ("a b",)),
            Mistake(["talkers", name], (name,)),
            Mistake(["talkers", "--by", reason], (reason,)),
            Mistake(["talkers", "--for", reason], (reason,)),
            Mistake(["talkers", "--top", "0"], ("0",)),
            Mistake(["talkers", self.name(), "--unmatched"], ("--unmatched",))])

    def override(self):
        """Words that are missing or wrong after `weirctl override`."""
        name, other = self.name(), self.no_name()
        ends = ["for", "1h"]
        word = slip(self.rng, "limit")
        return self.rng.choice([
            Mistake(["override"], ("POLICY",)),
            Mistake(["override", name], ("limit=LIMIT", name)),
            Mistake(["override", name, "limit=5Mbit/s"], ("limit=5Mbit/s", "until")),
            Mistake(["override", name, "limit=5Mbit/s", "for"], ("for",)),
            Mistake(["override", name, "limit=5Mbit/s", "for", word], ("for", word)),
            Mistake(["override", name, "limit=5Mbit/s", "until", word], ("until", word)),
            Mistake(["override", name, "limit=5Mbit/s", word, "1h"], (word,)),
            Mistake(["override", name, f"{word}=5Mbit/s", *ends], (f"{word}=5Mbit/s",)),
            Mistake(["override", name, "limit=5Mbit/s", f"{word}=1MB", *ends], (f"{word}=1MB",)),
            Mistake(["override", name, "limit=5", *ends], (name, "limit", '"5"')),
            Mistake(["override", name, "limit=5Mbit/s", "burst=x", *ends], (name, "burst", '"x"')),
            Mistake(["override", other, "limit=5Mbit/s", *ends], (other,)),
            Mistake(["override", other, "off"], (other,)),
            Mistake(["override", name, "off"], (name,)),
            Mistake(["override", name, "off", "x"], ("x",))])

    def names_and_counts(self):
        """A name that does not exist, or a count that is none."""
        other, word = self.no_name(), slip(self.rng, "many")
        command = self.rng.choice(["policies", "rates", "trials", "top", "history"])
        kind = self.rng.choice(["placement", "ledger", "quota", "peers"])
        return self.rng.choice([
            Mistake([command, word], (word,)),
            Mistake([self.rng.choice(["policies", "top"]), "--sort", word], (word,)),
            Mistake([kind, other], (other,)),
            Mistake(["log", word], (word,)),
            Mistake(["names", word], (word,)),
            Mistake(["check", "--warning", f"{word}=1"], (word,)),
            Mistake(["check", "--critical", f"alarms={word}"], (word,))])

    def command_line(self):
        """Commands, options and words that do not exist, are missing or superfluous."""
        command = self.rng.choice(["drops", "peers", "workers", "ports", "gossip", "status"])
        word = slip(self.rng, command)
        missing = self.rng.choice([("apply", "FILE"), ("diff", "FILE"), ("watch", "COMMAND"),
                                   ("names", "policies|peers")])
        return self.rng.choice([
            Mistake([word], (word,)),
            Mistake(["help", word], (word,)),
            Mistake(["watch", word], (word,)),
            Mistake(["watch", "reload"], ("reload",)),
            Mistake([command, f"--{word}"], (f"--{word}",)),
            Mistake([command, "--timeout", word], (word,)),
            Mistake(["drops", word], (word,)),
            Mistake(["drops", "--count", "3"], ("--count",)),
            Mistake(["top", "--interval", word], (word,)),
            Mistake(["policies", "--sort"], ("--sort",)),
            Mistake([missing[0]], missing)])

    def lists(self):
        """`weir-import`."""
        gone, word = self.scene.path("gone.csv"), slip(self.rng, "download")
        text = "name,ipv4,download,upload\nbob,10.77.0.1,fast,5Mbit/s\n"
        path = self.write("list.csv", text)
        return self.rng.choice([
            Mistake(["csv", gone, "--direction", "download"], (gone,), file=gone, program=IMPORT),
            Mistake(["csv", path, "--direction", word], (word,), program=IMPORT),
            Mistake(["csv", path], ("--direction",), program=IMPORT),
            Mistake(["csv"], ("csv",), program=IMPORT),
            Mistake([word], (word,), program=IMPORT),
            Mistake(["csv", path, "--direction", "upload", "--prefix", "a b"], ("a b",),
                    program=IMPORT)])

    def any(self):
        """One mistake of a random kind; the first two kinds are more frequent."""
        makers = [self.one_edit] * 4 + [self.edits_in_file] * 3 + [
            self.words_of_policy, self.rollback, self.whole_file, self.explain, self.match,
            self.samples, self.override, self.names_and_counts, self.command_line, self.lists]
        return self.rng.choice(makers)()


def faults(mistake, done):
    """The rules that a refusal breaks, in words."""
    said = done.stderr
    if done.returncode == 0:
        return ["it succeeds"]
    found = [f"the wrong word is missing: {word}" for word in mistake.wrong if word not in said]
    if done.stdout:
        found.append("standard output is not empty")
    files = {word for word in mistake.words if os.path.sep in word} | {"<stdin>"}
    found += [f"a file that the user has not written: {file}"
              for file, _ in PLACE.findall(said) if file not in files]
    if mistake.line and f"{mistake.line}:" not in said:
        found.append(f"the place is missing: {mistake.line}")
    if SOCKET_COMMAND.search(said):
        found.append("a command of the socket")
    if INDEX.search(said) and not mistake.lists:
        found.append("an index that the user has not written")
    for line in said.splitlines():
        if any(text in line for text in ERRNO) and not (mistake.file and mistake.file in line):
            found.append(f"a sentence of errno: {line}")
    if not mistake.file and not ACTION.search(said):
        found.append("no action")
    return found


def run_ctl(weir, words, text="", program=CTL):
    """Runs weirctl, or another program, against the limiter."""
    return subprocess.run([program, "-s", weir.socket, *words], capture_output=True, text=True,
                          input=text, check=False, timeout=box.PATIENCE_S)


def idle(weir):
    """Waits until no change is under way; returns /weir/change."""
    def settled():
        now = weir.get("/weir/change")
        return now["state"] == "idle" and now["last"] and now

    return wait_until(settled, "no change under way")


def start(scene, policies):
    """A limiter that keeps its configurations."""
    weir = scene.box(RINGS | {"policies": policies})
    weir.arguments = ["--state", scene.path("state")]
    weir.start()
    idle(weir)
    return weir


def first_rollback(weir):
    """Before the first change there is nothing to roll back to."""
    mistake = Mistake(["rollback"], ("nothing to roll back to",))
    done = run_ctl(weir, mistake.words)
    expect(not faults(mistake, done), f"{faults(mistake, done)}: {done.stderr}")


def play_seed(scene, seed, runs):
    """All mistakes of one seed; returns those that break a rule, in words."""
    rng = random.Random(seed)
    policies = policies_of(rng)
    weir = start(scene, policies)
    first_rollback(weir)
    for number in range(3):  # configurations to roll back to
        done = run_ctl(weir, ["policy", "set", policies[-1]["name"], f"limit={number + 1}Mbit/s"])
        expect(done.returncode == 0, done.stderr)
    before = weir.get("/weir/change")["runs"]["number"]
    maker = Maker(rng, scene, policies)
    broken = []
    for number in range(runs):
        mistake = maker.any()
        done = run_ctl(weir, mistake.words, mistake.text, mistake.program)
        found = faults(mistake, done)
        if found:
            broken.append(f"seed {seed}, mistake {number}: {os.path.basename(mistake.program)} "
                          f"{' '.join(mistake.words)}\n"
                          f"{mistake.text}{done.stdout}{done.stderr}" +
                          "".join(f"  -> {one}\n" for one in found))
    expect(weir.get("/weir/change")["runs"]["number"] == before, f"seed {seed}: it has changed")
    weir.stop()
    scene.boxes.clear()
    return broken


def name_of_check(scene):
    """`check` has the configured name of the limiter, and not that of its socket file."""
    weir = scene.box(RINGS | {"policies": [], "limiter": "edge-7"}, "other")
    weir.start()
    done = run_ctl(weir, ["check"])
    expect(done.stdout.startswith("OK - edge-7: "), done.stdout + done.stderr)
    done = run_ctl(weir, ["--json", "-s", weir.socket + "x", "check"])
    expect(set(json.loads(done.stdout)) == {"edge-7", "other.sockx"}, done.stdout + done.stderr)
    weir.stop()


def mistakes(scene):
    """Random mistakes of a few seeds."""
    seeds, runs = OPTIONS
    broken = []
    for seed in seeds:
        broken += play_seed(scene, seed, runs)
        subprocess.run(["rm", "-rf", scene.path("state")], check=True)
    expect(not broken, "\n".join(broken) + f"{len(broken)} of {len(seeds) * runs} mistakes")
    return f"{len(seeds) * runs} mistakes of the seeds {', '.join(map(str, seeds))}"


OPTIONS = options()
SCENARIOS = [name_of_check, mistakes]

if __name__ == "__main__":
    if not os.access(CTL, os.X_OK):
        print(f"skipped: {CTL} is not built")
        sys.exit(box.SKIP)
    box.main(SCENARIOS, box.enter_netns)

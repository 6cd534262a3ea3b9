#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Each key of the schema gets another value in a running limiter: a reload applies or refuses it.

A reload that succeeds and changes nothing fails the test, and so does a key of the schema that no
configuration here has. The ports are net_ring and there is no traffic.

Usage: reload_keys.py [SCENARIO...]
"""

import copy
import grp
import json
import os
import re
import stat
import subprocess

import box
from box import WEIR, expect, wait_until
from changes import running
from reload import outcome

FIXED = "cannot change while the limiter runs: restart it"
# Other tests check the effect of these, which needs two limiters, or peers with different settings.
ELSEWHERE = {"gossip.identity_file": "group_keys.py", "gossip.roster.public_key": "group_keys.py",
             "gossip.join": "members.py", "gossip.roster.address": "members.py",
             "gossip.differs_alarm": "test_reload.c",
             "gossip.overshoot_alarm": "test_reload.c", "include": "test_include.c"}
# The limiter here has a ledger, with which its group has no other members: see members.py.
MEMBERS = ("gossip.roster", "gossip.roster.name")
GROUPS = ("daemon", "bin")  # in every Debian


def schema_keys():
    """Returns the paths of all keys, without indices and names that operators choose."""
    with open(os.path.join(box.ROOT, "config", "weir.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    keys = set()

    def walk(node, path):
        if "$ref" in node:
            walk(schema["definitions"][node["$ref"].rsplit("/", 1)[1]], path)
        for name, member in node.get("properties", {}).items():
            if name in ("note", "$schema") or not isinstance(member, dict):
                continue
            if path in ("policies.classes.weights", "policies.colours.dscp"):
                continue
            keys.add(path + name)
            walk(member, f"{path}{name}.")
        for inner in ("items", "additionalProperties", "then", "else"):
            if isinstance(node.get(inner), dict):
                walk(node[inner], path)
        for inner in ("anyOf", "oneOf", "allOf"):
            for member in node.get(inner, []):
                walk(member, path)

    walk({key: schema[key] for key in ("properties",)}, "")
    return {key for key in keys if not re.search(r"\b(weights|dscp)\.", key)}


def policies():
    """Returns one policy of each kind, so that each key of a policy is in one of them."""
    made = []

    def add(name, match=None, **more):
        made.append({"name": name, "match": {"vlan": 100 + len(made)} | (match or {})} | more)

    add("plain", {"wire": "w", "direction": "a-to-b", "src": "10.0.0.0/8", "dst": "11.0.0.0/8",
                  "dscp": 8, "proto": "tcp", "src-port": "1000-2000", "dst-port": 443},
        limit="10Mbit/s", burst="1MB", count="bytes", accounting="l2", action="drop",
        interval="50ms", ewma=0.1, weigh="tcp", allocator="fps", meter="token-bucket",
        trial={"limit": "8Mbit/s", "burst": "90kB", "meter": "gcra"},
        schedule={"zone": "Europe/Berlin", "entries": [
            {"days": "mon-fri", "from": "08:00", "to": "18:00", "limit": "20Mbit/s",
             "burst": "2MB"}]})
    add("windows", limit="10Mbit/s", meter="hybrid", window="1s", guarantee="soft",
        trial={"meter": "fixed-window", "window": "2s"})
    add("sources", limit="1Mbit/s", allocator="static", per="src/24", sources=2048)
    add("waits", limit="10Mbit/s", action="shape",
        shape={"delay": "50ms", "queue": "1MB", "drop": "codel", "target": "5ms",
               "interval": "100ms", "ecn": False},
        slo={"p99": "1ms"},
        place={"key": "src/24", "round": "2s", "concentrate": True, "max-min": True,
               "correlate": True})
    add("marks", limit="10Mbit/s", action="mark", mark="af12")
    add("flows", limit="10Mbit/s", meter="phantom", classes={"by": "flow", "n": 64},
        trial={"meter": "phantom", "classes": {"by": "flow", "n": 32}})
    add("dscps", limit="10Mbit/s", meter="phantom", classes={"by": "dscp", "weights": {"46": 4}})
    add("coloured", limit="10Mbit/s", meter="trtcm", peak={"limit": "20Mbit/s", "burst": "9MB"},
        colours={"aware": True, "dscp": {"ef": "green"}, "green": "pass",
                 "yellow": {"mark": "af12"}, "red": "drop"})
    add("exceeds", limit="10Mbit/s", meter="trtcm-4115",
        excess={"limit": "5Mbit/s", "burst": "900kB"})
    add("total", allocator="quota", total="5TB", period="24h", limit="1Mbit/s")
    add("steers", limit="10Mbit/s", allocator="gdrl", indicator="loss", eta=0.5)
    add("adapts", limit="10Mbit/s", allocator="adaptor", history="5s", step="500ms")
    add("link", limit="50Mbit/s")
    add("child", limit="10Mbit/s", parent="link", weight=2, guaranteed="1Mbit/s")
    add("other", limit="60Mbit/s")
    return made


def secret(scene, option, name):
    """Creates a key or an identity with weir; returns its path and the printed text."""
    path = scene.path(name)
    done = subprocess.run([WEIR, option, path], capture_output=True, text=True, check=True)
    return path, done.stdout.strip()


class Group:
    """A limiter of a group of two; the other one is not running."""

    def __init__(self, scene):
        os.chmod(scene.directory, 0o755)  # members of groups can reach the socket
        self.keys = [secret(scene, "--new-key", f"key{i}")[0] for i in range(3)]
        self.own = [secret(scene, "--new-identity", f"own{i}") for i in range(2)]
        self.peer = [secret(scene, "--new-identity", f"peer{i}")[1] for i in range(2)]
        self.passwords = [scene.path(f"password{i}") for i in range(2)]
        for path in self.passwords:
            with open(path, "w", encoding="ascii") as out:
                os.fchmod(out.fileno(), 0o600)
                out.write("secret\n")
        os.mkdir(scene.path("state"))
        self.store = scene.path("store")
        self.port = 20000 + os.getpid() % 20000
        self.weir = scene.box(self.document(), "one")
        self.weir.arguments = ["--state", scene.path("state")]
        self.weir.start()
        self.base = copy.deepcopy(self.weir.config)

    def document(self):
        """Returns a configuration with a value for every key outside of policies."""
        ports = {name: {"device": f"net_ring{i}", "mtu": 1500, "buffers": 8192,
                        "buffer_size": 2048, "queues": 1} for i, name in enumerate("ab")}
        roster = [{"name": "one", "address": f"127.0.0.1:{self.port}",
                   "public_key": self.own[0][1]},
                  {"name": "two", "address": f"127.0.0.2:{self.port}",
                   "public_key": self.peer[0]}]
        return {
            "ports": ports, "workers": [0], "on_refused": "last-good", "shadow": False,
            "wires": [{"name": "w", "a": "a", "b": "b", "distribute": False, "link": "keep",
                       "default": "pass"}],
            "shape": {"pool": "50%"}, "log": {"level": "info", "format": "text"},
            "control": {"group": GROUPS[0], "operators": GROUPS[0], "cpu": 0, "watchdog": "60s"},
            "gossip": {"listen": f"127.0.0.1:{self.port}", "roster": roster,
                       "key_files": self.keys[:2], "identity_file": self.own[0][0],
                       "identities": "optional", "join": False, "sources": "roster",
                       "differs_alarm": "60s",
                       "overshoot_alarm": 0.5, "branching": 3, "timeout": "1s",
                       "datagram": "1200B", "estimator": "state", "loans": "none"},
            "ledger": {"store": self.store, "lease": "5s", "promise": 50, "drift": 1000,
                       "overlay": {"degree": 2}, "tree": {"degree": 2},
                       "etcd": {"endpoints": ["https://127.0.0.1:1"], "prefix": "/weir",
                                "ca": "/nowhere/ca", "cert": "/nowhere/cert",
                                "key": "/nowhere/key", "user": "alice",
                                "password_file": self.passwords[0], "insecure": False}},
            "tunnels": {"classify": "inner", "vxlan-port": 4789}, "unparsed": "strict",
            "policies": policies()}

    def special(self):
        """Returns changes of the document by key, for keys that need more than a value like the
        present one."""
        def of(path, value):
            return lambda doc: put(doc, path, value)

        def plain(doc):
            for key in ("key_files", "identity_file", "identities"):
                del doc["gossip"][key]
            for peer in doc["gossip"]["roster"]:
                del peer["public_key"]
            doc["gossip"]["insecure"] = True

        def one_key(doc):
            del doc["gossip"]["key_files"]
            doc["gossip"]["key_file"] = self.keys[2]

        def other_self(doc):
            put(doc, "gossip.identity_file", self.own[1][0])
            put(doc, "gossip.roster.0.public_key", self.own[1][1])

        def included(doc):
            with open(os.path.join(self.weir.directory, "more.json"), "w", encoding="ascii") as out:
                out.write('{"policies": [{"name": "more", "match": {"vlan": 7}, '
                          '"limit": "1Mbit/s"}]}')
            doc["include"] = "more.json"

        xdp = {"device": "xdp:nowhere", "generic": True}
        kernel = {"device": "net_af_packet9,iface=nowhere", "offloads": "ignore"}

        def fails(doc, **more):
            put(doc, "ports.a", kernel)
            put(doc, "ports.b", kernel | {"device": "net_af_packet8,iface=other"})
            doc["wires"][0].update({"fail": "open"} | more)
            doc["policies"] = []

        def both_xdp(doc):
            put(doc, "ports.a", xdp)
            put(doc, "ports.b", xdp | {"device": "xdp:other"})

        def no_wire(doc):
            doc["wires"] = []
            del doc["policies"][0]["match"]["wire"]

        return {
            "include": included, "limiter": lambda doc: (
                put(doc, "limiter", "two"), put(doc, "gossip.listen", f"127.0.0.2:{self.port}"),
                put(doc, "gossip.identity_file", self.own[1][0]),
                put(doc, "gossip.roster.1.public_key", self.own[1][1])),
            "eal": of("eal", box.EAL + ["--no-pci"]), "workers": of("workers", "1"),
            "ports": of("ports.c", {"device": "net_ring2"}), "ports.device": of(
                "ports.a.device", "net_ring7"),
            "ports.generic": both_xdp, "ports.offloads": of("ports.a", kernel),
            "wires": no_wire, "wires.name": lambda doc: (
                put(doc, "wires.0.name", "v"), put(doc, "policies.0.match.wire", "v")),
            "wires.a": lambda doc: (put(doc, "wires.0.a", "b"), put(doc, "wires.0.b", "a")),
            "wires.b": lambda doc: (put(doc, "wires.0.a", "b"), put(doc, "wires.0.b", "a")),
            "wires.default": of("wires.0.default", "drop"),
            "wires.default.policy": of("wires.0.default", {"policy": "plain"}),
            "wires.fail": fails, "wires.fail_after": lambda doc: fails(doc, fail_after="90ms"),
            "control.socket": of("control.socket", self.weir.socket + "2"),
            "control.group": of("control.group", GROUPS[1]),
            "control.operators": of("control.operators", GROUPS[1]),
            "gossip.listen": of("gossip.listen", f"0.0.0.0:{self.port}"),
            "gossip.roster": lambda doc: doc["gossip"]["roster"].append(
                {"name": "three", "address": f"127.0.0.3:{self.port}",
                 "public_key": self.peer[1]}),
            "gossip.roster.name": of("gossip.roster.1.name", "three"),
            "gossip.roster.address": of("gossip.roster.1.address", f"127.0.0.4:{self.port}"),
            "gossip.roster.public_key": of("gossip.roster.1.public_key", self.peer[1]),
            "gossip.key_file": one_key, "gossip.key_files": of(
                "gossip.key_files", [self.keys[2], self.keys[0]]),
            "gossip.identity_file": other_self, "gossip.insecure": plain,
            "ledger.store": of("ledger.store", self.store + "2"),
            "ledger.overlay": of("ledger.overlay", "ring"),
            "ledger.overlay.edges": of("ledger.overlay", {"edges": [["one", "two"]]}),
            "ledger.etcd.endpoints": of("ledger.etcd.endpoints", ["https://127.0.0.1:2"]),
            "ledger.etcd.password_file": of("ledger.etcd.password_file", self.passwords[1]),
            "tunnels.classify": of("tunnels", {"classify": "outer"}),
            "policies.allocator": of("policies.4.allocator", "static"),
            "policies.colours.aware": of("policies.7.colours", {"aware": False, "green": "pass"}),
            "policies.colours.green.mark": of("policies.7.colours.green", {"mark": "af11"}),
            "policies.colours.red.mark": of("policies.7.colours.red", {"mark": "af13"}),
            "policies.count": lambda doc: doc["policies"][4].update(
                {"count": "packets", "limit": "500/s"}),
            "policies.guarantee": of("policies.4.guarantee", "hard"),
            "policies.match.wire": lambda doc: doc["policies"][0]["match"].pop("wire"),
            "policies.shape.drop": of("policies.3.shape", {"delay": "50ms", "drop": "tail"}),
            "policies.trial.classes.by": of("policies.5.trial.classes", {"by": "dscp"}),
            "policies.trial.classes.weights": of(
                "policies.5.trial.classes", {"by": "dscp", "weights": {"46": 4}}),
            "policies.match": of("policies.1.match", {"vlan": 9}),
            "policies.match.src": of("policies.0.match.src", ["10.0.0.0/8", "12.0.0.0/8"]),
            "policies.schedule.zone": of("policies.0.schedule.zone", "America/New_York"),
            "policies.schedule.entries.days": of("policies.0.schedule.entries.0.days", "sat"),
            "policies.classes.by": of("policies.6.classes", {"by": "flow"}),
            "policies.classes.weights": of("policies.6.classes.weights", {"46": 5}),
            "policies.colours.dscp": of("policies.7.colours.dscp", {"ef": "red"}),
            "policies.parent": of("policies.13.parent", "other"),
        }


def put(doc, path, value):
    """Sets the value at a path, of which numbers are indices."""
    *above, last = path.split(".")
    for step in above:
        doc = doc[int(step)] if isinstance(doc, list) else doc[step]
    doc[last] = copy.deepcopy(value)


def leaves(value, path=(), key=""):
    """Yields each key that has a value: its steps, and its path in the schema."""
    if isinstance(value, dict):
        for name, member in value.items():
            chosen = key == "ports" or key in ("policies.classes.weights", "policies.colours.dscp")
            inner = key if chosen else f"{key.rstrip('.')}.{name}".lstrip(".")
            if not chosen:
                yield (*path, name), inner, member
            yield from leaves(member, (*path, name), inner + "." * (key == "ports"))
    elif isinstance(value, list):
        for i, member in enumerate(value):
            yield from leaves(member, (*path, i), key)


def words_of_schema():
    """Returns the schema's lists of words that a value can be."""
    with open(os.path.join(box.ROOT, "config", "weir.schema.json"), encoding="utf-8") as file:
        text = file.read()
    return [json.loads(f"[{words}]") for words in re.findall(r'"enum": \[([^\]]*)\]', text)]


def others(value, choices):
    """Yields other values like this one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [other for other in (value * 2, value + 1, value - 1, value / 2) if other != value]
    if not isinstance(value, str):
        return []
    found = [word for words in choices if value in words for word in words if word != value]
    for number in re.findall(r"\d+", value):
        found += [value.replace(number, str(other), 1)
                  for other in (int(number) + 1, int(number) * 2, int(number) - 1)]
    return found + [value + "x"]


# State of the process that a reload of a key changes.
SEEN = {
    "log.level": lambda weir: weir.get("/weir/log")["level"],
    "log.format": lambda weir: weir.get("/weir/log")["format"],
    "shadow": lambda weir: weir.get("/weir/config")["shadow"],
    "wires.default": lambda weir: weir.get("/weir/config")["generation"],
    "gossip.key_file": lambda weir: weir.get("/weir/peers")["keys"],
    "gossip.key_files": lambda weir: weir.get("/weir/peers")["keys"],
    "gossip.identities": lambda weir: weir.get("/weir/peers")["identities"],
    "on_refused": lambda weir: running(weir)["on_refused"],
    "control.group": lambda weir: os.stat(weir.socket).st_gid,
    "control.operators": lambda weir: [may_change(weir, name) for name in GROUPS],
}


def may_change(weir, name):
    """Returns true if a member of a group can give a command that changes something."""
    script = ("import os, socket, sys\n"
              "os.setgroups([int(g) for g in sys.argv[2:]]); os.setgid(65534); os.setuid(65534)\n"
              "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1])\n"
              "s.recv(9999); s.send(b'/weir/log_level,wrong'); print(s.recv(9999).decode())\n")
    gids = {str(os.stat(weir.socket).st_gid), str(grp.getgrnam(name).gr_gid)}
    done = subprocess.run(["/usr/bin/python3", "-c", script, weir.socket, *gids],
                          capture_output=True, text=True, check=True)
    return "denied" not in done.stdout


def reloaded(group, document):
    """Reloads this document; returns the result."""
    group.weir.config = document
    group.weir.write()
    before = group.weir.get("/weir/config")
    group.weir.get("/weir/reload")
    last = outcome(group.weir, before)["last_reload"]
    wait_until(lambda: group.weir.get("/weir/change")["last"], "the change to be kept")
    return last


def place_pattern(key):
    """Returns a pattern for the place of a key in a message: indices and port names are between its
    steps."""
    key = "ledger.overlay" if key.startswith("ledger.overlay") else key  # one value of any kind
    return re.compile(r"(?:^|: )" + r"(?:\[\d+\](?: \"[^\"]*\")?|\.[ab](?=\.))*\.?".join(
        re.escape(step) for step in key.split(".")) + r": " + FIXED)


def reload_effects():
    """Returns by key the effect of a reload that weir --keys states. None: its parts state it."""
    done = subprocess.run([WEIR, "--keys"], capture_output=True, text=True, check=True)
    effects = {row["path"]: row.get("reload") for row in map(json.loads, done.stdout.splitlines())}
    for key in effects:
        above = key.rpartition(".")[0]
        effects[key] = effects[key] or effects.get(above)
    return effects


def judge(group, key, change):
    """Tries one change of the document; returns "applied", "refused", or None if no file can have
    it."""
    document = copy.deepcopy(group.base)
    before = SEEN[key](group.weir) if key in SEEN else None
    change(document)
    last = reloaded(group, document)
    if not last["ok"]:
        if not any(FIXED in line for line in last["messages"]):
            return None
        expect(any(place_pattern(key).search(line) for line in last["messages"]),
               f"{key}: refused without its place: {last['messages']}")
        return "refused"
    counts = last["added"] + last["removed"] + last["changed"]
    if key in SEEN:
        expect(SEEN[key](group.weir) != before, f"{key}: the reload succeeded and had no effect")
    elif key not in ELSEWHERE or key == "include":
        expect(counts > 0, f"{key}: the reload succeeded and changed nothing")
    expect(reloaded(group, group.base)["ok"], f"{key}: the way back")
    return "applied"


def changes_of(group):
    """Returns by key the changes of the document that can give it another value."""
    choices, found = words_of_schema(), {}
    for steps, key, value in leaves(group.base):
        def of(other, steps=steps):
            return lambda doc: put(doc, ".".join(map(str, steps)), other)

        found.setdefault(key, []).extend(map(of, others(value, choices)))
    for key, change in group.special().items():
        found[key] = [change]
    return found


def each_key(scene):
    """Tries every key of the schema."""
    group = Group(scene)
    expect(reloaded(group, group.base)["ok"], "the same file")
    keys, changes, effects = schema_keys(), changes_of(group), reload_effects()
    containers = {key for key in keys if any(other.startswith(key + ".") for other in keys)}
    verdicts, wrong = {}, []
    for key in sorted(keys):
        if key in MEMBERS or (key in containers and not changes.get(key)):
            continue
        try:
            expect(changes.get(key), f"{key}: no configuration here has it")
            verdicts[key] = next(filter(None, (judge(group, key, change)
                                               for change in changes[key])), None)
            expect(verdicts[key], f"{key}: no other value is good: "
                   f"{group.weir.get('/weir/config')['last_reload']}")
            stated = effects[key] and ("refused" if effects[key] == "restart" else "applied")
            expect(stated in (None, verdicts[key]),
                   f"{key}: {verdicts[key]}, but weir --keys states {effects[key]!r}")
        except AssertionError as why:
            wrong.append(str(why))
            reloaded(group, group.base)
    expect(not wrong, "\n".join(wrong))
    applied = sum(verdict == "applied" for verdict in verdicts.values())
    expect(applied > 60, f"{applied} applied")
    return f"{applied} applied, {len(verdicts) - applied} refused"


def no_such_group(scene):
    """A group that does not exist is rejected with its place, and nothing changes."""
    group = Group(scene)
    expect(reloaded(group, group.base)["ok"], "the same file")
    looks = {key: SEEN[key] for key in ("control.group", "control.operators", "wires.default")}
    before = {key: look(group.weir) for key, look in looks.items()}
    for key in ("group", "operators"):
        document = copy.deepcopy(group.base)
        document["control"][key] = "no-such-group"
        document["policies"][0]["limit"] = "11Mbit/s"
        last = reloaded(group, document)
        expect(not last["ok"] and any(
            re.search(rf'\.json:\d+: control\.{key}: "no-such-group": expected a group', line)
            for line in last["messages"]), f"{key}: {last}")
        now = {key: look(group.weir) for key, look in looks.items()}
        expect(now == before, f"{key}: {now}, before {before}")
    expect(stat.S_IMODE(os.stat(group.weir.socket).st_mode) == 0o660, "mode of the socket")


if __name__ == "__main__":
    box.main([each_key, no_such_group], box.enter_netns)

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Seeds of the fuzz targets that read texts of people and of other programs."""

import base64
import copy
import importlib.util
import itertools
import json
import os
import random
import struct

UNIT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "unit")


def generator(name):
    """A generator of documents that is a test of its own, such as check_schema."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(UNIT, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(document):
    """A document as text."""
    return json.dumps(document, ensure_ascii=False).encode()


def whole(keys, document):
    """The document of one setting, with ports, wires and the policies that it may name."""
    if not isinstance(document, dict):
        return document
    document = {**copy.deepcopy(keys.BASE), **copy.deepcopy(document)}
    if "parent" in str(document.get("policies")):
        document["policies"] += [{"name": name, "match": {"vlan": 99 + i}, "limit": "9Mbit/s"}
                                 for i, name in enumerate(("link", "plan"))]
    return document


def in_one(keys, documents):
    """The policies of some documents in one."""
    policies = [{key: value for key, value in document["policies"][0].items() if key != "name"}
                for document in documents]
    return keys.policy_document(*policies, gossip=keys.GROUP)


def config():
    """Configurations of the tests of the schema and of the keys: settings alone and together."""
    schema, keys = generator("check_schema"), generator("check_keys")
    for listed, most in ((schema.GOOD, 3), (schema.BAD, 12)):
        policies = [one for one in listed if isinstance(one, dict) and one.get("policies")]
        for i in range(0, len(policies), most):
            yield text_of(in_one(keys, policies[i:i + most]))
        for document in listed:
            if document not in policies:
                yield text_of(whole(keys, document))
    for i, (one, other) in enumerate(itertools.combinations(keys.SETTINGS, 2)):
        if i % 50 == 0:
            yield text_of(keys.policy_document({**one, **other}))
    for i in range(0, len(keys.REQUIRED), 4):
        document = keys.policy_document(*[{}] * 7, gossip=keys.GROUP)
        for place, value, _ in keys.REQUIRED[i:i + 4]:
            above, _, key = place.rpartition(".")
            keys.put(document, above, {key: value})
        yield text_of(document)


def scenario():
    """Scenarios of the tests of the schema, short enough to be run."""
    schema = generator("check_schema")
    for document in schema.GOOD_SCENARIOS + schema.BAD_SCENARIOS:
        yield text_of(document)
    bulk = [{"kind": "tcp", "limiter": "each", "count": 2, "size": "20kB"},
            {"kind": "poisson", "limiter": "l1", "rate": "200kbit/s"}]
    for document in schema.GOOD_SCENARIOS:
        if not document["traffic"] and len(str(document)) % 2:
            yield text_of({**document, "traffic": bulk[:1 + (len(document) % 2)]})


def csv():
    """Lists of subscribers: of the model of LibreQoS, of our own columns, and wrong ones."""
    model = generator("check_import")
    for seed in range(6):
        rng = random.Random(seed)
        nodes = model.tree(rng)
        lines = [line for i in range(4) for line in model.Circuit(rng, i, nodes).lines(rng)]
        head = model.COLUMNS.format(rng.choice(["", " Mbps"]))
        network = {node.name: node.written() for node in nodes if not node.above}
        yield text_of(network) + b"\0" + "\n".join([head, *lines, ""]).encode()
    parents = "p,,1Gbit/s,,\nq,,500Mbit/s,p,\nr,,10Mbit/s,q,1Mbit/s\n"
    lists = ["name,addresses,limit,parent,guaranteed\n" + parents
             + "a,192.0.2.1; 2001:db8:1::/48,10Mbit/s,r,2Mbit/s\nb,192.0.2.2,9Mbit/s,p,900Mbit/s\n"
             "c,192.0.2.3,9Mbit/s,q,400Mbit/s\nd,192.0.2.4,9Mbit/s,no,\na,192.0.2.5,1Mbit/s,,\n",
             "\ufeffname,addresses,download,upload,burst,accounting,action,note\r\n"
             'a,"192.0.2.1 192.0.2.64/26",10Mbit/s,2Mbit/s,64kB,wire,mark,"a ""b"""\r\n'
             "# comment\r\n\r\nb,192.0.2.7,1Mbit/s,1Mbit/s,x,y,z,\r\n",
             "name,addresses,limit\na,192.0.2.1/24,ten\n\"b,1,2\n", "name,limit\na,1Mbit/s\n",
             "name,addresses,limit,name\n", "name,addresses,limit,colour\na,10.0.0.1,1Mbit/s,red\n",
             "name,addresses,limit\n" + "a" * 99 + ",10.0.0.1,1Mbit/s\n,10.0.0.2,1Mbit/s\n"
             "b,,1Mbit/s\nc,10.0.0.3,0\nd,10.0.0.300,1Mbit/s\ne,10.0.0.1,1Mbit/s,x,y\n",
             "name;addresses;limit\na;10.0.0.1;1Mbit/s\n", "", "name\taddresses\tlimit\n",
             "name,parent,limit\na,b,1Mbit/s\nb,a,1Mbit/s\nc,c,1Mbit/s\n"]
    for text in lists:
        yield b"\0" + text.encode()


def etcd():
    """The status of an answer, and the answer: of transactions and of logins, good and bad."""
    def value(text):
        return base64.b64encode(text.encode()).decode()
    for words in ("authentication is not enabled", "authentication failed", "user name is empty",
                  "invalid auth token", "revision of auth store is old", "permission denied", ""):
        for status in (100, 101, 102, 106):  # a byte, of which each is 2
            yield bytes((status,)) + text_of({"error": "etcdserver: " + words, "code": 7})
    head = {"header": {"cluster_id": "7", "revision": "7"}}
    found = [{"response_range": {"kvs": [{"mod_revision": str(i), "value": value("v" * i)}]}}
             for i in (1, 20, 63, 64)]
    late = [{"response_range": {"kvs": [{"mod_revision": "9" * 99}]}}]
    for answer in ({**head}, {}, {**head, "succeeded": True, "responses": found[:2]},
                   {**head, "responses": found}, {**head, "responses": [{"response_put": {}}]},
                   {**head, "responses": [{"response_range": {}}, {"response_put": {}}]},
                   {**head, "responses": late},
                   {**head, "responses": [{"response_range": {"kvs": [{"mod_revision": "1",
                                                                      "value": "%"}]}}]},
                   {**head, "token": "abc.16"}, {**head, "token": ""}, {**head, "token": "a b"},
                   {**head, "token": "x" * 5000}, {**head, "token": 7}):
        yield b"\x00" + text_of(answer)
    for text in (b"weir secret", b"we\"ir pass\\word\n", b" x", b"u ", b"u " + b"x" * 256,
                 b"u a\nb"):
        yield b"\x00" + text


# Components of a rule as exabgp writes them: names without a family, and values.
COMPONENTS = [
    ("destination", ["192.0.2.77/32", "2001:db8::77/128/0"]),
    ("source", ["10.0.0.0/8", "2001:db8:1::/48/0"]), ("source", ["10.0.0.0/33", "2001:db8::/64/8"]),
    ("protocol", ["=tcp"]), ("protocol", ["=udp", "=6"]), ("protocol", [">5&<20"]),
    ("destination-port", ["=53"]), ("destination-port", [">=1024&<=2047", "=80"]),
    ("source-port", ["=1", "=3", "=5"]), ("source-port", ["!=7"]), ("port", ["=443"]),
    ("dscp", ["=46"]), ("dscp", ["=46", "=8"]), ("fragment", ["is-fragment"]),
    ("tcp-flags", ["=syn"]), ("packet-length", [">1000"]), ("icmp-type", ["=8"]),
]
ACTIONS = ["rate-limit:12500", "rate-limit:0", "rate-limit:x", "rate-limit:1e300", "mark 46",
           "mark 99", "redirect:1:2", "action sample", "action terminal", "rate-limit:9"]


def exabgp(rng, kind, rule, actions):
    """A line of exabgp."""
    family = rng.choice(["ipv4", "ipv4", "ipv4", "ipv6"])
    names = {"protocol": "next-header", "dscp": "traffic-class"} if family == "ipv6" else {}
    flow = {(f"{name}-{family}" if name in ("destination", "source") else names.get(name, name)):
            [values[family == "ipv6"]] if name in ("destination", "source") else values
            for name, values in rule}
    attribute = {"extended-community": [{"value": 1, "string": text} for text in actions]}
    where = {f"{family} flow": {"no-nexthop": [flow]} if kind == "announce" else [flow]}
    return {"exabgp": "4.0.1", "type": "update",
            "neighbor": {"address": {"peer": f"127.0.0.{rng.randint(1, 2)}"},
                         "message": {"update": {"attribute": attribute, kind: where}}}}


def state(peer, word):
    """A line of exabgp about a session."""
    return {"exabgp": "4.0.1", "type": "state",
            "neighbor": {"address": {"peer": f"127.0.0.{peer}"}, "state": word}}


def gobgp(rng):
    """A line of gobgp: a path with components, attributes and, now and then, an end."""
    ipv6 = rng.random() < 0.3
    prefix = {"prefix": rng.choice(["2001:db8::/32", "::/0"] if ipv6 else
                                   ["192.0.2.10/32", "10.0.0.0/8"])}
    numbers = [{"op": rng.choice([1, 2, 4, 129, 0x43, 0xc5, 7, 0]), "value": rng.choice(
        [2, 6, 17, 46, 80, 70000])} for _ in range(rng.randint(1, 3))]
    parts = [{"type": rng.randint(1, 2), "value": prefix, "offset": 0},
             {"type": rng.randint(3, 14), "value": numbers}]
    communities = [{"type": 128, "subtype": 6, "rate": rng.choice([1250.5, 0, "x", 1e9])},
                   {"type": 128, "subtype": 7, "sample": True, "terminal": rng.random() < 0.5},
                   {"type": 128, "subtype": 9, "value": rng.choice([46, 99])},
                   {"type": 128, "subtype": 8, "value": "65000:1"}]
    return [{"nlri": {"value": parts}, "withdrawal": rng.random() < 0.2, "age": 1,
             "source-id": "::1",
             "attrs": [{"type": 1, "value": 2}, {"type": 16, "value": rng.sample(communities, 2)},
                       {"type": rng.choice([14, 14, 15]), "afi": 1 + ipv6, "safi": 133,
                        "value": [{"value": parts}]}]}]


def flowspec():
    """Sessions of exabgp and gobgp: rules that are announced, withdrawn and announced again."""
    for seed in range(24):
        rng = random.Random(seed)
        lines = [state(peer, "up") for peer in (1, 2)]
        rules = [COMPONENTS[:1] + rng.sample(COMPONENTS[3:], rng.randint(1, 3)) for _ in range(3)]
        rules.append(rng.sample(COMPONENTS, 3))
        for _ in range(6):
            lines.append(exabgp(rng, rng.choice(["announce", "announce", "withdraw"]),
                                rng.choice(rules), rng.sample(ACTIONS, rng.randint(1, 2))))
        eor = {"neighbor": {"address": {"peer": "127.0.0.1"}, "message": {
            "eor": {"afi": "ipv4", "safi": "flow"}}}, "exabgp": "4.0.1", "type": "update"}
        lines += [eor, state(1, "down"), state(1, "up"), lines[2], eor,
                  {"exabgp": "4.0.1", "type": "notification", "notification": "shutdown"}]
        rng.shuffle(lines)
        again = [exabgp(rng, "withdraw", rules[0], []),
                 exabgp(rng, "announce", rules[1], ACTIONS[1:2]), eor] if seed % 3 else []
        yield b"\n".join(map(text_of, lines)) + b"\n\0\n" + b"\n".join(map(text_of, again))
        yield b"\n".join(text_of(gobgp(rng)) for _ in range(6))
    yield b"{}\n[]\n[{}]\n7\n{\"exabgp\": \"4.0.1\"}\nx"


def tzif(times, types, rule, leaps=0):
    """A file of tzdata, version 2: transitions (at, type), offsets and a rule."""
    out = b""
    for form in "iq":
        out += b"TZif2" + bytes(15) + struct.pack("!6I", 0, 0, leaps, len(times), len(types), 4)
        out += b"".join(struct.pack("!" + form, at) for at, _ in times)
        out += bytes(kind for _, kind in times)
        out += b"".join(struct.pack("!iBB", offset, 0, 0) for offset in types) + b"UTC\0"
        out += bytes(leaps * (8 if form == "i" else 12))
    return out + b"\n" + rule.encode() + b"\n"


def zone():
    """Zones with transitions and rules of each kind, and wrong ones."""
    rules = ["", "UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
             "EST5EDT,J60/1:02:03,J300", "AAA-5:30BBB-7,0/-167,365/+167", "AAA24BBB,M13.1.0,M1.1.0",
             "AAA3BBB,M2.5.6/0,M12.5.0", "A1", "<A>1", "<ABC1", "AAA", "AAA25", "AAA1:60",
             "AAA1BBB", "AAA1BBB,1", "AAA1BBB,J0,1", "AAA1BBB,M1.0.0,1", "AAA1BBB,M1.1.7,1",
             "AAA1x", "AAA1BBB2,3,4"]
    few = [(-2000000000, 0), (0, 1), (1700000000, 0)]
    for i, rule in enumerate(rules):
        yield tzif(few[:i % 4], [3600, 7200], rule)
    yield tzif(few[::-1], [3600, 7200], "UTC0")
    yield tzif([(0, 2)], [3600, 7200], "UTC0")
    yield tzif(few, [700000], "UTC0")
    yield tzif(few, [3600, 7200], "UTC0", leaps=2)
    yield tzif([(i * 1000, i % 2) for i in range(300)], [0, 60], "x" * 200)
    for name in ("Europe/Berlin", "Etc/GMT+3", "/UTC", "a//b", "a/", "a.b", "a" * 99):
        yield name.encode()


TARGETS = {"config": config, "scenario": scenario, "csv": csv, "etcd": etcd, "flowspec": flowspec,
           "zone": zone}

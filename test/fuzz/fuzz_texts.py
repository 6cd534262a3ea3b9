# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Seeds of the fuzz targets that read texts by people and by other programs."""

import base64
import copy
import importlib.util
import itertools
import json
import os
import struct

UNIT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "unit")


def generator(name):
    """Returns the module of a test that generates documents, such as check_schema."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(UNIT, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(document):
    """Returns a document as text."""
    return json.dumps(document, ensure_ascii=False).encode()


def whole(keys, document):
    """Returns the document of one setting, with ports, wires and the policies that it can name."""
    if not isinstance(document, dict):
        return document
    document = {**copy.deepcopy(keys.BASE), **copy.deepcopy(document)}
    if "parent" in str(document.get("policies")):
        document["policies"] += [{"name": name, "match": {"vlan": 99 + i}, "limit": "9Mbit/s"}
                                 for i, name in enumerate(("link", "plan"))]
    return document


def in_one(keys, documents):
    """Returns one document with the policies of several."""
    policies = [{key: value for key, value in document["policies"][0].items() if key != "name"}
                for document in documents]
    return keys.policy_document(*policies, gossip=keys.GROUP)


def config():
    """Yields configurations of the tests of schema and keys: settings alone and together."""
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
    """Yields scenarios of the tests of the schema, short enough to be run."""
    schema = generator("check_schema")
    for document in schema.GOOD_SCENARIOS + schema.BAD_SCENARIOS:
        yield text_of(document)
    bulk = [{"kind": "tcp", "limiter": "each", "count": 2, "size": "20kB"},
            {"kind": "poisson", "limiter": "l1", "rate": "200kbit/s"}]
    for document in schema.GOOD_SCENARIOS:
        if not document["traffic"] and len(str(document)) % 2:
            yield text_of({**document, "traffic": bulk[:1 + (len(document) % 2)]})


def etcd():
    """Yields the status and text of answers: of transactions and logins, good and bad."""
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


TARGETS = {"config": config, "scenario": scenario, "etcd": etcd, "zone": zone}

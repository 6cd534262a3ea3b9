#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks config/weir.schema.json: every example agrees with it, and bad documents do not.

Usage: check_schema.py [SOURCE_ROOT]
"""

import json
import pathlib
import re
import sys

import jsonschema


def policy(**members):
    return {"limiter": "me", "policies": [{"name": "p", "limit": "1Mbit/s", **members}]}


def match(**members):
    return policy(match=members)


def port(device, **members):
    return {"limiter": "me", "ports": {"lan": {"device": device, **members}}}


def gossip(n, **members):
    roster = [{"name": f"l{i}", "address": f"10.0.0.{i}:7946"} for i in range(n)]
    return {"limiter": "l0", "gossip": {"roster": roster, **members}}


# Accepted and refused, in pairs as close to each other as they get.
GOOD = [
    {"limiter": "me"},
    {"limiter": "me", "workers": [1, 2]},
    {"limiter": "me", "control": {"socket": "x" * 107}},
    policy(),
    policy(limit="1.5 Gbit/s"),
    policy(burst="64KiB"),
    policy(ewma=0),
    policy(count="bytes", burst="64KiB"),
    policy(count="packets", limit="500/s", burst=100),
    policy(count="packets", limit="1.5 M/s", burst="10k"),
    policy(count="flows", limit="600/min"),
    policy(count="flows", limit="900/h"),
    policy(meter="gcra", burst="64KiB"),
    policy(meter="fixed-window", window="1min"),
    policy(meter="hybrid", window="24h"),
    policy(meter="random-drop"),
    policy(per="src"),
    policy(per="src/128", sources=16777216, allocator="static"),
    policy(allocator="gtb", meter="token-bucket"),
    policy(allocator="grd"),
    policy(allocator="grd", meter="token-bucket", burst="64KiB"),
    policy(weigh="tcp"),
    policy(weigh="tcp", allocator="fps"),
    policy(action="count"),
    policy(action="mark"),
    policy(action="mark", mark="ecn"),
    policy(action="mark", mark=63),
    match(vlan=4094),
    match(dst="2001:db8::/32"),
    port("0000:03:00.0"),
    port("net_af_packet0,iface=eth1", mtu=16000),
    gossip(1),
    gossip(2, key_file="/k"),
    gossip(2, key_file="/k", insecure=False),
    gossip(2, insecure=True),
    gossip(2, insecure=True, listen="0.0.0.0:7946"),
    gossip(2, insecure=True, estimator="tree"),
    gossip(2, insecure=True, estimator="push-sum", compensate=True),
]
BAD = [
    [],
    {},
    {"limiter": "a b"},
    {"limiter": "me", "worker": [1]},
    {"limiter": "me", "workers": [1, 1]},
    {"limiter": "me", "workers": []},
    {"limiter": "me", "control": {"socket": "x" * 108}},
    {"limiter": "me", "policies": [{"name": "p"}]},
    {"limiter": "me", "ports": {"a b": {"device": "net_null0"}}},
    {"limiter": "me", "wires": [{"name": "w", "a": "lan"}]},
    policy(limit="10Mbit"),
    policy(limit=10000000),
    policy(limit="-1Mbit/s"),
    policy(burst="64KB"),
    policy(ewma=1),
    policy(count="packets"),
    policy(count="bytes", limit="500/s"),
    policy(limit="500/s"),
    policy(count="packets", limit="500/s", burst="64KiB"),
    policy(count="packets", limit="500/s", burst=0),
    policy(count="packets", limit="500/s", accounting="l3"),
    policy(count="packets", limit="500/m"),
    policy(burst=100),
    policy(meter="fixed-window"),
    policy(meter="gcra", window="1s"),
    policy(window="1s"),
    policy(meter="hybrid", window="1s", burst="64KiB"),
    policy(per="src/0"),
    policy(per="src/129"),
    policy(per="dst"),
    policy(per="src", allocator="fps"),
    policy(per="src", meter="random-drop"),
    policy(sources=65536),
    policy(per="src", sources=1023),
    policy(allocator="gtb", meter="gcra"),
    policy(allocator="grd", meter="gcra"),
    policy(weigh="tcp", allocator="static"),
    policy(weigh="udp"),
    policy(mark="ecn"),
    policy(action="drop", mark="ecn"),
    policy(action="mark", mark=64),
    policy(interval="1m"),
    policy(allocator="magic"),
    policy(limt="1Mbit/s"),
    match(vlan=4095),
    match(dscp=64),
    match(dst="192.0.2.0"),
    match(direction="any"),
    port("eth0"),
    port("0000:03:00.8"),
    port("net_null0", mtu=16001),
    gossip(0),
    gossip(2),
    gossip(2, insecure=False),
    gossip(2, insecure=True, key_file="/k"),
    gossip(2, insecure=True, listen="localhost:7946"),
    gossip(2, insecure=True, branching=0),
    gossip(2, insecure=True, estimator="pushsum"),
    gossip(2, insecure=True, compensate=True),
    gossip(2, insecure=True, estimator="tree", compensate=True),
]


def schema_keys(schema):
    """Every key that the schema knows, at any depth."""
    keys = set(schema.get("properties", {}))
    for value in schema.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                keys |= schema_keys(part)
    return keys


def table_keys(source):
    """Every key of the tables in lib/policy/*keys.c: rows of a name, then its reader."""
    return set(re.findall(r'\{"(\w+)",\s*read_', source))


def check(root):
    """Yields one line for each thing that is wrong."""
    schema_file = root / "config" / "weir.schema.json"
    schema = json.loads(schema_file.read_text())
    validator_class = jsonschema.validators.validator_for(schema)
    validator_class.check_schema(schema)
    validator = validator_class(schema)

    examples = sorted(path for path in (root / "config").glob("*.json")
                      if not path.name.endswith(".schema.json"))
    if not examples:
        yield f"no example in {root / 'config'}"
    for example in examples:
        for error in validator.iter_errors(json.loads(example.read_text())):
            yield f"{example.name}: {error.json_path}: {error.message}"
    for document in GOOD:
        for error in validator.iter_errors(document):
            yield f"refused: {json.dumps(document)}: {error.message}"
    for document in BAD:
        if validator.is_valid(document):
            yield f"not refused: {json.dumps(document)}"

    tables = sorted((root / "lib" / "policy").glob("*keys.c"))
    known = table_keys("".join(table.read_text() for table in tables))
    for key in sorted(known ^ schema_keys(schema)):
        yield f"only one of the schema and lib/policy knows {key}"
    reference = (root / "doc" / "configuration.md").read_text()
    for key in sorted(known):
        if f"`{key}`" not in reference:
            yield f"doc/configuration.md: no word of `{key}`"


def main():
    here = pathlib.Path(__file__).resolve().parents[2]
    wrong = list(check(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

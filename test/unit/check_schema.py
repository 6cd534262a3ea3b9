#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Checks the schemas in config/: they accept every example and refuse bad documents.

tools/keys/keys.py --check compares the schema of configurations with the tables of its reader.

Usage: check_schema.py [SOURCE_ROOT]
"""

import json
import pathlib
import re
import sys

import jsonschema


def policy(**members):
    return {"limiter": "me", "policies": [{"name": "p", "limit": "1Mbit/s", **members}]}


def quota(**members):
    return {"limiter": "me", "policies": [{"name": "p", "allocator": "quota", **members}]}


def ledger(**members):
    return {"limiter": "me", "ledger": members}


def match(**members):
    return policy(match=members)


def wire(**members):
    return {"limiter": "me", "wires": [{"name": "w", "a": "x", "b": "y", **members}]}


def port(device, **members):
    return {"limiter": "me", "ports": {"lan": {"device": device, **members}}}


def gossip(n, known=0, **members):
    """Returns a group of n limiters, of which `known` have a public key."""
    roster = [{"name": f"l{i}", "address": f"10.0.0.{i}:7946"} for i in range(n)]
    for i in range(known):
        roster[i]["public_key"] = f"{i + 9:064x}"
    return {"limiter": "l0", "gossip": {"roster": roster, **members}}


def schedule(zone="Europe/Berlin", **members):
    entry = {"days": "mon-fri", "from": "08:00", "to": "18:00", "limit": "2Gbit/s", **members}
    return policy(schedule={"zone": zone, "entries": [entry]})


# Accepted and refused documents, in pairs with the least difference.
GOOD = [
    schedule(),
    schedule(zone="America/Argentina/Ushuaia", days="Sat,Sun", to="24:00"),
    schedule(days="daily", burst="1MB", note="x"),
    schedule(days="fri-mon,wed", **{"from": "23:59:59"}),
    {"limiter": "me"},
    {"limiter": "me", "include": "policies.d"},
    {"limiter": "me", "workers": "2-5,8"},
    policy(parent="link", weight=1000, guaranteed="500kbit/s"),
    policy(parent="link", count="packets", limit="900/s", guaranteed="500/s", action="mark"),
    policy(parent="plan", per="src", allocator="static"),
    policy(parent="link", action="shape"),
    quota(parent="link", total="5TB"),
    match(dscp="ef"),
    wire(default="drop"),
    wire(default={"policy": "p"}),
    match(src=["10.0.0.0/8", "2001:db8::/32"], dst="@customers/1001.txt"),
    policy(match=[{"src": "10.0.0.0/8"}, {"vlan": 7}]),
    policy(action="mark", mark="AF41"),
    policy(meter="phantom", classes={"by": "dscp", "weights": {"ef": 4, "cs1": 1}}),
    {"limiter": "me", "include": ["a.json", "b.json"]},
    {"limiter": "me", "$schema": "weir.schema.json", "note": "x"},
    policy(note=["x", "y"], match={"note": "x"}),
    {"limiter": "me", "ports": {"note": "x", "lan": {"device": "net_null0", "note": "x"}}},
    policy(meter="phantom", classes={"by": "dscp", "weights": {"note": "x", "46": 4}}),
    ledger(note="x", overlay={"note": "x", "degree": 2}),
    {"limiter": "me", "tunnels": {"classify": "outer"}},
    {"limiter": "me", "tunnels": {"classify": "inner", "vxlan-port": 65535}},
    {"limiter": "me", "workers": [1, 2]},
    {"limiter": "me", "workers": [1, 1], "idle": "sleep"},
    {"limiter": "me", "control": {"socket": "x" * 107}},
    {"limiter": "me", "log": {"level": "debug", "format": "json", "note": "x"}},
    policy(),
    policy(limit="1.5 Gbit/s"),
    policy(burst="64KiB"),
    policy(ewma=0),
    policy(count="bytes", burst="64KiB"),
    policy(count="packets", limit="500/s", burst=100),
    policy(count="packets", limit="1.5 M/s", burst="10k"),
    policy(count="flows", limit="600/min"),
    policy(count="flows", limit="900/h"),
    policy(count="flows", limit="100/min"),
    policy(count="packets", limit="10k/h"),
    policy(count="packets", limit="5/d"),
    policy(count="packets", limit="100/min", meter="hybrid"),
    policy(count="flows", limit="100/min", meter="fixed-window"),
    policy(meter="gcra", burst="64KiB"),
    policy(meter="fixed-window", window="1min"),
    policy(meter="hybrid", window="24h"),
    policy(meter="random-drop"),
    policy(meter="phantom", burst="64KiB"),
    policy(meter="phantom", classes={"by": "flow", "n": 1024}),
    policy(meter="phantom", classes={"by": "dscp", "weights": {"46": 4, "0": 1}}),
    policy(meter="phantom", guarantee="hard"),
    policy(meter="phantom", count="packets", limit="500/s"),
    policy(meter="srtcm"),
    policy(meter="srtcm", burst="64KiB", excess={"burst": "1MB", "note": "x"}),
    policy(meter="trtcm", peak={"limit": "2Mbit/s"}, guarantee="hard"),
    policy(meter="trtcm", peak={"limit": "2Mbit/s", "burst": "1MB"},
           colours={"green": "pass", "yellow": {"mark": "af12"}, "red": "drop", "note": "x"}),
    policy(meter="trtcm", peak={"limit": "2Mbit/s"},
           colours={"aware": True, "dscp": {"ef": "green", "0": "red", "note": "x"}}),
    policy(meter="trtcm", count="packets", limit="500/s", peak={"limit": "600/s", "burst": 100}),
    policy(meter="trtcm", peak={"limit": "2Mbit/s"}, trial={"meter": "gcra"}),
    policy(meter="trtcm-4115", excess={"limit": "2Mbit/s"}, allocator="gdrl"),
    policy(per="src"),
    policy(per="src/128", sources=16777216, allocator="static"),
    policy(allocator="gtb", meter="token-bucket"),
    policy(allocator="grd"),
    policy(allocator="adaptor", meter="gcra", guarantee="hard"),
    policy(allocator="adaptor", history="5s", step="500ms"),
    policy(allocator="grd", meter="token-bucket", burst="64KiB"),
    policy(weigh="tcp"),
    policy(weigh="tcp", allocator="fps"),
    policy(action="count"),
    policy(action="mark"),
    policy(action="mark", mark="ecn"),
    policy(action="mark", mark=63),
    policy(action="shape"),
    policy(action="shape", shape={"delay": "50ms", "queue": "1MB"}, slo={"p99": "1ms"}),
    policy(action="shape", slo={"p99": "1ms"}, place={}),
    policy(action="shape", slo={"p99": "1ms"}, place={"key": "src/24", "round": "2s",
                                                      "max-min": False}),
    policy(action="shape", shape={"drop": "codel", "target": "5ms", "interval": "100ms",
                                  "ecn": True}),
    policy(action="shape", count="packets", limit="500/s", shape={"queue": 100}),
    {"limiter": "me", "shape": {"pool": "90%"}},
    port("net_null0", buffers=2000000),
    port("net_null0", buffers="2.4M"),
    {"limiter": "me", "wires": [{"name": "w", "a": "a", "b": "b", "link": "follow"}]},
    match(vlan=4094),
    match(dst="2001:db8::/32"),
    match(proto="tcp"),
    match(proto=255),
    match(proto="icmp", dscp=1),
    match(**{"dst-port": 443}),
    match(**{"proto": 17, "dst-port": "53", "src-port": "1024-65535"}),
    port("0000:03:00.0"),
    port("net_af_packet0,iface=eth1", mtu=16000),
    port("net_af_packet0,iface=eth1", offloads="refuse"),
    port("net_null0", queues=64, buffer_size=16384),
    port("xdp:eth1", generic=True),
    gossip(1),
    gossip(2, key_file="/k"),
    gossip(2, key_file="/k", insecure=False),
    gossip(2, key_files=["/k"]),
    gossip(2, key_files=["/k", "/l"]),
    gossip(2, 2, key_file="/k", identity_file="/i"),
    gossip(2, 2, key_files=["/k", "/l"], identity_file="/i", identities="optional"),
    gossip(2, insecure=True),
    gossip(2, insecure=True, listen="0.0.0.0:7946"),
    gossip(2, insecure=True, estimator="tree"),
    policy(guarantee="soft"),
    policy(guarantee="hard"),
    policy(guarantee="hard", allocator="static", meter="gcra"),
    policy(allocator="gdrl"),
    policy(allocator="gdrl", guarantee="hard", indicator="loss", eta=0.5),
    quota(total="5TB"),
    quota(total="1.5TiB", period="month", limit="1Mbit/s", burst="64KiB", action="mark"),
    quota(total="500GB", period="24h"),
    quota(total=5000, count="packets", period="none"),
    quota(total="5M", count="flows", limit="5/s"),
    ledger(),
    ledger(store="/s", lease="5s", promise=0, drift=0, tree={"degree": 2}),
    ledger(overlay="ring"),
    ledger(overlay={"degree": 64}),
    ledger(overlay={"edges": [["a", "b"]]}),
    ledger(etcd={"endpoints": ["https://192.0.2.1:2379", "http://[::1]"]}),
    ledger(etcd={"endpoints": ["https://e"], "prefix": "/a/b", "ca": "/c", "cert": "/d",
                 "key": "/e"}),
]
BAD = [
    wire(default="deny"),
    wire(default={}),
    wire(default={"policy": "p", "limit": "1Mbit/s"}),
    match(src=[]),
    match(src="@"),
    match(src=["10.0.0.0/8", "@customers/1001.txt"]),
    policy(match=[]),
    policy(match=[{"src": "10.0.0.0/8"}, {"vlans": 7}]),
    schedule(zone="../passwd"),
    schedule(zone="Europe/"),
    schedule(days="weekdays"),
    schedule(days="mon,"),
    schedule(to="24:01"),
    schedule(limit="2Gbit"),
    schedule(bursts="1MB"),
    policy(schedule={"zone": "UTC", "entries": []}),
    policy(schedule={"entries": [{"from": "08:00", "to": "18:00", "limit": "2Gbit/s"}]}),
    quota(total="5TB", schedule={"zone": "UTC", "entries": [
        {"from": "08:00", "to": "18:00", "limit": "2Gbit/s"}]}),
    {"limiter": "me", "note": 3},
    {"limiter": "me", "include": [3]},
    {"limiter": "me", "workers": "2-"},
    match(dscp="af44"),
    policy(action="mark", mark="cs8"),
    policy(meter="phantom", classes={"by": "dscp", "weights": {"af": 4}}),
    policy(note={}),
    policy(notes="x"),
    {"limiter": "me", "ports": {"note": 3}},
    [],
    {},
    {"limiter": "a b"},
    {"limiter": "me", "tunnels": {"classify": "both"}},
    {"limiter": "me", "tunnels": {"classify": "inner", "vxlan-port": 65536}},
    {"limiter": "me", "tunnels": {"classify": "outer", "vxlan-port": 4789}},
    {"limiter": "me", "tunnels": {"vxlan-port": 4789}},
    {"limiter": "me", "worker": [1]},
    {"limiter": "me", "workers": [1, 1]},
    {"limiter": "me", "workers": []},
    {"limiter": "me", "control": {"socket": "x" * 108}},
    {"limiter": "me", "log": {"level": "all"}},
    {"limiter": "me", "log": {"format": "xml"}},
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
    policy(per="src", meter="phantom"),
    policy(meter="phantom", count="flows", limit="500/s"),
    policy(meter="phantom", classes={}),
    policy(meter="phantom", classes={"by": "flow", "n": 1000}),
    policy(meter="phantom", classes={"by": "dscp", "n": 64}),
    policy(meter="phantom", classes={"by": "flow", "weights": {"0": 1}}),
    policy(meter="phantom", classes={"by": "dscp", "weights": {"64": 1}}),
    policy(meter="phantom", classes={"by": "dscp", "weights": {"46": 101}}),
    policy(classes={"by": "flow"}),
    policy(meter="srtcm", excess={"limit": "2Mbit/s", "burst": "1MB"}),
    policy(meter="srtcm", peak={"limit": "2Mbit/s"}),
    policy(meter="trtcm"),
    policy(meter="trtcm", peak={}),
    policy(meter="trtcm", peak={"limit": "2/s"}),
    policy(meter="trtcm", peak={"limit": "2Mbit/s"}, action="drop"),
    policy(meter="trtcm", peak={"limit": "2Mbit/s"}, per="src", allocator="static"),
    policy(meter="trtcm", peak={"limit": "2Mbit/s"}, trial={"limit": "2Mbit/s"}),
    policy(meter="trtcm", peak={"limit": "2Mbit/s"}, colours={"green": "shape"}),
    policy(meter="trtcm", peak={"limit": "2Mbit/s"}, colours={"yellow": {"mark": 64}}),
    policy(meter="trtcm", peak={"limit": "2Mbit/s"}, colours={"dscp": {"ef": "red"}}),
    policy(meter="trtcm", peak={"limit": "2Mbit/s"},
           colours={"aware": True, "dscp": {"ef": "blue"}}),
    policy(meter="trtcm", count="packets", limit="500/s", peak={"limit": "2Mbit/s"}),
    policy(meter="trtcm", count="flows", limit="500/s", peak={"limit": "600/s"}),
    policy(meter="trtcm-4115", excess={"burst": "1MB"}),
    policy(meter="trtcm", allocator="adaptor", peak={"limit": "2Mbit/s"}),
    policy(colours={"red": "pass"}),
    policy(peak={"limit": "2Mbit/s"}),
    policy(sources=65536),
    policy(per="src", sources=1023),
    policy(allocator="gtb", meter="gcra"),
    policy(allocator="grd", meter="gcra"),
    policy(allocator="adaptor", meter="random-drop"),
    policy(allocator="fps", history="10s"),
    policy(step="1s"),
    policy(weigh="tcp", allocator="static"),
    policy(weigh="udp"),
    policy(mark="ecn"),
    policy(action="drop", mark="ecn"),
    policy(action="mark", mark=64),
    policy(shape={}),
    policy(action="drop", slo={"p99": "1ms"}),
    policy(action="shape", slo={}),
    policy(action="shape", place={}),
    policy(action="shape", slo={"p99": "1ms"}, place={"key": "src"}),
    policy(action="shape", slo={"p99": "1ms"}, place={"max_min": False}),
    policy(action="shape", shape={"delay": 100}),
    policy(action="shape", shape={"target": "5ms"}),
    policy(action="shape", shape={"drop": "tail", "ecn": True}),
    policy(action="shape", shape={"drop": "red"}),
    policy(action="shape", meter="gcra"),
    policy(action="shape", per="src"),
    policy(action="shape", allocator="grd"),
    policy(action="shape", count="flows", limit="5/s"),
    {"limiter": "me", "shape": {"pool": "100%"}},
    {"limiter": "me", "shape": {"pool": 0.5}},
    port("net_null0", buffers=4095),
    policy(interval="1m"),
    policy(allocator="magic"),
    policy(limt="1Mbit/s"),
    match(vlan=4095),
    match(dscp=64),
    match(proto="TCP"),
    match(proto=0),
    match(proto=256),
    match(**{"dst-port": 0}),
    match(**{"dst-port": 65536}),
    match(**{"dst-port": "1024-"}),
    match(**{"proto": "icmp", "dst-port": 443}),
    match(**{"proto": 50, "src-port": "1-2"}),
    match(dst="192.0.2.0"),
    match(direction="any"),
    port("eth0"),
    port("0000:03:00.8"),
    port("net_null0", mtu=16001),
    port("net_null0", offloads=False),
    port("net_null0", queues=0),
    port("net_null0", queues=65),
    port("net_null0", buffer_size=2047),
    port("xdp:eth1", generic="yes"),
    port("net_null0", buffer_size=16385),
    {"limiter": "me", "wires": [{"name": "w", "a": "a", "b": "b", "link": "both"}]},
    gossip(0),
    gossip(2),
    gossip(2, insecure=False),
    gossip(2, insecure=True, key_file="/k"),
    gossip(2, insecure=True, key_files=["/k"]),
    gossip(2, key_file="/k", key_files=["/k"]),
    gossip(2, key_files=[]),
    gossip(2, key_files=["/k", "/l", "/m"]),
    gossip(2, key_files=["/k", ""]),
    gossip(2, 1, key_file="/k", identity_file="/i"),
    gossip(2, 2, insecure=True, identity_file="/i"),
    gossip(2, key_file="/k", identities="optional"),
    gossip(2, 2, key_file="/k", identity_file="/i", identities="none"),
    gossip(2, insecure=True, listen="localhost:7946"),
    gossip(2, insecure=True, branching=0),
    gossip(2, insecure=True, estimator="push-sum"),
    gossip(2, insecure=True, estimator="flow-updating"),
    gossip(2, insecure=True, estimator="tree", compensate=True),
    policy(guarantee="strict"),
    policy(guarantee="hard", allocator="gtb"),
    policy(guarantee="hard", meter="random-drop"),
    policy(guarantee="hard", per="src", allocator="static"),
    policy(allocator="gdrl", guarantee="soft"),
    policy(allocator="gdrl", meter="hybrid", window="1s"),
    policy(allocator="gdrl", indicator="mood"),
    policy(allocator="gdrl", eta=-1),
    policy(indicator="loss"),
    policy(eta=1),
    policy(total="5TB"),
    policy(period="month"),
    quota(),
    quota(total="5EB"),
    quota(total=5000),
    quota(total="5TB", count="packets"),
    policy(weight=2),
    policy(guaranteed="500kbit/s"),
    policy(parent="a b"),
    policy(parent="link", weight=0),
    policy(parent="link", weight=1001),
    policy(parent="link", guaranteed="500kbit"),
    policy(parent="link", action="shape", slo={"p99": "10ms"}),
    policy(parent="link", meter="gcra"),
    policy(parent="link", allocator="grd"),
    policy(parent="plan", per="src", allocator="static", weight=2),
    quota(parent="link", total="5TB", weight=2),
    quota(parent="link", total="5TB", guaranteed="1Mbit/s"),
    policy(parent="link", trial={"limit": "1Mbit/s"}),
    quota(total="5TB", period="week"),
    quota(total="5TB", guarantee="hard"),
    quota(total="5TB", meter="token-bucket"),
    quota(total="5TB", per="src"),
    quota(total="5TB", burst="64KiB"),
    ledger(store=""),
    ledger(store="x" * 4000),
    ledger(lease=5),
    ledger(promise=101),
    ledger(drift=100001),
    ledger(overlay="star"),
    ledger(overlay={"degree": 1}),
    ledger(overlay={"degree": 2, "edges": [["a", "b"]]}),
    ledger(overlay={"edges": [["a", "a"]]}),
    ledger(overlay={"edges": [["a", "b", "c"]]}),
    ledger(tree={"degree": 65}),
    ledger(etcd={}),
    ledger(etcd={"endpoints": []}),
    ledger(etcd={"endpoints": ["192.0.2.1:2379"]}),
    ledger(etcd={"endpoints": ["https://e/v3"]}),
    ledger(etcd={"endpoints": ["https://e"], "prefix": "weir"}),
    ledger(etcd={"endpoints": ["https://e"], "prefix": "/weir/"}),
    ledger(etcd={"endpoints": ["https://e"], "cert": "/d"}),
]


def scenario(**members):
    return {"duration": "10s", "limiters": 2, "traffic": [],
            "policies": [{"name": "p", "limit": "1Mbit/s"}], **members}


def traffic(kind, **members):
    return scenario(traffic=[{"kind": kind, "limiter": "l1", **members}])


def event(**members):
    return scenario(events=[{"at": "1s", **members}])


GOOD_SCENARIOS = [
    scenario(),
    scenario(name="A title, with spaces", seed=0, duration="1h", warmup="1min", interval="1s"),
    scenario(limiters=["a", {"name": "b", "offset": "1h", "drift_ppm": -20.5}]),
    scenario(policies=[{"name": "p", "limit": "100/s", "count": "packets"}]),
    scenario(gossip={"branching": 3, "timeout": "1s", "datagram": "1400B", "estimator": "tree"}),
    scenario(gossip={"loans": "all"}),
    scenario(gossip={"estimator": "push-sum"}),
    scenario(gossip={"estimator": "flow-updating"}),
    scenario(network={"distribution": "pareto", "delay": "1ms", "spread": "1ms", "loss": 1}),
    scenario(ledger={"lease": "3s", "promise": 100, "drift": 0, "overlay": "ring"}, commit="0s"),
    scenario(ledger={"overlay": {"degree": 2}}),
    scenario(policies=[{"name": "p", "limit": "1Mbit/s", "guarantee": "hard"}]),
    scenario(policies=[{"name": "p", "allocator": "quota", "total": "1GB"}],
             ledger={"tree": {"degree": 3}}, expect={"spent_ratio": [0.9, 1]}),
    scenario(policies=[{"name": "p", "allocator": "quota", "total": "5M", "count": "packets",
                        "period": "24h", "limit": "10/s"}]),
    scenario(expect={"jain": [0.9, 1]}),
    traffic("tcp", congestion="cubic", size="1MiB"),
    traffic("quic", size="1MiB"),
    traffic("tcp", congestion="dctcp"),
    traffic("web", congestion="bbr", requests=0.5),
    traffic("tcp", ecn=True),
    traffic("web", congestion="cubic", ecn=True, requests=0.5),
    traffic("tcp", congestion="bbr", ecn=False),
    traffic("poisson", rate="1Mbit/s"),
    traffic("cbr", rate="1Mbit/s"),
    traffic("on-off", rate="1Mbit/s", on="1s", off="2s"),
    traffic("web", congestion="cubic", requests=0.5, sizes={"alpha": 1.2}),
    traffic("tcp", bottleneck={"rate": "1Mbit/s"}),
    event(partition=2),
    event(partition=[["l1"], ["l2"]]),
    event(heal=True),
    event(pause="l1", **{"for": "2s"}),
    event(crash="l1"),
    event(network={"loss": 0.5}),
    event(network={"pairs": [{"between": [["l1"], ["l2"]], "delay": "80ms", "loss": 0.1}]}),
    event(limit="4Mbit/s"),
    event(limit="4Mbit/s", burst="1MB", policy="p", limiters=["l2"], every="500ms"),
]
BAD_SCENARIOS = [
    {},
    scenario(name=""),
    scenario(seed=-1),
    scenario(duration=10),
    scenario(limiters=0),
    scenario(limiters=[]),
    scenario(limiters=["each"]),
    scenario(limiters=[{"name": "random"}]),
    scenario(limiters=[{"offset": "1h"}]),
    scenario(limiters=[{"name": "b", "drift_ppm": 100001}]),
    scenario(policies=[]),
    scenario(policies=[{"name": "p", "limit": "10Mbit"}]),
    scenario(gossip={"roster": []}),
    scenario(gossip={"branching": 0}),
    scenario(gossip={"estimator": "pushsum"}),
    scenario(ledger={"promise": 101}),
    scenario(ledger={"store": "/var/lib/weir/l1"}),
    scenario(ledger={"overlay": "star"}),
    scenario(ledger={"overlay": {"degree": 1}}),
    scenario(ledger={"tree": {"degree": 65}}),
    scenario(policies=[{"name": "p", "allocator": "quota"}]),
    scenario(policies=[{"name": "p", "allocator": "quota", "total": "1GB", "period": "week"}]),
    scenario(commit=2),
    scenario(network={"distribution": "gamma"}),
    scenario(network={"loss": 1.1}),
    scenario(expect={"beauty": [0, 1]}),
    scenario(expect={"jain": [0]}),
    scenario(trafic=[]),
    traffic("udp"),
    traffic("tcp", rate="1Mbit/s"),
    traffic("quic", congestion="cubic"),
    traffic("quic", ecn=True),
    traffic("tcp", congestion="bbr", ecn=True),
    traffic("tcp", congestion="dctcp", ecn=True),
    traffic("tcp", congestion="reno"),
    traffic("poisson"),
    traffic("poisson", rate="1Mbit/s", on="1s"),
    traffic("cbr"),
    traffic("cbr", rate="1Mbit/s", size="1MiB"),
    traffic("cbr", rate="1Mbit/s", on="1s"),
    traffic("web"),
    traffic("tcp", requests=1),
    traffic("web", requests=1, rate="1Mbit/s"),
    traffic("tcp", bottleneck={"queue": "20kB"}),
    traffic("tcp", count=0),
    event(),
    event(partition=1),
    event(heal=False),
    event(heal=True, crash="l1"),
    event(pause="l1"),
    event(crash="l1", **{"for": "2s"}),
    event(network={"losss": 0.5}),
    event(network={"pairs": [{"delay": "80ms"}]}),
    event(network={"pairs": [{"between": [["l1"]]}]}),
    event(network={"pairs": [{"between": [["l1"], ["l2"]], "rate": "1Mbit/s"}]}),
    event(limit="4Mbit"),
    event(crash="l1", every="1s"),
]


# Keys that every object can have, without an entry in a table.
REMARKS = {"$schema", "note"}


def schema_keys(schema):
    """Returns every key in the schema, at any depth."""
    keys = set(schema.get("properties", {}))
    for value in schema.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                keys |= schema_keys(part)
    return keys


def table_keys(source):
    """Returns every key of tables such as lib/policy/*keys.c: rows of a name, then its reader."""
    return set(re.findall(r'(?:\{"(?=[\w-]+",\s*(?:read|keep)_)|_KEY\(")([\w-]+)"', source))


def check_estimators(root, configuration, scenario):
    """Yields one line for each place that does not list the estimators of lib/policy/config.h."""
    source = (root / "lib/policy/config.h").read_text()
    limiters, papers = (re.findall(r'row\("([\w-]+)"', source.split(f"ESTIMATORS_OF_{who}(row)")[1]
                                   .split("\n\n")[0]) for who in ("LIMITERS", "PAPERS"))
    gossip = configuration["definitions"]["gossip"], scenario["properties"]["gossip"]
    for part, names in zip(gossip, (limiters, limiters + papers)):
        if part["properties"]["estimator"]["enum"] != names:
            yield f"the enum of estimators is not {names}"
    for page, names in (("configuration", limiters), ("weirsim", papers)):
        table = (root / f"doc/operate/{page}.md").read_text().split("\n### Estimators\n")[1]
        rows = re.findall(r"^\| `([\w-]+)` \|", table.split("\n|---")[1].split("\n#")[0],
                          re.MULTILINE)
        if rows != names:
            yield f"{page}.md: the table of estimators has {rows}, not {names}"


def load(path):
    """Returns a schema, and checks it by the rules of its draft."""
    schema = json.loads(path.read_text())
    jsonschema.validators.validator_for(schema).check_schema(schema)
    return schema


def documents(validator, examples, good, bad):
    """Yields one line for each document with the wrong verdict."""
    if not examples:
        yield "no example"
    for example in examples:
        for error in validator.iter_errors(json.loads(example.read_text())):
            yield f"{example.name}: {error.json_path}: {error.message}"
    for document in good:
        for error in validator.iter_errors(document):
            yield f"refused: {json.dumps(document)}: {error.message}"
    for document in bad:
        if validator.is_valid(document):
            yield f"not refused: {json.dumps(document)}"


def words(known, schema, reference):
    """Yields one line for each key that is missing in the reader, the schema or the manual."""
    for key in sorted(known ^ schema_keys(schema)):
        yield f"only one of the schema and the tables of its reader knows {key}"
    text = reference.read_text()
    for key in sorted(known):
        if f"`{key}`" not in text and f'"{key}"' not in text:
            yield f"{reference.name}: no word of `{key}`"


def check_configuration(root, schema):
    """Yields one line for each problem."""
    examples = sorted(path for path in (root / "config").glob("*.json")
                      if not path.name.endswith(".schema.json"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    yield from documents(validator, examples, GOOD, BAD)


def schemas_of(root, node, name):
    """Yields the schemas of a key below a node of the schema, through references and arrays."""
    if name in node.get("properties", {}):
        yield node["properties"][name]
    elif "$ref" in node:
        yield from schemas_of(root, root["definitions"][node["$ref"].rpartition("/")[2]], name)
    else:
        for inner in (node.get("items"), node.get("additionalProperties"), *node.get("anyOf", ()),
                      *node.get("oneOf", ())):
            if isinstance(inner, dict):
                yield from schemas_of(root, inner, name)


def check_key_examples(root, schema):
    """Yields one line for each example of weir.json(5) that the schema rejects."""
    spec = json.loads((root / "tools/keys/schema.json").read_text())
    validator = jsonschema.validators.validator_for(schema)
    resolver = jsonschema.RefResolver("", schema)
    for path, example in spec["examples"].items():
        nodes = [schema]
        for name in path.split("."):
            nodes = [inner for node in nodes for inner in schemas_of(schema, node, name)]
        if not any(validator(node, resolver=resolver).is_valid(example) for node in nodes):
            yield f"tools/keys/schema.json: examples: {path}: {json.dumps(example)}"


def check_scenario(root, schema, configuration):
    """Checks the scenarios. Their schema refers to that of configurations for common parts."""
    resolver = jsonschema.RefResolver("", schema, store={"weir.schema.json": configuration})
    validator = jsonschema.validators.validator_for(schema)(schema, resolver=resolver)
    examples = sorted((root / "config" / "scenarios").glob("*.json"))
    yield from documents(validator, examples, GOOD_SCENARIOS, BAD_SCENARIOS)
    known = table_keys((root / "app/weirsim/run/scenario_keys.c").read_text()) | REMARKS
    report = (root / "app/weirsim/run/report.c").read_text()
    summary = re.search(r"expectable\[\] = \{(.*?)\}", report, re.DOTALL)[1]
    own = {**schema, "properties": {**schema["properties"], "gossip": {}}}
    yield from words(known | set(re.findall(r'"(\w+)"', summary)), own,
                     root / "doc/operate/weirsim.md")


def check(root):
    """Yields one line for each problem."""
    configuration = load(root / "config" / "weir.schema.json")
    yield from check_configuration(root, configuration)
    yield from check_key_examples(root, configuration)
    scenario_schema = load(root / "config" / "scenario.schema.json")
    yield from check_scenario(root, scenario_schema, configuration)
    yield from check_estimators(root, configuration, scenario_schema)


def main():
    here = pathlib.Path(__file__).resolve().parents[2]
    wrong = list(check(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Wrong configurations: each message has the place, the value found and the right form.

Usage: check_wrong.py WEIR
"""

import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PATIENCE_S = 60
KINDS = 200  # minimum number of cases
SENTINEL = "@@here@@"
KEY = "5a" * 32 + "\n"

GOOD = {
    "limiter": "l0",
    "eal": ["--no-huge"],
    "ports": {"lan": {"device": "net_null0"}, "wan": {"device": "net_null1"}},
    "wires": [{"name": "egress", "a": "lan", "b": "wan"}],
    "workers": [1, 2],
    "idle": "poll",
    "shape": {"pool": "50%"},
    "control": {"socket": "/run/weir/x.sock", "cpu": 0},
    "gossip": {"roster": [{"name": "l0", "address": "10.0.0.1:7946"},
                          {"name": "l1", "address": "10.0.0.2:7946"}], "key_file": "KEY"},
    "ledger": {"store": "/var/lib/weir/l0", "lease": "5s"},
    "tunnels": {"classify": "inner", "vxlan-port": 4789},
    "unparsed": "strict",
    "policies": [
        {"name": "video", "match": {"wire": "egress", "src": "203.0.113.0/25"},
         "limit": "100Mbit/s", "burst": "12.5MB"},
        {"name": "month", "match": {"vlan": 1}, "allocator": "quota", "total": "5TB",
         "period": "month"},
        {"name": "calls", "match": {"vlan": 2}, "limit": "100Mbit/s", "action": "shape",
         "shape": {"delay": "50ms", "drop": "codel", "target": "5ms", "interval": "100ms"},
         "slo": {"p99": "1ms"}, "place": {"key": "src/24"}},
        {"name": "fair", "match": {"vlan": 3}, "limit": "100Mbit/s", "meter": "phantom",
         "classes": {"by": "dscp", "weights": {"46": 4}}},
        {"name": "marks", "match": {"vlan": 4}, "limit": "100Mbit/s", "action": "mark",
         "mark": 10},
        {"name": "login", "match": {"vlan": 5, "proto": "tcp", "dst-port": 443},
         "count": "flows", "limit": "100/min", "per": "src", "allocator": "static"},
        {"name": "moves", "match": {"vlan": 6}, "limit": "100Mbit/s", "allocator": "gdrl",
         "indicator": "spare"},
        {"name": "hours", "match": {"vlan": 8}, "limit": "100Mbit/s",
         "schedule": {"zone": "Europe/Berlin", "entries": [
             {"days": "mon-fri", "from": "08:00", "to": "18:00", "limit": "2Gbit/s"},
             {"days": "sat", "from": "08:00", "to": "18:00", "limit": "1Gbit/s"}]}},
        {"name": "old", "match": {"vlan": 7}, "limit": "100Mbit/s", "allocator": "adaptor",
         "history": "10s", "step": "1s"},
        {"name": "link", "limit": "1Gbit/s"},
        {"name": "client", "match": {"vlan": 9}, "parent": "link", "limit": "1Gbit/s",
         "guaranteed": "100Mbit/s", "weight": 2},
        {"name": "gold", "match": {"vlan": 10}, "limit": "100Mbit/s", "meter": "trtcm",
         "peak": {"limit": "200Mbit/s"},
         "colours": {"aware": True, "dscp": {"ef": "green"}, "yellow": {"mark": "af12"}}},
        {"name": "silver", "match": {"vlan": 11}, "limit": "100Mbit/s", "meter": "srtcm",
         "excess": {"burst": "5MB"}},
    ],
}

# A place, the value there, and words of the message at that place.
VALUES = [
    # limits
    ("policies[0].limit", "10Mbit", 'did you mean "10Mbit/s"?'),
    ("policies[0].limit", "10Mbps", 'did you mean "10Mbit/s"?'),
    ("policies[0].limit", "10mbit/s", 'did you mean "10Mbit/s"?'),
    ("policies[0].limit", "1,5Gbit/s", 'did you mean "1.5Gbit/s"?'),
    ("policies[0].limit", "10 Mbit / s", 'did you mean "10Mbit/s"?'),
    ("policies[0].limit", "10M", 'did you mean "10Mbit/s"?'),
    ("policies[0].limit", "10MB/s", "expected bit/s such as"),
    ("policies[0].limit", "ten", "expected bit/s such as"),
    ("policies[0].limit", "", "expected bit/s such as"),
    ("policies[0].limit", 10000000, "expected bit/s such as"),
    ("policies[0].limit", 1.5, "expected bit/s such as"),
    ("policies[0].limit", None, "expected bit/s such as"),
    ("policies[0].limit", True, "expected bit/s such as"),
    ("policies[0].limit", ["10Mbit/s"], "expected bit/s such as"),
    ("policies[0].limit", {"rate": "10Mbit/s"}, "expected bit/s such as"),
    ("policies[0].limit", "-5Mbit/s", "expected 8kbit/s to 400Gbit/s"),
    ("policies[0].limit", "0bit/s", "expected 8kbit/s to 400Gbit/s"),
    ("policies[0].limit", "7kbit/s", "expected 8kbit/s to 400Gbit/s"),
    ("policies[0].limit", "900Gbit/s", "expected 8kbit/s to 400Gbit/s"),
    ("policies[0].limit", "0.0001kbit/s", "expected a whole number of bit/s"),
    ("policies[0].limit", "500/s", "expected bit/s such as"),
    ("policies[5].limit", "100Mbit/s", "expected a number per time"),
    ("policies[5].limit", "100/m", "expected a number per time"),
    ("policies[5].limit", "10.3/min", 'such as "10.25/min"'),
    ("policies[5].limit", "0/s", "expected 1/d to 1G/s"),
    ("policies[7].schedule.zone", "CET+1/", 'expected a time zone such as "Europe/Berlin"'),
    ("policies[7].schedule.zone", "Europe/Atlantis", "that is in /usr/share/zoneinfo"),
    ("policies[7].schedule.zone", "/etc/localtime", 'expected a time zone such as'),
    ("policies[7].schedule.entries", [], "expected an array of 1 to 64 times of day"),
    ("policies[7].schedule.entries[0].days", "monday", 'expected weekdays such as "mon-fri"'),
    ("policies[7].schedule.entries[0].from", "8:00", 'expected a time of day from "00:00"'),
    ("policies[7].schedule.entries[0].to", "08:00", 'a whole day is "00:00" to "24:00"'),
    ("policies[7].schedule.entries[0].limit", "2Gbit", 'did you mean "2Gbit/s"?'),
    ("policies[7].schedule.entries[0].burst", "64M", 'did you mean "64MB"?'),
    ("policies[7].schedule.entries[1]",
     {"days": "fri", "from": "17:00", "to": "20:00", "limit": "1Gbit/s"},
     "overlaps entries[0]*Fri 17:00*change"),
    ("policies[0].burst", "64M", 'did you mean "64MB"?'),
    ("policies[0].burst", "64KB", 'did you mean "64kB"?'),
    ("policies[0].burst", 64, "expected bytes such as"),
    ("policies[0].burst", "0B", "expected 1B to 4GiB"),
    ("policies[0].burst", "5GiB", "expected 1B to 4GiB"),
    ("policies[0].burst", "0.5B", "expected a whole number of B"),
    ("policies[5].burst", "64kB", "expected a number such as 100"),
    ("policies[5].burst", -1, "expected 1 to 1G"),
    ("policies[1].total", "1 terabyte", 'did you mean "1TB"?'),
    ("policies[1].total", "0B", "expected 1B to 1000PB"),
    ("policies[1].period", "daily", 'expected "none", "month" or a time'),
    ("policies[1].period", "30s", "expected 1min to 8784h"),
    ("policies[1].period", "60.5s", "expected a whole number of seconds"),
    ("policies[1].guarantee", "hard", '"guarantee"*"allocator": "quota"*remove'),
    ("policies[1].meter", "gcra", '"meter"*"allocator": "quota"*remove'),
    ("wires[0].default", "deny", 'expected "pass" or "drop"'),
    ("wires[0].default", 3, 'expected "pass", "drop" or {"policy": NAME}'),
    ("wires[0].default.policy", "vidoe", 'did you mean "video"?'),
    # matches
    ("policies[0].match", 7, "expected an object"),
    ("policies[0].match", [], "expected at least one match"),
    ("policies[0].match.src", "203.0.113.7", 'did you mean "203.0.113.7/32"?'),
    ("policies[0].match.src", "2001:db8::7", 'did you mean "2001:db8::7/128"?'),
    ("policies[0].match.src", "203.0.113.7/25", 'as in "203.0.113.0/25"'),
    ("policies[0].match.src", "2001:db8::1/64", 'as in "2001:db8::/64"'),
    ("policies[0].match.src", "203.0.113.0/33", "has at most 32 bits"),
    ("policies[0].match.src", "2001:db8::/129", "has at most 128 bits"),
    ("policies[0].match.src", "203.0.113.0/255.255.255.0", "expected a prefix such as"),
    ("policies[0].match.src", "2001:db8:::/64", "expected a prefix such as"),
    ("policies[0].match.src", "203.0.113/24", "expected a prefix such as"),
    ("policies[0].match.src", "example.net", "expected a prefix such as"),
    ("policies[0].match.src", [], "expected at least one prefix"),
    ("policies[0].match.src", "@none.txt", "No such file or directory"),
    ("policies[0].match.src", "@", "expected the path of a file of prefixes"),
    ("policies[0].match.src", "::ffff:203.0.113.0/121", 'did you mean "203.0.113.0/25"?'),
    ("policies[0].match.dst", "2001:db8::/32", None),
    ("policies[0].match.wire", "egres", 'did you mean "egress"?'),
    ("policies[0].match.wire", 0, 'expected the name of a wire in "wires"'),
    ("policies[0].match.direction", "out", 'expected "a-to-b" or "b-to-a"'),
    ("policies[0].match.direction", "b-to-b", 'did you mean'),
    ("policies[1].match.vlan", 4095, "expected a whole number from 0 to 4094"),
    ("policies[1].match.vlan", -1, "expected a whole number from 0 to 4094"),
    ("policies[1].match.vlan", "1", "expected a whole number from 0 to 4094"),
    ("policies[1].match.vlan", 1.0, "expected a whole number from 0 to 4094"),
    ("policies[1].match.dscp", 64, "expected a DSCP from 0 to 63"),
    ("policies[1].match.dscp", "af44", 'or its name such as "ef", "af41"'),
    ("policies[1].match.dscp", "cs8", 'or its name such as "ef", "af41"'),
    ("policies[1].match.dscp", "46", 'or its name such as "ef", "af41"'),
    ("policies[5].match.proto", "TCP", 'did you mean "tcp"?'),
    ("policies[5].match.proto", "tpc", 'did you mean "tcp"?'),
    ("policies[5].match.proto", "6", "expected a protocol such as"),
    ("policies[5].match.proto", 0, "expected a protocol such as"),
    ("policies[5].match.proto", 256, "expected a protocol such as"),
    ("policies[5].match.dst-port", 0, "expected a port such as 443"),
    ("policies[5].match.dst-port", 65536, "expected a port such as 443"),
    ("policies[5].match.dst-port", "2000-1000", 'did you mean "1000-2000"?'),
    ("policies[5].match.dst-port", "https", "expected a port such as 443"),
    ("policies[5].match.dst-port", "80,443", "expected a port such as 443"),
    ("policies[5].match.src-port", "1-", "expected a port such as 443"),
    ("policies[5].match.src-port", [443], "expected a port such as 443"),
    # how it is limited
    ("policies[0].name", "my video", "expected a name of 1 to 63 characters"),
    ("policies[0].name", "", "expected a name of 1 to 63 characters"),
    ("policies[0].name", "vid\u00e9o", "expected a name of 1 to 63 characters"),
    ("policies[0].name", "x" * 64, "expected a name of 1 to 63 characters"),
    ("policies[0].name", 7, "expected a name of 1 to 63 characters"),
    ("policies[1].name", "video", "same name as policies[0]*unique"),
    ("policies[0].action", "dorp", 'did you mean "drop"?'),
    ("policies[0].action", "Drop", 'did you mean "drop"?'),
    ("policies[0].action", "police", 'expected "drop" or "mark" or "count" or "shape"'),
    ("policies[0].action", ["drop"], 'expected "drop" or'),
    ("policies[0].meter", "tokenbucket", 'did you mean "token-bucket"?'),
    ("policies[0].meter", "leaky", 'expected "token-bucket" or'),
    ("policies[0].meter", "fixed-window", None),
    ("policies[0].allocator", "fsp", 'did you mean "fps"?'),
    ("policies[0].allocator", "magic", "expected one of"),
    ("policies[0].allocator", "central", "expected an allocator that can share"),
    ("policies[0].count", "bits", "expected"),
    ("policies[0].count", "packet", 'did you mean "packets"?'),
    ("policies[0].accounting", "L3", 'did you mean "l3"?'),
    ("policies[0].guarantee", "strict", 'expected "soft" or "hard"'),
    ("policies[0].guarantee", "conserve", 'did you mean "hard"?'),
    ("policies[0].weigh", "udp", 'expected "all" or "tcp"'),
    ("policies[0].window", "1s", '"window" requires*"meter"'),
    ("policies[0].interval", "50", "expected a time such as"),
    ("policies[0].interval", "1ms", "expected 10ms to 1s"),
    ("policies[0].interval", "50 msec", 'did you mean "50ms"?'),
    ("policies[0].interval", 50, "expected a time such as"),
    ("policies[0].ewma", 1.5, "expected a number from 0 to less than 1"),
    ("policies[0].ewma", "0.5", "expected a number from 0 to less than 1"),
    ("policies[0].mark", "ecn", '"mark" requires*"action"'),
    ("policies[0].shape", {}, '"shape" requires*"action"'),
    ("policies[0].slo", {"p99": "1ms"}, '"slo" requires*"action"'),
    ("policies[0].place", {}, '"place" requires*"slo"'),
    ("policies[0].total", "1TB", '"total" requires*"allocator"'),
    ("policies[0].period", "month", '"period" requires*"allocator"'),
    ("policies[0].sources", 65536, '"sources" requires*"per"'),
    ("policies[0].indicator", "spare", '"indicator" requires*"allocator"'),
    ("policies[0].eta", 1, '"eta" requires*"allocator"'),
    ("policies[0].history", "10s", '"history" requires*"allocator"'),
    ("policies[0].step", "1s", '"step" requires*"allocator"'),
    ("policies[0].classes", {"by": "flow"}, '"classes" requires*"meter"'),
    ("policies[2].shape.delay", "100", "expected a time such as"),
    ("policies[2].shape.delay", "11s", "expected 1ms to 10s"),
    ("policies[2].shape.drop", "red", 'expected "tail" or "codel"'),
    ("policies[2].shape.drop", "tial", 'did you mean "tail"?'),
    ("policies[2].shape.target", "200ms", "expected less than the interval"),
    ("policies[2].shape.ecn", "yes", "expected true or false"),
    ("policies[2].shape.queue", "1", "expected bytes such as"),
    ("policies[2].slo.p99", "1", "expected a time such as"),
    ("policies[2].place.key", "src", 'expected "src/N"'),
    ("policies[2].place.key", "src/200", 'expected "src/N"'),
    ("policies[2].place.round", "1ms", "expected 100ms to 60s"),
    ("policies[2].place.concentrate", 1, "expected true or false"),
    ("policies[2].per", "src", '"per"*"action": "shape"*remove'),
    ("policies[3].classes.by", "flwo", 'did you mean "flow"?'),
    ("policies[3].classes.n", 64, '"n" requires*"by"'),
    ("policies[3].classes.weights.46", 0, "expected a whole number from 1 to 100"),
    ("policies[3].classes.weights.64", 1, 'expected keys from "0" to "63"'),
    ("policies[3].classes.weights.af44", 1, 'names such as "af41"'),
    ("policies[3].classes.weights.EF", 1, '"ef" and "46"'),
    ("policies[3].classes.weights", 4, "expected an object such as"),
    ("policies[0].peak", {"limit": "1Gbit/s"}, '"peak" requires "meter": "trtcm"'),
    ("policies[0].colours", {"red": "drop"}, '"colours" requires*"meter"'),
    ("policies[11].peak.limit", "200Mbit", 'did you mean "200Mbit/s"?'),
    ("policies[11].peak.limit", "50Mbit/s", "expected at least the limit, 100Mbit/s"),
    ("policies[11].peak.burst", "1B", "expected at least the burst of the limit"),
    ("policies[11].excess", {"limit": "1Gbit/s"}, '"excess" requires*"meter"'),
    ("policies[11].action", "drop", '"action"*"meter": "trtcm"*"colours"'),
    ("policies[11].colours.aware", "yes", "expected true or false"),
    ("policies[11].colours.yellow", "drpo", 'did you mean "drop"?'),
    ("policies[11].colours.yellow", 12, 'or a mark such as {"mark": "af12"}'),
    ("policies[11].colours.yellow.mark", "af99", 'its name such as "af41"'),
    ("policies[11].colours.red", "shape", 'expected "pass" or "drop" or "count"'),
    ("policies[11].colours.dscp.af44", "red", 'names such as "af41"'),
    ("policies[11].colours.dscp.46", "red", '"ef" and "46"'),
    ("policies[11].colours.dscp.ef", "gren", 'did you mean "green"?'),
    ("policies[11].colours.dscp", "af11", "expected an object such as"),
    ("policies[12].excess.limit", "50Mbit/s", '"limit"*"meter": "srtcm"*remove'),
    ("policies[12].excess.burst", "5", "expected bytes such as"),
    ("policies[4].mark", 64, 'expected "ecn" or a DSCP'),
    ("policies[4].mark", "ENC", 'expected "ecn" or a DSCP'),
    ("policies[4].mark", "af40", 'its name such as "af41"'),
    ("policies[5].per", "dst", 'expected "src"'),
    ("policies[5].per", "src/129", 'expected "src"'),
    ("policies[5].per", "src/0", 'expected "src"'),
    ("policies[5].sources", 1023, "expected a whole number from 1024"),
    ("policies[5].allocator", "fps", None),
    ("policies[6].indicator", "mood", "expected one of"),
    ("policies[6].eta", -1, "expected a number from 0"),
    ("policies[6].guarantee", "soft", '"guarantee"*"allocator": "gdrl"*"hard"'),
    ("policies[8].history", "100ms", "expected 200ms to 1h"),
    ("policies[8].step", "10ms", "expected 100ms to 600s"),
    ("policies[8].history", "1.5s", "expected"),
    ("policies[8].meter", "random-drop", "with the allocator"),
    # hierarchies
    ("policies[10].parent", "lnik", 'did you mean "link"?'),
    ("policies[10].parent", "client", "expected a policy that is not below this one"),
    ("policies[10].parent", 9, "expected the name of another policy"),
    ("policies[9].limit", "50Mbit/s", "expected at least 100Mbit/s*children"),
    ("policies[10].weight", 0, "expected a whole number from 1 to 1000"),
    ("policies[10].weight", "2", "expected a whole number from 1 to 1000"),
    ("policies[10].guaranteed", "100Mbit", 'did you mean "100Mbit/s"?'),
    ("policies[10].guaranteed", "2Gbit/s", "expected at most its limit, 1Gbit/s"),
    ("policies[9].action", "shape", '"action"*child policies*use'),
    ("policies[10].meter", "gcra", '"meter"*"parent"*"token-bucket"'),
    ("policies[9].allocator", "grd", '"allocator"*"parent"*use'),
    ("policies[10].accounting", "l2", "expected the same as its parent"),
    ("policies[0].weight", 2, '"weight" requires*"parent"'),
    ("policies[0].guaranteed", "1Mbit/s", '"guaranteed" requires*"parent"'),
    # the limiter
    ("limiter", "a b", "expected a name of 1 to 63 characters"),
    ("limiter", 3, "expected a name of 1 to 63 characters"),
    ("eal", "--no-huge -m 640", "expected an array of at most 32 strings"),
    ("eal[0]", 3, "expected a printable string"),
    ("eal[0]", "", "expected a printable string"),
    *((f"eal[{at}]", argument, f"*{words}") for at, argument, words in (
        (0, "-l", "choose CPUs"), (0, "-l0-1", "choose CPUs"), (0, "-c3", "choose CPUs"),
        (0, "--lcores=0@1", "choose CPUs"), (0, "--lco=0", "choose CPUs"),
        (0, "-S1", "choose CPUs"), (0, "--main-lcore=1", "the CPU of control"),
        (0, "--proc-type=secondary", "primary process"), (0, "--proc-type", "primary process"),
        (0, "--proc=auto", "primary process"), (0, "-h", "weir --help"), (0, "-vh", "weir --help"),
        (0, "--help", "weir --help"), (0, "--", "ignore all that follows"))),
    ("ports.lan.device", "net_af_packet0", 'net_af_packet0,iface=NAME'),
    ("ports.lan.device", "net_af_xdp0,start_queue=1", 'net_af_xdp0,iface=NAME'),
    ("policies[0].name", "-", 'does not begin with "-"'),
    ("policies[0].name", "-rf", 'does not begin with "-"'),
    ("ports", [], "expected an object of ports by name"),
    ("ports.lan", "eth0", "expected an object"),
    ("ports.lan.device", "03:00.0", 'did you mean "0000:03:00.0"?'),
    ("ports.lan.device", "eth1", 'did you mean "net_af_packet0,iface=eth1"?'),
    ("ports.wan.device", "net_null0", "same device as ports.lan*unique"),
    ("ports.lan.device", "0000:03:00.8", "expected a PCI address such as"),
    ("ports.lan.device", 3, "expected a PCI address such as"),
    ("ports.lan.mtu", "1500", "expected a whole number from 64 to 16000"),
    ("ports.lan.mtu", 20000, "expected a whole number from 64 to 16000"),
    ("ports.lan.buffers", 100, "expected 4096 to 100M"),
    ("ports.lan.buffers", "2 M packets", "expected a number such as"),
    ("ports.lan.queues", 0, "expected a whole number from 1 to 64"),
    ("ports.lan.buffer_size", "9000", "expected a whole number from 2048 to 16384"),
    ("ports.lan.generic", True, '"generic" requires*"device"*xdp'),
    ("ports.lan.generic", 1, "expected true or false"),
    ("ports.lan.offloads", False, 'expected "fix" or "refuse" or "ignore"'),
    ("ports.lan.offloads", "ingore", 'did you mean "ignore"?'),
    ("wires", {}, "expected an array of wires"),
    ("wires[0].a", "lna", 'did you mean "lan"?'),
    ("wires[0].b", "uplink", 'expected the name of a port in "ports"'),
    ("wires[0].b", "lan", "expected another port than at the other end"),
    ("wires[0].distribute", "yes", "expected true or false"),
    ("wires[0].link", "both", 'expected "keep" or "follow"'),
    ("wires[0].name", "a/b", "expected a name of 1 to 63 characters"),
    ("workers", 2, "expected an array of 1 to 64 CPU numbers"),
    ("workers", [], "expected an array of 1 to 64 CPU numbers"),
    ("workers", "2-", 'such as "2-5,8"'),
    ("workers", "5-2", 'such as "2-5,8"'),
    ("workers", "2,2", "expected each CPU once"),
    ("workers", "0-1023", 'such as "2-5,8"'),
    ("workers[0]", 5000, "expected a CPU number from 0 to 1023"),
    ("workers[1]", 1, "expected each CPU once"),
    ("workers[0]", "1", "expected a CPU number from 0 to 1023"),
    ("idle", "fast", 'expected "poll" or "sleep"'),
    ("idle", "slep", 'did you mean "sleep"?'),
    ("shape.pool", "100%", 'expected a share from "1%" to "99%"'),
    ("shape.pool", 0.5, 'expected a share from "1%" to "99%"'),
    ("control", 3, "expected an object"),
    ("control.socket", "x" * 108, "expected a path of 1 to 107"),
    ("control.socket", "", "expected a path of 1 to 107"),
    ("control.cpu", "0", "expected a whole number from 0 to 1023"),
    ("control.watchdog", "1ms", "expected 500ms to 3600s"),
    ("tunnels.classify", "both", 'expected "outer" or "inner"'),
    ("tunnels.vxlan-port", 65536, "expected a whole number from 1 to 65535"),
    ("unparsed", "dorp", 'did you mean "drop"?'),
    # the group
    ("gossip", [], "expected an object"),
    ("gossip.roster", [], '"l0"*missing*add'),
    ("gossip.roster", {"l0": "10.0.0.1"}, "expected an array of the limiters"),
    ("gossip.roster[0].name", "l9", None),
    ("gossip.roster[1].name", "l0", "same name as*unique"),
    ("gossip.roster[1].address", "10.0.0.1:7946", "same address as*unique"),
    ("gossip.roster[1].address", "10.0.0.2", "expected an address and port"),
    ("gossip.roster[1].address", "10.0.0.2:70000", "expected an address and port"),
    ("gossip.roster[1].address", "2001:db8::1:7946", "expected an address and port"),
    ("gossip.roster[1].address", "[2001:db8::1]:7946", "expected IPv4"),
    ("gossip.roster[1].address", "fra.example.net:7946", "names are not looked up"),
    ("gossip.roster[1].address", "0.0.0.0:7946", "that the other limiters can send to"),
    ("gossip.roster[1].address", "224.0.0.1:7946", "expected the address of one host"),
    ("gossip.roster[1].public_key", "abc", "weir --new-identity"),
    ("gossip.listen", "eth0", "expected an address and port"),
    ("gossip.key_file", "/tmp", "a directory: expected a regular file"),
    ("gossip.key_file", "OPEN", "chmod 600"),
    ("gossip.key_file", "SHORT", "as written by weir --new-key"),
    ("gossip.key_file", "EMPTY", "as written by weir --new-key"),
    ("gossip.key_file", "", "expected a path"),
    ("gossip.key_file", 3, "expected a path"),
    ("gossip.insecure", True, '"insecure"*"key_file"*remove'),
    ("gossip.insecure", "yes", "expected true or false"),
    ("gossip.branching", 0, "expected a whole number from 1 to 64"),
    ("gossip.timeout", 1, "expected a time such as"),
    ("gossip.timeout", "1", "expected a time such as"),
    ("gossip.timeout", "1ms", "expected 100ms to 3600s"),
    ("gossip.datagram", "100", "expected bytes such as"),
    ("gossip.estimator", "trees", 'did you mean "tree"?'),
    ("gossip.estimator", "push-sum", 'expected "state" or "tree"*only weirsim'),
    ("gossip.estimator", "flow-updating", 'expected "state" or "tree"*only weirsim'),
    ("gossip.compensate", True, 'did you mean "estimator"?'),
    ("gossip.identities", "optional", '"identities" requires*"identity_file"'),
    ("gossip.identity_file", "/nonexistent/id", None),
    ("gossip.sources", "all", 'expected "roster" or "any"'),
    # hard limits
    ("ledger.store", "", "expected a path"),
    ("ledger.lease", "1", "expected a time such as"),
    ("ledger.lease", "500ms", "expected more than the timeout of gossip"),
    ("ledger.promise", 101, "expected a whole number from 0 to 100"),
    ("ledger.drift", -1, "expected a whole number from 0"),
    ("ledger.overlay", "star", 'expected "ring"'),
    ("ledger.overlay", {"degree": 1}, None),
    ("ledger.tree", {"degree": 1}, None),
    ("ledger.etcd", {}, None),
    # remarks
    ("note", 3, "expected a text"),
    ("policies[0].note", {"a": 1}, "expected a text"),
    ("$schema", 3, "expected the path or the URL of a schema"),
    ("include", 3, "expected the path of a file"),
    ("include", "nonexistent.json", "No such file or directory"),
    ("include", "/dev/null", "expected a regular file"),
    ("include[0]", "nonexistent.d/", "No such file or directory"),
]

# An unknown key, and words of the message.
UNKNOWN = [
    ("limitr", 'did you mean "limiter"?'), ("polices", "policies"),
    ("colour", '"colours" in "policies[]"'),
    ("Workers", 'did you mean "workers"?'), ("ports.lan.mut", 'did you mean "mtu"?'),
    ("wires[0].nmae", 'did you mean "name"?'), ("control.sokcet", 'did you mean "socket"?'),
    ("gossip.rostr", 'did you mean "roster"?'), ("gossip.key-file", 'did you mean "key_file"?'),
    ("gossip.roster[0].adress", 'did you mean "address"?'), ("ledger.stroe", "store"),
    ("policies[0].limti", 'did you mean "limit"?'), ("policies[0].prot", '"proto" in "match"'),
    ("policies[0].match.dts", 'did you mean "dst"?'),
    ("policies[0].match.dst_port", 'did you mean "dst-port"?'),
    ("policies[2].shape.dealy", 'did you mean "delay"?'),
    ("policies[11].colours.yelow", 'did you mean "yellow"?'),
    ("policies[11].peak.limti", 'did you mean "limit"?'),
    ("policies[3].classes.wieghts", 'did you mean "weights"?'),
    ("comment", "expected a key such as"),
]

# Required keys.
MISSING = ["limiter", "policies[0].name", "policies[0].limit", "policies[1].total",
           "ports.lan.device", "wires[0].a", "wires[0].name", "gossip.roster", "gossip.key_file",
           "gossip.roster[1].address", "gossip.roster[1].name", "policies[3].classes.by",
           "policies[2].slo.p99", "policies[11].peak.limit", "policies[12].excess.burst"]

# A change of the text (a pattern and its replacement), and the words of the message.
SLIPS = [
    ("one interface for two ports", r'"net_null0"(?:.|\n)*?"net_null1"',
     '"net_af_packet0,iface=x"}, "wan": {"device": "net_af_packet1,iface=x"',
     "another device than that of ports.lan"),
    ("a large MTU of AF_XDP", r'"net_null0"', '"net_af_xdp0,iface=x", "mtu": 3303',
     "expected at most 3262"),
    ("large buffers of AF_XDP", r'"net_null0"', '"net_af_xdp0,iface=x", "buffer_size": 3585',
     "expected at most 3584"),
    ("trailing comma", r'("idle": "poll"),', r'\1,,', "a comma too many"),
    ("comma before }", r'"vxlan-port": 4789', '"vxlan-port": 4789,', "a trailing comma"),
    ("comma before ]", r'"--no-huge"', '"--no-huge",', "a trailing comma"),
    ("comma missing", r'("idle": "poll"),', r'\1', "a comma that is missing"),
    ("colon missing", r'"idle": "poll"', '"idle" "poll"', "a colon that is missing"),
    ("equals sign", r'"idle": "poll"', '"idle" = "poll"', "an equals sign"),
    ("value missing", r'"idle": "poll"', '"idle": ', "a key without a value"),
    ("single quotes", r'"idle": "poll"', "'idle': 'poll'", "single quotes"),
    ("typographic quotes", r'"idle": "poll"', "\u201cidle\u201d: 1", "typographic quotes"),
    ("bare key", r'"idle": "poll"', 'idle: "poll"', "a key without double quotes"),
    ("bare value", r'"idle": "poll"', '"idle": poll', "a text without double quotes"),
    ("Python's True", r'"idle": "poll"', '"idle": True', "write true or false"),
    ("Python's None", r'"idle": "poll"', '"idle": None', "leave the key out"),
    ("bare quantity", r'"idle": "poll"', '"idle": 10Mbit/s', "write it in \"double quotes\""),
    ("leading zero", r'"idle": "poll"', '"idle": 01', "take the zero away"),
    ("plus sign", r'"idle": "poll"', '"idle": +1', "a number in another form"),
    ("large number", r'"idle": "poll"', '"idle": 99999999999999999999', "too large"),
    ("quote missing", r'"idle": "poll",', '"idle": "poll,', "its line does not close"),
    ("tab in a text", r'"idle": "poll"', '"idle": "po\tll"', "a tab in a text"),
    ("backslash", r'"idle": "poll"', r'"idle": "C:\\poll"'.replace("\\\\", "\\"), None),
    ("NUL", r'"idle": "poll"', '"idle": "po\0ll"', "control character 0"),
    ("NUL behind a number", r'"idle": "poll"', '"idle": 1\0', "a NUL character"),
    ("escaped NUL", r'"idle": "poll"', '"idle": "po\\u0000ll"', "a NUL character"),
    ("hash comment", r'"idle": "poll",', '"idle": "poll", # why', "write // or /* */"),
    ("open comment", r'\Z', '/* why', "a comment that nothing closes"),
    ("blank that is none", r'"idle": "poll"', '"idle":\u00a0"poll"', "U+00A0"),
    ("conflict", r'"idle": "poll",', '\n<<<<<<< HEAD\n"idle": "poll",', "a merge left"),
    ("conflict, second", r'"idle": "poll",', '"idle": "poll",\n=======\n', "a merge left"),
    ("conflict, third", r'"idle": "poll",', '"idle": "poll",\n>>>>>>> x\n', "a merge left"),
    ("brace missing", r'\}\s*\Z', '', "the end of the file"),
    ("bracket wrong", r'\]\s*\}\s*\Z', '} }', 'for the "["'),
    ("brace too many", r'\Z', '}', "more after the end"),
    ("two documents", r'\Z', '{}', "more after the end"),
    ("duplicate key", r'"idle": "poll",', '"idle": "poll", "idle": "poll",', "it once"),
    ("BOM", r'\A', '\ufeff', "byte order mark"),
    ("empty", r'(?s)\A.*\Z', '', "expected a JSON object"),
    ("comments alone", r'(?s)\A.*\Z', '// why', "expected a JSON object"),
    ("array", r'(?s)\A.*\Z', '[]', "expected an object"),
    ("text", r'(?s)\A.*\Z', '"weir"', "expected an object"),
    ("YAML", r'(?s)\A.*\Z', 'limiter: l0\nidle: poll\n', "a text without double quotes"),
    ("INI", r'(?s)\A.*\Z', '[weir]\nlimiter = l0\n', "a text without double quotes"),
]

# Files and groups that another machine can have, and the words of the warning.
ABSENT = [
    ("gossip.key_file", "/nonexistent/gossip.key",
     "copy it from another limiter of the group; only for a new group: "
     "weir --new-key /nonexistent/gossip.key"),
    ("control.group", "no-such-group-here", "groupadd no-such-group-here"),
    ("control.operators", "no-such-group-here", "groupadd no-such-group-here"),
    ("ledger.etcd", {"endpoints": ["https://e"], "user": "u", "password_file": "/nonexistent/p"},
     "not on this machine, where a start would fail"),
    ("workers[1]", 127, "not on this machine, where a start would fail"),
    ("control.cpu", 126, "not on this machine, where a start would fail"),
    ("control.socket", "x.sock", "weirctl finds it by a whole path"),
    ("gossip.roster[1].address", "127.0.0.1:7946", "do not reach each other"),
    ("policies[0].match", {"src": ["203.0.113.0/25", "2001:db8::/32"], "dst": "10.0.0.0/8"},
     '"dst" has no prefix of IPv6'),
    ("include", "/usr/share/zoneinfo", "no file in it is called *.json"),
]

# Bytes of a whole file.
FILES = [
    ("UTF-16", json.dumps(GOOD).encode("utf-16"), "UTF-16"),
    ("UTF-16 without its mark", json.dumps(GOOD).encode("utf-16-le"), "UTF-16"),
    ("UTF-32", json.dumps(GOOD).encode("utf-32"), "UTF-32"),
    ("Latin-1", b'{"limiter": "\xe9"}', "no UTF-8"),
    ("gzip", b"\x1f\x8b\x08\0", "gunzip"),
    ("deep", b"[" * 100000, "brackets open"),
    ("blanks", b" \n\t\n", "expected a JSON object"),
]


def steps(path):
    """Splits a path: policies[0].limit → ["policies", 0, "limit"]."""
    return [int(part[1:-1]) if part[0] == "[" else part
            for part in re.findall(r"\[\d+\]|[^.\[\]]+", path)]


def put(document, path, value):
    """Returns the document with another value at a path; makes the objects above it."""
    document = copy.deepcopy(document)
    at = document
    *above, last = steps(path)
    for step, after in zip(above, [*above[1:], last]):
        if isinstance(step, str):
            at.setdefault(step, [None] if isinstance(after, int) else {})
        at = at[step]
    at[last] = value
    return document


def remove(document, path):
    """Returns the document without a key."""
    document = copy.deepcopy(document)
    at = document
    *above, last = steps(path)
    for step in above:
        at = at[step]
    del at[last]
    return document


def shown(path):
    """Returns a path in the form of messages."""
    return re.sub(r"(^|\.)(\$\w+)", r'["\2"]', path)


def has_parts(message, words):
    """Returns true if the message has the parts between the * of the words, in that order."""
    return re.search(".*".join(map(re.escape, words.split("*"))), message, re.S) is not None


class Case:
    """A file, and the parts of its message."""

    def __init__(self, name, text, words, path=None, line=None):
        self.name, self.words, self.path, self.line = name, words, path, line
        self.bytes = text if isinstance(text, bytes) else text.encode("utf-8")

    def wrong(self, said):
        """Returns the fault of the messages, or None."""
        errors = [one for one in said if one["severity"] == "error"]
        about = [one for one in errors if self.path in (None, one.get("path")) and
                 has_parts(one["message"], self.words or "")]
        if not errors:
            return "accepted"
        if not about:
            return f"said {[one['message'] for one in errors]}"
        if not any(one.get("found") and (one.get("expected") or one.get("remedy") or
                                         not self.path) for one in about):
            return f"neither found nor expected: {about}"
        if self.line and not any(one.get("line") == self.line for one in about):
            return f"line {self.line} expected: {about}"
        return None


def line_of(document, path):
    """Returns the line at which json.dumps() puts the value at a path."""
    text = json.dumps(put(document, path, SENTINEL), indent=1)
    return text[:text.index(SENTINEL)].count("\n") + 1


def cases(good):
    """Yields all cases."""
    for path, value, words in VALUES:
        document = put(good, path, value)
        inner = words is None
        yield Case(f"{path} = {json.dumps(value)[:40]}", json.dumps(document, indent=1), words,
                   None if inner else shown(path), None if inner else line_of(good, path))
    for path, words in UNKNOWN:
        yield Case(f"{path}", json.dumps(put(good, path, 3), indent=1), words, path,
                   line_of(good, path))
    for path in MISSING:
        yield Case(f"no {path}", json.dumps(remove(good, path), indent=1), "missing: expected",
                   path)
    text = json.dumps(good, indent=1)
    for name, pattern, becomes, words in SLIPS:
        changed, n = re.subn(pattern, lambda match, new=becomes: match.expand(new)
                             if "\\1" in new else new, text, count=1)
        if n != 1:
            raise ValueError(f"{name}: nothing to change")
        yield Case(name, changed, words)
    for name, content, words in FILES:
        yield Case(name, content, words)


def write_keys(folder):
    """Writes key files, valid and invalid, under the names that cases use."""
    rows = {"KEY": (KEY, 0o600), "OPEN": (KEY, 0o644), "SHORT": ("5a5a\n", 0o600),
            "EMPTY": ("", 0o600)}
    for name, (text, mode) in rows.items():
        path = folder / name
        path.write_text(text, encoding="ascii")
        path.chmod(mode)


def resolve_keys(document, folder):
    """Replaces names of key files by their paths in the folder."""
    for name in (b"KEY", b"OPEN", b"SHORT", b"EMPTY"):
        document = document.replace(b'"key_file": "' + name + b'"',
                                    b'"key_file": "' + os.fsencode(folder / name.decode()) + b'"')
    return document


def check(weir, files):
    """Returns the exit status, the messages of each file and standard error."""
    done = subprocess.run([weir, "--check", "--json", *files], capture_output=True, check=False,
                          timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
    said = {file: [] for file in files}
    for line in done.stdout.decode("ascii").splitlines():
        one = json.loads(line)
        said.setdefault(one["file"], []).append(one)
    return done.returncode, said, done.stderr.decode()


def absences(weir, folder):
    """Yields a line for each absent file or group that is an error or has no warning."""
    path = folder / "absent.json"
    for place, value, words in ABSENT:
        document = put(GOOD, place, value)
        path.write_bytes(resolve_keys(json.dumps(document, indent=1).encode(), folder))
        status, said, err = check(weir, [str(path)])
        about = [one for one in said[str(path)] if words in one["message"] and
                 one["severity"] == "warning" and one["path"].startswith(place)]
        if status or err or not about or not about[0]["line"]:
            yield f"{place} = {value}: {status} {said} {err}"
        done = subprocess.run([weir, "--check", "--strict", path], capture_output=True,
                              check=False, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
        if done.returncode != 1:
            yield f"{place} = {value}: --strict takes it"


def failures(weir, folder):
    """Yields a line for each case with a wrong result."""
    write_keys(folder)
    good = folder / "good.json"
    good.write_bytes(resolve_keys(json.dumps(GOOD).encode(), folder))
    status, said, err = check(weir, [str(good)])
    if status or err or any(one["severity"] == "error" for one in said[str(good)]):
        yield f"the good one: {status} {said} {err}"
    table = list(cases(GOOD))
    if len(table) < KINDS:
        yield f"{len(table)} kinds, fewer than {KINDS}"
    files = []
    for i, case in enumerate(table):
        path = folder / f"{i:03}.json"
        path.write_bytes(resolve_keys(case.bytes, folder))
        files.append(str(path))
    status, said, err = check(weir, files)
    if status != 1 or err:
        yield f"exit status {status}: {err}"
    for case, file in zip(table, files):
        why = case.wrong(said[file])
        if why:
            yield f"{case.name}: {why}"
    yield from absences(weir, folder)
    print(f"{len(table)} wrong configurations")


def main():
    """Prints a line for each failure; exits with 1 if there are any."""
    with tempfile.TemporaryDirectory(prefix="weir-wrong-") as folder:
        os.chmod(folder, 0o700)
        wrong = list(failures(sys.argv[1], pathlib.Path(folder)))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

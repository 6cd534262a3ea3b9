# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Random lists of subscribers, networks, and lines of BGP speakers, valid and invalid."""

import json

from harness import cases

NODES = ["N0", "N1", "N2", "AP 1", "AP/1", "Site", "é", "n1"]
JUNK = ["", "x", "10Mbps", "-1", "9" * 70, "Jürgen", "a b", "\x1b[2J", "ä" * 40, "0bit/s", "1e3",
        "400.1Gbit/s", "7999bit/s", "0.0079", "1.0000005", " pad ", "DROP", "l4", "+5", "1001",
        "none"]
OWN = ("guaranteed", "parent", "note", "burst", "weight", "accounting", "action")
LIBREQOS = ("Circuit ID,Circuit Name,Device ID,Parent Node,IPv4,IPv6,Download Min Mbps,"
            "Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment").split(",")


def _quoted(rng, text):
    if any(c in text for c in ',"\n') or rng.random() < 0.1:
        return '"' + text.replace('"', '""') + '"'
    return text


def _address(rng):
    return rng.choice([f"100.64.{rng.randrange(3)}.{rng.randrange(256)}", "10.0.0.1/8",
                       "10.0.0.0/8", f"2001:db8:{rng.randrange(9)}::/48", "1.2.3", "010.1.1.1",
                       "::1/128"])


def _field(rng, column, names):
    column = column.lower().split(" mbps")[0]
    if column in ("name", "circuit id"):
        return rng.choice(names)
    if column in ("addresses", "ipv4", "ipv6"):
        return "; ".join(_address(rng) for _ in range(rng.choice([0, 1, 1, 2])))
    if column in ("limit", "guaranteed", "download", "upload"):
        return rng.choice(["10Mbit/s", "1Gbit/s", "8kbit/s", "2.5Mbit/s"])
    if column.startswith(("download", "upload")):
        return repr(round(rng.uniform(0, 900), rng.choice([0, 2, 14])))
    if column in ("parent", "parent node"):
        return rng.choice(["", *names, *NODES])
    return rng.choice({"burst": ["64kB", "1B"], "weight": ["3", "1000"],
                       "accounting": ["l3", "wire"], "action": ["drop", "shape"]}.get(
                           column, ["", "a, b", 'a "b"', "two\nlines"]))


def shaped(rng):
    """Returns a list of subscribers as bytes, with or without mistakes."""
    columns = list(LIBREQOS) if rng.random() < 0.5 else [
        "name", "addresses", "limit", *rng.sample(OWN, rng.randrange(len(OWN)))]
    names = [rng.choice([f"{i}", f"n {i}", f"n/{i}"]) for i in range(rng.randrange(1, 12))]
    bad = rng.choice([0, 0, 0.05, 0.4])
    rows = [columns] + [[rng.choice(JUNK) if rng.random() < bad else _field(rng, column, names)
                         for column in columns] for _ in names]
    data = "\n".join(",".join(_quoted(rng, field) for field in row) for row in rows).encode()
    if rng.random() < bad:
        at = rng.randrange(len(data))
        data = data[:at] + rng.choice([b"\0", b"\xff", b'"', b"\r\n", b","]) + data[at:]
    return data + b"\n"


def network(rng, depth=1, names=None):
    """Returns a document like network.json, with or without mistakes."""
    names = names if names is not None else rng.sample(NODES, len(NODES))
    nodes = {}
    while names and rng.random() < 0.7:
        node = {"downloadBandwidthMbps": rng.choice([10, 155.0000004, 1000, 0, -1] if rng.random() <
                                                    0.1 else [10, 100, 1000]),
                "uploadBandwidthMbps": 7.25}
        if rng.random() < 0.15:
            node.update(rng.choice([{"virtual": True}, {"type": "Virtual"}, {"type": "site"}]))
        name = names.pop()
        if depth < 6:
            node["children"] = network(rng, depth + 1, names)
        nodes[name] = node
    return nodes


# --- BGP speakers ---------------------------------------------------------------------------------

ACTIONS = ["rate-limit:12500", "rate-limit:0", "rate-limit:x", "rate-limit:1e300", "mark 46",
           "mark 99", "redirect:1:2", "action sample", "action ", "rate-limit:9"]
OPERATORS = ["=", "<", ">", "<=", ">=", "!="]


def numbers(rng, count, names=()):
    """Returns comparisons of a numeric component whose numbers are below count."""
    def number():
        return rng.choice([0, 1, 2, 63, 64, count - 1, rng.randrange(count)])
    found = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        if names and rng.random() < 0.4:
            found.append("=" + rng.choice(names))
        else:
            found.append("&".join(f"{rng.choice(OPERATORS)}{number()}"
                                  for _ in range(rng.choice([1, 2]))))
    return found


def rule(rng, ipv6):
    """Returns the components of a flow specification as ExaBGP writes them."""
    family = "ipv6" if ipv6 else "ipv4"
    prefixes = ["2001:db8::/32/0", "2001:db8::77/128/0", "::/0/0"] if ipv6 else \
        ["192.0.2.7/32", "192.0.2.0/24", "10.0.0.0/8"]
    parts = {f"destination-{family}": [rng.choice(prefixes)],
             f"source-{family}": [rng.choice(prefixes)],
             "next-header" if ipv6 else "protocol": numbers(rng, 256, ["tcp", "udp", "ospf"]),
             rng.choice(["destination-port", "source-port", "port"]): numbers(rng, 65536),
             "traffic-class" if ipv6 else "dscp": numbers(rng, 64)}
    chosen = rng.sample(list(parts.items()), rng.randint(1, 3))
    if rng.random() < 0.05:
        chosen.append((rng.choice(["tcp-flags", "fragment", "é"]), ["=1"]))
    return dict(chosen)


def exabgp(rng, rules):
    """Returns an object of ExaBGP: an update, the state of a session, or End-of-RIB."""
    neighbour = {"address": {"peer": f"127.0.0.{rng.randint(1, 2)}"}}
    kind = rng.random()
    if kind < 0.1:
        return {"neighbor": {**neighbour, "state": rng.choice(["up", "down"])}}
    if kind < 0.2:
        return {"neighbor": {**neighbour, "message": {"eor": {
            "afi": rng.choice(["ipv4", "ipv6"]), "safi": "flow"}}}}
    ipv6, flow = rng.choice(rules)
    family = "ipv6 flow" if ipv6 else "ipv4 flow"
    words = rng.sample(ACTIONS, rng.randint(0, 2))
    update = {"attribute": {"extended-community": [{"value": 1, "string": text} for text in words]},
              **({"withdraw": {family: [flow]}} if rng.random() < 0.3 else
                 {"announce": {family: {"no-nexthop": [{**flow, "string": "flow x"}]}}})}
    return {"type": "update", "neighbor": {**neighbour, "message": {"update": update}}}


def gobgp(rng):
    """Returns a list of GoBGP: one path."""
    ipv6 = rng.random() < 0.3
    prefix = rng.choice(["2001:db8::/32", "::/0"] if ipv6 else ["192.0.2.10/32", "10.0.0.0/8"])
    compared = [{"op": rng.choice([1, 2, 4, 129, 0x43, 0xc5, 7, 0]), "value": rng.choice(
        [2, 6, 17, 46, 80, 70000])} for _ in range(rng.randint(1, 3))]
    communities = [{"type": 128, "subtype": 6, "rate": rng.choice([12500.5, 0, "x", 1e9])},
                   {"type": 128, "subtype": 7, "sample": True, "terminal": rng.random() < 0.5},
                   {"type": 128, "subtype": 9, "value": rng.choice([46, 99])},
                   {"type": 128, "subtype": 8, "value": "65000:1"}]
    return [{"nlri": {"value": [
        {"type": rng.randint(1, 2), "value": {"prefix": prefix}, "offset": 0},
        {"type": rng.randint(3, 14), "value": compared}]}, "withdrawal": rng.random() < 0.2,
        "attrs": [{"type": 16, "value": rng.sample(communities, rng.randint(1, 2))},
                  {"type": rng.choice([14, 14, 15]), "afi": 1 + ipv6, "safi": 133}]}]


SESSIONS = [lines for _, lines in cases("sessions")]


def damage(rng, line):
    """Returns the line, sometimes with one byte changed."""
    if rng.random() < 0.05:
        at = rng.randrange(len(line))
        line = line[:at] + bytes([rng.randrange(256)]) + line[at + 1:]
    return line.replace(b"\n", b" ")


def recorded(rng):
    """Returns lines of real speakers in random order, some of them damaged."""
    lines = rng.choice(SESSIONS) + rng.choice(SESSIONS)
    return [damage(rng, json.dumps(line).encode()) for line in rng.sample(lines, len(lines))]


def session(rng):
    """Returns lines of a speaker, some of them damaged."""
    rules = [(ipv6, rule(rng, ipv6)) for ipv6 in rng.choices([False, True], k=4)]
    lines = []
    for _ in range(rng.randrange(1, 16)):
        line = gobgp(rng) if rng.random() < 0.2 else exabgp(rng, rules)
        lines.append(damage(rng, json.dumps(line).encode()))
    return lines

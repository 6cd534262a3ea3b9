# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Namespaces, wires and addresses.

    source s1 ~~ emulated link ~~ l1 [limiter 1] x1 -- d1 sink
    source s2 ~~ emulated link ~~ l2 [limiter 2] x2 -- d2 sink
                       c1 ~~ emulated link ~~ c2                  gossip of two limiters
            c1, c2, c3, ... ~~ emulated links ~~ bridge "hub"     gossip of more

Every line is a veth pair. All sources share one namespace, all sinks another; each limiter and
each emulator has its own (two emulators in one namespace take each other's packets).
"""

from .processes import run

LINKS_PER_EMULATOR = 14  # 28 of the 32 ports that a DPDK process can have

# A closed network: no address resolution and no IPv6 packets in the counters, and no state of
# earlier connections in TCP.
SYSCTLS = ("net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1",
           "net.ipv4.tcp_no_metrics_save=1")


def source_address(i):
    """Returns the address of the source whose flows pass limiter i (from 1)."""
    return f"10.1.{i}.1"


def sink_address(i):
    """Returns the address of the sink after limiter i."""
    return f"10.1.{i}.2"


def gossip_address(i):
    """Returns the address at which limiter i receives gossip."""
    return f"10.9.0.{i}"


def mac(interface):
    """Returns a fixed hardware address for the interfaces of hosts, so that neighbours can be
    static."""
    return f"02:00:00:00:{'sdc'.index(interface[0]) + 1:02x}:{int(interface[1:]):02x}"


class Link:
    """An emulated link: the interfaces of its two ends in the emulator's namespace."""

    def __init__(self, a, b, settings):
        self.a = a
        self.b = b
        self.settings = settings


class Topology:
    """Names and commands of one testbed's network; create() creates it, the journal removes it."""

    def __init__(self, prefix, homes, flow_link, gossip_link):
        """homes: for each entry (source, sink and wire), the number of the limiter that has it."""
        self.prefix = prefix
        self.homes = list(homes)
        self.gossiping = len(self.limiters()) > 1
        self.links = {("flow", i): Link(f"s{i}e", f"l{i}e", flow_link) for i in self.entries()}
        if self.has_hub():
            self.links |= {("gossip", i): Link(f"c{i}e", f"h{i}e", gossip_link)
                           for i in self.limiters()}
        elif self.gossiping:
            self.links["gossip", 1] = Link("c1e", "c2e", gossip_link)

    def entries(self):
        """Returns the numbers of the entries, from 1."""
        return range(1, len(self.homes) + 1)

    def limiters(self):
        """Returns the numbers of the limiters, from 1 without gaps."""
        return sorted(set(self.homes))

    def home(self, entry):
        """Returns the limiter of an entry."""
        return self.homes[entry - 1]

    def namespace(self, role):
        """Returns the full name of "sources", "sinks", "hub", "emuK" or "limiterI"."""
        return f"{self.prefix}-{role}"

    def limiter_namespace(self, i):
        """Returns the namespace of limiter i."""
        return self.namespace(f"limiter{i}")

    def emulator_of(self, kind, i):
        """Returns (emulator, index of the link there) for the link of entry i, or limiter i's
        gossip."""
        emulator = self.emulator((kind, i))
        keys = [key for key in self.sorted_links() if self.emulator(key) == emulator]
        return emulator, keys.index((kind, i))

    def emulator(self, key):
        """Returns the emulator of a link, from 1."""
        return (key[1] - 1) // (LINKS_PER_EMULATOR // 2) + 1

    def sorted_links(self):
        """Returns the keys in the order in which emulators get their links."""
        return sorted(self.links, key=lambda key: (key[1], key[0]))

    def emulators(self):
        """Returns {emulator: its links in order}."""
        groups = {}
        for key in self.sorted_links():
            groups.setdefault(self.emulator(key), []).append(self.links[key])
        return groups

    def namespaces(self):
        """Returns the full names of all namespaces."""
        names = {self.namespace("sources"), self.namespace("sinks")}
        names |= {self.limiter_namespace(i) for i in self.limiters()}
        names |= {self.namespace(f"emu{k}") for k in self.emulators()}
        if self.has_hub():
            names.add(self.namespace("hub"))
        return sorted(names)

    def has_hub(self):
        """Returns true if the limiters use a bridge, because there are more than two."""
        return len(self.limiters()) > 2

    def cables(self):
        """Yields ((namespace, interface), (namespace, interface)) of every veth pair."""
        for i in self.entries():
            emu = self.namespace(f"emu{self.emulator(('flow', i))}")
            box = self.limiter_namespace(self.home(i))
            yield (self.namespace("sources"), f"s{i}"), (emu, f"s{i}e")
            yield (box, f"l{i}"), (emu, f"l{i}e")
            yield (box, f"x{i}"), (self.namespace("sinks"), f"d{i}")
        for i in self.limiters() if self.gossiping else ():
            emu = self.namespace(f"emu{self.emulator(('gossip', i))}")
            yield (self.limiter_namespace(i), f"c{i}"), (emu, f"c{i}e")
            if self.has_hub():
                yield (self.namespace("hub"), f"h{i}"), (emu, f"h{i}e")

    def hosts(self):
        """Yields (namespace, interface, address, neighbours) of every interface with a kernel's
        address."""
        for i in self.entries():
            yield (self.namespace("sources"), f"s{i}", source_address(i),
                   [(sink_address(i), f"d{i}")])
            yield (self.namespace("sinks"), f"d{i}", sink_address(i),
                   [(source_address(i), f"s{i}")])
        for i in self.limiters() if self.gossiping else ():
            yield (self.limiter_namespace(i), f"c{i}", gossip_address(i),
                   [(gossip_address(j), f"c{j}") for j in self.limiters() if j != i])

    def create(self):
        """Creates everything. The namespaces are already in the journal."""
        names = self.namespaces()
        _ip(None, [f"netns add {name}" for name in names])
        for name in names:
            run(["ip", "netns", "exec", name, "sysctl", "-eqw", *SYSCTLS])
        _ip(None, [f"link add {a} netns {ns_a} type veth peer name {b} netns {ns_b}"
                   for (ns_a, a), (ns_b, b) in self.cables()])
        for name, commands in self._commands().items():
            _ip(name, commands)
        self._compute_checksums()

    def _commands(self):
        """Returns {namespace: commands for `ip` there}."""
        commands = {name: ["link set lo up"] for name in self.namespaces()}
        if self.has_hub():
            commands[self.namespace("hub")] += ["link add hub type bridge", "link set hub up"]
        for ends in self.cables():
            for name, interface in ends:
                master = " master hub" if interface[0] == "h" and interface[-1] != "e" else ""
                commands[name].append(f"link set {interface} up{master}")
        for name, interface, address, neighbours in self.hosts():
            commands[name] += [f"link set {interface} address {mac(interface)}",
                               f"address add {address}/24 dev {interface}"]
            commands[name] += [neighbour(interface, there, mac(peer))
                               for there, peer in neighbours]
        return commands

    def _compute_checksums(self):
        """Makes the kernel compute checksums, which a veth leaves to hardware, and a packet socket
        sees wrong.

        Without this TCP passes nothing, and gossip is lost without a message.
        """
        interfaces = {}
        for name, interface, _, _ in self.hosts():
            interfaces.setdefault(name, []).append(interface)
        for name, members in interfaces.items():
            script = "; ".join(f"ethtool -K {interface} tx off" for interface in members)
            run(["ip", "netns", "exec", name, "sh", "-ec", script])


def neighbour(interface, address, hardware):
    """Returns the `ip` command that makes a neighbour static."""
    return f"neighbour replace {address} lladdr {hardware} dev {interface} nud permanent"


def _ip(name, commands):
    run(["ip", *(["-n", name] if name else []), "-batch", "-"], "\n".join(commands) + "\n")

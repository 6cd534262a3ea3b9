# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The testbed: runs experiments and tests of the whole system.

    with Testbed(flows=[3, 7]) as bed:
        bed.start()
        bed.cut_gossip(1, 2)
        run = bed.run_flows(20)
        print(run.summary()["aggregate"], bed.policy(1)["local_limit_bps"])

Limiters are counted from 1, and so are their interfaces and addresses. Leaving the block always
removes everything. Needs root.
"""

import atexit
import itertools
import json
import os
import secrets
import signal
import time

from . import journal, units
from .emulator import Emulator, memory_megabytes
from .flows import Flows, Web
from .interrupt import catch_signals, shielded
from .measure import Run, forwarded_bytes
from .processes import Processes, TestbedError, run, wait_until
from .telemetry import Client
from .topology import Topology, gossip_address, mac, neighbour

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOSSIP_PORT = 7946
POLICY = "baseline"
WIRES_PER_BOX = 16  # the ports of one DPDK process, in pairs


def heap_megabytes(wires):
    """Returns EAL's memory for a limiter with so many wires. The packet buffers of a wire take 83
    MB."""
    return 128 + 96 * wires


class Testbed:
    """Sources, emulated links, limiters, sinks. See the constructor for the settings."""

    __test__ = False  # not a test, for test collectors

    def __init__(self, flows=(3, 7), *, allocator="fps", limit_bps=10e6, burst_bytes=75e3,
                 rtt=0.040, interval=0.050, ewma=0.1, loss=0.0, gossip_loss=0.0,
                 link_bps=100e6, seed=1, build=None, configure=None, keep=False, homes=None):
        """flows: number of TCP flows of each entry. Times are in seconds, losses 0 to 1.

        Every entry is the wire of a separate limiter, unless homes names the limiter of each:
        homes=[1, 2, 2] gives limiter 2 two wires.

        loss is that of the flows' links, in each direction; gossip_loss that of a datagram between
        two limiters. allocator "central" is one process with one bucket and a wire for each entry.

        configure(i, config) can change the configuration of limiter i before it is written.

        keep: the testbed outlives this process, and sweep(kept=True) removes it.
        """
        self.flows = list(flows)
        self.central = allocator == "central"
        self.homes = self._homes(homes)
        self.policy_settings = {
            "allocator": allocator, "ewma": ewma, "limit": units.form(limit_bps, units.RATE),
            "burst": units.form(burst_bytes, units.SIZE),
            "interval": units.form(interval, units.TIME)}
        self.rtt, self.link_bps, self.seed = rtt, link_bps, seed
        self.build = build or os.environ.get("WEIR_BUILD") or os.path.join(REPOSITORY, "build")
        self.configure = configure
        self.keep = keep
        self.topology = Topology(f"weir-{os.getpid()}-{secrets.token_hex(2)}", self.homes,
                                 self._flow_link(loss), self._gossip_link(gossip_loss))
        self.cpus = sorted(os.sched_getaffinity(0))
        self.journal = self.processes = None
        self.emulators = {}
        self.limiters = {}  # number: Process
        self.clients = {}
        self.paused = set()
        self.outside = {}  # entry: number of its port towards the sink
        self.iperf_port = 5200

    def _homes(self, homes):
        """Returns the limiter of each entry; TestbedError if such a testbed is impossible."""
        entries = len(self.flows)
        homes = [1] * entries if self.central else list(homes or range(1, entries + 1))
        if not 1 <= entries <= 250:
            raise TestbedError(f"{entries} entries: too many, or none")
        if len(homes) != entries or set(homes) != set(range(1, max(homes) + 1)):
            raise TestbedError(f"homes {homes}: expected limiters from 1 for {entries} entries")
        if max(map(homes.count, homes)) > WIRES_PER_BOX:
            raise TestbedError(f"homes {homes}: a limiter has at most {WIRES_PER_BOX} wires")
        return homes

    def _flow_link(self, loss):
        return [f"delay={self.rtt / 2 * 1e6:.0f}us", f"rate={self.link_bps:.0f}bit/s",
                f"loss={loss}"]

    def _gossip_link(self, loss):
        """Returns the settings of a gossip link: of a pair, or half of the path to the hub."""
        pair = len(set(self.homes)) == 2
        way = self.rtt / (2 if pair else 4)
        lossy = "loss" if pair else "a-to-b.loss"
        return [f"delay={way * 1e6:.0f}us", f"rate={self.link_bps:.0f}bit/s", f"{lossy}={loss}"]

    # Start and end

    def __enter__(self):
        catch_signals()
        atexit.register(self.close)  # for a signal while the block is entered or left
        try:
            self._create()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind, *_):
        if kind is None and self.keep:
            self.journal.keep()
            atexit.unregister(self.close)
        else:
            self.close()

    def _create(self):
        journal.sweep(kept=False)
        with shielded():
            self.journal = journal.Journal(self.topology.prefix)
            self.processes = Processes(self.journal, outlive_us=self.keep)
        with shielded():
            journal.prepare_netns_mount()
            self.journal.add_namespaces(self.topology.namespaces())
        self.topology.create()
        self._write_key()

    def close(self):
        """Removes everything. Can be called again, and at any stage."""
        with shielded():
            atexit.unregister(self.close)
            for client in self.clients.values():
                client.close()
            self.clients = {}
            if self.processes:
                self.processes.stop_all()
            if self.journal:
                journal.remove(self.journal.state, self.journal.directory)
            self.journal = self.processes = None

    def start(self, limiters=None):
        """Starts emulators and limiters (or only these); returns when all of them answer."""
        limiters = limiters or self.boxes()
        for k, links in self.topology.emulators().items():
            name = f"emu{k}"
            emulator = Emulator(self.processes, self.binary("tools/emu/weir-emu"), name,
                                self.topology.namespace(name), self._cpu(k))
            emulator.start(links, memory_megabytes(len(links), self.rtt, self.link_bps),
                           self.seed * 100 + k)
            self.emulators[k] = emulator
        for i in limiters:
            self.spawn_limiter(i)
        for emulator in self.emulators.values():
            emulator.ready()
        for i in limiters:
            self._await(i)

    def binary(self, path):
        """Returns the path of a program of the build."""
        full = os.path.join(self.build, path)
        if not os.access(full, os.X_OK):
            raise TestbedError(f"{full}: not there; build first, or set WEIR_BUILD")
        return full

    def _cpu(self, k):
        return self.cpus[k % len(self.cpus)]

    # Limiters

    def boxes(self):
        """Returns the numbers of the limiters."""
        return self.topology.limiters()

    def entries_of(self, i):
        """Returns the entries whose wire is in limiter i."""
        return [entry for entry in self.topology.entries() if self.topology.home(entry) == i]

    def config(self, i):
        """Returns the configuration of limiter i."""
        wires, ports = [], {}
        for k, entry in enumerate(self.entries_of(i)):
            inside, outside = f"inside{entry}", f"outside{entry}"
            ports[inside] = {"device": f"net_af_packet{2 * k},iface=l{entry}"}
            ports[outside] = {"device": f"net_af_packet{2 * k + 1},iface=x{entry}"}
            wires.append({"name": f"w{entry}", "a": inside, "b": outside})
        cpu = self._cpu(i)
        config = {
            "limiter": f"l{i}",
            "eal": ["--no-huge", "-m", str(heap_megabytes(len(wires))), "--no-pci",
                    "--file-prefix", f"l{i}"],
            "ports": ports, "wires": wires, "workers": [cpu], "idle": "sleep",
            "control": {"socket": self.socket(i), "cpu": cpu},
            "policies": [{"name": POLICY, "match": {"direction": "a-to-b"},
                          "accounting": "l3"} | self.policy_settings]}
        if self.topology.gossiping:
            config["gossip"] = self._gossip(i)
        if self.configure:
            self.configure(i, config)
        return config

    def _gossip(self, i):
        roster = [{"name": f"l{j}", "address": f"{gossip_address(j)}:{GOSSIP_PORT}"}
                  for j in self.boxes()]
        return {"listen": f"{gossip_address(i)}:{GOSSIP_PORT}", "roster": roster,
                "key_file": self.journal.path("key"),
                "branching": min(3, len(roster) - 1), "timeout": "1s"}

    def _write_key(self):
        descriptor = os.open(self.journal.path("key"), os.O_CREAT | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as key:
            key.write(secrets.token_hex(32) + "\n")

    def socket(self, i):
        """Returns the telemetry socket of limiter i."""
        return self.journal.path(f"l{i}.sock")

    def spawn_limiter(self, i):
        """Like start_limiter(), but does not wait until it answers."""
        self.paused.discard(i)
        config = self._write_config(i)
        self.limiters[i] = self.processes.start(
            f"l{i}", [self.binary("app/weir/weir"), "-c", config],
            self.topology.limiter_namespace(i), realtime=True)

    def _write_config(self, i):
        path = self.journal.path(f"l{i}.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(self.config(i), out, indent=2)
        return path

    def _await(self, i):
        def answers():
            self.limiters[i].check()
            return self.telemetry(i).try_get("/weir/policies") is not None

        wait_until(answers, 30, f"limiter {i} to answer on its telemetry socket")
        self._find_ports(i)

    def _find_ports(self, i):
        client = self.telemetry(i)
        numbers = {client.get(f"/ethdev/info,{port}")["name"]: port
                   for port in client.get("/ethdev/list")}
        for k, entry in enumerate(self.entries_of(i)):
            self.outside[entry] = numbers[f"net_af_packet{2 * k + 1}"]

    def start_limiter(self, i):
        """Starts a limiter after stop_limiter() or kill_limiter(); returns when it answers."""
        self.spawn_limiter(i)
        self._await(i)

    def stop_limiter(self, i):
        """Stops a limiter in order; returns its exit status."""
        return self.limiters[i].stop()

    def kill_limiter(self, i):
        """Kills a limiter, like a crash."""
        self.limiters[i].kill()

    def pause_limiter(self, i, paused=True):
        """Stops its process, like a frozen machine, or continues it."""
        self.limiters[i].signal(signal.SIGSTOP if paused else signal.SIGCONT)
        (self.paused.add if paused else self.paused.discard)(i)

    def restart_limiter(self, i):
        """Stops a limiter and starts it again with the present result of config()."""
        self.stop_limiter(i)
        self.start_limiter(i)

    def reload_limiter(self, i):
        """Reloads a limiter with the present result of config()."""
        self._write_config(i)
        run([self.binary("app/weirctl/weirctl"), "-s", self.socket(i), "reload"])

    def telemetry(self, i):
        """Returns the client of limiter i: telemetry(1).get("/weir/peers")."""
        if i not in self.clients:
            self.clients[i] = Client(self.socket(i))
        return self.clients[i]

    def policy(self, i, name=POLICY):
        """Returns limiter i's telemetry of a policy, or None while it does not answer."""
        return self._ask(i, f"/weir/policy,{name}")

    # Links

    def set_flow_link(self, i, settings, direction=""):
        """Changes the link of entry i: "rate=2Mbit/s"; "a-to-b" is from the source on."""
        emulator, index = self.topology.emulator_of("flow", i)
        self.emulators[emulator].set_link(index, settings, direction)

    def set_gossip_link(self, i, settings, direction=""):
        """Changes the link of limiter i to its peers; with two limiters, use 1, and "a-to-b" is
        from the first."""
        emulator, index = self.topology.emulator_of("gossip", i)
        self.emulators[emulator].set_link(index, settings, direction)

    def cut_gossip(self, source, destination):
        """Drops all gossip from source to destination, in this direction only."""
        if self.topology.has_hub():
            # Sends to an unused address, which for both ends is like a cut.
            self._aim(source, destination, "02:00:00:00:ff:ff")
        else:
            self.set_gossip_link(1, "loss=100%", "a-to-b" if source == 1 else "b-to-a")

    def heal_gossip(self, source, destination):
        """Undoes cut_gossip()."""
        if self.topology.has_hub():
            self._aim(source, destination, mac(f"c{destination}"))
        else:
            self.set_gossip_link(1, "loss=0", "a-to-b" if source == 1 else "b-to-a")

    def aim_gossip(self, source, destination, machine):
        """Sends gossip from source to destination's address to another machine of the hub."""
        self._aim(source, destination, mac(f"c{machine}"))

    def isolate(self, i, cut=True):
        """Cuts limiter i off from all its peers in both directions, or joins it again."""
        change = self.cut_gossip if cut else self.heal_gossip
        for j in self.boxes():
            if j != i:
                change(i, j)
                change(j, i)

    def split(self, sides, cut=True):
        """Cuts the gossip between limiters of different sides, like [[1, 2], [3]], or heals it."""
        for i, j in itertools.permutations(itertools.chain(*sides), 2):
            if not any(i in side and j in side for side in sides):
                (self.cut_gossip if cut else self.heal_gossip)(i, j)

    def _aim(self, source, destination, hardware):
        run(["ip", "-n", self.topology.limiter_namespace(source), *neighbour(
            f"c{source}", gossip_address(destination), hardware).split()])

    def emulator_stats(self, kind, i):
        """Returns the counters of a link, kind "flow" or "gossip": {"a-to-b", "b-to-a"}."""
        emulator, index = self.topology.emulator_of(kind, i)
        return self.emulators[emulator].stats()["links"][index]

    # Traffic

    def start_flows(self, i, n, seconds, *extra):
        """Starts n flows through entry i, TCP Reno unless extra arguments of iperf3 change that."""
        self.iperf_port += 1
        return Flows(self.processes, self.topology, i, n, seconds, self.iperf_port, extra)

    def start_web(self, i, seconds, **settings):
        """Starts Web requests through entry i: requests=5 a second, seed=1, see web_load.py."""
        self.iperf_port += 1
        return Web(self.processes, self.topology, i, self.iperf_port, seconds, settings)

    def forwarded(self):
        """Returns L3 bytes forwarded to each sink so far; None if the limiter does not answer."""
        values = []
        for entry in self.topology.entries():
            port = self.outside.get(entry)  # None: the limiter has never run
            stats = port is not None and self._ask(
                self.topology.home(entry), f"/ethdev/stats,{port}")
            values.append(forwarded_bytes(stats) if stats else None)
        return values

    def _ask(self, i, request):
        """Returns None if it does not answer, without waiting for a paused one."""
        return None if i in self.paused else self.telemetry(i).try_get(request)

    def run_flows(self, seconds, warmup=5, observer=None, period=0.1):
        """Runs all flows together for warmup + seconds; the measurement starts after the warm-up.

        observer(time, run) is called after every sample, `time` seconds after the start; it can
        change the testbed. Returns a measure.Run.
        """
        result = Run(self.flows, warmup, seconds)
        groups = [self.start_flows(i, n, result.end)
                  for i, n in enumerate(self.flows, start=1) if n]
        self._sample(result, groups, observer, period)
        result.reports = [group.finish(warmup, result.end) for group in groups]
        return result

    def _sample(self, result, groups, observer, period):
        start = time.monotonic()
        now = 0.0
        while now < result.end:
            result.recorder.add(now, self.forwarded())
            for group in groups:
                group.check()
            if observer:
                observer(now, result)
            due = (int((time.monotonic() - start) / period) + 1) * period
            time.sleep(max(0, start + due - time.monotonic()))
            now = time.monotonic() - start
        result.recorder.add(now, self.forwarded())

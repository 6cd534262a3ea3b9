# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The contestants of kernel.py: each is a limiter between its own two cables.

    source ── NAMEa0 ═ NAMEa1 ── limiter ── NAMEb0 ═ NAMEb1 (received frames are freed)

All exist in one network namespace at the same time. Each has a limit that is never reached for
packets to FREE, and an effective limit for packets to LIMITED.
"""

import os
import shutil
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "test", "net"))

import box  # noqa: E402 (needs the path above)

FREE, LIMITED = "198.18.1.1", "198.18.1.2"
FRAME = 60  # bytes: the least that Ethernet carries, without its checksum
HEADER = 14  # bytes of Ethernet
BURST = 65536  # burst of every limiter, in bytes
OUT_OF_REACH = 10e9  # bit/s
PATIENCE_S = 20
BPF_FILES = "/sys/fs/bpf"


class Missing(Exception):
    """The machine does not support this limiter; the text gives the reason."""


def binary(name):
    """Returns the path of a program or object that test/bench builds."""
    return os.path.join(box.BUILD, "test", "bench", name)


def run(command, text=None):
    """Runs an operator's command; raises Missing with its output if it fails."""
    words = command.split()
    os.environ["PATH"] += ":/usr/sbin" if "/usr/sbin" not in os.environ["PATH"] else ""
    if not shutil.which(words[0]):
        raise Missing(f"no {words[0]} here")
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"{command}: {(done.stderr or done.stdout).strip().splitlines()[0]}")


def cable(a, b):
    """Creates a veth pair. With GRO its ends have NAPI, and receive frames like a driver."""
    queues = "numrxqueues 1 numtxqueues 1"
    run(f"ip link add {a} {queues} type veth peer name {b} {queues}")
    for end in (a, b):
        run(f"ip link set {end} up")
        run(f"ethtool -K {end} gro on")


class Peer:
    """A contestant. Subclasses create the limiter between the cables."""

    name = ""
    counts = FRAME  # bytes of a packet that this limiter counts
    frame = FRAME  # bytes of a packet
    to = (FREE, LIMITED)  # addresses: with a limit that is never reached, and with an effective one

    def __init__(self, limited_pps):
        """limited_pps: packets a second that the limit for LIMITED passes."""
        self.limited_bps = limited_pps * self.counts * 8
        self.ends = [f"{self.name}{end}" for end in ("a0", "a1", "b0", "b1")]

    def start(self):
        """Creates the cables and the limiter; raises Missing if the machine does not support it."""
        cable(*self.ends[:2])
        cable(*self.ends[2:])
        # Freeing a socket buffer is cheapest in a stack without GRO.
        run(f"ethtool -K {self.ends[3]} gro off")
        self.limit()

    def limit(self):
        """Creates the limiter."""
        raise NotImplementedError

    def pids(self):
        """Returns the processes whose CPU time counts for this limiter."""
        return []

    def before(self, limited):
        """Called before every run."""

    def seen(self):
        """Returns the packets that the processes have received so far; None without processes."""
        return None

    def stop(self):
        """Stops the processes of start(); the namespace removes the rest."""

    def forward(self):
        """Forwards all packets in the cheapest way of the kernel, without a bridge's table."""
        run(f"tc qdisc add dev {self.ends[1]} ingress")
        run(f"tc filter add dev {self.ends[1]} ingress protocol all u32 match u32 0 0 "
            f"action mirred egress redirect dev {self.ends[2]}")


class Wire(Peer):
    """No limiter: the kernel's cost of the cables and of forwarding between them."""

    name = "wire"

    def limit(self):
        self.forward()


class Nft(Peer):
    """nftables, which polices at the ingress hook, and forwards from there."""

    name = "nft"
    counts = FRAME - HEADER

    def limit(self):
        over = "limit rate over {} bytes/second burst {} bytes drop"
        run("nft -f -", f"""
            table netdev weir {{ chain in {{
                type filter hook ingress device "{self.ends[1]}" priority 0; policy accept;
                ip daddr {FREE} {over.format(round(OUT_OF_REACH / 8), BURST)}
                ip daddr {LIMITED} {over.format(round(self.limited_bps / 8), BURST)}
                fwd to "{self.ends[2]}"
            }}
            }}""")


class Htb(Peer):
    """HTB with a class for each destination."""

    name = "htb"

    def limit(self):
        self.forward()
        out = self.ends[2]
        run(f"tc qdisc add dev {out} root handle 1: htb")
        for number, (to, bps) in enumerate([(FREE, OUT_OF_REACH), (LIMITED, self.limited_bps)], 1):
            run(f"tc class add dev {out} parent 1: classid 1:{number} htb rate {bps:.0f}bit "
                f"burst {BURST}b cburst {BURST}b quantum 1514")
            run(f"tc filter add dev {out} parent 1: protocol ip u32 match ip dst {to}/32 "
                f"classid 1:{number}")


class Tbf(Peer):
    """TBF, which has one limit for all destinations: before() sets it for each run."""

    name = "tbf"

    def limit(self):
        self.forward()
        self._set("add", OUT_OF_REACH)

    def before(self, limited):
        self._set("change", self.limited_bps if limited else OUT_OF_REACH)

    def _set(self, verb, bps):
        run(f"tc qdisc {verb} dev {self.ends[2]} root tbf rate {bps:.0f}bit burst {BURST}b "
            f"limit {BURST}b")


class Xdp(Peer):
    """test/bench/xdp_bucket: a token bucket in BPF, before the kernel allocates a socket buffer."""

    name = "xdp"
    counts = FRAME - HEADER

    def __init__(self, limited_pps):
        super().__init__(limited_pps)
        self.process = None

    def limit(self):
        if not os.access(binary("xdp_bucket"), os.X_OK):
            raise Missing("xdp_bucket is not built (needs clang and libbpf)")
        run(f"ethtool -K {self.ends[3]} gro on")
        command = [binary("xdp_bucket"), binary("xdp_bucket.bpf.o"), *self.ends[1:], str(BURST),
                   f"{FREE}={OUT_OF_REACH}", f"{LIMITED}={self.limited_bps}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, preexec_fn=box.die_with_parent)
        if self.process.stdout.readline().strip() != "ready":
            raise Missing(f"xdp_bucket: {self.process.communicate()[1].strip()}")

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()


class Weir(Peer):
    """Weir over AF_XDP sockets."""

    name = "weir"
    counts = FRAME - HEADER

    def __init__(self, limited_pps, cpu, control_cpu, idle="sleep"):
        super().__init__(limited_pps)
        self.cpus = (cpu, control_cpu)
        self.idle = idle
        self.scene = self.box = None

    def limit(self):
        if not os.access(box.WEIR, os.X_OK):
            raise Missing(f"{box.WEIR} is not built")
        self.scene = box.Scene()
        self.box = self.scene.box(self._config(), self.name)
        try:
            self.box.start()
        except AssertionError:
            self.scene.show_logs()
            raise

    def _devices(self):
        # Without busy polling, because the source's CPU delivers packets anyway, and a poll costs a
        # call.
        return [f"net_af_xdp{number},iface={end},busy_budget=0"
                for number, end in enumerate(self.ends[1:3])]

    def _config(self):
        policies = [{"name": name, "match": {"dst": f"{to}/32"}, "limit": f"{bps:.0f}bit/s",
                     "burst": f"{BURST}B"}
                    for name, to, bps in (("free", FREE, OUT_OF_REACH),
                                          ("limited", LIMITED, self.limited_bps))]
        return box.wire(*self._devices()) | {
            "eal": [*box.EAL, "--no-pci", "--no-telemetry"], "idle": self.idle,
            "workers": [self.cpus[0]], "control": {"cpu": self.cpus[1]}, "policies": policies}

    def pids(self):
        return [self.box.process.pid]

    def seen(self):
        return self.box.total("rx_packets")

    def stop(self):
        if self.scene is not None:
            self.scene.close()


def load_programs(peer):
    """Loads and pins the programs of xdp_bucket.bpf.c; one frees packets at the far end."""
    run(f"ethtool -K {peer.ends[3]} gro on")
    pins = f"{BPF_FILES}/{peer.name}-programs"
    run(f"bpftool prog loadall {binary('xdp_bucket.bpf.o')} {pins} pinmaps {pins}")
    run(f"bpftool net attach xdpdrv pinned {pins}/sink dev {peer.ends[3]}")
    return pins


class Redirect(Peer):
    """No limiter: the least cost of forwarding in XDP."""

    name = "redir"

    def limit(self):
        pins = load_programs(self)
        out = socket.if_nametoindex(self.ends[2]).to_bytes(4, sys.byteorder)
        run(f"bpftool map update pinned {pins}/other_port key 0 0 0 0 value "
            + " ".join(map(str, out)))
        run(f"bpftool net attach xdpdrv pinned {pins}/forward dev {self.ends[1]}")


class Plane(Weir):
    """Weir's XDP data plane."""

    name = "plane"

    def limit(self):
        load_programs(self)
        super().limit()

    def _devices(self):
        return [f"xdp:{end}" for end in self.ends[1:3]]

    def seen(self):
        ports = self.box.get("/weir/ports")
        return sum(port["kernel_passed"] + port["kernel_dropped"] for port in ports)

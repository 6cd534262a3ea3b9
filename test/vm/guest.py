# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Makes the files that boot a guest: a Debian kernel and an initial file system in memory. The
latter has the built programs, DPDK's drivers and a busybox.

Kernel and busybox are those that tools/setup has unpacked. DPDK's drivers have the same paths as
here, each file once and links as links: DPDK exits at its start if it finds two copies of a driver.
"""

import ctypes.util
import glob
import lzma
import os
import shutil
import struct
import subprocess

from box import BUILD, ROOT, Skip

UNPACKED = os.path.join(ROOT, "build-unpacked")
DRIVERS = ("bus_pci", "bus_vdev", "mempool_ring", "net_e1000", "net_igc", "net_virtio",
           "net_vmxnet3")
MODULES = ("uio/uio", "uio/uio_pci_generic", "vfio/vfio", "vfio/vfio_virqfd",
           "vfio/vfio_iommu_type1", "vfio/pci/vfio-pci-core", "vfio/pci/vfio-pci",
           "irqbypass")
FOLDERS = ("proc", "sys", "dev", "tmp", "run/weir", "var/run", "bin", "modules")
XZ = b"\xfd7zXZ\0"


def newest(pattern):
    """Returns the newest file that tools/setup has unpacked for this pattern."""
    found = sorted(glob.glob(os.path.join(UNPACKED, pattern), recursive=True))
    if not found:
        raise Skip(f"there is no build-unpacked/{pattern}: tools/setup test")
    return found[-1]


def kernel(to):
    """Writes the kernel image. Unpacks it if its compression is XZ, because on an emulated CPU this
    takes seconds."""
    with open(newest("boot/vmlinuz-*"), "rb") as file:
        image = file.read()
    sectors, = struct.unpack_from("B", image, 0x1f1)
    offset, length = struct.unpack_from("<II", image, 0x248)
    begin = (sectors + 1) * 512 + offset
    packed = image[begin:begin + length]
    if packed.startswith(XZ):
        image = lzma.LZMADecompressor().decompress(packed)
    with open(to, "wb") as file:
        file.write(image)


def add(root, path):
    """Adds a file and the libraries that it is linked with, under their names here."""
    linked = subprocess.run(["ldd", path], check=False, capture_output=True, text=True).stdout
    for name in [path] + [word for word in linked.split() if word.startswith("/")]:
        real = os.path.realpath(name)
        for place, copy in ((real, True), (name, False)):
            there = root + place
            if os.path.lexists(there):
                continue
            os.makedirs(os.path.dirname(there), exist_ok=True)
            if copy:
                shutil.copy(real, there)
            else:
                os.symlink(real, there)


def add_drivers(root):
    """Adds DPDK's drivers where weir looks for them, and where they look for each other."""
    folder = glob.glob("/usr/lib/*/dpdk/pmds-*")
    if not folder:
        raise Skip("there is no folder of DPDK's drivers")
    for driver in DRIVERS:
        for path in glob.glob(f"{folder[0]}/librte_{driver}.so.*"):
            add(root, path)
            beside = root + os.path.join(os.path.dirname(folder[0]), "..", os.path.basename(path))
            if not os.path.lexists(beside):
                os.symlink(path, beside)


def add_kernel_modules(root):
    """Adds the kernel modules that give a card to DPDK."""
    for name in MODULES:
        for path in glob.glob(f"{UNPACKED}/**/lib/modules/**/{name}.ko*", recursive=True):
            with (lzma.open if path.endswith(".xz") else open)(path, "rb") as packed:
                data = packed.read()
            with open(f"{root}/modules/{os.path.basename(name)}.ko", "wb") as file:
                file.write(data)


def add_programs(root):
    """Adds Weir's programs, and a busybox for all others."""
    shutil.copy(newest("**/bin/busybox"), f"{root}/bin/busybox")
    for program in ("weir", "weirctl"):
        path = os.path.join(BUILD, "app", program, program)
        add(root, path)
        subprocess.run(["strip", "-o", f"{root}/bin/{program}", path], check=True)
        os.remove(root + path)
    threads = ctypes.util.find_library("gcc_s")  # loaded only when a thread ends
    for path in glob.glob(f"/lib/*/{threads}"):
        add(root, path)


def build(folder):
    """Makes `kernel` and `initrd` in the folder."""
    root = os.path.join(folder, "root")
    for name in FOLDERS:
        os.makedirs(os.path.join(root, name))
    for name in ("lib", "lib64"):
        os.makedirs(os.path.join(root, "usr", name))
        os.symlink(f"usr/{name}", os.path.join(root, name))
    kernel(os.path.join(folder, "kernel"))
    shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "init"), f"{root}/init")
    os.chmod(f"{root}/init", 0o755)
    add_programs(root)
    add_drivers(root)
    add_kernel_modules(root)
    with open(os.path.join(folder, "initrd"), "wb") as file:
        names = subprocess.run(["find", "."], cwd=root, check=True, capture_output=True).stdout
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, check=True, input=names,
                       stdout=file)
    shutil.rmtree(root)

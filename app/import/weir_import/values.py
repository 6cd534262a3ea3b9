# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Quantities, addresses and names as the configuration of Weir writes them. Exact, without I/O."""

import functools
import re
import socket

NAME_MOST = 63  # bytes of a policy's name
LIMIT_LEAST, LIMIT_MOST = 8000, 400 * 10 ** 9  # bit/s
MOST = 2 ** 64 - 1

RATES = {"bit/s": 1, "kbit/s": 10 ** 3, "Mbit/s": 10 ** 6, "Gbit/s": 10 ** 9, "Tbit/s": 10 ** 12}
SIZES = {"B": 1, "kB": 10 ** 3, "MB": 10 ** 6, "GB": 10 ** 9, "TB": 10 ** 12, "PB": 10 ** 15,
         "KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30, "TiB": 2 ** 40}
# Protocols that a match can name.
PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "dccp": 33, "gre": 47, "esp": 50, "icmpv6": 58,
             "sctp": 132, "udplite": 136}
PROTOCOL_NAMES = {number: name for name, number in PROTOCOLS.items()}

QUANTITY = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))? ?(\S.*)", re.S)
NAME = re.compile(r"[A-Za-z0-9_.-]+")
NOT_PLAIN = re.compile(r"[^A-Za-z0-9_.-]")
LENGTH = re.compile(r"[0-9]{1,3}")


def size_of(text: str) -> int:
    """Returns the bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def cut(text: str, most: int) -> str:
    """Returns the beginning of a text, at most so many bytes, without a part of a character."""
    if text.isascii():
        return text[:most]
    data = text.encode("utf-8", "surrogateescape")
    if len(data) <= most:
        return text
    return data[:most].decode("utf-8", "ignore")


def name_valid(name: str) -> bool:
    """Returns true for 1 to 63 characters A-Z a-z 0-9 _ . -"""
    return len(name) <= NAME_MOST and NAME.fullmatch(name) is not None


def make_plain(text: str) -> str:
    """Replaces each byte that a name cannot have by an underscore, as LibreQoS does."""
    if text.isascii():
        return NOT_PLAIN.sub("_", text)
    return NOT_PLAIN.sub(lambda found: "_" * size_of(found[0]), text)


def parse_quantity(text: str, units: dict[str, int]) -> int | None:
    """Returns a whole number of base units, from 0 to 64 bits; None for any other text."""
    found = QUANTITY.fullmatch(text)
    if not found or found[1] or found[4] not in units:
        return None
    scale, fraction = units[found[4]], found[3] or ""
    # More digits than 64 bits have need no arithmetic.
    if len(found[2].lstrip("0")) > 20:
        return None
    part, rest = divmod(int(fraction or "0") * scale, 10 ** len(fraction))
    value = int(found[2]) * scale + part
    return value if rest == 0 and value <= MOST else None


@functools.lru_cache(maxsize=1 << 14)
def parse_rate(text: str) -> int | None:
    """Returns bit/s of `1.5Gbit/s`; None for any other text."""
    return parse_quantity(text, RATES)


def parse_size(text: str) -> int | None:
    """Returns bytes of `64KiB`; None for any other text."""
    return parse_quantity(text, SIZES)


@functools.lru_cache(maxsize=1 << 14)
def format_rate(bps: int) -> str:
    """Returns the exact text of a rate in its largest unit: `2.5Mbit/s`."""
    unit = max((scale, name) for name, scale in RATES.items() if scale <= max(bps, 1))
    whole, rest = divmod(bps, unit[0])
    digits = str(rest).rjust(len(str(unit[0])) - 1, "0").rstrip("0") if rest else ""
    return f"{whole}{'.' if digits else ''}{digits}{unit[1]}"


def round_half_up(number: float) -> float:
    """Returns the nearest whole number; halves go away from 0."""
    if abs(number) >= 2 ** 53:
        return number
    whole = int(abs(number))
    whole += abs(number) - whole >= 0.5
    return float(whole) if number >= 0 else -float(whole)


def rate_of_mbps(mbps: float) -> int | None:
    """Returns the nearest bit/s of a number of Mbit/s; None above all rates or below 0."""
    rate = round_half_up(mbps * 1e6)
    return int(rate) if 0 <= rate <= 1e15 else None


def parse_prefix(text: str) -> tuple[str, bool] | None:
    """Returns a prefix in its usual form without host bits, and whether it had some; or None."""
    host, slash, length = text.partition("/")
    family, bits = (socket.AF_INET6, 128) if ":" in host else (socket.AF_INET, 32)
    if not slash or not LENGTH.fullmatch(length) or int(length) > bits:
        return None
    try:
        address = socket.inet_pton(family, host)
    except (OSError, ValueError):
        return None
    rest = bits - int(length)
    whole = int.from_bytes(address, "big")
    kept = whole >> rest << rest
    usual = socket.inet_ntop(family, kept.to_bytes(bits // 8, "big"))
    return f"{usual}/{int(length)}", kept != whole


def prefix_valid(prefix: str) -> bool:
    """Returns true if names of policies can begin so and go on for a few characters."""
    return len(prefix) <= 30 and name_valid(prefix)

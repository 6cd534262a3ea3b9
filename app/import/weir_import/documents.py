# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Strict JSON: reading with a refusal of everything that limiters refuse, and writing."""

import json
import re
from typing import Any

from weir_import.diagnostics import Failure, place

SUSPICIOUS = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
ESCAPED = re.compile(r'[\x00-\x1f"\\]')
SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def _refuse(word: str) -> None:
    """Refuses NaN and Infinity."""
    raise ValueError(f"{word} is not a number of JSON")


def _real(text: str) -> float:
    """Returns a number that a double can hold."""
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is too large")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns an object, unless a key occurs twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise ValueError(f'the key "{twice}" occurs twice in an object')
    return found


def _check_texts(value: Any) -> None:
    """Refuses texts with a NUL or with half of a surrogate pair."""
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError("\\u0000 is not allowed in a text")
        value.encode("utf-8")
    elif isinstance(value, dict):
        for key, each in value.items():
            _check_texts(key)
            _check_texts(each)
    elif isinstance(value, list):
        for each in value:
            _check_texts(each)


def parse(data: bytes, reals: bool = False, unique: bool = False) -> Any:
    """Returns the array or object of a text. ValueError if there is none, or if anything follows.

    reals: read all numbers as doubles. unique: refuse objects that have a key twice.
    """
    try:
        text = data.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse, parse_float=_real,
                           parse_int=_real if reals else None,
                           object_pairs_hook=_unique if unique else None)
        if SUSPICIOUS.search(text):
            _check_texts(value)
    except RecursionError:
        raise ValueError("arrays and objects are nested too deeply") from None
    if not isinstance(value, (dict, list)):
        raise ValueError("expected an array or an object")
    return value


def load(path: str) -> Any:
    """Returns the array or object of a file. Failure, with its line, if there is none."""
    try:
        with open(path, "rb") as file:
            return parse(file.read(), unique=True)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    except json.JSONDecodeError as error:
        words = error.msg[0].lower() + error.msg[1:]
        raise Failure(f"{place(path, error.lineno)}: {words}") from None
    except UnicodeError:
        raise Failure(f"{path}: expected UTF-8") from None
    except ValueError as error:
        raise Failure(f"{path}: {error}") from None


def compact(value: Any, ordered: bool = False) -> str:
    """Returns a value on one line without blanks; reals have 17 digits, as in a limiter."""
    return _write(value, 17, ordered)


def _text(text: str) -> str:
    """Returns a text in quotes."""
    return '"' + ESCAPED.sub(lambda found: SHORT.get(found[0]) or f"\\u{ord(found[0]):04X}",
                             text) + '"'


def _write(value: Any, digits: int, ordered: bool) -> str:
    """Returns one value."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        items = sorted(value.items()) if ordered else value.items()
        return "{" + ",".join(f"{_text(key)}:{_write(each, digits, ordered)}"
                              for key, each in items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_write(each, digits, ordered) for each in value) + "]"
    return _scalar(value, digits)


def _scalar(value: Any, digits: int) -> str:
    """Returns a number, true, false or null."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, float):
        text = f"{value:.{digits}g}"
        if "e" in text:
            mantissa, exponent = text.split("e")
            return f"{mantissa}e{int(exponent)}"
        return text if "." in text else text + ".0"
    return str(value)


def _pretty(value: Any, margin: str, out: list[str]) -> None:
    """Adds the parts of a value with a line for each member."""
    if not isinstance(value, (dict, list)) or not value:
        out.append(_write(value, 15, False))
        return
    inner = margin + " "
    between = ("{" if isinstance(value, dict) else "[") + inner
    for key in value:
        out.append(between)
        if isinstance(value, dict):
            out.append(_text(key) + ": ")
            _pretty(value[key], inner, out)
        else:
            _pretty(key, inner, out)
        between = "," + inner
    out.append(margin + ("}" if isinstance(value, dict) else "]"))


def _escape(found: re.Match) -> str:
    """Returns a character beyond ASCII as escapes of UTF-16."""
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2))


def pretty(value: Any) -> str:
    """Returns a document for people and programs, in ASCII."""
    out: list[str] = []
    _pretty(value, "\n", out)
    return NOT_ASCII.sub(_escape, "".join(out))


def same(a: Any, b: Any) -> bool:
    """Returns true if two values are equal and of the same types: 1, 1.0 and true differ."""
    if a != b or type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return all(map(same, a, b))
    return True

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Text without the secrets in it. Configurations name files of secrets and have none themselves,
but an operator can write one in a wrong place. The text can be any bytes. Without I/O.
"""

import json
import re
from typing import Callable, Iterable, Iterator

REDACTED = b"REDACTED"
WORD_LEAST = 6  # bytes; a shorter word of a file of secrets is no secret

# A name of a member, up to its value.
NAME = re.compile(rb'"((?:[^"\\\n]|\\[\s\S])*)"[ \t\r\n]*:[ \t\r\n]*')
# A string, which ends with its line if it has no second quote; or a bracket.
TOKEN = re.compile(rb'"(?:[^"\\\n]|\\[\s\S]?)*"?|[\[{]|[\]}]')
SCALAR = re.compile(rb"[^,\]} \t\r\n]*")
STRING = re.compile(rb'"((?:[^"\\\n]|\\[\s\S])+)"')
SECRET_WORD = rb"(?i:password|passwd|passphrase|secret|token|credential|private)"
SECRET_NAME = re.compile(SECRET_WORD)
# A name that can have such a word, to skip all others quickly: an escape can hide it.
MAYBE_SECRET = re.compile(rb'"(?=[^"\n]*?(?:' + SECRET_WORD + rb"|\\))" + NAME.pattern[1:])
FILE_NAME = re.compile(rb"_files?\Z", re.IGNORECASE)
# Keys as they are written, the user and password of a URL, and private keys of certificates.
ANYWHERE = (
    re.compile(rb"[0-9a-fA-F]{40,}"),
    re.compile(rb""":\\?/\\?/([^/@"' \t\r\n]+)(?=@)"""),
    re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
               re.DOTALL),
)


def _plain(text: bytes) -> bytes:
    """Returns the content of a string of JSON without its escapes, or as it is if it is none."""
    if b"\\" not in text:
        return text
    try:
        return json.loads(b'"' + text + b'"').encode("utf-8", "surrogatepass")
    except ValueError:
        return text


def _members(text: bytes, pattern: re.Pattern[bytes] = NAME) -> Iterator[tuple[bytes, int]]:
    """Yields the name of each member, and the place of its value. Any quote can begin a name."""
    found = pattern.search(text)
    while found:
        yield found[1], found.end()
        found = pattern.search(text, found.start() + 1)


def _end_of_value(text: bytes, at: int) -> int:
    """Returns the end of the value that begins there: of a list or an object, its last bracket."""
    if text[at:at + 1] == b'"':
        return TOKEN.match(text, at).end()
    if text[at:at + 1] not in (b"[", b"{"):
        return SCALAR.match(text, at).end()
    depth = 0
    for token in TOKEN.finditer(text, at):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return len(text)


def _is_secret(name: bytes) -> bool:
    """Returns true if a member of this name has a secret; a path is none."""
    return any(SECRET_NAME.search(each) and not FILE_NAME.search(each)
               for each in (name, _plain(name)))


def _strings_of(text: bytes, wanted: Callable[[bytes], bool], any_quote: bool = False,
                pattern: re.Pattern[bytes] = NAME) -> list[bytes]:
    """Returns the strings in the values of the members with a wanted name. any_quote: a quote that
    seems to end a string can also begin one, because the text can be no JSON.
    """
    found = []
    for name, at in _members(text, pattern):
        if not wanted(name) and not wanted(_plain(name)):
            continue
        end = _end_of_value(text, at)
        while string := STRING.search(text, at, end):
            found.append(_plain(string[1]))
            at = string.start() + 1 if any_quote else string.end()
    return found


def included(text: bytes) -> list[bytes]:
    """Returns the files and folders that a configuration includes."""
    return _strings_of(text, lambda name: name == b"include")


def secret_files(text: bytes, keys: Iterable[bytes] = ()) -> list[bytes]:
    """Returns the files of secrets that a configuration names: the values of the keys, and of each
    key that ends in _file or _files. The private key of a certificate is named "key" alone.
    """
    named = {b"key", *keys}
    return _strings_of(
        text, lambda name: name in named or FILE_NAME.search(name) is not None, True)


def words_of(text: bytes) -> set[bytes]:
    """Returns the words of a file of secrets that are long enough to be one."""
    return {word for word in re.split(rb"[ \t\r\n]+", text) if len(word) >= WORD_LEAST}


def values_of(text: bytes) -> set[bytes]:
    """Returns the secrets that are values of members, to hide them in other places also."""
    scalars = [SCALAR.match(text, at)[0] for name, at in _members(text, MAYBE_SECRET)
               if _is_secret(name) and text[at:at + 1] not in (b'"', b"[", b"{")]
    strings = _strings_of(text, _is_secret, pattern=MAYBE_SECRET)
    return {each for each in [*strings, *scalars] if len(each) >= WORD_LEAST}


def forms_of(secrets: Iterable[bytes]) -> list[bytes]:
    """Returns each secret as it is and as JSON escapes it."""
    found = set(secrets)
    for secret in list(found):
        word = secret.decode("utf-8", "surrogateescape")
        for ascii_only in (False, True):
            text = json.dumps(word, ensure_ascii=ascii_only)[1:-1]
            upper = re.sub(r"\\u[0-9a-f]{4}", lambda each: "\\u" + each[0][2:].upper(), text)
            found |= {each.encode("utf-8", "surrogateescape") for each in (text, upper)}
    return sorted(found)


def _places(text: bytes, forms: Iterable[bytes]) -> Iterator[tuple[int, int, bool]]:
    """Yields the begin and end of everything to hide; true: it is the value of a member."""
    for form in forms:
        at = text.find(form)
        while at >= 0:
            yield at, at + len(form), False
            at = text.find(form, at + 1)
    for pattern in ANYWHERE:
        for found in pattern.finditer(text):
            yield *found.span(pattern.groups), False
    end = 0
    for name, at in _members(text, MAYBE_SECRET):
        if end < len(text) and _is_secret(name):
            end = _end_of_value(text, at)
            yield at, end, True


def hide(text: bytes, forms: Iterable[bytes]) -> bytes:
    """Returns a copy of the text with REDACTED in the place of secrets: forms_of() the learned
    ones, values of members that have the name password, secret or similar, the user and password
    of a URL, and keys.
    """
    parts, done = [], 0
    for begin, end, is_value in sorted(_places(text, forms), key=lambda each: (
            each[0], not each[2])):
        if end <= done and not (is_value and begin == end):
            continue
        if begin >= done:
            parts += [text[done:begin], b'"%s"' % REDACTED if is_value else REDACTED]
        done = max(done, end)
    return b"".join(parts) + text[done:]

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The archive: a file that is complete or absent, and that only its owner can read."""

import contextlib
import errno
import io
import os
import tarfile
import tempfile
import time
from typing import Iterable

from weir_support import redact

NAME_MOST = 127  # bytes of the name of a part


class Bundle:
    """An archive that is written. It appears under its name at the end, by finish()."""

    def __init__(self, folder: str, output: str) -> None:
        """OSError: there can be no such file, or there is one."""
        self.folder, self.output = folder, output
        self.secrets: set[bytes] = set()
        self.forms: list[bytes] = []
        self.parts: list[dict] = []  # name, presence, reason of an absence
        self.now = time.time()
        if os.path.lexists(output):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        descriptor, self.path = tempfile.mkstemp(
            prefix=".weir-support-", dir=os.path.dirname(output) or ".")
        self.file = open(descriptor, "wb")
        try:
            self.archive = tarfile.open(fileobj=self.file, mode="w:gz")
            self._add(folder, b"", tarfile.DIRTYPE, 0o700)
        except BaseException:
            self.close()
            raise

    def _add(self, name: str, data: bytes, kind: bytes, mode: int) -> None:
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.size, entry.mtime = kind, mode, len(data), int(self.now)
        entry.uid, entry.gid = os.getuid(), os.getgid()
        self.archive.addfile(entry, io.BytesIO(data))

    def learn(self, secrets: Iterable[bytes]) -> None:
        """Adds secrets that no part may have."""
        self.secrets.update(secrets)
        self.forms = redact.forms_of(self.secrets)

    def hide(self, text: str) -> str:
        """Returns a text without secrets."""
        hidden = redact.hide(text.encode("utf-8", "surrogateescape"), self.forms)
        return hidden.decode("utf-8", "backslashreplace")

    def absent(self, name: str, why: str) -> None:
        """Notes that there is no such part."""
        self.parts.append({"part": self.hide(name), "there": False, "why": self.hide(why)})

    def write(self, name: str, text: bytes) -> None:
        """Adds a part without the secrets in it. Its name gets no folders."""
        name = self.hide(name).replace("/", "_").encode()[:NAME_MOST].decode("utf-8", "ignore")
        taken = [part["part"] for part in self.parts if part["there"]]
        if name in taken:
            name = f"{name[:NAME_MOST - 8]}.{len(taken)}"
        self._add(f"{self.folder}/{name}", redact.hide(text.replace(b"\0", b" "), self.forms),
                  tarfile.REGTYPE, 0o600)
        self.parts.append({"part": name, "there": True, "why": None})

    def finish(self) -> None:
        """Completes the archive and gives it its name. OSError: that fails, and nothing is left."""
        try:
            self.archive.close()
            self.file.flush()
            os.fsync(self.file.fileno())
            try:
                os.link(self.path, self.output)
            except PermissionError:  # a file system without links
                if os.path.lexists(self.output):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
                os.rename(self.path, self.output)
        finally:
            self.close()

    def close(self) -> None:
        """Removes everything that finish() has not completed."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        with contextlib.suppress(OSError):
            self.file.close()

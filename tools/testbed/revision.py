# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Which commit figures are of."""

import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What figures are written into, and so may differ while they are made.
WRITTEN = ("README.md", "CHANGELOG.md", "doc")


def git(*words):
    """What git says of the tree, whoever owns it; None where it cannot tell."""
    try:
        done = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "-C", ROOT, *words],
                              capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def changed():
    """The files that differ from the commit and that figures depend on, a line each."""
    return git("status", "--porcelain", "--", ".", *(f":!{name}" for name in WRITTEN))


def commit():
    """The commit that is here, marked if something differs from it; "unknown" without git."""
    here = git("rev-parse", "--short=10", "HEAD")
    if here is None:
        return "unknown"
    return here + ("-dirty" if changed() else "")

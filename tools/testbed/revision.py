# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The commit that figures belong to."""

import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Files that figures are written into, and which can differ meanwhile.
WRITTEN = ("README.md", "CHANGELOG.md", "doc")


def git(*words):
    """Returns git's output for the tree, for any owner of its files; None if it fails."""
    try:
        done = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "-C", ROOT, *words],
                              capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def changed():
    """Returns the files that differ from the commit and that figures depend on, a line each."""
    return git("status", "--porcelain", "--", ".", *(f":!{name}" for name in WRITTEN))


def commit():
    """Returns the present commit, marked if files differ from it; "unknown" without git."""
    here = git("rev-parse", "--short=10", "HEAD")
    if here is None:
        return "unknown"
    return here + ("-dirty" if changed() else "")

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Output files that belong to the user who called sudo."""

import os


def hand_over(path):
    """Gives a file to the user who called sudo, if any."""
    owner, group = os.environ.get("SUDO_UID"), os.environ.get("SUDO_GID")
    if owner and group:
        os.chown(path, int(owner), int(group))


def write(path, text):
    """Writes one file of results."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    hand_over(path)

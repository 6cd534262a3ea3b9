# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A distributed limiter on one machine: real TCP, emulated links, one namespace per limiter."""

from .bed import Testbed
from .interrupt import Interrupted
from .processes import TestbedError

__all__ = ["Interrupted", "Testbed", "TestbedError"]

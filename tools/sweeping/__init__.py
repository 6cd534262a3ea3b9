# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Random scenarios of groups, each compared with one central bucket."""

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Policies of subscriber lists and of BGP flow specifications, sent to running limiters."""

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The evaluation of "Cloud Control with Distributed Rate Limiting", repeated with Weir."""

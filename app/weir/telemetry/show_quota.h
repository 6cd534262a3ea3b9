/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Budgets as JSON: what is left of each, and the tree that they move along. Control thread; the
 * context is a struct box.
 */
#ifndef WEIR_APP_SHOW_QUOTA_H
#define WEIR_APP_SHOW_QUOTA_H

#include "telemetry/server.h"

extern const struct telemetry_command show_quota_commands[];

#endif

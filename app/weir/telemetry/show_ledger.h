/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that are never exceeded as JSON: who holds what. Control thread; the context is a struct
 * box.
 */
#ifndef WEIR_APP_SHOW_LEDGER_H
#define WEIR_APP_SHOW_LEDGER_H

#include "telemetry/server.h"

extern const struct telemetry_command show_ledger_commands[];

#endif

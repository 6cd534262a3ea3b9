/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Where sources are decided, as JSON. Control thread.
 */
#ifndef WEIR_APP_SHOW_PLACING_H
#define WEIR_APP_SHOW_PLACING_H

#include "telemetry/server.h"

extern const struct telemetry_command show_placing_commands[];

#endif

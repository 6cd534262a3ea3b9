/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The appliance's state as JSON, for lib/telemetry. Control thread; the context is a struct box.
 */
#ifndef WEIR_APP_SHOW_H
#define WEIR_APP_SHOW_H

#include "telemetry/server.h"

extern const struct telemetry_command show_commands[];

#endif

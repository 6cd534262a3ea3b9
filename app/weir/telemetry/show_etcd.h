/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Totals that live in etcd as JSON: what is known of them here. Control thread; the context is a
 * struct box.
 */
#ifndef WEIR_APP_SHOW_ETCD_H
#define WEIR_APP_SHOW_ETCD_H

#include "telemetry/server.h"

extern const struct telemetry_command show_etcd_commands[];

#endif

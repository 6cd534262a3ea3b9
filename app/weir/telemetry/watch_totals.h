/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reports when a quota nears its end, when it is spent, and when it has units again. Control.
 */
#ifndef WEIR_APP_WATCH_TOTALS_H
#define WEIR_APP_WATCH_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

struct instance;

uint64_t watch_totals_next(const struct instance *inst);
bool watch_totals(struct instance *inst, uint64_t now_ns);

#endif

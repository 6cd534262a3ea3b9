/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The counters of every link as JSON. Every packet received is in `sent`, in one of the drop
 * counters, or still `waiting` or `in_flight`.
 */
#ifndef WEIR_EMU_STATS_H
#define WEIR_EMU_STATS_H

#include <jansson.h>

#include "options.h"

/*
 * Returns a new reference, or NULL when out of memory. lanes: DIRECTIONS for each of the links of
 * options. no_mbuf: receptions that found the packet pool empty.
 */
json_t *stats_json(const struct options *options, const struct lane *lanes, uint64_t no_mbuf);

#endif

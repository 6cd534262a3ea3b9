/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Received parts of a sequence: everything below `base`, and ranges above it, ascending and
 * separate. The size is constant: a further range is rejected.
 */
#ifndef WEIR_SIM_RANGES_H
#define WEIR_SIM_RANGES_H

#include <stdint.h>

#include "transport/conn.h"

#define RANGES_MAX 24

enum ranges_verdict { RANGES_NEW, RANGES_HAD, RANGES_FULL };

struct ranges {
	uint64_t base;
	uint32_t n;
	struct {
		uint32_t from, to; /* relative to base */
	} at[RANGES_MAX];
};

/*
 * Adds [from, to), which is not empty and within 2^32 of base. Returns RANGES_HAD if all of it was
 * present.
 */
enum ranges_verdict ranges_add(struct ranges *ranges, uint64_t from, uint64_t to);

/* Returns range i as absolute numbers. */
static inline struct range ranges_get(const struct ranges *ranges, unsigned i)
{
	return (struct range){
		ranges->base + ranges->at[i].from,
		ranges->base + ranges->at[i].to,
	};
}

/* Raises base to at least the end of range 0, as if all data below it had arrived. */
void ranges_skip_hole(struct ranges *ranges);

#endif

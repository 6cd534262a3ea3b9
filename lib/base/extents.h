/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A list of pieces of memory: the parts of a large structure that one operation needs. Pure; one
 * thread.
 */
#ifndef WEIR_BASE_EXTENTS_H
#define WEIR_BASE_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXTENTS_MAX 128

struct extents {
	unsigned n;
	bool overflow; /* the list was full, or a piece too large */
	struct {
		const void *at;
		uint32_t bytes;
	} of[EXTENTS_MAX];
};

static inline void extents_add(struct extents *extents, const void *at, size_t bytes)
{
	if (extents->n == EXTENTS_MAX || bytes > UINT32_MAX) {
		extents->overflow = true;
		return;
	}
	extents->of[extents->n].at = at;
	extents->of[extents->n++].bytes = (uint32_t)bytes;
}

#endif

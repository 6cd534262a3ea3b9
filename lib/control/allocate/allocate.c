/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "allocate/allocate.h"

#include <stddef.h>
#include <string.h>

static const struct allocator *const allocators[] = {
	&allocator_central,
	&allocator_static,
	&allocator_fps,
	&allocator_gtb,
	&allocator_grd,
	&allocator_adaptor,
	&allocator_gdrl,
	&allocator_quota,
};

#define N_ALLOCATORS (sizeof(allocators) / sizeof(allocators[0]))

const struct allocator *allocator_find(const char *name)
{
	for (size_t i = 0; i < N_ALLOCATORS; i++)
		if (strcmp(allocators[i]->name, name) == 0)
			return allocators[i];
	return NULL;
}

const char *allocator_names(void)
{
	return "central, static, fps, gtb, grd, adaptor, gdrl, quota";
}

const char *allocate_regime_name(enum allocate_regime regime)
{
	static const char *const names[] = {
		[ALLOCATE_IDLE] = "idle",
		[ALLOCATE_BOTTLENECKED] = "bottlenecked",
		[ALLOCATE_UNBOTTLENECKED] = "unbottlenecked",
	};

	return names[regime];
}

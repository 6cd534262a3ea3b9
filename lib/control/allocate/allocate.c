/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "allocate/allocate.h"

#include <stddef.h>
#include <string.h>

#define ALLOCATOR_ADDRESS(name) &allocator_##name,
#define ALLOCATOR_WORD(name)    ", " #name

static const struct allocator *const allocators[] = {ALLOCATORS(ALLOCATOR_ADDRESS)};

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
	static const char names[] = ALLOCATORS(ALLOCATOR_WORD);

	return names + sizeof(", ") - 1;
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

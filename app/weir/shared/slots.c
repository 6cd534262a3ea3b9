/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "slots.h"

#include <errno.h>
#include <stdlib.h>

int slots_init(struct slots *slots, unsigned n, unsigned capacity)
{
	*slots = (struct slots){.capacity = capacity, .n = n};
	slots->of = malloc(((size_t)n + 1) * sizeof(*slots->of));
	slots->tenant = malloc(((size_t)capacity + 1) * sizeof(*slots->tenant));
	if (!slots->of || !slots->tenant)
		return -ENOMEM;
	for (unsigned i = 0; i < capacity; i++)
		slots->tenant[i] = i < n ? i : SLOT_FREE;
	for (unsigned i = 0; i < n; i++)
		slots->of[i] = i;
	return 0;
}

void slots_free(struct slots *slots)
{
	free(slots->of);
	free(slots->tenant);
	*slots = (struct slots){0};
}

int slots_plan(const struct slots *slots, const unsigned *keeps, unsigned n, uint32_t *of)
{
	uint32_t slot = 0;

	for (unsigned i = 0; i < n; i++) {
		if (keeps[i] != SLOT_ANEW) {
			of[i] = slots->of[keeps[i]];
			continue;
		}
		while (slot < slots->capacity && slots->tenant[slot] != SLOT_FREE)
			slot++;
		if (slot == slots->capacity)
			return -ENOSPC;
		of[i] = slot++;
	}
	return 0;
}

void slots_commit(struct slots *slots, uint32_t *of, unsigned n)
{
	for (unsigned i = 0; i < slots->n; i++)
		slots->tenant[slots->of[i]] = SLOT_LEFT;
	for (unsigned i = 0; i < n; i++)
		slots->tenant[of[i]] = i;
	free(slots->of);
	slots->of = of;
	slots->n = n;
}

void slots_release(struct slots *slots, uint32_t slot)
{
	slots->tenant[slot] = SLOT_FREE;
}

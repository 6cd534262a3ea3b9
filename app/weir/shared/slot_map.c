/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The slot of each policy: the index of its state on the workers. The set of changed slots.
 */
#include "slot_map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"

int slot_map_init(struct slot_map *slots, unsigned n, unsigned capacity)
{
	*slots = (struct slot_map){.capacity = capacity, .n = n};
	slots->of = malloc(((size_t)n + 1) * sizeof(*slots->of));
	slots->policy = malloc(((size_t)capacity + 1) * sizeof(*slots->policy));
	if (!slots->of || !slots->policy)
		return -ENOMEM;
	for (unsigned i = 0; i < capacity; i++)
		slots->policy[i] = i < n ? i : SLOT_FREE;
	for (unsigned i = 0; i < n; i++)
		slots->of[i] = i;
	return 0;
}

void slot_map_free(struct slot_map *slots)
{
	free(slots->of);
	free(slots->policy);
	*slots = (struct slot_map){0};
}

int slot_map_plan(const struct slot_map *slots, const unsigned *keeps, unsigned n, uint32_t *of)
{
	uint32_t slot = 0;

	for (unsigned i = 0; i < n; i++) {
		if (keeps[i] != SLOT_UNASSIGNED) {
			of[i] = slots->of[keeps[i]];
			continue;
		}
		while (slot < slots->capacity && slots->policy[slot] != SLOT_FREE)
			slot++;
		if (slot == slots->capacity)
			return -ENOSPC;
		of[i] = slot++;
	}
	return 0;
}

void slot_map_commit(struct slot_map *slots, uint32_t *of, unsigned n)
{
	for (unsigned i = 0; i < slots->n; i++)
		slots->policy[slots->of[i]] = SLOT_LEFT;
	for (unsigned i = 0; i < n; i++)
		slots->policy[of[i]] = i;
	free(slots->of);
	slots->of = of;
	slots->n = n;
}

void slot_map_release(struct slot_map *slots, uint32_t slot)
{
	slots->policy[slot] = SLOT_FREE;
}

/* --- changed slots ---------------------------------------------------------------------------- */

int dirty_init(struct dirty *dirty, unsigned capacity)
{
	*dirty = (struct dirty){.capacity = capacity};
	dirty->slots = calloc(bitmap_words(capacity), sizeof(*dirty->slots));
	return dirty->slots ? 0 : -ENOMEM;
}

void dirty_free(struct dirty *dirty)
{
	free(dirty->slots);
	*dirty = (struct dirty){0};
}

void dirty_mark(struct dirty *dirty, uint32_t slot)
{
	dirty->n += !bitmap_has(dirty->slots, slot);
	bitmap_set(dirty->slots, slot);
}

void dirty_clear(struct dirty *dirty, uint32_t slot)
{
	dirty->n -= bitmap_has(dirty->slots, slot);
	bitmap_clear(dirty->slots, slot);
}

uint32_t dirty_next(const struct dirty *dirty)
{
	unsigned n = dirty->capacity, slot = bitmap_next(dirty->slots, n, dirty->next);

	return slot < n ? slot : bitmap_next(dirty->slots, n, 0);
}

void dirty_published(struct dirty *dirty, uint32_t slot)
{
	dirty_clear(dirty, slot);
	dirty->next = slot + 1;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Set of slots whose policy has unpublished changes: another limit, or other parts.
 */
#include "dirty.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"

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

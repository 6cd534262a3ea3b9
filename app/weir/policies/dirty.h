/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Set of slots whose policy has unpublished changes: another limit, or other parts. Code that makes
 * such a change marks the slot; publish.c drains the set. Control.
 */
#ifndef WEIR_APP_DIRTY_H
#define WEIR_APP_DIRTY_H

#include <stdbool.h>
#include <stdint.h>

struct dirty {
	uint64_t *slots; /* one bit each */
	unsigned capacity;
	unsigned n;    /* marked slots */
	uint32_t next; /* slot at which dirty_next() begins */
};

/*
 * Makes an empty set for so many slots. Returns 0 or -ENOMEM; dirty_free() is due in either case.
 */
int dirty_init(struct dirty *dirty, unsigned capacity);
void dirty_free(struct dirty *dirty);

void dirty_mark(struct dirty *dirty, uint32_t slot);

/* Removes a slot that has nothing to publish. */
void dirty_clear(struct dirty *dirty, uint32_t slot);

/*
 * Returns a marked slot after the last published one, so that each has its turn. The set must not
 * be empty.
 */
uint32_t dirty_next(const struct dirty *dirty);

/* Removes the slot that dirty_next() returned, after it was published. */
void dirty_published(struct dirty *dirty, uint32_t slot);

static inline bool dirty_is_empty(const struct dirty *dirty)
{
	return dirty->n == 0;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Slots whose policy the workers have yet to be told of anew, as its limit or what it is made of
 * may be another. Whoever changes something of that kind marks the slot, and publish.c goes through
 * the marks. Control.
 */
#ifndef WEIR_APP_DIRTY_H
#define WEIR_APP_DIRTY_H

#include <stdbool.h>
#include <stdint.h>

struct dirty {
	uint64_t *slots; /* a bit each */
	unsigned capacity;
	unsigned n;    /* slots that are marked */
	uint32_t next; /* where dirty_next() begins to look */
};

/* Room for so many slots, none of them marked. 0 or -ENOMEM; dirty_free() is due in either case. */
int dirty_init(struct dirty *dirty, unsigned capacity);
void dirty_free(struct dirty *dirty);

void dirty_mark(struct dirty *dirty, uint32_t slot);

/* There is nothing to tell of the slot, or not any more. */
void dirty_clear(struct dirty *dirty, uint32_t slot);

/* A marked slot after the last that was told, so that each has its turn; not of an empty set. */
uint32_t dirty_next(const struct dirty *dirty);

/* What dirty_next() answered has been told. */
void dirty_told(struct dirty *dirty, uint32_t slot);

static inline bool dirty_is_empty(const struct dirty *dirty)
{
	return dirty->n == 0;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A read-only directory of ids: the limiters of a group, or the policies of a limiter. It is built
 * once and borrowed by pointer, so that thousands of limiters in one process share one. Any thread
 * may read it.
 */
#ifndef WEIR_GROUP_ROSTER_H
#define WEIR_GROUP_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

struct roster_name {
	uint32_t id;
	unsigned index;
};

struct roster {
	unsigned n;
	uint32_t *ids;              /* n: by index, in the given order */
	struct roster_name *sorted; /* n: by position, which is the order of the ids */
	struct roster_name *slots;  /* by hash, at most half of them taken; index n: free */
	unsigned shift;             /* right shift of a hash: 2^(32 - shift) slots */
};

/* Ids already are hashes of names, but those of names with the same beginning are close. */
static inline uint32_t roster_hash(uint32_t id)
{
	return id * UINT32_C(0x9e3779b1);
}

/* Copies n ids. Returns 0, -EINVAL if two are the same, or -ENOMEM. */
int roster_create(const uint32_t *ids, unsigned n, struct roster **out);
void roster_destroy(struct roster *roster);

/* Returns true if both have the same ids in the same order. */
bool roster_equal(const struct roster *a, const struct roster *b);

/* Returns the position of an id, or n. */
unsigned roster_position(const struct roster *roster, uint32_t id);

/* Returns the index of an id, or n: reads one cache line, or two. */
static inline unsigned roster_find(const struct roster *roster, uint32_t id)
{
	uint32_t mask = UINT32_MAX >> roster->shift, at = roster_hash(id) >> roster->shift;

	while (roster->slots[at].id != id && roster->slots[at].index != roster->n)
		at = (at + 1) & mask;
	return roster->slots[at].index;
}

#endif

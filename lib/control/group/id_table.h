/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A read-only table of the 64-bit ids of policies: finds the index of an id in a time that does not
 * grow with their number. Any thread may read it.
 */
#ifndef WEIR_GROUP_ID_TABLE_H
#define WEIR_GROUP_ID_TABLE_H

#include <stdint.h>

#include "base/hash.h"

struct id_slot {
	uint64_t id;
	unsigned index;
};

struct id_table {
	unsigned n;
	uint64_t *ids;         /* n: by index */
	struct id_slot *slots; /* by hash, at most half of them taken; index n: free */
	unsigned shift;        /* 2^(64 - shift) slots */
};

/* Copies n ids. Returns 0, -EINVAL if two are the same, or -ENOMEM. */
int id_table_create(const uint64_t *ids, unsigned n, struct id_table **out);
void id_table_destroy(struct id_table *table);

/* Returns the slot of an id, or the free one where it would be. */
static inline struct id_slot *id_table_slot(const struct id_table *table, uint64_t id)
{
	uint64_t mask = UINT64_MAX >> table->shift, at = id * HASH_GOLDEN >> table->shift;

	while (table->slots[at].id != id && table->slots[at].index != table->n)
		at = (at + 1) & mask;
	return &table->slots[at];
}

/* Returns the index of an id, or n: reads one cache line, or two. */
static inline unsigned id_table_find(const struct id_table *table, uint64_t id)
{
	return id_table_slot(table, id)->index;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A read-only table of the 64-bit ids of policies: finds the index of an id in a time that does not
 * grow with their number.
 */
#include "group/id_table.h"

#include <errno.h>
#include <stdlib.h>

static int fill_slots(struct id_table *table, const uint64_t *ids)
{
	for (uint64_t at = 0; at <= UINT64_MAX >> table->shift; at++)
		table->slots[at].index = table->n;
	for (unsigned i = 0; i < table->n; i++) {
		struct id_slot *slot = id_table_slot(table, ids[i]);

		if (slot->index != table->n)
			return -EINVAL;
		*slot = (struct id_slot){ids[i], i};
		table->ids[i] = ids[i];
	}
	return 0;
}

int id_table_create(const uint64_t *ids, unsigned n, struct id_table **out)
{
	struct id_table *table = calloc(1, sizeof(*table));
	int ret = -ENOMEM;

	if (!table)
		return ret;
	table->n = n;
	/* Two slots an id, and one that stays free. */
	table->shift = 63;
	while (UINT64_MAX >> table->shift < 2 * (uint64_t)n)
		table->shift--;
	table->ids = calloc((size_t)n + 1, sizeof(*table->ids));
	table->slots = calloc((size_t)(UINT64_MAX >> table->shift) + 1, sizeof(*table->slots));
	if (table->ids && table->slots)
		ret = fill_slots(table, ids);
	if (ret) {
		id_table_destroy(table);
		return ret;
	}
	*out = table;
	return 0;
}

void id_table_destroy(struct id_table *table)
{
	if (!table)
		return;
	free(table->ids);
	free(table->slots);
	free(table);
}

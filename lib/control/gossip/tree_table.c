/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "gossip/tree_table.h"

#include <errno.h>
#include <stdlib.h>

int table_create(struct tree_table *table, unsigned max)
{
	table->max = max;
	table->at = calloc(max, sizeof(*table->at));
	return table->at ? 0 : -ENOMEM;
}

void table_destroy(struct tree_table *table)
{
	while (table->n > 0)
		table_drop(table, table->n - 1);
	free(table->at);
}

struct neighbour *table_find(const struct tree_table *table, unsigned position)
{
	for (unsigned i = 0; i < table->n; i++)
		if (table->at[i]->position == position)
			return table->at[i];
	return NULL;
}

static unsigned highest_position(const struct tree_table *table)
{
	unsigned k = 0;

	for (unsigned i = 1; i < table->n; i++)
		if (table->at[i]->position > table->at[k]->position)
			k = i;
	return k;
}

static bool neighbour_is_idle(const struct neighbour *neighbour, uint64_t stale_ns)
{
	return !neighbour->said && !neighbour->heard &&
	       (int64_t)(neighbour->spoke_ns - stale_ns) < 0;
}

/* Makes room for one more; returns false if there is none for this position. */
static bool displace_neighbour(struct tree_table *table, unsigned position, uint64_t stale_ns)
{
	unsigned k = 0;

	while (k < table->n && !neighbour_is_idle(table->at[k], stale_ns))
		k++;
	if (k == table->n)
		k = highest_position(table);
	if (!neighbour_is_idle(table->at[k], stale_ns) && table->at[k]->position < position)
		return false;
	table_drop(table, k);
	return true;
}

struct neighbour *table_add(
	struct tree_table *table, unsigned position, uint32_t id, uint64_t stale_ns)
{
	struct neighbour *neighbour;

	if (table->n == table->max && !displace_neighbour(table, position, stale_ns))
		return NULL;
	neighbour = calloc(1, sizeof(*neighbour));
	if (!neighbour)
		return NULL;
	neighbour->position = position;
	neighbour->peer.id = id;
	table->at[table->n++] = neighbour;
	return neighbour;
}

void table_drop(struct tree_table *table, unsigned k)
{
	struct neighbour *neighbour = table->at[k];

	table->at[k] = table->at[--table->n];
	neighbour_forget(neighbour);
	neighbour_unlink(neighbour);
	free(neighbour);
}

void neighbour_forget(struct neighbour *neighbour)
{
	neighbour->link = DATAGRAM_APART;
	neighbour->held_until_ns = 0;
	free(neighbour->heard);
	neighbour->heard = NULL;
}

void neighbour_unlink(struct neighbour *neighbour)
{
	free(neighbour->said);
	neighbour->said = NULL;
}

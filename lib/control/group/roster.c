/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A read-only directory of ids: the limiters of a group, or the policies of a limiter.
 */
#include "group/roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int name_compare(const void *a, const void *b)
{
	uint32_t x = ((const struct roster_name *)a)->id, y = ((const struct roster_name *)b)->id;

	return x < y ? -1 : x > y;
}

static void fill_roster_slots(struct roster *roster)
{
	uint32_t mask = UINT32_MAX >> roster->shift;

	for (uint32_t at = 0; at <= mask; at++)
		roster->slots[at].index = roster->n;
	for (unsigned i = 0; i < roster->n; i++) {
		uint32_t at = roster_hash(roster->ids[i]) >> roster->shift;

		while (roster->slots[at].index != roster->n)
			at = (at + 1) & mask;
		roster->slots[at] = (struct roster_name){roster->ids[i], i};
	}
}

static int fill_roster(struct roster *roster, const uint32_t *ids)
{
	unsigned n = roster->n;

	for (unsigned i = 0; i < n; i++) {
		roster->ids[i] = ids[i];
		roster->sorted[i] = (struct roster_name){ids[i], i};
	}
	qsort(roster->sorted, n, sizeof(*roster->sorted), name_compare);
	for (unsigned i = 1; i < n; i++)
		if (roster->sorted[i].id == roster->sorted[i - 1].id)
			return -EINVAL;
	fill_roster_slots(roster);
	return 0;
}

int roster_create(const uint32_t *ids, unsigned n, struct roster **out)
{
	struct roster *roster = calloc(1, sizeof(*roster));
	int ret = -ENOMEM;

	if (!roster)
		return ret;
	roster->n = n;
	roster->ids = calloc((size_t)n + 1, sizeof(*roster->ids));
	roster->sorted = calloc((size_t)n + 1, sizeof(*roster->sorted));
	/* Two slots an id, and one that stays free. */
	roster->shift = 31;
	while (roster->shift > 1 && UINT32_MAX >> roster->shift < 2 * (uint64_t)n)
		roster->shift--;
	roster->slots = calloc((size_t)(UINT32_MAX >> roster->shift) + 1, sizeof(*roster->slots));
	if (roster->ids && roster->sorted && roster->slots)
		ret = fill_roster(roster, ids);
	if (ret) {
		roster_destroy(roster);
		return ret;
	}
	*out = roster;
	return 0;
}

void roster_destroy(struct roster *roster)
{
	if (!roster)
		return;
	free(roster->ids);
	free(roster->sorted);
	free(roster->slots);
	free(roster);
}

bool roster_equal(const struct roster *a, const struct roster *b)
{
	return a->n == b->n && memcmp(a->ids, b->ids, a->n * sizeof(*a->ids)) == 0;
}

unsigned roster_position(const struct roster *roster, uint32_t id)
{
	struct roster_name key = {.id = id}, *found;

	found = bsearch(&key, roster->sorted, roster->n, sizeof(key), name_compare);
	return found ? (unsigned)(found - roster->sorted) : roster->n;
}

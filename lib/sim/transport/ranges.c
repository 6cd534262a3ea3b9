/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "transport/ranges.h"

static void remove_ranges(struct ranges *ranges, unsigned first, unsigned count)
{
	for (unsigned i = first; i + count < ranges->n; i++)
		ranges->at[i] = ranges->at[i + count];
	ranges->n -= count;
}

/* Raises base; no range may be below the new one. */
static void ranges_rebase(struct ranges *ranges, uint32_t up)
{
	ranges->base += up;
	for (unsigned i = 0; i < ranges->n; i++) {
		ranges->at[i].from -= up;
		ranges->at[i].to -= up;
	}
}

void ranges_skip_hole(struct ranges *ranges)
{
	uint32_t up;

	if (ranges->n == 0)
		return;
	up = ranges->at[0].to;
	remove_ranges(ranges, 0, 1);
	ranges_rebase(ranges, up);
}

/* Inserts [from, to) before range i. It touches no other range. */
static enum ranges_verdict ranges_insert(
	struct ranges *ranges, unsigned i, uint32_t from, uint32_t to)
{
	if (ranges->n == RANGES_MAX)
		return RANGES_FULL;
	for (unsigned k = ranges->n; k > i; k--)
		ranges->at[k] = ranges->at[k - 1];
	ranges->n++;
	ranges->at[i].from = from;
	ranges->at[i].to = to;
	return RANGES_NEW;
}

/* Adds [from, to), relative to base and not adjacent to it. */
static enum ranges_verdict add_above(struct ranges *ranges, uint32_t from, uint32_t to)
{
	unsigned i = 0, last;

	while (i < ranges->n && ranges->at[i].to < from)
		i++;
	if (i == ranges->n || to < ranges->at[i].from)
		return ranges_insert(ranges, i, from, to);
	if (ranges->at[i].from <= from && to <= ranges->at[i].to)
		return RANGES_HAD;
	if (from < ranges->at[i].from)
		ranges->at[i].from = from;
	for (last = i; last + 1 < ranges->n && ranges->at[last + 1].from <= to;)
		last++;
	ranges->at[i].to = to > ranges->at[last].to ? to : ranges->at[last].to;
	remove_ranges(ranges, i + 1, last - i);
	return RANGES_NEW;
}

enum ranges_verdict ranges_add(struct ranges *ranges, uint64_t from, uint64_t to)
{
	uint32_t up;

	if (to <= ranges->base)
		return RANGES_HAD;
	if (from > ranges->base)
		return add_above(
			ranges, (uint32_t)(from - ranges->base), (uint32_t)(to - ranges->base));
	up = (uint32_t)(to - ranges->base);
	while (ranges->n && ranges->at[0].from <= up) {
		up = up > ranges->at[0].to ? up : ranges->at[0].to;
		remove_ranges(ranges, 0, 1);
	}
	ranges_rebase(ranges, up);
	return RANGES_NEW;
}

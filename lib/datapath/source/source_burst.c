/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Meters a burst of packets in one table.
 */
#include "source/source_burst.h"

#include "source/visit.h"

#define AHEAD 12 /* lines prefetched at a time: a core can track no more */

/*
 * Admits a newcomer if no source of its home line is in its other line, no shared meter is in use,
 * and there is room. Otherwise returns NULL and does nothing. The newcomer's later packets in the
 * burst find it here too.
 */
static inline struct gcra *admit_newcomer(
	const struct visit *visit, union source_line *home, uint32_t tag)
{
	struct source_table *table = visit->table;
	unsigned found = source_find(home, tag), room, way;

	if (__builtin_expect(found != 0, 0))
		return &home->gcra.state[__builtin_ctz(found)];
	if (home->head.away || table->shared_used || table->stats.full)
		return NULL;
	room = source_find(home, 0);
	room = room ? room : visit_idle_ways(visit, home) & ~(unsigned)home->head.guests;
	if (__builtin_expect(room == 0, 0))
		return NULL;
	way = visit_pick(room, SOURCE_WAYS(struct gcra), tag);
	home->gcra.tag[way] = tag;
	gcra_init_now(&home->gcra.state[way], &visit->gcra);
	visit_count(&table->stats.new_sources, table->stats.new_sources + 1);
	return &home->gcra.state[way];
}

static bool conforms_missed(
	const struct visit *visit, union source_line *home, uint32_t tag, uint32_t cost)
{
	struct gcra *state = admit_newcomer(visit, home, tag);

	if (state == NULL)
		return visit_away(visit, home, tag, cost);
	return gcra_conforms_now(state, &visit->gcra, cost);
}

/* Removes the first packet of a set that is not empty. Returns its index. */
static inline unsigned next_set_bit(uint64_t *packets)
{
	unsigned i = (unsigned)__builtin_ctzll(*packets);

	*packets &= *packets - 1;
	return i;
}

/* Prefetches the other line of the next of these packets, if there is one. */
static inline void prefetch_other(
	const struct source_table *table, const struct source_burst *burst, uint64_t *packets)
{
	if (*packets) {
		unsigned i = next_set_bit(packets);

		__builtin_prefetch(source_other(table, burst->home[i], burst->tag[i]), 1);
	}
}

/*
 * Meters the packets that the first pass left: newcomers, and sources in their other line. If no
 * source is in its other line, does not prefetch other lines.
 */
static uint64_t refuse_missed(
	const struct visit *visit, const struct source_burst *burst, uint64_t missed)
{
	uint64_t refused = 0, ahead = visit->table->guests ? missed : 0;

	for (unsigned k = 0; k < AHEAD; k++)
		prefetch_other(visit->table, burst, &ahead);
	while (missed) {
		unsigned i = next_set_bit(&missed);

		prefetch_other(visit->table, burst, &ahead);
		refused |= (uint64_t)!conforms_missed(
				   visit, burst->home[i], burst->tag[i], burst->cost[i])
			   << i;
	}
	return refused;
}

static uint64_t burst_singly(struct source_table *table, const union meter_profile *profile,
	const struct source_burst *burst, uint64_t now)
{
	uint64_t conforming = 0;

	for (unsigned i = 0; i < burst->n; i++)
		conforming |= (uint64_t)source_table_conforms_at(table, profile, burst->home[i],
				      burst->tag[i], now, burst->cost[i])
			      << i;
	return conforming;
}

uint64_t source_table_conforms_burst(struct source_table *table, const union meter_profile *profile,
	const struct source_burst *burst, uint64_t now)
{
	struct burst_verdicts verdicts = {0};
	struct visit visit;

	if (burst->n == 0)
		return 0;
	if (table->kind != METER_GCRA)
		return burst_singly(table, profile, burst, now);
	visit = visit_begin(table, profile, now);
	if (table->avx2)
		burst_at_home_avx2(&visit, burst, &verdicts);
	else
		burst_at_home(&visit, burst, 0, burst->n, &verdicts);
	if (verdicts.missed)
		verdicts.refused |= refuse_missed(&visit, burst, verdicts.missed);
	return ~verdicts.refused & UINT64_MAX >> (SOURCE_BURST - burst->n);
}

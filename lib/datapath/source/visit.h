/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private declarations that the files of this folder share.
 */
#ifndef WEIR_SOURCE_VISIT_H
#define WEIR_SOURCE_VISIT_H

#include "source/source_burst.h"

#define BIT(i) (UINT64_C(1) << (i))

/* A table, its profile and the time. Virtual time is computed once per visit: packet or burst. */
struct visit {
	struct source_table *table;
	const union meter_profile *profile;
	uint64_t now;
	struct gcra_now gcra; /* only in a table of GCRAs */
};

static inline struct visit visit_begin(
	struct source_table *table, const union meter_profile *profile, uint64_t now)
{
	struct visit visit = {.table = table, .profile = profile, .now = now};

	if (table->kind == METER_GCRA)
		visit.gcra = gcra_now(&profile->gcra, now);
	return visit;
}

/*
 * Returns the idle ways of a line of GCRAs, a bit each. No branches, because any way can be idle.
 */
static inline unsigned visit_idle_ways(const struct visit *visit, const union source_line *line)
{
	unsigned ways = 0;

	for (unsigned way = 0; way < SOURCE_WAYS(struct gcra); way++)
		ways |= (unsigned)gcra_idle_now(&line->gcra.state[way], &visit->gcra) << way;
	return ways;
}

/* Returns the first of a set of ways, not empty, from the tag's way on, modulo n. */
static inline unsigned visit_pick(unsigned ways, unsigned n, uint32_t tag)
{
	unsigned first = (unsigned)((uint64_t)tag * n >> 32);
	unsigned way = first + (unsigned)__builtin_ctz((ways | ways << n) >> first);

	return way < n ? way : way - n;
}

/* Relaxed: a reader needs the whole word, but no order with other words. */
static inline void visit_count(uint64_t *counter, uint64_t value)
{
	__atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

/* Returns the most sources that one newcomer can cause to move, in a table of this kind. */
unsigned source_table_moves(enum meter_kind kind);

/* Returns the bytes of a meter; and the index of a source's shared meter. */
unsigned source_table_state(enum meter_kind kind);
uint64_t source_table_shared(
	const struct source_table *table, const union source_line *home, uint32_t tag);

/* Meters a packet of a source that is not in its home line. Returns whether it conforms. */
bool visit_away(const struct visit *visit, union source_line *home, uint32_t tag, uint32_t cost);

/* The verdicts of a burst, a bit each. A packet with neither bit conforms. */
struct burst_verdicts {
	uint64_t refused;
	uint64_t missed; /* not in its home line, and not handled yet */
};

/*
 * Decides those packets of a burst of GCRA sources, from index `from` up to `to`, whose sources are
 * in their home lines. Adds the result to the verdicts. Missed packets can be handled later in the
 * same order, because no source gets a place in its home line while this runs.
 */
void burst_at_home(const struct visit *visit, const struct source_burst *burst, unsigned from,
	unsigned to, struct burst_verdicts *verdicts);

/* Decides all packets of a burst, on a CPU with AVX2. */
void burst_at_home_avx2(const struct visit *visit, const struct source_burst *burst,
	struct burst_verdicts *verdicts);

/* Returns whether this CPU has AVX2 and BMI. */
bool burst_has_avx2(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the files of this folder share; not for others.
 */
#ifndef WEIR_SOURCE_VISIT_H
#define WEIR_SOURCE_VISIT_H

#include "source/source_burst.h"

#define BIT(i) (UINT64_C(1) << (i))

/* Where and when. Virtual time is worked out once a visit, which may be a whole burst. */
struct visit {
	struct source_table *table;
	const union meter_profile *profile;
	uint64_t now;
	struct gcra_now gcra; /* in a table of that kind */
};

static inline struct visit visit_begin(
	struct source_table *table, const union meter_profile *profile, uint64_t now)
{
	struct visit visit = {.table = table, .profile = profile, .now = now};

	if (table->kind == METER_GCRA)
		visit.gcra = gcra_now(&profile->gcra, now);
	return visit;
}

/* The ways of a line of GCRAs that are idle, a bit each. No branches: any may be. */
static inline unsigned visit_idle_ways(const struct visit *visit, const union source_line *line)
{
	unsigned ways = 0;

	for (unsigned way = 0; way < SOURCE_WAYS(struct gcra); way++)
		ways |= (unsigned)gcra_idle_now(&line->gcra.state[way], &visit->gcra) << way;
	return ways;
}

/* The first of a mask of ways, not 0, at or after one that the tag says; n wrap around. */
static inline unsigned visit_pick(unsigned ways, unsigned n, uint32_t tag)
{
	unsigned first = (unsigned)((uint64_t)tag * n >> 32);
	unsigned way = first + (unsigned)__builtin_ctz((ways | ways << n) >> first);

	return way < n ? way : way - n;
}

/* Relaxed: the reader needs the word whole, not ordered with anything else. */
static inline void visit_count(uint64_t *counter, uint64_t value)
{
	__atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

/* Other sources that one newcomer may cause to move, in a table of that kind. */
unsigned source_table_moves(enum meter_kind kind);

/* Bytes of a meter, and the index of the shared meter of a source with this home and tag. */
unsigned source_table_state(enum meter_kind kind);
uint64_t source_table_shared(
	const struct source_table *table, const union source_line *home, uint32_t tag);

/* Meters a packet of a source that is not at home; returns whether it conforms. */
bool visit_away(const struct visit *visit, union source_line *home, uint32_t tag, uint32_t cost);

/* The verdicts of a burst, a bit each; neither: conforms. */
struct burst_verdicts {
	uint64_t refused;
	uint64_t missed; /* not at home, and nothing done yet */
};

/*
 * Decides those packets of a burst of GCRA sources that are at home, from one to another, and adds
 * that to the verdicts. Missed ones do not change their order: nobody finds a place at home while
 * this runs.
 */
void burst_at_home(const struct visit *visit, const struct source_burst *burst, unsigned from,
	unsigned to, struct burst_verdicts *verdicts);

/* Visits the sources of all packets, on a CPU that has AVX2. */
void burst_at_home_avx2(const struct visit *visit, const struct source_burst *burst,
	struct burst_verdicts *verdicts);

/* Whether this CPU has it. */
bool burst_has_avx2(void);

#endif

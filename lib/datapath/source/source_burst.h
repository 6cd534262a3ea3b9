/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Meters a burst of packets in one table. Each packet's line is prefetched as soon as its source is
 * determined, and all are decided together:
 *
 *     burst.n = 0;
 *     for each packet
 *             source_burst_add(&burst, table, source_hash(table, address, family, bits), cost);
 *     conforming = source_table_conforms_burst(table, profile, &burst, now);
 *
 * While the table has room, the verdicts are those of source_table_conforms(), packet by packet in
 * this order. When it has none, the newcomers of a burst come after its other packets. A burst
 * takes two thirds of the time. Virtual time is computed once per burst, not per packet. Packets of
 * sources in their home lines are decided without a branch. The others wait until the end, so a
 * misprediction occurs once per burst.
 *
 * Do other work for the packets between the two steps. A core can fetch some twenty lines at a time
 * and drops prefetches beyond that. So later lines are prefetched once more before they are used.
 */
#ifndef WEIR_SOURCE_SOURCE_BURST_H
#define WEIR_SOURCE_SOURCE_BURST_H

#include "source/source_table.h"

#define SOURCE_BURST 64 /* most packets: bits of a word */

struct source_burst {
	union source_line *home[SOURCE_BURST];
	uint32_t tag[SOURCE_BURST];
	uint32_t cost[SOURCE_BURST]; /* can be changed until the verdict */
	unsigned n;
};

/* Sets packet i. The caller sets `n`. The table's worker. */
static inline __attribute__((always_inline)) void source_burst_set(struct source_burst *burst,
	unsigned i, const struct source_table *table, uint64_t hash, uint32_t cost)
{
	burst->home[i] = source_home(table, hash);
	burst->tag[i] = source_tag(hash);
	burst->cost[i] = cost;
}

/* Adds a packet, at most SOURCE_BURST in all, and prefetches its meter. The table's worker. */
static inline __attribute__((always_inline)) void source_burst_add(
	struct source_burst *burst, const struct source_table *table, uint64_t hash, uint32_t cost)
{
	source_burst_set(burst, burst->n, table, hash, cost);
	__builtin_prefetch(burst->home[burst->n++], 1);
}

/*
 * Returns which packets conform, a bit each in the order of addition, and takes their cost. All
 * were added with this table; otherwise like source_table_conforms(). The table's worker.
 */
uint64_t source_table_conforms_burst(struct source_table *table, const union meter_profile *profile,
	const struct source_burst *burst, uint64_t now);

#endif

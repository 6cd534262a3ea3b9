/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A burst of packets that are metered by one table. Each packet's line is asked for as soon as its
 * source is known, and all are decided together:
 *
 *     burst.n = 0;
 *     for each packet
 *             source_burst_add(&burst, table, source_hash(table, address, family, bits), cost);
 *     conforming = source_table_conforms_burst(table, profile, &burst, now);
 *
 * Verdicts are those of source_table_conforms(), packet by packet in this order, while there is
 * room in the table; when there is none it is the newcomers of a burst who find out, whatever their
 * place in it. It costs two thirds: virtual time is worked out once a burst and not once a packet,
 * packets of sources at home are decided without a branch, and the others wait until the end, so
 * that a misprediction is paid once a burst.
 *
 * Whatever else there is to be done for the packets is best done between the two steps. A core has
 * some twenty lines on their way at a time and forgets a prefetch beyond that, which is why the
 * later lines are asked for once more before they are used.
 */
#ifndef WEIR_SOURCE_SOURCE_BURST_H
#define WEIR_SOURCE_SOURCE_BURST_H

#include "source/source_table.h"

#define SOURCE_BURST 64 /* packets at most: bits of a word */

struct source_burst {
	union source_line *home[SOURCE_BURST];
	uint32_t tag[SOURCE_BURST];
	uint32_t cost[SOURCE_BURST]; /* may be changed until the verdict */
	unsigned n;
};

/* Says what packet i is, one of those that `n` will count. The table's worker. */
static inline __attribute__((always_inline)) void source_burst_set(struct source_burst *burst,
	unsigned i, const struct source_table *table, uint64_t hash, uint32_t cost)
{
	burst->home[i] = source_home(table, hash);
	burst->tag[i] = source_tag(hash);
	burst->cost[i] = cost;
}

/*
 * Adds a packet, of which there is room for SOURCE_BURST, and begins to fetch its meter. The
 * table's worker.
 */
static inline __attribute__((always_inline)) void source_burst_add(
	struct source_burst *burst, const struct source_table *table, uint64_t hash, uint32_t cost)
{
	source_burst_set(burst, burst->n, table, hash, cost);
	__builtin_prefetch(burst->home[burst->n++], 1);
}

/*
 * Which packets conform, a bit each in the order in which they were added; takes their cost if so.
 * All were added with this table; the rest is as with source_table_conforms(). The table's worker.
 */
uint64_t source_table_conforms_burst(struct source_table *table, const union meter_profile *profile,
	const struct source_burst *burst, uint64_t now);

#endif

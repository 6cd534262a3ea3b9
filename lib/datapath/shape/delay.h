/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What packets wait, counted in bins that grow with the time: 8 to each power of two, so that a
 * quantile is off by at most 1 in 8, from a microsecond to half a minute, in one kilobyte. One
 * writer; anybody may read meanwhile, with atomics.
 *
 * A bin has 32 bits. Who reads keeps whole numbers himself, a struct delay_sum for each writer, and
 * adds those of several writers up.
 */
#ifndef WEIR_SHAPE_DELAY_H
#define WEIR_SHAPE_DELAY_H

#include <stdint.h>

#include "base/counter.h"

#define DELAY_SHIFT 3 /* bins to a power of two, log2 */
#define DELAY_BINS  200

/* The finest bin is a second in at least this many parts, and in less than twice as many. */
#define DELAY_PARTS 4000000

/* Bins of ticks >> unit, where 2^unit ticks are about a quarter of a microsecond. */
struct delay_bins {
	uint32_t bins[DELAY_BINS];
};

/* The reader's: packets since the writer began. */
struct delay_sum {
	uint64_t bins[DELAY_BINS];
};

/* The unit for a counter of hz ticks a second; 0 where that is coarser than the finest bin. */
static inline unsigned delay_unit(uint64_t hz)
{
	uint64_t part = hz / DELAY_PARTS;

	return part ? 63 - (unsigned)__builtin_clzll(part) : 0;
}

/* The bin of a delay in ticks; the last one is for all that is longer too. */
static inline unsigned delay_bin(uint64_t ticks, unsigned unit)
{
	uint64_t value = ticks >> unit;
	unsigned power = 60 - (unsigned)__builtin_clzll(value | 1 << DELAY_SHIFT);
	uint64_t bin = (power << DELAY_SHIFT) + (value >> power);

	return bin < DELAY_BINS ? (unsigned)bin : DELAY_BINS - 1;
}

/* The longest delay of a bin, in ticks; of the last one, the longest that is told apart. */
static inline uint64_t delay_bin_end(unsigned bin, unsigned unit)
{
	unsigned power = bin >> DELAY_SHIFT ? (bin >> DELAY_SHIFT) - 1 : 0;
	uint64_t value = bin - (power << DELAY_SHIFT);

	return (((value + 1) << power) << unit) - 1;
}

/* A packet that has waited so many ticks. The one writer. */
static inline void delay_add(struct delay_bins *delay, unsigned unit, uint64_t ticks)
{
	counter_add32(&delay->bins[delay_bin(ticks, unit)], 1);
}

/* Brings a sum up to what its writer has counted; at least once in 2^32 packets. Its reader. */
void delay_fold(struct delay_sum *sum, const struct delay_bins *delay);

/* Adds another writer's. */
void delay_merge(struct delay_sum *sum, const struct delay_sum *other);

/* Packets. */
uint64_t delay_count(const struct delay_sum *sum);

/*
 * Ticks that a share of the packets, above 0 and at most 1, has not waited longer than: rounded up,
 * by at most an eighth or 2^unit ticks. 0 when there are none.
 */
uint64_t delay_quantile(const struct delay_sum *sum, double share, unsigned unit);

#endif

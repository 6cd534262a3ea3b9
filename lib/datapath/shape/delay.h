/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Delays of packets in a histogram whose bins grow with the delay: 8 bins per power of two. A
 * quantile's error is at most 1 in 8, from a microsecond to half a minute, in one kilobyte. There
 * is one writer. Any thread can read at the same time, with atomics.
 *
 * A bin has 32 bits and can wrap. A reader keeps 64-bit totals in a struct delay_sum per writer,
 * and adds those of several writers.
 */
#ifndef WEIR_SHAPE_DELAY_H
#define WEIR_SHAPE_DELAY_H

#include <stdint.h>

#include "base/counter.h"

#define DELAY_SHIFT 3 /* log2 of the bins per power of two */
#define DELAY_BINS  200

/* The finest bin is a second divided by at least this, and by less than twice this. */
#define DELAY_PARTS 4000000

/* Bins of ticks >> unit, where 2^unit ticks are about a quarter of a microsecond. */
struct delay_bins {
	uint32_t bins[DELAY_BINS];
};

/* The reader's totals: packets since the writer began. */
struct delay_sum {
	uint64_t bins[DELAY_BINS];
};

/*
 * Returns the unit for a counter of hz ticks per second; 0 if a tick is longer than the finest bin.
 */
static inline unsigned delay_unit(uint64_t hz)
{
	uint64_t part = hz / DELAY_PARTS;

	return part ? 63 - (unsigned)__builtin_clzll(part) : 0;
}

/* Returns the bin of a delay in ticks. The last bin also has all longer delays. */
static inline unsigned delay_bin(uint64_t ticks, unsigned unit)
{
	uint64_t value = ticks >> unit;
	unsigned power = 60 - (unsigned)__builtin_clzll(value | 1 << DELAY_SHIFT);
	uint64_t bin = (power << DELAY_SHIFT) + (value >> power);

	return bin < DELAY_BINS ? (unsigned)bin : DELAY_BINS - 1;
}

/* Returns the longest delay of a bin, in ticks; for the last one, the longest distinguished. */
static inline uint64_t delay_bin_end(unsigned bin, unsigned unit)
{
	unsigned power = bin >> DELAY_SHIFT ? (bin >> DELAY_SHIFT) - 1 : 0;
	uint64_t value = bin - (power << DELAY_SHIFT);

	return (((value + 1) << power) << unit) - 1;
}

/* Adds a packet that has waited so many ticks. For the writer only. */
static inline void delay_add(struct delay_bins *delay, unsigned unit, uint64_t ticks)
{
	counter_add32(&delay->bins[delay_bin(ticks, unit)], 1);
}

/*
 * Adds the writer's counts since the last call. To be called at least once in 2^32 packets. Reader.
 */
void delay_fold(struct delay_sum *sum, const struct delay_bins *delay);

/* Adds another writer's totals. */
void delay_merge(struct delay_sum *sum, const struct delay_sum *other);

/* Returns the number of packets. */
uint64_t delay_count(const struct delay_sum *sum);

/*
 * Returns the ticks that a share of the packets (above 0, at most 1) has waited at most. It is
 * rounded up, by at most an eighth or 2^unit ticks. 0 if there are no packets.
 */
uint64_t delay_quantile(const struct delay_sum *sum, double share, unsigned unit);

#endif

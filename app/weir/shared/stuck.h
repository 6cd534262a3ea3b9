/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Workers that are stalled: bit masks, written by control, which watches their turns, and read by
 * workers that hand packets to others. Any thread.
 */
#ifndef WEIR_APP_STUCK_H
#define WEIR_APP_STUCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A worker that has no CPU for a moment is stalled, and soon takes the packets in its ring, in
 * order. A worker that has stalled for long might not.
 */
struct stuck {
	uint64_t now;    /* all stalled workers */
	uint64_t by_far; /* stalled for long */
};

/* NULL: stalls are not watched for. */
static inline uint64_t stuck_workers(const struct stuck *stuck)
{
	return stuck ? __atomic_load_n(&stuck->now, __ATOMIC_RELAXED) : 0;
}

static inline uint64_t stuck_by_far(const struct stuck *stuck)
{
	return stuck ? __atomic_load_n(&stuck->by_far, __ATOMIC_RELAXED) : 0;
}

static inline bool stuck_worker(const struct stuck *stuck, unsigned worker)
{
	return stuck_workers(stuck) >> worker & 1;
}

/* Sets or clears a worker's bit. Control. */
static inline void stuck_mark(uint64_t *word, unsigned worker, bool marked)
{
	uint64_t bit = UINT64_C(1) << worker;

	__atomic_store_n(word, marked ? *word | bit : *word & ~bit, __ATOMIC_RELAXED);
}

/*
 * Returns the worker that replaces the stalled ones for a hash: one of the n workers (at most 64)
 * that are not stalled. `self` counts as not stalled.
 */
static inline unsigned stuck_stand_in(uint64_t stuck, unsigned n, unsigned self, uint32_t hash)
{
	uint64_t well = (n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX) & ~stuck;
	unsigned lot;

	well |= UINT64_C(1) << self;
	lot = (unsigned)((uint64_t)hash * (unsigned)__builtin_popcountll(well) >> 32);
	while (lot-- > 0)
		well &= well - 1;
	return (unsigned)__builtin_ctzll(well);
}

#endif

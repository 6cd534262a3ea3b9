/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that end by themselves. A part of a conserved limit may be promised to a neighbour, who
 * takes it when this limiter has been silent for a lease (ledger/ledger.h). So the worker who
 * enforces the limit is told two things with it: a time until which it holds, and which part of it
 * is promised to nobody. When that time has passed and control has not moved it, for whatever
 * reason, the worker goes on with that part alone. It asks nobody, and looks with the time of its
 * burst before it meters: so it does not matter which thread stood still, or for how long.
 *
 * Control moves the time only when every limit that a worker has been told, and may still have to
 * take, holds for as long: expiry_next(). It brings the time forward before it tells of a limit
 * that ends sooner. What is said here is true of any clock that counts up; both sides use one.
 *
 * Pure; the word is the one thing that two threads write, and each does so by compare-and-swap.
 */
#ifndef WEIR_BASE_EXPIRY_H
#define WEIR_BASE_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/product.h"

/* What ends of a limit is said in 255ths of it, rounded up; 0: nothing, which nearly all say. */
#define EXPIRY_PARTS UINT8_MAX

/* One worker's. `span`: further ahead than this no end may lie; UINT64_MAX: nothing ever ends. */
struct expiry {
	uint64_t until; /* tick; or 0: the worker has seen the end, and control has yet to answer */
	uint64_t span;
};

/* The part that ends of a limit of which so much is promised to nobody. */
static inline uint8_t expiry_ending(uint64_t limit, uint64_t after)
{
	if (after >= limit)
		return 0;
	return (uint8_t)(EXPIRY_PARTS - (unsigned __int128)after * EXPIRY_PARTS / limit);
}

/* What is left then of an amount, rounded down: never more than what is promised to nobody. */
INLINE_ON_BPF uint64_t expiry_left(uint64_t amount, uint8_t ending)
{
	uint64_t parts = EXPIRY_PARTS - ending;

	return amount / EXPIRY_PARTS * parts + amount % EXPIRY_PARTS * parts / EXPIRY_PARTS;
}

/*
 * The tick at which a clock stands that has gone on since tick `from` at the pace that is left: by
 * it whatever is granted with time is granted to the part that is left.
 */
static inline uint64_t expiry_slowed(uint64_t from, uint64_t now, uint8_t ending)
{
	return (int64_t)(now - from) > 0 ? from + expiry_left(now - from, ending) : now;
}

/*
 * Until when a worker's limits hold, that held until `present`, and of which the first ends at
 * `end`: later than before only when the worker has taken all that it was told.
 */
static inline uint64_t expiry_next(uint64_t present, uint64_t end, bool all_taken)
{
	return all_taken || end < present ? end : present;
}

/*
 * Part of the time until the end of a lease by which control brings it forward. It is twice the
 * largest error of the rate of the workers' clock, and more than the time to read two clocks.
 */
#define EXPIRY_EARLY 1000

/* Nanoseconds from now_ns on for which limits hold that end at end_ns: at most a lease. */
static inline uint64_t expiry_time(uint64_t end_ns, uint64_t now_ns, uint64_t lease_ns)
{
	uint64_t left_ns = end_ns > now_ns ? end_ns - now_ns : 0;

	left_ns = left_ns < lease_ns ? left_ns : lease_ns;
	return left_ns - left_ns / EXPIRY_EARLY;
}

/* Control, before the worker runs. */
static inline void expiry_init(struct expiry *expiry, uint64_t until, uint64_t span)
{
	*expiry = (struct expiry){.until = until, .span = span};
}

/* The time that was last set, or 0. Any thread. */
static inline uint64_t expiry_until(const struct expiry *expiry)
{
	return __atomic_load_n(&expiry->until, __ATOMIC_RELAXED);
}

/*
 * Whether a worker's limits have ended by tick `now`. A clock that has been set back looks as if
 * the end were beyond the span, and is taken for one that has ended.
 */
static inline bool expiry_is_past(const struct expiry *expiry, uint64_t now)
{
	return expiry_until(expiry) - now - 1 >= expiry->span;
}

/*
 * The worker has seen that they have: returns since which tick, or 0 if that is not so any more or
 * has been seen before. From then on control cannot move the end unseen. The worker.
 */
static inline uint64_t expiry_see(struct expiry *expiry, uint64_t now)
{
	uint64_t until = expiry_until(expiry);

	if (until == 0 || until - now - 1 < expiry->span ||
		!__atomic_compare_exchange_n(
			&expiry->until, &until, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return 0;
	return (int64_t)(now - until) > 0 ? until : now;
}

/*
 * Sets the end that was `present`; false if the worker has seen that meanwhile. Release: a worker
 * that takes a limit told after this finds this end or a later one. Control.
 */
static inline bool expiry_set(struct expiry *expiry, uint64_t present, uint64_t until)
{
	return __atomic_compare_exchange_n(
		&expiry->until, &present, until, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

#endif

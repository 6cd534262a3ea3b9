/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that expire. A part of a hard limit can be reserved for a neighbour, which takes it after
 * this limiter has been silent for a lease (ledger/ledger.h). So control gives the worker that
 * enforces the limit two more values: the time until which the limit holds, and the reserved part.
 * When the time has passed without an extension by control, for any reason, the worker enforces
 * only the unreserved part. It needs no other thread for that, and checks with the time of its
 * burst before it meters. So it does not matter which thread stalled, or for how long.
 *
 * Control extends the time only when all limits published to a worker, in force or not, hold for as
 * long: expiry_next(). Before it publishes a limit that ends sooner, it shortens the time. Any
 * clock that counts up works, if both sides use the same one.
 *
 * Pure. Both threads write only the word `until`, by compare-and-swap.
 */
#ifndef WEIR_BASE_EXPIRY_H
#define WEIR_BASE_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/math.h"

/*
 * Denominator of the part of a limit that ends, rounded up; 0: no part ends, as for nearly all
 * limits.
 */
#define EXPIRY_PARTS UINT8_MAX

/* The expiry of one worker. */
struct expiry {
	uint64_t until; /* tick; 0: the worker has seen the end, without a response of control */
	uint64_t span;
};

/* Returns the ending part of a limit, in 255ths, if `after` is unreserved and stays in force. */
static inline uint8_t expiry_ending(uint64_t limit, uint64_t after)
{
	if (after >= limit)
		return 0;
	return (uint8_t)(EXPIRY_PARTS - (unsigned __int128)after * EXPIRY_PARTS / limit);
}

/* Returns the amount that stays in force, rounded down: never more than the unreserved amount. */
INLINE_ON_BPF uint64_t expiry_left(uint64_t amount, uint8_t ending)
{
	uint64_t parts = EXPIRY_PARTS - ending;

	return amount / EXPIRY_PARTS * parts + amount % EXPIRY_PARTS * parts / EXPIRY_PARTS;
}

/*
 * Returns the tick of a clock that has slowed down to the unreserved part since tick `from`.
 * Amounts that accrue by this clock accrue at the unreserved rate.
 */
static inline uint64_t expiry_slowed(uint64_t from, uint64_t now, uint8_t ending)
{
	return (int64_t)(now - from) > 0 ? from + expiry_left(now - from, ending) : now;
}

/*
 * Returns the time until which a worker's limits hold. `present` is the current value, `end` the
 * first end of its limits. The time grows only if the worker has taken all published limits.
 */
static inline uint64_t expiry_next(uint64_t present, uint64_t end, bool all_taken)
{
	return all_taken || end < present ? end : present;
}

/*
 * Control shortens the time until the end of a lease by 1/EXPIRY_EARLY. That is twice the largest
 * error of the rate of the workers' clock, and more than the time to read two clocks.
 */
#define EXPIRY_EARLY 1000

/* Returns for how many ns from now_ns on limits hold that end at end_ns: at most a lease. */
static inline uint64_t expiry_time(uint64_t end_ns, uint64_t now_ns, uint64_t lease_ns)
{
	uint64_t left_ns = end_ns > now_ns ? end_ns - now_ns : 0;

	left_ns = left_ns < lease_ns ? left_ns : lease_ns;
	return left_ns - left_ns / EXPIRY_EARLY;
}

/*
 * Called by control before the worker runs. `span` is the furthest that an end can lie ahead, in
 * ticks; UINT64_MAX: nothing expires.
 */
static inline void expiry_init(struct expiry *expiry, uint64_t until, uint64_t span)
{
	*expiry = (struct expiry){.until = until, .span = span};
}

/* Returns the current end, or 0. Any thread. */
static inline uint64_t expiry_until(const struct expiry *expiry)
{
	return __atomic_load_n(&expiry->until, __ATOMIC_RELAXED);
}

/*
 * Returns true if a worker's limits have ended at tick `now`. After a clock was set back, the end
 * seems to lie beyond the span, and counts as reached.
 */
static inline bool expiry_is_past(const struct expiry *expiry, uint64_t now)
{
	return expiry_until(expiry) - now - 1 >= expiry->span;
}

/*
 * Called by the worker after the end: marks it as seen, so that control cannot extend it unnoticed.
 * Returns the tick of the end (`now` if the clock was set back), or 0 if control has extended it or
 * the worker has marked it before.
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
 * Control replaces the end `present`. Returns false if the worker has seen that end in the
 * meantime. Release: a worker that takes a limit published after this call reads this end or a
 * later one.
 */
static inline bool expiry_set(struct expiry *expiry, uint64_t present, uint64_t until)
{
	return __atomic_compare_exchange_n(
		&expiry->until, &present, until, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tony Finch's hybrid of quota and linear limit. A sender that stays below its quota can burst, as
 * with a fixed window. A sender that spends it all is held to an even rate until its balance has
 * grown back to a full quota. No more than the quota passes in the window that is spent. Its last
 * unit costs a penalty, so that the balance is one unit when the window ends and not before.
 *
 * His requests cost 1; ours cost n. So a balance need not end at 0: the packet that no longer fits
 * is refused and counts as the end of the quota, and the rest stays in the balance. A packet larger
 * than the quota never conforms and changes nothing. With cost 1 every verdict is that of his text.
 * As in that text, a first packet that takes the whole quota is no reason for an even rate.
 *
 * Balances are in units times the ticks of a window, in which both a unit and the earnings of a
 * tick are whole numbers: exact without a division. A clock that steps back stands still.
 *
 * A new quota holds immediately. In a window under way the passed units count against it. A balance
 * keeps its units, up to the new quota and down to minus one quota. After a change, too, no more
 * than the larger quota passes in one burst, and a sender that waits two windows passes again.
 */
#ifndef WEIR_METER_HYBRID_H
#define WEIR_METER_HYBRID_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "meter/window_quota.h"

typedef __int128 hybrid_balance_t; /* units × ticks of the window */

struct hybrid {
	uint64_t
		time; /* bursty: tick at which the window began; smooth: credited up to this tick */
	uint64_t
		low; /* bursty: units passed in the window, 0: none begun; smooth: of the balance */
	int64_t high : 63; /* smooth: of the balance */
	uint64_t smooth : 1;
};

/* Its window begins with the first packet. */
static inline void hybrid_begin(
	struct hybrid *hybrid, const struct quota *quota, uint64_t now, uint64_t seed)
{
	(void)quota;
	(void)seed;
	*hybrid = (struct hybrid){.time = now};
}

static inline hybrid_balance_t hybrid_full(const struct quota *quota)
{
	return (hybrid_balance_t)quota->units * quota->window;
}

/* Smooth: the balance at `now`, not before the state's time. */
static inline hybrid_balance_t hybrid_balance(
	const struct hybrid *hybrid, const struct quota *quota, uint64_t now)
{
	hybrid_balance_t balance = (hybrid_balance_t)((unsigned __int128)hybrid->high << 64);
	hybrid_balance_t least = -hybrid_full(quota);

	balance += hybrid->low;
	/* Only the balance of a larger quota or a longer window is lower. */
	if (balance < least)
		balance = least;
	return balance + (hybrid_balance_t)(now - hybrid->time) * quota->units;
}

static inline void hybrid_set_smooth(struct hybrid *hybrid, hybrid_balance_t balance, uint64_t now)
{
	hybrid->time = now;
	hybrid->low = (uint64_t)balance;
	hybrid->high = (int64_t)(balance >> 64);
	hybrid->smooth = 1;
}

/* Bursty: a packet of no more than the quota that takes the last of it, or does not fit it. */
static inline bool hybrid_end_burst(
	struct hybrid *hybrid, const struct quota *quota, uint64_t now, int64_t left, uint32_t cost)
{
	uint64_t remaining = hybrid->time + quota->window - now;
	bool conforms = left == cost;

	left -= conforms ? cost : 0;
	hybrid_set_smooth(hybrid,
		(hybrid_balance_t)(left + 1) * (int64_t)quota->window -
			(hybrid_balance_t)remaining * quota->units,
		now);
	return conforms;
}

static inline bool hybrid_conforms_bursty(
	struct hybrid *hybrid, const struct quota *quota, uint64_t now, uint32_t cost)
{
	int64_t left = (int64_t)quota->units - (int64_t)hybrid->low;

	if (left > cost) {
		hybrid->low += cost;
		return true;
	}
	/* A quota spent by the window's first packet: wait for the next window. */
	if (left == 0 || cost > quota->units)
		return false;
	return hybrid_end_burst(hybrid, quota, now, left, cost);
}

static inline bool hybrid_conforms_smooth(struct hybrid *hybrid, hybrid_balance_t balance,
	uint64_t window, uint64_t now, uint32_t cost)
{
	hybrid_balance_t need = (hybrid_balance_t)cost * window;
	bool conforms = balance >= need;

	hybrid_set_smooth(hybrid, balance - (conforms ? need : 0), now);
	return conforms;
}

/* Returns true if the next packet that passes begins a window, like a fresh meter's first. */
static inline bool hybrid_idle(const struct hybrid *hybrid, const struct quota *quota, uint64_t now)
{
	int64_t elapsed = (int64_t)(now - hybrid->time);

	if (hybrid->smooth)
		return hybrid_balance(hybrid, quota, elapsed > 0 ? now : hybrid->time) >=
		       hybrid_full(quota);
	return hybrid->low == 0 || elapsed >= (int64_t)quota->window;
}

/*
 * Returns true if a packet of so many units conforms, and takes them if so. A cost of 0 always
 * conforms. The state's one writer.
 */
static inline bool hybrid_conforms(
	struct hybrid *hybrid, const struct quota *quota, uint64_t now, uint32_t cost)
{
	if (cost == 0)
		return true;
	if ((int64_t)(now - hybrid->time) < 0)
		now = hybrid->time;
	if (hybrid_idle(hybrid, quota, now)) {
		if (cost > quota->units)
			return false;
		*hybrid = (struct hybrid){.time = now, .low = cost};
		return true;
	}
	if (hybrid->smooth)
		return hybrid_conforms_smooth(
			hybrid, hybrid_balance(hybrid, quota, now), quota->window, now, cost);
	return hybrid_conforms_bursty(hybrid, quota, now, cost);
}

/*
 * The balance of a state with the even rate from now on. A window under way ends with the rest of
 * its quota, as in hybrid_end_burst().
 */
static inline hybrid_balance_t hybrid_evened(
	const struct hybrid *hybrid, const struct quota *quota, uint64_t now)
{
	int64_t left = (int64_t)quota->units - (int64_t)hybrid->low;
	uint64_t remaining = hybrid->time + quota->window - now;

	if (hybrid->smooth)
		return hybrid_balance(hybrid, quota, now);
	return (hybrid_balance_t)left * (int64_t)quota->window -
	       (hybrid_balance_t)remaining * quota->units;
}

/* Does the same as fixed_window_prolong(). A balance has no window. The state's one writer. */
static inline void hybrid_prolong(struct hybrid *hybrid, uint64_t now)
{
	hybrid->time = hybrid->smooth ? hybrid->time : now;
}

/*
 * Makes `to` at least as strict as both. Two windows count as in fixed_window_join(). Otherwise the
 * lower balance holds. The states' one writer.
 */
static inline void hybrid_join(
	struct hybrid *to, const struct hybrid *from, const struct quota *quota, uint64_t now)
{
	hybrid_balance_t a, b;

	if (hybrid_idle(from, quota, now))
		return;
	if (hybrid_idle(to, quota, now))
		*to = *from;
	if (!to->smooth && !from->smooth) {
		to->low = from->low > to->low ? from->low : to->low;
		to->time = (int64_t)(from->time - to->time) > 0 ? from->time : to->time;
		return;
	}
	if ((int64_t)(now - to->time) < 0)
		now = to->time;
	if ((int64_t)(now - from->time) < 0)
		now = from->time;
	a = hybrid_evened(to, quota, now);
	b = hybrid_evened(from, quota, now);
	hybrid_set_smooth(to, a < b ? a : b, now);
}

static_assert(sizeof(struct hybrid) == 24, "as a token bucket");

/* The other functions of a row of meter/meters.h. */

static inline void hybrid_change(
	struct hybrid *hybrid, struct quota *quota, const struct quota *next, uint64_t now)
{
	(void)hybrid;
	(void)now;
	*quota = *next;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A quota that is reset. A window begins with the first packet that passes after the previous one
 * has expired, and no more than the quota passes in it. So a steady sender never gets more than the
 * quota in its window, where a token bucket would grant up to twice as much in the first. But two
 * quotas can pass back to back around the end of a window, and senders learn to burst at its start.
 *
 * A new quota holds immediately, also for the window under way: units passed in it count against
 * the new one. A new length moves the end of the window under way, not its start.
 */
#ifndef WEIR_METER_FIXED_WINDOW_H
#define WEIR_METER_FIXED_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "meter/window_quota.h"

struct fixed_window {
	uint64_t start; /* tick */
	uint64_t used;  /* units passed since; 0: no window has begun */
};

/* Its window begins with the first packet. */
static inline void fixed_window_begin(
	struct fixed_window *window, const struct quota *quota, uint64_t now, uint64_t seed)
{
	(void)quota;
	(void)seed;
	*window = (struct fixed_window){.start = now};
}

/*
 * Returns true if the next packet that passes begins a window. A clock that steps back ends none.
 */
static inline bool fixed_window_idle(
	const struct fixed_window *window, const struct quota *quota, uint64_t now)
{
	return window->used == 0 || (int64_t)(now - window->start) >= (int64_t)quota->window;
}

/*
 * Returns true if a packet of so many units conforms, and takes them if so. A cost of 0 always
 * conforms. The state's one writer.
 */
static inline bool fixed_window_conforms(
	struct fixed_window *window, const struct quota *quota, uint64_t now, uint32_t cost)
{
	bool begins = fixed_window_idle(window, quota, now);
	uint64_t used = (begins ? 0 : window->used) + cost;

	/* A changed quota can be smaller than the units passed. */
	if (cost == 0 || used > quota->units)
		return cost == 0;
	window->start = begins ? now : window->start;
	window->used = used;
	return true;
}

/* The window under way ends no earlier than one that began now. The state's one writer. */
static inline void fixed_window_prolong(struct fixed_window *window, uint64_t now)
{
	window->start = now;
}

/*
 * Makes `to` at least as strict as both: the units of the fuller window count until the later one
 * ends. The states' one writer.
 */
static inline void fixed_window_join(struct fixed_window *to, const struct fixed_window *from,
	const struct quota *quota, uint64_t now)
{
	if (fixed_window_idle(from, quota, now))
		return;
	if (fixed_window_idle(to, quota, now))
		*to = *from;
	to->used = from->used > to->used ? from->used : to->used;
	to->start = (int64_t)(from->start - to->start) > 0 ? from->start : to->start;
}

/* The other functions of a row of meter/meters.h. */

static inline void fixed_window_change(
	struct fixed_window *window, struct quota *quota, const struct quota *next, uint64_t now)
{
	(void)window;
	(void)now;
	*quota = *next;
}

#endif

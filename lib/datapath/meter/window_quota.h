/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * So many units in a window of so many ticks: the profile of the meters that count by windows.
 */
#ifndef WEIR_METER_WINDOW_QUOTA_H
#define WEIR_METER_WINDOW_QUOTA_H

#include <errno.h>
#include <stdint.h>

#include "meter/meters.h"

/* Units times ticks, and a quota times any gap of 2^63 ticks, then stay below 2^119. */
#define QUOTA_MAX (UINT64_C(1) << 56)

struct quota {
	uint64_t units;
	uint64_t window; /* ticks */
};

/* Without the bits below the point, of which the last ones are rounding. */
static inline unsigned __int128 quota_whole(unsigned __int128 product, unsigned below)
{
	if (below == 0)
		return product;
	return below < 128 ? (product + (product >> 40)) >> below : 0;
}

/*
 * Sets the grant of rate_bps in window_ns, rounded down but at least one unit of any rate. The
 * window is rounded up to ticks. The rate is eight times units per second, of which rate_below bits
 * are below the point. A rate with such bits stands for the nearest one that has not: a third of a
 * unit a second is a whole one in three. A grant that is less than 2^-40 of it short of a whole
 * unit is one. Returns 0, -EINVAL without a window, or -ERANGE for no ticks, 2^60 bit/s and more,
 * or more than QUOTA_MAX units or ticks. Control thread.
 */
static inline int quota_init(struct quota *quota, uint64_t rate_bps, unsigned rate_below,
	uint64_t window_ns, uint64_t hz)
{
	const uint64_t ns = 1000000000; /* a second */
	unsigned __int128 product = (unsigned __int128)rate_bps * window_ns;
	unsigned __int128 units = quota_whole(product, rate_below) / (8 * ns);
	unsigned __int128 ticks = ((unsigned __int128)window_ns * hz + ns - 1) / ns;

	if (window_ns == 0)
		return -EINVAL;
	if (hz == 0 || rate_bps >> 60 || units > QUOTA_MAX || ticks > QUOTA_MAX)
		return -ERANGE;
	quota->units = units == 0 && rate_bps ? 1 : (uint64_t)units;
	quota->window = (uint64_t)ticks;
	return 0;
}

/* Its functions in rows of meter/meters.h. */

static inline int quota_set(struct quota *quota, const struct meter_params *params, uint64_t hz)
{
	return quota_init(quota, params->rate_bps, params->rate_below, params->window_ns, hz);
}

static inline struct meter_limit quota_limit(const struct quota *quota)
{
	return (struct meter_limit){quota->units, quota->window, 0};
}

#endif

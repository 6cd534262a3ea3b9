/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * So many units in a window of so many ticks: the profile of the meters that count by windows.
 */
#ifndef WEIR_METER_QUOTA_H
#define WEIR_METER_QUOTA_H

#include <errno.h>
#include <stdint.h>

/* Units times ticks, and a quota times any gap of 2^63 ticks, then stay below 2^119. */
#define QUOTA_MAX (UINT64_C(1) << 56)

struct quota {
	uint64_t units;
	uint64_t window; /* ticks */
};

/*
 * What rate_bps (eight times units per second) grants in window_ns, rounded down but at least one
 * unit of any rate; the window is rounded up to ticks. Returns 0, -EINVAL without a window, or
 * -ERANGE for no ticks, 2^60 bit/s and more, or more than QUOTA_MAX units or ticks. Control thread.
 */
static inline int quota_init(
	struct quota *quota, uint64_t rate_bps, uint64_t window_ns, uint64_t hz)
{
	const uint64_t ns = 1000000000; /* a second */
	unsigned __int128 units = (unsigned __int128)rate_bps * window_ns / (8 * ns);
	unsigned __int128 ticks = ((unsigned __int128)window_ns * hz + ns - 1) / ns;

	if (window_ns == 0)
		return -EINVAL;
	if (hz == 0 || rate_bps >> 60 || units > QUOTA_MAX || ticks > QUOTA_MAX)
		return -ERANGE;
	quota->units = units == 0 && rate_bps ? 1 : (uint64_t)units;
	quota->window = (uint64_t)ticks;
	return 0;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "quota/spend_rate.h"

#include <math.h>

/* The part of the largest at a time that is forgotten with each that is smaller. */
#define TYPICAL_FALL (1.0 / 16)

#define PER_SECOND_MILLI 1e12 /* nanoseconds, and thousandths */

static double age_of(uint64_t from_ns, uint64_t now_ns, uint64_t half_life_ns)
{
	int64_t age = (int64_t)(now_ns - from_ns);

	return age > 0 ? (double)age / (double)half_life_ns : 0;
}

void pace_spend(struct pace *pace, uint64_t units, uint64_t now_ns, uint64_t half_life_ns)
{
	pace->units = pace->units * exp2(-age_of(pace->last_ns, now_ns, half_life_ns)) +
		      (double)units;
	if ((int64_t)(now_ns - pace->last_ns) > 0)
		pace->last_ns = now_ns;
}

void pace_typical(struct pace *pace, uint64_t units)
{
	double fall = ((double)units - pace->typical) * TYPICAL_FALL;

	pace->typical = fall > 0 ? (double)units : pace->typical + fall;
}

uint64_t pace_rate(const struct pace *pace, uint64_t now_ns, uint64_t half_life_ns)
{
	double units = pace->units * exp2(-age_of(pace->last_ns, now_ns, half_life_ns));
	/* The observed part of all time, with the same weights: little of it in the beginning. */
	double seen = 1 - exp2(-age_of(pace->start_ns, now_ns, half_life_ns));
	double span_ns = (double)half_life_ns / M_LN2 * fmax(seen, 1.0 / 64);

	return (uint64_t)fmin(units / span_ns * PER_SECOND_MILLI, 0x1p62);
}

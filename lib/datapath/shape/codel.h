/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * CoDel (RFC 8289, section 5), for a queue that provides each packet's departure time. Times are
 * those of departures, not of polling, so a late worker does not look like a standing queue. The
 * control law's square root takes a few Newton steps in fixed point per drop, because the count
 * rises by one.
 *
 * Private to this folder.
 */
#ifndef WEIR_SHAPE_CODEL_H
#define WEIR_SHAPE_CODEL_H

#include "shape/wheel.h"

#define CODEL_RECENT 16 /* intervals after which the count starts again at 1 */
/*
 * Newton steps: from a count to the next one; and back to a count that is not near. Drops are rare.
 */
#define CODEL_STEPS      4
#define CODEL_STEPS_BACK 16

/* x <- x (3 - count x²) / 2, where x is inverse / 2^32. */
static inline void codel_newton(struct shape_codel *codel)
{
	uint64_t square = (uint64_t)codel->inverse * codel->inverse >> 32;
	uint64_t product = codel->count * square; /* near 2^32; below 2^64 in any case */
	uint64_t three = UINT64_C(3) << 32;
	uint64_t rest = product < three ? three - product : 0;
	uint64_t next = (rest >> 2) * codel->inverse >> 31;

	codel->inverse = next < UINT32_MAX ? (uint32_t)next : UINT32_MAX;
}

/*
 * Sets the count. The steps start from the inverse of another count. It is near the result, or
 * below it; then each step raises it by half.
 */
static inline void codel_count(struct shape_codel *codel, uint32_t count, unsigned steps)
{
	codel->count = count;
	if (count == 1)
		codel->inverse = UINT32_MAX;
	else
		while (steps-- > 0)
			codel_newton(codel);
}

static inline uint64_t codel_law(const struct shape_codel *codel, uint64_t from)
{
	return from + (uint64_t)((tokens_t)codel->interval * codel->inverse >> 32);
}

/* Returns whether packets have waited for at least the target during a whole interval. */
static inline bool codel_standing(
	struct shape_codel *codel, uint64_t now, uint64_t waited, bool behind)
{
	if (waited < codel->target || !behind) {
		codel->rising = false;
		return false;
	}
	if (!codel->rising) {
		codel->rising = true;
		codel->above = now + codel->interval;
		return false;
	}
	return !tick_after(codel->above, now);
}

static inline void codel_begin(struct shape_codel *codel, uint64_t now)
{
	uint32_t since = codel->count - codel->before;
	bool recent = (int64_t)(now - codel->next) < (int64_t)(CODEL_RECENT * codel->interval);

	codel->dropping = true;
	codel_count(codel, since > 1 && recent ? since : 1, CODEL_STEPS_BACK);
	codel->before = codel->count;
	codel->next = codel_law(codel, now);
}

/*
 * Returns whether to drop, or mark, a packet that leaves at tick `now` and has waited `waited`
 * ticks. behind: other packets wait after it.
 */
static inline bool codel_drops(
	struct shape_codel *codel, uint64_t now, uint64_t waited, bool behind)
{
	bool standing = codel_standing(codel, now, waited, behind);

	if (!codel->dropping) {
		if (standing)
			codel_begin(codel, now);
		return standing;
	}
	if (!standing) {
		codel->dropping = false;
		return false;
	}
	if (tick_after(codel->next, now))
		return false;
	codel_count(codel, codel->count + (codel->count < UINT32_MAX), CODEL_STEPS);
	codel->next = codel_law(codel, codel->next);
	return true;
}

#endif

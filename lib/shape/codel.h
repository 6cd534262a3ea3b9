/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * CoDel (RFC 8289, section 5), of a queue that tells when each packet leaves. The times are those
 * of departures, not of when somebody fetched the packets: a worker that is late is not mistaken
 * for a standing queue. The control law's square root is that of the RFC's hint, Newton's steps in
 * fixed point: one for each drop is enough, as the count goes up by one.
 *
 * Not for others than this folder.
 */
#ifndef WEIR_SHAPE_CODEL_H
#define WEIR_SHAPE_CODEL_H

#include "shape/wheel.h"

#define CODEL_RECENT 16 /* intervals after which it begins anew */
#define CODEL_STEPS  12 /* of Newton's, where the count is another: rare */

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

/* The inverse is that of a higher count: the steps approach it from below, by half at least. */
static inline void codel_restart(struct shape_codel *codel, uint32_t count)
{
	codel->count = codel->before = count;
	if (count == 1)
		codel->inverse = UINT32_MAX;
	for (unsigned step = 0; count > 1 && step < CODEL_STEPS; step++)
		codel_newton(codel);
}

static inline uint64_t codel_law(const struct shape_codel *codel, uint64_t from)
{
	return from + (uint64_t)((tokens_t)codel->interval * codel->inverse >> 32);
}

/* Whether packets have waited for longer than the target for an interval. */
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
	codel_restart(codel, since > 1 && recent ? since : 1);
	codel->next = codel_law(codel, now);
}

/*
 * Whether to drop, or mark, a packet that leaves at tick `now` and has waited so long; behind:
 * others wait after it.
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
	codel->count += codel->count < UINT32_MAX;
	codel_newton(codel);
	codel->next = codel_law(codel, codel->next);
	return true;
}

#endif

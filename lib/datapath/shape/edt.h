/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The earliest departure tick of a packet, computed when it arrives. The token bucket is
 * represented by the time at which it will be full (the theoretical arrival time of the GCRA, ITU-T
 * I.371). A packet postpones that time by its cost. It leaves when the time to fill is at most that
 * of the whole bucket. So a packet needs one multiplication, and the queue before the bucket is a
 * difference.
 *
 * Time is in 2^-64 ticks. A rate's inverse is rounded up once, by less than 2^-64 ticks per unit.
 *
 * Private to this folder.
 */
#ifndef WEIR_SHAPE_EDT_H
#define WEIR_SHAPE_EDT_H

#include "shape/shape_private.h"

typedef unsigned __int128 edt_t; /* 2^-64 ticks */

/* One unit in 2^30 ticks, which are half a second to a second. Lower limits grant nothing. */
#define EDT_RATE_LEAST (INT64_C(1) << 26)

#define EDT_DEPTH_MOST (UINT64_C(1) << 62) /* ticks: a bucket that never fills */

static inline edt_t edt_join(uint64_t ticks, uint64_t part)
{
	return (edt_t)ticks << 64 | part;
}

/* The time of so many units. */
static inline edt_t edt_ticks(const struct shape_edt *edt, uint32_t units)
{
	return (edt_t)units * edt->gap_part + ((edt_t)((uint64_t)units * edt->gap) << 64);
}

/*
 * Sets the time of one unit: 2^120 over the rate, rounded up, because a unit is 2^56 tokens.
 * Returns false if the limit is too low.
 */
static inline bool edt_invert(struct shape_edt *edt, int64_t rate)
{
	edt_t gap;

	if (rate < EDT_RATE_LEAST)
		return false;
	gap = (((edt_t)1 << 120) - 1) / (uint64_t)rate + 1;
	edt->gap = (uint32_t)(gap >> 64);
	edt->gap_part = (uint64_t)gap;
	return true;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The earliest tick at which a packet may leave, as of its arrival: a token bucket told by when it
 * will be full (the theoretical arrival time of the GCRA, ITU-T I.371). A packet puts that off by
 * what its cost takes, and leaves when what it takes to fill is no more than the whole bucket. So
 * one multiplication is all that a packet needs, and the queue before the bucket is a difference.
 *
 * Time is in 2^-64 ticks. A rate's inverse is rounded up once, to less than 2^-64 ticks a unit.
 *
 * Not for others than this folder.
 */
#ifndef WEIR_SHAPE_EDT_H
#define WEIR_SHAPE_EDT_H

#include "shape/shape_private.h"

typedef unsigned __int128 edt_t; /* 2^-64 ticks */

/* A limit that grants a unit in 2^30 ticks, a second or half of one: what is lower grants none. */
#define EDT_RATE_LEAST (INT64_C(1) << 26)

#define EDT_DEPTH_MOST (UINT64_C(1) << 62) /* ticks: a bucket that never fills */

static inline edt_t edt_join(uint64_t ticks, uint64_t part)
{
	return (edt_t)ticks << 64 | part;
}

/* What so many units take. */
static inline edt_t edt_ticks(const struct shape_edt *edt, uint32_t units)
{
	return (edt_t)units * edt->gap_part + ((edt_t)((uint64_t)units * edt->gap) << 64);
}

/* 2^120 over a rate, rounded up: a unit is 2^56 tokens. False if the limit is too low. */
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

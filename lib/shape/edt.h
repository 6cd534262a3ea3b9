/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The earliest tick at which a packet may leave, as of its arrival: a token bucket told by when it
 * will be full (the theoretical arrival time of the GCRA, ITU-T I.371). A packet puts that off by
 * what its cost takes, and leaves when what it takes to fill is no more than the whole bucket. So
 * one multiplication is all that a packet needs, and the queue before the bucket is a difference.
 *
 * A point of time is in 2^-64 ticks. A rate's inverse is rounded up once, by less than one in 2^62,
 * and each product down, by less than one of the last of those bits.
 *
 * Not for others than this folder.
 */
#ifndef WEIR_SHAPE_EDT_H
#define WEIR_SHAPE_EDT_H

#include "shape/private.h"

typedef unsigned __int128 edt_t; /* 2^-64 ticks */

/* Of a limit that grants a unit in more than 2^30 ticks, a second or half of one, none is timed. */
#define EDT_RATE_BITS 27

#define EDT_DEPTH_MOST (UINT64_C(1) << 62) /* ticks: a bucket that never fills */

static inline edt_t edt_join(uint64_t ticks, uint64_t part)
{
	return (edt_t)ticks << 64 | part;
}

/* Ticks that so many units take. */
static inline edt_t edt_ticks(const struct shape_edt *edt, uint32_t units)
{
	return (edt_t)units * edt->gap << edt->shift;
}

/*
 * 2^(120 - shift) over a rate of n bits, rounded up, with as small a shift as leaves 63 bits:
 * a unit is 2^56 tokens. False if the limit is too low.
 */
static inline bool edt_invert(struct shape_edt *edt, int64_t rate)
{
	unsigned bits = rate > 0 ? 64 - (unsigned)__builtin_clzll((uint64_t)rate) : 0;

	if (bits < EDT_RATE_BITS)
		return false;
	/* 2^(120 - shift) / 2^(bits - 1) is to be 2^62 at most; from 59 bits on it is anyway. */
	edt->shift = (uint8_t)(bits < 59 ? 59 - bits : 0);
	edt->gap = (uint64_t)((((edt_t)1 << (120 - edt->shift)) - 1) / (uint64_t)rate) + 1;
	return true;
}

#endif

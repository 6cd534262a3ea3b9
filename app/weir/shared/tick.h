/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The unit of time of meters, queues and clocks: ticks of the TSC. Other CPUs have a slower counter
 * instead (arm64's can be as slow as 25 MHz). One of its steps would be worth more bytes than a
 * meter adds at a time. So there, a step is a power of two of ticks, and a second has TICK_HZ_LEAST
 * ticks or more. Any thread, after EAL's start.
 */
#ifndef WEIR_SHARED_TICK_H
#define WEIR_SHARED_TICK_H

#include <stdint.h>

#include <rte_cycles.h>

#define TICK_HZ_LEAST UINT64_C(400000000) /* 400 Gbit/s: see meter/token_bucket.h */

#ifdef RTE_ARCH_X86
#define TICK_SHIFT 0
#else
#define TICK_SHIFT tick_shift
extern unsigned tick_shift; /* set before main(), then constant */
#endif

/* Returns the number of bits by which ticks must be finer than a counter of this frequency. */
static inline unsigned tick_shift_of(uint64_t hz)
{
	unsigned shift = 0;

	while (hz && hz << shift < TICK_HZ_LEAST)
		shift++;
	return shift;
}

static inline uint64_t tick_now(void)
{
	return rte_rdtsc() << TICK_SHIFT;
}

/* Reads the tick after all earlier memory accesses. */
static inline uint64_t tick_now_precise(void)
{
	return rte_rdtsc_precise() << TICK_SHIFT;
}

/* Returns the ticks a second, as measured by EAL. */
static inline uint64_t tick_hz(void)
{
	return rte_get_tsc_hz() << TICK_SHIFT;
}

#endif

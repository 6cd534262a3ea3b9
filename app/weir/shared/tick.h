/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What meters, queues and looks at the time count in: the TSC's ticks. Other processors have a
 * slower counter in its place (arm64's may be as slow as 25 MHz), and a tick of it would be worth
 * more bytes than a meter adds at a time; there a tick is a power of two below it, so that there
 * are TICK_HZ_LEAST or more a second. Any thread, once EAL is up.
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
extern unsigned tick_shift; /* what main() finds, and stays */
#endif

/* By how many bits a counter of that many ticks a second is to be finer. */
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

/* After all that was asked for before it. */
static inline uint64_t tick_now_precise(void)
{
	return rte_rdtsc_precise() << TICK_SHIFT;
}

/* Ticks a second, as EAL has them. */
static inline uint64_t tick_hz(void)
{
	return rte_get_tsc_hz() << TICK_SHIFT;
}

#endif

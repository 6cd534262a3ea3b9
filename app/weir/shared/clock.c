/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "clock.h"

#include <time.h>

#include <rte_cycles.h>

#include "base/time.h"

#define FIRST_NS UINT64_C(50000000)

/* Each baseline is so many times the one before: ten estimates in the first hour, ever better. */
#define LONGER 3

/* Readings of which the tightest counts; the others were interrupted. */
#define READINGS 16

uint64_t control_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

/* Both clocks at one moment. */
static void read_both(uint64_t *tsc, uint64_t *ns)
{
	uint64_t tightest = UINT64_MAX;

	*tsc = *ns = 0;
	for (int i = 0; i < READINGS; i++) {
		uint64_t before = control_now(), t = rte_rdtsc_precise(), after = control_now();

		if (after - before >= tightest)
			continue;
		tightest = after - before;
		*tsc = t;
		*ns = before + (after - before) / 2;
	}
}

static void estimate_tsc_hz(struct tsc_clock *clock)
{
	uint64_t tsc, ns;

	read_both(&tsc, &ns);
	clock->hz = (uint64_t)((unsigned __int128)(tsc - clock->tsc) * SECOND_NS /
			       (ns - clock->ns));
	clock->refine_ns = clock->ns + (ns - clock->ns) * LONGER;
}

void tsc_clock_start(struct tsc_clock *clock)
{
	const struct timespec first = {0, FIRST_NS};

	read_both(&clock->tsc, &clock->ns);
	nanosleep(&first, NULL);
	estimate_tsc_hz(clock);
}

bool tsc_clock_refine(struct tsc_clock *clock, uint64_t now_ns)
{
	uint64_t before = clock->hz;

	if (now_ns < clock->refine_ns)
		return false;
	estimate_tsc_hz(clock);
	return clock->hz != before;
}

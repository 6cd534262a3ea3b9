/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The time, as control has it; and how fast the TSC ticks, against CLOCK_MONOTONIC, which the
 * system keeps right. DPDK's own figure is rounded to 10 MHz: every limit would be off by as much
 * as 0.2 %. Control thread.
 */
#ifndef WEIR_APP_CLOCK_H
#define WEIR_APP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* CLOCK_MONOTONIC in nanoseconds: the brain's time. */
uint64_t control_now(void);

struct tsc_clock {
	uint64_t hz;        /* best estimate so far */
	uint64_t tsc, ns;   /* both clocks at the start */
	uint64_t refine_ns; /* when the baseline is long enough for a better one */
};

/* Takes a first estimate, good to some 10 ppm; sleeps for it. */
void tsc_clock_start(struct tsc_clock *clock);

/* Now and then, from a longer baseline, a better one; true when hz changed. Does not sleep. */
bool tsc_clock_refine(struct tsc_clock *clock, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The time, as control has it; and how fast the TSC ticks, against CLOCK_BOOTTIME, which the system
 * keeps right. DPDK's own figure is rounded to 10 MHz: every limit would be off by as much as
 * 0.2 %.
 *
 * A rate of the TSC is believed while it is within TSC_BELIEVED_PPM of the one before. What is not
 * is no rate but an event: the machine has slept and the TSC has not, or has begun anew; somebody
 * has written it; a virtual machine has come to another host. Then the rate stays what it was, and
 * is measured anew from here, until two measurements agree. Control thread.
 */
#ifndef WEIR_APP_CLOCK_H
#define WEIR_APP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* More than NTP slews a clock by (500 ppm) is none; rates of any two quartzes differ by less. */
#define TSC_BELIEVED_PPM 500

/* CLOCK_BOOTTIME, which goes on while the machine sleeps, in nanoseconds: the time of the brain. */
uint64_t control_now(void);

/* Both clocks at one moment, which is known to so many nanoseconds. */
struct tsc_reading {
	uint64_t tsc, ns, within_ns;
};

enum tsc_news {
	TSC_SAME,
	TSC_REFINED, /* hz is another, as a longer baseline has it */
	TSC_JUMPED,  /* the TSC is not where its rate has it: hz stays what it was for now */
	TSC_SET_BACK /* likewise, and before where it was: what was timed by it lies ahead */
};

struct tsc_clock {
	uint64_t hz;              /* best estimate so far */
	struct tsc_reading first; /* the baseline begins */
	struct tsc_reading last;  /* as of the last look */
	uint64_t refine_ns;       /* when the baseline is long enough for a better estimate */
	uint64_t measured;        /* hz, of one that has jumped, not yet believed; or 0 */
	uint64_t jumps;           /* since the start */
	uint8_t set_back;         /* so often of these, and then from 0 again */
	int64_t jumped_ns;        /* by how much it was off, the last time */
	bool doubted;             /* it has jumped, and is being measured anew */
	const char *doubt;        /* tsc_clock_doubt() at the start */
};

/* Both clocks now. */
struct tsc_reading tsc_clock_read(void);

/*
 * Takes a first estimate, good to some 10 ppm, from a reading of before; sleeps for what that was
 * too shortly before.
 */
void tsc_clock_start(struct tsc_clock *clock, const struct tsc_reading *from);

/* Looks at both clocks; to be called in each of control's turns. Does not sleep. */
enum tsc_news tsc_clock_look(struct tsc_clock *clock);

/* tsc_clock_look() at given readings: pure. The first begins, with a rate that is believed. */
void tsc_clock_begin(struct tsc_clock *clock, const struct tsc_reading *now, uint64_t hz);
enum tsc_news tsc_clock_take(struct tsc_clock *clock, const struct tsc_reading *now);

/* Why the TSC may stop or jump on this machine, in words; NULL if nothing speaks against it. */
const char *tsc_clock_doubt(void);

#endif

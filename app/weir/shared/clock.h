/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The time that control uses, and the frequency of the TSC. It is measured against CLOCK_BOOTTIME,
 * which the system keeps correct. DPDK rounds the frequency to 10 MHz, which would make every limit
 * wrong by up to 0.2 %.
 *
 * A rate of the TSC is accepted if it is within TSC_ACCEPTED_PPM of the previous one. Otherwise the
 * TSC has jumped. The machine has slept and the TSC has not, or has restarted; a program has
 * written it; or a virtual machine has moved to another host. The rate then stays the same until
 * two new measurements agree. Control thread.
 */
#ifndef WEIR_APP_CLOCK_H
#define WEIR_APP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* NTP slews a clock by at most 500 ppm, and any two quartzes differ by less. */
#define TSC_ACCEPTED_PPM 500

/* Returns CLOCK_BOOTTIME in ns, which counts while the machine sleeps: the time of lib/control. */
uint64_t control_now(void);

/* Both clocks at one moment, accurate to within_ns. */
struct tsc_reading {
	uint64_t tsc, ns, within_ns;
};

enum tsc_news {
	TSC_SAME,
	TSC_REFINED, /* hz has changed, by a longer baseline */
	TSC_JUMPED,  /* the TSC differs from the value that its rate predicts; hz is kept */
	TSC_SET_BACK /* the same, and before its last reading: times by it are in the future */
};

struct tsc_clock {
	uint64_t hz;              /* best estimate so far */
	struct tsc_reading first; /* start of the baseline */
	struct tsc_reading last;  /* at the last look */
	uint64_t refine_ns;       /* when the baseline is long enough for a better estimate */
	uint64_t measured;        /* hz after a jump, not yet accepted; or 0 */
	uint64_t jumps;           /* since the start */
	uint8_t set_back;         /* times that it was set back; wraps */
	int64_t jumped_ns;        /* how much it was off, at the last jump */
	bool doubted;             /* after a jump, while it is being measured again */
	const char *doubt;        /* tsc_clock_doubt() at the start */
};

/* Reads both clocks. */
struct tsc_reading tsc_clock_read(void);

/*
 * Takes a first estimate, accurate to some 10 ppm, from an earlier reading. Sleeps if that is too
 * recent.
 */
void tsc_clock_start(struct tsc_clock *clock, const struct tsc_reading *from);

/* Looks at both clocks. Does not sleep. Call it in each of control's turns. */
enum tsc_news tsc_clock_look(struct tsc_clock *clock);

/* tsc_clock_look() with given readings: pure. Begin with a rate that is accepted. */
void tsc_clock_begin(struct tsc_clock *clock, const struct tsc_reading *now, uint64_t hz);
enum tsc_news tsc_clock_take(struct tsc_clock *clock, const struct tsc_reading *now);

/*
 * Returns a reason why the TSC might stop or jump on this machine, as text; NULL if there is none.
 */
const char *tsc_clock_doubt(void);

#endif

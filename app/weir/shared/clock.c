/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The time that control uses, the frequency of the TSC, and ticks of other CPUs.
 */
#include "clock.h"

#include <time.h>

#include "base/time.h"
#include "tick.h"

#define FIRST_NS UINT64_C(50000000)

/* Factor from one baseline to the next: ten estimates in the first hour, each better. */
#define LONGER 3

/* Readings of which the tightest counts; the others were interrupted. */
#define READINGS 16

/* Duration of each of the two measurements that must agree after a jump. */
#define REMEASURE_NS SECOND_NS

/* Allowed error in addition to the rate's and the reading's: adjustments of a hypervisor. */
#define SLACK_NS (50 * US_NS)

#define PPM 1000000

uint64_t control_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

struct tsc_reading tsc_clock_read(void)
{
	struct tsc_reading best = {.within_ns = UINT64_MAX};

	for (int i = 0; i < READINGS; i++) {
		uint64_t before = control_now(), tsc = tick_now_precise(), after = control_now();

		if (after - before < best.within_ns)
			best = (struct tsc_reading){
				tsc, before + (after - before) / 2, after - before};
	}
	return best;
}

static uint64_t rate_between(const struct tsc_reading *from, const struct tsc_reading *to)
{
	return (uint64_t)((unsigned __int128)(to->tsc - from->tsc) * SECOND_NS /
			  (to->ns - from->ns));
}

static bool is_acceptable_rate(uint64_t rate, uint64_t hz)
{
	uint64_t apart = rate > hz ? rate - hz : hz - rate;

	return apart <= hz / PPM * TSC_ACCEPTED_PPM;
}

/* Returns the nanoseconds by which the TSC is ahead of its rate. It can have been set back. */
static __int128 jump_between(
	uint64_t hz, const struct tsc_reading *from, const struct tsc_reading *to)
{
	__int128 ticks = (int64_t)(to->tsc - from->tsc);

	return ticks * (__int128)SECOND_NS / (__int128)hz - (__int128)(to->ns - from->ns);
}

static bool has_jumped(const struct tsc_reading *last, const struct tsc_reading *now, __int128 jump)
{
	uint64_t step = now->ns - last->ns;
	__int128 most = step / PPM * TSC_ACCEPTED_PPM + SLACK_NS + now->within_ns + last->within_ns;

	return jump > most || -jump > most;
}

static void restart_measurement(struct tsc_clock *clock, const struct tsc_reading *now)
{
	clock->first = *now;
	clock->measured = 0;
	clock->doubted = true;
}

static void accept_rate(struct tsc_clock *clock, const struct tsc_reading *now, uint64_t hz)
{
	clock->hz = hz;
	clock->refine_ns = clock->first.ns + (now->ns - clock->first.ns) * LONGER;
	clock->doubted = false;
}

/* Returns true if it has jumped since `last`, by its rate from the beginning until then. */
static bool jumps_again(const struct tsc_clock *clock, const struct tsc_reading *last,
	const struct tsc_reading *now)
{
	uint64_t rate = last->ns > clock->first.ns ? rate_between(&clock->first, last) : 0;

	return rate > 0 && has_jumped(last, now, jump_between(rate, last, now));
}

/* After a jump, accepts a rate when two consecutive measurements agree. */
static enum tsc_news take_after_jump(
	struct tsc_clock *clock, const struct tsc_reading *last, const struct tsc_reading *now)
{
	uint64_t rate, before = clock->hz;

	if (jumps_again(clock, last, now))
		restart_measurement(clock, now);
	if (now->ns - clock->first.ns < REMEASURE_NS)
		return TSC_SAME;
	rate = rate_between(&clock->first, now);
	if (clock->measured == 0 || !is_acceptable_rate(rate, clock->measured)) {
		clock->measured = rate;
		clock->first = *now;
		return TSC_SAME;
	}
	accept_rate(clock, now, rate);
	return rate == before ? TSC_SAME : TSC_REFINED;
}

static enum tsc_news log_jump(
	struct tsc_clock *clock, const struct tsc_reading *now, __int128 jump, bool back)
{
	clock->jumps++;
	clock->set_back += back;
	clock->jumped_ns = jump > INT64_MAX   ? INT64_MAX
			   : jump < INT64_MIN ? INT64_MIN
					      : (int64_t)jump;
	restart_measurement(clock, now);
	return back ? TSC_SET_BACK : TSC_JUMPED;
}

void tsc_clock_begin(struct tsc_clock *clock, const struct tsc_reading *now, uint64_t hz)
{
	*clock = (struct tsc_clock){.hz = hz, .first = *now, .last = *now};
	clock->refine_ns = now->ns + FIRST_NS * LONGER;
}

enum tsc_news tsc_clock_take(struct tsc_clock *clock, const struct tsc_reading *now)
{
	struct tsc_reading last = clock->last;
	__int128 jump = jump_between(clock->hz, &last, now);
	bool jumped = has_jumped(&last, now, jump), back = (int64_t)(now->tsc - last.tsc) < 0;
	uint64_t rate;

	clock->last = *now;
	if (back || (jumped && !clock->doubted))
		return log_jump(clock, now, jump, back);
	if (clock->doubted)
		return take_after_jump(clock, &last, now);
	if (now->ns < clock->refine_ns)
		return TSC_SAME;
	rate = rate_between(&clock->first, now);
	if (!is_acceptable_rate(rate, clock->hz))
		return log_jump(clock, now, jump_between(clock->hz, &clock->first, now), false);
	if (rate == clock->hz) {
		accept_rate(clock, now, rate);
		return TSC_SAME;
	}
	accept_rate(clock, now, rate);
	return TSC_REFINED;
}

enum tsc_news tsc_clock_look(struct tsc_clock *clock)
{
	struct tsc_reading now = tsc_clock_read();

	return tsc_clock_take(clock, &now);
}

void tsc_clock_start(struct tsc_clock *clock, const struct tsc_reading *from)
{
	struct tsc_reading to = tsc_clock_read();

	if (to.ns - from->ns < FIRST_NS) {
		const struct timespec rest = {0, (long)(FIRST_NS - (to.ns - from->ns))};

		nanosleep(&rest, NULL);
		to = tsc_clock_read();
	}
	tsc_clock_begin(clock, from, rate_between(from, &to));
	clock->last = to;
	clock->doubt = tsc_clock_doubt();
}

/* --- ticks ------------------------------------------------------------------------------------ */

#ifdef RTE_ARCH_ARM64
#include <rte_common.h>

unsigned tick_shift;

/* Before main(): reading the CPU's frequency does not need EAL. */
RTE_INIT(tick_begin)
{
	tick_shift = tick_shift_of(__rte_arm64_cntfrq());
}
#endif

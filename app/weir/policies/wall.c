/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Wall clock for quota periods and for limits by time of day.
 */
#include "wall.h"

#include <sys/timex.h>
#include <time.h>

#include "base/time.h"
#include "clock.h"
#include "instance.h"
#include "event.h"

/* Attempts to read both clocks: the first that was not interrupted counts. */
#define READINGS 16

static void log_timekeeper(const struct timekeeper *keeper)
{
	double apart_s = (double)keeper->apart_ns / SECOND_NS;

	switch (keeper->reason) {
	case TIME_AGREES:
		event(CLOCK_AGREES);
		return;
	case TIME_WAITS:
	case TIME_REASONS:
		return;
	case TIME_BEFORE:
		event(CLOCK_BEHIND, event_real("seconds", -apart_s));
		return;
	case TIME_STEPPED:
		event(CLOCK_STEPPED, event_real("seconds", apart_s));
		return;
	case TIME_FOLLOWS:
		event(CLOCK_FOLLOWS, event_real("seconds", apart_s));
		return;
	case TIME_OUTVOTED:
		event(CLOCK_OUTVOTED, event_real("seconds", apart_s));
	}
}

/* Reads both clocks at one moment. An interrupted reading would look like a step of one clock. */
static bool read_clocks(uint64_t *wall_ns, uint64_t *now_ns)
{
	for (int i = 0; i < READINGS; i++) {
		uint64_t before = control_now();
		struct timespec wall;

		clock_gettime(CLOCK_REALTIME, &wall);
		*now_ns = control_now();
		*wall_ns = (uint64_t)wall.tv_sec * SECOND_NS + (uint64_t)wall.tv_nsec;
		if (*now_ns - before < MS_NS)
			return true;
	}
	return false;
}

/* The kernel reports an error of the wall clock until a time service has set it. */
void wall_look(struct instance *inst)
{
	struct timex kernel = {.modes = 0};
	int state = adjtimex(&kernel);
	uint64_t wall_ns, now_ns;

	if (read_clocks(&wall_ns, &now_ns) &&
		limiter_clock(inst->limiter, wall_ns, state >= 0 && state != TIME_ERROR, now_ns))
		log_timekeeper(limiter_timekeeper(inst->limiter));
}

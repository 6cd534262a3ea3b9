/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How busy threads are: workers by the cycles that they count, control by its CPU time.
 */
#include "check.h"
#include "scope.h"

#include <time.h>

#include "base/counter.h"
#include "busy.h"
#include "instance_world.h"

#define POLICY "{'name': 'p', 'limit': '8Mbit/s', 'match': {'direction': 'a-to-b'}}"

/* A check exactly two seconds after the last one. */
static uint64_t two_seconds(struct instance_world *w, uint64_t now)
{
	assert_false(busy_run(&w->inst, now + 2 * BUSY_PERIOD_NS));
	return now + 2 * BUSY_PERIOD_NS;
}

static uint64_t first_look(struct instance_world *w)
{
	uint64_t now = control_now() + BUSY_PERIOD_NS;

	assert_true(isnan(busy_worker(&w->inst, 0).share));
	assert_true(isnan(busy_control(&w->inst).share));
	assert_false(busy_run(&w->inst, now));
	assert_int_equal(busy_next(&w->inst), now + BUSY_PERIOD_NS);
	return now;
}

TEST(test_worker)
{
	struct worker_counters *counters;
	struct instance_world w;
	uint64_t now, hz, before;

	instance_world_open(&w, POLICY);
	hz = w.inst.clock.hz;
	counters = &w.inst.workers[1].counters;
	now = first_look(&w);
	before = busy_worker(&w.inst, 1).busy_ns;
	counter_add(&counters->busy_cycles, hz / 4);
	counter_add(&counters->handing_cycles, hz / 4);
	assert_in_range(busy_worker(&w.inst, 1).busy_ns, before + SECOND_NS / 2 - 10,
		before + SECOND_NS / 2 + 10);
	assert_false(busy_run(&w.inst, now + BUSY_PERIOD_NS - 1)); /* too early */
	assert_false(busy_worker(&w.inst, 1).share > 0.1);
	now = two_seconds(&w, now);
	assert_true(fabs(busy_worker(&w.inst, 1).share - 0.25) < 1e-6);
	assert_true(busy_worker(&w.inst, 0).share < 1e-6);
	counter_add(&counters->busy_cycles, 3 * hz); /* more than the elapsed time */
	two_seconds(&w, now);
	assert_true(busy_worker(&w.inst, 1).share == 1);
	counters->busy_cycles -= hz; /* not below 0 */
	two_seconds(&w, now + 2 * BUSY_PERIOD_NS);
	assert_true(busy_worker(&w.inst, 1).share == 0);
	counter_add(&counters->busy_cycles, hz); /* one second of the four */
	assert_false(busy_run(&w.inst, now + 5 * BUSY_PERIOD_NS));
	assert_true(fabs(busy_worker(&w.inst, 1).share - 1) < 1e-6);
	assert_int_equal(busy_next(&w.inst), now + 6 * BUSY_PERIOD_NS);
	instance_world_close(&w);
	assert_null(w.inst.busy);
}

static uint64_t spin_ms(unsigned ms)
{
	uint64_t began, ns;
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	began = (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
		ns = (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec - began;
	} while (ns < ms * MS_NS);
	return ns;
}

/* This thread takes the place of control. */
TEST(test_control)
{
	uint64_t now, before, spun, began = control_now();
	WORLD(w, POLICY);

	assert_in_range(
		busy_next(&w->inst), began + BUSY_PERIOD_NS, control_now() + BUSY_PERIOD_NS);
	now = first_look(w);
	before = busy_control(&w->inst).busy_ns;
	spun = spin_ms(40);
	assert_true(busy_control(&w->inst).busy_ns >= before + spun);
	two_seconds(w, now);
	assert_true(busy_control(&w->inst).share >= 0.02);
	assert_true(busy_control(&w->inst).share <= 1);
	assert_in_range(busy_uptime_ns(&w->inst), spun, control_now() - began);
}

TEST_GROUP(instance_world_start, instance_world_stop)

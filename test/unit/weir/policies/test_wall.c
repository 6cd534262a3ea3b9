/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads the wall clock and reports on it. The test simulates both clocks and the limiter.
 */
#include "check.h"

#include <sys/timex.h>
#include <time.h>

#include "base/time.h"
#include "control_clock.h"
#include "event.h"
#include "instance.h"
#include "wall.h"

#define READINGS 16 /* one must be quick enough */

static struct {
	unsigned readings, slow; /* the first ones are interrupted, */
	uint64_t slow_ns;        /* for this long */
	int kernel;
	unsigned looks;
	uint64_t wall_ns, seen_ns;
	bool synchronised, changed;
	struct timekeeper keeper;
} told;

/* The linker replaces the real functions by these. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	assert_int_equal(clock, CLOCK_REALTIME);
	clock_ns += told.readings++ < told.slow ? told.slow_ns : MS_NS - 1;
	*time = (struct timespec){.tv_sec = 1000 + told.readings, .tv_nsec = 7};
	return 0;
}

int __wrap_adjtimex(struct timex *kernel);
int __wrap_adjtimex(struct timex *kernel)
{
	assert_int_equal(kernel->modes, 0); /* changes nothing */
	return told.kernel;
}

bool __wrap_limiter_clock(
	struct limiter *limiter, uint64_t wall_ns, bool synchronised, uint64_t now_ns);
bool __wrap_limiter_clock(
	struct limiter *limiter, uint64_t wall_ns, bool synchronised, uint64_t now_ns)
{
	told.looks++;
	told.wall_ns = wall_ns;
	told.synchronised = synchronised;
	told.seen_ns = now_ns;
	return told.changed;
}

const struct timekeeper *__wrap_limiter_timekeeper(const struct limiter *limiter);
const struct timekeeper *__wrap_limiter_timekeeper(const struct limiter *limiter)
{
	return &told.keeper;
}

static struct instance inst;

static void look_at_wall(unsigned slow, uint64_t slow_ns)
{
	told.readings = told.looks = 0;
	told.slow = slow;
	told.slow_ns = slow_ns;
	clock_ns = 100 * SECOND_NS;
	wall_look(&inst);
}

/* A reading that took a millisecond is rejected and repeated, up to READINGS times. */
TEST(test_reads)
{
	static const unsigned slow[] = {0, 1, READINGS - 1};

	memset(&told, 0, sizeof(told));
	for (size_t i = 0; i < COUNT(slow); i++) {
		look_at_wall(slow[i], MS_NS);
		assert_int_equal(told.looks, 1);
		assert_int_equal(told.readings, slow[i] + 1);
		assert_int_equal(told.wall_ns, (1000 + told.readings) * SECOND_NS + 7);
		assert_int_equal(told.seen_ns, 100 * SECOND_NS + slow[i] * MS_NS + MS_NS - 1);
	}
	look_at_wall(READINGS, MS_NS);
	assert_int_equal(told.readings, READINGS);
	assert_int_equal(told.looks, 0);
}

/* The kernel's status shows whether the clock is synchronised. */
TEST(test_synchronised)
{
	static const struct {
		int kernel;
		bool synchronised;
	} rows[] = {{TIME_OK, true}, {TIME_INS, true}, {TIME_WAIT, true}, {TIME_ERROR, false},
		{-1, false}};

	memset(&told, 0, sizeof(told));
	for (size_t i = 0; i < COUNT(rows); i++) {
		told.kernel = rows[i].kernel;
		look_at_wall(0, 0);
		assert_int_equal(told.looks, 1);
		assert_int_equal(told.synchronised, rows[i].synchronised);
	}
}

/* Each change is reported once, as a positive offset if the wall clock is behind. */
TEST(test_says)
{
	static const struct {
		enum time_reason reason;
		const char *event;
		double seconds;
	} rows[] = {
		{TIME_AGREES, "clock_agrees", 0},
		{TIME_WAITS, NULL, 0},
		{TIME_BEFORE, "clock_behind", 61.5},
		{TIME_STEPPED, "clock_stepped", -61.5},
		{TIME_FOLLOWS, "clock_follows", -61.5},
		{TIME_OUTVOTED, "clock_outvoted", -61.5},
	};

	memset(&told, 0, sizeof(told));
	told.keeper.apart_ns = -(int64_t)(61 * SECOND_NS + SECOND_NS / 2);
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t first = events_number();
		json_t *said;

		told.keeper.reason = rows[i].reason;
		told.changed = false;
		look_at_wall(0, 0);
		told.changed = true;
		look_at_wall(READINGS, MS_NS); /* fails to read the clock */
		assert_int_equal(events_number(), first);
		look_at_wall(0, 0);
		assert_int_equal(events_number() - first, rows[i].event != NULL);
		if (!rows[i].event)
			continue;
		said = events_get(first);
		assert_string_equal(
			json_string_value(json_object_get(said, "event")), rows[i].event);
		assert_near(
			json_number_value(json_object_get(said, "seconds")), rows[i].seconds, 1e-9);
		json_decref(said);
	}
}

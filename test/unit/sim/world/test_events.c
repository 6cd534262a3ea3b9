/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "world/events.h"

static void ignore_event(void *world, void *object, uint64_t argument)
{
}

TEST(test_order)
{
	static const uint64_t arguments[] = {2, 4, 1, 3};
	ENDED_BY(events_free) struct events events = {0};
	struct event event;

	assert_false(events_take(&events, UINT64_MAX, &event));
	assert_int_equal(events_at(&events, 5, ignore_event, NULL, 1), 0);
	assert_int_equal(events_at(&events, 3, ignore_event, NULL, 2), 0);
	assert_int_equal(events_at(&events, 5, ignore_event, NULL, 3), 0);
	assert_int_equal(events_at(&events, 3, ignore_event, NULL, 4), 0);
	assert_false(events_take(&events, 2, &event));
	for (uint64_t k = 0; k < 4; k++) {
		assert_true(events_take(&events, k < 2 ? 3 : 5, &event));
		assert_int_equal(event.at_ns, k < 2 ? 3 : 5);
		assert_int_equal(event.argument, arguments[k]);
	}
	assert_false(events_take(&events, UINT64_MAX, &event));
}

/* The events that a run has executed, in order. */
struct run_log {
	struct events events;
	unsigned n;
	uint64_t at_ns[8], arguments[8];
	void *object;
};

static void log_event(void *world, void *object, uint64_t argument)
{
	struct run_log *log = world;

	log->at_ns[log->n] = log->events.now_ns;
	log->arguments[log->n++] = argument;
	log->object = object;
	if (argument == 7) /* stops the run */
		log->events.error = -1;
	if (argument == 8) /* adds one in the past, and one later */
		for (uint64_t i = 0; i < 2; i++) {
			assert_int_equal(
				events_at(&log->events, 3 + i, log_event, object, 20 + i), 0);
			assert_int_equal(
				events_after(&log->events, 2, log_event, object, 30 + i), 0);
		}
}

/* Runs up to and including a time, or up to an error; events added for the past happen now. */
TEST(test_run)
{
	static const struct {
		bool newest_first;
		uint64_t first, until_ns;
		unsigned n;
		uint64_t at_ns[7], arguments[7];
	} rows[] = {
		{false, 1, 5, 1, {5}, {1}},
		{false, 1, 4, 0, {0}, {0}},
		{false, 1, 100, 2, {5, 9}, {1, 2}},
		{false, 7, 100, 1, {5}, {7}},
		{false, 8, 100, 6, {5, 5, 5, 7, 7, 9}, {8, 20, 21, 30, 31, 2}},
		{true, 8, 100, 6, {5, 5, 5, 7, 7, 9}, {8, 21, 20, 31, 30, 2}},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct run_log log = {.events.newest_first = rows[i].newest_first};
		int object;

		assert_int_equal(events_at(&log.events, 9, log_event, &object, 2), 0);
		assert_int_equal(events_at(&log.events, 5, log_event, &object, rows[i].first), 0);
		events_run(&log.events, rows[i].until_ns, &log);
		assert_int_equal(log.n, rows[i].n);
		assert_int_equal(log.events.taken, rows[i].n);
		for (unsigned k = 0; k < log.n; k++) {
			assert_int_equal(log.at_ns[k], rows[i].at_ns[k]);
			assert_int_equal(log.arguments[k], rows[i].arguments[k]);
			assert_ptr_equal(log.object, &object);
		}
		events_free(&log.events);
		assert_int_equal(log.events.n + log.events.now_ns, 0);
		assert_null(log.events.heap);
	}
}

#define MANY 20000

/* Compared with a sorted list: adds and takes in any order, with many equal times. */
TEST(test_many)
{
	ENDED_BY(events_free) struct events events = {0};
	struct prng prng;
	uint64_t last_at = 0, last_order = 0, taken = 0;

	prng_seed(&prng, 7);
	for (unsigned i = 0; i < MANY; i++) {
		struct event event;

		assert_int_equal(
			events_at(&events, last_at + prng_below(&prng, 50), ignore_event, NULL, i),
			0);
		if (prng_below(&prng, 3) == 0 || i + 1 == MANY)
			while (events_take(
				&events, i + 1 == MANY ? UINT64_MAX : last_at + 5, &event)) {
				assert_true(event.at_ns > last_at ||
					    (event.at_ns == last_at &&
						    (taken == 0 || event.order > last_order)));
				last_at = event.at_ns;
				last_order = event.order;
				taken++;
			}
	}
	assert_int_equal(taken, MANY);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "world/events.h"

static void ignore_event(void *world, void *object, uint64_t argument)
{
	(void)world;
	(void)object;
	(void)argument;
}

static void test_order(void **state)
{
	static const uint64_t arguments[] = {2, 4, 1, 3};
	struct events events = {0};
	struct event event;

	(void)state;
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
	events_free(&events);
}

#define MANY 20000

/* Against a list that is sorted: adds and takes in any order, with many equal times. */
static void test_many(void **state)
{
	struct events events = {0};
	struct prng prng;
	uint64_t last_at = 0, last_order = 0, taken = 0;

	(void)state;
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
	events_free(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Rounds of a placed policy whose buckets do not arrive: no worker has a turn, so nothing moves.
 */
#include "box_world.h"

#include "distribute.h"
#include "placing.h"
#include "usher.h"

#define ROUND UINT64_C(100000000)
#define STEP  UINT64_C(20000000)

#define PLACED                                                                     \
	"{'name': 'placed', 'match': {}, 'limit': '10Mbit/s', 'action': 'shape', " \
	"'slo': {'p99': '50ms'}, 'place': {'key': 'src/24', 'round': '100ms'}}"

struct world {
	struct box_world box;
	struct placing *placing;
	uint64_t now;
};

/* Its ports have a queue for each worker: the lane is the test's. Some bucket is to move. */
static void open_world(struct world *world)
{
	struct box *box = &world->box.box;
	struct lanes *lanes = lanes_create(0, BOX_WORKERS);

	box_world_open(&world->box, PLACED);
	assert_non_null(lanes);
	assert_int_equal(lanes_seat(lanes, box->workers, box->slots.capacity), 0);
	box->workers[0].paths[0].lanes = lanes;
	assert_int_equal(placing_prepare(box, &box->policies[0], box->slots.of[0]), 0);
	placing_begin(box, 0);
	world->placing = box->placings;
	assert_non_null(world->placing);
	world->now = ROUND;
	seating_want(&world->placing->seating, 7, !seat_at(world->placing->lanes[0].seats, 7));
	placings_look(box, world->now);
	assert_false(world->placing->measures);
}

/* Until a round is under way or not, as is said; in steps. */
static unsigned until(struct world *world, bool measures)
{
	unsigned n = 0;

	while (world->placing->measures != measures && n++ < 1000) {
		world->now += STEP;
		placings_look(&world->box.box, world->now);
	}
	return n;
}

/* A round is measured nevertheless, after some rounds' time; and again, and owners are asked. */
static void test_never_arriving(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	for (unsigned i = 0; i < 3; i++) {
		unsigned asked = rte_ring_count(world.placing->lanes[0].usher->asks);

		assert_in_range(until(&world, true), 45, 55);
		assert_true(until(&world, false) >= 5);
		assert_true(rte_ring_count(world.placing->lanes[0].usher->asks) > asked);
	}
	box_world_close(&world.box);
}

/* At once, when the policy has changed. */
static void test_changed(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	placing_change(&world.box.box, 0);
	assert_int_equal(until(&world, true), 1);
	assert_in_range(until(&world, false), 5, 6);
	assert_false(world.placing->changed && !world.placing->measures);
	box_world_close(&world.box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_arriving),
		cmocka_unit_test(test_changed),
	};

	return cmocka_run_group_tests(tests, box_world_start, box_world_stop);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The owner of a queue among workers of which one is stuck: its flows go to the others, and no
 * packet is lost by that. The frames are net_null's, all of one flow.
 */
#include "instance_world.h"

#include <string.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "distribute.h"
#include "rx_rings.h"
#include "stuck.h"

#define WORKERS 4
#define SLOTS   4

struct world {
	struct instance_world instance; /* whose ports they are */
	struct worker workers[WORKERS];
	unsigned owner;
	struct stuck stuck;
	struct path path;
	unsigned own; /* packets for the owner */
};

static void open_world(struct world *world, unsigned owner)
{
	memset(world, 0, sizeof(*world));
	world->owner = owner;
	instance_world_open(&world->instance, "{'name': 'p', 'limit': '8Mbit/s', 'match': {}}");
	for (unsigned i = 0; i < WORKERS; i++) {
		world->workers[i].index = i;
		world->workers[i].n_workers = WORKERS;
		world->workers[i].stuck = &world->stuck;
	}
	world->path = world->instance.inst.workers[0].paths[0];
	world->path.rings = rx_rings_create(owner, WORKERS, 1);
	assert_non_null(world->path.rings);
	assert_int_equal(rx_rings_open(world->path.rings, world->workers, SLOTS), 0);
}

static void close_world(struct world *world)
{
	rx_rings_destroy(world->path.rings);
	instance_world_close(&world->instance);
}

static void receive(struct world *world)
{
	struct rte_mbuf *mbufs[BURST];
	bool busy = false;
	uint16_t n = distribute_receive(&world->workers[world->owner], &world->path, mbufs, &busy);

	world->own += n;
	rte_pktmbuf_free_bulk(mbufs, n);
}

/* Packets that lie ready for a worker, or were the owner's. */
static unsigned given(const struct world *world, unsigned worker)
{
	struct rte_ring *out = world->path.rings->out[worker];

	return out ? rte_ring_count(out) : world->own;
}

/* Has a burst come to an owner whose flow it is not; returns the worker whose it is. */
static unsigned open_of_another(struct world *world)
{
	for (unsigned owner = 0; owner < WORKERS; owner++) {
		open_world(world, owner);
		receive(world);
		for (unsigned i = 0; i < WORKERS; i++)
			if (i != owner && given(world, i) > 0)
				return i;
		close_world(world);
	}
	fail_msg("each owner says that the flow is his own");
	return 0;
}

static void test_one_is_stuck(void **state)
{
	struct world world;
	unsigned target, n, others = 0;

	(void)state;
	target = open_of_another(&world);
	n = given(&world, target);
	assert_int_equal(n, BURST);
	assert_int_equal(world.workers[world.owner].counters.rerouted_packets, 0);
	world.stuck.now = UINT64_C(1) << target;
	receive(&world); /* it may go on at any moment */
	assert_int_equal(given(&world, target), 2 * n);
	assert_int_equal(world.workers[world.owner].counters.rerouted_packets, 0);
	world.stuck.by_far = world.stuck.now;
	receive(&world);
	assert_int_equal(given(&world, target), 2 * n);
	for (unsigned i = 0; i < WORKERS; i++)
		others += i != target ? given(&world, i) : 0;
	assert_int_equal(others, BURST);
	assert_int_equal(world.workers[world.owner].counters.rerouted_packets, BURST);
	assert_int_equal(world.workers[world.owner].counters.dropped[DROP_RING_FULL], 0);
	world.stuck = (struct stuck){0};
	receive(&world);
	assert_int_equal(given(&world, target), 3 * n);
	close_world(&world);
}

/* A ring that fills up is as good as a long time. */
static void test_ring_fills_up(void **state)
{
	struct world world;
	unsigned target;

	(void)state;
	target = open_of_another(&world);
	world.stuck.now = UINT64_C(1) << target;
	for (unsigned i = 0; i < 2 * RX_RING_PACKETS / BURST; i++)
		receive(&world);
	assert_int_equal(given(&world, target), RX_RING_PACKETS / 2);
	assert_int_equal(world.workers[world.owner].counters.dropped[DROP_RING_FULL], 0);
	close_world(&world);
}

/* All but the owner: he decides what comes, for as long as it lasts. */
static void test_all_others_are_stuck(void **state)
{
	struct world world;
	unsigned before;

	(void)state;
	open_of_another(&world);
	world.stuck.now = ((UINT64_C(1) << WORKERS) - 1) & ~(UINT64_C(1) << world.owner);
	world.stuck.by_far = world.stuck.now;
	before = world.own;
	for (unsigned i = 0; i < 3 * RX_RING_PACKETS / BURST; i++)
		receive(&world);
	assert_int_equal(world.own - before, 3 * RX_RING_PACKETS);
	assert_int_equal(world.workers[world.owner].counters.dropped[DROP_RING_FULL], 0);
	close_world(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_is_stuck),
		cmocka_unit_test(test_ring_fills_up),
		cmocka_unit_test(test_all_others_are_stuck),
	};

	return cmocka_run_group_tests(tests, instance_world_start, instance_world_stop);
}

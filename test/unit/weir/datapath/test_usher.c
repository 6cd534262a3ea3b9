/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The owner of a queue: what he is asked to move, and when he takes nothing in. His worker's turns
 * and rings are the test's.
 */
#include "box_world.h"

#include <string.h>

#include <rte_ring.h>

#include "distribute.h"
#include "lanes.h"
#include "usher.h"
#include "worker_own.h"

#define SLOTS 4
#define SLOT  2

struct world {
	struct worker workers[2]; /* the first is the owner */
	struct lanes *lanes;
	struct usher *usher;
	struct seating seating;
	struct owner_seats seats;
	uint64_t waited, left; /* of the other worker's queue */
};

static void open_world(struct world *world)
{
	memset(world, 0, sizeof(*world));
	world->lanes = lanes_create(0, 2);
	assert_non_null(world->lanes);
	assert_int_equal(lanes_seat(world->lanes, world->workers, SLOTS), 0);
	world->usher = world->lanes->usher;
	seating_init(&world->seating, &(struct place_key){24, 64}, 1);
	owner_seats_init(&world->seats, &world->seating);
	world->seats.queues[1] = (struct seat_queue){&world->waited, &world->left};
	usher_add(world->usher, SLOT, &world->seats);
}

static void close_world(struct world *world)
{
	lanes_destroy(world->lanes);
}

/* Whether nothing is to be taken in. */
static bool turn_usher(struct world *world)
{
	struct rte_mbuf *mbufs[BURST];
	uint16_t n;
	bool hush = usher_turn(world->usher, &world->workers[0], mbufs, &n);

	assert_int_equal(n, 0);
	return hush;
}

static void pass_ring_packet(struct rte_ring *ring)
{
	void *packet;

	assert_int_equal(rte_ring_sc_dequeue(ring, &packet), 0);
}

/* Another classifier: until what was handed out by the former one is through, step by step. */
static void test_hush(void **state)
{
	struct world world;
	struct rte_ring *out, *back;

	(void)state;
	open_world(&world);
	out = world.lanes->out[1];
	back = world.lanes->back[1];
	assert_false(turn_usher(&world));
	assert_int_equal(rte_ring_sp_enqueue(out, &world), 0);
	worker_own(&world.workers[0])->view.seated = 1;
	assert_true(turn_usher(&world));
	pass_ring_packet(out);
	assert_true(turn_usher(&world)); /* it goes by the former one still */
	world.workers[1].generation = 1;
	assert_true(turn_usher(&world));
	assert_true(turn_usher(&world));
	assert_int_equal(rte_ring_sp_enqueue(back, &world), 0);
	world.workers[1].turn++;
	assert_true(turn_usher(&world));
	pass_ring_packet(back);
	assert_false(turn_usher(&world));
	assert_false(turn_usher(&world));
	close_world(&world);
}

/* As the owner's turn does it: no more of this when there is nothing placed. */
static bool owner_turn(struct world *world)
{
	return usher_has_seats(world->usher) && turn_usher(world);
}

/* The last placed policy leaves meanwhile; much later there is another one. */
static void test_hush_after_the_last(void **state)
{
	for (unsigned step = 0; step < 3; step++) {
		struct world world;
		struct rte_ring *back;

		(void)state;
		open_world(&world);
		back = world.lanes->back[1];
		worker_own(&world.workers[0])->view.seated = 1;
		world.workers[1].generation = step > 0;
		assert_true(owner_turn(&world));
		assert_int_equal(rte_ring_sp_enqueue(back, &world), 0);
		world.workers[1].turn += step > 1;
		assert_true(owner_turn(&world));
		usher_leave(world.usher, SLOT);
		usher_remove(world.usher, SLOT);
		world.workers[1].generation = 1;
		for (unsigned i = 0; i < 5; i++) {
			world.workers[1].turn++;
			assert_int_equal(rte_ring_sp_enqueue(back, &world), 0);
			owner_turn(&world);
			pass_ring_packet(back);
		}
		pass_ring_packet(back);
		assert_false(owner_turn(&world));
		assert_false(usher_has_seats(world.usher));
		usher_add(world.usher, SLOT, &world.seats);
		assert_false(owner_turn(&world));
		worker_own(&world.workers[0])->view.seated = world.workers[1].generation = 2;
		for (unsigned i = 0; i < 3; i++) {
			owner_turn(&world);
			world.workers[1].turn++;
		}
		assert_false(owner_turn(&world));
		close_world(&world);
	}
}

/* Yet another classifier meanwhile: everybody has to go by that one. */
static void test_hush_again(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	worker_own(&world.workers[0])->view.seated = world.workers[1].generation = 1;
	assert_true(turn_usher(&world));
	worker_own(&world.workers[0])->view.seated = 2;
	for (unsigned i = 0; i < 3; i++) {
		world.workers[1].turn++;
		assert_true(turn_usher(&world));
	}
	world.workers[1].generation = 2;
	assert_true(turn_usher(&world));
	world.workers[1].turn++;
	assert_false(turn_usher(&world));
	close_world(&world);
}

/* What moves does not hold that up: it stays where it was, and is asked for again. */
static void test_hush_ends_moves(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	seating_want(&world.seating, 7, 0);
	assert_true(usher_ask(world.usher, SLOT));
	world.waited = 1; /* and does not leave */
	assert_false(turn_usher(&world));
	assert_false(usher_is_done(world.usher, SLOT));
	worker_own(&world.workers[0])->view.seated = world.workers[1].generation = 1;
	assert_true(turn_usher(&world));
	assert_true(usher_is_done(world.usher, SLOT));
	for (unsigned i = 0; i < 3 && turn_usher(&world); i++)
		world.workers[1].turn++;
	assert_false(turn_usher(&world));
	assert_int_equal(seat_at(&world.seats, 7), 1);
	assert_int_equal(world.usher->mover.called_off, 1);
	world.left = 1;
	assert_true(usher_ask(world.usher, SLOT));
	for (unsigned i = 0; i < 10; i++) {
		world.workers[1].turn++;
		assert_false(turn_usher(&world));
	}
	assert_int_equal(seat_at(&world.seats, 7), 0);
	close_world(&world);
}

static void turn_usher_times(struct world *world)
{
	for (unsigned i = 0; i < 10; i++) {
		world->workers[1].turn++;
		assert_false(turn_usher(world));
	}
}

/* Packets for a bucket that moves come faster than its next worker takes them: giving ends. */
static void test_giving_ends(void **state)
{
	struct world world;
	struct mover *mover;
	struct rte_ring *out;
	unsigned i;

	(void)state;
	open_world(&world);
	mover = &world.usher->mover;
	out = world.lanes->out[1];
	world.seats.queues[0] = (struct seat_queue){&world.waited, &world.left};
	seat_set(&world.seats, 7, 0);
	assert_true(usher_ask(world.usher, SLOT));
	world.waited = 1;
	assert_false(turn_usher(&world));
	for (i = 0; i < 100; i++)
		assert_true(mover_keep(mover, &world, 7));
	while (rte_ring_sp_enqueue(out, &world) == 0)
		;
	world.left = 1;
	assert_true(turn_usher(&world)); /* there is no room */
	for (i = 0; i < 200 && !mover_is_idle(mover); i++) {
		for (unsigned j = 0; j < 16; j++)
			pass_ring_packet(out);
		if (turn_usher(&world) || !mover_keeps(mover, &world.seats, 7))
			continue;
		for (unsigned j = 0; j < 32; j++)
			mover_keep(mover, &world, 7);
	}
	while (rte_ring_count(out) > 0)
		pass_ring_packet(out);
	mover->kept = 0; /* they are no packets */
	assert_in_range(i, 6, 7);
	assert_int_equal(seat_at(&world.seats, 7), 1);
	close_world(&world);
}

static void test_asked(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	seating_want(&world.seating, 7, 0);
	turn_usher_times(&world);
	assert_int_equal(seat_at(&world.seats, 7), 1); /* nobody has asked */
	assert_true(usher_ask(world.usher, SLOT));
	assert_true(usher_is_done(world.usher, SLOT));
	assert_false(turn_usher(&world));
	assert_false(usher_is_done(world.usher, SLOT));
	turn_usher_times(&world);
	assert_true(usher_is_done(world.usher, SLOT));
	assert_int_equal(seat_at(&world.seats, 7), 0);
	close_world(&world);
}

/* Nothing moves of a policy that leaves, nor where there is none. */
static void test_leaving(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	seating_want(&world.seating, 7, 0);
	usher_leave(world.usher, SLOT);
	assert_true(usher_ask(world.usher, SLOT));
	turn_usher_times(&world);
	assert_int_equal(seat_at(&world.seats, 7), 1);
	usher_remove(world.usher, SLOT);
	assert_false(usher_has_seats(world.usher));
	assert_true(usher_ask(world.usher, SLOT));
	turn_usher_times(&world);
	usher_remove(world.usher, SLOT); /* once more is once */
	assert_int_equal(world.usher->n_seats, 0);
	close_world(&world);
}

/* What finds no room is said again later. */
static void test_many_asks(void **state)
{
	struct world world;
	unsigned n = 0;

	(void)state;
	open_world(&world);
	while (usher_ask(world.usher, SLOT))
		n++;
	assert_int_equal(n, USHER_ASKS - 1);
	for (unsigned i = 0; i < n; i++)
		assert_false(turn_usher(&world));
	assert_true(usher_ask(world.usher, SLOT));
	close_world(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hush),
		cmocka_unit_test(test_hush_after_the_last),
		cmocka_unit_test(test_hush_again),
		cmocka_unit_test(test_hush_ends_moves),
		cmocka_unit_test(test_giving_ends),
		cmocka_unit_test(test_asked),
		cmocka_unit_test(test_leaving),
		cmocka_unit_test(test_many_asks),
	};

	return cmocka_run_group_tests(tests, box_world_start, box_world_stop);
}

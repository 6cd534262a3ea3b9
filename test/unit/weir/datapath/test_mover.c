/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Sources that change their worker under traffic: none is reordered, nothing is lost, all arrive
 * where they are wanted; whatever happens when.
 */
#include "mover_world.h"

#include <string.h>

/* A lot says which worker does something next, and in which phase. */
static void mix_mover_steps(
	struct mover_world *world, unsigned steps, unsigned burst, unsigned sources)
{
	for (unsigned i = 0; i < steps; i++) {
		unsigned who = prng_below(&world->prng, MOVER_WORKERS);

		if (who == MOVER_OWNER)
			mover_world_turn(world, prng_below(&world->prng, burst + 1), sources);
		else
			fake_worker_step(&world->workers[who]);
	}
}

static void run_mover_to_end(struct mover_world *world)
{
	for (unsigned i = 0; i < 400 && (world->n_out + world->n_lost < world->n_packets ||
						!mover_is_idle(&world->mover) || world->wants);
		i++)
		mix_mover_steps(world, 400, 0, 1);
	mover_world_check(world);
}

static void test_random(void **state)
{
	struct mover_world world;
	uint64_t moved = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS(400); seed++) {
		unsigned sources = 1 + (unsigned)(seed * 37 % MOVER_SOURCES);

		mover_world_open(&world, seed);
		for (unsigned i = 0; i < 60; i++) {
			mover_world_want(&world, 1 + prng_below(&world.prng, 40));
			mix_mover_steps(&world, prng_below(&world.prng, 300), 12, sources);
			if (prng_below(&world.prng, 4) == 0)
				mover_call_off(&world.mover);
		}
		run_mover_to_end(&world);
		if (world.n_lost)
			fail_msg("seed %u: %u lost", (unsigned)seed, world.n_lost);
		moved += world.mover.moved;
		mover_world_close(&world);
	}
	assert_true(moved > ROUNDS(400) * 100);
}

/* What is kept back is bounded: a move that takes too long is called off, and nothing is lost. */
static void test_called_off(void **state)
{
	struct mover_world world;

	(void)state;
	mover_world_open(&world, 1);
	world.workers[0].stuck = true;
	mix_mover_steps(&world, 400, 8, SEATS);
	world.ahead = MOVER_PACKETS;
	assert_non_null(world.workers[0].head);
	for (unsigned i = 0; i < 128; i++)
		seating_want(&world.seating, i, 2);
	world.wants = true;
	for (unsigned i = 0; i < 4000 && world.mover.called_off == 0; i++) {
		assert_int_equal(world.mover.moved, 0);
		mix_mover_steps(&world, 8, 8, SEATS);
	}
	assert_int_equal(world.mover.called_off, 1);
	assert_int_equal(world.mover.most, 64);
	assert_int_equal(seat_at(&world.seats, 0), 0);
	world.workers[0].stuck = false;
	run_mover_to_end(&world);
	assert_int_equal(world.n_lost, 0);
	assert_int_equal(world.mover.moved, 128);
	mover_world_close(&world);
}

/* A move of bucket 0 and perhaps others, for which more comes than can be kept back. */
static void too_much(struct mover_world *world)
{
	struct mover *mover = &world->mover;
	void *own[MOVER_BURST], *packet;

	assert_true(mover_begin(mover, &world->seats));
	assert_true(mover_keeps(mover, &world->seats, 0));
	while (mover_keep(mover, &world->packets[0], 0))
		;
	mover_advance(mover);
	while (!mover_is_idle(mover)) {
		mover_give(mover, own, MOVER_BURST);
		while (rte_ring_sc_dequeue(world->workers[0].out, &packet) == 0)
			;
	}
}

/* One bucket that alone is too much, always: the others move. */
static void test_too_much_alone(void **state)
{
	struct mover_world world;

	(void)state;
	mover_world_open(&world, 1);
	world.workers[0].waited = 1; /* and does not leave */
	seating_want(&world.seating, 0, 2);
	seating_want(&world.seating, 200, 2);
	seating_want(&world.seating, 255, 2);
	too_much(&world);
	assert_int_equal(world.mover.most, 1);
	too_much(&world);
	assert_true(mover_begin(&world.mover, &world.seats));
	assert_false(mover_keeps(&world.mover, &world.seats, 0));
	assert_true(mover_keeps(&world.mover, &world.seats, 200));
	mover_world_close(&world);
}

/* Step by step: just not, and just. */
static void test_steps(void **state)
{
	struct mover_world world;
	struct fake_worker *from = &world.workers[0];
	struct mover *mover = &world.mover;

	(void)state;
	mover_world_open(&world, 1);
	from->stuck = true;
	mover_world_turn(&world, 32, SEATS);
	seating_want(&world.seating, 0, 2);
	assert_true(mover_begin(mover, &world.seats));
	mover_advance(mover);
	assert_int_equal(mover->step, MOVER_RING);
	while (from->phase != FAKE_TAKE)
		fake_worker_step(from);
	from->prng.s[0] ^= 1; /* whatever it is: it may take several turns to empty the ring */
	while (rte_ring_count(from->out) > 0) {
		mover_advance(mover);
		assert_int_equal(mover->step, MOVER_RING);
		fake_worker_step(from);
	}
	mover_advance(mover);
	assert_int_equal(mover->step, MOVER_TURN);
	while (from->phase != FAKE_END)
		fake_worker_step(from);
	mover_advance(mover);
	assert_int_equal(mover->step, MOVER_TURN);
	fake_worker_step(from);
	mover_advance(mover);
	assert_int_equal(mover->step, from->head ? MOVER_QUEUE : MOVER_LEAVE);
	from->stuck = false;
	while (from->waited != from->left) {
		assert_int_equal(mover->step, MOVER_QUEUE);
		fake_worker_step(from);
		if (from->waited != from->left)
			mover_advance(mover);
	}
	mover_advance(mover);
	assert_int_equal(mover->step, MOVER_LEAVE);
	while (from->phase != FAKE_END)
		fake_worker_step(from);
	mover_advance(mover);
	assert_int_equal(mover->step, MOVER_LEAVE);
	fake_worker_step(from);
	mover_advance(mover);
	assert_int_equal(mover->step, MOVER_BACK);
	assert_int_equal(seat_at(&world.seats, 0), 0);
	mover_world_turn(&world, 0, 1);
	assert_true(mover_is_idle(mover));
	assert_int_equal(seat_at(&world.seats, 0), 2);
	run_mover_to_end(&world);
	mover_world_close(&world);
}

/* The owner's own sources wait for his own queue alone. */
static void test_own(void **state)
{
	struct mover_world world;

	(void)state;
	mover_world_open(&world, 1);
	for (unsigned i = 0; i < SEATS; i++)
		seating_want(&world.seating, i, MOVER_OWNER);
	world.wants = true;
	run_mover_to_end(&world);
	world.workers[MOVER_OWNER].stuck = true;
	mover_world_turn(&world, 32, SEATS);
	seating_want(&world.seating, 9, 2);
	world.wants = true;
	mover_world_turn(&world, 32, SEATS);
	assert_int_equal(world.mover.step, MOVER_QUEUE);
	assert_int_equal(seat_at(&world.seats, 9), MOVER_OWNER);
	world.workers[MOVER_OWNER].stuck = false;
	run_mover_to_end(&world);
	assert_int_equal(seat_at(&world.seats, 9), 2);
	mover_world_close(&world);
}

/* Nobody wants anything: nothing begins; and an owner who stops gets back what he kept. */
static void test_begin_and_flush(void **state)
{
	struct mover_world world;
	void *packets[4];

	(void)state;
	mover_world_open(&world, 1);
	assert_false(mover_begin(&world.mover, &world.seats));
	assert_false(mover_keeps(&world.mover, &world.seats, 5));
	seating_want(&world.seating, 5, 3);
	assert_true(mover_begin(&world.mover, &world.seats));
	assert_true(mover_keeps(&world.mover, &world.seats, 5));
	assert_false(mover_keeps(&world.mover, &world.seats, 6));
	assert_false(mover_keeps(&world.mover, NULL, 5));
	for (unsigned i = 0; i < MOVER_KEEPS; i++)
		assert_true(mover_keep(&world.mover, &world.packets[i], 5));
	assert_false(mover_keep(&world.mover, &world.packets[0], 5));
	assert_int_equal(mover_flush(&world.mover, packets, 3), 3);
	assert_ptr_equal(packets[2], &world.packets[2]);
	assert_true(mover_keep(&world.mover, &world.packets[MOVER_KEEPS], 5));
	for (unsigned i = 3; i <= MOVER_KEEPS; i++) {
		assert_int_equal(mover_flush(&world.mover, packets, 1), 1);
		assert_ptr_equal(packets[0], &world.packets[i]);
	}
	assert_int_equal(mover_flush(&world.mover, packets, 4), 0);
	mover_world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_called_off),
		cmocka_unit_test(test_too_much_alone),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_begin_and_flush),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Sources that move to another worker under traffic. No packet is reordered or lost, and all
 * sources arrive at the requested worker, in any order of events.
 */
#include "migration_world.h"
#include "scope.h"

#include "stuck.h"

/* Draws the next worker, which runs the next phase of its turn. */
static void mix_migration_steps(
	struct migration_world *world, unsigned steps, unsigned burst, unsigned sources)
{
	for (unsigned i = 0; i < steps; i++) {
		unsigned who = prng_below(&world->prng, MIGRATION_WORKERS);

		if (who == MIGRATION_OWNER)
			migration_world_turn(world, prng_below(&world->prng, burst + 1), sources);
		else
			fake_worker_step(&world->workers[who]);
	}
}

static void run_migration_to_end(struct migration_world *world)
{
	for (unsigned i = 0;
		i < 400 && (world->n_out + world->n_lost < world->n_packets ||
				   !migration_is_idle(&world->migration) || world->wants);
		i++)
		mix_migration_steps(world, 400, 0, 1);
	migration_world_check(world);
}

TEST(test_random)
{
	struct migration_world world;
	uint64_t moved = 0;

	for (uint64_t seed = 1; seed <= ROUNDS(400); seed++) {
		unsigned sources = 1 + (unsigned)(seed * 37 % MIGRATION_SOURCES);

		migration_world_open(&world, seed);
		for (unsigned i = 0; i < 60; i++) {
			migration_world_want(&world, 1 + prng_below(&world.prng, 40));
			mix_migration_steps(&world, prng_below(&world.prng, 300), 12, sources);
			if (prng_below(&world.prng, 4) == 0)
				migration_call_off(&world.migration);
		}
		run_migration_to_end(&world);
		if (world.n_lost)
			fail_msg("seed %u: %u lost", (unsigned)seed, world.n_lost);
		moved += world.migration.moved;
		migration_world_close(&world);
	}
	assert_true(moved > ROUNDS(400) * 100);
}

/*
 * The number of kept packets is bounded: a move that takes too long is called off, and no packet is
 * lost.
 */
TEST(test_called_off)
{
	ENDED_BY(migration_world_close) struct migration_world world;

	migration_world_open(&world, 1);
	world.workers[0].stuck = true;
	mix_migration_steps(&world, 400, 8, RETA_SIZE);
	world.ahead = MIGRATION_PACKETS;
	assert_non_null(world.workers[0].head);
	for (unsigned i = 0; i < 128; i++)
		reta_target_set(&world.reta_target, i, 2);
	world.wants = true;
	for (unsigned i = 0; i < 4000 && world.migration.called_off == 0; i++) {
		assert_int_equal(world.migration.moved, 0);
		mix_migration_steps(&world, 8, 8, RETA_SIZE);
	}
	assert_int_equal(world.migration.called_off, 1);
	assert_int_equal(world.migration.most, 64);
	assert_int_equal(reta_worker(&world.reta, 0), 0);
	world.workers[0].stuck = false;
	run_migration_to_end(&world);
	assert_int_equal(world.n_lost, 0);
	assert_int_equal(world.migration.moved, 128);
}

/* The owner does not wait for a stalled worker. Kept packets go to another worker. */
TEST(test_stuck)
{
	ENDED_BY(migration_world_close) struct migration_world world;
	void *own[MIGRATION_BURST];
	struct stuck stuck = {0};

	migration_world_open(&world, 1);
	world.migration.stuck = &stuck;
	world.workers[0].waited = 1; /* does not leave */
	reta_target_set(&world.reta_target, 0, 2);
	assert_true(migration_begin(&world.migration, &world.reta));
	assert_true(migration_keep(&world.migration, &world.packets[0], 0));
	for (unsigned i = 0; i < 10; i++) {
		migration_advance(&world.migration);
		assert_true(migration_keeps(&world.migration, &world.reta, 0));
	}
	stuck.now = 1 << 0 | 1 << 2;
	migration_advance(&world.migration);
	assert_int_equal(migration_give(&world.migration, own, MIGRATION_BURST), 1);
	assert_ptr_equal(own[0], &world.packets[0]);
	assert_int_equal(rte_ring_count(world.workers[2].out), 0);
	assert_true(migration_is_idle(&world.migration));
}

/* Starts a move of a bucket, and possibly others, and receives more packets than can be kept. */
static void too_much(struct migration_world *world, unsigned bucket)
{
	struct migration *migration = &world->migration;
	void *own[MIGRATION_BURST], *packet;

	assert_true(migration_begin(migration, &world->reta));
	assert_true(migration_keeps(migration, &world->reta, bucket));
	while (migration_keep(migration, &world->packets[0], (uint8_t)bucket))
		;
	migration_advance(migration);
	while (!migration_is_idle(migration)) {
		migration_give(migration, own, MIGRATION_BURST);
		while (rte_ring_sc_dequeue(world->workers[0].out, &packet) == 0)
			;
	}
}

/* One bucket that is too much alone, each time. The others move. */
TEST(test_too_much_alone)
{
	ENDED_BY(migration_world_close) struct migration_world world;

	migration_world_open(&world, 1);
	world.workers[0].waited = 1; /* does not leave */
	reta_target_set(&world.reta_target, 0, 2);
	reta_target_set(&world.reta_target, 200, 2);
	reta_target_set(&world.reta_target, 255, 2);
	too_much(&world, 0);
	assert_int_equal(world.migration.most, 1);
	too_much(&world, 0);
	assert_true(migration_begin(&world.migration, &world.reta));
	assert_false(migration_keeps(&world.migration, &world.reta, 0));
	assert_true(migration_keeps(&world.migration, &world.reta, 200));
}

/* The search for the next bucket continues after the bucket that was too much, wherever it is. */
TEST(test_after_too_much)
{
	static const unsigned buckets[] = {0, 1, 63, 64, 65, 127, 128, 191, 192, 254, 255};

	for (size_t i = 0; i < COUNT(buckets); i++) {
		unsigned alone = buckets[i], behind = (alone + 9) % RETA_SIZE;
		struct migration_world world;

		migration_world_open(&world, 1);
		world.workers[0].waited = 1; /* does not leave */
		reta_target_set(&world.reta_target, alone, 2);
		too_much(&world, alone);
		assert_int_equal(world.migration.next, (alone + 1) % RETA_SIZE);
		reta_target_set(&world.reta_target, behind, 2);
		world.migration.most = 1;
		assert_true(migration_begin(&world.migration, &world.reta));
		assert_false(migration_keeps(&world.migration, &world.reta, alone));
		assert_true(migration_keeps(&world.migration, &world.reta, behind));
		migration_world_close(&world);
	}
}

/* Each step, just before and just after its condition is met. */
TEST(test_steps)
{
	ENDED_BY(migration_world_close) struct migration_world world;
	struct fake_worker *from = &world.workers[0];
	struct migration *migration = &world.migration;

	migration_world_open(&world, 1);
	from->stuck = true;
	migration_world_turn(&world, 32, RETA_SIZE);
	reta_target_set(&world.reta_target, 0, 2);
	assert_true(migration_begin(migration, &world.reta));
	migration_advance(migration);
	assert_int_equal(migration->step, MIGRATION_RING);
	while (from->phase != FAKE_TAKE)
		fake_worker_step(from);
	from->prng.s[0] ^= 1; /* randomly, it might need several turns to empty the ring */
	while (rte_ring_count(from->out) > 0) {
		migration_advance(migration);
		assert_int_equal(migration->step, MIGRATION_RING);
		fake_worker_step(from);
	}
	migration_advance(migration);
	assert_int_equal(migration->step, MIGRATION_TURN);
	while (from->phase != FAKE_END)
		fake_worker_step(from);
	migration_advance(migration);
	assert_int_equal(migration->step, MIGRATION_TURN);
	fake_worker_step(from);
	migration_advance(migration);
	assert_int_equal(migration->step, from->head ? MIGRATION_QUEUE : MIGRATION_LEAVE);
	from->stuck = false;
	while (from->waited != from->left) {
		assert_int_equal(migration->step, MIGRATION_QUEUE);
		fake_worker_step(from);
		if (from->waited != from->left)
			migration_advance(migration);
	}
	migration_advance(migration);
	assert_int_equal(migration->step, MIGRATION_LEAVE);
	while (from->phase != FAKE_END)
		fake_worker_step(from);
	migration_advance(migration);
	assert_int_equal(migration->step, MIGRATION_LEAVE);
	fake_worker_step(from);
	migration_advance(migration);
	assert_int_equal(migration->step, MIGRATION_BACK);
	assert_int_equal(reta_worker(&world.reta, 0), 0);
	migration_world_turn(&world, 0, 1);
	assert_true(migration_is_idle(migration));
	assert_int_equal(reta_worker(&world.reta, 0), 2);
	run_migration_to_end(&world);
}

/* A move of the owner's own sources only waits for the owner's queue. */
TEST(test_own)
{
	ENDED_BY(migration_world_close) struct migration_world world;

	migration_world_open(&world, 1);
	for (unsigned i = 0; i < RETA_SIZE; i++)
		reta_target_set(&world.reta_target, i, MIGRATION_OWNER);
	world.wants = true;
	run_migration_to_end(&world);
	world.workers[MIGRATION_OWNER].stuck = true;
	migration_world_turn(&world, 32, RETA_SIZE);
	reta_target_set(&world.reta_target, 9, 2);
	world.wants = true;
	migration_world_turn(&world, 32, RETA_SIZE);
	assert_int_equal(world.migration.step, MIGRATION_QUEUE);
	assert_int_equal(reta_worker(&world.reta, 9), MIGRATION_OWNER);
	world.workers[MIGRATION_OWNER].stuck = false;
	run_migration_to_end(&world);
	assert_int_equal(reta_worker(&world.reta, 9), 2);
}

/* Without requests no move begins. An owner that stops gets its kept packets back. */
TEST(test_begin_and_flush)
{
	ENDED_BY(migration_world_close) struct migration_world world;
	void *packets[4];

	migration_world_open(&world, 1);
	assert_false(migration_begin(&world.migration, &world.reta));
	assert_false(migration_keeps(&world.migration, &world.reta, 5));
	reta_target_set(&world.reta_target, 5, 3);
	assert_true(migration_begin(&world.migration, &world.reta));
	assert_true(migration_keeps(&world.migration, &world.reta, 5));
	assert_false(migration_keeps(&world.migration, &world.reta, 6));
	assert_false(migration_keeps(&world.migration, NULL, 5));
	for (unsigned i = 0; i < MIGRATION_KEEPS; i++)
		assert_true(migration_keep(&world.migration, &world.packets[i], 5));
	assert_false(migration_keep(&world.migration, &world.packets[0], 5));
	assert_int_equal(migration_flush(&world.migration, packets, 3), 3);
	assert_ptr_equal(packets[2], &world.packets[2]);
	assert_true(migration_keep(&world.migration, &world.packets[MIGRATION_KEEPS], 5));
	for (unsigned i = 3; i <= MIGRATION_KEEPS; i++) {
		assert_int_equal(migration_flush(&world.migration, packets, 1), 1);
		assert_ptr_equal(packets[0], &world.packets[i]);
	}
	assert_int_equal(migration_flush(&world.migration, packets, 4), 0);
}

/* Gives all kept packets, in several calls if needed. Returns their number. */
static unsigned give_all(struct migration_world *world)
{
	void *own[MIGRATION_BURST], *packet;
	unsigned n = 0;

	assert_int_equal(world->migration.step, MIGRATION_GIVE);
	while (!migration_is_idle(&world->migration)) {
		n += migration_give(&world->migration, own, MIGRATION_BURST);
		for (unsigned i = 0; i < MIGRATION_WORKERS; i++)
			while (world->workers[i].out &&
				rte_ring_sc_dequeue(world->workers[i].out, &packet) == 0)
				n++;
	}
	return n;
}

/* Ends the move without waiting for the old worker. */
static void skip_steps(struct migration_world *world)
{
	struct stuck stuck = {.now = 1 << 0};

	world->migration.stuck = &stuck;
	migration_advance(&world->migration);
	world->migration.stuck = NULL;
}

/*
 * The bound of buckets that move together doubles after each move and halves after one that was too
 * much.
 */
TEST(test_most)
{
	static const struct {
		unsigned most, wanted, moving;
		bool off;
		unsigned then;
	} rows[] = {
		{1, 1, 1, false, 2},
		{3, 3, 3, false, 6},
		{3, 4, 3, false, 6},
		{127, 1, 1, false, 254},
		{128, 1, 1, false, 256},
		{256, 256, 256, false, 256},
		{256, 1, 1, true, 1},
		{256, 2, 2, true, 1},
		{256, 3, 3, true, 1},
		{256, 5, 5, true, 2},
		{4, 9, 4, true, 2},
		{256, 256, 256, true, 128},
	};
	const unsigned room = MIGRATION_KEEPS - 64; /* with more, a burst might find no room */

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct migration_world world;
		struct migration *migration = &world.migration;

		migration_world_open(&world, 1);
		for (unsigned b = 0; b < rows[i].wanted; b++)
			reta_target_set(&world.reta_target, b, 2);
		migration->most = rows[i].most;
		assert_true(migration_begin(migration, &world.reta));
		assert_int_equal(migration->n_moving, rows[i].moving);
		for (unsigned k = 0; k < room + rows[i].off; k++)
			assert_true(migration_keep(migration, &world.packets[k], 0));
		migration_advance(migration);
		assert_int_equal(migration->called_off, rows[i].off);
		assert_int_equal(migration->next, rows[i].off && rows[i].moving == 1 ? 1 : 0);
		if (!rows[i].off)
			skip_steps(&world);
		assert_int_equal(give_all(&world), room + rows[i].off);
		assert_int_equal(migration->most, rows[i].then);
		assert_int_equal(migration->moved, rows[i].off ? 0 : rows[i].moving);
		assert_int_equal(reta_worker(&world.reta, 0), rows[i].off ? 0 : 2);
		migration_world_close(&world);
	}
}

/* Buckets of one worker move together. Buckets of another worker move after them. */
TEST(test_from_one_worker)
{
	ENDED_BY(migration_world_close) struct migration_world world;
	struct migration *migration = &world.migration;

	migration_world_open(&world, 1);
	reta_set(&world.reta, 2, 3);
	for (unsigned b = 1; b <= 3; b++)
		reta_target_set(&world.reta_target, b, 2);
	assert_true(migration_begin(migration, &world.reta));
	assert_int_equal(migration->from, 0);
	assert_int_equal(migration->n_moving, 2);
	assert_false(migration_keeps(migration, &world.reta, 2));
	skip_steps(&world);
	assert_int_equal(give_all(&world), 0);
	assert_true(migration_begin(migration, &world.reta));
	assert_int_equal(migration->from, 3);
	assert_true(migration_keeps(migration, &world.reta, 2));
}

/* Kept packets that become the owner's own are returned in order, until it is full. */
TEST(test_gives_own)
{
	static const unsigned given[] = {2, 2, 1, 0};
	ENDED_BY(migration_world_close) struct migration_world world;
	void *own[2];
	unsigned n = 0;

	migration_world_open(&world, 1);
	reta_target_set(&world.reta_target, 0, MIGRATION_OWNER);
	assert_true(migration_begin(&world.migration, &world.reta));
	for (unsigned k = 0; k < 5; k++)
		assert_true(migration_keep(&world.migration, &world.packets[k], 0));
	assert_int_equal(migration_give(&world.migration, own, 2), 0); /* kept packets come first */
	skip_steps(&world);
	migration_call_off(&world.migration); /* has no effect: too late */
	for (size_t i = 0; i < COUNT(given); i++) {
		assert_int_equal(migration_give(&world.migration, own, 2), given[i]);
		for (unsigned k = 0; k < given[i]; k++)
			assert_ptr_equal(own[k], &world.packets[n++]);
		assert_int_equal(migration_is_idle(&world.migration), n == 5);
	}
	migration_call_off(&world.migration); /* has no effect: there is no move */
	assert_true(migration_is_idle(&world.migration));
	assert_int_equal(world.migration.called_off, 0);
	assert_int_equal(world.migration.moved, 1);
}

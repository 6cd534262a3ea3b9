/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The migration test with threads: owner and workers share only the counters that they read.
 */
#include "migration_world.h"

#include <pthread.h>
#include <sched.h>

static bool stop; /* atomics */

static void *fake_worker_thread(void *arg)
{
	struct fake_worker *worker = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED) || worker->phase != FAKE_RELEASE) {
		fake_worker_step(worker);
		if (worker->phase == FAKE_RELEASE && prng_below(&worker->prng, 16) == 0)
			sched_yield();
	}
	return NULL;
}

static bool is_done(const struct migration_world *world)
{
	return world->n_out + world->n_lost == world->n_packets &&
	       migration_is_idle(&world->migration) && !world->wants;
}

static void run_migration_threads(struct migration_world *world)
{
	pthread_t threads[MIGRATION_WORKERS];
	const unsigned most = ROUNDS(MIGRATION_PACKETS);

	for (unsigned i = 0; i < MIGRATION_WORKERS; i++)
		if (i != MIGRATION_OWNER)
			assert_int_equal(pthread_create(&threads[i], NULL, fake_worker_thread,
						 &world->workers[i]),
				0);
	while (world->n_packets < most || !is_done(world)) {
		bool ahead = world->n_packets - world->n_out > world->ahead;

		if (world->n_packets < most && prng_below(&world->prng, 8) == 0)
			migration_world_want(world, 16);
		migration_world_turn(world, world->n_packets < most ? 16 : 0, MIGRATION_SOURCES);
		if (ahead)
			sched_yield();
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < MIGRATION_WORKERS; i++)
		if (i != MIGRATION_OWNER)
			pthread_join(threads[i], NULL);
}

TEST(test_threads)
{
	static struct migration_world world;

	migration_world_open(&world, 1);
	run_migration_threads(&world);
	migration_world_check(&world);
	assert_int_equal(world.n_lost, 0);
	assert_true(world.migration.moved > 0);
	migration_world_close(&world);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The same with threads: what owner and workers read of each other is all that they know.
 */
#include "mover_world.h"

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

static bool is_done(const struct mover_world *world)
{
	return world->n_out + world->n_lost == world->n_packets && mover_is_idle(&world->mover) &&
	       !world->wants;
}

static void run_mover_threads(struct mover_world *world)
{
	pthread_t threads[MOVER_WORKERS];
	const unsigned most = ROUNDS(MOVER_PACKETS);

	for (unsigned i = 0; i < MOVER_WORKERS; i++)
		if (i != MOVER_OWNER)
			assert_int_equal(pthread_create(&threads[i], NULL, fake_worker_thread,
						 &world->workers[i]),
				0);
	while (world->n_packets < most || !is_done(world)) {
		bool ahead = world->n_packets - world->n_out > world->ahead;

		if (world->n_packets < most && prng_below(&world->prng, 8) == 0)
			mover_world_want(world, 16);
		mover_world_turn(world, world->n_packets < most ? 16 : 0, MOVER_SOURCES);
		if (ahead)
			sched_yield();
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < MOVER_WORKERS; i++)
		if (i != MOVER_OWNER)
			pthread_join(threads[i], NULL);
}

static void test_threads(void **state)
{
	static struct mover_world world;

	(void)state;
	mover_world_open(&world, 1);
	run_mover_threads(&world);
	mover_world_check(&world);
	assert_int_equal(world.n_lost, 0);
	assert_true(world.mover.moved > 0);
	mover_world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A worker that waits is woken by each socket and by control, and no wake-up is lost.
 */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sys/socket.h>

#include "base/prng.h"
#include "base/time.h"
#include "rx_wait.h"

#define SOCKETS_MOST 6
#define LONGEST_NS   (3600 * SECOND_NS)
#define SKEW_MOST    256 /* steps of a spin by which a thread comes later than the other */
#define BUDGET_S     3   /* for a test with threads, which are slow on a busy machine */
#define PATIENCE_S   60  /* without a wake-up */

/* Sockets, their other ends, and a wait at the sockets. */
struct waiting {
	struct rx_wait *wait;
	int ours[SOCKETS_MOST], theirs[SOCKETS_MOST];
	unsigned n;
};

static void open_waiting(struct waiting *w, unsigned n)
{
	w->n = n;
	for (unsigned i = 0; i < n; i++) {
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
		w->ours[i] = pair[0];
		w->theirs[i] = pair[1];
	}
	assert_int_equal(rx_wait_create(w->ours, n, LONGEST_NS, &w->wait), 0);
	assert_int_equal(rx_wait_longest(w->wait), LONGEST_NS);
}

static void close_waiting(struct waiting *w)
{
	rx_wait_destroy(w->wait);
	for (unsigned i = 0; i < w->n; i++) {
		close(w->ours[i]);
		close(w->theirs[i]);
	}
}

static bool wait_for(struct waiting *w, uint64_t ns)
{
	rx_wait_announce(w->wait);
	return rx_wait(w->wait, ns);
}

/* Random events before a wait end it, also a long one. Without an event, the time passes. */
static void test_events(void **state)
{
	struct prng prng;

	(void)state;
	prng_seed(&prng, 1);
	for (unsigned round = 0; round < ROUNDS(400); round++) {
		unsigned n = prng_below(&prng, SOCKETS_MOST + 1);
		unsigned packets = (unsigned)(prng_next(&prng) & ((1u << n) - 1));
		bool news = prng_below(&prng, 4) == 0;
		struct waiting w;
		char c = 0;

		packets = prng_below(&prng, 2) ? packets : 0;
		open_waiting(&w, n);
		for (unsigned i = 0; i < n; i++)
			if (packets >> i & 1)
				assert_int_equal(write(w.theirs[i], &c, 1), 1);
		rx_wait_announce(w.wait);
		if (news)
			rx_wait_end(w.wait);
		assert_int_equal(rx_wait_is_announced(w.wait), !news);
		assert_int_equal(rx_wait(w.wait, packets || news ? PATIENCE_S * SECOND_NS : 1),
			!packets && !news);
		assert_false(rx_wait_is_announced(w.wait));
		for (unsigned i = 0; i < n; i++)
			if (packets >> i & 1)
				assert_int_equal(read(w.ours[i], &c, 1), 1);
		assert_true(wait_for(&w, 1)); /* control's call has woken it once */
		close_waiting(&w);
	}
}

/* Without a wait, or after it was cancelled, a call of control has no effect. */
static void test_cancel(void **state)
{
	struct waiting w;

	(void)state;
	assert_int_equal(rx_wait_longest(NULL), 0);
	rx_wait_destroy(NULL);
	open_waiting(&w, 1);
	rx_wait_end(w.wait);
	assert_true(wait_for(&w, 1));
	rx_wait_announce(w.wait);
	rx_wait_cancel(w.wait);
	assert_false(rx_wait_is_announced(w.wait));
	rx_wait_end(w.wait);
	assert_true(wait_for(&w, 1));
	close_waiting(&w);
}

/* A socket that fails would end each wait immediately, so the worker does not wait any more. */
static void test_failure(void **state)
{
	(void)state;
	for (unsigned failed = 0; failed < SOCKETS_MOST; failed++) {
		struct waiting w;

		open_waiting(&w, SOCKETS_MOST);
		assert_true(wait_for(&w, 1));
		close(w.ours[failed]);
		assert_false(wait_for(&w, PATIENCE_S * SECOND_NS));
		assert_int_equal(rx_wait_longest(w.wait), 0);
		w.ours[failed] = dup(w.theirs[failed]);
		close_waiting(&w);
	}
}

/* ---- threads */

static struct {
	struct waiting w;
	unsigned arrived; /* atomics: threads at the start of a round */
	cpu_set_t cpus;   /* CPUs that the process may use */
	bool seen, told;  /* the worker finds the round published; control finds its announcement */
	uint64_t published, taken; /* atomics: written by control; by the worker */
	bool stop;                 /* atomics */
	unsigned waits;            /* the worker's */
} world;

/* Binds the calling thread to one of the CPUs of the process, so that two threads run together. */
static void stay_on_cpu(cpu_set_t *cpus, int n)
{
	cpu_set_t one;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, cpus) || n-- > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		return;
	}
}

static void spin(uint32_t n)
{
	for (; n; n--)
		__asm__ volatile("" ::: "memory");
}

/* Both threads go on together. */
static void meet(unsigned round)
{
	unsigned both = 2 * round;

	__atomic_add_fetch(&world.arrived, 1, __ATOMIC_ACQ_REL);
	for (unsigned spins = 1; __atomic_load_n(&world.arrived, __ATOMIC_ACQUIRE) < both; spins++)
		if (spins % 1024 == 0)
			sched_yield();
}

static void *announce_each_round(void *arg)
{
	struct prng prng;

	(void)arg;
	prng_seed(&prng, 4);
	stay_on_cpu(&world.cpus, 1);
	for (unsigned i = 1; !__atomic_load_n(&world.stop, __ATOMIC_RELAXED); i++) {
		meet(2 * i - 1);
		spin(prng_below(&prng, SKEW_MOST));
		rx_wait_announce(world.w.wait);
		world.seen = __atomic_load_n(&world.published, __ATOMIC_RELAXED) == i;
		meet(2 * i);
		rx_wait_cancel(world.w.wait);
	}
	return NULL;
}

/* If a publication and an announcement are at the same moment, one side sees the other. */
static void test_one_side_sees(void **state)
{
	const unsigned most = ROUNDS(200000);
	unsigned both = 0, round = 0;
	time_t began = time(NULL);
	pthread_t worker;
	struct prng prng;

	(void)state;
	prng_seed(&prng, 5);
	assert_int_equal(sched_getaffinity(0, sizeof(world.cpus), &world.cpus), 0);
	stay_on_cpu(&world.cpus, 0);
	open_waiting(&world.w, 0);
	assert_int_equal(pthread_create(&worker, NULL, announce_each_round, NULL), 0);
	while (!world.stop) {
		bool last = ++round == most || time(NULL) - began > BUDGET_S;

		meet(2 * round - 1);
		spin(prng_below(&prng, SKEW_MOST));
		__atomic_store_n(&world.published, round, __ATOMIC_RELAXED);
		world.told = rx_wait_is_announced(world.w.wait);
		__atomic_store_n(&world.stop, last, __ATOMIC_RELAXED);
		meet(2 * round);
		if (!world.told && !world.seen)
			fail_msg("neither side sees the other in round %u", round);
		both += world.told && world.seen;
	}
	pthread_join(worker, NULL);
	print_message("both sides in %u of %u rounds\n", both, round);
	assert_int_equal(sched_setaffinity(0, sizeof(world.cpus), &world.cpus), 0);
	close_waiting(&world.w);
	world.published = 0;
	world.stop = false;
}

static void *run_worker(void *arg)
{
	struct rx_wait *wait = world.w.wait;
	struct prng prng;

	(void)arg;
	prng_seed(&prng, 3);
	while (!__atomic_load_n(&world.stop, __ATOMIC_RELAXED)) {
		uint64_t taken = __atomic_load_n(&world.published, __ATOMIC_RELAXED);

		__atomic_store_n(&world.taken, taken, __ATOMIC_RELAXED);
		spin(prng_below(&prng, 1u << prng_below(&prng, 13)));
		rx_wait_announce(wait);
		if (__atomic_load_n(&world.published, __ATOMIC_RELAXED) != taken ||
			__atomic_load_n(&world.stop, __ATOMIC_RELAXED)) {
			rx_wait_cancel(wait);
			continue;
		}
		world.waits++;
		assert_false(rx_wait(wait, LONGEST_NS));
	}
	return NULL;
}

static void wake(void)
{
	if (rx_wait_is_announced(world.w.wait))
		rx_wait_end(world.w.wait);
}

static void publish_and_wait(uint64_t n)
{
	time_t began = time(NULL);

	__atomic_store_n(&world.published, n, __ATOMIC_RELAXED);
	wake();
	while (__atomic_load_n(&world.taken, __ATOMIC_RELAXED) != n) {
		if (time(NULL) - began > PATIENCE_S)
			fail_msg(
				"the worker sleeps although control has published %u", (unsigned)n);
		sched_yield();
	}
}

/* Control publishes at any moment of the worker's way into its wait, once for each wait. */
static void test_no_wake_is_lost(void **state)
{
	unsigned rounds = 0;
	time_t began = time(NULL);
	pthread_t worker;
	struct prng prng;

	(void)state;
	prng_seed(&prng, 2);
	open_waiting(&world.w, 2);
	assert_int_equal(pthread_create(&worker, NULL, run_worker, NULL), 0);
	while (rounds < ROUNDS(20000) && time(NULL) - began <= BUDGET_S) {
		spin(prng_below(&prng, 1u << prng_below(&prng, 13)));
		publish_and_wait(++rounds);
	}
	__atomic_store_n(&world.stop, true, __ATOMIC_RELAXED);
	wake();
	pthread_join(worker, NULL);
	print_message("%u waits in %u rounds\n", world.waits, rounds);
	assert_true(world.waits > 0);
	close_waiting(&world.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_one_side_sees),
		cmocka_unit_test(test_no_wake_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Another limit for a shared bucket while workers take from it, who are not waited for: each sees
 * the one or the other, and all together get what both have granted.
 */
#include "check.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>

#include "base/prng.h"
#include "meter/shared_bucket.h"

#define GHZ     UINT64_C(1000000000)
#define WORKERS 3
#define CHANGES ROUNDS(20000)

static struct shared_bucket_profile limit_of(uint64_t bps, uint64_t burst)
{
	struct token_bucket_params params = {.rate_bps = bps, .burst_bytes = burst};
	struct shared_bucket_profile profile;

	assert_int_equal(shared_bucket_profile_init(&profile, &params, WORKERS, 0, GHZ), 0);
	return profile;
}

/* Control may stand still between any two words that it writes: what is in force is whole. */
static void test_halfway(void **state)
{
	struct shared_bucket_profile slow = limit_of(GHZ, 8000), fast = limit_of(8 * GHZ, 9000);
	struct shared_bucket_profile seen, junk = {.start_low = 7, .rate = 7, .burst = 7};
	struct shared_bucket shared;

	(void)state;
	shared_bucket_init(&shared, &slow, 0);
	shared.profiles[1] = junk; /* half of it is written */
	seen = shared_bucket_read(&shared);
	assert_memory_equal(&seen, &slow, sizeof(seen));
	shared.profiles[1] = fast;
	shared.written++;
	shared.profiles[0] = junk;
	seen = shared_bucket_read(&shared);
	assert_memory_equal(&seen, &fast, sizeof(seen));
	shared.profiles[0] = fast;
	shared.written++;
	seen = shared_bucket_read(&shared);
	assert_memory_equal(&seen, &fast, sizeof(seen));
	/* At rest it is in the line that whoever takes has. */
	for (unsigned i = 1; i <= 5; i++) {
		shared_bucket_change(&shared, i & 1 ? &slow : &fast, i);
		assert_int_equal(shared.written, 2 + 2 * i);
		seen = shared.profiles[0];
		assert_true(shared_bucket_profile_equal(&seen, i & 1 ? &slow : &fast));
		assert_memory_equal(&seen, &shared.profiles[1], sizeof(seen));
	}
}

/* A thread that reads limits of which each word says which change it is of. */
struct reader {
	pthread_t thread;
	const struct shared_bucket *shared;
	bool stop;     /* atomics only */
	uint64_t seen; /* likewise: changes */
	uint64_t read, torn;
	uint64_t last; /* change that was seen: never an older one after it */
};

/* The k-th change is at tick k. In the upper bits, so that both halves of the start change. */
#define WORD_SHIFT 34
#define MOST       (UINT64_C(1) << (63 - WORD_SHIFT)) /* beyond this a rate has no room */

static struct shared_bucket_profile numbered(uint64_t k)
{
	return (struct shared_bucket_profile){.rate = k << WORD_SHIFT,
		.burst = k * HASH_GOLDEN >> 16,
		.quantum = (uint32_t)k,
		.least = ~(uint32_t)k};
}

/* What has been granted by tick k: in each tick as many as the change that was last, from 0 on. */
static tokens_t granted_by(uint64_t k)
{
	return (tokens_t)(k * (k - 1) / 2) << WORD_SHIFT;
}

static bool is_whole(const struct shared_bucket_profile *profile)
{
	struct shared_bucket_profile same = numbered(profile->since);
	tokens_t start = (tokens_t)profile->start_high << 64 | profile->start_low;

	return shared_bucket_profile_equal(profile, &same) && start == granted_by(profile->since);
}

static void *reader_thread(void *arg)
{
	struct reader *reader = arg;

	while (!__atomic_load_n(&reader->stop, __ATOMIC_RELAXED)) {
		struct shared_bucket_profile profile = shared_bucket_read(reader->shared);

		reader->torn += !is_whole(&profile) || profile.since < reader->last;
		if (profile.since != reader->last)
			__atomic_fetch_add(&reader->seen, 1, __ATOMIC_RELAXED);
		reader->last = profile.since;
		/* Where there are two CPUs, who changes has none. */
		if (reader->read++ % 1024 == 0)
			sched_yield();
	}
	return NULL;
}

/* Whether each of them has seen so many changes, or been through so many turns. */
static bool all_have(const uint64_t *const *counts, uint64_t many)
{
	for (unsigned i = 0; i < WORKERS; i++)
		if (__atomic_load_n(counts[i], __ATOMIC_RELAXED) < many)
			return false;
	return true;
}

static void test_never_torn(void **state)
{
	struct shared_bucket_profile profile = numbered(0);
	struct reader readers[WORKERS] = {0};
	const uint64_t *seen[WORKERS];
	struct shared_bucket shared;

	(void)state;
	shared_bucket_init(&shared, &profile, 0);
	for (unsigned i = 0; i < WORKERS; i++) {
		readers[i].shared = &shared;
		seen[i] = &readers[i].seen;
		assert_int_equal(
			pthread_create(&readers[i].thread, NULL, reader_thread, &readers[i]), 0);
	}
	for (uint64_t k = 1; k < MOST && (k < CHANGES || !all_have(seen, CHANGES)); k++) {
		profile = numbered(k);
		shared_bucket_change(&shared, &profile, k);
		if (k % 256 == 0)
			sched_yield();
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		__atomic_store_n(&readers[i].stop, true, __ATOMIC_RELAXED);
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
	}
	for (unsigned i = 0; i < WORKERS; i++)
		assert_int_equal(readers[i].torn, 0);
}

/* A thread that takes at whatever time control says it is. */
struct taker {
	pthread_t thread;
	struct shared_bucket *shared;
	const uint64_t *now; /* atomics only */
	uint64_t turns;      /* likewise */
	uint64_t taken;
};

#define THE_END UINT64_MAX

static void *taker_thread(void *arg)
{
	struct taker *taker = arg;
	uint64_t now;

	/* Acquire pairs with the release in play_changes(): the limit of then. */
	while ((now = __atomic_load_n(taker->now, __ATOMIC_ACQUIRE)) != THE_END) {
		taker->taken += shared_bucket_take(taker->shared, now, 1 + taker->turns % 1500);
		if (__atomic_add_fetch(&taker->turns, 1, __ATOMIC_RELAXED) % 256 == 0)
			sched_yield();
	}
	return NULL;
}

/* Limits of all sizes, each for some ticks; returns the tokens that they grant together. */
static tokens_t play_changes(struct shared_bucket *shared, uint64_t seed,
	const uint64_t *const *turns, uint64_t *now, uint64_t *end)
{
	struct shared_bucket_profile profile = shared->profiles[0];
	tokens_t granted = 0;
	struct prng prng;
	uint64_t at = 0;

	prng_seed(&prng, seed);
	for (unsigned i = 0; i < CHANGES || !all_have(turns, CHANGES); i++) {
		uint64_t ticks = prng_below(&prng, 3000);

		granted += (tokens_t)ticks * profile.rate;
		at += ticks;
		profile.rate = prng_next(&prng) >> (6 + prng_below(&prng, 20));
		shared_bucket_change(shared, &profile, at);
		__atomic_store_n(now, at, __ATOMIC_RELEASE);
		if (prng_below(&prng, 64) == 0)
			sched_yield();
	}
	__atomic_store_n(now, THE_END, __ATOMIC_RELEASE);
	*end = at;
	return granted;
}

/* What is there after all of it is what was granted less what was taken: not a unit twice. */
static void test_sum(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		/* A burst that is never full, so that nothing runs over. */
		struct shared_bucket_profile profile = limit_of(8 * GHZ, UINT64_C(1) << 38);
		uint64_t now = 0, end, left, taken = 0, grants;
		struct taker takers[WORKERS];
		const uint64_t *turns[WORKERS];
		struct shared_bucket shared;
		tokens_t granted;

		profile.quantum = 1000;
		shared_bucket_init(&shared, &profile, 0);
		shared_bucket_spend(&shared);
		for (unsigned i = 0; i < WORKERS; i++) {
			takers[i] = (struct taker){.shared = &shared, .now = &now};
			turns[i] = &takers[i].turns;
			assert_int_equal(
				pthread_create(&takers[i].thread, NULL, taker_thread, &takers[i]),
				0);
		}
		granted = play_changes(&shared, seed, turns, &now, &end);
		for (unsigned i = 0; i < WORKERS; i++) {
			assert_int_equal(pthread_join(takers[i].thread, NULL), 0);
			taken += takers[i].taken;
		}
		assert_true(taken > 0);
		left = (shared_bucket_time(&shared, end) - shared.state.allow_at) >> GCRA_SHIFT;
		grants = (uint64_t)(granted >> TOKEN_SHIFT);
		if (taken + left != grants)
			fail_msg("seed %" PRIu64 ": %" PRIu64 " and %" PRIu64 " left of %" PRIu64,
				seed, taken, left, grants);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_halfway),
		cmocka_unit_test(test_never_torn),
		cmocka_unit_test(test_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

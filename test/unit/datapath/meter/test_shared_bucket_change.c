/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Changes of a shared bucket's limit while workers take from it, without waiting for them. Each
 * worker sees the old or the new limit, and all together get the grants of both.
 */
#include "check.h"

#include <pthread.h>
#include <sched.h>

#include "base/prng.h"
#include "meter/shared_bucket.h"

#define WORKERS 3
#define CHANGES ROUNDS(20000)

static struct shared_bucket_profile limit_of(uint64_t bps, uint64_t burst)
{
	struct token_bucket_params params = {.rate_bps = bps, .burst_bytes = burst};
	struct shared_bucket_profile profile;

	assert_int_equal(shared_bucket_profile_init(&profile, &params, WORKERS, 0, GHZ), 0);
	return profile;
}

/* Control can stall between any two words that it writes. Readers always see a complete limit. */
TEST(test_halfway)
{
	struct shared_bucket_profile slow = limit_of(GHZ, 8000), fast = limit_of(8 * GHZ, 9000);
	struct shared_bucket_profile seen, junk = {.start_low = 7, .rate = 7, .burst = 7};
	struct shared_bucket shared;

	shared_bucket_init(&shared, &slow, 0);
	shared.profiles[1] = junk; /* partly written */
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
	/* Between changes the limit is in the same cache line as the state. */
	for (unsigned i = 1; i <= 5; i++) {
		shared_bucket_change(&shared, i & 1 ? &slow : &fast, i);
		assert_int_equal(shared.written, 2 + 2 * i);
		seen = shared.profiles[0];
		assert_true(shared_bucket_profile_equal(&seen, i & 1 ? &slow : &fast));
		assert_memory_equal(&seen, &shared.profiles[1], sizeof(seen));
	}
}

/* A thread that reads limits. Each word of a limit identifies its change. */
struct reader {
	pthread_t thread;
	const struct shared_bucket *shared;
	bool stop;     /* atomics only */
	uint64_t seen; /* number of changes; atomics only */
	uint64_t read, torn;
	uint64_t last; /* newest change seen: no older one follows */
};

/*
 * The k-th change is at tick k. Values are in the upper bits, so that both halves of the start
 * change.
 */
#define WORD_SHIFT 34
#define MOST       (UINT64_C(1) << (63 - WORD_SHIFT)) /* a rate cannot hold more */

static struct shared_bucket_profile numbered(uint64_t k)
{
	return (struct shared_bucket_profile){.rate = k << WORD_SHIFT,
		.burst = k * HASH_GOLDEN >> 16,
		.quantum = (uint32_t)k,
		.least = ~(uint32_t)k};
}

/*
 * Returns the units granted by tick k. Each tick grants as many as the number of the last change,
 * from 0 on.
 */
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
		/* With only two CPUs the changing thread would have none. */
		if (reader->read++ % 1024 == 0)
			sched_yield();
	}
	return NULL;
}

/* Returns true if each thread has seen this many changes, or had this many turns. */
static bool all_have(const uint64_t *const *counts, uint64_t many)
{
	for (unsigned i = 0; i < WORKERS; i++)
		if (__atomic_load_n(counts[i], __ATOMIC_RELAXED) < many)
			return false;
	return true;
}

TEST(test_never_torn)
{
	struct shared_bucket_profile profile = numbered(0);
	struct reader readers[WORKERS] = {0};
	const uint64_t *seen[WORKERS];
	struct shared_bucket shared;

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

/* A thread that takes at the time that control sets. */
struct taker {
	pthread_t thread;
	struct shared_bucket *shared;
	const uint64_t *now; /* atomics only */
	uint64_t turns;      /* atomics only */
	uint64_t taken;
};

#define THE_END UINT64_MAX

static void *taker_thread(void *arg)
{
	struct taker *taker = arg;
	uint64_t now;

	/*
	 * Acquire pairs with the release in play_changes(), so that the limit is the one of that
	 * time.
	 */
	while ((now = __atomic_load_n(taker->now, __ATOMIC_ACQUIRE)) != THE_END) {
		taker->taken += shared_bucket_take(taker->shared, now, 1 + taker->turns % 1500);
		if (__atomic_add_fetch(&taker->turns, 1, __ATOMIC_RELAXED) % 256 == 0)
			sched_yield();
	}
	return NULL;
}

/* Sets limits of all sizes, each for some ticks. Returns the tokens that they grant together. */
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

/* The final level is the granted units less the taken ones: no unit is taken twice. */
TEST(test_sum)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		/* The burst is never full, so that no token is lost. */
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

/* Returns the tokens at a tick, in virtual time, less the booked ones. */
static int64_t tokens_at(const struct shared_bucket *shared, uint64_t tick)
{
	struct shared_bucket_profile profile = shared_bucket_read(shared);
	struct gcra_profile limit = shared_bucket_limit(&profile);
	struct gcra_now instant = gcra_now(&limit, tick);

	return gcra_tokens(&shared->state, &instant);
}

/* A bucket with these tokens in virtual time at `now`, whose limit starts at `since`. */
static void shared_bucket_hold(struct shared_bucket *shared, struct shared_bucket_profile profile,
	uint64_t since, int64_t tokens, uint64_t now)
{
	profile.since = since;
	shared_bucket_init(shared, &profile, now);
	shared->state.allow_at = shared_bucket_time(shared, now) - (uint64_t)tokens;
	assert_int_equal(tokens_at(shared, now), tokens);
}

/* A copy has the limit in force, for each state of the original and any content of its memory. */
TEST(test_copied)
{
	struct shared_bucket_profile slow = limit_of(GHZ, 8000), fast = limit_of(8 * GHZ, 9000);
	struct shared_bucket shared, copy;

	for (unsigned written = 0; written < 4; written++) {
		shared_bucket_init(&shared, &slow, 0);
		shared.profiles[(written & 1) ^ 1] = fast;
		shared.profiles[written & 1] = slow;
		shared.written = written;
		memset(&copy, 0xa5, sizeof(copy));
		shared_bucket_copy(&shared, &copy);
		assert_int_equal(copy.state.allow_at, shared.state.allow_at);
		assert_int_equal(
			shared_bucket_level(&copy, 100), shared_bucket_level(&shared, 100));
		slow.since = shared_bucket_read(&copy).since;
		assert_true(shared_bucket_profile_equal(&copy.profiles[0], &slow));
		/* The copy can be changed without effect on the original. */
		shared_bucket_change(&copy, &fast, 200);
		assert_true(shared_bucket_profile_equal(&copy.profiles[0], &fast));
		copy.profiles[0] = shared_bucket_read(&shared);
		assert_true(shared_bucket_profile_equal(&copy.profiles[0], &slow));
	}
}

/*
 * shared_bucket_has() returns the tick from which on the tokens are there. One or two ticks earlier
 * they are not.
 */
TEST(test_has)
{
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned i = 0; i < ROUNDS(200000); i++) {
		/* From 256 bit/s to rates of many units of virtual time per tick. */
		struct shared_bucket_profile profile = limit_of(
			256 + (prng_next(&prng) >> (26 + prng_below(&prng, 30))), 1 + i % 20000);
		uint64_t now = prng_next(&prng) >> 1, since = now + 500 - prng_below(&prng, 1000);
		uint64_t from = (int64_t)(since - now) > 0 ? since : now, at;
		int64_t least = (int64_t)(prng_next(&prng) >> (40 + prng_below(&prng, 24)));
		int64_t time = least < (int64_t)profile.burst ? least : (int64_t)profile.burst;
		int64_t lack = (int64_t)prng_below(&prng, i % 2 ? 5 : 1 << 24) - 2;
		bool slow = profile.rate >> (TOKEN_SHIFT - GCRA_SHIFT) == 0;
		struct shared_bucket shared;

		lack = time - lack > (int64_t)profile.burst ? 0 : lack;
		shared_bucket_hold(&shared, profile, since, time - lack, now);
		at = shared_bucket_has(&shared, now, time);
		if ((at == from) != (lack <= 0))
			fail_msg("%u: lacks %" PRId64 " after %" PRIu64 " ticks", i, lack,
				at - from);
		if (lack <= 0)
			continue;
		assert_true(at - from < UINT64_C(1) << 62);
		assert_true(tokens_at(&shared, at) >= time);
		/* Virtual time is cut to its unit, of which some part might already be there. */
		if (at - from >= 2)
			assert_true(tokens_at(&shared, at - 2) < time + slow);
	}
}

TEST(test_has_never)
{
	struct shared_bucket shared;

	shared_bucket_hold(&shared, limit_of(0, 1000), 0, 256, 4000);
	assert_int_equal(shared_bucket_has(&shared, 4000, 256), 4000);
	assert_int_equal(shared_bucket_has(&shared, 4000, 257), 4000 + (UINT64_C(1) << 62));
}

#define NEVER 0
#define NOW   (UINT64_C(1) << 40)

static const struct {
	uint64_t bps;
	int64_t since;   /* ticks after now at which the present limit started or starts */
	int64_t level;   /* units of 1000; negative: booked ahead */
	uint64_t told;   /* ticks before now of the last change, or never */
	uint64_t begins; /* ticks after now, or the next one */
} turns[] = {
	/* Not before all booked tokens are earned; a tick earns a unit. */
	{8 * GHZ, -5000, 1000, NEVER, 0},
	{8 * GHZ, -5000, 1, NEVER, 0},
	{8 * GHZ, -5000, 0, NEVER, 0},
	{8 * GHZ, -5000, -1, NEVER, 1},
	{8 * GHZ, -5000, -500, NEVER, 500},
	{16 * GHZ, -5000, -500, NEVER, 250},
	/* A limit announced 100 ticks ago is first valid for 100 ticks from its start. */
	{8 * GHZ, 50, 0, 100, 150},
	{8 * GHZ, 0, 0, 100, 100},
	{8 * GHZ, -30, 0, 100, 70},
	{8 * GHZ, -99, 0, 100, 1},
	{8 * GHZ, -100, 0, 100, 0},
	{8 * GHZ, 50, -99, 100, 150},
	{8 * GHZ, 50, -200, 100, 250},
	/* But only until the bucket is full; it earns from its start on. */
	{8 * GHZ, 50, 900, 100, 150},
	{8 * GHZ, 50, 901, 100, 149},
	{8 * GHZ, 50, 950, 100, 100},
	{8 * GHZ, 50, 1000, 100, 50},
	{8 * GHZ, -30, 1000, 100, 0},
	/* Without a rate booked tokens are never earned, so the change does not wait for them. */
	{0, -5000, -500, NEVER, 0},
	{0, 50, -500, 100, 150},
	{0, -30, 0, 100, 70},
	{0, 50, 1000, 100, 50},
};

TEST(test_begins)
{
	for (unsigned i = 0; i < COUNT(turns); i++) {
		uint64_t told = turns[i].told ? NOW - turns[i].told : 0, begins;
		struct shared_bucket shared;

		shared_bucket_hold(&shared, limit_of(turns[i].bps, 1000),
			NOW + (uint64_t)turns[i].since, turns[i].level * 256, NOW);
		begins = shared_bucket_begins(&shared, told, NOW) - NOW;
		if (begins - turns[i].begins > 1)
			fail_msg("row %u: after %" PRId64 " ticks", i, (int64_t)begins);
	}
}

/*
 * The change happens then, or at the latest allowed tick. The new limit is an eighth of a unit per
 * tick.
 */
TEST(test_change_begins)
{
	static const uint64_t most[] = {0, 1, 40, 50, 99, 100, 101, 150, 1000};
	struct shared_bucket_profile next = limit_of(GHZ, 1000), seen;

	for (unsigned i = 0; i < COUNT(turns) * 9; i++) {
		unsigned row = i / 9;
		uint64_t told = turns[row].told ? NOW - turns[row].told : 0, ticks = most[i % 9];
		uint64_t begins;
		int64_t tokens, ahead = (int64_t)(ticks * next.rate >> (TOKEN_SHIFT - GCRA_SHIFT));
		struct shared_bucket shared;

		shared_bucket_hold(&shared, limit_of(turns[row].bps, 1000),
			NOW + (uint64_t)turns[row].since, turns[row].level * 256, NOW);
		begins = shared_bucket_begins(&shared, told, NOW);
		begins = begins < NOW + ticks ? begins : NOW + ticks;
		tokens = tokens_at(&shared, begins);
		shared_bucket_change_booked(&shared, &next, &told, ticks, NOW);
		assert_int_equal(told, NOW);
		seen = shared_bucket_read(&shared);
		assert_true(shared_bucket_profile_equal(&seen, &next));
		assert_int_equal(seen.since, begins);
		/* Bookings reach no further ahead than that, at the new rate. */
		if (tokens_at(&shared, begins) != (tokens > -ahead ? tokens : -ahead))
			fail_msg("row %u, %" PRIu64 " ticks", row, ticks);
	}
}

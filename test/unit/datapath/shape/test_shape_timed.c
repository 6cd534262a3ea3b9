/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Timed queues, which set each packet's departure when it arrives: the packets that pass, those
 * that wait, and their departures, compared with an exact bucket.
 */
#include "timed_world.h"
#include "scope.h"

/* A worker with one queue. */
struct one {
	struct shaper *shaper;
	struct shape_queue queue;
	uint64_t hz;
};

static struct token_bucket_profile limit_of(uint64_t bps, uint64_t burst, uint64_t hz)
{
	struct token_bucket_params params = {.rate_bps = bps, .burst_bytes = burst};
	struct token_bucket_profile profile;

	assert_int_equal(token_bucket_profile_init(&profile, &params, hz), 0);
	return profile;
}

static void one_make(
	struct one *one, uint64_t hz, uint64_t bps, uint64_t burst, uint64_t units, uint64_t now)
{
	struct shape_params params = {
		.delay = hz / SHAPE_TIMED_PARTS, .units = units, .timed = true};
	struct token_bucket_profile profile = limit_of(bps, burst, hz);
	size_t bytes = shaper_bytes(100);

	one->hz = hz;
	one->shaper = aligned_alloc(64, bytes);
	assert_non_null(one->shaper);
	memset(one->shaper, 0, bytes);
	shaper_init(one->shaper, hz, 100, now);
	shape_queue_init(&one->queue, &params, &profile, NULL, now);
}

static enum shape_verdict one_arrive(
	struct one *one, struct shape_packet *packet, uint32_t cost, uint64_t now)
{
	return shape_world_arrive(one->shaper, &one->queue, packet, cost, now);
}

static const struct {
	uint64_t hz, bps, burst;
} limits[] = {
	{1000000000, UINT64_C(8000000000), 1500},
	{1000000000, UINT64_C(400000000000), 65536},
	{1000000000, 1000, 2},
	{1000000000, 1000, (UINT64_C(1) << 32) - 2},
	{1000000000, 1000, (UINT64_C(1) << 39) - 1},
	{1000000000, UINT64_C(400000000000), (UINT64_C(1) << 39) - 1},
	{1000000000, UINT64_C(10000000000), 1},
	{1000000000, 333333333, 9000},
	{2500000000, UINT64_C(400000000000), (UINT64_C(1) << 32) - 2},
	{2500000000, 1000, 1500},
	{2500000000, UINT64_C(1000000000), 64000},
	{10000000, 1000, 1500},
	{10000000, UINT64_C(10000000000), 1500},
	{10000000, UINT64_C(10000000000), (UINT64_C(1) << 32) - 2},
};

/* Returns true if this many units pass, in consecutive packets of the largest size. */
static bool passes_all(struct one *one, uint64_t units, uint64_t now)
{
	for (; units > 0;) {
		uint32_t cost = units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
		struct shape_packet packet;

		if (one_arrive(one, &packet, cost, now) != SHAPE_PASSES)
			return false;
		units -= cost;
	}
	return true;
}

/* Exactly the burst passes, immediately and after a long time. */
TEST(test_burst)
{
	for (unsigned i = 0; i < COUNT(limits); i++) {
		for (unsigned k = 0; k < 4; k++) {
			uint64_t burst = limits[i].burst, now = k / 2 ? UINT64_C(1) << 55 : 0;
			struct shape_packet packet;
			struct one one;

			one_make(&one, limits[i].hz, limits[i].bps, burst, 0, 0);
			if (!passes_all(&one, burst, now) ||
				one_arrive(&one, &packet, k % 2, now) ==
					(k % 2 ? SHAPE_PASSES : SHAPE_WAITS))
				fail_msg("row %u, %u", i, k);
			free(one.shaper);
		}
	}
}

/* After a burst, a packet passes at the first tick with its tokens. */
TEST(test_tick)
{
	for (unsigned i = 0; i < COUNT(limits); i++) {
		for (uint64_t cost = 1; cost <= limits[i].burst && cost < UINT32_MAX;
			cost = cost * 3 + 1) {
			uint64_t burst = limits[i].burst, start = cost % 2 ? 0 : -1000 - cost;
			uint64_t rate = (uint64_t)limit_of(limits[i].bps, burst, limits[i].hz).rate;
			tokens_t tokens = (tokens_t)cost << TOKEN_SHIFT;
			uint64_t ticks = (uint64_t)((tokens + rate - 1) / rate);
			bool just = tokens % rate == 0 && rate & (rate - 1);

			for (unsigned k = 0; k < 2; k++) {
				struct shape_packet packet;
				struct one one;

				one_make(&one, limits[i].hz, limits[i].bps, burst, 0, start);
				assert_true(passes_all(&one, burst, start));
				/*
				 * If the tokens are complete exactly at a tick, the next one is
				 * accepted too.
				 */
				assert_int_equal(
					one_arrive(&one, &packet, (uint32_t)cost,
						start + ticks + (k ? just : -1ULL)) == SHAPE_PASSES,
					k == 1);
				free(one.shaper);
			}
		}
	}
}

/*
 * Limits that change faster than waiting packets leave: each passes the units that it granted. The
 * low limit passes nothing in its time that can wait so long. If units are bounded, its few waiting
 * packets leave no room for others.
 */
TEST(test_flaps)
{
	static const uint64_t low[] = {0, 50000, 100000, 200000, 500000, 5000000};
	static struct shape_packet packets[4096];

	for (unsigned i = 0; i < 3 * COUNT(low); i++) {
		uint64_t high = 10000000, step = 50 * MS << i % 3, granted, sent = 0;
		uint64_t bps = low[i / 3], times = 4000 / (step / MS);
		struct one one;

		one_make(&one, GHZ, high, 3000, i % 2 ? 50000 : 0, 0);
		for (uint64_t ms = 0; ms < times * (step / MS); ms++) {
			struct token_bucket_profile limit = profile_of(
				ms / (step / MS) % 2 ? bps : high, 3000);
			struct shape_packet *out[OUT];
			unsigned n;

			if (ms % (step / MS) == 0)
				shape_limit(one.shaper, &one.queue, &limit, ms * MS);
			for (unsigned k = 0; k < 4; k++)
				sent += one_arrive(&one, &packets[(4 * ms + k) % 4096], 1000,
						ms * MS) == SHAPE_PASSES;
			while ((n = shaper_release(one.shaper, ms * MS, out, OUT)) > 0)
				sent += n;
		}
		granted = times * step / 1000 * (high + bps) / 2 / 8000000000;
		if ((i % 2 == 0 && sent * 100 < granted * 70) || sent * 100 > granted * 107)
			fail_msg("%" PRIu64 " bit/s, each %" PRIu64 " ms: %" PRIu64 " of %" PRIu64,
				bps, step / MS, sent, granted);
		free(one.shaper);
	}
}

/* Exactly the configured units can wait, at any rate. */
TEST(test_units)
{
	for (unsigned i = 0; i < COUNT(limits); i++) {
		uint64_t rate = (uint64_t)limit_of(limits[i].bps, 1, limits[i].hz).rate;
		/*
		 * Waiting units are counted in ticks, so this is the smallest difference that is
		 * seen.
		 */
		uint32_t more = (uint32_t)(rate >> TOKEN_SHIFT) + 1;

		for (unsigned k = 0; k < 2; k++) {
			struct shape_packet packets[4];
			struct one one;

			one_make(&one, limits[i].hz, limits[i].bps, limits[i].burst, 3 * more, 0);
			shape_queue_spend(&one.queue);
			assert_int_equal(one_arrive(&one, &packets[0], more, 0), SHAPE_WAITS);
			assert_int_equal(one_arrive(&one, &packets[1], 2 * more + k * more, 0),
				k ? SHAPE_FULL : SHAPE_WAITS);
			/* A refused packet has taken no tokens. */
			assert_int_equal(one_arrive(&one, &packets[2], k ? 2 * more : more, 0),
				k ? SHAPE_WAITS : SHAPE_FULL);
			assert_int_equal(one_arrive(&one, &packets[3], more, 0), SHAPE_FULL);
			free(one.shaper);
		}
	}
}

/*
 * A packet waits at most for the delay and a 64th of it. Changed parameters apply to later packets.
 */
TEST(test_delay)
{
	struct shape_params params = {.delay = 6400, .timed = true};
	struct token_bucket_profile limit = profile_of(8 * GHZ, 1500);
	struct shape_packet packets[5], *out[5];
	ENDED_BY(free_at) struct shaper *shaper = shaper_make(10, 0);
	struct shape_queue queue;

	shape_queue_init(&queue, &params, &limit, NULL, 0);
	shape_queue_spend(&queue);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[0], 6501, 0), SHAPE_FULL);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[0], 6500, 0), SHAPE_WAITS);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[1], 11, 10), SHAPE_FULL);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[1], 10, 10), SHAPE_WAITS);
	params.delay = 12800;
	shape_change(shaper, &queue, &params, 10);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[2], 6501, 10), SHAPE_FULL);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[2], 6500, 10), SHAPE_WAITS);
	params.delay = 64;
	shape_change(shaper, &queue, &params, 10);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[3], 0, 12944), SHAPE_FULL);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[3], 0, 12945), SHAPE_WAITS);
	params.units = 20;
	shape_change(shaper, &queue, &params, 12945);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[4], 0, 12989), SHAPE_FULL);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[4], 0, 12990), SHAPE_WAITS);
	assert_int_equal(shaper_release(shaper, 20 * MS, out, 5), 5);
	assert_int_equal(shape_flush(shaper, &queue, out, 5), 0);
}

/*
 * A limit of nothing: waiting packets leave at their set times, and later ones are refused. When
 * the limit is raised, the bucket has the tokens of the time when the last packet leaves.
 */
TEST(test_closed)
{
	static const int64_t none[] = {0, -1, INT64_MIN + 1, EXACT_RATE_LEAST - 1};
	struct token_bucket_profile again = profile_of(8 * GHZ, 1500);

	for (unsigned i = 0; i < COUNT(none); i++) {
		struct token_bucket_profile limit = {none[i], again.burst};
		struct shape_packet packets[3], *out[3];
		struct one one;

		one_make(&one, GHZ, 8 * GHZ, 1500, 0, 0);
		assert_int_equal(one_arrive(&one, &packets[0], 11500, 0), SHAPE_WAITS);
		shape_limit(one.shaper, &one.queue, &limit, 100);
		for (uint64_t now = 100; now < 30000; now += 100)
			assert_int_equal(one_arrive(&one, &packets[1], now % 3, now), SHAPE_FULL);
		assert_int_equal(shaper_release(one.shaper, 10000, out, 3), 0);
		assert_int_equal(shaper_release(one.shaper, 10000 + SLOT_MAX, out, 3), 1);
		shape_limit(one.shaper, &one.queue, &again, 20000);
		assert_int_equal(one_arrive(&one, &packets[1], 1000, 20000), SHAPE_WAITS);
		assert_int_equal(one.queue.edt.last, 30900); /* closed from 10000 on */
		shape_limit(one.shaper, &one.queue, &limit, 20000);
		shape_limit(one.shaper, &one.queue, &again, 20500);
		assert_int_equal(one_arrive(&one, &packets[2], 10, 20500), SHAPE_WAITS);
		assert_int_equal(one.queue.edt.last, 31410); /* 500 ticks without a limit */
		free(one.shaper);
	}
}

/* The lateness of each released packet is counted, and that of flushed packets is not. */
TEST(test_lateness)
{
	static const uint64_t late[] = {SLOT_MAX, 5000, 100000, 100 * MS};
	struct one one;

	one_make(&one, GHZ, 8 * GHZ, 1, 0, 0);
	for (unsigned i = 0; i < COUNT(late); i++) {
		const struct shaper_counts *counts = shaper_counts(one.shaper);
		uint64_t now = (i + 1) * GHZ;
		unsigned bin = delay_bin(late[i], counts->lateness_unit);
		struct shape_packet packets[2], *out[2];

		assert_int_equal(shaper_release(one.shaper, now, out, 2), 0);
		assert_int_equal(one_arrive(&one, &packets[0], 1, now), SHAPE_PASSES);
		assert_int_equal(one_arrive(&one, &packets[0], 1000, now), SHAPE_WAITS);
		assert_int_equal(one_arrive(&one, &packets[1], 100 * MS, now), SHAPE_WAITS);
		assert_int_equal(counts->lateness.bins[bin], 0);
		assert_int_equal(
			shaper_release(one.shaper, one.queue.edt.last - 100 * MS + late[i], out, 1),
			1);
		assert_int_equal(counts->lateness.bins[bin], 1);
		assert_int_equal(shaper_flush(one.shaper, out, 2), 1);
		assert_int_equal(counts->lateness.bins[bin], 1);
	}
	free(one.shaper);
}

/*
 * A timed and an untimed queue do not delay each other. Packets leave in the order of their
 * departures. Exceptions are the packets of one call and two slots, because a slot is emptied when
 * it is over.
 */
TEST(test_both_kinds)
{
	enum { N = 300 };
	static struct shape_packet packets[2][N];

	for (unsigned room = 1; room < 20; room++) {
		struct shaper *shaper = shaper_make(2 * N, 0);
		struct shape_packet *out[20];
		struct shape_queue queues[2];
		unsigned left[2] = {0};
		uint64_t latest = 0;

		for (unsigned q = 0; q < 2; q++) {
			struct shape_params params = {.delay = 100 * MS, .timed = q};
			struct token_bucket_profile limit = profile_of(8 * GHZ, 1);

			shape_queue_init(&queues[q], &params, &limit, NULL, 0);
			shape_queue_spend(&queues[q]);
			for (unsigned i = 0; i < N; i++)
				assert_int_equal(shape_world_arrive(shaper, &queues[q],
							 &packets[q][i], 1000 + q * 500, 0),
					SHAPE_WAITS);
		}
		while (shaper_waits(shaper)) {
			unsigned n = shaper_release(shaper, 10 * MS, out, room);

			for (unsigned i = 0; i < n; i++) {
				unsigned q = out[i] >= packets[1];
				uint64_t due = ++left[q] * (1000 + q * 500);

				assert_ptr_equal(out[i], &packets[q][left[q] - 1]);
				assert_true(due + 2 * slot_most(GHZ) + room * 1500 > latest);
				latest = due > latest ? due : latest;
			}
		}
		assert_int_equal(left[0] + left[1], 2 * N);
		free(shaper);
	}
}

/* Bursts, random rates and changing limits, compared with exact buckets. */
static void random_world(uint64_t seed, uint32_t most, bool changes)
{
	static struct world w;

	world_make(&w, seed, most);
	for (unsigned step = 0; step < STEPS; step++) {
		world_tick(&w);
		world_arrivals(&w);
		if (changes && prng_below(&w.prng, 50) == 0)
			world_change(&w);
		if (prng_below(&w.prng, 3))
			world_release(&w, 1 + prng_below(&w.prng, 4));
		if (prng_below(&w.prng, 8) == 0)
			world_release_all(&w);
		if (step % 16 == 0)
			world_check(&w);
	}
	world_drain(&w);
	/* Each outcome occurred several times. */
	if (w.passed < STEPS / 100 || w.full < STEPS / 100 || w.released < STEPS / 100 ||
		(most < 10 && w.pool_full == 0))
		world_fail(&w, "%u have waited, %u passed, %u not", w.released, w.passed, w.full);
	world_free(&w);
}

TEST(test_exact)
{
	for (uint64_t seed = 1; seed <= ROUNDS(400); seed++)
		random_world(seed, STEPS * BATCH, false);
}

TEST(test_limits)
{
	for (uint64_t seed = 1; seed <= ROUNDS(400); seed++)
		random_world(seed, STEPS * BATCH, true);
}

TEST(test_pool_full)
{
	for (uint64_t seed = 1; seed <= ROUNDS(200); seed++)
		random_world(seed, 1 + seed % 20, seed % 2);
}

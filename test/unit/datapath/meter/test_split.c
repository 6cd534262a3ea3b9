/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include <pthread.h>

#include "base/prng.h"
#include "split_world.h"

#define FRAME 9000 /* jumbo frames, bytes */
#define MTU   1500

static struct shared_bucket_profile profile_of_frames(
	uint64_t bps, uint64_t burst, unsigned n, uint32_t frame)
{
	struct token_bucket_params params = {.rate_bps = bps, .burst_bytes = burst};
	struct shared_bucket_profile profile;

	assert_int_equal(shared_bucket_profile_init(&profile, &params, n, frame, GHZ), 0);
	return profile;
}

static struct shared_bucket_profile profile_of(uint64_t bps, uint64_t burst, unsigned n)
{
	return profile_of_frames(bps, burst, n, FRAME);
}

TEST(test_shared_bucket_profiles)
{
	static const struct {
		uint64_t bps, burst;
		unsigned n;
		uint32_t frame;
		uint64_t quantum, least;
	} cases[] = {
		{1000000, FRAME - 1, 8, FRAME, 0, 0}, /* cannot be divided */
		{1000000, FRAME, 8, FRAME, 0, 0}, {1000000, FRAME + 16 * 8 - 1, 8, FRAME, 0, 0},
		{1000000, FRAME + 16 * 8, 8, FRAME, 1, 1},
		{1000000, FRAME + 16 * 1000, 1, FRAME, 1000, 1},
		{8000000, 1 << 20, 1, FRAME, SHARED_BUCKET_QUANTUM, 10},
		{8 * GHZ, 1 << 24, 2, FRAME, 10000, 10000},
		{8 * GHZ, FRAME + 16 * 5000 * 2, 2, FRAME, 5000, 5000},
		{1000000, 6 * MTU, 2, MTU, 5 * MTU / 32, 1}, /* a small burst, measured in frames */
		{1000000, 6 * MTU, 2, 6 * MTU, 0, 0},
		{1000000, 6 * MTU, 2, 0, 0, 0}, /* counts packets */
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct shared_bucket_profile p = profile_of_frames(
			cases[i].bps, cases[i].burst, cases[i].n, cases[i].frame);

		assert_int_equal(p.quantum, cases[i].quantum);
		assert_int_equal(p.least, cases[i].least);
		assert_int_equal(
			p.burst >> GCRA_SHIFT, cases[i].burst - cases[i].n * cases[i].quantum);
		if (cases[i].burst >= cases[i].frame)
			assert_true(p.burst >> GCRA_SHIFT >= cases[i].frame);
	}
}

TEST(test_shared_bucket_out_of_range)
{
	struct token_bucket_params fast = {.rate_bps = 2000 * GHZ, .burst_bytes = 1 << 20};
	struct token_bucket_params deep = {
		.rate_bps = 8000, .burst_bytes = TOKEN_BUCKET_MAX_BURST * 2};
	struct token_bucket_params packets = {.rate_bps = 8000, .burst_bytes = 1 << 20};
	struct shared_bucket_profile p;

	assert_int_equal(shared_bucket_profile_init(&p, &fast, 2, FRAME, GHZ), -ERANGE);
	assert_int_equal(shared_bucket_profile_init(&p, &deep, 2, FRAME, GHZ), -ERANGE);
	assert_int_equal(shared_bucket_profile_init(&p, &packets, 2, 0, GHZ), 0);
	assert_int_equal(p.quantum, 0);
	assert_int_equal(p.burst >> GCRA_SHIFT, 1 << 20);
}

/* Without quanta, at 1 byte per tick: packets that just conform or just do not, from any worker. */
TEST(test_shared_bucket_pairs)
{
	struct shared_bucket_profile p = profile_of(8 * GHZ, 1500, 2);
	uint64_t held[2] = {0};
	struct shared_bucket r;

	shared_bucket_init(&r, &p, 1000);
	assert_false(shared_bucket_conforms(&r, &held[0], 1000, 1501));
	assert_true(shared_bucket_conforms(&r, &held[0], 1000, 1000));
	assert_false(shared_bucket_conforms(&r, &held[1], 1000, 501));
	assert_true(shared_bucket_conforms(&r, &held[1], 1000, 500));
	assert_false(shared_bucket_conforms(&r, &held[0], 1000, 1));
	assert_true(shared_bucket_conforms(&r, &held[0], 1000, 0));
	assert_false(shared_bucket_conforms(&r, &held[0], 1099, 100));
	assert_true(shared_bucket_conforms(&r, &held[1], 1100, 100));
	/* A worker whose clock is behind finds no tokens, and takes none back. */
	assert_false(shared_bucket_conforms(&r, &held[0], 1050, 1));
	assert_true(shared_bucket_conforms(&r, &held[0], 1101, 1));
	assert_int_equal(held[0] + held[1], 0);
}

/* The first packet takes a quantum with it, if there is one. */
TEST(test_shared_bucket_quanta)
{
	struct shared_bucket_profile p = profile_of(8 * GHZ, 1 << 24, 2);
	uint64_t left = (p.burst >> GCRA_SHIFT) - 11500;
	struct shared_bucket r;

	assert_int_equal(p.quantum, 10000);
	shared_bucket_init(&r, &p, 0);
	assert_int_equal(shared_bucket_take(&r, 0, 1500), 11500);
	r.profiles[0].least = 0;
	assert_int_equal(shared_bucket_take(&r, 0, left + 1), 0);
	assert_int_equal(shared_bucket_take(&r, 0, left - 5000), left);
	assert_int_equal(shared_bucket_take(&r, 1499, 1500), 0);
	assert_int_equal(shared_bucket_take(&r, 1501, 1500), 1501);
}

/* Returns the grants of 1000 requests for 1500 bytes, each when the bucket has this many tokens. */
static unsigned grants_of(uint64_t tokens)
{
	struct shared_bucket_profile p = profile_of(8 * GHZ, 1 << 24, 2);
	unsigned grants = 0;
	struct shared_bucket r;

	shared_bucket_init(&r, &p, 0);
	for (unsigned i = 1; i <= 1000; i++) {
		uint64_t now = i * 12345;

		r.state.allow_at = (now - tokens) << GCRA_SHIFT;
		grants += shared_bucket_take(&r, now, 1500) > 0;
	}
	return grants;
}

/*
 * With too few tokens for the packet no request is granted, with a quantum more each is, and in
 * between some are at random.
 */
TEST(test_shared_bucket_lots)
{
	assert_int_equal(grants_of(1499), 0);
	assert_in_range(grants_of(1500 + 10000 / 4), 240, 260);
	assert_in_range(grants_of(1500 + 10000 / 2), 490, 510);
	assert_int_equal(grants_of(1500 + 10000), 1000);
}

/* Tokens stay over a change of limit. The old rate is valid before it, and the new one after. */
TEST(test_shared_bucket_succession)
{
	struct shared_bucket_profile slow = profile_of(GHZ, 8000, 2),
				     fast = profile_of(8 * GHZ, 8000, 2);
	struct shared_bucket r;

	shared_bucket_init(&r, &slow, 0);
	assert_int_equal(shared_bucket_take(&r, 0, 8000), 8000);
	assert_false(shared_bucket_profile_equal(&slow, &fast));
	shared_bucket_change(&r, &fast, 8000);
	assert_true(shared_bucket_profile_equal(&r.profiles[0], &fast));
	assert_int_equal(shared_bucket_take(&r, 9000, 2001), 0);
	assert_int_equal(shared_bucket_take(&r, 9000, 2000), 2000);
	/* Back to the old limit. */
	assert_int_equal(shared_bucket_take(&r, 9000, 1), 0);
	assert_int_equal(shared_bucket_take(&r, 9001, 2), 0);
	assert_int_equal(shared_bucket_take(&r, 9001, 1), 1);
	shared_bucket_change(&r, &slow, 10001);
	assert_int_equal(shared_bucket_take(&r, 18001, 2001), 0);
	assert_int_equal(shared_bucket_take(&r, 18001, 2000), 2000);
}

/* A larger burst after a long rest finds the tokens that the smaller one could hold. */
TEST(test_shared_bucket_raised)
{
	struct shared_bucket_profile small = profile_of_frames(8 * GHZ, 8000, 2, 0);
	struct shared_bucket_profile large = profile_of_frames(8 * GHZ, 16000, 2, 0);
	struct shared_bucket r;

	shared_bucket_init(&r, &small, 0);
	shared_bucket_change(&r, &large, 1000000);
	assert_int_equal(shared_bucket_take(&r, 1000000, 8001), 0);
	assert_int_equal(shared_bucket_take(&r, 1000000, 8000), 8000);
}

/* Returns the ticks of 1 GHz until all booked tokens of a shared bucket are earned. */
static uint64_t booked_for(struct shared_bucket *shared, uint64_t now)
{
	struct shared_bucket_booking booking;

	if (!shared_bucket_book_within(shared, now, now, 0, GHZ * 100, GHZ * 100, &booking))
		return UINT64_MAX;
	return booking.from - now +
	       (uint64_t)(((tokens_t)booking.lack << (TOKEN_SHIFT - GCRA_SHIFT)) /
			  (booking.rate ? booking.rate : 1));
}

/*
 * Booked tokens take as long at another rate, up or down, as at their own. Bookings beyond the
 * maximum at the change take no longer than that maximum.
 */
TEST(test_shared_bucket_booked)
{
	static const struct {
		uint64_t from_bps, to_bps, ticks, after;
	} rows[] = {
		{1000000000, 1000000, GHZ / 10, GHZ / 10},
		{1000000, 1000000000, GHZ / 10, GHZ / 10},
		{8000000, 7999999, GHZ / 10, GHZ / 10},
		{10000000000, 100000, GHZ / 10, GHZ / 10},
		{1000000000, 1000000, 2 * GHZ, GHZ / 4}, /* the maximum is a quarter of a second */
		{1000000, 1000000000, 2 * GHZ, GHZ / 4 + 7 * GHZ / 4000},
		{1000000000, 1000000, 0, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct shared_bucket_profile from = profile_of(rows[i].from_bps, 0, 2);
		struct shared_bucket_profile to = profile_of(rows[i].to_bps, 0, 2);
		struct shared_bucket r;
		struct shared_bucket_booking booking;
		uint64_t told = 0;
		uint64_t need = rows[i].ticks * (rows[i].from_bps / 8) / GHZ;

		shared_bucket_init(&r, &from, 0);
		shared_bucket_spend(&r);
		assert_true(
			shared_bucket_book_within(&r, 0, 0, need, 10 * GHZ, 10 * GHZ, &booking));
		assert_near((double)booked_for(&r, 0), (double)rows[i].ticks, GHZ / 1e3);
		shared_bucket_change_booked(&r, &to, &told, GHZ / 4, 0);
		assert_near((double)booked_for(&r, 0), (double)rows[i].after, GHZ / 1e3);
	}
}

TEST(test_shared_bucket_clock_behind)
{
	struct shared_bucket_profile p = profile_of(8 * GHZ, 8000, 2);
	const uint64_t now = UINT64_C(1) << 50, second = UINT64_C(1) << SHARED_BUCKET_SECOND;
	struct shared_bucket r;

	shared_bucket_init(&r, &p, 0);
	assert_int_equal(shared_bucket_take(&r, now, 8000), 8000);
	assert_int_equal(shared_bucket_take(&r, now - 1, 1), 0);
	assert_int_equal(shared_bucket_take(&r, now - second, 1), 0);
	assert_int_equal(shared_bucket_take(&r, now - second - 1, 8000), 8000);
}

/*
 * The smallest usual burst, and small packets below the limit: the shared line is written for one
 * in five of them. The largest packet passes whenever it would through one full bucket.
 */
TEST(test_shared_bucket_small)
{
	struct shared_bucket_profile p = profile_of_frames(8 * GHZ, 6 * MTU, 2, MTU);
	uint64_t held[2] = {0}, now = 0, before;
	unsigned takes = 0;
	struct shared_bucket r;

	shared_bucket_init(&r, &p, 0);
	for (unsigned i = 0; i < 10000; i++) {
		before = r.state.allow_at;
		now += 50;
		assert_true(shared_bucket_conforms(&r, &held[i & 1], now, 40));
		takes += r.state.allow_at != before;
	}
	assert_in_range(takes, 1, 10000 / 5);
	for (unsigned i = 0; i < 100; i++) {
		now += 6 * MTU;
		assert_true(shared_bucket_conforms(&r, &held[i & 1], now, MTU));
	}
	assert_false(shared_bucket_conforms(&r, &held[0], now, 6 * MTU));
}

/* Random loads on random workers never pass more than one bucket (r, b) would. */
TEST(test_shared_bucket_bound)
{
	const uint64_t seed = 7;
	struct prng prng;

	prng_seed(&prng, seed);
	for (unsigned round = 0; round < 200; round++) {
		uint32_t frame = prng_below(&prng, 2) ? MTU : FRAME;
		uint64_t burst = frame + (prng_below(&prng, 2000000) >> prng_below(&prng, 12));
		uint64_t now = 0, held[8] = {0};
		unsigned n = 1 + prng_below(&prng, 8);
		struct shared_bucket_profile p = profile_of_frames(8 * GHZ, burst, n, frame);
		struct shared_bucket r;
		double fill = 0;

		shared_bucket_init(&r, &p, 0);
		for (unsigned i = 0; i < 5000; i++) {
			uint32_t bytes = 1 + prng_below(&prng, frame);
			uint32_t gap = prng_below(&prng, i % 1000 < 900 ? 2000 : 200000);

			now += gap;
			fill = fmax(fill - gap, 0);
			if (shared_bucket_conforms(&r, &held[prng_below(&prng, n)], now, bytes))
				fill += bytes;
			if (fill > (double)burst + 1)
				fail_msg("seed %lu, round %u: %.0f of %lu", seed, round, fill,
					burst);
		}
		for (unsigned w = 0; w < n; w++)
			assert_true(held[w] <= p.quantum);
	}
}

struct taker {
	pthread_t thread;
	struct shared_bucket *shared;
	uint64_t taken;
};

static void *take_all(void *arg)
{
	struct taker *taker = arg;

	for (uint64_t now = 0; now < 1000000; now += 10)
		taker->taken += shared_bucket_take(taker->shared, now, 100);
	return NULL;
}

/* Threads that take at the same time get all that the limit grants, and no byte twice. */
TEST(test_shared_bucket_threads)
{
	struct shared_bucket_profile p = profile_of(8 * GHZ, 1 << 20, 4);
	uint64_t depth = p.burst >> GCRA_SHIFT, taken = 0;
	struct taker takers[4];
	struct shared_bucket r;

	p.least = 0;
	shared_bucket_init(&r, &p, 0);
	for (unsigned i = 0; i < 4; i++) {
		takers[i] = (struct taker){.shared = &r};
		assert_int_equal(pthread_create(&takers[i].thread, NULL, take_all, &takers[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(takers[i].thread, NULL), 0);
		taken += takers[i].taken;
	}
	assert_in_range(taken, depth + 1000000 - 100 - 10, depth + 1000000);
}

TEST(test_shares_follow)
{
	struct share shares[4] = {{0}};
	double parts[4], keep = shares_keep(0.005), sum = 0;

	shares_divide(shares, 4, parts); /* no worker has demand */
	for (unsigned i = 0; i < 4; i++)
		assert_near(parts[i], 0.25, 1e-9);
	for (unsigned look = 1; look <= 40; look++) {
		share_look(&shares[0], look * 3000, 0.005, keep);
		share_look(&shares[1], look * 1000, 0.005, keep);
	}
	shares_divide(shares, 4, parts);
	assert_near(parts[0], 0.75 * (1 - SHARES_FLOOR) + SHARES_FLOOR / 4, 1e-9);
	assert_near(parts[1], 0.25 * (1 - SHARES_FLOOR) + SHARES_FLOOR / 4, 1e-9);
	assert_near(parts[2], SHARES_FLOOR / 4, 1e-9); /* never nothing */
	/*
	 * Demand moves to another worker: its part follows gradually, and completely after five
	 * time constants.
	 */
	for (unsigned look = 1; look <= 20; look++) {
		share_look(&shares[0], 120000, 0.005, keep);
		share_look(&shares[1], 40000 + look * 1000, 0.005, keep);
		share_look(&shares[3], look * 3000, 0.005, keep);
		shares_divide(shares, 4, parts);
		if (look == 1)
			assert_near(parts[3], 0.75 * (1 - keep), 0.01);
	}
	assert_near(parts[3], 0.75, 0.02);
	assert_near(parts[0], 0, 0.02);
	for (unsigned i = 0; i < 4; i++)
		sum += parts[i];
	assert_near(sum, 1, 1e-9);
}

/* For any demands, the sum of the parts never exceeds the whole. */
TEST(test_shares_sum)
{
	const uint64_t seed = 11;
	struct share shares[64];
	struct prng prng;

	prng_seed(&prng, seed);
	for (unsigned round = 0; round < 20000; round++) {
		unsigned n = 1 + prng_below(&prng, 64);
		double parts[64], sum = 0;

		for (unsigned i = 0; i < n; i++)
			shares[i].demand = prng_below(&prng, 3) == 0
						   ? 0
						   : exp(60 * prng_unit(&prng) - 20);
		shares_divide(shares, n, parts);
		for (unsigned i = 0; i < n; i++) {
			assert_true(parts[i] > 0);
			sum += parts[i];
		}
		if (sum > 1 || sum < 1 - 1e-12)
			fail_msg("seed %lu, round %u: the sum is 1 + %g", seed, round, sum - 1);
	}
}

static struct world_params world_of(uint64_t bps, uint64_t burst, unsigned n, enum traffic traffic)
{
	return (struct world_params){
		.rate_bps = bps,
		.burst_bytes = burst,
		.workers = n,
		.flows = 32,
		.traffic = traffic,
		.period = WORLD_SECOND / 200,
		.ticks = 4 * WORLD_SECOND,
		.seed = 3,
	};
}

/* Traffic without feedback: throughput within 1 % of the limit, and the bound exactly. */
TEST(test_shared_bucket_as_one_bucket)
{
	static const struct {
		uint64_t bps, burst;
	} limits[] = {{1000000, 9084}, {10000000, 62500}, {100000000, 62500}, {100000000, 625000}};
	struct world_result results[POLICERS];

	for (unsigned t = 0; t < TRAFFIC_TCP; t++)
		for (unsigned i = 0; i < COUNT(limits); i++)
			for (unsigned n = 2; n <= 8; n *= 2) {
				struct world_params p = world_of(
					limits[i].bps, limits[i].burst, n, (enum traffic)t);

				world_run(&p, results);
				assert_near(
					world_lost(&p, results, POLICER_SHARED_BUCKET), 0, 0.01);
				for (unsigned k = 0; k < POLICERS; k++)
					assert_true(
						results[k].depth <= (double)limits[i].burst + 1);
				assert_near(world_jain(&p, &results[POLICER_SHARED_BUCKET]),
					world_jain(&p, &results[POLICER_ONE]), 0.05);
			}
}

/* The throughput of a flow does not depend on the number of packets of its worker. */
TEST(test_shared_bucket_with_an_elephant)
{
	struct world_params p = world_of(10 * GHZ, 6250000, 8, TRAFFIC_ELEPHANT);
	struct world_result results[POLICERS];

	p.ticks /= 8;
	world_run(&p, results);
	assert_true(world_unfair(&p, results, POLICER_SHARED_BUCKET) < 0.05);
}

/* TCP fills the limit through a shared bucket as through one bucket. */
TEST(test_shared_bucket_tcp)
{
	struct world_params p = world_of(100000000, 625000, 8, TRAFFIC_TCP);
	struct world_result results[POLICERS];

	p.ticks *= 4;
	p.flows = 6; /* at least two workers have none */
	world_run(&p, results);
	assert_near(world_lost(&p, results, POLICER_SHARED_BUCKET), 0, 0.01);
	assert_near(world_jain(&p, &results[POLICER_SHARED_BUCKET]),
		world_jain(&p, &results[POLICER_ONE]), 0.05);
	/*
	 * The purpose of the shared bucket: with even parts, those of workers without flows are
	 * lost.
	 */
	assert_true(world_lost(&p, results, POLICER_EVEN) > 0.2);
}

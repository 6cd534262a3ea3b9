/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include "base/prng.h"
#include "meter/token_bucket.h"

static struct token_bucket_profile profile_of(uint64_t bps, uint64_t burst, uint64_t hz)
{
	struct token_bucket_params params = {.rate_bps = bps, .burst_bytes = burst};
	struct token_bucket_profile profile;

	assert_int_equal(token_bucket_profile_init(&profile, &params, hz), 0);
	return profile;
}

TEST(test_params_at_their_limits)
{
	static const struct {
		uint64_t bps, burst, hz;
		int want;
		uint8_t unit_bits;
	} cases[] = {
		{8000, 1500, 5 * GHZ, 0, 0},
		{400 * GHZ, 1 << 20, GHZ, 0, 0},
		{400 * GHZ, 1 << 20, 390625000, -ERANGE, 0}, /* 128 bytes per tick */
		{400 * GHZ, 1 << 20, 390625001, 0, 0},
		{0, 0, GHZ, 0, 0},
		{8000, TOKEN_BUCKET_MAX_BURST, GHZ, 0, 0},
		{8000, TOKEN_BUCKET_MAX_BURST + 1, GHZ, -ERANGE, 0},
		{8000, 1500, 0, -ERANGE, 0},
		{UINT64_MAX, 1500, GHZ, -ERANGE, 0},
		/* Parts of bytes: 2^62 a tick, 2^63, and 2^128, which would overflow to 0. */
		{8000, 1, GHZ, 0, 26},
		{16000, 1, GHZ, -ERANGE, 26},
		{UINT64_C(1) << 49, 1, GHZ, -ERANGE, 26},
		{UINT64_C(1) << 43, 1, GHZ, -ERANGE, 32},
		{1, 1, GHZ, -ERANGE, 33},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct token_bucket_params params = {
			.rate_bps = cases[i].bps,
			.burst_bytes = cases[i].burst,
			.unit_bits = cases[i].unit_bits,
		};
		struct token_bucket_profile profile;

		assert_int_equal(
			token_bucket_profile_init(&profile, &params, cases[i].hz), cases[i].want);
	}
}

/* Packets that just conform or just do not, at 1 byte per tick. */
TEST(test_pairs)
{
	struct token_bucket_profile p = profile_of(8 * GHZ, 1500, GHZ);
	struct token_bucket b = {0};

	token_bucket_init(&b, &p, 1000);
	assert_false(token_bucket_conforms(&b, &p, 1000, 1501));
	assert_true(token_bucket_conforms(&b, &p, 1000, 1500));
	assert_false(token_bucket_conforms(&b, &p, 1000, 1));
	assert_true(token_bucket_conforms(&b, &p, 1000, 0));
	assert_false(token_bucket_conforms(&b, &p, 1099, 100));
	assert_true(token_bucket_conforms(&b, &p, 1100, 100));
	assert_false(token_bucket_conforms(&b, &p, 1100, 1));
	/* A packet that does not conform takes no tokens. */
	assert_false(token_bucket_conforms(&b, &p, 1150, 51));
	assert_true(token_bucket_conforms(&b, &p, 1150, 50));
	/* Never more than the burst. */
	assert_false(token_bucket_conforms(&b, &p, 1000000, 1501));
	assert_true(token_bucket_conforms(&b, &p, 1000000, 1500));
}

TEST(test_clock_that_steps_back)
{
	struct token_bucket_profile p = profile_of(8 * GHZ, 1500, GHZ);
	struct token_bucket b = {0};

	token_bucket_init(&b, &p, 5000);
	assert_true(token_bucket_conforms(&b, &p, 5000, 1500));
	assert_false(token_bucket_conforms(&b, &p, 4000, 1));
	assert_false(token_bucket_conforms(&b, &p, 5000, 1)); /* not credited twice */
	assert_true(token_bucket_conforms(&b, &p, 5001, 1));
}

TEST(test_counter_that_wraps)
{
	struct token_bucket_profile p = profile_of(8 * GHZ, 1500, GHZ);
	struct token_bucket b = {0};

	token_bucket_init(&b, &p, UINT64_MAX - 9);
	assert_true(token_bucket_conforms(&b, &p, UINT64_MAX - 9, 1500));
	assert_true(token_bucket_conforms(&b, &p, 90, 100)); /* 100 ticks later */
	assert_false(token_bucket_conforms(&b, &p, 90, 1));
}

/* A year without a packet overflows no number, and fills the bucket only to its burst. */
TEST(test_long_gap)
{
	struct token_bucket_profile p = profile_of(400 * GHZ, 1 << 20, 5 * GHZ);
	struct token_bucket b = {0};
	uint64_t year = 5 * GHZ * 3600 * 24 * 366;

	token_bucket_init(&b, &p, 1);
	assert_true(token_bucket_conforms(&b, &p, 1, 1 << 20));
	assert_false(token_bucket_conforms(&b, &p, 1 + year, (1 << 20) + 1));
	assert_true(token_bucket_conforms(&b, &p, 1 + year, 1 << 20));
}

/* Returns the bytes that a backlog of equal packets passes in `ticks`, polled at random times. */
static uint64_t backlog_passed(const struct token_bucket_profile *p, uint32_t bytes, uint64_t ticks,
	unsigned polls, struct prng *prng)
{
	struct token_bucket b = {0};
	uint64_t passed = 0, now = 77, end = now + ticks;

	token_bucket_init(&b, p, now);
	while (true) {
		while (token_bucket_conforms(&b, p, now, bytes))
			passed += bytes;
		if (now == end)
			return passed;
		now += 1 + (uint64_t)(prng_unit(prng) * 2 * (double)ticks / polls);
		now = now < end ? now : end;
	}
}

/* Promise 1: at most r·t + b, at least that minus one packet; 1 ppm from 8 kbit/s to 400 Gbit/s. */
TEST(test_exact_over_any_rate)
{
	static const struct {
		uint64_t bps;
		double seconds;
		unsigned polls;
	} cases[] = {
		{8000, 40000, 20000},
		{8001, 40000, 20000},
		{64000, 5000, 20000},
		{9999999, 60, 60000},
		{10000000, 60, 60000},
		{1000000007, 1, 100000},
		{40 * GHZ, 0.1, 100000},
		{400 * GHZ, 0.05, 400000},
	};
	static const uint64_t hz[] = {GHZ, 2500000000, 3693249999};
	struct prng prng;

	prng_seed(&prng, 1);
	for (size_t i = 0; i < COUNT(cases); i++) {
		for (size_t h = 0; h < 3; h++) {
			uint64_t ticks = (uint64_t)(cases[i].seconds * (double)hz[h]);
			uint64_t burst = 200000000; /* never full again: polls can be far apart */
			struct token_bucket_profile p = profile_of(cases[i].bps, burst, hz[h]);
			uint32_t bytes = 64 + prng_below(&prng, 1437);
			tokens_t earned = (tokens_t)cases[i].bps * ticks / hz[h] / 8;
			double most = (double)(uint64_t)earned + (double)burst;
			double got = (double)backlog_passed(
				&p, bytes, ticks, cases[i].polls, &prng);

			assert_true(got <= most + 1);
			assert_true(got >= most - bytes - (double)(uint64_t)earned * 1e-6 - 1);
		}
	}
}

/* Random packets at random times: no window passes more than r·t + b. */
TEST(test_every_window)
{
	enum { N = 600 };
	struct token_bucket_profile p = profile_of(8 * GHZ, 3000, GHZ);
	uint64_t at[N], sum[N + 1] = {0}, now = 0;
	struct token_bucket b = {0};
	struct prng prng;

	prng_seed(&prng, 7);
	token_bucket_init(&b, &p, 0);
	for (int i = 0; i < N; i++) {
		uint32_t bytes = 1 + prng_below(&prng, 1500);

		now += prng_below(&prng, 1000);
		at[i] = now;
		sum[i + 1] = sum[i] + (token_bucket_conforms(&b, &p, now, bytes) ? bytes : 0);
	}
	for (int i = 0; i < N; i++)
		for (int j = i; j < N; j++)
			assert_true(sum[j + 1] - sum[i] <= at[j] - at[i] + 3000);
}

/* Any number of refills gives the same tokens as a single one, at each rate. */
TEST(test_looks_cost_nothing)
{
	const uint64_t seed = 3;
	struct prng prng;

	prng_seed(&prng, seed);
	for (unsigned i = 0; i < 2000; i++) {
		uint64_t bps = 1 + prng_next(&prng) % (UINT64_C(1) << (10 + i % 29)), now = 0;
		struct token_bucket_profile p = profile_of(bps, TOKEN_BUCKET_MAX_BURST, GHZ);
		struct token_bucket often = {0}, once = {0};

		for (unsigned looks = 0; looks < 100; looks++) {
			now += prng_below(&prng, 1 << prng_below(&prng, 20));
			token_bucket_refill(&often, &p, now);
		}
		token_bucket_refill(&once, &p, now);
		if (often.tokens != once.tokens || often.fraction != once.fraction)
			fail_msg("seed %" PRIu64 ", %" PRIu64 " bit/s", seed, bps);
		assert_true(token_bucket_level(&once) == (tokens_t)(uint64_t)p.rate * now);
	}
}

/* The longest gap at the highest rate, and the content of a full bucket of the largest size. */
TEST(test_nothing_overflows)
{
	struct token_bucket_profile p = {
		.rate = INT64_MAX, .burst = TOKEN_BUCKET_MAX_BURST << TOKEN_BYTE};
	struct token_bucket b = {.fraction = (uint64_t)UINT32_MAX << TOKEN_OWNER};

	token_bucket_refill(&b, &p, INT64_MAX);
	assert_true(b.tokens == p.burst && b.fraction == 0);
	token_bucket_refill(&b, &p, UINT64_MAX - 1);
	assert_true(b.tokens == p.burst && b.fraction == 0);
	assert_true(token_bucket_take(&b, UINT32_MAX));
	assert_true(b.tokens == p.burst - ((uint64_t)UINT32_MAX << TOKEN_BYTE));
	token_bucket_refill(&b, &p, UINT64_MAX); /* less than 128 bytes */
	assert_true(b.tokens < p.burst - ((uint64_t)(UINT32_MAX - 128) << TOKEN_BYTE));
	assert_true(token_bucket_level(&b) ==
		    ((tokens_t)(p.burst - ((uint64_t)UINT32_MAX << TOKEN_BYTE)) << TOKEN_FRACTION) +
			    INT64_MAX);
}

/* A carry out of the lower half of the product and the fraction goes into the upper half. */
TEST(test_carry)
{
	struct token_bucket_profile p = {.rate = 0x5555555555555555, .burst = UINT64_C(1) << 62};
	struct token_bucket b = {.fraction = UINT64_C(1) << TOKEN_OWNER};

	token_bucket_refill(&b, &p, 3); /* 2^64 - 1 and 1 */
	assert_true(token_bucket_level(&b) == (tokens_t)1 << 64);
}

/*
 * The short computation of a refill agrees with the long one at its edge. Both keep the owner's
 * bits.
 */
TEST(test_ways_of_a_refill)
{
	static const uint64_t gaps[] = {0, 1, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 33};
	static const uint64_t bursts[] = {1, UINT64_C(1) << 40, UINT64_C(1) << 63};
	const uint64_t seed = 9;
	struct prng prng;

	prng_seed(&prng, seed);
	for (unsigned i = 0; i < 30000; i++) {
		struct token_bucket_profile p = {
			.rate = (int64_t)(prng_next(&prng) >> (1 + i % 63)),
			.burst = bursts[i % 3]};
		struct token_bucket any, b = {.fraction = prng_next(&prng), .last = i};
		uint64_t now = i + gaps[prng_below(&prng, 5)];
		tokens_t level, burst = (tokens_t)p.burst << TOKEN_FRACTION;
		uint32_t owner = token_bucket_owner(&b);

		b.tokens = prng_next(&prng) % p.burst;
		any = b;
		level = token_bucket_level(&b) + (tokens_t)(now - i) * (uint64_t)p.rate;
		token_bucket_refill(&b, &p, now);
		token_bucket_refill_any(&any, &p, now);
		if (token_bucket_level(&b) != (level < burst ? level : burst))
			fail_msg("seed %" PRIu64 ": bucket %u", seed, i);
		assert_memory_equal(&b, &any, sizeof(b));
		assert_int_equal(token_bucket_owner(&b), owner);
		assert_int_equal(b.last, now);
	}
}

/* A full bucket keeps no fraction above its burst. */
TEST(test_full_is_the_burst)
{
	struct token_bucket_profile p = {.rate = 3, .burst = 1};
	struct token_bucket b = {.tokens = 0, .fraction = 0};

	token_bucket_refill(&b, &p, UINT64_C(1) << TOKEN_FRACTION);
	assert_true(b.tokens == 1 && b.fraction == 0);
	b = (struct token_bucket){
		.tokens = 0, .fraction = (uint64_t)(UINT32_MAX - 2) << TOKEN_OWNER};
	token_bucket_refill(&b, &p, 1);
	assert_true(b.tokens == 1 && b.fraction == 0);
}

/* Time before a change is credited at the old rate, and time after it at the new one. */
TEST(test_change)
{
	struct token_bucket_profile slow = profile_of(8 * GHZ / 100, 10000, GHZ), p = slow;
	struct token_bucket_profile fast = profile_of(8 * GHZ, 10000, GHZ);
	struct token_bucket b = {0};

	token_bucket_init(&b, &slow, 0);
	assert_true(token_bucket_conforms(&b, &p, 0, 10000));
	token_bucket_change(&b, &p, &fast, 10000);
	assert_false(token_bucket_conforms(&b, &p, 10500, 100 + 500 + 1));
	assert_true(token_bucket_conforms(&b, &p, 10500, 100 + 500 - 1));
	token_bucket_change(&b, &p, &slow, 15000);
	assert_false(token_bucket_conforms(&b, &p, 15100, 4503));
	assert_true(token_bucket_conforms(&b, &p, 15100, 4502));
	/* A clock that goes back changes the limit and earns nothing. */
	token_bucket_change(&b, &p, &fast, 14000);
	assert_false(token_bucket_conforms(&b, &p, 15100, 1));
	assert_true(token_bucket_conforms(&b, &p, 15101, 1));
}

/* A smaller burst takes effect immediately, and a larger one adds no tokens. */
TEST(test_other_burst)
{
	struct token_bucket_profile large = profile_of(8000, 10000, GHZ), p = large;
	struct token_bucket_profile small = profile_of(8000, 1000, GHZ);
	struct token_bucket b = {0};

	token_bucket_init(&b, &p, 0);
	token_bucket_change(&b, &p, &small, 0);
	token_bucket_change(&b, &p, &large, 0);
	assert_false(token_bucket_conforms(&b, &p, 0, 1001));
	assert_true(token_bucket_conforms(&b, &p, 0, 1000));
}

static struct token_bucket_profile drain_of(uint64_t bps, uint64_t burst)
{
	struct token_bucket_params params = {.burst_bytes = burst, .drain_bps = bps};
	struct token_bucket_profile profile;

	assert_int_equal(token_bucket_profile_init(&profile, &params, GHZ), 0);
	return profile;
}

static bool conforms_drained(struct token_bucket *bucket,
	const struct token_bucket_profile *profile, uint64_t now, uint32_t bytes)
{
	token_bucket_advance(bucket, profile, now);
	return token_bucket_take(bucket, bytes);
}

/* Other takers drain a byte per tick. */
TEST(test_drain)
{
	struct token_bucket_params both = {
		.rate_bps = 8000, .burst_bytes = 1500, .drain_bps = 8000};
	struct token_bucket_profile p = drain_of(8 * GHZ, 1500);
	struct token_bucket b = {0};

	token_bucket_init(&b, &p, 0);
	assert_false(conforms_drained(&b, &p, 500, 1001));
	assert_true(conforms_drained(&b, &p, 500, 600));
	assert_false(conforms_drained(&b, &p, 400, 401)); /* drained tokens do not return */
	assert_true(conforms_drained(&b, &p, 899, 1));
	assert_false(conforms_drained(&b, &p, 900, 1));
	assert_true(conforms_drained(&b, &p, 900, 0));
	/* Down to 0 and not below, over any gap. */
	assert_false(conforms_drained(&b, &p, UINT64_C(1) << 62, 1));
	assert_true(token_bucket_level(&b) == 0);
	assert_int_equal(token_bucket_profile_init(&p, &both, GHZ), -EINVAL);
	both = (struct token_bucket_params){.burst_bytes = 1500, .drain_bps = 400 * GHZ};
	assert_int_equal(token_bucket_profile_init(&p, &both, 390625000), -ERANGE);
}

/* A smaller burst cuts the tokens above it, regardless of the time passed. */
TEST(test_drain_cuts)
{
	static const struct {
		uint64_t now;
		uint32_t left;
	} rows[] = {{0, 400}, {1100, 400}, {1101, 399}, {1500, 0}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct token_bucket_profile p = drain_of(8 * GHZ, 1500),
					    cut = drain_of(8 * GHZ, 400);
		struct token_bucket b = {0};

		token_bucket_init(&b, &p, 0);
		assert_false(conforms_drained(&b, &cut, rows[i].now, rows[i].left + 1));
		assert_true(conforms_drained(&b, &cut, rows[i].now, rows[i].left));
	}
}

/*
 * Tokens at tick 2000 of a bucket with 5000 bytes at 0 and no packets, if the rate changed at tick
 * 1000.
 */
TEST(test_drain_changes)
{
	static const struct {
		int before, after; /* bytes in 10 ticks */
		uint32_t tokens;
	} cases[] = {
		{10, 20, 5000 + 1000 + 2000}, {20, 10, 5000 + 2000 + 1000},
		{20, -10, 5000 + 2000 - 1000}, {-10, 20, 5000 - 1000 + 2000},
		{-10, -20, 5000 - 1000 - 2000}, {-20, -10, 5000 - 2000 - 1000},
		{-10, 0, 5000 - 1000}, {0, -10, 5000 - 1000},
		{100, -10, 10000 - 1000}, /* full in between */
		{-100, 10, 0 + 1000},     /* empty in between */
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct token_bucket_profile p[2];
		struct token_bucket b = {0};

		for (int k = 0; k < 2; k++) {
			int64_t bps = (k ? cases[i].after : cases[i].before) * INT64_C(800000000);

			p[k] = bps < 0 ? drain_of((uint64_t)-bps, 10000)
				       : profile_of((uint64_t)bps, 10000, GHZ);
		}
		token_bucket_init(&b, &p[0], 0);
		assert_true(token_bucket_take(&b, 5000));
		token_bucket_change(&b, &p[0], &p[1], 1000);
		token_bucket_advance(&b, &p[0], 2000);
		/* Rates are rounded up, for earning and for draining. */
		assert_near((double)token_bucket_level(&b) / 0x1p56, cases[i].tokens, 1e-9);
	}
}

/*
 * A clock that is slightly back, like that of another core, earns nothing until it has caught up. A
 * clock that was set back earns from then on, without the time before.
 */
TEST(test_clock_set_back)
{
	const struct token_bucket_params params = {.rate_bps = 8000000, .burst_bytes = 10000};
	static const struct {
		uint64_t last, back, after, tokens;
	} rows[] = {
		{UINT64_C(1) << 50, 1000000, 2000000, 1000}, /* 1 ms back, and 1 ms after it */
		{UINT64_C(1) << 50, UINT64_C(1) << 33, 2000000, 2000},
		{UINT64_C(1) << 50, (UINT64_C(1) << 50) - 5, 2000000, 2000}, /* restarted */
		{UINT64_C(1) << 50, UINT64_C(1) << 49, UINT64_C(10000000000), 10000},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		uint64_t now = rows[i].last - rows[i].back;
		struct token_bucket_profile profile;
		struct token_bucket bucket = {.last = rows[i].last};

		assert_int_equal(
			token_bucket_profile_init(&profile, &params, UINT64_C(1000000000)), 0);
		token_bucket_refill(&bucket, &profile, now);
		assert_int_equal(bucket.tokens, 0);
		token_bucket_refill(&bucket, &profile, now + rows[i].after);
		assert_int_equal(bucket.tokens >> TOKEN_BYTE, rows[i].tokens);
	}
}

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

TEST(test_counter_that_wraps)
{
	struct token_bucket_profile p = profile_of(8 * GHZ, 1500, GHZ);
	struct token_bucket b = {0};

	token_bucket_init(&b, &p, UINT64_MAX - 9);
	assert_true(token_bucket_conforms(&b, &p, UINT64_MAX - 9, 1500));
	assert_true(token_bucket_conforms(&b, &p, 90, 100)); /* 100 ticks later */
	assert_false(token_bucket_conforms(&b, &p, 90, 1));
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

/*
 * The short computation of a refill agrees with the long one at its edge. Both keep the owner's
 * bits.
 */
TEST(test_ways_of_a_refill)
{
	static const uint64_t gaps[] = {
		0, 1, 3, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 33, INT64_MAX};
	static const uint64_t bursts[] = {1, UINT64_C(1) << 40, UINT64_C(1) << 63};
	const uint64_t seed = 9;
	struct prng prng;

	prng_seed(&prng, seed);
	for (unsigned i = 0; i < 30000; i++) {
		struct token_bucket_profile p = {
			.rate = (int64_t)(prng_next(&prng) >> (1 + i % 63)),
			.burst = bursts[i % 3]};
		struct token_bucket any, b = {.fraction = prng_next(&prng), .last = i};
		uint64_t now = i + gaps[prng_below(&prng, COUNT(gaps))];
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

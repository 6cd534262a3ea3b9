/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Loans between shared buckets: drawn takes, loans and gifts change the level by the units that
 * they report, and never beyond the bounds.
 */
#include "check.h"

#include "base/prng.h"
#include "base/time.h"
#include "meter/shared_bucket.h"

#define HZ SECOND_NS

static void start_bucket(struct shared_bucket *bucket, uint64_t bps, uint64_t burst)
{
	struct token_bucket_params params = {.rate_bps = bps, .burst_bytes = burst};
	struct shared_bucket_profile profile;

	assert_int_equal(shared_bucket_profile_init(&profile, &params, 2, 1514, HZ), 0);
	shared_bucket_init(bucket, &profile, 0);
}

TEST(test_lend)
{
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned seed = 0; seed < ROUNDS(200); seed++) {
		struct shared_bucket bucket;
		uint64_t bps = 8000 + prng_within(&prng, 1000000000), now = 0, depth;

		start_bucket(&bucket, bps, 9000 + prng_within(&prng, 1000000));
		depth = bucket.profiles[0].burst >> GCRA_SHIFT;
		for (unsigned k = 0; k < 500; k++) {
			uint64_t keep = prng_within(&prng, depth), most = prng_within(&prng, depth);
			uint64_t level, above;
			struct shared_bucket_loan loan;

			now += prng_within(&prng, HZ / 100);
			level = shared_bucket_level(&bucket, now);
			above = level > keep ? level - keep : 0;
			loan = shared_bucket_lend(&bucket, now, keep, most);
			assert_int_equal(loan.units, above < most ? above : most);
			assert_in_range(depth - level - loan.room, 0, 1);
			assert_int_equal(loan.rate, bucket.profiles[0].rate);
			assert_int_equal(shared_bucket_level(&bucket, now), level - loan.units);
		}
	}
}

TEST(test_give)
{
	struct prng prng;

	prng_seed(&prng, 2);
	for (unsigned seed = 0; seed < ROUNDS(200); seed++) {
		struct shared_bucket bucket;
		uint64_t bps = 8000 + prng_within(&prng, 10000000), now = 0, depth;

		start_bucket(&bucket, bps, 9000 + prng_within(&prng, 1000000));
		depth = bucket.profiles[0].burst >> GCRA_SHIFT;
		for (unsigned k = 0; k < 500; k++) {
			uint64_t most = prng_within(&prng, depth), level, room, given;

			now += prng_within(&prng, HZ / 100);
			(void)shared_bucket_take(&bucket, now, 1 + prng_within(&prng, depth));
			level = shared_bucket_level(&bucket, now);
			given = most;
			assert_true(shared_bucket_give(
				&bucket, shared_bucket_seen(&bucket), now, &given));
			room = depth - level;
			assert_in_range((room < most ? room : most) - given, 0, 1);
			assert_int_equal(shared_bucket_level(&bucket, now), level + given);
		}
	}
}

/* A loan fails if a worker has taken units since the state was read, at any later time. */
TEST(test_give_after_a_take)
{
	struct shared_bucket bucket;
	uint64_t seen, units = 1000;

	start_bucket(&bucket, 8000, 100000);
	assert_true(shared_bucket_take(&bucket, 0, 50000) > 0);
	seen = shared_bucket_seen(&bucket);
	assert_true(shared_bucket_take(&bucket, 0, 10000) > 0);
	assert_false(shared_bucket_give(&bucket, seen, 0, &units));
	units = 1000;
	assert_true(shared_bucket_give(&bucket, shared_bucket_seen(&bucket), 0, &units));
	assert_int_equal(units, 1000);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include "base/prng.h"
#include "police/charge.h"
#include "police/borrow.h"
#include "police/extended.h"

#define FRAME 9000
#define MTU   1500

struct box {
	struct shared_bucket shared;
	struct shared_bucket_profile profile;
	struct policy_state workers[2];
};

/* Earns 1 byte a tick from tick 0. */
static struct box box_of_frames(uint64_t burst, uint32_t frame)
{
	struct token_bucket_params params = {.rate_bps = 8 * GHZ, .burst_bytes = burst};
	struct box box = {0};

	assert_int_equal(shared_bucket_profile_init(&box.profile, &params, 2, frame, GHZ), 0);
	for (unsigned w = 0; w < 2; w++) {
		box.workers[w].limit = police_borrow_profile();
		token_bucket_set_owner(&box.workers[w].bucket,
			police_owner(POLICE_SIMPLE, POLICE_UNSAMPLED, ACCOUNTING_L2));
		police_borrow_init(&box.workers[w], &box.profile);
	}
	return box;
}

static struct box box_of(uint64_t burst)
{
	return box_of_frames(burst, FRAME);
}

static void open_shared_bucket(struct box *box)
{
	shared_bucket_init(&box->shared, &box->profile, 0);
}

static bool lend_passes(struct box *box, unsigned worker, uint64_t now, uint32_t bytes)
{
	police_borrow(&box->workers[worker], &box->shared, bytes, now);
	return police_charge_simple(&box->workers[worker], bytes, now) == VERDICT_PASS;
}

/* A bucket too small for quanta: packets that just conform and just do not, on either worker. */
TEST(test_pairs)
{
	struct box box = box_of(3000);

	open_shared_bucket(&box);
	assert_int_equal(box.profile.quantum, 0);
	assert_false(lend_passes(&box, 0, 0, 3001));
	assert_true(lend_passes(&box, 0, 0, 2000));
	assert_false(lend_passes(&box, 1, 0, 1001));
	assert_true(lend_passes(&box, 1, 0, 1000));
	assert_false(lend_passes(&box, 0, 499, 500));
	assert_true(lend_passes(&box, 1, 500, 500));
	/* Only the shared bucket earns tokens, however long it takes. */
	assert_false(lend_passes(&box, 0, 100000, 3001));
	assert_true(lend_passes(&box, 0, 100000, 3000));
	assert_false(lend_passes(&box, 1, 100000, 1));
	assert_int_equal(box.workers[0].packets, 5);
	assert_int_equal(box.workers[0].dropped_packets, 3);
	assert_int_equal(box.workers[1].bytes - box.workers[1].dropped_bytes, 1500);
}

/*
 * At the start and after a pause the workers together pass a whole burst immediately, like one
 * bucket.
 */
TEST(test_whole_burst)
{
	const uint64_t burst = 1 << 20;
	struct box box = box_of(burst);
	uint64_t passed = 0;

	open_shared_bucket(&box);
	assert_true(box.profile.quantum > 0);
	for (unsigned i = 0; i < 3000; i++)
		passed += lend_passes(&box, i & 1, 0, 1000) ? 1000 : 0;
	assert_in_range(passed, burst - 2 * (1000 + box.profile.least), burst);
}

/* A burst that cannot be borrowed in one call is borrowed packet by packet. */
TEST(test_more_than_there_is)
{
	struct box box = box_of(3000);

	open_shared_bucket(&box);
	assert_false(police_borrow(&box.workers[0], &box.shared, 3500, 0));
	assert_int_equal(box.workers[0].bucket.tokens, 0);
	assert_true(police_borrow(&box.workers[0], &box.shared, 2500, 0));
	assert_true(police_borrow(&box.workers[0], &box.shared, 2500, 0)); /* already has it */
	assert_int_equal(box.workers[0].bucket.tokens >> TOKEN_BYTE, 2500);
	assert_true(lend_passes(&box, 1, 0, 500));
	assert_false(lend_passes(&box, 1, 0, 1));
}

/* Two workers with random loads never pass more than their shared bucket (r, b). */
TEST(test_bound)
{
	const uint64_t seed = 5;
	struct prng prng;

	prng_seed(&prng, seed);
	for (unsigned round = 0; round < 200; round++) {
		uint32_t frame = prng_below(&prng, 2) ? MTU : FRAME;
		uint64_t burst = frame + (prng_below(&prng, 1000000) >> prng_below(&prng, 12));
		struct box box = box_of_frames(burst, frame);
		uint64_t now = 0;
		double fill = 0;

		open_shared_bucket(&box);
		for (unsigned i = 0; i < 3000; i++) {
			uint32_t gap = prng_below(&prng, i % 500 < 450 ? 1000 : 100000);
			uint32_t bytes = 1 + prng_below(&prng, frame);

			now += gap;
			fill = fmax(fill - gap, 0);
			if (lend_passes(&box, prng_below(&prng, 2), now, bytes))
				fill += bytes;
			if (fill > (double)burst + 1)
				fail_msg("seed %lu, round %u: %.0f of %lu", seed, round, fill,
					burst);
		}
	}
}

/* A bucket that starts spent has nothing at first, and later exactly its earnings. */
TEST(test_spent)
{
	const uint64_t burst = 1 << 20;
	struct box box = box_of(burst);
	uint64_t passed = 0;

	open_shared_bucket(&box);
	shared_bucket_spend(&box.shared);
	for (unsigned w = 0; w < 2; w++) {
		token_bucket_set_owner(&box.workers[w].bucket,
			police_owner(POLICE_SIMPLE, POLICE_UNSAMPLED, ACCOUNTING_L2));
		policy_state_spend(&box.workers[w], 0);
		assert_false(lend_passes(&box, w, 0, 1));
	}
	for (uint64_t now = 0; now <= 500000; now += 100)
		passed += lend_passes(&box, now & 1, now, 1000) ? 1000 : 0;
	assert_in_range(passed, 500000 - 2 * (1000 + box.profile.least), 500000);
}

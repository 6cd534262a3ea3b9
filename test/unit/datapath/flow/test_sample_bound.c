/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include "base/prng.h"
#include "flow/sample_bound.h"

#define HZ     UINT64_C(1000000000)
#define PER_S  1000 /* samples allowed; 64 of them make a round */
#define LEAST  (BOUND_ROUND * HZ / PER_S)
#define SEED   UINT64_C(11)
#define RANDOM 0.2 /* largest deviation of the time between two candidates, as a part */

/* The candidates in an interval and how many of them were sampled. */
struct outcome {
	uint64_t candidates, taken;
	uint64_t stood_for;
};

/* Offers per_s candidates a second for this many seconds, from *now on. */
static struct outcome offer_candidates(
	struct sample_bound *bound, struct prng *prng, uint64_t *now, double per_s, double seconds)
{
	uint64_t until = *now + (uint64_t)(seconds * HZ);
	struct outcome outcome = {0};

	while (*now < until) {
		outcome.candidates++;
		if (sample_bound_takes(bound, *now)) {
			outcome.taken++;
			outcome.stood_for += UINT64_C(1) << sample_bound_took(bound, *now);
		}
		*now += (uint64_t)((1 + RANDOM * (2 * prng_unit(prng) - 1)) * HZ / per_s);
	}
	return outcome;
}

/*
 * Below the bound all candidates are sampled; above it their number is bounded. Weights add up to
 * all.
 */
TEST(test_bound)
{
	static const double rates[] = {10, 999 / (1 + RANDOM), 1500, 5000, 100000, 1000000};

	for (unsigned i = 0; i < COUNT(rates); i++) {
		struct sample_bound bound;
		struct outcome outcome;
		struct prng prng;
		uint64_t now = 5;
		double stood_for;

		prng_seed(&prng, SEED);
		sample_bound_init(&bound, PER_S, HZ);
		offer_candidates(&bound, &prng, &now, rates[i], 2);
		outcome = offer_candidates(&bound, &prng, &now, rates[i], 4);
		stood_for = (double)outcome.stood_for / (double)outcome.candidates;
		if (rates[i] < PER_S && outcome.taken != outcome.candidates)
			fail_msg("row %u: left out though below", i);
		/*
		 * A shift that is barely enough is tried and given up again, in at most one round
		 * of five.
		 */
		if ((double)outcome.taken > 1.1 * 4 * PER_S)
			fail_msg("row %u: %u taken", i, (unsigned)outcome.taken);
		if (rates[i] > PER_S && (double)outcome.taken < 4 * PER_S / 4.5)
			fail_msg("row %u: only %u taken", i, (unsigned)outcome.taken);
		if (fabs(stood_for - 1) > 0.03)
			fail_msg("row %u: stood for %f of all", i, stood_for);
	}
}

/* A flood is bounded from its first packets on. Each doubling costs one round. */
TEST(test_flood_is_bounded_at_once)
{
	struct sample_bound bound;
	uint64_t now = 1, taken = 0;

	sample_bound_init(&bound, PER_S, HZ);
	for (unsigned i = 0; i < 100000; i++, now += HZ / 1000000) /* a tenth of a second */
		if (sample_bound_takes(&bound, now)) {
			sample_bound_took(&bound, now);
			taken++;
		}
	assert_in_range(taken, PER_S / 10, PER_S / 10 + BOUND_ROUND * BOUND_SHIFT_MAX);
	assert_int_equal(bound.shift, BOUND_SHIFT_MAX);
}

/* After a flood of others, a policy with few packets is sampled again within a few candidates. */
TEST(test_quiet_after_flood)
{
	struct sample_bound bound = {0};
	uint64_t now = 100 * HZ;

	sample_bound_init(&bound, PER_S, HZ);
	bound.shift = BOUND_SHIFT_MAX;
	bound.began = now;
	/* Barely not: a slow round can take this long. */
	now += 4 * LEAST;
	sample_bound_takes(&bound, now);
	assert_int_equal(bound.shift, BOUND_SHIFT_MAX);
	sample_bound_takes(&bound, now + 1);
	assert_int_equal(bound.shift, BOUND_SHIFT_MAX - 1);
	for (unsigned i = 1; i < BOUND_SHIFT_MAX; i++)
		sample_bound_takes(&bound, now + 1 + i * (4 * LEAST + 1));
	assert_int_equal(bound.shift, 0);
	/* After a long pause the next candidate is enough. */
	bound.shift = BOUND_SHIFT_MAX;
	assert_true(sample_bound_takes(&bound, now + 3600 * HZ));
	assert_int_equal(bound.shift, 0);
}

/* Candidates before a pause belong to another round. */
TEST(test_pause_begins_a_round)
{
	struct sample_bound bound;
	uint64_t now = 4 * LEAST + 1;

	sample_bound_init(&bound, PER_S, HZ);
	for (unsigned i = 1; i < BOUND_ROUND; i++)
		assert_int_equal(sample_bound_took(&bound, 0), 0);
	assert_true(sample_bound_takes(&bound, now));
	for (unsigned i = 1; i < BOUND_ROUND; i++)
		assert_int_equal(sample_bound_took(&bound, now), 0);
	assert_int_equal(bound.shift, 0);
	assert_int_equal(sample_bound_took(&bound, now), 0);
	assert_int_equal(bound.shift, 1);
}

/* Policies whose candidates take turns are all sampled, for any number of policies. */
TEST(test_turns_are_all_seen)
{
	for (unsigned n = 2; n <= 64; n++) {
		uint32_t seen[64] = {0};
		struct sample_bound bound;

		sample_bound_init(&bound, PER_S, HZ);
		bound.shift = 3;
		for (unsigned i = 0; i < n * 800; i++)
			seen[i % n] += sample_bound_takes(&bound, 0);
		for (unsigned i = 0; i < n; i++)
			if (seen[i] < 70 || seen[i] > 130)
				fail_msg("%u of %u: %u of 800, not a hundred", i, n, seen[i]);
	}
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Prepaid units: none passes that was not put in, and none is lost, with any number of takers.
 */
#include "check.h"

#include <pthread.h>

#include "base/prng.h"
#include "meter/meter.h"
#include "datapath/meter/meter_checks.h"

#define ROWS(t) (COUNT(t))

TEST(test_take)
{
	static const struct {
		uint64_t left;
		uint16_t generation, asked_for;
		uint64_t need;
		uint32_t quantum;
		uint64_t taken, wanted;
	} rows[] = {
		{0, 1, 1, 1, 0, 0, 1},
		{1499, 1, 1, 1500, 100, 0, 1500},
		{1500, 1, 1, 1500, 100, 1500, 0},
		{1501, 1, 1, 1500, 100, 1501, 0},
		{1600, 1, 1, 1500, 100, 1600, 0},
		{1601, 1, 1, 1500, 100, 1600, 0},
		{5000, 1, 1, 1500, 0, 1500, 0},
		{5000, 2, 1, 1500, 100, 0, 0}, /* a stale generation: control gets no request */
		{5000, 0, UINT16_MAX, 1500, 100, 0, 0},
		{5000, UINT16_MAX, UINT16_MAX, 1500, 100, 1600, 0},
		{CREDIT_MOST, UINT16_MAX, UINT16_MAX, CREDIT_MOST, 100, CREDIT_MOST, 0},
		{CREDIT_MOST - 1, UINT16_MAX, UINT16_MAX, CREDIT_MOST, 100, 0, CREDIT_MOST},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct credit credit;
		uint64_t taken;

		credit = (struct credit){0};
		credit_turn(&credit, rows[i].generation);
		credit_put(&credit, rows[i].left);
		taken = credit_take(&credit, rows[i].asked_for, rows[i].need, rows[i].quantum);
		if (taken != rows[i].taken || credit_left(&credit) != rows[i].left - taken)
			fail_msg("row %zu: took %" PRIu64, i, taken);
		if (credit_wanted(&credit) != rows[i].wanted || credit_wanted(&credit) != 0)
			fail_msg("row %zu: what is wanted", i);
	}
}

/* Control gets the largest need, once. */
TEST(test_wanted)
{
	struct credit credit;

	credit = (struct credit){0};
	assert_int_equal(credit_take(&credit, 0, 70, 0), 0);
	assert_int_equal(credit_take(&credit, 0, 1500, 0), 0);
	assert_int_equal(credit_take(&credit, 0, 60, 0), 0);
	assert_int_equal(credit_wanted(&credit), 1500);
	assert_int_equal(credit_wanted(&credit), 0);
	assert_int_equal(credit_take(&credit, 0, 60, 0), 0);
	assert_int_equal(credit_wanted(&credit), 60);
}

TEST(test_turn)
{
	struct credit credit;

	credit = (struct credit){0};
	credit_turn(&credit, UINT16_MAX);
	credit_put(&credit, CREDIT_MOST);
	assert_int_equal(credit_turn(&credit, 0), CREDIT_MOST);
	assert_int_equal(credit_left(&credit), 0);
	credit_put(&credit, 10);
	assert_int_equal(credit_take(&credit, UINT16_MAX, 1, 0), 0);
	assert_int_equal(credit_take(&credit, 0, 1, 0), 1);
	assert_int_equal(credit_turn(&credit, 1), 9);
}

/* A fallback of a unit per tick up to 100, or of nothing. */
static struct credit_profile profile_of(uint64_t burst, struct credit *credit, uint32_t quantum)
{
	const struct token_bucket_params params = {
		.rate_bps = burst ? 8 * GHZ : 0, .burst_bytes = burst};
	struct credit_profile profile;

	assert_int_equal(credit_profile_init(&profile, &params, GHZ), 0);
	if (credit)
		credit_profile_join(&profile, credit, 0, quantum);
	return profile;
}

/* Charges the units at the worker first, then those of the credit, then the fallback. */
TEST(test_order)
{
	static const struct {
		uint64_t now;
		uint32_t cost;
		enum credit_verdict verdict;
		uint32_t held;
		uint64_t left;
	} steps[] = {
		{0, 0, CREDIT_PAYS, 0, 1000},
		{0, 60, CREDIT_PAYS, 40, 900},
		{0, 40, CREDIT_PAYS, 0, 900},
		{0, 0, CREDIT_PAYS, 0, 900},
		{0, 700, CREDIT_PAYS, 40, 160},
		{0, 141, CREDIT_PAYS, 40, 19},
		/* A packet too large for all prepaid units is paid completely by the fallback. */
		{0, 60, CREDIT_FALLBACK, 40, 19},
		{0, 60, CREDIT_FALLBACK, 40, 19},
		{0, 59, CREDIT_PAYS, 0, 0},
		{0, 1, CREDIT_REFUSES, 0, 0},
		{20, 21, CREDIT_REFUSES, 0, 0},
		{20, 20, CREDIT_FALLBACK, 0, 0},
		{20, 0, CREDIT_PAYS, 0, 0},
		{500, 101, CREDIT_REFUSES, 0, 0},
		{500, 100, CREDIT_FALLBACK, 0, 0},
	};
	struct credit_profile profile;
	struct credit_cache hand;
	struct credit credit;

	credit = (struct credit){0};
	credit_put(&credit, 1000);
	profile = profile_of(120, &credit, 40);
	credit_cache_init(&hand, &profile, 0);
	for (size_t i = 0; i < ROWS(steps); i++) {
		if (i == 10) /* from now on a burst of 100 */
			profile = profile_of(100, &credit, 40);
		if (credit_charge(&hand, &profile, steps[i].now, steps[i].cost) != steps[i].verdict)
			fail_msg("step %zu: verdict", i);
		if (credit_cache_held(&hand) != steps[i].held ||
			credit_left(&credit) != steps[i].left)
			fail_msg("step %zu: holds %u, left %" PRIu64, i, credit_cache_held(&hand),
				credit_left(&credit));
	}
}

/* Without a fallback nothing passes, however long the pause. */
TEST(test_no_fallback)
{
	struct credit_profile profile = profile_of(0, NULL, 0);
	struct credit_cache hand;

	credit_cache_init(&hand, &profile, 0);
	assert_int_equal(credit_charge(&hand, &profile, UINT64_C(1) << 60, 1), CREDIT_REFUSES);
	assert_int_equal(credit_charge(&hand, &profile, UINT64_C(1) << 60, 0), CREDIT_PAYS);
}

/*
 * When the period changes, the worker uses its units but does not return them. It returns units
 * taken later.
 */
TEST(test_period)
{
	struct credit_profile profile, next;
	struct credit_cache hand;
	struct credit credit;

	credit = (struct credit){0};
	credit_put(&credit, 1000);
	profile = profile_of(0, &credit, 100);
	next = profile;
	next.generation = 1;
	credit_cache_init(&hand, &profile, 0);
	assert_int_equal(credit_charge(&hand, &profile, 0, 50), CREDIT_PAYS);
	assert_int_equal(credit_cache_returns(&hand, &profile, 0), 100);

	assert_int_equal(credit_turn(&credit, 1), 850);
	credit_put(&credit, 500);
	/* Before the worker gets the new profile it uses its own units, and cannot take more. */
	assert_int_equal(credit_charge(&hand, &profile, 0, 10), CREDIT_PAYS);
	assert_int_equal(credit_charge(&hand, &profile, 0, 91), CREDIT_REFUSES);
	credit_cache_change(&hand, &profile, &next, 0);
	assert_int_equal(credit_cache_held(&hand), 90);
	assert_int_equal(credit_cache_returns(&hand, &profile, 1), 0);
	assert_int_equal(credit_charge(&hand, &profile, 0, 20), CREDIT_PAYS);
	assert_int_equal(credit_cache_returns(&hand, &profile, 1), 0);
	/* 70 of the old period, 30 of the new one, and a quantum of the latter. */
	assert_int_equal(credit_charge(&hand, &profile, 0, 100), CREDIT_PAYS);
	assert_int_equal(credit_left(&credit), 370);
	assert_int_equal(credit_cache_returns(&hand, &profile, 1), 100);

	/* Another quantum does not change the units at the worker. */
	next.quantum = 7;
	credit_cache_change(&hand, &profile, &next, 0);
	assert_int_equal(credit_cache_returns(&hand, &profile, 1), 100);
	assert_int_equal(credit_charge(&hand, &profile, 0, 100), CREDIT_PAYS);
	next.generation = 2;
	credit_cache_change(&hand, &profile, &next, 0);
	credit_turn(&credit, 2);
	credit_put(&credit, 60);
	assert_int_equal(credit_charge(&hand, &profile, 0, 50), CREDIT_PAYS);
	assert_int_equal(credit_cache_returns(&hand, &profile, 2), 7);
}

/* The fallback earns at the rate valid at the time, regardless of prepaid units. */
TEST(test_fallback_changes)
{
	const struct meter_params slow = {.kind = METER_CREDIT, .rate_bps = 8 * GHZ, .burst = 100};
	struct meter_params fast = slow;
	union meter_profile profile, next;
	union meter meter = {0};
	struct credit credit;

	fast.rate_bps *= 10;
	assert_int_equal(meter_profile_init(&profile, &slow, GHZ), 0);
	assert_int_equal(meter_profile_init(&next, &fast, GHZ), 0);
	credit = (struct credit){0};
	credit_put(&credit, 33);
	credit_profile_join(&profile.credit, &credit, 0, 33);
	credit_profile_join(&next.credit, &credit, 0, 33);
	meter_init(METER_CREDIT, &meter, &profile, 0, 0);
	assert_true(meter_conforms(METER_CREDIT, &meter, &profile, 0, 3));
	assert_true(meter_conforms(METER_CREDIT, &meter, &profile, 0, 100));
	meter_change(METER_CREDIT, &meter, &profile, &next, 10);
	assert_false(meter_conforms(METER_CREDIT, &meter, &profile, 13, 41));
	assert_true(meter_conforms(METER_CREDIT, &meter, &profile, 13, 40));
	assert_false(meter_idle(METER_CREDIT, &meter, &profile, 1000)); /* 30 are held */
	assert_true(meter_conforms(METER_CREDIT, &meter, &profile, 13, 30));
	assert_true(meter_idle(METER_CREDIT, &meter, &profile, 1000));
}

/* Changes that control must publish to workers. */
TEST(test_news)
{
	union meter_profile profile = {.credit = profile_of(100, NULL, 0)}, next = profile;

	assert_true(meter_profile_equal(METER_CREDIT, &profile, &next));
	next.credit.generation = 1;
	assert_false(meter_profile_equal(METER_CREDIT, &profile, &next));
	next = profile;
	next.credit.quantum = 1;
	assert_false(meter_profile_equal(METER_CREDIT, &profile, &next));
	next = (union meter_profile){.credit = profile_of(101, NULL, 0)};
	assert_false(meter_profile_equal(METER_CREDIT, &profile, &next));
}

/* A worker with packets of all sizes. */
struct taker {
	pthread_t thread;
	struct credit *credit;
	struct prng prng;
	uint64_t paid, held;
	const bool *stop;
};

static void *spend_credit_thread(void *arg)
{
	struct taker *taker = arg;
	struct credit_profile profile = profile_of(0, taker->credit, 1000);
	struct credit_cache hand;

	credit_cache_init(&hand, &profile, 0);
	while (!__atomic_load_n(taker->stop, __ATOMIC_ACQUIRE)) {
		uint32_t cost = 60 + prng_below(&taker->prng, 1455);

		if (credit_charge(&hand, &profile, 0, cost) == CREDIT_PAYS)
			taker->paid += cost;
	}
	/* All units put in by then are there. */
	while (credit_charge(&hand, &profile, 0, 60) == CREDIT_PAYS)
		taker->paid += 60;
	taker->held = credit_cache_returns(&hand, &profile, profile.generation);
	return NULL;
}

/* Several workers, and control that puts in and reads: exact to the unit. */
TEST(test_race)
{
	enum { TAKERS = 3 };
	const uint64_t seed = 3;
	struct taker takers[TAKERS];
	uint64_t put = 0, paid = 0, held = 0;
	struct credit credit;
	struct prng prng;
	bool stop = false;

	prng_seed(&prng, seed);
	credit = (struct credit){0};
	for (unsigned i = 0; i < TAKERS; i++) {
		takers[i] = (struct taker){.credit = &credit, .stop = &stop};
		prng_seed(&takers[i].prng, seed + 1 + i);
		assert_int_equal(
			pthread_create(&takers[i].thread, NULL, spend_credit_thread, &takers[i]),
			0);
	}
	for (unsigned i = 0; i < ROUNDS(200000); i++) {
		uint64_t units = prng_below(&prng, 5000);

		credit_put(&credit, units);
		put += units;
		if (i % 64 == 0)
			credit_wanted(&credit);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < TAKERS; i++) {
		assert_int_equal(pthread_join(takers[i].thread, NULL), 0);
		paid += takers[i].paid;
		held += takers[i].held;
	}
	print_message("%" PRIu64 " units put in, %" PRIu64 " used, %" PRIu64 " held, %" PRIu64
		      " left\n",
		put, paid, held, credit_left(&credit));
	if (paid + held + credit_left(&credit) != put)
		fail_msg("seed %" PRIu64, seed);
	assert_true(credit_left(&credit) < 60); /* no worker found nothing while units were left */
}

/*
 * credit_look() returns the verdict of credit_charge(), takes nothing, and makes the same request.
 */
TEST(test_look)
{
	unsigned seen[CREDIT_FALLBACK + 1] = {0};
	struct prng prng;

	prng_seed(&prng, 7);
	for (unsigned i = 0; i < 20000; i++) {
		const struct token_bucket_params params = {
			.rate_bps = 8000000, .burst_bytes = prng_below(&prng, 3000)};
		uint64_t put = prng_below(&prng, 3000), now = prng_below(&prng, 1000000), wanted;
		uint32_t cost = prng_below(&prng, 1600);
		struct credit_cache hand = {{0}}, copy;
		struct credit credit = {0};
		struct credit_profile profile;
		enum credit_verdict verdict;

		assert_int_equal(credit_profile_init(&profile, &params, GHZ), 0);
		if (prng_below(&prng, 8))
			credit_profile_join(&profile, &credit, (uint16_t)prng_below(&prng, 2),
				prng_below(&prng, 500));
		credit_cache_init(&hand, &profile, 0);
		hand.fallback.tokens = (uint64_t)prng_below(&prng, 3000) << TOKEN_BYTE;
		token_bucket_set_owner(&hand.fallback,
			prng_below(&prng, 1600) | (prng_below(&prng, 2) ? CREDIT_OLD : 0));
		copy = hand;
		credit_put(&credit, put);
		verdict = credit_look(&copy, &profile, now, cost);
		assert_int_equal(credit_left(&credit), put);
		assert_int_equal(
			token_bucket_owner(&copy.fallback), token_bucket_owner(&hand.fallback));
		wanted = credit_wanted(&credit);
		assert_int_equal(credit_charge(&hand, &profile, now, cost), verdict);
		assert_int_equal(credit_wanted(&credit), wanted);
		assert_true(verdict != CREDIT_FALLBACK || wanted == 0 || wanted <= cost);
		seen[verdict]++;
	}
	for (unsigned v = 0; v <= CREDIT_FALLBACK; v++)
		assert_true(seen[v] > 1000);
}

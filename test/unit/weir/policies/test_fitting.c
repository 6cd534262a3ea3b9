/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Where buckets are wanted, round by round, with workers that are made up: each adds what a queue
 * with one server would, the longer the busier; tokens are waited for by all alike.
 */
#include "check.h"

#include <string.h>

#include "base/prng.h"
#include "fitting.h"

#define WORKERS 4
#define COST    1e-8 /* seconds a unit: 100 MB/s at most */
#define BATCH   1000
#define SLO     1e-3
#define NEVER   1000

struct box {
	struct fitting fitting;
	double rates[SEATS];
	double others[WORKERS]; /* units a second */
	double handing;         /* the part of worker 2's time that it hands out others' */
	double tokens;          /* that everybody waits for, seconds */
	double hidden;          /* cost that only who tries finds out, as a part of it */
	unsigned rounds;
};

static void open_box(struct box *box, unsigned principles, bool grouped)
{
	const struct fitting_params params = {WORKERS, principles, grouped, SLO};

	memset(box, 0, sizeof(*box));
	fitting_init(&box->fitting, &params, 2);
}

/* A load in units a second, of so many buckets, with some noise. */
static void make_bucket_load(struct box *box, double rate, unsigned buckets, uint64_t seed)
{
	struct prng prng;

	prng_seed(&prng, seed);
	for (unsigned i = 0; i < SEATS; i++)
		box->rates[i] = i < buckets ? rate / buckets * (0.8 + 0.4 * prng_unit(&prng)) : 0;
}

static double rate_of(const struct box *box, unsigned worker)
{
	double rate = 0;

	for (unsigned i = 0; i < SEATS; i++)
		rate += box->fitting.wanted[i] == worker ? box->rates[i] : 0;
	return rate;
}

/* Five means beyond the knee of such a queue; and where there is too much, as much as may wait. */
static double added_delay(const struct box *box, unsigned worker)
{
	double rate = rate_of(box, worker) + box->others[worker];
	double use = rate * COST * (1 + box->hidden) + (worker == 2 ? box->handing : 0);

	if (use >= 1)
		return 0.1;
	return fmin(0.1, 5 * BATCH * COST * (1 + use / (1 - use)));
}

static bool round_of(struct box *box)
{
	struct fitting_seen seen = {.batch = BATCH};

	memcpy(seen.rates, box->rates, sizeof(seen.rates));
	for (unsigned i = 0; i < WORKERS; i++) {
		struct fitting_worker *worker = &seen.workers[i];

		worker->packets = (uint64_t)(rate_of(box, i) / BATCH);
		worker->added = added_delay(box, i);
		worker->p99 = worker->added + box->tokens;
		worker->cost = worker->packets ? COST : 0;
		worker->others = box->others[i];
		worker->handing = i == 2 ? box->handing : 0;
	}
	box->rounds++;
	return fitting_round(&box->fitting, &seen);
}

/* Rounds until nothing has changed for `still` of them. */
static unsigned rounds_to_settle(struct box *box, unsigned still)
{
	unsigned last = box->rounds, first = box->rounds;

	while (box->rounds - last < still) {
		if (round_of(box))
			last = box->rounds;
		assert_true(box->rounds - first < NEVER);
	}
	return last - first;
}

static bool keeps_objective(const struct box *box)
{
	for (unsigned i = 0; i < WORKERS; i++)
		if (rate_of(box, i) > 0 && added_delay(box, i) + box->tokens > SLO)
			return false;
	return true;
}

static void test_one_is_enough(void **state)
{
	struct box box;

	(void)state;
	open_box(&box, PLACE_PAPER, true);
	assert_int_equal(box.fitting.used, 1);
	assert_int_equal(box.fitting.wanted[100], 2);
	make_bucket_load(&box, 60e6, SEATS, 1);
	assert_int_equal(rounds_to_settle(&box, 100), 0);
	assert_int_equal(box.fitting.state, FITTING_SETTLED);
	fitting_free(&box.fitting);
}

/* As many as there must be, and what is found in how many rounds. */
static void test_spreads(void **state)
{
	static const struct {
		double rate;
		unsigned least, most;
	} cases[] = {{90e6, 2, 2}, {100e6, 2, 2}, {160e6, 3, 3}, {250e6, 4, 4}};

	(void)state;
	for (unsigned c = 0; c < 4; c++) {
		for (uint64_t seed = 1; seed <= 20; seed++) {
			struct box box;
			unsigned rounds;

			open_box(&box, PLACE_PAPER, true);
			make_bucket_load(&box, cases[c].rate, SEATS, seed);
			rounds = rounds_to_settle(&box, 20);
			if (box.fitting.used < cases[c].least || box.fitting.used > cases[c].most ||
				!keeps_objective(&box) || rounds > 3)
				fail_msg("case %u, seed %u: %u workers after %u rounds", c,
					(unsigned)seed, box.fitting.used, rounds);
			assert_int_equal(box.fitting.state, FITTING_SETTLED);
			fitting_free(&box.fitting);
		}
	}
}

/* Nobody is left out when there is too much for all; and nothing flaps. */
static void test_too_much(void **state)
{
	struct box box;

	(void)state;
	open_box(&box, PLACE_PAPER, true);
	make_bucket_load(&box, 900e6, SEATS, 1);
	assert_true(rounds_to_settle(&box, 8) <= 4);
	assert_int_equal(box.fitting.used, WORKERS);
	assert_int_equal(box.fitting.state, FITTING_FULL);
	fitting_free(&box.fitting);
}

/* Back together when there is less to do, but not at once; and at the edge, neither way. */
static void test_gathers(void **state)
{
	struct box box;
	unsigned rounds;

	(void)state;
	open_box(&box, PLACE_PAPER, true);
	make_bucket_load(&box, 200e6, SEATS, 1);
	rounds_to_settle(&box, 20);
	assert_true(box.fitting.used >= 3);
	make_bucket_load(&box, 30e6, SEATS, 2);
	rounds = rounds_to_settle(&box, 20);
	assert_int_equal(box.fitting.used, 1);
	assert_int_equal(box.fitting.wanted[0], 2); /* where it began */
	if (rounds < 5 || rounds > 7)
		fail_msg("%u rounds", rounds);
	make_bucket_load(&box, 64e6, SEATS, 3); /* room for that on one, but none to spare */
	assert_int_equal(rounds_to_settle(&box, 50), 0);
	make_bucket_load(&box, 80e6, SEATS, 4);
	rounds_to_settle(&box, 50);
	assert_int_equal(box.fitting.used, 2);
	make_bucket_load(&box, 64e6, SEATS, 5);
	assert_int_equal(rounds_to_settle(&box, 50), 0);
	assert_int_equal(box.fitting.used, 2);
	fitting_free(&box.fitting);
}

/* A worker that comes back in vain is tried ever less often. */
static void test_patience(void **state)
{
	struct box box;
	unsigned changes[2] = {0};

	(void)state;
	open_box(&box, PLACE_PAPER, true);
	box.hidden = 1; /* twice what is counted */
	make_bucket_load(&box, 50e6, SEATS, 1);
	for (unsigned i = 0; i < 2000; i++)
		changes[i / 1000] += round_of(&box);
	assert_int_equal(box.fitting.patience, 320);
	assert_true(changes[0] <= 20);
	if (changes[1] > 8)
		fail_msg("%u changes", changes[1]);
	assert_true(box.fitting.used >= 2);
	fitting_free(&box.fitting);
}

/* Waiting for tokens is no worker's fault; and is no excuse for one. */
static void test_tokens(void **state)
{
	struct box box;

	(void)state;
	open_box(&box, PLACE_PAPER, true);
	make_bucket_load(&box, 60e6, SEATS, 1);
	box.tokens = 5e-3;
	assert_int_equal(rounds_to_settle(&box, 30), 0);
	assert_int_equal(box.fitting.state, FITTING_TOKENS);
	box.tokens = 0.4e-3;
	rounds_to_settle(&box, 30);
	assert_int_equal(box.fitting.state, FITTING_SETTLED);
	make_bucket_load(&box, 99.9e6, SEATS, 2);
	rounds_to_settle(&box, 30);
	assert_true(box.fitting.used >= 2);
	fitting_free(&box.fitting);
}

static void test_others(void **state)
{
	struct box box;

	(void)state;
	open_box(&box, PLACE_PAPER, true);
	box.others[2] = 99e6; /* where it begins */
	box.others[0] = 65e6;
	make_bucket_load(&box, 50e6, SEATS, 1);
	rounds_to_settle(&box, 30);
	assert_int_equal(box.fitting.used, 1);
	assert_true(box.fitting.wanted[0] == 1 || box.fitting.wanted[0] == 3);
	fitting_free(&box.fitting);
}

/* A worker that owns a queue and hands out what is others' has less time for its own. */
static void test_owner(void **state)
{
	struct box box;

	(void)state;
	open_box(&box, PLACE_PAPER, true);
	box.handing = 0.9;
	make_bucket_load(&box, 30e6, SEATS, 1);
	rounds_to_settle(&box, 30);
	assert_int_equal(box.fitting.used, 1);
	assert_int_not_equal(box.fitting.wanted[0], 2);
	assert_true(keeps_objective(&box));
	fitting_free(&box.fitting);
}

/* The largest part of any run of neighbours that one worker has, on two workers. */
static unsigned worst_run(const struct box *box, unsigned run)
{
	unsigned worst = 0;

	for (unsigned i = 0; i + run <= SEATS; i++) {
		unsigned counts[WORKERS] = {0};

		for (unsigned j = i; j < i + run; j++)
			counts[box->fitting.wanted[j]]++;
		for (unsigned w = 0; w < WORKERS; w++)
			worst = counts[w] > worst ? counts[w] : worst;
	}
	return worst;
}

static void test_switches(void **state)
{
	struct box box;
	struct fitting_params params = {WORKERS, PLACE_PAPER, true, SLO};

	(void)state;
	open_box(&box, PLACE_PAPER, true);
	make_bucket_load(&box, 100e6, SEATS, 1);
	rounds_to_settle(&box, 20);
	assert_int_equal(box.fitting.used, 2);
	assert_true(worst_run(&box, 8) <= 5);
	params.principles = PLACE_CONCENTRATE | PLACE_MAX_MIN;
	fitting_change(&box.fitting, &params);
	assert_true(round_of(&box));
	rounds_to_settle(&box, 20);
	assert_int_equal(box.fitting.used, 2);
	assert_true(worst_run(&box, 8) >= 7);
	params.principles = PLACE_MAX_MIN | PLACE_CORRELATED;
	fitting_change(&box.fitting, &params);
	assert_true(round_of(&box));
	rounds_to_settle(&box, 20);
	assert_int_equal(box.fitting.used, WORKERS);
	params.principles = PLACE_PAPER;
	fitting_change(&box.fitting, &params);
	rounds_to_settle(&box, 20);
	assert_int_equal(box.fitting.used, 2);
	fitting_free(&box.fitting);
}

/*
 * Workers' total loads are equal. Max-min would have the policy's parts equal, for the sake of a
 * bucket that is split; here there is none, what the others do counts, and it stands back.
 */
static void test_equal_totals(void **state)
{
	struct box box;

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		double least = 1e12, most = 0;

		open_box(&box, k ? PLACE_PAPER : PLACE_CONCENTRATE | PLACE_CORRELATED, false);
		for (unsigned w = 0; w < WORKERS; w++)
			box.others[w] = 5e6 * w;
		make_bucket_load(&box, 200e6, SEATS, 1);
		rounds_to_settle(&box, 20);
		assert_int_equal(box.fitting.used, WORKERS);
		for (unsigned w = 0; w < WORKERS; w++) {
			double rate = rate_of(&box, w) + box.others[w];

			least = fmin(least, rate);
			most = fmax(most, rate);
		}
		assert_true(most < 1.15 * least);
		fitting_free(&box.fitting);
	}
}

/* Too little to tell anything from. */
static void test_quiet(void **state)
{
	struct box box;

	(void)state;
	open_box(&box, PLACE_PAPER, true);
	box.tokens = 1;
	make_bucket_load(&box, 0.9e6, SEATS, 1);
	assert_int_equal(rounds_to_settle(&box, 20), 0);
	assert_int_equal(box.fitting.state, FITTING_TOKENS);
	box.tokens = 0;
	rounds_to_settle(&box, 20);
	assert_int_equal(box.fitting.state, FITTING_QUIET);
	/* Nobody stays apart for want of packets. */
	make_bucket_load(&box, 200e6, SEATS, 1);
	rounds_to_settle(&box, 20);
	assert_true(box.fitting.used >= 3);
	make_bucket_load(&box, 0, SEATS, 1);
	rounds_to_settle(&box, 20);
	assert_int_equal(box.fitting.used, 1);
	fitting_free(&box.fitting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_is_enough),
		cmocka_unit_test(test_spreads),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_gathers),
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_equal_totals),
		cmocka_unit_test(test_quiet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

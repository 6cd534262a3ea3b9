/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include <math.h>

#include "base/prng.h"
#include "world/simnet.h"

#define DRAWS  1000000
#define SEED   11
#define SIGMAS 5
#define MS     1e6
#define PART   0.841344746 /* of a normal distribution: below mean and deviation together */

/*
 * Least, mean, standard deviation, and what a part of PART is below, of every kind of delay of
 * 50 ms with a spread of 4 ms; in ms, from the distributions' formulas. A mean of n draws may be
 * off by so many sigma / sqrt(n), a count of them by as many times sqrt(n PART (1 - PART)).
 */
static void test_distributions(void **state)
{
	static const struct {
		enum delay_kind kind;
		double least, mean, sigma, most;
	} rows[] = {
		{DELAY_CONSTANT, 50, 50, 0, 0},
		{DELAY_UNIFORM, 50, 52, 1.154701, 53.365379}, /* 4 / sqrt(12) */
		{DELAY_NORMAL, 0, 50, 4, 54},
		{DELAY_EXPONENTIAL, 50, 54, 4, 57.364087}, /* 4 ln(1 / (1 - PART)) more */
		{DELAY_PARETO, 50, 54, 8.944272,
			56.530531} /* 4 sqrt(5); 6 ((1 - PART)^-0.4 - 1) more */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct network network = {
			.kind = rows[i].kind, .delay_ns = 50000000, .spread_ns = 4000000};
		double sum = 0, off;
		unsigned below = 0;
		struct prng prng;

		prng_seed(&prng, SEED);
		for (unsigned k = 0; k < DRAWS; k++) {
			double delay = (double)network_delay(&network, &prng) / MS;

			assert_true(delay >= rows[i].least);
			sum += delay;
			below += delay < rows[i].most;
		}
		off = fabs(sum / DRAWS - rows[i].mean);
		/* Nanoseconds are rounded down. */
		if (off > SIGMAS * rows[i].sigma / sqrt(DRAWS) + 1 / MS)
			fail_msg("seed %d: mean of kind %d is off by %g ms", SEED, rows[i].kind,
				off);
		off = fabs(below - DRAWS * PART);
		if (rows[i].sigma > 0 && off > SIGMAS * sqrt(DRAWS * PART * (1 - PART)))
			fail_msg("seed %d: part of kind %d is off by %g draws", SEED, rows[i].kind,
				off);
	}
}

/* No delay is negative, however wide the distribution is. */
static void test_never_negative(void **state)
{
	struct network network = {.kind = DELAY_NORMAL, .delay_ns = 1000000, .spread_ns = 10000000};
	struct prng prng;
	unsigned none = 0;

	(void)state;
	prng_seed(&prng, SEED);
	for (unsigned k = 0; k < 10000; k++) {
		uint64_t delay = network_delay(&network, &prng);

		assert_true(delay < 100000000);
		none += delay == 0;
	}
	/* 46 % of a normal distribution are below its mean less a tenth of its deviation. */
	assert_in_range(none, 4352, 4852);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distributions),
		cmocka_unit_test(test_never_negative),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

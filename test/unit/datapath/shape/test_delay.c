/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include "base/prng.h"
#include "shape/delay.h"

/* Each bin ends where the next one begins, and is at most an eighth as wide as its delays. */
TEST(test_bins)
{
	for (unsigned unit = 0; unit < 12; unit += 3)
		for (unsigned i = 0; i + 1 < DELAY_BINS; i++) {
			uint64_t end = delay_bin_end(i, unit);
			uint64_t begin = i ? delay_bin_end(i - 1, unit) + 1 : 0;

			assert_int_equal(delay_bin(begin, unit), i);
			assert_int_equal(delay_bin(end, unit), i);
			assert_int_equal(delay_bin(end + 1, unit), i + 1);
			assert_true(end - begin < (begin >> DELAY_SHIFT) + (1u << unit));
		}
	assert_int_equal(delay_bin(UINT64_MAX, 0), DELAY_BINS - 1);
}

/* From far below a microsecond to half a minute, with any clock. */
TEST(test_range)
{
	static const uint64_t hz[] = {1000000, 390625000, 1000000000, 2500000000, 5000000000};

	assert_int_equal(delay_unit(hz[0]), 0);
	for (unsigned i = 1; i < COUNT(hz); i++) {
		unsigned unit = delay_unit(hz[i]);

		assert_true((double)delay_bin_end(0, unit) / (double)hz[i] < 0.25e-6);
		assert_true((double)delay_bin_end(DELAY_BINS - 1, unit) / (double)hz[i] > 16);
	}
}

static int compare_delays(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Compared with all delays, sorted: never shorter, and at most an eighth longer. Two writers. */
TEST(test_quantiles)
{
	enum { N = 20000, UNIT = 7 };
	static const double shares[] = {0.001, 0.5, 0.95, 0.99, 0.999, 1};
	static uint64_t ticks[N];
	const uint64_t seed = 4;
	struct prng prng;

	prng_seed(&prng, seed);
	for (unsigned round = 0; round < 20; round++) {
		struct delay_bins bins[2] = {0};
		struct delay_sum sums[2] = {0};

		for (unsigned i = 0; i < N; i++) {
			ticks[i] = prng_next(&prng) >> (31 + prng_below(&prng, 30));
			delay_add(&bins[i % 2], UNIT, ticks[i]);
		}
		for (unsigned w = 0; w < 2; w++)
			delay_fold(&sums[w], &bins[w]);
		delay_merge(&sums[0], &sums[1]);
		assert_int_equal(delay_count(&sums[0]), N);
		qsort(ticks, N, sizeof(ticks[0]), compare_delays);
		for (unsigned s = 0; s < COUNT(shares); s++) {
			uint64_t want = ticks[(unsigned)ceil(shares[s] * N) - 1];
			uint64_t got = delay_quantile(&sums[0], shares[s], UNIT);

			if (got < want || got > want + want / 8 + (1 << UNIT))
				fail_msg("seed %" PRIu64 ", round %u: %g is %" PRIu64
					 ", not %" PRIu64,
					seed, round, shares[s], got, want);
		}
	}
}

/* A writer's counts wrap, and a reader's do not. An empty sum has no quantiles. */
TEST(test_wrap)
{
	struct delay_bins bins = {0};
	struct delay_sum sum = {0};

	assert_int_equal(delay_quantile(&sum, 0.5, 0), 0);
	bins.bins[9] = UINT32_MAX;
	delay_fold(&sum, &bins);
	for (unsigned i = 0; i < 3; i++)
		delay_add(&bins, 0, delay_bin_end(9, 0));
	delay_fold(&sum, &bins);
	assert_int_equal(delay_count(&sum), UINT64_C(0x100000002));
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Ticks on machines with slower counters than x86: enough for the largest limits of a meter.
 */
#include "check.h"

#include "meter/gcra.h"
#include "tick.h"

TEST(test_shift)
{
	static const struct {
		uint64_t hz;
		unsigned shift;
	} rows[] = {
		{0, 0}, /* no counter */
		{19200000, 5},
		{25000000, 4},
		{62500000, 3},
		{TICK_HZ_LEAST - 1, 1},
		{TICK_HZ_LEAST, 0},
		{1000000000, 0},
		{UINT64_MAX, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(tick_shift_of(rows[i].hz), rows[i].shift);
}

/* 400 Gbit/s is a valid limit on each of them. */
TEST(test_rate)
{
	const struct token_bucket_params params = {
		.rate_bps = UINT64_C(400000000000), .burst_bytes = 1 << 20};

	for (uint64_t hz = 1000000; hz < UINT64_C(8000000000); hz += 999983) {
		struct gcra_profile profile;

		assert_int_equal(gcra_profile_init(&profile, &params, hz << tick_shift_of(hz)), 0);
	}
}

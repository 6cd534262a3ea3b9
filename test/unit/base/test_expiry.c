/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that end by themselves.
 */
#include "check.h"

#include "base/expiry.h"
#include "base/prng.h"

#define SPAN 1000

/* The rest is at most the unreserved amount, and smaller by at most a 255th of the limit. */
TEST(parts_are_rounded_down)
{
	struct prng prng;

	prng_seed(&prng, 1);
	for (int i = 0; i < 100000; i++) {
		uint64_t limit = 1 + (prng_next(&prng) >> 2 >> prng_below(&prng, 62));
		uint64_t after = prng_within(&prng, limit);
		uint8_t ending = expiry_ending(limit, after);
		uint64_t left = expiry_left(limit, ending);

		assert_true(left <= after);
		assert_true(after - left <= limit / EXPIRY_PARTS + 1);
		assert_true((ending == 0) == (after == limit));
	}
	assert_int_equal(expiry_ending(0, 0), 0);
	assert_int_equal(expiry_ending(7, 9), 0);
	assert_int_equal(expiry_ending(UINT64_MAX, 0), EXPIRY_PARTS);
	assert_true(expiry_left(UINT64_MAX, 0) == UINT64_MAX);
	assert_int_equal(expiry_left(UINT64_MAX, EXPIRY_PARTS), 0);
}

TEST(slowed_clock_runs_at_unreserved_part)
{
	assert_int_equal(expiry_slowed(1000, 1000, 100), 1000);
	assert_int_equal(expiry_slowed(1000, 1255, 0), 1255);
	assert_int_equal(expiry_slowed(1000, 1255, 155), 1100);
	assert_int_equal(expiry_slowed(1000, 9999, EXPIRY_PARTS), 1000);
	assert_int_equal(expiry_slowed(1000, 900, 155), 900); /* not before it began */
}

TEST(end_is_exclusive_and_a_clock_set_back_is_past)
{
	static const struct {
		uint64_t until, span, now;
		bool past;
	} rows[] = {
		{5000, SPAN, 4000, false},
		{5000, SPAN, 4999, false},
		{5000, SPAN, 5000, true},
		{5000, SPAN, 5001, true},
		{5000, SPAN, UINT64_MAX, true},
		{5000, SPAN, 3999, true}, /* further ahead than any end may lie */
		{5000, SPAN, 0, true},
		{0, SPAN, 1, true}, /* seen, and not answered */
		{0, UINT64_MAX, 1, false},
		{0, UINT64_MAX, UINT64_MAX, false},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct expiry expiry;

		expiry_init(&expiry, rows[i].until, rows[i].span);
		if (expiry_is_past(&expiry, rows[i].now) != rows[i].past)
			fail_msg("row %u", i);
	}
}

/* Once the worker has seen the end control cannot move it as if nothing had been. */
TEST(worker_and_control_agree_on_the_end)
{
	struct expiry expiry;

	expiry_init(&expiry, 5000, SPAN);
	assert_int_equal(expiry_see(&expiry, 4999), 0);
	assert_int_equal(expiry_until(&expiry), 5000);
	assert_true(expiry_set(&expiry, 5000, 5500));
	assert_false(expiry_set(&expiry, 5000, 6000));
	assert_int_equal(expiry_see(&expiry, 5400), 0);
	assert_int_equal(expiry_see(&expiry, 7000), 5500); /* since then, however late */
	assert_int_equal(expiry_see(&expiry, 7001), 0);    /* once */
	assert_false(expiry_set(&expiry, 5500, 8000));
	assert_true(expiry_is_past(&expiry, 7001));
	assert_true(expiry_set(&expiry, 0, 8000));
	assert_false(expiry_is_past(&expiry, 7500));
	assert_int_equal(expiry_see(&expiry, 100), 100); /* a clock that was set back: since now */
}

TEST(end_moves_forward_at_once_and_back_when_all_is_taken)
{
	assert_int_equal(expiry_next(5000, 4000, false), 4000);
	assert_int_equal(expiry_next(5000, 4000, true), 4000);
	assert_int_equal(expiry_next(5000, 6000, false), 5000);
	assert_int_equal(expiry_next(5000, 6000, true), 6000);
	assert_int_equal(expiry_next(0, 6000, false), 0);
	assert_int_equal(expiry_next(0, 6000, true), 6000);
}

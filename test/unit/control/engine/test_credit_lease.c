/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The size of a credit's lease: enough for the rate, twice as much after a refusal, and little if
 * little is left.
 */
#include "check.h"

#include "base/prng.h"
#include "engine/credit_account.h"

#define LOOK   (5 * MS)
#define LEAST  UINT64_C(1000)
#define PLENTY (UINT64_C(1) << 40)

TEST(test_first)
{
	static const struct {
		uint64_t held, wanted;
		bool low;
		uint64_t units;
	} rows[] = {
		{PLENTY, 0, false, LEAST},
		{PLENTY, 0, true, LEAST},
		{0, 0, false, 0},
		{4 * LEAST, 0, false, LEAST},
		{4 * LEAST - 4, 0, false, LEAST - 1},
		{16 * LEAST, 0, true, LEAST},
		{16 * LEAST - 16, 0, true, LEAST - 1},
		{3, 0, false, 0},
		/* A waiting packet gets the units that it lacks, available here or not. */
		{3, 60, false, 60},
		{0, 1500, true, 1500},
		{4000, 1500, true, 1500},
		{PLENTY, 1500, true, 1500},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct credit_lease lease;
		uint64_t units;

		credit_lease_init(&lease, LEAST, 0);
		credit_lease_look(&lease, 0, rows[i].wanted, LOOK);
		units = credit_lease_units(&lease, rows[i].held, rows[i].low);
		if (units != rows[i].units)
			fail_msg("row %zu: %" PRIu64, i, units);
	}
}

/* Spends at a rate in units a second, for so long; returns the packets' units that were refused. */
static uint64_t run_lease_at_rate(
	struct credit_lease *lease, uint64_t *now, uint64_t rate, uint64_t ns)
{
	uint64_t refused = 0;

	for (uint64_t end = *now + ns; *now < end; *now += LOOK) {
		uint64_t wants = rate * LOOK / 1000000000, units;
		uint64_t left = lease->left > wants ? lease->left - wants : 0;
		uint64_t lacks = wants - (lease->left - left);

		refused += lacks;
		credit_lease_look(lease, left, lacks ? 1500 : 0, *now);
		units = credit_lease_units(lease, PLENTY, false);
		if (units)
			credit_lease_fill(lease, units);
	}
	return refused;
}

/*
 * The lease is a tenth of a second's units at any rate; it grows soon, and ends with the traffic.
 */
TEST(test_follows_the_rate)
{
	static const uint64_t rates[] = {100000, 1250000, 125000000, 12500000000};

	for (size_t i = 0; i < COUNT(rates); i++) {
		const uint64_t rate = rates[i], tenth = rate / 10;
		struct credit_lease lease;
		uint64_t now = LOOK, refused;

		credit_lease_init(&lease, LEAST, 0);
		refused = run_lease_at_rate(&lease, &now, rate, 200 * MS);
		assert_true(refused < rate / 5);
		assert_int_equal(run_lease_at_rate(&lease, &now, rate, 1000 * MS), 0);
		assert_in_range(lease.filled, tenth * 9 / 10, tenth * 2 + LEAST);
		/* After a long time without traffic it has its initial size. */
		run_lease_at_rate(&lease, &now, 0, 20000 * MS);
		assert_true(credit_lease_is_idle(&lease, now));
		credit_lease_empty(&lease);
		assert_int_equal(credit_lease_units(&lease, PLENTY, false), LEAST);
		/* Ten times as many packets: it doubles until it is enough. */
		refused = run_lease_at_rate(&lease, &now, 10 * rate, 200 * MS);
		assert_false(credit_lease_is_idle(&lease, now));
		assert_int_equal(run_lease_at_rate(&lease, &now, 10 * rate, 500 * MS), 0);
	}
}

/* Refusals do not enlarge it if no units are held here, because that would not help. */
TEST(test_no_boost_of_nothing)
{
	struct credit_lease lease;

	credit_lease_init(&lease, LEAST, 0);
	for (uint64_t i = 1; i < 1000; i++) {
		credit_lease_look(&lease, 0, 1500, i * LOOK);
		assert_int_equal(credit_lease_units(&lease, 0, true), 1500);
	}
	assert_int_equal(credit_lease_units(&lease, PLENTY, false), 1500);
	credit_lease_look(&lease, 0, 0, 1000 * LOOK);
	assert_int_equal(credit_lease_units(&lease, PLENTY, false), LEAST);
}

/* The rest of a quota comes in ever smaller parts, until no packet fits: all of it. */
TEST(test_to_the_end)
{
	uint64_t held = 1000000, looks = 0;
	struct credit_lease lease;

	credit_lease_init(&lease, LEAST, 0);
	for (uint64_t now = LOOK; held >= 1000; now += LOOK, looks++) {
		uint64_t left = lease.left % 1000, units;

		credit_lease_look(&lease, left, 1000, now);
		units = credit_lease_units(&lease, held, true);
		assert_in_range(units, 1, held);
		assert_true(units <= held / 16 || units + left == 1000);
		credit_lease_fill(&lease, units);
		held -= units;
	}
	assert_in_range(looks, 30, 300);
}

/* A lease that is at least half full is not refilled. */
TEST(test_not_for_a_trifle)
{
	struct credit_lease lease;

	credit_lease_init(&lease, LEAST, 0);
	credit_lease_fill(&lease, LEAST);
	credit_lease_look(&lease, LEAST / 2, 0, 1000000000 * MS); /* the rate is near 0 */
	assert_int_equal(credit_lease_units(&lease, PLENTY, false), 0);
	credit_lease_look(&lease, LEAST / 2 - 1, 0, 1000000000 * MS);
	assert_int_equal(credit_lease_units(&lease, PLENTY, false), LEAST / 2 + 1);
	credit_lease_empty(&lease);
	assert_int_equal(credit_lease_units(&lease, PLENTY, false), LEAST);
}

/* A lease that was full enough and is empty doubles; without refusals it shrinks by a sixteenth. */
TEST(test_boost)
{
	static const struct {
		uint64_t filled, boosted, faded;
	} rows[] = {
		{LEAST, 2 * LEAST, 2 * LEAST * 15 / 16},
		{LEAST / 2, 2 * LEAST, 2 * LEAST * 15 / 16},
		{LEAST / 2 - 1, LEAST, LEAST},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct credit_lease lease;

		credit_lease_init(&lease, LEAST, 0);
		credit_lease_fill(&lease, rows[i].filled);
		credit_lease_look(&lease, 0, 1, 0); /* without time, so the rate is 0 */
		assert_int_equal(credit_lease_units(&lease, PLENTY, false), rows[i].boosted);
		credit_lease_look(&lease, 0, 0, 0);
		assert_int_equal(credit_lease_units(&lease, PLENTY, false), rows[i].faded);
	}
}

/* A rising rate is followed immediately; half of a fall is followed after half a second. */
TEST(test_rate_falls)
{
	struct credit_lease lease;

	credit_lease_init(&lease, LEAST, 0);
	credit_lease_fill(&lease, 1000000);
	credit_lease_look(&lease, 0, 0, 1000 * MS);
	assert_int_equal(credit_lease_units(&lease, PLENTY, false), 1000000 / 10);
	credit_lease_look(&lease, 0, 0, 1500 * MS);
	assert_int_equal(credit_lease_units(&lease, PLENTY, false), 500000 / 10);
	credit_lease_fill(&lease, 450000);
	credit_lease_look(&lease, 0, 0, 2000 * MS);
	assert_int_equal(credit_lease_units(&lease, PLENTY, false), 900000 / 10);
}

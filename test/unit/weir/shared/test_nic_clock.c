/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A device's stamps in ticks of the TSC: as exact as the readings, for any rates and offsets of the
 * clocks. Impossible stamps are replaced.
 */
#include "check.h"

#include "base/prng.h"
#include "clock.h"

#define HZ     UINT64_C(2445430000)
#define JITTER 2000 /* ticks: the most between both ticks of a reading */

/* The device's clock at a tick: another rate, and another offset. */
static uint64_t nic_at(uint64_t tick, uint64_t nic_hz, uint64_t from)
{
	return from + (uint64_t)((unsigned __int128)tick * nic_hz / HZ);
}

static void read_at(
	struct nic_clock *clock, struct prng *prng, uint64_t tick, uint64_t nic_hz, uint64_t from)
{
	uint64_t before = prng_next(prng) % JITTER, after = prng_next(prng) % JITTER;

	nic_clock_read(clock, nic_at(tick, nic_hz, from), tick - before, tick + after);
}

TEST(test_exact)
{
	static const struct {
		uint64_t hz, from;
	} rows[] = {
		{1000000000, 0},
		{1000000000, UINT64_C(1764000000000000000)}, /* Unix time in ns */
		{156250000, 12345},
		{800000123, UINT64_C(1) << 62},
		{HZ, 1},
	};
	uint64_t seed = 0x41c;
	struct prng prng;

	prng_seed(&prng, seed);
	for (unsigned r = 0; r < COUNT(rows); r++) {
		struct nic_clock clock = {0};
		struct nic_relation relation;
		uint64_t tick = HZ;

		for (unsigned i = 0; i < 400; i++, tick += HZ / 4) {
			uint64_t came = tick - prng_next(&prng) % (HZ / 100), want, got;

			read_at(&clock, &prng, tick, rows[r].hz, rows[r].from);
			assert_int_equal(nic_clock_relation(&clock, &relation), i > 0);
			if (i == 0)
				continue;
			want = came;
			got = nic_clock_tick(&relation, nic_at(came, rows[r].hz, rows[r].from),
				tick + JITTER, HZ);
			/*
			 * Half of a reading's uncertainty, the error of the slope, and a tick of
			 * the device.
			 */
			if (llabs((int64_t)(got - want)) > JITTER + (int64_t)(HZ / rows[r].hz) + 1)
				fail_msg("seed %" PRIx64 ", row %u: off by %" PRId64, seed, r,
					(int64_t)(got - want));
		}
	}
}

TEST(test_nonsense)
{
	const struct nic_relation relation = {
		.nic = 1000000, .tsc = 5000000, .rate = UINT64_C(2) << 32};

	/* Two ticks for each one of the device. */
	assert_int_equal(nic_clock_tick(&relation, 1000100, 5000300, 1000), 5000200);
	assert_int_equal(nic_clock_tick(&relation, 999900, 5000300, 1000), 4999800);
	/* Up to the time of receipt, and one beyond. */
	assert_int_equal(nic_clock_tick(&relation, 1000150, 5000300, 1000), 5000300);
	assert_int_equal(nic_clock_tick(&relation, 1000151, 5000300, 1000), 5000300);
	/* Up to the largest age, and one beyond. */
	assert_int_equal(nic_clock_tick(&relation, 999650, 5000300, 1000), 4999300);
	assert_int_equal(nic_clock_tick(&relation, 999649, 5000300, 1000), 5000300);
	assert_int_equal(nic_clock_tick(&relation, 0, 5000300, 1000), 5000300);
}

/* An interrupted reading is ignored. If the device's clock is set, its relation starts again. */
TEST(test_readings)
{
	struct nic_clock clock = {0};
	struct nic_relation relation;

	nic_clock_read(&clock, 1000, 10000, 10010);
	assert_false(nic_clock_relation(&clock, &relation));
	nic_clock_read(&clock, 2000, 12000, 12000 + NIC_CLOCK_APART + 1);
	assert_false(nic_clock_relation(&clock, &relation));
	nic_clock_read(&clock, 2000, 12000, 12010);
	assert_true(nic_clock_relation(&clock, &relation));
	assert_int_equal(relation.rate, UINT64_C(2) << 32);
	assert_int_equal(relation.nic, 2000);
	assert_int_equal(relation.tsc, 12005);
	assert_int_equal(clock.turn, 4);
	nic_clock_read(&clock, 3000, 14000, 14000 + NIC_CLOCK_APART);
	assert_true(nic_clock_relation(&clock, &relation));
	assert_int_equal(relation.tsc, 14000 + NIC_CLOCK_APART / 2);
	nic_clock_read(&clock, 1000, 15000, 15010); /* set back to the first value */
	assert_false(nic_clock_relation(&clock, &relation));
	nic_clock_read(&clock, 500, 14000, 14010);
	assert_false(nic_clock_relation(&clock, &relation));
	nic_clock_read(&clock, 1500, 17000, 17010);
	assert_true(nic_clock_relation(&clock, &relation));
	assert_int_equal(relation.rate, UINT64_C(3) << 32);
	/* During a write the relation cannot be used. */
	clock.turn++;
	assert_false(nic_clock_relation(&clock, &relation));
}

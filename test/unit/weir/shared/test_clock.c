/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The TSC against a clock that the test turns: what is believed of its rate, and what is a jump.
 */
#include "check.h"

#include <inttypes.h>

#include "base/time.h"
#include "clock.h"

#define HZ   UINT64_C(3000000000)
#define TICK (50 * MS_NS)

/* Where both clocks are, and how fast the TSC goes. */
struct clocks {
	struct tsc_clock clock;
	uint64_t tsc, ns;
	double hz;
};

static struct tsc_reading read_clocks(const struct clocks *c)
{
	return (struct tsc_reading){c->tsc, c->ns, 100};
}

static void clocks_start(struct clocks *c, uint64_t tsc)
{
	struct tsc_reading now;

	*c = (struct clocks){.tsc = tsc, .ns = 5 * SECOND_NS, .hz = (double)HZ};
	now = read_clocks(c);
	tsc_clock_begin(&c->clock, &now, HZ);
}

static enum tsc_news step(struct clocks *c, uint64_t ns)
{
	struct tsc_reading now;

	c->ns += ns;
	c->tsc += (uint64_t)(c->hz * (double)ns / 1e9);
	now = read_clocks(c);
	return tsc_clock_take(&c->clock, &now);
}

/* Looks for so long; returns how many found a jump. */
static unsigned run(struct clocks *c, uint64_t ns)
{
	unsigned jumps = 0;

	for (uint64_t end = c->ns + ns; c->ns < end;)
		jumps += step(c, TICK) >= TSC_JUMPED;
	return jumps;
}

static void expect_rate(const char *what, const struct clocks *c, double hz, double ppm)
{
	double off = ((double)c->clock.hz / hz - 1) * 1e6;

	if (off > ppm || off < -ppm)
		fail_msg("%s: %" PRIu64 " Hz, %.1f ppm off", what, c->clock.hz, off);
}

/* A rate that creeps, as with temperature and NTP, is followed; a look that is late is none. */
static void test_rate_is_refined(void **state)
{
	static const double ppm[] = {0, 10, -10, 100, -100, 400, -400};

	(void)state;
	for (unsigned i = 0; i < sizeof(ppm) / sizeof(ppm[0]); i++) {
		struct clocks c;

		clocks_start(&c, 12345);
		c.hz = (double)HZ * (1 + ppm[i] / 1e6);
		assert_int_equal(run(&c, 100 * SECOND_NS), 0);
		assert_true(step(&c, 3600 * SECOND_NS) <= TSC_REFINED);
		expect_rate("refined", &c, c.hz, 0.01);
		assert_int_equal(c.clock.jumps, 0);
	}
}

/* One jump is one event; the rate is not what the jump has made of it, then or later. */
static void test_jumps(void **state)
{
	static const struct {
		const char *what;
		int64_t ticks;    /* that the TSC jumps by */
		uint64_t ns;      /* that the other clock does, as in a suspend */
		uint64_t begins;  /* where the TSC is at first */
		bool reset, back; /* it begins at 0 again; it is before where it was */
	} rows[] = {
		{"an hour asleep, and the TSC stood still", 0, 3600 * SECOND_NS, 1 << 20, false,
			false},
		{"a second asleep, and it stood still", 0, SECOND_NS, 1 << 20, false, false},
		{"it is written ahead", (int64_t)(HZ / 100), 0, 1 << 20, false, false},
		{"it is written far ahead", INT64_MAX / 2, 0, 1 << 20, false, false},
		{"it is written back", -(int64_t)(10 * HZ), 0, 100 * HZ, false, true},
		{"it begins anew", 0, 0, 1000000 * HZ, true, true},
		{"it begins anew after an hour asleep", 0, 3600 * SECOND_NS, 1000000 * HZ, true,
			true},
		{"it wraps", 0, 0, UINT64_MAX - 90 * HZ, false, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool jumps = rows[i].ticks || rows[i].ns || rows[i].reset;
		struct clocks c;
		enum tsc_news news;

		clocks_start(&c, rows[i].begins);
		assert_int_equal(run(&c, 60 * SECOND_NS), 0);
		c.tsc += (uint64_t)rows[i].ticks;
		if (rows[i].reset)
			c.tsc = 1000;
		c.ns += rows[i].ns;
		news = step(&c, TICK);
		if (news != (!jumps ? TSC_SAME : rows[i].back ? TSC_SET_BACK : TSC_JUMPED))
			fail_msg("%s: %u", rows[i].what, news);
		expect_rate(rows[i].what, &c, HZ, 1);
		if (run(&c, 3600 * SECOND_NS) != 0)
			fail_msg("%s: once more", rows[i].what);
		expect_rate(rows[i].what, &c, HZ, 1);
		assert_int_equal(c.clock.jumps, jumps);
		assert_false(c.clock.doubted);
	}
}

/*
 * Two looks in the same tick, or in the same nanosecond, are none; a single tick back is one, also
 * while what the rate is now is being found out.
 */
static void test_a_tick_back(void **state)
{
	static const struct {
		int64_t ticks;
		uint64_t ns;
		enum tsc_news news;
	} rows[] = {
		{0, 0, TSC_SAME},
		{0, 100, TSC_SAME},
		{1, 0, TSC_SAME},
		{-1, 0, TSC_SET_BACK},
		{-1, 100, TSC_SET_BACK},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned doubted = 0; doubted < 2; doubted++) {
			unsigned back = rows[i].news == TSC_SET_BACK;
			struct tsc_reading now;
			struct clocks c;

			clocks_start(&c, 1 << 20);
			assert_int_equal(run(&c, SECOND_NS), 0);
			if (doubted) {
				c.ns += SECOND_NS;
				assert_int_equal(step(&c, TICK), TSC_JUMPED);
			}
			c.tsc += (uint64_t)rows[i].ticks;
			c.ns += rows[i].ns;
			now = read_clocks(&c);
			assert_int_equal(tsc_clock_take(&c.clock, &now), rows[i].news);
			assert_int_equal(c.clock.set_back, back);
			assert_int_equal(c.clock.jumps, doubted + back);
		}
}

/* A machine at another host: the old rate until two measurements agree, then the new one. */
static void test_another_rate(void **state)
{
	struct clocks c;

	(void)state;
	clocks_start(&c, 77);
	assert_int_equal(run(&c, 60 * SECOND_NS), 0);
	c.hz = 2.4e9;
	assert_int_equal(step(&c, TICK), TSC_JUMPED);
	expect_rate("at first", &c, HZ, 1);
	assert_int_equal(run(&c, SECOND_NS), 0);
	expect_rate("after one measurement", &c, HZ, 1);
	assert_int_equal(run(&c, 2 * SECOND_NS), 0);
	expect_rate("after two", &c, 2.4e9, 1);
	assert_int_equal(run(&c, 3600 * SECOND_NS), 0);
	expect_rate("after an hour", &c, 2.4e9, 0.1);
}

/* It jumps again while it is being measured: nothing that lies across a jump is believed. */
static void test_jumps_in_a_row(void **state)
{
	struct clocks c;

	(void)state;
	clocks_start(&c, 77);
	assert_int_equal(run(&c, 60 * SECOND_NS), 0);
	for (unsigned i = 0; i < 5; i++) {
		c.ns += 10 * SECOND_NS;
		(void)step(&c, TICK);
		(void)run(&c, 700 * MS_NS);
		expect_rate("between", &c, HZ, 1);
	}
	assert_int_equal(run(&c, 600 * SECOND_NS), 0);
	expect_rate("in the end", &c, HZ, 1);
}

/* The first estimate is of the time since a start began, which need not be waited for again. */
static void first_estimate(void **state)
{
	struct tsc_reading from = tsc_clock_read();
	struct tsc_clock clock;

	(void)state;
	for (unsigned i = 0; i < 2; i++) { /* that is too short a time at first, and then is not */
		tsc_clock_start(&clock, &from);
		assert_int_equal(clock.first.ns, from.ns);
		assert_int_equal(clock.first.tsc, from.tsc);
		assert_true(clock.last.ns - from.ns >= 50 * MS_NS);
		assert_true(clock.hz > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_estimate),
		cmocka_unit_test(test_rate_is_refined),
		cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_a_tick_back),
		cmocka_unit_test(test_another_rate),
		cmocka_unit_test(test_jumps_in_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The timekeeper: one limiter's clocks from tables, and groups whose clocks are stepped randomly.
 */
#include "check.h"

#include "base/math.h"
#include "base/prng.h"
#include "budget/timekeeper.h"

#define HOUR (3600 * SECOND)
#define DAY  (24 * HOUR)
#define YEAR (365 * DAY)
#define NOW  (56 * YEAR) /* since 1970 */
#define BOOT (3 * DAY)
#define WAIT (2 * SECOND)

#define GROUP_MOST 7

static struct time_reading reading_at(uint64_t since_ns, int64_t step_ns, bool synchronised)
{
	return (struct time_reading){.wall_ns = NOW + since_ns + (uint64_t)step_ns,
		.boot_ns = BOOT + since_ns,
		.synchronised = synchronised};
}

static void look_alone(struct timekeeper *c, uint64_t since_ns, int64_t step_ns, bool synchronised)
{
	struct time_reading reading = reading_at(since_ns, step_ns, synchronised);

	timekeeper_look(c, &reading, NULL, 0);
}

/* Difference of the time from the true one, in ns. */
static int64_t error_at(const struct timekeeper *c, uint64_t since_ns)
{
	uint64_t time_ns;

	assert_true(timekeeper_time(c, BOOT + since_ns, &time_ns));
	return (int64_t)(time_ns - (NOW + since_ns));
}

static struct timekeeper begin_alone(bool synchronised)
{
	struct timekeeper c;

	timekeeper_begin(&c, 0, BOOT, BOOT);
	look_alone(&c, 0, 0, synchronised);
	assert_int_equal(c.reason, TIME_AGREES);
	assert_true(error_at(&c, 0) == 0);
	return c;
}

/*
 * Alone, after an hour, the wall clock is stepped, and perhaps back: steps of a few seconds are
 * accepted, larger ones are not.
 */
TEST(test_steps)
{
	static const struct {
		int64_t step_ns;
		bool accepted;
	} rows[] = {
		{0, true}, {(int64_t)SECOND, true}, {-(int64_t)SECOND, true},
		{8 * (int64_t)SECOND, true}, /* 5 s, and 3.6 s for an hour */
		{-8 * (int64_t)SECOND, true}, {9 * (int64_t)SECOND, false},
		{-9 * (int64_t)SECOND, false}, {60 * (int64_t)SECOND, false}, {(int64_t)DAY, false},
		{-(int64_t)DAY, false}, {31 * (int64_t)DAY, false},
		{100 * (int64_t)YEAR, false}, /* beyond 2554, where 64 bits of ns end */
		{-56 * (int64_t)YEAR, false}, /* 1970 */
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct timekeeper c = begin_alone(true);

		look_alone(&c, HOUR, rows[i].step_ns, true);
		assert_true(error_at(&c, HOUR) == (rows[i].accepted ? rows[i].step_ns : 0));
		assert_int_equal(c.reason, rows[i].accepted ? TIME_AGREES : TIME_STEPPED);
		assert_int_equal(c.steps, !rows[i].accepted);
		look_alone(&c, HOUR + SECOND, rows[i].step_ns, true);
		assert_int_equal(c.reason, rows[i].accepted ? TIME_AGREES : TIME_STEPPED);
		assert_true(error_at(&c, 40 * DAY) == (rows[i].accepted ? rows[i].step_ns : 0));
		look_alone(&c, HOUR + 2 * SECOND, 0, true);
		if (!rows[i].accepted) {
			assert_int_equal(c.reason, TIME_AGREES);
			assert_true(c.apart_ns == 0);
		}
	}
}

/* With any wall clock, even 1,000 years ahead, nothing overflows. */
TEST(test_extremes)
{
	static const uint64_t walls[] = {0, 1, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};

	for (size_t i = 0; i < COUNT(walls); i++) {
		struct timekeeper c = begin_alone(true);
		struct time_reading reading = reading_at(HOUR, 0, true);

		reading.wall_ns = walls[i];
		assert_true(timekeeper_look(&c, &reading, NULL, 0));
		assert_int_equal(c.reason, TIME_STEPPED);
		assert_true(error_at(&c, HOUR) == 0);
	}
}

/*
 * A server that moves the wall clock by small steps, each acceptable, gets no further than the
 * slack.
 */
TEST(test_creep)
{
	struct timekeeper c = begin_alone(true);
	int64_t step_ns = 0;
	uint64_t since;

	for (since = SECOND; since < DAY; since += SECOND) {
		look_alone(&c, since, step_ns + (int64_t)(20 * MS), true);
		if (c.reason == TIME_AGREES)
			step_ns += 20 * MS;
	}
	assert_true(error_at(&c, DAY) <= (int64_t)(TIME_SLACK_NS + DAY / 1000));
	assert_true(error_at(&c, DAY) >= (int64_t)(DAY / 1000)); /* reaches the earned amount */
}

/* A clock slewed by 500 ppm for a month is accepted; so is a machine that was suspended. */
TEST(test_slew_and_sleep)
{
	struct timekeeper c = begin_alone(false);
	uint64_t since;

	for (since = 0; since < 30 * DAY; since += 10 * SECOND) {
		look_alone(&c, since, -(int64_t)(since / 2000), false);
		assert_int_equal(c.reason, TIME_AGREES);
	}
	assert_true(error_at(&c, since) < -(int64_t)(20 * 60 * SECOND));
	look_alone(&c, since + 9 * DAY, -(int64_t)(since / 2000), false);
	assert_int_equal(c.reason, TIME_AGREES);
}

/* A look every millisecond earns the same allowance as a look every hour. */
TEST(test_allowance)
{
	struct timekeeper often = begin_alone(true), seldom = begin_alone(true);
	int64_t most = (int64_t)TIME_MOST_NS;

	look_alone(&often, 1, (int64_t)TIME_SLACK_NS, true); /* uses up the allowance */
	look_alone(&seldom, 1, (int64_t)TIME_SLACK_NS, true);
	for (uint64_t since = 2; since < 999 * SECOND; since += 777777)
		look_alone(&often, since, (int64_t)TIME_SLACK_NS, true);
	look_alone(&often, 1000 * SECOND - MS, (int64_t)(TIME_SLACK_NS + SECOND), true);
	assert_int_equal(often.reason, TIME_STEPPED); /* a microsecond is missing */
	look_alone(&often, 1000 * SECOND, (int64_t)(TIME_SLACK_NS + SECOND), true);
	assert_int_equal(often.reason, TIME_AGREES);
	look_alone(&seldom, 999 * SECOND, (int64_t)(TIME_SLACK_NS + SECOND), true);
	assert_int_equal(seldom.reason, TIME_STEPPED);
	look_alone(&seldom, YEAR, (int64_t)TIME_SLACK_NS + most + 1, true);
	assert_int_equal(seldom.reason, TIME_STEPPED);
	look_alone(&seldom, YEAR, (int64_t)TIME_SLACK_NS + most, true);
	assert_int_equal(seldom.reason, TIME_AGREES);
}

/* NTP may set the clock of a machine once, after Weir has started. */
TEST(test_first_synchronised)
{
	struct timekeeper c = begin_alone(false);

	look_alone(&c, SECOND, (int64_t)DAY, false);
	assert_int_equal(c.reason, TIME_STEPPED);
	look_alone(&c, 2 * SECOND, (int64_t)DAY, true);
	assert_int_equal(c.reason, TIME_AGREES);
	assert_true(error_at(&c, 2 * SECOND) == (int64_t)DAY);
	look_alone(&c, 3 * SECOND, 3 * (int64_t)DAY, false);
	look_alone(&c, 4 * SECOND, 3 * (int64_t)DAY, true);
	assert_int_equal(c.reason, TIME_STEPPED);
	assert_true(error_at(&c, 4 * SECOND) == (int64_t)DAY);
}

#define H TIME_HELD
#define S TIME_SURE
#define B TIME_STARTS

struct voter {
	enum time_grade grade;
	int64_t hours; /* from the true time */
};

static void fill_words(
	struct time_word *words, const struct voter *voters, unsigned n, uint64_t since)
{
	for (unsigned i = 0; i < n; i++)
		words[i] = (struct time_word){
			NOW + since + (uint64_t)(voters[i].hours * (int64_t)HOUR), voters[i].grade};
}

/* A limiter whose wall clock was stepped by a day, and the votes of live neighbours. */
TEST(test_majority)
{
	static const struct {
		const char *name;
		unsigned n;
		struct voter voters[5];
		int64_t hours; /* offset of the time in use */
		enum time_reason reason;
	} rows[] = {
		{"nobody", 0, {{0}}, 0, TIME_STEPPED},
		{"one at one with us", 1, {{H, 0}}, 0, TIME_STEPPED},
		{"one with our wall", 1, {{H, 24}}, 24, TIME_AGREES},
		{"one that has only begun", 1, {{B, 24}}, 0, TIME_STEPPED},
		{"one elsewhere", 1, {{S, 7}}, 7, TIME_FOLLOWS},
		{"a tie of 2", 2, {{H, 0}, {H, 24}}, 0, TIME_STEPPED},
		{"a tie of 2, of whom one is sure", 2, {{H, 0}, {S, 24}}, 0, TIME_STEPPED},
		{"a tie of 2 elsewhere", 2, {{H, 7}, {H, 9}}, 0, TIME_STEPPED},
		{"2 of 3 with the wall", 3, {{H, 24}, {H, 0}, {S, 24}}, 24, TIME_AGREES},
		{"2 of 3 with us", 3, {{H, 0}, {H, 24}, {S, 0}}, 0, TIME_STEPPED},
		{"3 of 5 elsewhere", 5, {{H, 7}, {H, 0}, {H, 7}, {S, 0}, {H, 7}}, 7, TIME_FOLLOWS},
		{"2 of 5 elsewhere", 5, {{H, 7}, {H, 1}, {H, 7}, {S, 0}, {H, 2}}, 0, TIME_STEPPED},
		{"2 of 4", 4, {{H, 7}, {H, 0}, {H, 7}, {S, 0}}, 0, TIME_STEPPED},
		{"2 that have begun and 1 that runs", 3, {{B, 7}, {B, 7}, {H, 0}}, 0, TIME_STEPPED},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct timekeeper c = begin_alone(true);
		struct time_reading reading = reading_at(HOUR, (int64_t)DAY, true);
		struct time_word words[5];

		fill_words(words, rows[i].voters, rows[i].n, HOUR);
		timekeeper_look(&c, &reading, words, rows[i].n);
		if (error_at(&c, HOUR) != rows[i].hours * (int64_t)HOUR ||
			c.reason != rows[i].reason)
			fail_msg("%s: %lld h, %s", rows[i].name,
				(long long)(error_at(&c, HOUR) / (int64_t)HOUR),
				time_reason_name(c.reason));
	}
}

/* Neighbours cannot outvote a clock that was not stepped, unless their grade is better. */
TEST(test_outvoted)
{
	static const struct {
		bool sure;
		struct voter voters[3];
		int64_t hours;
		enum time_reason reason;
	} rows[] = {
		{true, {{S, 5}, {S, 5}, {S, 5}}, 0, TIME_OUTVOTED},
		{false, {{H, 5}, {H, 5}, {H, 5}}, 0, TIME_OUTVOTED},
		{false, {{H, 5}, {S, 5}, {H, 0}}, 5, TIME_FOLLOWS},
		{false, {{H, 0}, {S, 5}, {H, 0}}, 0, TIME_AGREES},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct timekeeper c = begin_alone(rows[i].sure);
		struct time_reading reading = reading_at(HOUR, 0, false);
		struct time_word words[3];

		fill_words(words, rows[i].voters, 3, HOUR);
		timekeeper_look(&c, &reading, words, 3);
		assert_true(error_at(&c, HOUR) == rows[i].hours * (int64_t)HOUR);
		assert_int_equal(c.reason, rows[i].reason);
		if (rows[i].reason == TIME_OUTVOTED)
			assert_true(c.apart_ns == -5 * (int64_t)HOUR);
	}
}

/*
 * At start: the error of the wall clock in hours, the remembered time, and the neighbours' votes.
 */
TEST(test_start)
{
	static const struct {
		const char *name;
		int64_t wall, floor; /* hours from the true time */
		bool synchronised, waited, known;
		unsigned roster, n;
		struct voter voters[4];
		int64_t hours;
		enum time_reason reason;
	} rows[] = {
		{"alone", 3, -9, false, true, true, 0, 0, {{0}}, 3, TIME_AGREES},
		{"alone, before the ledger", -3, -1, false, true, false, 0, 0, {{0}}, 0,
			TIME_BEFORE},
		{"before a ledger of a wrong clock", 0, 900, true, true, true, 0, 0, {{0}}, 0,
			TIME_AGREES},
		{"nobody heard yet", 0, -9, true, false, false, 2, 0, {{0}}, 0, TIME_WAITS},
		{"nobody heard", 0, -9, false, true, true, 2, 0, {{0}}, 0, TIME_AGREES},
		{"half of the roster, with us", 0, -9, false, false, true, 2, 1, {{B, 0}}, 0,
			TIME_AGREES},
		{"2 of 4", 0, -9, false, false, false, 3, 1, {{H, 0}}, 0, TIME_WAITS},
		{"3 of 4", 0, -9, false, false, true, 3, 2, {{H, 0}, {B, 0}}, 0, TIME_AGREES},
		{"two that start, of whom one is wrong", 0, -9, false, true, true, 1, 1, {{B, 800}},
			0, TIME_AGREES},
		{"two of three that start", 0, -9, false, true, true, 2, 2, {{B, 800}, {B, 800}},
			800, TIME_FOLLOWS},
		{"ahead, and one says so", 800, -9, false, false, false, 1, 1, {{H, 0}}, 0,
			TIME_WAITS},
		{"ahead, and one has said so", 800, -9, false, true, true, 1, 1, {{H, 0}}, 0,
			TIME_FOLLOWS},
		{"in 1970, and one says so", -400000, -9, false, true, true, 1, 1, {{H, 0}}, 0,
			TIME_FOLLOWS},
		{"right, and knows it", 0, -9, true, true, true, 1, 1, {{H, -400000}}, 0,
			TIME_OUTVOTED},
		{"sure neighbours", 800, -9, true, true, true, 2, 2, {{S, 0}, {H, 0}}, 0,
			TIME_FOLLOWS},
		{"a tie of 2", 800, -9, false, true, true, 2, 2, {{H, 0}, {H, 800}}, 800,
			TIME_AGREES},
		{"before, and they say so", -3, -1, false, true, false, 2, 2, {{H, -3}, {H, -3}}, 0,
			TIME_BEFORE},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct time_reading reading = reading_at(rows[i].waited ? WAIT : WAIT / 2,
			rows[i].wall * (int64_t)HOUR, rows[i].synchronised);
		struct time_word words[4];
		struct timekeeper c;
		uint64_t time_ns;

		timekeeper_begin(&c, rows[i].roster, BOOT, rows[i].roster ? BOOT + WAIT : BOOT);
		timekeeper_remembers(&c, NOW + (uint64_t)(rows[i].floor * (int64_t)HOUR));
		fill_words(words, rows[i].voters, rows[i].n, reading.boot_ns - BOOT);
		timekeeper_look(&c, &reading, words, rows[i].n);
		if (timekeeper_time(&c, BOOT, &time_ns) != rows[i].known ||
			c.reason != rows[i].reason ||
			(rows[i].known && error_at(&c, 0) != rows[i].hours * (int64_t)HOUR))
			fail_msg("%s: %s", rows[i].name, time_reason_name(c.reason));
		assert_int_equal(timekeeper_word(&c, BOOT).grade, !rows[i].known ? TIME_STARTS
								  : rows[i].synchronised || c.sure
									  ? TIME_SURE
									  : TIME_HELD);
	}
}

struct box {
	struct timekeeper keeper;
	int64_t step_ns;
	uint64_t stepped_ns; /* boot time of the next step of the wall clock */
	bool synchronised;
};

static void start_box(struct box *box, unsigned n, uint64_t since)
{
	timekeeper_begin(&box->keeper, n - 1, BOOT + since, BOOT + since + WAIT);
	timekeeper_remembers(&box->keeper, NOW + since - 60 * SECOND);
}

static void look_in_group(struct box *boxes, unsigned n, unsigned self, uint64_t since)
{
	struct time_reading reading = reading_at(
		since, boxes[self].step_ns, boxes[self].synchronised);
	struct time_word words[GROUP_MOST];
	unsigned heard = 0;

	for (unsigned i = 0; i < n; i++) {
		words[heard] = timekeeper_word(&boxes[i].keeper, BOOT + since);
		heard += i != self && words[heard].grade != TIME_NOTHING;
	}
	timekeeper_look(&boxes[self].keeper, &reading, words, heard);
}

/*
 * Less than half of the clocks of a group are stepped, at any time and by any amount, and any
 * limiter restarts at any time. Every time in use is right, within the corrections.
 */
static void play_group(uint64_t seed)
{
	struct box boxes[GROUP_MOST] = {0};
	struct prng prng;
	unsigned n, liars;

	prng_seed(&prng, seed);
	n = 3 + prng_below(&prng, GROUP_MOST - 2);
	liars = (n - 1) / 2;
	for (unsigned i = 0; i < n; i++)
		start_box(&boxes[i], n, 0);
	for (uint64_t since = 0; since < 600 * SECOND; since += 500 * MS) {
		struct box *box = &boxes[prng_below(&prng, liars)];

		if (prng_below(&prng, 40) == 0)
			box->step_ns = prng_percent(&prng, 30)
					       ? 0
					       : (int64_t)prng_within(&prng, 2 * YEAR) -
							 (int64_t)YEAR;
		if (since > 10 * SECOND && prng_below(&prng, 100) == 0)
			start_box(&boxes[prng_below(&prng, n)], n, since);
		for (unsigned i = 0; i < n; i++) {
			uint64_t time_ns;

			look_in_group(boxes, n, i, since);
			if (!timekeeper_time(&boxes[i].keeper, BOOT + since, &time_ns))
				continue;
			if (max_u64(time_ns, NOW + since) - min_u64(time_ns, NOW + since) >
				TIME_GROUP_NS)
				fail_msg("seed %llu: limiter %u of %u is %lld s off",
					(unsigned long long)seed, i, n,
					(long long)(int64_t)(time_ns - NOW - since) /
						(long long)SECOND);
		}
	}
}

TEST(test_group)
{
	for (uint64_t seed = 1; seed <= ROUNDS(300); seed++)
		play_group(seed);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Periods of quotas, second by second around their ends, compared with a calendar that counts days.
 */
#include "check.h"

#include "allocate/allocate.h"
#include "policy/kind.h"
#include "policy/names.h"
#include "policy/period.h"

#define DAY                INT64_C(86400)
#define HOUR               UINT64_C(3600000000000)
#define MONTH(year, month) ((year)*UINT64_C(12) + (month)-1)

static struct policy quota_policy(enum period period, uint64_t period_ns)
{
	return (struct policy){
		.name = "p",
		.allocator = &allocator_quota,
		.period = period,
		.period_ns = period_ns,
	};
}

TEST(test_none)
{
	struct policy policy = quota_policy(PERIOD_NONE, 0);

	assert_int_equal(period_number(&policy, -1), 1);
	assert_int_equal(period_number(&policy, 0), 1);
	assert_int_equal(period_number(&policy, INT64_MAX), 1);
	assert_int_equal(period_begins(&policy, 1), 0);
	assert_true(period_ends(&policy, 1) == PERIOD_NEVER);
}

TEST(test_fixed)
{
	static const struct {
		uint64_t period_ns;
		int64_t unix_s;
		uint64_t number;
	} rows[] = {
		{24 * HOUR, 0, 1},
		{24 * HOUR, DAY - 1, 1},
		{24 * HOUR, DAY, 2},
		{24 * HOUR, 20000 * DAY - 1, 20000},
		{24 * HOUR, 20000 * DAY, 20001},
		{HOUR / 60, 59, 1},
		{HOUR / 60, 60, 2},
		{8784 * HOUR, 366 * DAY - 1, 1},
		{8784 * HOUR, 366 * DAY, 2},
		/* A clock that was never set. */
		{24 * HOUR, -1, 1},
		{24 * HOUR, -DAY - 1, 1},
		{24 * HOUR, INT64_MIN, 1},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct policy policy = quota_policy(PERIOD_FIXED, rows[i].period_ns);
		int64_t length = (int64_t)(rows[i].period_ns / 1000000000);
		uint64_t number = period_number(&policy, rows[i].unix_s);

		if (number != rows[i].number)
			fail_msg("row %zu: %ju", i, (uintmax_t)number);
		assert_int_equal(
			period_ends(&policy, number) - period_begins(&policy, number), length);
		if (rows[i].unix_s < 0)
			continue;
		assert_true(period_begins(&policy, number) <= rows[i].unix_s);
		assert_true(period_ends(&policy, number) > rows[i].unix_s);
	}
}

/* The first second of a month, by `date -u -d YYYY-MM-01 +%s`. */
TEST(test_month)
{
	static const struct {
		int64_t begins;
		uint64_t number;
	} rows[] = {
		{0, MONTH(1970, 1)}, {2678400, MONTH(1970, 2)},
		{68256000, MONTH(1972, 3)}, /* 1 March, after a leap day */
		{946684800, MONTH(2000, 1)},
		{951868800, MONTH(2000, 3)}, /* a leap year by the third rule */
		{1706745600, MONTH(2024, 2)}, {1709251200, MONTH(2024, 3)},
		{1735689600, MONTH(2025, 1)}, /* 31 December before it */
		{1740787200, MONTH(2025, 3)},
		{4107542400, MONTH(2100, 3)}, /* no leap year by the second rule */
	};
	struct policy policy = quota_policy(PERIOD_MONTH, 0);

	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t number = rows[i].number;

		if (period_number(&policy, rows[i].begins) != number ||
			period_begins(&policy, number) != rows[i].begins ||
			period_ends(&policy, number - 1) != rows[i].begins)
			fail_msg("row %zu", i);
		if (i > 0)
			assert_int_equal(period_number(&policy, rows[i].begins - 1), number - 1);
	}
	assert_int_equal(period_number(&policy, -1), MONTH(1970, 1));
	assert_int_equal(period_number(&policy, INT64_MIN), MONTH(1970, 1));
}

static bool is_leap(unsigned year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Every day of 830 years, two cycles of the calendar. */
TEST(test_every_day)
{
	static const unsigned lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	struct policy policy = quota_policy(PERIOD_MONTH, 0);
	int64_t day = 0;

	for (unsigned year = 1970; year < 2800; year++) {
		for (unsigned month = 1; month <= 12; month++) {
			unsigned days = lengths[month - 1] + (month == 2 && is_leap(year));
			uint64_t number = MONTH(year, month);

			if (period_begins(&policy, number) != day * DAY)
				fail_msg("%u-%02u begins at %jd", year, month,
					(intmax_t)period_begins(&policy, number));
			for (unsigned d = 0; d < days; d++, day++) {
				if (period_number(&policy, day * DAY) != number ||
					period_number(&policy, day * DAY + DAY - 1) != number)
					fail_msg("%u-%02u-%02u", year, month, d + 1);
			}
		}
	}
}

/* Another numbering of periods makes another quota; no other change does. */
TEST(test_quota_key)
{
	struct policy none = quota_policy(PERIOD_NONE, 0), month = quota_policy(PERIOD_MONTH, 0);
	struct policy day = quota_policy(PERIOD_FIXED, 24 * HOUR),
		      week = quota_policy(PERIOD_FIXED, 168 * HOUR);
	struct policy other = day, more = day, rate = {.name = "p", .allocator = &allocator_fps};

	strcpy(other.name, "q");
	more.total = 5;
	more.limit_bps = 8000;
	assert_int_equal(policy_key(&none).id, policy_key(&rate).id);
	assert_int_not_equal(policy_key(&none).id, policy_key(&month).id);
	assert_int_not_equal(policy_key(&none).id, policy_key(&day).id);
	assert_int_not_equal(policy_key(&month).id, policy_key(&day).id);
	assert_int_not_equal(policy_key(&day).id, policy_key(&week).id);
	assert_int_not_equal(policy_key(&day).id, policy_key(&other).id);
	assert_int_equal(policy_key(&day).id, policy_key(&more).id);
}

TEST(test_budget_name)
{
	struct policy none = quota_policy(PERIOD_NONE, 0), month = quota_policy(PERIOD_MONTH, 0);
	struct policy longest = quota_policy(PERIOD_FIXED, 8784 * HOUR);
	char text[BUDGET_NAME_MAX];

	memset(longest.name, 'x', CONFIG_NAME_MAX - 1);
	assert_string_equal(budget_name(&none, text, sizeof(text)), "p");
	assert_string_equal(budget_name(&month, text, sizeof(text)), "p:month");
	budget_name(&longest, text, sizeof(text));
	assert_string_equal(text + CONFIG_NAME_MAX - 1, ":31622400s");
}

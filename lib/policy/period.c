/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/period.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/time.h"

#define DAY_S  INT64_C(86400)
#define MONTHS 12

/*
 * A year that begins in March ends with its leap day. Any 400 years have the same number of days.
 */
#define ERA_YEARS  INT64_C(400)
#define ERA_DAYS   INT64_C(146097)
#define EPOCH_DAYS INT64_C(719468) /* from 1 March of year 0 to 1 January 1970 */

/* Returns the months from January of year 0 to the month of a day since 1970. */
static uint64_t month_of(int64_t days)
{
	int64_t since = days + EPOCH_DAYS, era = since / ERA_DAYS, day = since % ERA_DAYS;
	int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	int64_t month = (5 * (day - (365 * year + year / 4 - year / 100)) + 2) / 153;

	return (uint64_t)((era * ERA_YEARS + year) * MONTHS + month + 2);
}

/* Returns the days from 1970 to the first day of a month. */
static int64_t days_to(uint64_t number)
{
	int64_t months = (int64_t)number - 2, era = months / MONTHS / ERA_YEARS;
	int64_t year = months / MONTHS % ERA_YEARS;
	/* Months have 31 30 31 30 31 days, twice, then 31 and 28 or 29. */
	int64_t days_before = (153 * (months % MONTHS) + 2) / 5;
	int64_t days = 365 * year + year / 4 - year / 100 + days_before;

	return era * ERA_DAYS + days - EPOCH_DAYS;
}

static int64_t fixed_s(const struct policy *policy)
{
	return (int64_t)(policy->period_ns / SECOND_NS);
}

uint64_t period_number(const struct policy *policy, int64_t unix_s)
{
	int64_t now = unix_s > 0 ? unix_s : 0;

	switch (policy->period) {
	case PERIOD_NONE:
		break;
	case PERIOD_FIXED:
		return (uint64_t)(now / fixed_s(policy)) + 1;
	case PERIOD_MONTH:
		return month_of(now / DAY_S);
	}
	return 1;
}

int64_t period_begins(const struct policy *policy, uint64_t number)
{
	switch (policy->period) {
	case PERIOD_NONE:
		break;
	case PERIOD_FIXED:
		return (int64_t)(number - 1) * fixed_s(policy);
	case PERIOD_MONTH:
		return days_to(number) * DAY_S;
	}
	return 0;
}

int64_t period_ends(const struct policy *policy, uint64_t number)
{
	return policy->period == PERIOD_NONE ? PERIOD_NEVER : period_begins(policy, number + 1);
}

/* Names contain no colon, so the texts differ. */
char *budget_name(const struct policy *policy, char *buf, size_t size)
{
	switch (policy->period) {
	case PERIOD_NONE:
		snprintf(buf, size, "%s", policy->name);
		break;
	case PERIOD_FIXED:
		snprintf(buf, size, "%s:%" PRId64 "s", policy->name, fixed_s(policy));
		break;
	case PERIOD_MONTH:
		snprintf(buf, size, "%s:month", policy->name);
		break;
	}
	return buf;
}

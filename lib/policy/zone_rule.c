/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/zone_rule.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>

#include "policy/zone.h"

#define DAY_S    INT64_C(86400)
#define HOUR_S   3600
#define MINUTE_S 60
#define WEEK     7

/* 400 years of the calendar always have the same number of days. Here, they begin in 1970. */
#define ERA_YEARS  400
#define ERA_DAYS   INT64_C(146097)
#define FIRST_YEAR 1970
#define EPOCH_WDAY 4 /* 1 January 1970 is a Thursday; Sunday is 0 */

/* Year 10000. Before 1970 the file's transitions apply, not the rule. */
#define TIME_MOST INT64_C(253402300800)

/* POSIX allows up to a day, the footers of TZif up to a week, in both directions. */
#define OFFSET_HOURS 24
#define TURN_HOURS   167

/* Defaults: clocks go forward by an hour, and change at two. */
#define SUMMER_S HOUR_S
#define TURN_S   (2 * HOUR_S)

/* Reads a number of at most `most` and advances `at`; returns -1 if there is none. */
static int read_digits(const char **at, int most)
{
	int number = -1;

	for (; isdigit((unsigned char)**at); (*at)++) {
		number = (number < 0 ? 0 : number) * 10 + (**at - '0');
		if (number > most)
			return -1;
	}
	return number;
}

/* Reads "[+-]hh[:mm[:ss]]" in seconds. */
static int read_clock(const char **at, int hours_most, int32_t *out)
{
	int sign = 1, parts[3] = {0};

	if (**at == '+' || **at == '-')
		sign = *(*at)++ == '-' ? -1 : 1;
	for (int i = 0; i < 3; i++) {
		parts[i] = read_digits(at, i == 0 ? hours_most : MINUTE_S - 1);
		if (parts[i] < 0)
			return -EINVAL;
		if (**at != ':')
			break;
		if (i < 2)
			(*at)++;
	}
	*out = sign * (parts[0] * HOUR_S + parts[1] * MINUTE_S + parts[2]);
	return 0;
}

/* Skips "CET" or "<+03>": the name has no effect. */
static int skip_name(const char **at)
{
	const char *from = *at;
	bool quoted = **at == '<';

	*at += quoted;
	while (isalpha((unsigned char)**at) ||
		(quoted && (isdigit((unsigned char)**at) || **at == '+' || **at == '-')))
		(*at)++;
	if (*at - from < 3 || (quoted && *(*at)++ != '>'))
		return -EINVAL;
	return 0;
}

/* Reads "M3.5.0": the last (5) Sunday (0) of March. */
static int read_weekday(const char **at, struct zone_turn *turn)
{
	turn->kind = ZONE_DAY_OF_MONTH;
	turn->month = read_digits(at, 12);
	if (turn->month < 1 || *(*at)++ != '.')
		return -EINVAL;
	turn->week = read_digits(at, 5);
	if (turn->week < 1 || *(*at)++ != '.')
		return -EINVAL;
	turn->day = read_digits(at, WEEK - 1);
	return turn->day < 0 ? -EINVAL : 0;
}

static int read_day(const char **at, struct zone_turn *turn)
{
	if (**at == 'M') {
		(*at)++;
		return read_weekday(at, turn);
	}
	turn->kind = **at == 'J' ? ZONE_DAY_OF_365 : ZONE_DAY_OF_YEAR;
	*at += **at == 'J';
	turn->day = read_digits(at, 365);
	return turn->day < (turn->kind == ZONE_DAY_OF_365) ? -EINVAL : 0;
}

static int read_turn(const char **at, struct zone_turn *turn)
{
	int ret = *(*at)++ == ',' ? read_day(at, turn) : -EINVAL;

	turn->time_s = TURN_S;
	if (ret || **at != '/')
		return ret;
	(*at)++;
	return read_clock(at, TURN_HOURS, &turn->time_s);
}

/* Reads the part after standard time. POSIX counts offsets from the zone to UTC. */
static int read_summer(const char **at, struct zone_rule *rule)
{
	int32_t west = 0;
	int ret = skip_name(at);

	rule->turns = true;
	rule->summer_s = rule->standard_s + SUMMER_S;
	if (ret == 0 && **at != ',') {
		ret = read_clock(at, OFFSET_HOURS, &west);
		rule->summer_s = -west;
	}
	if (ret == 0)
		ret = read_turn(at, &rule->begins);
	return ret ? ret : read_turn(at, &rule->ends);
}

int zone_rule_parse(const char *text, struct zone_rule *out)
{
	struct zone_rule rule = {0};
	int32_t west = 0;
	int ret = skip_name(&text);

	if (ret == 0)
		ret = read_clock(&text, OFFSET_HOURS, &west);
	rule.standard_s = -west;
	if (ret == 0 && *text)
		ret = read_summer(&text, &rule);
	if (ret || *text)
		return -EINVAL;
	*out = rule;
	return 0;
}

static bool is_leap(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Returns the leap days from 1 January of year 0 to that of another year. */
static int64_t leap_days(int64_t year)
{
	return year > 0 ? (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 + 1 : 0;
}

/* Returns the days from 1970 to 1 January of a year, which is 0 or later. */
static int64_t days_to_year(int64_t year)
{
	return (year - FIRST_YEAR) * 365 + leap_days(year) - leap_days(FIRST_YEAR);
}

static int days_before_month(int month, bool leap)
{
	static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};

	return before[month - 1] + (leap && month > 2);
}

/* Returns the day of the year for a weekday of a month; the fifth is the last one. */
static int64_t find_weekday(const struct zone_turn *turn, int64_t year)
{
	int first = days_before_month(turn->month, is_leap(year));
	int end = days_before_month(turn->month + 1, is_leap(year));
	/* Negative in 1969, which is needed in 1970. */
	int64_t wday = (days_to_year(year) + first + EPOCH_WDAY) % WEEK;
	int64_t day = first + (turn->day - wday + WEEK) % WEEK + (turn->week - 1) * WEEK;

	while (day >= end)
		day -= WEEK;
	return day;
}

static int64_t turn_day(const struct zone_turn *turn, int64_t year)
{
	switch (turn->kind) {
	case ZONE_DAY_OF_365:
		/* The 60th is 1 March. */
		return turn->day - 1 + (is_leap(year) && turn->day >= 60);
	case ZONE_DAY_OF_MONTH:
		return find_weekday(turn, year);
	case ZONE_DAY_OF_YEAR:
		break;
	}
	return turn->day;
}

/* Returns the time of a turn; before_s is the offset before it. */
static int64_t turn_time(const struct zone_turn *turn, int64_t year, int32_t before_s)
{
	return (days_to_year(year) + turn_day(turn, year)) * DAY_S + turn->time_s - before_s;
}

/* The latest turn so far, and the next one. */
struct turns {
	int64_t last, next;
	int32_t offset_s;
};

/* Turns arrive by ascending year. If several are at the same moment, the last one counts. */
static void take_turn(struct turns *turns, int64_t unix_s, int64_t at, int32_t offset_s)
{
	if (at > unix_s && at < turns->next)
		turns->next = at;
	if (at > unix_s || at < turns->last)
		return;
	turns->last = at;
	turns->offset_s = offset_s;
}

int32_t zone_rule_at(const struct zone_rule *rule, int64_t unix_s, int64_t *until)
{
	struct turns turns = {INT64_MIN, ZONE_NEVER, rule->standard_s};
	int64_t day = unix_s / DAY_S, year;

	*until = ZONE_NEVER;
	if (!rule->turns || unix_s >= TIME_MOST || unix_s < 0)
		return rule->standard_s;
	year = FIRST_YEAR + day * ERA_YEARS / ERA_DAYS;
	while (days_to_year(year) > day)
		year--;
	while (days_to_year(year + 1) <= day)
		year++;
	for (int64_t y = year - 1; y <= year + 1; y++) {
		int64_t begins = turn_time(&rule->begins, y, rule->standard_s);
		int64_t ends = turn_time(&rule->ends, y, rule->summer_s);

		/* In the southern hemisphere, summer begins late in a year and ends early in it. */
		if (begins > ends)
			take_turn(&turns, unix_s, ends, rule->standard_s);
		take_turn(&turns, unix_s, begins, rule->summer_s);
		if (begins <= ends)
			take_turn(&turns, unix_s, ends, rule->standard_s);
	}
	*until = turns.next;
	return turns.offset_s;
}

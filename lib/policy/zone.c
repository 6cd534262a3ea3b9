/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads compiled files of tzdata, and applies their transitions and the rule after the last one.
 */
#include "policy/zone.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/wire.h"

/*
 * A file has two blocks, each with a header: one of 32-bit times, for old readers, and one of
 * 64-bit times. The rule follows, between two newlines.
 */
#define HEADER    44
#define AT_COUNTS 20
#define TYPE      6 /* bytes: offset (4), is it summer time (1), index of its name (1) */
#define RULE_MAX  128

/* No zone had 1,000 transitions in a thousand years. The index of a type is one byte. */
#define TIMES_MOST 2000
#define TYPES_MOST 256

/* No offset is more than a week. */
#define OFFSET_MOST (7 * 86400)

struct transition {
	int64_t at;
	int32_t offset_s; /* from then on */
};

struct zone {
	char name[ZONE_NAME_MAX];
	char text[RULE_MAX]; /* the rule as text */
	bool ruled;
	struct zone_rule rule;
	int32_t first_s; /* before the first transition */
	unsigned n;
	struct transition transitions[];
};

/* Numbers of entries in a block, in the order of the header. */
struct counts {
	uint32_t utc, standard, leaps, times, types, chars;
};

bool zone_name_valid(const char *name)
{
	size_t len = strlen(name);
	char before = '/';

	if (len == 0 || len >= ZONE_NAME_MAX || name[len - 1] == '/')
		return false;
	for (const char *at = name; *at; before = *at++)
		if (!isalnum((unsigned char)*at) && !strchr("_+-", *at) &&
			(*at != '/' || before == '/'))
			return false;
	return true;
}

static int read_header(const uint8_t *at, size_t len, struct counts *counts)
{
	if (len < HEADER || memcmp(at, "TZif", 4) != 0 || at[4] < '2')
		return -EINVAL;
	at = wire_get32(at + AT_COUNTS, &counts->utc);
	at = wire_get32(at, &counts->standard);
	at = wire_get32(at, &counts->leaps);
	at = wire_get32(at, &counts->times);
	at = wire_get32(at, &counts->types);
	wire_get32(at, &counts->chars);
	if (counts->times > TIMES_MOST || counts->types > TYPES_MOST || counts->types == 0 ||
		counts->chars > ZONE_FILE_MAX || counts->leaps > ZONE_FILE_MAX ||
		counts->utc > TYPES_MOST || counts->standard > TYPES_MOST)
		return -EINVAL;
	return 0;
}

static size_t block_bytes(const struct counts *c, size_t time)
{
	return c->times * (time + 1) + c->types * TYPE + c->chars + c->leaps * (time + 4) +
	       c->standard + c->utc;
}

static int read_offset(const uint8_t *types, uint32_t n, unsigned type, int32_t *out)
{
	uint32_t value;

	if (type >= n)
		return -EINVAL;
	wire_get32(types + (size_t)type * TYPE, &value);
	*out = (int32_t)value;
	return *out < -OFFSET_MOST || *out > OFFSET_MOST ? -EINVAL : 0;
}

/* Reads the block of 64-bit times. The caller has checked its length. */
static int read_transitions(struct zone *zone, const uint8_t *at, const struct counts *counts)
{
	const uint8_t *kinds = at + (size_t)counts->times * 8, *types = kinds + counts->times;
	int ret = read_offset(types, counts->types, 0, &zone->first_s);

	for (uint32_t i = 0; ret == 0 && i < counts->times; i++) {
		struct transition *next = &zone->transitions[i];
		uint64_t time;

		at = wire_get64(at, &time);
		next->at = (int64_t)time;
		ret = read_offset(types, counts->types, kinds[i], &next->offset_s);
		if (i > 0 && next->at <= next[-1].at)
			ret = -EINVAL;
	}
	zone->n = counts->times;
	return ret;
}

/* Reads the rule between newlines. An empty one gives no information after the last transition. */
static int read_rule(struct zone *zone, const uint8_t *at, size_t len)
{
	const uint8_t *end = len > 1 && at[0] == '\n' ? memchr(at + 1, '\n', len - 1) : NULL;
	size_t n = end ? (size_t)(end - at - 1) : 0;

	if (!end || n >= sizeof(zone->text) || memchr(at, '\0', n + 1))
		return -EINVAL;
	memcpy(zone->text, at + 1, n);
	zone->ruled = n > 0;
	return zone->ruled ? zone_rule_parse(zone->text, &zone->rule) : 0;
}

/* Parses the file after the first block. */
static int parse_second(const uint8_t *at, size_t len, const char *name, struct zone **out)
{
	struct counts counts;
	int ret = read_header(at, len, &counts);
	struct zone *zone;

	if (ret || counts.leaps || block_bytes(&counts, 8) > len - HEADER)
		return -EINVAL;
	zone = calloc(1, sizeof(*zone) + counts.times * sizeof(zone->transitions[0]));
	if (!zone)
		return -ENOMEM;
	at += HEADER;
	len -= HEADER;
	snprintf(zone->name, sizeof(zone->name), "%s", name);
	ret = read_transitions(zone, at, &counts);
	if (ret == 0)
		ret = read_rule(zone, at + block_bytes(&counts, 8), len - block_bytes(&counts, 8));
	if (ret)
		zone_free(zone);
	else
		*out = zone;
	return ret;
}

int zone_parse(const uint8_t *bytes, size_t len, const char *name, struct zone **out)
{
	struct counts counts;
	size_t first;

	*out = NULL;
	if (read_header(bytes, len, &counts))
		return -EINVAL;
	first = HEADER + block_bytes(&counts, 4);
	return first > len ? -EINVAL : parse_second(bytes + first, len - first, name, out);
}

void zone_free(struct zone *zone)
{
	free(zone);
}

const char *zone_name(const struct zone *zone)
{
	return zone->name;
}

/* Returns the index of the first transition later than a time, or n. */
static unsigned next_transition(const struct zone *zone, int64_t unix_s)
{
	unsigned low = 0, high = zone->n;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (zone->transitions[middle].at <= unix_s)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct zone_span zone_at(const struct zone *zone, int64_t unix_s)
{
	unsigned next = next_transition(zone, unix_s);
	struct zone_span span = {.until = ZONE_NEVER};

	if (next == zone->n && zone->ruled) {
		span.offset_s = zone_rule_at(&zone->rule, unix_s, &span.until);
		return span;
	}
	span.offset_s = next > 0 ? zone->transitions[next - 1].offset_s : zone->first_s;
	if (next < zone->n)
		span.until = zone->transitions[next].at;
	return span;
}

char *zone_format(const struct zone *zone, int64_t unix_s, char *buf)
{
	int32_t offset_s = zone ? zone_at(zone, unix_s).offset_s : 0;
	time_t local = (time_t)(unix_s + offset_s);
	unsigned ahead = (unsigned)(offset_s < 0 ? -offset_s : offset_s);
	struct tm tm;
	size_t len;

	if (!gmtime_r(&local, &tm)) {
		snprintf(buf, ZONE_TEXT_MAX, "-");
		return buf;
	}
	len = strftime(buf, ZONE_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	if (zone)
		snprintf(buf + len, ZONE_TEXT_MAX - len, "%c%02u:%02u", offset_s < 0 ? '-' : '+',
			ahead / 3600, ahead / 60 % 60);
	else
		snprintf(buf + len, ZONE_TEXT_MAX - len, "Z");
	return buf;
}

uint64_t zone_digest(const struct zone *zone)
{
	uint64_t hash = hash64_step(HASH64_BASIS, name_hash(zone->name));

	hash = hash64_step(hash, name_hash(zone->text));
	return hash ? hash : 1;
}

/* The rule for all later years. */

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

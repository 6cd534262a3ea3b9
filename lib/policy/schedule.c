/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/schedule.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"

#define WEEK_S INT64_C(604800)

/* 1 January 1970 was a Thursday. */
#define MONDAY_S (3 * INT64_C(86400))

/* A change occurs within a week, or within two if the change of clocks skips it once. */
#define AHEAD_S (3 * WEEK_S)

static const char *const day_names[SCHEDULE_DAYS] = {
	"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

/* Seconds of the week in which an entry applies; `to` is at most WEEK_S. */
struct stretch {
	uint32_t from, to;
	unsigned entry;
};

struct limit_terms policy_terms(const struct policy *policy)
{
	return (struct limit_terms){policy->limit_bps, policy->limit_s, policy->burst_bytes};
}

struct policy policy_with_terms(const struct policy *policy, const struct limit_terms *terms)
{
	struct policy other = *policy;

	other.schedule = NULL;
	other.limit_bps = terms->limit_bps;
	other.limit_s = terms->limit_s;
	other.burst_bytes = terms->burst_bytes;
	return other;
}

static unsigned add_stretch(struct stretch *out, unsigned entry, int64_t from, int64_t to)
{
	if (to <= WEEK_S) {
		out[0] = (struct stretch){(uint32_t)from, (uint32_t)to, entry};
		return 1;
	}
	out[0] = (struct stretch){(uint32_t)from, (uint32_t)WEEK_S, entry};
	out[1] = (struct stretch){0, (uint32_t)(to - WEEK_S), entry};
	return 2;
}

/* Lists one stretch for each day of each entry, and a second one if it passes the week's end. */
static unsigned list_stretches(const struct schedule *schedule, struct stretch *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < schedule->n; i++) {
		const struct schedule_entry *entry = &schedule->entries[i];
		int64_t length = (int64_t)entry->to_s - entry->from_s;

		length += length <= 0 ? SCHEDULE_DAY_S : 0;
		for (unsigned day = 0; day < SCHEDULE_DAYS; day++) {
			int64_t from = (int64_t)day * SCHEDULE_DAY_S + entry->from_s;

			if (entry->days >> day & 1)
				n += add_stretch(out + n, i, from, from + length);
		}
	}
	return n;
}

static int compare_stretches(const void *a, const void *b)
{
	const struct stretch *left = a, *right = b;

	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	return left->entry < right->entry ? -1 : left->entry > right->entry;
}

static int find_clash(const struct stretch *stretches, unsigned n, struct schedule_clash *clash)
{
	for (unsigned i = 1; i < n; i++) {
		unsigned a = stretches[i - 1].entry, b = stretches[i].entry;

		if (stretches[i].from >= stretches[i - 1].to)
			continue;
		*clash = (struct schedule_clash){a < b ? a : b, a < b ? b : a, stretches[i].from};
		return -EEXIST;
	}
	return 0;
}

static void add_turn(struct schedule *schedule, uint32_t at_s, int entry)
{
	schedule->turns[schedule->n_turns++] = (struct schedule_turn){at_s, entry};
}

static void list_turns(struct schedule *schedule, const struct stretch *stretches, unsigned n)
{
	uint32_t at = 0;

	schedule->n_turns = 0;
	for (unsigned i = 0; i < n; i++) {
		if (stretches[i].from > at)
			add_turn(schedule, at, SCHEDULE_NONE);
		add_turn(schedule, stretches[i].from, (int)stretches[i].entry);
		at = stretches[i].to;
	}
	if (at < WEEK_S)
		add_turn(schedule, at, SCHEDULE_NONE);
}

int schedule_arrange(struct schedule *schedule, struct schedule_clash *clash)
{
	size_t most = (size_t)schedule->n * (SCHEDULE_DAYS + 1);
	struct stretch *stretches = calloc(most + 1, sizeof(*stretches));
	struct schedule_turn *turns = calloc(2 * most + 1, sizeof(*turns));
	unsigned n;
	int ret;

	if (!stretches || !turns) {
		free(stretches);
		free(turns);
		return -ENOMEM;
	}
	free(schedule->turns);
	schedule->turns = turns;
	n = list_stretches(schedule, stretches);
	qsort(stretches, n, sizeof(*stretches), compare_stretches);
	ret = find_clash(stretches, n, clash);
	if (ret == 0)
		list_turns(schedule, stretches, n);
	free(stretches);
	return ret;
}

void schedule_free(struct schedule *schedule)
{
	if (!schedule)
		return;
	free(schedule->entries);
	free(schedule->turns);
	free(schedule);
}

/* Returns the last turn at or before a second of the week. */
static unsigned find_turn(const struct schedule *schedule, int64_t second)
{
	unsigned low = 0, high = schedule->n_turns;

	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;

		if (schedule->turns[middle].at_s <= second)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * Returns the entry that applies, and the time to look again: the next turn or change of the
 * clocks.
 */
static int look_at_week(const struct schedule *schedule, int64_t unix_s, int64_t *again)
{
	struct zone_span span = zone_at(schedule->zone, unix_s);
	const int64_t since_monday = (unix_s + span.offset_s + MONDAY_S) % WEEK_S;
	int64_t second = since_monday < 0 ? since_monday + WEEK_S : since_monday;
	unsigned turn = find_turn(schedule, second);
	int64_t next = turn + 1 < schedule->n_turns ? schedule->turns[turn + 1].at_s : WEEK_S;

	*again = unix_s + (next - second);
	if (span.until < *again)
		*again = span.until;
	return schedule->turns[turn].entry;
}

struct schedule_now schedule_at(const struct schedule *schedule, int64_t unix_s)
{
	struct schedule_now now = {.until = ZONE_NEVER};
	int64_t at, again;

	now.entry = look_at_week(schedule, unix_s, &again);
	while (now.until == ZONE_NEVER && again - unix_s < AHEAD_S) {
		at = again;
		if (look_at_week(schedule, at, &again) != now.entry)
			now.until = at;
	}
	return now;
}

static uint64_t digest_terms(uint64_t hash, const struct limit_terms *terms)
{
	hash = hash64_step(hash, terms->limit_bps);
	hash = hash64_step(hash, terms->limit_s ? terms->limit_s : 1);
	return hash64_step(hash, terms->burst_bytes);
}

/* Ignores turns between entries with the same limit. */
uint64_t schedule_digest(const struct schedule *schedule)
{
	static const struct limit_terms none;
	const struct limit_terms *last = NULL;
	uint64_t hash;

	if (!schedule)
		return 0;
	hash = hash64_step(HASH64_BASIS, schedule->zone ? zone_digest(schedule->zone) : 0);
	for (unsigned i = 0; i < schedule->n_turns; i++) {
		int entry = schedule->turns[i].entry;
		const struct limit_terms *terms = entry == SCHEDULE_NONE
							  ? &none
							  : &schedule->entries[entry].terms;

		if (!last || digest_terms(HASH64_BASIS, last) != digest_terms(HASH64_BASIS, terms))
			hash = digest_terms(hash64_step(hash, schedule->turns[i].at_s), terms);
		last = terms;
	}
	return hash ? hash : 1;
}

bool schedule_equal(const struct schedule *a, const struct schedule *b)
{
	return a == b || schedule_digest(a) == schedule_digest(b);
}

/* Reads a weekday and advances `at`; returns -1 if there is none. */
static int read_weekday_name(const char **at)
{
	for (int day = 0; day < SCHEDULE_DAYS; day++)
		if (strncasecmp(*at, day_names[day], 3) == 0) {
			*at += 3;
			return day;
		}
	return -1;
}

/* Reads "mon", or "fri-mon", which passes the week's end. */
static int read_day_range(const char **at, uint8_t *days)
{
	int first = read_weekday_name(at), last = first;

	if (first >= 0 && **at == '-') {
		(*at)++;
		last = read_weekday_name(at);
	}
	if (first < 0 || last < 0)
		return -EINVAL;
	*days |= (uint8_t)(1U << last);
	for (int day = first; day != last; day = (day + 1) % SCHEDULE_DAYS)
		*days |= (uint8_t)(1U << day);
	return 0;
}

int schedule_parse_days(const char *text, uint8_t *days)
{
	uint8_t found = 0;
	int ret;

	if (strcasecmp(text, "daily") == 0) {
		*days = SCHEDULE_EVERY_DAY;
		return 0;
	}
	do {
		ret = read_day_range(&text, &found);
	} while (ret == 0 && *text == ',' && *++text);
	if (ret || *text || text[-1] == ',')
		return -EINVAL;
	*days = found;
	return 0;
}

/*
 * Reads two digits and advances `at`; returns -1 if there are none, or the number is not below
 * `most`.
 */
static int read_two(const char **at, int most)
{
	int number;

	if (!isdigit((unsigned char)(*at)[0]) || !isdigit((unsigned char)(*at)[1]))
		return -1;
	number = ((*at)[0] - '0') * 10 + ((*at)[1] - '0');
	*at += 2;
	return number < most ? number : -1;
}

int schedule_parse_time(const char *text, uint32_t *time_s)
{
	int hour = read_two(&text, 25), minute = -1, second = 0;
	int64_t all;

	if (hour >= 0 && *text++ == ':')
		minute = read_two(&text, 60);
	if (minute >= 0 && *text == ':') {
		text++;
		second = read_two(&text, 60);
	}
	all = INT64_C(3600) * hour + INT64_C(60) * minute + second;
	if (hour < 0 || minute < 0 || second < 0 || *text || all > SCHEDULE_DAY_S)
		return -EINVAL;
	*time_s = (uint32_t)all;
	return 0;
}

char *schedule_format_days(uint8_t days, char *buf)
{
	char *at = buf;

	if (days == SCHEDULE_EVERY_DAY) {
		snprintf(buf, SCHEDULE_DAYS_MAX, "daily");
		return buf;
	}
	*at = '\0';
	for (unsigned day = 0; day < SCHEDULE_DAYS; day++)
		if (days >> day & 1)
			at += snprintf(at, SCHEDULE_DAYS_MAX - (size_t)(at - buf), "%s%s",
				at > buf ? "," : "", day_names[day]);
	return buf;
}

char *schedule_format(uint32_t second, char *buf)
{
	const char *day = day_names[second / SCHEDULE_DAY_S % SCHEDULE_DAYS];
	uint32_t left = second % SCHEDULE_DAY_S;

	snprintf(buf, SCHEDULE_TEXT_MAX, "%c%s %02u:%02u", toupper((unsigned char)day[0]), day + 1,
		(unsigned)(left / 3600), (unsigned)(left / 60 % 60));
	return buf;
}

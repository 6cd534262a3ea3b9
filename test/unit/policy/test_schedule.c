/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The limit in force just before, at and after each change: by weekday, over midnight and the
 * week's end, at clock changes, on a leap day. Compared with a model that checks each minute.
 */
#include "check.h"
#include "scope.h"

#include "made_zone.h"
#include "policy/schedule.h"

END_POINTER(zone_free, struct zone *)

#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
#define NONE   SCHEDULE_NONE
#define ALL    SCHEDULE_EVERY_DAY
#define ENTRY(days_, from, to)                                  \
	{                                                       \
		.days = (days_), .from_s = (from), .to_s = (to) \
	}
#define AT(hour, minute) ((hour)*3600 + (minute)*60)
#define MON_FRI          0x1f
#define MONDAY           0x01
#define SUNDAY           0x40
#define TUESDAY          0x02

static struct zone *zone_by(const char *rule)
{
	struct made_zone made = make_zone(rule, 0, 0, 3600);
	struct zone *zone;

	assert_int_equal(zone_parse(made.bytes, made.len, "Test/Zone", &zone), 0);
	return zone;
}

/* Gives each entry a different limit. */
static void fill_schedule(struct schedule *schedule, const struct zone *zone,
	struct schedule_entry *entries, unsigned n)
{
	*schedule = (struct schedule){.zone = zone, .entries = entries, .n = n};
	for (unsigned i = 0; i < n; i++)
		entries[i].terms = (struct limit_terms){8000000ULL * (i + 1), 0, 1000};
}

struct row {
	const char *rule;
	struct schedule_entry entries[3];
	unsigned n;
	int64_t at; /* a change */
	int before, after;
	int64_t until; /* the next change */
};

/* Times from `date -u -d ... +%s`; 23 November 2026 is a Monday. */
static const struct row rows[] = {
	/* 08:00 to 18:00 in Berlin's winter; after Friday's end nothing until Monday */
	{BERLIN, {ENTRY(MON_FRI, AT(8, 0), AT(18, 0))}, 1, 1795417200, NONE, 0, 1795453200},
	{BERLIN, {ENTRY(MON_FRI, AT(8, 0), AT(18, 0))}, 1, 1795798800, 0, NONE, 1796022000},
	/* over midnight, and over the week's end */
	{"UTC0", {ENTRY(MONDAY, AT(22, 0), AT(6, 0))}, 1, 1795471200, NONE, 0, 1795500000},
	{"UTC0", {ENTRY(SUNDAY, AT(22, 0), AT(6, 0))}, 1, 1795384800, NONE, 0, 1795413600},
	/* one entry follows another, also at the end of a day */
	{"UTC0", {ENTRY(ALL, AT(8, 0), AT(18, 0)), ENTRY(ALL, AT(18, 0), AT(24, 0))}, 2, 1795456800,
		0, 1, 1795478400},
	{"UTC0", {ENTRY(MONDAY, AT(0, 0), AT(24, 0)), ENTRY(TUESDAY, 0, AT(24, 0))}, 2, 1795478400,
		0, 1, 1795564800},
	/* 29 March 2026 skips 02:00 to 03:00: an entry starts, or ends, with the jump; */
	{BERLIN, {ENTRY(ALL, AT(2, 30), AT(4, 0))}, 1, 1774746000, NONE, 0, 1774749600},
	{BERLIN, {ENTRY(ALL, AT(1, 0), AT(2, 30))}, 1, 1774746000, 0, NONE, 1774825200},
	/* one inside it waits for the next day; one across it is an hour shorter */
	{BERLIN, {ENTRY(ALL, AT(2, 15), AT(2, 45))}, 1, 1774660500 + 1800, 0, NONE, 1774829700},
	{BERLIN, {ENTRY(ALL, AT(1, 0), AT(4, 0))}, 1, 1774742400, NONE, 0, 1774749600},
	/* 25 October 2026 has 02:00 to 03:00 twice: 00:00 to 02:00 UTC */
	{BERLIN, {ENTRY(ALL, AT(2, 30), AT(4, 0))}, 1, 1792888200, NONE, 0, 1792890000},
	{BERLIN, {ENTRY(ALL, AT(2, 30), AT(4, 0))}, 1, 1792890000, 0, NONE, 1792891800},
	{BERLIN, {ENTRY(ALL, AT(2, 30), AT(4, 0))}, 1, 1792891800, NONE, 0, 1792897200},
	{BERLIN, {ENTRY(ALL, AT(1, 0), AT(3, 0))}, 1, 1792882800, NONE, 0, 1792893600},
	/* 29 February 2028 is a Tuesday in Berlin from 23:00 UTC on */
	{BERLIN, {ENTRY(TUESDAY, 0, AT(24, 0))}, 1, 1835391600, NONE, 0, 1835478000},
	/* to the second */
	{"UTC0", {ENTRY(ALL, AT(8, 0) + 5, AT(8, 0) + 6)}, 1, 1795420805, NONE, 0, 1795420806},
};

TEST(test_changes)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct zone *zone = zone_by(rows[i].rule);
		struct schedule_entry entries[3];
		struct schedule schedule;
		struct schedule_now before, at, after;

		memcpy(entries, rows[i].entries, sizeof(entries));
		fill_schedule(&schedule, zone, entries, rows[i].n);
		assert_int_equal(schedule_arrange(&schedule, NULL), 0);
		before = schedule_at(&schedule, rows[i].at - 1);
		at = schedule_at(&schedule, rows[i].at);
		after = schedule_at(&schedule, rows[i].at + 1);
		if (before.entry != rows[i].before || before.until != rows[i].at ||
			at.entry != rows[i].after || at.until != rows[i].until ||
			(after.until != rows[i].until && rows[i].at + 1 < rows[i].until))
			fail_msg("row %zu: %d until %ld, then %d until %ld", i, before.entry,
				(long)before.until, at.entry, (long)at.until);
		free(schedule.turns);
		zone_free(zone);
	}
}

/* The model for a minute, with the weekday and time of day of UTC plus the offset. */
static int model_at(const struct schedule *schedule, int64_t unix_s)
{
	int64_t local = unix_s + zone_at(schedule->zone, unix_s).offset_s;
	int64_t day = local / 86400, second = local % 86400;

	for (unsigned i = 0; i < schedule->n; i++) {
		const struct schedule_entry *e = &schedule->entries[i];
		bool over = e->to_s <= e->from_s;
		bool today = e->days >> (day + 3) % 7 & 1, yesterday = e->days >> (day + 2) % 7 & 1;

		if ((today && second >= e->from_s && (over || second < e->to_s)) ||
			(over && yesterday && second < e->to_s))
			return (int)i;
	}
	return NONE;
}

static void check_year(const struct schedule *schedule)
{
	const int64_t from = 1767225600, to = from + INT64_C(370) * 86400;
	struct schedule_now now = schedule_at(schedule, from);

	for (int64_t at = from; at < to; at += 60) {
		if (at >= now.until) {
			int last = now.entry;

			assert_int_equal(at, now.until); /* every change is at a whole minute */
			now = schedule_at(schedule, at);
			assert_int_not_equal(now.entry, last);
		}
		assert_int_equal(now.entry, model_at(schedule, at));
	}
}

TEST(test_model)
{
	static const char *const rules[] = {
		BERLIN, "AEST-10AEDT,M10.1.0,M4.1.0/3", "<+0545>-5:45", "EST5EDT,M3.2.0,M11.1.0"};

	srand(7);
	for (unsigned k = 0; k < 12; k++) {
		struct zone *zone = zone_by(rules[k % 4]);
		struct schedule_entry entries[3];
		struct schedule schedule;
		struct schedule_clash clash;

		do {
			for (unsigned i = 0; i < 3; i++)
				entries[i] = (struct schedule_entry){
					.days = (uint8_t)(rand() & ALL),
					.from_s = (uint32_t)(rand() % 96) * 900,
					.to_s = (uint32_t)(rand() % 96 + 1) * 900};
			fill_schedule(&schedule, zone, entries, 3);
			schedule.turns = NULL;
			if (schedule_arrange(&schedule, &clash) == 0)
				break;
			free(schedule.turns);
		} while (true);
		check_year(&schedule);
		free(schedule.turns);
		zone_free(zone);
	}
}

TEST(test_never)
{
	ENDED_BY(zone_free_at) struct zone *zone = zone_by(BERLIN);
	struct schedule_entry always[] = {ENTRY(ALL, 0, AT(24, 0))};
	struct schedule schedule;

	fill_schedule(&schedule, zone, always, 1);
	assert_int_equal(schedule_arrange(&schedule, NULL), 0);
	assert_int_equal(schedule_at(&schedule, 1774746000).entry, 0);
	assert_true(schedule_at(&schedule, 1774746000).until == ZONE_NEVER);
	free(schedule.turns);
	fill_schedule(&schedule, zone, always, 0);
	assert_int_equal(schedule_arrange(&schedule, NULL), 0);
	assert_int_equal(schedule_at(&schedule, 1774746000).entry, NONE);
	assert_true(schedule_at(&schedule, 1774746000).until == ZONE_NEVER);
	free(schedule.turns);
}

TEST(test_clashes)
{
	static const struct {
		struct schedule_entry entries[3];
		unsigned n;
		struct schedule_clash clash;
	} wrong[] = {
		{{ENTRY(MON_FRI, AT(8, 0), AT(18, 0)), ENTRY(TUESDAY, AT(17, 59), AT(19, 0))}, 2,
			{0, 1, 86400 + AT(17, 59)}},
		{{ENTRY(SUNDAY, AT(23, 0), AT(2, 0)), ENTRY(TUESDAY, 0, 1),
			 ENTRY(MONDAY, AT(1, 0), AT(3, 0))},
			3, {0, 2, AT(1, 0)}},
		{{ENTRY(MONDAY, AT(1, 0), AT(3, 0)), ENTRY(MONDAY, AT(1, 0), AT(3, 0))}, 2,
			{0, 1, AT(1, 0)}},
	};

	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct schedule_entry entries[3];
		struct schedule schedule;
		struct schedule_clash clash;

		memcpy(entries, wrong[i].entries, sizeof(entries));
		fill_schedule(&schedule, NULL, entries, wrong[i].n);
		assert_int_equal(schedule_arrange(&schedule, &clash), -EEXIST);
		assert_memory_equal(&clash, &wrong[i].clash, sizeof(clash));
		free(schedule.turns);
	}
}

static uint64_t digest(struct schedule_entry *entries, const uint64_t *limits, unsigned n)
{
	struct schedule schedule;
	uint64_t value;

	fill_schedule(&schedule, NULL, entries, n);
	for (unsigned i = 0; i < n; i++)
		entries[i].terms.limit_bps = limits[i];
	assert_int_equal(schedule_arrange(&schedule, NULL), 0);
	value = schedule_digest(&schedule);
	free(schedule.turns);
	return value;
}

/* Equal schedules have the same digest, however they are written; different ones do not. */
TEST(test_same)
{
	struct schedule_entry once[] = {ENTRY(ALL, AT(8, 0), AT(18, 0))};
	struct schedule_entry parts[] = {ENTRY(ALL, AT(12, 0), AT(18, 0)),
		ENTRY(MON_FRI, AT(8, 0), AT(12, 0)), ENTRY(0x60, AT(8, 0), AT(12, 0))};
	struct schedule_entry later[] = {ENTRY(ALL, AT(8, 1), AT(18, 0))};
	const uint64_t same[] = {8000, 8000, 8000}, other[] = {8000, 16000, 8000};

	assert_true(digest(once, same, 1) == digest(parts, same, 3));
	assert_true(digest(once, same, 1) != digest(parts, other, 3));
	assert_true(digest(once, same, 1) != digest(later, same, 1));
	assert_true(digest(once, same, 0) != 0);
	assert_true(schedule_digest(NULL) == 0);
	assert_true(schedule_equal(NULL, NULL));
}

TEST(test_days)
{
	static const struct {
		const char *text;
		int days; /* negative: refused */
	} texts[] = {{"mon-fri", MON_FRI}, {"Sat,Sun", 0x60}, {"daily", ALL}, {"mon", MONDAY},
		{"fri-mon", 0x71}, {"mon-thu,sat", 0x2f}, {"mon-sun", ALL}, {"tue-mon", ALL},
		{"", -1}, {"mon,", -1}, {",mon", -1}, {"mon-", -1}, {"monday", -1}, {"mon fri", -1},
		{"weekdays", -1}, {"mon--fri", -1}, {"mon-fri-sun", -1}};

	for (size_t i = 0; i < COUNT(texts); i++) {
		uint8_t days = 0;
		int ret = schedule_parse_days(texts[i].text, &days);

		if ((ret == 0) != (texts[i].days >= 0) || (ret == 0 && days != texts[i].days))
			fail_msg("\"%s\": %d, %#x", texts[i].text, ret, days);
	}
}

TEST(test_times)
{
	static const struct {
		const char *text;
		int64_t time; /* negative: refused */
	} texts[] = {{"00:00", 0}, {"08:30", AT(8, 30)}, {"24:00", 86400}, {"23:59:59", 86399},
		{"24:00:00", 86400}, {"24:01", -1}, {"24:00:01", -1}, {"8:00", -1}, {"08:60", -1},
		{"08:00:60", -1}, {"0800", -1}, {"", -1}, {"08:00pm", -1}, {"25:00", -1},
		{"08:00:", -1}};

	for (size_t i = 0; i < COUNT(texts); i++) {
		uint32_t time = 0;
		int ret = schedule_parse_time(texts[i].text, &time);

		if ((ret == 0) != (texts[i].time >= 0) || (ret == 0 && time != texts[i].time))
			fail_msg("\"%s\": %d, %u", texts[i].text, ret, time);
	}
}

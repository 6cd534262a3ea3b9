/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Time zones: names, invalid files, and rules at and around their transitions. check_zones.py
 * compares tzdata with another reader of it.
 */
#include "check.h"
#include "scope.h"

#include "made_zone.h"
#include "policy/zone.h"

END_POINTER(zone_free, struct zone *)

#define HOUR 3600

TEST(test_names)
{
	static const char *const good[] = {"UTC", "Europe/Berlin", "America/Argentina/Ushuaia",
		"Etc/GMT+3", "America/Port-au-Prince", "EST5EDT"};
	static const char *const bad[] = {"", "/etc/passwd", "../x", "Europe/../x",
		"Europe//Berlin", "Europe/", "Europe Berlin", ".", "a.b",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};

	for (size_t i = 0; i < COUNT(good); i++)
		assert_true(zone_name_valid(good[i]));
	for (size_t i = 0; i < COUNT(bad); i++)
		if (zone_name_valid(bad[i]))
			fail_msg("%s is taken", bad[i]);
}

struct rule_row {
	const char *rule;
	int64_t at; /* a transition */
	int32_t before_s, after_s;
	int64_t next; /* the next transition */
};

/* Times from `date -u -d ... +%s`. */
static const struct rule_row rule_rows[] = {
	/* Berlin, 29 March and 25 October 2026, each at 01:00 UTC; and of a leap year */
	{"CET-1CEST,M3.5.0,M10.5.0/3", 1774746000, HOUR, 2 * HOUR, 1792890000},
	{"CET-1CEST,M3.5.0,M10.5.0/3", 1792890000, 2 * HOUR, HOUR, 1806195600},
	{"CET-1CEST,M3.5.0,M10.5.0/3", 1837645200, HOUR, 2 * HOUR, 1856394000},
	/* New York, 8 March 2026 07:00 UTC, 1 November 06:00 UTC */
	{"EST5EDT,M3.2.0,M11.1.0", 1772953200, -5 * HOUR, -4 * HOUR, 1793512800},
	/* Sydney, where summer crosses the year's end: 4 October 2026 16:00 UTC the day before */
	{"AEST-10AEDT,M10.1.0,M4.1.0/3", 1791043200, 10 * HOUR, 11 * HOUR, 1806768000},
	/* Lord Howe: half an hour */
	{"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 1791041400, 37800, 11 * HOUR, 1806764400},
	/* Dublin, where summer time is the standard: winter is one hour back */
	{"IST-1GMT0,M10.5.0,M3.5.0/1", 1792890000, HOUR, 0, 1806195600},
	/* Godthab: a transition at an hour of the day before */
	{"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1774746000, -2 * HOUR, -HOUR, 1792890000},
	/* By the day of the year: 1 March, 60 with and 59 without the leap day */
	{"AAA0BBB,J60/0,J300/0", 1835481600, 0, HOUR, 1856214000},
	{"AAA0BBB,60/0,299/0", 1835481600, 0, HOUR, 1856127600},
	/* The last day of 2096; an even division of days would give 2097 */
	{"AAA0BBB,J365/0,J100/0", 4007750400, 0, HOUR, 4016386800},
};

TEST(test_rules)
{
	for (size_t i = 0; i < COUNT(rule_rows); i++) {
		const struct rule_row *row = &rule_rows[i];
		struct zone_rule rule;
		int64_t until, before, here, after;

		assert_int_equal(zone_rule_parse(row->rule, &rule), 0);
		before = zone_rule_at(&rule, row->at - 1, &until);
		if (before != row->before_s || until != row->at)
			fail_msg("%s before %ld: %ld until %ld", row->rule, (long)row->at,
				(long)before, (long)until);
		here = zone_rule_at(&rule, row->at, &until);
		after = zone_rule_at(&rule, row->next - 1, &(int64_t){0});
		if (here != row->after_s || after != here || until != row->next)
			fail_msg("%s at %ld: %ld until %ld", row->rule, (long)row->at, (long)here,
				(long)until);
		assert_int_equal(zone_rule_at(&rule, row->next, &until), row->before_s);
	}
}

/* All year round: one year ends and the next begins at the same moment. */
TEST(test_always_summer)
{
	struct zone_rule rule;
	int64_t until;

	assert_int_equal(zone_rule_parse("XXX3EDT4,0/0,J365/23", &rule), 0);
	for (int64_t at = 1767225600 - 200000; at < 1767225600 + 200000; at += 1800)
		assert_int_equal(zone_rule_at(&rule, at, &until), -4 * HOUR);
	assert_int_equal(zone_rule_parse("<+03>-3", &rule), 0);
	assert_int_equal(zone_rule_at(&rule, 1792890000, &until), 3 * HOUR);
	assert_true(until == ZONE_NEVER);
}

TEST(test_no_rules)
{
	static const char *const bad[] = {"", "CE-1", "CET", "CET-25", "<+03-3", "CET-1CEST",
		"CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,M10.5.0/3x", "CET-1CEST,M13.5.0,M10.5.0",
		"CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J300",
		"CET-1CEST,J366,J300", "CET-1CEST,M3.5.0/168,M10.5.0", "CET-1:60",
		"CET-1:00:00:00"};
	struct zone_rule rule;

	for (size_t i = 0; i < COUNT(bad); i++)
		if (zone_rule_parse(bad[i], &rule) != -EINVAL)
			fail_msg("%s is taken", bad[i]);
}

TEST(test_file)
{
	struct made_zone made = make_zone("CET-1CEST,M3.5.0,M10.5.0/3", 1000000, 3208, HOUR);
	struct zone_span span;
	ENDED_BY(zone_free_at) struct zone *zone;

	assert_int_equal(zone_parse(made.bytes, made.len, "Europe/Berlin", &zone), 0);
	assert_string_equal(zone_name(zone), "Europe/Berlin");
	span = zone_at(zone, 999999);
	assert_int_equal(span.offset_s, 3208);
	assert_int_equal(span.until, 1000000);
	assert_int_equal(zone_at(zone, INT64_MIN).offset_s, 3208);
	assert_int_equal(zone_at(zone, 1000000).offset_s, HOUR);
	span = zone_at(zone, 1774745999);
	assert_int_equal(span.offset_s, HOUR);
	assert_int_equal(span.until, 1774746000);
	assert_int_equal(zone_at(zone, 1774746000).offset_s, 2 * HOUR);
	assert_true(zone_at(zone, INT64_MAX - 1).until == ZONE_NEVER);
}

/* The text of a time: in its zone, or in UTC; "-" beyond all years. */
TEST(test_format)
{
	static const struct {
		const char *rule;
		int32_t offset_s; /* at that time */
		int64_t at;
		const char *text;
	} rows[] = {
		{NULL, 0, 0, "1970-01-01T00:00:00Z"},
		{NULL, 0, 1795397122, "2026-11-23T01:25:22Z"},
		{NULL, 0, INT64_MAX, "-"},
		{"UTC0", 0, 1795397122, "2026-11-23T01:25:22+00:00"},
		{"CET-1", HOUR, 1795397122, "2026-11-23T02:25:22+01:00"},
		{"IST-5:30", 5 * HOUR + 1800, 1795397122, "2026-11-23T06:55:22+05:30"},
		{"XXX3:30", -3 * HOUR - 1800, 1795397122, "2026-11-22T21:55:22-03:30"},
		{"XXX11", -11 * HOUR, 1795397122, "2026-11-22T14:25:22-11:00"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[ZONE_TEXT_MAX];
		struct zone *zone = NULL;

		if (rows[i].rule) {
			struct made_zone made = make_zone(
				rows[i].rule, 1000000, 0, rows[i].offset_s);

			assert_int_equal(zone_parse(made.bytes, made.len, "x", &zone), 0);
		}
		assert_string_equal(zone_format(zone, rows[i].at, text), rows[i].text);
		zone_free(zone);
	}
}

static uint64_t digest_of(const char *name, const char *rule)
{
	struct made_zone made = make_zone(rule, 1000000, 0, HOUR);
	struct zone *zone;
	uint64_t digest;

	assert_int_equal(zone_parse(made.bytes, made.len, name, &zone), 0);
	digest = zone_digest(zone);
	zone_free(zone);
	return digest;
}

/*
 * The digest of two machines with different versions of tzdata differs if the rules for future
 * years do.
 */
TEST(test_digest)
{
	assert_true(digest_of("A", "CET-1") == digest_of("A", "CET-1"));
	assert_true(digest_of("A", "CET-1") != digest_of("B", "CET-1"));
	assert_true(digest_of("A", "CET-1") != digest_of("A", "CET-1CEST,M3.5.0,M10.5.0/3"));
	assert_true(digest_of("A", "") != 0);
}

/*
 * The file is cut at each byte, and each byte is changed: no crash, and no zone from an empty file.
 */
TEST(test_damaged)
{
	struct made_zone made = make_zone("CET-1CEST,M3.5.0,M10.5.0/3", 1000000, 3208, HOUR);
	struct zone *zone;

	for (size_t len = 0; len < made.len; len++) {
		uint8_t *copy = malloc(len + 1); /* exact size, so that reads beyond it are found */

		memcpy(copy, made.bytes, len);
		assert_int_equal(zone_parse(copy, len, "x", &zone), -EINVAL);
		assert_null(zone);
		free(copy);
	}
	for (size_t i = 0; i < made.len; i++) {
		struct made_zone other = made;

		other.bytes[i] ^= 0xff;
		if (zone_parse(other.bytes, other.len, "x", &zone) == 0)
			(void)zone_at(zone, 1774746000);
		zone_free(zone);
	}
	made.bytes[4] = '\0'; /* version 1 */
	assert_int_equal(zone_parse(made.bytes, made.len, "x", &zone), -EINVAL);
}

/*
 * Leap seconds would shift all times; their count is in the second header, after the first block.
 */
TEST(test_leap_seconds)
{
	struct made_zone made = make_zone("CET-1", 1000000, 0, HOUR);
	struct zone *zone;

	assert_int_equal(zone_parse(made.bytes, made.len, "x", &zone), 0);
	zone_free(zone);
	wire_put32(made.bytes + 44 + 10 + 28, 1);
	assert_int_equal(zone_parse(made.bytes, made.len, "x", &zone), -EINVAL);
}

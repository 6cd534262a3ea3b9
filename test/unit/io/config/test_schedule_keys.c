/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits by time of day: keys, overlaps, defaults and changes at a reload; and another limit for a
 * running policy.
 */
#include "check.h"

#include "config_cases.h"

#include "config/terms.h"
#include "config/compare.h"
#include "policy/kind.h"
#include "policy/schedule.h"

#define ZONED(entries)     ", 'schedule': {'zone': 'Europe/Berlin', 'entries': [" entries "]}"
#define SCHEDULED(entries) LIMITED(ZONED(entries))
#define DAY                "{'days': 'mon-fri', 'from': '08:00', 'to': '18:00', 'limit': '20Mbit/s'}"
#define NIGHT              "{'from': '22:00', 'to': '06:00', 'limit': '5Mbit/s', 'burst': '1MB'}"
#define FOUR(text)         text text text text
#define SIXTY_FOUR(text)   FOUR(FOUR(FOUR(text)))
#define TIMES              "'from': '08:00', 'to': '18:00'"

TEST(test_values)
{
	static const struct config_case cases[] = {
		{SCHEDULED(DAY), ""},
		{SCHEDULED(DAY ", " NIGHT), ""},
		{SCHEDULED("{" TIMES ", 'limit': '20Mbit/s', 'note': 'x'}"), ""},
		{SCHEDULED("{'from': '00:00', 'to': '24:00', 'limit': '20Mbit/s'}"), ""},
		{LIMITED(", 'schedule': []"), "p0.schedule: not_object"},
		{LIMITED(", 'schedule': {'entries': [" DAY "]}"), "p0.schedule.zone: wrong_zone"},
		{LIMITED(", 'schedule': {'zone': '../passwd', 'entries': [" DAY "]}"),
			"p0.schedule.zone: wrong_zone"},
		{LIMITED(", 'schedule': {'zone': 'Europe/Atlantis', 'entries': [" DAY "]}"),
			"p0.schedule.zone: no_such_zone"},
		{LIMITED(", 'schedule': {'zone': 'Europe', 'entries': [" DAY "]}"),
			"p0.schedule.zone: no_such_zone"},
		{LIMITED(", 'schedule': {'zone': 'tzdata.zi', 'entries': [" DAY "]}"),
			"p0.schedule.zone: wrong_zone"},
		{LIMITED(", 'schedule': {'zone': 'leapseconds', 'entries': [" DAY "]}"),
			"p0.schedule.zone: zone_unreadable"},
		{SCHEDULED(""), "p0.schedule.entries: schedule_type"},
		/* If there are too many, none is checked. */
		{SCHEDULED(SIXTY_FOUR("{}, ") "{}"), "p0.schedule.entries: schedule_type"},
		{SCHEDULED("{'days': 'weekdays', " TIMES ", 'limit': '20Mbit/s'}"),
			"p0.schedule.entries[0].days: wrong_days"},
		{SCHEDULED("{'from': '8:00', 'to': '18:00', 'limit': '20Mbit/s'}"),
			"p0.schedule.entries[0].from: wrong_time_of_day"},
		{SCHEDULED("{'from': '24:00', 'to': '18:00', 'limit': '20Mbit/s'}"),
			"p0.schedule.entries[0].from: from_next_day"},
		{SCHEDULED("{'from': '08:00', 'to': '08:00', 'limit': '20Mbit/s'}"),
			"p0.schedule.entries[0].to: times_equal"},
		{SCHEDULED("{" TIMES ", 'limit': '20Mbit'}"),
			"p0.schedule.entries[0].limit: wrong_value: *did you mean '20Mbit/s'?"},
		{SCHEDULED("{" TIMES "}"), "p0.schedule.entries[0].limit: wrong_value"},
		{SCHEDULED("{" TIMES ", 'limit': '20Mbit/s', 'bursts': '1MB'}"),
			"p0.schedule.entries[0].bursts: unknown_key: did you mean 'burst'?"},
		{SCHEDULED("{" TIMES ", 'limit': '20Mbit/s', 'burst': '1kB'}"),
			"warning: p0.schedule.entries[0].burst: burst_below_frame: 1518"},
		{SCHEDULED(DAY ", {'days': 'sat', " TIMES ", 'limit': '20Mbit/s', 'burst': '1kB'}"),
			"warning: p0.schedule.entries[1].burst: burst_below_frame: 1518"},
		{0},
	};

	run_cases(cases);
}

TEST(test_overlaps)
{
	static const struct config_case cases[] = {
		{SCHEDULED(DAY ", {'days': 'sat', " TIMES ", 'limit': '5Mbit/s'}"), ""},
		{SCHEDULED(DAY ", {'days': 'fri', 'from': '18:00', 'to': '08:00', "
			       "'limit': '5Mbit/s'}"),
			""},
		{SCHEDULED(DAY ", {'days': 'fri', 'from': '17:59', 'to': '08:00', "
			       "'limit': '5Mbit/s'}"),
			"p0.schedule.entries[1]: schedule_overlap: 0, Fri 17:59"},
		{SCHEDULED("{'days': 'sun', 'from': '23:00', 'to': '08:01', 'limit': '5Mbit/s'}, "
			   "" DAY),
			"p0.schedule.entries[1]: schedule_overlap: 0, Mon 08:00"},
		{0},
	};

	run_cases(cases);
}

TEST(test_with_other_keys)
{
#define COUNTED(members, limit)                                          \
	POLICY(", 'limit': '100/min', 'count': 'packets'" members ZONED( \
		"{" TIMES ", 'limit': '" limit "'}"))
	static const struct config_case cases[] = {
		{POLICY(", 'allocator': 'quota', 'total': '5TB', 'limit': '1Mbit/s'" ZONED(DAY)),
			"p0.schedule: key_excluded: 'allocator': 'quota'*"},
		{COUNTED("", "10/s"), ""},
		{LIMITED(", 'guarantee': 'hard'" ZONED(DAY)), ""},
		{COUNTED(", 'guarantee': 'hard'", "200/min"), ""},
		{COUNTED(", 'guarantee': 'hard'", "10/s"),
			"p0.schedule.entries[0].limit: schedule_time"},
		{COUNTED(", 'guarantee': 'hard'", "1/min"), ""},
		{COUNTED(", 'guarantee': 'hard'", "0.875/min"),
			"p0.schedule.entries[0].limit: hard_limit_too_low: 1/min, numbers in its time"},
		{LIMITED(", 'meter': 'hybrid', 'window': '1s'" ZONED(
			 "{" TIMES ", 'limit': '5Mbit/s', 'burst': '1MB'}")),
			"p0.schedule.entries[0].burst: schedule_burst: hybrid"},
		{LIMITED(", 'meter': 'hybrid', 'window': '1s'" ZONED(
			 "{" TIMES ", 'limit': '5Mbit/s'}")),
			""},
		{COUNTED(", 'meter': 'fixed-window'", "90/min"), ""},
		{COUNTED(", 'meter': 'fixed-window'", "90/h"),
			"p0.schedule.entries[0].limit: schedule_window"},
		{0},
	};

	run_cases(cases);
}

/* The policy's burst applies at all times; the default burst grows with the limit. */
TEST(test_bursts)
{
	static const struct {
		const char *document;
		uint64_t day, night;
	} rows[] = {
		{SCHEDULED(DAY ", " NIGHT), 625000, 1000000},
		{LIMITED(", 'burst': '700kB'" ZONED(DAY ", " NIGHT)), 700000, 1000000},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct config *config = must_parse(rows[i].document);
		const struct schedule *schedule = config->policies[0].schedule;

		assert_int_equal(schedule->n, 2);
		assert_string_equal(zone_name(schedule->zone), "Europe/Berlin");
		assert_int_equal(schedule->entries[0].terms.limit_bps, 20000000);
		assert_int_equal(schedule->entries[0].terms.burst_bytes, rows[i].day);
		assert_int_equal(schedule->entries[1].terms.burst_bytes, rows[i].night);
		config_free(config);
	}
}

/* Policies with the same zone share it. */
TEST(test_zones)
{
#define IN_ZONE(name, vlan, zone)                                          \
	"{'name': '" name "', 'limit': '1Mbit/s', 'match': {'vlan': " vlan \
	"}, 'schedule': {'zone': '" zone "', 'entries': [" DAY "]}}"
	struct config *config = must_parse(POLICIES(
		IN_ZONE("p", "1", "UTC") ", " IN_ZONE("q", "2", "Europe/Berlin") ", " IN_ZONE(
			"r", "3", "Europe/Berlin") ", " IN_ZONE("s", "4", "UTC")));
	const struct policy *p = config->policies;

	assert_int_equal(config->n_zones, 2);
	assert_string_equal(zone_name(p[0].schedule->zone), "UTC");
	assert_string_equal(zone_name(p[1].schedule->zone), "Europe/Berlin");
	assert_ptr_equal(p[1].schedule->zone, p[2].schedule->zone);
	assert_ptr_equal(p[0].schedule->zone, p[3].schedule->zone);
	config_free(config);
}

static unsigned scheduled_changes(const char *before, const char *after)
{
	struct config *old = must_parse(before), *config = must_parse(after);
	struct config_diff *diff;
	unsigned changes;

	assert_int_equal(config_diff(old, config, "w.json", stderr, &diff), 0);
	changes = diff->changes[0];
	config_diff_free(diff);
	config_free(old);
	config_free(config);
	return changes;
}

TEST(test_changes)
{
#define LATER "{'days': 'mon-fri', 'from': '08:01', 'to': '18:00', 'limit': '20Mbit/s'}"
	assert_int_equal(scheduled_changes(SCHEDULED(DAY), SCHEDULED(DAY)), 0);
	assert_int_equal(
		scheduled_changes(SCHEDULED(DAY ", " NIGHT), SCHEDULED(NIGHT ", " DAY)), 0);
	assert_int_equal(scheduled_changes(SCHEDULED(DAY), SCHEDULED(LATER)), POLICY_TERMS);
	assert_int_equal(scheduled_changes(LIMITED(""), SCHEDULED(DAY)), POLICY_TERMS);
	assert_int_equal(scheduled_changes(SCHEDULED(DAY), LIMITED("")), POLICY_TERMS);
}

/* The resolution of a bucket is that of its fastest limit. */
TEST(test_unit_bits)
{
	struct config *slow = must_parse(COUNTED("", "10/s"));
	struct config *fast = must_parse(COUNTED("", "100k/s"));
	struct config *both = must_parse(
		COUNTED("", "10/s'}, {'from': '20:00', 'to': '21:00', 'limit': '100k/s"));

	assert_int_not_equal(policy_unit_bits(&slow->policies[0]), 0);
	assert_int_equal(policy_unit_bits(&fast->policies[0]), 0);
	assert_int_equal(policy_unit_bits(&both->policies[0]), 0);
	config_free(both);
	config_free(slow);
	config_free(fast);
}

TEST(test_terms)
{
	static const struct {
		const char *policy, *terms;
		uint64_t limit, burst; /* 0: refused */
		const char *message;
	} rows[] = {
		{LIMITED(""), "{'limit': '80Mbit/s'}", 80000000, 2500000, ""},
		{LIMITED(", 'burst': '700kB'"), "{'limit': '80Mbit/s'}", 80000000, 700000, ""},
		{LIMITED(""), "{'limit': '80Mbit/s', 'burst': '1MB'}", 80000000, 1000000, ""},
		{LIMITED(""), "{'limit': '80Mbit'}", 0, 0,
			"policy 'p': limit: *did you mean '80Mbit/s'?\n"},
		{LIMITED(""), "{'burst': '1MB'}", 0, 0, "policy 'p': limit: missing: *\n"},
		{LIMITED(""), "{'limit': '80Mbit/s', 'action': 'mark'}", 0, 0,
			"policy 'p': action: unknown key: expected*'limit' or 'burst'*\n"},
		{COUNTED("", "10/s"), "{'limit': '5/s'}", 40, 10, ""},
		{COUNTED("", "10/s"), "{'limit': '100k/s'}", 0, 0,
			"policy 'p': limit: '100k/s': expected*bucket*reload\n"},
		{LIMITED(", 'meter': 'fixed-window', 'window': '1s'"),
			"{'limit': '80Mbit/s', 'burst': '1MB'}", 0, 0,
			"policy 'p': *'burst'*'meter'*remove*\n"},
		/* A default burst above that of the peak is an error too. */
		{LIMITED(", 'meter': 'trtcm', 'peak': {'limit': '20Mbit/s', 'burst': '320kB'}"),
			"{'limit': '15Mbit/s'}", 0, 0,
			"policy 'p': burst: missing: expected at most that of 'peak', 320kB: *'burst'*468.75kB\n"},
		{LIMITED(", 'meter': 'trtcm', 'peak': {'limit': '20Mbit/s', 'burst': '320kB'}"),
			"{'limit': '15Mbit/s', 'burst': '320kB'}", 15000000, 320000, ""},
		/* A value with an error has one message, also if its key is excluded. */
		{LIMITED(", 'meter': 'fixed-window', 'window': '1s'"),
			"{'limit': '80Mbit/s', 'burst': 'much'}", 0, 0,
			"policy 'p': burst: 'much': expected bytes*\n"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct config *config = must_parse(rows[i].policy);
		char *text = with_quotes(rows[i].terms), *expected = with_quotes(rows[i].message);
		char *messages = NULL;
		size_t size;
		FILE *err = open_memstream(&messages, &size);
		struct limit_terms terms = {0};
		int ret = config_parse_terms(
			text, strlen(text), &config->policies[0], 1, err, &terms);

		fclose(err);
		assert_parts(messages, expected);
		assert_int_equal(ret, rows[i].limit ? 0 : -EINVAL);
		if (ret == 0) {
			assert_int_equal(terms.limit_bps, rows[i].limit);
			assert_int_equal(terms.burst_bytes, rows[i].burst);
		}
		free(text);
		free(expected);
		free(messages);
		config_free(config);
	}
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * "schedule": other limits of a policy by time of day and weekday.
 */
#include <stdlib.h>
#include <string.h>

#include "config/check.h"
#include "config/config_messages.h"
#include "config/keys.h"
#include "policy/schedule.h"

/*
 * An entry while it is read. Its limit is read and checked as that of a policy like the schedule's.
 */
struct entry_reading {
	struct policy policy;
	struct schedule_entry entry;
};

static void read_days(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);

	if (text == NULL || schedule_parse_days(text, key_field(key, base)) < 0)
		reader_report(reader, path, MESSAGE(WRONG_DAYS));
}

static void read_time_of_day(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);

	if (text == NULL || schedule_parse_time(text, key_field(key, base)) < 0)
		reader_report(reader, path, MESSAGE(WRONG_TIME_OF_DAY));
}

static const struct key entry_keys[] = {
	KEY("days", read_days, KEY_PART, KEY_FIELD(struct entry_reading, entry.days),
		UNSET("`\"daily\"`"), "the days on which the entry begins", "weekdays dow weekday",
		.form = "days"),
	KEY("from", read_time_of_day, KEY_PART, KEY_FIELD(struct entry_reading, entry.from_s),
		REQUIRED,
		"begin and end, without `to` itself. If `to` is not later than `from`, it is on "
		"the next day",
		"start begin since starttime", .form = "time-of-day"),
	KEY("to", read_time_of_day, KEY_PART, KEY_FIELD(struct entry_reading, entry.to_s), REQUIRED,
		"begin and end, without `to` itself. If `to` is not later than `from`, it is on "
		"the next day",
		"end until stop till endtime", .form = "time-of-day"),
	KEY("limit", read_limit, KEY_PART, KEY_FIELD(struct entry_reading, policy.limit_bps),
		REQUIRED,
		"the limit at that time. With `\"guarantee\": \"hard\"` a number in the unit "
		"of time of the policy's own limit",
		"rate bandwidth speed cir maxrate", .form = "limit"),
	KEY("burst", read_policy_burst, KEY_PART,
		KEY_FIELD(struct entry_reading, policy.burst_bytes),
		UNSET("the policy's if the file sets it, otherwise [the default](#burst) for this limit"),
		"the burst at that time", "bucket cbs burstsize depth", .form = "burst"),
	{0},
};

static void check_stretch(
	struct reader *reader, const struct json_path *path, const struct schedule_entry *entry)
{
	struct json_path from = {.parent = path, .key = "from"};
	struct json_path to = {.parent = path, .key = "to"};

	if (entry->from_s == SCHEDULE_DAY_S)
		reader_report(reader, &from, MESSAGE(FROM_NEXT_DAY));
	else if (entry->from_s == entry->to_s && reader_has(reader, path, to.key) &&
		 reader_has(reader, path, from.key))
		reader_report(reader, &to, MESSAGE(TIMES_EQUAL));
}

static void read_entry(struct reader *reader, const struct json_path *path, json_t *value,
	const struct policy *policy, struct schedule_entry *out)
{
	struct entry_reading reading = {.policy = *policy, .entry = {.days = SCHEDULE_EVERY_DAY}};
	unsigned errors = reader->errors;

	reading.policy.limit_bps = reading.policy.burst_bytes = 0;
	reading.policy.limit_s = 0;
	read_keys(reader, path, value, entry_keys, &reading);
	if (reader->errors == errors)
		check_stretch(reader, path, &reading.entry);
	*out = reading.entry;
	out->terms = policy_terms(&reading.policy);
	out->own_burst = reading.policy.burst_bytes > 0;
}

/* Context of the readers of "entries" and "zone". */
struct schedule_reading {
	struct schedule *schedule;
	const struct policy *policy;
};

static void read_entries(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const struct schedule_reading *reading = base;
	struct schedule *schedule = reading->schedule;
	size_t n = json_array_size(value), i;
	json_t *element;

	(void)key;
	if (n == 0 || n > SCHEDULE_ENTRIES_MOST) {
		reader_report(reader, path, MESSAGE(SCHEDULE_TYPE), SCHEDULE_ENTRIES_MOST);
		return;
	}
	schedule->entries = calloc(n, sizeof(*schedule->entries));
	reader->no_memory |= schedule->entries == NULL;
	if (schedule->entries == NULL)
		return;
	schedule->n = (unsigned)n;
	json_array_foreach (value, i, element) {
		struct json_path at = {.parent = path, .index = (unsigned)i};

		read_entry(reader, &at, element, reading->policy, &schedule->entries[i]);
	}
}

static void read_zone(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const struct schedule_reading *reading = base;
	const char *text = json_string_value(value);

	(void)key;
	if (text == NULL || !zone_name_valid(text))
		reader_report(reader, path, MESSAGE(WRONG_ZONE));
	else
		memcpy(reading->schedule->zone_name, text, strlen(text) + 1);
}

const struct key schedule_keys[] = {
	KEY("zone", read_zone, KEY_PART, NO_FIELD, REQUIRED,
		"IANA name of the time zone: `Europe/Berlin`, `UTC`. The same at all limiters",
		"timezone tz tzname location", .form = "zone"),
	KEY("entries", read_entries, KEY_PART, NO_FIELD, REQUIRED,
		"times and their limits, see below", "times rules hours list ranges slots",
		.form = "entries", .keys = entry_keys, .array = true),
	{0},
};

/* The table has "count" and "allocator" before it. */
void read_schedule(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct policy *policy = base;
	struct schedule_reading reading = {calloc(1, sizeof(*reading.schedule)), policy};
	unsigned errors = reader->errors;

	(void)key;
	reader->no_memory |= reading.schedule == NULL;
	if (reading.schedule == NULL)
		return;
	read_keys(reader, path, value, schedule_keys, &reading);
	policy->schedule = reading.schedule;
	if (reader->errors == errors)
		return;
	schedule_free(policy->schedule);
	policy->schedule = NULL;
}

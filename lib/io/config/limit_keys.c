/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The limit and the burst of a policy, and of the entries of its schedule, in its unit.
 */
#include <errno.h>

#include "config/check.h"
#include "config/config_messages.h"
#include "config/keys.h"
#include "config/value_keys.h"
#include "policy/kind.h"
#include "policy/units.h"

#define DAY_S 86400

static const struct key byte_limit = {
	.expected = "bit/s such as \"10Mbit/s\"",
	.detail = &(const struct quantity_range){units_parse_rate, 8000, 400000000000,
		"8kbit/s to 400Gbit/s", "bit/s"},
	KEY_FIELD(struct policy, limit_bps),
};

static const struct key byte_burst = {
	.expected = EXPECTED_SIZE,
	.detail = &(const struct quantity_range){units_parse_size, 1, CONFIG_BURST_MAX,
		"1B to 4GiB", "B"},
	KEY_FIELD(struct policy, burst_bytes),
};

static const struct key count_burst = {
	.expected = "a number such as 100 or \"10k\" with \"count\": \"packets\" or \"flows\"",
	.detail = &(const struct quantity_range){units_parse_count, 1, CONFIG_COUNT_MAX, "1 to 1G",
		"packets or flows"},
	KEY_FIELD(struct policy, burst_bytes),
};

static void read_count_rate(
	struct reader *reader, const struct json_path *path, json_t *value, struct policy *policy)
{
	const char *text = json_string_value(value);
	char nearest[UNITS_TEXT_MAX];
	uint64_t eighths = 0;
	uint32_t seconds = 1;
	int rc = text != NULL ? units_parse_count_rate(text, &eighths, &seconds) : -EINVAL;
	/* From one per day to CONFIG_COUNT_MAX per second. */
	const bool is_in_range = (unsigned __int128)eighths * DAY_S >= 8ULL * seconds &&
				 eighths <= 8 * CONFIG_COUNT_MAX * seconds;

	if (rc == -EINVAL) {
		reader_report(reader, path, MESSAGE(WRONG_COUNT_RATE),
			policy->count == COUNT_FLOWS ? "flows" : "packets");
	} else if (rc == -EDOM) {
		reader_report(reader, path, MESSAGE(COUNT_RATE_FRACTION),
			units_nearest_count_rate(text, nearest, sizeof(nearest)));
	} else if (rc == -ERANGE || !is_in_range) {
		reader_report(reader, path, MESSAGE(OUT_OF_RANGE), "1/d to 1G/s");
	} else {
		policy->limit_bps = eighths;
		policy->limit_s = seconds;
	}
}

/*
 * The unit depends on "count", and a quota needs no limit: the table has "count" and "allocator"
 * before this key.
 */
void read_limit(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct policy *policy = base;

	(void)key;
	if (value == NULL && policy_is_quota(policy))
		return;
	if (policy->count == COUNT_BYTES)
		read_quantity(reader, path, value, &byte_limit, base);
	else if (policy->count != CHOICE_REFUSED)
		read_count_rate(reader, path, value, policy);
}

/* Reads a rate in the time of the limit, which the table has before this key. */
static void read_guaranteed_count(
	struct reader *reader, const struct json_path *path, json_t *value, struct policy *policy)
{
	struct policy other = *policy;
	unsigned errors = reader->errors;

	read_count_rate(reader, path, value, &other);
	if (reader->errors != errors || policy->limit_bps == 0)
		return;
	if (policy_limit_s(&other) != policy_limit_s(policy))
		reader_report(reader, path, MESSAGE(NOT_TIME_OF_LIMIT));
	else
		policy->guaranteed_bps = other.limit_bps;
}

void read_guaranteed(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct policy *policy = base;
	struct key guaranteed = byte_limit;

	if (policy->count == COUNT_BYTES) {
		guaranteed.offset = key->offset;
		guaranteed.size = key->size;
		read_quantity(reader, path, value, &guaranteed, base);
	} else if (policy->count != CHOICE_REFUSED) {
		read_guaranteed_count(reader, path, value, policy);
	}
}

void read_policy_burst(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const struct policy *policy = base;

	(void)key;
	if (policy->count == COUNT_BYTES)
		read_quantity(reader, path, value, &byte_burst, base);
	else if (policy->count != CHOICE_REFUSED)
		read_count(reader, path, value, &count_burst, base);
}

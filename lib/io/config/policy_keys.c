/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of a policy. doc/operate/configuration.md and config/weir.schema.json have them for
 * people and for editors.
 */
#include <errno.h>
#include <string.h>

#include "allocate/allocate.h"
#include "base/time.h"
#include "config/check.h"
#include "config/keys.h"
#include "config/value_keys.h"
#include "json/suggest.h"
#include "json/vocabulary.h"
#include "policy/kind.h"
#include "policy/matches.h"
#include "policy/schedule.h"
#include "policy/trial.h"
#include "policy/units.h"
#include "policy/value.h"

static void read_allocator(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	const struct allocator *allocator = text != NULL ? allocator_find(text) : NULL;
	char word[SUGGEST_WORD_MAX], remedy[SUGGEST_REMEDY_MAX];

	const char *meant;

	if (allocator != NULL) {
		memcpy(key_field(key, base), &allocator, sizeof(allocator));
		return;
	}
	meant = reader_meant(reader, path, text ? text : "");
	if (meant == NULL)
		meant = suggest_of_list(allocator_names(), text ? text : "", word);
	reader_advise(reader, path, suggest_remedy(meant, remedy), "one of %s", allocator_names());
}

static const struct choice counts[] = {
	{"bytes", COUNT_BYTES},
	{"packets", COUNT_PACKETS},
	{"flows", COUNT_FLOWS},
	{0},
};

static const struct quantity_range window_range = {
	units_parse_time, 10 * MS_NS, 24 * 3600 * SECOND_NS, "10ms to 24h", "ns"};

#define METER_CHOICE(constant, member, prefix, state, profile, set, name, ...) \
	{name, METER_##constant},
static const struct choice meters[] = {METERS_TO_CHOOSE(METER_CHOICE, METER_CHOICE){0}};
#undef METER_CHOICE

/*
 * Reads "src" or "src/N": N bits of an IPv4 address, with one IPv6 subnet; above 32 of an IPv6
 * address.
 */
static void read_per(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	struct policy *policy = base;
	unsigned bits;
	int rc = text != NULL ? source_parse(text, &bits) : -EINVAL;

	(void)key;
	policy->per_v4 = SOURCE_V4_BITS;
	policy->per_v6 = SOURCE_V6_BITS;
	if (rc < 0)
		reader_expected(reader, path, "\"src\", or \"src/N\" with N from 1 to %u bits",
			SOURCE_V6_BITS);
	else if (bits > SOURCE_V4_BITS)
		policy->per_v6 = (uint8_t)bits;
	else if (bits > 0) {
		policy->per_v4 = (uint8_t)bits;
		policy->per_v6 = SOURCE_V6_SUBNET;
	}
}

static const struct choice weighs[] = {
	{"all", false},
	{"tcp", true},
	{0},
};

static const struct choice actions[] = {
	{"drop", ACTION_DROP},
	{"mark", ACTION_MARK},
	{"count", ACTION_COUNT},
	{"shape", ACTION_SHAPE},
	{0},
};

/* Keys of a trial, read as those of a policy that counts the same. */
static const struct key trial_keys[] = {
	{"limit", read_limit, KEY_FIELD(struct policy, limit_bps)},
	{"burst", read_policy_burst, KEY_FIELD(struct policy, burst_bytes)},
	{"meter", read_marked_choice, KEY_FIELD(struct policy, meter), .detail = meters},
	{"window", read_quantity, KEY_FIELD(struct policy, window_ns), .expected = EXPECTED_TIME,
		.detail = &window_range},
	{"classes", read_classes, KEY_FIELD(struct policy, classes)},
	{0},
};

static bool has_any_key(const json_t *object, const struct key *keys)
{
	for (const struct key *key = keys; key->name != NULL; key++)
		if (json_object_get(object, key->name) != NULL)
			return true;
	return false;
}

static void read_trial(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct policy *policy = base, tried = {.count = policy->count, .meter = METER_DEFAULT};
	unsigned errors = reader->errors;

	(void)key;
	read_keys(reader, path, value, trial_keys, &tried);
	if (reader->errors == errors && !has_any_key(value, trial_keys))
		reader_expected(reader, path,
			"at least one of \"limit\", \"burst\", \"meter\", \"window\" and "
			"\"classes\"");
	policy->trial = (struct trial_config){
		.set = json_is_object(value),
		.meter = tried.meter,
		.limit_bps = tried.limit_bps,
		.limit_s = tried.limit_s,
		.burst_bytes = tried.burst_bytes,
		.window_ns = tried.window_ns,
		.classes = tried.classes,
	};
}

static const struct choice accountings[] = {
	{"l3", ACCOUNTING_L3},
	{"l2", ACCOUNTING_L2},
	{"wire", ACCOUNTING_WIRE},
	{0},
};

static bool same_match(const struct key *key, const void *a, const void *b)
{
	(void)key;
	return policy_matches_equal(a, b);
}

static bool same_limit(const struct key *key, const void *a, const void *b)
{
	const struct policy *old = a, *policy = b;

	(void)key;
	return old->limit_bps == policy->limit_bps && policy_limit_s(old) == policy_limit_s(policy);
}

/* Compares only if there is one: its index has a meaning within one configuration (compare.c). */
static bool same_parentage(const struct key *key, const void *a, const void *b)
{
	(void)key;
	return policy_has_parent(a) == policy_has_parent(b);
}

static bool same_period(const struct key *key, const void *a, const void *b)
{
	const struct policy *old = a, *policy = b;

	(void)key;
	return old->period == policy->period && old->period_ns == policy->period_ns;
}

static bool same_second(const struct key *key, const void *a, const void *b)
{
	const struct limit_terms *old = key_field(key, a), *terms = key_field(key, b);

	return old->limit_bps == terms->limit_bps && old->limit_s == terms->limit_s &&
	       old->burst_bytes == terms->burst_bytes;
}

static bool same_schedule(const struct key *key, const void *a, const void *b)
{
	(void)key;
	return schedule_equal(
		((const struct policy *)a)->schedule, ((const struct policy *)b)->schedule);
}

static bool same_per(const struct key *key, const void *a, const void *b)
{
	const struct policy *old = a, *policy = b;

	(void)key;
	return old->per_v4 == policy->per_v4 && old->per_v6 == policy->per_v6;
}

static bool same_trial(const struct key *key, const void *a, const void *b)
{
	(void)key;
	return policy_trials_equal(a, b);
}

const struct key policy_keys[] = {
	{"name", read_name, .change = POLICY_ADDED, KEY_FIELD(struct policy, name),
		.required = true},
	{"match", read_matches, .change = POLICY_MATCH, .same = same_match, .required = true},
	{"count", read_marked_choice, .change = POLICY_ANEW, KEY_FIELD(struct policy, count),
		.detail = counts},
	{"allocator", read_allocator, .change = POLICY_ANEW, KEY_FIELD(struct policy, allocator)},
	{"limit", read_limit, .change = POLICY_TERMS, .same = same_limit,
		KEY_FIELD(struct policy, limit_bps), .required = true},
	{"parent", read_parent, .change = POLICY_TERMS, .same = same_parentage,
		KEY_FIELD(struct policy, parent)},
	{"weight", read_integer, .change = POLICY_TERMS, KEY_FIELD(struct policy, weight),
		.detail = &(const struct integer_range){1, POLICY_WEIGHT_MOST}},
	{"guaranteed", read_guaranteed, .change = POLICY_TERMS,
		KEY_FIELD(struct policy, guaranteed_bps)},
	{"total", read_total, .change = POLICY_TERMS, KEY_FIELD(struct policy, total),
		.required = true},
	{"period", read_period, .change = POLICY_ANEW, .same = same_period,
		KEY_FIELD(struct policy, period)},
	{"guarantee", read_marked_choice, .change = POLICY_ANEW,
		KEY_FIELD(struct policy, guarantee), .detail = guarantees},
	{"indicator", read_indicator, .change = POLICY_TERMS, KEY_FIELD(struct policy, indicator)},
	{"eta", read_real, .change = POLICY_TERMS, KEY_FIELD(struct policy, eta),
		.detail = &(const struct real_range){0, 1e12, .below = false}},
	{"meter", read_marked_choice, .change = POLICY_ANEW, KEY_FIELD(struct policy, meter),
		.detail = meters},
	{"classes", read_classes, .change = POLICY_ANEW, KEY_FIELD(struct policy, classes)},
	{"colours", read_object, .detail = colour_keys},
	{"peak", read_second, .change = POLICY_TERMS, .same = same_second,
		KEY_FIELD(struct policy, colours.second)},
	{"excess", read_second, .change = POLICY_TERMS, .same = same_second,
		KEY_FIELD(struct policy, colours.second), .detail = spilt_keys},
	{"window", read_quantity, .change = POLICY_TERMS, KEY_FIELD(struct policy, window_ns),
		.expected = EXPECTED_TIME, .detail = &window_range},
	{"burst", read_policy_burst, .change = POLICY_TERMS, KEY_FIELD(struct policy, burst_bytes)},
	{"schedule", read_schedule, .change = POLICY_TERMS, .same = same_schedule,
		KEY_FIELD(struct policy, schedule)},
	{"per", read_per, .change = POLICY_ANEW, .same = same_per,
		KEY_FIELD(struct policy, per_v4)},
	{"sources", read_integer, .change = POLICY_ANEW, KEY_FIELD(struct policy, sources),
		.detail = &(const struct integer_range){1024, 16777216}},
	{"weigh", read_choice, .change = POLICY_TERMS, KEY_FIELD(struct policy, weigh_tcp_only),
		.detail = weighs},
	{"action", read_marked_choice, .change = POLICY_TERMS, KEY_FIELD(struct policy, action),
		.detail = actions},
	{"mark", read_mark, .change = POLICY_TERMS, KEY_FIELD(struct policy, mark)},
	{"shape", read_object, .detail = shape_keys},
	{"slo", read_object, .detail = slo_keys},
	{"place", read_object, .detail = place_keys},
	{"accounting", read_choice, .change = POLICY_TERMS, KEY_FIELD(struct policy, accounting),
		.detail = accountings},
	{"trial", read_trial, .change = POLICY_TERMS, .same = same_trial,
		KEY_FIELD(struct policy, trial)},
	{"interval", read_quantity, .change = POLICY_TERMS, KEY_FIELD(struct policy, interval_ns),
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 10 * MS_NS, SECOND_NS,
			"10ms to 1s", "ns"}},
	/* The share of an old value that is kept: 1 would ignore all new values. */
	{"ewma", read_real, .change = POLICY_TERMS, KEY_FIELD(struct policy, keep_per_second),
		.detail = &(const struct real_range){0, 1, .below = true}},
	{"history", read_quantity, .change = POLICY_TERMS, KEY_FIELD(struct policy, history_ns),
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 200000000,
			3600 * SECOND_NS, "200ms to 1h", "ns"}},
	{"step", read_quantity, .change = POLICY_TERMS, KEY_FIELD(struct policy, step_ns),
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 100000000,
			600 * SECOND_NS, "100ms to 600s", "ns"}},
	{0},
};

void policy_init(void *element)
{
	*(struct policy *)element = (struct policy){
		.match = {.wire = WIRE_REFUSED, .vlan = CONFIG_ANY, .dscp = CONFIG_ANY},
		.meter = METER_DEFAULT,
		.mark = MARK_ECN,
		.accounting = ACCOUNTING_L3,
		.interval_ns = 50 * 1000 * 1000,
		.keep_per_second = 0.1,
		.history_ns = 10 * SECOND_NS,
		.step_ns = SECOND_NS,
		.parent = POLICY_NO_PARENT,
		.weight = 1,
	};
	colours_config_init(&((struct policy *)element)->colours);
	shape_config_init(&((struct policy *)element)->shape);
	place_config_init(&((struct policy *)element)->place);
}

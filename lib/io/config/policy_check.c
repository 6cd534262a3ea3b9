/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Completes policies and checks their keys against each other.
 */
#include <string.h>

#include "allocate/allocate.h"
#include "allocate/history.h"
#include "base/time.h"
#include "config/check.h"
#include "config/meters_that.h"
#include "policy/key.h"
#include "policy/kind.h"
#include "policy/units.h"
#include "config/unique.h"

#define SOURCES_DEFAULT 65536

static const struct json_path path_policies = {.key = "policies"};

static void complete_policy(const struct reader *reader, const struct json_path *path,
	struct policy *policy, unsigned n_limiters)
{
	bool spent = policy_is_quota(policy) && policy->limit_bps == 0;

	if (!reader_has(reader, path, "allocator"))
		policy->allocator = n_limiters <= 1 ? &allocator_central : &allocator_fps;
	if (policy->meter == METER_DEFAULT)
		policy->meter = policy->allocator == &allocator_grd ? METER_RANDOM_DROP
								    : METER_TOKEN_BUCKET;
	classes_complete(policy);
	guarantee_complete(reader, path, policy, n_limiters);
	if (policy->burst_bytes == 0 && !spent)
		policy->burst_bytes = burst_default(policy, n_limiters);
	colours_complete(policy, n_limiters);
	/* A limit of 100/min has a window of one minute. */
	if (meter_can(policy->meter, METER_WINDOW) && policy->limit_s > 0 &&
		!reader_has(reader, path, "window"))
		policy->window_ns = policy->limit_s * SECOND_NS;
	if (policy->per_v4 != 0 && policy->sources == 0)
		policy->sources = SOURCES_DEFAULT;
	schedule_complete(reader, path, policy, n_limiters);
	trial_complete(reader, path, policy, n_limiters);
}

void policies_complete(
	struct reader *reader, struct policy *policies, unsigned n, unsigned n_limiters)
{
	for (unsigned i = 0; i < n; i++) {
		struct json_path path = {.parent = &path_policies, .index = i};

		complete_policy(reader, &path, &policies[i], n_limiters);
	}
	parents_complete(reader, policies, n);
}

static int id_compare(const void *a, const void *b)
{
	uint64_t left = policy_key(a).id, right = policy_key(b).id;

	return left < right ? -1 : left > right;
}

static uint32_t id_of(const void *policy)
{
	return (uint32_t)policy_key(policy).id;
}

static const struct unique names[] = {
	{&path_policies, "name", "name", sizeof(struct policy), false, name_is_valid, name_compare,
		name_first_hash},
	{&path_policies, "name", "64-bit hash of the name", sizeof(struct policy), false,
		name_is_valid, id_compare, id_of},
};

/* Returns true if a key has an effect in a policy, or if the key that it requires is wrong. */
static bool has_sources(const struct policy *policy)
{
	return policy->per_v4 != 0;
}

static bool has_weights(const struct policy *policy)
{
	return policy->allocator == NULL || policy->allocator->samples_flows;
}

/* Marks of a meter of colours have a check of their own. */
static bool has_mark(const struct policy *policy)
{
	return policy->action == ACTION_MARK || policy->action == CHOICE_REFUSED ||
	       policy_is_coloured(policy);
}

static bool has_shape(const struct policy *policy)
{
	return policy->action == ACTION_SHAPE || policy->action == CHOICE_REFUSED;
}

static bool has_bytes(const struct policy *policy)
{
	return policy->count == COUNT_BYTES || policy->count == CHOICE_REFUSED;
}

static bool has_indicator(const struct policy *policy)
{
	return policy->allocator == NULL || policy->allocator->moves;
}

static bool has_history(const struct policy *policy)
{
	return policy->allocator == NULL || policy->allocator->remembers;
}

static bool has_total(const struct policy *policy)
{
	return policy->allocator == NULL || policy->allocator->counts_units;
}

static bool has_rate(const struct policy *policy)
{
	return !policy_is_quota(policy);
}

static bool has_parent(const struct policy *policy)
{
	return policy->parent != POLICY_NO_PARENT;
}

#define QUOTA "\"allocator\": \"quota\""

/* Keys that require a key, or exclude one: then with a remedy. */
static const struct {
	const char *key;
	bool (*applies)(const struct policy *policy);
	const char *other, *remedy;
} dependents[] = {
	{"sources", has_sources, "\"per\"", NULL},
	{"weigh", has_weights, "\"allocator\": \"fps\"", NULL},
	{"mark", has_mark, "\"action\": \"mark\"", NULL},
	{"shape", has_shape, "\"action\": \"shape\"", NULL},
	{"slo", has_shape, "\"action\": \"shape\"", NULL},
	{"accounting", has_bytes, "\"count\": \"bytes\"", NULL},
	{"indicator", has_indicator, "\"allocator\": \"gdrl\"", NULL},
	{"eta", has_indicator, "\"allocator\": \"gdrl\"", NULL},
	{"history", has_history, "\"allocator\": \"adaptor\"", NULL},
	{"step", has_history, "\"allocator\": \"adaptor\"", NULL},
	{"total", has_total, QUOTA, NULL},
	{"period", has_total, QUOTA, NULL},
	{"guarantee", has_rate, QUOTA, "remove \"guarantee\": a quota is never exceeded"},
	{"schedule", has_rate, QUOTA, "remove \"schedule\": \"total\" is the limit of a quota"},
	{"weight", has_parent, "\"parent\"", NULL},
	{"guaranteed", has_parent, "\"parent\"", NULL},
	{"meter", has_rate, QUOTA, "remove \"meter\": a quota counts without one"},
};

#define DEPENDENTS (sizeof(dependents) / sizeof(dependents[0]))

/* Looks up the keys of the policy in the table: a policy has few of them. */
static void find_dependents(json_t *policy, bool there[DEPENDENTS])
{
	const char *key;
	json_t *value;

	json_object_foreach (policy, key, value) {
		for (size_t i = 0; i < DEPENDENTS; i++)
			there[i] |= same_word(key, dependents[i].key);
	}
}

static void check_dependents(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	bool there[DEPENDENTS] = {false};
	/* check_coloured() then rejects the action. */
	bool coloured = policy_is_coloured(policy) && reader_has(reader, path, "action");

	find_dependents(json_path_find(reader->root, path), there);
	for (size_t i = 0; i < DEPENDENTS; i++) {
		struct json_path at = {.parent = path, .key = dependents[i].key};

		if (!there[i] || dependents[i].applies(policy) ||
			(coloured && dependents[i].applies == has_shape))
			continue;
		if (dependents[i].remedy != NULL)
			reader_excludes(
				reader, &at, dependents[i].remedy, "%s", dependents[i].other);
		else
			reader_requires(reader, &at, "%s", dependents[i].other);
	}
}

/* A meter of colours has an action for each colour instead of one. */
static void check_coloured(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	static const char *const keys[] = {"action", "mark"};

	for (size_t i = 0; i < 2 && policy_is_coloured(policy); i++) {
		struct json_path at = {.parent = path, .key = keys[i]};

		if (reader_has(reader, path, keys[i]))
			reader_excludes(reader, &at, "set the action of each colour in \"colours\"",
				"\"meter\": \"%s\"", meter_name(policy->meter));
	}
}

static void check_allocator(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	const struct allocator *allocator = policy->allocator;
	struct json_path at = {.parent = path, .key = "allocator"};
	struct json_path per = {.parent = path, .key = "per"};

	if (allocator == NULL)
		return;
	if (allocator->alone && n_limiters > 1)
		reader_expected(reader, &at,
			"an allocator that can share the limit between %u limiters", n_limiters);
	else if (policy->per_v4 != 0 &&
		 (allocator->gossips || allocator->moves || allocator->counts_units))
		reader_requires(reader, &per, "\"allocator\": %s\"static\"%s",
			n_limiters > 1 ? "" : "\"central\" or ",
			n_limiters > 1 ? " in a group" : "");
}

/*
 * Returns the abilities of which the meter must have one for the allocator: GTB drains a bucket,
 * GRD drops at random or fills one, adaptor divides the depth of buckets. 0: no requirement.
 */
static unsigned allocator_asks(const struct policy *policy)
{
	if (policy->allocator == &allocator_gtb)
		return METER_DRAINED;
	if (policy->allocator == &allocator_adaptor)
		return METER_DEEPENED;
	return policy->allocator == &allocator_grd ? METER_AT_RANDOM | METER_DRAINED : 0;
}

/*
 * Checks the meter against the allocator, against "per", whose sources have few kinds of meters, and
 * against a limit of flows, which has no classes and no colours.
 */
static void check_meter(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path at = {.parent = path, .key = "meter"};
	unsigned asked = allocator_asks(policy);
	char meters[METERS_TEXT_MAX];

	if (policy->meter == CHOICE_REFUSED || policy_is_quota(policy))
		return;
	if (asked && !meter_can(policy->meter, asked))
		reader_expected(reader, &at, "%s with the allocator \"%s\"",
			meters_that(asked, meters), policy->allocator->name);
	else if (policy_is_per_source(policy) &&
		 !meter_can(policy_meter_kind(policy), METER_PER_SOURCE))
		reader_excludes(reader, &at, "choose another meter", "\"per\"");
	else if (policy->count == COUNT_FLOWS &&
		 meter_can(policy->meter, METER_CLASSES | METER_COLOURS))
		reader_excludes(reader, &at, "choose another meter", "\"count\": \"flows\"");
}

/* A history has whole steps, each of at least an interval. */
static void check_history(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path history = {.parent = path, .key = "history"};
	struct json_path step = {.parent = path, .key = "step"};
	char text[UNITS_TEXT_MAX];

	if (!has_history(policy) || policy->history_ns == 0 || policy->step_ns == 0)
		return;
	if (policy->step_ns < policy->interval_ns)
		reader_expected(reader, &step, "at least \"interval\", %s",
			units_format_time(policy->interval_ns, text, sizeof(text)));
	if (policy->history_ns % policy->step_ns != 0 ||
		policy->history_ns / policy->step_ns < HISTORY_STEPS_MIN ||
		policy->history_ns / policy->step_ns > HISTORY_STEPS_MAX)
		reader_expected(reader, &history, "%d to %d times \"step\", %s", HISTORY_STEPS_MIN,
			HISTORY_STEPS_MAX, units_format_time(policy->step_ns, text, sizeof(text)));
}

/* Rejects names that commands could mistake for an option; "-" means no policy. */
static void check_name(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path at = {.parent = path, .key = "name"};

	if (policy->name[0] == '-')
		reader_expected(reader, &at, "a name that does not begin with \"-\"");
}

void policies_check(
	struct reader *reader, const struct policy *policies, unsigned n, unsigned n_limiters)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_unique(reader, &names[i], policies, n);
	for (unsigned i = 0; i < n; i++) {
		struct json_path path = {.parent = &path_policies, .index = i};

		if (!json_is_object(json_path_find(reader->root, &path)))
			continue;
		check_name(reader, &path, &policies[i]);
		policy_check_metered(reader, &path, &policies[i], false);
		check_dependents(reader, &path, &policies[i]);
		check_coloured(reader, &path, &policies[i]);
		check_allocator(reader, &path, &policies[i], n_limiters);
		check_meter(reader, &path, &policies[i]);
		policy_check_window(reader, &path, &policies[i]);
		colours_check(reader, &path, &policies[i]);
		shape_check(reader, &path, &policies[i]);
		check_history(reader, &path, &policies[i]);
		place_check(reader, &path);
		schedule_check(reader, &path, &policies[i], n_limiters);
		guarantee_check(reader, &path, &policies[i], n_limiters);
		trial_check(reader, &path, &policies[i]);
		level_check(reader, &path, policies, i);
	}
}

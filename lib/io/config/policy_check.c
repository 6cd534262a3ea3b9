/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <string.h>

#include "allocate/allocate.h"
#include "allocate/history.h"
#include "base/time.h"
#include "config/check.h"
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
	/* 100/min is a hundred in a minute. */
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
	uint32_t left = policy_id(a), right = policy_id(b);

	return left < right ? -1 : left > right;
}

static uint32_t id_of(const void *policy)
{
	return policy_id(policy);
}

static const struct unique names[] = {
	{&path_policies, "name", "a name", sizeof(struct policy), false, name_known, name_compare,
		name_first_hash},
	{&path_policies, "name", "a name with a 32-bit FNV-1a hash", sizeof(struct policy), false,
		name_known, id_compare, id_of},
};

/* Whether a key means something in a policy, also when what it depends on was refused. */
static bool has_sources(const struct policy *policy)
{
	return policy->per_v4 != 0;
}

static bool has_weights(const struct policy *policy)
{
	return policy->allocator == NULL || policy->allocator->samples_flows;
}

static bool has_action(const struct policy *policy)
{
	return !policy_is_coloured(policy);
}

static bool has_mark(const struct policy *policy)
{
	if (policy_is_coloured(policy))
		return false;
	return policy->action == ACTION_MARK || policy->action == CHOICE_REFUSED;
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

static const struct {
	const char *key;
	bool (*applies)(const struct policy *policy);
	const char *words;
} dependents[] = {
	{"sources", has_sources, "without \"per\""},
	{"weigh", has_weights, "unless \"allocator\" is \"fps\""},
	{"action", has_action, "with a meter of colours, which have actions in \"colours\""},
	{"mark", has_mark, "unless \"action\" is \"mark\""},
	{"shape", has_shape, "unless \"action\" is \"shape\""},
	{"slo", has_shape, "unless \"action\" is \"shape\""},
	{"accounting", has_bytes, "unless \"count\" is \"bytes\""},
	{"indicator", has_indicator, "unless \"allocator\" is \"gdrl\""},
	{"eta", has_indicator, "unless \"allocator\" is \"gdrl\""},
	{"history", has_history, "unless \"allocator\" is \"adaptor\""},
	{"step", has_history, "unless \"allocator\" is \"adaptor\""},
	{"total", has_total, "unless \"allocator\" is \"quota\""},
	{"period", has_total, "unless \"allocator\" is \"quota\""},
	{"guarantee", has_rate, "with the allocator \"quota\", which never exceeds its total"},
	{"schedule", has_rate, "with the allocator \"quota\", whose total is what limits"},
	{"weight", has_parent, "without \"parent\""},
	{"guaranteed", has_parent, "without \"parent\""},
	{"meter", has_rate, "with the allocator \"quota\", which counts for itself"},
};

#define DEPENDENTS (sizeof(dependents) / sizeof(dependents[0]))

/* A policy has few of the keys that it may have: each is looked for among them. */
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

	find_dependents(json_path_find(reader->root, path), there);
	for (size_t i = 0; i < DEPENDENTS; i++) {
		struct json_path at = {.parent = path, .key = dependents[i].key};

		if (there[i] && !dependents[i].applies(policy))
			reader_expected(reader, &at, "none %s", dependents[i].words);
	}
}

static void check_allocator(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	const struct allocator *allocator = policy->allocator;
	struct json_path at = {.parent = path, .key = "allocator"};

	if (allocator == NULL)
		return;
	if (allocator->alone && n_limiters > 1)
		reader_expected(reader, &at,
			"an allocator that can share the limit between %u limiters", n_limiters);
	else if (policy->per_v4 != 0 &&
		 (allocator->gossips || allocator->moves || allocator->counts_units))
		reader_expected(reader, &at, "%s\"static\" beside \"per\"",
			n_limiters > 1 ? "" : "\"central\" or ");
}

/*
 * What an allocator asks of a meter: GTB drains a bucket, GRD drops at random or fills one, adaptor
 * divides the depth of buckets. 0: nothing.
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
 * Beside what the allocator asks, a meter that a table of sources does not have cannot be each
 * one's own, and what begins a flow has no flow to be told by.
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
		reader_expected(reader, &at, "another beside \"per\"");
	else if (policy->count == COUNT_FLOWS &&
		 meter_can(policy->meter, METER_CLASSES | METER_COLOURS))
		reader_expected(
			reader, &at, "another unless \"count\" is \"bytes\" or \"packets\"");
}

/* A history is of whole steps, each of at least an interval. */
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

void policies_check(
	struct reader *reader, const struct policy *policies, unsigned n, unsigned n_limiters)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_unique(reader, &names[i], policies, n);
	for (unsigned i = 0; i < n; i++) {
		struct json_path path = {.parent = &path_policies, .index = i};

		if (!json_is_object(json_path_find(reader->root, &path)))
			continue;
		policy_check_metered(reader, &path, &policies[i]);
		check_dependents(reader, &path, &policies[i]);
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

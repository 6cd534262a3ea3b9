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
#include "config/config_messages.h"
#include "config/keys.h"
#include "config/meter_check.h"
#include "policy/names.h"
#include "policy/kind.h"
#include "policy/units.h"

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

static void check_allocator(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	const struct allocator *allocator = policy->allocator;
	struct json_path at = {.parent = path, .key = "allocator"};
	struct json_path per = {.parent = path, .key = "per"};

	if (allocator == NULL)
		return;
	if (allocator->alone && n_limiters > 1)
		reader_report(reader, &at, MESSAGE(ALLOCATOR_NOT_SHARED), n_limiters);
	else if (policy->per_v4 != 0 &&
		 (allocator->gossips || allocator->moves || allocator->counts_units))
		reader_report(reader, &per, MESSAGE(PER_NEEDS_STATIC),
			n_limiters > 1 ? "" : "\"central\" or ",
			n_limiters > 1 ? " in a group" : "");
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
		reader_report(reader, &at, MESSAGE(METER_OF_ALLOCATOR), meters_that(asked, meters),
			policy->allocator->name);
	else if (policy_is_per_source(policy) &&
		 !meter_can(policy_meter_kind(policy), METER_PER_SOURCE))
		reader_report(reader, &at, MESSAGE(METER_EXCLUDES_PER));
	else if (policy->count == COUNT_FLOWS &&
		 meter_can(policy->meter, METER_CLASSES | METER_COLOURS))
		reader_report(reader, &at, MESSAGE(METER_EXCLUDES_FLOWS));
}

/* A history has whole steps, each of at least an interval. */
static void check_history(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path history = {.parent = path, .key = "history"};
	struct json_path step = {.parent = path, .key = "step"};
	char text[UNITS_TEXT_MAX];

	if (policy->allocator == NULL || !policy->allocator->remembers || policy->history_ns == 0 ||
		policy->step_ns == 0)
		return;
	if (policy->step_ns < policy->interval_ns)
		reader_report(reader, &step, MESSAGE(STEP_BELOW_INTERVAL),
			units_format_time(policy->interval_ns, text, sizeof(text)));
	if (policy->history_ns % policy->step_ns != 0 ||
		policy->history_ns / policy->step_ns < HISTORY_STEPS_MIN ||
		policy->history_ns / policy->step_ns > HISTORY_STEPS_MAX)
		reader_report(reader, &history, MESSAGE(HISTORY_STEPS), HISTORY_STEPS_MIN,
			HISTORY_STEPS_MAX, units_format_time(policy->step_ns, text, sizeof(text)));
}

static void expect_of(struct reader *reader, const struct json_path *path, const char *key,
	bool right, const char *words)
{
	struct json_path at = {.parent = path, .key = key};

	if (!right)
		reader_report(reader, &at, MESSAGE(NOT_WITH_SHAPE), words);
}

static void check_shape(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	const struct allocator *allocator = policy->allocator;
	const struct shape_config *shape = &policy->shape;
	struct json_path at = {.parent = path, .key = "shape"};
	struct json_path target = {.parent = &at, .key = "target"};
	char meters[METERS_TEXT_MAX];

	if (!policy_is_shaped(policy))
		return;
	if (reader_has(reader, path, "meter"))
		expect_of(reader, path, "meter", meter_may(policy, METER_SHAPES),
			meters_that(METER_SHAPES, meters));
	expect_of(reader, path, "count", policy->count != COUNT_FLOWS, "\"bytes\" or \"packets\"");
	if (allocator != NULL &&
		(allocator->drains || allocator == &allocator_grd || allocator->counts_units))
		reader_report(reader, &(const struct json_path){.parent = path, .key = "allocator"},
			MESSAGE(ALLOCATOR_EXCLUDES_SHAPE));
	if (shape->drop == SHAPE_DROP_CODEL && shape->target_ns >= shape->interval_ns)
		reader_report(reader, &target, MESSAGE(TARGET_ABOVE_INTERVAL));
	else if (shape->drop == SHAPE_DROP_CODEL && shape->target_ns >= shape->delay_ns)
		reader_report(reader, &target, MESSAGE(TARGET_ABOVE_DELAY));
}

void policies_check(
	struct reader *reader, const struct policy *policies, unsigned n, unsigned n_limiters)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_unique(reader, &names[i], policies, n);
	for (unsigned i = 0; i < n; i++) {
		struct json_path path = {.parent = &path_policies, .index = i};
		struct json_path name = {.parent = &path, .key = "name"};

		if (!json_is_object(json_path_find(reader->root, &path)))
			continue;
		if (policies[i].name[0] == '-') /* an option, or "-" for no policy, in commands */
			reader_report(reader, &name, MESSAGE(NAME_LIKE_OPTION));
		keys_check(reader, &path, policy_keys, &policies[i]);
		check_allocator(reader, &path, &policies[i], n_limiters);
		check_meter(reader, &path, &policies[i]);
		policy_check_window(reader, &path, &policies[i]);
		colours_check(reader, &path, &policies[i]);
		check_shape(reader, &path, &policies[i]);
		check_history(reader, &path, &policies[i]);
		schedule_check(reader, &path, &policies[i], n_limiters);
		guarantee_check(reader, &path, &policies[i], n_limiters);
		trial_check(reader, &path, &policies[i]);
		level_check(reader, &path, policies, i);
	}
}

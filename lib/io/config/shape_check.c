/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Checks of policies with the action "shape".
 */
#include "allocate/allocate.h"
#include "config/check.h"
#include "config/config_messages.h"
#include "config/meters_that.h"
#include "policy/kind.h"

static void expect_of(struct reader *reader, const struct json_path *path, const char *key,
	bool right, const char *words)
{
	struct json_path at = {.parent = path, .key = key};

	if (!right)
		reader_report(reader, &at, MESSAGE(NOT_WITH_SHAPE), words);
}

static void check_codel(
	struct reader *reader, const struct json_path *path, const struct shape_config *shape)
{
	struct json_path at = {.parent = path, .key = "shape"};
	struct json_path target = {.parent = &at, .key = "target"};

	if (shape->drop == SHAPE_DROP_CODEL && shape->target_ns >= shape->interval_ns)
		reader_report(reader, &target, MESSAGE(TARGET_ABOVE_INTERVAL));
	else if (shape->drop == SHAPE_DROP_CODEL && shape->target_ns >= shape->delay_ns)
		reader_report(reader, &target, MESSAGE(TARGET_ABOVE_DELAY));
}

void shape_check(struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	const struct allocator *allocator = policy->allocator;
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
	check_codel(reader, path, &policy->shape);
}

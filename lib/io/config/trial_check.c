/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Trials: limits that are counted beside the one that is enforced.
 */
#include "allocate/allocate.h"
#include "base/time.h"
#include "config/check.h"
#include "policy/kind.h"
#include "policy/trial.h"

/* What a policy of these terms would have, keys of its own and defaults alike. */
static struct policy as_written(const struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	const struct trial_config *trial = &policy->trial;
	struct json_path at = {.parent = path, .key = "trial"};
	struct policy tried = *policy;

	if (trial->meter != METER_DEFAULT)
		tried.meter = trial->meter;
	if (trial->limit_bps > 0) {
		tried.limit_bps = trial->limit_bps;
		tried.limit_s = trial->limit_s;
	}
	if (reader_has(reader, &at, "classes"))
		tried.classes = trial->classes;
	classes_complete(&tried);
	if (trial->burst_bytes > 0)
		tried.burst_bytes = trial->burst_bytes;
	else if (!reader_has(reader, path, "burst"))
		tried.burst_bytes = burst_default(&tried, n_limiters);
	if (trial->window_ns > 0)
		tried.window_ns = trial->window_ns;
	else if (tried.limit_s > 0 && !reader_has(reader, path, "window"))
		tried.window_ns = tried.limit_s * SECOND_NS;
	return tried;
}

void trial_complete(const struct reader *reader, const struct json_path *path,
	struct policy *policy, unsigned n_limiters)
{
	struct policy tried;

	if (!policy_has_trial(policy) || policy->allocator == NULL)
		return;
	tried = as_written(reader, path, policy, n_limiters);
	policy->trial = (struct trial_config){
		.set = true,
		.meter = tried.meter,
		.limit_bps = tried.limit_bps,
		.limit_s = tried.limit_s,
		.burst_bytes = tried.burst_bytes,
		.window_ns = meter_can(tried.meter, METER_WINDOW) ? tried.window_ns : 0,
		.classes = tried.classes,
	};
}

/* What is a limiter's own of their limits is no part that another limit could have as well. */
static bool allocator_can_be_tried(const struct policy *policy)
{
	return policy->allocator != &allocator_gtb && policy->allocator != &allocator_grd &&
	       !policy_is_quota(policy);
}

/* Whether a meter may be tried, and else what may. */
static unsigned meters_to_try(const struct policy *policy)
{
	if (policy_is_shaped(policy))
		return METER_SHAPES;
	return policy_is_conserved(policy) ? METER_CONSERVED : METER_BURST | METER_WINDOW;
}

static void check_trial_meter(struct reader *reader, const struct json_path *path,
	const struct policy *policy, const struct policy *tried)
{
	struct json_path at = {.parent = path, .key = "meter"};
	char meters[METERS_TEXT_MAX];

	if (tried->meter == CHOICE_REFUSED)
		return;
	if (!meter_can(tried->meter, meters_to_try(policy)) || policy_is_coloured(tried))
		reader_expected(reader, &at, "%s in a trial of this policy",
			meters_that_but(meters_to_try(policy), METER_COLOURS, meters));
	else if (policy_is_per_source(tried) &&
		 !meter_can(policy_meter_kind(tried), METER_PER_SOURCE))
		reader_expected(reader, &at, "another beside \"per\"");
	else if (policy->count == COUNT_FLOWS && meter_can(tried->meter, METER_CLASSES))
		reader_expected(
			reader, &at, "another unless \"count\" is \"bytes\" or \"packets\"");
}

void trial_check(struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path at = {.parent = path, .key = "trial"};
	struct policy tried;

	if (!policy_has_trial(policy) || policy->allocator == NULL)
		return;
	if (!allocator_can_be_tried(policy)) {
		reader_expected(
			reader, &at, "none with the allocator \"%s\"", policy->allocator->name);
		return;
	}
	tried = policy_trial(policy);
	check_trial_meter(reader, &at, policy, &tried);
	policy_check_metered(reader, &at, &tried);
	policy_check_window(reader, &at, &tried);
}

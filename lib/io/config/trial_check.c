/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Trials: limits that are counted in addition to the one that is enforced.
 */
#include "allocate/allocate.h"
#include "base/time.h"
#include "config/check.h"
#include "config/config_messages.h"
#include "config/keys.h"
#include "config/meter_check.h"
#include "policy/kind.h"
#include "policy/trial.h"

/* Returns the policy with the keys and the defaults of its trial. */
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

/* Returns the abilities of which the trial's meter must have one. */
static unsigned meters_to_try(const struct policy *policy)
{
	if (policy_is_shaped(policy))
		return METER_SHAPES;
	return policy_is_hard(policy) ? METER_HARD : METER_BURST | METER_WINDOW;
}

static void check_trial_meter(struct reader *reader, const struct json_path *path,
	const struct policy *policy, const struct policy *tried)
{
	struct json_path at = {.parent = path, .key = "meter"};
	const char *restriction = policy_is_shaped(policy) ? "with the action \"shape\""
				  : policy_is_hard(policy) ? "with \"guarantee\": \"hard\""
							   : "in a trial";
	char meters[METERS_TEXT_MAX];

	if (tried->meter == CHOICE_REFUSED)
		return;
	if (!meter_can(tried->meter, meters_to_try(policy)) || policy_is_coloured(tried))
		reader_report(reader, &at, MESSAGE(TRIAL_METER),
			meters_that_but(meters_to_try(policy), METER_COLOURS, meters), restriction);
	else if (policy_is_per_source(tried) &&
		 !meter_can(policy_meter_kind(tried), METER_PER_SOURCE))
		reader_report(reader, &at, MESSAGE(METER_EXCLUDES_PER));
	else if (policy->count == COUNT_FLOWS && meter_can(tried->meter, METER_CLASSES))
		reader_report(reader, &at, MESSAGE(METER_EXCLUDES_FLOWS));
}

void trial_check(struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path at = {.parent = path, .key = "trial"};
	/* Their local limit is not a share, which another limit could have. */
	const bool has_no_share = policy->allocator == &allocator_gtb ||
				  policy->allocator == &allocator_grd || policy_is_quota(policy);
	struct policy tried;

	if (!policy_has_trial(policy) || policy->allocator == NULL || has_no_share)
		return;
	tried = policy_trial(policy);
	check_trial_meter(reader, &at, policy, &tried);
	keys_check(reader, &at, trial_keys, &tried);
	policy_check_window(reader, &at, &tried);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that count and do not enforce: trials, and all limits in shadow mode.
 */
#include "policy/trial.h"

#include <string.h>

#include "allocate/allocate.h"
#include "base/math.h"
#include "base/time.h"
#include "policy/kind.h"
#include "policy/schedule.h"

uint64_t policy_depth_with_queue(const struct policy *policy)
{
	uint64_t most = policy->count == COUNT_BYTES ? CONFIG_BURST_MAX : CONFIG_COUNT_MAX;
	/* The bytes, or packets, that can wait in the queue of such a limit. */
	const double depth = policy_rate(policy) * (double)policy->shape.delay_ns / SECOND_NS;
	const bool full = policy->shape.bytes > 0 && depth > (double)policy->shape.bytes;

	return min_u64(policy->burst_bytes + (full ? policy->shape.bytes : (uint64_t)depth), most);
}

/* A trial has the policy's part of the limit, so it needs no allocator and no samples. */
struct policy policy_trial(const struct policy *policy)
{
	struct policy trial = *policy;

	trial.limit_bps = policy->trial.limit_bps;
	trial.limit_s = policy->trial.limit_s;
	trial.burst_bytes = policy->trial.burst_bytes;
	trial.window_ns = policy->trial.window_ns;
	trial.meter = policy->trial.meter;
	trial.classes = policy->trial.classes;
	if (policy_is_shaped(policy))
		trial.burst_bytes = policy_depth_with_queue(&trial);
	trial.allocator = &allocator_static;
	trial.action = ACTION_DROP;
	trial.weigh_tcp_only = false;
	trial.slo_p99_ns = 0;
	trial.schedule = NULL;
	trial.trial.set = false;
	return trial;
}

bool policy_trials_equal(const struct policy *a, const struct policy *b)
{
	struct policy x, y;

	if (!policy_has_trial(a) || !policy_has_trial(b))
		return policy_has_trial(a) == policy_has_trial(b);
	x = policy_trial(a);
	y = policy_trial(b);
	return x.meter == y.meter && x.limit_bps == y.limit_bps &&
	       policy_limit_s(&x) == policy_limit_s(&y) && x.burst_bytes == y.burst_bytes &&
	       x.window_ns == y.window_ns && memcmp(&x.classes, &y.classes, sizeof(x.classes)) == 0;
}

/* Shadow mode. */

/* Returns the bucket's depth with these terms instead of the policy's. */
static uint64_t depth_of(const struct policy *policy, const struct limit_terms *terms)
{
	struct policy other = *policy;

	other.limit_bps = terms->limit_bps;
	other.limit_s = terms->limit_s;
	other.burst_bytes = terms->burst_bytes;
	return policy_depth_with_queue(&other);
}

static void deepen_buckets(struct policy *policy)
{
	const struct limit_terms own = policy_terms(policy);
	const struct schedule *schedule = policy->schedule;

	for (unsigned i = 0; schedule && i < schedule->n; i++) {
		struct limit_terms *terms = &schedule->entries[i].terms;

		terms->burst_bytes = depth_of(policy, terms);
	}
	if (policy_has_trial(policy))
		policy->trial.burst_bytes = policy_trial(policy).burst_bytes;
	policy->burst_bytes = depth_of(policy, &own);
}

static void enter_shadow(struct policy *policy)
{
	/* Counts packets that would be dropped or marked. Green packets would always pass. */
	for (unsigned c = 0; c < COLOURS; c++) {
		struct colour_action *action = &policy->colours.actions[c];

		if (action->action != ACTION_PASS)
			action->action = c == COLOUR_GREEN ? ACTION_PASS : ACTION_COUNT;
	}
	if (policy_is_shaped(policy)) /* false the second time */
		deepen_buckets(policy);
	policy->slo_p99_ns = 0; /* its sources need no assigned worker, because nothing waits */
	policy->action = ACTION_COUNT;
}

void config_enter_shadow(struct config *config)
{
	config->shadow = true;
	for (unsigned i = 0; i < config->n_policies; i++)
		enter_shadow(&config->policies[i]);
}

void config_force_shadow(struct config *config)
{
	config_enter_shadow(config);
	config->shadow_forced = true;
}

enum unparsed_action config_unparsed(const struct config *config)
{
	if (config->shadow && config->unparsed == UNPARSED_DROP)
		return UNPARSED_PASS;
	return config->unparsed;
}

uint32_t config_drops(const struct config *config)
{
	uint32_t wires = 0;

	for (unsigned i = 0; i < config->n_wires && !config->shadow; i++)
		wires |= (uint32_t)(config->wires[i].otherwise == OTHERWISE_DROP) << i;
	return wires;
}

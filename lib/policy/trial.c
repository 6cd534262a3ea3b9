/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/trial.h"

#include <string.h>

#include "allocate/allocate.h"
#include "base/math.h"
#include "base/time.h"
#include "policy/kind.h"

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

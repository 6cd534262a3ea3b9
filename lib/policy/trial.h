/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A trial counts the effect that another limit, burst or meter would have on the packets of a
 * policy, in addition to the enforced limit. For meters and counters it is a separate policy that
 * drops. No packet matches that policy: packets reach it only through the policy that has the
 * trial. Pure; any thread.
 */
#ifndef WEIR_POLICY_TRIAL_H
#define WEIR_POLICY_TRIAL_H

#include <stdbool.h>

#include "policy/policy.h"

static inline bool policy_has_trial(const struct policy *policy)
{
	return policy->trial.set;
}

/*
 * Returns the trial of a policy as a policy: the original with the trial's terms, without its other
 * effects on packets. If packets wait, the bucket is deeper by the size of the queue, because such
 * a bucket drops the packets that the queue would drop. Requires policy_has_trial().
 */
struct policy policy_trial(const struct policy *policy);

/*
 * Returns the depth of a bucket that drops the same bytes (or packets) as the queue of a policy:
 * its burst and the size of the queue. Requires policy_is_shaped().
 */
uint64_t policy_depth_with_queue(const struct policy *policy);

/*
 * Returns true if two policies, equal except for their trials, have the same trial, or if neither
 * has one.
 */
bool policy_trials_equal(const struct policy *a, const struct policy *b);

#endif

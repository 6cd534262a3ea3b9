/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A trial: what another limit, burst or meter would do to the packets of a policy, counted beside
 * what is enforced. To meters and counters it is a policy of its own, which drops and is nobody's:
 * no packet is led to it but by the policy that it is a trial of. Pure; any thread.
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
 * The policy that a trial is: the one that has it, with the trial's terms in place of its own, and
 * without what else it does to packets. Where packets wait the depth of the bucket is what may be
 * in the queue too, since what a queue of so many drops, a bucket so much deeper drops. Of one that
 * policy_has_trial().
 */
struct policy policy_trial(const struct policy *policy);

/*
 * The depth of a bucket that drops, in bytes (or packets), what the queue of such a policy, which
 * policy_is_shaped(), would: its burst, and what may wait there.
 */
uint64_t policy_depth_with_queue(const struct policy *policy);

/* Whether two policies, of one kind but for their trials, have the same one, or neither has. */
bool policy_trials_equal(const struct policy *a, const struct policy *b);

#endif

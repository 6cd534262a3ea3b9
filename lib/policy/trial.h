/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Trials and shadow mode: limits that count and do not enforce. Pure; any thread.
 *
 * A trial counts the effect that another limit, burst or meter would have on the packets of a
 * policy, in addition to the enforced limit. For meters and counters it is a separate policy that
 * drops. No packet matches that policy: packets reach it only through the policy that has the
 * trial.
 *
 * In shadow mode the limiter enforces nothing. Its policies meter, count and exchange messages as
 * if they enforced, and every packet passes unchanged.
 */
#ifndef WEIR_POLICY_TRIAL_H
#define WEIR_POLICY_TRIAL_H

#include <stdbool.h>

#include "policy/config.h"
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

/*
 * Makes every policy of a complete configuration only count. If packets would wait, the buckets of
 * the policy, its schedule and its trial become deeper by the size of the queue. They then reject
 * the packets that the queue would drop. Call it before a worker uses the policies.
 */
void config_enter_shadow(struct config *config);

/*
 * Enters shadow mode, and marks it as forced. Configurations read later are in it too, even if they
 * do not request it.
 */
void config_force_shadow(struct config *config);

/*
 * Returns the set of wires, one bit each, that drop packets without a policy. Empty in shadow mode.
 */
uint32_t config_drops(const struct config *config);

/* Returns the treatment of packets that the parser does not understand. Shadow mode drops none. */
enum unparsed_action config_unparsed(const struct config *config);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The state of one policy: how it begins, and how much its bucket holds.
 */
#include "limiter/aggregate.h"

#include "base/math.h"
#include "base/time.h"

uint64_t policy_burst_floor(const struct limiter_policy *policy)
{
	return policy->burst_floor ? policy->burst_floor : LIMITER_BURST_FLOOR;
}

double limiter_first_limit(const struct limiter_policy *policy, unsigned n)
{
	return limiter_policy_rate(policy) / (policy->allocator->alone ? 1 : n);
}

double limiter_first_burst(const struct limiter_policy *policy, unsigned n)
{
	return (double)policy->burst_bytes / (policy->allocator->alone ? 1 : n);
}

void aggregate_init(
	struct aggregate *a, const struct limiter_policy *policy, unsigned n, uint64_t now_ns)
{
	a->policy = *policy;
	a->measured_ns = now_ns;
	a->next_ns = now_ns + policy->interval_ns;
	a->share = limiter_policy_rate(policy);
	a->level = LEVEL_NONE;
	a->effective_limit = limiter_first_limit(policy, n);
	a->state.local_limit = a->effective_limit;
	a->state.local_burst = limiter_first_burst(policy, n);
	a->lost = n - 1;
	a->lends_from_ns = now_ns + LOAN_HOLD_MOST_NS;
}

/* Before floors: an allocator's own answer, or as the limit is shared. */
static double shared_burst(const struct aggregate *a, double limit)
{
	if (a->policy.allocator->remembers)
		return a->state.local_burst;
	return (double)a->policy.burst_bytes * (a->state.local_limit / limit);
}

uint64_t aggregate_whole_burst(const struct limiter *l, const struct aggregate *a)
{
	if (aggregate_has_burst_account(&a->policy))
		return (uint64_t)a->state.local_burst;
	return conserve_burst(l->conserve, a->rate_account, a->policy.burst_bytes,
		(uint64_t)(a->held * limiter_time(&a->policy) + 0.5));
}

uint64_t aggregate_burst(const struct limiter *l, const struct aggregate *a)
{
	double limit = a->share;
	uint64_t burst, least = policy_burst_floor(&a->policy);

	if (aggregate_hard(a))
		return aggregate_whole_burst(l, a) -
		       min_u64(a->withheld, aggregate_whole_burst(l, a));
	if (a->policy.allocator->whole_burst)
		return a->policy.burst_bytes;
	if (limit <= 0)
		return 0;
	burst = (uint64_t)shared_burst(a, limit);
	if (burst < least)
		burst = least;
	return burst < a->policy.burst_bytes ? burst : a->policy.burst_bytes;
}

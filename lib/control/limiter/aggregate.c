/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a limiter keeps of one policy: how it begins, how it sleeps, and what its bucket holds.
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

void aggregate_catch_up(struct aggregate *a, uint64_t ticked_ns)
{
	uint64_t period = a->policy.interval_ns, slept_ns;
	double slept_s;

	if (ticked_ns < a->next_ns)
		return;
	a->next_ns += ((ticked_ns - a->next_ns) / period + 1) * period;
	slept_ns = a->next_ns - period - a->measured_ns;
	slept_s = (double)slept_ns / SECOND_NS;
	a->measured_ns += slept_ns;
	a->demand.seen = 1 - (1 - a->demand.seen) * demand_keep(a->policy.keep_per_second, slept_s);
	allocate_rest(&a->state, slept_s);
}

void limiter_wake(struct limiter *l, unsigned policy)
{
	if (bitmap_has(l->active, policy))
		return;
	bitmap_set(l->active, policy);
	aggregate_catch_up(&l->aggregates[policy], l->ticked_ns);
}

/* Before floors: an allocator's own answer, or as the limit is shared. */
static double shared_burst(const struct aggregate *a, double limit)
{
	if (a->policy.allocator->remembers)
		return a->state.local_burst;
	return (double)a->policy.burst_bytes * (a->state.local_limit / limit);
}

uint64_t aggregate_burst(const struct limiter *l, const struct aggregate *a)
{
	double limit = a->share;
	uint64_t burst, least = policy_burst_floor(&a->policy);

	if (aggregate_conserved(a))
		return limiter_rates_burst(l, a) - min_u64(a->withheld, limiter_rates_burst(l, a));
	if (a->policy.allocator->whole_burst)
		return a->policy.burst_bytes;
	if (limit <= 0)
		return 0;
	burst = (uint64_t)shared_burst(a, limit);
	if (burst < least)
		burst = least;
	return burst < a->policy.burst_bytes ? burst : a->policy.burst_bytes;
}

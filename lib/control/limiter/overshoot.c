/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The overshoot meter: the sum of the local limits of a soft limit over the group.
 */
#include "base/math.h"
#include "limiter/aggregate.h"

/* A policy is compared with its alarm once in so many ticks. */
#define ALARM_TICKS 16

static bool is_metered(const struct aggregate *a)
{
	return !aggregate_hard(a) && !a->policy.allocator->counts_units;
}

struct limiter_overshoot limiter_overshoot(const struct limiter *l, unsigned policy)
{
	const struct aggregate *a = &l->aggregates[policy];
	struct gossip_enforced sum = gossip_enforced(l->gossip, policy);

	return (struct limiter_overshoot){
		.known = l->n > 1 && sum.at_ns != 0 && is_metered(a),
		.at_ns = sum.at_ns,
		.bound = sum.most,
		.estimate = sum.now,
		.unheard = sum.unheard,
		.unheard_most = sum.unheard * limiter_policy_rate(&a->policy),
	};
}

uint64_t limiter_overshoot_since(const struct limiter *l, unsigned policy)
{
	return l->aggregates[policy].above_since_ns;
}

void limiter_set_overshoot_alarm(struct limiter *l, double part)
{
	if (part == l->overshoot_alarm)
		return;
	l->overshoot_alarm = part;
	for (unsigned i = 0; i < l->n_policies; i++)
		l->aggregates[i].above_since_ns = 0;
}

static void compare_with_alarm(struct limiter *l, unsigned policy, uint64_t now_ns)
{
	struct aggregate *a = &l->aggregates[policy];
	struct limiter_overshoot over = limiter_overshoot(l, policy);
	double most = limiter_policy_rate(&a->policy) * (1 + l->overshoot_alarm);

	if (max_double(over.bound, over.estimate) <= most)
		a->above_since_ns = 0;
	else if (a->above_since_ns == 0)
		a->above_since_ns = now_ns;
}

void overshoot_begin(struct limiter *l)
{
	for (unsigned i = 0; i < l->n_policies; i++)
		if (is_metered(&l->aggregates[i]))
			gossip_enforce(l->gossip, i, l->aggregates[i].state.local_limit);
}

void overshoot_tick(struct limiter *l, unsigned policy, uint64_t now_ns)
{
	struct aggregate *a = &l->aggregates[policy];

	if (!is_metered(a))
		return;
	gossip_enforce(l->gossip, policy, a->state.local_limit);
	if (!bitmap_has(l->active, policy))
		a->above_since_ns = 0; /* idle from now on */
	else if (l->overshoot_alarm > 0 && (now_ns / l->tick_ns + policy) % ALARM_TICKS == 0)
		compare_with_alarm(l, policy, now_ns);
}

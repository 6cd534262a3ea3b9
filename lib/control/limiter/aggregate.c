/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The state of one policy: how it begins, and how much its bucket holds.
 */
#include "limiter/aggregate.h"

#include <math.h>
#include <stdlib.h>

#include "base/bitmap.h"
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
	/* Before floors: an allocator's own answer, or as the limit is shared. */
	burst = (uint64_t)(a->policy.allocator->remembers ? a->state.local_burst
							  : (double)a->policy.burst_bytes *
								    (a->state.local_limit / limit));
	if (burst < least)
		burst = least;
	return burst < a->policy.burst_bytes ? burst : a->policy.burst_bytes;
}

/* --- idle policies ---------------------------------------------------------------------------- */

/* Idle policies, which ticks leave out, become active again. */

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

/* --- history ---------------------------------------------------------------------------------- */

/*
 * Input of an allocator with a sliding history: average rates, and largest backlogs.
 *
 * The backlog is that of a virtual queue, which all arrivals enter and which is served at the local
 * limit. For most policies the only data are the workers' counters at the ends of estimate
 * intervals, which show:
 *
 *   - bytes that arrive evenly within each interval: a lower bound, because a burst within one
 *     leaves no trace. An interval of T can hide a burst of up to local limit × T;
 *   - a drop: the bucket was empty, so the queue was as long as the bucket is deep, or longer;
 *   - if packets do wait (struct limiter_sample), the most that waited: the bucket is empty
 *     meanwhile, so the queue was its depth longer than that.
 *
 * The largest of these counts, up to the global burst. A policer drops packets that a queue would
 * keep, and they are counted as if they had been kept. So the result is the part of a bucket that
 * the arrivals would have used.
 *
 * The rate is the average over the history, or over the newest steps if that is more. So a rise
 * counts immediately, a fall when the history has forgotten the old rate. A burst is no such rise,
 * or each would take from the others the rate that they live by.
 */

static double largest_backlog(const struct limiter *l, struct aggregate *a,
	const struct limiter_sample *sample, const struct allocate_input *in)
{
	double bucket = (double)aggregate_burst(l, a), most = a->queue, waited;

	a->queue = backlog_after(a->queue, in->demand_now * in->interval_s,
		a->state.local_limit * in->interval_s, in->burst);
	most = a->queue > most ? a->queue : most;
	if (in->dropped && bucket > most)
		most = bucket;
	waited = sample->backlog > 0 ? bucket + (double)sample->backlog : 0;
	most = waited > most ? waited : most;
	return most < in->burst ? most : in->burst;
}

void aggregate_remember(const struct limiter *l, struct aggregate *a,
	const struct limiter_sample *sample, struct allocate_input *in, uint64_t now_ns)
{
	double backlog = largest_backlog(l, a, sample, in);
	struct history *history;

	/* The first byte makes the history, as with flows; so does another length. */
	if (!a->history && in->demand_now > 0)
		a->history = history_create(
			a->policy.history_ns, a->policy.step_ns, a->measured_ns);
	history = a->history;
	/* Without memory for one, or need, it is of this interval alone. */
	in->demand = in->demand_now;
	in->backlog = backlog;
	if (!history)
		return;
	history_add(history, a->measured_ns, now_ns, in->demand_now * in->interval_s, backlog);
	in->demand = fmax(
		history_rate(history, now_ns), history_recent(history, now_ns, in->burst));
	in->backlog = history_backlog(history, now_ns);
}

bool aggregate_remembers(const struct aggregate *a, uint64_t now_ns)
{
	return a->queue > 0 || (a->history && (history_rate(a->history, now_ns) > 0 ||
						      history_backlog(a->history, now_ns) > 0));
}

void aggregate_forget(struct aggregate *a)
{
	free(a->history);
	a->history = NULL;
	a->queue = 0;
}

/* --- overshoot -------------------------------------------------------------------------------- */

/* The overshoot meter: the sum of the local limits of a soft limit over the group. */

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
		.unreported = sum.unreported,
		.unreported_most = sum.unreported * limiter_policy_rate(&a->policy),
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

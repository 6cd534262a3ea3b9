/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Token loans of a limiter: which policies lend, which peers have unused limit, and when to look.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/math.h"
#include "limiter/aggregate.h"

/* Policies looked at in one limiter_look(), so that thousands of busy ones cost little. */
#define LOOK_MOST 256

/*
 * A peer has unused limit if more than one in so many parts of its local limit is unused. A limiter
 * that does not drop has room of 5 % anyway.
 */
#define SPARE_PART 20

/*
 * Only the estimator `state` keeps the demand of each peer, so the others have no loans. A limiter
 * that is alone has none either, until its roster has others.
 */
int loans_create(struct limiter *l, const struct limiter_params *params, uint64_t now_ns)
{
	uint64_t epoch = params->gossip.epoch;
	struct loan_params loan = {.n = l->n,
		.self = l->self,
		.session = (uint32_t)(epoch ^ epoch >> 32),
		.n_policies = l->n_policies,
		.drift_ppm = params->ledger.drift_ppm};
	uint64_t *ids;
	int ret;

	if (!params->buckets.look || params->gossip.estimator != GOSSIP_STATE)
		return 0;
	ids = calloc((size_t)l->n_policies + 1, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	for (unsigned i = 0; i < l->n_policies; i++)
		ids[i] = limiter_key(&params->policies[i]);
	loan.policies = ids;
	ret = loan_create(&loan, &l->loan);
	free(ids);
	l->buckets = params->buckets;
	l->look_ns = now_ns + LIMITER_LOOK_NS;
	l->looked_ns = now_ns;
	return ret;
}

/* Local limits are parts of the limit by weight. */
static uint64_t loan_spare(void *context, unsigned policy, unsigned peer)
{
	const struct limiter *l = context;
	const struct aggregate *a = &l->aggregates[policy];
	struct gossip_sum reported;
	double part;

	if (!aggregate_lends(a) || a->global_weight <= 0 ||
		!gossip_reported_sum(l->gossip, policy, peer, &reported))
		return 0;
	part = a->effective_limit * reported.weight / a->global_weight;
	if (part - reported.demand <= part / SPARE_PART)
		return 0;
	return 1 + (uint64_t)(part - reported.demand);
}

static struct loan_lender loan_lender(void *context, unsigned policy)
{
	const struct limiter *l = context;
	const struct aggregate *a = &l->aggregates[policy];

	struct loan_lender lender = {.used = (uint64_t)a->asked};

	if (!aggregate_lends(a))
		return lender;
	lender.bucket = l->buckets.look(l->buckets.context, policy);
	if (!aggregate_hard(a))
		return lender;
	lender.bucket.burst = aggregate_whole_burst(l, a);
	/* Half of it is at least three full packets. */
	if (lender.bucket.burst < LIMITER_BURST_FLOOR || l->looked_ns < a->lends_from_ns)
		lender.bucket.burst = 0;
	lender.ends_ns = limiter_rates_until(l, a, l->looked_ns);
	return lender;
}

static struct loan_taken loan_take(void *context, unsigned policy, uint64_t keep, uint64_t most)
{
	struct limiter *l = context;
	struct aggregate *a = &l->aggregates[policy];
	bool withhold = aggregate_hard(a);
	struct loan_taken taken = l->buckets.take(l->buckets.context, policy, keep, most, withhold);

	if (!withhold)
		return taken;
	a->withheld += taken.bytes;
	bitmap_set(l->changed, policy);
	return taken;
}

/* A hard limit has no more than its bucket's burst, and that until its lease ends. */
static uint64_t loan_give(void *context, unsigned policy, uint64_t bytes, uint64_t until_ns)
{
	const struct limiter *l = context;
	const struct aggregate *a = &l->aggregates[policy];

	if (!aggregate_lends(a))
		return 0;
	if (!aggregate_hard(a))
		return l->buckets.give(l->buckets.context, policy, bytes, UINT64_MAX);
	if (until_ns == UINT64_MAX)
		return 0;
	return l->buckets.give(l->buckets.context, policy, bytes, min_u64(until_ns, l->lease_ns));
}

static struct loan_calls calls_of(struct limiter *l)
{
	return (struct loan_calls){l, loan_spare, loan_lender, loan_take, loan_give};
}

bool loans_hold_grants(const struct limiter *l)
{
	if (l->now_ns < l->commit_ns)
		return true;
	for (unsigned i = 0; l->loan && l->lends_hard && i < l->n_policies; i++) {
		const struct aggregate *a = &l->aggregates[i];

		if (a->withheld > 0 && a->withheld > aggregate_whole_burst(l, a) / 2)
			return true;
	}
	return false;
}

/* Offers of a policy that leaves can be accepted after that. */
void loans_leave(struct limiter *l, uint64_t now_ns)
{
	for (unsigned i = 0; i < l->n_policies; i++)
		if (l->aggregates[i].withheld > 0)
			l->commit_ns = now_ns + LOAN_HOLD_MOST_NS;
}

void loans_index(struct limiter *l)
{
	l->lends = l->lends_hard = false;
	for (unsigned i = 0; i < l->n_policies; i++) {
		const struct aggregate *a = &l->aggregates[i];

		l->lends |= aggregate_lends(a);
		l->lends_hard |= aggregate_lends(a) && aggregate_hard(a);
	}
}

uint64_t limiter_next_look(const struct limiter *l)
{
	bool active = l->loan && l->n > 1 && l->lends &&
		      bitmap_next(l->active, l->n_policies, 0) < l->n_policies;

	return active ? l->look_ns : UINT64_MAX;
}

/* Idle policies have full buckets. */
void limiter_look(struct limiter *l, uint64_t now_ns)
{
	unsigned n = l->n_policies, seen = 0, policy;

	if (!l->loan)
		return;
	l->looked_ns = now_ns;
	l->look_ns = now_ns + LIMITER_LOOK_NS;
	for (policy = bitmap_next(l->active, n, l->look_from); policy < n && seen < LOOK_MOST;
		policy = bitmap_next(l->active, n, policy + 1)) {
		const struct aggregate *a = &l->aggregates[policy];
		struct loan_bucket bucket = {0};

		if (aggregate_hard(a) && limiter_rates_withhold(l, policy, now_ns))
			bitmap_set(l->changed, policy);
		if (aggregate_lends(a))
			bucket = l->buckets.look(l->buckets.context, policy);
		bucket.limit = a->effective_limit > 0 ? (uint64_t)a->effective_limit : 0;
		loan_level(l->loan, policy, &bucket, now_ns);
		seen++;
	}
	l->look_from = policy < n ? policy : 0;
}

void loans_rest(struct limiter *l, unsigned policy, uint64_t now_ns)
{
	const struct loan_bucket none = {0};

	if (l->loan)
		loan_level(l->loan, policy, &none, now_ns);
}

void loans_receive(struct limiter *l, uint64_t now_ns, const struct gossip_message *message)
{
	struct loan_calls calls = calls_of(l);

	l->looked_ns = now_ns;
	(void)loan_receive(l->loan, &calls, now_ns, message->from, message->at, message->len);
}

size_t loans_send(struct limiter *l, uint8_t *buf, size_t room, unsigned *peer)
{
	struct loan_calls calls = calls_of(l);

	return loan_send(l->loan, &calls, l->looked_ns, buf, room, peer);
}

struct loan_totals limiter_loans(const struct limiter *l, unsigned policy)
{
	return l->loan ? loan_totals(l->loan, policy) : (struct loan_totals){0};
}

const struct loan_counters *limiter_loan_counters(const struct limiter *l)
{
	return l->loan && l->n > 1 ? loan_counters(l->loan) : NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Changes the policies of a limiter at run time: prepares all new data, then exchanges it. Called
 * by control when a reload changes policies.
 */
#include "limiter/limiter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/math.h"
#include "limiter/aggregate.h"

/* New data, which takes effect when nothing can fail any more. */
struct limiter_change {
	struct aggregate *aggregates;
	uint64_t *active, *changed;
	uint64_t *ids;
	struct loan_change loan;
};

static void limiter_update_free(struct limiter_change *u)
{
	free(u->aggregates);
	free(u->active);
	free(u->changed);
	free(u->ids);
	loan_change_cancel(&u->loan);
}

static int limiter_update_alloc(struct limiter_change *u, unsigned n)
{
	u->aggregates = calloc((size_t)n + 1, sizeof(*u->aggregates));
	u->active = calloc(bitmap_words(n), sizeof(*u->active));
	u->changed = calloc(bitmap_words(n), sizeof(*u->changed));
	u->ids = calloc((size_t)n + 1, sizeof(*u->ids));
	return u->aggregates && u->active && u->changed && u->ids ? 0 : -ENOMEM;
}

/* No old policy goes on as two new ones, or as one of another name. */
static bool mapping_valid(const struct limiter *l, const struct limiter_policy *policies,
	unsigned n, const unsigned *from, struct limiter_change *u)
{
	for (unsigned i = 0; i < n; i++) {
		u->ids[i] = limiter_key(&policies[i]);
		if (from[i] == LIMITER_ADDED)
			continue;
		if (from[i] >= l->n_policies ||
			limiter_key(&l->aggregates[from[i]].policy) != u->ids[i])
			return false;
	}
	return true;
}

static bool terms_equal(const struct limiter_terms *a, const struct limiter_terms *b)
{
	return a->limit_bps == b->limit_bps && a->limit_s == b->limit_s &&
	       a->burst_bytes == b->burst_bytes;
}

static bool policy_equal(const struct limiter_policy *a, const struct limiter_policy *b)
{
	return a->id == b->id && a->check == b->check && a->allocator == b->allocator &&
	       a->limit_bps == b->limit_bps && a->limit_s == b->limit_s &&
	       a->burst_bytes == b->burst_bytes && a->interval_ns == b->interval_ns &&
	       a->keep_per_second == b->keep_per_second && a->burst_floor == b->burst_floor &&
	       a->packet == b->packet && a->guarantee == b->guarantee &&
	       a->indicator == b->indicator && a->eta == b->eta && a->history_ns == b->history_ns &&
	       a->step_ns == b->step_ns && a->total == b->total && a->chunk == b->chunk &&
	       a->drawn == b->drawn && a->counts == b->counts && a->accounting == b->accounting &&
	       a->period_length == b->period_length && terms_equal(&a->plain, &b->plain) &&
	       a->schedule == b->schedule && a->override == b->override && a->child == b->child &&
	       a->own == b->own && a->waits == b->waits && a->parent == b->parent &&
	       a->below == b->below && a->weight == b->weight &&
	       a->guaranteed_bps == b->guaranteed_bps && a->second == b->second &&
	       a->lends == b->lends;
}

/* Keeps the same part of another limit, until the next interval has a better one. */
static void change_limit(struct aggregate *a, const struct limiter_policy *policy)
{
	double scale = (double)policy->limit_bps / limiter_time(policy) /
		       ((double)a->policy.limit_bps / limiter_time(&a->policy));

	a->share *= scale;
	a->effective_limit *= scale;
	a->state.local_limit *= scale;
	a->state.drain *= scale;
}

/*
 * Keeps the same part of another burst; a backlog up to the previous one has no information about
 * it.
 */
static void change_burst(
	const struct limiter *l, struct aggregate *a, const struct limiter_policy *policy)
{
	if (a->policy.burst_bytes > 0)
		a->state.local_burst *= (double)policy->burst_bytes / (double)a->policy.burst_bytes;
	else
		a->state.local_burst = limiter_first_burst(policy, l->n);
	a->queue = 0;
}

/* Another allocator begins as one that was just added, but goes on counting where it was. */
static void change_allocator(
	const struct limiter *l, struct aggregate *a, const struct limiter_policy *policy)
{
	a->state = (struct allocate_state){0};
	a->hold_until_ns = 0;
	a->share = limiter_policy_rate(policy);
	a->effective_limit = a->state.local_limit = limiter_first_limit(policy, l->n);
	a->state.local_burst = limiter_first_burst(policy, l->n);
	aggregate_forget(a);
	a->lost = l->n - 1;
}

static void change_policy(const struct limiter *l, struct aggregate *a,
	const struct limiter_policy *policy, uint64_t now_ns)
{
	/* There is no part of nothing. */
	if (a->policy.allocator != policy->allocator || a->policy.limit_bps == 0) {
		change_allocator(l, a, policy);
	} else {
		if (a->policy.limit_bps != policy->limit_bps ||
			a->policy.limit_s != policy->limit_s)
			change_limit(a, policy);
		if (a->policy.burst_bytes != policy->burst_bytes)
			change_burst(l, a, policy);
		if (a->policy.history_ns != policy->history_ns ||
			a->policy.step_ns != policy->step_ns)
			aggregate_forget(a);
	}
	if (a->policy.guarantee != policy->guarantee)
		a->lends_from_ns = now_ns + LOAN_HOLD_MOST_NS;
	if (a->policy.interval_ns != policy->interval_ns)
		a->next_ns = now_ns + policy->interval_ns;
	a->policy = *policy;
}

/* One that goes on, and is woken, unless nothing of it is another. */
static void replace_policy(const struct limiter *l, struct aggregate *a, unsigned index,
	const struct limiter_policy *policy, uint64_t now_ns, uint64_t *active, uint64_t *changed)
{
	if (policy_equal(&a->policy, policy))
		return;
	if (!bitmap_has(active, index))
		aggregate_catch_up(a, l->ticked_ns);
	change_policy(l, a, policy, now_ns);
	bitmap_set(active, index);
	bitmap_set(changed, index);
}

static void fill_aggregates(struct limiter_change *u, struct limiter *l,
	const struct limiter_policy *policies, unsigned n, const unsigned *from, uint64_t now_ns)
{
	for (unsigned i = 0; i < n; i++) {
		struct aggregate *a = &u->aggregates[i];

		if (from[i] == LIMITER_ADDED) {
			aggregate_init(a, &policies[i], l->n, now_ns);
			bitmap_set(u->active, i);
			bitmap_set(u->changed, i);
			continue;
		}
		*a = l->aggregates[from[i]];
		l->aggregates[from[i]].flows = NULL; /* they have moved */
		l->aggregates[from[i]].history = NULL;
		if (bitmap_has(l->changed, from[i]))
			bitmap_set(u->changed, i);
		if (bitmap_has(l->active, from[i]))
			bitmap_set(u->active, i);
		replace_policy(l, a, i, &policies[i], now_ns, u->active, u->changed);
		a->policy.name = policies[i].name; /* the previous text goes */
	}
}

/* The tick is that of the shortest interval, and never later than it. */
static void change_tick(struct limiter *l, uint64_t tick_ns, uint64_t now_ns)
{
	if (l->tick_ns == tick_ns)
		return;
	l->tick_ns = tick_ns;
	l->gossip_tick_ns = gossip_clock(l->gossip_params.estimator, tick_ns);
	l->next_ns = min_u64(l->next_ns, now_ns + tick_ns);
	l->gossip_ns = min_u64(l->gossip_ns, now_ns + l->gossip_tick_ns);
}

static void limiter_update_commit(struct limiter *l, struct limiter_change *u, unsigned n)
{
	struct limiter_change old = {l->aggregates, l->active, l->changed, u->ids, {0}};

	if (l->loan)
		loan_change_commit(l->loan, &u->loan);
	for (unsigned i = 0; i < l->n_policies; i++) {
		free(l->aggregates[i].flows);
		free(l->aggregates[i].history);
	}
	l->aggregates = u->aggregates;
	l->active = u->active;
	l->changed = u->changed;
	l->n_policies = n;
	limiter_update_free(&old);
}

void limiter_give_ledger(struct limiter *l, const struct limiter_ledger *ledger)
{
	l->ledger = *ledger;
}

int limiter_update(struct limiter *l, const struct limiter_policy *policies, unsigned n,
	const unsigned *from, uint64_t now_ns)
{
	uint64_t tick_ns = policies_tick(policies, n);
	struct limiter_change u = {0};
	int ret = limiter_update_alloc(&u, n);
	struct levels *levels = NULL;

	if (ret == 0 && !mapping_valid(l, policies, n, from, &u))
		ret = -EINVAL;
	if (ret == 0)
		ret = levels_create(policies, n, &levels);
	if (ret == 0 && l->loan)
		ret = loan_change_begin(l->loan, u.ids, n, from, &u.loan);
	/* Ledgers of other policies do no harm, should gossip find no memory. */
	if (ret == 0)
		ret = accounts_set(l, policies, n, now_ns);
	l->ledger.records = NULL;
	l->ledger.n_records = 0;
	l->ledger.members = NULL;
	if (ret == 0) {
		ret = gossip_update(l->gossip, u.ids, n, from,
			gossip_clock(l->gossip_params.estimator, tick_ns), now_ns);
		if (ret)
			accounts_restore(l, now_ns);
	}
	if (ret) {
		levels_destroy(levels);
		limiter_update_free(&u);
		return ret;
	}
	loans_leave(l, now_ns);
	fill_aggregates(&u, l, policies, n, from, now_ns);
	limiter_update_commit(l, &u, n);
	levels_destroy(l->levels);
	l->levels = levels;
	accounts_index(l);
	levels_index(l);
	loans_index(l);
	terms_set(l, now_ns);
	limiter_rates_refresh(l, now_ns);
	overshoot_begin(l);
	change_tick(l, tick_ns, now_ns);
	return 0;
}

/* Returns all policies with the changes; NULL: there is no memory. */
static struct limiter_policy *changed_policies(
	const struct limiter *l, const struct limiter_change_terms *changes, unsigned n)
{
	struct limiter_policy *policies = calloc((size_t)l->n_policies + 1, sizeof(*policies));

	for (unsigned i = 0; policies && i < l->n_policies; i++)
		policies[i] = l->aggregates[i].policy;
	for (unsigned i = 0; policies && i < n; i++) {
		struct limiter_policy *policy = &policies[changes[i].policy];

		policy->limit_bps = changes[i].terms.limit_bps;
		policy->limit_s = changes[i].terms.limit_s;
		policy->burst_bytes = changes[i].terms.burst_bytes;
		policy->override = changes[i].override;
	}
	return policies;
}

int limiter_set_terms(
	struct limiter *l, const struct limiter_change_terms *changes, unsigned n, uint64_t now_ns)
{
	struct limiter_policy *policies = changed_policies(l, changes, n);
	int ret = policies ? 0 : -ENOMEM;

	if (ret == 0 && l->conserve)
		ret = limiter_rates_set(l, policies, l->n_policies, NULL, 0, now_ns);
	for (unsigned i = 0; ret == 0 && i < n; i++) {
		unsigned index = changes[i].policy;

		replace_policy(l, &l->aggregates[index], index, &policies[index], now_ns, l->active,
			l->changed);
	}
	free(policies);
	if (ret)
		return ret;
	levels_index(l);
	accounts_index(l);
	terms_set(l, now_ns);
	limiter_rates_refresh(l, now_ns);
	overshoot_begin(l);
	return 0;
}

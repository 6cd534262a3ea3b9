/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies that count units: the budget decides how many can be used here, and the limit is for
 * when there are none.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "limiter/aggregate.h"

/* Unconfirmed statements are repeated after this part of the timeout of the tree. */
#define REPEAT_PART 2

/* Half-life of the rates by which units are divided: traffic comes in bursts. */
#define MEMORY_NS UINT64_C(2000000000)

static bool aggregate_counts(const struct aggregate *a)
{
	return a->policy.allocator->counts_units;
}

static unsigned list_units(const struct limiter *l, const struct limiter_policy *policies,
	unsigned n, struct budget_policy *out)
{
	const uint64_t roster = terms_roster_hash(l->roster->ids, l->roster->n);
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!policies[i].allocator->counts_units)
			continue;
		out[found++] = (struct budget_policy){
			.id = policies[i].id,
			.check = policies[i].check,
			.name = policies[i].name,
			.total = policies[i].total,
			.period = policies[i].period,
			.undated = policies[i].undated,
			.period_length = policies[i].period_length,
			.chunk = policies[i].chunk,
			.drawn = policies[i].drawn,
			.terms = terms_that_move(l, roster, &policies[i]),
			.unit = terms_unit(&policies[i]),
		};
	}
	return found;
}

static int create_units(struct limiter *l, const struct budget_params *accounts, uint64_t now_ns)
{
	const struct limiter_ledger *given = &l->ledger;
	struct budget_params params = *accounts;

	params.ids = l->roster->ids;
	params.n = l->roster->n;
	params.self = l->self;
	params.degree = given->tree_degree;
	params.recovering = given->recovering;
	params.durable = given->durable;
	params.epoch = given->epoch;
	params.identity = given->identity;
	params.word = given->word;
	params.proof_ns = given->proof_ns;
	params.repeat_ns = given->timeout_ns / REPEAT_PART + 1;
	params.theta_ns = l->tick_ns;
	params.memory_ns = MEMORY_NS;
	params.timeout_ns = given->timeout_ns;
	params.seed = given->epoch ^ l->roster->ids[l->self];
	return budget_create(&params, now_ns, &l->budget);
}

int limiter_units_set(struct limiter *l, const struct limiter_policy *policies, unsigned n,
	struct book_record *records, unsigned n_records, uint64_t now_ns)
{
	struct budget_policy *list = calloc((size_t)n + 1, sizeof(*list));
	struct budget_params params = {
		.policies = list, .records = records, .n_records = n_records};
	int ret = 0;

	if (!list)
		return -ENOMEM;
	params.n_policies = list_units(l, policies, n, list);
	if (l->budget)
		ret = budget_update(l->budget, list, params.n_policies, now_ns);
	else if (params.n_policies > 0 || n_records > 0)
		ret = create_units(l, &params, now_ns);
	free(list);
	if (ret == 0)
		limiter_units_tick(l, now_ns);
	return ret;
}

void limiter_units_index(const struct limiter *l, struct aggregate *a)
{
	if (aggregate_counts(a))
		a->unit_account = book_find(budget_book(l->budget), a->policy.id)->index;
}

void limiter_units_tick(struct limiter *l, uint64_t now_ns)
{
	if (!l->budget)
		return;
	l->now_ns = now_ns;
	l->budget_ns = budget_tick(l->budget, now_ns);
}

void limiter_units_receive(struct limiter *l, uint64_t now_ns, const struct gossip_message *message)
{
	(void)budget_receive(l->budget, message->from, now_ns, message->at, message->len);
	limiter_units_tick(l, now_ns);
}

void limiter_units_ask(struct limiter *l)
{
	if (!l->budget || l->asked == agree_changes(l->agree))
		return;
	l->asked = agree_changes(l->agree);
	for (unsigned peer = agree_next(l->agree, 0); peer < l->n;
		peer = agree_next(l->agree, peer + 1)) {
		unsigned n = agree_peer(l->agree, peer).n;

		for (unsigned i = 0; i < n; i++) {
			uint32_t policy = agree_difference(l->agree, peer, i).policy;

			if (policy < l->n_policies && aggregate_counts(&l->aggregates[policy]))
				budget_ask(l->budget, l->aggregates[policy].unit_account, peer);
		}
	}
}

int limiter_spend(struct limiter *l, unsigned policy, uint64_t units, uint64_t now_ns)
{
	int ret = budget_spend(l->budget, l->aggregates[policy].unit_account, units, now_ns);

	limiter_units_tick(l, now_ns);
	return ret;
}

int limiter_prefetch(struct limiter *l, unsigned policy, uint64_t units, uint64_t now_ns)
{
	int ret = budget_prefetch(l->budget, l->aggregates[policy].unit_account, units, now_ns);

	limiter_units_tick(l, now_ns);
	return ret;
}

void limiter_refund(struct limiter *l, unsigned policy, uint64_t units)
{
	budget_refund(l->budget, l->aggregates[policy].unit_account, units);
	limiter_units_tick(l, l->now_ns);
}

void limiter_forgo(struct limiter *l, unsigned policy)
{
	budget_forgo(l->budget, l->aggregates[policy].unit_account);
}

int limiter_period(struct limiter *l, unsigned policy, uint64_t period, uint64_t now_ns)
{
	int ret = budget_period(l->budget, l->aggregates[policy].unit_account, period, now_ns);

	limiter_units_tick(l, now_ns);
	return ret;
}

bool limiter_clock(struct limiter *l, uint64_t wall_ns, bool synchronised, uint64_t now_ns)
{
	const struct time_reading reading = {
		.wall_ns = wall_ns, .boot_ns = now_ns, .synchronised = synchronised};

	agree_clock(l->agree, wall_ns - now_ns);
	if (l->budget)
		return budget_clock(l->budget, wall_ns, synchronised, now_ns);
	return timekeeper_look(&l->keeper, &reading, NULL, 0);
}

const struct timekeeper *limiter_timekeeper(const struct limiter *l)
{
	return l->budget ? budget_timekeeper(l->budget) : &l->keeper;
}

int64_t limiter_wall_s(const struct limiter *l, uint64_t now_ns)
{
	uint64_t time_ns;

	if (!timekeeper_time(limiter_timekeeper(l), now_ns, &time_ns))
		return TIME_UNKNOWN;
	return (int64_t)(time_ns / SECOND_NS);
}

void limiter_remembers(struct limiter *l, int64_t wall_s)
{
	if (l->budget && wall_s > 0)
		budget_remembers(l->budget, (uint64_t)wall_s * SECOND_NS);
}

int limiter_set_share(struct limiter *l, unsigned policy, uint64_t share, uint64_t now_ns)
{
	int ret = budget_set_share(l->budget, l->aggregates[policy].unit_account, share, now_ns);

	limiter_units_tick(l, now_ns);
	return ret;
}

const struct budget *limiter_budget(const struct limiter *l)
{
	return l->budget;
}

unsigned limiter_budget_index(const struct limiter *l, unsigned policy)
{
	const struct aggregate *a = &l->aggregates[policy];

	return aggregate_counts(a) ? a->unit_account : LIMITER_ADDED;
}

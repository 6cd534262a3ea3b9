/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies that count units: the budget says how many may be used here, and the limit is for when
 * there are none.
 */
#include <errno.h>
#include <stdlib.h>

#include "limiter/aggregate.h"

/* Of the timeout of the tree: until what is not confirmed is said again. */
#define REPEAT_PART 2

/* Half-life of the rates by which units are divided: traffic comes in bursts. */
#define MEMORY_NS UINT64_C(2000000000)

bool aggregate_counts(const struct aggregate *a)
{
	return a->policy.allocator->counts_units;
}

static unsigned counted_list(
	const struct limiter_policy *policies, unsigned n, struct budget_policy *out)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!policies[i].allocator->counts_units)
			continue;
		out[found++] = (struct budget_policy){
			.id = policies[i].id,
			.total = policies[i].total,
			.period = policies[i].period,
			.chunk = policies[i].chunk,
			.drawn = policies[i].drawn,
		};
	}
	return found;
}

static int create(struct limiter *l, const struct budget_policy *policies, unsigned n,
	const struct budget_record *records, unsigned n_records, uint64_t now_ns)
{
	const struct limiter_ledger *given = &l->ledger;
	struct budget_params params = {
		.ids = l->roster->ids,
		.n = l->roster->n,
		.self = l->self,
		.degree = given->tree_degree,
		.policies = policies,
		.n_policies = n,
		.records = records,
		.n_records = n_records,
		.blank = given->blank,
		.durable = given->durable,
		.epoch = given->epoch,
		.repeat_ns = given->timeout_ns / REPEAT_PART + 1,
		.theta_ns = l->tick_ns,
		.memory_ns = MEMORY_NS,
		.timeout_ns = given->timeout_ns,
		.seed = given->epoch ^ l->roster->ids[l->self],
	};

	return budget_create(&params, now_ns, &l->budget);
}

/* Of the records of both kinds those of units, into `out`. */
static unsigned units_of(const struct limiter_ledger *given, struct budget_record *out)
{
	unsigned found = 0;

	for (unsigned i = 0; i < given->n_records; i++) {
		const struct limiter_record *record = &given->records[i];

		if (record->kind == LIMITER_UNITS)
			out[found++] = (struct budget_record){record->id, record->at, record->len};
	}
	return found;
}

/* A limiter that has never had a policy that counts has no budgets, and pays for none. */
int counted_set(
	struct limiter *l, const struct limiter_policy *policies, unsigned n, uint64_t now_ns)
{
	const struct limiter_ledger *given = &l->ledger;
	struct budget_policy *list = calloc((size_t)n + 1, sizeof(*list));
	struct budget_record *records = calloc((size_t)given->n_records + 1, sizeof(*records));
	unsigned found, n_records;
	int ret = -ENOMEM;

	if (!list || !records)
		goto out;
	found = counted_list(policies, n, list);
	n_records = units_of(given, records);
	ret = 0;
	if (l->budget)
		ret = budget_update(l->budget, list, found, now_ns);
	else if (found > 0 || n_records > 0)
		ret = create(l, list, found, records, n_records, now_ns);
	if (ret == 0)
		counted_tick(l, now_ns);
out:
	free(records);
	free(list);
	return ret;
}

void counted_index(struct limiter *l)
{
	unsigned index = 0;

	for (unsigned i = 0; i < l->n_policies; i++)
		if (aggregate_counts(&l->aggregates[i]))
			l->aggregates[i].budget = index++;
}

void counted_tick(struct limiter *l, uint64_t now_ns)
{
	if (!l->budget)
		return;
	l->now_ns = now_ns;
	l->budget_ns = budget_tick(l->budget, now_ns);
}

void counted_hear(struct limiter *l, uint64_t now_ns, const struct gossip_letter *letter)
{
	if (!l->budget || letter->len == 0 || letter->at[0] != BUDGET_LETTER)
		return;
	(void)budget_hear(l->budget, letter->from, now_ns, letter->at, letter->len);
	counted_tick(l, now_ns);
}

size_t counted_send(struct limiter *l, uint8_t *buf, unsigned *peer)
{
	size_t len;

	if (!l->budget)
		return 0;
	len = budget_send(
		l->budget, l->now_ns, gossip_letter_at(buf), gossip_letter_room(l->gossip), peer);
	return len > 0 ? gossip_seal_letter(l->gossip, buf, len, *peer) : 0;
}

int limiter_spend(struct limiter *l, unsigned policy, uint64_t units, uint64_t now_ns)
{
	int ret = budget_spend(l->budget, l->aggregates[policy].budget, units, now_ns);

	counted_tick(l, now_ns);
	return ret;
}

void limiter_refund(struct limiter *l, unsigned policy, uint64_t units)
{
	budget_refund(l->budget, l->aggregates[policy].budget, units);
	counted_tick(l, l->now_ns);
}

void limiter_forgo(struct limiter *l, unsigned policy)
{
	budget_forgo(l->budget, l->aggregates[policy].budget);
}

int limiter_period(struct limiter *l, unsigned policy, uint64_t period, uint64_t now_ns)
{
	int ret = budget_period(l->budget, l->aggregates[policy].budget, period, now_ns);

	counted_tick(l, now_ns);
	return ret;
}

int limiter_set_share(struct limiter *l, unsigned policy, uint64_t share, uint64_t now_ns)
{
	int ret = budget_set_share(l->budget, l->aggregates[policy].budget, share, now_ns);

	counted_tick(l, now_ns);
	return ret;
}

const struct budget *limiter_budget(const struct limiter *l)
{
	return l->budget;
}

unsigned limiter_budget_index(const struct limiter *l, unsigned policy)
{
	const struct aggregate *a = &l->aggregates[policy];

	return aggregate_counts(a) ? a->budget : LIMITER_ADDED;
}

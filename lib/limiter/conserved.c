/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies whose limit is never exceeded: the allocator says where the limit should go, and what is
 * enforced is what the ledger holds.
 */
#include <errno.h>
#include <stdlib.h>

#include "limiter/aggregate.h"

#define BITS 8

/* Full-sized packets: what an indicator counts in. */
#define PACKET 1514.0

bool aggregate_conserved(const struct aggregate *a)
{
	return a->policy.guarantee == LIMITER_CONSERVED;
}

static unsigned conserved_list(
	const struct limiter_policy *policies, unsigned n, struct conserve_policy *out)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++) {
		if (policies[i].guarantee != LIMITER_CONSERVED)
			continue;
		out[found++] = (struct conserve_policy){
			.id = policies[i].id,
			.limit = policies[i].limit_bps / BITS,
			.indicator = policies[i].indicator,
			.eta = policies[i].eta,
		};
	}
	return found;
}

static int create(struct limiter *l, const struct conserve_policy *policies, unsigned n,
	const struct conserve_record *records, unsigned n_records, uint64_t now_ns)
{
	const struct limiter_ledger *given = &l->ledger;
	struct conserve_params params = {
		.overlay = given->overlay,
		.self = l->self,
		.policies = policies,
		.n_policies = n,
		.records = records,
		.n_records = n_records,
		.blank = given->blank,
		.epoch = given->epoch,
		.lease_ns = given->lease_ns,
		.drift_ppm = given->drift_ppm,
		.repeat_ns = l->tick_ns,
		.promise = given->promise,
	};

	params.overlay.ids = l->roster->ids;
	params.overlay.n = l->roster->n;
	return conserve_create(&params, now_ns, &l->conserve);
}

/* Of the records of both kinds those of rates, into `out`. */
static unsigned rates_of(const struct limiter_ledger *given, struct conserve_record *out)
{
	unsigned found = 0;

	for (unsigned i = 0; i < given->n_records; i++) {
		const struct limiter_record *record = &given->records[i];

		if (record->kind == LIMITER_RATES)
			out[found++] = (struct conserve_record){
				record->id, record->at, record->len};
	}
	return found;
}

/* A limiter that has never had a conserved policy has no ledgers, and pays for none. */
int conserved_set(
	struct limiter *l, const struct limiter_policy *policies, unsigned n, uint64_t now_ns)
{
	const struct limiter_ledger *given = &l->ledger;
	struct conserve_policy *list = calloc((size_t)n + 1, sizeof(*list));
	struct conserve_record *records = calloc((size_t)given->n_records + 1, sizeof(*records));
	unsigned found, n_records;
	int ret = -ENOMEM;

	if (!list || !records)
		goto out;
	found = conserved_list(policies, n, list);
	n_records = rates_of(given, records);
	ret = 0;
	if (l->conserve)
		ret = conserve_update(l->conserve, list, found, now_ns);
	else if (found > 0 || n_records > 0)
		ret = create(l, list, found, records, n_records, now_ns);
out:
	free(records);
	free(list);
	return ret;
}

/* What may be enforced now; a limit that has changed is told. */
static bool refresh(struct limiter *l, unsigned policy, uint64_t now_ns)
{
	struct aggregate *a = &l->aggregates[policy];
	uint64_t until;
	double limit = (double)conserve_limit(l->conserve, a->conserved, now_ns, &until);

	l->lease_ns = until < l->lease_ns ? until : l->lease_ns;
	if (limit == a->state.local_limit)
		return false;
	a->state.local_limit = limit;
	bitmap_set(l->changed, policy);
	return true;
}

bool conserved_refresh(struct limiter *l, uint64_t now_ns)
{
	bool changed = false;

	l->lease_ns = UINT64_MAX;
	for (unsigned i = 0; l->conserve && i < l->n_policies; i++)
		if (aggregate_conserved(&l->aggregates[i]))
			changed |= refresh(l, i, now_ns);
	return changed;
}

void conserved_index(struct limiter *l)
{
	unsigned index = 0;

	for (unsigned i = 0; i < l->n_policies; i++) {
		if (!aggregate_conserved(&l->aggregates[i]))
			continue;
		l->aggregates[i].conserved = index;
		l->aggregates[index++].conserves = i;
	}
	l->n_conserved = index;
}

void conserved_want(struct limiter *l, const struct aggregate *a, double target)
{
	struct gdrl_measure measure = {.demand = a->demand.rate, .dropped = -1, .packet = PACKET};

	if (a->policy.indicator)
		conserve_measure(l->conserve, a->conserved, &measure);
	else
		conserve_target(l->conserve, a->conserved, target);
}

bool conserved_tick(struct limiter *l, uint64_t now_ns)
{
	if (!l->conserve)
		return false;
	l->now_ns = now_ns;
	conserve_tick(l->conserve, now_ns);
	return conserved_refresh(l, now_ns);
}

void conserved_hear(struct limiter *l, uint64_t now_ns, const struct gossip_letter *letter)
{
	unsigned index;

	if (!l->conserve || letter->len == 0 || letter->at[0] != CONSERVE_LETTER)
		return;
	l->now_ns = now_ns;
	if (conserve_hear(l->conserve, letter->from, now_ns, letter->at, letter->len) <= 0)
		return;
	/* A lease that goes on for longer is found when its former end has come. */
	while ((index = conserve_next_news(l->conserve)) < l->n_conserved)
		refresh(l, l->aggregates[index].conserves, now_ns);
}

size_t conserved_send(struct limiter *l, uint8_t *buf, unsigned *peer)
{
	size_t len;

	if (!l->conserve)
		return 0;
	len = conserve_send(
		l->conserve, l->now_ns, gossip_letter_at(buf), gossip_letter_room(l->gossip), peer);
	return len > 0 ? gossip_seal_letter(l->gossip, buf, len, *peer) : 0;
}

const struct conserve *limiter_conserve(const struct limiter *l)
{
	return l->conserve;
}

unsigned limiter_conserve_index(const struct limiter *l, unsigned policy)
{
	const struct aggregate *a = &l->aggregates[policy];

	return aggregate_conserved(a) ? a->conserved : LIMITER_ADDED;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies whose limit is never exceeded: the allocator says where the limit should go, and what is
 * enforced is what the ledger holds.
 *
 * Where the allocator divides the burst by itself (allocator->remembers), the burst has an account
 * of its own, in bytes where the other is in bytes per second: a ledger cares for neither. Of the
 * indices in lib/control/conserve, those of rates come first. Two accounts move, settle and are
 * lost independently; each sum holds at any instant, and so does one bucket's r·t + b, as it needs
 * no more than that at any time the depths add up to the burst and the rates to the limit.
 *
 * Accounts are of whole units: of a limit in another time than a second, of units in that time.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/name_hash.h"
#include "limiter/aggregate.h"

#define BITS 8

/* Full-sized packets: what an indicator counts in, of bytes. */
#define PACKET 1514

bool aggregate_conserved(const struct aggregate *a)
{
	return a->policy.guarantee == LIMITER_CONSERVED;
}

static bool has_burst_account(const struct limiter_policy *policy)
{
	return policy->guarantee == LIMITER_CONSERVED && policy->allocator->remembers;
}

uint32_t limiter_burst_id(uint32_t id)
{
	static const char suffix[] = "/burst";

	/* As if it were of a longer name, which no name is: it would have a slash. */
	for (const char *at = suffix; *at; at++)
		id = (id ^ (uint8_t)*at) * NAME_HASH_PRIME;
	return id;
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
	for (unsigned i = 0; i < n; i++)
		if (has_burst_account(&policies[i]))
			out[found++] = (struct conserve_policy){
				.id = limiter_burst_id(policies[i].id),
				.limit = policies[i].burst_bytes,
			};
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
	struct conserve_policy *list = calloc(2 * (size_t)n + 1, sizeof(*list));
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

/* What is usable now of an account, in its own units; when that falls is when to look again. */
static double usable(struct limiter *l, unsigned account, uint64_t now_ns)
{
	uint64_t until, limit = conserve_limit(l->conserve, account, now_ns, &until);

	l->lease_ns = until < l->lease_ns ? until : l->lease_ns;
	return (double)limit;
}

/* What may be enforced now; a limit or burst that has changed is told. */
static bool refresh(struct limiter *l, unsigned policy, uint64_t now_ns)
{
	struct aggregate *a = &l->aggregates[policy];
	double limit = usable(l, a->conserved, now_ns) / limiter_time(&a->policy);
	double burst = a->state.local_burst;

	if (has_burst_account(&a->policy))
		burst = usable(l, l->n_conserved + a->conserved_burst, now_ns);
	if (limit == a->state.local_limit && burst == a->state.local_burst)
		return false;
	a->state.local_limit = limit;
	a->state.local_burst = burst;
	bitmap_set(l->changed, policy);
	return true;
}

uint64_t conserved_burst(const struct limiter *l, const struct aggregate *a)
{
	if (has_burst_account(&a->policy))
		return (uint64_t)a->state.local_burst;
	return conserve_burst(l->conserve, a->conserved, a->policy.burst_bytes,
		(uint64_t)(a->state.local_limit * limiter_time(&a->policy) + 0.5));
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
	unsigned rates = 0, bursts = 0;

	for (unsigned i = 0; i < l->n_policies; i++) {
		struct aggregate *a = &l->aggregates[i];

		if (!aggregate_conserved(a))
			continue;
		a->conserved = rates;
		l->aggregates[rates++].conserves = i;
		if (!has_burst_account(&a->policy))
			continue;
		a->conserved_burst = bursts;
		l->aggregates[bursts++].conserves_burst = i;
	}
	l->n_conserved = rates;
	l->n_conserved_bursts = bursts;
}

/* What the allocator has just answered. */
void conserved_want(struct limiter *l, const struct aggregate *a)
{
	double time = limiter_time(&a->policy);
	struct gdrl_measure measure = {
		.demand = a->demand.rate * time,
		.dropped = -1,
		.packet = time * (a->policy.packet ? a->policy.packet : PACKET),
	};

	if (a->policy.indicator)
		conserve_measure(l->conserve, a->conserved, &measure);
	else
		conserve_target(l->conserve, a->conserved, a->state.local_limit * time);
	if (has_burst_account(&a->policy))
		conserve_target(
			l->conserve, l->n_conserved + a->conserved_burst, a->state.local_burst);
}

bool conserved_tick(struct limiter *l, uint64_t now_ns)
{
	if (!l->conserve)
		return false;
	l->now_ns = now_ns;
	conserve_tick(l->conserve, now_ns);
	return conserved_refresh(l, now_ns);
}

/* Whose account it is. */
static unsigned owner(const struct limiter *l, unsigned account)
{
	return account < l->n_conserved ? l->aggregates[account].conserves
					: l->aggregates[account - l->n_conserved].conserves_burst;
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
	while ((index = conserve_next_news(l->conserve)) < l->n_conserved + l->n_conserved_bursts)
		refresh(l, owner(l, index), now_ns);
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

unsigned limiter_conserve_burst_index(const struct limiter *l, unsigned policy)
{
	const struct aggregate *a = &l->aggregates[policy];

	return has_burst_account(&a->policy) ? l->n_conserved + a->conserved_burst : LIMITER_ADDED;
}

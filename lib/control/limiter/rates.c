/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies whose limit is never exceeded: the allocator sets the target of the limit, and workers
 * enforce the amount that the ledger holds.
 *
 * If the allocator divides the burst by itself (allocator->remembers), the burst has its own
 * account. That is in bytes, the other in bytes per second; the ledger treats both alike. The two
 * accounts move, are committed and are lost independently. Each sum holds at any instant, and so
 * does one bucket's r·t + b. That bound needs only that at any time the depths add up to the burst
 * and the rates to the limit.
 *
 * Accounts are of whole units: of a limit in another time than a second, of units in that time.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/expiry.h"
#include "base/hash.h"
#include "base/math.h"
#include "limiter/aggregate.h"

#define BITS 8

/* Bytes of a full-sized packet, the unit of an indicator. */
#define PACKET 1514

/* The id under which the burst of a hard limit moves, where the allocator divides it. */
static uint64_t limiter_burst_id(uint64_t id)
{
	return splitmix64_next(&id);
}

static unsigned list_rates(const struct limiter *l, const struct limiter_policy *policies,
	unsigned n, struct conserve_policy *out)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++) {
		if (policies[i].guarantee != LIMITER_HARD)
			continue;
		out[found++] = (struct conserve_policy){
			.id = policies[i].id,
			.check = policies[i].check,
			.name = policies[i].name,
			.owner = i,
			.limit = policies[i].limit_bps / BITS,
			.indicator = policies[i].indicator,
			.eta = policies[i].eta,
			.burst = aggregate_has_burst_account(&policies[i])
					 ? 0
					 : policies[i].burst_bytes,
			.unit = terms_unit(&policies[i]),
			.terms = terms_that_move(l, l->founders, &policies[i]),
		};
	}
	for (unsigned i = 0; i < n; i++)
		if (aggregate_has_burst_account(&policies[i]))
			out[found++] = (struct conserve_policy){
				.id = limiter_burst_id(policies[i].id),
				.check = policies[i].check,
				.name = policies[i].name,
				.owner = i,
				.limit = policies[i].burst_bytes,
				.unit = terms_unit(&policies[i]),
				.terms = terms_that_move(l, l->founders, &policies[i]),
			};
	return found;
}

/* `accounts` has policies, records and the roster. */
static int create_rates(struct limiter *l, const struct conserve_params *accounts, uint64_t now_ns,
	struct conserve **out)
{
	const struct limiter_ledger *given = &l->ledger;
	struct conserve_params params = *accounts;
	const uint32_t *ids = params.overlay.ids;
	const unsigned n = params.overlay.n;

	params.overlay = given->overlay;
	params.overlay.ids = ids;
	params.overlay.n = n;
	params.n_members = params.members ? n : 0;
	params.incomplete = l->incomplete;
	params.recovering = given->recovering;
	params.epoch = given->epoch;
	params.identity = given->identity;
	params.word = given->word;
	params.proof_ns = given->proof_ns;
	params.lease_ns = given->lease_ns;
	params.drift_ppm = given->drift_ppm;
	params.repeat_ns = l->tick_ns;
	params.promise = given->promise;
	return conserve_create(&params, now_ns, out);
}

/* Returns the hash of the members that have not joined. Without memory, all count as joined. */
static uint64_t hash_founders(const struct roster *roster, const struct book_member *members)
{
	uint32_t *ids = members ? calloc(roster->n, sizeof(*ids)) : NULL;
	unsigned n = 0;
	uint64_t hash;

	if (!members)
		return terms_roster_hash(roster->ids, roster->n);
	for (unsigned i = 0; ids && i < roster->n; i++)
		if (!members[i].joined)
			ids[n++] = members[i].id;
	hash = terms_roster_hash(ids, n);
	free(ids);
	return hash;
}

/* Uses the founders that records name. Returns true if they are others. */
static bool set_founders(struct limiter *l)
{
	const struct overlay *overlay = conserve_book(l->conserve)->overlay;
	uint64_t before = l->founders;

	l->founders = terms_roster_hash(overlay->ids, overlay->n);
	return l->founders != before;
}

int limiter_rates_set(struct limiter *l, const struct limiter_policy *policies, unsigned n,
	struct book_record *records, unsigned n_records, uint64_t now_ns)
{
	struct conserve_policy *list = calloc(2 * (size_t)n + 1, sizeof(*list));
	struct conserve_params params = {.policies = list,
		.records = records,
		.n_records = n_records,
		.overlay = {.ids = l->roster->ids, .n = l->roster->n},
		.members = l->ledger.members,
		.self = l->self};
	int ret = 0;

	if (!list)
		return -ENOMEM;
	if (!l->conserve)
		l->founders = hash_founders(l->roster, l->ledger.members);
	params.n_policies = list_rates(l, policies, n, list);
	if (l->conserve)
		ret = conserve_update(l->conserve, list, params.n_policies, now_ns);
	else if (params.n_policies > 0 || n_records > 0)
		ret = create_rates(l, &params, now_ns, &l->conserve);
	if (ret == 0 && l->conserve && set_founders(l)) {
		params.n_policies = list_rates(l, policies, n, list);
		ret = conserve_update(l->conserve, list, params.n_policies, now_ns);
	}
	free(list);
	return ret;
}

/* Makes accounts that hold nothing, for another roster. */
static int renew_rates(struct limiter *l, const struct roster *roster,
	const struct book_member *members, unsigned self, uint64_t now_ns, struct conserve **out)
{
	const uint64_t founders = l->founders;
	struct conserve_policy *list = calloc(2 * (size_t)l->n_policies + 1, sizeof(*list));
	struct limiter_policy *policies = calloc((size_t)l->n_policies + 1, sizeof(*policies));
	struct conserve_params params = {.policies = list,
		.overlay = {.ids = roster->ids, .n = roster->n},
		.members = members,
		.self = self};
	int ret = -ENOMEM;

	for (unsigned i = 0; policies && i < l->n_policies; i++)
		policies[i] = l->aggregates[i].policy;
	if (policies && list) {
		l->ledger.identity = limiter_identity(l);
		l->founders = hash_founders(roster, members);
		params.n_policies = list_rates(l, policies, l->n_policies, list);
		ret = create_rates(l, &params, now_ns, out);
		l->founders = founders;
	}
	free(policies);
	free(list);
	return ret;
}

int limiter_rates_regroup_begin(struct limiter *l, const struct roster *roster,
	const struct book_member *members, unsigned self, uint64_t now_ns,
	struct rates_regrouping *r)
{
	int ret = 0;

	*r = (struct rates_regrouping){.members = calloc(roster->n, sizeof(*r->members))};
	if (!r->members)
		return -ENOMEM;
	for (unsigned i = 0; i < roster->n; i++)
		r->members[i] = members ? members[i] : (struct book_member){.id = roster->ids[i]};
	if (l->conserve)
		ret = book_regroup_begin(
			conserve_book(l->conserve), r->members, roster->n, self, &r->book);
	if (ret == -ENOTSUP && members && l->ledger.recovering &&
		conserve_holds_nothing(l->conserve))
		ret = renew_rates(l, roster, r->members, self, now_ns, &r->renewed);
	if (ret)
		free(r->members);
	return ret;
}

void limiter_rates_regroup_cancel(struct rates_regrouping *r)
{
	book_regroup_cancel(&r->book);
	conserve_destroy(r->renewed);
	free(r->members);
}

void limiter_rates_regroup_commit(struct limiter *l, const struct roster *roster, unsigned self,
	uint64_t now_ns, struct rates_regrouping *r)
{
	if (r->renewed) {
		conserve_book(r->renewed)->closures = conserve_book(l->conserve)->closures;
		conserve_book(r->renewed)->closes = conserve_book(l->conserve)->closes;
		conserve_destroy(l->conserve);
		l->conserve = r->renewed;
		for (unsigned i = 0; i < l->n_policies; i++)
			limiter_rates_index(l, &l->aggregates[i]);
	} else if (l->conserve) {
		book_regroup_commit(
			conserve_book(l->conserve), &r->book, r->members, roster->n, self, now_ns);
	}
	if (l->conserve)
		(void)set_founders(l);
	else
		l->founders = hash_founders(roster, NULL);
	free(r->members);
}

void limiter_set_complete(struct limiter *l, bool complete)
{
	l->incomplete = !complete;
	if (l->conserve)
		conserve_set_complete(l->conserve, complete);
}

void limiter_rates_index(const struct limiter *l, struct aggregate *a)
{
	struct book *book = aggregate_hard(a) ? conserve_book(l->conserve) : NULL;

	if (book)
		a->rate_account = book_find(book, a->policy.id)->index;
	if (book && aggregate_has_burst_account(&a->policy))
		a->burst_account = book_find(book, limiter_burst_id(a->policy.id))->index;
}

/* A lease that ends within this part of one is taken to have ended; see limiter_lease_ends(). */
#define LEASE_AHEAD 16

static uint64_t lease_ahead(const struct limiter *l)
{
	return l->ledger.lease_ns / LEASE_AHEAD;
}

uint64_t limiter_rates_next(const struct limiter *l)
{
	uint64_t ahead = lease_ahead(l);

	return l->lease_ns == UINT64_MAX ? UINT64_MAX : l->lease_ns - min_u64(ahead, l->lease_ns);
}

/*
 * Returns the amount of an account that is usable now, in its own units. Raises *ending to the part
 * of it that ends with its leases. The end of a lease is when to look again.
 */
static double usable_now(struct limiter *l, unsigned account, uint64_t now_ns, uint8_t *ending)
{
	uint64_t until,
		limit = conserve_limit(l->conserve, account, now_ns + lease_ahead(l), &until);
	uint64_t after = conserve_limit(l->conserve, account, UINT64_MAX, NULL);
	uint8_t ends = expiry_ending(limit, after);

	l->lease_ns = min_u64(until, l->lease_ns);
	*ending = ends > *ending ? ends : *ending;
	return (double)limit;
}

/* Part of the limit that a child has of its parent now: never more than all. */
static double share_part(const struct aggregate *a)
{
	double limit = limiter_policy_rate(&a->policy);

	return a->level != LEVEL_NONE && limit > 0 ? min_double(a->share / limit, 1) : 1;
}

/*
 * A limiter that begins has no record of its earlier offers: at most half of a burst. While a
 * borrower can accept them, it withholds half of the largest burst that it has had since.
 */
bool limiter_rates_withhold(struct limiter *l, unsigned policy, uint64_t now_ns)
{
	struct aggregate *a = &l->aggregates[policy];
	uint64_t before = a->withheld;

	if (!l->loan)
		return false;
	a->withheld = loan_withheld(l->loan, policy, now_ns);
	if (aggregate_lends(a) && now_ns < a->lends_from_ns)
		a->withheld = max_u64(before, aggregate_whole_burst(l, a) / 2);
	return a->withheld != before;
}

/*
 * Updates the limit and burst to enforce now. If they or their parts have changed, marks the policy
 * for publishing, wakes it and returns true.
 */
static bool refresh_rate(struct limiter *l, unsigned policy, uint64_t now_ns)
{
	struct aggregate *a = &l->aggregates[policy];
	uint8_t ending = 0;
	double units = usable_now(l, a->rate_account, now_ns, &ending);
	double held = units / limiter_time(&a->policy), burst = a->state.local_burst;
	/* In whole units, because the sum over limiters is exact. */
	double limit = floor(units * share_part(a)) / limiter_time(&a->policy);
	bool changed = held != a->held;

	if (aggregate_has_burst_account(&a->policy))
		burst = usable_now(l, a->burst_account, now_ns, &ending);
	a->held = held;
	changed |= limiter_rates_withhold(l, policy, now_ns);
	if (limit == a->state.local_limit && burst == a->state.local_burst && !changed &&
		ending == a->ending)
		return false;
	a->state.local_limit = limit;
	a->state.local_burst = burst;
	a->ending = ending;
	bitmap_set(l->changed, policy);
	limiter_wake(l, policy);
	return true;
}

/*
 * Time at which a neighbour can have a part of the present burst, apart from grants. A promise that
 * is made from now on counts for a lease.
 */
uint64_t limiter_rates_until(const struct limiter *l, const struct aggregate *a, uint64_t now_ns)
{
	uint64_t until;

	(void)conserve_limit(l->conserve, a->rate_account, now_ns, &until);
	return min_u64(until, now_ns + l->ledger.lease_ns);
}

bool limiter_rates_refresh(struct limiter *l, uint64_t now_ns)
{
	bool changed = false;

	l->lease_ns = UINT64_MAX;
	for (unsigned i = 0; l->conserve && i < l->n_policies; i++)
		if (aggregate_hard(&l->aggregates[i]))
			changed |= refresh_rate(l, i, now_ns);
	return changed;
}

/* Passes the allocator's last answer, or with an indicator the measurements, to the ledger. */
void limiter_rates_want(struct limiter *l, struct aggregate *a)
{
	double time = limiter_time(&a->policy);
	double wanted = a->policy.indicator ? a->demand.rate : a->state.local_limit;
	struct gdrl_measure measure = {
		.demand = a->demand.rate * time,
		.dropped = -1,
		.packet = time * (a->policy.packet ? a->policy.packet : PACKET),
	};

	a->target_moved = wanted != a->wanted || a->state.local_burst != a->wanted_burst;
	a->wanted = wanted;
	a->wanted_burst = a->state.local_burst;
	if (a->policy.indicator)
		conserve_measure(l->conserve, a->rate_account, &measure);
	else
		conserve_target(
			l->conserve, a->rate_account, a->state.local_limit / share_part(a) * time);
	if (aggregate_has_burst_account(&a->policy))
		conserve_target(l->conserve, a->burst_account, a->state.local_burst);
}

/* Limits that may have changed. A longer lease is found when its previous end has come. */
static bool refresh_news(struct limiter *l, uint64_t now_ns)
{
	unsigned n = conserve_policies(l->conserve), account;
	bool changed = false;

	while ((account = conserve_next_news(l->conserve)) < n)
		changed |= refresh_rate(l, conserve_owner(l->conserve, account), now_ns);
	return changed;
}

bool limiter_rates_tick(struct limiter *l, uint64_t now_ns)
{
	bool changed;

	if (!l->conserve)
		return false;
	conserve_tick(l->conserve, now_ns);
	changed = refresh_news(l, now_ns);
	if (l->lends_hard || now_ns >= limiter_rates_next(l))
		return limiter_rates_refresh(l, now_ns) || changed;
	/* Their shares may be others, see levels.c. */
	for (unsigned i = bitmap_next(l->active, l->n_policies, 0); i < l->n_policies;
		i = bitmap_next(l->active, l->n_policies, i + 1))
		if (aggregate_hard(&l->aggregates[i]))
			changed |= refresh_rate(l, i, now_ns);
	return changed;
}

void limiter_rates_receive(struct limiter *l, uint64_t now_ns, const struct gossip_message *message)
{
	l->now_ns = now_ns;
	if (conserve_receive(l->conserve, message->from, now_ns, message->at, message->len) > 0)
		refresh_news(l, now_ns);
}

uint64_t limiter_lease_ends(const struct limiter *l)
{
	return l->lease_ns;
}

const struct conserve *limiter_conserve(const struct limiter *l)
{
	return l->conserve;
}

unsigned limiter_conserve_index(const struct limiter *l, unsigned policy)
{
	const struct aggregate *a = &l->aggregates[policy];

	return aggregate_hard(a) ? a->rate_account : LIMITER_ADDED;
}

unsigned limiter_conserve_burst_index(const struct limiter *l, unsigned policy)
{
	const struct aggregate *a = &l->aggregates[policy];

	return aggregate_has_burst_account(&a->policy) ? a->burst_account : LIMITER_ADDED;
}

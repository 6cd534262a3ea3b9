/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Settings that all limiters of a group must share: a row each. agree/agree.h compares their values
 * between peers, and operators read their names. Control or the simulator.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "limiter/aggregate.h"

enum {
	FIXED = 1, /* cannot change while a limiter runs, so no reload explains a difference */
	MOVES = 2, /* amounts of hard limits move only between limiters with the same value */
	BOUND = 4, /* FIXED with a ledger */
};

enum { CLOCK }; /* index in group_things[]: agree.c compares it by the time of day */

struct group_thing {
	const char *name;
	unsigned flags;
	uint64_t (*value)(const struct limiter *l); /* 0: unset or unknown, so not compared */
};

struct policy_thing {
	const char *name;
	unsigned flags;
	uint64_t (*value)(const struct limiter_policy *policy);
};

static uint64_t hash_double(double number)
{
	union {
		double number;
		uint64_t word;
	} bits = {number};

	return hash64_step(HASH64_BASIS, bits.word);
}

uint64_t terms_roster_hash(const uint32_t *ids, unsigned n)
{
	uint64_t hash = HASH64_BASIS, all = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t state = ids[i];

		all += splitmix64_next(&state); /* in any order */
	}
	return hash64_step(hash64_step(hash, n), all);
}

static uint64_t value_roster(const struct limiter *l)
{
	return terms_roster_hash(l->roster->ids, l->roster->n);
}

static uint64_t value_timeout(const struct limiter *l)
{
	return l->gossip_params.timeout_ns;
}

static uint64_t value_estimator(const struct limiter *l)
{
	return 1 + l->gossip_params.estimator;
}

/* A tree must have one shape; elsewhere it is each limiter's own cost. */
static uint64_t value_branching(const struct limiter *l)
{
	return l->gossip_params.estimator == GOSSIP_TREE ? l->gossip_params.branching : 0;
}

/* Keeps the row of a setting that only earlier versions compare: 0 is not compared. */
static uint64_t value_none(const struct limiter *l)
{
	(void)l;
	return 0;
}

static uint64_t value_lease(const struct limiter *l)
{
	return l->conserve ? l->ledger.lease_ns : 0;
}

static uint64_t value_drift(const struct limiter *l)
{
	return l->conserve ? 1 + (uint64_t)l->ledger.drift_ppm : 0;
}

static uint64_t value_promise(const struct limiter *l)
{
	return l->conserve ? 1 + (uint64_t)l->ledger.promise : 0;
}

static uint64_t overlay_hash(const struct overlay_params *overlay)
{
	uint64_t hash = HASH64_BASIS, all = 0;

	for (unsigned i = 0; overlay->pairs && i < overlay->n_pairs; i++) {
		uint64_t ends = (uint64_t)overlay->pairs[i].a + overlay->pairs[i].b;

		ends ^= (uint64_t)overlay->pairs[i].a * overlay->pairs[i].b << 1;
		all += splitmix64_next(&ends);
	}
	hash = hash64_step(hash64_step(hash, overlay->shape), overlay->degree);
	return hash64_step(hash64_step(hash, overlay->spares), all);
}

static uint64_t value_overlay(const struct limiter *l)
{
	return l->conserve ? overlay_hash(&l->ledger.overlay) : 0;
}

static uint64_t value_tree_degree(const struct limiter *l)
{
	return l->budget ? 1 + (uint64_t)l->ledger.tree_degree : 0;
}

/* Returns the identity from the parameters or, if they have none, from a book. */
struct book_identity limiter_identity(const struct limiter *l)
{
	struct book_identity identity = l->ledger.identity;

	if (!book_identity_known(identity) && l->conserve)
		identity = conserve_book(l->conserve)->identity;
	if (!book_identity_known(identity) && l->budget)
		identity = budget_book(l->budget)->identity;
	return identity;
}

static uint64_t value_identity(const struct limiter *l)
{
	struct book_identity identity = limiter_identity(l);

	if (!book_identity_known(identity))
		return 0;
	return hash64_step(hash64_step(HASH64_BASIS, identity.high), identity.low);
}

/*
 * Messages of another format are ignored, and then no amounts arrive from that peer. So the formats
 * are compared like settings.
 */
static uint64_t value_rate_format(const struct limiter *l)
{
	return l->conserve ? CONSERVE_MESSAGE : 0;
}

static uint64_t value_quota_format(const struct limiter *l)
{
	return l->budget ? BUDGET_MESSAGE : 0;
}

/* The clock matters for periods of totals and for limits by time of day. */
static uint64_t value_clock(const struct limiter *l)
{
	for (unsigned i = 0; i < l->n_policies; i++)
		if (l->aggregates[i].policy.schedule)
			return true;
	return l->budget != NULL;
}

static const struct group_thing group_things[] = {
	[CLOCK] = {"clock", FIXED, value_clock},
	{"roster", BOUND | MOVES, value_roster},
	{"gossip timeout", FIXED, value_timeout},
	{"estimator", FIXED, value_estimator},
	{"branching", FIXED, value_branching},
	{"compensation", FIXED, value_none},
	{"lease", FIXED | MOVES, value_lease},
	{"drift", FIXED | MOVES, value_drift},
	{"promise", FIXED, value_promise},
	{"overlay", FIXED | MOVES, value_overlay},
	{"degree of the tree", FIXED, value_tree_degree},
	{"identity of the ledger", FIXED | MOVES, value_identity},
	{"version of hard limits", FIXED | MOVES, value_rate_format},
	{"version of quotas", FIXED, value_quota_format},
};

/* Returns the limit that holds without any other one. */
static struct limiter_terms plain_terms(const struct limiter_policy *policy)
{
	const struct limiter_terms now = {policy->limit_bps, policy->limit_s, policy->burst_bytes};

	return policy->plain.limit_bps ? policy->plain : now;
}

static uint64_t value_limit(const struct limiter_policy *policy)
{
	return plain_terms(policy).limit_bps;
}

static uint64_t value_time_unit(const struct limiter_policy *policy)
{
	struct limiter_terms plain = plain_terms(policy);

	return plain.limit_s ? plain.limit_s : 1;
}

/*
 * Includes settings next to the limit. Without a peak the value is the same for peers of any
 * version.
 */
static uint64_t value_burst(const struct limiter_policy *policy)
{
	uint64_t burst = plain_terms(policy).burst_bytes;

	return policy->second ? hash64_step(burst, policy->second) : burst;
}

static uint64_t value_schedule(const struct limiter_policy *policy)
{
	return policy->schedule;
}

static uint64_t value_override(const struct limiter_policy *policy)
{
	return policy->override;
}

static uint64_t value_count(const struct limiter_policy *policy)
{
	return policy->counts;
}

static uint64_t value_accounting(const struct limiter_policy *policy)
{
	return policy->accounting;
}

static uint64_t value_allocator(const struct limiter_policy *policy)
{
	return name_hash(policy->allocator->name);
}

static uint64_t value_guarantee(const struct limiter_policy *policy)
{
	return policy->guarantee;
}

static uint64_t value_indicator(const struct limiter_policy *policy)
{
	return policy->indicator ? name_hash(policy->indicator->name) ^ hash_double(policy->eta)
				 : 0;
}

static uint64_t value_interval(const struct limiter_policy *policy)
{
	return policy->interval_ns;
}

static uint64_t value_averaging(const struct limiter_policy *policy)
{
	return hash_double(policy->keep_per_second);
}

static uint64_t value_history(const struct limiter_policy *policy)
{
	return hash64_step(policy->history_ns, policy->step_ns);
}

static uint64_t value_total(const struct limiter_policy *policy)
{
	return policy->total;
}

static uint64_t value_period(const struct limiter_policy *policy)
{
	return policy->period_length;
}

static uint64_t value_drawn(const struct limiter_policy *policy)
{
	return policy->drawn;
}

static uint64_t value_parent(const struct limiter_policy *policy)
{
	return policy->below;
}

static uint64_t value_weight(const struct limiter_policy *policy)
{
	return policy->child && policy->weight > 1 ? policy->weight : 0;
}

static uint64_t value_guaranteed(const struct limiter_policy *policy)
{
	return policy->guaranteed_bps;
}

static uint64_t value_name(const struct limiter_policy *policy)
{
	return policy->check;
}

static const struct policy_thing policy_things[] = {
	{"limit", 0, value_limit}, /* all enforce the least one, see conserve/conserve.h */
	{"time of the limit", MOVES, value_time_unit},
	{"burst", 0, value_burst}, /* like the limit's */
	{"schedule", 0, value_schedule}, {"override", 0, value_override},
	{"count", MOVES, value_count}, {"accounting", MOVES, value_accounting},
	{"allocator", MOVES, value_allocator}, {"guarantee", 0, value_guarantee},
	{"indicator", MOVES, value_indicator}, {"interval", 0, value_interval},
	{"averaging", 0, value_averaging}, {"history", 0, value_history},
	{"total", 0, value_total}, /* all enforce the least one, see budget/budget.h */
	{"period", MOVES, value_period}, {"where shares come from", MOVES, value_drawn},
	{"parent", 0, value_parent}, {"weight", 0, value_weight},
	{"guaranteed", 0, value_guaranteed},
	{"name", 0, value_name}, /* another one with the same id */
};

#define GROUP_THINGS  (sizeof(group_things) / sizeof(*group_things))
#define POLICY_THINGS (sizeof(policy_things) / sizeof(*policy_things))

_Static_assert(GROUP_THINGS <= AGREE_GROUP_MOST && POLICY_THINGS <= AGREE_POLICY_MOST,
	"each thing has its place");

uint32_t terms_unit(const struct limiter_policy *policy)
{
	uint64_t hash = hash64_step(HASH64_BASIS, limiter_time(policy));

	hash = hash64_step(hash64_step(hash, policy->counts), policy->accounting);
	return (uint32_t)(hash >> 32);
}

/* The ledger adds the settings that it holds by itself, such as its lease. */
uint64_t terms_that_move(
	const struct limiter *l, uint64_t roster, const struct limiter_policy *policy)
{
	uint64_t hash = hash64_step(HASH64_BASIS, roster);

	hash = hash64_step(hash, overlay_hash(&l->ledger.overlay));
	for (unsigned t = 0; t < POLICY_THINGS; t++)
		if (policy_things[t].flags & MOVES)
			hash = hash64_step(hash, policy_things[t].value(policy));
	return hash;
}

int terms_create(struct limiter *l)
{
	const char *group[GROUP_THINGS], *policy[POLICY_THINGS];
	struct agree_params params = {.n = l->roster->n,
		.self = l->self,
		.epoch = l->gossip_params.epoch,
		.group_things = group,
		.n_group = GROUP_THINGS,
		.clock = CLOCK,
		.policy_things = policy,
		.n_policy = POLICY_THINGS};

	for (unsigned t = 0; t < GROUP_THINGS; t++)
		group[t] = group_things[t].name;
	for (unsigned t = 0; t < POLICY_THINGS; t++)
		policy[t] = policy_things[t].name;
	return agree_create(&params, &l->agree);
}

unsigned terms_of_policy(const struct limiter_policy *policy, uint64_t *values)
{
	for (unsigned t = 0; t < POLICY_THINGS; t++)
		values[t] = policy_things[t].value(policy);
	return POLICY_THINGS;
}

void terms_set(struct limiter *l, uint64_t now_ns)
{
	struct agree_policy *policies = calloc((size_t)l->n_policies + 1, sizeof(*policies));
	uint64_t group[GROUP_THINGS];
	uint64_t *values = calloc((size_t)l->n_policies * POLICY_THINGS + 1, sizeof(*values));

	for (unsigned t = 0; t < GROUP_THINGS; t++)
		group[t] = group_things[t].value(l);
	for (unsigned i = 0; policies && values && i < l->n_policies; i++) {
		uint64_t *row = values + (size_t)i * POLICY_THINGS;

		terms_of_policy(&l->aggregates[i].policy, row);
		policies[i] = (struct agree_policy){l->aggregates[i].policy.id, row};
	}
	l->terms_stale = !policies || !values ||
			 agree_set(l->agree, group, policies, l->n_policies, now_ns);
	l->identity_reported = limiter_identity(l);
	free(policies);
	free(values);
}

/*
 * On a tree, also exchanges settings with a peer that sends to us, while gossip has it: the
 * neighbours.
 */
void terms_received(struct limiter *l, unsigned peer)
{
	if (agree_next(l->agree, peer) != peer)
		agree_watch(l->agree, peer, gossip_peer(l->gossip, peer) != NULL);
}

/* On a tree, watching the whole roster would cost more, the larger that is. */
static unsigned next_to_watch(const struct limiter *l, unsigned from)
{
	return l->gossip_params.estimator == GOSSIP_TREE ? agree_next(l->agree, from) : from;
}

void terms_tick(struct limiter *l, uint64_t now_ns)
{
	if (l->terms_stale || !book_identity_equal(l->identity_reported, limiter_identity(l)))
		terms_set(l, now_ns);
	if (!l->watches || l->watched != gossip_changes(l->gossip)) {
		l->watched = gossip_changes(l->gossip);
		l->watches = true;
		for (unsigned i = next_to_watch(l, 0); i < l->n; i = next_to_watch(l, i + 1))
			agree_watch(l->agree, i, gossip_peer(l->gossip, i) != NULL);
	}
	agree_tick(l->agree, now_ns);
}

const struct agree *limiter_agree(const struct limiter *l)
{
	return l->agree;
}

static const char *lowest_group(const struct limiter *l, uint32_t things, bool *fixed)
{
	for (unsigned t = 0; t < GROUP_THINGS; t++)
		if (things >> t & 1) {
			bool bound = group_things[t].flags & BOUND && (l->conserve || l->budget);

			*fixed = group_things[t].flags & FIXED || bound;
			return group_things[t].name;
		}
	return "version";
}

const char *limiter_thing(const struct limiter *l, bool group, uint32_t *things, bool *fixed)
{
	uint32_t lowest = *things & -*things;
	const char *name = "presence";

	*fixed = false;
	*things &= *things - 1;
	if (group)
		return lowest_group(l, lowest, fixed);
	for (unsigned t = 0; t < POLICY_THINGS; t++)
		if (lowest >> t & 1)
			name = policy_things[t].name;
	return name;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Plain policies, and packets without a policy (policer_lines.c).
 */
#include "policer.h"

/* The most policies of a burst that are charged one after the other. */
#define POLICER_GROUPS 4

/* Packets of a burst that policer_groups_pay() counts. A smaller burst gains too little. */
#define POLICER_GROUPS_LOOK 8

/*
 * Returns true if policer_groups_charge() is worth a call: the first packets are of few policies. A
 * bit of 64 for a policy suffices, because two policies with the same bit only cost that call.
 */
static inline bool policer_groups_pay(const struct rx_burst *burst)
{
	uint64_t seen = 0;

	for (unsigned i = 0; i < POLICER_GROUPS_LOOK; i++)
		seen |= UINT64_C(1) << burst->frames.policy[i] % 64;
	return burst->n >= POLICER_GROUPS_LOOK && __builtin_popcountll(seen) <= POLICER_GROUPS;
}

/* Packets of a burst, a bit each, by policy. */
struct groups {
	uint32_t which[POLICER_GROUPS];
	uint32_t none; /* packets without a policy */
	unsigned n;
};

#define FOUR_BITS(i) 1U << (i), 2U << (i), 4U << (i), 8U << (i)

/* A constant and masks, so that the loops below become vectors without a branch. */
static const uint32_t bits[BURST] = {FOUR_BITS(0), FOUR_BITS(4), FOUR_BITS(8), FOUR_BITS(12),
	FOUR_BITS(16), FOUR_BITS(20), FOUR_BITS(24), FOUR_BITS(28)};

static uint32_t find_alike(const uint32_t *policies, uint32_t policy)
{
	uint32_t found = 0;

	for (unsigned i = 0; i < BURST; i++)
		found |= policies[i] == policy ? bits[i] : 0;
	return found;
}

/* The sum has 32 bits: a frame has less than 2^27 bytes. */
static uint32_t sum_costs(const uint32_t *costs, uint32_t which)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < BURST; i++)
		sum += costs[i] & -(uint32_t)((which & bits[i]) != 0);
	return sum;
}

/* Divides packets by policy. Returns false if the policies are too many or one has a trial. */
static bool find_groups(
	struct groups *groups, struct worker *w, const struct rx_burst *burst, uint32_t left)
{
	const uint32_t *policies = burst->frames.policy;

	groups->none = 0;
	groups->n = 0;
	while (left) {
		unsigned first = (unsigned)__builtin_ctz(left);
		uint32_t which = find_alike(policies, policies[first]) & left;

		left &= ~which;
		if (policies[first] == CLASSIFY_NONE) {
			groups->none = which;
			continue;
		}
		if (groups->n == POLICER_GROUPS || police_trial(burst_policy(w, burst, first)))
			return false;
		groups->which[groups->n++] = which;
	}
	return true;
}

/* Returns the packets of a group that its policy samples, a bit each. */
static uint32_t find_samples(const struct policy_state *state, uint32_t which)
{
	uint64_t samples = police_samples_burst(state, BURST);
	uint32_t found = 0;

	for (; unlikely(samples) && which; which &= which - 1, samples >>= 1)
		found |= samples & 1 ? which & -which : 0;
	return found;
}

/* Charges a group's packets. A bucket that has to borrow does so packet by packet. */
static uint32_t charge_group(
	struct worker *w, uint32_t policy, const uint32_t *costs, uint32_t which, uint64_t now)
{
	struct shared_bucket *shared = w->shared_buckets ? &w->shared_buckets[policy] : NULL;
	struct policy_state *state = &w->policies[policy];
	uint64_t sum = sum_costs(costs, which);
	uint32_t drops = 0;

	if ((!shared || state->bucket.tokens >= sum << TOKEN_BYTE) &&
		police_pass_all(state, (uint32_t)__builtin_popcount(which), sum, now))
		return 0;
	for (; which; which &= which - 1) {
		uint32_t cost = costs[__builtin_ctz(which)];

		if (shared)
			police_borrow(state, shared, cost, now);
		drops |= (uint32_t)police_over(state, cost, now) & which & -which;
	}
	return drops;
}

/*
 * Charges, samples and counts packets, a bit each, of plain policies or without a policy. The
 * result is that of one by one, in their order. Sets *drops to the packets to drop, a bit each.
 * Returns false, and has done nothing, if there are more than POLICER_GROUPS policies, if a policy
 * has a trial, or if limits have ended.
 */
static bool policer_groups_charge(
	struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now, uint64_t *drops)
{
	unsigned accounting = ACCOUNTING_WIRE + 1; /* no costs yet */
	uint32_t costs[BURST], samples = 0;
	struct groups groups;

	if (policer_loans_end(w) || !find_groups(&groups, w, burst, (uint32_t)packets))
		return false;
	*drops = 0;
	for (unsigned k = 0; k < groups.n; k++) {
		uint32_t policy = burst->frames.policy[__builtin_ctz(groups.which[k])];
		struct policy_state *state = &w->policies[policy];

		if (police_accounting(state) != accounting) {
			accounting = police_accounting(state);
			policer_costs_alike(costs, burst, accounting, BURST);
		}
		samples |= find_samples(state, groups.which[k]);
		*drops |= charge_group(w, policy, costs, groups.which[k], now);
	}
	/* Samples are taken in the order of the packets, across the groups. */
	for (; samples; samples &= samples - 1) {
		unsigned i = (unsigned)__builtin_ctz(samples);

		policer_sample(w, burst, i, policer_bytes(burst_policy(w, burst, i), burst, i));
	}
	counter_add(&w->counters.unmatched_packets,
		(uint32_t)__builtin_popcount(groups.none) - burst->n_refused);
	return true;
}

static uint64_t charge_simple(
	struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	struct policer_lines lines;
	uint64_t drops, matched;

	if (policer_groups_pay(burst) && policer_groups_charge(w, burst, packets, now, &drops))
		return drops;
	matched = burst_matched(burst, packets);
	if (unlikely(matched != packets))
		counter_add(&w->counters.unmatched_packets,
			(unsigned)__builtin_popcountll(packets & ~matched) - burst->n_refused);
	if (policer_lines_charge_eights(w, burst, matched, now, &drops))
		return drops;
	policer_lines_find(&lines, w, burst, matched, now);
	return policer_lines_charge(&lines, w, burst, now);
}

/*
 * Charges a burst like police_charge_burst(), with a bucket that borrows. If it cannot borrow even
 * for the cheapest packet, or can borrow for all of them, the burst is charged in one step.
 */
static uint64_t charge_borrowed(struct policy_state *state, struct shared_bucket *shared,
	const uint32_t *costs, uint16_t n, const struct police_costs *all, uint64_t now)
{
	uint32_t refused = UINT32_MAX; /* from this cost on, packets are refused at this tick */
	uint64_t passes = 0;

	if (!police_borrow(state, shared, all->least, now) ||
		police_borrow(state, shared, all->sum, now))
		return police_charge_burst(state, costs, n, all, now);
	for (uint16_t i = 0; i < n; i++) {
		if (costs[i] < refused && !police_borrow(state, shared, costs[i], now))
			refused = costs[i];
		if (police_charge_simple(state, costs[i], now) == VERDICT_PASS)
			passes |= UINT64_C(1) << i;
	}
	return passes;
}

static uint64_t charge_one(struct worker *w, struct rx_burst *burst, uint16_t n, uint64_t now)
{
	uint32_t policy = burst->frames.policy[0], costs[BURST];
	struct policy_state *state = &w->policies[policy];
	struct police_costs all;
	uint64_t passes;

	policer_costs_alike(costs, burst, police_accounting(state), n);
	policer_sample_alike(w, state, burst, costs, n);
	all = police_sum_costs(costs, n);
	if (w->shared_buckets)
		passes = charge_borrowed(state, &w->shared_buckets[policy], costs, n, &all, now);
	else
		passes = police_charge_burst(state, costs, n, &all, now);
	return ~passes & burst_mask(n);
}

const struct policer policer_simple = {
	.charge = charge_simple, .charge_alike = charge_one, .tries = true};

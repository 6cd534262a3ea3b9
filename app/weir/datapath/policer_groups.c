/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policer_groups.h"

#include "policer_lend.h"

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

bool policer_groups_charge(
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

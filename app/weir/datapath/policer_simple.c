/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Plain policies, and packets without a policy (policer_lines.h).
 */
#include "policer.h"

#include "policer_groups.h"
#include "policer_lend.h"
#include "policer_lines.h"

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

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies whose limit flows share. The policy's line decides while there is no pressure on the
 * limit. Otherwise the queue decides that an ideal scheduler would have for the flow.
 */
#include "policer.h"

/*
 * Refills the shared buckets, and begins to fetch the data of police_over_flow(). Packets that the
 * refilled line decides need no hash of their flow.
 */
static void fetch_classes(struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	uint64_t asks = 0;

	for (; packets; packets &= packets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(packets);
		struct policy_state *state = burst_policy(w, burst, i);

		asks |= (uint64_t)police_fetch_phantom(state, policer_bytes(state, burst, i), now)
			<< i;
	}
	for (; asks; asks &= asks - 1) {
		unsigned i = (unsigned)__builtin_ctzll(asks);

		police_fetch_class(burst_policy(w, burst, i), burst_flow_hash(burst, i));
	}
}

/* Charges a packet of a policy with a refilled bucket. The lowest bit is 1 if it does not pass. */
static __rte_always_inline uint64_t charge_phantom(
	struct worker *w, struct policy_state *state, struct rx_burst *burst, unsigned i)
{
	uint32_t bytes = policer_bytes(state, burst, i);
	uint64_t over;

	if (unlikely(police_samples(state)))
		policer_sample(w, burst, i, bytes);
	over = police_over_line(state, bytes);
	if (over == POLICE_ASKS_FLOW)
		over = police_over_flow(state, bytes, burst_flow_hash(burst, i));
	return over;
}

static uint64_t charge_phantoms(
	struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	uint64_t drops = 0;

	(void)now;
	for (; packets; packets &= packets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(packets);

		drops |= (charge_phantom(w, burst_policy(w, burst, i), burst, i) & 1) << i;
	}
	return drops;
}

/* Charges a burst whose verdicts depend on the flows. Returns the packets that do not pass. */
static __rte_noinline uint64_t charge_flows(struct policy_state *state, struct rx_burst *burst,
	const uint32_t *costs, uint16_t n, uint64_t now)
{
	uint32_t hashes[BURST];

	for (uint16_t i = 0; i < n; i++)
		hashes[i] = burst_flow_hash(burst, i);
	return ~police_charge_flows(state, costs, hashes, n, now) & burst_mask(n);
}

static uint64_t charge_one(struct worker *w, struct rx_burst *burst, uint16_t n, uint64_t now)
{
	struct policy_state *state = burst_policy(w, burst, 0);
	uint32_t costs[BURST], least = UINT32_MAX;
	uint64_t sum = 0;

	policer_costs_alike(costs, burst, police_accounting(state), n);
	for (uint16_t i = 0; i < n; i++) {
		least = costs[i] < least ? costs[i] : least;
		sum += costs[i];
	}
	policer_sample_alike(w, state, burst, costs, n);
	if (police_charge_free(state, n, sum, now))
		return 0;
	if (police_refuse_all(state, n, sum, least))
		return burst_mask(n);
	return charge_flows(state, burst, costs, n, now);
}

const struct policer policer_phantom = {
	.fetch = fetch_classes,
	.charge = charge_phantoms,
	.charge_alike = charge_one,
};

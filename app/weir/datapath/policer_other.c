/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies that have no row of their own: other meters, counts of packets and flows, and the
 * actions mark and count. Also the packets of per-source policies that policer_sourced.c does not
 * count.
 */
#include "policer.h"

/* Charges a packet. Returns true if it passes. Its source might have been metered already. */
static bool charge_other(struct worker *w, struct rx_burst *burst, unsigned i, uint64_t now)
{
	struct policy_state *state = burst_policy(w, burst, i);
	const struct packet *packet = burst_packet(burst, i);
	const uint8_t *data = burst->frames.data[i];
	uint32_t cost = police_cost(state, packet, data, burst->len[i], now);
	enum verdict verdict;
	bool marked;

	if (police_samples(state))
		policer_sample(w, burst, i, cost);
	if (sourced_knows(&burst->sourced, i)) {
		verdict = police_enact(
			state, packet, data, cost, now, sourced_conforms(&burst->sourced, i));
	} else {
		if (police_borrows(state))
			policer_lend(w, state, burst->frames.policy[i], cost, now);
		verdict = police_charge(state, packet, data, cost, now);
	}
	if (verdict == VERDICT_DROP)
		burst->unpaid += police_is_quota(state);
	if (verdict != VERDICT_MARK)
		return verdict != VERDICT_DROP;
	marked = policer_mark(burst->mbufs[i], packet, police_mark(state));
	police_marked(state, packet, data, cost, now, marked);
	burst->unmarkable += !marked;
	return marked;
}

static uint64_t charge_others(
	struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	uint64_t drops = 0;

	for (; packets; packets &= packets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(packets);

		drops |= (uint64_t)!charge_other(w, burst, i, now) << i;
	}
	return drops;
}

const struct policer policer_other = {.charge = charge_others};

/* --- total ------------------------------------------------------------------------------------ */

/* Quotas in bytes. Only the length of a packet matters. */

static uint64_t charge_totals(
	struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	uint64_t drops = 0;

	for (; packets; packets &= packets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(packets);
		struct policy_state *state = burst_policy(w, burst, i);

		drops |= (police_over_total(state, policer_bytes(state, burst, i), now) & 1) << i;
	}
	burst->unpaid += (uint16_t)__builtin_popcountll(drops);
	return drops;
}

const struct policer policer_total = {.charge = charge_totals};

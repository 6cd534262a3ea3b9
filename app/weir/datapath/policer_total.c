/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Quotas in bytes. Only the length of a packet matters.
 */
#include "policer.h"

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

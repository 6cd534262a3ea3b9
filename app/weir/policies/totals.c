/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "totals.h"

void policy_totals_add(struct policy_totals *totals, const struct policy_totals *more)
{
	totals->passed_packets += more->passed_packets;
	totals->passed_bytes += more->passed_bytes;
	totals->dropped_packets += more->dropped_packets;
	totals->dropped_bytes += more->dropped_bytes;
	totals->over_packets += more->over_packets;
	totals->over_bytes += more->over_bytes;
	totals->fallback_packets += more->fallback_packets;
	totals->fallback_bytes += more->fallback_bytes;
	for (unsigned c = 0; c < COLOURS; c++) {
		totals->colours[c].packets += more->colours[c].packets;
		totals->colours[c].bytes += more->colours[c].bytes;
	}
	totals->beyond_packets += more->beyond_packets;
}

/*
 * Reading the counts hides new packets from control's check for active policies: so it wakes the
 * policy.
 */
struct policy_totals instance_slot_totals(struct instance *inst, uint32_t slot)
{
	uint32_t policy = inst->slots.policy[slot];
	struct policy_totals totals;

	if (engine_totals(&inst->engine, slot, &totals) && policy != SLOT_FREE &&
		policy != SLOT_LEFT)
		limiter_wake(inst->limiter, policy);
	return totals;
}

struct policy_totals instance_policy_totals(struct instance *inst, uint32_t slot)
{
	const struct carried_over *carried_over = &inst->carried_over[slot];
	struct policy_totals totals = instance_slot_totals(inst, slot);

	policy_totals_add(&totals, &carried_over->before);
	if (carried_over->also != SLOT_NONE) {
		struct policy_totals also = instance_slot_totals(inst, carried_over->also);

		policy_totals_add(&totals, &also);
	}
	return totals;
}

struct worker_counters instance_worker_totals(const struct instance *inst)
{
	struct worker_counters totals = {0};

	for (unsigned i = 0; i < inst->config->n_workers; i++) {
		const struct worker_counters *c = &inst->workers[i].counters;

		totals.rx_packets += counter_read(&c->rx_packets);
		totals.tx_packets += counter_read(&c->tx_packets);
		totals.unmatched_packets += counter_read(&c->unmatched_packets);
		for (unsigned r = 0; r < DROP_REASONS; r++)
			totals.dropped[r] += counter_read(&c->dropped[r]);
		for (unsigned r = 0; r < UNPARSED_REASONS; r++)
			totals.unparsed[r] += counter_read(&c->unparsed[r]);
	}
	return totals;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "totals.h"

#include "police/other.h"
#include "police/shaped.h"

struct police_totals *box_fold(struct box *box, uint32_t slot, unsigned worker)
{
	const struct policy_state *state = &box->workers[worker].policies[slot];
	struct police_totals *totals = box_totals(box, slot, worker);

	police_fold(totals, state);
	return totals;
}

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
}

/* Whoever folds packets takes them from those that control looks for, to wake who naps. */
static void wake_tenant(struct box *box, uint32_t slot)
{
	uint32_t policy = box->slots.tenant[slot];

	if (policy != SLOT_FREE && policy != SLOT_LEFT)
		limiter_wake(box->limiter, policy);
}

struct waiting box_waiting(const struct box *box, uint32_t slot)
{
	struct waiting waiting = {0};

	for (unsigned i = 0; i < box->config->n_workers; i++) {
		const struct policy_state *state = &box->workers[i].policies[slot];

		if (!police_is_shaped(state) || !state->other)
			continue;
		waiting.packets += counter_read32(&state->other->shape->waiting);
		waiting.units += counter_read32(&state->other->shape->units);
	}
	return waiting;
}

struct policy_totals box_slot_totals(struct box *box, uint32_t slot)
{
	struct split *split = &box->splits[slot];
	struct policy_totals totals = {0};
	struct waiting waiting = box_waiting(box, slot);
	uint64_t packets = 0, bytes = 0;

	for (unsigned i = 0; i < box->config->n_workers; i++) {
		const struct policy_state *state = &box->workers[i].policies[slot];
		uint64_t before = box_totals(box, slot, i)->packets;
		const struct police_totals *folded = box_fold(box, slot, i);

		if (folded->packets != before)
			wake_tenant(box, slot);
		totals.dropped_packets += folded->dropped_packets;
		totals.dropped_bytes += police_dropped_bytes(state);
		totals.over_packets += police_over_packets(state);
		totals.over_bytes += police_over_bytes(state);
		totals.fallback_packets += police_fallback_packets(state);
		totals.fallback_bytes += police_fallback_bytes(state);
		packets += folded->packets;
		bytes += counter_read(&state->bytes);
	}
	police_passed(&split->passed_packets, packets, totals.dropped_packets + waiting.packets);
	police_passed(&split->passed_bytes, bytes, totals.dropped_bytes + waiting.units);
	totals.passed_packets = split->passed_packets;
	totals.passed_bytes = split->passed_bytes;
	return totals;
}

struct policy_totals box_policy_totals(struct box *box, uint32_t slot)
{
	const struct carried *carried = &box->carried[slot];
	struct policy_totals totals = box_slot_totals(box, slot);

	policy_totals_add(&totals, &carried->before);
	if (carried->also != SLOT_NONE) {
		struct policy_totals also = box_slot_totals(box, carried->also);

		policy_totals_add(&totals, &also);
	}
	return totals;
}

struct source_table_stats box_source_totals(const struct box *box, uint32_t slot)
{
	struct source_table_stats totals = {0};

	for (unsigned i = 0; i < box->config->n_workers; i++) {
		const struct source_table *table = police_sources(&box->workers[i].policies[slot]);
		struct source_table_stats stats;

		if (!table)
			continue;
		source_table_read_stats(table, &stats);
		totals.sources += stats.sources;
		totals.capacity += stats.capacity;
		totals.overflows += stats.overflows;
		totals.new_sources += stats.new_sources;
	}
	return totals;
}

struct worker_counters box_worker_totals(const struct box *box)
{
	struct worker_counters totals = {0};

	for (unsigned i = 0; i < box->config->n_workers; i++) {
		const struct worker_counters *c = &box->workers[i].counters;

		totals.rx_packets += counter_read(&c->rx_packets);
		totals.tx_packets += counter_read(&c->tx_packets);
		totals.unmatched_packets += counter_read(&c->unmatched_packets);
		for (unsigned r = 0; r < DROP_REASONS; r++)
			totals.dropped[r] += counter_read(&c->dropped[r]);
	}
	return totals;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies below others. A packet is charged to its own policy and all levels above it, or to none
 * (police/lineage.h). Packets that no level above refuses are charged first, in one step
 * (policer_free.c); the others one by one.
 */
#include "policer.h"

#include "police/lineage.h"
#include "police/sourced.h"
#include "worker_data.h"

/* Begins to fetch the levels above the packets' policies, and the meters of their sources. */
static void fetch_levels(struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	(void)now;
	for (; packets; packets &= packets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(packets);
		struct policy_state *own = burst_policy(w, burst, i);

		policer_fetch_above(w, burst->frames.policy[i]);
		if (police_kind(own) == POLICE_SOURCED)
			policer_add_source(burst, i, own);
	}
}

/* Marks a packet for the level that marks. If it cannot, that level refuses it; returns false. */
static bool mark_level(struct rx_burst *burst, unsigned i, struct lineage *lineage)
{
	unsigned k = police_lineage_marker(lineage);

	if (policer_mark(burst->mbufs[i], burst_packet(burst, i), police_mark(lineage->levels[k])))
		return true;
	police_lineage_refuse(lineage, k);
	return false;
}

/*
 * Decides a packet at all levels. Returns false if the packet must be marked and cannot be: it is
 * refused.
 */
static bool ask_lineage(struct rx_burst *burst, unsigned i, struct lineage *lineage, uint64_t now)
{
	return police_lineage_ask(lineage, now) != VERDICT_MARK || mark_level(burst, i, lineage);
}

/* Samples a packet at the levels above that it reaches. The packet is not counted yet. */
static void sample_above(struct worker *w, struct rx_burst *burst, unsigned i,
	const struct lineage *lineage, const uint32_t *slots)
{
	for (unsigned k = 1; k < police_lineage_reached(lineage); k++)
		if (police_samples(lineage->levels[k]))
			policer_sample_of(w, burst, i, slots[k], lineage->cost);
}

/* Charges a packet to all levels or to none. Returns true if it passes. */
static bool charge_lineage(struct worker *w, struct rx_burst *burst, unsigned i, uint64_t now)
{
	uint32_t slots[POLICY_LEVELS_MOST];
	struct lineage l = {.n = lineage_of(w, burst->frames.policy[i], slots)};
	bool markable;

	for (unsigned k = 0; k < l.n; k++)
		l.levels[k] = &w->policies[slots[k]];
	if (unlikely(police_trial(l.levels[0])))
		try_packet(w, l.levels[0], burst, i, now);
	police_lineage_begin(&l, policer_bytes(l.levels[0], burst, i));
	if (unlikely(police_samples(l.levels[0])))
		policer_sample(w, burst, i, l.cost);
	for (unsigned k = 0; w->shared_buckets && k < l.n; k++)
		if (police_is_simple(l.levels[k]) || police_borrows(l.levels[k]))
			policer_lend(w, l.levels[k], slots[k], l.cost, now);
	if (police_lineage_asks_source(&l))
		police_lineage_source(&l, burst_packet(burst, i), burst->frames.data[i], now);
	markable = ask_lineage(burst, i, &l, now);
	sample_above(w, burst, i, &l, slots);
	if (likely(police_lineage_settle(&l, now)))
		return true;
	burst->unmarkable += !markable;
	burst->unpaid += markable && police_is_quota(l.levels[police_lineage_refuser(&l)]);
	return false;
}

/*
 * Returns the packets that fetch_levels() has added. Without per-source policies it might not have
 * run.
 */
static uint64_t ready_sources(const struct worker *w, const struct rx_burst *burst)
{
	bool any = w->own.view.kinds >> POLICE_SOURCED & 1;

	return any ? burst->sourced.below : 0;
}

static uint64_t charge_levels(
	struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	uint64_t drops = 0, sources;

	/* After limits of shared buckets have ended, each packet is charged by itself. */
	if (likely(!policer_loans_end(w))) {
		sources = packets & ready_sources(w, burst);
		if (packets != sources)
			packets &= ~policer_free(w, burst, packets, now, &drops);
		if (sources)
			packets &= ~policer_free_sources(w, burst, sources, now, &drops);
	}
	for (; packets; packets &= packets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(packets);

		drops |= (uint64_t)!charge_lineage(w, burst, i, now) << i;
	}
	return drops;
}

static uint64_t charge_one(struct worker *w, struct rx_burst *burst, uint16_t n, uint64_t now)
{
	uint64_t drops;

	if (policer_free_alike(w, burst, n, now, &drops))
		return drops;
	sourced_begin(&burst->sourced);
	fetch_levels(w, burst, burst_mask(n), now);
	return charge_levels(w, burst, burst_mask(n), now);
}

const struct policer policer_level = {
	.fetch = fetch_levels,
	.charge = charge_levels,
	.charge_alike = charge_one,
	.tries = true,
};

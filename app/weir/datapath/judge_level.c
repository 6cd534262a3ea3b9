/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies that are below others: a packet is charged to its own policy and to all above it, or to
 * none (police/lineage.h). Those of which nobody above refuses any are charged first, at one go
 * (judge_free.h); the others one by one.
 */
#include "judge.h"

#include "judge_free.h"
#include "judge_lend.h"
#include "judge_mark.h"
#include "police/lineage.h"
#include "police/sourced.h"
#include "trying.h"
#include "worker_data.h"

/* Begins to fetch the lines above those of packets' own policies, and meters of sources. */
static void fetch_levels(struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	(void)now;
	for (; packets; packets &= packets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(packets);
		struct policy_state *own = judge_policy(w, burst, i);

		judge_fetch_above(w, burst->frames.policy[i]);
		if (police_kind(own) == POLICE_SOURCED)
			judge_add_source(burst, i, own);
	}
}

/* Marks as the level that marks says; or has that level refuse the packet, and returns false. */
static bool mark_level(struct rx_burst *burst, unsigned i, struct lineage *lineage)
{
	unsigned k = police_lineage_marker(lineage);

	if (judge_mark(burst->mbufs[i], burst_packet(burst, i), police_mark(lineage->levels[k])))
		return true;
	police_lineage_refuse(lineage, k);
	return false;
}

/* Asks all levels about a packet. False if it was to be marked and cannot be: it is refused. */
static bool ask_lineage(struct rx_burst *burst, unsigned i, struct lineage *lineage, uint64_t now)
{
	return police_lineage_ask(lineage, now) != VERDICT_MARK || mark_level(burst, i, lineage);
}

/* Samples that those above a packet's own policy take of what comes as far as them: uncounted. */
static void sample_above(struct worker *w, struct rx_burst *burst, unsigned i,
	const struct lineage *lineage, const uint32_t *slots)
{
	for (unsigned k = 1; k < police_lineage_reached(lineage); k++)
		if (police_samples(lineage->levels[k]))
			judge_sample_of(w, burst, i, slots[k], lineage->cost);
}

/* Whether a packet passes. */
static bool charge_lineage(struct worker *w, struct rx_burst *burst, unsigned i, uint64_t now)
{
	uint32_t slots[POLICY_LEVELS_MOST];
	struct lineage l = {.n = lineage_of(w, burst->frames.policy[i], slots)};
	bool markable;

	for (unsigned k = 0; k < l.n; k++)
		l.levels[k] = &w->policies[slots[k]];
	if (unlikely(police_trial(l.levels[0])))
		try_packet(w, l.levels[0], burst, i, now);
	police_lineage_begin(&l, judge_bytes(l.levels[0], burst, i));
	if (unlikely(police_samples(l.levels[0])))
		judge_sample(w, burst, i, l.cost);
	for (unsigned k = 0; w->shared_buckets && k < l.n; k++)
		if (police_is_simple(l.levels[k]) || police_borrows(l.levels[k]))
			judge_lend(w, l.levels[k], slots[k], l.cost, now);
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

/* Packets that fetch_levels() has added; where there is no such policy nobody has been asked. */
static uint64_t ready_sources(const struct worker *w, const struct rx_burst *burst)
{
	bool any = w->own.view.kinds >> POLICE_SOURCED & 1;

	return any ? burst->sourced.below : 0;
}

static uint64_t charge_levels(
	struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	uint64_t drops = 0, sources;

	/* Where what is lent has ended, each packet is asked about. */
	if (likely(!judge_loans_end(w))) {
		sources = packets & ready_sources(w, burst);
		if (packets != sources)
			packets &= ~judge_free(w, burst, packets, now, &drops);
		if (sources)
			packets &= ~judge_free_sources(w, burst, sources, now, &drops);
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

	if (judge_free_alike(w, burst, n, now, &drops))
		return drops;
	sourced_begin(&burst->sourced);
	fetch_levels(w, burst, judge_all(n), now);
	return charge_levels(w, burst, judge_all(n), now);
}

const struct judge judge_level = {
	.fetch = fetch_levels,
	.charge = charge_levels,
	.charge_alike = charge_one,
	.tries = true,
};

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
#include "trying.h"
#include "worker_own.h"

/* Begins to fetch the lines above those of packets' own policies. */
static void fetch_levels(struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	(void)now;
	for (; packets; packets &= packets - 1) {
		uint32_t slots[POLICY_LEVELS_MOST];
		unsigned i = (unsigned)__builtin_ctzll(packets);
		unsigned n = lineage_of(w, burst->frames.policy[i], slots);

		for (unsigned k = 1; k < n; k++)
			rte_prefetch0(&w->policies[slots[k]]);
	}
}

/* Marks as the level that marks says, or has that level refuse the packet. */
static void mark_level(
	struct rx_burst *burst, unsigned i, struct policy_state *const *levels, unsigned *over)
{
	unsigned k = police_lineage_marker(levels, *over);

	if (judge_mark(burst->mbufs[i], burst_packet(burst, i), police_mark(levels[k])))
		return;
	burst->unmarkable++;
	*over = LINEAGE_REFUSED | k;
}

/* Whether a packet passes. */
static bool charge_lineage(struct worker *w, struct rx_burst *burst, unsigned i, uint64_t now)
{
	struct policy_state *levels[POLICY_LEVELS_MOST];
	uint32_t slots[POLICY_LEVELS_MOST], cost;
	unsigned n = lineage_of(w, burst->frames.policy[i], slots), over;

	for (unsigned k = 0; k < n; k++)
		levels[k] = &w->policies[slots[k]];
	if (unlikely(police_trial(levels[0])))
		try_packet(w, levels[0], burst, i, now);
	cost = police_lineage_cost(levels[0], judge_bytes(levels[0], burst, i));
	if (unlikely(police_samples(levels[0])))
		judge_sample(w, burst, i, cost);
	for (unsigned k = 0; w->shared_buckets && k < n; k++)
		if (police_is_simple(levels[k]) || police_borrows(levels[k]))
			judge_lend(w, levels[k], slots[k], cost, now);
	if (police_lineage_ask(levels, n, cost, now, &over) == VERDICT_MARK)
		mark_level(burst, i, levels, &over);
	police_lineage_settle(levels, n, cost, over);
	return !(over & LINEAGE_REFUSED);
}

static uint64_t charge_levels(
	struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	uint64_t drops = 0;

	/* Where what is lent has ended, each packet is asked about. */
	if (likely(!judge_loans_end(w)))
		packets &= ~judge_free(w, burst, packets, now, &drops);
	for (; packets; packets &= packets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(packets);

		drops |= (uint64_t)!charge_lineage(w, burst, i, now) << i;
	}
	return drops;
}

const struct judge judge_level = {.fetch = fetch_levels, .charge = charge_levels, .tries = true};

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A packet that is charged to its policy and to those above it, to all or to none, on a worker
 * whose states the engine changes itself.
 */
#include "engine/states.h"

#include "police/borrow.h"
#include "police/lineage.h"
#include "police/sample.h"
#include "policy/kind.h"

/* What a level lacks of a packet's cost, from the bucket that workers share. */
static void lend_level(
	struct policy_state *level, struct shared_bucket *shared, uint32_t cost, uint64_t now)
{
	if (police_is_simple(level))
		(void)police_borrow(level, shared, cost, now);
	else if (police_borrows(level))
		(void)police_borrow_other(level, shared, cost, now);
}

/* Nobody marks here: what a sender would take for congestion is a drop, and the rest counts. */
static enum verdict mark_as(struct policy_state *const *levels, unsigned *over)
{
	unsigned k = police_lineage_marker(levels, *over);

	if (police_mark(levels[k]) != MARK_ECN)
		return VERDICT_COUNT;
	*over = LINEAGE_REFUSED | k;
	return VERDICT_DROP;
}

enum verdict engine_states_police_levels(struct engine *engine, unsigned worker,
	const struct lineage_slots *lineage, const struct packet *packet, const uint8_t *data,
	uint32_t frame_len, uint64_t now, struct lineage_charge *charge)
{
	struct engine_worker *mine = &engine->workers[worker];
	struct policy_state *levels[POLICY_LEVELS_MOST], *leaf = &mine->states[lineage->slots[0]];
	enum verdict verdict;
	unsigned over;

	charge->cost = police_cost(leaf, packet, data, frame_len, now);
	if (police_samples(leaf) && mine->samples[lineage->slots[0]])
		police_sample(mine->samples[lineage->slots[0]], leaf, packet, data, charge->cost);
	for (unsigned i = 0; i < lineage->n; i++) {
		levels[i] = &mine->states[lineage->slots[i]];
		if (engine->shared_buckets)
			lend_level(levels[i], &engine->shared_buckets[lineage->slots[i]],
				charge->cost, now);
	}
	verdict = police_lineage_ask(levels, lineage->n, charge->cost, now, &over);
	if (verdict == VERDICT_MARK)
		verdict = mark_as(levels, &over);
	police_lineage_settle(levels, lineage->n, charge->cost, over);
	charge->reached = over & LINEAGE_REFUSED ? (over & ~LINEAGE_REFUSED) + 1 : lineage->n;
	return verdict;
}

struct lineage_slots engine_states_lineage(const struct policy *policies, unsigned policy)
{
	struct lineage_slots lineage = {.slots = {policy}, .n = 1};

	for (; policy_has_parent(&policies[policy]); policy = (unsigned)policies[policy].parent)
		lineage.slots[lineage.n++] = (uint32_t)policies[policy].parent;
	return lineage;
}

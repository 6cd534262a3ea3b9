/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A packet that is charged to its policy and to those above it, to all or to none, on a worker
 * whose states the engine changes itself.
 */
#include "engine/states.h"

#include "police/borrow.h"
#include "police/sample.h"
#include "policy/kind.h"

/* One level: what a packet takes of its bucket, and whether it has that. */
struct charged_level {
	struct policy_state *state;
	struct token_bucket *bucket;
	uint64_t parts; /* of the bucket that the packet costs */
	bool passes;    /* what does not conform passes all the same, and is counted */
	bool conforms;
};

/* The bucket, with what the packet lacks borrowed if others share it. */
static void look_at_level(struct charged_level *level, struct policy_state *state,
	struct shared_bucket *shared, uint32_t cost, uint64_t now)
{
	struct policy_extended *other = state->other;
	const struct token_bucket_profile *limit = &state->limit;

	*level = (struct charged_level){.state = state, .bucket = &state->bucket, .parts = cost};
	if (police_is_extended(state)) {
		level->bucket = &other->meter.bucket;
		level->parts = (uint64_t)cost << other->unit_bits;
		level->passes = other->action == ACTION_COUNT ||
				(other->action == ACTION_MARK && other->mark != MARK_ECN);
		limit = &other->profile.bucket;
	} else if (shared) {
		(void)police_borrow(state, shared, cost, now);
	}
	token_bucket_refill(level->bucket, limit, now);
	level->conforms = level->bucket->tokens >= level->parts << TOKEN_BYTE;
}

static void count_level(struct charged_level *level, uint32_t cost, bool dropped)
{
	struct policy_state *state = level->state;

	police_count(state, 1, cost, dropped, dropped ? cost : 0);
	if (dropped || level->conforms)
		return;
	counter_add(&state->other->over_packets, 1);
	counter_add(&state->other->over_bytes, cost);
}

/* Those that the packet reaches see it: none above the one that refuses it. */
static enum verdict charge_levels(
	struct charged_level *levels, unsigned n, uint32_t cost, unsigned *reached)
{
	bool dropped = false, over = false;

	for (*reached = 0; *reached < n && !dropped; ++*reached) {
		over |= !levels[*reached].conforms;
		dropped = !levels[*reached].conforms && !levels[*reached].passes;
	}
	for (unsigned i = 0; i < *reached; i++) {
		count_level(&levels[i], cost, dropped);
		if (!dropped && levels[i].conforms)
			levels[i].bucket->tokens -= levels[i].parts << TOKEN_BYTE;
	}
	if (dropped)
		return VERDICT_DROP;
	return over ? VERDICT_COUNT : VERDICT_PASS;
}

enum verdict engine_states_police_levels(struct engine *engine, unsigned worker,
	const struct lineage_slots *lineage, const struct packet *packet, const uint8_t *data,
	uint32_t frame_len, uint64_t now, struct lineage_charge *charge)
{
	struct engine_worker *mine = &engine->workers[worker];
	struct charged_level levels[POLICY_LEVELS_MOST];
	const uint32_t *slots = lineage->slots;
	struct policy_state *leaf = &mine->states[slots[0]];

	charge->cost = police_cost(leaf, packet, data, frame_len, now);
	if (police_samples(leaf) && mine->samples[slots[0]])
		police_sample(mine->samples[slots[0]], leaf, packet, data, charge->cost);
	for (unsigned i = 0; i < lineage->n; i++)
		look_at_level(&levels[i], &mine->states[slots[i]],
			engine->shared_buckets ? &engine->shared_buckets[slots[i]] : NULL,
			charge->cost, now);
	return charge_levels(levels, lineage->n, charge->cost, &charge->reached);
}

struct lineage_slots engine_states_lineage(const struct policy *policies, unsigned policy)
{
	struct lineage_slots lineage = {.slots = {policy}, .n = 1};

	for (; policy_has_parent(&policies[policy]); policy = (unsigned)policies[policy].parent)
		lineage.slots[lineage.n++] = (uint32_t)policies[policy].parent;
	return lineage;
}

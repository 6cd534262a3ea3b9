/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A packet of a policy that is below others (policy/kind.h, policy_has_parent()): a client in a
 * customer in a link. It is charged to all levels or to none. Each has one token bucket, in bytes
 * or packets, and says by its own action what becomes of a packet that it has no tokens for:
 *
 *     cost = police_lineage_cost(levels[0], bytes);
 *     verdict = police_lineage_ask(levels, n, cost, now, &over);
 *     if (verdict == VERDICT_MARK && !mark_frame(..., police_mark(levels[k = ..._marker()])))
 *             over = LINEAGE_REFUSED | k;
 *     police_lineage_settle(levels, n, cost, over);
 *
 * A level counts the packets that come as far as it: one that a level refuses is dropped there and
 * at those below, and those above have not seen it. So what a level counts is what all below it
 * let pass.
 */
#ifndef WEIR_POLICE_LINEAGE_H
#define WEIR_POLICE_LINEAGE_H

#include <stdint.h>

#include "police/charge.h"
#include "police/policy_state.h"
#include "policy/policy.h"

/* In *over: a level refuses, the number beside this; else levels that let pass more, a bit each. */
#define LINEAGE_REFUSED (1U << POLICY_LEVELS_MOST)

/* The bucket of a level, and what it is refilled by. The state's one writer. */
static inline struct token_bucket *lineage_bucket(struct policy_state *level)
{
	return police_is_simple(level) ? &level->bucket : &level->other->meter.bucket;
}

static inline const struct token_bucket_profile *lineage_profile(const struct policy_state *level)
{
	return police_is_simple(level) ? &level->limit : &level->other->profile.bucket;
}

static inline enum action lineage_action(const struct policy_state *level)
{
	return police_is_simple(level) ? ACTION_DROP : (enum action)level->other->action;
}

/* What a packet of so many bytes costs, at all levels alike. */
static inline uint32_t police_lineage_cost(const struct policy_state *leaf, uint32_t bytes)
{
	return !police_is_simple(leaf) && leaf->other->count == COUNT_PACKETS ? 1 : bytes;
}

/* And in tokens of a level's bucket. */
static inline uint64_t lineage_tokens(const struct policy_state *level, uint32_t cost)
{
	unsigned bits = police_is_simple(level) ? 0 : level->other->unit_bits;

	return (uint64_t)cost << bits << TOKEN_BYTE;
}

/*
 * What becomes of a packet that arrived at `now`, of n levels, of which levels[0] is its own
 * policy's and each next one its parent's; and by *over whose doing that is. Nothing is charged or
 * counted yet: police_lineage_settle() is due. The states' one writer.
 */
static inline enum verdict police_lineage_ask(
	struct policy_state *const *levels, unsigned n, uint32_t cost, uint64_t now, unsigned *over)
{
	enum verdict verdict = VERDICT_PASS;

	*over = 0;
	for (unsigned k = 0; k < n; k++) {
		struct token_bucket *bucket = lineage_bucket(levels[k]);
		enum action action;

		token_bucket_refill(bucket, lineage_profile(levels[k]), now);
		if (__builtin_expect(bucket->tokens >= lineage_tokens(levels[k], cost), 1))
			continue;
		action = lineage_action(levels[k]);
		if (action == ACTION_DROP) {
			*over = LINEAGE_REFUSED | k;
			return VERDICT_DROP;
		}
		*over |= 1U << k;
		if (action == ACTION_MARK)
			verdict = VERDICT_MARK;
		else if (verdict == VERDICT_PASS)
			verdict = VERDICT_COUNT;
	}
	return verdict;
}

/* The level whose mark it is when it is VERDICT_MARK: the lowest that marks. */
static inline unsigned police_lineage_marker(struct policy_state *const *levels, unsigned over)
{
	unsigned k = 0;

	while (!(over >> k & 1) || lineage_action(levels[k]) != ACTION_MARK)
		k++;
	return k;
}

/* One level of a packet that passes all. */
static inline void lineage_pass(struct policy_state *level, uint32_t cost, bool over)
{
	police_count(level, 1, cost, 0, 0);
	if (__builtin_expect(!over, 1)) {
		lineage_bucket(level)->tokens -= lineage_tokens(level, cost);
		return;
	}
	counter_add(&level->other->over_packets, 1);
	counter_add(&level->other->over_bytes, cost);
}

/* Packets that pass a plain one, which has the tokens: their bytes. The state's one writer. */
static inline void lineage_pass_plain(struct policy_state *level, uint32_t packets, uint64_t bytes)
{
	counter_add32(&level->packets, packets);
	counter_add(&level->bytes, bytes);
	level->bucket.tokens -= bytes << TOKEN_BYTE;
}

/*
 * Charges and counts a packet of which police_lineage_ask() has said this, at all levels or none. A
 * packet that was to be marked and could not be is refused by the level that marks: its number and
 * LINEAGE_REFUSED. The states' one writer.
 */
static inline void police_lineage_settle(
	struct policy_state *const *levels, unsigned n, uint32_t cost, unsigned over)
{
	if (__builtin_expect(over & LINEAGE_REFUSED, 0)) {
		for (unsigned k = 0; k <= (over & ~LINEAGE_REFUSED); k++)
			police_count(levels[k], 1, cost, 1, cost);
		return;
	}
	for (unsigned k = 0; k < n; k++)
		lineage_pass(levels[k], cost, over >> k & 1);
}

#endif

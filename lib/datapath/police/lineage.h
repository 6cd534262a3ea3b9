/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A packet of a policy that is below others (policy/kind.h, policy_has_parent()): a client in a
 * customer in a link. It is charged to all levels or to none. Each has one token bucket, in bytes
 * or packets, or a total, at most one of them; the lowest may have a meter for each source. Each
 * says by its own action what becomes of a packet that it has nothing for:
 *
 *     lineage.levels, lineage.n = ...;
 *     police_lineage_begin(&lineage, bytes);
 *     if (police_lineage_asks_source(&lineage))
 *             police_lineage_source(&lineage, packet, data, now);
 *     verdict = police_lineage_ask(&lineage, now);
 *     if (verdict == VERDICT_MARK && !mark_frame(..., police_mark(levels[k = ..._marker()])))
 *             police_lineage_refuse(&lineage, k);
 *     passes = police_lineage_settle(&lineage, now);
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
#include "police/total.h"
#include "policy/policy.h"

/* In `over`: a level refuses, its number beside this; or levels that let more pass, a bit each. */
#define LINEAGE_REFUSED (1U << POLICY_LEVELS_MOST)

/* A packet, and the levels that it is charged to. Of who has filled in the first two. */
struct lineage {
	/* levels[0] is its own policy's, and each next one its parent's. */
	struct policy_state *levels[POLICY_LEVELS_MOST];
	unsigned n;
	unsigned over;       /* by whose doing it is what police_lineage_ask() has said */
	unsigned total;      /* the level with a total that it is to be paid of, or n */
	uint32_t cost;       /* at all levels alike */
	struct gcra *source; /* its source's meter, where levels[0] has one for each, */
	struct gcra_now at;  /* and when that is asked */
};

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

/* A packet of so many bytes. */
static inline void police_lineage_begin(struct lineage *lineage, uint32_t bytes)
{
	const struct policy_state *leaf = lineage->levels[0];

	lineage->cost = !police_is_simple(leaf) && leaf->other->count == COUNT_PACKETS ? 1 : bytes;
	lineage->over = 0;
	lineage->total = lineage->n;
}

/* Whether police_lineage_source() is due. */
static inline bool police_lineage_asks_source(const struct lineage *lineage)
{
	return police_kind(lineage->levels[0]) == POLICE_SOURCED;
}

/*
 * Finds the meter of the packet's source; of packets without an address there is one. `data` are
 * the bytes that `packet` was parsed from. The states' one writer.
 */
void police_lineage_source(
	struct lineage *lineage, const struct packet *packet, const uint8_t *data, uint64_t now);

/* The cost in a level's smallest parts. */
static inline uint64_t lineage_parts(const struct policy_state *level, uint32_t cost)
{
	return (uint64_t)cost << (police_is_simple(level) ? 0 : level->other->unit_bits);
}

/* And in tokens of its bucket. */
static inline uint64_t lineage_tokens(const struct policy_state *level, uint32_t cost)
{
	return lineage_parts(level, cost) << TOKEN_BYTE;
}

static inline bool bucket_has(struct policy_state *level, uint32_t cost, uint64_t now)
{
	struct token_bucket *bucket = lineage_bucket(level);

	token_bucket_refill(bucket, lineage_profile(level), now);
	return bucket->tokens >= lineage_tokens(level, cost);
}

/* Whether a level that is not plain has what the packet costs. */
static inline bool other_has(struct lineage *lineage, unsigned k, uint64_t now)
{
	struct policy_state *level = lineage->levels[k];

	switch (level->other->kind) {
	case METER_CREDIT:
		lineage->total = k;
		return police_can_pay(level->other, lineage->cost, now);
	case METER_GCRA:
		return gcra_tokens(lineage->source, &lineage->at) >=
		       (int64_t)(lineage_parts(level, lineage->cost) << GCRA_SHIFT);
	default:
		return bucket_has(level, lineage->cost, now);
	}
}

/*
 * What becomes of a packet that arrived at `now`; and by lineage->over whose doing that is. Nothing
 * is charged or counted yet: police_lineage_settle() is due. The states' one writer.
 */
static inline enum verdict police_lineage_ask(struct lineage *lineage, uint64_t now)
{
	enum verdict verdict = VERDICT_PASS;

	for (unsigned k = 0; k < lineage->n; k++) {
		struct policy_state *level = lineage->levels[k];
		bool has = police_is_simple(level) ? bucket_has(level, lineage->cost, now)
						   : other_has(lineage, k, now);
		enum action action;

		if (__builtin_expect(has, 1))
			continue;
		action = lineage_action(level);
		if (action == ACTION_DROP) {
			lineage->over = LINEAGE_REFUSED | k;
			return VERDICT_DROP;
		}
		lineage->over |= 1U << k;
		if (action == ACTION_MARK)
			verdict = VERDICT_MARK;
		else if (verdict == VERDICT_PASS)
			verdict = VERDICT_COUNT;
	}
	return verdict;
}

/* The level whose mark it is when it is VERDICT_MARK: the lowest that marks. */
static inline unsigned police_lineage_marker(const struct lineage *lineage)
{
	unsigned k = 0;

	while (!(lineage->over >> k & 1) || lineage_action(lineage->levels[k]) != ACTION_MARK)
		k++;
	return k;
}

/* A level refuses the packet: what was to be marked there cannot be. */
static inline void police_lineage_refuse(struct lineage *lineage, unsigned k)
{
	lineage->over = LINEAGE_REFUSED | k;
}

/* The level that does not let a packet pass: the one that refuses it. */
static inline unsigned police_lineage_refuser(const struct lineage *lineage)
{
	return lineage->over & ~LINEAGE_REFUSED;
}

/* The levels that a packet comes as far as: up to who refuses it, or all. */
static inline unsigned police_lineage_reached(const struct lineage *lineage)
{
	return lineage->over & LINEAGE_REFUSED ? police_lineage_refuser(lineage) + 1 : lineage->n;
}

/* The level by whose doing a packet does not just pass: that refuses, or marks, or counts it. */
static inline unsigned police_lineage_doer(const struct lineage *lineage, enum verdict verdict)
{
	if (verdict == VERDICT_DROP)
		return police_lineage_refuser(lineage);
	if (verdict == VERDICT_MARK)
		return police_lineage_marker(lineage);
	return (unsigned)__builtin_ctz(lineage->over);
}

/* What a level itself has to say of a packet that has come as far as it, once it is settled. */
static inline enum verdict police_lineage_level(const struct lineage *lineage, unsigned k)
{
	if (lineage->over & LINEAGE_REFUSED)
		return VERDICT_DROP;
	if (!(lineage->over >> k & 1))
		return VERDICT_PASS;
	return lineage_action(lineage->levels[k]) == ACTION_MARK ? VERDICT_MARK : VERDICT_COUNT;
}

/* Takes what a packet costs that passes of a level that has it: a total has been paid. */
static inline void lineage_take(struct lineage *lineage, struct policy_state *level)
{
	enum meter_kind kind = police_is_simple(level) ? METER_TOKEN_BUCKET : level->other->kind;

	if (kind == METER_GCRA)
		(void)gcra_conforms_now(lineage->source, &lineage->at,
			(uint32_t)lineage_parts(level, lineage->cost));
	else if (kind != METER_CREDIT)
		lineage_bucket(level)->tokens -= lineage_tokens(level, lineage->cost);
}

/* Gives back what lineage_take() has taken: of a bucket, no more than it holds. */
static inline void lineage_give(const struct lineage *lineage, struct policy_state *level)
{
	lineage_bucket(level)->tokens += lineage_tokens(level, lineage->cost);
}

/* Counts a packet at one level, all of which it passes. */
static inline void lineage_count(const struct lineage *lineage, unsigned k)
{
	struct policy_state *level = lineage->levels[k];

	police_count(level, 1, lineage->cost, 0, 0);
	if (__builtin_expect(!(lineage->over >> k & 1), 1))
		return;
	counter_add(&level->other->over_packets, 1);
	counter_add(&level->other->over_bytes, lineage->cost);
}

/* Packets that pass a plain one, which has the tokens: their bytes. The state's one writer. */
static inline void lineage_pass_plain(struct policy_state *level, uint32_t packets, uint64_t bytes)
{
	counter_add32(&level->packets, packets);
	counter_add(&level->bytes, bytes);
	level->bucket.tokens -= bytes << TOKEN_BYTE;
}

/* Pays of a total, before anything else is taken: another worker may have been there meanwhile. */
static inline void lineage_pay(struct lineage *lineage, uint64_t now)
{
	struct policy_state *level = lineage->levels[lineage->total];
	unsigned bit = 1U << lineage->total;

	if (lineage->over & (LINEAGE_REFUSED | bit) || police_pay(level->other, lineage->cost, now))
		return;
	if (lineage_action(level) == ACTION_DROP)
		police_lineage_refuse(lineage, lineage->total);
	else
		lineage->over |= bit;
}

/*
 * Charges and counts a packet of which police_lineage_ask() has said what becomes of it, at all
 * levels or none. Whether it passes. The states' one writer.
 */
static inline bool police_lineage_settle(struct lineage *lineage, uint64_t now)
{
	if (__builtin_expect(lineage->total < lineage->n, 0))
		lineage_pay(lineage, now);
	if (__builtin_expect(lineage->over & LINEAGE_REFUSED, 0)) {
		for (unsigned k = 0; k <= police_lineage_refuser(lineage); k++)
			police_count(lineage->levels[k], 1, lineage->cost, 1, lineage->cost);
		return false;
	}
	for (unsigned k = 0; k < lineage->n; k++) {
		lineage_count(lineage, k);
		if (__builtin_expect(!(lineage->over >> k & 1), 1))
			lineage_take(lineage, lineage->levels[k]);
	}
	return true;
}

/*
 * For a packet that waits, and those above its own policy: takes what it costs, if none of them
 * refuses it, before it leaves; then it is counted. Or it does not leave, and all is given back.
 * Levels of buckets alone, and police_lineage_ask() has been asked. The states' one writer.
 */
static inline void police_lineage_take(struct lineage *lineage)
{
	for (unsigned k = 0; k < lineage->n; k++)
		if (!(lineage->over >> k & 1))
			lineage_take(lineage, lineage->levels[k]);
}

static inline void police_lineage_count(const struct lineage *lineage)
{
	for (unsigned k = 0; k < lineage->n; k++)
		lineage_count(lineage, k);
}

static inline void police_lineage_give(const struct lineage *lineage)
{
	for (unsigned k = 0; k < lineage->n; k++)
		if (!(lineage->over >> k & 1))
			lineage_give(lineage, lineage->levels[k]);
}

#endif

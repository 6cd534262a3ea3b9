/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A packet of a policy that is below others (policy/kind.h, policy_has_parent()): a client in a
 * customer in a link. It is charged to all levels or to none. Each has one token bucket, in bytes
 * or packets, or a total, at most one of them; the lowest may have a meter for each source. A level
 * that lacks the packet's cost decides the verdict by its own action:
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
 * A level counts the packets that reach it. A packet that a level refuses is dropped there and at
 * the levels below, and the levels above have not seen it. So a level counts only packets that all
 * below it let pass.
 */
#ifndef WEIR_POLICE_LINEAGE_H
#define WEIR_POLICE_LINEAGE_H

#include <stdint.h>

#include "police/charge.h"
#include "police/policy_state.h"
#include "policy/policy.h"

/*
 * In `over`: a level refuses, with its number in the other bits; or levels that let more pass, a
 * bit each.
 */
#define LINEAGE_REFUSED (1U << POLICY_LEVELS_MOST)

/* A packet, and the levels that it is charged to. The caller sets the first two fields. */
struct lineage {
	/* levels[0] is its own policy's, and each next one its parent's. */
	struct policy_state *levels[POLICY_LEVELS_MOST];
	unsigned n;
	unsigned over;       /* the level or levels that caused the verdict */
	unsigned total;      /* the level with a total that pays for it, or n */
	uint32_t cost;       /* at all levels alike */
	struct gcra *source; /* its source's meter, if levels[0] has one for each, */
	struct gcra_now at;  /* the instant at which it is read */
};

/* The bucket of a level, and the profile that refills it. The state's one writer. */
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

/* Returns true if police_lineage_source() is due. */
static inline bool police_lineage_asks_source(const struct lineage *lineage)
{
	return police_kind(lineage->levels[0]) == POLICE_SOURCED;
}

/*
 * Finds the meter of the packet's source; packets without an address share one. `data` are the
 * bytes that `packet` was parsed from. The states' one writer.
 */
void police_lineage_source(
	struct lineage *lineage, const struct packet *packet, const uint8_t *data, uint64_t now);

/* The cost in a level's smallest parts. */
static inline uint64_t lineage_parts(const struct policy_state *level, uint32_t cost)
{
	return (uint64_t)cost << (police_is_simple(level) ? 0 : level->other->unit_bits);
}

/* The cost in tokens of its bucket. */
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

/* Returns true if a level that is not plain has the packet's cost. */
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
 * Returns the verdict on a packet that arrived at `now`; lineage->over has the levels that caused
 * it. Nothing is charged or counted yet: police_lineage_settle() is due. The states' one writer.
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

/* Returns the level whose mark counts for VERDICT_MARK: the lowest that marks. */
static inline unsigned police_lineage_marker(const struct lineage *lineage)
{
	unsigned k = 0;

	while (!(lineage->over >> k & 1) || lineage_action(lineage->levels[k]) != ACTION_MARK)
		k++;
	return k;
}

/* Makes a level refuse the packet, because its mark is impossible. */
static inline void police_lineage_refuse(struct lineage *lineage, unsigned k)
{
	lineage->over = LINEAGE_REFUSED | k;
}

/* The level that does not let a packet pass: the one that refuses it. */
static inline unsigned police_lineage_refuser(const struct lineage *lineage)
{
	return lineage->over & ~LINEAGE_REFUSED;
}

/* Returns the number of levels that a packet reaches: up to the one that refuses it, or all. */
static inline unsigned police_lineage_reached(const struct lineage *lineage)
{
	return lineage->over & LINEAGE_REFUSED ? police_lineage_refuser(lineage) + 1 : lineage->n;
}

/* Returns the level that causes the verdict: that refuses, or marks, or counts the packet. */
static inline unsigned police_lineage_doer(const struct lineage *lineage, enum verdict verdict)
{
	if (verdict == VERDICT_DROP)
		return police_lineage_refuser(lineage);
	if (verdict == VERDICT_MARK)
		return police_lineage_marker(lineage);
	return (unsigned)__builtin_ctz(lineage->over);
}

/* Returns the verdict of a level itself on a packet that has reached it, once it is settled. */
static inline enum verdict police_lineage_level(const struct lineage *lineage, unsigned k)
{
	if (lineage->over & LINEAGE_REFUSED)
		return VERDICT_DROP;
	if (!(lineage->over >> k & 1))
		return VERDICT_PASS;
	return lineage_action(lineage->levels[k]) == ACTION_MARK ? VERDICT_MARK : VERDICT_COUNT;
}

/* Takes the cost of a packet that passes from a level that has it: a total has been paid. */
static inline void lineage_take(struct lineage *lineage, struct policy_state *level)
{
	enum meter_kind kind = police_is_simple(level) ? METER_TOKEN_BUCKET : level->other->kind;

	if (kind == METER_GCRA)
		(void)gcra_conforms_now(lineage->source, &lineage->at,
			(uint32_t)lineage_parts(level, lineage->cost));
	else if (kind != METER_CREDIT)
		lineage_bucket(level)->tokens -= lineage_tokens(level, lineage->cost);
}

/* Gives back the cost after lineage_take(): to a bucket, no more than it holds. */
static inline void lineage_give(const struct lineage *lineage, struct policy_state *level)
{
	lineage_bucket(level)->tokens += lineage_tokens(level, lineage->cost);
}

/* Counts a packet that passes all levels at one of them. */
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

/* Pays from a total, before all other takes: another worker can have taken units meanwhile. */
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
 * Charges and counts a packet after police_lineage_ask(), at all levels or none. Returns true if it
 * passes. The states' one writer.
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
 * For a packet that waits, and the levels above its own policy. Takes its cost, if none of them
 * refuses it, before it leaves; then it is counted. Or it does not leave, and all is given back.
 * Only for levels of buckets, after police_lineage_ask(). The states' one writer.
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

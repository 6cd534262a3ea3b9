/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Meters with one of three colours as their verdict, exactly: RFC 2697 (srtcm), RFC 2698 (trtcm)
 * and RFC 4115 (trtcm-4115), colour-blind and colour-aware. Each is two token buckets, in the units
 * of meter/token_bucket.h. One has the *committed* rate and burst (CIR, CBS). In every kind, green
 * packets have taken their tokens there, so that no more than r·t + b is green over any time. The
 * *second* is
 *
 *     srtcm       of committed tokens that found their bucket full: no rate, own burst (EBS)
 *     trtcm       of the peak rate and burst (PIR, PBS), which green packets take from as well
 *     trtcm-4115  of the tokens in addition to the committed ones (EIR, EBS)
 *
 * A packet conforms if its cost is there, even if that is the last of it. So do RFC 2697 and RFC
 * 2698, and other implementations of RFC 4115 (DPDK), whose text requires more than that. A
 * colour-blind meter takes all packets for green.
 *
 * If a caller uses one bucket (meter/meter.h), it is the committed one: a packet conforms if it is
 * green. A colour meter has the second one next to it, and its caller uses colour_packet().
 */
#ifndef WEIR_METER_COLOURS_H
#define WEIR_METER_COLOURS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "meter/meters.h"
#include "meter/token_bucket.h"

/* Each worse than the one before. */
enum colour { COLOUR_GREEN, COLOUR_YELLOW, COLOUR_RED, COLOURS };

/* Returns the name in configurations, or NULL for an invalid colour. Any thread. */
static inline const char *colour_name(enum colour colour)
{
	static const char *const names[COLOURS] = {"green", "yellow", "red"};

	return colour < COLOURS ? names[colour] : NULL;
}

struct colour_profile {
	struct token_bucket_profile committed, second;
};

/*
 * Sets the second bucket of a profile whose committed one is set: with the rate and burst of
 * `params`, for srtcm without a rate. Returns like token_bucket_profile_init(). Control thread.
 */
static inline int colour_second_set(
	struct colour_profile *profile, const struct meter_params *params, uint64_t hz)
{
	struct token_bucket_params second = token_bucket_params(params);

	second.drain_bps = 0;
	if (params->kind == METER_SRTCM)
		second.rate_bps = 0;
	return token_bucket_profile_init(&profile->second, &second, hz);
}

/*
 * RFC 2697: the overflow of the committed bucket goes to the other one. The content of both, and
 * the earnings of any gap, are below 2^127 + 2^96.
 */
static inline void srtcm_refill(struct token_bucket *committed, struct token_bucket *second,
	const struct colour_profile *profile, uint64_t now)
{
	uint64_t elapsed = token_bucket_elapsed(committed, now);
	tokens_t full = (tokens_t)profile->committed.burst << TOKEN_FRACTION;
	tokens_t most = (tokens_t)profile->second.burst << TOKEN_FRACTION;
	tokens_t level = token_bucket_level(committed), spilt;

	if (elapsed == 0)
		return;
	level += (tokens_t)elapsed * (uint64_t)profile->committed.rate;
	spilt = level > full ? level - full : 0;
	token_bucket_set_level(committed, level - spilt);
	committed->last += elapsed;
	level = token_bucket_level(second) + spilt;
	token_bucket_set_level(second, level < most ? level : most);
}

static inline bool colour_fits(const struct token_bucket *bucket, uint32_t cost)
{
	return bucket->tokens >= (uint64_t)cost << TOKEN_BYTE;
}

/* RFC 2697 and RFC 4115, which differ in how the second bucket is filled. */
static inline enum colour colour_either(struct token_bucket *committed, struct token_bucket *second,
	uint32_t cost, enum colour incoming)
{
	if (incoming == COLOUR_GREEN && token_bucket_take(committed, cost))
		return COLOUR_GREEN;
	if (incoming != COLOUR_RED && token_bucket_take(second, cost))
		return COLOUR_YELLOW;
	return COLOUR_RED;
}

/* RFC 2698: checks the peak first; a green packet takes from both. */
static inline enum colour colour_both(struct token_bucket *committed, struct token_bucket *peak,
	uint32_t cost, enum colour incoming)
{
	if (incoming == COLOUR_RED || !colour_fits(peak, cost))
		return COLOUR_RED;
	(void)token_bucket_take(peak, cost);
	if (incoming == COLOUR_GREEN && token_bucket_take(committed, cost))
		return COLOUR_GREEN;
	return COLOUR_YELLOW;
}

/* Brings both buckets up to `now`. The state's one writer. */
static inline void colours_refill(enum meter_kind kind, struct token_bucket *committed,
	struct token_bucket *second, const struct colour_profile *profile, uint64_t now)
{
	if (kind == METER_SRTCM) {
		srtcm_refill(committed, second, profile, now);
		return;
	}
	token_bucket_refill(committed, &profile->committed, now);
	token_bucket_refill(second, &profile->second, now);
}

/*
 * Returns the colour of a packet of such a cost, received with colour `incoming` at `now`, by a
 * meter of METER_COLOURS; takes its tokens. A cost of 0 takes nothing. The state's one writer.
 */
static inline enum colour colour_packet(enum meter_kind kind, struct token_bucket *committed,
	struct token_bucket *second, const struct colour_profile *profile, uint64_t now,
	uint32_t cost, enum colour incoming)
{
	colours_refill(kind, committed, second, profile, now);
	if (kind == METER_TRTCM)
		return colour_both(committed, second, cost, incoming);
	return colour_either(committed, second, cost, incoming);
}

/* Both are full. */
static inline void colours_init(struct token_bucket *committed, struct token_bucket *second,
	const struct colour_profile *profile, uint64_t now)
{
	token_bucket_init(committed, &profile->committed, now);
	token_bucket_init(second, &profile->second, now);
}

/*
 * meter_change() of both: tokens earned or spilt before `now` count at the old rates. Tokens above
 * a smaller burst are lost, not spilt. The state's one writer.
 */
static inline void colours_change(enum meter_kind kind, struct token_bucket *committed,
	struct token_bucket *second, struct colour_profile *profile,
	const struct colour_profile *next, uint64_t now)
{
	colours_refill(kind, committed, second, profile, now);
	*profile = *next;
	token_bucket_refill(committed, &profile->committed, now); /* down to the burst */
	token_bucket_refill(second, &profile->second, now);
}

/* Functions of a row of meter/meters.h, for the committed bucket. */

static inline int colour_profile_set(
	struct colour_profile *profile, const struct meter_params *params, uint64_t hz)
{
	profile->second = (struct token_bucket_profile){0};
	return token_bucket_set(&profile->committed, params, hz);
}

static inline struct meter_limit colour_profile_limit(const struct colour_profile *profile)
{
	struct meter_limit limit = token_bucket_profile_limit(&profile->committed);

	limit.credit = hash64_step(
		hash64_step(HASH64_BASIS, (uint64_t)profile->second.rate), profile->second.burst);
	return limit;
}

static inline void committed_begin(struct token_bucket *committed,
	const struct colour_profile *profile, uint64_t now, uint64_t seed)
{
	token_bucket_begin(committed, &profile->committed, now, seed);
}

static inline bool committed_conforms(struct token_bucket *committed,
	const struct colour_profile *profile, uint64_t now, uint32_t cost)
{
	return token_bucket_conforms(committed, &profile->committed, now, cost);
}

static inline void committed_change(struct token_bucket *committed, struct colour_profile *profile,
	const struct colour_profile *next, uint64_t now)
{
	token_bucket_change(committed, &profile->committed, &next->committed, now);
	profile->second = next->second;
}

static_assert(sizeof(struct token_bucket) + sizeof(struct colour_profile) <= 64,
	"a bucket and both fill rates fit in a cache line");

#endif

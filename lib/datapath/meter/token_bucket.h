/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * An exact token bucket (r, b). Over any window of t it passes at most r·t + b bytes, and a
 * backlogged one passes no less than that minus one packet. A rate may be negative: others then
 * drain the bucket faster than the limit fills it (allocator gtb), and it loses tokens down to 0.
 *
 * Three structs: params (human units) → profile (precomputed) → state (one writer). A pure function
 * of them, the time and the packet's bytes; time is in ticks of any monotonic counter, which the
 * caller reads once a burst.
 *
 * The rate is counted in 2^-56 bytes a tick, and tokens in the same unit: 64 bits of 2^-24 bytes,
 * which are compared with packets, and a fraction of 32 bits below. So a refill is one 64×64→128
 * multiplication that loses nothing: no remainder to carry, no drift, and no overflow for any gap
 * between packets. The fraction is the upper half of a word, and time is shifted up by the other
 * half before it is multiplied. So the product is added to both words without a shift. Only the
 * rate itself is rounded, up, by less than one unit per tick. That is 1e-10 of 8 kbit/s at 5 GHz,
 * or one byte in five months. Rounded down, it would halve the rate of a sender exactly at a limit
 * with a burst of one packet. Its bucket would lack less than one unit at the instant of each
 * packet, and would be full before the next one. If packets or flows are counted, a limit can be a
 * few a day. Then a packet is 2^20 parts, which take the place of bytes here: one a day at 5 GHz is
 * right to 6e-9.
 *
 * The owner of a state can give it another profile, by token_bucket_change(): earlier earnings of
 * the bucket are credited at the old rate, exactly. If another thread changes the profile of a
 * state instead, the owner credits the time since the last look at the new rate.
 */
#ifndef WEIR_METER_TOKEN_BUCKET_H
#define WEIR_METER_TOKEN_BUCKET_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "meter/bucket_core.h"
#include "meter/meters.h"

struct token_bucket_params {
	uint64_t rate_bps;    /* bit/s */
	uint64_t burst_bytes; /* depth of the bucket */
	uint64_t drain_bps;   /* with rate 0: bit/s that others take away */
	/*
	 * For units that are counted one by one, and seldom. Bits of both rates that are below the
	 * point: they are of 2^-rate_below bit/s. And the parts of a unit, in which the bucket
	 * counts, as a power of two: its costs are multiples of that.
	 */
	uint8_t rate_below, unit_bits;
};

/* Returns the params of a meter that is a bucket. */
static inline struct token_bucket_params token_bucket_params(const struct meter_params *params)
{
	return (struct token_bucket_params){
		.rate_bps = params->rate_bps,
		.burst_bytes = params->burst,
		.drain_bps = params->drain_bps,
		.rate_below = params->rate_below,
		.unit_bits = params->unit_bits,
	};
}

/* At most: half a unit of it a tick is in no bucket. */
#define TOKEN_RATE_BELOW 120

struct token_bucket_profile {
	int64_t rate;   /* 2^-56 bytes a tick; negative: a drain */
	uint64_t burst; /* 2^-24 bytes */
};

struct token_bucket {
	uint64_t tokens; /* 2^-24 bytes */
	/*
	 * 2^-56 bytes in the upper half. The lower one is not the meter's: it gives its owner the
	 * room that alignment would waste.
	 */
	uint64_t fraction;
	uint64_t last; /* tick up to which tokens have been credited */
};

/*
 * Parts a tick of one of the rates of `params`, rounded up. Returns 0, or -ERANGE for 128 parts a
 * tick and more, or no ticks.
 */
static inline int token_rate(
	const struct token_bucket_params *params, uint64_t bps, uint64_t hz, int64_t *rate)
{
	int shift = TOKEN_SHIFT - 3 + params->unit_bits - params->rate_below; /* 2^3 bits a byte */
	tokens_t tokens = bps;

	if (hz == 0 || bps >> 60 || params->unit_bits > TOKEN_FRACTION ||
		params->rate_below > TOKEN_RATE_BELOW)
		return -ERANGE;
	if (shift > 0 && tokens >> (127 - shift))
		return -ERANGE;
	tokens = shift > 0 ? tokens << shift : (tokens + ((tokens_t)1 << -shift) - 1) >> -shift;
	tokens = (tokens + hz - 1) / hz;
	if (tokens >> 63)
		return -ERANGE;
	*rate = (int64_t)tokens;
	return 0;
}

/*
 * Sets the profile of a bucket on a counter of hz ticks a second. Returns 0, or -EINVAL for rate
 * and drain together. Returns -ERANGE for a rate or drain of 128 bytes (or parts) a tick and more,
 * a burst above TOKEN_BUCKET_MAX_BURST of them, or no ticks. Control thread.
 */
static inline int token_bucket_profile_init(
	struct token_bucket_profile *profile, const struct token_bucket_params *params, uint64_t hz)
{
	uint64_t bps = params->drain_bps ? params->drain_bps : params->rate_bps;
	int err;

	*profile = (struct token_bucket_profile){0};
	if (params->drain_bps && params->rate_bps)
		return -EINVAL;
	if (params->burst_bytes > TOKEN_BUCKET_MAX_BURST >> params->unit_bits)
		return -ERANGE;
	profile->burst = params->burst_bytes << params->unit_bits << TOKEN_BYTE;
	err = token_rate(params, bps, hz, &profile->rate);
	if (params->drain_bps)
		profile->rate = -profile->rate;
	return err;
}

/* Other threads can read the owner's bits at any time: the word is stored whole. */
static inline void token_bucket_store(struct token_bucket *bucket, uint64_t word)
{
	__atomic_store_n(&bucket->fraction, word, __ATOMIC_RELAXED);
}

/* Makes the bucket full; its owner's bits stay the same. */
static inline void token_bucket_init(
	struct token_bucket *bucket, const struct token_bucket_profile *profile, uint64_t now)
{
	bucket->tokens = profile->burst;
	token_bucket_store(bucket, (uint32_t)bucket->fraction);
	bucket->last = now;
}

/* Returns the owner's 32 bits, whose meaning is the owner's alone. Any thread. */
static inline uint32_t token_bucket_owner(const struct token_bucket *bucket)
{
	return (uint32_t)__atomic_load_n(&bucket->fraction, __ATOMIC_RELAXED);
}

static inline void token_bucket_set_owner(struct token_bucket *bucket, uint32_t owner)
{
	token_bucket_store(bucket, bucket->fraction >> TOKEN_OWNER << TOKEN_OWNER | owner);
}

/* Returns the content of the bucket, in 2^-56 bytes. */
static inline tokens_t token_bucket_level(const struct token_bucket *bucket)
{
	return (tokens_t)bucket->tokens << TOKEN_FRACTION | bucket->fraction >> TOKEN_OWNER;
}

static inline void token_bucket_set_level(struct token_bucket *bucket, tokens_t level)
{
	bucket->tokens = (uint64_t)(level >> TOKEN_FRACTION);
	token_bucket_store(
		bucket, (uint64_t)(uint32_t)level << TOKEN_OWNER | token_bucket_owner(bucket));
}

/* A clock that is further back than this, a second and more, has been set back. */
#define TOKEN_BACK (UINT64_C(1) << 32)

/*
 * Returns the ticks to credit. A clock that stands still or steps back (another core's, read
 * earlier) credits nothing until it has reached its previous time. A clock that has been set back
 * credits again from now on.
 */
static inline uint64_t token_bucket_elapsed(struct token_bucket *bucket, uint64_t now)
{
	uint64_t ahead = bucket->last - now;

	if ((int64_t)ahead <= 0)
		return now - bucket->last;
	if (ahead > TOKEN_BACK)
		bucket->last = now;
	return 0;
}

/*
 * Brings the bucket up to `now`, at a rate that is not negative, however long ago the last look
 * was. A burst that has become smaller takes the tokens above it even when no time has passed.
 */
static inline __attribute__((cold)) void token_bucket_refill_any(
	struct token_bucket *bucket, const struct token_bucket_profile *profile, uint64_t now)
{
	uint64_t elapsed = token_bucket_elapsed(bucket, now);
	tokens_t level = token_bucket_level(bucket) + (tokens_t)elapsed * (uint64_t)profile->rate;
	tokens_t burst = (tokens_t)profile->burst << TOKEN_FRACTION;

	token_bucket_set_level(bucket, level < burst ? level : burst);
	bucket->last += elapsed;
}

/*
 * Refills. One comparison finds a second or more since the last look, and a clock that steps back,
 * which are rare. Below that nothing overflows: less than 2^63 are earned, and no more were there.
 * A full bucket is unpredictable, so that is masks and no branches.
 */
static inline void token_bucket_refill(
	struct token_bucket *bucket, const struct token_bucket_profile *profile, uint64_t now)
{
	uint64_t elapsed = now - bucket->last, burst = profile->burst, tokens, fraction, below;
	tokens_t earned = (tokens_t)(elapsed << TOKEN_OWNER) * (uint64_t)profile->rate;

	if (__builtin_expect(elapsed >> (64 - TOKEN_OWNER) != 0, 0)) {
		token_bucket_refill_any(bucket, profile, now);
		return;
	}
	fraction = bucket->fraction + (uint64_t)earned;
	tokens = bucket->tokens + (uint64_t)(earned >> 64) + (fraction < (uint64_t)earned);
	below = -(uint64_t)(tokens < burst);
	bucket->tokens = burst + ((tokens - burst) & below);
	token_bucket_store(bucket, fraction & (below | UINT32_MAX));
	bucket->last = now;
}

/* Drains at a negative rate, down to no tokens and not below. */
static inline void token_bucket_drain(
	struct token_bucket *bucket, const struct token_bucket_profile *profile, uint64_t now)
{
	uint64_t elapsed = token_bucket_elapsed(bucket, now);
	tokens_t lost = (tokens_t)elapsed * (uint64_t)-profile->rate;
	tokens_t level = token_bucket_level(bucket);
	tokens_t burst = (tokens_t)profile->burst << TOKEN_FRACTION;

	level -= lost < level ? lost : level;
	level = level < burst ? level : burst;
	token_bucket_set_level(bucket, level);
	bucket->last += elapsed;
}

/* Advances at any rate. */
static inline void token_bucket_advance(
	struct token_bucket *bucket, const struct token_bucket_profile *profile, uint64_t now)
{
	if (__builtin_expect(profile->rate < 0, 0))
		token_bucket_drain(bucket, profile, now);
	else
		token_bucket_refill(bucket, profile, now);
}

/*
 * Makes `next` the bucket's profile from tick `now` on. Earlier earnings or losses are at the rate
 * of *profile, which is the bucket's own. A smaller burst takes the tokens above it at the next
 * look. The bucket's one writer.
 */
static inline void token_bucket_change(struct token_bucket *bucket,
	struct token_bucket_profile *profile, const struct token_bucket_profile *next, uint64_t now)
{
	token_bucket_advance(bucket, profile, now);
	*profile = *next;
}

/*
 * Takes the tokens of a packet of so many bytes if the bucket has them now, and returns 0;
 * otherwise returns all ones. A mask, not a branch: verdicts near the limit are a coin toss to the
 * predictor.
 */
static inline uint64_t token_bucket_over(struct token_bucket *bucket, uint32_t bytes)
{
	uint64_t cost = (uint64_t)bytes << TOKEN_BYTE, tokens = bucket->tokens;
	uint64_t over = -(uint64_t)(tokens < cost);

	bucket->tokens = tokens - cost + (cost & over);
	return over;
}

/* Charges a packet if it conforms. Returns true if so. */
static inline bool token_bucket_take(struct token_bucket *bucket, uint32_t bytes)
{
	return !token_bucket_over(bucket, bytes);
}

/*
 * Returns true if a packet of so many bytes conforms at `now`, and takes its tokens if so. The rate
 * is not negative. The bucket's one writer.
 */
static inline bool token_bucket_conforms(struct token_bucket *bucket,
	const struct token_bucket_profile *profile, uint64_t now, uint32_t bytes)
{
	token_bucket_refill(bucket, profile, now);
	return token_bucket_take(bucket, bytes);
}

/* Functions of a row of meter/meters.h. */

static inline int token_bucket_set(
	struct token_bucket_profile *profile, const struct meter_params *params, uint64_t hz)
{
	struct token_bucket_params bucket = token_bucket_params(params);

	return token_bucket_profile_init(profile, &bucket, hz);
}

static inline void token_bucket_begin(struct token_bucket *bucket,
	const struct token_bucket_profile *profile, uint64_t now, uint64_t seed)
{
	(void)seed;
	token_bucket_init(bucket, profile, now);
}

static inline struct meter_limit token_bucket_profile_limit(
	const struct token_bucket_profile *profile)
{
	return (struct meter_limit){(uint64_t)profile->rate, profile->burst, 0};
}

static_assert(sizeof(struct token_bucket) == 24, "with its profile and the counters: one line");
static_assert(sizeof(struct token_bucket_profile) == 16, "likewise");

#endif

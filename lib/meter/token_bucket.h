/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * An exact token bucket (r, b). Over any window of t it passes at most r·t + b bytes, and a
 * backlogged one passes no less than that minus one packet. A rate may be negative: others then
 * drain the bucket faster than the limit fills it (allocator gtb), and it loses tokens down to 0.
 *
 * Three structs: params (human units) → profile (precomputed, shared, read-only) → state (one
 * writer). A pure function of them, the time and the packet's bytes; time is in ticks of any
 * monotonic counter, which the caller reads once a burst.
 *
 * Tokens are counted in 2^-57 bytes in 128 bits, and the rate in the same unit per tick. So a
 * refill is one 64×64→128 multiplication that loses nothing: no remainder to carry, no drift, and
 * no overflow whatever the gap between packets. The only rounding is that of the rate itself, down,
 * by less than one unit per tick: 1e-10 of 8 kbit/s at 5 GHz, and less of anything faster.
 */
#ifndef WEIR_METER_TOKEN_BUCKET_H
#define WEIR_METER_TOKEN_BUCKET_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* Less than 64 bytes a tick, 400 Gbit/s at 0.8 GHz and faster, fit above it beside the sign. */
#define TOKEN_SHIFT 57

#define TOKEN_BUCKET_MAX_BURST (UINT64_C(1) << 40) /* bytes */

typedef unsigned __int128 tokens_t;

struct token_bucket_params {
	uint64_t rate_bps;    /* bit/s */
	uint64_t burst_bytes; /* depth of the bucket */
	uint64_t drain_bps;   /* with rate 0: bit/s that others take away */
};

struct token_bucket_profile {
	tokens_t burst;      /* tokens */
	int64_t rate;        /* tokens a tick; negative: a drain */
	int64_t rate_before; /* what a bucket earns until `since` */
	uint64_t since;      /* tick at which this profile replaced another */
};

struct token_bucket {
	tokens_t tokens;
	uint64_t last;  /* tick up to which tokens have been credited */
	uint32_t owner; /* not the meter's: room for its owner in what alignment would waste */
};

/* Tokens a tick, rounded down. Returns 0, or -ERANGE for 64 bytes a tick and more, or no ticks. */
static inline int token_rate(uint64_t bps, uint64_t hz, int64_t *rate)
{
	tokens_t tokens;

	if (hz == 0 || bps >> 60)
		return -ERANGE;
	tokens = ((tokens_t)bps << (TOKEN_SHIFT - 3)) / hz; /* 2^3 bits a byte */
	if (tokens >> 63)
		return -ERANGE;
	*rate = (int64_t)tokens;
	return 0;
}

/*
 * The profile of a bucket on a counter of hz ticks a second. Returns 0, -ERANGE for a rate or drain
 * of 64 bytes a tick and more, a burst above TOKEN_BUCKET_MAX_BURST, or no ticks, and -EINVAL for
 * rate and drain together. Control thread.
 */
static inline int token_bucket_profile_init(
	struct token_bucket_profile *profile, const struct token_bucket_params *params, uint64_t hz)
{
	uint64_t bps = params->drain_bps ? params->drain_bps : params->rate_bps;
	int err;

	*profile = (struct token_bucket_profile){
		.burst = (tokens_t)params->burst_bytes << TOKEN_SHIFT,
	};
	if (params->drain_bps && params->rate_bps)
		return -EINVAL;
	if (params->burst_bytes > TOKEN_BUCKET_MAX_BURST)
		return -ERANGE;
	err = token_rate(bps, hz, &profile->rate);
	if (params->drain_bps)
		profile->rate = -profile->rate;
	profile->rate_before = profile->rate;
	return err;
}

/*
 * Makes `profile` the successor of `old` from tick `now` on: what a bucket earned before is then
 * credited at the lower of the two rates, so that a quiet bucket gains nothing from a raise that
 * came later. Nor does it lose by a drain that came later: until `now` that counts as a rate of 0.
 * Control thread, before the profile is published.
 */
static inline void token_bucket_profile_succeed(
	struct token_bucket_profile *profile, const struct token_bucket_profile *old, uint64_t now)
{
	int64_t rate = profile->rate > 0 ? profile->rate : 0;

	profile->rate_before = old->rate < rate ? old->rate : rate;
	profile->since = now;
}

/* A bucket that starts full. */
static inline void token_bucket_init(
	struct token_bucket *bucket, const struct token_bucket_profile *profile, uint64_t now)
{
	bucket->tokens = profile->burst;
	bucket->last = now;
}

static inline void token_bucket_credit(
	struct token_bucket *bucket, int64_t rate, tokens_t burst, uint64_t until)
{
	int64_t elapsed = (int64_t)(until - bucket->last);
	tokens_t tokens, change;

	/*
	 * A clock that stands still or steps back (another core's, read earlier) credits nothing.
	 */
	if (elapsed <= 0)
		return;
	change = (tokens_t)((__int128)elapsed * rate);
	tokens = bucket->tokens + change;
	if (__builtin_expect(rate < 0 && -change > bucket->tokens, 0))
		tokens = 0;
	bucket->tokens = tokens < burst ? tokens : burst;
	bucket->last = until;
}

/* Brings the bucket up to `now`. */
static inline void token_bucket_refill(
	struct token_bucket *bucket, const struct token_bucket_profile *profile, uint64_t now)
{
	if (__builtin_expect((int64_t)(profile->since - bucket->last) > 0, 0)) {
		uint64_t until = (int64_t)(now - profile->since) > 0 ? profile->since : now;

		token_bucket_credit(bucket, profile->rate_before, profile->burst, until);
	}
	token_bucket_credit(bucket, profile->rate, profile->burst, now);
	/* A profile with a smaller burst takes what is above it even when no time has passed. */
	if (bucket->tokens > profile->burst)
		bucket->tokens = profile->burst;
}

/*
 * Whether a packet of so many bytes conforms; takes its tokens if so. The bucket's one writer.
 */
static inline bool token_bucket_conforms(struct token_bucket *bucket,
	const struct token_bucket_profile *profile, uint64_t now, uint32_t bytes)
{
	tokens_t cost = (tokens_t)bytes << TOKEN_SHIFT;
	bool conforms;

	token_bucket_refill(bucket, profile, now);
	conforms = bucket->tokens >= cost;
	/* A mask, not a branch: verdicts near the limit are a coin toss to the predictor. */
	bucket->tokens -= cost & -(tokens_t)conforms;
	return conforms;
}

static_assert(sizeof(struct token_bucket) == 32, "half a cache line of state");
static_assert(sizeof(struct token_bucket_profile) == 48, "leaves a quarter line for the policy's");

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * An exact token bucket (r, b). Over any window of t it passes at most r·t + b bytes, and a
 * backlogged one passes no less than that minus one packet.
 *
 * Three structs: params (human units) → profile (precomputed, shared, read-only) → state (one
 * writer). A pure function of them, the time and the packet's bytes; time is in ticks of any
 * monotonic counter, which the caller reads once a burst.
 *
 * Tokens are counted in 2^-58 bytes in 128 bits, and the rate in the same unit per tick. So a
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

#define TOKEN_SHIFT 58 /* 64 bytes a tick fit above it: 400 Gbit/s at 0.8 GHz and faster */

#define TOKEN_BUCKET_MAX_BURST (UINT64_C(1) << 40) /* bytes */

typedef unsigned __int128 tokens_t;

struct token_bucket_params {
	uint64_t rate_bps;    /* bit/s */
	uint64_t burst_bytes; /* depth of the bucket */
};

struct token_bucket_profile {
	tokens_t burst;       /* tokens */
	uint64_t rate;        /* tokens a tick */
	uint64_t rate_before; /* lower of this rate and the one that it replaced */
	uint64_t since;       /* tick at which this profile replaced another */
};

struct token_bucket {
	tokens_t tokens;
	uint64_t last;  /* tick up to which tokens have been credited */
	uint32_t owner; /* not the meter's: room for its owner in what alignment would waste */
};

/*
 * The profile of a bucket on a counter of hz ticks a second. Returns 0, or -ERANGE for a rate above
 * 64 bytes a tick, a burst above TOKEN_BUCKET_MAX_BURST, or no ticks. Control thread.
 */
static inline int token_bucket_profile_init(
	struct token_bucket_profile *profile, const struct token_bucket_params *params, uint64_t hz)
{
	tokens_t rate;

	if (hz == 0 || params->burst_bytes > TOKEN_BUCKET_MAX_BURST || params->rate_bps >> 60)
		return -ERANGE;
	rate = ((tokens_t)params->rate_bps << (TOKEN_SHIFT - 3)) / hz; /* 2^3 bits a byte */
	if (rate >> 64)
		return -ERANGE;
	*profile = (struct token_bucket_profile){
		.burst = (tokens_t)params->burst_bytes << TOKEN_SHIFT,
		.rate = (uint64_t)rate,
		.rate_before = (uint64_t)rate,
	};
	return 0;
}

/*
 * Makes `profile` the successor of `old` from tick `now` on: what a bucket earned before is then
 * credited at the lower of the two rates, so that a quiet bucket gains nothing from a raise that
 * came later. Control thread, before the profile is published.
 */
static inline void token_bucket_profile_succeed(
	struct token_bucket_profile *profile, const struct token_bucket_profile *old, uint64_t now)
{
	profile->rate_before = old->rate < profile->rate ? old->rate : profile->rate;
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
	struct token_bucket *bucket, uint64_t rate, tokens_t burst, uint64_t until)
{
	int64_t elapsed = (int64_t)(until - bucket->last);
	tokens_t tokens;

	/*
	 * A clock that stands still or steps back (another core's, read earlier) credits nothing.
	 */
	if (elapsed <= 0)
		return;
	tokens = bucket->tokens + (tokens_t)(uint64_t)elapsed * rate;
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

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The arithmetic of a bucket, without atomic operations: units of tokens, virtual time of the GCRA
 * (meter/gcra.h), and the parts that are taken from a shared bucket (meter/shared_bucket.h).
 * Workers and the program of the kernel (drivers/xdp) compile this file. Pure; any thread.
 */
#ifndef WEIR_METER_BUCKET_CORE_H
#define WEIR_METER_BUCKET_CORE_H

#include <stdint.h>

#include "base/expiry.h"
#include "base/hash.h"
#include "base/math.h"

/* The bits above it hold the sign and rates below 128 bytes a tick: 400 Gbit/s at 0.4 GHz. */
#define TOKEN_SHIFT 56

#define TOKEN_FRACTION 32 /* bits below the 2^-24 bytes of a token bucket's first word */
#define TOKEN_OWNER    32 /* bits below the fraction, of the same word */
#define TOKEN_BYTE     (TOKEN_SHIFT - TOKEN_FRACTION)

/* 2^63 of 2^-24 bytes: a full bucket and the cost of a packet stay below 2^64. */
#define TOKEN_BUCKET_MAX_BURST (UINT64_C(1) << 39) /* bytes */

typedef wide_t tokens_t; /* 2^-56 bytes */

#define GCRA_SHIFT 8 /* bits of a unit in virtual time; with TOKEN_BUCKET_MAX_BURST: 48 of 64 */

struct gcra_profile {
	tokens_t start;  /* virtual time at `since`, in tokens, modulo 2^128 */
	uint64_t since;  /* tick at which this profile replaced another */
	uint64_t rate;   /* tokens a tick */
	uint64_t burst;  /* virtual time */
	uint64_t second; /* virtual time granted in a second, at most GCRA_MAX_SECOND */
};

#define GCRA_MAX_SECOND (UINT64_C(1) << 62)

struct gcra {
	uint64_t allow_at; /* virtual time at which the bucket is empty: TAT less the tolerance */
};

INLINE_ON_BPF tokens_t gcra_granted(const struct gcra_profile *profile, uint64_t now)
{
	int64_t elapsed = (int64_t)(now - profile->since);

	/* A packet of before the change, seen with the new profile, is charged as of the change. */
	return profile->start + (elapsed > 0 ? wide_multiply((uint64_t)elapsed, profile->rate) : 0);
}

INLINE_ON_BPF uint64_t gcra_time(const struct gcra_profile *profile, uint64_t now)
{
	return (uint64_t)(gcra_granted(profile, now) >> (TOKEN_SHIFT - GCRA_SHIFT));
}

/*
 * A profile at one instant. It is computed once for a burst of packets, so that a packet costs
 * additions and no multiplication.
 */
struct gcra_now {
	uint64_t at;     /* virtual time */
	uint64_t burst;  /* virtual time */
	uint64_t second; /* virtual time */
};

/* Any thread. */
INLINE_ON_BPF struct gcra_now gcra_now(const struct gcra_profile *profile, uint64_t now)
{
	return (struct gcra_now){gcra_time(profile, now), profile->burst, profile->second};
}

/* The content of the bucket, at most the burst. It is negative while a clock is back. */
INLINE_ON_BPF int64_t gcra_tokens(const struct gcra *gcra, const struct gcra_now *now)
{
	uint64_t tokens = now->at - gcra->allow_at;

	/*
	 * Virtual time is before the state only if a clock steps back, for example one that another
	 * core read earlier. The state stays, so that nothing is granted twice. If the difference
	 * is more than a second, the clock is another one, or virtual time has wrapped: the bucket
	 * is full. One comparison finds both cases.
	 */
	return (int64_t)(tokens + now->second < now->burst + now->second ? tokens : now->burst);
}

/*
 * Units that all workers together may book ahead, at any rate: a packet of 64 kB for each of 16.
 * Virtual time up to twice as far ahead has not wrapped.
 */
#define SHARED_BUCKET_AHEAD (UINT64_C(1) << 20)

/* The fields of a GCRA's profile that do not follow from others, and the size of a take. */
struct shared_bucket_profile {
	uint64_t start_low, start_high; /* halves of `start` in struct gcra_profile */
	uint64_t since, rate, burst;    /* the burst is the depth of the shared bucket */
	uint32_t quantum; /* units of a take beyond the need, if the bucket has them */
	uint32_t least;   /* units; a random part of them must stay, or nothing is taken */
};

struct shared_bucket {
	struct gcra state; /* written by all workers, by compare-and-swap */
	/*
	 * Written by control alone, and read by workers, in atomic words: how often the profile has
	 * been written, and both places of it. An even count leads to the first.
	 */
	uint64_t written;
	struct shared_bucket_profile profiles[2];
} __attribute__((aligned(64)));

/*
 * A worker's instant may be 2^this ticks (minutes) behind another's. Clocks differ by less, but a
 * shaper takes tokens at the arrival of a packet, and may get no CPU for seconds after it.
 */
#define SHARED_BUCKET_SECOND 40

INLINE_ON_BPF struct gcra_profile shared_bucket_limit(const struct shared_bucket_profile *profile)
{
	uint64_t second = profile->rate >> (TOKEN_SHIFT - GCRA_SHIFT - SHARED_BUCKET_SECOND);
	uint64_t ahead = 2 * SHARED_BUCKET_AHEAD << GCRA_SHIFT;

	return (struct gcra_profile){
		.start = (tokens_t)profile->start_high << 64 | profile->start_low,
		.since = profile->since,
		.rate = profile->rate,
		.burst = profile->burst,
		.second = second > ahead ? second : ahead,
	};
}

/*
 * Returns an amount from 0 to `least` in virtual time, a hash of `now`: packets get different ones.
 */
INLINE_ON_BPF uint64_t shared_bucket_lot(const struct shared_bucket_profile *profile, uint64_t now)
{
	uint64_t lot = now * HASH_GOLDEN >> 48;

	return lot * ((uint64_t)profile->least << GCRA_SHIFT) >> 16;
}

/* The part of `tokens` to take for a need, in virtual time; 0 if there are too few. */
INLINE_ON_BPF uint64_t shared_bucket_part(
	const struct shared_bucket_profile *profile, uint64_t tokens, uint64_t need, uint64_t lot)
{
	uint64_t spare, quantum = (uint64_t)profile->quantum << GCRA_SHIFT;

	if (tokens < need + lot)
		return 0;
	spare = (tokens - need) & ~((UINT64_C(1) << GCRA_SHIFT) - 1);
	return need + (spare < quantum ? spare : quantum);
}

/* The rest of a burst after the end of a lease, in virtual time; at least `least` units. */
INLINE_ON_BPF uint64_t shared_bucket_left(uint64_t burst, uint8_t ending, uint64_t least)
{
	uint64_t left = expiry_left(burst, ending), floor = least << GCRA_SHIFT;

	floor = floor < burst ? floor : burst;
	return left > floor ? left : floor;
}

/*
 * The instant of a slower clock that shows tick `at` while others show `now`. Takes of the others
 * are ahead by the tokens that are granted between, which must not count as wrapped time.
 */
INLINE_ON_BPF struct gcra_now shared_bucket_slowed(
	const struct gcra_profile *limit, uint64_t at, uint64_t now)
{
	struct gcra_now instant = gcra_now(limit, at);
	tokens_t ahead = (int64_t)(now - at) > 0 ? wide_multiply(now - at, limit->rate) : 0;

	ahead = (ahead >> (TOKEN_SHIFT - GCRA_SHIFT)) + instant.second;
	instant.second = ahead < GCRA_MAX_SECOND ? (uint64_t)ahead : GCRA_MAX_SECOND;
	return instant;
}

#endif

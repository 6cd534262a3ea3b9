/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A token bucket in exact integers, updated only at arrivals. A level below 0 is a debt to waiting
 * packets, which leave when the level would be 0 again. It uses no inverse of a rate and rounds
 * nothing. Tests compare it with a queue that computes departures as fixed-point times.
 */
#ifndef WEIR_TEST_EXACT_BUCKET_H
#define WEIR_TEST_EXACT_BUCKET_H

#include "shape/shape.h"

typedef __int128 level_t; /* 2^-56 units */

/* Below this rate, in 2^-56 units a tick, a timed queue passes nothing: see shape/timed.c. */
#define EXACT_RATE_LEAST (INT64_C(1) << 26)

/* A bucket that takes more than this to fill never does; ticks. */
#define EXACT_DEPTH_MOST (UINT64_C(1) << 62)

struct exact_bucket {
	level_t level, burst;
	uint64_t rate;       /* 2^-56 units a tick */
	uint64_t at;         /* tick up to which tokens have been credited */
	uint64_t last;       /* tick at which the newest waiting packet leaves */
	uint64_t from, told; /* ticks: start of the limit, and its publication */
	level_t slack;       /* error of the tested queue's level by changes, plus or minus */
	bool closed;
};

/* The ticks at which a packet can be due. */
struct exact_due {
	uint64_t earliest, latest;
};

static inline bool tick_is_after(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) > 0;
}

static inline uint64_t tick_latest(uint64_t a, uint64_t b)
{
	return tick_is_after(a, b) ? a : b;
}

static inline void exact_set(
	struct exact_bucket *bucket, const struct token_bucket_profile *profile)
{
	level_t most;

	bucket->closed = profile->rate < EXACT_RATE_LEAST;
	bucket->rate = bucket->closed ? 1 : (uint64_t)profile->rate;
	bucket->burst = (level_t)profile->burst << TOKEN_FRACTION;
	most = (level_t)bucket->rate * (level_t)EXACT_DEPTH_MOST;
	if (!bucket->closed && bucket->burst > most)
		bucket->burst = most;
}

static inline void exact_init(
	struct exact_bucket *bucket, const struct token_bucket_profile *profile, uint64_t now)
{
	*bucket = (struct exact_bucket){
		.at = now, .last = now - (UINT64_C(1) << 62), .from = now, .told = now};
	exact_set(bucket, profile);
	bucket->level = bucket->closed ? 0 : bucket->burst;
}

/*
 * Adds tokens before a packet. A packet can cost more than the burst; then the bucket is as deep.
 */
static inline void exact_refill(struct exact_bucket *bucket, uint32_t cost, uint64_t at)
{
	level_t need = (level_t)cost << TOKEN_SHIFT, level;
	level_t burst = bucket->burst > need ? bucket->burst : need;

	if (!tick_is_after(at, bucket->at))
		return;
	if (bucket->closed) { /* keeps its tokens */
		bucket->at = at;
		return;
	}
	level = bucket->level + (level_t)(at - bucket->at) * (level_t)bucket->rate;
	bucket->level = level < burst ? level : burst;
	bucket->at = at;
}

/*
 * Returns the ticks in which `lack` tokens are earned, rounded up. Negative values are ticks ago.
 */
static inline int64_t exact_ticks(const struct exact_bucket *bucket, level_t lack)
{
	level_t rate = (level_t)bucket->rate, ticks = lack / rate + (lack > 0 && lack % rate);
	level_t most = (level_t)1 << 62; /* maximum of a bucket that is not closed */

	ticks = ticks > -most / 2 ? ticks : -most / 2;
	return (int64_t)(ticks < most ? ticks : most);
}

/*
 * Returns the ticks at which a packet of this arrival has its tokens. The tested queue rounds the
 * inverse of a rate, so it can be a tick late if tokens are complete exactly on a tick. "Exactly"
 * means to 2^-10 of a tick, or to 2^-60 of the time in which the bucket fills.
 */
static inline struct exact_due exact_due(
	const struct exact_bucket *bucket, uint32_t cost, uint64_t arrival)
{
	level_t lack, late = (level_t)(bucket->rate >> 10) + (bucket->burst >> 60);
	struct exact_bucket then = *bucket;

	exact_refill(&then, cost, arrival);
	lack = ((level_t)cost << TOKEN_SHIFT) - then.level;
	return (struct exact_due){
		.earliest = tick_latest(
			arrival, then.at + (uint64_t)exact_ticks(&then, lack - then.slack)),
		.latest = tick_latest(
			arrival, then.at + (uint64_t)exact_ticks(&then, lack + then.slack + late)),
	};
}

/* Takes the tokens of this packet. */
static inline void exact_take(struct exact_bucket *bucket, uint32_t cost, uint64_t arrival)
{
	exact_refill(bucket, cost, arrival);
	bucket->level -= (level_t)cost << TOKEN_SHIFT;
}

/*
 * Returns the start of another limit: when all waiting packets have left. The previous limit stays
 * in force as long as intended, but at most until the bucket is full, less this number of tokens.
 */
static inline uint64_t exact_begins(const struct exact_bucket *bucket, uint64_t now, level_t less)
{
	uint64_t after = bucket->from + (now - bucket->told), full;

	full = bucket->at + (uint64_t)exact_ticks(bucket, bucket->burst - bucket->level - less);
	if (!bucket->closed && tick_is_after(after, full))
		after = full;
	return tick_latest(tick_latest(now, bucket->last), after);
}

/* From now on packets wait at most `patience`, so the limit begins by then. */
static inline void exact_wait(struct exact_bucket *bucket, uint64_t now, uint64_t patience)
{
	if (!tick_is_after(bucket->from, now + patience))
		return;
	bucket->at -= bucket->from - (now + patience);
	bucket->from = now + patience;
}

/* `actual` is the tick at which the tested queue begins the limit. */
static inline void exact_change(struct exact_bucket *bucket,
	const struct token_bucket_profile *profile, uint64_t now, uint64_t actual)
{
	level_t slack = bucket->slack + (level_t)bucket->rate + (bucket->burst >> 58);
	uint64_t from = exact_begins(bucket, now, 0);

	if (!tick_is_after(exact_begins(bucket, now, slack), actual) &&
		!tick_is_after(actual, exact_begins(bucket, now, -slack)))
		from = actual;
	bucket->from = from;
	bucket->told = now;
	exact_refill(bucket, 0, from);
	bucket->at = from;
	/* 2^-32 ticks at the previous rate, and the inverse of a rate has 62 bits. */
	bucket->slack += (level_t)(bucket->rate >> 31) + (bucket->burst >> 58);
	exact_set(bucket, profile);
	bucket->level = bucket->level < bucket->burst ? bucket->level : bucket->burst;
}

#endif

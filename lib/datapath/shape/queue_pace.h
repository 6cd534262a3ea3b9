/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Computes the exact tick at which a bucket will have a packet's tokens, without a division. A
 * limit's rate is inverted once. The rounding error is less than three ticks; exact arithmetic in
 * tokens adds them.
 *
 * Private to this folder.
 */
#ifndef WEIR_SHAPE_QUEUE_PACE_H
#define WEIR_SHAPE_QUEUE_PACE_H

#include "shape/wheel.h"

/*
 * Rates outside these bits use a division. Below 2^33 tokens per tick, some 3 kbit/s, packets are
 * few. The upper bound is 2^61, some 600 Gbit/s.
 */
#define PACE_BITS      34
#define PACE_BITS_MOST 61
#define PACE_SLOW      UINT8_MAX

/*
 * Sets the inverse: 2^(62 + n) over a rate of n bits, rounded down, which is between 2^62 and 2^63.
 */
static inline void pace_invert(struct shape_queue *queue)
{
	int64_t rate = queue->limit.rate;
	unsigned bits = rate > 0 ? 64 - (unsigned)__builtin_clzll((uint64_t)rate) : 0;

	queue->shift = PACE_SLOW;
	queue->inverse = 0;
	if (bits < PACE_BITS || bits > PACE_BITS_MOST)
		return;
	queue->shift = (uint8_t)(bits - PACE_BITS);
	queue->inverse = (uint64_t)(((tokens_t)1 << (62 + bits)) / (uint64_t)rate);
}

static inline __attribute__((cold)) uint64_t pace_ticks_slow(int64_t rate, tokens_t lack)
{
	tokens_t ticks;

	if (rate <= 0)
		return TICK_FAR;
	ticks = (lack + (uint64_t)rate - 1) / (uint64_t)rate;
	return ticks < TICK_FAR ? (uint64_t)ticks : TICK_FAR;
}

/*
 * Returns the ticks until `lack` tokens, at least one, have come. The product is (lack / 2^32) *
 * 2^(62 + n) / rate / 2^64 / 2^(n - 34), rounded down on the way. The remainder is less than three
 * ticks, each worth less than 2^62 tokens, so it can be computed modulo 2^64.
 */
static inline uint64_t pace_ticks(const struct shape_queue *queue, tokens_t lack)
{
	uint64_t rate = (uint64_t)queue->limit.rate, ticks, rest;

	if (__builtin_expect(queue->shift == PACE_SLOW, 0))
		return pace_ticks_slow(queue->limit.rate, lack);
	ticks = (uint64_t)((tokens_t)(uint64_t)(lack >> 32) * queue->inverse >> 64);
	ticks >>= queue->shift;
	rest = (uint64_t)lack - ticks * rate;
	return ticks + (rest > 0) + (rest > rate) + (rest > 2 * rate);
}

/* Refills the bucket up to tick `at`. It is at least as deep as `cost`. */
static inline void pace_refill(struct shape_queue *queue, uint32_t cost, uint64_t at)
{
	uint64_t need = (uint64_t)cost << TOKEN_BYTE;
	struct token_bucket_profile limit = queue->limit;

	limit.burst = limit.burst > need ? limit.burst : need;
	token_bucket_advance(&queue->bucket, &limit, at);
}

/* pace_refill() for a rate that is not negative. */
static inline void pace_refill_up(struct shape_queue *queue, uint32_t cost, uint64_t at)
{
	uint64_t need = (uint64_t)cost << TOKEN_BYTE;
	struct token_bucket_profile limit = queue->limit;

	limit.burst = limit.burst > need ? limit.burst : need;
	token_bucket_refill(&queue->bucket, &limit, at);
}

/* Refills the bucket up to `at`. Returns the ticks from then until it has a packet's tokens. */
static inline uint64_t pace_wait(struct shape_queue *queue, uint32_t cost, uint64_t at)
{
	tokens_t need = (tokens_t)cost << TOKEN_SHIFT, level;

	if (at != queue->bucket.last)
		pace_refill(queue, cost, at);
	level = token_bucket_level(&queue->bucket);
	return level < need ? pace_ticks(queue, need - level) : 0;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "penalty_queue.h"

int penalty_queue_init(struct penalty_queue *queue, uint64_t rate_bps, uint64_t burst_bytes)
{
	struct token_bucket_params params = {.rate_bps = rate_bps, .burst_bytes = burst_bytes};
	int err = token_bucket_profile_init(&queue->profile, &params, PENALTY_HZ);

	if (err)
		return err;
	/* Rounded down, so that the rates of parts together do not exceed that of the whole. */
	queue->profile.rate = (int64_t)(((tokens_t)rate_bps << (TOKEN_SHIFT - 3)) / PENALTY_HZ);
	queue->bucket = (struct token_bucket){0};
	token_bucket_init(&queue->bucket, &queue->profile, 0);
	queue->left = 0;
	return 0;
}

/* Returns the ticks until the bucket has a packet's tokens. */
static uint64_t ticks_until(const struct penalty_queue *queue, uint32_t bytes)
{
	tokens_t cost = (tokens_t)bytes << TOKEN_SHIFT, level = token_bucket_level(&queue->bucket);
	uint64_t rate = (uint64_t)queue->profile.rate;

	return level < cost ? (uint64_t)((cost - level + rate - 1) / rate) : 0;
}

uint64_t penalty_queue_leave(struct penalty_queue *queue, uint64_t now, uint32_t bytes)
{
	uint64_t at = now > queue->left ? now : queue->left; /* first come, first served */

	token_bucket_refill(&queue->bucket, &queue->profile, at);
	at += ticks_until(queue, bytes);
	token_bucket_conforms(&queue->bucket, &queue->profile, at, bytes);
	queue->left = at;
	return at;
}

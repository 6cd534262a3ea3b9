/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A queue of packets that wait for the tokens of a bucket of lib/datapath/meter. Each leaves at the
 * first tick at which the bucket has its tokens. One event a packet; only the departure is rounded
 * up, to its tick. The bucket keeps the tokens earned until then, if its depth is at least a
 * packet's tokens plus one tick's. Pure.
 */
#ifndef WEIR_SIM_PENALTY_QUEUE_H
#define WEIR_SIM_PENALTY_QUEUE_H

#include "meter/token_bucket.h"

#define PENALTY_HZ UINT64_C(1000000000) /* ticks a second */

struct penalty_queue {
	struct token_bucket_profile profile;
	struct token_bucket bucket;
	uint64_t left; /* tick at which the last packet leaves */
};

/*
 * Creates a queue with a full bucket, at tick 0. Returns 0, or -ERANGE like
 * token_bucket_profile_init().
 */
int penalty_queue_init(struct penalty_queue *queue, uint64_t rate_bps, uint64_t burst_bytes);

/*
 * Returns the tick at which a packet leaves that arrives at tick `now`, which never decreases. The
 * rate is not 0, and the burst not less than the packet.
 */
uint64_t penalty_queue_leave(struct penalty_queue *queue, uint64_t now, uint32_t bytes);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets that wait in line for the tokens of a bucket of lib/datapath/meter, and leave at the
 * first tick at which it has theirs. An event each, and no rounding but that of a departure, up to
 * its tick: what the bucket earns until then stays in it, if it has room for what it earns in a
 * tick above a packet's tokens. Pure.
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

/* Full, at tick 0. Returns 0, or -ERANGE as token_bucket_profile_init(). */
int penalty_queue_init(struct penalty_queue *queue, uint64_t rate_bps, uint64_t burst_bytes);

/*
 * The tick at which a packet leaves that arrives at tick `now`, not before any other. The rate is
 * not 0, and the burst not less than the packet.
 */
uint64_t penalty_queue_leave(struct penalty_queue *queue, uint64_t now, uint32_t bytes);

#endif

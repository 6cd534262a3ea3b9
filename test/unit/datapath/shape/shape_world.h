/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A shaper on a clock that the test sets. A tick is a nanosecond.
 */
#ifndef WEIR_TEST_SHAPE_WORLD_H
#define WEIR_TEST_SHAPE_WORLD_H

#include "check.h"

#include "base/prng.h"
#include "shape/shape.h"

#define SLOT_MAX 4096 /* longest slot, in ticks */
#define FOR_EVER (UINT64_C(1) << 44)
#define OUT      64

static inline struct token_bucket_profile profile_of(uint64_t bps, uint64_t burst)
{
	struct token_bucket_params params = {.rate_bps = bps, .burst_bytes = burst};
	struct token_bucket_profile profile;

	assert_int_equal(token_bucket_profile_init(&profile, &params, GHZ), 0);
	return profile;
}

static inline struct shaper *shaper_make(uint32_t most, uint64_t now)
{
	size_t bytes = shaper_bytes(most);
	struct shaper *shaper = aligned_alloc(64, bytes);

	assert_non_null(shaper);
	memset(shaper, 0, bytes);
	shaper_init(shaper, GHZ, most, now);
	return shaper;
}

/* Makes a queue with tail drop only. */
static inline void queue_make(
	struct shape_queue *queue, uint64_t bps, uint64_t burst, uint64_t delay, uint64_t now)
{
	struct shape_params params = {.delay = delay};
	struct token_bucket_profile profile = profile_of(bps, burst);

	shape_queue_init(queue, &params, &profile, NULL, now);
}

static inline enum shape_verdict shape_world_arrive(struct shaper *shaper,
	struct shape_queue *queue, struct shape_packet *packet, uint32_t cost, uint64_t now)
{
	*packet = (struct shape_packet){.cost = cost};
	return shape_arrive(shaper, queue, packet, cost, now, now);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One policy on one worker, with its state, and packets charged to it.
 */
#ifndef WEIR_TEST_LANE_H
#define WEIR_TEST_LANE_H

#include "check.h"

#include "allocate/allocate.h"
#include "engine/profile.h"
#include "police/charge.h"
#include "police/extended.h"

struct lane {
	struct policy policy;
	struct limit_profile profile;
	struct policy_state state;
	void *memory;
};

/* Sets the limit of this view of the policy. Every packet is a sample. */
static inline void lane_profile(struct lane *lane, const struct limiter_view *view, uint64_t hz,
	struct limit_profile *profile)
{
	static const struct sampling every = {0};

	assert_int_equal(limit_profile_init(profile, &lane->policy, 0, view, &every, 1, hz), 0);
}

/* Publishes the limit of this view to the worker. */
static inline void lane_limit(struct lane *lane, const struct limiter_view *view, uint64_t now)
{
	lane_profile(lane, view, GHZ, &lane->profile);
	police_limit(&lane->state, &lane->profile, now);
}

/* Starts the policy, by default with the allocator `central`. */
static inline void lane_make(struct lane *lane, const struct policy *policy,
	const struct limiter_view *view, const struct policy_start *start)
{
	size_t bytes;

	*lane = (struct lane){.policy = *policy};
	if (!lane->policy.allocator)
		lane->policy.allocator = allocator_find("central");
	bytes = policy_extended_bytes(&lane->policy);
	assert_int_equal(bytes % CACHE_LINE, 0);
	if (bytes) {
		lane->memory = aligned_alloc(CACHE_LINE, bytes);
		assert_non_null(lane->memory);
		memset(lane->memory, 0, bytes);
	}
	lane_profile(lane, view, start->hz, &lane->profile);
	policy_state_init(&lane->state, lane->memory, &lane->policy, &lane->profile, start);
}

/* Starts a policy on this clock at tick 1. `rate` is in units a second. */
static inline void lane_begin(
	struct lane *lane, const struct policy *policy, double rate, uint64_t hz)
{
	const struct limiter_view view = {.local_limit = rate, .local_burst = policy->burst_bytes};

	lane_make(lane, policy, &view, &(struct policy_start){.hz = hz, .now = 1});
}

static inline void lane_stop(struct lane *lane)
{
	free(lane->memory);
}

/* Returns true if a frame of this length passes. The policy must charge `cost` for it. */
static inline bool lane_passes(struct lane *lane, uint32_t length, uint32_t cost, uint64_t now)
{
	static const uint8_t data[64];
	const struct packet packet = {.family = PACKET_IPV4, .src_off = 26};

	assert_int_equal(police_cost(&lane->state, &packet, data, length, now), cost);
	return police_charge(&lane->state, &packet, data, cost, now) == VERDICT_PASS;
}

#endif

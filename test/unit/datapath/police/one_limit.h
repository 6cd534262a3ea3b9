/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limiter's share of a policy on one worker, and packets charged to it.
 */
#ifndef WEIR_TEST_ONE_LIMIT_H
#define WEIR_TEST_ONE_LIMIT_H

#include "check.h"

#include "engine/profile.h"
#include "police/charge.h"
#include "police/extended.h"

struct one_limit {
	struct policy_state state;
	struct limit_profile profile;
	void *memory;
};

/* `rate` is in units a second. */
static inline void one_limit_begin(
	struct one_limit *limit, const struct policy *policy, double rate, uint64_t hz)
{
	const struct limiter_view view = {.local_limit = rate, .local_burst = policy->burst_bytes};
	const struct sampling every = {0};
	const struct policy_start start = {.hz = hz, .now = 1};

	*limit = (struct one_limit){
		.memory = aligned_alloc(CACHE_LINE, policy_extended_bytes(policy)),
	};
	assert_non_null(limit->memory);
	assert_int_equal(limit_profile_init(&limit->profile, policy, 0, &view, &every, 1, hz), 0);
	policy_state_init(&limit->state, limit->memory, policy, &limit->profile, &start);
}

static inline void one_limit_end(struct one_limit *limit)
{
	free(limit->memory);
}

/* Returns true if a frame of this length passes. The policy must charge `cost` for it. */
static inline bool one_limit_passes(
	struct one_limit *limit, uint32_t length, uint32_t cost, uint64_t now)
{
	static const uint8_t data[64];
	const struct packet packet = {.family = PACKET_IPV4, .src_off = 26};

	assert_int_equal(police_cost(&limit->state, &packet, data, length, now), cost);
	return police_charge(&limit->state, &packet, data, cost, now) == VERDICT_PASS;
}

#endif

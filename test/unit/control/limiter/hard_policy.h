/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies with a hard limit, of the tests of groups of limiters.
 */
#ifndef WEIR_TEST_HARD_POLICY_H
#define WEIR_TEST_HARD_POLICY_H

#include "check.h"

#include "limiter/limiter.h"

static inline struct limiter_policy hard_policy(
	uint64_t id, const char *allocator, uint64_t limit_bps, uint64_t burst, uint64_t tick_ns)
{
	return (struct limiter_policy){
		.id = id,
		.allocator = allocator_find(allocator),
		.limit_bps = limit_bps,
		.burst_bytes = burst,
		.interval_ns = tick_ns,
		.keep_per_second = 0.1,
		.history_ns = 2000 * MS,
		.step_ns = 200 * MS,
		.guarantee = LIMITER_HARD,
	};
}

#endif

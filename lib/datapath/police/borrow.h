/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Plain policies of several workers. A worker's bucket earns nothing by itself. It borrows the need
 * of its packets from the shared bucket of all workers (meter/shared_bucket.h). So the line of a
 * policy stays the worker's own, and the packet's way through it the same. All policies with one
 * bucket (policy_is_one_bucket()) borrow if CPUs of the kernel are workers, too.
 */
#ifndef WEIR_POLICE_BORROW_H
#define WEIR_POLICE_BORROW_H

#include <stdbool.h>
#include <stdint.h>

#include "police/policy_state.h"
#include "meter/shared_bucket.h"

/* Returns the profile of a bucket that only holds borrowed tokens. Any thread. */
static inline struct token_bucket_profile police_borrow_profile(void)
{
	return (struct token_bucket_profile){.burst = TOKEN_BUCKET_MAX_BURST << TOKEN_BYTE};
}

/*
 * Begins with a quantum, under police_borrow_profile(): the quanta of all workers and a full shared
 * bucket are the whole burst. Control thread, before the worker sees it.
 */
static inline void police_borrow_init(
	struct policy_state *state, const struct shared_bucket_profile *profile)
{
	uint64_t tokens = (uint64_t)profile->quantum << TOKEN_BYTE;

	if (!police_is_extended(state)) {
		state->bucket.tokens = tokens;
		return;
	}
	state->other->borrows = true;
	state->other->meter.bucket.tokens = tokens;
}

/*
 * Borrows for a bucket the tokens that it lacks to `cost` bytes or parts, and a quantum more, if
 * the shared bucket has them. Returns true if the bucket then holds as much. The bucket's one
 * writer.
 */
static inline bool police_borrow_into(
	struct token_bucket *bucket, struct shared_bucket *shared, uint64_t cost, uint64_t now)
{
	uint64_t held = bucket->tokens >> TOKEN_BYTE, borrowed;

	if (__builtin_expect(held >= cost, 1))
		return true;
	borrowed = shared_bucket_take(shared, now, cost - held);
	bucket->tokens += borrowed << TOKEN_BYTE;
	return borrowed > 0;
}

/* police_borrow_into() of a plain policy: police_charge_simple() finds the same. */
static inline bool police_borrow(
	struct policy_state *state, struct shared_bucket *shared, uint64_t cost, uint64_t now)
{
	return police_borrow_into(&state->bucket, shared, cost, now);
}

/* police_borrow_into() of one that police_borrows(), for police_charge_other(). */
static inline bool police_borrow_other(
	struct policy_state *state, struct shared_bucket *shared, uint64_t cost, uint64_t now)
{
	struct policy_extended *other = state->other;

	return police_borrow_into(&other->meter.bucket, shared, cost << other->unit_bits, now);
}

#endif

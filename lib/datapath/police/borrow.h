/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Plain policies where there are several workers: a worker's bucket earns nothing by itself, and is
 * borrowed what its packets need from the shared bucket that all share (meter/shared_bucket.h). So
 * the line of a policy stays the worker's own, and the packet's way through it the same.
 */
#ifndef WEIR_POLICE_BORROW_H
#define WEIR_POLICE_BORROW_H

#include <stdbool.h>
#include <stdint.h>

#include "police/policy_state.h"
#include "meter/shared_bucket.h"

/* A bucket that only holds what it is borrowed. Any thread. */
static inline struct token_bucket_profile police_borrow_profile(void)
{
	return (struct token_bucket_profile){.burst = TOKEN_BUCKET_MAX_BURST << TOKEN_BYTE};
}

/*
 * Begins with a quantum, under police_borrow_profile(): with those of all workers a full shared
 * bucket is the whole burst. Control thread, before the worker sees it.
 */
static inline void police_borrow_init(
	struct policy_state *state, const struct shared_bucket_profile *profile)
{
	state->bucket.tokens = (uint64_t)profile->quantum << TOKEN_BYTE;
}

/*
 * Borrows a bucket what it lacks to `cost` bytes, and a quantum more, if the shared bucket has
 * that. Returns whether the bucket then holds as much: police_charge_simple() finds the same. The
 * state's one writer.
 */
static inline bool police_borrow(
	struct policy_state *state, struct shared_bucket *shared, uint64_t cost, uint64_t now)
{
	uint64_t held = state->bucket.tokens >> TOKEN_BYTE, borrowed;

	if (__builtin_expect(held >= cost, 1))
		return true;
	borrowed = shared_bucket_take(shared, now, cost - held);
	state->bucket.tokens += borrowed << TOKEN_BYTE;
	return borrowed > 0;
}

#endif

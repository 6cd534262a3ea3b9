/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Plain policies where there are several workers: a worker's bucket earns nothing by itself, and is
 * lent what its packets need from the reserve that all share (lib/datapath/meter/reserve.h). So the
 * line of a policy stays the worker's own, and the packet's way through it the same.
 */
#ifndef WEIR_POLICE_LEND_H
#define WEIR_POLICE_LEND_H

#include <stdbool.h>
#include <stdint.h>

#include "police/policy_state.h"
#include "meter/reserve.h"

/* A bucket that only holds what it is lent. Any thread. */
static inline struct token_bucket_profile police_lent_profile(void)
{
	return (struct token_bucket_profile){.burst = TOKEN_BUCKET_MAX_BURST << TOKEN_BYTE};
}

/*
 * Begins with a quantum, under police_lent_profile(): with those of all workers a full reserve is
 * the whole burst. Control thread, before the worker sees it.
 */
static inline void police_lend_init(
	struct policy_state *state, const struct reserve_profile *profile)
{
	state->bucket.tokens = (uint64_t)profile->quantum << TOKEN_BYTE;
}

/*
 * Lends a bucket what it lacks to `cost` bytes, and a quantum more, if the reserve has that.
 * Returns whether the bucket then holds as much: police_charge_plain() finds the same. The state's
 * one writer.
 */
static inline bool police_lend(
	struct policy_state *state, struct reserve *reserve, uint64_t cost, uint64_t now)
{
	uint64_t held = state->bucket.tokens >> TOKEN_BYTE, lent;

	if (__builtin_expect(held >= cost, 1))
		return true;
	lent = reserve_take(reserve, now, cost - held);
	state->bucket.tokens += lent << TOKEN_BYTE;
	return lent > 0;
}

#endif

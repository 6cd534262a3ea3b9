/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the brain has decided, as the packet path reads it: from a limiter's view of a policy to the
 * profile of each worker. Pure; control thread.
 */
#ifndef WEIR_POLICE_PROFILE_H
#define WEIR_POLICE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "limiter/limiter.h"
#include "police/police.h"

/* How often a policy is sampled. */
struct sampling {
	uint64_t packets; /* that have arrived by the end of the last interval */
	uint16_t period;  /* one packet in so many */
};

/*
 * The meter that a policy runs: as configured, but a token bucket for each source is kept as a
 * GCRA, which decides the same in a quarter of the memory.
 */
enum meter_kind limit_profile_kind(const struct policy *policy);

/* A policy as the brain sees it. */
struct limiter_policy limit_profile_policy(const struct policy *policy);

/*
 * The profile of a policy on a worker that gets `share` (0 to 1] of the local limit, on a counter
 * of hz ticks a second. Two things are not divided: a policy for each source gives every source the
 * whole local limit wherever it shows up, and random drop (view->drop) has the same odds
 * everywhere. If the policy's allocator wants samples, each packet is sampled; see
 * limit_profile_sample().
 *
 * Returns 0, or what meter_profile_init() says of a limit that is out of range (-ERANGE, -EINVAL),
 * with *profile of no use.
 */
int limit_profile_init(struct limit_profile *profile, const struct policy *policy,
	const struct limiter_view *view, double share, uint64_t hz);

/* Samples as often as `sampling` says, if at all. */
void limit_profile_sample(struct limit_profile *profile, const struct sampling *sampling);

/*
 * Makes `profile` the successor of `old`, of the same policy and worker, from tick `now` on. One
 * that says the same becomes a copy of it, so that a meter sees no change. Returns whether anything
 * differs. Before the profile is published.
 */
bool limit_profile_succeed(
	struct limit_profile *profile, const struct limit_profile *old, uint64_t now);

/* A policy on a worker before its first packet. The seed is for meters that draw lots. */
void policy_state_init(struct policy_state *state, const struct limit_profile *profile,
	uint64_t now, uint64_t seed);

void sampling_init(struct sampling *sampling);

/*
 * After each estimate interval, of so many seconds: chooses how often to sample in the next one,
 * from all the packets that have arrived so far.
 */
void sampling_adapt(struct sampling *sampling, uint64_t packets, double interval_s);

#endif

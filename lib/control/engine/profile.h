/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Converts a limiter's view of a policy into the profile of each worker for the packet path, and
 * adapts the sampling rate. Pure; control thread.
 */
#ifndef WEIR_ENGINE_PROFILE_H
#define WEIR_ENGINE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/sample_bound.h"
#include "limiter/limiter.h"
#include "police/policy_state.h"

/* Sampling of a policy: one packet in 2^shift. Zeroed before use. */
struct sampling {
	float rate; /* packets per second, smoothed */
	uint8_t shift;
};

/*
 * Limit on the cost of samples over all policies, so many per second and worker. While few policies
 * are busy, each has SAMPLES_PER_S. Otherwise they share, so that ten thousand busy policies do not
 * each sample all their packets. If control is late, workers enforce the bound themselves
 * (flow/sample_bound.h).
 */
struct sampling_budget {
	double most;      /* samples per second, over all policies and workers */
	double allowance; /* samples per second of one policy */
	double wanted;    /* samples since the last round that all would take at that rate */
};

/* Samples of a policy per second: enough for flow rates, and bounded at any load. */
#define SAMPLES_PER_S 2000

/*
 * Returns a policy for the limiter, with a quota's period at that Unix time.
 * engine_limiter_policies() adds its relations to other policies.
 */
struct limiter_policy limit_profile_policy(const struct policy *policy, int64_t unix_s);

/*
 * Builds the profile of a policy (by index) on a worker that gets `share` (0 to 1] of the local
 * limit, for a counter of hz ticks a second. Two things are not divided. A policy per source gives
 * every source the whole local limit on each worker. Random drop (view->drop) has the same
 * probability everywhere. If the policy's allocator uses samples, `sampling` sets their rate. The
 * caller adds a credit with credit_profile_join().
 *
 * Returns 0, or the error of meter_profile_init() for a limit out of range (-ERANGE, -EINVAL). Then
 * *profile is unusable.
 */
int limit_profile_init(struct limit_profile *profile, const struct policy *policy, unsigned index,
	const struct limiter_view *view, const struct sampling *sampling, double share,
	uint64_t hz);

/*
 * Builds the profile of a policy whose workers draw from a shared bucket (police/borrow.h). The
 * rest is as in limit_profile_init().
 */
void limit_profile_borrowed(struct limit_profile *profile, const struct policy *policy,
	unsigned index, const struct limiter_view *view, const struct sampling *sampling);

/*
 * Sets the rate of a policy's bucket, in units per second, as limit_profile_init() does. For bytes
 * it is in whole bit/s, otherwise as exact as a double.
 */
void limit_rate_params(
	struct token_bucket_params *params, const struct policy *policy, double rate);

/* Return the limiter's current part of a policy's limit, and of its burst. */
double limit_part(const struct policy *policy, const struct limiter_view *view);
double limit_burst_part(const struct policy *policy, const struct limiter_view *view);

/*
 * The limiter's part of the second bucket of a policy that policy_is_coloured(). It equals the part
 * of the limit, so that the sum over limiters is at most the whole.
 */
struct limit_second {
	double rate;    /* units per second */
	uint64_t burst; /* units */
};

struct limit_second limit_second_of(const struct policy *policy, const struct limiter_view *view);

/* Returns the smallest burst of a limiter, except for hard limits, whose parts must add up. */
uint64_t limit_burst_least(const struct policy *policy);

/* Starts the budget for a number of sampled policies, as if all were busy. */
void sampling_budget_init(struct sampling_budget *budget, unsigned workers, unsigned policies);

/*
 * Chooses the sampling rate after an interval of a sampled policy, given its packets and length.
 * The packet rate is smoothed: with very many policies, each has few packets in 50 ms, and each
 * change must be sent to workers. An increase that cannot be chance applies immediately.
 */
void sampling_adapt(struct sampling *sampling, struct sampling_budget *budget, uint64_t packets,
	double interval_s);

/*
 * Ends a round of `round_s` seconds, which lasts about one second or until the budget is spent.
 * Sets the allowance of each policy for the next round.
 */
void sampling_budget_adapt(struct sampling_budget *budget, double round_s);

/* Returns true if this round already needs all samples that the budget has for a second. */
bool sampling_budget_spent(const struct sampling_budget *budget);

#endif

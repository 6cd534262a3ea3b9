/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the brain has decided, as the packet path reads it: from a limiter's view of a policy to the
 * profile of each worker, and how often to sample. Pure; control thread.
 */
#ifndef WEIR_ENGINE_PROFILE_H
#define WEIR_ENGINE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/sample_bound.h"
#include "limiter/limiter.h"
#include "police/policy_state.h"

/* How often a policy is sampled: one packet in 2^shift. Zeroed before use. */
struct sampling {
	float rate; /* packets a second, smoothed */
	uint8_t shift;
};

/*
 * What samples may cost, over all policies: so many a second on a worker. While few policies are
 * busy each has SAMPLES_PER_S of them; then they share, so that ten thousand busy ones do not each
 * sample all that they see. Where control is late a worker keeps to it by itself
 * (flow/sample_bound.h).
 */
struct sampling_budget {
	double most;      /* samples a second, over all policies and workers */
	double allowance; /* samples a second of a policy */
	double wanted;    /* samples that all would have taken at that, since the last round */
};

/* Samples of a policy a second: enough for flow rates, and bounded whatever the load. */
#define SAMPLES_PER_S 2000

/*
 * A policy as the brain sees it, in the period of a quota that it is at that Unix time; but for
 * what others are beside it, which engine_limiter_policies() says.
 */
struct limiter_policy limit_profile_policy(const struct policy *policy, int64_t unix_s);

/*
 * The profile of a policy, whose index it is, on a worker that gets `share` (0 to 1] of the local
 * limit, on a counter of hz ticks a second. Two things are not divided: a policy for each source
 * gives every source the whole local limit wherever it shows up, and random drop (view->drop) has
 * the same odds everywhere. If the policy's allocator wants samples, they are as often as
 * `sampling` says. A credit is the caller's to join, by credit_profile_join().
 *
 * Returns 0, or what meter_profile_init() says of a limit that is out of range (-ERANGE, -EINVAL),
 * with *profile of no use.
 */
int limit_profile_init(struct limit_profile *profile, const struct policy *policy, unsigned index,
	const struct limiter_view *view, const struct sampling *sampling, double share,
	uint64_t hz);

/*
 * For a policy whose workers borrow what they may from a shared bucket (police/borrow.h): all but
 * that is as limit_profile_init() has it.
 */
void limit_profile_borrowed(struct limit_profile *profile, const struct policy *policy,
	unsigned index, const struct limiter_view *view, const struct sampling *sampling);

/*
 * The rate of a bucket of a policy, in units a second: as limit_profile_init() has it, in whole
 * bit/s where bytes are counted, and else as exact as a double.
 */
void limit_rate_params(
	struct token_bucket_params *params, const struct policy *policy, double rate);

/* The part that a limiter has of a policy's limit, as that is now; and of its burst. */
double limit_part(const struct policy *policy, const struct limiter_view *view);
double limit_burst_part(const struct policy *policy, const struct limiter_view *view);

/*
 * What a limiter has of the second bucket of a policy that policy_is_coloured(): the same part as
 * of the limit, so that all parts come to no more than the whole, as those of the limit do.
 */
struct limit_second {
	double rate;    /* units a second */
	uint64_t burst; /* units */
};

struct limit_second limit_second_of(const struct policy *policy, const struct limiter_view *view);

/* The smallest burst of a limiter that a policy's is divided for, unless parts must add up. */
uint64_t limit_burst_least(const struct policy *policy);

/* The budget of so many policies that are sampled: they begin as if all were busy. */
void sampling_budget_init(struct sampling_budget *budget, unsigned workers, unsigned policies);

/*
 * After an estimate interval of a policy that is sampled, of so many seconds and packets: chooses
 * how often to sample in the next one. By a smoothed rate, as in an interval of 50 ms few packets
 * arrive of each of very many policies, and each change of mind has to be told; but what cannot be
 * chance counts at once.
 */
void sampling_adapt(struct sampling *sampling, struct sampling_budget *budget, uint64_t packets,
	double interval_s);

/*
 * After a round of so many seconds, of about one or ended when it was spent: what each policy may
 * have in the next.
 */
void sampling_budget_adapt(struct sampling_budget *budget, double round_s);

/* Whether so much is wanted in this round already as the budget has for a second. */
bool sampling_budget_spent(const struct sampling_budget *budget);

#endif

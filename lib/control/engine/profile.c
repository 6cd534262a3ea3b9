/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Converts a limiter's view of a policy into the profile of each worker for the packet path, and
 * adapts the sampling rate.
 */
#include "engine/profile.h"

#include <assert.h>
#include <math.h>

#include "base/hash.h"
#include "base/math.h"
#include "base/time.h"
#include "police/borrow.h"
#include "police/expire.h"
#include "police/shaped.h"
#include "policy/names.h"
#include "policy/kind.h"
#include "policy/period.h"
#include "policy/schedule.h"

/*
 * A smaller bucket, below two full frames or two packets, stops a flow of any origin. One new flow
 * is enough.
 */
#define WORKER_BYTES   UINT64_C(3028)
#define WORKER_PACKETS UINT64_C(2)
#define WORKER_FLOWS   UINT64_C(1)

static_assert(
	POLICE_LEAST_BYTES == LIMITER_BURST_FLOOR, "workers and control have the same least burst");

/* bit/s: the most that a meter supports; an estimate of the drain can be larger */
#define DRAIN_MAX 400e9

/* One sample in two seconds has no information; fewer would not be cheaper. */
#define SAMPLES_LEAST 0.5

#define RATE_BITS 59 /* below the 2^60 that meters accept; a double has fewer */

#define SMOOTH_S 1.0  /* time constant of a policy's packet rate */
#define GROWTH   16.0 /* most growth of the allowance per round */

/*
 * The smallest burst that limits flows without stopping them. Shaped policies need it too. With a
 * small part, a packet would wait longer than the longest delay, so none would pass. Without a flow
 * the part would stay small.
 */
static uint64_t burst_floor(const struct policy *policy)
{
	static const uint64_t floors[] = {
		[COUNT_BYTES] = 0, /* lib/control has a floor of its own */
		[COUNT_PACKETS] = POLICE_LEAST_PACKETS,
		[COUNT_FLOWS] = 1,
	};

	return floors[policy->count];
}

uint64_t limit_burst_least(const struct policy *policy)
{
	uint64_t least = burst_floor(policy);

	return least ? least : LIMITER_BURST_FLOOR; /* same as in limiters */
}

static double part_of(double local, double whole)
{
	return whole > 0 ? min_double(local / whole, 1) : 0;
}

double limit_part(const struct policy *policy, const struct limiter_view *view)
{
	return part_of(view->local_limit, view->limit > 0 ? view->limit : policy_rate(policy));
}

/*
 * Returns the part of the burst. It is the part of the limit if an override replaces the limit, or
 * if packets wait, because the queue then is most of the burst.
 */
double limit_burst_part(const struct policy *policy, const struct limiter_view *view)
{
	bool another = view->limit > 0 && view->limit != policy_rate(policy);

	if (another || policy_is_shaped(policy))
		return limit_part(policy, view);
	return part_of((double)view->local_burst, (double)policy->burst_bytes);
}

/*
 * The second bucket is soft for any limit: a limiter has at least the burst that lets packets pass.
 */
struct limit_second limit_second_of(const struct policy *policy, const struct limiter_view *view)
{
	const struct limit_terms *whole = &policy->colours.second;
	double part = limit_part(policy, view), deep = limit_burst_part(policy, view);
	uint64_t burst = (uint64_t)((double)whole->burst_bytes * deep);

	if (part > 0)
		burst = max_u64(burst, min_u64(limit_burst_least(policy), whole->burst_bytes));
	return (struct limit_second){
		.rate = (double)whole->limit_bps / 8 / (whole->limit_s ? whole->limit_s : 1) * part,
		.burst = burst,
	};
}

static bool is_undated(const struct policy *policy, int64_t unix_s)
{
	return policy_is_quota(policy) && policy->period != PERIOD_NONE && unix_s == TIME_UNKNOWN;
}

static uint64_t first_period(const struct policy *policy, int64_t unix_s)
{
	if (!policy_is_quota(policy) || is_undated(policy, unix_s))
		return 0;
	return period_number(policy, unix_s);
}

/*
 * Hashes the settings, apart from the limit, that must be equal in a group: meter and second
 * bucket.
 */
static uint64_t second_digest(const struct policy *policy)
{
	const struct limit_terms *second = &policy->colours.second;
	uint64_t hash = hash64_step(HASH64_BASIS, name_hash(meter_name(policy->meter)));

	if (!policy_is_coloured(policy))
		return 0;
	hash = hash64_step(hash64_step(hash, second->limit_bps), second->limit_s);
	return hash64_step(hash, second->burst_bytes);
}

struct limiter_policy limit_profile_policy(const struct policy *policy, int64_t unix_s)
{
	bool hard = policy_is_hard(policy);
	struct policy_key key = policy_key(policy);

	return (struct limiter_policy){
		.id = key.id,
		.check = key.check,
		.name = policy->name,
		.allocator = policy->allocator,
		.limit_bps = policy->limit_bps,
		.limit_s = policy->limit_s,
		.burst_bytes = policy->burst_bytes,
		.interval_ns = policy->interval_ns,
		.keep_per_second = policy->keep_per_second,
		.history_ns = policy->history_ns,
		.step_ns = policy->step_ns,
		.burst_floor = burst_floor(policy),
		.packet = policy->count == COUNT_BYTES ? 0 : 1,
		.guarantee = hard ? LIMITER_HARD : LIMITER_SOFT,
		.indicator = policy->indicator,
		.eta = policy->eta,
		.total = policy->total,
		.period = first_period(policy, unix_s),
		.undated = is_undated(policy, unix_s),
		.chunk = policy->chunk,
		.drawn = policy->drawn,
		.counts = policy->count,
		.accounting = policy->accounting,
		.period_length = policy->period_ns + policy->period,
		.plain = {policy->limit_bps, policy->limit_s, policy->burst_bytes},
		.schedule = schedule_digest(policy->schedule),
		.own = policy_is_parent(policy) && !policy->unmatched,
		.waits = policy_is_shaped(policy),
		.weight = policy->weight,
		.second = second_digest(policy),
	};
}

/* Returns a worker's part of the local burst. At least one packet fits, except for hard limits. */
static uint64_t worker_burst(const struct policy *policy, uint64_t local, double share)
{
	static const uint64_t floors[] = {
		[COUNT_BYTES] = WORKER_BYTES,
		[COUNT_PACKETS] = WORKER_PACKETS,
		[COUNT_FLOWS] = WORKER_FLOWS,
	};
	uint64_t least = policy_is_hard(policy) ? 0 : floors[policy->count];
	uint64_t burst = (uint64_t)((double)local * share);

	if (burst < least)
		burst = least;
	return burst < local ? burst : local;
}

/*
 * Converts a rate for a meter. Rates of bytes are whole bit/s. Rates of packets and flows can be a
 * few per day, so they have as many fractional bits as fit. These are rounded up, because the
 * double of 100 a minute can be less than that. Negative rates, and those above a meter's range,
 * are not rounded up.
 */
static uint64_t rate_of(double bits, unsigned below)
{
	if (below && bits > 0)
		return (uint64_t)ceil(ldexp(nextafter(bits, INFINITY), (int)below));
	return (uint64_t)bits;
}

static unsigned bits_below(const struct policy *policy, double bits)
{
	int magnitude;

	if (policy->count == COUNT_BYTES || !(bits > 0))
		return 0;
	(void)frexp(bits, &magnitude);
	return magnitude < RATE_BITS ? (unsigned)fmin(RATE_BITS - magnitude, TOKEN_RATE_BELOW) : 0;
}

void limit_rate_params(struct token_bucket_params *params, const struct policy *policy, double rate)
{
	params->rate_below = bits_below(policy, rate * 8);
	params->rate_bps = rate_of(rate * 8, params->rate_below);
}

void limit_profile_borrowed(struct limit_profile *profile, const struct policy *policy,
	unsigned index, const struct limiter_view *view, const struct sampling *sampling)
{
	*profile = (struct limit_profile){
		.policy = index,
		.kind = (uint8_t)policy_meter_kind(policy),
		.sample_shift = policy_samples_flows(policy) ? sampling->shift : POLICE_UNSAMPLED,
		.ending = view->ending,
	};
	profile->meter.bucket = police_borrow_profile();
}

/*
 * Sets a worker's second bucket, with the same part as the first. The peak is at least the
 * committed rate and burst after rounding, because green packets must also fit it.
 */
static int set_second(struct limit_profile *profile, const struct policy *policy,
	const struct limiter_view *view, double share, const struct meter_params *committed,
	uint64_t hz)
{
	struct limit_second local = limit_second_of(policy, view);
	struct meter_params second = *committed;
	double rate = local.rate * 8 * share, least = view->local_limit * 8 * share;

	if (meter_can(second.kind, METER_PEAK))
		rate = fmax(rate, least);
	second.rate_below = (uint8_t)bits_below(policy, rate);
	second.rate_bps = rate_of(rate, second.rate_below);
	second.burst = worker_burst(policy, local.burst, share);
	if (meter_can(second.kind, METER_PEAK))
		second.burst = max_u64(second.burst, committed->burst);
	return colour_second_set(&profile->meter.trtcm, &second, hz);
}

int limit_profile_init(struct limit_profile *profile, const struct policy *policy, unsigned index,
	const struct limiter_view *view, const struct sampling *sampling, double share, uint64_t hz)
{
	double part = policy_is_per_source(policy) ? 1 : share, rate = view->local_limit * 8 * part;
	double drain = fmin(view->drain * 8 * part, DRAIN_MAX);
	unsigned below = bits_below(policy, fmax(rate, drain));
	bool none = policy_is_quota(policy) && policy->limit_bps == 0;
	struct meter_params params = {
		.kind = policy_meter_kind(policy),
		.rate_bps = rate_of(rate, below),
		.drain_bps = rate_of(drain, below),
		.rate_below = below,
		.unit_bits = policy_unit_bits(policy),
		.burst = none ? 0 : worker_burst(policy, view->local_burst, part),
		.window_ns = policy->window_ns,
		.drop_probability = view->drop,
	};
	int err;

	limit_profile_borrowed(profile, policy, index, view, sampling); /* sets all but the meter */
	err = meter_profile_init(&profile->meter, &params, hz);
	if (err == 0 && policy_is_coloured(policy))
		err = set_second(profile, policy, view, part, &params, hz);
	profile->shaped = policy_is_shaped(policy);
	if (profile->shaped)
		profile->shape.terms = shaped_terms(policy);
	return err;
}

/* Limits the samples per second of one policy to the allowed range. */
static double samples_allowed(double samples)
{
	return fmin(fmax(samples, SAMPLES_LEAST), SAMPLES_PER_S);
}

void sampling_budget_init(struct sampling_budget *budget, unsigned workers, unsigned policies)
{
	double most = (double)SAMPLES_PER_WORKER_S * workers;

	*budget = (struct sampling_budget){
		.most = most,
		.allowance = samples_allowed(most / (policies ? policies : 1)),
	};
}

/*
 * Smooths over a second, but returns at least the rate that is certain (four standard deviations).
 */
static double smooth_sample_rate(double rate, double packets, double interval_s)
{
	double sure = (packets - 4 * sqrt(packets)) / interval_s;

	rate += (packets / interval_s - rate) * interval_s / (SMOOTH_S + interval_s);
	return fmax(rate, sure);
}

/*
 * The rate is a power of two, so that small variations of load do not change it all the time. It
 * falls when samples come too often, and rises when they come less than a third as often as
 * allowed.
 */
void sampling_adapt(struct sampling *sampling, struct sampling_budget *budget, uint64_t packets,
	double interval_s)
{
	double most = budget->allowance, rate, samples;

	if (!(interval_s > 0))
		return;
	rate = smooth_sample_rate(sampling->rate, (double)packets, interval_s);
	sampling->rate = (float)rate;
	budget->wanted += fmin(rate, most) * interval_s;
	samples = ldexp(rate, -sampling->shift);
	for (; samples < most / 3 && sampling->shift > 0; samples *= 2)
		sampling->shift--;
	for (; samples > most && sampling->shift < POLICE_SHIFT_MAX; samples /= 2)
		sampling->shift++;
}

/*
 * A growing allowance is safe: no policy's demand grows by a larger factor, so the sum stays within
 * the budget.
 */
void sampling_budget_adapt(struct sampling_budget *budget, double round_s)
{
	double most = budget->most * round_s;
	double change = budget->wanted > most / GROWTH ? most / budget->wanted : GROWTH;

	budget->allowance = samples_allowed(budget->allowance * change);
	budget->wanted = 0;
}

bool sampling_budget_spent(const struct sampling_budget *budget)
{
	return budget->wanted > budget->most;
}

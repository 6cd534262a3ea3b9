/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "police/profile.h"

#include "allocate/allocate.h"
#include "base/name_hash.h"

/*
 * A bucket below two full frames stops a flow, wherever it came from; in packets likewise. Of new
 * flows any number will do.
 */
#define WORKER_BYTES   UINT64_C(3028)
#define WORKER_PACKETS UINT64_C(2)
#define WORKER_FLOWS   UINT64_C(1)

/* As the brain allows by itself where bytes are counted. */
#define LOCAL_PACKETS UINT64_C(6)

/* Samples of a policy a second: enough for flow rates, and bounded whatever the load. */
#define SAMPLES_PER_S 2000

#define SAMPLE_PERIOD_MAX (1u << 15)

/* bit/s: as much as a meter can do; an estimate of what others drain may be of any size. */
#define DRAIN_MAX 400e9

#define WIRE_EXTRA 24 /* bytes of FCS, preamble and inter-frame gap */

static bool per_source(const struct policy *policy)
{
	return policy->per_v4 || policy->per_v6;
}

enum meter_kind limit_profile_kind(const struct policy *policy)
{
	if (per_source(policy) && policy->meter == METER_TOKEN_BUCKET)
		return METER_GCRA;
	return policy->meter;
}

/* The smallest burst that limits flows and does not stop them. */
static uint64_t burst_floor(const struct policy *policy)
{
	static const uint64_t floors[] = {
		[COUNT_BYTES] = 0, /* the brain's own */
		[COUNT_PACKETS] = LOCAL_PACKETS,
		[COUNT_FLOWS] = 1,
	};

	return floors[policy->count];
}

struct limiter_policy limit_profile_policy(const struct policy *policy)
{
	return (struct limiter_policy){
		.id = name_hash(policy->name),
		.allocator = policy->allocator,
		.limit_bps = policy->limit_bps,
		.burst_bytes = policy->burst_bytes,
		.interval_ns = policy->interval_ns,
		.keep_per_second = policy->keep_per_second,
		.burst_floor = burst_floor(policy),
	};
}

/* A worker's part of the local burst. */
static uint64_t worker_burst(enum counting count, uint64_t local, double share)
{
	static const uint64_t floors[] = {
		[COUNT_BYTES] = WORKER_BYTES,
		[COUNT_PACKETS] = WORKER_PACKETS,
		[COUNT_FLOWS] = WORKER_FLOWS,
	};
	uint64_t burst = (uint64_t)((double)local * share);

	if (burst < floors[count])
		burst = floors[count];
	return burst < local ? burst : local;
}

/* A token bucket is one for all: one for each source would be a GCRA. */
static bool is_plain(const struct limit_profile *profile)
{
	return profile->kind == METER_TOKEN_BUCKET && profile->count == COUNT_BYTES &&
	       profile->action == ACTION_DROP;
}

int limit_profile_init(struct limit_profile *profile, const struct policy *policy,
	const struct limiter_view *view, double share, uint64_t hz)
{
	double part = per_source(policy) ? 1 : share, drain = view->drain * 8 * part;
	struct meter_params params = {
		.kind = limit_profile_kind(policy),
		.rate_bps = (uint64_t)(view->local_limit * 8 * part),
		.drain_bps = (uint64_t)(drain < DRAIN_MAX ? drain : DRAIN_MAX),
		.burst = worker_burst(policy->count, view->local_burst, part),
		.window_ns = policy->window_ns,
		.drop_probability = view->drop,
	};

	*profile = (struct limit_profile){
		.sample_period = policy->allocator->samples_flows,
		.extra = policy->accounting == ACCOUNTING_WIRE ? WIRE_EXTRA : 0,
		.kind = (uint8_t)params.kind,
		.count = (uint8_t)policy->count,
		.action = (uint8_t)policy->action,
		.mark = (int8_t)policy->mark,
		.per_v4 = policy->per_v4,
		.per_v6 = policy->per_v6,
		.without_l2 = policy->accounting == ACCOUNTING_L3,
		.tcp_only = policy->weigh_tcp_only,
	};
	profile->plain = is_plain(profile);
	return meter_profile_init(&profile->meter, &params, hz);
}

void limit_profile_sample(struct limit_profile *profile, const struct sampling *sampling)
{
	if (profile->sample_period)
		profile->sample_period = sampling->period;
}

bool limit_profile_succeed(
	struct limit_profile *profile, const struct limit_profile *old, uint64_t now)
{
	if (profile->sample_period == old->sample_period &&
		meter_profile_equal(profile->kind, &profile->meter, &old->meter)) {
		*profile = *old;
		return false;
	}
	meter_profile_succeed(profile->kind, &profile->meter, &old->meter, now);
	return true;
}

void policy_state_init(struct policy_state *state, const struct limit_profile *profile,
	uint64_t now, uint64_t seed)
{
	*state = (struct policy_state){0};
	meter_init(profile->kind, &state->meter, &profile->meter, now, seed);
}

void sampling_init(struct sampling *sampling)
{
	*sampling = (struct sampling){.period = 1};
}

/*
 * A power of two, so that a load that wavers does not change it all the time: doubled when samples
 * come too often, halved when they come less than a third as often as they may.
 */
void sampling_adapt(struct sampling *sampling, uint64_t packets, double interval_s)
{
	double samples = (double)(packets - sampling->packets) / interval_s / sampling->period;

	sampling->packets = packets;
	if (samples > SAMPLES_PER_S && sampling->period < SAMPLE_PERIOD_MAX)
		sampling->period *= 2;
	else if (samples < SAMPLES_PER_S / 3.0 && sampling->period > 1)
		sampling->period /= 2;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "limiter/limiter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "demand/demand.h"

#define NS_PER_S 1e9

/* Without policies there is still gossip, so that peers see that we are there. */
#define IDLE_TICK_NS UINT64_C(50000000)

/*
 * Flow rates swing by a factor of two in every sawtooth, over many round trips; they are remembered
 * this many times as long as the demand, so that a weight compares means and not phases.
 */
#define FLOW_MEMORY 4.0

/*
 * The burst is shared as the limit is, which keeps the aggregate's bound of r·t + b. Below ten
 * full-sized packets (TCP's initial window, RFC 6928) a bucket stops flows instead of limiting
 * them.
 */
#define BURST_FLOOR UINT64_C(15140)

/*
 * When a peer begins to count again, a share may grow only after the others have had this part of
 * the timeout to shrink theirs: the limit is passed on, not counted twice.
 */
#define HOLD_SHARE 4

struct aggregate {
	struct limiter_policy policy;
	uint64_t hold_until_ns;
	uint64_t measured_ns, next_ns;
	uint64_t arrived_bytes, dropped_packets; /* as of measured_ns */
	struct demand demand;
	struct steady_rate demand_slow; /* as the flows' rates */
	struct flow_rates *flows;       /* n_workers */
	unsigned n_flows;
	struct allocate_state state;
	double effective_limit;
	double global_demand, global_weight;
	unsigned lost; /* peers that did not count in the last interval */
};

struct limiter {
	unsigned n, n_policies, n_workers;
	uint64_t started_ns, tick_ns, next_ns;
	bool speaks; /* peers may count on what we say */
	struct gossip *gossip;
	struct aggregate *aggregates;
	double *flow_scratch; /* n_workers × FLOW_SLOTS */
};

static double bytes_per_second(const struct limiter_policy *policy)
{
	return (double)policy->limit_bps / 8;
}

static uint64_t shortest_interval(const struct limiter_params *params)
{
	uint64_t tick = params->n_policies ? UINT64_MAX : IDLE_TICK_NS;

	for (unsigned i = 0; i < params->n_policies; i++)
		if (params->policies[i].interval_ns < tick)
			tick = params->policies[i].interval_ns;
	return tick;
}

static int create_gossip(struct limiter *l, const struct limiter_params *params, uint64_t now_ns)
{
	struct gossip_params gossip = params->gossip;
	uint32_t *ids = calloc(params->n_policies + 1, sizeof(*ids));
	int ret;

	if (!ids)
		return -ENOMEM;
	for (unsigned i = 0; i < params->n_policies; i++)
		ids[i] = params->policies[i].id;
	gossip.policies = ids;
	gossip.n_policies = params->n_policies;
	gossip.tick_ns = l->tick_ns;
	ret = gossip_create(&gossip, now_ns, &l->gossip);
	free(ids);
	return ret;
}

static int create_aggregate(struct limiter *l, struct aggregate *a,
	const struct limiter_policy *policy, uint64_t now_ns)
{
	a->policy = *policy;
	a->measured_ns = now_ns;
	a->next_ns = now_ns + policy->interval_ns;
	a->flows = calloc(l->n_workers, sizeof(*a->flows));
	a->effective_limit = bytes_per_second(policy);
	if (!policy->allocator->alone)
		a->effective_limit /= l->n;
	a->state.local_limit = a->effective_limit;
	a->lost = l->n - 1;
	return a->flows ? 0 : -ENOMEM;
}

int limiter_create(const struct limiter_params *params, uint64_t now_ns, struct limiter **out)
{
	struct limiter *l;
	int ret = -ENOMEM;

	if (params->n_workers == 0 || !params->gossip.roster)
		return -EINVAL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->n = params->gossip.roster->n;
	l->n_policies = params->n_policies;
	l->n_workers = params->n_workers;
	l->started_ns = now_ns;
	l->tick_ns = shortest_interval(params);
	l->next_ns = now_ns + l->tick_ns;
	l->aggregates = calloc(l->n_policies + 1, sizeof(*l->aggregates));
	l->flow_scratch = calloc((size_t)l->n_workers * FLOW_SLOTS, sizeof(*l->flow_scratch));
	if (l->aggregates && l->flow_scratch)
		ret = create_gossip(l, params, now_ns);
	for (unsigned i = 0; ret == 0 && i < l->n_policies; i++)
		ret = create_aggregate(l, &l->aggregates[i], &params->policies[i], now_ns);
	if (ret) {
		limiter_destroy(l);
		return ret;
	}
	*out = l;
	return 0;
}

void limiter_destroy(struct limiter *l)
{
	if (!l)
		return;
	for (unsigned i = 0; l->aggregates && i < l->n_policies; i++)
		free(l->aggregates[i].flows);
	free(l->aggregates);
	free(l->flow_scratch);
	gossip_destroy(l->gossip);
	free(l);
}

uint64_t limiter_next(const struct limiter *l)
{
	return l->next_ns;
}

/* The tick after this one, on the old beat unless that has been missed altogether. */
static uint64_t next_beat(uint64_t due, uint64_t period, uint64_t now)
{
	return due + period > now ? due + period : now + period;
}

static unsigned measure_flows(struct limiter *l, struct aggregate *a,
	const struct limiter_sample *sample, const struct allocate_input *in)
{
	unsigned n = 0;

	for (unsigned w = 0; w < l->n_workers; w++)
		n += flow_rates_add(&a->flows[w], sample->slots + (size_t)w * FLOW_SLOTS,
			in->interval_s, in->keep, in->keep_slow, l->flow_scratch + n);
	return n;
}

static void hold(
	struct limiter *l, struct aggregate *a, unsigned lost, double before, uint64_t now_ns)
{
	if (lost < a->lost)
		a->hold_until_ns = now_ns + gossip_timeout(l->gossip) / HOLD_SHARE;
	if (now_ns < a->hold_until_ns && a->state.local_limit > before)
		a->state.local_limit = before;
	a->lost = lost;
}

static void allocate(
	struct limiter *l, unsigned policy, const struct limiter_sample *sample, uint64_t now_ns)
{
	struct aggregate *a = &l->aggregates[policy];
	double interval_s = (double)(now_ns - a->measured_ns) / NS_PER_S;
	double before = a->state.local_limit;
	struct gossip_sum sum = gossip_sum(l->gossip, policy);
	double keep = demand_keep(a->policy.keep_per_second, interval_s);
	double slow = demand_keep(a->policy.keep_per_second, interval_s / FLOW_MEMORY);
	struct allocate_input in = {
		.interval_s = interval_s,
		.keep = keep,
		.keep_slow = slow,
		.n = l->n,
		.lost = sum.lost,
		.limit = bytes_per_second(&a->policy),
		.demand_now = (double)(sample->arrived_bytes - a->arrived_bytes) / interval_s,
		.dropped = sample->dropped_packets != a->dropped_packets,
		.remote_weight = sum.weight,
		.remote_demand = sum.demand,
		.flow = l->flow_scratch,
	};
	struct allocate_output out;

	demand_add(&a->demand, in.demand_now, keep);
	in.demand = a->demand.rate;
	in.demand_slow = demand_steady(&a->demand_slow, in.demand_now, keep, slow);
	if (a->policy.allocator->samples_flows)
		in.n_flows = measure_flows(l, a, sample, &in);
	a->policy.allocator->allocate(&a->state, &in, &out);
	a->n_flows = in.n_flows;
	if (a->policy.allocator->gossips)
		hold(l, a, sum.lost, before, now_ns);
	a->effective_limit = a->policy.allocator->gossips ? allocate_effective_limit(&in)
							  : in.limit;
	a->global_demand = sum.demand + in.demand;
	a->global_weight = sum.weight + out.weight;
	if (l->speaks && a->policy.allocator->gossips)
		gossip_set(l->gossip, policy, in.demand, out.weight);
}

static void end_interval(
	struct limiter *l, unsigned policy, uint64_t now_ns, limiter_measure measure, void *context)
{
	struct aggregate *a = &l->aggregates[policy];
	struct limiter_sample sample = {0};

	measure(context, policy, &sample);
	allocate(l, policy, &sample, now_ns);
	a->arrived_bytes = sample.arrived_bytes;
	a->dropped_packets = sample.dropped_packets;
	a->measured_ns = now_ns;
	a->next_ns = next_beat(a->next_ns, a->policy.interval_ns, now_ns);
}

/*
 * A limiter that has just started enforces limit/N whatever its weight is, so peers must go on
 * leaving it that much: it says nothing of its policies until it has heard from somebody, or has
 * waited as long as it takes to know that there is nobody.
 */
static void find_voice(struct limiter *l, uint64_t now_ns)
{
	if (gossip_alive(l->gossip) > 0 || now_ns - l->started_ns >= gossip_timeout(l->gossip))
		l->speaks = true;
}

bool limiter_tick(struct limiter *l, uint64_t now_ns, limiter_measure measure, void *context)
{
	bool changed = false;

	if (now_ns < l->next_ns)
		return false;
	find_voice(l, now_ns);
	for (unsigned i = 0; i < l->n_policies; i++) {
		struct aggregate *a = &l->aggregates[i];
		double before = a->state.local_limit;

		if (now_ns < a->next_ns)
			continue;
		end_interval(l, i, now_ns, measure, context);
		changed |= a->state.local_limit != before;
	}
	gossip_tick(l->gossip, now_ns);
	l->next_ns = next_beat(l->next_ns, l->tick_ns, now_ns);
	return changed;
}

size_t limiter_send(struct limiter *l, uint8_t *buf, unsigned *peer)
{
	return gossip_send(l->gossip, buf, peer);
}

enum gossip_verdict limiter_receive(struct limiter *l, uint64_t now_ns, uint8_t *buf, size_t len)
{
	return gossip_receive(l->gossip, now_ns, buf, len);
}

static uint64_t local_burst(const struct aggregate *a)
{
	double share = a->state.local_limit / bytes_per_second(&a->policy);
	uint64_t burst = (uint64_t)((double)a->policy.burst_bytes * share);
	uint64_t least = a->policy.burst_floor ? a->policy.burst_floor : BURST_FLOOR;

	if (a->policy.allocator->whole_burst)
		return a->policy.burst_bytes;
	if (burst < least)
		burst = least;
	return burst < a->policy.burst_bytes ? burst : a->policy.burst_bytes;
}

void limiter_view(const struct limiter *l, unsigned policy, struct limiter_view *view)
{
	const struct aggregate *a = &l->aggregates[policy];

	*view = (struct limiter_view){
		.limit = bytes_per_second(&a->policy),
		.effective_limit = a->effective_limit,
		.local_limit = a->state.local_limit,
		.drain = a->state.drain,
		.drop = a->state.drop,
		.local_burst = local_burst(a),
		.demand = a->demand.rate,
		.weight = a->state.weight,
		.global_demand = a->global_demand,
		.global_weight = a->global_weight,
		.lost = a->lost,
		.flows = a->n_flows,
		.flow_rate = a->state.flow_rate,
		.regime = a->state.regime,
	};
}

const struct gossip *limiter_gossip(const struct limiter *l)
{
	return l->gossip;
}

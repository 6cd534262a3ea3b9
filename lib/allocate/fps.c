/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Flow proportional share (section 3.2.2 and figure 2 of Raghavan et al., "Cloud Control with
 * Distributed Rate Limiting", SIGCOMM 2007). A limiter's weight is its demand as a number of
 * unbottlenecked flows, and the limit is shared by weight.
 *
 * Where this departs from the pseudocode, and why:
 *
 * - The rate of an unbottlenecked flow is not the largest in the sample. The largest of seven noisy
 *   rates is further above their mean than the largest of three, so that rule takes from whoever
 *   has more flows. We take the mean of the flows from two thirds of the byte-weighted mean rate
 *   on: neither depends on an extreme, and both leave out flows that are held back elsewhere.
 * - The weight is demand / flow rate, both through the same filter, rather than limit / flow rate:
 *   when all flows back off together the ratio stays what it was.
 * - "Unbottlenecked" is not only demand >= local limit, which loss recovery undercuts in every
 *   sawtooth. The meter knows better: it dropped. Drops are remembered for DROP_MEMORY_S, however
 *   low demand falls in that time: flows that have just lost are the last to take a limit from.
 * - A bottlenecked aggregate gets its demand and some room (ROOM, or its proportional part of what
 *   nobody asks for), so that it can show that it has more to send without oscillating to ask.
 *   Without the common unit of an unbottlenecked flow, weights that are each defined by the others'
 *   drift together; a limiter's own flow count bounds them.
 * - No remote weight, demand above the limit, nobody with demand: defined below, each under its own
 *   name.
 */
#include "allocate/allocate.h"

/* Room to grow for a bottlenecked aggregate, as a share of its demand. */
#define ROOM 0.10

/* The largest part of the limit that demand alone, without evidence of competition, may claim. */
#define CLAIM_MAX 0.90

/* How long a drop says that this limiter is the bottleneck. */
#define DROP_MEMORY_S 2.0

/* An aggregate without a byte for so long has no demand left to weigh. */
#define IDLE_AFTER_S DROP_MEMORY_S

/* A flow is taken as unbottlenecked from this share of the byte-weighted mean rate on. */
#define UNBOTTLENECKED_FROM (2.0 / 3)

static double min(double a, double b)
{
	return a < b ? a : b;
}

static double max(double a, double b)
{
	return a > b ? a : b;
}

/* Mean rate of the flows that are not held back elsewhere; 0 when nothing is sampled. */
static double unbottlenecked_rate(const double *flow, unsigned n)
{
	double sum = 0, squares = 0, from, total = 0;
	unsigned count = 0;

	for (unsigned i = 0; i < n; i++) {
		sum += flow[i];
		squares += flow[i] * flow[i];
	}
	if (sum <= 0)
		return 0;
	from = UNBOTTLENECKED_FROM * squares / sum;
	for (unsigned i = 0; i < n; i++) {
		if (flow[i] < from)
			continue;
		total += flow[i];
		count++;
	}
	return count ? total / count : 0;
}

static enum allocate_regime regime_of(
	const struct allocate_state *state, const struct allocate_input *in)
{
	if (state->since_byte_s >= IDLE_AFTER_S || in->demand <= 0)
		return ALLOCATE_IDLE;
	/* A demand's first interval counts as bottlenecked: it has shown a rate, not a limit. */
	if (state->regime == ALLOCATE_IDLE || !state->started)
		return ALLOCATE_BOTTLENECKED;
	if (in->demand >= state->local_limit)
		return ALLOCATE_UNBOTTLENECKED;
	if (state->since_drop_s < DROP_MEMORY_S)
		return ALLOCATE_UNBOTTLENECKED;
	return ALLOCATE_BOTTLENECKED;
}

/* Number of unbottlenecked flows that the demand amounts to: where there is demand there is one. */
static double flow_count(const struct allocate_state *state, const struct allocate_input *in)
{
	return state->flow_rate > 0 ? max(in->demand_slow / state->flow_rate, 1) : 1;
}

/*
 * The weight that makes the local limit what a bottlenecked aggregate can use (line 9 of figure 2,
 * with room). Demand at or above the limit, where line 9 divides by zero or less, claims no more
 * than CLAIM_MAX. With no remote weight line 9 says 0, and then nobody has any: the flow count
 * stands in, which is the unit that the others will be compared in.
 */
static double bottlenecked_weight(const struct allocate_state *state,
	const struct allocate_input *in, double limit, double demand)
{
	double all = demand + in->remote_demand;
	double wanted = demand * max(1 + ROOM, all > 0 ? limit / all : 1);
	double count = flow_count(state, in);

	if (in->remote_weight <= 0)
		return count;
	wanted = min(wanted, CLAIM_MAX * limit);
	return min(wanted * in->remote_weight / (limit - wanted), count);
}

static double ideal_weight(const struct allocate_state *state, const struct allocate_input *in,
	double limit, bool first)
{
	switch (state->regime) {
	case ALLOCATE_UNBOTTLENECKED:
		return flow_count(state, in);
	case ALLOCATE_BOTTLENECKED:
		return bottlenecked_weight(state, in, limit, first ? in->demand_now : in->demand);
	case ALLOCATE_IDLE:
		break;
	}
	return 0;
}

/*
 * The smoothing is for the oscillation of the regimes, not for arrivals and departures. While this
 * limiter holds flows back, a weight falls more slowly than it rises: where windows are of a few
 * packets one flow can have most of the rate for a second, and a limit that followed it down would
 * keep the others from ever coming back.
 */
static double smoothed(const struct allocate_state *state, const struct allocate_input *in,
	double weight, bool first)
{
	bool slowly = state->regime == ALLOCATE_UNBOTTLENECKED && weight < state->weight;
	double keep = slowly ? in->keep_slow : in->keep;

	if (first || state->regime == ALLOCATE_IDLE)
		return weight;
	return state->weight * keep + weight * (1 - keep);
}

static void fps_allocate(
	struct allocate_state *state, const struct allocate_input *in, struct allocate_output *out)
{
	double limit = allocate_effective_limit(in), weight;
	enum allocate_regime before = state->regime;
	bool first;

	state->since_drop_s = in->dropped ? 0 : state->since_drop_s + in->interval_s;
	state->since_byte_s = in->demand_now > 0 ? 0 : state->since_byte_s + in->interval_s;
	state->flow_rate = unbottlenecked_rate(in->flow, in->n_flows);
	state->regime = regime_of(state, in);
	first = state->regime != ALLOCATE_IDLE && (before == ALLOCATE_IDLE || !state->started);

	weight = ideal_weight(state, in, limit, first);
	state->weight = smoothed(state, in, weight, first);
	state->started = true;
	state->local_limit = allocate_share(in, state->weight, in->remote_weight, limit);
	state->drop = allocate_drop(state->local_limit, in->demand);
	*out = (struct allocate_output){state->local_limit, state->weight};
}

const struct allocator allocator_fps = {
	.name = "fps",
	.gossips = true,
	.samples_flows = true,
	.allocate = fps_allocate,
};

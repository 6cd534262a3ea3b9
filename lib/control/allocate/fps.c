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
 *   rates is further above their mean than the largest of three, so that rule takes from a limiter
 *   with more flows. We take the mean of the flows from two thirds of the byte-weighted mean rate
 *   on: neither depends on an extreme, and both leave out flows that are held back elsewhere.
 * - The weight is demand / flow rate, both through the same filter, rather than limit / flow rate:
 *   when all flows back off together the ratio stays the same.
 * - "Unbottlenecked" is not only demand >= local limit, which loss recovery undercuts in every
 *   sawtooth. A drop by the meter also counts, for DROP_MEMORY_S.
 * - The flow count alone does not make a weight: a limit is never more than the recent demand and
 *   room to grow. The room depends on the pressure p, the part of the intervals in which the meter
 *   drops,
 *
 *     p <- p + min(T / PRESSURE_S, 1) × (1 if it dropped in this interval of T, otherwise 0, - p)
 *     room = ROOM + (GROWTH - ROOM) × p
 *
 *   An interval without arrivals is no evidence of flows that have lived for long: they wait for
 *   a timer after a loss. So it counts only by the part of the rate that short flows have.
 *
 *   So flows that are held back here can show it within a few round trips, and flows that are held
 *   back elsewhere get nothing for their number. A limiter that drops now and then, for example
 *   one with short requests in bursts, uses no more than its mean. All the room for that would be
 *   idle, and others would have used it. If nothing drops, a limiter also gets a proportional part
 *   of the unused limit. So it need not oscillate between two regimes to get more.
 * - Without the common unit of an unbottlenecked flow, weights that are each defined by the
 *   others' drift together. So a limiter that drops weighs one flow; but at most UNIT_ROOM times
 *   the part of a flow's rate that its flows use, or the pressure. A whole flow for each site of
 *   short requests would leave most of its rate idle. A limiter's own flow count bounds weights.
 * - No remote weight, demand above the limit, no limiter with demand: defined below, each under its
 *   own name.
 */
#include "allocate/allocate.h"

#include <math.h>

#include "base/math.h"

/* Room to grow, as a share of the demand: without drops, and with drops in every interval. */
#define ROOM   0.05
#define GROWTH 0.60

/* Memory of the pressure, seconds: long enough for some sawteeth of short round-trip times. */
#define PRESSURE_S 0.4

/*
 * From this pressure on a limit does not fall, because flows that have just lost would lose it too.
 * Without this the limits of many limiters waver more.
 */
#define PRESSED 0.5

/*
 * A limiter that drops weighs one flow if its flows use at least 1 / UNIT_ROOM of one flow's rate.
 * Short requests use less; a flow that joins or backs off uses more.
 */
#define UNIT_ROOM 3.0

/* Seconds for which a drop shows that this limiter is the bottleneck. */
#define DROP_MEMORY_S 0.5

/* Seconds. An aggregate without a byte for so long has no demand left to weigh. */
#define IDLE_AFTER_S 2.0

/* A flow is taken as unbottlenecked from this share of the byte-weighted mean rate on. */
#define UNBOTTLENECKED_FROM (2.0 / 3)

/* Returns the mean rate of the flows that are not held back elsewhere; 0 if nothing is sampled. */
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

static bool held_back_here(const struct allocate_state *state, const struct allocate_input *in)
{
	return in->demand >= state->local_limit || state->since_drop_s < DROP_MEMORY_S;
}

/* Returns the number of unbottlenecked flows that the demand amounts to, at least one. */
static double flow_count(const struct allocate_state *state, const struct allocate_input *in)
{
	return state->flow_rate > 0 ? max_double(in->demand_slow / state->flow_rate, 1) : 1;
}

/*
 * Returns the demand and room by pressure, or a proportional part of the unused limit if that is
 * more. It is at least the present limit while flows are PRESSED.
 */
static double wanted_limit(const struct allocate_state *state, const struct allocate_input *in,
	double limit, double demand, bool held)
{
	double all = demand + in->remote_demand;
	double spare = demand * (all > 0 ? limit / all : 1);
	double pressure = held ? state->pressure : 0;
	double wanted = demand * (1 + ROOM + (GROWTH - ROOM) * pressure);

	return max_double(max_double(wanted, spare), pressure > PRESSED ? state->local_limit : 0);
}

/*
 * Returns the weight that gives the wanted local limit (line 9 of figure 2). Line 9 divides by zero
 * at the limit, so a claim leaves the reserve. Without remote weight line 9 gives 0. Then the flow
 * count is the weight, and the unit of later weights.
 */
static double claimed_weight(
	const struct allocate_input *in, double limit, double wanted, double count)
{
	if (in->remote_weight <= 0)
		return count;
	wanted = min_double(wanted, (1 - ALLOCATE_FLOOR) * limit);
	return wanted * in->remote_weight / (limit - wanted);
}

/*
 * Smooths the count; while the count decides, it falls more slowly than it rises. With windows of a
 * few packets one flow can have most of the rate for a second. A limit that followed the count down
 * would prevent the recovery of the others.
 */
static double smooth_flow_count(
	const struct allocate_state *state, const struct allocate_input *in, double count)
{
	bool slowly = state->regime == ALLOCATE_UNBOTTLENECKED && count < state->count;
	double keep = slowly ? sqrt(in->keep) : in->keep;

	return state->count > 0 ? state->count * keep + count * (1 - keep) : count;
}

/*
 * The weight of a limiter that drops: one flow, or less if its flows use only a small part of that;
 * but no less than the pressure. Without any such weight all claims would drift together.
 */
static double least_weight(
	const struct allocate_state *state, const struct allocate_input *in, double limit)
{
	double weights = in->remote_weight + state->weight;
	double unit = weights > 0 ? limit / weights : 0; /* bytes per second of one flow */

	if (state->flow_rate <= 0 || UNIT_ROOM * state->flow_rate >= unit)
		return 1;
	return max_double(UNIT_ROOM * state->flow_rate / unit, state->pressure);
}

static double weigh_demand(
	struct allocate_state *state, const struct allocate_input *in, double limit, bool first)
{
	bool held = !first && held_back_here(state, in);
	double wanted, claim;

	/* A demand's first interval has shown a rate, not a limit. */
	wanted = wanted_limit(state, in, limit, first ? in->demand_now : in->demand, held);
	state->count = smooth_flow_count(state, in, flow_count(state, in));
	claim = claimed_weight(in, limit, wanted, state->count);
	if (held)
		claim = max_double(claim, least_weight(state, in, limit));
	state->regime = held && state->count <= claim ? ALLOCATE_UNBOTTLENECKED
						      : ALLOCATE_BOTTLENECKED;
	return min_double(state->count, claim);
}

/* Returns the new pressure: an interval as long as the memory replaces all of it. */
static double update_pressure(const struct allocate_state *state, const struct allocate_input *in)
{
	double now = in->dropped ? 1 : 0;
	double significance = in->demand_now > 0 || in->dropped ? 1 : 1 - in->old_part;

	return state->pressure +
	       significance * min_double(in->interval_s / PRESSURE_S, 1) * (now - state->pressure);
}

/*
 * Weighs a parent by the traffic that its children may pass here. Its flows are those of its
 * children, which already have their parts by them. By flows a parent's limit would go to the
 * limiter with most of them, even if the policies there may not pass it.
 */
static void weigh_children(struct allocate_state *state, const struct allocate_input *in)
{
	state->weight = in->wanted;
	if (in->demand <= 0)
		state->regime = ALLOCATE_IDLE;
	else
		state->regime = in->dropped ? ALLOCATE_UNBOTTLENECKED : ALLOCATE_BOTTLENECKED;
}

static void fps_allocate(
	struct allocate_state *state, const struct allocate_input *in, struct allocate_output *out)
{
	double limit = allocate_effective_limit(in);
	bool first = state->regime == ALLOCATE_IDLE;

	state->since_drop_s = in->dropped ? 0 : state->since_drop_s + in->interval_s;
	state->pressure = update_pressure(state, in);
	state->since_byte_s = in->demand_now > 0 ? 0 : state->since_byte_s + in->interval_s;
	state->flow_rate = unbottlenecked_rate(in->flow, in->n_flows);
	if (in->parent) {
		weigh_children(state, in);
	} else if (state->since_byte_s >= IDLE_AFTER_S || in->demand <= 0) {
		state->regime = ALLOCATE_IDLE;
		state->weight = state->count = state->pressure = 0;
	} else {
		state->weight = weigh_demand(state, in, limit, first);
	}
	state->weight = max_double(state->weight, claimed_weight(in, limit, in->least, 0));
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

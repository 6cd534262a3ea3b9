/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The TB Adaptor of Li et al., "Impact of Distributed Rate Limiting on Load Distribution in a
 * Latency-sensitive Messaging Service" (section V.D), without its coordinator. Token rates are in
 * proportion to average arrival rates, and bucket sizes in proportion to the largest backlogs, both
 * over a sliding history. Every limiter computes its own part. Gossip adds up the values of the
 * peers: its demand is the average rate, its weight the backlog.
 *
 * For traffic that moves among limiters while it conforms in total. If more than the limit arrives,
 * each limiter gets a part in proportion to its arrivals, for any number of flows (fps counts
 * flows).
 *
 * Where it departs from the paper:
 *
 * - The backlog is the unfinished work of a queue that is served at the local rate, from its first
 *   byte, and not only the part that exceeds the bucket. So a limiter with a large enough bucket
 *   shows its use of it, and does not lose it because nothing waited. The backlog counts up to the
 *   global burst, because a single bucket would not pass more, either. limiter/aggregate.c measures
 *   it.
 * - A rate that rises counts with its newest steps, so that a load that moves is met within two of
 *   them, not when the history has turned over; less a burst, which needs no rate. A limiter that
 *   has lost the load keeps a falling part until then.
 * - A limiter with arrivals counts with a backlog of a few packets at least: interval counts do not
 *   show less.
 * - Floors: ALLOCATE_FLOOR of the rate in equal parts, and a part of the burst for each that lets
 *   flows pass, but no more than half of all together. Both are inside the totals.
 * - A lost peer takes 1/N of both totals with it.
 */
#include "allocate/allocate.h"

/* Largest share of the burst that is kept in equal parts. */
#define BURST_RESERVED 0.5

/* Divides the burst, without the reserves of all, in proportion to backlogs; without any backlog in
 * equal parts. Returns this limiter's part, bytes. */
static double share_burst(const struct allocate_input *in, double backlog)
{
	unsigned present = in->n - in->lost;
	double burst = in->burst * present / in->n, equal = burst / present;
	double reserve = BURST_RESERVED * equal, sum = backlog + in->remote_weight;

	if (sum <= 0)
		return equal;
	reserve = in->burst_least < reserve ? in->burst_least : reserve;
	return reserve + (burst - present * reserve) * backlog / sum;
}

static double counted_backlog(const struct allocate_input *in)
{
	if (in->demand <= 0)
		return 0;
	return in->backlog > in->burst_least ? in->backlog : in->burst_least;
}

static void adaptor_allocate(
	struct allocate_state *state, const struct allocate_input *in, struct allocate_output *out)
{
	double limit = allocate_effective_limit(in);

	state->weight = counted_backlog(in);
	state->local_limit = allocate_share(in, in->demand, in->remote_demand, limit);
	state->local_burst = share_burst(in, state->weight);
	state->drop = allocate_drop(state->local_limit, in->demand_now);
	state->regime = in->dropped      ? ALLOCATE_UNBOTTLENECKED
			: in->demand > 0 ? ALLOCATE_BOTTLENECKED
					 : ALLOCATE_IDLE;
	*out = (struct allocate_output){state->local_limit, state->weight};
}

const struct allocator allocator_adaptor = {
	.name = "adaptor",
	.gossips = true,
	.remembers = true,
	.allocate = adaptor_allocate,
};

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Global token bucket (section 3.2 of Raghavan et al., "Cloud Control with Distributed Rate
 * Limiting", SIGCOMM 2007). Every limiter's bucket fills at the global limit. The arrivals here and
 * the reported arrivals elsewhere drain it. Both rates in one: the bucket fills at the difference,
 * and empties when the others' demand exceeds the limit. For comparison: like in the paper, it
 * favours the limiter with the larger demand, and suffers from every stale record.
 */
#include "allocate/allocate.h"

static void gtb_allocate(
	struct allocate_state *state, const struct allocate_input *in, struct allocate_output *out)
{
	double left = allocate_effective_limit(in) - in->remote_demand;

	state->weight = in->demand;
	state->local_limit = left > 0 ? left : 0;
	state->drain = left < 0 ? -left : 0;
	state->drop = allocate_drop(state->local_limit, in->demand);
	state->regime = in->dropped      ? ALLOCATE_UNBOTTLENECKED
			: in->demand > 0 ? ALLOCATE_BOTTLENECKED
					 : ALLOCATE_IDLE;
	*out = (struct allocate_output){state->local_limit, state->weight};
}

const struct allocator allocator_gtb = {
	.name = "gtb",
	.gossips = true,
	.whole_burst = true,
	.drains = true,
	.allocate = gtb_allocate,
};

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Global random drop (section 3.2.1 and figure 1 of Raghavan et al., "Cloud Control with
 * Distributed Rate Limiting", SIGCOMM 2007). All limiters drop arrivals with the probability
 * (demand - limit) / demand of the sums over all limiters. So each limiter gets a part of the limit
 * in proportion to its demand. That part is the local limit; a token bucket enforces it in place of
 * the random drop.
 */
#include "allocate/allocate.h"

static void grd_allocate(
	struct allocate_state *state, const struct allocate_input *in, struct allocate_output *out)
{
	double limit = allocate_effective_limit(in);

	state->weight = in->demand;
	state->local_limit = allocate_share(in, in->demand, in->remote_demand, limit);
	state->drop = allocate_drop(limit, in->demand + in->remote_demand);
	state->regime = in->demand <= 0   ? ALLOCATE_IDLE
			: state->drop > 0 ? ALLOCATE_UNBOTTLENECKED
					  : ALLOCATE_BOTTLENECKED;
	*out = (struct allocate_output){state->local_limit, state->weight};
}

const struct allocator allocator_grd = {
	.name = "grd",
	.gossips = true,
	.allocate = grd_allocate,
};

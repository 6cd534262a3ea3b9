/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Allocators compute the local limit from this limiter's measurements and its peers' reports.
 */
#include "allocate/allocate.h"

#include <stddef.h>
#include <string.h>

#define ALLOCATOR_ADDRESS(name) &allocator_##name,
#define ALLOCATOR_WORD(name)    ", " #name

static const struct allocator *const allocators[] = {ALLOCATORS(ALLOCATOR_ADDRESS)};

#define N_ALLOCATORS (sizeof(allocators) / sizeof(allocators[0]))

const struct allocator *allocator_find(const char *name)
{
	for (size_t i = 0; i < N_ALLOCATORS; i++)
		if (strcmp(allocators[i]->name, name) == 0)
			return allocators[i];
	return NULL;
}

const char *allocator_names(void)
{
	static const char names[] = ALLOCATORS(ALLOCATOR_WORD);

	return names + sizeof(", ") - 1;
}

const char *allocate_regime_name(enum allocate_regime regime)
{
	static const char *const names[] = {
		[ALLOCATE_IDLE] = "idle",
		[ALLOCATE_BOTTLENECKED] = "bottlenecked",
		[ALLOCATE_UNBOTTLENECKED] = "unbottlenecked",
	};

	return names[regime];
}

/* --- static ----------------------------------------------------------------------------------- */

/*
 * limit/N each, independent of demand: the limits without coordination. Allocators that move the
 * ledger's capacity have a flag for that, and begin with the same limits.
 */

static void static_allocate(struct allocate_state *state, const struct allocate_input *input,
	struct allocate_output *output)
{
	state->local_limit = input->limit / input->n;
	state->drop = allocate_drop(state->local_limit, input->demand);
	state->regime = input->dropped      ? ALLOCATE_UNBOTTLENECKED
			: input->demand > 0 ? ALLOCATE_BOTTLENECKED
					    : ALLOCATE_IDLE;
	*output = (struct allocate_output){.local_limit = state->local_limit};
}

const struct allocator allocator_static = {
	.name = "static",
	.allocate = static_allocate,
};

const struct allocator allocator_gdrl = {
	.name = "gdrl",
	.moves = true,
	.allocate = static_allocate,
};

const struct allocator allocator_quota = {
	.name = "quota",
	.counts_units = true,
	.allocate = static_allocate,
};

/* --- central ---------------------------------------------------------------------------------- */

/* One bucket with the whole limit: the reference for every other allocator. */

static void central_allocate(struct allocate_state *state, const struct allocate_input *input,
	struct allocate_output *output)
{
	state->local_limit = input->limit;
	state->drop = allocate_drop(state->local_limit, input->demand);
	state->regime = input->dropped      ? ALLOCATE_UNBOTTLENECKED
			: input->demand > 0 ? ALLOCATE_BOTTLENECKED
					    : ALLOCATE_IDLE;
	*output = (struct allocate_output){.local_limit = input->limit};
}

const struct allocator allocator_central = {
	.name = "central",
	.alone = true,
	.allocate = central_allocate,
};

/* --- gtb -------------------------------------------------------------------------------------- */

/*
 * Global token bucket (section 3.2 of Raghavan et al., "Cloud Control with Distributed Rate
 * Limiting", SIGCOMM 2007). Every limiter's bucket fills at the global limit. The arrivals here and
 * the reported arrivals elsewhere drain it. Both rates in one: the bucket fills at the difference,
 * and empties when the others' demand exceeds the limit. For comparison: like in the paper, it
 * favours the limiter with the larger demand, and suffers from every stale record.
 */

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

/* --- grd -------------------------------------------------------------------------------------- */

/*
 * Global random drop (section 3.2.1 and figure 1 of Raghavan et al., "Cloud Control with
 * Distributed Rate Limiting", SIGCOMM 2007). All limiters drop arrivals with the probability
 * (demand - limit) / demand of the sums over all limiters. So each limiter gets a part of the limit
 * in proportion to its demand. That part is the local limit; a token bucket enforces it in place of
 * the random drop.
 */

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

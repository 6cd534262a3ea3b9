/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * limit/N each, independent of demand: the limits without coordination. Allocators that move the
 * ledger's capacity have a flag for that, and begin with the same limits.
 */
#include "allocate/allocate.h"

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

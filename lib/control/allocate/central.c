/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One bucket with the whole limit: the reference for every other allocator.
 */
#include "allocate/allocate.h"

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

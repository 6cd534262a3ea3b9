/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "gossip/tree_shape.h"

#include <stdbool.h>

static unsigned tree_parent_position(unsigned position, unsigned b)
{
	return (position - 1) / b;
}

unsigned tree_depth(unsigned n, unsigned b)
{
	unsigned depth = 0;

	for (unsigned at = n - 1; at > 0; at = tree_parent_position(at, b))
		depth++;
	return depth;
}

static bool candidates_contain(const unsigned *candidates, unsigned n, unsigned position)
{
	for (unsigned i = 0; i < n; i++)
		if (candidates[i] == position)
			return true;
	return false;
}

unsigned tree_candidates(unsigned position, unsigned b, unsigned *candidates)
{
	unsigned n = 0, ancestors;

	for (unsigned at = position; at > 0; at = tree_parent_position(at, b))
		candidates[n++] = tree_parent_position(at, b);
	ancestors = n;
	for (unsigned hub = 1; hub <= TREE_HUBS && hub < position; hub++)
		if (!candidates_contain(candidates, ancestors, hub))
			candidates[n++] = hub;
	return n;
}

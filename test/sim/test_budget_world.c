/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Groups that spend budgets together, see budget_world.c:
 *
 *   test_budget_world [FIRST [SEEDS]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "worlds.h"

/* Part of the mean edge of a random tree that a tree must stay below. */
#define NEAR 0.6

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t seeds = argc > 2 ? strtoull(argv[2], NULL, 10) : 10;
	struct budget_sums sums = {0};

	for (uint64_t seed = first; seed < first + seeds; seed++)
		run_budget_world(seed, &sums);
	printf("%u groups: an edge of the tree is %.2f as long as one drawn by lot; %.1f letters a "
	       "limiter and timeout when nothing happens\n",
		sums.worlds, sums.tree / sums.worlds, sums.messages / sums.nodes);
	return sums.tree / sums.worlds < NEAR ? 0 : 1;
}

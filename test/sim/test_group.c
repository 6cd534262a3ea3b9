/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Groups of limiters, see group_world.c:
 *
 *   test_group [SEED [COUNT [ESTIMATOR [reload]]]]
 *
 * Runs seeds SEED to SEED + COUNT - 1, on the estimator state or tree, with or without reloads. A
 * failure prints its seed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "worlds.h"

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, failed = 0;

	bool tree = argc > 3 && strcmp(argv[3], "tree") == 0;
	bool reloads = argc > 4 && strcmp(argv[4], "reload") == 0;

	if (sodium_init() < 0)
		return 1;
	for (uint64_t i = 0; i < n; i++)
		if (!run_group_world(seed + i, tree ? GOSSIP_TREE : GOSSIP_STATE, reloads)) {
			printf("replay: %s %llu 1 %s%s\n", argv[0], (unsigned long long)(seed + i),
				tree ? "tree" : "state", reloads ? " reload" : "");
			failed++;
		}
	printf("%llu seeds, %llu failed\n", (unsigned long long)n, (unsigned long long)failed);
	return failed ? 1 : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Ledgers, see ledger_world.c:
 *
 *   test_ledger_world [SEED [COUNT [STEPS]]]
 *
 * Runs seeds SEED to SEED + COUNT - 1; a failure prints its seed. In every third one limiters join.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "worlds.h"

#define STEPS 1200

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	unsigned steps = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : STEPS;
	struct ledger_sums sums = {0};
	uint64_t failed = 0;

	for (uint64_t i = 0; i < n; i++) {
		if (!run_ledger_world(seed + i, steps, (seed + i) % 3 == 0, &sums)) {
			printf("replay: %s %" PRIu64 " 1 %u\n", argv[0], seed + i, steps);
			failed++;
		}
	}
	printf("%" PRIu64 " seeds, %" PRIu64 " failed; %" PRIu64 " adoptions, %" PRIu64
	       " memories regained, %" PRIu64 " pieces of news, %" PRIu64 " limiters joined\n",
		n, failed, sums.adoptions, sums.memory_losses, sums.news, sums.joined);
	return failed ? 1 : 0;
}

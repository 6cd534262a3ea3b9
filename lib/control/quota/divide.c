/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Units divided by weight, exactly: equations 5 and 6 of "A tree-based protocol for enforcing
 * quotas in clouds" in whole numbers.
 */
#include "quota/divide.h"

static uint64_t weight_of(uint64_t weight)
{
	return weight < QUOTA_WEIGHT_MOST ? weight : QUOTA_WEIGHT_MOST;
}

void quota_divide(uint64_t pool, const uint64_t *weights, unsigned n, uint64_t *parts)
{
	uint64_t sum = 0, before = 0, given = 0;

	for (unsigned i = 0; i < n; i++)
		sum += weight_of(weights[i]);
	for (unsigned i = 0; i < n; i++) {
		uint64_t upto;

		/* Each ends where the exact ones would end together: nothing is left over. */
		before += weight_of(weights[i]);
		upto = sum ? (uint64_t)((unsigned __int128)pool * before / sum) : 0;
		if (i + 1 == n)
			upto = pool;
		parts[i] = upto - given;
		given = upto;
	}
}

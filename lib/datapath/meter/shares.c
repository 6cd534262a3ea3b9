/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter's limit, divided over its workers by demand: for meters that cannot draw from one
 * shared bucket (shared_bucket.h).
 */
#include "meter/shares.h"

#include <math.h>

/*
 * Rounding can raise a sum of n parts by n halves of the last bit. This margin is too small for any
 * meter to notice, and larger than that for any possible number of workers.
 */
#define BELOW_ONE (1 - 0x1p-44)

double shares_keep(double interval_s)
{
	return exp(-interval_s / SHARES_MEMORY_S);
}

void share_look(struct share *share, uint64_t arrived, double interval_s, double keep)
{
	double rate = (double)(arrived - share->arrived) / interval_s;

	share->arrived = arrived;
	share->demand = share->demand * keep + rate * (1 - keep);
}

void shares_divide(const struct share *shares, unsigned n, double *parts)
{
	double sum = 0, even = BELOW_ONE / n;

	for (unsigned i = 0; i < n; i++)
		sum += shares[i].demand;
	for (unsigned i = 0; i < n; i++) {
		double part = sum > 0 ? shares[i].demand / sum * BELOW_ONE : even;

		parts[i] = SHARES_FLOOR * even + (1 - SHARES_FLOOR) * part;
	}
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Delays of packets in a histogram whose bins grow with the delay: 8 bins per power of two.
 */
#include "shape/delay.h"

void delay_fold(struct delay_sum *sum, const struct delay_bins *delay)
{
	for (unsigned i = 0; i < DELAY_BINS; i++)
		counter_fold(&sum->bins[i], &delay->bins[i]);
}

void delay_merge(struct delay_sum *sum, const struct delay_sum *other)
{
	for (unsigned i = 0; i < DELAY_BINS; i++)
		sum->bins[i] += other->bins[i];
}

uint64_t delay_count(const struct delay_sum *sum)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < DELAY_BINS; i++)
		count += sum->bins[i];
	return count;
}

uint64_t delay_quantile(const struct delay_sum *sum, double share, unsigned unit)
{
	double want = share * (double)delay_count(sum);
	uint64_t seen = 0;

	if (want <= 0)
		return 0;
	for (unsigned i = 0; i < DELAY_BINS; i++) {
		seen += sum->bins[i];
		if ((double)seen >= want)
			return delay_bin_end(i, unit);
	}
	return delay_bin_end(DELAY_BINS - 1, unit);
}

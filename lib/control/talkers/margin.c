/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Confidence intervals that also hold for few samples: Wilson's score interval of a Poisson number
 * of samples that each stand for `unit` packets or bytes. An estimate and its standard error would
 * be too sure with few samples: a sender seen once would certainly send something, and one never
 * seen nothing.
 */
#include "talkers/talkers.h"

#include <math.h>

#define Z 1.96 /* 19 of 20 values lie within so many standard errors */

/* -ln(1/20): with this expected number of samples, a sender is never sampled in 1 of 20 cases. */
#define UNSEEN 3.0

/* Returns the amount that one sample represents beyond itself: 0 if every packet was sampled. */
static double unit_of(double estimate, double variance)
{
	return estimate > 0 ? variance / estimate : 0;
}

static double score_margin(double unit, double variance)
{
	return Z * Z / 2 * unit + Z * sqrt(variance + Z * Z / 4 * unit * unit);
}

double talkers_packets_margin(const struct talker *one)
{
	return score_margin(unit_of(one->packets, one->packets_variance), one->packets_variance);
}

/*
 * If the few samples of a sender are all small, the packets that were not sampled can still be as
 * large as those of others. So the unit is at least that of all traffic.
 */
static double bytes_unit(const struct talker *all, const struct talker *one)
{
	return fmax(
		unit_of(one->bytes, one->bytes_variance), unit_of(all->bytes, all->bytes_variance));
}

double talkers_bytes_margin(const struct talker *all, const struct talker *one)
{
	return score_margin(bytes_unit(all, one), one->bytes_variance);
}

double talkers_share(const struct talker *all, const struct talker *one, double *margin)
{
	double share, unit, variance;

	*margin = 0;
	if (all->bytes <= 0)
		return 0;
	share = one->bytes / all->bytes;
	/*
	 * Variance of a ratio: the part's own samples and the other samples act in opposite
	 * directions.
	 */
	variance = one->bytes_variance * (1 - 2 * share) + share * share * all->bytes_variance;
	unit = bytes_unit(all, one) / all->bytes;
	*margin = score_margin(unit * (1 - share), fmax(variance, 0) / (all->bytes * all->bytes));
	*margin = fmin(*margin, fmax(share, 1 - share));
	return share;
}

double talkers_dropped(const struct talker *one, double *margin)
{
	double unit = unit_of(one->packets, one->packets_variance), share, n, centre, half;

	*margin = 0;
	if (one->packets <= 0)
		return 0;
	share = fmin(one->dropped / one->packets, 1);
	if (unit <= 0)
		return share;
	n = one->packets / unit;
	centre = (share + Z * Z / (2 * n)) / (1 + Z * Z / n);
	half = Z / (1 + Z * Z / n) * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n));
	*margin = half + fabs(centre - share);
	return share;
}

double talkers_unseen(const struct talker *all)
{
	return UNSEEN * unit_of(all->packets, all->packets_variance);
}

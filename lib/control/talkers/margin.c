/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Intervals that hold for few samples too, where an estimate and its standard error alone would say
 * that somebody seen once sends something for sure, and somebody not seen nothing: Wilson's score
 * interval, as of a Poisson number of samples that stand for `unit` each.
 */
#include "talkers/talkers.h"

#include <math.h>

#define Z 1.96 /* standard errors that 19 of 20 lie within */

/* -ln(1/20): as many samples are expected of whoever is not seen once in 20 times. */
#define UNSEEN 3.0

/* What a sample more would change, beyond itself: 0 where every packet was taken. */
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
 * Where one's few samples are all small, what was not taken may be as large as everybody's: their
 * unit is what the size of packets that come often stands for.
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
	/* A ratio's: what is one's own varies with its part of the sum, the rest against it. */
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

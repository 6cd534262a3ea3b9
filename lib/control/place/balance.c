/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <math.h>

#include "place/place_private.h"

#define HALVINGS 100

struct needs {
	double limit[PLACE_BROKERS]; /* units per second of each part */
	double level[PLACE_BROKERS]; /* backlog that PLACE_TAIL of the units exceed */
	double least;                /* depth of a part */
};

/*
 * Returns the sum of the parts' depths if all wait `wait` seconds. A negative wait: they do not
 * wait, and depth is left over.
 */
static double depths_for_wait(const struct needs *needs, double wait, double depth[PLACE_BROKERS])
{
	double sum = 0;

	for (unsigned i = 0; i < PLACE_BROKERS; i++) {
		depth[i] = 0;
		if (needs->limit[i] > 0)
			depth[i] = fmax(needs->least, needs->level[i] - needs->limit[i] * wait);
		sum += depth[i];
	}
	return sum;
}

static void fill_bucket_depths(const struct needs *needs, double burst, double depth[PLACE_BROKERS])
{
	double low = -1, high = 1;

	while (depths_for_wait(needs, low, depth) < burst && low > -1e9)
		low *= 2;
	while (depths_for_wait(needs, high, depth) > burst && high < 1e9)
		high *= 2;
	for (unsigned i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (depths_for_wait(needs, middle, depth) > burst)
			low = middle;
		else
			high = middle;
	}
	depths_for_wait(needs, high, depth);
}

/*
 * Divides the part of the limit above the rates. Asymptotically, a part lacks v / 2s per nat, where
 * v is the mean square of its bursts per second, and s its limit above its rate. The sum over all
 * parts is least for s in proportion to the root of v.
 */
static bool limits_of(const struct placer *placer, const struct placement *placement,
	struct mix *mixes, struct needs *needs)
{
	double slack = (double)placer->problem->aggregate.limit, roots = 0;

	for (unsigned i = 0; i < PLACE_BROKERS; i++) {
		if (placement->parts[i].sources == 0)
			continue;
		mix_of(&mixes[i], placer, placement->at, i, 0);
		roots += sqrt(mix_square(&mixes[i]));
		slack -= placement->parts[i].rate;
	}
	if (slack <= 0)
		return false;
	for (unsigned i = 0; i < PLACE_BROKERS; i++)
		if (placement->parts[i].sources > 0)
			needs->limit[i] = placement->parts[i].rate +
					  slack * sqrt(mix_square(&mixes[i])) / roots;
	return true;
}

bool place_balance(const struct placer *placer, const struct placement *placement,
	double limits[PLACE_BROKERS], double bursts[PLACE_BROKERS])
{
	const struct place_aggregate *a = &placer->problem->aggregate;
	double worth = place_worth(placer, placement);
	struct needs needs = {.least = (double)a->least * worth};
	struct mix mixes[PLACE_BROKERS];

	if (!limits_of(placer, placement, mixes, &needs))
		return false;
	for (unsigned i = 0; i < PLACE_BROKERS; i++) {
		struct backlog backlog;

		if (needs.limit[i] <= 0)
			continue;
		if (placer->level > 0) {
			needs.level[i] = replay_level(placer, placement->at, i, needs.limit[i]);
			continue;
		}
		backlog_of(&backlog, &mixes[i], needs.limit[i]);
		needs.level[i] = backlog_level(&backlog, PLACE_TAIL);
	}
	fill_bucket_depths(&needs, (double)a->burst * worth, bursts);
	for (unsigned i = 0; i < PLACE_BROKERS; i++)
		limits[i] = needs.limit[i];
	return true;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <math.h>
#include <stddef.h>

#include "place/private.h"

#define STEPS 256 /* of the larger part's share, from a half to all */

/* Of sources that send by themselves and at random, a part is the same as all, but less often. */
static bool any_part_is_alike(const struct place_problem *problem)
{
	for (uint32_t i = 0; i < problem->n_sources; i++)
		if (problem->sources[i].group != 0 || problem->sources[i].period > 0)
			return false;
	return problem->n_sources > 0;
}

static void thin(struct mix *mix, const struct mix *whole, double share)
{
	*mix = *whole;
	mix->load *= share;
	for (unsigned i = 0; i < mix->n; i++)
		mix->rates[i] *= share;
}

static double level_of(const struct mix *mix, double speed)
{
	struct lack lack;

	lack_of(&lack, mix, speed);
	return lack_level(&lack, PLACE_TAIL);
}

/* What the larger part's units wait for service, wherever that is least. */
static double service(const struct place_problem *problem, const struct mix *part)
{
	double least = HUGE_VAL;

	for (unsigned i = 0; i < problem->n_brokers; i++) {
		const struct place_broker *broker = &problem->brokers[i];
		struct mix mix = *part;

		if (broker->speed <= 0)
			return 0;
		if (broker->load > 0 && broker->load_batch > 0)
			mix_add(&mix, broker->load_batch, broker->load / broker->load_batch);
		least = fmin(least, level_of(&mix, broker->speed) / broker->speed);
	}
	return least;
}

/* And what both parts' wait for tokens, when limits and bursts are divided as well as can be. */
static double tokens(
	const struct place_aggregate *a, const struct mix *whole, double share, double burst)
{
	const double shares[] = {share, 1 - share};
	double slack = (double)a->limit - whole->load, sum = 0;

	for (unsigned i = 0; i < 2; i++) {
		double roots = sqrt(share) + sqrt(1 - share);
		struct mix mix;

		if (shares[i] <= 0)
			continue;
		thin(&mix, whole, shares[i]);
		sum += level_of(&mix, mix.load + slack * sqrt(shares[i]) / roots);
	}
	return fmax(0, (sum - burst) / (double)a->limit);
}

double place_bound(const struct placer *placer)
{
	const struct place_aggregate *a = &placer->problem->aggregate;
	struct placement none = {0};
	double least = HUGE_VAL, burst;
	struct mix whole, part;

	if (!any_part_is_alike(placer->problem))
		return 0;
	mix_of(&whole, placer, NULL, PLACE_NOWHERE, 0);
	burst = (double)a->burst * place_worth(placer, &none);
	for (unsigned i = STEPS / 2; i <= STEPS; i++) {
		double share = (double)i / STEPS;

		thin(&part, &whole, share);
		least = fmin(least,
			fmax(tokens(a, &whole, share, burst), service(placer->problem, &part)));
	}
	return a->constant + least;
}

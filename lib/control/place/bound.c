/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A lower bound of the wait that any placement has.
 */
#include <math.h>
#include <stddef.h>

#include "place/place_private.h"

#define STEPS 256   /* from the largest part's share up to 1 */
#define DUST  1e-12 /* share that is only rounding */

/*
 * Returns true if every part behaves like the whole at a lower rate: independent random sources
 * with batches of one size.
 */
static bool any_part_is_alike(const struct place_problem *problem)
{
	for (uint32_t i = 0; i < problem->n_sources; i++) {
		const struct place_source *source = &problem->sources[i];

		if (source->group != 0 || source->period > 0 ||
			source->batch != problem->sources[0].batch)
			return false;
	}
	return problem->n_sources > 0;
}

static void thin_mix(struct mix *mix, const struct mix *whole, double share)
{
	*mix = *whole;
	mix->load *= share;
	for (unsigned i = 0; i < mix->n; i++)
		mix->rates[i] *= share;
}

static double level_of(const struct mix *mix, double speed)
{
	struct backlog backlog;

	backlog_of(&backlog, mix, speed);
	return backlog_level(&backlog, PLACE_TAIL);
}

/* Returns the wait of the largest part's units for service, on the broker where it is least. */
static double least_service_wait(const struct place_problem *problem, const struct mix *part)
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

/*
 * Returns the wait of all units for tokens if limits and bursts are divided optimally. The backlog
 * is least for parts as uneven as the largest allows: as many parts of that share as possible, and
 * the rest.
 */
static double least_token_wait(
	const struct place_aggregate *a, const struct mix *whole, double share, double burst)
{
	double n = floor(1 / share + DUST), rest = fmax(0, 1 - n * share);
	double roots = n * sqrt(share) + sqrt(rest);
	double slack = (double)a->limit - whole->load, sum;
	struct mix mix;

	thin_mix(&mix, whole, share);
	sum = n * level_of(&mix, mix.load + slack * sqrt(share) / roots);
	if (rest > DUST) {
		thin_mix(&mix, whole, rest);
		sum += level_of(&mix, mix.load + slack * sqrt(rest) / roots);
	}
	return fmax(0, (sum - burst) / (double)a->limit);
}

/* A larger largest part waits longer for service, but all lack fewer tokens. */
double place_bound(const struct placer *placer)
{
	const struct place_problem *problem = placer->problem;
	const struct place_aggregate *a = &problem->aggregate;
	struct placement none = {0};
	double least = HUGE_VAL, even = 1.0 / problem->n_brokers, burst;
	struct mix whole, part;

	if (!any_part_is_alike(problem))
		return 0;
	mix_of(&whole, placer, NULL, PLACE_NOWHERE, 0);
	burst = (double)a->burst * place_worth(placer, &none);
	for (unsigned i = 0; i < STEPS; i++) {
		double from = even + (1 - even) * i / STEPS;
		double to = even + (1 - even) * (i + 1) / STEPS;

		thin_mix(&part, &whole, from);
		least = fmin(least, fmax(least_token_wait(a, &whole, to, burst),
					    least_service_wait(problem, &part)));
	}
	return a->constant + least;
}

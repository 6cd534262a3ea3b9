/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Assigns the sources of an aggregate to brokers, and divides the aggregate's bucket among the
 * brokers.
 */
#include "place/place.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/math.h"
#include "base/prng.h"
#include "place/place_private.h"

static bool source_valid(const struct place_source *source)
{
	return source->rate > 0 && isfinite(source->rate) && source->batch > 0 &&
	       isfinite(source->batch) && source->period >= 0 && source->spread >= 0;
}

static bool record_valid(const struct place_record *record, uint32_t n_sources)
{
	for (uint32_t i = 0; i < record->n; i++) {
		const struct place_arrival *arrival = &record->arrivals[i];

		if (arrival->source >= n_sources || !(arrival->units > 0) ||
			!isfinite(arrival->units) || !isfinite(arrival->at))
			return false;
		if (i > 0 && arrival->at < record->arrivals[i - 1].at)
			return false;
	}
	return true;
}

static bool problem_valid(const struct place_problem *problem)
{
	if (problem->n_brokers < 1 || problem->n_brokers > PLACE_BROKERS ||
		problem->aggregate.limit == 0)
		return false;
	for (uint32_t i = 0; i < problem->n_sources; i++)
		if (!source_valid(&problem->sources[i]))
			return false;
	return problem->record == NULL || record_valid(problem->record, problem->n_sources);
}

/*
 * Orders by group, with sources without a group last, then by rate. Equal rates are in order of
 * their phase, or of index without a record. So each broker gets its proportion of sources that
 * follow one another.
 */
static int compare_sources(const void *a, const void *b, void *context)
{
	const struct placer *placer = context;
	const struct place_source *sources = placer->problem->sources;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (sources[x].group != sources[y].group)
		return sources[x].group - 1 < sources[y].group - 1 ? -1 : 1;
	if (sources[x].rate != sources[y].rate)
		return sources[x].rate > sources[y].rate ? -1 : 1;
	if (placer->phases && placer->phases[x] != placer->phases[y])
		return placer->phases[x] < placer->phases[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Sets the phase of each periodic source to its first recorded arrival within the period. */
static int note_phases(struct placer *placer)
{
	const struct place_record *record = placer->problem->record;
	uint32_t n = placer->problem->n_sources;

	if (record == NULL)
		return 0;
	placer->phases = calloc((size_t)n + 1, sizeof(*placer->phases));
	if (placer->phases == NULL)
		return -ENOMEM;
	for (uint32_t i = record->n; i-- > 0;) {
		const struct place_arrival *arrival = &record->arrivals[i];
		double period = placer->problem->sources[arrival->source].period;

		if (period > 0)
			placer->phases[arrival->source] = fmod(
				arrival->at - record->arrivals[0].at, period);
	}
	return 0;
}

/* Returns true if the record predicts the future, because all sources are periodic. */
static bool record_repeats(const struct place_problem *problem)
{
	if (problem->record == NULL)
		return false;
	for (uint32_t i = 0; i < problem->n_sources; i++)
		if (problem->sources[i].period <= 0)
			return false;
	return true;
}

int placer_init(struct placer *placer, const struct place_problem *problem)
{
	uint32_t n = problem->n_sources;
	struct prng prng;

	*placer = (struct placer){.problem = problem};
	if (!problem_valid(problem))
		return -EINVAL;
	placer->by_group = calloc((size_t)n + 1, sizeof(*placer->by_group));
	placer->by_lot = calloc((size_t)n + 1, sizeof(*placer->by_lot));
	if (placer->by_group == NULL || placer->by_lot == NULL || note_phases(placer) < 0) {
		placer_free(placer);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		placer->by_group[i] = i;
		placer->by_lot[i] = i;
		placer->rate += problem->sources[i].rate;
	}
	qsort_r(placer->by_group, n, sizeof(uint32_t), compare_sources, placer);
	prng_seed(&prng, problem->seed);
	for (uint32_t i = n; i > 1; i--) {
		uint32_t other = prng_below(&prng, i), source = placer->by_lot[i - 1];

		placer->by_lot[i - 1] = placer->by_lot[other];
		placer->by_lot[other] = source;
	}
	if (record_repeats(problem))
		placer->level = replay_level(
			placer, NULL, PLACE_NOWHERE, (double)problem->aggregate.limit);
	return 0;
}

void placer_free(struct placer *placer)
{
	free(placer->by_group);
	free(placer->by_lot);
	free(placer->phases);
	placer->phases = NULL;
	placer->by_group = NULL;
	placer->by_lot = NULL;
}

unsigned place_fewest(const struct placer *placer)
{
	const struct place_problem *problem = placer->problem;
	unsigned chosen[PLACE_BROKERS];

	if (!(problem->principles & PLACE_CONCENTRATE))
		return problem->n_brokers;
	return place_choose(problem->brokers, problem->n_brokers, placer->rate, chosen);
}

int place_on(const struct placer *placer, unsigned k, struct placement *placement)
{
	const struct place_problem *problem = placer->problem;
	unsigned chosen[PLACE_BROKERS];
	double quotas[PLACE_BROKERS];

	k = k < problem->n_brokers ? k : problem->n_brokers;
	place_choose(problem->brokers, problem->n_brokers, placer->rate, chosen);
	place_quotas(problem, placer->rate, chosen, k, quotas);
	place_deal(problem, place_order(placer), problem->n_sources, quotas, placement->at);
	return place_split(placer, true, placement);
}

static void count_parts(const struct placer *placer, struct placement *placement)
{
	placement->used = 0;
	placement->nowhere = 0;
	for (unsigned i = 0; i < PLACE_BROKERS; i++)
		placement->parts[i] = (struct place_part){0};
	for (uint32_t i = 0; i < placer->problem->n_sources; i++) {
		uint32_t at = placement->at[i];

		if (at == PLACE_NOWHERE) {
			placement->nowhere++;
			continue;
		}
		placement->used += placement->parts[at].sources++ == 0;
		placement->parts[at].rate += placer->problem->sources[i].rate;
	}
}

/*
 * Returns the part of a total below a cumulative rate. Rounding cumulative sums makes the parts add
 * up to the total.
 */
static uint64_t up_to(uint64_t total, double rate, double of)
{
	long double share = rate < of ? (long double)rate / of : 1;
	long double cut = roundl((long double)total * share);

	return cut < (long double)total ? (uint64_t)cut : total;
}

static struct place_part *largest_of(struct placement *placement)
{
	struct place_part *largest = &placement->parts[0];

	for (unsigned i = 1; i < PLACE_BROKERS; i++)
		if (placement->parts[i].burst > largest->burst)
			largest = &placement->parts[i];
	return largest;
}

/*
 * Raises bursts to the least one, first from the spare amount, then from the largest part. There is
 * enough for all. Returns the spare amount that is left.
 */
static uint64_t raise_bursts(struct placement *placement, uint64_t least, uint64_t spare)
{
	for (unsigned i = 0; i < PLACE_BROKERS; i++) {
		struct place_part *part = &placement->parts[i];

		while (part->sources > 0 && part->burst < least) {
			struct place_part *largest = largest_of(placement);
			uint64_t backlog = least - part->burst, give;

			if (spare == 0) {
				spare = min_u64(largest->burst - least, backlog);
				largest->burst -= spare;
			}
			give = spare < backlog ? spare : backlog;
			part->burst += give;
			spare -= give;
		}
	}
	return spare;
}

/* Divides limit and burst in proportion to weights. `others` is the weight of sources elsewhere. */
static void divide_sources(const struct place_aggregate *a, const double *limits,
	const double *bursts, double others, struct placement *placement)
{
	double limit = 0, burst = 0, all_limits = others, all_bursts = others;
	uint64_t spare = a->burst;

	for (unsigned i = 0; i < PLACE_BROKERS; i++) {
		all_limits += limits[i];
		all_bursts += bursts[i];
	}
	for (unsigned i = 0; i < PLACE_BROKERS; i++) {
		struct place_part *part = &placement->parts[i];

		if (part->sources == 0)
			continue;
		part->limit = up_to(a->limit, limit + limits[i], all_limits) -
			      up_to(a->limit, limit, all_limits);
		part->burst = up_to(a->burst, burst + bursts[i], all_bursts) -
			      up_to(a->burst, burst, all_bursts);
		spare -= part->burst;
		limit += limits[i];
		burst += bursts[i];
	}
	spare = raise_bursts(placement, a->least, spare);
	if (others <= 0)
		largest_of(placement)->burst += spare;
}

int place_split(const struct placer *placer, bool whole, struct placement *placement)
{
	const struct place_aggregate *a = &placer->problem->aggregate;
	double rates[PLACE_BROKERS], limits[PLACE_BROKERS], bursts[PLACE_BROKERS], placed = 0;
	bool balanced = whole && (placer->problem->principles & PLACE_BALANCED);

	count_parts(placer, placement);
	if (placement->used == 0)
		return 0;
	if (a->burst / placement->used < a->least)
		return -ERANGE;
	for (unsigned i = 0; i < PLACE_BROKERS; i++) {
		rates[i] = placement->parts[i].rate;
		placed += rates[i];
	}
	if (balanced && placement->used > 1 && place_balance(placer, placement, limits, bursts))
		divide_sources(a, limits, bursts, 0, placement);
	else
		divide_sources(a, rates, rates,
			whole || placement->nowhere == 0 ? 0 : placer->rate - placed, placement);
	return 0;
}

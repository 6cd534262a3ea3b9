/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Divides sources and the bucket among brokers: the principles, the quotas and the depths.
 */
#include "place/place_private.h"

#include <math.h>

/* Tolerance, so that rounding of sums does not reject a source that fits exactly. */
#define ROUNDING (1 + 1e-9)

#define HALVINGS 100

const uint32_t *place_order(const struct placer *placer)
{
	bool correlated = placer->problem->principles & PLACE_CORRELATED;

	return correlated ? placer->by_group : placer->by_lot;
}

bool place_fewer_principles(unsigned all, unsigned *some)
{
	unsigned stays = all & PLACE_CONCENTRATE, left = *some & ~stays;

	if (left == 0)
		return false;
	*some = stays | ((left - 1) & all & ~stays);
	return true;
}

double place_room(const struct place_broker *broker)
{
	return broker->full ? 0 : fmax(0, broker->capacity - broker->load);
}

unsigned place_choose(
	const struct place_broker *brokers, unsigned n, double rate, unsigned chosen[PLACE_BROKERS])
{
	double room = 0;
	unsigned k = 0;

	/* Insertion sort by falling room, for a few dozen. Equal ones keep their order. */
	for (unsigned i = 0; i < n; i++) {
		unsigned at = i;

		while (at > 0 && place_room(&brokers[chosen[at - 1]]) < place_room(&brokers[i])) {
			chosen[at] = chosen[at - 1];
			at--;
		}
		chosen[at] = i;
	}
	while (k < n && (k == 0 || room * ROUNDING < rate))
		room += place_room(&brokers[chosen[k++]]);
	return k;
}

struct level {
	const struct place_broker *brokers;
	const unsigned *chosen;
	unsigned k;
	bool max_min;
};

/* Returns the amount of a broker if all are filled up to one level. */
static double broker_fill(const struct level *level, unsigned i, double height)
{
	const struct place_broker *broker = &level->brokers[level->chosen[i]];
	double ground = level->max_min ? 0 : broker->load;

	return fmin(fmax(0, height - ground), place_room(broker));
}

/*
 * Fills brokers like vessels with water. To make parts equal the ground is flat. To make total
 * loads equal the ground is the load of each. The ceiling is their room.
 */
void place_quotas(const struct place_problem *problem, double rate, const unsigned *chosen,
	unsigned k, double quotas[PLACE_BROKERS])
{
	struct level level = {
		problem->brokers, chosen, k, (problem->principles & PLACE_MAX_MIN) != 0};
	double low = 0, high = rate;

	for (unsigned i = 0; i < k; i++)
		high = fmax(high, rate + problem->brokers[chosen[i]].load);
	for (unsigned i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2, filled = 0;

		for (unsigned j = 0; j < k; j++)
			filled += broker_fill(&level, j, middle);
		if (filled < rate)
			low = middle;
		else
			high = middle;
	}
	for (unsigned i = 0; i < PLACE_BROKERS; i++)
		quotas[i] = 0;
	for (unsigned i = 0; i < k; i++)
		quotas[chosen[i]] = broker_fill(&level, i, high);
}

struct dealing {
	const struct place_problem *problem;
	const double *quotas;
	double quota; /* sum of all quotas */
	double rate;  /* assigned so far */
	double given[PLACE_BROKERS];
};

static uint32_t furthest_behind(const struct dealing *d, double rate)
{
	uint32_t best = PLACE_NOWHERE;
	double most = 0;

	for (unsigned i = 0; i < d->problem->n_brokers; i++) {
		double behind = d->quotas[i] / d->quota * d->rate - d->given[i];
		const double room = place_room(&d->problem->brokers[i]);
		const bool fits = d->quotas[i] > 0 && d->given[i] + rate <= room * ROUNDING;

		if (fits && (best == PLACE_NOWHERE || behind > most)) {
			best = i;
			most = behind;
		}
	}
	return best;
}

void place_deal(const struct place_problem *problem, const uint32_t *order, uint32_t n,
	const double quotas[PLACE_BROKERS], uint32_t *at)
{
	struct dealing d = {.problem = problem, .quotas = quotas};

	for (unsigned i = 0; i < problem->n_brokers; i++)
		d.quota += quotas[i];
	for (uint32_t i = 0; i < n; i++) {
		double rate = problem->sources[order[i]].rate;
		uint32_t broker;

		d.rate += rate;
		broker = furthest_behind(&d, rate);
		at[order[i]] = broker;
		if (broker != PLACE_NOWHERE)
			d.given[broker] += rate;
	}
}

#define SHED 0.08 /* part of a broker's sources that one call removes */

bool place_shed(const struct placement *placement, const double *delays, double slo,
	struct place_broker *brokers, unsigned n)
{
	unsigned used = 0, above = 0;

	for (unsigned i = 0; i < n; i++) {
		used += placement->parts[i].sources > 0;
		above += placement->parts[i].sources > 0 && delays[i] > slo;
	}
	if (above == 0 || above == used)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (placement->parts[i].sources > 0 && delays[i] > slo)
			brokers[i].capacity = brokers[i].load +
					      (1 - SHED) * placement->parts[i].rate;
	return true;
}

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

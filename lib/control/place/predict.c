/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Predicts the waits of a placement before a trial, from the rates and bursts of the sources. It
 * models two queues in a row, as if they were independent:
 *
 * - Tokens. The units that a part of the bucket lacks are the work of a queue whose jobs are the
 *   bursts of whole groups. Asymptotically its tail is C exp(-decay x) (Cramér and Lundberg;
 *   formula (1) of "Impact of Distributed Rate Limiting ..." is that for bursts of one unit). With
 *   periodic sources it is a bridge, with a factor exp(-2 x^2 / n) for n bursts per period.
 * - Service. The work of a broker follows Pollaczek and Khinchine's formula, by Panjer's recursion
 *   over a grid. Bursts of few groups are too large, compared with the objective, for an asymptote.
 *
 * The backlog of the whole bucket can be measured. The backlog of a part is its share of that, plus
 * a random deviation where bursts are not split like the rates. This is a random walk for as long
 * as the backlog took.
 *
 * If all sources have a period, they repeat. If they were also recorded, the record is played
 * through exact buckets and servers with the brokers' speeds, and random load of others. This needs
 * no model of arrivals. Random arrivals will not repeat, so for them the model is better than a
 * record.
 */
#include "place/place.h"

#include <math.h>
#include <stddef.h>

#include "place/place_private.h"

#define BINS  256 /* number of bins of the grid */
#define REACH 4   /* range of the grid, in objectives */

/* Tolerance: a share equal to the tail, except for rounding, is not larger. */
#define ALIKE 1.01

/* Standard deviations by which a part's units exceed their share: typical, and at most. */
#define LIKELY 1.0
#define RARE   3.0

/* A bridge deviates as far as a walk of a quarter of its period. */
#define BRIDGE 4

/* The wait for tokens of the units of a part. */
struct access {
	struct backlog backlog;
	double depth, limit;
};

/*
 * Returns the backlog of a part, derived from the measured backlog of the whole: its share, plus
 * its random deviation since the bucket was full. 0: not measured.
 */
static double stray_backlog(const struct placer *placer, const struct placement *placement,
	unsigned broker, double period, double deviations)
{
	const struct place_aggregate *a = &placer->problem->aggregate;
	double share = placement->parts[broker].rate / placer->rate;
	double slack = (double)a->limit - placer->rate, since;

	if (a->backlog <= 0 || slack <= 0)
		return 0;
	since = a->backlog / slack;
	if (period > 0)
		since = fmin(since, period / BRIDGE);
	return share * a->backlog +
	       deviations * sqrt(since * mix_deviation(placer, placement->at, broker, share));
}

static void access_of(struct access *access, const struct placer *placer,
	const struct placement *placement, unsigned broker, double deviations)
{
	const struct place_part *part = &placement->parts[broker];
	struct mix mix;
	double lacks;

	mix_of(&mix, placer, placement->at, broker, 0);
	backlog_of(&access->backlog, &mix, (double)part->limit);
	access->limit = (double)part->limit;
	access->depth = (double)part->burst * place_worth(placer, placement);
	lacks = stray_backlog(placer, placement, broker, mix.period, deviations) -
		(double)part->burst;
	if (lacks > 0 && access->backlog.decay > 0)
		access->depth = fmin(
			access->depth, backlog_level(&access->backlog, PLACE_TAIL) - lacks);
}

static double access_quantile(const struct access *access, double share)
{
	double level = backlog_level(&access->backlog, share);

	return fmax(0, (level - access->depth) / access->limit);
}

/* Distribution of service time, in bins. */
struct grid {
	double step; /* seconds */
	double at[BINS];
};

/* Sets the probability that the rest of a burst in service takes each time. */
static void grid_residual(struct grid *grid, const struct mix *mix, double speed)
{
	double below = 0;

	for (unsigned i = 0; i < BINS; i++) {
		double x = (i + 0.5) * grid->step, next = 0;

		for (unsigned j = 0; j < mix->n; j++)
			next += mix->rates[j] * fmin(mix->sizes[j], x * speed);
		next /= mix->load;
		grid->at[i] = next - below;
		below = next;
	}
}

/*
 * Sets the distribution of work: a geometric number of residuals (Pollaczek and Khinchine), by
 * Panjer's recursion.
 */
static void grid_work(struct grid *work, const struct grid *rest, double load)
{
	double first = 1 - load * rest->at[0];

	work->at[0] = (1 - load) / first;
	for (unsigned i = 1; i < BINS; i++) {
		double sum = 0;

		for (unsigned j = 1; j <= i; j++)
			sum += rest->at[j] * work->at[i - j];
		work->at[i] = load / first * sum;
	}
}

/* Sets the time from the token to the end of service. Returns false if overloaded. */
static bool service_of(struct grid *service, const struct placer *placer,
	const struct placement *placement, unsigned broker)
{
	const struct place_broker *b = &placer->problem->brokers[broker];
	struct grid rest = *service, own = *service, work = *service;
	struct mix mix;

	for (unsigned i = 0; i < BINS; i++)
		service->at[i] = i == 0;
	if (b->speed <= 0)
		return true;
	mix_of(&mix, placer, placement->at, broker, b->speed);
	grid_residual(&own, &mix, b->speed);
	if (b->load > 0) {
		double batch = b->load_batch > 0 ? b->load_batch : b->speed * service->step;

		mix_add(&mix, batch, b->load / batch);
	}
	if (mix.load >= b->speed)
		return false;
	grid_residual(&rest, &mix, b->speed);
	grid_work(&work, &rest, mix.load / b->speed);
	/* The sum of both times. */
	for (unsigned i = 0; i < BINS; i++) {
		service->at[i] = 0;
		for (unsigned j = 0; j <= i; j++)
			service->at[i] += work.at[j] * own.at[i - j];
	}
	return true;
}

/* Returns the share of units that both waits together delay by more than `bins` bins. */
static double both_tail(const struct grid *service, const struct access *access, unsigned bins)
{
	double tail = 0, sum = 0;

	for (unsigned i = 0; i <= bins; i++) {
		const double seconds = (bins - i) * service->step;

		tail += service->at[i] *
			backlog_tail(&access->backlog, access->depth + access->limit * seconds);
		sum += service->at[i];
	}
	return tail + fmax(0, 1 - sum);
}

static double both_quantile(const struct grid *service, const struct access *access, double share)
{
	unsigned low = 0, high = BINS - 1;

	if (both_tail(service, access, high) > share)
		return fmax(high * service->step, access_quantile(access, share));
	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (both_tail(service, access, middle) > share)
			low = middle + 1;
		else
			high = middle;
	}
	return low * service->step;
}

void place_predict(const struct placer *placer, const struct placement *placement, unsigned broker,
	struct place_delay *delay)
{
	const struct place_aggregate *a = &placer->problem->aggregate;
	struct grid service = {.step = REACH * a->slo / BINS};
	struct access access, most;

	if (replay(placer, placement, broker, delay))
		return;
	*delay = (struct place_delay){HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL};
	access_of(&access, placer, placement, broker, LIKELY);
	delay->access_p99 = access_quantile(&access, PLACE_TAIL * ALIKE);
	if (!service_of(&service, placer, placement, broker) || access.backlog.decay <= 0)
		return;
	delay->p50 = a->constant + both_quantile(&service, &access, 0.5);
	delay->p99 = a->constant + both_quantile(&service, &access, PLACE_TAIL * ALIKE);
	if (a->backlog <= 0 || placer->problem->brokers[broker].load > 0)
		return;
	access_of(&most, placer, placement, broker, RARE);
	delay->most = PLACE_DOUBT *
		      (a->constant + both_quantile(&service, &most, PLACE_TAIL * ALIKE));
}

double place_predict_worst(const struct placer *placer, const struct placement *placement)
{
	double worst = 0;

	for (unsigned i = 0; i < placer->problem->n_brokers; i++) {
		struct place_delay delay;

		if (placement->parts[i].sources == 0)
			continue;
		place_predict(placer, placement, i, &delay);
		worst = fmax(worst, delay.p99);
	}
	return worst;
}

/* A lower bound of the wait that any placement has. */

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

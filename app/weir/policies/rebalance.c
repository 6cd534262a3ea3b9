/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Chooses workers for the buckets of one placed policy: the fewest workers that keep its objective.
 */
#include "rebalance.h"

#include <math.h>
#include <string.h>

/* Packets that a worker needs for a 99th percentile: three exceed it. */
#define WORKER_LEAST 300

/* Utilization of a worker above which waiting times grow fast. */
#define USE_MOST 0.7

/* Extra capacity of the home worker, which needs no ring: it wins among workers with equal room. */
#define HOME_BONUS 1.01

/* Spare room that fewer workers must have had, and for how many rounds, before a trial of them. */
#define SPARE       0.8
#define CALM_ROUNDS 5
#define CALM_MOST   320
#define REST_ROUNDS 10

/* A worker is to blame if it added this part of the objective. */
#define BLAME 0.5

/* Worker's time for a packet of unknown cost, in seconds. */
#define COST_UNKNOWN 1e-6

/* No limit: packets wait equally long for tokens on any worker. */
#define LIMIT_NONE UINT64_C(1000000000000000)

/*
 * Least rate of a bucket, as a part of the mean, so that buckets without packets are distributed
 * too. They can get packets later.
 */
#define RATE_LEAST (1.0 / 16)

const char *rebalance_state_name(enum rebalance_state state)
{
	static const char *const names[] = {
		[REBALANCE_QUIET] = "quiet",
		[REBALANCE_SETTLED] = "settled",
		[REBALANCE_TRYING] = "trying",
		[REBALANCE_TOKENS] = "tokens",
		[REBALANCE_FULL] = "full",
	};

	return names[state];
}

static unsigned count_used(const uint8_t wanted[RETA_SIZE])
{
	uint64_t used = 0;

	for (unsigned i = 0; i < RETA_SIZE; i++)
		used |= UINT64_C(1) << wanted[i];
	return (unsigned)__builtin_popcountll(used);
}

void rebalance_init(
	struct rebalance *rebalance, const struct rebalance_params *params, unsigned first)
{
	bool concentrate = params->principles & PLACE_CONCENTRATE;

	memset(rebalance, 0, sizeof(*rebalance));
	rebalance->params = *params;
	rebalance->patience = CALM_ROUNDS;
	rebalance->home = first;
	for (unsigned i = 0; i < RETA_SIZE; i++)
		rebalance->wanted[i] = (uint8_t)(concentrate ? first : i % params->n_workers);
	rebalance->used = count_used(rebalance->wanted);
}

/* Ends the trial, whether it was applied or not. */
static void end_trial(struct rebalance *rebalance)
{
	if (rebalance->state != REBALANCE_TRYING)
		return;
	place_fit_free(&rebalance->fit);
	placer_free(&rebalance->placer);
	rebalance->state = REBALANCE_QUIET;
}

void rebalance_free(struct rebalance *rebalance)
{
	end_trial(rebalance);
}

void rebalance_change(struct rebalance *rebalance, const struct rebalance_params *params)
{
	end_trial(rebalance);
	rebalance->params = *params;
	rebalance->patience = CALM_ROUNDS;
	rebalance->calm = rebalance->patience;
	rebalance->resting = 0;
}

/* Neighbours that burst together are distributed in turn; others, the largest first. */
static void set_sources(struct rebalance *rebalance, const struct rebalance_seen *seen)
{
	double sum = 0, least;

	for (unsigned i = 0; i < RETA_SIZE; i++)
		sum += seen->rates[i];
	least = fmax(sum / RETA_SIZE * RATE_LEAST, 1e-3);
	for (unsigned i = 0; i < RETA_SIZE; i++)
		rebalance->sources[i] = (struct place_source){
			.rate = fmax(seen->rates[i], least),
			.batch = seen->batch,
			.group = rebalance->params.grouped ? 1 + i : 0,
		};
}

/*
 * Raises the capacities until every source has a place. If there is not enough room for all
 * sources, all workers get the same additional amount. Each worker has room for at least the
 * largest source.
 */
static void make_rebalance_room(struct rebalance *rebalance)
{
	unsigned n = rebalance->params.n_workers;
	double room = 0, rate = 0, largest = 0;

	for (unsigned i = 0; i < RETA_SIZE; i++) {
		rate += rebalance->sources[i].rate;
		largest = fmax(largest, rebalance->sources[i].rate);
	}
	for (unsigned i = 0; i < n; i++)
		room += place_room(&rebalance->brokers[i]);
	for (unsigned i = 0; i < n; i++) {
		struct place_broker *broker = &rebalance->brokers[i];
		double more = (rate + n * largest - room) / n;

		broker->capacity = broker->load + place_room(broker) + fmax(more, 0);
		broker->capacity = fmax(broker->capacity, broker->load + largest);
	}
}

static void set_brokers(struct rebalance *rebalance, const struct rebalance_seen *seen, double use)
{
	double sum = 0, cost;
	unsigned n = 0;

	/* The average cost of a unit: the workers are alike. */
	for (unsigned i = 0; i < rebalance->params.n_workers; i++) {
		sum += seen->workers[i].cost;
		n += seen->workers[i].cost > 0;
	}
	cost = n ? sum / n : COST_UNKNOWN / seen->batch;
	for (unsigned i = 0; i < rebalance->params.n_workers; i++) {
		const struct rebalance_worker *worker = &seen->workers[i];

		rebalance->brokers[i] = (struct place_broker){
			.capacity = use / cost,
			.speed = 1 / cost,
			.load = worker->others + worker->handing / cost,
			.load_batch = seen->batch,
		};
	}
	make_rebalance_room(rebalance);
	rebalance->brokers[rebalance->home].capacity *= HOME_BONUS;
}

static int pose_problem(struct rebalance *rebalance, const struct rebalance_seen *seen, double use)
{
	double slo = rebalance->params.slo;
	double token_delay = 0; /* how long packets of the slowest worker wait for tokens */

	for (unsigned i = 0; i < rebalance->params.n_workers; i++)
		if (seen->workers[i].packets >= WORKER_LEAST)
			token_delay = fmax(
				token_delay, seen->workers[i].p99 - seen->workers[i].added);
	set_sources(rebalance, seen);
	set_brokers(rebalance, seen, use);
	rebalance->problem = (struct place_problem){
		.aggregate = {.limit = LIMIT_NONE,
			.burst = LIMIT_NONE,
			.slo = slo,
			.constant = fmin(token_delay, slo * (1 - BLAME))},
		.sources = rebalance->sources,
		.n_sources = RETA_SIZE,
		.brokers = rebalance->brokers,
		.n_brokers = rebalance->params.n_workers,
		.principles = rebalance->params.principles,
		.seed = rebalance->changes,
	};
	return placer_init(&rebalance->placer, &rebalance->problem);
}

/* Returns the fewest workers that have room for the measured load at a utilization of `use`. */
static unsigned fewest_workers(
	struct rebalance *rebalance, const struct rebalance_seen *seen, double use)
{
	unsigned n = rebalance->params.n_workers;

	if (pose_problem(rebalance, seen, use))
		return n;
	n = place_fewest(&rebalance->placer);
	placer_free(&rebalance->placer);
	return n;
}

/* Returns a bucket's worker. Buckets without a place go to the worker with the lowest rate. */
static uint8_t rebalance_worker_of(const struct rebalance *rebalance, unsigned bucket)
{
	const struct placement *trial = &rebalance->fit.trial;
	unsigned least = 0;

	if (trial->at[bucket] != PLACE_NOWHERE)
		return (uint8_t)trial->at[bucket];
	for (unsigned i = 1; i < rebalance->params.n_workers; i++)
		if (trial->parts[i].rate < trial->parts[least].rate)
			least = i;
	return (uint8_t)least;
}

/*
 * Returns the delay that the fit uses for a worker. Delay that it did not cause is no failure of
 * the trial.
 */
static double worker_verdict(
	const struct rebalance *rebalance, const struct rebalance_worker *worker)
{
	double slo = rebalance->params.slo;

	if (worker->packets < WORKER_LEAST)
		return 0;
	if (worker->p99 > slo && worker->added <= BLAME * slo)
		return slo;
	return worker->p99;
}

static void worker_verdicts(const struct rebalance *rebalance, const struct rebalance_seen *seen,
	double p99[PLACE_BROKERS])
{
	for (unsigned i = 0; i < PLACE_BROKERS; i++)
		p99[i] = i < rebalance->params.n_workers
				 ? worker_verdict(rebalance, &seen->workers[i])
				 : 0;
}

static bool conclude_trial(struct rebalance *rebalance, enum place_fit_state state)
{
	bool changed = false;

	for (unsigned i = 0; i < RETA_SIZE; i++) {
		uint8_t worker = rebalance_worker_of(rebalance, i);

		changed |= rebalance->wanted[i] != worker;
		rebalance->wanted[i] = worker;
	}
	rebalance->used = count_used(rebalance->wanted);
	rebalance->changes += changed;
	if (state == PLACE_MEASURE) {
		rebalance->trials++;
		return changed;
	}
	if (rebalance->gathering && rebalance->used < rebalance->used_before)
		rebalance->patience = CALM_ROUNDS;
	else if (rebalance->gathering && rebalance->patience < CALM_MOST)
		rebalance->patience *= 2; /* after a gathering without success */
	end_trial(rebalance);
	rebalance->calm = 0;
	rebalance->state = state == PLACE_SETTLED ? REBALANCE_SETTLED : REBALANCE_FULL;
	rebalance->resting = state == PLACE_SETTLED ? 0 : REST_ROUNDS;
	return changed;
}

/*
 * Skips trials of no more workers than now: the present ones have missed the objective, and fewer
 * would miss it by more.
 */
static enum place_fit_state skip_known(
	struct rebalance *rebalance, const struct rebalance_seen *seen, enum place_fit_state state)
{
	double p99[PLACE_BROKERS], worse[PLACE_BROKERS];
	struct place_fit *fit = &rebalance->fit;

	worker_verdicts(rebalance, seen, p99);
	for (unsigned i = 0; i < PLACE_BROKERS; i++)
		worse[i] = 2 * fmax(p99[i], rebalance->params.slo);
	while (state == PLACE_MEASURE && fit->trial.used <= rebalance->used &&
		fit->trial.used > 0) {
		unsigned before = fit->trial.used;

		state = place_fit_measured(fit, before < rebalance->used ? worse : p99);
		if (fit->trial.used <= before)
			break;
	}
	return state;
}

/* Begins a trial of the fewest workers that are predicted to keep the objective. */
static bool try_placement(
	struct rebalance *rebalance, const struct rebalance_seen *seen, bool missed)
{
	enum place_fit_state state;

	if (pose_problem(rebalance, seen, USE_MOST))
		return false;
	if (place_fit_init(&rebalance->fit, &rebalance->placer, PLACE_PREDICT, &state)) {
		placer_free(&rebalance->placer);
		return false;
	}
	if (state == PLACE_EXHAUSTED) { /* no prediction keeps it: try all workers */
		place_on(&rebalance->placer, rebalance->params.n_workers, &rebalance->fit.trial);
		state = PLACE_MEASURE;
	}
	rebalance->state = REBALANCE_TRYING;
	rebalance->used_before = rebalance->used;
	rebalance->gathering = !missed && rebalance->fit.trial.used < rebalance->used;
	return conclude_trial(rebalance, missed ? skip_known(rebalance, seen, state) : state);
}

static bool review_round(struct rebalance *rebalance, const struct rebalance_seen *seen)
{
	bool missed = false; /* a worker misses the objective by its own delay */
	bool tokens = false; /* a worker misses it for any reason */

	for (unsigned i = 0; i < rebalance->params.n_workers; i++) {
		const struct rebalance_worker *worker = &seen->workers[i];

		missed |= worker_verdict(rebalance, worker) > rebalance->params.slo;
		tokens |= worker->packets >= WORKER_LEAST && worker->p99 > rebalance->params.slo;
	}
	if (rebalance->resting > 0) {
		rebalance->resting--;
		return false;
	}
	if (missed || fewest_workers(rebalance, seen, USE_MOST) > rebalance->used)
		return try_placement(rebalance, seen, true);
	rebalance->state = tokens ? REBALANCE_TOKENS : REBALANCE_SETTLED;
	if (fewest_workers(rebalance, seen, USE_MOST * SPARE) >= rebalance->used &&
		rebalance->calm < rebalance->patience)
		rebalance->calm = 0;
	else
		rebalance->calm++;
	/* After enough rounds in which fewer workers had room, or after new parameters. */
	return rebalance->calm >= rebalance->patience && try_placement(rebalance, seen, false);
}

bool rebalance_round(struct rebalance *rebalance, const struct rebalance_seen *seen)
{
	double p99[PLACE_BROKERS];
	uint64_t packets = 0;
	bool changed;

	rebalance->rounds++;
	if (rebalance->state == REBALANCE_TRYING) {
		worker_verdicts(rebalance, seen, p99);
		return conclude_trial(rebalance, place_fit_measured(&rebalance->fit, p99));
	}
	changed = review_round(rebalance, seen);
	for (unsigned i = 0; i < rebalance->params.n_workers; i++)
		packets += seen->workers[i].packets;
	if (rebalance->state == REBALANCE_SETTLED && packets < REBALANCE_PACKETS)
		rebalance->state = REBALANCE_QUIET;
	return changed;
}

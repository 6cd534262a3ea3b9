/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "fitting.h"

#include <math.h>
#include <string.h>

/* Packets of a worker that a 99th percentile can be told from: three are beyond it. */
#define WORKER_LEAST 300

/* The part of what a worker can do above which what it is to do waits ever longer. */
#define USE_MOST 0.7

/* A worker that needs no ring is chosen among those that have as much room. */
#define HOME_BONUS 1.01

/* Room that fewer workers must have had to spare, and for how many rounds, before it is tried. */
#define SPARE       0.8
#define CALM_ROUNDS 5
#define CALM_MOST   320
#define REST_ROUNDS 10

/* A worker is to blame if it has added this part of the objective. */
#define BLAME 0.5

/* The part of what it can do, cycles of a second aside: a packet whose cost nobody knows. */
#define COST_UNKNOWN 1e-6

/* A limit that is none: packets wait for tokens alike wherever they are. */
#define LIMIT_NONE UINT64_C(1000000000000000)

/*
 * The least part of the mean rate: so that buckets without packets are dealt out too, who may come.
 */
#define RATE_LEAST (1.0 / 16)

const char *fitting_state_name(enum fitting_state state)
{
	static const char *const names[] = {
		[FITTING_QUIET] = "quiet",
		[FITTING_SETTLED] = "settled",
		[FITTING_TRYING] = "trying",
		[FITTING_TOKENS] = "tokens",
		[FITTING_FULL] = "full",
	};

	return names[state];
}

static unsigned count_used(const uint8_t wanted[SEATS])
{
	uint64_t used = 0;

	for (unsigned i = 0; i < SEATS; i++)
		used |= UINT64_C(1) << wanted[i];
	return (unsigned)__builtin_popcountll(used);
}

void fitting_init(struct fitting *fitting, const struct fitting_params *params, unsigned first)
{
	bool concentrate = params->principles & PLACE_CONCENTRATE;

	memset(fitting, 0, sizeof(*fitting));
	fitting->params = *params;
	fitting->patience = CALM_ROUNDS;
	fitting->home = first;
	for (unsigned i = 0; i < SEATS; i++)
		fitting->wanted[i] = (uint8_t)(concentrate ? first : i % params->n_workers);
	fitting->used = count_used(fitting->wanted);
}

/* The trial is over, whatever it came to. */
static void end_trial(struct fitting *fitting)
{
	if (fitting->state != FITTING_TRYING)
		return;
	place_fit_free(&fitting->fit);
	placer_free(&fitting->placer);
	fitting->state = FITTING_QUIET;
}

void fitting_free(struct fitting *fitting)
{
	end_trial(fitting);
}

void fitting_change(struct fitting *fitting, const struct fitting_params *params)
{
	end_trial(fitting);
	fitting->params = *params;
	fitting->patience = CALM_ROUNDS;
	fitting->calm = fitting->patience;
	fitting->resting = 0;
}

static double sum_rates(const double *rates)
{
	double sum = 0;

	for (unsigned i = 0; i < SEATS; i++)
		sum += rates[i];
	return sum;
}

/* Neighbours that burst together are dealt out in turn; others, the largest first. */
static void set_sources(struct fitting *fitting, const struct fitting_seen *seen)
{
	double least = fmax(sum_rates(seen->rates) / SEATS * RATE_LEAST, 1e-3);

	for (unsigned i = 0; i < SEATS; i++)
		fitting->sources[i] = (struct place_source){
			.rate = fmax(seen->rates[i], least),
			.batch = seen->batch,
			.group = fitting->params.grouped ? 1 + i : 0,
		};
}

/* What a unit costs on average; the workers are alike. */
static double mean_cost(const struct fitting *fitting, const struct fitting_seen *seen)
{
	double sum = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < fitting->params.n_workers; i++) {
		sum += seen->workers[i].cost;
		n += seen->workers[i].cost > 0;
	}
	return n ? sum / n : COST_UNKNOWN / seen->batch;
}

/*
 * Every source has to have a place: where there is no room for all, all workers have as much more
 * as it takes. And the largest has one whole.
 */
static void make_fitting_room(struct fitting *fitting)
{
	unsigned n = fitting->params.n_workers;
	double room = 0, rate = 0, largest = 0;

	for (unsigned i = 0; i < SEATS; i++) {
		rate += fitting->sources[i].rate;
		largest = fmax(largest, fitting->sources[i].rate);
	}
	for (unsigned i = 0; i < n; i++)
		room += place_room(&fitting->brokers[i]);
	for (unsigned i = 0; i < n; i++) {
		struct place_broker *broker = &fitting->brokers[i];
		double more = (rate + n * largest - room) / n;

		broker->capacity = broker->load + place_room(broker) + fmax(more, 0);
		broker->capacity = fmax(broker->capacity, broker->load + largest);
	}
}

static void set_brokers(struct fitting *fitting, const struct fitting_seen *seen, double use)
{
	double cost = mean_cost(fitting, seen);

	for (unsigned i = 0; i < fitting->params.n_workers; i++) {
		const struct fitting_worker *worker = &seen->workers[i];

		fitting->brokers[i] = (struct place_broker){
			.capacity = use / cost,
			.speed = 1 / cost,
			.load = worker->others + worker->handing / cost,
			.load_batch = seen->batch,
		};
	}
	make_fitting_room(fitting);
	fitting->brokers[fitting->home].capacity *= HOME_BONUS;
}

/* What the slowest worker's packets wait for tokens. */
static double token_delay(const struct fitting *fitting, const struct fitting_seen *seen)
{
	double delay = 0;

	for (unsigned i = 0; i < fitting->params.n_workers; i++)
		if (seen->workers[i].packets >= WORKER_LEAST)
			delay = fmax(delay, seen->workers[i].p99 - seen->workers[i].added);
	return delay;
}

static int pose_problem(struct fitting *fitting, const struct fitting_seen *seen, double use)
{
	double slo = fitting->params.slo;

	set_sources(fitting, seen);
	set_brokers(fitting, seen, use);
	fitting->problem = (struct place_problem){
		.aggregate = {.limit = LIMIT_NONE,
			.burst = LIMIT_NONE,
			.slo = slo,
			.constant = fmin(token_delay(fitting, seen), slo * (1 - BLAME))},
		.sources = fitting->sources,
		.n_sources = SEATS,
		.brokers = fitting->brokers,
		.n_brokers = fitting->params.n_workers,
		.principles = fitting->params.principles,
		.seed = fitting->changes,
	};
	return placer_init(&fitting->placer, &fitting->problem);
}

/* The fewest workers that have room for what was seen, with some to spare. */
static unsigned fewest_workers(struct fitting *fitting, const struct fitting_seen *seen, double use)
{
	unsigned n = fitting->params.n_workers;

	if (pose_problem(fitting, seen, use))
		return n;
	n = place_fewest(&fitting->placer);
	placer_free(&fitting->placer);
	return n;
}

/* Buckets that found no place are with the one that has the fewest. */
static uint8_t fitting_worker_of(const struct fitting *fitting, unsigned bucket)
{
	const struct placement *trial = &fitting->fit.trial;
	unsigned least = 0;

	if (trial->at[bucket] != PLACE_NOWHERE)
		return (uint8_t)trial->at[bucket];
	for (unsigned i = 1; i < fitting->params.n_workers; i++)
		if (trial->parts[i].rate < trial->parts[least].rate)
			least = i;
	return (uint8_t)least;
}

static bool apply_placement(struct fitting *fitting)
{
	bool changed = false;

	for (unsigned i = 0; i < SEATS; i++) {
		uint8_t worker = fitting_worker_of(fitting, i);

		changed |= fitting->wanted[i] != worker;
		fitting->wanted[i] = worker;
	}
	fitting->used = count_used(fitting->wanted);
	fitting->changes += changed;
	return changed;
}

/* What is said of a worker to the fit: what is not its doing is no failure of the trial. */
static double worker_verdict(const struct fitting *fitting, const struct fitting_worker *worker)
{
	double slo = fitting->params.slo;

	if (worker->packets < WORKER_LEAST)
		return 0;
	if (worker->p99 > slo && worker->added <= BLAME * slo)
		return slo;
	return worker->p99;
}

static void worker_verdicts(
	const struct fitting *fitting, const struct fitting_seen *seen, double p99[PLACE_BROKERS])
{
	for (unsigned i = 0; i < PLACE_BROKERS; i++)
		p99[i] = i < fitting->params.n_workers ? worker_verdict(fitting, &seen->workers[i])
						       : 0;
}

/* Whether any worker misses the objective by its own doing; *tokens, if for other reasons. */
static bool is_missed(const struct fitting *fitting, const struct fitting_seen *seen, bool *tokens)
{
	bool missed = false;

	*tokens = false;
	for (unsigned i = 0; i < fitting->params.n_workers; i++) {
		const struct fitting_worker *worker = &seen->workers[i];

		missed |= worker_verdict(fitting, worker) > fitting->params.slo;
		*tokens |= worker->packets >= WORKER_LEAST && worker->p99 > fitting->params.slo;
	}
	return missed;
}

/* A trial that came together in vain is not made again soon. */
static void judge_gathering(struct fitting *fitting)
{
	if (!fitting->gathering)
		return;
	if (fitting->used < fitting->used_before)
		fitting->patience = CALM_ROUNDS;
	else if (fitting->patience < CALM_MOST)
		fitting->patience *= 2;
}

static bool conclude_trial(struct fitting *fitting, enum place_fit_state state)
{
	bool changed = apply_placement(fitting);

	if (state == PLACE_MEASURE) {
		fitting->trials++;
		return changed;
	}
	judge_gathering(fitting);
	end_trial(fitting);
	fitting->calm = 0;
	fitting->state = state == PLACE_SETTLED ? FITTING_SETTLED : FITTING_FULL;
	fitting->resting = state == PLACE_SETTLED ? 0 : REST_ROUNDS;
	return changed;
}

/* As many workers as are used now need not be tried: they have missed it; fewer would by more. */
static enum place_fit_state skip_known(
	struct fitting *fitting, const struct fitting_seen *seen, enum place_fit_state state)
{
	double p99[PLACE_BROKERS], worse[PLACE_BROKERS];
	struct place_fit *fit = &fitting->fit;

	worker_verdicts(fitting, seen, p99);
	for (unsigned i = 0; i < PLACE_BROKERS; i++)
		worse[i] = 2 * fmax(p99[i], fitting->params.slo);
	while (state == PLACE_MEASURE && fit->trial.used <= fitting->used && fit->trial.used > 0) {
		unsigned before = fit->trial.used;

		state = place_fit_measured(fit, before < fitting->used ? worse : p99);
		if (fit->trial.used <= before)
			break;
	}
	return state;
}

/* A trial of the fewest workers that are predicted to do. */
static bool try_placement(struct fitting *fitting, const struct fitting_seen *seen, bool missed)
{
	enum place_fit_state state;

	if (pose_problem(fitting, seen, USE_MOST))
		return false;
	if (place_fit_init(&fitting->fit, &fitting->placer, PLACE_PREDICT, &state)) {
		placer_free(&fitting->placer);
		return false;
	}
	if (state == PLACE_EXHAUSTED) { /* nothing is predicted to do: all do what they can */
		place_on(&fitting->placer, fitting->params.n_workers, &fitting->fit.trial);
		state = PLACE_MEASURE;
	}
	fitting->state = FITTING_TRYING;
	fitting->used_before = fitting->used;
	fitting->gathering = !missed && fitting->fit.trial.used < fitting->used;
	return conclude_trial(fitting, missed ? skip_known(fitting, seen, state) : state);
}

/* Rounds in which fewer workers would have done, or in which the table is not as it should be. */
static bool is_calm(struct fitting *fitting, const struct fitting_seen *seen)
{
	unsigned least = fewest_workers(fitting, seen, USE_MOST * SPARE);

	if (least >= fitting->used && fitting->calm < fitting->patience)
		fitting->calm = 0;
	else
		fitting->calm++;
	return fitting->calm >= fitting->patience;
}

static bool review_round(struct fitting *fitting, const struct fitting_seen *seen)
{
	bool tokens, missed = is_missed(fitting, seen, &tokens);

	if (fitting->resting > 0) {
		fitting->resting--;
		return false;
	}
	if (missed || fewest_workers(fitting, seen, USE_MOST) > fitting->used)
		return try_placement(fitting, seen, true);
	fitting->state = tokens ? FITTING_TOKENS : FITTING_SETTLED;
	return is_calm(fitting, seen) && try_placement(fitting, seen, false);
}

bool fitting_round(struct fitting *fitting, const struct fitting_seen *seen)
{
	double p99[PLACE_BROKERS];
	uint64_t packets = 0;
	bool changed;

	fitting->rounds++;
	if (fitting->state == FITTING_TRYING) {
		worker_verdicts(fitting, seen, p99);
		return conclude_trial(fitting, place_fit_measured(&fitting->fit, p99));
	}
	changed = review_round(fitting, seen);
	for (unsigned i = 0; i < fitting->params.n_workers; i++)
		packets += seen->workers[i].packets;
	if (fitting->state == FITTING_SETTLED && packets < FITTING_PACKETS)
		fitting->state = FITTING_QUIET;
	return changed;
}

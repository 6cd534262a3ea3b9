/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Places sources by trial.
 */
#include "place/fit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "place/place.h"
#include "place/place_private.h"

/* A search ends at steps of this part of a broker's sources. */
#define FINEST 64

#define SHEDDINGS 16 /* placements predicted on one number of brokers */

#define AGAIN 2 /* more trials of the same brokers after the first */

/* Largest correction by a measurement: far above the objective, delays depend little on load. */
#define MOST_CORRECTION 2.0

/* Sets the room that is left for sources without a broker. */
static void update_room(struct place_fit *fit)
{
	const struct place_problem *problem = fit->placer->problem;

	memcpy(fit->brokers, problem->brokers, problem->n_brokers * sizeof(fit->brokers[0]));
	for (unsigned i = 0; i < problem->n_brokers; i++)
		fit->brokers[i].full |= fit->searches[i].on;
	for (uint32_t i = 0; i < problem->n_sources; i++)
		if (fit->home[i] != PLACE_NOWHERE)
			fit->brokers[fit->home[i]].load += problem->sources[i].rate;
}

static void give_homes(struct place_fit *fit)
{
	unsigned chosen[PLACE_BROKERS], k, n_brokers = fit->problem.n_brokers;
	double quotas[PLACE_BROKERS];
	const struct place_problem *problem = fit->placer->problem;
	const uint32_t *order = place_order(fit->placer);
	double rate = 0;
	uint32_t n = 0;

	/* Sources without a home, in the placer's order. A search does not need this memory. */
	for (uint32_t i = 0; i < problem->n_sources; i++)
		if (fit->home[order[i]] == PLACE_NOWHERE) {
			fit->best[n++] = order[i];
			rate += problem->sources[order[i]].rate;
		}
	update_room(fit);
	k = place_choose(fit->brokers, n_brokers, rate, chosen);
	if (!(fit->problem.principles & PLACE_CONCENTRATE))
		k = n_brokers;
	place_quotas(&fit->problem, rate, chosen, k, quotas);
	place_deal(&fit->problem, fit->best, n, quotas, fit->home);
}

static void count_homes(const struct place_fit *fit, uint32_t given[PLACE_BROKERS])
{
	memset(given, 0, PLACE_BROKERS * sizeof(given[0]));
	for (uint32_t i = 0; i < fit->placer->problem->n_sources; i++)
		if (fit->home[i] != PLACE_NOWHERE)
			given[fit->home[i]]++;
}

/* Each broker keeps `keep` of its sources in the trial, at even distances in the placer's order. */
static void make_trial(struct place_fit *fit)
{
	const uint32_t *order = place_order(fit->placer);
	uint32_t seen[PLACE_BROKERS] = {0};

	for (uint32_t i = 0; i < fit->placer->problem->n_sources; i++) {
		uint32_t source = order[i], home = fit->home[source];
		const struct place_search *search;
		uint64_t before;

		fit->trial.at[source] = home;
		if (home == PLACE_NOWHERE)
			continue;
		search = &fit->searches[home];
		before = (uint64_t)seen[home]++ * search->keep;
		if (before / search->given == (before + search->keep) / search->given)
			fit->trial.at[source] = PLACE_NOWHERE;
	}
	place_split(fit->placer, false, &fit->trial);
}

/*
 * Starts the next iteration: assigns more homes. All brokers with new sources are to be measured.
 */
static enum place_fit_state start_iteration(struct place_fit *fit)
{
	uint32_t before[PLACE_BROKERS], given[PLACE_BROKERS];
	bool changed = false;

	count_homes(fit, before);
	give_homes(fit);
	count_homes(fit, given);
	for (unsigned i = 0; i < fit->problem.n_brokers; i++) {
		struct place_search *search = &fit->searches[i];

		search->given = given[i];
		search->keep = given[i];
		search->low = before[i];
		search->high = given[i];
		changed |= given[i] != before[i];
	}
	make_trial(fit);
	if (!changed)
		return PLACE_EXHAUSTED;
	if (fit->iterations < PLACE_ITERATIONS)
		fit->iterations++;
	return PLACE_MEASURE;
}

/* Makes one step of a broker's search. Returns true if the search continues. */
static bool step_search(struct place_search *search, double p99, double slo)
{
	uint32_t finest = search->given > FINEST ? search->given / FINEST : 1;

	if (!search->on && p99 <= slo)
		return false;
	search->on = true;
	if (p99 <= slo)
		search->low = search->keep;
	else
		search->high = search->keep;
	search->done = (p99 <= slo && p99 >= PLACE_NEAR * slo) ||
		       search->high - search->low <= finest;
	search->keep = search->low;
	if (!search->done)
		search->keep += (search->high - search->low) / 2;
	return !search->done;
}

static enum place_fit_state search_next_trial(struct place_fit *fit, const double *p99)
{
	double slo = fit->placer->problem->aggregate.slo;
	bool going_on = false;

	for (unsigned i = 0; i < fit->problem.n_brokers; i++) {
		struct place_search *search = &fit->searches[i];

		if (fit->trial.parts[i].sources > 0 && !search->done)
			going_on |= step_search(search, p99[i], slo);
	}
	make_trial(fit);
	if (going_on)
		return PLACE_MEASURE;
	if (fit->trial.nowhere == 0)
		return PLACE_SETTLED;
	for (uint32_t i = 0; i < fit->placer->problem->n_sources; i++)
		fit->home[i] = fit->trial.at[i];
	return start_iteration(fit);
}

/* Predicts the trial. Returns the worst corrected p99. */
static double predict_trial(struct place_fit *fit)
{
	double worst = 0;

	fit->sure = fit->measured == 0 && fit->trial.nowhere == 0;
	for (unsigned i = 0; i < fit->problem.n_brokers; i++) {
		struct place_delay delay = {0};

		if (fit->trial.parts[i].sources > 0)
			place_predict(&fit->view, &fit->trial, i, &delay);
		fit->predicted[i] = fit->corrections[i] * delay.p99;
		fit->sure &= delay.most <= fit->problem.aggregate.slo;
		worst = fmax(worst, fit->predicted[i]);
	}
	return worst;
}

/*
 * Finds the best predicted placement on k brokers; too slow ones shed sources. Returns its worst
 * p99, or a negative number if they have no room.
 */
static double predict_on(struct place_fit *fit, unsigned k, double slo, uint32_t *at)
{
	double least = -1;

	memcpy(fit->brokers, fit->placer->problem->brokers,
		fit->problem.n_brokers * sizeof(fit->brokers[0]));
	for (unsigned i = 0; i < SHEDDINGS && (least < 0 || least > slo); i++) {
		double worst;

		if (place_on(&fit->view, k, &fit->trial) < 0 || fit->trial.nowhere > 0)
			break;
		worst = predict_trial(fit);
		if (least < 0 || worst < least) {
			least = worst;
			memcpy(at, fit->trial.at, fit->problem.n_sources * sizeof(at[0]));
		}
		if (!(fit->problem.principles & PLACE_MAX_MIN) ||
			!place_shed(&fit->trial, fit->predicted, slo, fit->brokers,
				fit->problem.n_brokers))
			break;
	}
	return least;
}

static enum place_fit_state try_chosen(struct place_fit *fit, unsigned k)
{
	fit->again = k == fit->k ? fit->again + 1 : 0;
	fit->k = k;
	memcpy(fit->trial.at, fit->chosen, fit->problem.n_sources * sizeof(fit->chosen[0]));
	fit->problem.principles = fit->principles;
	place_split(&fit->view, true, &fit->trial);
	predict_trial(fit);
	fit->iterations++;
	return fit->sure ? PLACE_SETTLED : PLACE_MEASURE;
}

/*
 * Chooses the same brokers again, if the measurement changes their parts and the prediction is
 * good.
 */
static bool choose_again(struct place_fit *fit, double slo)
{
	size_t size = fit->problem.n_sources * sizeof(fit->home[0]);
	double worst;

	if (fit->measured == 0 || fit->again == AGAIN)
		return false;
	fit->problem.principles = fit->principles;
	worst = predict_on(fit, fit->k, slo, fit->home);
	if (worst < 0 || worst > slo || memcmp(fit->home, fit->chosen, size) == 0)
		return false;
	memcpy(fit->chosen, fit->home, size);
	return true;
}

/*
 * The best prediction so far. Its assignment is in chosen[], and its principles in fit->principles.
 */
struct best {
	double worst; /* p99 */
	unsigned k;   /* brokers; 0: none found */
};

/* Tries `from` to `to` brokers with some principles, until a prediction meets the objective. */
static void choose_brokers(struct place_fit *fit, unsigned principles, unsigned from, unsigned to,
	double slo, struct best *best)
{
	fit->problem.principles = principles;
	for (unsigned k = from; k <= to; k++) {
		double worst = predict_on(fit, k, slo, fit->home);

		if (worst >= 0 && (best->k == 0 || worst < best->worst)) {
			*best = (struct best){worst, k};
			fit->principles = principles;
			memcpy(fit->chosen, fit->home,
				fit->problem.n_sources * sizeof(fit->home[0]));
		}
		if (worst >= 0 && worst <= slo)
			break;
	}
}

/*
 * Takes the fewest brokers, more than before, that are predicted to meet the objective. If none
 * are, takes the nearest. A principle can be wrong for a case. So every subset of the principles is
 * also tried: on the same number of brokers, or on any if no prediction meets the objective.
 */
static enum place_fit_state try_predicted(struct place_fit *fit)
{
	unsigned all = fit->placer->problem->principles, from = fit->k + 1;
	unsigned to = fit->problem.n_brokers, some = all;
	double slo = PLACE_HEADROOM * fit->problem.aggregate.slo;
	struct best best = {HUGE_VAL, 0};

	if (choose_again(fit, slo))
		return try_chosen(fit, fit->k);
	choose_brokers(fit, all, from, to, slo, &best);
	if (best.k != 0 && best.worst <= slo)
		from = to = best.k;
	while (place_fewer_principles(all, &some))
		choose_brokers(fit, some, from, to, slo, &best);
	return best.k != 0 ? try_chosen(fit, best.k) : PLACE_EXHAUSTED;
}

/*
 * Corrects predictions of brokers that were slower than predicted. Brokers that were not tried get
 * the correction of the slowest one.
 */
static double correct_predictions(struct place_fit *fit, const double *p99)
{
	double slowest = 1, worst = 0;

	for (unsigned i = 0; i < fit->problem.n_brokers; i++) {
		double correction;

		if (fit->trial.parts[i].sources == 0 || fit->predicted[i] <= 0)
			continue;
		correction = fit->corrections[i] * p99[i] / fit->predicted[i];
		fit->corrections[i] = fmin(fmax(correction, 1), MOST_CORRECTION);
		slowest = fmax(slowest, fit->corrections[i]);
	}
	for (unsigned i = 0; i < fit->problem.n_brokers; i++)
		if (fit->trial.parts[i].sources == 0)
			fit->corrections[i] = slowest;
		else
			worst = fmax(worst, p99[i]);
	return worst;
}

static enum place_fit_state check_prediction(struct place_fit *fit, const double *p99)
{
	double worst = correct_predictions(fit, p99);

	if (worst <= fit->problem.aggregate.slo)
		return PLACE_SETTLED;
	if (worst < fit->nearest) {
		fit->nearest = worst;
		/* Saves the trial, not chosen[], which is not set if no prediction had room. */
		memcpy(fit->best, fit->trial.at, fit->problem.n_sources * sizeof(fit->best[0]));
		fit->best_principles = fit->principles;
	}
	if (try_predicted(fit) == PLACE_MEASURE)
		return PLACE_MEASURE;
	memcpy(fit->trial.at, fit->best, fit->placer->problem->n_sources * sizeof(fit->best[0]));
	fit->problem.principles = fit->best_principles;
	place_split(&fit->view, true, &fit->trial);
	return PLACE_EXHAUSTED;
}

int place_fit_init(struct place_fit *fit, const struct placer *placer, enum place_way way,
	enum place_fit_state *state)
{
	uint32_t n = placer->problem->n_sources;

	*fit = (struct place_fit){
		.way = way, .placer = placer, .problem = *placer->problem, .nearest = HUGE_VAL};
	for (unsigned i = 0; i < PLACE_BROKERS; i++)
		fit->corrections[i] = 1;
	fit->view = *placer;
	fit->view.problem = &fit->problem;
	fit->problem.brokers = fit->brokers;
	fit->principles = fit->best_principles = fit->problem.principles;
	memcpy(fit->brokers, placer->problem->brokers,
		fit->problem.n_brokers * sizeof(fit->brokers[0]));
	fit->home = calloc((size_t)n + 1, sizeof(*fit->home));
	fit->best = calloc((size_t)n + 1, sizeof(*fit->best));
	fit->trial.at = calloc((size_t)n + 1, sizeof(*fit->trial.at));
	fit->chosen = calloc((size_t)n + 1, sizeof(*fit->chosen));
	if (fit->chosen == NULL || fit->home == NULL || fit->best == NULL ||
		fit->trial.at == NULL) {
		place_fit_free(fit);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		fit->home[i] = PLACE_NOWHERE;
		fit->trial.at[i] = PLACE_NOWHERE;
	}
	if (way == PLACE_PREDICT)
		fit->k = place_fewest(placer) - 1;
	*state = way == PLACE_SEARCH ? start_iteration(fit) : try_predicted(fit);
	if (way == PLACE_PREDICT && *state == PLACE_EXHAUSTED)
		place_on(placer, placer->problem->n_brokers, &fit->trial);
	return 0;
}

void place_fit_free(struct place_fit *fit)
{
	free(fit->home);
	free(fit->best);
	free(fit->chosen);
	free(fit->trial.at);
	fit->home = fit->best = fit->chosen = fit->trial.at = NULL;
}

enum place_fit_state place_fit_measured(struct place_fit *fit, const double *p99)
{
	fit->measured++;
	if (fit->iterations > 0 && fit->iterations <= PLACE_ITERATIONS)
		fit->rounds[fit->iterations - 1]++;
	return fit->way == PLACE_SEARCH ? search_next_trial(fit, p99) : check_prediction(fit, p99);
}

/* --- the best of all proposals ---------------------------------------------------------------- */

/* The best proposal so far, or a candidate. */
struct proposal {
	struct placement placement;
	double worst; /* p99, seconds */
	int err;      /* result of the split */
};

static bool proposal_is_better(const struct proposal *a, const struct proposal *b)
{
	if (a->err != b->err)
		return a->err == 0;
	if (a->placement.nowhere != b->placement.nowhere)
		return a->placement.nowhere < b->placement.nowhere;
	if (a->worst != b->worst)
		return a->worst < b->worst;
	return a->placement.used < b->placement.used;
}

/* Proposes the first trial for the problem's principles, without measuring. */
static int propose_placement(
	const struct placer *view, struct place_problem *problem, struct proposal *proposal)
{
	size_t size = problem->n_sources * sizeof(proposal->placement.at[0]);
	enum place_fit_state state;
	struct place_fit fit;
	int err = place_fit_init(&fit, view, PLACE_PREDICT, &state);

	if (err)
		return err;
	memcpy(proposal->placement.at, fit.trial.at, size);
	problem->principles = fit.principles;
	place_fit_free(&fit);
	proposal->err = place_split(view, true, &proposal->placement);
	proposal->worst = place_predict_worst(view, &proposal->placement);
	return 0;
}

int place_plan(const struct placer *placer, struct placement *placement)
{
	struct place_problem problem = *placer->problem;
	struct placer view = *placer;
	struct proposal best = {.placement.at = placement->at}, other = {0};
	unsigned all = problem.principles, some = all;
	int err = -ENOMEM;

	view.problem = &problem;
	other.placement.at = calloc((size_t)problem.n_sources + 1, sizeof(placement->at[0]));
	if (other.placement.at)
		err = propose_placement(&view, &problem, &best);
	while (err == 0 && place_fewer_principles(all, &some)) {
		problem.principles = some;
		err = propose_placement(&view, &problem, &other);
		if (err == 0 && proposal_is_better(&other, &best)) {
			uint32_t *at = best.placement.at;

			memcpy(at, other.placement.at, problem.n_sources * sizeof(at[0]));
			best = other;
			best.placement.at = at;
		}
	}
	free(other.placement.at);
	*placement = best.placement;
	return err ? err : best.err;
}

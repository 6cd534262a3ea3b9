/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "broker_run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FITTINGS 8 /* trials of one number of brokers */

static const unsigned principles[BROKER_METHODS] = {
	[BROKER_LB] = 0,
	[BROKER_CONC] = PLACE_CONCENTRATE,
	[BROKER_MAX_MIN] = PLACE_CONCENTRATE | PLACE_MAX_MIN,
	[BROKER_SRTM] = PLACE_PAPER,
	[BROKER_WEIR] = PLACE_ALL,
};

static void measure_placement(
	struct broker_world *world, const struct placement *placement, struct broker_outcome *out)
{
	broker_world_measure(world, placement, &out->measured);
	out->k = placement->used;
	out->met = placement->nowhere == 0 && out->measured.worst <= BROKER_SLO_NS;
}

static bool outcome_is_better(const struct broker_outcome *a, const struct broker_outcome *b)
{
	return b->rounds == 0 || a->met > b->met ||
	       (a->met == b->met && a->measured.worst < b->measured.worst);
}

/*
 * The paper's step 3 on k brokers: a broker that misses the objective moves sources to brokers that
 * meet it and have room, as long as that helps.
 */
static void fit_on(struct broker_world *world, const struct placer *placer, unsigned k,
	struct placement *placement, struct broker_outcome *best)
{
	struct place_broker brokers[BROKERS];

	memcpy(brokers, world->brokers, sizeof(brokers));
	for (unsigned i = 0; i < FITTINGS && !best->met; i++) {
		struct broker_outcome next = {.rounds = best->rounds + 1};

		if (place_on(placer, k, placement) < 0 || placement->nowhere > 0)
			break;
		measure_placement(world, placement, &next);
		if (outcome_is_better(&next, best))
			*best = next;
		best->rounds = next.rounds;
		if (!(world->problem.principles & PLACE_MAX_MIN) ||
			!place_shed(placement, next.measured.p99s, BROKER_SLO_NS, world->brokers,
				BROKERS))
			break;
	}
	memcpy(world->brokers, brokers, sizeof(brokers));
}

/* Tries k brokers and more, up to a maximum, until the objective is met. */
static void scan_broker_count(struct broker_world *world, const struct placer *placer, unsigned k,
	unsigned most, struct placement *placement, struct broker_outcome *out)
{
	*out = (struct broker_outcome){0};
	for (; k <= most && !out->met; k++)
		fit_on(world, placer, k, placement, out);
}

static int scan_from(struct broker_world *world, enum broker_method method, unsigned k,
	struct broker_outcome *out)
{
	struct placement placement = {0};
	struct placer placer;
	int err;

	world->problem.principles = principles[method];
	world->problem.record = NULL;
	err = placer_init(&placer, &world->problem);
	if (err)
		return err;
	placement.at = calloc(world->problem.n_sources, sizeof(*placement.at));
	if (placement.at)
		scan_broker_count(world, &placer, k ? k : place_fewest(&placer), k ? k : BROKERS,
			&placement, out);
	else
		err = -ENOMEM;
	free(placement.at);
	placer_free(&placer);
	return err;
}

/*
 * Returns true if a placement that was not tried, because it was certain, misses the objective.
 * That counts as a round, and the search continues.
 */
static bool misses_unseen(
	const struct place_fit *fit, enum place_fit_state state, const struct broker_outcome *out)
{
	return state == PLACE_SETTLED && fit->measured == 0 && !out->met;
}

static int fit_until_settled(struct broker_world *world, const struct placer *placer,
	enum place_way way, struct place_fit *fit, struct broker_outcome *out)
{
	enum place_fit_state state;
	bool mistaken = false, untried;
	int err = place_fit_init(fit, placer, way, &state);

	if (err)
		return err;
	untried = state == PLACE_SETTLED;
	for (;;) {
		double p99[PLACE_BROKERS] = {0};

		measure_placement(world, &fit->trial, out);
		if (state != PLACE_MEASURE && !misses_unseen(fit, state, out))
			break;
		mistaken |= state == PLACE_SETTLED;
		for (unsigned i = 0; i < BROKERS; i++)
			p99[i] = out->measured.p99s[i] / PENALTY_HZ;
		state = place_fit_measured(fit, p99);
	}
	out->rounds = fit->measured;
	out->untried = untried;
	out->mistaken = mistaken;
	return 0;
}

int broker_fit(struct broker_world *world, enum place_way way, struct place_fit *fit,
	struct broker_outcome *out)
{
	struct placer placer;
	int err;

	world->problem.principles = way == PLACE_SEARCH ? PLACE_PAPER : PLACE_ALL;
	world->problem.record = way == PLACE_SEARCH ? NULL : &world->record;
	err = placer_init(&placer, &world->problem);
	if (err)
		return err;
	err = fit_until_settled(world, &placer, way, fit, out);
	placer_free(&placer);
	return err;
}

int broker_run(struct broker_world *world, enum broker_method method, struct broker_outcome *out)
{
	struct place_fit fit;
	int err;

	if (method != BROKER_WEIR)
		return scan_from(world, method, 0, out);
	err = broker_fit(world, PLACE_PREDICT, &fit, out);
	if (err == 0)
		place_fit_free(&fit);
	return err;
}

int broker_run_on(struct broker_world *world, enum broker_method method, unsigned k,
	struct broker_outcome *out)
{
	struct place_broker brokers[BROKERS];
	int err;

	memcpy(brokers, world->brokers, sizeof(brokers));
	for (unsigned i = 0; i < BROKERS; i++)
		world->brokers[i].capacity = HUGE_VAL;
	err = scan_from(world, method, k, out);
	memcpy(world->brokers, brokers, sizeof(brokers));
	return err;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "place/plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "place/fit.h"
#include "place/predict.h"

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

static void keep_proposal(struct proposal *best, const struct proposal *other, uint32_t n)
{
	uint32_t *at = best->placement.at;

	memcpy(at, other->placement.at, n * sizeof(at[0]));
	*best = *other;
	best->placement.at = at;
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
		if (err == 0 && proposal_is_better(&other, &best))
			keep_proposal(&best, &other, problem.n_sources);
	}
	free(other.placement.at);
	*placement = best.placement;
	return err ? err : best.err;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "gdrl_run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int create_record(struct gdrl_run *run)
{
	size_t slots = run->c.steps + (size_t)1;

	run->jain = calloc(slots, sizeof(*run->jain));
	run->true_jain = calloc(slots, sizeof(*run->true_jain));
	if (!run->jain || !run->true_jain)
		return -ENOMEM;
	if (run->c.n > GDRL_DRAWN)
		return 0;
	run->q = calloc(slots * run->c.n, sizeof(*run->q));
	run->demand = calloc(slots * run->c.n, sizeof(*run->demand));
	run->estimate = calloc(slots * run->c.n, sizeof(*run->estimate));
	return run->q && run->demand && run->estimate ? 0 : -ENOMEM;
}

void gdrl_run_free(struct gdrl_run *run)
{
	free(run->jain);
	free(run->true_jain);
	free(run->q);
	free(run->demand);
	free(run->estimate);
}

static void record_slot(struct gdrl_run *run, const struct gdrl_world *w)
{
	size_t row = (size_t)run->n * run->c.n;

	run->jain[run->n] = gdrl_world_jain(w);
	run->true_jain[run->n] = gdrl_world_true_jain(w);
	for (unsigned i = 0; run->q && i < run->c.n; i++) {
		run->q[row + i] = (float)gdrl_world_q(w, i + 1);
		run->demand[row + i] = (float)gdrl_world_demand(w, i + 1);
		run->estimate[row + i] = (float)gdrl_world_estimate(w, i + 1);
	}
	run->n++;
}

/* Returns the slots of [from, to) up to and including the last one below the goal. */
static unsigned slots_below(const struct gdrl_run *run, unsigned from, unsigned to)
{
	while (to > from && run->jain[to - 1] >= GDRL_GOAL)
		to--;
	return to - from;
}

static void measure_goal(struct gdrl_run *run)
{
	unsigned below = slots_below(run, 0, run->n);

	run->reached = 0;
	while (run->reached < run->n && run->jain[run->reached] < GDRL_GOAL)
		run->reached++;
	if (run->reached == run->n)
		run->reached = GDRL_NEVER;
	run->stays = below < run->n ? below : GDRL_NEVER;
}

static void measure_end(struct gdrl_run *run)
{
	unsigned from = run->n - (run->n + 3) / 4;

	run->least = run->least_ever = INFINITY;
	for (unsigned t = run->n > 1 ? 1 : 0; t < run->n; t++)
		run->least_ever = fmin(run->least_ever, run->jain[t]);
	for (unsigned t = from; t < run->n; t++) {
		run->mean += run->jain[t] / (run->n - from);
		run->true_mean += run->true_jain[t] / (run->n - from);
		run->least = fmin(run->least, run->jain[t]);
	}
}

static void measure_changes(struct gdrl_run *run)
{
	unsigned period = run->c.period;

	for (unsigned k = 0; period && k < GDRL_CHANGES && (k + 2) * period <= run->n; k++) {
		struct gdrl_change *change = &run->changes[run->n_changes++];

		*change = (struct gdrl_change){.at = (k + 1) * period, .least = INFINITY};
		change->until = slots_below(run, change->at, change->at + period);
		if (change->until == period)
			change->until = GDRL_NEVER;
		for (unsigned t = change->at; t < change->at + period; t++)
			change->least = fmin(change->least, run->jain[t]);
	}
}

int gdrl_run(struct gdrl_run *run)
{
	struct gdrl_world *w = NULL;
	int ret = create_record(run);

	if (ret == 0)
		ret = gdrl_world_create(&run->c, &w);
	if (ret)
		return ret;
	record_slot(run, w);
	while (run->n <= run->c.steps && run->error == 0) {
		run->error = gdrl_world_step(w);
		record_slot(run, w);
	}
	run->spread = gdrl_world_spread(w);
	run->totals = gdrl_world_totals(w);
	measure_goal(run);
	measure_end(run);
	measure_changes(run);
	gdrl_world_destroy(w);
	return 0;
}

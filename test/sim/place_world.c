/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Sources that are placed on brokers. Their rates are equal or not, regular or random, in groups
 * that burst together, recorded or not, with any principles. Each placement is measured with
 * brokers that are slower or faster than predicted, and tried until it is settled.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/prng.h"
#include "place/fit.h"
#include "place/place.h"
#include "trace.h"
#include "worlds.h"

#define SOURCES  90
#define BROKERS  6
#define ARRIVALS 3000

struct world {
	struct prng prng;
	struct place_source sources[SOURCES];
	struct place_broker brokers[BROKERS];
	struct place_arrival arrivals[ARRIVALS];
	struct place_record record;
	struct place_problem problem;
	uint32_t at[SOURCES];
	double slower[BROKERS]; /* factor above the prediction */
};

static double place_unit(struct world *w)
{
	return prng_unit(&w->prng);
}

static void draw_sources(struct world *w)
{
	bool alike = prng_below(&w->prng, 3) == 0, regular = prng_below(&w->prng, 2);

	w->problem.n_sources = 4 + prng_below(&w->prng, SOURCES - 3);
	for (unsigned i = 0; i < w->problem.n_sources; i++) {
		struct place_source *source = &w->sources[i];
		bool timed = regular || (!alike && prng_below(&w->prng, 4) == 0);

		source->rate = alike ? 1000 : 100 + 3000 * place_unit(w) * place_unit(w);
		source->batch = alike ? 100 : 1 + 300 * place_unit(w);
		source->period = timed ? source->batch / source->rate : 0;
		source->spread = prng_below(&w->prng, 2) ? 0.01 * place_unit(w) : 0;
		source->group = alike ? 0 : prng_below(&w->prng, 6);
	}
}

static void draw_brokers(struct world *w, double rate)
{
	w->problem.n_brokers = 1 + prng_below(&w->prng, BROKERS);
	for (unsigned b = 0; b < w->problem.n_brokers; b++) {
		struct place_broker *broker = &w->brokers[b];

		broker->capacity = rate * (0.3 + place_unit(w));
		broker->speed = prng_below(&w->prng, 3) ? rate * (1 + 3 * place_unit(w)) : 0;
		broker->load = prng_below(&w->prng, 2) ? rate * 0.2 * place_unit(w) : 0;
		broker->load_batch = broker->load > 0 ? floor(200 * place_unit(w)) : 0;
		broker->full = prng_below(&w->prng, 12) == 0;
		w->slower[b] = 0.7 + 0.8 * place_unit(w);
	}
}

/* Records batches of the sources in order of time. */
static void record_arrivals(struct world *w)
{
	double next[SOURCES];

	for (unsigned i = 0; i < w->problem.n_sources; i++)
		next[i] = place_unit(w) * w->sources[i].batch / w->sources[i].rate;
	for (w->record.n = 0; w->record.n < ARRIVALS; w->record.n++) {
		uint32_t first = 0;

		for (unsigned i = 1; i < w->problem.n_sources; i++)
			if (next[i] < next[first])
				first = i;
		w->arrivals[w->record.n] = (struct place_arrival){
			next[first], w->sources[first].batch, first};
		next[first] += w->sources[first].batch / w->sources[first].rate *
			       (w->sources[first].period > 0 ? 1 : 2 * place_unit(w));
	}
	w->record.arrivals = w->arrivals;
	w->problem.record = &w->record;
}

static void draw_problem(struct world *w)
{
	double rate = 0;

	draw_sources(w);
	for (unsigned i = 0; i < w->problem.n_sources; i++)
		rate += w->sources[i].rate;
	draw_brokers(w, rate);
	w->problem.sources = w->sources;
	w->problem.brokers = w->brokers;
	w->problem.principles = prng_below(&w->prng, 2) ? PLACE_ALL : prng_below(&w->prng, 16);
	w->problem.seed = prng_next(&w->prng);
	w->problem.aggregate = (struct place_aggregate){
		.limit = (uint64_t)(rate * (1.05 + place_unit(w))),
		.burst = (uint64_t)(300 + 4000 * place_unit(w) * place_unit(w)),
		.least = 100,
		.slo = 0.006 + 0.05 * place_unit(w) * place_unit(w),
		.constant = 0.005 * place_unit(w),
		.backlog = prng_below(&w->prng, 2) ? floor(3000 * place_unit(w)) : 0,
	};
	if (prng_below(&w->prng, 3) == 0)
		record_arrivals(w);
}

static void write_placement(
	const struct placer *placer, const char *what, int ret, const struct placement *placement)
{
	unsigned n = placer->problem->n_brokers;

	trace_write("  %s: %d, on %u, %u nowhere, p99 %.6g; sources", what, ret, placement->used,
		placement->nowhere, ret ? 0 : place_predict_worst(placer, placement));
	for (unsigned b = 0; b < n; b++)
		trace_write_whole(placement->parts[b].sources);
	trace_write("\n");
	for (unsigned b = 0; b < n; b++) {
		struct place_delay delay;

		trace_word(placement->parts[b].limit);
		trace_word(placement->parts[b].burst);
		trace_real(placement->parts[b].rate);
		if (ret || placement->parts[b].sources == 0)
			continue;
		place_predict(placer, placement, b, &delay);
		trace_real(delay.access_p99);
		trace_real(delay.p50);
		trace_real(delay.most);
	}
	for (uint32_t i = 0; i < placer->problem->n_sources; i++)
		trace_word(placement->at[i]);
}

static void fit_sources(struct world *w, const struct placer *placer, enum place_way way)
{
	enum place_fit_state state;
	struct place_fit fit;

	if (place_fit_init(&fit, placer, way, &state))
		abort();
	while (state == PLACE_MEASURE) {
		double p99[BROKERS] = {0};

		for (unsigned b = 0; b < w->problem.n_brokers; b++) {
			struct place_delay delay;

			if (fit.trial.parts[b].sources == 0)
				continue;
			place_predict(placer, &fit.trial, b, &delay);
			p99[b] = delay.p99 * w->slower[b];
			trace_real(p99[b]);
		}
		state = place_fit_measured(&fit, p99);
	}
	trace_write("  state %d after %u rounds\n", state, fit.measured);
	write_placement(placer, way == PLACE_SEARCH ? "searched" : "predicted", 0, &fit.trial);
	place_fit_free(&fit);
}

static void shed_and_place(
	struct world *w, const struct placer *placer, struct placement *placement)
{
	double delays[BROKERS];
	unsigned n = w->problem.n_brokers;

	for (unsigned b = 0; b < n; b++)
		delays[b] = w->slower[b];
	trace_write("  sheds: %d, rooms", place_shed(placement, delays, 1, w->brokers, n));
	for (unsigned b = 0; b < n; b++)
		trace_write_real(place_room(&w->brokers[b]));
	trace_write("\n");
	write_placement(placer, "after", place_on(placer, n, placement), placement);
}

void run_place_world(uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));
	struct placement placement;
	struct placer placer;
	int ret;

	if (!w)
		abort();
	placement = (struct placement){.at = w->at};
	prng_seed(&w->prng, seed);
	draw_problem(w);
	if (placer_init(&placer, &w->problem))
		abort();
	trace_write("  %u sources, %u brokers, principles %u; fewest %u, bound %.6g\n",
		w->problem.n_sources, w->problem.n_brokers, w->problem.principles,
		place_fewest(&placer), place_bound(&placer));
	ret = place_plan(&placer, &placement);
	write_placement(&placer, "plan", ret, &placement);
	if (ret == 0) {
		fit_sources(w, &placer, PLACE_PREDICT);
		fit_sources(w, &placer, PLACE_SEARCH);
		shed_and_place(w, &placer, &placement);
	}
	placer_free(&placer);
	free(w);
}

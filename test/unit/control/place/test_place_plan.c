/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The plan without a trial: no contender has a better prediction.
 */
#include "check.h"

#include "base/prng.h"
#include "place/fit.h"
#include "place/place.h"

#define SOURCES   60
#define BROKERS   5
#define SHEDDINGS 16 /* limit of the procedure in place_fit */

struct world {
	uint64_t seed;
	struct place_source sources[SOURCES];
	struct place_broker brokers[BROKERS];
	struct place_problem problem;
	struct placer placer;
};

static void draw_sources(struct world *w, struct prng *prng)
{
	unsigned groups = prng_below(prng, 12), kind = prng_below(prng, 3);

	for (unsigned i = 0; i < w->problem.n_sources; i++)
		w->sources[i] = (struct place_source){
			.rate = 0.2 + prng_unit(prng),
			.batch = kind == 0 ? 1 : 1 + prng_below(prng, 10),
			.period = kind == 1 ? 0.5 + prng_unit(prng) : 0,
			.spread = groups > 6 ? 0.01 * prng_unit(prng) : 0,
			.group = groups ? 1 + prng_below(prng, groups) : 0,
		};
}

/* Capacity for all sources, or nearly, on one broker or on all. */
static void draw_brokers(struct world *w, struct prng *prng, double rate)
{
	double all = rate * (0.9 + 3 * prng_unit(prng));
	bool loaded = prng_below(prng, 2);

	for (unsigned i = 0; i < w->problem.n_brokers; i++) {
		double capacity = all / w->problem.n_brokers * (0.5 + prng_unit(prng));

		w->brokers[i] = (struct place_broker){
			.capacity = capacity,
			.speed = prng_below(prng, 4) ? 1.5 * capacity : 0,
			.load = loaded ? 0.4 * capacity * prng_unit(prng) : 0,
			.load_batch = prng_below(prng, 3),
		};
	}
}

static void world_draw(struct world *w, uint64_t seed)
{
	struct prng prng;
	double rate = 0;

	*w = (struct world){.seed = seed};
	prng_seed(&prng, seed);
	w->problem = (struct place_problem){.sources = w->sources,
		.n_sources = 1 + prng_below(&prng, SOURCES),
		.brokers = w->brokers,
		.n_brokers = 1 + prng_below(&prng, BROKERS),
		.principles = PLACE_ALL,
		.seed = seed};
	draw_sources(w, &prng);
	for (unsigned i = 0; i < w->problem.n_sources; i++) {
		w->sources[i].rate *= 1000;
		rate += w->sources[i].rate;
	}
	draw_brokers(w, &prng, rate);
	w->problem.aggregate = (struct place_aggregate){
		.limit = (uint64_t)(rate * (1.02 + 0.3 * prng_unit(&prng))),
		.burst = 100 + prng_below(&prng, 400),
		.least = 10,
		.slo = 0.002 + 0.05 * prng_unit(&prng),
		.backlog = prng_below(&prng, 2) ? 50 + prng_below(&prng, 200) : 0,
	};
	assert_int_equal(placer_init(&w->placer, &w->problem), 0);
}

/*
 * Step 3 of the paper on k brokers: a broker predicted too slow sheds sources, as long as that
 * helps.
 */
static double contender_on(struct placer *view, struct place_problem *problem, unsigned k)
{
	double slo = PLACE_HEADROOM * problem->aggregate.slo, least = HUGE_VAL;
	struct place_broker brokers[BROKERS];
	const struct place_broker *whole = problem->brokers;
	uint32_t at[SOURCES];

	memcpy(brokers, whole, sizeof(brokers));
	problem->brokers = brokers;
	for (unsigned i = 0; i < SHEDDINGS && least > slo; i++) {
		struct placement placement = {.at = at};
		double p99s[PLACE_BROKERS] = {0};

		if (place_on(view, k, &placement) < 0 || placement.nowhere > 0)
			break;
		for (unsigned j = 0; j < problem->n_brokers; j++) {
			struct place_delay delay = {0};

			if (placement.parts[j].sources > 0)
				place_predict(view, &placement, j, &delay);
			p99s[j] = delay.p99;
		}
		least = fmin(least, place_predict_worst(view, &placement));
		if (!(problem->principles & PLACE_MAX_MIN) ||
			!place_shed(&placement, p99s, slo, brokers, problem->n_brokers))
			break;
	}
	problem->brokers = whole;
	return least;
}

/* On the fewest brokers that meet the objective, otherwise on the number that comes closest. */
static double contender_worst(const struct world *w, unsigned principles)
{
	struct place_problem problem = w->problem;
	struct placer view = w->placer;
	double least = HUGE_VAL;

	problem.principles = principles;
	view.problem = &problem;
	for (unsigned k = place_fewest(&view); k <= problem.n_brokers; k++) {
		least = fmin(least, contender_on(&view, &problem, k));
		if (least <= PLACE_HEADROOM * problem.aggregate.slo)
			break;
	}
	return least;
}

static void check_sums(const struct world *w, const struct placement *placement)
{
	uint64_t limit = 0, burst = 0;

	for (unsigned i = 0; i < w->problem.n_brokers; i++) {
		limit += placement->parts[i].limit;
		burst += placement->parts[i].burst;
	}
	if (placement->used == 0)
		return;
	if (limit != w->problem.aggregate.limit || burst != w->problem.aggregate.burst)
		fail_msg("seed %" PRIu64 ": the parts are not the whole", w->seed);
}

/* The prediction for the plan, or HUGE_VAL if there is no room for all sources. */
static double planned_worst(const struct world *w, struct placement *placement)
{
	int err = place_plan(&w->placer, placement);

	if (err)
		fail_msg("seed %" PRIu64 ": %d", w->seed, err);
	check_sums(w, placement);
	return placement->nowhere ? HUGE_VAL : place_predict_worst(&w->placer, placement);
}

/*
 * The comparison is exact, without a tolerance. No subset of the principles has a better
 * prediction.
 */
TEST(test_never_worse)
{
	unsigned by_others = 0, finite = 0;

	for (uint64_t seed = 1; seed <= ROUNDS(300); seed++) {
		struct world w;
		uint32_t at[SOURCES];
		struct placement placement = {.at = at};
		unsigned some = PLACE_ALL;
		double plan, first;

		world_draw(&w, seed);
		plan = planned_worst(&w, &placement);
		first = contender_worst(&w, PLACE_ALL);
		finite += isfinite(plan) != 0;
		by_others += plan < first;
		do {
			double other = contender_worst(&w, some);

			if (!(plan <= other))
				fail_msg("seed %" PRIu64 ": plan %g, principles %u: %g", seed, plan,
					some, other);
		} while (place_fewer_principles(PLACE_ALL, &some));
		placer_free(&w.placer);
	}
	assert_true(finite > 0);
	assert_true(by_others > 0); /* otherwise the test shows nothing */
}

TEST(test_no_switch_helps)
{
	static const unsigned switches[] = {PLACE_MAX_MIN, PLACE_CORRELATED, PLACE_BALANCED};

	for (uint64_t seed = 1; seed <= ROUNDS(100); seed++)
		for (unsigned i = 0; i < 3; i++) {
			struct world w;
			uint32_t at[SOURCES];
			struct placement placement = {.at = at};
			double with, without;

			world_draw(&w, seed);
			with = planned_worst(&w, &placement);
			w.problem.principles &= ~switches[i];
			without = planned_worst(&w, &placement);
			if (!(with <= without))
				fail_msg("seed %" PRIu64 ", without %u: %g, with: %g", seed,
					switches[i], without, with);
			placer_free(&w.placer);
		}
}

/* Without enough room as many sources as possible are placed, for any principles. */
TEST(test_no_room)
{
	struct world w;
	uint32_t at[SOURCES];
	struct placement placement = {.at = at};

	world_draw(&w, 7);
	w.problem.n_brokers = 1;
	w.brokers[0].capacity = w.brokers[0].load + w.placer.rate / 2;
	assert_int_equal(place_plan(&w.placer, &placement), 0);
	assert_true(placement.nowhere > 0 && placement.nowhere < w.problem.n_sources);
	placer_free(&w.placer);
}

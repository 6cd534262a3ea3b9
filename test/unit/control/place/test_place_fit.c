/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Placement by trials, with brokers slower than stated.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "place/fit.h"
#include "place/place.h"

#define SOURCES 200
#define BROKERS 8
#define SLO     0.001

struct world {
	uint64_t seed;
	struct place_source sources[SOURCES];
	struct place_broker brokers[BROKERS];
	double able[BROKERS];   /* units a second at which the broker really meets the objective */
	double slower[BROKERS]; /* or its factor above the predicted delay */
	struct place_problem problem;
	struct placer placer;
	struct place_fit fit;
};

/* Brokers with a stated capacity of 1,000, and sources with this total rate. */
static void world_open(struct world *w, unsigned n_brokers, double rate)
{
	for (unsigned i = 0; i < SOURCES; i++)
		w->sources[i] = (struct place_source){
			.rate = rate / SOURCES, .batch = 1, .group = 1 + i / 10};
	for (unsigned i = 0; i < n_brokers; i++)
		w->brokers[i] = (struct place_broker){.capacity = 1000};
	w->problem = (struct place_problem){
		.aggregate = {.limit = 2000, .burst = 100000, .least = 1, .slo = SLO},
		.sources = w->sources,
		.n_sources = SOURCES,
		.brokers = w->brokers,
		.n_brokers = n_brokers,
		.principles = PLACE_PAPER,
		.seed = 1};
	assert_int_equal(placer_init(&w->placer, &w->problem), 0);
}

/* The delay equals the objective at a broker's real capacity, and is proportional to its rate. */
static void measure_fit_world(const struct world *w, double *p99)
{
	uint64_t limit = 0, burst = 0;

	for (unsigned i = 0; i < w->problem.n_brokers; i++) {
		struct place_delay delay = {0};

		if (w->slower[i] > 0 && w->fit.trial.parts[i].sources > 0)
			place_predict(&w->placer, &w->fit.trial, i, &delay);
		p99[i] = w->slower[i] > 0 ? w->slower[i] * delay.p99
					  : SLO * w->fit.trial.parts[i].rate / w->able[i];
		limit += w->fit.trial.parts[i].limit;
		burst += w->fit.trial.parts[i].burst;
	}
	if (limit > w->problem.aggregate.limit || burst > w->problem.aggregate.burst)
		fail_msg("seed %" PRIu64 ": a trial has more than there is", w->seed);
}

static enum place_fit_state run_fit_to_end(struct world *w, enum place_way way)
{
	enum place_fit_state state;

	assert_int_equal(place_fit_init(&w->fit, &w->placer, way, &state), 0);
	for (unsigned rounds = 0; state == PLACE_MEASURE; rounds++) {
		double p99[PLACE_BROKERS] = {0};

		if (rounds > 1000)
			fail_msg("seed %" PRIu64 ": without end", w->seed);
		measure_fit_world(w, p99);
		state = place_fit_measured(&w->fit, p99);
	}
	return state;
}

static void world_close(struct world *w)
{
	place_fit_free(&w->fit);
	placer_free(&w->placer);
}

/* A broker that has its stated capacity: one round, one broker. */
TEST(test_at_once)
{
	for (enum place_way way = PLACE_SEARCH; way <= PLACE_PREDICT; way++) {
		struct world w = {.able = {1000, 1000, 1000}};

		world_open(&w, 3, 900);
		assert_int_equal(run_fit_to_end(&w, way), PLACE_SETTLED);
		assert_int_equal(w.fit.trial.used, 1);
		assert_int_equal(w.fit.measured, 1);
		assert_int_equal(w.fit.rounds[0], 1);
		world_close(&w);
	}
}

/*
 * Each broker's real capacity is 440, of 900. The search leaves the first with a rate between 352
 * and 440, by bisection of 200 sources, then the second. The third gets the rest. Each step takes
 * one measurement.
 */
TEST(test_search)
{
	ENDED_BY(world_close) struct world w = {.able = {440, 440, 440, 440}};

	world_open(&w, 4, 900);
	assert_int_equal(run_fit_to_end(&w, PLACE_SEARCH), PLACE_SETTLED);
	assert_int_equal(w.fit.trial.used, 3);
	assert_int_equal(w.fit.trial.nowhere, 0);
	assert_int_equal(w.fit.iterations, 3);
	/* sources (rate): 200, 100 (450), 50, 75, 87 (391) */
	assert_int_equal(w.fit.rounds[0], 5);
	/* sources (rate): 113 (508), 56, 84 (378) */
	assert_int_equal(w.fit.rounds[1], 3);
	assert_int_equal(w.fit.rounds[2], 1);
	assert_int_equal(w.fit.measured, 9);
	assert_int_equal(w.fit.trial.parts[0].sources, 87);
	assert_int_equal(w.fit.trial.parts[1].sources, 84);
	assert_int_equal(w.fit.trial.parts[2].sources, 29);
}

/* A broker keeps the same part of every group. */
TEST(test_search_keeps_groups_split)
{
	ENDED_BY(world_close) struct world w = {.able = {440, 440, 440, 440}};
	unsigned of_group[SOURCES / 10] = {0};

	world_open(&w, 4, 900);
	run_fit_to_end(&w, PLACE_SEARCH);
	for (unsigned i = 0; i < SOURCES; i++)
		of_group[i / 10] += w.fit.trial.at[i] == 0;
	for (unsigned i = 0; i < SOURCES / 10; i++)
		assert_in_range(of_group[i], 4, 5); /* 87 of 200 */
}

/* A round shows that more brokers are needed than predicted; it takes few rounds. */
TEST(test_prediction_is_corrected)
{
	ENDED_BY(world_close) struct world w = {.able = {440, 440, 440, 440}};

	world_open(&w, 4, 900);
	assert_int_equal(run_fit_to_end(&w, PLACE_PREDICT), PLACE_SETTLED);
	assert_int_equal(w.fit.trial.used, 3);
	assert_true(w.fit.measured <= 3);
}

/* One of two brokers is twice as slow as predicted: both stay, and it gets less. */
TEST(test_the_same_share_otherwise)
{
	ENDED_BY(world_close) struct world w = {.slower = {1, 2}};

	world_open(&w, 2, 36000);
	w.problem.aggregate.limit = 100000;
	for (unsigned i = 0; i < SOURCES; i++)
		w.sources[i].group = 0;
	for (unsigned i = 0; i < 2; i++) {
		w.brokers[i].capacity = 22000;
		w.brokers[i].speed = 22000;
	}
	assert_int_equal(run_fit_to_end(&w, PLACE_PREDICT), PLACE_SETTLED);
	assert_int_equal(w.fit.trial.used, 2);
	assert_int_equal(w.fit.measured, 2);
	assert_true(w.fit.trial.parts[1].sources < w.fit.trial.parts[0].sources);
	assert_int_equal(w.fit.trial.parts[0].limit + w.fit.trial.parts[1].limit, 100000);
}

/*
 * A group for each broker, a counted backlog, and no service times: a trial cannot add information.
 */
static void sure_open(struct world *w)
{
	world_open(w, 4, 1800);
	for (unsigned i = 0; i < 4; i++)
		w->brokers[i].speed = 1e6;
	w->problem.aggregate.burst = 330;
	w->problem.aggregate.backlog = 300;
}

TEST(test_sure)
{
	ENDED_BY(world_close) struct world w = {.able = {2000, 2000, 2000, 2000}};

	sure_open(&w);
	assert_int_equal(run_fit_to_end(&w, PLACE_PREDICT), PLACE_SETTLED);
	assert_int_equal(w.fit.trial.used, 2);
	assert_int_equal(w.fit.measured, 0);
	world_close(&w);
	/* no counted backlog */
	sure_open(&w);
	w.problem.aggregate.backlog = 0;
	w.problem.aggregate.burst = 100000;
	assert_int_equal(run_fit_to_end(&w, PLACE_PREDICT), PLACE_SETTLED);
	assert_int_equal(w.fit.measured, 1);
	world_close(&w);
	/* the brokers have other load */
	sure_open(&w);
	for (unsigned i = 0; i < 4; i++)
		w.brokers[i].load = 0.001;
	assert_int_equal(run_fit_to_end(&w, PLACE_PREDICT), PLACE_SETTLED);
	assert_int_equal(w.fit.measured, 1);
}

/* A plan without a trial that turns out wrong is handled like a failed trial. */
TEST(test_sure_and_wrong)
{
	ENDED_BY(world_close) struct world w = {.able = {400, 400, 400, 400}};
	enum place_fit_state end;
	double p99[PLACE_BROKERS];

	sure_open(&w);
	assert_int_equal(run_fit_to_end(&w, PLACE_PREDICT), PLACE_SETTLED);
	assert_int_equal(w.fit.measured, 0);
	measure_fit_world(&w, p99);
	assert_true(p99[0] > SLO);
	end = place_fit_measured(&w.fit, p99);
	assert_int_equal(w.fit.measured, 1);
	assert_int_equal(end, PLACE_MEASURE);
	assert_true(w.fit.trial.used > 2);
}

/* If sources have no room, the largest possible number is placed, without a trial. */
TEST(test_no_room)
{
	ENDED_BY(world_close) struct world w = {.able = {1000, 1000}};

	world_open(&w, 2, 3000);
	assert_int_equal(run_fit_to_end(&w, PLACE_PREDICT), PLACE_EXHAUSTED);
	assert_int_equal(w.fit.measured, 0);
	assert_in_range(w.fit.trial.nowhere, 66, 68); /* 200 in total */
}

/* The placement stays the same if it is then measured and too slow. */
TEST(test_no_room_and_slow)
{
	ENDED_BY(world_close) struct world w = {.able = {100, 100}};
	uint32_t at[SOURCES];
	double p99[PLACE_BROKERS];

	world_open(&w, 2, 3000);
	assert_int_equal(run_fit_to_end(&w, PLACE_PREDICT), PLACE_EXHAUSTED);
	memcpy(at, w.fit.trial.at, sizeof(at));
	measure_fit_world(&w, p99);
	assert_true(p99[0] > SLO);
	assert_int_equal(place_fit_measured(&w.fit, p99), PLACE_EXHAUSTED);
	assert_memory_equal(w.fit.trial.at, at, sizeof(at));
}

/* No broker meets the objective: the closest placement is kept, with all sources. */
TEST(test_never_within)
{
	ENDED_BY(world_close) struct world w = {.able = {100, 100, 100, 100}};

	world_open(&w, 4, 900);
	assert_int_equal(run_fit_to_end(&w, PLACE_PREDICT), PLACE_EXHAUSTED);
	assert_int_equal(w.fit.trial.nowhere, 0);
	assert_int_equal(w.fit.trial.used, 4);
	world_close(&w);
	w = (struct world){.able = {100, 100, 100, 100}};
	world_open(&w, 4, 900);
	assert_int_equal(run_fit_to_end(&w, PLACE_SEARCH), PLACE_EXHAUSTED);
	assert_true(w.fit.trial.nowhere > 0);
	for (unsigned i = 0; i < 4; i++)
		assert_true(w.fit.trial.parts[i].rate <= 100);
}

/* With any real capacities the search ends, and meets the objective if it reports that. */
TEST(test_any)
{
	unsigned committed = 0, exhausted = 0;

	for (uint64_t seed = 1; seed <= ROUNDS(200); seed++) {
		for (enum place_way way = PLACE_SEARCH; way <= PLACE_PREDICT; way++) {
			struct world w = {.seed = seed};
			enum place_fit_state end;
			struct prng prng;
			double p99[PLACE_BROKERS];

			prng_seed(&prng, seed);
			for (unsigned i = 0; i < BROKERS; i++)
				w.able[i] = 20 + 600 * prng_unit(&prng);
			world_open(
				&w, 1 + prng_below(&prng, BROKERS), 100 + 1500 * prng_unit(&prng));
			end = run_fit_to_end(&w, way);
			measure_fit_world(&w, p99);
			committed += end == PLACE_SETTLED;
			exhausted += end == PLACE_EXHAUSTED;
			if (end == PLACE_SETTLED && w.fit.trial.nowhere > 0)
				fail_msg("seed %" PRIu64 ": sources without a place", seed);
			for (unsigned i = 0; i < w.problem.n_brokers; i++)
				if (end == PLACE_SETTLED && p99[i] > SLO * (1 + 1e-9))
					fail_msg("seed %" PRIu64 ": broker %u", seed, i);
			world_close(&w);
		}
	}
	assert_true(committed > 0 && exhausted > 0);
}

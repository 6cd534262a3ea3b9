/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Placement of sources on brokers: the principles one by one, exact sums, and moves. Predicted
 * delays are compared with a simulated queue in front of a bucket.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "penalty_queue.h"
#include "place/place.h"

#define SOURCES 600
#define MESSAGE 1000 /* units */

struct world {
	uint64_t seed;
	struct place_source sources[SOURCES];
	struct place_broker brokers[PLACE_BROKERS];
	struct place_problem problem;
	struct placer placer;
	uint32_t at[SOURCES];
	struct placement placement;
};

static void world_init(struct world *w, uint32_t n_sources, unsigned n_brokers)
{
	*w = (struct world){.problem = {.aggregate = {.limit = 1100 * MESSAGE,
						.burst = 200 * MESSAGE,
						.least = MESSAGE,
						.slo = 0.1},
				    .n_sources = n_sources,
				    .n_brokers = n_brokers,
				    .principles = PLACE_PAPER,
				    .seed = 1}};
	for (unsigned i = 0; i < n_sources; i++)
		w->sources[i] = (struct place_source){
			.rate = 1000.0 * MESSAGE / n_sources, .batch = MESSAGE};
	for (unsigned i = 0; i < n_brokers; i++)
		w->brokers[i] = (struct place_broker){.capacity = 1000 * MESSAGE};
}

/* The caller calls this once per world, whose memory must not move. */
static void world_open(struct world *w)
{
	w->problem.sources = w->sources;
	w->problem.brokers = w->brokers;
	w->placement.at = w->at;
	assert_int_equal(placer_init(&w->placer, &w->problem), 0);
}

static void world_close(struct world *w)
{
	placer_free(&w->placer);
}

TEST(test_fewest)
{
	static const struct {
		double rooms[4]; /* spare capacity, of 1,000 */
		unsigned k;
	} cases[] = {
		{{1000, 0, 0, 0}, 1},
		{{999, 1, 0, 0}, 2},
		{{1, 2, 999, 3}, 2},
		{{250, 250, 250, 250}, 4},
		{{100, 100, 100, 100}, 4}, /* less room than all of them need */
		{{2000, 2000, 2000, 2000}, 1},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct world w;

		world_init(&w, 100, 4);
		for (unsigned j = 0; j < 4; j++) {
			w.brokers[j].load = 50 * MESSAGE;
			w.brokers[j].capacity = (cases[i].rooms[j] + 50) * MESSAGE;
		}
		world_open(&w);
		assert_int_equal(place_fewest(&w.placer), cases[i].k);
		w.problem.principles = PLACE_MAX_MIN;
		assert_int_equal(place_fewest(&w.placer), 4);
		world_close(&w);
	}
}

/*
 * Sources with a total rate of 1,000 messages on three brokers; rates are within about a source of
 * the expected ones.
 */
TEST(test_quotas)
{
	static const struct {
		double loads[3], capacity;
		double max_min[3], equal[3];
	} cases[] = {
		{{0, 0, 0}, 1000, {333, 333, 333}, {333, 333, 333}},
		{{100, 200, 300}, 1000, {333, 333, 333}, {433, 333, 233}},
		{{100, 400, 500}, 700, {500, 300, 200}, {567, 267, 167}},
		{{0, 0, 900}, 2000, {333, 333, 333}, {500, 500, 0}},
		{{100, 100, 550}, 600, {475, 475, 50}, {483, 483, 33}},
	};

	for (unsigned i = 0; i < 2 * COUNT(cases); i++) {
		const double *want = i % 2 ? cases[i / 2].max_min : cases[i / 2].equal;
		double sum = 0;
		struct world w;

		world_init(&w, 500, 3);
		w.problem.principles = i % 2 ? PLACE_MAX_MIN : 0;
		for (unsigned j = 0; j < 3; j++)
			w.brokers[j] = (struct place_broker){
				.capacity = cases[i / 2].capacity * MESSAGE,
				.load = cases[i / 2].loads[j] * MESSAGE};
		world_open(&w);
		assert_int_equal(place_on(&w.placer, 3, &w.placement), 0);
		for (unsigned j = 0; j < 3; j++) {
			double rate = w.placement.parts[j].rate / MESSAGE;

			sum += want[j];
			if (rate > 0 || want[j] > 0)
				assert_near(rate, want[j], 3);
		}
		assert_true(sum > 0);
		world_close(&w);
	}
}

/* Each broker has its part of every group, within one. With a random placement some are uneven. */
TEST(test_groups_are_split)
{
	for (unsigned group = 2; group <= 30; group++) {
		unsigned k = 2 + group % 5, uneven = 0;
		struct world w;

		world_init(&w, 20 * group, 6);
		for (unsigned i = 0; i < 20 * group; i++)
			w.sources[i].group = 1 + i % 20;
		world_open(&w);
		for (unsigned lot = 0; lot < 2; lot++) {
			w.problem.principles = lot ? PLACE_MAX_MIN : PLACE_PAPER;
			assert_int_equal(place_on(&w.placer, k, &w.placement), 0);
			assert_int_equal(w.placement.used, k);
			for (unsigned g = 0; g < 20; g++) {
				unsigned parts[PLACE_BROKERS] = {0};

				for (unsigned i = g; i < 20 * group; i += 20)
					parts[w.at[i]]++;
				for (unsigned b = 0; b < 6; b++) {
					bool even = w.placement.parts[b].sources == 0 ||
						    (parts[b] >= group / k &&
							    parts[b] <= (group + k - 1) / k);

					if (!lot && !even)
						fail_msg("%u of %u in %u", parts[b], group, k);
					uneven += !even;
				}
			}
		}
		assert_true(uneven > 0);
		world_close(&w);
	}
}

static void world_draw(struct world *w, uint64_t seed)
{
	struct prng prng;

	prng_seed(&prng, seed);
	world_init(w, 1 + prng_below(&prng, SOURCES), 1 + prng_below(&prng, 12));
	w->seed = seed;
	w->problem.seed = seed;
	w->problem.principles = prng_below(&prng, PLACE_ALL + 1);
	w->problem.aggregate.limit = 1 + prng_next(&prng) % (UINT64_C(1) << 40);
	w->problem.aggregate.burst = 1 + prng_next(&prng) % (UINT64_C(1) << 39);
	w->problem.aggregate.least = 1 + w->problem.aggregate.burst / (1 + prng_below(&prng, 20));
	for (unsigned i = 0; i < w->problem.n_sources; i++)
		w->sources[i] = (struct place_source){.rate = 1 + 1e6 * prng_unit(&prng),
			.batch = 1 + 1e4 * prng_unit(&prng),
			.period = prng_below(&prng, 2),
			.spread = prng_below(&prng, 3) ? 0 : 0.001,
			.group = prng_below(&prng, 8)};
	for (unsigned i = 0; i < w->problem.n_brokers; i++)
		w->brokers[i] = (struct place_broker){.capacity = 1e8 * prng_unit(&prng),
			.load = 3e7 * prng_unit(&prng),
			.full = prng_below(&prng, 8) == 0};
}

#define CHECK(w, condition)                                                      \
	do {                                                                     \
		if (!(condition))                                                \
			fail_msg("seed %" PRIu64 ": %s", (w)->seed, #condition); \
	} while (0)

static void check_placement(const struct world *w, int err)
{
	const struct place_aggregate *a = &w->problem.aggregate;
	uint64_t limit = 0, burst = 0;
	uint32_t sources = 0;

	for (unsigned i = 0; i < PLACE_BROKERS; i++) {
		const struct place_part *part = &w->placement.parts[i];

		limit += part->limit;
		burst += part->burst;
		sources += part->sources;
		CHECK(w, part->sources > 0 || (part->limit == 0 && part->burst == 0));
		if (part->sources > 0)
			CHECK(w, part->rate <= place_room(&w->brokers[i]) * (1 + 1e-6));
		if (part->sources > 0 && err == 0)
			CHECK(w, part->burst >= a->least);
	}
	CHECK(w, sources + w->placement.nowhere == w->problem.n_sources);
	CHECK(w, limit == (err == 0 && sources > 0 ? a->limit : 0));
	CHECK(w, burst == (err == 0 && sources > 0 ? a->burst : 0));
	CHECK(w, err == 0 || (err == -ERANGE && a->burst / w->placement.used < a->least));
}

/* For any problem: sums are exact, no broker is above its capacity, and no source is lost. */
TEST(test_any)
{
	unsigned refused = 0, crowded = 0;

	for (uint64_t seed = 1; seed <= ROUNDS(2000); seed++) {
		struct world w;
		int err;

		world_draw(&w, seed);
		world_open(&w);
		err = place_on(&w.placer, place_fewest(&w.placer), &w.placement);
		check_placement(&w, err);
		refused += err != 0;
		crowded += w.placement.nowhere > 0;
		world_close(&w);
	}
	assert_true(refused > 0 && crowded > 0);
}

/*
 * Random bursts in front of a bucket of lib/datapath/meter: returns the delay in seconds that only
 * this share exceeds.
 */
static double simulated_delay(
	unsigned batch, double rate, double limit, uint64_t burst, double share)
{
	enum { BATCHES = 4000000, BINS = 20000 };
	unsigned *bins = calloc(BINS, sizeof(*bins)), bin = BINS - 1;
	double now = 0, above = 0;
	struct penalty_queue queue;
	struct prng prng;

	assert_non_null(bins);
	prng_seed(&prng, 7);
	assert_int_equal(penalty_queue_init(&queue, (uint64_t)limit * 8 * MESSAGE, burst), 0);
	for (unsigned i = 0; i < BATCHES; i++) {
		now -= log1p(-prng_unit(&prng)) * batch / rate * PENALTY_HZ;
		for (unsigned j = 0; j < batch; j++) {
			uint64_t at = penalty_queue_leave(&queue, (uint64_t)now, MESSAGE);
			double wait = (double)(at - (uint64_t)now) / PENALTY_HZ;

			bins[wait < 1 ? (unsigned)(wait * BINS) : BINS - 1]++;
		}
	}
	while (bin > 0 && (above += bins[bin]) <= share * BATCHES * batch)
		bin--;
	free(bins);
	return (double)bin / BINS;
}

TEST(test_predicts_tokens)
{
	static const struct {
		unsigned batch;
		double load;
		uint64_t messages; /* size of the burst */
	} cases[] = {{1, 0.9, 3}, {1, 0.9, 12}, {1, 0.8, 5}, {10, 0.9, 100}, {5, 0.7, 20}};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct place_delay delay;
		struct world w;
		double want;

		world_init(&w, 100, 1);
		w.problem.aggregate.limit = 10000 * MESSAGE;
		w.problem.aggregate.burst = cases[i].messages * MESSAGE;
		w.brokers[0].capacity = HUGE_VAL;
		for (unsigned j = 0; j < 100; j++) {
			w.sources[j].rate = 100 * cases[i].load * MESSAGE;
			w.sources[j].batch = (double)cases[i].batch * MESSAGE;
		}
		world_open(&w);
		assert_int_equal(place_on(&w.placer, 1, &w.placement), 0);
		place_predict(&w.placer, &w.placement, 0, &delay);
		want = simulated_delay(cases[i].batch, 10000 * cases[i].load, 10000,
			cases[i].messages * MESSAGE, 0.01);
		assert_near(delay.access_p99, want, 0.1 * want + 0.0002);
		world_close(&w);
	}
}

enum { TRIAL = 4000, MEMBERS = 5, BATCH = 10, LIMIT = 1100 };

static int compare_downwards(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Returns the value that only this share of all values exceeds. */
static double exceeded_value(double *values, double share)
{
	qsort(values, TRIAL, sizeof(values[0]), compare_downwards);
	return values[(unsigned)(share * TRIAL)];
}

/*
 * Groups of five sources that each send a batch of ten messages, in two parts: one part has three
 * sources of some groups and two of the others. Sets the backlogs of the whole and of that part
 * which 1 in 100 bursts exceeds.
 */
static void simulate_backlog(uint64_t seed, double *whole, double *part)
{
	static double wholes[TRIAL], parts[TRIAL];
	double w = 0, p = 0;
	struct prng prng;

	prng_seed(&prng, seed);
	for (unsigned i = 0; i < TRIAL; i++) {
		double gap = -log1p(-prng_unit(&prng)) * MEMBERS * BATCH / 1000;

		w = fmax(0, w - gap * LIMIT) + MEMBERS * BATCH;
		p = fmax(0, p - gap * LIMIT / 2) + (2 + prng_below(&prng, 2)) * BATCH;
		wholes[i] = w;
		parts[i] = p;
	}
	*whole = exceeded_value(wholes, 0.01);
	*part = exceeded_value(parts, 0.01);
}

static void world_of_groups(struct world *w, unsigned members, unsigned k, double backlog)
{
	world_init(w, SOURCES, k);
	w->problem.aggregate.limit = LIMIT * MESSAGE;
	w->problem.aggregate.backlog = backlog * MESSAGE;
	w->problem.aggregate.burst = (uint64_t)(1.1 * backlog * MESSAGE);
	for (uint32_t i = 0; i < SOURCES; i++) {
		w->sources[i].batch = BATCH * MESSAGE;
		w->sources[i].group = 1 + i / members;
	}
	world_open(w);
	assert_int_equal(place_on(&w->placer, k, &w->placement), 0);
}

/*
 * The delay that unevenly split bursts add by chance: mostly within p99, and in 98 of 100 trials
 * within `most`.
 */
TEST(test_predicts_uneven_bursts)
{
	unsigned longer = 0, much = 0, trials = ROUNDS(400);

	for (uint64_t seed = 1; seed <= trials; seed++) {
		struct place_delay delay;
		double whole, part, wait;
		struct world w;

		simulate_backlog(seed, &whole, &part);
		world_of_groups(&w, MEMBERS, 2, whole);
		place_predict(&w.placer, &w.placement, 0, &delay);
		wait = fmax(0, part - 1.1 * whole / 2) / (LIMIT / 2.0);
		longer += wait > delay.p99 + 0.001;
		much += wait > delay.most + 0.001;
		world_close(&w);
	}
	assert_in_range(longer, 1, trials / 6);
	assert_true(much * 50 <= trials);
}

/* If every group is split evenly, nothing is added. */
TEST(test_predicts_even_bursts)
{
	for (unsigned k = 2; k <= MEMBERS; k++) {
		struct place_delay delay;
		struct world w;

		world_of_groups(&w, MEMBERS, k, 1000);
		place_predict(&w.placer, &w.placement, 0, &delay);
		assert_true((delay.most > 0) == (k != MEMBERS));
		world_close(&w);
		world_of_groups(&w, k, k, 1000);
		place_predict(&w.placer, &w.placement, k - 1, &delay);
		assert_near(delay.most, 0, 1e-9);
		world_close(&w);
	}
}

/*
 * A limit equal to the load, except for rounding: the predicted delay is infinite, and no loop is
 * endless.
 */
TEST(test_predicts_full_load)
{
	static const double batches[] = {4900, 700, 1500, 64};

	for (unsigned i = 0; i < COUNT(batches); i++)
		for (unsigned n = 1; n <= 100; n++) {
			struct place_delay delay;
			struct world w;

			world_init(&w, n, 1);
			w.problem.aggregate.limit = 375000;
			w.problem.aggregate.burst = 15000;
			w.brokers[0] = (struct place_broker){.capacity = HUGE_VAL, .speed = 1e9};
			for (unsigned j = 0; j < n; j++)
				w.sources[j] = (struct place_source){
					.rate = 375000.0 / n, .batch = batches[i]};
			world_open(&w);
			assert_int_equal(place_on(&w.placer, 1, &w.placement), 0);
			place_predict(&w.placer, &w.placement, 0, &delay);
			assert_true(isinf(delay.access_p99) && isinf(delay.p99));
			world_close(&w);
		}
}

/*
 * Poisson messages in front of a server, without a wait for tokens: the quantiles of the M/D/1
 * queue.
 */
TEST(test_predicts_service)
{
	static const struct {
		double load, p99; /* in service times; Erlang's distribution */
	} cases[] = {{0.5, 4.3}, {0.8, 11.3}, {0.9, 22.8}};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct place_delay delay;
		struct world w;

		world_init(&w, 100, 1);
		w.problem.aggregate.limit = 100000 * MESSAGE;
		w.problem.aggregate.burst = UINT64_C(1) << 30;
		w.problem.aggregate.slo = 0.01;
		w.problem.aggregate.constant = 0.001;
		w.brokers[0] = (struct place_broker){
			.capacity = HUGE_VAL, .speed = 1000.0 * MESSAGE};
		for (unsigned j = 0; j < 100; j++)
			w.sources[j].rate = 10 * cases[i].load * MESSAGE;
		world_open(&w);
		assert_int_equal(place_on(&w.placer, 1, &w.placement), 0);
		place_predict(&w.placer, &w.placement, 0, &delay);
		assert_near(delay.p99, 0.001 + cases[i].p99 / 1000, 0.0012);
		assert_true(delay.p50 < delay.p99);
		w.brokers[0].load = (1000 - 1000 * cases[i].load + 1) * MESSAGE;
		place_predict(&w.placer, &w.placement, 0, &delay);
		assert_true(isinf(delay.p99));
		world_close(&w);
	}
}

/* The constant delay is part of all predictions, except of the wait for tokens. */
TEST(test_predicts_constant)
{
	static const struct {
		double backlog, load; /* messages */
		bool known;           /* the upper bound is finite */
	} rows[] = {{0, 0, false}, {24, 0, true}, {24, 1, false}};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct place_delay none, some;
		double bound, worst;
		struct world w;

		world_init(&w, 500, 2);
		w.problem.aggregate.backlog = rows[i].backlog * MESSAGE;
		w.problem.aggregate.burst = 20 * MESSAGE;
		for (unsigned j = 0; j < 2; j++) {
			w.brokers[j].speed = 550.0 * MESSAGE;
			w.brokers[j].load = rows[i].load * MESSAGE;
		}
		world_open(&w);
		assert_int_equal(place_on(&w.placer, 2, &w.placement), 0);
		place_predict(&w.placer, &w.placement, 0, &none);
		bound = place_bound(&w.placer);
		worst = place_predict_worst(&w.placer, &w.placement);
		w.problem.aggregate.constant = 0.25;
		place_predict(&w.placer, &w.placement, 0, &some);
		assert_true(none.access_p99 > 0 && none.p50 > 0 && none.p50 < none.p99);
		assert_near(some.access_p99, none.access_p99, 0);
		assert_near(some.p50, none.p50 + 0.25, 1e-9);
		assert_near(some.p99, none.p99 + 0.25, 1e-9);
		assert_int_equal(isfinite(none.most), rows[i].known);
		if (rows[i].known)
			assert_near(some.most, none.most + 1.1 * 0.25, 1e-9);
		assert_near(place_bound(&w.placer), bound + 0.25, 1e-9);
		assert_true(worst >= none.p99);
		assert_near(place_predict_worst(&w.placer, &w.placement), worst + 0.25, 1e-9);
		w.placement.parts[0].sources = w.placement.parts[1].sources = 0;
		assert_near(place_predict_worst(&w.placer, &w.placement), 0, 0);
		world_close(&w);
	}
}

/* Proposition 1 for predictions: with more brokers the wait for tokens is never shorter. */
TEST(test_more_brokers_wait_longer)
{
	for (unsigned way = 0; way < 2; way++) {
		double last = 0;
		struct world w;

		world_init(&w, 600, 12);
		w.problem.principles = way ? PLACE_ALL : PLACE_PAPER;
		w.problem.aggregate.backlog = 24 * MESSAGE;
		w.problem.aggregate.burst = 24 * MESSAGE;
		world_open(&w);
		for (unsigned k = 1; k <= 12; k++) {
			double worst;

			assert_int_equal(place_on(&w.placer, k, &w.placement), 0);
			worst = place_predict_worst(&w.placer, &w.placement);
			assert_true(worst >= last);
			assert_true((worst > 0) == (k > 1));
			last = worst;
		}
		world_close(&w);
	}
}

/* The best prediction: on one broker to all of them, and of some random placements. */
static double best_of(struct world *w, uint64_t seed)
{
	double best = HUGE_VAL;
	struct prng prng;

	for (unsigned k = 1; k <= w->problem.n_brokers; k++) {
		assert_int_equal(place_on(&w->placer, k, &w->placement), 0);
		best = fmin(best, place_predict_worst(&w->placer, &w->placement));
	}
	prng_seed(&prng, seed);
	for (unsigned trial = 0; trial < 20; trial++) {
		double uneven = 1 + 3 * prng_unit(&prng);

		for (unsigned i = 0; i < w->problem.n_sources; i++)
			w->at[i] = (uint32_t)(pow(prng_unit(&prng), uneven) * w->problem.n_brokers);
		if (place_split(&w->placer, true, &w->placement) == 0)
			best = fmin(best, place_predict_worst(&w->placer, &w->placement));
	}
	return best;
}

/* No prediction is below the bound, and the best one is below twice the bound. */
TEST(test_bound)
{
	static const double speeds[] = {940, 400, 250}; /* for 900: 1, 3 or 4 brokers */

	for (unsigned i = 0; i < 7 * COUNT(speeds); i++) {
		unsigned rate = 300 + i % 7 * 100;
		double bound, best, speed = speeds[i / 7];
		struct world w;

		world_init(&w, SOURCES, 6);
		w.problem.principles = PLACE_ALL;
		w.problem.aggregate.limit = rate * 1100;
		w.problem.aggregate.burst = 272 * MESSAGE;
		w.problem.aggregate.backlog = 247 * MESSAGE;
		w.problem.aggregate.slo = 0.5; /* a quarter of the largest prediction */
		for (unsigned j = 0; j < SOURCES; j++)
			w.sources[j] = (struct place_source){
				.rate = (double)rate * MESSAGE / SOURCES, .batch = 10 * MESSAGE};
		for (unsigned j = 0; j < 6; j++)
			w.brokers[j].speed = speed * MESSAGE;
		world_open(&w);
		bound = place_bound(&w.placer);
		best = best_of(&w, i);
		if (!(bound > 0 && bound <= best && bound > best / 2))
			fail_msg("seed %u: %u at speeds of %g: %g, not %g", i, rate, speed, best,
				bound);
		world_close(&w);
	}
}

/* There is no bound if arrivals are not random, not independent, or not of one size. */
TEST(test_no_bound)
{
	for (unsigned i = 0; i < 4; i++) {
		struct world w;

		world_init(&w, SOURCES, 3);
		w.problem.aggregate.backlog = 150 * MESSAGE;
		w.sources[7].group = i == 1;
		w.sources[7].period = i == 2;
		w.sources[7].batch *= i == 3 ? 2 : 1;
		w.problem.aggregate.constant = 0.001;
		world_open(&w);
		assert_int_equal(place_bound(&w.placer) > 0, i == 0);
		world_close(&w);
	}
}

/* Other load at the brokers never lowers the bound, and raises it if it comes in bursts. */
TEST(test_bound_with_load)
{
	static const struct {
		double load, batch; /* messages */
		bool longer;
	} rows[] = {{0, 0, false}, {0, 100, false}, {100, 0, false}, {100, 100, true}};
	double alone = 0;

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct world w;
		double bound;

		world_init(&w, SOURCES, 3);
		for (unsigned j = 0; j < 3; j++)
			w.brokers[j] = (struct place_broker){.capacity = 1000 * MESSAGE,
				.speed = 700.0 * MESSAGE,
				.load = rows[i].load * MESSAGE,
				.load_batch = rows[i].batch * MESSAGE};
		world_open(&w);
		bound = place_bound(&w.placer);
		alone = i == 0 ? bound : alone;
		assert_true(bound > 0 && isfinite(bound));
		assert_int_equal(bound > alone, rows[i].longer);
		assert_true(bound >= alone);
		world_close(&w);
	}
}

/*
 * With parts in proportion, the smallest part waits longest; with balanced parts, no longer than
 * the others.
 */
TEST(test_balance)
{
	struct place_delay small, large;
	ENDED_BY(world_close) struct world w;
	double longest;

	world_init(&w, 500, 2);
	w.problem.aggregate.backlog = 24 * MESSAGE;
	w.problem.aggregate.burst = 26 * MESSAGE;
	w.brokers[1].capacity = 200 * MESSAGE;
	w.brokers[0].capacity = 800 * MESSAGE;
	world_open(&w);
	assert_int_equal(place_on(&w.placer, 2, &w.placement), 0);
	place_predict(&w.placer, &w.placement, 0, &large);
	place_predict(&w.placer, &w.placement, 1, &small);
	assert_true(small.access_p99 > 2 * large.access_p99);
	longest = small.access_p99;
	w.problem.principles = PLACE_ALL;
	assert_int_equal(place_on(&w.placer, 2, &w.placement), 0);
	place_predict(&w.placer, &w.placement, 0, &large);
	place_predict(&w.placer, &w.placement, 1, &small);
	assert_near(small.access_p99, large.access_p99, 0.1 * large.access_p99);
	assert_true(small.access_p99 < 0.5 * longest);
	assert_int_equal(
		w.placement.parts[0].limit + w.placement.parts[1].limit, w.problem.aggregate.limit);
}

/*
 * Sources placed by hand, one on each broker. Parts are in proportion to the rates, but each burst
 * is at least the size of the largest packet. The missing part is taken from the unplaced sources'
 * part first, then from the largest.
 */
TEST(test_split)
{
	static const struct {
		unsigned n;
		double rates[4]; /* by broker; the fourth source is not placed */
		uint64_t limit, burst, least;
		bool trial; /* the unplaced source is elsewhere, with its part */
		int ret;
		uint64_t limits[3], bursts[3];
	} rows[] = {
		{2, {900, 100}, 1100, 1000, 100, false, 0, {990, 110}, {900, 100}},
		{2, {900, 100}, 1100, 1000, 300, false, 0, {990, 110}, {700, 300}},
		{3, {700, 200, 100}, 1000, 1000, 250, false, 0, {700, 200, 100}, {500, 250, 250}},
		{3, {1, 1, 1}, 10, 20, 1, false, 0, {3, 4, 3}, {7, 6, 7}},
		{2, {900, 100}, 1100, 600, 300, false, 0, {990, 110}, {300, 300}},
		{2, {900, 100}, 1100, 599, 300, false, -ERANGE, {0}, {0}},
		{4, {200, 100, 100, 600}, 1000, 1000, 150, true, 0, {200, 100, 100},
			{200, 150, 150}},
		{4, {200, 100, 100, 600}, 1000, 1000, 150, false, 0, {500, 250, 250},
			{500, 250, 250}},
		/* The unplaced source's 50, or 20, are used first. */
		{4, {800, 75, 75, 50}, 1000, 1000, 100, true, 0, {800, 75, 75}, {800, 100, 100}},
		{4, {900, 40, 40, 20}, 1000, 1000, 100, true, 0, {900, 40, 40}, {800, 100, 100}},
		/* The largest gives only the missing part, also if it is hardly larger. */
		{3, {500, 490, 10}, 1000, 1000, 100, false, 0, {500, 490, 10}, {410, 490, 100}},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
		struct world w;

		world_init(&w, rows[k].n, 3);
		w.problem.aggregate = (struct place_aggregate){.limit = rows[k].limit,
			.burst = rows[k].burst,
			.least = rows[k].least,
			.slo = 0.1};
		for (unsigned i = 0; i < rows[k].n; i++) {
			w.sources[i].rate = rows[k].rates[i];
			w.at[i] = i < 3 ? i : PLACE_NOWHERE;
		}
		world_open(&w);
		assert_int_equal(place_split(&w.placer, !rows[k].trial, &w.placement), rows[k].ret);
		assert_int_equal(w.placement.used, rows[k].n < 3 ? rows[k].n : 3);
		assert_int_equal(w.placement.nowhere, rows[k].n > 3);
		for (unsigned i = 0; i < 3; i++) {
			if (w.placement.parts[i].limit != rows[k].limits[i] ||
				w.placement.parts[i].burst != rows[k].bursts[i])
				fail_msg("row %zu: part %u: %" PRIu64 " and %" PRIu64, k, i,
					w.placement.parts[i].limit, w.placement.parts[i].burst);
		}
		world_close(&w);
	}
}

/* A broker above the objective gives up a part of its sources, if another one is not above it. */
TEST(test_shed)
{
	static const struct {
		uint32_t sources[3];
		double delays[3];
		bool shed;
		double capacities[3];
	} rows[] = {
		{{1, 1, 1}, {0.1, 0.1, 0.1}, false, {1000, 1000, 1000}},
		{{1, 1, 1}, {0.2, 0.2, 0.2}, false, {1000, 1000, 1000}},
		{{1, 1, 1}, {0.2, 0.1, 0.1}, true, {10 + 92, 1000, 1000}},
		{{1, 1, 1}, {0.2, 0.1, 0.2}, true, {10 + 92, 1000, 10 + 92}},
		/* The delay of a broker without sources does not count. */
		{{1, 0, 1}, {0.2, 0.1, 0.2}, false, {1000, 1000, 1000}},
		{{1, 0, 1}, {0.1, 0.2, 0.1}, false, {1000, 1000, 1000}},
		{{1, 0, 1}, {0.1, 0.2, 0.2}, true, {1000, 1000, 10 + 92}},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
		struct place_broker brokers[3];
		struct placement placement = {0};

		for (unsigned i = 0; i < 3; i++) {
			brokers[i] = (struct place_broker){.capacity = 1000, .load = 10};
			placement.parts[i].sources = rows[k].sources[i];
			placement.parts[i].rate = 100;
		}
		assert_int_equal(
			place_shed(&placement, rows[k].delays, 0.1, brokers, 3), rows[k].shed);
		for (unsigned i = 0; i < 3; i++)
			assert_near(brokers[i].capacity, rows[k].capacities[i], 1e-9);
	}
}

/* All subsets of the principles, each once; only PLACE_CONCENTRATE is always kept. */
TEST(test_fewer_principles)
{
	static const unsigned all[] = {PLACE_ALL, PLACE_PAPER, PLACE_ALL & ~PLACE_CONCENTRATE,
		PLACE_CONCENTRATE | PLACE_BALANCED, PLACE_CONCENTRATE, 0};

	for (size_t k = 0; k < COUNT(all); k++) {
		unsigned some = all[k], seen = 1, count = 1, parts = 1;

		for (unsigned bit = PLACE_MAX_MIN; bit <= PLACE_BALANCED; bit *= 2)
			parts *= all[k] & bit ? 2 : 1;
		for (; place_fewer_principles(all[k], &some); count++) {
			assert_int_equal(some & ~all[k], 0);
			assert_int_equal(some & PLACE_CONCENTRATE, all[k] & PLACE_CONCENTRATE);
			assert_false(some == all[k] || (seen >> (some + 1) & 1));
			seen |= 1U << (some + 1);
		}
		assert_int_equal(count, parts);
	}
}

/* The wait for tokens if all sources are at one broker with room for them. */
static double wait_on_one(struct world *w)
{
	struct place_delay delay;

	w->brokers[0].capacity = HUGE_VAL;
	world_open(w);
	assert_int_equal(place_on(&w->placer, 1, &w->placement), 0);
	place_predict(&w->placer, &w->placement, 0, &delay);
	world_close(w);
	return delay.access_p99;
}

/*
 * The wait for 33 sources of 32 sizes, where the last has the size of the first; or if these two
 * are one.
 */
static double wait_of_sizes(bool apart)
{
	struct world w;

	world_init(&w, apart ? 33 : 32, 1);
	w.problem.aggregate.limit = 1200 * MESSAGE;
	w.problem.aggregate.burst = 20 * MESSAGE;
	for (unsigned i = 0; i < w.problem.n_sources; i++)
		w.sources[i] = (struct place_source){
			.rate = (20 + i % 32) * MESSAGE, .batch = (1 + i % 32) * MESSAGE};
	w.sources[0].rate = (apart ? 60 : 75) * MESSAGE;
	if (apart)
		w.sources[32].rate = 15 * MESSAGE;
	return wait_on_one(&w);
}

/* The wait for sources of single messages and a source of bursts, or for that one alone. */
static double wait_of_bursts(unsigned n)
{
	struct world w;

	world_init(&w, n, 1);
	for (unsigned i = 0; i < n; i++)
		w.sources[i].rate = 500 * MESSAGE;
	w.sources[0].batch = 100 * MESSAGE;
	return wait_on_one(&w);
}

/*
 * Bursts of one size count together, also with other sizes in between. Bursts of another size stay
 * separate: they wait at least as long if others also send.
 */
TEST(test_sizes)
{
	double apart = wait_of_sizes(true);

	assert_true(apart > 0.01);
	assert_near(apart, wait_of_sizes(false), 1e-9);
	assert_true(wait_of_bursts(1) > 0.01);
	assert_true(wait_of_bursts(2) > wait_of_bursts(1));
}

TEST(test_no_sense)
{
	struct world w;

	world_init(&w, 3, 1);
	w.problem.sources = w.sources;
	w.problem.brokers = w.brokers;
	w.sources[2].rate = 0;
	assert_int_equal(placer_init(&w.placer, &w.problem), -EINVAL);
	w.sources[2].rate = 1;
	w.sources[2].batch = INFINITY;
	assert_int_equal(placer_init(&w.placer, &w.problem), -EINVAL);
	w.sources[2].batch = 1;
	w.problem.n_brokers = PLACE_BROKERS + 1;
	assert_int_equal(placer_init(&w.placer, &w.problem), -EINVAL);
	w.problem.n_brokers = 0;
	assert_int_equal(placer_init(&w.placer, &w.problem), -EINVAL);
	w.problem.n_brokers = PLACE_BROKERS;
	world_open(&w);
	world_close(&w);
	w.sources[0].period = -1;
	assert_int_equal(placer_init(&w.placer, &w.problem), -EINVAL);
	w.sources[0].period = 0;
	w.sources[0].spread = -1;
	assert_int_equal(placer_init(&w.placer, &w.problem), -EINVAL);
	w.sources[0].spread = 0;
	w.sources[0].batch = 0;
	assert_int_equal(placer_init(&w.placer, &w.problem), -EINVAL);
	w.sources[0].batch = 1;
	w.sources[0].rate = INFINITY;
	assert_int_equal(placer_init(&w.placer, &w.problem), -EINVAL);
	w.sources[0].rate = 1;
	w.problem.n_brokers = 1;
	w.problem.aggregate.limit = 0;
	assert_int_equal(placer_init(&w.placer, &w.problem), -EINVAL);
}

TEST(test_no_sense_recorded)
{
	static const struct {
		struct place_arrival arrivals[2];
		int ret;
	} rows[] = {
		{{{0, 1, 0}, {0, 1, 2}}, 0},
		{{{0, 1, 0}, {0, 1, 3}}, -EINVAL},
		{{{0, 0, 0}, {0, 1, 2}}, -EINVAL},
		{{{0, INFINITY, 0}, {0, 1, 2}}, -EINVAL},
		{{{0, 1, 0}, {INFINITY, 1, 2}}, -EINVAL},
		{{{1, 1, 0}, {0.5, 1, 2}}, -EINVAL},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
		const struct place_record record = {rows[k].arrivals, 2};
		struct world w;

		world_init(&w, 3, 1);
		w.problem.sources = w.sources;
		w.problem.brokers = w.brokers;
		w.problem.record = &record;
		assert_int_equal(placer_init(&w.placer, &w.problem), rows[k].ret);
		if (rows[k].ret == 0)
			world_close(&w);
	}
}

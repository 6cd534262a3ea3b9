/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A record of periodic sources: which sources follow one another, and the resulting delays,
 * compared with a bucket of lib/meter.
 */
#include "check.h"

#include "base/prng.h"
#include "penalty_queue.h"
#include "place/place.h"

#define SOURCES 120
#define PERIODS 40
#define PACKET  1000 /* units */
#define SLO     0.01
#define PERIOD  0.1 /* seconds */

struct world {
	uint64_t seed;
	struct place_source sources[SOURCES];
	struct place_broker brokers[4];
	struct place_arrival arrivals[SOURCES * PERIODS];
	struct place_record record;
	struct place_problem problem;
	struct placer placer;
	struct placement placement;
	uint32_t at[SOURCES];
};

static int by_time(const void *a, const void *b)
{
	const struct place_arrival *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Sources of `batch` packets, each with its own phase; the bucket is slightly too small. */
static void world_init(struct world *w, uint64_t seed, unsigned batch, unsigned n_brokers)
{
	double rate = batch * PACKET / PERIOD;
	struct prng prng;

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	prng_seed(&prng, seed);
	for (uint32_t i = 0; i < SOURCES; i++) {
		double phase = prng_unit(&prng) * PERIOD;

		w->sources[i] = (struct place_source){
			.rate = rate, .batch = (double)batch * PACKET, .period = PERIOD};
		for (unsigned j = 0; j < PERIODS; j++)
			w->arrivals[i * PERIODS + j] = (struct place_arrival){
				phase + j * PERIOD, (double)batch * PACKET, i};
	}
	qsort(w->arrivals, SOURCES * PERIODS, sizeof(w->arrivals[0]), by_time);
	for (unsigned i = 0; i < n_brokers; i++)
		w->brokers[i] = (struct place_broker){.capacity = rate * SOURCES};
	w->record = (struct place_record){w->arrivals, SOURCES * PERIODS};
	w->problem = (struct place_problem){
		.aggregate = {.limit = (uint64_t)(1.05 * rate * SOURCES),
			.burst = 4ULL * batch * PACKET,
			.least = PACKET + 1,
			.slo = SLO},
		.sources = w->sources,
		.n_sources = SOURCES,
		.brokers = w->brokers,
		.n_brokers = n_brokers,
		.principles = PLACE_ALL,
		.seed = seed,
		.record = &w->record};
	w->placement.at = w->at;
}

static void world_open(struct world *w)
{
	assert_int_equal(placer_init(&w->placer, &w->problem), 0);
	assert_int_equal(place_on(&w->placer, w->problem.n_brokers, &w->placement), 0);
}

/* The delay that 1 in 100 of a broker's packets exceeds, by a bucket of lib/meter. */
static double played_delay(const struct world *w, uint32_t broker)
{
	const struct place_part *part = &w->placement.parts[broker];
	double delays[SOURCES * PERIODS * 10], least = 0;
	struct penalty_queue queue;
	unsigned n = 0, above;

	assert_int_equal(penalty_queue_init(&queue, part->limit * 8, part->burst), 0);
	for (uint32_t i = 0; i < w->record.n; i++) {
		const struct place_arrival *a = &w->arrivals[i];
		uint64_t now = (uint64_t)(a->at * PENALTY_HZ);

		if (w->at[a->source] != broker)
			continue;
		for (unsigned j = 0; j < (unsigned)(a->units / PACKET); j++) {
			uint64_t left = penalty_queue_leave(&queue, now, PACKET);

			if (i >= w->record.n / 10)
				delays[n++] = (double)(left - now) / PENALTY_HZ;
		}
	}
	for (unsigned i = 0; i < n; i++) {
		above = 0;
		for (unsigned j = 0; j < n; j++)
			above += delays[j] > delays[i];
		if (above * 100 <= n && (least == 0 || delays[i] < least))
			least = delays[i];
	}
	return least;
}

TEST(test_as_a_bucket)
{
	unsigned waited = 0;

	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct world w;

		world_init(&w, seed, 1 + seed % 4, 1 + seed % 3);
		w.problem.principles = PLACE_PAPER; /* parts in proportion */
		world_open(&w);
		for (unsigned i = 0; i < w.problem.n_brokers; i++) {
			double want = played_delay(&w, i);
			struct place_delay delay;

			place_predict(&w.placer, &w.placement, i, &delay);
			if (fabs(delay.p99 - want) > 0.01 * SLO + 0.01 * want)
				fail_msg("seed %" PRIu64 ", broker %u: %g, not %g", seed, i,
					delay.p99, want);
			assert_true(delay.most >= delay.p99);
			waited += want > 0;
		}
		placer_free(&w.placer);
	}
	assert_true(waited > 0);
}

/* Each broker gets one of any n successive sources. */
TEST(test_neighbours_are_apart)
{
	for (unsigned n = 2; n <= 4; n++) {
		struct world w;

		world_init(&w, n, 2, n);
		world_open(&w);
		for (uint32_t i = 0; i + n <= SOURCES; i += n) {
			unsigned seen = 0;

			for (unsigned j = 0; j < n; j++)
				seen |= 1U << w.at[w.arrivals[i + j].source];
			assert_int_equal(seen, (1U << n) - 1);
		}
		placer_free(&w.placer);
	}
}

static double worst_on(struct world *w)
{
	double worst = 0;

	world_open(w);
	for (unsigned i = 0; i < w->problem.n_brokers; i++)
		worst = fmax(worst, played_delay(w, i));
	placer_free(&w->placer);
	return worst;
}

/* If the phases are used, four parts wait hardly longer than the whole; otherwise much longer. */
TEST(test_phases_are_worth_it)
{
	double known = 0, unknown = 0, whole = 0;

	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct world w;

		world_init(&w, seed, 4, 1);
		w.problem.aggregate.burst = 40 * 4 * PACKET;
		whole += worst_on(&w);
		world_init(&w, seed, 4, 4);
		w.problem.aggregate.burst = 40 * 4 * PACKET;
		w.problem.principles = PLACE_PAPER; /* parts in proportion in both cases */
		known += worst_on(&w);
		w.problem.record = NULL;
		unknown += worst_on(&w);
	}
	assert_true(known <= whole + 10 * SLO / 10);
	assert_true(unknown > 4 * known);
}

/* Random arrivals are not replayed. */
TEST(test_random_has_no_record)
{
	struct place_delay with, without;
	struct world w;

	world_init(&w, 3, 2, 2);
	for (unsigned i = 0; i < SOURCES; i++)
		w.sources[i].period = 0;
	world_open(&w);
	place_predict(&w.placer, &w.placement, 0, &with);
	placer_free(&w.placer);
	w.problem.record = NULL;
	world_open(&w);
	place_predict(&w.placer, &w.placement, 0, &without);
	assert_memory_equal(&with, &without, sizeof(with));
	placer_free(&w.placer);
}

/*
 * A counted backlog scales the prediction from a record: if it fits into the burst, no packet
 * waits.
 */
TEST(test_backlog_scales)
{
	struct place_delay alone, counted;
	struct world w;

	world_init(&w, 5, 3, 1);
	world_open(&w);
	place_predict(&w.placer, &w.placement, 0, &alone);
	assert_true(alone.access_p99 > 0);
	placer_free(&w.placer);
	w.problem.aggregate.backlog = (double)w.problem.aggregate.burst;
	world_open(&w);
	place_predict(&w.placer, &w.placement, 0, &counted);
	assert_near(counted.access_p99, 0, SLO / 100);
	placer_free(&w.placer);
}

/* The result does not depend on the origin of the record's clock. */
TEST(test_any_clock)
{
	static const double begins[] = {1e6 + PERIOD / 3, 1e6 + PERIOD / 2, 1e6 + PERIOD / 4, -1e6};
	struct place_delay want, delay;
	uint32_t at[SOURCES];
	struct world w;

	for (unsigned i = 0; i < COUNT(begins); i++) {
		world_init(&w, 7, 2, 2);
		for (unsigned j = 0; j < 2; j++) {
			w.brokers[j].speed = w.brokers[j].capacity;
			w.brokers[j].load = w.brokers[j].capacity / 4;
		}
		world_open(&w);
		place_predict(&w.placer, &w.placement, 0, &want);
		assert_true(want.access_p99 > 0 && want.p99 > want.access_p99);
		memcpy(at, w.at, sizeof(at));
		placer_free(&w.placer);
		for (uint32_t j = 0; j < w.record.n; j++)
			w.arrivals[j].at += begins[i];
		world_open(&w);
		assert_memory_equal(w.at, at, sizeof(at));
		place_predict(&w.placer, &w.placement, 0, &delay);
		assert_near(delay.access_p99, want.access_p99, 0.01 * SLO);
		assert_near(delay.p50, want.p50, 0.01 * SLO);
		assert_near(delay.p99, want.p99, 0.01 * SLO);
		placer_free(&w.placer);
	}
}

TEST(test_no_sense)
{
	struct world w;

	world_init(&w, 1, 1, 1);
	w.arrivals[7].source = SOURCES;
	assert_int_equal(placer_init(&w.placer, &w.problem), -EINVAL);
	w.arrivals[7].source = 1;
	w.arrivals[7].units = 0;
	assert_int_equal(placer_init(&w.placer, &w.problem), -EINVAL);
	w.arrivals[7].units = PACKET;
	w.arrivals[7].at = w.arrivals[6].at - 1e-9;
	assert_int_equal(placer_init(&w.placer, &w.problem), -EINVAL);
	w.arrivals[7].at = w.arrivals[6].at;
	assert_int_equal(placer_init(&w.placer, &w.problem), 0);
	placer_free(&w.placer);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * GDRL over real ledgers and graphs: it settles, also where the paper has no proof, and the limit
 * is there to the byte. Every failure names its seed.
 */
#include "check.h"
#include "scope.h"

#include "gdrl_run.h"

END_POINTER(gdrl_world_destroy, struct gdrl_world *)

#define SEEDS ROUNDS(12)

static const struct gdrl_case ring = {.n = 10,
	.degree = 2,
	.ring = true,
	.indicator = &gdrl_spare,
	.headroom = 0.1,
	.steps = 3000};

/* Runs it with this seed; slots until the index stays at the goal. */
static unsigned slots_to_settle(struct gdrl_case c, uint64_t seed, const char *what)
{
	struct gdrl_run run = {.c = c, .name = what};
	unsigned stays;

	run.c.seed = seed;
	assert_int_equal(gdrl_run(&run), 0);
	if (run.error)
		fail_msg("seed %" PRIu64 ", %s: error %d in slot %u", seed, what, run.error,
			run.n - 1);
	stays = run.stays;
	if (stays == GDRL_NEVER)
		fail_msg("seed %" PRIu64 ", %s: index %.4f at the end, least %.4f", seed, what,
			run.jain[run.n - 1], run.least);
	gdrl_run_free(&run);
	return stays;
}

/*
 * Checks the values, not only that all are alike. With exact demands, all servers have the same
 * part of the capacity that the demands leave. The tolerance is for rounding, 1/eta on each edge.
 */
TEST(test_ring_without_noise)
{
	struct gdrl_world *w;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct gdrl_case c = ring;

		c.seed = seed;
		assert_int_equal(gdrl_world_create(&c, &w), 0);
		for (unsigned t = 0; t < c.steps; t++)
			assert_int_equal(gdrl_world_step(w), 0);
		for (unsigned i = 1; i <= c.n; i++)
			assert_near(gdrl_world_q(w, i), -0.05 * GDRL_UNIT, 4.0 * c.n);
		assert_true(gdrl_world_spread(w) <= 4.0 * c.n / 2);
		gdrl_world_destroy(w);
	}
}

/* Figures 3 and 4. */
TEST(test_ring)
{
	struct gdrl_case c = ring;

	c.alpha = 1e-3;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		assert_true(slots_to_settle(c, seed, "ring") < 100);
}

/* Figures 5 and 6: after an abrupt change of exact demands, the index must settle again. */
TEST(test_changes)
{
	ENDED_BY(gdrl_run_free) struct gdrl_run run = {.c = ring, .name = "changes"};

	run.c.period = 1000;
	run.c.steps = 4000;
	assert_int_equal(gdrl_run(&run), 0);
	assert_int_equal(run.error, 0);
	assert_int_equal(run.n_changes, GDRL_CHANGES);
	assert_true(run.changes[0].least < 0.5);
	assert_in_range(run.changes[0].until, 10, 100);
	assert_int_equal(run.changes[1].until, 0); /* slow, and tracked */
	assert_true(run.stays < 2500);
}

/* Statements late, lost, and limiters that act when they like (theorem 2 and beyond). */
TEST(test_bad_networks)
{
	static const struct {
		const char *what;
		unsigned degree, delay, most;
		double loss, rest;
	} rows[] = {
		{"lost", 2, 0, 300, 0.3, 0},
		{"at times", 2, 0, 400, 0, 0.5},
		{"late", 2, 5, 1000, 0, 0},
		{"all of it", 2, 5, 1500, 0.2, 0.3},
		{"all of it, random graph", 4, 10, 1500, 0.3, 0.3},
		{"all of it, many edges", 8, 20, 2500, 0.5, 0.5},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct gdrl_case c = ring;

			c.ring = rows[i].degree == 2;
			c.degree = rows[i].degree;
			c.delay = rows[i].delay;
			c.loss = rows[i].loss;
			c.rest = rows[i].rest;
			c.alpha = seed % 2 ? 1e-3 : 0;
			assert_in_range(slots_to_settle(c, seed, rows[i].what), 2, rows[i].most);
		}
}

/* A statement that is late is a step that is late, and no more than that. */
TEST(test_delay_slows)
{
	unsigned before = 0;

	for (unsigned delay = 0; delay <= 64; delay = delay ? 4 * delay : 1) {
		struct gdrl_case c = ring;
		unsigned stays;

		c.delay = delay;
		stays = slots_to_settle(c, 1, "late");
		assert_true(stays > before);
		assert_true(stays < 200 + 40 * delay);
		before = stays;
	}
}

/* Losses only delay: after a long enough silence, the ledgers hold the whole limit. */
TEST(test_nothing_is_lost)
{
	struct gdrl_case c = ring;
	ENDED_BY(gdrl_world_destroy_at) struct gdrl_world *w;

	c.loss = 0.5;
	c.delay = 3;
	c.steps = 20000;
	assert_int_equal(gdrl_world_create(&c, &w), 0);
	for (unsigned t = 0; t < c.steps; t++)
		assert_int_equal(gdrl_world_step(w), 0);
	assert_true(gdrl_world_totals(w).lost > 10000);
	assert_true(gdrl_world_totals(w).in_flight > GDRL_UNIT / 100);
	assert_true((uint64_t)gdrl_world_totals(w).held == gdrl_world_totals(w).limit);
}

TEST(test_indicators)
{
	static const struct {
		const struct gdrl_indicator *indicator;
		double headroom;
	} rows[] = {{&gdrl_utilisation, 0.1}, {&gdrl_utilisation, -0.2}, {&gdrl_loss, -0.3},
		{&gdrl_drops, -0.1}, {&gdrl_delay, 0.1}};

	for (size_t i = 0; i < COUNT(rows); i++)
		for (unsigned degree = 2; degree <= 4; degree += 2)
			for (uint64_t seed = 1; seed <= ROUNDS(3); seed++) {
				struct gdrl_case c = ring;

				c.indicator = rows[i].indicator;
				c.headroom = rows[i].headroom;
				c.ring = false;
				c.degree = degree;
				slots_to_settle(c, seed, c.indicator->name);
				c.delay = 5;
				c.loss = 0.2;
				slots_to_settle(c, seed, c.indicator->name);
			}
}

TEST(test_same_seed_same_numbers)
{
	struct gdrl_run runs[3];

	for (unsigned i = 0; i < 3; i++) {
		runs[i] = (struct gdrl_run){.c = ring, .name = "twice"};
		runs[i].c.steps = 300;
		runs[i].c.alpha = 1e-2;
		runs[i].c.delay = 3;
		runs[i].c.loss = 0.1;
		runs[i].c.seed = 1 + i / 2;
		assert_int_equal(gdrl_run(&runs[i]), 0);
	}
	assert_memory_equal(runs[0].jain, runs[1].jain, 301 * sizeof(double));
	assert_memory_not_equal(runs[0].jain, runs[2].jain, 301 * sizeof(double));
	for (unsigned i = 0; i < 3; i++)
		gdrl_run_free(&runs[i]);
}

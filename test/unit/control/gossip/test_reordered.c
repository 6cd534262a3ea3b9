/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A reload reorders the policies: received, in-flight and pending records move to the new indices.
 * The reload comes at each moment of the exchange.
 */
#include "check.h"

#include "gossip_world.h"

#define N        6
#define POLICIES 800 /* too many for a refresh to cover them within a test */
#define TICK     (50 * MS)
#define SETTLE   (3000 * MS)
#define SOON     (1500 * MS)

struct group {
	struct world world;
	bool reversed[N];
};

/* The index that limiter i has for a policy. */
static unsigned index_of(const struct group *g, unsigned i, unsigned policy)
{
	return g->reversed[i] ? g->world.params.n_policies - 1 - policy : policy;
}

static void reverse(struct group *g, unsigned i)
{
	unsigned n = g->world.params.n_policies, from[POLICIES];
	uint64_t ids[POLICIES];

	g->reversed[i] = !g->reversed[i];
	for (unsigned p = 0; p < n; p++) {
		from[p] = n - 1 - p;
		ids[index_of(g, i, p)] = g->world.policies[p];
	}
	assert_int_equal(
		gossip_update(g->world.nodes[i].gossip, ids, n, from, TICK, g->world.now_ns), 0);
}

/* Differs between limiters and policies, by more than the threshold below which changes wait. */
static double weight_of(unsigned i, unsigned policy)
{
	return 1 + i + 10 * (policy % 37);
}

static void set_weights(struct group *g, unsigned i, double factor)
{
	for (unsigned p = 0; p < g->world.params.n_policies; p++) {
		double weight = factor * weight_of(i, p);

		g->world.weights[(size_t)i * g->world.params.n_policies + p] = weight;
		gossip_set(g->world.nodes[i].gossip, index_of(g, i, p), 1000 * weight, weight);
	}
}

/* Number of policies for which limiter i has the right sum over the others. */
static unsigned count_known(const struct group *g, unsigned i)
{
	unsigned n = 0, peers;

	for (unsigned p = 0; p < g->world.params.n_policies; p++) {
		struct gossip_sum sum = gossip_sum(g->world.nodes[i].gossip, index_of(g, i, p));
		double truth = world_truth(&g->world, i, p, &peers);

		n += fabs(sum.weight - truth) < 1e-5 * truth &&
		     fabs(sum.demand - 1000 * truth) < 1e-2 * truth;
	}
	return n;
}

static void all_know(const struct group *g, unsigned long long when_ms)
{
	for (unsigned i = 0; i < g->world.params.n; i++)
		if (count_known(g, i) < g->world.params.n_policies)
			fail_msg("%llu ms: limiter %u knows %u of %u", when_ms, i,
				count_known(g, i), g->world.params.n_policies);
}

static struct group *start_group(const struct world_params *params)
{
	struct group *g = test_calloc(1, sizeof(*g));
	struct world_params all = *params;

	all.seed = 1;
	all.tick_ns = TICK;
	all.timeout_ns = 1000 * MS;
	all.n_policies = params->n_policies ? params->n_policies : POLICIES;
	world_create(&g->world, &all);
	for (unsigned i = 0; i < all.n; i++)
		set_weights(g, i, 1);
	return g;
}

static struct group *make_group(const struct world_params *params)
{
	struct group *g = start_group(params);

	world_run(&g->world, SETTLE);
	all_know(g, 0);
	return g;
}

static void free_group(struct group *g)
{
	world_destroy(&g->world);
	test_free(g);
}

static const struct world_params all_tell_all = {.n = 3, .branching = 3};

static const struct world_params kinds[] = {
	{.n = 3, .branching = 3},
	{.n = N, .branching = 2},
	{.n = N, .branching = 2, .n_policies = 64},
	{.n = N, .branching = 2, .n_policies = 65},
	{.n = N, .branching = 2, .estimator = GOSSIP_TREE},
};

/* All sums are right immediately after a reload, with each estimator. */
TEST(test_known)
{
	for (size_t k = 0; k < COUNT(kinds); k++) {
		struct group *g = make_group(&kinds[k]);

		for (unsigned i = 0; i < kinds[k].n; i++) {
			reverse(g, i);
			all_know(g, k);
			world_run(&g->world, TICK);
			all_know(g, k);
		}
		set_weights(g, 0, 3);
		world_run(&g->world, SOON);
		all_know(g, k);
		free_group(g);
	}
}

/* A reload before the first records are sent, or while they are sent. */
TEST(test_early)
{
	for (size_t k = 0; k < COUNT(kinds); k++)
		for (uint64_t at_ns = 0; at_ns <= 4 * TICK; at_ns += TICK / 2) {
			struct group *g = start_group(&kinds[k]);

			world_run(&g->world, at_ns);
			for (unsigned i = 0; i < kinds[k].n; i++)
				reverse(g, i);
			world_run(&g->world, SETTLE);
			all_know(g, at_ns / MS);
			free_group(g);
		}
}

/*
 * Records that are pending, sent once, or perhaps lost: no datagram arrives at first. The reload
 * comes during that time or after it.
 */
TEST(test_told_though_lost)
{
	for (uint64_t lost_ns = 0; lost_ns <= 5 * TICK; lost_ns += TICK) {
		for (uint64_t at_ns = 0; at_ns <= 10 * TICK; at_ns += TICK) {
			struct group *g = make_group(&all_tell_all);
			uint64_t first = lost_ns < at_ns ? lost_ns : at_ns;

			set_weights(g, 0, 3);
			g->world.params.loss = 1;
			world_run(&g->world, first);
			if (at_ns == first)
				reverse(g, 0);
			else
				g->world.params.loss = 0;
			world_run(&g->world, lost_ns + at_ns - 2 * first);
			if (at_ns > first)
				reverse(g, 0);
			g->world.params.loss = 0;
			world_run(&g->world, SOON);
			all_know(g, lost_ns / MS * 10000 + at_ns / MS);
			free_group(g);
		}
	}
}

/* Limiter 0 reaches only limiter 1. */
static bool by_one_alone(const struct world *world, unsigned from, unsigned to)
{
	return from == 0 && to != 1;
}

/*
 * Relayed records: limiter 1 reloads before it receives them, before it relays them, or after that.
 * The test ends before the others count limiter 0 as lost.
 */
TEST(test_relayed)
{
	static const struct world_params params = {.n = N, .branching = 2, .n_policies = 40};

	for (uint64_t at_ns = 0; at_ns <= 5 * TICK; at_ns += TICK / 10) {
		struct group *g = make_group(&params);

		g->world.cut = by_one_alone;
		set_weights(g, 0, 3);
		world_run(&g->world, at_ns);
		reverse(g, 1);
		world_run(&g->world, 14 * TICK - at_ns);
		all_know(g, at_ns / MS);
		free_group(g);
	}
}

/*
 * A small change waits for its turn and a larger one does not, relative to the value sent before.
 */
TEST(test_changes)
{
	static const struct {
		double factor;
		bool at_once;
	} rows[] = {{1 + 1.0 / 128, false}, {1 + 1.0 / 32, true}, {1 - 1.0 / 32, true}};

	for (size_t k = 0; k < COUNT(rows); k++) {
		struct group *g = make_group(&all_tell_all);
		unsigned known;

		reverse(g, 0);
		set_weights(g, 0, rows[k].factor);
		world_run(&g->world, 4 * TICK);
		known = count_known(g, 1);
		if (rows[k].at_once)
			assert_int_equal(known, POLICIES);
		else
			assert_true(known < 100);
		free_group(g);
	}
}

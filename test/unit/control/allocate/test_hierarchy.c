/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shares of a hierarchy: by hand, and against a reference. The reference finds the level by
 * bisection, and checks it by the definition of max-min fairness. Then the shares to which repeated
 * demands converge.
 */
#include "check.h"
#include "scope.h"

#include "allocate/hierarchy.h"
#include "base/prng.h"

END_POINTER(hierarchy_destroy, struct hierarchy *)

#define NODES_MOST 64
#define TREES      4000
#define EXACT      1e-9

/* Children of one parent, without a tree. */
static void check_shares(struct share_claim *claims, unsigned n, double capacity, ...)
{
	struct share_level levels[NODES_MOST + 1];
	va_list args;

	shares_of(claims, n, capacity, levels);
	va_start(args, capacity);
	for (unsigned i = 0; i < n; i++) {
		double expected = va_arg(args, double);

		if (fabs(claims[i].share - expected) > 1e-6)
			fail_msg("share %u of %g: %.9g, expected %.9g", i, capacity,
				claims[i].share, expected);
	}
	va_end(args);
}

#define CLAIM(g, w, most, asks)                                                      \
	{                                                                            \
		.guaranteed = (g), .weight = (w), .ceiling = (most), .claim = (asks) \
	}
#define SHARES(capacity, n, ...) check_shares(claims, n, capacity, __VA_ARGS__)

TEST(test_by_hand)
{
	{ /* Both want the whole: halves, or by weight. */
		struct share_claim claims[] = {CLAIM(0, 1, 100, 100), CLAIM(0, 1, 100, 100)};

		SHARES(100, 2, 50.0, 50.0);
		claims[0].weight = 3;
		SHARES(100, 2, 75.0, 25.0);
	}
	{ /* One wants less than its half: the other may have the rest, and it keeps half. */
		struct share_claim claims[] = {CLAIM(0, 1, 100, 30), CLAIM(0, 1, 100, 100)};

		SHARES(100, 2, 50.0, 70.0);
		claims[1].ceiling = claims[1].claim = 60;
		SHARES(100, 2, 50.0, 60.0);
		claims[1].claim = 40;
		SHARES(100, 2, 60.0, 60.0);
	}
	{ /* An idle one has the share that it could use, and takes nothing. */
		struct share_claim claims[] = {CLAIM(0, 1, 100, 0), CLAIM(0, 1, 100, 100)};

		SHARES(100, 2, 50.0, 100.0);
		claims[0].guaranteed = 20;
		SHARES(100, 2, 60.0, 100.0);
	}
	{ /* Guarantees come first, then the rest by weight, up to the claims. */
		struct share_claim claims[] = {
			CLAIM(40, 1, 100, 100), CLAIM(0, 1, 100, 100), CLAIM(0, 2, 100, 100)};

		SHARES(100, 3, 55.0, 15.0, 30.0);
		claims[0].claim = 10;
		SHARES(100, 3, 55.0, 30.0, 60.0);
	}
	{ /* The guarantees exceed the limit, because it was lowered. */
		struct share_claim claims[] = {CLAIM(40, 1, 100, 100), CLAIM(60, 1, 100, 100)};

		SHARES(50, 2, 20.0, 30.0);
		SHARES(0, 2, 0.0, 0.0);
	}
	{ /* A single child. */
		struct share_claim claims[] = {CLAIM(0, 1, 70, 0)};

		SHARES(100, 1, 70.0);
		SHARES(50, 1, 50.0);
		check_shares(claims, 0, 100);
	}
}

/* The part of a child at this level. */
static double part_at(const struct share_claim *claim, double asks, double level)
{
	double guaranteed = fmin(claim->guaranteed, asks);

	return fmin(guaranteed + claim->weight * level, asks);
}

/* No other division is fairer: a child with less than its claim is at the highest level. */
static void check_fair(const struct share_claim *claims, const double *asks, const double *parts,
	unsigned n, double capacity)
{
	double sum = 0, highest = 0;

	for (unsigned i = 0; i < n; i++) {
		double guaranteed = fmin(claims[i].guaranteed, asks[i]);

		sum += parts[i];
		assert_true(parts[i] <= asks[i] * (1 + EXACT));
		assert_true(parts[i] >= guaranteed * (1 - EXACT));
		highest = fmax(highest, (parts[i] - guaranteed) / claims[i].weight);
	}
	assert_true(sum <= capacity * (1 + EXACT));
	for (unsigned i = 0; i < n; i++) {
		double guaranteed = fmin(claims[i].guaranteed, asks[i]);

		if (parts[i] >= asks[i] * (1 - EXACT))
			continue;
		assert_true(sum >= capacity * (1 - EXACT));
		assert_true((parts[i] - guaranteed) / claims[i].weight >= highest * (1 - 1e-6));
	}
}

/* The parts of all, if child `greedy` claims its ceiling (n: none does). */
static void reference(const struct share_claim *claims, unsigned n, double capacity,
	unsigned greedy, double *parts)
{
	double asks[NODES_MOST], guaranteed = 0, low = 0, high = 1e12;

	for (unsigned i = 0; i < n; i++) {
		asks[i] = i == greedy ? claims[i].ceiling : claims[i].claim;
		guaranteed += fmin(claims[i].guaranteed, asks[i]);
	}
	if (guaranteed >= capacity) {
		for (unsigned i = 0; i < n; i++)
			parts[i] = fmin(claims[i].guaranteed, asks[i]) * capacity / guaranteed;
		return;
	}
	for (int round = 0; round < 200; round++) {
		double level = (low + high) / 2, sum = 0;

		for (unsigned i = 0; i < n; i++)
			sum += part_at(&claims[i], asks[i], level);
		*(sum > capacity ? &high : &low) = level;
	}
	for (unsigned i = 0; i < n; i++)
		parts[i] = part_at(&claims[i], asks[i], low);
	check_fair(claims, asks, parts, n, capacity);
}

static struct share_claim random_claim(struct prng *prng, double capacity)
{
	double ceiling = capacity * (0.02 + 1.5 * prng_unit(prng));
	double part = prng_next(prng) % 4 == 0 ? 0 : prng_next(prng) % 4 == 0 ? 1 : prng_unit(prng);

	return (struct share_claim){
		.guaranteed = prng_next(prng) % 2 ? 0 : ceiling * prng_unit(prng) * 0.2,
		.weight = (double)(1 + prng_next(prng) % 1000),
		.ceiling = ceiling,
		.claim = ceiling * part,
	};
}

TEST(test_reference)
{
	struct prng prng;

	prng_seed(&prng, 18);
	for (unsigned round = 0; round < ROUNDS(TREES); round++) {
		unsigned n = 1 + (unsigned)(prng_next(&prng) % 12);
		double capacity = pow(10, 3 + 7 * prng_unit(&prng)), parts[NODES_MOST];
		struct share_claim claims[NODES_MOST];
		struct share_level levels[NODES_MOST + 1];

		for (unsigned i = 0; i < n; i++)
			claims[i] = random_claim(&prng, capacity);
		shares_of(claims, n, capacity, levels);
		for (unsigned i = 0; i < n; i++) {
			reference(claims, n, capacity, i, parts);
			if (fabs(parts[i] - claims[i].share) > EXACT * capacity)
				fail_msg("round %u, %u of %u: %.12g, expected %.12g", round, i, n,
					claims[i].share, parts[i]);
		}
	}
}

/* Parents come before their children, in up to 4 levels; guarantees fit. */
static unsigned random_tree(struct prng *prng, struct hierarchy_node *nodes)
{
	unsigned n = 1 + (unsigned)(prng_next(prng) % 40);
	int above[NODES_MOST] = {0};

	for (unsigned i = 0; i < n; i++) {
		int parent = i > 0 ? (int)(prng_next(prng) % (i + 1)) - 1 : HIERARCHY_ROOT;
		double limit = pow(10, 4 + 2 * prng_unit(prng));

		if (parent != HIERARCHY_ROOT && above[parent] == 3)
			parent = nodes[parent].parent;
		above[i] = parent == HIERARCHY_ROOT ? 0 : above[parent] + 1;
		nodes[i] = (struct hierarchy_node){.parent = parent,
			.own = prng_next(prng) % 4 == 0,
			.limit = limit,
			.guaranteed = parent == HIERARCHY_ROOT ? 0 : limit * 0.02 * prng_unit(prng),
			.weight = (double)(1 + prng_next(prng) % 10),
			.demand = limit * (prng_next(prng) % 3 == 0 ? 1.5 : 0.9 * prng_unit(prng)),
			.share = limit};
	}
	return n;
}

/* The subtree below `parent`, whose share is already set. */
static void reference_tree(
	struct hierarchy_node *nodes, const struct hierarchy_node *before, unsigned n, int parent)
{
	struct share_claim claims[NODES_MOST + 1];
	double parts[NODES_MOST + 1], passed = 0, capacity = nodes[parent].share;
	unsigned child[NODES_MOST], found = 0;

	for (unsigned i = 0; i < n; i++) {
		double ceiling = fmin(nodes[i].limit, capacity);

		if (nodes[i].parent != parent)
			continue;
		claims[found] = (struct share_claim)CLAIM(fmin(nodes[i].guaranteed, ceiling),
			nodes[i].weight, ceiling, fmin(nodes[i].demand, ceiling));
		child[found++] = i;
		passed += fmin(before[i].demand, before[i].share);
	}
	claims[found] = (struct share_claim)CLAIM(0, 1, capacity,
		nodes[parent].own ? fmin(fmax(nodes[parent].demand - passed, 0), capacity) : 0);
	for (unsigned i = 0; i < found; i++) {
		reference(claims, found + 1, capacity, i, parts);
		nodes[child[i]].share = fmax(parts[i], 0.01 * claims[i].ceiling / found);
	}
	for (unsigned i = 0; i < found; i++)
		reference_tree(nodes, before, n, (int)child[i]);
}

TEST(test_trees)
{
	struct prng prng;

	prng_seed(&prng, 2018);
	for (unsigned round = 0; round < ROUNDS(TREES); round++) {
		struct hierarchy_node nodes[NODES_MOST], expected[NODES_MOST], before[NODES_MOST];
		unsigned n = random_tree(&prng, nodes);
		struct hierarchy *hierarchy;

		memcpy(before, nodes, sizeof(nodes));
		memcpy(expected, nodes, sizeof(nodes));
		for (unsigned i = 0; i < n; i++)
			if (nodes[i].parent == HIERARCHY_ROOT)
				reference_tree(expected, before, n, (int)i);
		assert_int_equal(hierarchy_create(nodes, n, &hierarchy), 0);
		hierarchy_share(hierarchy, nodes);
		for (unsigned i = 0; i < n; i++)
			if (fabs(nodes[i].share - expected[i].share) > EXACT * 1e6)
				fail_msg("round %u, node %u of %u: %.12g, expected %.12g", round, i,
					n, nodes[i].share, expected[i].share);
		hierarchy_destroy(hierarchy);
	}
}

/* The order of nodes does not matter. */
TEST(test_order)
{
	struct hierarchy_node nodes[] = {
		{.parent = 2, .limit = 100, .weight = 1, .demand = 100, .share = 100},
		{.parent = 3, .limit = 100, .weight = 1, .demand = 100, .share = 100},
		{.parent = 3, .limit = 50, .weight = 3, .demand = 100, .share = 50},
		{.parent = HIERARCHY_ROOT, .limit = 80, .weight = 1, .demand = 100, .share = 80},
		{.parent = 2, .limit = 100, .weight = 4, .demand = 0, .share = 100},
	};
	ENDED_BY(hierarchy_destroy_at) struct hierarchy *hierarchy;

	assert_int_equal(hierarchy_create(nodes, 5, &hierarchy), 0);
	hierarchy_share(hierarchy, nodes);
	assert_float_equal(nodes[3].share, 80, 1e-9);
	assert_float_equal(nodes[2].share, 50, 1e-9);
	assert_float_equal(nodes[1].share, 30, 1e-9);
	assert_float_equal(nodes[0].share, 50, 1e-9);
	assert_float_equal(nodes[4].share, 40, 1e-9);
	hierarchy_destroy(hierarchy);
	assert_int_equal(hierarchy_create(nodes, 0, &hierarchy), 0);
	hierarchy_share(hierarchy, nodes);
}

/* A child that claims nearly all of its share leaves nothing of it to others. */
TEST(test_held)
{
	static const struct {
		double part, claims; /* part of a share of 50 */
	} rows[] = {{0.5, 25}, {0.92, 46}, {0.95, 48.75}, {0.98, 50}, {1, 50}, {2, 50}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct hierarchy_node nodes[] = {
			{.parent = HIERARCHY_ROOT, .limit = 100, .weight = 1, .share = 100},
			{.parent = 0,
				.limit = 100,
				.weight = 1,
				.demand = 50 * rows[i].part,
				.share = 50},
			{.parent = 0, .limit = 100, .weight = 1, .demand = 100, .share = 50},
		};
		struct hierarchy *hierarchy;

		assert_int_equal(hierarchy_create(nodes, 3, &hierarchy), 0);
		hierarchy_share(hierarchy, nodes);
		assert_float_equal(nodes[2].share, 100 - rows[i].claims, 1e-9);
		assert_float_equal(nodes[1].share, 50, 1e-9);
		hierarchy_destroy(hierarchy);
	}
}

/* Each claims, smoothed, its demand or a bit more than its share; from any initial shares. */
TEST(test_settles)
{
	static const double wants[] = {1e9, 20, 1e9, 8, 0}, weights[] = {1, 1, 2, 3, 1};
	static const double settled[] = {24, 20, 48, 8, 0};
	struct hierarchy_node nodes[6] = {
		{.parent = HIERARCHY_ROOT, .limit = 100, .weight = 1, .share = 100}};
	struct hierarchy *hierarchy;
	struct prng prng;

	prng_seed(&prng, 5);
	for (unsigned round = 0; round < 100; round++) {
		for (unsigned i = 0; i < 5; i++)
			nodes[i + 1] = (struct hierarchy_node){.parent = 0,
				.limit = 90,
				.weight = weights[i],
				.share = 90 * prng_unit(&prng),
				.demand = fmin(wants[i], 90 * prng_unit(&prng))};
		assert_int_equal(hierarchy_create(nodes, 6, &hierarchy), 0);
		for (unsigned step = 0; step < 80; step++) {
			hierarchy_share(hierarchy, nodes);
			for (unsigned i = 1; i < 6; i++)
				nodes[i].demand += 0.2 *
						   (fmin(wants[i - 1], 1.02 * nodes[i].share) -
							   nodes[i].demand);
		}
		for (unsigned i = 0; i < 5; i++)
			assert_float_equal(fmin(wants[i], nodes[i + 1].share), settled[i], 0.01);
		hierarchy_destroy(hierarchy);
	}
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Parts of a tree: its shape, and the bounded table of neighbours.
 */
#include "check.h"
#include "scope.h"

#include "gossip/tree_shape.h"
#include "gossip/tree_table.h"

TEST(test_shape)
{
	static const struct {
		unsigned position, b, n, first[6];
	} cases[] = {
		{0, 2, 0, {0}},
		{1, 2, 1, {0}},
		{2, 2, 2, {0, 1}},
		{3, 2, 3, {1, 0, 2}},
		{6, 2, 6, {2, 0, 1, 3, 4, 5}},
		{4, 3, 4, {1, 0, 2, 3}},
		{40, 3, 17, {13, 4, 1, 0, 2, 3}},
		{4000000000, 2, 44, {1999999999, 999999999, 499999999, 249999999, 124999999}},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		unsigned candidates[TREE_CANDIDATES];
		unsigned n = tree_candidates(cases[i].position, cases[i].b, candidates);

		assert_int_equal(n, cases[i].n);
		for (unsigned k = 0; k < 5 && k < n; k++)
			assert_int_equal(candidates[k], cases[i].first[k]);
		for (unsigned k = 0; k < n; k++) {
			assert_true(candidates[k] < cases[i].position);
			for (unsigned j = 0; j < k; j++)
				assert_true(candidates[j] != candidates[k]);
		}
	}
	assert_int_equal(tree_depth(1, 2), 0);
	assert_int_equal(tree_depth(3, 2), 1);
	assert_int_equal(tree_depth(4, 2), 2);
	assert_int_equal(tree_depth(490, 3), 6);
}

/* Which entry is evicted when the table is full, and for which new entry. */
TEST(test_table)
{
	ENDED_BY(table_destroy) struct tree_table table = {0};

	assert_int_equal(table_create(&table, 3), 0);
	for (unsigned position = 10; position < 40; position += 10) {
		struct neighbour *e = table_add(&table, position, position, 0);

		assert_non_null(e);
		e->spoke_ns = 100 * position;
		e->said = calloc(1, sizeof(struct part));
	}
	/* All have links: the highest position is evicted, except for a higher one. */
	assert_null(table_add(&table, 31, 31, 5000));
	assert_non_null(table_add(&table, 29, 29, 5000));
	assert_null(table_find(&table, 30));
	/*
	 * The lowest has no link and is silent since 1000: it stays at 1000, and is evicted after
	 * that.
	 */
	neighbour_unlink(table_find(&table, 10));
	table_find(&table, 29)->said = calloc(1, sizeof(struct part));
	assert_null(table_add(&table, 50, 50, 1000));
	assert_non_null(table_add(&table, 50, 50, 1001));
	assert_null(table_find(&table, 10));
	assert_int_equal(table.n, 3);
}

/* The highest position is evicted, wherever it is in the table. */
TEST(test_highest)
{
	static const unsigned positions[][4] = {
		{30, 10, 20, 15}, {10, 30, 20, 15}, {20, 10, 30, 15}};

	for (size_t i = 0; i < COUNT(positions); i++) {
		struct tree_table table = {0};

		assert_int_equal(table_create(&table, 3), 0);
		for (unsigned k = 0; k < 4; k++) {
			struct neighbour *e = table_add(&table, positions[i][k], k, 0);

			assert_non_null(e);
			e->said = calloc(1, sizeof(struct part));
		}
		assert_null(table_find(&table, 30));
		assert_non_null(table_find(&table, 20));
		table_destroy(&table);
	}
}

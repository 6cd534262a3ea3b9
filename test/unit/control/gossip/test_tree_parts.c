/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Parts of a tree: its shape, the bounded table of neighbours, and the news for each of them.
 */
#include "check.h"
#include "scope.h"

#include <string.h>

#include "base/prng.h"
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
		e->received_ns = 100 * position;
		e->outbox = outbox_create(1, 0);
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
	table_find(&table, 29)->outbox = outbox_create(1, 0);
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
			e->outbox = outbox_create(1, 0);
		}
		assert_null(table_find(&table, 30));
		assert_non_null(table_find(&table, 20));
		table_destroy(&table);
	}
}

#define POLICIES 400

/* A neighbour that receives some datagrams: the oracle of the outbox. */
struct receiver {
	unsigned values[POLICIES]; /* newest that it has received */
	struct datagram_received received;
};

static void receive_policies(struct receiver *r, const struct outbox *o, const unsigned *policies,
	unsigned n, const unsigned *values)
{
	uint32_t ahead = o->sequence - r->received.newest;

	for (unsigned i = 0; i < n; i++)
		r->values[policies[i]] = values[i];
	r->received.window = r->received.window && ahead < 64 ? r->received.window << ahead : 0;
	r->received.window |= 1;
	r->received.newest = o->sequence;
}

/* Takes the policies of a datagram; large ones come first, and none comes twice in a turn. */
static unsigned take_policies(struct outbox *o, unsigned room, bool *carried, unsigned *policies)
{
	unsigned n = 0;

	for (o->sequence++; n < room; n++) {
		unsigned large = o->news[NEWS_LARGE].left, policy = outbox_next(o);

		if (policy == o->n)
			break;
		assert_false(carried[policy]);
		assert_true(large == 0 || o->news[NEWS_LARGE].left == large - 1);
		carried[policy] = true;
		policies[n] = policy;
	}
	return n;
}

/*
 * Random news in random turns, over a path that loses datagrams and reports. At the end the path is
 * good, and soon the neighbour has all news, before all unchanged sums have been sent again.
 */
TEST(test_outbox_delivers)
{
	for (uint64_t seed = 1; seed <= ROUNDS(200); seed++) {
		unsigned n, room, current[POLICIES] = {0};
		struct receiver r = {0};
		struct outbox *o;
		struct prng prng;
		double loss;

		prng_seed(&prng, seed);
		n = 1 + prng_below(&prng, POLICIES);
		room = 20 + prng_below(&prng, 40);
		loss = prng_unit(&prng) * 0.6;
		o = outbox_create(n, (uint32_t)prng_next(&prng));
		assert_non_null(o);
		for (unsigned turn = 0; turn < 220; turn++) {
			bool good = turn >= 200, carried[POLICIES] = {false};

			for (unsigned i = 0; turn < 200 && i < prng_below(&prng, 12); i++) {
				unsigned policy = prng_below(&prng, n);

				current[policy]++;
				outbox_mark(
					o, policy, prng_below(&prng, 2) ? NEWS_LARGE : NEWS_SMALL);
			}
			outbox_begin(o);
			for (unsigned d = 0; d == 0 || (d < 4 && outbox_has_left(o)); d++) {
				unsigned policies[POLICIES], values[POLICIES];
				unsigned taken = take_policies(o, room, carried, policies);

				for (unsigned i = 0; i < taken; i++)
					values[i] = current[policies[i]];
				if (good || prng_unit(&prng) >= loss)
					receive_policies(&r, o, policies, taken, values);
			}
			if (r.received.window && (good || prng_unit(&prng) >= loss))
				outbox_report(o, &r.received);
		}
		assert_memory_equal(r.values, current, n * sizeof(*current));
		assert_false(outbox_has_left(o));
		for (unsigned kind = 0; kind < NEWS_KINDS; kind++)
			assert_int_equal(o->news[kind].n_due, 0);
		free(o);
	}
}

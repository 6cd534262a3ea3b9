/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A quota that is divided along a tree: units move to the limiters that spend them, and never more
 * than the total is spent. The tree repairs itself when limiters come and go.
 */
#include "check.h"
#include "scope.h"

#include "budget_group.h"

END_POINTER(group_free, struct group *)
END_POINTER(budget_destroy, struct budget *)

TEST(test_params)
{
	uint32_t twice[] = {5, 5}, ids[] = {5, 6};
	struct budget_policy policies[] = {{.id = 1}, {.id = 1}};
	struct budget_params good = {.ids = ids,
		.n = 2,
		.policies = policies,
		.n_policies = 1,
		.epoch = 1,
		.identity = {.low = 1},
		.repeat_ns = 1,
		.theta_ns = 1,
		.memory_ns = 1,
		.timeout_ns = 1};
	struct budget_params bad[] = {good, good, good, good, good, good};
	ENDED_BY(budget_destroy_at) struct budget *b;

	bad[0].self = 2;
	bad[1].epoch = 0;
	bad[2].ids = twice;
	bad[3].n_policies = 2;
	bad[4].timeout_ns = 0;
	bad[5].epoch = UINT64_C(1) << 42;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(budget_create(&bad[i], 0, &b), -EINVAL);
	assert_int_equal(budget_create(&good, 0, &b), 0);
}

/* One tree of the right shape; the shares do not exceed the total. */
TEST(test_tree)
{
	static const unsigned sizes[] = {1, 2, 3, 16, 24};

	for (size_t k = 0; k < COUNT(sizes); k++) {
		struct group *g = group_new(sizes[k], 1, false);
		unsigned ends = 0, roots = 0;

		assert_int_equal(group_units_held(g, PREPAID), TOTAL);
		run_budget_group(g, 10 * TIMEOUT);
		for (unsigned i = 0; i < g->n; i++) {
			ends += count_linked_edges(g, i);
			roots += budget_is_root(g->nodes[i].b);
			assert_true(count_linked_edges(g, i) <= BUDGET_DEGREE);
			assert_int_equal(budget_root(g->nodes[i].b), budget_root(g->nodes[0].b));
		}
		assert_int_equal(ends, 2 * (g->n - 1));
		assert_int_equal(roots, 1);
		assert_int_equal(take_budget_units(g, g->n - 1, PREPAID, UINT64_MAX), TOTAL);
		for (unsigned i = 0; i < g->n; i++)
			assert_int_equal(take_budget_units(g, i, PREPAID, 1), 0);
		group_free(g);
	}
}

/* Dead limiters leave; the others form one tree, also without the root, and one again later. */
TEST(test_dead)
{
	ENDED_BY(group_free_at) struct group *g = group_new(6, 1, false);
	unsigned root;

	run_budget_group(g, 10 * TIMEOUT);
	root = budget_root(g->nodes[0].b);
	g->nodes[root].cut = true;
	run_budget_group(g, 20 * TIMEOUT);
	assert_int_equal(count_linked_edges(g, root), 0);
	assert_true(budget_is_root(g->nodes[root].b));
	for (unsigned i = 0; i < g->n; i++)
		assert_true(i == root ||
			    (count_linked_edges(g, i) > 0 && budget_root(g->nodes[i].b) != root));
	g->nodes[root].cut = false;
	run_budget_group(g, 20 * TIMEOUT);
	for (unsigned i = 0; i < g->n; i++)
		assert_int_equal(budget_root(g->nodes[i].b), root);
	assert_int_equal(take_budget_units(g, 0, PREPAID, UINT64_MAX), TOTAL);
}

/* A parent continues to send, with a root whose counter does not advance, as in a loop. */
TEST(test_stale)
{
	ENDED_BY(group_free_at) struct group *g = group_new(2, 1, false);
	struct budget *child;
	unsigned root, to;
	uint8_t buf[ROOM];
	size_t len;

	run_budget_group(g, 10 * TIMEOUT);
	root = budget_root(g->nodes[0].b);
	child = g->nodes[1 - root].b;
	do {
		budget_tick(g->nodes[root].b, g->now += MS);
		len = budget_send(g->nodes[root].b, g->now, buf, sizeof(buf), &to);
	} while (len == 0);
	for (unsigned k = 1; k <= 48; k++) {
		g->now += TIMEOUT / 8;
		for (unsigned i = 0; i < 8; i++)
			buf[44 + i] = (uint8_t)(g->now >> (56 - 8 * i)); /* sent just now */
		assert_int_equal(budget_receive(child, root, g->now, buf, len), 0);
		budget_tick(child, g->now);
		if (k == 24)
			assert_false(budget_is_root(child));
	}
	assert_true(budget_is_root(child));
}

TEST(test_period)
{
	ENDED_BY(group_free_at) struct group *g = group_new(4, 2, false);
	uint64_t old;

	run_budget_group(g, 4 * TIMEOUT);
	old = take_budget_units(g, 0, PERIODIC, 900);
	assert_int_equal(budget_period(g->nodes[0].b, PERIODIC, 7, g->now), -EINVAL);
	assert_int_equal(budget_period(g->nodes[0].b, PERIODIC, 8, g->now), 0);
	/* The other limiters' clocks are in the old period, and so are their units. */
	assert_int_equal(take_budget_units(g, 0, PERIODIC, UINT64_MAX), (TOTAL + 3) / 4);
	old += take_budget_units(g, 1, PERIODIC, UINT64_MAX);
	assert_in_range(old, 900, TOTAL);
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(budget_period(g->nodes[i].b, PERIODIC, 8, g->now), 0);
	assert_int_equal(take_budget_units(g, 2, PERIODIC, UINT64_MAX), TOTAL - (TOTAL + 3) / 4);
}

/* Higher and lower totals; a total above the maximum is rejected. */
TEST(test_top_up)
{
	ENDED_BY(group_free_at) struct group *g = group_new(3, 1, false);

	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PREPAID, UINT64_MAX), TOTAL);
	update_budget_group(g, 1, TOTAL + 500);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 100), 100);
	update_budget_group(g, 1, TOTAL + 300);
	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 1, PREPAID, UINT64_MAX), 200);
	g->policies[PREPAID].total = LEDGER_MOST + 1;
	assert_int_equal(budget_update(g->nodes[0].b, g->policies, 1, g->now), -EINVAL);
	assert_int_equal(budget_node_view(g, 0, PREPAID).balance, 0);
}

/* A policy that is added later uses the present tree: on every edge, before any message. */
TEST(test_later_policy)
{
	ENDED_BY(group_free_at) struct group *g = group_new(5, 1, false);
	unsigned most = 0;

	run_budget_group(g, 10 * TIMEOUT);
	g->n_policies = 2;
	for (unsigned i = 0; i < g->n; i++) {
		unsigned linked = count_linked_edges(g, i);
		uint64_t share, guess = TOTAL / g->n + 1;

		assert_int_equal(budget_update(g->nodes[i].b, g->policies, 2, g->now), 0);
		share = (uint64_t)budget_node_view(g, i, PERIODIC).balance;
		assert_in_range(share, TOTAL / g->n, TOTAL / g->n + 1);
		assert_int_equal(
			budget_node_view(g, i, PERIODIC).remaining, share + linked * guess);
		most = linked > most ? linked : most;
	}
	assert_true(most >= 2);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, UINT64_MAX), TOTAL);
}

/* A removed policy spends nothing, grants its units, and continues when it is added again. */
TEST(test_gone)
{
	ENDED_BY(group_free_at) struct group *g = group_new(3, 1, false);

	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 100), 100);
	assert_int_equal(budget_update(g->nodes[0].b, NULL, 0, g->now), 0);
	assert_int_equal(take_budget_units(g, 1, PREPAID, UINT64_MAX), TOTAL - 100);
	update_budget_group(g, 1, TOTAL);
	assert_int_equal(budget_node_view(g, 0, PREPAID).spent, 100);
	assert_int_equal(take_budget_units(g, 0, PREPAID, UINT64_MAX), 0);
}

/* Refunded units are available again, for other limiters too, and after a crash once saved. */
TEST(test_refund)
{
	ENDED_BY(group_free_at) struct group *g = group_new(3, 1, true);

	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 600), 600);
	budget_refund(g->nodes[0].b, PREPAID, 150);
	assert_int_equal(budget_node_view(g, 0, PREPAID).spent, 450);
	assert_int_equal(budget_node_view(g, 0, PREPAID).prepaid, 0);
	/* At most as many as have passed. */
	budget_refund(g->nodes[0].b, PREPAID, 600);
	assert_int_equal(budget_node_view(g, 0, PREPAID).spent, 0);
	assert_int_equal(group_units_held(g, PREPAID), TOTAL);
	assert_int_equal(take_budget_units(g, 1, PREPAID, UINT64_MAX), TOTAL);
}

/* The sum of the drawn units counts, however often it is set. */
TEST(test_drawn)
{
	ENDED_BY(group_free_at) struct group *g = group_new(3, 3, true);

	run_budget_group(g, 4 * TIMEOUT);
	/* A limiter is assumed to hold only the units that it has reported. */
	assert_true(budget_node_view(g, 0, DRAWN).remaining <= 3);
	assert_int_equal(take_budget_units(g, 0, DRAWN, 1), 0);
	assert_int_equal(budget_set_share(g->nodes[0].b, PREPAID, 5, g->now), -EINVAL);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 60, g->now), 0);
	assert_int_equal(budget_set_share(g->nodes[1].b, DRAWN, 40, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 100);
	crash_budget_node(g, 0);
	assert_int_equal(create_budget_node(g, 0, false), 0);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 70, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 10);
	/* With empty state, all units drawn until it is back may have been spent. */
	crash_budget_node(g, 0);
	memset(g->nodes[0].lens, 0, sizeof(g->nodes[0].lens));
	assert_int_equal(create_budget_node(g, 0, true), 0);
	run_budget_group(g, TIMEOUT);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 90, g->now), 0);
	run_budget_group(g, 2 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 0);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 95, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 5);
}

/* Unconfirmed grants, the time of the next call, and units ahead after a change of the chunk. */
TEST(test_on_its_way)
{
	ENDED_BY(group_free_at) struct group *g = group_new(2, 1, true);
	struct budget *b = g->nodes[1].b;
	uint64_t next, had;

	run_budget_group(g, 4 * TIMEOUT);
	next = budget_tick(b, g->now);
	assert_true(next > g->now);
	assert_int_equal(budget_tick(b, g->now), next);
	assert_true(budget_tick(b, next) > next);
	had = (uint64_t)budget_node_view(g, 1, PREPAID).balance;
	assert_int_equal(budget_spend(g->nodes[0].b, PREPAID, 700, g->now), -EAGAIN);
	post_test_messages(g, 0);
	g->nodes[1].cut = true;
	step_budget_group(g);
	assert_int_equal(budget_in_flight(b, PREPAID),
		had - (uint64_t)budget_node_view(g, 1, PREPAID).balance);
	assert_in_range(budget_in_flight(b, PREPAID), 1, had);
	budget_destroy(NULL);
}

TEST(test_chunk)
{
	ENDED_BY(group_free_at) struct group *g = group_new(1, 1, true);

	for (unsigned chunk = CHUNK; chunk <= 32; chunk *= 2) {
		g->policies[PREPAID].chunk = chunk;
		assert_int_equal(budget_update(g->nodes[0].b, g->policies, 1, g->now), 0);
		while (budget_spend(g->nodes[0].b, PREPAID, 1, g->now))
			save_budget_node(g, 0);
		for (unsigned i = 0; i < chunk; i++) {
			save_budget_node(g, 0);
			assert_int_equal(budget_spend(g->nodes[0].b, PREPAID, 1, g->now), 0);
			assert_in_range(budget_node_view(g, 0, PREPAID).prepaid, 1, 3 * chunk / 2);
		}
		assert_true(budget_node_view(g, 0, PREPAID).prepaid >= chunk / 2);
	}
}

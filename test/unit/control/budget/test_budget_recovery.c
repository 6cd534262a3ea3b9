/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter restarts: from a record, which may be damaged, without one, or without the number of
 * the period. No unit is spent twice.
 */
#include "check.h"
#include "scope.h"

#include "base/wire.h"
#include "budget_group.h"

END_POINTER(group_free, struct group *)

/* A crash costs the units that were saved as spent ahead, and no unit is spent twice. */
TEST(test_restart)
{
	ENDED_BY(group_free_at) struct group *g = group_new(4, 2, true);
	uint64_t got, more, spent;

	run_budget_group(g, 4 * TIMEOUT);
	got = take_budget_units(g, 1, PREPAID, 500);
	assert_int_equal(got, 500);
	crash_budget_node(g, 1);
	run_budget_group(g, TIMEOUT);
	assert_int_equal(
		create_budget_node(g, 1, true), 0); /* with a record, `recovering` is ignored */
	assert_true(budget_node_view(g, 1, PREPAID).spent >= got);
	assert_true(budget_node_view(g, 1, PREPAID).spent <= got + 2 * CHUNK);
	assert_false(budget_node_view(g, 1, PREPAID).recovering);
	run_budget_group(g, 4 * TIMEOUT);
	spent = budget_node_view(g, 1, PREPAID).spent;
	assert_int_equal(group_units_held(g, PREPAID) + (int64_t)spent, TOTAL);
	more = take_budget_units(g, 1, PREPAID, UINT64_MAX);
	assert_in_range(got + more, TOTAL - 2 * CHUNK, TOTAL);
}

/* A failed save changes nothing; the units are available later. */
TEST(test_disk)
{
	ENDED_BY(group_free_at) struct group *g = group_new(1, 1, true);
	struct budget *b = g->nodes[0].b;

	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(budget_spend(b, PREPAID, 5, g->now), -EAGAIN);
		assert_true(book_unsaved(budget_book(b)));
		assert_int_equal(book_save(budget_book(b), keep_test_record, &g->nodes[0]), 0);
		book_save_failed(budget_book(b));
	}
	assert_int_equal(book_save(budget_book(b), keep_test_record, &g->nodes[0]), 0);
	book_committed(budget_book(b));
	assert_int_equal(budget_spend(b, PREPAID, 5, g->now), 0);
	assert_true(budget_node_view(g, 0, PREPAID).spent < 50);
}

static int keep_one(void *context, uint64_t id, const void *record, size_t len)
{
	keep_test_record(context, id, record, len);
	return 1;
}

/* A round may save only some accounts: each has its turn, also while policies come and go. */
TEST(test_rounds)
{
	ENDED_BY(group_free_at) struct group *g = group_new(1, 2, true);
	struct node *node = &g->nodes[0];

	assert_int_equal(budget_spend(node->b, PREPAID, 5, g->now), -EAGAIN);
	assert_int_equal(budget_spend(node->b, PERIODIC, 5, g->now), -EAGAIN);
	assert_int_equal(book_save(budget_book(node->b), keep_one, node), 0);
	assert_true(node->lens[PREPAID] > 0 && node->lens[PERIODIC] == 0);
	assert_int_equal(budget_update(node->b, &g->policies[PERIODIC], 1, g->now), 0);
	book_committed(budget_book(node->b));
	assert_int_equal(book_save(budget_book(node->b), keep_one, node), 0);
	assert_true(node->lens[PERIODIC] > 0);
	book_committed(budget_book(node->b));
	assert_int_equal(budget_spend(node->b, 0, 5, g->now), 0);
	assert_int_equal(budget_update(node->b, g->policies, 2, g->now), 0);
	assert_int_equal(budget_spend(node->b, PREPAID, 5, g->now), 0);
}

/*
 * A limiter with empty state holds nothing and counts all its share as spent, also after another
 * crash.
 */
TEST(test_recovering)
{
	ENDED_BY(group_free_at) struct group *g = group_new(3, 2, true);

	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 700), 700);
	crash_budget_node(g, 0);
	g->nodes[0].lens[PREPAID] = g->nodes[0].lens[PERIODIC] = 0;
	g->nodes[0].cut = true;
	assert_int_equal(create_budget_node(g, 0, true), 0);
	run_budget_group(g, TIMEOUT);
	assert_true(budget_node_view(g, 0, PREPAID).recovering);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 1), 0);
	crash_budget_node(g, 0);
	assert_int_equal(
		create_budget_node(g, 0, false), 0); /* not by the store, but by the record */
	assert_true(budget_node_view(g, 0, PREPAID).recovering);
	g->nodes[0].cut = false;
	run_budget_group(g, 4 * TIMEOUT);
	assert_false(budget_node_view(g, 0, PREPAID).recovering);
	assert_true(take_budget_units(g, 0, PREPAID, UINT64_MAX) <= TOTAL - 700);
	/* The next period is normal, unless its state was also lost. */
	g->now += TIME_DOUBT_NS;
	run_budget_group(g, 4 * TIMEOUT);
	for (unsigned i = 0; i < g->n; i++)
		assert_int_equal(budget_period(g->nodes[i].b, PERIODIC, 8, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, UINT64_MAX), TOTAL);
}

/* A new disk does not have the number of earlier starts. */
TEST(test_new_disk)
{
	ENDED_BY(group_free_at) struct group *g = group_new(3, 1, true);

	for (unsigned starts = 0; starts < 3; starts++) {
		run_budget_group(g, 4 * TIMEOUT);
		assert_int_equal(take_budget_units(g, 0, PREPAID, 100), 100);
		crash_budget_node(g, 0);
		if (starts < 2)
			assert_int_equal(create_budget_node(g, 0, false), 0);
	}
	g->nodes[0].lens[PREPAID] = 0;
	g->nodes[0].epoch = 0;
	assert_int_equal(create_budget_node(g, 0, true), 0);
	run_budget_group(g, 4 * TIMEOUT);
	assert_false(budget_node_view(g, 0, PREPAID).recovering);
	assert_in_range(take_budget_units(g, 0, PREPAID, UINT64_MAX), 1, TOTAL - 300);
}

/* All restart together without their state: they answer each other, and no limiter has units. */
TEST(test_all_recovering)
{
	ENDED_BY(group_free_at) struct group *g = group_new(3, 2, true);

	for (unsigned i = 0; i < g->n; i++) {
		crash_budget_node(g, i);
		assert_int_equal(create_budget_node(g, i, true), 0);
	}
	run_budget_group(g, 4 * TIMEOUT);
	for (unsigned i = 0; i < g->n; i++)
		assert_false(budget_node_view(g, i, PREPAID).recovering);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 1), 0);
}

/* A record with other edges, or an altered one, is rejected. */
TEST(test_records)
{
	ENDED_BY(group_free_at) struct group *g = group_new(3, 1, true);
	uint8_t *total = g->nodes[0].records[PREPAID] + 17; /* after edges and name */
	size_t len;

	run_budget_group(g, TIMEOUT);
	crash_budget_node(g, 0);
	g->nodes[0].records[PREPAID][0] ^= 1;
	assert_int_equal(create_budget_node(g, 0, false), -EINVAL);
	g->nodes[0].records[PREPAID][0] ^= 1;
	len = g->nodes[0].lens[PREPAID];
	for (size_t cut = 1; cut < len; cut++) {
		g->nodes[0].lens[PREPAID] = cut;
		assert_int_equal(create_budget_node(g, 0, false), -EINVAL);
	}
	g->nodes[0].lens[PREPAID] = len;
	wire_put64(total, LEDGER_MOST + 1);
	assert_int_equal(create_budget_node(g, 0, false), -EINVAL);
	wire_put64(total, TOTAL);
	g->ids[2]++;
	assert_int_equal(create_budget_node(g, 0, false), -EINVAL);
	g->ids[2]--;
	/* The record of a removed policy is kept. */
	g->n_policies = 0;
	assert_int_equal(create_budget_node(g, 0, false), 0);
	assert_int_equal(take_budget_units(g, 1, PREPAID, UINT64_MAX), TOTAL);
}

/*
 * The group starts a new ledger instance with empty stores. An adversary replays messages of the
 * previous instance, in which one limiter granted nearly all units to the other. None is accepted,
 * no more than the total is spent, and requests still work.
 */
TEST(test_previous_life)
{
	struct message *tape = test_calloc(TAPE, sizeof(*tape));
	ENDED_BY(group_free_at) struct group *g = group_new(2, 1, false);
	uint64_t spent[2] = {0};

	g->tape = tape;
	for (unsigned i = 0; i < 2; i++)
		g->nodes[i].epoch = 5;
	assert_in_range(take_budget_units(g, 1, PREPAID, TOTAL * 9 / 10), TOTAL * 9 / 10, TOTAL);
	run_budget_group(g, 4 * TIMEOUT);
	assert_in_range(g->taped, 8, TAPE - 1);
	for (unsigned i = 0; i < 2; i++) {
		budget_destroy(g->nodes[i].b);
		memset(&g->nodes[i], 0, sizeof(g->nodes[i]));
	}
	g->tape = NULL;
	g->queued = 0;
	g->now = 2 * TIMEOUT;
	g->identity.low = 2;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(create_budget_node(g, i, false), 0);
	run_budget_group(g, 4 * TIMEOUT);
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned k = 0; k < g->taped; k++)
			assert_int_equal(budget_receive(g->nodes[tape[k].to].b, tape[k].from,
						 g->now, tape[k].at, tape[k].len),
				-ESTALE);
		for (unsigned i = 0; i < 2; i++)
			spent[i] += take_budget_units(g, i, PREPAID, TOTAL / 20);
	}
	spent[0] += take_budget_units(g, 0, PREPAID, UINT64_MAX);
	assert_int_equal(spent[0] + spent[1], TOTAL);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(budget_node_view(g, i, PREPAID).invalid, 0);
		assert_true(budget_book(g->nodes[i].b)->links[0].foreign > 0);
	}
	test_free(tape);
}

/* A limiter that lost its state, with the identity, learns the identity and waits for its part. */
TEST(test_learnt_identity)
{
	ENDED_BY(group_free_at) struct group *g = group_new(3, 1, true);
	struct book_identity ours = g->identity;

	run_budget_group(g, 4 * TIMEOUT);
	crash_budget_node(g, 2);
	g->identity = (struct book_identity){0};
	assert_int_equal(create_budget_node(g, 2, true), 0);
	for (uint64_t end = g->now + 20 * TIMEOUT; g->now < end;) {
		g->now += MS;
		for (unsigned i = 0; i < 3; i++) {
			uint8_t buf[ROOM];
			unsigned to;
			size_t len;

			budget_tick(g->nodes[i].b, g->now);
			save_budget_node(g, i);
			while ((len = budget_send(g->nodes[i].b, g->now, buf, ROOM, &to)) > 0)
				(void)budget_receive(g->nodes[to].b, i, g->now, buf, len);
		}
	}
	assert_true(book_identity_equal(budget_book(g->nodes[2].b)->identity, ours));
	assert_false(budget_node_view(g, 2, PREPAID).recovering);
	assert_int_equal(budget_book(g->nodes[0].b)->links[0].foreign, 0);
	g->queued = 0;
	assert_in_range(take_budget_units(g, 2, PREPAID, TOTAL / 3), TOTAL / 3, TOTAL);
}

static void set_undated(struct group *g)
{
	for (unsigned p = 0; p < g->n_policies; p++) {
		g->policies[p].undated = p != PREPAID;
		if (g->policies[p].undated)
			g->policies[p].period = 0;
	}
}

/* A limiter without the time: it holds no new units, and keeps its spent ones. */
TEST(test_undated)
{
	ENDED_BY(group_free_at) struct group *g = group_new(2, 2, true);

	set_undated(g);
	for (unsigned i = 0; i < 2; i++)
		restart_budget_node(g, i, false);
	run_budget_group(g, 4 * TIMEOUT);
	assert_true(budget_node_view(g, 0, PERIODIC).undated);
	assert_int_equal(group_units_held(g, PREPAID), TOTAL);
	assert_int_equal(group_units_held(g, PERIODIC), 0);
	assert_int_equal(budget_spend(g->nodes[0].b, PERIODIC, 1, g->now), -EAGAIN);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(budget_period(g->nodes[i].b, PERIODIC, 7, g->now), 0);
	assert_false(budget_node_view(g, 0, PERIODIC).undated);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, 700), 700);
	run_budget_group(g, TIMEOUT);
	/* With a record the period continues immediately, with its spent and granted units. */
	restart_budget_node(g, 0, false);
	assert_false(budget_node_view(g, 0, PERIODIC).undated);
	assert_int_equal(budget_node_view(g, 0, PERIODIC).period, 7);
	run_budget_group(g, 4 * TIMEOUT);
	assert_in_range(take_budget_units(g, 0, PERIODIC, UINT64_MAX), 300 - 2 * CHUNK, 303);
	assert_int_equal(budget_period(g->nodes[0].b, PERIODIC, 7, g->now), -EINVAL);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, 1), 0);
}

/*
 * A limiter with empty state has also lost the state of the present period, once it learns the
 * number. Its units of that period may have been spent.
 */
TEST(test_undated_recovering)
{
	ENDED_BY(group_free_at) struct group *g = group_new(2, 2, true);

	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, 800), 800);
	run_budget_group(g, TIMEOUT);
	set_undated(g);
	memset(g->nodes[0].lens, 0, sizeof(g->nodes[0].lens));
	restart_budget_node(g, 0, true);
	run_budget_group(g, 4 * TIMEOUT);
	assert_true(budget_node_view(g, 0, PERIODIC).undated);
	restart_budget_node(g, 0, false); /* from the record of that */
	assert_int_equal(budget_period(g->nodes[0].b, PERIODIC, 7, g->now), 0);
	run_budget_group(g, 4 * TIMEOUT);
	assert_false(budget_node_view(g, 0, PERIODIC).recovering);
	assert_in_range(take_budget_units(g, 0, PERIODIC, UINT64_MAX), 0, TOTAL - 800);
}

/*
 * A limiter loses its state just after a period began, and then uses a slightly earlier time. When
 * that period begins again, its state is lost as well, also after another restart.
 */
TEST(test_turns_again_recovering)
{
	ENDED_BY(group_free_at) struct group *g = group_new(2, 3, true);

	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(budget_period(g->nodes[0].b, PERIODIC, 8, g->now), 0);
	assert_int_equal(budget_period(g->nodes[0].b, DRAWN, 8, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, TOTAL / 2), TOTAL / 2);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 90, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, 50), 50);
	memset(g->nodes[0].lens, 0, sizeof(g->nodes[0].lens));
	restart_budget_node(g, 0, true);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 0, g->now), 0);
	run_budget_group(g, 4 * TIMEOUT);
	assert_false(budget_node_view(g, 0, PERIODIC).recovering);
	restart_budget_node(g, 0, false);
	assert_int_equal(budget_node_view(g, 0, PERIODIC).period, 7);
	run_budget_group(g, TIMEOUT);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(budget_period(g->nodes[i].b, PERIODIC, 8, g->now), 0);
		assert_int_equal(budget_period(g->nodes[i].b, DRAWN, 8, g->now), 0);
	}
	assert_in_range(take_budget_units(g, 0, PERIODIC, UINT64_MAX), 1, TOTAL - TOTAL / 2);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 90, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 0);
}

/* Units drawn for that period may also have been spent. */
TEST(test_undated_drawn)
{
	ENDED_BY(group_free_at) struct group *g = group_new(1, 3, true);

	set_undated(g);
	restart_budget_node(g, 0, true);
	run_budget_group(g, TIMEOUT);
	assert_int_equal(budget_period(g->nodes[0].b, DRAWN, 7, g->now), 0);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 90, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, 1), 0);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 95, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 5);
	g->now += TIME_DOUBT_NS;
	assert_int_equal(budget_period(g->nodes[0].b, DRAWN, 8, g->now), 0);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 90, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 90);
}

/* Without neighbours, the period's whole share may have been spent. */
TEST(test_undated_alone)
{
	ENDED_BY(group_free_at) struct group *g = group_new(1, 2, true);

	set_undated(g);
	restart_budget_node(g, 0, true);
	run_budget_group(g, TIMEOUT);
	assert_int_equal(budget_period(g->nodes[0].b, PERIODIC, 7, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, 1), 0);
	g->now += TIME_DOUBT_NS;
	assert_int_equal(budget_period(g->nodes[0].b, PERIODIC, 8, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, UINT64_MAX), TOTAL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter joins: its ledger begins with nothing, and running ledgers get an edge to it. The
 * random groups of test_ledger_world have joins, too.
 */
#include "check.h"
#include "scope.h"

#include "ledger_pair.h"

END_POINTER(ledger_destroy, struct ledger *)

/* A joiner, whose single edge was added. It recovers first. */
static struct ledger *joiner_of(uint64_t epoch)
{
	struct ledger_params params = params_of(0, 1);
	struct ledger *l;

	params.n_added = 1;
	params.recovering = params.incomplete = true;
	params.epoch = epoch;
	assert_int_equal(ledger_create(&params, BEGIN, &l), 0);
	return l;
}

static void add_test_edge(struct ledger **l, uint32_t n_edges)
{
	assert_int_equal(ledger_make_room(l, n_edges), 0);
	ledger_add_edge(*l, BEGIN);
}

/* Exchanges requests and answers. The neighbour commits each change. */
static void exchange_with_joiner(
	struct ledger *l, uint32_t edge, struct ledger *joiner, uint64_t now_ns)
{
	for (int i = 0; i < 4; i++) {
		tell_other_ledger(joiner, 0, l, edge, now_ns + i);
		save_test_ledger(l);
		tell_other_ledger(l, edge, joiner, 0, now_ns + i);
	}
}

TEST(test_added_edge)
{
	struct ledger *l = ledger_of(100, 1);
	struct ledger_view view;

	save_test_ledger(l);
	assert_false(ledger_uncommitted(l));
	assert_int_equal(ledger_grant(l, 0, 10), 0);
	assert_int_equal(ledger_save(l, NULL, NULL), 0);
	add_test_edge(&l, 2);
	ledger_committed(l); /* without the edge */
	assert_true(ledger_uncommitted(l));
	save_test_ledger(l);
	assert_false(ledger_uncommitted(l));

	assert_true(ledger_view(l, 0).met);
	assert_int_equal(ledger_view(l, 0).granted, 10);
	view = ledger_view(l, 1);
	assert_false(view.met || view.known);
	assert_int_equal(view.granted + view.received + view.locked, 0);
	assert_int_equal(ledger_balance(l), 90);
	assert_int_equal(ledger_grant(l, 1, 1), -ENOTCONN);
	assert_int_equal(ledger_grant(l, 0, 1), 0);
	ledger_destroy(l);
}

/* A joiner holds nothing until its set of members is complete and all have answered. */
TEST(test_join)
{
	for (int complete_last = 0; complete_last < 2; complete_last++) {
		struct ledger *l = ledger_of(100, 0), *joiner = joiner_of(9);

		assert_int_equal(ledger_promise(joiner, 0), -EAGAIN);
		save_test_ledger(l);
		add_test_edge(&l, 1);
		if (!complete_last)
			assert_false(ledger_set_complete(joiner, true));
		exchange_with_joiner(l, 0, joiner, BEGIN + S);
		assert_int_equal(ledger_recovering(joiner), complete_last);
		if (complete_last) {
			assert_int_equal(ledger_grant(l, 0, 1), -ENOTCONN);
			assert_true(ledger_set_complete(joiner, true));
		}
		assert_false(ledger_recovering(joiner));
		assert_false(ledger_set_complete(joiner, true)); /* nothing ends */
		assert_int_equal(ledger_balance(joiner), 0);

		agree_on_edge(l, 0, joiner, 0, BEGIN + 2 * S);
		assert_true(ledger_view(l, 0).met && ledger_view(joiner, 0).met);
		assert_int_equal(ledger_grant(l, 0, 30), 0);
		agree_on_edge(l, 0, joiner, 0, BEGIN + 3 * S);
		assert_int_equal(ledger_balance(joiner), 30);
		assert_int_equal(ledger_promise(joiner, 10), 0);
		assert_int_equal(ledger_grant(joiner, 0, 20), 0);
		agree_on_edge(l, 0, joiner, 0, BEGIN + 4 * S);
		assert_int_equal(ledger_balance(l), 90);
		ledger_destroy(l);
		ledger_destroy(joiner);
	}
}

/* An edge that is added during a recovery must answer, too. */
TEST(test_edge_added_while_recovering)
{
	struct ledger *joiner = joiner_of(9), *one = ledger_of(60, 1), *other = ledger_of(40, 1);

	ledger_set_complete(joiner, true);
	tell_other_ledger(joiner, 0, one, 0, BEGIN + S);
	save_test_ledger(one);
	tell_other_ledger(one, 0, joiner, 0, BEGIN + S);
	add_test_edge(&joiner, 2);
	assert_false(ledger_uncommitted(joiner));
	exchange_with_joiner(one, 0, joiner, BEGIN + 2 * S);
	assert_true(ledger_recovering(joiner));
	for (int i = 0; i < 2; i++) {
		tell_other_ledger(joiner, 1, other, 0, BEGIN + 3 * S + (uint64_t)i);
		save_test_ledger(other);
		tell_other_ledger(other, 0, joiner, 1, BEGIN + 3 * S + (uint64_t)i);
	}
	assert_false(ledger_recovering(joiner));
	ledger_destroy(joiner);
	ledger_destroy(one);
	ledger_destroy(other);
}

/*
 * A limiter loses its memory, with an edge to a joiner. It does not get back the amount that the
 * joiner has, also if it has lost its set of members at first.
 */
TEST(test_loss_with_a_joiner)
{
	struct ledger *l = ledger_of(100, 0), *joiner = joiner_of(9);
	struct ledger_params params = params_of(100, 0);

	save_test_ledger(l);
	add_test_edge(&l, 1);
	ledger_set_complete(joiner, true);
	exchange_with_joiner(l, 0, joiner, BEGIN + S);
	agree_on_edge(l, 0, joiner, 0, BEGIN + 2 * S);
	assert_int_equal(ledger_grant(l, 0, 30), 0);
	agree_on_edge(l, 0, joiner, 0, BEGIN + 3 * S);
	ledger_destroy(l);

	params.epoch = 20;
	params.recovering = params.incomplete = true;
	assert_int_equal(ledger_create(&params, BEGIN + 4 * S, &l), 0);
	assert_true(ledger_recovering(l));
	add_test_edge(&l, 1);
	assert_false(ledger_set_complete(l, true));
	for (int i = 0; i < 2; i++) {
		tell_other_ledger(l, 0, joiner, 0, BEGIN + 5 * S + (uint64_t)i);
		save_test_ledger(joiner);
		tell_other_ledger(joiner, 0, l, 0, BEGIN + 5 * S + (uint64_t)i);
	}
	assert_false(ledger_recovering(l));
	assert_int_equal(ledger_balance(l), 70);
	ledger_destroy(l);
	ledger_destroy(joiner);
}

/* Records with the number of edges that a start has, or fewer of the added ones. */
TEST(test_records_of_added_edges)
{
	static const struct {
		uint32_t first, added; /* edges of the record */
		uint32_t n, n_added;   /* edges of the start */
		int ret;
	} rows[] = {
		{1, 0, 1, 0, 0}, {1, 0, 2, 1, 0}, {1, 0, 3, 2, 0}, {1, 1, 2, 1, 0}, {1, 1, 3, 2, 0},
		{0, 2, 2, 2, 0}, {0, 2, 3, 3, 0},
		{1, 0, 2, 0, -EINVAL}, /* an edge of the start is missing */
		{2, 0, 2, 1, -EINVAL}, /* version 2 has no added edges */
		{1, 1, 1, 0, -EINVAL}, {0, 2, 1, 1, -EINVAL},
		{1, 1, 2, 0, 0}, /* the book compares the edges */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ledger_params params = params_of(100, rows[i].first + rows[i].added);
		uint8_t record[1024];
		struct ledger *l;
		size_t len;

		params.n_added = rows[i].added;
		assert_int_equal(ledger_create(&params, BEGIN, &l), 0);
		if (rows[i].first > 0)
			assert_int_equal(ledger_grant(l, 0, 7), 0);
		assert_true(ledger_record_size(l) <= sizeof(record));
		assert_int_equal(ledger_save(l, record, &len), 0);
		assert_int_equal(record[7], rows[i].added > 0 ? 3 : 2);
		ledger_destroy(l);
		params.n_edges = rows[i].n;
		params.n_added = rows[i].n_added;
		params.friend = LEDGER_NOBODY;
		assert_int_equal(ledger_restore(&params, record, len, BEGIN, &l), rows[i].ret);
		if (rows[i].ret)
			continue;
		assert_int_equal(ledger_balance(l), rows[i].first > 0 ? 93 : 100);
		for (uint32_t e = 0; e < rows[i].n; e++)
			assert_int_equal(ledger_view(l, e).met, e < rows[i].n - rows[i].n_added);
		assert_true(ledger_uncommitted(l) || rows[i].n == rows[i].first + rows[i].added);
		ledger_destroy(l);
	}
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The promise to a best friend: the promiser uses the amount only during the lease that the
 * friend's echo extends. The friend inherits it when the lease has certainly ended.
 */
#include "check.h"
#include "scope.h"

#include "ledger_pair.h"

END_POINTER(ledger_destroy, struct ledger *)

/* The lease ends to the nanosecond, counted from the stamp and not from the arrival of the echo. */
TEST(test_lease_at_the_promiser)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);
	struct ledger_statement echo;
	uint64_t until;

	assert_int_equal(ledger_usable(a, BEGIN, &until), 100);
	assert_true(until == UINT64_MAX);
	assert_int_equal(ledger_promise(a, 70), 0);
	save_test_ledger(a);
	assert_int_equal(ledger_usable(a, BEGIN, &until), 30); /* no echo yet */
	assert_true(until == UINT64_MAX);
	tell_other_ledger(a, 0, b, 0, BEGIN + S);
	echo = statement_of_edge(b, 0, BEGIN + S);
	assert_int_equal(ledger_receive(a, 0, BEGIN + 2 * S, &echo), LEDGER_NEWS);
	assert_int_equal(ledger_usable(a, BEGIN + 2 * S, &until), 100);
	assert_true(until == BEGIN + S + LEASE);
	assert_int_equal(ledger_usable(a, until - 1, NULL), 100);
	assert_int_equal(ledger_usable(a, until, NULL), 30);
	/* An echo that arrives after the end of its lease. */
	tell_other_ledger(a, 0, b, 0, BEGIN + 3 * S);
	echo = statement_of_edge(b, 0, BEGIN + 3 * S);
	assert_int_equal(ledger_receive(a, 0, BEGIN + 3 * S + LEASE, &echo), LEDGER_HEARD);
	assert_int_equal(ledger_usable(a, BEGIN + 3 * S + LEASE, NULL), 30);
}

/* While the clock stands still, stamps advance and leases do not. */
TEST(test_clock_that_stands)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);
	struct ledger_statement s = statement_of_edge(a, 0, BEGIN),
				t = statement_of_edge(a, 0, BEGIN);
	uint64_t until;

	assert_true(t.stamp > s.stamp);
	assert_int_equal(ledger_promise(a, 1), 0);
	ledger_receive(b, 0, BEGIN, &t);
	tell_other_ledger(b, 0, a, 0, BEGIN);
	ledger_usable(a, BEGIN, &until);
	assert_true(until == BEGIN + LEASE);
}

TEST(test_inheriting_just_in_time)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a, *b;

	promised_pair(&a, &b, 70);
	assert_int_equal(ledger_inheritable(b, 0, BEGIN + S + patience_of_lease() - 1), 0);
	assert_int_equal(ledger_inherit(b, 0, BEGIN + S + patience_of_lease() - 1), 0);
	assert_int_equal(ledger_inheritable(b, 0, BEGIN + S + patience_of_lease()), 70);
	assert_int_equal(ledger_inheritable(b, 0, BEGIN), 0);
	assert_int_equal(ledger_balance(b), 0);
	assert_int_equal(ledger_inherit(b, 0, BEGIN + S + patience_of_lease()), 70);
	assert_int_equal(ledger_inherit(b, 0, BEGIN + S + patience_of_lease()), 0);
	assert_int_equal(ledger_balance(b), 70);
	assert_int_equal(ledger_view(b, 0).inherited, 70);
	/* The promiser returns; it had granted 20 meanwhile, which are part of the 70. */
	assert_int_equal(ledger_grant(a, 0, 20), 0);
	save_test_ledger(a);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + 9 * S), LEDGER_HEARD);
	assert_int_equal(ledger_balance(b), 70);
	assert_int_equal(tell_other_ledger(b, 0, a, 0, BEGIN + 9 * S), LEDGER_NEWS);
	assert_int_equal(ledger_balance(a), 30);
	/* The 20 were granted from the free amount, so the promise is 20 higher. */
	assert_int_equal(ledger_view(a, 0).promised, 90);
	/* The friend gives it back. */
	assert_int_equal(ledger_grant(b, 0, 50), 0);
	assert_int_equal(ledger_view(b, 0).inherited, 20);
	agree_on_edge(a, 0, b, 0, BEGIN + 10 * S);
	assert_int_equal(ledger_balance(a), 80);
	assert_int_equal(ledger_balance(b), 20);
}

/* Stale statements do not count as signs of life. */
TEST(test_repeats_are_no_sign_of_life)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a, *b;
	struct ledger_statement s;

	promised_pair(&a, &b, 70);
	s = statement_of_edge(a, 0, BEGIN + S + 1);
	ledger_receive(b, 0, BEGIN + S, &s);
	assert_int_equal(ledger_receive(b, 0, BEGIN + 3 * S, &s), LEDGER_OLD);
	assert_int_equal(ledger_inheritable(b, 0, BEGIN + S + patience_of_lease()), 70);
}

/* A promise applies only if it was made to this start of ours. */
TEST(test_promise_to_an_earlier_start)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a, *b, *again;
	struct ledger_params params = params_of(0, 1);
	uint8_t record[512];
	size_t len;

	promised_pair(&a, &b, 70);
	assert_int_equal(ledger_save(b, record, &len), 0);
	params.epoch++;
	assert_int_equal(ledger_restore(&params, record, len, BEGIN, &again), 0);
	tell_other_ledger(a, 0, again, 0, BEGIN + 2 * S);
	assert_int_equal(ledger_inheritable(again, 0, BEGIN + 99 * S), 0);
	tell_other_ledger(again, 0, a, 0, BEGIN + 2 * S);
	tell_other_ledger(a, 0, again, 0, BEGIN + 3 * S);
	assert_int_equal(ledger_inheritable(again, 0, BEGIN + 99 * S), 70);
}

/* A promise is lower once the friend has echoed the right statement, not before. */
TEST(test_promise_taken_back)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a, *b;
	struct ledger_statement old, echo;

	promised_pair(&a, &b, 70);
	old = statement_of_edge(b, 0, BEGIN + 2 * S); /* echoes the statement with 70 */
	assert_int_equal(ledger_receive(a, 0, BEGIN + 2 * S, &old), LEDGER_NEWS);
	assert_int_equal(ledger_promise(a, 10), 0);
	assert_int_equal(ledger_free(a), 30);
	save_test_ledger(a);
	echo = statement_of_edge(a, 0, BEGIN + 3 * S); /* with 10, lost */
	old = statement_of_edge(b, 0, BEGIN + 3 * S);
	assert_int_equal(ledger_receive(a, 0, BEGIN + 3 * S, &old), LEDGER_HEARD);
	assert_int_equal(ledger_free(a), 30);
	assert_int_equal(ledger_receive(b, 0, BEGIN + 4 * S, &echo), LEDGER_HEARD);
	assert_int_equal(tell_other_ledger(b, 0, a, 0, BEGIN + 4 * S), LEDGER_NEWS);
	assert_int_equal(ledger_free(a), 90);
	assert_int_equal(ledger_view(a, 0).locked, 10);
	assert_int_equal(ledger_grant(a, 0, 91), -EDQUOT);
	assert_int_equal(ledger_grant(a, 0, 90), 0);
}

TEST(test_nobody_to_promise)
{
	struct ledger_params params = params_of(100, 1);
	ENDED_BY(ledger_destroy_at) struct ledger *a;

	params.friend = LEDGER_NOBODY;
	assert_int_equal(ledger_create(&params, BEGIN, &a), 0);
	assert_int_equal(ledger_promise(a, 0), -ENOENT);
}

/* A statement that does not echo our present epoch, or a recovering one, voids the promise. */
TEST(test_promise_is_void)
{
	struct ledger_statement later = {
		.epoch = 7, .stamp = BEGIN + 2 * S, .promised = 70, .echo_epoch = 6, .count = 9};
	ENDED_BY(ledger_destroy_at) struct ledger *a, *b;

	promised_pair(&a, &b, 70);
	assert_int_equal(ledger_receive(b, 0, BEGIN + 2 * S, &later), LEDGER_HEARD);
	assert_int_equal(ledger_inheritable(b, 0, BEGIN + 99 * S), 0);
	ledger_destroy(a);
	ledger_destroy(b);
	promised_pair(&a, &b, 70);
	ledger_destroy(a);
	a = recovering_of(100, 1, 9);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + 2 * S), LEDGER_NEWS);
	assert_int_equal(ledger_inheritable(b, 0, BEGIN + 99 * S), 0);
}

/* Echoes of an earlier start extend no lease and release no lock. */
TEST(test_promiser_restarts)
{
	struct ledger_statement echo;
	ENDED_BY(ledger_destroy_at) struct ledger *a, *b;

	promised_pair(&a, &b, 70);
	assert_int_equal(ledger_promise(a, 10), 0);
	a = restarted_ledger(a, 8);
	assert_int_equal(ledger_free(a), 30);
	statement_of_edge(a, 0, BEGIN);
	echo = statement_of_edge(b, 0, BEGIN + 2 * S);
	echo.echo_stamp = BEGIN;
	assert_int_equal(ledger_receive(a, 0, BEGIN + 2 * S, &echo), LEDGER_HEARD);
	assert_int_equal(ledger_free(a), 30);
	assert_int_equal(ledger_usable(a, BEGIN, NULL), 30);
	agree_on_edge(a, 0, b, 0, BEGIN + 3 * S);
	assert_int_equal(ledger_free(a), 90);
	assert_int_equal(ledger_usable(a, BEGIN + 3 * S, NULL), 100);
}

/* A promise sent once may have arrived, echoed or not. It is free after the echo of a lower one. */
TEST(test_promise_told_once)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);

	assert_int_equal(ledger_promise(a, 70), 0);
	save_test_ledger(a);
	statement_of_edge(a, 0, BEGIN + S); /* lost, or late */
	assert_int_equal(ledger_promise(a, 10), 0);
	save_test_ledger(a);
	assert_int_equal(ledger_free(a), 30);
	assert_int_equal(ledger_view(a, 0).locked, 70);
	tell_other_ledger(a, 0, b, 0, BEGIN + 2 * S);
	tell_other_ledger(b, 0, a, 0, BEGIN + 2 * S);
	tell_other_ledger(a, 0, b, 0, BEGIN + 3 * S);
	tell_other_ledger(b, 0, a, 0, BEGIN + 3 * S);
	assert_int_equal(ledger_free(a), 90);
}

/* A friend inherits the promise beyond its grants, and the promiser accounts for it. */
TEST(test_inherited_beyond_grants)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);
	uint64_t late = BEGIN + S + patience_of_lease();

	tell_other_ledger(b, 0, a, 0, BEGIN);
	assert_true(ledger_view(a, 0).known);
	assert_int_equal(ledger_grant(a, 0, 20), 0);
	assert_int_equal(ledger_promise(a, 50), 0);
	save_test_ledger(a);
	tell_other_ledger(a, 0, b, 0, BEGIN + S);
	assert_int_equal(ledger_balance(b), 20);
	assert_int_equal(ledger_promise(a, 10), 0); /* too late */
	save_test_ledger(a);
	assert_int_equal(ledger_inheritable(b, 0, late), 50);
	assert_int_equal(ledger_inherit(b, 0, late), 50);
	assert_int_equal(ledger_balance(b), 70);
	assert_int_equal(tell_other_ledger(b, 0, a, 0, late), LEDGER_NEWS);
	assert_true(ledger_uncommitted(a));
	assert_int_equal(ledger_balance(a), 30);
	assert_int_equal(ledger_view(a, 0).granted, 70);
	assert_int_equal(ledger_view(a, 0).promised, 70);
	agree_on_edge(a, 0, b, 0, late + S);
	assert_false(ledger_uncommitted(a));
	assert_int_equal(ledger_grant(a, 0, 5), 0);
	agree_on_edge(a, 0, b, 0, late + 2 * S);
	assert_int_equal(ledger_balance(b), 75);
	assert_int_equal(ledger_view(b, 0).inherited, 50);
	assert_int_equal(ledger_grant(b, 0, 20), 0); /* the inherited amount is given back first */
	assert_int_equal(ledger_view(b, 0).inherited, 30);
}

/*
 * An inherited amount is not owed after it was granted to a third ledger, or taken by a lower
 * share.
 */
TEST(test_inherited_and_gone)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 1), *b = ledger_of(100, 2);
	uint64_t late = BEGIN + S + patience_of_lease();

	tell_other_ledger(b, 0, a, 0, BEGIN);
	assert_int_equal(ledger_promise(a, 50), 0);
	save_test_ledger(a);
	tell_other_ledger(a, 0, b, 0, BEGIN + S);
	assert_int_equal(ledger_inherit(b, 0, late), 50);
	assert_int_equal(ledger_grant(b, 1, 90), 0);
	assert_int_equal(ledger_balance(b), 60);
	assert_int_equal(ledger_view(b, 0).inherited, 50);
	assert_int_equal(ledger_grant(b, 1, 20), 0);
	assert_int_equal(ledger_view(b, 0).inherited, 40);
	assert_int_equal(ledger_set_share(b, 70), 0);
	assert_int_equal(ledger_view(b, 0).inherited, 10);
	assert_int_equal(ledger_set_share(b, 0), 0);
	assert_int_equal(ledger_view(b, 0).inherited, 0);
	assert_int_equal(ledger_set_share(b, 100), 0);
	assert_int_equal(ledger_view(b, 0).inherited, 0);
}

/* A friend inherits only up to LEDGER_MOST, and less the amount received before. */
TEST(test_room_for_more)
{
	ENDED_BY(ledger_destroy_at)
	struct ledger *a = ledger_of(200, 1), *b = ledger_of(LEDGER_MOST - 40, 1);

	tell_other_ledger(b, 0, a, 0, BEGIN);
	assert_int_equal(ledger_grant(a, 0, 10), 0);
	agree_on_edge(a, 0, b, 0, BEGIN + S);
	assert_int_equal(ledger_grant(a, 0, 10), 0);
	assert_int_equal(ledger_promise(a, 70), 0);
	save_test_ledger(a);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + 2 * S), LEDGER_NEWS);
	assert_int_equal(ledger_balance(b), LEDGER_MOST - 20);
	assert_int_equal(ledger_inheritable(b, 0, BEGIN + 2 * S + patience_of_lease()), 20);
	assert_int_equal(ledger_grant(a, 0, 10), 0);
	save_test_ledger(a);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + 3 * S), LEDGER_NEWS);
	assert_int_equal(ledger_grant(a, 0, 10), 0);
	save_test_ledger(a);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + 4 * S), LEDGER_NEWS);
	assert_int_equal(ledger_balance(b), LEDGER_MOST);
	assert_int_equal(ledger_inheritable(b, 0, BEGIN + 4 * S + patience_of_lease()), 0);
}

/* Ends a start and restarts from its record, with another best friend. */
static struct ledger *promise_over_a_start(
	struct ledger *l, uint32_t n_edges, uint32_t friend, uint64_t epoch)
{
	struct ledger_params params = params_of(100, n_edges);
	struct ledger *again;
	uint8_t record[512];
	size_t len;

	params.friend = friend;
	params.epoch = epoch;
	assert_true(ledger_record_size(l) <= sizeof(record));
	assert_int_equal(ledger_save(l, record, &len), 0);
	ledger_destroy(l);
	assert_int_equal(ledger_restore(&params, record, len, BEGIN, &again), 0);
	return again;
}

/*
 * Earlier best friends may still use their promises. So these amounts are not free, and the next
 * promise is from the rest only. When the share falls, all promises together are at most the
 * balance.
 */
TEST(test_other_friends)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 3);
	uint64_t before[3], sum = 0;

	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(ledger_grant(a, i, 5), 0);
	assert_int_equal(ledger_promise(a, 30), 0);
	a = promise_over_a_start(a, 3, 1, 8);
	assert_int_equal(ledger_free(a), 55);
	assert_int_equal(ledger_promise(a, 56), -EDQUOT);
	assert_int_equal(ledger_promise(a, 20), 0);
	a = promise_over_a_start(a, 3, 2, 9);
	assert_int_equal(ledger_free(a), 35);
	assert_int_equal(ledger_usable(a, BEGIN, NULL), 35);
	assert_int_equal(ledger_promise(a, 36), -EDQUOT);
	assert_int_equal(ledger_promise(a, 35), 0);
	assert_int_equal(ledger_free(a), 0);
	save_test_ledger(a);
	for (uint32_t i = 0; i < 3; i++)
		before[i] = ledger_view(a, i).promised;
	for (uint64_t share = 99; share >= 10; share--) {
		sum = 0;
		assert_int_equal(ledger_set_share(a, share), 0);
		for (uint32_t i = 0; i < 3; i++) {
			struct ledger_view view = ledger_view(a, i);

			assert_in_range(view.promised, view.granted, before[i]);
			sum += view.promised - view.granted;
			before[i] = view.promised;
		}
		assert_int_equal(sum, share > 15 ? share - 15 : 0);
	}
}

/* The usable amount falls with the lease of an edge that has a promise, not with another's. */
TEST(test_first_lease_that_ends)
{
	struct ledger *a = ledger_of(100, 2), *b[2] = {ledger_of(0, 1), ledger_of(0, 1)};
	uint64_t until;

	assert_int_equal(ledger_promise(a, 70), 0);
	save_test_ledger(a);
	for (uint32_t i = 0; i < 2; i++) {
		tell_other_ledger(a, i, b[i], 0, BEGIN + (2 - i) * S);
		tell_other_ledger(b[i], 0, a, i, BEGIN + 2 * S);
	}
	assert_int_equal(ledger_usable(a, BEGIN + 2 * S, &until), 100);
	assert_true(until == BEGIN + 2 * S + LEASE);
	assert_int_equal(ledger_usable(a, BEGIN + 2 * S + LEASE - 1, NULL), 100);
	assert_int_equal(ledger_usable(a, BEGIN + 2 * S + LEASE, &until), 30);
	assert_true(until == UINT64_MAX);
	ledger_destroy(a);
	ledger_destroy(b[0]);
	ledger_destroy(b[1]);
}

/*
 * The wait of a friend, rounded up to the nanosecond: its own clock can be fast, and the other's
 * slow.
 */
TEST(test_patience)
{
	static const struct {
		uint64_t lease;
		uint32_t drift;
		uint64_t wait;
	} rows[] = {
		{1000, 0, 1000},
		{999999, 1, 1000001}, /* an even division */
		{500000, 1, 500002},  /* 500001 and 1/999999 */
		{499999, 1, 500000},  /* 499999.999999 */
		{10, 500000, 30},
		{1, 999999, 1999999},
		{0, 999999, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ledger_params params = params_of(100, 1);
		struct ledger *a, *b;

		params.lease_ns = rows[i].lease;
		params.drift_ppm = rows[i].drift;
		assert_int_equal(ledger_create(&params, BEGIN, &a), 0);
		assert_int_equal(ledger_create(&params, BEGIN, &b), 0);
		tell_other_ledger(b, 0, a, 0, BEGIN);
		assert_int_equal(ledger_promise(a, 70), 0);
		save_test_ledger(a);
		tell_other_ledger(a, 0, b, 0, BEGIN + S);
		if (rows[i].wait > 0 && ledger_inheritable(b, 0, BEGIN + S + rows[i].wait - 1) != 0)
			fail_msg("row %zu: too early", i);
		if (ledger_inheritable(b, 0, BEGIN + S + rows[i].wait) != 70)
			fail_msg("row %zu: too late", i);
		ledger_destroy(a);
		ledger_destroy(b);
	}
}

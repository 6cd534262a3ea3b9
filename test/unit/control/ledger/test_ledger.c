/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "ledger/ledger.h"
#include "ledger/statement.h"

#define S       UINT64_C(1000000000)
#define LEASE   (3 * S)
#define DRIFT   200 /* ppm */
#define N_EDGES 4
#define BEGIN   (100 * S) /* on every clock, unless it is said otherwise */

static struct ledger_params params_of(uint64_t share, uint32_t n_edges)
{
	return (struct ledger_params){.share = share,
		.n_edges = n_edges,
		.friend = n_edges ? 0 : LEDGER_NOBODY,
		.lease_ns = LEASE,
		.drift_ppm = DRIFT,
		.epoch = 7};
}

static struct ledger *ledger_of(uint64_t share, uint32_t n_edges)
{
	struct ledger_params params = params_of(share, n_edges);
	struct ledger *l;

	assert_int_equal(ledger_create(&params, BEGIN, &l), 0);
	return l;
}

static struct ledger *recovering_of(uint64_t share, uint32_t n_edges, uint64_t epoch)
{
	struct ledger_params params = params_of(share, n_edges);
	struct ledger *l;

	params.recovering = true;
	params.epoch = epoch;
	assert_int_equal(ledger_create(&params, BEGIN, &l), 0);
	return l;
}

static void save_test_ledger(struct ledger *l)
{
	assert_int_equal(ledger_save(l, NULL, NULL), 0);
	ledger_committed(l);
}

static struct ledger_statement statement_of_edge(struct ledger *l, uint32_t edge, uint64_t now_ns)
{
	struct ledger_statement s;

	ledger_state(l, edge, now_ns, &s);
	return s;
}

/* What one says now is heard by the other at once. */
static enum ledger_verdict tell_other_ledger(
	struct ledger *from, uint32_t edge, struct ledger *to, uint32_t there, uint64_t now_ns)
{
	struct ledger_statement s = statement_of_edge(from, edge, now_ns);

	return ledger_hear(to, there, now_ns, &s);
}

/* Committed and heard on both sides, until there is nothing new. */
static void agree_on_edge(
	struct ledger *a, uint32_t at_a, struct ledger *b, uint32_t at_b, uint64_t now_ns)
{
	for (int i = 0; i < 4; i++) {
		if (!ledger_recovering(a))
			save_test_ledger(a);
		tell_other_ledger(a, at_a, b, at_b, now_ns + i);
		if (!ledger_recovering(b))
			save_test_ledger(b);
		tell_other_ledger(b, at_b, a, at_a, now_ns + i);
	}
}

static void test_params_at_their_limits(void **state_)
{
	static const struct {
		struct ledger_params params;
		int ret;
	} cases[] = {
		{{.share = LEDGER_MOST, .friend = LEDGER_NOBODY, .epoch = 1}, 0},
		{{.share = LEDGER_MOST + 1, .friend = LEDGER_NOBODY, .epoch = 1}, -EINVAL},
		{{.friend = LEDGER_NOBODY, .epoch = LEDGER_MOST}, 0},
		{{.friend = LEDGER_NOBODY, .epoch = LEDGER_MOST + 1}, -EINVAL},
		{{.friend = LEDGER_NOBODY, .epoch = 0}, -EINVAL},
		{{.n_edges = 2, .friend = 1, .epoch = 1}, 0},
		{{.n_edges = 2, .friend = 2, .epoch = 1}, -EINVAL},
		{{.friend = 0, .epoch = 1}, -EINVAL},
		{{.friend = LEDGER_NOBODY, .epoch = 1, .drift_ppm = 999999}, 0},
		{{.friend = LEDGER_NOBODY, .epoch = 1, .drift_ppm = 1000000}, -EINVAL},
		{{.friend = LEDGER_NOBODY, .epoch = 1, .lease_ns = LEDGER_MOST}, 0},
		{{.friend = LEDGER_NOBODY, .epoch = 1, .lease_ns = LEDGER_MOST + 1}, -EINVAL},
	};

	(void)state_;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ledger *l = NULL;

		if (ledger_create(&cases[i].params, 0, &l) != cases[i].ret)
			fail_msg("case %zu", i);
		ledger_destroy(l);
	}
}

static void test_grant_just_what_is_free(void **state_)
{
	struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);

	(void)state_;
	assert_int_equal(ledger_grant(a, 0, 101), -EDQUOT);
	assert_int_equal(ledger_promise(a, 101), -EDQUOT);
	assert_int_equal(ledger_promise(a, 40), 0);
	assert_int_equal(ledger_free(a), 60);
	assert_int_equal(ledger_grant(a, 0, 61), -EDQUOT);
	assert_int_equal(ledger_spend(a, 61), -EDQUOT);
	assert_int_equal(ledger_grant(a, 0, 60), 0);
	assert_int_equal(ledger_free(a), 0);
	assert_int_equal(ledger_balance(a), 40);
	assert_int_equal(ledger_grant(a, 0, 0), 0);
	agree_on_edge(a, 0, b, 0, BEGIN + S);
	assert_int_equal(ledger_balance(b), 60);
	assert_int_equal(ledger_view(a, 0).in_flight, 0);
	assert_int_equal(ledger_view(a, 0).promised, 100);
	ledger_destroy(a);
	ledger_destroy(b);
}

static void test_spend(void **state_)
{
	struct ledger *a = ledger_of(100, 0);

	(void)state_;
	assert_int_equal(ledger_spend(a, 101), -EDQUOT);
	assert_int_equal(ledger_spend(a, 100), 0);
	assert_int_equal(ledger_spent(a), 100);
	assert_int_equal(ledger_balance(a), 0);
	assert_int_equal(ledger_spend(a, 1), -EDQUOT);
	ledger_destroy(a);
	a = ledger_of(LEDGER_MOST, 0);
	assert_int_equal(ledger_spend(a, LEDGER_MOST), 0);
	assert_int_equal(ledger_set_share(a, 0), 0);
	assert_int_equal(ledger_balance(a), -(int64_t)LEDGER_MOST);
	assert_int_equal(ledger_set_share(a, LEDGER_MOST), 0);
	assert_int_equal(ledger_free(a), 0);
	ledger_destroy(a);
}

/* What was spent and not used is held again, and may be granted; no more than that. */
static void test_refund(void **state_)
{
	struct ledger *a = ledger_of(100, 1);

	(void)state_;
	assert_int_equal(ledger_spend(a, 60), 0);
	assert_int_equal(ledger_refund(a, 61), -EINVAL);
	assert_int_equal(ledger_save(a, NULL, NULL), 0);
	ledger_committed(a);
	assert_int_equal(ledger_refund(a, 50), 0);
	assert_true(ledger_uncommitted(a));
	assert_int_equal(ledger_spent(a), 10);
	assert_int_equal(ledger_free(a), 90);
	assert_int_equal(ledger_grant(a, 0, 90), 0);
	ledger_destroy(a);
	a = ledger_of(LEDGER_MOST, 0);
	assert_int_equal(ledger_spend(a, LEDGER_MOST), 0);
	assert_int_equal(ledger_set_share(a, 0), 0);
	assert_int_equal(ledger_refund(a, LEDGER_MOST), 0);
	assert_int_equal(ledger_balance(a), 0);
	ledger_destroy(a);
}

/* Nothing is told before it is committed, and what comes in between waits for the next. */
static void test_commit_order(void **state_)
{
	struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);

	(void)state_;
	save_test_ledger(a);
	assert_false(ledger_uncommitted(a));
	assert_int_equal(ledger_grant(a, 0, 10), 0);
	assert_true(ledger_uncommitted(a));
	assert_int_equal(statement_of_edge(a, 0, BEGIN).granted, 0);
	assert_int_equal(ledger_save(a, NULL, NULL), 0);
	assert_int_equal(ledger_save(a, NULL, NULL), -EBUSY);
	assert_int_equal(ledger_grant(a, 0, 5), 0);
	assert_int_equal(statement_of_edge(a, 0, BEGIN).granted, 0);
	ledger_committed(a);
	assert_int_equal(statement_of_edge(a, 0, BEGIN).granted, 10);
	assert_true(ledger_uncommitted(a));
	/* One that failed commits nothing, and all is still to be done. */
	assert_int_equal(ledger_save(a, NULL, NULL), 0);
	ledger_save_failed(a);
	assert_true(ledger_uncommitted(a));
	assert_int_equal(statement_of_edge(a, 0, BEGIN).granted, 10);
	ledger_committed(a); /* of nothing */
	assert_int_equal(statement_of_edge(a, 0, BEGIN).granted, 10);
	save_test_ledger(a);
	assert_false(ledger_uncommitted(a));
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + S), LEDGER_NEWS);
	assert_int_equal(ledger_balance(b), 15);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* What b is told after it has heard of 10 granted and 30 promised, and has granted 5 back. */
static void test_verdicts(void **state_)
{
	const struct ledger_statement heard = {.epoch = 7,
		.stamp = 1000,
		.granted = 10,
		.promised = 30,
		.received = 5,
		.echo_epoch = 7,
		.echo_stamp = BEGIN};
	static const struct {
		const char *name;
		struct ledger_statement change; /* added to what was heard */
		enum ledger_verdict verdict;
	} cases[] = {
		{"the same", {0}, LEDGER_OLD},
		{"one stamp earlier", {.stamp = -1, .granted = 1}, LEDGER_OLD},
		{"an earlier epoch", {.epoch = -1, .stamp = 1, .granted = 1}, LEDGER_OLD},
		{"newer", {.stamp = 1}, LEDGER_HEARD},
		{"a new epoch, an early stamp", {.epoch = 1, .stamp = -999}, LEDGER_HEARD},
		{"one more granted", {.stamp = 1, .granted = 1}, LEDGER_NEWS},
		{"one less granted", {.stamp = 1, .granted = -1}, LEDGER_INVALID},
		{"less in a new epoch", {.epoch = 1, .granted = -1}, LEDGER_INVALID},
		{"promised as granted", {.stamp = 1, .promised = -20}, LEDGER_HEARD},
		{"promised below granted", {.stamp = 1, .promised = -21}, LEDGER_INVALID},
		{"received less", {.stamp = 1, .received = -5}, LEDGER_HEARD},
		{"received what was granted", {.stamp = 1}, LEDGER_HEARD},
		{"received what was promised", {.stamp = 1, .received = 15}, LEDGER_NEWS},
		{"received more", {.stamp = 1, .received = 16}, LEDGER_INVALID},
		{"echo of what was never said", {.stamp = 1, .echo_stamp = 1}, LEDGER_INVALID},
		{"echo of another epoch", {.stamp = 1, .echo_epoch = -1, .echo_stamp = 1},
			LEDGER_HEARD},
		{"the most", {.stamp = 1, .promised = LEDGER_MOST - 30}, LEDGER_HEARD},
		{"beyond the most", {.stamp = 1, .promised = LEDGER_MOST - 29}, LEDGER_INVALID},
		{"more than can be held",
			{.stamp = 1, .granted = LEDGER_MOST - 10, .promised = LEDGER_MOST - 30},
			LEDGER_INVALID},
		{"blank, without a start", {.epoch = -7, .stamp = -1000}, LEDGER_INVALID},
		{"blank, at an epoch that ran", {.epoch = -7, .stamp = -993}, LEDGER_OLD},
		{"blank, later", {.epoch = -7, .stamp = -992}, LEDGER_NEWS},
	};

	(void)state_;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ledger *b = ledger_of(100, 1);
		struct ledger_statement s = heard;
		const struct ledger_statement *d = &cases[i].change;
		enum ledger_verdict got;
		int64_t balance;

		assert_int_equal(ledger_grant(b, 0, 5), 0);
		assert_int_equal(ledger_promise(b, 15), 0);
		save_test_ledger(b);
		statement_of_edge(b, 0, BEGIN);
		assert_int_equal(ledger_hear(b, 0, BEGIN, &heard), LEDGER_NEWS);
		balance = ledger_balance(b);
		assert_int_equal(balance, 105);
		s.epoch += d->epoch, s.stamp += d->stamp, s.granted += d->granted;
		s.promised += d->promised, s.received += d->received;
		s.echo_epoch += d->echo_epoch, s.echo_stamp += d->echo_stamp;
		got = ledger_hear(b, 0, BEGIN + 1, &s);
		if (got != cases[i].verdict)
			fail_msg("%s: %d, expected %d", cases[i].name, got, cases[i].verdict);
		/* What is not believed changes nothing. */
		if (got == LEDGER_OLD || got == LEDGER_INVALID) {
			assert_int_equal(ledger_balance(b), balance);
			assert_int_equal(ledger_view(b, 0).heard_ns, BEGIN);
		}
		ledger_destroy(b);
	}
}

static void test_counters_end(void **state_)
{
	struct ledger *a = ledger_of(LEDGER_MOST, 1), *b = ledger_of(0, 1);

	(void)state_;
	assert_int_equal(ledger_grant(a, 0, LEDGER_MOST), 0);
	agree_on_edge(a, 0, b, 0, BEGIN + S);
	assert_int_equal(ledger_balance(b), LEDGER_MOST);
	/* All of it comes back, and then the edge gives no more. */
	assert_int_equal(ledger_grant(b, 0, LEDGER_MOST), 0);
	agree_on_edge(a, 0, b, 0, BEGIN + 2 * S);
	assert_int_equal(ledger_balance(a), LEDGER_MOST);
	assert_int_equal(ledger_grant(a, 0, 1), -EOVERFLOW);
	assert_int_equal(ledger_promise(a, 1), -EOVERFLOW);
	assert_int_equal(ledger_set_share(b, LEDGER_MOST), 0);
	assert_int_equal(ledger_set_share(b, LEDGER_MOST + 1), -EINVAL);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* More than the most is held by nobody, whoever would give it. */
static void test_no_more_than_the_most(void **state_)
{
	struct ledger *a = ledger_of(10, 1), *b = ledger_of(LEDGER_MOST - 9, 1);

	(void)state_;
	assert_int_equal(ledger_grant(a, 0, 10), 0);
	save_test_ledger(a);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + S), LEDGER_INVALID);
	assert_int_equal(ledger_spend(b, 1), 0);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + S), LEDGER_NEWS);
	assert_int_equal(ledger_balance(b), LEDGER_MOST);
	assert_int_equal(ledger_set_share(b, LEDGER_MOST), -EOVERFLOW);
	ledger_destroy(a);
	ledger_destroy(b);
}

static void test_debt(void **state_)
{
	struct ledger *a = ledger_of(100, 1), *b = ledger_of(100, 1);

	(void)state_;
	assert_int_equal(ledger_grant(a, 0, 80), 0);
	assert_int_equal(ledger_promise(a, 20), 0);
	assert_int_equal(ledger_set_share(a, 30), 0);
	assert_int_equal(ledger_balance(a), -50);
	assert_int_equal(ledger_free(a), 0);
	assert_int_equal(ledger_usable(a, BEGIN, NULL), 0);
	assert_int_equal(ledger_promise(a, 1), -EDQUOT);
	assert_int_equal(ledger_view(a, 0).promised, 80); /* not what is not there */
	assert_int_equal(ledger_spend(a, 1), -EDQUOT);
	/* What comes in pays it first. */
	assert_int_equal(ledger_grant(b, 0, 60), 0);
	agree_on_edge(a, 0, b, 0, BEGIN + S);
	assert_int_equal(ledger_balance(a), 10);
	assert_int_equal(ledger_free(a), 10);
	assert_int_equal(ledger_balance(a) + ledger_balance(b), 130);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* The lease ends to the nanosecond, counted from the stamp and not from when it was heard. */
static void test_lease_at_the_promiser(void **state_)
{
	struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);
	struct ledger_statement echo;
	uint64_t until;

	(void)state_;
	assert_int_equal(ledger_usable(a, BEGIN, &until), 100);
	assert_true(until == UINT64_MAX);
	assert_int_equal(ledger_promise(a, 70), 0);
	save_test_ledger(a);
	assert_int_equal(ledger_usable(a, BEGIN, &until), 30); /* nobody has echoed anything */
	assert_true(until == UINT64_MAX);
	tell_other_ledger(a, 0, b, 0, BEGIN + S);
	echo = statement_of_edge(b, 0, BEGIN + S);
	assert_int_equal(ledger_hear(a, 0, BEGIN + 2 * S, &echo), LEDGER_NEWS);
	assert_int_equal(ledger_usable(a, BEGIN + 2 * S, &until), 100);
	assert_true(until == BEGIN + S + LEASE);
	assert_int_equal(ledger_usable(a, until - 1, NULL), 100);
	assert_int_equal(ledger_usable(a, until, NULL), 30);
	/* An echo that comes when the lease that it gives is over. */
	tell_other_ledger(a, 0, b, 0, BEGIN + 3 * S);
	echo = statement_of_edge(b, 0, BEGIN + 3 * S);
	assert_int_equal(ledger_hear(a, 0, BEGIN + 3 * S + LEASE, &echo), LEDGER_HEARD);
	assert_int_equal(ledger_usable(a, BEGIN + 3 * S + LEASE, NULL), 30);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* Where the clock stands, stamps go on and leases do not. */
static void test_clock_that_stands(void **state_)
{
	struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);
	struct ledger_statement s = statement_of_edge(a, 0, BEGIN),
				t = statement_of_edge(a, 0, BEGIN);
	uint64_t until;

	(void)state_;
	assert_true(t.stamp > s.stamp);
	assert_int_equal(ledger_promise(a, 1), 0);
	ledger_hear(b, 0, BEGIN, &t);
	tell_other_ledger(b, 0, a, 0, BEGIN);
	ledger_usable(a, BEGIN, &until);
	assert_true(until == BEGIN + LEASE);
	ledger_destroy(a);
	ledger_destroy(b);
}

static uint64_t patience_of_lease(void)
{
	return (LEASE * (1000000 + DRIFT) + 1000000 - DRIFT - 1) / (1000000 - DRIFT);
}

/* a has promised 70 of its 100 to b; both have heard each other, b at BEGIN + S the last time. */
static void promised_pair(struct ledger **a, struct ledger **b, uint64_t amount)
{
	*a = ledger_of(100, 1);
	*b = ledger_of(0, 1);
	tell_other_ledger(*b, 0, *a, 0, BEGIN);
	assert_int_equal(ledger_promise(*a, amount), 0);
	save_test_ledger(*a);
	tell_other_ledger(*a, 0, *b, 0, BEGIN + S);
}

static void test_inheriting_just_in_time(void **state_)
{
	struct ledger *a, *b;

	(void)state_;
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
	/* It comes back, with 20 that it had granted meanwhile: these are among the 70. */
	assert_int_equal(ledger_grant(a, 0, 20), 0);
	save_test_ledger(a);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + 9 * S), LEDGER_HEARD);
	assert_int_equal(ledger_balance(b), 70);
	assert_int_equal(tell_other_ledger(b, 0, a, 0, BEGIN + 9 * S), LEDGER_NEWS);
	assert_int_equal(ledger_balance(a), 30);
	/* The 20 were granted from what was free: the promise is another 20 higher. */
	assert_int_equal(ledger_view(a, 0).promised, 90);
	/* Given back. */
	assert_int_equal(ledger_grant(b, 0, 50), 0);
	assert_int_equal(ledger_view(b, 0).inherited, 20);
	agree_on_edge(a, 0, b, 0, BEGIN + 10 * S);
	assert_int_equal(ledger_balance(a), 80);
	assert_int_equal(ledger_balance(b), 20);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* Old statements keep nobody alive. */
static void test_repeats_are_no_sign_of_life(void **state_)
{
	struct ledger *a, *b;
	struct ledger_statement s;

	(void)state_;
	promised_pair(&a, &b, 70);
	s = statement_of_edge(a, 0, BEGIN + S + 1);
	ledger_hear(b, 0, BEGIN + S, &s);
	assert_int_equal(ledger_hear(b, 0, BEGIN + 3 * S, &s), LEDGER_OLD);
	assert_int_equal(ledger_inheritable(b, 0, BEGIN + S + patience_of_lease()), 70);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* A promise is gone by if it was made to this start of ours. */
static void test_promise_to_an_earlier_start(void **state_)
{
	struct ledger *a, *b, *again;
	struct ledger_params params = params_of(0, 1);
	uint8_t record[512];
	size_t len;

	(void)state_;
	promised_pair(&a, &b, 70);
	assert_int_equal(ledger_save(b, record, &len), 0);
	params.epoch++;
	assert_int_equal(ledger_restore(&params, record, len, BEGIN, &again), 0);
	tell_other_ledger(a, 0, again, 0, BEGIN + 2 * S);
	assert_int_equal(ledger_inheritable(again, 0, BEGIN + 99 * S), 0);
	tell_other_ledger(again, 0, a, 0, BEGIN + 2 * S);
	tell_other_ledger(a, 0, again, 0, BEGIN + 3 * S);
	assert_int_equal(ledger_inheritable(again, 0, BEGIN + 99 * S), 70);
	ledger_destroy(a);
	ledger_destroy(b);
	ledger_destroy(again);
}

/* Less is promised when the friend has said so, of the right statement; not before. */
static void test_promise_taken_back(void **state_)
{
	struct ledger *a, *b;
	struct ledger_statement old, echo;

	(void)state_;
	promised_pair(&a, &b, 70);
	old = statement_of_edge(b, 0, BEGIN + 2 * S); /* echoes the statement with 70 */
	assert_int_equal(ledger_hear(a, 0, BEGIN + 2 * S, &old), LEDGER_NEWS);
	assert_int_equal(ledger_promise(a, 10), 0);
	assert_int_equal(ledger_free(a), 30);
	save_test_ledger(a);
	echo = statement_of_edge(a, 0, BEGIN + 3 * S); /* with 10, lost */
	old = statement_of_edge(b, 0, BEGIN + 3 * S);
	assert_int_equal(ledger_hear(a, 0, BEGIN + 3 * S, &old), LEDGER_HEARD);
	assert_int_equal(ledger_free(a), 30);
	assert_int_equal(ledger_hear(b, 0, BEGIN + 4 * S, &echo), LEDGER_HEARD);
	assert_int_equal(tell_other_ledger(b, 0, a, 0, BEGIN + 4 * S), LEDGER_NEWS);
	assert_int_equal(ledger_free(a), 90);
	assert_int_equal(ledger_view(a, 0).locked, 10);
	assert_int_equal(ledger_grant(a, 0, 91), -EDQUOT);
	assert_int_equal(ledger_grant(a, 0, 90), 0);
	ledger_destroy(a);
	ledger_destroy(b);
}

static void test_nobody_to_promise(void **state_)
{
	struct ledger_params params = params_of(100, 1);
	struct ledger *a;

	(void)state_;
	params.friend = LEDGER_NOBODY;
	assert_int_equal(ledger_create(&params, BEGIN, &a), 0);
	assert_int_equal(ledger_promise(a, 0), -ENOENT);
	ledger_destroy(a);
}

/* What a restart may go by: all but what neighbours have said. */
/* A record as it lies on disks: who can read it today can read it for good. */
static void test_stored_record(void **state_)
{
	static const uint64_t words[] = {
		UINT64_C(0x576569724c656401), 1, 100, 7, 88, 7, /* "WeirLed" and a version, 1 */
		5, 5, 5, 0, 0, 0,                               /* the edge */
		UINT64_C(0xbd8dd216156d8262),                   /* of all before it */
	};
	struct ledger *l = ledger_of(100, 1), *again;
	struct ledger_params params = params_of(100, 1);
	uint8_t stored[sizeof(words)], record[512];
	size_t len;

	(void)state_;
	for (size_t i = 0; i < sizeof(stored); i++)
		stored[i] = (uint8_t)(words[i / 8] >> (56 - 8 * (i % 8)));
	assert_int_equal(ledger_grant(l, 0, 5), 0);
	assert_int_equal(ledger_spend(l, 7), 0);
	assert_int_equal(ledger_save(l, record, &len), 0);
	assert_int_equal(len, sizeof(stored));
	assert_memory_equal(record, stored, len);
	params.epoch++;
	assert_int_equal(ledger_restore(&params, stored, len, BEGIN, &again), 0);
	assert_int_equal(ledger_balance(again), 88);
	ledger_destroy(again);
	ledger_destroy(l);
}

static void test_record(void **state_)
{
	struct ledger_params params = params_of(1, 1);
	struct ledger *a, *b, *again;
	uint8_t record[512], altered[512];
	size_t len;

	(void)state_;
	promised_pair(&a, &b, 70);
	assert_int_equal(ledger_grant(b, 0, 0), 0);
	ledger_inherit(b, 0, BEGIN + S + patience_of_lease());
	agree_on_edge(a, 0, b, 0, BEGIN + 9 * S);
	assert_int_equal(ledger_grant(a, 0, 5), 0);
	assert_int_equal(ledger_spend(a, 7), 0);
	assert_int_equal(ledger_save(a, record, &len), 0);
	assert_int_equal(len, ledger_record_size(a));
	params.epoch++;
	assert_int_equal(ledger_restore(&params, record, len, 5, &again), 0);
	assert_int_equal(ledger_balance(again), ledger_balance(a));
	assert_int_equal(ledger_spent(again), 7);
	assert_int_equal(ledger_free(again), ledger_free(a));
	assert_int_equal(ledger_view(again, 0).granted, 75);
	assert_int_equal(ledger_view(again, 0).promised, ledger_view(a, 0).promised);
	assert_int_equal(ledger_view(again, 0).locked, ledger_view(a, 0).locked);
	assert_false(ledger_view(again, 0).known);
	assert_int_equal(statement_of_edge(again, 0, BEGIN).granted, 75);
	assert_int_equal(statement_of_edge(again, 0, BEGIN).epoch, 8);
	assert_int_equal(ledger_set_share(again, 101), 0);
	assert_int_equal(ledger_balance(again), ledger_balance(a) + 1);
	ledger_destroy(again);
	for (size_t i = 0; i <= len; i++)
		if (i != len && ledger_restore(&params, record, i, 5, &again) != -EINVAL)
			fail_msg("a record cut to %zu bytes", i);
	for (size_t i = 0; i < 8 * len; i++) {
		memcpy(altered, record, len);
		altered[i / 8] ^= (uint8_t)(1 << i % 8);
		if (ledger_restore(&params, altered, len, 5, &again) != -EINVAL)
			fail_msg("a record with bit %zu altered", i);
	}
	params.n_edges = 2;
	assert_int_equal(ledger_restore(&params, record, len, 5, &again), -EINVAL);
	params = params_of(1, 1);
	params.recovering = true;
	assert_int_equal(ledger_restore(&params, record, len, 5, &again), -EINVAL);
	/* A clock that was set back: still a later epoch than before. */
	params.recovering = false;
	params.epoch = 2;
	assert_int_equal(ledger_restore(&params, record, len, 5, &again), 0);
	assert_int_equal(statement_of_edge(again, 0, BEGIN).epoch, 8);
	assert_true(ledger_uncommitted(again));
	ledger_destroy(again);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* A lost memory is regained from 1 to 4 neighbours, with what was on its way either way. */
static void test_recovering(void **state_)
{
	(void)state_;
	for (uint32_t n = 1; n <= N_EDGES; n++) {
		struct ledger *lost = ledger_of(100, n), *other[N_EDGES];
		struct ledger_statement late[N_EDGES];
		int64_t want = 100;

		for (uint32_t i = 0; i < n; i++) {
			other[i] = ledger_of(50, 1);
			assert_int_equal(ledger_grant(lost, i, 10 + i), 0);
			save_test_ledger(lost);
			tell_other_ledger(lost, i, other[i], 0, BEGIN + S);
			assert_int_equal(ledger_grant(lost, i, 1), 0);
			save_test_ledger(lost);
			late[i] = statement_of_edge(lost, i, BEGIN + 2 * S);
			assert_int_equal(ledger_grant(other[i], 0, 3), 0);
			save_test_ledger(other[i]); /* on its way */
			want += 3 - (10 + (int64_t)i);
		}
		ledger_destroy(lost);
		lost = recovering_of(100, n, 9);
		assert_int_equal(ledger_grant(lost, 0, 0), -EAGAIN);
		assert_int_equal(ledger_spend(lost, 0), -EAGAIN);
		assert_int_equal(ledger_promise(lost, 0), -EAGAIN);
		assert_int_equal(ledger_save(lost, NULL, NULL), -EAGAIN);
		assert_false(ledger_uncommitted(lost));
		for (uint32_t i = 0; i < n; i++) {
			assert_true(ledger_recovering(lost));
			assert_int_equal(ledger_balance(lost), 0);
			assert_int_equal(tell_other_ledger(lost, i, other[i], 0, BEGIN + 3 * S),
				LEDGER_NEWS);
			assert_int_equal(
				tell_other_ledger(lost, i, other[i], 0, BEGIN + 3 * S), LEDGER_OLD);
			/* Only when it is committed. */
			tell_other_ledger(other[i], 0, lost, i, BEGIN + 3 * S);
			assert_true(ledger_recovering(lost));
			save_test_ledger(other[i]);
			assert_int_equal(
				ledger_hear(other[i], 0, BEGIN + 3 * S, &late[i]), LEDGER_OLD);
			tell_other_ledger(other[i], 0, lost, i, BEGIN + 4 * S);
		}
		assert_false(ledger_recovering(lost));
		assert_true(ledger_uncommitted(lost));
		for (uint32_t i = 0; i < n; i++)
			assert_true(ledger_view(lost, i).known);
		assert_int_equal(ledger_balance(lost), want);
		assert_int_equal(statement_of_edge(lost, 0, BEGIN + 5 * S).epoch, 9);
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(
				ledger_hear(other[i], 0, BEGIN + 5 * S, &late[i]), LEDGER_OLD);
			agree_on_edge(lost, i, other[i], 0, BEGIN + 6 * S);
			assert_int_equal(ledger_view(lost, i).in_flight, 0);
			assert_int_equal(ledger_balance(other[i]), 50 - 3 + 10 + i);
			ledger_destroy(other[i]);
		}
		ledger_destroy(lost);
	}
}

static void test_recovering_without_neighbours(void **state_)
{
	struct ledger *l = recovering_of(42, 0, 3);

	(void)state_;
	assert_false(ledger_recovering(l));
	assert_int_equal(ledger_balance(l), 42);
	ledger_destroy(l);
}

/*
 * Neighbours that all begin recovering, as those that never know whether there was an earlier
 * start.
 */
static void test_all_recovering(void **state_)
{
	struct ledger *a = recovering_of(100, 1, 3), *b = recovering_of(50, 1, 9);

	(void)state_;
	agree_on_edge(a, 0, b, 0, BEGIN + S);
	assert_false(ledger_recovering(a));
	assert_false(ledger_recovering(b));
	assert_int_equal(ledger_balance(a), 100);
	assert_int_equal(ledger_balance(b), 50);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* Its clock was set back: it asks louder until it is heard. */
static void test_recovering_with_an_early_epoch(void **state_)
{
	struct ledger *a = ledger_of(100, 1), *b = ledger_of(50, 1);

	(void)state_;
	assert_int_equal(ledger_grant(b, 0, 10), 0);
	agree_on_edge(a, 0, b, 0, BEGIN + S);
	ledger_destroy(b);
	b = recovering_of(50, 1, 2);
	assert_int_equal(tell_other_ledger(b, 0, a, 0, BEGIN + 2 * S), LEDGER_OLD);
	tell_other_ledger(a, 0, b, 0, BEGIN + 2 * S);
	agree_on_edge(a, 0, b, 0, BEGIN + 3 * S);
	assert_false(ledger_recovering(b));
	assert_int_equal(ledger_balance(b), 40);
	assert_true(statement_of_edge(b, 0, BEGIN + 4 * S).epoch > 7);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* A friend that forgets may have inherited and passed on: it is granted what it was promised. */
static void test_recovering_friend(void **state_)
{
	struct ledger *a, *b;

	(void)state_;
	promised_pair(&a, &b, 70);
	ledger_destroy(b);
	b = recovering_of(0, 1, 9);
	agree_on_edge(b, 0, a, 0, BEGIN + 2 * S);
	assert_int_equal(ledger_balance(a), 30);
	assert_int_equal(ledger_balance(b), 70);
	assert_int_equal(ledger_view(a, 0).locked, 70);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* A neighbour that has forgotten all is one that has spoken, in its first word. */
static void test_known_by_asking(void **state_)
{
	struct ledger *a = ledger_of(100, 1), *b = recovering_of(0, 1, 9);

	(void)state_;
	assert_false(ledger_view(a, 0).known);
	assert_int_equal(tell_other_ledger(b, 0, a, 0, BEGIN + S), LEDGER_NEWS);
	assert_true(ledger_view(a, 0).known);
	assert_int_equal(ledger_view(a, 0).heard_ns, BEGIN + S);
	ledger_destroy(a);
	ledger_destroy(b);
}

/*
 * A friend that forgets is granted the most that it may go by, though less is promised by now, on
 * top of what it had. What is promised to it next is not used before it has said that it hears.
 */
static void test_forgetful_friend(void **state_)
{
	struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);
	uint64_t until;

	(void)state_;
	tell_other_ledger(b, 0, a, 0, BEGIN);
	assert_int_equal(ledger_grant(a, 0, 20), 0);
	assert_int_equal(ledger_promise(a, 50), 0);
	assert_int_equal(ledger_free(a), 30);
	save_test_ledger(a);
	tell_other_ledger(a, 0, b, 0, BEGIN + S);
	tell_other_ledger(b, 0, a, 0, BEGIN + S);
	assert_int_equal(ledger_promise(a, 10), 0);
	save_test_ledger(a);
	assert_int_equal(ledger_usable(a, BEGIN + 2 * S, NULL), 80);
	ledger_destroy(b);
	b = recovering_of(0, 1, 9);
	assert_int_equal(tell_other_ledger(b, 0, a, 0, BEGIN + 2 * S), LEDGER_NEWS);
	assert_int_equal(ledger_view(a, 0).granted, 70);
	assert_int_equal(ledger_view(a, 0).promised, 70);
	assert_int_equal(ledger_balance(a), 30);
	assert_int_equal(ledger_free(a), 30);
	assert_int_equal(ledger_promise(a, 30), 0);
	save_test_ledger(a);
	assert_int_equal(ledger_usable(a, BEGIN + 2 * S, &until), 0);
	assert_true(until == UINT64_MAX);
	agree_on_edge(a, 0, b, 0, BEGIN + 2 * S);
	assert_int_equal(ledger_balance(b), 70);
	assert_int_equal(ledger_usable(a, BEGIN + 3 * S, NULL), 30);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* One that was inherited from and has forgotten all knows of it again, and cannot take it back. */
static void test_forgetful_promiser(void **state_)
{
	struct ledger *a = ledger_of(40, 1), *b = ledger_of(0, 1);
	uint64_t late = BEGIN + S + patience_of_lease();
	struct ledger_statement said;

	(void)state_;
	tell_other_ledger(b, 0, a, 0, BEGIN);
	assert_int_equal(ledger_promise(a, 30), 0);
	save_test_ledger(a);
	tell_other_ledger(a, 0, b, 0, BEGIN + S);
	assert_int_equal(ledger_inherit(b, 0, late), 30);
	assert_int_equal(ledger_view(b, 0).inherited, 30);
	ledger_destroy(a);
	a = recovering_of(40, 1, 9);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, late), LEDGER_NEWS);
	assert_int_equal(ledger_view(b, 0).inherited, 0);
	assert_int_equal(ledger_view(b, 0).received, 30);
	agree_on_edge(b, 0, a, 0, late + S);
	assert_int_equal(ledger_balance(a), 10);
	assert_int_equal(ledger_balance(b), 30);
	said = statement_of_edge(a, 0, late + 2 * S);
	assert_int_equal(said.granted, 30);
	said.granted--;
	assert_int_equal(ledger_hear(b, 0, late + 2 * S, &said), LEDGER_INVALID);
	ledger_destroy(a);
	ledger_destroy(b);
	/* Before it has been told so it cannot say less either. */
	b = ledger_of(0, 1);
	a = ledger_of(40, 1);
	tell_other_ledger(b, 0, a, 0, BEGIN);
	assert_int_equal(ledger_promise(a, 30), 0);
	save_test_ledger(a);
	tell_other_ledger(a, 0, b, 0, BEGIN + S);
	assert_int_equal(ledger_inherit(b, 0, late), 30);
	ledger_destroy(a);
	a = recovering_of(40, 1, 9);
	tell_other_ledger(a, 0, b, 0, late);
	said = (struct ledger_statement){
		.epoch = 9, .stamp = late + S, .granted = 29, .promised = 30};
	assert_int_equal(ledger_hear(b, 0, late + S, &said), LEDGER_INVALID);
	said.granted = 30;
	assert_int_equal(ledger_hear(b, 0, late + S, &said), LEDGER_HEARD);
	ledger_destroy(a);
	ledger_destroy(b);
}

/*
 * A statement that does not echo our present epoch, or a recovering one, leaves no promise to go
 * by.
 */
static void test_promise_is_void(void **state_)
{
	struct ledger_statement later = {
		.epoch = 7, .stamp = BEGIN + 2 * S, .promised = 70, .echo_epoch = 6};
	struct ledger *a, *b;

	(void)state_;
	promised_pair(&a, &b, 70);
	assert_int_equal(ledger_hear(b, 0, BEGIN + 2 * S, &later), LEDGER_HEARD);
	assert_int_equal(ledger_inheritable(b, 0, BEGIN + 99 * S), 0);
	ledger_destroy(a);
	ledger_destroy(b);
	promised_pair(&a, &b, 70);
	ledger_destroy(a);
	a = recovering_of(100, 1, 9);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + 2 * S), LEDGER_NEWS);
	assert_int_equal(ledger_inheritable(b, 0, BEGIN + 99 * S), 0);
	ledger_destroy(a);
	ledger_destroy(b);
}

static struct ledger *restarted_ledger(struct ledger *l, uint64_t epoch)
{
	struct ledger_params params = params_of(0, 1);
	struct ledger *again;
	uint8_t record[512];
	size_t len;

	params.epoch = epoch;
	assert_int_equal(ledger_save(l, record, &len), 0);
	assert_int_equal(ledger_restore(&params, record, len, BEGIN, &again), 0);
	ledger_destroy(l);
	return again;
}

/* Neither a lease nor a lock goes by what was echoed of an earlier start. */
static void test_promiser_restarts(void **state_)
{
	struct ledger_statement echo;
	struct ledger *a, *b;

	(void)state_;
	promised_pair(&a, &b, 70);
	assert_int_equal(ledger_promise(a, 10), 0);
	a = restarted_ledger(a, 8);
	assert_int_equal(ledger_free(a), 30);
	statement_of_edge(a, 0, BEGIN);
	echo = statement_of_edge(b, 0, BEGIN + 2 * S);
	echo.echo_stamp = BEGIN;
	assert_int_equal(ledger_hear(a, 0, BEGIN + 2 * S, &echo), LEDGER_HEARD);
	assert_int_equal(ledger_free(a), 30);
	assert_int_equal(ledger_usable(a, BEGIN, NULL), 30);
	agree_on_edge(a, 0, b, 0, BEGIN + 3 * S);
	assert_int_equal(ledger_free(a), 90);
	assert_int_equal(ledger_usable(a, BEGIN + 3 * S, NULL), 100);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* Both lose their memory; what the one had said before is refused, also after a restart. */
static void test_refused_for_good(void **state_)
{
	struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);
	struct ledger_statement late;

	(void)state_;
	assert_int_equal(ledger_grant(a, 0, 50), 0);
	save_test_ledger(a);
	late = statement_of_edge(a, 0, BEGIN + S);
	ledger_destroy(a);
	a = recovering_of(100, 1, 9);
	agree_on_edge(a, 0, b, 0, BEGIN + 2 * S);
	ledger_destroy(b);
	b = recovering_of(0, 1, 20);
	agree_on_edge(b, 0, a, 0, BEGIN + 3 * S);
	assert_false(ledger_recovering(b));
	b = restarted_ledger(b, 30);
	assert_int_equal(ledger_hear(b, 0, BEGIN + 4 * S, &late), LEDGER_OLD);
	assert_int_equal(ledger_balance(a) + ledger_balance(b), 100);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* An answer to another start of ours closes nothing. */
static void test_answer_to_another_start(void **state_)
{
	struct ledger_statement answer = {
		.epoch = 7, .stamp = 1, .echo_stamp = 8, .least_epoch = 8};
	struct ledger *b = recovering_of(50, 1, 9);

	(void)state_;
	ledger_hear(b, 0, BEGIN, &answer);
	assert_true(ledger_recovering(b));
	answer.echo_stamp = answer.least_epoch = 9;
	assert_int_equal(ledger_hear(b, 0, BEGIN, &answer), LEDGER_NEWS);
	assert_false(ledger_recovering(b));
	ledger_destroy(b);
}

/* A neighbour that expects a larger epoch of one that runs, and gets it with the next record. */
static void test_epoch_that_others_expect(void **state_)
{
	struct ledger *a = ledger_of(100, 1);
	struct ledger_statement s = {.epoch = 1, .stamp = 1, .least_epoch = 8};

	(void)state_;
	save_test_ledger(a);
	ledger_hear(a, 0, BEGIN, &s);
	assert_true(ledger_uncommitted(a));
	assert_int_equal(statement_of_edge(a, 0, BEGIN).epoch, 7);
	save_test_ledger(a);
	assert_int_equal(statement_of_edge(a, 0, BEGIN).epoch, 8);
	s = (struct ledger_statement){.epoch = 1, .stamp = 2, .echo_epoch = 8};
	ledger_hear(a, 0, BEGIN, &s);
	assert_false(ledger_uncommitted(a));
	s = (struct ledger_statement){.epoch = 1, .stamp = 3, .echo_epoch = 9};
	ledger_hear(a, 0, BEGIN, &s);
	save_test_ledger(a);
	assert_int_equal(statement_of_edge(a, 0, BEGIN).epoch, 10);
	ledger_destroy(a);
}

static void test_statement_bytes(void **state_)
{
	const struct ledger_statement s = {0x0102030405060708, 2, 3, 4, 5, 6, 7, 8};
	static const struct {
		struct ledger_statement s;
		int ret;
	} cases[] = {
		{{.epoch = 1}, 0},
		{{.epoch = LEDGER_MOST, .stamp = UINT64_MAX, .echo_stamp = UINT64_MAX}, 0},
		{{.epoch = LEDGER_MOST + 1}, -EBADMSG},
		{{.epoch = 0, .stamp = 0}, -EBADMSG},
		{{.epoch = 0, .stamp = 1}, 0},
		{{.epoch = 0, .stamp = LEDGER_MOST}, 0},
		{{.epoch = 0, .stamp = LEDGER_MOST + 1}, -EBADMSG},
		{{.epoch = 1, .granted = 1, .promised = 1}, 0},
		{{.epoch = 1, .granted = 1}, -EBADMSG},
		{{.epoch = 1, .promised = LEDGER_MOST}, 0},
		{{.epoch = 1, .promised = LEDGER_MOST + 1}, -EBADMSG},
		{{.epoch = 1, .received = LEDGER_MOST}, 0},
		{{.epoch = 1, .received = LEDGER_MOST + 1}, -EBADMSG},
		{{.epoch = 1, .echo_epoch = LEDGER_MOST}, 0},
		{{.epoch = 1, .echo_epoch = LEDGER_MOST + 1}, -EBADMSG},
		{{.epoch = 1, .least_epoch = LEDGER_MOST}, 0},
		{{.epoch = 1, .least_epoch = LEDGER_MOST + 1}, -EBADMSG},
	};
	uint8_t buf[LEDGER_STATEMENT_BYTES + 1];
	struct ledger_statement got;

	(void)state_;
	ledger_statement_write(&s, buf);
	for (uint8_t i = 0; i < 8; i++) {
		assert_int_equal(buf[i], i + 1);
		assert_int_equal(buf[8 * i + 7], i ? i + 1 : 8);
	}
	assert_int_equal(ledger_statement_read(&got, buf, LEDGER_STATEMENT_BYTES), 0);
	assert_memory_equal(&got, &s, sizeof(s));
	assert_int_equal(ledger_statement_read(&got, buf, LEDGER_STATEMENT_BYTES - 1), -EBADMSG);
	assert_int_equal(ledger_statement_read(&got, buf, LEDGER_STATEMENT_BYTES + 1), -EBADMSG);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ledger_statement_write(&cases[i].s, buf);
		if (ledger_statement_read(&got, buf, LEDGER_STATEMENT_BYTES) != cases[i].ret)
			fail_msg("case %zu", i);
	}
}

/* The sum is right, and something else is not: what could not have been written is not read. */
static void test_record_makes_sense(void **state_)
{
	enum { VERSION, EDGES, SHARE, SPENT, BALANCE, EPOCH };
	enum { GRANTED = 6, PROMISED, LOCKED, RECEIVED, INHERITED, LEAST, SUM };
	static const uint64_t usual[] = {
		UINT64_C(0x576569724c656401), 1, 100, 7, 88, 7, 5, 5, 5, 0, 0, 0};
	static const struct {
		const char *name;
		bool good;
		struct {
			unsigned at; /* 0: none */
			uint64_t value;
		} other[4];
	} rows[] = {
		{"as it is", true, {{0, 0}}},
		{"of two edges", false, {{EDGES, 2}}},
		{"of none", false, {{EDGES, 0}}},
		{"the largest share", true, {{SHARE, LEDGER_MOST}, {BALANCE, LEDGER_MOST - 12}}},
		{"a larger one", false, {{SHARE, LEDGER_MOST + 1}, {BALANCE, LEDGER_MOST - 11}}},
		{"all spent", true, {{SPENT, LEDGER_MOST}, {BALANCE, 95 - LEDGER_MOST}}},
		{"more than all", false, {{SPENT, LEDGER_MOST + 1}, {BALANCE, 94 - LEDGER_MOST}}},
		{"one too many held", false, {{BALANCE, 89}}},
		{"one too few", false, {{BALANCE, 87}}},
		{"the last epoch but one", true, {{EPOCH, LEDGER_MOST - 1}}},
		{"the last one", false, {{EPOCH, LEDGER_MOST}}},
		{"less promised than granted", false, {{PROMISED, 4}}},
		{"more", true, {{PROMISED, 6}, {LOCKED, 6}}},
		{"more than ever", false, {{PROMISED, 6}}},
		{"more once", true, {{LOCKED, 6}}},
		{"the most once", true, {{LOCKED, LEDGER_MOST}}},
		{"and more", false, {{LOCKED, LEDGER_MOST + 1}}},
		{"the most that is held", true,
			{{SPENT, 100}, {RECEIVED, LEDGER_MOST}, {GRANTED, 0},
				{BALANCE, LEDGER_MOST}}},
		{"one more than that", false,
			{{SPENT, 99}, {RECEIVED, LEDGER_MOST}, {GRANTED, 0},
				{BALANCE, LEDGER_MOST + 1}}},
		{"more than the most received", false,
			{{SPENT, 101}, {RECEIVED, LEDGER_MOST + 1}, {GRANTED, 0},
				{BALANCE, LEDGER_MOST}}},
		{"inherited", true, {{RECEIVED, 3}, {INHERITED, 3}, {BALANCE, 91}}},
		{"more than received", false, {{RECEIVED, 3}, {INHERITED, 4}, {BALANCE, 91}}},
		{"the last epoch of a neighbour", true, {{LEAST, LEDGER_MOST}}},
		{"one after that", false, {{LEAST, LEDGER_MOST + 1}}},
	};

	(void)state_;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ledger_params params = params_of(100, 1);
		uint64_t words[SUM + 1], sum = HASH64_BASIS;
		uint8_t record[sizeof(words)];
		struct ledger *l = NULL;
		int ret;

		memcpy(words, usual, sizeof(usual));
		for (unsigned k = 0; k < 4; k++)
			if (rows[i].other[k].at)
				words[rows[i].other[k].at] = rows[i].other[k].value;
		for (size_t k = 0; k < SUM * 8; k++) {
			record[k] = (uint8_t)(words[k / 8] >> (56 - 8 * (k % 8)));
			sum = hash64_step(sum, record[k]);
		}
		for (size_t k = 0; k < 8; k++)
			record[SUM * 8 + k] = (uint8_t)(sum >> (56 - 8 * k));
		ret = ledger_restore(&params, record, sizeof(record), BEGIN, &l);
		if (ret != (rows[i].good ? 0 : -EINVAL))
			fail_msg("%s: %d", rows[i].name, ret);
		if (ret == 0)
			assert_true(ledger_balance(l) == (int64_t)words[BALANCE]);
		ledger_destroy(l);
	}
}

/* What was told once may have arrived, echoed or not: it is free when less has been echoed. */
static void test_promise_told_once(void **state_)
{
	struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);

	(void)state_;
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
	ledger_destroy(a);
	ledger_destroy(b);
}

/* A friend takes what is promised beyond what was granted, and the one who promised books that. */
static void test_inherited_beyond_grants(void **state_)
{
	struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);
	uint64_t late = BEGIN + S + patience_of_lease();

	(void)state_;
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
	assert_int_equal(ledger_grant(b, 0, 20), 0); /* that is given back first */
	assert_int_equal(ledger_view(b, 0).inherited, 30);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* No more is taken than can be held; of what was received before only the rest counts. */
static void test_room_for_more(void **state_)
{
	struct ledger *a = ledger_of(200, 1), *b = ledger_of(LEDGER_MOST - 40, 1);

	(void)state_;
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
	ledger_destroy(a);
	ledger_destroy(b);
}

/* What one that is recovering under epoch 9 makes of a neighbour's word. */
static void test_recovering_hears(void **state_)
{
	static const struct ledger_statement answer = {.epoch = 1,
		.stamp = 1000,
		.granted = 30,
		.promised = 40,
		.received = 20,
		.echo_stamp = 9,
		.least_epoch = 9};
	static const struct {
		const char *name;
		uint64_t echo_epoch, echo_stamp, least_epoch;
		bool closes;    /* the edge */
		uint64_t epoch; /* that it goes on under */
	} rows[] = {
		{"an answer", 0, 9, 9, true, 9},
		{"not committed yet", 0, 9, 0, false, 9},
		{"nothing heard of us", 0, 0, 0, false, 9},
		{"an answer to another start", 0, 8, 9, false, 9},
		{"an answer to an earlier start", 0, 8, 8, false, 9},
		{"an earlier epoch", 8, BEGIN, 0, false, 9},
		{"an earlier epoch that is the least", 8, BEGIN, 8, false, 9},
		{"our epoch ran already", 9, BEGIN, 0, false, 10},
		{"a later one ran", 12, BEGIN, 0, false, 13},
		{"a later one is the least", 0, 9, 10, false, 11},
		{"ours is the least, and an earlier one ran", 3, BEGIN, 9, false, 10},
		{"a later start asked", 0, 10, 0, false, 11},
		{"the last but one", 0, 0, LEDGER_MOST - 1, false, LEDGER_MOST},
		{"the last one", 0, 0, LEDGER_MOST, false, 9},
	};

	(void)state_;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ledger *lost = recovering_of(100, 2, 9);
		struct ledger_statement s = answer;
		enum ledger_verdict verdict;

		s.echo_epoch = rows[i].echo_epoch, s.echo_stamp = rows[i].echo_stamp;
		s.least_epoch = rows[i].least_epoch;
		verdict = ledger_hear(lost, 0, BEGIN + S, &s);
		if (verdict != (rows[i].epoch != 9 ? LEDGER_NEWS : LEDGER_HEARD))
			fail_msg("%s: %d", rows[i].name, verdict);
		if (ledger_view(lost, 0).received != (rows[i].closes ? 30 : 0))
			fail_msg("%s: received", rows[i].name);
		if (statement_of_edge(lost, 1, BEGIN + S).stamp != rows[i].epoch)
			fail_msg("%s: under another epoch", rows[i].name);
		assert_int_equal(ledger_view(lost, 0).known, rows[i].closes);
		assert_int_equal(ledger_view(lost, 0).heard_ns, rows[i].closes ? BEGIN + S : BEGIN);
		assert_int_equal(ledger_view(lost, 0).in_flight, 0);
		assert_true(ledger_recovering(lost));
		ledger_destroy(lost);
	}
}

/* An edge that was closed under one epoch is closed again under a larger one; then all begins. */
static void test_recovering_louder(void **state_)
{
	(void)state_;
	for (uint32_t first = 0; first < 2; first++) {
		struct ledger_statement s = {.epoch = 5,
			.stamp = 1000,
			.granted = 30,
			.promised = 40,
			.received = 20,
			.echo_stamp = 9,
			.least_epoch = 9};
		struct ledger *lost = recovering_of(100, 2, 9);

		assert_int_equal(ledger_hear(lost, first, BEGIN, &s), LEDGER_HEARD);
		assert_int_equal(ledger_hear(lost, first, BEGIN, &s), LEDGER_OLD);
		s.stamp--;
		assert_int_equal(ledger_hear(lost, first, BEGIN, &s), LEDGER_OLD);
		s.epoch--, s.stamp = 2000;
		assert_int_equal(ledger_hear(lost, first, BEGIN, &s), LEDGER_OLD);
		s.epoch++, s.granted = 35;
		assert_int_equal(ledger_hear(lost, first, BEGIN + S, &s), LEDGER_HEARD);
		assert_int_equal(ledger_view(lost, first).received, 35);
		assert_int_equal(ledger_view(lost, first).heard_ns, BEGIN + S);
		s.epoch++, s.stamp = 1, s.granted = 36;
		assert_int_equal(ledger_hear(lost, first, BEGIN + S, &s), LEDGER_HEARD);
		assert_int_equal(ledger_view(lost, first).received, 36);
		s.echo_epoch = 9;
		assert_int_equal(ledger_hear(lost, !first, BEGIN, &s), LEDGER_NEWS);
		s.echo_epoch = 0, s.echo_stamp = s.least_epoch = 10, s.stamp = 3000;
		assert_int_equal(ledger_hear(lost, !first, BEGIN, &s), LEDGER_HEARD);
		assert_true(ledger_recovering(lost));
		assert_int_equal(ledger_hear(lost, first, BEGIN, &s), LEDGER_NEWS);
		assert_false(ledger_recovering(lost));
		assert_int_equal(ledger_balance(lost), 100 + 2 * (36 - 20));
		save_test_ledger(lost);
		s.stamp++, s.granted--;
		for (uint32_t i = 0; i < 2; i++) {
			assert_int_equal(statement_of_edge(lost, i, BEGIN).epoch, 10);
			assert_int_equal(ledger_inheritable(lost, i, BEGIN + 99 * S), 0);
			assert_int_equal(ledger_hear(lost, i, BEGIN, &s), LEDGER_INVALID);
		}
		ledger_destroy(lost);
	}
}

/* Its balance is what it follows to be, where that can be held; else it does not begin. */
static void test_recovering_most(void **state_)
{
	struct ledger_statement s = {.epoch = 5, .stamp = 1000, .echo_stamp = 9, .least_epoch = 9};
	struct ledger *l;

	(void)state_;
	s.granted = s.promised = 10;
	for (unsigned more = 0; more <= 1; more++) {
		l = recovering_of(LEDGER_MOST - 10 + more, 1, 9);
		assert_int_equal(ledger_hear(l, 0, BEGIN, &s), more ? LEDGER_HEARD : LEDGER_NEWS);
		assert_int_equal(ledger_recovering(l), more);
		assert_int_equal(ledger_balance(l), more ? 0 : LEDGER_MOST);
		ledger_destroy(l);
	}
	s.granted = s.promised = 0;
	s.received = LEDGER_MOST;
	l = recovering_of(0, 1, 9);
	assert_int_equal(ledger_hear(l, 0, BEGIN, &s), LEDGER_NEWS);
	assert_true(ledger_balance(l) == -(int64_t)LEDGER_MOST);
	ledger_destroy(l);
	l = recovering_of(0, 2, 9);
	assert_int_equal(ledger_hear(l, 0, BEGIN, &s), LEDGER_HEARD);
	s.received = 1;
	assert_int_equal(ledger_hear(l, 1, BEGIN, &s), LEDGER_HEARD);
	assert_true(ledger_recovering(l));
	ledger_destroy(l);
}

/* One that answered, and starts again from its record, answers alike and gives nothing twice. */
static void test_asked_again_after_a_start(void **state_)
{
	struct ledger_params params = params_of(100, 1);
	struct ledger *a, *b, *again;
	struct ledger_statement ask, earlier;
	uint8_t record[512];
	size_t len;

	(void)state_;
	promised_pair(&a, &b, 70);
	ledger_destroy(b);
	b = recovering_of(0, 1, 9);
	ask = earlier = statement_of_edge(b, 0, BEGIN + 2 * S);
	earlier.stamp--;
	assert_false(ledger_uncommitted(a));
	assert_int_equal(ledger_hear(a, 0, BEGIN + 2 * S, &ask), LEDGER_NEWS);
	assert_true(ledger_uncommitted(a));
	assert_int_equal(ledger_save(a, record, &len), 0);
	params.epoch = 7;
	assert_int_equal(ledger_restore(&params, record, len, BEGIN, &again), 0);
	assert_true(ledger_uncommitted(again)); /* that its epoch is another */
	ledger_destroy(again);
	params.epoch = 8;
	assert_int_equal(ledger_restore(&params, record, len, BEGIN, &again), 0);
	assert_false(ledger_uncommitted(again));
	assert_int_equal(ledger_hear(again, 0, BEGIN + 3 * S, &earlier), LEDGER_OLD);
	assert_int_equal(ledger_hear(again, 0, BEGIN + 3 * S, &ask), LEDGER_HEARD);
	assert_false(ledger_uncommitted(again));
	assert_int_equal(ledger_balance(again), 30);
	assert_int_equal(tell_other_ledger(again, 0, b, 0, BEGIN + 4 * S), LEDGER_NEWS);
	assert_int_equal(ledger_balance(b), 70);
	ledger_destroy(a);
	ledger_destroy(b);
	ledger_destroy(again);
}

/* Under another epoch no lease counts that was given under the one before. */
static void test_lease_of_another_epoch(void **state_)
{
	struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);
	struct ledger_statement s;
	uint64_t until;

	(void)state_;
	assert_int_equal(ledger_promise(a, 70), 0);
	save_test_ledger(a);
	tell_other_ledger(a, 0, b, 0, BEGIN + S);
	tell_other_ledger(b, 0, a, 0, BEGIN + S);
	assert_int_equal(ledger_usable(a, BEGIN + S, NULL), 100);
	s = statement_of_edge(b, 0, BEGIN + 2 * S);
	s.least_epoch = 12;
	ledger_hear(a, 0, BEGIN + 2 * S, &s);
	assert_int_equal(ledger_usable(a, BEGIN + 2 * S, NULL), 100);
	assert_int_equal(ledger_save(a, NULL, NULL), 0);
	ledger_save_failed(a);
	assert_int_equal(ledger_save(a, NULL, NULL), 0); /* it is over */
	ledger_committed(a);
	assert_int_equal(ledger_usable(a, BEGIN + 2 * S, &until), 30);
	assert_true(until == UINT64_MAX);
	tell_other_ledger(a, 0, b, 0, BEGIN + 3 * S);
	tell_other_ledger(b, 0, a, 0, BEGIN + 3 * S);
	assert_int_equal(ledger_usable(a, BEGIN + 3 * S, &until), 100);
	assert_true(until == BEGIN + 3 * S + LEASE);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* What was to be saved, and was not, has been promised to nobody. */
static void test_save_that_failed(void **state_)
{
	(void)state_;
	for (uint32_t friend = 0; friend < 2; friend ++) {
		struct ledger_params params = params_of(100, 2);
		struct ledger *a;

		params.friend = friend;
		assert_int_equal(ledger_create(&params, BEGIN, &a), 0);
		assert_int_equal(ledger_promise(a, 70), 0);
		assert_int_equal(ledger_save(a, NULL, NULL), 0);
		assert_int_equal(ledger_promise(a, 10), 0);
		assert_int_equal(ledger_free(a), 30);
		ledger_save_failed(a);
		assert_int_equal(ledger_free(a), 90);
		assert_int_equal(statement_of_edge(a, friend, BEGIN).promised, 0);
		save_test_ledger(a);
		assert_int_equal(statement_of_edge(a, friend, BEGIN).promised, 10);
		assert_int_equal(ledger_free(a), 90);
		ledger_destroy(a);
	}
}

/* What is on its way, and whose word has come after which start. */
static void test_in_flight_and_echoed(void **state_)
{
	struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);
	struct ledger_statement s;

	(void)state_;
	s = statement_of_edge(b, 0, BEGIN);
	assert_false(ledger_is_echoed(a, &s));
	assert_int_equal(ledger_grant(a, 0, 10), 0);
	agree_on_edge(a, 0, b, 0, BEGIN + S);
	s = statement_of_edge(b, 0, BEGIN + S);
	assert_true(ledger_is_echoed(a, &s));
	assert_int_equal(ledger_view(a, 0).in_flight, 0);
	assert_int_equal(ledger_grant(a, 0, 5), 0);
	assert_int_equal(ledger_view(a, 0).in_flight, 5);
	save_test_ledger(a);
	tell_other_ledger(a, 0, b, 0, BEGIN + 2 * S);
	assert_int_equal(ledger_view(a, 0).in_flight, 5);
	tell_other_ledger(b, 0, a, 0, BEGIN + 2 * S);
	assert_int_equal(ledger_view(a, 0).in_flight, 0);
	assert_int_equal(ledger_view(b, 0).in_flight, 0);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* The last unit is there as any other, and whatever changes is to be saved. */
static void test_single_units(void **state_)
{
	struct ledger *a = ledger_of(3, 1);

	(void)state_;
	assert_true(ledger_uncommitted(a)); /* that there is one */
	save_test_ledger(a);
	assert_int_equal(ledger_spend(a, 0), 0);
	assert_int_equal(ledger_refund(a, 0), 0);
	assert_int_equal(ledger_grant(a, 0, 0), 0);
	assert_int_equal(ledger_promise(a, 0), 0);
	assert_int_equal(ledger_set_share(a, 3), 0);
	assert_false(ledger_uncommitted(a));
	assert_int_equal(ledger_spend(a, 1), 0);
	assert_true(ledger_uncommitted(a));
	save_test_ledger(a);
	assert_int_equal(ledger_refund(a, 1), 0);
	assert_true(ledger_uncommitted(a));
	save_test_ledger(a);
	assert_int_equal(ledger_set_share(a, 2), 0);
	assert_true(ledger_uncommitted(a));
	assert_int_equal(ledger_share(a), 2);
	save_test_ledger(a);
	assert_int_equal(ledger_grant(a, 0, 1), 0);
	assert_true(ledger_uncommitted(a));
	save_test_ledger(a);
	assert_int_equal(ledger_free(a), 1);
	assert_int_equal(ledger_promise(a, 1), 0);
	assert_true(ledger_uncommitted(a));
	save_test_ledger(a);
	assert_int_equal(ledger_promise(a, 1), 0);
	assert_false(ledger_uncommitted(a));
	assert_int_equal(ledger_free(a), 0);
	ledger_destroy(a);
	a = ledger_of(LEDGER_MOST, 1);
	assert_int_equal(ledger_promise(a, LEDGER_MOST), 0);
	assert_int_equal(ledger_free(a), 0);
	ledger_destroy(a);
	a = recovering_of(3, 1, 9);
	assert_int_equal(ledger_refund(a, 0), -EAGAIN);
	ledger_destroy(a);
}

/* Units that come in over an edge, for one that has spent as many as it can count. */
static void test_spent_counter_ends(void **state_)
{
	struct ledger *a = ledger_of(LEDGER_MOST, 1), *b = ledger_of(10, 1);

	(void)state_;
	assert_int_equal(ledger_spend(a, LEDGER_MOST), 0);
	assert_int_equal(ledger_grant(b, 0, 10), 0);
	agree_on_edge(a, 0, b, 0, BEGIN + S);
	assert_int_equal(ledger_free(a), 10);
	assert_int_equal(ledger_spend(a, 1), -EOVERFLOW);
	assert_int_equal(ledger_refund(a, LEDGER_MOST - 9), -EOVERFLOW);
	assert_int_equal(ledger_refund(a, LEDGER_MOST - 10), 0);
	assert_int_equal(ledger_balance(a), LEDGER_MOST);
	assert_int_equal(ledger_spent(a), 10);
	assert_int_equal(ledger_refund(a, 1), -EOVERFLOW);
	assert_int_equal(ledger_spend(a, LEDGER_MOST - 10), 0);
	assert_int_equal(ledger_spend(a, 1), -EOVERFLOW);
	assert_int_equal(ledger_free(a), 10);
	ledger_destroy(a);
	ledger_destroy(b);
}

/* It ends, and starts again from its record, with another best friend. */
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
 * Earlier best friends may still go by what each was promised: it is not free, the next is promised
 * of the rest alone, and when the share falls all together are promised no more than there is.
 */
static void test_other_friends(void **state_)
{
	struct ledger *a = ledger_of(100, 3);
	uint64_t before[3], sum = 0;

	(void)state_;
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
	ledger_destroy(a);
}

/* What is used falls with the lease of an edge that something is promised over; not of another. */
static void test_first_lease_that_ends(void **state_)
{
	struct ledger *a = ledger_of(100, 2), *b[2] = {ledger_of(0, 1), ledger_of(0, 1)};
	uint64_t until;

	(void)state_;
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

/* How long a friend waits, rounded up to the nanosecond: on a fast clock, for a slow one. */
static void test_patience(void **state_)
{
	static const struct {
		uint64_t lease;
		uint32_t drift;
		uint64_t wait;
	} rows[] = {
		{1000, 0, 1000},
		{999999, 1, 1000001}, /* even */
		{500000, 1, 500002},  /* 500001 and 1/999999 */
		{499999, 1, 500000},  /* 499999.999999 */
		{10, 500000, 30},
		{1, 999999, 1999999},
		{0, 999999, 0},
	};

	(void)state_;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_params_at_their_limits),
		cmocka_unit_test(test_grant_just_what_is_free),
		cmocka_unit_test(test_spend),
		cmocka_unit_test(test_refund),
		cmocka_unit_test(test_commit_order),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_counters_end),
		cmocka_unit_test(test_no_more_than_the_most),
		cmocka_unit_test(test_debt),
		cmocka_unit_test(test_lease_at_the_promiser),
		cmocka_unit_test(test_clock_that_stands),
		cmocka_unit_test(test_inheriting_just_in_time),
		cmocka_unit_test(test_repeats_are_no_sign_of_life),
		cmocka_unit_test(test_promise_to_an_earlier_start),
		cmocka_unit_test(test_promise_taken_back),
		cmocka_unit_test(test_nobody_to_promise),
		cmocka_unit_test(test_stored_record),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_record_makes_sense),
		cmocka_unit_test(test_recovering),
		cmocka_unit_test(test_recovering_without_neighbours),
		cmocka_unit_test(test_all_recovering),
		cmocka_unit_test(test_recovering_with_an_early_epoch),
		cmocka_unit_test(test_recovering_friend),
		cmocka_unit_test(test_known_by_asking),
		cmocka_unit_test(test_forgetful_friend),
		cmocka_unit_test(test_forgetful_promiser),
		cmocka_unit_test(test_promise_is_void),
		cmocka_unit_test(test_promiser_restarts),
		cmocka_unit_test(test_refused_for_good),
		cmocka_unit_test(test_answer_to_another_start),
		cmocka_unit_test(test_epoch_that_others_expect),
		cmocka_unit_test(test_statement_bytes),
		cmocka_unit_test(test_promise_told_once),
		cmocka_unit_test(test_inherited_beyond_grants),
		cmocka_unit_test(test_room_for_more),
		cmocka_unit_test(test_recovering_hears),
		cmocka_unit_test(test_recovering_louder),
		cmocka_unit_test(test_recovering_most),
		cmocka_unit_test(test_asked_again_after_a_start),
		cmocka_unit_test(test_lease_of_another_epoch),
		cmocka_unit_test(test_save_that_failed),
		cmocka_unit_test(test_in_flight_and_echoed),
		cmocka_unit_test(test_single_units),
		cmocka_unit_test(test_spent_counter_ends),
		cmocka_unit_test(test_other_friends),
		cmocka_unit_test(test_first_lease_that_ends),
		cmocka_unit_test(test_patience),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

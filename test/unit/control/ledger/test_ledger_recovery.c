/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A ledger that has lost its state recovers it from the statements of all its neighbours. Its own
 * earlier statements are rejected afterwards.
 */
#include "check.h"
#include "scope.h"

#include "base/math.h"
#include "base/prng.h"
#include "ledger_pair.h"

END_POINTER(ledger_destroy, struct ledger *)

#define N_EDGES 4

/*
 * Lost state is recovered from 1 to 4 neighbours, including amounts in flight in both directions.
 */
TEST(test_recovering)
{
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
			save_test_ledger(other[i]); /* in flight */
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
			/* Only after the neighbour has committed it. */
			tell_other_ledger(other[i], 0, lost, i, BEGIN + 3 * S);
			assert_true(ledger_recovering(lost));
			save_test_ledger(other[i]);
			assert_int_equal(
				ledger_receive(other[i], 0, BEGIN + 3 * S, &late[i]), LEDGER_OLD);
			tell_other_ledger(other[i], 0, lost, i, BEGIN + 4 * S);
			assert_true(ledger_recovering(lost));
			tell_other_ledger(other[i], 0, lost, i, BEGIN + 5 * S);
		}
		assert_false(ledger_recovering(lost));
		assert_true(ledger_uncommitted(lost));
		for (uint32_t i = 0; i < n; i++)
			assert_true(ledger_view(lost, i).known);
		assert_int_equal(ledger_balance(lost), want);
		assert_int_equal(statement_of_edge(lost, 0, BEGIN + 5 * S).epoch, 9);
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(
				ledger_receive(other[i], 0, BEGIN + 5 * S, &late[i]), LEDGER_OLD);
			agree_on_edge(lost, i, other[i], 0, BEGIN + 6 * S);
			assert_int_equal(ledger_view(lost, i).in_flight, 0);
			assert_int_equal(ledger_balance(other[i]), 50 - 3 + 10 + i);
			ledger_destroy(other[i]);
		}
		ledger_destroy(lost);
	}
}

TEST(test_recovering_without_neighbours)
{
	ENDED_BY(ledger_destroy_at) struct ledger *l = recovering_of(42, 0, 3);

	assert_false(ledger_recovering(l));
	assert_int_equal(ledger_balance(l), 42);
}

/* All neighbours start recovering, like limiters that cannot detect an earlier start. */
TEST(test_all_recovering)
{
	ENDED_BY(ledger_destroy_at)
	struct ledger *a = recovering_of(100, 1, 3), *b = recovering_of(50, 1, 9);

	agree_on_edge(a, 0, b, 0, BEGIN + S);
	assert_false(ledger_recovering(a));
	assert_false(ledger_recovering(b));
	assert_int_equal(ledger_balance(a), 100);
	assert_int_equal(ledger_balance(b), 50);
}

/* Its clock was set back: it raises its epoch until the neighbour accepts it. */
TEST(test_recovering_with_an_early_epoch)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 1), *b = ledger_of(50, 1);

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
}

/* A friend that lost its state may have inherited and granted it: it gets its promised amount. */
TEST(test_recovering_friend)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a, *b;

	promised_pair(&a, &b, 70);
	ledger_destroy(b);
	b = recovering_of(0, 1, 9);
	agree_on_edge(b, 0, a, 0, BEGIN + 2 * S);
	assert_int_equal(ledger_balance(a), 30);
	assert_int_equal(ledger_balance(b), 70);
	assert_int_equal(ledger_view(a, 0).locked, 70);
}

/* Even the first statement of a recovering neighbour sets `known`. */
TEST(test_known_by_asking)
{
	ENDED_BY(ledger_destroy_at)
	struct ledger *a = ledger_of(100, 1), *b = recovering_of(0, 1, 9);

	assert_false(ledger_view(a, 0).known);
	assert_int_equal(tell_other_ledger(b, 0, a, 0, BEGIN + S), LEDGER_NEWS);
	assert_true(ledger_view(a, 0).known);
	assert_int_equal(ledger_view(a, 0).received_ns, BEGIN + S);
}

/*
 * A friend that lost its state is granted the highest promise that it may use, although the present
 * promise is lower, in addition to its earlier amount. The next promise to it is not used before
 * its statement echoes ours.
 */
TEST(test_forgetful_friend)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);
	uint64_t until;

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
}

/* A promiser that lost its state learns of the inheritance, and cannot take it back. */
TEST(test_forgetful_promiser)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(40, 1), *b = ledger_of(0, 1);
	uint64_t late = BEGIN + S + patience_of_lease();
	struct ledger_statement said;

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
	assert_int_equal(ledger_receive(b, 0, late + 2 * S, &said), LEDGER_INVALID);
	ledger_destroy(a);
	ledger_destroy(b);
	/* The promiser cannot state less before it has learned of that either. */
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
	assert_int_equal(ledger_receive(b, 0, late + S, &said), LEDGER_INVALID);
	said.granted = 30;
	assert_int_equal(ledger_receive(b, 0, late + S, &said), LEDGER_HEARD);
}

/* Both lose their state; statements of one from before are rejected, also after a restart. */
TEST(test_refused_for_good)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);
	struct ledger_statement late;

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
	assert_int_equal(ledger_receive(b, 0, BEGIN + 4 * S, &late), LEDGER_OLD);
	assert_int_equal(ledger_balance(a) + ledger_balance(b), 100);
}

/* Returns the verdict on the second of two equal answers. */
static enum ledger_verdict hear_answers(
	struct ledger *l, uint32_t edge, uint64_t now_ns, struct ledger_statement *answer)
{
	assert_int_equal(ledger_receive(l, edge, now_ns, answer), LEDGER_HEARD);
	answer->stamp++;
	return ledger_receive(l, edge, now_ns, answer);
}

/*
 * One of the first two answers has a flipped bit. The recovery still ends, and the counters of the
 * ledger then equal those of the neighbour.
 */
TEST(test_damaged_answer)
{
	const char *text = getenv("WEIR_SEED");
	const uint64_t seed = text ? strtoull(text, NULL, 0) : 1;
	struct prng prng;

	print_message("seed %" PRIu64 " (WEIR_SEED changes it)\n", seed);
	prng_seed(&prng, seed);
	for (unsigned round = 0; round < 20000; round++) {
		const struct ledger_statement truth = {.epoch = 5,
			.word = 1,
			.granted = prng_below(&prng, 30000),
			.received = prng_below(&prng, 30000),
			.echo_stamp = 9,
			.least_epoch = 9};
		unsigned damaged = prng_below(&prng, 2);
		struct ledger *l = recovering_of(100, 1, 9);

		for (unsigned i = 0; i < 6; i++) {
			struct ledger_statement s = truth;

			s.promised = truth.granted;
			s.stamp = 1000 + i;
			if (i == damaged)
				*(prng_percent(&prng, 50) ? &s.granted : &s.received) ^=
					UINT64_C(1) << prng_below(&prng, 62);
			s.promised = max_u64(s.promised, s.granted);
			ledger_receive(l, 0, BEGIN + i, &s);
		}
		if (ledger_recovering(l))
			fail_msg("round %u: still recovering", round);
		if (ledger_view(l, 0).granted != truth.received ||
			ledger_view(l, 0).received != truth.granted)
			fail_msg("round %u: granted %llu, received %llu", round,
				(unsigned long long)ledger_view(l, 0).granted,
				(unsigned long long)ledger_view(l, 0).received);
		ledger_destroy(l);
	}
}

/* An answer to another start closes no edge. */
TEST(test_answer_to_another_start)
{
	struct ledger_statement answer = {
		.epoch = 7, .stamp = 1, .echo_stamp = 8, .least_epoch = 8};
	ENDED_BY(ledger_destroy_at) struct ledger *b = recovering_of(50, 1, 9);

	ledger_receive(b, 0, BEGIN, &answer);
	assert_true(ledger_recovering(b));
	answer.echo_stamp = answer.least_epoch = 9;
	assert_int_equal(hear_answers(b, 0, BEGIN, &answer), LEDGER_NEWS);
	assert_false(ledger_recovering(b));
}

/*
 * Two statements with a later start of ours prove that the record is old. A repeated one counts
 * once, and a valid one in between resets the count.
 */
TEST(test_epoch_that_others_expect)
{
	static const struct ledger_statement good = {.epoch = 1, .stamp = 3};
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 1);
	struct ledger_statement s = {.epoch = 1, .stamp = 1, .least_epoch = 8};

	save_test_ledger(a);
	assert_int_equal(ledger_receive(a, 0, BEGIN, &s), LEDGER_INVALID);
	assert_int_equal(ledger_receive(a, 0, BEGIN, &s), LEDGER_INVALID);
	assert_true(ledger_view(a, 0).denies);
	assert_int_equal(ledger_receive(a, 0, BEGIN, &good), LEDGER_HEARD);
	assert_false(ledger_view(a, 0).denies);
	s = (struct ledger_statement){.epoch = 1, .stamp = 4, .echo_epoch = 9};
	assert_int_equal(ledger_receive(a, 0, BEGIN, &s), LEDGER_INVALID);
	s.stamp++;
	assert_int_equal(ledger_receive(a, 0, BEGIN, &s), LEDGER_DENIED);
	assert_int_equal(ledger_usable(a, BEGIN, NULL), 100);
	ledger_lose(a);
	assert_true(ledger_recovering(a));
	assert_int_equal(ledger_usable(a, BEGIN, NULL), 0);
	assert_int_equal(statement_of_edge(a, 0, BEGIN).epoch, 0);
	assert_int_equal(statement_of_edge(a, 0, BEGIN).stamp, 10);
}

/* Effects of a neighbour's statements on a ledger that recovers in epoch 9. */
TEST(test_recovering_hears)
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
		bool closes;    /* closes the edge */
		uint64_t epoch; /* epoch after that */
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

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ledger *lost = recovering_of(100, 2, 9);
		struct ledger_statement s = answer;
		enum ledger_verdict verdict;

		s.echo_epoch = rows[i].echo_epoch, s.echo_stamp = rows[i].echo_stamp;
		s.least_epoch = rows[i].least_epoch;
		verdict = ledger_receive(lost, 0, BEGIN + S, &s);
		s.stamp++;
		ledger_receive(lost, 0, BEGIN + S, &s);
		if (verdict != (rows[i].epoch != 9 ? LEDGER_NEWS : LEDGER_HEARD))
			fail_msg("%s: %d", rows[i].name, verdict);
		if (ledger_view(lost, 0).received != (rows[i].closes ? 30 : 0))
			fail_msg("%s: received", rows[i].name);
		if (statement_of_edge(lost, 1, BEGIN + S).stamp != rows[i].epoch)
			fail_msg("%s: under another epoch", rows[i].name);
		assert_int_equal(ledger_view(lost, 0).known, rows[i].closes);
		assert_int_equal(
			ledger_view(lost, 0).received_ns, rows[i].closes ? BEGIN + S : BEGIN);
		assert_int_equal(ledger_view(lost, 0).in_flight, 0);
		assert_true(ledger_recovering(lost));
		ledger_destroy(lost);
	}
}

/* An edge closed in one epoch is closed again in a larger one; then the recovery ends. */
TEST(test_recovering_louder)
{
	for (uint32_t first = 0; first < 2; first++) {
		struct ledger_statement s = {.epoch = 5,
			.stamp = 1000,
			.granted = 30,
			.promised = 40,
			.received = 20,
			.echo_stamp = 9,
			.least_epoch = 9};
		struct ledger *lost = recovering_of(100, 2, 9);

		assert_int_equal(ledger_receive(lost, first, BEGIN, &s), LEDGER_HEARD);
		assert_int_equal(ledger_receive(lost, first, BEGIN, &s), LEDGER_OLD);
		s.stamp--;
		assert_int_equal(ledger_receive(lost, first, BEGIN, &s), LEDGER_OLD);
		s.epoch--, s.stamp = 2000;
		assert_int_equal(ledger_receive(lost, first, BEGIN, &s), LEDGER_OLD);
		assert_int_equal(ledger_view(lost, first).received, 0);
		s.epoch++, s.granted = 35;
		assert_int_equal(ledger_receive(lost, first, BEGIN + S, &s), LEDGER_HEARD);
		assert_int_equal(ledger_view(lost, first).received, 30);
		assert_int_equal(ledger_view(lost, first).received_ns, BEGIN + S);
		s.epoch++, s.stamp = 1, s.granted = 36;
		assert_int_equal(ledger_receive(lost, first, BEGIN + S, &s), LEDGER_HEARD);
		assert_int_equal(ledger_view(lost, first).received, 30);
		s.echo_epoch = 9;
		assert_int_equal(ledger_receive(lost, !first, BEGIN, &s), LEDGER_NEWS);
		s.echo_epoch = 0, s.echo_stamp = s.least_epoch = 10, s.stamp = 3000;
		assert_int_equal(hear_answers(lost, !first, BEGIN, &s), LEDGER_HEARD);
		assert_true(ledger_recovering(lost));
		assert_int_equal(hear_answers(lost, first, BEGIN, &s), LEDGER_NEWS);
		assert_false(ledger_recovering(lost));
		assert_int_equal(ledger_balance(lost), 100 + 2 * (36 - 20));
		save_test_ledger(lost);
		s.stamp++, s.granted--;
		for (uint32_t i = 0; i < 2; i++) {
			assert_int_equal(statement_of_edge(lost, i, BEGIN).epoch, 10);
			assert_int_equal(ledger_inheritable(lost, i, BEGIN + 99 * S), 0);
			assert_int_equal(ledger_receive(lost, i, BEGIN, &s), LEDGER_INVALID);
		}
		ledger_destroy(lost);
	}
}

/* The balance is the computed one if that is valid; otherwise the recovery does not end. */
TEST(test_recovering_most)
{
	struct ledger_statement s = {.epoch = 5, .stamp = 1000, .echo_stamp = 9, .least_epoch = 9};
	ENDED_BY(ledger_destroy_at) struct ledger *l;

	s.granted = s.promised = 10;
	for (unsigned more = 0; more <= 1; more++) {
		l = recovering_of(LEDGER_MOST - 10 + more, 1, 9);
		assert_int_equal(hear_answers(l, 0, BEGIN, &s), more ? LEDGER_HEARD : LEDGER_NEWS);
		assert_int_equal(ledger_recovering(l), more);
		assert_int_equal(ledger_balance(l), more ? 0 : LEDGER_MOST);
		ledger_destroy(l);
	}
	s.granted = s.promised = 0;
	s.received = LEDGER_MOST;
	l = recovering_of(0, 1, 9);
	assert_int_equal(hear_answers(l, 0, BEGIN, &s), LEDGER_NEWS);
	assert_true(ledger_balance(l) == -(int64_t)LEDGER_MOST);
	ledger_destroy(l);
	l = recovering_of(0, 2, 9);
	assert_int_equal(hear_answers(l, 0, BEGIN, &s), LEDGER_HEARD);
	s.received = 1;
	assert_int_equal(hear_answers(l, 1, BEGIN, &s), LEDGER_HEARD);
	assert_true(ledger_recovering(l));
}

/*
 * A neighbour that answered restarts from its record: it gives the same answer, and grants nothing
 * twice.
 */
TEST(test_asked_again_after_a_start)
{
	struct ledger_params params = params_of(100, 1);
	ENDED_BY(ledger_destroy_at) struct ledger *a, *b, *again;
	struct ledger_statement ask, earlier;
	uint8_t record[512];
	size_t len;

	promised_pair(&a, &b, 70);
	ledger_destroy(b);
	b = recovering_of(0, 1, 9);
	ask = earlier = statement_of_edge(b, 0, BEGIN + 2 * S);
	earlier.stamp--;
	assert_false(ledger_uncommitted(a));
	assert_int_equal(ledger_receive(a, 0, BEGIN + 2 * S, &ask), LEDGER_NEWS);
	assert_true(ledger_uncommitted(a));
	assert_int_equal(ledger_save(a, record, &len), 0);
	params.epoch = 7;
	assert_int_equal(ledger_restore(&params, record, len, BEGIN, &again), 0);
	assert_true(ledger_uncommitted(again)); /* its new epoch */
	ledger_destroy(again);
	params.epoch = 8;
	assert_int_equal(ledger_restore(&params, record, len, BEGIN, &again), 0);
	assert_false(ledger_uncommitted(again));
	assert_int_equal(ledger_receive(again, 0, BEGIN + 3 * S, &earlier), LEDGER_OLD);
	assert_int_equal(ledger_receive(again, 0, BEGIN + 3 * S, &ask), LEDGER_HEARD);
	assert_false(ledger_uncommitted(again));
	assert_int_equal(ledger_balance(again), 30);
	assert_int_equal(tell_other_ledger(again, 0, b, 0, BEGIN + 4 * S), LEDGER_HEARD);
	assert_int_equal(tell_other_ledger(again, 0, b, 0, BEGIN + 5 * S), LEDGER_NEWS);
	assert_int_equal(ledger_balance(b), 70);
}

#define STARTS      20 /* more than a record lists */
#define FIRST_WORD  100
#define OTHERS_WORD 1000

/* A start with this word and epoch, and a record of an earlier one (len 0: none). */
static struct ledger *start_with(uint32_t word, const uint8_t *record, size_t len, unsigned n)
{
	struct ledger_params params = params_of(100, 1);
	struct ledger *l;

	params.epoch = 1 + n;
	params.word = word;
	if (len > 0)
		assert_int_equal(ledger_restore(&params, record, len, BEGIN, &l), 0);
	else
		assert_int_equal(ledger_create(&params, BEGIN, &l), 0);
	save_test_ledger(l);
	return l;
}

/* Start number n of a limiter. */
static struct ledger *numbered_start(const uint8_t *record, size_t len, unsigned n)
{
	return start_with(FIRST_WORD + n, record, len, n);
}

/* Start number n of the neighbour. */
static struct ledger *others_start(const uint8_t *record, size_t len, unsigned n)
{
	return start_with(OTHERS_WORD + n, record, len, n);
}

/* Ends a start and writes its newest record. */
static void end_start(struct ledger *l, uint8_t record[512], size_t *len)
{
	assert_int_equal(ledger_save(l, record, len), 0);
	ledger_destroy(l);
}

/*
 * A limiter starts several times without an exchange. The neighbour then echoes an ancestor of the
 * newest record, which is no proof against that record. After an exchange the first record is old.
 */
TEST(test_starts_without_exchange)
{
	for (unsigned n = 1; n <= STARTS; n++) {
		struct ledger *a = numbered_start(NULL, 0, 0), *b;
		uint8_t first[512], newest[512];
		size_t first_len, len;

		b = others_start(NULL, 0, 0);
		agree_on_edge(a, 0, b, 0, BEGIN);
		end_start(a, first, &first_len);
		memcpy(newest, first, len = first_len);
		for (unsigned i = 1; i < n; i++)
			end_start(numbered_start(newest, len, i), newest, &len);
		a = numbered_start(newest, len, n);
		for (unsigned i = 0; i < 4; i++) {
			tell_other_ledger(a, 0, b, 0, BEGIN + S + i);
			assert_true(tell_other_ledger(b, 0, a, 0, BEGIN + S + i) <= LEDGER_OLD);
		}
		assert_true(ledger_view(a, 0).confirmed);
		ledger_destroy(a);

		a = numbered_start(first, first_len, n + 1);
		deny_other_ledger(b, a, BEGIN + 2 * S, BEGIN + 2 * S);
		ledger_destroy(a);
		ledger_destroy(b);
	}
}

/*
 * Two machines start from copies of one record, so their starts have the same epoch. The neighbour
 * has received one of them, and rejects the other until its record is lost. The other's clock can
 * be earlier. One statement alone, or a repeated one, proves nothing.
 */
TEST(test_two_starts_of_one_record)
{
	for (unsigned late = 0; late < 2; late++) {
		struct ledger *a = numbered_start(NULL, 0, 0), *b, *copy;
		struct ledger_params params = params_of(100, 1);
		uint64_t now = BEGIN + S + late * S;
		struct ledger_statement s;
		uint8_t record[512];
		size_t len;

		b = others_start(NULL, 0, 0);
		agree_on_edge(a, 0, b, 0, BEGIN);
		end_start(a, record, &len);
		copy = numbered_start(record, len, 1);
		assert_int_equal(tell_other_ledger(copy, 0, b, 0, BEGIN + 3 * S / 2), LEDGER_HEARD);
		save_test_ledger(b);
		ledger_destroy(copy);

		params = params_of(100, 1);
		params.epoch = 2;
		params.word = FIRST_WORD + STARTS + 1;
		assert_int_equal(ledger_restore(&params, record, len, BEGIN, &a), 0);
		save_test_ledger(a);
		s = statement_of_edge(a, 0, now);
		assert_int_equal(ledger_receive(b, 0, now, &s), LEDGER_INVALID);
		assert_int_equal(ledger_receive(b, 0, now, &s), LEDGER_INVALID);
		assert_false(ledger_uncommitted(b));
		assert_int_equal(tell_other_ledger(a, 0, b, 0, now + 1), LEDGER_INVALID);
		save_test_ledger(b);
		deny_other_ledger(b, a, now + 1, now + 2);
		ledger_lose(a);
		assert_true(ledger_is_mute(a));
		ledger_committed(a); /* a record that was begun before */
		assert_true(ledger_is_mute(a));
		ledger_loss_committed(a);
		assert_false(ledger_is_mute(a));
		agree_on_edge(a, 0, b, 0, now + S);
		assert_false(ledger_recovering(a));
		assert_int_equal(ledger_balance(a) + ledger_balance(b), 200);
		ledger_destroy(a);
		ledger_destroy(b);
	}
}

static void exchange_statements(struct ledger *a, struct ledger *b)
{
	for (unsigned i = 2; i < 8; i++) {
		(void)tell_other_ledger(a, 0, b, 0, BEGIN + i * S);
		(void)tell_other_ledger(b, 0, a, 0, BEGIN + i * S);
	}
}

enum next_start { FROM_OLD, FROM_OLD_AGAIN, FROM_ITS_OWN, FROM_NEWEST };

/*
 * A grant arrives, but the neighbour restarts before it saves it. The giver recovers, which takes
 * the grant back. Its record from before the recovery still has the grant. A later start from that
 * record gives nothing, and is denied, also if it has saved a record of its own. A start from the
 * newest record is then accepted. The neighbour can restart after it closed the edge and before it
 * received the giver's new start. Then the start from the old record is the newest that it has
 * received, and is its proof against all others. It can also restart after that start.
 */
static void try_old_record(enum next_start next, bool restarts, bool restarts_again)
{
	ENDED_BY(ledger_destroy_at)
	struct ledger *a = numbered_start(NULL, 0, 0), *b = others_start(NULL, 0, 0);
	uint8_t old[512], newest[512], record[512];
	size_t old_len, newest_len, len;

	agree_on_edge(a, 0, b, 0, BEGIN);
	keep_test_record(b, record, &len);
	assert_int_equal(ledger_grant(a, 0, 60), 0);
	keep_test_record(a, old, &old_len);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + S), LEDGER_NEWS);
	assert_int_equal(ledger_balance(b), 160);
	ledger_destroy(b);
	b = others_start(record, len, 1);

	lose_test_ledger(a);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + 2 * S), LEDGER_NEWS);
	keep_test_record(b, record, &len);
	agree_on_edge(a, 0, b, 0, BEGIN + 3 * S);
	assert_int_equal(ledger_balance(a), 100);
	assert_int_equal(ledger_balance(b), 100);
	end_start(a, newest, &newest_len);
	if (restarts) {
		ledger_destroy(b);
		b = others_start(record, len, 2);
	}

	a = numbered_start(old, old_len, 9);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + 5 * S), LEDGER_HEARD);
	assert_int_equal(ledger_balance(b), 100);
	(void)tell_other_ledger(a, 0, b, 0, BEGIN + 5 * S + 1);
	assert_int_equal(ledger_balance(b), 100);
	keep_test_record(b, record, &len);
	if (restarts_again) {
		ledger_destroy(b);
		b = others_start(record, len, 3);
		(void)tell_other_ledger(a, 0, b, 0, BEGIN + 5 * S + 2);
		assert_int_equal(ledger_balance(b), 100);
	}
	if (next != FROM_OLD) {
		end_start(a, next == FROM_ITS_OWN ? old : record,
			next == FROM_ITS_OWN ? &old_len : &len);
		a = next == FROM_NEWEST ? numbered_start(newest, newest_len, 10)
					: numbered_start(old, old_len, 10);
		(void)tell_other_ledger(a, 0, b, 0, BEGIN + 6 * S);
		assert_int_equal(ledger_balance(b), 100);
		save_test_ledger(b);
	}
	if (next == FROM_NEWEST && !restarts) {
		agree_on_edge(a, 0, b, 0, BEGIN + 7 * S);
		assert_true(ledger_view(a, 0).confirmed);
		assert_int_equal(ledger_balance(a), 100);
	} else {
		deny_other_ledger(b, a, BEGIN + 7 * S, BEGIN + 8 * S);
	}
	assert_int_equal(ledger_balance(b), 100);
}

TEST(test_old_record_after_a_recovery)
{
	for (unsigned n = 0; n < 16; n++)
		try_old_record((enum next_start)(n / 4), n & 1, n & 2);
}

/* A promise in an old record is not inherited: a recovery has taken it back. */
TEST(test_promise_of_an_old_record)
{
	ENDED_BY(ledger_destroy_at)
	struct ledger *a = numbered_start(NULL, 0, 0), *b = others_start(NULL, 0, 0);
	uint8_t old[512];
	size_t old_len;

	agree_on_edge(a, 0, b, 0, BEGIN);
	assert_int_equal(ledger_promise(a, 60), 0);
	keep_test_record(a, old, &old_len);
	lose_test_ledger(a);
	agree_on_edge(a, 0, b, 0, BEGIN + S);
	agree_on_edge(a, 0, b, 0, BEGIN + 2 * S);
	assert_int_equal(ledger_balance(a), 100);
	ledger_destroy(a);
	a = numbered_start(old, old_len, 9);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + 3 * S), LEDGER_HEARD);
	assert_int_equal(ledger_inheritable(b, 0, BEGIN + 3 * S + patience_of_lease()), 0);
}

/*
 * The epoch of a start from an old record can equal that of the recovery. The start is denied. A
 * neighbour that recovers itself records the epoch of a running start, which is not denied.
 */
TEST(test_epoch_of_a_recovery)
{
	for (unsigned both = 0; both < 2; both++) {
		struct ledger *a = numbered_start(NULL, 0, 1), *b = others_start(NULL, 0, 0);
		uint8_t record[512];
		size_t len;

		agree_on_edge(a, 0, b, 0, BEGIN);
		keep_test_record(a, record, &len);
		if (both) {
			lose_test_ledger(b);
			agree_on_edge(a, 0, b, 0, BEGIN + S);
			agree_on_edge(a, 0, b, 0, BEGIN + 2 * S);
			assert_true(ledger_view(a, 0).confirmed);
			assert_false(ledger_recovering(b));
		} else {
			lose_test_ledger(a);
			tell_other_ledger(a, 0, b, 0, BEGIN + S);
			save_test_ledger(b);
			ledger_destroy(a);
			a = numbered_start(record, len, 2);
			(void)tell_other_ledger(a, 0, b, 0, BEGIN + 2 * S);
			deny_other_ledger(b, a, BEGIN + 3 * S, BEGIN + 4 * S);
		}
		ledger_destroy(a);
		ledger_destroy(b);
	}
}

/*
 * A lost record keeps an edge closed if a neighbour's recovery waits for it, also before the loss
 * is durable.
 */
TEST(test_loss_while_closing)
{
	ENDED_BY(ledger_destroy_at)
	struct ledger *a = numbered_start(NULL, 0, 0), *b = others_start(NULL, 0, 0);

	agree_on_edge(a, 0, b, 0, BEGIN);
	lose_test_ledger(a);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + S), LEDGER_NEWS);
	lose_test_ledger(b);
	exchange_statements(b, a);
	assert_false(ledger_recovering(a));
	assert_false(ledger_recovering(b));
}

/* An old record of the neighbour is no proof against ours, although it has received more. */
TEST(test_accused_by_an_old_record)
{
	ENDED_BY(ledger_destroy_at)
	struct ledger *a = numbered_start(NULL, 0, 0), *b = others_start(NULL, 0, 0);
	uint8_t old[512];
	size_t old_len;

	agree_on_edge(a, 0, b, 0, BEGIN);
	assert_int_equal(ledger_grant(b, 0, 40), 0);
	agree_on_edge(a, 0, b, 0, BEGIN + S);
	keep_test_record(a, old, &old_len);
	lose_test_ledger(a);
	lose_test_ledger(b);
	exchange_statements(b, a);
	assert_int_equal(ledger_balance(b), 100);
	agree_on_edge(a, 0, b, 0, BEGIN + 8 * S);
	ledger_destroy(a);
	a = numbered_start(old, old_len, 9);
	for (unsigned i = 10; i < 13; i++)
		assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + i * S), LEDGER_INVALID);
	(void)tell_other_ledger(b, 0, a, 0, BEGIN + 14 * S);
	assert_int_equal(tell_other_ledger(b, 0, a, 0, BEGIN + 15 * S), LEDGER_DENIED);
}

/*
 * A limiter has begun to recover, and starts with the record from before it. Until the neighbour's
 * closing of the edge is durable, nothing confirms that record, and nothing proves it to the
 * neighbour. Then it is denied.
 */
TEST(test_confirmed_after_closing)
{
	ENDED_BY(ledger_destroy_at)
	struct ledger *a = numbered_start(NULL, 0, 0), *b = others_start(NULL, 0, 0);
	uint8_t record[512];
	size_t len;

	agree_on_edge(a, 0, b, 0, BEGIN);
	assert_int_equal(ledger_grant(a, 0, 60), 0);
	keep_test_record(a, record, &len);
	lose_test_ledger(a);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + S), LEDGER_NEWS);
	ledger_destroy(a);
	a = numbered_start(record, len, 9);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + 2 * S), LEDGER_HEARD);
	(void)tell_other_ledger(b, 0, a, 0, BEGIN + 2 * S);
	assert_false(ledger_view(a, 0).confirmed);
	(void)tell_other_ledger(a, 0, b, 0, BEGIN + 2 * S + 1);
	assert_int_equal(ledger_balance(b), 100);
	save_test_ledger(b);
	deny_other_ledger(b, a, BEGIN + 3 * S, BEGIN + 4 * S);
	assert_false(ledger_view(a, 0).confirmed);
}

static struct ledger *next_period(struct ledger *previous, uint32_t word)
{
	struct ledger_params params = params_of(100, 1);
	struct ledger *l;

	params.word = word;
	assert_int_equal(ledger_create(&params, BEGIN, &l), 0);
	ledger_continue(l, previous);
	ledger_destroy(previous);
	save_test_ledger(l);
	return l;
}

/*
 * A ledger keeps the last start of a neighbour in a new period, before any message. The neighbour
 * goes on. A start from an empty store is denied.
 */
TEST(test_start_in_new_period)
{
	for (unsigned empty = 0; empty < 2; empty++) {
		struct ledger *a = numbered_start(NULL, 0, 5), *b;

		b = others_start(NULL, 0, 0);
		agree_on_edge(a, 0, b, 0, BEGIN);
		b = next_period(b, OTHERS_WORD);
		a = next_period(a, FIRST_WORD + 5);
		if (empty) {
			ledger_destroy(a);
			a = numbered_start(NULL, 0, 0);
		}
		assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + S),
			empty ? LEDGER_OLD : LEDGER_HEARD);
		assert_int_equal(tell_other_ledger(b, 0, a, 0, BEGIN + S),
			empty ? LEDGER_INVALID : LEDGER_HEARD);
		assert_int_equal(tell_other_ledger(b, 0, a, 0, BEGIN + S),
			empty ? LEDGER_DENIED : LEDGER_HEARD);
		ledger_destroy(a);
		ledger_destroy(b);
	}
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The counters of a ledger and their maximum, the statements that it accepts, and the bytes of its
 * records and statements.
 */
#include "check.h"
#include "scope.h"

#include "base/hash.h"
#include "ledger/ledger.h"
#include "ledger_pair.h"

END_POINTER(ledger_destroy, struct ledger *)

TEST(test_params_at_their_limits)
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

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct ledger *l = NULL;

		if (ledger_create(&cases[i].params, 0, &l) != cases[i].ret)
			fail_msg("case %zu", i);
		ledger_destroy(l);
	}
}

TEST(test_grant_just_what_is_free)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);

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
}

TEST(test_spend)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 0);

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
}

/* Spent but unused units are held again, and can be granted, but not more of them. */
TEST(test_refund)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 1);

	assert_int_equal(ledger_spend(a, 60), 0);
	assert_int_equal(ledger_refund(a, 61), -EINVAL);
	save_test_ledger(a);
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
}

/* Nothing is stated before its commit; later changes wait for the next commit. */
TEST(test_commit_order)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);

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
	/* A failed save commits nothing, and everything is still uncommitted. */
	assert_int_equal(ledger_save(a, NULL, NULL), 0);
	ledger_save_failed(a);
	assert_true(ledger_uncommitted(a));
	assert_int_equal(statement_of_edge(a, 0, BEGIN).granted, 10);
	ledger_committed(a); /* without a save */
	assert_int_equal(statement_of_edge(a, 0, BEGIN).granted, 10);
	save_test_ledger(a);
	assert_false(ledger_uncommitted(a));
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + S), LEDGER_NEWS);
	assert_int_equal(ledger_balance(b), 15);
}

/* Statements to b after it accepted 10 granted and 30 promised, and granted 5 back. */
TEST(test_verdicts)
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
		struct ledger_statement change; /* added to the accepted statement */
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

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct ledger *b = ledger_of(100, 1);
		struct ledger_statement s = heard;
		const struct ledger_statement *d = &cases[i].change;
		enum ledger_verdict got;
		int64_t balance;

		assert_int_equal(ledger_grant(b, 0, 5), 0);
		assert_int_equal(ledger_promise(b, 15), 0);
		save_test_ledger(b);
		statement_of_edge(b, 0, BEGIN);
		assert_int_equal(ledger_receive(b, 0, BEGIN, &heard), LEDGER_NEWS);
		balance = ledger_balance(b);
		assert_int_equal(balance, 105);
		s.epoch += d->epoch, s.stamp += d->stamp, s.granted += d->granted;
		s.promised += d->promised, s.received += d->received;
		s.echo_epoch += d->echo_epoch, s.echo_stamp += d->echo_stamp;
		got = ledger_receive(b, 0, BEGIN + 1, &s);
		if (got != cases[i].verdict)
			fail_msg("%s: %d, expected %d", cases[i].name, got, cases[i].verdict);
		/* A rejected statement changes nothing. */
		if (got == LEDGER_OLD || got == LEDGER_INVALID) {
			assert_int_equal(ledger_balance(b), balance);
			assert_int_equal(ledger_view(b, 0).received_ns, BEGIN);
		}
		ledger_destroy(b);
	}
}

TEST(test_counters_end)
{
	ENDED_BY(ledger_destroy_at)
	struct ledger *a = ledger_of(LEDGER_MOST, 1), *b = ledger_of(0, 1);

	assert_int_equal(ledger_grant(a, 0, LEDGER_MOST), 0);
	agree_on_edge(a, 0, b, 0, BEGIN + S);
	assert_int_equal(ledger_balance(b), LEDGER_MOST);
	/* All of it returns, and then the edge grants no more. */
	assert_int_equal(ledger_grant(b, 0, LEDGER_MOST), 0);
	agree_on_edge(a, 0, b, 0, BEGIN + 2 * S);
	assert_int_equal(ledger_balance(a), LEDGER_MOST);
	assert_int_equal(ledger_grant(a, 0, 1), -EOVERFLOW);
	assert_int_equal(ledger_promise(a, 1), -EOVERFLOW);
	assert_int_equal(ledger_set_share(b, LEDGER_MOST), 0);
	assert_int_equal(ledger_set_share(b, LEDGER_MOST + 1), -EINVAL);
}

/* No ledger holds more than LEDGER_MOST, from any giver. */
TEST(test_no_more_than_the_most)
{
	ENDED_BY(ledger_destroy_at)
	struct ledger *a = ledger_of(10, 1), *b = ledger_of(LEDGER_MOST - 9, 1);

	assert_int_equal(ledger_grant(a, 0, 10), 0);
	save_test_ledger(a);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + S), LEDGER_INVALID);
	assert_int_equal(ledger_spend(b, 1), 0);
	assert_int_equal(tell_other_ledger(a, 0, b, 0, BEGIN + S), LEDGER_NEWS);
	assert_int_equal(ledger_balance(b), LEDGER_MOST);
	assert_int_equal(ledger_set_share(b, LEDGER_MOST), -EOVERFLOW);
}

TEST(test_debt)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 1), *b = ledger_of(100, 1);

	assert_int_equal(ledger_grant(a, 0, 80), 0);
	assert_int_equal(ledger_promise(a, 20), 0);
	assert_int_equal(ledger_set_share(a, 30), 0);
	assert_int_equal(ledger_balance(a), -50);
	assert_int_equal(ledger_free(a), 0);
	assert_int_equal(ledger_usable(a, BEGIN, NULL), 0);
	assert_int_equal(ledger_promise(a, 1), -EDQUOT);
	assert_int_equal(ledger_view(a, 0).promised, 80); /* not more than the balance */
	assert_int_equal(ledger_spend(a, 1), -EDQUOT);
	/* Received amounts pay the debt first. */
	assert_int_equal(ledger_grant(b, 0, 60), 0);
	agree_on_edge(a, 0, b, 0, BEGIN + S);
	assert_int_equal(ledger_balance(a), 10);
	assert_int_equal(ledger_free(a), 10);
	assert_int_equal(ledger_balance(a) + ledger_balance(b), 130);
}

/* The format of a record on disks: future versions must read it. */
TEST(test_stored_record)
{
	static const uint64_t words[] = {
		UINT64_C(0x576569724c656401), 1, 100, 7, 88, 7, /* "WeirLed" and a version, 1 */
		5, 5, 5, 0, 0, 0,                               /* the edge */
		UINT64_C(0xbd8dd216156d8262),                   /* checksum of the above */
	};
	struct ledger *l = ledger_of(100, 1), *again;
	struct ledger_params params = params_of(100, 1);
	uint8_t stored[sizeof(words)], record[512];
	uint64_t sum = HASH64_BASIS;
	size_t len;

	for (size_t i = 0; i < sizeof(stored); i++)
		stored[i] = (uint8_t)(words[i / 8] >> (56 - 8 * (i % 8)));
	params.epoch++;
	assert_int_equal(ledger_restore(&params, stored, sizeof(stored), BEGIN, &again), 0);
	assert_int_equal(ledger_balance(again), 88);
	ledger_destroy(again);
	assert_int_equal(ledger_grant(l, 0, 5), 0);
	assert_int_equal(ledger_spend(l, 7), 0);
	assert_int_equal(ledger_save(l, record, &len), 0);
	for (size_t i = 0; i < len; i++)
		sum = hash64_step(sum, record[i]);
	assert_int_equal(len, 344);
	assert_int_equal(sum, UINT64_C(0x08c2aade034184d5)); /* including its own checksum */
	ledger_destroy(l);
}

/* A restart uses everything in a record; neighbours' statements are not in it. */
TEST(test_record)
{
	struct ledger_params params = params_of(1, 1);
	ENDED_BY(ledger_destroy_at) struct ledger *a, *b, *again;
	uint8_t record[512], altered[512];
	size_t len;

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
	/* A clock was set back: the epoch is still later than before. */
	params.recovering = false;
	params.epoch = 2;
	assert_int_equal(ledger_restore(&params, record, len, 5, &again), 0);
	assert_int_equal(statement_of_edge(again, 0, BEGIN).epoch, 8);
	assert_true(ledger_uncommitted(again));
}

/* The checksum is right, but the contents are impossible: the record is rejected. */
TEST(test_record_makes_sense)
{
	enum { VERSION, EDGES, SHARE, SPENT, BALANCE, EPOCH, MOST, COUNT, WORD, LIVES };
	enum { GRANTED = LIVES + 24, PROMISED, LOCKED, RECEIVED, INHERITED, LEAST };
	enum { ITS_EPOCH = LEAST + 1, ITS_COUNT, ITS_WORD, SUM };
	static const uint64_t usual[SUM] = {[VERSION] = UINT64_C(0x576569724c656402),
		[EDGES] = 1,
		[SHARE] = 100,
		[SPENT] = 7,
		[BALANCE] = 88,
		[EPOCH] = 7,
		[GRANTED] = 5,
		[PROMISED] = 5,
		[LOCKED] = 5};
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
		{"the most that anybody held", true, {{MOST, LEDGER_MOST}}},
		{"and more than that", false, {{MOST, LEDGER_MOST + 1}}},
		{"the last epoch that a neighbour can have", true, {{ITS_EPOCH, LEDGER_MOST}}},
		{"a later one", false, {{ITS_EPOCH, LEDGER_MOST + 1}}},
		{"a neighbour's last record", true, {{ITS_COUNT, LEDGER_MOST}}},
		{"one more", false, {{ITS_COUNT, LEDGER_MOST + 1}}},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
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

TEST(test_statement_bytes)
{
	const struct ledger_statement s = {
		0x0102030405060708, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0x0b0c0d0e, 15};
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
		{{.epoch = 1, .count = LEDGER_MOST}, 0},
		{{.epoch = 1, .count = LEDGER_MOST + 1}, -EBADMSG},
		{{.epoch = 1, .known_count = LEDGER_MOST}, 0},
		{{.epoch = 1, .known_count = LEDGER_MOST + 1}, -EBADMSG},
		{{.epoch = 1, .known_count = LEDGER_TWICE}, 0},
	};
	uint8_t buf[LEDGER_STATEMENT_BYTES + 1];
	struct ledger_statement got;

	ledger_statement_write(&s, buf);
	for (uint8_t i = 0; i < 8; i++)
		assert_int_equal(buf[i], i + 1);
	for (uint8_t i = 0; i < 10; i++)
		assert_int_equal(buf[8 * i + 7], i ? i + 1 : 8);
	assert_int_equal(buf[80], 0x0b);
	assert_int_equal(buf[87], 15);
	assert_int_equal(ledger_statement_read(&got, buf, LEDGER_STATEMENT_BYTES), 0);
	assert_memory_equal(&got, &s, sizeof(s));
	assert_int_equal(ledger_statement_read(&got, buf, LEDGER_STATEMENT_BYTES - 1), -EBADMSG);
	assert_int_equal(ledger_statement_read(&got, buf, LEDGER_STATEMENT_BYTES + 1), -EBADMSG);
	for (size_t i = 0; i < COUNT(cases); i++) {
		ledger_statement_write(&cases[i].s, buf);
		if (ledger_statement_read(&got, buf, LEDGER_STATEMENT_BYTES) != cases[i].ret)
			fail_msg("case %zu", i);
	}
}

/* A promise whose save failed counts as promised to no edge. */
TEST(test_save_that_failed)
{
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

/* Amounts in flight, and statements that echo a start. */
TEST(test_in_flight_and_echoed)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(100, 1), *b = ledger_of(0, 1);
	struct ledger_statement s;

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
}

/* Single units behave like any other amount, and every change must be saved. */
TEST(test_single_units)
{
	ENDED_BY(ledger_destroy_at) struct ledger *a = ledger_of(3, 1);

	assert_true(ledger_uncommitted(a)); /* the ledger is new */
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
}

/* Units that arrive over an edge at a ledger whose spent counter is at its maximum. */
TEST(test_spent_counter_ends)
{
	ENDED_BY(ledger_destroy_at)
	struct ledger *a = ledger_of(LEDGER_MOST, 1), *b = ledger_of(10, 1);

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
}

/*
 * One damaged bit in a neighbour's counter never gives more than the whole, not by inheritance
 * either.
 */
TEST(test_most)
{
	struct ledger_params params = params_of(500, 1);
	struct ledger *a, *b = ledger_of(500, 1);
	struct ledger_statement s;
	uint64_t stamp = BEGIN;

	params.most = 1000;
	for (unsigned bit = 0; bit < 62; bit++) {
		uint64_t amount = UINT64_C(1) << bit;

		assert_int_equal(ledger_create(&params, BEGIN, &a), 0);
		tell_other_ledger(b, 0, a, 0, ++stamp);
		tell_other_ledger(a, 0, b, 0, ++stamp);
		s = statement_of_edge(b, 0, ++stamp);
		s.granted = s.promised = amount;
		assert_int_equal(ledger_receive(a, 0, stamp, &s),
			amount <= 500 ? LEDGER_NEWS : LEDGER_INVALID);
		assert_in_range(ledger_usable(a, stamp, NULL), 500, 1000);
		s = statement_of_edge(b, 0, ++stamp);
		s.granted = ledger_view(a, 0).received;
		s.promised = amount > s.granted ? amount : s.granted;
		assert_int_equal(ledger_receive(a, 0, stamp, &s), LEDGER_HEARD);
		ledger_inherit(a, 0, stamp + patience_of_lease());
		assert_in_range(ledger_balance(a), 500, 1000);
		ledger_raise_most(a, 900); /* a lowered limit does not lower it */
		ledger_raise_most(a, 2000);
		s = statement_of_edge(b, 0, ++stamp);
		s.granted = s.promised = ledger_view(a, 0).received + 1000;
		assert_int_equal(ledger_receive(a, 0, stamp, &s), LEDGER_NEWS);
		ledger_destroy(a);
	}
	ledger_destroy(b);
}

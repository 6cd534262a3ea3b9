/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages between neighbours about a quota: the rest of it, and the time; without changes, heads
 * only. If limiters have different totals configured, the lowest applies.
 */
#include "check.h"
#include "scope.h"

#include "base/wire.h"
#include "budget_group.h"

END_POINTER(group_free, struct group *)

/* All data for one neighbour is in one message; a cut or altered message is rejected. */
TEST(test_messages)
{
	ENDED_BY(group_free_at) struct group *g = group_new(2, 3, false);
	uint64_t messages;
	int64_t balance;
	uint8_t buf[ROOM];
	unsigned to;
	size_t len;

	run_budget_group(g, 4 * TIMEOUT);
	messages = budget_counters(g->nodes[0].b)->messages_sent;
	balance = budget_node_view(g, 1, PREPAID).balance;
	for (unsigned p = 0; p < 3; p++)
		assert_int_equal(budget_spend(g->nodes[0].b, p, 600, g->now), -EAGAIN);
	len = budget_send(g->nodes[0].b, g->now, buf, sizeof(buf), &to);
	assert_int_equal(len, 85 + 3 * 189);
	assert_int_equal(budget_send(g->nodes[0].b, g->now, buf, sizeof(buf), &to), 0);
	assert_int_equal(budget_counters(g->nodes[0].b)->messages_sent, messages + 1);
	for (size_t cut = 0; cut < len; cut++)
		if (cut < 85 || (cut - 85) % 189 != 0)
			assert_int_equal(
				budget_receive(g->nodes[1].b, 0, g->now, buf, cut), -EBADMSG);
	buf[17] |= 128;
	assert_int_equal(budget_receive(g->nodes[1].b, 0, g->now, buf, len), -EBADMSG);
	buf[17] &= 127;
	buf[20] ^= 1; /* an unknown root */
	assert_int_equal(budget_receive(g->nodes[1].b, 0, g->now, buf, len), -EBADMSG);
	buf[20] ^= 1;
	assert_int_equal(budget_receive(g->nodes[1].b, 1, g->now, buf, len), -ENOENT);
	assert_int_equal(budget_receive(g->nodes[1].b, 2, g->now, buf, len), -ENOENT);
	assert_int_equal(budget_node_view(g, 1, PREPAID).balance, balance);
	assert_int_equal(budget_receive(g->nodes[1].b, 0, g->now, buf, len), 0);
	assert_true(budget_node_view(g, 1, PREPAID).balance < balance);
}

/* Values that are invalid in the head of a message, and the largest valid ones. */
TEST(test_heads)
{
	static const struct {
		unsigned at; /* offset of the field */
		uint64_t value;
		int ret;
	} rows[] = {
		{24, 0, -EBADMSG}, /* the root's epoch */
		{24, 1, 0},
		{24, LEDGER_MOST, 0},
		{24, LEDGER_MOST + 1, -EBADMSG},
		{36, 0, -EBADMSG}, /* the sender's epoch */
		{36, 1, 0},
		{36, LEDGER_MOST, 0},
		{36, LEDGER_MOST + 1, -EBADMSG},
		{52, 0, 0}, /* ours, as received by the sender */
		{52, LEDGER_MOST, 0},
		{52, LEDGER_MOST + 1, -EBADMSG},
		{84, TIME_GRADES - 1, 0},
		{84, TIME_GRADES, -EBADMSG},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
		struct group *g = group_new(2, 1, false);
		uint8_t buf[ROOM];
		unsigned to;

		run_budget_group(g, 4 * TIMEOUT);
		assert_int_equal(budget_spend(g->nodes[0].b, PREPAID, 600, g->now), -EAGAIN);
		assert_int_equal(
			budget_send(g->nodes[0].b, g->now, buf, sizeof(buf), &to), 85 + 189);
		if (rows[k].at == 84)
			buf[84] = (uint8_t)rows[k].value;
		else
			wire_put64(buf + rows[k].at, rows[k].value);
		assert_int_equal(budget_receive(g->nodes[1].b, 0, g->now, buf, 85), rows[k].ret);
		assert_int_equal(
			budget_counters(g->nodes[1].b)->malformed, rows[k].ret == -EBADMSG);
		group_free(g);
	}
}

/*
 * A round trip is the time between a message and its answer, less the neighbour's delay. Half of a
 * decrease counts immediately, an eighth of an increase. A message counts once, and not if its
 * answer precedes it or reports a longer delay than the whole took. Answers to other incarnations
 * are ignored.
 */
TEST(test_round_trips)
{
	enum { TOOK = 50 };
	static const struct {
		int epoch, sent_ms; /* differences from the answered message */
		uint64_t waited;
		uint64_t trip; /* 0: no answer */
	} rows[] = {
		{0, 0, TOOK * MS, 1},
		{0, 0, TOOK * MS + 1, 0},
		{0, 0, (TOOK - 1) * MS, MS + 1},
		{0, 0, 0, TOOK * MS + 1},
		{0, TOOK, 0, 1},
		{0, TOOK + 1, 0, 0},
		{-1, 0, 0, 0},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
		struct group *g = group_new(2, 1, false);
		uint8_t asked[ROOM], answer[ROOM];
		uint64_t before, epoch, stamp, said, want;
		unsigned to;

		run_budget_group(g, 4 * TIMEOUT);
		before = budget_peer(g->nodes[1].b, 0).round_trip_ns;
		assert_in_range(before, MS, 3 * MS);
		g->now += 100 * MS;
		for (unsigned i = 0; i < 2; i++) {
			assert_int_equal(
				budget_spend(g->nodes[i].b, PREPAID, 600, g->now), -EAGAIN);
			assert_true(budget_send(g->nodes[i].b, g->now, i ? asked : answer, ROOM,
					    &to) > 0);
		}
		wire_get64(wire_get64(asked + 36, &epoch), &stamp);
		wire_get64(answer + 44, &said);
		wire_put64(answer + 52, epoch + (uint64_t)rows[k].epoch);
		wire_put64(answer + 60, stamp + (uint64_t)rows[k].sent_ms * MS);
		wire_put64(answer + 68, rows[k].waited);
		want = before;
		if (rows[k].trip > 0)
			want = rows[k].trip < before ? before - (before - rows[k].trip) / 2
						     : before + (rows[k].trip - before) / 8;
		for (unsigned twice = 0; twice < 2; twice++) {
			wire_put64(answer + 44, said + twice);
			assert_int_equal(
				budget_receive(g->nodes[1].b, 0, stamp + TOOK * MS, answer, 85), 0);
			assert_int_equal(budget_peer(g->nodes[1].b, 0).round_trip_ns, want);
		}
		group_free(g);
	}
}

/*
 * The total that a limiter uses after it received another one, or another number of limiters. A
 * total in another unit is ignored.
 */
TEST(test_terms_of_parts)
{
	static const struct {
		uint64_t total, unit, n, want;
	} rows[] = {
		{TOTAL, 0, 2, TOTAL},
		{TOTAL, 0, 1, TOTAL},
		{TOTAL, 0, 3, TOTAL * 2 / 3},
		{600, 0, 3, 400},
		{600, 0, 2, 600},
		{2 * TOTAL, 0, 3, TOTAL * 2 / 3},
		{600, 1, 3, TOTAL},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
		struct group *g = group_new(2, 1, false);
		uint8_t buf[ROOM], *part = buf + 85;
		unsigned to;

		run_budget_group(g, 4 * TIMEOUT);
		assert_int_equal(budget_spend(g->nodes[0].b, PREPAID, 600, g->now), -EAGAIN);
		assert_int_equal(
			budget_send(g->nodes[0].b, g->now, buf, sizeof(buf), &to), 85 + 189);
		wire_put32(
			wire_put32(wire_put64(part + 173, rows[k].total), (uint32_t)rows[k].unit),
			(uint32_t)rows[k].n);
		assert_int_equal(budget_receive(g->nodes[1].b, 0, g->now, buf, 85 + 189), 0);
		assert_int_equal(budget_total(g->nodes[1].b, PREPAID), rows[k].want);
		assert_int_equal(budget_counters(g->nodes[1].b)->differing, rows[k].unit);
		group_free(g);
	}
}

/* Without loss, every sent message is received, and both sides count it. */
TEST(test_counts)
{
	ENDED_BY(group_free_at) struct group *g = group_new(2, 1, false);
	const struct budget_counters *a = budget_counters(g->nodes[0].b);
	const struct budget_counters *b = budget_counters(g->nodes[1].b);

	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 900), 900);
	run_budget_group(g, 5 * MS);
	assert_int_equal(g->queued, 0);
	assert_true(a->messages_sent > 0 && a->parts_sent > 0);
	assert_int_equal(a->messages_sent, b->messages_received);
	assert_int_equal(b->messages_sent, a->messages_received);
	assert_int_equal(a->parts_sent, b->parts_received);
	assert_int_equal(b->parts_sent, a->parts_received);
	assert_int_equal(a->malformed + a->unknown + a->differing, 0);
	assert_int_equal(a->relinked, 1);
}

/* Without traffic, a tree has the cost given in tree.c: few messages, and no parts of policies. */
TEST(test_peace)
{
	ENDED_BY(group_free_at) struct group *g = group_new(5, 1, false);
	uint64_t messages = 0, parts = 0;

	run_budget_group(g, 20 * TIMEOUT);
	for (unsigned i = 0; i < 5; i++) {
		messages -= budget_counters(g->nodes[i].b)->messages_sent;
		parts -= budget_counters(g->nodes[i].b)->parts_sent;
	}
	run_budget_group(g, 10 * TIMEOUT);
	for (unsigned i = 0; i < 5; i++) {
		messages += budget_counters(g->nodes[i].b)->messages_sent;
		parts += budget_counters(g->nodes[i].b)->parts_sent;
	}
	assert_int_equal(parts, 0);
	/* Four edges of the tree, six others, and the waves that arrive early. */
	assert_in_range(messages, 10 * (4 * 2 * 4 + 6 * 2 * 2) * 9 / 10,
		10 * (4 * 2 * 4 + 6 * 2 * 2) * 13 / 10);
}

static void expect_remaining(const struct group *g, uint64_t left)
{
	for (unsigned i = 0; i < g->n; i++) {
		assert_in_range(budget_node_view(g, i, PREPAID).remaining, left - left / 4,
			left + left / 4);
		assert_int_equal(budget_node_view(g, i, PREPAID).pace, 0);
	}
}

/*
 * A limiter that spends nothing and requests nothing also learns how much is left: after a burst
 * elsewhere, and after a change of the total. Then no messages follow.
 */
TEST(test_news)
{
	ENDED_BY(group_free_at) struct group *g = group_new(5, 1, true);
	uint64_t spent;

	run_budget_group(g, 4 * TIMEOUT);
	spent = take_budget_units(g, 0, PREPAID, 400);
	run_budget_group(g, 2 * SECOND);
	assert_true(budget_node_view(g, 4, PREPAID).pace > 0);
	run_budget_group(g, 60 * SECOND);
	expect_remaining(g, TOTAL - spent);
	g->nodes[0].cut = true;
	run_budget_group(g, 10 * TIMEOUT);
	g->nodes[0].cut = false;
	run_budget_group(g, 10 * SECOND);
	expect_remaining(g, TOTAL - spent);
	update_budget_group(g, 1, 40 * TOTAL);
	run_budget_group(g, 10 * SECOND);
	expect_remaining(g, 40 * TOTAL - spent);
	update_budget_group(g, 1, TOTAL);
	for (unsigned i = 0; i < g->n; i++)
		assert_true(budget_node_view(g, i, PREPAID).remaining <=
			    TOTAL - budget_node_view(g, i, PREPAID).spent +
				    budget_node_view(g, i, PREPAID).prepaid);
	run_budget_group(g, 10 * SECOND);
	expect_remaining(g, TOTAL - spent);
}

/* Repeated messages are never answered, however often they arrive; only new ones can be. */
TEST(test_repeated)
{
	ENDED_BY(group_free_at) struct group *g = group_new(2, 1, false);
	uint8_t buf[ROOM];
	unsigned to, heard = 0;

	g->tape = test_calloc(TAPE, sizeof(*g->tape));
	run_budget_group(g, 10 * TIMEOUT);
	for (unsigned i = 0; i < g->taped; i++) {
		struct message *message = &g->tape[i];

		if (message->to != 0)
			continue;
		heard++;
		assert_int_equal(budget_receive(g->nodes[0].b, message->from, g->now, message->at,
					 message->len),
			0);
		assert_int_equal(budget_send(g->nodes[0].b, g->now, buf, ROOM, &to), 0);
	}
	assert_true(heard > 10);
	test_free(g->tape);
}

/* Neighbours exchange the time: a limiter that starts with a wrong clock follows theirs. */
TEST(test_time)
{
	ENDED_BY(group_free_at) struct group *g = group_new(3, 1, false);
	const uint64_t wall = UINT64_C(1700000000) * SECOND, wrong = wall + 86400 * SECOND;
	uint64_t time_ns;

	g->nodes[2].cut = true;
	for (unsigned k = 0; k < TIMEOUT / MS; k++) {
		for (unsigned i = 0; i < 2; i++)
			budget_clock(g->nodes[i].b, wall + g->now, true, g->now);
		step_budget_group(g);
	}
	assert_int_equal(budget_timekeeper(g->nodes[0].b)->reason, TIME_AGREES);
	restart_budget_node(g, 2, false);
	budget_clock(g->nodes[2].b, wrong + g->now, true, g->now);
	assert_false(timekeeper_time(budget_timekeeper(g->nodes[2].b), g->now, &time_ns));
	g->nodes[2].cut = false;
	for (unsigned k = 0; k <= TIMEOUT / MS; k++) {
		for (unsigned i = 0; i < 2; i++)
			budget_clock(g->nodes[i].b, wall + g->now, true, g->now);
		budget_clock(g->nodes[2].b, wrong + g->now, true, g->now);
		step_budget_group(g);
	}
	assert_int_equal(budget_timekeeper(g->nodes[2].b)->reason, TIME_FOLLOWS);
	assert_true(timekeeper_time(budget_timekeeper(g->nodes[2].b), g->now, &time_ns));
	assert_near((double)(int64_t)(time_ns - wall - g->now), 0, (double)(20 * MS));
	/* A neighbour that is silent no longer counts. */
	restart_budget_node(g, 2, false);
	run_budget_group(g, TIMEOUT);
	g->nodes[2].cut = true;
	run_budget_group(g, 2 * TIMEOUT);
	budget_clock(g->nodes[2].b, wrong + g->now, true, g->now);
	assert_true(timekeeper_time(budget_timekeeper(g->nodes[2].b), g->now, &time_ns));
	assert_true(time_ns == wrong + g->now);
}

/* Gives one node another configuration of a policy. */
static void retell_node(
	struct group *g, unsigned i, unsigned policy, uint64_t total, uint64_t terms)
{
	struct budget_policy policies[POLICIES];

	memcpy(policies, g->policies, sizeof(policies));
	policies[policy].total = total;
	policies[policy].terms = terms;
	assert_int_equal(budget_update(g->nodes[i].b, policies, g->n_policies, g->now), 0);
}

static void run_all_totals(struct group *g, unsigned policy, uint64_t total)
{
	run_budget_group(g, 10 * TIMEOUT);
	for (unsigned i = 0; i < g->n; i++)
		assert_int_equal(budget_total(g->nodes[i].b, policy), total);
}

/* With totals of 1 and 10, limiters together pass the lower one, in any order of changes. */
TEST(test_least_total)
{
	ENDED_BY(group_free_at) struct group *g = group_new(3, 2, false);

	run_budget_group(g, 10 * TIMEOUT);
	retell_node(g, 0, PREPAID, 10 * TOTAL, 0);
	run_all_totals(g, PREPAID, TOTAL);
	assert_int_equal(group_units_held(g, PREPAID), TOTAL);
	retell_node(g, 1, PREPAID, 10 * TOTAL, 0);
	run_all_totals(g, PREPAID, TOTAL);
	retell_node(g, 2, PREPAID, 9 * TOTAL, 0);
	run_all_totals(g, PREPAID, 9 * TOTAL);
	/* A lower total applies immediately where it arrives; a balance above it is a debt. */
	retell_node(g, 2, PREPAID, TOTAL, 0);
	run_budget_group(g, 5 * MS);
	assert_int_equal(take_budget_units(g, 0, PREPAID, UINT64_MAX), TOTAL);
	run_all_totals(g, PREPAID, TOTAL);
	assert_int_equal(take_budget_units(g, 1, PREPAID, UINT64_MAX), 0);
	/* Another policy is not affected, and a raise at all limiters applies. */
	assert_int_equal(budget_total(g->nodes[0].b, PERIODIC), TOTAL);
	for (unsigned i = 0; i < 3; i++)
		retell_node(g, i, PREPAID, 2 * TOTAL, 0);
	run_budget_group(g, 5 * MS);
	assert_int_equal(budget_total(g->nodes[0].b, PREPAID), 2 * TOTAL);
	run_all_totals(g, PREPAID, 2 * TOTAL);
	assert_int_equal(take_budget_units(g, 1, PREPAID, UINT64_MAX), TOTAL);
}

/* Units drawn from outside are not part of the total: they stay under any configured total. */
TEST(test_least_total_drawn)
{
	static const uint64_t totals[] = {TOTAL / 2, TOTAL, 10 * TOTAL, TOTAL};
	ENDED_BY(group_free_at) struct group *g = group_new(2, 3, false);

	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 60, g->now), 0);
	assert_int_equal(budget_set_share(g->nodes[1].b, DRAWN, 40, g->now), 0);
	for (size_t i = 0; i < COUNT(totals); i++) {
		uint64_t least = totals[i] < TOTAL ? totals[i] : TOTAL;

		retell_node(g, 1, DRAWN, totals[i], 0);
		run_budget_group(g, 4 * TIMEOUT);
		assert_int_equal(budget_total(g->nodes[0].b, DRAWN), least);
		assert_int_equal(group_units_held(g, DRAWN), 100);
		assert_int_equal(group_units_held(g, PREPAID), TOTAL);
	}
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 100);
}

static void expect_totals_of_others(struct group *g, uint64_t total)
{
	run_budget_group(g, 3 * MS);
	for (unsigned i = 1; i < g->n; i++)
		assert_int_equal(budget_total(g->nodes[i].b, PREPAID), total);
}

/* A limiter whose total changes, or ends, sends that immediately, without a request. */
TEST(test_retold_at_once)
{
	ENDED_BY(group_free_at) struct group *g = group_new(3, 1, false);

	run_budget_group(g, 10 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 1), 1);
	retell_node(g, 0, PREPAID, TOTAL / 2, 0);
	expect_totals_of_others(g, TOTAL / 2);
	retell_node(g, 0, PREPAID, TOTAL, 0);
	expect_totals_of_others(g, TOTAL);
	retell_node(g, 0, PREPAID, TOTAL / 3, 0);
	expect_totals_of_others(g, TOTAL / 3);
	assert_int_equal(budget_update(g->nodes[0].b, NULL, 0, g->now), 0);
	expect_totals_of_others(g, TOTAL);
}

/* Limiters that start with different totals learn them from answers and messages. */
TEST(test_total_after_start)
{
	ENDED_BY(group_free_at) struct group *g = group_new(2, 1, false);

	g->policies[PREPAID].total = 10 * TOTAL;
	restart_budget_node(g, 1, false);
	run_budget_group(g, 10 * TIMEOUT);
	budget_ask(g->nodes[1].b, PREPAID, 0);
	budget_tick(g->nodes[1].b, g->now);
	run_all_totals(g, PREPAID, TOTAL);
	assert_int_equal(take_budget_units(g, 1, PREPAID, UINT64_MAX), TOTAL);
	/* The last total from a silent neighbour still applies. */
	g->nodes[0].cut = true;
	run_budget_group(g, 10 * TIMEOUT);
	assert_int_equal(budget_total(g->nodes[1].b, PREPAID), TOTAL);
	assert_int_equal(take_budget_units(g, 1, PREPAID, 1), 0);
}

/*
 * The counted units differ: both reject each other's statements and nothing moves, until they agree
 * again.
 */
TEST(test_terms_apart)
{
	ENDED_BY(group_free_at) struct group *g = group_new(2, 1, false);
	uint64_t took, parts;

	run_budget_group(g, 10 * TIMEOUT);
	retell_node(g, 1, PREPAID, TOTAL, 77);
	run_budget_group(g, 4 * TIMEOUT);
	parts = budget_counters(g->nodes[0].b)->parts_sent;
	run_budget_group(g, 20 * TIMEOUT); /* without messages back and forth */
	assert_in_range(budget_counters(g->nodes[0].b)->parts_sent, parts, parts + 80);
	took = take_budget_units(g, 0, PREPAID, UINT64_MAX);
	assert_in_range(took, TOTAL / 2, TOTAL / 2 + 1);
	assert_int_equal(budget_node_view(g, 0, PREPAID).remaining, 0);
	assert_true(budget_counters(g->nodes[0].b)->differing > 0);
	assert_true(budget_counters(g->nodes[1].b)->differing > 0);
	assert_int_equal(budget_view(g->nodes[1].b, PREPAID, g->now).balance, TOTAL - took);
	retell_node(g, 1, PREPAID, TOTAL, 0);
	run_budget_group(g, 20 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PREPAID, UINT64_MAX), TOTAL - took);
}

/* One after the other misses the news of another total, and gets a request. */
TEST(test_terms_missed)
{
	ENDED_BY(group_free_at) struct group *g = group_new(3, 1, true);
	uint64_t parts;

	run_budget_group(g, 10 * TIMEOUT);
	for (unsigned round = 0; round < 20; round++) {
		uint64_t total = TOTAL * (1 + round % 3);

		g->nodes[round % 3].cut = true;
		for (unsigned i = 0; i < 3; i++)
			retell_node(g, i, PREPAID, total, 0);
		run_budget_group(g, 10 * MS);
		g->nodes[round % 3].cut = false;
		for (unsigned i = 0; i < 3; i++)
			budget_ask(g->nodes[i].b, PREPAID, round % 3); /* like digests do */
		run_all_totals(g, PREPAID, total);
	}
	parts = budget_counters(g->nodes[0].b)->parts_sent;
	run_budget_group(g, 20 * TIMEOUT);
	assert_int_equal(budget_counters(g->nodes[0].b)->parts_sent, parts);
}

/* Returns true if the first part of a message requests an answer. */
static bool asks_for_answer(const struct message *message)
{
	enum { HEAD = 85, PART = 189, AT_PARTS = HEAD + 16 };

	assert_int_equal(message->len, HEAD + PART);
	return message->at[AT_PARTS] & QUOTA_CONFIRM;
}

/* The last message that a limiter posted after the first `since` ones. */
static const struct message *last_posted(const struct group *g, unsigned from, unsigned since)
{
	const struct message *last = NULL;

	for (unsigned k = since; k < g->taped; k++)
		if (g->tape[k].from == from && g->tape[k].len > 85)
			last = &g->tape[k];
	assert_non_null(last);
	return last;
}

/*
 * A neighbour with other terms gets a request for its terms now and then. After a change on either
 * side it gets one immediately, however recent the last one was.
 */
TEST(test_asked_at_once)
{
	ENDED_BY(group_free_at) struct group *g = group_new(2, 1, false);
	unsigned since;

	run_budget_group(g, 10 * TIMEOUT);
	g->tape = test_calloc(TAPE, sizeof(*g->tape));
	for (unsigned change = 1; change <= 3; change++) {
		g->policies[PREPAID].terms = change;
		since = g->taped;
		assert_int_equal(budget_update(g->nodes[0].b, g->policies, 1, g->now), 0);
		post_test_messages(g, 0);
		assert_true(asks_for_answer(last_posted(g, 0, since)));
		since = g->taped;
		step_budget_group(g);
		assert_true(asks_for_answer(last_posted(g, 1, since)));
		run_budget_group(g, 20 * MS);
	}
	/* Then each sends one request in 800 ms, gets an answer, and sends nothing more. */
	run_budget_group(g, SECOND);
	since = g->taped;
	run_budget_group(g, 8 * 800 * MS);
	for (unsigned i = 0; i < 2; i++) {
		unsigned asked = 0, parts = 0;

		for (unsigned k = since; k < g->taped; k++) {
			if (g->tape[k].from != i || g->tape[k].len == 85)
				continue;
			asked += asks_for_answer(&g->tape[k]);
			parts++;
		}
		assert_int_equal(asked, 8);
		/* A message can hold a request and an answer. */
		assert_in_range(parts, 8, 16);
	}
	test_free(g->tape);
}

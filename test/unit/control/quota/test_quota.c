/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/prng.h"
#include "quota/divide.h"
#include "quota/spend_rate.h"
#include "quota/quota.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
#define THETA  (4 * MS)

static void test_divide(void **state)
{
	static const struct {
		uint64_t pool, weights[4], want[4];
	} cases[] = {
		{100, {1, 1, 1, 1}, {25, 25, 25, 25}},
		{10, {3, 0, 0, 7}, {3, 0, 0, 7}},
		{2, {1, 1, 1, 0}, {0, 1, 1, 0}}, /* what rounding leaves goes to somebody */
		{7, {0, 0, 0, 0}, {0, 0, 0, 7}},
		{0, {1, 2, 3, 4}, {0, 0, 0, 0}},
		{LEDGER_MOST, {UINT64_MAX, 0, UINT64_MAX, 0},
			{LEDGER_MOST / 2, 0, LEDGER_MOST / 2, 0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t parts[4];

		quota_divide(cases[i].pool, cases[i].weights, 4, parts);
		assert_memory_equal(parts, cases[i].want, sizeof(parts));
	}
}

/* Any pool and weights: the sum is exact, and no part is a unit or more away. */
static void test_divide_exactly(void **state)
{
	struct prng prng;

	(void)state;
	prng_seed(&prng, 7);
	for (unsigned round = 0; round < 2000; round++) {
		uint64_t pool = prng_next(&prng) >> (2 + prng_below(&prng, 60)), sum = 0;
		uint64_t weights[20], parts[20], all = 0;
		unsigned n = 1 + prng_below(&prng, 20);

		for (unsigned i = 0; i < n; i++) {
			weights[i] = prng_next(&prng) >> (16 + prng_below(&prng, 47));
			all += weights[i];
		}
		quota_divide(pool, weights, n, parts);
		for (unsigned i = 0; i < n; i++) {
			long double exact = all ? (long double)pool * weights[i] / all : 0;

			sum += parts[i];
			if (all && fabsl((long double)parts[i] - exact) > 1.001L)
				fail_msg("round %u: part %u", round, i);
		}
		assert_int_equal(sum, pool);
	}
}

/* From the beginning on, and after a change within a few half-lives. */
static void test_pace(void **state)
{
	struct pace pace = {0};
	uint64_t now = 0;

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		pace_spend(&pace, 10, now += 10 * MS, SECOND);
	assert_near((double)pace_rate(&pace, now, SECOND), 1e6, 0.02e6);
	assert_near((double)pace_rate(&pace, now + SECOND, SECOND) /
			    (double)pace_rate(&pace, now + 2 * SECOND, SECOND),
		2, 0.4);
	for (unsigned i = 0; i < 1000; i++)
		pace_spend(&pace, 30, now += 10 * MS, SECOND);
	assert_near((double)pace_rate(&pace, now, SECOND), 3e6, 0.05e6);
	assert_near(pace.typical, 30, 0.1);
}

/* Two limiters and the edge between them. */
struct pair {
	struct quota_node *a, *b;
	uint64_t now;
	unsigned messages;
};

static struct quota_node *make_quota_node(
	uint64_t share, bool durable, uint64_t chunk, uint64_t now)
{
	struct quota_params params = {
		.share = share,
		.period = 1,
		.n_edges = 1,
		.epoch = 1,
		.durable = durable,
		.chunk = chunk,
		.theta_ns = THETA,
		.memory_ns = SECOND,
		.repeat_ns = SECOND,
		.seed = 3,
	};
	struct quota_node *q;

	assert_int_equal(quota_create(&params, now, &q), 0);
	quota_link(q, 0, true, 1000);
	return q;
}

static struct pair pair_of(uint64_t a, uint64_t b)
{
	return (struct pair){.a = make_quota_node(a, false, 0, SECOND),
		.b = make_quota_node(b, false, 0, SECOND),
		.now = SECOND};
}

static void pair_free(struct pair *p)
{
	quota_destroy(p->a);
	quota_destroy(p->b);
}

/* Until nothing is said any more; one of them may not be heard. */
static void talk_quota_pair(struct pair *p, bool deaf)
{
	struct quota_message m;
	uint32_t edge;
	bool more = true;

	while (more) {
		more = false;
		p->now += MS;
		while (quota_next(p->a, p->now, &edge, &m)) {
			p->messages++;
			more = true;
			if (!deaf)
				assert_true(quota_hear(p->b, 0, &m, p->now));
		}
		while (quota_next(p->b, p->now, &edge, &m)) {
			p->messages++;
			more = true;
			assert_true(quota_hear(p->a, 0, &m, p->now));
		}
	}
}

static void test_params(void **state)
{
	static const struct quota_params bad[] = {
		{.epoch = 1, .theta_ns = 0, .memory_ns = 1, .repeat_ns = 1},
		{.epoch = 1, .theta_ns = 1, .memory_ns = 0, .repeat_ns = 1},
		{.epoch = 1, .theta_ns = 1, .memory_ns = 1, .repeat_ns = 0},
		{.epoch = 0, .theta_ns = 1, .memory_ns = 1, .repeat_ns = 1},
		{.epoch = 1,
			.theta_ns = 1,
			.memory_ns = 1,
			.repeat_ns = 1,
			.share = LEDGER_MOST + 1},
	};
	struct quota_node *q;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(quota_create(&bad[i], 0, &q), -EINVAL);
}

/* The last unit and not one more; asking takes two messages. */
static void test_last_unit(void **state)
{
	struct pair p = pair_of(10, 90);

	(void)state;
	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	talk_quota_pair(&p, false);
	assert_int_equal(p.messages, 2);
	assert_int_equal(quota_spend(p.a, 40, p.now), 0);
	talk_quota_pair(&p, false);
	while (quota_spend(p.a, 1, p.now) != -EDQUOT)
		talk_quota_pair(&p, false);
	assert_int_equal(quota_view(p.a, p.now).spent, 100);
	assert_int_equal(quota_view(p.b, p.now).balance, 0);
	/* That there is nothing is known: nobody is asked in vain. */
	p.messages = 0;
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(quota_spend(p.a, 1, p.now), -EDQUOT);
		quota_tick(p.a, p.now);
		talk_quota_pair(&p, false);
	}
	assert_int_equal(p.messages, 0);
	pair_free(&p);
}

/* Below the threshold, before there is too little, units are asked for; not above it. */
static void test_threshold(void **state)
{
	struct pair p = pair_of(1000, 1000);
	struct quota_view view;
	uint64_t before = 1000;

	(void)state;
	while (p.messages == 0) {
		before = (uint64_t)quota_view(p.a, p.now).balance;
		assert_int_equal(quota_spend(p.a, 20, p.now), 0);
		talk_quota_pair(&p, false);
		p.now += 10 * MS;
		assert_true(before >= 40);
	}
	view = quota_view(p.a, p.now);
	/* 20 units in 12 ms; in two thetas about 13, and a packet more. */
	assert_near((double)view.threshold, 34, 5);
	assert_in_range(before, view.threshold, view.threshold + 30);
	assert_true(view.balance > 500);
	pair_free(&p);
}

/*
 * What is left is divided by rate: a node that spends nothing keeps nothing that it does not need.
 */
static void test_by_rate(void **state)
{
	struct pair p = pair_of(4000, 4000);
	double a, b;

	(void)state;
	for (unsigned i = 0; i < 190; i++) {
		quota_spend(p.a, 30, p.now);
		quota_spend(p.b, 10, p.now);
		talk_quota_pair(&p, false);
		p.now += 10 * MS;
	}
	a = (double)quota_view(p.a, p.now).balance;
	b = (double)quota_view(p.b, p.now).balance;
	assert_int_equal(quota_view(p.a, p.now).spent, 190 * 30);
	assert_int_equal(quota_view(p.b, p.now).spent, 190 * 10);
	assert_near(a + b, 400, 0);
	/* Both know how fast all is spent: 30 and 10 units every 10 ms, as of the last message. */
	assert_near((double)quota_view(p.a, p.now).pace, 4e6, 0.5e6);
	assert_near((double)quota_view(p.b, p.now).pace, 4e6, 0.5e6);
	pair_free(&p);
}

/* A neighbour that is silent is asked twice, and given up; when it is back it is asked again. */
static void test_silence(void **state)
{
	struct pair p = pair_of(10, 90);
	uint64_t began = p.now;

	(void)state;
	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	while (quota_spend(p.a, 40, p.now) == -EAGAIN && p.now - began < SECOND) {
		quota_tick(p.a, p.now);
		talk_quota_pair(&p, true);
	}
	assert_int_equal(quota_spend(p.a, 40, p.now), -EDQUOT);
	assert_in_range(p.now - began, 5 * THETA, 8 * THETA + 10 * MS);
	assert_int_equal(p.messages, 2);
	for (began = p.now; quota_spend(p.a, 40, p.now) && p.now - began < 10 * SECOND;) {
		quota_tick(p.a, p.now);
		talk_quota_pair(&p, false);
	}
	assert_int_equal(quota_view(p.a, p.now).spent, 40);
	pair_free(&p);
}

/* More for one is news for the other, which has been told that there is nothing. */
static void test_top_up(void **state)
{
	struct pair p = pair_of(10, 0);

	(void)state;
	while (quota_spend(p.b, 10, p.now) == -EAGAIN)
		talk_quota_pair(&p, false);
	while (quota_spend(p.b, 5, p.now) == -EAGAIN)
		talk_quota_pair(&p, false);
	assert_int_equal(quota_spend(p.b, 5, p.now), -EDQUOT);
	assert_int_equal(quota_set_share(p.a, 30, p.now), 0);
	talk_quota_pair(&p, false);
	assert_int_equal(quota_spend(p.b, 5, p.now), 0);
	/* Less than what is gone already: a debt, which the other pays. */
	assert_int_equal(quota_set_share(p.a, 20, p.now), 0);
	talk_quota_pair(&p, false);
	for (unsigned i = 0; i < 100; i++) {
		quota_tick(p.a, p.now += THETA);
		talk_quota_pair(&p, false);
	}
	assert_int_equal(quota_view(p.a, p.now).balance + quota_view(p.b, p.now).balance, 5);
	assert_true(quota_view(p.a, p.now).balance >= 0);
	pair_free(&p);
}

/* Units of a period that has ended, on their way, are nobody's; each period has its total. */
static void test_periods(void **state)
{
	struct pair p = pair_of(10, 90);
	struct quota_message m;
	uint32_t edge;

	(void)state;
	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	assert_true(quota_next(p.a, p.now, &edge, &m));
	assert_true(quota_hear(p.b, 0, &m, p.now));
	assert_true(quota_next(p.b, p.now, &edge, &m));
	assert_int_equal(quota_period(p.a, 1, 10, p.now), -EINVAL);
	assert_int_equal(quota_period(p.a, 2, 10, p.now), 0);
	assert_true(quota_hear(p.a, 0, &m, p.now));
	assert_int_equal(quota_view(p.a, p.now).balance, 10);
	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	talk_quota_pair(&p, false);
	assert_int_equal(quota_view(p.a, p.now).balance, 10);
	assert_int_equal(quota_period(p.b, 2, 90, p.now), 0);
	for (unsigned i = 0; i < 100 && quota_spend(p.a, 40, p.now); i++) {
		quota_tick(p.a, p.now += THETA);
		talk_quota_pair(&p, false);
	}
	assert_int_equal(quota_view(p.a, p.now).spent, 40);
	assert_int_equal(quota_view(p.b, p.now).balance + quota_view(p.a, p.now).balance, 60);
	pair_free(&p);
}

static struct quota_node *restored_quota_node(const void *record, size_t len, uint64_t period)
{
	struct quota_params params = {
		.share = 100,
		.period = period,
		.n_edges = 1,
		.epoch = 2,
		.durable = true,
		.chunk = 16,
		.theta_ns = THETA,
		.memory_ns = SECOND,
		.repeat_ns = SECOND,
	};
	struct quota_node *q;

	assert_int_equal(quota_restore(&params, record, len, SECOND, &q), 0);
	return q;
}

/* With a disk nothing is used before a record says that it is spent; a crash forgets none of it. */
static void test_durable(void **state)
{
	struct quota_node *q = make_quota_node(100, true, 16, SECOND);
	char record[4096];
	uint64_t used = 0;
	size_t len;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(quota_spend(q, 1, SECOND), -EAGAIN);
	for (unsigned i = 0; i < 20; i++) {
		while (quota_spend(q, 1, SECOND) == 0)
			used++;
		assert_int_equal(used == 0, i == 0);
		assert_int_equal(quota_save(q, record, &len), 0);
		assert_int_equal(quota_save(q, record, &len), -EBUSY);
		if (i == 3)
			break;
		quota_committed(q);
	}
	quota_destroy(q);
	q = restored_quota_node(record, len, 1);
	assert_true(quota_view(q, SECOND).spent >= used);
	assert_int_equal(quota_view(q, SECOND).balance + (int64_t)quota_view(q, SECOND).spent, 100);
	quota_destroy(q);
	/* A record of an earlier period says nothing of this one; one of a later is gone by. */
	q = restored_quota_node(record, len, 2);
	assert_int_equal(quota_view(q, SECOND).balance, 100);
	quota_destroy(q);
	q = restored_quota_node(record, len, 0);
	assert_int_equal(quota_view(q, SECOND).period, 1);
	assert_true(quota_view(q, SECOND).balance < 100);
	quota_destroy(q);
}

/* Units that passed and were not used are free again, and no more than have passed. */
static void test_refund(void **state)
{
	struct quota_node *q = make_quota_node(100, true, 16, SECOND);
	char record[4096];
	size_t len;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(quota_spend(q, 30, SECOND), i == 0 ? -EAGAIN : 0);
		assert_int_equal(quota_save(q, record, &len), 0);
		quota_committed(q);
	}
	/* Also while a record is on its way that says that they are spent. */
	assert_int_equal(quota_spend(q, 20, SECOND), -EAGAIN);
	assert_int_equal(quota_save(q, record, &len), 0);
	quota_refund(q, 10);
	assert_int_equal(quota_view(q, SECOND).spent, 20);
	assert_int_equal(quota_view(q, SECOND).prepaid, 0);
	assert_int_equal(quota_view(q, SECOND).balance, 80);
	quota_committed(q);
	assert_int_equal(quota_spend(q, 1, SECOND), -EAGAIN); /* not before the next record */
	quota_refund(q, 1000);
	assert_int_equal(quota_view(q, SECOND).spent, 0);
	assert_int_equal(quota_save(q, record, &len), 0);
	quota_destroy(q);
	q = restored_quota_node(record, len, 1);
	assert_int_equal(quota_view(q, SECOND).balance, 100);
	quota_destroy(q);
}

/* A record that did not become durable: nothing may be used, and the next one has it all. */
static void test_save_failed(void **state)
{
	struct quota_node *q = make_quota_node(100, true, 16, SECOND);
	char record[4096];
	size_t len;

	(void)state;
	assert_int_equal(quota_spend(q, 30, SECOND), -EAGAIN);
	assert_int_equal(quota_save(q, record, &len), 0);
	quota_save_failed(q);
	assert_int_equal(quota_spend(q, 30, SECOND), -EAGAIN);
	assert_true(quota_uncommitted(q));
	assert_int_equal(quota_view(q, SECOND).spent, 30);
	assert_int_equal(quota_save(q, record, &len), 0);
	quota_committed(q);
	assert_int_equal(quota_spend(q, 30, SECOND), 0);
	quota_destroy(q);
}

static void save_quota_node(struct quota_node *q)
{
	char record[4096];
	size_t len;

	if (!quota_uncommitted(q))
		return;
	assert_int_equal(quota_save(q, record, &len), 0); /* recovering, there is nothing to save */
	quota_committed(q);
}

/* Two that have lost their memory tell each other, although neither has anything to save. */
static void test_both_recovering(void **state)
{
	struct quota_params params = {
		.share = 50,
		.n_edges = 1,
		.epoch = 2,
		.recovering = true,
		.durable = true,
		.theta_ns = THETA,
		.memory_ns = SECOND,
		.repeat_ns = 4 * MS,
	};
	struct pair p = {.now = SECOND};

	(void)state;
	assert_int_equal(quota_create(&params, p.now, &p.a), 0);
	assert_int_equal(quota_create(&params, p.now, &p.b), 0);
	for (unsigned i = 0; i < 10; i++) {
		save_quota_node(p.a);
		save_quota_node(p.b);
		quota_tick(p.a, p.now);
		quota_tick(p.b, p.now);
		talk_quota_pair(&p, false);
	}
	assert_false(quota_view(p.a, p.now).recovering || quota_view(p.b, p.now).recovering);
	pair_free(&p);
}

/* Two that stay recovering, as somebody else is silent, do not answer each other for ever. */
static void test_recovering_for_long(void **state)
{
	struct quota_params params = {
		.share = 50,
		.n_edges = 2,
		.epoch = 2,
		.recovering = true,
		.theta_ns = THETA,
		.memory_ns = SECOND,
		.repeat_ns = SECOND,
	};
	struct quota_message m;
	struct pair p = {.now = SECOND};

	(void)state;
	assert_int_equal(quota_create(&params, p.now, &p.a), 0);
	assert_int_equal(quota_create(&params, p.now, &p.b), 0);
	for (; p.now < 2 * SECOND; p.now += MS) {
		quota_tick(p.a, p.now);
		quota_tick(p.b, p.now);
		p.messages += quota_next_to(p.a, p.now, 0, &m) && quota_hear(p.b, 0, &m, p.now);
		p.messages += quota_next_to(p.b, p.now, 0, &m) && quota_hear(p.a, 0, &m, p.now);
	}
	assert_true(quota_view(p.a, p.now).recovering && quota_view(p.b, p.now).recovering);
	assert_in_range(p.messages, 2, 8);
	pair_free(&p);
}

/* What was asked over an edge that leaves the tree is not waited for. */
static void test_unlink(void **state)
{
	struct pair p = pair_of(10, 90);
	struct quota_message m;

	(void)state;
	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	assert_true(quota_next_to(p.a, p.now, 0, &m));
	assert_false(quota_next_to(p.a, p.now, 0, &m));
	assert_true(quota_view(p.a, p.now).asking);
	quota_link(p.a, 0, false, 0);
	quota_tick(p.a, p.now);
	assert_false(quota_view(p.a, p.now).asking);
	/* It comes back, and is asked at once. */
	quota_link(p.a, 0, true, 1000);
	quota_tick(p.a, p.now);
	talk_quota_pair(&p, false);
	assert_int_equal(quota_spend(p.a, 40, p.now), 0);
	pair_free(&p);
}

#define LOOP 3

static void send_around_loop(struct quota_node *q[LOOP], unsigned i, uint64_t now)
{
	struct quota_message m;

	while (quota_next_to(q[i], now, 0, &m))
		assert_true(quota_hear(q[(i + 1) % LOOP], 1, &m, now));
	while (quota_next_to(q[i], now, 1, &m))
		assert_true(quota_hear(q[(i + LOOP - 1) % LOOP], 0, &m, now));
}

/* Each asks the next, around a loop, and waits for itself: every round ends nevertheless. */
static void test_loop(void **state)
{
	struct quota_params params = {
		.share = 5,
		.n_edges = 2,
		.epoch = 2,
		.theta_ns = THETA,
		.memory_ns = SECOND,
		.repeat_ns = 50 * MS,
	};
	uint64_t rounds[LOOP] = {0}, since[LOOP], now = SECOND;
	struct quota_node *q[LOOP];

	(void)state;
	for (unsigned i = 0; i < LOOP; i++) {
		params.seed = i;
		since[i] = now;
		assert_int_equal(quota_create(&params, now, &q[i]), 0);
		quota_link(q[i], 0, true, 100); /* to the next */
		quota_link(q[i], 1, true, 0);
	}
	for (; now < 20 * SECOND; now += MS / 2) {
		for (unsigned i = 0; i < LOOP; i++) {
			struct quota_view view;

			assert_int_not_equal(quota_spend(q[i], 30, now), 0);
			quota_tick(q[i], now);
			send_around_loop(q, i, now);
			view = quota_view(q[i], now);
			if (!view.asking || view.rounds != rounds[i])
				since[i] = now;
			rounds[i] = view.rounds;
			if (now - since[i] > 2 * SECOND)
				fail_msg("%u asks for ever, in round %" PRIu64, i, view.rounds);
		}
	}
	for (unsigned i = 0; i < LOOP; i++)
		quota_destroy(q[i]);
}

static void test_nonsense(void **state)
{
	struct pair p = pair_of(10, 90);
	struct quota_message m, good;
	uint32_t edge;

	(void)state;
	quota_spend(p.a, 40, p.now);
	assert_true(quota_next(p.a, p.now, &edge, &good));
	m = good;
	m.parts = QUOTA_PARTS + 1;
	assert_false(quota_hear(p.b, 0, &m, p.now));
	m = good;
	m.urgent = m.need + 1;
	assert_false(quota_hear(p.b, 0, &m, p.now));
	m = good;
	m.held = LEDGER_MOST + 1;
	assert_false(quota_hear(p.b, 0, &m, p.now));
	m = good;
	m.statement.received = 50;
	assert_false(quota_hear(p.b, 0, &m, p.now));
	assert_int_equal(quota_view(p.b, p.now).invalid, 4);
	assert_int_equal(quota_view(p.b, p.now).balance, 90);
	assert_true(quota_hear(p.b, 0, &good, p.now));
	pair_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_divide),
		cmocka_unit_test(test_divide_exactly),
		cmocka_unit_test(test_pace),
		cmocka_unit_test(test_params),
		cmocka_unit_test(test_last_unit),
		cmocka_unit_test(test_threshold),
		cmocka_unit_test(test_by_rate),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_top_up),
		cmocka_unit_test(test_periods),
		cmocka_unit_test(test_durable),
		cmocka_unit_test(test_refund),
		cmocka_unit_test(test_save_failed),
		cmocka_unit_test(test_both_recovering),
		cmocka_unit_test(test_recovering_for_long),
		cmocka_unit_test(test_unlink),
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

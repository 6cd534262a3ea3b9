/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A quota that limiters share: it is divided exactly, and spent to the last unit, never more. A
 * silent neighbour is given up, and gets requests again when it returns.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "quota/quota.h"
#include "quota_pair.h"

TEST(test_divide)
{
	static const struct {
		uint64_t pool, weights[4], want[4];
	} cases[] = {
		{100, {1, 1, 1, 1}, {25, 25, 25, 25}},
		{10, {3, 0, 0, 7}, {3, 0, 0, 7}},
		{2, {1, 1, 1, 0}, {0, 1, 1, 0}}, /* the rest from rounding goes to one of them */
		{7, {0, 0, 0, 0}, {0, 0, 0, 7}},
		{0, {1, 2, 3, 4}, {0, 0, 0, 0}},
		{LEDGER_MOST, {UINT64_MAX, 0, UINT64_MAX, 0},
			{LEDGER_MOST / 2, 0, LEDGER_MOST / 2, 0}},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t parts[4];

		quota_divide(cases[i].pool, cases[i].weights, 4, parts);
		assert_memory_equal(parts, cases[i].want, sizeof(parts));
	}
}

/* Any pool and weights: the sum is exact, and each part is less than a unit off. */
TEST(test_divide_exactly)
{
	struct prng prng;

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

/* The rate is right from the start, and after a change within a few half-lives. */
TEST(test_pace)
{
	struct pace pace = {0};
	uint64_t now = 0;

	for (unsigned i = 0; i < 100; i++)
		pace_spend(&pace, 10, now += 10 * MS, SECOND);
	assert_near((double)pace_rate(&pace, now, SECOND), 1e6, 0.02e6);
	assert_near((double)pace_rate(&pace, now + SECOND, SECOND) /
			    (double)pace_rate(&pace, now + 2 * SECOND, SECOND),
		2, 0.4);
	for (unsigned i = 0; i < 1000; i++) {
		pace_spend(&pace, 30, now += 10 * MS, SECOND);
		pace_typical(&pace, 30);
	}
	assert_near((double)pace_rate(&pace, now, SECOND), 3e6, 0.05e6);
	assert_near(pace.typical, 30, 0.1);
}

TEST(test_params)
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

	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(quota_create(&bad[i], 0, &q), -EINVAL);
}

/* The last unit is spent, and not one more; a request and its answer are two messages. */
TEST(test_last_unit)
{
	ENDED_BY(pair_free) struct pair p = pair_of(10, 90);

	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	talk_quota_pair(&p, false);
	assert_int_equal(p.messages, 2);
	assert_int_equal(quota_spend(p.a, 40, p.now), 0);
	talk_quota_pair(&p, false);
	while (quota_spend(p.a, 1, p.now) != -EDQUOT)
		talk_quota_pair(&p, false);
	assert_int_equal(quota_view(p.a, p.now).spent, 100);
	assert_int_equal(quota_view(p.b, p.now).balance, 0);
	/* Both have reports that no unit is left, so no request is sent. */
	p.messages = 0;
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(quota_spend(p.a, 1, p.now), -EDQUOT);
		tick_quota(p.a, p.now);
		talk_quota_pair(&p, false);
	}
	assert_int_equal(p.messages, 0);
}

/* Units are requested below the threshold, before they run out, and not above it. */
TEST(test_threshold)
{
	ENDED_BY(pair_free) struct pair p = pair_of(1000, 1000);
	struct quota_view view;
	uint64_t before = 1000;

	while (p.messages == 0) {
		before = (uint64_t)quota_view(p.a, p.now).balance;
		assert_int_equal(quota_spend(p.a, 20, p.now), 0);
		talk_quota_pair(&p, false);
		p.now += 10 * MS;
		assert_true(before >= 40);
	}
	view = quota_view(p.a, p.now);
	/* 20 units in 12 ms: in two thetas about 13, and a packet more. */
	assert_near((double)view.threshold, 34, 5);
	assert_in_range(before, view.threshold, view.threshold + 30);
	assert_true(view.balance > 500);
}

/* The rest is divided by rate: a node that spends nothing keeps only the units that it needs. */
TEST(test_by_rate)
{
	ENDED_BY(pair_free) struct pair p = pair_of(4000, 4000);
	double a, b;

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
	/* Both report the total rate: 30 and 10 units every 10 ms, as in the last message. */
	assert_near((double)quota_view(p.a, p.now).pace, 4e6, 0.5e6);
	assert_near((double)quota_view(p.b, p.now).pace, 4e6, 0.5e6);
}

/* A silent neighbour gets two requests and is given up; when it returns it gets requests again. */
TEST(test_silence)
{
	ENDED_BY(pair_free) struct pair p = pair_of(10, 90);
	uint64_t began = p.now;

	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	while (quota_spend(p.a, 40, p.now) == -EAGAIN && p.now - began < SECOND) {
		tick_quota(p.a, p.now);
		talk_quota_pair(&p, true);
	}
	assert_int_equal(quota_spend(p.a, 40, p.now), -EDQUOT);
	assert_in_range(p.now - began, 5 * THETA, 8 * THETA + 10 * MS);
	assert_int_equal(p.messages, 2);
	for (began = p.now; quota_spend(p.a, 40, p.now) && p.now - began < 10 * SECOND;) {
		tick_quota(p.a, p.now);
		talk_quota_pair(&p, false);
	}
	assert_int_equal(quota_view(p.a, p.now).spent, 40);
}

/*
 * A node that got its requested units requests again as soon as it needs more: no request failed.
 */
TEST(test_asks_again)
{
	ENDED_BY(pair_free) struct pair p = pair_of(10, 1000000);
	uint64_t need = 20, began;

	for (unsigned i = 0; i < 10; i++, need *= 3) {
		for (began = p.now; quota_spend(p.a, need, p.now) == -EAGAIN;) {
			assert_true(p.now - began < THETA);
			tick_quota(p.a, p.now);
			talk_quota_pair(&p, false);
		}
	}
}

/*
 * A neighbour that was away for long gets a request within seconds of its return, however slow the
 * group is.
 */
TEST(test_long_absence)
{
	static const uint64_t thetas[] = {THETA, 50 * MS, 500 * MS};

	for (size_t i = 0; i < COUNT(thetas); i++) {
		struct pair p = slow_pair_of(10, 90, thetas[i]);
		uint64_t end = p.now + 3600 * SECOND;

		while (p.now < end) {
			quota_spend(p.a, 40, p.now);
			tick_quota(p.a, p.now += 10 * MS);
			talk_quota_pair(&p, true);
		}
		for (end = p.now; quota_spend(p.a, 40, p.now) && p.now - end < 3600 * SECOND;) {
			tick_quota(p.a, p.now += 10 * MS);
			tick_quota(p.b, p.now);
			talk_quota_pair(&p, false);
		}
		if (p.now - end > 5 * SECOND)
			fail_msg("theta %" PRIu64 " ms: asked after %" PRIu64 " ms", thetas[i] / MS,
				(p.now - end) / MS);
		pair_free(&p);
	}
}

/* If answers take long, a neighbour that does not answer gets few requests. */
TEST(test_slow_absence)
{
	const uint64_t theta = 10 * SECOND, hour = 3600 * SECOND;
	ENDED_BY(pair_free) struct pair p = slow_pair_of(10, 90, theta);

	for (uint64_t end = p.now + hour; p.now < end;) {
		quota_spend(p.a, 40, p.now);
		tick_quota(p.a, p.now += 10 * MS);
		talk_quota_pair(&p, true);
	}
	/* Two requests, six answer times, and at least half of that again. */
	assert_in_range(p.messages, 10, 2 * (hour / (9 * theta) + 1));
}

/* New units of one limiter are news for the other, whose last report was 0 units. */
TEST(test_top_up)
{
	ENDED_BY(pair_free) struct pair p = pair_of(10, 0);

	while (quota_spend(p.b, 10, p.now) == -EAGAIN)
		talk_quota_pair(&p, false);
	while (quota_spend(p.b, 5, p.now) == -EAGAIN)
		talk_quota_pair(&p, false);
	assert_int_equal(quota_spend(p.b, 5, p.now), -EDQUOT);
	assert_int_equal(quota_set_share(p.a, 30, p.now), 0);
	talk_quota_pair(&p, false);
	assert_int_equal(quota_spend(p.b, 5, p.now), 0);
	/* A share below the amount already spent or granted: a debt, which the other pays. */
	assert_int_equal(quota_set_share(p.a, 20, p.now), 0);
	talk_quota_pair(&p, false);
	for (unsigned i = 0; i < 100; i++) {
		tick_quota(p.a, p.now += THETA);
		talk_quota_pair(&p, false);
	}
	assert_int_equal(quota_view(p.a, p.now).balance + quota_view(p.b, p.now).balance, 5);
	assert_true(quota_view(p.a, p.now).balance >= 0);
}

/* A refusal ends with the next top-up, even a small one: requests are sent again. */
TEST(test_small_top_up)
{
	ENDED_BY(pair_free) struct pair p = pair_of(10, 0);

	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	talk_quota_pair(&p, false);
	assert_int_equal(quota_spend(p.a, 40, p.now), -EDQUOT);
	p.now += 2 * SECOND; /* the other's report is old */
	assert_int_equal(quota_set_share(p.a, 20, p.now), 0);
	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	talk_quota_pair(&p, false);
	assert_int_equal(quota_spend(p.a, 40, p.now), -EDQUOT);
}

/* Units in flight at the end of a period are void; each period has its own total. */
TEST(test_periods)
{
	ENDED_BY(pair_free) struct pair p = pair_of(10, 90);
	struct quota_message m;
	uint32_t edge;

	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	assert_true(quota_next(p.a, p.now, &edge, &m));
	assert_true(quota_receive(p.b, 0, &m, p.now));
	assert_true(quota_next(p.b, p.now, &edge, &m));
	assert_int_equal(quota_period(p.a, 1, 10, p.now), -EINVAL);
	/* A period that cannot begin leaves the previous one unchanged. */
	assert_int_equal(quota_period(p.a, 2, LEDGER_MOST + 1, p.now), -EINVAL);
	assert_int_equal(quota_period(p.a, 2, 10, p.now), 0);
	assert_true(quota_receive(p.a, 0, &m, p.now));
	assert_int_equal(quota_view(p.a, p.now).balance, 10);
	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	talk_quota_pair(&p, false);
	assert_int_equal(quota_view(p.a, p.now).balance, 10);
	assert_int_equal(quota_period(p.b, 2, 90, p.now), 0);
	for (unsigned i = 0; i < 100 && quota_spend(p.a, 40, p.now); i++) {
		tick_quota(p.a, p.now += THETA);
		talk_quota_pair(&p, false);
	}
	assert_int_equal(quota_view(p.a, p.now).spent, 40);
	assert_int_equal(quota_view(p.b, p.now).balance + quota_view(p.a, p.now).balance, 60);
}

/* A request over an edge that leaves the tree is not waited for. */
TEST(test_unlink)
{
	ENDED_BY(pair_free) struct pair p = pair_of(10, 90);
	struct quota_message m;

	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	assert_true(quota_next_to(p.a, p.now, 0, &m));
	assert_false(quota_next_to(p.a, p.now, 0, &m));
	assert_true(quota_view(p.a, p.now).asking);
	quota_link(p.a, 0, false, 0);
	tick_quota(p.a, p.now);
	assert_false(quota_view(p.a, p.now).asking);
	/* The edge returns, and gets a request immediately. */
	quota_link(p.a, 0, true, 1000);
	tick_quota(p.a, p.now);
	talk_quota_pair(&p, false);
	assert_int_equal(quota_spend(p.a, 40, p.now), 0);
}

#define LOOP 3

static void send_around_loop(struct quota_node *q[LOOP], unsigned i, uint64_t now)
{
	struct quota_message m;

	while (quota_next_to(q[i], now, 0, &m))
		assert_true(quota_receive(q[(i + 1) % LOOP], 1, &m, now));
	while (quota_next_to(q[i], now, 1, &m))
		assert_true(quota_receive(q[(i + LOOP - 1) % LOOP], 0, &m, now));
}

/* Each requests from the next, around a loop, so it waits for itself: every round still ends. */
TEST(test_loop)
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
			tick_quota(q[i], now);
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

TEST(test_nonsense)
{
	ENDED_BY(pair_free) struct pair p = pair_of(10, 90);
	struct quota_message m, good;
	uint32_t edge;

	quota_spend(p.a, 40, p.now);
	assert_true(quota_next(p.a, p.now, &edge, &good));
	m = good;
	m.parts = QUOTA_PARTS + 1;
	assert_false(quota_receive(p.b, 0, &m, p.now));
	m = good;
	m.urgent = m.need + 1;
	assert_false(quota_receive(p.b, 0, &m, p.now));
	m = good;
	m.held = LEDGER_MOST + 1;
	assert_false(quota_receive(p.b, 0, &m, p.now));
	m = good;
	m.statement.received = 50;
	assert_false(quota_receive(p.b, 0, &m, p.now));
	assert_int_equal(quota_view(p.b, p.now).invalid, 4);
	assert_int_equal(quota_view(p.b, p.now).balance, 90);
	assert_true(quota_receive(p.b, 0, &good, p.now));
}

/* Every field of a message may be as large as a ledger's maximum, and not one larger. */
TEST(test_nonsense_numbers)
{
	static const struct quota_message rows[] = {
		{.need = LEDGER_MOST},
		{.need = LEDGER_MOST, .urgent = LEDGER_MOST},
		{.asking = LEDGER_MOST},
		{.held = LEDGER_MOST},
		{.pace = LEDGER_MOST},
		{.parts = QUOTA_PARTS},
		{.need = LEDGER_MOST + 1},
		{.need = 4, .urgent = 5},
		{.asking = LEDGER_MOST + 1},
		{.held = LEDGER_MOST + 1},
		{.pace = LEDGER_MOST + 1},
		{.parts = QUOTA_PARTS + 1},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
		struct quota_node *q = make_quota_node(100, false, 0, THETA, SECOND);
		struct quota_message m = rows[k];

		m.period = 1;
		m.statement = (struct ledger_statement){.epoch = 9, .stamp = 1};
		assert_int_equal(quota_receive(q, 0, &m, SECOND), k < 6);
		assert_int_equal(quota_view(q, SECOND).invalid, k >= 6);
		quota_destroy(q);
	}
}

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

/* When it is to be ticked next is always ahead. */
static void tick_quota(struct quota_node *q, uint64_t now)
{
	assert_true(quota_tick(q, now) > now);
}

static struct quota_node *make_quota_node(
	uint64_t share, bool durable, uint64_t chunk, uint64_t theta, uint64_t now)
{
	struct quota_params params = {
		.share = share,
		.period = 1,
		.n_edges = 1,
		.epoch = 1,
		.durable = durable,
		.chunk = chunk,
		.theta_ns = theta,
		.memory_ns = SECOND,
		.repeat_ns = SECOND,
		.seed = 3,
	};
	struct quota_node *q;

	assert_int_equal(quota_create(&params, now, &q), 0);
	quota_link(q, 0, true, 1000);
	return q;
}

static struct pair slow_pair_of(uint64_t a, uint64_t b, uint64_t theta)
{
	return (struct pair){.a = make_quota_node(a, false, 0, theta, SECOND),
		.b = make_quota_node(b, false, 0, theta, SECOND),
		.now = SECOND};
}

static struct pair pair_of(uint64_t a, uint64_t b)
{
	return slow_pair_of(a, b, THETA);
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
		tick_quota(p.a, p.now);
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
	pair_free(&p);
}

/* A node that has got what it asked for asks again as soon as it needs more: nothing has failed. */
static void test_asks_again(void **state)
{
	struct pair p = pair_of(10, 1000000);
	uint64_t need = 20, began;

	(void)state;
	for (unsigned i = 0; i < 10; i++, need *= 3) {
		for (began = p.now; quota_spend(p.a, need, p.now) == -EAGAIN;) {
			assert_true(p.now - began < THETA);
			tick_quota(p.a, p.now);
			talk_quota_pair(&p, false);
		}
	}
	pair_free(&p);
}

/*
 * A neighbour that was away for long is asked within seconds once it is back, however slow the
 * group is.
 */
static void test_long_absence(void **state)
{
	static const uint64_t thetas[] = {THETA, 50 * MS, 500 * MS};

	(void)state;
	for (size_t i = 0; i < sizeof(thetas) / sizeof(thetas[0]); i++) {
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

/* Where an answer takes long one that does not come is not asked for the oftener. */
static void test_slow_absence(void **state)
{
	const uint64_t theta = 10 * SECOND, hour = 3600 * SECOND;
	struct pair p = slow_pair_of(10, 90, theta);

	(void)state;
	for (uint64_t end = p.now + hour; p.now < end;) {
		quota_spend(p.a, 40, p.now);
		tick_quota(p.a, p.now += 10 * MS);
		talk_quota_pair(&p, true);
	}
	/* Two requests, six times what an answer takes, and at least half of that again. */
	assert_in_range(p.messages, 10, 2 * (hour / (9 * theta) + 1));
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
		tick_quota(p.a, p.now += THETA);
		talk_quota_pair(&p, false);
	}
	assert_int_equal(quota_view(p.a, p.now).balance + quota_view(p.b, p.now).balance, 5);
	assert_true(quota_view(p.a, p.now).balance >= 0);
	pair_free(&p);
}

/* A refusal ends with a top-up after a top-up, also with a small one: others are asked again. */
static void test_small_top_up(void **state)
{
	struct pair p = pair_of(10, 0);

	(void)state;
	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	talk_quota_pair(&p, false);
	assert_int_equal(quota_spend(p.a, 40, p.now), -EDQUOT);
	p.now += 2 * SECOND; /* what the other has said is old */
	assert_int_equal(quota_set_share(p.a, 20, p.now), 0);
	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	talk_quota_pair(&p, false);
	assert_int_equal(quota_spend(p.a, 40, p.now), -EDQUOT);
	pair_free(&p);
}

/* A hub and its neighbours, which it believes to have units: one asks it, the others are asked. */
#define SPOKES 3

struct star {
	struct quota_node *hub, *spokes[SPOKES];
	uint64_t now;
	bool partial[SPOKES],
		silent[SPOKES];             /* what they say of others; whether they say anything */
	struct quota_message heard[SPOKES]; /* the last of the hub's */
};

static struct star star_of(uint64_t hub)
{
	struct quota_params params = {.share = hub,
		.period = 1,
		.n_edges = SPOKES,
		.epoch = 1,
		.theta_ns = THETA,
		.memory_ns = SECOND,
		.repeat_ns = SECOND,
		.seed = 3};
	struct star s = {.now = SECOND};

	assert_int_equal(quota_create(&params, s.now, &s.hub), 0);
	for (uint32_t i = 0; i < SPOKES; i++) {
		s.spokes[i] = make_quota_node(0, false, 0, THETA, s.now);
		quota_link(s.hub, i, true, 1000);
	}
	return s;
}

static void star_free(struct star *s)
{
	quota_destroy(s->hub);
	for (uint32_t i = 0; i < SPOKES; i++)
		quota_destroy(s->spokes[i]);
}

static void talk_star(struct star *s, uint64_t ns)
{
	for (uint64_t end = s->now + ns; s->now < end;) {
		struct quota_message m;
		uint32_t edge;

		tick_quota(s->hub, s->now += MS);
		while (quota_next(s->hub, s->now, &edge, &m)) {
			s->heard[edge] = m;
			assert_true(quota_hear(s->spokes[edge], 0, &m, s->now));
		}
		for (uint32_t i = 0; i < SPOKES; i++)
			while (quota_next(s->spokes[i], s->now, &edge, &m)) {
				m.partial |= s->partial[i];
				if (!s->silent[i])
					assert_true(quota_hear(s->hub, i, &m, s->now));
			}
	}
}

/*
 * Whoever hears that there are too few hears also whether somebody was not asked, or did not
 * answer, or says so of others: only if all were heard is there nothing to wait for.
 */
static void test_partial(void **state)
{
	(void)state;
	for (unsigned row = 0; row < 16; row++) {
		struct star s = star_of(10);
		bool whole = row == 0;

		for (unsigned i = 1; i < SPOKES; i++) {
			s.partial[i] = row >> (i - 1) & 1;
			s.silent[i] = row >> (i + 1) & 1;
		}
		assert_int_equal(quota_spend(s.spokes[0], 40, s.now), -EAGAIN);
		for (unsigned ms = 0; ms < 200 && !(s.heard[0].parts & QUOTA_REPORT); ms++)
			talk_star(&s, MS);
		assert_true(s.heard[0].parts & QUOTA_REPORT);
		assert_int_equal(s.heard[0].partial, !whole);
		/* It is refused what nobody has, and waits for what somebody may have. */
		assert_int_equal(quota_spend(s.spokes[0], 40, s.now), whole ? -EDQUOT : -EAGAIN);
		star_free(&s);
	}
}

/*
 * Too few for a hub's traffic and a neighbour's, which both wait: the neighbour has what it needs
 * if that can be had, and else the hub does not give what it needs itself.
 */
static void test_most_modest(void **state)
{
	static const struct {
		uint64_t hub, spoke;
		bool served;
	} rows[] = {{12, 15, false}, {11, 100, false}, {100, 8, true}, {12, 8, true}};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct star s = star_of(10);
		bool served = false;

		for (unsigned ms = 0; ms < 100 && !served; ms++) {
			assert_int_not_equal(quota_spend(s.hub, rows[k].hub, s.now), 0);
			served = quota_spend(s.spokes[0], rows[k].spoke, s.now) == 0;
			talk_star(&s, MS);
		}
		assert_int_equal(served, rows[k].served);
		if (!served)
			assert_int_equal(quota_view(s.hub, s.now).balance, 10);
		star_free(&s);
	}
}

/* Each who was told that there is nothing is told when there is something, though nobody asks. */
static void test_news_of_units(void **state)
{
	struct star s = star_of(0);

	(void)state;
	for (unsigned i = 0; i < SPOKES; i++)
		assert_int_equal(quota_spend(s.spokes[i], 1, s.now), -EAGAIN);
	talk_star(&s, 1000 * MS);
	for (unsigned i = 0; i < SPOKES; i++)
		assert_true(s.heard[i].known && s.heard[i].held == 0);
	assert_int_equal(quota_set_share(s.hub, 1000, s.now), 0);
	talk_star(&s, 2 * MS);
	for (unsigned i = 0; i < SPOKES; i++)
		assert_true(s.heard[i].held > 0);
	star_free(&s);
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
	/* One that cannot begin leaves the former as it is. */
	assert_int_equal(quota_period(p.a, 2, LEDGER_MOST + 1, p.now), -EINVAL);
	assert_int_equal(quota_period(p.a, 2, 10, p.now), 0);
	assert_true(quota_hear(p.a, 0, &m, p.now));
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
	pair_free(&p);
}

static struct quota_node *restored_quota_node(const void *record, size_t len, uint64_t period)
{
	struct quota_params params = {
		.share = 100,
		.period = period,
		.recovering = true, /* but that there is a record */
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

/*
 * Units that came in a period of which no record says anything, and that were confirmed before a
 * crash: the neighbour does not say them again by itself, and is asked, once that period has begun
 * again.
 */
static void test_crash_in_new_period(void **state)
{
	struct pair p = {.a = make_quota_node(100, true, 16, THETA, SECOND),
		.b = make_quota_node(90, false, 0, THETA, SECOND),
		.now = SECOND};
	char record[4096];
	size_t len;

	(void)state;
	assert_int_equal(quota_spend(p.a, 1, p.now), -EAGAIN);
	assert_int_equal(quota_save(p.a, record, &len), 0);
	/* As it lies on disks: who can read it today can read it for good. */
	assert_memory_equal(record, "ewqutav1", 8);
	quota_committed(p.a);
	assert_int_equal(quota_period(p.a, 2, 100, p.now), 0);
	assert_int_equal(quota_period(p.b, 2, 90, p.now), 0);
	assert_int_equal(quota_spend(p.a, 140, p.now), -EAGAIN);
	talk_quota_pair(&p, false);
	tick_quota(p.b, p.now += SECOND);
	talk_quota_pair(&p, false);
	assert_true(quota_view(p.a, p.now).balance >= 140);
	assert_int_equal(quota_edge(p.b, 0).in_flight, 0);
	quota_destroy(p.a);
	p.a = restored_quota_node(record, len, 1);
	assert_int_equal(quota_view(p.a, p.now).period, 1);
	quota_link(p.a, 0, true, 1000);
	assert_int_equal(quota_period(p.a, 2, 100, p.now), 0);
	for (unsigned i = 0; i < 3; i++) {
		tick_quota(p.a, p.now += SECOND);
		tick_quota(p.b, p.now);
		talk_quota_pair(&p, false);
	}
	assert_int_equal(quota_view(p.a, p.now).balance + quota_view(p.b, p.now).balance, 190);
	pair_free(&p);
}

/* With a disk nothing is used before a record says that it is spent; a crash forgets none of it. */
static void test_durable(void **state)
{
	struct quota_node *q = make_quota_node(100, true, 16, THETA, SECOND);
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
	struct quota_node *q = make_quota_node(100, true, 16, THETA, SECOND);
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
	struct quota_node *q = make_quota_node(100, true, 16, THETA, SECOND);
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

/* What is given is told when a record of it is durable, not before that: also the second try. */
static void test_save_of_grant_failed(void **state)
{
	struct pair p = {.a = make_quota_node(0, false, 0, THETA, SECOND),
		.b = make_quota_node(90, true, 16, THETA, SECOND),
		.now = SECOND};
	struct quota_message m;
	char record[4096];
	size_t len;

	(void)state;
	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	assert_true(quota_next_to(p.a, p.now, 0, &m));
	assert_true(quota_hear(p.b, 0, &m, p.now));
	assert_true(quota_edge(p.b, 0).granted >= 40);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(quota_uncommitted(p.b));
		assert_false(quota_next_to(p.b, p.now, 0, &m));
		assert_int_equal(quota_save(p.b, record, &len), 0);
		assert_false(quota_next_to(p.b, p.now, 0, &m));
		if (i < 2)
			quota_save_failed(p.b);
		else
			quota_committed(p.b);
	}
	assert_false(quota_uncommitted(p.b));
	assert_true(quota_next_to(p.b, p.now, 0, &m));
	assert_int_equal(m.statement.granted, quota_edge(p.b, 0).granted);
	pair_free(&p);
}

/* What is saved as spent ahead of traffic is still here, wherever its record is. */
static void test_units_ahead(void **state)
{
	struct quota_node *q = make_quota_node(100, true, 0, THETA, SECOND);
	char record[4096];
	size_t len;

	(void)state;
	quota_link(q, 0, false, 0);
	for (unsigned units = 30; units <= 40; units += 10) {
		assert_int_equal(quota_spend(q, units, SECOND), -EAGAIN);
		assert_int_equal(quota_view(q, SECOND).prepaid, units);
		assert_int_equal(quota_view(q, SECOND).remaining, 100);
		assert_false(quota_view(q, SECOND).waiting);
	}
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(quota_save(q, record, &len), 0);
		assert_int_equal(quota_view(q, SECOND).remaining, 100);
		if (i < 2)
			quota_save_failed(q);
		else
			quota_committed(q);
		assert_int_equal(quota_view(q, SECOND).remaining, 100);
	}
	assert_int_equal(quota_view(q, SECOND).prepaid, 40);
	assert_int_equal(quota_spend(q, 40, SECOND), 0);
	assert_int_equal(quota_view(q, SECOND).remaining, 60);
	assert_int_equal(quota_view(q, SECOND).prepaid, 0);
	assert_int_equal(quota_view(q, SECOND).spent, 40);
	quota_destroy(q);
	/* A chunk at a time, or an eighth of what is free. */
	for (unsigned total = 100; total <= 200; total += 100) {
		q = make_quota_node(total, true, 16, THETA, SECOND);
		assert_int_equal(quota_spend(q, 1, SECOND), -EAGAIN);
		assert_int_equal(quota_view(q, SECOND).prepaid, total == 200 ? 16 : 100 / 8);
		quota_destroy(q);
	}
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
		tick_quota(p.a, p.now);
		tick_quota(p.b, p.now);
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
		tick_quota(p.a, p.now);
		tick_quota(p.b, p.now);
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
	tick_quota(p.a, p.now);
	assert_false(quota_view(p.a, p.now).asking);
	/* It comes back, and is asked at once. */
	quota_link(p.a, 0, true, 1000);
	tick_quota(p.a, p.now);
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

/* As much as a ledger counts may be said of anything, and not one more. */
static void test_nonsense_numbers(void **state)
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

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct quota_node *q = make_quota_node(100, false, 0, THETA, SECOND);
		struct quota_message m = rows[k];

		m.period = 1;
		m.statement = (struct ledger_statement){.epoch = 9, .stamp = 1};
		assert_int_equal(quota_hear(q, 0, &m, SECOND), k < 6);
		assert_int_equal(quota_view(q, SECOND).invalid, k >= 6);
		quota_destroy(q);
	}
}

/* Its period is not known: nothing is held, nor heard; a memory that is lost stays so after it. */
static void test_undated(void **state)
{
	struct quota_params params = {.share = 100,
		.undated = true,
		.recovering = true,
		.epoch = 1,
		.theta_ns = THETA,
		.memory_ns = SECOND,
		.repeat_ns = SECOND};
	struct quota_message message = {.statement = {.epoch = 9, .stamp = 1}};
	struct quota_node *q;

	(void)state;
	assert_int_equal(quota_create(&params, SECOND, &q), 0);
	assert_int_equal(quota_spend(q, 1, SECOND), -EAGAIN);
	assert_int_equal(quota_set_share(q, 200, SECOND), 0);
	assert_int_equal(quota_period(q, 5, 100, SECOND), 0);
	assert_int_not_equal(quota_spend(q, 1, SECOND), 0);
	assert_int_equal(quota_period(q, 6, 100, SECOND), 0);
	assert_int_equal(quota_spend(q, 100, SECOND), 0);
	quota_destroy(q);
	params.n_edges = 1;
	assert_int_equal(quota_create(&params, SECOND, &q), 0);
	assert_true(quota_hear(q, 0, &message, SECOND)); /* of period 0, which nobody is in */
	assert_int_equal(quota_period(q, 5, 100, SECOND), 0);
	assert_true(quota_view(q, SECOND).recovering);
	quota_destroy(q);
}

/* ---- what is thought of others, and told */

#define TOLD_CHUNK 8

/* One between three, with units of its own, who asks as seldom as can be. */
static struct quota_node *make_quota_middle(uint64_t share, uint64_t guess)
{
	struct quota_params params = {.share = share,
		.period = 1,
		.n_edges = 3,
		.epoch = 1,
		.chunk = TOLD_CHUNK,
		.theta_ns = 1,
		.memory_ns = SECOND,
		.repeat_ns = 10 * SECOND,
		.seed = 3};
	struct quota_node *q;

	assert_int_equal(quota_create(&params, SECOND, &q), 0);
	for (uint32_t i = 0; i < 3; i++)
		quota_link(q, i, true, guess);
	return q;
}

static void hear_of_units(
	struct quota_node *q, uint32_t edge, uint64_t held, uint64_t pace, bool known, uint64_t now)
{
	uint64_t granted = quota_edge(q, edge).received;
	struct quota_message m = {.period = 1,
		.held = held,
		.pace = pace,
		.known = known,
		.statement = {.epoch = 9, .stamp = now, .granted = granted, .promised = granted}};

	assert_true(quota_hear(q, edge, &m, now));
}

static struct quota_message told_to(struct quota_node *q, uint32_t edge, uint64_t now)
{
	struct quota_message m;

	quota_tell(q, edge, false);
	assert_true(quota_next_to(q, now, edge, &m));
	return m;
}

/* A neighbour is told what is here and behind the others; it is no guess if all have said it. */
static void test_told_of_all_others(void **state)
{
	static const struct {
		bool heard[3], known[3], unlinked; /* that is the last one */
		uint64_t held, pace;
		bool whole;
	} rows[] = {
		{{0, 0, 0}, {0, 0, 0}, false, 100 + 1000 + 1000, 0, false},
		{{0, 1, 0}, {0, 1, 0}, false, 100 + 40 + 1000, 4000, false},
		{{0, 1, 1}, {0, 1, 1}, false, 100 + 40 + 50, 9000, true},
		{{1, 1, 1}, {1, 1, 1}, false, 100 + 40 + 50, 9000, true},
		{{1, 1, 1}, {0, 1, 1}, false, 100 + 40 + 50, 9000, true},
		{{1, 1, 1}, {1, 0, 1}, false, 100 + 40 + 50, 9000, false},
		{{1, 1, 1}, {1, 1, 0}, false, 100 + 40 + 50, 9000, false},
		{{0, 1, 1}, {0, 1, 1}, true, 100 + 40, 4000, true},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct quota_node *q = make_quota_middle(100, 1000);
		struct quota_message m;

		for (uint32_t i = 0; i < 3; i++)
			if (rows[k].heard[i])
				hear_of_units(q, i, 30 + 10 * i, 3000 + 1000 * i, rows[k].known[i],
					SECOND);
		if (rows[k].unlinked)
			quota_link(q, 2, false, 0);
		m = told_to(q, 0, SECOND);
		assert_int_equal(m.held, rows[k].held);
		assert_int_equal(m.pace, rows[k].pace);
		assert_int_equal(m.known, rows[k].whole);
		quota_destroy(q);
	}
}

/* What is left of the total, and how fast all spend it; they have spent since they said it. */
static void test_remaining(void **state)
{
	struct quota_node *q = make_quota_middle(100, 0);
	struct quota_view view;

	(void)state;
	hear_of_units(q, 0, 40, 7000, true, SECOND);
	hear_of_units(q, 1, 10, 6000, true, SECOND);
	view = quota_view(q, SECOND);
	assert_int_equal(view.remaining, 150);
	assert_int_equal(view.pace, 13000);
	view = quota_view(q, 3 * SECOND); /* at 7 and 6 units a second */
	assert_int_equal(view.remaining, 100 + 26);
	quota_link(q, 0, false, 0);
	view = quota_view(q, SECOND);
	assert_int_equal(view.remaining, 110);
	assert_int_equal(view.pace, 6000);
	quota_destroy(q);
}

/* All have their turn; and of a period that has ended nothing is thought any more. */
static void test_turns(void **state)
{
	struct quota_node *q = make_quota_middle(100, 0);
	struct quota_message m;
	uint32_t edge;

	(void)state;
	for (uint32_t i = 0; i < 7; i++) {
		for (uint32_t k = 0; k < 3; k++)
			quota_tell(q, k, false);
		assert_true(quota_next(q, SECOND, &edge, &m));
		assert_int_equal(edge, i % 3);
	}
	for (uint32_t i = 0; i < 3; i++)
		hear_of_units(q, i, 40, 7000, true, SECOND);
	assert_int_equal(quota_view(q, SECOND).pace, 21000);
	assert_int_equal(quota_period(q, 2, 100, SECOND), 0);
	assert_int_equal(quota_view(q, SECOND).pace, 0);
	assert_int_equal(quota_view(q, SECOND).remaining, 100 + 3 * 100);
	quota_destroy(q);
}

/* Half of one's part by rate of all that was heard of is asked for. */
static void test_part_by_rate(void **state)
{
	const uint64_t many = 1000000000;

	(void)state;
	for (uint32_t heard = 1; heard <= 3; heard++) {
		struct quota_node *q = make_quota_middle(1000, many);
		uint64_t now = 2 * SECOND, pace = 0;
		struct quota_message m;
		uint32_t edge;
		unsigned __int128 rate;

		for (uint32_t i = 0; i < heard; i++) {
			hear_of_units(q, i, many, 300000 << i, true, now);
			pace += 300000 << i;
		}
		assert_int_equal(quota_spend(q, 1000, now), 0);
		assert_true(quota_next(q, now, &edge, &m));
		assert_int_equal(m.parts, QUOTA_REQUEST);
		rate = quota_view(q, now).rate;
		assert_int_equal(m.need, (uint64_t)(heard * many * rate / (rate + pace)) / 2);
		quota_destroy(q);
	}
}

/* News is an eighth more or less units, a quarter more of the rate, or that much less. */
static void test_news_by_amount(void **state)
{
	static const struct {
		uint64_t told_held, told_pace, seconds, held, pace;
		bool news;
	} rows[] = {
		{800, 0, 0, 800, 0, false},
		{800, 0, 0, 700, 0, false},
		{800, 0, 0, 699, 0, true},
		{700, 0, 0, 800, 0, false},
		{699, 0, 0, 800, 0, true},
		/* So few are saved as spent at a time. */
		{16, 0, 0, 16 - TOLD_CHUNK, 0, false},
		{16, 0, 0, 16 - TOLD_CHUNK - 1, 0, true},
		{800, 4000, 0, 800, 1000, false},
		{800, 4000, 0, 800, 999, true},
		{800, 3, 0, 800, 1, false},
		{800, 3, 0, 800, 0, true},
		{800, 3000, 0, 800, 4000, false},
		{800, 3000, 0, 800, 4001, true},
		/* At this rate they last for a day. */
		{86400 * 5, 0, 0, 86400 * 5, 5000, false},
		{86400 * 5, 0, 0, 86400 * 5, 5001, true},
		/* What was to be spent since, at four a second, is known there. */
		{800, 4000, 100, 400, 4000, false},
		{800, 4000, 100, 458, 4000, true},
		{800, 4000, 300, 0, 4000, false},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct quota_node *q = make_quota_middle(0, 0);
		uint64_t later = SECOND + rows[k].seconds * SECOND;
		struct quota_message m;

		quota_link(q, 2, false, 0);
		hear_of_units(q, 1, rows[k].told_held, rows[k].told_pace, true, SECOND);
		for (uint32_t i = 0; i < 2; i++)
			told_to(q, i, SECOND);
		hear_of_units(q, 1, rows[k].held, rows[k].pace, true, later + 1);
		assert_int_equal(quota_refresh(q, later),
			rows[k].news || rows[k].pace > 0 || rows[k].told_pace > 0);
		assert_int_equal(quota_next_to(q, later, 0, &m), rows[k].news);
		assert_false(quota_next_to(q, later, 1, &m)); /* who has said it himself */
		quota_destroy(q);
	}
}

/* One that has been told nothing guesses that all is as it was; else it is told. */
static void test_news_for_a_stranger(void **state)
{
	static const struct {
		uint64_t guess;    /* of what is behind another edge */
		uint32_t heard_on; /* edge on which something was heard; 3: on none */
		uint64_t spent;    /* long ago */
		bool told_before;
		bool news;
	} rows[] = {
		{0, 3, 0, false, false}, {0, 3, 12, false, false},
		{0, 3, 13, false, true}, /* more than an eighth of a hundred */
		{0, 3, 0, true, true}, {50, 3, 0, false, false}, {50, 0, 0, false, true},
		{0, 0, 0, false, false}, {0, 1, 0, false, true},
		{0, 2, 0, false, false}, /* of no neighbour's */
	};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct quota_node *q = make_quota_middle(100, 0);
		uint64_t now = 200 * SECOND; /* a hundred half-lives */
		struct quota_message m;

		quota_link(q, 2, false, 0);
		quota_link(q, 1, false, 0);
		quota_link(q, 1, true, rows[k].guess);
		if (rows[k].told_before) {
			told_to(q, 0, SECOND);
			quota_link(q, 0, false, 0);
			quota_link(q, 0, true, 0);
		}
		assert_int_equal(quota_spend(q, rows[k].spent, SECOND), 0);
		if (rows[k].heard_on < 3)
			hear_of_units(q, rows[k].heard_on, rows[k].guess, 0, true, now);
		quota_refresh(q, now);
		assert_int_equal(quota_next_to(q, now, 0, &m), rows[k].news);
		quota_destroy(q);
	}
}

/* Nor is a top-up news, which everybody has. */
static void test_no_news_of_a_top_up(void **state)
{
	struct quota_node *q = make_quota_middle(100, 0);
	struct quota_message m;

	(void)state;
	assert_int_equal(quota_set_share(q, 300, SECOND), 0);
	assert_false(quota_refresh(q, SECOND));
	assert_false(quota_next_to(q, SECOND, 0, &m));
	quota_destroy(q);
}

/*
 * A neighbour that has said that it has nothing is not asked, until that is old; when it says that
 * it has something it is asked at once, and a refusal ends.
 */
static void test_dry_neighbour(void **state)
{
	(void)state;
	for (unsigned row = 0; row < 3; row++) {
		struct pair p = pair_of(10, 0);
		struct quota_message m;
		uint64_t rounds;
		uint32_t edge;

		hear_of_units(p.a, 0, 0, 0, true, p.now);
		assert_int_equal(quota_spend(p.a, 40, p.now), -EDQUOT);
		rounds = quota_view(p.a, p.now).rounds;
		if (row < 2) { /* SECOND is when it is told again */
			(void)quota_spend(p.a, 40, p.now + SECOND - row);
			assert_int_equal(quota_next(p.a, p.now + SECOND, &edge, &m), row == 0);
		} else {
			hear_of_units(p.a, 0, 0, 0, true, p.now + 1);
			assert_int_equal(quota_view(p.a, p.now).rounds, rounds);
			assert_int_equal(quota_spend(p.a, 40, p.now + 1), -EDQUOT);
			hear_of_units(p.a, 0, 1, 0, true, p.now + 2);
			assert_int_equal(quota_spend(p.a, 40, p.now + 2), -EAGAIN);
			assert_true(quota_next(p.a, p.now + 2, &edge, &m));
			assert_int_equal(m.parts, QUOTA_COLLECT);
		}
		pair_free(&p);
	}
}

/* ---- asked by neighbours, and asking them */

/* A neighbour's request; a round that is larger than ours waits for ours. */
static void hear_request(struct quota_node *q, uint32_t edge, uint64_t need, uint64_t urgent,
	uint64_t asking, uint64_t held)
{
	struct quota_message m = {.period = 1,
		.parts = urgent ? QUOTA_COLLECT : QUOTA_REQUEST,
		.need = need,
		.urgent = urgent,
		.asking = asking,
		.held = held,
		.known = true,
		.statement = {.epoch = 9, .stamp = SECOND}};

	assert_true(quota_hear(q, edge, &m, SECOND));
}

/*
 * One neighbour, and too few units: it has what its traffic waits for first, and of the rest its
 * part by rate; where no traffic waits, all that is not needed here.
 */
static void test_short_for_one(void **state)
{
	static const struct {
		uint64_t need, urgent;
		bool spends; /* here, as fast */
		uint64_t given;
	} rows[] = {
		{50, 20, false, 40},
		{50, 0, false, 40},
		{50, 20, true, 20 + 10},
		{50, 40, true, 40},
		{50, 45, true, 40},
		{40, 45, false, 0}, /* makes no sense */
		{30, 20, false, 40},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct quota_node *q = make_quota_middle(50, 0);
		struct quota_message m = {.period = 1,
			.parts = QUOTA_REQUEST,
			.need = rows[k].need,
			.urgent = rows[k].urgent,
			.statement = {.epoch = 9, .stamp = SECOND}};

		quota_link(q, 1, false, 0);
		quota_link(q, 2, false, 0);
		assert_int_equal(quota_set_share(q, rows[k].spends ? 41 : 40, SECOND), 0);
		assert_int_equal(quota_spend(q, rows[k].spends, SECOND), 0);
		m.asking = rows[k].spends ? quota_view(q, SECOND).rate : 5000;
		assert_int_equal(quota_hear(q, 0, &m, SECOND), m.urgent <= m.need);
		assert_int_equal(quota_edge(q, 0).granted, rows[k].given);
		quota_destroy(q);
	}
}

/*
 * Two neighbours whose traffic waits, and too few units: the more modest one has what it needs, and
 * the other what is left. Who is heard to have units may have what the other misses.
 */
static void test_short_for_two(void **state)
{
	static const struct {
		uint64_t first, second, held; /* by the first */
		uint64_t to_first, to_second;
	} rows[] = {
		{100, 5, 0, 5, 5},
		{100, 5, 7, 5, 5},
		{11, 10, 0, 0, 10},
		{11, 12, 0, 10, 0},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct quota_node *q = make_quota_middle(10, 1000);
		struct quota_message m;

		quota_link(q, 2, false, 0);
		hear_request(q, 0, rows[k].first, rows[k].first, 5000, rows[k].held);
		assert_true(quota_next_to(q, SECOND, 1, &m)); /* is asked, and asks */
		assert_int_equal(m.parts, QUOTA_COLLECT);
		hear_request(q, 1, rows[k].second, rows[k].second, 5000, 0);
		assert_int_equal(quota_edge(q, 0).granted, rows[k].to_first);
		assert_int_equal(quota_edge(q, 1).granted, rows[k].to_second);
		assert_true(quota_next_to(q, SECOND, 1, &m));
		assert_true(m.parts & QUOTA_REPORT);
		assert_int_equal(m.partial, rows[k].held > 0);
		quota_destroy(q);
	}
}

/* Asks for ten more, and has them so long after that, or (0) never. */
static void ask_and_hear(struct quota_node *q, uint64_t *now, uint64_t took_ns)
{
	struct quota_message m, answer = {.period = 1,
					.parts = QUOTA_REPORT,
					.held = 1000,
					.known = true,
					.statement = {.epoch = 9}};

	assert_int_equal(quota_spend(q, quota_edge(q, 0).received + 10, *now), -EAGAIN);
	assert_true(quota_next_to(q, *now, 0, &m));
	answer.answer = m.round;
	answer.statement.granted = answer.statement.promised = quota_edge(q, 0).received + 10;
	answer.statement.stamp = *now += took_ns;
	if (took_ns > 0) {
		assert_true(quota_hear(q, 0, &answer, *now));
		assert_false(quota_view(q, *now).asking);
		*now += 10 * SECOND;
	}
}

/*
 * One that does not answer is asked again after twice the time that answers took of late, and given
 * up after six times: longer at once, and shorter by an eighth of the difference.
 */
static void test_time_of_answers(void **state)
{
	struct quota_node *q = make_quota_node(0, false, 0, 4 * MS, SECOND);
	uint64_t now = SECOND;
	struct quota_message m;

	(void)state;
	ask_and_hear(q, &now, 80 * MS);
	ask_and_hear(q, &now, 0);
	assert_int_equal(quota_tick(q, now), now + 160 * MS);
	hear_of_units(q, 0, 1000, 0, true, now); /* no answer, and it was not asked again */
	assert_int_equal(quota_tick(q, now + 160 * MS - 1), now + 160 * MS);
	assert_int_equal(quota_tick(q, now + 160 * MS), now + 480 * MS);
	/* One that is alive is waited for anew, for twice as long. */
	now += 200 * MS;
	hear_of_units(q, 0, 1000, 0, true, now);
	assert_int_equal(quota_tick(q, now), now + 320 * MS);
	assert_true(quota_next_to(q, now, 0, &m));
	assert_true(told_to(q, 0, now).round == m.round);
	assert_int_equal(quota_tick(q, now + 320 * MS), now + 960 * MS);
	assert_true(quota_view(q, now + 960 * MS - 1).asking);
	quota_tick(q, now + 960 * MS);
	assert_false(quota_view(q, now + 960 * MS).asking);
	/* It is left alone for a while, or until it says something. */
	now += 1100 * MS;
	(void)quota_spend(q, 40, now);
	assert_false(quota_next_to(q, now, 0, &m));
	hear_of_units(q, 0, 1000, 0, true, now);
	now += 100 * MS;
	(void)quota_spend(q, 40, now);
	assert_true(quota_next_to(q, now, 0, &m));
	assert_int_equal(m.parts, QUOTA_COLLECT);
	quota_destroy(q);
	q = make_quota_node(0, false, 0, 4 * MS, SECOND);
	now = SECOND;
	ask_and_hear(q, &now, 80 * MS);
	ask_and_hear(q, &now, 16 * MS);
	ask_and_hear(q, &now, 0);
	assert_int_equal(quota_tick(q, now), now + 2 * 72 * MS);
	quota_destroy(q);
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
		cmocka_unit_test(test_asks_again),
		cmocka_unit_test(test_long_absence),
		cmocka_unit_test(test_slow_absence),
		cmocka_unit_test(test_top_up),
		cmocka_unit_test(test_small_top_up),
		cmocka_unit_test(test_partial),
		cmocka_unit_test(test_most_modest),
		cmocka_unit_test(test_news_of_units),
		cmocka_unit_test(test_periods),
		cmocka_unit_test(test_crash_in_new_period),
		cmocka_unit_test(test_durable),
		cmocka_unit_test(test_refund),
		cmocka_unit_test(test_save_failed),
		cmocka_unit_test(test_save_of_grant_failed),
		cmocka_unit_test(test_units_ahead),
		cmocka_unit_test(test_both_recovering),
		cmocka_unit_test(test_recovering_for_long),
		cmocka_unit_test(test_unlink),
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_nonsense_numbers),
		cmocka_unit_test(test_undated),
		cmocka_unit_test(test_told_of_all_others),
		cmocka_unit_test(test_remaining),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_part_by_rate),
		cmocka_unit_test(test_news_by_amount),
		cmocka_unit_test(test_news_for_a_stranger),
		cmocka_unit_test(test_no_news_of_a_top_up),
		cmocka_unit_test(test_dry_neighbour),
		cmocka_unit_test(test_short_for_one),
		cmocka_unit_test(test_short_for_two),
		cmocka_unit_test(test_time_of_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

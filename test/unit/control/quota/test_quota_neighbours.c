/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter between several neighbours: its estimate for each, its reports to them about all the
 * others, and its division of too few units among requesters.
 */
#include "check.h"
#include "scope.h"

#include "quota_pair.h"

END_POINTER(quota_destroy, struct quota_node *)

/*
 * A hub and its neighbours, which it expects to have units: one requests, the others get requests.
 */
#define SPOKES 3

struct star {
	struct quota_node *hub, *spokes[SPOKES];
	uint64_t now;
	bool partial[SPOKES], silent[SPOKES]; /* reports; they send nothing */
	struct quota_message heard[SPOKES];   /* the hub's last messages */
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
			assert_true(quota_receive(s->spokes[edge], 0, &m, s->now));
		}
		for (uint32_t i = 0; i < SPOKES; i++)
			while (quota_next(s->spokes[i], s->now, &edge, &m)) {
				m.partial |= s->partial[i];
				if (!s->silent[i])
					assert_true(quota_receive(s->hub, i, &m, s->now));
			}
	}
}

/*
 * A report of too few units also states whether a limiter got no request or did not answer, or
 * whether a neighbour reported that. Only without any of these there is nothing to wait for.
 */
TEST(test_partial)
{
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
		/*
		 * If all answered it refuses the units; otherwise it waits for units that may be
		 * left.
		 */
		assert_int_equal(quota_spend(s.spokes[0], 40, s.now), whole ? -EDQUOT : -EAGAIN);
		star_free(&s);
	}
}

/*
 * Too few units for the traffic of both a hub and a neighbour. The neighbour gets its need if that
 * is available; otherwise the hub does not give the units that it needs itself.
 */
TEST(test_most_modest)
{
	static const struct {
		uint64_t hub, spoke;
		bool served;
	} rows[] = {{12, 15, false}, {11, 100, false}, {100, 8, true}, {12, 8, true}};

	for (size_t k = 0; k < COUNT(rows); k++) {
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

/* Each neighbour with a report of 0 units gets a report of new units, without a request. */
TEST(test_news_of_units)
{
	ENDED_BY(star_free) struct star s = star_of(0);

	for (unsigned i = 0; i < SPOKES; i++)
		assert_int_equal(quota_spend(s.spokes[i], 1, s.now), -EAGAIN);
	talk_star(&s, 1000 * MS);
	for (unsigned i = 0; i < SPOKES; i++)
		assert_true(s.heard[i].known && s.heard[i].held == 0);
	assert_int_equal(quota_set_share(s.hub, 1000, s.now), 0);
	talk_star(&s, 2 * MS);
	for (unsigned i = 0; i < SPOKES; i++)
		assert_true(s.heard[i].held > 0);
}

/* ---- estimates for other limiters, and reports about them */

#define TOLD_CHUNK 8
#define GROUP      7 /* limiters */

/* A limiter between three, with units of its own, that sends requests as rarely as possible. */
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
		.limiters = GROUP,
		.seed = 3};
	struct quota_node *q;

	assert_int_equal(quota_create(&params, SECOND, &q), 0);
	for (uint32_t i = 0; i < 3; i++)
		quota_link(q, i, true, guess);
	return q;
}

/* A report of so many limiters; 0: a guess. */
static void hear_of_limiters(struct quota_node *q, uint32_t edge, uint64_t held, uint64_t pace,
	uint32_t limiters, uint64_t now)
{
	uint64_t granted = quota_edge(q, edge).received;
	struct quota_message m = {.period = quota_view(q, now).period,
		.held = held,
		.pace = pace,
		.known = limiters > 0,
		.limiters = limiters,
		.statement = {.epoch = 9, .stamp = now, .granted = granted, .promised = granted}};

	assert_true(quota_receive(q, edge, &m, now));
}

static void hear_of_units(
	struct quota_node *q, uint32_t edge, uint64_t held, uint64_t pace, bool known, uint64_t now)
{
	hear_of_limiters(q, edge, held, pace, known, now);
}

static struct quota_message told_to(struct quota_node *q, uint32_t edge, uint64_t now)
{
	struct quota_message m;

	quota_wake_edge(q, edge, false);
	assert_true(quota_next_to(q, now, edge, &m));
	return m;
}

/*
 * A report to a neighbour covers the units here and behind the others; it is no guess if all have
 * reported.
 */
TEST(test_told_of_all_others)
{
	static const struct {
		bool heard[3], known[3], unlinked; /* unlinked: the last edge */
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

	for (size_t k = 0; k < COUNT(rows); k++) {
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

/* The rest of the total, and the rate of all; spending since a report is estimated. */
TEST(test_remaining)
{
	ENDED_BY(quota_destroy_at) struct quota_node *q = make_quota_middle(100, 0);
	struct quota_view view;

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
}

/* All edges have their turn; estimates of a past period are dropped. */
TEST(test_turns)
{
	ENDED_BY(quota_destroy_at) struct quota_node *q = make_quota_middle(100, 0);
	struct quota_message m;
	uint32_t edge;

	for (uint32_t i = 0; i < 7; i++) {
		for (uint32_t k = 0; k < 3; k++)
			quota_wake_edge(q, k, false);
		assert_true(quota_next(q, SECOND, &edge, &m));
		assert_int_equal(edge, i % 3);
	}
	for (uint32_t i = 0; i < 3; i++)
		hear_of_units(q, i, 40, 7000, true, SECOND);
	assert_int_equal(quota_view(q, SECOND).pace, 21000);
	assert_int_equal(quota_period(q, 2, 100, SECOND), 0);
	assert_int_equal(quota_view(q, SECOND).pace, 0);
	assert_int_equal(quota_view(q, SECOND).remaining, 100 + 3 * 100);
}

/* The need of a request is half of one's part by rate of all reported units. */
TEST(test_part_by_rate)
{
	const uint64_t many = 1000000000;

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

/* News is an eighth more or less units, or a rate that is a quarter higher or lower. */
TEST(test_news_by_amount)
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
		/* The neighbour already expects spending at four a second since then. */
		{800, 4000, 100, 400, 4000, false},
		{800, 4000, 100, 458, 4000, true},
		{800, 4000, 300, 0, 4000, false},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
		struct quota_node *q = make_quota_middle(0, 0);
		uint64_t later = SECOND + rows[k].seconds * SECOND;
		struct quota_message m;

		quota_link(q, 2, false, 0);
		hear_of_units(q, 0, 0, 0, true, SECOND);
		hear_of_units(q, 1, rows[k].told_held, rows[k].told_pace, true, SECOND);
		for (uint32_t i = 0; i < 2; i++)
			told_to(q, i, SECOND);
		hear_of_units(q, 1, rows[k].held, rows[k].pace, true, later + 1);
		assert_int_equal(quota_refresh(q, true, later),
			rows[k].news || rows[k].pace > 0 || rows[k].told_pace > 0);
		assert_int_equal(quota_next_to(q, later, 0, &m), rows[k].news);
		assert_false(quota_next_to(q, later, 1, &m)); /* this neighbour reported it */
		quota_destroy(q);
	}
}

/*
 * A neighbour without a report gets one, and a request for its own. Other news: the number of
 * limiters behind us, or that it is a guess. Only these are due immediately.
 */
TEST(test_news_of_limiters)
{
	ENDED_BY(quota_destroy_at) struct quota_node *q = make_quota_middle(100, 0);
	struct quota_message m;

	quota_link(q, 2, false, 0);
	assert_true(quota_is_news(q));
	assert_true(quota_refresh(q, false, SECOND));
	assert_false(quota_is_news(q));
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(quota_next_to(q, SECOND, i, &m));
		assert_int_equal(m.parts, 0);
		assert_false(m.known);
	}
	quota_refresh(q, true, SECOND);
	assert_true(quota_next_to(q, SECOND, 0, &m));
	assert_int_equal(m.parts, QUOTA_CONFIRM);
	hear_of_limiters(q, 0, 100, 0, 2, SECOND + 1);
	assert_true(quota_is_news(q));
	quota_refresh(q, false, SECOND);
	assert_false(quota_next_to(q, SECOND, 0, &m)); /* this neighbour reported it */
	assert_true(quota_next_to(q, SECOND, 1, &m));
	assert_true(m.known);
	assert_int_equal(m.limiters, 3);
	hear_of_limiters(q, 0, 101, 0, 2, SECOND + 2);
	assert_false(quota_is_news(q));
	hear_of_limiters(q, 0, 101, 0, 3, SECOND + 3);
	assert_true(quota_is_news(q));
	hear_of_limiters(q, 0, 101, 0, 0, SECOND + 4);
	quota_refresh(q, false, SECOND);
	assert_true(quota_next_to(q, SECOND, 1, &m));
	assert_false(m.known);
	assert_false(quota_next_to(q, SECOND, 2, &m)); /* not in the tree */
}

/* In a loop, the number of limiters ends at one above that of the group. */
TEST(test_limiters_of_a_loop)
{
	ENDED_BY(quota_destroy_at) struct quota_node *q = make_quota_middle(100, 0);

	for (uint32_t i = 0; i < 3; i++)
		hear_of_limiters(q, i, 40, 0, UINT32_MAX, SECOND);
	assert_int_equal(told_to(q, 0, SECOND).limiters, GROUP + 1);
	tick_quota(q, SECOND);
	tick_quota(q, 10000 * SECOND);
	assert_false(quota_view(q, 10000 * SECOND).group.known);
}

static void expect_group(
	struct quota_node *q, uint64_t now, uint64_t remaining, uint64_t pace, bool held)
{
	struct quota_group group;

	tick_quota(q, now);
	group = quota_view(q, now).group;
	assert_true(group.known);
	assert_int_equal(group.held, held);
	assert_int_equal(group.remaining, remaining);
	assert_int_equal(group.pace, pace);
}

/*
 * Viewers get the sum of all limiters. While some are missing or count twice, they get the last
 * sum, less the units spent since. The sum of fewer limiters counts when their number has not
 * changed for long.
 */
TEST(test_group)
{
	ENDED_BY(quota_destroy_at) struct quota_node *q = make_quota_middle(100, 1000);
	const uint64_t repeat = 10 * SECOND;
	uint64_t now = SECOND;

	hear_of_limiters(q, 0, 400, 0, 2, now);
	hear_of_limiters(q, 1, 500, 1000, 3, now);
	tick_quota(q, now);
	tick_quota(q, now += repeat);
	assert_false(quota_view(q, now).group.known);
	hear_of_limiters(q, 2, 10, 0, 1, now);
	tick_quota(q, now);
	assert_int_equal(quota_view(q, now += repeat - 1).group.known, false);
	expect_group(q, now += 1, 100 + 400 + 500 - 20 + 10, 1000, false);
	/* Two limiters move from one branch to another: they count twice, and then not. */
	hear_of_limiters(q, 0, 900, 0, 4, now);
	expect_group(q, now, 990, 1000, true);
	expect_group(q, now += repeat, 980, 1000, true);
	hear_of_limiters(q, 1, 0, 0, 1, now);
	expect_group(q, now, 980, 1000, true);
	expect_group(q, now += repeat, 100 + 900 + 10, 0, false);
	/* A branch is gone, and does not return. */
	quota_link(q, 2, false, 0);
	expect_group(q, now, 1010, 0, true);
	expect_group(q, now += 19 * repeat, 1010, 0, true);
	expect_group(q, now += repeat, 1000, 0, false);
	/* Numbers that always change. */
	for (unsigned i = 0; i < 10; i++) {
		hear_of_limiters(q, 0, 1, 0, 2 + i % 2, now += 5 * repeat);
		tick_quota(q, now);
		assert_int_equal(quota_view(q, now).group.known, i < 9);
	}
	/* The next period has no sum yet; it settles sooner without some limiters. */
	assert_int_equal(quota_period(q, 2, 100, now), 0);
	assert_false(quota_view(q, now).group.known);
	tick_quota(q, now);
	tick_quota(q, now += 4 * repeat - 1);
	assert_false(quota_view(q, now).group.known);
	expect_group(q, now += 1, 100, 0, false);
}

/* A top-up is news: the neighbours have reports with the share of before. */
TEST(test_news_of_a_top_up)
{
	ENDED_BY(quota_destroy_at) struct quota_node *q = make_quota_middle(100, 0);
	struct quota_message m;

	for (uint32_t i = 0; i < 3; i++)
		hear_of_units(q, i, 40, 0, true, SECOND);
	for (uint32_t i = 0; i < 3; i++)
		told_to(q, i, SECOND);
	assert_false(quota_refresh(q, true, SECOND));
	assert_int_equal(quota_set_share(q, 300, SECOND), 0);
	assert_true(quota_refresh(q, true, SECOND));
	assert_true(quota_next_to(q, SECOND, 0, &m));
	assert_int_equal(m.held, 380);
}

/*
 * A neighbour that reported 0 units gets no request until the report is old. After a report of
 * units it gets a request immediately, and a refusal ends.
 */
TEST(test_dry_neighbour)
{
	for (unsigned row = 0; row < 3; row++) {
		struct pair p = pair_of(10, 0);
		struct quota_message m;
		uint64_t rounds;
		uint32_t edge;

		hear_of_units(p.a, 0, 0, 0, true, p.now);
		assert_int_equal(quota_spend(p.a, 40, p.now), -EDQUOT);
		rounds = quota_view(p.a, p.now).rounds;
		if (row < 2) { /* SECOND: the report is old */
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

/* ---- requests from neighbours, and to them */

/* Receives a neighbour's request; a round larger than ours waits for ours. */
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

	assert_true(quota_receive(q, edge, &m, SECOND));
}

/*
 * One neighbour, and too few units: it first gets the units that its traffic waits for, then its
 * part by rate of the rest. If no traffic waits here, it gets all units that are not needed here.
 */
TEST(test_short_for_one)
{
	static const struct {
		uint64_t need, urgent;
		bool spends; /* here, at the same rate */
		uint64_t given;
	} rows[] = {
		{50, 20, false, 40},
		{50, 0, false, 40},
		{50, 20, true, 20 + 10},
		{50, 40, true, 40},
		{50, 45, true, 40},
		{40, 45, false, 0}, /* invalid: urgent exceeds need */
		{30, 20, false, 40},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
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
		assert_int_equal(quota_receive(q, 0, &m, SECOND), m.urgent <= m.need);
		assert_int_equal(quota_edge(q, 0).granted, rows[k].given);
		quota_destroy(q);
	}
}

/*
 * Two neighbours with waiting traffic, and too few units: the smaller need is met, and the other
 * gets the rest. If a neighbour reports units, the other can get its missing units from there.
 */
TEST(test_short_for_two)
{
	static const struct {
		uint64_t first, second, held; /* held: by the first */
		uint64_t to_first, to_second;
	} rows[] = {
		{100, 5, 0, 5, 5},
		{100, 5, 7, 5, 5},
		{11, 10, 0, 0, 10},
		{11, 12, 0, 10, 0},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
		struct quota_node *q = make_quota_middle(10, 1000);
		struct quota_message m;

		quota_link(q, 2, false, 0);
		hear_request(q, 0, rows[k].first, rows[k].first, 5000, rows[k].held);
		assert_true(quota_next_to(
			q, SECOND, 1, &m)); /* neighbour 1 gets a request, and sends one */
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

/* Requests ten more units, and receives them after took_ns, or never if it is 0. */
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
		assert_true(quota_receive(q, 0, &answer, *now));
		assert_false(quota_view(q, *now).asking);
		*now += 10 * SECOND;
	}
}

/*
 * A neighbour that does not answer gets the request again after twice the usual answer time, and is
 * given up after six times. The usual time grows immediately, and shrinks by an eighth of the
 * difference.
 */
TEST(test_time_of_answers)
{
	ENDED_BY(quota_destroy_at)
	struct quota_node *q = make_quota_node(0, false, 0, 4 * MS, SECOND);
	uint64_t now = SECOND;
	struct quota_message m;

	ask_and_hear(q, &now, 80 * MS);
	ask_and_hear(q, &now, 0);
	assert_int_equal(quota_tick(q, now), now + 160 * MS);
	hear_of_units(q, 0, 1000, 0, true, now); /* no answer, and there was no second request */
	assert_int_equal(quota_tick(q, now + 160 * MS - 1), now + 160 * MS);
	assert_int_equal(quota_tick(q, now + 160 * MS), now + 480 * MS);
	/* The wait for a neighbour that is alive begins again, for twice as long. */
	now += 200 * MS;
	hear_of_units(q, 0, 1000, 0, true, now);
	assert_int_equal(quota_tick(q, now), now + 320 * MS);
	assert_true(quota_next_to(q, now, 0, &m));
	assert_true(told_to(q, 0, now).round == m.round);
	assert_int_equal(quota_tick(q, now + 320 * MS), now + 960 * MS);
	assert_true(quota_view(q, now + 960 * MS - 1).asking);
	quota_tick(q, now + 960 * MS);
	assert_false(quota_view(q, now + 960 * MS).asking);
	/* The neighbour gets no request for a while, or until it sends something. */
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
}

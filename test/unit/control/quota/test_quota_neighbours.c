/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter between several neighbours: what it thinks of each, what it tells them of all the
 * others, and how it divides too few units among those that ask.
 */
#include "check.h"
#include "scope.h"

#include "quota_pair.h"

END_POINTER(quota_destroy, struct quota_node *)

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
		/* It is refused what nobody has, and waits for what somebody may have. */
		assert_int_equal(quota_spend(s.spokes[0], 40, s.now), whole ? -EDQUOT : -EAGAIN);
		star_free(&s);
	}
}

/*
 * Too few for a hub's traffic and a neighbour's, which both wait: the neighbour has what it needs
 * if that can be had, and else the hub does not give what it needs itself.
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

/* Each who was told that there is nothing is told when there is something, though nobody asks. */
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
TEST(test_told_of_all_others)
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

/* What is left of the total, and how fast all spend it; they have spent since they said it. */
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

/* All have their turn; and of a period that has ended nothing is thought any more. */
TEST(test_turns)
{
	ENDED_BY(quota_destroy_at) struct quota_node *q = make_quota_middle(100, 0);
	struct quota_message m;
	uint32_t edge;

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
}

/* Half of one's part by rate of all that was heard of is asked for. */
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

/* News is an eighth more or less units, a quarter more of the rate, or that much less. */
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
		/* What was to be spent since, at four a second, is known there. */
		{800, 4000, 100, 400, 4000, false},
		{800, 4000, 100, 458, 4000, true},
		{800, 4000, 300, 0, 4000, false},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
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
TEST(test_news_for_a_stranger)
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

	for (size_t k = 0; k < COUNT(rows); k++) {
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
TEST(test_no_news_of_a_top_up)
{
	ENDED_BY(quota_destroy_at) struct quota_node *q = make_quota_middle(100, 0);
	struct quota_message m;

	assert_int_equal(quota_set_share(q, 300, SECOND), 0);
	assert_false(quota_refresh(q, SECOND));
	assert_false(quota_next_to(q, SECOND, 0, &m));
}

/*
 * A neighbour that has said that it has nothing is not asked, until that is old; when it says that
 * it has something it is asked at once, and a refusal ends.
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
TEST(test_short_for_one)
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
		assert_int_equal(quota_hear(q, 0, &m, SECOND), m.urgent <= m.need);
		assert_int_equal(quota_edge(q, 0).granted, rows[k].given);
		quota_destroy(q);
	}
}

/*
 * Two neighbours whose traffic waits, and too few units: the more modest one has what it needs, and
 * the other what is left. Who is heard to have units may have what the other misses.
 */
TEST(test_short_for_two)
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

	for (size_t k = 0; k < COUNT(rows); k++) {
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
TEST(test_time_of_answers)
{
	ENDED_BY(quota_destroy_at)
	struct quota_node *q = make_quota_node(0, false, 0, 4 * MS, SECOND);
	uint64_t now = SECOND;
	struct quota_message m;

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
}

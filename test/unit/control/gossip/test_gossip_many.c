/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Gossip of thousands of policies: more than a datagram, and more than a peer's turn, can hold.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "gossip/gossip.h"

#define TICK          (50 * MS)
#define MANY          3000
#define DATAGRAM      1200
#define TURN          32 /* datagrams to a peer a tick */
#define RECORDS       70 /* a datagram, at least */
#define TURNS_FOR_ALL (1 + MANY / (TURN * RECORDS))

/* Two limiters. */
struct pair {
	struct roster *roster;
	struct gossip *g[2];
	unsigned n[2]; /* policies of each */
	uint64_t ids[MANY];
	uint64_t now;
	double loss;
	struct prng prng;
	unsigned most; /* the most datagrams of one limiter in a tick */
};

static void start_gossip_pair(struct pair *p, unsigned i, unsigned n)
{
	struct gossip_params params = {
		.roster = p->roster,
		.self = i,
		.n_policies = n,
		.policies = p->ids,
		.epoch = 1 + i + p->now,
		.seed = i,
		.branching = 3,
		.tick_ns = TICK,
		.timeout_ns = 1000 * MS,
		.datagram_max = DATAGRAM,
	};

	p->n[i] = n;
	assert_int_equal(gossip_create(&params, p->now, &p->g[i]), 0);
}

static struct pair *pair_create(unsigned n0, unsigned n1)
{
	static const uint32_t names[2] = {7, 8};
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->now = 1000 * MS;
	prng_seed(&p->prng, 1);
	for (unsigned i = 0; i < MANY; i++)
		p->ids[i] = 100 + i * 7919;
	assert_int_equal(roster_create(names, 2, &p->roster), 0);
	start_gossip_pair(p, 0, n0);
	start_gossip_pair(p, 1, n1);
	return p;
}

static void pair_free(struct pair *p)
{
	gossip_destroy(p->g[0]);
	gossip_destroy(p->g[1]);
	roster_destroy(p->roster);
	free(p);
}

END_POINTER(pair_free, struct pair *)

static void tick_gossip_pair(struct pair *p)
{
	p->now += TICK;
	for (unsigned i = 0; i < 2; i++) {
		uint8_t buf[DATAGRAM];
		unsigned to, n = 0;
		size_t len;

		gossip_tick(p->g[i], p->now);
		while ((len = gossip_send(p->g[i], buf, &to)) > 0) {
			assert_int_equal(to, !i);
			n++;
			if (prng_unit(&p->prng) >= p->loss)
				gossip_receive(p->g[to], p->now, buf, len);
		}
		p->most = n > p->most ? n : p->most;
	}
}

static void set_all(struct pair *p, unsigned i, double base)
{
	for (unsigned k = 0; k < p->n[i]; k++)
		gossip_set(p->g[i], k, base + k, 1 + k % 5);
}

/* Number of policies whose value from limiter i the other limiter has. */
static unsigned count_known_policies(const struct pair *p, unsigned i, double base)
{
	unsigned n = 0;

	for (unsigned k = 0; k < p->n[!i]; k++) {
		struct gossip_sum sum = gossip_sum(p->g[!i], k);

		n += sum.lost == 0 && fabs(sum.demand - base - k) < 0.5;
	}
	return n;
}

/* Each limiter receives the other, and no policy has been sent yet. */
static void meet_gossip_pair(struct pair *p)
{
	for (int t = 0; t < 5; t++)
		tick_gossip_pair(p);
	assert_int_equal(gossip_alive(p->g[0]), 1);
	assert_int_equal(gossip_alive(p->g[1]), 1);
}

TEST(test_all_are_told)
{
	ENDED_BY(pair_free_at) struct pair *p = pair_create(MANY, MANY);

	meet_gossip_pair(p);
	set_all(p, 0, 1e6);
	for (int t = 0; t < TURNS_FOR_ALL; t++)
		tick_gossip_pair(p);
	assert_int_equal(count_known_policies(p, 0, 1e6), MANY);
	assert_int_equal(p->most, TURN);
	/* A changed policy does not wait behind unchanged ones. */
	gossip_set(p->g[0], 1234, 5e6, 3);
	tick_gossip_pair(p);
	assert_near(gossip_sum(p->g[1], 1234).demand, 5e6, 1);
}

/*
 * Each record is sent twice: if one datagram in ten is lost, one record in a hundred is lost twice.
 */
TEST(test_told_twice)
{
	ENDED_BY(pair_free_at) struct pair *p = pair_create(MANY, MANY);
	unsigned after;

	meet_gossip_pair(p);
	p->loss = 0.1;
	set_all(p, 0, 1e6);
	for (int t = 0; t < 2 * TURNS_FOR_ALL + 1; t++)
		tick_gossip_pair(p);
	after = count_known_policies(p, 0, 1e6);
	assert_true(after > 96 * MANY / 100);
	/* Records lost twice are sent again with the refresh, at most twice more. */
	for (int t = 0; t < 512; t++)
		tick_gossip_pair(p);
	assert_int_equal(count_known_policies(p, 0, 1e6), MANY);
}

/* A small change waits for its refresh, which comes within 256 turns. */
TEST(test_refresh)
{
	static const unsigned sizes[] = {2048, 2049, MANY}; /* eight or nine of each turn suffice */

	for (unsigned i = 0; i < COUNT(sizes); i++) {
		struct pair *p = pair_create(sizes[i], sizes[i]);
		unsigned turns = 1;

		meet_gossip_pair(p);
		set_all(p, 0, 1e6);
		for (int k = 0; k < 3 * TURNS_FOR_ALL; k++)
			tick_gossip_pair(p);
		set_all(p, 0, 1e6 + 10);
		tick_gossip_pair(p);
		assert_true(count_known_policies(p, 0, 1e6 + 10) < 100);
		for (; count_known_policies(p, 0, 1e6 + 10) < sizes[i]; turns++)
			tick_gossip_pair(p);
		assert_true(turns <= 256);
		pair_free(p);
	}
}

/* A peer that returns, or was silent for long, gets all records again. */
TEST(test_comes_back)
{
	ENDED_BY(pair_free_at) struct pair *p = pair_create(MANY, MANY);

	meet_gossip_pair(p);
	set_all(p, 0, 1e6);
	for (int t = 0; t < 3 * TURNS_FOR_ALL; t++)
		tick_gossip_pair(p);
	gossip_destroy(p->g[1]);
	start_gossip_pair(p, 1, MANY);
	for (int t = 0; t < 5 + TURNS_FOR_ALL; t++)
		tick_gossip_pair(p);
	assert_int_equal(count_known_policies(p, 0, 1e6), MANY);
	p->loss = 1;
	for (int t = 0; t < 30; t++)
		tick_gossip_pair(p);
	assert_int_equal(gossip_alive(p->g[0]), 0);
	set_all(p, 0, 2e6);
	for (int t = 0; t < 30; t++) /* until all has been sent twice, without a receiver */
		tick_gossip_pair(p);
	p->loss = 0;
	for (int t = 0; t < 5 + TURNS_FOR_ALL; t++)
		tick_gossip_pair(p);
	assert_int_equal(count_known_policies(p, 0, 2e6), MANY);
}

/* A peer that gets policies later has discarded their records, and gets them again. */
TEST(test_added_later)
{
	ENDED_BY(pair_free_at) struct pair *p = pair_create(MANY, 10);
	unsigned from[MANY];

	meet_gossip_pair(p);
	set_all(p, 0, 1e6);
	set_all(p, 1, 0);
	for (int t = 0; t < 3 * TURNS_FOR_ALL; t++)
		tick_gossip_pair(p);
	assert_int_equal(count_known_policies(p, 0, 1e6), 10);
	assert_true(gossip_counters(p->g[1])->unknown_policy >= MANY - 10);
	for (unsigned i = 0; i < MANY; i++)
		from[i] = i < 10 ? i : GOSSIP_ADDED;
	assert_int_equal(gossip_update(p->g[1], p->ids, MANY, from, TICK, p->now), 0);
	p->n[1] = MANY;
	assert_int_equal(count_known_policies(p, 0, 1e6), 10);
	set_all(p, 1, 0);
	for (int t = 0; t < 2 * TURNS_FOR_ALL; t++)
		tick_gossip_pair(p);
	assert_int_equal(count_known_policies(p, 0, 1e6), MANY);
}

/* Records that are pending when the policies change are sent under the new indices. */
TEST(test_changed_while_told)
{
	ENDED_BY(pair_free_at) struct pair *p = pair_create(MANY, MANY);
	unsigned from[MANY];
	uint64_t ids[MANY];

	meet_gossip_pair(p);
	set_all(p, 0, 1e6);
	tick_gossip_pair(p);
	assert_true(count_known_policies(p, 0, 1e6) < MANY);
	for (unsigned i = 0; i < MANY; i++) {
		from[i] = MANY - 1 - i;
		ids[i] = p->ids[from[i]];
	}
	assert_int_equal(gossip_update(p->g[0], ids, MANY, from, TICK, p->now), 0);
	for (int t = 0; t < 2 * TURNS_FOR_ALL; t++)
		tick_gossip_pair(p);
	assert_int_equal(count_known_policies(p, 0, 1e6), MANY);
}

/* A rejected update leaves no trace. */
TEST(test_refused)
{
	ENDED_BY(pair_free_at) struct pair *p = pair_create(20, 20);
	unsigned from[3] = {0, 1, 2};
	uint64_t ids[3] = {p->ids[0], p->ids[2], p->ids[1]};

	meet_gossip_pair(p);
	set_all(p, 0, 1e6);
	tick_gossip_pair(p);
	assert_int_equal(gossip_update(p->g[0], ids, 3, from, TICK, p->now), -EINVAL);
	from[1] = 20;
	from[2] = 1;
	assert_int_equal(gossip_update(p->g[0], ids, 3, from, TICK, p->now), -EINVAL);
	from[1] = 2;
	ids[2] = ids[1];
	from[2] = from[1];
	assert_int_equal(gossip_update(p->g[0], ids, 3, from, TICK, p->now), -EINVAL);
	set_all(p, 0, 2e6);
	tick_gossip_pair(p);
	assert_int_equal(count_known_policies(p, 0, 2e6), 20);
}

/* News is reported once, only for policies that have any. */
TEST(test_news)
{
	ENDED_BY(pair_free_at) struct pair *p = pair_create(200, 200);

	meet_gossip_pair(p);
	set_all(p, 0, 1e6);
	for (int t = 0; t < 10; t++)
		tick_gossip_pair(p);
	assert_true(gossip_reports_news(p->g[1]));
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(gossip_next_news(p->g[1], i), i);
	assert_int_equal(gossip_next_news(p->g[1], 0), 200);
	tick_gossip_pair(p);
	assert_int_equal(gossip_next_news(p->g[1], 0), 200);
	gossip_set(p->g[0], 63, 5e6, 1);
	gossip_set(p->g[0], 64, 5e6, 1);
	gossip_set(p->g[0], 199, 1e6 + 199, 2);
	tick_gossip_pair(p);
	assert_int_equal(gossip_next_news(p->g[1], 0), 63);
	assert_int_equal(gossip_next_news(p->g[1], 64), 64);
	assert_int_equal(gossip_next_news(p->g[1], 0), 199);
	assert_int_equal(gossip_next_news(p->g[1], 0), 200);
}

static void expect_all_news(struct gossip *g, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(gossip_next_news(g, i), i);
	assert_int_equal(gossip_next_news(g, 0), n);
}

/* All policies are news at first, and whenever a peer stops or starts to count. */
TEST(test_all_news)
{
	static const unsigned sizes[] = {1, 63, 64, 65, 200};

	for (unsigned i = 0; i < COUNT(sizes); i++) {
		struct pair *p = pair_create(sizes[i], sizes[i]);

		expect_all_news(p->g[0], sizes[i]);
		meet_gossip_pair(p);
		expect_all_news(p->g[0], sizes[i]);
		p->loss = 1;
		while (gossip_alive(p->g[0]) > 0)
			tick_gossip_pair(p);
		expect_all_news(p->g[0], sizes[i]);
		tick_gossip_pair(p);
		assert_int_equal(gossip_next_news(p->g[0], 0), sizes[i]);
		p->loss = 0;
		while (gossip_alive(p->g[0]) == 0)
			tick_gossip_pair(p);
		expect_all_news(p->g[0], sizes[i]);
		pair_free(p);
	}
}

/* A reload keeps the unreported news under the new indices, and adds none. */
TEST(test_news_kept)
{
	ENDED_BY(pair_free_at) struct pair *p = pair_create(200, 200);
	unsigned from[200];
	uint64_t ids[200];

	meet_gossip_pair(p);
	set_all(p, 0, 1e6);
	for (int t = 0; t < 10; t++)
		tick_gossip_pair(p);
	for (unsigned i = 0; i < 200; i++) {
		assert_int_equal(gossip_next_news(p->g[1], i), i);
		from[i] = 199 - i;
		ids[i] = p->ids[from[i]];
	}
	gossip_set(p->g[0], 63, 5e6, 1);
	gossip_set(p->g[0], 64, 5e6, 1);
	gossip_set(p->g[0], 199, 5e6, 1);
	tick_gossip_pair(p);
	assert_int_equal(gossip_update(p->g[1], ids, 200, from, TICK, p->now), 0);
	assert_int_equal(gossip_next_news(p->g[1], 0), 0);
	assert_int_equal(gossip_next_news(p->g[1], 1), 135);
	assert_int_equal(gossip_next_news(p->g[1], 136), 136);
	assert_int_equal(gossip_next_news(p->g[1], 0), 200);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Groups whose roster changes while they run. The limiters take up the new roster at different
 * moments, over paths with loss. The world has all weights, so it has each right sum.
 */
#include "check.h"
#include "scope.h"

#include "gossip_world.h"

#define TIMEOUT (1000 * MS)
#define SPREAD  (300 * MS) /* between the first and the last limiter that takes up a roster */
#define SEEDS   ROUNDS(12)
#define CHANGES 4
#define N_MOST  40

/* One world, and its changes of the roster. */
struct changing {
	struct world w;
	bool alike; /* all have the same weight */
	bool member[N_MOST];
	struct roster *rosters[CHANGES + 1];
	unsigned n_rosters, joins, leaves; /* joins, leaves: limiter of this change, or N_MOST */
	uint64_t at_ns[N_MOST];            /* when each takes up the newest roster; 0: it has */
	double least;                      /* smallest sum of gossip, by the true one */
	double most;                       /* its largest excess, in average limiters */
};

static void next_roster(struct changing *c)
{
	uint32_t ids[N_MOST];
	unsigned n = 0;

	for (unsigned i = 0; i < c->w.params.n; i++)
		if (c->member[i])
			ids[n++] = c->w.roster->ids[i];
	for (unsigned i = n; i > 1; i--) { /* indices have no order */
		unsigned k = prng_below(&c->w.prng, i);
		uint32_t id = ids[k];

		ids[k] = ids[i - 1];
		ids[i - 1] = id;
	}
	assert_int_equal(roster_create(ids, n, &c->rosters[c->n_rosters++]), 0);
}

static unsigned members(const struct changing *c)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->w.params.n; i++)
		n += c->member[i];
	return n;
}

/* Returns a random limiter that is a member, or is none. */
static unsigned pick(struct changing *c, bool member)
{
	unsigned i;

	do
		i = prng_below(&c->w.prng, c->w.params.n);
	while (c->member[i] != member);
	return i;
}

/* Time for which nothing changes, until each limiter is active again or lost. */
static uint64_t quiet_time(struct changing *c)
{
	return 2000 * MS + 2 * gossip_timeout(c->w.nodes[pick(c, true)].gossip);
}

static void changing_begin(struct changing *c, uint64_t seed, enum gossip_estimator estimator)
{
	struct prng prng;
	struct world_params params = {.seed = seed,
		.n_policies = 2,
		.estimator = estimator,
		.sealed = seed % 3 == 0,
		.timeout_ns = TIMEOUT,
		.delay_ns = 20 * MS,
		.jitter_ns = 10 * MS};

	prng_seed(&prng, seed);
	params.n = 3 + prng_below(&prng, N_MOST - 2);
	params.branching = 2 + prng_below(&prng, 7);
	params.tick_ns = estimator == GOSSIP_TREE ? 10 * MS : 50 * MS;
	params.loss = 0.1 * prng_unit(&prng);
	*c = (struct changing){.joins = N_MOST, .leaves = N_MOST};
	world_create(&c->w, &params);
	for (unsigned i = 0; i < params.n; i++) {
		world_crash(&c->w, i);
		c->member[i] = prng_below(&prng, 4) > 0;
	}
	c->member[0] = c->member[1] = true;
	c->member[2] = false;
	next_roster(c);
	for (unsigned i = 0; i < params.n; i++) {
		c->w.nodes[i].roster = c->rosters[0];
		if (c->member[i])
			world_start(&c->w, i);
	}
}

static void set_weights(struct changing *c, unsigned i, bool none)
{
	for (unsigned p = 0; p < 2; p++)
		world_set(&c->w, i, p, none ? 0 : c->alike ? 4 : 1 + prng_below(&c->w.prng, 9));
}

static void changing_end(struct changing *c)
{
	world_destroy(&c->w);
	for (unsigned i = 0; i < c->n_rosters; i++)
		roster_destroy(c->rosters[i]);
}

static bool is_stayer(const struct changing *c, unsigned i)
{
	return i < c->w.params.n && c->member[i] && i != c->joins;
}

static double weight_of(const struct changing *c, unsigned i, unsigned policy)
{
	return c->w.weights[i * 2 + policy];
}

/* No limiter that watches one that stays loses it. */
static void expect_watched(const struct changing *c, unsigned i)
{
	const struct world_node *node = &c->w.nodes[i];

	for (unsigned k = 0; k < node->roster->n; k++) {
		unsigned other = roster_find(c->w.roster, node->roster->ids[k]);
		const struct peer *peer = gossip_peer(node->gossip, k);

		if (other != i && is_stayer(c, other) && peer && !peer->alive)
			fail_msg("seed %lu at %lu ms: %u has lost %u", c->w.params.seed,
				c->w.now_ns / MS, i, other);
	}
}

static void note_sum(struct changing *c, unsigned i)
{
	for (unsigned p = 0; p < 2; p++) {
		double sum = gossip_sum(c->w.nodes[i].gossip, p).weight + weight_of(c, i, p);
		double stay = 0, join = 0;
		unsigned n = 0;

		for (unsigned k = 0; k < c->w.params.n; k++) {
			n += is_stayer(c, k);
			stay += is_stayer(c, k) ? weight_of(c, k, p) : 0;
		}
		if (c->joins < N_MOST)
			join = weight_of(c, c->joins, p);
		c->least = fmin(c->least, sum / stay);
		c->most = fmax(c->most, (sum - stay - join) / (stay / n));
	}
}

static void run_change(struct changing *c, uint64_t ns)
{
	for (uint64_t end = c->w.now_ns + ns; c->w.now_ns < end;) {
		world_run(&c->w, 5 * MS);
		for (unsigned i = 0; i < c->w.params.n; i++) {
			if (c->at_ns[i] && c->w.now_ns >= c->at_ns[i]) {
				world_regroup(&c->w, i, c->rosters[c->n_rosters - 1]);
				c->at_ns[i] = 0;
			}
			if (!is_stayer(c, i))
				continue;
			expect_watched(c, i);
			note_sum(c, i);
		}
	}
}

static void expect_exact(const struct changing *c)
{
	for (unsigned i = 0; i < c->w.params.n; i++) {
		for (unsigned p = 0; c->member[i] && p < 2; p++) {
			struct gossip_sum sum = gossip_sum(c->w.nodes[i].gossip, p);
			unsigned peers;
			double truth = world_truth(&c->w, i, p, &peers);

			assert_int_equal(peers, members(c) - 1);
			if (sum.lost != 0 || fabs(sum.weight - truth) > 1e-6 * truth)
				fail_msg("seed %lu at %lu ms: %u of %u: weight %g of %g, lost %u",
					c->w.params.seed, c->w.now_ns / MS, i, members(c),
					sum.weight, truth, sum.lost);
		}
	}
}

/* One that leaves has stopped, or has no weight any more, before any other regroups. */
static void leave(struct changing *c)
{
	c->leaves = pick(c, true);
	if (prng_below(&c->w.prng, 2))
		world_crash(&c->w, c->leaves);
	else
		set_weights(c, c->leaves, true);
	c->member[c->leaves] = false;
	world_run(&c->w, quiet_time(c));
}

/* One that joins starts when all others have its roster. */
static void change_roster(struct changing *c)
{
	unsigned n = members(c);
	bool joins = n < c->w.params.n - 1 && (n < 3 || prng_below(&c->w.prng, 2));

	if (n > 2 && (!joins || prng_below(&c->w.prng, 3) == 0))
		leave(c);
	while (joins && (c->joins == N_MOST || c->joins == c->leaves))
		c->joins = pick(c, false);
	if (joins)
		c->member[c->joins] = true;
	next_roster(c);
	for (unsigned i = 0; i < c->w.params.n; i++)
		if (is_stayer(c, i))
			c->at_ns[i] = c->w.now_ns + 1 + prng_below(&c->w.prng, SPREAD / MS) * MS;
	run_change(c, SPREAD + 5 * MS);
	if (c->leaves < N_MOST && c->w.nodes[c->leaves].gossip)
		world_crash(&c->w, c->leaves);
	if (c->joins < N_MOST) {
		run_change(c, prng_below(&c->w.prng, 3000) * MS);
		c->w.nodes[c->joins].roster = c->rosters[c->n_rosters - 1];
		world_start(&c->w, c->joins);
		set_weights(c, c->joins, false);
	}
	run_change(c, quiet_time(c));
	c->joins = c->leaves = N_MOST;
	expect_exact(c);
}

/* Compares sums with those over limiters that stay, and with the one that joins. */
static void change_groups(enum gossip_estimator estimator, bool alike, double least, double most)
{
	double low = 1, high = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		ENDED_BY(changing_end) struct changing c;

		changing_begin(&c, seed, estimator);
		c.alike = alike;
		for (unsigned i = 0; i < c.w.params.n; i++)
			if (c.member[i])
				set_weights(&c, i, false);
		world_run(&c.w, quiet_time(&c));
		expect_exact(&c);
		c.least = 1;
		for (unsigned k = 0; k < CHANGES; k++)
			change_roster(&c);
		low = fmin(low, c.least);
		high = fmax(high, c.most);
	}
	print_message("at least %.3f, at most %.3f limiters more\n", low, high);
	assert_true(low >= least);
	assert_true(high <= most);
}

/* Every limiter keeps the record of each other one, so the sums never are another. */
TEST(test_states)
{
	change_groups(GOSSIP_STATE, false, 1 - 1e-6, 1e-6);
}

/*
 * Limiters that were linked by one that is removed find other links. Meanwhile sums are held or
 * scaled by the number of limiters.
 */
TEST(test_trees_of_equals)
{
	change_groups(GOSSIP_TREE, true, 1 - 1e-6, 1 + 1e-6);
}

/* With different weights, a part of a sum by number is not exact. */
TEST(test_trees)
{
	change_groups(GOSSIP_TREE, false, 0.75, 3);
}

/* A limiter that is added and does not start moves no link of a tree. */
TEST(test_links_stay)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		ENDED_BY(changing_end) struct changing c;

		changing_begin(&c, seed, GOSSIP_TREE);
		for (unsigned i = 0; i < c.w.params.n; i++)
			if (c.member[i])
				set_weights(&c, i, false);
		world_run(&c.w, quiet_time(&c));
		c.least = 1;
		c.joins = pick(&c, false);
		c.member[c.joins] = true;
		next_roster(&c);
		for (unsigned i = 0; i < c.w.params.n; i++)
			if (is_stayer(&c, i))
				c.at_ns[i] = c.w.now_ns + 1 + prng_below(&c.w.prng, SPREAD);
		run_change(&c, 2000 * MS);
		assert_true(c.least >= 1 - 1e-6 && c.most <= 1e-6);
	}
}

/* A small sealed group in which all are active. */
struct settled {
	struct world w;
	struct roster *other; /* without limiter 2, and in another order */
};

#define SETTLED 7
#define GONE    2

static void settled_begin(struct settled *s, enum gossip_estimator estimator)
{
	struct world_params params = {.seed = 1,
		.n = SETTLED,
		.n_policies = 1,
		.branching = 2,
		.estimator = estimator,
		.sealed = true,
		.tick_ns = estimator == GOSSIP_TREE ? 10 * MS : 50 * MS,
		.timeout_ns = TIMEOUT,
		.delay_ns = 20 * MS};
	uint32_t ids[SETTLED - 1];
	unsigned n = 0;

	world_create(&s->w, &params);
	for (unsigned i = SETTLED; i-- > 0;) {
		world_set(&s->w, i, 0, 1);
		if (i != GONE)
			ids[n++] = s->w.roster->ids[i];
	}
	assert_int_equal(roster_create(ids, n, &s->other), 0);
	world_run(&s->w, 5000 * MS);
}

static void settled_end(struct settled *s)
{
	world_destroy(&s->w);
	roster_destroy(s->other);
}

static size_t seal_text(struct settled *s, unsigned from, unsigned to, uint8_t *buf)
{
	const struct world_node *node = &s->w.nodes[from];

	memcpy(gossip_message_at(buf), "text", 4);
	return gossip_seal_message(
		node->gossip, buf, 4, roster_find(node->roster, s->w.roster->ids[to]));
}

/* A message on its way is delivered once, also if only one side has the other roster. */
TEST(test_message_on_its_way)
{
	for (unsigned first = 0; first < 2; first++) {
		ENDED_BY(settled_end) struct settled s;
		uint8_t sent[4][DATAGRAM_MAX], again[DATAGRAM_MAX];
		size_t len[4];
		struct gossip *to;

		settled_begin(&s, GOSSIP_STATE);
		to = s.w.nodes[1].gossip;
		len[0] = seal_text(&s, 0, 1, sent[0]);
		memcpy(again, sent[0], len[0]);
		assert_int_equal(world_deliver(&s.w, 0, 1, again, len[0]), GOSSIP_MESSAGE);
		len[1] = seal_text(&s, 0, 1, sent[1]);
		len[2] = seal_text(&s, GONE, 1, sent[2]);
		world_regroup(&s.w, first, s.other);
		len[3] = seal_text(&s, 0, 1, sent[3]);
		world_regroup(&s.w, 1 - first, s.other);
		assert_int_equal(world_deliver(&s.w, 0, 1, sent[0], len[0]), GOSSIP_REPLAY);
		for (unsigned i = 1; i < 4; i += 2) {
			assert_int_equal(
				world_deliver(&s.w, 0, 1, sent[i], len[i]), GOSSIP_MESSAGE);
			assert_int_equal(gossip_message(to, sent[i], len[i]).from,
				roster_find(s.other, s.w.roster->ids[0]));
		}
		assert_int_equal(world_deliver(&s.w, GONE, 1, sent[2], len[2]), GOSSIP_STRANGER);
	}
}

/* Also between the datagrams of a tick: no limiter waits longer than a round for its turn. */
TEST(test_between_datagrams)
{
	for (unsigned sent = 0; sent < 3; sent++) {
		ENDED_BY(settled_end) struct settled s;
		uint8_t buf[DATAGRAM_MAX];
		bool seen[SETTLED] = {false};
		struct gossip *g;
		unsigned to;

		settled_begin(&s, GOSSIP_STATE);
		g = s.w.nodes[0].gossip;
		gossip_tick(g, s.w.now_ns);
		for (unsigned i = 0; i < sent; i++)
			assert_true(gossip_send(g, buf, &to) > 0);
		world_regroup(&s.w, 0, s.other);
		for (unsigned tick = 0; tick < 1 + 2 * ((SETTLED - 2 + 1) / 2); tick++) {
			while (gossip_send(g, buf, &to) > 0)
				seen[to] = true;
			gossip_tick(g, s.w.now_ns += 50 * MS);
		}
		/* Changes do not begin a round again, or the last in it would wait for ever. */
		memset(seen, 0, sizeof(seen));
		for (unsigned tick = 0; tick < SETTLED; tick++) {
			while (gossip_send(g, buf, &to) > 0)
				seen[to] = true;
			world_regroup(&s.w, 0, s.other);
			gossip_tick(g, s.w.now_ns += 50 * MS);
		}
		for (unsigned i = 0; i < s.other->n; i++)
			assert_true(seen[i] == (s.other->ids[i] != s.w.roster->ids[0]));
	}
}

TEST(test_between_datagrams_of_a_tree)
{
	for (unsigned i = 0; i < SETTLED; i++) {
		ENDED_BY(settled_end) struct settled s;
		uint8_t buf[DATAGRAM_MAX];
		struct gossip *g;
		unsigned to;

		settled_begin(&s, GOSSIP_TREE);
		g = s.w.nodes[i].gossip;
		gossip_set(g, 0, 1e6, 1e3);
		gossip_tick(g, s.w.now_ns);
		assert_true(gossip_send(g, buf, &to) > 0);
		if (i != GONE)
			world_regroup(&s.w, i, s.other);
		while (i != GONE && gossip_send(g, buf, &to) > 0)
			assert_true(to < s.other->n && s.other->ids[to] != s.w.roster->ids[i]);
	}
}

TEST(test_refused)
{
	ENDED_BY(settled_end) struct settled s;
	struct gossip *g;
	struct gossip_sum before, after;

	settled_begin(&s, GOSSIP_STATE);
	g = s.w.nodes[0].gossip;
	before = gossip_sum(g, 0);
	assert_int_equal(gossip_regroup(g, s.other, 0, s.w.nodes[0].keyring, 0), -EINVAL);
	assert_int_equal(gossip_regroup(g, s.other, s.other->n, s.w.nodes[0].keyring, 0), -EINVAL);
	assert_int_equal(
		gossip_regroup(g, s.other, roster_find(s.other, s.w.roster->ids[0]), NULL, 0),
		-EINVAL);
	after = gossip_sum(g, 0);
	assert_true(after.weight == before.weight && after.lost == before.lost);
}

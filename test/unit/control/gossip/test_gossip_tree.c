/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Sums along a tree: exact as soon as the network permits, and never too large for long while it
 * does not. Weights are whole numbers, or differ by powers of two, so that float sums are exact.
 * The first tests also run without a tree.
 */
#include "check.h"
#include "scope.h"

#include "gossip/tree_private.h"
#include "gossip_world.h"

END_POINTER(world_destroy, struct world *)

#define TICK      (10 * MS)
#define TIMEOUT   (1000 * MS)
#define DELAY     (20 * MS)
#define HEARTBEAT (200 * MS)    /* with this timeout */
#define PROBE     (50 * MS)     /* the same */
#define HOLD      (TIMEOUT / 2) /* time for which the sums of a lost link count */
#define SPACING   (50 * MS)     /* time between datagrams with news */

static const struct world_params usual = {
	.seed = 1,
	.n = 40,
	.n_policies = 1,
	.branching = 3,
	.estimator = GOSSIP_TREE,
	.tick_ns = TICK,
	.timeout_ns = TIMEOUT,
	.delay_ns = DELAY,
};

/* Time that news needs to cross the tree, in ns: a wait, a tick and a delay for each edge. */
static uint64_t tree_crossing_time(const struct world *w)
{
	uint64_t edges = 2 * tree_depth(w->params.n, w->params.branching);

	return edges * (SPACING + TICK + w->params.delay_ns + w->params.jitter_ns);
}

/*
 * Time to repair after a limiter has gone, in ns: the timeout, a probe of each candidate that has
 * gone too, and a handshake of three one-way delays. Then the hold ends, and the news spreads.
 */
static uint64_t tree_repair_time(const struct world *w, unsigned gone)
{
	return TIMEOUT + HOLD + (gone + 2) * PROBE + 3 * (TICK + DELAY) + tree_crossing_time(w) +
	       2 * HEARTBEAT;
}

/*
 * Returns true if a limiter has the right sums of policy 0 over its side; otherwise writes the
 * reason.
 */
static bool knows_tree_sum(
	const struct world *w, unsigned i, unsigned policy, char *why, size_t size)
{
	struct gossip_sum sum = gossip_sum(w->nodes[i].gossip, policy);
	unsigned peers, lost;
	double truth = world_truth(w, i, policy, &peers);

	lost = w->params.n - 1 - peers;
	snprintf(why, size, "seed %llu at %.2f s: limiter %u: weight %.6g of %.6g, lost %u of %u",
		(unsigned long long)w->params.seed, (double)w->now_ns / 1e9, i, sum.weight, truth,
		sum.lost, lost);
	return sum.lost == lost && fabs(sum.weight - truth) <= 1e-6 * truth &&
	       fabs(sum.demand - 1000 * truth) <= 1e-3 * truth;
}

static void expect_right(const struct world *w)
{
	char why[200];

	for (unsigned i = 0; i < w->params.n; i++)
		for (unsigned p = 0; p < w->params.n_policies; p++)
			if (w->nodes[i].gossip && !knows_tree_sum(w, i, p, why, sizeof(why)))
				fail_msg("policy %u: %s", p, why);
}

/* Each limiter has the weight and the demand of each other one, so it can report any sum. */
static void expect_reported(const struct world *w)
{
	for (unsigned i = 0; i < w->params.n; i++)
		for (unsigned k = 0; k < w->params.n; k++)
			for (unsigned p = 0; p < w->params.n_policies; p++) {
				double weight = w->weights[(size_t)k * w->params.n_policies + p];
				struct gossip_sum sum;

				assert_int_equal(
					gossip_reported_sum(w->nodes[i].gossip, p, k, &sum),
					k != i);
				if (k == i)
					continue;
				assert_near(sum.weight, weight, 1e-6);
				assert_near(sum.demand, 1000 * weight, 1e-3);
			}
}

static bool all_right(const struct world *w)
{
	char why[200];

	for (unsigned i = 0; i < w->params.n; i++)
		if (w->nodes[i].gossip && !knows_tree_sum(w, i, 0, why, sizeof(why)))
			return false;
	return true;
}

/* Returns true if a sum exceeds the total of all weights: then a subtree counts twice. */
static bool counted_twice(const struct world *w)
{
	double all = 0;

	for (unsigned i = 0; i < w->params.n; i++)
		all += w->weights[i];
	for (unsigned i = 0; i < w->params.n; i++)
		if (w->nodes[i].gossip &&
			gossip_sum(w->nodes[i].gossip, 0).weight > all - w->weights[i] + 0.5)
			return true;
	return false;
}

/* Returns the most limiters that any limiter misses, except those that have restarted. */
static unsigned most_lost(const struct world *w)
{
	unsigned most = 0;

	for (unsigned i = 0; i < w->params.n; i++) {
		unsigned lost = 0;

		if (!w->nodes[i].gossip || w->nodes[i].starts > 1)
			continue;
		lost = gossip_sum(w->nodes[i].gossip, 0).lost;
		most = lost > most ? lost : most;
	}
	return most;
}

/* The longest uninterrupted time for which a condition has held. */
struct spell {
	uint64_t since, longest;
};

static void spell_note(struct spell *spell, bool holds, uint64_t now_ns)
{
	if (!holds)
		spell->since = 0;
	else if (!spell->since)
		spell->since = now_ns;
	if (spell->since && now_ns - spell->since > spell->longest)
		spell->longest = now_ns - spell->since;
}

struct watch {
	unsigned dead;               /* limiters that may be missed */
	struct spell twice, missing; /* a subtree counts twice; more than the dead are missed */
};

static void run_watching(struct world *w, uint64_t ns, struct watch *watch)
{
	for (uint64_t end = w->now_ns + ns; w->now_ns < end;) {
		world_run(w, 5 * MS);
		spell_note(&watch->twice, counted_twice(w), w->now_ns);
		spell_note(&watch->missing, most_lost(w) > watch->dead, w->now_ns);
	}
}

static void begin_tree_world(struct world *w, const struct world_params *params)
{
	world_create(w, params);
	for (unsigned i = 0; i < params->n; i++)
		for (unsigned p = 0; p < params->n_policies; p++)
			world_set(w, i, p, 1 + prng_below(&w->prng, 9));
	world_run(w, 2000 * MS + 4 * tree_crossing_time(w));
}

static void check_sums_agree(const struct world_params *params)
{
	ENDED_BY(world_destroy) struct world w;

	begin_tree_world(&w, params);
	expect_right(&w);
	if (params->estimator == GOSSIP_STATE)
		expect_reported(&w);
}

TEST(test_sums_agree)
{
	static const unsigned sizes[] = {1, 2, 3, 4, 5, 10, 40, 100};
	const unsigned states = 16; /* most limiters that send all to all */

	for (size_t s = 0; s < COUNT(sizes); s++)
		for (unsigned b = 1; b <= 7; b += 3)
			for (unsigned e = 0; e < GOSSIP_ESTIMATORS; e++) {
				struct world_params params = usual;

				if (e == GOSSIP_STATE && sizes[s] > states)
					continue;
				params.estimator = (enum gossip_estimator)e;
				params.n = sizes[s];
				params.branching = b;
				params.n_policies = 3;
				params.sealed = s % 2;
				check_sums_agree(&params);
			}
}

/*
 * With loss, repeats and reordering, sums are exact some time after the last change. With twenty
 * policies, a lost record waits a few heartbeats for its next turn, and may be lost again.
 */
static void check_sums_heal(enum gossip_estimator estimator, uint64_t seed)
{
	struct world_params params = usual;
	ENDED_BY(world_destroy) struct world w;

	params.estimator = estimator;
	params.seed = seed;
	params.n = estimator == GOSSIP_STATE ? 6 : 5 + 5 * (unsigned)seed;
	params.n_policies = 20;
	params.loss = 0.025 * (double)seed;
	params.repeat = 0.1;
	params.jitter_ns = 10 * seed * MS;
	begin_tree_world(&w, &params);
	for (int t = 0; t < 200; t++) {
		world_set(&w, prng_below(&w.prng, params.n), prng_below(&w.prng, 20),
			prng_below(&w.prng, 9));
		world_run(&w, 10 * MS);
	}
	world_run(&w, tree_crossing_time(&w) + 60 * HEARTBEAT);
	expect_right(&w);
	if (estimator == GOSSIP_STATE)
		expect_reported(&w);
}

TEST(test_sums_heal)
{
	for (uint64_t seed = 1; seed <= ROUNDS(8); seed++)
		for (unsigned e = 0; e < GOSSIP_ESTIMATORS; e++)
			check_sums_heal((enum gossip_estimator)e, seed);
}

/* A large change reaches every limiter after a tick and a delay for each edge. */
TEST(test_news_is_quick)
{
	struct world_params params = usual;
	ENDED_BY(world_destroy) struct world w;

	params.n = 200;
	begin_tree_world(&w, &params);
	for (int i = 0; i < 20; i++) {
		world_set(&w, prng_below(&w.prng, params.n), 0, 1000 * (i + 1));
		world_run(&w, tree_crossing_time(&w) + TICK);
		expect_right(&w);
	}
}

/*
 * A change of 6 % of the total is sent immediately, one of 0.6 % when there is credit for two
 * datagrams, one of 0.4 % by the heartbeat. One limiter changes every 50 ms, for two seconds.
 */
TEST(test_small_changes_wait)
{
	static const struct {
		double change;
		unsigned sent;
	} cases[] = {{4, 10 + 10}, {6, 10 + 40}, {60, 10 + 40}};

	for (size_t c = 0; c < COUNT(cases); c++) {
		struct world_params params = usual;
		struct world w;
		uint64_t sent;

		params.n = 2;
		begin_tree_world(&w, &params);
		world_set(&w, 0, 0, 1000);
		world_set(&w, 1, 0, 0);
		world_run(&w, 1000 * MS);
		sent = w.sent;
		for (int t = 0; t < 40; t++) {
			world_set(&w, 0, 0, 1000 - cases[c].change * (t % 2));
			world_run(&w, SPACING);
		}
		assert_in_range(w.sent - sent, cases[c].sent - 2, cases[c].sent + 2);
		world_run(&w, HEARTBEAT + TICK + DELAY);
		expect_right(&w);
		world_destroy(&w);
	}
}

/* The loss of a peer is sent immediately, even if no sum changes. */
TEST(test_counts_are_quick)
{
	for (uint64_t seed = 1; seed <= ROUNDS(8); seed++) {
		struct world_params params = usual;
		unsigned root, dead, other;
		struct world w;

		params.seed = seed;
		params.n = 3;
		begin_tree_world(&w, &params);
		root = world_at(&w, 0);
		dead = world_at(&w, 1);
		other = world_at(&w, 2);
		world_set(&w, dead, 0, 0);
		world_run(&w, 1000 * MS);
		world_crash(&w, dead);
		while (gossip_sum(w.nodes[root].gossip, 0).lost == 0)
			world_run(&w, MS);
		world_run(&w, TICK + DELAY + MS);
		assert_int_equal(gossip_sum(w.nodes[other].gossip, 0).lost, 1);
		world_destroy(&w);
	}
}

static bool cut_all(const struct world *w, unsigned from, unsigned to)
{
	return true;
}

/* A datagram with one of a hundred records is lost: the record is sent again before its turn. */
TEST(test_lost_record_is_said_again)
{
	struct world_params params = usual;
	ENDED_BY(world_destroy) struct world w;

	params.n = 2;
	params.n_policies = 100;
	begin_tree_world(&w, &params);
	world_run(&w, 50 * HEARTBEAT);
	for (unsigned p = 0; p < 100; p += 9) {
		world_set(&w, 0, p, 100);
		w.cut = cut_all;
		world_run(&w, 2 * TICK);
		w.cut = NULL;
		world_run(&w, HEARTBEAT + TICK + DELAY);
		expect_right(&w);
	}
}

/* Returns the length of the next datagram of one of two limiters, which is not delivered. */
static size_t next_tree_datagram(struct world *w, unsigned from, uint8_t *buf)
{
	size_t len = 0;
	unsigned to;

	while (len == 0) {
		w->now_ns += TICK;
		gossip_tick(w->nodes[from].gossip, w->now_ns);
		len = gossip_send(w->nodes[from].gossip, buf, &to);
	}
	return len;
}

/* A datagram that a newer one overtook does not change the sums. */
TEST(test_overtaken)
{
	uint8_t early[DATAGRAM_MAX], late[DATAGRAM_MAX];
	struct world_params params = usual;
	size_t early_len, late_len;
	ENDED_BY(world_destroy) struct world w;

	params.n = 2;
	begin_tree_world(&w, &params);
	world_set(&w, 0, 0, 100);
	early_len = next_tree_datagram(&w, 0, early);
	world_set(&w, 0, 0, 200);
	late_len = next_tree_datagram(&w, 0, late);
	assert_int_equal(
		gossip_receive(w.nodes[1].gossip, w.now_ns, late, late_len), GOSSIP_ACCEPTED);
	assert_near(gossip_sum(w.nodes[1].gossip, 0).weight, 200, 1e-3);
	assert_int_equal(
		gossip_receive(w.nodes[1].gossip, w.now_ns, early, early_len), GOSSIP_ACCEPTED);
	assert_near(gossip_sum(w.nodes[1].gossip, 0).weight, 200, 1e-3);
}

/* The first datagram after a restart invalidates all records of the previous incarnation. */
TEST(test_restart_voids_at_once)
{
	struct world_params params = usual;
	const struct peer *peer;
	ENDED_BY(world_destroy) struct world w;

	params.n = 2;
	params.n_policies = 40;
	begin_tree_world(&w, &params);
	world_crash(&w, 1);
	world_start(&w, 1);
	do {
		world_run(&w, MS);
		peer = gossip_peer(w.nodes[0].gossip, 1);
	} while (peer && peer->restarts == 0);
	for (unsigned p = 0; p < 40; p++)
		assert_int_equal(gossip_sum(w.nodes[0].gossip, p).lost, 1);
}

static bool cut_one_way(const struct world *w, unsigned from, unsigned to)
{
	return from == w->cut_from && to == w->cut_to;
}

/*
 * The limiters at positions 3 and 4 moved to the root. Their parent is back, so they are to return.
 */
struct move {
	struct world world;
	unsigned root, parent, child;
};

static void begin_move(struct move *m)
{
	struct world_params params = usual;
	struct world *w = &m->world;

	params.n = 5;
	params.branching = 2;
	begin_tree_world(w, &params);
	m->root = world_at(w, 0);
	m->parent = world_at(w, 1);
	m->child = world_at(w, 3);
	world_crash(w, m->parent);
	world_run(w, tree_repair_time(w, 1));
	assert_true(gossip_peer(w->nodes[m->child].gossip, m->root)->alive);
	world_start(w, m->parent);
	world_set(w, m->parent, 0, w->weights[m->parent]);
	while (!counted_twice(w))
		world_run(w, MS);
}

/* The leave message of a moving child is lost: it is sent again when the old parent sends. */
TEST(test_lost_leave)
{
	struct move m;
	ENDED_BY(world_destroy_at) struct world *w = &m.world;

	begin_move(&m);
	w->cut = cut_one_way;
	w->cut_from = m.child;
	w->cut_to = m.root;
	while (gossip_peer(w->nodes[m.child].gossip, m.root))
		world_run(w, MS);
	world_run(w, TICK);
	assert_true(counted_twice(w));
	w->cut = NULL;
	world_run(w, HEARTBEAT + tree_crossing_time(w));
	assert_false(counted_twice(w));
	expect_right(w);
}

/* A parent that its child left is not missed, even if it never answers the leave message. */
TEST(test_left_for_good)
{
	struct move m;
	ENDED_BY(world_destroy_at) struct world *w = &m.world;
	struct gossip *child;

	begin_move(&m);
	child = w->nodes[m.child].gossip;
	w->cut = cut_one_way;
	w->cut_from = m.root;
	w->cut_to = m.child;
	for (uint64_t end = w->now_ns + 3 * TIMEOUT; w->now_ns < end;) {
		world_run(w, TICK);
		assert_int_equal(gossip_silent(child), 0);
	}
}

/*
 * A leaf falls silent: it counts until just before the timeout, and nowhere after the repair time.
 */
TEST(test_silence)
{
	ENDED_BY(world_destroy) struct world w;
	unsigned leaf, parent;

	begin_tree_world(&w, &usual);
	leaf = world_at(&w, 39);
	parent = world_at(&w, 12);
	world_crash(&w, leaf);
	/* Its last datagram may be a heartbeat old, and the last echo one older. */
	world_run(&w, TIMEOUT - 2 * (HEARTBEAT + TICK + DELAY));
	assert_int_equal(gossip_sum(w.nodes[parent].gossip, 0).lost, 0);
	assert_int_equal(gossip_sum(w.nodes[0].gossip, 0).lost, 0);
	world_run(&w, gossip_timeout(w.nodes[parent].gossip) - TIMEOUT +
			      2 * (HEARTBEAT + TICK + DELAY) + 6 * DELAY);
	expect_right(&w);
	assert_int_equal(gossip_sum(w.nodes[parent].gossip, 0).lost, 1);
	world_start(&w, leaf);
	world_set(&w, leaf, 0, 5);
	world_run(&w, 1000 * MS + tree_crossing_time(&w));
	expect_right(&w);
}

/* A restarted peer without a record of a policy does not count for that policy. */
TEST(test_restart_without_a_policy)
{
	static const unsigned positions[] = {0, 1, 5, 39};
	ENDED_BY(world_destroy) struct world w;

	begin_tree_world(&w, &usual);
	for (size_t k = 0; k < COUNT(positions); k++) {
		unsigned i = world_at(&w, positions[k]);

		world_crash(&w, i);
		world_start(&w, i);
		w.weights[i] = 0;
		world_run(&w, tree_repair_time(&w, 1));
		for (unsigned j = 0; j < w.params.n; j++) {
			unsigned peers;
			struct gossip_sum sum = gossip_sum(w.nodes[j].gossip, 0);

			assert_int_equal(sum.lost, j != i);
			assert_near(sum.weight, world_truth(&w, j, 0, &peers), 1e-6);
		}
		world_set(&w, i, 0, 7);
		world_run(&w, tree_crossing_time(&w) + 2 * HEARTBEAT);
		expect_right(&w);
	}
}

/*
 * Some limiters crash; the others have exact sums again within the repair time; then all come back.
 */
TEST(test_crashes)
{
	static const struct {
		unsigned n, dead[6];
	} cases[] = {
		{1, {0}},                 /* the root */
		{2, {0, 1}},              /* the root and its first child */
		{4, {0, 1, 2, 3}},        /* the root and its children */
		{1, {4}},                 /* an inner limiter */
		{3, {12, 3, 0}},          /* a whole path */
		{6, {0, 2, 5, 7, 13, 1}}, /* many */
	};

	for (size_t c = 0; c < COUNT(cases); c++) {
		struct watch watch = {.dead = cases[c].n};
		struct world w;

		begin_tree_world(&w, &usual);
		for (unsigned k = 0; k < cases[c].n; k++)
			world_crash(&w, world_at(&w, cases[c].dead[k]));
		world_run(&w, tree_repair_time(&w, cases[c].n));
		expect_right(&w);
		for (unsigned k = 0; k < cases[c].n; k++) {
			unsigned i = world_at(&w, cases[c].dead[k]);

			world_start(&w, i);
			world_set(&w, i, 0, w.weights[i]);
		}
		/*
		 * All return to better parents, after probes. Each move counts a subtree twice for
		 * a moment. It may also hide the subtree, if the old parent drops it before news of
		 * the new one arrives. Many moves overlap, but none of this lasts.
		 */
		run_watching(&w, 20 * HEARTBEAT * 4, &watch);
		expect_right(&w);
		/* The news crosses while the child completes the handshake with its new parent. */
		if (watch.missing.longest > tree_crossing_time(&w) - 2 * (TICK + DELAY))
			fail_msg("case %zu: missing on the way back for %.2f s", c,
				(double)watch.missing.longest / 1e9);
		if (watch.twice.longest > tree_crossing_time(&w) + 8 * HEARTBEAT)
			fail_msg("case %zu: counted twice for %.2f s", c,
				(double)watch.twice.longest / 1e9);
		for (unsigned i = 1; i < w.params.n; i++) {
			unsigned parent = world_at(&w, (i - 1) / 3), self = world_at(&w, i);
			const struct peer *peer = gossip_peer(w.nodes[self].gossip, parent);

			if (!peer || !peer->alive)
				fail_msg("case %zu: %u is not back at its parent", c, i);
		}
		world_destroy(&w);
	}
}

/* Random crashes and loss: the sums are right in the end, and never too large for long. */
TEST(test_random_crashes)
{
	for (uint64_t seed = 1; seed <= ROUNDS(10); seed++) {
		struct world_params params = usual;
		struct world w;
		struct watch watch = {0};

		params.seed = seed;
		params.n = 20 + 10 * (unsigned)seed;
		params.loss = 0.02 * (double)(seed % 6);
		params.repeat = 0.05;
		params.jitter_ns = 30 * MS;
		params.branching = 2 + seed % 3;
		begin_tree_world(&w, &params);
		for (int k = 0; k < 6; k++) {
			unsigned i = world_at(&w,
				prng_below(&w.prng, k % 2 ? params.n : 8)); /* hubs more often */

			if (w.nodes[i].gossip)
				world_crash(&w, i);
			run_watching(&w, prng_below(&w.prng, 3000) * MS, &watch);
			if (prng_below(&w.prng, 2) && !w.nodes[i].gossip) {
				world_start(&w, i);
				world_set(&w, i, 0, w.weights[i]);
			}
		}
		run_watching(&w, tree_repair_time(&w, 6) + 30 * HEARTBEAT, &watch);
		expect_right(&w);
		/*
		 * A lost leave message is sent again when the old parent sends. A child waits for a
		 * timeout at most until its next parent counts enough.
		 */
		if (watch.twice.longest > tree_crossing_time(&w) + 8 * HEARTBEAT + TIMEOUT)
			fail_msg("seed %llu: counted twice for %.2f s", (unsigned long long)seed,
				(double)watch.twice.longest / 1e9);
		world_destroy(&w);
	}
}

/* The worst sums of limiters that run all the time. */
struct worst {
	unsigned missed, may_miss;
	struct spell spell; /* more than may_miss are missed */
	double least, most; /* parts of the true total, where all weights are the same */
};

/* Observes all except one limiter. */
static void run_observing(struct world *w, uint64_t ns, unsigned except, struct worst *worst)
{
	for (uint64_t end = w->now_ns + ns; w->now_ns < end;) {
		unsigned missed = 0;

		world_run(w, 5 * MS);
		for (unsigned i = 0; i < w->params.n; i++) {
			struct gossip_sum sum;
			unsigned peers;
			double part;

			if (i == except)
				continue;
			sum = gossip_sum(w->nodes[i].gossip, 0);
			part = (sum.weight + w->weights[i]) /
			       (world_truth(w, i, 0, &peers) + w->weights[i]);
			missed = sum.lost > missed ? sum.lost : missed;
			worst->most = fmax(worst->most, part);
			if (sum.lost <= worst->may_miss)
				worst->least = fmin(worst->least, part);
		}
		worst->missed = missed > worst->missed ? missed : worst->missed;
		spell_note(&worst->spell, missed > worst->may_miss, w->now_ns);
	}
}

/*
 * A limiter anywhere in the tree dies, or only pauses, and comes back. Meanwhile no other misses
 * more than that one and, with loss, one more, except for a moment. None counts a subtree twice.
 */
TEST(test_only_the_dead_are_missed)
{
	for (uint64_t seed = 1; seed <= ROUNDS(12); seed++) {
		struct world_params params = usual;
		struct worst worst = {.least = 1, .most = 1};
		unsigned which;
		struct prng prng;
		struct world w;

		prng_seed(&prng, seed);
		params.seed = seed;
		params.n = 3 + prng_below(&prng, 80);
		params.branching = 2 + prng_below(&prng, 4);
		params.loss = seed % 2 ? 0 : 0.02;
		params.jitter_ns = prng_below(&prng, 10) * MS;
		worst.may_miss = params.loss > 0 ? 2 : 1;
		begin_tree_world(&w, &params);
		for (unsigned i = 0; i < params.n; i++)
			world_set(&w, i, 0, 10);
		world_run(&w, 4 * HEARTBEAT + 2 * tree_crossing_time(&w));
		which = world_at(&w, prng_below(&prng, prng_below(&prng, 2) ? params.n : 3));
		if (prng_below(&prng, 3) == 0) {
			world_pause(&w, which, (300 + prng_below(&prng, 3000)) * MS);
			run_observing(&w, 3500 * MS, which, &worst);
		} else {
			world_crash(&w, which);
			run_observing(&w, 3000 * MS, which, &worst);
			world_start(&w, which);
			world_set(&w, which, 0, 10);
		}
		run_observing(&w, 4000 * MS, which, &worst);
		/* With loss a limiter can find its next parent after the hold is over. */
		if (worst.spell.longest > (params.loss > 0 ? HOLD : 0) ||
			worst.least < 1 - (worst.may_miss + 0.5) / params.n ||
			worst.most > 1 + 1.5 / (params.n - 1))
			fail_msg("seed %llu, %u limiters: %u missed, too many for %.0f ms, %.3f to "
				 "%.3f of the total",
				(unsigned long long)seed, params.n, worst.missed,
				(double)worst.spell.longest / 1e6, worst.least, worst.most);
		expect_right(&w);
		world_destroy(&w);
	}
}

/* Loss and pauses that are shorter than the timeout make no peer lost. */
TEST(test_no_false_loss)
{
	for (uint64_t seed = 1; seed <= ROUNDS(3); seed++) {
		struct world_params params = usual;
		struct worst worst = {.least = 1, .most = 1};
		ENDED_BY(world_destroy) struct world w;

		params.seed = seed;
		params.n = 2 + 3 * (unsigned)seed;
		params.loss = 0.05;
		begin_tree_world(&w, &params);
		world_run(&w, 2000 * MS);
		for (unsigned s = 0; s < 200; s++) {
			world_pause(&w, prng_below(&w.prng, params.n), 150 * MS);
			run_observing(&w, 500 * MS, params.n, &worst);
		}
		assert_int_equal(worst.missed, 0);
	}
}

static void force_old_format(struct world *w, unsigned from, unsigned to, const uint8_t *buf,
	enum gossip_verdict verdict)
{
	const struct peer *peer = gossip_peer(w->nodes[to].gossip, from);

	if ((from + to) % 3 == 0 && peer)
		((struct peer *)peer)->speaks.version = DATAGRAM_OLDEST;
	if (verdict == GOSSIP_ACCEPTED)
		((uint64_t *)w->sees)[buf[0]]++;
}

/* On some edges the older format is written: sums are the same, also after losses. */
TEST(test_formats)
{
	uint64_t formats[DATAGRAM_VERSION + 1] = {0};
	struct world_params params = usual;
	ENDED_BY(world_destroy) struct world w;

	params.n_policies = 3;
	params.loss = 0.05;
	world_create(&w, &params);
	w.sees_taken = force_old_format;
	w.sees = formats;
	for (unsigned t = 0; t < 300; t++) {
		world_set(&w, prng_below(&w.prng, params.n), prng_below(&w.prng, 3),
			1 + prng_below(&w.prng, 9));
		world_run(&w, 10 * MS);
	}
	for (unsigned i = 0; i < params.n; i++)
		for (unsigned p = 0; p < params.n_policies; p++)
			world_set(&w, i, p, 1 + prng_below(&w.prng, 9));
	world_run(&w, 20 * HEARTBEAT + tree_crossing_time(&w));
	expect_right(&w);
	assert_true(formats[DATAGRAM_OLDEST] > 100 && formats[DATAGRAM_VERSION] > 100);
}

/* A neighbour that has dropped our sums without a word gets all of them again. */
TEST(test_dropped_sums_are_sent_again)
{
	struct world_params params = usual;
	ENDED_BY(world_destroy) struct world w;
	struct gossip *g;
	struct tree *t;

	params.n = 2;
	params.n_policies = 300;
	begin_tree_world(&w, &params);
	for (unsigned i = 0; i < 2; i++) {
		g = w.nodes[i].gossip;
		t = g->own;
		tree_drop_sums(g, t->table.at[0]);
		world_run(&w, 5 * HEARTBEAT);
		expect_right(&w);
	}
}

/* However much changes, an edge carries at most so many datagrams. */
TEST(test_rate_is_bounded)
{
	struct world_params params = usual;
	ENDED_BY(world_destroy) struct world w;
	uint64_t sent;

	params.n = 6;
	params.n_policies = 2000;
	begin_tree_world(&w, &params);
	world_run(&w, 2000 * MS);
	sent = w.sent;
	for (unsigned t = 0; t < 100; t++) {
		for (unsigned i = 0; i < params.n; i++)
			for (unsigned p = 0; p < params.n_policies; p++)
				world_set(&w, i, p, prng_below(&w.prng, 1000));
		world_run(&w, 10 * MS);
	}
	/* There are 5 edges of 2 directions: 8 datagrams a turn, a turn each 50 ms, and a burst. */
	assert_in_range(w.sent - sent, 1000, 2 * 5 * 8 * (1000 / 50 + 3));
}

/* A change of demand far below the limit is no news. */
TEST(test_limit_sets_the_scale)
{
	struct world_params params = usual;

	for (unsigned known = 0; known < 2; known++) {
		struct world w;
		uint64_t sent;

		params.n = 2;
		begin_tree_world(&w, &params);
		for (unsigned i = 0; i < 2; i++) {
			world_set(&w, i, 0, 1);
			gossip_set_limit(w.nodes[i].gossip, 0, known ? 1e9 : 0);
		}
		world_run(&w, 1000 * MS);
		sent = w.sent;
		for (unsigned t = 0; t < 40; t++) {
			gossip_set(w.nodes[0].gossip, 0, 1000 + 500 * (t % 2), 1);
			world_run(&w, SPACING);
		}
		assert_in_range(w.sent - sent, known ? 18 : 48, known ? 22 : 52);
		world_destroy(&w);
	}
}

/*
 * Returns true if each limiter of a side except the lowest has a candidate in it, so they form one
 * tree.
 */
static bool holds_together(const struct world *w, unsigned side)
{
	bool first = true;

	for (unsigned position = 0; position < w->params.n; position++) {
		unsigned candidates[TREE_CANDIDATES], n, k = 0;

		if (w->nodes[world_at(w, position)].side != side)
			continue;
		n = tree_candidates(position, w->params.branching, candidates);
		while (k < n && w->nodes[world_at(w, candidates[k])].side != side)
			k++;
		if (k == n && !first)
			return false;
		first = false;
	}
	return true;
}

/* Two halves: each has its own exact sums, and counts the other half as lost. */
TEST(test_partitions)
{
	for (uint64_t seed = 1; seed <= ROUNDS(10); seed++) {
		struct world_params params = usual;
		struct world w;

		params.seed = seed;
		params.n = 20 * (unsigned)seed;
		begin_tree_world(&w, &params);
		do
			for (unsigned i = 0; i < params.n; i++)
				w.nodes[i].side = prng_below(&w.prng, 2);
		while (!holds_together(&w, 0) || !holds_together(&w, 1));
		world_run(&w, tree_repair_time(&w, TREE_HUBS));
		expect_right(&w);
		for (unsigned i = 0; i < params.n; i++)
			w.nodes[i].side = 0;
		world_run(&w, tree_repair_time(&w, TREE_HUBS));
		expect_right(&w);
		world_destroy(&w);
	}
}

/* Every limiter is alone: none counts another, then all come back. */
TEST(test_isolation)
{
	ENDED_BY(world_destroy) struct world w;

	begin_tree_world(&w, &usual);
	for (unsigned i = 0; i < w.params.n; i++)
		w.nodes[i].side = i;
	world_run(&w, TIMEOUT + HOLD + 2 * TICK + DELAY);
	expect_right(&w);
	for (unsigned i = 0; i < w.params.n; i++) {
		assert_int_equal(gossip_sum(w.nodes[i].gossip, 0).lost, w.params.n - 1);
		w.nodes[i].side = 0;
	}
	world_run(&w, tree_repair_time(&w, TREE_HUBS));
	expect_right(&w);
}

/* A path cut in one direction is not a link; the child finds another parent if there is one. */
TEST(test_one_way_cuts)
{
	static const struct {
		unsigned parent, child;
		bool heals;
	} cases[] = {
		{4, 13, true}, {0, 2, true}, /* through 1 */
		{0, 1, false},               /* no other limiter is above 1 */
	};

	for (size_t c = 0; c < COUNT(cases); c++)
		for (int down = 0; down < 2; down++) {
			unsigned parent, child, sums = 0;
			struct world w;

			begin_tree_world(&w, &usual);
			parent = world_at(&w, cases[c].parent);
			child = world_at(&w, cases[c].child);
			w.cut_from = down ? parent : child;
			w.cut_to = down ? child : parent;
			w.cut = cut_one_way;
			world_run(&w, tree_repair_time(&w, 1));
			assert_int_equal(all_right(&w), cases[c].heals);
			if (!cases[c].heals) {
				/* Each side drops the other's part. */
				sums += w.params.n - gossip_sum(w.nodes[parent].gossip, 0).lost;
				sums += w.params.n - gossip_sum(w.nodes[child].gossip, 0).lost;
				assert_int_equal(sums, w.params.n);
			}
			w.cut = NULL;
			world_run(&w, tree_repair_time(&w, 1));
			expect_right(&w);
			world_destroy(&w);
		}
}

/*
 * More orphans than a limiter has room for: it watches at most its maximum and crowds out the
 * others. None counts a limiter that it should not.
 */
TEST(test_crowd)
{
	struct world_params params = usual;
	ENDED_BY(world_destroy) struct world w;
	struct gossip *hub;
	struct watch watch = {0};
	unsigned n_watched = 0;

	params.n = 400;
	params.branching = 7;
	begin_tree_world(&w, &params);
	for (unsigned position = 0; position < 16; position++)
		world_crash(&w, world_at(&w, position));
	hub = w.nodes[world_at(&w, 16)].gossip;
	run_watching(&w, 10000 * MS, &watch);
	assert_int_equal(watch.twice.longest, 0);
	for (unsigned i = 0; i < params.n; i++)
		n_watched += gossip_peer(hub, i) != NULL;
	assert_in_range(n_watched, 1 + params.branching, 1 + params.branching + TREE_EXTRA);
	assert_true(gossip_counters(hub)->verdict[GOSSIP_NO_ROOM] > 0);
	for (unsigned i = 0; i < params.n; i++)
		if (w.nodes[i].gossip)
			assert_true(gossip_sum(w.nodes[i].gossip, 0).lost >= 16);
	for (unsigned position = 0; position < 16; position++) {
		unsigned i = world_at(&w, position);

		world_start(&w, i);
		world_set(&w, i, 0, w.weights[i]);
	}
	world_run(&w, 15000 * MS);
	expect_right(&w);
}

/* A limiter with another estimator is rejected, and the verdict names the reason. */
TEST(test_other_estimator)
{
	struct world_params params = usual;
	ENDED_BY(world_destroy) struct world trees, states;
	uint8_t buf[DATAGRAM_MAX];
	unsigned to;
	size_t len;

	params.n = 2;
	world_create(&trees, &params);
	params.estimator = GOSSIP_STATE;
	world_create(&states, &params);
	gossip_tick(states.nodes[0].gossip, states.now_ns);
	len = gossip_send(states.nodes[0].gossip, buf, &to);
	assert_int_equal(
		gossip_receive(trees.nodes[1].gossip, trees.now_ns, buf, len), GOSSIP_ESTIMATOR);
}

TEST(test_malformed)
{
	static const struct {
		unsigned link, records, written, count, more;
		float demand, weight;
		enum gossip_verdict want;
	} cases[] = {
		{DATAGRAM_UP, 1, 1, 1, 0, 1, 1, GOSSIP_UNPROVEN},
		{DATAGRAM_APART, 0, 0, 0, 0, 1, 1, GOSSIP_UNPROVEN},
		{DATAGRAM_APART, 1, 1, 1, 0, 1, 1, GOSSIP_MALFORMED},
		{DATAGRAM_LINKS, 0, 0, 0, 0, 1, 1, GOSSIP_MALFORMED},
		{DATAGRAM_UP, 2, 1, 1, 0, 1, 1, GOSSIP_MALFORMED},
		{DATAGRAM_UP, 1, 1, 1, 1, 1, 1, GOSSIP_MALFORMED},
		{DATAGRAM_UP, 1, 1, 2 + TREE_ROSTERS_APART, 0, 1, 1, GOSSIP_MALFORMED},
		{DATAGRAM_UP, 1, 1, 1, 0, -1, 1, GOSSIP_MALFORMED},
		{DATAGRAM_UP, 1, 1, 1, 0, 1, NAN, GOSSIP_MALFORMED},
		{DATAGRAM_UP, 1, 1, 1, 0, INFINITY, 1, GOSSIP_MALFORMED},
	};
	struct world_params params = usual;
	ENDED_BY(world_destroy) struct world w;

	params.n = 2;
	world_create(&w, &params);
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint8_t buf[200] = {0};
		struct cursor cursor = {buf, buf + sizeof(buf), false};
		struct datagram_header header = {.version = DATAGRAM_VERSION,
			.flags = GOSSIP_TREE << DATAGRAM_ESTIMATOR_SHIFT,
			.sender = w.roster->ids[0],
			.epoch = 77,
			.counter = 1};
		struct datagram_body body = {
			w.roster->ids[1], 0, 0, 1, (uint16_t)cases[i].records, DATAGRAM_VERSION};
		struct datagram_sum sum = {
			w.policies[0], cases[i].count, cases[i].demand, cases[i].weight};

		datagram_write_header(&cursor, &header);
		datagram_write_body(&cursor, &body);
		datagram_write_edge(
			&cursor, &(struct datagram_edge){.link = cases[i].link}, DATAGRAM_VERSION);
		for (unsigned k = 0; k < cases[i].written; k++)
			datagram_write_sum(&cursor, &sum);
		assert_int_equal(gossip_receive(w.nodes[1].gossip, w.now_ns, buf,
					 (size_t)(cursor.at - buf) + cases[i].more),
			cases[i].want);
	}
}

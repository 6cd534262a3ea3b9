/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits of a group whose roster changes while it runs. Limiters take up each roster at different
 * moments, datagrams are late and lost, and all sites together want more than the limit.
 */
#include "check.h"
#include "scope.h"

#include <sodium.h>

#include "base/hash.h"
#include "flow/flow_sample.h"
#include "limiter/limiter.h"
#include "world/simnet.h"

#define INTERVAL (50 * MS)
#define TIMEOUT  (1000 * MS)
#define STEP     (5 * MS)
#define SPREAD   (300 * MS) /* between the first and the last limiter that takes up a roster */
#define LIMIT    1250000.0  /* bytes per second */
#define N        9          /* sites */
#define POLICIES 4
#define FLOWS    4
#define CHANGES  6
#define SEEDS    ROUNDS(24)
#define NONE     N

struct site {
	struct limiter *limiter; /* NULL: stopped */
	const struct roster *roster;
	bool member, drained;    /* drained: it passes nothing any more, and leaves */
	uint64_t regroups_ns;    /* 0: it has */
	double demand[POLICIES]; /* bytes per second */
	uint64_t arrived[POLICIES], dropped[POLICIES];
	uint64_t slots[POLICIES][FLOW_SLOTS];
};

struct group {
	uint64_t seed, now_ns;
	double loss;
	struct prng prng;
	struct roster *all, *rosters[CHANGES + 1];
	unsigned n_rosters, starts, branching;
	enum gossip_estimator estimator;
	struct site sites[N];
	struct events events;
	struct simnet net;
	double most, most_allowed; /* sum of local limits, by the limit */
};

static const char *const allocators[POLICIES] = {"fps", "grd", "static", "adaptor"};

static void measure_site(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct site *site = context;

	*sample = (struct limiter_sample){.arrived_bytes = site->arrived[policy],
		.dropped_packets = site->dropped[policy],
		.slots = site->slots[policy]};
}

static bool receive_at_site(void *world, unsigned from, unsigned to, uint8_t *buf, size_t len)
{
	struct group *g = world;
	struct limiter *l = g->sites[to].limiter;

	if (!l)
		return false;
	limiter_receive(l, g->now_ns, buf, len);
	return true;
}

static unsigned members(const struct group *g)
{
	unsigned n = 0;

	for (unsigned i = 0; i < N; i++)
		n += g->sites[i].member;
	return n;
}

static unsigned pick(struct group *g, bool member)
{
	unsigned i;

	do
		i = prng_below(&g->prng, N);
	while (g->sites[i].member != member);
	return i;
}

static const struct roster *next_roster(struct group *g)
{
	uint32_t ids[N];
	unsigned n = 0;

	for (unsigned i = 0; i < N; i++)
		if (g->sites[i].member)
			ids[n++] = g->all->ids[i];
	assert_int_equal(roster_create(ids, n, &g->rosters[g->n_rosters]), 0);
	return g->rosters[g->n_rosters++];
}

static unsigned index_in(const struct group *g, const struct roster *roster, unsigned i)
{
	return roster_find(roster, g->all->ids[i]);
}

static void start_site(struct group *g, unsigned i, const struct roster *roster)
{
	struct limiter_policy policies[POLICIES];
	struct limiter_params params = {
		.gossip = {.roster = roster,
			.self = index_in(g, roster, i),
			.epoch = 10 + ++g->starts,
			.seed = g->starts,
			.branching = g->branching,
			.timeout_ns = TIMEOUT,
			.datagram_max = 1200,
			.estimator = g->estimator},
		.policies = policies,
		.n_policies = POLICIES,
		.n_workers = 1,
		.skips_idle = true,
	};

	for (unsigned p = 0; p < POLICIES; p++)
		policies[p] = (struct limiter_policy){.id = 100 + p,
			.name = allocators[p],
			.allocator = allocator_find(allocators[p]),
			.limit_bps = (uint64_t)(LIMIT * 8),
			.burst_bytes = 75000,
			.interval_ns = (1 + p / 2) * INTERVAL,
			.keep_per_second = 0.1,
			.history_ns = 4000 * MS,
			.step_ns = 500 * MS};
	g->sites[i].roster = roster;
	assert_int_equal(limiter_create(&params, g->now_ns, &g->sites[i].limiter), 0);
}

static void stop_site(struct group *g, unsigned i)
{
	limiter_destroy(g->sites[i].limiter);
	g->sites[i].limiter = NULL;
}

static void group_begin(struct group *g, uint64_t seed, enum gossip_estimator estimator)
{
	uint32_t ids[N];
	const struct roster *roster;

	*g = (struct group){.seed = seed, .now_ns = 1000 * MS, .estimator = estimator};
	g->net = (struct simnet){.events = &g->events, .receive = receive_at_site};
	prng_seed(&g->prng, seed);
	g->loss = 0.1 * prng_unit(&g->prng);
	g->branching = 2 + prng_below(&g->prng, 7);
	for (unsigned i = 0; i < N; i++) {
		char name[16];

		snprintf(name, sizeof(name), "site-%u", i);
		ids[i] = name_hash(name);
		g->sites[i].member = i < 2 || (i > 2 && prng_below(&g->prng, 2));
		for (unsigned p = 0; p < POLICIES; p++)
			g->sites[i].demand[p] = LIMIT * (0.6 + prng_unit(&g->prng));
	}
	assert_int_equal(roster_create(ids, N, &g->all), 0);
	roster = next_roster(g);
	for (unsigned i = 0; i < N; i++)
		if (g->sites[i].member)
			start_site(g, i, roster);
}

static void group_end(struct group *g)
{
	for (unsigned i = 0; i < N; i++)
		stop_site(g, i);
	for (unsigned i = 0; i < g->n_rosters; i++)
		roster_destroy(g->rosters[i]);
	roster_destroy(g->all);
	simnet_free(&g->net);
	events_free(&g->events);
}

static struct limiter_view view_of(const struct group *g, unsigned i, unsigned policy)
{
	struct limiter_view view;

	limiter_view(g->sites[i].limiter, policy, &view);
	return view;
}

static void arrive(struct group *g, unsigned i)
{
	struct site *site = &g->sites[i];

	for (unsigned p = 0; p < POLICIES; p++) {
		double bytes = site->demand[p] * STEP / SECOND;

		if (site->drained)
			continue;
		site->arrived[p] += (uint64_t)bytes;
		site->dropped[p] += site->demand[p] > view_of(g, i, p).local_limit;
		limiter_wake(site->limiter, p);
		for (unsigned f = 0; f < FLOWS; f++) {
			uint64_t *slot = &site->slots[p][f];

			*slot = (uint64_t)(f + 1) << FLOW_COUNT_BITS |
				((*slot + (uint64_t)bytes / FLOWS) & FLOW_COUNT_MASK);
		}
	}
}

static void send_all(struct group *g, unsigned i)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned to;
	size_t len;

	while ((len = limiter_send(g->sites[i].limiter, buf, &to)) > 0) {
		uint64_t at_ns = g->now_ns + 15 * MS + prng_below(&g->prng, 10) * MS;

		if (prng_unit(&g->prng) >= g->loss)
			simnet_carry(&g->net, i, roster_find(g->all, g->sites[i].roster->ids[to]),
				at_ns, buf, len);
	}
}

static void regroup_site(struct group *g, unsigned i)
{
	struct site *site = &g->sites[i];

	site->roster = g->rosters[g->n_rosters - 1];
	site->regroups_ns = 0;
	assert_int_equal(limiter_regroup(site->limiter, site->roster, NULL,
				 index_in(g, site->roster, i), NULL, g->now_ns),
		0);
}

static void note_limits(struct group *g)
{
	for (unsigned p = 0; p < POLICIES; p++) {
		double sum = 0;

		for (unsigned i = 0; i < N; i++)
			if (g->sites[i].limiter && !g->sites[i].drained)
				sum += view_of(g, i, p).local_limit;
		g->most = fmax(g->most, sum / LIMIT);
		if (sum > g->most_allowed * LIMIT)
			fail_msg("seed %lu at %lu ms: %s: %.3f limits", g->seed, g->now_ns / MS,
				allocators[p], sum / LIMIT);
	}
}

static void run_group(struct group *g, uint64_t ns, bool notes)
{
	for (uint64_t end = g->now_ns + ns; g->now_ns < end;) {
		g->now_ns += STEP;
		events_run(&g->events, g->now_ns, g);
		for (unsigned i = 0; i < N; i++) {
			struct site *site = &g->sites[i];

			if (!site->limiter)
				continue;
			if (site->regroups_ns && g->now_ns >= site->regroups_ns)
				regroup_site(g, i);
			arrive(g, i);
			if (g->now_ns < limiter_next(site->limiter))
				continue;
			limiter_tick(site->limiter, g->now_ns, measure_site, site);
			send_all(g, i);
		}
		if (notes)
			note_limits(g);
	}
}

/* All of the limit is in use again, and no limiter has another roster. */
static void expect_whole(const struct group *g)
{
	for (unsigned p = 0; p < POLICIES; p++) {
		double sum = 0;

		for (unsigned i = 0; i < N; i++) {
			if (!g->sites[i].member)
				continue;
			assert_near(view_of(g, i, p).effective_limit, LIMIT, 1);
			sum += view_of(g, i, p).local_limit;
		}
		assert_near(sum, LIMIT, 0.02 * LIMIT);
	}
	for (unsigned i = 0; i < N; i++)
		for (unsigned k = 0; g->sites[i].member && k < members(g); k++)
			assert_int_equal(
				agree_peer(limiter_agree(g->sites[i].limiter), k).since_ns, 0);
}

/* Returns the limiter that passes nothing any more; it has stopped, or still sends gossip. */
static unsigned leave(struct group *g)
{
	unsigned leaves = pick(g, true);

	g->sites[leaves].member = false;
	g->sites[leaves].drained = prng_below(&g->prng, 2);
	if (!g->sites[leaves].drained)
		stop_site(g, leaves);
	run_group(g, prng_below(&g->prng, 3000) * MS, true);
	return leaves;
}

static void change_group(struct group *g)
{
	unsigned joins = NONE, leaves = NONE, n = members(g);

	if (n == N || (n > 2 && prng_below(&g->prng, 2)))
		leaves = leave(g);
	else
		joins = pick(g, false);
	if (joins < NONE)
		g->sites[joins].member = true;
	next_roster(g);
	for (unsigned i = 0; i < N; i++)
		if (g->sites[i].member && i != joins)
			g->sites[i].regroups_ns = g->now_ns + 1 +
						  prng_below(&g->prng, SPREAD / STEP) * STEP;
	/* The last one takes it up at its end, and decides by it in its next tick. */
	run_group(g, SPREAD + 2 * INTERVAL, true);
	if (leaves < NONE) {
		stop_site(g, leaves);
		g->sites[leaves].drained = false;
	}
	if (joins < NONE)
		start_site(g, joins, g->rosters[g->n_rosters - 1]);
	run_group(g, 12000 * MS, true);
	expect_whole(g);
}

static void change_groups(enum gossip_estimator estimator, double most_allowed)
{
	double most = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		ENDED_BY(group_end) struct group g;

		group_begin(&g, seed, estimator);
		g.most_allowed = most_allowed;
		run_group(&g, 12000 * MS, false);
		expect_whole(&g);
		for (unsigned k = 0; k < CHANGES; k++)
			change_group(&g);
		most = fmax(most, g.most);
	}
	print_message("at most %.4f limits\n", most);
	assert_true(most > 0.98);
}

TEST(test_states)
{
	change_groups(GOSSIP_STATE, 1.001);
}

/*
 * When a limiter starts, others can move to it in the tree. They count twice meanwhile, and sums
 * are scaled by number, which is not exact for different demands: with or without a new roster.
 */
TEST(test_trees)
{
	change_groups(GOSSIP_TREE, 1.05);
}

static double sum_at(const struct group *g, unsigned i)
{
	double sum = 0;

	for (unsigned policy = 0; policy < POLICIES; policy++)
		sum += view_of(g, i, policy).local_limit +
		       (double)view_of(g, i, policy).local_burst;
	return sum;
}

/* After it has left all limits are 0; after its return, those of the next decision. */
TEST(test_leaves_and_returns)
{
	ENDED_BY(group_end) struct group g;
	struct limiter *limiter;

	group_begin(&g, 1, GOSSIP_STATE);
	limiter = g.sites[pick(&g, true)].limiter;
	run_group(&g, 3000 * MS, false);
	for (unsigned i = 0; i < COUNT(g.sites); i++) {
		if (g.sites[i].limiter != limiter)
			continue;
		while (limiter_next_change(limiter, 0) < POLICIES)
			;
		assert_true(sum_at(&g, i) > 0);
		limiter_leave(limiter, true);
		assert_true(sum_at(&g, i) == 0);
		for (unsigned policy = 0; policy < POLICIES; policy++)
			assert_int_equal(limiter_next_change(limiter, policy), policy);
		run_group(&g, 1000 * MS, false);
		assert_true(sum_at(&g, i) == 0);
		limiter_leave(limiter, false);
		assert_true(sum_at(&g, i) == 0);
		run_group(&g, 2 * INTERVAL, false);
		assert_true(sum_at(&g, i) > 0);
	}
}

/* An error changes nothing. */
TEST(test_refused)
{
	ENDED_BY(group_end) struct group g;
	struct limiter_view before, after;

	group_begin(&g, 1, GOSSIP_STATE);
	before = view_of(&g, 0, 0);
	assert_int_equal(
		limiter_regroup(g.sites[0].limiter, g.all, NULL, 1, NULL, g.now_ns), -EINVAL);
	after = view_of(&g, 0, 0);
	assert_true(before.local_limit == after.local_limit && before.lost == after.lost);
}

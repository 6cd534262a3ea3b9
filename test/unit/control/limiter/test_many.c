/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limiters with many policies: a limiter that skips idle policies decides like one that never does,
 * also while policies come, change and go. The traffic is random but independent of the limiters,
 * so that two groups can get the same traffic. A failure prints its seed.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "flow/flow_sample.h"
#include "limiter/limiter.h"

#define INTERVAL (50 * MS)
#define LIMIT    1250000.0
#define N        3
#define POLICIES 8 /* so few that every datagram carries all; then groups do not differ by gossip */
#define SEEDS    ROUNDS(8)

struct source {
	uint64_t arrived, dropped;
	uint64_t slots[FLOW_SLOTS];
	bool active;
};

struct node {
	struct limiter *limiter;
	struct source sources[POLICIES]; /* by policy id */
	unsigned n;                      /* number of its present policies */
	unsigned of[POLICIES];           /* their ids */
	uint64_t measured;
};

struct group {
	struct roster *roster;
	struct node nodes[N];
	unsigned n;
	bool skips_idle;
	uint64_t now;
	struct prng prng;
};

static struct limiter_policy policy_of(unsigned id)
{
	static const char *const allocators[] = {"fps", "fps", "grd", "gtb", "static", "fps"};

	return (struct limiter_policy){.id = 100 + id,
		.allocator = allocator_find(allocators[id % 6]),
		.limit_bps = (uint64_t)(LIMIT * 8),
		.burst_bytes = 75000,
		.interval_ns = id == 5 ? 2 * INTERVAL : INTERVAL,
		.keep_per_second = id == 7 ? 0 : 0.1};
}

static void measure_many_node(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct node *node = context;
	const struct source *s;

	assert_true(policy < node->n);
	s = &node->sources[node->of[policy]];
	node->measured++;
	*sample = (struct limiter_sample){
		.arrived_bytes = s->arrived, .dropped_packets = s->dropped, .slots = s->slots};
}

static void start_many_node(struct group *g, unsigned i, unsigned n, const unsigned *of)
{
	struct limiter_policy policies[POLICIES];
	struct limiter_params params = {
		.gossip = {.roster = g->roster,
			.self = i,
			.epoch = 10 + i,
			.seed = i,
			.branching = 3,
			.timeout_ns = 1000 * MS,
			.datagram_max = 1200},
		.policies = policies,
		.n_policies = n,
		.n_workers = 1,
		.skips_idle = g->skips_idle,
	};

	for (unsigned p = 0; p < n; p++) {
		policies[p] = policy_of(of[p]);
		g->nodes[i].of[p] = of[p];
	}
	g->nodes[i].n = n;
	assert_int_equal(limiter_create(&params, g->now, &g->nodes[i].limiter), 0);
}

static struct group *group_create(uint64_t seed, unsigned n, bool skips_idle)
{
	static const unsigned all[POLICIES] = {0, 1, 2, 3, 4, 5, 6, 7};
	static const uint32_t ids[N] = {11, 22, 33};
	struct group *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	g->n = n;
	g->skips_idle = skips_idle;
	g->now = 1000 * MS;
	prng_seed(&g->prng, seed);
	assert_int_equal(roster_create(ids, n, &g->roster), 0);
	for (unsigned i = 0; i < n; i++)
		start_many_node(g, i, POLICIES, all);
	return g;
}

static void group_free(struct group *g)
{
	for (unsigned i = 0; i < g->n; i++)
		limiter_destroy(g->nodes[i].limiter);
	roster_destroy(g->roster);
	free(g);
}

END_POINTER(group_free, struct group *)

/* Adds an interval's traffic of an active policy: few flows, some drops. */
static void arrive_many_source(struct group *g, struct source *s)
{
	unsigned flows = 1 + prng_below(&g->prng, 6);

	for (unsigned f = 0; f < flows; f++) {
		uint64_t bytes = 1 + prng_below(&g->prng, 30000);

		s->arrived += bytes;
		s->slots[f] = (uint64_t)(f + 1) << FLOW_COUNT_BITS |
			      ((s->slots[f] + bytes) & FLOW_COUNT_MASK);
	}
	s->dropped += prng_below(&g->prng, 2);
}

static unsigned index_of(const struct node *node, unsigned id)
{
	unsigned i = 0;

	while (i < node->n && node->of[i] != id)
		i++;
	return i;
}

/* Policies are active for some seconds, then idle for a minute or two. */
static void run_many_traffic(struct group *g, struct node *node)
{
	for (unsigned id = 0; id < POLICIES; id++) {
		struct source *s = &node->sources[id];
		unsigned policy = index_of(node, id);

		if (prng_below(&g->prng, s->active ? 60 : 2000) == 0)
			s->active = !s->active;
		if (!s->active)
			continue;
		arrive_many_source(g, s);
		if (g->skips_idle && policy < node->n)
			limiter_wake(node->limiter, policy);
	}
}

static void tick_many_group(struct group *g)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned to;
	size_t len;

	g->now += INTERVAL;
	for (unsigned i = 0; i < g->n; i++) {
		struct node *node = &g->nodes[i];

		run_many_traffic(g, node);
		limiter_tick(node->limiter, g->now, measure_many_node, node);
		while ((len = limiter_send(node->limiter, buf, &to)) > 0)
			limiter_receive(g->nodes[to].limiter, g->now, buf, len);
	}
}

static struct limiter_view view_of(const struct group *g, unsigned i, unsigned id)
{
	const struct node *node = &g->nodes[i];
	unsigned policy = index_of(node, id);
	struct limiter_view view;

	assert_true(policy < node->n);
	limiter_view(node->limiter, policy, &view);
	return view;
}

/*
 * Compares local limits, except if the global demand is below `least` bytes per second. A limiter
 * that skips idle policies counts such a demand as 0.
 */
static void compare_many_groups(
	const struct group *a, const struct group *b, double tolerance, double least, uint64_t seed)
{
	for (unsigned i = 0; i < a->n; i++) {
		for (unsigned id = 0; id < POLICIES; id++) {
			double x = view_of(a, i, id).local_limit, y = view_of(b, i, id).local_limit;

			if (view_of(a, i, id).global_demand < least)
				continue;
			if (fabs(x - y) > tolerance)
				fail_msg("seed %llu at %llu ms: limiter %u, policy %u: %.17g and "
					 "%.17g",
					(unsigned long long)seed, (unsigned long long)(a->now / MS),
					i, id, x, y);
		}
	}
}

/* A limiter that skips idle policies wakes in time, and decides like one that never skips. */
TEST(test_skips_idle)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct group *active = group_create(seed, N, false);
		struct group *skips_idle = group_create(seed, N, true);

		for (unsigned t = 0; t < 6000; t++) {
			tick_many_group(active);
			tick_many_group(skips_idle);
			compare_many_groups(active, skips_idle, 1e-4 * LIMIT, 100, seed);
		}
		assert_true(skips_idle->nodes[0].measured < 2 * active->nodes[0].measured / 3);
		group_free(active);
		group_free(skips_idle);
	}
}

/* Like tick_many_group(), but without any traffic. */
static void quiet_tick(struct group *g)
{
	for (unsigned i = 0; i < g->n; i++)
		for (unsigned id = 0; id < POLICIES; id++)
			g->nodes[i].sources[id].active = false;
	prng_seed(&g->prng, 1); /* with this seed no policy becomes active; checked below */
	tick_many_group(g);
	for (unsigned i = 0; i < g->n; i++)
		for (unsigned id = 0; id < POLICIES; id++)
			assert_false(g->nodes[i].sources[id].active);
}

/* An idle limiter measures nothing; it sees a byte in the next tick. */
TEST(test_idle)
{
	ENDED_BY(group_free_at) struct group *g = group_create(1, N, true);
	struct node *node = &g->nodes[0];
	uint64_t measured;

	for (unsigned t = 0; t < 100; t++)
		quiet_tick(g);
	measured = node->measured;
	for (unsigned t = 0; t < 100; t++)
		quiet_tick(g);
	assert_int_equal(node->measured, measured);
	node->sources[1].arrived += 1000;
	node->sources[1].slots[0] = UINT64_C(1) << FLOW_COUNT_BITS | 1000;
	limiter_wake(node->limiter, 1);
	quiet_tick(g);
	assert_int_equal(node->measured, measured + 1);
	/* 1,000 bytes in the last interval, not over the whole idle time. */
	assert_near(view_of(g, 0, 1).demand, 1000 / 0.05 * (1 - pow(0.1, 0.05)), 1);
}

/* Sends bytes of one flow. */
static void send_some(struct group *g, unsigned i, unsigned id, uint64_t bytes)
{
	struct node *node = &g->nodes[i];
	struct source *s = &node->sources[id];

	s->arrived += bytes;
	s->slots[0] = UINT64_C(1) << FLOW_COUNT_BITS | ((s->slots[0] + bytes) & FLOW_COUNT_MASK);
	limiter_wake(node->limiter, index_of(node, id));
}

/* Idle time counts as time since the last drop, also for a policy without memory. */
TEST(test_time_in_sleep)
{
	struct group *groups[2] = {group_create(1, N, false), group_create(1, N, true)};

	for (unsigned t = 0; t < 100; t++) {
		for (int k = 0; k < 2; k++) {
			if (t < 40 || t >= 55) {
				send_some(groups[k], 0, 7, 4000);
				send_some(groups[k], 1, 7, 8000);
				groups[k]->nodes[0].sources[7].dropped += t < 40;
			}
			quiet_tick(groups[k]);
		}
		compare_many_groups(groups[0], groups[1], 1e-9 * LIMIT, 0, 1);
	}
	assert_true(groups[1]->nodes[0].measured < groups[0]->nodes[0].measured / 2);
	group_free(groups[0]);
	group_free(groups[1]);
}

/*
 * An idle policy notices when a peer is lost, and when it returns. The peer's part of the limit
 * goes, and returns once the others have had time to release it.
 */
TEST(test_lost_in_sleep)
{
	struct group *groups[2] = {group_create(1, N, false), group_create(1, N, true)};

	for (unsigned t = 0; t < 300; t++) {
		for (int k = 0; k < 2; k++) {
			groups[k]->n = t >= 100 && t < 200 ? N - 1 : N;
			send_some(groups[k], 1, 0, 8000);
			quiet_tick(groups[k]);
		}
		compare_many_groups(groups[0], groups[1], 1e-9 * LIMIT, 0, 1);
		if (t == 199)
			assert_int_equal(view_of(groups[1], 0, 0).lost, 1);
	}
	assert_int_equal(view_of(groups[1], 0, 0).lost, 0);
	group_free(groups[0]);
	group_free(groups[1]);
}

/* limiter_next_change() reports exactly the policies that changed. */
TEST(test_changes)
{
	ENDED_BY(group_free_at) struct group *g = group_create(3, N, true);
	double told[POLICIES];

	for (unsigned t = 0; t < 2000; t++) {
		struct limiter *l = g->nodes[0].limiter;

		for (unsigned p = limiter_next_change(l, 0); p < POLICIES;
			p = limiter_next_change(l, p + 1))
			told[p] = view_of(g, 0, p).local_limit;
		assert_int_equal(limiter_next_change(l, 0), POLICIES);
		for (unsigned p = 0; p < POLICIES; p++)
			assert_true(view_of(g, 0, p).local_limit == told[p]);
		tick_many_group(g);
	}
}

/* Reloads the policies of a limiter; policies that stay keep their state. */
static void reload_many_node(struct group *g, unsigned i, unsigned n, const unsigned *of)
{
	struct limiter_policy policies[POLICIES];
	struct node *node = &g->nodes[i];
	unsigned from[POLICIES];

	for (unsigned p = 0; p < n; p++) {
		unsigned old = index_of(node, of[p]);

		policies[p] = policy_of(of[p]);
		from[p] = old < node->n ? old : LIMITER_ADDED;
	}
	assert_int_equal(limiter_update(node->limiter, policies, n, from, g->now), 0);
	node->n = n;
	memcpy(node->of, of, n * sizeof(*of));
}

static void shuffle_policies(struct prng *prng, unsigned *of)
{
	for (unsigned i = POLICIES - 1; i > 0; i--) {
		unsigned j = prng_below(prng, i + 1), t = of[i];

		of[i] = of[j];
		of[j] = t;
	}
}

/* A reload that changes at most the order of policies changes no bit of later results. */
TEST(test_reload_of_the_same)
{
	for (uint64_t seed = 1; seed <= 2 * SEEDS; seed++) {
		struct group *left = group_create(seed, N, seed % 2);
		struct group *reloaded = group_create(seed, N, seed % 2);
		struct prng prng;

		prng_seed(&prng, seed);
		for (unsigned t = 0; t < 1000; t++) {
			unsigned i = prng_below(&prng, N), of[POLICIES];

			tick_many_group(left);
			tick_many_group(reloaded);
			compare_many_groups(left, reloaded, 0, 0, seed);
			memcpy(of, reloaded->nodes[i].of, sizeof(of));
			if (prng_below(&prng, 2))
				shuffle_policies(&prng, of);
			if (prng_below(&prng, 5) == 0)
				reload_many_node(reloaded, i, POLICIES, of);
		}
		group_free(left);
		group_free(reloaded);
	}
}

/* Runs two limiters for some ticks, both with a steady demand for policy 0. */
static void run_pair(struct group *g, unsigned ticks)
{
	for (unsigned t = 0; t < ticks; t++) {
		for (unsigned i = 0; i < 2; i++) {
			for (unsigned id = 0; id < POLICIES; id++)
				g->nodes[i].sources[id].active = false;
			arrive_many_source(g, &g->nodes[i].sources[0]);
			limiter_wake(g->nodes[i].limiter, 0);
		}
		tick_many_group(g);
	}
}

/*
 * One of two limiters removes a policy. It does not count as lost to the other, which gets the
 * whole limit. After it returns it has at most half of the limit until it has news, then the two
 * share again.
 */
TEST(test_removed_and_added)
{
	static const unsigned with[] = {0, 4}, without[] = {4};

	for (int skips_idle = 0; skips_idle < 2; skips_idle++) {
		struct group *g = group_create(1, 2, skips_idle);
		double sum;

		reload_many_node(g, 0, 2, with);
		reload_many_node(g, 1, 2, with);
		run_pair(g, 200);
		sum = view_of(g, 0, 0).local_limit + view_of(g, 1, 0).local_limit;
		assert_near(sum, LIMIT, 0.05 * LIMIT);
		reload_many_node(g, 0, 1, without);
		run_pair(g, 200);
		assert_int_equal(view_of(g, 1, 0).lost, 0);
		assert_near(view_of(g, 1, 0).local_limit, LIMIT, 0.02 * LIMIT);
		reload_many_node(g, 0, 2, with);
		assert_near(view_of(g, 0, 0).local_limit, LIMIT / 2, 1e-6);
		for (unsigned t = 0; t < 200; t++) {
			run_pair(g, 1);
			sum = view_of(g, 0, 0).local_limit + view_of(g, 1, 0).local_limit;
			/* News takes a tick. */
			assert_true(sum <= (t < 2 ? 1.5 : 1.05) * LIMIT);
		}
		assert_true(view_of(g, 0, 0).local_limit > 0.3 * LIMIT);
		group_free(g);
	}
}

/* A policy that no peer has yet gets 1/N, and its share once the others have it. */
TEST(test_rolled_out)
{
	static const unsigned with[] = {4, 0}, without[] = {4};
	ENDED_BY(group_free_at) struct group *g = group_create(2, 2, true);

	reload_many_node(g, 0, 1, without);
	reload_many_node(g, 1, 1, without);
	run_pair(g, 0);
	for (unsigned t = 0; t < 100; t++)
		tick_many_group(g);
	reload_many_node(g, 0, 2, with);
	for (unsigned t = 0; t < 100; t++) {
		arrive_many_source(g, &g->nodes[0].sources[0]);
		limiter_wake(g->nodes[0].limiter, 1);
		tick_many_group(g);
		assert_true(view_of(g, 0, 0).local_limit <= 0.5001 * LIMIT);
	}
	assert_int_equal(view_of(g, 0, 0).lost, 1);
	reload_many_node(g, 1, 2, with);
	for (unsigned t = 0; t < 100; t++) {
		arrive_many_source(g, &g->nodes[0].sources[0]);
		limiter_wake(g->nodes[0].limiter, 1);
		tick_many_group(g);
	}
	assert_int_equal(view_of(g, 0, 0).lost, 0);
	assert_true(view_of(g, 0, 0).local_limit > 0.8 * LIMIT);
}

/* A changed limit applies immediately, in the same proportion; a changed allocator starts again. */
TEST(test_changed)
{
	static const unsigned of[] = {0, 1};
	struct limiter_policy policies[2] = {policy_of(0), policy_of(1)};
	ENDED_BY(group_free_at) struct group *g = group_create(4, 2, false);
	const unsigned from[] = {0, 1}, wrong[] = {1, 0};
	double before;

	reload_many_node(g, 0, 2, of);
	run_pair(g, 100);
	before = view_of(g, 0, 0).local_limit;
	policies[0].limit_bps /= 4;
	policies[1].allocator = allocator_find("static");
	assert_int_equal(limiter_update(g->nodes[0].limiter, policies, 2, wrong, g->now), -EINVAL);
	assert_true(view_of(g, 0, 0).local_limit == before);
	assert_int_equal(limiter_update(g->nodes[0].limiter, policies, 2, from, g->now), 0);
	assert_near(view_of(g, 0, 0).local_limit, before / 4, 1e-6);
	assert_near(view_of(g, 0, 0).limit, LIMIT / 4, 1e-6);
	assert_near(view_of(g, 0, 1).local_limit, LIMIT / 2, 1e-6);
}

/* A reload changes an idle policy; traffic after it counts for the last interval only. */
TEST(test_changed_in_sleep)
{
	static const unsigned from[] = {0};
	struct limiter_policy policy = policy_of(0);
	ENDED_BY(group_free_at) struct group *g = group_create(1, N, true);
	struct node *node = &g->nodes[0];

	for (unsigned i = 0; i < N; i++)
		reload_many_node(g, i, 1, from);
	for (unsigned t = 0; t < 100; t++)
		quiet_tick(g);
	policy.limit_bps /= 4;
	assert_int_equal(limiter_update(node->limiter, &policy, 1, from, g->now), 0);
	assert_near(view_of(g, 0, 0).local_limit, LIMIT / 12, 1e-6);
	assert_int_equal(limiter_next_change(node->limiter, 0), 0);
	node->sources[0].arrived += 1000;
	quiet_tick(g);
	assert_near(view_of(g, 0, 0).demand, 1000 / 0.05 * (1 - pow(0.1, 0.05)), 1);
}

/* The ticks follow the shortest interval, and begin immediately. */
TEST(test_other_interval)
{
	struct limiter_policy policy = policy_of(0);
	ENDED_BY(group_free_at) struct group *g = group_create(1, 2, false);
	struct limiter *l = g->nodes[0].limiter;
	const unsigned from[] = {0};
	uint64_t next = limiter_next(l);

	assert_int_equal(next, g->now + INTERVAL);
	policy.interval_ns = 10 * MS;
	assert_int_equal(limiter_update(l, &policy, 1, from, g->now), 0);
	assert_int_equal(limiter_next(l), g->now + 10 * MS);
	g->nodes[0].n = 1;
	g->nodes[0].measured = 0;
	limiter_tick(l, g->now + 10 * MS, measure_many_node, &g->nodes[0]);
	assert_int_equal(g->nodes[0].measured, 1);
}

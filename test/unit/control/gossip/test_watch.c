/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter's summary of all its peers: how many it misses, and whether anything changed. The test
 * compares it with the answer for each peer, for every estimator, while limiters come and go. The
 * cost of a tick does not grow with the size of a tree's group.
 */
#include "check.h"
#include "scope.h"

#include "gossip_world.h"

#define N    30
#define TICK (50 * MS)
#define LOOK (10 * MS)

static struct world_params usual_world_params(enum gossip_estimator estimator)
{
	return (struct world_params){
		.seed = 1,
		.n = N,
		.n_policies = 1,
		.branching = 3,
		.estimator = estimator,
		.tick_ns = TICK,
		.timeout_ns = 1000 * MS,
		.delay_ns = 20 * MS,
	};
}

/* The last observation: the state of each peer, and the change counter. */
struct seen {
	char peers[N]; /* ' ' not watched, '-' silent, '+' counts */
	uint64_t changes;
};

struct witness {
	struct world world;
	struct seen seen[N];
	unsigned changes; /* number of observed changes */
	unsigned silent;  /* the most silent peers seen together */
};

static void look_at(struct witness *w, unsigned self)
{
	const struct gossip *g = w->world.nodes[self].gossip;
	struct seen *seen = &w->seen[self], now = {.changes = gossip_changes(g)};
	unsigned silent = 0;

	for (unsigned i = 0; i < N; i++) {
		const struct peer *peer = gossip_peer(g, i);

		now.peers[i] = !peer ? ' ' : peer->alive ? '+' : '-';
		silent += i != self && now.peers[i] == '-';
	}
	assert_int_equal(gossip_silent(g), silent);
	w->silent = silent > w->silent ? silent : w->silent;
	if (memcmp(now.peers, seen->peers, sizeof(now.peers)) != 0) {
		assert_true(now.changes != seen->changes);
		w->changes++;
	}
	*seen = now;
}

static void run_looking(struct witness *w, uint64_t ns)
{
	for (uint64_t until = w->world.now_ns + ns; w->world.now_ns < until;) {
		world_run(&w->world, LOOK);
		for (unsigned i = 0; i < N; i++)
			if (w->world.nodes[i].gossip)
				look_at(w, i);
	}
}

/* Starts a limiter and resets its observation: after a restart it has no peers. */
static void start_witness(struct witness *w, unsigned i)
{
	world_start(&w->world, i);
	world_set(&w->world, i, 0, 1);
	w->seen[i] = (struct seen){.changes = UINT64_MAX};
}

static uint64_t changes_of_all(const struct witness *w)
{
	uint64_t changes = 0;

	for (unsigned i = 0; i < N; i++)
		changes += gossip_changes(w->world.nodes[i].gossip);
	return changes;
}

static void come_and_go(enum gossip_estimator estimator)
{
	struct world_params params = usual_world_params(estimator);
	ENDED_BY(free_at) struct witness *w = calloc(1, sizeof(*w));
	uint64_t changes;

	assert_non_null(w);
	world_create(&w->world, &params);
	for (unsigned i = 0; i < N; i++) {
		world_set(&w->world, i, 0, 1);
		w->seen[i].changes = UINT64_MAX;
	}
	run_looking(w, 5000 * MS);
	assert_in_range(w->changes, N, UINT32_MAX);
	/* Nothing happens, and no change is reported. */
	changes = changes_of_all(w);
	run_looking(w, 5000 * MS);
	assert_int_equal(changes_of_all(w), changes);
	assert_int_equal(gossip_silent(w->world.nodes[0].gossip), 0);
	w->silent = 0;
	for (unsigned i = 0; i < N; i += 4)
		world_crash(&w->world, i);
	run_looking(w, gossip_timeout(w->world.nodes[1].gossip) + 1000 * MS);
	assert_in_range(w->silent, estimator == GOSSIP_TREE ? 1 : (N + 3) / 4, N);
	for (unsigned i = 0; i < N; i += 4)
		start_witness(w, i);
	w->world.params.loss = 0.3;
	run_looking(w, 10000 * MS);
	world_destroy(&w->world);
}

TEST(test_state)
{
	come_and_go(GOSSIP_STATE);
}

TEST(test_tree)
{
	come_and_go(GOSSIP_TREE);
}

/* Peers that one limiter examines per tick, in a tree of n where nothing happens. */
static double looks_per_tick(unsigned n)
{
	struct world_params params = usual_world_params(GOSSIP_TREE);
	struct world w;
	uint64_t before = 0, after = 0;

	params.n = n;
	world_create(&w, &params);
	for (unsigned i = 0; i < n; i++)
		world_set(&w, i, 0, 1);
	world_run(&w, 5000 * MS);
	for (unsigned i = 0; i < n; i++)
		before += gossip_counters(w.nodes[i].gossip)->looks;
	world_run(&w, 40 * TICK);
	for (unsigned i = 0; i < n; i++)
		after += gossip_counters(w.nodes[i].gossip)->looks;
	world_destroy(&w);
	return (double)(after - before) / n / 40;
}

TEST(test_looks)
{
	double few = looks_per_tick(50), many = looks_per_tick(800);

	assert_true(few > 0);
	assert_true(many < 1.25 * few);
}

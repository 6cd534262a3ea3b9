/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A group on a network that records all datagrams and replays them forever, a thousand a second.
 * Limiters restart, and so do ledgers: in each new ledger instance all stores are new, with the
 * same names, policies and addresses. No replay is accepted, and hard limits and quotas are never
 * exceeded.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "flow/flow_sample.h"
#include "limiter/limiter.h"

#define N       3
#define LIVES   10
#define TICK    (50 * MS)
#define TIMEOUT (500 * MS)
#define LIMIT   UINT64_C(8000000) /* bit/s */
#define TOTAL   UINT64_C(100000)
#define BUFFER  700
#define RECORD  2048
#define TAPE    8192
#define PLAYED  50 /* a tick */

enum { CAP, PREPAID, POLICIES };

struct record {
	size_t len;
	uint8_t at[RECORD];
};

struct datagram {
	unsigned to;
	size_t len;
	uint8_t bytes[BUFFER];
};

struct node {
	struct limiter *limiter;
	struct record records[POLICIES];
	uint64_t starts; /* starts with this instance's store */
	uint64_t arrived;
};

struct group {
	struct roster *roster;
	struct node nodes[N];
	struct prng prng;
	uint64_t now, life, used;
	unsigned busy; /* the limiter that has traffic */
	bool plays;
	uint64_t played, accepted;
	uint64_t slots[FLOW_SLOTS];
	unsigned taped;
	struct datagram tape[TAPE];
};

static void fill_policies(struct limiter_policy policies[POLICIES])
{
	policies[CAP] = (struct limiter_policy){.id = 1,
		.allocator = allocator_find("fps"),
		.limit_bps = LIMIT,
		.burst_bytes = 100000,
		.interval_ns = TICK,
		.keep_per_second = 0.1,
		.guarantee = LIMITER_HARD};
	policies[PREPAID] = (struct limiter_policy){.id = 2,
		.allocator = allocator_find("quota"),
		.burst_bytes = 100000,
		.interval_ns = TICK,
		.keep_per_second = 0.1,
		.total = TOTAL,
		.chunk = 100};
}

/* Starts a node with the records in its store, or with an empty store in a new ledger instance. */
static void start_node(struct group *g, unsigned i)
{
	struct node *node = &g->nodes[i];
	struct limiter_policy policies[POLICIES];
	struct limiter_record records[POLICIES];
	struct limiter_params params = {
		.gossip = {.roster = g->roster,
			.self = i,
			.epoch = prng_next(&g->prng) | 1,
			.seed = prng_next(&g->prng),
			.branching = 2,
			.timeout_ns = TIMEOUT,
			.datagram_max = BUFFER,
			.estimator = GOSSIP_STATE},
		.policies = policies,
		.n_policies = POLICIES,
		.n_workers = 1,
		.ledger = {.overlay = {.shape = OVERLAY_RANDOM},
			.records = records,
			.durable = true,
			.identity = {.low = 1 + g->life},
			.epoch = ++node->starts,
			.lease_ns = 2000 * MS,
			.drift_ppm = 100,
			.promise = 50,
			.timeout_ns = TIMEOUT},
	};

	fill_policies(policies);
	for (unsigned k = 0; k < POLICIES; k++)
		if (node->records[k].len > 0)
			records[params.ledger.n_records++] = (struct limiter_record){
				k == CAP ? LIMITER_RATES : LIMITER_UNITS, policies[k].id,
				node->records[k].at, node->records[k].len};
	limiter_destroy(node->limiter);
	node->arrived = 0;
	assert_int_equal(limiter_create(&params, g->now, &node->limiter), 0);
}

static void begin_life(struct group *g)
{
	g->life++;
	g->used = 0;
	for (unsigned i = 0; i < N; i++) {
		memset(g->nodes[i].records, 0, sizeof(g->nodes[i].records));
		/* Each has run for a while in previous ledger instances. */
		g->nodes[i].starts = g->life < LIVES / 2 ? 10 - g->life : 0;
		start_node(g, i);
	}
}

static struct group *group_new(void)
{
	static const uint32_t ids[N] = {11, 7, 13};
	struct group *g = test_calloc(1, sizeof(*g));

	prng_seed(&g->prng, 1);
	assert_int_equal(roster_create(ids, N, &g->roster), 0);
	g->now = 1000 * TICK;
	return g;
}

static void group_free(struct group *g)
{
	for (unsigned i = 0; i < N; i++)
		limiter_destroy(g->nodes[i].limiter);
	roster_destroy(g->roster);
	test_free(g);
}

END_POINTER(group_free, struct group *)

static int keep_record(
	void *context, enum limiter_record_kind kind, uint64_t id, const void *record, size_t len)
{
	struct record *to =
		&((struct node *)context)->records[kind == LIMITER_RATES ? CAP : PREPAID];

	assert_true(len <= RECORD);
	to->len = len;
	memcpy(to->at, record, len);
	return 0;
}

static void measure_load(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct group *g = context;
	struct node *node = &g->nodes[g->busy];

	*sample = (struct limiter_sample){.slots = g->slots};
	if (policy == CAP)
		sample->arrived_bytes = node->arrived += LIMIT / 8 / 20;
}

static void measure_nothing(void *context, unsigned policy, struct limiter_sample *sample)
{
	*sample = (struct limiter_sample){.slots = ((struct group *)context)->slots};
}

/* Sends all datagrams to their receivers, and onto the tape. */
static void send_all(struct group *g, unsigned from)
{
	struct datagram d;

	while ((d.len = limiter_send(g->nodes[from].limiter, d.bytes, &d.to)) > 0) {
		if (g->taped < TAPE)
			g->tape[g->taped++] = d;
		else
			g->tape[prng_below(&g->prng, TAPE)] = d;
		limiter_receive(g->nodes[d.to].limiter, g->now, d.bytes, d.len);
	}
}

static void play_tape(struct group *g)
{
	for (unsigned i = 0; i < PLAYED && g->taped > 0; i++) {
		struct datagram d = g->tape[prng_below(&g->prng, g->taped)];
		enum gossip_verdict verdict = limiter_receive(
			g->nodes[d.to].limiter, g->now, d.bytes, d.len);

		g->played++;
		g->accepted += verdict == GOSSIP_ACCEPTED || verdict == GOSSIP_MESSAGE;
	}
}

static void check_group(const struct group *g)
{
	double sum = 0;

	for (unsigned i = 0; i < N; i++) {
		struct limiter_view view;

		limiter_view(g->nodes[i].limiter, CAP, &view);
		sum += view.local_limit;
	}
	assert_true(sum <= (double)LIMIT / 8 + 1);
	assert_true(g->used <= TOTAL);
}

static void step_group(struct group *g)
{
	g->now += TICK;
	for (unsigned i = 0; i < N; i++) {
		struct limiter *l = g->nodes[i].limiter;

		limiter_tick(l, g->now, i == g->busy ? measure_load : measure_nothing, g);
		if (i == g->busy && limiter_spend(l, PREPAID, 100, g->now) == 0)
			g->used += 100;
		if (limiter_save(l, keep_record, &g->nodes[i]) == 0)
			limiter_committed(l, g->now);
		send_all(g, i);
		if (g->plays)
			play_tape(g);
	}
	check_group(g);
}

static void step_group_for(struct group *g, uint64_t ns)
{
	for (uint64_t end = g->now + ns; g->now < end;)
		step_group(g);
}

static unsigned alive_pairs(const struct group *g)
{
	unsigned alive = 0;

	for (unsigned i = 0; i < N; i++)
		alive += gossip_alive(limiter_gossip(g->nodes[i].limiter));
	return alive;
}

/* Messages delivered to their receivers. */
static uint64_t delivered(const struct group *g)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < N; i++)
		sum += gossip_counters(limiter_gossip(g->nodes[i].limiter))
			       ->verdict[GOSSIP_MESSAGE];
	return sum;
}

/*
 * In each ledger instance the load moves from one limiter to the next, then all restart during
 * replays.
 */
TEST(test_previous_lives)
{
	ENDED_BY(group_free_at) struct group *g = group_new();

	for (unsigned life = 0; life < LIVES; life++) {
		struct limiter_view view;

		begin_life(g);
		g->plays = false;
		for (g->busy = 0; g->busy < N; g->busy++) {
			step_group_for(g, 2000 * MS);
			limiter_view(g->nodes[g->busy].limiter, CAP, &view);
			assert_true(view.local_limit > (double)LIMIT / 8 / 2);
		}
		g->plays = true;
		for (g->busy = 0; g->busy < N; g->busy++) {
			step_group_for(g, 2000 * MS);
			start_node(g, (g->busy + 1) % N);
		}
		begin_life(g);
		step_group_for(g, 3000 * MS);
		g->busy = life % N;
	}
	assert_int_equal(g->accepted, 0);
	assert_true(g->played > 1000 * LIVES);
}

/* Soon after a start peers count again, and messages are delivered. */
TEST(test_restart)
{
	ENDED_BY(group_free_at) struct group *g = group_new();

	begin_life(g);
	step_group_for(g, 2000 * MS);
	for (unsigned round = 0; round < 30; round++) {
		uint64_t began, before;

		step_group_for(g, 2 * TIMEOUT);
		start_node(g, round % N);
		began = g->now;
		while (alive_pairs(g) < N * (N - 1)) {
			assert_true(g->now - began < 2 * TIMEOUT);
			step_group(g);
		}
		before = delivered(g);
		step_group_for(g, TIMEOUT);
		assert_true(delivered(g) > before);
	}
}

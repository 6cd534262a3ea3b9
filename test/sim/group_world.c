/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A group of limiters in virtual time, with the appliance's own lib/control. The network delays,
 * loses, repeats and reorders. There are partitions, crashes, restarts, and reloads in which each
 * limiter has other policies at another time. Traffic is a fluid: unbottlenecked flows share the
 * rest of their limiter's rate, and bottlenecked ones send at their own rate. One seed is one run.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "flow/flow_sample.h"
#include "limiter/limiter.h"
#include "worlds.h"

#define MS       UINT64_C(1000000)
#define STEP     (5 * MS)
#define INTERVAL (50 * MS)
#define TIMEOUT  (1000 * MS)
#define LIMIT    12500000.0 /* 100 Mbit/s in bytes per second */
#define N_MAX    10
#define FLYING   4096
#define TRAFFIC  7 /* id of the policy with traffic */
#define OTHERS   4 /* most policies that come and go around it */

struct flight {
	uint64_t at;
	unsigned to;
	size_t len;
	uint8_t buf[1200];
};

struct node {
	struct keyring *keyring;
	struct limiter *limiter; /* NULL while it is down */
	unsigned policy;         /* index of the policy with traffic; others come and go */
	unsigned n_policies;
	bool away; /* the policy with traffic is removed at the moment */
	unsigned starts;
	unsigned flows;      /* unbottlenecked */
	double bottlenecked; /* bytes per second */
	unsigned side;       /* side of a partition */
	uint64_t measured, arrived, dropped;
	uint64_t slots[FLOW_SLOTS];
	uint64_t phase;
};

struct world {
	uint64_t seed, now;
	enum gossip_estimator estimator;
	struct prng prng;
	unsigned n;
	struct roster *roster;
	struct node nodes[N_MAX];
	struct flight *flying;
	unsigned n_flying;
	double loss, repeat;
	uint64_t delay, jitter;
	uint64_t over_since; /* 0: the sum is within bounds */
	bool failed;
};

static void complain_group(struct world *w, const char *what, double got, double want)
{
	if (!w->failed)
		printf("seed %llu at %.2f s: %s: %.4g, expected %.4g\n",
			(unsigned long long)w->seed, (double)w->now / 1e9, what, got, want);
	w->failed = true;
}

static double local_limit(const struct node *node)
{
	struct limiter_view view;

	limiter_view(node->limiter, node->policy, &view);
	return view.local_limit;
}

static struct limiter_policy policy_of(uint64_t id)
{
	return (struct limiter_policy){
		.id = id,
		.allocator = allocator_find("fps"),
		.limit_bps = (uint64_t)(LIMIT * 8),
		.burst_bytes = 1000000,
		.interval_ns = INTERVAL,
		.keep_per_second = 0.1,
	};
}

static void start_group_node(struct world *w, unsigned i)
{
	static const uint8_t key[DATAGRAM_KEY] = "the group's key in virtual time";
	struct node *node = &w->nodes[i];
	struct limiter_policy policy = policy_of(TRAFFIC);
	struct keyring_params keys = {.roster = w->roster, .self = i, .n_keys = 1, .keys = &key};
	struct limiter_params params = {
		.gossip = {.roster = w->roster,
			.self = i,
			.epoch = 1 + i + N_MAX * (1 + (uint64_t)node->starts),
			.seed = w->seed * 31 + i,
			.branching = 3,
			.timeout_ns = TIMEOUT,
			.datagram_max = 1200,
			.estimator = w->estimator},
		.policies = &policy,
		.n_policies = 1,
		.n_workers = 1,
	};

	if (!node->keyring && keyring_create(&keys, &node->keyring))
		abort();
	params.gossip.keyring = node->keyring;
	node->starts++;
	node->policy = 0;
	node->n_policies = 1;
	node->arrived = node->dropped = 0;
	node->measured = w->now;
	memset(node->slots, 0, sizeof(node->slots));
	if (limiter_create(&params, w->now, &node->limiter))
		abort();
}

static void count_slot_bytes(struct node *node, unsigned slot, double bytes)
{
	node->slots[slot] = (uint64_t)(slot + 1) << FLOW_COUNT_BITS |
			    ((node->slots[slot] + (uint64_t)bytes) & FLOW_COUNT_MASK);
	node->arrived += (uint64_t)bytes;
}

/*
 * Adds the arrivals since the last measurement. Losses make flows send slightly more than the
 * limit.
 */
static void arrive_at_node(struct world *w, struct node *node)
{
	double dt = (double)(w->now - node->measured) / 1e9, limit = local_limit(node);
	double left = limit - node->bottlenecked;

	node->measured = w->now;
	if (node->bottlenecked > 0)
		count_slot_bytes(node, 31, node->bottlenecked * dt);
	for (unsigned f = 0; f < node->flows; f++) {
		double swing = 0.8 + 0.4 * prng_unit(&w->prng);

		count_slot_bytes(
			node, f, fmax(left, 0.1 * limit) / node->flows * 1.02 * swing * dt);
	}
	node->dropped += node->flows > 0 || node->bottlenecked > limit;
}

static void measure_group_node(void *context, unsigned policy, struct limiter_sample *sample)
{
	static const uint64_t none[FLOW_SLOTS];
	struct node *node = context;

	if (policy >= node->n_policies)
		abort();
	*sample = (struct limiter_sample){.slots = none};
	if (policy == node->policy)
		*sample = (struct limiter_sample){.arrived_bytes = node->arrived,
			.dropped_packets = node->dropped,
			.slots = node->slots};
}

static void fly_datagram(
	struct world *w, unsigned from, unsigned to, const uint8_t *buf, size_t len)
{
	unsigned copies = 1 + (prng_unit(&w->prng) < w->repeat);

	if (w->nodes[from].side != w->nodes[to].side || prng_unit(&w->prng) < w->loss)
		return;
	while (copies-- > 0 && w->n_flying < FLYING) {
		struct flight *f = &w->flying[w->n_flying++];

		f->at = w->now + w->delay + (uint64_t)(prng_unit(&w->prng) * (double)w->jitter);
		f->to = to;
		f->len = len;
		memcpy(f->buf, buf, len);
	}
}

static void land_datagrams(struct world *w)
{
	for (unsigned i = 0; i < w->n_flying;) {
		struct flight *f = &w->flying[i];

		if (f->at > w->now) {
			i++;
			continue;
		}
		if (w->nodes[f->to].limiter && w->nodes[f->to].side != UINT32_MAX)
			limiter_receive(w->nodes[f->to].limiter, w->now, f->buf, f->len);
		*f = w->flying[--w->n_flying];
	}
}

static double sum_of_limits(const struct world *w)
{
	double sum = 0;

	for (unsigned i = 0; i < w->n; i++)
		if (w->nodes[i].limiter && !w->nodes[i].away)
			sum += local_limit(&w->nodes[i]);
	return sum;
}

/*
 * The soft guarantee: the sum exceeds the limit only while gossip is in flight. That ends with the
 * timeout (a round of all peers) and an interval or two.
 */
static void check_overshoot(struct world *w)
{
	double rounds = ceil((w->n - 1) / 3.0);
	uint64_t allowed = (uint64_t)(rounds * (double)TIMEOUT) + 1000 * MS;

	if (sum_of_limits(w) <= 1.03 * LIMIT) {
		w->over_since = 0;
		return;
	}
	if (!w->over_since)
		w->over_since = w->now;
	if (w->now - w->over_since > allowed)
		complain_group(w, "sum of local limits / limit, for too long",
			sum_of_limits(w) / LIMIT, 1);
}

static void let_group_run(struct world *w, uint64_t duration)
{
	for (uint64_t end = w->now + duration; w->now < end && !w->failed;) {
		w->now += STEP;
		land_datagrams(w);
		for (unsigned i = 0; i < w->n; i++) {
			struct node *node = &w->nodes[i];
			uint8_t buf[DATAGRAM_MAX];
			unsigned to;
			size_t len;

			if (!node->limiter || w->now < limiter_next(node->limiter) + node->phase)
				continue;
			arrive_at_node(w, node);
			limiter_tick(node->limiter, w->now, measure_group_node, node);
			while ((len = limiter_send(node->limiter, buf, &to)) > 0)
				fly_datagram(w, i, to, buf, len);
		}
		check_overshoot(w);
	}
}

/* The limit is used, and unbottlenecked flows share the part that others leave. */
static void check_split(struct world *w)
{
	double bottlenecked = 0, per_flow;
	unsigned flows = 0, n = w->n;

	for (unsigned i = 0; i < n; i++) {
		bottlenecked += w->nodes[i].bottlenecked;
		flows += w->nodes[i].flows;
	}
	per_flow = (LIMIT - bottlenecked) / flows;
	for (unsigned i = 0; i < n; i++) {
		double want = w->nodes[i].flows * per_flow + w->nodes[i].bottlenecked;
		double got = local_limit(&w->nodes[i]);

		if (!w->nodes[i].away && fabs(got - want) > 0.03 * LIMIT)
			complain_group(w, "share of the limit", got / LIMIT, want / LIMIT);
	}
	if (sum_of_limits(w) > 1.03 * LIMIT)
		complain_group(w, "sum of local limits / limit", sum_of_limits(w) / LIMIT, 1);
	if (sum_of_limits(w) < 0.95 * LIMIT)
		complain_group(w, "use of the limit", sum_of_limits(w) / LIMIT, 1);
}

static void isolate_all_nodes(struct world *w)
{
	uint64_t rounds = (w->n - 1 + 2) / 3;

	for (unsigned i = 0; i < w->n; i++)
		w->nodes[i].side = i;
	let_group_run(w, rounds * TIMEOUT + 1000 * MS);
	for (unsigned i = 0; i < w->n; i++)
		if (local_limit(&w->nodes[i]) > LIMIT / w->n * 1.0001)
			complain_group(w, "limit of an isolated limiter", local_limit(&w->nodes[i]),
				LIMIT / w->n);
	for (unsigned i = 0; i < w->n; i++)
		w->nodes[i].side = 0;
}

static void split_in_two(struct world *w)
{
	for (unsigned i = 0; i < w->n; i++)
		w->nodes[i].side = i % 2;
	let_group_run(w, 4000 * MS);
	for (unsigned i = 0; i < w->n; i++)
		w->nodes[i].side = 0;
}

static void crash_and_restart(struct world *w)
{
	unsigned i = prng_below(&w->prng, w->n);

	limiter_destroy(w->nodes[i].limiter);
	w->nodes[i].limiter = NULL;
	let_group_run(w, (1 + prng_below(&w->prng, 5)) * 700 * MS);
	start_group_node(w, i);
	if (local_limit(&w->nodes[i]) > LIMIT / w->n * 1.0001)
		complain_group(w, "limit after a restart", local_limit(&w->nodes[i]), LIMIT / w->n);
}

/*
 * Reloads one limiter with other policies around the one with traffic, which can change its index
 * and keeps its state. Limiters ignore gossip of policies that they do not have.
 */
static void reload_group_node(struct world *w, unsigned i)
{
	struct node *node = &w->nodes[i];
	unsigned n = 1 + prng_below(&w->prng, OTHERS), at = prng_below(&w->prng, n);
	struct limiter_policy policies[OTHERS];
	unsigned from[OTHERS];
	double before = local_limit(node);

	for (unsigned k = 0; k < n; k++) {
		policies[k] = policy_of(
			k == at ? TRAFFIC : 100 + prng_below(&w->prng, 1000) * 4 + k);
		from[k] = k == at ? node->policy : LIMITER_ADDED;
	}
	if (limiter_update(node->limiter, policies, n, from, w->now))
		abort();
	node->policy = at;
	node->n_policies = n;
	if (local_limit(node) != before)
		complain_group(w, "limit after a reload", local_limit(node), before);
}

/* Reloads all limiters, each at its own time; the shares stay the same meanwhile. */
static void reload_all(struct world *w)
{
	for (unsigned round = 0; round < 3 * w->n && !w->failed; round++) {
		unsigned i = prng_below(&w->prng, w->n);

		if (w->nodes[i].limiter)
			reload_group_node(w, i);
		let_group_run(w, prng_below(&w->prng, 20) * 50 * MS);
		check_split(w);
	}
}

static bool others_have_flows(const struct world *w)
{
	unsigned flows = 0;

	for (unsigned i = 0; i < w->n; i++)
		flows += w->nodes[i].flows;
	return flows > 0;
}

/*
 * Removes the policy with traffic from one limiter, whose flows end, and adds it again. Meanwhile
 * the others count that limiter as alive, and share the whole limit. Then it starts again at 1/N.
 */
static void take_away(struct world *w)
{
	unsigned i = prng_below(&w->prng, w->n);
	struct node *node = &w->nodes[i];
	struct limiter_policy policy = policy_of(8);
	unsigned added = LIMITER_ADDED, flows = node->flows;
	double bottlenecked = node->bottlenecked;

	if (w->n < 3)
		return;
	if (limiter_update(node->limiter, &policy, 1, &added, w->now))
		abort();
	node->away = true;
	node->policy = 0;
	node->n_policies = 1;
	node->flows = 0;
	node->bottlenecked = 0;
	let_group_run(w, 20000 * MS);
	if (others_have_flows(w))
		check_split(w);
	policy = policy_of(TRAFFIC);
	node->arrived = node->dropped = 0;
	memset(node->slots, 0, sizeof(node->slots));
	if (limiter_update(node->limiter, &policy, 1, &added, w->now))
		abort();
	node->away = false;
	node->flows = flows;
	node->bottlenecked = bottlenecked;
	if (local_limit(node) > LIMIT / w->n * 1.0001)
		complain_group(
			w, "limit of a policy that is back", local_limit(node), LIMIT / w->n);
}

static void populate_group(struct world *w)
{
	unsigned flows = 0;

	uint32_t ids[N_MAX];

	w->n = 2 + prng_below(&w->prng, N_MAX - 1);
	for (unsigned k = 0; k < N_MAX; k++)
		ids[k] = 1000 + k;
	if (roster_create(ids, w->n, &w->roster))
		abort();
	w->loss = prng_unit(&w->prng) * 0.2;
	w->repeat = prng_unit(&w->prng) * 0.2;
	w->delay = 1 * MS + prng_below(&w->prng, 100) * MS;
	w->jitter = prng_below(&w->prng, 100) * MS;
	for (unsigned i = 0; i < w->n; i++) {
		w->nodes[i] = (struct node){.flows = prng_below(&w->prng, 12),
			.phase = prng_below(&w->prng, 10) * STEP};
		flows += w->nodes[i].flows;
	}
	w->nodes[0].flows += 1;
	/* A bottlenecked flow must be below the fair share. */
	for (unsigned i = 0; i < w->n; i++)
		if (prng_below(&w->prng, 3) == 0)
			w->nodes[i].bottlenecked = 0.5 * prng_unit(&w->prng) * LIMIT / (flows + 1);
	for (unsigned i = 0; i < w->n; i++)
		start_group_node(w, i);
}

bool run_group_world(uint64_t seed, enum gossip_estimator estimator, bool reloads)
{
	static struct world world;
	struct world *w = &world;

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	w->estimator = estimator;
	w->now = 10000 * MS;
	w->flying = calloc(FLYING, sizeof(*w->flying));
	if (!w->flying)
		abort();
	prng_seed(&w->prng, seed);
	populate_group(w);
	let_group_run(w, 20000 * MS);
	check_split(w);
	for (int fault = 0; fault < 4 && !w->failed; fault++) {
		static void (*const faults[])(struct world *) = {
			isolate_all_nodes, split_in_two, crash_and_restart, reload_all, take_away};

		faults[prng_below(&w->prng, reloads ? 5 : 3)](w);
		let_group_run(w, 20000 * MS);
		check_split(w);
	}
	for (unsigned i = 0; i < w->n; i++) {
		limiter_destroy(w->nodes[i].limiter);
		keyring_destroy(w->nodes[i].keyring);
	}
	roster_destroy(w->roster);
	free(w->flying);
	return !w->failed;
}

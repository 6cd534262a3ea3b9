/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A group in virtual time, over a network without delay that loses messages as a test requires.
 * Each step checks that at most the limit is usable.
 */
#ifndef WEIR_TEST_CONSERVE_WORLD_H
#define WEIR_TEST_CONSERVE_WORLD_H

#include "check.h"

#include "base/prng.h"
#include "conserve/conserve.h"

#define N_MAX    24
#define POLICIES 40
#define TICK     (100 * MS)
#define LEASE    (2000 * MS)
#define LIMIT    UINT64_C(1000003)
#define ROOM     600
#define RECORD   2048

struct node {
	struct conserve *c;
	uint8_t record[RECORD];
	size_t len;
	bool cut; /* sends and receives nothing */
};

struct group {
	unsigned n;
	uint64_t now, epoch;
	uint32_t ids[N_MAX];
	struct conserve_policy policies[POLICIES], *crowd; /* crowd: more than POLICIES, or NULL */
	struct conserve_params params;
	struct node nodes[N_MAX];
	size_t longest;
	struct prng prng;
	bool loses; /* loses half of the messages */
};

static inline int keep_conserve_record(void *context, uint64_t id, const void *record, size_t len)
{
	struct node *node = context;

	assert_true(len <= RECORD);
	if (id != 1)
		return 0;
	if (len > 0) /* 0: the record ends */
		memcpy(node->record, record, len);
	node->len = len;
	return 0;
}

static inline void start_conserve_node(struct group *g, unsigned i, bool restored)
{
	struct book_record record = {1, g->nodes[i].record, g->nodes[i].len};
	struct conserve_params params = g->params;

	params.self = i;
	params.epoch = ++g->epoch;
	params.records = &record;
	params.n_records = restored;
	assert_int_equal(conserve_create(&params, g->now, &g->nodes[i].c), 0);
}

static inline struct group *group_new(unsigned n, unsigned n_policies, unsigned promise)
{
	struct group *g = test_calloc(1, sizeof(*g));

	g->n = n;
	g->now = 1000 * TICK;
	for (unsigned i = 0; i < n; i++)
		g->ids[i] = (i * 7919 + 13) % 1009; /* not in order */
	for (unsigned p = 0; p < n_policies; p++)
		g->policies[p] = (struct conserve_policy){.id = 1 + p, .limit = LIMIT};
	g->params = (struct conserve_params){
		.identity = {.low = 1},
		.overlay = {.shape = OVERLAY_RANDOM, .ids = g->ids, .n = n},
		.policies = g->policies,
		.n_policies = n_policies,
		.lease_ns = LEASE,
		.drift_ppm = 200,
		.repeat_ns = TICK,
		.promise = promise,
	};
	return g;
}

static inline struct group *group_started(unsigned n, unsigned n_policies, unsigned promise)
{
	struct group *g = group_new(n, n_policies, promise);

	for (unsigned i = 0; i < n; i++)
		start_conserve_node(g, i, false);
	return g;
}

static inline void group_free(struct group *g)
{
	for (unsigned i = 0; i < g->n; i++)
		conserve_destroy(g->nodes[i].c);
	test_free(g->crowd);
	test_free(g);
}

static inline void deliver_conserve(struct group *g, unsigned i)
{
	uint8_t buf[ROOM];
	unsigned to;
	size_t len;

	while ((len = conserve_send(g->nodes[i].c, g->now, buf, ROOM, &to)) > 0) {
		assert_true(len <= ROOM && to < g->n && to != i);
		g->longest = len > g->longest ? len : g->longest;
		if (g->loses && prng_below(&g->prng, 2))
			continue;
		if (g->nodes[to].c && !g->nodes[to].cut && !g->nodes[i].cut)
			assert_true(conserve_receive(g->nodes[to].c, i, g->now, buf, len) >= 0);
	}
}

static inline uint64_t limit_of(const struct group *g, unsigned i, unsigned policy)
{
	return conserve_limit(g->nodes[i].c, policy, g->now, NULL);
}

static inline uint64_t sum_usable(const struct group *g, unsigned policy)
{
	uint64_t usable = 0;

	for (unsigned i = 0; i < g->n; i++)
		usable += g->nodes[i].c ? limit_of(g, i, policy) : 0;
	return usable;
}

static inline void step_conserve_group(struct group *g)
{
	g->now += TICK;
	for (unsigned i = 0; i < g->n; i++)
		if (g->nodes[i].c)
			conserve_tick(g->nodes[i].c, g->now);
	for (unsigned i = 0; i < g->n; i++) {
		if (!g->nodes[i].c)
			continue;
		if (book_unsaved(conserve_book(g->nodes[i].c)) &&
			book_save(conserve_book(g->nodes[i].c), keep_conserve_record,
				&g->nodes[i]) == 0)
			book_committed(conserve_book(g->nodes[i].c));
		deliver_conserve(g, i);
		if (sum_usable(g, 0) > g->policies[0].limit)
			fail_msg("%llu usable", (unsigned long long)sum_usable(g, 0));
	}
}

static inline void step_conserve_times(struct group *g, unsigned n)
{
	while (n--)
		step_conserve_group(g);
}

/*
 * Sets targets: the whole limit for one, less the floor of each other, a hundredth of an equal
 * part.
 */
static inline void want_limit_at(struct group *g, unsigned policy, unsigned who)
{
	for (unsigned i = 0; i < g->n; i++)
		conserve_target(
			g->nodes[i].c, policy, i == who ? (double)g->policies[policy].limit : 0);
}

static inline struct conserve_edge_view edge_of(const struct group *g, unsigned i, unsigned edge)
{
	return conserve_edge(g->nodes[i].c, 0, edge, g->now);
}

/* The amount promised to the backup neighbour now; earlier statements may have promised more. */
static inline uint64_t promised_by(const struct group *g, unsigned i)
{
	struct ledger_view view = edge_of(g, i, OVERLAY_FRIEND).ledger;

	return view.promised - view.granted;
}

#endif

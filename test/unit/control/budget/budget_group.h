/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A group in virtual time, over a network with a delay of a millisecond that loses messages as a
 * test requires.
 */
#ifndef WEIR_TEST_BUDGET_GROUP_H
#define WEIR_TEST_BUDGET_GROUP_H

#include "check.h"

#include "budget/budget.h"

#define N_MAX    24
#define POLICIES 3
#define TIMEOUT  (400 * MS)
#define TOTAL    UINT64_C(1003)
#define CHUNK    8
#define ROOM     700
#define RECORD   2048
#define QUEUE    4096

#define TAPE 20000

enum { PREPAID, PERIODIC, DRAWN };

struct node {
	struct budget *b; /* NULL while down */
	uint8_t records[POLICIES][RECORD];
	size_t lens[POLICIES];
	uint64_t epoch;
	bool cut; /* sends and receives nothing */
};

struct message {
	unsigned from, to;
	size_t len;
	uint8_t at[ROOM];
};

struct group {
	unsigned n, n_policies;
	uint64_t now;
	uint32_t ids[N_MAX];
	struct budget_policy policies[POLICIES];
	bool durable;
	struct node nodes[N_MAX];
	struct message queue[QUEUE];
	unsigned queued;
	struct book_identity identity;
	struct message *tape; /* records all messages; NULL: none */
	unsigned taped;
	size_t longest;
};

static inline void fill_test_budgets(struct budget_policy policies[POLICIES])
{
	for (unsigned p = 0; p < POLICIES; p++)
		policies[p] = (struct budget_policy){.id = 40 - p,
			.total = TOTAL,
			.period = p == PERIODIC ? 7 : 0,
			.chunk = CHUNK,
			.drawn = p == DRAWN};
}

static inline int create_budget_node(struct group *g, unsigned i, bool recovering)
{
	struct node *node = &g->nodes[i];
	struct book_record records[POLICIES];
	struct budget_params params = {
		.ids = g->ids,
		.n = g->n,
		.self = i,
		.policies = g->policies,
		.n_policies = g->n_policies,
		.records = records,
		.recovering = recovering,
		.durable = g->durable,
		.epoch = ++node->epoch,
		.identity = g->identity,
		.repeat_ns = 100 * MS,
		.theta_ns = 4 * MS,
		.memory_ns = SECOND,
		.timeout_ns = TIMEOUT,
		.seed = i,
	};

	for (unsigned p = 0; p < POLICIES; p++)
		if (node->lens[p])
			records[params.n_records++] = (struct book_record){
				40 - p, node->records[p], node->lens[p]};
	return budget_create(&params, g->now, &node->b);
}

static inline struct group *group_new(unsigned n, unsigned n_policies, bool durable)
{
	struct group *g = test_calloc(1, sizeof(*g));

	g->n = n;
	g->n_policies = n_policies;
	g->durable = durable;
	g->now = SECOND;
	g->identity.low = 1;
	fill_test_budgets(g->policies);
	for (unsigned i = 0; i < n; i++)
		g->ids[i] = 1000 - 7 * i;
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(create_budget_node(g, i, false), 0);
	return g;
}

static inline void group_free(struct group *g)
{
	for (unsigned i = 0; i < g->n; i++)
		budget_destroy(g->nodes[i].b);
	test_free(g);
}

static inline int keep_test_record(void *context, uint64_t id, const void *record, size_t len)
{
	struct node *node = context;

	assert_true(len <= RECORD);
	memcpy(node->records[40 - id], record, len);
	node->lens[40 - id] = len;
	return 0;
}

static inline void save_budget_node(struct group *g, unsigned i)
{
	struct node *node = &g->nodes[i];

	if (!book_unsaved(budget_book(node->b)))
		return;
	assert_int_equal(book_save(budget_book(node->b), keep_test_record, node), 0);
	assert_int_equal(book_save(budget_book(node->b), keep_test_record, node), -EBUSY);
	book_committed(budget_book(node->b));
}

static inline void post_test_messages(struct group *g, unsigned i)
{
	struct node *node = &g->nodes[i];
	struct message message = {.from = i};

	while ((message.len = budget_send(node->b, g->now, message.at, ROOM, &message.to)) > 0) {
		if (message.len > g->longest)
			g->longest = message.len;
		assert_true(message.len <= ROOM && g->queued < QUEUE);
		if (g->tape && g->taped < TAPE)
			g->tape[g->taped++] = message;
		if (!node->cut && !g->nodes[message.to].cut)
			g->queue[g->queued++] = message;
	}
}

static inline void step_budget_group(struct group *g)
{
	unsigned n = g->queued;

	g->now += MS;
	for (unsigned k = 0; k < n; k++) {
		struct message *message = &g->queue[k];
		struct node *node = &g->nodes[message->to];

		if (node->b)
			assert_int_equal(budget_receive(node->b, message->from, g->now, message->at,
						 message->len),
				0);
	}
	g->queued -= n;
	memmove(g->queue, g->queue + n, g->queued * sizeof(g->queue[0]));
	for (unsigned i = 0; i < g->n; i++) {
		if (!g->nodes[i].b)
			continue;
		budget_tick(g->nodes[i].b, g->now);
		save_budget_node(g, i);
		post_test_messages(g, i);
	}
}

static inline void run_budget_group(struct group *g, uint64_t ns)
{
	for (uint64_t end = g->now + ns; g->now < end;)
		step_budget_group(g);
}

/* Takes as many units as are available there, at most `most`. */
static inline uint64_t take_budget_units(
	struct group *g, unsigned i, unsigned policy, uint64_t most)
{
	uint64_t got = 0;

	for (unsigned vain = 0; got < most && vain < 2000; vain++) {
		while (got < most && budget_spend(g->nodes[i].b, policy, 1, g->now) == 0) {
			got++;
			vain = 0;
		}
		step_budget_group(g);
	}
	budget_forgo(g->nodes[i].b, policy);
	return got;
}

static inline struct quota_view budget_node_view(const struct group *g, unsigned i, unsigned policy)
{
	return budget_view(g->nodes[i].b, policy, g->now);
}

static inline int64_t group_units_held(const struct group *g, unsigned policy)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < g->n; i++)
		sum += g->nodes[i].b ? budget_node_view(g, i, policy).balance : 0;
	return sum;
}

static inline unsigned count_linked_edges(const struct group *g, unsigned i)
{
	unsigned n = 0;

	for (unsigned e = 0; e < budget_peers(g->nodes[i].b); e++)
		n += budget_peer(g->nodes[i].b, e).linked;
	return n;
}

static inline void crash_budget_node(struct group *g, unsigned i)
{
	budget_destroy(g->nodes[i].b);
	g->nodes[i].b = NULL;
}

static inline void restart_budget_node(struct group *g, unsigned i, bool recovering)
{
	budget_destroy(g->nodes[i].b);
	assert_int_equal(create_budget_node(g, i, recovering), 0);
}

static inline void update_budget_group(struct group *g, unsigned n, uint64_t total)
{
	g->policies[PREPAID].total = total;
	for (unsigned i = 0; i < g->n; i++)
		assert_int_equal(budget_update(g->nodes[i].b, g->policies, n, g->now), 0);
}

#endif

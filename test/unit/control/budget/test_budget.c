/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A group in virtual time over a network that takes a millisecond and loses what a test says.
 */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "budget/budget.h"

#define N_MAX    24
#define POLICIES 3
#define MS       UINT64_C(1000000)
#define SECOND   (1000 * MS)
#define TIMEOUT  (400 * MS)
#define TOTAL    UINT64_C(1003)
#define CHUNK    8
#define ROOM     600
#define RECORD   2048
#define QUEUE    4096

enum { PREPAID, PERIODIC, DRAWN };

struct node {
	struct budget *b; /* NULL: it is down */
	uint8_t records[POLICIES][RECORD];
	size_t lens[POLICIES];
	uint64_t epoch;
	bool cut; /* hears nobody, and nobody hears it */
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
	size_t longest;
};

static void fill_test_budgets(struct budget_policy policies[POLICIES])
{
	for (unsigned p = 0; p < POLICIES; p++)
		policies[p] = (struct budget_policy){.id = 40 - p,
			.total = TOTAL,
			.period = p == PERIODIC ? 7 : 0,
			.chunk = CHUNK,
			.drawn = p == DRAWN};
}

static int create_budget_node(struct group *g, unsigned i, bool recovering)
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

static struct group *group_new(unsigned n, unsigned n_policies, bool durable)
{
	struct group *g = test_calloc(1, sizeof(*g));

	g->n = n;
	g->n_policies = n_policies;
	g->durable = durable;
	g->now = SECOND;
	fill_test_budgets(g->policies);
	for (unsigned i = 0; i < n; i++)
		g->ids[i] = 1000 - 7 * i;
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(create_budget_node(g, i, false), 0);
	return g;
}

static void group_free(struct group *g)
{
	for (unsigned i = 0; i < g->n; i++)
		budget_destroy(g->nodes[i].b);
	test_free(g);
}

static int keep_test_record(void *context, uint32_t id, const void *record, size_t len)
{
	struct node *node = context;

	assert_true(len <= RECORD);
	memcpy(node->records[40 - id], record, len);
	node->lens[40 - id] = len;
	return 0;
}

static void save_budget_node(struct group *g, unsigned i)
{
	struct node *node = &g->nodes[i];

	if (!book_unsaved(budget_book(node->b)))
		return;
	assert_int_equal(book_save(budget_book(node->b), keep_test_record, node), 0);
	assert_int_equal(book_save(budget_book(node->b), keep_test_record, node), -EBUSY);
	book_committed(budget_book(node->b));
}

static void post_test_messages(struct group *g, unsigned i)
{
	struct node *node = &g->nodes[i];
	struct message message = {.from = i};

	while ((message.len = budget_send(node->b, g->now, message.at, ROOM, &message.to)) > 0) {
		if (message.len > g->longest)
			g->longest = message.len;
		assert_true(message.len <= ROOM && g->queued < QUEUE);
		if (!node->cut && !g->nodes[message.to].cut)
			g->queue[g->queued++] = message;
	}
}

static void step_budget_group(struct group *g)
{
	unsigned n = g->queued;

	g->now += MS;
	for (unsigned k = 0; k < n; k++) {
		struct message *message = &g->queue[k];
		struct node *node = &g->nodes[message->to];

		if (node->b)
			assert_int_equal(budget_hear(node->b, message->from, g->now, message->at,
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

static void run_budget_group(struct group *g, uint64_t ns)
{
	for (uint64_t end = g->now + ns; g->now < end;)
		step_budget_group(g);
}

/* As many as can be had there, but for the last. */
static uint64_t take_budget_units(struct group *g, unsigned i, unsigned policy, uint64_t most)
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

static struct quota_view budget_node_view(const struct group *g, unsigned i, unsigned policy)
{
	return budget_view(g->nodes[i].b, policy, g->now);
}

static int64_t group_units_held(const struct group *g, unsigned policy)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < g->n; i++)
		sum += g->nodes[i].b ? budget_node_view(g, i, policy).balance : 0;
	return sum;
}

static unsigned count_linked_edges(const struct group *g, unsigned i)
{
	unsigned n = 0;

	for (unsigned e = 0; e < budget_peers(g->nodes[i].b); e++)
		n += budget_peer(g->nodes[i].b, e).linked;
	return n;
}

static void crash_budget_node(struct group *g, unsigned i)
{
	budget_destroy(g->nodes[i].b);
	g->nodes[i].b = NULL;
}

static void test_params(void **state)
{
	uint32_t twice[] = {5, 5}, ids[] = {5, 6};
	struct budget_policy policies[] = {{.id = 1}, {.id = 1}};
	struct budget_params good = {.ids = ids,
		.n = 2,
		.policies = policies,
		.n_policies = 1,
		.epoch = 1,
		.repeat_ns = 1,
		.theta_ns = 1,
		.memory_ns = 1,
		.timeout_ns = 1};
	struct budget_params bad[] = {good, good, good, good, good, good};
	struct budget *b;

	(void)state;
	bad[0].self = 2;
	bad[1].epoch = 0;
	bad[2].ids = twice;
	bad[3].n_policies = 2;
	bad[4].timeout_ns = 0;
	bad[5].epoch = UINT64_C(1) << 42;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(budget_create(&bad[i], 0, &b), -EINVAL);
	assert_int_equal(budget_create(&good, 0, &b), 0);
	budget_destroy(b);
}

/* One tree, of the right shape; and of the shares, not one unit too many. */
static void test_tree(void **state)
{
	static const unsigned sizes[] = {1, 2, 3, 16, 24};

	(void)state;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		struct group *g = group_new(sizes[k], 1, false);
		unsigned ends = 0, roots = 0;

		assert_int_equal(group_units_held(g, PREPAID), TOTAL);
		run_budget_group(g, 10 * TIMEOUT);
		for (unsigned i = 0; i < g->n; i++) {
			ends += count_linked_edges(g, i);
			roots += budget_is_root(g->nodes[i].b);
			assert_true(count_linked_edges(g, i) <= BUDGET_DEGREE);
			assert_int_equal(budget_root(g->nodes[i].b), budget_root(g->nodes[0].b));
		}
		assert_int_equal(ends, 2 * (g->n - 1));
		assert_int_equal(roots, 1);
		assert_int_equal(take_budget_units(g, g->n - 1, PREPAID, UINT64_MAX), TOTAL);
		for (unsigned i = 0; i < g->n; i++)
			assert_int_equal(take_budget_units(g, i, PREPAID, 1), 0);
		group_free(g);
	}
}

/* The dead leave; those that are left are a tree, also without the root, and one again later. */
static void test_dead(void **state)
{
	struct group *g = group_new(6, 1, false);
	unsigned root;

	(void)state;
	run_budget_group(g, 10 * TIMEOUT);
	root = budget_root(g->nodes[0].b);
	g->nodes[root].cut = true;
	run_budget_group(g, 20 * TIMEOUT);
	assert_int_equal(count_linked_edges(g, root), 0);
	assert_true(budget_is_root(g->nodes[root].b));
	for (unsigned i = 0; i < g->n; i++)
		assert_true(i == root ||
			    (count_linked_edges(g, i) > 0 && budget_root(g->nodes[i].b) != root));
	g->nodes[root].cut = false;
	run_budget_group(g, 20 * TIMEOUT);
	for (unsigned i = 0; i < g->n; i++)
		assert_int_equal(budget_root(g->nodes[i].b), root);
	assert_int_equal(take_budget_units(g, 0, PREPAID, UINT64_MAX), TOTAL);
	group_free(g);
}

/* A parent that goes on speaking, but of a root whose number stands still, as in a loop. */
static void test_stale(void **state)
{
	struct group *g = group_new(2, 1, false);
	struct budget *child;
	unsigned root, to;
	uint8_t buf[ROOM];
	size_t len;

	(void)state;
	run_budget_group(g, 10 * TIMEOUT);
	root = budget_root(g->nodes[0].b);
	child = g->nodes[1 - root].b;
	do {
		budget_tick(g->nodes[root].b, g->now += MS);
		len = budget_send(g->nodes[root].b, g->now, buf, sizeof(buf), &to);
	} while (len == 0);
	for (unsigned k = 1; k <= 48; k++) {
		g->now += TIMEOUT / 8;
		for (unsigned i = 0; i < 8; i++)
			buf[28 + i] = (uint8_t)(g->now >> (56 - 8 * i)); /* said just now */
		assert_int_equal(budget_hear(child, root, g->now, buf, len), 0);
		budget_tick(child, g->now);
		if (k == 24)
			assert_false(budget_is_root(child));
	}
	assert_true(budget_is_root(child));
	group_free(g);
}

/* A crash costs what was saved as spent ahead, and nothing that was spent comes back. */
static void test_restart(void **state)
{
	struct group *g = group_new(4, 2, true);
	uint64_t got, more, spent;

	(void)state;
	run_budget_group(g, 4 * TIMEOUT);
	got = take_budget_units(g, 1, PREPAID, 500);
	assert_int_equal(got, 500);
	crash_budget_node(g, 1);
	run_budget_group(g, TIMEOUT);
	assert_int_equal(
		create_budget_node(g, 1, true), 0); /* recovering, but that there is a record */
	assert_true(budget_node_view(g, 1, PREPAID).spent >= got);
	assert_true(budget_node_view(g, 1, PREPAID).spent <= got + 2 * CHUNK);
	assert_false(budget_node_view(g, 1, PREPAID).recovering);
	run_budget_group(g, 4 * TIMEOUT);
	spent = budget_node_view(g, 1, PREPAID).spent;
	assert_int_equal(group_units_held(g, PREPAID) + (int64_t)spent, TOTAL);
	more = take_budget_units(g, 1, PREPAID, UINT64_MAX);
	assert_in_range(got + more, TOTAL - 2 * CHUNK, TOTAL);
	group_free(g);
}

/* A failed save is as if it had not been; the units are had later. */
static void test_disk(void **state)
{
	struct group *g = group_new(1, 1, true);
	struct budget *b = g->nodes[0].b;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(budget_spend(b, PREPAID, 5, g->now), -EAGAIN);
		assert_true(book_unsaved(budget_book(b)));
		assert_int_equal(book_save(budget_book(b), keep_test_record, &g->nodes[0]), 0);
		book_save_failed(budget_book(b));
	}
	assert_int_equal(book_save(budget_book(b), keep_test_record, &g->nodes[0]), 0);
	book_committed(budget_book(b));
	assert_int_equal(budget_spend(b, PREPAID, 5, g->now), 0);
	assert_true(budget_node_view(g, 0, PREPAID).spent < 50);
	group_free(g);
}

static int keep_one(void *context, uint32_t id, const void *record, size_t len)
{
	keep_test_record(context, id, record, len);
	return 1;
}

/* A round may be a part of all: each has its turn, also when others come and go meanwhile. */
static void test_rounds(void **state)
{
	struct group *g = group_new(1, 2, true);
	struct node *node = &g->nodes[0];

	(void)state;
	assert_int_equal(budget_spend(node->b, PREPAID, 5, g->now), -EAGAIN);
	assert_int_equal(budget_spend(node->b, PERIODIC, 5, g->now), -EAGAIN);
	assert_int_equal(book_save(budget_book(node->b), keep_one, node), 0);
	assert_true(node->lens[PREPAID] > 0 && node->lens[PERIODIC] == 0);
	assert_int_equal(budget_update(node->b, &g->policies[PERIODIC], 1, g->now), 0);
	book_committed(budget_book(node->b));
	assert_int_equal(book_save(budget_book(node->b), keep_one, node), 0);
	assert_true(node->lens[PERIODIC] > 0);
	book_committed(budget_book(node->b));
	assert_int_equal(budget_spend(node->b, 0, 5, g->now), 0);
	assert_int_equal(budget_update(node->b, g->policies, 2, g->now), 0);
	assert_int_equal(budget_spend(node->b, PREPAID, 5, g->now), 0);
	group_free(g);
}

/* One that knows nothing holds nothing, and has spent all; also if it crashes again before. */
static void test_recovering(void **state)
{
	struct group *g = group_new(3, 2, true);

	(void)state;
	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 700), 700);
	crash_budget_node(g, 0);
	g->nodes[0].lens[PREPAID] = g->nodes[0].lens[PERIODIC] = 0;
	g->nodes[0].cut = true;
	assert_int_equal(create_budget_node(g, 0, true), 0);
	run_budget_group(g, TIMEOUT);
	assert_true(budget_node_view(g, 0, PREPAID).recovering);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 1), 0);
	crash_budget_node(g, 0);
	assert_int_equal(create_budget_node(g, 0, false),
		0); /* the store says so, and the record knows better */
	assert_true(budget_node_view(g, 0, PREPAID).recovering);
	g->nodes[0].cut = false;
	run_budget_group(g, 4 * TIMEOUT);
	assert_false(budget_node_view(g, 0, PREPAID).recovering);
	assert_true(take_budget_units(g, 0, PREPAID, UINT64_MAX) <= TOTAL - 700);
	/* The next period is as any other's. */
	for (unsigned i = 0; i < g->n; i++)
		assert_int_equal(budget_period(g->nodes[i].b, PERIODIC, 8, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, UINT64_MAX), TOTAL);
	group_free(g);
}

/* A new disk knows nothing of how often the limiter was started before. */
static void test_new_disk(void **state)
{
	struct group *g = group_new(3, 1, true);

	(void)state;
	for (unsigned starts = 0; starts < 3; starts++) {
		run_budget_group(g, 4 * TIMEOUT);
		assert_int_equal(take_budget_units(g, 0, PREPAID, 100), 100);
		crash_budget_node(g, 0);
		if (starts < 2)
			assert_int_equal(create_budget_node(g, 0, false), 0);
	}
	g->nodes[0].lens[PREPAID] = 0;
	g->nodes[0].epoch = 0;
	assert_int_equal(create_budget_node(g, 0, true), 0);
	run_budget_group(g, 4 * TIMEOUT);
	assert_false(budget_node_view(g, 0, PREPAID).recovering);
	assert_in_range(take_budget_units(g, 0, PREPAID, UINT64_MAX), 1, TOTAL - 300);
	group_free(g);
}

/* All at once, as a group without a disk: they answer each other, and nobody has anything. */
static void test_all_recovering(void **state)
{
	struct group *g = group_new(3, 2, true);

	(void)state;
	for (unsigned i = 0; i < g->n; i++) {
		crash_budget_node(g, i);
		assert_int_equal(create_budget_node(g, i, true), 0);
	}
	run_budget_group(g, 4 * TIMEOUT);
	for (unsigned i = 0; i < g->n; i++)
		assert_false(budget_node_view(g, i, PREPAID).recovering);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 1), 0);
	group_free(g);
}

static void test_period(void **state)
{
	struct group *g = group_new(4, 2, false);
	uint64_t old;

	(void)state;
	run_budget_group(g, 4 * TIMEOUT);
	old = take_budget_units(g, 0, PERIODIC, 900);
	assert_int_equal(budget_period(g->nodes[0].b, PERIODIC, 7, g->now), -EINVAL);
	assert_int_equal(budget_period(g->nodes[0].b, PERIODIC, 8, g->now), 0);
	/* The others still go by their clocks: what they have is of the old one. */
	assert_int_equal(take_budget_units(g, 0, PERIODIC, UINT64_MAX), (TOTAL + 3) / 4);
	old += take_budget_units(g, 1, PERIODIC, UINT64_MAX);
	assert_in_range(old, 900, TOTAL);
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(budget_period(g->nodes[i].b, PERIODIC, 8, g->now), 0);
	assert_int_equal(take_budget_units(g, 2, PERIODIC, UINT64_MAX), TOTAL - (TOTAL + 3) / 4);
	group_free(g);
}

static void update_budget_group(struct group *g, unsigned n, uint64_t total)
{
	g->policies[PREPAID].total = total;
	for (unsigned i = 0; i < g->n; i++)
		assert_int_equal(budget_update(g->nodes[i].b, g->policies, n, g->now), 0);
}

/* More, and less; and a total that nobody can have is refused. */
static void test_top_up(void **state)
{
	struct group *g = group_new(3, 1, false);

	(void)state;
	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PREPAID, UINT64_MAX), TOTAL);
	update_budget_group(g, 1, TOTAL + 500);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 100), 100);
	update_budget_group(g, 1, TOTAL + 300);
	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 1, PREPAID, UINT64_MAX), 200);
	g->policies[PREPAID].total = LEDGER_MOST + 1;
	assert_int_equal(budget_update(g->nodes[0].b, g->policies, 1, g->now), -EINVAL);
	assert_int_equal(budget_node_view(g, 0, PREPAID).balance, 0);
	group_free(g);
}

/* A policy that goes spends nothing, gives what it has, and comes back where it was. */
static void test_gone(void **state)
{
	struct group *g = group_new(3, 1, false);

	(void)state;
	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 100), 100);
	assert_int_equal(budget_update(g->nodes[0].b, NULL, 0, g->now), 0);
	assert_int_equal(take_budget_units(g, 1, PREPAID, UINT64_MAX), TOTAL - 100);
	update_budget_group(g, 1, TOTAL);
	assert_int_equal(budget_node_view(g, 0, PREPAID).spent, 100);
	assert_int_equal(take_budget_units(g, 0, PREPAID, UINT64_MAX), 0);
	group_free(g);
}

/* What is given back is there again, for others too, and after a crash once it is saved. */
static void test_refund(void **state)
{
	struct group *g = group_new(3, 1, true);

	(void)state;
	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 600), 600);
	budget_refund(g->nodes[0].b, PREPAID, 150);
	assert_int_equal(budget_node_view(g, 0, PREPAID).spent, 450);
	assert_int_equal(budget_node_view(g, 0, PREPAID).prepaid, 0);
	/* No more than has passed. */
	budget_refund(g->nodes[0].b, PREPAID, 600);
	assert_int_equal(budget_node_view(g, 0, PREPAID).spent, 0);
	assert_int_equal(group_units_held(g, PREPAID), TOTAL);
	assert_int_equal(take_budget_units(g, 1, PREPAID, UINT64_MAX), TOTAL);
	group_free(g);
}

/* The sum of what was drawn counts, however often it is said. */
static void test_drawn(void **state)
{
	struct group *g = group_new(3, 3, true);

	(void)state;
	run_budget_group(g, 4 * TIMEOUT);
	/* Nobody is thought to hold what nobody has said that he holds. */
	assert_true(budget_node_view(g, 0, DRAWN).remaining <= 3);
	assert_int_equal(take_budget_units(g, 0, DRAWN, 1), 0);
	assert_int_equal(budget_set_share(g->nodes[0].b, PREPAID, 5, g->now), -EINVAL);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 60, g->now), 0);
	assert_int_equal(budget_set_share(g->nodes[1].b, DRAWN, 40, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 100);
	crash_budget_node(g, 0);
	assert_int_equal(create_budget_node(g, 0, false), 0);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 70, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 10);
	/* Without a memory all that was drawn until it is back may have been spent. */
	crash_budget_node(g, 0);
	memset(g->nodes[0].lens, 0, sizeof(g->nodes[0].lens));
	assert_int_equal(create_budget_node(g, 0, true), 0);
	run_budget_group(g, TIMEOUT);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 90, g->now), 0);
	run_budget_group(g, 2 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 0);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 95, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 5);
	group_free(g);
}

/* All that is for one neighbour is in one message; a message that is cut or altered is none. */
static void test_messages(void **state)
{
	struct group *g = group_new(2, 3, false);
	uint64_t messages;
	int64_t balance;
	uint8_t buf[ROOM];
	unsigned to;
	size_t len;

	(void)state;
	run_budget_group(g, 4 * TIMEOUT);
	messages = budget_counters(g->nodes[0].b)->messages_sent;
	balance = budget_node_view(g, 1, PREPAID).balance;
	for (unsigned p = 0; p < 3; p++)
		assert_int_equal(budget_spend(g->nodes[0].b, p, 600, g->now), -EAGAIN);
	len = budget_send(g->nodes[0].b, g->now, buf, sizeof(buf), &to);
	assert_int_equal(len, 60 + 3 * 125);
	assert_int_equal(budget_send(g->nodes[0].b, g->now, buf, sizeof(buf), &to), 0);
	assert_int_equal(budget_counters(g->nodes[0].b)->messages_sent, messages + 1);
	for (size_t cut = 0; cut < len; cut++)
		if (cut < 60 || (cut - 60) % 125 != 0)
			assert_int_equal(budget_hear(g->nodes[1].b, 0, g->now, buf, cut), -EBADMSG);
	buf[1] |= 128;
	assert_int_equal(budget_hear(g->nodes[1].b, 0, g->now, buf, len), -EBADMSG);
	buf[1] &= 127;
	buf[4] ^= 1; /* a root that nobody knows */
	assert_int_equal(budget_hear(g->nodes[1].b, 0, g->now, buf, len), -EBADMSG);
	buf[4] ^= 1;
	assert_int_equal(budget_hear(g->nodes[1].b, 1, g->now, buf, len), -ENOENT);
	assert_int_equal(budget_hear(g->nodes[1].b, 2, g->now, buf, len), -ENOENT);
	assert_int_equal(budget_node_view(g, 1, PREPAID).balance, balance);
	assert_int_equal(budget_hear(g->nodes[1].b, 0, g->now, buf, len), 0);
	assert_true(budget_node_view(g, 1, PREPAID).balance < balance);
	group_free(g);
}

/* A record of others' edges, or that has been altered, is refused. */
static void test_records(void **state)
{
	struct group *g = group_new(3, 1, true);

	(void)state;
	run_budget_group(g, TIMEOUT);
	crash_budget_node(g, 0);
	g->nodes[0].records[PREPAID][0] ^= 1;
	assert_int_equal(create_budget_node(g, 0, false), -EINVAL);
	g->nodes[0].records[PREPAID][0] ^= 1;
	g->nodes[0].lens[PREPAID]--;
	assert_int_equal(create_budget_node(g, 0, false), -EINVAL);
	g->nodes[0].lens[PREPAID]++;
	g->ids[2]++;
	assert_int_equal(create_budget_node(g, 0, false), -EINVAL);
	g->ids[2]--;
	/* The record of a policy that is gone is kept. */
	g->n_policies = 0;
	assert_int_equal(create_budget_node(g, 0, false), 0);
	assert_int_equal(take_budget_units(g, 1, PREPAID, UINT64_MAX), TOTAL);
	group_free(g);
}

/* In peace a tree costs what tree.c says: few messages, and no messages. */
static void test_peace(void **state)
{
	struct group *g = group_new(5, 1, false);
	uint64_t messages = 0, parts = 0;

	(void)state;
	run_budget_group(g, 20 * TIMEOUT);
	for (unsigned i = 0; i < 5; i++) {
		messages -= budget_counters(g->nodes[i].b)->messages_sent;
		parts -= budget_counters(g->nodes[i].b)->parts_sent;
	}
	run_budget_group(g, 10 * TIMEOUT);
	for (unsigned i = 0; i < 5; i++) {
		messages += budget_counters(g->nodes[i].b)->messages_sent;
		parts += budget_counters(g->nodes[i].b)->parts_sent;
	}
	assert_int_equal(parts, 0);
	/* Four edges of the tree, six others; and what waves bring before it is time. */
	assert_in_range(messages, 10 * (4 * 2 * 4 + 6 * 2 * 2) * 9 / 10,
		10 * (4 * 2 * 4 + 6 * 2 * 2) * 13 / 10);
	group_free(g);
}

static void all_believe(const struct group *g, uint64_t left)
{
	for (unsigned i = 0; i < g->n; i++) {
		assert_in_range(budget_node_view(g, i, PREPAID).remaining, left - left / 4,
			left + left / 4);
		assert_int_equal(budget_node_view(g, i, PREPAID).pace, 0);
	}
}

/*
 * A limiter that spends nothing, and asks for nothing, hears how much is left too: after a burst
 * elsewhere, and of another total. Then all is still.
 */
static void test_news(void **state)
{
	struct group *g = group_new(5, 1, true);
	uint64_t spent;

	(void)state;
	run_budget_group(g, 4 * TIMEOUT);
	spent = take_budget_units(g, 0, PREPAID, 400);
	run_budget_group(g, 2 * SECOND);
	assert_true(budget_node_view(g, 4, PREPAID).pace > 0);
	run_budget_group(g, 60 * SECOND);
	all_believe(g, TOTAL - spent);
	g->nodes[0].cut = true;
	run_budget_group(g, 10 * TIMEOUT);
	g->nodes[0].cut = false;
	run_budget_group(g, 10 * SECOND);
	all_believe(g, TOTAL - spent);
	update_budget_group(g, 1, 40 * TOTAL);
	run_budget_group(g, 10 * SECOND);
	all_believe(g, 40 * TOTAL - spent);
	update_budget_group(g, 1, TOTAL);
	for (unsigned i = 0; i < g->n; i++)
		assert_true(budget_node_view(g, i, PREPAID).remaining <=
			    TOTAL - budget_node_view(g, i, PREPAID).spent);
	run_budget_group(g, 10 * SECOND);
	all_believe(g, TOTAL - spent);
	group_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_params),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_dead),
		cmocka_unit_test(test_stale),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_disk),
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_recovering),
		cmocka_unit_test(test_new_disk),
		cmocka_unit_test(test_all_recovering),
		cmocka_unit_test(test_period),
		cmocka_unit_test(test_top_up),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_refund),
		cmocka_unit_test(test_drawn),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_peace),
		cmocka_unit_test(test_news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

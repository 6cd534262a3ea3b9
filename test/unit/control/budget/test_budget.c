/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A group in virtual time over a network that takes a millisecond and loses what a test says.
 */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"
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

#define TAPE 20000

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
	struct book_identity identity;
	struct message *tape; /* NULL: what is said is not recorded */
	unsigned taped;
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

static struct group *group_new(unsigned n, unsigned n_policies, bool durable)
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
		if (g->tape && g->taped < TAPE)
			g->tape[g->taped++] = message;
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
		.identity = {.low = 1},
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
			buf[44 + i] = (uint8_t)(g->now >> (56 - 8 * i)); /* said just now */
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
	/* The next period is as any other's, if it is not one that it has forgotten, too. */
	g->now += TIME_DOUBT_NS;
	run_budget_group(g, 4 * TIMEOUT);
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
	assert_int_equal(len, 85 + 3 * 149);
	assert_int_equal(budget_send(g->nodes[0].b, g->now, buf, sizeof(buf), &to), 0);
	assert_int_equal(budget_counters(g->nodes[0].b)->messages_sent, messages + 1);
	for (size_t cut = 0; cut < len; cut++)
		if (cut < 85 || (cut - 85) % 149 != 0)
			assert_int_equal(budget_hear(g->nodes[1].b, 0, g->now, buf, cut), -EBADMSG);
	buf[17] |= 128;
	assert_int_equal(budget_hear(g->nodes[1].b, 0, g->now, buf, len), -EBADMSG);
	buf[17] &= 127;
	buf[20] ^= 1; /* a root that nobody knows */
	assert_int_equal(budget_hear(g->nodes[1].b, 0, g->now, buf, len), -EBADMSG);
	buf[20] ^= 1;
	assert_int_equal(budget_hear(g->nodes[1].b, 1, g->now, buf, len), -ENOENT);
	assert_int_equal(budget_hear(g->nodes[1].b, 2, g->now, buf, len), -ENOENT);
	assert_int_equal(budget_node_view(g, 1, PREPAID).balance, balance);
	assert_int_equal(budget_hear(g->nodes[1].b, 0, g->now, buf, len), 0);
	assert_true(budget_node_view(g, 1, PREPAID).balance < balance);
	group_free(g);
}

/* What no limiter says in the head of a message, and what it may say at the most. */
static void test_heads(void **state)
{
	static const struct {
		unsigned at; /* where the field is */
		uint64_t value;
		int ret;
	} rows[] = {
		{24, 0, -EBADMSG}, /* the root's epoch */
		{24, 1, 0},
		{24, LEDGER_MOST, 0},
		{24, LEDGER_MOST + 1, -EBADMSG},
		{36, 0, -EBADMSG}, /* the sender's */
		{36, 1, 0},
		{36, LEDGER_MOST, 0},
		{36, LEDGER_MOST + 1, -EBADMSG},
		{52, 0, 0}, /* ours, as it has heard it */
		{52, LEDGER_MOST, 0},
		{52, LEDGER_MOST + 1, -EBADMSG},
		{84, TIME_GRADES - 1, 0},
		{84, TIME_GRADES, -EBADMSG},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct group *g = group_new(2, 1, false);
		uint8_t buf[ROOM];
		unsigned to;

		run_budget_group(g, 4 * TIMEOUT);
		assert_int_equal(budget_spend(g->nodes[0].b, PREPAID, 600, g->now), -EAGAIN);
		assert_int_equal(
			budget_send(g->nodes[0].b, g->now, buf, sizeof(buf), &to), 85 + 149);
		if (rows[k].at == 84)
			buf[84] = (uint8_t)rows[k].value;
		else
			wire_put64(buf + rows[k].at, rows[k].value);
		assert_int_equal(budget_hear(g->nodes[1].b, 0, g->now, buf, 85), rows[k].ret);
		assert_int_equal(
			budget_counters(g->nodes[1].b)->malformed, rows[k].ret == -EBADMSG);
		group_free(g);
	}
}

/*
 * What a message and the answer to it took, less what the other waited: half of what is shorter
 * counts at once, an eighth of what is longer. Each is answered once, not before it was sent, and
 * by nobody who waited longer than it took; other starts' messages are not ours.
 */
static void test_round_trips(void **state)
{
	enum { TOOK = 50 };
	static const struct {
		int epoch, sent_ms; /* beside those of the message that is answered */
		uint64_t waited;
		uint64_t trip; /* 0: no answer */
	} rows[] = {
		{0, 0, TOOK * MS, 1},
		{0, 0, TOOK * MS + 1, 0},
		{0, 0, (TOOK - 1) * MS, MS + 1},
		{0, 0, 0, TOOK * MS + 1},
		{0, TOOK, 0, 1},
		{0, TOOK + 1, 0, 0},
		{-1, 0, 0, 0},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct group *g = group_new(2, 1, false);
		uint8_t asked[ROOM], answer[ROOM];
		uint64_t before, epoch, stamp, said, want;
		unsigned to;

		run_budget_group(g, 4 * TIMEOUT);
		before = budget_peer(g->nodes[1].b, 0).round_trip_ns;
		assert_in_range(before, MS, 3 * MS);
		g->now += 100 * MS;
		for (unsigned i = 0; i < 2; i++) {
			assert_int_equal(
				budget_spend(g->nodes[i].b, PREPAID, 600, g->now), -EAGAIN);
			assert_true(budget_send(g->nodes[i].b, g->now, i ? asked : answer, ROOM,
					    &to) > 0);
		}
		wire_get64(wire_get64(asked + 36, &epoch), &stamp);
		wire_get64(answer + 44, &said);
		wire_put64(answer + 52, epoch + (uint64_t)rows[k].epoch);
		wire_put64(answer + 60, stamp + (uint64_t)rows[k].sent_ms * MS);
		wire_put64(answer + 68, rows[k].waited);
		want = before;
		if (rows[k].trip > 0)
			want = rows[k].trip < before ? before - (before - rows[k].trip) / 2
						     : before + (rows[k].trip - before) / 8;
		for (unsigned twice = 0; twice < 2; twice++) {
			wire_put64(answer + 44, said + twice);
			assert_int_equal(
				budget_hear(g->nodes[1].b, 0, stamp + TOOK * MS, answer, 85), 0);
			assert_int_equal(budget_peer(g->nodes[1].b, 0).round_trip_ns, want);
		}
		group_free(g);
	}
}

/*
 * By what total one goes that hears another one, or that it is divided among more limiters; and
 * where another unit is counted, that is not believed.
 */
static void test_terms_of_parts(void **state)
{
	static const struct {
		uint64_t total, unit, n, want;
	} rows[] = {
		{TOTAL, 0, 2, TOTAL},
		{TOTAL, 0, 1, TOTAL},
		{TOTAL, 0, 3, TOTAL * 2 / 3},
		{600, 0, 3, 400},
		{600, 0, 2, 600},
		{2 * TOTAL, 0, 3, TOTAL * 2 / 3},
		{600, 1, 3, TOTAL},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct group *g = group_new(2, 1, false);
		uint8_t buf[ROOM], *part = buf + 85;
		unsigned to;

		run_budget_group(g, 4 * TIMEOUT);
		assert_int_equal(budget_spend(g->nodes[0].b, PREPAID, 600, g->now), -EAGAIN);
		assert_int_equal(
			budget_send(g->nodes[0].b, g->now, buf, sizeof(buf), &to), 85 + 149);
		wire_put32(
			wire_put32(wire_put64(part + 133, rows[k].total), (uint32_t)rows[k].unit),
			(uint32_t)rows[k].n);
		assert_int_equal(budget_hear(g->nodes[1].b, 0, g->now, buf, 85 + 149), 0);
		assert_int_equal(budget_total(g->nodes[1].b, PREPAID), rows[k].want);
		assert_int_equal(budget_counters(g->nodes[1].b)->differing, rows[k].unit);
		group_free(g);
	}
}

/* Without loss all that is sent is heard, and counted as that. */
static void test_counts(void **state)
{
	struct group *g = group_new(2, 1, false);
	const struct budget_counters *a = budget_counters(g->nodes[0].b);
	const struct budget_counters *b = budget_counters(g->nodes[1].b);

	(void)state;
	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 900), 900);
	run_budget_group(g, 5 * MS);
	assert_int_equal(g->queued, 0);
	assert_true(a->messages_sent > 0 && a->parts_sent > 0);
	assert_int_equal(a->messages_sent, b->messages_heard);
	assert_int_equal(b->messages_sent, a->messages_heard);
	assert_int_equal(a->parts_sent, b->parts_heard);
	assert_int_equal(b->parts_sent, a->parts_heard);
	assert_int_equal(a->malformed + a->unknown + a->differing, 0);
	assert_int_equal(a->relinked, 1);
	group_free(g);
}

/* What was given and not confirmed; when to call again; and units ahead as another chunk says. */
static void test_on_its_way(void **state)
{
	struct group *g = group_new(2, 1, true);
	struct budget *b = g->nodes[1].b;
	uint64_t next, had;

	(void)state;
	run_budget_group(g, 4 * TIMEOUT);
	next = budget_tick(b, g->now);
	assert_true(next > g->now);
	assert_int_equal(budget_tick(b, g->now), next);
	assert_true(budget_tick(b, next) > next);
	had = (uint64_t)budget_node_view(g, 1, PREPAID).balance;
	assert_int_equal(budget_spend(g->nodes[0].b, PREPAID, 700, g->now), -EAGAIN);
	post_test_messages(g, 0);
	g->nodes[1].cut = true;
	step_budget_group(g);
	assert_int_equal(budget_in_flight(b, PREPAID),
		had - (uint64_t)budget_node_view(g, 1, PREPAID).balance);
	assert_in_range(budget_in_flight(b, PREPAID), 1, had);
	budget_destroy(NULL);
	group_free(g);
}

static void test_chunk(void **state)
{
	struct group *g = group_new(1, 1, true);

	(void)state;
	for (unsigned chunk = CHUNK; chunk <= 32; chunk *= 2) {
		g->policies[PREPAID].chunk = chunk;
		assert_int_equal(budget_update(g->nodes[0].b, g->policies, 1, g->now), 0);
		while (budget_spend(g->nodes[0].b, PREPAID, 1, g->now))
			save_budget_node(g, 0);
		for (unsigned i = 0; i < chunk; i++) {
			save_budget_node(g, 0);
			assert_int_equal(budget_spend(g->nodes[0].b, PREPAID, 1, g->now), 0);
			assert_in_range(budget_node_view(g, 0, PREPAID).prepaid, 1, 3 * chunk / 2);
		}
		assert_true(budget_node_view(g, 0, PREPAID).prepaid >= chunk / 2);
	}
	group_free(g);
}

/* A record of others' edges, or that has been altered, is refused. */
static void test_records(void **state)
{
	struct group *g = group_new(3, 1, true);
	uint8_t *total = g->nodes[0].records[PREPAID] + sizeof(uint64_t); /* of the edges */
	size_t len;

	(void)state;
	run_budget_group(g, TIMEOUT);
	crash_budget_node(g, 0);
	g->nodes[0].records[PREPAID][0] ^= 1;
	assert_int_equal(create_budget_node(g, 0, false), -EINVAL);
	g->nodes[0].records[PREPAID][0] ^= 1;
	len = g->nodes[0].lens[PREPAID];
	for (size_t cut = 1; cut < len; cut++) {
		g->nodes[0].lens[PREPAID] = cut;
		assert_int_equal(create_budget_node(g, 0, false), -EINVAL);
	}
	g->nodes[0].lens[PREPAID] = len;
	wire_put64(total, LEDGER_MOST + 1);
	assert_int_equal(create_budget_node(g, 0, false), -EINVAL);
	wire_put64(total, TOTAL);
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

/*
 * The group begins a total anew, all stores being new; and what was said in its former life, in
 * which the one has given nearly all to the other, is played to both of them. None of it is
 * believed, no more is spent than there is, and who asks still gets.
 */
static void test_former_life(void **state)
{
	struct message *tape = test_calloc(TAPE, sizeof(*tape));
	struct group *g = group_new(2, 1, false);
	uint64_t spent[2] = {0};

	(void)state;
	g->tape = tape;
	for (unsigned i = 0; i < 2; i++)
		g->nodes[i].epoch = 5;
	assert_in_range(take_budget_units(g, 1, PREPAID, TOTAL * 9 / 10), TOTAL * 9 / 10, TOTAL);
	run_budget_group(g, 4 * TIMEOUT);
	assert_in_range(g->taped, 8, TAPE - 1);
	for (unsigned i = 0; i < 2; i++) {
		budget_destroy(g->nodes[i].b);
		memset(&g->nodes[i], 0, sizeof(g->nodes[i]));
	}
	g->tape = NULL;
	g->queued = 0;
	g->now = 2 * TIMEOUT;
	g->identity.low = 2;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(create_budget_node(g, i, false), 0);
	run_budget_group(g, 4 * TIMEOUT);
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned k = 0; k < g->taped; k++)
			assert_int_equal(budget_hear(g->nodes[tape[k].to].b, tape[k].from, g->now,
						 tape[k].at, tape[k].len),
				-ESTALE);
		for (unsigned i = 0; i < 2; i++)
			spent[i] += take_budget_units(g, i, PREPAID, TOTAL / 20);
	}
	spent[0] += take_budget_units(g, 0, PREPAID, UINT64_MAX);
	assert_int_equal(spent[0] + spent[1], TOTAL);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(budget_node_view(g, i, PREPAID).invalid, 0);
		assert_true(budget_book(g->nodes[i].b)->links[0].foreign > 0);
	}
	test_free(tape);
	group_free(g);
}

/* One that has lost its memory, and with it the identity, learns it and waits for its part. */
static void test_learnt_identity(void **state)
{
	struct group *g = group_new(3, 1, true);
	struct book_identity ours = g->identity;

	(void)state;
	run_budget_group(g, 4 * TIMEOUT);
	crash_budget_node(g, 2);
	g->identity = (struct book_identity){0};
	assert_int_equal(create_budget_node(g, 2, true), 0);
	for (uint64_t end = g->now + 20 * TIMEOUT; g->now < end;) {
		g->now += MS;
		for (unsigned i = 0; i < 3; i++) {
			uint8_t buf[ROOM];
			unsigned to;
			size_t len;

			budget_tick(g->nodes[i].b, g->now);
			save_budget_node(g, i);
			while ((len = budget_send(g->nodes[i].b, g->now, buf, ROOM, &to)) > 0)
				(void)budget_hear(g->nodes[to].b, i, g->now, buf, len);
		}
	}
	assert_true(book_identity_equal(budget_book(g->nodes[2].b)->identity, ours));
	assert_false(budget_node_view(g, 2, PREPAID).recovering);
	assert_int_equal(budget_book(g->nodes[0].b)->links[0].foreign, 0);
	g->queued = 0;
	assert_in_range(take_budget_units(g, 2, PREPAID, TOTAL / 3), TOTAL / 3, TOTAL);
	group_free(g);
}

static void set_undated(struct group *g)
{
	for (unsigned p = 0; p < g->n_policies; p++) {
		g->policies[p].undated = p != PREPAID;
		if (g->policies[p].undated)
			g->policies[p].period = 0;
	}
}

static void restart_budget_node(struct group *g, unsigned i, bool recovering)
{
	budget_destroy(g->nodes[i].b);
	assert_int_equal(create_budget_node(g, i, recovering), 0);
}

/* A limiter that does not know what time it is: nothing new is held, and nothing is forgotten. */
static void test_undated(void **state)
{
	struct group *g = group_new(2, 2, true);

	(void)state;
	set_undated(g);
	for (unsigned i = 0; i < 2; i++)
		restart_budget_node(g, i, false);
	run_budget_group(g, 4 * TIMEOUT);
	assert_true(budget_node_view(g, 0, PERIODIC).undated);
	assert_int_equal(group_units_held(g, PREPAID), TOTAL);
	assert_int_equal(group_units_held(g, PERIODIC), 0);
	assert_int_equal(budget_spend(g->nodes[0].b, PERIODIC, 1, g->now), -EAGAIN);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(budget_period(g->nodes[i].b, PERIODIC, 7, g->now), 0);
	assert_false(budget_node_view(g, 0, PERIODIC).undated);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, 700), 700);
	run_budget_group(g, TIMEOUT);
	/* From a record the period goes on at once; what was spent in it, and given, is. */
	restart_budget_node(g, 0, false);
	assert_false(budget_node_view(g, 0, PERIODIC).undated);
	assert_int_equal(budget_node_view(g, 0, PERIODIC).period, 7);
	run_budget_group(g, 4 * TIMEOUT);
	assert_in_range(take_budget_units(g, 0, PERIODIC, UINT64_MAX), 300 - 2 * CHUNK, 303);
	assert_int_equal(budget_period(g->nodes[0].b, PERIODIC, 7, g->now), -EINVAL);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, 1), 0);
	group_free(g);
}

/*
 * One without a memory has lost that of the period that it is, once it knows which: what it held
 * there may have been spent.
 */
static void test_undated_recovering(void **state)
{
	struct group *g = group_new(2, 2, true);

	(void)state;
	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, 800), 800);
	run_budget_group(g, TIMEOUT);
	set_undated(g);
	memset(g->nodes[0].lens, 0, sizeof(g->nodes[0].lens));
	restart_budget_node(g, 0, true);
	run_budget_group(g, 4 * TIMEOUT);
	assert_true(budget_node_view(g, 0, PERIODIC).undated);
	restart_budget_node(g, 0, false); /* by the record that says so */
	assert_int_equal(budget_period(g->nodes[0].b, PERIODIC, 7, g->now), 0);
	run_budget_group(g, 4 * TIMEOUT);
	assert_false(budget_node_view(g, 0, PERIODIC).recovering);
	assert_in_range(take_budget_units(g, 0, PERIODIC, UINT64_MAX), 0, TOTAL - 800);
	group_free(g);
}

/*
 * A limiter loses its memory just after a period has begun, and goes by a time that is a little
 * earlier then: when that period begins again it has lost it, too, also after another restart.
 */
static void test_turns_again_recovering(void **state)
{
	struct group *g = group_new(2, 3, true);

	(void)state;
	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(budget_period(g->nodes[0].b, PERIODIC, 8, g->now), 0);
	assert_int_equal(budget_period(g->nodes[0].b, DRAWN, 8, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, TOTAL / 2), TOTAL / 2);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 90, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, 50), 50);
	memset(g->nodes[0].lens, 0, sizeof(g->nodes[0].lens));
	restart_budget_node(g, 0, true);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 0, g->now), 0);
	run_budget_group(g, 4 * TIMEOUT);
	assert_false(budget_node_view(g, 0, PERIODIC).recovering);
	restart_budget_node(g, 0, false);
	assert_int_equal(budget_node_view(g, 0, PERIODIC).period, 7);
	run_budget_group(g, TIMEOUT);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(budget_period(g->nodes[i].b, PERIODIC, 8, g->now), 0);
		assert_int_equal(budget_period(g->nodes[i].b, DRAWN, 8, g->now), 0);
	}
	assert_in_range(take_budget_units(g, 0, PERIODIC, UINT64_MAX), 1, TOTAL - TOTAL / 2);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 90, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 0);
	group_free(g);
}

/* What was drawn for it of that period may have been spent, too. */
static void test_undated_drawn(void **state)
{
	struct group *g = group_new(1, 3, true);

	(void)state;
	set_undated(g);
	restart_budget_node(g, 0, true);
	run_budget_group(g, TIMEOUT);
	assert_int_equal(budget_period(g->nodes[0].b, DRAWN, 7, g->now), 0);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 90, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, 1), 0);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 95, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 5);
	g->now += TIME_DOUBT_NS;
	assert_int_equal(budget_period(g->nodes[0].b, DRAWN, 8, g->now), 0);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 90, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 90);
	group_free(g);
}

/* Alone there is nobody to ask: all of the period's share may have been spent. */
static void test_undated_alone(void **state)
{
	struct group *g = group_new(1, 2, true);

	(void)state;
	set_undated(g);
	restart_budget_node(g, 0, true);
	run_budget_group(g, TIMEOUT);
	assert_int_equal(budget_period(g->nodes[0].b, PERIODIC, 7, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, 1), 0);
	g->now += TIME_DOUBT_NS;
	assert_int_equal(budget_period(g->nodes[0].b, PERIODIC, 8, g->now), 0);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, UINT64_MAX), TOTAL);
	group_free(g);
}

/* Neighbours tell each other the time: one that starts with a wrong clock goes by theirs. */
static void test_time(void **state)
{
	struct group *g = group_new(3, 1, false);
	const uint64_t wall = UINT64_C(1700000000) * SECOND, wrong = wall + 86400 * SECOND;
	uint64_t time_ns;

	(void)state;
	g->nodes[2].cut = true;
	for (unsigned k = 0; k < TIMEOUT / MS; k++) {
		for (unsigned i = 0; i < 2; i++)
			budget_clock(g->nodes[i].b, wall + g->now, true, g->now);
		step_budget_group(g);
	}
	assert_int_equal(budget_timekeeper(g->nodes[0].b)->reason, TIME_AGREES);
	restart_budget_node(g, 2, false);
	budget_clock(g->nodes[2].b, wrong + g->now, true, g->now);
	assert_false(timekeeper_time(budget_timekeeper(g->nodes[2].b), g->now, &time_ns));
	g->nodes[2].cut = false;
	for (unsigned k = 0; k <= TIMEOUT / MS; k++) {
		for (unsigned i = 0; i < 2; i++)
			budget_clock(g->nodes[i].b, wall + g->now, true, g->now);
		budget_clock(g->nodes[2].b, wrong + g->now, true, g->now);
		step_budget_group(g);
	}
	assert_int_equal(budget_timekeeper(g->nodes[2].b)->reason, TIME_FOLLOWS);
	assert_true(timekeeper_time(budget_timekeeper(g->nodes[2].b), g->now, &time_ns));
	assert_near((double)(int64_t)(time_ns - wall - g->now), 0, (double)(20 * MS));
	/* What is not heard any more says nothing. */
	restart_budget_node(g, 2, false);
	run_budget_group(g, TIMEOUT);
	g->nodes[2].cut = true;
	run_budget_group(g, 2 * TIMEOUT);
	budget_clock(g->nodes[2].b, wrong + g->now, true, g->now);
	assert_true(timekeeper_time(budget_timekeeper(g->nodes[2].b), g->now, &time_ns));
	assert_true(time_ns == wrong + g->now);
	group_free(g);
}

/* One node has been told something else of a policy. */
static void retell_node(
	struct group *g, unsigned i, unsigned policy, uint64_t total, uint64_t terms)
{
	struct budget_policy policies[POLICIES];

	memcpy(policies, g->policies, sizeof(policies));
	policies[policy].total = total;
	policies[policy].terms = terms;
	assert_int_equal(budget_update(g->nodes[i].b, policies, g->n_policies, g->now), 0);
}

static void run_all_totals(struct group *g, unsigned policy, uint64_t total)
{
	run_budget_group(g, 10 * TIMEOUT);
	for (unsigned i = 0; i < g->n; i++)
		assert_int_equal(budget_total(g->nodes[i].b, policy), total);
}

/* Limiters with totals of 1 and 10: together they pass the lower, however that has come about. */
static void test_least_total(void **state)
{
	struct group *g = group_new(3, 2, false);

	(void)state;
	run_budget_group(g, 10 * TIMEOUT);
	retell_node(g, 0, PREPAID, 10 * TOTAL, 0);
	run_all_totals(g, PREPAID, TOTAL);
	assert_int_equal(group_units_held(g, PREPAID), TOTAL);
	retell_node(g, 1, PREPAID, 10 * TOTAL, 0);
	run_all_totals(g, PREPAID, TOTAL);
	retell_node(g, 2, PREPAID, 9 * TOTAL, 0);
	run_all_totals(g, PREPAID, 9 * TOTAL);
	/* A lower one holds at once where it is known, and what is too much is a debt. */
	retell_node(g, 2, PREPAID, TOTAL, 0);
	run_budget_group(g, 5 * MS);
	assert_int_equal(take_budget_units(g, 0, PREPAID, UINT64_MAX), TOTAL);
	run_all_totals(g, PREPAID, TOTAL);
	assert_int_equal(take_budget_units(g, 1, PREPAID, UINT64_MAX), 0);
	/* Nothing of that is said of another policy, and all can be raised. */
	assert_int_equal(budget_total(g->nodes[0].b, PERIODIC), TOTAL);
	for (unsigned i = 0; i < 3; i++)
		retell_node(g, i, PREPAID, 2 * TOTAL, 0);
	run_budget_group(g, 5 * MS);
	assert_int_equal(budget_total(g->nodes[0].b, PREPAID), 2 * TOTAL);
	run_all_totals(g, PREPAID, 2 * TOTAL);
	assert_int_equal(take_budget_units(g, 1, PREPAID, UINT64_MAX), TOTAL);
	group_free(g);
}

/* What is drawn elsewhere is no part of a total: whatever that is said to be, it stays. */
static void test_least_total_drawn(void **state)
{
	static const uint64_t totals[] = {TOTAL / 2, TOTAL, 10 * TOTAL, TOTAL};
	struct group *g = group_new(2, 3, false);

	(void)state;
	run_budget_group(g, 4 * TIMEOUT);
	assert_int_equal(budget_set_share(g->nodes[0].b, DRAWN, 60, g->now), 0);
	assert_int_equal(budget_set_share(g->nodes[1].b, DRAWN, 40, g->now), 0);
	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++) {
		uint64_t least = totals[i] < TOTAL ? totals[i] : TOTAL;

		retell_node(g, 1, DRAWN, totals[i], 0);
		run_budget_group(g, 4 * TIMEOUT);
		assert_int_equal(budget_total(g->nodes[0].b, DRAWN), least);
		assert_int_equal(group_units_held(g, DRAWN), 100);
		assert_int_equal(group_units_held(g, PREPAID), TOTAL);
	}
	assert_int_equal(take_budget_units(g, 0, DRAWN, UINT64_MAX), 100);
	group_free(g);
}

static void expect_totals_of_others(struct group *g, uint64_t total)
{
	run_budget_group(g, 3 * MS);
	for (unsigned i = 1; i < g->n; i++)
		assert_int_equal(budget_total(g->nodes[i].b, PREPAID), total);
}

/* A limiter that is told another total, or none, says so at once, though nobody asks. */
static void test_retold_at_once(void **state)
{
	struct group *g = group_new(3, 1, false);

	(void)state;
	run_budget_group(g, 10 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PREPAID, 1), 1);
	retell_node(g, 0, PREPAID, TOTAL / 2, 0);
	expect_totals_of_others(g, TOTAL / 2);
	retell_node(g, 0, PREPAID, TOTAL, 0);
	expect_totals_of_others(g, TOTAL);
	retell_node(g, 0, PREPAID, TOTAL / 3, 0);
	expect_totals_of_others(g, TOTAL / 3);
	assert_int_equal(budget_update(g->nodes[0].b, NULL, 0, g->now), 0);
	expect_totals_of_others(g, TOTAL);
	group_free(g);
}

/* What is heard once more is not answered, however often: only what is new may have to be. */
static void test_repeated(void **state)
{
	struct group *g = group_new(2, 1, false);
	uint8_t buf[ROOM];
	unsigned to, heard = 0;

	(void)state;
	g->tape = test_calloc(TAPE, sizeof(*g->tape));
	run_budget_group(g, 10 * TIMEOUT);
	for (unsigned i = 0; i < g->taped; i++) {
		struct message *message = &g->tape[i];

		if (message->to != 0)
			continue;
		heard++;
		assert_int_equal(budget_hear(g->nodes[0].b, message->from, g->now, message->at,
					 message->len),
			0);
		assert_int_equal(budget_send(g->nodes[0].b, g->now, buf, ROOM, &to), 0);
	}
	assert_true(heard > 10);
	test_free(g->tape);
	group_free(g);
}

/* Those that start with different totals learn it when they are asked, or speak. */
static void test_total_after_start(void **state)
{
	struct group *g = group_new(2, 1, false);

	(void)state;
	g->policies[PREPAID].total = 10 * TOTAL;
	restart_budget_node(g, 1, false);
	run_budget_group(g, 10 * TIMEOUT);
	budget_ask(g->nodes[1].b, PREPAID, 0);
	budget_tick(g->nodes[1].b, g->now);
	run_all_totals(g, PREPAID, TOTAL);
	assert_int_equal(take_budget_units(g, 1, PREPAID, UINT64_MAX), TOTAL);
	/* What a silent neighbour has said goes on to hold. */
	g->nodes[0].cut = true;
	run_budget_group(g, 10 * TIMEOUT);
	assert_int_equal(budget_total(g->nodes[1].b, PREPAID), TOTAL);
	assert_int_equal(take_budget_units(g, 1, PREPAID, 1), 0);
	group_free(g);
}

/* What is counted differs: neither believes the other, nothing moves, and then all does again. */
static void test_terms_apart(void **state)
{
	struct group *g = group_new(2, 1, false);
	uint64_t took, parts;

	(void)state;
	run_budget_group(g, 10 * TIMEOUT);
	retell_node(g, 1, PREPAID, TOTAL, 77);
	run_budget_group(g, 4 * TIMEOUT);
	parts = budget_counters(g->nodes[0].b)->parts_sent;
	run_budget_group(g, 20 * TIMEOUT); /* and they do not quarrel */
	assert_in_range(budget_counters(g->nodes[0].b)->parts_sent, parts, parts + 80);
	took = take_budget_units(g, 0, PREPAID, UINT64_MAX);
	assert_in_range(took, TOTAL / 2, TOTAL / 2 + 1);
	assert_int_equal(budget_node_view(g, 0, PREPAID).remaining, 0);
	assert_true(budget_counters(g->nodes[0].b)->differing > 0);
	assert_true(budget_counters(g->nodes[1].b)->differing > 0);
	assert_int_equal(budget_view(g->nodes[1].b, PREPAID, g->now).balance, TOTAL - took);
	retell_node(g, 1, PREPAID, TOTAL, 0);
	run_budget_group(g, 20 * TIMEOUT);
	assert_int_equal(take_budget_units(g, 0, PREPAID, UINT64_MAX), TOTAL - took);
	group_free(g);
}

/* One after the other misses the news of another total, and is asked. */
static void test_terms_missed(void **state)
{
	struct group *g = group_new(3, 1, true);
	uint64_t parts;

	(void)state;
	run_budget_group(g, 10 * TIMEOUT);
	for (unsigned round = 0; round < 20; round++) {
		uint64_t total = TOTAL * (1 + round % 3);

		g->nodes[round % 3].cut = true;
		for (unsigned i = 0; i < 3; i++)
			retell_node(g, i, PREPAID, total, 0);
		run_budget_group(g, 10 * MS);
		g->nodes[round % 3].cut = false;
		for (unsigned i = 0; i < 3; i++)
			budget_ask(g->nodes[i].b, PREPAID, round % 3); /* as digests have it */
		run_all_totals(g, PREPAID, total);
	}
	parts = budget_counters(g->nodes[0].b)->parts_sent;
	run_budget_group(g, 20 * TIMEOUT);
	assert_int_equal(budget_counters(g->nodes[0].b)->parts_sent, parts);
	group_free(g);
}

/* A policy that comes later is of the tree as it is: on every edge, before anybody has spoken. */
static void test_later_policy(void **state)
{
	struct group *g = group_new(5, 1, false);
	unsigned most = 0;

	(void)state;
	run_budget_group(g, 10 * TIMEOUT);
	g->n_policies = 2;
	for (unsigned i = 0; i < g->n; i++) {
		unsigned linked = count_linked_edges(g, i);
		uint64_t share, guess = TOTAL / g->n + 1;

		assert_int_equal(budget_update(g->nodes[i].b, g->policies, 2, g->now), 0);
		share = (uint64_t)budget_node_view(g, i, PERIODIC).balance;
		assert_in_range(share, TOTAL / g->n, TOTAL / g->n + 1);
		assert_int_equal(
			budget_node_view(g, i, PERIODIC).remaining, share + linked * guess);
		most = linked > most ? linked : most;
	}
	assert_true(most >= 2);
	assert_int_equal(take_budget_units(g, 0, PERIODIC, UINT64_MAX), TOTAL);
	group_free(g);
}

/* Whether a message has a part, the first, and that asks to be answered. */
static bool asks_for_answer(const struct message *message)
{
	enum { HEAD = 85, PART = 149, AT_PARTS = HEAD + 4 };

	assert_int_equal(message->len, HEAD + PART);
	return message->at[AT_PARTS] & QUOTA_CONFIRM;
}

/* The last message that was posted by one of two, since so many were. */
static const struct message *last_posted(const struct group *g, unsigned from, unsigned since)
{
	const struct message *last = NULL;

	for (unsigned k = since; k < g->taped; k++)
		if (g->tape[k].from == from && g->tape[k].len > 85)
			last = &g->tape[k];
	assert_non_null(last);
	return last;
}

/*
 * A neighbour of other terms is asked for its own now and then; and at once when there is a change
 * at either, however lately it was asked.
 */
static void test_asked_at_once(void **state)
{
	struct group *g = group_new(2, 1, false);
	unsigned since;

	(void)state;
	run_budget_group(g, 10 * TIMEOUT);
	g->tape = test_calloc(TAPE, sizeof(*g->tape));
	for (unsigned change = 1; change <= 3; change++) {
		g->policies[PREPAID].terms = change;
		since = g->taped;
		assert_int_equal(budget_update(g->nodes[0].b, g->policies, 1, g->now), 0);
		post_test_messages(g, 0);
		assert_true(asks_for_answer(last_posted(g, 0, since)));
		since = g->taped;
		step_budget_group(g);
		assert_true(asks_for_answer(last_posted(g, 1, since)));
		run_budget_group(g, 20 * MS);
	}
	/* Then each asks once in 800 ms, is answered, and says no more. */
	run_budget_group(g, SECOND);
	since = g->taped;
	run_budget_group(g, 8 * 800 * MS);
	for (unsigned i = 0; i < 2; i++) {
		unsigned asked = 0, parts = 0;

		for (unsigned k = since; k < g->taped; k++) {
			if (g->tape[k].from != i || g->tape[k].len == 85)
				continue;
			asked += asks_for_answer(&g->tape[k]);
			parts++;
		}
		assert_int_equal(asked, 8);
		/* With what it asks it may answer, too. */
		assert_in_range(parts, 8, 16);
	}
	test_free(g->tape);
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
		cmocka_unit_test(test_later_policy),
		cmocka_unit_test(test_asked_at_once),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_refund),
		cmocka_unit_test(test_drawn),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_terms_of_parts),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_on_its_way),
		cmocka_unit_test(test_chunk),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_peace),
		cmocka_unit_test(test_news),
		cmocka_unit_test(test_former_life),
		cmocka_unit_test(test_learnt_identity),
		cmocka_unit_test(test_undated),
		cmocka_unit_test(test_undated_recovering),
		cmocka_unit_test(test_turns_again_recovering),
		cmocka_unit_test(test_undated_drawn),
		cmocka_unit_test(test_undated_alone),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_least_total),
		cmocka_unit_test(test_retold_at_once),
		cmocka_unit_test(test_repeated),
		cmocka_unit_test(test_total_after_start),
		cmocka_unit_test(test_least_total_drawn),
		cmocka_unit_test(test_terms_apart),
		cmocka_unit_test(test_terms_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A history of many names at two limiters, whose ids have so few bits that they collide. The oracle
 * checks each name separately: its account, its record, and its units between the limiters.
 */
#include "check.h"

#include "base/hash.h"
#include "base/prng.h"
#include "budget/budget_private.h"

#define N      2
#define NAMES  24
#define ROOM   600
#define RECORD 1024
#define QUEUE  256
#define STEPS  600

struct message {
	unsigned from;
	size_t len;
	uint8_t at[ROOM];
};

struct node {
	struct budget *b;
	uint64_t epoch;
	bool has[NAMES]; /* in its configuration */
	size_t lens[NAMES];
	uint8_t records[NAMES][RECORD];
};

struct world {
	unsigned bits; /* bits of an id */
	struct prng prng;
	uint64_t now;
	uint32_t ids[N];
	char names[NAMES][16];
	struct node nodes[N];
	struct message queue[QUEUE];
	unsigned queued;
	unsigned refused, refused_starts;
};

static struct budget_policy policy_named(const struct world *w, unsigned name)
{
	uint64_t state = name, id = splitmix64_next(&state);

	return (struct budget_policy){.id = w->bits < 64 ? id >> (64 - w->bits) : id,
		.check = splitmix64_next(&state),
		.name = w->names[name],
		.total = 1001 + name,
		.chunk = 8};
}

static unsigned list_policies(
	const struct world *w, const struct node *node, struct budget_policy *policies)
{
	unsigned n = 0;

	for (unsigned k = 0; k < NAMES; k++)
		if (node->has[k])
			policies[n++] = policy_named(w, k);
	return n;
}

/* The account with exactly that name. */
static const struct book_account *account_of(
	const struct world *w, const struct node *node, unsigned name)
{
	const struct book *book = budget_book(node->b);

	for (unsigned i = 0; i < book->n; i++)
		if (strcmp(book->accounts[i]->name, w->names[name]) == 0)
			return book->accounts[i];
	return NULL;
}

/* Returns true if another name of the policies or accounts has the same id. */
static bool collides(const struct world *w, const struct node *node, unsigned name)
{
	uint64_t id = policy_named(w, name).id;

	for (unsigned k = 0; k < NAMES; k++)
		if (k != name && policy_named(w, k).id == id &&
			(node->has[k] || account_of(w, node, k)))
			return true;
	return false;
}

static bool clashes_in_file(const struct world *w, const struct node *node, unsigned name)
{
	for (unsigned k = 0; k < NAMES; k++)
		if (k != name && node->has[k] && policy_named(w, k).id == policy_named(w, name).id)
			return true;
	return false;
}

static bool clashes_with_record(const struct world *w, const struct node *node, unsigned name)
{
	for (unsigned k = 0; k < NAMES; k++)
		if (k != name && node->lens[k] && policy_named(w, k).id == policy_named(w, name).id)
			return true;
	return false;
}

static int create_node(struct world *w, unsigned i)
{
	struct node *node = &w->nodes[i];
	struct budget_policy policies[NAMES];
	struct book_record records[NAMES];
	struct budget_params params = {.ids = w->ids,
		.n = N,
		.self = i,
		.policies = policies,
		.n_policies = list_policies(w, node, policies),
		.records = records,
		.durable = true,
		.epoch = ++node->epoch,
		.identity = {0, 1},
		.repeat_ns = 20 * MS,
		.theta_ns = 4 * MS,
		.memory_ns = 1000 * MS,
		.timeout_ns = 100 * MS,
		.seed = i};

	for (unsigned k = 0; k < NAMES; k++)
		if (node->lens[k])
			records[params.n_records++] = (struct book_record){
				policy_named(w, k).id, node->records[k], node->lens[k]};
	return budget_create(&params, w->now, &node->b);
}

struct saving {
	struct world *w;
	struct node *node;
};

static int keep_record(void *context, uint64_t id, const void *record, size_t len)
{
	struct saving *s = context;
	char name[BOOK_NAME_MAX];
	uint64_t check;

	for (unsigned k = 0; k < NAMES; k++) {
		if (policy_named(s->w, k).id != id)
			continue;
		if (record) {
			assert_true(book_record_name(
				&(struct book_record){id, record, len}, &check, name));
			if (strcmp(name, s->w->names[k]) != 0)
				continue;
			assert_true(len <= RECORD);
			memcpy(s->node->records[k], record, len);
		}
		s->node->lens[k] = len; /* a removed record can be of any name with the id */
	}
	return 0;
}

static void step(struct world *w)
{
	unsigned n = w->queued;

	w->now += MS;
	w->queued = 0;
	for (unsigned k = 0; k < n; k++) {
		struct message message = w->queue[k];

		assert_int_equal(budget_receive(w->nodes[!message.from].b, message.from, w->now,
					 message.at, message.len),
			0);
	}
	for (unsigned i = 0; i < N; i++) {
		struct node *node = &w->nodes[i];
		struct saving saving = {w, node};
		struct message message = {.from = i};
		unsigned to;

		budget_tick(node->b, w->now);
		if (book_save(budget_book(node->b), keep_record, &saving) == 0)
			book_committed(budget_book(node->b));
		while ((message.len = budget_send(node->b, w->now, message.at, ROOM, &to)) > 0)
			if (w->queued < QUEUE && prng_below(&w->prng, 8) > 0)
				w->queue[w->queued++] = message;
	}
}

/* State of a limiter's edge for a name: zero without an account of exactly that name. */
static struct ledger_view edge_of(const struct world *w, unsigned i, unsigned name)
{
	const struct book_account *account = account_of(w, &w->nodes[i], name);

	if (!account)
		return (struct ledger_view){0};
	assert_true(account->id == policy_named(w, name).id);
	assert_true(account->check == policy_named(w, name).check);
	return quota_edge(((const struct unit_account *)account)->quota, 0);
}

/* A limiter receives only units that the other has granted under the same name. */
static void check_name(const struct world *w, unsigned name)
{
	for (unsigned i = 0; i < N; i++)
		if (edge_of(w, i, name).received > edge_of(w, !i, name).granted)
			fail_msg("%s: limiter %u has received units that nobody granted",
				w->names[name], i);
}

static void change_names(struct world *w, unsigned i)
{
	struct node *node = &w->nodes[i];
	unsigned name = prng_below(&w->prng, NAMES);
	struct budget_policy policies[NAMES];
	bool clash = !node->has[name] && collides(w, node, name);
	int ret;

	node->has[name] = !node->has[name];
	ret = budget_update(node->b, policies, list_policies(w, node, policies), w->now);
	if (clash) {
		assert_true(ret == -EEXIST || ret == -EINVAL);
		node->has[name] = false;
		w->refused++;
		return;
	}
	assert_int_equal(ret, 0);
}

static void spend_some(struct world *w, unsigned i)
{
	const struct book *book = budget_book(w->nodes[i].b);

	if (book->n_policies > 0)
		(void)budget_spend(w->nodes[i].b, prng_below(&w->prng, book->n_policies),
			1 + prng_below(&w->prng, 200), w->now);
}

static bool of_any(void *context, const struct book_account *account)
{
	return true;
}

/* Discards the messages and accounts of both limiters. */
static void forget_all(struct world *w)
{
	for (unsigned i = 0; i < N; i++) {
		struct node *node = &w->nodes[i];

		for (unsigned k = 0; k < NAMES; k++)
			node->has[k] = false;
		assert_int_equal(budget_update(node->b, NULL, 0, w->now), 0);
		(void)book_forget(budget_book(node->b), of_any, NULL);
		assert_int_equal(budget_book(node->b)->n, 0);
	}
	w->queued = 0;
	step(w);
	for (unsigned i = 0; i < N; i++)
		for (unsigned k = 0; k < NAMES; k++)
			assert_int_equal(w->nodes[i].lens[k], 0);
}

/* Rejects a configuration with a name whose id a record of another name has. */
static void restart(struct world *w, unsigned i)
{
	struct node *node = &w->nodes[i];
	unsigned name = prng_below(&w->prng, NAMES);
	bool clash = !node->has[name] && !account_of(w, node, name) && collides(w, node, name);

	budget_destroy(node->b);
	if (clash && !clashes_in_file(w, node, name) && clashes_with_record(w, node, name)) {
		node->has[name] = true;
		assert_int_equal(create_node(w, i), -EEXIST);
		node->has[name] = false;
		w->refused_starts++;
	}
	assert_int_equal(create_node(w, i), 0);
}

static uint64_t run_history(
	unsigned bits, uint64_t seed, unsigned *refused, unsigned *refused_starts)
{
	struct world *w = test_calloc(1, sizeof(*w));
	uint64_t collided = 0;

	w->bits = bits;
	w->now = 1000 * MS;
	w->ids[0] = 7;
	w->ids[1] = 9;
	prng_seed(&w->prng, seed);
	for (unsigned k = 0; k < NAMES; k++)
		snprintf(w->names[k], sizeof(w->names[k]), "sub-%u", k);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(create_node(w, i), 0);
	for (unsigned s = 0; s < STEPS; s++) {
		unsigned i = prng_below(&w->prng, N), what = prng_below(&w->prng, 100);

		if (what < 15)
			change_names(w, i);
		else if (what < 40)
			spend_some(w, i);
		else if (what < 43)
			restart(w, i);
		else if (what == 43)
			forget_all(w);
		step(w);
		for (unsigned k = 0; k < NAMES; k++)
			check_name(w, k);
	}
	for (unsigned i = 0; i < N; i++) {
		collided += budget_book(w->nodes[i].b)->links[0].collided;
		budget_destroy(w->nodes[i].b);
	}
	*refused += w->refused;
	*refused_starts += w->refused_starts;
	test_free(w);
	return collided;
}

/* Ids of few bits collide in a configuration, in a history and between limiters: never merged. */
TEST(test_narrow)
{
	unsigned refused = 0, starts = 0;
	uint64_t collided = 0;

	for (uint64_t seed = 1; seed <= 40; seed++)
		collided += run_history(2 + seed % 4, seed, &refused, &starts);
	assert_true(refused > 100 && starts > 10 && collided > 100);
}

TEST(test_wide)
{
	unsigned refused = 0, starts = 0;

	for (uint64_t seed = 1; seed <= 10; seed++)
		assert_int_equal(run_history(64, seed, &refused, &starts), 0);
	assert_int_equal(refused + starts, 0);
}

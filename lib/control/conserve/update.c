/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Other policies at run time.
 */
#include <errno.h>
#include <stdlib.h>

#include "conserve/private.h"

/* What is made aside, and takes effect when nothing can fail any more. */
struct update {
	struct account **accounts, **by_id;
	struct queue unsettled, news, *due; /* n_edges of these */
	const struct conserve_policy *policies;
	unsigned n_policies, n;
};

static bool is_ours(const struct conserve *c, const struct account *a)
{
	return account_find(c, a->policy.id) == a;
}

static void update_free(const struct conserve *c, struct update *u)
{
	for (unsigned i = 0; u->accounts && i < u->n; i++)
		if (!is_ours(c, u->accounts[i]))
			account_destroy(u->accounts[i]);
	free(u->accounts);
	free(u->by_id);
	queue_free(&u->unsettled);
	queue_free(&u->news);
	for (unsigned e = 0; u->due && e < c->n_edges; e++)
		queue_free(&u->due[e]);
	free(u->due);
}

static bool limit_fits(const struct conserve *c, const struct account *a, uint64_t limit)
{
	uint64_t share = conserve_share(&c->params.overlay, c->params.self, limit);

	return (__int128)ledger_balance(a->ledger) + share <= (int64_t)LEDGER_MOST;
}

static int add(
	struct conserve *c, struct update *u, const struct conserve_policy *policy, uint64_t now_ns)
{
	struct account *a = account_find(c, policy->id);
	int ret = 0;

	if (policy->limit > LEDGER_MOST)
		return -EINVAL;
	if (a && !limit_fits(c, a, policy->limit))
		return -EOVERFLOW;
	if (!a)
		ret = account_create(c, policy, NULL, c->params.blank, now_ns, &a);
	if (ret == 0)
		u->accounts[u->n++] = a;
	return ret;
}

/* Once all that are wanted are there, sorted. */
static bool is_wanted(const struct update *u, uint32_t id)
{
	return accounts_find(u->by_id, u->n_policies, id);
}

static int prepare_queues(const struct conserve *c, struct update *u)
{
	unsigned n = u->n_policies + c->n;
	int ret = queue_init(&u->unsettled, n);

	if (ret == 0)
		ret = queue_init(&u->news, n);
	u->due = calloc((size_t)c->n_edges + 1, sizeof(*u->due));
	for (unsigned e = 0; ret == 0 && u->due && e < c->n_edges; e++)
		ret = queue_init(&u->due[e], n);
	return u->due ? ret : -ENOMEM;
}

static int prepare(struct conserve *c, struct update *u, uint64_t now_ns)
{
	size_t room = (size_t)u->n_policies + c->n + 1;
	int ret = 0;

	u->accounts = calloc(room, sizeof(struct account *));
	u->by_id = calloc(room, sizeof(struct account *));
	if (!u->accounts || !u->by_id || prepare_queues(c, u))
		return -ENOMEM;
	for (unsigned i = 0; ret == 0 && i < u->n_policies; i++)
		ret = add(c, u, &u->policies[i], now_ns);
	for (unsigned i = 0; i < u->n; i++)
		u->by_id[i] = u->accounts[i];
	accounts_sort(u->by_id, u->n);
	for (unsigned i = 1; ret == 0 && i < u->n; i++)
		if (u->by_id[i]->policy.id == u->by_id[i - 1]->policy.id)
			ret = -EINVAL;
	return ret;
}

/* What is gone from the configuration, but not from the ledgers of others, stays. */
static void keep_gone(struct conserve *c, struct update *u)
{
	for (unsigned i = 0; i < c->n; i++) {
		struct account *a = c->accounts[i];

		if (is_wanted(u, a->policy.id))
			continue;
		if (account_untouched(c, a)) {
			a->forgotten = true;
			continue;
		}
		a->gone = true;
		u->accounts[u->n++] = a;
	}
}

static void move(struct queue *from, struct queue *to)
{
	while (from->n > 0) {
		struct account *a = queue_pop(from);

		if (!a->forgotten)
			queue_push(to, a);
	}
	queue_free(from);
	*from = *to;
}

/* Those that wait go on in their order: what is being saved is in front. */
static void requeue(struct conserve *c, struct update *u)
{
	move(&c->unsettled, &u->unsettled);
	move(&c->news, &u->news);
	for (unsigned e = 0; e < c->n_edges; e++)
		move(&c->links[e].due, &u->due[e]);
	free(u->due);
	for (unsigned i = 0; i < c->n; i++)
		if (c->accounts[i]->forgotten)
			account_destroy(c->accounts[i]);
}

int conserve_update(
	struct conserve *c, const struct conserve_policy *policies, unsigned n, uint64_t now_ns)
{
	struct update u = {.policies = policies, .n_policies = n};
	int ret = prepare(c, &u, now_ns);

	if (ret) {
		update_free(c, &u);
		return ret;
	}
	keep_gone(c, &u);
	requeue(c, &u);
	for (unsigned i = 0; i < n; i++)
		(void)account_set(c, u.accounts[i], &policies[i]); /* it fits; see add() */
	for (unsigned i = 0; i < u.n; i++)
		u.by_id[i] = u.accounts[i];
	accounts_sort(u.by_id, u.n);
	free(c->accounts);
	free(c->by_id);
	c->accounts = u.accounts;
	c->by_id = u.by_id;
	c->n = u.n;
	c->n_policies = n;
	accounts_begin(c);
	return 0;
}

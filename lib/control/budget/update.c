/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Other policies at run time.
 */
#include <errno.h>
#include <stdlib.h>

#include "budget/private.h"

/* What is made aside, and takes effect when nothing can fail any more. */
struct update {
	struct pot **pots, **by_id, **stirred;
	struct queue unsettled;
	const struct budget_policy *policies;
	unsigned n_policies, n;
};

static void update_free(const struct budget *b, struct update *u)
{
	for (unsigned i = 0; u->pots && i < u->n; i++)
		if (pot_find(b, u->pots[i]->policy.id) != u->pots[i])
			pot_destroy(u->pots[i]);
	free(u->pots);
	free(u->by_id);
	free(u->stirred);
	queue_free(&u->unsettled);
}

static int add(
	struct budget *b, struct update *u, const struct budget_policy *policy, uint64_t now_ns)
{
	struct pot *pot = pot_find(b, policy->id);
	int ret = 0;

	if (policy->total > LEDGER_MOST)
		return -EINVAL;
	if (pot && !pot_fits(b, pot, policy))
		return -EOVERFLOW;
	if (!pot)
		ret = pot_create(b, policy, NULL, b->params.blank, now_ns, &pot);
	if (ret == 0)
		u->pots[u->n++] = pot;
	return ret;
}

/* Once all that are wanted are there, sorted. */
static bool is_wanted(const struct update *u, uint32_t id)
{
	return pots_find(u->by_id, u->n_policies, id);
}

static void sort(struct update *u)
{
	for (unsigned i = 0; i < u->n; i++)
		u->by_id[i] = u->pots[i];
	pots_sort(u->by_id, u->n);
}

static int prepare(struct budget *b, struct update *u, uint64_t now_ns)
{
	size_t room = (size_t)u->n_policies + b->n + 1;
	int ret = 0;

	u->pots = calloc(room, sizeof(struct pot *));
	u->by_id = calloc(room, sizeof(struct pot *));
	u->stirred = calloc(room, sizeof(struct pot *));
	if (!u->pots || !u->by_id || !u->stirred || queue_init(&u->unsettled, u->n_policies + b->n))
		return -ENOMEM;
	for (unsigned i = 0; ret == 0 && i < u->n_policies; i++)
		ret = add(b, u, &u->policies[i], now_ns);
	sort(u);
	for (unsigned i = 1; ret == 0 && i < u->n; i++)
		if (u->by_id[i]->policy.id == u->by_id[i - 1]->policy.id)
			ret = -EINVAL;
	return ret;
}

/* What is gone from the configuration, but not from the ledgers of others, stays. */
static void keep_gone(struct budget *b, struct update *u)
{
	for (unsigned i = 0; i < b->n; i++) {
		struct pot *pot = b->pots[i];

		if (is_wanted(u, pot->policy.id))
			continue;
		if (pot_untouched(b, pot)) {
			pot->forgotten = true;
			continue;
		}
		pot->gone = true;
		quota_forgo(pot->quota);
		u->pots[u->n++] = pot;
	}
}

/* Those that wait go on in their order: what is being saved is in front. */
static void requeue(struct budget *b, struct update *u)
{
	while (b->unsettled.n > 0) {
		struct pot *pot = queue_pop(&b->unsettled);

		if (!pot->forgotten)
			queue_push(&u->unsettled, pot);
	}
	queue_free(&b->unsettled);
	b->unsettled = u->unsettled;
	for (unsigned i = 0; i < b->n; i++)
		if (b->pots[i]->forgotten)
			pot_destroy(b->pots[i]);
}

int budget_update(
	struct budget *b, const struct budget_policy *policies, unsigned n, uint64_t now_ns)
{
	struct update u = {.policies = policies, .n_policies = n};
	int ret = prepare(b, &u, now_ns);

	if (ret) {
		update_free(b, &u);
		return ret;
	}
	keep_gone(b, &u);
	requeue(b, &u);
	sort(&u);
	free(b->pots);
	free(b->by_id);
	free(b->stirred);
	b->pots = u.pots;
	b->by_id = u.by_id;
	b->stirred = u.stirred;
	b->n = u.n;
	b->n_policies = n;
	b->n_stirred = 0;
	for (unsigned i = 0; i < b->n; i++) {
		b->pots[i]->stirred = false;
		pot_speaks(b, b->pots[i]);
	}
	for (unsigned i = 0; i < n; i++)
		pot_set(b, b->pots[i], &policies[i], now_ns);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Another roster at run time.
 */
#include "limiter/limiter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/math.h"
#include "limiter/aggregate.h"

/* Returns the new index of each previous limiter, or roster->n if it is gone. NULL: no memory. */
static unsigned *new_indices(const struct roster *before, const struct roster *roster)
{
	unsigned *to = calloc(before->n, sizeof(*to));

	for (unsigned i = 0; to && i < before->n; i++)
		to[i] = roster_find(roster, before->ids[i]);
	return to;
}

/*
 * A removed limiter can be one over which a tree has sent its sums. Until its neighbours have found
 * other ways these can be too small, and no share grows.
 */
static uint64_t hold_ns(const struct limiter *l, const struct roster *before, const unsigned *to)
{
	bool removed = false;

	for (unsigned i = 0; i < before->n; i++)
		removed |= to[i] == l->n;
	return removed && l->told.estimator == GOSSIP_TREE ? gossip_timeout(l->gossip) : 0;
}

/* The next tick ends the present interval of every policy. */
static void decide_soon(struct limiter *l, uint64_t hold_until_ns)
{
	for (unsigned i = 0; i < l->n_policies; i++) {
		struct aggregate *a = &l->aggregates[i];

		limiter_wake(l, i);
		a->next_ns = min_u64(a->next_ns, l->next_ns);
		a->hold_until_ns = max_u64(a->hold_until_ns, hold_until_ns);
	}
}

static void limiter_regroup_commit(struct limiter *l, const struct roster *roster, unsigned self,
	const unsigned *to, uint64_t now_ns)
{
	const struct roster *before = l->roster;

	l->n = roster->n;
	l->roster = l->told.roster = roster;
	l->self = l->told.self = self;
	l->silent = gossip_silent(l->gossip);
	l->watches = false;
	terms_set(l, now_ns);
	decide_soon(l, now_ns + hold_ns(l, before, to));
}

int limiter_regroup(struct limiter *l, const struct roster *roster, unsigned self,
	struct keyring *keyring, uint64_t now_ns)
{
	struct loan_edge *edges = NULL;
	uint64_t *epochs = NULL;
	unsigned *to;
	int ret;

	if (l->conserve || l->budget)
		return -ENOTSUP;
	to = new_indices(l->roster, roster);
	if (l->loan)
		edges = loan_regroup_begin(roster->n);
	if (l->exchange)
		epochs = calloc(roster->n, sizeof(*epochs));
	ret = -ENOMEM;
	if (to && (edges || !l->loan) && (epochs || !l->exchange))
		ret = gossip_regroup(l->gossip, roster, self, keyring, now_ns);
	if (ret == 0) {
		limiter_members_regroup(l, roster->n, self, to, epochs);
		agree_regroup(l->agree, roster->n, self, to);
		if (l->loan)
			loan_regroup_commit(l->loan, roster->n, self, to, edges);
		limiter_regroup_commit(l, roster, self, to, now_ns);
	} else {
		free(edges);
		free(epochs);
	}
	free(to);
	return ret;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The set of members, exchanged with the peers.
 */
#include "limiter/aggregate.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/math.h"
#include "limiter/limiter.h"

int limiter_members_create(struct limiter *l, struct members *members)
{
	const struct exchange_params params = {.n = l->n, .self = l->self, .members = members};

	if (!members)
		return 0;
	l->member_epochs = calloc(l->n, sizeof(*l->member_epochs));
	return l->member_epochs ? exchange_create(&params, &l->exchange) : -ENOMEM;
}

void limiter_members_destroy(struct limiter *l)
{
	exchange_destroy(l->exchange);
	free(l->member_epochs);
}

/* Sends to the active peers. One that has restarted might have another set. */
static void watch_members(struct limiter *l)
{
	for (unsigned i = 0; i < l->n; i++) {
		const struct peer *peer = i == l->self ? NULL : gossip_peer(l->gossip, i);
		uint64_t epoch = peer && peer->known ? peer->epoch : l->member_epochs[i];

		if (epoch != l->member_epochs[i])
			exchange_restarted(l->exchange, i);
		l->member_epochs[i] = epoch;
		exchange_watch(l->exchange, i, peer && peer->alive);
	}
}

void limiter_members_tick(struct limiter *l)
{
	if (!l->exchange)
		return;
	if (l->members_watched != gossip_changes(l->gossip)) {
		l->members_watched = gossip_changes(l->gossip);
		watch_members(l);
	}
	exchange_tick(l->exchange);
}

void limiter_members_receive(struct limiter *l, const struct gossip_message *message)
{
	if (l->exchange && message->len > 0 && message->at[0] == EXCHANGE_MESSAGE)
		(void)exchange_receive(l->exchange, message->from, message->at, message->len);
}

size_t limiter_members_send(struct limiter *l, uint8_t *at, size_t room, unsigned *peer)
{
	return l->exchange ? exchange_send(l->exchange, l->now_ns, at, room, peer) : 0;
}

static void limiter_members_regroup(
	struct limiter *l, unsigned n, unsigned self, const unsigned *to, uint64_t *epochs)
{
	if (!l->exchange)
		return;
	for (unsigned i = 0; i < l->n; i++)
		if (to[i] < n)
			epochs[to[i]] = l->member_epochs[i];
	free(l->member_epochs);
	l->member_epochs = epochs;
	l->members_watched = UINT64_MAX;
	exchange_regroup(l->exchange, n, self, to);
}

void limiter_leave(struct limiter *l, bool left)
{
	l->returns = l->left && !left;
	l->left |= left;
	for (unsigned i = 0; left && i < l->n_policies; i++)
		bitmap_set(l->changed, i);
}

bool limiter_members_return(struct limiter *l)
{
	if (!l->returns)
		return false;
	l->left = l->returns = false;
	for (unsigned i = 0; i < l->n_policies; i++)
		bitmap_set(l->changed, i);
	return true;
}

struct exchange *limiter_exchange(const struct limiter *l)
{
	return l->exchange;
}

/* --- roster ----------------------------------------------------------------------------------- */

/* Another roster at run time. */

static void limiter_regroup_commit(struct limiter *l, const struct roster *roster, unsigned self,
	const unsigned *to, uint64_t now_ns)
{
	const struct roster *before = l->roster;
	uint64_t hold_until_ns = now_ns;
	bool removed = false;

	l->n = roster->n;
	l->roster = l->gossip_params.roster = roster;
	l->self = l->gossip_params.self = self;
	l->silent = gossip_silent(l->gossip);
	l->watches = false;
	terms_set(l, now_ns);
	/*
	 * A removed limiter can be one over which a tree has sent its sums. Until its neighbours
	 * have found other ways these can be too small, and no share grows.
	 */
	for (unsigned i = 0; i < before->n; i++)
		removed |= to[i] == l->n;
	if (removed && l->gossip_params.estimator == GOSSIP_TREE)
		hold_until_ns += gossip_timeout(l->gossip);
	/* The next tick ends the present interval of every policy. */
	for (unsigned i = 0; i < l->n_policies; i++) {
		struct aggregate *a = &l->aggregates[i];

		limiter_wake(l, i);
		a->next_ns = min_u64(a->next_ns, l->next_ns);
		a->hold_until_ns = max_u64(a->hold_until_ns, hold_until_ns);
	}
}

int limiter_regroup(struct limiter *l, const struct roster *roster,
	const struct book_member *members, unsigned self, struct keyring *keyring, uint64_t now_ns)
{
	struct loan_edge *edges = NULL;
	struct rates_regrouping rates;
	uint64_t *epochs = NULL;
	unsigned *to;
	int ret;

	if (l->budget)
		return -ENOTSUP;
	ret = limiter_rates_regroup_begin(l, roster, members, self, now_ns, &rates);
	if (ret)
		return ret;
	/* The new index of each previous limiter, or roster->n if it is gone. */
	to = calloc(l->roster->n, sizeof(*to));
	for (unsigned i = 0; to && i < l->roster->n; i++)
		to[i] = roster_find(roster, l->roster->ids[i]);
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
		limiter_rates_regroup_commit(l, roster, self, now_ns, &rates);
		limiter_regroup_commit(l, roster, self, to, now_ns);
	} else {
		free(edges);
		free(epochs);
		limiter_rates_regroup_cancel(&rates);
	}
	free(to);
	return ret;
}

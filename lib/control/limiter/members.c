/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The set of members, exchanged with the peers.
 */
#include "limiter/aggregate.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"

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

void limiter_members_regroup(
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

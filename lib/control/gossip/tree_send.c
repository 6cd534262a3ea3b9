/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * When a limiter sends to its neighbours in the tree. Each edge saves time in a token bucket of
 * BURST datagrams, one for each SPACING_NS. Large news takes one immediately. Small news waits
 * until there are two, so that large news rarely finds the bucket empty. One turn is several
 * datagrams if there is much news. Without news a heartbeat shows that we are alive.
 */
#include "gossip/tree_private.h"

#include "base/time.h"

#define SPACING_NS (50 * MS_NS)
#define BURST      3

/* Datagrams of a turn, and of one that must carry all sums. */
#define TURN_DATAGRAMS 8
#define FULL_DATAGRAMS 32

/* Heartbeats in a timeout, so that a few can be lost; and the longest time between two. */
#define HEARTBEATS       5
#define HEARTBEAT_NS_MAX (200 * MS_NS)

/* So many times as often are heartbeats to a suspect: a neighbour that might be lost. */
#define SUSPECT_BEATS 10

/* Quarters of heartbeats until a neighbour is a suspect, by its silence or by a missing echo. */
#define SILENT_QUARTERS      6
#define UNCONFIRMED_QUARTERS 10

uint64_t tree_heartbeat_ns(const struct gossip *g)
{
	uint64_t heartbeat = g->timeout_ns / HEARTBEATS;

	return heartbeat < HEARTBEAT_NS_MAX ? heartbeat : HEARTBEAT_NS_MAX;
}

uint64_t tree_wait_ns(const struct gossip *g)
{
	return SPACING_NS + g->tick_ns;
}

bool tree_suspects(const struct gossip *g, const struct neighbour *e)
{
	const struct tree *t = g->own;
	uint64_t quarter = tree_heartbeat_ns(g) / 4;

	return e->peer.alive &&
	       (t->now_ns - e->peer.advanced_ns > SILENT_QUARTERS * quarter ||
		       t->now_ns - e->peer.confirmed_ns > UNCONFIRMED_QUARTERS * quarter);
}

void tree_pace(struct gossip *g, struct neighbour *e)
{
	const struct tree *t = g->own;
	unsigned needed = e->answer ? 1 : 0;
	uint64_t beat = tree_heartbeat_ns(g);

	e->due = false;
	e->more = 0;
	e->credit_ns += t->now_ns - e->paced_ns;
	e->paced_ns = t->now_ns;
	if (e->credit_ns > BURST * SPACING_NS)
		e->credit_ns = BURST * SPACING_NS;
	if (e->outbox && outbox_waits(e->outbox, NEWS_LARGE))
		needed = 1;
	else if (e->outbox && needed == 0 && outbox_waits(e->outbox, NEWS_SMALL))
		needed = 2;
	/* While there is no answer to UP, this limiter might have no parent at all. */
	if (tree_suspects(g, e) || e->link == DATAGRAM_APART)
		beat /= SUSPECT_BEATS;
	if (!(e->outbox && t->now_ns - e->sent_ns >= beat) &&
		!(needed && e->credit_ns >= needed * SPACING_NS))
		return;
	e->answer = false;
	e->sent_ns = t->now_ns;
	e->credit_ns -= e->credit_ns < SPACING_NS ? e->credit_ns : SPACING_NS;
	e->due = true;
	if (!e->outbox)
		return;
	e->more = (e->outbox->complete ? TURN_DATAGRAMS : FULL_DATAGRAMS) - 1;
	outbox_begin(e->outbox);
}

bool tree_turn(struct neighbour *e)
{
	bool due = e->due;

	e->due = false;
	if (due)
		return true;
	if (e->more == 0 || !e->outbox || !outbox_has_left(e->outbox))
		return false;
	e->more--;
	return true;
}

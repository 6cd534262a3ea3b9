/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The neighbours of one limiter in the tree: a table of bounded size, for any size of the group.
 * It has only limiters that have sent an authentic datagram. One thread.
 */
#ifndef WEIR_GOSSIP_TREE_TABLE_H
#define WEIR_GOSSIP_TREE_TABLE_H

#include "gossip/datagram.h"
#include "gossip/tree_outbox.h"
#include "group/membership.h"

/* Room for a parent and B children, and for so many more that look for a parent, or are ours. */
#define TREE_EXTRA 64

struct neighbour {
	struct peer peer;
	unsigned position;
	uint64_t spoke_ns;       /* when its last authentic datagram arrived */
	uint64_t sent_ns;        /* when we last sent to it */
	uint64_t paced_ns;       /* when credit_ns was last counted */
	uint64_t credit_ns;      /* time saved for datagrams with news, see tree_send.c */
	uint64_t held_until_ns;  /* the link is lost, but its sums still count; 0: they are live */
	enum datagram_link link; /* its view of this edge, in its last datagram */
	bool holds;              /* `heard` has sums of lost links, which the neighbour holds */
	bool counted;            /* its sums were part of ours at the last tick */
	bool watched;            /* was linked, and has not ended the link */
	bool answer;             /* gets a datagram as soon as possible */
	bool due;                /* gets a datagram in this tick */
	unsigned more;           /* further ones that it can get in this tick */
	struct datagram_received received; /* its datagrams with the sums in `heard` */
	struct part *heard;                /* n_policies: received sums; NULL: none are valid */
	struct outbox *said;               /* sent sums; NULL: we have no link on the edge */
};

struct tree_table {
	struct neighbour **at; /* n of room for max */
	unsigned n, max;
};

/* Returns 0 or -ENOMEM; table_destroy() in either case. */
int table_create(struct tree_table *table, unsigned max);
void table_destroy(struct tree_table *table);

struct neighbour *table_find(const struct tree_table *table, unsigned position);

/*
 * Adds a neighbour. A full table drops one without a link that has been silent since before
 * stale_ns. Otherwise it drops the highest position, if that is above the new one: limiters further
 * down have more candidates for a parent. Returns NULL if there is no room.
 */
struct neighbour *table_add(
	struct tree_table *table, unsigned position, uint32_t id, uint64_t stale_ns);

/* Drops entry k; the last entry takes its place. */
void table_drop(struct tree_table *table, unsigned k);

/* Void the sums received from a neighbour, or those sent to it. */
void neighbour_forget(struct neighbour *neighbour);
void neighbour_unlink(struct neighbour *neighbour);

#endif

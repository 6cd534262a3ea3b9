/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The neighbours of one limiter in the tree: a table of bounded size, for any size of the group.
 * It has only limiters that have sent an authentic datagram. One thread.
 */
#ifndef WEIR_GOSSIP_TREE_TABLE_H
#define WEIR_GOSSIP_TREE_TABLE_H

#include "gossip/datagram.h"
#include "group/membership.h"

/* Room for a parent and B children, and for so many more that look for a parent, or are ours. */
#define TREE_EXTRA 64

/* Values of one policy on one edge: the sum over one side of it. */
struct part {
	float demand, weight;
	uint32_t count; /* limiters in it */
	uint8_t fresh;  /* in sums to send: datagrams that are still to carry it */
};

struct neighbour {
	struct peer peer;
	unsigned position;
	uint64_t spoke_ns;       /* when its last authentic datagram arrived */
	uint32_t sent_tick;      /* ours, when we last sent to it */
	enum datagram_link link; /* its view of this edge, in its last datagram */
	bool watched;            /* was linked, and has not ended the link */
	bool answer;             /* gets a datagram at the next tick */
	bool due;                /* gets a datagram in this tick */
	unsigned at;             /* policy with which the next datagram begins */
	struct part *heard;      /* n_policies: received sums; NULL: none are valid */
	struct part *said;       /* n_policies: sent sums; NULL: we have no link on the edge */
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

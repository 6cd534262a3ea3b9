/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The neighbours of one limiter in the tree: a table of bounded size, whatever the group's. Only
 * those that have sent an authentic datagram are in it. One thread.
 */
#ifndef WEIR_GOSSIP_TREE_TABLE_H
#define WEIR_GOSSIP_TREE_TABLE_H

#include "gossip/datagram.h"
#include "group/membership.h"

/* Room for a parent and B children, and for so many more that look for a parent, or are ours. */
#define TREE_EXTRA 64

/* What is said over one edge of one policy: the sum over one side of it. */
struct part {
	float demand, weight;
	uint32_t count; /* limiters in it */
	uint8_t fresh;  /* of what we say: datagrams that are still to carry it */
};

struct neighbour {
	struct peer peer;
	unsigned position;
	uint64_t spoke_ns;       /* when an authentic datagram of it came last */
	uint32_t sent_tick;      /* ours, when we last spoke to it */
	enum datagram_link link; /* of this edge, as it last said */
	bool watched;            /* was linked, and has not taken its leave */
	bool answer;             /* is to hear from us at the next tick */
	bool due;                /* is to hear from us in this tick */
	unsigned at;             /* policy with which the next datagram begins */
	struct part *heard;      /* n_policies, or NULL: nothing that holds */
	struct part *said;       /* n_policies, or NULL: the edge is no link to us */
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
 * Adds one. In a full table it displaces one without a link that has been silent since before
 * stale_ns, or else the highest position, if that is above its own: those further down have more
 * candidates to turn to. NULL when there is no room.
 */
struct neighbour *table_add(
	struct tree_table *table, unsigned position, uint32_t id, uint64_t stale_ns);

/* Drops the k-th; the last takes its place. */
void table_drop(struct tree_table *table, unsigned k);

/* What is heard, or said, is void from now on. */
void neighbour_forget(struct neighbour *neighbour);
void neighbour_unlink(struct neighbour *neighbour);

#endif

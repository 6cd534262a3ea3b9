/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The neighbours of one limiter in the tree: their outboxes, a table of bounded size for any size
 * of the group, and the shape of the tree. The table has only limiters that have sent an authentic
 * datagram. One thread.
 */
#ifndef WEIR_GOSSIP_TREE_TABLE_H
#define WEIR_GOSSIP_TREE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "gossip/datagram.h"
#include "group/membership.h"

/* --- outbox ----------------------------------------------------------------------------------- */

/*
 * The sums that a limiter sends over one edge of the tree, with marks for news. Large
 * news goes first, so that it never waits for small news, and is sent twice. The neighbour reports
 * which datagrams it has received, so news in a lost one becomes due again. Unchanged sums follow
 * in turn, a few at a time. One thread.
 */

struct remap;

/* Unchanged sums that a turn carries. */
#define OUTBOX_REFRESH 8

/* Values of one policy on one edge: the sum over one side of it. */
struct part {
	float demand, weight;
	uint32_t count;    /* limiters in it */
	uint32_t sequence; /* in an outbox: the last datagram that carried it */
};

/* Kinds of due sums, in the order in which they are sent. */
enum news_kind { NEWS_LARGE, NEWS_AGAIN, NEWS_SMALL, NEWS_KINDS };

struct outbox {
	unsigned n;        /* policies */
	bool complete;     /* a turn has carried all sums once */
	bool has_reported; /* the neighbour has sent a report, of this generation */
	uint8_t generation;
	uint32_t sequence, turn_from; /* the last datagram, and the first one of this turn */
	unsigned refresh, refresh_at;
	struct {
		uint64_t *due; /* bits: policies to send */
		unsigned n_due, at;
		unsigned left; /* to send in this turn */
		bool waits;    /* some of them no turn has carried */
	} news[NEWS_KINDS];
	uint64_t *in_flight;       /* bits: sent, not yet confirmed or lost */
	uint64_t *in_flight_large; /* bits: as large news */
	uint64_t *once;            /* bits: large news that one turn has carried */
	struct part *sums;         /* n, as last sent */
};

/*
 * Returns an outbox in which no sum has been sent, or NULL; free() frees it. Its sequence must be
 * newer than that of all datagrams sent over this edge before.
 */
struct outbox *outbox_create(unsigned n, uint32_t sequence);

/* Returns a copy for other policies, or NULL. */
struct outbox *outbox_remap(const struct outbox *from, const struct remap *map);

/* Marks a sum as news, NEWS_LARGE or NEWS_SMALL. */
void outbox_mark(struct outbox *outbox, unsigned policy, enum news_kind kind);

/* Returns true if there is news of this kind that has not been sent yet. */
bool outbox_waits(const struct outbox *outbox, enum news_kind kind);

/* Begins a turn: one copy of each news, and some unchanged sums. */
void outbox_begin(struct outbox *outbox);

/* Returns true if this turn still has news to send. */
bool outbox_has_left(const struct outbox *outbox);

/* Returns the next policy to send in this datagram, or n. The caller sets its values. */
unsigned outbox_next(struct outbox *outbox);

/* Takes the neighbour's report: news in datagrams that it has not received is due again. */
void outbox_report(struct outbox *outbox, const struct datagram_received *received);

/* Room for a parent and B children, and for so many more that look for a parent, or are ours. */
#define TREE_EXTRA 64

struct neighbour {
	struct peer peer;
	unsigned position;
	uint64_t received_ns;    /* when its last authentic datagram arrived */
	uint64_t sent_ns;        /* when we last sent to it */
	uint64_t paced_ns;       /* when credit_ns was last counted */
	uint64_t credit_ns;      /* time saved for datagrams with news, see tree_send.c */
	uint64_t held_until_ns;  /* the link is lost, but its sums still count; 0: they are live */
	enum datagram_link link; /* its view of this edge, in its last datagram */
	bool holds;    /* `received_sums` has sums of lost links, which the neighbour holds */
	bool counted;  /* its sums were part of ours at the last tick */
	bool watched;  /* was linked, and has not ended the link */
	bool answer;   /* gets a datagram as soon as possible */
	bool due;      /* gets a datagram in this tick */
	unsigned more; /* further ones that it can get in this tick */
	struct datagram_received received; /* its datagrams with the sums in `received_sums` */
	struct part *received_sums;        /* n_policies: received sums; NULL: none are valid */
	struct outbox *outbox;             /* sent sums; NULL: we have no link on the edge */
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

/* --- shape ------------------------------------------------------------------------------------ */

/*
 * The shape of the tree. Limiters are in the order of their ids; the children of position k are
 * k × B + 1 to k × B + B. A parent always has a lower position than its child, so no loop can ever
 * form. Pure; any thread.
 */

/*
 * In addition to its ancestors the first limiters are candidates for each limiter's parent, so that
 * a group falls apart only if all of them are lost together.
 */
#define TREE_HUBS 16

/* Ancestors (at most 31 above a 32-bit position, B being 2 or more) and hubs. */
#define TREE_CANDIDATES (31 + TREE_HUBS)

/* Returns the number of edges between the root and the deepest of n positions. */
unsigned tree_depth(unsigned n, unsigned b);

/*
 * Writes the positions that can be the parent of this one, best first: its ancestors, nearest
 * first, then 1 to TREE_HUBS. Writes at most TREE_CANDIDATES and returns how many.
 */
unsigned tree_candidates(unsigned position, unsigned b, unsigned *candidates);

#endif

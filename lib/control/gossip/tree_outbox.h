/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The sums that a limiter sends over one edge of the tree, with marks for news. Large
 * news goes first, so that it never waits for small news, and is sent twice. The neighbour reports
 * which datagrams it has received, so news in a lost one becomes due again. Unchanged sums follow
 * in turn, a few at a time. One thread.
 */
#ifndef WEIR_GOSSIP_TREE_OUTBOX_H
#define WEIR_GOSSIP_TREE_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "gossip/datagram.h"

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
	unsigned n;    /* policies */
	bool complete; /* a turn has carried all sums once */
	bool reported; /* the neighbour has sent a report, of this generation */
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

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Types and functions that the files of lib/control/budget share, except timekeeper.c, which uses
 * none of them. One account and the neighbours' terms are in account.c, the tree in tree.c and the
 * messages in message.c. The last file, budget.c, uses them all. Each calls only the files that are
 * named before it, and the book.
 */
#ifndef WEIR_BUDGET_PRIVATE_H
#define WEIR_BUDGET_PRIVATE_H

#include "base/prng.h"
#include "budget/budget.h"

/* Terms by which a limiter spends, from its own messages. */
struct unit_terms {
	uint64_t terms; /* 0: the policy is gone there */
	uint64_t total;
	uint32_t unit, n; /* n: limiters in its roster */
};

/* One policy and one neighbour. */
struct unit_edge {
	struct unit_terms reported; /* from its newest message about the policy: */
	uint64_t reported_epoch, reported_stamp;
	bool apart;   /* its terms differ: its statements are rejected, nothing moves */
	bool differs; /* apart, or the total differs */
	bool asked;   /* its terms are requested */
};

/* One policy. */
struct unit_account {
	struct book_account book; /* comes first */
	struct budget_policy policy;
	struct quota_node *quota;
	uint64_t next_ns;  /* time of its next tick */
	uint64_t news_ns;  /* earliest time of the next report of the units left here */
	bool marked;       /* the record marks its memory as lost */
	bool unknown;      /* memory lost, and the drawn units not set yet: no messages in or out */
	uint64_t doubt_ns; /* until then it might begin a period from before the loss; or 0 */
	bool ready;        /* there might be parts to send */
	TAILQ_ENTRY(unit_account) next_ready;
	uint64_t total;  /* in force */
	uint64_t ask_ns; /* earliest time of the next request for terms */
	struct unit_edge edges[];
};

/* A route to a root: a neighbour's, or ours; see tree.c. */
struct route {
	unsigned root;  /* position */
	uint64_t epoch; /* the root's start, and */
	uint32_t seq;   /* a number that it raises */
	uint16_t rank;  /* number of edges to the root */
};

/* The part of a message about the tree. */
struct tree_header {
	struct route route;
	uint8_t flags;         /* bits of enum tree_flag */
	uint64_t epoch, stamp; /* the sender's: messages are ordered by these */
	uint64_t echo_epoch;   /* the addressee's newest message, */
	uint64_t echo_stamp;   /* its stamp, and */
	uint64_t echo_ns;      /* time since its receipt */
	struct time_word time;
};

enum tree_flag {
	TREE_PARENT = 1, /* you are my parent */
	TREE_JOIN = 2,   /* I would be your child */
	TREE_CHILD = 4,  /* you may be, or are, mine */
	TREE_FULL = 8,   /* I have no room for any more */
	TREE_FLAGS = 15,
};

/* One neighbour, in addition to its book_link. */
struct tree_link {
	struct tree_header received; /* from its newest message */
	uint64_t stamp;              /* our newest message */
	uint64_t echoed;             /* newest stamp of ours that it has echoed */
	uint64_t round_trip_ns;
	bool child; /* we keep a place for it as a child, whether it uses the place or not */
	bool linked;
	bool due;           /* a message is due immediately */
	unsigned nearer;    /* successive looks at which it was nearer than the parent; bounded */
	uint64_t failed_ns; /* earliest time of another attempt, after a failed one */
	unsigned failed;
};

struct budget {
	struct book book;            /* comes first */
	struct budget_params params; /* without the borrowed arrays */
	struct tree_link *links;     /* n_edges */

	uint64_t epoch; /* in our messages */
	struct route
		*feasible; /* by the root's position: the least with the newest number we sent */
	struct route route;
	unsigned parent, candidate; /* edges, or n_edges */
	uint64_t candidate_until_ns;
	uint64_t wave_ns;    /* when a root raises its number */
	uint64_t fresh_ns;   /* last time that this number was new */
	uint64_t improve_ns; /* earliest time to look for a nearer parent */
	uint64_t heartbeat_ns;
	struct prng prng;
	struct timekeeper keeper;
	struct time_word *words; /* n_edges: input of the timekeeper */

	TAILQ_HEAD(, unit_account) ready; /* accounts that might have parts to send */
	uint64_t next_ns;                 /* when budget_tick() has something to do */
	unsigned sending;                 /* edge that budget_send() is at */
	struct budget_counters counters;
};

static inline struct unit_account *unit_at(const struct budget *b, unsigned i)
{
	return (struct unit_account *)b->book.accounts[i];
}

/* account.c */

/* Return this limiter's part, in units, of the total in force; and of another total. */
uint64_t unit_share(const struct budget *b, const struct unit_account *account);

struct unit_terms unit_own_terms(const struct budget *b, const struct unit_account *account);

/*
 * Stores a neighbour's terms. Returns false if the message is no newer than that of the present
 * ones.
 */
bool unit_receive_terms(
	struct unit_edge *edge, const struct unit_terms *terms, const struct tree_header *header);

extern const struct book_ops unit_ops;

/* Apply changed terms: of a neighbour; or of this limiter, which sends them to all neighbours. */
void unit_reconsider_terms(struct budget *b, struct unit_account *account, uint64_t now_ns);
void unit_resend_terms(struct budget *b, struct unit_account *account, uint64_t now_ns);

/* Set another policy, whose total fits; all drawn units; and another period. */
void unit_set(struct budget *b, struct unit_account *account, const struct budget_policy *policy,
	uint64_t now_ns);
int unit_set_drawn(struct budget *b, struct unit_account *account, uint64_t share, uint64_t now_ns);
int unit_period(struct budget *b, struct unit_account *account, uint64_t period, uint64_t now_ns);

/*
 * Marks the account as one that might have parts to send, and its tick as due. unit_tick() also
 * ticks it.
 */
void unit_wake(struct budget *b, struct unit_account *account);

/* Drops the record of the account, which recovers. */
void unit_lose(struct budget *b, struct unit_account *account, uint64_t now_ns);
void unit_tick(struct budget *b, struct unit_account *account, uint64_t now_ns);

/*
 * Follows a change of the tree: links an edge, without a report of the units behind it, or unlinks
 * it.
 */
void unit_link(const struct budget *b, struct unit_account *account, unsigned edge, bool linked);

/* tree.c */
void tree_begin(struct budget *b, uint64_t now_ns);
uint64_t tree_tick(struct budget *b, uint64_t now_ns);
void tree_hurry(struct budget *b); /* messages to all neighbours are due */

/*
 * tree_is_due() returns true if a message about the tree is due on an edge. tree_send() returns
 * that message.
 */
bool tree_is_due(const struct budget *b, unsigned edge, uint64_t now_ns);
struct tree_header tree_send(struct budget *b, unsigned edge, uint64_t now_ns);
void tree_receive(
	struct budget *b, unsigned edge, const struct tree_header *header, uint64_t now_ns);

#endif

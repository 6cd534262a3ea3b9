/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the files of lib/control/budget share, but for timekeeper.c, which knows none of them.
 * terms.c has what neighbours were told; account.c one account; tree.c the tree; message.c talks;
 * and budget.c has them all. Each calls only those that are named before it, and the book.
 */
#ifndef WEIR_BUDGET_PRIVATE_H
#define WEIR_BUDGET_PRIVATE_H

#include "base/prng.h"
#include "budget/budget.h"

/* By what somebody spends, as it says itself. */
struct unit_terms {
	uint64_t terms; /* 0: the policy is gone there */
	uint64_t total;
	uint32_t unit, n; /* n: limiters in its roster */
};

/* One policy and one neighbour. */
struct unit_edge {
	struct unit_terms said; /* as of its newest message about it: */
	uint64_t said_epoch, said_stamp;
	bool apart;   /* by its terms nothing is believed, and nothing moves */
	bool differs; /* likewise, or in the total */
	bool asked;   /* it is to say them */
};

/* One policy. */
struct unit_account {
	struct book_account book; /* comes first */
	struct budget_policy policy;
	struct quota_node *quota;
	uint64_t next_ns; /* when it is to be ticked */
	uint64_t news_ns; /* neighbours are not to be told what is left here before */
	bool marked;      /* the record says that its memory is lost */
	bool unknown; /* so it is, and what was drawn for it is not known: it is silent and deaf */
	uint64_t doubt_ns; /* until then it may begin a period that it was in before that; or 0 */
	bool ready;        /* it may have something to say */
	TAILQ_ENTRY(unit_account) next_ready;
	uint64_t total;  /* in force */
	uint64_t ask_ns; /* neighbours are not to be asked for their terms before */
	struct unit_edge edges[];
};

/* The way to a root, as a neighbour says it, or as ours; see tree.c. */
struct route {
	unsigned root;  /* position */
	uint64_t epoch; /* of the root's start, and */
	uint32_t seq;   /* a number that it raises */
	uint16_t rank;  /* edges to it */
};

/* What a message says about the tree. */
struct tree_header {
	struct route route;
	uint8_t flags;         /* of enum tree_flag */
	uint64_t epoch, stamp; /* of the sender: messages are ordered by these */
	uint64_t echo_epoch;   /* newest message of the other, */
	uint64_t echo_stamp;   /* and when it was sent; */
	uint64_t echo_ns;      /* it was heard so long ago */
	struct time_word time;
};

enum tree_flag {
	TREE_PARENT = 1, /* you are my parent */
	TREE_JOIN = 2,   /* I would be your child */
	TREE_CHILD = 4,  /* you may be, or are, mine */
	TREE_FULL = 8,   /* I have no room for any more */
	TREE_FLAGS = 15,
};

/* One neighbour, beside what the book knows of it. */
struct tree_link {
	struct tree_header said;
	uint64_t stamp;  /* of our newest message */
	uint64_t echoed; /* newest stamp of ours that it has echoed */
	uint64_t round_trip_ns;
	bool child; /* there is a place for it among ours, whether it has taken it or not */
	bool linked;
	bool due;           /* it is to be told at once */
	uint64_t failed_ns; /* not to be tried before, as that was in vain */
	unsigned failed;
};

struct budget {
	struct book book;            /* comes first */
	struct budget_params params; /* without what was borrowed */
	struct tree_link *links;     /* n_edges */

	uint64_t epoch; /* of our messages */
	struct route
		*feasible; /* by the root's position: the least of the newest that we have said */
	struct route route;
	unsigned parent, candidate; /* edges, or n_edges */
	uint64_t candidate_until_ns;
	uint64_t wave_ns;    /* when a root raises its number */
	uint64_t fresh_ns;   /* when that number was last news */
	uint64_t improve_ns; /* not to look for a nearer parent before */
	uint64_t heartbeat_ns;
	struct prng prng;
	struct timekeeper keeper;
	struct time_word *words; /* n_edges: what it is told */

	TAILQ_HEAD(, unit_account) ready; /* those that may have something to say */
	uint64_t next_ns;                 /* when budget_tick() has something to do */
	unsigned sending;                 /* edge that budget_send() is at */
	struct budget_counters counters;
};

static inline struct unit_account *unit_at(const struct budget *b, unsigned i)
{
	return (struct unit_account *)b->book.accounts[i];
}

/* terms.c */

/* This limiter's part of a total; of a policy that may have another one. */
uint64_t unit_share(const struct budget *b, const struct unit_account *account);
uint64_t unit_share_of(const struct budget *b, const struct budget_policy *policy, uint64_t total);

struct unit_terms unit_own_terms(const struct budget *b, const struct unit_account *account);

/* Goes by the least total that anybody has said; whether that is another one now. */
bool unit_go_by_least(const struct budget *b, struct unit_account *account);

/* Before neighbours have spoken they say what we do. */
void unit_assume_terms(const struct budget *b, struct unit_account *account);

/* False for a message that is older than the one whose terms are known. */
bool unit_hear_terms(
	struct unit_edge *edge, const struct unit_terms *terms, const struct tree_header *header);

/* account.c */
extern const struct book_ops unit_ops;

/* Neighbours say other terms than before; or this limiter does, and they are told. */
void unit_reconsider_terms(struct budget *b, struct unit_account *account, uint64_t now_ns);
void unit_retell_terms(struct budget *b, struct unit_account *account, uint64_t now_ns);

/* Another total, which fits; all that was drawn; and another period. */
void unit_set(struct budget *b, struct unit_account *account, const struct budget_policy *policy,
	uint64_t now_ns);
int unit_set_drawn(struct budget *b, struct unit_account *account, uint64_t share, uint64_t now_ns);
int unit_period(struct budget *b, struct unit_account *account, uint64_t period, uint64_t now_ns);

/* It may have something to say, and is to be ticked at once; or is ticked, too. */
void unit_wake(struct budget *b, struct unit_account *account);

/* Drops the record of the account, which recovers. */
void unit_lose(struct budget *b, struct unit_account *account, uint64_t now_ns);
void unit_tick(struct budget *b, struct unit_account *account, uint64_t now_ns);

/* The tree has taken an edge, of which nothing is known, in or out. */
void unit_link(const struct budget *b, struct unit_account *account, unsigned edge, bool linked);

/* tree.c */
void tree_begin(struct budget *b, uint64_t now_ns);
uint64_t tree_tick(struct budget *b, uint64_t now_ns);
void tree_hurry(struct budget *b); /* all neighbours are told at once */

/* Whether an edge is to hear of the tree now; and what, once it does. */
bool tree_speaks(const struct budget *b, unsigned edge, uint64_t now_ns);
struct tree_header tree_say(struct budget *b, unsigned edge, uint64_t now_ns);
void tree_hear(struct budget *b, unsigned edge, const struct tree_header *header, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the files of lib/control/conserve share. account.c has one account; move.c says what is
 * given to whom; message.c talks; and conserve.c has them all. Each calls only those that are named
 * before it, and the book.
 */
#ifndef WEIR_CONSERVE_PRIVATE_H
#define WEIR_CONSERVE_PRIVATE_H

#include "conserve/conserve.h"

/* Less than one in so many of an equal part is kept by everybody, for a first packet. */
#define FLOOR_PART 100

/* What is smaller than this part of an equal part is not moved: each move is a write to a disk. */
#define GRAIN_PART 256

/* A statement is renewed so many times a lease. */
#define RENEWALS 4

/* By what a statement was made; all zero: nothing is known of it, or its policy is gone. */
struct rate_terms {
	uint64_t terms;        /* of the ledger and the policy */
	uint32_t unit;         /* what follows counts; */
	uint64_t limit, burst; /* over all limiters; a burst of 0: none */
	uint32_t n;            /* of these, by its roster */
};

/* One policy over one edge. */
struct rate_edge {
	struct gdrl_neighbour neighbour; /* heard.q is what is missing there, with a target */
	double asked;                    /* by a neighbour in need, less what it was given since */
	struct rate_terms said;          /* by it, as of its newest statement: */
	uint64_t said_epoch, said_stamp;
	bool spoke;         /* it has said it to this start of ours */
	bool apart;         /* by its terms statements are not believed */
	bool differs;       /* so, or in the limit or the burst: debts alone move */
	uint8_t asked_hops; /* between it and who is in need */
	bool in_debt;       /* that neighbour */
	uint64_t sent_ns;
	double sent_q;
	uint64_t told, promised; /* granted and promised, as of the last commit */
	bool due;                /* to be told, and in the queue for that */
	TAILQ_ENTRY(rate_account) next_due;
};

/* One policy. */
struct rate_account {
	struct book_account book; /* comes first */
	struct conserve_policy policy;
	struct ledger *ledger;
	struct gdrl_measure measure; /* with a target, that is the demand */
	uint64_t limit, burst;       /* that it goes by: the least that is said */
	uint64_t floor, grain;
	uint64_t headroom; /* kept from being promised, for what is about to be given */
	bool restored;     /* from a record */
	bool news;         /* among those of which there was news */
	TAILQ_ENTRY(rate_account) next_news;
	struct rate_edge edges[];
};

TAILQ_HEAD(rate_queue, rate_account);

/* One neighbour, beside what the book knows of it. */
struct rate_link {
	struct rate_queue due; /* accounts to be told of */
	unsigned cursor;       /* account that the next look at all begins with */
	unsigned messages;     /* since the last tick */
	bool in_use;
};

struct conserve {
	struct book book;              /* comes first */
	struct conserve_params params; /* without what was borrowed, but for the overlay's ids */
	unsigned degree;               /* edges in use */
	bool mesh;
	struct rate_link *links; /* n_edges */
	uint64_t *dead;
	uint64_t *amounts; /* n_edges */
	struct gdrl_neighbour *neighbours;
	unsigned sending;       /* edge that conserve_send() is at */
	struct rate_queue news; /* accounts of which something has been heard */
	bool looks;             /* at all, since the last tick: time has made some due */
	bool promises;          /* as leases last */
	unsigned per_message;   /* statements; 0 before the first message */
	struct conserve_counters counters;
};

static inline struct rate_account *rate_at(const struct conserve *c, unsigned i)
{
	return (struct rate_account *)c->book.accounts[i];
}

extern const struct book_ops rate_ops;

/* Another limit or mover; -EOVERFLOW. */
int rate_set(
	const struct conserve *c, struct rate_account *a, const struct conserve_policy *policy);

/* By what it states. */
struct rate_terms rate_own_terms(const struct conserve *c, const struct rate_account *a);

/* Compares anew what is said, and goes by the least of it; true if that is another one. */
bool rate_go_by_least(const struct conserve *c, struct rate_account *a);

/* A neighbour, or all of them, are to hear of it at once. */
void rate_due(struct conserve *c, struct rate_account *a, unsigned edge);
void rate_due_to_all(struct conserve *c, struct rate_account *a);

/* Whether so many policies are told often enough for a lease to go on. */
bool conserve_leases_last(const struct conserve *c);

/* One step of one policy: debts, what was inherited, and what others are to have more of. */
void rate_move(struct conserve *c, struct rate_account *a, uint64_t now_ns);

/* What is stated of it beside the ledger's statement. */
struct gdrl_statement rate_state(const struct conserve *c, const struct rate_account *a);

/* As many as a message has room for. */
#define RATE_HOPS 31

struct rate_ask {
	uint64_t amount; /* 0: nothing */
	unsigned hops;   /* between who asks and who is in need: 0, that is the same one */
};

/*
 * What a neighbour is asked for: by one in debt or below half of his floor, or, where not all are
 * neighbours, by one whom another one asks and who has nothing. He asks for less than he is asked,
 * and nobody for what that one asks himself, and for nothing that has come further than anybody is
 * away, so that it ends, also where it went in a circle. A debt is paid of everything, others of
 * what is above the floor.
 */
struct rate_ask rate_asks(const struct conserve *c, const struct rate_account *a, unsigned edge);

static inline uint64_t rate_held(const struct rate_account *a)
{
	int64_t balance = ledger_balance(a->ledger);

	return balance > 0 ? (uint64_t)balance : 0;
}

#endif

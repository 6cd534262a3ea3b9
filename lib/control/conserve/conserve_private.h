/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to lib/control/conserve. account.c has one account; digest.c repeats statements; move.c
 * decides about grants and promises; message.c has the messages; and conserve.c has them all. Each
 * calls only those that are named before it, and the book.
 */
#ifndef WEIR_CONSERVE_PRIVATE_H
#define WEIR_CONSERVE_PRIVATE_H

#include "conserve/conserve.h"

/* A limiter keeps its equal part of a limit divided by this, rounded down, for a first packet. */
#define FLOOR_PART 100

/* Amounts below this part of an equal part are not moved: each move is a write to a disk. */
#define GRAIN_PART 256

/* Renewals of a statement in one lease. */
#define RENEWALS 4

/* A flag of an entry: it requests an answer from the neighbour. */
#define CONSERVE_ANSWER 1

/* The finest division of the accounts for digests. */
#define DIGEST_BITS    10
#define DIGEST_BUCKETS (1U << DIGEST_BITS)

/* Terms of a statement; all zero: not received, or its policy is gone. */
struct rate_terms {
	uint64_t terms;        /* hash over the ledger's and the policy's */
	uint32_t unit;         /* hash of the unit of limit and burst */
	uint64_t limit, burst; /* over all limiters; a burst of 0: none */
	uint32_t n;            /* limiters in its roster */
};

/* One policy over one edge. */
struct rate_edge {
	struct gdrl_neighbour neighbour; /* with a target, its q is the amount missing there */
	double asked;                    /* requested by a neighbour in need, less grants since */
	struct rate_terms reported;      /* terms of its newest statement: */
	uint64_t reported_epoch, reported_stamp;
	bool has_reported;  /* they were sent to this start of ours */
	bool apart;         /* its terms differ: statements are rejected */
	bool differs;       /* so, or in the limit or the burst: only debts move */
	uint8_t asked_hops; /* between it and the limiter in need */
	bool in_debt;       /* the neighbour is in debt */
	uint64_t sent_ns;
	double sent_q;
	bool hinted;                /* sent_q has changed since a digest had the account */
	bool sent_asks;             /* the last entry requested an amount */
	uint64_t granted, promised; /* at the last commit */
	/* Hashes of the last entries, and of the one that was sent without its hints. */
	uint64_t sent_hash, received_hash, settled_hash;
	bool due;   /* there is news to send, and it is in the queue for that */
	bool stale; /* to be sent again, and in the other queue */
	TAILQ_ENTRY(rate_account) next_due;
};

/* One policy. */
struct rate_account {
	struct book_account book; /* comes first */
	struct conserve_policy policy;
	struct ledger *ledger;
	struct gdrl_measure measure; /* with a target, that is the demand */
	uint64_t limit, burst;       /* in use: the least of its own and the received */
	uint64_t floor, grain;
	uint64_t headroom; /* not promised, for amounts about to be given */
	bool restored;     /* from a record */
	bool waits;        /* see struct conserve_view */
	bool lost;         /* the record was dropped; an empty one must replace it */
	bool marked;       /* an empty record is durable or being saved */
	bool news;         /* in the queue of accounts with news */
	bool moving;       /* in the queue of accounts that a tick looks at */
	unsigned bucket;   /* for digests */
	TAILQ_ENTRY(rate_account) next_news, next_moving, next_in_bucket;
	struct rate_edge edges[];
};

TAILQ_HEAD(rate_queue, rate_account);

/* One neighbour, in addition to its struct book_link. */
struct rate_link {
	struct rate_queue due;   /* accounts to send first */
	struct rate_queue stale; /* accounts to send with the room that is left */
	unsigned messages;       /* since the last tick */
	uint64_t received_ns;    /* time of the newest message */
	bool in_use;
	bool digest;                                             /* this tick's is to be sent */
	uint64_t sent[DIGEST_BUCKETS], received[DIGEST_BUCKETS]; /* sums of hashes */
	uint64_t missed[DIGEST_BUCKETS / 64];                    /* buckets to request */
};

/* The buckets that a tick repeats. */
struct digest_round {
	unsigned bits; /* binary logarithm of the number of buckets */
	unsigned first, n;
	unsigned swept; /* rounds, for the buckets that the tick moves */
	uint64_t owed;
};

struct conserve {
	struct book book;              /* comes first */
	struct conserve_params params; /* borrowed pointers are NULL, except the overlay's ids */
	unsigned degree;               /* edges in use */
	bool mesh;
	struct rate_link *links; /* n_edges */
	uint64_t *dead;
	uint64_t *amounts; /* n_edges */
	struct gdrl_neighbour *neighbours;
	bool complete;            /* see conserve_set_complete() */
	unsigned sending;         /* edge that conserve_send() is at */
	struct rate_queue news;   /* accounts that may enforce another limit than before */
	struct rate_queue moving; /* accounts that the next tick looks at: the others are settled */
	struct rate_queue buckets[DIGEST_BUCKETS];
	struct digest_round round;
	bool promises;        /* see conserve_leases_last() */
	unsigned per_message; /* statements; 0 before the first message */
	struct conserve_counters counters;
};

static inline struct rate_account *rate_at(const struct conserve *c, unsigned i)
{
	return (struct rate_account *)c->book.accounts[i];
}

extern const struct book_ops rate_ops;

/* Returns our share of a limit: 0 for a joiner. */
uint64_t rate_share(const struct conserve *c, uint64_t limit);

/* Sets another limit or mover. Returns 0, -EINVAL or -EOVERFLOW. */
int rate_set(struct conserve *c, struct rate_account *a, const struct conserve_policy *policy);

/* The terms in its statements, also as bytes. */
#define RATE_TERMS_BYTES 32

struct rate_terms rate_own_terms(const struct conserve *c, const struct rate_account *a);
void rate_write_terms(const struct rate_terms *terms, uint8_t *at);

/* Compares the terms again, and uses the least of all. Returns true if that has changed. */
bool rate_go_by_least(const struct conserve *c, struct rate_account *a);

/*
 * Makes an account due to a neighbour, or to all: sent first. rate_stale() sends it after all news.
 */
void rate_due(struct conserve *c, struct rate_account *a, unsigned edge);
void rate_due_to_all(struct conserve *c, struct rate_account *a);
void rate_stale(struct conserve *c, struct rate_account *a, unsigned edge);

/* Lets the next tick look at an account. */
void rate_stir(struct conserve *c, struct rate_account *a);

/* Its limit may have changed, see conserve_next_news(). */
void rate_has_news(struct conserve *c, struct rate_account *a);

/* True if there is something that the neighbour should have confirmed. */
bool rate_is_unconfirmed(const struct rate_account *a, unsigned edge);

/*
 * Digests. An entry that was sent or received, by its digest_entry(); the buckets of the next tick;
 * and the buckets that a digest of 2^bits of them means.
 */
uint64_t digest_entry(const uint8_t *entry);
void digest_sent(struct conserve *c, struct rate_account *a, unsigned edge, uint64_t entry);
void digest_received(struct conserve *c, struct rate_account *a, unsigned edge, uint64_t entry);
void digest_tick(struct conserve *c);

struct digest_range {
	unsigned first, end;
};

struct digest_range digest_range(unsigned bucket, unsigned bits);
uint64_t digest_sum(const uint64_t *sums, struct digest_range range);

/*
 * Writes the tick's digest for a neighbour; accounts that it cannot have are stale. Returns its
 * length, or 0. digest_request() writes a request for the buckets in link->missed, or nothing, and
 * digest_requested() fulfils it: 0 or -EBADMSG.
 */
#define DIGEST_AT_BITS  BOOK_HEAD
#define DIGEST_AT_STAMP (DIGEST_AT_BITS + 1)
#define DIGEST_AT_ECHO  (DIGEST_AT_STAMP + 8)
#define DIGEST_AT_SUMS  (DIGEST_AT_ECHO + 8)
#define DIGEST_SUM      10

size_t digest_write(struct conserve *c, unsigned edge, uint64_t now_ns, uint8_t *buf, size_t room);
size_t digest_request(struct conserve *c, unsigned edge, uint8_t *buf, size_t room);
int digest_requested(struct conserve *c, unsigned edge, const uint8_t *buf, size_t len);

/*
 * Finds the neighbours to which time makes a statement of a moving account due. Returns false if
 * time alone will make none due later.
 */
bool rate_look(struct conserve *c, struct rate_account *a, uint64_t now_ns);

/* Returns true if so many policies are sent often enough for a lease to go on. */
bool conserve_leases_last(const struct conserve *c);

/*
 * Makes one step of one policy: debts, inherited amounts, and amounts that others should have.
 * Returns false if another step would do nothing until a message, a commit or a request.
 */
bool rate_move(struct conserve *c, struct rate_account *a, uint64_t now_ns);

/* Ends the waiting if the time has come. Returns true if the account still waits. */
bool rate_waits(struct conserve *c, struct rate_account *a, uint64_t now_ns);

/* Begins a link without accounts that are due. */
void rate_begin_link(struct conserve *c, unsigned edge, uint64_t now_ns);

/* Notes that the recovery of an account has ended. */
void rate_recovered(struct conserve *c, struct rate_account *a);

/* Drops the record of the account, which recovers. */
void rate_lose(struct conserve *c, struct rate_account *a);

/* Returns the hints that an entry has in addition to the ledger's statement. */
struct gdrl_statement rate_state(const struct conserve *c, const struct rate_account *a);

/* The most hops that a message has room for. */
#define RATE_HOPS 31

struct rate_ask {
	uint64_t amount; /* 0: nothing */
	unsigned hops;   /* between requester and limiter in need; 0: the same */
};

/*
 * Returns the amount to request from a neighbour. A limiter requests if it is in debt or below half
 * of its floor. If not all are neighbours, it also does for another neighbour's request, if it has
 * nothing above its floor itself. It then requests less than that neighbour, never from that
 * neighbour, and never for a request with more hops than any limiter is away. So relaying ends,
 * also in a circle. A debt is paid from everything, other requests from the amount above the floor.
 */
struct rate_ask rate_asks(const struct conserve *c, const struct rate_account *a, unsigned edge);

static inline uint64_t rate_held(const struct rate_account *a)
{
	int64_t balance = ledger_balance(a->ledger);

	return balance > 0 ? (uint64_t)balance : 0;
}

#endif

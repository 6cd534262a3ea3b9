/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Budgets of units that the limiters of a roster spend together and never exceed: for each policy a
 * node of the quota tree (quota/quota.h), for all of them one tree, which the limiters form and
 * repair by themselves, and messages between its neighbours.
 *
 * Who was told something else. A part of a message says by what terms it was made: the total, and
 * a hash of all else. What was made by other terms is not believed, and nothing moves over that
 * edge. Where only the total is another one, all go by the least that any neighbour has said, also
 * while it is silent, until it says another. Who starts takes all to say what it does until they
 * speak, or are asked: see budget_ask().
 *
 * The tree. Every limiter measures the round trip to those that it may be a neighbour of (its edges
 * of an overlay, over which alone units are ever moved: all of a small roster, a random graph with
 * spare edges in a large one) by messages that are echoed, and prefers the nearest, within a bound
 * on the degree. Who is its parent it says in its messages; an edge is linked while both ends say
 * so. Whatever shape that takes for a while, units are safe: they are the ledger's.
 *
 * A pure state machine: time, messages and records come in as arguments. One thread. Units are what
 * the policy counts.
 */
#ifndef WEIR_BUDGET_BUDGET_H
#define WEIR_BUDGET_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "book/book.h"
#include "budget/timekeeper.h"
#include "quota/quota.h"

#define BUDGET_DEGREE 4 /* of a limiter in the tree, at most, unless params say otherwise */

/* First byte of a message, as CONSERVE_MESSAGE is. */
#define BUDGET_MESSAGE 15 /* 2 had no identity, 4 no time and terms, 8 no lives, 10 no check */

#define BUDGET_MESSAGE_MIN 512 /* least room for a message */

/* Bytes before the parts of a message and of a part, and where a part has its statement. */
#define BUDGET_HEAD         (BOOK_HEAD + 68)
#define BUDGET_PART         185
#define BUDGET_AT_STATEMENT 73

struct budget_policy {
	uint64_t id; /* distinct; these three as struct book_name */
	uint64_t check;
	const char *name;
	uint64_t total;         /* units a period, over all limiters; at most LEDGER_MOST */
	uint64_t period;        /* the number of the period that it is now, or */
	bool undated;           /* that is not known yet: see budget_clock() */
	uint64_t chunk;         /* see struct quota_params */
	uint64_t period_length; /* see struct limiter_policy; the record has it */
	bool drawn;             /* begins with no share: budget_set_share() says what was drawn */
	uint64_t terms;         /* hash of all else that neighbours must have been told alike */
	uint32_t unit;          /* hash of what the total counts */
};

struct budget_params {
	const uint32_t *ids; /* the roster, in any order; all limiters have the same */
	unsigned n;
	unsigned self;   /* our index in it */
	unsigned degree; /* 0: BUDGET_DEGREE */
	const struct budget_policy *policies;
	unsigned n_policies;
	struct book_record *records; /* see struct book_params */
	unsigned n_records;
	bool recovering; /* there may have been an earlier start: without a record, hold nothing */
	bool durable;    /* the caller saves */
	uint64_t epoch;  /* of this start: larger than that of any earlier one; below 2^42 */
	struct book_identity identity; /* see struct book_params */
	uint32_t word;                 /* see struct book_params */
	uint64_t proof_ns;             /* see struct book_params */
	uint64_t repeat_ns;  /* what a neighbour has not confirmed is told again so often */
	uint64_t theta_ns;   /* a reallocation's time, until one has been seen */
	uint64_t memory_ns;  /* half-life of what is known of the rate */
	uint64_t timeout_ns; /* who is not heard for so long is out of the tree */
	uint64_t seed;
};

struct budget_counters {
	uint64_t messages_sent, messages_heard, parts_sent, parts_heard;
	uint64_t unknown;   /* messages about policies that we do not have, or other periods */
	uint64_t differing; /* parts made by other terms: not believed */
	uint64_t malformed; /* messages */
	uint64_t relinked;  /* edges that came into the tree or left it */
};

/* The tree as an operator may see it. */
struct budget_peer {
	unsigned peer;       /* index in the roster */
	bool linked, parent; /* of ours in the tree; and the one towards its root */
	bool alive;
	uint64_t round_trip_ns; /* smoothed; 0: not measured yet */
};

struct budget;

/* 0; -EINVAL (also a record that is damaged, or of other edges), what overlay_create() says, or
 * -ENOMEM. */
int budget_create(const struct budget_params *params, uint64_t now_ns, struct budget **out);
void budget_destroy(struct budget *b);

/*
 * Other policies from now on, n of them; those of an id that was there go on, of another total too
 * (a top-up, or less). A policy that is gone is kept and spends nothing; others may have what it
 * holds. 0; -EINVAL, -EOVERFLOW or -ENOMEM, and nothing has changed.
 */
int budget_update(
	struct budget *b, const struct budget_policy *policies, unsigned n, uint64_t now_ns);

/*
 * See quota_spend() and quota_prefetch(): 0, -EAGAIN or -EDQUOT; quota_refund(): of units of this
 * period, at a stop or before the policy goes, with book_save() to follow; and quota_forgo().
 * budget_tick() is to be called after each.
 */
int budget_spend(struct budget *b, unsigned policy, uint64_t units, uint64_t now_ns);
int budget_prefetch(struct budget *b, unsigned policy, uint64_t units, uint64_t now_ns);
void budget_refund(struct budget *b, unsigned policy, uint64_t units);
void budget_forgo(struct budget *b, unsigned policy);

/* See quota_period(): its share is this limiter's of the total, or 0 if that is drawn. */
int budget_period(struct budget *b, unsigned policy, uint64_t period, uint64_t now_ns);

/*
 * What the clocks say now, to be called often; and what time that makes it, by which the caller
 * turns the periods: see timekeeper.h. True when there is another reason for that. Before its first
 * call nobody is told a time. budget_remembers(): records are of no earlier time.
 */
bool budget_clock(struct budget *b, uint64_t wall_ns, bool synchronised, uint64_t now_ns);
void budget_remembers(struct budget *b, uint64_t wall_ns);
const struct timekeeper *budget_timekeeper(const struct budget *b);

/*
 * A limiter was told something else of this policy, as far as somebody else knows: it is asked for
 * its terms. Nothing where it is no neighbour.
 */
void budget_ask(struct budget *b, unsigned policy, unsigned peer);

/* Drops the records of all accounts, and their prefetched units: see quota_lose(). */
void budget_lose(struct budget *b, enum book_closure closure, uint64_t now_ns);

/* The total that is in force: the least of those that neighbours go by, too. */
uint64_t budget_total(const struct budget *b, unsigned policy);

/*
 * For a policy whose total is kept elsewhere: all that has been drawn for this limiter in this
 * period; said twice it is the same. One that starts recovering holds nothing before it is said for
 * the first time, and what is said then counts as spent. 0; -EINVAL (not drawn), -EOVERFLOW or
 * -ENOMEM.
 */
int budget_set_share(struct budget *b, unsigned policy, uint64_t share, uint64_t now_ns);

/* Timeouts, round trips, the tree. Returns when to call again, at the latest. */
uint64_t budget_tick(struct budget *b, uint64_t now_ns);

/*
 * The next message (at most `room` bytes, BUDGET_MESSAGE_MIN or more) and its addressee's index in
 * the roster; its length, or 0: none for now. To be called until then after every other call.
 */
size_t budget_send(struct budget *b, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer);

/*
 * A message from a peer, authentic, but perhaps repeated or old: 0; -ENOENT (no neighbour),
 * -EBADMSG or -ESTALE (see book_read_head()), and nothing is believed.
 */
int budget_hear(struct budget *b, unsigned from, uint64_t now_ns, const uint8_t *buf, size_t len);

/*
 * The accounts, for a round of commits of all that need it: see book_save() and its kin. Without
 * `durable` there is never anything to save. An account whose memory is lost has a record, too,
 * which says so: with it the next start has lost it, whatever its params say.
 */
/* Period of an account of its book. Number 0: not certain; length 0: a prepaid amount. */
struct budget_period {
	uint64_t number, length;
};

struct budget_period budget_account_period(const struct book_account *account);

struct book *budget_book(struct budget *b);

/* For operators. */
struct quota_view budget_view(const struct budget *b, unsigned policy, uint64_t now_ns);
uint64_t budget_in_flight(const struct budget *b, unsigned policy);
unsigned budget_peers(const struct budget *b);
struct budget_peer budget_peer(const struct budget *b, unsigned i);
bool budget_is_root(const struct budget *b);
unsigned budget_root(const struct budget *b); /* index in the roster, as far as is known */
const struct budget_counters *budget_counters(const struct budget *b);

#endif

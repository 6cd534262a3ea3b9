/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Local limits whose sum never exceeds the limit. Of each policy a limiter keeps a ledger
 * (ledger/ledger.h), of which it enforces what is usable; capacity moves over an overlay
 * (overlay/overlay.h), and only what one has given up and committed arrives elsewhere. Where it
 * should go somebody else says:
 *
 *   - an indicator of GDRL (allocate/gdrl.h), which is made equal everywhere; or
 *   - a target, such as FPS's answer: capacity flows from who has more than his to who has less.
 *     Where all are neighbours each giver covers its proportional part of all that is missing, so
 *     that several of them do not give twice and one step is enough; else it is a step of GDRL with
 *     target less balance as its indicator.
 *
 * Both are hints: a wrong or old one moves capacity to the wrong place, and creates none. In any
 * case who is in debt is paid first, what was inherited is given back as soon as the other is heard
 * again, and a policy that is gone (see conserve_update()) gives what others ask for.
 *
 * What a promise is worth. A limiter that dies takes its balance with it; what it had promised its
 * best friend is inherited (ledger_inherit()), so that it can be used where its traffic goes
 * instead. The price: who promises depends on his friend. When the friend dies the promise may not
 * be used once the lease has ended, nor be given to others, until the friend returns: as much as
 * would have been rescued the other way round. So the part of the balance that is promised is a
 * choice. A lease goes on while statements come; of more policies than can be told within half a
 * lease nothing is promised, as most of it could be used by nobody.
 *
 * The rate and the burst, at every instant. The sum of what is usable is within the limit, also
 * while capacity moves: it is out of use at the giver before it is told. A token bucket at each
 * limiter, of the burst's part usable / limit, rounded down, holds together no more than the burst,
 * if three things are true: a bucket that begins (also again) begins empty; a raised rate adds room
 * to it and no tokens; a lowered one takes at once what is above the smaller bucket, and is in
 * force before book_committed(). Then between any two times the buckets had at most the burst at
 * the first, and earned at most limit × time: no more is admitted. Where a limit is lowered what
 * had been given away is missed at first: the sum is above the new limit, never above the old one,
 * until those debts are paid. And while limiters know different limits, raised or lowered, each
 * divides the burst by its own: all together then have at most burst × sum in use / smallest limit.
 * A burst may also be a policy of its own here, whose limit is bytes and no rate: then its bucket
 * is what is usable of that, under the same three conditions, and the two go where each is needed.
 *
 * Who was told something else. A statement says by what terms it was made: those of the ledger
 * (lease, drift), what the limit is of (`terms`), and the limit, the burst and the number of
 * limiters. What was made by other terms is not believed, and nothing moves over that edge: to its
 * ledgers it is a partition, in which nothing is exceeded if at each end the same lease held for
 * what was believed. Where only the limit or the burst is another one, statements are believed, and
 * all go by the least that any neighbour has said, also while it is silent or before it has spoken
 * to this start, until it says another: so the sum is within the lowest limit once that is known
 * and debts are paid. Nothing moves but those debts.
 *
 * A pure state machine: time, messages and records come in as arguments. One thread. Rates in bytes
 * per second.
 */
#ifndef WEIR_CONSERVE_CONSERVE_H
#define WEIR_CONSERVE_CONSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocate/gdrl.h"
#include "book/book.h"
#include "ledger/ledger.h"

/* Up to so many limiters all are neighbours, unless something else is asked for. */
#define CONSERVE_MESH 16

/* First byte of a message, so that others may use the same way. */
#define CONSERVE_MESSAGE 14 /* 1 had no identity, 3 no terms, 5 no lives, 11 no check */

/* Instead of statements, see digest.c; and the request for statements that are not as expected. */
#define CONSERVE_DIGEST  12
#define CONSERVE_REQUEST 13

static inline bool conserve_is_kind(uint8_t kind)
{
	return kind == CONSERVE_MESSAGE || kind == CONSERVE_DIGEST || kind == CONSERVE_REQUEST;
}

/* Bytes that a statement about one policy takes in a message, and the least room for a message. */
#define CONSERVE_ENTRY       153
#define CONSERVE_MESSAGE_MIN (BOOK_HEAD + CONSERVE_ENTRY)

/* Offsets of its flags and of the ledger's statement, see message.c. */
#define CONSERVE_AT_FLAGS     16
#define CONSERVE_AT_STATEMENT 17

struct conserve_policy {
	uint64_t id; /* distinct; these three as struct book_name */
	uint64_t check;
	const char *name;
	unsigned owner;                         /* the caller's number of it */
	uint64_t limit;                         /* over all limiters; at most LEDGER_MOST */
	const struct gdrl_indicator *indicator; /* NULL: conserve_target() says where it goes */
	double eta;                             /* see struct gdrl_self; 0 */
	uint64_t burst; /* over all limiters, where that has no account of its own */
	uint32_t unit;  /* hash of what the limit counts, in what time */
	uint64_t terms; /* hash of all else that neighbours must have been told alike */
};

struct conserve_params {
	struct overlay_params overlay; /* ids: the roster; a degree of 0: by its size */
	unsigned self;                 /* our index in the roster */
	const struct conserve_policy *policies;
	unsigned n_policies;
	struct book_record *records; /* see struct book_params */
	unsigned n_records;
	/*
	 * There may have been an earlier start: without a record, hold nothing. One that is
	 * recovering has none, so the caller remembers this for all later starts.
	 */
	bool recovering;
	uint64_t epoch; /* of this start: larger than that of any earlier one; below 2^42 */
	struct book_identity identity; /* see struct book_params */
	uint32_t word;                 /* see struct book_params */
	uint64_t proof_ns;             /* see struct book_params */
	uint64_t lease_ns;             /* see struct ledger_params; above 0 */
	uint32_t drift_ppm;
	uint64_t repeat_ns; /* what a neighbour has not confirmed is told again so often */
	unsigned promise;   /* of the balance, to the best friend; in 100 */
};

struct conserve_counters {
	uint64_t messages_sent, messages_heard, statements_sent;
	uint64_t verdicts[LEDGER_VERDICTS]; /* of statements */
	uint64_t unknown;                   /* statements about policies that we do not have */
	uint64_t differing;                 /* made by other terms: not believed */
	uint64_t malformed;                 /* messages */
	uint64_t grants, adoptions;
};

/* One policy, as an operator may see it. */
struct conserve_view {
	uint64_t share;
	uint64_t limit; /* that it goes by: the least that a neighbour has said, or its own */
	int64_t balance;
	uint64_t usable, until_ns;               /* see ledger_usable() */
	uint64_t free;                           /* what may be given now */
	uint64_t in_flight, promised, inherited; /* over all edges */
	double target;                           /* or the indicator's value */
	bool recovering;
	bool waits; /* for neighbours to confirm its record; nothing is usable */
};

struct conserve_edge_view {
	unsigned peer; /* index in the roster */
	bool spare, in_use, alive;
	bool differs; /* by what it has said, it was told something else: nothing moves */
	struct ledger_view ledger;
};

struct conserve;

/* limit / n; what is left over goes to the first ones, in the order of their ids. */
uint64_t conserve_share(const struct overlay_params *roster, unsigned self, uint64_t limit);

/* 0; -EINVAL (also a record that is damaged, or of other edges), what overlay_create() says, or
 * -ENOMEM. */
int conserve_create(const struct conserve_params *params, uint64_t now_ns, struct conserve **out);
void conserve_destroy(struct conserve *c);

/*
 * Other policies from now on, n of them; those of an id that was there go on, of another limit or
 * mover too. A policy that is gone is not forgotten while anything of it is elsewhere: it is kept,
 * enforces nothing, and gives what others ask for; when it comes back it goes on from there. 0;
 * -EINVAL, -EOVERFLOW or -ENOMEM, and nothing has changed.
 */
int conserve_update(
	struct conserve *c, const struct conserve_policy *policies, unsigned n, uint64_t now_ns);

/* What a policy should have here; and what is measured of it, for an indicator. */
void conserve_target(struct conserve *c, unsigned policy, double target);
void conserve_measure(struct conserve *c, unsigned policy, const struct gdrl_measure *measure);

/* Inherits, grants and promises. To be called about as often as the targets are new. */
void conserve_tick(struct conserve *c, uint64_t now_ns);

/*
 * What may be enforced, the lower one of ledger_usable(); 0 while recovering. It falls at *until_ns
 * to what this returns for that time (UINT64_MAX: it does not). After every other call it may be
 * less than before; only after conserve_tick(), conserve_hear() and conserve_update() more.
 */
uint64_t conserve_limit(
	const struct conserve *c, unsigned policy, uint64_t now_ns, uint64_t *until_ns);

/*
 * The bucket for such a limit: its part of the burst, or of the least that a neighbour has said,
 * rounded down; of one without an account.
 */
uint64_t conserve_burst(const struct conserve *c, unsigned policy, uint64_t burst, uint64_t usable);

/*
 * Writes the next message, of at most `room` bytes (CONSERVE_MESSAGE_MIN or more), and its
 * addressee's index in the roster. Its length, or 0: none for now. To be called until then after
 * conserve_tick(), conserve_hear() and book_committed().
 */
size_t conserve_send(
	struct conserve *c, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer);

/*
 * A message from a peer (its index in the roster), authentic, but perhaps repeated or old. The
 * number of policies of which it was news; -ENOENT (no neighbour), -EBADMSG or -ESTALE (see
 * book_read_head()), and nothing is believed. A neighbour is alive by statements that are good.
 */
int conserve_hear(
	struct conserve *c, unsigned from, uint64_t now_ns, const uint8_t *buf, size_t len);

/* A policy of which there was news that has not been told here, or n_policies: of no more. */
unsigned conserve_next_news(struct conserve *c);

/* How many policies there are, and of one the number that the caller gave it. */
unsigned conserve_policies(const struct conserve *c);
unsigned conserve_owner(const struct conserve *c, unsigned policy);

/*
 * Drops the records of all accounts, which recover as if they had none. conserve_hear() calls it
 * when it has proof.
 */
void conserve_lose(struct conserve *c, enum book_closure closure);

/* The accounts, for a round of commits of all that need it: see book_save() and its kin. */
struct book *conserve_book(struct conserve *c);

unsigned conserve_edges(const struct conserve *c);
struct conserve_view conserve_view(const struct conserve *c, unsigned policy, uint64_t now_ns);
struct conserve_edge_view conserve_edge(
	const struct conserve *c, unsigned policy, unsigned edge, uint64_t now_ns);
bool conserve_recovering(const struct conserve *c, unsigned policy);
const struct conserve_counters *conserve_counters(const struct conserve *c);

#endif

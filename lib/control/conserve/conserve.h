/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Local limits whose sum never exceeds the limit. A limiter keeps a ledger (ledger/ledger.h) for
 * each policy, and enforces its usable amount. Capacity moves over an overlay (group/overlay.h).
 * Only an amount that the giver has given up and committed arrives elsewhere. The caller decides
 * where it should go, by one of these:
 *
 *   - an indicator of GDRL (allocate/gdrl.h), which is made equal everywhere; or
 *   - a target, such as FPS's answer: capacity flows from limiters above their target to limiters
 *     below it. If all are neighbours, each giver covers its proportional part of all that is
 *     missing. So several of them do not give twice, and one step is enough. Otherwise it is a step
 *     of GDRL with target less balance as its indicator.
 *
 * Both are hints: a wrong or old one moves capacity to the wrong place, and creates none. In any
 * case a limiter in debt is paid first. An inherited amount is given back as soon as the other
 * sends again, and a policy that is gone (see conserve_update()) gives to others on request.
 *
 * Value of a promise. A limiter that dies takes its balance with it. Its backup neighbour inherits
 * the promised part (ledger_inherit()), so that it can be used where its traffic goes instead. The
 * price: a promiser depends on its backup. After the backup dies, the promised part cannot be given
 * to others, and once the lease has ended it cannot be used, until the backup returns. That is as
 * much as would have been rescued the other way round. So the part of the balance that is promised
 * is a choice. A lease goes on while statements arrive. Nothing is promised if there are more
 * policies than messages can state within half a lease, because most of it would be unusable.
 *
 * The rate and the burst, at every instant. The sum of usable amounts is within the limit, also
 * while capacity moves: it is out of use at the giver before a statement grants it. A token bucket
 * at each limiter has the burst's part usable / limit, rounded down. All buckets together hold no
 * more than the burst under three conditions. A bucket that begins (also again) begins empty. A
 * raised rate adds room to it and no tokens. A lowered rate immediately removes tokens above the
 * smaller bucket, and is in force before book_committed(). Then between any two times the buckets
 * had at most the burst at the first, and earned at most limit × time: no more is admitted. After a
 * limit is lowered, amounts given away before are missing at first: the sum is above the new limit,
 * never above the old one, until those debts are paid. While limiters have different limits, raised
 * or lowered, each divides the burst by its own: all together then have at most burst × sum in use
 * / smallest limit. A burst can also be a policy of its own here, whose limit is bytes and no rate.
 * Then its bucket is the usable amount of that policy, under the same three conditions, and the two
 * go where each is needed.
 *
 * Different settings. A statement contains its terms: the ledger's lease and drift, the subject of
 * the limit (`terms`), and the limit, the burst and the number of limiters. Statements with other
 * terms are rejected, and nothing moves over that edge. To its ledgers it is a partition, in which
 * nothing is exceeded if at each end the same lease held for the accepted statements. If only the
 * limit or the burst differs, statements are accepted. All then use the least value that any
 * neighbour has sent, until it sends another. This also holds while it is silent or before it has
 * sent any to this start. So the sum is within the lowest limit once that has arrived and debts are
 * paid. Only those debts move.
 *
 * Joiners. A limiter that joins has no share, and recovers before it holds anything (book/book.h,
 * ledger/ledger.h). All others are its neighbours, and amounts move to it like to any limiter. The
 * equal part is that of the founders, at all limiters.
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

/* Up to so many limiters all are neighbours, unless the overlay's degree is set. */
#define CONSERVE_MESH 16

/* First byte of a message, so that others can use the same channel. */
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
	const struct gdrl_indicator *indicator; /* NULL: conserve_target() decides where it goes */
	double eta;                             /* see struct gdrl_self; 0 */
	uint64_t burst; /* over all limiters, if it has no account of its own */
	uint32_t unit;  /* hash of the counted unit and the unit of time */
	uint64_t terms; /* hash of all other settings that must be the same at neighbours */
};

struct conserve_params {
	struct overlay_params overlay;     /* ids: the roster; a degree of 0: by its size */
	const struct book_member *members; /* the roster with joiners, see struct book_params */
	unsigned n_members;
	unsigned self;   /* our index in the roster */
	bool incomplete; /* see conserve_set_complete() */
	const struct conserve_policy *policies;
	unsigned n_policies;
	struct book_record *records; /* see struct book_params */
	unsigned n_records;
	/*
	 * There may have been an earlier start: without a record, hold nothing. One that is
	 * recovering has none, so the caller remembers this for all later starts.
	 */
	bool recovering;
	uint64_t epoch; /* this start's: larger than that of any earlier one; below 2^42 */
	struct book_identity identity; /* see struct book_params */
	uint32_t word;                 /* see struct book_params */
	uint64_t proof_ns;             /* see struct book_params */
	uint64_t lease_ns;             /* see struct ledger_params; above 0 */
	uint32_t drift_ppm;
	uint64_t repeat_ns; /* interval of repeated statements until a neighbour confirms */
	unsigned promise;   /* percent of the balance, promised to the backup neighbour */
};

struct conserve_counters {
	uint64_t messages_sent, messages_received, statements_sent;
	uint64_t verdicts[LEDGER_VERDICTS]; /* statements by verdict */
	uint64_t unknown;                   /* statements about policies that we do not have */
	uint64_t differing;                 /* statements with other terms: rejected */
	uint64_t malformed;                 /* messages */
	uint64_t grants, adoptions;
};

/* One policy, as an operator may see it. */
struct conserve_view {
	uint64_t share;
	uint64_t limit; /* in use: the least of its own and the neighbours' limits */
	int64_t balance;
	uint64_t usable, until_ns;               /* see ledger_usable() */
	uint64_t free;                           /* can be given now */
	uint64_t in_flight, promised, inherited; /* over all edges */
	double target;                           /* or the indicator's value */
	bool recovering;
	bool waits; /* for neighbours to confirm its record; nothing is usable */
};

struct conserve_edge_view {
	unsigned peer; /* index in the roster */
	bool spare, in_use, alive;
	bool differs; /* its settings differ: at most debts move */
	struct ledger_view ledger;
};

struct conserve;

/*
 * Returns limit / n; the remainder goes to the first ones, in the order of their ids. Joiners have
 * none, and are not in the overlay's roster.
 */
uint64_t conserve_share(const struct overlay_params *roster, unsigned self, uint64_t limit);

/*
 * Returns 0; -EINVAL (also a record that is damaged, or of other edges), -ENOMEM, or an error of
 * overlay_create().
 */
int conserve_create(const struct conserve_params *params, uint64_t now_ns, struct conserve **out);
void conserve_destroy(struct conserve *c);

/*
 * Replaces the policies by n others. A policy whose id was there goes on, also with another limit
 * or mover. A policy that is gone is kept while anything of it is elsewhere: it enforces nothing,
 * and gives to others on request. If it comes back it goes on from there. Returns 0; -EINVAL,
 * -EOVERFLOW or -ENOMEM, and nothing has changed.
 */
int conserve_update(
	struct conserve *c, const struct conserve_policy *policies, unsigned n, uint64_t now_ns);

/*
 * Takes another roster, see book_regroup(). A new joiner gets its amounts from the others, as
 * targets or indicators decide.
 */
int conserve_regroup(struct conserve *c, const struct book_member *members, unsigned n,
	unsigned self, uint64_t now_ns);

/* Returns true if all accounts recover, so that a new start loses nothing. */
bool conserve_holds_nothing(const struct conserve *c);

/* Sets if the roster has all members of the group, see ledger_set_complete(). */
void conserve_set_complete(struct conserve *c, bool complete);

/* Sets the amount that a policy should have here; and its measurements, for an indicator. */
void conserve_target(struct conserve *c, unsigned policy, double target);
void conserve_measure(struct conserve *c, unsigned policy, const struct gdrl_measure *measure);

/* Inherits, grants and promises. Call it about as often as the targets are new. */
void conserve_tick(struct conserve *c, uint64_t now_ns);

/*
 * Returns the limit that can be enforced: the lower one of ledger_usable() and the limit in use; 0
 * while recovering or waiting. It falls at *until_ns to the return value for that time (UINT64_MAX:
 * it does not). After every other call it can be less than before; only after conserve_tick(),
 * conserve_receive() and conserve_update() more.
 */
uint64_t conserve_limit(
	const struct conserve *c, unsigned policy, uint64_t now_ns, uint64_t *until_ns);

/*
 * Returns the bucket for such a limit: its part of the burst, or of the least burst of a neighbour,
 * rounded down. For a burst without an account of its own.
 */
uint64_t conserve_burst(const struct conserve *c, unsigned policy, uint64_t burst, uint64_t usable);

/*
 * Writes the next message, of at most `room` bytes (CONSERVE_MESSAGE_MIN or more), and its
 * addressee's index in the roster. Returns its length, or 0 if there is none. After
 * conserve_tick(), conserve_receive() and book_committed(), call it until it returns 0.
 */
size_t conserve_send(
	struct conserve *c, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer);

/*
 * Takes a message from a peer (its index in the roster), authentic, but perhaps repeated or old.
 * Returns the number of policies with news; -ENOENT (no neighbour), -EBADMSG or -ESTALE (see
 * book_read_head()), and nothing is accepted. Good statements show that a neighbour is alive.
 */
int conserve_receive(
	struct conserve *c, unsigned from, uint64_t now_ns, const uint8_t *buf, size_t len);

/* Returns a policy with news that was not returned before, or n_policies: no more. */
unsigned conserve_next_news(struct conserve *c);

/* Returns the number of policies, and the caller's number of one. */
unsigned conserve_policies(const struct conserve *c);
unsigned conserve_owner(const struct conserve *c, unsigned policy);

/*
 * Drops the records of all accounts, which recover as if they had none. conserve_receive() calls it
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

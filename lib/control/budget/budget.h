/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Quotas of units that the limiters of a roster spend together and never exceed. Each policy has a
 * node of the quota tree (quota/quota.h). All policies share one tree, which the limiters form and
 * repair by themselves, and the messages between its neighbours.
 *
 * Config mismatch. Each part of a message has the terms of its sender: the total, and a hash of the
 * other settings. The receiver rejects a part with another hash, and nothing moves over that edge.
 * If only the total differs, all limiters use the least total of their neighbours, even if that
 * neighbour is silent, until it sends another. A limiter that starts assumes its own terms for all
 * neighbours until they send theirs. budget_ask() requests them.
 *
 * The tree. Units move only over a limiter's edges of an overlay: all of a small roster, or a
 * random graph with spare edges in a large one. Every limiter measures the round trip over its
 * edges by messages that are echoed. It prefers the nearest neighbours, within a bound on the
 * degree. Messages mark the parent and the children; an edge is linked while both ends agree. Units
 * are safe in any temporary shape of the tree, because the ledger protects them.
 *
 * A pure state machine: time, messages and records come in as arguments. One thread. The policy
 * defines the unit.
 */
#ifndef WEIR_BUDGET_BUDGET_H
#define WEIR_BUDGET_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "book/book.h"
#include "budget/timekeeper.h"
#include "quota/quota.h"

#define BUDGET_DEGREE 4 /* most edges of a limiter in the tree; default of params.degree */

/*
 * First byte of a message, like CONSERVE_MESSAGE. 2 had no identity, 4 no time and terms, 8 no
 * lives, 10 no check, 15 no number of limiters.
 */
#define BUDGET_MESSAGE 16

#define BUDGET_MESSAGE_MIN 512 /* least room for a message */

/* Bytes before the parts of a message; bytes of a part; offset of the statement in a part. */
#define BUDGET_HEAD         (BOOK_HEAD + 68)
#define BUDGET_PART         189
#define BUDGET_AT_STATEMENT 77

struct budget_policy {
	uint64_t id; /* distinct; these three as struct book_name */
	uint64_t check;
	const char *name;
	uint64_t total;         /* units a period, over all limiters; at most LEDGER_MOST */
	uint64_t period;        /* number of the present period, or */
	bool undated;           /* the number is not available yet: see budget_clock() */
	uint64_t chunk;         /* see struct quota_params */
	uint64_t period_length; /* see struct limiter_policy; the record has it */
	bool drawn;             /* begins with no share: budget_set_share() sets the drawn units */
	uint64_t terms;         /* hash of the other settings that neighbours must share */
	uint32_t unit;          /* hash of the kind of units in the total */
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
	uint64_t epoch;  /* this start's: larger than that of any earlier one; below 2^42 */
	struct book_identity identity; /* see struct book_params */
	uint32_t word;                 /* see struct book_params */
	uint64_t proof_ns;             /* see struct book_params */
	uint64_t repeat_ns;            /* interval of repeats until a neighbour confirms */
	uint64_t theta_ns;             /* assumed time of a reallocation, until one is measured */
	uint64_t memory_ns;            /* half-life of the estimate of the rate */
	uint64_t timeout_ns;           /* a neighbour silent for so long is out of the tree */
	uint64_t seed;
};

struct budget_counters {
	uint64_t messages_sent, messages_received, parts_sent, parts_received;
	uint64_t unknown;   /* parts about policies that we do not have, or other periods */
	uint64_t differing; /* parts with other terms: rejected */
	uint64_t malformed; /* messages */
	uint64_t relinked;  /* edges that came into the tree or left it */
};

/* A neighbour and its place in the tree, for operators. */
struct budget_peer {
	unsigned peer;       /* index in the roster */
	bool linked, parent; /* the edge is in the tree; it leads towards the root */
	bool alive;
	uint64_t round_trip_ns; /* smoothed; 0: not measured yet */
};

struct budget;

/*
 * Returns 0, -EINVAL (also for a damaged record, or one of other edges), -ENOMEM, or an error of
 * overlay_create().
 */
int budget_create(const struct budget_params *params, uint64_t now_ns, struct budget **out);
void budget_destroy(struct budget *b);

/*
 * Replaces the policies by n others. A policy whose id was there continues, even with another total
 * (a top-up, or less). A policy that is gone is kept and spends nothing; others can have the units
 * that it holds. Returns 0; or -EINVAL, -EOVERFLOW or -ENOMEM without any change.
 */
int budget_update(
	struct budget *b, const struct budget_policy *policies, unsigned n, uint64_t now_ns);

/*
 * See quota_spend() and quota_prefetch(): both return 0, -EAGAIN or -EDQUOT. See quota_refund(): it
 * takes back units of this period, at a stop or before the policy goes, and book_save() must
 * follow. See quota_forgo(). Call budget_tick() after each.
 */
int budget_spend(struct budget *b, unsigned policy, uint64_t units, uint64_t now_ns);
int budget_prefetch(struct budget *b, unsigned policy, uint64_t units, uint64_t now_ns);
void budget_refund(struct budget *b, unsigned policy, uint64_t units);
void budget_forgo(struct budget *b, unsigned policy);

/* See quota_period(): the share is this limiter's part of the total, or 0 if that is drawn. */
int budget_period(struct budget *b, unsigned policy, uint64_t period, uint64_t now_ns);

/*
 * Evaluates a reading of the clocks; call it often. Returns true if the reason for the time has
 * changed. Messages have no time before the first call. The caller turns the periods by the time of
 * budget_timekeeper(): see timekeeper.h. budget_remembers(): the records are from `wall_ns` or
 * later.
 */
bool budget_clock(struct budget *b, uint64_t wall_ns, bool synchronised, uint64_t now_ns);
void budget_remembers(struct budget *b, uint64_t wall_ns);
const struct timekeeper *budget_timekeeper(const struct budget *b);

/*
 * Requests the peer's terms of this policy, because another source reports a config mismatch. Does
 * nothing if the peer is no neighbour.
 */
void budget_ask(struct budget *b, unsigned policy, unsigned peer);

/* Drops the records of all accounts, and their prefetched units: see quota_lose(). */
void budget_lose(struct budget *b, enum book_closure closure, uint64_t now_ns);

/* The total in force, in units: the least of ours and the neighbours' totals. */
uint64_t budget_total(const struct budget *b, unsigned policy);

/*
 * Sets all units drawn for this limiter in this period, if the policy's total is kept elsewhere. A
 * repeated value has no effect. A limiter that starts recovering holds nothing before the first
 * call, and the units of that call count as spent. Returns 0, -EINVAL (not drawn), -EOVERFLOW or
 * -ENOMEM.
 */
int budget_set_share(struct budget *b, unsigned policy, uint64_t share, uint64_t now_ns);

/* Handles timeouts, round trips and the tree. Returns when to call again, at the latest. */
uint64_t budget_tick(struct budget *b, uint64_t now_ns);

/*
 * Writes the next message (at most `room` bytes, BUDGET_MESSAGE_MIN or more) and its addressee's
 * index in the roster. Returns its length, or 0 if there is none. After every other call, call it
 * until it returns 0.
 */
size_t budget_send(struct budget *b, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer);

/*
 * Receives a message from a peer, authentic, but perhaps repeated or old. Returns 0; or it rejects
 * the message and returns -ENOENT (no neighbour), -EBADMSG or -ESTALE (see book_read_head()).
 */
int budget_receive(
	struct budget *b, unsigned from, uint64_t now_ns, const uint8_t *buf, size_t len);

/*
 * budget_book() has the accounts, for a round of commits of all that need it: see book_save().
 * Without `durable` there is never anything to save. An account that lost its memory also has a
 * record, which marks the loss: the next start with this record recovers, regardless of its params.
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
unsigned budget_root(const struct budget *b); /* index in the roster, by the newest messages */
const struct budget_counters *budget_counters(const struct budget *b);

#endif

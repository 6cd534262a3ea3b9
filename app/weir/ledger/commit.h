/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The durable side of limits that cannot be exceeded. What the brain has given away it may tell the
 * one it gave it to when two things are true, which are waited for side by side, and never by a
 * packet: the store has it on its disk, and every worker enforces what is left (grace.h). That
 * is a round; the next begins when it has ended and there is something.
 *
 * A disk that fails ends the round as if it had not begun: nothing is given away until it works
 * again, which is tried ever more rarely, down to every five seconds. Packets pass on.
 *
 * Control, all of it. A box whose policies need no ledger has no struct commit, and pays nothing.
 */
#ifndef WEIR_APP_COMMIT_H
#define WEIR_APP_COMMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "limiter/limiter.h"

struct instance;
struct ledger_store;
struct policy;

struct commit_counters {
	uint64_t rounds;   /* that have ended well */
	uint64_t failures; /* of the disk */
	uint64_t last_ns;  /* what the last good round took, */
	uint64_t most_ns;  /* and the longest */
};

/* As an operator may see it. */
struct commit_view {
	const char *directory;
	uint64_t epoch;
	struct book_identity identity; /* see limiter_identity() */
	bool recovering;               /* what was before this store is not known */
	bool committing;               /* a round is under way */
	bool saved;                    /* its records are durable */
	bool enforced;                 /* its limits are in force */
	int sentinel_error;            /* see store_sentinel_error() */
	int error;                     /* of the last attempt to save, negative; 0: it went well */
	struct commit_counters counters;
};

/*
 * Opens the store if a policy needs it, or if there is one: of policies that are gone, too, others
 * may want back what is here. Where there is none the limiter begins recovering, and the log says
 * so. 0, also when nothing was opened; or a negative errno, logged.
 */
int commit_start(struct instance *inst);

/* After commit_last(), and when the brain is gone. */
void commit_stop(struct instance *inst);

/* What the brain is created with: all zero where there is no store. */
struct limiter_ledger commit_ledger(const struct instance *inst);

/*
 * It has been, or could not be (a negative errno: if that may be for its records, the log says so).
 * They are of no use any more.
 */
void commit_begun(struct instance *inst, int outcome);

/* A store that was opened while the box runs, for its first policies of this kind: 0 or -ENOMEM. */
int commit_inherit(struct instance *inst, struct ledger_store *opened);

/* Does so without an event, for brain_try(). */
int commit_make(struct instance *inst, struct ledger_store *opened);

/* What becomes readable when commit_advance() has something to do, or -1. */
int commit_fd(const struct instance *inst);

/* When it has something to do that nobody tells, at the earliest; UINT64_MAX: never. */
uint64_t commit_next(const struct instance *inst);

/*
 * Goes on with what is due; does not wait. True when the brain may have something to send, or other
 * limits, because a round has ended.
 */
bool commit_advance(struct instance *inst);

/*
 * Before workers stop: what is known so far is saved, and waited for until then (CLOCK_MONOTONIC),
 * so that no packet waits for a disk that is slow. One that hangs is not asked again.
 */
void commit_settle(struct instance *inst, const struct timespec *until);

/* Workers have stopped: one more round, for the disk alone. */
void commit_last(struct instance *inst);

/* Policies that let nothing pass until their neighbours have told what they know. */
unsigned commit_count_recovering(const struct instance *inst, uint64_t now_ns);

/* True if a neighbour of the roster sends statements that cannot be true. */
bool commit_disputes(const struct instance *inst, unsigned peer);

/* False where there is no store. */
bool commit_view(const struct instance *inst, struct commit_view *view);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Durability of hard limits. The limiter sends a grant to a neighbour only after two events: the
 * store has it on its disk, and every worker enforces the rest (publish.h). Control waits for both
 * in parallel; packets never wait. That is a round. The next one begins after its end, if there is
 * something to commit.
 *
 * A failed disk ends the round as if it had not begun: nothing is granted until the disk works
 * again. Retries become less frequent, down to one in five seconds. Packets continue to pass.
 *
 * All functions: control. A limiter whose policies need no ledger has no struct commit, and no
 * cost.
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
	uint64_t rounds;   /* rounds that were successful */
	uint64_t failures; /* failures of the disk */
	uint64_t last_ns;  /* duration of the last successful round, */
	uint64_t most_ns;  /* duration of the longest one */
};

/* State for operators. */
struct commit_view {
	const char *directory;
	uint64_t epoch;
	struct book_identity identity; /* see limiter_identity() */
	bool recovering;               /* the store began without the state before it */
	bool committing;               /* a round is under way */
	bool saved;                    /* its records are durable */
	bool enforced;                 /* its limits are in force */
	int sentinel_error;            /* see store_sentinel_error() */
	int error; /* result of the last attempt to save: 0 or a negative errno */
	struct commit_counters counters;
};

/*
 * Opens the store if a policy needs it, or if there is one: peers can want amounts of removed
 * policies back. If a needed store is missing, the limiter begins recovering, and the log has an
 * event. Returns 0, also if nothing was opened; or a negative errno, logged.
 */
int commit_start(struct instance *inst);

/* Called after commit_last(), and after the limiter was destroyed. */
void commit_stop(struct instance *inst);

/* Returns the ledger parameters for the limiter: all zero without a store. */
struct limiter_ledger commit_ledger(const struct instance *inst);

/*
 * Frees the records after the limiter was created with them, or could not be (a negative errno).
 * Logs an event if the records might be the reason.
 */
void commit_begun(struct instance *inst, int outcome);

/*
 * Takes over a store that was opened at run time, for the first policies that need it. Returns 0 or
 * -ENOMEM.
 */
int commit_inherit(struct instance *inst, struct ledger_store *opened);

/* Does so without an event, for limiter_task_try(). */
int commit_make(struct instance *inst, struct ledger_store *opened);

/* Returns a descriptor that becomes readable when commit_advance() has work, or -1. */
int commit_fd(const struct instance *inst);

/* Returns the earliest time of other work; UINT64_MAX: never. */
uint64_t commit_next(const struct instance *inst);

/*
 * Continues due work; does not wait. Returns true if a round has ended, so that the limiter might
 * have messages to send, or other limits.
 */
bool commit_advance(struct instance *inst);

/*
 * Called before the workers stop, so that no packet waits for a slow disk. Saves the present state,
 * and waits for the disk until a time of CLOCK_MONOTONIC. A disk that hangs is not used again.
 */
void commit_settle(struct instance *inst, const struct timespec *until);

/* Called after the workers have stopped: one more round, only for the disk. */
void commit_last(struct instance *inst);

/*
 * Returns the number of policies that pass nothing until their neighbours have sent their records.
 */
unsigned commit_count_recovering(const struct instance *inst, uint64_t now_ns);

/* True if a neighbour of the roster sends statements that cannot be true. */
bool commit_disputes(const struct instance *inst, unsigned peer);

/* Returns false without a store. */
bool commit_view(const struct instance *inst, struct commit_view *view);

#endif

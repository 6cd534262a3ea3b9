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
 * Control, all of it. A box whose policies need no ledger has no struct settle, and pays nothing.
 */
#ifndef WEIR_APP_SETTLE_H
#define WEIR_APP_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "limiter/limiter.h"

struct box;
struct ledger_store;
struct policy;

struct settle_counters {
	uint64_t rounds;   /* that have ended well */
	uint64_t failures; /* of the disk */
	uint64_t last_ns;  /* what the last good round took, */
	uint64_t most_ns;  /* and the longest */
};

/* As an operator may see it. */
struct settle_view {
	const char *directory;
	uint64_t epoch;
	bool blank;    /* what was before this store is not known */
	bool settling; /* a round is under way */
	bool saved;    /* its records are durable */
	bool obeyed;   /* its limits are in force */
	int error;     /* of the last attempt to save, negative; 0: it went well */
	struct settle_counters counters;
};

/*
 * Opens the store if a policy needs it, or if there is one: of policies that are gone, too, others
 * may want back what is here. Where there is none the limiter begins blank, and the log says so.
 * 0, also when nothing was opened; or a negative errno, logged.
 */
int settle_start(struct box *box);

/* After settle_last(), and when the brain is gone. */
void settle_stop(struct box *box);

/* What the brain is created with: all zero where there is no store. */
struct limiter_ledger settle_ledger(const struct box *box);

/*
 * It has been, or could not be (a negative errno: if that may be for its records, the log says so).
 * They are of no use any more.
 */
void settle_begun(struct box *box, int outcome);

/* A store that was opened while the box runs, for its first policies of this kind: 0 or -ENOMEM. */
int settle_adopt(struct box *box, struct ledger_store *opened);

/* What becomes readable when settle_advance() has something to do, or -1. */
int settle_fd(const struct box *box);

/* When it has something to do that nobody tells, at the earliest; UINT64_MAX: never. */
uint64_t settle_next(const struct box *box);

/*
 * Goes on with what is due; does not wait. True when the brain may have something to send, or other
 * limits, because a round has ended.
 */
bool settle_advance(struct box *box);

/* Workers have stopped: one more round, for the disk alone. */
void settle_last(struct box *box);

/* Policies that let nothing pass until their neighbours have told what they know. */
unsigned settle_count_blank(const struct box *box, uint64_t now_ns);

/* False where there is no store. */
bool settle_view(const struct box *box, struct settle_view *view);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Events about neighbours whose statements are rejected: they belong to another ledger, or cannot
 * be true. One event at the begin and one at the end, and at most one a minute for each neighbour.
 * Also ends records of policies that this limiter does not have any more.
 */
#ifndef WEIR_APP_LEDGER_WATCH_H
#define WEIR_APP_LEDGER_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct instance;
struct ledger_watch;

/* For the roster of the configuration: NULL when out of memory. */
struct ledger_watch *ledger_watch_new(unsigned n_roster);
void ledger_watch_free(struct ledger_watch *watch);

/* Looks at all neighbours, once a second however often it is called; logs. Control's thread. */
void ledger_watch_look(struct ledger_watch *watch, const struct instance *inst, uint64_t now_ns);

/* True if a neighbour of the roster sent a statement that cannot be true in the last minute. */
bool ledger_watch_invalid(const struct ledger_watch *watch, unsigned i, uint64_t now_ns);

/* Neighbours of another ledger; their messages; statements that cannot be true. */
struct ledger_disputes {
	unsigned neighbours;
	uint64_t foreign_messages, invalid_statements, collided_statements;
};

struct ledger_disputes ledger_disputes(const struct instance *inst);

/* --- records of policies that are gone -------------------------------------------------------- */

/*
 * A record ends by itself if a new one would have the same content, or when the period of its quota
 * is over. An operator can end the others. A group must do that at all limiters before a policy of
 * that name returns. Control.
 */

/* Ends those that can end by themselves. */
void ledger_unused_end(struct instance *inst, uint64_t now_ns);

struct ledger_forgotten {
	unsigned n;      /* records that have ended, in memory; the next commit removes them */
	unsigned in_use; /* others that a neighbour still has the policy of */
	unsigned unused; /* records without a policy that are left */
};

/* Ends the records of a name, or (NULL) all that no neighbour uses. Logs it with the user. */
struct ledger_forgotten ledger_forget(struct instance *inst, const char *name, int64_t uid);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A whole limiter of two workers that run only when the test runs them, in any order. Its ports are
 * net_null's: each turn of a worker receives INSTANCE_BURST frames at `a` for `b` and as many in
 * the other direction. They are untagged and not IP.
 */
#ifndef WEIR_TEST_INSTANCE_WORLD_H
#define WEIR_TEST_INSTANCE_WORLD_H

#include "check.h"
#include "scope.h"

#include "policy_txn.h"
#include "start.h"
#include "totals.h"

#define INSTANCE_WORKERS 2
#define INSTANCE_BURST   BURST
#define INSTANCE_BYTES   50 /* counted bytes of a frame */

struct instance_world {
	struct instance inst;
	struct config *config; /* configuration of the start */
	char file[32];         /* file of other policies, after instance_world_write() */
	const char *more;      /* keys in addition to the usual ones */
	char *text;            /* the same, if the world has made it */
	char directory[32];    /* directory of its store; "" without one */
	unsigned pieces;       /* DPDK's memory blocks in use before it was opened */
};

/* Set up and tear down EAL and the ports for a group of tests. */
int instance_world_start(void **state);
int instance_world_stop(void **state);

/* Returns the configuration of such a limiter, for config_free(). */
struct config *instance_world_config(const char *more, const char *policies);
const struct port *instance_world_ports(void);

/* The limiter of a test; each member can be left out. */
struct world_options {
	const char *policies; /* the text between the brackets, with ' instead of " */
	const char *more;     /* keys at the top level, each with a comma after it */
	const char *ledger;   /* keys of the ledger of a stored world, each after a comma */
	const char *gossip;   /* keys of the gossip of a group, each after a comma */
	unsigned group; /* limiters of its group: "test", which is this one, "l1", "l2", … */
};

/*
 * Declares w, a pointer to an open limiter with these policies, and closes it at the end of the
 * scope: WORLD(w, "{'name': 'p', 'limit': '1Mbit/s'}", .group = 2). A stored world also has a
 * ledger, with a store of its own (stored_world.c).
 */
#define WORLD(w, ...)        OPEN_WORLD(w, instance_world_begin, __VA_ARGS__)
#define STORED_WORLD(w, ...) OPEN_WORLD(w, stored_world_begin, __VA_ARGS__)
#define OPEN_WORLD(w, begin, ...)    \
	ENDED_BY(instance_world_end) \
	struct instance_world *w = begin(&(struct world_options){.policies = __VA_ARGS__})

struct instance_world *instance_world_begin(const struct world_options *options);
struct instance_world *stored_world_begin(const struct world_options *options);
/* Takes the address of the pointer. Also ends a question, and a tap that workers still use. */
void instance_world_end(struct instance_world **w);

/* Opens a limiter with these policies in the caller's memory. */
void instance_world_open(struct instance_world *w, const char *policies);
/*
 * Opens it with more keys at the top level: the text between the braces, which ends with a comma.
 */
void instance_world_open_more(struct instance_world *w, const char *more, const char *policies);
void instance_world_close(struct instance_world *w);

/* Writes other policies into its file. */
void instance_world_write(struct instance_world *w, const char *policies);

/*
 * Changes the policies of a limiter: prepares the change, also commits it, ends it when all workers
 * have seen it, or does all of these.
 */
struct policy_txn *instance_world_prepare(struct instance_world *w, const char *policies);
struct policy_txn *instance_world_commit(struct instance_world *w, const char *policies);
void instance_world_finish(struct instance_world *w, struct policy_txn *x);
void instance_world_reload(struct instance_world *w, const char *policies);

/* Runs a turn of one worker, or of each. */
void instance_world_turn(struct instance_world *w, unsigned worker);
void instance_world_turn_all(struct instance_world *w);

/* Returns the counts of a policy, by its index. */
struct policy_totals instance_world_totals(struct instance_world *w, unsigned policy);

#endif

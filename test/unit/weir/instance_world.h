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
	unsigned pieces;       /* DPDK's memory blocks in use before it was opened */
};

/* Set up and tear down EAL and the ports for a group of tests. */
int instance_world_start(void **state);
int instance_world_stop(void **state);

/* Returns the configuration of such a limiter, for config_free(). */
struct config *instance_world_config(const char *more, const char *policies);
const struct port *instance_world_ports(void);

/* Opens a limiter with these policies: the text between the brackets, with ' instead of ". */
void instance_world_open(struct instance_world *w, const char *policies);
/*
 * Opens it with more keys at the top level: the text between the braces, which ends with a comma.
 */
void instance_world_open_more(struct instance_world *w, const char *more, const char *policies);
void instance_world_close(struct instance_world *w);

/* Writes other policies into its file. */
void instance_world_write(struct instance_world *w, const char *policies);

/* Runs a turn of one worker, or of each. */
void instance_world_turn(struct instance_world *w, unsigned worker);
void instance_world_turn_all(struct instance_world *w);

/* Returns the counts of a policy, by its index. */
struct policy_totals instance_world_totals(struct instance_world *w, unsigned policy);

#endif

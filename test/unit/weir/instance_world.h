/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A whole box of two workers that no thread turns but the test's, so that it says who has seen what
 * when. Its ports are net_null's: each turn of a worker takes in INSTANCE_BURST frames from `a` to
 * `b` and as many the other way, untagged and not IP.
 */
#ifndef WEIR_TEST_INSTANCE_WORLD_H
#define WEIR_TEST_INSTANCE_WORLD_H

#include "check.h"

#include "start.h"
#include "totals.h"

#define INSTANCE_WORKERS 2
#define INSTANCE_BURST   BURST
#define INSTANCE_BYTES   50 /* of a frame, that a policy counts */

struct instance_world {
	struct instance inst;
	struct config *config; /* as it was started with */
	char file[32];         /* with policies of other names, after instance_world_write() */
	const char *more;      /* keys beside those that all have */
	unsigned pieces;       /* of DPDK's memory that others had before it was opened */
};

/* EAL and the ports, for as long as the tests of a group. */
int instance_world_start(void **state);
int instance_world_stop(void **state);

/* What such a box is made of, for config_free() and for who makes one by hand. */
struct config *instance_world_config(const char *more, const char *policies);
const struct port *instance_world_ports(void);

/* A box of these policies: what stands between the brackets, with ' for ". */
void instance_world_open(struct instance_world *w, const char *policies);
/* Opens it with more keys at the top: what stands between its braces, and ends with a comma. */
void instance_world_open_more(struct instance_world *w, const char *more, const char *policies);
void instance_world_close(struct instance_world *w);

/* Other policies into its file. */
void instance_world_write(struct instance_world *w, const char *policies);

/* One worker, or each, has a turn. */
void instance_world_turn(struct instance_world *w, unsigned worker);
void instance_world_turn_all(struct instance_world *w);

/* What a policy of the box has counted, by its index. */
struct policy_totals instance_world_totals(struct instance_world *w, unsigned policy);

#endif

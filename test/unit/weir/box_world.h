/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A whole box of two workers that no thread turns but the test's, so that it says who has seen what
 * when. Its ports are net_null's: each turn of a worker takes in BOX_BURST frames from `a` to `b`
 * and as many the other way, untagged and not IP.
 */
#ifndef WEIR_TEST_BOX_WORLD_H
#define WEIR_TEST_BOX_WORLD_H

#include "check.h"

#include "start.h"
#include "totals.h"

#define BOX_WORKERS 2
#define BOX_BURST   BURST
#define BOX_BYTES   50 /* of a frame, that a policy counts */

struct box_world {
	struct box box;
	struct config *config; /* as it was started with */
	char file[32];         /* with policies of other names, after box_world_write() */
	const char *more;      /* keys beside those that all have */
};

/* EAL and the ports, for as long as the tests of a group. */
int box_world_start(void **state);
int box_world_stop(void **state);

/* A box of these policies: what stands between the brackets, with ' for ". */
void box_world_open(struct box_world *w, const char *policies);
/* Opens it with more keys at the top: what stands between its braces, and ends with a comma. */
void box_world_open_more(struct box_world *w, const char *more, const char *policies);
void box_world_close(struct box_world *w);

/* Other policies into its file. */
void box_world_write(struct box_world *w, const char *policies);

/* One worker, or each, has a turn. */
void box_world_turn(struct box_world *w, unsigned worker);
void box_world_turn_all(struct box_world *w);

/* What a policy of the box has counted, by its index. */
struct policy_totals box_world_totals(struct box_world *w, unsigned policy);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The budgets that have been asked for, found by name. One owner at a time.
 */
#ifndef WEIR_ETCD_REQUEST_TABLE_H
#define WEIR_ETCD_REQUEST_TABLE_H

#include "etcd/allocation.h"
#include "offload/offload.h"

struct ask {
	struct ask *chain; /* of names with the same hash */
	bool busy;         /* from the draw on until its answer has been fetched */
	struct offload_job job;
	struct allocation_session *allocation_session; /* the thread's */
	struct etcd_draw draw;
	struct etcd_answer answer;
	struct drawn drawn;
};

struct asks {
	struct ask **chains;
	unsigned n, n_chains; /* a power of two, or 0 */
};

/* The one of that name; a new one if there is none; NULL: no memory. Stays where it is. */
struct ask *asks_find(struct asks *asks, const char *budget);
void asks_free(struct asks *asks);

#endif

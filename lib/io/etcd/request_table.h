/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Requests of budgets, found by name. One owner at a time.
 */
#ifndef WEIR_ETCD_REQUEST_TABLE_H
#define WEIR_ETCD_REQUEST_TABLE_H

#include "etcd/allocation.h"
#include "offload/offload.h"

struct ask {
	struct ask *chain; /* next request with the same hash */
	bool busy;         /* from the draw until its answer is collected */
	struct offload_job job;
	struct allocation_session *allocation_session; /* used by the thread */
	struct etcd_draw draw;
	struct etcd_answer answer;
	struct drawn drawn;
};

struct asks {
	struct ask **chains;
	unsigned n, n_chains; /* a power of two, or 0 */
};

/*
 * Returns the request with the name, and adds it if there is none; NULL: no memory. It does not
 * move.
 */
struct ask *asks_find(struct asks *asks, const char *budget);
void asks_free(struct asks *asks);

#endif

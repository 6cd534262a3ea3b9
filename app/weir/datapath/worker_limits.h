/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The limits that a worker takes from its ring, and its tables of sources. The worker's own thread.
 */
#ifndef WEIR_APP_WORKER_LIMITS_H
#define WEIR_APP_WORKER_LIMITS_H

#include <stdbool.h>

#include <rte_branch_prediction.h>

#include "worker_data.h"

/*
 * New limits to apply before a burst. Each needs a cache line, so a change of 100,000 limits delays
 * no packet by more than a microsecond or two.
 */
#define LIMITS_A_TURN 16

void worker_apply_limits(struct worker *worker, const struct limit_profile *limits, unsigned n);

/* Applies changed limits, some at a time. Returns true if there can be more. */
static inline bool worker_take_limits(struct worker *worker)
{
	struct limit_profile limits[LIMITS_A_TURN];
	unsigned n = limit_ring_take(&worker->limit_ring, limits, LIMITS_A_TURN);

	if (unlikely(n > 0))
		worker_apply_limits(worker, limits, n);
	return n == LIMITS_A_TURN;
}

/* Applies all limits that control sent during a sleep, also those that it is still sending. */
void worker_catch_up(struct worker *worker);

/* Sweeps a part of the next table of sources; call it only if there is one. */
void worker_age_table(struct worker *worker);

#endif

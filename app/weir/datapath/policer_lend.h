/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tokens that the bucket shared by all workers lends to a policy's bucket on a worker, also by a
 * limit that has ended. Private to this room; the worker's own thread.
 */
#ifndef WEIR_APP_POLICER_LEND_H
#define WEIR_APP_POLICER_LEND_H

#include "police/borrow.h"
#include "police/expire.h"
#include "worker_data.h"

/*
 * Returns true if limits might have ended, so that policer_lend() is due. One branch for both
 * kinds.
 */
static inline bool policer_limits_end(const struct worker *worker)
{
	return (worker->own.ended | worker->own.unheard) != 0;
}

/*
 * Returns true if limits of shared buckets might have ended. Without shared buckets, the lines have
 * the limits in force.
 */
static inline bool policer_loans_end(const struct worker *worker)
{
	return worker->shared_buckets && policer_limits_end(worker);
}

/* Lends the cost of a packet to a policy that is simple or police_borrows(). */
void policer_lend(struct worker *worker, struct policy_state *state, uint32_t policy, uint32_t cost,
	uint64_t now);

#endif

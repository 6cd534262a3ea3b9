/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a policy's bucket on a worker is lent by the bucket that all workers share, also by a limit
 * that has ended. Private to this room; the worker's own thread.
 */
#ifndef WEIR_APP_JUDGE_LEND_H
#define WEIR_APP_JUDGE_LEND_H

#include "police/borrow.h"
#include "police/expire.h"
#include "worker_data.h"

/* Whether limits may have ended, so that judge_lend() is to be asked: one branch for both ways. */
static inline bool judge_limits_end(const struct worker *worker)
{
	return (worker->own.ended | worker->own.unheard) != 0;
}

/* Whether what is lent may have ended; where nothing is lent, lines have the limits that hold. */
static inline bool judge_loans_end(const struct worker *worker)
{
	return worker->shared_buckets && judge_limits_end(worker);
}

/* What a packet costs, for a policy that is simple, or police_borrows(). */
void judge_lend(struct worker *worker, struct policy_state *state, uint32_t policy, uint32_t cost,
	uint64_t now);

#endif

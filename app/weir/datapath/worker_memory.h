/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Memory of a worker and of its policies, on the worker's NUMA node. Control allocates and frees
 * all of it, except where a comment names another thread.
 */
#ifndef WEIR_APP_WORKER_MEMORY_H
#define WEIR_APP_WORKER_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct limit_profile;
struct policy;
struct worker;

/*
 * Reserves room for n_policies policies, allocates memory for the first `used` of them, and room
 * for `waiting` packets in queues. Returns 0 or -ENOMEM; call worker_free() in either case.
 */
int worker_init(struct worker *worker, unsigned n_policies, unsigned used, uint32_t waiting);

/* Returns the least number of bytes of DPDK's memory for n policies on a worker. Any thread. */
size_t worker_bytes(const struct policy *policies, unsigned n, uint32_t waiting);
void worker_free(struct worker *worker);

/*
 * Makes the line of a policy, with its limit, and its other memory on this worker. Call it before
 * a published classifier leads the worker to the policy. Returns 0 or -ENOMEM, logged; call
 * worker_remove_policy() in either case. Control, or the thread that prepares a reload.
 */
int worker_add_policy(
	struct worker *worker, const struct policy *policy, const struct limit_profile *profile);

/* Makes the memory that a changed policy needs in addition. Returns 0 or -ENOMEM, logged. */
int worker_change_policy(struct worker *worker, const struct policy *policy);

/* Frees the memory of a policy that the worker cannot reach any more, or has never reached. */
void worker_remove_policy(struct worker *worker, uint32_t slot);

#endif
